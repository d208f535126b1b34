// SPDX-License-Identifier: BSD-3-Clause
// ops.js: single operations of a trace. Pure.

const CLASSES = [101, 1025, 10241, 102401, 1048577, 4194305, 10485761, 104857601, 1073741825];

// size class of the logs, 0..9
export function sizeClass(length) {
  const found = CLASSES.findIndex((end) => length < end);
  return found < 0 ? 9 : found;
}

export function layersOf(trace) {
  return [...new Set(trace.ops.layer)];
}

// Indices of the operations of a layer that touch a window.
export function within(ops, layer, [t0, t1]) {
  const found = [];
  for (let i = 0; i < ops.n; i++) {
    if (ops.layer[i] === layer && ops.end[i] >= t0 && ops.start[i] <= t1) found.push(i);
  }
  return found;
}

// The operation of a rank nearest to a moment, or -1; `slack` seconds beside it count as a hit.
export function nearest(ops, list, rank, t, slack) {
  let best = -1;
  let distance = slack;
  for (const i of list) {
    if (ops.rank[i] !== rank) continue;
    const d = t < ops.start[i] ? ops.start[i] - t : t > ops.end[i] ? t - ops.end[i] : 0;
    if (d < distance || (d === 0 && distance === 0 && best < 0)) {
      best = i;
      distance = d;
    }
  }
  return best;
}
