#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""live.py BUILD [CASE…]: live events of observed programs must be what the programs did, field by field, whoever reads them,
or nobody. (run.py compares those of all programs of tests/work with their counters and traces.) --list prints the cases."""
import fcntl
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, Comparison, Failed, Harness, Run, Skip, Truth, check_lanes  # noqa: E402
import cases  # noqa: E402  pylint: disable=wrong-import-order
from cases import FAMILIES, expect  # noqa: E402  pylint: disable=wrong-import-order

MPI = cases.MPI_HERE


class Live:
    """One observed run of a program; folder: where it works, quiet: what is not observed."""

    def __init__(self, harness, name):
        self.harness = harness
        self.folder = os.path.join(harness.scratch, name)
        self.quiet = os.path.join(harness.quiet, name)
        self.segments = os.path.join(self.quiet, "segments")
        self.logs = os.path.join(self.quiet, "logs")
        for folder in (self.folder, self.quiet, self.segments, self.logs):
            os.makedirs(folder, mode=0o700)
        self.live, self.lanes = [], []

    def environment(self, **extra):
        drop = ("IORAMA_", "DARSHAN_", "LD_", "DXT_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
        env.update(LD_PRELOAD=self.harness.library, IORAMA_DIR=self.segments, IORAMA_LOG_DIR=self.logs, IORAMA_LIVE="1")
        env.update(extra)
        return {k: v for k, v in env.items() if v is not None}

    def start(self, *command, prepare=None, **extra):
        return subprocess.Popen([str(w) for w in command], cwd=self.folder, env=self.environment(**extra), preexec_fn=prepare,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip

    def end(self, process, status=0, stdin=b""):
        try:
            out, err = process.communicate(stdin, timeout=TIMEOUT * 3)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failed("it does not end") from None
        expect(process.returncode == status, "status %s, not %s: %s", process.returncode, status, err.decode()[-500:])
        return out.decode()

    def run(self, *command, reader=(), **extra):
        """To its end, beside a reader; reader None: without."""
        read = self.harness.read_live(self.segments, self.quiet, *reader) if reader is not None else None
        out = self.end(self.start(*command, **extra))
        if read:
            self.live, self.lanes = read()
        return out

    def load(self, *options, **extra):
        """live_load, and what it says of itself."""
        program = self.harness.compile("live_load")
        said = json.loads(self.run(program, "--truth", os.path.join(self.quiet, "truth"), *options, self.folder, **extra))
        return said["ranks"]

    def left(self):
        return sorted(glob.glob(os.path.join(self.segments, "*", "*.seg")))

    def wait(self, function, what):
        cases.wait(function, what, TIMEOUT * 3, pause=0.005)


# ---- comparing


def samples(live):
    found = []
    for path in sorted(glob.glob(os.path.join(live.quiet, "truth.*"))):
        with open(path, encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found


def same_function(said, seen):
    return seen.replace("64", "").strip("_") in (said, said + "_chk", "xstat" if said == "stat" else "fxstat")


def compare(live, ranks, blur=10000):
    """Each thread's measured events, in their order, are the calls it made; sampled ones in every field. blur: ns by which
    the reader's straight line through two moments may be off."""
    check_lanes(live, problem)
    seen, total = {}, 0
    for event in sorted(live.live, key=lambda e: (e["pid"], e["lane"], e["seq"])):
        rank = next((r for r in ranks if r["pid"] == event["pid"]), None)
        if rank and event["file"] and event["file"].startswith(rank["prefix"]):
            seen.setdefault(event["tid"], []).append(event)
            total += 1
    for rank in ranks:
        for thread in rank["threads"]:
            compare_thread(thread, seen.get(thread["tid"], []))
    expect(total == sum(r["calls"] for r in ranks), "%d events, %d calls", total, sum(r["calls"] for r in ranks))
    for call in samples(live):
        compare_call(call, seen[call["tid"]][call["call"]], blur)


def compare_thread(thread, events):
    ops, files = {}, {}
    for event in events:
        op = "%s.%s" % (event["layer"], event["op"])
        ops[op] = ops.get(op, 0) + 1
        files[event["file"]] = files.get(event["file"], 0) + 1
    expect(ops == thread["ops"], "thread %d: %s, not %s", thread["tid"], ops, thread["ops"])
    expect(files == thread["files"], "thread %d: %s, not %s", thread["tid"], files, thread["files"])


def compare_call(call, event, blur):
    for field in ("layer", "op", "off", "len", "failed", "file", "tid", "pid"):
        expect(call[field] == event[field], "%s is %s: %s, not %s", field, event[field], event, call)
    expect(same_function(call["fn"], event["fn"]), "%s is no %s", event["fn"], call["fn"])
    expect(call["before"] - blur <= event["start"] <= event["end"] <= call["after"] + blur,
           "time: %d to %d, not within %d to %d", event["start"], event["end"], call["before"], call["after"])  # fmt: skip
    expect(event["parent"] == 0, "%s has a parent", event)


def problem(text, *values):
    raise Failed(text % values)


def accounted(lanes, calls):
    """Without a reader: each call was kept or is said to be lost. At least: those outside the measured part come on top."""
    made, dropped = sum(line["made"] for line in lanes), sum(line["dropped"] for line in lanes)
    expect(made + dropped >= calls, "%d made and %d dropped of %d calls", made, dropped, calls)
    return made, dropped


# ---- cases: the workload that knows


def mix(live):
    compare(live, live.load("--threads", 3, "--calls", 2600))


def names(live):
    compare(live, live.load("--mode", "names", "--calls", 64))


def short_threads(live):
    """Lanes go from thread to thread, faster than the reader reads."""
    ranks = live.load("--mode", "brief", "--calls", 1600, "--threads", 3, reader=("--lag", "400"))
    compare(live, ranks)


def many(live):
    """So many that rings grow, and are used again and again."""
    compare(live, live.load("--mode", "write", "--calls", 60000, "--threads", 2, "--sample", 200))


def layers(live):
    ranks = live.load("--calls", 260, IORAMA_LIVE="STDIO")
    seen = {e["layer"] for e in live.live}
    expect(seen == {"STDIO"}, "layers %s", seen)
    want = sum(n for op, n in ranks[0]["threads"][0]["ops"].items() if op.startswith("STDIO"))
    found = sum(1 for e in live.live if e["file"].startswith(ranks[0]["prefix"]))
    expect(found == want, "%d events, not %d", found, want)


def with_trace(live):
    """Both at once: one id for a call, and the trace in the log is whole."""
    ranks = live.load("--mode", "write", "--calls", 3000, IORAMA_TRACE="1")
    compare(live, ranks)
    calls = [e["call"] for e in live.live if e["tid"] == ranks[0]["threads"][0]["tid"]]
    expect(calls == list(range(1, len(calls) + 1)), "ids of calls have gaps: %s", calls[:20])
    (log,) = glob.glob(live.logs + "/*")
    done = subprocess.run([live.harness.iorama, "show", "-q", "--json", "--dxt", log], capture_output=True, check=True)
    records = [r for m in json.loads(done.stdout)["logs"][0]["modules"] for r in m["records"]]
    traced = sum(len(r["writes"]) for r in records if r["name"].startswith(ranks[0]["prefix"]))
    expect(traced == ranks[0]["threads"][0]["ops"]["POSIX.WRITE"], "%d writes are in the trace", traced)


def tag(live):
    live.load("--calls", 26, IORAMA_LIVE_TAG="my.stream-1")
    expect({line["tag"] for line in live.lanes} == {"my.stream-1"}, "%s", live.lanes)


# ---- cases: nobody reads


def unread(live):
    """Under `iorama run` segments stay to its end; what found no room is counted, whatever room there is."""
    for memory, least in (("32M", 30000), ("200K", 3072), ("49152", 1), ("40K", 0), ("0", 0)):
        shutil.rmtree(live.segments)
        os.makedirs(live.segments, mode=0o700)
        ranks = live.load("--mode", "write", "--calls", 30000, reader=None, IORAMA_JOB="unread", IORAMA_LIVE_MEMORY=memory)
        live.live, live.lanes = live.harness.read_once(*live.left())
        made, dropped = accounted(live.lanes, ranks[0]["calls"])
        expect(made >= least and (dropped > 0) == (made < ranks[0]["calls"]), "%s: %d made, %d dropped", memory, made, dropped)
        thread = [e for e in live.live if e["tid"] == ranks[0]["threads"][0]["tid"]]
        for event, call in zip(thread, samples(live)):  # the first ones are kept
            if call["call"] < len(thread):
                compare_call(call, thread[call["call"]], 10000)
            del event
        for line in live.lanes:
            expect(not line["doing"], "%s", line)


def limited_files(live):
    """Files may not be large: fewer rings, and no signal."""
    limit = 32 << 20
    ranks = live.load("--mode", "write", "--calls", 2000, reader=None, IORAMA_JOB="limit",
                      prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))  # fmt: skip
    (path,) = live.left()
    expect(os.path.getsize(path) <= limit, "%d bytes", os.path.getsize(path))
    _, lanes = live.harness.read_once(path)
    accounted(lanes, ranks[0]["calls"])


def full_memory(live):
    """The file system of the segments is full: events are dropped, the program does not notice."""
    if os.geteuid() != 0:
        raise Skip("only root can mount a small file system")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200k,mode=700", "none", live.segments], capture_output=True)
    if done.returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        ranks = live.load("--mode", "write", "--calls", 20000, reader=None, IORAMA_JOB="full")
        _, lanes = live.harness.read_once(*live.left())
        made, dropped = accounted(lanes, ranks[0]["calls"])
        expect(made > 0 and dropped > 0, "%d made, %d dropped", made, dropped)
    finally:
        subprocess.run(["umount", "-l", live.segments], check=True)


def old_kernel(live):
    """Before Linux 5.14 memory cannot be asked for by madvise."""
    source, program = os.path.join(live.quiet, "old.c"), os.path.join(live.quiet, "old")
    with open(source, "w", encoding="ascii") as file:
        file.write(OLD_KERNEL)
    if subprocess.run([live.harness.cc, source, "-o", program], capture_output=True).returncode != 0:
        raise Skip("system calls cannot be filtered here")
    load = live.harness.compile("live_load")
    out = live.run(program, load, "--calls", 5200, "--truth", os.path.join(live.quiet, "truth"), live.folder,
                   IORAMA_TRACE="1")  # fmt: skip
    compare(live, json.loads(out)["ranks"])


OLD_KERNEL = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 1), /* MADV_POPULATE_WRITE */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = { sizeof(f) / sizeof(f[0]), f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		return 77;
	if (madvise(f, 1, 23) == 0 || errno != EINVAL)
		return 1;
	return execv(argv[1], argv + 1), argc;
}
"""


# ---- cases: the end of a process that nobody waits for


def no_agent(live):
    """It leaves a log and nothing else."""
    live.load("--calls", 260, reader=None)
    expect(live.left() == [] and len(os.listdir(live.logs)) == 1, "%s %s", live.left(), os.listdir(live.logs))


def agent_expected(live):
    """Somebody watches: its segment stays until that one has read it; the log is there all the same."""
    with open(os.path.join(live.segments, ".agent"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ranks = live.load("--calls", 260, reader=None)
        expect(len(os.listdir(live.logs)) == 1, "%s", os.listdir(live.logs))
        live.live, live.lanes = live.harness.read_once(*live.left())
        expect(all(line["logged"] for line in live.lanes), "%s", live.lanes)
        compare(live, ranks)
    # the agent never came to it: there is nothing to recover but a log that is there already
    done = subprocess.run([live.harness.iorama, "recover", "--log-dir", live.quiet, live.segments], capture_output=True, text=True)
    expect(done.returncode == 0 and "its logs were written" in done.stdout, "recover: %s", done)
    expect(live.left() == [] and not glob.glob(live.quiet + "/*.darshan"), "%s", os.listdir(live.quiet))
    live.folder = os.path.join(live.folder, "again")
    os.mkdir(live.folder)
    live.load("--calls", 26, reader=None)  # the file is there, but nobody holds it
    expect(live.left() == [], "%s", live.left())


# ---- cases: switched while it runs


def switch(live, word, pid):
    done = subprocess.run([live.harness.iorama, "live", word, "-q", "--dir", live.segments, str(pid)], capture_output=True)
    expect(done.returncode == 0, "live %s: %s", word, done.stderr)


def switched(live):
    """Off, on, off: events are the calls in between, without a gap."""
    program = live.harness.compile("live_load")
    read = live.harness.read_live(live.segments, live.quiet)
    truth = os.path.join(live.quiet, "truth")
    process = live.start(program, "--mode", "write", "--calls", 1500, "--pace", 1000, "--truth", truth, "--hold", live.folder,
                         IORAMA_LIVE=None)  # fmt: skip
    printed = os.path.join(live.quiet, "live")
    data = os.path.join(live.folder, "measured.0", "data.0")
    live.wait(lambda: os.path.exists(data) and os.path.getsize(data), "the first calls")
    switch(live, "on", process.pid)
    live.wait(lambda: os.path.getsize(printed) > 5000, "events")
    switch(live, "off", process.pid)
    ranks = json.loads(live.end(process))["ranks"]
    live.live, live.lanes = read()
    offs = [e["off"] for e in live.live if e["file"] == data]
    calls = samples(live)
    at = next(i for i, call in enumerate(calls) if call["off"] == offs[0] and i > 1)
    expect(2 <= at and at + len(offs) < ranks[0]["calls"], "%d events from call %d on", len(offs), at)
    for i, event in enumerate(e for e in live.live if e["file"] == data):
        compare_call(calls[at + i], event, 10000)


def quick(live, **environment):
    """Counters go on as they are while events are off, on, and off again; events are those of the time in between."""
    program, said = live.harness.compile("quick"), os.path.join(live.quiet, "truth")
    read = live.harness.read_live(live.segments, live.quiet)
    process = live.start(program, "switched", IORAMA_LIVE=None, TRUTH_FILE=said, **environment)
    for word in ("", "on", "off"):
        if word:
            switch(live, word, process.pid)
        process.stdin.write(b"g")
        process.stdin.flush()
        expect(process.stdout.read(1) == b"g", "no answer: %s", process.poll())
    live.end(process)
    live.live, live.lanes = read()
    run = Run()
    run.folder, run.folder_quiet = live.folder, live.quiet
    with open(said, encoding="ascii") as file:
        run.truth = Truth(file.read())
    live.harness.collect(run, live.logs, bool(environment))
    problems = Comparison(live.harness, run, "trace" if environment else "bare").all()
    expect(not problems, "%s", problems)
    for name, ops in (("data", ("WRITE", "SEEK", "READ")), ("stream", ("WRITE",))):
        events = [e for e in live.live if e["file"] == os.path.join(live.folder, name)]
        expect([e["op"] for e in events] == 5 * list(ops), "%s: %s", name, events)
        expect(name != "data" or [e["off"] for e in events[::3]] == [(1 << 16) + 8 * i for i in range(5)], "%s", events)
    check_lanes(live, lambda text, *values: problems.append(text % values))
    expect(not problems, "%s", problems)


def quick_traced(live):
    quick(live, IORAMA_TRACE="1")


def inherited(live):
    """What is forked after the switch makes events, too."""
    script = ("import os, sys; open('ready', 'w').close(); sys.stdin.readline(); pid = os.fork(); "
              "fd = os.open('child' if pid == 0 else 'parent', os.O_CREAT | os.O_WRONLY); os.write(fd, b'x'); os.close(fd); "
              "pid and os.waitpid(pid, 0)")  # fmt: skip
    read = live.harness.read_live(live.segments, live.quiet)
    process = live.start(sys.executable, "-c", script, IORAMA_LIVE=None)
    live.wait(lambda: os.path.exists(os.path.join(live.folder, "ready")), "the program")
    switch(live, "on", process.pid)
    live.end(process, stdin=b"go\n")
    live.live, live.lanes = read()
    for name in ("child", "parent"):
        ops = [e["op"] for e in live.live if e["file"] == os.path.join(live.folder, name)]
        expect(ops == ["OPEN", "WRITE", "CLOSE"] or ops == ["OPEN", "STAT", "WRITE", "CLOSE"], "%s: %s", name, ops)


def at_work(live):
    """What a thread is at can be seen, and that it is at nothing any more."""
    os.mkfifo(os.path.join(live.folder, "fifo"))
    process = live.start("cat", os.path.join(live.folder, "fifo"), IORAMA_JOB="work")

    def doing():
        return live.left() and [line for line in live.harness.read_once(*live.left())[1] if line["doing"]]

    live.wait(lambda: doing() and doing()[0]["doing_fn"] in ("open", "open64", "__open64_2", "openat"), "open")
    with open(os.path.join(live.folder, "fifo"), "wb"):
        live.wait(lambda: doing() and doing()[0]["doing_fn"] in ("read", "__read_chk") and doing()[0]["doing_fd"] >= 0, "read")
    live.end(process)
    _, lanes = live.harness.read_once(*live.left())
    expect(lanes and not any(line["doing"] for line in lanes), "%s", lanes)


def canceled(live):
    """A thread that is canceled in a call, or jumps out of one, is not in it for ever."""
    source = os.path.join(live.quiet, "canceled.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(CANCELED)
    program = os.path.join(live.quiet, "canceled")
    subprocess.run([live.harness.cc, source, "-o", program, "-pthread"], check=True)
    live.run(program, reader=None, IORAMA_JOB="canceled")
    _, lanes = live.harness.read_once(*live.left())
    expect(lanes and not any(line["doing"] for line in lanes), "%s", lanes)


CANCELED = r"""
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2];
static sigjmp_buf back;
static void *wait_for_ever(void *arg)
{
	char byte;
	(void)arg;
	read(ends[0], &byte, 1);
	return NULL;
}
static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}
int main(void)
{
	pthread_t thread;
	char byte;
	if (pipe(ends) || pthread_create(&thread, NULL, wait_for_ever, NULL))
		return 1;
	usleep(100000);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	signal(SIGALRM, jump);
	if (!sigsetjmp(back, 1)) {
		alarm(1);
		read(ends[0], &byte, 1);
	}
	_exit(0);
}
"""


# ---- cases: layers above


def mpi_tools(family):
    for tool in ("mpicc.", "mpirun."):
        if not shutil.which(tool + family):
            raise Skip("%s%s is not installed" % (tool, family))


def mpi_load(live, family):
    """Ranks with threads, whose segments move when they find each other."""
    mpi_tools(family)
    program = os.path.join(live.quiet, "load")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "work", "live_load.c")
    subprocess.run(["mpicc." + family, "-D_GNU_SOURCE", "-O1", "-DWITH_MPI", source, "-o", program, "-pthread"], check=True)
    out = launch(live, family, 2, program, "--calls", "1300", "--threads", "2", "--truth",
                 os.path.join(live.quiet, "truth"), live.folder)  # fmt: skip
    ranks = json.loads(out)["ranks"]
    expect([r["rank"] for r in ranks] == [0, 1], "%s", ranks)
    compare(live, ranks)
    for event in live.live:
        rank = next((r for r in ranks if r["pid"] == event["pid"]), None)
        expect(not rank or event["rank"] in (-1, rank["rank"]), "%s", event)


def launch(live, family, n, *command):
    """The ranks are observed, the launcher is not."""
    env = live.environment(**MPI)
    mine = {k: env.pop(k) for k in list(env) if k.startswith("IORAMA_") or k == "LD_PRELOAD"}
    words = ["env", *("%s=%s" % item for item in mine.items()), *command]
    read = live.harness.read_live(live.segments, live.quiet)
    done = subprocess.run(["mpirun." + family, "-n", str(n), *words], cwd=live.folder, env=env, capture_output=True, text=True,
                          timeout=TIMEOUT * 3)  # fmt: skip
    expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr[-1000:])
    live.live, live.lanes = read()
    return done.stdout


def built(live, name, *compiler):
    source, program = os.path.join(live.quiet, name + ".c"), os.path.join(live.quiet, name)
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAMS[name])
    done = subprocess.run([compiler[0], "-O1", source, "-o", program, *compiler[1:]], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip("the program cannot be built: %s" % done.stderr.strip()[-200:])
    return program


def events_of(live, layer):
    return [e for e in live.live if e["layer"] == layer]


def nested(live, layer, expected):
    """The layer's events are these: (operation, bytes, failed); what lies inside one says so, in time and by its id."""
    check_lanes(live, problem)
    found = [(e["op"], e["len"], e["failed"]) for e in events_of(live, layer)]
    expect(found == expected, "%s events %s, not %s", layer, found, expected)
    calls = {(e["pid"], e["lane"], e["call"]): e for e in live.live}
    expect(len(calls) == len(live.live), "two events with one id")
    inner = 0
    for event in live.live:
        if event["parent"]:
            around = calls.get((event["pid"], event["lane"], event["parent"]))
            if around is None:
                continue  # of a call that is no event: MPI_Init and the like
            inner += 1
            expect(around["start"] <= event["start"] <= event["end"] <= around["end"], "%s is not within %s", event, around)
    return inner


def mpi_io(live, family):
    mpi_tools(family)
    launch(live, family, 1, built(live, "mpiio", "mpicc." + family))
    want = [("OPEN", -1, False), ("VIEW", -1, False), *[("WRITE", 8, False)] * 10, ("READ", 80, False), ("SYNC", -1, False),
            ("CLOSE", -1, False), ("OPEN", -1, True)]  # fmt: skip
    inner = nested(live, "MPI-IO", want)
    writes = [e for e in events_of(live, "MPI-IO") if e["op"] == "WRITE"]
    expect([e["off"] for e in writes] == [4096 * i for i in range(10)], "%s", writes)
    parents = {e["parent"] for e in events_of(live, "POSIX") if e["op"] == "WRITE" and e["len"] == 8}
    expect(parents == {e["call"] for e in writes}, "POSIX writes are in %s, not in %s", parents, [e["call"] for e in writes])
    expect(inner >= 12, "%d events are inside others", inner)
    files = {os.path.basename(e["file"]) for e in events_of(live, "MPI-IO")}
    expect(files == {"out", "missing"}, "%s", files)


def hdf5(live):
    arch = subprocess.run([live.harness.cc, "-print-multiarch"], capture_output=True, text=True).stdout.strip()
    program = built(live, "hdf5", live.harness.cc, "-I/usr/include/hdf5/serial", "-L/usr/lib/%s/hdf5/serial" % arch, "-lhdf5")
    live.run(program)
    size = 16384 * 8
    nested(live, "H5F", [("OPEN", -1, False), ("FLUSH", -1, False), ("CLOSE", -1, False), ("OPEN", -1, True)])
    inner = nested(live, "H5D", [("OPEN", -1, False), *[("WRITE", size, False)] * 3, ("READ", size, False),
                                 ("READ", -1, True), ("CLOSE", -1, False)])  # fmt: skip
    calls = [e["call"] for e in events_of(live, "H5D") if e["op"] == "WRITE"]
    parents = [e["parent"] for e in events_of(live, "POSIX") if e["op"] == "WRITE" and e["len"] == size]
    expect(parents == calls, "POSIX writes are in %s, not in %s", parents, calls)
    expect(inner >= 4, "%d events are inside others", inner)
    files = {os.path.relpath(e["file"], live.folder) for e in events_of(live, "H5D")}
    expect(files == {"out:/d"}, "%s", files)


def pnetcdf(live):
    family = "openmpi"  # which the library of the distribution is made for
    mpi_tools(family)
    launch(live, family, 1, built(live, "pnetcdf", "mpicc." + family, "-lpnetcdf"))
    want = [("CREATE", -1, False), ("OPEN", -1, False), ("ENDDEF", -1, False), ("WRITE", 800, False), ("READ", 800, False),
            ("SYNC", -1, False), ("CLOSE", -1, False), ("OPEN", -1, True)]  # fmt: skip
    inner = nested(live, "PNETCDF", want)
    calls = {e["call"]: e for e in events_of(live, "PNETCDF")}
    write = next(e for e in calls.values() if e["op"] == "WRITE")
    below = [e for e in events_of(live, "MPI-IO") if e["parent"] == write["call"] and e["op"] == "WRITE"]
    expect(below, "no MPI-IO write is inside %s: %s", write, events_of(live, "MPI-IO"))
    deepest = [e for e in events_of(live, "POSIX") if e["op"] == "WRITE" and e["parent"] == below[0]["call"]]
    expect(deepest and deepest[0]["len"] == 800, "no POSIX write is inside %s", below[0])
    expect(inner >= 4, "%d events are inside others", inner)


PROGRAMS = {
    "mpiio": r"""
#include <mpi.h>
int main(int argc, char **argv)
{
	MPI_File f;
	double x[10] = { 1 };
	MPI_Init(&argc, &argv);
	MPI_File_open(MPI_COMM_SELF, "out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	for (int i = 0; i < 10; i++)
		MPI_File_write_at(f, 4096 * i, &x, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_read_at(f, 0, x, 10, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_sync(f);
	MPI_File_close(&f);
	if (MPI_File_open(MPI_COMM_SELF, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &f) == MPI_SUCCESS)
		return 1;
	return MPI_Finalize();
}
""",
    "hdf5": r"""
#include <hdf5.h>
static double x[16384]; /* more than HDF5 would gather in memory */
int main(void)
{
	hsize_t n = 16384;
	hid_t f = H5Fcreate("out", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, &n, NULL);
	hid_t d = H5Dcreate2(f, "d", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < 3; i++)
		H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
	H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	if (H5Dread(d, -1, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0)
		return 1;
	H5Fflush(f, H5F_SCOPE_LOCAL);
	H5Dclose(d), H5Sclose(s), H5Fclose(f);
	return H5Fopen("missing", H5F_ACC_RDONLY, H5P_DEFAULT) >= 0;
}
""",
    "pnetcdf": r"""
#include <mpi.h>
#include <pnetcdf.h>
#define MUST(x) if ((x) != NC_NOERR) return 1
int main(int argc, char **argv)
{
	int nc, dim, var, other;
	double x[100] = { 1 };
	MPI_Offset start = 0, count = 100;
	MPI_Init(&argc, &argv);
	MUST(ncmpi_create(MPI_COMM_SELF, "out.nc", NC_CLOBBER, MPI_INFO_NULL, &nc));
	MUST(ncmpi_def_dim(nc, "n", 100, &dim));
	MUST(ncmpi_def_var(nc, "v", NC_DOUBLE, 1, &dim, &var));
	MUST(ncmpi_enddef(nc));
	MUST(ncmpi_put_vara_double_all(nc, var, &start, &count, x));
	MUST(ncmpi_get_vara_double_all(nc, var, &start, &count, x));
	MUST(ncmpi_sync(nc));
	MUST(ncmpi_close(nc));
	if (ncmpi_open(MPI_COMM_SELF, "missing.nc", NC_NOWRITE, MPI_INFO_NULL, &other) == NC_NOERR)
		return 2;
	return MPI_Finalize();
}
""",
}

CASES = {
    "mix": mix, "names": names, "short-threads": short_threads, "many": many, "layers": layers, "with-trace": with_trace,
    "tag": tag, "unread": unread, "limited-files": limited_files, "full-memory": full_memory, "old-kernel": old_kernel, "no-agent": no_agent,
    "agent-expected": agent_expected, "switched": switched, "quick": quick, "quick-traced": quick_traced, "inherited": inherited, "at-work": at_work,
    "canceled": canceled, "hdf5": hdf5, "pnetcdf": pnetcdf,
}  # fmt: skip
for _family in FAMILIES:
    for _name, _function in (("load", mpi_load), ("mpiio", mpi_io)):
        CASES["%s-%s" % (_name, _family)] = lambda live, f=_function, family=_family: f(live, family)


def perform(build, name):
    harness = Harness(build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        harness.need(harness.iorama, harness.library)
        CASES[name[5:]](Live(harness, name[5:]))
    finally:
        harness.close()


if __name__ == "__main__":
    cases.main(["live-" + name for name in CASES], perform)
