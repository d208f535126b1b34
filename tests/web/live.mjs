// SPDX-License-Identifier: BSD-3-Clause
// live.mjs IORAMA OUT: a job in the page of `iorama serve` while it runs: it appears, moves, tells what it waits in, and becomes a report
// without being asked for.
import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readable, Site, until } from "./site.mjs";

const [program, out] = process.argv.slice(2);
const site = new Site(program, out);
const shots = process.env.IORAMA_SHOTS ? site.out : null;
const MIB = 1 << 20;
// bytes of "1.5 MiB"
const UNITS = ["B", "KiB", "MiB", "GiB"];
const sizeOf = (text) => {
  const [, number, unit] = text.match(/([\d.]+) (B|KiB|MiB|GiB)/);
  return Number(number) * 1024 ** UNITS.indexOf(unit);
};

site.real();
await site.serve([]); // eight tabs of one viewer ask no more than a viewer may
try {
  let page = await site.open(`${site.base}#${site.fragment}`);
  await page.waitForSelector("tbody tr");

  // writes 256 KiB each half second until it may end, while another process of it waits for somebody to write to a pipe
  site.run("mkfifo", "pipe");
  const four = Array(4).fill("printf %65536d 0 >&3").join("; ");
  const script = `cat pipe > /dev/null & exec 3>part; for i in $(seq 4000); do ${four}; [ -e stop ] && break; sleep 0.5; done; wait`;
  const log = join(site.out, "live.darshan");
  const job = site.start(site.iorama, "run", "-q", "--live", "-o", log, "--", "sh", "-c", script);
  const ended = new Promise((done) => job.once("exit", done));
  // it appears by itself, first of all, and moves
  await page.waitForSelector("tr.state-running");
  const written = () => page.textContent("tr.state-running .write-text");
  assert.ok(
    await page.evaluate(() => document.querySelector("tbody tr").className.includes("running")),
    "running ones are first",
  );
  await until(async () => sizeOf(await written()) >= MIB, "a megabyte in the list");
  const first = await written();
  await page.waitForFunction(
    (was) => document.querySelector("tr.state-running .write-text")?.textContent !== was,
    first,
  );
  await page.waitForSelector("tr.state-running .spark rect.write");
  if (shots) await page.screenshot({ path: join(shots, "list.png") });

  // its own page: rates, the growing picture, what it waits in
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url())));
  await page.click("tr.state-running a");
  await page.waitForSelector("dl[aria-label=now]");
  const number = new URL(page.url()).searchParams.get("job");
  const pane = '[data-pane="strip-POSIX + STDIO"] canvas';
  await page.waitForSelector(pane);
  await page.waitForSelector("section[aria-label='calls at work'] tbody tr");
  const waits = await page.textContent("section[aria-label='calls at work'] tbody");
  assert.ok(/open/.test(waits), `it waits for a writer: ${waits}`);
  await page.waitForFunction(() =>
    /part/.test(document.querySelector("[aria-label='files that move'] tbody")?.textContent),
  );
  // what is shown is in the address
  await page.click("button:text-is('60 s')");
  await page.waitForFunction(() => new URL(location.href).searchParams.get("span") === "60");
  await readable(page, "live", shots);
  // what is asked for stays the same for a while, though time goes on each second
  for (const what of ["ranks", "samples"]) {
    const times = asked.filter((url) => url.pathname.endsWith(what)).map((url) => Number(url.searchParams.get("to")));
    assert.ok(times.length > 0 && times.every((to) => to % 10 === 0), `${what} until ${times}`);
  }
  // what the chart says of all is what the store has, give or take what came meanwhile
  const told = async () => sizeOf((await page.textContent("dl[aria-label=now]")).match(/writes.*?(\S+ \S+) so far/)[1]);
  const shown = await told();
  // and what iorama watch sees of the processes themselves: no more than that, and soon as much
  const watched = () => {
    const look = site.run(site.iorama, "watch", "--once", "--json", "--interval", "0.1");
    return JSON.parse(look).jobs.find((one) => one.state === "running").total.bytes_written;
  };
  const before = watched();
  await until(async () => (await told()) >= before * 0.95, `what watch told: ${before} bytes`);
  const later = await told();
  const really = watched();
  assert.ok(later <= really * 1.05, `${later} shown, ${really} written`);
  const stored = Number(site.sql(`SELECT bytes_written FROM jobs WHERE number = ${number}`).trim());
  assert.ok(stored >= shown * 0.95, `${shown} shown, ${stored} stored`);

  // its own events, for a minute
  await page.click("text=Events on for 60 s");
  await page.waitForSelector("button:has-text('Events off')");

  // eight tabs, more than a browser has connections: all of them move, by one stream
  const others = [];
  for (let i = 0; i < 7; i++) {
    const other = await site.open(i % 2 ? site.base : page.url());
    await other.waitForSelector(i % 2 ? "tr.state-running .write-text" : "dl[aria-label=now]");
    others.push(other);
  }
  const moving = (tab) =>
    tab.evaluate(
      () => (document.querySelector("tr.state-running") || document.querySelector("dl[aria-label=now]")).textContent,
    );
  for (const tab of [page, ...others]) {
    const was = await moving(tab);
    await tab.waitForFunction(
      (old) =>
        (document.querySelector("tr.state-running") || document.querySelector("dl[aria-label=now]")).textContent !==
        old,
      was,
    );
  }
  const token = readFileSync(join(site.out, "token"), "utf8").trim();
  // one that was closed is known to the server when it writes to it next
  await until(async () => {
    const answer = await fetch(`${site.base}metrics`, { headers: { Authorization: `Bearer ${token}` } });
    return /^iorama_viewers 1$/m.test(await answer.text());
  }, "one stream for all tabs");
  // the tab that has it goes; another one takes it
  site.page = others[0];
  const whole = page;
  page = others.shift();
  assert.deepEqual(whole.troubles, []);
  await whole.close();
  for (const tab of [page, ...others]) {
    const was = await moving(tab);
    await tab.waitForFunction(
      (old) =>
        (document.querySelector("tr.state-running") || document.querySelector("dl[aria-label=now]")).textContent !==
        old,
      was,
    );
    assert.deepEqual(tab.troubles, []);
  }
  for (const tab of others) await tab.close();

  // at its end it becomes its report, without a reload
  writeFileSync(join(site.out, "data", "stop"), "");
  if (existsSync(join(site.out, "data", "pipe"))) closeSync(openSync(join(site.out, "data", "pipe"), "w"));
  await ended;
  await page.waitForSelector("#findings, [aria-label=findings]");
  await page.waitForSelector("#timeline");
  assert.ok((await page.textContent("h1")).includes("I/O took"), await page.textContent("h1"));
  assert.deepEqual(page.troubles, []);
} catch (error) {
  await site.explain();
  throw error;
} finally {
  await site.end();
}
console.log("ok");
