// SPDX-License-Identifier: BSD-3-Clause
// trace.jsx: single operations as rank × time, and where in a file they went as offset × time.
import { useMemo, useState } from "preact/hooks";
import { Canvas } from "../components/canvas.jsx";
import { Choice, Figure, Key } from "../components/figure.jsx";
import { paintEnds, paintFrame, paintHeat, paintOps, paintRowNames } from "../components/heat.js";
import { useScheme, useTime } from "../components/hooks.js";
import { frameOf, Stack } from "../components/stack.jsx";
import { SvgPen } from "../data/export.js";
import { axisBytes, bytes, count, moment, seconds, share, who } from "../data/format.js";
import { layersOf, nearest, sizeClass, within } from "../data/ops.js";
import { range } from "../data/strips.js";
import { css, logScale, ramp, sizeColours } from "../data/theme.js";
import { nest, ranksOf } from "../data/calls.js";
import { flamePane, RankChoice } from "./flame.jsx";
import { Region } from "./region.jsx";

export function opLines(ops, names, i) {
  const took = ops.end[i] - ops.start[i];
  return [
    `${ops.layer[i]} · ${who("rank")} ${ops.rank[i]} · ${ops.kind[i] ? "read" : "write"} of ${bytes(ops.length[i])}`,
    `at offset ${count(ops.offset[i])}`,
    `${moment(ops.start[i], took)}, took ${seconds(took)}`,
    names[ops.file[i]] || "",
  ];
}

function lastName(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

// colour of operation i by what was chosen
function colouring(by, ops, colours, dark) {
  if (by === "size") {
    const list = sizeColours(dark);
    return (i) => list[sizeClass(ops.length[i])];
  }
  if (by === "offset") {
    const list = ramp(dark).map(css);
    const ends = new Map();
    for (let i = 0; i < ops.n; i++)
      ends.set(ops.file[i], Math.max(ends.get(ops.file[i]) || 1, ops.offset[i] + ops.length[i]));
    return (i) => list[Math.min(255, Math.floor((255 * ops.offset[i]) / ends.get(ops.file[i])))];
  }
  return (i) => (ops.kind[i] ? colours.read : colours.write);
}

function opsPane(layer, ops, names, ranks, window, look) {
  const list = within(ops, layer, window);
  const height = Math.max(44, Math.min(200, ranks * 9));
  const draw = (pen, box, frame) => {
    paintOps(pen, box, frame, ops, list, ranks, look.colour);
    paintFrame(pen, box);
    paintRowNames(
      pen,
      box,
      Array.from({ length: ranks }, (_, r) => String(r)),
    );
  };
  return {
    key: `ops-${layer}`,
    title: layer,
    note: `${count(list.length)} operations`,
    height,
    rows: ranks,
    draw,
    hover: (t, fraction) => {
      const rank = Math.floor(fraction * ranks);
      const i = nearest(ops, list, rank, t, (window[1] - window[0]) / 100);
      return i < 0 ? [`${layer} · ${who("rank")} ${rank}`, "no operation here"] : opLines(ops, names, i);
    },
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[ops, look.by, look.dark, frame.t0, frame.t1]}
        label={who(`${layer}: operations by rank and time`)}
        draw={(pen) => draw(pen, { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 }, frame)}
      />
    ),
  };
}

// Reads and writes of one file: blue where more was read, orange where more was written, stronger for more bytes.
function offsetGrid(part, dark) {
  const values = part.write.map((w, i) => w + part.read[i]);
  const [least, most] = range(values);
  const scale = logScale(least, most);
  const paint = (v, read) => {
    const strength = 0.35 + (0.65 * scale(v)) / 255;
    const full = read ? (dark ? [90, 159, 230] : [43, 108, 176]) : dark ? [232, 131, 74] : [192, 86, 33];
    const page = dark ? 20 : 255;
    return full.map((c) => Math.round(page + (c - page) * strength));
  };
  return { values, read: part.read.map((r, i) => r > part.write[i]), paint };
}

function offsetPane(part, index, dark) {
  const grid = offsetGrid(part, dark);
  const width = (part.t1 - part.t0) / part.bins || 1e-9;
  const height = 128;
  const draw = (pen, box, frame) => {
    // two passes, one colour each, so that each pass can keep the largest value of a pixel
    for (const read of [false, true]) {
      // the file's start is at the bottom
      const values = new Float64Array(part.rows * part.bins);
      for (let r = 0; r < part.rows; r++)
        for (let b = 0; b < part.bins; b++) {
          const at = r * part.bins + b;
          if (grid.read[at] === read) values[(part.rows - 1 - r) * part.bins + b] = grid.values[at];
        }
      paintHeat(pen, box, frame, { rows: part.rows, bins: part.bins, values, t0: part.t0, width }, (v) =>
        grid.paint(v, read),
      );
    }
    paintFrame(pen, box);
    paintEnds(pen, box, [axisBytes(part.size), axisBytes(part.size / 2), "0"]);
  };
  return {
    key: `offset-${index}`,
    title: `${lastName(part.file)}: offset`,
    note: `${part.layer} · ${part.file}`,
    height,
    rows: part.rows,
    draw,
    step: width,
    hover: (t, fraction) => {
      const bin = Math.floor((t - part.t0) / width);
      if (bin < 0 || bin >= part.bins) return [lastName(part.file), "not in use"];
      const row = part.rows - 1 - Math.floor(fraction * part.rows);
      const at = row * part.bins + bin;
      return [
        lastName(part.file),
        `offset ${bytes((row * part.size) / part.rows)} – ${bytes(((row + 1) * part.size) / part.rows)}`,
        `${moment(part.t0 + bin * width, width)} – ${moment(part.t0 + (bin + 1) * width, width)}`,
        `read ${bytes(part.read[at])}, written ${bytes(part.write[at])}`,
      ];
    },
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[part, dark, frame.t0, frame.t1]}
        label={`${part.file}: offset over time`}
        draw={(pen) => draw(pen, { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 }, frame)}
      />
    ),
  };
}

function stackSvg(title, panes, window, colours) {
  const frame = frameOf(1100, window);
  const pen = new SvgPen(1100, 50 + panes.reduce((h, p) => h + p.height + 28, 0) + 30, colours);
  let y = 50;
  pen.text(10, 22, title, colours.text, { size: 15, bold: true });
  for (const pane of panes) {
    pen.text(frame.left, y + 12, pane.title, colours.text, { bold: true });
    pane.draw(pen, { x: frame.left, y: y + 18, w: frame.plot, h: pane.height }, frame);
    y += pane.height + 28;
  }
  pen.text(frame.left, y + 14, moment(window[0], window[1] - window[0]), colours.dim);
  pen.text(frame.left + frame.plot, y + 14, moment(window[1], window[1] - window[0]), colours.dim, { align: "right" });
  return pen.toString();
}

function opsRows(ops, names, window) {
  const rows = [["layer", "kind", "rank", "file", "offset", "length", "start_s", "end_s"]];
  for (let i = 0; i < ops.n; i++)
    if (ops.end[i] >= window[0] && ops.start[i] <= window[1])
      rows.push([
        ops.layer[i],
        ops.kind[i] ? "read" : "write",
        ops.rank[i],
        names[ops.file[i]],
        ops.offset[i],
        ops.length[i],
        ops.start[i],
        ops.end[i],
      ]);
  return rows;
}

function SizeKey({ classes }) {
  const { dark } = useScheme();
  const list = sizeColours(dark);
  return (
    <ul class="key">
      {classes.map((name, i) => (
        <li key={name}>
          <span class="swatch" style={{ background: list[i] }} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}

const CLASSES = [
  "0–100 B",
  "100 B–1 KiB",
  "1–10 KiB",
  "10–100 KiB",
  "100 KiB–1 MiB",
  "1–4 MiB",
  "4–10 MiB",
  "10–100 MiB",
  "100 MiB–1 GiB",
  "> 1 GiB",
];

export function Trace({ report }) {
  const { trace, job } = report;
  const time = useTime();
  const { colours, dark } = useScheme();
  const [by, setBy] = useState("kind");
  const { ops, names } = trace;
  const ranks = useMemo(() => ops.rank.reduce((m, r) => Math.max(m, r + 1), Math.max(1, job.nprocs)), [ops, job]);
  const colour = useMemo(() => colouring(by, ops, colours, dark), [by, ops, colours, dark]);
  const layers = useMemo(() => layersOf(trace), [trace]);
  const calls = trace.calls;
  const nested = useMemo(() => (calls ? nest(calls) : null), [calls]);
  const callers = useMemo(() => (calls ? ranksOf(calls) : []), [calls]);
  const [caller, setCaller] = useState(callers[0]);
  const panes = [
    ...(calls ? [flamePane(calls, nested, names, caller, time.window, dark)] : []),
    ...layers.map((layer) => opsPane(layer, ops, names, ranks, time.window, { colour, by, dark })),
    ...trace.offsets.map((part, i) => offsetPane(part, i, dark)),
  ];
  if (panes.length === 0) return null;
  const of = trace.window ? ` of ${trace.window[0]} to ${trace.window[1]} s` : "";
  const part = trace.ops_all
    ? `All ${count(ops.n)} traced operations${of}`
    : `The ${count(ops.n)} longest of ${trace.window ? "the" : count(trace.segments)} traced operations${of}`;
  const longest = ops.n ? ops.end.reduce((m, e, i) => Math.max(m, e - ops.start[i]), 0) : 0;
  const reads = ops.kind.reduce((n, k) => n + (k ? 1 : 0), 0);
  return (
    <Figure
      name="trace"
      title={`${part}; the longest took ${seconds(longest)}`}
      rows={() => opsRows(ops, names, time.window)}
      svg={() => stackSvg(`${job.name}: operations`, panes, time.window, colours)}
      controls={
        <>
          <Choice
            label="colour by"
            options={[
              ["kind", "read / write"],
              ["size", "size"],
              ["offset", "offset"],
            ]}
            chosen={by}
            onChoose={setBy}
          />
          {callers.length > 1 && <RankChoice ranks={callers} rank={caller} onChoose={setCaller} />}
          <button type="button" class="small" disabled={!time.zoomed} onClick={time.reset}>
            reset
          </button>
        </>
      }
      caption={`Each mark is one operation from its start to its end (${share(ops.n ? reads / ops.n : 0)} of those kept are reads). ${
        trace.offsets.length
          ? "Below: where in the file, its start at the bottom, more bytes in a stronger colour. "
          : ""
      }${trace.complete ? "" : "The trace is known to lack operations. "}The time axis is that of the timeline.`}
    >
      <Stack label="Traced operations" panes={panes} />
      {by === "size" ? (
        <SizeKey classes={CLASSES} />
      ) : by === "kind" ? (
        <Key
          items={[
            ["read", "read"],
            ["write", "written"],
          ]}
        />
      ) : (
        <p class="dim">From the start of a file to its end: weak to strong colour.</p>
      )}
      {ops.n > 0 && <Region trace={trace} logs={report.logs} />}
    </Figure>
  );
}
