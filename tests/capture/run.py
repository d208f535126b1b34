#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py BUILD [CASE...]: the programs of tests/work, observed; their logs must say what they did.

Each case runs unobserved first, then bare (preloaded), traced, under `iorama run`, and linked statically.
--list prints the cases."""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import SKIPPED, Comparison, Failed, Harness, Skip  # noqa: E402
import cases  # noqa: E402  pylint: disable=wrong-import-order

ALL = ("bare", "trace", "live", "run", "static")
DYNAMIC = ("bare", "trace", "live", "run")
ONCE = ("bare", "run")


class Case:
    """One program, its arguments, and the ways in which it is to be observed."""

    def __init__(self, program, *args, modes=ALL, name=None, status=0, env=None, check=None, **more):
        self.program, self.args, self.modes, self.status, self.env = program, list(args), modes, status, env or {}
        self.name = name or "-".join([program, *args])
        self.check = check  # called with (harness, run, comparison) in place of the comparison
        self.flags = more.pop("flags", [])  # for the compiler
        self.libs = more.pop("libs", [])
        self.variant = more.pop("variant", "")
        self.prepare = more.pop("prepare", None)
        self.fds = more.pop("fds", ())
        self.plugin = more.pop("plugin", None)  # "preload": before ours; "argument": its path is given
        self.preload = more.pop("preload", None)  # another library to preload
        self.user_root = more.pop("user_root", False)  # only root can do it
        self.incomplete = more.pop("incomplete", False)  # the log is to say that something is missing
        assert not more, more


# ---- what is special about some cases


def unharmed(harness, run, comparison):
    """It ran and its logs can be read; what they say is not looked at."""


def storm(harness, run, comparison):
    """Calls that a jump left may or may not have been counted."""
    comparison.collect()
    (pid,) = run.truth.values
    least, most = int(run.truth.note("least")), int(run.truth.note("most"))
    name = os.path.join(run.folder, "storm")
    found = comparison.seen.get(pid, {}).pop(("POSIX", name), {}).get("POSIX_WRITES", 0)
    comparison.seen.get(pid, {}).pop(("EXTRA", name), None)
    if not least <= found <= most:
        comparison.say("%d writes counted: %d came back, %d were begun", found, least, most)
    comparison.compare_process(pid, run.truth.values[pid])


def killed(harness, run, comparison):
    """Segments stay and become a log that says it is incomplete."""
    recovered(harness, run, comparison)
    log = run.logs[-1]
    if "iorama_unfinished" not in log.metadata:
        comparison.say("the log does not say that a process did not end: %s", log.metadata)
    for name, module in log.modules.items():
        if module["incomplete"] and module["records"]:
            comparison.say("%s is marked incomplete, but nothing was dropped", name)


def recovered(harness, run, comparison):
    """A process that ends by a system call of its own cannot finish its log: its segment stays."""
    if comparison.mode != "run":
        if not run.left:
            raise Failed("no segment was left to recover")
        harness.recover(run, comparison.mode == "trace")
    comparison.all()


def threads_left(harness, run, comparison):
    """What the other threads did until the end is not known; the end may find one in the middle of a
    change of its record, which the log then says."""
    comparison.collect()
    for seen in comparison.seen.values():
        for module in ("POSIX", "EXTRA"):
            endless = seen.pop((module, os.path.join(run.folder, "endless")), {})
            torn = 10 if any(m["incomplete"] for log in run.logs for m in log.modules.values()) else 0
            writes, moved = endless.get("POSIX_WRITES", -1), endless.get("POSIX_BYTES_WRITTEN", 0)
            if module == "POSIX" and abs(moved - 10 * writes) > torn:
                comparison.say("endless: %s bytes in %s writes", endless.get("POSIX_BYTES_WRITTEN"),
                               endless.get("POSIX_WRITES"))  # fmt: skip
    for pid, want in run.truth.values.items():
        comparison.compare_process(pid, want)


def beyond_limit(harness, run, comparison):
    """Totals stay true, and the log says that files share a record."""
    comparison.all()
    for log in run.logs:
        if not log.modules["POSIX"]["incomplete"]:
            comparison.say("POSIX is not marked incomplete")
        names = [r["name"] for r in log.records("POSIX")]
        if "<OTHERS>" not in names:
            comparison.say("no record <OTHERS>: %s", names[:20])
        folded = sum(r["counters"]["PROCESS_FILES_FOLDED"] for r in log.records("PROCESS"))
        if folded <= 0:
            comparison.say("PROCESS_FILES_FOLDED is %d", folded)


def children(harness, run, comparison):
    """popen and system start shells: their logs are there too, only our own is compared."""
    comparison.collect()
    for pid, want in run.truth.values.items():
        seen = comparison.seen.get(pid, {})
        comparison.seen[pid] = {k: v for k, v in seen.items() if k[1].startswith(run.folder)}
        comparison.compare_process(pid, want)


def only_totals(harness, run, comparison):
    """Other programs ran besides."""
    comparison.collect()
    for pid in run.truth.totals:
        comparison.compare_totals(pid)


def chain(harness, run, comparison):
    """Images of one process are one rank, and are counted."""
    comparison.all()
    for log in run.logs if comparison.mode == "run" else []:
        for record in log.records("PROCESS"):
            if record["counters"]["PROCESS_IMAGES"] != 4:
                comparison.say("PROCESS_IMAGES is %d, not 4", record["counters"]["PROCESS_IMAGES"])


def family(harness, run, comparison):
    """Who is whose child."""
    comparison.all()
    for log in run.logs if comparison.mode == "run" else []:
        ranks = {pid: rank for rank, pid in log.pids.items()}
        for record in log.records("PROCESS"):
            c = record["counters"]
            parent = ranks.get(c["PROCESS_PPID"], -1)
            if c["PROCESS_PARENT_RANK"] != parent:
                comparison.say("rank %d: parent is %d, not %d", record["rank"], c["PROCESS_PARENT_RANK"], parent)
            if c["PROCESS_FORKED"] != (parent >= 0) or c["PROCESS_ENDED"] != 1 or c["PROCESS_IMAGES"] != 1:
                comparison.say("rank %d: %s", record["rank"], c)
        if sum(rank == 0 for rank in log.pids) != 1 or sorted(log.pids) != list(range(log.job["nprocs"])):
            comparison.say("ranks are %s", sorted(log.pids))


def mapped(harness, run, comparison):
    """What the system counts of a process: its page faults are at least those of the pages that it touched."""
    comparison.all()
    for log in run.logs:
        (process,) = (r["counters"] for r in log.records("PROCESS"))
        files = [r["counters"] for r in log.records("EXTRA")]
        for counter in ("MMAPS", "BYTES_MAPPED"):
            want = sum(c["EXTRA_" + counter] for c in files)
            if process["PROCESS_" + counter] != want or want == 0:
                comparison.say("PROCESS_%s is %d, not %d", counter, process["PROCESS_" + counter], want)
        # others come from programs and libraries that are read in
        if process["PROCESS_MAJOR_FAULTS"] < int(run.truth.note("faults")):
            comparison.say("PROCESS_MAJOR_FAULTS is %d, not %s", process["PROCESS_MAJOR_FAULTS"], run.truth.note("faults"))
        if process["PROCESS_F_USER_TIME"] + process["PROCESS_F_SYSTEM_TIME"] <= 0:
            comparison.say("it was never on a processor")


def said_missing(harness, run, comparison):
    """Nothing is counted twice, and what is not counted is known to be missing."""
    comparison.collect()
    (seen,) = comparison.seen.values()
    missed = sum(r["counters"]["PROCESS_CALLS_MISSED"] for r in run.logs[0].records("PROCESS"))
    for counter, what, most in (("OPENS", "opens", missed), ("BYTES_WRITTEN", "bytes", 4 * missed)):
        want = int(run.truth.note(what))
        found = sum(c.get("POSIX_" + counter, 0) for (m, _), c in seen.items() if m == "POSIX")
        if not want - most <= found <= want:
            comparison.say("%s: %d of %d, %d calls missed", counter, found, want, missed)


def moments(harness, run, comparison):
    """What another library does after our own end is not seen, or it is: both are right."""
    for pid in run.truth.values:
        for module in ("POSIX", "EXTRA"):
            comparison.truth.values[pid].pop((module, os.path.join(run.folder, "unloaded")), None)
    comparison.collect()
    for pid, want in run.truth.values.items():
        seen = comparison.seen.get(pid, {})
        for module in ("POSIX", "EXTRA"):
            seen.pop((module, os.path.join(run.folder, "unloaded")), None)
        comparison.compare_process(pid, want)


def nowhere(harness, run, comparison):
    """A failed open in a directory without a name has no path that could be stated."""
    comparison.collect()
    for pid, want in run.truth.values.items():
        seen = comparison.seen.get(pid, {})
        known = {path for _, path in want}
        comparison.seen[pid] = {k: v for k, v in seen.items() if k[0] != "EXTRA" or k[1] in known}
        comparison.compare_process(pid, want)


JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
FORTIFIED = ["-O2", "-D_FORTIFY_SOURCE=2", "-Wno-unused-result"]
WIDE = ["-D_FILE_OFFSET_BITS=64"]
# what the headers would put into the program itself nobody can see; a file can tell how much was scanned
TEXT = {"prepare": {"input": b"12\nz\n"}, "fds": [(0, "input", 0)]}
GIVEN = {"given": bytes(1000), "given2": bytes(1000), "given3": b""}
CALLED = ["-D__NO_INLINE__"]
URING = ["-luring", "-lpthread"]

CASES = [
    # descriptors
    Case("access"),
    Case("open"),
    Case("open", name="open-wide", variant="wide", flags=WIDE, modes=("bare",)),
    Case("open", name="open-fortified", variant="fortified", flags=FORTIFIED, modes=("bare",)),
    Case("readwrite"),
    Case("readwrite", name="readwrite-wide", variant="wide", flags=WIDE, modes=("bare",)),
    Case("readwrite", name="readwrite-fortified", variant="fortified", flags=FORTIFIED, modes=("bare", "trace")),
    Case("dup"),
    Case("stat"),
    Case("rename"),
    Case("copy"),
    Case("meta"),
    Case("map", check=mapped),
    Case("aio"),
    Case("libaio", libs=["-laio"]),
    # io_uring; SQPOLL is 2, requests of 128 bytes and completions of 32 are 3072
    Case("uring", "1", libs=URING),
    Case("uring", "7", libs=URING, modes=ONCE),
    Case("uring", "32", libs=URING, modes=ONCE),
    Case("uring", "256", libs=URING),
    Case("uring", "32", "2", libs=URING, modes=ONCE),
    Case("uring", "8", "3072", libs=URING, modes=ONCE),
    Case("uring", "fixed", libs=URING),
    Case("uring", "vector", libs=URING),
    Case("uring", "meta", libs=URING),
    Case("uring", "linked", libs=URING),
    Case("uring", "copy", libs=URING),
    Case("uring", "fork", libs=URING, modes=ONCE),
    Case("uring_inline", modes=DYNAMIC),
    Case("uring_inline", "twice", modes=ONCE),
    Case("inherit", prepare=GIVEN, fds=[(5, "given", 0), (6, "given2", 300), (7, "given3", 0)]),
    Case("closeall", "loop"),
    Case("closeall", "range"),
    Case("closeall", "from"),
    Case("chdir", check=nowhere),
    Case("paths"),
    Case("longpath", incomplete=True),
    Case("errno", check=unharmed),
    Case("random", "1", "3000"),
    Case("random", "2", "6000", modes=("trace",)),
    Case("random", "3", "3000", modes=("bare", "static")),
    # what the quick ways have to notice
    Case("quick", "calls"),
    Case("quick", "crowd", modes=("bare",)),
    Case("quick", "handler", modes=("bare",)),
    # streams
    Case("stream"),
    Case("stream", name="stream-wide", variant="wide", flags=WIDE, modes=("bare",)),
    Case("stream", name="stream-fortified", variant="fortified", flags=FORTIFIED, modes=("bare", "trace")),
    Case("stream2", flags=CALLED, **TEXT),
    Case("stream2", name="stream2-fortified", variant="fortified", flags=FORTIFIED + CALLED, modes=("bare",), **TEXT),
    Case("child", check=children, modes=DYNAMIC),
    # threads
    Case("threads", "own"),
    Case("threads", "shared"),
    Case("threads", "queue"),
    Case("threads", "crowd"),
    Case("late"),
    Case("stack", modes=("bare", "trace", "run")),
    # processes
    Case("fork", check=family),
    Case("fork", "early", check=family),
    Case("fork", "deep", check=family),
    Case("clone", check=recovered, incomplete=True),
    Case("exec", "chain", check=chain),
    Case("exec", "fail"),
    Case("exec", "clean"),
    Case("exec", "vfork"),
    Case("exec", "spawn"),
    Case("spawnmany", check=only_totals, modes=DYNAMIC),
    Case("crowdfork", modes=("bare", "trace")),
    # signals
    Case("signal", modes=ONCE),
    Case("signal", name="signal-trace", modes=("trace", "live")),
    Case("signal2", check=said_missing, incomplete=True, modes=("bare", "trace")),
    Case("jump"),
    Case("storm", check=storm, modes=("bare", "trace")),
    # beginnings and ends
    Case("moments"),
    Case("moments", "preloaded", plugin="preload", check=moments, modes=ONCE),
    Case("dlopen", plugin="argument", modes=DYNAMIC),
    Case("end", "return", status=5),
    Case("end", "exit", status=5),
    Case("end", "_exit", status=5),
    Case("end", "_Exit", status=5),
    Case("end", "quick_exit", status=5, modes=ONCE),
    Case("end", "syscall", status=5, check=killed, incomplete=True, modes=ONCE),
    Case("end", "thread", check=threads_left, incomplete=True, modes=ONCE),
    Case("end", "abort", status=-signal.SIGABRT, check=killed, incomplete=True, modes=ONCE),
    Case("end", "kill", status=-signal.SIGKILL, check=killed, incomplete=True, modes=ONCE),
    Case("end", "segv", status=-signal.SIGSEGV, check=killed, incomplete=True, modes=ONCE),
    Case("nothing"),
    Case("odd", "nofiles"),
    Case("odd", "clearenv"),
    Case("odd", "umask"),
    Case("odd", "chdir"),
    Case("odd", "rights", check=unharmed, user_root=True, modes=ONCE),
    Case("odd", "root", check=unharmed, user_root=True, modes=ONCE),
    # memory
    Case("malloc", modes=("bare", "run")),
    Case("access", name="access-jemalloc", preload=JEMALLOC, modes=("bare", "trace")),
    Case("threads", "own", name="threads-own-jemalloc", preload=JEMALLOC, modes=("bare",)),
    # many files
    Case("files", "2000", env={"IORAMA_RECORDS": "16"}, name="files-limit", check=beyond_limit, incomplete=True,
         modes=("bare", "run")),  # fmt: skip
    Case("files", "900"),
    Case("files", "32768", "open", incomplete=True, modes=("bare",)),
]


# ---- running them


def build(harness, case, mode):
    if mode == "static":
        return harness.compile(case.program, "static", ["-static", *case.flags], [*harness.static_flags(), *case.libs])
    return harness.compile(case.program, case.variant, case.flags, case.libs)


def run_mode(harness, case, mode):
    program = build(harness, case, mode)
    args, preload = list(case.args), case.preload or ""
    if case.plugin:
        plugin = harness.compile("plugin", shared=True)
        if case.plugin == "argument":
            args.append(plugin)
        elif mode == "run":
            return run_under_plugin(harness, case, program, plugin)
        else:
            preload = plugin
    return harness.start([program, *args], mode, case.env, prepare=case.prepare, preload=preload, fds=case.fds)


def run_under_plugin(harness, case, program, plugin):
    """`iorama run` would put its library first."""
    preload = "LD_PRELOAD=%s:%s" % (plugin, harness.library)
    return harness.start(["env", preload, program, *case.args], "run", case.env)


WITH_OTHERS = (children, only_totals)  # processes that print no truth


def fewer_files(case):
    """As many files as this system lets a process open."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or case.program != "files" or hard < 300:
        return False
    case.args[0] = str(hard - 200)
    return True


def check_mode(harness, case, mode):
    run = run_mode(harness, case, mode)
    comparison = Comparison(harness, run, mode)
    status = case.status
    if mode == "run" and status < 0:
        status = 128 - status  # as a shell tells it
    if run.status != status:
        comparison.say("exit status %s, not %s: %s", run.status, status, run.err[-500:].decode("utf-8", "replace"))
    elif case.check is unharmed:
        pass
    elif run.truth is None:
        comparison.say("the program said nothing")
    else:
        if not run.logs and not (case.incomplete and mode != "run"):
            comparison.say("no log")
        try:
            (case.check or (lambda h, r, c: c.all()))(harness, run, comparison)
        except Failed as failed:
            comparison.say("%s", failed)
        check_ranks(case, run, comparison)
        if not case.incomplete:
            check_complete(run, comparison)
    return comparison.problems


def check_complete(run, comparison):
    """Nothing was lost, and no log says so."""
    for log in run.logs:
        flagged = [name for name, module in log.modules.items() if module["incomplete"]]
        if flagged or "iorama_unfinished" in log.metadata:
            comparison.say("said to be incomplete: %s %s", flagged, log.metadata)
        for record in log.records("PROCESS"):
            for counter in ("PROCESS_EVENTS_LOST", "PROCESS_CALLS_MISSED", "PROCESS_FILES_FOLDED",
                            "PROCESS_URING_MISSED"):  # fmt: skip
                if record["counters"][counter]:
                    comparison.say("rank %d: %s is %d", record["rank"], counter, record["counters"][counter])
            ended = record["counters"]["PROCESS_ENDED"]
            if ended not in (1, 2):
                comparison.say("rank %d: PROCESS_ENDED is %d", record["rank"], ended)


def check_ranks(case, run, comparison):
    """One log for all processes under `iorama run`, one log for each otherwise."""
    pids = set(run.truth.done)
    if comparison.mode == "run":
        if len(run.logs) != 1:
            comparison.say("%d logs", len(run.logs))
        elif case.check not in WITH_OTHERS and run.logs[0].job["nprocs"] != len(pids):
            comparison.say("nprocs is %d, not %d", run.logs[0].job["nprocs"], len(pids))
    elif case.check not in WITH_OTHERS and set(p for log in run.logs for p in log.pids.values()) != pids:
        comparison.say("logs of processes %s, not %s", [log.pids for log in run.logs], pids)


def check_case(harness, case):
    """What is wrong, and notes."""
    problems, notes = [], []
    plain = run_mode(harness, case, "plain")
    if plain.status == SKIPPED and fewer_files(case):
        notes.append("%s files" % case.args[0])
        plain = run_mode(harness, case, "plain")
    if plain.status == SKIPPED:
        raise Skip("this system cannot do it")
    if plain.status != case.status:
        return ["the program does not work by itself: status %s: %s" % (plain.status, plain.err[-300:])], notes
    for mode in case.modes:
        try:
            problems += check_mode(harness, case, mode)
        except Failed as failed:
            problems.append("%s: %s" % (mode, failed))
        except Skip as skip:
            notes.append("%s: %s" % (mode, skip))
    return problems, notes


def imports(program):
    """Symbols that a program takes from the C library."""
    text = subprocess.run(["nm", "-D", "--undefined-only", program], capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def check_fortified(harness, case):
    """A fortified build that uses no checked symbol tests nothing."""
    want = {
        "open": {"__open_2", "__open64_2", "__openat64_2"},
        "readwrite": {"__read_chk", "__pread_chk", "__pread64_chk"},
        "stream": {"__fprintf_chk", "__printf_chk", "__vfprintf_chk"},
        "stream2": {"__fgets_chk", "__fgets_unlocked_chk", "__fread_unlocked_chk", "__printf_chk"},
    }
    missing = want[case.program] - imports(build(harness, case, "bare"))
    if "clang" in subprocess.run([harness.cc, "--version"], capture_output=True, text=True).stdout:
        return []  # it makes few such calls with this C library
    return ["does not use %s" % " ".join(sorted(missing))] if missing else []


def perform(build, name):
    """One case in all its ways; what is wrong with it."""
    (case,) = [c for c in CASES if c.name == name]
    harness = Harness(build)
    try:
        harness.need(harness.iorama, harness.library)
        if case.preload and not os.path.exists(case.preload):
            raise Skip("%s is not installed" % os.path.basename(case.preload))
        if case.user_root and os.geteuid() != 0:
            raise Skip("only root can do that")
        if case.libs and "-laio" in case.libs and not os.path.exists("/usr/include/libaio.h"):
            raise Skip("libaio is not installed")
        if case.libs is URING and not os.path.exists("/usr/include/liburing.h"):
            raise Skip("liburing is not installed")
        problems, notes = check_case(harness, case)
        if case.variant == "fortified":
            problems += check_fortified(harness, case)
        print("".join("# %s\n" % note for note in notes), end="")
        return problems
    finally:
        harness.close()


if __name__ == "__main__":
    cases.main([case.name for case in CASES], perform)
