// Hidden, exposed and idle time by lane, and why compute stood still.

const portion = (part, whole) => `width:${whole > 0 ? 100 * part / whole : 0}%`;

function laneBars(step) {
  const bars = step.lanes.flatMap(lane => {
    const isCompute = lane.lane === 'compute';
    return [
      el('div', {class: 'label'}, laneName(lane.lane)),
      el('div', {class: 'bar', role: 'img', 'aria-label': laneWordsOf(step, lane)},
        el('span', {style: `${portion(lane.hidden_seconds, step.step_seconds)};` +
          `background:${paint(isCompute ? '--work-1' : '--work-2')}`}),
        stillParts(lane.causes, step.step_seconds)),
    ];
  });
  return el('div', {class: 'bars'}, bars);
}

function laneWordsOf(step, lane) {
  return `${laneName(lane.lane)}: ${percent(lane.hidden_seconds / step.step_seconds)} hidden, ` +
    `${percent(lane.exposed_seconds / step.step_seconds)} exposed, ` +
    `${percent(lane.idle_seconds / step.step_seconds)} idle`;
}

const stillParts = (ofCauses, whole) => Object.entries(ofCauses)
  .filter(([, part]) => part > 0)
  .map(([cause, part]) =>
    el('span', {style: `${portion(part, whole)};background:${paint(causeColour(cause))}`}));

function laneTable(step) {
  const columns = [{head: 'lane'}, {head: 'busy', number: true}, {head: 'of step', number: true},
    {head: 'hidden', number: true}, {head: 'exposed', number: true}, {head: 'idle', number: true},
    {head: 'tasks', number: true}, {head: 'moved', number: true}];
  const rows = step.lanes.map(lane => [laneName(lane.lane), seconds(lane.busy_seconds),
    percent(lane.busy_seconds / step.step_seconds),
    lane.lane === 'compute' ? '' : seconds(lane.hidden_seconds),
    lane.lane === 'compute' ? '' : seconds(lane.exposed_seconds), seconds(lane.idle_seconds),
    count(lane.tasks), isLink(lane) || lane.lane === 'comm' ? bytes(lane.bytes) : '']);
  return table(`Lanes of ${stepWords(step)}, of ${seconds(step.step_seconds)}`, columns, rows);
}

const isLink = lane => lane.planned_bytes_per_second !== undefined;
const stepWords = step => step.step > 0 ? `step ${step.step}, measured` : 'the predicted step';

// Largest first, measured beside predicted.
function causeTable(steps) {
  const names = Object.keys(causes)
    .filter(cause => steps.some(step => step.causes[cause] > 1e-9))
    .sort((a, b) => steps[0].causes[b] - steps[0].causes[a]);
  if (names.length === 0) return el('p', {}, 'It never did.');
  const columns = [{head: 'cause'}].concat(...steps.map(step => {
    const when = step.step > 0 ? 'measured' : 'predicted';
    return [{head: when, number: true}, {head: 'of step', number: true}];
  }));
  const row = (name, of) => [name].concat(...steps.map(step =>
    [seconds(of(step)), percent(of(step) / step.step_seconds)]));
  const rows = names.map(cause =>
    row(swatch(paint(causeColour(cause)), causeWords(cause)), step => step.causes[cause]));
  rows.push(row('all', step => step.still_seconds));
  return table('Seconds in which compute stood still, by cause', columns, rows);
}

function drawLanes(steps) {
  const step = steps[0];
  const used = Object.keys(causes).filter(cause => step.causes[cause] > kSeen * step.step_seconds);
  byId('lane-bars').append(
    el('div', {class: 'legend'}, swatch(paint('--work-1'), 'compute at work'),
      swatch(paint('--work-2'), 'hidden'),
      [...new Map(used.map(cause => [causeColour(cause), cause])).values()].map(cause =>
        swatch(paint(causeColour(cause)), `exposed: ${causeGroup(cause, used)}`)),
      swatch(paint('--idle'), 'idle')),
    laneBars(step));
  byId('lane-table').append(laneTable(step));
  byId('causes').append(causeTable(steps));
}

// Causes of one colour under one name.
function causeGroup(cause, used) {
  return used.filter(other => causeColour(other) === causeColour(cause)).map(causeWords)
    .join(', ');
}
