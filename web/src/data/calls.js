// SPDX-License-Identifier: BSD-3-Clause
// calls.js: calls with the calls inside of them. Pure.

// How deep each call is inside of others, and how long the calls right inside of it took together.
export function nest(calls) {
  const depth = new Array(calls.n).fill(0);
  const inside = new Array(calls.n).fill(0);
  for (let i = 0; i < calls.n; i++) {
    const p = calls.parent[i];
    if (p < 0) continue;
    depth[i] = depth[p] + 1;
    inside[p] += calls.end[i] - calls.start[i];
  }
  return { depth, inside, rows: depth.reduce((m, d) => Math.max(m, d + 1), 1) };
}

// Ranks that have such calls, the one with the longest call first.
export function ranksOf(calls) {
  const longest = new Map();
  for (let i = 0; i < calls.n; i++)
    longest.set(calls.rank[i], Math.max(longest.get(calls.rank[i]) || 0, calls.end[i] - calls.start[i]));
  return [...longest].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([rank]) => rank);
}

// Calls of a rank that touch a window.
export function callsIn(calls, rank, [t0, t1]) {
  const found = [];
  for (let i = 0; i < calls.n; i++)
    if (calls.rank[i] === rank && calls.end[i] >= t0 && calls.start[i] <= t1) found.push(i);
  return found;
}

// The call at a depth nearest to a moment, or -1; `slack` seconds beside it count as a hit.
export function callAt(calls, nested, list, row, t, slack) {
  let best = -1;
  let distance = slack;
  for (const i of list) {
    if (nested.depth[i] !== row) continue;
    const d = t < calls.start[i] ? calls.start[i] - t : t > calls.end[i] ? t - calls.end[i] : 0;
    if (d < distance || (d === 0 && best < 0)) {
      best = i;
      distance = d;
    }
  }
  return best;
}

// H5D → MPI-IO → POSIX: the layers from the outside in, as they occur.
export function layersDown(calls, nested) {
  const rows = Array.from({ length: nested.rows }, () => new Set());
  for (let i = 0; i < calls.n; i++) rows[nested.depth[i]].add(calls.layer[i]);
  return rows.map((set) => [...set].join("/")).join(" → ");
}
