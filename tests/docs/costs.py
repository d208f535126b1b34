#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""costs.py: figures of the cost table of README.md, and of docs/how-it-works.md, are the newest ones of bench/results.csv."""
import csv
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# beginning of the row, what it says (%s: the figure), what was measured, its metric, digits behind the point; peer: that column
FIGURES = (
    ("added to a `pread`", "| %s ns, ", "pread, counters", "cpu_ns_min", 0),
    ("added to a `pread`", " %s instructions |", "pread, counters", "instructions", 0),
    ("added to a `pread`", "Darshan 3.5: %s ns", "pread, counters", "peer cpu_ns_min", 0),
    ("added to a `pread`", "ns, %s instructions |", "pread, counters", "peer instructions", 0),
    ("the same, two threads", "| %s ns |", "pread, counters, 2 threads", "cpu_ns_min", 0),
    ("the same, two threads", "| %s ns |", "pread, counters, 2 threads", "peer cpu_ns_min", 0),
    ("the same, every call traced", "| %s instructions (", "pread, trace, with the log", "instructions", 0),
    ("the same, every call traced", "(%s of them in the call)", "pread, trace", "instructions", 0),
    ("the same, every call a live event", "| %s ns, ", "pread, live", "cpu_ns_min", 0),
    ("the same, every call a live event", " %s instructions |", "pread, live", "instructions", 0),
    ("the same, every call a live event", "connector %s ns", "pread, live", "peer cpu_ns_min", 0),
    ("added to a program", "| %s ms;", "true, segment only", "ms_min", 1),
    ("added to a program", "; %s ms if", "true, with a log of its own", "ms_min", 1),
    ("`show --base`", "| %s s,", "show --base, 50000 files", "cpu_min", 2),
    ("`show --base`", ", %s MB |", "show --base, 50000 files", "peak_memory", 0),
    ("`show --dxt`", "| %s s,", "show --dxt, 1000000 segments", "cpu_min", 2),
    ("`show --dxt`", ", %s MB |", "show --dxt, 1000000 segments", "peak_memory", 0),
    ("`report`, 50,000 files", "| %s s,", "report, 50000 files", "cpu_min", 2),
    ("`report`, 50,000 files", ", %s MB |", "report, 50000 files", "peak_memory", 0),
    ("`report`, 50,000 files", "Drishti %s s", "report, 50000 files", "peer cpu_min", 0),
    ("`report`, 1,000,000", "| %s s,", "report, 1000000 segments", "cpu_min", 2),
    ("`report`, 1,000,000", ", %s MB;", "report, 1000000 segments", "peak_memory", 0),
    ("`report`, 1,000,000", "page of %s MB", "report --html, 1000000 segments", "size", 1),
    ("`report`, 1,000,000", "MB %s s,", "report --html, 1000000 segments", "cpu_min", 2),
    ("`report`, 1,000,000", "PyDarshan %s s", "report, 1000000 segments", "peer cpu_min", 0),
    ("`report --fleet`", "| %s s of CPU", "report --fleet, 10000 logs, 2 cores", "cpu_min", 1),
    ("`report --fleet`", ", %s MB |", "report --fleet, 10000 logs, 2 cores", "peak_memory", 0),
)
# the same in a sentence
SENTENCES = (
    ("A read or write of one byte", " about %s instructions", "pread, counters", "instructions"),
    ("A read or write of one byte", " trace %s and", "pread, trace", "instructions"),
)


def newest():
    found = {}
    with open(os.path.join(ROOT, "bench", "results.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["what"], row["metric"]] = row["value"]
            if row["peer"]:
                found[row["what"], "peer " + row["metric"]] = row["peer"]
    return found


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def main():
    values, problems = newest(), []
    rows = [line[2:] for line in text_of("README.md").split("\n") if line.startswith("| ")]
    sentences = re.sub(r"\s+", " ", text_of("docs/how-it-works.md"))

    def check(where, text, words, what, metric, digits):
        if (what, metric) not in values:
            problems.append("bench/results.csv has no %s of '%s'" % (metric, what))
            return
        figure = format(float(values[what, metric]), ",.%df" % digits)
        if words % figure not in text:
            problems.append("%s: '%s' is %s in bench/results.csv, not so in: %s" % (where, what, words.strip() % figure, text))

    for begin, words, what, metric, digits in FIGURES:
        row = [r for r in rows if r.startswith(begin)]
        if len(row) != 1:
            problems.append("README.md has %d rows '%s'" % (len(row), begin))
        else:
            check("README.md", row[0], words, what, metric, digits)
    for begin, words, what, metric in SENTENCES:
        at = sentences.find(begin)
        check("docs/how-it-works.md", sentences[at : at + 300], words, what, metric, 0)
    print("\n".join(problems) or "%d figures are those of bench/results.csv" % (len(FIGURES) + len(SENTENCES)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
