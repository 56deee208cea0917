// Curves over the steps of a run: loss, step time.

const kCurve = {width: 560, height: 220, left: 56, right: 8, top: 8, bottom: 24};

// Marks at round numbers.
function ticks(low, high, about) {
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / about));
  const every = power * [1, 2, 5, 10].find(times => times * power * about >= span);
  const marks = [];
  for (let at = Math.ceil(low / every - 1e-9); at * every <= high + every * 1e-9; ++at)
    marks.push(at * every);
  return marks;
}

// Series are {points: [[step, value]...], colour, name, dots}.
function curve(title, series, format, low) {
  const all = series.flatMap(of => of.points);
  const steps = all.map(point => point[0]);
  const values = all.map(point => point[1]);
  const from = Math.min(...steps);
  const to = Math.max(...steps, from + 1);
  const bottom = low === undefined ? Math.min(...values) : low;
  const top = Math.max(...values, bottom + 1e-12);
  const pad = (top - bottom) * .06;
  const x = step => kCurve.left +
    (kCurve.width - kCurve.left - kCurve.right) * (step - from) / (to - from);
  const y = value => kCurve.height - kCurve.bottom -
    (kCurve.height - kCurve.top - kCurve.bottom) * (value - bottom) / (top + pad - bottom);
  const grid = ticks(bottom, top + pad, 4).flatMap(mark => [
    svg('line', {x1: kCurve.left, x2: kCurve.width - kCurve.right, y1: y(mark), y2: y(mark),
      style: `stroke:${paint('--line')}`}),
    svg('text', {x: kCurve.left - 8, y: y(mark) + 4, 'text-anchor': 'end'}, format(mark))]);
  const stepMarks = ticks(from, to, 5).filter(Number.isInteger).map(mark =>
    svg('text', {x: x(mark), y: kCurve.height - 6, 'text-anchor': 'middle'}, count(mark)));
  const marks = series.map(of => of.dots
    ? of.points.map(([step, value]) =>
      svg('circle', {cx: x(step), cy: y(value), r: 3.5, style: `fill:${paint(of.colour)}`}))
    : svg('polyline', {points: of.points.map(([step, value]) => `${x(step)},${y(value)}`).join(' '),
      style: `fill:none;stroke:${paint(of.colour)};stroke-width:${of.points.length > 1 ? 1.75 : 0}`,
      'stroke-dasharray': of.dashed ? '6 4' : null}));
  const alone = series.filter(of => !of.dots && of.points.length === 1).map(of =>
    svg('circle', {cx: x(of.points[0][0]), cy: y(of.points[0][1]), r: 3.5,
      style: `fill:${paint(of.colour)}`}));
  return el('figure', {},
    el('figcaption', {}, title),
    series.length > 1
      ? el('div', {class: 'legend'}, series.map(of => swatch(paint(of.colour), of.name))) : null,
    svg('svg', {viewBox: `0 0 ${kCurve.width} ${kCurve.height}`, role: 'img', 'aria-label': title},
      grid, stepMarks, marks, alone));
}

function drawCurves(run) {
  const history = run.history;
  if (!history.step) return;
  byId('progress').hidden = false;
  const points = of => history.step.map((step, i) => [step, of[i]]);
  const first = history.step[0];
  const last = history.step[history.step.length - 1];
  const loss = [{points: points(history.loss), colour: '--accent', name: 'training'}];
  if (run.evaluations.length > 0)
    loss.push({points: run.evaluations.map(of => [of.step, of.loss]), colour: '--c5',
      name: 'evaluation', dots: true});
  const times = [
    {points: points(history.step_seconds), colour: '--accent', name: 'measured'},
    {points: points(history.exposed_seconds), colour: '--c5', name: 'of it exposed'}];
  if (run.predicted)
    times.push({points: [[first, run.predicted.step_seconds],
      [last, run.predicted.step_seconds]], colour: '--quiet', name: 'predicted', dashed: true});
  const lossWords = `Loss, nats a token: ${history.loss[0].toPrecision(5)} to ` +
    history.loss[history.loss.length - 1].toPrecision(5);
  byId('curves').append(curve(lossWords, loss, mark => String(+mark.toPrecision(4))),
    curve('Seconds of a step', times, seconds, 0));
  byId('progress').append(historyTable(history, run));
}

const kMostRows = 12;

function historyTable(history, run) {
  const size = history.step.length;
  const every = Math.max(1, Math.ceil(size / kMostRows));
  const rows = [];
  for (let i = 0; i < size; ++i) {
    if (i % every !== 0 && i !== size - 1) continue;
    rows.push([count(history.step[i]), history.loss[i].toPrecision(6),
      history.grad_norm[i].toPrecision(4), history.learning_rate[i].toExponential(2),
      seconds(history.step_seconds[i]), seconds(history.exposed_seconds[i])]);
  }
  const caption = every > 1 ? `Every ${every}th step and the last` : 'Steps';
  const columns = ['step', 'loss', 'gradient norm', 'learning rate', 'time', 'exposed']
    .map((head, i) => ({head, number: i > 0}));
  const tables = [table(caption, columns, rows)];
  if (run.evaluations.length > 0)
    tables.push(table('Evaluations', [{head: 'after step'}, {head: 'loss', number: true}],
      run.evaluations.map(of => [count(of.step), of.loss.toPrecision(6)])));
  return el('div', {}, tables);
}
