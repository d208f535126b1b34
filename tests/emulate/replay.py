# SPDX-License-Identifier: BSD-3-Clause
"""iorama emulate replay: jobs whose every request is known are captured and done again; the replay is captured, too, and its trace compared."""
import json
import os
import shutil
import subprocess
import sys

import captured
import check
import harness
from harness import LOCAL, MPICH, OPENMPI, cases, expect

RANKS = 4  # of a job of three processes and the one that starts them


def plan_of(think=0.0, rounds=12):
    """Two processes write by turns into one file, each into one of its own, too; a third reads what they wrote."""
    plan = [[], [], []]
    for i in range(rounds):
        for k in range(2):
            plan[k] += [["w", "shared", (2 * i + k) * 5000, 4000 + 13 * i + k], ["w", "own%d" % k, 700 * i, 700],
                        ["think", think], ["tell", "writer%d" % k]]  # fmt: skip
        plan[2] += [["hear", "writer0"], ["hear", "writer1"]]
        plan[2] += [["r", "shared", (2 * i + k) * 5000, 3000 + 13 * i] for k in range(2)]
    return plan


def numbers(case, *words, **more):
    return json.loads(case.emulate("replay", *words, "--json", "--scratch", case.path("scratch"), **more).stdout)


def totals(plan):
    all_ = [(what, op) for mine in captured.requests(plan) for (_, what), ops in mine.items() for op in ops]
    return {"reads": sum(w == "r" for w, _ in all_), "bytes_read": sum(o[1] for w, o in all_ if w == "r"),
            "writes": sum(w == "w" for w, _ in all_), "bytes_written": sum(o[1] for w, o in all_ if w == "w")}  # fmt: skip


def moved(result, plan):
    want = totals(plan)
    have = {key: result["total"][key] for key in want}
    expect(have == want, "moved %s, not %s", have, want)
    planned = {key: result["figures"]["planned_" + key] for key in want}
    expect(planned == want, "planned %s, not %s", planned, want)


def again(case, log, *words, ranks=RANKS):
    """The replay, captured itself: what each of its processes did."""
    command = case.command("replay", log, "--scratch", case.path("scratch"), *words, ranks=ranks)
    os.makedirs(case.path("scratch"), exist_ok=True)
    return captured.traced(case, captured.observe(case, "again.darshan", command, "scratch"))


def exact(case):
    """Files, offsets, sizes and their order, for every process."""
    plan = plan_of()
    log = captured.job(case, "job.darshan", plan)
    captured.same(captured.traced(case, log), captured.requests(plan), "the trace of the job")
    captured.same(again(case, log), captured.requests(plan), "the trace of the replay")
    result = numbers(case, log, ranks=RANKS)
    moved(result, plan)
    for rank, figures in zip(result["ranks"], result["figures"]["planned"]):
        have = {key: rank[key[len("planned_"):]] for key in figures}
        expect(have == figures, "rank %s did %s, not %s", rank["rank"], have, figures)


def span(case):
    """About a second of small requests and time between them. What other programs do lengthens the job or the replay: its thinking is
    the bound from below, and IORAMA_TEST_LONG=1 judges both by a tenth."""
    log = captured.job(case, "job.darshan", plan_of(think=0.08))
    alone = os.environ.get("IORAMA_TEST_LONG")

    def measure():
        result = numbers(case, log, ranks=RANKS)
        share = result["seconds"] / result["figures"]["log_span_s"]
        expect(share >= 0.9 or not alone, "takes %s of the time of the job", share)
        expect(result["seconds"] > 0.98 * 11 * 0.08, "takes %s s, less than the job slept", result["seconds"])
        return share, result

    _, result = cases.best(6, measure, lambda found: found[0] <= (1.1 if alone else 2.5), "the time of the job")
    fast = numbers(case, log, "--speed", "20", ranks=RANKS)
    expect(fast["seconds"] < 0.8 * result["seconds"], "20 times the speed: %s s, not %s", fast["seconds"], result["seconds"])
    expect(fast["total"]["compute_s"] < 0.2 * result["total"]["compute_s"], "20 times the speed: thinks as long")


def order(case):
    """No reader overtakes its writer: nothing is there before it is written, and every byte is checked."""
    plan = plan_of(rounds=40)
    log = captured.job(case, "job.darshan", plan)
    for ranks in [RANKS] * 20 + [1, 2, 3, 5]:
        result = numbers(case, log, "--no_think", "--verify", ranks=ranks)
        moved(result, plan)
        expect(not any(result["wrong_bytes"].values()), "wrong: %s", result["wrong_bytes"])


THREADS = """
import os, sys, threading
fds = [os.open(os.path.join(sys.argv[1], name), os.O_RDWR | os.O_CREAT, 0o644) for name in ("a", "b", "both")]
data, meet = b"x" * (24 << 20), threading.Barrier(2)
def work(k):
    for i in range(4):
        meet.wait()
        os.pwrite(fds[k], data, i * len(data))
        os.pwrite(fds[2], data[:1000 + k], 5000 * (2 * i + k))
    meet.wait()
    for i in range(4):  # what the other one wrote
        os.pread(fds[2], 1000, 5000 * (2 * i + 1 - k))
threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def at_once(log, case):
    """Most requests of the trace that go on at a time."""
    text = subprocess.run([case.iorama, "show", "--dxt", log], check=True, capture_output=True, text=True).stdout
    times = [tuple(map(float, line.split()[6:8])) for line in text.splitlines() if line.lstrip().startswith("X_")]
    return max(sum(a <= start < b for a, b in times) for start, _ in times)


def threads(case):
    """Two threads of one process: their large writes go on at the same time, and do so again; who reads finds what the other wrote."""
    os.makedirs(case.path("data"))
    with open(case.path("threads.py"), "w", encoding="utf-8") as file:
        file.write(THREADS)
    command = [sys.executable, case.path("threads.py"), case.path("data")]
    # one processor may be busy with something else all the time
    log = cases.best(10, lambda: captured.observe(case, "job.darshan", command, "data"), lambda made: at_once(made, case) == 2,
                     "threads write at the same time")  # fmt: skip
    size = 24 << 20
    want = {("a", "w"): [(i * size, size) for i in range(4)], ("b", "w"): [(i * size, size) for i in range(4)],
            ("both", "w"): sorted((5000 * (2 * i + k), 1000 + k) for i in range(4) for k in (0, 1)),
            ("both", "r"): sorted((5000 * (2 * i + k), 1000) for i in range(4) for k in (0, 1))}  # fmt: skip

    def measure():
        have = again(case, log, ranks=1)
        expect([{key: sorted(ops) for key, ops in mine.items()} for mine in have] == [want], "%s, not %s", have, want)
        return at_once(case.path("again.darshan"), case)

    cases.best(10, measure, lambda most: most == 2, "so does the replay")
    for ranks in (1, 1, 1, 2):
        result = numbers(case, log, "--no_think", "--verify", ranks=ranks)
        expect(result["figures"]["at_once"] == 2, "at once: %s", result["figures"]["at_once"])
        expect(not any(result["wrong_bytes"].values()), "wrong: %s", result["wrong_bytes"])
    numbers(case, log, "--engine", "mpiio", ranks=2, launcher=OPENMPI)


def folded(case):
    """All processes in one: in order of time."""
    plan = plan_of(rounds=6)
    log = captured.job(case, "job.darshan", plan)
    want = {}
    for mine in captured.requests(plan):
        for key, ops in mine.items():
            want.setdefault(key, []).extend(ops)
    have = again(case, log, "--no_think", ranks=1)
    expect(len(have) == 1, "%d processes", len(have))
    expect({k: sorted(v) for k, v in have[0].items()} == {k: sorted(v) for k, v in want.items()}, "%s, not %s", have, want)


def inputs(case):
    """What was there before the job is made before the replay, at its place; the files of the job are left alone."""
    os.makedirs(case.path("data"))
    with open(case.path("data", "input"), "wb") as file:
        file.write(b"original" * 100_000)
    before = os.stat(case.path("data", "input")).st_mtime_ns
    plan = [[["r", "input", 300_000, 65536], ["r", "input", 1000, 100], ["w", "input", 1000, 50], ["r", "input", 1000, 50]],
            [["w", "late", 0, 10], ["r", "late", 0, 10], ["w", "late", 1 << 20, 10], ["r", "late", 500_000, 10]]]  # fmt: skip
    log = captured.job(case, "job.darshan", plan)
    with open(case.path("data", "input"), "rb") as file:
        content = file.read()
    os.utime(case.path("data", "input"), ns=(before, before))
    result = numbers(case, log, "--verify", "--keep", ranks=3)
    moved(result, plan)
    with open(case.path("data", "input"), "rb") as file:
        expect(file.read() == content, "the original was changed")
    expect(os.stat(case.path("data", "input")).st_mtime_ns == before, "the original was touched")
    found = {name.split("-", 1)[1]: name for name in case.files("scratch")}
    expect(sorted(found) == ["input", "late"], "files %s", sorted(found))
    for name, ranges in (("input", [(300_000, 65536), (1000, 100)]), ("late", [(0, 10), (1 << 20, 10), (500_000, 10)])):
        want = check.pattern(found[name], max(a + n for a, n in ranges))
        have = check.read(case.path("scratch", found[name]), 0, len(want) + 1)
        right = all(have[a:a + n] == want[a:a + n] for a, n in ranges)  # fmt: skip
        expect(right and len(have) == len(want), "%s: wrong bytes, or %d of them", name, len(have))
    numbers(case, log, ranks=2)
    case.only(folder="scratch")


def counters(case):
    """Without a trace: as many requests of the same sizes, all bytes, in shape."""
    plan = [[["w", "out%d" % k, 4096 * i, 4096] for i in range(50)] + [["w", "out%d" % k, 204800, 77]]
            + [["r", "out%d" % k, 1024 * i, 1024] for i in range(9)] for k in range(2)]  # fmt: skip
    log = captured.job(case, "job.darshan", plan, trace=False)
    result = numbers(case, log, ranks=3)
    expect(result["figures"]["from_counters"], "not from counters")
    moved(result, plan)
    sizes = sorted(n for mine in again(case, log, ranks=3) for (_, what), ops in mine.items() if what == "w" for _, n in ops)
    # reads come after the writes: nothing else is written
    expect(sizes == sorted([4096] * 100 + [77] * 2), "sizes %s", sizes)


def several(case):
    """Two jobs, the second of which reads what the first wrote; given in the wrong order."""
    first = [[["w", "data", 8192 * i, 8192] for i in range(20)]]
    second = [[["r", "data", 8192 * i, 8192] for i in range(20)]]
    logs = [captured.job(case, "1.darshan", first), captured.job(case, "2.darshan", second)]
    for _ in range(5):
        result = numbers(case, logs[1], logs[0], "--no_think", "--verify", ranks=4)
        moved(result, first + second)
        expect(not any(result["wrong_bytes"].values()), "wrong: %s", result["wrong_bytes"])


def changed(case):
    """Larger and smaller requests, a file for each rank, aligned offsets, fewer bytes."""
    plan = [[["w", "shared", 1_000_000 * k + 1000 * i, 1000] for i in range(64)] for k in range(2)]
    log = captured.job(case, "job.darshan", plan)
    for size, count in ((16_000, 4), (64_000, 1), (500, 128), (1000, 64), (1500, 64)):
        have = again(case, log, "--no_think", "--transfer_size", size, ranks=3)
        lengths = sorted(len(ops) for mine in have for ops in mine.values())
        expect(lengths == [count] * 2, "requests of %d bytes: %s of them", size, lengths)
        done = sorted((a, a + n) for mine in have for ops in mine.values() for a, n in ops)
        expect(sum(b - a for a, b in done) == 128_000, "requests of %d bytes: %s", size, done)
    have = again(case, log, "--no_think", "--file_per_process_write", ranks=3)
    expect(len({name for mine in have for name, _ in mine}) == 2, "files %s", have)
    have = again(case, log, "--no_think", "--alignment", "4096", ranks=3)
    offsets = {a % 4096 for mine in have for ops in mine.values() for a, _ in ops}
    expect(offsets == {0}, "offsets %s", offsets)
    result = numbers(case, log, "--bytes", "1/10", "--fsync", "request", ranks=3)
    expect(result["total"]["bytes_written"] == 12_800, "%s bytes", result["total"]["bytes_written"])
    expect(result["total"]["syncs"] == 128, "%s syncs", result["total"]["syncs"])


def many(case):
    """More files than may be open at a time."""
    plan = [[["w", "f%d" % (i % 300), 10 * i, 10] for i in range(600)]]
    log = captured.job(case, "job.darshan", plan)
    result = numbers(case, log, "--no_think", wrap=["prlimit", "--nofile=150:150"])
    moved(result, plan)


def under(family, *words):
    def case_of(case):
        case.need(family)
        plan = plan_of(rounds=10)
        log = captured.job(case, "job.darshan", plan)
        for ranks in (2, RANKS):
            result = numbers(case, log, "--no_think", "--verify", *words, ranks=ranks, launcher=family)
            moved(result, plan)

    return case_of


def engines(case):
    plan = plan_of(rounds=10)
    log = captured.job(case, "job.darshan", plan)
    for engine in ("vector", "mmap", "uring", "null"):
        result = numbers(case, log, "--no_think", "--engine", engine, ranks=RANKS)
        moved(result, plan)


def bad(case):
    """One line that names the file and the place; nothing is left behind."""
    log = captured.job(case, "job.darshan", plan_of(rounds=4))
    with open(log, "rb") as file:
        content = file.read()
    for n in (0, 100, 1400, len(content) // 2, len(content) - 3):
        with open(case.path("cut.darshan"), "wb") as file:
            file.write(content[:n])
        done = case.emulate("replay", "cut.darshan", "--scratch", case.path("s"), status=3)
        expect(done.stderr.count("\n") == 1 and "cut.darshan" in done.stderr, "%d bytes: %s", n, done.stderr)
    case.emulate("replay", "missing.darshan", status=3)
    case.emulate("replay", status=2)
    expect(not os.path.exists(case.path("s")), "a folder is left")


# A program with calls of every kind; which ones is said by letters.
CALLS = """
import os, sys
top, kinds = sys.argv[1], sys.argv[2]
path = top + "/log"
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
for i in range(30):
    os.pwrite(fd, b"x" * 1000, 1000 * i)
    if "f" in kinds:
        os.fsync(fd)
    if "d" in kinds and i % 3 == 0:
        os.fdatasync(fd)
    if "s" in kinds:
        os.stat(path)
    if "a" in kinds:
        os.access(path, os.R_OK)
    if "x" in kinds and i % 2:
        try:
            os.open(top + "/missing", os.O_RDONLY)
        except FileNotFoundError:
            pass
    if "e" in kinds:
        os.pread(fd, 100, 1000000)
    if "o" in kinds and i % 4 == 0:
        os.close(fd)
        fd = os.open(path, os.O_RDWR)
    if "l" in kinds:
        os.lseek(fd, 0, os.SEEK_SET)
os.close(fd)
for i in range(8 if "m" in kinds else 0):  # phases of mdtest
    os.mkdir(top + "/dir%d" % i)
    fd = os.open(top + "/file%d" % i, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, b"y" * 100)
    os.close(fd)
    os.stat(top + "/file%d" % i)
    if i % 2:
        os.unlink(top + "/file%d" % i)
        os.rmdir(top + "/dir%d" % i)
    else:
        os.rename(top + "/file%d" % i, top + "/new%d" % i)
"""
KINDS = ("OPENS READS WRITES STATS FSYNCS FDSYNCS BYTES_READ BYTES_WRITTEN ACCESSES UNLINKS MKDIRS RENAMES").split()


def counted(case, log):
    """How often each kind of call occurred, all files together; lists of a replay do not count."""
    text = subprocess.run([case.iorama, "show", log], check=True, capture_output=True, text=True).stdout
    sums = dict.fromkeys(KINDS, 0)
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) < 6 or words[0] not in ("POSIX", "EXTRA") or harness.LIST in words[5]:
            continue
        kind = words[3].split("_", 1)[1]
        if kind in sums:
            sums[kind] += int(words[4])
    return sums


def calls(case):
    """Captured, replayed, captured again: as many calls of each kind, from a trace and from counters; what is not done is told."""
    with open(case.path("calls.py"), "w", encoding="ascii") as file:
        file.write(CALLS)
    for kinds in ("", "f", "d", "s", "a", "e", "o", "m", "fdsaeom"):
        for trace in (True, False):
            for folder in ("data", "scratch"):
                shutil.rmtree(case.path(folder), ignore_errors=True)
                os.mkdir(case.path(folder))
            log = captured.observe(case, "job.darshan", [sys.executable, case.path("calls.py"), case.path("data"), kinds], "data", trace)
            want = counted(case, log)
            command = case.command("replay", log, "--scratch", case.path("scratch"), "--keep", "--no_think")
            have = counted(case, captured.observe(case, "again.darshan", command, "scratch", trace))
            expect(have == want, "%r, trace %s: %s\nnot %s", kinds, trace, have, want)
            said = case.emulate("replay", log, "--no_think").stdout
            expect("left out" not in said and ("all were done" in said) == trace, "%r, trace %s: %s", kinds, trace, said)
    # what the user says about syncs goes before what the job did
    shutil.rmtree(case.path("scratch"))
    result = numbers(case, log, "--no_think", "--fsync", "never")
    expect(result["total"]["syncs"] == 0, "%s syncs", result["total"]["syncs"])


def left_out(case):
    """What cannot be done again is counted, in words and in JSON; then not all was done."""
    with open(case.path("calls.py"), "w", encoding="ascii") as file:
        file.write(CALLS)
    os.mkdir(case.path("data"))
    log = captured.observe(case, "job.darshan", [sys.executable, case.path("calls.py"), case.path("data"), "lx"], "data")
    said = case.emulate("replay", log, "--no_think").stdout
    expect("left out: 30 seeks, 15 opens that failed\n" in said and "all were done" not in said, "%s", said)
    expect(numbers(case, log, "--no_think")["figures"]["left_out"] == {"seeks": 30, "opens that failed": 15}, "the same in JSON")


STREAMS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char name[4096], line[16], byte = 0;
	int pipes[2];
	snprintf(name, sizeof(name), "%s/log", argv[argc - 1]);
	if (pipe(pipes) != 0)
		return 1;
	if (fork() == 0) { /* reads what the other one has written, and flushed */
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		FILE *f = fopen(name, "r");
		for (int i = 0; i < 300; i++)
			if (fread(line, 10, 1, f) != 1)
				_exit(2);
		fclose(f);
		_exit(0);
	}
	FILE *f = fopen(name, "w");
	for (int i = 0; i < 3000; i++) {
		fprintf(f, "%09d\\n", i);
		if (i % 1000 == 299)
			fflush(f);
		if (i == 299) {
			byte = write(pipes[1], &byte, 1) != 1;
			usleep(300000); /* much less is read than a buffer holds */
		}
	}
	fclose(f);
	int status = 0;
	wait(&status);
	return byte || status != 0;
}
"""


def streams(case):
    """What went through streams does so again: as many requests and flushes, and few calls of the system; who reads finds what was written."""
    program = case.path("streams")
    with open(program + ".c", "w", encoding="ascii") as file:
        file.write(STREAMS)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", program, program + ".c"], check=True)
    for trace in (True, False):
        for folder in ("data", "scratch"):
            shutil.rmtree(case.path(folder), ignore_errors=True)
            os.mkdir(case.path(folder))
        log = captured.observe(case, "job.darshan", [program, case.path("data")], "data", trace)
        for ranks in (1, 2):
            result = numbers(case, log, "--verify", ranks=ranks)
            expect(result["figures"]["streams"] == 3300 and result["figures"]["left_out"] == {}, "%s", result["figures"])
            expect(not any(result["wrong_bytes"].values()), "wrong: %s", result["wrong_bytes"])
        wrap = case.strace("-y", "-e", "trace=write,pwrite64")
        said = case.emulate("replay", log, "--no_think", "--scratch", case.path("scratch"), "--keep", wrap=wrap).stdout
        expect("3300 of them are those of streams" in said and "left out" not in said, "%s", said)
        calls = 0
        for name in os.listdir(case.folder):
            if name.startswith("trace."):
                with open(case.path(name), encoding="utf-8") as file:
                    calls += sum("-log>" in line for line in file)
        expect(0 < calls < 40 or not trace, "%d calls of the system for 3000 requests", calls)  # counters mix both processes
        command = case.command("replay", log, "--no_think", "--scratch", case.path("scratch"), "--keep")
        text = subprocess.run([case.iorama, "show", captured.observe(case, "again.darshan", command, "scratch", False)], check=True,
                              capture_output=True, text=True).stdout  # fmt: skip
        sums = {}
        for words in map(str.split, text.splitlines()):
            if len(words) > 5 and words[0] == "STDIO" and words[5].endswith("-log"):
                sums[words[3]] = sums.get(words[3], 0) + float(words[4])
        want = {"STDIO_WRITES": 3000, "STDIO_READS": 300, "STDIO_BYTES_WRITTEN": 30000, "STDIO_BYTES_READ": 3000}
        expect({k: sums.get(k) for k in want} == want and sums["STDIO_FLUSHES"] >= 3, "again: %s", sums)
    # asked for another way, it is done that way
    result = numbers(case, log, "--verify", "--engine", "stdio", ranks=2)
    expect(result["figures"]["streams"] == 3300 and not any(result["wrong_bytes"].values()), "%s", result["figures"])
    plain = captured.job(case, "plain.darshan", plan_of())
    moved(numbers(case, plain, "--verify", "--engine", "stdio", ranks=RANKS), plan_of())
    result = numbers(case, log, "--no_think", "--engine", "posix")
    expect(result["figures"]["streams"] == 0 and result["figures"]["left_out"] == {"flushes": 3}, "%s", result["figures"])


CASES = {"calls": calls, "streams": streams, "left_out": left_out, "exact": exact, "span": span, "order": order, "threads": threads, "folded": folded, "inputs": inputs, "counters": counters,
         "several": several, "changed": changed, "many": many, "engines": engines, "bad": bad,
         "openmpi": under(OPENMPI), "mpich": under(MPICH), "openmpi-mpiio": under(OPENMPI, "--engine", "mpiio"),
         "local": under(LOCAL)}  # fmt: skip

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
