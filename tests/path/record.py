#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record.py BUILD CASE | --list: what FUSE daemons, GlusterFS clients and bricks do for others is recorded, to the request.

A GlusterFS of plain processes is started for each case (tests/lib/gluster.py). The truth is what the kernel counts at its own
tracepoints, what strace counts at bricks, and numbers that were sent along in the requests."""
import collections
import glob
import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
import gluster  # noqa: E402
from cases import FAMILIES, TIMEOUT, Skip, expect, wait  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REQUEST = 131072  # bytes of a FUSE request at most
BLOCK = 4096
TURNS = 100 if os.environ.get("IORAMA_TEST_LONG") else 20  # attached and detached so often


class Case(cases.Built):
    def __init__(self, build, observed, quiet, **more):
        super().__init__(build)
        self.observed, self.quiet = observed, quiet
        self.fs = gluster.Gluster(os.path.join(quiet, "fs"), os.path.join(observed, "mnt"), **more)
        self.witness, self.ranks = None, []
        self.random = random.Random(int(os.environ.get("IORAMA_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 32))

    def draw(self, low, high):
        return self.random.randrange(low, high)

    def call(self, *words, status=0, **env):
        done = subprocess.run([self.iorama, *words], capture_output=True, text=True, timeout=TIMEOUT, cwd=self.observed,
                              env=cases.environment(IORAMA_DIR=os.path.join(self.quiet, "segments"), LC_ALL="C.UTF-8", **env))  # fmt: skip
        expect(done.returncode == status, "%s: status %d: %s", " ".join(words), done.returncode, done.stderr)
        return done

    def all_pids(self):
        return [*self.ranks, *(str(pid) for pid in (self.fs.client_pid, *self.fs.brick_pids))]

    def attach(self, **env):
        """seconds that a thread of each was away"""
        done = self.call("attach", "--json", "--trace", "--log-dir", self.observed, *self.all_pids(), **env)
        return [one["borrowed"] for one in json.loads(done.stdout)]

    def detach(self):
        """The calls of all of them."""
        self.call("detach", *self.all_pids())
        logs = glob.glob(self.observed + "/*.darshan")
        found = self.links(*logs)
        for log in logs:
            os.unlink(log)
        return found

    def links(self, *logs):
        done = subprocess.run([os.path.join(self.build, "tests", "path_links"), *logs], capture_output=True, text=True, timeout=TIMEOUT)
        expect(done.returncode == 0, "links: %s", done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def see(self):
        self.witness = gluster.Witness(self.quiet, self.fs.connection())

    def file(self, name="f"):
        return os.path.join(self.fs.mount, name)

    def end(self):
        if self.witness:
            self.witness.end()
        self.fs.stop()


def of(calls, **what):
    return [c for c in calls if all(c[key] == value for key, value in what.items())]


def write_all(fd, data, offset):
    done = os.pwrite(fd, data, offset)
    expect(done == len(data), "%d of %d bytes were written", done, len(data))


def pieces(n):
    return -(-n // REQUEST)


def aligned(n):
    """Memory that begins at a page, for O_DIRECT."""
    import mmap  # pylint: disable=import-outside-toplevel
    memory = mmap.mmap(-1, n)
    memory.write(os.urandom(n))
    return memory


# ---- checks that hold of all that was recorded


def check_chain(case, calls, requests, kind="WRITE"):
    """`requests` of the kernel, three RPCs each, one request and one access at every brick; who belongs to whom."""
    fuse, rpcs = of(calls, layer="FUSE", kind=kind), of(calls, layer="CLIENT", kind=kind)
    served, disk = of(calls, layer="SERVER", kind=kind), of(calls, layer="POSIX", kind=kind, role=2)
    disk = [c for c in disk if c["parent"] != 0]
    count = (len(fuse), len(rpcs), len(served), len(disk))
    print("FUSE %d, RPCs %d, at bricks %d, accesses %d" % count)
    each = case.fs.n if kind == "WRITE" else case.fs.n - 1  # two of three bricks are enough to read
    expect(count == (requests, each * requests, each * requests, each * requests), "%s: %s instead of %d requests", kind, count, requests)
    me = {c["tid"] for c in fuse}
    expect({c["tid"] for c in rpcs} == me and {c["tid"] for c in served} == me, "threads differ: %s", me)
    by_unique = collections.Counter(c["unique"] for c in rpcs)
    expect(sorted(c["mark"] for c in fuse) == sorted(by_unique) and set(by_unique.values()) == {each}, "requests and RPCs do not fit")
    expect({c["object"] for c in rpcs} == {c["object"] for c in served} and 0 not in {c["object"] for c in rpcs}, "files differ: %s %s", {c["object"] for c in rpcs}, {(c["object"], c["peer"]) for c in served})
    own = {(c["pid"], c["lane"], c["id"]): c for c in served}
    for c in disk:
        above = own.get((c["pid"], c["lane"], c["parent"]))
        expect(above, "an access is part of no request: %s", c)
        expect((above["off"], above["bytes"]) == (c["off"], c["bytes"]), "an access is not what was asked for")
        expect(above["start"] <= c["start"] and c["start"] + c["length"] <= above["start"] + above["length"] + 1e-6, "an access outlasts its request")
    ends = {"c%d" % i: pid for i, pid in enumerate(case.fs.brick_pids)}
    host = of(calls, layer="SERVER")[0]["host"]
    for name, pid in ends.items():
        here = of(served, pid=pid)
        peers = {c["peer"] for c in here}
        expect(peers <= {"%s:%d:%s" % (host, case.fs.client_pid, name)}, "peers of %s: %s", name, peers)
        key = collections.Counter((c["tid"], c["object"], c["off"], c["bytes"]) for c in here)
        sent = collections.Counter((c["tid"], c["object"], c["off"], c["bytes"]) for c in of(rpcs, peer=name))
        expect(key == sent, "what %s was sent is not what its brick got", name)


def check_marks(calls):
    """Numbers that were sent along: each RPC is one request at the brick that it was for."""
    rpcs = [c for c in of(calls, layer="CLIENT") if c["kind"] != "CREATE"]  # its dictionary would become attributes
    sent = {c["mark"]: c for c in rpcs}
    got = [c for c in of(calls, layer="SERVER") if c["kind"] != "CREATE"]
    expect(len(sent) == len(rpcs) and 0 not in sent, "numbers are there twice, or missing")
    for c in got:
        other = sent.pop(c["mark"], None)
        expect(other, "a request came from nowhere: %s", c)
        expect(c["peer"], "no peer: %s", c)
        expect((other["tid"], other["op"], other["off"], other["peer"]) == (c["tid"], c["op"], c["off"], c["peer"].split(":")[2]), "%s\n%s", other, c)
        expect(c["object"] in (0, other["object"]) or other["object"] == 0, "files differ")
        expect(other["length"] >= c["length"] * 0.99, "it took longer at the brick than on the way: %s %s", other, c)
    expect(not sent, "%d RPCs came nowhere", len(sent))


# ---- cases


def buffered(case):
    """One write of n bytes: so many requests; the kernel and strace say the same."""
    n = case.draw(1, 40) * REQUEST + case.draw(0, REQUEST)
    offset = case.draw(0, 1000) * BLOCK
    print("%d bytes at %d" % (n, offset))
    case.see()
    case.attach()
    before = case.witness.counts().get("FUSE_WRITE", 0)
    strace = [subprocess.Popen(["strace", "-f", "-c", "-e", "trace=pwrite64", "-o", os.path.join(case.quiet, "strace%d" % i), "-p", str(pid)],
                               stderr=subprocess.PIPE, text=True) for i, pid in enumerate(case.fs.brick_pids)]  # fmt: skip
    for one in strace:
        line = one.stderr.readline()
        expect("attached" in line, "strace: %s", line)
    fd = os.open(case.file(), os.O_CREAT | os.O_RDWR, 0o600)
    write_all(fd, os.urandom(n), offset)
    os.fsync(fd)
    os.close(fd)
    for one in strace:
        one.terminate()
        one.wait(TIMEOUT)
    calls = case.detach()
    truth = case.witness.counts()
    print(truth)
    kernel = truth["FUSE_WRITE"] - before
    expect(kernel == pieces(n + offset % REQUEST) or kernel == pieces(n), "the kernel has sent %d requests", kernel)
    check_chain(case, calls, kernel)
    syncs = [len(of(calls, layer=layer, kind="SYNC")) for layer in ("FUSE", "CLIENT", "SERVER", "POSIX")]
    expect(syncs == [1, 3, 3, 3], "syncs: %s", syncs)
    for i, pid in enumerate(case.fs.brick_pids):
        counted = [line.split() for line in cases.text_of(os.path.join(case.quiet, "strace%d" % i)).splitlines() if line.endswith("pwrite64")]
        ours = len([c for c in of(calls, pid=pid, layer="POSIX", kind="WRITE") if c["parent"]])
        expect(counted and int(counted[0][3]) == ours, "strace counts %s, we %d", counted, ours)
    expect(sum(c["bytes"] for c in of(calls, layer="FUSE", kind="WRITE")) == n, "bytes are lost")


def direct(case):
    """O_DIRECT, several requests in flight; rewrites; reads without a cache."""
    size, times = case.draw(3, 9) * REQUEST, case.draw(3, 6)
    print("%d times %d bytes" % (times, size))
    memory = aligned(size)
    fd = os.open(case.file(), os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
    case.see()
    case.attach(IORAMA_PATH_ID="1")
    before = case.witness.counts()
    for _ in range(times):
        write_all(fd, memory, 0)
    expect(os.preadv(fd, [memory], 0) == size, "it cannot be read")
    os.close(fd)
    calls = case.detach()
    truth = case.witness.counts()
    print(truth)
    check_chain(case, calls, truth["FUSE_WRITE"] - before.get("FUSE_WRITE", 0))
    check_chain(case, calls, truth["FUSE_READ"] - before.get("FUSE_READ", 0), "READ")
    check_marks(calls)


def mixed(case):
    """Threads with equal offsets in different files, small writes, rewrites, cold reads: each RPC finds its request."""
    threads, problems = case.draw(6, 12), []
    seeds = [case.draw(0, 1 << 30) for _ in range(threads)]
    print("%d threads" % threads)
    case.attach(IORAMA_PATH_ID="1")

    def work(i):
        draw = random.Random(seeds[i])
        try:
            fd = os.open(case.file("f%d" % i), os.O_CREAT | os.O_RDWR | (os.O_DIRECT if i % 2 else 0), 0o600)
            memory = aligned(4 * REQUEST)
            for _ in range(8):
                size = draw.randrange(1, 64) * 1024 * (4 if i % 2 else 1)
                write_all(fd, memoryview(memory)[:size], draw.randrange(3) * REQUEST)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.preadv(fd, [memory], 0)
            os.close(fd)
        except OSError as why:
            problems.append(why)

    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    expect(not problems, "%s", problems)
    calls = case.detach()
    print(collections.Counter((c["layer"], c["kind"]) for c in calls))
    check_marks(calls)
    expect(len({c["tid"] for c in of(calls, layer="FUSE", kind="WRITE")}) == threads, "threads are missing")


def cycles(case):
    """Again and again, while data is written and read: no error, no byte is wrong, nobody ends."""
    stop, problems, rounds = threading.Event(), [], [0]

    def load(i):
        fd = os.open(case.file("load%d" % i), os.O_CREAT | os.O_RDWR | (os.O_DIRECT if i else 0), 0o600)
        memory = aligned(2 * REQUEST)
        while not stop.is_set():
            memory.seek(0)
            memory.write(os.urandom(len(memory)))
            is_now = hashlib.sha1(memory).digest()
            try:
                write_all(fd, memory, 0)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.preadv(fd, [memory], 0)
            except (OSError, cases.Failed) as why:
                problems.append(str(why))
                return
            if hashlib.sha1(memory).digest() != is_now:
                problems.append("bytes are wrong")
            rounds[0] += 1
        os.close(fd)

    running = [threading.Thread(target=load, args=(i,)) for i in range(2)]
    for one in running:
        one.start()
    seen, borrowed = 0, []
    try:
        for _ in range(TURNS):
            borrowed += case.attach()
            was = rounds[0]
            wait(lambda: problems or rounds[0] > was + 1, "the load goes on")
            calls = case.detach()
            seen += len(of(calls, layer="SERVER"))
            case.fs.check()
            expect(not problems, "%s", problems)
            expect(of(calls, layer="FUSE") and of(calls, layer="CLIENT") and of(calls, layer="SERVER"), "nothing was seen")
    finally:
        stop.set()
        for one in running:
            one.join()
    expect(not problems, "%s", problems)
    borrowed.sort()
    half = borrowed[len(borrowed) // 2]
    print("%d times: %d rounds of load, %d requests seen at bricks; a thread was away for %.1f ms half of the times, at most %.1f ms" % (
        TURNS, rounds[0], seen, half * 1e3, borrowed[-1] * 1e3))  # fmt: skip
    expect(half <= cases.BORROWED, "a thread was away for %.1f ms half of the times", half * 1e3)


RANKS = 3


def told(path):
    """a whole number that is written there again and again; 0: none is there now"""
    text = cases.text_of(path) if os.path.exists(path) else ""
    return int(text) if text.isdigit() else 0


def check_images(case):
    """What is in the files of the ranks is what they wrote."""
    with open(case.file("shared"), "rb") as file:
        shared = file.read()
    for rank in range(RANKS):
        with open(os.path.join(case.quiet, "image.%d" % rank), "rb") as file:
            image = file.read()
        with open(case.file("own.%d" % rank), "rb") as file:
            expect(hashlib.sha1(file.read()).digest() == hashlib.sha1(image).digest(), "rank %d: bytes of its file are wrong", rank)
        expect(shared[rank * len(image):(rank + 1) * len(image)] == image, "rank %d: bytes of the shared file are wrong", rank)


def cycles_ranks(case, family):
    """As cycles, with the ranks of a job, which write each its file and one together: all of them are attached and detached at once."""
    turns = 100 if os.environ.get("IORAMA_TEST_LONG") else 4
    program = case.compile_once("path_load_" + family, [HERE + "/load.c"], ["mpicc." + family, "-O1", "-o", None, HERE + "/load.c"])
    many = ["--oversubscribe"] if family == "openmpi" else []
    job = subprocess.Popen(["mpirun." + family, *many, "-n", str(RANKS), program, case.fs.mount, case.quiet], env=cases.environment(),
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=cases.die_with_parent)  # fmt: skip
    names, rounds = [os.path.join(case.quiet, "pid.%d" % rank) for rank in range(RANKS)], os.path.join(case.quiet, "rounds")
    wait(lambda: job.poll() is not None or all(told(name) for name in names) and told(rounds) > 1, "the ranks are at work")
    expect(job.poll() is None, "the job has ended with %s: %s", job.returncode, job.poll() is not None and job.stderr.read())
    case.ranks = [str(told(name)) for name in names]
    borrowed, seen = [], collections.Counter()
    for _ in range(turns):
        borrowed += case.attach()
        was = told(rounds)
        wait(lambda was=was: job.poll() is not None or told(rounds) > was + 1, "the load goes on")
        expect(job.poll() is None, "the job has ended with %s: %s", job.returncode, job.poll() is not None and job.stderr.read())
        calls = case.detach()
        case.fs.check()
        seen.update(c["layer"] for c in calls)
        expect({c["rank"] for c in calls if c["role"] == 0} == set(range(RANKS)), "ranks are missing: %s", {c["rank"] for c in calls if c["role"] == 0})
        expect(of(calls, layer="FUSE") and of(calls, layer="SERVER"), "nothing was seen")
    with open(os.path.join(case.quiet, "end"), "w", encoding="ascii"):
        pass
    said = job.communicate(timeout=TIMEOUT)[1]
    expect(job.returncode == 0, "the job ended with %s: %s", job.returncode, said)
    check_images(case)
    borrowed.sort()
    half = borrowed[len(borrowed) // 2]
    print("%d times, %d processes: %d rounds of load, %s; a thread was away for %.1f ms half of the times, at most %.1f ms" % (
        turns, len(borrowed) // turns, told(rounds), dict(seen), half * 1e3, borrowed[-1] * 1e3))  # fmt: skip
    expect(half <= cases.BORROWED, "a thread was away for %.1f ms half of the times", half * 1e3)


def preload(case):
    """A client that had the library from its start leaves a log with its requests at its end."""
    data = os.urandom(case.draw(1, 9) * REQUEST)
    case.see()
    before = case.witness.counts().get("FUSE_WRITE", 0)
    fd = os.open(case.file(), os.O_CREAT | os.O_RDWR, 0o600)
    write_all(fd, data, 0)
    os.close(fd)
    count = case.witness.counts()["FUSE_WRITE"] - before
    case.fs.stop()
    logs = glob.glob(case.observed + "/*.darshan")
    expect(logs, "the client has left no log")
    calls = case.links(*logs)
    writes = [c for c in of(calls, layer="FUSE", kind="WRITE") if c["bytes"] > 1]  # one more made sure that it works
    expect(len(writes) == count == pieces(len(data)), "%d of %d requests", len(writes), count)
    rpcs = [c for c in of(calls, layer="CLIENT", kind="WRITE") if c["unique"] in {w["mark"] for w in writes}]
    expect(len(rpcs) == 3 * count, "%d RPCs of %d requests", len(rpcs), count)
    expect({c["role"] for c in calls} == {1}, "it is not known to be a FUSE daemon")


def run_path(case, family):
    """iorama run --path: one log with the job and what was done for it."""
    n = case.draw(2, 20) * REQUEST // 2
    program = case.compile_once("path_writer_" + family, [HERE + "/writer.c"], ["mpicc." + family, "-O1", "-o", None, HERE + "/writer.c"])
    log = os.path.join(case.observed, "job.darshan")
    print("2 ranks, %d bytes each" % n)
    case.see()
    done = case.call("run", "--path", "-o", log, "--", "mpirun." + family, "-n", "2", program, case.file(), str(n),
                       ROMIO_PRINT_HINTS=None, OMPI_MCA_io="romio321")  # fmt: skip
    truth = case.witness.counts()
    print(done.stderr, truth)
    expect("not observed" not in done.stderr, "%s", done.stderr)
    calls = case.links(log)
    writes = of(calls, layer="FUSE", kind="WRITE")
    expect(len(writes) == truth["FUSE_WRITE"], "%d of %d requests", len(writes), truth["FUSE_WRITE"])
    expect({c["rank"] for c in calls if c["role"] == 0} == {0, 1} and {c["rank"] for c in calls if c["role"]} == {-1}, "ranks are wrong")
    check_chain(case, of(calls, rank=-1), truth["FUSE_WRITE"])
    threads = {c["thread"] for c in of(calls, layer="POSIX", role=0)}
    expect({c["tid"] for c in writes} <= threads, "requests of threads that are not the job's")
    inside = 0
    posix = of(calls, layer="POSIX", kind="WRITE", role=0)
    for w in writes:
        inside += any(p["thread"] == w["tid"] and p["start"] <= w["start"] and w["start"] + w["length"] <= p["start"] + p["length"] for p in posix)
    expect(inside == len(writes), "%d of %d requests lie in a call of their thread", inside, len(writes))
    job = case.call("path", log)
    expect("SERVER" in job.stdout and "FUSE" in job.stdout, "%s", job.stdout)


def later(build):
    """A call that does not wait keeps what it began: the access that MPI_Wait fetches is part of MPI_File_iwrite_at."""
    with cases.folders(build, "path-later") as (observed, quiet):
        built, log = cases.Built(build), os.path.join(observed, "job.darshan")
        program = built.compile_once("path_writer_mpich", [HERE + "/writer.c"], ["mpicc.mpich", "-O1", "-o", None, HERE + "/writer.c"])
        done = subprocess.run([built.iorama, "run", "--trace", "-o", log, "--", "mpirun.mpich", "-n", "2", program, observed + "/f", "40000", "later"],
                              env=cases.environment(IORAMA_DIR=os.path.join(quiet, "segments")), capture_output=True, text=True, timeout=TIMEOUT)  # fmt: skip
        expect(done.returncode == 0, "%s", done.stderr)
        lines = subprocess.run([os.path.join(build, "tests", "path_links"), log], capture_output=True, text=True, timeout=TIMEOUT).stdout
        calls = [json.loads(line) for line in lines.splitlines()]
        begun = {(c["rank"], c["lane"], c["id"]) for c in of(calls, op="MPI_File_iwrite_at")}
        moved = [c for c in of(calls, layer="POSIX", kind="WRITE") if c["op"].startswith("aio_return")]
        print([(c["op"], c["parent"]) for c in of(calls, layer="POSIX", kind="WRITE")])
        if not moved:
            raise Skip("this MPI does not write with aio")
        expect(len(begun) == 2 and {(c["rank"], c["lane"], c["parent"]) for c in moved} == begun, "%s %s", begun, moved)


def split(build, family):
    """What the two halves of a split collective call do is part of the first, also what is done when it ends; what is called between
    them is not."""
    with cases.folders(build, "path-split") as (observed, quiet):
        built, log = cases.Built(build), os.path.join(observed, "job.darshan")
        below = built.compile_once("libsplit_end_%s.so" % family, [HERE + "/split_end.c"],
                                   ["mpicc." + family, "-O1", "-shared", "-fPIC", "-o", None, HERE + "/split_end.c"])  # fmt: skip
        program = built.compile_once("path_split_" + family, [HERE + "/writer.c", below],
                                     ["mpicc." + family, "-O1", "-Wl,--no-as-needed", "-o", None, HERE + "/writer.c", below, "-Wl,-rpath," + os.path.dirname(below)])  # fmt: skip
        late, own = observed + "/late", [observed + "/own%d" % rank for rank in range(2)]
        done = subprocess.run([built.iorama, "run", "--trace", "-o", log, "--", "mpirun." + family, "-n", "2", program, observed + "/f", "40000", "split", *own],
                              env=cases.environment(IORAMA_DIR=os.path.join(quiet, "segments"), IORAMA_TEST_SPLIT=late), capture_output=True,
                              text=True, timeout=TIMEOUT)  # fmt: skip
        expect(done.returncode == 0, "%s", done.stderr)
        lines = subprocess.run([os.path.join(build, "tests", "path_links"), log], capture_output=True, text=True, timeout=TIMEOUT).stdout
        calls = [json.loads(line) for line in lines.splitlines()]
        by_id = {(c["rank"], c["lane"], c["id"]): c["op"] for c in calls}
        writes = of(calls, layer="POSIX", kind="WRITE")
        part_of = {(os.path.basename(c["file"]), by_id.get((c["rank"], c["lane"], c["parent"]))) for c in writes}
        print(part_of)
        expect({file for file, _ in part_of} >= {"late", "own0", "own1"}, "%s", part_of)
        for file, above in part_of:
            want = {"late": "MPI_File_write_at_all_begin", "f": "MPI_File_write_at_all_begin"}.get(file, "MPI_File_write_at")
            expect(above == want, "writes of %s are part of %s, not of %s", file, above, want)


# as another user, through a descriptor that root has opened: each thread writes once, and ends
STRANGER = """
import os, sys
fds = [os.open(sys.argv[1] + str(i), os.O_CREAT | os.O_RDWR) for i in range(4)]
while not os.path.exists(sys.argv[2]):
    for fd in fds:
        pid = os.fork()
        if pid == 0:
            os.setresuid(65534, 65534, 65534)
            os.pwrite(fd, b"s" * 131072, 0)
            os._exit(0)
        os.waitpid(pid, 0)
"""


def users(case):
    """Two users on one mount: threads of the other that have ended are not the job's, at daemon and servers; they are a number."""
    log, mine, stop, count = os.path.join(case.observed, "job.darshan"), case.file("mine"), os.path.join(case.quiet, "stop"), 9
    stranger = subprocess.Popen([sys.executable, "-c", STRANGER, case.file("stranger"), stop], preexec_fn=cases.die_with_parent)
    wait(lambda: os.path.exists(case.file("stranger3")) and os.path.getsize(case.file("stranger3")), "the other user", no=(OSError,))
    try:
        case.call("run", "--path", "-o", log, "--", "dd", "if=/dev/zero", "of=" + mine, "bs=%d" % REQUEST, "count=%d" % count)
    finally:
        with open(stop, "w", encoding="ascii"):
            pass
        stranger.wait(TIMEOUT)
    calls = case.links(log)
    fuse, served = of(calls, layer="FUSE", kind="WRITE"), of(calls, layer="SERVER", kind="WRITE")
    print("%d requests, %d at servers; users %s" % (len(fuse), len(served), {c["user"] for c in fuse}))
    expect(len(fuse) == count and {c["user"] for c in fuse} == {0}, "%d requests of %s", len(fuse), {c["user"] for c in fuse})
    expect(len(served) == 3 * count, "%d requests at servers", len(served))
    told = [line for line in case.call("show", log).stdout.splitlines() if "iorama_other_load = " in line]
    expect(len(told) == 1 and "FUSE /dev/fuse " in told[0] and "SERVER brick0 " in told[0], "the load of others is not told: %s", told)
    names = {os.path.basename(c["file"]) for c in calls}
    expect(not [name for name in names if "stranger" in name], "files of another are in the log: %s", names)


def run_others(case):
    """What others do meanwhile is a sum, not their calls; a job that uses nothing of it is told so."""
    stop = threading.Event()
    other = case.file("other")

    def load():
        fd = os.open(other, os.O_CREAT | os.O_RDWR, 0o600)
        while not stop.is_set():
            os.pwrite(fd, b"o" * REQUEST, 0)
        os.close(fd)

    running = threading.Thread(target=load)
    running.start()
    log, mine = os.path.join(case.observed, "job.darshan"), case.file("mine")
    try:
        case.call("run", "--path", "-o", log, "--", "dd", "if=/dev/zero", "of=" + mine, "bs=%d" % REQUEST, "count=7")
        idle = case.call("run", "--path", "-o", log + "2", "--", "true")
    finally:
        stop.set()
        running.join()
    calls = case.links(log)
    expect(len(of(calls, layer="FUSE", kind="WRITE")) == 7, "not the job's own: %d", len(of(calls, layer="FUSE", kind="WRITE")))
    shown = case.call("show", log).stdout
    told = [line for line in shown.splitlines() if "iorama_other_load = " in line]
    expect(len(told) == 1 and "FUSE /dev/fuse " in told[0] and "SERVER brick0 " in told[0], "the load of others is not told")
    expect("no request of the job was seen there" in idle.stderr, "%s", idle.stderr)
    expect(not of(case.links(log + "2"), layer="FUSE"), "requests of others are in the log")


def toy(build, how):
    """Any daemon that uses the C library: each request is seen, read as it is or out of a pipe, and what the thread that has it does
    for it is part of it. What another thread takes out of a pipe is counted as unseen."""
    with cases.folders(build, "path-toy") as (observed, quiet):
        built, mount, backing = cases.Built(build), os.path.join(observed, "mnt"), os.path.join(observed, "backing")
        program = built.compile_once("toyfuse", [HERE + "/toyfuse.c"], ["cc", "-D_GNU_SOURCE", "-O1", "-o", None, HERE + "/toyfuse.c", "-pthread"])
        os.mkdir(mount)
        env = cases.environment(LD_PRELOAD=built.library, IORAMA_TRACE="1", IORAMA_LOG_DIR=observed, IORAMA_DIR=os.path.join(quiet, "segments"))
        daemon = subprocess.Popen([program, mount, how, backing], env=env, stdout=subprocess.PIPE, text=True, preexec_fn=cases.die_with_parent)
        expect(daemon.stdout.readline() == "ready\n", "it cannot be mounted")
        size = random.randrange(1, 40) * BLOCK + 1
        fd = os.open(mount + "/f", os.O_RDWR)
        write_all(fd, b"t" * size, 0)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        expect(os.pread(fd, size, 0) == b"t" * size, "bytes are wrong")
        os.close(fd)
        subprocess.run(["umount", mount], check=True)
        reads, writes = map(int, daemon.stdout.readline().split())
        expect(daemon.wait(TIMEOUT) == 0, "it ended with %d", daemon.returncode)
        print("%d bytes: %d reads, %d writes" % (size, reads, writes))
        log = glob.glob(observed + "/*.darshan")
        shown = subprocess.run([built.iorama, "show", *log], capture_output=True, text=True, timeout=TIMEOUT).stdout
        done = subprocess.run([os.path.join(build, "tests", "path_links"), *log], capture_output=True, text=True, timeout=TIMEOUT)
        every = [json.loads(line) for line in done.stdout.splitlines()]
        calls, disk = of(every, layer="FUSE"), [c for c in of(every, layer="POSIX") if c["file"] == backing]
        if how == "helper":
            expect(not calls and "iorama_requests_unseen = " in shown, "it is not said that nothing was seen")
            expect(not [c for c in disk if c["parent"]], "accesses are part of what nobody saw: %s", disk)
            return
        seen = [len(of(calls, kind=kind)) for kind in ("READ", "WRITE")]
        expect(seen == [reads, writes], "%s were seen", seen)
        expect(sum(c["bytes"] for c in of(calls, kind="WRITE")) == size and {c["tid"] for c in of(calls, kind="WRITE")} == {os.getpid()}, "%s", of(calls, kind="WRITE")[:3])
        expect("iorama_requests_unseen" not in shown, "something is unseen")
        parts = {(c["lane"], c["id"]): (c["kind"], c["off"]) for c in calls}
        expect(len(disk) == reads + writes and all(parts.get((c["lane"], c["parent"])) == (c["kind"], c["off"]) for c in disk), "%s of %s", disk[:3], parts)


def toy_run(build):
    """iorama run --path with daemons whose threads wait in nothing but read() or splice() on their device, on mounts of type "fuse":
    their requests, and their own accesses for them, are parts of the job's calls."""
    for how in ("plain", "pieces"):
        with cases.folders(build, "path-toy") as (observed, quiet):
            built, mount, backing = cases.Built(build), os.path.join(observed, "mnt"), os.path.join(observed, "backing")
            program = built.compile_once("toyfuse", [HERE + "/toyfuse.c"], ["cc", "-D_GNU_SOURCE", "-O1", "-o", None, HERE + "/toyfuse.c", "-pthread"])
            os.mkdir(mount)
            env = cases.environment(IORAMA_DIR=os.path.join(quiet, "segments"), LC_ALL="C.UTF-8")
            daemon = subprocess.Popen([program, mount, how, backing], env=env, stdout=subprocess.PIPE, text=True, preexec_fn=cases.die_with_parent)
            expect(daemon.stdout.readline() == "ready\n", "it cannot be mounted")
            log, pieces_of = os.path.join(observed, "job.darshan"), random.randrange(3, 20)
            done = subprocess.run([built.iorama, "run", "--path", "-o", log, "--", "dd", "if=/dev/zero", "of=" + mount + "/f", "bs=%d" % BLOCK,
                                   "count=%d" % pieces_of, "conv=notrunc"], env=env, capture_output=True, text=True, timeout=TIMEOUT)  # fmt: skip
            expect(done.returncode == 0 and "is not observed" not in done.stderr and "can be seen" not in done.stderr, "%s", done.stderr)
            subprocess.run(["umount", mount], check=True)
            expect(int(daemon.stdout.readline().split()[1]) == pieces_of and daemon.wait(TIMEOUT) == 0, "the daemon had other writes")
            told = subprocess.run([built.iorama, "path", "--calls", "--json", log], capture_output=True, text=True, timeout=TIMEOUT).stdout
            writes = [c for c in json.loads(told) if c["layer"] == "POSIX" and c["kind"] == "write" and c["file"] == mount + "/f"]
            print("%s: %s" % (how, [(c["requests"], c["disk_accesses"]) for c in writes]))
            expect(len(writes) == pieces_of and {(c["requests"], c["disk_accesses"]) for c in writes} == {(1, 1)}, "%d writes: %s", pieces_of, writes[:3])
            expect({c["link"] for c in json.loads(told) if c["layer"] == "DISK"} == {"parent"}, "links of accesses")


def toy_killed(build):
    """Who kills iorama run --path leaves no daemon that goes on being observed, and no directory of its logs; the daemon lives."""
    with cases.folders(build, "path-toy") as (observed, quiet):
        built, mount = cases.Built(build), os.path.join(observed, "mnt")
        program = built.compile_once("toyfuse", [HERE + "/toyfuse.c"], ["cc", "-D_GNU_SOURCE", "-O1", "-o", None, HERE + "/toyfuse.c", "-pthread"])
        os.mkdir(mount)
        env = cases.environment(IORAMA_DIR=os.path.join(quiet, "segments"), LC_ALL="C.UTF-8", TMPDIR=quiet)
        daemon = subprocess.Popen([program, mount, "plain"], env=env, stdout=subprocess.PIPE, text=True, preexec_fn=cases.die_with_parent)
        expect(daemon.stdout.readline() == "ready\n", "it cannot be mounted")
        here = os.path.join(quiet, "here")
        tool = subprocess.Popen([built.iorama, "run", "-q", "--path", "-o", observed + "/job.darshan", "--", "sh", "-c", "echo > %s; read x" % here],
                                env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=cases.die_with_parent)  # fmt: skip
        wait(lambda: os.path.exists(here), "the job")

        def attach():
            return subprocess.run([built.iorama, "attach", "-q", "--log-dir", quiet, str(daemon.pid)], env=env, capture_output=True, text=True, timeout=TIMEOUT)

        expect("is attached already" in attach().stderr, "it was not attached")
        tool.kill()
        tool.communicate(timeout=TIMEOUT)
        wait(lambda: attach().returncode == 0, "its end")
        wait(lambda: not glob.glob(quiet + "/iorama-path-*"), "the end of the directory of its logs")
        subprocess.run([built.iorama, "detach", "-q", str(daemon.pid)], env=env, check=True, timeout=TIMEOUT)
        subprocess.run(["umount", mount], check=True)
        expect(daemon.wait(TIMEOUT) == 0, "it ended with %d", daemon.returncode)


def toy_uring(build):
    """What io_uring writes is done by threads of the kernel that no call knows: each request is linked with the operation that has its
    bytes, and what the daemon does for it is part of it."""
    cases.need("fio")
    with cases.folders(build, "path-toy") as (observed, quiet):
        built, mount, backing = cases.Built(build), os.path.join(observed, "mnt"), os.path.join(observed, "backing")
        program = built.compile_once("toyfuse", [HERE + "/toyfuse.c"], ["cc", "-D_GNU_SOURCE", "-O1", "-o", None, HERE + "/toyfuse.c", "-pthread"])
        os.mkdir(mount)
        env = cases.environment(IORAMA_DIR=os.path.join(quiet, "segments"), LC_ALL="C.UTF-8")
        daemon = subprocess.Popen([program, mount, "pieces", backing], env=env, stdout=subprocess.PIPE, text=True, preexec_fn=cases.die_with_parent)
        expect(daemon.stdout.readline() == "ready\n", "it cannot be mounted")
        log, n = os.path.join(observed, "job.darshan"), random.randrange(4, 30)
        fd = os.open(mount + "/f", os.O_WRONLY)  # as long as it will be: else fio makes a new one, which this daemon cannot
        write_all(fd, b"e", 16384 * n - 1)
        os.close(fd)
        done = subprocess.run([built.iorama, "run", "-q", "--path", "-o", log, "--", "fio", "--name=u", "--ioengine=io_uring", "--rw=write", "--bs=16k",
                               "--size=%dk" % (16 * n), "--iodepth=4", "--filename=%s/f" % mount, "--output=" + os.path.join(quiet, "fio")],
                              env=env, capture_output=True, text=True, timeout=TIMEOUT, cwd=quiet)  # fmt: skip
        subprocess.run(["umount", mount], check=True)
        written = int(daemon.stdout.readline().split()[1]) - 1
        daemon.wait(TIMEOUT)
        if done.returncode != 0 and cases.text_of("/proc/sys/kernel/io_uring_disabled").strip() != "0":
            raise Skip("there is no io_uring here")
        expect(done.returncode == 0, "%s %s", done.stderr, cases.text_of(os.path.join(quiet, "fio")))
        calls = json.loads(subprocess.run([built.iorama, "path", "--calls", "--json", log], capture_output=True, text=True, timeout=TIMEOUT).stdout)
        rings = {c["call"]: c for c in calls if c["operation"] == "io_uring WRITE"}
        requests = [c for c in calls if c["layer"] == "FUSE" and c["kind"] == "write"]
        print("%d operations, %d requests, links %s" % (len(rings), len(requests), {c["link"] for c in requests}))
        expect(len(rings) == n and len(requests) == written >= n, "%d operations, %d of %d requests", len(rings), len(requests), written)
        for c in requests:
            above = rings[c["parent"]]
            expect(c["link"] in ("range", "later") and above["offset"] <= c["offset"] and c["offset"] + c["bytes"] <= above["offset"] + above["bytes"], "%s", c)
            expect(c["disk_accesses"] == 1, "its access: %s", c)


def strange(build):
    """A version that is not known, or a table that does not look as it should: said, nothing is touched, and it goes on."""
    with cases.folders(build, "path-strange") as (observed, quiet):
        built, source = cases.Built(build), HERE + "/strange.c"
        program = built.compile_once("strange", [source], ["cc", "-DPROGRAM", "-O1", "-o", None, source, "-ldl"])
        env = cases.environment(IORAMA_DIR=os.path.join(quiet, "segments"), LC_ALL="C.UTF-8")
        for version, flags, server, said in (("99.1", [], False, "this version is not known"), ("10.3", ["-DFOREIGN"], False, "its tables do not look as they should"),
                                             ("10.x", ["-DFOREIGN"], True, "its tables do not look as they should"), ("10", [], True, "this version is not known"),
                                             ("6.10", [], True, "this version is not known"), ("12.0", [], False, "this version is not known"), ("10.9", ["-DFOREIGN"], None, "its tables do not look as they should"),
                                             ("10.7", ["-DLYING"], False, "a frame does not look as it should"), ("10.8", ["-DLYING"], True, "a frame does not look as it should")):  # fmt: skip
            libraries = []
            for name in ("protocol/client.so", "debug/io-stats.so", *(["storage/posix.so", "protocol/server.so"] if server else [])):
                path = os.path.join(quiet, "lib", "glusterfs", version, "xlator", name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                mine = [] if server is None and not libraries else flags  # of the last one only the second is wrong
                libraries.append(built.compile_into(path, [source], ["cc", "-shared", "-fPIC", "-O1", *mine, "-o", None, source]))
            process = subprocess.Popen([program, *libraries], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, preexec_fn=cases.die_with_parent)
            expect(process.stdout.readline() == "ready\n", "it does not start")

            def call(process=process):
                process.stdin.write("x\n")
                process.stdin.flush()
                return int(process.stdout.readline())

            first = call()
            for words in (["attach", "-q", "--trace", "--log-dir", observed], ["detach", "-q"]):
                done = subprocess.run([built.iorama, *words, str(process.pid)], capture_output=True, text=True, timeout=TIMEOUT, env=env)
                expect(done.returncode == 0, "%s: %s", words[0], done.stderr)
                again = call()
                expect(again == (first if flags == ["-DFOREIGN"] and server is not None else first + 1), "its operation is not its own any more: %d", again)
                first = again
            (log,) = glob.glob(observed + "/*.darshan")
            shown = subprocess.run([built.iorama, "show", log], capture_output=True, text=True, timeout=TIMEOUT).stdout
            told = [line for line in shown.splitlines() if "iorama_hooks = " in line]
            print(told)
            expect(len(told) == 1 and "not observed: " + said in told[0] and version in told[0], "%s: %s", version, told)
            os.unlink(log)
            process.stdin.close()
            expect(process.wait(TIMEOUT) == 0, "it ended with %s", process.returncode)


NAMES = {"buffered": buffered, "direct": direct, "mixed": mixed, "cycles": cycles, "preload": preload, "others": run_others,
         "toy-plain": None, "toy-splice": None, "toy-pieces": None, "toy-helper": None, "toy-run": None, "toy-uring": None, "toy-killed": None, "later": None, "strange": None, "users": users, **{"split-" + family: None for family in FAMILIES},
         **{"cycles-" + family: (lambda case, family=family: cycles_ranks(case, family)) for family in FAMILIES},
         **{"run-" + family: (lambda case, family=family: run_path(case, family)) for family in FAMILIES}}  # fmt: skip


def perform(build, name):
    if name in ("later", "strange"):
        return {"later": later, "strange": strange}[name](build)
    if name.startswith("split-"):
        return split(build, name[6:])
    gluster.alone()
    if name in ("toy-run", "toy-uring", "toy-killed"):
        return {"toy-run": toy_run, "toy-uring": toy_uring, "toy-killed": toy_killed}[name](build)
    if name.startswith("toy-"):
        return toy(build, name[4:])
    if name == "buffered":
        cases.need("strace")
    with cases.folders(build, "path-" + name) as (observed, quiet):
        more = {}
        if name == "preload":
            more["client_env"] = cases.environment(LD_PRELOAD=cases.Built(build).library, IORAMA_TRACE="1", IORAMA_LOG_DIR=observed,
                                                   IORAMA_DIR=os.path.join(quiet, "segments"))  # fmt: skip
        case = Case(build, observed, quiet, **more)
        try:
            return NAMES[name](case)
        finally:
            case.end()


if __name__ == "__main__":
    cases.main(NAMES, perform)
