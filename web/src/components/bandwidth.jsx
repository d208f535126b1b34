// SPDX-License-Identifier: BSD-3-Clause
// bandwidth.jsx: rate over time, reads up, writes down. Drawn by uPlot; pointer and keys belong to the stack.
import uPlot from "uplot";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useScheme } from "./hooks.js";
import { axisBytes } from "../data/format.js";

// even in binary units
const STEPS = Array.from({ length: 64 }, (_, i) => 2 ** i);

// steps as uPlot wants them: a value holds until the next edge
export function series(band) {
  const edges = Array.from({ length: band.bins + 1 }, (_, i) => i * band.width);
  const rates = (list, sign) => {
    const all = list.map((v, b) => (sign * v) / band.lengths[b]);
    return [...all, all[band.bins - 1]];
  };
  return [edges, rates(band.read, 1), rates(band.write, -1)];
}

function options(frame, height, colours, window) {
  const steps = uPlot.paths.stepped({ align: 1 });
  const one = (colour) => ({ stroke: colour, width: 1, fill: `${colour}55`, paths: steps, points: { show: false } });
  return {
    width: frame.width,
    height,
    padding: [6, frame.right, 6, 0],
    cursor: { show: false },
    legend: { show: false },
    select: { show: false },
    scales: {
      x: { time: false, auto: false, range: () => window.current },
      y: { range: (_, least, most) => (least === most && most === 0 ? [0, 1] : [least * 1.08, most * 1.08]) },
    },
    axes: [
      { show: false },
      {
        size: frame.left,
        stroke: colours.dim,
        font: "11px system-ui, sans-serif",
        gap: 4,
        incrs: STEPS,
        space: 26,
        grid: { stroke: colours.grid, width: 1 },
        ticks: { show: false },
        values: (_, list) => list.map((v) => (v === 0 ? "0" : axisBytes(v))),
      },
    ],
    series: [{}, one(colours.read), one(colours.write)],
  };
}

export function Bandwidth({ frame, band, height, label }) {
  const ref = useRef(null);
  const plot = useRef(null);
  const window = useRef(null);
  const { colours } = useScheme();
  window.current = [frame.t0, frame.t1];
  useLayoutEffect(() => {
    plot.current = new uPlot(options(frame, height, colours, window), series(band), ref.current);
    return () => plot.current.destroy();
  }, [frame.width, height, colours]);
  const drawn = useRef(band);
  useLayoutEffect(() => {
    if (drawn.current !== band) plot.current.setData(series(band)); // the same plot: nothing moves but its data
    drawn.current = band;
  }, [band]);
  useLayoutEffect(
    () => plot.current.redraw(false, true) || plot.current.setScale("x", { min: frame.t0, max: frame.t1 }),
    [frame.t0, frame.t1],
  );
  return <div ref={ref} role="img" aria-label={label} />;
}

// The same for SVG files.
export function penBandwidth(pen, frame, band, top, height) {
  const { colours } = pen;
  const [first, end] = [
    Math.max(0, Math.floor(frame.t0 / band.width)),
    Math.min(band.bins, Math.ceil(frame.t1 / band.width)),
  ];
  const [read, write] = [band.read, band.write].map((list) => list.map((v, b) => v / band.lengths[b]));
  const up = Math.max(...read.slice(first, end), 0);
  const down = Math.max(...write.slice(first, end), 0);
  const scale = up + down > 0 ? height / (up + down) : 0;
  const zero = top + up * scale;
  for (let b = first; b < end; b++) {
    const x = Math.max(frame.left, frame.x(b * band.width));
    const w = Math.min(frame.left + frame.plot, frame.x((b + 1) * band.width)) - x;
    if (read[b] > 0) pen.rect(x, zero - read[b] * scale, w, read[b] * scale, colours.read);
    if (write[b] > 0) pen.rect(x, zero, w, write[b] * scale, colours.write);
  }
  pen.line(
    [
      [frame.left, zero],
      [frame.left + frame.plot, zero],
    ],
    colours.line,
  );
  if (up > 0) pen.text(frame.left - 4, top + 10, axisBytes(up), colours.dim, { align: "right", size: 11 });
  if (down > 0) pen.text(frame.left - 4, top + height, axisBytes(down), colours.dim, { align: "right", size: 11 });
}
