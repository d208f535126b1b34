# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of everything live share, beside tests/lib/cases.py: observed programs, agents and other commands that run
beside the test, the rows of their store. A script ends with harness.main(CASES), a dict name -> function(Case)."""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import (FAMILIES, MPICH, OPENMPI, ROOT, TIMEOUT, WORK, Failed, Skip, die_with_parent, expect,  # noqa: E402
                   text_of)  # fmt: skip

__all__ = ["FAMILIES", "MPICH", "OPENMPI", "ROOT", "TIMEOUT", "WORK", "Case", "Failed", "Skip", "expect", "main", "text_of"]


class Case(cases.Built):
    """folder: private, in memory, not observed; work: on disk, where observed programs do their I/O."""

    def __init__(self, build, folder, work):
        super().__init__(build)
        self.folder, self.work, self.started, self.begun = folder, work, [], 0

    def path(self, *names):
        return os.path.join(self.folder, *names)

    # ---- environment

    def environment(self, **extra):
        """Everything of ours goes below the case's folder; None removes a variable."""
        mine = (*cases.OURS, "XDG_", "OMPI_COMM_", "PMI_", "PMIX_", "PG", "NATS_")
        env = {"HOME": self.folder, "IORAMA_DIR": self.path("segments"), "IORAMA_LOG_DIR": self.path("logs"),
               "IORAMA_STORE": self.path("store.db"), "IORAMA_SPOOL": self.path("spool"), "TZ": "UTC", "LC_ALL": "C.UTF-8"}  # fmt: skip
        os.makedirs(env["IORAMA_LOG_DIR"], exist_ok=True)
        return cases.environment(mine, **{**env, **extra})

    def observed(self, **extra):
        """The same for a program that is observed by preloading, with live events on."""
        return self.environment(LD_PRELOAD=self.library, **{"IORAMA_LIVE": "1", **extra})

    # ---- running

    def run(self, *command, status=0, env=None, timeout=TIMEOUT, **more):
        """Runs it to its end; .stdout and .stderr are texts. A wrong exit status is a failure; status None: any will do."""
        command = [str(w) for w in command]
        more = {"cwd": self.work, "capture_output": True, "text": True, **more}
        try:
            done = subprocess.run(command, env=env or self.environment(), timeout=timeout, preexec_fn=die_with_parent,
                                  **more)  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise Failed("%s: does not end" % " ".join(command)) from late
        if status is not None and done.returncode != status:
            raise Failed("%s: status %d, not %d: %s" % (" ".join(command), done.returncode, status, done.stderr))
        return done

    def command(self, *words, **more):
        """`iorama WORDS`, to its end."""
        return self.run(self.iorama, *words, **more)

    def start(self, *command, env=None, **more):
        """A process beside the test; it is killed at the end of the case if it still runs. What it says goes into files:
        .out and .err are their paths, said() reads the second."""
        number, self.begun = self.begun, self.begun + 1
        out, err = self.path("out.%d" % number), self.path("err.%d" % number)
        with open(out, "wb") as o, open(err, "wb") as e:
            process = subprocess.Popen([str(w) for w in command], env=env or self.environment(), preexec_fn=die_with_parent,
                                       **{"cwd": self.work, "stdin": subprocess.DEVNULL, "stdout": o, "stderr": e, **more})  # fmt: skip
        process.out, process.err = out, err
        process.said = lambda: text_of(err)
        self.started.append(process)
        return process

    def end(self, process, status=0, send=None, timeout=TIMEOUT):
        """Waits for its end, after a signal if one is given; a wrong exit status is a failure."""
        if send is not None:
            process.send_signal(send)
        try:
            got = process.wait(timeout)
        except subprocess.TimeoutExpired as late:
            raise Failed("%s: does not end: %s" % (" ".join(process.args), process.said())) from late
        if status is not None and got != status:
            raise Failed("%s: status %d, not %d: %s" % (" ".join(process.args), got, status, process.said()))
        return text_of(process.out)

    def wait(self, function, what, timeout=TIMEOUT):
        """Asks until the answer is true, and returns it. Errors of files that are not there yet are a no."""
        def told():
            return "".join("\n%s: %s" % (p.args[1] if len(p.args) > 1 else p.args, p.said()) for p in self.started)

        return cases.wait(function, what, timeout, no=(OSError, ValueError, LookupError, sqlite3.OperationalError), told=told)

    def stop_all(self):
        for process in self.started:
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    process.kill()
                    process.send_signal(signal.SIGCONT)
                process.wait()

    # ---- programs

    def compile(self, name, family=None, flags=()):
        """tests/work/NAME.c, built anew only when its sources are others; family: with that MPI (and -DWITH_MPI)."""
        if family:
            cases.need("mpicc." + family, "mpirun." + family)
        compiler = "mpicc." + family if family else os.environ.get("CC", "cc")
        source = os.path.join(WORK, name + ".c")
        words = [compiler, "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O2", "-Wall", "-Wextra", "-I", WORK,
                 "-I", os.path.join(ROOT, "src"), *(["-DWITH_MPI"] if family else []), *flags, source, "-o", None,
                 "-pthread"]  # fmt: skip
        return self.compile_once(name + ("-" + family if family else ""), [source], words, newer=[__file__])

    # ---- the agent

    def agent(self, *words, env=None, wrap=(), ready=True, **more):
        """`iorama agent WORDS` beside the test. ready: waits until it is at work."""
        process = self.start(*wrap, self.iorama, "agent", *words, env=env, **more)
        if ready:
            self.wait(lambda: process.poll() is not None or self.status_of(process.pid, env), "the agent's status file")
            expect(process.poll() is None, "the agent ended with %s: %s", process.returncode, process.said())
        return process

    def status(self, env=None):
        """What the agent of the (default) spool says of itself."""
        spool = (env or {}).get("IORAMA_SPOOL") or self.path("spool")
        with open(os.path.join(spool, "status.json"), encoding="utf-8") as file:
            return json.load(file)

    def status_of(self, pid, env=None):
        """The same, if it is that process's (or that of its child: faketime and setpriv stay the same process)."""
        said = self.status(env)
        return said if said["pid"] == pid and not said["ended"] else None

    # ---- the store

    def rows(self, sql, *args, store=None):
        """Rows of a SQLite store as dicts. The view `events` needs our extension, which is loaded."""
        db = sqlite3.connect("file:%s?mode=ro" % (store or self.path("store.db")), uri=True, timeout=60)
        try:
            extension = os.path.join(self.build, "lib", "iorama_sqlite.so")
            if os.path.exists(extension) and hasattr(db, "enable_load_extension"):
                db.enable_load_extension(True)
                db.load_extension(extension)
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, args)]
        finally:
            db.close()

    def value(self, sql, *args, store=None):
        """The only value of a statement."""
        row = self.rows(sql, *args, store=store)[0]
        return next(iter(row.values()))


def main(functions):
    def perform(build, name):
        with cases.folders(build, "live") as (work, folder):
            case = Case(build, folder, work)
            try:
                functions[name](case)
            finally:
                case.stop_all()

    cases.main(functions, perform)
