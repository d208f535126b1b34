#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""app.py BUILD [CASE…]: mode app. Sizes, contents and, by strace, which rank moved what; and what happens when it cannot be done."""
import itertools
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time

import check
from harness import FAMILIES, LAUNCHERS, LIST, LOCAL, OPENMPI, PART, Failed, Skip, cases, environment, expect, main

ENGINES = ("posix", "vector", "stdio", "direct", "mmap", "uring")
ORDERS = ("sequential", "strided", "random")
RANKS = (1, 2, 4, 7)
FORMS = {"hdf5": check.HDF5, "pnetcdf": check.NETCDF}
UNUSABLE = re.compile(r"io_uring cannot be used|Invalid argument|built without it")


def may_fail(case, *words, engine, **more):
    """Engines that this machine, or its MPI, does not have are left out."""
    try:
        case.emulate(*words, "--engine", engine, **more)
        return True
    except Failed as why:
        if engine in ("direct", "uring", "hdf5", "pnetcdf") and UNUSABLE.search(str(why)):
            return False
        raise


# ---- what is written and read


def layouts(ranks):
    """Name and parameters of each layout of files, and the files that come out: name, block, segments."""
    pair = [("a", 1009, 13), ("b", 1009, 13)]
    yield "shared", ["--transfer_size", "500"], [("a", 1009, 13), ("b", 4096, 3), ("c", 1, 1)]
    yield "named", ["--ranks_per_file_write", "0:" + ("%d,0" % (ranks - 1) if ranks > 1 else "0")], pair
    yield "own", ["--file_per_process_write", "--transfer_size", "777"], [
        ("a" if r == 0 else "a.%d" % r, 3001, 2) for r in range(ranks)]  # fmt: skip
    yield "procs", ["--num_procs_per_file_write", "1:2:99", "--transfer_size", "999"], pair + [("c", 10000, 2)]
    yield "empty", [], [("a", 0, 3), ("b", 5, 1), ("c", 7, 0)]
    yield "whole", ["--whole", "--transfer_size", "1001"], pair


def side(name, folder, files):
    """The parameters that say which files are read or written."""
    return ["--%s_input_dirs" % name, folder, "--%s_filenames" % name, ":".join(f[0] for f in files),
            "--%s_block_size" % name, ":".join(str(f[1]) for f in files),
            "--%s_segment_count" % name, ":".join(str(f[2]) for f in files)]  # fmt: skip


class Chain:
    """Each run reads, with --verify, what the one before it wrote with other ranks in another way; the files are checked here too."""

    def __init__(self, case, engine, launcher=LOCAL):
        self.case, self.engine, self.launcher = case, engine, launcher
        self.before, self.number = None, 0
        self.order = itertools.cycle(ORDERS)

    def run(self, ranks, layout, *more):
        words, files = next((w, f) for n, w, f in layouts(ranks) if n == layout)
        folder = "d%d" % self.number
        written = files[:1] if layout == "own" else files
        words = [*words, *side("write", folder, written), *more, "--order", next(self.order), "--verify"]
        if self.before is not None and layout != "whole":
            words += side("read", "d%d" % (self.number - 1), self.before)
        if not may_fail(self.case, "app", *words, engine=self.engine, ranks=ranks, launcher=self.launcher):
            raise Skip("engine %s cannot be used here" % self.engine)
        self.case.only(*(f[0] for f in files), folder=folder)
        for name, block, segments in files:
            self.case.holds(os.path.join(folder, name), name, block * segments, form=FORMS.get(self.engine))
        self.before, self.number = files, self.number + 1


KINDS = ("shared", "named", "own", "procs", "empty", "whole")


def engines(case, engine):
    chain = Chain(case, engine)
    for kind in KINDS:
        for ranks in RANKS:
            chain.run(ranks, kind, "--depth", ranks)


MPI_WAYS = {
    "posix": [("collective", 7, "shared")],
    "mpiio": [("collective", 1, "shared"), ("collective", 7, "shared"), ("collective", 2, "procs"), ("noncollective", 4, "own"),
              ("nonblocking", 2, "empty"), ("nonblocking", 4, "named"), ("noncollective", 2, "whole")],
    "hdf5": [("collective", 4, "shared"), ("noncollective", 2, "own"), ("collective", 2, "empty")],
    "pnetcdf": [("collective", 4, "shared"), ("noncollective", 2, "own"), ("collective", 2, "empty")],
}  # fmt: skip


def mpi_engines(case, family, engine):
    case.need(family)
    os.makedirs(case.path("probe"))
    if not may_fail(case, "app", *side("write", "probe", [("a", 100, 1)]), engine=engine, ranks=1, launcher=family):
        # Debian has PnetCDF for one family only: with the other the message says so, and nothing is left
        case.only(folder="probe")
        return
    chain = Chain(case, engine, family)
    for kind, ranks, layout in MPI_WAYS[engine]:
        chain.run(ranks, layout, "--mpiio_type", kind, "--depth", 3, "--hints", "cb_nodes=1", "--transfer_size", 2000)


# ---- who moves what, as the kernel saw it


def parts_of(size, request, parts, order):
    """Requests of each part, in order, as facts of the documentation: neighbours in equal pieces, or dealt out by turns."""
    every = [(at, min(request, size - at)) for at in range(0, size, request)]
    n = len(every)
    if order == "strided":
        return [every[p::parts] for p in range(parts)]
    return [every[n * p // parts:n * (p + 1) // parts] for p in range(parts)]


def traced(case, *words, ranks, launcher):
    """[{file: [(offset, length), …]} for each rank] of the writes and reads of a run."""
    cases.need("strace")
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        raise Skip("strace may not be used here")
    trace = ["strace", "-y", "-e", "trace=pwrite64,pread64"]
    if launcher == LOCAL:
        case.emulate(*words, ranks=ranks, wrap=[*trace, "-ff", "-o", case.path("trace")])
        names = sorted((f for f in os.listdir(case.folder) if f.startswith("trace.")), key=lambda f: int(f[6:]))
    else:
        case.need(launcher)
        inner = 'exec %s -ff -o trace.$(printf %%03d "$%s") "$0" "$@"' % (
            " ".join(trace), "OMPI_COMM_WORLD_RANK" if launcher == OPENMPI else "PMI_RANK")  # fmt: skip
        case.iorama, real = "sh", case.iorama
        command = case.command(*words, ranks=ranks, launcher=launcher)
        case.iorama = real
        at = command.index("sh")
        command[at:at + 1] = ["sh", "-c", inner, real]
        done = subprocess.run(command, cwd=case.folder, env=environment(), capture_output=True,
                              text=True, timeout=120, check=False)  # fmt: skip
        expect(done.returncode == 0, "traced run: %s", done.stderr)
        names = sorted(f for f in os.listdir(case.folder) if f.startswith("trace."))
    return [moves(case.path(n)) for n in names]


MOVE = re.compile(r'^p(?:write|read)64\(\d+<([^>]*)>, .*, (\d+), (\d+)\) += (\d+)$')


def moves(path):
    found = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            m = MOVE.match(line.strip())
            if m and "/d/" in m[1]:
                name = os.path.basename(m[1])
                if name != LIST:
                    found.setdefault(re.sub(PART + "$", "", name), []).append((int(m[3]), int(m[4])))
    return found


def who(case, launcher):
    ranks, size, request = 4, 10007, 333
    for order in ORDERS if launcher == LOCAL else ("strided",):
        words = ["app", "--input_dir", "d", "--write_filenames", "a:b:c", "--block_size", size, "--segment_count", 1,
                 "--transfer_size", request, "--order", order, "--ranks_per_file_write", "0,1,2,3:2,0:3"]  # fmt: skip
        for name in os.listdir(case.folder):
            if name.startswith("trace."):
                os.unlink(case.path(name))
        seen = [s for s in traced(case, *words, ranks=ranks, launcher=launcher) if s]
        want = [{} for _ in range(ranks)]
        for name, users in {"a": (0, 1, 2, 3), "b": (2, 0), "c": (3,)}.items():
            for part, rank in zip(parts_of(size, request, len(users), order), users):
                want[rank][name] = part
        if order == "random":
            expect(any(s["a"] != sorted(s["a"]) for s in seen), "random requests come in order")
            seen = [{n: sorted(r) for n, r in s.items()} for s in seen]
        expect(seen == want, "%s: ranks moved %s, not %s", order, seen, want)


def least_busy(case):
    """Files of one rank each go to ranks that have least: with as many files as ranks, one each."""
    words = ["app", "--input_dir", "d", "--write_filenames", "a:b:c:d", "--block_size", 100, "--segment_count", 1,
             "--num_procs_per_file_write", "1"]  # fmt: skip
    seen = [s for s in traced(case, *words, ranks=4, launcher=LOCAL) if s]
    expect(sorted(sorted(s) for s in seen) == [["a"], ["b"], ["c"], ["d"]], "files are dealt out as %s", seen)


CALLS = {"collective": ("COLL", 12), "noncollective": ("INDEP", 10), "nonblocking": ("NB", 10)}


def observed(case, family):
    """The run seen by `iorama run`: which calls of MPI-IO were made. 10 requests of 3 ranks are 4 collective calls of each."""
    case.need(family)
    with tempfile.TemporaryDirectory(prefix="emulate-") as elsewhere:  # files below /dev are not observed
        observe(case, family, elsewhere)


def observe(case, family, folder):
    for kind, (name, calls) in CALLS.items():
        words = case.command("app", "--input_dir", "d", "--write_filenames", "a", "--block_size", 1000, "--segment_count", 10,
                             "--engine", "mpiio", "--mpiio_type", kind, "--depth", 2, "--fsync", "never", ranks=3,
                             launcher=family)  # fmt: skip
        done = subprocess.run([case.iorama, "run", "-f", "-o", "log", "--", *words], cwd=folder, capture_output=True,
                              env=environment(IORAMA_DIR=case.path("seg")), text=True, timeout=120, check=False)  # fmt: skip
        expect(done.returncode == 0, "%s: %s", kind, done.stderr)
        total = subprocess.run([case.iorama, "show", "--total", "log"], cwd=folder, capture_output=True, text=True,
                               check=True).stdout  # fmt: skip
        want = {"BYTES_WRITTEN": 10000, "COLL_WRITES": 0, "INDEP_WRITES": 0, "NB_WRITES": 0, name + "_WRITES": calls}
        have = {n: int(re.search(r"^total_MPIIO_%s: (\d+)$" % n, total, re.MULTILINE)[1]) for n in want}
        expect(have == want, "%s: %s instead of %s", kind, have, want)


# ---- parameters


def files_of_parameters(case):
    with open(case.path("p.ini"), "w", encoding="utf-8") as file:
        file.write("# a comment\n[files]\nwrite_filenames = x:y\nblock-size = 1KiB\nsegment_count = 3\ninput_dir = d\n")
    with open(case.path("p.json"), "w", encoding="utf-8") as file:
        file.write('{"write_filenames": ["x", "y"], "block_size": "1KiB", "segment_count": 3, "input_dir": "e", "verify": true}')
    for name, folder in (("p.ini", "d"), ("p.json", "e")):
        case.emulate("app", "--config_file", name, "--segment_count=5", "--seed", 42)
        case.only("x", "y", folder=folder)
        case.holds(folder + "/x", size=5120, seed=42)
    case.emulate("--config_file", "p.ini", "--subtype", "app", "--input_dir", "f")
    case.holds("f/y", size=3072)


def usage(case):
    def complaint(*words, status=2):
        return case.emulate(*words, status=status).stderr

    for words, text in (
        (["app", "--wrte_filenames", "x"], "did you mean write_filenames"),
        (["app", "--block_size"], "--block_size needs SIZE"),
        (["app", "--block_size", "1x", "--write_filenames", "x"], '"1x" is not a size'),
        (["app"], "nothing to do"),
        (["nonsense"], "no mode 'nonsense'"),
        ([], "which mode?"),
        (["app", "--engine", "mpiio", "--write_filenames", "x"], "needs MPI"),
        (["app", "--engine", "warp", "--write_filenames", "x"], "no engine is called warp"),
        (["app", "--ranks_per_file_write", "5", "--write_filenames", "x", "--ranks", "2"], "rank 5 of 2"),
        (["app", "--ranks_per_file_write", "1,1", "--write_filenames", "x", "--ranks", "2"], "named twice"),
        (["app", "--ranks", "0", "--write_filenames", "x"], "ranks: from 1"),
        (["app", "--block_size", 1 << 62, "--write_filenames", "x"], "x: 10 segments of 4611686018427387904 bytes are more than a file can have"),
    ):
        found = complaint(*words)
        expect(text in found, "%s: says %r, not %r", words, found, text)
    with open(case.path("bad.ini"), "w", encoding="utf-8") as file:
        file.write("input_dir = d\nblock_sise = 4\n")
    found = complaint("app", "--config_file", "bad.ini", status=3)
    expect("bad.ini line 2" in found and "block_size" in found, "a wrong file: %r", found)
    expect("nowhere" in complaint("app", "--config_file", "nowhere", status=3), "a file that is missing is not named")
    found = case.emulate("app", "--use_axl", "--write_filenames", "x", "--num_epochs", "3").stderr
    expect("use_axl does nothing" in found and "num_epochs has no meaning" in found, "no warnings: %r", found)
    case.only("bad.ini", "x")
    expect("--write_filenames" in case.emulate("app", "--help").stdout, "no help of a mode")
    case.emulate("app", "--write_filenames", "y", "-o", "result", "-q")
    expect(os.path.getsize(case.path("result")) > 0, "no result in -o FILE")


def large(case):
    """More than 4 GiB: no byte is written that is not needed to show it."""
    case.emulate("app", "--engine", "null", "--write_filenames", "x", "--block_size", "1GiB", "--segment_count", 8,
                 "--transfer_size", "1MiB", "--input_dir", "n", "--ranks", 2, "--no-fill")  # fmt: skip
    size = 5 << 30
    os.makedirs(case.path("d"))
    with open(case.path("d", "x"), "wb") as file:
        for at in (0, (4 << 30) - 4096, size - 4096):
            file.seek(at)
            file.write(check.pattern("x", 4096, 1, 0, at))
    if os.stat(case.path("d", "x")).st_blocks > 1000:
        raise Skip("no sparse files here")
    # two ranks, whose second half begins below and ends above 4 GiB; holes are what --verify calls lost
    found = case.emulate("app", "--read_filenames", "x", "--block_size", "5GiB", "--segment_count", 1, "--input_dir", "d",
                         "--transfer_size", "1MiB", "--ranks", 2).stdout  # fmt: skip
    expect("5368709120" in found.replace(",", "") or "5 GiB" in found or "5.0 GiB" in found, "read: %r", found)


# ---- faults


def limited(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def no_space(case):
    """The limit is reached in the middle of the second file of three."""
    for engine in ENGINES:
        done = case.start("app", "--input_dir", "d", "--write_filenames", "a:b:c", "--engine", engine, "--write_block_size",
                          "1MiB:3MiB:1MiB", "--segment_count", 1, "--transfer_size", "64KiB", ranks=3,
                          preexec_fn=limited(2 << 20), restore_signals=False)  # fmt: skip
        _, told = done.communicate(timeout=60)
        if engine in ("direct", "uring") and UNUSABLE.search(told):
            continue
        expect(done.returncode == 4, "%s: status %d: %r", engine, done.returncode, told)
        expect(re.search("d/b" + PART, told) and "File too large" in told and told.count("\n") == 1, "%s: %r", engine, told)
        case.only(folder="d")


def full_disk(case, launcher):
    """A file system that is too small: nothing is begun."""
    os.mkdir(case.path("m"))
    script = 'mount -t tmpfs -o size=2m none m || exit 77; "$@"; status=$?; ls m; exit $status'
    for engine in ("posix", "mmap", "uring") if launcher == LOCAL else ("posix", "mpiio"):
        words = case.command("app", "--input_dir", "m", "--write_filenames", "a:b", "--block_size", "1MiB", "--segment_count", 4,
                             "--transfer_size", "64KiB", "--engine", engine, ranks=2, launcher=launcher)  # fmt: skip
        done = subprocess.run(["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c", script,
                               "sh", *words], cwd=case.folder, env=environment(), capture_output=True, text=True, timeout=60,
                              check=False)  # fmt: skip
        if done.returncode in (77, 1) or "io_uring cannot" in done.stderr:
            raise Skip("no file systems can be mounted here: %s" % done.stderr.strip())
        said = re.search(r"^iorama emulate: m: there is room for 2.0 MiB, but 8.0 MiB are", done.stderr, re.MULTILINE)
        expect(done.returncode == 4 and said, "%s: %d %r", engine, done.returncode, done.stderr)
        expect(done.stdout.strip() == "", "%s: left behind: %r", engine, done.stdout)


def missing(case, launcher):
    began = time.monotonic()
    done = case.emulate("app", "--input_dir", "d", "--read_filenames", "in", "--write_filenames", "out", "--timeout", "300ms",
                        ranks=2, launcher=launcher, status=3)  # fmt: skip
    expect("d/in: not complete after 0.3 s; another program should have written it (it " in done.stderr, "%r", done.stderr)
    expect(time.monotonic() - began < 60, "the time-out took %.1f s", time.monotonic() - began)
    case.only()


def unreadable(case):
    """A file that may not be read, one that is shorter than it should be, one that is none."""
    os.makedirs(case.path("d"))
    case.emulate("app", "--input_dir", "d", "--write_filenames", "in", "--block_size", 1000, "--segment_count", 2)
    words = ["app", "--input_dir", "d", "--read_filenames", "in", "--block_size", 1000, "--segment_count", 2,
             "--timeout", "200ms"]  # fmt: skip
    os.chmod(case.path("d", "in"), 0)
    os.chmod(case.folder, 0o755)
    more = {"preexec_fn": lambda: os.setuid(65534)} if os.getuid() == 0 else {}
    done = case.emulate(*words, ranks=2, status=4, **more)
    expect("d/in" in done.stderr and "Permission denied" in done.stderr, "%r", done.stderr)
    os.chmod(case.path("d", "in"), 0o644)
    with open(case.path("d", "in"), "r+b") as file:
        file.truncate(1500)
    expect("not complete" in case.emulate(*words, ranks=2, status=3).stderr, "a short file is read")
    os.unlink(case.path("d", "in"))
    os.mkdir(case.path("d", "in"))
    case.emulate(*words, ranks=2, status=3)


def wrong_bytes(case):
    """--verify tells what is wrong: one byte, a range of zeros, data of another run, of another place."""
    words = ["app", "--input_dir", "d", "--block_size", 100000, "--segment_count", 1, "--transfer_size", "7777"]
    for text, change in (
        ("garbage", lambda b: b[:5000] + bytes([b[5000] ^ 1]) + b[5001:]),
        ("lost", lambda b: b[:64000] + bytes(1000) + b[65000:]),
        ("misplaced", lambda b: b[:3200] + b[32000:33600] + b[4800:]),
        ("stale", lambda b: b[:320] + check.pattern("x", 640, 1, 7, 320) + b[960:]),
        ("foreign", lambda b: b[:320] + check.pattern("y", 640, 1, 0, 320) + b[960:]),
        ("torn", lambda b: b[:328] + bytes([b[328] ^ 0xFF]) + b[329:]),
    ):
        if os.path.exists(case.path("d", "x")):
            os.unlink(case.path("d", "x"))
        case.emulate(*words, "--write_filenames", "x", ranks=2)
        with open(case.path("d", "x"), "r+b") as file:
            right = file.read()
            file.seek(0)
            file.write(change(right))
        wrong = sum(a != b for a, b in zip(right, change(right)))
        expect(wrong > 0, "the test changes nothing")
        done = case.emulate(*words, "--read_filenames", "x", "--verify", ranks=3, status=3)
        expect("wrong" in done.stderr and (text in done.stderr or text in ("garbage", "torn")), "%s: %r", text, done.stderr)
        case.emulate(*words, "--read_filenames", "x", ranks=3)


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(p) for p in found.split()]


def until(condition, text):
    end = time.monotonic() + 60
    while not condition():
        expect(time.monotonic() < end, "%s: did not come", text)
        time.sleep(0.01)


def killed(case):
    """A rank that is killed while it works, and while all wait; and rank 0 itself."""
    write = ["app", "--input_dir", "d", "--write_filenames", "a:b", "--block_size", "1KiB", "--segment_count", "3000000",
             "--fsync", "request", "--file_per_process_write"]  # fmt: skip
    for words, what in ((write, "write"), (["app", "--input_dir", "d", "--read_filenames", "never"], "wait")):
        run = case.start(*words, ranks=3)
        until(lambda r=run: len(children(r.pid)) == 2, "ranks")
        if what == "write":
            until(lambda: sum(os.path.getsize(case.path("d", f)) > 0 for f in case.files("d")) == 3, "files")
        os.kill(children(run.pid)[1], signal.SIGKILL)
        _, told = run.communicate(timeout=60)
        expect(run.returncode == 4 and "ended in the middle of the run" in told and "rank 2" in told, "%s: %d %r", what,
               run.returncode, told)  # fmt: skip
        case.only(folder="d")
    run = case.start(*write, ranks=3)
    until(lambda: sum(os.path.getsize(case.path("d", f)) > 0 for f in case.files("d")) == 3, "files")
    others = children(run.pid)
    run.kill()
    run.communicate(timeout=60)
    until(lambda: not any(os.path.exists("/proc/%d" % p) for p in others), "the end of the other ranks")
    expect(all(f.endswith(".part") for f in case.files("d")), "files that look complete: %s", case.files("d"))


def stopped(case):
    """Told to end, by a signal to one or to all: what was begun is not left behind."""
    for number, everyone in ((signal.SIGTERM, False), (signal.SIGINT, True)):
        run = case.start("app", "--input_dir", "d", "--write_filenames", "a", "--block_size", "1KiB", "--segment_count",
                         "3000000", "--fsync", "request", ranks=3, start_new_session=True)  # fmt: skip
        until(lambda: [os.path.getsize(case.path("d", f)) > 0 for f in case.files("d")] == [True], "the file")
        if everyone:
            os.killpg(run.pid, number)
        else:
            run.send_signal(number)
        _, told = run.communicate(timeout=60)
        expect(run.returncode == 4 and "stopped by signal %d" % number in told, "%d: %d %r", number, run.returncode, told)
        case.only(folder="d")


def workers(folder, family):
    """Processes of the worker program that work in this folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            program = os.readlink("/proc/%s/exe" % pid)
            if program.endswith("iorama-worker-" + family) and os.readlink("/proc/%s/cwd" % pid) == folder:
                found.append(int(pid))
        except OSError:
            pass
    return found


def killed_rank(case, family):
    """A rank that is killed under a launcher: the job ends, and all of it."""
    case.need(family)
    run = case.start("app", "--input_dir", "d", "--write_filenames", "a", "--block_size", "1KiB", "--segment_count", "3000000",
                     "--fsync", "request", "--file_per_process_write", ranks=3, launcher=family)  # fmt: skip
    until(lambda: sum(os.path.getsize(case.path("d", f)) > 0 for f in case.files("d")) == 3, "files")
    os.kill(workers(case.folder, family)[1], signal.SIGKILL)
    run.communicate(timeout=60)
    expect(run.returncode != 0, "a job with a dead rank ends well")
    until(lambda: not workers(case.folder, family), "the end of the other ranks")
    expect(all(f.endswith(".part") for f in case.files("d")), "files that look complete: %s", case.files("d"))


def failing(case, family):
    """With MPI one rank fails alone while the others are in a collective call: the job ends all the same."""
    os.makedirs(case.path("d"))
    done = case.emulate("app", "--input_dir", "d", "--write_filenames", "a", "--engine", "mpiio", "--hints", "nonsense",
                        ranks=3, launcher=family, status=2)  # fmt: skip
    expect("hints" in done.stderr, "%r", done.stderr)
    case.only(folder="d")


def rates(case):
    """Requests that overlap are not added up, syncs belong to writing, percentiles are in order, and it is said how it was computed."""
    words = ["app", "--write_filenames", "x", "--block_size", "16MiB", "--segment_count", 1, "--transfer_size", 65536]
    for more in (["--engine", "uring", "--depth", 16], ["--fsync", "request"], []):
        found = json.loads(case.emulate(*words, *more, "--json").stdout)
        side, total = found["write"], found["total"]
        expect(side["io_time_s"] <= found["seconds"] * 1.001, "%s: %s s of I/O in %s s", more, side["io_time_s"], found["seconds"])
        expect(side["io_time_s"] >= total["sync_s"], "%s: syncs are no writing", more)
        expect(0 < side["p50_s"] <= side["p95_s"] <= side["p99_s"] <= side["longest_s"], "%s: %s", more, side)
        if "uring" in more:
            expect(total["write_s"] > 1.5 * side["io_time_s"], "16 at a time take %s, each %s", side["io_time_s"], total["write_s"])
        else:
            expect(side["io_time_s"] >= 0.9 * (total["write_s"] + total["sync_s"]), "%s: %s of %s", more, side, total)
    # one process that writes and then reads cannot have done both all the time
    found = json.loads(case.emulate("pc", *words[3:], "--engine", "uring", "--depth", 16, "--json").stdout)
    both = found["write"]["io_time_s"] + found["read"]["io_time_s"]
    expect(found["read"]["requests"] == 256 and both <= 1.3 * found["seconds"], "%s s of I/O in %s s", both, found["seconds"])
    said = case.emulate(*words).stdout
    expect("  rates     bytes / I/O time" in said and re.search(r"p50 .*, p95 .*, p99 .*, max ", said), "%s", said)


def repeated(case, launcher):
    """Several runs: as many values, whose mean and standard error are those of our own arithmetic."""
    words = ["app", "--write_filenames", "f", "--block_size", 5000, "--segment_count", 2, "--repeat", 5]
    found = json.loads(case.emulate(*words, "--json", ranks=2, launcher=launcher).stdout)
    runs = found["repeated"]
    expect(runs["runs"] == 5 and runs["seconds"]["values"][-1] == found["seconds"], "%s", runs)
    expect(runs["write_bandwidth"]["values"][-1] == found["write"]["bandwidth"], "%s %s", runs, found["write"])
    for key in ("seconds", "write_bandwidth", "read_bandwidth"):
        one = runs[key]
        expect(len(one["values"]) == 5 and abs(statistics.mean(one["values"]) - one["mean"]) <= 1e-9 * one["mean"], "%s", one)
        error = statistics.stdev(one["values"]) / 5**0.5
        expect(abs(error - one["standard_error"]) <= 1e-9 * error, "%s, not %s", one, error)
    expect(found["total"]["bytes_written"] == 10000, "all runs are in the totals: %s", found["total"])
    case.holds("f", "f", 10000)
    told = case.emulate(*words, ranks=2, launcher=launcher).stdout
    expect(re.search(r"repeated +5 runs, mean and standard error: .* ± .*, written .* ± ", told), "told %s", told)
    case.emulate("app", "--write_filenames", "f", "--repeat", 0, status=2)


def shifted(case):
    """--shift 1: each reads what the next one wrote, its file or its part of a shared one."""
    sizes = {"write_block_size": "100:200:300", "read_block_size": "100:200:300"}
    words = [w for key, value in sizes.items() for w in ("--" + key, value)] + ["--segment_count", 1, "--verify", "--json"]
    case.emulate("app", "--file_per_process_write", "--write_filenames", "a:b:c", *words[:2], "--segment_count", 1, ranks=3)
    for shift, want in ((0, [100, 200, 300]), (1, [200, 300, 100]), (5, [300, 100, 200])):
        found = json.loads(case.emulate("app", "--file_per_process_read", "--read_filenames", "a:b:c", *words, "--shift", shift,
                                        ranks=3).stdout)  # fmt: skip
        have = [r["bytes_read"] for r in found["ranks"]]
        expect(have == want, "shift %d: %s, not %s", shift, have, want)
    # a shared file of 5 requests: ranks have 1, 2 and 2 of them
    shared = ["--transfer_size", 100, "--block_size", 500, "--segment_count", 1, "--json", "--verify"]
    case.emulate("app", "--write_filenames", "s", *shared, ranks=3)
    for shift, want in ((0, [100, 200, 200]), (2, [200, 100, 200])):
        found = json.loads(case.emulate("app", "--read_filenames", "s", *shared, "--shift", shift, ranks=3).stdout)
        have = [r["bytes_read"] for r in found["ranks"]]
        expect(have == want, "shift %d of a shared file: %s, not %s", shift, have, want)


def knobs(case):
    """--fill, --rate, --cold, and io_uring past the page cache."""
    words = ["app", "--write_filenames", "f", "--block_size", "64KiB", "--segment_count", 4, "--json"]
    contents = {}
    for fill in ("each", "once", "never"):
        case.emulate(*words, "--fill", fill)
        with open(case.path("f"), "rb") as file:
            contents[fill] = file.read()
    case.emulate(*words, "--fill", "once", "--verify", status=2)
    expect(contents["never"] == bytes(4 << 16), "--fill never: not zeros")
    parts = [contents["once"][i << 16 : (i + 1) << 16] for i in range(4)]
    expect(len(set(parts)) == 1 and parts[0].count(0) < 30000, "--fill once: not the same data in each request")
    expect(len({contents["each"][i << 16 : (i + 1) << 16] for i in range(4)}) == 4, "--fill each: the same data")
    found = json.loads(case.emulate(*words, "--rate", "512KiB").stdout)  # the last of four begins when three have had their time
    expect(found["seconds"] >= 3 * 65536 / 524288, "--rate: %s s", found["seconds"])
    expect(found["write"]["io_time_s"] < found["seconds"] / 2, "holding back counts as I/O: %s", found["write"])
    read = ["app", "--read_filenames", "f", "--block_size", "64KiB", "--segment_count", 4]
    case.emulate(*words)
    expect("--cold" in case.emulate(*read).stdout, "warm caches are not told")
    expect("--cold" not in case.emulate(*read, "--cold").stdout, "cold caches are told as warm")


def uring_direct(case):
    """Aligned requests past the page cache, others through it; the data are right."""
    folder = tempfile.mkdtemp(dir=os.environ.get("IORAMA_TEST_DISK") or "/var/tmp")
    try:
        words = ["app", "--engine", "uring-direct", "--depth", 4, "--input_dir", folder, "--block_size", 70000, "--segment_count", 3,
                 "--transfer_size", 8192, "--verify"]  # fmt: skip
        done = case.emulate(*words, "--write_filenames", "f", status=None)
        if "cannot be used" in done.stderr or "Invalid argument" in done.stderr:
            raise Skip("io_uring or O_DIRECT: %s" % done.stderr.strip())
        expect(done.returncode == 0, "%s", done.stderr)
        case.holds(os.path.join(folder, "f"), "f", 210000)
        found = json.loads(case.emulate(*words, "--read_filenames", "f", "--json").stdout)
        expect(found["total"]["bytes_read"] == 210000, "%s", found["total"])
        strace = case.strace("-e", "trace=openat")
        case.emulate(*words, "--read_filenames", "f", wrap=strace)
        opened = [line for name in os.listdir(case.folder) if name.startswith("trace.") for line in open(case.path(name), encoding="utf-8")]
        expect(any("O_DIRECT" in line for line in opened if '/f"' in line), "not opened with O_DIRECT")
    finally:
        cases.remove(folder)


def paper_engine(case, family):
    """Called as the paper calls it, under MPI: MPI-IO, unless something else is said."""
    words = ["--type", "data", "--subtype", "app", "--write_filenames", "f", "--block_size", 100, "--json"]
    for more, engine in (([], "mpiio"), (["--io_api", "posixio"], "posix"), (["--engine", "vector"], "vector")):
        found = json.loads(case.emulate(*words, *more, ranks=2, launcher=family).stdout)
        expect(found["engine"] == engine, "%s: engine %s", more, found["engine"])
    expect(json.loads(case.emulate(*words).stdout)["engine"] == "posix", "without MPI")


CASES = {"engine-" + e: lambda c, e=e: engines(c, e) for e in ENGINES}
CASES.update({"%s-%s" % (f, e): lambda c, f=f, e=e: mpi_engines(c, f, e)
              for f in FAMILIES for e in ("posix", "mpiio", "hdf5", "pnetcdf")})  # fmt: skip
CASES.update({"who-" + one: lambda c, one=one: who(c, one) for one in LAUNCHERS})
CASES.update({"observed-" + one: lambda c, one=one: observed(c, one) for one in FAMILIES})
CASES.update({"full-disk-" + one: lambda c, one=one: full_disk(c, one) for one in LAUNCHERS})
CASES.update({"missing-" + one: lambda c, one=one: missing(c, one) for one in LAUNCHERS})
CASES.update({"failing-" + one: lambda c, one=one: failing(c, one) for one in FAMILIES})
CASES.update({"killed-" + one: lambda c, one=one: killed_rank(c, one) for one in FAMILIES})
CASES.update({"repeated-" + one: lambda c, one=one: repeated(c, one) for one in LAUNCHERS})
CASES.update({"paper-engine-" + one: lambda c, one=one: paper_engine(c, one) for one in FAMILIES})
CASES.update({"least-busy": least_busy, "parameters": files_of_parameters, "usage": usage, "large": large,
              "no-space": no_space, "unreadable": unreadable, "wrong-bytes": wrong_bytes, "killed": killed,
              "stopped": stopped, "rates": rates, "shifted": shifted, "knobs": knobs, "uring-direct": uring_direct})  # fmt: skip

if __name__ == "__main__":
    main(CASES)
