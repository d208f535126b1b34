# SPDX-License-Identifier: BSD-3-Clause
"""What a soak (tools/soak) is made of: the plan, drawn from a seed before anything begins; jobs; daemons that are revived; small
file systems; a clock that steps; how memory and descriptors of daemons move; the balance at the end."""
import collections
import contextlib
import ctypes
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import time

import cases
import loads
from harness import Skip, expect

CLONE_NEWNS = 0x20000
MIB = 1 << 20
AGENTS, COLLECTORS = ("near.agent", "far.agent"), ("far.collector.0", "far.collector.1")
SERVERS = ("far.nats", "far.postgres")
# how often each kind of fault is drawn, whom it befalls, and for how long, of the longest that a run allows
FAULTS = {
    "kill": (9, (*AGENTS, *COLLECTORS, *SERVERS, "near.serve"), 0.2),
    "stop": (6, (*AGENTS, *COLLECTORS, *SERVERS, "near.serve"), 1.0),
    "full": (3, ("near.store", "near.spool", "far.spool"), 0.6),
    "clock": (3, AGENTS, 0.0),
    "upgrade": (4, (*AGENTS, *COLLECTORS), 0.0),
    "schema": (1, ("far.postgres",), 0.0),
}  # fmt: skip
STEPS = (-3600, -90, -2, 0.5, 3, 61, 3600)  # seconds by which a clock is set

Step = collections.namedtuple("Step", "at what whom lasts extra")
Job = collections.namedtuple("Job", "kind threads calls mode pace killed_after")


# ---- the plan


def plan(seconds, seed, calm=0.0):
    """What happens when; nothing but jobs in the last part, `calm` of the whole, and in the first second."""
    chance = random.Random("faults %s" % seed)
    gap, longest = min(6.0, max(0.8, seconds / 40)), min(20.0, seconds / 12)
    kinds = [kind for kind, (often, _, _) in FAULTS.items() for _ in range(often)]
    made, at, turn = [], 1.0, []
    while True:
        at += gap * (0.3 + 1.4 * chance.random())
        if at >= seconds * (1 - calm):
            return made
        # each kind comes before any comes again, so that short runs have them all
        if not turn:
            turn = list(FAULTS) if not made else [chance.choice(kinds) for _ in FAULTS]
            chance.shuffle(turn)
        what = turn.pop()
        _, whom, share = FAULTS[what]
        extra = chance.choice(STEPS) if what == "clock" else 0
        made.append(Step(at, what, chance.choice(whom), share * longest * chance.random(), extra))


def jobs(seed, line, slot, size):
    """What this slot runs, one after the other, for ever."""
    chance = random.Random("jobs %s %s %d" % (seed, line, slot))
    while True:
        kind = chance.choice(("bare", "bare", "run", *cases.FAMILIES))
        yield Job(kind, chance.choice((1, 2, 3)), int(size * (0.2 + chance.random())), chance.choice(("mix", "write", "read", "brief")),
                  chance.choice((0, 20, 100)), 2 * chance.random() if chance.random() < 0.15 else None)  # fmt: skip


# ---- processes


def children(pid):
    """This process and all below it."""
    parent = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as stat:
                parent[int(entry)] = int(stat.read().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, of in parent.items() if of == one]
    return found


def kill_tree(pid):
    for one in reversed(children(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


class Daemon:
    """A process that is begun again when it ends, and whose memory and descriptors are looked at."""

    def __init__(self, name, begin):
        self.name, self.begin, self.process = name, begin, None
        self.since = self.again = 0.0
        self.busy = self.wanted = False  # busy: a fault is at work on it
        self.lives, self.ends = [], collections.Counter()
        self.crashes = []

    def start(self):
        self.process, self.since, self.wanted = self.begin(), time.monotonic(), True
        self.lives.append([])

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def look(self, now):
        """It is begun again a moment after it has ended; it never ends by a signal that nobody sent."""
        if self.alive() or not self.wanted:
            return
        if self.process is not None:
            status = self.process.returncode
            self.ends[status] += 1
            if status < 0 and status not in (-signal.SIGKILL, -signal.SIGTERM):
                self.crashes.append("%s ended by signal %d: %s" % (self.name, -status, self.process.said()[-600:]))
            self.process, self.again = None, now + 0.3
        elif now >= self.again and not self.busy:
            self.start()

    def measure(self, now):
        if self.alive():
            with contextlib.suppress(OSError, StopIteration, ValueError):
                with open("/proc/%d/status" % self.process.pid, encoding="ascii", errors="replace") as file:
                    memory = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
                files = len(os.listdir("/proc/%d/fd" % self.process.pid))
                self.lives[-1].append((now - self.since, memory, files))

    def signal(self, number):
        if self.alive():
            self.process.send_signal(number)


def slope(lives, column, after):
    """How a figure grows, in units a minute, over all lives together, each with a level of its own; None: too little was seen.
    What comes within `after` seconds of a life's begin is not counted."""
    up = down = 0.0
    for life in lives:
        points = [(point[0] / 60, point[column]) for point in life if point[0] >= after]
        if len(points) < 5:
            continue
        t = sum(p[0] for p in points) / len(points)
        v = sum(p[1] for p in points) / len(points)
        up += sum((p[0] - t) * (p[1] - v) for p in points)
        down += sum((p[0] - t) ** 2 for p in points)
    return up / down if down > 0 else None


# ---- file systems, clocks


def own_mounts():
    """Whether file systems may be mounted here; they go with this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], check=False, capture_output=True).returncode == 0


class Disk:
    """A small file system that can be full."""

    def __init__(self, path, size, may):
        self.path, self.size, self.may, self.full = path, size, may, False
        os.makedirs(path, mode=0o700, exist_ok=True)
        if may:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d,mode=700" % size, "none", path], check=True)

    def resize(self, size):
        return subprocess.run(["mount", "-o", "remount,size=%d" % size, self.path], check=False, capture_output=True).returncode == 0

    def fill(self):
        """As small as what is in it, and a page more."""
        self.full = True
        for _ in range(20):
            have = os.statvfs(self.path)
            used = (have.f_blocks - have.f_bfree) * have.f_frsize
            if not self.may or self.resize(used + 4096):  # what came meanwhile makes it fail
                return

    def free(self):
        self.full = False
        if self.may:
            expect(self.resize(self.size), "%s stays full", self.path)

    def close(self):
        if self.may:
            subprocess.run(["umount", "-l", self.path], check=False, capture_output=True)


class Clock:
    """The clock of a daemon's machine, which can be set."""

    def __init__(self, path):
        self.path, self.off = path, 0.0
        self.library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        self.set(0.0)

    def set(self, by):
        self.off += by
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write("%+.3f\n" % self.off)
        os.rename(self.path + ".new", self.path)

    def environment(self):
        if not self.library:
            return {}
        return {"LD_PRELOAD": self.library, "FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}  # fmt: skip


# ---- jobs


class Slot:
    """Jobs of one line, one after the other."""

    def __init__(self, case, name, wanted):
        self.case, self.name, self.wanted = case, name, wanted
        self.load = self.job = None
        self.began = 0.0
        self.ended, self.n, self.killed = [], collections.Counter(), 0

    def begin(self, now):
        job = next(self.wanted)
        family = job.kind if job.kind in cases.FAMILIES and shutil.which("mpirun." + job.kind) else None
        extra, wrap, env = ["--pace", job.pace, "--sample", 50], [], self.case.observed()
        if job.kind == "run":
            log = self.case.path("logs", "%s.%d.darshan" % (self.name, sum(self.n.values())))
            wrap, env = [self.case.iorama, "run", "-q", "-f", "-o", log, "--"], self.case.environment(IORAMA_LIVE="1")
        self.load = loads.Load(self.case, threads=job.threads, calls=job.calls, mode=job.mode, ranks=2, family=family, extra=extra,
                               env=env, wrap=wrap)  # fmt: skip
        self.load.start()
        self.job, self.began = job, now
        self.n[job.kind] += 1

    def look(self, now, more):
        """Ends what has ended, begins the next one while there are to be more."""
        if self.load is not None and self.load.process.poll() is not None:
            self.end(now)
        elif self.load is not None and self.job.killed_after is not None and now - self.began > self.job.killed_after:
            kill_tree(self.load.process.pid)
            self.load.process.wait()
            self.killed += 1
            self.load.process.stdin.close()
            self.clear()
        if self.load is None and more:
            self.begin(now)

    def end(self, now):
        load = self.load
        status, out = load.process.returncode, cases.text_of(load.process.out)
        load.process.stdin.close()
        expect(status == 0, "a job ended with %d: %s: %s", status, " ".join(load.process.args), load.process.said()[-1000:])
        load.truth = json.loads(out)
        self.ended.append((load, self.began, now))
        self.clear()

    def clear(self):
        """Its files; what it said of itself is kept, and which of its calls to compare."""
        shutil.rmtree(self.load.folder, ignore_errors=True)
        for path in (self.load.process.out, self.load.process.err):
            with contextlib.suppress(OSError):
                os.remove(path)
        self.case.started.remove(self.load.process)
        self.load = None


def need(*programs):
    cases.need(*programs)
    if not glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"):
        raise Skip("faketime is not installed")
