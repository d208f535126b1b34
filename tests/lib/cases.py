# SPDX-License-Identifier: BSD-3-Clause
"""What all tests in Python share: cases and how they are told, folders, environments, programs that are compiled, waiting.

A script has cases, and ends with cases.main(NAMES, perform):
    SCRIPT BUILD [CASE…]      runs all or some of them: perform(build, name) each
    SCRIPT --list             prints their names, one per line: each becomes a test

A case raises Skip or Failed, or returns a list of what is wrong. Nothing here sleeps for luck: wait() asks until something
is true, with a generous limit. What is measured on a machine that has other things to do is measured by best()."""
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
WORK = os.path.join(TESTS, "work")
SKIPPED = 77
TIMEOUT = 120
OPENMPI, MPICH = "openmpi", "mpich"
FAMILIES = (OPENMPI, MPICH)
SYSTEM_PYTHON = "/usr/bin/python3"  # it has the modules of the system's packages, whichever runs the script
# files below these are not observed
EXCLUDED = tuple("/%s/" % name for name in "etc dev usr bin boot lib opt sbin sys proc var".split())
# in a container, and as its root, on any number of cores; ranks that wait leave the processor to the others
MPI_HERE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}  # fmt: skip
OURS = ("IORAMA_", "DARSHAN_", "LD_", "DXT_")


class Skip(Exception):
    """The case cannot run here; the text says why."""


class Failed(Exception):
    """The case went wrong; the text says how."""


# a thread that is borrowed to attach: seconds on a machine that has nothing else to do, and among all the other tests
BORROWED = 0.05 if os.environ.get("IORAMA_TEST_LONG") else 2


def expect(true, text, *values):
    if not true:
        raise Failed(text % values)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("%s is not installed" % program)


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def die_with_parent():
    """For preexec_fn: whoever kills the test kills what it started."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def environment(without=OURS, **extra):
    """The caller's, but for variables of ours; with what MPI needs here. None removes a variable."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(tuple(without))}
    env.update(MPI_HERE, **extra)
    return {k: v for k, v in env.items() if v is not None}


# ---- things outside the repository, which may be absent


def shared_folder():
    folder = os.environ.get("IORAMA_SHARED") or os.path.join(os.path.dirname(ROOT), "shared")
    return folder if os.path.isdir(folder) else None


def shared_tool(name):
    """The path of a tool that is not ours, or None."""
    path = os.path.join(shared_folder() or "", "tools", name)
    return path if os.path.isfile(path) else None


def load_reader():
    """A second, independent reader of logs, or None."""
    path = shared_tool("reader.py")
    if not path:
        return None
    spec = importlib.util.spec_from_file_location("reader", path)
    reader = importlib.util.module_from_spec(spec)
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(reader)
    sys.dont_write_bytecode = keep
    return reader


# ---- folders


def remove(folder):
    if not os.environ.get("IORAMA_TEST_KEEP"):
        # without a word about what is in it: cases make folders that nobody may enter
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def observed_folder(build, prefix):
    """A new one on disk, in a place that is observed."""
    base = os.path.join(os.path.abspath(build), "tests")
    if (os.path.realpath(base) + "/").startswith(EXCLUDED):
        base = tempfile.gettempdir()
    os.makedirs(base, exist_ok=True)
    return tempfile.mkdtemp(prefix=prefix + "-", dir=os.path.realpath(base))


def quiet_folder(prefix):
    """A new one outside what is observed, so that our own files do not show; in memory if it can be had."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/var/tmp"
    return tempfile.mkdtemp(prefix="iorama-%s-" % prefix, dir=memory)


@contextlib.contextmanager
def folders(build, prefix):
    """(observed, quiet), removed afterwards. IORAMA_TEST_KEEP in the environment keeps them."""
    both = (observed_folder(build, prefix), quiet_folder(prefix))
    try:
        yield both
    finally:
        for folder in both:
            remove(folder)


MS_BIND, MS_REC, O_PATH = 0x1000, 0x4000, 0o10000000


def cover(place, options):
    """An empty file system in memory over this place, for who has a mount namespace of his own. What is tested stays visible,
    also where it lies below that place."""
    kept = {}
    for path in (ROOT, *(os.path.abspath(word) for word in sys.argv[1:] if os.path.isdir(word))):
        if (path + "/").startswith(place + "/"):
            kept[path] = os.open(path, O_PATH | os.O_DIRECTORY)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
    libc = ctypes.CDLL(None, use_errno=True)
    for path, fd in sorted(kept.items()):
        os.makedirs(path, exist_ok=True)
        if libc.mount(b"/proc/self/fd/%d" % fd, path.encode(), None, MS_BIND | MS_REC, None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        os.close(fd)


class Built:
    """What a build has made."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.iorama = os.path.join(self.build, "bin", "iorama")
        self.library = os.path.join(self.build, "lib", "libiorama.so")
        self.bin = os.path.join(self.build, "tests", "work")  # programs that tests share
        os.makedirs(self.bin, exist_ok=True)

    def compile_once(self, target, sources, command, newer=()):
        """TARGET, in a folder of what it comes of (all these files and the command), so that no program is ever replaced while another
        test runs it, whatever clocks and the times of files say. None in the command stands for the file to make."""
        key = hashlib.sha256(repr(command).encode())
        for path in [*sources, *newer, *sorted(glob.glob(WORK + "/*.h"))]:
            with open(path, "rb") as file:
                key.update(hashlib.sha256(file.read()).digest())
        folder = os.path.join(self.bin, key.hexdigest()[:12])
        target = os.path.join(folder, target)
        if os.path.exists(target):
            return target
        os.makedirs(folder, exist_ok=True)
        with open(target + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several tests may want it at once
            if os.path.exists(target):
                return target
            partial = "%s.%d" % (target, os.getpid())
            words = [partial if word is None else word for word in command]
            done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
            if done.returncode != 0:
                raise Failed("does not compile: %s" % done.stderr[-2000:])
            os.rename(partial, target)
        return target

    def compile_into(self, path, sources, command, newer=()):
        """PATH, a copy of what such a command makes; it is compiled once for all that ask for the same."""
        shutil.copy2(self.compile_once(os.path.basename(path), sources, command, newer), path)
        return path


# ---- waiting, measuring


def wait(function, what, timeout=TIMEOUT, pause=0.02, no=(), told=lambda: ""):
    """Asks until the answer is true, and returns it. `no`: exceptions that are a no as well; `told`: for the failure."""
    limit = time.monotonic() + timeout
    while True:
        try:
            answer = function()
        except no:
            answer = None
        if answer:
            return answer
        if time.monotonic() > limit:
            raise Failed("never came: %s%s" % (what, told()))
        time.sleep(pause)


def best(most, measure, good, what):
    """What other programs can only make worse is measured up to so many times, and the best counts: the first that is
    good is returned. How often it took is printed. (No way to run once more what failed: measure() raises as ever.)"""
    seen = []
    for turn in range(most):
        value = measure()
        seen.append(value)
        if good(value):
            print("%s: measured %d times" % (what, turn + 1))
            return value
    raise Failed("%s: %d times: %s" % (what, most, seen))


# ---- telling


def tell(name, function, *arguments):
    """Runs a case, says in a line what came of it, and gives the exit status."""
    began = time.monotonic()
    try:
        problems = function(*arguments)
    except Skip as why:
        print("SKIP: %s: %s" % (name, why), flush=True)
        return SKIPPED
    except (Failed, subprocess.TimeoutExpired) as why:
        problems = [str(why)]
    except Exception:  # pylint: disable=broad-except
        problems = [traceback.format_exc()]
    print("%s %s # %.1f s" % ("not ok" if problems else "ok", name, time.monotonic() - began))
    print("".join("  %s\n" % problem for problem in (problems or [])[:40]), end="", flush=True)
    return 1 if problems else 0


@contextlib.contextmanager
def sessions_stay():
    """The last mpirun of Open MPI removes the folder of all sessions, and one that begins just then fails ("File exists"): it looks for
    the folder after it has found that somebody made it. A file that begins with `output-` stays, and the folder with it."""
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "ompi.%s.%d" % (os.uname().nodename.split(".")[0], os.getuid()))
    path = os.path.join(folder, "output-test-%d" % os.getpid())
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        open(path, "x").close()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def main(names, perform, words=None):
    words = sys.argv[1:] if words is None else words
    names = list(names)
    if words == ["--list"]:
        print("\n".join(names))
        sys.exit(0)
    wanted = words[1:] or names
    if not words or any(name not in names for name in wanted):
        sys.exit("usage: %s BUILD [CASE…] | --list" % sys.argv[0])
    for number in (signal.SIGINT, signal.SIGQUIT):  # ignored in a job of a shell without jobs, and so in all that is observed
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    with sessions_stay():
        done = [tell(name, perform, words[0], name) for name in wanted]
    sys.exit(1 if 1 in done else 0 if 0 in done else SKIPPED)
