# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of `iorama emulate` share, beside tests/lib/cases.py: how it is started (alone, local ranks, Open MPI, MPICH),
and what it left. A script ends with harness.main(CASES), a dict name -> function(Case)."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
import check  # noqa: E402
from cases import FAMILIES, MPICH, OPENMPI, SKIPPED, TIMEOUT, Failed, Skip, expect  # noqa: E402

__all__ = ["FAMILIES", "LAUNCHERS", "LOCAL", "MPICH", "OPENMPI", "SKIPPED", "Case", "Failed", "Skip", "adopt", "cases", "environment",
           "expect", "main"]  # fmt: skip
LIST = ".iorama-emulate"
PART = r"\.[a-z0-9]{8}\.part"  # what the name of a file ends with until it is complete
LOCAL = "local"
LAUNCHERS = (LOCAL, *FAMILIES)


def environment(**extra):
    return cases.environment(("OMPI_COMM_", "PMI_", "PMIX_"), ASAN_OPTIONS="detect_leaks=0", **extra)


class Case(cases.Built):
    def __init__(self, build, folder):
        super().__init__(build)
        self.folder = folder

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

    def strace(self, *filters):
        """Words before a command: its system calls go to files trace.PID, those of earlier ones are removed."""
        cases.need("strace")
        if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode != 0:
            raise Skip("strace may not be used here")
        for name in os.listdir(self.folder):
            if name.startswith("trace."):
                os.unlink(self.path(name))
        return ["strace", "-ff", "-o", self.path("trace"), *filters]

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


def main(functions, kind=Case):
    def perform(build, name):
        folder = cases.quiet_folder("emulate")  # in memory: what is tested is not the disk
        try:
            functions[name](kind(build, folder))
        finally:
            cases.remove(folder)

    cases.main(functions, perform)
