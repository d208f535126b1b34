# SPDX-License-Identifier: BSD-3-Clause
"""What it takes to say what was slow: reports of one large job, its page, and of many small ones. Part of bench/run."""
import os
import statistics
import subprocess

FILES, SEGMENTS, LOGS = 50_000, 1_000_000, 10_000
CALLS, CALLS_BUDGET = 1_000_000, 2000  # ms: calls of daemons and servers that are joined
# Measured when the budgets were set, on another machine: Drishti of 50,000 files, PyDarshan of 10^6 segments
DRISHTI_SECONDS, PYDARSHAN_SECONDS, PYDARSHAN_MB = 21, 57, 16_000


def runs_of(b, command):
    """CPU seconds, wall seconds, MB: lists of all runs."""
    text = subprocess.run([b.measure, str(b.options.runs), b.iorama] + command, stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    lines = [[int(word) for word in line.split()] for line in text.splitlines()]
    if any(line[-1] != 0 for line in lines):
        raise SystemExit("bench: iorama %s fails with status %d" % (" ".join(command), lines[0][-1]))
    return ([(line[0] + line[1]) / 1e6 for line in lines], [line[3] / 1e6 for line in lines],
            [line[2] / 1024 for line in lines])


def joined(b):
    """`iorama path`: calls of ranks, a FUSE daemon and three servers become trees."""
    program = os.path.join(b.options.build, "bench", "path")
    text = subprocess.run([program, str(CALLS), str(b.options.runs)], stdout=subprocess.PIPE, check=True, text=True).stdout
    calls, took = text.split()
    b.add("path, join 1000000 calls", "cpu_min", float(took) * CALLS / int(calls), "ms", CALLS_BUDGET)


def measure(b, folder):
    files, trace = b.log("files", FILES), b.log("segments", SEGMENTS)
    cpu, _, memory = runs_of(b, ["report", files])
    b.add("report, 50000 files", "cpu_min", min(cpu), "s", 0.5, DRISHTI_SECONDS)
    b.add("report, 50000 files", "cpu_median", statistics.median(cpu), "s")
    b.add("report, 50000 files", "peak_memory", max(memory), "MB")
    cpu, _, memory = runs_of(b, ["report", trace])
    b.add("report, 1000000 segments", "cpu_min", min(cpu), "s", 0.5, PYDARSHAN_SECONDS)
    b.add("report, 1000000 segments", "cpu_median", statistics.median(cpu), "s")
    b.add("report, 1000000 segments", "peak_memory", max(memory), "MB", 100, PYDARSHAN_MB)
    for what, log, budget in (("50000 files", files, None), ("1000000 segments", trace, 1)):
        page = os.path.join(folder, "page.html")
        cpu, _, memory = runs_of(b, ["report", "--html=" + page, log])
        b.add("report --html, " + what, "cpu_min", min(cpu), "s")
        b.add("report --html, " + what, "peak_memory", max(memory), "MB")
        b.add("report --html, " + what, "size", os.path.getsize(page) / 1e6, "MB", budget)
    joined(b)
    measure_fleet(b, folder)


def measure_fleet(b, folder):
    fleet = os.path.join(folder, "fleet")
    subprocess.run([b.synth, "fleet", str(LOGS), fleet], check=True)
    cores = len(os.sched_getaffinity(0))
    cpu, wall, memory = runs_of(b, ["report", "--fleet", fleet])
    what = "report --fleet, 10000 logs, %d cores" % cores
    b.add(what, "wall_min", min(wall), "s", 5)
    b.add(what, "wall_median", statistics.median(wall), "s")
    b.add(what, "cpu_min", min(cpu), "s", 5.0 * cores)  # tells more than the wall on a busy machine
    b.add(what, "peak_memory", max(memory), "MB")
