// SPDX-License-Identifier: BSD-3-Clause
// head.jsx: the sticky header, the verdict, and the numbers on one line.
import { bytes, count, date, duration, plural, rate, seconds, share } from "../data/format.js";

export function Level({ level }) {
  return <span class={`level ${level}`}>{level}</span>;
}

export function Header({ report, links }) {
  const { job, verdict } = report;
  return (
    <header class="top">
      <div class="top-line">
        <a class="job" href="#top">
          {job.name}
        </a>
        <Level level={verdict.level} />
        <span class="top-verdict" title={verdict.text}>
          {verdict.text}
        </span>
      </div>
      <nav aria-label="parts of the report">
        {links.map(([id, text]) => (
          <a key={id} href={`#${id}`}>
            {text}
          </a>
        ))}
      </nav>
    </header>
  );
}

function TimeBar({ verdict }) {
  const parts = [
    ["read", verdict.read_share],
    ["write", verdict.write_share],
    ["meta", verdict.meta_share],
    ["other", verdict.other_share],
  ];
  const words = { read: "reading", write: "writing", meta: "metadata", other: "everything else" };
  return (
    <div class="time-bar-room">
      <div
        class="time-bar"
        role="img"
        aria-label={`run time of the slowest rank: ${parts.map(([k, s]) => `${words[k]} ${share(s)}`).join(", ")}`}
      >
        {parts
          .filter(([, s]) => s > 0)
          .map(([kind, s]) => (
            <span key={kind} class={`part ${kind}`} style={{ flexGrow: s }} title={`${words[kind]} ${share(s)}`} />
          ))}
      </div>
      <ul class="key">
        {parts.map(([kind, s]) => (
          <li key={kind}>
            <span class={`swatch ${kind}`} aria-hidden="true" />
            {words[kind]} <b>{share(s)}</b>
          </li>
        ))}
        <li class="dim">
          of run time{verdict.io_rank >= 0 && verdict.io_rank !== null ? `, rank ${verdict.io_rank}` : ""}
        </li>
      </ul>
    </div>
  );
}

function Number_({ name, value, note }) {
  return (
    <div class="number-box">
      <dt>{name}</dt>
      <dd>
        {value}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

function Numbers({ report }) {
  const { job, verdict, totals } = report;
  const nodes = job.nodes ? `on ${plural(job.nodes, "node")}` : null;
  const active =
    totals.active_ranks !== null && totals.active_ranks < job.nprocs ? `${count(totals.active_ranks)} do I/O` : nodes;
  return (
    <dl class="numbers">
      <Number_ name="run time" value={duration(job.run_time)} />
      <Number_ name="in I/O" value={share(verdict.io_share)} note={seconds(verdict.io_time)} />
      <Number_ name="read" value={bytes(totals.bytes_read)} note={plural(totals.reads, "call")} />
      <Number_ name="written" value={bytes(totals.bytes_written)} note={plural(totals.writes, "call")} />
      <Number_ name="rate, about" value={totals.rate ? rate(totals.rate) : "–"} />
      <Number_
        name="files"
        value={count(totals.files)}
        note={totals.groups < totals.files ? plural(totals.groups, "pattern") : null}
      />
      <Number_ name={job.nprocs === 1 ? "process" : "ranks"} value={count(job.nprocs)} note={active} />
      <Number_
        name="data"
        value={report.complete ? "complete" : "incomplete"}
        note={totals.traced_segments ? `${count(totals.traced_segments)} traced` : null}
      />
    </dl>
  );
}

export function Verdict({ report }) {
  const { job, verdict } = report;
  const facts = [
    job.id && job.id !== "0" ? `job ${job.id}` : null,
    plural(job.nprocs, "rank"),
    date(job.start),
    duration(job.run_time),
  ].filter(Boolean);
  return (
    <section class="verdict" id="top" aria-label="verdict">
      {report.banner.length > 0 && (
        <div class="banner" role="note">
          <b>Incomplete data.</b>{" "}
          {report.banner.map((line) => (
            <span key={line}>{line} </span>
          ))}
        </div>
      )}
      <p class="facts">
        <b>{job.name}</b> · {facts.join(" · ")}
      </p>
      <h1 class={verdict.text.length > 110 ? "long" : ""}>{verdict.text}</h1>
      <TimeBar verdict={verdict} />
      <Numbers report={report} />
    </section>
  );
}
