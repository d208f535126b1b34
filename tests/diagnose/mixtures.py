#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mixtures.py IORAMA TABLES [SEED]: share of counts is not share of time. Every job here moves nearly all its data in few huge
requests, at what counts as good speed, and beside them makes very many tiny ones that take hardly any time. Whatever a rule
counts (size, order, alignment, kind, calls of metadata), its number is large and its time is not: nothing may be HIGH or WARN for it, and
nothing may cost more than the tiny requests took. The same tiny requests, slow, are found."""
import os
import random
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
from common import Tap, in_parallel  # noqa: E402
from jobs import KIB, MIB, Job  # noqa: E402
from layout import load_tables  # noqa: E402
from rules import report, sound  # noqa: E402

RATE = 512 * MIB  # limit good_rate
NAMES = {"shared": "/scratch/run/out.dat", "own": "/local/out.dat"}
DIMENSIONS = ("plain", "random", "unaligned", "collective", "dataset", "daos", "elsewhere")
KINDS = [(dimension, where, direction) for dimension in DIMENSIONS for where in NAMES for direction in ("write", "read")]


class Mixture:
    """Few huge, many tiny; `each` is what a tiny one takes."""

    def __init__(self, seed, dimension, where, direction, slow=False):
        chance = random.Random("%s %s %s %s" % (seed, dimension, where, direction))
        self.dimension, self.where, self.direction = dimension, where, direction
        self.ranks = chance.choice((2, 4, 16, 64))
        self.users = self.ranks if where == "shared" else 1
        self.huge = chance.choice((16, 64, 128, 512)) * MIB
        self.tiny = chance.choice((64, 512, 4 * KIB))
        self.speed = RATE * chance.uniform(1.0, 1.1)
        self.seconds = chance.uniform(30, 60)  # of each rank, in huge requests
        self.n_huge = max(8, int(self.seconds * self.speed / self.huge)) * self.users
        self.n_tiny = self.n_huge * chance.choice((5, 20, 100))
        self.n_tiny = max(self.n_tiny, 4000 * self.users)
        self.huge_time = self.n_huge * self.huge / self.speed
        self.each = 0.003 if slow else min(20e-6, self.huge_time * 0.01 / self.n_tiny)
        if slow:
            self.n_tiny = 8000 * self.users
        self.tiny_time = self.n_tiny * self.each

    def __str__(self):
        return "%d of %d and %d of %d bytes by %d of %d ranks, %s %s %s, %.2f and %.2f s" % (
            self.n_huge, self.huge, self.n_tiny, self.tiny, self.users, self.ranks, self.dimension, self.where, self.direction,
            self.huge_time, self.tiny_time)  # fmt: skip

    def times(self):
        time = self.huge_time + self.tiny_time
        word = self.direction.upper()
        return {self.direction + "_time": time, "F_MAX_%s_TIME" % word: 1.05 * self.huge / self.speed, "MAX_%s_TIME_SIZE" % word: self.huge}

    def accesses(self):
        return {self.direction + "s": [(self.n_huge, self.huge), (self.n_tiny, self.tiny)]}

    def build(self, job):
        name, rank = NAMES[self.where], -1 if self.where == "shared" else 0
        more = {}
        if self.dimension == "random":
            more["random"] = self.n_tiny - self.users
        if self.dimension == "unaligned":
            more["FILE_NOT_ALIGNED"] = self.n_tiny
        if self.dimension == "daos":
            job.dfs("/daos/out", rank, **self.accesses(), **self.times())
            return
        if self.dimension == "elsewhere":  # tiny ones in a file of their own
            job.posix(name, rank, **{self.direction + "s": [(self.n_huge, self.huge)], self.direction + "_time": self.huge_time})
            job.posix("/scratch/run/tiny", rank, **{self.direction + "s": [(self.n_tiny, self.tiny)], self.direction + "_time": self.tiny_time})
            return
        if self.dimension in ("collective", "dataset") and self.where == "shared":
            word = self.direction.upper()
            kinds = {"INDEP_%sS" % word: self.n_tiny, "COLL_%sS" % word: self.n_huge}
            job.mpiio(name, **self.accesses(), **self.times(), **kinds)
        if self.dimension == "dataset":
            job.hdf5(name, rank, parallel=self.where == "shared")
            job.dataset(name, "d", rank, **{self.direction + "s": [(self.n_huge, self.huge)]}, collective=1)
        job.posix(name, rank, **self.accesses(), **self.times(), **more)


def check(item):
    iorama, tables, folder, seed, kind, slow = item
    mixture = Mixture(seed, *kind, slow=slow)
    wrong = []
    try:
        job = Job(tables, nprocs=mixture.ranks, run_time=100 if not slow else 200)
        mixture.build(job)
        path = job.write(os.path.join(folder, "%s-%d.darshan" % ("-".join(kind), slow)))
        document = report(iorama, path)
        os.remove(path)
        wrong += sound(document)
        told = [f for f in document["findings"] if f["level"] in ("HIGH", "WARN")]
        if slow and not told:
            wrong.append("nothing is found: %s" % document["verdict"]["text"])
        # balance of one rank that does all is another matter
        for f in [f for f in told if f["rule"][0] not in "B" and f["rule"] != "A07"] if not slow else []:
            wrong.append("%s %s costs %.2f s: %s (%s)" % (f["level"], f["rule"], f["cost_s"], f["title"], f["how"]))
    except (RuntimeError, ValueError, KeyError) as reason:
        wrong.append(repr(reason))
    if wrong:
        wrong.insert(0, str(mixture))
    return "%s %s %s%s" % (*kind, ", slow" if slow else ""), wrong


def main():
    iorama, tables = sys.argv[1], load_tables(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 30)
    print("# seed %d" % seed)
    folder = tempfile.mkdtemp(prefix="iorama-mixtures-")
    tap = Tap()
    try:
        items = [(iorama, tables, folder, seed + k, kind, slow) for k in range(3) for kind in KINDS for slow in (False, True)]
        for name, wrong in in_parallel(check, items, 2):
            tap.case(name, wrong)
    finally:
        shutil.rmtree(folder)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
