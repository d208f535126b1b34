#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""export.py IORAMA TABLES: what `iorama export` writes, read again by rules of the formats.

The trace is made here, so that the truth is known: two ranks with calls of MPI-IO that have POSIX calls inside, threads
whose calls overlap, times that meet to the nanosecond."""
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
for folder in ("cli", "gen"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import logs  # noqa: E402
from layout import load_tables  # noqa: E402

NAME = b'/scratch/a "b",\xc3\xa4.dat'
# (rank, module, kind, offset, length, start, end, thread)
TRUTH = [
    (0, "DXT_MPIIO", "write", 0, 3000, 1.0, 2.0, 7),
    (0, "DXT_POSIX", "write", 0, 1000, 1.0, 1.25, 7),
    (0, "DXT_POSIX", "write", 1000, 2000, 1.25, 2.0, 7),
    (0, "DXT_POSIX", "read", 0, 50, 1.5, 2.5, 8),  # another thread: overlaps, and is not inside
    (0, "DXT_POSIX", "read", 50, 60, 3.0, 3.000000001, 7),
    (1, "DXT_MPIIO", "read", 0, 10, 4.0, 4.5, 1),
    (1, "DXT_POSIX", "read", 0, 4096, 4.1, 4.4, 1),
    (1, "DXT_POSIX", "write", 9000, 7, 4.45, 4.6, 2),  # begins within the call above, and outlasts it
    (1, "DXT_POSIX", "write", 8192, 5, 5.0, 5.0, 1),  # took no time
]
LAYER = {"DXT_MPIIO": "MPI-IO", "DXT_POSIX": "POSIX"}


def must(what, ours, want):
    if ours != want:
        raise SystemExit("export: %s: %r, must be %r" % (what, ours, want))


def make_log(maker):
    log = maker.log("nest", end=1700000010)
    for module in LAYER:
        for rank in (0, 1):
            segments = {
                kind: [row[3:] for row in TRUTH if row[:3] == (rank, module, kind)] for kind in ("write", "read")
            }
            values = {"DXT_HOSTNAME": b"node%d" % rank}
            for kind in segments:
                values["DXT_%s_COUNT" % kind.upper()] = len(segments[kind])
            maker.add(log, module, NAME, rank, values, segments)
    maker.write(log)


def run(*args, status=0):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode != status:
        raise SystemExit("export: %s: status %d, %s" % (" ".join(args), done.returncode, done.stderr))
    return done.stdout, done.stderr


def nanoseconds(number):
    """Exact, from the text: a double would not hold it."""
    whole, part = number.split(".")
    must("digits of a time", len(part), 3)
    return int(whole) * 1000 + int(part)


def check_event(event):
    """The Trace Event Format: which keys an event of each phase has, and their types."""
    must("phase of %r" % event, event["ph"] in "XMC", True)
    must("pid and tid of %r" % event, [type(event[key]) for key in ("pid", "tid")], [int, int])
    must("a pid that is not the kernel's", event["pid"] > 0, True)
    must("name and args of %r" % event, (type(event["name"]), type(event["args"])), (str, dict))
    if event["ph"] == "M":
        wanted = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}
        must("args of %r" % event, list(event["args"]), [wanted[event["name"]]])
        return
    must("time of %r" % event, re.fullmatch(r"\d+\.\d{3}", event["ts"]) is not None, True)
    if event["ph"] == "X":
        must("length of %r" % event, re.fullmatch(r"\d+\.\d{3}", event["dur"]) is not None, True)
    else:
        must("values of %r" % event, [float(x) >= 0 for x in event["args"].values()], [True, True])


def spans(events):
    for event in events:
        start = nanoseconds(event["ts"])
        yield start, start + nanoseconds(event["dur"]), event


def check_nesting(events):
    """On one track one is inside the other, or they do not overlap; depth of each event."""
    tracks, depth = collections.defaultdict(list), {}
    for start, end, event in spans(events):
        tracks[event["pid"], event["tid"]].append((start, -end, id(event), event))
    for track in tracks.values():
        open_ones = []
        for start, end, _, event in sorted(track, key=lambda x: x[:2]):
            while open_ones and open_ones[-1] <= start:
                open_ones.pop()
            must("an event within the one above, %r" % event, not open_ones or -end <= open_ones[-1], True)
            depth[id(event)] = len(open_ones)
            open_ones.append(-end)
    return depth


def check_perfetto(text, program):
    trace = json.loads(text, parse_float=str)
    must("parts", sorted(trace), ["displayTimeUnit", "otherData", "traceEvents"])
    events = trace["traceEvents"]
    for event in events:
        check_event(event)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    must("processes", processes, {1: "rank 0 on node0", 2: "rank 1 on node1", 3: program})
    must("numbers of tracks, each once", len({tid for _, tid in names}), len(names))
    slices = [e for e in events if e["ph"] == "X"]
    depth = check_nesting(slices)
    ours = collections.Counter()
    for start, end, e in spans(slices):
        if e["cat"] in LAYER.values():
            must("its track", names[e["pid"], e["tid"]].split(" ")[0], e["cat"])
            must("name", e["name"].split(" ")[0], e["cat"])
            must("file", e["args"]["file"], NAME.decode())
            args = e["args"]
            ours[e["pid"] - 1, e["cat"], e["name"].split(" ")[1], args["offset"], args["bytes"], start, end, args["thread"]] += 1
    want = collections.Counter(
        (r, LAYER[m], k, o, n, round(s * 1e9), round(e * 1e9), t) for r, m, k, o, n, s, e, t in TRUTH
    )
    must("operations", ours, want)
    nested = [(e["pid"] - 1, e["name"], e["args"]["offset"], depth[id(e)]) for e in slices if e["cat"] == "nested"]
    must("nested: all of them again", len(nested), len(TRUTH))
    must(
        "what is inside of another", sorted(x for x in nested if x[3] > 0),
        [(0, "POSIX write", 0, 1), (0, "POSIX write", 1000, 1), (1, "POSIX read", 0, 1)],
    )  # fmt: skip
    check_counters([e for e in events if e["ph"] == "C"])


def check_counters(events):
    """What a counter adds up to over time are the bytes that were moved."""
    series = collections.defaultdict(list)
    for e in events:
        series[e["pid"], e["name"]].append((nanoseconds(e["ts"]) / 1e9, float(e["args"]["read"]), float(e["args"]["written"])))
    must("counters", sorted(series), [(3, "MPI-IO bytes/s"), (3, "POSIX bytes/s")])
    for (_, name), values in series.items():
        must("order of " + name, values, sorted(values))
        must("the end of " + name, values[-1][1:], (0, 0))
        for column, kind in ((1, "read"), (2, "write")):
            total = sum((b[0] - a[0]) * a[column] for a, b in zip(values, values[1:]))
            want = sum(row[4] for row in TRUTH if row[2] == kind and LAYER[row[1]] == name.split(" ")[0])
            must("%s, %s" % (name, kind), abs(total - want) < 1e-3 * max(1, want), True)


def check_csv(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    ours = sorted(
        (int(r["rank"]), r["layer"], r["operation"], int(r["offset"]), int(r["length"]), r["start"], r["end"], int(r["thread"]))
        for r in rows
    )
    must("lines", ours, sorted((r, LAYER[m], k, o, n, "%.9f" % s, "%.9f" % e, t) for r, m, k, o, n, s, e, t in TRUTH))
    must("names and hosts", {(r["file"], r["host"]) for r in rows}, {(NAME.decode(), "node0"), (NAME.decode(), "node1")})
    must("depth", sum(int(r["depth"]) for r in rows), 3)


def check_otf2(iorama):
    said = subprocess.run([iorama, "export", "--otf2", "nest.darshan"], capture_output=True, text=True)
    if "built without OTF2" in said.stderr or shutil.which("otf2-print") is None:
        must("status without OTF2", said.returncode, 0 if said.stderr == "iorama: wrote nest.otf2\n" else 4)
        print("export: OTF2 is not there: not checked")
        return
    must("otf2", (said.returncode, said.stderr), (0, "iorama: wrote nest.otf2\n"))
    text, said = run("otf2-print", "nest.otf2/traces.otf2")
    must("what otf2-print complains of", said, "")
    begins = re.findall(r"^IO_OPERATION_BEGIN +(\d+) +(\d+) .*?Mode: (\w+).*?Bytes Request: (\d+)", text, re.M)
    must("operations begun", len(begins), len(TRUTH))
    for kind in ("read", "write"):
        bytes_of = sum(int(n) for _, _, mode, n in begins if mode.lower() == kind)
        must("bytes of " + kind, bytes_of, sum(row[4] for row in TRUTH if row[2] == kind))
    must("regions entered", len(re.findall(r"^ENTER ", text, re.M)), len(TRUTH))
    must("regions left", len(re.findall(r"^LEAVE ", text, re.M)), len(TRUTH))
    must("times", sorted(int(b[1]) for b in begins), sorted(round(row[5] * 1e9) for row in TRUTH))
    text, _ = run("otf2-print", "-G", "nest.otf2/traces.otf2")
    for want in ("MPI-IO write", "POSIX read", "rank 1", "node0", NAME.decode()):
        must("definition of " + want, '"%s"' % want in text, True)
    _, said = run(iorama, "export", "--otf2", "nest.darshan", status=4)
    must("an archive that is there already", "nest.otf2: " in said, True)


def main():
    iorama, tables = os.path.abspath(sys.argv[1]), load_tables(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        logs.make_all(tables, folder)
        make_log(logs.Maker(tables, folder))
        program = json.loads(run(iorama, "report", "--json", "nest.darshan")[0])["job"]["name"]
        text, said = run(iorama, "export", "--perfetto", "nest.darshan")
        must("told", said, "iorama: wrote nest.perfetto.json\n")
        with open("nest.perfetto.json", encoding="utf-8") as stream:
            check_perfetto(stream.read(), program)
        check_csv(run(iorama, "export", "--csv", "-o", "-", "nest.darshan")[0])
        check_otf2(iorama)
    print("export: ok")


if __name__ == "__main__":
    main()
