#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hdf5_parallel.py BUILD CASE...: ranks that know what they do with the datasets of one HDF5 file, observed with
`iorama run`; what the log says must be that. A CASE is FAMILY-NAME; --list prints all."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import netcdf  # noqa: E402
from job import Case, Skip, of_families  # noqa: E402

CASES = of_families(("slabs", "chunks", "points"))


def case_of(build, family, folder, quiet):
    case = Case(build, family, folder, quiet)
    if not netcdf.compile_truth(case, "hdf5_parallel.c", *netcdf.flags_of("hdf5-" + family)):
        raise Skip("this HDF5 was built for another MPI")
    return case


if __name__ == "__main__":
    netcdf.main(CASES, case_of)
