// SPDX-License-Identifier: BSD-3-Clause
// theme.js: colours for what is drawn by hand. The same values as the variables of style.css.

const LIGHT = {
  page: "#ffffff",
  panel: "#f6f7f9",
  line: "#d9dee5",
  grid: "#e8ebef",
  text: "#1a202c",
  dim: "#4a5568",
  read: "#2b6cb0",
  write: "#c05621",
  meta: "#6b46c1",
  wait: "#718096",
  HIGH: "#c53030",
  WARN: "#b7791f",
  INFO: "#718096",
  OK: "#2f855a",
};
const DARK = {
  page: "#14171c",
  panel: "#1c2128",
  line: "#39414d",
  grid: "#2a303a",
  text: "#e6e9ee",
  dim: "#a9b2bf",
  read: "#5a9fe6",
  write: "#e8834a",
  meta: "#a78bfa",
  wait: "#8b97a8",
  HIGH: "#fc8181",
  WARN: "#e5b454",
  INFO: "#8b97a8",
  OK: "#68d391",
};

export function palette(dark) {
  return dark ? DARK : LIGHT;
}

// viridis at nine even places, as numbers
const VIRIDIS = [
  [68, 1, 84],
  [71, 45, 123],
  [59, 82, 139],
  [44, 114, 142],
  [33, 145, 140],
  [40, 174, 128],
  [94, 201, 98],
  [173, 220, 48],
  [253, 231, 37],
];

function mix(t) {
  const at = Math.max(0, Math.min(1, t)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return VIRIDIS[i].map((from, c) => Math.round(from + (VIRIDIS[i + 1][c] - from) * (at - i)));
}

// Ramp of 256 colours for 0 < t <= 1. More stands out more from the page: darker on white, brighter on black. The end
// next to the page colour is left out, so that anything above zero can be seen.
export function ramp(dark) {
  return Array.from({ length: 256 }, (_, i) => mix(dark ? 0.2 + (0.8 * i) / 255 : 0.88 - (0.88 * i) / 255));
}

export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

// On a logarithmic scale between the least and the most: index in the ramp.
export function logScale(least, most) {
  const from = Math.log(Math.max(least, 1e-300));
  const span = Math.max(Math.log(Math.max(most, 1e-300)) - from, 1e-9);
  return (v) => (most <= least ? 255 : Math.max(0, Math.min(255, Math.round((255 * (Math.log(v) - from)) / span))));
}

// colours of the ten size classes, small to large: from alarming to calm
export function sizeColours(dark) {
  return Array.from({ length: 10 }, (_, i) => css(mix(dark ? 1 - 0.75 * (i / 9) : 0.9 * (i / 9))));
}
