# SPDX-License-Identifier: BSD-3-Clause
"""Counters in the store are those of the program, whatever happens to agents; and processes of which nobody says anything any more
do not run for ever. With SQLite and with PostgreSQL."""
import contextlib
import glob
import json
import os
import random
import signal
import sqlite3
import time

import harness
import loads
import servers
from harness import Skip, expect

KILLS = 25
FIGURES = ("reads", "writes", "bytes_read", "bytes_written")


class Store:
    """Where it is, and what it says; of either kind."""

    def __init__(self, case, pg=None):
        self.case, self.pg = case, pg
        self.where = pg.url if pg else case.path("store.db")

    def rows(self, sql):
        if not self.pg:
            return [tuple(row.values()) for row in self.case.rows(sql)]
        lines = self.pg.psql(sql, check=False).stdout.splitlines()  # the tables may not be there yet
        return [tuple(int(c) if c.lstrip("-").isdigit() else c for c in line.split("|")) for line in lines if line]

    def row(self, sql):
        return (self.rows(sql) or [None])[0]

    def change(self, sql):
        if self.pg:
            self.pg.psql(sql)
            return
        with contextlib.closing(sqlite3.connect(self.where, timeout=60)) as db:
            with db:
                db.execute(sql)


def on_sqlite(function):
    def case_of(case):
        function(case, Store(case))

    return case_of


def on_postgres(function):
    def case_of(case):
        with servers.Postgres() as pg:
            function(case, Store(case, pg))

    return case_of


def of_logs(case, folder):
    """What all logs say: by layer, and of files in that folder."""
    sums = {layer: dict.fromkeys(FIGURES, 0) for layer in ("POSIX", "STDIO")}
    written = 0
    for log in glob.glob(case.path("logs", "*.darshan")):
        for module in json.loads(case.command("show", "-q", "--show-incomplete", "--json", log).stdout)["logs"][0]["modules"]:
            for record in module["records"] if module["module"] in sums else []:
                for key in FIGURES:
                    sums[module["module"]][key] += record["counters"]["%s_%s" % (module["module"], key.upper())]
                if module["module"] == "POSIX" and record["name"].startswith(folder):
                    written += record["counters"]["POSIX_BYTES_WRITTEN"]
    return sums, written


def check(case, store, load):
    """The workload's truth = the log's = the store's, by layer and of the job."""
    sums, written = of_logs(case, load.folder)
    truth = sum(thread["bytes_written"] for rank in load.truth["ranks"] for thread in rank["threads"])
    expect(written == truth > 0, "the log has %d bytes, the program wrote %d", written, truth)
    for layer, want in sums.items():
        have = store.row("SELECT %s FROM activity WHERE layer = '%s'" % (", ".join("coalesce(sum(%s), 0)" % f for f in FIGURES), layer))
        expect(have == tuple(want.values()), "%s: the store has %s, the program did %s", layer, have, want)
        told = store.row("SELECT %s FROM counted WHERE layer = '%s'" % (", ".join("coalesce(sum(%s), 0)" % f for f in FIGURES), layer))
        expect(told == have, "%s: counters stand at %s, gains are %s", layer, told, have)
    job = store.row("SELECT reads, writes, bytes_read, bytes_written FROM jobs")
    extra = store.row("SELECT %s FROM activity WHERE layer = 'EXTRA'" % ", ".join("coalesce(sum(%s), 0)" % f for f in FIGURES))
    want = tuple(sums["POSIX"][f] + sums["STDIO"][f] + extra[i] for i, f in enumerate(FIGURES))
    expect(job == want, "the job's sums are %s, not %s", job, want)
    expect(store.row("SELECT count(*) FROM activity WHERE width_ns <= 0")[0] == 0, "intervals of no length")


def kills(case, store, sink=None, also=lambda i: None, times=KILLS):
    """The agent is killed 25 times while the program works, mostly before it could tell anything."""
    chance = random.Random(15)
    words = ("--sink", sink or (store.where if store.pg else "store:" + store.where), "--no-samples")
    agent = case.agent(*words)
    load = loads.Load(case, threads=2, calls=40_000, mode="write", extra=["--pace", 200, "--gate"]).start()
    case.wait(lambda: case.status()["segments"] == 1, "the program")
    load.go()
    for i in range(times):
        time.sleep(chance.random() * 0.2)  # the moment is what is random
        expect(load.process.poll() is None, "the program ended too soon")
        agent.kill()
        agent.wait()
        agent = case.agent(*words, ready=i % 3 == 0)
        also(i)
    load.process.wait()
    load.end()
    pid = load.truth["ranks"][0]["pid"]
    case.wait(lambda: store.row("SELECT state FROM processes WHERE pid = %d" % pid) == ("ended",), "the end in the store")
    case.end(agent, send=signal.SIGTERM)
    check(case, store, load)
    left = glob.glob(case.path("segments", "*", "*.seg"))
    expect(left == [], "left behind: %s", left)


def kills_nats(case):
    """The same over a bus, on which the agent does not see the store; the collector is killed, too."""
    store = Store(case)
    with servers.Nats() as nats:
        words = ("collect", "--store", store.where, nats.url, "--ack-wait", "2", "--batch", "4")
        collector = [case.start(case.iorama, *words)]

        def also(i):
            if i % 3 == 1:
                collector[0].kill()
                collector[0].wait()
                collector[0] = case.start(case.iorama, *words)

        kills(case, store, nats.url + "?quiet=1000", also, 9)


def gone_between(case, store):
    """Killed, and then the program ends, with no agent there: the next one finds its end and its counters."""
    words = ("--store", store.where, "--no-samples", "--events", "off")
    agent = case.agent(*words)
    load = loads.Load(case, threads=1, calls=3000, mode="write", extra=["--gate"]).start()
    case.wait(lambda: store.row("SELECT state FROM processes"), "the program")
    agent.kill()
    agent.wait()
    load.go()
    load.end()
    agent = case.agent(*words)
    case.wait(lambda: store.row("SELECT state FROM processes") == ("ended",), "the end in the store")
    case.end(agent, send=signal.SIGTERM)
    check(case, store, load)
    left = glob.glob(case.path("segments", "*", "*.seg"))
    expect(left == [], "left behind: %s", left)


def upgraded(case, store):
    """The agent ends as it is told to, the program makes events and ends, and only then there is the next agent: all of it is stored."""
    words = ("--store", store.where, "--no-samples")
    agent = case.agent(*words)
    load = loads.Load(case, threads=2, calls=3000, mode="write", extra=["--gate"]).start()
    case.wait(lambda: store.row("SELECT state FROM processes"), "the program")
    case.end(agent, send=signal.SIGTERM)
    load.go()
    load.end()
    expect(glob.glob(case.path("segments", "*", "*.seg")), "what nobody has read is gone")
    agent = case.agent(*words)
    case.wait(lambda: store.row("SELECT state FROM processes") == ("ended",), "the end in the store")
    case.end(agent, send=signal.SIGTERM)
    made = store.row("SELECT made, stored, dropped FROM processes")
    expect(made[0] == made[1] >= load.calls and made[2] == 0, "made, stored, dropped: %s, of %d calls", made, load.calls)
    check(case, store, load)
    left = glob.glob(case.path("segments", "*", "*.seg"))
    expect(left == [], "left behind: %s", left)


def under_run(case):
    """`iorama run` without --live, and an agent that is killed before the program ends: what it had told of stays for the next one."""
    store = Store(case)
    words = ("--store", store.where, "--no-samples")
    agent = case.agent(*words)
    log = case.path("logs", "a.darshan")
    load = loads.Load(case, threads=1, calls=2000, mode="write", extra=["--gate"], env=case.environment(IORAMA_LIVE="1"),
                      wrap=[case.iorama, "run", "-q", "-f", "-o", log, "--"]).start()  # fmt: skip
    case.wait(lambda: store.row("SELECT state FROM processes"), "the program")
    agent.kill()
    agent.wait()
    load.go()
    load.end()
    expect(os.path.exists(log), "no log")
    agent = case.agent(*words)
    case.wait(lambda: store.row("SELECT state FROM processes") == ("ended",), "the end in the store")
    made = store.row("SELECT made, stored, dropped FROM processes")
    expect(made[0] == made[1] >= load.calls and made[2] == 0, "made, stored, dropped: %s, of %d calls", made, load.calls)
    check(case, store, load)
    case.wait(lambda: not glob.glob(case.path("segments", "*")), "the end of its directory")
    # beside an agent that works all is read when the command has ended
    before = set(os.listdir(case.path("logs")))
    load = loads.Load(case, threads=1, calls=500, mode="write", env=case.environment(IORAMA_LIVE="1"),
                      wrap=[case.iorama, "run", "-q", "-f", "-o", log, "--"]).run()  # fmt: skip
    expect(not glob.glob(case.path("segments", "*", "*.seg")), "segments stay: %s", glob.glob(case.path("segments", "*", "*")))
    expect(set(os.listdir(case.path("logs"))) == before, "logs: %s", os.listdir(case.path("logs")))
    case.end(agent, send=signal.SIGTERM)


def faked(case, seconds):
    """The environment of a program for which it is so much later."""
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
    if library is None:
        raise Skip("faketime is not installed")
    return case.environment(LD_PRELOAD=library, FAKETIME="+%ds" % seconds, DONT_FAKE_MONOTONIC="1", FAKETIME_DONT_FAKE_MONOTONIC="1")


def jobs(case, store, *words, later=0):
    env = faked(case, later) if later else None
    return json.loads(case.command("jobs", "--store", store.where, "--json", *words, env=env).stdout)


def lost(case, store):
    """The agent is killed and does not come back: after a minute the job is lost, has a run time, and is pruned; it is running again
    when there is an agent again."""
    words = ("--store", store.where, "--no-samples")
    agent = case.agent(*words)
    load = loads.Load(case, threads=1, calls=200, extra=["--hold"]).start()
    case.wait(lambda: store.row("SELECT count(*) FROM processes WHERE state = 'running'") == (1,), "the program")
    case.wait(lambda: os.path.exists(load.truth_file + ".0"), "its calls")
    agent.kill()
    agent.wait()
    found = jobs(case, store)
    expect(len(found) == 1 and found[0]["state"] == "running", "at once: %s", found)
    expect(found[0]["run_time"] >= 0, "its run time is %s", found[0]["run_time"])
    expect(jobs(case, store, later=30)[0]["state"] == "running", "after half a minute")
    found = jobs(case, store, later=120)
    expect(found[0]["state"] == "lost" and found[0]["end"] is not None, "after two minutes: %s", found)
    expect(found[0]["run_time"] >= 0, "its run time is %s", found[0]["run_time"])
    expect(store.row("SELECT state, end_ns = seen_ns OR end_ns = start_ns FROM processes")[0] == "lost", "the process is not lost")
    expect(jobs(case, store, "--running", later=120) == [], "a lost job runs")
    # it reports again
    agent = case.agent(*words)
    case.wait(lambda: store.row("SELECT state FROM jobs") == ("running",), "the job back")
    expect(store.row("SELECT count(*) FROM jobs WHERE end_ns IS NULL AND run_time IS NULL") == (1,), "it has an end and runs")
    expect(jobs(case, store)[0]["state"] == "running", "back: %s", jobs(case, store))
    agent.kill()
    agent.wait()
    load.process.kill()
    load.process.wait()
    case.command("store", "prune", "--store", store.where, "--older", "1h")
    expect(store.row("SELECT count(*) FROM jobs") == (1,), "a job that may still run was pruned")
    case.command("store", "prune", "--store", store.where, "--older", "1h", env=faked(case, 7200))
    expect(store.row("SELECT count(*) FROM jobs") == (0,), "a lost job is not pruned")
    for table in ("processes", "activity", "counted", "blocks"):
        expect(store.row("SELECT count(*) FROM %s" % table) == (0,), "rows of %s stay", table)


def idle(case, store):
    """A program that does nothing for a long time (the agent's clocks run thirty times as fast) is told to be there all the same."""
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
    if library is None:
        raise Skip("faketime is not installed")
    load = loads.Load(case, threads=1, calls=100, extra=["--hold"]).start()
    case.wait(lambda: os.path.exists(load.truth_file + ".0"), "its calls")
    case.agent("--store", store.where, "--no-samples", env=case.environment(LD_PRELOAD=library, FAKETIME="+0 x30"), ready=False)
    made, seen = case.wait(lambda: store.row("SELECT made, seen_ns FROM processes WHERE made = stored AND made > 0"), "the program")
    for _ in range(2):
        before = seen
        made_now, seen = case.wait(lambda: store.row("SELECT made, seen_ns FROM processes WHERE seen_ns > %d" % before),  # pylint: disable=cell-var-from-loop
                                   "a word that it is there", timeout=60)  # fmt: skip
        expect(made_now == made, "it was not idle: %d, %d", made, made_now)
        expect(seen - before < 60 * 10**9, "nothing was said of it for %d s", (seen - before) // 10**9)
    expect(store.row("SELECT state FROM jobs") == ("running",), "it does not run")
    load.end()


def negative(case, store):
    """A start that is later than all that was seen: clocks differ. No run time is negative."""
    agent = case.agent("--store", store.where, "--no-samples")
    case.wait(lambda: store.row("SELECT count(*) FROM processes"), "the tables of the store")
    case.end(agent, send=signal.SIGTERM)
    now = time.time_ns()
    store.change("INSERT INTO jobs (key, name, state, start_ns, seen_ns, processes) VALUES ('5/run-1', 'x', 'running', %d, %d, 1)"
                 % (now, now - 7_790_000))  # fmt: skip
    store.change("INSERT INTO processes (segment, job, start_ns, seen_ns, version) VALUES (%s, 1, %d, %d, 1)"
                 % ("'\\x30303030303030303030303030303030'" if store.pg else "x'30303030303030303030303030303030'", now, now - 7_790_000))  # fmt: skip
    expect(jobs(case, store)[0]["run_time"] == 0, "run time %s", jobs(case, store))
    found = jobs(case, store, later=120)[0]
    expect(found["state"] == "lost" and found["run_time"] == 0, "%s", found)


CASES = {}
for _case in (kills, gone_between, upgraded, lost, negative):
    _name = _case.__name__.replace("_", "-")
    CASES[_name] = on_sqlite(_case)
    CASES[_name + "-postgres"] = on_postgres(_case)

CASES["kills-nats"] = kills_nats
CASES["under-run"] = under_run
CASES["idle"] = on_sqlite(idle)

if __name__ == "__main__":
    harness.main(CASES)
