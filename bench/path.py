# SPDX-License-Identifier: BSD-3-Clause
"""What it costs a server to be attached, and each of its functions that has a probe. Part of bench/run. CPU time of the
server itself (schedstat), with and without by turns; tests/work/server.c is the server.

And what it costs a GlusterFS: instructions of client and brick for each request, counted by callgrind in processes that have the
library from their start and in ones that have not, by turns; and the time of a job with a slow brick, attached and not. A write of
the client is two requests of the kernel (it asks for an attribute first) and three to bricks. `instructions` are those in the
library and in what it calls for itself (memcpy and the like), which are the same each time; `difference` is that of the least of
all instructions with and without it, of many times: how often sockets are read and threads wait differs from time to time."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "lib"))
import gluster  # noqa: E402

REQUESTS = 60_000
PROBE_BUDGET = 250  # ns of a call that is counted
CLIENT_BUDGET, BRICK_BUDGET = 2000, 1200  # instructions of a request
SHARE_BUDGET, WALL_BUDGET = 2, 3  # percent
JOIN_BUDGET = 1  # s
COUNTED, TIMES = 100, 9  # requests, of each size
SLOW, SLOW_PIECES = 5000, 15  # microseconds; pieces of 128 KiB that are written to a slow brick at a time
TURNS = 25  # not attached, attached, attached, not attached
HELPERS = re.compile(r"_*(mem(cpy|move|set|cmp|chr)|str|errno|tls)")  # what the library calls for itself


class Server:
    """one thread that does requests of 512 bytes; a context manager"""

    def __init__(self, b, folder):
        self.iorama, self.folder = b.iorama, tempfile.mkdtemp(prefix="path-", dir=folder)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "LD_"))}
        self.env.update(IORAMA_DIR=os.path.join(self.folder, "seg"), IORAMA_LOG_DIR=self.folder, IORAMA_TRACE_MEMORY="1G")
        source = os.path.join(HERE, "..", "tests", "work", "server.c")
        self.program = os.path.join(self.folder, "server")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", self.program, source, "-pthread"], check=True)

    def __enter__(self):
        self.process = subprocess.Popen([self.program, os.path.join(self.folder, "data"), "1"], env=self.env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def cpu(self):
        folder = "/proc/%d/task" % self.process.pid
        total = 0
        for tid in os.listdir(folder):
            with open(os.path.join(folder, tid, "schedstat"), encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total

    def request(self):
        """ns of CPU time of one"""
        before = self.cpu()
        self.process.stdin.write("do %d\n" % REQUESTS)
        self.process.stdin.flush()
        self.process.stdout.readline()
        return (self.cpu() - before) / REQUESTS

    def call(self, *words):
        done = subprocess.run([self.iorama, *words, str(self.process.pid)], env=self.env, capture_output=True, text=True)
        return json.loads(done.stdout)[0] if done.returncode == 0 else None

    def attached(self, *words):
        """ns of a request while it is attached so, and what attach said"""
        said = self.call("attach", "--json", *words)
        took = self.request() if said else None
        if said:
            self.call("detach", "--json")
        return took, said


def measure_join(b):
    program = os.path.join(b.options.build, "bench", "path")
    if os.access(program, os.X_OK):
        calls, ms = subprocess.run([program, "1000000", str(b.options.runs)], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        b.add("path, join of a million calls", "cpu_min", float(ms) / 1e3 * 1e6 / int(calls), "s", JOIN_BUDGET)


# ---- GlusterFS


def write(path, size, n):
    """n requests of so many bytes; seconds of each"""
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    data, took = b"w" * size, []
    for i in range(n):
        began = time.monotonic()
        os.pwrite(fd, data, i * size)
        took.append(time.monotonic() - began)
    os.close(fd)
    return took


def counted_in(path):
    """(all instructions, those of libiorama) of what callgrind has written"""
    total = own = 0
    names, ours, callee, after_call = {}, False, "", False

    def named(kind, text):  # a name is there once, wherever it comes first
        number, _, name = text.strip().partition(" ")
        names[(kind, number)] = name or names.get((kind, number), "")
        return names[(kind, number)]

    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            key, _, text = line.partition("=")
            if key in ("ob", "cob"):
                ours = "libiorama" in named("ob", text) if key == "ob" else (named("ob", text) is not None and ours)
            elif key in ("fn", "cfn"):
                callee = named("fn", text)
            elif key == "calls":
                after_call = True  # the next line is what the other function took
            elif line[:1].isdigit() or line[:1] in "+-*":
                cost = int(line.split()[1])
                if not after_call:
                    total += cost
                own += cost if ours and (not after_call or HELPERS.match(callee)) else 0
                after_call = False
    return total, own


class Counted:
    """A GlusterFS of which one process runs in callgrind, with the library or without"""

    def __init__(self, b, folder, who, on):
        self.folder, self.out = folder, os.path.join(folder, "callgrind.out")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "LD_"))}
        if on:
            env.update(LD_PRELOAD=os.path.join(os.path.abspath(b.options.build), "lib", "libiorama.so"), IORAMA_TRACE="1", IORAMA_LOG_DIR=folder,
                       IORAMA_DIR=os.path.join(folder, "seg"), IORAMA_TRACE_MEMORY="256M")  # fmt: skip
        wrap = {who: ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=" + self.out, "--trace-children=no"]}
        self.fs = gluster.Gluster(os.path.join(folder, "fs"), os.path.join(folder, "mnt"), wrap=wrap,
                                  **{"client_env" if who == "client" else "brick_env": env})  # fmt: skip
        self.pid = self.fs.client_pid if who == "client" else self.fs.brick_pids[0]

    def control(self, *words):
        subprocess.run(["callgrind_control", *words, str(self.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def instructions(self, size):
        """(all, those of the library itself) of one write: the least of several times"""
        path, found = os.path.join(self.fs.mount, "f%d" % size), []
        self.control("-i", "on")
        write(path, size, 20)
        for _ in range(TIMES + 1):
            self.control("-d")
            dumps = [os.path.join(self.folder, name) for name in os.listdir(self.folder) if re.fullmatch(r"callgrind\.out\.\d+", name)]
            for dump in dumps:
                found.append(counted_in(dump))
                os.unlink(dump)
            write(path, size, COUNTED)
        self.control("-i", "off")
        return [min(one[k] / COUNTED for one in found[1:]) for k in (0, 1)]

    def stop(self):
        self.fs.stop()


def measure_requests(b, folder):
    for who, budget in (("client", CLIENT_BUDGET), ("brick0", BRICK_BUDGET)):
        counts = {size: {False: [], True: []} for size in (131072, 4096)}
        for on in (False, True, False, True):
            with tempfile.TemporaryDirectory(prefix="gluster-", dir=folder) as place:
                counted = Counted(b, place, who, on)
                try:
                    for size, found in counts.items():
                        found[on].append(counted.instructions(size))
                finally:
                    counted.stop()
        for size, found in counts.items():
            without = min(one[0] for one in found[False])
            own = max(one[1] for one in found[True])
            what = "path, GlusterFS %s, %d KiB" % (who.strip("0"), size // 1024)
            b.add(what, "instructions", own, "added/write", budget)
            b.add(what, "share", 100 * own / without, "% added", SHARE_BUDGET)
            b.add(what, "difference", min(one[0] for one in found[True]) - without, "added/write", None)


def measure_wall(b, folder):
    """A job with a slow brick: not attached, attached, attached, not attached, and so on, in short turns, so that whatever else the
    machine does befalls both; of all its writes the one in the middle."""
    place, took = tempfile.mkdtemp(prefix="gluster-", dir=folder), {False: [], True: []}
    env = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "LD_"))}
    env.update(IORAMA_DIR=os.path.join(place, "seg"), IORAMA_LOG_DIR=place)
    fs = gluster.Gluster(os.path.join(place, "fs"), os.path.join(place, "mnt"), slow={1: SLOW})
    pids = [str(pid) for pid in (fs.client_pid, *fs.brick_pids)]
    try:
        for _ in range(max(TURNS, b.options.runs)):
            for on in (False, True, True, False):
                if on:
                    subprocess.run([b.iorama, "attach", "-q", "--trace", *pids], check=True, env=env, stdout=subprocess.DEVNULL)
                took[on] += write(os.path.join(fs.mount, "f"), 131072, SLOW_PIECES)
                if on:
                    subprocess.run([b.iorama, "detach", "-q", *pids], check=True, env=env, stdout=subprocess.DEVNULL)
    finally:
        fs.stop()
    b.add("path, GlusterFS, a slow brick, attached", "time_median", 100 * (statistics.median(took[True]) / statistics.median(took[False]) - 1), "% added", WALL_BUDGET)


def measure_gluster(b, folder):
    needed = ["glusterfsd", "glusterfs", "setfattr", "valgrind", "callgrind_control"]
    missing = [name for name in needed if not shutil.which(name)]
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or missing:
        print("(path, GlusterFS: needs root, /dev/fuse%s)" % "".join(", " + name for name in missing))
        return
    measure_wall(b, folder)
    measure_requests(b, folder)


def measure(b, folder):
    ways = {"attached": (), "probe, counted": ("--probe", "store_mean"), "probe, traced": ("--trace", "--probe", "store_mean"),
            "traced": ("--trace",)}  # fmt: skip
    least, stood = {}, []
    with Server(b, folder) as server:
        for _ in range(max(3, b.options.runs)):
            for way, words in [("alone", None), *ways.items()]:
                took, said = (server.request(), None) if words is None else server.attached(*words)
                if took is None:
                    print("(path, %s: it cannot be attached so here)" % way)
                    continue
                least[way] = min(least.get(way, took), took)
                stood += [p["stood"] * 1e3 for p in (said or {}).get("probes", [])]
    if "attached" in least:
        b.add("path, attached server", "cpu_min", least["attached"] - least["alone"], "ns/request", None)
    if "probe, counted" in least:
        b.add("path, probe, counted", "cpu_min", least["probe, counted"] - least["attached"], "ns/call", PROBE_BUDGET)
        b.add("path, probe, traced", "cpu_min", least["probe, traced"] - least["traced"], "ns/call", None)
        b.add("path, probe, threads stand", "median", sorted(stood)[len(stood) // 2], "ms", None)
    measure_join(b)
    measure_gluster(b, folder)
