// SPDX-License-Identifier: BSD-3-Clause
// panes.jsx: what was beside a job, on its axis of time: samples of its nodes, other jobs. Times are seconds since its start.
import { useMemo } from "preact/hooks";
import { Canvas } from "../components/canvas.jsx";
import { paintEnds, paintFrame, paintHeat, paintRowNames } from "../components/heat.js";
import { useScheme } from "../components/hooks.js";
import { bytes, cell, rate, share } from "../data/format.js";
import { range } from "../data/strips.js";
import { logScale, ramp } from "../data/theme.js";
import { api, useAnswer } from "./api.js";
import { clip } from "./parts.jsx";

const SAMPLES = {
  "cpu.user": ["cores that run programs", (v) => cell(v, 2)],
  "cpu.iowait": ["cores that wait for I/O", (v) => cell(v, 2)],
  "pressure.io.some": ["time in which threads wait for I/O", share],
  "pressure.memory.some": ["time in which threads wait for memory", share],
  "memory.dirty": ["written by programs, not by the kernel yet", bytes],
  "page.in": ["read from disks", rate],
  "page.out": ["written to disks", rate],
};

export function sampleWords(metric) {
  return SAMPLES[metric] || [metric, (v) => (/bytes|read$|write$/.test(metric) ? rate(v) : cell(v, 2))];
}

function drawLine(pen, box, frame, points, step, most) {
  const x = (t) => Math.max(box.x, Math.min(box.x + box.w, frame.x(t)));
  const y = (v) => box.y + box.h - (v / most) * (box.h - 2);
  for (const p of points) {
    if (p.t + step < frame.t0 || p.t > frame.t1) continue;
    const [from, to] = [x(p.t), x(p.t + step)];
    pen.rect(from, y(p.most), Math.max(1, to - from), box.y + box.h - y(p.most), pen.colours.wait, 0.35);
    pen.rect(from, y(p.mean), Math.max(1, to - from), 2, pen.colours.text);
  }
  paintFrame(pen, box);
}

export function samplePane(metric, rows, start, step) {
  const [words, format] = sampleWords(metric);
  const height = 46;
  const points = rows.map((row) => ({ ...row, t: row.second - start }));
  const most = Math.max(...rows.map((row) => row.most), 0) || 1;
  const nodes = Math.max(...rows.map((row) => row.nodes), 0);
  return {
    key: `sample-${metric}`,
    title: words,
    note: `${metric} of ${nodes === 1 ? "its node" : `${nodes} nodes: mean as a line, most as an area`}`,
    height,
    rows: 1,
    step,
    hover: (t) => {
      const p = points.find((q) => t >= q.t && t < q.t + step);
      return p ? [words, `mean ${format(p.mean)}`, `most ${format(p.most)}`] : [words, "no sample here"];
    },
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[rows, frame.t0, frame.t1]}
        label={`${words}, at most ${format(most)}`}
        draw={(pen) => {
          const box = { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 };
          drawLine(pen, box, frame, points, step, most);
          paintEnds(pen, box, [format(most).replace("/s", ""), "0"]);
        }}
      />
    ),
  };
}

// When it moved its bytes where that is known, else evenly over its time.
function flow(job, series, start, grid) {
  const values = new Float64Array(grid.bins);
  const from = Date.parse(job.start) / 1000 - start;
  const to = job.end ? Date.parse(job.end) / 1000 - start : grid.t0 + grid.bins * grid.width;
  if (series && series.length) {
    for (const p of series) {
      const at = Math.floor((p.second - start - grid.t0) / grid.width);
      if (at >= 0 && at < grid.bins && ["POSIX", "STDIO", "EXTRA"].includes(p.layer)) values[at] += p.bytes;
    }
    return { values, known: true, from, to };
  }
  const rateOf = (job.bytes_read + job.bytes_written) / Math.max(to - from, 1);
  for (let b = 0; b < grid.bins; b++) {
    const length = Math.min(to, grid.t0 + (b + 1) * grid.width) - Math.max(from, grid.t0 + b * grid.width);
    if (length > 0) values[b] = rateOf * length;
  }
  return { values, known: false, from, to };
}

function otherPane(others, flows, grid, dark, folder) {
  const height = Math.max(30, others.length * 15);
  const all = new Float64Array(others.length * grid.bins);
  flows.forEach((f, i) => all.set(f.values, i * grid.bins));
  const [least, most] = range(all);
  const colours = ramp(dark);
  const scale = logScale(Math.max(least, most / 1e4), most);
  const name = (job) => `${clip(job.name, 60) || "job"} ${job.jobid || job.job}`;
  return {
    key: "others",
    title: "other jobs at the same time",
    note: folder ? `with files below ${folder}, most bytes first` : "most bytes first",
    height,
    rows: others.length,
    step: grid.width,
    hover: (t, fraction) => {
      const i = Math.min(others.length - 1, Math.floor(fraction * others.length));
      const b = Math.max(0, Math.min(grid.bins - 1, Math.floor((t - grid.t0) / grid.width)));
      const lines = [
        `${name(others[i])} · ${clip(others[i].user, 60)}${others[i].node ? " · on a node of this job" : ""}`,
      ];
      if (t < flows[i].from || t > flows[i].to) return [...lines, "did not run then"];
      lines.push(`${bytes(flows[i].values[b])} (${rate(flows[i].values[b] / grid.width)})`);
      return flows[i].known ? lines : [...lines, "spread evenly: when it moved them is not known"];
    },
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[flows, dark, frame.t0, frame.t1]}
        label={`other jobs at the same time: ${others.map(name).join(", ")}`}
        draw={(pen) => {
          const box = { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 };
          const high = box.h / others.length;
          flows.forEach((f, i) => {
            const x = Math.max(box.x, frame.x(f.from));
            const w = Math.min(box.x + box.w, frame.x(f.to)) - x;
            if (w > 0) pen.rect(x, box.y + i * high + 1, w, high - 2, pen.colours.grid);
          });
          paintHeat(
            pen,
            box,
            frame,
            { rows: others.length, bins: grid.bins, values: all, t0: grid.t0, width: grid.width },
            (v) => colours[scale(v)],
          );
          paintFrame(pen, box);
          paintRowNames(
            pen,
            box,
            others.map((job) => String(job.jobid || job.job).slice(-7)),
          );
        }}
      />
    ),
  };
}

const MOST = 6; // jobs beside it that are drawn

// Panes of what was beside a job that began at `start`, between two times (all seconds since 1970); folder: the file
// system it used most. { panes, others: rows of these jobs }
export function useBeside(job, start, from, to, folder, round = 0) {
  const { dark } = useScheme();
  const points = 200;
  const [samples] = useAnswer(
    from ? api(`jobs/${job}/samples`, { from: Math.floor(from), to: Math.ceil(to), points }) : null,
    round,
  );
  const [rows] = useAnswer(from ? api(`jobs/${job}/beside`, { under: folder, limit: 20 }) : null, round);
  const others = useMemo(
    () => (rows || []).filter((row) => row.bytes_read + row.bytes_written > 0 && (!folder || row.under)).slice(0, MOST),
    [rows, folder],
  );
  const series = Array.from({ length: MOST }, (_, i) =>
    // hooks in the same order, however many there are
    useAnswer(
      others[i] ? api(`jobs/${others[i].job}/series`, { from: Math.floor(from), to: Math.ceil(to), points }) : null,
      round,
    ),
  ).map(([answer]) => answer);
  return useMemo(() => {
    if (!from) return { panes: [], others: rows || [] };
    const width = Math.max(1, Math.ceil((Math.ceil(to) - Math.floor(from)) / points));
    const metrics = [...new Set((samples || []).map((row) => row.metric))];
    const order = Object.keys(SAMPLES);
    metrics.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    const panes = metrics
      .map((metric) => [metric, samples.filter((row) => row.metric === metric)])
      .filter(([, list]) => list.some((row) => row.most > 0))
      .map(([metric, list]) => samplePane(metric, list, start, width));
    if (others.length) {
      const grid = { bins: Math.max(1, Math.ceil((to - from) / width)), width, t0: from - start };
      const flows = others.map((other, i) => flow(other, series[i], start, grid));
      panes.push(otherPane(others, flows, grid, dark, folder));
    }
    return { panes, others: rows || [] };
  }, [samples, rows, others, dark, start, from, to, ...series]);
}
