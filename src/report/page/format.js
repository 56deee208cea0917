// How quantities are written for people.

function amount(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

function seconds(value) {
  const size = Math.abs(value);
  if (size < 5e-10) return '0 s';
  if (size < 1e-6) return `${amount(value * 1e9)} ns`;
  if (size < 1e-3) return `${amount(value * 1e6)} µs`;
  if (size < 1) return `${amount(value * 1e3)} ms`;
  if (size < 10000) return `${amount(value)} s`;
  return `${(value / 3600).toFixed(2)} h`;
}

function bytes(value) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit + 1 < units.length; ++unit) value /= 1024;
  return `${unit === 0 ? Math.round(value) : amount(value)} ${units[unit]}`;
}

// In powers of 1000, as rates and flops are counted.
function thousands(value, unit) {
  const prefixes = ['', 'K', 'M', 'G', 'T', 'P', 'E'];
  let at = 0;
  for (; Math.abs(value) >= 1000 && at + 1 < prefixes.length; ++at) value /= 1000;
  return `${amount(value)} ${prefixes[at]}${unit}`;
}

const byteRate = value => thousands(value, 'B/s');
const flopRate = value => thousands(value, 'FLOP/s');
// Small parts of a step show a digit more.
function percent(part) {
  const size = Math.abs(part);
  if (size < 5e-6) return '0 %';
  return `${(100 * part).toFixed(size < 5e-3 ? 2 : 1)} %`;
}
const count = value => Math.round(value).toLocaleString('en-US');

const laneWords = {
  compute: 'compute', d2h: 'device to host', h2d: 'host to device', nvme_write: 'NVMe write',
  nvme_read: 'NVMe read', host_compute: 'host compute', comm: 'collectives',
};
const laneName = lane => laneWords[lane] || lane;
const tierName = tier => ({device: 'Device', host: 'Host', nvme: 'NVMe'})[tier];
