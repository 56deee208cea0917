// Elements with attributes and children; text is always text, never markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

const el = (name, attributes, ...children) =>
  fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
const byId = id => document.getElementById(id);

// Columns are {head, number}; the first cell of a row names it.
function table(caption, columns, rows, attributes) {
  const cell = (value, i) => {
    const kind = columns[i].number ? {class: 'number'} : {};
    return i === 0 ? el('th', {scope: 'row', ...kind}, value) : el('td', kind, value);
  };
  return el('div', {class: 'table', tabindex: '0', role: 'region', 'aria-label': caption},
    el('table', attributes || {},
      el('caption', {}, caption),
      el('thead', {}, el('tr', {}, columns.map(column =>
        el('th', {scope: 'col', class: column.number ? 'number' : null}, column.head)))),
      el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell))))));
}

function swatch(colour, text) {
  return el('span', {},
    el('span', {class: 'swatch', style: `background:${colour}`, 'aria-hidden': 'true'}), text);
}
