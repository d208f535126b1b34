#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""path.py BUILD CASE...: `iorama path` on jobs of which it is known how many writes each call is made of. --list prints
all cases. Sizes are drawn, and printed."""
import csv
import io
import os
import random
import sys

sys.dont_write_bytecode = True
import job  # noqa: E402
from job import Failed, run  # noqa: E402

RANKS = 3


def rows(case, log, *options):
    done = run([case.iorama, "path", "--csv", *options, log], case.folder)
    if done.returncode != 0 or done.stderr:
        raise Failed("path: status %d: %s" % (done.returncode, done.stderr))
    return list(csv.DictReader(io.StringIO(done.stdout)))


def number(row, name):
    return int(row[name])


def check_pieces(case, log, calls):
    """pieces follow each other and add up, for the job and for every call"""
    wrong = []
    for call in [None, *calls]:
        pieces = rows(case, log, "--critical", *(["--call", call["call"]] if call else []))
        for a, b in zip(pieces, pieces[1:]):
            if a["to"] != b["from"]:
                wrong.append("pieces of %s do not follow each other" % (call and call["call"]))
        took = sum(number(p, "time") for p in pieces)
        if call and took != number(call, "time"):
            wrong.append("pieces of call %s: %d ns, not %s" % (call["call"], took, call["time"]))
        if not call and (pieces[0]["from"] != "0" or took < max(number(c, "end") for c in calls)):
            wrong.append("pieces of the job: %d ns from %s" % (took, pieces[0]["from"]))
        if call:
            parts = sum(number(call, part) for part in ("before", "inside", "between", "after"))
            if parts != number(call, "time"):
                wrong.append("gaps of call %s do not add up" % call["call"])
    return wrong


def subs_of(calls, call):
    found = [c for c in calls if c["parent"] == call["call"] and c["layer"] == "POSIX"]
    lie = [c for c in found if c["rank"] != call["rank"] or number(c, "start") < number(call, "start")
           or number(c, "end") > number(call, "end") or c["link"] != "parent"]  # fmt: skip
    if lie or len(found) != number(call, "subcalls"):
        raise Failed("sub-calls of %s are not its own" % call["call"])
    return found


def spans(calls):
    return sorted((number(c, "offset"), number(c, "bytes")) for c in calls)


def check_collective(calls, block, count, buffer):
    """rank 0 writes all of it, one buffer at a time; the others nothing"""
    total, wrong = RANKS * block * count, []
    tops = [c for c in calls if c["layer"] == "MPI-IO"]
    if sorted(c["rank"] for c in tops) != [str(r) for r in range(RANKS)]:
        wrong.append("%d MPI calls" % len(tops))
    for top in tops:
        want = [(at, min(buffer, total - at)) for at in range(0, total, buffer)] if top["rank"] == "0" else []
        have = spans(subs_of(calls, top))
        if top["operation"] != "MPI_File_write_at_all" or have != want:
            wrong.append("rank %s %s: %s, not %s" % (top["rank"], top["operation"], have, want))
        if number(top, "bytes") != block * count:
            wrong.append("rank %s: %s bytes" % (top["rank"], top["bytes"]))
    return wrong


def check_own(calls, block, count, _buffer):
    """each call of each rank is one write of the same bytes"""
    wrong = []
    tops = [c for c in calls if c["layer"] == "MPI-IO"]
    for rank in range(RANKS):
        want = sorted(((i * RANKS + rank) * block, block) for i in range(count))
        have = spans(s for top in tops if top["rank"] == str(rank) for s in subs_of(calls, top))
        if have != want:
            wrong.append("rank %d: %s, not %s" % (rank, have, want))
    if len(tops) != RANKS * count or any(top["subcalls"] != "1" for top in tops):
        wrong.append("%d MPI calls" % len(tops))
    return wrong


def observe(case, way, command, extra):
    launch = ["mpirun." + case.family, "-n", str(RANKS), *command]
    segments = os.path.join(case.quiet, "seg")
    if way == "run":
        done = run([case.iorama, "run", "--trace", "-q", "-o", "log.darshan", *launch], case.folder, IORAMA_DIR=segments, **extra)
    else:  # ranks make the log themselves, in MPI_Finalize
        give = {"openmpi": ["-x", "LD_PRELOAD=" + case.library], "mpich": ["-genv", "LD_PRELOAD", case.library]}[case.family]
        done = run([*launch[:3], *give, *launch[3:]], case.folder, IORAMA_DIR=segments, IORAMA_TRACE="1",
                   IORAMA_LOG=os.path.join(case.folder, "log.darshan"), **extra)  # fmt: skip
    if done.returncode != 0:
        raise Failed("status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    return "log.darshan"


def perform(case, name):
    way, kind = name.split("-")
    seed = random.randrange(1 << 32)
    draw = random.Random(seed)
    block, count, buffer = draw.randrange(10000, 90000), draw.randrange(5, 20), draw.randrange(65536, 300000)
    print("# seed %d: blocks of %d, %d times, buffer %d" % (seed, block, count, buffer))
    program = case.compile("path", "path.c")
    # Open MPI's own way of I/O has no such buffers
    extra = {"OMPI_MCA_io": "^ompio"} if kind == "collective" else {}
    log = observe(case, way, [program, "data", kind, str(block), str(count), str(buffer)], extra)
    case.log()  # released tools open it
    calls = rows(case, log, "--calls", "--file", os.path.join(case.folder, "data"))
    wrong = {"collective": check_collective, "own": check_own}[kind](calls, block, count, buffer)
    return wrong + check_pieces(case, log, calls)


job.main(job.of_families(["%s-%s" % (way, kind) for way in ("run", "finalize") for kind in ("collective", "own")]), perform)
