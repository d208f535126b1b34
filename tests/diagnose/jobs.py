# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of any shape, as logs: what a rule needs to see, and nothing else. Records say what a Darshan would have
counted for the accesses that are described here; the writer is tests/gen."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "gen"))
from layout import Job as JobRegion, Log, Record, Region, build_log  # noqa: E402

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
PREFIX = {
    "POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_", "H5F": "H5F_", "H5D": "H5D_", "PNETCDF_FILE": "PNETCDF_FILE_",
    "PNETCDF_VAR": "PNETCDF_VAR_", "DFS": "DFS_", "DAOS": "DAOS_", "EXTRA": "EXTRA_", "LUSTRE": "LUSTRE_",
    "HEATMAP": "HEATMAP_", "DXT_POSIX": "DXT_", "DXT_MPIIO": "DXT_", "PROCESS": "PROCESS_",
    "CALLS": "CALLS_",
}  # fmt: skip
# upper ends of the size classes: Darshan counts exactly 1 MiB as 100K_1M
CLASSES = [(100, "0_100"), (KIB, "100_1K"), (10 * KIB, "1K_10K"), (100 * KIB, "10K_100K"), (MIB, "100K_1M"), (4 * MIB, "1M_4M"),
           (10 * MIB, "4M_10M"), (100 * MIB, "10M_100M"), (GIB, "100M_1G"), (1 << 62, "1G_PLUS")]  # fmt: skip


def size_class(size):
    return next(name for top, name in CLASSES if size <= top)


def total(accesses):
    return sum(count for count, _ in accesses), sum(count * size for count, size in accesses)


class Job:
    """A job whose log is made of what is said about it. Accesses are lists of (count, size)."""

    def __init__(self, tables, nprocs=4, run_time=100, **values):
        self.tables = tables
        self.nprocs = nprocs
        self.run_time = run_time
        self.values = values
        self.ids = {}
        self.records = {}
        self.partial = set()
        self.mounts = [(b"lustre", b"/scratch"), (b"xfs", b"/local"), (b"nfs4", b"/home")]

    def id(self, name):
        return self.ids.setdefault(name, 1000 + 7919 * len(self.ids))

    def record(self, module, name, rank, arrays=None, **counters):
        fields = self.tables[module].fields
        newest = self.tables[module].newest
        values = {f.name: b"" if f.type in ("text", "uuid") else 0.0 if f.type == "f64" else 0 for f in fields if f.in_version(newest)}
        for word, value in counters.items():
            key = PREFIX[module] + word
            if key not in values:
                raise KeyError(key)
            values[key] = float(value) if isinstance(values[key], float) else value
        self.records.setdefault(module, []).append(Record(self.id(name), rank, values, arrays))
        return values

    # ---- records of single layers

    def accesses(self, prefix, found, writes, reads):
        for kind, accesses in (("WRITE", writes), ("READ", reads)):
            for count, size in accesses:
                key = "SIZE_%s_%s%s" % (kind, prefix, size_class(size))
                found[key] = found.get(key, 0) + count
        common = {}
        for count, size in writes + reads:
            common[size] = common.get(size, 0) + count
        for k, (size, count) in enumerate(sorted(common.items(), key=lambda item: -item[1])[:4], 1):
            found["ACCESS%d_ACCESS" % k], found["ACCESS%d_COUNT" % k] = size, count

    def times(self, found, write_time, read_time, meta_time, last):
        found.update(F_WRITE_TIME=write_time, F_READ_TIME=read_time, F_META_TIME=meta_time, F_OPEN_START_TIMESTAMP=0.5)
        if write_time:
            found.update(F_WRITE_START_TIMESTAMP=1.0, F_WRITE_END_TIMESTAMP=last)
        if read_time:
            found.update(F_READ_START_TIMESTAMP=1.0, F_READ_END_TIMESTAMP=last)

    def shared(self, found, rank, moved, time, slowest=None):
        """Of records over all ranks: who was fastest and slowest; all alike unless told."""
        if rank >= 0:
            return
        mean = time / self.nprocs
        slow_rank, slow_time, slow_bytes = slowest or (1, mean, moved // self.nprocs)
        found.update(FASTEST_RANK=0, FASTEST_RANK_BYTES=moved // self.nprocs, SLOWEST_RANK=slow_rank, SLOWEST_RANK_BYTES=slow_bytes,
                     F_FASTEST_RANK_TIME=min(mean, slow_time), F_SLOWEST_RANK_TIME=slow_time)  # fmt: skip

    def posix(self, name, rank=0, writes=(), reads=(), write_time=0.0, read_time=0.0, meta_time=0.0, random=0, size=None,
              slowest=None, openers=None, **more):  # fmt: skip
        """Accesses go forward without gaps, `random` of them back; the file is as large as what is moved, or `size`."""
        writes, reads = list(writes), list(reads)
        users = openers or (self.nprocs if rank < 0 else 1)
        found = {"OPENS": users, "FILE_ALIGNMENT": 4096, "MEM_ALIGNMENT": 8, "MODE": 420}
        for kind, accesses in (("READ", reads), ("WRITE", writes)):
            count, moved = total(accesses)
            end = "BYTES_" + ("READ" if kind == "READ" else "WRITTEN")
            found[kind + "S"], found[end] = count, moved
            found["MAX_BYTE_" + end[6:]] = (size or moved) - 1 if count else 0
            ordered = max(0, count - users - random)
            found["SEQ_%sS" % kind] = found["CONSEC_%sS" % kind] = ordered
        self.accesses("", found, writes, reads)
        self.times(found, write_time, read_time, meta_time, min(self.run_time, 90.0))
        self.shared(found, rank, total(writes + reads)[1], write_time + read_time + meta_time, slowest)
        found.update(more)
        return self.record("POSIX", name, rank, **found)

    def mpiio(self, name, rank=-1, writes=(), reads=(), kind="INDEP", write_time=0.0, read_time=0.0, meta_time=0.0, slowest=None,
              **more):  # fmt: skip
        writes, reads = list(writes), list(reads)
        found = {"%s_OPENS" % ("COLL" if rank < 0 else "INDEP"): self.nprocs if rank < 0 else 1}
        for direction, accesses in (("READ", reads), ("WRITE", writes)):
            count, moved = total(accesses)
            found["%s_%sS" % (kind, direction)] = count
            found["BYTES_" + ("READ" if direction == "READ" else "WRITTEN")] = moved
        self.accesses("AGG_", found, writes, reads)
        self.times(found, write_time, read_time, meta_time, min(self.run_time, 90.0))
        self.shared(found, rank, total(writes + reads)[1], write_time + read_time + meta_time, slowest)
        found.update(more)
        return self.record("MPI-IO", name, rank, **found)

    def stdio(self, name, rank=0, writes=(), reads=(), write_time=0.0, read_time=0.0, meta_time=0.0, **more):
        found = {"OPENS": 1}
        for kind, accesses in (("READ", list(reads)), ("WRITE", list(writes))):
            count, moved = total(accesses)
            end = "READ" if kind == "READ" else "WRITTEN"
            found[kind + "S"], found["BYTES_" + end], found["MAX_BYTE_" + end] = count, moved, max(0, moved - 1)
        self.times(found, write_time, read_time, meta_time, min(self.run_time, 90.0))
        self.shared(found, rank, found["BYTES_READ"] + found["BYTES_WRITTEN"], write_time + read_time + meta_time)
        found.update(more)
        return self.record("STDIO", name, rank, **found)

    def dfs(self, name, rank=0, writes=(), reads=(), write_time=0.0, read_time=0.0, meta_time=0.0, **more):
        writes, reads = list(writes), list(reads)
        found = {"OPENS": 1, "READS": total(reads)[0], "WRITES": total(writes)[0], "BYTES_READ": total(reads)[1], "BYTES_WRITTEN": total(writes)[1]}
        self.accesses("", found, writes, reads)
        self.times(found, write_time, read_time, meta_time, min(self.run_time, 90.0))
        self.shared(found, rank, total(writes + reads)[1], write_time + read_time + meta_time)
        found.update(more)
        return self.record("DFS", name, rank, **found)

    def extra(self, name, rank=0, **more):
        return self.record("EXTRA", name, rank, **more)

    def lustre(self, name, count=1, size=MIB, osts=None):
        osts = osts if osts is not None else list(range(count))
        component = ([size, len(osts), 0, 0, 0, -1, 0], b"")
        self.record("LUSTRE", name, -1, {"component": [component], "ost_id": osts}, NUM_COMPONENTS=1, NUM_STRIPES=len(osts))

    def hdf5(self, name, rank=-1, parallel=True, flushes=0, **more):
        self.record("H5F", name, rank, OPENS=self.nprocs if rank < 0 else 1, USE_MPIIO=int(parallel), FLUSHES=flushes, **more)

    def dataset(self, file, dataset, rank=-1, writes=(), reads=(), write_time=0.0, read_time=0.0, chunk=0, collective=0, **more):
        writes, reads = list(writes), list(reads)
        found = {"OPENS": self.nprocs if rank < 0 else 1, "READS": total(reads)[0], "WRITES": total(writes)[0], "BYTES_READ": total(reads)[1],
                 "BYTES_WRITTEN": total(writes)[1], "DATASPACE_NDIMS": 1, "DATATYPE_SIZE": 8, "CHUNK_SIZE_D1": chunk,
                 "USE_MPIIO_COLLECTIVE": collective, "FILE_REC_ID": self.id(file)}  # fmt: skip
        self.accesses("AGG_", found, writes, reads)
        self.times(found, write_time, read_time, 0.0, 90.0)
        self.shared(found, rank, total(writes + reads)[1], write_time + read_time)
        found.update(more)
        return self.record("H5D", file + ":/" + dataset, rank, **found)

    def pnetcdf(self, file, variable="v", rank=-1, writes=(), reads=(), kind="INDEP", file_counters=None, **more):
        writes, reads = list(writes), list(reads)
        self.record("PNETCDF_FILE", file, rank, CREATES=self.nprocs, **(file_counters or {}))
        found = {"OPENS": self.nprocs, kind + "_READS": total(reads)[0], kind + "_WRITES": total(writes)[0], "BYTES_READ": total(reads)[1],
                 "BYTES_WRITTEN": total(writes)[1], "FILE_REC_ID": self.id(file)}  # fmt: skip
        self.accesses("AGG_", found, writes, reads)
        found.update(more)
        return self.record("PNETCDF_VAR", file + ":" + variable, rank, **found)

    # ---- over time

    def heat(self, layer, ranks, width=1.0):
        """ranks: {rank: (bytes written per bin, bytes read per bin)}"""
        for rank, (written, read) in ranks.items():
            self.record("HEATMAP", "heatmap:" + layer, rank, {"write_bin": list(written), "read_bin": list(read)},
                        F_BIN_WIDTH_SECONDS=width, NBINS=len(written))  # fmt: skip

    def trace(self, name, rank, writes=(), reads=(), module="DXT_POSIX", host=b"node1"):
        """Segments: (offset, length, start, end)."""
        arrays = {"write": [tuple(s) + (7,) for s in writes], "read": [tuple(s) + (7,) for s in reads]}
        self.record(module, name, rank, arrays, HOSTNAME=host, WRITE_COUNT=len(writes), READ_COUNT=len(reads))

    def process(self, rank, host=b"node1", command=b"app", **more):
        values = {"PID": 100 + rank, "PARENT_RANK": -1, "IMAGES": 1, "THREADS": 1, "ENDED": 1, "F_END_TIMESTAMP": self.run_time, "MAJOR_FAULTS": 0}
        self.record("PROCESS", "#process%d" % rank, rank, {"command": command}, HOSTNAME=host, COMMAND_WORDS=1, **{**values, **more})

    # ---- the log

    def log(self):
        log = Log("job")
        values = {"start": 1700000000, "end": 1700000000 + int(self.run_time), "end_nsec": round(self.run_time % 1 * 1e9), "nprocs": self.nprocs,
                  "mounts": self.mounts, "exe": b"/opt/bin/app -n 1"}  # fmt: skip
        log.job = JobRegion(**{**values, **self.values})
        log.names = [(id, name.encode("utf-8", "surrogateescape")) for name, id in self.ids.items() if not name.startswith("#")]
        log.regions = {m: Region(self.tables[m], self.tables[m].newest, r) for m, r in self.records.items()}
        log.partial = self.partial
        return log

    def write(self, path):
        with open(path, "wb") as file:
            file.write(build_log(self.log()))
        return path
