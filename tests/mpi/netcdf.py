#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""netcdf.py BUILD CASE...: programs that know what HDF5 and the layers below do for their NetCDF-4 calls, observed with
`iorama run`; what the log says must be that. --list prints all cases.

A CASE is parallel-NAME, of all ranks with one file, with the MPI that NetCDF was built for, or FAMILY-NAME, of ranks
with a file of their own each, with a NetCDF that has no MPI."""
import collections
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from job import FAMILIES, HEADERS, RANKS, Case, Failed, Skip, cases, run  # noqa: E402
from parallel import MODULES, compare_ranks, launch, module_of, must_succeed  # noqa: E402

CASES = ["%s-%s" % (kind, name) for kind in ("parallel", *FAMILIES) for name in ("blocks", "steps")]
# these do not add up over the ranks
SHAPE = re.compile(r"_(DATASPACE_\w+|DATATYPE_SIZE|CHUNK_SIZE_D\d|USE_\w+|ACCESS\d_ACCESS)$")


def flags_of(package):
    found = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True, text=True)
    if found.returncode != 0:
        raise Skip("%s is not installed" % package)
    return found.stdout.split()


def compile_truth(case, source, *flags):
    """Whether it can be run, then: with a library of another MPI it cannot."""
    path = os.path.join(HERE, source)
    command = ["mpicc." + case.family, "-O1", "-Wall", "-Wextra", path, "-o", None, *flags]
    case.compile_into(os.path.join(case.folder, "truth"), [path], command, [__file__, *HEADERS])
    linked = run(["ldd", "truth"], case.folder).stdout
    return len(set(re.findall(r"libmpi(?:ch)?\.so\S*", linked))) == 1


def case_of(build, kind, folder, quiet):
    if kind in FAMILIES:
        case = Case(build, kind, folder, quiet)
        if not compile_truth(case, "netcdf_truth.c", *flags_of("netcdf")):
            raise Skip("this NetCDF has an MPI")
        return case
    flags = flags_of("netcdf-mpi")
    # its header is not where pkg-config says
    libraries = subprocess.run(["pkg-config", "--variable=libdir", "netcdf-mpi"], capture_output=True, text=True).stdout
    flags.insert(0, "-I" + os.path.join(libraries.strip(), "netcdf", "mpi", "include"))
    for family in FAMILIES:
        if shutil.which("mpicc." + family) and shutil.which("mpirun." + family):
            case = Case(build, family, folder, quiet)
            if compile_truth(case, "netcdf_truth.c", "-DPARALLEL", *flags):
                return case
    raise Skip("no MPI is installed that NetCDF was built for")


def compare(module, lines, records):
    """Every counter that the truth names, in one record for all ranks or one for each; no record that it does not."""
    truth = collections.defaultdict(dict)
    for line in lines:
        _, _, rank, path, counter, value = line.split(" ")
        truth[path].setdefault(int(rank), {})[counter] = int(value)
    wrong = ["%s %s is not to be in the log" % (module, r["name"]) for r in records if r["name"] not in truth]
    have = {(r["name"], r["rank"]): r["counters"] for r in records}
    for path, ranks in truth.items():
        groups = {-1: ranks.values()} if (path, -1) in have else {rank: [want] for rank, want in ranks.items()}
        for rank, members in groups.items():
            for counter in sorted(set().union(*members)):
                values = [want.get(counter, 0) for want in members]
                want = max(values) if SHAPE.search(counter) else sum(values)
                found = have.get((path, rank), {}).get(counter)
                if found != want:
                    wrong.append("%s %s rank %d: %s is %s, not %s" % (module, path, rank, counter, found, want))
    return wrong


def compare_least(lines, modules):
    """What layers below have moved, which is more than the data."""
    least = collections.Counter()
    for line in lines:
        _, _, _, path, counter, value = line.split(" ")
        least[path, counter] += int(value)
    wrong = []
    for (path, counter), want in least.items():
        module = MODULES[counter.partition("_")[0]]
        found = sum(r["counters"][counter] for r in modules.get(module, []) if r["name"] == path)
        if found < want:
            wrong.append("%s %s: %s is %s, less than %s" % (module, path, counter, found, want))
    return wrong


def compare_sizes(modules, folder):
    """Nothing was written behind the end of a file, and each was written at all."""
    wrong = []
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        most = [r["counters"]["POSIX_MAX_BYTE_WRITTEN"] for r in modules.get("POSIX", []) if r["name"] == path]
        if not most or not 0 < max(most) < os.path.getsize(path):
            wrong.append("%s has %d bytes, the last one written is %s" % (path, os.path.getsize(path), most))
    return wrong


def judge(case, lines, size):
    exact = [line for line in lines if line.startswith("TRUTH")]
    if not exact:
        raise Failed("the program said nothing")
    log, modules = case.log()
    wrong = compare_ranks(exact, modules, size)
    for module in ("H5F", "H5D"):
        wrong += compare(module, [line for line in exact if module_of(line) == module], modules.get(module, []))
    wrong += compare_least([line for line in lines if line.startswith("LEAST")], modules)
    wrong += compare_sizes(modules, os.path.join(case.folder, "data"))
    if log["job"]["nprocs"] != size:
        wrong.append("the job has %d processes, not %d" % (log["job"]["nprocs"], size))
    if wrong:
        raise Failed("%d ranks:\n%s" % (size, "\n".join(wrong[:30])))


def main(names, make_case):
    """Each case on every number of ranks."""

    def perform(build, word):
        kind, name = word.split("-")
        with cases.folders(build, "netcdf") as (folder, quiet):
            case = make_case(build, kind, folder, quiet)
            for size in RANKS:
                done, lines = launch(case, ["-n", str(size), "./truth", name, os.path.join(folder, "data")])
                must_succeed(done)
                judge(case, lines, size)

    cases.main(names, perform)


if __name__ == "__main__":
    main(CASES, case_of)
