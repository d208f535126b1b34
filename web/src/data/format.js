// SPDX-License-Identifier: BSD-3-Clause
// format.js: numbers as people read them; the same words as src/base/human.c, so that page and terminal agree.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function count(n) {
  if (n === null || n === undefined) return "–";
  return Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  if (Math.abs(n) < 1023.5) return `${Math.round(n)} B`;
  let v = n / 1024;
  let u = 0;
  while (Math.abs(v) >= 1023.95 && u < UNITS.length - 1) {
    v /= 1024;
    u++;
  }
  return `${v.toFixed(1)} ${UNITS[u]}`;
}

export function rate(n) {
  return n === null || n === undefined ? "–" : `${bytes(n)}/s`;
}

export function seconds(s) {
  if (s === null || s === undefined) return "–";
  const a = Math.abs(s);
  if (!isFinite(s) || a < 0.5e-6) return "0 s";
  if (a < 0.9995e-3) return `${(s * 1e6).toFixed(0)} µs`;
  if (a < 0.09995) return `${(s * 1e3).toFixed(a < 9.995e-3 ? 2 : 1)} ms`;
  if (a < 99.95) return `${s.toFixed(a < 9.995 ? 2 : 1)} s`;
  return a < 9999.5 ? `${s.toFixed(0)} s` : `${count(s)} s`;
}

// for run times: 12 min 7 s, 3 h 20 min, 2 d 5 h
export function duration(s) {
  if (s === null || s === undefined || !isFinite(s) || s < 59.95) return seconds(s);
  const t = Math.round(s);
  const part = (n, per) => Math.floor(t / n) % per;
  if (t < 3600) return `${part(60, 60)} min ${t % 60} s`;
  if (t < 86400) return `${part(3600, 24)} h ${part(60, 60)} min`;
  return `${Math.floor(t / 86400)} d ${part(3600, 24)} h`;
}

export function share(x) {
  if (x === null || x === undefined) return "–";
  const p = 100 * x;
  if (!isFinite(p) || p === 0) return "0 %";
  if (Math.abs(p) < 0.05) return "< 0.1 %";
  if (Math.abs(p) < 9.95 || (p > 99 && p < 99.95)) return `${p.toFixed(1)} %`;
  if (p >= 99.95 && p < 100) return "> 99.9 %";
  return `${p.toFixed(0)} %`;
}

export function ratio(x) {
  return Math.abs(x) < 9.95 ? `${x.toFixed(1)}×` : `${count(x)}×`;
}

// by the name of its unit, as in "values" of a finding
export function value(unit, v) {
  if (v === null || v === undefined) return "–";
  const by = { bytes, s: seconds, share, ratio, "bytes/s": rate }[unit];
  if (by) return by(v);
  return Math.abs(v) >= 1000 || Number.isInteger(v) ? count(v) : v.toFixed(2);
}

// A time on an axis whose ticks are `step` apart: only as many decimals as the step needs.
export function tick(t, step) {
  const decimals = step >= 1 ? 0 : Math.min(9, Math.ceil(-Math.log10(step) - 1e-9));
  const text = t.toFixed(decimals);
  return Number(text) === 0 ? "0" : text;
}

// A time told exactly enough to find it again in a window of this length.
export function moment(t, span) {
  const decimals = Math.max(0, Math.min(6, Math.ceil(3 - Math.log10(Math.max(span, 1e-9)))));
  return `${t.toFixed(decimals)} s`;
}

// The unit in which the largest number of a column has 1 to 4 digits before the point: for headers of tables.
export function byteUnit(most) {
  let u = -1;
  let size = 1;
  while (most / size >= 1023.95 && u < UNITS.length - 1) {
    size *= 1024;
    u++;
  }
  return { name: u < 0 ? "B" : UNITS[u], size };
}

// Bytes beside an axis: short, 512 MiB.
export function axisBytes(v) {
  const unit = byteUnit(Math.abs(v));
  const n = Math.abs(v) / unit.size;
  return `${n >= 10 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(1)} ${unit.name}`;
}

// A number in a column of a table: three digits that mean something, nothing above zero told as 0.
export function cell(v, decimals) {
  if (v === null || v === undefined) return "";
  if (v === 0) return "0";
  const least = 10 ** -decimals;
  if (Math.abs(v) < least) return `< ${least.toFixed(decimals)}`;
  return v >= 1000 ? count(v) : v.toFixed(decimals);
}

export function date(iso) {
  const found = /^(\d+)-(\d+)-(\d+)T(\d+:\d+)/.exec(iso || "");
  if (!found) return "";
  const month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")[Number(found[2]) - 1];
  return `${Number(found[3])} ${month} ${found[1]} ${found[4]} UTC`;
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

let processes = false;

// Which job texts are about: once, when the page is made.
export function speakOf(job) {
  processes = Boolean(job.processes);
}

// A text about ranks: of a job without MPI they are processes.
export function who(text) {
  if (!processes) return text;
  return text.replace(/\brank(s?)\b/g, (_, many) => (many ? "processes" : "process"));
}

// Counts of a trillion and more do not fit into a card or beside a bar: 1.2 × 10¹².
export function short(n) {
  if (n === null || n === undefined || Math.abs(n) < 1e12) return count(n);
  const power = Math.floor(Math.log10(Math.abs(n)) + 1e-12);
  const digits = String(power).replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  return `${(n / 10 ** power).toFixed(2)} × 10${digits}`;
}
