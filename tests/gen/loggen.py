#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes logs and, beside each, the text that a correct reader prints for it:

    NAME.darshan     the log
    NAME.truth       counter lines of `show --base --show-incomplete`
    NAME.dxt.truth   `show --dxt --threads --show-incomplete` after its preamble
    NAME.head.truth  the preamble, without free text (TZ=UTC)

Of a warning about incomplete data only its first line is in there."""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from family import family  # noqa: E402
from layout import build_log, load_tables  # noqa: E402
from truth import counter_lines, preamble_lines, trace_lines  # noqa: E402


def write_lines(path, lines):
    with open(path, "w", encoding="latin1", newline="\n") as stream:
        stream.writelines(line + "\n" for line in lines)


def write_log(log, folder):
    """Writes the log and its texts; returns the path of the log."""
    stem = os.path.join(folder, log.name)
    data = build_log(log)
    with open(stem + ".darshan", "wb") as stream:
        stream.write(data)
    write_lines(stem + ".truth", counter_lines(log))
    write_lines(stem + ".dxt.truth", trace_lines(log))
    write_lines(stem + ".head.truth", preamble_lines(log))
    return stem + ".darshan"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True, help="names of the counters: what `tablegen json` prints")
    parser.add_argument("--out", required=True, help="folder for the logs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="make only logs of such names")
    parser.add_argument("--list", action="store_true", help="print the name of each log")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    count = 0
    for log in family(load_tables(options.tables), options.seed, options.only):
        write_log(log, options.out)
        count += 1
        if options.list:
            print(log.name)
    print("%d logs in %s" % (count, options.out))


if __name__ == "__main__":
    main()
