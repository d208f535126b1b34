#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""worlds.py BUILD CASE...: jobs that are more, or less, than one world of observed ranks. --list prints all cases.

spawn: ranks start others with MPI_Comm_spawn; spawned: the same, preloaded, where each world makes a log; recover: all
ranks of a preloaded job are killed, and what they leave is one log; part: only some ranks are observed, which must not
disturb the others; apart: each rank has a directory of its own for segments; private: each has a /dev/shm of its own, as in
containers; confined: a rank confines itself. None of these makes anybody wait."""
import collections
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import job  # noqa: E402
from job import Failed, Skip, run  # noqa: E402
from cases import wait  # noqa: E402, set up by job
from parallel import judge, launch, mixed, must_succeed  # noqa: E402

CASES = ("spawn", "spawned", "recover", "part", "apart", "private", "confined")
SLACK = 5  # seconds more than the same job without a reason to wait; the shortest of our limits is 10


def preload(case, one=False):
    library = os.path.join(case.build, "lib", "libiorama.so")
    if case.family == "openmpi":
        return ["-x", "LD_PRELOAD=" + library]
    return ["-env" if one else "-genv", "LD_PRELOAD", library]


def in_folder(folder):
    return [os.path.join(folder, name) for name in os.listdir(folder)]


def truth_of(lines):
    """(file, counter) -> sum over all ranks"""
    truth = collections.Counter()
    for line in lines:
        _, _, _, path, counter, value = line.split(" ")
        truth[path, counter] += int(value)
    return truth


def compare_sums(case, truth, logs, processes):
    """What the logs say of the files in the truth, and of how many processes they are."""
    have = collections.Counter()
    for log in logs:
        shutil.copy(log, os.path.join(case.folder, "log.darshan"))
        found, modules = case.log()
        processes -= found["job"]["nprocs"]
        for record in (r for records in modules.values() for r in records):
            for counter, value in record.get("counters", {}).items():
                if (record["name"], counter) in truth:
                    have[record["name"], counter] += value
        os.remove(os.path.join(case.folder, "log.darshan"))
    wrong = ["%s %s is %d, not %d" % (*key, have[key], want) for key, want in truth.items() if have[key] != want]
    if wrong or processes:
        raise Failed("%d logs, %d processes too few; %s" % (len(logs), processes, "; ".join(wrong[:20])))


def spawn(case):
    """Arguments of the launcher, and the job as it ends without us. Some MPIs cannot start more ranks here (Debian's
    MPICH has no process manager for it): then it must end alike when it is observed."""
    program = os.path.join(case.folder, case.compile("spawn", "spawn.c"))
    arguments = ["-n", "2", program, os.path.join(case.folder, "data")]
    if case.family == "openmpi":  # places for those that come later
        arguments = ["--oversubscribe", "--host", "localhost:8", *arguments]
    bare, lines = launch(case, arguments, observed=False)
    return arguments, bare, bare.returncode == 0 and len(lines) == 20


def same_end(bare, done):
    if (done.returncode == 0) != (bare.returncode == 0):
        raise Failed("status %d, without iorama %d: %s" % (done.returncode, bare.returncode, done.stderr[-300:]))


def case_spawn(case):
    arguments, bare, able = spawn(case)
    done, lines = launch(case, arguments)
    if not able:
        same_end(bare, done)
        return
    must_succeed(done)
    log = shutil.move(os.path.join(case.folder, "log.darshan"), os.path.join(case.quiet, "log"))
    compare_sums(case, truth_of(lines), [log], 5)


def case_spawned(case):
    logs, left = os.path.join(case.quiet, "logs"), os.path.join(case.quiet, "left")
    arguments, bare, able = spawn(case)
    for path in (logs, left):
        os.mkdir(path, 0o700)
    more = {} if able else {"segments": left}  # of ranks that were killed
    done, lines = launch(case, [*preload(case), *arguments], observed=False, IORAMA_LOG_DIR=logs, **more)
    if not able:
        same_end(bare, done)
        return
    must_succeed(done)
    compare_sums(case, truth_of(lines), in_folder(logs), 5)


def is_gone(pid):
    try:
        with open("/proc/%s/stat" % pid, encoding="latin1") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def case_recover(case):
    case.compile("mix", "mix.c")
    segments, logs = os.path.join(case.quiet, "left"), os.path.join(case.quiet, "logs")
    for path in (segments, logs):
        os.mkdir(path, 0o700)
    arguments = ["-n", "4", *mixed(case, "kill", 5)]
    bare, _ = launch(case, arguments, observed=False)
    done, lines = launch(case, [*preload(case), *arguments], observed=False, segments=segments,
                         IORAMA_LOG_DIR=logs, IORAMA_TRACE="1")  # fmt: skip
    if (done.returncode == 0) != (bare.returncode == 0):
        raise Failed("status %d, without iorama %d" % (done.returncode, bare.returncode))
    jobs = os.listdir(segments)
    if len(jobs) != 1 or len(os.listdir(os.path.join(segments, jobs[0]))) != 4 or os.listdir(logs):
        raise Failed("left behind: %s, and logs: %s" % (jobs, os.listdir(logs)))
    # a launcher ends when its ranks have closed their ends, which may be a moment before they are gone
    for name in os.listdir(os.path.join(segments, jobs[0])):
        wait(lambda pid=name.split(".")[-3]: is_gone(pid), "the end of " + name)
    log = os.path.join(case.folder, "log.darshan")
    done = run([case.iorama, "recover", "-q", "-f", "-o", log, segments], case.folder)
    if done.returncode != 0 or os.listdir(segments):
        raise Failed("recover: status %d: %s" % (done.returncode, done.stderr))
    judge(case, lines, 4)


def timed(case, arguments, **extra):
    began = time.monotonic()
    result = launch(case, arguments, observed=False, **extra)
    return result, time.monotonic() - began


def at_once(took, alone):
    if took > alone + SLACK:
        raise Failed("the job took %.1f s, %.1f s without a reason to wait" % (took, alone))


def script(case, text):
    """What each rank runs: it becomes the program in its arguments, which alone is observed. RANK is its number."""
    path = os.path.join(case.folder, "rank.sh")
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nRANK=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n%s\n" % text)
    os.chmod(path, 0o755)
    return path


def one_log(case, start, launcher=(), **extra):
    """The ranks of a preloaded job, each begun by `start`, make one log together, and none of them waits."""
    case.compile("mix", "mix.c")
    logs = os.path.join(case.quiet, "logs")
    os.mkdir(logs)
    arguments = [*launcher, "-n", "3", start, *mixed(case, "finalize", 6)]
    (done, _), alone = timed(case, arguments, LIBRARY="", **extra)
    must_succeed(done)
    library = os.path.join(case.build, "lib", "libiorama.so")
    (done, lines), took = timed(case, arguments, LIBRARY=library, IORAMA_LOG_DIR=logs, IORAMA_TRACE="1", **extra)
    must_succeed(done)
    at_once(took, alone)
    if len(os.listdir(logs)) != 1:
        raise Failed("logs: %s" % os.listdir(logs))
    shutil.move(in_folder(logs)[0], os.path.join(case.folder, "log.darshan"))
    judge(case, lines, 3)


def case_apart(case):
    start = script(case, 'IORAMA_DIR=$SEGMENTS/$RANK LD_PRELOAD=$LIBRARY exec "$@"')
    segments = os.path.join(case.quiet, "apart")
    os.mkdir(segments, 0o700)
    one_log(case, start, SEGMENTS=segments)
    left = [name for _, _, names in os.walk(segments) for name in names]
    if left:
        raise Failed("left behind: %s" % left)


def case_private(case):
    if os.geteuid() != 0:
        raise Skip("only root can make name spaces here")
    mount = "mount -t tmpfs tmpfs /dev/shm && unset IORAMA_DIR"
    start = script(case, 'exec unshare --mount sh -c \'%s && LD_PRELOAD=$LIBRARY exec "$0" "$@"\' "$@"' % mount)
    shared, case.quiet = case.quiet, tempfile.mkdtemp(prefix="iorama-mpi-", dir="/var/tmp")
    try:
        if case.family == "mpich":  # neither MPI can use a shared memory that is not shared
            one_log(case, start, MPIR_CVAR_NOLOCAL="1")
        else:
            one_log(case, start, ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", "lo"])
    finally:
        shutil.rmtree(case.quiet)
        case.quiet = shared


def case_confined(case):
    program = os.path.join(case.folder, case.compile("confined", "confined.c"))
    logs = os.path.join(case.quiet, "logs")
    os.mkdir(logs)
    (done, _), alone = timed(case, ["-n", "3", program])
    must_succeed(done)
    (done, _), took = timed(case, [*preload(case), "-n", "3", program], IORAMA_LOG_DIR=logs, IORAMA_SHUTDOWN_LIMIT="1")
    must_succeed(done)
    at_once(took, alone)
    truth = {(os.path.join(case.folder, "confined.%d" % rank), "POSIX_WRITES"): 1 if rank == 1 else 2 for rank in range(3)}
    compare_sums(case, truth, in_folder(logs), 3)


def case_part(case):
    case.compile("mix", "mix.c")
    logs, program = os.path.join(case.quiet, "logs"), mixed(case, "finalize", 6)
    os.mkdir(logs)
    arguments = ["-n", "2", *preload(case, one=True), *program, ":", "-n", "1", *program]
    _, alone = timed(case, ["-n", "2", *program, ":", "-n", "1", *program])
    (done, lines), took = timed(case, arguments, IORAMA_LOG_DIR=logs)
    must_succeed(done)
    at_once(took, alone)
    truth = truth_of([line for line in lines if line.startswith("TRUTH") and line.split(" ")[2] in "01"
                      and line.split(" ")[3].endswith((".0", ".1")) and "half" not in line])  # fmt: skip
    if len(truth) < 20 or len(os.listdir(logs)) != 2:
        raise Failed("%d counters; logs: %s" % (len(truth), os.listdir(logs)))
    compare_sums(case, truth, in_folder(logs), 2)


def perform(case, name):
    globals()["case_" + name](case)


if __name__ == "__main__":
    job.main(job.of_families(CASES), perform, "worlds")
