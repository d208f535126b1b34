// SPDX-License-Identifier: BSD-3-Clause
// region.js: what the operations within a window of time come to. Pure.

// The value below which a share of sorted numbers lies: that of the nearest rank, as `iorama path` tells it.
export function percentile(sorted, share) {
  if (sorted.length === 0) return null;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

// Seconds of an operation inside the window.
function inside(ops, i, [t0, t1]) {
  return Math.max(0, Math.min(ops.end[i], t1) - Math.max(ops.start[i], t0));
}

function group(ops, list, window, keyOf) {
  const found = new Map();
  for (const i of list) {
    const key = keyOf(i);
    const one = found.get(key) || { key, operations: 0, bytes_read: 0, bytes_written: 0, time: 0, longest: 0 };
    one.operations++;
    one[ops.kind[i] ? "bytes_read" : "bytes_written"] += ops.length[i];
    one.time += inside(ops, i, window);
    one.longest = Math.max(one.longest, ops.end[i] - ops.start[i]);
    found.set(key, one);
  }
  return [...found.values()].sort((a, b) => b.time - a.time || b.operations - a.operations);
}

// One row per layer and kind: how many, how much, at which rate, how long they took.
export function regionKinds(ops, list, [t0, t1]) {
  const rows = [];
  for (const layer of new Set(list.map((i) => ops.layer[i])))
    for (const kind of [1, 0]) {
      const some = list.filter((i) => ops.layer[i] === layer && Number(ops.kind[i]) === kind);
      if (some.length === 0) continue;
      const took = some.map((i) => ops.end[i] - ops.start[i]).sort((a, b) => a - b);
      const bytes = some.reduce((sum, i) => sum + ops.length[i], 0);
      rows.push({
        key: `${layer} ${kind}`,
        layer,
        kind: kind ? "read" : "write",
        operations: some.length,
        bytes,
        rate: t1 > t0 ? bytes / (t1 - t0) : 0,
        p50: percentile(took, 0.5),
        p95: percentile(took, 0.95),
        p99: percentile(took, 0.99),
        longest: took[took.length - 1],
      });
    }
  return rows;
}

// Operations that begin in the window; each belongs to one window only, so that parts add up.
export function begunIn(ops, [t0, t1]) {
  const found = [];
  for (let i = 0; i < ops.n; i++) if (ops.start[i] >= t0 && ops.start[i] <= t1) found.push(i);
  return found;
}

// Who and which file: at the lowest layer that moved data there, so that nothing counts twice.
export function regionGroups(ops, list, window, names) {
  const low = ["DFS", "DAOS", "POSIX", "STDIO"];
  const disk = list.filter((i) => low.includes(ops.layer[i]));
  const some = disk.length ? disk : list;
  return {
    ranks: group(ops, some, window, (i) => ops.rank[i]),
    files: group(ops, some, window, (i) => names[ops.file[i]] || ""),
  };
}
