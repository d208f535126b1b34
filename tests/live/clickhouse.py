# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of events in ClickHouse: the tests of the store with it, one server, and three with three ZooKeepers that are killed and
stopped while events come. Servers are those of Debian (tests/lib/columns.py); each case starts its own."""
import json
import os
import time

import harness
import columns
import servers
from harness import expect
from sinks_truth import COLUMNS, Feed, differs

# groups of the unit tests of the store whose blocks need not lie in tables
GROUPS = ("walk", "order")


def say(case, url, *words, **more):
    return case.command(*words, "--store", url, **more)


def set_events(case, url, events, **more):
    return say(case, url, "store", "upgrade", "--events", events, **more)


def near(pg):
    """Blocks that lie in the tables after all."""
    return int(pg.value("SELECT count(*) FROM blocks"))


def stored(case, url, *feeds):
    """Every event once, field by field, as the command tells it; sums, too, and nothing that verify finds."""
    for feed in feeds:
        for process in range(feed.words["processes"]):
            out = say(case, url, "query", "--job", feed.job(process), "--rank", str(process), "--limit", "0", "--json").stdout
            got = sorted(tuple(-1 if row[c] is None and c in ("off", "len") else int(row[c]) if c == "record" else row[c]
                               for c in COLUMNS) for row in json.loads(out))  # fmt: skip
            differs("%s rank %d" % (feed.job(process), process), got, feed.truth(process))
    expect("whole" in say(case, url, "store", "verify").stdout, "verify")


def streaming(case, url, **words):
    feed = Feed(case, url, **{"state": case.path("state"), "processes": 4, "rounds": 60, "events": 100, "jobs": 2,
                              "pace": 20000, **words})  # fmt: skip
    return feed, feed.start()


def sent(case):
    try:
        with open(case.path("state"), encoding="utf-8") as file:
            return int(file.read() or 0)
    except FileNotFoundError:
        return 0


# ---- one server ------------------------------------------------------------------------------------------


def unit(case):
    """Unit tests of the store, with blocks in ClickHouse."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch:
        env = case.environment(IORAMA_TEST_STORE=pg.url, IORAMA_TEST_EVENTS=ch.url)
        case.run(os.path.join(case.build, "tests", "test_store"), *GROUPS, env=env, timeout=280)
        expect(near(pg) == 0 and int(ch.sql("SELECT count() FROM system.databases WHERE name LIKE 'iorama_%'")) > 10,
               "blocks were not put elsewhere")  # fmt: skip


def one(case):
    """A stream to one server, what came before stays in the tables; what comes twice; all commands of upkeep."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch:
        before = Feed(case, pg.url, agent="feed-0", job="1000/run-old", rounds=3, events=40)
        before.run()
        in_tables = near(pg)
        expect(in_tables > 0, "no blocks before")
        set_events(case, pg.url, ch.url)
        feed = Feed(case, pg.url, jobs=2)
        feed.run()
        feed.run()  # all of it again
        expect(near(pg) == in_tables, "blocks came into the tables")
        stored(case, pg.url, before, feed)
        both = json.loads(say(case, pg.url, "query", "--order", "time_job_rank", "--limit", "0", "--json").stdout)
        expect(len(both) == before.events + feed.events, "%d events of both", len(both))
        expect([r["end_ns"] for r in both] == sorted(r["end_ns"] for r in both), "order of two places")
        counts = json.loads(say(case, pg.url, "store", "stats", "--json").stdout)
        expect(counts["events"] == before.events + feed.events, "stats: %s", counts)
        seconds = ch.sql("SELECT sum(ops) FROM iorama.iorama_seconds FINAL")
        expect(int(seconds) == feed.events, "sums per second: %s", seconds)

        archive = case.path("old.db")
        say(case, pg.url, "store", "archive", archive, "--older", "1s")
        expect(case.value("SELECT sum(n) FROM blocks", store=archive) == before.events + feed.events, "the archive")
        say(case, archive, "store", "verify")
        case.wait(lambda: ch.sql("SELECT count() FROM iorama.iorama_blocks") == "0", "blocks to leave")
        expect("whole" in say(case, pg.url, "store", "verify").stdout, "verify after the archive")
        # and back
        set_events(case, pg.url, ch.url)
        say(case, archive, "store", "archive", pg.url, "--older", "1s")
        stored(case, pg.url, before, feed)
        expect(near(pg) == 0, "blocks of an archive lie in the tables")


def twice(case):
    """What a writer leaves that died before its transaction did, cut in other places: events are given once, counted once."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch:
        dead = pg.new_database("dead") or pg.url_of("dead")
        set_events(case, dead, ch.url)
        Feed(case, dead, rounds=7, events=300).run()
        set_events(case, pg.url, ch.url)
        feed = Feed(case, pg.url, rounds=4, events=500)
        feed.run()
        expect(int(ch.sql("SELECT sum(n) FROM iorama.iorama_blocks")) > feed.events * 2 - 1, "nothing is there twice")
        expect("whole" in say(case, pg.url, "store", "verify").stdout, "verify")
        out = json.loads(say(case, pg.url, "query", "--job", "last", "--order", "job_time_rank", "--limit", "0", "--json").stdout)
        seen = [(r["rank"], r["lane"], r["seq"]) for r in out]
        expect(len(seen) == len(set(seen)), "%d events are given twice", len(seen) - len(set(seen)))
        archive = case.path("old.db")
        say(case, pg.url, "store", "archive", archive, "--older", "1s")
        expect(case.value("SELECT sum(n) FROM blocks", store=archive) == feed.events, "the archive has others")
        say(case, archive, "store", "verify")


def prune(case):
    """Months go as a whole when no job needs them any more; a job in a month that stays leaves alone; nothing of others."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch:
        set_events(case, pg.url, ch.url + "_p")
        table = "iorama_p.iorama_blocks"
        month = 31 * 86400 * 10**9
        now = int(time.time()) * 10**9
        old, mid, new = (Feed(case, pg.url, agent="feed-%d" % i, job="1000/run-%d" % i, rounds=3, events=40, start=now - i * month)
                         for i in (9, 5, 1))  # fmt: skip
        for feed in old, mid, new:
            feed.run()
        before = {f: int(ch.sql("SELECT count() FROM %s WHERE job LIKE '%s%%'" % (table, f.words["job"]))) for f in (old, mid, new)}
        expect(all(before.values()), "blocks: %s", before)
        ch.sql("CREATE TABLE iorama_p.t AS %s" % table)  # months that somebody has just written to would stay
        names = "job, rank, t0, segment, lane, first, n, t1, tid, lost, body, month"
        ch.sql("INSERT INTO iorama_p.t (%s, put) SELECT %s, put - 3600000000000 FROM %s" % (names, names, table))
        ch.sql("DROP TABLE %s" % table)
        ch.sql("RENAME TABLE iorama_p.t TO %s" % table)
        say(case, pg.url, "store", "prune", "--older", "%dd" % (7 * 31))
        expect(ch.sql("SELECT count() FROM %s WHERE job LIKE '1000/run-9%%'" % table) == "0", "the oldest month did not leave")
        expect(ch.sql("SELECT count() FROM system.mutations") == "0", "blocks were rewritten to be rid of a month")
        expect(int(ch.sql("SELECT count() FROM %s WHERE job LIKE '1000/run-5%%'" % table)) == before[mid], "a month that is needed")
        say(case, pg.url, "store", "prune", "--older", "%dd" % (3 * 31), "--events-only")
        case.wait(lambda: ch.sql("SELECT count() FROM %s WHERE job LIKE '1000/run-5%%'" % table) == "0", "its events to leave")
        expect(int(ch.sql("SELECT count() FROM %s" % table)) == before[new], "blocks of a job that stays went")
        expect(say(case, pg.url, "query", "--job", mid.job(0), "--csv").stdout.count("\n") <= 1, "events of a job that lost them")
        expect(pg.value("SELECT count(*) FROM removals") == "0", "what is to be removed stays on the list")
        expect("whole" in say(case, pg.url, "store", "verify").stdout, "verify")


def words(case):
    """What is wrong is said in one line, with the server; passwords are not in URLs but in ~/.netrc."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch:
        def refused(events, *said, status=2, store=pg.url, **more):
            line = case.command("store", "upgrade", "--store", store, "--events", events, status=status, **more).stderr
            expect(all(word in line for word in said) and line.count("\n") == 1, "%s: %s", events, line)

        say(case, pg.url, "store", "upgrade", "--events", "clickhouse://%s/iorama" % ch.host)
        refused("http://%s/iorama" % ch.host, "no clickhouse://")
        refused("clickhouse://%s/" % ch.host, "database")
        refused("clickhouse://%s/x;DROP" % ch.host, "database")
        refused("clickhouse://a:0/x", "port")
        refused("clickhouse://a,a/x", "twice")
        refused("clickhouse://me:secret@a/x", "netrc")
        refused("clickhouse://a'b/x", "name")
        refused("clickhouse://127.0.0.1:1/x", "clickhouse 127.0.0.1:1: ", status=4)
        refused(ch.url, "PostgreSQL", store=case.path("own.db"))
        with open(case.path("empty"), "w", encoding="utf-8"):
            pass
        line = case.command("collect", "--store", pg.url, "--events", "clickhouse://other/iorama", case.path("empty"), status=2).stderr
        expect("iorama store upgrade" in line, "another place by a collector: %s", line)

        home = case.path("home")
        os.makedirs(home)
        netrc = os.path.join(home, ".netrc")
        secured = "clickhouse://secured@%s/secured" % ch.host
        refused(secured, "clickhouse %s: " % ch.host, env=case.environment(HOME=home))
        with open(netrc, "w", encoding="utf-8") as to:
            to.write('machine 127.0.0.1 login secured password "%s"\n' % ch.password)
        case.command("store", "upgrade", "--store", pg.url, "--events", secured, env=case.environment(HOME=home))
        Feed(case, pg.url, rounds=2).run(env=case.environment(HOME=home))
        expect(int(ch.sql("SELECT sum(n) FROM secured.iorama_blocks")) > 0, "nothing came")
        line = say(case, pg.url, "query", "--job", "last", status=2).stderr
        expect(ch.host in line and line.count("\n") == 1 and ch.password not in line, "without its password: %s", line)
        ch.sql("DROP TABLE secured.iorama_blocks")
        line = say(case, pg.url, "query", "--job", "last", status=2, env=case.environment(HOME=home)).stderr
        expect("upgrade --events" in line, "without its tables: %s", line)


def away(case):
    """The server is killed while events come: they wait, and are there once each."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch:
        set_events(case, pg.url, ch.url)
        feed, process = streaming(case, pg.url)
        case.wait(lambda: sent(case) > 20, "the first messages in the store")
        ch.kill()
        case.wait(lambda: "events wait" in process.said(), "a word about the server that is gone")
        line = say(case, pg.url, "query", "--job", feed.job(0), status=4).stderr
        expect(ch.host in line, "a question while it is away: %s", line)
        ch.start()
        case.end(process)
        stored(case, pg.url, feed)


# ---- three ------------------------------------------------------------------------------------------------


def three(case):
    """Two of three answer: a server and the leader of the ZooKeepers are killed while events come; one is not enough."""
    with servers.Postgres() as pg, columns.Cluster(3) as c:
        set_events(case, pg.url, c.url)
        feed, process = streaming(case, pg.url, rounds=120)
        case.wait(lambda: sent(case) > 20, "the first messages in the store")
        for each in c.server[0], next(z for z in c.keeper if z.leads()):
            each.kill()
            come = sent(case)
            say(case, pg.url, "query", "--job", feed.job(0), "--rank", "0", "--limit", "5")
            each.start()
            case.wait(lambda: sent(case) > come or process.poll() is not None, "messages after the restart", 60)
        case.end(process)
        stored(case, pg.url, feed)
        unique = "SELECT uniqExact(job, segment, lane, first, n) FROM iorama.iorama_blocks"
        case.wait(lambda: len(set(s.sql(unique) for s in c.server)) == 1, "the same on all", 60)
        c.server[2].kill()
        say(case, pg.url, "store", "verify")
        c.server[1].kill()
        more = Feed(case, pg.url, agent="feed-2", job="1000/run-more", rounds=2, state=case.path("state-2"))
        process = more.start()
        case.wait(lambda: "events wait" in process.said(), "a word that one server is not enough", 90)
        c.server[1].start()
        case.end(process)
        stored(case, pg.url, feed, more)


def single(case):
    """Tables that have no copies, where there are to be some, are told."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch, columns.ClickHouse() as other:
        set_events(case, pg.url, ch.url)
        set_events(case, pg.url, other.url)
        set_events(case, pg.url, "clickhouse://%s,%s/iorama" % (ch.host, other.host))
        out = say(case, pg.url, "store", "verify", status=3).stdout
        expect("not replicated" in out, "verify: %s", out)


def shards(case):
    """Two shards: both have a part, questions see all."""
    with servers.Postgres() as pg, columns.ClickHouse() as ch, columns.ClickHouse() as other:
        set_events(case, pg.url, "clickhouse://%s;%s/iorama" % (ch.host, other.host))
        feed = Feed(case, pg.url, processes=8, jobs=1, rounds=3, events=100)
        feed.run()
        stored(case, pg.url, feed)
        parts = [int(s.sql("SELECT sum(n) FROM iorama.iorama_blocks")) for s in (ch, other)]
        expect(min(parts) > 0 and sum(parts) == feed.events, "shards have %s", parts)
        say(case, pg.url, "store", "prune", "--older", "1s")
        case.wait(lambda: sum(int(s.sql("SELECT count() FROM iorama.iorama_blocks")) for s in (ch, other)) == 0, "both to be empty")


CASES = {"unit": unit, "one": one, "twice": twice, "prune": prune, "words": words, "away": away, "three": three, "single": single,
         "shards": shards}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
