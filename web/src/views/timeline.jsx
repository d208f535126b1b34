// SPDX-License-Identifier: BSD-3-Clause
// timeline.jsx: bandwidth, and one strip of rank × time per layer.
import { useMemo, useState } from "preact/hooks";
import { Bandwidth, penBandwidth } from "../components/bandwidth.jsx";
import { Canvas } from "../components/canvas.jsx";
import { Choice, Figure, Key } from "../components/figure.jsx";
import { paintFrame, paintHeat, paintOps, paintRowNames, paintSums } from "../components/heat.js";
import { useScheme, useTime } from "../components/hooks.js";
import { frameOf, Stack } from "../components/stack.jsx";
import { SvgPen } from "../data/export.js";
import { bytes, moment, rate, seconds, who } from "../data/format.js";
import { nearest, within } from "../data/ops.js";
import { bandwidth, binLength, binsOf, cells, range, rowLabel, rowSums } from "../data/strips.js";
import { logScale, ramp } from "../data/theme.js";
import { opLines } from "./trace.jsx";

const DECADES = 1e4; // what is smaller than the largest by more has the colour of the smallest
const FROM = { trace: "the trace", live: "what ranks tell each second" };
const FEW = 3000; // operations in the window: from here down they are drawn one by one

// A layer that moved next to nothing gets a thin strip: every rank is still in it.
function stripHeight(strip) {
  if (strip.faint) return 34;
  return Math.max(34, Math.min(176, strip.rows * (strip.rows > 44 ? 1 : strip.rows > 12 ? 4 : 9)));
}

function rowNames(strip) {
  return Array.from({ length: strip.rows }, (_, r) =>
    String(r === strip.rows - 1 ? strip.first[r + 1] - 1 : strip.first[r]),
  );
}

function drawStrip(pen, box, frame, strip, look) {
  const sums = { x: box.x + box.w + 8, y: box.y, w: Math.max(10, frame.right - 12), h: box.h };
  if (look.list) {
    const by = (i) => (look.ops.kind[i] ? pen.colours.read : pen.colours.write);
    paintOps(pen, box, frame, look.ops, look.list, strip.ranks, by);
  } else {
    paintHeat(
      pen,
      box,
      frame,
      { rows: strip.rows, bins: strip.bins, values: look.values, t0: 0, width: strip.width },
      look.colour,
    );
  }
  paintFrame(pen, box);
  paintRowNames(pen, box, rowNames(strip));
  paintSums(pen, sums, rowSums(strip, [frame.t0, frame.t1]));
}

function cellLines(strip, t, fraction, runTime) {
  const row = Math.floor(fraction * strip.rows);
  const bin = Math.max(0, Math.min(strip.bins - 1, Math.floor(t / strip.width)));
  const at = row * strip.bins + bin;
  const length = binLength(strip, bin, runTime);
  const [from, to] = [bin * strip.width, Math.min((bin + 1) * strip.width, Math.max(runTime, bin * strip.width))];
  const lines = [
    `${strip.layer} · ${rowLabel(strip, row)}`,
    `${moment(from, length)} – ${moment(to, length)}`,
    `read ${bytes(strip.read_sum[at])} (${rate(strip.read_sum[at] / length)})`,
    `written ${bytes(strip.write_sum[at])} (${rate(strip.write_sum[at] / length)})`,
  ];
  if (strip.write_max)
    lines.push(`${who("busiest rank")}: read ${bytes(strip.read_max[at])}, written ${bytes(strip.write_max[at])}`);
  return lines;
}

export function stripPane(strip, look) {
  const height = stripHeight(strip);
  const hover = (t, fraction) => {
    if (!look.list) return cellLines(strip, t, fraction, look.runTime);
    const rank = Math.floor(fraction * strip.ranks);
    const i = nearest(look.ops, look.list, rank, t, look.slack);
    return i < 0 ? [`${strip.layer} · ${who(`rank ${rank}`)}`, "no operation here"] : opLines(look.ops, look.names, i);
  };
  return {
    key: `strip-${strip.layer}`,
    title: strip.layer,
    height,
    rows: strip.rows,
    step: strip.width,
    hover,
    note: look.list ? "single operations" : `${bytes(strip.total)} · from ${FROM[strip.from] || "the heat map"}`,
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[strip, look.inputs, frame.t0, frame.t1]}
        label={who(`${strip.layer}: bytes by rank and time`)}
        draw={(pen) => drawStrip(pen, { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 }, frame, strip, look)}
      />
    ),
  };
}

export function bandPane(band, runTime) {
  const height = 132;
  return {
    key: "bandwidth",
    title: `bandwidth of ${band.layers.join(" + ")}`,
    note: "per second; reads up, writes down",
    height,
    rows: 1,
    step: band.width,
    hover: (t) => {
      const b = Math.max(0, Math.min(band.bins - 1, Math.floor(t / band.width)));
      const length = band.lengths[b];
      const to = Math.min((b + 1) * band.width, Math.max(runTime, b * band.width));
      return [
        `${moment(b * band.width, length)} – ${moment(to, length)}`,
        `read ${bytes(band.read[b])} (${rate(band.read[b] / length)})`,
        `written ${bytes(band.write[b])} (${rate(band.write[b] / length)})`,
      ];
    },
    render: (frame) => <Bandwidth frame={frame} band={band} height={height} label="read and write rate over time" />,
  };
}

export function Legend({ least, most, cut, what }) {
  const { dark } = useScheme();
  const stops = ramp(dark)
    .filter((_, i) => i % 15 === 0)
    .map(([r, g, b]) => `rgb(${r},${g},${b})`)
    .join(",");
  return (
    <div class="legend">
      <span>
        {cut ? "≤ " : ""}
        {bytes(least)}
      </span>
      <span class="legend-bar" style={{ background: `linear-gradient(90deg,${stops})` }} aria-hidden="true" />
      <span>{bytes(most)}</span>
      <span class="dim">{what}, logarithmic; no colour: nothing</span>
    </div>
  );
}

function timelineSvg(report, strips, looks, band, window, colours) {
  const frame = frameOf(1100, window);
  const tops = [];
  let y = 60 + 132;
  for (const s of strips) {
    tops.push(y + 24);
    y += 24 + stripHeight(s);
  }
  const pen = new SvgPen(1100, y + 40, colours);
  pen.text(10, 22, `${report.job.name}: I/O over time`, colours.text, { size: 15, bold: true });
  pen.text(frame.left, 44, `bandwidth of ${band.layers.join(" + ")}`, colours.text, { bold: true });
  penBandwidth(pen, frame, band, 52, 120);
  strips.forEach((s, i) => {
    pen.text(frame.left, tops[i] - 6, s.layer, colours.text, { bold: true });
    drawStrip(pen, { x: frame.left, y: tops[i], w: frame.plot, h: stripHeight(s) }, frame, s, looks[i]);
  });
  pen.text(frame.left, y + 20, moment(window[0], window[1] - window[0]), colours.dim);
  pen.text(frame.left + frame.plot, y + 20, moment(window[1], window[1] - window[0]), colours.dim, { align: "right" });
  return pen.toString();
}

function timelineRows(strips, window) {
  const rows = [["layer", "first_rank", "last_rank", "start_s", "end_s", "bytes_read", "bytes_written"]];
  for (const s of strips) {
    const [first, end] = binsOf(s, window);
    for (let r = 0; r < s.rows; r++)
      for (let b = first; b < end; b++) {
        const at = r * s.bins + b;
        if (s.read_sum[at] || s.write_sum[at])
          rows.push([
            s.layer,
            s.first[r],
            s.first[r + 1] - 1,
            b * s.width,
            (b + 1) * s.width,
            s.read_sum[at],
            s.write_sum[at],
          ]);
      }
  }
  return rows;
}

// The message: when the file system was in use.
function title(report, band) {
  const busy = band.read.filter((v, b) => v > 0 || band.write[b] > 0).length / band.bins;
  const most = (list) => Math.max(...list.map((v, b) => v / band.lengths[b]), 0);
  const peaks = [
    [most(band.read), "read"],
    [most(band.write), "written"],
  ].filter(([v]) => v > 0);
  if (peaks.length === 0) return "No data was moved in any interval";
  if (band.bins * band.width > 0 && report.job.run_time < 2 * band.width)
    return `The run is too short to tell when data moved: intervals are ${seconds(band.width)} long`;
  const words =
    busy > 0.97 ? "Data moved all the time" : `Data moved in ${Math.max(1, Math.round(busy * 100))} % of the intervals`;
  return `${words}, at most ${peaks.map(([v, word]) => `${rate(v)} ${word}`).join(" and ")}`;
}

export function Timeline({ report, bands, panes: more = [] }) {
  const time = useTime();
  const { dark, colours } = useScheme();
  const strips = report.timeline.strips;
  const several = strips.some((s) => s.write_max);
  const [kind, setKind] = useState("both");
  const [stat, setStat] = useState(several ? "max" : "sum");
  const band = useMemo(() => bandwidth(strips, time.runTime), [strips]);
  const values = useMemo(() => strips.map((s) => cells(s, stat, kind)), [strips, stat, kind]);
  const [least, most, cutoff] = useMemo(() => {
    const all = values.map(range);
    const [low, high] = [Math.min(...all.map((r) => r[0])), Math.max(...all.map((r) => r[1]))];
    return [Math.max(low, high / DECADES), high, low < high / DECADES];
  }, [values]);
  const colour = useMemo(() => {
    const list = ramp(dark);
    const scale = logScale(least, most);
    return (v) => list[scale(v)];
  }, [dark, least, most]);
  const ops = report.trace && report.trace.ops_all ? report.trace.ops : null;
  const zoomed = time.window[1] - time.window[0] < 0.999 * (time.home[1] - time.home[0]);
  const looks = strips.map((s, i) => {
    const list = ops && zoomed ? within(ops, s.layer, time.window) : [];
    const single = list.length > 0 && list.length <= FEW;
    return {
      values: values[i],
      colour,
      ops,
      names: report.trace?.names,
      list: single ? list : null,
      slack: (time.window[1] - time.window[0]) / 100,
      runTime: time.runTime,
      inputs: single ? "ops" : `${stat} ${kind} ${dark}`,
    };
  });
  const panes = [bandPane(band, time.runTime), ...strips.map((s, i) => stripPane(s, looks[i])), ...more];
  const cut = time.home[0] > 0 || time.home[1] < time.runTime;
  const controls = (
    <>
      <Choice
        label="what to colour"
        options={[
          ["both", "both"],
          ["read", "reads"],
          ["write", "writes"],
        ]}
        chosen={kind}
        onChoose={setKind}
      />
      {several && (
        <Choice
          label={who("of the ranks in a row")}
          options={[
            ["max", "max"],
            ["sum", "sum"],
          ]}
          chosen={stat}
          onChoose={setStat}
        />
      )}
      {cut && (
        <button type="button" class="small" onClick={() => time.zoom([0, time.runTime])}>
          whole run
        </button>
      )}
      <button type="button" class="small" disabled={!time.zoomed} onClick={time.reset}>
        reset
      </button>
    </>
  );
  return (
    <Figure
      name="timeline"
      title={title(report, band)}
      controls={controls}
      rows={() => timelineRows(strips, time.window)}
      svg={() => timelineSvg(report, strips, looks, band, time.window, colours)}
      caption={`Drag to zoom, double click or Esc to reset; with the keyboard: arrows, + and −. ${
        several
          ? `${who("A row stands for several ranks")}: ${stat === "max" ? "the busiest of them" : "their sum"} is shown. `
          : ""
      }${who("Bars at the right: bytes of each rank in the part that is shown.")}${
        bands.some((b) => !b.name) ? " Numbered bands: time windows of the findings." : ""
      }${bands.some((b) => b.name) ? " Bands with names: phases that the program named." : ""}`}
    >
      <Stack label={who("Timeline of all ranks")} panes={panes} bands={bands} />
      <div class="under">
        <Legend
          least={least}
          most={most}
          cut={cutoff}
          what={who(several && stat === "sum" ? "bytes per row and interval" : "bytes per rank and interval")}
        />
        <Key
          items={[
            ["read", "read"],
            ["write", "written"],
          ]}
        />
      </div>
    </Figure>
  );
}
