#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A property: whatever files are in a directory, and whatever mode runs there, as often as it likes, killed in the middle or not,
all that emulate did not make is there afterwards as it was. Trees, modes, options and deaths are drawn by lot; IORAMA_TEST_TREES is
how many trees all cases together look at (1000: the long form), IORAMA_TEST_SEED where the lot begins."""
import os
import random
import shutil
import signal
import stat
import time

import captured
from harness import LIST, expect, main
from precious import FLOW, tree, write

TREES = int(os.environ.get("IORAMA_TEST_TREES", "112"))
SEED = int(os.environ.get("IORAMA_TEST_SEED", "19"))
MODES = ("app", "pc", "dl", "cr", "dag", "md", "replay", "try")
# names that runs use, and such as look like them: where it would hurt
NAMES = {
    "app": ("x", "y", "sub/y", "x.part", "x.abcdefgh.part"),
    "pc": ("file.0", "file.1", "file.0.part", "file.2"),
    "dl": ("subdir.0/data.0", "subdir.1/data.1", "subdir.0", "subdir.0/data.00", "data.0"),
    "cr": ("ckpt.1.0.0", "ckpt.2.0.0", "ckpt.1.done", "ckpt.job", "ckpt.9.0.0", "ckpt.5", "ckpt.lock", "ckpt.1.note"),
    "dag": ("frames", "deep/er", "last", "deep", "in", "frames.abcdefgh.part", "deep/other"),
    "md": ("md.0", "md.0/f.0", "md.1/first", "md.0/f.1.abcdefgh.part", "md.1", "md", "md.2/f.3"),
    "replay": ("iorama-replay", "iorama-replay/f", "iorama-replay/notes", "f", "g"),
    "try": ("iorama-replay", "iorama-replay/f", "iorama-replay/notes", "f", "g"),
}
ANY = ("a", "b/c", "b/d/e", "notes.txt", ".hidden", LIST + ".old", "b")


def put(lot, path, outside):
    """Something precious, of any kind; False: there is no place for it."""
    here = os.path.dirname(path)
    if os.path.lexists(path) or (os.path.lexists(here) and not os.path.isdir(here)):
        return False
    try:
        os.makedirs(here, exist_ok=True)
    except OSError:
        return False
    kind = lot.choice(("file",) * 6 + ("empty", "big", "link", "dangling", "hard", "folder", "way", "fifo"))
    other = os.path.join(outside, "p%d" % lot.randrange(10**9))
    if kind == "file":
        write(path, lot.randbytes(lot.randrange(1, 200)))
    elif kind == "empty":
        write(path, b"")
    elif kind == "big":
        write(path, bytes(70000))  # nothing but zeros, as files of ours that were never written to
    elif kind == "link":
        write(other)
        os.symlink(other, path)
    elif kind == "dangling":
        os.symlink(other, path)
    elif kind == "hard":
        write(other)
        os.link(other, path)
    elif kind == "folder":
        write(os.path.join(path, "inner"))
    elif kind == "way":  # a folder that is elsewhere
        for name in ("er", "data.0", "y", "f"):
            write(os.path.join(other, name))
        os.symlink(other, path)
    else:
        os.mkfifo(path)
    return True


def words(case, mode, lot, large):
    """One way to call it; large: long enough to be killed in the middle."""
    size = "8MiB" if large else lot.choice((0, 1, 4096, 10000))
    some = ["--block_size", size, "--segment_count", 1] + (["--transfer_size", 4096] if large else [])
    own = {
        "app": lambda: ["app", "--write_filenames", "x:sub/y", *some, *lot.choice(([], ["--in_place"]))],
        "pc": lambda: ["pc", *some, *lot.choice(([], ["--producer_only"], ["--keep"]))],
        "dl": lambda: ["dl", "--make_files", 4, "--make_size", 1 << 20 if large else 1000, "--make_dirs", 2, "--comp_time_per_epoch", 0],
        "cr": lambda: ["cr", "--checkpoints", 3, "--ck_error_rate", 30, "--checkpointing_interval", 0, "--keep_sets", lot.choice((0, 1, 2)),
                       "--seed", lot.randrange(99), *some, *lot.choice(([], ["--enable_staging", "--stage_dir", "d/b"]))],
        "dag": lambda: ["dag", case.path("flow.wf"), "--bytes", 100 if large else 1],
        "md": lambda: ["md", "--num_files", 20000 if large else 7, "--file_bytes", lot.choice((0, 1, 5000)), "--shift", lot.choice((0, 1))],
        "replay": lambda: ["replay", case.path("job.darshan"), "--no_think"],
        "try": lambda: ["try", case.path("job.darshan"), "--no_think", "--set", "transfer_size=1000", "--rounds", 5],
    }[mode]()  # fmt: skip
    if mode not in ("dl", "md", "try"):
        own += ["--engine", lot.choice(("posix", "posix", "vector", "stdio", "mmap", "uring", "direct"))]
    return own + (["--keep"] if lot.random() < 0.3 and "--keep" not in own else [])


def run(case, mode, lot):
    """Once, to its end or to its death; whether it likes what it finds is its own affair."""
    dies = lot.random() < 0.4
    some = words(case, mode, lot, dies)
    ranks = lot.choice((1, 1, 2, 3))
    if not dies:
        done = case.emulate(*some, "--input_dir", "d", ranks=ranks, status=None)
        expect(done.returncode in (0, 3, 4), "%s: status %d: %s", some, done.returncode, done.stderr)
        return some
    process = case.start(*some, "--input_dir", "d", ranks=ranks, start_new_session=True)
    time.sleep(lot.random() * 0.05)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was faster
    process.communicate()
    return ["killed", *some]


def spoil(lot, top):
    """A user writes to a file that a run has left: from now on it is his."""
    left = [os.path.join(here, f) for here, _, names in os.walk(top) for f in names if f != LIST]
    # names with letters drawn by lot are emulate's own: they go, as the manual says
    left = [f for f in left if stat.S_ISREG(os.lstat(f).st_mode) and os.lstat(f).st_nlink == 1 and not f.endswith(".part")]
    if left and lot.random() < 0.5:
        path = lot.choice(sorted(left))
        with open(path, lot.choice(("ab", "wb"))) as file:
            file.write(b"mine now")
        return os.path.relpath(path, top)
    return None


def one(case, mode, number):
    lot = random.Random("%d %s %d" % (SEED, mode, number))
    for folder in ("d", "outside"):
        shutil.rmtree(case.path(folder), ignore_errors=True)
        os.mkdir(case.path(folder))
    # half of the trees have nothing in the way, so that runs come to their end
    names = list(ANY) + (list(NAMES[mode]) if lot.random() < 0.5 else [])
    for name in lot.sample(names, lot.randrange(1, len(names) + 1)):
        put(lot, case.path("d", name), case.path("outside"))
    precious, outside = tree(case.path("d")), tree(case.path("outside"))
    said = []
    for _ in range(lot.randrange(1, 4)):
        said.append(" ".join(map(str, run(case, mode, lot))))
        now = tree(case.path("d"))
        lost = sorted(name for name, was in precious.items() if now.get(name) != was)
        expect(not lost, "tree %d of %s: %s, after\n%s", number, mode,
               [(n, precious[n], now.get(n)) for n in lost], "\n".join(said))  # fmt: skip
        after = tree(case.path("outside"))
        if "--stage_dir" in " ".join(said):  # a directory that the user names may be a link: files are made there, none is lost
            after = {name: is_ for name, is_ in after.items() if name in outside}
        expect(after == outside, "tree %d of %s: outside, after\n%s", number, mode, "\n".join(said))
        mine = spoil(lot, case.path("d"))
        if mine:
            said.append("written to by the user: " + mine)
            precious[mine] = tree(case.path("d"))[mine]


def mode_case(mode):
    def trees(case):
        with open(case.path("flow.wf"), "w", encoding="ascii") as file:
            file.write(FLOW % 2)
        captured.job(case, "job.darshan", [[("w", "f", 0, 5000), ("r", "g", 0, 3000)]])
        for number in range((TREES + len(MODES) - 1) // len(MODES)):
            one(case, mode, number)

    return trees


CASES = {mode: mode_case(mode) for mode in MODES}

if __name__ == "__main__":
    main(CASES)
