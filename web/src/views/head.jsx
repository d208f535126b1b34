// SPDX-License-Identifier: BSD-3-Clause
// head.jsx: the sticky header, the verdict, and the numbers on one line.
import { bytes, count, date, duration, plural, rate, seconds, share, short, who } from "../data/format.js";

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

function TimeBar({ verdict, job }) {
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
        aria-label={`${who("run time of the slowest rank")}: ${parts.map(([k, s]) => `${words[k]} ${share(s)}`).join(", ")}`}
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
          of run time{verdict.io_rank >= 0 && verdict.io_rank !== null ? who(`, rank ${verdict.io_rank}`) : ""}
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

const calls = (n) => `${short(n)} ${n === 1 ? "call" : "calls"}`;

// 6 processes (python3 ×5, bash): those that moved data, as the terminal says it
export function whoWords(report) {
  const { job, totals } = report;
  if (!job.processes) return plural(job.nprocs, "rank");
  const active = totals.active_ranks > 0;
  const list = job.programs
    .map((p) => [p.name, active ? p.active : p.processes])
    .filter(([, n]) => n > 0)
    .map(([name, n]) => (n > 1 ? `${name} ×${count(n)}` : name));
  const some = list.slice(0, 3);
  if (list.length > 3) some.push(plural(list.length - 3, "more program"));
  const number = plural(active ? totals.active_ranks : job.nprocs, "process", "processes");
  return job.nprocs > 1 && some.length ? `${number} (${some.join(", ")})` : number;
}

function ranksBox({ job, totals }) {
  const nodes = job.nodes ? `on ${plural(job.nodes, "node")}` : null;
  const idle = totals.active_ranks === null ? 0 : job.nprocs - totals.active_ranks;
  if (job.processes) {
    const active = totals.active_ranks > 0 ? totals.active_ranks : job.nprocs;
    const more = idle > 0 && totals.active_ranks > 0 ? `${count(idle)} more moved no data` : nodes;
    return <Number_ name={active === 1 ? "process" : "processes"} value={count(active)} note={more} />;
  }
  const note = idle > 0 ? `${count(totals.active_ranks)} do I/O` : nodes;
  return <Number_ name={job.nprocs === 1 ? "rank" : "ranks"} value={count(job.nprocs)} note={note} />;
}

// What there was nothing of has no card.
function Numbers({ report }) {
  const { job, verdict, totals } = report;
  return (
    <dl class="numbers">
      {job.run_time > 0 && <Number_ name="run time" value={duration(job.run_time)} />}
      {verdict.io_time > 0 && <Number_ name="in I/O" value={share(verdict.io_share)} note={seconds(verdict.io_time)} />}
      {totals.reads + totals.bytes_read > 0 && (
        <Number_ name="read" value={bytes(totals.bytes_read)} note={calls(totals.reads)} />
      )}
      {totals.writes + totals.bytes_written > 0 && (
        <Number_ name="written" value={bytes(totals.bytes_written)} note={calls(totals.writes)} />
      )}
      {totals.rate > 0 && <Number_ name="rate, about" value={rate(totals.rate)} />}
      <Number_
        name={totals.files_estimated ? "files, about" : "files"}
        value={short(totals.files)}
        note={totals.groups < totals.files ? plural(totals.groups, "pattern") : null}
      />
      {ranksBox(report)}
      {totals.io_uring && (
        <Number_
          name="io_uring"
          value={`${short(Number(totals.io_uring.depth.toPrecision(2)))} at a time`}
          note={`${short(Number(totals.io_uring.per_call.toPrecision(2)))} with each call`}
        />
      )}
      <Number_
        name="data"
        value={report.complete ? "complete" : "incomplete"}
        note={totals.traced_segments ? `${short(totals.traced_segments)} traced` : null}
      />
    </dl>
  );
}

export function Verdict({ report }) {
  const { job, verdict } = report;
  const facts = [
    job.id && job.id !== "0" ? `job ${job.id}` : null,
    whoWords(report),
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
      {verdict.io_time > 0 && <TimeBar verdict={verdict} job={job} />}
      <Numbers report={report} />
    </section>
  );
}
