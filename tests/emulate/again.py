# SPDX-License-Identifier: BSD-3-Clause
"""Programs of several kinds, captured, done again, captured again: calls of each kind are as many, and it takes as long. What they do is
known: they are written here."""
import collections
import json
import os
import subprocess
import sys

import captured
import collective
from harness import FAMILIES, LIST, cases, expect, main

# each rests, so that its length is known whatever else the machine does
SYNCS = """
import os, sys, time
fd = os.open(sys.argv[1] + "/f", os.O_WRONLY | os.O_CREAT, 0o644)
for i in range(30):
    time.sleep(0.04)
    os.pwrite(fd, b"x" * 4096, 4096 * i)
    (os.fsync if i % 3 else os.fdatasync)(fd)
os.close(fd)
"""
STORM = """
import os, sys, time
top = sys.argv[1]
names = [os.path.join(top, "f%d" % i) for i in range(40)]
os.mkdir(top + "/folder")
for n in names:
    time.sleep(0.01)
    with open(n, "wb", 0) as f:
        f.write(b"y" * 300)
for n in names:
    time.sleep(0.01)
    os.stat(n)
for n in names:
    time.sleep(0.01)
    fd = os.open(n, os.O_RDONLY)
    os.read(fd, 300)
    os.close(fd)
for n in names:
    time.sleep(0.01)
    os.unlink(n)
"""
LOADER = """
import os, random, sys, time
names = sorted(n for n in os.listdir(sys.argv[1]) if n.startswith("sample"))
lot = random.Random(3)
for epoch in range(2):
    lot.shuffle(names)
    for i, name in enumerate(names):
        with open(os.path.join(sys.argv[1], name), "rb", 0) as f:
            os.fstat(f.fileno())
            while f.read(16384):
                pass
        if i % 8 == 7:
            time.sleep(0.1)
"""
KINDS = {"POSIX_READS", "POSIX_WRITES", "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN", "POSIX_FSYNCS", "POSIX_FDSYNCS", "EXTRA_UNLINKS",
         "EXTRA_RENAMES", "POSIX_OPENS", "STATS"}  # fmt: skip


def counts(case, log):
    """{kind of call: how often}, without the list of a replay; and how many files there were."""
    text = subprocess.run([case.iorama, "show", log], check=True, capture_output=True, text=True).stdout
    sums, files = collections.Counter(), set()
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) < 6 or words[0] not in ("POSIX", "EXTRA") or "_F_" in words[3] or LIST in words[5]:
            continue
        kind = "STATS" if words[3].endswith("_STATS") else words[3]
        if kind in KINDS and int(words[4]) > 0:
            files.add(words[5])
            sums[kind] += int(words[4])
    return dict(sums), files


def again(program, truth, rests, prepare=None):
    """truth: calls of each kind that the program makes of files; rests: seconds that it sleeps between its first request and its last;
    prepare: makes the files that a replay makes before its clock starts, and says how many."""

    def case_of(case):
        captured.can_capture(case)
        os.mkdir(case.path("data"))
        made = prepare(case) if prepare else 0
        with open(case.path("work.py"), "w", encoding="ascii") as file:
            file.write(program)
        log = captured.observe(case, "job.darshan", [sys.executable, "-I", case.path("work.py"), case.path("data")], "data")
        have, _ = counts(case, log)
        expect({k: have.get(k, 0) for k in truth} == truth, "the job: %s, not %s", have, truth)
        words = ["replay", log, "--scratch", case.path("s")]
        have, _ = counts(case, captured.observe(case, "again.darshan", case.command(*words, "--keep"), "s"))
        # files that were there before are made first: an open each, and a write, which are not the job's
        want = dict(truth, POSIX_OPENS=truth["POSIX_OPENS"] + made)
        left = {k: have.get(k, 0) for k in want if k not in (("POSIX_WRITES", "POSIX_BYTES_WRITTEN") if made else ())}
        expect(left == {k: want[k] for k in left}, "again: %s, not %s", have, want)
        span(case, ["replay", log, "--scratch", case.path("t")], rests)

    return case_of


def span(case, words, rests, **more):
    """It takes as long as the job did, within a tenth. Where many tests run at once either of the two can be lengthened by the others,
    so that only what the job slept is a bound from below, and 2.5 from above; IORAMA_TEST_LONG=1 judges by the tenth."""
    alone = os.environ.get("IORAMA_TEST_LONG")
    limit = 1.1 if alone else 2.5

    def measure():
        result = json.loads(case.emulate(*words, "--json", **more).stdout)
        return result["seconds"] / result["figures"]["log_span_s"], result["seconds"]

    ratio, seconds = cases.best(8, measure, lambda found: found[0] < limit, "span of the replay")
    expect(ratio > 0.9 or not alone, "it took %.3f of the time of the job", ratio)
    expect(seconds > 0.98 * rests, "it took %.3f s, and the job slept %.3f s", seconds, rests)


def samples(case):
    for i in range(48):
        with open(case.path("data", "sample%d" % i), "wb") as file:
            file.write(b"s" * 40000)
    return 48


def together(family):
    def case_of(case):
        """Collective calls with a rest before each; calls are counted in collective.py, too."""
        log = collective.job(case, family, "150")
        have = collective.counted(case, log)
        want = {name: {k: have[name][k] for k in truth} for name, truth in collective.TRUTH.items()}
        expect(want == collective.TRUTH, "the job: %s", have)
        collective.same(case, collective.replay(case, family), collective.TRUTH, "again")
        # when opens and closes were is in no log: a replay takes their time off the rests, and they are long where many tests run
        rests = (collective.ROUNDS - 1) * 0.15 - collective.opening(case, log)
        span(case, ["replay", log, "--scratch", "scratch"], rests, ranks=collective.RANKS, launcher=family)

    return case_of


ZERO = dict.fromkeys(KINDS, 0)
CASES = {
    "fsync": again(SYNCS, {**ZERO, "POSIX_OPENS": 1, "POSIX_WRITES": 30, "POSIX_BYTES_WRITTEN": 30 * 4096, "POSIX_FSYNCS": 20, "POSIX_FDSYNCS": 10},
                   29 * 0.04),
    "storm": again(STORM, {**ZERO, "POSIX_OPENS": 80, "POSIX_WRITES": 40, "POSIX_BYTES_WRITTEN": 12000, "POSIX_READS": 40, "POSIX_BYTES_READ": 12000,
                           "EXTRA_UNLINKS": 40, "STATS": 80}, 119 * 0.01),  # open() of Python asks for the size of a file
    "loader": again(LOADER, {**ZERO, "POSIX_OPENS": 96, "POSIX_READS": 96 * 4, "POSIX_BYTES_READ": 96 * 40000, "STATS": 192}, 11 * 0.1, samples),
}  # fmt: skip
CASES.update({"together-" + family: together(family) for family in FAMILIES})

if __name__ == "__main__":
    main(CASES)
