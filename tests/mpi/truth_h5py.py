# SPDX-License-Identifier: BSD-3-Clause
"""truth_h5py.py FOLDER: parallel HDF5 from Python, and what the log must show of it, in the lines of truth.c."""
import os
import sys

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
if not h5py.get_config().mpi:
    print("h5py is built without MPI")
    sys.exit(77)
path = os.path.join(sys.argv[1], "all.h5")
with h5py.File(path, "w", driver="mpio", comm=world) as file:
    rows = file.create_dataset("rows", (size, 100), dtype="f8")
    rows[rank] = numpy.full(100, rank, dtype="f8")
    with rows.collective:
        rows[rank, 10:30] = numpy.zeros(20)
    half = rows[rank, :50]
    tiles = file.create_dataset("tiles", (size * 10, 20), chunks=(5, 10), dtype="i4")
    with tiles.collective:
        tiles[rank * 10 : rank * 10 + 10] = numpy.full((10, 20), rank, dtype="i4")
    mask = numpy.zeros((size * 10, 20), dtype=bool)
    mask[rank * 10, [1, 5, 19]] = True
    some = tiles[mask]
    apart = tiles[rank * 10 : rank * 10 + 10 : 3, ::4]
    if list(some) != [rank] * 3 or apart.shape != (4, 5):
        sys.exit("wrong values")
own = os.path.join(sys.argv[1], "own.%d.h5" % rank)
with h5py.File(own, "w") as file:  # without MPI
    file.create_dataset("tiny", data=numpy.arange(5, dtype="i4"))
    file.flush()

with open("%s.%d" % (os.environ["TRUTH_FILE"], rank), "w", encoding="utf-8") as out:

    def say(name, **counters):
        for counter, value in counters.items():
            print("TRUTH", os.getpid(), rank, name, counter, value, file=out)

    say(path, H5F_OPENS=1)
    say(own, H5F_OPENS=1, H5F_FLUSHES=1, H5F_USE_MPIIO=0)
    say(path + ":/rows", H5D_OPENS=1, H5D_WRITES=2, H5D_READS=1, H5D_BYTES_WRITTEN=960, H5D_BYTES_READ=400,
        H5D_RW_SWITCHES=1, H5D_REGULAR_HYPERSLAB_SELECTS=3, H5D_SIZE_WRITE_AGG_100_1K=2,
        H5D_SIZE_READ_AGG_100_1K=1)  # fmt: skip
    say(path + ":/tiles", H5D_OPENS=1, H5D_WRITES=1, H5D_READS=2, H5D_BYTES_WRITTEN=800, H5D_BYTES_READ=12 + 80,
        H5D_RW_SWITCHES=1, H5D_REGULAR_HYPERSLAB_SELECTS=2, H5D_POINT_SELECTS=1, H5D_SIZE_WRITE_AGG_100_1K=1,
        H5D_SIZE_READ_AGG_0_100=2)  # fmt: skip
    say(own + ":/tiny", H5D_OPENS=1, H5D_WRITES=1, H5D_READS=0, H5D_BYTES_WRITTEN=20, H5D_SIZE_WRITE_AGG_0_100=1)
