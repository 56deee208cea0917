// Rates reached while a lane or kernel is at work, beside what the machine's description allows.

function rateBar(name, reached, limit, planned, said) {
  const part = rate => Math.min(100, 100 * rate / Math.max(limit, reached));
  return [
    el('div', {class: 'label'}, name),
    el('div', {class: 'bar', role: 'img', 'aria-label': `${name}: ${said}`},
      el('span', {style: `width:${part(reached)}%;background:${paint('--accent')}`}),
      planned ? el('span', {class: 'tick', style: `left:calc(${part(planned)}% - 1px)`}) : null),
    el('div', {class: 'said'}, said),
  ];
}

function drawRates(step) {
  const links = step.lanes.filter(lane => lane.limit_bytes_per_second && lane.busy_seconds > 0);
  const bars = links.flatMap(lane => {
    const reached = lane.bytes / lane.busy_seconds;
    const limit = lane.limit_bytes_per_second;
    return rateBar(laneName(lane.lane), reached, limit, lane.planned_bytes_per_second,
      `${byteRate(reached)} of ${byteRate(limit)}`);
  });
  byId('rate-bars').append(el('div', {class: 'bars rates'}, bars, classBars(step)));
  byId('kernels').append(kernelTable(step));
}

// Kernels of a class together.
function classBars(step) {
  const classes = new Map();
  for (const kernel of step.kernels) {
    if (!kernel.class || !kernel.limit_per_second) continue;
    const sum = classes.get(kernel.class) || {work: 0, seconds: 0, limit: kernel.limit_per_second};
    sum.work += workOf(kernel);
    sum.seconds += kernel.seconds;
    classes.set(kernel.class, sum);
  }
  return [...classes].flatMap(([name, {work, seconds: spent, limit}]) => {
    const rate = name === 'elementwise' ? byteRate : flopRate;
    return rateBar(name, work / spent, limit, 0, `${rate(work / spent)} of ${rate(limit)}`);
  });
}

const workOf = kernel => kernel.class === 'elementwise' ? kernel.bytes : kernel.flops;

const kLongest = 12;  // that are shown before the others are asked for

function kernelTable(step) {
  const columns = [{head: 'kernel'}, {head: 'lane'}, {head: 'ops', number: true},
    {head: 'time', number: true}, {head: 'of step', number: true}, {head: 'rate', number: true}];
  const rows = step.kernels.map(kernel => {
    const flops = kernel.class ? kernel.class !== 'elementwise' : kernel.flops > kernel.bytes;
    const rate = kernel.seconds <= 0 ? '' : flops ? flopRate(kernel.flops / kernel.seconds)
      : byteRate(kernel.bytes / kernel.seconds);
    return [kernel.kernel, laneName(kernel.lane), count(kernel.ops), seconds(kernel.seconds),
      percent(kernel.seconds / step.step_seconds), rate];
  });
  const longest = table(`Kernels of ${stepWords(step)}, longest first`, columns,
    rows.slice(0, kLongest));
  if (rows.length <= kLongest) return longest;
  return el('div', {}, longest, el('details', {},
    el('summary', {}, `The other ${rows.length - kLongest} kernels`),
    table(`Shorter kernels of ${stepWords(step)}`, columns, rows.slice(kLongest))));
}
