// SPDX-License-Identifier: BSD-3-Clause
// program.jsx: all runs of a program over time, and where it became slower or faster.
import { Canvas } from "../components/canvas.jsx";
import { Choice, Figure } from "../components/figure.jsx";
import { useScheme, useWidth } from "../components/hooks.js";
import { duration, rate, share } from "../data/format.js";
import { go, link } from "./address.js";
import { api, useAnswer } from "./api.js";
import { clip, ranksOf, Share, Trouble, when } from "./parts.jsx";
import { DataTable } from "../components/table.jsx";

// key of a run: [what it is called, how it is told, 1: more is worse]
export const FIGURES = {
  run_time: ["run time", duration, 1],
  rate: ["rate", rate, -1],
  io_share: ["share of I/O", share, 1],
};

const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const n = sorted.length;
  return n ? (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 : null;
};

// Levels between changes: [{ from, to (places in runs), value, p, worse }]
export function levels(runs, figure) {
  const like = runs.map((run, i) => ({ run, i })).filter(({ run }) => run.like && run[figure] !== null);
  const parts = [];
  for (const { run, i } of like) {
    if (parts.length === 0 || run[`${figure}_change`] !== null)
      parts.push({ from: i, to: i, values: [], p: run[`${figure}_change`], start: run.start });
    const last = parts[parts.length - 1];
    last.to = i;
    last.values.push(run[figure]);
  }
  const [, , sign] = FIGURES[figure];
  return parts.map((part, k) => {
    const value = median(part.values);
    const before = k ? median(parts[k - 1].values) : null;
    return { ...part, value, before, worse: before === null ? null : (value - before) * sign > 0 };
  });
}

function message(runs, figure, all) {
  const [words, format] = FIGURES[figure];
  const last = all[all.length - 1];
  if (!last) return `No run tells its ${words}`;
  if (all.length === 1)
    return `${words[0].toUpperCase()}${words.slice(1)} did not change: ${format(last.value)} in the middle`;
  return `${last.worse ? "Worse" : "Better"} since ${when(last.start)}: ${words} ${format(last.before)} → ${format(last.value)}`;
}

function draw(pen, width, height, runs, figure, all) {
  const box = { x: 66, y: 8, w: width - 80, h: height - 34 };
  const most = Math.max(...runs.map((run) => run[figure] ?? 0), 0) * 1.08 || 1;
  const [, format] = FIGURES[figure];
  const x = (i) => box.x + ((i + 0.5) / runs.length) * box.w;
  const y = (v) => box.y + box.h - (v / most) * box.h;
  for (const share_ of [0, 0.5, 1]) {
    const level = box.y + box.h - share_ * box.h;
    pen.line(
      [
        [box.x, level],
        [box.x + box.w, level],
      ],
      pen.colours.grid,
    );
    pen.text(box.x - 5, Math.max(18, level + 4), format(share_ * most).replace(/ (min|h) .*/, " $1"), pen.colours.dim, {
      align: "right",
      size: 11,
    });
  }
  runs.forEach((run, i) => {
    if (run[figure] === null) return;
    const colour = run.like ? pen.colours.read : pen.colours.wait;
    pen.rect(x(i) - 2.5, y(run[figure]) - 2.5, 5, 5, colour, run.like ? 1 : 0.5);
  });
  all.forEach((part, k) => {
    const [from, to] = [x(part.from) - 4, x(part.to) + 4];
    pen.line(
      [
        [from, y(part.value)],
        [to, y(part.value)],
      ],
      pen.colours.text,
      1.5,
    );
    if (k === 0) return;
    const colour = part.worse ? pen.colours.HIGH : pen.colours.OK;
    const at = (x(part.from) + x(part.from - 1)) / 2;
    pen.line(
      [
        [at, box.y],
        [at, box.y + box.h],
      ],
      colour,
      2,
      [5, 3],
    );
    pen.text(at + 4, box.y + 11, part.worse ? "worse" : "better", colour, { size: 12, bold: true });
  });
  pen.text(box.x, height - 8, when(runs[0].start), pen.colours.dim, { size: 11 });
  pen.text(box.x + box.w, height - 8, when(runs[runs.length - 1].start), pen.colours.dim, { size: 11, align: "right" });
}

function Chart({ runs, figure, all }) {
  const [ref, width] = useWidth();
  const { dark } = useScheme();
  const height = 230;
  const click = (event) => {
    const box = ref.current.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left - 66) / (width - 80)) * runs.length);
    if (runs[i]) go({ page: "job", job: runs[i].job });
  };
  return (
    <div ref={ref} class="chart" onClick={click}>
      <Canvas
        width={width}
        height={height}
        inputs={[runs, figure, dark]}
        label={`${FIGURES[figure][0]} of ${runs.length} runs; the table below has the same`}
        draw={(pen) => draw(pen, width, height, runs, figure, all)}
      />
    </div>
  );
}

const COLUMNS = [
  {
    key: "start",
    title: "start",
    get: (r) => r.start,
    show: (r) => <a href={link({ page: "job", job: r.job })}>{when(r.start)}</a>,
  },
  { key: "user", title: "user", show: (r) => clip(r.user, 60) },
  { key: "state", title: "state" },
  { key: "ranks", title: "ranks", get: (r) => r.ranks, show: ranksOf, numeric: true },
  { key: "run_time", title: "run time", numeric: true, show: (r) => (r.run_time === null ? "" : duration(r.run_time)) },
  { key: "rate", title: "rate", numeric: true, show: (r) => (r.rate === null ? "" : rate(r.rate)) },
  { key: "io_share", title: "share of I/O", numeric: true, show: (r) => <Share value={r.io_share} /> },
  { key: "cost", title: "cost", unit: "s" },
  { key: "like", title: "compared", get: (r) => r.like, show: (r) => (r.like ? "yes" : "no") },
];

export function Program({ query, set }) {
  const [runs, error] = useAnswer(
    query.program ? api("runs", { program: query.program }) : api(`jobs/${Number(query.job) || 0}/runs`),
  );
  const figure = FIGURES[query.figure] ? query.figure : "run_time";
  const all = runs ? levels(runs, figure) : [];
  const like = runs ? runs.filter((run) => run.like) : [];
  return (
    <>
      <header class="page-head">
        <h1>{clip(query.program) || `The program of job ${query.job}`}</h1>
        {runs && runs.length > 0 && (
          <p class="dim">
            {runs.length} runs, {like.length} of them alike ({like.length ? ranksOf(like[like.length - 1]) : "none"})
            and compared · <a href={link({ name: query.program })}>as a list of jobs</a>
          </p>
        )}
      </header>
      <Trouble error={error} />
      {runs && runs.length === 0 && <p>There is no run of it among the jobs that you see.</p>}
      {runs && runs.length > 0 && (
        <>
          <Figure
            name="runs"
            level={2}
            title={message(runs, figure, all)}
            controls={
              <Choice
                label="which figure"
                options={Object.entries(FIGURES).map(([key, [words]]) => [key, words])}
                chosen={figure}
                onChoose={(key) => set({ figure: key === "run_time" ? "" : key })}
              />
            }
            caption="Each point is a run, in order of time; grey ones ended badly or had other ranks and are not compared. Lines are medians between changes. A change is marked where chance alone would put one in at most 1 of 100 programs that stay as they are, and where medians differ by 5 % or more; what caused it is not said."
          >
            <Chart runs={runs} figure={figure} all={all} />
          </Figure>
          {all.length > 1 && (
            <ul class="changes">
              {all.slice(1).map((part) => (
                <li key={part.from}>
                  <b class={part.worse ? "worse" : "better"}>{part.worse ? "worse" : "better"}</b> from{" "}
                  <a href={link({ page: "job", job: runs[part.from].job })}>{when(part.start)}</a> on:{" "}
                  {FIGURES[figure][1](part.before)} → {FIGURES[figure][1](part.value)} (by chance:{" "}
                  {part.p < 0.0001 ? "less than 1 in 10,000" : `${(part.p * 100).toFixed(2)} %`}) ·{" "}
                  <a href={link({ page: "job", job: runs[part.from].job, with: runs[Math.max(0, part.from - 1)].job })}>
                    what changed
                  </a>
                </li>
              ))}
            </ul>
          )}
          <h2>Runs</h2>
          <DataTable name="runs-of-program" label="runs" columns={COLUMNS} rows={runs} sortBy="start" />
        </>
      )}
    </>
  );
}
