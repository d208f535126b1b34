#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""join.py BUILD CASE | --list: calls on a real GlusterFS are joined down to the disks of its bricks, and what is said of them is
true: the brick that was made slow is named, writers that waited for each other are seen, what came from memory is told apart."""
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
import gluster  # noqa: E402
from cases import TIMEOUT, best, expect  # noqa: E402

REQUEST = 131072  # bytes of a request of the kernel
MIB = 1 << 20

# each of `n` processes writes `size` bytes with one call, at the same moment; of one file or each its own
WRITERS = """
import os, sys
n, size, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
go_read, go_write = os.pipe()
data = b"x" * size
for i in range(n):
    if os.fork() == 0:
        os.close(go_write)
        fd = os.open(name % i if "%" in name else name, os.O_CREAT | os.O_RDWR)
        os.read(go_read, 1)
        done = os.pwrite(fd, data, i * size)
        os._exit(0 if done == size else 1)
os.close(go_read)
os.close(go_write)
bad = [os.wait()[1] for _ in range(n)]
sys.exit(any(bad))
"""

# One thread writes pieces of two files by turns, so that whatever else the machine does befalls both; prints seconds for each.
TURNS = """
import os, sys, time
n, size, took = int(sys.argv[1]), int(sys.argv[2]), [0, 0]
fds = [os.open(name, os.O_CREAT | os.O_RDWR) for name in sys.argv[3:]]
data = b"t" * size
for i in range(n):
    for k, fd in enumerate(fds):
        began = time.monotonic()
        if os.pwrite(fd, data, i * size) != size:
            sys.exit(1)
        took[k] += time.monotonic() - began
print(*took)
"""

# a file is written, read again (from memory), and read once more after its pages were dropped
READER = """
import os, sys
name, size, again = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fd = os.open(name, os.O_CREAT | os.O_RDWR)
os.pwrite(fd, b"y" * size, 0)
for k in range(again):
    os.pread(fd, size, 0)
"""


class Case(cases.Built):
    def __init__(self, build, observed, quiet, **more):
        super().__init__(build)
        self.observed, self.quiet = observed, quiet
        self.fs = gluster.Gluster(os.path.join(quiet, "fs"), os.path.join(observed, "mnt"), **more)
        self.log = os.path.join(quiet, "job.darshan")
        self.said, self.more = "", []

    def stop(self):
        for fs in (self.fs, *self.more):
            fs.stop()

    def env(self, **more):
        return cases.environment(IORAMA_DIR=os.path.join(self.quiet, "segments"), LC_ALL="C.UTF-8", **more)

    def call(self, *words):
        done = subprocess.run([self.iorama, *words], capture_output=True, text=True, timeout=TIMEOUT, cwd=self.observed, env=self.env())
        expect(done.returncode == 0, "%s: status %d: %s", " ".join(words[:3]), done.returncode, done.stderr)
        return done.stdout

    def observe(self, program, *words):
        """What a Python program does, on the mount."""
        if os.path.exists(self.log):
            os.unlink(self.log)
        self.said = self.call("run", "--path", "-q", "-o", self.log, "--", sys.executable, "-c", program, *map(str, words))
        self.joined(self.log)
        calls = json.loads(self.call("path", "--calls", "--json", self.log))
        check_all(calls)
        return calls

    def joined(self, *words):
        """All calls of logs; pieces of the critical path of each add up to it, or this fails."""
        done = subprocess.run([os.path.join(self.build, "tests", "path_joined"), *words], capture_output=True, text=True, timeout=TIMEOUT)
        expect(done.returncode == 0, "joined: %s", done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def path(self, *words):
        return json.loads(self.call("path", "--json", *words, self.log))

    def findings(self):
        return {f["rule"]: f for f in json.loads(self.call("report", "--json", self.log))["findings"]}

    def file(self, name="f"):
        return os.path.join(self.fs.mount, name)


def of(calls, layer, kind=None):
    return [c for c in calls if c["layer"] == layer and (kind is None or c["kind"] == kind)]


def check_all(calls):
    """What holds of every joined log: gaps add up, requests of calls lie where they say."""
    for c in calls:
        expect(c["before"] + c["inside"] + c["between"] + c["after"] == c["time"], "gaps of call %d do not add up", c["call"])
    for c in of(calls, "SERVER"):
        expect(c["link"] in ("order", "id"), "a request at a server has link %s", c["link"])


def draw(low, high):
    number = random.SystemRandom().randrange(low, high)
    print("drawn:", number)
    return number


def slow_brick(start):
    """One random brick of three is slower by a random time: it is named, and last nearly always; its cost is what would be saved
    without it, which the same job tells: it writes as much to bricks of which none is slow, by turns."""
    slow, delay, pieces = draw(0, 3), draw(2000, 8000), draw(80, 120)
    case = start(slow={slow: delay})
    other = gluster.Gluster(os.path.join(case.quiet, "other"), os.path.join(case.observed, "other"), letter="d")
    case.more.append(other)

    def measure():
        calls = case.observe(TURNS, pieces, REQUEST, case.file(), os.path.join(other.mount, "f"))
        saved = float(case.said.split()[0]) - float(case.said.split()[1])
        writes = [c for c in of(calls, "POSIX", "write") if c["file"] == case.file()]
        expect(len(writes) == pieces and {(c["requests"], c["rpcs"], c["disk_accesses"]) for c in writes} == {(1, 3, 3)}, "%d requests: %s", pieces, writes[:3])
        steps = case.path("--critical", "--call", str(writes[0]["call"]))
        expect(sum(step["time"] for step in steps) == writes[0]["time"], "pieces do not add up")
        worst = max(case.path("--servers"), key=lambda s: s["behind"])
        expect(worst["server"].startswith("c%d" % slow), "brick %d is slow, not %s", slow, worst["server"])
        expect(worst["of"] >= pieces, "it had a part in %d of %d requests", worst["of"], pieces)
        found = case.findings().get("C01")
        cost = found["cost_s"] if found and "c%d" % slow in found["title"] else 0
        print("last of %d/%d, costs %.3f s; without it %.3f s are saved; delays are %.3f s" % (worst["last"], worst["of"], cost, saved, pieces * delay * 1e-6))
        return worst["last"] / worst["of"], cost / saved

    best(3, measure, lambda seen: seen[0] >= 0.85 and 0.8 <= seen[1] <= 1.2, "brick %d" % slow)


def windows(calls):
    """of each writer, when its first request began and its last ended; and how long it waited for the first, ms"""
    writes = [c for c in of(calls, "POSIX", "write") if c["bytes"] == 8 * MIB]
    expect(len(writes) == 4, "%d writes", len(writes))
    found = sorted((c["start"] + c["before"], c["start"] + c["time"] - c["after"], c["before"] / 1e6) for c in writes)
    print("before the first request %s ms" % [w[2] for w in found])
    return found


def check_picture(case):
    """It has the slowest calls, but none that is too short to be seen beside them."""
    tops = [c["time"] for c in case.path("--calls") if c["role"] == "application" and not c["parent"]]
    seen = [t for t in tops if t >= max(tops) // 150]
    shown = case.call("path", "--svg", case.log).count(": the call itself ")
    expect(shown == min(len(seen), 24), "%d of %d calls are shown", shown, len(tops))


def stairs(start):
    """Four writers of one file take turns in the client: each begins when the one before has ended. Four files: they do not."""
    case = start()
    found = windows(case.observe(WRITERS, 4, 8 * MIB, case.file("one")))
    for one, after in zip(found, found[1:]):
        expect(after[0] >= one[1] - 1e6 and after[2] > one[2], "no stairs: %s", found)
    expect("C04" in case.findings(), "no finding tells of it")
    check_picture(case)
    found = windows(case.observe(WRITERS, 4, 8 * MIB, case.file("own%d")))
    expect(any(after[0] < one[1] for one, after in zip(found, found[1:])), "stairs with four files: %s", found)
    expect("C04" not in case.findings(), "a finding tells of writers of one file")


def cache(start):
    """What was just written is read from memory: no request, and that is told."""
    case = start()
    again = draw(3, 9)
    calls = case.observe(READER, case.file(), MIB, again)
    reads = [c for c in of(calls, "POSIX", "read") if c["bytes"] == MIB]
    print([(c["requests"], c["cached"]) for c in reads])
    expect(len(reads) == again and all(c["cached"] == (c["requests"] == 0) for c in reads), "%d reads", again)
    expect(sum(c["cached"] for c in reads) >= again - 1, "too few came from memory")
    expect("C06" in case.findings(), "no finding tells of it")


# many small writes in a row, which the client takes and answers before its servers do; then it waits for all of them
BEHIND = """
import os, sys
name, n, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fd = os.open(name, os.O_CREAT | os.O_RDWR)
for i in range(n):
    os.pwrite(fd, b"b" * size, i * size)
os.close(fd)
"""


def behind(start):
    """Write-behind: what servers do after a call has returned is `later`, and on no critical path, of a call or of the job."""
    n, size, delay = draw(60, 200), 4096, 5000
    case = start(above=("performance/write-behind",), slow={1: delay})
    calls = case.observe(BEHIND, case.file(), n, size)
    by_number, awaited = {c["call"]: c for c in calls}, set()
    writes = [c for c in of(calls, "POSIX", "write") if c["bytes"] == size and c["file"] == case.file()]
    rpcs = [c for c in of(calls, "CLIENT", "write") if c["bytes"] > 0]
    expect(len(writes) == n and rpcs, "%d writes, %d RPCs", len(writes), len(rpcs))

    def above(c):
        while c["parent"]:
            c = by_number[c["parent"]]
            yield c

    late = [c for c in calls if c["role"] != "application" and any(a["role"] == "application" and c["end"] > a["end"] + 20000 for a in above(c))]
    for c in late:
        expect("later" in [x["link"] for x in (c, *above(c))], "it ended after its call and is not `later`: %s", c)
    for c in (w for w in writes if w["time"] < delay * 1000):  # the slow server cannot have answered by then
        pieces = case.path("--critical", "--call", str(c["call"])) if len(awaited) < 12 else []
        expect(not pieces or sum(piece["time"] for piece in pieces) == c["time"], "pieces of %s", c)
        expect({piece["layer"] for piece in pieces} <= {"POSIX", "FUSE"}, "a server that had not answered is on the path of a call: %s", pieces)
        awaited.add(c["call"])
    expect(len(awaited) >= n // 2, "only %d of %d writes were answered before the servers did", len(awaited), n)
    unwaited = {c["call"] for c in calls if "later" in [x["link"] for x in (c, *above(c))]}
    whole = case.path("--critical")
    expect(not [piece for piece in whole if piece["call"] in unwaited], "what nobody waited for is on the path of the job")
    joined = sum(c["also_for"] for c in rpcs)
    print("%d writes, %d answered early; %d RPCs, %d of them later, for %d further writes" % (
        n, len(awaited), len(rpcs), len([c for c in rpcs if c["link"] == "later"]), joined))  # fmt: skip
    # of a busy machine much may be sent when the file is closed, which waits for it
    slow = [c for c in rpcs if c["server"].startswith("c1") and any(a["layer"] == "POSIX" and a["time"] < delay * 1000 for a in above(c))]
    expect(slow and all("later" in [x["link"] for x in (c, *above(c))] for c in slow), "RPCs of the slow server: %s", slow[:3])
    expect(joined > 0, "no RPC has what several writes wrote")
    expect(sum(s["later"] for s in [c for c in writes]) > 0, "no write says that something was done later")


NAMES = {"behind": behind, "slow-brick": slow_brick, "stairs": stairs, "cache": cache}


def perform(build, name):
    gluster.alone()
    with cases.folders(build, "path-" + name) as (observed, quiet):
        made = []

        def start(**more):
            made.append(Case(build, observed, quiet, **more))
            return made[0]

        try:
            NAMES[name](start)
        finally:
            for case in made:
                case.stop()


if __name__ == "__main__":
    cases.main(NAMES, perform)
