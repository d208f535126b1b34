// SPDX-License-Identifier: BSD-3-Clause
// dist.mjs COPY DIST: the committed page is what its sources make, and the sources have one format.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { skip } from "./browser.mjs";

const [copy, dist] = process.argv.slice(2);
const modules = join(copy, "node_modules");
const here = dirname(fileURLToPath(import.meta.url));

function run(...words) {
  return spawnSync(process.execPath, words, { stdio: "inherit" }).status ?? 1;
}

if (!existsSync(join(modules, "esbuild"))) skip("esbuild is not installed");
const stale = run(join(copy, "build.mjs"), "--check", dist);
const places = [join(copy, "src"), join(copy, "build.mjs"), here];
const untidy = run(
  join(modules, "prettier", "bin", "prettier.cjs"),
  "--print-width",
  "120",
  "--log-level",
  "warn",
  "--check",
  ...places,
);
if (untidy) console.error('format them: "npm run format" in web/');
process.exit(stale || untidy ? 1 : 0);
