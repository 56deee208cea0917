// What fills each tier over the step, stacked by category, under the line of its budget.

const kChart = {width: 1000, height: 200};
const kShownShare = .005;  // of a tier's peak; smaller categories are summed

// Categories by their size over all tiers, so that each has one colour everywhere.
function categoryPaint(memory) {
  const sizes = new Map();
  for (const tier of Object.values(memory))
    for (const {category, bytes: of} of tier.categories)
      sizes.set(category, Math.max(sizes.get(category) || 0, Math.max(...of)));
  const order = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a));
  return category => {
    const at = order.indexOf(category);
    return at < 0 || at >= categoryColours.length ? otherColour : categoryColours[at];
  };
}

// Large ones by themselves, the others as one.
function shownCategories(tier, colourOf) {
  const shown = [];
  const rest = {category: 'others', colour: otherColour, bytes: null};
  for (const {category, bytes: of} of tier.categories) {
    const colour = colourOf(category);
    if (colour !== otherColour && Math.max(...of) >= kShownShare * tier.peak_bytes)
      shown.push({category, colour, bytes: of});
    else
      rest.bytes = rest.bytes ? rest.bytes.map((sum, i) => sum + of[i]) : of;
  }
  return rest.bytes ? [...shown, rest] : shown;
}

// Steps along the tops of a series, left to right.
function outline(tops, x, y) {
  return tops.map((top, i) => `L${x(i).toFixed(1)},${y(top).toFixed(1)}H${x(i + 1).toFixed(1)}`)
    .join('');
}

function tierChart(name, tier, shown, limits) {
  const stretches = shown[0].bytes.length;
  // A budget far above what is held would flatten the chart: then it is only told of.
  const top = limits.budget_bytes <= 3 * tier.peak_bytes
    ? Math.max(limits.budget_bytes, tier.peak_bytes) : 1.15 * tier.peak_bytes;
  const x = i => kChart.width * i / stretches;
  const y = held => kChart.height * (1 - held / top);
  const sums = new Array(stretches).fill(0);
  const areas = shown.map(({bytes: of, colour}) => {
    const below = sums.slice();
    of.forEach((held, i) => { sums[i] += held; });
    const back = below.map((held, i) => [i, held]).reverse()
      .map(([i, held]) => `L${x(i + 1).toFixed(1)},${y(held).toFixed(1)}H${x(i).toFixed(1)}`)
      .join('');
    const path = outline(sums, x, y);
    return svg('path', {d: `M${path.slice(1)}${back}Z`, style: `fill:${paint(colour)}`});
  });
  const lines = [];
  if (limits.budget_bytes <= top)
    lines.push(svg('line', {x1: 0, x2: kChart.width, y1: y(limits.budget_bytes),
      y2: y(limits.budget_bytes), style: `stroke:${paint('--budget')}`,
      'stroke-dasharray': '6 4', 'stroke-width': 1.5, 'vector-effect': 'non-scaling-stroke'}));
  lines.push(svg('line', {x1: 0, x2: kChart.width, y1: kChart.height, y2: kChart.height,
    style: `stroke:${paint('--line')}`, 'vector-effect': 'non-scaling-stroke'}));
  return svg('svg', {viewBox: `0 -4 ${kChart.width} ${kChart.height + 6}`, role: 'img',
    preserveAspectRatio: 'none', style: 'height:11rem',
    'aria-label': `${tierName(name)}: ${bytes(tier.peak_bytes)} at its fullest`}, areas, lines);
}

function tierTable(name, shown, limits) {
  const peak = shown[0].bytes.map((_, i) => shown.reduce((sum, of) => sum + of.bytes[i], 0));
  const at = peak.indexOf(Math.max(...peak));
  const rows = shown.map(of => [swatch(paint(of.colour), of.category), bytes(of.bytes[at]),
    percent(of.bytes[at] / peak[at]), bytes(Math.max(...of.bytes))]);
  return table(`${tierName(name)} at its fullest: ${bytes(peak[at])} of a budget of ` +
    bytes(limits.budget_bytes), [{head: 'category'}, {head: 'then', number: true},
    {head: 'of it', number: true}, {head: 'at most', number: true}], rows);
}

function drawMemory(step, peaks) {
  const colourOf = categoryPaint(step.memory);
  byId('memory-note').textContent = `Of ${stepWords(step)}: what values take, by category, each ` +
    'stretch at its fullest moment. Room that a plan holds for ' +
    'transfers to come, and gaps between values, come on top: the peaks reserved are in the ' +
    'figures above.';
  for (const [name, tier] of Object.entries(step.memory)) {
    if (tier.categories.length === 0) continue;
    const shown = shownCategories(tier, colourOf);
    const limits = peaks[name];
    const far = limits.budget_bytes > 3 * tier.peak_bytes
      ? ', which is far above the chart.' : ', the dashed line.';
    byId('memory-charts').append(el('div', {class: 'tier'},
      el('h3', {}, tierName(name)),
      el('p', {class: 'note'}, `At most ${bytes(tier.peak_bytes)}, of a budget of ` +
        `${bytes(limits.budget_bytes)}${far}`),
      tierChart(name, tier, shown, limits),
      el('div', {class: 'scale', 'aria-hidden': 'true'}, el('span', {}, '0 s'),
        el('span', {}, seconds(step.step_seconds))),
      tierTable(name, shown, limits)));
  }
}
