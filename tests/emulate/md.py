# SPDX-License-Identifier: BSD-3-Clause
"""iorama emulate md: many small files in phases. What it did is counted by the capture library, and done again by a replay."""
import json
import os
import signal
import subprocess

import captured
from harness import LAUNCHERS, LIST, cases, expect, main

FILES, BYTES = 40, 300


def counters(case, log, folder):
    """Sums of what was done to files in a folder, and how many files there were."""
    text = subprocess.run([case.iorama, "show", log], check=True, capture_output=True, text=True).stdout
    sums, files = {}, set()
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) > 5 and words[0] in ("POSIX", "EXTRA") and "_F_" not in words[3] and folder in words[5]:
            name = os.path.basename(words[5])
            if LIST in name or "first." in name or not name.endswith(".part"):
                continue
            files.add(name)
            sums[words[3]] = sums.get(words[3], 0) + max(0, int(words[4]))
    return sums, len(files)


def phases(launcher):
    def case_of(case):
        words = ["md", "--num_files", FILES, "--file_bytes", BYTES, "--input_dir", "d", "--shift", 1, "--json"]
        found = json.loads(case.emulate(*words, ranks=2, launcher=launcher).stdout)
        for name in ("create", "stat", "read", "unlink"):
            one = found["figures"]["phases"][name]
            expect(one["calls"] == 2 * FILES and one["seconds"] > 0, "%s: %s", name, one)
            expect(abs(one["rate"] * one["seconds"] / one["calls"] - 1) < 1e-6, "%s: %s", name, one)
        expect(found["total"]["metas"] == 4 * 2 * FILES, "%s", found["total"])
        expect(case.files("d") == [], "left %s", case.files("d"))

    return case_of


def again(case):
    """Captured, done again, captured again: calls of each kind are as many as the workload has."""
    captured.can_capture(case)
    words = ["--num_files", FILES, "--file_bytes", BYTES, "--input_dir", case.path("d")]
    os.mkdir(case.path("d"))
    log = captured.observe(case, "job.darshan", case.command("md", *words), "d", trace=False)
    want = {"POSIX_OPENS": 2 * FILES, "POSIX_WRITES": FILES, "POSIX_BYTES_WRITTEN": FILES * BYTES, "POSIX_READS": FILES,
            "POSIX_BYTES_READ": FILES * BYTES, "EXTRA_UNLINKS": FILES}  # fmt: skip
    sums, files = counters(case, log, "/d/")
    stats = sums.get("POSIX_STATS", 0) + sums.get("EXTRA_STATS", 0)
    expect(files == FILES and {k: sums.get(k) for k in want} == want and stats == FILES, "the job: %d files, %s", files, sums)
    os.mkdir(case.path("s"))
    command = case.command("replay", log, "--scratch", case.path("s"), "--no_think")
    sums, files = counters(case, captured.observe(case, "again.darshan", command, "s", trace=False), "/s/")
    del want["POSIX_OPENS"]  # files are made before the clock starts, which opens them once more
    stats = sums.get("POSIX_STATS", 0) + sums.get("EXTRA_STATS", 0)
    expect(files == FILES and {k: sums.get(k) for k in want} == want and stats >= FILES, "again: %d files, %s", files, sums)


def kept(case):
    """Files of others stay; what a killed run leaves goes with the next."""
    os.makedirs(case.path("d", "md.0"))
    for name in ("f.0", "md.0/f.1", "md.0/mine.part"):
        with open(case.path("d", name), "w", encoding="ascii") as file:
            file.write(name)
    run = case.start("md", "--num_files", 100000000, "--input_dir", "d", start_new_session=True)
    cases.wait(lambda: len(os.listdir(case.path("d", "md.0"))) > 20, "files are made")
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    case.emulate("md", "--num_files", 5, "--input_dir", "d", ranks=2)
    case.only("f.0", "md.0/f.1", "md.0/mine.part", folder="d")
    for bad, text in ((["--num_files", 0], "num_files"), (["--engine", "mmap"], "POSIX"), (["--file_bytes", "1GiB"], "file_bytes")):
        told = case.emulate("md", "--input_dir", "d", *bad, status=2).stderr
        expect(text in told, "%s: %s", bad, told)


CASES = {"phases-" + one: phases(one) for one in LAUNCHERS}
CASES.update({"again": again, "kept": kept})

if __name__ == "__main__":
    main(CASES)
