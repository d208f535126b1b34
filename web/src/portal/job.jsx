// SPDX-License-Identifier: BSD-3-Clause
// job.jsx: one job: while it runs what it does now, afterwards its report with what was beside it.
import { useEffect, useState } from "preact/hooks";
import { BarPanels, wantsLog } from "../components/bars.jsx";
import { Key } from "../components/figure.jsx";
import { bytes, duration, plural, rate, share, short, value } from "../data/format.js";
import { Report } from "../views/report.jsx";
import { link } from "./address.js";
import { api, useAnswer, useStream } from "./api.js";
import { Live } from "./live.jsx";
import { useBeside } from "./panes.jsx";
import { clip, JobName, List, programLink, Share, Trouble, when } from "./parts.jsx";

// Totals, rate, share of the time and sizes of requests, as portals of sites have them, before everything else.
function Glance({ report }) {
  const { totals, verdict, sizes } = report;
  const lowest = sizes.find((s) => s.layer === "POSIX") || sizes[0];
  const classes = (kind) =>
    lowest.classes
      .map((label, i) => ({ label, bars: [[{ kind, value: lowest[kind].count[i] }]] }))
      .filter((row) => row.bars[0][0].value > 0);
  const panels = lowest
    ? [
        ["read", "reads by size"],
        ["write", "writes by size"],
      ]
        .map(([kind, title]) => ({ title, format: short, rows: classes(kind) }))
        .filter((panel) => panel.rows.length)
        .map((panel) => ({ ...panel, log: wantsLog(panel.rows.map((row) => row.bars[0][0].value)) }))
    : [];
  return (
    <section id="glance" aria-label="at a glance">
      <h2>At a glance</h2>
      <p>
        Read <b>{bytes(totals.bytes_read)}</b>, written <b>{bytes(totals.bytes_written)}</b>
        {totals.rate > 0 && (
          <>
            , at about <b>{rate(totals.rate)}</b>
          </>
        )}
        ; <b>{share(verdict.io_share)}</b> of the time in I/O.
      </p>
      {panels.length > 0 && <BarPanels panels={panels} />}
      {panels.length > 0 && (
        <Key
          items={[
            ["read", "reads"],
            ["write", "writes"],
          ].filter(([k]) => panels.some((p) => p.title.startsWith(k)))}
        />
      )}
    </section>
  );
}

function Others({ others, folder }) {
  return (
    <section id="beside" aria-label="other jobs">
      <h2>Other jobs at the same time</h2>
      <List
        label="other jobs at the same time"
        empty="None of the jobs that you see ran while this one did."
        rows={others}
        columns={[
          ["Program", (row) => <JobName job={row} />],
          ["Start", (row) => when(row.start)],
          ["Read", (row) => bytes(row.bytes_read), true],
          ["Written", (row) => bytes(row.bytes_written), true],
          ["Same node", (row) => (row.node ? "yes" : "no")],
          ...(folder ? [[`Below ${folder}`, (row) => (row.under ? "yes" : "no")]] : []),
        ]}
      />
    </section>
  );
}

// What was unusual while it was slow: at the same time, never because of it.
function Why({ job }) {
  const [why] = useAnswer(api(`jobs/${job.job}/why`));
  if (!why || !why.known) return null;
  const rows = why.rows.filter((row) => row.p <= why.unlikely).map((row) => ({ ...row, key: row.what }));
  const clock = (text) => new Date(text).toTimeString().slice(0, 8);
  return (
    <section id="why" aria-label="at the same time">
      <h2>At the same time</h2>
      {!why.found ? (
        <p>No time of this job was slower than half of the usual.</p>
      ) : (
        <>
          <p>
            From {clock(why.from)} to {clock(why.to)} it moved <b>{rate(why.rate)}</b> of I/O time, usually{" "}
            <b>{rate(why.usual)}</b>.{" "}
            {why.looked === 0
              ? "Its nodes told nothing of themselves, or the rest of it is too short to compare with."
              : `Of ${plural(why.looked, "figure")} of its nodes and of other jobs ${rows.length} ${rows.length === 1 ? "was" : "were"} unusual then; about ${(why.looked * why.unlikely).toFixed(0)} would be by chance.`}
          </p>
          {why.looked > 0 && (
            <List
              label="what was unusual at the same time"
              empty="Nothing was unusual."
              rows={rows}
              columns={[
                ["Figure", (row) => clip(row.what, 80)],
                ["Then", (row) => number(row.then), true],
                ["Else", (row) => number(row.rest), true],
                ["As much at", (row) => `${row.as_much} of ${row.others} other times`, true],
              ]}
            />
          )}
        </>
      )}
    </section>
  );
}

const number = (v) => (Math.abs(v) >= 1000 ? short(v) : v.toPrecision(3));

function Earlier({ job }) {
  const [rows] = useAnswer(api(`jobs/${job.job}/runs`));
  const earlier = (rows || []).filter((row) => row.job !== job.job && row.start < job.start).reverse();
  return (
    <section id="earlier" aria-label="earlier runs">
      <h2>Earlier runs</h2>
      {job.name && (
        <p>
          <a href={programLink(job)}>All runs of {clip(job.name)} over time</a>
        </p>
      )}
      <List
        label="earlier runs"
        empty="There is no earlier run of this program among the jobs that you see."
        rows={rows && earlier.slice(0, 10)}
        columns={[
          ["Start", (row) => <a href={link({ page: "job", job: row.job })}>{when(row.start)}</a>],
          ["Run time", (row) => duration(row.run_time), true],
          ["Ranks", (row) => row.ranks, true],
          ["Rate", (row) => (row.rate === null ? "" : rate(row.rate)), true],
          ["I/O share", (row) => <Share value={row.io_share} />, true],
          ["Compared", (row) => <a href={link({ page: "job", job: job.job, with: row.job })}>what changed</a>],
        ]}
      />
    </section>
  );
}

function Diff({ job, other }) {
  const [diff, error] = useAnswer(api(`jobs/${other}/diff`, { with: job.job }));
  return (
    <section id="diff" aria-label="comparison">
      <h2>
        Compared with <a href={link({ page: "job", job: other })}>job {other}</a>{" "}
        <a class="small-link" href={link({ page: "job", job: job.job })}>
          close
        </a>
      </h2>
      <Trouble error={error} />
      {diff && <p>{diff.verdict.text}</p>}
      {diff && (
        <List
          label="figures that changed"
          empty="No figure changed."
          rows={diff.metrics.filter((row) => row.change !== "same").map((row) => ({ ...row, key: row.name }))}
          columns={[
            ["Figure", (row) => row.label],
            ["Then", (row) => value(row.unit, row.a), true],
            ["Now", (row) => value(row.unit, row.b), true],
            ["", (row) => (row.judgement === "neutral" ? "" : <b class={row.judgement}>{row.judgement}</b>)],
          ]}
        />
      )}
    </section>
  );
}

// The mount on which most bytes moved.
function busiest(report) {
  const moved = (m) => m.bytes_read + m.bytes_written;
  const best = (report?.mounts || []).reduce((a, m) => (moved(m) > (a ? moved(a) : 0) ? m : a), null);
  return best && best.path !== "/" ? best.path : null;
}

function Done({ job, query }) {
  const [report, error] = useAnswer(job.logged ? api(`jobs/${job.job}/report`) : null);
  const start = Date.parse(job.start) / 1000;
  const end = job.end ? Date.parse(job.end) / 1000 : start + (job.run_time || 0);
  const folder = busiest(report);
  const beside = useBeside(job.job, start, job.start ? start : null, Math.max(end, start + 1), folder);
  if (!job.logged)
    return (
      <main>
        <section class="verdict" aria-label="verdict">
          <p class="facts">
            <b>{clip(job.name)}</b> · job {job.jobid || job.job} · {clip(job.user, 60)}
          </p>
          <h1>
            {job.state === "lost"
              ? "Nothing was heard of this job any more, and there is no log of it."
              : "There is no log of this job (yet): it has no report."}
          </h1>
          <p>
            It ran for {duration(job.run_time)} on {plural(job.ranks, "rank")}, read {bytes(job.bytes_read)} and wrote{" "}
            {bytes(job.bytes_written)}.
          </p>
        </section>
        <Why job={job} />
        <Others others={beside.others} folder={null} />
        <Earlier job={job} />
      </main>
    );
  if (!report) return <main>{<Trouble error={error} />}</main>;
  const links = [
    ["glance", "At a glance"],
    ["beside", "Other jobs"],
    ["earlier", "Earlier runs"],
  ];
  return (
    <Report
      report={report}
      panes={beside.panes}
      links={links}
      before={
        <>
          {query.with && <Diff job={job} other={query.with} />}
          <Glance report={report} />
        </>
      }
      after={
        <>
          <Why job={job} />
          <Others others={beside.others} folder={folder} />
          <Earlier job={job} />
          <p class="files-of">
            As files: <a href={api(`jobs/${job.job}/report.html`)}>the report as one page</a>,{" "}
            <a href={api(`jobs/${job.job}/log`)}>its log</a>, <a href={api(`jobs/${job.job}/findings.csv`)}>findings</a>
          </p>
        </>
      }
    />
  );
}

export function Job({ query, set, who }) {
  const number = /^\d{1,18}$/.test(query.job || "") ? query.job : null;
  const [first, error] = useAnswer(number ? api("jobs", { where: `job = ${number}`, limit: 1 }) : null);
  const [running, setRunning] = useState(true);
  const stream = useStream(number && running ? `job:${number}` : null);
  const list = stream.job ? stream.job.list : first;
  const job = list && list.jobs[0];
  // its log comes a moment after its end: until then it is listened to
  const ended = job && job.state !== "running" && (job.logged || job.source !== "live" || job.state === "lost");
  useEffect(() => {
    if (ended) setRunning(false);
  }, [ended]);
  useEffect(() => {
    if (job) document.title = `${clip(job.name, 60) || "job"} ${job.jobid || job.job} · iorama`;
  }, [job?.name]);
  if (error) return <main>{<Trouble error={error} />}</main>;
  if (!number || (list && !job)) return <main class="none">There is no such job, or it is not for you to see.</main>;
  if (!job) return <main aria-busy="true" />;
  if (job.state === "running")
    return (
      <Live
        job={job}
        series={stream.job ? stream.job.series : []}
        round={stream.round}
        query={query}
        set={set}
        who={who}
      />
    );
  return <Done job={job} query={query} />;
}
