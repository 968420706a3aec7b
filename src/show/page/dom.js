// Elements, words, and pictures as SVG.

// The words with their values: say("{n} {n|lane|lanes}", {n: 2}) is "2 lanes".
function say(text, values = {}) {
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, many) =>
    one === undefined ? String(values[name]) : values[name] === 1 ? one : many);
}

// An element with attributes, listeners ("onclick") and children: elements, texts or null.
function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A <select> with these texts; its values are their numbers.
function choice(label, texts, chosen, onchange) {
  const select = make("select", {onchange: () => onchange(Number(select.value))},
    ...texts.map((text, i) => make("option", {value: i, selected: i === chosen}, text)));
  return {element: make("label", {class: "choice"}, label + " ", select), select};
}

// 196608 is "196,608".
function grouped(number) {
  return number.toLocaleString("en-US");
}

// The character for a lane in the pictures: 0-9, then a-v.
function laneSign(lane) {
  return "0123456789abcdefghijklmnopqrstuv"[lane];
}

function section(title, ...children) {
  return make("section", {}, make("h3", {}, title), ...children);
}

// Pictures as SVG, and tables.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// As make(), for elements of a picture.
function makeSvg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

// Three significant digits: 0.0213, 5.31, 387; 2748 is "2,748".
function significant(value) {
  if (value >= 1000) return grouped(Math.round(value));
  return value.toLocaleString("en-US", {maximumSignificantDigits: 3, useGrouping: false});
}

// The first cell of each row is its head.
function table(caption, heads, rows) {
  return make("table", {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", {scope: "col"}, head)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell, i) =>
      make(i === 0 ? "th" : "td", i === 0 ? {scope: "row"} : {}, cell))))));
}
