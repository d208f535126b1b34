// SPDX-License-Identifier: BSD-3-Clause
// strips.js: what the timeline knows about rank × time. Pure: numbers in, numbers out.

import { who } from "./format.js";

// Bytes of one cell by kind and statistic. Where each row is one rank there is no other maximum than the value itself.
export function cellValue(strip, stat, kind, at) {
  const sums =
    stat === "max" && strip.write_max ? [strip.read_max, strip.write_max] : [strip.read_sum, strip.write_sum];
  return (kind !== "write" && sums[0] ? sums[0][at] : 0) + (kind !== "read" && sums[1] ? sums[1][at] : 0);
}

export function cells(strip, stat, kind) {
  const all = new Float64Array(strip.rows * strip.bins);
  for (let i = 0; i < all.length; i++) all[i] = cellValue(strip, stat, kind, i);
  return all;
}

export function rowLabel(strip, row) {
  const [from, to] = [strip.first[row], strip.first[row + 1] - 1];
  return who(from === to ? `rank ${from}` : `ranks ${from}–${to}`);
}

// First and last moment with I/O over all strips.
export function active(strips, runTime) {
  let from = Infinity;
  let to = -Infinity;
  for (const s of strips) {
    for (let b = 0; b < s.bins; b++) {
      if (s.bin_read[b] > 0 || s.bin_write[b] > 0) {
        from = Math.min(from, b * s.width);
        to = Math.max(to, (b + 1) * s.width);
      }
    }
  }
  return from < to ? [Math.max(0, from), Math.min(runTime, to)] : [0, runTime];
}

// What is shown at first: an empty start or end of more than a tenth of the run is cut.
export function homeWindow(strips, runTime) {
  const [from, to] = active(strips, runTime);
  const margin = Math.max((to - from) * 0.02, runTime * 1e-6);
  return [
    from > runTime * 0.1 ? Math.max(0, from - margin) : 0,
    runTime - to > runTime * 0.1 ? Math.min(runTime, to + margin) : runTime,
  ];
}

// Indices of the bins that a window touches: [first, end).
export function binsOf(strip, [t0, t1]) {
  const first = Math.max(0, Math.min(strip.bins - 1, Math.floor(t0 / strip.width + 1e-9)));
  return [first, Math.max(first + 1, Math.min(strip.bins, Math.ceil(t1 / strip.width - 1e-9)))];
}

// Bytes of each row within a window.
export function rowSums(strip, window) {
  const [first, end] = binsOf(strip, window);
  return Array.from({ length: strip.rows }, (_, row) => {
    let read = 0;
    let write = 0;
    for (let b = first; b < end; b++) {
      read += strip.read_sum[row * strip.bins + b];
      write += strip.write_sum[row * strip.bins + b];
    }
    return { read, write };
  });
}

// Least and most of what is above zero.
export function range(values) {
  let least = Infinity;
  let most = 0;
  for (const v of values) {
    if (v > 0) {
      least = Math.min(least, v);
      most = Math.max(most, v);
    }
  }
  return most > 0 ? [least, most] : [1, 1];
}

// How long a bin is: the last one ends with the run, and a job may be shorter than a bin. A sliver of one says little.
export function binLength(strip, b, runTime) {
  const left = runTime - b * strip.width;
  if (!(left > 0) || left >= strip.width) return strip.width;
  return b === 0 ? left : Math.max(left, strip.width / 4);
}

// Strips that reach the file system, on one grid of time, added: the bandwidth above the timeline.
export function bandwidth(strips, runTime) {
  const disk = strips.filter((s) => ["POSIX", "STDIO", "DFS", "DAOS"].includes(s.layer));
  const of = disk.length ? disk : strips.slice(-1);
  const big = of.reduce((a, b) => (total(b) > total(a) ? b : a), of[0]);
  const same = of.filter((s) => s.bins === big.bins && Math.abs(s.width - big.width) < 1e-9 * big.width);
  const add = (name) => big.bin_read.map((_, b) => same.reduce((sum, s) => sum + s[name][b], 0));
  return {
    layers: same.map((s) => s.layer),
    bins: big.bins,
    width: big.width,
    lengths: big.bin_read.map((_, b) => binLength(big, b, runTime)),
    read: add("bin_read"),
    write: add("bin_write"),
  };
}

export function total(strip) {
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  return sum(strip.bin_read) + sum(strip.bin_write);
}

// Even steps for an axis: 1, 2, 5 times a power of ten.
export function ticks(from, to, wanted) {
  const rough = (to - from) / Math.max(1, wanted);
  if (!(rough > 0)) return { step: 1, list: [from] };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const list = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) list.push(i * step + 0); // no -0
  return { step, list };
}
