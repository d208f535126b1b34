# SPDX-License-Identifier: BSD-3-Clause
"""iorama index: what lies in the store is what the logs say; again, in parallel, killed and watched."""
import glob
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess

import harness
import logs
from harness import Failed, expect

# values of these are lists, which lie in no column
LISTS = ("_OST_ID_", "_COMP", "HEATMAP_READ_BIN", "HEATMAP_WRITE_BIN", "_EXT_", "_MIRROR_ID", "_POOL_NAME", "LUSTRE_OST", "MDHIM_SERVER_", "PROCESS_COMMAND")


def index(case, *words, status=0, store=None, **more):
    """What it did, as it says itself."""
    done = case.command("index", "--json", "--store", store or case.path("store.db"), *words, status=status, **more)
    return json.loads(done.stdout)


# each row of it is there in parts, by who wrote it
SUMS = "SELECT name, a, b, sum(value) FROM totals GROUP BY 1, 2, 3"


def content(store):
    """All rows of all tables, hashed; the store must not change meanwhile."""
    db = sqlite3.connect(store)
    db.text_factory = bytes
    names = [n.decode() for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    out = {}
    for name in names:
        sql = SUMS if name == "totals" else 'SELECT * FROM "%s"' % name
        rows = sorted(repr(row) for row in db.execute(sql))
        out[name] = hashlib.sha256("\n".join(rows).encode()).hexdigest(), len(rows)
    db.close()
    return out


# ---- counters


def module_of(table):
    return table[len("counters_"):].replace("_", "")


def truth_records(lines):
    """Records in order, by module: (rank, id, {counter: text})."""
    found = {}
    for line in lines:
        words = line.rstrip("\n").split("\t")
        if line.startswith("#") or len(words) < 5:
            continue
        module, rank, record, counter, value = words[:5]
        records = found.setdefault("".join(c for c in module.lower() if c.isalnum()), [])
        key = (int(rank), int(record) % 2**64)
        if not records or records[-1][0] != key or counter in records[-1][1]:
            records.append((key, {}))
        records[-1][1][counter] = value
    return found


def same_value(stored, text):
    if stored is None:
        return text in ("nan", "-nan", "")
    if isinstance(stored, float):
        return "%f" % stored == text or float(text) == stored
    if isinstance(stored, int):
        return stored == int(text) or stored % 2**64 == int(text)
    return stored == text


def compare_counters(db, job, lines, name):
    """Every column of every record of the job; returns how many values were compared."""
    truth, n = truth_records(lines), 0
    tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'counters_%' AND type = 'table'")]
    for table in tables:
        rows = [dict(r) for r in db.execute("SELECT * FROM %s WHERE job = ? ORDER BY number" % table, (job,))]
        records = truth.pop(module_of(table), [])
        if table in ("counters_apmpi", "counters_apxc") and len(records) == len(rows) + 1:
            records = records[1:]  # the header of the region is printed as a record of its own
        if len(rows) != len(records):
            raise Failed("%s: %s has %d rows, the log has %d records" % (name, table, len(rows), len(records)))
        for row, ((rank, record), counters) in zip(rows, records):
            if (row["rank"], row["record"] % 2**64) != (rank, record):
                raise Failed("%s: %s: %s is not of rank %d, record %d" % (name, table, row, rank, record))
            for counter, text in counters.items():
                column = counter.lower()
                if column not in row:
                    expect(any(w in counter for w in LISTS), "%s: %s has no column %s", name, table, column)
                    continue
                n += 1
                if not same_value(row[column], text):
                    raise Failed("%s: %s: %s of rank %d is %r, not %s" % (name, table, column, rank, row[column], text))
    return n, truth


def counters(case):
    folder = logs.family(case)
    did = index(case, folder, status=3)
    made = len(glob.glob(folder + "/*.darshan"))
    expect((did["logs"], did["stored"], did["damaged"], did["failed"]) == (made, made, 1, 0), "did %s of %d", did, made)
    expect("cut-off" in did["problems"][0]["log"], "problems: %s", did["problems"])
    db = sqlite3.connect(case.path("store.db"))
    db.row_factory = sqlite3.Row
    values = 0
    for job, path in db.execute("SELECT job, path FROM logs").fetchall():
        with open(path[: -len(".darshan")] + ".truth", encoding="latin1", newline="\n") as file:
            n, left = compare_counters(db, job, file.read().split("\n"), os.path.basename(path))
        # NULL is a module of tests; records of CALLS, PHASE and SITES are lists, no counters
        expect(not set(left) - {"null", "calls", "phase", "sites"}, "%s: no tables for %s", path, list(left))
        values += n
    expect(values > 50000, "only %d values were compared", values)


def corpus(case):
    if not os.path.isdir(logs.CORPUS):
        raise harness.Skip("no logs of others here")
    did = index(case, logs.CORPUS, status=None)
    expect(did["stored"] == did["logs"] and did["failed"] == 0, "did %s", did)
    db = sqlite3.connect(case.path("store.db"))
    db.row_factory = sqlite3.Row
    values = 0
    # the largest ones take longer than they tell
    for job, path in db.execute("SELECT job, path FROM logs WHERE size < 100000").fetchall():
        shown = case.command("show", "--show-incomplete", "-q", path, status=None, text=False).stdout.decode("latin1")
        values += compare_counters(db, job, shown.split("\n"), os.path.basename(path))[0]
    expect(values > 50000, "only %d values were compared", values)


# ---- findings, figures, the job itself


def close(a, b):
    """JSON of reports has nine digits."""
    return abs(a - (b or 0)) <= 1e-8 * max(abs(a), abs(b or 0))


def findings(case):
    folder = logs.cli_family(case)
    index(case, folder, status=3)
    found = 0
    for row in case.rows("SELECT l.path, j.* FROM jobs j JOIN logs l ON l.job = j.number"):
        said = json.loads(case.command("report", "--json", "-q", row["path"], status=None).stdout)
        stored = case.rows("SELECT * FROM findings WHERE job = ? ORDER BY number", row["number"])
        told = said["findings"]
        expect(len(stored) == len(told), "%s: %d findings, not %d", row["path"], len(stored), len(told))
        for a, b in zip(stored, told):
            for mine in ("rule", "level", "title", "evidence", "advice", "cost", "bytes"):
                its = "cost_s" if mine == "cost" else mine
                same = close(a[mine], b[its]) if isinstance(a[mine], float) else a[mine] == (b[its] or "")
                expect(same, "%s: %s of %s is %r, not %r", row["path"], mine, a["rule"], a[mine], b[its])
        found += len(stored)
        job = said["job"]
        for mine, its in ((row["verdict"], said["verdict"]["text"]), (max(1, row["nprocs"]), job["nprocs"]), (str(row["jobid"]), job["id"]),
                          (row["uid"], job["uid"]), (row["name"], job["name"]), (bool(row["complete"]), said["complete"]),
                          (row["command"], job["exe"] or ""), ((row["start_ns"] or 0) // 10**9, job["start_s"])):  # fmt: skip
            expect(mine == its, "%s: %r, not %r", row["path"], mine, its)
        expect(close(row["run_time"], job["run_time"]) and close(row["io_time"], said["verdict"]["io_time"]), "%s: times", row["path"])
    expect(found > 20, "only %d findings", found)


# ---- again, in parallel, killed


def again(case):
    folder = case.path("site")
    truth = logs.site(case, folder, 60)
    did = index(case, folder)
    expect(did["stored"] == 60 and did["unchanged"] == 0, "first %s", did)
    before = content(case.path("store.db"))
    # relative and absolute, directory and list are the same logs
    with open(case.path("list"), "w", encoding="utf-8") as file:
        file.write("\n".join(truth))
    for words in ((folder,), (os.path.relpath(folder, case.work),), ("@" + case.path("list"),), sorted(truth)[:7]):
        did = index(case, *words)
        expect(did["stored"] == 0 and did["unchanged"] == did["logs"] > 0, "again: %s", did)
    expect(content(case.path("store.db")) == before, "a second run changed the store")
    # a log that was written anew is taken in again, as the same job of its place; others stay as they are
    paths = sorted(truth)
    shutil.copyfile(paths[1], paths[0])
    did = index(case, folder)
    expect(did["stored"] == 1 and did["unchanged"] == 59, "after a change %s", did)
    did = index(case, folder)
    expect(did["stored"] == 0 and did["unchanged"] == 60, "and again %s", did)
    did = index(case, "--force", folder)
    expect(did["stored"] == 60 and case.value("SELECT count(*) FROM jobs") == 60, "forced: %s", did)
    # logs that are gone stay
    left = case.value("SELECT count(*) FROM jobs")
    for path in paths[2:10]:
        os.unlink(path)
    index(case, folder)
    expect(case.value("SELECT count(*) FROM jobs") == left, "jobs went with their logs")


def twice(case):
    """The same log in two places is one job; its name is that of the last place."""
    folder = case.path("site")
    logs.site(case, folder, 5)
    index(case, folder)
    shutil.copytree(folder, case.path("copy"))
    index(case, case.path("copy"))
    expect(case.value("SELECT count(*) FROM jobs") == 5, "%d jobs of 5 logs", case.value("SELECT count(*) FROM jobs"))
    for _ in range(2):
        did = index(case, folder, case.path("copy"))
        expect(did["unchanged"] == did["logs"] == 10, "again: %s", did)


def parallel(case):
    folder = logs.family(case, "*-3.41-*", "stdio*")
    logs.site(case, os.path.join(folder, "site"), 80)
    index(case, "-j", "1", folder, store=case.path("one.db"))
    index(case, "-j", "7", folder, store=case.path("seven.db"))
    one, seven = content(case.path("one.db")), content(case.path("seven.db"))
    for table, rows in one.items():
        expect(rows == seven[table], "table %s differs", table)
    expect(one["jobs"][1] > 100, "only %d jobs", one["jobs"][1])


def killed(case):
    folder = case.path("site")
    logs.site(case, folder, 150)
    many = case.path("many")  # enough of them that it does not end before it is killed
    for n in range(6):
        shutil.copytree(folder, os.path.join(many, "%02d" % n))
        for path in glob.glob(os.path.join(many, "%02d" % n, "*")):
            with open(path, "ab") as file:
                file.write(b"\0" * (n + 1))  # another log: readers ignore what follows the last region
    index(case, many, store=case.path("whole.db"))
    rng, store = random.Random(3), case.path("store.db")
    kills = 0
    for _ in range(4):
        process = case.start(case.iorama, "index", "-q", "--store", store, many)
        target = rng.randrange(1, 700)

        def far():
            if process.poll() is not None:
                return True
            return os.path.exists(store) and case.value("SELECT count(*) FROM logs") >= target

        case.wait(far, "%d logs" % target)
        kills += process.poll() is None
        process.kill()
        process.wait()
    expect(kills > 0, "it was never killed at work")
    index(case, many)
    whole, mine = content(case.path("whole.db")), content(store)
    for table in ("findings", "files", "counters_posix", "figure_values"):
        expect(whole[table][1] == mine[table][1], "%s: %d rows, not %d", table, mine[table][1], whole[table][1])
    expect(jobs_of(case, store) == jobs_of(case, case.path("whole.db")), "jobs differ")


def jobs_of(case, store):
    rows = case.rows("SELECT l.path, l.size, l.hash, j.* FROM jobs j JOIN logs l ON l.job = j.number ORDER BY l.path", store=store)
    for row in rows:
        row.pop("number")
    return rows


# ---- damage


def damaged(case):
    folder = case.path("bad")
    truth = logs.site(case, folder, 12)
    paths = sorted(truth)
    with open(paths[0], "rb") as file:
        whole = file.read()
    bad = {"cut.darshan": whole[: len(whole) - 9], "head.darshan": whole[:700], "empty.darshan": b"", "noise.darshan": random.Random(7).randbytes(4000)}
    for name, data in bad.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    os.symlink(paths[0], os.path.join(folder, "link.darshan"))  # not followed
    os.mkdir(os.path.join(folder, "dir.darshan"))
    os.mkfifo(os.path.join(folder, "pipe.darshan"))
    did = index(case, folder, status=3)
    expect(did["stored"] - did["damaged"] == 12, "did %s", did)
    told = {os.path.basename(p["log"]): p["problem"] for p in did["problems"]}
    expect(set(told) == set(bad), "told of %s", sorted(told))
    expect(did["damaged"] + did["failed"] == len(bad), "did %s", did)
    # plain: one line each, on standard error
    done = case.command("index", "--store", case.path("other.db"), folder, status=3)
    lines = [line for line in done.stderr.splitlines() if line]
    expect(len(lines) == len(bad) and all(line.startswith("iorama: " + folder) for line in lines), "said %s", lines)
    case.command("index", "--store", case.path("other.db"), case.path("nowhere"), status=3)
    case.command("index", "--store", case.path("other.db"), status=2)
    case.command("index", "-j", "0", folder, status=2)
    # no store, and no harm to the file that is there
    with open(case.path("text"), "w", encoding="utf-8") as file:
        file.write("no database\n" * 100)
    done = case.command("index", "--store", case.path("text"), folder, status=None)
    expect(done.returncode in (3, 4) and len(done.stderr.splitlines()) == 1, "said %s", done.stderr)
    expect(harness.text_of(case.path("text")) == "no database\n" * 100, "the file was changed")


# ---- --watch


def watch(case):
    ready, tree = case.path("ready"), case.path("tree")
    truth = sorted(logs.site(case, ready, 30))
    names = [os.path.basename(p) for p in truth]
    os.makedirs(tree)
    shutil.copy2(truth[0], tree)

    def stored(n):
        return case.wait(lambda: case.value("SELECT count(*) FROM jobs") >= n, "%d jobs" % n)

    process = case.start(case.iorama, "index", "--watch", tree)
    stored(1)
    # renamed into place
    shutil.copy2(truth[1], os.path.join(tree, "new.partial"))
    os.rename(os.path.join(tree, "new.partial"), os.path.join(tree, names[1]))
    stored(2)
    # written piece by piece: taken in when it is closed
    with open(truth[2], "rb") as file:
        data = file.read()
    with open(os.path.join(tree, names[2]), "wb") as file:
        for at in range(0, len(data), 100):
            file.write(data[at : at + 100])
            file.flush()
        expect(case.value("SELECT count(*) FROM jobs") == 2, "an open file was taken in")
    stored(3)
    # new directories, deep ones at once, and moved ones
    os.makedirs(os.path.join(tree, "2026", "11", "16"))
    shutil.copy2(truth[3], os.path.join(tree, "2026", "11", "16"))
    stored(4)
    os.makedirs(case.path("elsewhere", "deep"))
    for path in truth[4:20]:
        shutil.copy2(path, case.path("elsewhere", "deep"))
    os.rename(case.path("elsewhere"), os.path.join(tree, "moved"))
    stored(20)
    shutil.copy2(truth[20], os.path.join(tree, "moved", "deep"))
    stored(21)
    expect(case.end(process, send=signal.SIGTERM) != "", "it said nothing")
    # what came while nobody watched
    shutil.copy2(truth[21], tree)
    shutil.copy2(truth[22], os.path.join(tree, "2026"))
    process = case.start(case.iorama, "index", "--watch", "-q", tree)
    stored(23)
    # killed, and again
    process.kill()
    process.wait()
    for path in truth[23:29]:
        shutil.copy2(path, tree)
    process = case.start(case.iorama, "index", "--watch", "-q", tree)
    shutil.copy2(truth[29], tree)
    stored(30)
    # damage is told, and it goes on
    with open(os.path.join(tree, "bad.darshan"), "wb") as file:
        file.write(b"no log")
    case.wait(lambda: "bad.darshan" in process.said(), "a line about the bad log")
    case.end(process, status=3, send=signal.SIGTERM)
    expect(case.value("SELECT count(*) FROM jobs") == 30, "more jobs than logs")


# ---- report --store


def report(case):
    folder = logs.cli_family(case)
    index(case, folder, status=3)
    rows = case.rows("SELECT job, path FROM logs ORDER BY path")
    expect(len(rows) > 15, "only %d logs", len(rows))
    for number, row in enumerate(rows):
        for form in ((), ("--json",), ("--html=-",)) + ((("--csv=files",), ("--markdown",), ("--svg=-",), ("--verbose",)) if number % 5 == 0 else ()):
            a = case.command("report", *form, row["path"], status=None, text=False)
            b = case.command("report", "--store", *form, row["job"], status=None, text=False)
            expect(a.stdout == b.stdout and a.returncode == b.returncode, "%s: %s differs from job %d", row["path"], form, row["job"])
            expect(a.stderr == b.stderr, "%s: %s and %s", row["path"], a.stderr, b.stderr)
    pair = [r for r in rows if r["path"].endswith(("slow.darshan", "calm.darshan"))]
    expect(len(pair) == 2, "a pair to compare")
    for form in ((), ("--json",), ("--html",)):
        a = case.command("diff", *form, *(r["path"] for r in pair)).stdout
        b = case.command("diff", *form, "--store=" + case.path("store.db"), *(r["job"] for r in pair)).stdout
        expect(a == b, "diff %s differs", form)
    good = case.path("good")
    logs.site(case, good, 20)
    index(case, good, store=case.path("good.db"))
    for form in ((), ("--json",), ("--csv=jobs",)):
        a = case.command("report", "--fleet", *form, good).stdout
        expect(a == case.command("report", "--fleet", *form, "--store=" + case.path("good.db")).stdout, "fleet differs")
    case.command("report", "--store", "99999", status=3)
    case.command("report", "--store", status=2)
    case.command("report", "--store=" + case.path("none.db"), "1", status=None)
    expect(not os.path.exists(case.path("none.db")), "a report made a store")


def no_logs(case):
    """Logs that are not kept are read where they are; when they are gone, that is said."""
    folder = case.path("site")
    path = sorted(logs.site(case, folder, 3))[0]
    index(case, "--no-logs", folder)
    expect(case.value("SELECT count(*) FROM logs WHERE kept = 0 AND body IS NULL") == 3, "logs were kept")
    job = case.value("SELECT job FROM logs WHERE path = ?", path)
    expect(case.command("report", path).stdout == case.command("report", "--store", job).stdout, "report differs")
    os.unlink(path)
    said = case.command("report", "--json", "--store", job, status=3).stderr
    expect(path in said and len(said.splitlines()) == 1, "said %s", said)


def running(case):
    """A job that runs here: its report is made of its segments."""
    program = case.compile("live_load")
    agent = case.agent()
    job = case.start(program, "--threads", "2", "--calls", "300", "--hold", case.work, env=case.observed(), stdin=subprocess.PIPE)
    case.wait(lambda: case.value("SELECT coalesce(sum(events), 0) FROM jobs WHERE state = 'running'") >= 600, "events of a running job")
    number = case.value("SELECT number FROM jobs WHERE state = 'running'")
    said = json.loads(case.command("report", "--json", "-q", "--store", number).stdout)
    expect(said["job"]["name"] == "live_load" and sum(layer["reads"] + layer["writes"] for layer in said["layers"]) > 0, "report: %s", said["job"])
    listed = json.loads(case.command("jobs", "--json", "--running").stdout)
    expect([r["job"] for r in listed] == [number] and listed[0]["lost"] == 0, "running: %s", listed)
    expect("running" in case.command("jobs").stdout and "now" in case.command("jobs", number).stdout, "the table")
    job.stdin.close()
    case.end(job)
    case.end(agent, send=signal.SIGTERM)


harness.main({"counters": counters, "corpus": corpus, "findings": findings, "again": again, "twice": twice, "parallel": parallel,
              "killed": killed, "damaged": damaged, "watch": watch, "report": report, "no_logs": no_logs,
              "running": running})  # fmt: skip
