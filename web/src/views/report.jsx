// SPDX-License-Identifier: BSD-3-Clause
// report.jsx: the page of one job, part after part.
import { useCallback, useMemo, useState } from "preact/hooks";
import { Scheme, Time, useReaderScheme } from "../components/hooks.js";
import { clampWindow, Stack } from "../components/stack.jsx";
import { bytes, seconds, speakOf } from "../data/format.js";
import { homeWindow, total } from "../data/strips.js";
import { Appendix } from "./appendix.jsx";
import { Files } from "./files.jsx";
import { Layers, Operations, Pattern, Sizes } from "./figures.jsx";
import { Findings } from "./findings.jsx";
import { Header, Verdict } from "./head.jsx";
import { Ranks } from "./ranks.jsx";
import { Storage } from "./storage.jsx";
import { Timeline } from "./timeline.jsx";
import { Trace } from "./trace.jsx";

// Strips without a byte say nothing; the others know their total.
function prepared(report) {
  speakOf(report.job);
  const strips = report.timeline.strips.map((s) => ({ ...s, total: total(s) })).filter((s) => s.total > 0);
  const most = Math.max(...strips.map((s) => s.total), 0);
  for (const s of strips) s.faint = s.total < most / 1e4;
  return { ...report, timeline: { ...report.timeline, strips } };
}

function useWindow(report) {
  const runTime = Math.max(report.timeline.run_time || report.job.run_time || 0, 1e-9);
  const home = useMemo(() => homeWindow(report.timeline.strips, runTime), [report]);
  const [window, setWindow] = useState(report.trace?.window ? clampWindow(report.trace.window, runTime) : home);
  const reset = useCallback(() => setWindow(home), [home]);
  const zoom = useCallback((w) => setWindow(clampWindow(w, runTime)), [runTime]);
  // with a margin around it
  const zoomTo = useCallback(
    ([from, to]) => {
      const margin = Math.max((to - from) * 0.04, runTime * 1e-4);
      zoom([from - margin, to + margin]);
    },
    [zoom, runTime],
  );
  const zoomed = window[0] !== home[0] || window[1] !== home[1];
  return { window, zoom, zoomTo, reset, home, runTime, zoomed };
}

// Time windows of findings; those of no cost only where there are few.
function bandsOf(report) {
  const all = report.findings
    .map((f, i) => ({ number: i + 1, level: f.level, window: f.window, title: f.title }))
    .filter((b) => b.window && b.window[1] > b.window[0]);
  const costly = all.filter((b) => b.level === "HIGH" || b.level === "WARN");
  return [...phaseBands(report.timeline.named || []), ...(all.length > 4 ? costly : all)];
}

const PHASES_MOST = 40; // bands; of more the phases as a whole

// Phases that the program named: each time one band, the name in it.
function phaseBands(named) {
  const times = named.reduce((n, p) => n + p.spans.length, 0);
  return named
    .flatMap((p) => (times > PHASES_MOST ? [[p.start, p.end]] : p.spans).map((window) => ({ p, window })))
    .map(({ p, window }) => ({
      name: p.name,
      number: `${p.name} ${window[0]}`,
      level: "PHASE",
      window,
      title: `phase ${p.name}: ${seconds(p.time)} in all, read ${bytes(p.bytes_read)}, written ${bytes(p.bytes_written)}`,
    }))
    .filter((b) => b.window[1] > b.window[0]);
}

// panes, links, before, after: what a page around it adds to its timeline, its header and its parts
export function Report({ report: raw, panes = [], links: more = [], before = null, after = null }) {
  const report = useMemo(() => prepared(raw), [raw]);
  const scheme = useReaderScheme();
  const time = useWindow(report);
  const strips = report.timeline.strips.length > 0;
  const bands = bandsOf(report);
  const trace = report.trace && (report.trace.ops.n > 0 || report.trace.offsets.length > 0);
  const links = [
    ["findings", "Findings"],
    ["timeline", "Timeline"],
    trace && ["trace", "Trace"],
    ["layers", "Layers"],
    ["requests", "Requests"],
    ["files", "Files"],
    ["ranks", report.job.processes ? "Processes" : "Ranks"],
    report.mounts.length && ["storage", "File systems"],
    ...more,
    ["appendix", "Appendix"],
  ].filter(Boolean);
  return (
    <Scheme.Provider value={scheme}>
      <Time.Provider value={time}>
        <Header report={report} links={links} />
        <main>
          <Verdict report={report} />
          {before}
          <Findings report={report} drawn={Boolean(strips || trace || panes.length > 0)} />
          <section id="timeline" aria-label="timeline">
            <h2>Timeline</h2>
            {strips ? (
              <Timeline report={report} bands={bands} panes={panes} />
            ) : (
              <>
                <p class="dim">
                  This log does not tell when data were moved: it has neither heat maps nor a trace of them.{" "}
                  <code>iorama run --trace</code> records both.
                </p>
                {panes.length > 0 && <Stack label="Beside the job" panes={panes} bands={bands} />}
              </>
            )}
          </section>
          {trace && (
            <section id="trace" aria-label="trace">
              <h2>Trace</h2>
              <Trace report={report} />
            </section>
          )}
          <section id="layers" aria-label="layers">
            <h2>Time per layer</h2>
            <Layers report={report} />
          </section>
          <section id="requests" aria-label="requests">
            <h2>Requests</h2>
            <Sizes report={report} />
            <Pattern report={report} />
            <Operations report={report} />
          </section>
          <Files report={report} />
          <Ranks report={report} />
          {report.mounts.length > 0 && <Storage report={report} />}
          {after}
          <Appendix report={report} />
        </main>
        <footer>
          {report.tool} · {report.logs.join(" ")}
        </footer>
      </Time.Provider>
    </Scheme.Provider>
  );
}
