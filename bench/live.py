# SPDX-License-Identifier: BSD-3-Clause
"""What live events cost on their way from a node into a store. Part of bench/run. Each part is one function in PARTS,
which adds its rows; one that cannot run here says why and adds none."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

PACK_BUDGET, UNPACK_BUDGET, BYTES_BUDGET = 60, 40, 10  # ns and bytes per event


def wire(b, _folder):
    """Blocks of events, packed and unpacked: CPU time of one thread, and how large they get."""
    program = os.path.join(b.options.build, "bench", "wire")
    text = subprocess.run([program, str(max(9, b.options.runs))], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in text.splitlines():
        what, pack, unpack, size = line.split("\t")
        small = what == "small writes"  # budgets of time are for these, that of size for all
        b.add("live, pack, " + what, "cpu_min", float(pack), "ns/event", PACK_BUDGET if small else None)
        b.add("live, unpack, " + what, "cpu_min", float(unpack), "ns/event", UNPACK_BUDGET if small else None)
        b.add("live, packed, " + what, "size", float(size), "bytes/event", BYTES_BUDGET)


# ---- the agent

AGENT_IDLE, AGENT_IDLE_BUDGET = 1000, 0.02  # processes; share of a core
AGENT_CALLS, AGENT_THREADS = 500_000, 2


def cpu_of(pid):
    """User and system time of a process, seconds."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Agent:
    """`iorama agent` with all that it needs below a folder; a context manager."""

    def __init__(self, b, folder, *words):
        self.folder = tempfile.mkdtemp(prefix="agent-", dir=folder)
        segments = os.path.join("/dev/shm", "bench-%d-%s" % (os.getpid(), os.path.basename(self.folder)))
        os.makedirs(segments, mode=0o700)
        self.segments, self.spool = segments, os.path.join(self.folder, "spool")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "LD_"))}
        self.env.update(IORAMA_DIR=segments, IORAMA_SPOOL=self.spool, IORAMA_LOG_DIR=self.folder,
                        IORAMA_STORE=os.path.join(self.folder, "store.db"))  # fmt: skip
        self.observed = {**self.env, "LD_PRELOAD": os.path.join(b.options.build, "lib", "libiorama.so"), "IORAMA_LIVE": "1"}
        self.words = [os.path.join(b.options.build, "bin", "iorama"), "agent", "-q", *words]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, env=self.env)
        self.wait(lambda s: s["pid"] == self.process.pid)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.segments, ignore_errors=True)

    def wait(self, function, seconds=120):
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            try:
                with open(os.path.join(self.spool, "status.json"), encoding="utf-8") as file:
                    said = json.load(file)
                if function(said):
                    return said
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("the agent does not get there")


def agent_events(b, folder):
    """CPU time of the agent for a million events: reading, packing, spooling, and its writing to SQLite."""
    load = os.path.join(folder, "live_load")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "work", "live_load.c")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-std=gnu17", source, "-o", load, "-pthread"], check=True)
    for name, words in (("store", ()), ("spool only", ("--sink", "nats://127.0.0.1:9"))):
        with Agent(b, folder, "--no-samples", *words) as agent:
            before, work = cpu_of(agent.process.pid), os.path.join(agent.folder, "work")
            os.makedirs(work)
            subprocess.run([load, "--threads", str(AGENT_THREADS), "--calls", str(AGENT_CALLS), "--mode", "write", work],
                           env=agent.observed, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)  # fmt: skip
            said = agent.wait(lambda s: s["segments"] == 0 and s["jobs"] and (words or s["spool"]["messages"] == 0))
            used, made = cpu_of(agent.process.pid) - before, said["totals"]["made"]
        b.add("live, agent, " + name, "cpu", used / made * 1e6, "s per million events", None)


def agent_idle(b, folder):
    """Processes that do nothing, watched by one agent."""
    with Agent(b, folder) as agent:
        idle = [subprocess.Popen(["sleep", "1000"], env=agent.observed) for _ in range(AGENT_IDLE)]
        try:
            agent.wait(lambda s: s["segments"] == AGENT_IDLE)
            time.sleep(15)  # until it is known that they rest
            before, start = cpu_of(agent.process.pid), time.monotonic()
            time.sleep(30)
            share = (cpu_of(agent.process.pid) - before) / (time.monotonic() - start)
        finally:
            for process in idle:
                process.kill()
            for process in idle:
                process.wait()
    b.add("live, agent, %d idle processes" % AGENT_IDLE, "cpu", share, "share of a core", AGENT_IDLE_BUDGET)


INDEXED, INDEX_BUDGET = 10_000, 500  # small logs; CPU µs of each: 2,000 logs per second and core


def index_logs(b, folder):
    """Small logs into a new SQLite store, and the same again when all are there."""
    logs, store = os.path.join(folder, "logs"), os.path.join(folder, "index.db")
    subprocess.run([b.synth, "fleet", str(INDEXED), logs], check=True)

    def once():
        command = [b.measure, "1", b.iorama, "index", "-q", "--store", store, logs]
        words = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        return (int(words[0]) + int(words[1])) / INDEXED, int(words[2]) / 1024

    fresh, again = [], []
    for _ in range(max(3, b.options.runs)):
        for name in ("", "-wal", "-shm"):
            if os.path.exists(store + name):
                os.unlink(store + name)
        fresh.append(once())
        again.append(once())
    what = "live, index of %d small logs" % INDEXED
    b.add(what, "cpu_min", min(cpu for cpu, _ in fresh), "us/log", INDEX_BUDGET)
    b.add(what, "peak_memory", max(memory for _, memory in fresh), "MB")
    b.add(what, "size", os.path.getsize(store) / INDEXED / 1024, "KiB/log")
    b.add(what + " that are there", "cpu_min", min(cpu for cpu, _ in again), "us/log")


LOOK_PROCESSES, LOOK_FILES, LOOK_BUDGET = 1000, 10, 100  # ms


def look(b, _folder):
    """`iorama watch`: one look at many running processes, while all of their files change and while none does."""
    program = os.path.join(b.options.build, "bench", "look")
    with tempfile.TemporaryDirectory(prefix="look-", dir="/dev/shm") as segments:
        words = [program, segments, str(LOOK_PROCESSES), str(LOOK_FILES), str(max(9, b.options.runs))]
        text = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in text.splitlines():
        what, took = line.split("\t")
        b.add("live, look at %d processes, %s" % (LOOK_PROCESSES, what), "wall_min", float(took), "ms", LOOK_BUDGET)


BUS_EVENTS = 8192 * 16 * 30  # in blocks of the size that agents make
BUS_BUDGET = 2000  # CPU ns of an event: 500,000 per second and core


def bus(b, folder):
    """Events that wait in a stream of NATS, through a collector into SQLite; and all the way from a sink that waits for the
    store."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
    import servers  # pylint: disable=import-outside-toplevel

    feed, runs = os.path.join(b.options.build, "tests", "sinks_feed"), max(3, b.options.runs)
    words = ["processes=16", "lanes=1", "events=8192", "rounds=%d" % (BUS_EVENTS // 16 // 8192)]
    if not os.path.exists(feed):
        print("(no tests were built: nothing of NATS)")
        return
    try:
        drained, through = [], []
        for run in range(runs):
            store = os.path.join(folder, "bus-%d.db" % run)
            with servers.Nats() as nats:
                subprocess.run([feed, nats.url + "?ack=stream", *words], stdout=subprocess.DEVNULL, check=True)
                command = [b.measure, "1", b.iorama, "collect", "-q", "--drain", "--store", store, nats.url]
                start = time.monotonic()
                used = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
                drained.append((BUS_EVENTS / (time.monotonic() - start), (int(used[0]) + int(used[1])) * 1e3 / BUS_EVENTS))
                os.unlink(store)
                collector = subprocess.Popen([b.iorama, "collect", "-q", "--store", store, nats.url])
                start = time.monotonic()
                subprocess.run([feed, nats.url, "agent=second-2", *words], stdout=subprocess.DEVNULL, check=True)
                through.append(BUS_EVENTS / (time.monotonic() - start))
                collector.terminate()
                collector.wait()
                with contextlib.closing(sqlite3.connect(store)) as db:
                    stored = db.execute("SELECT sum(n) FROM blocks").fetchone()[0]
                if stored != BUS_EVENTS:
                    sys.exit("bench: %d of %d events came through NATS" % (stored, BUS_EVENTS))
                os.unlink(store)
    except servers.Missing as why:
        print("(%s: nothing of NATS)" % why)
        return
    b.add("live, NATS to SQLite, collector", "wall_max", max(rate for rate, _ in drained), "events/s", None)
    b.add("live, NATS to SQLite, collector", "cpu_min", min(cpu for _, cpu in drained), "ns/event", BUS_BUDGET)
    b.add("live, sink to NATS to SQLite, committed", "wall_max", max(through), "events/s", None)


STORED, STORED_BIG = 10_000_000, 100_000_000  # events; the second with --big
PUT_BUDGET, DISK_BUDGET, ANSWER_BUDGET = 2000, 16, 50  # CPU ns and bytes of an event (500,000 per second and core), ms
FILE_BUDGET = 200  # ms, of 10^8 events


def store_rows(b, name, where, events, per_block=8192):
    """bench/store.c fills a new store and asks it: rows of what it says."""
    program = os.path.join(b.options.build, "bench", "store")
    text = subprocess.run([program, where, str(events), str(per_block)], stdout=subprocess.PIPE, check=True, text=True).stdout
    said = {what: float(value) for what, value, _ in (line.split("\t") for line in text.splitlines())}
    what = "live, %s, %.0e events" % (name, events)
    b.add(what + ", put", "cpu", 1e9 / said["put, cpu"], "ns/event", PUT_BUDGET)
    b.add(what + ", put", "wall", 1e9 / said["put, wall"], "ns/event")
    b.add(what, "size", said["disk"], "bytes/event", DISK_BUDGET)
    if per_block == 8192:
        for rows in ("1,000 rows of a rank", "1,000 rows of a job", "1,000 rows of all"):
            b.add("%s, %s" % (what, rows), "wall_median", said[rows], "ms", ANSWER_BUDGET)
        b.add(what + ", one file of all", "wall", said["one file of all"], "ms", FILE_BUDGET if events >= STORED_BIG else None)
        b.add(what + ", all of a rank", "wall", said["all of one rank"], "ns/event")


def sqlite(b, folder):
    """Events into SQLite and out of it. Blocks of 200 are those of a thread that makes so many a second."""
    where = os.path.join(folder, "bench.db")
    cases = [("SQLite", STORED, 8192), ("SQLite, 200 a second", STORED // 10, 200)]
    for name, events, per_block in cases + ([("SQLite", STORED_BIG, 8192)] if b.options.big else []):
        store_rows(b, name, where, events, per_block)
        for end in ("", "-wal", "-shm"):
            if os.path.exists(where + end):
                os.unlink(where + end)


def postgresql(b, _folder):
    """The same with a server of its own, which writes to the disk as one at a site does; the CPU time of both, and what its SQL
    takes for events."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
    import servers  # pylint: disable=import-outside-toplevel

    def ended_children(pid):
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    what, program = "live, PostgreSQL, %.0e events" % STORED, os.path.join(b.options.build, "bench", "store")
    try:
        with servers.Postgres(durable=True, settings=["max_wal_size = 4GB"], folder=tempfile.gettempdir()) as pg:
            before = ended_children(pg.process.pid)
            words = [program, pg.new_database("filled"), str(STORED), "8192", "put"]
            text = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout
            own = 1e9 / float(dict(line.split("\t")[:2] for line in text.splitlines())["put, cpu"])
            servers.wait_for("the end of its process in the server", lambda: pg.value(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") == "1")  # fmt: skip
            time.sleep(0.5)
            server = (ended_children(pg.process.pid) - before) * 1e9 / STORED
            b.add(what + ", put, with the server", "cpu", own + server, "ns/event", PUT_BUDGET)
            for rows, sql in (("1,000 rows of a rank by SQL", "SELECT count(*), sum(dur_ns), sum(len), max(op) FROM (SELECT *"
                               " FROM iorama_events(1, 2, %d) LIMIT 1000) y"),
                              ("all of a rank by SQL", "SELECT count(*), sum(dur_ns), sum(len), max(op) FROM iorama_events(1, 2)")):  # fmt: skip
                sql = sql % (pg_middle(pg),) if "%d" in sql else sql
                took = sorted(pg_time(pg, sql) for _ in range(3))[1]
                n = int(pg.value(sql, database="filled").split("|")[0])
                b.add("%s, %s" % (what, rows), "wall_median", *((took, "ms", ANSWER_BUDGET) if n == 1000 else
                                                                (took * 1e6 / n, "ns/event")))  # fmt: skip
            store_rows(b, "PostgreSQL", pg.new_database("asked"), STORED)
            store_rows(b, "PostgreSQL, 200 a second", pg.new_database("slow"), STORED // 10, 200)
    except servers.Missing as why:
        print("(%s: nothing of PostgreSQL)" % why)


def pg_middle(pg):
    return int(pg.value("SELECT (min(t0) + max(t0)) / 2 FROM blocks", database="filled"))


def pg_time(pg, sql):
    """How long the server says that it took, ms."""
    return float(pg.value("SET jit = off; EXPLAIN (ANALYZE, TIMING OFF) " + sql, database="filled").rsplit("Execution Time: ")[1].split()[0])


PARTS = [wire, sqlite, postgresql, look, agent_events, agent_idle, index_logs, bus]


def measure(b, folder):
    for part in PARTS:
        if b.options.part in (None, part.__name__):
            part(b, folder)
