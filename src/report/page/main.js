// Reads the data and draws every section.

const run = JSON.parse(byId('data').textContent);

function drawHeader() {
  document.title = `Ebbtide report: ${run.title}`;
  byId('title').textContent = run.title;
  byId('origin').textContent = [run.command, run.machine,
    run.ranks > 1 ? `one of ${run.ranks} ranks` : null].filter(Boolean).join(' · ');
  byId('verdict').textContent = run.verdict;
  byId('ending').textContent = run.ending;
  byId('ending').hidden = run.ending === '' || run.ending === run.verdict;
  byId('footer').textContent = `Ebbtide ${run.version}. This page needs no network.`;
  byId('ending').after(...run.remarks.map(remark => el('p', {class: 'note'}, remark)));
}

function captionOf(step) {
  const words = step.step > 0 ? `Step ${step.step}, measured` : 'Predicted';
  return `${words}: ${seconds(step.step_seconds)}`;
}

function mergedNote(steps) {
  return steps.flatMap(step => step.lanes.map(lane => {
    const drawn = lane.levels[0].start_ns.length;
    return drawn === lane.tasks ? null : `${laneName(lane.lane)}${steps.length > 1
      ? step.step > 0 ? ' measured' : ' predicted' : ''} ${count(lane.tasks)} as ${count(drawn)}`;
  })).filter(Boolean);
}

// Causes of less of the step than this cannot be seen in a chart.
const kSeen = .0005;

function drawTimelines(steps) {
  const view = new TimelineView(Math.max(...steps.map(step => step.step_seconds)));
  for (const step of steps) {
    const timeline = new Timeline(step, captionOf(step), view);
    view.add(timeline);
    byId('timelines').append(timeline.figure);
  }
  const used = Object.keys(causes).filter(cause => steps.some(step => step.causes[cause] > kSeen * step.step_seconds));
  const colours = [...new Map(used.map(cause => [causeColour(cause), cause])).values()];
  byId('timeline-legend').append(
    swatch(paint('--work-1'), 'attention'), swatch(paint('--work-2'), 'products, other lanes'),
    swatch(paint('--work-3'), 'elementwise'),
    ...colours.map(cause => swatch(paint(causeColour(cause)),
      `still: ${causeGroup(cause, used)}`)));
  byId('detail').textContent = 'Point at a block to see what ran.';
  const merged = mergedNote(steps);
  byId('merged').textContent = merged.length === 0 ? 'Every task is drawn.' :
    `Short tasks are merged with their neighbours, sums kept: ${merged.join(', ')} blocks.`;
  for (const button of document.querySelectorAll('[data-do]'))
    button.addEventListener('click', () => view.do(button.dataset.do));
  new ResizeObserver(() => view.draw()).observe(byId('timelines'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => view.draw());
  addEventListener('beforeprint', () => print(view, true));
  addEventListener('afterprint', () => print(view, false));
  view.drawNow();
}

// Paper shows the whole step.
function print(view, printing) {
  view.printing = printing;
  // The canvas is drawn before the style sheet of paper holds.
  document.documentElement.classList.toggle('paper', printing);
  for (const details of document.querySelectorAll('details')) details.open = printing;
  if (printing) view.all();
  view.drawNow();
}

drawHeader();
const steps = [run.measured, run.predicted].filter(Boolean);
drawFigures(run);
if (steps.length > 0) {
  drawTimelines(steps);
  drawLanes(steps);
  drawMemory(steps[0], run.peaks);
  drawRates(steps[0]);
} else {
  for (const id of ['timeline', 'lanes', 'memory', 'rates']) byId(id).hidden = true;
}
drawCurves(run);
drawComparison(run);
drawSettings(run);
