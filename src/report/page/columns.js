// What is narrower than a few pixels, drawn fairly: in each pixel column the height of a colour is
// its part of that time, so that a thousand short tasks look like what they add up to.

class Columns {
  constructor(width) {
    this.width = Math.ceil(width);
    this.parts = new Map();  // colour -> part of each column
  }

  // From left to right, in pixels; `part` of that time.
  add(colour, left, right, part) {
    let columns = this.parts.get(colour);
    if (!columns) this.parts.set(colour, columns = new Float32Array(this.width));
    const last = Math.min(Math.ceil(right), this.width);
    for (let x = Math.max(Math.floor(left), 0); x < last; ++x)
      columns[x] += part * (Math.min(right, x + 1) - Math.max(left, x));
  }

  // Colours stand on each other in the order given.
  draw(context, ink, order, left, top, height) {
    const base = new Float32Array(this.width);
    for (const colour of order) {
      const columns = this.parts.get(colour);
      if (!columns) continue;
      context.fillStyle = ink[colour];
      for (let x = 0; x < this.width; ++x) {
        const part = Math.min(columns[x], 1 - base[x]);
        if (part < .005) continue;
        context.fillRect(left + x, top + height * (1 - base[x] - part), 1, height * part);
        base[x] += part;
      }
    }
  }
}
