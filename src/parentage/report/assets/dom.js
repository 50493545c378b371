// Small means to make elements. Text is always set as text: names may hold anything.

const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// A bar from 0 to 1 with a tick where it was before anything was known.
function makeBar(share, before) {
  const parts = [["rail", 0, 100], ["fill", 0, 100 * share], ["tick", 100 * before - 0.4, before ? 0.8 : 0]];
  return makeSvg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...parts.map(([name, x, width]) => makeSvg("rect", {
      class: name, x: Math.min(99.2, Math.max(0, x)), width: Math.max(0, width), height: 10,
    })));
}

// 12.3 %, with 0 and 100 % only where they are exact.
function percent(p) {
  if (p === null || Number.isNaN(p)) return "–";
  if (p <= 0) return "0 %";
  if (p >= 1) return "100 %";
  if (p < 0.0005) return "< 0.1 %";
  if (p > 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}

function number(x) {
  if (x === null || x === undefined) return "–";
  if (Math.abs(x) >= 1e5) return x.toExponential(2);
  return x.toFixed(Math.abs(x) >= 100 ? 1 : 2);
}
