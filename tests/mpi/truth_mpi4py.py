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

# every size-th piece of 10 numbers; gaps in memory; calls in two halves; the pointer that all share
other = path + ".other"
tile = MPI.DOUBLE.Create_vector(1, 10, 10).Create_resized(0, 80 * size).Commit()
gaps = MPI.DOUBLE.Create_vector(5, 2, 4).Commit()
file = MPI.File.Open(world, other, mode)
file.Set_size(100_000)
file.Set_view(rank * 80, MPI.DOUBLE, tile)
file.Write_all([data, 20, MPI.DOUBLE])
file.Write_at(30, [data, 1, gaps])
file.Set_view(0, MPI.BYTE, MPI.BYTE)
file.Write_at_all_begin(rank * 800, data)
file.Write_at_all_end(data)
file.Write_shared([data, 24, MPI.BYTE])
world.Barrier()
file.Read_ordered([data, 32, MPI.BYTE])
file.Read_at_all(rank * 800, [data, 400, MPI.BYTE])
file.Iread_at(rank * 800, [data, 8, MPI.BYTE]).Wait()
file.Close()
own = path + ".%d" % rank
with open(own, "wb", buffering=0) as stream:  # below MPI
    stream.write(data)
    stream.write(b"x")

with open("%s.%d" % (os.environ["TRUTH_FILE"], rank), "w", encoding="utf-8") as out:
    truth = {"COLL_OPENS" if size > 1 else "INDEP_OPENS": 1, "MODE": mode, "COLL_WRITES": 1, "INDEP_WRITES": 1,
             "NB_WRITES": 1, "INDEP_READS": 1, "BYTES_WRITTEN": 1600, "BYTES_READ": 800, "VIEWS": 1, "SYNCS": 1,
             "RW_SWITCHES": 1, "SIZE_WRITE_AGG_100_1K": 3, "SIZE_READ_AGG_100_1K": 1}  # fmt: skip
    events = [(kind, rank * 800 + offset, length) for kind, offset, length in
              (("w", 0, 800), ("w", 0, 400), ("w", 400, 400), ("r", 0, 800))]  # fmt: skip
    more = {"COLL_OPENS" if size > 1 else "INDEP_OPENS": 1, "MODE": mode, "COLL_WRITES": 1, "INDEP_WRITES": 2,
            "SPLIT_WRITES": 1, "COLL_READS": 2, "NB_READS": 1, "VIEWS": 2, "RW_SWITCHES": 1,
            "BYTES_WRITTEN": 160 + 80 + 800 + 24, "BYTES_READ": 32 + 400 + 8, "SIZE_WRITE_AGG_0_100": 2,
            "SIZE_WRITE_AGG_100_1K": 2, "SIZE_READ_AGG_0_100": 2, "SIZE_READ_AGG_100_1K": 1}  # fmt: skip
    # -2: any; number 30 of the view is the first of the fourth piece
    seen = [("w", rank * 80, 160), ("w", rank * 80 + 3 * 80 * size, 80), ("w", rank * 800, 800), ("w", -2, 24),
            ("r", -2, 32), ("r", rank * 800, 400), ("r", rank * 800, 8)]  # fmt: skip
    for name, counters, list_ in ((path, truth, events), (other, more, seen)):
        for counter, value in counters.items():
            print("TRUTH", os.getpid(), rank, name, "MPIIO_" + counter, value, file=out)
        for event in list_:
            print("DXT", os.getpid(), rank, name, *event, file=out)
    for counter, value in {"OPENS": 1, "WRITES": 2, "BYTES_WRITTEN": 801}.items():
        print("TRUTH", os.getpid(), rank, own, "POSIX_" + counter, value, file=out)
