// One step on a canvas: a row a lane, blocks of tasks, and on the compute row the stretches in which
// it stood still, in the colour of their cause.

const kRow = 24;     // pixels
const kGap = 6;
const kAxis = 22;
const kGutter = 118; // for lane names; on narrow screens they stand above their rows
const kNameLine = 15;
const kNarrow = 560;
const kWide = 3;     // narrower blocks are drawn by columns
const kInk = ['--text', '--quiet', '--line', '--idle', '--accent', '--ground', '--work-1',
  '--work-2', '--work-3', '--c0', '--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];
// From the bottom: what stood still, then work.
const kStacked = ['--text', '--c0', '--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8',
  '--work-1', '--work-2', '--work-3'];

class Timeline {
  constructor(step, caption, view) {
    this.step = step;
    this.view = view;
    this.rows = step.lanes.map(lane => new LaneBlocks(lane));
    this.still = new Still(step.still);
    this.canvas = el('canvas', {tabindex: '0', role: 'img', 'aria-label':
      `${caption}: ${step.lanes.length} lanes over ${seconds(step.step_seconds)}. ` +
      'The tables below hold the same as numbers.'});
    this.figure = el('figure', {}, el('figcaption', {}, caption), this.canvas);
    this.selected = null;  // {row, level, block} or {still}
  }

  get gutter() { return this.width < kNarrow ? 0 : kGutter; }
  get rowHeight() { return kRow + kGap + (this.gutter ? 0 : kNameLine); }
  get height() { return this.rows.length * this.rowHeight + kAxis; }
  get plotWidth() { return this.width - this.gutter; }
  get secondsPerPixel() { return (this.view.to - this.view.from) / this.plotWidth; }
  x(moment) { return this.gutter + (moment - this.view.from) / this.secondsPerPixel; }
  moment(x) { return this.view.from + (x - this.gutter) * this.secondsPerPixel; }
  top(row) { return row * this.rowHeight + (this.gutter ? 0 : kNameLine); }

  draw() {
    // On paper a canvas is an image: it needs more pixels than a screen.
    const scale = this.view.printing ? 3 : window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth || this.figure.clientWidth || 600;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    this.ink = Object.fromEntries(kInk.map(name => [name, value(name)]));
    context.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    this.drawAxis(context);
    this.rows.forEach((row, i) => this.drawRow(context, row, i));
    this.drawSelection(context);
  }

  drawRow(context, row, i) {
    const top = this.top(i);
    context.fillStyle = this.ink['--text'];
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillText(laneName(row.lane), 0, this.gutter ? top + kRow / 2 : top - kNameLine / 2);
    context.save();
    context.beginPath();
    context.rect(this.gutter, top, this.plotWidth, kRow);
    context.clip();
    context.fillStyle = this.ink['--idle'];
    const end = Math.min(this.x(this.step.step_seconds), this.width);
    context.fillRect(this.gutter, top, end - this.gutter, kRow);
    const columns = new Columns(this.plotWidth);
    this.drawBlocks(context, row.level(this.secondsPerPixel), top, columns);
    if (row.lane === 'compute') this.drawStill(context, top, columns);
    columns.draw(context, this.ink, kStacked, this.gutter, top, kRow);
    context.restore();
  }

  drawBlocks(context, level, top, columns) {
    for (let i = level.firstAfter(this.view.from); i < level.size; ++i) {
      if (level.start[i] > this.view.to) break;
      const left = this.x(level.start[i]);
      const right = this.x(level.end[i]);
      const colour = level.colour(i);
      const part = level.tasks(i) > 1 ? level.part(i) : 1;
      if (right - left < kWide) {
        columns.add(colour, left - this.gutter, right - this.gutter, level.part(i));
        continue;
      }
      context.fillStyle = this.ink[colour];
      context.fillRect(left, top + kRow * (1 - part), right - left - (right - left > 8 ? 1 : 0),
        kRow * part);
      this.label(context, level, i, left, right, top);
    }
  }

  // Wide blocks carry their names.
  label(context, level, i, left, right, top) {
    const from = Math.max(left, this.gutter);
    const room = Math.min(right, this.width) - from - 12;
    if (room < 48) return;
    const name = level.name('what', i, this.step.names);
    const text = level.tasks(i) > 1 ? `${count(level.tasks(i))} tasks` : name;
    if (context.measureText(text).width > room) return;
    context.fillStyle = this.ink['--ground'];
    context.fillText(text, from + 6, top + kRow / 2);
  }

  drawStill(context, top, columns) {
    for (let i = 0; i < this.still.size; ++i) {
      if (this.still.end[i] < this.view.from || this.still.start[i] > this.view.to) continue;
      const left = this.x(this.still.start[i]);
      const right = this.x(this.still.end[i]);
      const colour = causeColour(this.still.cause[i]);
      if (right - left < kWide) {
        columns.add(colour, left - this.gutter, right - this.gutter, 1);
        continue;
      }
      context.fillStyle = this.ink[colour];
      context.fillRect(left, top, right - left, kRow);
    }
  }

  drawAxis(context) {
    const top = this.rows.length * this.rowHeight - kGap + (this.gutter ? 0 : 2);
    const span = this.view.to - this.view.from;
    const about = span / Math.max(2, Math.floor(this.plotWidth / 110));
    const power = 10 ** Math.floor(Math.log10(about));
    const every = power * [1, 2, 5, 10].find(times => times * power >= about);
    context.fillStyle = this.ink['--quiet'];
    context.strokeStyle = this.ink['--line'];
    context.textBaseline = 'top';
    for (let tick = Math.ceil(this.view.from / every); tick * every <= this.view.to; ++tick) {
      const x = this.x(tick * every);
      context.beginPath();
      context.moveTo(x + .5, 0);
      context.lineTo(x + .5, top + 4);
      context.stroke();
      const text = axisSeconds(tick * every, every, this.view.to);
      const half = context.measureText(text).width / 2;
      context.textAlign = 'left';
      context.fillText(text, Math.min(Math.max(x - half, this.gutter), this.width - 2 * half),
        top + 6);
    }
  }

  drawSelection(context) {
    if (!this.selected) return;
    const {row, from, to} = this.selected;
    const left = Math.max(this.x(from), this.gutter);
    const right = Math.min(this.x(to), this.width);
    if (right < this.gutter || left > this.width) return;
    context.strokeStyle = this.ink['--accent'];
    context.lineWidth = 2;
    context.strokeRect(left - 1, this.top(row) - 1, Math.max(right - left, 1) + 2, kRow + 2);
    context.lineWidth = 1;
  }

  // What is at a point of the canvas, for a finger or a pointer.
  pick(x, y) {
    const row = Math.floor(y / this.rowHeight);
    if (row < 0 || row >= this.rows.length || x < this.gutter) return null;
    const moment = this.moment(x);
    const reach = 3 * this.secondsPerPixel;
    if (this.rows[row].lane === 'compute') {
      const still = this.still.at(moment, this.secondsPerPixel / 2);
      if (still >= 0) return this.stillAt(row, still);
    }
    const level = this.rows[row].level(this.secondsPerPixel);
    const block = level.at(moment, reach);
    return block < 0 ? null : this.blockAt(row, level, block);
  }

  blockAt(row, level, block) {
    return {row, level, block, from: level.start[block], to: level.end[block]};
  }
  stillAt(row, still) {
    return {row, still, from: this.still.start[still], to: this.still.end[still]};
  }

  describe(picked) {
    const lane = this.rows[picked.row].lane;
    const when = `from ${seconds(picked.from)}, ${seconds(picked.to - picked.from)}`;
    if (picked.still !== undefined)
      return ['Compute stands still: ' + causeWords(this.still.cause[picked.still]), when];
    return describeBlock(lane, picked.level, picked.block, this.step.names, when);
  }
}

// In the unit that suits `largest`, with the digits that a difference of `every` asks for.
function axisSeconds(moment, every, largest) {
  const [unit, name] = largest >= 1 ? [1, 's'] : largest >= 1e-3 ? [1e-3, 'ms'] : [1e-6, 'µs'];
  const digits = Math.max(0, Math.ceil(-Math.log10(every / unit) - 1e-9));
  return `${(moment / unit).toFixed(digits)} ${name}`;
}

// A heading and what is known of it.
function describeBlock(lane, level, i, names, when) {
  const tasks = level.tasks(i);
  const what = level.name('what', i, names);
  const made = level.name('made', i, names);
  const heading = `${laneName(lane)}: ` +
    (tasks > 1 ? `${count(tasks)} tasks, the longest ${what}` : made ? `${what}, ${made}` : what);
  const facts = [when];
  const busy = level.busy(i);
  if (tasks > 1) facts.push(`${seconds(busy)} at work`);
  if (level.bytes(i) > 0) {
    const inMemory = lane === 'compute' || lane === 'host_compute';
    facts.push(`${bytes(level.bytes(i))}${inMemory ? ' read and written' : ''}` +
      (busy > 0 ? `, ${byteRate(level.bytes(i) / busy)}` : ''));
  }
  if (level.flops(i) > 0 && busy > 0) facts.push(flopRate(level.flops(i) / busy));
  const waitedFor = level.name('waited_for', i, names);
  facts.push(level.waited(i) > 0 && waitedFor
    ? `waited ${seconds(level.waited(i))}${tasks > 1 ? ', longest' : ''} for ${waitedFor}`
    : 'waited for no other lane');
  return [heading, facts.join(' · ')];
}
