# SPDX-License-Identifier: BSD-3-Clause
"""truth_mpi4py.py FOLDER: MPI-IO from Python, and what the log must show of it, in the lines of truth.c."""
import os
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
path = os.path.join(sys.argv[1], "numbers")
mode = MPI.MODE_CREATE | MPI.MODE_RDWR
data = bytearray(800)

file = MPI.File.Open(world, path, mode)
file.Write_at_all(rank * 800, data)
file.Set_view(rank * 800, MPI.DOUBLE)
file.Write([data, 50, MPI.DOUBLE])
file.Iwrite_at(50, [data, 50, MPI.DOUBLE]).Wait()
file.Read_at(0, [data, 100, MPI.DOUBLE])
file.Sync()
file.Close()
own = path + ".%d" % rank
with open(own, "wb", buffering=0) as stream:  # below MPI
    stream.write(data)
    stream.write(b"x")

with open("%s.%d" % (os.environ["TRUTH_FILE"], rank), "w", encoding="utf-8") as out:
    truth = {"COLL_OPENS" if size > 1 else "INDEP_OPENS": 1, "MODE": mode, "COLL_WRITES": 1, "INDEP_WRITES": 1,
             "NB_WRITES": 1, "INDEP_READS": 1, "BYTES_WRITTEN": 1600, "BYTES_READ": 800, "VIEWS": 1, "SYNCS": 1,
             "RW_SWITCHES": 1, "SIZE_WRITE_AGG_100_1K": 3, "SIZE_READ_AGG_100_1K": 1}  # fmt: skip
    for counter, value in truth.items():
        print("TRUTH", os.getpid(), rank, path, "MPIIO_" + counter, value, file=out)
    for kind, offset, length in (("w", 0, 800), ("w", 0, 400), ("w", 400, 400), ("r", 0, 800)):
        print("DXT", os.getpid(), rank, path, kind, rank * 800 + offset, length, file=out)
    for counter, value in {"OPENS": 1, "WRITES": 2, "BYTES_WRITTEN": 801}.items():
        print("TRUTH", os.getpid(), rank, own, "POSIX_" + counter, value, file=out)
