// Key figures, predicted against measured, settings.

function figure(name, value, beside) {
  return [el('div', {}, el('dt', {}, name), el('dd', {}, el('div', {class: 'value'}, value),
    beside ? el('div', {class: 'beside'}, beside) : null))];
}

function drawFigures(run) {
  const predicted = run.predicted && run.predicted.step_seconds;
  const measured = run.measured_step_seconds;
  const step = measured || predicted;
  if (!step) return;
  const shown = run.measured || run.predicted;
  const flops = run.model_flops / step;
  const limit = run.limit_flops_per_second;
  byId('figures').append(
    ...figure('Step time', seconds(step),
      measured ? `median; ${predicted ? `${seconds(predicted)} predicted` : ''}` : 'predicted'),
    ...figure('Tokens a second', count(run.tokens / step), `${count(run.tokens)} a step`),
    ...figure(run.limit_is_peak ? 'Model flops (MFU)' : 'Model flops',
      run.limit_is_peak ? percent(flops / limit) : flopRate(flops),
      run.limit_is_peak ? `${flopRate(flops)} of ${flopRate(limit)}`
        : limit ? `${percent(flops / limit)} of ${flopRate(limit)} for products` : ''),
    ...figure('Compute stands still', percent(shown.still_seconds / shown.step_seconds),
      `${seconds(shown.still_seconds)} of ${seconds(shown.step_seconds)}`),
    ...Object.entries(run.peaks).filter(([, of]) => of.planned_bytes > 0).flatMap(([name, of]) =>
      figure(`${tierName(name)} peak`, bytes(of.measured_bytes || of.planned_bytes),
        `of a budget of ${bytes(of.budget_bytes)}`)));
}

function drawComparison(run) {
  const {predicted, measured} = run;
  const rows = [];
  const add = (name, expected, seen, format) => rows.push([name,
    expected === undefined ? '' : format(expected), seen === undefined ? '' : format(seen),
    expected > 0 && seen !== undefined ? (seen / expected).toFixed(2) : '']);
  if (predicted || measured) {
    add('step, median', predicted && predicted.step_seconds, run.measured_step_seconds, seconds);
    add(measured ? `step ${measured.step}` : 'step', predicted && predicted.step_seconds,
      measured && measured.step_seconds, seconds);
    add('compute stands still', predicted && predicted.still_seconds,
      measured && measured.still_seconds, seconds);
  }
  const lanes = new Set([predicted, measured].filter(Boolean)
    .flatMap(step => step.lanes.map(lane => lane.lane)));
  const of = (step, name) => step && step.lanes.find(lane => lane.lane === name);
  for (const [words, key] of [['busy', 'busy_seconds'], ['exposed', 'exposed_seconds']]) {
    for (const name of lanes) {
      if (name === 'compute' && key === 'exposed_seconds') continue;
      const [a, b] = [of(predicted, name), of(measured, name)];
      add(`${laneName(name)}, ${words}`, a && a[key], b && b[key], seconds);
    }
  }
  for (const [name, peak] of Object.entries(run.peaks))
    if (peak.planned_bytes > 0)
      add(`${tierName(name)} peak`, peak.planned_bytes, peak.measured_bytes, bytes);
  byId('comparison').hidden = !measured;
  byId('comparison-table').append(table('A typical step beside its prediction', [{head: ''},
    {head: 'predicted', number: true}, {head: 'measured', number: true},
    {head: 'measured / predicted', number: true}], rows));
}

function drawSettings(run) {
  const rows = run.settings.map(of => [el('code', {}, of.name), of.value, of.source]);
  byId('settings-table').append(table('What every setting came to, and how it came about',
    [{head: 'setting'}, {head: 'value'}, {head: 'source'}], rows, {class: 'settings'}));
}
