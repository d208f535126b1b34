# SPDX-License-Identifier: BSD-3-Clause
"""What `iorama emulate` delivers beside fio doing the same, by turns, in memory and on disk, in time and in processor time; MPI-IO beside a
loop of the same calls (IOR and mdtest are in no package of Debian); what a request costs without any I/O; what a rank costs that waits.
Part of bench/run.

Where that is allowed both run ahead of all others on the machine (chrt), which else cost one of them a fifth and the other nothing.
Ranks of Open MPI wait by trying again and would not let their own mpirun run: they are only preferred (nice).
Times are the least of several runs, as whatever else goes on only adds to them; per GiB, so that less is better, with 1/0.95 of the peer's as budget."""
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile

RANKS = 2
MIB = 1 << 20
SHARE = 0.95  # of the peer's bandwidth
NULL_BUDGET = 100  # ns per request
WAIT_CALLS, WAIT_CPU = 100, 1  # per second; per cent
AHEAD = ["chrt", "-f", "1"]
if not shutil.which("chrt") or subprocess.run([*AHEAD, "true"], capture_output=True, check=False).returncode != 0:
    AHEAD = []
PREFERRED = ["sh", "-c", 'echo -20 2>/dev/null >/proc/self/autogroup; exec nice -n -20 "$@"', "sh"] if AHEAD else []
FILES = 10_000  # small ones: fio counts in milliseconds


def children():
    """Processor time of all processes that were waited for, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Rig:
    """A folder to work in, and how both programs are run there. Each run is a session of its own and
    no part of it is another one (fio's processes would be): the kernel shares the processors among sessions."""

    def __init__(self, iorama, folder, on_disk):
        self.iorama, self.folder, self.on_disk = iorama, folder, on_disk

    def clear(self):
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))

    def share(self, name, theirs):
        """Both read the same files: where the pages of a file happen to lie in memory makes a difference of 10 to 20 %."""
        named = [word.split("=")[1] for word in theirs if word.startswith("--filename=")]
        for rank in range(1 if named else RANKS):
            ours = name if rank == 0 else "%s.%d" % (name, rank)
            os.link(os.path.join(self.folder, ours), os.path.join(self.folder, named[0] if named else "f.%d.0" % rank))

    def ours(self, *words, ranks=RANKS):
        command = [*AHEAD, self.iorama, "emulate", "app", *words, "--input_dir", self.folder, "--no-fill", "--json", "--ranks", str(ranks)]
        command += ["--fsync", "file" if self.on_disk else "never"] + (["--cold"] if self.on_disk else [])
        before = children()
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, start_new_session=True)
        result = json.loads(done.stdout)
        moved = result["total"]["bytes_read"] + result["total"]["bytes_written"]
        # as fio counts: the longest of the ranks, each from its own start to its own end, without waiting for the others
        seconds = result["seconds"] - min(rank["wait_s"] for rank in result["ranks"])
        return seconds / moved * (1 << 30), (children() - before) / moved * (1 << 30)

    def fio(self, *words, jobs=RANKS):
        command = [*AHEAD, "fio", "--name=f", "--directory=" + self.folder, "--ioengine=psync", "--fallocate=none", "--thread=1", "--group_reporting",
                   "--output-format=json", "--numjobs=%d" % jobs, "--create_on_open=1", "--randrepeat=1", *words]  # fmt: skip
        command += ["--end_fsync=1"] if self.on_disk else []
        before = children()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, start_new_session=True)
        job = json.loads(done.stdout[done.stdout.index(b"{"):])["jobs"][0]  # fmt: skip
        side = max((job["read"], job["write"]), key=lambda s: s["io_bytes"])
        return side["runtime"] / 1000 / side["io_bytes"] * (1 << 30), (children() - before) / side["io_bytes"] * (1 << 30)


def moves(size):
    """What moves large files: name, our words for the files, fio's, and the same for how they are moved."""
    each, small, share = str(size // RANKS), size // 8, str(size // 8 // RANKS)
    parts = "--offset_increment=%s", "--size=%s"
    large = "--segment_count", "1", "--transfer_size", "1MiB", "--block_size"
    tiny = "--segment_count", "1", "--transfer_size", "4KiB", "--order", "random", "--block_size"
    return [
        ("file per process", "file_per_process", "p", (*large, each), "", ("--bs=1m", "--size=" + each)),
        ("shared", None, "s", (*large, str(size)), "", ("--bs=1m", "--filename=g", *(p % each for p in parts))),
        ("4 KiB random", None, "q", (*tiny, str(small)), "rand", ("--bs=4k", "--filename=r", *(p % share for p in parts))),
    ]


def compare(bench, rig, what, ours, theirs, fresh):
    """Both by turns; the best of each. fresh: without files of the run before."""
    times = [], []
    for k in range(bench.options.runs):
        for which in (0, 1) if k % 2 == 0 else (1, 0):
            if fresh:
                rig.clear()
            times[which].append((ours, theirs)[which]())
    place = "disk" if rig.on_disk else "memory"
    for i, metric in enumerate(("time", "processor")):
        best = [min(t[i] for t in some) for some in times]
        bench.add("emulate %s, %s" % (what, place), metric, best[0], "s per GiB", best[1] / SHARE, best[1])


def engines(bench, rig):
    """Past the page cache, with io_uring, and both: in requests of 1 MiB and 4 KiB."""
    total = (64 if bench.options.quick else 256) * MIB
    for name, ours, theirs in (("O_DIRECT", ("direct",), ("psync", "--direct=1")), ("io_uring", ("uring", "--depth", "8"), ("io_uring", "--iodepth=8")),
                               ("io_uring and O_DIRECT", ("uring-direct", "--depth", "8"), ("io_uring", "--iodepth=8", "--direct=1"))):  # fmt: skip
        for request, size in ((MIB, total), (4096, total // 16)):
            each = str(size // RANKS)
            base = ("--segment_count", "1", "--block_size", each, "--transfer_size", str(request), "--engine", *ours)
            peer = ("--bs=%d" % request, "--size=" + each, "--ioengine=" + theirs[0], *theirs[1:])
            for side in ("write", "read"):
                words = ("--%s_filenames" % side, "e", "--file_per_process_" + side, *base)
                if side == "read":
                    rig.clear()
                    rig.ours(*(w.replace("read", "write") for w in words))
                    rig.share("e", ())
                what = "%s, %s, %d KiB" % (side, name, request // 1024)
                compare(bench, rig, what, lambda w=words: rig.ours(*w), lambda w=peer, s=side: rig.fio("--rw=" + s, *w), side == "write")
    rig.clear()


def small_files(bench, rig):
    """Files of 4 KiB, made and written one after the other."""
    names = ":".join("n%d" % i for i in range(FILES))
    words = ("--write_filenames", names, "--block_size", "4KiB", "--segment_count", "1", "--in_place")
    peer = ("--rw=write", "--bs=4k", "--nrfiles=%d" % FILES, "--size=%d" % (FILES * 4096), "--openfiles=1", "--file_service_type=sequential")
    compare(bench, rig, "%d small files" % FILES, lambda: rig.ours(*words, ranks=1), lambda: rig.fio(*peer, jobs=1), True)
    rig.clear()


def beside_fio(bench, iorama, folder, on_disk):
    rig = Rig(iorama, folder, on_disk)
    size = (256 if bench.options.quick else 2048) * MIB
    for what, flag, name, ours, order, theirs in moves(size):
        for side in ("write", "read"):
            words = ("--%s_filenames" % side, name, *(("--%s_%s" % (flag, side),) if flag else ()), *ours)
            peer = ("--rw=" + order + side, *theirs)
            if side == "read":
                rig.clear()
                rig.ours(*(w.replace("read", "write") for w in words))
                rig.share(name, theirs)
            compare(bench, rig, "%s, %s" % (side, what), lambda w=words: rig.ours(*w), lambda w=peer: rig.fio(*w), side == "write")
    rig.clear()
    if on_disk:
        engines(bench, rig)
    if not on_disk:  # on a disk it is the disk's journal that is measured
        small_files(bench, rig)


# ---- MPI-IO and metadata -----------------------------------------------------------------------


def mpi_io(bench, iorama, folder):
    """A shared file by MPI-IO, together and alone, beside a loop of the same calls."""
    size = (128 if bench.options.quick else 512) * MIB
    for family in ("openmpi", "mpich"):
        if not shutil.which("mpicc." + family):
            print("(no %s: MPI-IO is not measured with it)" % family)
            continue
        loop = os.path.join(folder, "together-" + family)
        subprocess.run(["mpicc." + family, "-O2", os.path.join(os.path.dirname(os.path.abspath(__file__)), "together.c"), "-o", loop], check=True)
        start = [*(PREFERRED if family == "openmpi" else ["chrt", "-r", "1"] if AHEAD else []), "mpirun." + family, "-n", str(RANKS)]
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        file = os.path.join(folder, "m")

        def ours(side, how, request):
            command = [*start, iorama, "emulate", "app", "--engine", "mpiio", "--mpiio_type", how, "--%s_filenames" % side, "m", "--in_place",
                       "--input_dir", folder, "--block_size", str(size), "--segment_count", "1", "--transfer_size", str(request),
                       "--no-fill", "--fsync", "never", "--json", "--quiet"]  # fmt: skip
            result = json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, start_new_session=True).stdout)
            return result[side]["io_time_s"] / size * (1 << 30), result[side]["p50_s"] * 1e6

        def theirs(side, how, request):
            command = [*start, loop, file, str(size), str(request), side, "all" if how == "collective" else "alone"]
            said = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, start_new_session=True).stdout.split()
            return float(said[0]) / size * (1 << 30), float(said[1]) * 1e6

        for how in ("collective", "noncollective"):
            for side in ("write", "read"):
                times = [], []
                for k in range(max(5, bench.options.runs)):
                    for which in (0, 1) if k % 2 == 0 else (1, 0):
                        if side == "write" and os.path.exists(file):
                            os.unlink(file)
                        times[which].append((ours, theirs)[which](side, how, MIB))
                # the sum has all that others on the machine took away from the slowest rank; the median of requests has not, but emulate
                # knows it only within 5 %
                for i, (metric, unit) in enumerate((("time", "s per GiB"), ("a request, median", "µs"))):
                    best = [min(t[i] for t in some) for some in times]
                    bench.add("emulate %s, %s MPI-IO, %s" % (side, how, family), metric, best[0], unit, best[1] / SHARE if i == 0 else None, best[1])
        for name in (file, loop, os.path.join(folder, ".iorama-emulate")):
            if os.path.exists(name):
                os.unlink(name)


def metadata(bench, iorama, folder):
    """Phases of md beside fio's engines that do the same: make, look at and remove empty files."""
    files = 5000 if bench.options.quick else 20000
    rates = {name: [[], []] for name in ("create", "stat", "unlink")}
    engine = {"create": "filecreate", "stat": "filestat", "unlink": "filedelete"}
    for _ in range(max(3, bench.options.runs)):
        command = [*AHEAD, iorama, "emulate", "md", "--num_files", str(files), "--input_dir", folder, "--json"]
        phases = json.loads(subprocess.check_output(command))["figures"]["phases"]
        for name, (mine, peer) in rates.items():
            mine.append(phases[name]["seconds"] / files * 1e6)
            words = [*AHEAD, "fio", "--name=f", "--directory=" + folder, "--ioengine=" + engine[name], "--nrfiles=%d" % files, "--filesize=4k", "--thread=1",
                     "--fallocate=none", "--output-format=json", "--openfiles=1", "--file_service_type=sequential"]  # fmt: skip
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                job = json.loads(done.stdout[done.stdout.index(b"{"):])["jobs"][0]  # fmt: skip
                peer.append(max(job["read"]["runtime"], job["write"]["runtime"]) / 1000 / files * 1e6)
            for left in os.listdir(folder):
                os.unlink(os.path.join(folder, left))
    for name, (mine, peer) in rates.items():
        other = min(peer) if peer else None
        bench.add("emulate md, " + name, "time", min(mine), "µs per file", other / SHARE if other else None, other)


# ---- the emulation itself ----------------------------------------------------------------------


def null_cost(bench, iorama):
    requests = 1_000_000 if bench.options.quick else 5_000_000
    command = [*AHEAD, iorama, "emulate", "app", "--engine", "null", "--no-fill", "--write_filenames", "f", "--block_size", str(4096 * requests),
               "--segment_count", "1", "--transfer_size", "4KiB", "--json"]  # fmt: skip
    best = min(json.loads(subprocess.check_output(command))["seconds"] for _ in range(max(3, bench.options.runs)))
    bench.add("emulate, engine null", "per request", best / requests * 1e9, "ns", NULL_BUDGET)


def waiting(bench, iorama, folder):
    """Between two time-outs: what starting and ending costs is in both."""
    calls, cpu, times = [], [], (1, 5)
    for seconds in times:
        command = [iorama, "emulate", "app", "--read_filenames", "missing", "--timeout", str(seconds), "--input_dir", folder, "--ranks", "2"]
        before = children()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cpu.append(children() - before)
        if shutil.which("strace"):
            text = subprocess.run(["strace", "-f", "-c", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
            found = re.search(r"^\s*100\.00\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total", text, re.M)
            calls.append(int(found[1]) if found else 0)
    span = (times[1] - times[0]) * 2  # ranks
    bench.add("emulate, a rank that waits", "processor", max(0, cpu[1] - cpu[0]) / span * 100, "%", WAIT_CPU)
    if calls:
        bench.add("emulate, a rank that waits", "system calls", (calls[1] - calls[0]) / span, "per second", WAIT_CALLS)


def measure(bench, folder):
    iorama, part = bench.iorama, bench.options.part
    if part in (None, "self"):
        null_cost(bench, iorama)
        waiting(bench, iorama, folder)
    if not shutil.which("fio"):
        print("(fio is not installed: bandwidth is not measured)")
        return
    if os.access("/dev/shm", os.W_OK):
        with tempfile.TemporaryDirectory(prefix="iorama-bench-", dir="/dev/shm") as memory:
            for name, act in (("memory", lambda: beside_fio(bench, iorama, memory, False)), ("metadata", lambda: metadata(bench, iorama, memory)),
                              ("mpi", lambda: mpi_io(bench, iorama, memory))):  # fmt: skip
                if part in (None, name):
                    act()
    if part in (None, "disk"):
        with tempfile.TemporaryDirectory(prefix="iorama-bench-", dir="/var/tmp") as disk:
            beside_fio(bench, iorama, disk, True)
