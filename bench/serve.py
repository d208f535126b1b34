# SPDX-License-Identifier: BSD-3-Clause
"""`iorama serve` over a large store of either kind: how long answers take, how much memory is used, and what viewers that are told
of a change every second cost, and how late they are. Part of bench/run."""
import http.client
import json
import os
import select
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import query

RANKS, SECONDS, VIEWERS = 1024, 600, 1000
WIDE, LONG = 4096, 3600  # ranks and seconds of a job of which only sums are asked for
HOSTS = 200  # with samples
BUDGET = 100  # ms of a page


def fill_sqlite(path, jobs):
    query.fill_sqlite(path, jobs)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    for sql in (*remarks(), *statements("randomblob(16)")):
        db.execute(sql)
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def fill_postgres(pg, jobs):
    query.fill_postgres(pg, "iorama", jobs)
    for sql in (*remarks(), *statements("decode(md5(i::TEXT || 'wide'), 'hex')")):
        pg.psql(sql)
    pg.psql("VACUUM ANALYZE")


def remarks():
    """Three findings a job, on average: one more that costs something, and a remark, beside those of query.py."""
    text = "'opens of many files', 'evidence of it', 'advice'"
    return ("INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost, bytes) SELECT number, 2, 'O0' || (number %% 5), 'INFO', %s, NULL, 0"
            " FROM jobs WHERE logged = 1" % text,
            "INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost, bytes) SELECT number, 3, 'M0' || (1 + number %% 4), 'WARN', %s,"
            " cost / 9, 0 FROM jobs WHERE cost IS NOT NULL" % text)  # fmt: skip


def statements(segment):
    """Beside jobs as query.py makes them: days of them; one with its series and the activity of each rank; one with many ranks that took
    an hour; samples of nodes."""
    count = "(WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)"
    kinds = "(SELECT 'read' AS k UNION ALL SELECT 'write' UNION ALL SELECT 'meta') c"
    layers = "(SELECT 'POSIX' AS l UNION ALL SELECT 'STDIO' UNION ALL SELECT 'MPI-IO') d"
    return (
        "INSERT INTO days SELECT end_ns / 86400000000000, username, name, 0, sum(bytes_read), sum(bytes_written), sum(io_time), sum(run_time),"
        " sum(run_time), 0, 0, 0, count(*) FROM jobs WHERE run_time IS NOT NULL GROUP BY 1, 2, 3",
        *("INSERT INTO series SELECT %d, 1700000000 + a.i, l, k, 5000, 100000000, 7000, 50, %d, 3, 9 FROM %s a, %s, %s"
          % (job, ranks, count % (seconds - 1), layers, kinds) for job, ranks, seconds in ((1, RANKS, SECONDS), (2, WIDE, LONG))),
        "INSERT INTO series_minute SELECT job, second / 60 * 60, layer, kind, sum(ops), sum(bytes), sum(ns), max(longest), max(ranks), 3, 9 FROM series"
        " WHERE job = 2 GROUP BY job, second / 60, layer, kind",
        "INSERT INTO series_ten SELECT job, second / 10 * 10, layer, kind, sum(ops), sum(bytes), sum(ns), max(longest), max(ranks), 3, 9 FROM series"
        " WHERE job = 2 GROUP BY job, second / 10, layer, kind",
        *("INSERT INTO processes (segment, job, rank, host) SELECT %s, 1, i, 'node' || (i %% %d) FROM %s s" % (segment, HOSTS, count % (RANKS - 1)),),
        "INSERT INTO activity SELECT 1, (1700000000 + a.i) * CAST(1000000000 AS BIGINT), b.i, 'POSIX', b.i, 1000000000, 5, 5, 1, 100000, 100000, 10, 10, 10"
        " FROM %s a, %s b" % (count % (SECONDS - 1), count % (RANKS - 1)),
        "INSERT INTO figure_names (number, name) VALUES (101, 'meta_ratio'), (102, 'excess_read'), (103, 'shared_indep_small')",
        *("INSERT INTO figure_values (figure, job, value, ranked) SELECT %d, number, number %% 97, 0 FROM jobs WHERE logged = 1 AND number %% %d = 0" % pair
          for pair in ((101, 1), (102, 3), (103, 7))),
        "INSERT INTO sample_series (number, host, metric) SELECT 2 * i + 1, 'node' || i, 'cpu.user' FROM %s s" % (count % (HOSTS - 1)),
        "INSERT INTO sample_series (number, host, metric) SELECT 2 * i + 2, 'node' || i, 'load.1' FROM %s s" % (count % (HOSTS - 1)),
        "INSERT INTO sample_values SELECT a.i + 1, (1700000000 + b.i) * CAST(1000000000 AS BIGINT), a.i %% 7 FROM %s a, %s b" % (count % (2 * HOSTS - 1), count % (SECONDS - 1)),
    )  # fmt: skip


class Server:
    def __init__(self, b, path, folder):
        self.process = subprocess.Popen([b.iorama, "serve", "-q", "--store", path, "--listen", "0", "--rate", "0", "--token",
                                         os.path.join(folder, "token")], stdout=subprocess.PIPE, text=True)  # fmt: skip
        address, token = self.process.stdout.readline().strip().split("/#token=")
        self.port, self.head = int(address.rsplit(":", 1)[1]), {"Authorization": "Bearer " + token}

    def time(self, path, runs):
        """ms of an answer, the least of some, and ms of CPU on average."""
        best, before = None, self.cpu()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for _ in range(runs):
            begin = time.perf_counter()
            connection.request("GET", path, headers=self.head)
            answer = connection.getresponse()
            answer.read()
            took = (time.perf_counter() - begin) * 1e3
            if answer.status != 200:
                return None
            best = took if best is None else min(best, took)
        return best, (self.cpu() - before) * 1e3 / runs

    def cpu(self):
        """s of all its threads"""
        spent = 0
        for thread in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/schedstat" % (self.process.pid, thread)) as file:
                spent += int(file.read().split()[0])
        return spent / 1e9

    def memory(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

    def end(self):
        self.process.terminate()
        self.process.wait()


def watch(server, change, seconds):
    """VIEWERS streams of one list which changes every second: the least rate of frames, percent of a core, and s until a change was seen,
    that of a hundred that are later only one is."""
    sockets = []
    for _ in range(VIEWERS):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(("GET /api/1/stream?topics=jobs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: %s\r\n\r\n"
                   % (server.port, server.head["Authorization"])).encode())  # fmt: skip
        sockets.append(s)
    poll = select.epoll()
    frames, stop, made, late = {s.fileno(): 0 for s in sockets}, threading.Event(), {}, []
    by = {s.fileno(): s for s in sockets}
    for s in sockets:
        s.setblocking(False)
        poll.register(s, select.EPOLLIN)

    def run():
        n = 0
        while not stop.wait(1):
            n += 1
            change("change %d." % n)
            made[n] = time.monotonic()

    def read(until):
        while time.monotonic() < until:
            for fd, _ in poll.poll(0.2):
                got, now = by[fd].recv(1 << 20), time.monotonic()
                frames[fd] += got.count(b"event: jobs")
                said = got.rfind(b"change ")
                n = got[said + 7:said + 14].split(b".")[0] if said >= 0 else b""
                if n.isdigit() and int(n) in made:
                    late.append(now - made[int(n)])

    thread = threading.Thread(target=run)
    thread.start()
    read(time.monotonic() + 5)  # all are there
    for fd in frames:
        frames[fd] = 0
    late.clear()
    before, begin = server.cpu(), time.monotonic()
    read(begin + seconds)
    spent, took = server.cpu() - before, time.monotonic() - begin
    memory = server.memory()
    stop.set()
    thread.join()
    for s in sockets:
        s.close()
    late.sort()
    return min(frames.values()) / took, spent / took * 100, late[len(late) * 99 // 100] if late else None, memory


PAGES = (
    ("50 newest jobs", "jobs", 50), ("50 jobs by cost", "jobs?sort=cost", 50), ("50 jobs of a user", "jobs?user=user77", 50),
    ("findings that cost most", "findings", BUDGET), ("a user by day", "users/user77", BUDGET),
    ("series of 1,024 ranks x 600 s", "jobs/1/series", BUDGET), ("series of 4,096 ranks x 1 h", "jobs/2/series", BUDGET),
    ("ranks of 1,024 ranks x 600 s", "jobs/1/ranks?points=60&ranks=64", None),
    ("week", "week?since=%(week)d", BUDGET), ("moving", "moving", BUDGET), ("rules", "rules?since=%(week)d", BUDGET),
    ("ranking, redundant", "ranking?metric=redundant&since=%(week)d", BUDGET), ("ranking, metadata", "ranking?metric=metadata&since=%(week)d", BUDGET),
    ("ranking, small", "ranking?metric=small&since=%(week)d", BUDGET),
    ("rules of a month", "rules?since=%(month)d", BUDGET), ("users", "users?from=%(day)d", BUDGET), ("programs", "programs?from=%(day)d", BUDGET), ("a program by day", "programs/program7", BUDGET),
    ("runs of a program", "runs?program=program7", BUDGET), ("runs of a job's program", "jobs/77/runs", BUDGET), ("days", "days?from=%(day)d", BUDGET), ("days, all there are", "days", None),
    ("why", "jobs/1/why", BUDGET), ("why of an hour", "jobs/2/why", BUDGET), ("beside", "jobs/77/beside", BUDGET), ("sparks", "sparks?jobs=1,2,3,4,5,6,7,8", BUDGET),
    ("nodes", "nodes", BUDGET), ("sampled", "sampled", BUDGET), ("map of 200 nodes x 600 s", "map?metric=cpu.user&from=1700000000&to=1700000600", BUDGET),
    ("map of 200 nodes x 6 h", "map?metric=cpu.user&from=1699979000&to=1700000600", BUDGET),
    ("a node over 600 s", "nodes/node7?metric=cpu.user&from=1700000000&to=1700000600", BUDGET),
    ("nodes of a job over 600 s", "jobs/1/samples?from=1700000000&to=1700000600", BUDGET),
    ("jobs that run", "jobs?state=running", BUDGET), ("50 jobs of a program", "jobs?name=program7", BUDGET),
    ("50 jobs of a user by cost", "jobs?user=user0&sort=cost", BUDGET), ("50 jobs with a finding by cost", "jobs?finding=W04&sort=cost", BUDGET),
    ("50 jobs by a word", "jobs?word=program7", BUDGET), ("50 jobs by a figure", "jobs?where=small_writes%%20%%3E%%201000&sort=small_writes", BUDGET),
    ("one job", "jobs/77", BUDGET), ("findings of a job", "jobs/77/findings", BUDGET), ("processes of a job", "jobs/1/processes", BUDGET),
)  # fmt: skip


def union(b, server, kind, jobs, truth):
    """All pages of a list, one after the other, are what SQL says, each job once and in its order. truth(sql): numbers."""
    order = "ORDER BY CASE WHEN {0} IS NULL THEN 1 ELSE 0 END, {0} DESC, number DESC"
    for name, query_, sql in (("by start", "", order.format("start_ns")), ("by cost", "&sort=cost", order.format("cost")),
                              ("of a user", "&user=user0", "WHERE username = 'user0' " + order.format("start_ns"))):  # fmt: skip
        got, after, connection = [], "", http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        before = server.cpu()
        while after is not None:
            connection.request("GET", "/api/1/jobs?limit=500&columns=job" + query_ + (after and "&after=" + after), headers=server.head)
            page = json.loads(connection.getresponse().read())
            got += [row["job"] for row in page["jobs"]]
            after = page["next"]
        want = truth("SELECT number FROM jobs " + sql)
        b.add("serve, %s, pages that differ from SQL, %s, %d jobs" % (kind, name, len(want)), "rows", sum(x != y for x, y in zip(got, want)) + abs(len(got) - len(want)), "", 0)
        b.add("serve, %s, a page of 500, %s, %s jobs" % (kind, name, many(jobs)), "cpu", (server.cpu() - before) * 1e3 / (len(got) / 500), "ms", 20)


def series(b, server, kind, jobs):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/metrics", headers=server.head)
    lines = connection.getresponse().read().decode().split("\n")
    b.add("serve, %s, series for Prometheus, %s jobs" % (kind, many(jobs)), "series", sum(1 for line in lines if line and line[0] != "#"), "", 500)


def many(jobs):
    return "10^6" if jobs == query.JOBS else jobs


def pages(b, server, kind, jobs):
    newest = 1700000000 + jobs * 30
    told = {"week": newest - 7 * 86400, "month": newest - 30 * 86400, "day": newest // 86400 - 7}
    for name, address, budget in (*((n, "/api/1/" + a % told, m) for n, a, m in PAGES), ("metrics", "/metrics", None)):
        took = server.time(address, max(9, b.options.runs))
        if took is None:
            print("(serve, %s, %s: takes longer than a statement may)" % (kind, name))
            continue
        b.add("serve, %s, %s, %s jobs" % (kind, name, many(jobs)), "answer_min", took[0], "ms", budget)
        b.add("serve, %s, %s, %s jobs" % (kind, name, many(jobs)), "cpu", took[1], "ms", budget and 20)
    b.add("serve, %s, after all pages" % kind, "memory", server.memory(), "MB", 64)
    series(b, server, kind, jobs)


def viewers(b, server, kind, change):
    frames, share, late, memory = watch(server, change, 10 if b.options.quick else 60)
    b.add("serve, %s, %d viewers, slowest" % (kind, VIEWERS), "frames", frames, "1/s")
    b.add("serve, %s, %d viewers" % (kind, VIEWERS), "cpu", share, "% of a core", 10)
    b.add("serve, %s, %d viewers" % (kind, VIEWERS), "memory", memory, "MB", 100)
    if late is not None:
        b.add("serve, %s, %d viewers" % (kind, VIEWERS), "delay_p99", late, "s", 2)


CHANGE = "UPDATE jobs SET verdict = '%s' WHERE number = (SELECT number FROM jobs ORDER BY start_ns DESC LIMIT 1)"


def measure(b, folder):
    jobs = query.QUICK if b.options.quick else query.JOBS
    path = os.path.join(folder, "serve.db")
    query.empty(b.iorama, path, folder)
    fill_sqlite(path, jobs)
    server = Server(b, path, folder)

    def change(text):
        db = sqlite3.connect(path, timeout=60, isolation_level=None)
        db.execute(CHANGE % text)
        db.close()

    def truth(sql):
        db = sqlite3.connect(path, timeout=60)
        try:
            return [row[0] for row in db.execute(sql)]
        finally:
            db.close()

    pages(b, server, "SQLite", jobs)
    union(b, server, "SQLite", jobs, truth)
    viewers(b, server, "SQLite", change)
    server.end()
    os.unlink(path)
    sys.path.insert(0, os.path.join(query.HERE, "..", "tests", "lib"))
    import servers  # pylint: disable=import-outside-toplevel

    try:
        with servers.Postgres(folder=tempfile.gettempdir(), settings=("shared_buffers = 256MB", "jit = off")) as pg:
            query.empty(b.iorama, pg.url, folder)
            fill_postgres(pg, jobs)
            server = Server(b, pg.url, folder)
            pages(b, server, "PostgreSQL", jobs)
            union(b, server, "PostgreSQL", jobs, lambda sql: [int(line) for line in pg.psql("COPY (%s) TO STDOUT" % sql).stdout.split()])
            server.end()
    except servers.Missing as why:
        print("(%s: no pages of PostgreSQL)" % why)
