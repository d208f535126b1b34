// SPDX-License-Identifier: BSD-3-Clause
// build.mjs [--check [FILE]]: bundle src/ into dist/report.html, the page with places for title, picture and data, which the
// program fills in. --check compares with what is there instead of writing; exit status 1 when they differ.
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

const fresh = await page();
const check = process.argv.indexOf("--check");
if (check > 0) {
  if (fresh !== readFileSync(process.argv[check + 1] || target, "utf8")) {
    console.error(
      'web/dist/report.html is not what web/src makes: run "npm ci --ignore-scripts && npm run build" in web/',
    );
    process.exit(1);
  }
} else {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, fresh);
  console.log(`dist/report.html: ${fresh.length} bytes`);
}
