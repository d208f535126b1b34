# SPDX-License-Identifier: BSD-3-Clause
"""What being observed costs a program: instructions and time per call, start and end, memory. Part of
bench/run. Each figure is what preloading adds to the same program without it, in the same run."""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

# per call; what Darshan 3.5 took when the budgets were set
INSTRUCTIONS = {"counters": (180, 1141), "trace": (300, 7234), "live": (360, None)}
WITH_LOG = (1200, 8600)  # a traced call and its part of the log, which the process itself writes at its end
NS = {1: (60, 195), 2: (60, 740)}  # by threads
NS_LIVE = (None, 3100)  # the LDMS connector
NONE = (None, None)
LOAD_MS, MEMORY_MB = 3, 8
BUDGETED = ("pread", "pwrite")
LARGER = ("pread4k", "pwrite4k")
KINDS = {  # operations of a run that lasts about a tenth of a second
    "pread": 300_000, "pwrite": 200_000, "read": 300_000, "write": 200_000, "fread": 3_000_000,
    "fwrite": 3_000_000, "lseek": 600_000, "openclose": 60_000, "pread4k": 200_000, "pwrite4k": 150_000,
}
SIZES = 2_000, 12_000  # operations under valgrind
ROUNDS = 9
FILES = 100_000
TRACE_MEMORY = 1 << 30
# folders that are not observed unless asked for; a temporary folder may be in one
UNOBSERVED = tuple("/%s/" % name for name in "etc dev usr bin boot lib opt sbin sys proc var".split())


class Capture:
    """A program run bare, with counters, with counters and trace, or with live events that somebody reads."""

    def __init__(self, bench, folder, segments):
        self.bench, self.folder, self.segments = bench, folder, segments
        self.library = os.path.join(bench.options.build, "lib", "libiorama.so")
        self.loop = os.path.join(bench.options.build, "bench", "loop")
        self.file = os.path.join(folder, "data")
        self.drain = os.path.join(bench.options.build, "bench", "drain")
        self.job = os.path.join(segments, "bench")
        self.logs = os.path.join(folder, "logs")

    def variables(self, how):
        """"bare", "counters", "trace", "live": as `iorama run` sets them; "log", "traced log": preload and a log at the end."""
        if how == "bare":
            return {}
        found = {"LD_PRELOAD": os.path.abspath(self.library), "IORAMA_DIR": self.segments}
        if self.folder.startswith(UNOBSERVED):
            found["IORAMA_INCLUDE"] = self.folder + "/*"
        if how.endswith("log"):
            found["IORAMA_LOG_DIR"] = self.logs
        else:
            found.update(IORAMA_JOB="bench", IORAMA_JOBID="1")
        if how.startswith("trace"):
            found.update(IORAMA_TRACE="1", IORAMA_TRACE_MEMORY=str(TRACE_MEMORY))
        if how == "live":
            found.update(IORAMA_LIVE="1")
        return found

    def clear(self):
        for place in self.job, self.logs:
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place, 0o700)

    def run(self, command, how, pinned=False):
        self.clear()
        cpu = max(os.sched_getaffinity(0))
        reader = self.start_reader(cpu) if how == "live" else None
        done = subprocess.run(command, env={**os.environ, **self.variables(how)}, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=(lambda: os.sched_setaffinity(0, {cpu})) if pinned else None)
        if how != "bare" and not os.listdir(self.logs if how.endswith("log") else self.job):
            sys.exit("bench: %s was not observed: %s" % (command[0], done.stderr[:300]))
        if reader:
            read, dropped = map(int, reader.communicate()[0].split())
            if read == 0 or dropped > 0:
                print("(%s: %d live events were read, %d found no room)" % (" ".join(command[-4:-1]), read, dropped))
        return done

    def start_reader(self, cpu):
        """Takes live events as an agent does; not on the core of the program."""
        others = os.sched_getaffinity(0) - {cpu} or {cpu}
        reader = subprocess.Popen([self.drain, self.job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, others))
        reader.stdout.readline()
        return reader

    def time(self, kind, count, threads, how):
        """Nanoseconds of the clock and of a core per operation, KiB of memory."""
        command = [self.loop, kind, str(count), self.file, str(threads)]
        wall, cpu, rss = self.run(command, how, threads == 1).stdout.split()
        return float(wall), float(cpu), int(rss)

    def added_time(self, kind, threads, limits):
        """limits: how -> budget and peer. Interleaved, so that what slows the machine down slows all; the
        budget is for CPU time, which other programs change least."""
        runs = {"bare": []}
        runs.update((how, []) for how in limits)
        for _ in range(3 if self.bench.options.quick else ROUNDS):
            for how, found in runs.items():
                found.append(self.time(kind, KINDS[kind] // threads, threads, how))
        suffix = ", %d threads" % threads if threads > 1 else ""
        for column, name in (1, "cpu_ns"), (0, "wall_ns"):
            bare = [line[column] for line in runs["bare"]]
            self.bench.add("%s, bare%s" % (kind, suffix), name + "_min", min(bare), "per call")
            for how, limit in limits.items():
                ours, what = [line[column] for line in runs[how]], "%s, %s%s" % (kind, how, suffix)
                self.bench.add(what, name + "_min", min(ours) - min(bare), "added/call", *(limit if column else NONE))
                self.bench.add(what, name + "_med", statistics.median(ours) - statistics.median(bare), "added/call")
                if kind in BUDGETED + LARGER:
                    self.bench.add(what, name.replace("ns", "slowdown"), min(ours) / min(bare), "x bare")
            if kind not in BUDGETED + LARGER:
                break

    def instructions(self, kind, how):
        """Per operation: the difference of two sizes, so that start and end do not count."""
        cost = []
        for size in SIZES:
            command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.loop, kind, str(size)]
            text = self.run(command + [self.file], how).stderr
            cost.append(int(re.search(r"Collected\s*:\s*(\d+)", text)[1]))
        return (cost[1] - cost[0]) / (SIZES[1] - SIZES[0])

    def segment_mb(self):
        blocks = sum(os.stat(os.path.join(self.job, name)).st_blocks for name in os.listdir(self.job))
        return blocks * 512 / 2**20


def measure_instructions(c):
    if not shutil.which("valgrind"):
        print("(valgrind is not installed: no instruction counts)")
        return
    for kind in KINDS:
        if kind in LARGER:
            continue  # as many as for one byte
        bare = c.instructions(kind, "bare")
        for how, limits in INSTRUCTIONS.items():
            budget = limits if kind in BUDGETED else NONE
            c.bench.add("%s, %s" % (kind, how), "instructions", c.instructions(kind, how) - bare, "added/call", *budget)
        if kind in BUDGETED:
            c.bench.add("%s, trace, with the log" % kind, "instructions", c.instructions(kind, "traced log") - bare, "added/call", *WITH_LOG)


def measure_time(c):
    for kind in BUDGETED if c.bench.options.quick else KINDS:
        live = {"live": NS_LIVE if kind in BUDGETED else NONE} if kind in BUDGETED + LARGER else {}
        c.added_time(kind, 1, {"counters": NS[1] if kind in BUDGETED else NONE, "trace": NONE, **live})
    for kind in () if c.bench.options.quick else BUDGETED:
        for threads in (2, 4):
            c.added_time(kind, threads, {"counters": NS.get(threads, NONE)})


def measure_load(c):
    """/bin/true, many times: what it costs to be loaded and to end."""
    runs = {"bare": [], "counters": [], "log": []}
    for _ in range(3 if c.bench.options.quick else ROUNDS):
        for how, found in runs.items():
            c.clear()
            words = ["%s=%s" % item for item in c.variables(how).items()]
            text = subprocess.run([c.bench.measure, "30", *words, "/bin/true"], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            found += [int(line.split()[3]) / 1000 for line in text.splitlines()]
            left = glob.glob(os.path.join(c.logs if how == "log" else c.job, "*"))
            if how != "bare" and len(left) < 30:
                sys.exit("bench: /bin/true was run 30 times and observed %d times" % len(left))
            for path in left:
                os.unlink(path)
    for how, what in ("counters", "true, segment only"), ("log", "true, with a log of its own"):
        c.bench.add(what, "ms_min", min(runs[how]) - min(runs["bare"]), "added/run", LOAD_MS)
        c.bench.add(what, "ms_median", statistics.median(runs[how]) - statistics.median(runs["bare"]), "added/run",
                    LOAD_MS)


def measure_memory(c):
    for count in (1, 1000):
        bare = c.time("files", count, 1, "bare")[2]
        rss = c.time("files", count, 1, "counters")[2]
        what = "memory, %d file%s" % (count, "s" if count > 1 else "")
        c.bench.add(what, "segment", c.segment_mb(), "MB", MEMORY_MB)
        c.bench.add(what, "added_rss", (rss - bare) / 1024, "MB", MEMORY_MB)


def measure_files(c):
    """One process that opens very many files: time, memory, and whether the totals are still right."""
    what = "%d files" % FILES
    c.time("files", FILES, 1, "bare")  # makes them
    bare = min(c.time("files", FILES, 1, "bare")[1] for _ in range(3))
    ours = min(c.time("files", FILES, 1, "counters")[1] for _ in range(3))
    c.bench.add(what + ", bare", "cpu_ns_min", bare, "per file")
    c.bench.add(what, "cpu_ns_min", ours - bare, "added/file")
    c.bench.add(what, "segment", c.segment_mb(), "MB", MEMORY_MB)
    log = os.path.join(c.folder, "files.darshan")
    subprocess.run([c.bench.iorama, "run", "-q", "-o", log, "--", c.loop, "files", str(FILES), c.file],
                   check=True, stdout=subprocess.DEVNULL, env={**os.environ, "IORAMA_DIR": c.segments})
    text = subprocess.run([c.bench.iorama, "show", "--json", "--total", "--show-incomplete", "-m", "POSIX", log],
                          check=True, stdout=subprocess.PIPE).stdout
    modules = json.loads(text)["logs"][0]["modules"] or [{"totals": {}}]
    for counter in ("POSIX_OPENS", "POSIX_WRITES", "POSIX_BYTES_WRITTEN"):
        found = modules[0]["totals"].get(counter)
        if found != FILES:
            print("%-34s %s is %s: WRONG" % (what, counter, found))
    c.bench.add(what, "log_size", os.path.getsize(log) / 2**20, "MB")


def measure(bench, folder):
    """All of it; says why if there is nothing to measure."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="iorama-bench-", dir=shared) as segments:
        c = Capture(bench, folder, segments)
        for path in (c.library, c.loop, c.drain):
            if not os.path.exists(path):
                print("(%s is missing: nothing of capture is measured)" % path)
                return
        if bench.options.counts:
            measure_instructions(c)
            return
        measure_load(c)
        measure_time(c)
        measure_memory(c)
        if not bench.options.quick:
            measure_files(c)
            measure_instructions(c)
