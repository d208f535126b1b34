#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that read and write together (together.c, whose calls are known): captured, done again, captured again. Calls of each kind
are as many as the program makes, for every way in which a log can tell them."""
import json
import os
import subprocess

import captured
from harness import FAMILIES, TIMEOUT, cases, environment, expect, main

RANKS, ROUNDS, BLOCK = 4, 6, 3000
SOME = RANKS // 2  # ranks of the smaller group
TRUTH = {
    "all": {"COLL_OPENS": RANKS, "COLL_WRITES": RANKS * ROUNDS, "COLL_READS": RANKS * ROUNDS, "INDEP_WRITES": RANKS, "SYNCS": RANKS,
            "INDEP_OPENS": 0, "BYTES_READ": RANKS * ROUNDS * BLOCK, "BYTES_WRITTEN": (RANKS * ROUNDS + RANKS - ROUNDS // 3) * BLOCK},
    "even": {"COLL_OPENS": SOME, "COLL_WRITES": SOME * ROUNDS, "COLL_READS": 0, "INDEP_WRITES": 0, "SYNCS": 0, "INDEP_OPENS": 0,
             "BYTES_READ": 0, "BYTES_WRITTEN": SOME * ROUNDS * BLOCK},
}  # fmt: skip


def observe(case, log, folder, command, trace=True, **extra):
    os.makedirs(case.path(folder), exist_ok=True)
    words = [case.iorama, "run", "-q", "-f", "-x", "/*", "-i", case.path(folder, "*"), "-o", case.path(log)]
    done = subprocess.run(words + (["--trace"] if trace else []) + ["--", *command], cwd=case.folder, text=True,
                          env=environment(**extra), capture_output=True, timeout=TIMEOUT)  # fmt: skip
    expect(done.returncode == 0, "iorama run: status %d: %s", done.returncode, done.stderr)
    return case.path(log)


def job(case, family, *words, **more):
    captured.can_capture(case)
    case.need(family)
    cases.need("mpicc." + family)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "together.c")
    program = case.compile_once("together-" + family, [source], ["mpicc." + family, "-O1", source, "-o", None])
    command = ["mpirun." + family, "-n", str(RANKS), program, case.path("data"), str(ROUNDS), str(BLOCK), *words]
    return observe(case, "job.darshan", "data", command, **more)


def counted(case, log):
    """{file: {counter: sum over ranks}} of MPI-IO"""
    text = subprocess.run([case.iorama, "show", log], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split("\t")
        if words[0] == "MPI-IO" and words[3].startswith("MPIIO_") and not words[3].startswith("MPIIO_F_"):
            name = os.path.basename(words[5]).split("-", 1)[-1]
            mine = found.setdefault(name, {})
            mine[words[3][6:]] = mine.get(words[3][6:], 0) + int(words[4])
    return found


def opening(case, log):
    """Seconds that the ranks needed together to open, close and sync."""
    text = subprocess.run([case.iorama, "show", log], check=True, capture_output=True, text=True).stdout
    words = [line.split("\t") for line in text.splitlines() if line.startswith("MPI-IO")]
    return sum(max(0, float(w[4])) for w in words if w[3] == "MPIIO_F_META_TIME")


def same(case, log, want, what):
    have = counted(case, log)
    have = {name: {key: have.get(name, {}).get(key) for key in counters} for name, counters in want.items()}
    expect(have == want, "%s: %s\nnot %s", what, have, want)


def replay(case, family, *words, ranks=RANKS, log="again.darshan"):
    command = case.command("replay", case.path("job.darshan"), "--scratch", case.path("scratch"), *words, ranks=ranks, launcher=family)
    return observe(case, log, "scratch", command)


def calls(family):
    def case_of(case):
        """A traced log has the name of each call. Nothing is left out, and it says so."""
        log = job(case, family)
        same(case, log, TRUTH, "the job")
        same(case, replay(case, family), TRUTH, "the replay")
        case.only(folder="scratch")
        text = case.emulate("replay", log, "--scratch", "scratch", ranks=RANKS, launcher=family).stdout
        expect("all were done" in text and "left out" not in text, "does not say that all was done: %s", text)
        # read back right: every collective read finds what another rank wrote
        result = case.emulate("replay", log, "--scratch", "scratch", "--json", ranks=RANKS, launcher=family).stdout
        figures = json.loads(result)["figures"]
        expect(figures["collective"] == RANKS * ROUNDS * 2 + SOME * ROUNDS, "collective: %s", figures)
        # without MPI they are requests, and that is said
        text = case.emulate("replay", log, "--scratch", "scratch", ranks=RANKS).stdout
        expect("left out: " in text and "%d collective calls" % figures["collective"] in text and "all were done" not in text,
               "without MPI: %s", text)  # fmt: skip

    return case_of


def counters(family):
    def case_of(case):
        """Counters alone: as many calls and bytes of each kind; which of a file were the collective ones is guessed."""
        job(case, family, trace=False)
        same(case, replay(case, family), TRUTH, "the replay")

    return case_of


def trace(family):
    def case_of(case):
        """A trace without names: a file whose writes are all collective, or none, is known; one with both is not, and told."""
        log = job(case, family)
        subprocess.run([case.iorama, "convert", "--released", "-q", log, "-o", log + ".old"], check=True, timeout=TIMEOUT)
        os.replace(log + ".old", log)
        want = {"even": TRUTH["even"], "all": dict(TRUTH["all"], COLL_WRITES=0, INDEP_OPENS=RANKS)}
        want["all"]["INDEP_WRITES"] = RANKS * (ROUNDS + 1) - ROUNDS // 3  # of nothing: not done
        same(case, replay(case, family), want, "the replay")
        text = case.emulate("replay", log, "--scratch", "scratch", ranks=RANKS, launcher=family).stdout
        expect("left out: %d collective calls" % (RANKS * ROUNDS) in text, "not told: %s", text)

    return case_of


def other(family):
    def case_of(case):
        """Collective calls made independent, and independent ones collective; fewer ranks than the job had."""
        job(case, family)
        alone = {"all": {"COLL_WRITES": 0, "COLL_READS": 0, "INDEP_READS": RANKS * ROUNDS}, "even": {"COLL_WRITES": 0}}
        same(case, replay(case, family, "--mpiio_type", "noncollective"), alone, "noncollective")
        all_ = {"all": {"COLL_WRITES": RANKS * (ROUNDS + 1), "INDEP_WRITES": 0}}
        same(case, replay(case, family, "--mpiio_type", "collective"), all_, "collective")
        half = {"all": {"COLL_WRITES": RANKS * ROUNDS, "COLL_READS": RANKS * ROUNDS, "COLL_OPENS": RANKS}}
        same(case, replay(case, family, ranks=2), half, "two ranks")
        # a job of POSIX calls
        plan = [[("w", "f", (4 * i + k) * 1000, 1000) for i in range(5 + k)] for k in range(3)]
        captured.job(case, "job.darshan", plan)
        want = {"f": {"COLL_WRITES": 3 * 7, "INDEP_WRITES": 0, "BYTES_WRITTEN": (5 + 6 + 7) * 1000}}
        same(case, replay(case, family, "--mpiio_type", "collective"), want, "POSIX as collective")
        done = case.emulate("replay", case.path("job.darshan"), "--mpiio_type", "collective", status=2)
        expect("mpirun" in done.stderr, "without MPI: %s", done.stderr)

    return case_of


def unclosed(family):
    def case_of(case):
        """Files that a group opened and never closed: done again all the same, and nobody waits for a close that does not come."""
        log = job(case, family, "0", "open")
        same(case, log, TRUTH, "the job")
        same(case, replay(case, family), TRUTH, "the replay")
        case.only(folder="scratch")

    return case_of


WAYS = {"unclosed": unclosed, "calls": calls, "counters": counters, "trace": trace, "other": other}
CASES = {"%s-%s" % (way, family): make(family) for way, make in WAYS.items() for family in FAMILIES}

if __name__ == "__main__":
    main(CASES)
