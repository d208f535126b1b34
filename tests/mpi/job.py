# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of jobs with MPI share, beside tests/lib/cases.py: how such a job is observed, and what its log must say. A script
ends with job.main(NAMES, perform); names are FAMILY-CASE, where FAMILY is openmpi or mpich."""
import collections
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("lib", "gen")]
import cases  # noqa: E402
import stock  # noqa: E402
from cases import FAMILIES, ROOT, SKIPPED, TIMEOUT, WORK, Failed, Skip, expect, need  # noqa: E402

__all__ = ["FAMILIES", "HEADERS", "HERE", "RANKS", "ROOT", "SKIPPED", "TABLE", "TIMEOUT", "WORK", "Case", "Failed", "Skip",
           "compare_counters", "compare_events", "expect", "main", "need", "of_families", "run"]  # fmt: skip
TABLE = os.path.join(ROOT, "src", "table")
HEADERS = [*glob.glob(os.path.join(HERE, "*.h")), *glob.glob(os.path.join(TABLE, "*.[dh]*"))]  # what sources here include
RANKS = (1, 2, 4, 7)
# counters that the truth says completely: what it does not name is 0
COUNTED = re.compile(
    r"MPIIO_((INDEP|COLL)_OPENS|(INDEP|COLL|SPLIT|NB)_(READS|WRITES)|SYNCS|HINTS|VIEWS|BYTES_\w+|RW_SWITCHES"
    r"|SIZE_\w+_AGG_\w+)$"
)
ANY = -2  # an offset


def run(command, folder, **extra):
    environment = cases.environment((), PWD=folder, **extra)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT)


class Case(cases.Built):
    def __init__(self, build, family, folder, quiet):
        super().__init__(build)
        self.family, self.folder, self.quiet = family, folder, quiet
        if family in FAMILIES:
            need("mpicc." + family, "mpirun." + family)

    def compile(self, out, source, *options, tool="mpicc"):
        """./OUT of tests/mpi/SOURCE; what does not depend on the folder is compiled once for all cases."""
        compiler = "%s.%s" % (tool, self.family)
        need(compiler)
        source = os.path.join(HERE, source)
        command = [compiler, "-O1", *options, source, "-o"]
        if source.startswith(HERE) and not any(word.startswith("-L") for word in options):
            self.compile_into(os.path.join(self.folder, out), [source], [*command, None], [__file__, *HEADERS])
            return "./" + out
        done = run([*command, out], self.folder)
        if done.returncode != 0:
            raise Failed("%s: %s" % (source, done.stderr))
        return "./" + out

    def observe(self, ranks, *command, trace=True, **extra):
        truth = os.path.join(self.quiet, "truth")
        options = ["--trace"] if trace else []
        done = run([self.iorama, "run", "--json", "-f", *options, "-o", "log.darshan", "mpirun." + self.family, "-n",
                    str(ranks), *command], self.folder, TRUTH_FILE=truth,
                   IORAMA_DIR=os.path.join(self.quiet, "seg"), **extra)  # fmt: skip
        if done.returncode == SKIPPED:
            raise Skip("the MPI has no MPI_THREAD_MULTIPLE")
        if done.returncode != 0:
            raise Failed("status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
        with open(truth, encoding="utf-8") as file:
            return file.read().splitlines()

    def log(self, *options):
        refusals = stock.refusals(os.path.join(self.folder, "log.darshan"))
        if refusals:
            raise Failed("released tools: %s" % "; ".join(refusals))
        done = run([self.iorama, "show", "--quiet", "--json", *options, "log.darshan"], self.folder)
        if done.returncode != 0:
            raise Failed("show: %s" % done.stderr)
        found = json.loads(done.stdout)["logs"][0]
        return found, {m["module"]: m["records"] for m in found["modules"]}


# ---- comparing


def compare_counters(lines, records):
    """Records of a file are one per rank, or one reduced over all ranks that opened it."""
    truth = collections.defaultdict(dict)
    for line in lines:
        words = line.split(" ")
        if words[0] == "TRUTH":
            truth[words[3]].setdefault(int(words[2]), {})[words[4]] = int(words[5])
    wrong = []
    seen = set()
    for record in records:
        name, rank = record["name"], record["rank"]
        seen.add(name)
        if name not in truth:
            wrong.append("%s is not to be in the log" % name)
            continue
        ranks = truth[name].values() if rank == -1 else [truth[name].get(rank, {})]
        for counter, have in record["counters"].items():
            want = sum(r.get(counter, 0) for r in ranks)
            if counter == "MPIIO_MODE":
                want //= len(ranks)
            elif not COUNTED.match(counter):
                continue
            if have != want:
                wrong.append("%s rank %d: %s is %s, not %s" % (name, rank, counter, have, want))
    wrong += ["%s is not in the log" % name for name in truth if name not in seen]
    return wrong


def compare_events(lines, records):
    truth = collections.defaultdict(list)
    for line in lines:
        words = line.split(" ")
        if words[0] == "DXT":
            kind = "reads" if words[4] == "r" else "writes"
            truth[words[3], int(words[2]), kind].append((int(words[5]), int(words[6])))
    wrong = []
    have = {(r["name"], r["rank"], kind): [(e[0], e[1]) for e in r[kind]]
            for r in records for kind in ("reads", "writes") if r.get(kind)}  # fmt: skip
    wrong += ["%s rank %d %s: %s is not to be in the trace" % (*key, have[key]) for key in have if key not in truth]
    for key, events in truth.items():
        found = have.get(key, [])
        same = len(found) == len(events) and all(
            f[1] == e[1] and (f[0] == e[0] or e[0] == ANY) for f, e in zip(found, events))  # fmt: skip
        if not same:
            wrong.append("%s rank %d %s: trace is %s, not %s" % (*key, found, events))
    return wrong


# ---- cases


def of_families(names):
    return ["%s-%s" % (family, name) for family in FAMILIES for name in names]


def main(names, perform, prefix="mpi"):
    """perform(case, NAME) for a FAMILY-NAME."""

    def in_folders(build, word):
        family, _, name = word.partition("-")
        with cases.folders(build, prefix) as (folder, quiet):
            return perform(Case(build, family, folder, quiet), name)

    cases.main(names, in_folders)
