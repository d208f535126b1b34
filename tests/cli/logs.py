# SPDX-License-Identifier: BSD-3-Clause
"""The logs that the cases are about. They are small and their numbers are chosen, so that what must
be printed of them can be said without running the program."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gen"))
from calls import MS, US, Cluster  # noqa: E402
from layout import BIG, Job, Log, Record, Region, build_log  # noqa: E402

MASK = 2**64 - 1
MOUNTS = [(b"nfs", b"/home"), (b"lustre", b"/scratch")]


def record_id(name):
    """The hash that makes an id of a name (Bob Jenkins, 1997)."""
    left, s = name, [0, 0, 0x9E3779B97F4A7C13]
    word = lambda data: int.from_bytes(data, "little")
    while len(left) >= 24:
        s = mix([(s[i] + word(left[8 * i : 8 * i + 8])) & MASK for i in range(3)])
        left = left[24:]
    last = [word(left[:8]), word(left[8:16]), len(name) + (word(left[16:]) << 8)]
    return mix([(x + y) & MASK for x, y in zip(s, last)])[2]


def mix(s):
    for i, shift in enumerate((-43, 9, -8, -38, 23, -5, -35, 49, -11, -12, 18, -22)):
        x, y, z = i % 3, (i + 1) % 3, (i + 2) % 3
        s[x] = (s[x] - s[y] - s[z]) ^ (s[z] >> -shift if shift < 0 else s[z] << shift)
        s[x] &= MASK
    return s


class Maker:
    def __init__(self, tables, folder):
        self.tables = tables
        self.folder = folder

    def log(self, name, *how, **job):
        log = Log(name, *how)
        log.job = Job(**{"nprocs": 2, "jobid": 77, "mounts": MOUNTS, "end": 1700000010, **job})
        return log

    def add(self, log, module, name, rank, values=None, arrays=None, version=None):
        """One record; counters that are not given are 0."""
        table = self.tables[module]
        version = version or table.newest
        region = log.regions.setdefault(module, Region(table, version, []))
        blank = {"text": b"", "uuid": b"", "f64": 0.0}
        filled = {f.name: blank.get(f.type, 0) for f in table.fields if f.in_version(region.version)}
        filled.update(values or {})
        id = record_id(name)
        if (id, name) not in log.names:
            log.names.append((id, name))
        region.records.append(Record(id, rank, filled, arrays))

    def write(self, log):
        return self.put(log.name, build_log(log))

    def put(self, name, data):
        with open(os.path.join(self.folder, name + ".darshan"), "wb") as stream:
            stream.write(data)
        return data


def posix(read=0, written=0, time=0.0, **more):
    return {
        "POSIX_OPENS": 1, "POSIX_BYTES_READ": read, "POSIX_BYTES_WRITTEN": written,
        "POSIX_MAX_BYTE_READ": max(0, read - 1), "POSIX_MAX_BYTE_WRITTEN": max(0, written - 1), "POSIX_F_READ_TIME": time,
        **more,
    }  # fmt: skip


def small(maker, name="small", *how):
    """Two ranks: one file read, one written, one shared by both; standard output."""
    log = maker.log(name, *how)
    maker.add(log, "POSIX", b"/scratch/in.dat", 0, posix(read=1048576, time=0.5))
    maker.add(log, "POSIX", b"/home/out.txt", 1, posix(written=300, POSIX_F_META_TIME=0.25))
    shared = posix(read=10, written=20, time=9.0, POSIX_F_SLOWEST_RANK_TIME=1.5, POSIX_SLOWEST_RANK=1)
    maker.add(log, "POSIX", b'/scratch/a "b",c.h5', -1, {**shared, "POSIX_OPENS": 2})
    maker.add(log, "STDIO", b"<STDOUT>", 0, {"STDIO_WRITES": 1, "STDIO_BYTES_WRITTEN": 12})
    log.names.append((record_id(b"/home/never opened"), b"/home/never opened"))
    return log


def trace(maker, name, version):
    log = maker.log(name)
    for rank in (0, 1):
        segments = {
            "write": [(0, 4096, 0.5, 0.75, 1), (4096, 10, 1.0, 1.25, 2)],
            "read": [(0, 100, 2.0, 2.125, 1)] if rank else [],
        }
        values = {"DXT_HOSTNAME": b"node%d" % rank, "DXT_WRITE_COUNT": 2, "DXT_READ_COUNT": len(segments["read"])}
        maker.add(log, "DXT_POSIX", b"/scratch/in.dat", rank, values, segments, version)
    return log


def process(maker, name, rank, **job):
    """What one process of a killed job left behind."""
    log = maker.log(name, "3.41", "<", "none", end=0, **job)
    times = {"POSIX_F_OPEN_START_TIMESTAMP": 1.0, "POSIX_F_CLOSE_END_TIMESTAMP": 4.0}
    maker.add(log, "POSIX", b"/scratch/all", rank, posix(read=100 * (rank + 1), time=1.0 + rank, **times))
    maker.add(log, "POSIX", b"/scratch/rank%d" % rank, rank, posix(written=5, **times))
    return log


def slow(maker):
    """Four ranks, 100 s: each writes a file of its own, 100 bytes at a time, which takes it 60 s, and reads 64 MiB of a
    shared input in 4 MiB pieces."""
    log = maker.log("slow", nprocs=4, jobid=4711, start=1700000000, end=1700000100, exe=b"/apps/solver -n 3", metadata=b"lib_ver=3.5.0\n")
    for rank in range(4):
        write = posix(
            written=100000000, POSIX_WRITES=1000000, POSIX_CONSEC_WRITES=999999, POSIX_SEQ_WRITES=999999, POSIX_SIZE_WRITE_0_100=1000000,
            POSIX_ACCESS1_ACCESS=100, POSIX_ACCESS1_COUNT=1000000, POSIX_F_WRITE_TIME=60.0, POSIX_F_META_TIME=0.5, POSIX_F_OPEN_START_TIMESTAMP=1.0,
            POSIX_F_WRITE_START_TIMESTAMP=20.0, POSIX_F_WRITE_END_TIMESTAMP=90.0, POSIX_F_CLOSE_END_TIMESTAMP=91.0,
        )  # fmt: skip
        read = posix(
            read=67108864, time=2.0, POSIX_READS=16, POSIX_CONSEC_READS=15, POSIX_SEQ_READS=15, POSIX_SIZE_READ_1M_4M=16, POSIX_ACCESS1_ACCESS=4194304,
            POSIX_ACCESS1_COUNT=16, POSIX_F_OPEN_START_TIMESTAMP=1.0, POSIX_F_READ_START_TIMESTAMP=1.0, POSIX_F_READ_END_TIMESTAMP=4.0,
            POSIX_F_CLOSE_END_TIMESTAMP=4.0,
        )  # fmt: skip
        maker.add(log, "POSIX", b"/scratch/run/out.%04d.dat" % rank, rank, write)
        maker.add(log, "POSIX", b"/scratch/run/input.nc", rank, read)
    return log


def calm(maker):
    """Two ranks, 1000 s, of which 0.5 s in I/O."""
    log = maker.log("calm", nprocs=2, jobid=12, start=1700000000, end=1700001000, exe=b"./calm")
    for rank in range(2):
        maker.add(log, "POSIX", b"/home/notes%d" % rank, rank, posix(read=1000, time=0.5, POSIX_READS=1000, POSIX_SIZE_READ_0_100=1000))
    return log


def strange(maker):
    """Names that need care in JSON, CSV and on a terminal."""
    log = maker.log("strange")
    for rank, name in enumerate((b"/home/line\nbreak", b"/home/bad\xff\xfeutf8", b"/home/\x01\x1b[31mred", b"/home/,")):
        maker.add(log, "POSIX", name, rank, posix(read=1, time=float("nan") if rank == 1 else 0.1))
    return log


class PathJob:
    """A log as tests/gen/calls.py fills it."""

    def __init__(self, maker, log):
        self.maker, self.made, self.mounts = maker, log, []

    def id(self, name):
        id = record_id(name.encode())
        if not name.startswith("#") and (id, name.encode()) not in self.made.names:
            self.made.names.append((id, name.encode()))
        return id

    def record(self, module, name, rank, arrays, **counters):
        self.maker.add(self.made, module, name.encode(), rank, {module + "_" + word: value for word, value in counters.items()}, arrays)


def path(maker, name="path", far=False):
    """Two ranks on a mount with two servers: a write of two requests inside of MPI-IO, for which server 1 takes 3 ms and server 0
    1 ms; rank 1 reads what is in memory; somebody else uses server 1."""
    log = maker.log(name, mounts=[(b"fuse.glusterfs", b"/mnt/vol")], end=1700000001)
    c = Cluster(PathJob(maker, log), servers=2, far=far)
    mpi = c.call(0, "MPI-IO", "MPI_File_write_at", "write", "/mnt/vol/out", 0, 262144, 100 * MS, 108 * MS)
    c.move(0, "write", "/mnt/vol/out", 0, 262144, 101 * MS, [(0, "write", 0, MS, 500 * US), (1, "write", 0, 3 * MS, 500 * US)], parent=mpi)
    c.call(1, "POSIX", "pread", "read", "/mnt/vol/out", 0, 4096, 120 * MS, 120 * MS + 4 * US)
    c.rpc(7777, 1, "write", "/mnt/vol/secret", 0, 8192, 130 * MS, 2 * MS, MS)
    c.finish()
    return log


def make_all(tables, folder):
    maker = Maker(tables, folder)
    whole = maker.write(small(maker))
    maker.write(path(maker))
    maker.write(path(maker, "path-far", True))
    maker.put("cut", whole[:-5])
    maker.put("header-only", whole[:1328])
    unknown = bytearray(whole)  # module 60 is one that nobody knows
    struct.pack_into("<QQ", unknown, 48 + 16 * 60, 1400, 10)
    struct.pack_into("<I", unknown, 1072 + 4 * 60, 1)
    maker.put("unknown", unknown)
    maker.write(small(maker, "bzip2", "3.41", "<", "bzip2"))
    partial = small(maker, "partial")
    partial.partial = {"POSIX"}
    maker.write(partial)
    old = maker.log("old", "3.10", BIG, metadata=b"lib_ver=3.1.4\n")
    maker.add(old, "POSIX", b"/scratch/in.dat", 0, {"POSIX_OPENS": 3, "POSIX_F_META_TIME": 0.5}, version=3)
    maker.write(old)
    maker.write(trace(maker, "trace", 1))
    maker.write(trace(maker, "threads", 2))
    maker.write(strange(maker))
    maker.write(slow(maker))
    maker.write(calm(maker))
    for rank in (0, 1):
        maker.write(process(maker, "rank%d" % rank, rank))
        maker.write(process(maker, "solo%d" % rank, 0, nprocs=1, start=1700000000 + 100 * rank))
    maker.write(process(maker, "other-job", 1, jobid=78))
    big = maker.log("big")
    for n in range(300):
        maker.add(big, "POSIX", b"/scratch/file%04d" % n, n % 2, posix(read=n))
    maker.write(big)
    maker.write(maker.log("empty-job"))
    full = small(maker, "full-metadata")
    full.job.metadata = b"k=" + b"v" * 998  # no line end
    maker.write(full)
