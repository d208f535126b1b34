// SPDX-License-Identifier: BSD-3-Clause
// parts.jsx: small things that several pages show.
import { Level } from "../views/head.jsx";
import { bytes, count, duration, plural, share } from "../data/format.js";
import { link } from "./address.js";

export function when(text) {
  if (!text) return "";
  const at = new Date(text);
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

export const nodeHours = (s) => {
  const hours = (s || 0) / 3600;
  return `${hours >= 100 ? count(hours) : hours >= 1 ? hours.toFixed(1) : hours > 0 && hours < 0.01 ? "< 0.01" : hours.toFixed(2)} node-hours`;
};

export function Share({ value }) {
  if (value === null || value === undefined) return null;
  return (
    <span class="share">
      <span class="share-bar" aria-hidden="true">
        <span style={{ width: `${(Math.min(value, 1) * 100).toFixed(1)}%` }} />
      </span>
      {share(value)}
    </span>
  );
}

// A text of a job, however long it is.
export function clip(text, most = 160) {
  return text && text.length > most ? `${text.slice(0, most)}…` : text;
}

// Names that no address can have lead nowhere.
export const nameable = (name) => Boolean(name) && name.length <= 500 && !/[\x00-\x1f\x7f]/.test(name);

export const programLink = (job) =>
  link({ page: "program", ...(nameable(job.name) ? { program: job.name } : { job: job.job }) });

export function User({ name }) {
  return nameable(name) ? (
    <a class="quiet" href={link({ user: name })}>
      {clip(name, 60)}
    </a>
  ) : (
    clip(name, 60)
  );
}

export const jobLink = (job) => link({ page: "job", job: job.job });

export function JobName({ job }) {
  return (
    <>
      <a href={jobLink(job)}>{clip(job.name || job.key) || `job ${job.job}`}</a>
      <div class="dim">
        {job.jobid ? `job ${job.jobid}` : `number ${job.job}`}
        {job.user && (
          <>
            {" · "}
            <User name={job.user} />
          </>
        )}
        {job.name && (
          <>
            {" · "}
            <a class="quiet" href={programLink(job)} aria-label={`all runs of ${clip(job.name)}`}>
              runs
            </a>
          </>
        )}
      </div>
    </>
  );
}

export function Finding({ job }) {
  if (!job.finding) return null;
  return (
    <>
      <b class="rule">{job.finding}</b> {job.cost !== null && <span>costs {duration(job.cost)}</span>}
      {job.findings > 1 && <span class="dim"> and {job.findings - 1} more</span>}
    </>
  );
}

// Bytes over the time of a job: read above the line, written below it.
export function Spark({ points, width = 120, height = 34 }) {
  if (!points || points.length === 0) return null;
  const first = points[0].second;
  const steps = Math.max(1, Math.round((points[points.length - 1].second - first) / points[0].step) + 1);
  const most = Math.max(...points.map((p) => Math.max(p.bytes_read, p.bytes_written)), 1);
  const middle = height / 2;
  const wide = width / steps;
  const sum = (key) => points.reduce((n, p) => n + p[key], 0);
  return (
    <svg
      class="spark"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`over ${duration(steps * points[0].step)}: read ${bytes(sum("bytes_read"))}, written ${bytes(sum("bytes_written"))}, at most ${bytes(most / points[0].step)} a second`}
    >
      <line x1="0" x2={width} y1={middle} y2={middle} class="spark-line" />
      {points.map((p) => {
        const x = ((p.second - first) / p.step) * wide;
        const high = (v) => (v > 0 ? Math.max(1, (v / most) * (middle - 1)) : 0);
        return (
          <g key={p.second}>
            <rect
              class="read"
              x={x}
              y={middle - high(p.bytes_read)}
              width={Math.max(wide, 0.8)}
              height={high(p.bytes_read)}
            />
            <rect class="write" x={x} y={middle} width={Math.max(wide, 0.8)} height={high(p.bytes_written)} />
          </g>
        );
      })}
    </svg>
  );
}

export function Trouble({ error }) {
  return (
    <p role="alert" class={error ? "trouble" : ""}>
      {error ? error.message : ""}
    </p>
  );
}

// A plain table of rows: columns are [title, cell(row), numeric]
export function List({ label, columns, rows, empty }) {
  if (!rows) return null;
  if (rows.length === 0) return <p class="dim">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(([title, , numeric]) => (
              <th key={title} scope="col" class={numeric ? "number" : ""}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={row.key ?? row.job ?? i}>
              {columns.map(([title, cell, numeric]) => (
                <td key={title} class={numeric ? "number" : ""}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export const ranksOf = (job) => `${count(job.ranks)}${job.nodes > 0 ? ` × ${plural(job.nodes, "node")}` : ""}`;

export function LevelOf({ level }) {
  return level ? <Level level={level} /> : null;
}
