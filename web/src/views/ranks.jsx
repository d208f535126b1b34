// SPDX-License-Identifier: BSD-3-Clause
// ranks.jsx: is the time in I/O even over ranks? A sorted curve and a table.
import uPlot from "uplot";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Figure, Key } from "../components/figure.jsx";
import { useScheme, useTime, useWidth } from "../components/hooks.js";
import { DataTable } from "../components/table.jsx";
import { SvgPen } from "../data/export.js";
import { count, seconds, share, who } from "../data/format.js";
import { rowSums } from "../data/strips.js";

const HEIGHT = 220;

// where the i-th of the sorted values stands among all ranks
function places(ranks) {
  const n = ranks.sorted.length;
  return ranks.sorted.map((_, i) => (n < 2 ? 1 : 1 + (i * (ranks.total - 1)) / (n - 1)));
}

function marksOf(ranks) {
  return [
    ["mean", ranks.mean],
    ["median", ranks.median],
  ].filter(([, v]) => v !== null);
}

function options(ranks, width, colours) {
  const mark = (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    const close = Math.abs(u.valToPos(ranks.mean, "y") - u.valToPos(ranks.median, "y")) < 15;
    marksOf(ranks).forEach(([name, v], i) => {
      const y = u.valToPos(v, "y", true);
      ctx.strokeStyle = name === "mean" ? colours.meta : colours.wait;
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      ctx.fillStyle = colours.text;
      ctx.textAlign = "right";
      const below = close && ranks.mean < ranks.median === (i === 0);
      ctx.fillText(`${name} ${seconds(v)}`, u.bbox.left + u.bbox.width - 4, y + (below ? 13 : -4) * devicePixelRatio);
    });
    ctx.textAlign = "left";
    ctx.fillText(
      `slowest ${seconds(ranks.sorted[0])}`,
      u.bbox.left + 8 * devicePixelRatio,
      u.valToPos(ranks.sorted[0], "y", true) + 14 * devicePixelRatio,
    );
    ctx.restore();
  };
  const axis = {
    stroke: colours.dim,
    font: "11px system-ui, sans-serif",
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    padding: [14, 26, 0, 0], // half of the last number of the axis
    cursor: { show: false },
    legend: { show: false },
    select: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
    axes: [
      { ...axis, size: 28, values: (_, list) => list.map((v) => (Number.isInteger(v) ? count(v) : "")) },
      { ...axis, size: 62, values: (_, list) => list.map((v) => (v === 0 ? "0" : seconds(v))) },
    ],
    series: [
      {},
      {
        stroke: colours.read,
        width: 2,
        fill: `${colours.read}33`,
        points: { show: ranks.sorted.length < 40, size: 6, fill: colours.read },
      },
    ],
    hooks: { draw: [mark] },
  };
}

function Curve({ ranks }) {
  const [room, width] = useWidth();
  const ref = useRef(null);
  const { colours } = useScheme();
  useLayoutEffect(() => {
    const plot = new uPlot(options(ranks, width, colours), [places(ranks), ranks.sorted], ref.current);
    return () => plot.destroy();
  }, [ranks, width, colours]);
  return (
    <div ref={room} class="curve">
      <div
        ref={ref}
        role="img"
        aria-label={`time in I/O of each rank, slowest first: ${seconds(ranks.sorted[0])} to ${seconds(ranks.sorted.at(-1))}`}
      />
    </div>
  );
}

function curveSvg(ranks, colours, title) {
  const pen = new SvgPen(900, 320, colours);
  const [left, top, w, h] = [70, 50, 810, 220];
  const most = ranks.sorted[0] || 1;
  const x = (i) => left + (ranks.sorted.length < 2 ? 0 : (i * w) / (ranks.sorted.length - 1));
  const y = (v) => top + h - (v / most) * h;
  pen.text(10, 22, title, colours.text, { size: 15, bold: true });
  pen.line(
    [
      [left, top],
      [left, top + h],
      [left + w, top + h],
    ],
    colours.line,
  );
  pen.line(
    ranks.sorted.map((v, i) => [x(i), y(v)]),
    colours.read,
    2,
  );
  for (const [name, v] of marksOf(ranks)) {
    pen.line(
      [
        [left, y(v)],
        [left + w, y(v)],
      ],
      name === "mean" ? colours.meta : colours.wait,
      1,
      [5, 4],
    );
    pen.text(left + w, y(v) - 4, `${name} ${seconds(v)}`, colours.text, { align: "right" });
  }
  pen.text(left - 6, top + 4, seconds(most), colours.dim, { align: "right" });
  pen.text(left, top + h + 20, "slowest", colours.dim);
  pen.text(left + w, top + h + 20, "fastest rank", colours.dim, { align: "right" });
  return pen.toString();
}

const COLUMNS = [
  { key: "rank", title: "rank", unit: "count", numeric: true },
  { key: "program", title: "program", unit: "text" },
  { key: "host", title: "host", unit: "text" },
  { key: "time", title: "in I/O", unit: "s", get: (r) => r.read_time + r.write_time + r.meta_time },
  { key: "read_time", title: "reading", unit: "s" },
  { key: "write_time", title: "writing", unit: "s" },
  { key: "meta_time", title: "metadata", unit: "s" },
  { key: "bytes_read", title: "read", unit: "bytes" },
  { key: "bytes_written", title: "written", unit: "bytes" },
  { key: "reads", title: "reads", unit: "count" },
  { key: "writes", title: "writes", unit: "count" },
  { key: "files", title: "own files", unit: "count", doc: "files that only this rank used" },
];

function titleOf(ranks, even) {
  const slowest = seconds(ranks.sorted[0] ?? 0);
  if (ranks.total < 2) return `One rank, ${slowest} in I/O`;
  if (even === null) return `The slowest rank spent ${slowest} in I/O, the median rank nothing`;
  return even < 1.25
    ? `Time in I/O is even over ranks: slowest ${slowest}, median ${seconds(ranks.median)}`
    : `The slowest rank spent ${even.toFixed(1)} times as long in I/O as the median rank`;
}

// Bytes of each rank in the zoomed window, where every row of a strip is one rank.
function inWindow(report, window) {
  const strips = report.timeline.strips.filter(
    (s) => s.rows === s.ranks && ["POSIX", "STDIO", "DFS", "DAOS"].includes(s.layer),
  );
  if (strips.length === 0) return null;
  const sums = new Map();
  for (const s of strips)
    rowSums(s, window).forEach((sum, row) =>
      sums.set(s.first[row], (sums.get(s.first[row]) || 0) + sum.read + sum.write),
    );
  return sums;
}

export function Ranks({ report }) {
  const { ranks, job } = report;
  const { colours } = useScheme();
  const time = useTime();
  const even = ranks.sorted.length && ranks.median > 0 ? ranks.sorted[0] / ranks.median : null;
  const idle = !(ranks.sorted[0] > 0);
  const title = idle
    ? who(ranks.total < 2 ? "One rank, no time in I/O" : `None of ${count(ranks.total)} ranks spent time in I/O`)
    : who(titleOf(ranks, even));
  const sums = useMemo(() => (time.zoomed ? inWindow(report, time.window) : null), [report, time.window, time.zoomed]);
  const columns = useMemo(
    () =>
      COLUMNS.filter((c) => !["host", "program"].includes(c.key) || ranks.rows.some((r) => r[c.key])).concat(
        sums ? [{ key: "zoomed", title: "in the window", unit: "bytes", get: (r) => sums.get(r.rank) ?? 0 }] : [],
      ),
    [ranks, sums],
  );
  const rows = useMemo(() => ranks.rows.map((r) => ({ ...r, key: r.rank })), [ranks]);
  return (
    <section id="ranks" aria-label="ranks">
      <h2>{job.processes ? "Processes" : "Ranks"}</h2>
      {ranks.total > 1 && ranks.sorted.length > 1 && !idle ? (
        <Figure
          name="ranks"
          title={title}
          svg={() => curveSvg(ranks, colours, title)}
          rows={() => [["place", "io_time_s"], ...places(ranks).map((p, i) => [Math.round(p), ranks.sorted[i]])]}
          caption={who(
            `Time in I/O of every rank, slowest first. Mean over run time: ${share(ranks.mean / job.run_time)}.${
              ranks.rows.some((r) => r.estimated)
                ? " Files that all ranks share are recorded once for all: their time is spread over ranks as far as the log tells."
                : ""
            }`,
          )}
        >
          <Curve ranks={ranks} />
          <Key
            items={[
              ["read", "time in I/O"],
              ["meta", "mean"],
              ["wait", "median"],
            ]}
          />
        </Figure>
      ) : (
        <p>{title}.</p>
      )}
      {ranks.total > 1 && (
        <DataTable
          name="ranks"
          label={who("ranks")}
          columns={columns}
          rows={rows}
          sortBy="time"
          text={(r) => `${who("rank")} ${r.rank} ${r.program ?? ""} ${r.host ?? ""} ${r.pid ?? ""}`}
          page={20}
        />
      )}
      {ranks.shown < ranks.total && (
        <p class="dim">
          {count(ranks.shown)} of {count(ranks.total)} {who("ranks")}: the slowest, the fastest, and some evenly
          between.
        </p>
      )}
    </section>
  );
}
