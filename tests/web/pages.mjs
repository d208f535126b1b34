// SPDX-License-Identifier: BSD-3-Clause
// pages.mjs IORAMA OUT: every page of `iorama serve` with jobs of known content: what it says is what the store has.
import assert from "node:assert/strict";
import { join } from "node:path";
import { readable, Site } from "./site.mjs";

const [program, out] = process.argv.slice(2);
const site = new Site(program, out);
const shots = process.env.IORAMA_SHOTS ? site.out : null;
const DAY = 86400;
const now = Math.floor(Date.now() / 1000);
const ns = (s) => `${Math.round(s * 1000)}000000`;

site.real();
// forty runs of a program, a day apart, of which the last ten take 60 s instead of 40; none at the edge of a week, however long this takes
const runs = Array.from({ length: 40 }, (_, i) => {
  const start = now - (40.5 - i) * DAY;
  const time = (i < 30 ? 40 : 60) + (i % 3);
  return `('solver/${i}', 'solver', 'ada', ${1000 + i}, ${ns(start)}, ${ns(start + time)}, ${time}, 16, 2, 'done', 'log', ${
    8 * 2 ** 30
  }, ${2 ** 30}, ${time / 4}, ${time / 8}, 'I/O took a quarter of the time.')`;
});
site.sql(`INSERT INTO jobs (key, name, username, jobid, start_ns, end_ns, run_time, nprocs, nodes, state, source, bytes_read, bytes_written,
  io_time, cost, verdict) VALUES ${runs.join()};
  INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost, bytes)
    SELECT number, 0, 'W01', 'HIGH', 'small writes', '', '', cost, 0 FROM jobs WHERE name = 'solver';
  INSERT INTO figure_names (name) SELECT 'meta_ratio' WHERE NOT EXISTS (SELECT 1 FROM figure_names WHERE name = 'meta_ratio');
  INSERT INTO figure_values (figure, job, value, ranked) SELECT f.number, j.number, 0.5, 0 FROM figure_names f, jobs j
    WHERE f.name = 'meta_ratio' AND j.name = 'solver';
  INSERT INTO days (day, username, name, broken, bytes_read, bytes_written, io_ms, run_ms, node_ms, cost_ms, high, warn, jobs)
    SELECT end_ns / 86400000000000, username, name, 0, sum(bytes_read), sum(bytes_written), sum(io_time) * 1000, sum(run_time) * 1000,
      sum(run_time) * 2000, sum(cost) * 1000, count(*), 0, count(*) FROM jobs WHERE name = 'solver' GROUP BY 1;`);
// samples of three nodes for twenty minutes (most to come, too: a slow machine must not make them silent), one of which waits for I/O; and one that has fallen silent
for (const [i, host] of ["node1", "node2", "node3", "silent"].entries())
  for (const metric of ["cpu.iowait", "nfs._scratch.read_bytes"]) {
    site.sql(`INSERT INTO sample_series (host, metric) VALUES ('${host}', '${metric}');
      WITH RECURSIVE t(s) AS (SELECT ${now - 300} UNION ALL SELECT s + 1 FROM t WHERE s < ${host === "silent" ? now - 200 : now + 900})
      INSERT INTO sample_values (series, t_ns, value) SELECT (SELECT max(number) FROM sample_series), s * 1000000000, ${i} FROM t;`);
  }
// a job on the same node at the same time as the real one
const real = Number(site.sql("SELECT number FROM jobs WHERE logged = 1").trim());
site.sql(`INSERT INTO jobs (key, name, username, jobid, start_ns, end_ns, run_time, nprocs, nodes, state, source, bytes_read, bytes_written)
  SELECT 'beside', 'neighbour', 'bob', 77, start_ns - 5000000000, end_ns + 5000000000, 12, 4, 1, 'done', 'log', 1000000, 0 FROM jobs WHERE number = ${real};
  INSERT INTO processes (segment, job, rank, host, start_ns, end_ns, seen_ns, state)
  SELECT CAST(key AS BLOB), number, 0, 'node3', start_ns, end_ns, end_ns, 'ended' FROM jobs WHERE number = ${real} OR key = 'beside';`);
// which was slow for five of a hundred seconds
const other = Number(site.sql("SELECT number FROM jobs WHERE key = 'beside'").trim());
site.sql(`WITH RECURSIVE t(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM t WHERE i < 99)
  INSERT INTO series (job, second, layer, kind, ops, bytes, ns, longest, ranks, slowest, slowest_ns)
  SELECT ${other}, ${now} + i, 'POSIX', 'read', 1, (CASE WHEN i BETWEEN 50 AND 54 THEN 1 ELSE 10 END) * 1048576, 1000000000, 0, 1, 0, 0 FROM t`);
await site.serve();

async function visit(query, ready) {
  const page = await site.open(`${site.base}${query}`);
  await page.waitForSelector(ready);
  return page;
}

try {
  let page = await site.open(`${site.base}#${site.fragment}`);
  await page.waitForSelector("tbody tr");

  // the week in one line: 5 of the last 7 days' runs... each loses an eighth of 60 s or so on two nodes
  const week = site.sql(
    `SELECT count(*), sum(CASE WHEN cost > 0.1 * run_time THEN 1 ELSE 0 END), printf('%.2f', sum(coalesce(cost, 0) * 2) / 3600)
     FROM jobs WHERE end_ns >= ${ns(now - 7 * DAY)}`,
  );
  const [ended, losing, lost] = week.trim().split("|");
  await page.waitForFunction((n) => document.querySelector(".week")?.textContent.includes(n), `${lost} node-hours`);
  const line = await page.textContent(".week");
  assert.ok(line.includes(`Of ${ended} that ended this week ${losing} lose`), line);
  await readable(page, "jobs", shots);

  // a filter by user is a chip, and goes away
  await page.click("tbody a.quiet >> text=bob");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  assert.ok(page.url().includes("user=bob"), page.url());
  await page.click("text=user bob ×");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 1);
  assert.deepEqual(page.troubles, []);
  await page.close();

  // a job that is done: its report, the neighbour on the same axis and in a table, earlier runs, a comparison
  page = await visit(`?page=job&job=${real}`, "#timeline");
  await page.waitForSelector("#beside tbody tr");
  assert.ok((await page.textContent("#beside tbody")).includes("neighbour"));
  assert.ok((await page.textContent("#glance")).includes("2.0 MiB"), "written in all");
  assert.ok((await page.textContent("#glance")).includes("writes by size"));
  assert.equal(await page.locator('[data-pane="others"] canvas').count(), 1, "others have a strip");
  assert.equal(await page.locator('[data-pane="sample-cpu.iowait"] canvas').count(), 1, "samples have a strip");
  assert.ok((await page.title()).includes("dd"), await page.title());
  await readable(page, "done", shots);
  assert.deepEqual(page.troubles, []);
  await page.close();

  // one without a log: that there is no report, and when it was slow
  page = await visit(`?page=job&job=${other}`, "#why");
  assert.ok((await page.textContent("h1")).includes("no log of this job"));
  assert.ok(
    /moved 1\.0 MiB\/s of I\/O time, usually 10\.0 MiB\/s/.test(await page.textContent("#why")),
    await page.textContent("#why"),
  );
  assert.deepEqual(page.troubles, []);
  await page.close();

  // a program: the change is where it was made, and not before
  page = await visit("?page=program&program=solver", ".changes li");
  assert.equal(await page.locator(".changes li").count(), 1);
  const change = await page.textContent(".changes li");
  const first = site.sql("SELECT number FROM jobs WHERE key = 'solver/30'").trim();
  assert.ok(/worse/.test(change) && /41\.0 s → 1 min 1 s/.test(change), change);
  assert.ok((await page.getAttribute(".changes a", "href")).includes(`job=${first}`), "the first slow run");
  await page.click("text=share of I/O");
  await page.waitForSelector("text=did not change");
  assert.ok(page.url().includes("figure=io_share"), page.url());
  await readable(page, "program", shots);
  assert.deepEqual(page.troubles, []);
  await page.close();

  // all of it
  page = await visit("?page=staff", "section[aria-label=findings] tbody tr");
  await page.waitForSelector("section[aria-label='what is seen'] >> text=silent");
  const rules = await page.textContent("section[aria-label=findings] tbody");
  const cost = site.sql(
    `SELECT printf('%.2f', sum(f.cost * 2) / 3600) FROM findings f JOIN jobs j ON j.number = f.job WHERE f.rule = 'W01' AND j.nodes = 2 AND
     j.start_ns >= ${ns(Math.floor(now / 3600) * 3600 - 7 * DAY)}`,
  );
  assert.ok(rules.includes("W01") && rules.includes(`${cost.trim()} node-hours`), `${rules}: not ${cost}`);
  await page.waitForSelector("section[aria-label=Metadata] tbody tr");
  assert.ok((await page.textContent("section[aria-label=Metadata] tbody")).includes("50 %"));
  assert.ok((await page.textContent("section[aria-label='what is seen']")).includes("4 nodes have an agent; 1 silent"));
  await page.waitForSelector("section[aria-label=Programs] >> text=solver");
  await readable(page, "staff", shots);
  assert.deepEqual(page.troubles, []);
  await page.close();

  // nodes: the metric is in the address, a row for each
  page = await visit("?page=nodes", '[data-pane="nodes"] canvas');
  await page.selectOption("select[name=metric]", "nfs._scratch.read_bytes");
  await page.waitForSelector("text=nfs._scratch.read_bytes of each node");
  assert.ok(page.url().includes("metric=nfs._scratch.read_bytes"), page.url());
  await page.focus(".stack");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => /node3/.test(document.querySelector(".stack [role=status]")?.textContent));
  assert.ok((await page.textContent(".stack [role=status]")).includes("2 B/s"), "the value of the third");
  await readable(page, "nodes", shots);
  assert.deepEqual(page.troubles, []);
  await page.close();

  page = await visit("?page=settings", "text=How figures are made");
  // of what one is told: what is unticked is kept by the server
  await page.waitForSelector(".notices input");
  const box = page.locator(".notices label", { hasText: "metadata" }).locator("input");
  assert.ok(await box.isChecked());
  const unwanted = () =>
    page.evaluate(async () => {
      const rows = await (await fetch("api/1/notices")).json();
      return rows.filter((row) => !row.wanted).map((row) => row.alert);
    });
  const answered = () =>
    page.waitForResponse((r) => r.url().includes("api/1/notices") && r.request().method() !== "GET");
  await Promise.all([answered(), box.uncheck()]);
  assert.deepEqual(await unwanted(), ["metadata"]);
  await Promise.all([answered(), box.check()]);
  assert.deepEqual(await unwanted(), []);
  await readable(page, "settings", shots);
  // by keyboard: the first stop leads past the bar, then to the pages
  await page.reload();
  await page.waitForSelector("nav");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "to the page");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("table.jobs");
  assert.deepEqual(page.troubles, []);
  // what is not there, or not for this viewer, is said
  await page.goto(`${site.base}?page=job&job=987654`);
  await page.waitForSelector("text=There is no such job");
} catch (error) {
  await site.explain();
  throw error;
} finally {
  await site.end();
}
console.log("ok");
