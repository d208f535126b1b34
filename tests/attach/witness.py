#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""witness.py BUILD CASE | --list: tracepoints of the kernel as a second witness (src/attach/witness.c): as many as there were, and of whom."""
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import TIMEOUT, Skip, expect  # noqa: E402

TRACING = "/sys/kernel/tracing"
FORK, WAIT, STRANGER = "sched:sched_process_fork", "sched:sched_process_wait", 20171


def command(build, *events):
    """The tool; root sees the kernel's tracepoints, also where nobody has mounted them."""
    tool = [os.path.join(build, "tests", "attach_witness"), *events]
    if os.geteuid() != 0 or os.path.isdir(TRACING + "/events"):
        return tool
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount -t tracefs tracefs %s; exec "$0" "$@"' % TRACING, *tool]


def begin(build, *events):
    witness = subprocess.Popen(command(build, *events), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = witness.stdout.readline()
    if said.startswith("no: "):
        raise Skip(said[4:].strip())
    expect(said == "ready\n", "it says %s", said)
    return witness


def end(witness):
    """event and thread -> how many; nothing was lost"""
    rest = witness.communicate(timeout=TIMEOUT)[0].splitlines()
    expect(witness.returncode == 0 and rest and rest[-1] == "lost 0", "it says %s", rest[-3:])
    return {(event, int(tid)): int(n) for event, tid, n in (line.split() for line in rest[:-1])}


def counts(build):
    """Two processes that fork as often as they say, at the same time, and one that does not."""
    numbers = [random.randrange(20, 200) for _ in range(2)] + [0]
    print("# %s forks" % numbers)
    witness = begin(build, FORK, WAIT)
    script = "import os, sys\nfor _ in range(int(sys.argv[1])):\n    pid = os.fork() or os._exit(0)\n    os.waitpid(pid, 0)\n"
    workers = [subprocess.Popen([sys.executable, "-c", script, str(n)]) for n in numbers]
    for worker in workers:
        expect(worker.wait(TIMEOUT) == 0, "it failed")
    seen = end(witness)
    for worker, n in zip(workers, numbers):
        have = [seen.get((event, worker.pid), 0) for event in (FORK, WAIT)]
        expect(have == [n, n], "%s of %d forks and waits of %d", have, n, worker.pid)


def refused(build):
    """What cannot be asked is told, with what would help."""
    end(begin(build, FORK))  # it can be, here
    for word, said in (("no_such:event", "has no tracepoint no_such:event"), ("word", "is no tracepoint"), ("../x:y", "is no tracepoint")):
        done = subprocess.run(command(build, word), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)
        expect(done.returncode == 1 and done.stdout.startswith("no: ") and said in done.stdout, "%s: %s", word, done.stdout)
    if os.geteuid() == 0:
        tool = os.path.join(build, "tests", "attach_witness")
        done = subprocess.run([tool, FORK], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, user=STRANGER)
        expect(done.returncode == 1 and ("CAP_PERFMON" in done.stdout or "tracefs" in done.stdout), "a stranger: %s", done.stdout)


CASES = {"witness-counts": counts, "witness-refused": refused}


if __name__ == "__main__":
    cases.main(CASES, lambda build, name: CASES[name](build))
