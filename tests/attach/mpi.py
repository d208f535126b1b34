#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi.py BUILD FAMILY-CASE | --list: ranks of a running MPI job are attached, and make one log.

tests/work/target_mpi.c says how often which rank does what after it was attached."""
import collections
import glob
import json
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import TIMEOUT, WORK, expect, need, wait  # noqa: E402

NAMELESS = "<MPI-FILE-OPENED-BEFORE-ATTACH>"


class Job(cases.Built):
    def __init__(self, build, family, work):
        super().__init__(build)
        self.family, self.work, self.process = family, work, None

    def path(self, *names):
        return os.path.join(self.work, *names)

    def env(self):
        return cases.environment(HOME=self.work, LC_ALL="C.UTF-8", IORAMA_DIR=self.path("segments"))

    def start(self, ranks, numbers, shell=False, variables=None):
        """their process numbers, by rank"""
        source = os.path.join(WORK, "target_mpi.c")
        program = self.compile_once("attach-mpi-" + self.family, [source], ["mpicc." + self.family, "-O1", "-D_GNU_SOURCE", "-o", None, source])
        many = ["--oversubscribe"] if self.family == "openmpi" else []
        command = [program, self.work, *map(str, numbers)]
        if shell:
            command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
        self.process = subprocess.Popen(["mpirun." + self.family, *many, "-n", str(ranks), *command], cwd=self.work, env={**self.env(), **(variables or {})},
                                        stdin=subprocess.DEVNULL)  # fmt: skip
        wait(lambda: len(glob.glob(self.path("pid.*"))) == ranks, "the ranks")
        return [int(cases.text_of(self.path("pid.%d" % r))) for r in range(ranks)]

    def step(self, name, ranks=0):
        with open(self.path(name), "w", encoding="ascii"):
            pass
        wait(lambda: len(glob.glob(self.path("done.*"))) >= ranks, "their work")

    def end(self):
        self.step("end")
        status = self.process.wait(TIMEOUT)
        expect(status == 0, "mpirun ended with %d", status)

    def call(self, *words, status=0):
        done = subprocess.run([self.iorama, *words], cwd=self.work, env=self.env(), timeout=TIMEOUT, text=True, capture_output=True)
        expect(done.returncode == status, "%s: status %d: %s", words, done.returncode, done.stderr)
        return done

    def logs(self):
        return sorted(glob.glob(self.path("*.darshan")))

    def wait_log(self):
        wait(self.logs, "the log")
        wait(lambda: not glob.glob(self.path("segments", "*")), "the end of the segments")
        (log,) = self.logs()
        return log

    def read(self, log):
        """header, and {(module, rank, file's name, counter): value}"""
        header = json.loads(self.call("show", "--json", log).stdout)["logs"][0]
        values = collections.Counter()
        for line in self.call("show", log).stdout.splitlines():
            words = line.split("\t")
            if len(words) > 5 and words[0] in ("POSIX", "MPI-IO", "STDIO"):
                values[(words[0], int(words[1]), os.path.basename(words[5]), words[3])] = int(float(words[4]))
        return header, values

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def drawn():
    numbers = [random.randrange(1, 60) for _ in range(3)]
    print("random:", numbers)
    return numbers


def expect_counts(job, log, ranks, numbers, attached=None):
    header, got = job.read(log)
    attached = range(ranks) if attached is None else attached
    a, b, c = numbers
    expect(header["job"]["nprocs"] == ranks, "%s processes, not %d", header["job"]["nprocs"], ranks)
    for r in range(ranks):
        want = a + r if r in attached else 0
        expect(got[("POSIX", r, "posix.%d" % r, "POSIX_WRITES")] == want, "rank %d: %s, not %d writes", r,
               [(k, v) for k, v in got.items() if k[3] == "POSIX_WRITES"], want)  # fmt: skip
    if b > 0:  # opened before: known by the first write inside
        want = sum(b + r for r in attached)
        writes = sum(v for k, v in got.items() if k[2:] == ("before", "MPIIO_INDEP_WRITES"))
        size = sum(v for k, v in got.items() if k[2:] == ("before", "MPIIO_BYTES_WRITTEN"))
        expect((writes, size) == (want, want * 1000), "before: %d writes of %d bytes, not %d", writes, size, want)
    writes = sum(v for k, v in got.items() if k[2:] == ("during", "MPIIO_COLL_WRITES"))
    expect(writes == c * len(attached), "%d collective writes, not %d", writes, c * len(attached))
    return got


def detach(job):
    """All ranks in one command, detached in one: one log with the right ranks; the job goes on."""
    numbers, ranks = drawn(), 3
    pids = job.start(ranks, numbers)
    said = json.loads(job.call("attach", "--json", *map(str, pids)).stdout)
    expect([s["what"] for s in said] == ["attached"] * ranks, "%s", said)
    job.step("go", ranks)
    said = json.loads(job.call("detach", "--json", *map(str, reversed(pids))).stdout)
    expect(len({s["log"] for s in said}) == 1 and said[0]["log"], "not one log: %s", said)
    expect(job.logs() == [said[0]["log"]], "logs: %s", job.logs())
    expect_counts(job, said[0]["log"], ranks, numbers)
    job.end()
    wait(lambda: not glob.glob(job.path("segments", "*")), "the end of the segments")
    expect(len(job.logs()) == 1, "more logs: %s", job.logs())


def finalize(job):
    """They end by themselves: one log. They were started by a shell each."""
    numbers, ranks = drawn(), 4
    pids = job.start(ranks, numbers, shell=True)
    job.call("attach", "-q", *map(str, pids))
    job.step("go", ranks)
    job.end()
    expect_counts(job, job.wait_log(), ranks, numbers)


def one_by_one(job):
    """Detached one after the other: the last makes the log of all."""
    numbers, ranks = drawn(), 3
    pids = job.start(ranks, numbers)
    job.call("attach", "-q", *map(str, pids))
    job.step("go", ranks)
    for pid in pids[:-1]:
        done = job.call("detach", str(pid))
        expect("other ranks are still observed" in done.stderr and not job.logs(), "%s, %s", done.stderr, job.logs())
    job.call("detach", str(pids[-1]))
    expect_counts(job, job.wait_log(), ranks, numbers)
    job.end()


def some(job):
    """Only some ranks: theirs are in the log, under their own numbers."""
    numbers, ranks = drawn(), 4
    pids = job.start(ranks, numbers)
    job.call("attach", "-q", str(pids[3]), str(pids[1]))
    job.step("go", ranks)
    job.call("detach", "-q", str(pids[3]), str(pids[1]))
    expect_counts(job, job.wait_log(), ranks, numbers, [1, 3])
    job.end()


def posix_only(job):
    """Ranks that never call their MPI while they are attached are known by what their launcher says; --for."""
    numbers, ranks = [random.randrange(1, 60), 0, 0], 3
    pids = job.start(ranks, numbers)[1:]  # without the first: in the order of their start they would have other numbers
    tool = subprocess.Popen([job.iorama, "attach", "--for", "60s", *map(str, pids)], cwd=job.work, env=job.env(), stderr=subprocess.PIPE, text=True)
    for _ in pids:
        expect("observed from now on" in tool.stderr.readline(), "not attached")
    job.step("go", ranks)
    tool.terminate()
    _, told = tool.communicate(timeout=TIMEOUT)
    expect(tool.returncode == 0, "status %d: %s", tool.returncode, told)
    expect_counts(job, job.wait_log(), ranks, numbers, [1, 2])
    job.end()


def asked(job):
    """What the MPI says counts, not what variables say."""
    numbers, ranks = drawn(), 2
    pids = job.start(ranks, [*numbers, "lie"])
    job.call("attach", "-q", *map(str, pids))
    job.step("go", ranks)
    job.call("detach", "-q", *map(str, pids))
    expect_counts(job, job.wait_log(), ranks, numbers)
    job.end()


def before(job):
    """Collective writes to a file that was opened before: whoever writes knows its name, the others say that they do not. Events, too."""
    n, ranks = random.randrange(2, 40), 3
    print("random:", n)
    pids = job.start(ranks, [0, -n, 0])
    job.call("attach", "-q", "--trace", *map(str, pids))
    job.step("go", ranks)
    job.call("detach", "-q", *map(str, pids))
    log = job.wait_log()
    _, got = job.read(log)
    count = {name: sum(v for k, v in got.items() if k[2:] == (name, "MPIIO_COLL_WRITES")) for name in ("before", NAMELESS)}
    print(count)
    expect(sum(count.values()) == n * ranks and count["before"] >= n - 1, "%s, not %d", count, n * ranks)
    text = job.call("show", "--dxt", log).stdout
    events = len(re.findall(r"^ X_MPIIO\s+\d+\s+write", text, re.M))
    expect(events == n * ranks, "%d events, not %d: %s", events, n * ranks, text[-1500:])
    job.end()


def by_job(job):
    """All ranks of a launcher's process, or of the job of a batch system: one log, with that id; others are not touched."""
    numbers, ranks, number = drawn(), 3, random.randrange(10**8, 10**9)
    pids = job.start(ranks, numbers, variables={"SLURM_JOB_ID": str(number)})
    done = job.call("attach", "--job", str(number + 1), status=4)
    expect("no process of a job %d" % (number + 1) in done.stderr and done.stderr.count("\n") == 1, "%s", done.stderr)
    said = json.loads(job.call("attach", "--json", "--for", "0s", "--job", str(job.process.pid)).stdout)
    expect({s["pid"] for s in said} == set(pids), "%s, not %s", said, pids)
    os.remove(said[-1]["log"])
    said = json.loads(job.call("attach", "--json", "--job", str(number)).stdout)
    expect({s["pid"] for s in said} == set(pids), "%s, not %s", said, pids)
    job.step("go", ranks)
    job.end()
    log = job.wait_log()
    expect_counts(job, log, ranks, numbers)
    expect(job.read(log)[0]["job"]["jobid"] == number, "%s", job.read(log)[0]["job"])


def again(job):
    """Attached and detached again and again while they work: nothing fails, and each time there is one log."""
    ranks, away = 2, []
    pids = job.start(ranks, [1, 1, 1])
    turns = 100 if os.environ.get("IORAMA_TEST_LONG") else 5
    for i in range(turns):
        away += [one["borrowed"] for one in json.loads(job.call("attach", "--json", *map(str, pids)).stdout)]
        if i == 2:
            job.step("go", ranks)
        job.call("detach", "-q", *map(str, pids))
        (log,) = job.logs()
        header, got = job.read(log)
        expect(header["job"]["nprocs"] == ranks, "%s processes", header["job"]["nprocs"])
        expect(sum(v for k, v in got.items() if k[3] == "MPIIO_COLL_WRITES") == (ranks if i == 2 else 0), "time %d: %s", i, got)
        os.remove(log)
    away.sort()
    print("%d times: a thread was away for %.1f ms half of the times, at most %.1f ms" % (turns, away[len(away) // 2] * 1e3, away[-1] * 1e3))
    expect(away[len(away) // 2] <= cases.BORROWED, "a thread was away for %.1f ms half of the times", away[len(away) // 2] * 1e3)
    job.end()


CASES = {f.__name__.replace("_", "-"): f for f in (detach, finalize, one_by_one, some, posix_only, asked, before, by_job, again)}
NAMES = [family + "-" + name for family in ("openmpi", "mpich") for name in CASES]


def perform(build, name):
    family, _, case = name.partition("-")
    need("mpicc." + family, "mpirun." + family)
    with cases.folders(build, "attach") as (work, _):
        job = Job(build, family, work)
        try:
            CASES[case](job)
        finally:
            job.close()


if __name__ == "__main__":
    cases.main(NAMES, perform)
