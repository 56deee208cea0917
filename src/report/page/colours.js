// Which colour means what. Charts take var(--name), the canvas its value at the moment.

const causes = {
  late_issue: ['issued too late (prefetch distance)', '--c1'],
  device_room: ['no room on the device', '--c3'],
  host_room: ['no room in host memory', '--c3'],
  nvme_room: ['no room on NVMe', '--c3'],
  link_rate: ['rate of the link', '--c5'],
  disk_rate: ['rate of the drives', '--c2'],
  small_transfers: ['latency of small transfers', '--c4'],
  host_optimizer: ['optimizer on the host', '--c6'],
  collective: ['collectives', '--c0'],
  data: ['reading sequences', '--c8'],
  dispatch: ['starting tasks', '--text'],
};
const causeWords = cause => (causes[cause] || [cause])[0];
const causeColour = cause => (causes[cause] || ['', '--c7'])[1];

// Categories keep their colour in all tiers; the last colour is that of all that are left over.
const categoryColours = ['--c0', '--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];
const otherColour = '--c7';

// Products, attention, elementwise: as OpClass.
const classColours = ['--work-2', '--work-1', '--work-3'];

const value = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const paint = name => `var(${name})`;
