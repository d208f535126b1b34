# SPDX-License-Identifier: BSD-3-Clause
"""iorama emulate try: does it find what is known to be slower or faster, and nothing where nothing was changed?"""
import json
import os
import statistics
import sys

import captured
import harness
from harness import MPICH, OPENMPI, cases, expect

WRITE = ("--write_filenames", "f", "--block_size", "1MiB", "--transfer_size", "1MiB", "--segment_count", "2")
SMALL = ("--set", "transfer_size=4KiB", "--set", "fsync=request")
SLOW = ("--set", "comp_time_per_step=20ms")
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
        result = tried(case, *TRAIN, "--set", "comp_time_per_step=4ms")
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


CASES = {"worse": worse, "better": better, "same": same, "log": log, "workflow": workflow, "openmpi": under(OPENMPI),
         "mpich": under(MPICH), "words": words}  # fmt: skip

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
