# SPDX-License-Identifier: BSD-3-Clause
"""The program iorama: everything that is read from logs and stores comes from it, as CSV or JSON."""
import json
import os
import shutil
import subprocess
import tempfile

from .errors import Error

IDS = ("id", "record", "job_id", "user_id")  # numbers of 64 bits that are names, not amounts


def path():
    """The program: IORAMA_PROGRAM, or the first in PATH."""
    found = os.environ.get("IORAMA_PROGRAM") or shutil.which("iorama")
    if not found:
        raise Error("the program iorama is not in PATH; IORAMA_PROGRAM may name it")
    return found


def environment():
    """The program is not to be observed itself, even where this process is."""
    return {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


def _said(text, status):
    lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
    return lines[0] if lines else "iorama ended with status %d" % status


def call(*arguments, ok=(0,)):
    """What it prints. Damaged logs give what can be read (status 3 with output), with a warning."""
    command = [path(), *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), check=False)
    if done.returncode not in ok and not (done.returncode == 3 and done.stdout):
        raise Error(_said(done.stderr, done.returncode))
    if done.returncode == 3:
        import warnings

        warnings.warn(_said(done.stderr, 3), stacklevel=3)
    return done.stdout


def document(*arguments):
    """The JSON it prints, as Python has it."""
    return json.loads(call(*arguments))


def frame(*arguments, **read):
    """The CSV it prints, as a frame: by way of a file, so that memory holds it once."""
    import pandas

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        status = subprocess.run(
            [path(), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out, stderr=said, env=environment(), check=False
        ).returncode
        size = out.tell() if status == 0 else os.fstat(out.fileno()).st_size
        if status != 0 and not (status == 3 and size > 0):
            said.seek(0)
            raise Error(_said(said.read(), status))
        out.seek(0)
        if os.fstat(out.fileno()).st_size == 0:
            return pandas.DataFrame()
        return table(out, **read)


def table(file, **read):
    """A frame of CSV: ids of records stay whole, text stays text."""
    import pandas

    head = file.readline()
    file.seek(0)
    names = head.decode("utf-8", "replace").rstrip("\r\n").split(",")
    types = {name: "UInt64" for name in names if name in IDS[:2]}
    return pandas.read_csv(file, dtype=types, keep_default_na=False, na_values=[""], low_memory=False, **read)
