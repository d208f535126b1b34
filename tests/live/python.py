# SPDX-License-Identifier: BSD-3-Clause
"""docs/python.md: its examples run, one after the other as on the page, and give what is true."""
import os
import re
import sqlite3
import sys

import harness
import logs
import servers
from harness import expect

PAGE = os.path.join(harness.ROOT, "docs", "python.md")
SECOND = 10**9
START = 1700000000 * SECOND


def blocks(kind):
    """The examples of the page, in order; kind: the words after ```."""
    with open(PAGE, encoding="utf-8") as file:
        return [code for word, code in re.findall(r"^```([^\n]+)\n(.*?)^```$", file.read(), re.M | re.S) if word == kind]


def need(*modules):
    for name in modules:
        try:
            __import__(name)
        except ImportError as why:
            raise harness.Skip("%s is not installed" % name) from why


def made_events(case, store):
    """500 events of one rank in a file, taken in."""
    with open(case.path("events.csv"), "w", encoding="utf-8") as file:
        file.write("job,segment,host,rank,lane,tid,seq,lost,layer,op,fn,record,file,start_ns,end_ns,dur_ns,off,len,call,parent,failed,file_bytes\n")
        for n in range(500):
            op = ("write", "read")[n % 2]
            file.write('1000/run-9-x,%032x,node1,0,0,7,%d,0,POSIX,%s,p%s,%d,"/data/f%d",%d,%d,%d,%d,%d,%d,0,0,\n' % (
                99, n, op, op, 1000 + n % 3, n % 3, START + n * 10**7, START + n * 10**7 + 500, 500, n * 100, 10 + n, n + 1))  # fmt: skip
    case.command("collect", "--store", store, case.path("events.csv"))
    return sum(10 + n for n in range(0, 500, 2))


def run(codes, env):
    """In one interpreter, as a reader of the page would."""
    names = {}
    before = dict(os.environ)
    os.environ.update(env)
    try:
        for number, code in enumerate(codes):
            exec(compile(code, "docs/python.md, example %d" % (number + 1), "exec"), names)  # pylint: disable=exec-used
    finally:
        os.environ.clear()
        os.environ.update(before)
    return names


def sqlite(case):
    need("pandas")
    extension = os.path.join(case.build, "lib", "iorama_sqlite.so")
    if not os.path.exists(extension):
        raise harness.Skip("iorama_sqlite.so was not built")
    truth = list(logs.site(case, case.path("site"), 25).values())
    store = case.path("store.db")
    case.command("index", "-q", case.path("site"))
    written = made_events(case, store)
    job = case.value("SELECT number FROM jobs WHERE source <> 'log'")
    db = sqlite3.connect(store)
    db.executemany("INSERT INTO activity (job, t_ns, process, layer, rank, width_ns, reads, writes, metas, bytes_read, bytes_written, read_ns, write_ns,"
                   " meta_ns) VALUES (?, ?, 1, 'POSIX', 0, 1000000000, 0, 1, 0, 0, ?, 0, 5, 0)",
                   [(job, START + s * SECOND, 1000 * s) for s in range(1, 6)])  # fmt: skip
    db.execute("INSERT INTO sample_series (number, host, metric) VALUES (1, 'node1', 'load.1')")
    db.executemany("INSERT INTO sample_values (series, t_ns, value) VALUES (1, ?, ?)", [(START + s * SECOND, s / 4) for s in range(4)])
    db.commit()
    db.close()
    env = {**case.environment(), "IORAMA_STORE": store, "IORAMA_SQLITE": extension,
           "PATH": os.path.dirname(case.iorama) + os.pathsep + os.environ["PATH"]}  # fmt: skip
    codes = blocks("python")
    expect(len(codes) >= 8, "only %d examples", len(codes))
    got = run(codes, env)
    users = {}
    for row in truth:
        users[row["user"]] = users.get(row["user"], 0) + row["bytes_written"]
    by_user = got["by_user"].bytes_written.to_dict()
    expect({k: v for k, v in by_user.items() if k in users} == users, "by user: %s, not %s", by_user, users)
    by_name = {r["jobid"]: r for r in truth}
    for number, row in got["jobs"].iterrows():
        if row.source != "log":
            continue
        true = by_name[row.jobid]
        expect(row.start.timestamp() == true["start"], "start of %s", row)
        sums = got["per_job"].loc[number]
        expect((sums.posix_opens, sums.posix_bytes_written) == (true["opens"], true["bytes_written"]), "counters of %s: %s", true, sums)
        expect(got["wide"].loc[number].get("small_writes", 0) == true["small_writes"], "figures of %s", true)
    expect(got["named"].path.notna().all() and len(got["named"]) == sum(r["files"] for r in truth), "names of files")
    expect(len(got["longest"]) == 10 and len(got["largest"]) == 5, "the largest")
    expect(got["cost"].jobs.sum() == len(got["findings"]), "findings")
    expect(list(got["rates"]["POSIX"]) == [1000.0 * s for s in range(1, 6)], "rates: %s", got["rates"])
    expect(list(got["samples"].value) == [0, 0.25, 0.5, 0.75], "samples: %s", got["samples"])
    expect(got["rollups"].ops.sum() == 500, "rollups: %s", got["rollups"])
    expect(len(got["events"]) == 500 and list(got["events"].seq) == list(range(500)), "events: %s", got["events"])
    expect(got["events"][got["events"].op == "write"].len.sum() == written == got["total"], "bytes: %s and %s", written, got["total"])
    expect(got["sizes"]["count"].sum() == 250, "sizes: %s", got["sizes"])


def module(case):
    """Those of the package, in a Python of its own: it is attached to."""
    need("pandas")
    logs.site(case, case.path("site"), 5)
    case.command("index", "-q", case.path("site"))
    with open(case.path("all.py"), "w", encoding="utf-8") as file:
        file.write("\n".join(blocks("python module")))
        file.write("\nassert total == 49995000 and len(log.marks) == 3 and len(jobs_of_mine) == 5 and len(events) > 0, log.marks\n")
        file.write("assert len(posix) or len(log.counters) > 0 and files.bytes_written.sum() > 40000\n")
    env = case.environment(PYTHONPATH=os.path.join(harness.ROOT, "python"), PATH=os.path.dirname(case.iorama) + os.pathsep + os.environ["PATH"])
    case.run(harness.cases.SYSTEM_PYTHON, "-W", "error", case.path("all.py"), env=env, cwd=case.work)


def postgresql(case):
    need("pandas", "sqlalchemy", "psycopg2")
    with servers.Postgres() as pg:
        truth = logs.site(case, case.path("site"), 15)
        case.command("index", "-q", "--store", pg.url, case.path("site"))
        written = made_events(case, pg.url)
        codes = blocks("python postgresql")
        expect(len(codes) >= 2, "only %d examples", len(codes))
        got = run(codes, {"DATABASE_URL": pg.url})
        got["connection"].close()
        got["engine"].dispose()
        expect(got["pg_jobs"].bytes_written.sum() == sum(r["bytes_written"] for r in truth.values()), "jobs: %s", got["pg_jobs"])
        expect(got["pg_counters"].opens.sum() == sum(r["opens"] for r in truth.values()), "counters: %s", got["pg_counters"])
        expect(len(got["pg_events"]) == 250 and got["pg_events"].len.sum() == written, "events: %s", got["pg_events"])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main({"module": module, "sqlite": sqlite, "postgresql": postgresql})
