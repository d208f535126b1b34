# SPDX-License-Identifier: BSD-3-Clause
"""The store on PostgreSQL: the same tests as on SQLite, a server that goes away and comes back in the middle of a stream, one that
is slow, several writers of the same, who may see what, and that keys are used. Each case starts a server of its own."""
import contextlib
import os
import re
import select
import signal
import socket
import sys
import time
import threading

import harness
import cases
import servers
from harness import Skip, expect
from sinks_truth import Feed, stored

try:
    import psycopg2
    import psycopg2.extras
except ImportError:
    psycopg2 = None


class Database:
    """What sinks_truth asks of a case, answered by PostgreSQL."""

    def __init__(self, url):
        if psycopg2 is None:
            raise Skip("python3-psycopg2 is not installed")
        self.url = url

    def rows(self, sql, *args, store=None):
        with psycopg2.connect(store or self.url) as db, db.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(sql.replace("%", "%%").replace("?", "%s"), args)
            rows = [dict(row) for row in cursor]
        db.close()
        return rows

    def value(self, sql, *args, store=None):
        return next(iter(self.rows(sql, *args, store=store)[0].values()))


def whole(db, *feeds):
    """Nothing lost, nothing twice: events field by field, sums of jobs and seconds, no two blocks that overlap."""
    stored(db, *feeds)
    twice = db.rows("SELECT a.process, a.lane, a.first, b.first AS other FROM blocks a JOIN blocks b ON a.process = b.process AND"
                    " a.lane = b.lane AND a.first < b.first AND a.first + a.n > b.first")  # fmt: skip
    expect(not twice, "blocks overlap: %s", twice[:3])
    sums = db.rows("SELECT (SELECT sum(ops) FROM rollups) AS rolled, (SELECT sum(events) FROM jobs) AS events,"
                   " (SELECT sum(made) FROM jobs) AS made, (SELECT sum(lost) FROM jobs) AS lost,"
                   " (SELECT count(*) FROM jobs WHERE state <> 'done') AS open")[0]  # fmt: skip
    events = sum(f.events for f in feeds)
    expect((sums["rolled"], sums["events"], sums["made"], sums["lost"], sums["open"]) == (events, events, events, 0, 0),
           "sums of %d events: %s", events, sums)  # fmt: skip


def committed(case, feed):
    """How many messages the feed knows to be safe."""
    try:
        with open(feed.words["state"], encoding="utf-8") as file:
            return int(file.read() or 0)
    except FileNotFoundError:
        return 0


def streaming(case, url, **words):
    """A feed that runs, and has come some way."""
    feed = Feed(case, url, **{"state": case.path("state"), "processes": 4, "rounds": 60, "events": 100, "jobs": 2,
                              "pace": 20000, **words})  # fmt: skip
    process = feed.start()
    case.wait(lambda: committed(case, feed) > 20, "the first messages in the store")
    return feed, process


# ---- the same tests as on SQLite -------------------------------------------------------------------------


def unit(case):
    """Unit tests of this part, which need a server."""
    with servers.Postgres() as pg:
        case.run(os.path.join(case.build, "tests", "test_store"), "postgres", "postgres_block",
                 env=case.environment(IORAMA_TEST_POSTGRES=pg.url), timeout=240)  # fmt: skip


def store(case):
    """All unit tests of the store, on PostgreSQL."""
    with servers.Postgres() as pg:
        case.run(os.path.join(case.build, "tests", "test_store"), env=case.environment(IORAMA_TEST_STORE=pg.url), timeout=280)


def query(case):
    """Those of questions to a store, too."""
    with servers.Postgres() as pg:
        case.run(os.path.join(case.build, "tests", "test_query"), env=case.environment(IORAMA_TEST_STORE=pg.url), timeout=280)


# ---- a server that goes away ------------------------------------------------------------------------------


def hold(case, db, url):
    """A lock that the writer waits for: it is in the middle of a batch. Returns the connection that has it."""
    other = psycopg2.connect(url)
    other.cursor().execute("LOCK TABLE rollups IN EXCLUSIVE MODE")
    case.wait(lambda: db.value("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0, "the writer to wait")
    return other


def restarted(case, *ways, durable=True):
    """Stopped and started in each of these ways, the first time surely in the middle of a batch."""
    with servers.Postgres(durable=durable) as pg:
        db = Database(pg.url)
        feed, process = streaming(case, pg.url)
        for i, way in enumerate(ways):
            other = hold(case, db, pg.url) if i == 0 else None
            before = committed(case, feed)
            expect(before < feed.messages, "it ended before the server could be stopped")
            if way == "kill":
                pg.kill()
            else:
                pg.stop(way)
            if other:
                case.wait(lambda: "events wait" in process.said(), "a word about the server that is gone")
                other.close()
            pg.start()
            case.wait(lambda: committed(case, feed) > before or process.poll() is not None, "messages after the restart")
        case.end(process)
        whole(db, feed)


def restart_fast(case):
    restarted(case, "fast", "fast", "fast")


def restart_immediate(case):
    restarted(case, "immediate", "immediate", "immediate")


def restart_kill(case):
    restarted(case, "kill", "fast", "kill")


def absent_at_first(case):
    """The server comes later than the events."""
    pg = servers.Postgres()
    try:
        feed = Feed(case, pg.url, processes=2, rounds=10, events=50, state=case.path("state"))
        process = feed.start()
        case.wait(lambda: "events wait" in process.said(), "a word about the server that is not there")
        pg.start()
        case.end(process)
        whole(Database(pg.url), feed)
    finally:
        pg.close()


class Forgetful(threading.Thread):
    """A way to the server that breaks when the answer to a commit is on it: the server has committed, nobody knows. It does so
    `times` times, then lets all pass."""

    def __init__(self, port, times):
        super().__init__(daemon=True)
        self.server, self.times, self.broken = port, times, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                self.serve(self.listener.accept()[0])

    def serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.server))
        asked = False  # to commit
        with contextlib.suppress(OSError), client, server:
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    asked = asked or (one is client and b"COMMIT\0" in data)
                    if one is server and asked and self.broken < self.times and b"COMMIT\0" in data:
                        self.broken += 1
                        return
                    (server if one is client else client).sendall(data)


def answer_lost(case):
    """The connection breaks after the server has committed and before it can say so: the batch comes again, once is enough."""
    with servers.Postgres() as pg:
        way = Forgetful(pg.port, 6)
        feed = Feed(case, "postgresql://postgres@127.0.0.1:%d/iorama" % way.port, processes=4, rounds=30, events=100, jobs=2,
                    pace=1000)  # fmt: skip
        done = feed.run()
        expect(way.broken == 6, "%d answers were lost, not 6", way.broken)
        expect(done["repeated"] > 0, "nothing came again: %s", done)
        whole(Database(pg.url), feed)


# ---- a server that is slow --------------------------------------------------------------------------------


def locked(case):
    """Somebody holds a lock on the tables: the writer waits."""
    with servers.Postgres() as pg:
        db = Database(pg.url)
        feed, process = streaming(case, pg.url)
        other = hold(case, db, pg.url)
        expect(process.poll() is None and committed(case, feed) < feed.messages, "the writer did not wait")
        other.rollback()
        other.close()
        case.end(process)
        whole(db, feed)


def unanswered(port):
    """Bytes that wait to be read by whoever listens on this port of loopback."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return sum(int(row[4].split(":")[1], 16) for row in rows if row[1].endswith(":%04X" % port) and row[3] == "01")


def stopped(case):
    """The server is alive but does not answer: the writer waits, and goes on."""
    with servers.Postgres() as pg:
        feed, process = streaming(case, pg.url)
        pg.pause()
        # or it was read already, and what is missing is the answer
        since = time.monotonic()
        case.wait(lambda: unanswered(pg.port) > 0 or time.monotonic() - since > 5, "a request that nobody reads")
        expect(process.poll() is None and committed(case, feed) < feed.messages, "the writer did not wait")
        pg.resume()
        case.end(process)
        whole(Database(pg.url), feed)


def too_many(case):
    """No connection is left: waits for one."""
    with servers.Postgres(settings=["max_connections = 8", "superuser_reserved_connections = 0"]) as pg:
        others = [psycopg2.connect(pg.url) for _ in range(8)]
        feed = Feed(case, pg.url, processes=1, rounds=5, events=50, state=case.path("state"))
        process = feed.start()
        case.wait(lambda: "too many clients" in process.said(), "a word about too many connections")
        for other in others:
            other.close()
        case.end(process)
        whole(Database(pg.url), feed)


# ---- several writers ----------------------------------------------------------------------------------------


def writers(case):
    """Three with the same messages at once, in blocks that are cut differently, one of them killed -9 and begun again."""
    with servers.Postgres() as pg:
        shape = {"processes": 4, "jobs": 2, "pace": 3000}
        feeds = [Feed(case, pg.url, rounds=3000 // n, events=n, state=case.path("state%d" % n), **shape) for n in (50, 60, 100)]
        running = [feed.start() for feed in feeds]
        case.wait(lambda: committed(case, feeds[0]) > 20, "the first messages in the store")
        running[0].send_signal(signal.SIGKILL)
        running[0].wait()
        os.unlink(feeds[0].words["state"])
        running[0] = feeds[0].start()
        for process in running:
            case.end(process)
        # samples are one per round: those of the first feed are all there are
        whole(Database(pg.url), feeds[0])


# ---- who sees what ------------------------------------------------------------------------------------------


def users(case):
    """Rows of one's own jobs, for everybody who asks; all of them for the staff; nobody but the owner writes."""
    with servers.Postgres() as pg:
        Feed(case, pg.url, job="1000/run-a", rounds=2, events=50).run()
        Feed(case, pg.url, agent="feed-2", job="1001/run-b", rounds=3, events=50).run()
        pg.psql("UPDATE jobs SET username = CASE WHEN key LIKE '1000/%' THEN 'ada' ELSE 'bob' END;"
                "DELETE FROM days;"
                "INSERT INTO days SELECT 1, u, 'app', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 FROM unnest('{ada,bob}'::TEXT[]) u;"
                "CREATE ROLE iorama_users; CREATE ROLE iorama_staff; CREATE ROLE stranger LOGIN;"
                "CREATE ROLE ada LOGIN IN ROLE iorama_users; CREATE ROLE bob LOGIN IN ROLE iorama_users;"
                "CREATE ROLE eve LOGIN IN ROLE iorama_staff;"
                "SELECT iorama_share('iorama_users'); SELECT iorama_share('iorama_staff', true);"
                "SELECT iorama_share('iorama_users');")  # fmt: skip
        tables = pg.psql("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND EXISTS"
                         " (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'job')").stdout.split()  # fmt: skip
        expect({"blocks", "rollups", "files", "processes", "activity", "logs", "counters_posix"} <= set(tables), "%s", tables)
        for user, jobs, events in (("ada", 1, 400), ("bob", 1, 600), ("eve", 2, 1000)):
            for sql, want in (("SELECT count(*) FROM jobs", jobs), ("SELECT count(*) FROM events", events),
                              ("SELECT sum(n) FROM blocks", events), ("SELECT sum(ops) FROM rollup_times", events),
                              ("SELECT count(*) FROM job_times", jobs), ("SELECT sum(jobs) FROM days", jobs), ("SELECT count(DISTINCT job) FROM files", jobs),
                              ("SELECT count(*) FROM jobs j, iorama_events(j.number)", events),
                              ("SELECT count(*) FROM iorama_events(1) UNION SELECT 0 ORDER BY 1 DESC LIMIT 1",
                               0 if user == "bob" else 400)):  # fmt: skip
                got = pg.value(sql, user=user)
                expect(got == str(want), "%s: %s gives %s, not %s", user, sql, got, want)
            for table in tables:
                got = pg.value("SELECT count(*) FROM %s t WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.number = t.job)" % table,
                               user=user)  # fmt: skip
                expect(got == "0", "%s sees %s rows of others in %s", user, got, table)
            for sql in ("DELETE FROM jobs", "UPDATE blocks SET n = 0", "INSERT INTO files VALUES (1, 1, 'x')",
                        "SELECT iorama_share('stranger')"):  # fmt: skip
                expect("permission denied" in pg.psql(sql, user=user, check=False).stderr, "%s may %s", user, sql)
        refused = pg.psql("SELECT count(*) FROM jobs", user="stranger", check=False)
        expect("permission denied" in refused.stderr, "a stranger sees jobs: %s", refused.stdout)


# ---- stores of older versions ---------------------------------------------------------------------------------

TO_7 = "DROP TABLE spans, placed, removals; UPDATE meta SET value = '7' WHERE key = 'schema';"
TO_6 = TO_7 + """DROP VIEW minute_times, day_times; DROP TABLE notices, notice_jobs, notice_off, totals, series_ten;
UPDATE meta SET value = '6' WHERE key = 'schema';"""
TO_5 = TO_6 + "DROP TABLE trials, moments, served; UPDATE meta SET value = '5' WHERE key = 'schema';"
TO_4 = TO_5 + "".join("ALTER TABLE jobs DROP COLUMN batch_%s;" % w for w in "step array restart name account partition cluster nodes".split())
TO_4 += "UPDATE meta SET value = '4' WHERE key = 'schema';"
TO_3 = TO_4 + """DROP VIEW series_times; DROP TABLE series, series_minute, series_hour, days, day_jobs;
ALTER TABLE counted DROP COLUMN read_second, DROP COLUMN write_second, DROP COLUMN meta_second;
DROP INDEX jobs_user_end, findings_cost; UPDATE meta SET value = '3' WHERE key = 'schema';"""
TO_2 = """DROP TABLE counted; ALTER TABLE jobs DROP COLUMN seen_ns, DROP COLUMN cost;
DROP INDEX jobs_running, jobs_by_user, jobs_by_name, jobs_name, jobs_by_bytes, processes_running, findings_high, jobs_start;
CREATE INDEX jobs_start ON jobs (start_ns); ALTER TABLE figure_values DROP COLUMN ranked;
UPDATE meta SET value = '2' WHERE key = 'schema';"""


def upgrade(case):
    """A store of each older version is brought up to date, with sums by time and by day of all that was in it."""
    with servers.Postgres() as pg:
        Feed(case, pg.url, rounds=2, events=50).run()
        pg.psql("INSERT INTO activity SELECT p.job, 1700000000000000000 + g * 1000000000::BIGINT, p.number, l, p.rank, 1000000000, 2 * g, g,"
                " p.number, 100 * g, 10 * g, 3, 5, 7 FROM processes p, generate_series(1, 130) g, unnest('{POSIX,MPI-IO}'::TEXT[]) l")  # fmt: skip
        jobs = pg.value("SELECT count(*) FROM jobs WHERE state <> 'running'")
        for before in (TO_3, TO_3 + TO_2, TO_4, TO_5, TO_6, TO_7):
            pg.psql(before)
            expect("iorama store upgrade" in case.command("jobs", "--store", pg.url, status=None).stderr, "an old store is read")
            case.command("store", "upgrade", "--store", pg.url)
            for table, width in (("series", 1), ("series_ten", 10), ("series_minute", 60), ("series_hour", 3600)):
                wrong = pg.value("SELECT count(*) FROM (SELECT job, layer, (t_ns - 500000000) / 1000000000 / %d * %d AS s, sum(reads) AS r,"
                                 " sum(bytes_written) AS w, sum(meta_ns) AS m, count(DISTINCT process) AS p FROM activity GROUP BY 1, 2, 3) a"
                                 " LEFT JOIN (SELECT job, layer, second AS s, sum(ops) FILTER (WHERE kind = 'read') AS r, sum(bytes) FILTER"
                                 " (WHERE kind = 'write') AS w, sum(ns) FILTER (WHERE kind = 'meta') AS m, max(ranks) AS p FROM %s GROUP BY"
                                 " 1, 2, 3) t USING (job, layer, s) WHERE (a.r, a.w, a.m, a.p) IS DISTINCT FROM (t.r, t.w, t.m, t.p)"
                                 % (width, width, table))  # fmt: skip
                expect(wrong == "0", "%s rows of %s are wrong", wrong, table)
            expect(pg.value("SELECT sum(jobs) FROM days") == jobs, "days have other jobs")
            for name, sql in (("calls", "sum(reads + writes + metas) FROM activity"), ("bytes", "sum(bytes_read + bytes_written) FROM activity"),
                              ("ns", "sum(read_ns + write_ns + meta_ns) FROM activity"), ("events", "sum(events + lost) FROM jobs")):  # fmt: skip
                got, want = pg.value("SELECT sum(value) FROM totals WHERE name = '%s'" % name), pg.value("SELECT " + sql)
                expect(got == want, "%s are %s in all, not %s", name, got, want)
            case.command("store", "verify", "--store", pg.url)


# ---- keys ---------------------------------------------------------------------------------------------------


def keys(case):
    """Questions about a job, a rank, a time are answered by the three orders of blocks, in a store with many jobs."""
    with servers.Postgres() as pg:
        Feed(case, pg.url, processes=40, jobs=20, rounds=20, events=10).run()
        pg.psql("ANALYZE")
        job = pg.value("SELECT number FROM jobs WHERE key = '1000/run-feed-7'")
        start = 1700000000000000000
        for sql, key in (
            ("SELECT * FROM iorama_events(%s, 7)" % job, "blocks_job_rank_time"),
            ("SELECT * FROM iorama_events(%s, 7, %d, %d)" % (job, start + 5 * 10**5, start + 6 * 10**5), "blocks_job_"),
            ("SELECT * FROM iorama_events(%s, NULL, %d, %d)" % (job, start + 5 * 10**5, start + 6 * 10**5), "blocks_job_"),
            ("SELECT * FROM events WHERE job = %s AND rank = 7" % job, "blocks_job_rank_time"),
            ("SELECT * FROM events WHERE job = %s" % job, "blocks_job_"),
            ("SELECT sum(n) FROM blocks WHERE t0 >= %d AND t0 < %d" % (start, start + 1000), "blocks_time_job_rank"),
        ):
            plan = pg.psql("EXPLAIN " + sql).stdout
            expect(key in plan, "%s: no %s in\n%s", sql, key, plan)
            expect("Seq Scan on blocks" not in plan, "%s reads all blocks:\n%s", sql, plan)
        got = pg.value("SELECT count(*) FROM iorama_events(%s, 7, %d, %d)" % (job, start + 5 * 10**5, start + 6 * 10**5))
        expect(got == "20", "%s events in a tenth of a millisecond of two lanes, not 20", got)


# ---- the pages -----------------------------------------------------------------------------------------------


def examples(page, kind):
    """Blocks of SQL of this kind on a page of docs/, as one text each."""
    with open(os.path.join(harness.ROOT, "docs", page), encoding="utf-8") as file:
        found = re.findall(r"```%s\n(.*?)```" % kind, file.read(), re.S)
    expect(found, "%s has no example %s", page, kind)
    return found


def columns_of(rows):
    """table -> its columns; blocks differ, `calls` is PostgreSQL's alone, and SQLite's `events` is made as it is used."""
    tables = {}
    for table, column in rows:
        if table not in ("blocks", "calls", "events"):
            tables.setdefault(table, []).append(column)
    return tables


def pages(case):
    """A site that does as the pages say, with a role that is no superuser; and the tables are those of SQLite."""
    howto, page = "howto-postgresql.md", "format/store.md"
    with servers.Postgres() as pg:
        for sql in examples(howto, "sql setup") + examples(howto, "sql setup15"):
            pg.psql(sql.replace("DATABASE iorama", "DATABASE site"), "postgres")
        url = pg.url_of("site", "iorama")
        one = Feed(case, url, job="1000/run-a", rounds=2, events=50)
        one.run()
        pg.psql("UPDATE jobs SET username = 'ada'; ", "site")
        for sql in examples(howto, "sql roles"):
            pg.psql(sql, "site")
        for sql in examples(howto, "sql share"):
            pg.psql(sql, "site", "iorama")
        pg.psql("CREATE ROLE climate", "site")
        for sql in examples(howto, "sql policy") + examples(howto, "sql look") + examples(page, "sql postgresql") + examples(
                page, "sql") + examples(page, "sql events"):  # fmt: skip
            pg.psql(sql, "site", "iorama")
        for sql in examples(howto, "sql partition"):
            pg.psql(sql, "site", "iorama")
        two = Feed(case, url, agent="feed-2", job="1001/run-b", rounds=2, events=50, start=1799000000000000000)
        two.run()
        two.run()
        db = Database(url)
        expect(db.value("SELECT count(*) FROM blocks_2027_01") == 8, "a month's blocks are not in its table")
        expect(db.value("SELECT count(*) FROM events") == one.events + two.events, "events in parts of a table")
        expect(pg.value("SELECT count(*) FROM events", database="site", user="ada") == str(one.events), "ada sees others")
        expect(pg.value("SELECT sum(n) FROM blocks", database="site", user="ada") == str(one.events), "ada sees others")
        case.command("store", "verify", "--store", url)

        case.command("index", "--store", case.path("own.db"), case.work)
        sqlite = columns_of((t["name"], c["name"]) for t in case.rows(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'", store=case.path("own.db"))
            for c in case.rows("SELECT name FROM pragma_table_info('%s')" % t["name"], store=case.path("own.db")))  # fmt: skip
        mine = columns_of((r["table_name"], r["column_name"]) for r in db.rows(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE"
            " 'blocks_%' ORDER BY table_name, ordinal_position"))  # fmt: skip
        expect(len(sqlite) > 30 and sqlite == mine, "tables differ: %s",
               set(sqlite) ^ set(mine) or [t for t in sqlite if sqlite[t] != mine[t]])


def failover(case):
    """A primary and its standby in one URL: the primary is killed while events come, the standby takes over; nothing is lost."""
    with servers.Postgres(durable=True) as one, servers.Standby(one) as two:
        two.synchronous()
        feed = Feed(case, two.url_with(one), rounds=120, events=100, pace=20000, state=case.path("state"))
        process = feed.start()
        case.wait(lambda: committed(case, feed) > feed.messages / 4, "a quarter")
        one.kill()
        two.promote()
        case.end(process)
        whole(Database(two.url), feed)


def standstill(case):
    """A primary that neither answers nor refuses: who comes anew gets to the standby that took over."""
    with servers.Postgres(durable=True) as one, servers.Standby(one) as two:
        two.synchronous()
        url = two.url_with(one)
        feed = Feed(case, url, rounds=5)
        feed.run()
        one.pause()
        try:
            two.promote()
            said = case.command("jobs", "--store", url, "--json", timeout=60).stdout
            expect("run-feed-0" in said, "jobs: %s", said)
            other = Feed(case, url, agent="feed-2", job="1000/run-other", rounds=5)
            other.run(timeout=60)
            whole(Database(two.url), feed, other)
        finally:
            one.resume()


CASES = {"unit": unit, "failover": failover, "standstill": standstill, "store": store, "query": query, "restart-fast": restart_fast, "restart-immediate": restart_immediate,
         "restart-kill": restart_kill, "absent-at-first": absent_at_first, "answer-lost": answer_lost, "locked": locked, "stopped": stopped,
         "too-many": too_many, "writers": writers, "users": users, "upgrade": upgrade, "keys": keys,
         "pages": pages}  # fmt: skip

if __name__ == "__main__":
    if psycopg2 is None and "--list" not in sys.argv:
        print("SKIP: python3-psycopg2 is not installed")
        sys.exit(cases.SKIPPED)
    harness.main(CASES)
