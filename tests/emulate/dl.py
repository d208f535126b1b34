#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dl.py BUILD [CASE…]: mode dl. Data sets that are made and found, the order they are read in, reading ahead, and files that cannot be read."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import check
from harness import FAMILIES, LAUNCHERS, LOCAL, Skip, cases, expect, main

RANKS = (1, 2, 4, 7)
WORDS = ["dl", "--input_dir", "d", "--comp_time_per_epoch", 0, "--verify"]


def result(case, *words, **more):
    return json.loads(case.emulate(*WORDS, "--json", *words, **more).stdout)


def notes(found):
    if "files" in found and "epochs" in found:
        return found
    return next(v for v in found.values() if isinstance(v, dict) and "epoch_seconds" in v)


def pieces(files, ranks):
    """How many files each rank has: equal pieces, rounded up, until there are no more."""
    each = -(-files // ranks)
    return [max(0, min(each, files - r * each)) for r in range(ranks)]


# ---- data sets


def contents(case, launcher):
    """Made by any number of ranks, read by all of them."""
    files, dirs, size, epochs = 23, 4, 70001, 3
    for ranks in RANKS:
        for ahead in (0, 2):
            shutil.rmtree(case.path("d"), ignore_errors=True)
            found = result(case, "--make_files", files, "--make_dirs", dirs, "--make_size", size, "--num_epochs", epochs, "--seed",
                           ranks, "--transfer_size", 9999, "--prefetch", ahead, "--batch_size", 3, ranks=ranks, launcher=launcher)  # fmt: skip
            case.only(*("subdir.%d/data.%d" % (i % dirs, i) for i in range(files)), folder="d")
            for i in range(files):
                name = "subdir.%d/data.%d" % (i % dirs, i)
                case.holds("d/" + name, name, size, seed=ranks)
            have = [(r["bytes_read"], r["reads"], r["opens"], r["bytes_written"]) for r in found["ranks"]]
            want = [(n * epochs * size, n * epochs * -(-size // 9999), n * epochs, 0) for n in pieces(files, ranks)]
            expect(have == want, "%d ranks read %s, not %s", ranks, have, want)
            expect(notes(found)["files"] == files and len(notes(found)["epoch_seconds"]) == epochs, "%s", notes(found))


def found_files(case):
    """Files below the directory, also by links to files and folders; hidden, half-written and lost ones are none. Of any size and name."""
    sizes = {"a": 10, "b/c": 0, "b/d/e f": 100000, "b/new\nline": 33, "b/\xe4": 1, "z.part": 9, ".hidden": 9, "b/.x": 9,
             ".git/config": 9}  # fmt: skip
    for name, size in sizes.items():
        os.makedirs(os.path.dirname(case.path("d", name)), exist_ok=True)
        with open(case.path("d", name), "wb") as file:
            file.write(check.pattern(name, size))
    for name, size in (("link", 500), ("far/x", 77)):  # elsewhere, and linked to
        os.makedirs(os.path.dirname(case.path("store", name)), exist_ok=True)
        with open(case.path("store", name), "wb") as file:
            file.write(check.pattern(name, size))
    os.symlink("../store/link", case.path("d", "link"))
    os.symlink("../store/far", case.path("d", "far"))
    os.symlink("nowhere", case.path("d", "lost"))
    os.symlink("..", case.path("d", "b", "up"))
    os.symlink("d", case.path("other"))
    os.mkfifo(case.path("d", "fifo"))
    for folder in ("d", "d/", "other", "./d//"):
        for more in ([], ["--prefetch", 3]):
            found = result(case, "--input_dir", folder, *more, ranks=2)
            expect(notes(found)["files"] == 7, "%s: %s", folder, notes(found))
            expect(sum(r["bytes_read"] for r in found["ranks"]) == 100044 + 577, "%s: %s", folder, found["ranks"])


def large(case):
    size = (4 << 30) + 12345
    os.makedirs(case.path("d"))
    with open(case.path("d", "big"), "wb") as file:
        file.truncate(size)
    if os.stat(case.path("d", "big")).st_blocks > 1000:
        raise Skip("no sparse files here")
    for more in ([], ["--prefetch", 1]):
        text = case.emulate(*WORDS[:-1], "--json", "--transfer_size", "8MiB", *more).stdout
        have = json.loads(text)["ranks"][0]
        expect((have["bytes_read"], have["reads"]) == (size, 513), "%s", have)


def engines(case):
    for engine in ("vector", "mmap", "uring", "null", "mpiio"):
        for launcher in FAMILIES if engine == "mpiio" else (LOCAL,):
            words = ["--make_files", 9, "--make_size", 5003, "--engine", engine, "--transfer_size", 1000]
            if engine == "null":
                words = ["--make_files", 9, "--make_size", 5003, "--engine", engine]
            try:
                case.need(launcher)
                text = case.emulate(*(WORDS[:-1] if engine == "null" else WORDS), *words, "--json", ranks=2, launcher=launcher).stdout
            except Skip:
                continue
            except Exception as why:  # an engine that the kernel does not let us use
                if engine == "uring" and "cannot be used" in str(why):
                    continue
                raise
            expect(sum(r["bytes_read"] for r in json.loads(text)["ranks"]) == 9 * 5003, "%s: %s", engine, text[-400:])


# ---- order


def opened(case, epochs, ranks, *words):
    """[[files of rank 0 in epoch 0, of rank 1, …], …] in the order in which they were opened."""
    case.emulate(*WORDS, *words, "--num_epochs", epochs, ranks=ranks, wrap=case.strace("-e", "trace=openat"))
    seen = []
    for name in sorted((f for f in os.listdir(case.folder) if f.startswith("trace.")), key=lambda f: int(f[6:])):
        with open(case.path(name), encoding="utf-8", errors="replace") as file:
            files = re.findall(r'openat\(AT_FDCWD, "d/(subdir[^"]*)", O_RDONLY\|O_CLOEXEC\)', file.read())
        if files:
            seen.append(files)
    return seen


def order(case):
    files = 31
    case.emulate(*WORDS, "--make_files", files, "--make_dirs", 3, "--make_size", 100, "--num_epochs", 0)
    every = sorted("subdir.%d/data.%d" % (i % 3, i) for i in range(files))
    alone = opened(case, 3, 1)[0]
    epochs = [alone[i:i + files] for i in range(0, 3 * files, files)]
    expect(len(alone) == 3 * files and all(sorted(e) == every for e in epochs), "not every file in every epoch: %s", epochs)
    expect(len({tuple(e) for e in epochs + [every]}) == 4, "two epochs are alike: %s", epochs)
    # the same on all ranks: their pieces, one after the other, are the order of one rank
    for ranks in (2, 4, 7):
        seen = opened(case, 3, ranks)
        counts = pieces(files, ranks)
        expect(len(seen) == ranks, "%d ranks read", len(seen))
        for number, epoch in enumerate(epochs):
            joined = sum((s[number * n:(number + 1) * n] for s, n in zip(seen, counts)), [])
            expect(joined == epoch, "%d ranks, epoch %d: %s instead of %s", ranks, number, joined, epoch)
    expect(opened(case, 3, 1) == [alone], "another order in the next run")
    expect(opened(case, 3, 1, "--no_shuffle")[0] == every * 3, "not the order of names")
    case.emulate(*WORDS, "--make_files", files, "--make_dirs", 3, "--make_size", 100, "--num_epochs", 0, "--seed", 2)
    expect(opened(case, 3, 1, "--seed", 2)[0] != alone, "the same order with another seed")


# ---- time


def overlap(case):
    """Reads of 50 ms each beside steps of 50 ms: one after the other they need a second; read ahead, much less."""
    case.emulate(*WORDS, "--make_files", 10, "--make_size", 1000, "--num_epochs", 0)
    slow = case.strace("-e", "trace=pread64", "-e", "inject=pread64:delay_enter=50000")
    words = ["--comp_time_per_step", "50ms", "--num_epochs", 1]
    plain = notes(json.loads(case.emulate(*WORDS, *words, "--json", wrap=slow).stdout))
    expect(plain["epoch_seconds"][0] >= 1.0 and plain["data_wait_s"] >= 0.5, "without reading ahead: %s", plain)

    def measure():
        ahead = notes(json.loads(case.emulate(*WORDS, *words, "--prefetch", 2, "--json", wrap=slow).stdout))
        expect(ahead["epoch_seconds"][0] >= 0.5, "compute time is missing: %s", ahead)
        return ahead

    # on a machine that is busy with other things it may take longer
    cases.best(10, measure, lambda ahead: ahead["epoch_seconds"][0] < 0.9 and ahead["data_wait_s"] < 0.4, "reading ahead")


def traced_text(case):
    text = ""
    for name in os.listdir(case.folder):
        if name.startswith("trace."):
            with open(case.path(name), encoding="utf-8", errors="replace") as file:
                text += file.read()
    return text


def let_run(run, seconds):
    try:
        run.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass


def bounded(case):
    """What is read ahead has a limit: while the first step computes not everything is read."""
    case.emulate(*WORDS, "--make_files", 50, "--make_size", 10, "--num_epochs", 0)
    run = case.start(*WORDS, "--prefetch", 2, "--batch_size", 3, "--comp_time_per_step", "1000s",
                     wrap=case.strace("-e", "trace=openat,clock_nanosleep"), start_new_session=True)  # fmt: skip
    try:
        ends = time.monotonic() + 60
        while "clock_nanosleep" not in traced_text(case) and time.monotonic() < ends:  # the first step computes
            let_run(run, 0.01)
        count, seen = 0, -1
        while count != seen:  # until nothing more comes
            seen = count
            let_run(run, 0.3)
            count = traced_text(case).count('"d/subdir.0/data.')
        # the one waited for last is the third; from there on 2 batches, and one for each thread
        expect(3 <= count <= 2 + 2 * 3 + 2, "%d files are read while the first step computes", count)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=30)


def times(case):
    found = notes(result(case, "--make_files", 5, "--make_size", 10, "--num_epochs", 3, "--comp_time_per_epoch", "40ms",
                         "--comp_time_per_step", "10ms", "--batch_size", 2, ranks=1))  # fmt: skip
    # 3 steps of 10 ms and 40 ms in each epoch
    expect(all(0.07 <= s < 10 for s in found["epoch_seconds"]), "%s", found)
    rate = 15 / sum(found["epoch_seconds"])
    expect(0.5 * rate < found["samples_per_second"] <= 1.01 * rate, "%s, not %g", found, rate)


# ---- faults


def unreadable(case):
    """A file that is there but cannot be opened, for any reason, is named."""
    case.emulate(*WORDS, "--make_files", 9, "--make_size", 1000, "--num_epochs", 0)
    filters = ["-P", "d/subdir.0/data.4", "-e", "trace=openat", "-e", "inject=openat:error=EACCES"]
    for more in ([], ["--prefetch", 2]):
        done = case.emulate(*WORDS, *more, ranks=3, wrap=case.strace(*filters), status=4)
        expect("d/subdir.0/data.4: open: Permission denied" in done.stderr, "%s: %r", more, done.stderr)


def vanished(case):
    """A file that goes away, or gets shorter, while the training runs."""
    for more in ([], ["--prefetch", 2]):
        for change, text in ((os.unlink, "No such file"), (lambda f: os.truncate(f, 500), "the file ends there")):
            case.emulate(*WORDS, "--make_files", 9, "--make_size", 1000, "--num_epochs", 0)
            run = case.start(*WORDS[:-1], "--num_epochs", 1000000, *more, ranks=3)
            with open("/proc/%d/io" % run.pid, encoding="ascii") as file:
                while int(re.search(r"rchar: (\d+)", file.read())[1]) < 100000 and run.poll() is None:
                    file.seek(0)
            change(case.path("d", "subdir.0", "data.4"))
            _, told = run.communicate(timeout=60)
            expect(run.returncode == 4 and "d/subdir.0/data.4" in told and text in told, "%s: %d %r", more, run.returncode, told)
            shutil.rmtree(case.path("d"))  # what others have changed is not made anew


def wrong(case):
    case.emulate(*WORDS, "--make_files", 9, "--make_size", 1000, "--num_epochs", 0)
    with open(case.path("d", "subdir.0", "data.4"), "r+b") as file:
        file.seek(320)
        file.write(bytes(64))
    for more in ([], ["--prefetch", 2]):
        told = case.emulate(*WORDS, "--num_epochs", 3, *more, ranks=2, status=3).stderr
        expect("192 of 27000 bytes" in told and "lost" in told and "at 320" in told, "%r", told)


def usage(case):
    os.mkdir(case.path("empty"))
    with open(case.path("file"), "wb"):
        pass
    for words, status, text in (
        (["--input_dir", "nowhere"], 3, "nowhere: No such file"),
        (["--input_dir", "empty"], 3, "empty: no files"),
        (["--input_dir", "file"], 3, "file: not a directory"),
        (["--prefetch", 1, "--engine", "uring"], 2, "prefetch works with"),
        (["--num_epochs", 10000000], 2, "num_epochs"),
    ):
        told = case.emulate(*WORDS, *words, ranks=2, status=status).stderr
        expect(text in told and told.count("\n") <= 2, "%s: %r", words, told)
    # more threads and larger batches than there are files
    result(case, "--make_files", 3, "--make_size", 10, "--prefetch", 100, "--batch_size", 4000000000, ranks=2)
    result(case, "--input_dir", "e", "--make_files", 4, "--make_size", "10KiB", "--bytes", "1/10", ranks=7)
    expect(os.path.getsize(case.path("e", "subdir.0", "data.0")) == 1024, "make_size is not scaled")


CASES = {"found": found_files, "large": large, "engines": engines, "order": order, "overlap": overlap, "bounded": bounded,
         "times": times, "unreadable": unreadable, "vanished": vanished, "wrong": wrong,
         "usage": usage}  # fmt: skip
for LAUNCHER in LAUNCHERS:
    CASES["contents-" + LAUNCHER] = lambda case, name=LAUNCHER: contents(case, name)

if __name__ == "__main__":
    main(CASES)
