#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""settings.py BUILD FAMILY-CASE: what is asked of a job with MPI by its environment, seen by its log; --list prints all cases.

existing   the file that the log should be exists already: it stays as it is, one line says so, and the job can be recovered
files      1,024 files of each rank: all of them are in the log, none is missing, and none is MPI's own"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import job  # noqa: E402
from job import HERE, expect  # noqa: E402

FILES = 1024


class Job:
    def __init__(self, case):
        self.build, self.family, self.folder, self.iorama = case.build, case.family, case.folder, case.iorama
        self.program, self.below = self.path("own_files"), []
        subprocess.run(["mpicc." + self.family, "-O1", "-o", self.program, os.path.join(HERE, "own_files.c")], check=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, ranks, files, *before, **extra):
        shutil.rmtree(self.path("data"), ignore_errors=True)
        os.makedirs(self.path("data", *self.below))
        environment = job.cases.environment(("IORAMA_", "DARSHAN_", "DXT_"), PWD=self.folder, IORAMA_DIR=self.path("segments"), **extra)
        preload = [] if before else ["env", "LD_PRELOAD=" + os.path.join(self.build, "lib", "libiorama.so")]
        done = subprocess.run([*before, "mpirun." + self.family, "-n", str(ranks), *preload, self.program, self.path("data", *self.below), str(files),
                               "7"], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)  # fmt: skip
        expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
        # that is what it did: nobody else writes there
        truth = sorted(os.path.join(here, name) for here, _, names in os.walk(self.path("data")) for name in names)
        return truth, done.stderr

    def show(self, log):
        done = subprocess.run([self.iorama, "show", "--json", log], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["logs"][0], done.stderr


def names_in(case, log):
    """Paths of all records, but those of heat maps, streams without a file and processes."""
    done = subprocess.run([case.iorama, "show", "--show-incomplete", log], capture_output=True, text=True, check=True)
    names = {line.split("\t")[5] for line in done.stdout.splitlines() if line[:1].isupper() and line.count("\t") >= 6
             and line.split("\t")[0] in ("POSIX", "EXTRA", "STDIO")}  # fmt: skip
    return sorted(n for n in names if n.startswith("/")), "incomplete" in done.stdout


def bytes_of(path):
    st = os.lstat(path)
    return (os.readlink(path) if os.path.islink(path) else open(path, "rb").read(), st.st_mtime_ns, st.st_ino)


def existing(case):
    """As without MPI: what is there is left alone."""
    other = case.path("elsewhere")
    for variable in ("IORAMA_LOG", "DARSHAN_LOGFILE"):
        for kind in ("file", "link", "dangling"):
            log = case.path("named-%s-%s.darshan" % (variable, kind))
            target = log if kind == "file" else other
            if kind != "dangling":
                with open(target, "w", encoding="ascii") as file:
                    file.write("precious\n")
                os.utime(target, ns=(10**18, 10**18))
            elif os.path.exists(other):
                os.unlink(other)
            if kind != "file":
                os.symlink(other, log)
            before = bytes_of(log)
            truth, told = case.run(2, 3, **{variable: log})
            expect(bytes_of(log) == before, "%s, %s: it was changed", variable, kind)
            expect(kind == "dangling" or open(target, "rb").read() == b"precious\n", "%s, %s: it is gone", variable, kind)
            expect(kind != "dangling" or not os.path.exists(other), "%s: a link was followed", variable)
            said = re.findall(r"^iorama: %s exists and is left as it is; iorama recover (\S+) makes" % re.escape(log), told, re.MULTILINE)
            expect(len(said) == 1, "%s, %s: %r", variable, kind, told)
            expect(sorted(os.listdir(case.folder)).count(os.path.basename(log) + "_partial") == 0, "a half-written log is left")
            made = case.path("recovered.darshan")
            subprocess.run([case.iorama, "recover", "-f", "-o", made, said[0]], check=True, capture_output=True)
            have = names_in(case, made)[0]
            expect(have == truth, "recovered: %s, not %s", have, truth)
    # nor is what has the name of the half-written one
    for kind in ("file", "link"):
        log, target = case.path("half-%s.darshan" % kind), case.path("half-%s.darshan_partial" % kind)
        if kind == "link":
            os.symlink(other, target)
            target = other
        with open(target, "w", encoding="ascii") as file:
            file.write("precious\n")
        before = bytes_of(log + "_partial"), bytes_of(target)
        case.run(2, 3, IORAMA_LOG=log)
        expect(os.path.lexists(log + "_partial") and before == (bytes_of(log + "_partial"), bytes_of(target)), "half a log, %s: it was changed", kind)
    # and where nothing is in the way it is that very file
    truth, told = case.run(2, 3, IORAMA_LOG=case.path("new.darshan"))
    expect(names_in(case, case.path("new.darshan"))[0] == truth and "iorama:" not in told, "%r", told)


def files(case):
    """With as many files as a module has records by default none is left out for the sake of MPI's own."""
    for ranks in (1, 2):
        log = case.path("files-%d.darshan" % ranks)
        truth, _ = case.run(ranks, FILES, IORAMA_LOG=log)
        expect(len(truth) == ranks * FILES, "the program made %d files", len(truth))
        have, incomplete = names_in(case, log)
        expect(have == truth, "%d ranks: too many: %s; missing: %s", ranks, sorted(set(have) - set(truth))[:9],
               sorted(set(truth) - set(have))[:9])  # fmt: skip
        expect(not incomplete, "%d ranks: incomplete", ranks)
    log = case.path("run.darshan")
    truth, _ = case.run(2, FILES, case.iorama, "run", "-q", "-o", log, "--")
    have, incomplete = names_in(case, log)
    expect(have == truth and not incomplete, "run: too many: %s; incomplete: %s", sorted(set(have) - set(truth))[:9], incomplete)
    # names like those of MPI, in a directory of the user's: they count
    log = case.path("alike.darshan")
    case.below = ["ompi.vm.0", "pid.7"]
    truth, _ = case.run(1, 3, IORAMA_LOG=log)
    case.below = []
    expect(len(truth) == 3 and names_in(case, log)[0] == truth, "%s, not %s", names_in(case, log)[0], truth)
    # --include brings back what is MPI's own
    log = case.path("all.darshan")
    truth, _ = case.run(2, 3, IORAMA_LOG=log, IORAMA_INCLUDE="*", IORAMA_RECORDS="100000")
    more = [n for n in names_in(case, log)[0] if n not in truth]
    want = r"/(vader_segment|open_mpi\.\d|pmix_dstor)" if case.family == "openmpi" else r"/(mpich_shar|ucx_shm)"
    expect(any(re.search(want, n) for n in more), "nothing of MPI's own: %s", more[:20])


CASES = {"existing": existing, "files": files}


if __name__ == "__main__":
    job.main(job.of_families(CASES), lambda case, name: CASES[name](Job(case)), "settings")
