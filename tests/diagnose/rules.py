#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rules.py IORAMA TABLES [RULE...]: every rule holds just above its limit and not just below it (cases.py)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
from rule_cases import CASES  # noqa: E402
from common import Tap, in_parallel  # noqa: E402
from consistency import BEYOND, TIME, contradictions, room, seconds_of, told  # noqa: E402
from jobs import Job  # noqa: E402
from layout import load_tables  # noqa: E402

ENVIRONMENT = {**os.environ, "HOME": "/nowhere", "XDG_CONFIG_HOME": "/nowhere", "IORAMA_PROFILE": ""}


def report(iorama, *arguments):
    """The document, or an exception that says what went wrong."""
    done = subprocess.run([iorama, "report", "--json", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env=ENVIRONMENT)
    if done.returncode != 0:
        raise RuntimeError("exit status %d: %s" % (done.returncode, done.stderr.decode("latin1")[:500]))
    return json.loads(done.stdout)


def state(document, rule):
    return next((check["state"] for check in document["checks"]["rules"] if check["rule"] == rule), "no such rule")


def finding(document, rule):
    return next((f for f in document["findings"] if f["rule"] == rule), None)


def culprit_of(found):
    """Name of the first file, or number of the first rank or target."""
    first = found["culprits"][0] if found["culprits"] else {"name": None, "kind": None}
    name = first["name"]
    return name if first["kind"] in ("file", "dataset", None) else name.split()[-1]


def problems_of(case, found):
    if case.level and found["level"] not in case.level.split("|"):
        yield "level is %s, not %s (cost %.2f s, %s)" % (found["level"], case.level, found["cost_s"], found["how"])
    if case.culprit and culprit_of(found) != case.culprit:
        yield "the culprit is %s, not %s" % (culprit_of(found), case.culprit)
    if case.cost and not case.cost / case.factor <= found["cost_s"] <= case.cost * case.factor:
        yield "it costs %.3f s, not about %.3f s (%s)" % (found["cost_s"], case.cost, found["how"])


def levels_earned(document):
    """HIGH needs a share of the run time."""
    for f in document["findings"]:
        if f["level"] == "HIGH" and f["cost_s"] < 0.0999 * document["job"]["run_time"] and "cost_high" not in changed_limits(document):
            yield "%s is HIGH for %g s of %g s" % (f["rule"], f["cost_s"], document["job"]["run_time"])
    left = re.search(r"%s of it are not explained" % TIME, document["verdict"]["text"])
    paid, io_time = [f for f in told(document) if f["rule"] not in BEYOND], document["verdict"]["io_time"]
    if left and paid and seconds_of(left.groups()) + paid[0]["cost_s"] > 1.01 * io_time:
        yield "%s, and %g s are explained, of %g s" % (left.group(), paid[0]["cost_s"], io_time)


def changed_limits(document):
    return {row["name"] for row in document["limits"] if row["source"] != "default"}


def sound(document):
    """What holds for every finding of every report."""
    run_time, io_time = document["job"]["run_time"], document["verdict"]["io_time"]
    order = {"HIGH": 0, "WARN": 0, "INFO": 1, "OK": 2}
    # that figures are lower bounds comes before all of them
    keys = [(-1, 0) if f["rule"] == "I01" else (order[f["level"]], -f["cost_s"] if order[f["level"]] == 0 else 0) for f in document["findings"]]
    if keys != sorted(keys):
        yield "findings are out of order: %s" % [(f["level"], f["cost_s"]) for f in document["findings"]]
    yield from levels_earned(document)
    yield from contradictions(document)
    for f in document["findings"]:
        if f["cost_s"] < 0 or f["cost_s"] > room(document, f) + 1e-6 or io_time > run_time + 1e-6:
            yield "%s costs %g s of %g s in I/O" % (f["rule"], f["cost_s"], io_time)
        for key in ("title", "evidence", "how", "advice"):
            if f[key] and ("{" in f[key] or "nan" in f[key].split() or "inf" in f[key].split()):
                yield "%s: %s is not filled in: %s" % (f["rule"], key, f[key])
        if f["level"] in ("HIGH", "WARN") and not f["advice"] and not f["advice_ref"]:
            yield "%s: no advice" % f["rule"]


def relaxed(iorama, case, path):
    profile = path + ".ini"
    with open(profile, "w") as file:
        file.write("[limits]\n%s\n" % case.relax)
    document = report(iorama, "--profile", profile, path)
    os.remove(profile)
    name = case.relax.split(" ")[0]
    limit = next(row for row in document["limits"] if row["name"] == name)
    if limit["source"] == "default":
        yield "%s is still the default" % name
    if finding(document, case.rule) and (state(document, case.rule) == "found" or case.level == "OK"):
        yield "it holds though %s" % case.relax


def check(item):
    number, iorama, tables, folder = item
    case = CASES[number]
    wrong = []
    documents = {}
    try:
        for x in dict.fromkeys((case.below, case.above, case.at)):
            job = Job(tables, **case.job)
            case.build(job, x)
            path = job.write(os.path.join(folder, "%d-%s.darshan" % (number, x)))
            documents[x] = report(iorama, path)
            if x == case.above and case.relax:
                wrong += relaxed(iorama, case, path)
            wrong += ["x = %s: %s" % (x, problem) for problem in sound(documents[x])]
            os.remove(path)
        for x, want in ((case.below, "no"), (case.above, "found"), (case.at, "found")):
            have = state(documents[x], case.rule)
            if have == "passed" and case.level == "OK" and finding(documents[x], case.rule):
                have = "found"  # what is praised is no problem
            if (have == "found") != (want == "found"):
                wrong.append("x = %s: %s" % (x, have))
        found = finding(documents[case.at], case.rule)
        if found:
            wrong += ["x = %s: %s" % (case.at, problem) for problem in problems_of(case, found)]
        elif not wrong:
            wrong.append("there is no such finding")
    except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as reason:
        wrong.append(repr(reason))
    return number, wrong


def all_rules(iorama):
    done = subprocess.run([iorama, "explain", "--json"], capture_output=True, env=ENVIRONMENT)
    return [rule["name"] for rule in json.loads(done.stdout)["rules"]]


def main():
    iorama, tables, only = sys.argv[1], load_tables(sys.argv[2]), sys.argv[3:]
    folder = tempfile.mkdtemp(prefix="iorama-rules-")
    tap = Tap()
    try:
        items = [(k, iorama, tables, folder) for k, case in enumerate(CASES) if not only or case.rule in only]
        for number, wrong in in_parallel(check, items, 2):
            case = CASES[number]
            tap.case(" ".join(filter(None, [case.rule, case.note])), wrong)
    finally:
        shutil.rmtree(folder)
    if not only:
        rules, tried = set(all_rules(iorama)), {case.rule for case in CASES}
        missing = ["no case for " + rule for rule in sorted(rules - tried)] + ["there is no rule " + rule for rule in sorted(tried - rules)]
        tap.case("every rule has a case", missing)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
