// Elements: made by function calls, never from markup, so that no text of a rule or a model can become markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** Make an element: its properties (`class`, `on…`, attributes), then its children: elements or strings. */
export function element(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

export function drawn(name, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

function fill(made, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/** Say something to screen readers. */
export function announce(text) {
  byId("status").textContent = text;
}

/** Show an error of a source, such as "run"; without a text, forget that of this source and leave the others. */
export function alertUser(source, text) {
  const box = byId("alert");
  if (!text && box.dataset.source !== source) return;
  box.dataset.source = text ? source : "";
  box.hidden = !text;
  box.textContent = text;
}

const SIGNS = { " ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽" };

/** Return a text whose white space and controls are visible. */
export function visible(text) {
  return Array.from(text, (character) => {
    if (SIGNS[character]) return SIGNS[character];
    return /\p{C}/u.test(character) ? `\\u{${character.codePointAt(0).toString(16)}}` : character;
  }).join("");
}

/** Return a percentage that is short and never rounds a small probability to nothing. */
export function percent(probability) {
  if (probability === null || probability === undefined) return "–";
  const value = probability * 100;
  if (value >= 99.95) return "100 %";
  if (value >= 10) return `${value.toFixed(0)} %`;
  if (value >= 0.995) return `${value.toFixed(1)} %`;
  if (value >= 0.01) return `${value.toFixed(2)} %`;
  return value > 0 ? "<0.01 %" : "0 %";
}
