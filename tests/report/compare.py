#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare.py IORAMA TABLES diff|fleet|svg: runs compared, many runs summed up, and the picture of a run. The logs are made
here, so that what must come out is known without the program: sums, ratios and who has what are counted a second time."""
import collections
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
for folder in ("report", "diagnose", "cli", "gen"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import human  # noqa: E402
import jobs  # noqa: E402
import logs  # noqa: E402
from layout import load_tables  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
failures = []


def check(what, found, wanted):
    if found != wanted:
        failures.append("%s: %r, not %r" % (what, found, wanted))


def near(what, found, wanted):
    if found is None or abs(found - wanted) > 1e-6 * max(1, abs(wanted)):
        failures.append("%s: %r, not %r" % (what, found, wanted))


class Job(jobs.Job):
    """Ids are those of the names, so that runs agree on them."""

    def id(self, name):
        return self.ids.setdefault(name, logs.record_id(name.encode("utf-8", "surrogateescape")))


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def run(self, *words, status=0, env=None):
        done = subprocess.run([self.path, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": self.folder, **(env or {})})  # fmt: skip
        check("status of %s (%s)" % (" ".join(words), done.stderr.decode()[:200]), done.returncode, status)
        self.errors = done.stderr.decode()
        return done.stdout.decode()

    def json(self, *words, **how):
        return json.loads(self.run(*words, **how))


def checkpoint(tables, size, time, names, run_time=100, nprocs=4, **values):
    """Each rank writes 64 MiB to a file of its own in pieces of `size`, which takes it `time` seconds."""
    job = Job(tables, nprocs=nprocs, run_time=run_time, **values)
    for rank in range(nprocs):
        job.posix(names % rank, rank, writes=[(64 * MIB // size, size)], write_time=time)
    return job


# ---- diff ----------------------------------------------------------------------------------------------------------


def metric(d, name):
    return next(m for m in d["metrics"] if m["name"] == name)


def diff_faster(program, tables):
    checkpoint(tables, KIB, 50.0, "/scratch/out.%04d").write(program.folder + "/a.darshan")
    checkpoint(tables, 64 * KIB, 10.0, "/scratch/out.%04d", 60).write(program.folder + "/b.darshan")
    d = program.json("diff", "--json", "a.darshan", "b.darshan")
    check("schema", (d["schema"], d["version"], d["a"]["log"], d["b"]["log"]), ("iorama-diff", 1, "a.darshan", "b.darshan"))
    for name, a, b, change, judgement in (
        ("run_time", 100, 60, "less", "better"), ("io_time", 50, 10, "less", "better"), ("write_time", 200, 40, "less", "better"),
        ("io_share", 0.5, 1 / 6, "less", "better"), ("bytes_written", 256 * MIB, 256 * MIB, "same", "neutral"),
        ("writes", 262144, 4096, "less", "better"), ("write_size", KIB, 64 * KIB, "more", "better"), ("files", 4, 4, "same", "neutral"),
        ("rate", 256 * MIB / 50, 256 * MIB / 10, "more", "better"),
    ):  # fmt: skip
        m = metric(d, name)
        near(name + " of A", m["a"], a)
        near(name + " of B", m["b"], b)
        check(name, (m["change"], m["judgement"]), (change, judgement))
    near("ratio", metric(d, "write_size")["ratio"], 64)
    check("verdict", d["verdict"]["text"],
          "B spends 40.0 s less in I/O (10.0 s instead of 50.0 s): writes are 64× larger. Run time went down from "
          "1 min 40 s to 1 min 0 s (−40 %).")  # fmt: skip
    check("faster", (d["verdict"]["faster"], d["verdict"]["slower"], d["verdict"]["differs"]), (True, False, True))
    near("saved", d["verdict"]["io_saved_s"], 40)
    check("files", (d["files"]["same_name"], d["files"]["only_a"], d["files"]["only_b"], len(d["files"]["rows"])), (4, 0, 0, 4))
    return d


def diff_findings(program, d):
    """Findings are those of the two reports, each with its fate."""
    sides = [program.json("report", "--json", name + ".darshan") for name in "ab"]
    found = [{f["rule"]: f for f in side["findings"] if f["level"] != "OK"} for side in sides]
    check("rules", {f["rule"] for f in d["findings"]}, set(found[0]) | set(found[1]))
    for f in d["findings"]:
        for side, own in (("a", found[0]), ("b", found[1])):
            check("%s of %s" % (f["rule"], side), f[side] and (f[side]["level"], f[side]["cost_s"]),
                  (own[f["rule"]]["level"], own[f["rule"]]["cost_s"]) if f["rule"] in own else None)  # fmt: skip
        check("fate of " + f["rule"], f["state"] == "new", f["a"] is None)
        check("fate of " + f["rule"], f["state"] == "gone", f["b"] is None)
    heavy = [sum(f["level"] in ("WARN", "HIGH") for f in side.values()) for side in found]
    if heavy[0] == 0:
        failures.append("the slow run has no finding of weight")
    gaps = [abs((f["b"] or {"cost_s": 0})["cost_s"] - (f["a"] or {"cost_s": 0})["cost_s"]) for f in d["findings"]]
    check("order of findings", gaps, sorted(gaps, reverse=True))


def diff_forms(program, d):
    """Text, Markdown, page and CSV say the same."""
    table = list(csv.DictReader(io.StringIO(program.run("diff", "--csv", "a.darshan", "b.darshan"))))
    for m in d["metrics"]:
        row = next(row for row in table if row["name"] == m["name"])
        check("CSV of " + m["name"], (row["unit"], row["change"], row["judgement"]), (m["unit"], m["change"], m["judgement"]))
        for side in "ab":
            check("CSV of " + m["name"], row[side] == "", m[side] is None)
            near("CSV of " + m["name"], float(row[side] or 0), m[side] or 0)
    for form in ([], ["--markdown"], ["--html=-"]):
        text = re.sub(r"\s+", " ", program.run("diff", *form, "a.darshan", "b.darshan"))
        for part in ("writes are 64× larger", human.seconds(50), human.seconds(10), human.count(262144), "64.0 KiB", "256.0 MiB"):
            check("%s in %s" % (part, form), part in text, True)
    program.run("diff", "--html=page.html", "a.darshan", "b.darshan")
    with open(program.folder + "/page.html", encoding="utf-8") as stream:
        page = stream.read()
    check("the page needs nothing else", re.findall(r"(?:src|href)=|url\(|@import|https?://", page), [])
    for width in (80, 100, 120, 200):
        text = program.run("diff", "--width", str(width), "a.darshan", "b.darshan")
        long = [line for line in text.split("\n") if len(line) > width]
        check("lines wider than %d" % width, long, [])
        check("blanks at the end", [line for line in text.split("\n") if line.endswith(" ")], [])
    check("colour", "\033[" in program.run("diff", "--color", "always", "a.darshan", "b.darshan"), True)
    text = program.run("diff", "a.darshan", "b.darshan", env={"LC_ALL": "C"})
    check("plain characters", [c for c in text if ord(c) > 126], [])


def diff_gates(program, tables):
    for words, status in (
        (["a.darshan", "b.darshan"], 0), (["--fail-on", "slower", "a.darshan", "b.darshan"], 0), (["--fail-on", "slower", "b.darshan", "a.darshan"], 1),
        (["--fail-on", "any", "a.darshan", "b.darshan"], 1), (["--fail-on", "any", "a.darshan", "a.darshan"], 0),
        (["--fail-on", "faster", "a.darshan", "a.darshan"], 2), (["a.darshan"], 2), (["--tolerance", "x", "a.darshan", "b.darshan"], 2),
        (["--json", "--html=-", "a.darshan", "b.darshan"], 2), (["a.darshan", "missing.darshan"], 3), (["--csv=ranks", "a.darshan", "b.darshan"], 2),
    ):  # fmt: skip
        program.run("diff", *words, status=status)
    checkpoint(tables, KIB, 52.0, "/scratch/out.%04d", 103).write(program.folder + "/near.darshan")
    program.run("diff", "--fail-on", "slower", "a.darshan", "near.darshan")  # 4 % and 3 %
    program.run("diff", "--fail-on", "slower", "--tolerance", "2 %", "a.darshan", "near.darshan", status=1)
    d = program.json("diff", "--json", "a.darshan", "near.darshan")
    check("same", d["verdict"]["text"], "A and B spend about the same time in I/O: 50.0 s and 52.0 s. Run time is the same, 1 min 43 s.")
    with open(program.folder + "/a.darshan", "rb") as stream:
        whole = stream.read()
    with open(program.folder + "/cut.darshan", "wb") as stream:
        stream.write(whole[:-40])
    d = program.json("diff", "--json", "cut.darshan", "b.darshan", status=3)
    check("damage is told", any("incomplete" in note for note in d["notes"]), True)


def diff_slower(program, tables):
    """More bytes, other ranks, other program, other folder and other numbers in names."""
    checkpoint(tables, MIB, 4.0, "/scratch/run1/ckpt.%d.h5").write(program.folder + "/c.darshan")
    e = Job(tables, nprocs=8, run_time=100, exe=b"/opt/bin/other")
    for rank in range(8):
        e.posix("/scratch/run2/ckpt.%d.h5" % (rank + 100), rank, writes=[(640, MIB)], write_time=30.0)
    e.posix("/elsewhere/out/new.dat", 0, writes=[(1, 10)])
    e.write(program.folder + "/e.darshan")
    d = program.json("diff", "--json", "c.darshan", "e.darshan")
    check("notes", [re.sub(r"[:;].*", "", note) for note in d["notes"]], ["Different programs", "Different numbers of ranks"])
    check("verdict", d["verdict"]["text"].split(". ")[0], "B spends 26.0 s more in I/O (30.0 s instead of 4.00 s): 20× as many bytes written")
    rows = {row["name"]: (row["files_a"], row["files_b"]) for row in d["files"]["rows"]}
    check("matched", rows, {"/scratch/run#/ckpt.#.h5": (4, 8), "/elsewhere/out/new.dat": (0, 1)})
    near("bytes of a group", d["files"]["rows"][0]["b"]["bytes_written"], 8 * 640 * MIB)
    checkpoint(tables, MIB, 4.0, "/other/place/ckpt.%d.h5").write(program.folder + "/g.darshan")
    d = program.json("diff", "--json", "c.darshan", "g.darshan")
    check("other folder", [(row["name"], row["files_a"], row["files_b"]) for row in d["files"]["rows"]], [("ckpt.#.h5", 4, 4)])


def diff_odd(program, tables):
    """Nothing at all, and names that would do harm."""
    Job(tables).write(program.folder + "/none.darshan")
    d = program.json("diff", "--json", "none.darshan", "none.darshan")
    check("nothing", d["verdict"]["text"].split(". ")[0], "Neither run spends time in I/O")
    odd = Job(tables, exe=b"/bin/<b>&\x1b[31m\xff")
    odd.posix("/scratch/<script>alert(1)</script>|\x1b[2J\udcff", 0, writes=[(10, 10)], write_time=1.0)
    odd.write(program.folder + "/odd.darshan")
    for form in ([], ["--html=-"], ["--markdown"], ["--csv=files"], ["--json"]):
        text = program.run("diff", *form, "odd.darshan", "none.darshan")
        check("escapes in %s" % form, "\033" in text, False)
        check("markup in %s" % form, "<script>alert" in text and form != ["--json"] and form != [] and form != ["--csv=files"], False)


def test_diff(program, tables):
    d = diff_faster(program, tables)
    diff_findings(program, d)
    diff_forms(program, d)
    diff_gates(program, tables)
    diff_slower(program, tables)
    diff_odd(program, tables)


# ---- fleet ---------------------------------------------------------------------------------------------------------


def make_fleet(tables, folder):
    """12 jobs of 3 users; job 7 has three steps, one of them in another folder; returns what must be counted."""
    expected = []
    os.makedirs(folder + "/2026/3/1")
    os.makedirs(folder + "/2026/3/2")
    for n in range(12):
        user, exe = n % 3, n % 4
        for step in range(3 if n == 7 else 1):
            time = 40.0 if n % 2 else 0.01 * (n + 1)
            job = checkpoint(tables, KIB if n % 2 else 4 * MIB, time, "/scratch/out.%04d", jobid=100 + n, uid=5000 + user, nprocs=2,
                             exe=b"/apps/prog%d -x" % exe, start=1700000000 + 1000 * n + 200 * step, end=1700000100 + 1000 * n + 200 * step)  # fmt: skip
            path = "%s/2026/3/%d/user%d_prog%d_id%d-%d_3-1-7-99_1.darshan" % (folder, 1 + step % 2, user, exe, 100 + n, step)
            job.write(path)
            expected.append({"job": 100 + n, "uid": 5000 + user, "exe": "prog%d" % exe, "io": time, "bytes": 128 * MIB, "path": path})
    return expected


def fleet_sums(program, expected):
    d = program.json("report", "--fleet", "--json", "logs")
    jobs_of = collections.defaultdict(list)
    for log in expected:
        jobs_of[log["job"], log["uid"]].append(log)
    t = d["totals"]
    check("counts", (t["logs"], t["jobs"], t["users"], t["programs"], t["unreadable"], t["damaged"]), (14, 12, 3, 4, 0, 0))
    near("I/O time", t["io_time"], sum(log["io"] for log in expected))
    near("bytes", t["bytes_written"], sum(log["bytes"] for log in expected))
    near("run time", t["run_time"], 1400)
    near("rank time", t["rank_time"], 2800)
    check("jobs", {(int(j["job"]), j["uid"]): len(j["logs"]) for j in d["jobs"]}, {k: len(v) for k, v in jobs_of.items()})
    check("users", {j["user"] for j in d["jobs"]}, {"user0", "user1", "user2"})
    for j in d["jobs"]:
        near("I/O time of job %s" % j["job"], j["io_time"], sum(x["io"] for x in jobs_of[int(j["job"]), j["uid"]]))
    top = [int(j["job"]) for j in d["top"]["io_time"]]
    check("most time in I/O", (top[0], len(top)), (107, 5))
    check("lists are in order", [j["io_time"] for j in d["top"]["io_time"]], sorted((j["io_time"] for j in d["jobs"]), reverse=True)[:5])
    return d


def fleet_rules(program, d, expected):
    """The table of findings, from the report of every single log."""
    level = {"OK": 0, "INFO": 1, "WARN": 2, "HIGH": 3}
    worst, cost = {}, collections.defaultdict(float)
    for log in expected:
        for f in program.json("report", "--json", log["path"])["findings"]:
            key = f["rule"], log["job"]
            worst[key] = max(worst.get(key, 0), level[f["level"]])
            cost[key] += f["cost_s"]
    jobs_of = {log["job"]: log for log in expected}
    rules = {rule for (rule, _), found in worst.items() if found > 0}
    check("rules", {f["rule"] for f in d["findings"]}, rules)
    for f in d["findings"]:
        heavy = [job for (rule, job), found in worst.items() if rule == f["rule"] and found >= 2]
        check("jobs with " + f["rule"], f["jobs"], len(heavy))
        check("levels of " + f["rule"], (f["high"], f["warn"], f["info"]),
              tuple(sum(1 for (rule, _), found in worst.items() if rule == f["rule"] and found == n) for n in (3, 2, 1)))  # fmt: skip
        check("users with " + f["rule"], f["users"], len({jobs_of[job]["uid"] for job in heavy}))
        check("programs with " + f["rule"], f["programs"], len({jobs_of[job]["exe"] for job in heavy}))
        if abs(f["cost_s"] - sum(cost[f["rule"], job] for job in heavy)) > 1e-4 * max(1, f["cost_s"]):
            failures.append("cost of %s: %s" % (f["rule"], f["cost_s"]))
    check("something is found", any(f["jobs"] == 6 for f in d["findings"]), True)


def fleet_forms(program, d):
    text = program.run("report", "--fleet", "logs")
    check("verdict", "6 of 12 jobs (50 %) could be faster" in text, True)
    check("again, byte by byte", program.run("report", "--fleet", "logs"), text)
    check("by a list, and twice the same logs", program.run("report", "--fleet", "@list", "logs"), text)
    check("--top", len(program.json("report", "--fleet", "--json", "--top", "2", "logs")["top"]["bytes"]), 2)
    table = list(csv.DictReader(io.StringIO(program.run("report", "--fleet", "--csv", "logs"))))
    check("CSV", {row["rule"]: int(row["jobs"]) for row in table}, {f["rule"]: f["jobs"] for f in d["findings"]})
    table = list(csv.DictReader(io.StringIO(program.run("report", "--fleet", "--csv=jobs", "logs"))))
    check("CSV of jobs", sum(float(row["io_time"]) for row in table), sum(j["io_time"] for j in d["jobs"]))
    check("CSV of logs", len(program.run("report", "--fleet", "--csv=logs", "logs").splitlines()), 15)
    for form in (["--markdown"], ["--html"]):
        check("verdict of %s" % form, "6 of 12 jobs (50 %) could be faster" in program.run("report", "--fleet", *form, "logs"), True)
    for width in (80, 100, 200):
        wide = [line for line in program.run("report", "--fleet", "--width", str(width), "logs").split("\n") if len(line) > width]
        check("lines wider than %d" % width, wide, [])
    program.run("report", "--fleet", "--fail-on", "high", "logs", status=1)
    for words, status in ((["--svg", "logs"], 2), (["--csv=files", "logs"], 2), (["--top", "0", "logs"], 2), ([], 2), (["missing"], 3)):
        program.run("report", "--fleet", *words, status=status)


def fleet_damage(program, expected):
    """Damaged logs are named and counted, the rest is reported; links out of the folder are not followed."""
    os.makedirs(program.folder + "/hurt/sub")
    os.makedirs(program.folder + "/outside")
    with open(expected[1]["path"], "rb") as stream:
        whole = stream.read()
    for path, data in (("hurt/good.darshan", whole), ("hurt/cut.darshan", whole[:-40]), ("hurt/sub/text.darshan", b"no log\n" * 400),
                       ("hurt/empty.darshan", b""), ("hurt/other.txt", b"x"), ("hurt/new.darshan_partial", whole[:500]), ("outside/far.darshan", whole)):
        with open(os.path.join(program.folder, path), "wb") as stream:
            stream.write(data)
    os.symlink("../outside", program.folder + "/hurt/link")
    os.symlink("../outside/far.darshan", program.folder + "/hurt/far.darshan")
    d = program.json("report", "--fleet", "--json", "hurt", status=3)
    check("logs", (d["totals"]["logs"], d["totals"]["unreadable"], d["totals"]["damaged"], d["totals"]["jobs"]), (4, 2, 1, 1))
    check("named", [p["log"] for p in d["problems"]], ["hurt/cut.darshan", "hurt/empty.darshan", "hurt/sub/text.darshan"])
    for name in ("hurt/cut.darshan", "hurt/empty.darshan", "hurt/sub/text.darshan", ".darshan_partial"):
        check("told of " + name, name in program.errors, True)
    program.run("report", "--fleet", "--fail-on", "high", "hurt", status=3)
    program.run("report", "--fleet", "outside/far.darshan")
    os.makedirs(program.folder + "/nothing")
    program.run("report", "--fleet", "nothing", status=3)
    check("no logs", "no logs" in program.errors, True)


def fleet_numbers_again(program, tables):
    """The same job number, months later, is another job."""
    os.makedirs(program.folder + "/again")
    for n, start in enumerate((1700000000, 1700000300, 1710000000)):
        checkpoint(tables, MIB, 1.0, "/scratch/out.%04d", jobid=5, start=start, end=start + 100).write("%s/again/%d.darshan" % (program.folder, n))
    d = program.json("report", "--fleet", "--json", "again")
    check("steps and another job", [len(j["logs"]) for j in d["jobs"]], [2, 1])
    check("user without a name", [j["user"] for j in d["jobs"]], [None, None])


def fleet_processes(program, tables):
    """24 processes of one training at the same time are one job, as long as its span; the program after it is another."""
    os.makedirs(program.folder + "/training")
    files = "/scratch/out.%04d"
    for n in range(24):  # two epochs: workers of the second begin when those of the first have ended
        start = 1700000000 + 80 * (n // 12)
        checkpoint(tables, KIB, 30.0 + n % 12, files, 75, 1, jobid=9, start=start, end=start + 75).write("%s/training/%02d.darshan" % (program.folder, n))
    checkpoint(tables, KIB, 5.0, files, 20, 1, jobid=9, exe=b"/apps/pack", start=1700000010, end=1700000030).write(program.folder + "/training/x.darshan")
    d = program.json("report", "--fleet", "--json", "training")
    check("a job of processes, and another program", sorted(len(j["logs"]) for j in d["jobs"]), [1, 24])
    job = next(j for j in d["jobs"] if len(j["logs"]) == 24)
    near("run time of processes", job["run_time"], 150)
    near("I/O time of the slowest", job["io_time"], 41 + 41)
    check("processes", job["ranks"], 12)
    near("bytes of all", job["bytes_written"], 24 * 64 * MIB)
    check("cost is within I/O time", job["cost_s"] <= job["io_time"], True)
    for rule in d["findings"]:
        check("cost of %s is within I/O time of jobs" % rule["rule"], rule["cost_s"] <= d["totals"]["io_time"] + 1e-6, True)


def fleet_pipes(program, tables):
    """Waiting for another program is no I/O: pipes and sockets are in no figure."""
    os.makedirs(program.folder + "/pipes")
    job = checkpoint(tables, MIB, 2.0, "/scratch/out.%04d", nprocs=1)
    for name in ("pipe:[4711]", "/proc/12/fd/pipe:[4712]", "socket:[99]", "anon_inode:[eventfd]"):
        job.posix(name, 0, writes=[(10, 100)], write_time=20.0)
    job.posix("/scratch/pipe:x", 0, writes=[(1, 100)], write_time=1.0)
    job.write(program.folder + "/pipes/a.darshan")
    job = program.json("report", "--fleet", "--json", "pipes")["jobs"][0]
    near("I/O time without pipes", job["io_time"], 3.0)
    check("bytes and files without pipes", (job["bytes_written"], job["files"]), (64 * MIB + 100, 2))


def test_fleet(program, tables):
    expected = make_fleet(tables, program.folder + "/logs")
    for log in expected:
        log["path"] = os.path.relpath(log["path"], program.folder)
    with open(program.folder + "/list", "w", encoding="utf-8") as stream:
        stream.write("\n".join(log["path"] for log in expected) + "\n\n")
    for log in expected:
        log["path"] = os.path.join(program.folder, log["path"])
    d = fleet_sums(program, expected)
    fleet_rules(program, d, expected)
    fleet_forms(program, d)
    fleet_damage(program, expected)
    fleet_numbers_again(program, tables)
    fleet_processes(program, tables)
    fleet_pipes(program, tables)


# ---- svg -----------------------------------------------------------------------------------------------------------


def picture(program, name):
    program.run("report", "-q", "--svg=" + name + ".svg", name + ".darshan")
    with open(os.path.join(program.folder, name + ".svg"), encoding="utf-8") as stream:
        text = stream.read()
    check("numbers of " + name, re.findall(r"\b(?:nan|inf)\b", re.sub(r"<text.*?</text>|<title>.*?</title>|<style>.*?</style>", "", text, flags=re.S)), [])
    check("needs nothing else", re.findall(r"(?:xlink:)?href=|url\(|@import|<script", text), [])
    return text, ElementTree.fromstring(text)


def texts(root):
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def strips(root):
    """Of each heat map: the cells that are drawn, (row, first, last + 1, level)."""
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        if "scale(" not in group.get("transform", ""):
            continue
        cells = []
        for path in group:
            for first, row, wide in re.findall(r"M(\d+) (\d+)\.5h(\d+)", path.get("d")):
                cells.append((int(row), int(first), int(first) + int(wide), int(path.get("class")[4:])))
        yield cells


def svg_heat(program, tables):
    """One rank of 1000 writes for one second: it must be seen, at its place, and nothing else."""
    job = Job(tables, nprocs=1000, run_time=100)
    bins = [0] * 100
    bins[70] = 5 * MIB
    job.heat("POSIX", {321: (bins, [0] * 100), 0: ([1000] + [0] * 99, [0] * 100)})
    job.posix("/scratch/one", 321, writes=[(5, MIB)], write_time=1.0)
    job.write(program.folder + "/one.darshan")
    _, root = picture(program, "one")
    cells = [cell for strip in strips(root) for cell in strip]
    rows = sorted({row for row, *_ in cells})
    check("ranks that are seen", len(rows), 2)
    check("the first rank", rows[0], 0)
    check("place of the other", abs(rows[1] / 48 - 321 / 1000) < 2 / 48, True)  # 48 rows at most
    bright = [cell for cell in cells if cell[0] == rows[1]]
    check("brightest", {cell[3] for cell in bright}, {15})
    check("one bin", sum(last - first for _, first, last, _ in bright), 1)
    check("names", any("POSIX" in text for text in texts(root)), True)


def svg_words(program, tables):
    job = checkpoint(tables, KIB, 50.0, "/scratch/out.%04d", exe=b"/apps/<sim>&co")
    job.write(program.folder + "/slow.darshan")
    report = program.json("report", "--json", "slow.darshan")
    _, root = picture(program, "slow")
    words = " ".join(texts(root))
    check("verdict", report["verdict"]["text"] in words, True)
    for f in report["findings"]:
        if f["level"] in ("WARN", "HIGH"):
            check("finding " + f["rule"], f["rule"] in words and human.seconds(f["cost_s"]) in words, True)
    check("name", "<sim>&co" in words, True)
    Job(tables).write(program.folder + "/none.darshan")
    picture(program, "none")
    odd = Job(tables, exe=b"/bin/\xff\x01\x1b[31m<b>\xef\xbf\xbf")
    odd.posix("/scratch/\x1b[2J\udcff<x>", 0, writes=[(100000, 10)], write_time=90.0)
    odd.heat("POSIX", {0: ([2**62, 1, 0], [0, 0, 0])}, width=1e-9)
    odd.write(program.folder + "/odd.darshan")
    picture(program, "odd")


def test_svg(program, tables):
    svg_heat(program, tables)
    svg_words(program, tables)
    for folder in (os.environ.get("IORAMA_SHARED", ""), os.path.join(HERE, "..", "..", "..", "shared")):
        corpus = os.path.join(folder, "corpus")
        for name in sorted(os.listdir(corpus)) if folder and os.path.isdir(corpus) else []:
            if name.endswith(".darshan"):
                text = subprocess.run([program.path, "report", "-q", "--svg=-", os.path.join(corpus, name)], stdout=subprocess.PIPE, check=False).stdout
                ElementTree.fromstring(text.decode())
                check("size of " + name, len(text) < 400_000, True)
        if os.path.isdir(corpus):
            return


def main():
    path, tables, what = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="iorama-compare-") as folder:
        {"diff": test_diff, "fleet": test_fleet, "svg": test_svg}[what](Program(os.path.abspath(path), folder), load_tables(tables))
    for failure in failures:
        print("FAILED: " + failure)
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
