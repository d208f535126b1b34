# SPDX-License-Identifier: BSD-3-Clause
"""Builds the programs of tests/work, runs them observed in several ways, reads the logs back and compares
them with the truth that the programs print (tests/work/truth.h)."""
import fcntl
import glob
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, folder) for folder in ("lib", "gen")]
import cases  # noqa: E402
import stock  # noqa: E402
from cases import EXCLUDED, ROOT, SKIPPED, WORK, Failed, Skip, load_reader, shared_folder  # noqa: E402
from cases import expect as must  # noqa: E402

__all__ = ["EXCLUDED", "ROOT", "SKIPPED", "TIMEOUT", "WORK", "Comparison", "Failed", "Harness", "Log", "Skip", "check_lanes",
           "main", "must", "shared_folder"]  # fmt: skip
TIMEOUT = 100  # generous: it ends what hangs

# counters whose value depends on time
OPEN_ENDED = {"POSIX_MAX_READ_TIME_SIZE", "POSIX_MAX_WRITE_TIME_SIZE"}
# counters that a record reduced over ranks adds up
SUMS = re.compile(
    r"_(OPENS|FILENOS|DUPS|READS|WRITES|SEEKS|STATS|FSYNCS|FDSYNCS|BYTES_READ|BYTES_WRITTEN|FDOPENS|FLUSHES"
    r"|SIZE_(READ|WRITE)_\w+|MEM_NOT_ALIGNED|FILE_NOT_ALIGNED|RW_SWITCHES|SEQ_\w+|CONSEC_\w+)$"
)


def high(fd):
    """The same file under a number that no test uses."""
    other = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(fd)
    return other


# ---- the truth


class Truth:
    """What the program said, per process."""

    def __init__(self, text):
        self.done = []  # pids, once per program image
        self.values = {}  # pid -> (module, path) -> counter -> value
        self.any = set()  # (pid, module, path, counter)
        self.totals = {}  # pid -> (module, counter) -> value
        self.events = {}  # pid -> (module, path) -> [(r|w, offset, length, thread)]
        self.notes = {}  # (pid, key) -> value
        for line in text.splitlines():
            words = line.split(" ")
            getattr(self, "add_" + words[0].lower())(int(words[1]), *words[2:])

    def add_done(self, pid):
        self.done.append(pid)
        self.values.setdefault(pid, {})

    def record(self, pid, module, path):
        return self.values.setdefault(pid, {}).setdefault((module, text_of(path)), {})

    def add_record(self, pid, module, path):
        self.record(pid, module, path)

    def add_truth(self, pid, module, path, counter, value):
        record = self.record(pid, module, path)
        record[counter] = int(value)

    def add_any(self, pid, module, path, counter):
        self.any.add((pid, module, text_of(path), counter))

    def add_total(self, pid, module, counter, value):
        self.totals.setdefault(pid, {})[module, counter] = int(value)

    def add_dxt(self, pid, module, path, kind, offset, length, thread):
        events = self.events.setdefault(pid, {})
        events.setdefault((module, text_of(path)), []).append((kind, int(offset), int(length), int(thread)))

    def add_note(self, pid, key, value):
        self.notes[pid, key] = text_of(value)

    def note(self, key):
        return next((v for (_, k), v in self.notes.items() if k == key), None)


def bytes_of(text):
    """A path as it was, of one in which each byte is a character."""
    return text.encode("latin-1")


def split_lines(text):
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        if line.get("file"):
            line["file"] = bytes_of(line["file"]).decode("utf-8", "replace")
    return [e for e in lines if "seq" in e], [e for e in lines if "state" in e]


def live_lines(path):
    """Events and lanes that a reader printed."""
    with open(path, encoding="ascii") as file:
        return split_lines(file.read())


def text_of(word):
    """A path as our JSON shows it."""
    return urllib.parse.unquote_to_bytes(word).decode("utf-8", "replace")


# ---- logs


class Log:
    """One log as `iorama show --json` gives it."""

    def __init__(self, iorama, path, traced, ours=False):
        self.path = path
        refusals = stock.refusals(path) if ours else []
        if refusals:
            raise Failed("%s: released tools: %s" % (path, "; ".join(refusals)))
        self.json = self.show(iorama, path)
        self.modules = {m["module"]: m for m in self.json["modules"]}
        self.traces = {}
        if traced:
            self.traces = {m["module"]: m for m in self.show(iorama, path, "--dxt")["modules"]}
        self.job = self.json["job"]
        self.metadata = {m["key"]: m["value"] for m in self.job["metadata"]}
        self.pids = {r["rank"]: r["counters"]["PROCESS_PID"] for r in self.records("PROCESS")}
        if not self.pids:
            found = re.search(r"_id-?\d+-(\d+)_", os.path.basename(path))
            self.pids = {0: int(found[1]) if found else 0}

    @staticmethod
    def show(iorama, path, *options):
        command = [iorama, "show", "--quiet", "--json", "--show-incomplete", *options, path]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT)
        if done.returncode != 0 or done.stderr:
            raise Failed("show: status %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()))
        found = json.loads(done.stdout)["logs"][0]
        if found["problems"]:
            raise Failed("show: %d problems in %s" % (found["problems"], path))
        return found

    def records(self, module):
        return self.modules.get(module, {}).get("records", [])

    def trace_records(self, module):
        return self.traces.get(module, {}).get("records", [])


# ---- running


class Run:
    """One observed run of a program and all that came of it."""

    def __init__(self):
        self.status = None
        self.out = self.err = b""
        self.truth = None
        self.logs = []
        self.left = []  # segments left behind
        self.live, self.lanes = [], []  # live events, and what the lanes say
        self.folder = None  # where it ran


class Harness(cases.Built):
    def __init__(self, build):
        super().__init__(build)
        self.cc = os.environ.get("CC", "cc")
        self.reader = load_reader()
        self.scratch = cases.observed_folder(build, "capture")
        self.quiet = cases.quiet_folder("test")
        self.count = 0

    def close(self):
        for folder in (self.scratch, self.quiet):
            cases.remove(folder)

    def need(self, *paths):
        for path in paths:
            if not os.path.exists(path):
                raise Skip("%s is not built" % os.path.relpath(path, self.build))

    # ---- building

    def compile(self, name, variant="", flags=(), libs=(), shared=False):
        """The program, built anew only when its sources are others; what all of them tell the truth with is compiled once."""
        sources = [os.path.join(WORK, name + ".c")]
        target = name + ("-" + variant if variant else "") + (".so" if shared else "")
        static = os.path.join(self.build, "lib", "libiorama.a")
        newer = [__file__, *([static] if variant == "static" and os.path.exists(static) else [])]
        warn = ["-Wall", "-Wextra", "-Wno-stringop-overread"]
        command = [self.cc, "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O1", *warn, "-I", WORK, *flags]
        if shared:
            command += ["-shared", "-fPIC"]
        else:
            truth, how = os.path.join(WORK, "truth.c"), [word for word in command if word != "-static"]
            name = "truth-%08x.o" % zlib.crc32(" ".join(how).encode())
            sources.append(self.compile_once(name, [truth], [*how, "-c", truth, "-o", None], [__file__]))
        return self.compile_once(target, sources, [*command, *sources, "-o", None, *libs, "-pthread"], newer)

    def static_flags(self):
        done = subprocess.run([self.iorama, "config", "--static-ldflags"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip("iorama config --static-ldflags: " + done.stderr.strip())
        return done.stdout.split()

    # ---- running

    def environment(self, run, extra):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "DARSHAN_", "LD_", "DXT_"))}
        keep["TRUTH_FILE"] = os.path.join(run.folder_quiet, "truth")
        with open(keep["TRUTH_FILE"], "w", encoding="ascii"):
            pass  # here, so that all processes may add to it whatever mask they choose
        keep["IORAMA_DIR"] = os.path.join(run.folder_quiet, "segments")
        keep["PYTHONDONTWRITEBYTECODE"] = "1"
        keep.update(extra or {})
        return keep

    def start(self, command, mode="bare", env=None, stdin=b"12\nz\n", prepare=None, preload="", fds=()):
        """mode: plain (not observed), bare (preloaded), trace (same, traced), live (same, with live events that a reader
        takes), run, static (linked in)"""
        run = Run()
        self.count += 1
        run.folder = os.path.join(self.scratch, "%s%d" % (mode, self.count))
        run.folder_quiet = os.path.join(self.quiet, "%s%d" % (mode, self.count))
        logs = os.path.join(run.folder_quiet, "logs")
        for folder in (run.folder, run.folder_quiet, logs):
            os.makedirs(folder, mode=0o700)
        for name, content in (prepare or {}).items():
            with open(os.path.join(run.folder, name), "wb") as file:
                file.write(content)
        environment = self.environment(run, env)
        traced = mode == "trace" or environment.get("IORAMA_TRACE") == "1"
        if mode in ("bare", "trace", "live", "static"):
            environment["IORAMA_LOG_DIR"] = logs
        if mode in ("bare", "trace", "live"):
            environment["LD_PRELOAD"] = (preload + ":" if preload else "") + self.library
        elif preload:
            environment["LD_PRELOAD"] = preload
        if mode == "trace":
            environment["IORAMA_TRACE"] = "1"
        reader = None
        if mode == "live":
            environment["IORAMA_LIVE"] = "1"
            reader = self.read_live(environment["IORAMA_DIR"], run.folder_quiet)
        if mode == "run":
            log = os.path.join(logs, "run.darshan")
            command = [self.iorama, "run", "-q", *(["--trace"] if traced else []), "-o", log, "--", *command]
        given = [high(os.open(os.path.join(run.folder, name), os.O_RDWR)) for _, name, _ in fds]
        moves = [(fd, number) for fd, (number, _, _) in zip(given, fds)]
        for fd, (_, _, at) in zip(given, fds):
            os.lseek(fd, at, os.SEEK_SET)

        def hand_over():
            for fd, number in moves:
                os.dup2(fd, number)

        try:
            done = subprocess.run(
                command, input=stdin, capture_output=True, timeout=TIMEOUT, cwd=run.folder, env=environment,
                pass_fds=[number for number, _, _ in fds if number > 2], preexec_fn=hand_over if fds else None,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise Failed("%s: no end after %d s; %r" % (mode, TIMEOUT, (late.stderr or b"")[-300:])) from None
        finally:
            for fd in given:
                os.close(fd)
            if reader:
                run.live, run.lanes = reader()
        run.status, run.out, run.err = done.returncode, done.stdout, done.stderr
        truth = os.path.join(run.folder_quiet, "truth")
        if os.path.getsize(truth) > 0:
            with open(truth, encoding="ascii") as file:
                run.truth = Truth(file.read())
        if mode != "plain":
            self.collect(run, logs, traced)
        return run

    def read_live(self, segments, folder, *options):
        """Starts a reader of live events; what is returned ends it and gives its events and lanes."""
        os.makedirs(segments, mode=0o700, exist_ok=True)
        program, said = os.path.join(self.build, "tests", "live_reader"), os.path.join(folder, "live")
        self.need(program)
        with open(said, "wb") as out:
            process = subprocess.Popen([program, *options, segments], stdin=subprocess.PIPE, stdout=out)
        while not os.path.getsize(said) and process.poll() is None:
            time.sleep(0.001)

        def end():
            process.communicate(timeout=TIMEOUT)
            if process.returncode != 0:
                raise Failed("live_reader: status %d" % process.returncode)
            return live_lines(said)

        return end

    def read_once(self, *segments):
        """The live events that are in segments now."""
        program = os.path.join(self.build, "tests", "live_reader")
        self.need(program)
        done = subprocess.run([program, "--once", *segments], stdout=subprocess.PIPE, timeout=TIMEOUT)
        if done.returncode != 0:
            raise Failed("live_reader: status %d" % done.returncode)
        return split_lines(done.stdout.decode("ascii"))

    def collect(self, run, logs, traced):
        for path in sorted(glob.glob(logs + "/**/*", recursive=True)):
            if os.path.isfile(path):
                run.logs.append(Log(self.iorama, path, traced, ours=True))
        for folder, _, files in os.walk(os.path.join(run.folder_quiet, "segments")):
            run.left += [os.path.join(folder, name) for name in files]

    def recover(self, run, traced=False):
        """The log of what was left behind."""
        log = os.path.join(run.folder_quiet, "recovered.darshan")
        segments = os.path.join(run.folder_quiet, "segments")
        done = subprocess.run(
            [self.iorama, "recover", "-o", log, segments], capture_output=True, text=True, timeout=TIMEOUT,
            env={**os.environ, "IORAMA_DIR": segments},
        )  # fmt: skip
        if done.returncode not in (0, 1) or not os.path.exists(log):
            raise Failed("recover: status %d: %s" % (done.returncode, done.stderr.strip()))
        run.logs.append(Log(self.iorama, log, traced, ours=True))
        run.left = [os.path.join(f, n) for f, _, names in os.walk(segments) for n in names]


# ---- comparing


def alignment_of(path):
    """Block size of the file system that a path is on."""
    folder = os.path.dirname(path) or "/"
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return os.statvfs(folder).f_bsize


class Comparison:
    """Truth and logs of one run; `problems` is what differs."""

    def __init__(self, harness, run, mode):
        self.harness, self.run, self.mode = harness, run, mode
        self.truth = run.truth
        self.problems = []
        self.seen = {}  # pid -> (module, name) -> counters, summed over images
        self.shared = {}  # (module, name) -> counters of a record of all ranks

    def say(self, text, *values):
        if len(self.problems) < 40:
            self.problems.append("%s: %s" % (self.mode, text % values))

    def all(self):
        self.collect()
        for pid, want in self.truth.values.items():
            if pid in self.truth.totals:
                self.compare_totals(pid)
            else:
                self.compare_process(pid, want)
        for pid in set(self.seen) - set(self.truth.values):
            if self.seen[pid]:
                self.say("process %d: not expected: %s", pid, sorted(self.seen[pid])[:5])
        self.compare_shared()
        for log in self.run.logs:
            check_times(log, self.say)
            check_heat(log, self.say)
            if self.harness.reader:
                check_reader(self.harness.reader, log, self.say)
        if self.mode == "trace":
            self.compare_traces()
        if self.mode == "live":
            self.compare_live()
        if self.run.left:
            self.say("left behind: %s", self.run.left[:3])
        return self.problems

    def collect(self):
        for log in self.run.logs:
            for module in ("POSIX", "STDIO", "EXTRA"):
                for record in log.records(module):
                    key = (module, record["name"])
                    if record["rank"] < 0:
                        self.shared[key] = record["counters"]
                        continue
                    pid = log.pids.get(record["rank"])
                    seen = self.seen.setdefault(pid, {})
                    if key in seen:
                        self.say("process %s: two records of %s %s", pid, *key)
                    seen[key] = record["counters"]

    def compare_process(self, pid, want):
        seen = self.seen.get(pid, {})
        for key in sorted(set(want) | set(seen)):
            module, path = key
            wanted, found = want.get(key), seen.get(key)
            if key in self.shared and found is None:
                continue
            if module == "EXTRA":  # one that says nothing may be left out
                wanted, found = wanted or {}, found or {}
            if wanted is None:
                self.say("process %d: a record too many: %s %s %s", pid, module, path, nonzero(found))
            elif found is None:
                self.say("process %d: no record: %s %s %s", pid, module, path, nonzero(wanted))
            else:
                self.compare_record(pid, module, path, wanted, found)

    def compare_record(self, pid, module, path, want, found):
        want = dict(want)
        if module == "POSIX":
            self.fill_posix(pid, path, want, found)
        for counter in sorted(set(want) | set(found)):
            value = found.get(counter, 0)
            if "_F_" in counter or counter in OPEN_ENDED or (pid, module, path, counter) in self.truth.any:
                continue
            if int(value) % 2**64 != want.get(counter, 0) % 2**64:
                self.say("%s %s: %s is %s, not %s", module, path, counter, value, want.get(counter, 0))

    def fill_posix(self, pid, path, want, found):
        """Constants, and what depends on the file system."""
        align = found.get("POSIX_FILE_ALIGNMENT")
        for counter in [c for c in want if c.startswith("FILE_NOT_ALIGNED@")]:
            value = want.pop(counter)
            if counter == "FILE_NOT_ALIGNED@%s" % align:
                want["POSIX_FILE_NOT_ALIGNED"] = value
        want["POSIX_MEM_ALIGNMENT"] = 8
        want["POSIX_FILE_ALIGNMENT"] = alignment_of(path) if path.startswith("/") else -1
        extra = self.truth.values[pid].get(("EXTRA", path), {})
        want["POSIX_MMAPS"] = extra.get("EXTRA_MMAPS", 0) if self.mode == "static" else -1

    def compare_totals(self, pid):
        for (module, counter), value in self.truth.totals[pid].items():
            found = sum(c.get(counter, 0) for (m, _), c in self.seen.get(pid, {}).items() if m == module)
            if found != value:
                self.say("total of %s is %d, not %d", counter, found, value)

    def compare_shared(self):
        """A record over all ranks holds the sums of all."""
        for (module, path), found in self.shared.items():
            want = {}
            for pid, records in self.truth.values.items():
                record = dict(records.get((module, path), {}))
                if module == "POSIX":
                    self.fill_posix(pid, path, record, found)
                for counter, value in record.items():
                    want[counter] = want.get(counter, 0) + value
            for counter in sorted(set(want) | set(found)):
                if SUMS.search(counter) and found.get(counter, 0) != want.get(counter, 0):
                    self.say("%s %s, all ranks: %s is %s, not %s", module, path, counter, found.get(counter, 0),
                             want.get(counter, 0))  # fmt: skip

    def compare_traces(self):
        seen = {}
        for log in self.run.logs:
            for module in ("DXT_POSIX", "DXT_STDIO"):
                for record in log.trace_records(module):
                    key = (log.pids.get(record["rank"]), module[4:], record["name"])
                    for kind in ("read", "write"):
                        for off, length, start, end, thread in record.get(kind + "s", []):
                            seen.setdefault(key, []).append((kind[0], off, length, int(thread)))
                            if not 0 <= start <= end <= log.job["run_time"] + 0.01:
                                self.say("trace of %s: time %s to %s", record["name"], start, end)
        for pid in self.truth.values:
            if (pid, "untraced") in self.truth.notes or pid in self.truth.totals:
                continue
            want = self.truth.events.get(pid, {})
            found = {key[1:]: events for key, events in seen.items() if key[0] == pid}
            for key in sorted(set(want) | set(found)):
                self.compare_events(key, want.get(key, []), found.get(key, []))

    def compare_live(self):
        """Live events: nothing lost, their numbers without a gap; as many of each kind as counters say; reads and writes as
        the program made them; and no thread is said to be in a call that is over."""
        check_lanes(self.run, self.say)
        for pid, want in self.truth.values.items():
            events = [e for e in self.run.live if e["pid"] == pid]
            if pid in self.truth.totals:
                continue
            self.compare_kinds(want, events)
            if (pid, "untraced") not in self.truth.notes:
                self.compare_accesses(self.truth.events.get(pid, {}), events)

    def compare_kinds(self, want, events):
        found = {}
        for event in events:
            key = event["layer"], event["file"], event["op"]
            if not event["failed"]:
                found[key] = found.get(key, 0) + 1
        for (module, path), counters in sorted(want.items()):
            for op, formula in LIVE_KINDS.get(module, {}).items():
                names = [(word[0] == "-", "%s_%s" % (module, word.lstrip("-"))) for word in formula.split()]
                if any((pid, module, path, name) in self.truth.any for _, name in names for pid in self.truth.values):
                    continue
                value = sum(-counters.get(name, 0) if minus else counters.get(name, 0) for minus, name in names)
                seen = found.get(("POSIX" if module == "EXTRA" else module, path, op), 0)
                if seen != value and not path.startswith("<"):
                    self.say("live events of %s: %d of %s %s, not %d", path, seen, module, op, value)

    def compare_accesses(self, want, events):
        """Each thread's reads and writes in their order, whatever the thread is called."""
        seen, said = {}, {}
        for event in events:
            if event["layer"] in ("POSIX", "STDIO") and event["op"] in ("READ", "WRITE") and not event["failed"]:
                if event["layer"] == "STDIO" and event["len"] == 0:
                    continue  # most of these count nowhere
                key = event["layer"], event["file"], event["op"][0].lower()
                seen.setdefault(key, {}).setdefault(event["tid"], []).append((event["off"], event["len"]))
        for (module, path), list_ in want.items():
            for kind, off, length, thread in list_:
                if module == "STDIO" and length == 0:
                    continue
                said.setdefault((module, path, kind), {}).setdefault(thread, []).append((off, length))
        for key in sorted(set(said) | set(seen)):
            a, b = (sorted(d.get(key, {}).values()) for d in (said, seen))
            if len(b) > len(a):  # names of threads that have ended are given to others; numbers are not, so soon
                a, b = ([sorted(sum(list_, []))] for list_ in (a, b))
            if a != b:
                self.say("live accesses %s: %s, not %s", key, str(b)[:300], str(a)[:300])

    def compare_events(self, key, want, found):
        """Each thread's reads and writes in their order."""

        def lanes(events):
            sorted_out = {}
            for kind, off, length, thread in events:
                sorted_out.setdefault((kind, thread), []).append((off, length))
            return sorted_out

        want, found = lanes(want), lanes(found)
        for lane in sorted(set(want) | set(found)):
            a, b = want.get(lane, []), found.get(lane, [])
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                self.say("trace of %s %s: %s %d of thread %d is %s, not %s (%d, not %d)", *key, lane[0], at, lane[1],
                         b[at : at + 1], a[at : at + 1], len(b), len(a))  # fmt: skip


def nonzero(counters):
    return {k: v for k, v in sorted(counters.items()) if v not in (0, 0.0) and "_F_" not in k and "@" not in k}


# how many live events of a kind there are, by the counters of a record
LIVE_KINDS = {
    "POSIX": {"OPEN": "OPENS -DUPS -FILENOS", "READ": "READS", "WRITE": "WRITES", "SEEK": "SEEKS", "STAT": "STATS",
              "SYNC": "FSYNCS", "DATASYNC": "FDSYNCS"},
    "STDIO": {"OPEN": "OPENS -FDOPENS", "FDOPEN": "FDOPENS", "SEEK": "SEEKS", "FLUSH": "FLUSHES"},
    "EXTRA": {"STATOTHER": "STATS", "ACCESS": "ACCESSES", "MSYNC": "MSYNCS", "RANGESYNC": "RANGE_SYNCS",
              "TRUNCATE": "TRUNCATES", "ALLOCATE": "ALLOCATES", "ADVISE": "ADVISES", "LOCK": "LOCKS", "MKDIR": "MKDIRS",
              "UNLINK": "UNLINKS", "LINK": "LINKS", "RENAME": "RENAMES", "CHMOD": "CHMODS", "UTIME": "UTIMES",
              "XATTR": "XATTRS", "READDIR": "READDIRS"},
}  # fmt: skip


def check_lanes(run, say, lossless=True):
    """What lanes say of themselves, beside the events that were read from them."""
    numbers = {}
    for event in run.live:
        numbers.setdefault((event["pid"], event["lane"]), []).append(event["seq"])
        if event["end"] < event["start"] or not event["tid"]:
            say("live event %s", event)
    made = {}
    for lane in run.lanes:
        key = lane["pid"], lane["lane"]
        made[key] = made.get(key, 0) + lane["made"]
        if lane["state"] != 0 or (lossless and lane["dropped"]):
            say("lane %s", lane)
        if lane["doing"]:
            say("lane %d of process %d is still in a call", lane["lane"], lane["pid"])
    for key, count in made.items():
        # programs that one process became one after the other each begin with 0
        if len(numbers.get(key, [])) != count:
            say("lane %s: %d events, %d were made", key, len(numbers.get(key, [])), count)


def check_times(log, say):
    """Moments lie within the run, ends after starts, sums within what is possible."""
    run_time = log.job["run_time"]
    threads = any(r["counters"]["PROCESS_THREADS"] > 1 for r in log.records("PROCESS"))
    if not 0 <= run_time < 600 or log.job["end_sec"] < log.job["start_sec"]:
        say("run time %s", run_time)
    for module in ("POSIX", "STDIO", "EXTRA"):
        for record in log.records(module):
            counters = record["counters"]
            for name, value in counters.items():
                if "_F_" not in name:
                    continue
                # by the rules of the format a sum may shrink where calls of threads overlap
                if value is None or (value < 0 and not threads) or ("_TIME" in name and value > run_time * 1000 + 1):
                    say("%s %s: %s is %s", module, record["name"], name, value)
                if name.endswith("_TIMESTAMP") and value > run_time + 0.01:
                    say("%s %s: %s is %s after the end %s", module, record["name"], name, value, run_time)
                if name.endswith("_START_TIMESTAMP"):
                    end = counters[name.replace("_START_", "_END_")]
                    if value > end:
                        say("%s %s: %s is %s, the end %s", module, record["name"], name, value, end)
            for kind in ("READ", "WRITE", "OPEN"):
                count = counters.get("%s_%sS" % (module, kind), 0)
                stamp = counters.get("%s_F_%s_START_TIMESTAMP" % (module, kind))
                standard = module == "STDIO" and (record["name"] or "").startswith("<STD")
                if stamp is not None and count > 0 and stamp <= 0 and not standard:
                    say("%s %s: %d of %s, but none began", module, record["name"], count, kind)


def check_heat(log, say):
    """The heat map holds the bytes that were moved, but for rounding where a call lies in several bins."""
    if any(r["rank"] < 0 for m in ("POSIX", "STDIO") for r in log.records(m)):
        return
    for module in ("POSIX", "STDIO"):
        for kind, moved in (("READ", "BYTES_READ"), ("WRITE", "BYTES_WRITTEN")):
            want, found = {}, {}
            for record in log.records(module):
                counters = record["counters"]
                want[record["rank"]] = want.get(record["rank"], 0) + counters["%s_%s" % (module, moved)]
            for record in log.records("HEATMAP"):
                if record["name"] == "heatmap:" + module:
                    bins = [v for k, v in record["counters"].items() if k.startswith("HEATMAP_%s_BIN_" % kind)]
                    found[record["rank"]] = found.get(record["rank"], 0) + sum(bins)
            for rank in set(want) | set(found):
                if abs(want.get(rank, 0) - found.get(rank, 0)) > 200:
                    say("heat map of %s, %s, rank %d: %d bytes, not %d", module, kind, rank, found.get(rank, 0),
                        want.get(rank, 0))  # fmt: skip


def check_reader(reader, log, say):
    """Every integer counter as a second program reads it."""
    try:
        second = reader.load(log.path)
        for module in ("POSIX", "STDIO"):
            records = list(reader.records(second, module, False)) if log.records(module) else []
            ours = log.records(module)
            if len(ours) != len(records):
                say("second reader: %d records of %s, not %d", len(records), module, len(ours))
            for mine, other in zip(ours, records):
                if int(mine["id"]) != other.id or mine["rank"] != other.rank:
                    say("second reader: %s record %s is %s", module, mine["id"], other.id)
                for name, value in zip(other.cn, other.c):
                    if name in mine["counters"] and int(mine["counters"][name]) % 2**64 != value % 2**64:
                        say("second reader: %s of %s is %s, not %s", name, mine["name"], value, mine["counters"][name])
    except Exception as error:  # whatever is in the log, it is to be told
        say("second reader: %s: %s", type(error).__name__, error)


def main(functions):
    """Cases that are functions of a Harness."""

    def perform(build, name):
        harness = Harness(build)
        try:
            harness.need(harness.iorama, harness.library)
            functions[name](harness)
        finally:
            harness.close()

    cases.main(functions, perform)
