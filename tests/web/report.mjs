// SPDX-License-Identifier: BSD-3-Clause
// report.mjs TEMPLATE OUT: the page of web/dist with documents of known content, in a browser. What is shown is compared
// with the document itself; with IORAMA_SHOTS=1 screenshots at 1280 and 400 pixels, light and dark, are left in OUT.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { browser, PATIENCE } from "./browser.mjs";
import { big, documents, huge, needle, nothing, pageOf, short } from "./documents.mjs";
import { doubleIds, focusShown, nameless, pixel, sideways, weakContrast } from "./measure.mjs";

const [templateFile, out] = process.argv.slice(2);
const template = readFileSync(templateFile, "utf8");
mkdirSync(out, { recursive: true });
const chromium = await browser();
let failures = 0;

// IORAMA_CHECK=words: only those whose name has the words
async function check(name, body) {
  if (!name.includes(process.env.IORAMA_CHECK || "")) return;
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    failures++;
    console.log(`not ok ${name}\n${error.stack}`);
  }
}

// Opens a document; `troubles` collects whatever the browser complains about or asks the network for.
async function open(name, report, { width = 1280, colorScheme = "light", ...more } = {}) {
  const file = resolve(join(out, `${name}.html`));
  writeFileSync(file, pageOf(template, report));
  const context = await chromium.newContext({
    viewport: { width, height: 900 },
    colorScheme,
    acceptDownloads: true,
    ...more,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const troubles = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && troubles.push(m.text()));
  page.on("pageerror", (e) => troubles.push(e.message));
  page.on(
    "request",
    (r) => r.url() !== `file://${file}` && !r.url().startsWith("blob:") && troubles.push(`request ${r.url()}`),
  );
  await page.goto(`file://${file}`);
  if (more.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
  return { page, troubles, close: () => context.close() };
}

// our own words for numbers, to compare with
const bytes = (n) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  while (n >= 1023.95 && u < 4) {
    n /= 1024;
    u++;
  }
  return u ? `${n.toFixed(1)} ${units[u]}` : `${n} B`;
};
const group = (n) => n.toLocaleString("en-US");

async function windowOf(page, stack = 0) {
  return page
    .locator(".stack")
    .nth(stack)
    .evaluate((e) => [Number(e.dataset.from), Number(e.dataset.to)]);
}

// Page coordinates of a moment and a height (0 top .. 1 bottom) in a pane.
async function place(page, pane, t, fraction) {
  const room = page.locator(`[data-pane="${pane}"]`);
  await room.scrollIntoViewIfNeeded();
  await page.evaluate(
    (name) => document.querySelector(`[data-pane="${name}"]`).scrollIntoView({ block: "center" }),
    pane,
  );
  const box = await room.boundingBox();
  const [from, to] = await windowOf(
    page,
    await room.evaluate((e) => [...document.querySelectorAll(".stack")].indexOf(e.closest(".stack"))),
  );
  const [left, right] = box.width < 560 ? [48, 40] : [66, 92];
  return {
    x: box.x + left + ((t - from) / (to - from)) * (box.width - left - right),
    y: box.y + fraction * box.height,
  };
}

async function tip(page, pane, t, fraction) {
  const at = await place(page, pane, t, fraction);
  await page.mouse.move(at.x, at.y);
  return page.locator(".tip").innerText();
}

async function drag(page, pane, from, to) {
  const [a, b] = [await place(page, pane, from, 0.5), await place(page, pane, to, 0.5)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, a.y);
  await page.mouse.move(b.x, a.y);
  await page.mouse.up();
}

const near = (a, b, slack, what) => assert.ok(Math.abs(a - b) <= slack, `${what}: ${a} is not ${b} ± ${slack}`);

async function save(page, button) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return readFileSync(await download.path(), "utf8");
}

const cellsOf = (page, table) =>
  page.$$eval(`#table-${table} tbody tr`, (rows) => rows.map((r) => [...r.cells].map((c) => c.innerText.trim())));

// ---- every document: quiet, complete, readable ------------------------------------------------
for (const [name, make] of Object.entries(documents))
  for (const width of [1280, 400])
    for (const colorScheme of ["light", "dark"])
      await check(`${name} ${width} ${colorScheme}`, async () => {
        const report = make();
        const { page, troubles, close } = await open(name, report, { width, colorScheme });
        assert.equal(await page.locator("h1").innerText(), report.verdict.text);
        assert.equal(await page.evaluate(sideways), 0);
        if (process.env.IORAMA_SHOTS)
          await page.screenshot({ path: join(out, `${name}-${width}-${colorScheme}.png`), fullPage: true });
        await page.$$eval("details", (all) =>
          all.forEach((d) => {
            d.open = true;
          }),
        );
        await page.waitForFunction(() => document.querySelector("#raw pre"));
        assert.deepEqual(await page.evaluate(weakContrast), []);
        assert.deepEqual(await page.evaluate(nameless), []);
        assert.deepEqual(await page.evaluate(doubleIds), []);
        assert.equal(await page.evaluate(sideways), 0);
        assert.deepEqual(troubles, []);
        await close();
      });

// ---- one window of time for all ---------------------------------------------------------------
await check("values under the pointer are those of the document", async () => {
  const report = big();
  const { page, close } = await open("big", report);
  const strip = report.timeline.strips[1];
  for (const [row, bin] of [
    [0, 30],
    [96, 60],
    [127, 150],
  ]) {
    const at = row * strip.bins + bin;
    const text = await tip(page, "strip-POSIX", (bin + 0.5) * strip.width, (row + 0.5) / strip.rows);
    assert.ok(text.includes(`ranks ${strip.first[row]}–${strip.first[row + 1] - 1}`), text);
    assert.ok(text.includes(`read ${bytes(strip.read_sum[at])} (`), `${text} / ${strip.read_sum[at]}`);
    assert.ok(
      text.includes(`written ${bytes(strip.write_sum[at])} (${bytes(strip.write_sum[at] / strip.width)}/s)`),
      text,
    );
    assert.ok(text.includes(`written ${bytes(strip.write_max[at])}`), text);
  }
  const std = report.timeline.strips[2];
  const most = Math.max(...strip.bin_write.map((v, b) => v + std.bin_write[b])) / strip.width;
  const heading = await page.locator("#figure-timeline h3").innerText();
  assert.ok(heading.endsWith(`${bytes(most)}/s written`), heading);
  const text = await tip(page, "bandwidth", 30.5 * strip.width, 0.5);
  assert.ok(text.includes(`written ${bytes(strip.bin_write[30])}`), text);
  await close();
});

await check("drag zooms all, double click resets", async () => {
  const { page, close } = await open("traced", documents.traced());
  const home = await windowOf(page);
  assert.ok(home[0] > 3 && home[0] < 4 && home[1] > 9.9 && home[1] < 11, `empty start and end are cut: ${home}`);
  await drag(page, "bandwidth", 5, 7);
  const [from, to] = await windowOf(page);
  near(from, 5, 0.02, "start");
  near(to, 7, 0.02, "end");
  assert.deepEqual(await windowOf(page, 1), [from, to]);
  const at = await place(page, "strip-POSIX", 6, 0.5);
  await page.mouse.dblclick(at.x, at.y);
  assert.deepEqual(await windowOf(page), home);
  await page.getByRole("button", { name: "whole run" }).click();
  assert.deepEqual(await windowOf(page), [0, 12]);
  await page.getByRole("button", { name: "reset" }).first().click();
  assert.deepEqual(await windowOf(page), home);
  await close();
});

await check("zoom turns bins into single operations", async () => {
  const report = documents.traced();
  const { page, close } = await open("traced", report);
  await page.getByRole("button", { name: "finding 1: show its time in the timeline" }).click();
  const [from, to] = await windowOf(page);
  near(from, 6 - 0.016, 1e-6, "start");
  near(to, 6.4 + 0.016, 1e-6, "end");
  assert.equal(await page.locator(".pane-title", { hasText: "single operations" }).count(), 2);
  const { ops } = report.trace;
  const i = ops.layer.findIndex((l, k) => l === "POSIX" && ops.rank[k] === 5 && ops.start[k] > 6.1);
  for (const pane of ["strip-POSIX", "ops-POSIX"]) {
    const text = await tip(page, pane, (ops.start[i] + ops.end[i]) / 2, 5.5 / 8);
    assert.ok(text.includes(`rank 5 · ${ops.kind[i] ? "read" : "write"} of ${bytes(ops.length[i])}`), text);
    assert.ok(text.includes(`at offset ${group(ops.offset[i])}`), text);
    assert.ok(text.includes("/scratch/out.bin"), text);
  }
  for (const by of ["size", "offset", "read / write"]) {
    await page.getByRole("button", { name: by, exact: true }).click();
    assert.equal(await page.getByRole("button", { name: by, exact: true }).getAttribute("aria-pressed"), "true");
  }
  await close();
});

await check("offsets under the pointer are those of the document", async () => {
  const report = documents.traced();
  const { page, close } = await open("traced", report);
  const grid = report.trace.offsets[0];
  const at = grid.write.findIndex((v, k) => v > 0 && k > 20 * grid.bins);
  const [row, bin] = [Math.floor(at / grid.bins), at % grid.bins];
  const text = await tip(
    page,
    "offset-0",
    grid.t0 + ((bin + 0.5) * (grid.t1 - grid.t0)) / grid.bins,
    1 - (row + 0.5) / grid.rows,
  );
  assert.ok(text.includes(`read ${bytes(grid.read[at])}, written ${bytes(grid.write[at])}`), text);
  await close();
});

await check("the keyboard reads, zooms, moves and resets", async () => {
  const { page, close } = await open("calm", documents.calm());
  const home = await windowOf(page);
  const stack = page.locator(".stack").first();
  await stack.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  assert.match(await stack.getByRole("status").innerText(), /^POSIX · rank 0, .* written/);
  await page.keyboard.press("ArrowDown");
  const words = await stack.getByRole("status").innerText();
  assert.match(words, /^POSIX · rank 1,/);
  await page.keyboard.press("+");
  const close1 = await windowOf(page);
  near(close1[1] - close1[0], (home[1] - home[0]) / 2, 1e-6, "half");
  await page.keyboard.press("Shift+ArrowRight");
  assert.ok((await windowOf(page))[0] > close1[0]);
  await page.keyboard.press("-");
  await page.keyboard.press("Escape");
  assert.deepEqual(await windowOf(page), home);
  await close();
});

await check("every stop of the tab key is named and seen", async () => {
  const { page, close } = await open("traced", documents.traced());
  const seen = new Set();
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(focusShown);
    if (stop.tag === "BODY") break;
    assert.ok(stop.shown, `no outline on ${stop.tag} ${stop.name}`);
    assert.ok(stop.name, stop.tag);
    seen.add(stop.name);
  }
  assert.ok(seen.size > 30, `${seen.size} stops`);
  await close();
});

await check("bands and findings lead to their time", async () => {
  const { page, close } = await open("big", big());
  await page.getByRole("button", { name: "finding 2: zoom to its time" }).click();
  const [from, to] = await windowOf(page);
  near(from, 300 - 4.8, 1e-6, "start");
  near(to, 420 + 4.8, 1e-6, "end");
  assert.match(await page.locator("#table-files [role=status]").innerText(), /^1 of 42 files\s+in use between 295/);
  assert.equal((await cellsOf(page, "files")).length, 1);
  await close();
});

// ---- nothing is lost ---------------------------------------------------------------------------
await check("one busy rank of 2,000 is seen, what is empty has no colour", async () => {
  const { page, close } = await open("needle", needle());
  const box = await page.locator('[data-pane="strip-POSIX"]').boundingBox();
  const x = (t) => (66 + (t / 40) * (box.width - 66 - 92)) / box.width;
  assert.ok(box.height < 400, "more rows than pixels");
  assert.equal((await page.evaluate(pixel, { pane: "strip-POSIX", x: x(13.5), y: 777.5 / 1000 }))[3], 255);
  assert.equal((await page.evaluate(pixel, { pane: "strip-POSIX", x: x(13.5), y: 0.5 }))[3], 0);
  assert.equal((await page.evaluate(pixel, { pane: "strip-POSIX", x: x(20.5), y: 777.5 / 1000 }))[3], 0);
  const text = await tip(page, "strip-POSIX", 13.5, 777.5 / 1000);
  assert.ok(text.includes("ranks 1554–1555") && text.includes("written 1 B"), text);
  await close();
});

// ---- tables ------------------------------------------------------------------------------------
await check("ranks can be sorted and filtered", async () => {
  const report = big();
  const { page, close } = await open("big", report);
  const time = (r) => r.read_time + r.write_time + r.meta_time;
  const slowest = [...report.ranks.rows]
    .sort((a, b) => time(b) - time(a))
    .slice(0, 20)
    .map((r) => String(r.rank));
  assert.deepEqual(
    (await cellsOf(page, "ranks")).map((r) => r[0]),
    slowest,
  );
  const head = page.locator("#table-ranks th").first();
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  assert.deepEqual(
    (await cellsOf(page, "ranks")).map((r) => r[0]),
    Array.from({ length: 20 }, (_, i) => String(511 - i)),
  );
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  assert.deepEqual((await cellsOf(page, "ranks"))[3][0], "3");
  await page.getByRole("searchbox", { name: "filter ranks" }).fill("rank 387");
  const rows = await cellsOf(page, "ranks");
  assert.equal(rows.length, 1);
  assert.deepEqual(rows[0].slice(0, 3), ["387", "nid006", "612.0"]);
  assert.deepEqual(rows[0].slice(8), ["387", "3,870", "0"]);
  await page.getByRole("searchbox", { name: "filter ranks" }).fill("");
  await page.locator("#table-ranks").getByRole("button", { name: "show all" }).click();
  assert.equal((await cellsOf(page, "ranks")).length, 512);
  await close();
});

await check("files are grouped, opened, filtered, sorted", async () => {
  const report = big();
  const { page, close } = await open("big", report);
  assert.equal((await cellsOf(page, "files")).length, 3);
  await page.getByRole("button", { name: "/scratch/project/run42/log/rank.####.log: 513 files" }).click();
  assert.equal((await cellsOf(page, "files")).length, 43);
  await page.getByRole("searchbox", { name: "filter files" }).fill("LOG 0007");
  await page.getByRole("checkbox", { name: "group by pattern" }).uncheck();
  const rows = await cellsOf(page, "files");
  assert.equal(rows.length, 1);
  assert.equal(rows[0][0].replace(/\s/g, ""), "/scratch/project/run42/log/rank.0007.log");
  assert.equal(rows[0][7], "10");
  await page.getByRole("searchbox", { name: "filter files" }).fill("");
  await page.locator("#table-files th").nth(7).getByRole("button").click();
  assert.deepEqual(
    (await cellsOf(page, "files")).slice(0, 3).map((r) => r[7]),
    ["9,000", "42", "41"],
  );
  const csv = await save(page, "files: save as CSV");
  assert.equal(csv.split("\n").length, 44);
  assert.ok(
    csv.split("\n")[1].startsWith("/scratch/project/run42/output/monthly/can_I_out_h0.nc,MPI-IO,512,118000.01,"),
    csv.split("\n")[1],
  );
  await close();
});

await check("names are words, never markup", async () => {
  const { page, close } = await open("tiny", documents.tiny());
  assert.equal(await page.locator("#table-files td").first().innerText(), '/tmp/<a & "b">');
  await close();
});

// ---- findings ----------------------------------------------------------------------------------
await check("findings: order, folds, copy", async () => {
  const report = big();
  const { page, close } = await open("big", report, { permissions: ["clipboard-read", "clipboard-write"] });
  const shown = await page.$$eval(".finding", (all) =>
    all.filter((e) => e.checkVisibility()).map((e) => e.querySelector("h3").innerText),
  );
  assert.equal(shown.length, 3);
  report.findings
    .slice(0, 3)
    .forEach((f, i) => assert.ok(shown[i].includes(f.title) && shown[i].includes(f.level), shown[i]));
  await page.getByText("2 remarks of little or no cost").click();
  assert.ok(await page.locator("#finding-5").isVisible());
  await page.getByText("Checked 61 rules: 4 found, 48 passed, 9 do not apply").click();
  assert.equal(await page.locator(".checks li").count(), 61);
  await page.getByRole("button", { name: "copy: MPI-IO: no data sieving" }).click();
  await page.getByText("copied", { exact: true }).waitFor();
  await page.locator("#finding-1 .more-details > summary").click();
  assert.ok((await page.locator("#finding-1").innerText()).includes("3.9×"));
  const link = page.locator("#finding-3 .advice a");
  assert.equal(await link.getAttribute("href"), "#finding-1");
  await close();
});

// ---- nothing is cut, nothing is said of nothing ------------------------------------------------
for (const [name, make] of Object.entries({ ...documents, huge, nothing, short }))
  await check(`${name}: all columns, whole numbers, no lone dash`, async () => {
    const { page, troubles, close } = await open(name, make(), { width: 1300 });
    const cut = () =>
      [...document.querySelectorAll(".table-room, .bar-value, .number-box dd, .number-box small, .cost b")]
        .filter((e) => e.scrollWidth > e.clientWidth)
        .map((e) => e.getAttribute("aria-label") || e.textContent);
    assert.deepEqual(await page.evaluate(cut), []);
    const dashes = await page.$$eval(".bar-stack", (all) =>
      all.map((e) => e.innerText.split(/\s*\n\s*/)).filter((lines) => lines.length > 1 && lines.includes("–")),
    );
    assert.deepEqual(dashes, []);
    const cards = await page.$$eval(".number-box, .cost", (all) => all.map((e) => e.innerText.replace(/\s+/g, " ")));
    assert.deepEqual(
      cards.filter((text) => /(^| )(0 s|0 %|0 B|–)( |$)/.test(text)),
      [],
    );
    // where the axis is broken stands below it, not over the last rank
    const above = await page.$$eval(
      ".axis .cut",
      (all) => all.filter((e) => e.getBoundingClientRect().top < e.parentElement.getBoundingClientRect().top).length,
    );
    assert.equal(above, 0);
    assert.deepEqual(troubles, []);
    await close();
  });

await check("a job that did nothing says so, without axes", async () => {
  const { page, close } = await open("nothing", nothing());
  assert.equal(await page.locator("canvas, .uplot, .axis, .panel").count(), 0);
  const text = await page.locator("main").innerText();
  for (const words of ["No layer spent any time", "No read or write was recorded", "None of 4 ranks spent time in I/O"])
    assert.ok(text.includes(words), words);
  await close();
});

await check("a run shorter than a bin claims no rate of the bin; processes are no ranks", async () => {
  const { page, close } = await open("short", short());
  const text = await page.locator("main").innerText();
  assert.match(text, /6 processes \(python3 ×5, bash\)/);
  assert.match(text, /41 more moved no data/);
  assert.match(text, /The run is too short to tell when data moved/);
  assert.ok(!/\branks?\b/i.test(text), /.*\branks?\b.*/i.exec(text)?.[0]);
  const words = await tip(page, "bandwidth", 0.005, 0.5);
  assert.match(words, /written 1.5 KiB \(146.5 KiB\/s\)/); // 1,500 bytes in 10 ms, not in a bin of 100
  assert.match(words, /0.0+ s – 0.010+ s/);
  await close();
});

await check("calls are shown with the calls inside of them", async () => {
  const report = documents.traced();
  const { calls } = report.trace;
  const { page, close } = await open("traced", report);
  assert.match(
    await page.locator(".pane", { has: page.locator('[data-pane="calls"]') }).innerText(),
    /^calls of rank 5: H5D → MPI-IO → POSIX · 150 calls/,
  );
  await drag(page, "ops-POSIX", 4, 4.2);
  const first = calls.rank.indexOf(5); // H5Dwrite; then MPI-IO, then three of POSIX
  const lines = async (i, row) =>
    (await tip(page, "calls", (calls.start[i] + calls.end[i]) / 2, (row + 0.5) / 3)).split("\n");
  assert.deepEqual((await lines(first, 0)).slice(0, 2), ["H5D · H5Dwrite", "rank 5 · write of 1.0 MiB"]);
  assert.match((await lines(first, 0))[2], /took 0.12 s, 0.12 s of it in calls inside/);
  assert.equal((await lines(first + 1, 1))[0], "MPI-IO · MPI_File_write_at");
  assert.match((await lines(first + 1, 1))[2], /took 0.12 s, 0.11 s of it in calls inside/);
  assert.deepEqual((await lines(first + 2, 2)).slice(0, 2), ["POSIX · pread", "rank 5 · read of 256.0 KiB"]);
  const box = await page.locator('[data-pane="calls"]').boundingBox();
  const [from, to] = await windowOf(page, 1);
  const x = (t) => (66 + ((t - from) / (to - from)) * (box.width - 66 - 92)) / box.width;
  const middle = (calls.start[first + 2] + calls.end[first + 2]) / 2;
  assert.ok((await page.evaluate(pixel, { pane: "calls", x: x(middle), y: 2.5 / 3 }))[3] > 0, "a call is painted");
  const after = (calls.end[first + 1] + calls.end[first]) / 2; // HDF5 alone
  assert.ok((await page.evaluate(pixel, { pane: "calls", x: x(after), y: 0.5 / 3 }))[3] > 0, "HDF5 after MPI-IO");
  assert.equal((await page.evaluate(pixel, { pane: "calls", x: x(after), y: 2.5 / 3 }))[3], 0, "nothing inside");
  await page.locator(".pick select").selectOption("3");
  assert.match(await page.locator("#trace").innerText(), /calls of rank 3: /);
  await close();
});

await check("a page of a window begins there", async () => {
  const report = documents.traced();
  report.trace.window = [5, 6];
  report.trace.ops_all = false;
  const { page, close } = await open("window", report);
  assert.deepEqual(await windowOf(page), [5, 6]);
  const text = await page.locator("#trace").innerText();
  assert.match(text, /The 960 longest of the traced operations of 5 to 6 s/);
  assert.match(text, /iorama report --html --window 5.000000:6.000000 /);
  await page.locator(".stack").first().focus();
  await page.keyboard.press("Escape");
  assert.ok((await windowOf(page))[0] < 5, "reset shows all");
  await close();
});

await check("a part that is selected has its statistics", async () => {
  const report = documents.traced();
  const { page, close } = await open("traced", report);
  const { ops } = report.trace;
  const wanted = ([from, to], layer, kind) => {
    const list = [...ops.start.keys()].filter(
      (i) => ops.layer[i] === layer && ops.kind[i] === kind && ops.start[i] >= from && ops.start[i] <= to,
    );
    const took = list.map((i) => ops.end[i] - ops.start[i]).sort((a, b) => a - b);
    const at = (share) => took[Math.ceil(share * took.length) - 1];
    return [
      String(list.length),
      (list.reduce((n, i) => n + ops.length[i], 0) / (1 << 20)).toFixed(1),
      ...[0.5, 0.95, 0.99, 1].map((s) => at(s).toFixed(4)),
    ];
  };
  const compare = async () => {
    const window = await windowOf(page, 1);
    for (const row of await cellsOf(page, "region")) {
      const [layer, kind, n, moved, , ...times] = row;
      assert.deepEqual([n, moved, ...times], wanted(window, layer, kind === "read" ? 1 : 0), `${row} ${window}`);
    }
    const ranks = await cellsOf(page, "region-ranks");
    assert.equal(ranks[0][0], "5"); // the slow one
    const disk = [...ops.start.keys()].filter(
      (i) => ops.layer[i] === "POSIX" && ops.start[i] >= window[0] && ops.start[i] <= window[1],
    );
    assert.equal(
      ranks.reduce((n, r) => n + Number(r[1]), 0),
      disk.length,
    );
    assert.equal((await cellsOf(page, "region-files"))[0][1], String(disk.length));
    return disk.length;
  };
  const all = await compare();
  await drag(page, "ops-POSIX", 5, 6);
  const some = await compare();
  assert.ok(some > 0 && some < all / 3, `${some} of ${all}`);
  assert.match(await page.locator("#region h3").innerText(), /operations begin between 5/);
  await close();
});

// ---- what leaves the page ----------------------------------------------------------------------
await check("each figure gives CSV and SVG", async () => {
  const report = big();
  const { page, troubles, close } = await open("big", report);
  const csv = (await save(page, "timeline: save as CSV"))
    .trim()
    .split("\n")
    .slice(1)
    .map((l) => l.split(","));
  const strip = report.timeline.strips[1];
  const sum = csv.filter((r) => r[0] === "POSIX").reduce((n, r) => n + Number(r[6]), 0);
  assert.equal(
    sum,
    strip.bin_write.reduce((a, b) => a + b, 0),
  );
  const names = await page.$$eval("button[aria-label$='save as SVG']", (all) =>
    all.map((b) => b.getAttribute("aria-label")),
  );
  assert.ok(names.length >= 6, names.join());
  for (const name of names) {
    const svg = await save(page, name);
    const state = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return { root: parsed.documentElement.tagName, marks: parsed.querySelectorAll("rect, path, text").length };
    }, svg);
    assert.equal(state.root, "svg", name);
    assert.ok(state.marks > 5 && !/NaN|undefined|Infinity/.test(svg), name);
  }
  assert.deepEqual(troubles, []);
  await close();
});

await check("a finding is shown in the timeline only where there is one", async () => {
  const document = big();
  const { page, close } = await open("dark", {
    ...document,
    trace: null,
    timeline: { ...document.timeline, strips: [] },
  });
  assert.ok(document.findings.some((f) => f.window));
  assert.equal(await page.getByRole("button", { name: /show its time in the timeline/ }).count(), 0);
  await close();
});

await check("it prints", async () => {
  const { page, close } = await open("big", big(), { colorScheme: "dark" });
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
  const pages = (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length;
  assert.ok(pages >= 3 && pages <= 14, `${pages} pages`);
  writeFileSync(join(out, "big.pdf"), pdf);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.waitForSelector("#limits table");
  assert.deepEqual(await page.$$eval("details:not([open])", (all) => all.map((e) => e.id)), ["raw"]);
  for (const id of ["job", "modules", "counters", "glossary", "checks"])
    assert.ok((await page.locator(`#${id}`).innerText()).length > 20, id);
  // heads: once, never blank on the next page, and no word of them in two
  const heads = await page.$$eval("thead", (all) => all.map((e) => getComputedStyle(e).display));
  assert.ok(heads.length > 3 && heads.every((d) => d === "table-row-group"), heads.join());
  const broken = await page.$$eval("th button", (all) =>
    all.filter((e) => e.innerText.trim() && getComputedStyle(e).overflowWrap !== "normal").map((e) => e.innerText),
  );
  assert.deepEqual(broken, []);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator("#limits").getAttribute("open"), null);
  await close();
});

await check("without scripts there is the picture", async () => {
  const { page, close } = await open("tiny", documents.tiny(), { javaScriptEnabled: false });
  assert.equal(await page.locator("body svg").count(), 1);
  await close();
});

await check("the page is small and closed", async () => {
  assert.ok(template.length < 170000, `${template.length} bytes`);
  const script = /<script type="module">([\s\S]*?)<\/script>/.exec(template)[1];
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(template)[1];
  assert.ok(policy.includes("default-src 'none'"));
  assert.ok(policy.includes(`'sha256-${createHash("sha256").update(script).digest("base64")}'`), "hash of the script");
  assert.ok(!/unsafe-eval|script-src[^;]*unsafe-inline/.test(policy));
  for (const mark of ["title", "picture", "data"]) assert.equal(template.split(`@@iorama:${mark}@@`).length, 2, mark);
  assert.ok(template.indexOf("@@iorama:title@@") < template.indexOf("@@iorama:picture@@"));
  assert.ok(template.indexOf("@@iorama:picture@@") < template.indexOf("@@iorama:data@@"));
});

await chromium.close();
console.log(failures ? `${failures} failed` : "all passed");
process.exit(failures ? 1 : 0);
