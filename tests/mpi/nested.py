#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""nested.py BUILD CASE: every operation knows the call it is nested in: POSIX writes inside MPI-IO, inside
HDF5. Reads the events of a kept segment, whose layout docs/format/segment.md tells, independently of the C code."""
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from job import Skip, cases, expect, need, run  # noqa: E402

POSIX, MPIIO, H5D = 0, 2, 3
EVENTS = 5  # after identity, state, control, records and lanes

PROGRAMS = {
    "mpi": r"""
#include <mpi.h>
int main(int argc, char **argv)
{
	MPI_File f;
	double x = 1;
	MPI_Init(&argc, &argv);
	MPI_File_open(MPI_COMM_SELF, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	for (int i = 0; i < 10; i++)
		MPI_File_write_at(f, 4096 * i, &x, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	return MPI_Finalize();
}
""",
    # a call writes as many bytes as no other does
    "requests": r"""
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
static char data[4096];
static void begin(MPI_File f, int i, MPI_Request *r) { MPI_File_iwrite_at(f, 65536 * i, data, 1000 + i, MPI_BYTE, r); }
int main(int argc, char **argv)
{
	MPI_File f, g;
	MPI_Request r[8];
	int done = 0, which;
	MPI_Init(&argc, &argv);
	MPI_File_open(MPI_COMM_SELF, "out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	MPI_File_open(MPI_COMM_SELF, "two", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &g);
	for (int i = 0; i < 8; i++) /* the same places of two files */
		MPI_File_iwrite_at(i % 2 ? f : g, 65536 * (i / 2), data, 1000 + i, MPI_BYTE, &r[i]);
	MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
	begin(f, 10, &r[0]);
	while (!done)
		MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
	begin(f, 11, &r[0]), begin(f, 12, &r[1]);
	MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE);
	MPI_File_write_at(f, 65536 * 13, data, 1013, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_Wait(&r[1 - which], MPI_STATUS_IGNORE);
	if (getenv("NO_IWRITE_ALL"))
		MPI_File_iwrite_at(f, 65536 * 14, data, 1014, MPI_BYTE, &r[0]);
	else
		MPI_File_iwrite_at_all(f, 65536 * 14, data, 1014, MPI_BYTE, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_File_write_at_all_begin(f, 65536 * 15, data, 1015, MPI_BYTE);
	MPI_File_write_at_all_end(f, data, MPI_STATUS_IGNORE);
	MPI_File_iread_at(f, 65536 * 15, data, 1010, MPI_BYTE, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	int fd = open("out", O_WRONLY); /* all are done: this is nobody's */
	if (pwrite(fd, data, 1500, 65536) != 1500 || pwrite(fd, data, 1501, 65536 * 15) != 1501)
		return 1;
	close(fd);
	MPI_File_close(&f), MPI_File_close(&g);
	return MPI_Finalize();
}
""",
    "aio": r"""
#include <aio.h>
#include <fcntl.h>
#include <unistd.h>
int main(void) /* in no call: it has no parent */
{
	struct aiocb cb = { .aio_fildes = open("out", O_CREAT | O_WRONLY, 0600), .aio_buf = "abc", .aio_nbytes = 3 };
	if (aio_write(&cb) != 0)
		return 1;
	while (aio_error(&cb) != 0)
		usleep(1000);
	return aio_return(&cb) != 3;
}
""",
    "hdf5": r"""
#include <hdf5.h>
static double x[16384]; /* more than HDF5 would gather in memory */
int main(void)
{
	hsize_t n = 16384;
	hid_t f = H5Fcreate("out", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, &n, NULL);
	hid_t d = H5Dcreate2(f, "d", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < 10; i++)
		H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
	H5Dclose(d), H5Sclose(s), H5Fclose(f);
	return 0;
}
""",
}


def events(path):
    with open(path, "rb") as file:
        data = file.read()
    off, length, item, _ = struct.unpack_from("<QQII", data, 24 + 24 * EVENTS)
    for at in range(off, min(off + length, len(data)), item):
        _, lane, used = struct.unpack_from("<QII", data, at)
        for i in range(used):
            start, took, _, size, _, layer, _, _, call, parent = struct.unpack_from("<QQqqIBBHII", data, at + 24 + 48 * i)
            yield {"lane": lane, "from": start, "to": start + took, "bytes": size, "layer": layer, "call": call, "parent": parent}


def check(found, outer, size):
    """ten calls of the outer layer; each POSIX write of that size lies in exactly one of them, in time and by its id"""
    calls = {e["call"]: e for e in found if e["layer"] == outer and e["bytes"] == size}
    inner = [e for e in found if e["layer"] == POSIX and e["bytes"] == size]
    problems = []
    if len(calls) != 10:
        problems.append("%d calls of the outer layer, not 10" % len(calls))
    if len(inner) != 10:
        problems.append("%d POSIX writes, not 10" % len(inner))
    for e in inner:
        around = calls.get(e["parent"])
        if not around:
            problems.append("a write has the parent %d, which is no call of the layer above" % e["parent"])
        elif not around["from"] <= e["from"] <= e["to"] <= around["to"]:
            problems.append("a write lies outside the call it is said to be part of")
    if any(e["parent"] for e in calls.values()):
        problems.append("the outermost calls have a parent")
    return problems


def check_requests(found):
    """of each call of MPI there is one POSIX call of as many bytes, which is part of it and of nothing else"""
    wrong = []
    sizes = [*range(1000, 1008), 1010, 1011, 1012, 1013, 1014, 1015, 1010]
    calls = [e for e in found if e["layer"] == MPIIO]
    inner = [e for e in found if e["layer"] == POSIX and 1000 <= e["bytes"] < 1500]
    own = [e["parent"] for e in found if e["layer"] == POSIX and e["bytes"] in (1500, 1501)]
    if own != [0, 0]:
        wrong.append("what no call asked for is part of %s" % own)
    for what, have in (("MPI calls", calls), ("POSIX calls", inner)):
        if sorted(e["bytes"] for e in have) != sorted(sizes):
            wrong.append("%s of %s bytes" % (what, sorted(e["bytes"] for e in have)))
    for e in inner:
        up = [c for c in calls if c["call"] == e["parent"]]
        if len(up) != 1 or up[0]["bytes"] != e["bytes"] or up[0]["from"] > e["from"] or up[0]["lane"] != e["lane"]:
            wrong.append("%d bytes are part of %s" % (e["bytes"], up))
    if len({e["parent"] for e in inner}) != len(inner):
        wrong.append("two are part of one")
    return wrong


def check_aio(found):
    return [] if [(e["bytes"], e["parent"]) for e in found] == [(3, 0)] else ["aio: %s" % found]


CHECKS = {"mpi": lambda found: check(found, MPIIO, 8), "hdf5": lambda found: check(found, H5D, 16384 * 8),
          "requests": check_requests, "aio": check_aio}  # fmt: skip
# names of tests -> program and compiler
CASES = {"requests-openmpi-ompio": ("requests", ["mpicc.openmpi"]), "requests-openmpi-romio": ("requests", ["mpicc.openmpi"]),
         "requests-mpich": ("requests", ["mpicc.mpich"]), "aio-cc": ("aio", ["cc"]),
         "mpi-mpicc.openmpi": ("mpi", ["mpicc.openmpi"]), "mpi-mpicc.mpich": ("mpi", ["mpicc.mpich"]), "hdf5-cc": ("hdf5", ["cc"])}


def perform(build, name):
    layer, compiler = CASES[name]
    with cases.folders(build, "nested") as (folder, quiet):
        source, program = os.path.join(folder, "p.c"), os.path.join(folder, "p")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAMS[layer])
        flags = []
        if layer == "hdf5":
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5-serial"], capture_output=True, text=True).stdout.split()
        need(compiler[0])
        if run([*compiler, source, "-o", program, *flags], folder).returncode != 0:
            raise Skip("the program cannot be built")
        segments = os.path.join(quiet, "segments")
        # the ROMIO of Open MPI has no nonblocking collective calls: it jumps to nowhere
        extra = {"OMPI_MCA_io": "^ompio", "NO_IWRITE_ALL": "1"} if name.endswith("romio") else {}
        done = run([cases.Built(build).iorama, "run", "-q", "--trace", "--keep-segments", "-o", os.path.join(quiet, "log.darshan"),
                    program], folder, IORAMA_DIR=segments, **extra)  # fmt: skip
        expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
        kept = [os.path.join(d, f) for d, _, names in os.walk(segments) for f in names if f.endswith(".seg")]
        found = [e for path in kept for e in events(path)]
    return CHECKS[layer](found)


if __name__ == "__main__":
    cases.main(CASES, perform)
