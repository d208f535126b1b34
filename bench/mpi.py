# SPDX-License-Identifier: BSD-3-Clause
"""What being observed costs calls of MPI-IO and HDF5: instructions per call, of one rank without mpirun, that the same
program without preloading does not spend. The files below these calls are observed, too, and what that costs is in
the figure. Part of bench/run."""
import os
import re
import shutil
import subprocess
import tempfile

import capture

SIZES = 2_000, 12_000  # calls
PROGRAMS = {  # what is measured: source, compiler, its options
    "MPI write_at, Open MPI": ("loop_mpi.c", "mpicc.openmpi", ()),
    "MPI write_at, MPICH": ("loop_mpi.c", "mpicc.mpich", ()),
    "H5Dwrite of 128 bytes": ("loop_hdf5.c", "h5cc", ("-shlib",)),  # else it is linked statically
}
HERE = os.path.dirname(os.path.abspath(__file__))
# as root, and without a daemon beside it
QUIET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_ess_singleton_isolated": "1"}


def observed(library, source):
    """Whether the library knows the calls at all."""
    with open(library, "rb") as stream:
        return (b"H5Dwrite\0" if "hdf5" in source else b"MPI_File_write_at\0") in stream.read()


def build(c, what):
    """The program, or None; says why."""
    source, compiler, options = PROGRAMS[what]
    if not shutil.which(compiler) or not observed(c.library, source):
        print("(%s: %s is not installed, or libiorama.so does not observe it)" % (what, compiler))
        return None
    program = os.path.join(c.folder, compiler + "-loop")
    done = subprocess.run([compiler, *options, "-O2", os.path.join(HERE, source), "-o", program], cwd=c.folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode != 0:
        print("(%s: %s)" % (what, done.stdout.strip()[:300]))
        return None
    return program


def instructions(c, program, how):
    """Per call: the difference of two sizes, so that what happens once does not count, nor do threads of the MPI."""
    cost = []
    for size in SIZES:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=loop_calls",
                   program, str(size), c.file]  # fmt: skip
        text = c.run(command, how).stderr
        cost.append(int(re.search(r"Collected\s*:\s*(\d+)", text)[1]))
    return (cost[1] - cost[0]) / (SIZES[1] - SIZES[0])


def measure(bench, folder):
    """All of it; says why if there is nothing to measure."""
    if not shutil.which("valgrind"):
        print("(valgrind is not installed: nothing of MPI and HDF5 is measured)")
        return
    os.environ.update(QUIET)
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="iorama-bench-", dir=shared) as segments:
        c = capture.Capture(bench, folder, segments)
        if not os.path.exists(c.library):
            print("(%s is missing: nothing of MPI and HDF5 is measured)" % c.library)
            return
        for what in PROGRAMS:
            program = build(c, what)
            if not program:
                continue
            bare = instructions(c, program, "bare")
            bench.add(what + ", bare", "instructions", bare, "per call")
            for how in ("counters", "trace"):
                bench.add("%s, %s" % (what, how), "instructions", instructions(c, program, how) - bare, "added/call")
