# SPDX-License-Identifier: BSD-3-Clause
"""Logs, and what file sinks say they have, are forced to the disk: strace sees it, and what fails where fsync does."""
import os
import re
import subprocess
import sys

import harness
import sinks_truth
from harness import expect


def strace(case, *words):
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode != 0:
        raise harness.Skip("strace may not be used here")
    return ["strace", "-f", "-y", "-o", case.path("trace"), "-e", "trace=fsync,fdatasync", *words]


def synced(case):
    with open(case.path("trace"), encoding="utf-8") as file:
        return re.findall(r"(?:fsync|fdatasync)\(\d+<([^>]*)>\)\s+= 0", file.read())


def log(case):
    """A log has its name when it is on the disk, or not at all."""
    source, made = case.path("a.darshan"), case.path("b.darshan")
    subprocess.run([case.iorama, "run", "-q", "-f", "-o", source, "--", "sh", "-c", "echo x >" + case.path("x")], check=True, capture_output=True)
    command = [case.iorama, "convert", "-o", made, source]
    done = subprocess.run([*strace(case, "-e", "inject=fsync,fdatasync:error=EIO"), *command], capture_output=True, text=True)
    expect(done.returncode == 4 and "Input/output error" in done.stderr, "status %d: %s", done.returncode, done.stderr)
    left = [n for n in os.listdir(case.folder) if n.startswith("b.darshan") or n.startswith(".b.darshan")]
    expect(left == [], "left: %s", left)
    subprocess.run([*strace(case), *command], check=True, capture_output=True)
    expect(len([p for p in synced(case) if os.path.dirname(p) == case.folder]) == 1, "forced to disk: %s", synced(case))


def sink(case):
    """Events in a file are there before the sender hears that they are; so is how far it came."""
    for kind in ("csv", "json"):
        feed = sinks_truth.Feed(case, "file:%s?format=%s" % (case.path("events." + kind), kind))
        subprocess.run([*strace(case), *feed.command()], check=True, capture_output=True)
        names = {os.path.basename(p) for p in synced(case)}
        expect("events." + kind in names, "%s: events are not forced to disk: %s", kind, names)
        expect(len(names) >= 2, "%s: how far it came is not forced to disk: %s", kind, names)


CASES = {"log": log, "sink": sink}

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
