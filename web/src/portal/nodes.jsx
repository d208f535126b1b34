// SPDX-License-Identifier: BSD-3-Clause
// nodes.jsx: nodes × time of one metric; those of file systems are among them.
import { useMemo } from "preact/hooks";
import { Canvas } from "../components/canvas.jsx";
import { Choice, Figure } from "../components/figure.jsx";
import { paintFrame, paintHeat, paintRowNames } from "../components/heat.js";
import { Time, useScheme } from "../components/hooks.js";
import { Stack } from "../components/stack.jsx";
import { plural } from "../data/format.js";
import { range } from "../data/strips.js";
import { logScale, ramp } from "../data/theme.js";
import { api, useAnswer, useEvery } from "./api.js";
import { sampleWords } from "./panes.jsx";
import { clip, List, Trouble, when } from "./parts.jsx";

const SPANS = [
  ["600", "10 min"],
  ["3600", "an hour"],
  ["21600", "6 h"],
];
const POINTS = 200;
const MOST = 20000; // rows of an answer
const STORAGE = /^(nfs|lustre|llite|osc|mdc|gpfs|beegfs|fs|disk|ceph)\./;

// Rows of `map` on a grid: one row per node. Where there are many nodes steps are longer than was asked for.
export function gridOf(rows, from, to, asked) {
  const hosts = [...new Set(rows.map((row) => row.host))];
  const seconds = [...new Set(rows.map((row) => row.second))].sort((a, b) => a - b);
  const wide = Math.min(...seconds.slice(1).map((s, i) => s - seconds[i]), to - from);
  const step = (hosts.length * (to - from)) / asked > MOST ? Math.max(asked, wide) : asked;
  const start = Math.floor(from / step) * step;
  const bins = Math.max(1, Math.ceil((to - start) / step));
  const mean = new Float64Array(hosts.length * bins);
  const known = new Uint8Array(hosts.length * bins);
  const place = new Map(hosts.map((host, i) => [host, i]));
  for (const row of rows) {
    const bin = Math.floor((row.second - start) / step);
    if (bin < 0 || bin >= bins) continue;
    mean[place.get(row.host) * bins + bin] = row.most;
    known[place.get(row.host) * bins + bin] = 1;
  }
  return { hosts, bins, step, t0: start - from, values: mean, known };
}

function Map_({ rows, metric, from, to, step }) {
  const { dark } = useScheme();
  const grid = useMemo(() => gridOf(rows, from, to, step), [rows, from, to, step]);
  const [words, format] = sampleWords(metric);
  const [least, most] = range(grid.values);
  const colours = ramp(dark);
  const scale = logScale(Math.max(least, most / 1e4), most);
  const height = Math.max(34, Math.min(520, grid.hosts.length * (grid.hosts.length > 60 ? 4 : 16)));
  const time = {
    window: [0, to - from],
    home: [0, to - from],
    runTime: to - from,
    zoom: () => {},
    zoomTo: () => {},
    reset: () => {},
  };
  const pane = {
    key: "nodes",
    title: words,
    note: `most of each interval, up to ${format(most)}`,
    height,
    rows: grid.hosts.length,
    step: grid.step,
    hover: (t, fraction) => {
      const row = Math.min(grid.hosts.length - 1, Math.floor(fraction * grid.hosts.length));
      const at = row * grid.bins + Math.max(0, Math.min(grid.bins - 1, Math.floor((t - grid.t0) / grid.step)));
      const clock = new Date((from + t) * 1000).toTimeString().slice(0, 8);
      return [clip(grid.hosts[row], 100), clock, grid.known[at] ? format(grid.values[at]) : "no sample"];
    },
    render: (frame) => (
      <Canvas
        width={frame.width}
        height={height}
        inputs={[grid, dark, frame.width]}
        label={`${words} of ${plural(grid.hosts.length, "node")} over time`}
        draw={(pen) => {
          const box = { x: frame.left, y: 0.5, w: frame.plot, h: height - 1 };
          paintHeat(
            pen,
            box,
            frame,
            { rows: grid.hosts.length, bins: grid.bins, values: grid.values, t0: grid.t0, width: grid.step },
            (v) => colours[scale(v)],
          );
          paintFrame(pen, box);
          paintRowNames(
            pen,
            box,
            grid.hosts.map((host) => (host.length > 9 ? `…${host.slice(-8)}` : host)),
          );
        }}
      />
    ),
  };
  return (
    <Time.Provider value={time}>
      <Stack label={`${words}, nodes over time`} panes={[pane]} />
    </Time.Provider>
  );
}

export function Nodes({ query, set }) {
  const round = useEvery(5);
  const [metrics] = useAnswer(api("sampled"));
  const [nodes] = useAnswer(api("nodes"), round);
  const span = SPANS.some(([key]) => key === query.span) ? query.span : "600";
  const names = (metrics || []).map((row) => row.metric);
  const metric = names.includes(query.metric) ? query.metric : names.includes("cpu.iowait") ? "cpu.iowait" : names[0];
  // the server's clock is that of the newest sample
  const now = Math.max(...(nodes || []).map((node) => Date.parse(node.seen) / 1000 || 0), 0);
  const step = Math.ceil(Number(span) / POINTS);
  const to = Math.ceil((now + 1) / step) * step;
  const from = to - Number(span);
  const [rows, error] = useAnswer(metric && now ? api("map", { metric, from, to, points: POINTS }) : null, round);
  return (
    <>
      <header class="page-head">
        <h1>Nodes and file systems</h1>
        {nodes && <p class="dim">{plural(nodes.length, "node has", "nodes have")} told of themselves.</p>}
      </header>
      {metrics && metrics.length === 0 && (
        <p>
          There are no samples. <code>iorama agent</code> takes them each second on every node.
        </p>
      )}
      {metric && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <label>
            Metric{" "}
            <select name="metric" value={metric} onChange={(event) => set({ metric: event.target.value })}>
              {[
                ["File systems and disks", names.filter((n) => STORAGE.test(n))],
                ["Nodes", names.filter((n) => !STORAGE.test(n))],
              ].map(([label, list]) => (
                <optgroup key={label} label={label}>
                  {list.map((name) => (
                    <option key={name} value={name}>
                      {clip(name, 80)}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
          </label>
          <Choice
            label="how long"
            options={SPANS}
            chosen={span}
            onChoose={(key) => set({ span: key === "600" ? "" : key })}
          />
          <a class="small-link" href={api("map.csv", { metric, from, to, points: POINTS })}>
            CSV
          </a>
        </form>
      )}
      <Trouble error={error} />
      {rows && rows.length > 0 && (
        <Figure
          name="nodes"
          level={2}
          title={`${clip(metric, 80)} of each node`}
          caption="A row is a node, colour is logarithmic; no colour: nothing, or no sample."
        >
          <Map_ rows={rows} metric={metric} from={from} to={to} step={step} />
        </Figure>
      )}
      {nodes && nodes.length > 0 && (
        <>
          <h2>Nodes</h2>
          <List
            label="nodes"
            empty=""
            rows={nodes.map((node) => ({ ...node, key: node.host }))}
            columns={[
              ["Node", (row) => clip(row.host, 100)],
              ["Last heard of", (row) => when(row.seen)],
              ["Metrics", (row) => row.metrics, true],
            ]}
          />
        </>
      )}
    </>
  );
}
