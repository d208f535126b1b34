// SPDX-License-Identifier: BSD-3-Clause
// flame.jsx: calls of a rank with the calls inside of them, one row per depth, on the axis of time.
import { Canvas } from "../components/canvas.jsx";
import { paintFrame } from "../components/heat.js";
import { bytes, count, moment, seconds, who } from "../data/format.js";
import { callAt, callsIn, layersDown } from "../data/calls.js";

const HIGH = 22; // pixels of a row
const LETTER = 6.2; // about, of a label

function label(calls, i, width) {
  const name = calls.functions[calls.function[i]] || calls.layer[i];
  return name.length * LETTER + 8 <= width ? name : "";
}

function draw(pen, box, frame, calls, nested, list) {
  for (const i of list) {
    const from = Math.max(frame.left, frame.x(calls.start[i]));
    const to = Math.min(frame.left + frame.plot, frame.x(calls.end[i]));
    const y = box.y + nested.depth[i] * HIGH + 1;
    const colour = calls.kind[i] ? pen.colours.read : pen.colours.write;
    const width = Math.max(1, to - from);
    pen.rect(from, y, width, HIGH - 2, colour, 0.3);
    pen.rect(from, y, width, 3, colour);
    const text = label(calls, i, width);
    if (text) pen.text(from + 4, y + HIGH - 7, text, pen.colours.text, { size: 11 });
  }
  paintFrame(pen, box);
}

export function callLines(calls, nested, names, i) {
  const took = calls.end[i] - calls.start[i];
  const inside = nested.inside[i];
  return [
    `${calls.layer[i]} · ${calls.functions[calls.function[i]] || "call"}`,
    `${who("rank")} ${calls.rank[i]} · ${calls.kind[i] ? "read" : "write"} of ${bytes(calls.bytes[i])}`,
    `${moment(calls.start[i], took)}, took ${seconds(took)}${inside > 0 ? `, ${seconds(inside)} of it in calls inside` : ""}`,
    calls.file[i] >= 0 ? names[calls.file[i]] : "",
  ].filter(Boolean);
}

export function flamePane(calls, nested, names, rank, window, dark) {
  const list = callsIn(calls, rank, window);
  const height = nested.rows * HIGH + 1;
  const paint = (pen, box, frame) => draw(pen, box, frame, calls, nested, list);
  return {
    key: "calls",
    title: who(`calls of rank ${rank}: ${layersDown(calls, nested)}`),
    note: `${count(list.length)} calls, those inside below${calls.all ? "" : "; the longest only"}`,
    height,
    rows: nested.rows,
    draw: paint,
    hover: (t, fraction) => {
      const i = callAt(calls, nested, list, Math.floor(fraction * nested.rows), t, (window[1] - window[0]) / 200);
      return i < 0 ? [who(`rank ${rank}`), "no call here"] : callLines(calls, nested, names, i);
    },
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[calls, rank, dark, frame.t0, frame.t1]}
        label={who(`calls of rank ${rank}, those inside of others below them`)}
        draw={(pen) => paint(pen, { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 }, frame)}
      />
    ),
  };
}

export function RankChoice({ ranks, rank, onChoose }) {
  return (
    <label class="pick">
      {who("calls of rank")}{" "}
      <select value={rank} onChange={(e) => onChoose(Number(e.currentTarget.value))}>
        {ranks.slice(0, 64).map((r) => (
          <option key={r} value={r}>
            {r}
          </option>
        ))}
      </select>
    </label>
  );
}
