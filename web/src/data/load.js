// SPDX-License-Identifier: BSD-3-Clause
// load.js: the report document that lies in the page, gzip and base64.

export function fromBase64(text) {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

export async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

export async function loadReport(element) {
  const report = await unpack(fromBase64(element.textContent));
  if (report.schema !== "iorama-report" || report.version !== 1)
    throw new Error(`this page shows iorama-report version 1, not ${report.schema} ${report.version}`);
  return report;
}
