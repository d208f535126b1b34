// SPDX-License-Identifier: BSD-3-Clause
// site.mjs: a store with jobs of known content, `iorama serve` over it, and pages of it in a browser.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { browser, PATIENCE, skip } from "./browser.mjs";
import { doubleIds, nameless, sideways, weakContrast } from "./measure.mjs";

export class Site {
  constructor(program, out) {
    this.iorama = resolve(program);
    this.out = resolve(out);
    this.store = join(this.out, "store.db");
    this.environment = {
      ...process.env,
      HOME: this.out,
      IORAMA_STORE: this.store,
      IORAMA_DIR: join(this.out, "segments"),
      IORAMA_SPOOL: join(this.out, "spool"),
    };
    this.started = [];
    rmSync(this.out, { recursive: true, force: true });
    mkdirSync(join(this.out, "data"), { recursive: true });
  }

  run(command, ...words) {
    return this.feed("", command, ...words);
  }

  feed(input, command, ...words) {
    const cwd = join(this.out, "data");
    const done = spawnSync(command, words, { cwd, encoding: "utf8", env: this.environment, input });
    if (done.error?.code === "ENOENT") skip(`${command} is not installed`);
    assert.equal(done.status, 0, `${command} ${words.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  start(command, ...words) {
    const child = spawn(command, words, { cwd: join(this.out, "data"), env: this.environment, detached: true });
    this.started.push(child);
    return child;
  }

  sql(text) {
    return this.feed(text, "sqlite3", "-bail", "-cmd", ".timeout 20000", this.store);
  }

  // a log of a real program, in the store
  real() {
    const log = join(this.out, "one.darshan");
    this.run(this.iorama, "run", "-q", "-o", log, "--", "dd", "if=/dev/zero", "of=big", "bs=4096", "count=500");
    this.run(this.iorama, "index", "-q", this.out);
  }

  // pages are opened faster here than people do: only where it is asked for, no more is answered than people may ask
  async serve(limits = ["--rate", "0"]) {
    const words = ["serve", "-q", "--listen", "0", ...limits, "--token", join(this.out, "token")];
    const server = spawn(this.iorama, words, { env: this.environment });
    this.started.push(server);
    const address = await new Promise((done, failed) => {
      server.stdout.once("data", (text) => done(String(text).trim()));
      server.once("exit", (code) => failed(new Error(`serve ended with ${code}`)));
    });
    [this.base, this.fragment] = address.split("#");
    this.chromium = await browser();
    this.context = await this.chromium.newContext({ viewport: { width: 1280, height: 900 } });
    this.context.setDefaultTimeout(PATIENCE);
  }

  // A page whose troubles are kept: errors, dialogs, requests to elsewhere, what the policy of content refuses; but no message of
  // the console that page.expected() knows, nor that the server is busy: pages ask again then.
  async open(address) {
    const page = await this.context.newPage();
    page.troubles = [];
    page.on("console", (m) => {
      if (["error", "warning"].includes(m.type()) && !/status of 503/.test(m.text()) && !page.expected?.(m))
        page.troubles.push(m.text());
    });
    page.on("pageerror", (e) => page.troubles.push(e.message));
    page.on("dialog", (d) => page.troubles.push(`dialog ${d.message()}`));
    page.on("request", (r) => {
      if (!["data:", "blob:", this.base].some((ours) => r.url().startsWith(ours)))
        page.troubles.push(`request ${r.url()}`);
    });
    this.page = page;
    await page.goto(address);
    return page;
  }

  // of the page at which a test ended
  async explain() {
    if (!this.page || this.page.isClosed()) return;
    console.error(this.page.url(), this.page.troubles);
    console.error((await this.page.evaluate(() => document.body.innerText)).slice(0, 2000));
    await this.page.screenshot({ path: join(this.out, "failed.png") });
  }

  async end() {
    if (this.chromium) await this.chromium.close();
    for (const child of this.started)
      try {
        process.kill(child.spawnargs.includes("serve") ? child.pid : -child.pid, "SIGKILL");
      } catch {
        // it has ended by itself
      }
  }
}

// Asks until the answer is true. (waitForFunction() of a page takes a promise for true, whatever becomes of it.)
export async function until(question, what) {
  const end = Date.now() + PATIENCE;
  while (!(await question())) {
    assert.ok(Date.now() < end, what);
    await new Promise((done) => setTimeout(done, 100));
  }
}

// What axe-core finds to be serious, as "rule: where".
async function barriers(page) {
  const modules = process.env.IORAMA_NODE_MODULES || new URL("../../web/node_modules", import.meta.url).pathname;
  const axe = createRequire(join(modules, "x.js")).resolve("axe-core/axe.min.js");
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(readFileSync(axe, "utf8"));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`);
}

// A page as readers of all kinds have it: on a screen, a phone, in the dark, on paper, read aloud.
export async function readable(page, name, shots) {
  for (const [width, scheme, media] of [
    [1280, "light", "screen"],
    [400, "dark", "screen"],
    [1280, "light", "print"],
  ]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme, media });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.waitForFunction(() => document.getAnimations().length === 0); // colours change over a moment
    if (shots) await page.screenshot({ path: join(shots, `${name}-${width}-${scheme}-${media}.png`), fullPage: true });
    if (media === "print") continue;
    assert.ok((await page.evaluate(sideways)) <= 0, `${name}, ${width}: something is wider than the page`);
    assert.deepEqual(await page.evaluate(nameless), [], `${name}: a control without a name`);
    assert.deepEqual(await page.evaluate(doubleIds), [], `${name}: an id twice`);
    assert.deepEqual(await page.evaluate(weakContrast), [], `${name}: contrast, ${scheme}`);
    assert.deepEqual(await barriers(page), [], `${name}, ${width}: axe-core`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light", media: "screen" });
}
