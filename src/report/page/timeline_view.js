// What the timelines show, in seconds of the step, and how pointer, wheel, fingers and keys move it.
// All timelines of the page share it, so that prediction and measurement stay side by side.

class TimelineView {
  constructor(length) {
    this.length = length;
    this.printing = false;
    this.timelines = [];
    this.all();
  }

  all() {
    this.from = 0;
    this.to = this.length;
  }
  // `part` of what is seen, around a moment.
  zoom(part, moment = (this.from + this.to) / 2) {
    const shortest = this.length / 1e7;
    const span = Math.min(Math.max((this.to - this.from) * part, shortest), this.length);
    const left = (moment - this.from) / (this.to - this.from);
    this.set(moment - left * span, span);
  }
  pan(by) { this.set(this.from + by, this.to - this.from); }
  set(from, span) {
    this.from = Math.min(Math.max(from, 0), this.length - span);
    this.to = this.from + span;
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => this.drawNow());
  }
  drawNow() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    for (const timeline of this.timelines) timeline.draw();
    const every = (this.to - this.from) / 100;
    byId('window').textContent = this.to - this.from >= this.length ? '' :
      `${axisSeconds(this.from, every, this.to)} to ${axisSeconds(this.to, every, this.to)}`;
  }

  add(timeline) {
    this.timelines.push(timeline);
    const canvas = timeline.canvas;
    canvas.addEventListener('wheel', event => this.onWheel(timeline, event), {passive: false});
    canvas.addEventListener('keydown', event => this.onKey(timeline, event));
    canvas.addEventListener('pointerdown', event => this.onDown(timeline, event));
    canvas.addEventListener('pointermove', event => this.onMove(timeline, event));
    for (const end of ['pointerup', 'pointercancel'])
      canvas.addEventListener(end, event => this.fingers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => this.select(timeline, null));
  }

  fingers = new Map();

  // Pages scroll by the wheel: a chart takes it only with Ctrl, or once it was clicked.
  onWheel(timeline, event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !event.metaKey && !sideways && document.activeElement !== timeline.canvas)
      return;
    event.preventDefault();
    if (sideways) this.pan(event.deltaX * timeline.secondsPerPixel);
    else this.zoom(Math.exp(event.deltaY * .002), timeline.moment(event.offsetX));
  }

  onDown(timeline, event) {
    this.fingers.set(event.pointerId, event.offsetX);
    timeline.canvas.setPointerCapture(event.pointerId);
    this.select(timeline, timeline.pick(event.offsetX, event.offsetY));
  }
  onMove(timeline, event) {
    if (!this.fingers.has(event.pointerId)) {
      this.select(timeline, timeline.pick(event.offsetX, event.offsetY));
      return;
    }
    const before = [...this.fingers.values()];
    this.fingers.set(event.pointerId, event.offsetX);
    const now = [...this.fingers.values()];
    if (now.length === 2) this.pinch(timeline, before, now);
    else this.pan((before[0] - now[0]) * timeline.secondsPerPixel);
  }
  pinch(timeline, before, now) {
    const spread = Math.max(Math.abs(now[0] - now[1]), 1);
    const middle = (now[0] + now[1]) / 2;
    this.pan(((before[0] + before[1]) / 2 - middle) * timeline.secondsPerPixel);
    this.zoom(Math.max(Math.abs(before[0] - before[1]), 1) / spread, timeline.moment(middle));
  }

  onKey(timeline, event) {
    const done = this.do(event.key) || this.choose(timeline, event.key);
    if (done) event.preventDefault();
  }
  do(key) {
    const span = this.to - this.from;
    const actions = {
      '+': () => this.zoom(.5), '=': () => this.zoom(.5), 'in': () => this.zoom(.5),
      '-': () => this.zoom(2), 'out': () => this.zoom(2),
      'ArrowLeft': () => this.pan(-span / 4), 'left': () => this.pan(-span / 4),
      'ArrowRight': () => this.pan(span / 4), 'right': () => this.pan(span / 4),
      '0': () => this.set(0, this.length), 'Home': () => this.set(0, this.length),
      'all': () => this.set(0, this.length),
    };
    if (!actions[key]) return false;
    actions[key]();
    return true;
  }

  // By keys: another lane, or the next block of the lane.
  choose(timeline, key) {
    const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], '<': [0, -1], ',': [0, -1], '>': [0, 1],
      '.': [0, 1]}[key];
    if (!by) return false;
    const old = timeline.selected;
    const row = Math.min(Math.max((old ? old.row : 0) + by[0], 0), timeline.rows.length - 1);
    const level = timeline.rows[row].level(timeline.secondsPerPixel);
    const near = old ? level.at((old.from + old.to) / 2, this.length) : level.firstAfter(this.from);
    const block = Math.min(Math.max(near + (old && old.row === row ? by[1] : 0), 0), level.size - 1);
    const picked = timeline.blockAt(row, level, block);
    if (picked.to < this.from || picked.from > this.to)
      this.set((picked.from + picked.to - this.to + this.from) / 2, this.to - this.from);
    this.select(timeline, picked);
    return true;
  }

  select(timeline, picked) {
    if (!picked && !timeline.selected) return;
    timeline.selected = picked;
    for (const other of this.timelines) if (other !== timeline) other.selected = null;
    this.draw();
    if (!picked) return;
    const [heading, facts] = timeline.describe(picked);
    byId('detail').replaceChildren(el('strong', {}, heading), el('br'), facts);
  }
}
