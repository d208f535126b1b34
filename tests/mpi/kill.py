#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill.py BUILD FAMILY: one rank of a parallel job is killed, and what was finished before is in the log.

One of three ranks gets SIGKILL at a random moment: while MPI starts (MPICH), while all ranks read and write, or
while they leave. Each rank keeps a tally of finished calls, independent of iorama. The launcher must end by itself,
with a status that it also has without iorama, and every counter must lie between the tally and the tally plus the call
that each rank can have had under way. Two ways take turns: `iorama run` makes the log, or the launcher is not
observed, only its ranks, and `iorama recover` makes it. Each run has its own seed; --seed N --runs 1 repeats one."""
import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from job import Case, Failed, cases, run  # noqa: E402
import tries  # noqa: E402  pylint: disable=wrong-import-order

RANKS, ROOM = 3, 8
FILES = ("world", "self.%d", "plain.%d")
COLUMNS = ("OPENS", "READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN")
LARGEST = {"BYTES_READ": 300, "BYTES_WRITTEN": 500}  # of one call; the others count calls
COUNTERS = {  # the counters of a module that make a column
    "POSIX": {name: ("POSIX_" + name,) for name in COLUMNS},
    "MPI-IO": {"OPENS": ("MPIIO_INDEP_OPENS", "MPIIO_COLL_OPENS"), "READS": ("MPIIO_INDEP_READS",),
               "WRITES": ("MPIIO_INDEP_WRITES",), "BYTES_READ": ("MPIIO_BYTES_READ",),
               "BYTES_WRITTEN": ("MPIIO_BYTES_WRITTEN",)},
}  # fmt: skip
ROW = struct.Struct("=%dQ" % (2 + len(FILES) * len(COLUMNS)))
# stages of a rank: before MPI_Init, behind it, in MPI_Finalize, behind it
STARTED, RUNNING, LEAVING, LEFT = 1, 2, 3, 4
# Open MPI's launcher itself hangs now and then when a process dies while it says hello
EARLIEST = {"openmpi": RUNNING, "mpich": STARTED}
# what a launcher is known to answer, observed or not; MPICH's takes the status of any rank that was ended by a signal,
# the killed one or those that it ended itself
STATUSES = {"openmpi": {137}, "mpich": {9, 15}}
LIMIT = 30  # seconds for the launcher to notice
WORKS, LATEST = 0.2, 0.3  # seconds that the ranks work, and after which the last one is killed
LATE = []  # seeds of runs after which a segment was left, since its process still ran


class Stuck(Failed):
    """The launcher does not end although all its ranks have, and nothing of ours was in it."""


# ---- the tally


def rows(path):
    with open(path, "rb") as stream:
        data = stream.read()
    return [ROW.unpack_from(data, rank * ROW.size) for rank in range(RANKS)]


def truth_of(tally, folder):
    """File -> its module and the counts of all ranks."""
    truth = {}
    for rank, row in enumerate(rows(tally)):
        for k, name in enumerate(FILES):
            path = os.path.join(folder, name % rank if "%" in name else name)
            counts = row[2 + k * len(COLUMNS) : 2 + (k + 1) * len(COLUMNS)]
            _, total = truth.setdefault(path, ("POSIX" if name.startswith("plain") else "MPI-IO", [0] * len(COLUMNS)))
            for i, value in enumerate(counts):
                total[i] += value
    return truth


def read_logs(iorama, logs):
    """(module, file) -> counters of all its records; whether a log says that processes were killed; ids of processes."""
    found, unfinished, processes = {}, False, []
    for log in logs:
        done = subprocess.run([iorama, "show", "-q", "--json", "--show-incomplete", log], capture_output=True)
        if done.returncode != 0:
            raise Failed("show: status %d: %s" % (done.returncode, done.stderr.decode()[-300:]))
        shown = json.loads(done.stdout)["logs"][0]
        unfinished |= any(pair["key"] == "iorama_unfinished" for pair in shown["job"]["metadata"])
        for module in shown["modules"]:
            for record in module["records"]:
                found.setdefault((module["module"], record["name"]), []).append(record["counters"])
                if module["module"] == "PROCESS":
                    processes.append(record["counters"]["PROCESS_PID"])
    return found, unfinished, processes


def compare(found, truth, least=True, most=True):
    for path, (module, counts) in truth.items():
        records = found.get((module, path), [])
        under_way = RANKS if path.endswith("world") else 1
        for column, finished in zip(COLUMNS, counts):
            value = sum(record[counter] for record in records for counter in COUNTERS[module][column])
            limit = finished + under_way * LARGEST.get(column, 1)
            if least and value < finished or most and value > limit:
                raise Failed("%s: %s is %d, not %d to %d" % (os.path.basename(path), column, value, finished, limit))


def complete(folder):
    """Logs; a rank that is killed while it writes one leaves it under another name."""
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".darshan")]


def judge(iorama, truth, logs):
    """Whether a log says that processes were killed. Between the moment in which ranks have made a log and the one in
    which each of them knows it, a kill leaves segments whose contents the log has too: then no log may have too much,
    and all of them together not too little."""
    found, unfinished, processes = read_logs(iorama, logs)
    twice = len(set(processes)) < len(processes)
    compare(found, truth, most=not twice)
    for log in logs if twice else ():
        compare(read_logs(iorama, [log])[0], truth, least=False)
    return unfinished


# ---- one run


def wait_for_pid(tally, rank, job, stage):
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit and job.poll() is None:
        if all(row[1] >= stage for row in rows(tally)):
            return rows(tally)[rank][0]
        time.sleep(0.001)
    raise Failed("rank %d did not start" % rank)


def left_of(tally):
    """ranks that run"""
    return [row[0] for row in rows(tally) if row[0] and os.path.exists("/proc/%d/exe" % row[0])]


def wait_for_end(job, folder, observed):
    """observed: the launcher itself, too."""
    try:
        return job.wait(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        theirs = not observed and not left_of(os.path.join(folder, "tally"))
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        said = cases.text_of(os.path.join(folder, "output"))[-300:]
        raise (Stuck if theirs else Failed)("no end after %d s: %s" % (LIMIT, said)) from None


def wait_for_ranks(tally):
    """Launchers may end before the last of their ranks, whose data `iorama recover` leaves alone then."""
    limit = time.monotonic() + LIMIT
    while left_of(tally) and time.monotonic() < limit:
        time.sleep(0.001)


def command_of(case, way, program, log, tally, data):
    work = [program, tally, data, "%d" % (WORKS * 1000)]
    launcher = ["mpirun." + case.family]
    if way == "run":
        return [case.iorama, "run", "-q", "-o", log, "--exclude", tally, *launcher, "-n", str(RANKS), *work]
    if way == "preload":
        library = os.path.join(case.build, "lib", "libiorama.so")
        give = {"openmpi": ["-x", "LD_PRELOAD=" + library], "mpich": ["-genv", "LD_PRELOAD", library]}[case.family]
        launcher += give
    return [*launcher, "-n", str(RANKS), *work]


def one_run(case, program, seed, way, statuses):
    """Kills a rank; returns the finished calls. Without a way nothing is observed, and the status is noted."""
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="kill-", dir=case.folder)
    data, logs, segments = (os.path.join(folder, name) for name in ("data", "logs", "segments"))
    for path in (data, logs, segments):
        os.mkdir(path, 0o700)
    tally, log = os.path.join(folder, "tally"), os.path.join(logs, "job.darshan")
    with open(tally, "wb") as stream:
        stream.write(bytes(ROOM * ROW.size))
    environment = cases.environment((), IORAMA_DIR=segments, IORAMA_LOG_DIR=logs, IORAMA_EXCLUDE=tally)
    with open(os.path.join(folder, "output"), "wb") as output:
        job = subprocess.Popen(command_of(case, way, program, log, tally, data), env=environment, cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    rank = chance.randrange(RANKS)
    try:
        # some while MPI starts, where that is possible; on a slow machine that takes longer than all the rest
        pid = wait_for_pid(tally, rank, job, EARLIEST[case.family] if seed % 4 == 0 else RUNNING)
        time.sleep(chance.random() * LATEST)
        killed = job.poll() is None and rows(tally)[rank][1] < LEFT
        if killed:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        killed = False
    status = wait_for_end(job, folder, way == "run")
    stages = [row[1] for row in rows(tally)]
    killed = killed and stages[rank] < LEFT
    if not way:
        if killed:
            statuses.add(status)
        return 0
    # while a rank starts or leaves, MPICH's mpirun may also answer 255, without iorama too
    aside = stages[rank] != RUNNING and status != 0
    if killed and status not in statuses and not aside or not killed and status != 0 and LEAVING not in stages:
        raise Failed("status %d, not one of %s; stages %s" % (status, sorted(statuses), stages))
    if way == "preload":
        wait_for_ranks(tally)
    if way == "preload" and os.listdir(segments):
        done = run([case.iorama, "recover", "-q", "--log-dir", logs, segments], folder, IORAMA_DIR=segments)
        if done.returncode != 0:
            raise Failed("recover: status %d: %s" % (done.returncode, done.stderr[-300:]))
    truth = truth_of(tally, data)
    calls = sum(sum(counts[:3]) for _, counts in truth.values())
    if calls:
        unfinished = judge(case.iorama, truth, complete(logs))
        if killed and stages[rank] < LEAVING and not unfinished:  # MPI_Finalize may have made the log already
            raise Failed("no log says that processes were killed")
    late = os.listdir(segments)
    if late:  # a rank was still dying when the launcher had ended
        run([case.iorama, "recover", "-q", "--remove", segments], folder, IORAMA_DIR=segments)
        LATE.append(seed)
    if os.listdir(segments) or len(LATE) > 3:
        raise Failed("left behind: %s, in %d runs" % (late, len(LATE)))
    if left_of(tally):
        raise Failed("processes are left: %s" % left_of(tally))
    shutil.rmtree(folder)
    return calls


def attempt(case, program, seed, way, statuses):
    """A launcher that is not observed and hangs when its ranks have ended is tried once more, and said."""
    try:
        return one_run(case, program, seed, way, statuses)
    except Stuck as why:
        tries.again(why)
        return one_run(case, program, seed, way, statuses)


def perform(options):
    problems, calls, statuses = [], 0, set(STATUSES[options.family])
    with cases.folders(options.build, "mpi-kill") as (folder, quiet):
        case = Case(options.build, options.family, folder, quiet)
        program = os.path.join(folder, case.compile("kill", "kill.c"))
        for seed in range(-1, -4, -1):
            attempt(case, program, seed, None, statuses)
        for seed in range(options.seed, options.seed + options.runs):
            way = options.way or ("run", "preload")[seed % 2]
            try:
                calls += attempt(case, program, seed, way, statuses)
            except (Failed, OSError, subprocess.TimeoutExpired) as problem:
                problems.append("seed %d, %s: %s" % (seed, way, problem))
    print("%d runs, %d calls finished before the end, statuses %s" % (options.runs, calls, sorted(statuses)))
    if options.runs > 4 and not calls:
        problems.append("no call was finished before an end")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("family", choices=("openmpi", "mpich"))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--way", choices=("run", "preload"))
    options = parser.parse_args()
    return cases.tell("%s-kill" % options.family, perform, options)


if __name__ == "__main__":
    sys.exit(main())
