# SPDX-License-Identifier: BSD-3-Clause
"""The store as others see it: with Python's own sqlite3, the sqlite3 shell and docs/format/store.md, nothing of ours but the extension."""
import json
import os
import re
import shutil
import signal
import sqlite3

import harness
import loads
from harness import Skip, expect

DOC = os.path.join(harness.ROOT, "docs", "format", "store.md")


def filled(case):
    """A job of one program with three threads, and its log."""
    agent = case.agent()
    load = loads.Load(case, threads=3, calls=2000).run()
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state = 'ended' AND made = stored") == 1, "all events")
    case.end(agent, send=signal.SIGTERM)
    return load


def plain(case, extension=False):
    db = sqlite3.connect("file:%s?mode=ro" % case.path("store.db"), uri=True)
    if extension:
        if not hasattr(db, "enable_load_extension"):
            raise Skip("this Python cannot load extensions")
        db.enable_load_extension(True)
        db.load_extension(os.path.join(case.build, "lib", "iorama_sqlite"))
    return db


def documented():
    """Table -> its columns and their types, as the page says."""
    tables, name = {}, None
    with open(DOC, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                found = re.fullmatch(r"### (\w+)(, .*)?\n", line)
                name = found[1] if found else None
                if name:
                    tables[name] = []
            elif name and (row := re.match(r"\| (\w+) \| (integer|real|text|bytes) \|", line)):
                tables[name].append((row[1], row[2]))
    return tables


def examples(kind):
    with open(DOC, encoding="utf-8") as file:
        for block in re.findall(r"```%s\n(.*?)```" % kind, file.read(), re.S):
            yield from (s for s in re.sub(r"^--.*$", "", block, flags=re.M).split(";") if s.strip())


def page(case):
    """Every table and column is on the page, and what is on the page is there."""
    filled(case)
    db = plain(case, extension=True)
    said = documented()
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")}
    counters = {name for name in there if name.startswith("counters_")}
    expect(there - counters - set(said) == set(), "not on the page: %s", there - counters - set(said))
    expect(set(said) - there - {"events"} == set(), "only on the page: %s", set(said) - there)
    with open(DOC, encoding="utf-8") as file:
        text = file.read()
    for name in counters:
        expect("`%s`" % name in text, "%s is not on the page", name)
        columns = [row[1] for row in db.execute("PRAGMA table_info(%s)" % name)]
        expect(columns[:4] == [column for column, _ in said["counters_posix"]], "%s begins with %s", name, columns[:4])
    types = {"INTEGER": "integer", "REAL": "real", "TEXT": "text", "BLOB": "bytes"}
    for name, columns in said.items():
        if name.startswith("counters_"):
            continue
        rows = db.execute("PRAGMA table_info(%s)" % name).fetchall()
        expect([c for c, _ in columns] == [row[1] for row in rows], "%s: the page has %s, the store %s", name,
               [c for c, _ in columns], [row[1] for row in rows])  # fmt: skip
        for (column, kind), row in zip(columns, rows):
            if row[2]:  # expressions of views have none
                expect(types[row[2]] == kind, "%s.%s is %s, not %s", name, column, row[2], kind)
    for sql in examples("sql"):
        plain(case).execute(sql).fetchall()
    for sql in examples("sql events"):
        db.execute(sql).fetchall()


def stock(case):
    """Sums, names and times agree with what the program says it did; no extension."""
    load = filled(case)
    db = plain(case)
    db.row_factory = sqlite3.Row
    [rank] = load.truth["ranks"]
    job = db.execute("SELECT * FROM jobs").fetchone()
    process = db.execute("SELECT * FROM processes").fetchone()
    expect(job["state"] == "done" and job["processes"] == 1 and job["lost"] == 0, "the job: %s", dict(job))
    expect(process["pid"] == rank["pid"] and len(process["segment"]) == 16, "the process: %s", dict(process))
    [(n, blocks)] = db.execute("SELECT sum(n), count(*) FROM blocks WHERE job = ?", (job["number"],))
    [(ops, failed)] = db.execute("SELECT sum(ops), sum(failed) FROM rollups WHERE job = ?", (job["number"],))
    expect(n == ops == job["events"] == process["stored"] == process["made"], "events: %s %s %s", n, ops, dict(job))
    expect(n >= rank["calls"] and blocks >= 3, "%s events in %s blocks, %s calls", n, blocks, rank["calls"])
    expect(failed >= rank["failed"], "%s failed, %s", failed, rank["failed"])
    paths = {path for (path,) in db.execute("SELECT path FROM files WHERE job = ?", (job["number"],))}
    for thread in rank["threads"]:
        expect(set(thread["files"]) <= paths, "files without a name: %s", set(thread["files"]) - paths)
    [(first, last)] = db.execute("SELECT min(time), max(time) FROM rollup_times WHERE job = ?", (job["number"],))
    times = db.execute("SELECT start_time, end_time FROM job_times").fetchone()
    expect(int(times["start_time"]) <= first <= last <= times["end_time"] + 1, "times: %s %s %s", first, last, dict(times))
    # blocks of a lane follow each other
    follow = {}
    for lane, begin, count in db.execute("SELECT lane, first, n FROM blocks ORDER BY process, lane, first"):
        expect(begin == follow.get(lane, 0), "lane %s: %s after %s", lane, begin, follow.get(lane, 0))
        follow[lane] = begin + count


def extension(case):
    """The same events in the shell and in Python, found by keys."""
    load = filled(case)
    [rank] = load.truth["ranks"]
    db = plain(case, extension=True)
    prefix = rank["prefix"]
    for thread in rank["threads"]:
        rows = db.execute("SELECT layer || '.' || upper(op), count(*), sum(failed), sum(CASE op WHEN 'write' THEN len END)"
                          " FROM events WHERE job = 1 AND tid = ? AND file LIKE ? || '%' GROUP BY 1", (thread["tid"], prefix)).fetchall()  # fmt: skip
        expect({row[0]: row[1] for row in rows} == thread["ops"], "thread %s: %s, not %s", thread["tid"], rows, thread["ops"])
        expect(sum(row[2] for row in rows) == thread["failed"], "failed calls of thread %s: %s", thread["tid"], rows)
        expect(sum(row[3] or 0 for row in rows) == thread["bytes_written"], "bytes of thread %s: %s", thread["tid"], rows)
    plan = " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN SELECT * FROM events WHERE job = 1 AND rank = 0 AND end_ns > 5 ORDER BY end_ns"))
    expect("jr>:job_time_rank" in plan and "TEMP B-TREE" not in plan, "the plan: %s", plan)
    if not shutil.which("sqlite3"):
        raise Skip("sqlite3 is not installed")
    text = case.run("sqlite3", "-readonly", "-json", case.path("store.db"), "-cmd", ".load " + os.path.join(case.build, "lib", "iorama_sqlite"),
                    "SELECT count(*) AS n, min(seq) AS first FROM events WHERE job = 1").stdout  # fmt: skip
    [row] = json.loads(text)
    expect(row == {"n": case.value("SELECT events FROM jobs"), "first": 0}, "the shell says %s", row)
    # the program itself says the same
    text = case.command("query", "--sql", "SELECT count(*) AS n FROM events WHERE job = 1", "--json").stdout
    expect(str(row["n"]) in text, "iorama query says %s", text)


def upkeep(case):
    """iorama store, as people use it."""
    filled(case)
    said = json.loads(case.command("store", "stats", "--json").stdout)
    expect(said["jobs"] == 1 and said["events"] == case.value("SELECT events FROM jobs"), "stats: %s", said)
    expect(json.loads(case.command("store", "verify", "--json").stdout) == {"flaws": []}, "verify")
    expect(case.command("store", "verify").stdout == "whole\n", "verify as text")
    expect("0 jobs" in case.command("store", "prune", "--older", "1h").stdout, "nothing is that old")
    archive = case.path("archive.db")
    case.command("store", "archive", case.path("store.db"), "--before", "now", status=2)
    expect(json.loads(case.command("store", "archive", archive, "--before", "now", "--json").stdout) == {"archived": 1}, "archive")
    expect(case.value("SELECT count(*) FROM jobs") == 0 and case.value("SELECT count(*) FROM blocks") == 0, "still here")
    there = json.loads(case.command("store", "stats", "--store", archive, "--json").stdout)
    for key in ("jobs", "processes", "files", "events", "findings", "records", "logs"):
        expect(there[key] == said[key], "%s: %s were here, %s are there", key, said[key], there[key])
    case.command("store", "verify", "--store", archive)
    db = sqlite3.connect(archive)
    db.execute("UPDATE blocks SET body = x'00' WHERE number = 1")
    db.commit()
    db.close()
    bad = case.command("store", "verify", "--store", archive, status=3)
    expect(re.search(r"^job .*: block 1: ", bad.stdout, re.M), "not told: %s", bad.stdout)


CASES = {"page": page, "stock": stock, "extension": extension, "upkeep": upkeep}

if __name__ == "__main__":
    harness.main(CASES)
