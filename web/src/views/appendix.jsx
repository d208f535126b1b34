// SPDX-License-Identifier: BSD-3-Clause
// appendix.jsx: what the figures rest on. Nothing of it is made before it is asked for.
import { useState } from "preact/hooks";
import { useScheme } from "../components/hooks.js";
import { DataTable } from "../components/table.jsx";
import { download } from "../data/export.js";
import { bytes, count, date, plural, seconds, value } from "../data/format.js";

// On paper nothing can be unfolded: all of it is there, but for what is not for people.
function Fold({ id, title, children, screen = false }) {
  const [open, setOpen] = useState(false);
  const { printing } = useScheme();
  return (
    <details
      class={screen ? "fold screen" : "fold"}
      id={id}
      onToggle={(event) => !printing && setOpen(event.currentTarget.open)}
    >
      <summary>{title}</summary>
      {(open || (printing && !screen)) && children()}
    </details>
  );
}

const PHASES = [
  { key: "number", title: "phase", unit: "count" },
  { key: "start", title: "from", unit: "s" },
  { key: "end", title: "to", unit: "s" },
  { key: "bytes_read", title: "read", unit: "bytes" },
  { key: "bytes_written", title: "written", unit: "bytes" },
  { key: "ranks", title: "ranks", unit: "count" },
  { key: "slow_rank", title: "slowest rank", unit: "count" },
  { key: "slow_busy", title: "busy", unit: "s", doc: "time of the slowest rank in operations" },
  { key: "median_busy", title: "median busy", unit: "s" },
  { key: "wait", title: "mean wait", unit: "s", doc: "of ranks that were done, for the end of the phase" },
];
const NAMED = [
  { key: "name", title: "phase" },
  { key: "times", title: "times", unit: "count" },
  { key: "start", title: "from", unit: "s" },
  { key: "end", title: "to", unit: "s" },
  { key: "time", title: "time", unit: "s", doc: "in which at least one rank was in it" },
  { key: "io_time", title: "files in use", unit: "s" },
  { key: "bytes_read", title: "read", unit: "bytes" },
  { key: "bytes_written", title: "written", unit: "bytes" },
  { key: "ranks", title: "ranks", unit: "count" },
];
const MODULES = [
  { key: "name", title: "module" },
  { key: "version", title: "version", unit: "count" },
  { key: "records", title: "records", unit: "count" },
  { key: "state", title: "state", get: (m) => (m.partial ? "partial" : "whole") },
];
const COUNTERS = [
  { key: "name", title: "counter" },
  { key: "value", title: "total", numeric: true, show: (c) => number(c.value) },
];
const LIMITS = [
  { key: "name", title: "limit" },
  { key: "value", title: "value", numeric: true, show: (l) => value(l.unit, l.value) },
  { key: "doc", title: "meaning" },
  { key: "source", title: "set by" },
];

function number(v) {
  if (typeof v !== "number") return String(v);
  return Number.isInteger(v) ? count(v) : String(v);
}

function Counters({ report }) {
  const modules = Object.keys(report.counters);
  const [chosen, setChosen] = useState(modules[0]);
  const rows = Object.entries(report.counters[chosen] || {}).map(([name, v]) => ({ key: name, name, value: v }));
  return (
    <>
      <label>
        layer{" "}
        <select value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}>
          {modules.map((m) => (
            <option key={m}>{m}</option>
          ))}
        </select>
      </label>
      <DataTable
        key={chosen}
        name="counters"
        label={`counters of ${chosen}`}
        columns={COUNTERS}
        rows={rows}
        sortBy="name"
        descending={false}
        text={(c) => c.name}
        page={200}
      />
    </>
  );
}

function JobFacts({ job, logs, tool }) {
  const rows = [
    ["program", job.exe],
    ["job", job.id],
    ["user", job.uid],
    ["start", date(job.start)],
    ["run time", seconds(job.run_time)],
    [job.processes ? "processes" : "ranks", count(job.nprocs)],
    ["hosts", (job.hosts || []).join(" ")],
    ["log", logs.join(" ")],
    ["log version", job.log_version],
    ...Object.entries(job.metadata || {}),
    ["made by", tool],
  ].filter(([, v]) => v !== null && v !== undefined && v !== "");
  return (
    <dl class="job-facts">
      {rows.map(([k, v]) => (
        <div key={k}>
          <dt>{k}</dt>
          <dd>{v}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Appendix({ report }) {
  const phases = report.timeline.phases.map((p, i) => ({ ...p, number: i + 1, key: i }));
  const json = () => JSON.stringify(report);
  return (
    <section id="appendix" aria-label="appendix">
      <h2>Appendix</h2>
      <Fold id="job" title="The job">
        {() => <JobFacts job={report.job} logs={report.logs} tool={report.tool} />}
      </Fold>
      {(report.timeline.named || []).length > 0 && (
        <Fold id="named" title={`${plural(report.timeline.named.length, "phase")} named by the program`}>
          {() => (
            <DataTable
              name="named"
              label="phases named by the program"
              columns={NAMED}
              rows={report.timeline.named}
              sortBy="start"
              descending={false}
            />
          )}
        </Fold>
      )}
      {phases.length > 0 && (
        <Fold id="phases" title={`${plural(phases.length, "phase")} of I/O`}>
          {() => (
            <DataTable name="phases" label="phases" columns={PHASES} rows={phases} sortBy="number" descending={false} />
          )}
        </Fold>
      )}
      <Fold id="modules" title="Modules of the log">
        {() => <DataTable name="modules" label="modules" columns={MODULES} rows={report.modules} sortBy="records" />}
      </Fold>
      {Object.keys(report.counters).length > 0 && (
        <Fold id="counters" title="Counters">
          {() => <Counters report={report} />}
        </Fold>
      )}
      <Fold id="limits" title="Limits of the rules">
        {() => (
          <DataTable
            name="limits"
            label="limits"
            columns={LIMITS}
            rows={report.limits}
            sortBy="name"
            descending={false}
            text={(l) => `${l.name} ${l.doc}`}
            page={200}
          />
        )}
      </Fold>
      {report.glossary.length > 0 && (
        <details class="fold" id="glossary">
          <summary>Words used here</summary>
          <dl class="glossary">
            {report.glossary.map((g) => (
              <div key={g.term}>
                <dt>{g.term}</dt>
                <dd>{g.text}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      <Fold id="raw" title="Raw data" screen>
        {() => (
          <>
            <p>
              Everything this page shows is one JSON document of {bytes(json().length)};{" "}
              <code>iorama report --json</code> prints it.
            </p>
            <button type="button" class="small" onClick={() => download("report.json", "application/json", json())}>
              save report.json
            </button>
            <pre class="raw" tabIndex={0}>
              {JSON.stringify(
                report,
                (k, v) => (Array.isArray(v) && v.length > 40 && typeof v[0] !== "object" ? `[${v.length} values]` : v),
                1,
              ).slice(0, 200000)}
            </pre>
          </>
        )}
      </Fold>
    </section>
  );
}
