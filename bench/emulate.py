# SPDX-License-Identifier: BSD-3-Clause
"""What `iorama emulate` delivers beside fio doing the same, by turns, in memory and on disk; what a request costs without any I/O; what
a rank costs that waits. Part of bench/run.

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
        command = [self.iorama, "emulate", "app", *words, "--input_dir", self.folder, "--no-fill", "--json", "--ranks", str(ranks)]
        command += ["--fsync", "file" if self.on_disk else "never"] + (["--cold"] if self.on_disk else [])
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, start_new_session=True)
        result = json.loads(done.stdout)
        moved = result["total"]["bytes_read"] + result["total"]["bytes_written"]
        # as fio counts: the longest of the ranks, each from its own start to its own end, without waiting for the others
        seconds = result["seconds"] - min(rank["wait_s"] for rank in result["ranks"])
        return seconds / moved * (1 << 30)

    def fio(self, *words, jobs=RANKS):
        command = ["fio", "--name=f", "--directory=" + self.folder, "--ioengine=psync", "--fallocate=none", "--thread=1", "--group_reporting",
                   "--output-format=json", "--numjobs=%d" % jobs, "--create_on_open=1", "--randrepeat=1", *words]  # fmt: skip
        command += ["--end_fsync=1"] if self.on_disk else []
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, start_new_session=True)
        job = json.loads(done.stdout[done.stdout.index(b"{"):])["jobs"][0]  # fmt: skip
        side = max((job["read"], job["write"]), key=lambda s: s["io_bytes"])
        return side["runtime"] / 1000 / side["io_bytes"] * (1 << 30)


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
    best = min(times[0]), min(times[1])
    place = "disk" if rig.on_disk else "memory"
    bench.add("emulate %s, %s" % (what, place), "time", best[0], "s per GiB", best[1] / SHARE, best[1])


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
    if not on_disk:  # on a disk it is the disk's journal that is measured
        small_files(bench, rig)


# ---- the emulation itself ----------------------------------------------------------------------


def null_cost(bench, iorama):
    requests = 1_000_000 if bench.options.quick else 5_000_000
    command = [iorama, "emulate", "app", "--engine", "null", "--no-fill", "--write_filenames", "f", "--block_size", str(4096 * requests),
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
    iorama = bench.iorama
    null_cost(bench, iorama)
    waiting(bench, iorama, folder)
    if not shutil.which("fio"):
        print("(fio is not installed: bandwidth is not measured)")
        return
    if os.access("/dev/shm", os.W_OK):
        with tempfile.TemporaryDirectory(prefix="iorama-bench-", dir="/dev/shm") as memory:
            beside_fio(bench, iorama, memory, False)
    with tempfile.TemporaryDirectory(prefix="iorama-bench-", dir="/var/tmp") as disk:
        beside_fio(bench, iorama, disk, True)
