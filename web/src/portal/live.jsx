// SPDX-License-Identifier: BSD-3-Clause
// live.jsx: a job that runs: rates now, what moved so far, rank by rank, what waits, what its nodes do.
import { useMemo, useState } from "preact/hooks";
import { Choice, Figure, Key } from "../components/figure.jsx";
import { Time, useScheme } from "../components/hooks.js";
import { clampWindow, Stack } from "../components/stack.jsx";
import { bytes, count, duration, plural, rate, seconds, share } from "../data/format.js";
import { cells, range } from "../data/strips.js";
import { logScale, ramp } from "../data/theme.js";
import { bandPane, Legend, stripPane } from "../views/timeline.jsx";
import { api, useAnswer, useEvery } from "./api.js";
import { useBeside } from "./panes.jsx";
import { clip, Trouble } from "./parts.jsx";
import { Waits } from "./waits.jsx";

const LOWEST = ["POSIX", "STDIO", "EXTRA"];
const SPANS = [
  ["60", "60 s"],
  ["600", "10 min"],
  ["all", "all"],
];
const POINTS = 300;
const STEADY = 10; // s
const RANK_SECONDS = 600000; // of ranks, that are told at a time
const NOW = 5; // seconds that rates are means of

// Rates of the last complete seconds, all ranks together.
export function ratesOf(series) {
  const last = Math.max(...series.map((p) => p.second), 0);
  const recent = series.filter((p) => p.second > last - NOW && p.second <= last);
  const sum = (kind, of, layers = LOWEST) =>
    recent.filter((p) => p.kind === kind && layers.includes(p.layer)).reduce((n, p) => n + p[of], 0) / NOW;
  const time = ["read", "write", "meta"].reduce((n, kind) => n + sum(kind, "time"), 0);
  return { read: sum("read", "bytes"), write: sum("write", "bytes"), meta: sum("meta", "ops"), busy: time, last };
}

// Rows of `series` and `ranks` on a grid that begins with the job.
export function bandOf(series, start, span) {
  const seen = [...new Set(series.map((p) => p.second))].sort((a, b) => a - b);
  const width = seen.length > 1 ? Math.min(...seen.slice(1).map((s, i) => s - seen[i])) : 1;
  const bins = Math.max(1, Math.ceil(span / width));
  const read = new Array(bins).fill(0);
  const write = new Array(bins).fill(0);
  for (const p of series) {
    const at = Math.max(0, Math.round((p.second - start) / width));
    if (at >= bins || !LOWEST.includes(p.layer)) continue;
    if (p.kind === "read") read[at] += p.bytes;
    if (p.kind === "write") write[at] += p.bytes;
  }
  const layers = LOWEST.filter((layer) => series.some((p) => p.layer === layer));
  return { layers: layers.length ? layers : ["POSIX"], bins, width, lengths: new Array(bins).fill(width), read, write };
}

export function stripOf(ranks, start, span, nprocs) {
  if (!ranks || ranks.length === 0) return null;
  const steps = (list) => {
    const all = [...new Set(list)].sort((a, b) => a - b);
    return all.length > 1 ? Math.min(...all.slice(1).map((s, i) => s - all[i])) : 1;
  };
  const width = steps(ranks.map((p) => p.second));
  const many = Math.max(nprocs, ...ranks.map((p) => p.rank + 1));
  const per = many > 256 ? steps(ranks.map((p) => p.rank)) : 1;
  const rows = Math.ceil(many / per);
  const bins = Math.max(1, Math.ceil(span / width));
  const empty = () => new Array(rows * bins).fill(0);
  const strip = {
    layer: "POSIX + STDIO",
    rows,
    bins,
    width,
    ranks: many,
    first: Array.from({ length: rows + 1 }, (_, r) => Math.min(many, r * per)),
    read_sum: empty(),
    write_sum: empty(),
    from: "live",
    total: 0,
  };
  for (const p of ranks) {
    const [row, bin] = [Math.floor(p.rank / per), Math.max(0, Math.round((p.second - start) / width))];
    if (bin >= bins) continue;
    strip.read_sum[row * bins + bin] += p.bytes_read;
    strip.write_sum[row * bins + bin] += p.bytes_written;
    strip.total += p.bytes_read + p.bytes_written;
  }
  return strip;
}

function Now({ job, rates }) {
  const boxes = [
    ["runs for", duration(job.run_time)],
    ["reads", rate(rates.read), `${bytes(job.bytes_read)} so far`],
    ["writes", rate(rates.write), `${bytes(job.bytes_written)} so far`],
    ["metadata", `${count(rates.meta)}/s`, "calls"],
    [
      "in I/O",
      `${rates.busy.toFixed(rates.busy < 10 ? 1 : 0)} of ${count(Math.max(1, job.ranks))}`,
      "ranks, on average",
    ],
    ["ranks", count(job.ranks), job.nodes > 0 ? `on ${plural(job.nodes, "node")}` : null],
  ];
  return (
    <dl class="numbers" aria-label="now">
      {boxes.map(([name, value, note]) => (
        <div class="number-box" key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function sentence(job, rates) {
  const spent = job.run_time > 0 ? job.io_time / (job.run_time * Math.max(1, job.ranks)) : 0;
  const moving =
    rates.read + rates.write > 0 ? `It moves ${rate(rates.read + rates.write)} now.` : "It moves nothing now.";
  return `Running: ${plural(Math.max(1, job.ranks), "rank")} spent ${share(Math.min(1, spent))} of their time in I/O so far. ${moving}`;
}

function useTimes(job, series, query, set) {
  const start = Math.floor(Date.parse(job.start) / 1000);
  const newest = Math.max(...(series || []).map((p) => p.second + 1), start + (job.run_time || 0));
  const span = Math.max(1, newest - start);
  const [own, setOwn] = useState(null); // a part that was chosen by hand
  const chosen = SPANS.some(([key]) => key === query.span) ? query.span : "600";
  const home =
    chosen === "all" ? [0, span] : [Math.max(0, span - Number(chosen)), Math.max(span, Math.min(Number(chosen), 60))];
  const runTime = Math.max(span, home[1]);
  const time = {
    window: own || home,
    home,
    runTime,
    zoomed: Boolean(own),
    zoom: (w) => setOwn(clampWindow(w, runTime)),
    zoomTo: (w) => setOwn(clampWindow(w, runTime)),
    reset: () => setOwn(null),
  };
  return { start, span, time, chosen, choose: (key) => (setOwn(null), set({ span: key === "600" ? "" : key })) };
}

function Flow({ job, series, times, round }) {
  const { start, span, time, chosen, choose } = times;
  const { dark } = useScheme();
  const [t0, t1] = time.window;
  // times that are the same for a while: each second another one would be a question each second
  const from = Math.max(start, Math.floor((start + t0) / STEADY) * STEADY);
  const to = Math.ceil((start + t1 + 1) / STEADY) * STEADY;
  // rank by rank is costly where there are many: it is asked for less often, and the last part of it is told
  const many = (job.ranks || 1) * (t1 - t0);
  const slow = useEvery(chosen === "60" ? 2 : 5);
  const seldom = useEvery(many > RANK_SECONDS / 8 ? 15 : chosen === "60" ? 2 : 5);
  const part = many > RANK_SECONDS ? Math.floor(RANK_SECONDS / job.ranks) : null;
  const keys = { from, to, points: POINTS };
  const whole = chosen === "60" && t1 >= span - 1 && t0 >= span - 110;
  // what the stream tells is enough for the last minute
  const [asked] = useAnswer(whole ? null : api(`jobs/${job.job}/series`, keys), slow);
  const [ranks, error] = useAnswer(api(`jobs/${job.job}/ranks`, { ...keys, ranks: 256 }), seldom);
  const source = whole || !asked ? series : asked;
  const band = useMemo(() => bandOf(source, start, span), [source, start, span]);
  const strip = useMemo(() => stripOf(ranks, start, span, job.ranks), [ranks, start, span, job.ranks]);
  const beside = useBeside(job.job, start, from, to, null, Math.floor(round / 5));
  const look = useMemo(() => {
    if (!strip) return null;
    const values = cells(strip, "sum", "both");
    const [least, most] = range(values);
    const list = ramp(dark);
    const scale = logScale(Math.max(least, most / 1e4), most);
    return {
      values,
      colour: (v) => list[scale(v)],
      least: Math.max(least, most / 1e4),
      most,
      runTime: span,
      inputs: dark,
    };
  }, [strip, dark, span]);
  const panes = [bandPane(band, span), strip && strip.total > 0 && stripPane(strip, look), ...beside.panes].filter(
    Boolean,
  );
  return (
    <Time.Provider value={time}>
      <Figure
        name="live"
        level={2}
        title="What moves"
        controls={<Choice label="how much of its time" options={SPANS} chosen={chosen} onChoose={choose} />}
        caption={`Bytes as they left the program, all ranks together and rank by rank${part ? ` (of so many ranks the last ${part} s of what is shown)` : ""}; below it what its nodes did. Drag to zoom, Esc to go on.`}
      >
        <Stack label="The job over time" panes={panes} />
        <div class="under">
          {look && strip.total > 0 && <Legend least={look.least} most={look.most} what="bytes per rank and interval" />}
          <Key
            items={[
              ["read", "read"],
              ["write", "written"],
            ]}
          />
        </div>
      </Figure>
      <Trouble error={error} />
    </Time.Provider>
  );
}

function LayerTimes({ series }) {
  const by = new Map();
  for (const p of series) {
    const row = by.get(p.layer) || { layer: p.layer, ops: 0, bytes: 0, time: 0, longest: 0 };
    row.ops += p.ops;
    row.bytes += p.bytes;
    row.time += p.time;
    row.longest = Math.max(row.longest, p.longest);
    by.set(p.layer, row);
  }
  if (by.size === 0) return null;
  return (
    <section aria-label="layers">
      <h2>Layers, the last two minutes</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="layers">
        <table>
          <thead>
            <tr>
              {["Layer", "Calls", "Bytes", "Time, all ranks", "Longest call"].map((h, i) => (
                <th key={h} scope="col" class={i ? "number" : ""}>
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {[...by.values()].map((row) => (
              <tr key={row.layer}>
                <td class="word">{row.layer}</td>
                <td class="number">{count(row.ops)}</td>
                <td class="number">{bytes(row.bytes)}</td>
                <td class="number">{seconds(row.time)}</td>
                <td class="number">{row.longest > 0 ? seconds(row.longest) : "not known"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function Live({ job, series, round, query, set, who }) {
  const times = useTimes(job, series, query, set);
  const rates = ratesOf(series);
  return (
    <main>
      <section class="verdict" aria-label="so far">
        <p class="facts">
          <b>{clip(job.name)}</b> · job {job.jobid || job.job} · {clip(job.user, 60)} ·{" "}
          <span class="state running">{job.state}</span>
        </p>
        <h1>{sentence(job, rates)}</h1>
        <Now job={job} rates={rates} />
      </section>
      <Flow job={job} series={series} times={times} round={round} />
      <LayerTimes series={series} />
      <Waits job={job} who={who} />
    </main>
  );
}
