# SPDX-License-Identifier: BSD-3-Clause
"""Lists of jobs of a large store: how long a page of 50 takes, in each order and with conditions that many, few or no jobs
meet, in SQLite and PostgreSQL. Part of bench/run.

    bench/query.py make STORE [JOBS]     fills an empty SQLite store, for trying things by hand

Jobs are made by SQL, the same in both databases: 2,000 users (a tenth of the jobs is one user's), 300 programs, findings of
two of three jobs, eight figures each, one job of 2,000 runs. Numbers look random, and are the same each time."""
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS, QUICK, BUDGET = 1_000_000, 50_000, 50  # jobs; ms of a page
USERS, PROGRAMS = 2000, 300
FIGURES = ("small_writes", "small_reads", "imbalance", "opens", "seeks", "slow_call", "rate", "renames")
RANKED = 6  # of them: src/store/ranked.def



def h(k):
    """A number from 0 to 1000002 that looks random, the k-th of job i: a cube, so that no two go together."""
    x = "((i * 7919 + %d) %% 1000003)" % (k * 104729)
    return "({0} * {0} % 1000003 * {0} % 1000003)".format(x)


def statements(jobs, series):
    """SQL that fills the tables; series: a table s(i) of the numbers from 1 to JOBS."""
    user = "CASE WHEN %s %% 10 = 0 THEN 'user0' ELSE 'user' || (%s %% %d) END" % (h(1), h(2), USERS)
    name = "'program' || (CASE WHEN {0} % 4 = 0 THEN 0 ELSE {1} % {2} END)".format(h(3), h(4), PROGRAMS)
    running = "i % 2000 = 0"
    start = "1700000000000000000 + i * 1000000000 * 30 + %s * 1000000" % h(5)
    yield ("INSERT INTO jobs (number, key, name, username, uid, jobid, command, start_ns, end_ns, run_time, nprocs, nodes, state, source, logged,"
           " bytes_read, bytes_written, reads, writes, metas, files, io_time, meta_time, verdict, cost)"
           " SELECT i, '1000/' || i || '/x', {name}, {user}, 1000, i + 5000000, '/apps/' || {name} || ' --steps ' || {a}, {start},"
           " CASE WHEN {running} THEN NULL ELSE {start} + {span} * 1000000 END, CASE WHEN {running} OR i % 5 = 0 THEN NULL ELSE {span} / 1000.0 END,"
           " 1 + {b} % 64, 1 + {b} % 8, CASE WHEN {running} THEN 'running' ELSE 'done' END, 'log', CASE WHEN {running} THEN 0 ELSE 1 END,"
           " CASE WHEN {c} % 2 = 0 THEN 0 ELSE {c} * 100000 END, CASE WHEN {d} % 3 = 0 THEN 0 ELSE {d} * 200000 END, {c}, {d}, {a}, {b} % 100,"
           " {span} / 3000.0, {span} / 9000.0, 'I/O takes its time.', CASE WHEN i % 3 = 0 OR {running} THEN NULL ELSE {e} / 1000.0 END FROM {series}"
           ).format(name=name, user=user, start=start, running=running, span=h(6), a=h(7), b=h(8), c=h(9), d=h(10), e=h(11), series=series)
    for number, rule in ((0, "'W0' || (2 + %s %% 6)" % h(12)), (1, "CASE WHEN i % 2 = 0 THEN 'R02' ELSE 'R01' END")):
        level = "CASE WHEN %s %% 4 = 0 THEN 'HIGH' ELSE 'WARN' END" % h(13 + number)
        rare = "CASE WHEN i % 10000 = 1 THEN 'W01' ELSE {0} END".format(rule) if number == 0 else rule
        yield ("INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost, bytes) SELECT i, %d, %s, %s, 'many small writes', 'evidence',"
               " 'advice', %s / 2000.0, 0 FROM %s WHERE i %% 3 <> 0 AND i %% 2000 <> 0" % (number, rare, level, h(11), series))  # fmt: skip
    for number, figure in enumerate(FIGURES, 1):
        yield "INSERT INTO figure_names (number, name) VALUES (%d, '%s')" % (number, figure)
        yield ("INSERT INTO figure_values (figure, job, value, ranked) SELECT %d, i, %s * 1.5, %s FROM %s WHERE i %% 2000 <> 0 AND %s %% 3 <> 0 AND %s > 0"
               % (number, h(20 + number), "1" if number <= RANKED else "NULL", series, h(30 + number), h(20 + number)))  # fmt: skip
    yield "INSERT INTO processes (segment, job, rank, seen_ns) SELECT %s, i, 0, %s + 60000000000 FROM %s WHERE %s" % ("{segment}", start, series, running)


def empty(b_iorama, where, folder):
    """A new store."""
    nothing = os.path.join(folder, "nothing")
    os.makedirs(nothing, exist_ok=True)
    subprocess.run([b_iorama, "index", "-q", "--store", where, nothing], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fill_sqlite(path, jobs):
    db = sqlite3.connect(path, isolation_level=None)
    for sql in ("PRAGMA cache_size = -800000", "PRAGMA synchronous = OFF", "BEGIN"):
        db.execute(sql)
    series = "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)" % jobs
    for sql in statements(jobs, series):
        db.execute(sql.replace("{segment}", "randomblob(16)"))
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def fill_postgres(pg, database, jobs):
    for sql in statements(jobs, "generate_series(1::BIGINT, %d) s(i)" % jobs):
        pg.psql(sql.replace("{segment}", "decode(md5(i::TEXT), 'hex')"), database)
    pg.psql("VACUUM ANALYZE", database)  # what autovacuum does by itself, a little later


def cases(jobs):
    half = "@%d" % (1700000000 + jobs * 15)
    yield "newest", ()
    for key in ("-start", "cost", "-cost", "bytes", "-bytes", "run_time", "-run_time", "user", "-user", "name", "-name", "end", "small_writes", "-small_writes"):
        yield "by %s" % key, ("--sort", key)
    yield "of a user", ("--user", "user77")
    yield "of a user with many", ("--user", "user0")
    yield "of a user with many, by cost", ("--user", "user0", "--sort", "cost")
    yield "of nobody", ("--user", "nobody")
    yield "running", ("--running",)
    yield "running, by run_time", ("--running", "--sort", "run_time")
    yield "of a program", ("--name", "program7")
    yield "of a program with many", ("--name", "program0")
    yield "of programs by a glob", ("--name", "*1?")
    yield "of a program that is not there", ("--name", "*zzz*")
    yield "of a program, by bytes", ("--name", "program1*", "--sort", "bytes")
    yield "with a finding", ("--finding", "R01")
    yield "with a rare finding", ("--finding", "W01")
    yield "with a finding, by cost", ("--finding", "W04", "--sort", "cost")
    yield "of level high", ("--finding", "high")
    yield "figure, met by many", ("--where", "small_writes > 1000")
    yield "figure, met by few", ("--where", "small_writes > 1499000")
    yield "figure, met by none", ("--where", "small_writes > 1e12")
    yield "figure, met by a part, by cost", ("--where", "small_writes > 1.4e6", "--sort", "cost")
    yield "two figures", ("--where", "small_writes > 1e6", "--where", "imbalance > 1e6")
    yield "bytes, met by few", ("--where", "bytes > 299GB", "--sort", "user")
    yield "until half-way", ("--until", half)
    yield "since half-way, by bytes", ("--since", half, "--sort", "bytes")


def measure_store(b, kind, where, jobs):
    program = os.path.join(b.options.build, "bench", "query")
    text = "".join("\t".join((name, *words)) + "\n" for name, words in cases(jobs))
    runs = max(9, b.options.runs)
    said = subprocess.run([program, where, str(runs)], input=text, stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in said.splitlines():
        name, least, _, _ = line.split("\t")
        b.add("query, %s, %s, %s jobs" % (kind, name, "10^6" if jobs == JOBS else jobs), "page_min", float(least), "ms", BUDGET)


def command(b, kind, where):
    """The command itself, with its start."""
    for name, words in (("jobs", ()), ("jobs --sort cost", ("--sort", "cost"))):
        ours = b.time([b.iorama, "jobs", "--store", where, *words], b.options.runs)
        if ours:
            b.add("query, %s, iorama %s" % (kind, name), "cpu_min", ours[0][0], "s")


def measure(b, folder):
    jobs = QUICK if b.options.quick else JOBS
    path = os.path.join(folder, "jobs.db")
    empty(b.iorama, path, folder)
    fill_sqlite(path, jobs)
    measure_store(b, "SQLite", path, jobs)
    command(b, "SQLite", path)
    os.unlink(path)
    sys.path.insert(0, os.path.join(HERE, "..", "tests", "lib"))
    import servers  # pylint: disable=import-outside-toplevel

    try:
        with servers.Postgres(folder=tempfile.gettempdir(), settings=("shared_buffers = 512MB", "work_mem = 16MB", "jit = off")) as pg:
            empty(b.iorama, pg.url, folder)
            fill_postgres(pg, "iorama", jobs)
            measure_store(b, "PostgreSQL", pg.url, jobs)
            command(b, "PostgreSQL", pg.url)
    except servers.Missing as why:
        print("(%s: no lists of jobs in PostgreSQL)" % why)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "make":
        sys.exit(__doc__)
    fill_sqlite(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else JOBS)
