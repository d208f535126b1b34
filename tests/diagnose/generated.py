#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generated.py IORAMA TABLES [--jobs N] [--seed SEED] [--only NAME] [--keep FOLDER]: jobs that are random mixtures of behaviours
whose seconds are known (behaviours.py). Over all of them the first finding names the cause that costs most in at least 97 of 100,
its cost is off by at most 15 % in the median, and nothing is HIGH where nothing is wrong. Every report is consistent."""
import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
from behaviours import BEHAVIOURS, World, healthy  # noqa: E402
from common import Tap, in_parallel  # noqa: E402
from jobs import MIB, Job  # noqa: E402
from layout import load_tables  # noqa: E402
from rules import report, sound  # noqa: E402

CLEAN = 0.15  # share of jobs in which nothing is wrong
BY_NAME = {b.name: b for b in BEHAVIOURS}
ALIKE = 0.8  # a cause that costs this share of the dearest may come first as well


def saved(io, lost):
    """How much earlier the slowest rank is done without these losses."""
    return max(io) - max(seconds - lost.get(rank, 0.0) for rank, seconds in enumerate(io))


class Generated:
    def __init__(self, tables, seed, number, only=None):
        chance = random.Random("%d %d" % (seed, number))
        self.name = "job %d" % number
        self.clean = not only and chance.random() < CLEAN
        ranks = chance.choice((1, 2, 4, 8, 16, 32, 64))
        rate = chance.choice((300, 500, 800, 1500)) * MIB
        self.job = Job(tables, nprocs=ranks)
        w = World(self.job, chance, rate, plain=chance.random() < 0.3 or bool(only and BY_NAME[only].plain))
        run = w.run = chance.choice((20, 60, 200, 1000))
        # without large requests beside nobody can know how fast they would be
        healthy(w, run * chance.uniform(0.03, 0.1 if w.plain else 0.2) if self.clean or chance.random() < 0.8 else 0)
        self.parts = [] if self.clean else self.mix(w, run, only)
        busy = [io + beyond for io, beyond in zip(w.io, w.beyond)]
        self.causes = {b.name: (saved(busy if b.beyond else w.io, lost), b.rules) for b, lost in self.parts}
        self.job.run_time = round(max(run * chance.uniform(0.5, 1.0), max(busy) * chance.uniform(1.05, 1.5)), 3)
        self.job.run_time = round(max(self.job.run_time, w.lasts), 3)
        self.io = max(w.io)
        for tell in w.later:
            tell(self.job.run_time)
        for rank in range(ranks) if w.plain else w.processes:
            own = {"F_USER_TIME": 0.9 * (self.job.run_time - busy[rank]), **w.processes.get(rank, {})}
            self.job.process(rank, PARENT_RANK=0 if w.plain and rank > 0 else -1, **own)

    def mix(self, w, run, only):
        """One to three behaviours that no finding has in common."""
        parts = []
        able = [b for b in BEHAVIOURS if b.ranks <= w.n <= b.most and (b.needs is None or b.needs in w.known) and (w.plain or not b.plain)]
        if w.plain:
            able = [b for b in able if b.plain or b.ranks == 1]
        known = [b for b in able if b.name == only] or able
        for k in range(w.chance.choice((1, 1, 2, 2, 3)) if not only else 1):
            free = [b for b in known if b.goes_with([c for c, _ in parts])]
            if not free:
                break
            b = w.chance.choice(free)
            share = max(w.chance.uniform(0.05, 0.5) / (k + 1) ** 1.5, 1.6 * b.least)
            parts.append((b, b.build(w, run * share)))
        return parts

    def right(self):
        """Names of causes that may come first."""
        most = max((seconds for seconds, _ in self.causes.values()), default=0)
        return {name for name, (seconds, _) in self.causes.items() if seconds >= ALIKE * most}

    def __str__(self):
        parts = ", ".join("%s %.2f s (%s)" % (name, seconds, " ".join(rules)) for name, (seconds, rules) in self.causes.items())
        return "%s: %d ranks, %.1f of %.1f s in I/O: %s" % (self.name, self.job.nprocs, self.io, self.job.run_time, parts or "clean")


class Outcome:
    """What the report of one job says, beside what is true."""

    def __init__(self, made, document):
        told = [f for f in document["findings"] if f["level"] in ("HIGH", "WARN") and f["cost_s"] > 0]
        self.title = str(made)
        self.told = ["%s %s %.2f s %s" % (f["level"], f["rule"], f["cost_s"], f["title"]) for f in told]
        self.clean = made.clean
        self.names = sorted(made.right())
        self.wrong = list(sound(document))
        self.high = [line for line in self.told if line.startswith("HIGH")]
        hit = [name for name in self.names if told and told[0]["rule"] in made.causes[name][1]]
        # a cause below the share from which on anything is told is none
        self.small = not made.clean and max(s for s, _ in made.causes.values()) < 0.012 * made.job.run_time
        self.right = bool(hit) or (self.small and not self.high)
        self.error = abs(told[0]["cost_s"] / made.causes[hit[0]][0] - 1) if hit else None


def check(item):
    iorama, tables, folder, seed, number, only = item
    try:
        made = Generated(tables, seed, number, only)
        path = made.job.write(os.path.join(folder, "%d.darshan" % number))
        return Outcome(made, report(iorama, path))
    except (RuntimeError, ValueError, KeyError) as reason:
        return "job %d: %r" % (number, reason)


def summary(outcomes):
    """By behaviour: how often it came first where it should, and how far off its cost was."""
    rows = {}
    for o in outcomes:
        for name in o.names[:1]:
            row = rows.setdefault(name, [0, 0, []])
            row[0] += 1
            row[1] += o.right
            row[2] += [o.error] if o.error is not None else []
    for name, (n, right, errors) in sorted(rows.items()):
        print("# %-26s %4d of %4d first, cost off by %3.0f %%" % (name, right, n, 100 * statistics.median(errors) if errors else float("nan")))


def judge(tap, outcomes, names):
    """The promises over all jobs."""
    crashed = [o for o in outcomes if isinstance(o, str)]
    outcomes = [o for o in outcomes if not isinstance(o, str)]
    tap.case("every job has a report", crashed)
    tap.case("no report contradicts itself", ["%s: %s" % (o.title, wrong) for o in outcomes for wrong in o.wrong])
    faulty, clean = [o for o in outcomes if not o.clean], [o for o in outcomes if o.clean]
    summary(faulty)
    tap.case("nothing is HIGH in %d clean jobs" % len(clean), ["%s: %s" % (o.title, o.high) for o in clean if o.high])
    wrong = [o for o in faulty if not o.right]
    share = 1 - len(wrong) / max(1, len(faulty))
    told = ["%s\n    told: %s" % (o.title, "; ".join(o.told) or "nothing") for o in wrong]
    print("# the cause comes first in %.1f %% of %d jobs" % (100 * share, len(faulty)))
    for line in told:
        print("# " + line.replace("\n", "\n# "))
    tap.case("the cause that costs most comes first", told if share < 0.97 else [])
    errors = [o.error for o in faulty if o.error is not None]
    median = statistics.median(errors) if errors else 1.0
    print("# costs are off by %.1f %% in the median" % (100 * median))
    tap.case("costs are off by 15 % at most in the median", [] if median <= 0.15 else ["%.1f %%" % (100 * median)])
    missing = [name for name in names if not any(name in o.title for o in faulty)]
    # some need many ranks, or large requests beside them: by chance a few may be absent among few jobs
    tap.case("jobs of nearly every kind were made", missing if len(missing) > len(names) // 8 else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("iorama")
    parser.add_argument("tables")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only")
    parser.add_argument("--keep")
    given = parser.parse_args()
    tables = load_tables(given.tables)
    print("# seed %d" % given.seed)
    folder = given.keep or tempfile.mkdtemp(prefix="iorama-generated-")
    os.makedirs(folder, exist_ok=True)
    tap = Tap()
    try:
        items = [(given.iorama, tables, folder, given.seed, k, given.only) for k in range(given.jobs)]
        judge(tap, list(in_parallel(check, items, 2)), [given.only] if given.only else [b.name for b in BEHAVIOURS])
    finally:
        if not given.keep:
            shutil.rmtree(folder)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
