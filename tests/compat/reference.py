#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reference.py IORAMA: our numbers of real logs must be those of the second reader.

Unlike corpus.py this covers AutoPerf, and logs for which no text of the original tools exists.
The logs are in the folders `reference` and `corpus` of $IORAMA_SHARED, the reader is in `tools`."""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import difference  # noqa: E402

state = {}


def check(path):
    began = time.monotonic()
    reader = state["reader"]
    log = reader.load(path)
    problems = []
    result = common.run(state["iorama"], "show", "--all", "--show-incomplete", path)
    problems.append(common.failed_run(result))
    lines = result.lines()
    ours = [line for line in common.counter_lines(lines) if not line.startswith("total_")]
    problems.append(difference(ours, common.reader_counter_lines(reader, log), want_name="reader"))
    problems.append(difference(common.total_lines(lines), common.reader_totals(reader, log), want_name="reader"))
    problems.append(difference(common.preamble(lines), reader.preamble(log), want_name="reader"))

    result = common.run(state["iorama"], "show", "--dxt", "--threads", "--show-incomplete", path)
    problems.append(common.failed_run(result))
    ours = common.without_banners(common.trace_part(result.lines()))
    problems.append(difference(ours, common.reader_trace_lines(reader, log), want_name="reader"))
    return [p for p in problems if p], time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iorama", metavar="IORAMA")
    parser.add_argument("--limit", type=int, default=10**7, metavar="BYTES", help="skip larger logs, they take long")
    options = parser.parse_args()
    logs = common.shared_logs("reference", "corpus")
    state.update(vars(options), reader=common.load_reader())
    if not logs or not state["reader"]:
        print("SKIP: no logs or no second reader")
        return common.SKIPPED
    tap = common.Tap()
    small = sorted((p for p in logs if os.path.getsize(p) <= options.limit), key=os.path.getsize, reverse=True)
    for path in sorted(set(logs) - set(small)):
        print("# skipped, %d bytes: %s" % (os.path.getsize(path), os.path.basename(path)))
    for path, (problems, took) in zip(small, common.in_parallel(check, small, processes=2)):
        tap.case(os.path.basename(path), problems, "%.2f s" % took if took > 0.5 else "")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
