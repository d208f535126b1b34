# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of `iorama emulate` share: how it is started (alone, local ranks, Open MPI, MPICH), cases and their names.

A script has a dict of cases, name -> function(Case), and ends with harness.main(CASES):
    SCRIPT BUILD [CASE…]      runs all or some of them, each in a folder of its own
    SCRIPT --list             prints their names, one per line: each becomes a test"""
import os
import shutil
import subprocess
import sys
import tempfile

import check

SKIPPED = 77
LIST = ".iorama-emulate"
PART = r"\.[a-z0-9]{8}\.part"  # what the name of a file ends with until it is complete
TIMEOUT = 120
LOCAL, OPENMPI, MPICH = "local", "openmpi", "mpich"
FAMILIES = (OPENMPI, MPICH)
LAUNCHERS = (LOCAL, OPENMPI, MPICH)


class Skip(Exception):
    """The case cannot run here; the text says why."""


class Failed(Exception):
    """The case went wrong; the text says how."""


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_COMM_", "PMI_", "PMIX_"))}
    # in a container, and as its root, on any number of cores; ranks that wait leave the processor to the others
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_mpi_yield_when_idle="1",
               ASAN_OPTIONS="detect_leaks=0")  # fmt: skip
    env.update(extra)
    return env


class Case:
    def __init__(self, build, folder):
        self.build, self.folder = os.path.abspath(build), folder
        self.iorama = os.path.join(self.build, "bin", "iorama")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def need(self, launcher):
        """Skips the case if there is no such launcher, or no worker for it."""
        if launcher == LOCAL:
            return
        if not shutil.which("mpirun." + launcher):
            raise Skip("mpirun.%s is not installed" % launcher)
        if not os.path.exists(os.path.join(self.build, "bin", "iorama-worker-" + launcher)):
            raise Skip("no worker for %s was built" % launcher)

    def command(self, *words, ranks=1, launcher=LOCAL):
        """The command line of `iorama emulate WORDS`."""
        words = [str(w) for w in words]
        if launcher != LOCAL:
            self.need(launcher)
            return ["mpirun." + launcher, "-n", str(ranks), self.iorama, "emulate", *words]
        return [self.iorama, "emulate", *words] + (["--ranks", str(ranks)] if ranks > 1 else [])

    def start(self, *words, ranks=1, launcher=LOCAL, wrap=(), **more):
        """A run that goes on by itself."""
        command = [*wrap, *self.command(*words, ranks=ranks, launcher=launcher)]
        return subprocess.Popen(command, cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **more)  # fmt: skip

    def emulate(self, *words, ranks=1, launcher=LOCAL, status=0, wrap=(), **more):
        """Runs it; returns what it printed (.stdout, .stderr). A wrong exit status is a failure; None: any is right."""
        command = [*wrap, *self.command(*words, ranks=ranks, launcher=launcher)]
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment(), capture_output=True, text=True,
                                  timeout=TIMEOUT, **more)  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise Failed("%s: does not end" % " ".join(command)) from late
        if status is not None and done.returncode != status:
            raise Failed("%s: status %d, not %d: %s" % (" ".join(command), done.returncode, status, done.stderr))
        return done

    def holds(self, path, name=None, size=0, **more):
        """Every byte of a file is what it should be; name: of the unit, else that of the file."""
        wrong = check.compare(self.path(path), name or os.path.basename(path), size, **more)
        if wrong:
            raise Failed(wrong[0])

    def files(self, folder="."):
        """Names of all files below a folder, sorted, but for the lists of what emulate made."""
        top = self.path(folder)
        found = [os.path.join(here, name) for here, _, names in os.walk(top) for name in names if name != LIST]
        return sorted(os.path.relpath(f, top) for f in found)

    def only(self, *names, folder="."):
        """These files are there and no others."""
        have = self.files(folder)
        if have != sorted(names):
            raise Failed("files %s, not %s" % (have, sorted(names)))


def adopt(top):
    """Makes all files below a folder the work of an earlier run."""
    with open(os.path.join(top, LIST), "w", encoding="utf-8") as out:
        for here, _, names in os.walk(top):
            for name in sorted(set(names) - {LIST}):
                path = os.path.join(here, name)
                st = os.stat(path)
                born = subprocess.run(["stat", "-c", "%.9W", path], check=True, capture_output=True, text=True).stdout
                out.write("file %d %s %d %d 0 %s\n" % (st.st_ino, born.strip().replace(".", ""), st.st_mtime_ns, st.st_size,
                                                       os.path.relpath(path, top)))  # fmt: skip


def expect(true, text, *values):
    if not true:
        raise Failed(text % values)


def run_case(build, name, function):
    # in memory if it can be had: what is tested is not the disk
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="emulate-", dir=memory) as folder:
        try:
            function(Case(build, folder))
        except Skip as why:
            print("SKIP: %s: %s" % (name, why))
            return SKIPPED
        except Failed as why:
            print("FAILED: %s: %s" % (name, why))
            return 1
    print("ok: %s" % name)
    return 0


def main(cases):
    if sys.argv[1:] == ["--list"]:
        print("\n".join(cases))
        sys.exit(0)
    names = sys.argv[2:] or list(cases)
    if len(sys.argv) < 2 or any(n not in cases for n in names):
        sys.exit("usage: %s BUILD [CASE…] | --list" % sys.argv[0])
    done = [run_case(sys.argv[1], name, cases[name]) for name in names]
    sys.exit(1 if 1 in done else SKIPPED if all(d == SKIPPED for d in done) else 0)
