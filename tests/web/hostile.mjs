// SPDX-License-Identifier: BSD-3-Clause
// hostile.mjs IORAMA OUT: jobs whose every text is a payload, on every page: no script, dialog, foreign request or report of the
// policy comes of it; a text is shown as text, also in what pages save.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Site } from "./site.mjs";

const [program, out] = process.argv.slice(2);
const site = new Site(program, out);
const now = Math.floor(Date.now() / 1000);

// HTML, attributes, SVG, addresses, formulas, headers, right to left, terminals, and very long
const PAYLOADS = [
  `<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`,
  `"><svg onload=window.hurt=1><use href="//evil.example/x#a">`,
  `javascript:window.hurt=1`,
  `=cmd|' /C calc'!A0`,
  `a\r\nSet-Cookie: hurt=1\r\n\r\n<b>`,
  `\u202egnp.exe \u2066\u0007`,
  `\u001b[2J\u001b]0;hurt\u0007`,
  `../../../etc/passwd%00?page=staff&#<a href=//evil.example>x</a>`,
  `{{constructor.constructor('window.hurt=1')()}}\${window.hurt=1}`,
  "x".repeat(65536),
];
const quote = (text) => `'${text.replace(/'/g, "''")}'`;

site.real();
site.sql(
  PAYLOADS.map((text, i) => {
    const q = quote(text);
    const start = now - 3600 * (i + 1);
    const state = i % 5 === 4 ? "running" : "done";
    return `INSERT INTO jobs (key, name, username, jobid, state, source, start_ns, end_ns, run_time, nprocs, nodes, bytes_read, io_time, cost,
        verdict, command, tag, seen_ns) VALUES (${q} || ${i}, ${q}, ${q}, ${i}, '${state}', 'log', ${start}000000000,
        ${state === "running" ? "NULL" : `${start + 9}000000000`}, 9, 4, 2, 1000, 5, 4, ${q}, ${q}, ${q}, 9000000000000000000);
      INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost, bytes)
        SELECT max(number), 0, 'W01', 'HIGH', ${q}, ${q}, ${q}, 4, 0 FROM jobs;
      INSERT INTO processes (segment, job, rank, host, exe, command, username, start_ns, seen_ns, state)
        SELECT CAST(${i} || ${q} AS BLOB), max(number), 0, ${q}, ${q}, ${q}, ${q}, ${start}000000000, 9000000000000000000, 'running' FROM jobs;
      INSERT INTO sample_series (host, metric) VALUES (${q}, 'cpu.iowait'), (${q}, ${q});
      INSERT INTO sample_values (series, t_ns, value) SELECT number, ${now}000000000, 1 FROM sample_series WHERE host = ${q};
      INSERT INTO days (day, username, name, broken, bytes_read, bytes_written, io_ms, run_ms, node_ms, cost_ms, high, warn, jobs)
        VALUES (${Math.floor(now / 86400)}, substr(${q}, 1, 128), substr(${q}, 1, 128), 0, 1, 1, 1, 1, ${i}, 1, 1, 0, 1);`;
  }).join("\n"),
);
// the texts of the report of a real job
const real = Number(site.sql("SELECT number FROM jobs WHERE logged = 1").trim());
site.sql(
  `UPDATE jobs SET name = ${quote(PAYLOADS[0])}, verdict = ${quote(PAYLOADS[1])}, command = ${quote(PAYLOADS[3])} WHERE number = ${real}`,
);
const jobs = site.sql("SELECT number FROM jobs").trim().split("\n").map(Number);
await site.serve();

// sqlite3 ends a text at NUL and has none here; what is shown is what the store has
async function harmless(page, where) {
  assert.equal(await page.evaluate(() => window.hurt), undefined, `${where}: a script ran`);
  const strange = await page.evaluate(() =>
    [
      ...document.querySelectorAll(
        "img, use, iframe, object, embed, script:not([src^='portal.js']), [onload], [onerror], base, a[href^='javascript']",
      ),
    ].map((e) => e.outerHTML.slice(0, 100)),
  );
  assert.deepEqual(strange, [], `${where}: what came of a text`);
  const away = await page.evaluate(() =>
    [...document.querySelectorAll("a[href]")].map((a) => a.href).filter((h) => new URL(h).origin !== location.origin),
  );
  assert.deepEqual(away, [], `${where}: links to elsewhere`);
  assert.equal((await site.context.cookies()).filter((c) => c.name === "hurt").length, 0, `${where}: a cookie`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${where}: the page is ${wide} wider than the screen`);
  assert.deepEqual(page.troubles, [], where);
}

try {
  const page = await site.open(`${site.base}#${site.fragment}`);
  // a sort that there is not is refused, as often as the page asks
  page.expected = (m) => /status of 400/.test(m.text()) && new URL(m.location().url).searchParams.has("sort");
  await page.waitForSelector("tbody tr");
  for (const text of PAYLOADS.slice(0, 4)) assert.ok((await page.textContent("tbody")).includes(text), text);
  await harmless(page, "jobs");
  // words of the address itself
  for (const text of PAYLOADS.slice(0, 9)) {
    const word = encodeURIComponent(text);
    if (/[\x00-\x1f]/.test(text)) {
      // control characters are in no address
      const refused = await site.context.request.get(`${site.base}?word=${word}`);
      assert.equal(refused.status(), 400, text);
      continue;
    }
    await page.goto(`${site.base}?word=${word}&user=${word}&name=${word}&sort=${word}&page=${word}`);
    await page.waitForSelector(".filters");
    await harmless(page, `jobs?word=${text}`);
    await page.goto(`${site.base}?page=program&program=${word}`);
    await page.waitForSelector("#table-runs-of-program tbody tr");
    assert.ok((await page.textContent("h1")).length > 0);
    await harmless(page, `program ${text}`);
  }
  for (const job of jobs) {
    await page.goto(`${site.base}?page=job&job=${job}`);
    await page.waitForSelector("h1");
    if (job === real) await page.waitForSelector("#timeline");
    await harmless(page, `job ${job}`);
  }
  await page.goto(`${site.base}?page=staff`);
  await page.waitForSelector("section[aria-label=Users] tbody tr");
  await page.waitForSelector("section[aria-label='what is seen'] >> text=silent");
  await harmless(page, "staff");
  await page.goto(`${site.base}?page=nodes`);
  await page.waitForSelector("[data-pane=nodes] canvas");
  await harmless(page, "nodes");
  await page.goto(`${site.base}?page=settings`);
  await page.waitForSelector("h1");
  await harmless(page, "settings");

  // what a page saves is no program of a table
  await page.goto(`${site.base}?page=program&program=${encodeURIComponent(PAYLOADS[3])}`);
  await page.waitForSelector("#table-runs-of-program tbody tr");
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.click("[aria-label='runs-of-program: save as CSV']"),
  ]);
  const text = readFileSync(await saved.path(), "utf8");
  assert.ok(text.includes("'=cmd"), text);
  assert.ok(!/(^|[,"\n])[=@]/.test(text), text);
} catch (error) {
  await site.explain();
  throw error;
} finally {
  await site.end();
}
console.log("ok");
