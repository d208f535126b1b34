# SPDX-License-Identifier: BSD-3-Clause
"""What is said to be on the disk was forced there: where fsync fails the run does, and strace sees which files it is called for."""
import os
import re
import sys

import harness
from harness import expect

FAIL = ("-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO")
WATCH = ("-y", "-e", "trace=fsync,fdatasync,msync")
ENGINES = ("posix", "vector", "stdio", "direct", "mmap", "uring", "uring-direct")
CHECKPOINTS = ("cr", "--checkpoints", "2", "--checkpointing_interval", "0", "--ck_error_rate", "0", "--block_size", "4096", "--segment_count", "1",
               "--fsync", "never", "--keep_sets", "0")  # fmt: skip


def synced(case):
    """Names of the files that were forced to disk, without folders and the letters of a run."""
    found = []
    for name in sorted(os.listdir(case.folder)):
        if name.startswith("trace."):
            with open(case.path(name), encoding="utf-8") as file:
                found += re.findall(r"(?:fsync|fdatasync)\(\d+<([^>]*)>\)\s+= 0", file.read())
    return [re.sub(r"\.[a-z0-9]{8}\.part$", "", path) for path in found]


def engine(name):
    def fails(case):
        words = ("app", "--engine", name, "--write_filenames", "f", "--block_size", "4096", "--segment_count", "2")
        for when in ("file", "request"):
            done = case.emulate(*words, "--fsync", when, wrap=case.strace(*FAIL), status=None)
            if "cannot be used here" in done.stderr:
                raise harness.Skip(done.stderr)
            expect(done.returncode == 4 and "fsync" in done.stderr, "%s: status %d: %s", when, done.returncode, done.stderr)
            expect(case.files() == [n for n in case.files() if n.startswith("trace.")], "left: %s", case.files())
        case.emulate(*words, "--fsync", "never", wrap=case.strace(*FAIL))

    return fails


def sets(case):
    """A set is complete when its mark is on the disk, and the folder that names it."""
    os.makedirs(case.path("d"))
    case.emulate(*CHECKPOINTS, "--input_dir", "d", wrap=case.strace(*WATCH))
    paths = synced(case)
    marks = [os.path.basename(p) for p in paths if re.search(r"\.done\.\d+$", p)]
    expect(sorted(marks) == ["ckpt.1.done.0", "ckpt.2.done.0"], "marks: %s of %s", marks, paths)
    expect(paths.count(case.path("d")) >= 2, "the folder: %s", paths)
    case.emulate(*CHECKPOINTS, "--input_dir", "d", wrap=case.strace(*FAIL), status=4)


def copies(case):
    """A copy of a staged checkpoint is on the disk before it has its name."""
    for folder in ("fast", "d", "e"):
        os.makedirs(case.path(folder))
    words = (*CHECKPOINTS, "--enable_staging", "--stage_dir", "fast", "--num_ck_files_per_rank", "2")
    case.emulate(*words, "--input_dir", "d", wrap=case.strace(*WATCH))
    have = sorted(p for p in synced(case) if re.match(re.escape(case.path("d")) + r"/ckpt\.\d+\.0\.\d$", p))
    want = sorted(case.path("d", "ckpt.%d.0.%d" % (s, f)) for s in (1, 2) for f in (0, 1))
    expect(have == want, "copies that were forced to disk: %s, not %s", have, want)
    done = case.emulate(*words, "--input_dir", "e", wrap=case.strace(*FAIL), status=4)
    expect(not any(n.endswith(".done") for n in case.files("e")), "complete without fsync: %s: %s", case.files("e"), done.stderr)


CASES = {**{name: engine(name) for name in ENGINES}, "sets": sets, "copies": copies}

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
