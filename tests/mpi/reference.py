#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reference.py BUILD CASE...: parallel programs whose calls Darshan itself has counted, under our capture.

A CASE is PROGRAM-FAMILY, --list prints all. The sources and Darshan's logs are in the folder `reference` of
$IORAMA_SHARED. Every integer counter of every file that the sources name must be the same, and so must the
traces, but for what depends on time or on which rank came first."""
import collections
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "capture")]
from harness import Log, shared_folder  # noqa: E402
from job import Failed, Skip, cases, run  # noqa: E402

MPI_MODULES = ("POSIX", "STDIO", "MPI-IO")
# program, MPI -> modules, options that the compiler wants, name of a package of pkg-config with more of them
CASES = {
    "mpiio-openmpi": (MPI_MODULES, (), ""),
    "mpiio-mpich": (MPI_MODULES, (), ""),
    "hdf5-openmpi": (MPI_MODULES + ("H5F", "H5D"), (), "hdf5-openmpi"),
    "pnetcdf-openmpi": (MPI_MODULES + ("PNETCDF_FILE", "PNETCDF_VAR"), ("-lpnetcdf",), ""),
}
# ranks, and who makes the log: `iorama run`, or the ranks in MPI_Finalize
RUNS = ((1, "run"), (3, "run"), (4, "run"), (1, "preload"), (4, "preload"))
# files that the libraries make for themselves
THEIRS = re.compile(r"\.(sm|lock)$|\.locktest\.|\.shfp\.|^<")
# what depends on time, on the names of folders, or on the C library (POSIX_STATS: Darshan sees none of them here)
ASIDE = re.compile(r"_F_|_TIME_SIZE$|(FASTEST|SLOWEST)_RANK|RENAMED_FROM$|FILE_REC_ID$|^POSIX_STATS$")
BY_FILE_SYSTEM = re.compile(r"^POSIX_FILE_(NOT_)?ALIGN")
# of a shared record any rank may have had this one
OF_ANY_RANK = ("POSIX_MODE",)
# ranks race for the pointer that they share
RACED = {"sharedptr": re.compile(r"^POSIX_(SEQ|CONSEC|STRIDE)")}
ACCESS = re.compile(r"_ACCESS(\d)_(ACCESS|COUNT)$")
TRACE_OF = {"POSIX": "DXT_POSIX", "MPI-IO": "DXT_MPIIO"}


def by_name(log, module, folder=""):
    """(base name, rank) -> record"""
    found = {}
    for record in log.records(module):
        name = record["name"] or "?"
        if name.startswith(folder) and not THEIRS.search(os.path.basename(name)):
            found[os.path.basename(name), record["rank"]] = record
    return found


def four_sizes(counters):
    """What a record says of the four most common sizes of accesses."""
    return {k: v for k, v in counters.items() if ACCESS.search(k)}


def four_from_trace(log, module, name):
    """The same, as it is: the rules by which records of ranks are put together lose some."""
    seen = collections.Counter()
    for (file, _, _), events in traces(log, TRACE_OF[module]).items():
        if file == name:
            seen.update(length for _, length in events if length > 0)
    best = sorted(((count, size) for size, count in seen.items()), reverse=True)[:4]
    word = module.replace("-", "")
    return {"%s_ACCESS%d_%s" % (word, i + 1, kind): pair[column]
            for i, pair in enumerate(best + [(0, 0)] * (4 - len(best)))
            for column, kind in enumerate(("COUNT", "ACCESS"))}  # fmt: skip


def compare_module(module, ours, theirs, folder):
    mine, other = by_name(ours, module, folder), by_name(theirs, module)
    problems = []
    if set(mine) != set(other):
        problems.append("%s: has %s, not %s" % (module, sorted(set(mine) - set(other)), sorted(set(other) - set(mine))))
    for key in sorted(set(mine) & set(other)):
        a, b = mine[key]["counters"], other[key]["counters"]
        same_blocks = a.get("POSIX_FILE_ALIGNMENT") == b.get("POSIX_FILE_ALIGNMENT")
        raced = RACED.get(key[0], re.compile("^$"))
        if module in TRACE_OF and key[1] < 0 and four_sizes(a) == four_from_trace(theirs, module, key[0]):
            b = {counter: value for counter, value in b.items() if counter not in four_sizes(b)}
        for counter, want in b.items():
            if ASIDE.search(counter) or raced.search(counter) or (counter in OF_ANY_RANK and key[1] < 0):
                continue
            if BY_FILE_SYSTEM.search(counter) and not same_blocks:
                continue
            if int(a[counter]) != int(want):
                problems.append("%s %s rank %d: %s is %s, not %s" % (module, *key, counter, a[counter], want))
    return problems


def traces(log, module):
    """(base name, rank, reads or writes) -> offset and length of each, in order of both: some MPIs have threads"""
    found = {}
    for record in log.trace_records(module):
        name = os.path.basename(record["name"])
        for kind in ("reads", "writes"):
            if record.get(kind) and not THEIRS.search(name):
                found[name, record["rank"], kind] = sorted(tuple(event[:2]) for event in record[kind])
    return found


def compare_traces(module, ours, theirs):
    mine, other = traces(ours, module), traces(theirs, module)
    problems = []
    for key in sorted(set(mine) | set(other)):
        a, b = mine.get(key, []), other.get(key, [])
        if key[0] in RACED or any(offset < 0 for offset, _ in b):  # Darshan knows no offsets with Open MPI
            a, b = sorted(length for _, length in a), sorted(length for _, length in b)
        if a != b:
            problems.append("%s %s rank %d %s: trace is %s, not %s" % (module, *key, a[:9], b[:9]))
    return problems


def build(source, out, family, options, package):
    compiler = "mpicc." + family
    if not shutil.which(compiler) or not shutil.which("mpirun." + family):
        raise Skip("%s is not installed" % compiler)
    if package:
        found = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True, text=True)
        if found.returncode != 0:
            raise Skip("%s is not installed" % package)
        options = [*options, *found.stdout.split()]
    done = subprocess.run([compiler, "-w", "-O1", "-o", out, source, *options], capture_output=True, text=True)
    if done.returncode != 0 and re.search(r"fatal error: \w+\.h|cannot find -l", done.stderr):
        raise Skip(done.stderr.strip().splitlines()[0])
    if done.returncode != 0:
        raise Failed("does not compile: %s" % done.stderr[-500:])


def observe(iorama, family, ranks, program, folder, way):
    data = os.path.join(folder, "data")
    os.mkdir(data)
    open(os.path.join(data, "partly"), "wb").close()  # was there before
    log = os.path.join(folder, "log.darshan")
    launcher = ["mpirun." + family, "-n", str(ranks)]
    library = os.path.join(os.path.dirname(os.path.dirname(iorama)), "lib", "libiorama.so")
    if way == "run":
        launcher = [iorama, "run", "-q", "-f", "--trace", "-o", log, *launcher]
    elif family == "openmpi":
        launcher += ["-x", "LD_PRELOAD=" + library]
    else:
        launcher += ["-genv", "LD_PRELOAD", library]
    done = run([*launcher, program, data], folder, IORAMA_DIR=os.path.join(folder, "segments"), IORAMA_LOG=log,
               IORAMA_TRACE="1")  # fmt: skip
    shutil.rmtree(data)
    if done.returncode != 0 or not os.path.exists(log):
        raise Failed("%d ranks: status %d: %s" % (ranks, done.returncode, done.stderr[-500:]))
    found = Log(iorama, log, True)
    os.remove(log)
    return found


def check(iorama, case, folder):
    reference = os.path.join(shared_folder() or "", "reference")
    if not os.path.isdir(reference):
        raise Skip("the reference logs are not here")
    modules, options, package = CASES[case]
    program, family = case.split("-")
    binary = os.path.join(folder, program)
    build(os.path.join(reference, program + ".c"), binary, family, options, package)
    problems, data = [], os.path.join(folder, "data", "")
    for ranks, way in RUNS:
        theirs = Log(iorama, os.path.join(reference, "%s-%d.darshan" % (case, ranks)), True)
        ours = observe(iorama, family, ranks, binary, folder, way)
        found = [text for module in modules for text in compare_module(module, ours, theirs, data)]
        found += [text for module in ("DXT_POSIX", "DXT_MPIIO") for text in compare_traces(module, ours, theirs)]
        if not any(by_name(theirs, module) for module in modules):
            found.append("nothing was compared")
        problems += ["%d ranks, %s: %s" % (ranks, way, text) for text in found]
    return problems


def perform(build, name):
    with cases.folders(build, "reference") as (folder, _):
        return check(cases.Built(build).iorama, name, folder)


if __name__ == "__main__":
    cases.main(CASES, perform)
