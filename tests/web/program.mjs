// SPDX-License-Identifier: BSD-3-Clause
// program.mjs IORAMA OUT [--real-only]: pages as the program writes them. One of a job whose I/O is known; one of each real log where
// they are at hand (IORAMA_SHARED, else ../shared beside the repository). Page, JSON and terminal must agree.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { browser, PATIENCE } from "./browser.mjs";
import { doubleIds, nameless, sideways, weakContrast } from "./measure.mjs";

const [program, outArgument, realOnly] = process.argv.slice(2);
const iorama = resolve(program);
const out = resolve(outArgument);
const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const LARGE = 1000000; // bytes of a page with a long trace
const ORDINARY = 500000;

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

function run(...words) {
  const done = spawnSync(iorama, words, {
    cwd: out,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, NO_COLOR: "1" },
  });
  assert.equal(done.status, 0, `iorama ${words.join(" ")}: ${done.status} ${done.stderr}`);
  return done.stdout;
}

function documentOf(html) {
  const text = /<script type="application\/gzip" id="report">([^<]*)<\/script>/.exec(html)[1];
  return JSON.parse(gunzipSync(Buffer.from(text, "base64")).toString("utf8"));
}

const chromium = await browser();

async function show(file, width, body) {
  const page = await chromium.newPage({ viewport: { width, height: 900 } });
  page.setDefaultTimeout(PATIENCE);
  const troubles = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && troubles.push(m.text()));
  page.on("pageerror", (e) => troubles.push(e.message));
  page.on("request", (r) => r.url() !== `file://${file}` && troubles.push(`request ${r.url()}`));
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-ready]");
  await body(page);
  assert.deepEqual(troubles, [], file);
  await page.close();
}

// What any page must be; returns its document.
async function sound(log, html) {
  const text = readFileSync(html, "utf8");
  const report = JSON.parse(run("report", "--json", log));
  const inside = documentOf(text);
  assert.deepEqual(inside, report, "the document in the page is that of --json");
  assert.equal(text.split("@@iorama:").length, 1, "every place is filled in");
  assert.ok(
    /<noscript>[\s\S]*<svg[\s\S]*<\/svg>[\s\S]*<\/noscript>/.test(text),
    "a picture for readers without scripts",
  );
  const limit = report.trace || report.job.nprocs > 256 ? LARGE : ORDINARY;
  assert.ok(text.length < limit, `${html}: ${text.length} bytes`);
  await show(html, 1280, async (page) => {
    assert.equal(await page.locator("h1").innerText(), report.verdict.text);
    assert.equal(await page.evaluate(sideways), 0, `${html} scrolls sideways`);
    assert.deepEqual(await page.evaluate(weakContrast), []);
    assert.deepEqual(await page.evaluate(nameless), []);
    assert.deepEqual(await page.evaluate(doubleIds), []);
    await page.setViewportSize({ width: 400, height: 900 });
    // figures follow the width in the next frames
    await page
      .waitForFunction(() => document.documentElement.scrollWidth === document.documentElement.clientWidth)
      .catch(() => assert.fail(`${html} scrolls sideways at 400`));
  });
  return report;
}

// A job of known content: 50 writes of 4,096 bytes, then 25 reads of 8,192.
async function known() {
  run(
    "run",
    "--trace",
    "-q",
    "-o",
    "known.darshan",
    "--",
    "sh",
    "-c",
    "dd if=/dev/zero of=known.bin bs=4096 count=50 2>/dev/null && dd if=known.bin of=/dev/null bs=8192 2>/dev/null",
  );
  run("report", "--html=known.html", "known.darshan");
  const report = await sound("known.darshan", join(out, "known.html"));
  const file = report.files.rows.find((row) => row.name.endsWith("/known.bin"));
  assert.deepEqual([file.writes, file.bytes_written, file.bytes_read], [50, 204800, 204800]);
  const terminal = run("report", "--width=200", "known.darshan").replace(/\s+/g, " ");
  assert.ok(terminal.includes(report.verdict.text), "the terminal has the same verdict");
  await show(join(out, "known.html"), 1280, async (page) => {
    await page.getByRole("searchbox", { name: "filter files" }).fill("known.bin");
    const cells = await page.$$eval("#table-files tbody tr", (all) =>
      all.map((r) => [...r.cells].map((c) => c.innerText.trim())),
    );
    assert.equal(cells.length, 1);
    const heads = await page.$$eval("#table-files th", (all) => all.map((h) => h.innerText.trim()));
    assert.equal(cells[0][heads.indexOf("writes")], "50");
    assert.ok(heads.includes("written, KiB") && cells[0][heads.indexOf("written, KiB")] === "200.0", heads.join());
  });
}

// Names from a log are words in the page, never markup: a file below "</script><b>", a program "<i>&dd".
async function hostile() {
  const folder = join(out, "<", "script><b>&d");
  const dd = join(out, "<i>&dd");
  mkdirSync(folder, { recursive: true });
  copyFileSync("/bin/dd", dd);
  chmodSync(dd, 0o755);
  const words = ["if=/dev/zero", `of=${join(folder, "x")}`, "bs=512", "count=1", "status=none"];
  run("run", "--trace", "-q", "-o", "hostile.darshan", "--", dd, ...words);
  run("report", "--html=hostile.html", "hostile.darshan");
  const text = readFileSync(join(out, "hostile.html"), "utf8");
  assert.ok(!text.includes("script><b>&d") && !text.includes("<i>&dd"), "a name is not written as it is");
  await show(join(out, "hostile.html"), 1280, async (page) => {
    assert.ok((await page.locator("#table-files").textContent()).includes("</script><b>&d/x"));
    assert.equal(await page.title(), "<i>&dd – I/O report");
  });
}

async function real() {
  const shared = process.env.IORAMA_SHARED || join(root, "../shared");
  const corpus = join(shared, "corpus");
  const logs = existsSync(corpus)
    ? readdirSync(corpus)
        .filter((f) => f.endsWith(".darshan"))
        .sort()
    : [];
  for (const log of logs) {
    const html = join(out, `${basename(log, ".darshan")}.html`);
    run("report", `--html=${html}`, join(corpus, log));
    await sound(join(corpus, log), html);
  }
  console.log(`${logs.length} real logs`);
  const sizes = logs.map((log) => statSync(join(out, `${basename(log, ".darshan")}.html`)).size);
  if (sizes.length)
    console.log(`largest page ${Math.max(...sizes)} bytes, median ${sizes.sort((a, b) => a - b)[sizes.length >> 1]}`);
}

try {
  if (!realOnly) {
    await known();
    await hostile();
  }
  await real();
} finally {
  await chromium.close();
}
console.log("all sound");
