#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""programs.py BUILD [CASE...]: parallel programs of the distribution run the same with and without `iorama run`.

As tests/real/real.py: every case is run twice in a folder of the same name; what it prints, its exit status and the
files it leaves must be the same, and where sizes of files tell what was written, so must the log."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "real"))
import real  # noqa: E402

SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/%s-tests/xdlu"
LU = """'SCALAPACK, LU factorization input file'
'MPI Machine'
'LU.out'  output file name (if any)
6  device out
2  number of problems sizes
10 17  values of M
12 13  values of N
2  number of NB's
2 3  values of NB
1  number of NRHS's
1  values of NRHS
1  Number of NBRHS's
1  values of NBRHS
2  number of process grids (ordered pairs of P & Q)
1 2  values of P
2 1  values of Q
1.0  threshold
F  (T or F) Test Cond. Est. and Iter. Ref. Routines
"""
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump 1 all atom 10 text.dump
dump 2 all atom/mpiio 10 shared.dump
restart 20 state.*
thermo 10
run 40
"""
SMALL = """netcdf small {
dimensions: x = 30 ; y = 4 ; t = UNLIMITED ;
variables: int grid(x, y) ; grid:units = "m" ; double time(t) ; float v(t, y) ;
data: grid = %s ; time = 0.5, 1.5 ; v = 1, 2, 3, 4, 5, 6, 7, 8 ;
}
""" % ", ".join(map(str, range(120)))


def mpirun(family, ranks, *command):
    real.need("mpirun." + family)
    return ["mpirun." + family, "-n", str(ranks), *command]


class Scalapack(real.Case):
    """LU factorizations in Fortran; the program checks its results."""

    ignore = (r"( +\d+\.\d\d){3}(?= PASSED)",)  # times

    def __init__(self, family):
        self.family = family

    def prepare(self, folder):
        program = SCALAPACK % self.family
        if not os.path.exists(program):
            raise real.Skip("scalapack-mpi-test is not installed")
        real.write(os.path.join(folder, "LU.dat"), LU.encode())
        return [mpirun(self.family, 2, program)]


class Lammps(real.Case):
    """Atoms that melt: one rank writes with stdio, all ranks write one file with MPI-IO."""

    same = "*.dump"
    ignore = (r"^Loop time.*|^Performance.*|^[\d.]+% CPU.*|^(Pair|Neigh|Comm|Output|Modify|Other) .*|^Total wall.*"
              r"|create_atoms CPU.*",)  # fmt: skip

    def prepare(self, folder):
        real.need("lmp")
        real.write(os.path.join(folder, "in.melt"), MELT.encode())
        return [mpirun("openmpi", 3, "lmp", "-in", "in.melt")]

    def check(self, folder, log):
        shared, text = os.path.join(folder, "shared.dump"), os.path.join(folder, "text.dump")
        return (expect(folder, "MPI-IO", shared, "MPIIO_BYTES_WRITTEN", os.path.getsize(shared))
                + expect(folder, "STDIO", text, "STDIO_BYTES_WRITTEN", os.path.getsize(text)))  # fmt: skip


class Pnetcdf(real.Case):
    """A file made from text and shown again, by two ranks too."""

    same = "*.nc"

    def prepare(self, folder):
        real.need("ncmpigen", "ncmpidump", "ncmpidiff")
        real.write(os.path.join(folder, "small.cdl"), SMALL.encode())
        # with a launcher even for one rank: without, Open MPI starts a daemon that outlives the program
        return [mpirun("openmpi", 1, "ncmpigen", "-b", "-o", "a.nc", "small.cdl"),
                mpirun("openmpi", 1, "ncmpigen", "-v", "5", "-b", "-o", "b.nc", "small.cdl"),
                mpirun("openmpi", 1, "ncmpidump", "a.nc"),
                mpirun("openmpi", 2, "ncmpidiff", "a.nc", "a.nc")]  # fmt: skip

    def check(self, folder, log):
        return [] if records(folder, "MPI-IO", os.path.join(folder, "a.nc")) else ["a.nc has no record of MPI-IO"]


class Netcdf(real.Case):
    """NetCDF-4 and HDF5 without MPI."""

    same = "*.out"

    def prepare(self, folder):
        real.need("ncgen", "ncdump", "nccopy", "h5dump", "h5repack", "h5diff")
        real.write(os.path.join(folder, "small.cdl"), SMALL.encode())
        return [["ncgen", "-k", "nc4", "-o", "a.nc", "small.cdl"], ["ncdump", "a.nc"],
                ["nccopy", "-d", "5", "a.nc", "b.nc"], ["h5repack", "-f", "GZIP=3", "b.nc", "c.h5"],
                ["h5diff", "-q", "b.nc", "c.h5"],
                ["h5dump", "-o", "grid.out", "-d", "/grid", "c.h5"]]  # fmt: skip


class Mpi4py(real.Case):
    """The benchmarks that come with it."""

    ordered = False
    ignore = (r"[\d.e-]+ seconds.*",)

    def prepare(self, folder):
        if subprocess.run([real.PYTHON, "-c", "import mpi4py"], capture_output=True).returncode != 0:
            raise real.Skip("python3-mpi4py is not installed")
        return [mpirun("openmpi", 3, real.PYTHON, "-m", "mpi4py.bench", "helloworld"),
                mpirun("openmpi", 2, real.PYTHON, "-m", "mpi4py.bench", "ringtest", "-l", "3")]  # fmt: skip


def records(folder, module, path):
    """Counters of the records of a file in all logs of a case."""
    logs = os.path.join(os.path.dirname(folder), "logs")
    found = []
    for name in os.listdir(logs):
        command = [IORAMA[0], "show", "--json", "-m", module, os.path.join(logs, name)]
        done = subprocess.run(command, capture_output=True)
        for part in json.loads(done.stdout)["logs"][0]["modules"] if done.returncode == 0 else ():
            found += [record["counters"] for record in part["records"] if record["name"] == path]
    return found


def expect(folder, module, path, counter, value):
    found = sum(counters[counter] for counters in records(folder, module, path))
    return [] if found == value else ["%s: %s is %d, not %d" % (os.path.basename(path), counter, found, value)]


IORAMA = [""]
CASES = {"scalapack-openmpi": Scalapack("openmpi"), "scalapack-mpich": Scalapack("mpich"), "lammps": Lammps(),
         "pnetcdf-tools": Pnetcdf(), "netcdf-tools": Netcdf(), "mpi4py-bench": Mpi4py()}  # fmt: skip


def main():
    if sys.argv[1:2] not in ([], ["--list"]):
        IORAMA[0] = real.cases.Built(sys.argv[1]).iorama
    os.environ.update(real.cases.MPI_HERE, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    real.main(CASES)


if __name__ == "__main__":
    main()
