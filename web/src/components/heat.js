// SPDX-License-Identifier: BSD-3-Clause
// heat.js: paints rank × time. Where several rows or bins fall on one pixel the largest is shown, so that none is lost.
import { css } from "../data/theme.js";
import { CanvasPen } from "./pen.js";

// For each of n pixels along a side the cells [from, end) that it covers: at least one.
function cover(n, place, cells) {
  return Array.from({ length: n }, (_, i) => {
    const from = Math.max(0, Math.min(cells - 1, Math.floor(place(i) + 1e-9)));
    return [from, Math.max(from + 1, Math.min(cells, Math.ceil(place(i + 1) - 1e-9)))];
  });
}

function collapse(grid, columns, lines) {
  const narrow = new Float64Array(grid.rows * columns.length);
  for (let r = 0; r < grid.rows; r++) {
    for (let x = 0; x < columns.length; x++) {
      let most = 0;
      for (let b = columns[x][0]; b < columns[x][1]; b++) most = Math.max(most, grid.values[r * grid.bins + b]);
      narrow[r * columns.length + x] = most;
    }
  }
  return (x, y) => {
    let most = 0;
    for (let r = lines[y][0]; r < lines[y][1]; r++) most = Math.max(most, narrow[r * columns.length + x]);
    return most;
  };
}

// grid: { rows, bins, values, t0 (of bin 0), width }. colour(value) gives [r, g, b] for a value above zero.
export function paintHeat(pen, box, frame, grid, colour) {
  if (!(pen instanceof CanvasPen)) {
    paintCells(pen, box, frame, grid, colour);
    return;
  }
  const w = Math.round(box.w * pen.ratio);
  const h = Math.round(box.h * pen.ratio);
  const bin = (x) => (frame.t0 + (x / w) * (frame.t1 - frame.t0) - grid.t0) / grid.width;
  const columns = cover(w, bin, grid.bins);
  const outside = (x) => bin(x + 1) <= 0 || bin(x) >= grid.bins;
  const at = collapse(
    grid,
    columns,
    cover(h, (y) => (y / h) * grid.rows, grid.rows),
  );
  if (w < 1 || h < 1) return;
  const image = pen.c.createImageData(w, h);
  for (let y = 0; y < h; y++) {
    for (let x = 0; x < w; x++) {
      const v = outside(x) ? 0 : at(x, y);
      if (v > 0) {
        const [r, g, b] = colour(v);
        image.data.set([r, g, b, 255], 4 * (y * w + x));
      }
    }
  }
  pen.image(image, box);
}

function paintCells(pen, box, frame, grid, colour) {
  const high = box.h / grid.rows;
  pen.cells((put) => {
    for (let r = 0; r < grid.rows; r++) {
      for (let b = 0; b < grid.bins; b++) {
        const v = grid.values[r * grid.bins + b];
        const from = Math.max(frame.t0, grid.t0 + b * grid.width);
        const to = Math.min(frame.t1, grid.t0 + (b + 1) * grid.width);
        if (v > 0 && to > from)
          put(frame.x(from), box.y + r * high, Math.max(0.5, frame.x(to) - frame.x(from)), high, css(colour(v)));
      }
    }
  });
}

// Bars at the right edge: how much each row moved within the window.
export function paintSums(pen, box, sums) {
  const most = Math.max(...sums.map((s) => s.read + s.write), 0);
  if (most <= 0) return;
  const lines = Math.max(1, Math.min(sums.length, Math.floor(box.h)));
  const high = box.h / lines;
  for (let y = 0; y < lines; y++) {
    const from = Math.floor((y * sums.length) / lines);
    const end = Math.max(from + 1, Math.floor(((y + 1) * sums.length) / lines));
    const top = sums.slice(from, end).reduce((a, b) => (b.read + b.write > a.read + a.write ? b : a));
    const [r, w] = [(top.read / most) * box.w, (top.write / most) * box.w];
    const [above, below] = [Math.round(box.y + y * high), Math.round(box.y + (y + 1) * high)];
    const thick = Math.max(1, below - above - (high > 3 ? 1 : 0));
    if (r > 0) pen.rect(box.x, above, r, thick, pen.colours.read);
    if (w > 0) pen.rect(box.x + r, above, w, thick, pen.colours.write);
  }
}

// Names of rows at the left: the first, the last, and some between where there is room.
export function paintRowNames(pen, box, names) {
  const wanted = Math.min(names.length, Math.max(2, Math.floor(box.h / 34) + 1));
  const high = box.h / names.length;
  for (let i = 0; i < wanted; i++) {
    const row = wanted === 1 ? 0 : Math.round((i * (names.length - 1)) / (wanted - 1));
    const y = Math.max(box.y + 9, Math.min(box.y + box.h - 1, box.y + (row + 0.5) * high + 4));
    pen.text(box.x - 5, y, names[row], pen.colours.dim, { align: "right", size: 11 });
  }
}

// An axis of amounts: top, middle, bottom.
export function paintEnds(pen, box, names) {
  names.forEach((name, i) => {
    const y = box.y + (i * box.h) / (names.length - 1);
    pen.text(box.x - 5, Math.max(box.y + 9, Math.min(box.y + box.h - 1, y + 4)), name, pen.colours.dim, {
      align: "right",
      size: 11,
    });
  });
}

export function paintFrame(pen, box) {
  pen.line(
    [
      [box.x, box.y],
      [box.x + box.w, box.y],
      [box.x + box.w, box.y + box.h],
      [box.x, box.y + box.h],
      [box.x, box.y],
    ],
    pen.colours.line,
  );
}

// Single operations. colour(i) gives a CSS colour.
export function paintOps(pen, box, frame, ops, list, ranks, colour) {
  const high = box.h / ranks;
  pen.cells((put) => {
    for (const i of list) {
      const from = Math.max(frame.left, frame.x(ops.start[i]));
      const to = Math.min(frame.left + frame.plot, frame.x(ops.end[i]));
      if (ops.rank[i] < 0 || ops.rank[i] >= ranks) continue;
      const [above, below] = [Math.round(box.y + ops.rank[i] * high), Math.round(box.y + (ops.rank[i] + 1) * high)];
      put(from, above, Math.max(1, to - from), Math.max(1, below - above - (high > 4 ? 1 : 0)), colour(i));
    }
  });
}
