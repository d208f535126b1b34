# SPDX-License-Identifier: BSD-3-Clause
"""A soak: two ways from programs to a store, with everything at once, and the balance at the end.

    near: jobs, an agent, a store of SQLite; `iorama serve` shows it
    far:  jobs, an agent, NATS, two collectors, PostgreSQL"""
import collections
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import harness
import loads
import servers
import soak_parts as parts
from harness import Failed, expect
from postgres import TO_6, Database, psycopg2

PATIENCE = 8  # seconds that a fault waits for another to be over
STILL = 90  # seconds without any news after which what waits is taken for lost
NEVER = ("left out", "damaged", "corrupt")  # words that no daemon may say: nobody sent anything that is wrong


class Place(harness.Case):
    """One of the ways, with everything of its own."""

    def __init__(self, soak, name):
        folder, work = soak.case.path(name), os.path.join(soak.case.work, name)
        os.makedirs(folder)
        os.makedirs(work)
        super().__init__(soak.case.build, folder, work)
        self.name, self.soak = name, soak
        self.clock = parts.Clock(self.path("clock"))
        self.spool = parts.Disk(self.path("spool"), 96 * parts.MIB, soak.mounts)

    def program(self, turn):
        """One of the versions of iorama: an upgrade goes from one to the other."""
        return self.soak.versions[turn % 2]

    def observed(self, **extra):
        return {**super().observed(**extra), "LD_PRELOAD": os.path.join(self.program(self.soak.turn), "lib", "libiorama.so")}

    def tree_left(self):
        """Segments that nobody took."""
        return [path for path in glob.glob(self.path("segments", "*", "*.seg")) + glob.glob(self.path("segments", "*", "*.ring"))]


class Soak:
    def __init__(self, case, seconds, seed, old=None, say=print):
        self.case, self.seconds, self.seed, self.say = case, seconds, seed, say
        self.mounts = parts.own_mounts()
        self.turn = 0
        self.versions = self.copies(old)
        self.near, self.far = Place(self, "near"), Place(self, "far")
        self.store = parts.Disk(self.near.path("store"), 1024 * parts.MIB, self.mounts)
        self.disks = {"near.store": self.store, "near.spool": self.near.spool, "far.spool": self.far.spool}
        self.near_store = self.near.path("store", "store.db")
        self.daemons, self.slots, self.open, self.done = {}, [], [], collections.Counter()
        self.away = {place: [] for place in ("near", "far")}  # when there was no agent, or it stood still
        self.asked, self.unanswered = 0, []
        self.pg = self.nats = self.db = None

    def copies(self, old):
        """Two installations: of this build, and of this one again or of an older one."""
        made = []
        for number, build in enumerate((old or self.case.build, self.case.build)):
            to = self.case.path("version.%d" % number)
            for name in ("bin/iorama", "lib/libiorama.so"):
                os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
                shutil.copy2(os.path.join(build, name), os.path.join(to, name))
            made.append(to)
        return made

    # ---- daemons

    def words(self, name):
        """(place, words of the command, more of its environment)"""
        near, far = self.near, self.far
        return {
            "near.agent": (near, ["agent", "--store", self.near_store, "--no-samples"], near.clock.environment()),
            "far.agent": (far, ["agent", "--sink", self.nats.url + "?quiet=1000"], far.clock.environment()),
            "far.collector.0": (far, ["collect", self.nats.url, "--quiet", "--ack-wait", "3", "--store", self.pg.url], {}),
            "far.collector.1": (far, ["collect", self.nats.url, "--quiet", "--ack-wait", "3", "--store", self.pg.url], {}),
            "near.serve": (near, ["serve", "--listen", "127.0.0.1:%d" % self.port, "--token", near.path("token"), "--quiet", "--store",
                                  self.near_store], {}),
        }[name]  # fmt: skip

    def begin(self, name):
        place, words, extra = self.words(name)
        return place.start(os.path.join(place.program(self.turn), "bin", "iorama"), *words, env=place.environment(**extra))

    def started(self):
        for name in (*parts.AGENTS, *parts.COLLECTORS, "near.serve"):
            self.daemons[name] = parts.Daemon(name, lambda name=name: self.begin(name))
        for name in parts.AGENTS:
            self.daemons[name].start()
        self.case.wait(lambda: os.path.exists(self.near_store), "the store")
        for name in (*parts.COLLECTORS, "near.serve"):
            self.daemons[name].start()

    # ---- faults

    def busy(self, whom):
        return any(step.whom == whom for step, _ in self.open) or (whom in self.daemons and not self.daemons[whom].alive())

    def do(self, step, now):
        """Begins a fault; false: its victim has another one."""
        wide = (*parts.COLLECTORS, *parts.SERVERS) if step.what == "schema" else (step.whom,)
        disks = step.what == "full" and not self.mounts
        if disks:
            self.done["left out"] += 1
            return True
        if any(self.busy(one) for one in wide):
            return False
        self.done[step.what] += 1
        getattr(self, "do_" + step.what)(step)
        self.open.append((step, now + step.lasts))
        return True

    def undo(self, now, everything=False):
        for step, until in list(self.open):
            if everything or now >= until:
                self.open.remove((step, until))
                getattr(self, "undo_" + step.what, lambda step: None)(step)

    def server(self, name):
        return {"far.nats": self.nats, "far.postgres": self.pg}.get(name)

    def do_kill(self, step):
        server, daemon = self.server(step.whom), self.daemons.get(step.whom)
        if server:
            server.kill()
            return
        daemon.busy = True
        daemon.signal(signal.SIGKILL)

    def undo_kill(self, step):
        if self.server(step.whom):
            self.server(step.whom).launch()
        else:
            self.daemons[step.whom].busy = False

    def do_stop(self, step):
        if self.server(step.whom):
            self.server(step.whom).pause()
        else:
            self.daemons[step.whom].signal(signal.SIGSTOP)

    def undo_stop(self, step):
        if self.server(step.whom):
            self.server(step.whom).resume()
        else:
            self.daemons[step.whom].signal(signal.SIGCONT)

    def do_full(self, step):
        self.disks[step.whom].fill()

    def undo_full(self, step):
        self.disks[step.whom].free()

    def do_clock(self, step):
        {"near": self.near, "far": self.far}[step.whom.split(".")[0]].clock.set(step.extra)

    def do_upgrade(self, step):
        """The new one is begun while the old one still ends."""
        self.turn += 1
        daemon = self.daemons[step.whom]
        old = daemon.process
        daemon.signal(signal.SIGTERM)
        daemon.start()
        self.leaving.append((step.whom, old, time.monotonic()))

    def do_schema(self, _step):
        """The store is of an older version; two collectors and an upgrade come to it at once."""
        victims = [self.daemons[name] for name in parts.COLLECTORS]
        for daemon in victims:
            daemon.busy = True
            daemon.signal(signal.SIGTERM)
        for daemon in victims:
            self.case.wait(lambda daemon=daemon: not daemon.alive(), "the end of " + daemon.name, timeout=30)
        self.pg.psql(TO_6)
        for daemon in victims:
            daemon.busy, daemon.again = False, 0.0
            daemon.start()
        self.far.command("store", "upgrade", "--store", self.pg.url, "--quiet")

    # ---- a round

    def watch_leaving(self, now):
        """Old versions end by themselves, within the time that is promised."""
        for entry in list(self.leaving):
            name, process, since = entry
            if process.poll() is not None:
                self.leaving.remove(entry)
                # one that had not begun yet does not know SIGTERM
                if process.returncode < 0 and process.returncode not in (-signal.SIGKILL, -signal.SIGTERM):
                    self.daemons[name].crashes.append("%s ended by signal %d" % (name, -process.returncode))
            elif now - since > 60:
                raise Failed("%s: does not end after SIGTERM: %s" % (name, process.said()[-800:]))

    def watch_away(self, now):
        """When there is nobody who reads: programs that begin and end within such a time are seen by none."""
        for place in self.away:
            daemon, times = self.daemons[place + ".agent"], self.away[place]
            here = daemon.alive() and now - daemon.since > 1 and not any(step.whom == daemon.name for step, _ in self.open)
            if here:
                if times and times[-1][1] is None:
                    times[-1][1] = now
            elif not times or times[-1][1] is not None:
                times.append([now, None])

    def ask(self, now):
        """Queries are answered as long as the store is there."""
        if now - self.asked_at < 3 or any(step.whom.startswith(("near.store", "near.serve")) for step, _ in self.open):
            return
        self.asked_at = now
        self.asked += 1
        done = self.near.command("jobs", "--store", self.near_store, "--limit", "5", "--json", status=None, timeout=60)
        if done.returncode != 0:
            self.unanswered.append("jobs: %d: %s" % (done.returncode, done.stderr.strip()))
        daemon = self.daemons["near.serve"]
        if daemon.alive() and now - daemon.since > 5:
            try:
                urllib.request.urlopen("http://127.0.0.1:%d/health" % self.port, timeout=20).read()
            except OSError as why:
                if daemon.alive():
                    self.unanswered.append("serve: %s" % why)

    def round(self, more):
        now = time.monotonic()
        self.undo(now)
        for daemon in self.daemons.values():
            daemon.look(now)
        for slot in self.slots:
            slot.look(now, more)
        for server in (self.nats, self.pg):  # one that does not come up is begun again
            if not server.alive() and not any(self.server(step.whom) is server for step, _ in self.open):
                server.launch()
        self.watch_leaving(now)
        self.watch_away(now)
        if now - self.measured > 1:
            self.measured = now
            for daemon in self.daemons.values():
                daemon.measure(now)
        if more:
            self.ask(now)
        time.sleep(0.02)

    # ---- the whole

    def run(self):
        if psycopg2 is None:
            raise harness.Skip("python3-psycopg2 is not installed")
        parts.need("mount")
        with servers.Postgres(durable=True) as self.pg, servers.Nats() as self.nats:
            self.db = Database(self.pg.url)
            self.far.rows, self.far.value = self.db.rows, self.db.value
            self.port = servers.free_port()
            self.measured = self.asked_at = 0.0
            self.leaving = []
            try:
                for part in (self.storm, self.quiet, self.balance):
                    begun = time.monotonic()
                    part()
                    self.say("%s: %.0f s" % (part.__name__, time.monotonic() - begun))
            finally:
                self.close()

    def storm(self):
        """Faults one after the other while jobs run."""
        calm = 0.25 if self.seconds >= 300 else 0.1
        todo = parts.plan(self.seconds, self.seed, calm)
        self.started()
        begun = time.monotonic()
        many, size = (1, 3000) if self.seconds < 300 else (2, 8000)
        for place in (self.near, self.far):
            self.slots += [parts.Slot(place, "%s%d" % (place.name, i), parts.jobs(self.seed, place.name, i, size)) for i in range(many)]
        while time.monotonic() - begun < self.seconds:
            late = time.monotonic() - begun
            for step in [step for step in todo if step.at <= late]:
                # one whose victim has another fault waits a while
                if self.do(step, time.monotonic()) or late - step.at > PATIENCE:
                    self.done["left out"] += late - step.at > PATIENCE
                    todo.remove(step)
            self.round(True)

    def quiet(self):
        """All faults are over, the last jobs end, and what waits comes in: for as long as anything moves."""
        self.undo(0, everything=True)
        seen, before, since = 0.0, None, time.monotonic()
        while True:
            self.round(False)
            now = time.monotonic()
            if now - seen < 0.5:
                continue
            seen = now
            # time on processors, too: on a busy machine little comes in
            why = self.waits() if not any(slot.load for slot in self.slots) and not self.leaving else "jobs run: %s" % self.moved()
            if not why:
                return
            if why != before:
                before, since = why, now
            expect(now - since < STILL, "for %d s: %s", STILL, why)

    def moved(self):
        """Of jobs that run and daemons that end: who they are, and how much they have worked."""
        pids = [slot.load.process.pid for slot in self.slots if slot.load] + [process.pid for _, process, _ in self.leaving]
        found = []
        for pid in [child for one in pids for child in parts.children(one)]:
            with contextlib.suppress(OSError):
                with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
                    found.append((pid, stat.read().rpartition(")")[2].split()[11:13]))
        return found

    def waits(self):
        """What is still to come; empty: nothing."""
        for place in (self.near, self.far):
            try:
                said = place.status()
            except (OSError, ValueError):
                return "%s: no agent" % place.name
            most = 0 if place is self.near else 4  # figures of the node, as they come
            if said["pid"] != self.daemons[place.name + ".agent"].process.pid or said["segments"] or said["spool"]["messages"] > most:
                return "%s: the agent has %s segments, %s messages" % (place.name, said["segments"], said["spool"]["messages"])
            try:
                row = place.rows("SELECT count(*) AS n, coalesce(sum(CASE WHEN state = 'running' THEN 1 ELSE 0 END), 0) AS running,"
                                 " coalesce(sum(made - stored), 0) AS waits FROM processes", store=self.of(place))[0]  # fmt: skip
                lost = place.value("SELECT coalesce(sum(events), 0) FROM losses", store=self.of(place))
            except Exception as broken:  # pylint: disable=broad-except  # of two kinds of databases
                return "%s: the store: %s" % (place.name, broken)
            if not row["n"] or row["running"] or row["waits"] != lost:
                odd = place.rows("SELECT pid, state, version, rank, made, stored, dropped, command FROM processes WHERE state = 'running' OR"
                                 " made <> stored", store=self.of(place))  # fmt: skip
                return "%s: %s, lost %s: %s" % (place.name, dict(row), lost, [dict(one) for one in odd[:5]])
        return ""

    def of(self, place):
        return self.near_store if place is self.near else None

    # ---- the balance

    def unseen(self, place, load, began, ended):
        """No agent ever knew of it: then it began and ended while there was none."""
        gaps = self.away[place.name]
        inside = any(start - 1 <= began and (stop is None or ended <= stop + 1) for start, stop in gaps)
        expect(inside, "%s: nothing of %s is in the store", place.name, load.folder)

    def check_load(self, place, load, began, ended, exactly):
        pids = ",".join(str(rank["pid"]) for rank in load.truth["ranks"])
        rows = [row for row in place.rows("SELECT number, job, made, dropped, stored, command FROM processes WHERE pid IN (%s)" % pids,
                                          store=self.of(place)) if load.folder in (row["command"] or "")]  # fmt: skip
        if not rows:
            self.unseen(place, load, began, ended)
            return "unseen"
        made, dropped, stored = (sum(row[key] for row in rows) for key in ("made", "dropped", "stored"))
        expect(made + dropped >= load.calls, "%s: %d calls, %d events made, %d dropped: %s", load.folder, load.calls, made, dropped, rows)
        if dropped == 0 and made == stored and exactly:
            load.check(store=self.of(place), slack=None)
            return "compared"
        return "counted"

    def balance(self):
        whole = True
        for place in (self.near, self.far):
            sums = loads.accounts(place, store=self.of(place))
            self.say("%-5s made %d = stored %d + told lost %d; dropped by processes, told: %d"
                     % (place.name, sums["made"], sums["stored"], sums["lost"], sums["dropped"]))  # fmt: skip
            expect(sums["made"] > 0, "%s: nothing was made", place.name)
            verified = place.command("store", "verify", "--store", self.near_store if place is self.near else self.pg.url, status=None,
                                     timeout=900)  # fmt: skip
            self.say("%-5s store verify: %s" % (place.name, verified.stdout.strip()[:2000] or verified.stderr.strip()[:2000]))
            whole = whole and verified.returncode == 0
        seen = collections.Counter()
        for slot in self.slots:
            for load, began, ended in slot.ended:
                seen[self.check_load(slot.case, load, began, ended, seen["compared"] < 20 + self.seconds / 10)] += 1
        self.say("jobs  %s; killed %d; %s" % (sum((slot.n for slot in self.slots), collections.Counter()), sum(s.killed for s in self.slots),
                                              dict(seen)))  # fmt: skip
        self.say("faults %s" % dict(self.done))
        expect(whole, "store verify found flaws")
        self.judge_daemons()
        left = self.near.tree_left() + self.far.tree_left()
        expect(not left, "segments are left: %s", left[:5])
        expect(not self.unanswered, "of %d questions %d had no answer: %s", self.asked, len(self.unanswered), self.unanswered[:3])

    def judge_daemons(self):
        wrong = []
        for name, daemon in self.daemons.items():
            points = [point for life in daemon.lives for point in life]
            memory, files = (parts.slope(daemon.lives, column, min(30, self.seconds / 10)) for column in (1, 2))
            most = max((p[1] for p in points), default=0), max((p[2] for p in points), default=0)
            self.say("%-16s %3d lives, at most %6d KiB and %3d descriptors; slope %s KiB and %s descriptors a minute; ended with %s"
                     % (name, len(daemon.lives), *most, *("-" if s is None else "%+.1f" % s for s in (memory, files)),
                        dict(daemon.ends)))  # fmt: skip
            wrong += daemon.crashes
            if most[0] > 200 * 1024 or most[1] > 256:
                wrong.append("%s took %d KiB and %d descriptors" % (name, *most))
            # in a short run everything is just warming up
            if self.seconds >= 600 and ((memory or 0) > 1024 or (files or 0) > 1):
                wrong.append("%s grows" % name)
        for place in (self.near, self.far):
            for path in glob.glob(place.path("err.*")):
                wrong += ["%s: %s" % (place.name, line) for line in harness.text_of(path).splitlines() if any(word in line for word in NEVER)]
        expect(not wrong, "%s", "\n  ".join(wrong[:20]))

    def close(self):
        for daemon in self.daemons.values():
            daemon.wanted = False
        for slot in self.slots:
            if slot.load is not None:
                parts.kill_tree(slot.load.process.pid)
        for place in (self.near, self.far):
            place.stop_all()
        for disk in self.disks.values():
            disk.close()
