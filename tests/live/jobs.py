# SPDX-License-Identifier: BSD-3-Clause
"""iorama jobs and iorama query: what they find is what the test itself finds by other means, in SQLite and in PostgreSQL."""
import csv
import fnmatch
import io
import json
import os
import random
import sqlite3
import subprocess

import harness
import logs
import servers
from harness import expect

JOBS = 70


def made_site(case, store=None):
    """A store of many jobs; rows of truth with their number in the store, and figures that only reports know."""
    folder = case.path("site")
    truth = logs.site(case, folder, JOBS)
    case.command("index", "-q", "--store", store or case.path("store.db"), folder)
    listed = ask(case, "--csv", "--columns", "job,key,jobid", store=store)
    number = {int(r["jobid"]): int(r["job"]) for r in listed}
    rows = []
    for path, row in truth.items():
        said = json.loads(case.command("report", "--json", "-q", path).stdout)
        rows.append({**row, "job": number[row["jobid"]], "path": path, "run_time": row["end"] - row["start"],
                     "bytes": row["bytes_read"] + row["bytes_written"], "rules": {f["rule"] for f in said["findings"]},
                     "levels": {f["level"] for f in said["findings"]}, "io_share": said["verdict"]["io_share"]})  # fmt: skip
    return rows


def ask(case, *words, store=None, **more):
    """`iorama jobs WORDS`: rows of its CSV, or its text."""
    words = ("--store", store, *words) if store else words
    done = case.command("jobs", *words, **more)
    return list(csv.DictReader(io.StringIO(done.stdout))) if "--csv" in words else done.stdout


def iso(seconds):
    return subprocess.run(["date", "-u", "-d", "@%d" % seconds, "+%Y-%m-%dT%H:%M:%SZ"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def compare(case, rows, store=None):
    starts = sorted(r["start"] for r in rows)
    middle = starts[len(starts) // 2]
    rule = sorted({x for r in rows for x in r["rules"]})
    wanted = [
        ((), lambda r: True),
        (("--user", "user3"), lambda r: r["user"] == "user3"),
        (("--user", "nobody' OR '1'='1"), lambda r: False),
        (("--name", "prog[12]"), lambda r: fnmatch.fnmatch(r["name"], "prog[12]")),
        (("--name", "*3"), lambda r: r["name"] == "prog3"),
        (("--since", iso(middle)), lambda r: r["end"] >= middle),
        (("--until", iso(middle)), lambda r: r["start"] < middle),
        (("--since", "@%d" % middle, "--until", "@%d" % (middle + 7200)), lambda r: r["end"] >= middle and r["start"] < middle + 7200),
        (("--min-bytes", "100MiB"), lambda r: r["bytes"] >= 100 * 2**20),
        (("--where", "bytes > 50MiB"), lambda r: r["bytes"] > 50 * 2**20),
        (("--where", "small_writes >= 5000"), lambda r: r["small_writes"] >= 5000),
        (("--where", "small_writes = 0"), lambda r: r["small_writes"] == 0),
        (("--where", "POSIX_OPENS > 3"), lambda r: r["opens"] > 3),
        (("--where", "posix_bytes_written<=1e6"), lambda r: r["bytes_written"] <= 1e6),
        (("--where", "run_time > 2min", "--where", "ranks != 2"), lambda r: r["run_time"] > 120 and r["ranks"] != 2),
        (("--where", "name = prog1"), lambda r: r["name"] == "prog1"),
        (("--where", "io_share > 10%"), lambda r: r["io_share"] > 0.1),
        (("--finding", "warn"), lambda r: r["levels"] & {"HIGH", "WARN"}),
        (("--finding", "high"), lambda r: "HIGH" in r["levels"]),
        (("--running",), lambda r: False),
        (("user2", "prog"), lambda r: r["user"] == "user2"),
        (("APPS/PROG2",), lambda r: r["name"] == "prog2"),
    ] + [(("--finding", x), lambda r, x=x: x in r["rules"]) for x in rule]  # fmt: skip
    for words, holds in wanted:
        got = sorted(int(r["job"]) for r in ask(case, "--csv", *words, store=store))
        must = sorted(r["job"] for r in rows if holds(r))
        expect(got == must, "%s: jobs %s, not %s", words, got, must)


def filters(case):
    compare(case, made_site(case))


def order_and_columns(case):
    rows = made_site(case)
    for key, of in (("bytes_written", lambda r: r["bytes_written"]), ("small_writes", lambda r: r["small_writes"]),
                    ("POSIX_OPENS", lambda r: r["opens"]), ("start", lambda r: r["start"]), ("run_time", lambda r: r["run_time"])):  # fmt: skip
        got = ask(case, "--csv", "--sort", key, "--limit", "10", "--columns", "job," + key)
        must = sorted(rows, key=lambda r: (-of(r), -r["job"]))[:10]
        expect([int(r["job"]) for r in got] == [r["job"] for r in must], "by %s: %s", key, got)
        if key not in ("start", "run_time"):
            expect([float(r[key]) for r in got] == [of(r) for r in must], "by %s: %s", key, got)
        got = ask(case, "--csv", "--sort", "-" + key, "--limit", "5", "--columns", "job")
        must = sorted(rows, key=lambda r: (of(r), -r["job"]))[:5]
        expect([int(r["job"]) for r in got] == [r["job"] for r in must], "by -%s: %s", key, got)
    names = [r["name"] for r in ask(case, "--csv", "--sort", "name", "--columns", "name")]
    expect(names == sorted(names), "names: %s", names)
    # all forms say the same
    said = json.loads(ask(case, "--json"))
    listed = ask(case, "--csv")
    expect(len(said) == len(listed) == JOBS, "%d and %d jobs", len(said), len(listed))
    by_number = {r["job"]: r for r in rows}
    for a, b in zip(said, listed):
        expect(list(a) == list(b), "columns %s and %s", list(a), list(b))
        for key, value in a.items():
            text = b[key]
            same = text == "" if value is None else float(text) == value if isinstance(value, (int, float)) else text == value
            expect(same, "%s: %r and %r", key, value, text)
        true = by_number[a["job"]]
        for key in ("user", "name", "ranks", "jobid", "bytes_read", "bytes_written", "bytes", "reads", "writes", "files"):
            expect(a[key] == true[key], "job %d: %s is %r, not %r", a["job"], key, a[key], true[key])
        expect(a["start"] == iso(true["start"])[:-1] + ".000000000Z" and a["end"][:19] == iso(true["end"])[:19], "times of %s", a)
    # for people: as wide as is asked for, no colour in a pipe, the newest first, how many more there are
    text = ask(case, "--width", "80")
    lines = text.splitlines()
    expect(max(map(len, lines)) <= 80 and "\033" not in text, "the table: %s", text)
    expect(lines[-1].strip() == "and %d more" % (JOBS - 50), "the end: %s", lines[-1])
    expect("\033[" not in ask(case, "--color", "never") and "state" in lines[0], "the head: %s", lines[0])
    expect(len(ask(case, "--limit", "0").splitlines()) == JOBS + 1, "--limit 0")
    # one of them
    job = rows[5]
    for word in (job["job"], case.value("SELECT key FROM jobs WHERE number = ?", job["job"]), job["jobid"]):
        text = ask(case, str(word))
        expect(text.startswith("%s · job %d of the store · %s" % (job["name"], job["job"], job["user"])), "%s: %s", word, text)
        one = json.loads(ask(case, "--json", str(word)))
        expect(one["job"] == job["job"] and {f["rule"] for f in one["findings"]} == job["rules"], "%s: %s", word, one)
        expect(one["figures"].get("small_writes", 0) == job["small_writes"], "figures of %s", word)
    newest = max(rows, key=lambda r: r["start"])
    expect(json.loads(ask(case, "--json", "last"))["job"] == newest["job"], "last")


def all_pages(case, *words, size=7, store=None):
    """Numbers of the jobs of all pages, each asked for by the cursor of the one before."""
    jobs, cursor = [], "first"
    while cursor:
        said = json.loads(ask(case, "--json", "--limit", str(size), "--after", cursor, *words, store=store))
        expect(said["schema"] == "iorama.jobs/1" and len(said["jobs"]) <= size, "a page: %s", said)
        expect(bool(said["next"]) <= (len(said["jobs"]) == size), "a page that is not full, and goes on: %s", said)
        jobs += [job["job"] for job in said["jobs"]]
        cursor = said["next"]
    return jobs


def pages(case, store=None, rows=None):
    """The pages of a list, put together, are the list: whatever it is sorted by, whatever has to hold."""
    rows = rows or made_site(case)
    for words in ((), ("--sort", "user"), ("--sort", "-name"), ("--sort", "cost"), ("--sort", "-bytes"), ("--sort", "small_writes"),
                  ("--sort", "POSIX_OPENS"), ("--user", "user3"), ("--name", "prog[12]", "--sort", "run_time"), ("--finding", "warn"),
                  ("--where", "small_writes >= 5000", "--sort", "ranks"), ("prog2",)):  # fmt: skip
        whole = [int(r["job"]) for r in ask(case, "--csv", "--columns", "job", *words, store=store)]
        got = all_pages(case, *words, store=store)
        expect(got == whole, "%s: pages %s, whole %s", words, got, whole)
    # beside text and CSV it is said; the next page begins where this one ended
    words = ("--csv", "--columns", "job", "--limit", "20", "--after")
    more = ("--store", store) if store else ()
    first = case.command("jobs", *more, *words, "first")
    cursor = first.stderr.split("--after ")[1].strip()
    second = case.command("jobs", *more, *words, cursor)
    both = [int(line) for page in (first, second) for line in page.stdout.splitlines()[1:]]
    whole = [int(r["job"]) for r in ask(case, "--csv", "--columns", "job", store=store)]
    expect(both == whole[:40], "two pages: %s", both)
    # a place in another order is none
    done = case.command("jobs", *more, "--json", "--sort", "bytes", "--after", cursor, status=2)
    expect("no place" in done.stderr and done.stdout == "", "another order: %s %s", done.stdout, done.stderr)


def refused(case):
    """What is no figure, no time, no rule is named, and nothing a user writes becomes part of a statement."""
    logs.site(case, case.path("site"), 2)
    case.command("index", "-q", case.path("site"))
    for words in (("--where", "nothing > 3"), ("--where", "bytes"), ("--where", "bytes > x"), ("--where", "1; DROP TABLE jobs > 1"),
                  ("--where", "bytes > 1; DROP TABLE jobs"), ("--where", "name > 3"), ("--where", "bytes) OR (1=1) > 0"), ("--sort", "j.number"),
                  ("--sort", "bytes; --"), ("--columns", "job,(SELECT 1)"), ("--since", "noon"), ("--min-bytes", "much"), ("--finding", "Z99"),
                  ("--limit", "x"), ("--csv", "--json"), ("--limit", "-1")):  # fmt: skip
        done = case.command("jobs", *words, status=2)
        expect(len(done.stderr.splitlines()) == 2 and not done.stdout, "%s: %s", words, done.stderr)
    case.command("jobs", "12345", status=3)
    case.command("jobs", "1000/none", status=3)
    for words in (("--order", "x"), ("--order", "job_rank_time"), ("--from", "+5s"), ("--from", "x"), ("--rank", "x"), ("word",),
                  ("--sql", "SELECT 1", "--activity"), ("--file", "*", "--record", "1")):  # fmt: skip
        case.command("query", *words, status=2)
    case.command("query", "--job", "99", status=3)
    case.command("query", "--job", "1", "--file", "/none/*", status=3)
    before = case.value("SELECT count(*) FROM jobs")
    for sql in ("DELETE FROM jobs", "UPDATE jobs SET name = 'x'", "DROP TABLE jobs", "INSERT INTO jobs (key) VALUES ('x')", "SELECT 1; DELETE FROM jobs",
                "ATTACH '%s' AS other" % case.path("other.db"), "CREATE TABLE x (y)", "VACUUM INTO '%s'" % case.path("copy.db"), "PRAGMA user_version = 9",
                "SELECT nothing FROM nowhere", ""):  # fmt: skip
        done = case.command("query", "--sql", sql, status=None)
        expect(done.returncode in (2, 3, 4) and len(done.stderr.splitlines()) == 1, "%s: %d %s", sql, done.returncode, done.stderr)
    expect(case.value("SELECT count(*) FROM jobs") == before == 2, "jobs were changed")
    expect(not os.path.exists(case.path("other.db")) and not os.path.exists(case.path("copy.db")), "files were made")
    expect(case.command("jobs", "--columns", "help").stdout.startswith("Columns:"), "help of columns")


# ---- events


def made_events(case, seed=5, store=None):
    """Events of two jobs in a file, taken in by collect; the test keeps them as they are in the file."""
    rng, events = random.Random(seed), []
    names = {2**63 + 17 + n: "/scratch/dir %d/f,\"%d\".dat" % (n, n) for n in range(6)}
    with open(case.path("events.json"), "w", encoding="utf-8") as file:
        for job, ranks in (("1000/run-1-a", 3), ("1001/run-2-b", 2)):
            for rank in range(ranks):
                for lane in range(2):
                    segment = "%032x" % (rng.getrandbits(100) | rank << 4 | lane)
                    now = 1700000000 * 10**9 + rng.randrange(10**9)
                    for seq in range(rng.randrange(200, 900)):
                        now += rng.randrange(1, 10**7)
                        dur = rng.randrange(100, 10**6)
                        op = rng.choice(("write", "read", "open", "close"))
                        moves = op in ("write", "read")
                        record = rng.choice(list(names))
                        event = {"type": "event", "job": job, "segment": segment, "host": "node%d" % (rank % 2), "rank": rank, "lane": 0,
                                 "tid": 100 + lane, "seq": seq, "lost": 0, "layer": rng.choice(("POSIX", "STDIO")), "op": op, "fn": op + "64",
                                 "record": str(record), "file": names[record], "start_ns": now - dur, "end_ns": now, "dur_ns": dur,
                                 "off": rng.randrange(2**40) if moves else -1, "len": rng.randrange(2**20) if moves else -1, "call": seq + 1,
                                 "parent": 0, "failed": rng.random() < 0.1}  # fmt: skip
                        file.write(json.dumps(event) + "\n")
                        events.append(event)
    case.command("collect", "--store", store or case.path("store.db"), case.path("events.json"))
    return events


def events_of(case, *words, store=None, **more):
    words = ("--store", store, *words) if store else words
    return list(csv.DictReader(io.StringIO(case.command("query", "--csv", *words, **more).stdout)))


def fields(e, job):
    """A row as CSV has it."""
    none = lambda v: "" if v < 0 else str(v)
    return {"job": str(job), "rank": str(e["rank"]), "end_ns": str(e["end_ns"]), "start_ns": str(e["start_ns"]), "dur_ns": str(e["dur_ns"]),
            "off": none(e["off"]), "len": none(e["len"]), "record": e["record"], "file": e["file"], "layer": e["layer"], "op": e["op"], "fn": e["fn"],
            "tid": str(e["tid"]), "lane": str(e["lane"]), "seq": str(e["seq"]), "call": str(e["call"]), "parent": "0",
            "failed": str(int(e["failed"])), "host": e["host"]}  # fmt: skip


def check_events(case, events, store=None):
    number = {r["key"]: int(r["job"]) for r in ask(case, "--csv", "--columns", "job,key", store=store)}
    first = number["1000/run-1-a"]
    start = min(e["start_ns"] for e in events if e["job"] == "1000/run-1-a")
    middle = sorted(e["end_ns"] for e in events)[len(events) // 2]
    mine = lambda e: e["job"] == "1000/run-1-a"
    wanted = [
        ((), lambda e: True, "tjr"),
        (("--job", first), mine, "jrt"),
        (("--job", "1000/run-1-a", "--order", "job_time_rank"), mine, "jtr"),
        (("--job", first, "--rank", 1), lambda e: mine(e) and e["rank"] == 1, "jrt"),
        (("--job", first, "--op", "write"), lambda e: mine(e) and e["op"] == "write", "jrt"),
        (("--job", first, "--layer", "STDIO", "--op", "read"), lambda e: mine(e) and e["op"] == "read" and e["layer"] == "STDIO", "jrt"),
        (("--job", first, "--file", "/scratch/dir [23]/*"), lambda e: mine(e) and e["file"][13] in "23", "jrt"),
        (("--file", "*\"4\".dat"), lambda e: '"4"' in e["file"], "tjr"),
        (("--record", 2**63 + 18), lambda e: e["record"] == str(2**63 + 18), "tjr"),
        (("--from", "@%d.%09d" % divmod(middle, 10**9)), lambda e: e["end_ns"] >= middle, "tjr"),
        (("--to", "@%d.%09d" % divmod(middle, 10**9), "--rank", 0), lambda e: e["end_ns"] < middle and e["rank"] == 0, "tjr"),
        (("--job", first, "--from", "+100ms", "--to", "+1.5s"), lambda e: mine(e) and start + 10**8 <= e["end_ns"] < start + 15 * 10**8, "jrt"),
        (("--job", first, "--from", "+1h"), lambda e: False, "jrt"),
    ]  # fmt: skip
    keys = {"jrt": lambda r: (int(r["job"]), int(r["rank"]), int(r["end_ns"])), "jtr": lambda r: (int(r["job"]), int(r["end_ns"]), int(r["rank"])),
            "tjr": lambda r: (int(r["end_ns"]), int(r["job"]), int(r["rank"]))}  # fmt: skip
    whole = lambda r: sorted(r.items())
    for words, holds, order in wanted:
        got = events_of(case, *words, store=store)
        must = [fields(e, number[e["job"]]) for e in events if holds(e)]
        expect(sorted(map(whole, got)) == sorted(map(whole, must)), "%s: %d events, not %d", words, len(got), len(must))
        expect([keys[order](r) for r in got] == sorted(keys[order](r) for r in got), "%s: not in order", words)
        few = events_of(case, *words, "--limit", 7, store=store)
        expect(few == got[:7], "%s: the first seven differ", words)
    return first


def events(case):
    truth = made_events(case)
    first = check_events(case, truth)
    # JSON and the table say the same
    got = events_of(case, "--job", first, "--limit", 50)
    said = json.loads(case.command("query", "--json", "--job", first, "--limit", 50).stdout)
    expect([{k: "" if v is None else str(v) for k, v in r.items()} for r in said] == got, "JSON differs")
    text = case.command("query", "--job", first, "--limit", 50).stdout
    expect(len(text.splitlines()) == 51 and text.splitlines()[0].split()[0] == "time", "the table: %s", text[:300])
    expect(json.loads(case.command("query", "--json", "--job", first, "--from", "+1h").stdout) == [], "no events as JSON")
    # the default of people is a thousand rows, and it is said that there are more
    done = case.command("query")
    expect(len(done.stdout.splitlines()) == 1001 and "--limit 0" in done.stderr, "%d lines, %s", len(done.stdout.splitlines()), done.stderr)
    # the same by SQL
    n = case.command("query", "--csv", "--sql", "SELECT count(*) AS n, sum(len) AS bytes FROM events WHERE job = %d AND op = 'write'" % first).stdout
    mine = [e for e in truth if e["job"] == "1000/run-1-a" and e["op"] == "write"]
    expect(n == "n,bytes\n%d,%d\n" % (len(mine), sum(e["len"] for e in mine)), "by SQL: %s", n)
    # no report can be made of these: it is said what there is
    done = case.command("report", "--store", first)
    expect("no log of it" in done.stderr and "of the store" in done.stdout, "said %s %s", done.stdout, done.stderr)
    case.command("report", "--json", "--store", first, status=3)


def other_rows(case):
    """Activity and samples, as rows that the test puts there by the documented schema."""
    made_events(case)
    db = sqlite3.connect(case.path("store.db"))
    t = 1700000000 * 10**9
    rows = [(1, t + s * 10**9, 1, layer, 0, 10**9, s, 2 * s, 3, 100 * s, 200 * s, 10, 20, 30) for s in range(1, 6) for layer in ("POSIX", "STDIO")]
    db.executemany("INSERT INTO activity (job, t_ns, process, layer, rank, width_ns, reads, writes, metas, bytes_read, bytes_written, read_ns, write_ns,"
                   " meta_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)  # fmt: skip
    db.execute("INSERT INTO sample_series (number, host, metric) VALUES (1, 'node1', 'cpu.user'), (2, 'node1', 'load.1'), (3, 'node2', 'load.1')")
    db.executemany("INSERT INTO sample_values (series, t_ns, value) VALUES (?, ?, ?)", [(k, t + s * 10**9, k + s / 8) for k in (1, 2, 3) for s in range(4)])
    db.commit()
    db.close()
    got = events_of(case, "--activity", "--job", 1, "--layer", "POSIX", "--from", "@1700000002", "--to", "@1700000005")
    expect([(r["time"], r["reads"], r["bytes_written"]) for r in got]
           == [("2023-11-14T22:13:%02d.000000000Z" % (20 + s), str(s), str(200 * s)) for s in (2, 3, 4)], "activity: %s", got)  # fmt: skip
    expect(len(events_of(case, "--activity")) == 10 and events_of(case, "--activity", "--job", 2) == [], "activity of all")
    got = events_of(case, "--samples", "node1", "--op", "load.1")
    expect([(r["metric"], float(r["value"])) for r in got] == [("load.1", 2 + s / 8) for s in range(4)], "samples: %s", got)
    expect(len(events_of(case, "--samples", "node1")) == 8 and not events_of(case, "--samples", "node3"), "samples of a host")


def memory_of(pid):
    """KiB it has had at most, 0 if it is gone."""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)


def streams(case):
    """Millions of rows with little memory; a reader that has gone is no error."""
    logs.site(case, case.path("site"), 1)
    case.command("index", "-q", case.path("site"))
    sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %d) SELECT x, x * 2.5 AS y, 'text ' || x AS z FROM n"
    for form in ((), ("--csv",), ("--json",)):
        command = [case.iorama, "query", *form, "--limit", "0", "--sql", sql % 400000]
        lines = most = 0
        with subprocess.Popen(command, env=case.environment(), stdout=subprocess.PIPE) as process:
            for chunk in iter(lambda: process.stdout.read(1 << 16), b""):
                lines += chunk.count(b"\n")
                most = max(most, memory_of(process.pid))
        expect(process.returncode == 0 and lines in (400001, 400002), "%s: status %d, %d lines", form, process.returncode, lines)
        expect(0 < most < 40000, "%s: %d KiB of memory", form, most)
        script = 'set -o pipefail; "$0" query --limit 0 --sql "$1" $2 | head -3'
        done = case.run("bash", "-c", script, case.iorama, sql % 10**8, " ".join(form))
        expect(done.stdout.count("\n") == 3 and done.stderr == "", "%s: %s %s", form, done.stdout, done.stderr)


def postgres(case):
    """The same jobs, filters and events from PostgreSQL."""
    with servers.Postgres() as pg:
        rows = made_site(case, store=pg.url)
        compare(case, rows, store=pg.url)
        pages(case, store=pg.url, rows=rows)
        case.command("index", "-q", case.path("site"))
        columns = ("jobid,user,name,start,end,run_time,ranks,nodes,bytes,reads,writes,metas,files,io_time,io_share,meta_time,state,"
                   "finding,findings,cost,verdict,small_writes,POSIX_OPENS")  # fmt: skip
        for words in ((), ("--sort", "bytes"), ("--sort", "-cost"), ("--json",)):
            words = ("--columns", columns, "--limit", "0", *(words or ("--csv",)))
            if "--json" not in words and "--csv" not in words:
                words = (*words, "--csv")
            a, b = case.command("jobs", *words).stdout, case.command("jobs", "--store", pg.url, *words).stdout
            expect(a == b, "%s: SQLite has\n%s\nPostgreSQL\n%s", words, a[:1500], b[:1500])
        done = case.command("index", "--json", "--store", pg.url, case.path("site")).stdout
        expect(json.loads(done)["unchanged"] == JOBS, "again: %s", done)
        job, path = rows[3]["job"], rows[3]["path"]
        for form in ((), ("--json",)):
            expect(case.command("report", *form, path).stdout == case.command("report", *form, "--store=" + pg.url, job).stdout, "report differs")
        check_events(case, made_events(case, store=pg.url), store=pg.url)
        for sql in ("DELETE FROM jobs", "DROP TABLE jobs", "SELECT 1; DELETE FROM jobs"):
            done = case.command("query", "--store", pg.url, "--sql", sql, status=None)
            expect(done.returncode in (2, 3, 4) and len(done.stderr.splitlines()) == 1, "%s: %s", sql, done.stderr)
        expect(len(ask(case, "--csv", store=pg.url)) == JOBS + 2, "jobs were removed")


harness.main({"filters": filters, "order_and_columns": order_and_columns, "pages": pages, "refused": refused, "events": events, "other_rows": other_rows,
              "streams": streams, "postgres": postgres})  # fmt: skip
