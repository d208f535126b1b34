// SPDX-License-Identifier: BSD-3-Clause
// build.mjs [--check [FILE]]: bundle src/ into dist/report.html, the page with places for title, picture and data, which the
// program fills in, and into dist/portal.html, .js and .css, the page of `iorama serve`. --check compares with what is there
// (beside FILE) instead of writing; exit status 1 when they differ.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "dist", "report.html");

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    outdir: join(here, "dist"),
    absWorkingDir: here,
    logLevel: "warning",
  });
  const text = (suffix) =>
    result.outputFiles
      .filter((f) => f.path.endsWith(suffix))
      .map((f) => f.text.trim())
      .join("\n");
  return { script: text(".js"), style: text(".css") };
}

export async function page() {
  const { script, style } = await bundle("src/main.jsx");
  if (/<\/script|<!--/i.test(script)) throw new Error("the bundle would end its script element");
  const hash = createHash("sha256").update(script).digest("base64");
  const parts = { hash: `sha256-${hash}`, style, script };
  return readFileSync(join(here, "template.html"), "utf8").replace(
    /@@(hash|style|script)@@/g,
    (_, name) => parts[name],
  );
}

// The page of `iorama serve` may run scripts of its server only: they are files of their own.
export async function portal() {
  const { script, style } = await bundle("src/portal/main.jsx");
  return {
    "portal.html": readFileSync(join(here, "portal.html"), "utf8"),
    "portal.js": `${script}\n`,
    "portal.css": `${style}\n`,
  };
}

const fresh = { "report.html": await page(), ...(await portal()) };
const check = process.argv.indexOf("--check");
const dist = check > 0 && process.argv[check + 1] ? dirname(process.argv[check + 1]) : dirname(target);
if (check <= 0) mkdirSync(dist, { recursive: true });
for (const [name, text] of Object.entries(fresh)) {
  if (check <= 0) {
    writeFileSync(join(dist, name), text);
    console.log(`dist/${name}: ${text.length} bytes`);
  } else if (text !== readFileSync(join(dist, name), "utf8")) {
    console.error(`web/dist/${name} is not what web/src makes: run "npm ci --ignore-scripts && npm run build" in web/`);
    process.exit(1);
  }
}
