// SPDX-License-Identifier: BSD-3-Clause
// browser.mjs: the system's Chromium, driven by playwright-core out of web/node_modules. The headless shell is the same
// engine without windows, and costs half: it is taken where it is installed.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PLACES = [
  "/usr/lib/chromium/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

// ms until something that has to come is taken for missing: other tests have the machine, too
export const PATIENCE = 150000;

export function skip(reason) {
  console.log(`SKIP: ${reason}`);
  process.exit(77);
}

function playwright() {
  const modules =
    process.env.IORAMA_NODE_MODULES || join(dirname(fileURLToPath(import.meta.url)), "../../web/node_modules");
  if (!existsSync(join(modules, "playwright-core")))
    skip("playwright-core is not installed (npm ci --ignore-scripts in web/)");
  return createRequire(join(modules, "x.js"))("playwright-core");
}

export async function browser() {
  const executablePath = PLACES.find(existsSync);
  if (!executablePath) skip("chromium is not installed");
  return playwright().chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}
