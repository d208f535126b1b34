# SPDX-License-Identifier: BSD-3-Clause
"""iorama emulate try: does it find what is known to be slower or faster, and nothing where nothing was changed?"""
import json
import os
import shutil
import statistics
import subprocess
import sys

import captured
import harness
from harness import MPICH, OPENMPI, cases, expect

WRITE = ("--write_filenames", "f", "--block_size", "1MiB", "--transfer_size", "1MiB", "--segment_count", "2")
SMALL = ("--set", "transfer_size=4KiB", "--set", "fsync=request")
SLOW = ("--set", "comp_time_per_step=200ms")  # so much that a busy machine does not hide it
TRAIN = ("dl", "--make_files", "4", "--make_size", "4KiB", "--comp_time_per_epoch", "0", "--comp_time_per_step", "4ms")


def disk(case):
    """A folder where fsync costs something, if there is one: not memory."""
    for folder in (os.environ.get("IORAMA_TEST_DISK", ""), "/var/tmp", "/tmp"):
        if folder and os.access(folder, os.W_OK):
            return os.path.join(folder, os.path.basename(case.folder))
    return case.folder


def tried(case, *words, **more):
    return json.loads(case.emulate("try", *words, "--json", **more).stdout)


def sound(result, rounds=5):
    """The figures follow from each other, by arithmetic of our own."""
    base, new = (result[key]["seconds"] for key in ("baseline", "changed"))
    expect(len(base) == len(new) == rounds == result["rounds"], "%d and %d rounds", len(base), len(new))
    expect(all(s > 0 for s in base + new), "seconds %s %s", base, new)
    ratio = statistics.median(new) / statistics.median(base)
    expect(abs(result["ratio"] / ratio - 1) < 1e-9, "ratio %s, not %s", result["ratio"], ratio)
    pairs = sorted(b / a for a in base for b in new)
    # Mann and Whitney's test of two samples of five: P(U < 3) = 4 / 252
    low, high = pairs[2], pairs[-3]
    if rounds == 5:
        expect(abs(result["low"] / low - 1) < 1e-9 and abs(result["high"] / high - 1) < 1e-9, "%s to %s, not %s to %s",
               result["low"], result["high"], low, high)  # fmt: skip
        expect(abs(result["confidence"] - (1 - 8 / 252)) < 1e-9, "confidence %s", result["confidence"])


def worse(case):
    """4 KiB and fsync after each, instead of 1 MiB: worse, wherever fsync is more than nothing; else many calls instead of few."""
    folder = disk(case)
    os.makedirs(folder, exist_ok=True)
    try:
        result = tried(case, "app", *WRITE, *SMALL, "--input_dir", folder)
    finally:
        for name in os.listdir(folder):
            if name.startswith("f") or name == harness.LIST:
                os.unlink(os.path.join(folder, name))
        if folder != case.folder:
            os.rmdir(folder)
    sound(result)
    expect(result["verdict"] == "worse", "%s", result)


def better(case):
    """Compute time is what differs: known beforehand, whatever else the machine does."""
    result = tried(case, *TRAIN, "--set", "comp_time_per_step=0", "--comp_time_per_step", "60ms")
    sound(result)
    expect(result["verdict"] == "better" and result["high"] < 1, "%s", result)


def same(case):
    """Nothing changed: nothing is found. One time in twenty something may be: not three times in a row."""

    def measure():
        result = tried(case, *TRAIN, "--set", "seed=2")  # other data, as many of them
        sound(result)
        return result["verdict"]

    cases.best(4, measure, lambda verdict: verdict == "cannot tell", "nothing is found")


def log(case):
    """A log, changed: requests of ten bytes joined to one."""
    plan = [[["w", "out", 10 * i, 10] for i in range(4000)]]
    path = captured.job(case, "job.darshan", plan)
    result = tried(case, path, "--no_think", "--scratch", case.path("s"), "--set", "transfer_size=40000")
    sound(result)
    expect(result["mode"] == "replay" and result["verdict"] == "better", "%s", result)


FSYNC = """
import os, sys, time
began = time.monotonic()
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
for i in range(60):
    os.pwrite(fd, b"x" * 4096, 4096 * i)
    if sys.argv[2] == "sync":
        os.fsync(fd)
os.close(fd)
print(time.monotonic() - began)
"""


def fsync(case):
    """A program that syncs after every write: what try says of its log is what the program itself shows without them."""
    folder = disk(case)
    os.makedirs(folder, exist_ok=True)
    try:
        with open(case.path("p.py"), "w", encoding="ascii") as file:
            file.write(FSYNC)
        program = [sys.executable, case.path("p.py"), os.path.join(folder, "f")]
        taken = {way: [] for way in ("sync", "not")}
        for _ in range(5):
            for way, list_ in taken.items():
                list_.append(float(subprocess.run([*program, way], check=True, capture_output=True, text=True).stdout))
        log = captured.observe(case, "job.darshan", [*program, "sync"], folder)
        counts = json.loads(case.emulate("replay", log, "--scratch", folder + "/s", "--json").stdout)
        expect(counts["total"]["syncs"] == 60, "syncs: %s", counts["total"]["syncs"])
        result = tried(case, log, "--no_think", "--scratch", folder + "/s", "--set", "fsync=never")
        sound(result)
        if max(taken["not"]) < 0.8 * min(taken["sync"]):
            expect(result["verdict"] == "better", "the program %s, its log %s", taken, result)
        else:  # where fsync costs nothing
            expect(result["verdict"] != "worse", "the program %s, its log %s", taken, result)
        # the same log without what it does not have
        done = case.emulate("try", log, "--set", "alignment=4096", status=2)
        expect("changes nothing" in done.stderr, "aligned already: %s", done.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pairs(case):
    """Six changes of captured jobs whose outcome is known beforehand."""
    folder = disk(case)
    os.makedirs(folder, exist_ok=True)
    try:
        tiny = captured.job(case, "tiny.darshan", [[["w", "out", 10 * i, 10] for i in range(4000)]])
        large = captured.job(case, "large.darshan", [[["w", "out", i << 20, 1 << 20] for i in range(4)]])
        slow = captured.job(case, "slow.darshan", [[op for i in range(5) for op in (["w", "f", 100 * i, 100], ["think", 0.02])]])
        with open(case.path("p.py"), "w", encoding="ascii") as file:
            file.write(FSYNC)
        os.makedirs(case.path("data"), exist_ok=True)
        syncs = captured.observe(case, "syncs.darshan", [sys.executable, case.path("p.py"), case.path("data", "f"), "sync"], "data")
        known = [
            (tiny, [], "transfer_size=40000", "better"),
            (large, [], "transfer_size=128", "worse"),
            (slow, None, "no_think", "better"),
            (slow, None, "speed=1/10", "worse"),
            (syncs, [], "fsync=never", "better"),
            (tiny, [], "fsync=request", "worse"),
        ]
        for log, words, change, verdict in known:
            words = ["--no_think"] if words == [] else []
            result = tried(case, log, *words, "--scratch", os.path.join(folder, "s"), "--set", change)
            free = "fsync" in change and 0.8 < result["ratio"] < 1.25  # where a sync costs nothing
            print("%s, %s: %.3f, %s" % (os.path.basename(log), change, result["ratio"], result["verdict"]))
            expect(result["verdict"] == verdict or free, "%s, %s: %s", os.path.basename(log), change, result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def alike(case):
    """A log tried against itself, elsewhere on the same file system: nothing is found. Once in thirty times something may be;
    IORAMA_TEST_TRIALS=40 makes so many trials, of which 38 must find nothing."""
    log = captured.job(case, "job.darshan", [[["w", "out", 4096 * i, 4096] for i in range(200)] + [["think", 0.005]]])
    words = (log, "--scratch", case.path("s"), "--set", "scratch=" + case.path("t"))
    trials = int(os.environ.get("IORAMA_TEST_TRIALS", "0"))
    if trials == 0:
        cases.best(4, lambda: tried(case, *words)["verdict"], lambda verdict: verdict == "cannot tell", "nothing is found")
        return
    verdicts = [tried(case, *words)["verdict"] for _ in range(trials)]
    told = verdicts.count("cannot tell")
    print("cannot tell: %d of %d" % (told, trials))
    expect(told >= 0.95 * trials, "%s", verdicts)


def nothing(case):
    """A change that changes nothing is refused, before anything is done."""
    log = captured.job(case, "job.darshan", [[["w", "out", 4096 * i, 4096] for i in range(8)]])
    for what in ("transfer_size=4096", "alignment=4096", "fsync=never", "depth=16", "hints=cb_nodes=4", "engine=posix", "seed=1",
                 "file_per_process_write"):  # fmt: skip
        done = case.emulate("try", log, "--set", what, status=2)
        expect("changes nothing" in done.stderr, "%s: %s", what, done.stderr)
    for what in ("transfer_size=1MiB", "transfer_size=1KiB", "alignment=8192", "fsync=request", "fsync=file", "engine=vector", "no_think",
                 "scratch=" + case.path("elsewhere")):  # fmt: skip
        done = case.emulate("try", log, "--set", what)
        expect("verdict" in done.stdout, "%s: %s", what, done.stdout)
    for what in ("depth=8", "vector=2", "block_size=1048576", "mpiio_type=noncollective"):
        done = case.emulate("try", "app", *WRITE, "--set", what, status=2)
        expect("changes nothing" in done.stderr, "%s: %s", what, done.stderr)
    expect(not os.path.exists(case.path("f")), "a file was made")


def unthinking(case):
    """A request ends when it ends, with engines that tell it later, too: time between requests is not its own."""
    log = captured.job(case, "job.darshan", [[op for i in range(5) for op in (["w", "f", 100 * i, 100], ["think", 0.1])]])
    result = json.loads(case.emulate("replay", log, "--scratch", "s", "--engine", "uring", "--json").stdout)
    expect(result["write"]["io_time_s"] < 0.2, "writes took %s s", result["write"]["io_time_s"])


def workflow(case):
    with open(case.path("flow"), "w", encoding="utf-8") as file:
        file.write("[workflow]\nname = w\n[data d]\nsize = 64KiB\n[task a]\ncompute = 2ms\nwrites = d\n[task b]\ncompute = 2ms\nreads = d\n")
    result = tried(case, "flow", "--set", "time=30", "--rounds", "6", ranks=2)
    sound(result, 6)
    expect(result["mode"] == "dag" and result["verdict"] == "worse", "%s", result)


def under(family):
    def case_of(case):
        case.need(family)
        result = tried(case, *TRAIN, *SLOW, ranks=2, launcher=family)
        sound(result)
        expect(result["ranks"] == 2 and result["verdict"] == "worse", "%s", result)

    return case_of


def words(case):
    """What cannot be tried, and lists as values."""
    for bad in (("app",), ("--set", "seed=2"), ("app", "--set", "seed"), ("app", "--set", "nonsense=1"), ("app", "--set", "ranks=2"),
                ("app", "--set", "mtbf=1"), ("app", *WRITE, "--set", "seed=2", "--rounds", "4"), ("graph", "--set", "seed=2"),
                ("app", *WRITE, "--set", "engine=none")):  # fmt: skip
        done = case.emulate("try", *bad, status=2)
        expect(done.stderr.startswith("iorama emulate: "), "%s: %s", bad, done.stderr)
    case.emulate("try", "missing", "--set", "seed=2", status=3)
    done = case.emulate("try", "app", *WRITE, "--set", "write_filenames=one:two:three", "--fsync", "never")
    expect("verdict" in done.stdout, "%s", done.stdout)
    expect(set(case.files()) == {"f", "one", "two", "three"}, "files %s", case.files())


CASES = {"worse": worse, "better": better, "same": same, "log": log, "fsync": fsync, "nothing": nothing, "pairs": pairs, "alike": alike,
         "unthinking": unthinking, "workflow": workflow, "openmpi": under(OPENMPI),
         "mpich": under(MPICH), "words": words}  # fmt: skip

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
