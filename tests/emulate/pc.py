#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pc.py BUILD [CASE…]: mode pc. Who is paired with whom, what is written and read, and waiting for another job."""
import collections
import glob
import json
import os
import re
import resource
import signal
import time

import check
from harness import FAMILIES, LAUNCHERS, LOCAL, PART, Skip, adopt, cases, expect, main

RANKS = (1, 2, 4, 7)
BLOCK, SEGMENTS = 1009, 13
SIZE = BLOCK * SEGMENTS
WORDS = ["pc", "--input_dir", "d", "--block_size", BLOCK, "--segment_count", SEGMENTS, "--transfer_size", 500, "--verify"]


def result(case, *words, **more):
    return json.loads(case.emulate(*WORDS, "--json", *words, **more).stdout)


def notes(found):
    """The figures of the mode, wherever they are in the result."""
    if "pairs" in found:
        return found
    return next(v for v in found.values() if isinstance(v, dict) and "pairs" in v)


def moved(found):
    return [(r["bytes_written"], r["bytes_read"]) for r in found["ranks"]]


# ---- one job


def contents(case, launcher):
    """One rank does both; of others the even ones write and the odd ones read; the last of an odd number is idle."""
    for ranks in RANKS:
        for order in ("sequential", "random") if launcher == LOCAL else ("strided",):
            found = result(case, "--keep", "--order", order, "--seed", ranks, ranks=ranks, launcher=launcher)
            pairs = max(1, ranks // 2)
            want = [(SIZE, SIZE)] if ranks == 1 else [(SIZE, 0), (0, SIZE)] * pairs + [(0, 0)] * (ranks % 2)
            expect(moved(found) == want, "%d ranks moved %s", ranks, moved(found))
            case.only(*("file.%d" % i for i in range(pairs)), folder="d")
            for i in range(pairs):
                case.holds("d/file.%d" % i, size=SIZE, seed=ranks)
            case.emulate(*WORDS, "--seed", 99, ranks=ranks, launcher=launcher)
            case.only(folder="d")


def engines(case):
    for engine in ("vector", "mmap"):
        result(case, "--keep", "--engine", engine, ranks=4)
        case.holds("d/file.1", size=SIZE)
    for family in FAMILIES:
        try:
            case.need(family)
        except Skip:
            continue
        result(case, "--keep", "--engine", "mpiio", "--seed", 5, ranks=3, launcher=family)
        case.holds("d/file.0", size=SIZE, seed=5)
    case.emulate(*WORDS[:-1], "--engine", "null", "--input_dir", "n", ranks=3)
    case.only(folder="n")


def empty(case):
    case.emulate("pc", "--input_dir", "d", "--block_size", 0, "--keep", "--verify", ranks=2)
    case.holds("d/file.0", size=0)
    found = result(case, "--read_fraction", "1/2", "--bytes", "1/3", ranks=2)
    expect(moved(found) == [(SIZE // 3, 0), (0, SIZE // 6)], "scaled: %s", moved(found))


def partners(case, ranks, *words):
    """{file: (rank that writes it, rank that reads it)}, as the kernel saw it."""
    case.emulate(*WORDS, *words, ranks=ranks, wrap=case.strace("-y", "-e", "trace=pwrite64,pread64"))
    traces = sorted((f for f in os.listdir(case.folder) if f.startswith("trace.")), key=lambda f: int(f[6:]))
    # the director's thread of rank 0 and the others come in the order of their start; those that move data are ranks
    sides = collections.defaultdict(dict)
    for trace in traces:
        with open(case.path(trace), encoding="utf-8", errors="replace") as file:
            for kind, name in re.findall(r"p(write|read)64\(\d+<[^>]*/(file\.\d+)", file.read()):
                sides[name][kind] = int(trace[6:])
    return sides, [int(t[6:]) for t in traces]


def nodes(case):
    """Pretended nodes: as many pairs within one, or across, as there can be at all."""
    for ranks, per_node in ((4, 2), (6, 2), (6, 3), (7, 3), (7, 5), (8, 4), (5, 5), (6, 4), (7, 2), (9, 1)):
        sizes = collections.Counter(r // per_node for r in range(ranks))
        across = min(ranks // 2, ranks - max(sizes.values()))
        have = notes(result(case, "--inter_node", "--ranks_per_node", per_node, ranks=ranks))
        expect(have["pairs"] == ranks // 2 and have["pairs_on_one_node"] == ranks // 2 - across,
               "%d ranks, %d per node, across: %s", ranks, per_node, have)  # fmt: skip
        within = sum(n // 2 for n in sizes.values())
        if within > 0:
            have = notes(result(case, "--ranks_per_node", per_node, ranks=ranks))
            expect(have["pairs"] == have["pairs_on_one_node"] == within and have["idle_ranks"] == ranks - 2 * within,
                   "%d ranks, %d per node, within: %s", ranks, per_node, have)  # fmt: skip
    told = case.emulate(*WORDS, "--ranks_per_node", 3, ranks=7).stdout
    expect("3 of 7 ranks have no partner" in told, "%r", told)


def pairs_seen(case):
    """The same by looking at who opens what. Processes start in the order of their ranks."""
    for per_node, across in ((2, True), (2, False), (3, True)):
        sides, started = partners(case, 6, "--ranks_per_node", per_node, *(["--inter_node"] if across else []))
        busy = {p for s in sides.values() for p in s.values()}
        rank = {pid: i for i, pid in enumerate(p for p in started if p in busy)}
        expect(len(busy) == 6 and len(sides) == 3, "who moves data: %s", dict(sides))
        for name, s in sides.items():
            same = rank[s["write"]] // per_node == rank[s["read"]] // per_node
            expect(same != across, "%s: ranks %d and %d", name, rank[s["write"]], rank[s["read"]])


def no_barrier(case):
    """One producer is slow: the consumer of the other does not wait for it."""
    cases.need("strace")
    slow = ["strace", "-f", "-y", "-o", case.path("calls"), "-e", "trace=pwrite64,pread64", "-e", "inject=pwrite64:delay_enter=30000"]
    run = case.start(*WORDS, ranks=4, wrap=slow)
    producer = holder(case.path("d", "file.1."), run)
    os.kill(producer, signal.SIGSTOP)
    try:
        limit = time.monotonic() + 60
        while reads(case, "file.0") < -(-SIZE // 500):
            expect(time.monotonic() < limit and run.poll() is None, "the consumer of one pair waits for the producer of another")
            time.sleep(0.01)
    finally:
        os.kill(producer, signal.SIGCONT)
        told = run.communicate(timeout=60)[1]
    expect(run.returncode == 0 and reads(case, "file.1") == -(-SIZE // 500), "%d %r", run.returncode, told)


def reads(case, name):
    with open(case.path("calls"), encoding="utf-8", errors="replace") as file:
        return len(re.findall(r"pread64\(\d+<[^>]*/%s>" % re.escape(name), file.read()))


def holder(prefix, run):
    """The process that has a file open whose name begins so."""
    limit = time.monotonic() + 60
    while True:
        for link in glob.glob("/proc/[0-9]*/fd/*"):
            try:
                if os.readlink(link).startswith(prefix):
                    return int(link.split("/")[2])
            except OSError:
                continue
        expect(time.monotonic() < limit and run.poll() is None, "nobody opens %s", prefix)


# ---- two jobs


def jobs(case, launcher):
    """Consumers come first and wait; what an earlier run left is not taken for new."""
    os.mkdir(case.path("d"))
    with open(case.path("d", "file.1"), "wb") as file:
        file.write(bytes(SIZE - 1))
    adopt(case.path("d"))
    consumer = case.start(*WORDS, "--consumer_only", "--timeout", "100s", "--seed", 7, ranks=3, launcher=launcher)
    case.emulate(*WORDS, "--producer_only", "--seed", 7, ranks=3, launcher=launcher)
    _, told = consumer.communicate(timeout=100)
    expect(consumer.returncode == 0, "consumers: %d %r", consumer.returncode, told)
    case.only("file.0", "file.1", "file.2", folder="d")
    for i in range(3):
        case.holds("d/file.%d" % i, size=SIZE, seed=7)
    # of another seed: to --verify it is not what was asked for; the next producer removes it first
    told = case.emulate(*WORDS, "--consumer_only", "--seed", 8, ranks=3, launcher=launcher, status=3).stderr
    expect("wrong" in told, "stale files: %r", told)
    case.emulate(*WORDS, "--producer_only", "--seed", 8, ranks=2, launcher=launcher)
    case.emulate(*WORDS, "--consumer_only", "--seed", 8, ranks=2, launcher=launcher)


def missing(case):
    os.mkdir(case.path("d"))
    with open(case.path("d", "file.0"), "wb") as file:
        file.write(check.pattern("file.0", SIZE + 1))  # complete, but of another size
    for ranks in (1, 3):
        told = case.emulate(*WORDS, "--consumer_only", "--timeout", "200ms", ranks=ranks, status=3).stderr
        expect(re.search(r"d/file\.\d: not complete after 0.2 s; a run with producer_only should have written it", told),
               "%d ranks: %r", ranks, told)  # fmt: skip


def cheap(case):
    """Waiting: fewer than 100 system calls a second, hardly any processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    case.emulate(*WORDS, "--consumer_only", "--timeout", "3s", status=3)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    expect(used < 0.1, "3 s of waiting and a start took %.3f s of processor", used)
    cases.need("strace")
    case.emulate(*WORDS, "--consumer_only", "--timeout", "3s", status=3, wrap=["strace", "-f", "-o", "calls"])
    with open(case.path("calls"), encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    first = next((i for i, line in enumerate(lines) if "inotify_add_watch" in line), 0)
    expect(len(lines) - first < 300, "%d system calls in 3 s", len(lines) - first)


def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


def failure(case):
    """A producer that cannot write: its consumer does not wait for ever, nothing half-written stays."""
    run = case.start(*WORDS, ranks=4, preexec_fn=limited, restore_signals=False)
    _, told = run.communicate(timeout=60)
    expect(run.returncode == 4 and re.search(r"d/file\.\d%s: write at 5000: File too large" % PART, told), "%d %r", run.returncode, told)
    case.only(folder="d")
    os.mkdir(case.path("d", "file.1"))
    told = case.emulate(*WORDS, ranks=4, status=4).stderr
    expect("d/file.1" in told and "there is a folder" in told, "%r", told)


def usage(case):
    for words, ranks, text in (
        (["--producer_only", "--consumer_only"], 2, "one of them"),
        (["--ranks_per_node", 1], 4, "--inter_node"),
        (["--block_size", "1000000GiB", "--segment_count", 1000000], 2, "too large"),
    ):
        told = case.emulate(*WORDS, *words, ranks=ranks, status=2).stderr
        expect(text in told, "%s: %r", words, told)


CASES = {"engines": engines, "empty": empty, "nodes": nodes, "pairs-seen": pairs_seen, "no-barrier": no_barrier, "missing": missing, "cheap": cheap,
         "failure": failure, "usage": usage}  # fmt: skip
for LAUNCHER in LAUNCHERS:
    CASES["contents-" + LAUNCHER] = lambda case, name=LAUNCHER: contents(case, name)
    CASES["jobs-" + LAUNCHER] = lambda case, name=LAUNCHER: jobs(case, name)

if __name__ == "__main__":
    main(CASES)
