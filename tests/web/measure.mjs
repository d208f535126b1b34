// SPDX-License-Identifier: BSD-3-Clause
// measure.mjs: questions to a page that a reader with other eyes, hands or screens would ask. Each function runs inside it.

// Words whose colour is too near to what is behind them (WCAG AA), as "ratio: words".
export function weakContrast() {
  const parse = (text) => {
    const found = /rgba?\(([^)]+)\)/.exec(text);
    if (!found) return null;
    const [r, g, b, a = 1] = found[1].split(/[,/ ]+/).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a),
    a: 1,
  });
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const known = new Map(); // thousands of cells lie on the same few backgrounds
  const behind = (element) => {
    if (!element) return { r: 255, g: 255, b: 255, a: 1 };
    if (!known.has(element)) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      const opaque = colour && colour.a === 1;
      const below = opaque ? null : behind(element.parentElement);
      known.set(element, opaque ? colour : colour && colour.a > 0 ? over(colour, below) : below);
    }
    return known.get(element);
  };
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!words || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName) || element.closest(".unseen")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    const [front, back] = [over(parse(style.color), behind(element)), behind(element)].map(light);
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) weak.push(`${ratio.toFixed(2)}: ${words.slice(0, 40)}`);
  }
  return [...new Set(weak)];
}

// Controls that do not say what they are.
export function nameless() {
  const named = (e) => (e.getAttribute("aria-label") || e.textContent || e.labels?.[0]?.textContent || "").trim();
  const inside = (e) => e.parentElement.closest("[role=img]"); // told by the picture
  return [...document.querySelectorAll("a, button, input, select, summary, canvas, [role=img], [tabindex]")]
    .filter((e) => !named(e) && !inside(e))
    .map((e) => e.outerHTML.slice(0, 90));
}

export function doubleIds() {
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
}

// How far the page can be scrolled sideways.
export function sideways() {
  return document.documentElement.scrollWidth - document.documentElement.clientWidth;
}

// Places that a keyboard reaches but an eye cannot see.
export function focusShown() {
  const e = document.activeElement;
  const style = getComputedStyle(e);
  const name = (e.getAttribute("aria-label") || e.textContent || e.labels?.[0]?.textContent || e.tagName)
    .trim()
    .slice(0, 60);
  return { tag: e.tagName, name, shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 };
}

// Colour of a canvas of a pane at a place between 0 and 1 of its plot: [r, g, b, alpha].
export function pixel({ pane, x, y }) {
  const canvas = document.querySelector(`[data-pane="${pane}"] canvas`);
  return [
    ...canvas.getContext("2d").getImageData(Math.floor(x * canvas.width), Math.floor(y * canvas.height), 1, 1).data,
  ];
}
