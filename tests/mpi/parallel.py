#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""parallel.py BUILD CASE...: whole parallel jobs that know what they do. --list prints all cases.

mix.c makes random calls of every kind on 1, 2, 4 and 7 ranks, with `iorama run` and preloaded; the same program as
parts of one job (mpmd), and ending without MPI_Finalize, with one rank gone, and with MPI_Abort: the status is then
the one that the job has when it is not observed, and all that was done is in the log. Then other languages: mpi_f08,
mpi4py, h5py."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import job  # noqa: E402
from job import FAMILIES, RANKS, SKIPPED, Failed, Skip, compare_counters, compare_events, run  # noqa: E402

PYTHON = "/usr/bin/python3"  # the one of the system, which has the modules of its packages
ENDINGS = ("exit", "one", "abort")
# What the launcher answers where two things race, observed or not: the status of the rank that left, or of one that it
# ended by a signal because another had left.
RACED = {("mpich", "exit"): (0, 9), ("mpich", "one"): (5, 9)}
MIXED = {1: 11, 2: 12, 4: 14, 7: 17}  # ranks -> seed
MODULES = {"POSIX": "POSIX", "STDIO": "STDIO", "MPIIO": "MPI-IO", "H5F": "H5F", "H5D": "H5D"}


# ---- comparing


def module_of(line):
    """Of a line TRUTH pid rank path counter value."""
    return MODULES[line.split(" ")[4].partition("_")[0]]


def compare_some(module, lines, records):
    """The counters that the truth names, in one record for each rank or one for all."""
    truth = collections.defaultdict(dict)
    for line in lines:
        _, _, rank, path, counter, value = line.split(" ")
        truth[path].setdefault(int(rank), {})[counter] = int(value)
    have = {(r["name"], r["rank"]): r["counters"] for r in records}
    wrong = []
    for path, ranks in truth.items():
        groups = {-1: ranks} if (path, -1) in have else {rank: {rank: want} for rank, want in ranks.items()}
        for rank, members in groups.items():
            total = collections.Counter()
            for want in members.values():
                total.update(want)
            for counter, want in total.items():
                found = have.get((path, rank), {}).get(counter)
                if found != want:
                    wrong.append("%s %s rank %d: %s is %s, not %s" % (module, path, rank, counter, found, want))
    return wrong


def compare_ranks(lines, modules, size):
    """A file of all ranks has one record, rank -1; any other has one for each rank that used it."""
    users = collections.defaultdict(set)
    for line in lines:
        users[module_of(line), line.split(" ")[3]].add(int(line.split(" ")[2]))
    wrong = []
    for (module, path), ranks in users.items():
        want = [-1] if len(ranks) == size else sorted(ranks)
        have = sorted(r["rank"] for r in modules.get(module, []) if r["name"] == path)
        if have != want:
            wrong.append("%s %s: records of ranks %s, not %s" % (module, path, have, want))
    return wrong


def judge(case, lines, size, reduced=True, trace=True):
    truth = [line for line in lines if line.startswith("TRUTH")]
    if not truth:
        raise Failed("the program said nothing")
    log, modules = case.log("--show-incomplete")
    calls = [t for t in truth if module_of(t) == "MPI-IO"]
    wrong = compare_counters(calls, modules.get("MPI-IO", [])) if calls else []
    for module in set(MODULES.values()) - {"MPI-IO"}:
        wrong += compare_some(module, [t for t in truth if module_of(t) == module], modules.get(module, []))
    if reduced:
        wrong += compare_ranks(truth, modules, size)
    if log["job"]["nprocs"] != size:
        wrong.append("the job has %d processes, not %d" % (log["job"]["nprocs"], size))
    if trace:
        _, modules = case.log("--dxt", "--show-incomplete")
        wrong += compare_events(lines, modules.get("DXT_MPIIO", []))
    if wrong:
        raise Failed("\n".join(wrong[:30]))


# ---- running


def launch(case, arguments, observed=True, segments=None, **extra):
    """The job once; its status and what it printed, and the truth of all ranks. It may leave segments where they are
    named."""
    data, truth = os.path.join(case.folder, "data"), os.path.join(case.quiet, "truth")
    shutil.rmtree(data, ignore_errors=True)
    os.mkdir(data)
    for path in glob.glob(truth + "*"):
        os.remove(path)
    tool = [case.iorama, "run", "-q", "-f", "--trace", "-o", "log.darshan"] if observed else []
    done = run([*tool, "mpirun." + case.family, *arguments], case.folder, TRUTH_FILE=truth,
               IORAMA_DIR=segments or os.path.join(case.quiet, "seg"), **extra)  # fmt: skip
    lines = []
    for path in sorted(glob.glob(truth + "*")):
        with open(path, encoding="utf-8") as file:
            lines += file.read().splitlines()
    left = os.path.join(case.quiet, "seg")
    if os.path.isdir(left) and os.listdir(left):
        raise Failed("left behind: %s" % os.listdir(left))
    return done, lines


def must_succeed(done):
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip())
    if done.returncode != 0:
        raise Failed("status %d: %s" % (done.returncode, (done.stdout + done.stderr)[-800:]))


def mixed(case, ending, seed):
    return [os.path.join(case.folder, "mix"), ending, str(seed), os.path.join(case.folder, "data")]


# ---- cases


def case_mix(case):
    case.compile("mix", "mix.c")
    for size, seed in MIXED.items():
        done, lines = launch(case, ["-n", str(size), *mixed(case, "finalize", seed)])
        must_succeed(done)
        judge(case, lines, size)


def check_times(text, size):
    """Rank 0, and only that, has told how long each phase of the end took."""
    told = re.findall(r"^iorama:(\w+)\t(\d+)\t(\d+\.\d{6})$", text, re.M)
    seconds = {phase: float(value) for phase, _, value in told}
    phases = ("make", "call", "aggregate", "compress", "store", "total")
    if tuple(phase for phase, *_ in told) != phases or {int(n) for _, n, _ in told} != {size}:
        raise Failed("%d ranks told these times: %s" % (size, text[-800:]))
    if not 0 < seconds["total"] < 60 or sum(seconds.values()) > 2 * seconds["total"] + 1e-3:
        raise Failed("times do not add up: %s" % seconds)


def case_preload(case):
    """Without `iorama run` the ranks make one log themselves, in MPI_Finalize."""
    case.compile("mix", "mix.c")
    logs, library = os.path.join(case.quiet, "logs"), os.path.join(case.build, "lib", "libiorama.so")
    give = {"openmpi": ["-x", "LD_PRELOAD=" + library], "mpich": ["-genv", "LD_PRELOAD", library]}[case.family]
    for size in RANKS:
        os.mkdir(logs)
        done, lines = launch(case, [*give, "-n", str(size), *mixed(case, "finalize", MIXED[size] + 10)], observed=False,
                             IORAMA_LOG_DIR=logs, IORAMA_TRACE="1", DARSHAN_INTERNAL_TIMING="1")  # fmt: skip
        must_succeed(done)
        check_times(done.stderr, size)
        found = os.listdir(logs)
        if len(found) != 1:
            raise Failed("%d ranks made these logs: %s" % (size, " ".join(found)))
        shutil.move(os.path.join(logs, found[0]), os.path.join(case.folder, "log.darshan"))
        os.rmdir(logs)
        judge(case, lines, size)


def case_mpmd(case):
    case.compile("mix", "mix.c")
    first = mixed(case, "finalize", 3)
    second = [os.path.join(case.folder, "other"), *first[1:]]
    shutil.copy(first[0], second[0])
    done, lines = launch(case, ["-n", "1", *first, ":", "-n", "2", *second])
    must_succeed(done)
    judge(case, lines, 3)


def case_ending(case, ending):
    case.compile("mix", "mix.c")
    arguments = ["-n", "3", *mixed(case, ending, 2)]
    bare, _ = launch(case, arguments, observed=False)
    done, lines = launch(case, arguments)
    expected = RACED.get((case.family, ending), (bare.returncode,))
    if done.returncode not in expected or bare.returncode not in expected:
        raise Failed("status %d, without iorama %d, not one of %s: %s"
                     % (done.returncode, bare.returncode, expected, done.stderr[-800:]))  # fmt: skip
    judge(case, lines, 3)


def case_f08(case):
    try:
        program = case.compile("truth", "truth_f08.f90", tool="mpif90")
    except Failed as failed:
        if re.search(r"Cannot open module file .mpi_f08|No such file", str(failed)):
            raise Skip("this MPI has no module mpi_f08") from None
        raise
    for size in RANKS:
        done, lines = launch(case, ["-n", str(size), program, os.path.join(case.folder, "data")])
        must_succeed(done)
        judge(case, lines, size)


def python(case, script, *modules):
    found = subprocess.run([PYTHON, "-c", "import " + ", ".join(modules)], capture_output=True, text=True)
    if found.returncode != 0:
        raise Skip("one of %s is not installed for %s" % (" ".join(modules), PYTHON))
    for size in RANKS:
        done, lines = launch(case, ["-n", str(size), PYTHON, os.path.join(HERE, script),
                                    os.path.join(case.folder, "data")])  # fmt: skip
        must_succeed(done)
        judge(case, lines, size, trace=any(line.startswith("DXT") for line in lines))


def case_mpi4py(case):
    python(case, "truth_mpi4py.py", "mpi4py")


def case_h5py(case):
    python(case, "truth_h5py.py", "mpi4py", "h5py")


def many(case, count, tool, **extra):
    """Two ranks with so many files of their own each: all are there, and nothing is said to be missing."""
    program = os.path.join(case.folder, case.compile("many", "many.c"))
    data = os.path.join(case.folder, "data")
    shutil.rmtree(data, ignore_errors=True)
    os.mkdir(data)
    done = run([*tool, "mpirun." + case.family, "-n", "2", program, str(count), data], case.folder,
               IORAMA_DIR=os.path.join(case.quiet, "seg"), **extra)  # fmt: skip
    must_succeed(done)
    found, modules = case.log("-m", "POSIX")
    partial = [m["module"] for m in found["modules"] if m["incomplete"]]
    names = [data + "/rank%d-%d" % (rank, i) for rank in (0, 1) for i in range(1, count + 1)]
    want = {**{name: (1, len(name)) for name in names}, data + "/common": (2, 2 * len(data + "/common"))}
    have = {r["name"]: (r["counters"]["POSIX_OPENS"], r["counters"]["POSIX_BYTES_WRITTEN"])
            for r in modules["POSIX"] if r["name"].startswith(data + "/")}  # fmt: skip
    wrong = [(name, have.get(name), want[name]) for name in want if have.get(name) != want[name]]
    if partial or wrong or len(have) != len(want):
        raise Failed("incomplete: %s; %d files, not %d; %s" % (partial, len(have), len(want), wrong[:5]))


def case_many(case):
    many(case, 1024, [case.iorama, "run", "-q", "-f", "-o", "log.darshan"])
    os.remove(os.path.join(case.folder, "log.darshan"))
    log = os.path.join(case.folder, "log.darshan")
    library = os.path.join(case.build, "lib", "libiorama.so")
    many(case, 5000, [], LD_PRELOAD=library, IORAMA_LOG=log)


def names():
    for family in FAMILIES:
        for name in ("mix", "preload", "many", "mpmd", *ENDINGS, "f08"):
            yield "%s-%s" % (family, name)
    yield from ("openmpi-mpi4py", "openmpi-h5py")  # Debian's are of this family


def perform(case, name):
    if name in ENDINGS:
        case_ending(case, name)
    else:
        globals()["case_" + name](case)


if __name__ == "__main__":
    job.main(names(), perform, "parallel")
