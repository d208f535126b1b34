# SPDX-License-Identifier: BSD-3-Clause
"""Phases: parts of a run with a name, in the log of the process that they are in. And profile(): observes this process
where it is not observed yet. Nothing here needs pandas."""
import contextlib
import ctypes
import functools
import os
import subprocess
import tempfile
import warnings

from . import program
from .errors import Error

_PR_SET_PTRACER = 0x59616D61


def _libraries():
    """The observing library, if it is in this process: preloaded, or brought in by `iorama attach`."""
    yield None
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        seen = {line.split()[-1] for line in maps if "/libiorama" in line}
        yield from sorted(name for name in seen if os.path.basename(name) in ("libiorama.so", "libiorama-attach.so"))


def _functions():
    for name in _libraries():
        with contextlib.suppress(OSError, AttributeError):
            # RTLD_NOLOAD: only what is there already
            library = ctypes.CDLL(name, mode=0 if name is None else os.RTLD_NOLOAD | os.RTLD_LAZY)
            both = library.iorama_phase_begin, library.iorama_phase_end
            for function in both:
                function.argtypes, function.restype = [ctypes.c_char_p], None
            return both
    return None


_known = None


def _mark(which, name):
    global _known
    if _known is None:
        _known = _functions() or ()
    if _known:
        _known[which](str(name).encode("utf-8", "replace")[:255])


def observed():
    """Is this process observed, as far as can be told from within?"""
    return _functions() is not None and os.environ.get("IORAMA_DISABLE", "0") in ("", "0")


def begin(name):
    """A phase begins; in a process that is not observed nothing happens. See phase()."""
    _mark(0, name)


def end(name):
    """... and ends."""
    _mark(1, name)


class phase(contextlib.ContextDecorator):
    """with iorama.phase("checkpoint"): what is done in there is told under that name; also @iorama.phase("load").

    Phases may be inside of each other and come again; threads that are in one are in it once."""

    def __init__(self, name):
        self.name = str(name)

    def __enter__(self):
        begin(self.name)
        return self

    def __exit__(self, *error):
        end(self.name)
        return False


class profile(contextlib.ContextDecorator):
    """Observes this process from here to there: with iorama.profile() as run: ...; then run.log.

    A process that runs under `iorama run` (or with the library preloaded) is observed already: then it is a phase with
    this name, and the log comes at the end of the process. Otherwise `iorama attach` brings the library in, which
    the system must allow (/proc/sys/kernel/yama/ptrace_scope); where it does not, a warning says so and the
    program goes on unobserved, unless strict."""

    def __init__(self, name="profile", trace=False, directory=None, strict=False):
        self.name, self.trace, self.strict = name, trace, strict
        self.directory = directory
        self.path = None
        self.attached = False

    def _attach(self, *arguments):
        with contextlib.suppress(Exception):  # a child may trace us, where the system asks for that
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1 & (1 << 64) - 1), 0, 0, 0)
        done = subprocess.run(
            [program.path(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=program.environment(), check=False
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise Error(said[0] if said else "%s ended with status %d" % (arguments[0], done.returncode))

    def __enter__(self):
        global _known
        if not observed():
            self.directory = self.directory or tempfile.mkdtemp(prefix="iorama-")
            try:
                self._attach("attach", "-q", *(["--trace"] if self.trace else []), "--log-dir", self.directory, str(os.getpid()))
                self.attached = True
                _known = None
            except Error as why:
                if self.strict:
                    raise
                warnings.warn("not observed: %s" % why, stacklevel=2)
        begin(self.name)
        return self

    def __exit__(self, *error):
        end(self.name)
        if self.attached:
            before = set(os.listdir(self.directory))
            try:
                self._attach("detach", "-q", str(os.getpid()))
            except Error as why:
                warnings.warn("no log: %s" % why, stacklevel=2)
            fresh = sorted(set(os.listdir(self.directory)) - before) or sorted(before)
            self.path = os.path.join(self.directory, fresh[-1]) if fresh else None
            self.attached = False
        return False

    @functools.cached_property
    def log(self):
        """What it did: a Log."""
        from .log import read

        if self.path is None:
            raise Error("this process was observed from outside: its log is made when it ends, or it was not observed")
        return read(self.path)

    def _repr_html_(self):
        return self.log._repr_html_() if self.path else "<p>no log of this process yet</p>"
