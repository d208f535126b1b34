// SPDX-License-Identifier: BSD-3-Clause
// words.mjs DATA: the pure parts of the page, without a browser: numbers as words, rows, strips.
import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(resolve(join(process.argv[2], name))));
const f = await load("format.js");
const rows = await load("rows.js");
const strips = await load("strips.js");
const ops = await load("ops.js");
const { csv } = await load("export.js");

const same = (list, call) => list.forEach(([input, words]) => assert.equal(call(input), words));

// the words of src/base/human.h
same(
  [
    [0, "0 B"],
    [512, "512 B"],
    [1023, "1023 B"],
    [1024, "1.0 KiB"],
    [25690112, "24.5 MiB"],
    [304620000000, "283.7 GiB"],
    [1048575, "1.0 MiB"],
    [null, "–"],
  ],
  f.bytes,
);
same(
  [
    [0, "0 s"],
    [13e-6, "13 µs"],
    [2.31e-3, "2.31 ms"],
    [0.42, "0.42 s"],
    [9.81, "9.81 s"],
    [45.3, "45.3 s"],
    [612, "612 s"],
    [12345, "12,345 s"],
    [0.0999, "99.9 ms"],
    [99.96, "100 s"],
  ],
  f.seconds,
);
same(
  [
    [45, "45.0 s"],
    [727.2, "12 min 7 s"],
    [12000, "3 h 20 min"],
    [190800, "2 d 5 h"],
    [59.99, "1 min 0 s"],
  ],
  f.duration,
);
same(
  [
    [0, "0 %"],
    [0.0001, "< 0.1 %"],
    [0.042, "4.2 %"],
    [0.84, "84 %"],
    [0.996, "99.6 %"],
    [0.9999, "> 99.9 %"],
    [1, "100 %"],
  ],
  f.share,
);
same(
  [
    [3.93, "3.9×"],
    [64, "64×"],
    [1200, "1,200×"],
  ],
  f.ratio,
);
same(
  [
    [0, "0"],
    [999, "999"],
    [1000, "1,000"],
    [1234567, "1,234,567"],
  ],
  f.count,
);
assert.equal(f.value("count", 0.5), "0.50");
assert.equal(f.cell(0.004, 2), "< 0.01");
assert.equal(f.date("2022-03-02T19:52:01Z"), "2 Mar 2022 19:52 UTC");
assert.deepEqual(f.byteUnit(5 * 1048576), { name: "MiB", size: 1048576 });

// unknown values come last, whichever way; numbers in names count as numbers
const list = [{ v: 2 }, { v: null }, { v: 10 }, { v: 1 }];
assert.deepEqual(
  rows.sorted(list, (r) => r.v, true).map((r) => r.v),
  [10, 2, 1, null],
);
assert.deepEqual(
  rows.sorted(list, (r) => r.v, false).map((r) => r.v),
  [1, 2, 10, null],
);
assert.deepEqual(
  rows.sorted(["f10", "f9"], (x) => x, false),
  ["f9", "f10"],
);
assert.ok(rows.matches("/Scratch/out.7.h5", "H5 out"));
assert.ok(!rows.matches("/scratch/out.7.h5", "nc"));

const strip = {
  layer: "POSIX",
  ranks: 4,
  rows: 2,
  bins: 5,
  width: 2,
  first: [0, 2, 4],
  write_sum: [0, 0, 8, 0, 0, 0, 0, 2, 0, 0],
  read_sum: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  write_max: [0, 0, 5, 0, 0, 0, 0, 2, 0, 0],
  read_max: new Array(10).fill(0),
  bin_write: [0, 0, 10, 0, 0],
  bin_read: [0, 0, 0, 0, 0],
};
assert.deepEqual(strips.active([strip], 10), [4, 6]);
assert.deepEqual(
  strips.homeWindow([strip], 10).map((t) => Math.round(t * 100)),
  [396, 604],
);
assert.deepEqual(strips.binsOf(strip, [4, 6]), [2, 3]);
assert.deepEqual(strips.rowSums(strip, [0, 10]), [
  { read: 0, write: 8 },
  { read: 0, write: 2 },
]);
assert.equal(strips.rowLabel(strip, 1), "ranks 2–3");
assert.equal(strips.cellValue(strip, "max", "both", 2), 5);
assert.equal(strips.cellValue(strip, "sum", "read", 2), 0);
assert.deepEqual(strips.range(strip.write_sum), [2, 8]);
assert.deepEqual(strips.ticks(0, 10, 5), { step: 2, list: [0, 2, 4, 6, 8, 10] });

same(
  [
    [0, 0],
    [100, 0],
    [101, 1],
    [1024, 1],
    [1025, 2],
    [1048576, 4],
    [1048577, 5],
    [2 ** 40, 9],
  ],
  ops.sizeClass,
);
const few = { n: 2, rank: [0, 1], start: [1, 1], end: [2, 3], layer: ["POSIX", "POSIX"] };
assert.deepEqual(ops.within(few, "POSIX", [2.5, 4]), [1]);
assert.equal(ops.nearest(few, [0, 1], 1, 2, 0.1), 1);
assert.equal(ops.nearest(few, [0, 1], 0, 2.5, 0.1), -1);

assert.equal(
  csv([
    ["a", 'b"c'],
    [null, "x,y"],
  ]),
  'a,"b""c"\n,"x,y"\n',
);
console.log("all as said");
