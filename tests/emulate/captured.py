# SPDX-License-Identifier: BSD-3-Clause
"""Jobs for the tests that read logs: small programs whose every request is known, observed by `iorama run`."""
import json
import os
import re
import subprocess
import sys

import harness

# One process for each list of requests: "r|w FILE OFFSET LENGTH", "think SECONDS", "tell NAME", "hear NAME". Pipes keep a reader behind its writer.
PROGRAM = """
import json, os, sys, time
folder, plan = sys.argv[1], json.load(open(sys.argv[2]))
pipes = {w[1]: os.pipe() for ops in plan for w in ops if w[0] == "tell"}
children = []
for ops in plan:
    pid = os.fork()
    if pid:
        children.append(pid)
        continue
    fds = {}
    for what, *rest in ops:
        if what == "think":
            time.sleep(rest[0])
        elif what == "tell":
            os.write(pipes[rest[0]][1], b".")
        elif what == "hear":
            os.read(pipes[rest[0]][0], 1)
        else:
            name, offset, length = rest
            if name not in fds:
                fds[name] = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT, 0o644)
            if what == "w":
                os.pwrite(fds[name], b"x" * length, offset)
            else:
                os.pread(fds[name], length, offset)
    os._exit(0)
for pid in children:
    if os.waitpid(pid, 0)[1]:
        sys.exit("a process failed")
"""


def can_capture(case):
    """Skips the case where programs cannot be observed: a library with sanitizers does not fit into any program."""
    library = os.path.join(case.build, "lib", "libiorama.so")
    if not os.path.exists(library):
        raise harness.Skip("libiorama.so was not built")
    with open(library, "rb") as stream:
        text = stream.read()
    if b"__asan_init" in text or b"__tsan_init" in text:
        raise harness.Skip("libiorama.so was built with sanitizers")


def observe(case, log, command, folder, trace=True):
    """Runs a command; its log has what it did to files in a folder, and nothing else."""
    can_capture(case)
    words = [case.iorama, "run", "-q", "-f", "-x", "/*", "-i", case.path(folder, "*"), "-o", case.path(log)]
    done = subprocess.run(words + (["--trace"] if trace else []) + ["--", *command], cwd=case.folder, text=True,
                          env=harness.environment(), capture_output=True, timeout=harness.TIMEOUT)  # fmt: skip
    harness.expect(done.returncode == 0, "iorama run: status %d: %s", done.returncode, done.stderr)
    return case.path(log)


def job(case, log, plan, folder="data", trace=True, program="work.py"):
    """A job of as many processes as the plan has lists."""
    os.makedirs(case.path(folder), exist_ok=True)
    with open(case.path(program), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    with open(case.path("plan.json"), "w", encoding="utf-8") as file:
        json.dump(plan, file)
    command = [sys.executable, case.path(program), case.path(folder), case.path("plan.json")]
    return observe(case, log, command, folder, trace)


def requests(plan):
    """What a plan moves: for each process {(file, "r" or "w"): [(offset, length), …]}, without those that move nothing."""
    found = []
    for ops in plan:
        mine = {}
        for what, *rest in ops:
            if what in "rw":
                mine.setdefault((rest[0], what), []).append(tuple(rest[1:]))
        found.append(mine)
    return [f for f in found if f]


def traced(case, log):
    """The same of a log, by rank. Files of a replay are called HASH-NAME: only NAME counts; its list of them does not."""
    text = subprocess.run([case.iorama, "show", "--dxt", log], check=True, capture_output=True, text=True).stdout
    ranks, name = {}, None
    for line in text.splitlines():
        found = re.match(r"# DXT, file_id: \d+, file_name: (.*)$", line)
        if found:
            name = re.sub(r"^[0-9a-f]{16}-", "", os.path.basename(found[1]))
        found = re.match(r"\s*X_\w+\s+(\d+)\s+(read|write)\s+\d+\s+(\d+)\s+(\d+)\s", line)
        if found and not name.startswith(harness.LIST):
            mine = ranks.setdefault(int(found[1]), {})
            mine.setdefault((name, found[2][0]), []).append((int(found[3]), int(found[4])))
    return [ranks[r] for r in sorted(ranks)]


def same(have, want, what):
    """Both are what processes did; their order does not matter."""
    key = lambda mine: sorted((k, v) for k, v in mine.items())  # noqa: E731
    have, want = sorted(map(key, have)), sorted(map(key, want))
    harness.expect(have == want, "%s: %s\nnot %s", what, have, want)
