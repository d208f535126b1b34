// SPDX-License-Identifier: BSD-3-Clause
// portal.mjs IORAMA OUT: the page of `iorama serve` in a browser: entering by token, the list, live, texts that would do harm.
import assert from "node:assert/strict";
import { readable, Site } from "./site.mjs";

const [program, out] = process.argv.slice(2);
const site = new Site(program, out);
const EVIL = `<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`;

site.real();
site.sql(`INSERT INTO jobs (key, name, username, state, start_ns, verdict, command) VALUES
  ('1/evil', '${EVIL}', '${EVIL}', 'running', 1700000000000000000, '${EVIL}', '${EVIL}')`);
site.sql(`UPDATE jobs SET seen_ns = 9000000000000000000 WHERE key = '1/evil'`);
await site.serve();
const { base, fragment } = site;

try {
  // without a token: a form; a wrong one is told, the right one opens
  let page = await site.open(base);
  await page.fill("input[name=token]", "wrong");
  await page.click("button");
  await page.waitForFunction(() => document.querySelector("[role=alert]")?.textContent.includes("not the token"));
  page.troubles = page.troubles.filter((t) => !t.includes("401")); // browsers tell of every refusal
  await page.fill("input[name=token]", fragment.slice("token=".length));
  await page.click("button");
  await page.waitForSelector("tbody tr");
  assert.deepEqual(page.troubles, []);
  await page.click("text=Log out");
  await page.waitForSelector("input[name=token]");
  await page.close();

  // by the address that is printed: the token leaves it at once
  page = await site.open(`${base}#${fragment}`);
  await page.waitForSelector("tbody tr");
  assert.ok(!page.url().includes("token"), page.url());
  assert.equal(await page.locator("tbody tr").count(), 2);
  assert.ok((await page.locator("tbody").textContent()).includes(EVIL), "a text is shown as it is");
  assert.equal(await page.evaluate(() => window.hurt), undefined, "and does nothing");
  assert.equal(await page.locator("tbody img, tbody script").count(), 0);

  // what changes in the store comes by itself
  await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent === "live");
  site.sql("UPDATE jobs SET verdict = 'told while it runs' WHERE key = '1/evil'");
  await page.waitForSelector("text=told while it runs");

  // a stream that is refused, as by a proxy while the server starts again, is asked for once more
  let refused = 0;
  await site.context.route("**/api/1/stream*", (route) => {
    refused += 1;
    return refused > 1 ? route.continue() : route.fulfill({ status: 502, body: "" });
  });
  await page.reload();
  await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent === "live");
  assert.ok(refused >= 2, "the stream is asked for again");
  await site.context.unroute("**/api/1/stream*");
  page.troubles = page.troubles.filter((t) => !t.includes("502"));

  // what is refused because the server is busy, or begins anew, is asked for once more, too
  const busy = { session: 0, jobs: 0 };
  await site.context.route(/api\/1\/(session|jobs)(\?|$)/, (route) => {
    const what = /session/.test(route.request().url()) ? "session" : "jobs";
    busy[what] += 1;
    return busy[what] > 1 ? route.continue() : route.fulfill({ status: 503, body: "{}" });
  });
  await page.goto(`${base}?sort=cost`);
  await page.waitForSelector("tbody tr");
  assert.ok(busy.session > 1 && busy.jobs > 1, JSON.stringify(busy));
  await site.context.unroute(/api\/1\/(session|jobs)(\?|$)/);
  await page.goto(base);
  await page.waitForSelector("tbody tr");

  // filters are in the address, and back goes back
  await page.selectOption("select[name=state]", "done");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  assert.ok(page.url().includes("state=done"), page.url());
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);

  await readable(page, "portal", process.env.IORAMA_SHOTS && site.out);
  await page.setViewportSize({ width: 1280, height: 900 });
  const wide = await page.evaluate(() => document.querySelector("table").getBoundingClientRect().right);
  assert.ok(wide <= 1280, `what a job's verdict is has to be seen: the table ends at ${wide}`);
  await page.setViewportSize({ width: 400, height: 900 });
  const narrow = await page.evaluate(() =>
    Math.max(...[...document.querySelectorAll(".says")].map((e) => e.getBoundingClientRect().right)),
  );
  assert.ok(narrow > 0 && narrow <= 400, `nor is it at the side of a phone: it ends at ${narrow}`);
  await page.setViewportSize({ width: 1280, height: 900 });

  // a job has a page of its own, and its report is one file, too
  await page.click("tbody tr:last-child a");
  await page.waitForSelector("#timeline");
  await page.click("text=the report as one page");
  await page.waitForSelector("html[data-ready]");
  assert.ok((await page.title()).includes("I/O report"), await page.title());
  assert.deepEqual(page.troubles, []);
} catch (error) {
  await site.explain();
  throw error;
} finally {
  await site.end();
}
console.log("ok");
