#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reference.py BUILD: programs whose calls Darshan itself has counted, under our capture.

The sources and Darshan's logs are in the folder `reference` of $IORAMA_SHARED. Every integer counter of every
file must be the same, but for those that depend on time, on the file system, or that are known to be better."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Failed, Log, Skip, main, must, shared_folder  # noqa: E402

TIMED = ("_TIME_SIZE",)
BY_FILE_SYSTEM = ("POSIX_FILE_ALIGNMENT", "POSIX_FILE_NOT_ALIGNED")
# what Darshan does not see with this C library: fstat, stat and lstat of "misc"
BETTER = {("POSIX", "misc", "POSIX_STATS"): 3}
# and records: compilers turn printf of a line into puts
MORE = {"STDIO": {"<STDOUT>"}}
# bytes of our log before the annex, which Darshan's logs have not, for one of theirs; its times are whole quarters of a
# microsecond, ours whole nanoseconds
LARGER = 1.2


def by_base_name(log, module):
    found = {}
    for record in log.records(module):
        found[os.path.basename(record["name"] or "?")] = record
    return found


def compare(name, ours, theirs, problems):
    for module in ("POSIX", "STDIO"):
        mine, other = by_base_name(ours, module), by_base_name(theirs, module)
        for file in MORE.get(module, set()) & set(mine) - set(other):
            del mine[file]
        if set(mine) != set(other):
            problems.append("%s %s: records of %s, not %s" % (name, module, sorted(mine), sorted(other)))
        for file in sorted(set(mine) & set(other)):
            a, b = mine[file]["counters"], other[file]["counters"]
            same_blocks = a.get("POSIX_FILE_ALIGNMENT") == b.get("POSIX_FILE_ALIGNMENT")
            for counter in b:
                if "_F_" in counter or counter.endswith(TIMED) or (counter in BY_FILE_SYSTEM and not same_blocks):
                    continue
                want = BETTER.get((module, file, counter), b[counter])
                if counter == "POSIX_RENAMED_FROM" and int(want):
                    want = mine["misc"]["id"]  # the name there is another
                if int(a[counter]) != int(want):
                    problems.append("%s %s %s: %s is %s, not %s" % (name, module, file, counter, a[counter], want))
    ours_traced, theirs_traced = traces(ours), traces(theirs)
    for file in sorted(set(ours_traced) | set(theirs_traced)):
        if ours_traced.get(file) != theirs_traced.get(file):
            problems.append("%s: the trace of %s differs" % (name, file))


def size(path):
    """Without the annex: its place stands in the footer."""
    with open(path, "rb") as log:
        stored = log.read()
    return int.from_bytes(stored[-48:-40], sys.byteorder) if stored.endswith(b"IORANNEX") else len(stored)


def traces(log):
    found = {}
    for record in log.trace_records("DXT_POSIX"):
        moves = {kind: [event[:2] for event in record.get(kind, [])] for kind in ("reads", "writes")}
        found[os.path.basename(record["name"])] = moves
    return found


def check(harness, folder, name):
    program = os.path.join(harness.bin, "reference-" + name)
    source = os.path.join(folder, name + ".c")
    done = subprocess.run([harness.cc, "-w", "-o", program, source], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed("%s does not compile: %s" % (name, done.stderr[-500:]))
    problems = []
    theirs = Log(harness.iorama, os.path.join(folder, name + ".darshan"), True)
    for mode in ("bare", "trace", "run"):
        # like for like: Darshan's logs do not say which places in a program moved the bytes
        run = harness.start([program, "."], mode, env={"IORAMA_SITES": "0"})
        if run.status != 0 or len(run.logs) != 1:
            problems.append("%s, %s: status %d, %d logs: %r" % (name, mode, run.status, len(run.logs), run.err[-300:]))
            continue
        if mode != "trace":
            run.logs[0].traces = theirs.traces
        compare("%s, %s" % (name, mode), run.logs[0], theirs, problems)
        mine, other = size(run.logs[0].path), os.path.getsize(theirs.path)
        if mine > LARGER * other:
            problems.append("%s, %s: %d bytes, Darshan %d" % (name, mode, mine, other))
    return problems


def compared(name):
    def case(harness):
        folder = os.path.join(shared_folder() or "", "reference")
        if not os.path.isdir(folder):
            raise Skip("the reference logs are not here")
        must(not (problems := check(harness, folder, name)), "%s", "\n".join(problems))

    return case


if __name__ == "__main__":
    main({"reference-" + name: compared(name) for name in ("posix", "stdio")})
