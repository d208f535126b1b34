#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill.py IORAMA WORKLOAD: what was finished before a kill is in the log.

Processes and threads read and write until they are killed (SIGKILL, all at once) at a random moment.
Each thread keeps its own tally of finished calls, independent of iorama. Afterwards every file's
counters must lie between the tally and the tally plus the calls that can have been under way.

Two ways take turns: `iorama run` is killed too, and `iorama recover` makes the log; or `iorama run` lives
and makes it by itself. Some runs are traced. Nothing may be left behind: no process, no segment, no
half-written file. Each run has its own seed; --seed N --runs 1 repeats one."""
import argparse
import ctypes
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from cases import EXCLUDED, Failed  # noqa: E402

PROCESSES, THREADS = 4, 8
COLUMNS = ("POSIX_OPENS", "POSIX_READS", "POSIX_WRITES", "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN")
LARGEST = {"POSIX_BYTES_READ": 300, "POSIX_BYTES_WRITTEN": 500}  # of one call; the others count calls
HEADER = 64
LATEST = 0.100  # seconds after the start; most kills come early, when most is new
TRACED_EVERY = 10
PR_SET_CHILD_SUBREAPER = 36


# ---- processes


def adopt_orphans():
    """Processes whose parent was killed become our children, so that we can wait for them."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("SKIP: no way to wait for orphans here")
        sys.exit(77)


def reap(deadline):
    """Waits for every child, own or adopted. True: none is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)


def end(group):
    """Ends a group of ours that hangs."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait_for_group(tally, deadline):
    """The process group of the workload, once it has said so."""
    while time.monotonic() < deadline:
        with open(tally, "rb") as stream:
            head = stream.read(8)
        if len(head) == 8 and head != bytes(8):
            return struct.unpack("=Q", head)[0]
        time.sleep(0.0005)
    raise Failed("the workload did not start")


# ---- truth and log


def read_tally(path, folder):
    """File name -> counts of all threads."""
    with open(path, "rb") as stream:
        data = stream.read()[HEADER:]
    size = 8 * len(COLUMNS)
    truth = {}
    for k in range(len(data) // size):
        thread, shared = divmod(k, 2)
        name = "shared" if shared else "own.%d.%d" % divmod(thread, THREADS)
        counts = struct.unpack_from("=%dQ" % len(COLUMNS), data, k * size)
        total = truth.setdefault(os.path.join(folder, name), [0] * len(COLUMNS))
        for i, count in enumerate(counts):
            total[i] += count
    return truth


def show(iorama, log, *options):
    done = subprocess.run([iorama, "show", "--json", "--show-incomplete", *options, log], capture_output=True)
    if done.returncode != 0:
        raise Failed("iorama show: exit status %d: %s" % (done.returncode, done.stderr.decode()[:500]))
    log = json.loads(done.stdout)["logs"][0]
    if not 1 <= log["job"]["nprocs"] <= PROCESSES:
        raise Failed("the log has %d processes" % log["job"]["nprocs"])
    if not any(pair["key"] == "iorama_unfinished" for pair in log["job"]["metadata"]):
        raise Failed("the log does not say that processes were killed")
    return log["modules"], log["job"]["nprocs"]


def read_counters(iorama, log):
    """File name -> counters over all ranks."""
    found = {}
    modules, processes = show(iorama, log, "-m", "POSIX")
    for module in modules:
        for record in module["records"]:
            total = found.setdefault(record["name"], [0] * len(COLUMNS))
            for i, name in enumerate(COLUMNS):
                total[i] += record["counters"][name]
    return found, processes


def read_trace(iorama, log):
    """File name -> reads, writes, bytes read, bytes written of the trace."""
    found = {}
    modules, processes = show(iorama, log, "--dxt", "-m", "DXT_POSIX")
    for module in modules:
        for record in module["records"]:
            total = found.setdefault(record["name"], [0] * 4)
            for i, kind in enumerate(("reads", "writes")):
                total[i] += len(record.get(kind, ()))
                total[i + 2] += sum(segment[1] for segment in record.get(kind, ()))
    return found, processes


def compare(truth, read, columns):
    found, processes = read
    calls = len(columns) - 2  # the last two count bytes
    for path, counts in truth.items():
        under_way = PROCESSES * THREADS if path.endswith("/shared") else 1
        ours = found.get(path, [0] * len(columns))
        more = sum(ours[:calls]) - sum(counts[:calls])
        if more > under_way:  # a thread does one thing at a time
            raise Failed("%s: %d calls too many" % (os.path.basename(path), more - under_way))
        for name, least, value in zip(columns, counts, ours):
            most = least + under_way * LARGEST.get(name, 1)
            if not least <= value <= most:
                raise Failed("%s: %s is %d, not %d to %d, in a log of %d processes"
                             % (os.path.basename(path), name, value, least, most, processes))


# ---- one run


def one_run(options, folder, seed):
    """Returns the finished calls."""
    chance = random.Random(seed)
    alone, traced = seed % 2 == 1, seed % TRACED_EVERY in (4, 5)
    data, segments, logs = (os.path.join(folder, name) for name in ("data", "segments", "logs"))
    for path in (data, segments, logs):
        os.mkdir(path, 0o700)
    tally, log = os.path.join(folder, "tally"), os.path.join(logs, "job.darshan")
    open(tally, "wb").close()
    # the tally is not to be observed, so that files of the log are those of the tally
    command = [options.iorama, "run", "-q", "-o", log, "--exclude", tally] + ["--trace"] * traced
    command += ["--include", data + "/*"] * data.startswith(EXCLUDED)
    command += ["--", options.workload, tally, data, str(PROCESSES), str(THREADS)]
    environment = dict(os.environ, IORAMA_DIR=segments)
    environment.pop("KILL_OWN_GROUP", None)
    if alone:
        environment["KILL_OWN_GROUP"] = "1"
    errors = open(os.path.join(folder, "stderr"), "w+b")
    began = time.monotonic()
    run = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                           start_new_session=True)
    group = run.pid
    try:
        if alone:
            group = wait_for_group(tally, began + 60)
        time.sleep(chance.random() ** 2 * LATEST)
        os.killpg(group, signal.SIGKILL)
        status = run.wait(timeout=90)
    except (Failed, subprocess.TimeoutExpired):
        end(run.pid)
        end(group)
        raise
    if not reap(time.monotonic() + 60):
        raise Failed("a process is left")
    if not alone:
        done = subprocess.run([options.iorama, "recover", "-q", "-o", log, segments], capture_output=True)
        status, message = done.returncode, done.stderr
    else:
        errors.seek(0)
        message = errors.read()
    errors.close()
    truth = read_tally(tally, data)
    calls = sum(sum(counts[:3]) for counts in truth.values())
    if calls:  # first, as this is what matters most
        compare(truth, read_counters(options.iorama, log), COLUMNS)
        if traced:
            compare({path: counts[1:] for path, counts in truth.items()}, read_trace(options.iorama, log), COLUMNS[1:])
    if alone and status != 128 + signal.SIGKILL or not alone and status != 0 and calls:
        command = "iorama run" if alone else "iorama recover"
        raise Failed("%s: exit status %d: %s" % (command, status, message.decode().strip()[:500]))
    left = os.listdir(segments) + [name for name in os.listdir(logs) if name != "job.darshan"]
    if left:
        raise Failed("left behind: %s" % ", ".join(left))
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iorama")
    parser.add_argument("workload")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a run that failed")
    options = parser.parse_args()
    adopt_orphans()
    began, failed, calls, early = time.monotonic(), 0, 0, 0
    for seed in range(options.seed, options.seed + options.runs):
        folder = tempfile.mkdtemp(prefix="iorama-kill-")
        try:
            finished = one_run(options, folder, seed)
            calls, early = calls + finished, early + (finished == 0)
        except (Failed, OSError, ValueError, subprocess.TimeoutExpired) as problem:
            failed += 1
            print("seed %d: %s%s" % (seed, problem, " (%s)" % folder if options.keep else ""), flush=True)
            if options.keep:
                continue
        shutil.rmtree(folder)
    print("%d runs, %d failed, %d calls finished before the kill, %d runs killed before the first, %.1f s"
          % (options.runs, failed, calls, early, time.monotonic() - began))
    return 1 if failed or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
