# SPDX-License-Identifier: BSD-3-Clause
"""iorama report --fleet --store --since: what jobs lost, where, and what changed, in SQLite and PostgreSQL. The jobs are rows that
the test puts there by the documented schema; it adds up by itself."""
import collections
import csv
import html.parser
import io
import random
import sqlite3
import time

import harness
import logs
import servers
from harness import Skip, expect

try:
    import psycopg2
except ImportError:
    psycopg2 = None

DAY = 86400
HOSTILE = "a|b<script>alert(1)</script>`*[x](http://e.example)\n# head\033[31m"


def made(seed, now):
    """Jobs of two weeks and of before, of a few users and programs; the last ones have names that would do something."""
    rng, jobs = random.Random(seed), []
    for n in range(60):
        days = rng.choice((0.5, 1, 2.5, 5, 6.5, 7.5, 9, 13.5, 14.5, 40))
        io_time = rng.randrange(100, 5000)
        job = {"number": 1000 + n, "end": now - int(days * DAY), "user": "user%d" % rng.randrange(4), "name": "prog%d" % rng.randrange(5),
               "nodes": rng.choice((0, 1, 4, 16)), "run_time": io_time + rng.randrange(5000), "io_time": io_time, "state": "done",
               "account": rng.choice(("physics", "bio")), "cost": None, "findings": [], "files": {}}  # fmt: skip
        if rng.random() < 0.7:
            job["findings"] = [(rule, level, rng.randrange(1, 3000)) for rule, level in
                               (("W01", "HIGH"), ("R02", "WARN"), ("W02", "INFO")) if rng.random() < 0.6]  # fmt: skip
            costs = [cost for _, level, cost in job["findings"] if level != "INFO"]
            job["cost"] = sum(costs) if costs else None
        for folder in ("/scratch", "/home", "/lustre"):
            if rng.random() < 0.6:
                job["files"][folder + "/dir/f%d" % n] = rng.randrange(1, 100)
        jobs.append(job)
    jobs[0].update(user="us" + HOSTILE, name="pr" + HOSTILE, end=now - DAY, cost=9000, io_time=90000, run_time=99999, nodes=4,
                   findings=[("W01", "HIGH", 9000)], files={"/" + HOSTILE.replace("/", "") + "/x": 5})  # fmt: skip
    jobs[1].update(state="running", cost=50000, end=now - DAY)  # it was lost, and reports again
    jobs[2].update(state="running", cost=50000, end=None)
    return jobs


def put(db, jobs, mark):
    """By the documented schema; `mark`: a place of a statement."""
    row = 5 * 10**6
    for j in jobs:
        end = j["end"] * 10**9 if j["end"] else None
        start = end - j["run_time"] * 10**9 if end else 10**18
        values = {"number": j["number"], "key": "k%d" % j["number"], "name": j["name"], "username": j["user"], "start_ns": start, "end_ns": end,
                  "run_time": float(j["run_time"]), "nodes": j["nodes"], "state": j["state"], "io_time": float(j["io_time"]), "logged": 1,
                  "cost": j["cost"], "batch_account": j["account"]}  # fmt: skip
        insert(db, mark, "jobs", values)
        for n, (rule, level, cost) in enumerate(j["findings"]):
            insert(db, mark, "findings", {"job": j["number"], "number": n, "rule": rule, "level": level, "title": "t", "evidence": "e",
                                          "advice": "a", "cost": float(cost)})  # fmt: skip
        for n, (path, seconds) in enumerate(j["files"].items()):
            row += 1
            insert(db, mark, "files", {"job": j["number"], "record": row, "path": path})
            table = ("posix", "stdio")[n % 2]
            insert(db, mark, "counters_" + table, {"job": j["number"], "number": n, "rank": 0, "record": row, table + "_f_read_time": seconds / 2,
                                                   table + "_f_write_time": seconds / 4, table + "_f_meta_time": seconds / 4})  # fmt: skip
    db.commit()


def insert(db, mark, table, values):
    db.cursor().execute("INSERT INTO %s (%s) VALUES (%s)" % (table, ", ".join(values), ", ".join([mark] * len(values))), list(values.values()))


def lost(job, cost=None):
    cost = job["cost"] if cost is None else cost
    return min(cost or 0, job["io_time"])


def weeks(jobs, now, days=7):
    """(this one, the one before)"""
    ended = [j for j in jobs if j["state"] != "running"]
    return ([j for j in ended if j["end"] >= now - days * DAY],
            [j for j in ended if now - 2 * days * DAY <= j["end"] < now - days * DAY])  # fmt: skip


def parts(by, job):
    """(key, seconds lost) of each group that the job is in."""
    if by in ("programs", "users"):
        return [(job["name" if by == "programs" else "user"], lost(job))]
    if by == "rules":
        return [(rule, lost(job, cost)) for rule, level, cost in job["findings"] if level != "INFO"]
    whole = sum(job["files"].values())
    shares = collections.Counter()
    for path, seconds in job["files"].items():
        shares["/" + path.split("/")[1]] += lost(job) * seconds / whole
    return list(shares.items())


def truth(by, jobs, now, days=7):
    """key -> [jobs, seconds, node-hours, node-hours before]"""
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0])
    for n, week in enumerate(weeks(jobs, now, days)):
        for job in week:
            for key, seconds in parts(by, job):
                hours = seconds * max(job["nodes"], 1) / 3600
                if by == "folders" and not lost(job):
                    continue
                sums[key][3 if n else 2] += hours
                sums[key][0] += not n
                sums[key][1] += 0 if n else seconds
    return {key: v for key, v in sums.items() if v[2] or v[3]}


def ask(case, store, *words, since="7d", **more):
    return case.command("report", "--fleet", "--store=" + store, "--since", since, *words, **more)


def table(case, store, by, *words, **more):
    return list(csv.DictReader(io.StringIO(ask(case, store, "--csv=" + by, "--top", "100", *words, **more).stdout)))


def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-3)


def shown(name):
    """The start of a name: what follows may be replaced, which hostile() looks at."""
    return name.split("\n")[0]


def compare(case, store, jobs, now, *words, days=7, **more):
    for by, key in (("rules", "rule"), ("programs", "program"), ("users", "user"), ("folders", "folder")):
        must = {shown(k): v for k, v in truth(by, jobs, now, days).items()}
        got = table(case, store, by, *words, **more)
        names = {next((k for k in must if row[key].startswith(k)), row[key]): row for row in got}
        expect(set(names) == set(must) and len(got) == len(must), "%s: %s, not %s", by, sorted(names), sorted(must))
        for name, row in names.items():
            true = must[name]
            same = [int(row["jobs"]) == true[0]] + [near(float(row[c]), v) for c, v in zip(("lost", "node_hours", "before"), true[1:])]
            expect(all(same) and near(float(row["change"]), true[2] - true[3]), "%s %s: %s, not %s", by, name, row, true)
        order = [float(row["node_hours"]) for row in got]
        expect(order == sorted(order, reverse=True), "%s: %s", by, order)
    for row, week in zip(table(case, store, "totals", *words, **more), weeks(jobs, now, days)):
        hours = sum(lost(j) * max(j["nodes"], 1) for j in week) / 3600
        used = sum(j["run_time"] * max(j["nodes"], 1) for j in week) / 3600
        expect(int(row["jobs"]) == len(week) and near(float(row["node_hours"]), hours) and near(float(row["node_hours_used"]), used)
               and near(float(row["lost"]), sum(map(lost, week))), "in all: %s, not %d %s %s", row, len(week), hours, used)  # fmt: skip


def all_of(case, store, jobs, now):
    compare(case, store, jobs, now)
    compare(case, store, jobs, now, days=3, since="3d")
    compare(case, store, [j for j in jobs if j["user"] == "user1"], now, "--user", "user1")
    compare(case, store, [j for j in jobs if j["account"] == "bio" and j["run_time"] > 3000], now, "--where", "account = bio", "--where",
            "run_time > 3000")  # fmt: skip
    text = ask(case, store, "--user", "nobody").stdout
    expect("No job has ended" in text, "of nobody: %s", text)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = collections.Counter(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        expect(not [a for a, _ in attrs if a.startswith("on") or a in ("href", "src")], "an attribute: %s %s", tag, attrs)

    def handle_data(self, data):
        self.texts.append(data)


def hostile(case, store):
    """Names of others do nothing, in any form."""
    text = ask(case, store, "--width", "100").stdout
    expect("\033" not in text and max(map(len, text.splitlines())) <= 100, "the text: %r", text)
    page = ask(case, store, "--html").stdout
    seen = Page(page)
    expect(not seen.tags["script"] and not seen.tags["a"] and seen.tags["table"] == 4 and "\033" not in page, "the page: %s", seen.tags)
    expect(any("<script>alert(1)</script>" in t for t in seen.texts), "the name is not in the page")
    marked = ask(case, store, "--markdown").stdout
    expect("<script" not in marked and "\n# head" not in marked and "\033" not in marked and "x](" not in marked, "Markdown: %s", marked)
    rows = [line for line in marked.splitlines() if line.startswith("|")]
    expect(any("\\|b&lt;script" in row for row in rows), "Markdown has no such name: %s", rows)
    for row in rows:
        cells = row.replace("\\|", "").count("|")
        expect(cells in (8, 9), "a row of %d cells: %s", cells - 1, row)


def words(case, store, jobs, now):
    """The sentence that comes first; what is cut is counted; what does not go together."""
    this, last = weeks(jobs, now)
    hours = [sum(lost(j) * max(j["nodes"], 1) for j in week) / 3600 for week in (this, last)]
    text = ask(case, store, "--width", "120", "--top", "2").stdout
    expect("%.2f node-hours lost by %d of %d jobs" % (hours[0], sum(1 for j in this if j["cost"]), len(this)) in text, "%s: %s", hours, text)
    expect("%s%.2f" % ("+" if hours[0] > hours[1] else "−", abs(hours[0] - hours[1])) in text, "%s: %s", hours, text)
    expect("and %d more" % (len(truth("programs", jobs, now)) - 2) in text, "programs that are left out: %s", text)
    case.command("report", "--fleet", "--store=" + store, "--since", "7d", "-o", case.path("week.md"), "--markdown")
    with open(case.path("week.md"), encoding="utf-8") as file:
        expect(file.read().startswith("# What was lost\n"), "-o")
    for wrong in (("--since", "soon"), ("--since", "2999-01-01"), ("--since", "7d", "--json"), ("--since", "7d", "--csv=jobs"), ("--user", "x"),
                  ("--since", "7d", "--where", "nothing > 1"), ("--since", "7d", "--fail-on", "high"), ("--since", "7d", "--html", "--markdown"),
                  ("--since", "7d", "--top", "0"), ("--since", "7d", "/logs")):  # fmt: skip
        done = case.command("report", "--fleet", "--store=" + store, *wrong, status=2)
        expect(not done.stdout and len(done.stderr.splitlines()) == 2, "%s: %s", wrong, done.stderr)
    case.command("report", "--fleet", "--since", "7d", case.folder, status=2)
    case.command("report", "--since", "7d", "--store=" + store, "last", status=2)


def sqlite(case):
    store, now, seed = case.path("store.db"), int(time.time()) - 600, random.randrange(10**6)
    print("seed %d" % seed)
    logs.site(case, case.path("site"), 1)
    case.command("index", "-q", "--store", store, case.path("site"))
    jobs = made(seed, now)
    db = sqlite3.connect(store)
    put(db, jobs, "?")
    db.close()
    all_of(case, store, jobs, now)
    hostile(case, store)
    words(case, store, jobs, now)


def postgres(case):
    if psycopg2 is None:
        raise Skip("python3-psycopg2 is not installed")
    now, seed = int(time.time()) - 600, random.randrange(10**6)
    print("seed %d" % seed)
    logs.site(case, case.path("site"), 1)
    with servers.Postgres() as pg:
        case.command("index", "-q", "--store", pg.url, case.path("site"))
        jobs = made(seed, now)
        db = psycopg2.connect(pg.url)
        put(db, jobs, "%s")
        db.close()
        all_of(case, pg.url, jobs, now)
        hostile(case, pg.url)


harness.main({"sqlite": sqlite, "postgres": postgres})
