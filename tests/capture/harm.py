#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""harm.py BUILD [CASE...]: programs that do what few programs do: pass NULL, jump out of handlers or inside of them, confine
themselves. Observed in whatever way they live as without us: same results, same errors, no waiting."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, TIMEOUT, Failed, Log, Skip  # noqa: E402
from manners import main, must  # noqa: E402

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


CASES = {
    "null": null,
}

if __name__ == "__main__":
    sys.exit(main(CASES, sys.argv[1:]))
