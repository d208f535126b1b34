// SPDX-License-Identifier: BSD-3-Clause
// staff.jsx: what moves now, who deserves help, what findings cost, who uses what, and how much of it is seen.
import { Choice } from "../components/figure.jsx";
import { bytes, count, duration, plural, rate, share } from "../data/format.js";
import { link } from "./address.js";
import { api, useAnswer, useEvery } from "./api.js";
import { clip, JobName, LevelOf, List, nameable, nodeHours, ranksOf, Trouble, when } from "./parts.jsx";

const DAY = 86400;
const SPANS = [
  ["1", "a day"],
  ["7", "a week"],
  ["30", "a month"],
];
const NOW = [
  ["bytes", "bytes"],
  ["meta", "metadata calls"],
  ["busy", "ranks in I/O"],
];
const ORDER = {
  bytes: (row) => row.read_rate + row.write_rate,
  meta: (row) => row.meta_rate,
  busy: (row) => row.busy,
};
const RANKINGS = [
  ["redundant", "Redundant reads", "Bytes that were read beyond the size of their files.", bytes],
  ["metadata", "Metadata", "Share of the I/O time in metadata calls; jobs above the limits of rule F02 first.", share],
  ["small", "Small writes to shared files", "Independent writes below 1 MiB to files of several ranks.", count],
];

function Moving({ query, set }) {
  const [rows, error] = useAnswer(api("moving", { limit: 200 }), useEvery(2));
  const by = ORDER[query.now] ? query.now : "bytes";
  const list = rows && [...rows].sort((a, b) => ORDER[by](b) - ORDER[by](a)).slice(0, 20);
  const sum = (key) => (rows || []).reduce((n, row) => n + row[key], 0);
  return (
    <section aria-label="now">
      <h2>
        Now: {plural(rows ? rows.length : 0, "job runs", "jobs run")}, {rate(sum("read_rate"))} read,{" "}
        {rate(sum("write_rate"))} written
      </h2>
      <Choice label="by what" options={NOW} chosen={by} onChoose={(key) => set({ now: key === "bytes" ? "" : key })} />
      <Trouble error={error} />
      <List
        label="jobs that run"
        empty="No job runs."
        rows={list}
        columns={[
          ["Program", (row) => <JobName job={row} />],
          ["Ranks", ranksOf, true],
          ["Reads", (row) => rate(row.read_rate), true],
          ["Writes", (row) => rate(row.write_rate), true],
          ["Metadata", (row) => `${count(row.meta_rate)}/s`, true],
          ["Ranks in I/O", (row) => row.busy.toFixed(1), true],
        ]}
      />
    </section>
  );
}

function Ranking({ metric, title, words, format, since }) {
  const [rows, error] = useAnswer(api("ranking", { metric, since, limit: 10 }));
  return (
    <section aria-label={title} class="third">
      <h3>{title}</h3>
      <p class="dim">{words}</p>
      <Trouble error={error} />
      <List
        label={title}
        empty="None."
        rows={rows}
        columns={[
          ["Program", (row) => <JobName job={row} />],
          ["Value", (row) => format(row.value), true],
          ["Level", (row) => <LevelOf level={row.level} />],
        ]}
      />
    </section>
  );
}

function Rules({ since }) {
  const [rows] = useAnswer(api("rules", { since, limit: 20 }));
  return (
    <section aria-label="findings">
      <h2>Findings by what they cost</h2>
      <List
        label="findings by what they cost"
        empty="No findings."
        rows={rows && rows.map((row) => ({ ...row, key: `${row.rule} ${row.level}` }))}
        columns={[
          [
            "Rule",
            (row) => (
              <>
                <a href={link({ finding: row.rule })}>{row.rule}</a> {row.title}
              </>
            ),
          ],
          ["Level", (row) => <LevelOf level={row.level} />],
          ["Lost", (row) => nodeHours(row.node_time), true],
          ["Jobs", (row) => count(row.jobs), true],
          ["Users", (row) => count(row.users), true],
        ]}
      />
    </section>
  );
}

function Sums({ what, title, from, address }) {
  const [rows] = useAnswer(api(what, { from, limit: 15 }));
  return (
    <section aria-label={title} class="half">
      <h2>{title}</h2>
      <List
        label={title}
        empty="None."
        rows={rows && rows.map((row) => ({ ...row, key: row.user ?? row.name }))}
        columns={[
          [
            title.slice(0, -1),
            (row) =>
              nameable(row.user ?? row.name) ? (
                <a href={address(row)}>{clip(row.user ?? row.name, 60)}</a>
              ) : (
                clip(row.user ?? row.name, 60)
              ),
          ],
          ["Jobs", (row) => count(row.jobs), true],
          ["Node-hours", (row) => (row.node_time / 3600).toFixed(1), true],
          ["Lost in I/O", (row) => duration(row.cost), true],
          ["Bytes", (row) => bytes(row.bytes_read + row.bytes_written), true],
          ["HIGH", (row) => count(row.high), true],
        ]}
      />
    </section>
  );
}

function Seen({ from, since }) {
  const [days] = useAnswer(api("days", { from }));
  const [week] = useAnswer(api("week", { since }));
  const [nodes] = useAnswer(api("nodes"), useEvery(10));
  const sum = (key) => (days || []).reduce((n, day) => n + day[key], 0);
  const silent = (nodes || []).filter((node) => !node.seen || Date.now() - Date.parse(node.seen) > 60000);
  const jobs = sum("jobs");
  const row = week && week[0];
  return (
    <section aria-label="what is seen">
      <h2>What is seen</h2>
      {days && (
        <p>
          {plural(jobs, "job")} with {nodeHours(sum("node_time"))};{" "}
          <b>{jobs ? share(1 - sum("broken") / jobs) : "–"}</b> of them complete, the others lack something or were
          lost. Jobs that never loaded the library are in no figure here: compare with the accounting of the batch
          system.
        </p>
      )}
      {row && (
        <p>
          {row.seen > 0 ? (
            <>
              Of {count(row.seen)} events <b>{count(row.lost)}</b> were lost ({share(row.lost / row.seen)}).
            </>
          ) : (
            "No events were taken."
          )}
        </p>
      )}
      {nodes && (
        <p>
          {plural(nodes.length, "node has", "nodes have")} an agent; <b>{count(silent.length)}</b> silent for more than
          a minute
          {silent.length > 0
            ? `: ${silent
                .slice(0, 10)
                .map((n) => `${clip(n.host, 60)} (since ${when(n.seen)})`)
                .join(", ")}${silent.length > 10 ? " and others" : ""}`
            : ""}
          .
        </p>
      )}
    </section>
  );
}

export function Staff({ who, query, set }) {
  const days = SPANS.some(([key]) => key === query.days) ? query.days : "7";
  const hour = Math.floor(Date.now() / 3600000) * 3600; // the same for an hour, so that answers can be kept
  const since = hour - Number(days) * DAY;
  const from = Math.floor(since / DAY);
  const [week] = useAnswer(api("week", { since }));
  const row = week && week[0];
  return (
    <>
      <header class="page-head">
        <h1>{who.role === "staff" ? "Overview of all jobs" : "Overview of the jobs that you see"}</h1>
        {row && (
          <p class="week">
            <b>{nodeHours(row.node_time_lost)}</b> of {nodeHours(row.node_time)} were lost in I/O that could be saved;{" "}
            {count(row.losing)} of {plural(row.ended, "job")} lost more than 10 % of their time.
          </p>
        )}
        <Choice
          label="how long"
          options={SPANS}
          chosen={days}
          onChoose={(key) => set({ days: key === "7" ? "" : key })}
        />
      </header>
      <Moving query={query} set={set} />
      <h2>Jobs that deserve help</h2>
      <div class="thirds">
        {RANKINGS.map(([metric, title, words, format]) => (
          <Ranking key={metric} {...{ metric, title, words, format, since }} />
        ))}
      </div>
      <Rules since={since} />
      <div class="halves">
        <Sums what="users" title="Users" from={from} address={(r) => link({ user: r.user })} />
        <Sums
          what="programs"
          title="Programs"
          from={from}
          address={(r) => link({ page: "program", program: r.name })}
        />
      </div>
      <Seen from={from} since={since} />
    </>
  );
}
