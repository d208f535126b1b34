#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""causes.py BUILD [GROUP…]: the pairs of tests/diagnose/pairs.py at size. Of each: is the cause first, is anything HIGH when
it is mended, and what the report promised beside what the change saved, both as I/O time of the slowest process.

A busy machine changes what is saved; the exit status is 1 when less than 95 % of the causes come first, less than 90 %
of the promises are within a factor of 2, or something is HIGH on a mended program. Part of bench/run: `--only pairs`, which takes a quarter of an hour."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "diagnose"))
import pairs  # noqa: E402
from consistency import BEYOND  # noqa: E402

LEAST = 0.2  # seconds saved: what is less drowns in what a machine does besides
LAYOUT = "%-10s %-18s %-6s %-5s %9s %9s %7s  %s"


def spent(report, found):
    """Where what was found is spent: in I/O, or outside of it; what is overlapped shows in the run time alone."""
    return report["job"]["run_time"] if found and (found["rule"] in BEYOND or found["rule"] in pairs.OVERLAP) else report["verdict"]["io_time"]


def perform(build, groups):
    """(pairs, causes that come first, promises that count, those within a factor of 2, HIGH on mended programs)"""
    place, right, near, judged, high, n = pairs.Place(build), 0, 0, 0, 0, 0
    print(LAYOUT % ("group", "pair", "cause", "rule", "promised", "saved", "ratio", ""))
    with tempfile.TemporaryDirectory(prefix="iorama-pairs-", dir=os.path.join(os.path.abspath(build), "tests")) as folder:
        for group in groups:
            for pair in pairs.GROUPS[group]:
                try:
                    reports = {kind: place.run(group, pair, kind, pair.size, os.path.join(folder, kind))[0] for kind in ("bad", "fixed")}
                except pairs.cases.Skip as why:
                    print("%s: SKIP: %s" % (group, why))
                    break
                good, worse = pairs.judge(pair, reports)
                found = pairs.first(reports["bad"])
                saved = spent(reports["bad"], found) - spent(reports["fixed"], found)
                promised = found["cost_s"] if found else 0
                counts = saved >= LEAST and good
                ratio = promised / saved if saved > 0 else 0
                n, right, high, judged = n + 1, right + good, high + len(worse), judged + counts
                near += counts and 0.5 <= ratio <= 2
                print(LAYOUT % (group, pair.name, "first" if good else "WRONG", found["rule"] if found else "-", "%.3f s" % promised, "%.3f s" % saved,
                                "%.2f" % ratio if counts else "-", "; ".join("fixed: HIGH " + text for text in worse)), flush=True)  # fmt: skip
    return n, right, judged, near, high


def measure(b):
    n, right, judged, near, high = perform(b.options.build, list(pairs.GROUPS))
    what = "pairs of programs, %d" % n
    b.add(what, "wrong_causes", 100 * (1 - right / max(1, n)), "%", 5)
    b.add(what, "promises_off", 100 * (1 - near / max(1, judged)), "%", 10)
    b.add(what, "high_when_mended", high, "findings", 0)


def main():
    n, right, judged, near, high = perform(sys.argv[1], sys.argv[2:] or list(pairs.GROUPS))
    print("%d of %d causes first; %d of %d promises within a factor of 2; %d HIGH on mended programs" % (right, n, near, judged, high))
    return 0 if right >= 0.95 * n and near >= 0.9 * judged and high == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
