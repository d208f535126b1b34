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
            start, took, _, size, _, layer, _, _, call, parent = struct.unpack_from("<QQqqIBBHII", data, at + 16 + 48 * i)
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


# names of tests -> program and compiler
CASES = {"mpi-mpicc.openmpi": ("mpi", ["mpicc.openmpi"]), "mpi-mpicc.mpich": ("mpi", ["mpicc.mpich"]), "hdf5-cc": ("hdf5", ["cc"])}


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
        done = run([cases.Built(build).iorama, "run", "-q", "--trace", "--keep-segments", "-o", os.path.join(quiet, "log.darshan"),
                    program], folder, IORAMA_DIR=segments)  # fmt: skip
        expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
        kept = [os.path.join(d, f) for d, _, names in os.walk(segments) for f in names if f.endswith(".seg")]
        found = [e for path in kept for e in events(path)]
    return check(found, *((MPIIO, 8) if layer == "mpi" else (H5D, 16384 * 8)))


if __name__ == "__main__":
    cases.main(CASES, perform)
