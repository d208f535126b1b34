#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""truth.py BUILD CASE | --list: every link, from the call of the application to the disk of a brick, compared with what is known
otherwise: the program says what it asked for, requests carry a number (which joining does not get to see), the kernel counts at
its own tracepoints, and strace counts at the bricks."""
import collections
import glob
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
import gluster  # noqa: E402
import join  # noqa: E402
from cases import TIMEOUT, expect  # noqa: E402
from join import REQUEST  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE, STRIPE = 4096, 1024

# 14 threads in five ways: whole KiB again and again at few places, O_DIRECT with several requests under way, small ones in a row,
# odd ones, and reads that nothing is left of in memory. Prints what each did: file, write, offset, bytes.
MIXED = """
import json, mmap, os, random, sys, threading
folder, seed = sys.argv[1], int(sys.argv[2])
KIB, MIB = 1 << 10, 1 << 20
done, bad = {}, []

def work(i):
    draw, calls, way = random.Random(seed + i), [], i % 5
    name = os.path.join(folder, "f%d" % i)
    memory = mmap.mmap(-1, 4 * MIB)
    memory.write(random.Random(i).randbytes(4 * MIB))
    fd = os.open(name, os.O_CREAT | os.O_RDWR | (os.O_DIRECT if way == 1 else 0), 0o600)
    def write(offset, size):
        calls.append((name, True, offset, size))
        return os.pwritev(fd, [memoryview(memory)[:size]], offset) == size
    def read(offset, size):
        calls.append((name, False, offset, size))
        return os.preadv(fd, [memoryview(memory)[:size]], offset) == size
    good = True
    if way == 0:
        for _ in range(48):
            good &= write(draw.randrange(4) * 300 * KIB, draw.randrange(1, 500) * KIB)
    elif way == 1:
        for _ in range(26):
            good &= write(draw.randrange(3) * MIB, draw.randrange(32, 257) * 4 * KIB)
    elif way == 2:
        for k in range(200):
            good &= write(k * 4 * KIB, 4 * KIB)
    elif way == 3:
        for _ in range(48):
            good &= write(draw.randrange(MIB), draw.randrange(1, 400 * KIB))
    else:
        good &= write(0, 4 * MIB)
        for k in range(8):
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            size = (4 * MIB, 512 * KIB, 256 * KIB, 68 * KIB)[k % 4]
            for offset in range(0, 4 * MIB - size + 1, size):
                good &= read(offset, size)
    os.close(fd)
    done[threading.get_native_id()] = calls
    if not good:
        bad.append(i)

threads = [threading.Thread(target=work, args=(i,)) for i in range(14)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(json.dumps(done))
sys.exit(bool(bad))
"""


class Case(join.Case):
    """The file system is attached to by hand, with numbers in its requests; a job runs; the logs of both are joined."""

    runs = 0

    def pids(self):
        return [str(pid) for pid in (self.fs.client_pid, *self.fs.brick_pids)]

    def watch(self):
        self.witness = gluster.Witness(self.quiet, self.fs.connection())
        self.before = self.witness.counts()

    def count(self):
        """the kernel's requests since watch()"""
        now = self.witness.counts()
        self.witness.end()
        return {name: now.get(name, 0) - self.before.get(name, 0) for name in ("FUSE_READ", "FUSE_WRITE")}

    def run(self, *words, **env):
        """(what it printed, its calls and those of the file system, joined)"""
        folder = os.path.join(self.quiet, "logs-%d" % self.runs)
        self.runs += 1
        os.makedirs(folder)
        subprocess.run([self.iorama, "attach", "-q", "--trace", "--log-dir", folder, *self.pids()], check=True, timeout=TIMEOUT,
                       env=self.env(IORAMA_PATH_ID="1", IORAMA_TRACE_MEMORY="64M"))  # fmt: skip
        self.watch()
        counting = [Strace(self.quiet, pid) for pid in self.fs.brick_pids]
        done = subprocess.run([self.iorama, "run", "-q", "-f", "--trace", "-o", self.log, "--", *words], capture_output=True, text=True, timeout=TIMEOUT,
                              cwd=self.observed, env=self.env(**env))  # fmt: skip
        expect(done.returncode == 0, "%s: status %d: %s", words[0], done.returncode, done.stderr)
        self.straced = [one.end() for one in counting]
        self.kernel = self.count()
        subprocess.run([self.iorama, "detach", "-q", *self.pids()], check=True, timeout=TIMEOUT, env=self.env())
        self.fs.check()
        self.logs = [self.log, *glob.glob(folder + "/*.darshan")]
        return done.stdout, self.joined("--blind", *self.logs)


class Strace:
    """What strace counts of one process."""

    def __init__(self, folder, pid):
        self.path = os.path.join(folder, "strace.%d" % pid)
        self.process = subprocess.Popen(["strace", "-f", "-c", "-e", "trace=pwrite64,pread64", "-o", self.path, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        expect("attached" in line, "strace: %s", line)

    def end(self):
        self.process.terminate()
        self.process.wait(TIMEOUT)
        counted = {line.split()[-1]: int(line.split()[3]) for line in cases.text_of(self.path).splitlines() if line.endswith(("pwrite64", "pread64"))}
        return counted.get("pwrite64", 0), counted.get("pread64", 0)


def below(calls):
    """what each call has below it"""
    parts = collections.defaultdict(list)
    for c in calls:
        parts[c["parent"]].append(c)
    return parts


def moves(c):
    return c["bytes"] > 0 and c["kind"] in ("READ", "WRITE")


def check_numbers(calls):
    """Requests at bricks are linked with the request that carried the same number, all of them, and by what is in them anyway."""
    rpcs = {c["number"]: c for c in calls if c["layer"] == "CLIENT" and c["number"]}
    links, wrong, n = collections.Counter(), [], 0
    for c in calls:
        if c["layer"] != "SERVER":
            continue
        links[c["link"]] += 1
        if c["number"]:
            n += 1
            if c["parent"] != rpcs.pop(c["number"])["call"]:
                wrong.append(c)
    expect(not rpcs, "%d RPCs arrived nowhere", len(rpcs))
    expect(not wrong, "%d of %d links are wrong: %s", len(wrong), n, wrong[:2])
    expect(set(links) == {"order"}, "requests at bricks have links %s", links)
    return n


def how_many(off, size):
    """requests that the kernel makes of a write: of 32 pages each; a first page that is only a part may be one of its own"""
    first = min(size, -off % PAGE)
    return (-(-(size + off % PAGE) // REQUEST), (first > 0) + -(-(size - first) // REQUEST))


def check_writes(case, parts, posix):
    """of each write of the job: its bytes, so many requests, three RPCs and three accesses each; how many requests in all"""
    n = 0
    for c in posix:
        requests = [f for f in parts[c["call"]] if f["kind"] == "WRITE" and moves(f)]
        at = c["off"]
        for f in sorted(requests, key=lambda f: f["off"]):
            expect(f["link"] == "thread" and f["tid"] == c["thread"], "a request of another: %s of %s", f, c)
            expect(f["off"] == at, "a request is missing or of another call: %s in %s", f, c)
            at += f["bytes"]
            rpcs = [r for r in parts[f["call"]] if r["kind"] == "WRITE"]
            expect(sorted(r["server"].split()[0] for r in rpcs) == ["c%d" % i for i in range(case.fs.n)], "RPCs of a request: %s", rpcs)
            expect({(r["tid"], r["off"]) for r in rpcs} == {(f["tid"], f["off"] // STRIPE * STRIPE // 2)}, "RPCs of another request: %s of %s", rpcs, f)
            for r in rpcs:
                (served,) = parts[r["call"]]
                accesses = [d for d in parts[served["call"]] if d["kind"] == "WRITE"]
                expect(len(accesses) == 1 and (accesses[0]["off"], accesses[0]["bytes"]) == (served["off"], served["bytes"]), "accesses: %s", accesses)
        expect(at == c["off"] + c["bytes"] and len(requests) in how_many(c["off"], c["bytes"]), "%d requests of %s", len(requests), c)
        n += len(requests)
    return n


def check_reads(parts, posix):
    """A read has the requests that touch its bytes; what touches none of them is read ahead, and said to be. What was asked for
    by a call that had ended when the daemon took it is part of none: nobody waited for it."""
    n, late, files = 0, 0, {}
    for c in posix:
        for f in (f for f in parts[c["call"]] if f["kind"] == "READ" and moves(f)):
            inside = f["off"] < c["off"] + c["bytes"] and c["off"] < f["off"] + f["bytes"]
            expect(f["tid"] == c["thread"] and files.setdefault(f["object"], c["file"]) == c["file"], "a request of another: %s of %s", f, c)
            expect(f["link"] in (("thread", "range") if inside else ("ahead",)), "%s of %s", f, c)
            n += 1
    for f in parts[-1]:
        if f["layer"] == "FUSE" and f["kind"] == "READ" and moves(f):
            expect(not [c for c in posix if c["thread"] == f["tid"] and c["start"] <= f["start"] <= c["end"]], "no link, but there is a call: %s", f)
            late += 1
    return n, late


def mixed(case):
    """14 threads: rewrites, O_DIRECT, small and odd pieces, cold reads; at least 2,000 requests, every link right."""
    seed = join.draw(0, 1 << 30)
    said, calls = case.run(sys.executable, "-c", MIXED, case.fs.mount, str(seed))
    posix = [c for c in calls if c["layer"] == "POSIX" and c["role"] == 0 and c["file"].startswith(case.fs.mount) and moves(c)]
    parts, truth = below(calls), {int(tid): [tuple(c) for c in done] for tid, done in json.loads(said).items()}
    seen = collections.defaultdict(list)
    for c in posix:
        seen[c["thread"]].append((c["file"], c["kind"] == "WRITE", c["off"], c["bytes"]))
    expect(len(truth) == 14 and seen == truth, "calls of the job are not those it made")
    numbers = check_numbers(calls)
    writes = check_writes(case, parts, [c for c in posix if c["kind"] == "WRITE"])
    reads, late = check_reads(parts, [c for c in posix if c["kind"] == "READ"])
    print("%d writes, %d reads, %d reads in no call, %d numbers compared; kernel: %s, strace: %s" % (writes, reads, late, numbers, case.kernel, case.straced))
    print(collections.Counter((c["layer"], c["kind"], c["link"]) for c in calls))
    expect(case.kernel == {"FUSE_WRITE": writes, "FUSE_READ": reads + late}, "the kernel has sent others")
    expect([w for w, _ in case.straced] == [writes] * case.fs.n, "strace counts %s accesses, %d requests were written", case.straced, writes)
    ours = [len([d for d in calls if d["layer"] == "DISK" and d["kind"] == "READ" and d["pid"] == pid]) for pid in case.fs.brick_pids]
    expect([r for _, r in case.straced] == ours, "strace counts %s reads, we %s", case.straced, ours)
    expect(writes + reads >= 2000, "only %d requests", writes + reads)


def check_waiting(case, writes):
    """What one rank writes for all is on the critical path of the job, whichever rank was the last to return."""
    pieces = json.loads(case.call("path", "--critical", "--json", *case.logs))
    below = sum(p["time"] for p in pieces if p["layer"] in ("POSIX", "FUSE", "CLIENT", "SERVER", "DISK"))
    writing, reached = 0, 0
    for w in sorted(writes, key=lambda w: w["start"]):
        writing += max(0, w["end"] - max(reached, w["start"]))
        reached = max(reached, w["end"])
    print("writes take %.3f s, %.3f s of the critical path are below the collective call" % (writing * 1e-9, below * 1e-9))
    expect(below >= 0.8 * writing, "%d of %d ns are on the critical path", below, writing)


FIELD, START, BUFFER = 45056000, 1024, 1 << 24
SUBCALLS = [(START, BUFFER), (START + BUFFER, BUFFER), (START + 2 * BUFFER, FIELD - 2 * BUFFER)]
SENT = [129, 129, 89]  # requests of each: the first page of each is a part


def s3d(case, family, library, buffers=1, **env):
    """The collective write of a field: three sub-calls, their requests, RPCs and accesses, in numbers that are known beforehand."""
    source, name = os.path.join(HERE, "s3d.c"), case.file("field-%d" % case.runs)
    more = ["-DPNETCDF"] if library == "PNETCDF" else []
    program = case.compile_once("path_s3d_%s_%s" % (library, family), [source],
                                ["mpicc." + family, "-O1", *more, "-o", None, source, *(["-lpnetcdf"] if more else [])])  # fmt: skip
    _, calls = case.run("mpirun." + family, "-n", "4", program, name, str(buffers * BUFFER), **env)
    parts, numbers = below(calls), check_numbers(calls)
    tops = [c for c in calls if c["op"] == ("ncmpi_put_vara_double_all" if more else "MPI_File_write_at_all")]
    expect(len(tops) == 4 and sum(c["bytes"] for c in tops) == FIELD and {c["parent"] for c in tops} == {-1}, "%s", tops)
    collective = [c for c in calls if c["op"] == "MPI_File_write_at_all"]
    expect(len(collective) == 4 and {c["parent"] for c in collective} == ({c["call"] for c in tops} if more else {-1}), "%s", collective)
    writes = [(c, w) for c in collective for w in parts[c["call"]] if w["layer"] == "POSIX" and w["kind"] == "WRITE"]
    expect([(w["off"], w["bytes"]) for _, w in writes] == SUBCALLS and len({c["call"] for c, _ in writes}) == 1, "sub-calls: %s", writes)
    links = collections.Counter()
    for (_, w), sent in zip(writes, SENT):
        requests = [f for f in parts[w["call"]] if f["kind"] == "WRITE"]
        rpcs = [r for f in requests for r in parts[f["call"]]]
        served = [s for r in rpcs for s in parts[r["call"]]]
        disk = collections.Counter(d["pid"] for s in served for d in parts[s["call"]] if d["kind"] == "WRITE")
        links.update(f["link"] for f in requests)
        found = (len(requests), len(rpcs), len(served), sorted(disk.items()))
        expect(found == (sent, 3 * sent, 3 * sent, sorted((pid, sent) for pid in case.fs.brick_pids)), "%d requests: %s", sent, found)
        expect(sum(f["bytes"] for f in requests) == w["bytes"], "bytes are missing")
    check_waiting(case, [w for _, w in writes])
    other = len([f for f in calls if f["layer"] == "FUSE" and f["kind"] == "WRITE" and moves(f)]) - sum(SENT)  # a header
    print("%s, %s: %s requests by %s, %d RPCs, %d numbers compared; kernel: %s, strace: %s; others: %d" % (
        family, library, SENT, dict(links), 3 * sum(SENT), numbers, case.kernel, case.straced, other))  # fmt: skip
    expect(sum(SENT) == 347 and case.kernel["FUSE_WRITE"] == 347 + other and other <= (8 if more else 0), "the kernel has sent others")
    expect([w for w, _ in case.straced] == [347 + other] * 3, "strace counts %s", case.straced)
    return set(links)


def s3d_mpich(case):
    expect(s3d(case, "mpich", "MPI") == {"thread"}, "links are not by thread")


def s3d_openmpi(case):
    """With ROMIO, and with OMPIO, whose requests are made by helper threads of the C library; it fills half a buffer while the
    other is written."""
    expect(s3d(case, "openmpi", "MPI", OMPI_MCA_io="^ompio") == {"thread"}, "links are not by thread")
    expect(s3d(case, "openmpi", "MPI", 2, OMPI_MCA_io="ompio") == {"range"}, "links are not by range")


def s3d_pnetcdf(case):
    expect(s3d(case, "openmpi", "PNETCDF", OMPI_MCA_io="^ompio") == {"thread"}, "links are not by thread")


NAMES = {"links": mixed, "s3d-mpich": s3d_mpich, "s3d-openmpi": s3d_openmpi, "s3d-pnetcdf": s3d_pnetcdf}


def perform(build, name):
    gluster.alone()
    cases.need("strace", *(["mpicc.mpich"] if name == "s3d-mpich" else ["mpicc.openmpi"] if name != "links" else []))
    with cases.folders(build, "path-" + name) as (observed, quiet):
        case = Case(build, observed, quiet)
        try:
            NAMES[name](case)
        finally:
            case.stop()


if __name__ == "__main__":
    cases.main(NAMES, perform)
