// SPDX-License-Identifier: BSD-3-Clause
// jobs.jsx: my jobs: what was lost this week, and the list; running ones first, and they move.
import { useMemo } from "preact/hooks";
import { bytes, count, duration, plural } from "../data/format.js";
import { link } from "./address.js";
import { api, useAnswer, useEvery, useStream } from "./api.js";
import { clip, Finding, JobName, nodeHours, ranksOf, Share, Spark, Trouble, when } from "./parts.jsx";

const FILTERS = ["word", "state", "user", "name", "finding", "since", "where"];
const SORTS = [
  ["start", "newest"],
  ["cost", "cost of findings"],
  ["bytes", "bytes"],
  ["run_time", "run time"],
];

function Top({ who, week, running, live }) {
  const row = week && week[0] && { ...week[0], running: running ?? week[0].running };
  return (
    <header class="page-head">
      <h1>{who.role === "staff" ? "All jobs" : who.role === "project" ? "Jobs of your projects" : "My jobs"}</h1>
      {row && (
        <p class="week">
          <b>{row.running}</b> {row.running === 1 ? "runs" : "run"}.{" "}
          {row.ended === 0 ? (
            "None has ended this week."
          ) : (
            <>
              Of {count(row.ended)} that ended this week <b>{count(row.losing)}</b>{" "}
              {row.losing === 1 ? "loses" : "lose"} more than 10 % of {row.losing === 1 ? "its" : "their"} time in I/O
              that could be saved: <b>{nodeHours(row.node_time_lost)}</b> of {nodeHours(row.node_time)}.
            </>
          )}
        </p>
      )}
      <p class="dim">
        <span role="status">{live ? "live" : "not connected, tries again"}</span>
      </p>
    </header>
  );
}

function Filters({ query, set }) {
  const change = (event) => set({ after: "", [event.target.name]: event.target.value });
  const chips = FILTERS.filter((key) => query[key] && !["word", "state", "finding"].includes(key));
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Search <input name="word" type="search" value={query.word || ""} onChange={change} />
      </label>
      <label>
        State{" "}
        <select name="state" value={query.state || ""} onChange={change}>
          <option value="">any</option>
          {["running", "done", "incomplete", "lost"].map((word) => (
            <option key={word}>{word}</option>
          ))}
        </select>
      </label>
      <label>
        Findings{" "}
        <select
          name="finding"
          value={["", "high", "warn"].includes(query.finding || "") ? query.finding || "" : "rule"}
          onChange={change}
        >
          <option value="">any or none</option>
          <option value="high">HIGH</option>
          <option value="warn">HIGH or WARN</option>
          {query.finding && !["high", "warn"].includes(query.finding) && <option value="rule">{query.finding}</option>}
        </select>
      </label>
      <label>
        Sort{" "}
        <select name="sort" value={query.sort || "start"} onChange={change}>
          {SORTS.map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {chips.map((key) => (
        <button
          type="button"
          class="small"
          key={key}
          aria-label={`without ${key} ${query[key]}`}
          onClick={() => set({ [key]: "", after: "" })}
        >
          {key} {clip(query[key], 60)} ×
        </button>
      ))}
      <a class="small-link" href={api("jobs.csv", listKeys(query))}>
        CSV
      </a>
    </form>
  );
}

export function listKeys(query) {
  return Object.fromEntries([...FILTERS, "sort", "after"].map((key) => [key, query[key]]));
}

function Row({ job, spark }) {
  return (
    <tr role="row" class={`state-${job.state}`}>
      <td role="cell">
        <span class="state">{job.state}</span>
      </td>
      <td role="cell">
        <JobName job={job} />
      </td>
      <td role="cell">
        {when(job.start)}
        <div class="dim">{job.run_time === null ? "" : duration(job.run_time)}</div>
      </td>
      <td role="cell" class="number">
        {ranksOf(job)}
      </td>
      <td role="cell" class="flow">
        <Spark points={spark} />
        <div class="dim">
          <span class="read-text">{bytes(job.bytes_read)}</span>{" "}
          <span class="write-text">{bytes(job.bytes_written)}</span>
        </div>
      </td>
      <td role="cell" class="number">
        <Share value={job.io_share} />
      </td>
      <td role="cell">
        <Finding job={job} />
        <div class="says">{clip(job.verdict, 400)}</div>
      </td>
    </tr>
  );
}

function useSparks(jobs) {
  const ids = useMemo(() => jobs.slice(0, 100).map((job) => job.job), [jobs.map((job) => job.job).join()]);
  const some = jobs.some((job) => job.state === "running");
  const round = useEvery(some ? 2 : 0);
  const [rows] = useAnswer(ids.length ? api("sparks", { jobs: ids.join() }) : null, round);
  return useMemo(() => {
    const by = new Map();
    for (const row of rows || []) by.set(row.job, [...(by.get(row.job) || []), row]);
    return by;
  }, [rows]);
}

const plain = (query) => ![...FILTERS, "sort", "after"].some((key) => query[key] && query[key] !== "start");

// Those that run come first where nothing else is asked for, also those that began long ago.
function ordered(jobs, running) {
  const listed = new Set(jobs.map((job) => job.job));
  return [
    ...jobs.filter((job) => job.state === "running"),
    ...running.filter((job) => !listed.has(job.job)),
    ...jobs.filter((job) => job.state !== "running"),
  ];
}

export function Jobs({ who, query, set }) {
  const stream = useStream("jobs");
  const [week] = useAnswer(api("week"), Math.floor(stream.round / 5));
  // the newest jobs are what the stream tells: nothing has to be asked for
  const told = plain(query) ? stream.jobs : null;
  const [asked, error] = useAnswer(told ? null : api("jobs", listKeys(query)), plain(query) ? 0 : stream.round);
  const list = told || asked;
  const [running] = useAnswer(
    plain(query) ? api("jobs", { state: "running", limit: 50 }) : null,
    Math.floor(stream.round / 3),
  );
  const jobs = useMemo(
    () => (list ? (plain(query) && running ? ordered(list.jobs, running.jobs) : list.jobs) : []),
    [list, running, query],
  );
  const sparks = useSparks(jobs);
  return (
    <>
      <Top who={who} week={week} running={running && !running.next ? running.jobs.length : null} live={stream.live} />
      <Filters query={query} set={set} />
      <Trouble error={error} />
      {list && jobs.length === 0 && (
        <p>
          No jobs. <code>iorama run --live -- COMMAND</code> and <code>iorama index LOGS</code> bring some.
        </p>
      )}
      {jobs.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="jobs">
          <table class="jobs" role="table">
            <caption class="unseen">
              {plural(jobs.length, "job")},{" "}
              {plural(jobs.filter((job) => job.state === "running").length, "runs", "run")}
            </caption>
            <thead role="rowgroup">
              <tr role="row">
                {["State", "Program", "Start, run time", "Ranks", "Read, written", "I/O share", "What it says"].map(
                  (h) => (
                    <th key={h} role="columnheader" scope="col">
                      {h}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {jobs.map((job) => (
                <Row key={job.job} job={job} spark={sparks.get(job.job)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="pages">
        {query.after && <a href={link({ ...query, after: "" })}>First page</a>}{" "}
        {list && list.next && <a href={link({ ...query, after: list.next })}>Next page</a>}
      </p>
    </>
  );
}
