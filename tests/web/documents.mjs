// SPDX-License-Identifier: BSD-3-Clause
// documents.mjs: report documents of known content, for tests of the page alone. Each says what a job of that kind would.
import { gzipSync } from "node:zlib";

const MiB = 1048576;
const CLASSES = [
  "0–100 B",
  "100 B–1 KiB",
  "1–10 KiB",
  "10–100 KiB",
  "100 KiB–1 MiB",
  "1–4 MiB",
  "4–10 MiB",
  "10–100 MiB",
  "100 MiB–1 GiB",
  "> 1 GiB",
];

// numbers that look random and are the same every time
function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}
const zeros = (n) => new Array(n).fill(0);
const add = (list) => list.reduce((a, b) => a + b, 0);

// A strip from moves(rank, bin) -> [read, written], for as many ranks as rows or several ranks in a row.
function strip(layer, { ranks, rows, bins, runTime, from = "heatmap" }, moves) {
  const s = {
    layer,
    from,
    ranks,
    rows,
    bins,
    width: runTime / bins,
    first: Array.from({ length: rows + 1 }, (_, r) => Math.floor((r * ranks) / rows)),
    write_sum: zeros(rows * bins),
    read_sum: zeros(rows * bins),
    write_max: null,
    read_max: null,
    bin_write: zeros(bins),
    bin_read: zeros(bins),
    rank_write: zeros(ranks),
    rank_read: zeros(ranks),
  };
  if (rows < ranks) Object.assign(s, { write_max: zeros(rows * bins), read_max: zeros(rows * bins) });
  for (let row = 0; row < rows; row++)
    for (let rank = s.first[row]; rank < s.first[row + 1]; rank++)
      for (let bin = 0; bin < bins; bin++) {
        const [read, written] = moves(rank, bin).map(Math.round);
        const at = row * bins + bin;
        s.read_sum[at] += read;
        s.write_sum[at] += written;
        s.bin_read[bin] += read;
        s.bin_write[bin] += written;
        s.rank_read[rank] += read;
        s.rank_write[rank] += written;
        if (s.write_max) {
          s.write_max[at] = Math.max(s.write_max[at], written);
          s.read_max[at] = Math.max(s.read_max[at], read);
        }
      }
  return s;
}

function layer(name, ranks, io, slow) {
  const mean = { read: io.read_time / ranks, write: io.write_time / ranks, meta: io.meta_time / ranks };
  return {
    name,
    label: name,
    files: io.files,
    records: io.files,
    reads: io.reads,
    writes: io.writes,
    metas: io.metas,
    bytes_read: io.bytes_read,
    bytes_written: io.bytes_written,
    read_time: io.read_time,
    write_time: io.write_time,
    meta_time: io.meta_time,
    mean,
    median: { read: mean.read * 0.8, write: mean.write * 0.9, meta: mean.meta },
    slowest: { rank: slow, read: mean.read * 1.3, write: mean.write * 2.4, meta: mean.meta * 1.5 },
  };
}

function sizes(name, reads, writes, exact) {
  const typical = [50, 600, 5e3, 5e4, 5e5, 2 * MiB, 6 * MiB, 4e7, 4e8, 2e9];
  const part = (counts) => ({
    count: counts,
    bytes: counts.map((n, i) => n * typical[i]),
    time: exact ? counts.map((n, i) => n * (2e-5 + typical[i] / 2e9)) : null,
  });
  return { layer: name, exact, classes: CLASSES, read: part(reads), write: part(writes) };
}

function empty(name, runTime, nprocs) {
  return {
    schema: "iorama-report",
    version: 1,
    tool: "iorama 0.1.0",
    logs: [`${name}.darshan`],
    job: {
      id: "586491",
      uid: 1000,
      exe: `/apps/bin/${name} -k run.cfg`,
      name,
      start: "2022-03-02T19:52:01Z",
      start_s: 1646250721,
      run_time: runTime,
      nprocs,
      nodes: null,
      hosts: [],
      metadata: { lib_ver: "3.4.0" },
      log_version: "3.41",
    },
    verdict: {
      text: `I/O took 0.4 s of ${runTime} s. Nothing to gain here.`,
      level: "OK",
      io_time: 0.4,
      io_share: 0.4 / runTime,
      io_rank: 0,
      mean_io_time: 0.3,
      busy_time: null,
      read_share: 0.001,
      write_share: 0.0008,
      meta_share: 0.0001,
      other_share: 0.9981,
    },
    complete: true,
    banner: [],
    totals: {
      bytes_read: 0,
      bytes_written: 0,
      reads: 0,
      writes: 0,
      metas: 0,
      files: 0,
      groups: 0,
      rate: null,
      active_ranks: null,
      traced_segments: 0,
      std_bytes_read: 0,
      std_bytes_written: 0,
    },
    findings: [],
    checks: {
      total: 3,
      found: 0,
      passed: 2,
      not_applicable: 1,
      rules: [
        { rule: "P01", state: "passed", title: "Small reads" },
        { rule: "P02", state: "passed", title: "Small writes" },
        { rule: "H01", state: "not_applicable", title: "HDF5 chunks" },
      ],
    },
    layers: [],
    sizes: [],
    pattern: [],
    operations: [],
    timeline: { run_time: runTime, strips: [], phases: [], phases_from: "heatmap" },
    trace: null,
    files: { total: 0, shown: 0, order: "time", rows: [], groups: [] },
    ranks: { total: nprocs, rows: [], shown: 0, sorted: [], mean: null, median: null },
    mounts: [],
    lustre: null,
    modules: [{ name: "POSIX", version: 4, records: 3, partial: false }],
    counters: { POSIX: { POSIX_OPENS: 12, POSIX_F_READ_TIME: 0.25 } },
    limits: [
      {
        name: "small_requests",
        value: 0.1,
        unit: "share",
        doc: "share of requests under 1 MiB worth a warning",
        source: "default",
      },
    ],
    glossary: [{ term: "data sieving", text: "MPI-IO reads a large block, changes parts of it and writes it back." }],
  };
}

function finding(rule, level, cost, share, title, more = {}) {
  return {
    rule,
    level,
    confidence: "high",
    title,
    topic: "writes",
    cost_s: cost,
    cost_share: share,
    bytes: 0,
    evidence: "",
    how: "",
    values: [],
    culprits: [],
    culprits_total: 0,
    window: null,
    advice: "",
    advice_ref: null,
    snippets: [],
    drishti: [],
    ...more,
  };
}

function file(index, name, group, more) {
  return {
    name,
    id: String(10n ** 18n + BigInt(index)),
    group,
    mount: "/scratch",
    top: "POSIX",
    ranks: 1,
    shared: false,
    rank: index,
    reads: 0,
    writes: 0,
    metas: 3,
    bytes_read: 0,
    bytes_written: 0,
    read_time: 0,
    write_time: 0,
    meta_time: 0.01,
    start: 0,
    end: 1,
    slow_rank: index,
    layers: { POSIX: {} },
    stripe_count: null,
    stripe_size: null,
    ...more,
  };
}

function rankRows(n, time) {
  const rows = Array.from({ length: n }, (_, rank) => ({
    rank,
    host: `nid${String(Math.floor(rank / 64)).padStart(3, "0")}`,
    pid: null,
    read_time: time(rank) * 0.1,
    write_time: time(rank) * 0.85,
    meta_time: time(rank) * 0.05,
    bytes_read: 1000 * rank,
    bytes_written: rank % 9 ? 0 : 5e9,
    reads: rank,
    writes: 10 * rank,
    files: rank % 3,
    estimated: false,
  }));
  const all = rows.map((r) => r.read_time + r.write_time + r.meta_time).sort((a, b) => b - a);
  return { total: n, shown: n, rows, sorted: all, mean: add(all) / n, median: all[Math.floor(n / 2)] };
}

// 512 ranks, one in nine writes, MPI-IO above POSIX, amplified; files by pattern; Lustre
export function big() {
  const [n, runTime, bins] = [512, 727.2, 200];
  const roll = dice(7);
  const d = empty("e3sm_io", runTime, n);
  const burst = (bin) => bin > 4 && bin < 194 && bin % 24 < 15;
  const app = strip("MPI-IO", { ranks: n, rows: 128, bins, runTime }, (rank, bin) => [
    bin < 5 ? 2048 : 0,
    burst(bin) ? 1.4e6 * roll() : 0,
  ]);
  const disk = strip("POSIX", { ranks: n, rows: 128, bins, runTime }, (rank, bin) =>
    rank % 9 || !burst(bin) ? [0, 0] : [4e6 * roll(), (rank === 387 ? 8e8 : 5e7) * roll()],
  );
  const std = strip("STDIO", { ranks: n, rows: 128, bins, runTime }, (rank, bin) =>
    rank === 0 && bin % 20 === 3 ? [0, 300] : [0, 0],
  );
  d.timeline.strips = [app, disk, std];
  d.timeline.phases = [
    {
      start: 18,
      end: 60,
      bytes_read: 0,
      bytes_written: 3e10,
      reads: 0,
      writes: 9000,
      ranks: 57,
      slow_rank: 387,
      slow_busy: 40,
      median_busy: 22,
      wait: 12.5,
      file: null,
      offset: 0,
      length: 0,
      op_start: 0,
      op_end: 0,
      op: null,
    },
  ];
  const written = add(disk.bin_write);
  Object.assign(d.verdict, {
    level: "HIGH",
    text: "I/O took 612 s of 727 s (84 %). Writing can_I_out_h0.nc moves 3.9× the data it needs to: about 450 s lost.",
    io_time: 612,
    io_share: 612 / 727.2,
    io_rank: 387,
    read_share: 0.03,
    write_share: 0.79,
    meta_share: 0.02,
    other_share: 0.16,
  });
  Object.assign(d.totals, {
    bytes_read: add(disk.bin_read),
    bytes_written: written,
    reads: 1234,
    writes: 305246,
    metas: 900,
    files: 515,
    groups: 3,
    rate: 498000000,
    active_ranks: 57,
  });
  d.findings = [
    finding("W01", "HIGH", 450, 0.62, "MPI-IO writes of 71.8 GiB became 282.3 GiB on disk (3.9×)", {
      bytes: 226e9,
      evidence: "can_I_out_h0.nc, 305,246 writes, data sieving past the end of the file, t = 12–710 s",
      window: [18, 705],
      how: "210.5 GiB written in vain at 475 MiB/s.",
      advice: "Switch data sieving for writes off, or write collectively.",
      values: [
        { name: "mpiio_written", doc: "bytes written by MPI-IO", unit: "bytes", value: 77.06e9 },
        { name: "amplification", doc: "written on disk per byte asked for", unit: "ratio", value: 3.93 },
      ],
      culprits: [
        {
          kind: "file",
          name: "/scratch/project/run42/output/monthly/can_I_out_h0.nc",
          text: "282.3 GiB for 71.8 GiB",
          value: 1,
          id: "1000000000000000000",
        },
      ],
      culprits_total: 4,
      snippets: [
        {
          language: "C",
          title: "MPI-IO: no data sieving",
          text: 'MPI_Info_create(&info);\nMPI_Info_set(info, "romio_ds_write", "disable");\nMPI_File_open(comm, "can_I_out_h0.nc", MPI_MODE_WRONLY | MPI_MODE_CREATE, info, &fh);\n',
        },
        {
          language: "shell",
          title: "the same without a change of the program",
          text: "echo 'romio_ds_write disable' > hints\nexport ROMIO_HINTS=$PWD/hints\n",
        },
      ],
      drishti: ["M02"],
    }),
    finding("A03", "WARN", 38, 0.052, "57 of 512 ranks write; 455 wait for them", {
      evidence: "nid000 … nid007",
      window: [300, 420],
      advice: "One or two aggregators per node.",
      advice_ref: null,
      culprits: [{ kind: "rank", name: "rank 387", text: "40.1 s", value: 40.1, id: null }],
      culprits_total: 1,
    }),
    finding("S02", "WARN", 9.5, 0.013, "can_I_out_h0.nc lies on 1 of 248 storage targets", { advice_ref: "W01" }),
    finding("P05", "INFO", 0.4, 0.0005, "8 % of reads are smaller than 1 MiB"),
    finding("T01", "OK", 0, 0, "No rank waits for metadata"),
  ];
  d.checks = {
    total: 61,
    found: 4,
    passed: 48,
    not_applicable: 9,
    rules: Array.from({ length: 61 }, (_, i) => ({
      rule: `R${String(i).padStart(2, "0")}`,
      state: i < 4 ? "found" : i < 52 ? "passed" : "not_applicable",
      title: `Rule number ${i} about things`,
    })),
  };
  const io = {
    files: 515,
    reads: 1234,
    writes: 305246,
    metas: 900,
    bytes_read: 1e8,
    bytes_written: written,
    read_time: 900,
    write_time: 120000,
    meta_time: 3000,
  };
  d.layers = [
    layer("MPI-IO", n, { ...io, writes: 9000, write_time: 140000 }, 387),
    layer("POSIX", n, io, 387),
    layer("STDIO", n, { ...io, files: 1, write_time: 0.2, read_time: 0, meta_time: 0.01 }, 0),
  ];
  d.sizes = [
    sizes("MPI-IO", zeros(10), [0, 0, 12, 800, 7000, 1188, 0, 0, 0, 0], false),
    sizes("POSIX", [900, 0, 0, 0, 334, 0, 0, 0, 0, 0], [14, 200, 3000, 40000, 262032, 0, 0, 0, 0, 0], false),
  ];
  d.pattern = [
    {
      layer: "POSIX",
      read: { consecutive: 900, sequential: 200, random: 34 },
      write: { consecutive: 1200, sequential: 280000, random: 24046 },
      switches: 1100,
      unaligned: { file: 290000, memory: 12 },
      common: [
        { size: 524288, count: 262032 },
        { size: 65536, count: 40000 },
        { size: 4096, count: 3000 },
        { size: 512, count: 200 },
      ],
    },
  ];
  d.operations = [
    ["opens", 515],
    ["reads", 1234],
    ["writes", 305246],
    ["seeks", 12],
    ["stats", 370],
    ["syncs", 3],
  ].map(([name, count]) => ({ layer: "POSIX", name, count }));
  d.operations.push(
    { layer: "MPI-IO", name: "independent writes", count: 9000 },
    { layer: "MPI-IO", name: "opens", count: 3 },
  );
  const rows = [
    file(0, "/scratch/project/run42/output/monthly/can_I_out_h0.nc", 0, {
      top: "MPI-IO",
      ranks: 512,
      shared: true,
      rank: null,
      writes: 9000,
      bytes_written: 77.06e9,
      write_time: 118000,
      start: 18,
      end: 705,
      stripe_count: 1,
      stripe_size: MiB,
      layers: { "MPI-IO": {}, POSIX: {} },
    }),
    file(1, "/scratch/project/run42/input/map.nc", 1, {
      ranks: 512,
      reads: 1234,
      bytes_read: 24.5 * MiB,
      read_time: 900,
      start: 0.5,
      end: 17,
      stripe_count: 8,
    }),
  ];
  for (let i = 0; i < 40; i++)
    rows.push(
      file(i + 2, `/scratch/project/run42/log/rank.${String(i).padStart(4, "0")}.log`, 2, {
        writes: 3 + i,
        bytes_written: 100 * (i + 1),
        write_time: 0.001 * (40 - i),
        start: 700 + i / 2,
        end: 727,
      }),
    );
  d.files = {
    total: 515,
    shown: 42,
    order: "time",
    rows,
    groups: [
      { pattern: rows[0].name, files: 1, reads: 0, writes: 9000, bytes_read: 0, bytes_written: 77.06e9, time: 118000 },
      { pattern: rows[1].name, files: 1, reads: 1234, writes: 0, bytes_read: 24.5 * MiB, bytes_written: 0, time: 900 },
      {
        pattern: "/scratch/project/run42/log/rank.####.log",
        files: 513,
        reads: 0,
        writes: 12000,
        bytes_read: 0,
        bytes_written: 900000,
        time: 12.5,
      },
    ],
  };
  d.ranks = rankRows(n, (rank) => (rank === 387 ? 612 : rank % 9 ? 210 + 30 * roll() : 380 + 60 * roll()));
  d.mounts = [
    { path: "/scratch", type: "lustre", files: 515, bytes_read: 1e8, bytes_written: written, time: 120900 },
    { path: "/home", type: "nfs4", files: 2, bytes_read: 4096, bytes_written: 0, time: 0.4 },
  ];
  d.lustre = {
    osts: Array.from({ length: 12 }, (_, i) => ({
      ost: 10 + i,
      files: 43,
      bytes: 2e9 + 1e8 * i,
      time: i === 4 ? 900 : 150 + 5 * i,
      mean: i === 4 ? 20 : 3.5,
      slowest: i === 4 ? 48 : 6,
      alone: 43,
    })),
  };
  return d;
}

// 8 ranks with a trace of 960 operations, all kept, and the offsets of one file
// Each MPI-IO call with the POSIX calls inside of it, and a call of HDF5 around it.
function callsOf(list) {
  const functions = ["H5Dwrite", "MPI_File_write_at", "pread", "pwrite"];
  const calls = { n: 0, all: true, functions };
  for (const key of ["layer", "function", "kind", "parent", "file", "rank", "bytes", "start", "end"]) calls[key] = [];
  const put = (layer, name, parent, op) => {
    const one = { ...op, layer, function: functions.indexOf(name), parent, bytes: op.length };
    for (const key of Object.keys(calls))
      if (Array.isArray(calls[key]) && key !== "functions") calls[key].push(one[key]);
    return calls.n++;
  };
  for (const op of list.filter((o) => o.layer === "MPI-IO")) {
    const top = put("H5D", "H5Dwrite", -1, { ...op, start: op.start - 0.001, end: op.end + 0.002 });
    const mid = put("MPI-IO", "MPI_File_write_at", top, op);
    for (const below of list.filter(
      (o) => o.layer === "POSIX" && o.rank === op.rank && o.start >= op.start && o.end <= op.end + 1e-9,
    ))
      put("POSIX", below.kind ? "pread" : "pwrite", mid, below);
  }
  return calls;
}

export function traced() {
  const [n, runTime, bins] = [8, 12, 120];
  const d = empty("solver", runTime, n);
  const ops = { n: 0, layer: [], kind: [], file: [], rank: [], offset: [], length: [], start: [], end: [] };
  const put = (op) => {
    for (const [k, v] of Object.entries(op)) ops[k].push(v);
    ops.n++;
  };
  const list = [];
  for (let step = 0; step < 30; step++)
    for (let rank = 0; rank < n; rank++) {
      const start = 4 + step * 0.2 + rank * 0.002;
      const slow = rank === 5 ? 4 : 1;
      list.push({
        layer: "MPI-IO",
        kind: 0,
        file: 0,
        rank,
        offset: (step * n + rank) * MiB,
        length: MiB,
        start,
        end: start + 0.03 * slow,
      });
      for (let k = 0; k < 3; k++)
        list.push({
          layer: "POSIX",
          kind: k === 0 ? 1 : 0,
          file: 0,
          rank,
          offset: (step * n + rank) * MiB + k * 262144,
          length: k === 2 ? 524288 : 262144,
          start: start + 0.009 * k * slow,
          end: start + 0.009 * (k + 1) * slow,
        });
    }
  list.sort((a, b) => a.start - b.start).forEach(put);
  const of = (name) => (rank, bin) => {
    let [read, written] = [0, 0];
    for (const op of list)
      if (op.layer === name && op.rank === rank && Math.floor(op.start / (runTime / bins)) === bin) {
        if (op.kind) read += op.length;
        else written += op.length;
      }
    return [read, written];
  };
  d.timeline.strips = ["MPI-IO", "POSIX"].map((name) =>
    strip(name, { ranks: n, rows: n, bins, runTime, from: "trace" }, of(name)),
  );
  const [rows, cols] = [64, 128];
  const grid = {
    file: "/scratch/out.bin",
    layer: "POSIX",
    size: 240 * MiB,
    t0: 4,
    t1: 10,
    rows,
    bins: cols,
    write: zeros(rows * cols),
    read: zeros(rows * cols),
  };
  for (const op of list.filter((o) => o.layer === "POSIX")) {
    const at =
      Math.min(rows - 1, Math.floor((op.offset / grid.size) * rows)) * cols +
      Math.min(cols - 1, Math.floor(((op.start - 4) / 6) * cols));
    grid[op.kind ? "read" : "write"][at] += op.length;
  }
  d.trace = {
    segments: ops.n,
    complete: true,
    ops_all: true,
    ops,
    names: ["/scratch/out.bin"],
    offsets: [grid],
    calls: callsOf(list),
  };
  d.totals = {
    ...d.totals,
    bytes_written: 30 * n * 786432,
    bytes_read: 30 * n * 262144,
    reads: 240,
    writes: 480,
    files: 1,
    groups: 1,
    rate: 4e7,
    active_ranks: 8,
    traced_segments: ops.n,
  };
  Object.assign(d.verdict, {
    text: "I/O took 3.2 s of 12.0 s (27 %). Rank 5 takes four times as long as the others.",
    level: "WARN",
    io_time: 3.24,
    io_share: 0.27,
    io_rank: 5,
    read_share: 0.09,
    write_share: 0.18,
    meta_share: 0,
    other_share: 0.73,
  });
  d.findings = [
    finding("S07", "WARN", 2.4, 0.2, "Rank 5 is busy 4.0 times as long as the median rank", {
      window: [6, 6.4],
      advice: "See what its node has that others lack.",
    }),
  ];
  d.layers = [
    layer(
      "POSIX",
      n,
      {
        files: 1,
        reads: 240,
        writes: 480,
        metas: 8,
        bytes_read: 30 * n * 262144,
        bytes_written: 30 * n * 786432,
        read_time: 3,
        write_time: 6,
        meta_time: 0.01,
      },
      5,
    ),
  ];
  d.sizes = [sizes("POSIX", [0, 0, 0, 0, 240, 0, 0, 0, 0, 0], [0, 0, 0, 0, 480, 0, 0, 0, 0, 0], true)];
  d.pattern = [
    {
      layer: "POSIX",
      read: { consecutive: 0, sequential: 232, random: 0 },
      write: { consecutive: 240, sequential: 232, random: 0 },
      switches: 480,
      unaligned: { file: 0, memory: 0 },
      common: [],
    },
  ];
  d.files = {
    total: 1,
    shown: 1,
    order: "time",
    rows: [
      file(0, "/scratch/out.bin", 0, {
        ranks: 8,
        shared: true,
        writes: 240,
        bytes_written: 240 * MiB,
        write_time: 9,
        start: 4,
        end: 10,
      }),
    ],
    groups: [
      {
        pattern: "/scratch/out.bin",
        files: 1,
        reads: 0,
        writes: 240,
        bytes_read: 0,
        bytes_written: 240 * MiB,
        time: 9,
      },
    ],
  };
  d.ranks = rankRows(n, (rank) => (rank === 5 ? 3.24 : 0.81));
  return d;
}

// one process, one file, nothing but counters
export function tiny() {
  const d = empty("cp", 0.02, 1);
  d.totals = { ...d.totals, bytes_read: 4096, bytes_written: 4096, reads: 1, writes: 1, files: 1, groups: 1 };
  d.files = {
    total: 1,
    shown: 1,
    order: "time",
    rows: [
      file(0, '/tmp/<a & "b">', 0, {
        reads: 1,
        writes: 1,
        bytes_read: 4096,
        bytes_written: 4096,
        read_time: 1e-5,
        write_time: 2e-5,
      }),
    ],
    groups: [
      { pattern: '/tmp/<a & "b">', files: 1, reads: 1, writes: 1, bytes_read: 4096, bytes_written: 4096, time: 3e-5 },
    ],
  };
  d.ranks = { total: 1, shown: 1, rows: [], sorted: [3e-5], mean: 3e-5, median: 3e-5 };
  return d;
}

// hardly any I/O, at the very end of the run: an empty start to cut
export function calm() {
  const [n, runTime, bins] = [16, 210, 100];
  const d = empty("md_run", runTime, n);
  d.timeline.strips = [
    strip("POSIX", { ranks: n, rows: n, bins, runTime }, (rank, bin) =>
      bin >= 90 && bin < 94 ? [0, 1e6 + rank] : [0, 0],
    ),
  ];
  d.totals = {
    ...d.totals,
    bytes_written: add(d.timeline.strips[0].bin_write),
    writes: 64,
    files: 16,
    groups: 1,
    active_ranks: 16,
  };
  d.ranks = rankRows(n, (rank) => 0.3 + rank / 160);
  return d;
}

// killed: a banner, a partial module, no rank known to be slow
export function partial() {
  const d = calm();
  d.complete = false;
  d.banner = ["3 of 16 processes were killed before they ended.", "1,234 events were lost."];
  d.modules = [{ name: "POSIX", version: 4, records: 16, partial: true }];
  d.verdict.io_rank = null;
  d.verdict.level = "INFO";
  d.findings = [finding("I01", "INFO", 0, 0, "The data are incomplete")];
  return d;
}

// a job that did nothing
export function nothing() {
  const d = empty("true", 0.01, 4);
  d.verdict.io_time = d.verdict.io_share = 0;
  d.ranks = rankRows(4, () => 0);
  return d;
}

// counts of a trillion and more
export function huge() {
  const d = big();
  const n = 1234567890123;
  Object.assign(d.totals, { reads: n, writes: 3 * n, files: n });
  for (const part of d.sizes) {
    part.read.count = part.read.count.map((v) => v * n);
    part.write.count = part.write.count.map((v) => v * n);
  }
  for (const o of d.operations) o.count *= n;
  for (const row of d.files.rows) row.writes = 7 * n;
  return d;
}

// processes of a shell script, in a run shorter than a bin of its heat map
export function short() {
  const d = traced();
  d.job = { ...d.job, processes: true, name: "all.sh", run_time: 0.01, programs: [
    { name: "python3", processes: 5, active: 5 },
    { name: "bash", processes: 2, active: 1 },
    { name: "true", processes: 40, active: 0 },
  ] }; // prettier-ignore
  d.job.nprocs = 47;
  d.totals = { ...d.totals, active_ranks: 6 };
  d.trace = null;
  d.findings = [];
  d.verdict = { ...d.verdict, text: "I/O took 2 ms of 10 ms (20 %)." };
  d.timeline = { ...d.timeline, run_time: 0.01, phases: [], strips: [
    strip("POSIX", { ranks: 2, rows: 2, bins: 1, runTime: 0.1 }, (rank) => [0, rank ? 0 : 1500]),
  ] }; // prettier-ignore
  return d;
}

// 2,000 ranks in 1,000 rows, of which one moves one byte once
export function needle() {
  const d = empty("needle", 40, 2000);
  d.timeline.strips = [
    strip("POSIX", { ranks: 2000, rows: 1000, bins: 40, runTime: 40 }, (rank, bin) =>
      rank === 1554 && bin === 13 ? [0, 1] : rank === 0 && (bin === 0 || bin === 39) ? [9, 9] : [0, 0],
    ),
  ];
  d.ranks = { total: 2000, shown: 0, rows: [], sorted: [], mean: null, median: null };
  return d;
}

export const documents = { big, traced, tiny, calm, partial };

// The page of a document, filled in as the program does it.
export function pageOf(template, report, picture = "<svg xmlns='http://www.w3.org/2000/svg'/>") {
  const parts = { title: report.job.name, picture, data: gzipSync(JSON.stringify(report)).toString("base64") };
  return template.replace(/@@iorama:(title|picture|data)@@/g, (_, name) => parts[name]);
}
