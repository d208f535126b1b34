#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""harm.py BUILD [CASE...]: programs that do what few programs do: pass NULL, jump out of handlers or inside of them, confine
themselves. Observed in whatever way they live as without us: same results, same errors, no waiting."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, TIMEOUT, Failed, Log, Skip, main, must  # noqa: E402

WAYS = ("bare", "run", "trace", "live")  # preloaded; iorama run, run --trace, run --live


class Seen:
    """A program that ran in one of the ways, and what came of it."""

    def __init__(self, h, way, command, env=None, stdin=b"", least=1):
        h.count += 1
        self.way = way
        self.folder = os.path.join(h.scratch, "%s%d" % (way, h.count))
        self.quiet = os.path.join(h.quiet, "%s%d" % (way, h.count))
        self.segments = os.path.join(self.quiet, "segments")
        logs = os.path.join(self.quiet, "logs")
        for folder in (self.folder, self.quiet, logs):
            os.makedirs(folder, mode=0o700)
        full = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "DARSHAN_", "LD_", "DXT_"))}
        full.update(IORAMA_DIR=self.segments, TRUTH_FILE=os.path.join(self.quiet, "truth"),
                    IORAMA_STORE=os.path.join(self.quiet, "store.db"),
                    IORAMA_SPOOL=os.path.join(self.quiet, "spool"), PYTHONDONTWRITEBYTECODE="1")  # fmt: skip
        full.update(env or {})
        self.log_path = os.path.join(logs, "run.darshan")
        if way == "bare":
            full.update(LD_PRELOAD=h.library, IORAMA_LOG_DIR=logs)
        elif way != "plain":
            options = {"trace": ["--trace"], "live": ["--live"]}.get(way, [])
            command = [h.iorama, "run", "--json", *options, "-o", self.log_path, "--", *command]
        began = time.monotonic()
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT * 3, cwd=self.folder, env=full)
        except subprocess.TimeoutExpired as late:
            raise Failed("%s: no end after %d s; %r" % (way, TIMEOUT * 3, (late.stdout or b"")[-300:])) from None
        self.took = time.monotonic() - began
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")
        self.said = None
        if way not in ("plain", "bare") and self.err.strip():
            last = self.err.strip().splitlines()[-1]
            self.said = json.loads(last) if last.startswith("{") else None
        self.logs = [Log(h.iorama, os.path.join(logs, name), False) for name in sorted(os.listdir(logs))]
        must(way == "plain" or len(self.logs) >= least, "%s: %d logs, status %s: %s", way, len(self.logs), self.status,
             self.err[-500:])  # fmt: skip
        self.left = [os.path.join(f, n) for f, _, names in os.walk(self.segments) for n in names if n.endswith(".seg")]

    def total(self, counter, module="POSIX", ending=""):
        """over all records of files whose names end so, in all logs"""
        return sum(r["counters"][counter] for log in self.logs for r in log.records(module)
                   if (r["name"] or "").endswith(ending))  # fmt: skip


# ---- NULL


def call_all(h, way, program, survived):
    """What each call came to: NAME VARIANT -> result"""
    results = os.path.join(h.quiet, "results-" + way)
    run = Seen(h, way, [program, results, *([survived] if survived else [])], least=0)
    must(run.status == 0, "%s: status %s: %s", way, run.status, run.err[-300:])
    with open(results, encoding="ascii") as file:
        lines = [line.split(" ", 2) for line in file.read().splitlines()]
    absent = [words[0] for words in lines if words[1] == "absent"]
    must(not absent, "%s: the program has no %s", way, absent)
    return [((name, int(variant)), result) for name, variant, result in lines]


def null(h):
    """every function that we replace, with NULL and addresses of nothing: what the C library survives we do"""
    flags = ["-I", os.path.join(ROOT, "src")]
    program = h.compile("null", flags=flags, libs=["-Wl,--no-as-needed", "-laio"])
    alone = call_all(h, "plain", program, None)
    survived = os.path.join(h.quiet, "survived")
    with open(survived, "w", encoding="ascii") as file:
        file.write("".join("n" if result == "died" else "y" for _, result in alone))
    plain = call_all(h, "plain", program, survived)
    alive = [(key, result) for key, result in plain if result not in ("died", "-")]
    functions = {name for (name, _), _ in alive}
    must(len(alive) > 1500 and len(functions) > 200, "only %d calls of %d functions", len(alive), len(functions))
    must(dict(plain).get(("closedir", 0)) == "-1 22", "closedir(NULL): %s", dict(plain).get(("closedir", 0)))
    for way in WAYS:
        seen = dict(call_all(h, way, program, survived))
        wrong = ["%s %d: %s, not %s" % (*key, seen[key], result) for key, result in alive if seen[key] != result]
        must(not wrong, "%s: %d differ: %s", way, len(wrong), "; ".join(wrong[:8]))


# ---- jumps

STRIDE = 173  # instructions; an open that finds a new name takes some 1,600 (short paths) to 3,000
PATIENCE = 3e9  # ns; a lock that nobody lets go is waited for twice as long, a call takes less than a hundredth
INSIDE = [("stay", where) for where in ("main", "high", "alt", "low", "coroutine")]
INSIDE += [("switch", "coroutine"), ("nested", "alt"), ("nested", "high"), ("nested", "low")]
OUT = [("leave", where) for where in ("main", "high", "alt", "low", "coroutine")] + [("throw", "main"), ("throw", "alt")]


def leap(h, variants):
    """Every variant preloaded, the first ones in the other ways too; each at other instructions."""
    if os.uname().machine != "x86_64":
        raise Skip("only x86-64 can be interrupted at each instruction")
    program = h.compile("leap")
    tried = [("bare", variant) for variant in variants] + [(way, v) for way in WAYS[1:] for v in variants[:1]]
    for i, (way, (what, where)) in enumerate(tried):
        run = Seen(h, way, [program, what, where, str(STRIDE + 2 * i)])
        name = "%s, %s %s" % (way, what, where)
        must(run.status == 0, "%s: status %s: %s", name, run.status, run.err[-300:])
        calls, longest = (int(word) for word in run.out.split())
        must(calls > 5, "%s: only %d calls were interrupted", name, calls)
        must(longest < PATIENCE, "%s: a call took %.1f s", name, longest / 1e9)
        if what == "switch":  # two calls at once in one thread: what they count is not certain
            continue
        kept = [r["counters"] for r in run.logs[0].records("POSIX") if "/kept-" in r["name"]]
        wrong = [c for c in kept if (c["POSIX_OPENS"], c["POSIX_WRITES"], c["POSIX_BYTES_WRITTEN"]) != (1, 1, 6)]
        # the last call was not interrupted, and one was made before the first
        must(len(kept) == calls + 2 and not wrong, "%s: %d files of %d, %d wrong", name, len(kept), calls + 2, len(wrong))
        stayed = [r["counters"]["POSIX_OPENS"] for r in run.logs[0].records("POSIX") if "/%s-" % what in r["name"]]
        if what in ("stay", "nested"):
            must(stayed == [1] * (calls + 1), "%s: interrupted opens: %s", name, stayed)
            # what handlers open while our code is at work is missed, since it still is
            inner = run.total("POSIX_OPENS", ending="/inner")
            missed = sum(r["counters"]["PROCESS_CALLS_MISSED"] for r in run.logs[0].records("PROCESS"))
            must(inner + missed == calls and missed > 0, "%s: of %d opens in handlers %d are recorded, %d missed", name,
                 calls, inner, missed)  # fmt: skip


def jump_inside(h):
    """a handler that interrupted us jumps inside itself, and our code goes on"""
    leap(h, INSIDE)


def jump_out(h):
    """a handler that interrupted us does not come back"""
    leap(h, OUT)


def jump_blocked(h):
    """which call a thread is in: still, after a jump in a handler; no longer, after one out of it"""
    program = h.compile("blocked")
    for sig, word, doing in ((signal.SIGUSR1, "stayed", True), (signal.SIGUSR2, "left", False)):
        folder = os.path.join(h.quiet, "blocked-" + word)
        segments = os.path.join(folder, "segments")
        os.makedirs(os.path.join(folder, "logs"), mode=0o700)
        env = {**os.environ, "LD_PRELOAD": h.library, "IORAMA_DIR": segments, "TRUTH_FILE": "/dev/null",
               "IORAMA_LOG_DIR": os.path.join(folder, "logs")}  # fmt: skip
        child = subprocess.Popen([program], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def lanes():
            paths = [os.path.join(f, n) for f, _, names in os.walk(segments) for n in names]
            return [bool(lane["doing"]) for lane in h.read_once(*paths)[1]]

        try:
            must(child.stdout.readline() == b"ready\n", "it does not begin")
            until = time.monotonic() + TIMEOUT
            while lanes() != [True]:
                must(time.monotonic() < until, "it is in no call: %s", lanes())
                time.sleep(0.01)
            child.send_signal(sig)
            must(child.stdout.readline().decode().strip() == word, "it did not say '%s'", word)
            must(lanes() == [doing], "%s: in a call: %s", word, lanes())
        finally:
            child.kill()
            child.communicate(timeout=TIMEOUT)


# ---- programs that confine themselves

QUIET = ("strict", "strict2", "few", "fork", "threads", "exec", "arguments", "tsc")
BEFORE, AFTER = 10, 6  # writes that confine.c makes before and after


def confine(h):
    """after seccomp and the like we neither call the system nor read the counter; what was recorded is there, and said"""
    program = h.compile("confine")
    for how in (*QUIET, "harmless", "fail", "child"):
        plain = Seen(h, "plain", [program, how])
        must(plain.status == 0, "%s: not observed: status %s: %s", how, plain.status, plain.err[-300:])
        for way in WAYS if how in ("strict", "few", "tsc") else WAYS[:2]:
            run = Seen(h, way, [program, how])
            name = "%s, %s" % (way, how)
            must(run.status == 0, "%s: status %s: %s", name, run.status, run.err[-300:])
            quiet = sum(int(log.metadata.get("iorama_quiet", 0)) for log in run.logs)
            silent = how in QUIET or how == "child"
            must(quiet == silent, "%s: iorama_quiet is %s", name, quiet)
            writes = run.total("POSIX_WRITES", ending="/file")
            want = BEFORE if how in QUIET else BEFORE + AFTER
            must(writes == want, "%s: %d writes, not %d", name, writes, want)
            must(not run.total("POSIX_WRITES", ending="/second"), "%s: the next program was observed", name)
            ended = sorted(r["counters"]["PROCESS_ENDED"] for log in run.logs for r in log.records("PROCESS"))
            must(ended == ([1, 4] if how == "child" else [4] if silent else [1]), "%s: ended %s", name, ended)
            must(not run.left, "%s: left behind: %s", name, run.left)
            if run.said:
                must(run.said["quiet"] == quiet, "%s: run says %s", name, run.said)
                must(run.said["incomplete"] == silent, "%s: incomplete: %s", name, run.said["incomplete"])
                missed = AFTER - 1 if silent else 0
                must(run.said["calls_missed"] >= missed, "%s: %d calls missed", name, run.said["calls_missed"])


def confine_calls(h):
    """table/own_calls.def has all system calls that the library makes"""
    del h
    folder = os.path.join(ROOT, "src", "capture")
    made = set()
    for name in sorted(glob.glob(os.path.join(folder, "**", "*.[ch]"), recursive=True)):
        if os.path.basename(name) == "attach.c":  # comes into no process that is confined
            continue
        with open(name, encoding="utf-8") as file:
            made |= set(re.findall(r"rama_cap_sys[36]\(SYS_(\w+)", re.sub(r"\s+", "", file.read())))
    with open(os.path.join(ROOT, "src", "table", "own_calls.def"), encoding="utf-8") as file:
        rows = set(re.findall(r"^OWN\((\w+)\)", file.read(), re.M))
    must(len(made) > 20, "only %s found", sorted(made))
    must(made <= rows, "not in own_calls.def: %s", sorted(made - rows))
    must(rows - made <= {"clock_gettime"}, "nobody calls %s", sorted(rows - made))


CASES = {
    "null": null,
    "confine": confine,
    "confine-calls": confine_calls,
    "jump-inside": jump_inside,
    "jump-out": jump_out,
    "jump-blocked": jump_blocked,
}

if __name__ == "__main__":
    main(CASES)
