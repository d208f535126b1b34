# SPDX-License-Identifier: BSD-3-Clause
"""iorama emulate try --store: what a change gave is kept beside what the finding was said to cost, in SQLite and PostgreSQL."""
import json
import os
import re
import statistics
import subprocess
import sys

import captured
import harness
from harness import MPICH, OPENMPI, expect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import servers  # noqa: E402

CHANGE = "transfer_size=40000"


def job(case, store):
    """A job of small writes, in a store; its log."""
    log = captured.job(case, "job.darshan", [[["w", "out", 10 * i, 10] for i in range(4000)]])
    case.run("index", "--store", store, log)
    return log


class Kept(harness.Case):
    """A case that asks the store, too."""

    def run(self, *words, status=0):
        done = subprocess.run([self.iorama, *words], cwd=self.folder, env=harness.environment(), capture_output=True, text=True,
                              timeout=harness.TIMEOUT)  # fmt: skip
        expect(done.returncode == status, "%s: status %d: %s", words, done.returncode, done.stderr)
        return done.stdout

    def rows(self, store, table="trials"):
        return json.loads(self.run("query", "--store", store, "--json", "--sql", "SELECT * FROM %s ORDER BY 1, 2" % table))

    def tried(self, log, store, change=CHANGE, **more):
        done = self.emulate("try", log, "--no_think", "--scratch", self.path("s"), "--set", change, "--store", store, "--json", **more)
        return json.loads(done.stdout[done.stdout.index("{"):]), done.stderr


def told(case, store, log):
    """One trial: the row is what the run printed; the report and the list of jobs say it."""
    result, said = case.tried(log, store)
    (row,) = case.rows(store)
    medians = [statistics.median(result[key]["seconds"]) for key in ("baseline", "changed")]
    for key, want in (("before_s", medians[0]), ("after_s", medians[1]), ("gain", medians[0] - medians[1]), ("low", result["low"]),
                      ("high", result["high"]), ("confidence", result["confidence"])):  # fmt: skip
        expect(abs(row[key] - want) < 1e-6 * abs(want), "%s: %s, not %s", key, row[key], want)
    expect((row["change"], row["verdict"], row["rounds"], row["ranks"]) == (CHANGE, result["verdict"], 5, result["ranks"]), "%s", row)
    findings = {f["rule"]: f for f in case.rows(store, "findings")}
    expect(row["rule"] in findings, "beside no finding: %s of %s", row["rule"], sorted(findings))
    expect(row["cost"] == findings[row["rule"]]["cost"], "cost %s, not that of %s", row, findings[row["rule"]])
    expect("beside %s" % row["rule"] in said, "not said: %s", said)
    report = case.run("report", "--store=" + store, "last")
    sentence = re.sub(r"\s+", " ", report)
    expect(re.search("tried(: | for %s: )%s: " % (row["rule"], CHANGE), sentence) and "5 rounds" in sentence, "report: %s", report)
    (trial,) = json.loads(case.run("report", "--store=" + store, "--json", "last"))["trials"]
    expect((trial["rule"], trial["change"], trial["verdict"]) == (row["rule"], CHANGE, row["verdict"]), "%s", trial)
    expect(abs(trial["gain_s"] - row["gain"]) < 1e-8 * max(1, abs(row["gain"])), "%s, not %s", trial, row)
    markdown = case.run("report", "--store=" + store, "--markdown", "last").replace("\\", "")
    expect(re.search("Tried(: | for %s: )%s: " % (row["rule"], CHANGE), markdown), "Markdown: %s", markdown)
    expect("tried" not in case.run("report", log), "the log alone knows of a trial")
    (listed,) = json.loads(case.run("jobs", "--store", store, "--json", "--columns", "job,cost,gain"))
    expect(listed["gain"] == (row["gain"] if row["verdict"] == "better" else None), "jobs: %s", listed)
    detail = json.loads(case.run("jobs", "--store", store, "--json", str(row["job"])))
    expect([t["change"] for t in detail["trials"]] == [CHANGE], "jobs: %s", detail["trials"])
    expect(CHANGE in case.run("jobs", "--store", store, str(row["job"])), "jobs does not show it")
    return row


def life(case, store, other):
    """From the trial to the archive and the end of the job."""
    log = job(case, store)
    first = told(case, store, log)
    # another, of something no finding is about
    result, said = case.tried(log, store, "engine=vector")
    rows = case.rows(store)
    expect([r["number"] for r in rows] == [0, 1] and rows[1]["rule"] == "" and rows[1]["cost"] is None, "%s", rows)
    expect("beside" not in said, "beside what? %s", said)
    expect("tried: engine=vector: " in re.sub(r"\s+", " ", case.run("report", "--store=" + store, "last")), "not in the report")
    # taken in again: trials stay
    case.run("index", "--store", store, "--force", log)
    expect(case.rows(store) == rows, "taking the log in again changed them")
    # to an archive, twice over; then it is gone here
    case.run("store", "archive", other, "--store", store, "--older", "0s")
    expect(case.rows(store) == [], "still here: %s", case.rows(store))
    there = case.rows(other)
    expect([{**r, "job": 0} for r in there] == [{**r, "job": 0} for r in rows], "%s, not %s", there, rows)
    case.run("store", "verify", "--store", other)
    case.run("store", "prune", "--store", other, "--older", "0s")
    expect(case.rows(other) == [], "trials of a job that is gone: %s", case.rows(other))
    expect(first["t_ns"] > 1.7e18 and result["verdict"], "when? %s", first)


def sqlite(case):
    life(case, case.path("s.db"), case.path("other.db"))


def postgres(case):
    with servers.Postgres() as pg:
        life(case, pg.url, case.path("other.db"))


def refused(case):
    """What cannot be kept is refused before anything is run."""
    log = captured.job(case, "job.darshan", [[["w", "out", 10 * i, 10] for i in range(10)]])
    store = case.path("s.db")
    for words, status, why in (
        (["try", log, "--set", CHANGE, "--store", store], 3, "no store here"),
        (["try", log, "--set", CHANGE, "--store", ""], 2, "path of a file"),
    ):
        done = case.emulate(*words, status=status)
        expect(why in done.stderr and done.stdout == "", "%s: %s", words, done.stderr)
    os.makedirs(case.path("else"))
    case.run("index", "--store", store, case.path("else"))
    for what, why in ((log, "has no job of"), ("app", "has no job of"), ("missing", "missing"), (None, "of nothing")):
        done = case.emulate("try", *([what] if what else []), "--set", CHANGE, "--store", store, status=3)
        expect(why in done.stderr and done.stderr.count("\n") == 1, "%s: %s", what, done.stderr)
    expect(not os.path.exists(case.path("iorama-replay")) and case.rows(store) == [], "something was done")
    case.run("index", "--store", store, log)
    words = [case.iorama, "emulate", "try", log, "--no_think", "--set", CHANGE, "--store", "default"]
    done = subprocess.run(words, cwd=case.folder, env=harness.environment(IORAMA_STORE=store), capture_output=True, text=True, timeout=harness.TIMEOUT)
    expect(done.returncode == 0 and "kept with job" in done.stderr and len(case.rows(store)) == 1, "default: %s", done.stderr)
    done = case.emulate("try", log, "--set", "transfer_size=10", "--store", store, status=2)
    expect("changes nothing" in done.stderr and len(case.rows(store)) == 1, "kept what was refused: %s", done.stderr)
    done = case.emulate("try", log, "--set", "store=x", "--store", store, status=2)
    expect("the same for both" in done.stderr, "%s", done.stderr)


def under(family):
    def mpi(case):
        case.need(family)
        store = case.path("s.db")
        log = job(case, store)
        result, said = case.tried(log, store, ranks=2, launcher=family)
        (row,) = case.rows(store)
        expect(row["ranks"] == 2 and row["verdict"] == result["verdict"], "%s, not %s", row, result)
        expect("kept with job" in said, "not said: %s", said)
        other = captured.job(case, "other.darshan", [[["w", "out", 10 * i, 10] for i in range(9)]])
        done = case.emulate("try", other, "--set", CHANGE, "--store", store, ranks=2, launcher=family, status=None)
        expect(done.returncode != 0 and "has no job of" in done.stderr, "%s", done.stderr)

    return mpi


CASES = {"sqlite": sqlite, "postgres": postgres, "refused": refused, "openmpi": under(OPENMPI), "mpich": under(MPICH)}

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES, Kept)
