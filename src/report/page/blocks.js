// The blocks of a lane, decoded from columns: one level for each zoom, coarse ones for far away.

class Level {
  constructor(data) {
    this.data = data;
    this.quantum = data.quantum_ns / 1e9;
    this.size = data.start_ns.length;
    this.start = new Float64Array(this.size);
    this.end = new Float64Array(this.size);
    let at = 0;
    for (let i = 0; i < this.size; ++i) {
      at += data.start_ns[i];
      this.start[i] = at / 1e9;
      this.end[i] = (at + data.length_ns[i]) / 1e9;
    }
    // Tasks of a wide lane may end out of order: the latest end so far finds those still running.
    this.latest = new Float64Array(this.size);
    let latest = 0;
    for (let i = 0; i < this.size; ++i) this.latest[i] = latest = Math.max(latest, this.end[i]);
  }

  tasks(i) { return this.data.tasks ? this.data.tasks[i] : 1; }
  busy(i) { return this.data.busy_ns ? this.data.busy_ns[i] / 1e9 : this.end[i] - this.start[i]; }
  // Of its span, that the lane was at work.
  part(i) {
    const span = this.end[i] - this.start[i];
    return span > 0 ? Math.min(1, this.busy(i) / span) : 1;
  }
  bytes(i) { return this.data.bytes[i]; }
  flops(i) { return this.data.flops ? this.data.flops[i] : 0; }
  // By what its ops mostly do.
  colour(i) { return this.data.class ? classColours[this.data.class[i]] || '--work-2' : '--work-2'; }
  waited(i) { return this.data.waited_ns[i] / 1e9; }
  name(column, i, names) {
    const at = this.data[column] ? this.data[column][i] : -1;
    return at < 0 ? null : names[at];
  }

  // The first block that ends after the moment.
  firstAfter(moment) {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.latest[middle] > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The block at the moment, or the nearest within `reach` seconds; -1: none.
  at(moment, reach) {
    let best = -1;
    let distance = reach;
    for (let i = this.firstAfter(moment - reach); i < this.size; ++i) {
      if (this.start[i] > moment + distance) break;
      const away = Math.max(this.start[i] - moment, moment - this.end[i], 0);
      if (away <= distance) {
        best = i;
        distance = away;
      }
    }
    return best;
  }
}

class LaneBlocks {
  constructor(lane) {
    this.lane = lane.lane;
    this.tasks = lane.tasks;
    this.levels = lane.levels.map(data => new Level(data));
  }

  get finest() { return this.levels[0]; }
  // The coarsest whose merged blocks are no wider than a pixel.
  level(secondsPerPixel) {
    for (let i = this.levels.length - 1; i > 0; --i)
      if (this.levels[i].quantum <= secondsPerPixel) return this.levels[i];
    return this.levels[0];
  }
}

class Still {
  constructor(data) {
    this.size = data.start_ns.length;
    this.start = data.start_ns.map(ns => ns / 1e9);
    this.end = data.start_ns.map((ns, i) => (ns + data.length_ns[i]) / 1e9);
    this.cause = data.cause;
  }

  at(moment, reach) {
    for (let i = 0; i < this.size; ++i)
      if (this.start[i] - reach <= moment && moment <= this.end[i] + reach) return i;
    return -1;
  }
}
