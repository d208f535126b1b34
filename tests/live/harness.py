# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of everything live share: observed programs, agents and other commands that run beside the test, and waiting
for what must come.

A script has a dict of cases, name -> function(Case), and ends with harness.main(CASES):
    SCRIPT BUILD [CASE…]      runs all or some of them, each in folders of its own
    SCRIPT --list             prints their names, one per line: each becomes a test

Nothing here sleeps for luck: Case.wait() asks until something is true, with a generous limit."""
import contextlib
import ctypes
import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

import servers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "tests", "work")
SKIPPED = 77
TIMEOUT = 120
OPENMPI, MPICH = "openmpi", "mpich"
FAMILIES = (OPENMPI, MPICH)
# files below these are not observed
EXCLUDED = ("/etc/", "/dev/", "/usr/", "/bin/", "/boot/", "/lib/", "/opt/", "/sbin/", "/sys/", "/proc/", "/var/")


class Skip(Exception):
    """The case cannot run here; the text says why."""


class Failed(Exception):
    """The case went wrong; the text says how."""


def expect(true, text, *values):
    if not true:
        raise Failed(text % values)


def die_with_parent():
    """For preexec_fn: whoever kills the test kills what it started."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Case:
    """folder: private, in memory, not observed; work: on disk, where observed programs do their I/O."""

    def __init__(self, build, folder, work):
        self.build, self.folder, self.work = os.path.abspath(build), folder, work
        self.iorama = os.path.join(self.build, "bin", "iorama")
        self.library = os.path.join(self.build, "lib", "libiorama.so")
        self.started = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    # ---- environment

    def environment(self, **extra):
        """Everything of ours goes below the case's folder; None removes a variable."""
        mine = ("IORAMA_", "DARSHAN_", "LD_", "DXT_", "XDG_", "OMPI_COMM_", "PMI_", "PMIX_", "PG", "NATS_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(mine)}
        env.update(HOME=self.folder, IORAMA_DIR=self.path("segments"), IORAMA_LOG_DIR=self.path("logs"),
                   IORAMA_STORE=self.path("store.db"), IORAMA_SPOOL=self.path("spool"), TZ="UTC", LC_ALL="C.UTF-8",
                   # in a container, and as its root, on any number of cores
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_mpi_yield_when_idle="1")  # fmt: skip
        os.makedirs(env["IORAMA_LOG_DIR"], exist_ok=True)
        env.update(extra)
        return {k: v for k, v in env.items() if v is not None}

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
        number = len(self.started)
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
        limit = time.monotonic() + timeout
        while True:
            try:
                answer = function()
            except (OSError, ValueError, LookupError, sqlite3.OperationalError):
                answer = None
            if answer:
                return answer
            if time.monotonic() > limit:
                said = "".join("\n%s: %s" % (p.args[1] if len(p.args) > 1 else p.args, p.said()) for p in self.started)
                raise Failed("never came: %s%s" % (what, said))
            time.sleep(0.02)

    def stop_all(self):
        for process in self.started:
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    process.kill()
                    process.send_signal(signal.SIGCONT)
                process.wait()

    # ---- programs

    def compile(self, name, family=None, flags=()):
        """tests/work/NAME.c, built anew only when its sources are newer; family: with that MPI (and -DWITH_MPI)."""
        compiler = "mpicc." + family if family else os.environ.get("CC", "cc")
        if family and not (shutil.which(compiler) and shutil.which("mpirun." + family)):
            raise Skip("%s is not installed" % family)
        folder = os.path.join(self.build, "tests", "work")
        os.makedirs(folder, exist_ok=True)
        source = os.path.join(WORK, name + ".c")
        target = os.path.join(folder, name + ("-" + family if family else ""))
        newest = max(os.path.getmtime(p) for p in [source, __file__, *glob.glob(WORK + "/*.h")])
        if os.path.exists(target) and os.path.getmtime(target) > newest:
            return target
        partial = "%s.%d" % (target, os.getpid())
        words = [compiler, "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O2", "-Wall", "-Wextra", "-I", WORK,
                 "-I", os.path.join(ROOT, "src"), *(["-DWITH_MPI"] if family else []), *flags, source, "-o", partial,
                 "-pthread"]  # fmt: skip
        self.run(*words, env=dict(os.environ))
        os.rename(partial, target)
        return target

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


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def folders(build):
    """Two new ones: in memory if it can be had, and on disk in a place that is observed."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/var/tmp"
    base = os.path.join(os.path.abspath(build), "tests")
    if (os.path.realpath(base) + "/").startswith(EXCLUDED):
        base = tempfile.gettempdir()
    os.makedirs(base, exist_ok=True)
    return (tempfile.mkdtemp(prefix="live-", dir=memory), tempfile.mkdtemp(prefix="live-", dir=os.path.realpath(base)))


def run_case(build, name, function):
    folder, work = folders(build)
    case = Case(build, folder, work)
    began = time.monotonic()
    try:
        function(case)
    except (Skip, servers.Missing) as why:
        print("SKIP: %s: %s" % (name, why))
        return SKIPPED
    except Failed as why:
        print("FAILED: %s: %s" % (name, why))
        return 1
    except Exception:  # pylint: disable=broad-except
        print("FAILED: %s: %s" % (name, traceback.format_exc()))
        return 1
    finally:
        case.stop_all()
        for path in (folder, work):
            if not os.environ.get("IORAMA_TEST_KEEP"):
                shutil.rmtree(path, ignore_errors=True)
    print("ok: %s (%.1f s)" % (name, time.monotonic() - began))
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
