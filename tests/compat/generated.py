#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generated.py IORAMA TABLES: reads the logs of tests/gen and compares every line with the truth.

IORAMA may be `-`: then only generator and second reader are compared."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import difference, failed_run, run  # noqa: E402
import annex  # noqa: E402
import family  # noqa: E402
import loggen  # noqa: E402
import truth  # noqa: E402
from layout import MODULES, MODULE_ID  # noqa: E402

state = {}  # what the workers share: set before they are forked


def check(name):
    """Problems of one log."""
    (log,) = family.family(state["tables"], state["seed"], [name])
    path = loggen.write_log(log, state["folder"])
    problems = []
    if state["iorama"] != "-":
        problems += check_program(log, path)
    if state["reader"] and common.reader_knows(log):
        problems += check_reader(log, path)
    for ending in ("darshan", "truth", "dxt.truth", "head.truth"):
        if not (state["keep"] and problems):
            os.unlink(os.path.join(state["folder"], "%s.%s" % (name, ending)))
    return name, [p for p in problems if p]


def check_program(log, path):
    base = run(state["iorama"], "show", "--base", "--show-incomplete", path)
    lines = base.lines()
    yield prefixed("--base: ", failed_run(base, log))
    yield prefixed("--base: ", difference(common.counter_lines(lines), truth.counter_lines(log)))
    head = truth.preamble_lines(log)
    yield prefixed("preamble: ", difference(common.preamble(lines), head))
    shown = [m for m in MODULES if m in log.regions and m not in common.TRACES]
    yield prefixed("sections: ", difference(common.banners(lines), shown))
    yield prefixed("warnings: ", difference(common.warned(lines), [m for m in shown if m in log.partial]))

    dxt = run(state["iorama"], "show", "--dxt", "--threads", "--show-incomplete", path)
    lines = dxt.lines()
    yield prefixed("--dxt: ", failed_run(dxt, log, reads_counters=False))
    yield prefixed("--dxt: ", difference(common.trace_part(lines), truth.trace_lines(log)))
    yield prefixed("--dxt preamble: ", difference(common.preamble(lines), head))

    result = run(state["iorama"], "show", "--json", "--show-incomplete", path)
    yield prefixed("--json: ", failed_run(result, log))
    yield prefixed("--json: ", difference(*json_values(result.out, truth.counter_lines(log))))

    if state["reader"] and log.plain:
        yield from check_cut(log, path)
        totals = run(state["iorama"], "show", "--total", "--file", "--perf", "--show-incomplete", path)
        want = common.reader_totals(state["reader"], state["reader"].load(path))
        yield prefixed("--total: ", failed_run(totals, log))
        yield prefixed("--total: ", difference(common.total_lines(totals.lines()), want, want_name="reader"))


def check_cut(log, path):
    """Of a log that was cut, all that stands before the cut is shown."""
    if log.descending or log.complaint or not any(log.stored.values()):
        return
    with open(path, "rb") as stream:
        data = stream.read()
    want = truth.counter_lines(log)
    regions = [id for id, stored in log.stored.items() if stored and not (log.annex and id >= annex.FIRST)]
    if not regions:
        return
    last = max(regions)
    if log.annex:  # it is gone with all that follows
        want = [line for line in want if MODULE_ID[line.split("\t", 1)[0]] < annex.FIRST]
    whole = [line for line in want if MODULE_ID[line.split("\t", 1)[0]] < last]
    for lost in (1, log.stored[last] // 2, log.stored[last]):
        with open(path + ".cut", "wb") as stream:
            stream.write(data[: log.ends[last] - lost])
        result = run(state["iorama"], "show", "--base", "--show-incomplete", path + ".cut")
        ours = common.counter_lines(result.lines())
        if result.status != 3:
            yield "cut by %d: exit status %s" % (lost, result.status)
        yield prefixed("cut by %d: " % lost, difference(ours, want[: max(len(ours), len(whole))]))
    os.unlink(path + ".cut")


def json_values(out, lines):
    """Module, rank, id, counter and value of each counter in the JSON, and of each line that is wanted."""
    want = [line.rsplit("\t", 3)[0] for line in lines]
    try:
        modules = json.loads(out, parse_int=str, parse_float=str, parse_constant=no_constant)["logs"][0]["modules"]
    except (ValueError, LookupError) as why:
        return ["no JSON of a log: %s" % why], want
    ours = []
    for module in modules:
        for record in module.get("records", []):
            head = "\t".join((module["module"], record["rank"], record["id"]))
            for counter, value in record.get("counters", {}).items():
                ours.append("%s\t%s\t%s" % (head, counter, "null" if value is None else value))
    for k, (a, b) in enumerate(zip(ours, want)):
        (a_head, a_value), (b_head, b_value) = a.rsplit("\t", 1), b.rsplit("\t", 1)
        if re.fullmatch(r"-?\d+\.\d{6}", b_value) and re.fullmatch(r"-?[0-9.]+(e[+-]?\d+)?", a_value):
            ours[k] = "%s\t%f" % (a_head, float(a_value))  # JSON has all digits, the text has six
        elif b_value in ("nan", "inf", "-inf") and a_value == "null":
            ours[k] = "%s\t%s" % (a_head, b_value)
    return ours, want


def no_constant(word):
    raise ValueError("%s is no JSON" % word)


def check_reader(log, path):
    """Do generator and second reader agree?"""
    reader = state["reader"]
    read = reader.load(path)
    lines = [line for line in truth.counter_lines(log) if not line.startswith("NULL\t")]
    yield prefixed("reader: ", difference(common.reader_counter_lines(reader, read), lines, "reader", "truth"))
    trace = common.without_banners(truth.trace_lines(log))
    yield prefixed("reader: ", difference(common.reader_trace_lines(reader, read), trace, "reader", "truth"))
    yield prefixed("reader: ", difference(reader.preamble(read), truth.preamble_lines(log), "reader", "truth"))


def prefixed(prefix, problem):
    return prefix + problem if problem else None


def main():
    options = common.family_options(__doc__, "generated-")
    state.update(vars(options))
    if not options.reader:
        print("# no second reader: generator and program only")
    assert len(set(options.names)) == len(options.names)
    return common.run_family(options, check, options.names)


if __name__ == "__main__":
    sys.exit(main())
