#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""manners.py BUILD [CASE...]: an observed program must not notice: same descriptors, environment, system calls;
settings are honoured; whatever goes wrong with observing, the program runs as ever."""
import os
import re
import resource
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, Failed, Log, Skip, main, must  # noqa: E402

NOBODY, SOMEBODY = 65534, 65533


def names_of(log, module="POSIX"):
    return sorted(os.path.basename(record["name"]) for record in log.records(module))


# ---- cases


def same_view(h):
    """descriptors, environment, signals, limits"""
    program = h.compile("guest")
    plain = h.start([program], "plain")
    for mode in ("bare", "trace", "run"):
        seen = h.start([program], mode)
        ours, theirs = sorted(seen.out.splitlines()), sorted(plain.out.splitlines())
        varies = re.compile(rb"^(TRUTH_FILE|PWD|OLDPWD|_)=")
        ours = [line for line in ours if not varies.match(line)]
        theirs = [line for line in theirs if not varies.match(line)]
        must(ours == theirs, "%s: sees %s, not %s", mode, set(ours) - set(theirs), set(theirs) - set(ours))
        must(seen.err == b"", "%s: said %r", mode, seen.err[:300])


def system_calls(h):
    """no more system calls per call than without us"""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    program = h.compile("loop")
    counts = {}
    for observed in (False, True):
        per_run = []
        for n in ("200", "1200"):
            run_dir = os.path.join(h.scratch, "strace-%s-%s" % (observed, n))
            os.makedirs(run_dir)
            trace = os.path.join(h.quiet, "strace")
            command = ["strace", "-f", "-o", trace]
            if observed:
                command += ["-E", "LD_PRELOAD=" + h.library, "-E", "IORAMA_LOG_DIR=" + h.quiet]
                command += ["-E", "IORAMA_DIR=" + os.path.join(h.quiet, "strace-segments")]
            done = subprocess.run([*command, program, n], cwd=run_dir, capture_output=True, text=True, timeout=TIMEOUT)
            if "ptrace" in done.stderr and done.returncode != 0:
                raise Skip("strace may not trace here")
            must(done.returncode == 0, "status %d: %s", done.returncode, done.stderr[-300:])
            calls = {}
            with open(trace, errors="replace") as file:
                for line in file:
                    found = re.match(r"\d+ +(\w+)\(", line)
                    if found:
                        calls[found[1]] = calls.get(found[1], 0) + 1
            per_run.append(calls)
        counts[observed] = {k: per_run[1].get(k, 0) - per_run[0].get(k, 0) for k in per_run[1]}
    more = {k: v for k, v in counts[True].items() if v > counts[False].get(k, 0) + 5}
    must(not more, "1000 rounds take %s, not %s", more, counts[False])


def setuid(h):
    """programs with other rights are never observed"""
    if os.geteuid() != 0:
        raise Skip("only root can make such a program")
    programs = [(h.compile("access"), "preloaded")]
    with_mode = os.path.join("/tmp", "iorama-setuid-%d" % os.getpid())
    linked = ["-Wl,-rpath," + with_mode, "-Wl,--no-as-needed", h.library]  # where anybody may read it
    programs.append((h.compile("access", "setuid-%d" % os.getpid(), libs=linked), "linked"))
    if os.path.exists(os.path.join(h.build, "lib", "libiorama.a")):
        try:
            programs.append((h.compile("access", "static", ["-static"], h.static_flags()), "static"))
        except (Skip, Failed):
            pass
    for program, what in programs:
        os.makedirs(os.path.join(with_mode, "run"))
        os.chmod(with_mode, 0o755)
        os.chmod(os.path.join(with_mode, "run"), 0o777)
        copy = os.path.join(with_mode, "program")
        try:
            shutil.copy(program, copy)
            shutil.copy(h.library, with_mode)
            os.chown(copy, NOBODY, NOBODY)
            os.chmod(copy, 0o4755)
            logs = os.path.join(with_mode, "run")
            env = {"LD_PRELOAD": h.library, "IORAMA_LOG_DIR": logs, "IORAMA_DIR": os.path.join(logs, "segments")}
            env["TRUTH_FILE"] = "/dev/null"

            def other_user():
                os.setgroups([])
                os.setgid(SOMEBODY)
                os.setuid(SOMEBODY)

            done = subprocess.run(
                [copy], cwd=logs, env=env, capture_output=True, preexec_fn=other_user, timeout=TIMEOUT
            )
            must(done.returncode == 0, "%s: status %d: %r", what, done.returncode, done.stderr[-300:])
            left = [f for f in os.listdir(logs) if f.endswith(".darshan") or f == "segments"]
            owner = os.stat(os.path.join(logs, "pattern")).st_uid
            if owner != NOBODY:
                raise Skip("this file system takes no setuid programs")
            must(not left, "%s: observed all the same: %s", what, left)
        finally:
            shutil.rmtree(with_mode, ignore_errors=True)
    os.remove(programs[1][0])  # it looks for the library in a directory that is gone


def linked(h):
    """linked with the library instead of preloaded"""
    flags = ["-Wl,-rpath," + os.path.dirname(h.library), "-Wl,--no-as-needed", h.library]
    run = h.start([h.compile("access", "linked", libs=flags)], "static")
    must(run.status == 0 and len(run.logs) == 1, "status %s, %d logs: %r", run.status, len(run.logs), run.err[-300:])
    must("pattern" in names_of(run.logs[0]), "records: %s", names_of(run.logs[0]))


def disabled(h):
    """IORAMA_DISABLE, DARSHAN_DISABLE"""
    program = h.compile("access")
    for name in ("IORAMA_DISABLE", "DARSHAN_DISABLE"):
        run = h.start([program], "bare", {name: "1"})
        must(run.status == 0, "%s: status %s", name, run.status)
        must(not run.logs and not run.left, "%s: %d logs, left %s", name, len(run.logs), run.left)
        must(run.err == b"", "%s: said %r", name, run.err)


def log_places(h):
    """IORAMA_LOG, DARSHAN_LOGFILE, DARSHAN_LOGPATH, the directory it was started in"""
    program = h.compile("chdir")

    def where(env, folder):
        h.count += 1
        start = os.path.join(h.scratch, "place%d" % h.count)
        os.makedirs(start)
        full = {**os.environ, "LD_PRELOAD": h.library, "IORAMA_DIR": os.path.join(h.quiet, "place"), **env}
        full["TRUTH_FILE"] = "/dev/null"
        full.pop("IORAMA_LOG_DIR", None)
        done = subprocess.run([program], cwd=start, env=full, capture_output=True, timeout=TIMEOUT)
        must(done.returncode == 0, "status %d: %r", done.returncode, done.stderr[-300:])
        return [f for f in os.listdir(folder or start) if f.endswith(".darshan")]

    exact = os.path.join(h.quiet, "exact.darshan")
    for name in ("IORAMA_LOG", "DARSHAN_LOGFILE"):
        where({name: exact}, h.quiet)
        must(os.path.exists(exact), "%s: no such log", name)
        os.remove(exact)
    today = time.localtime()
    dated = os.path.join(h.quiet, "dated", str(today.tm_year), str(today.tm_mon), str(today.tm_mday))
    os.makedirs(dated)
    must(len(where({"DARSHAN_LOGPATH": os.path.join(h.quiet, "dated")}, dated)) == 1, "DARSHAN_LOGPATH: no log")
    found = where({}, None)
    must(len(found) == 1, "in the directory it was started in: %s", found)
    pattern = r"^\S{1,8}_chdir_id\d+-\d+_%d-%d-\d+-\d+_\d+\.darshan$" % (today.tm_mon, today.tm_mday)
    must(re.match(pattern, found[0]), "name of the log: %s", found[0])
    log = [os.path.join(f, n) for f, _, names in os.walk(h.scratch) for n in names if n == found[0]][0]
    must(os.stat(log).st_mode & 0o777 == 0o400, "mode of the log: %o", os.stat(log).st_mode)


def no_log_place(h):
    """a log that cannot be written is no harm to the program"""
    run = h.start([h.compile("access")], "bare", {"IORAMA_LOG": "/no/such/directory/x.darshan"})
    must(run.status == 0, "status %s", run.status)
    # nor is what is there already touched, nor what a link leads to
    kept, link, gone = (os.path.join(h.quiet, name) for name in ("kept", "link", "gone"))
    os.symlink(kept, link)
    os.symlink(gone, gone + ".link")
    for path in (kept, link, gone + ".link"):
        with open(kept, "w", encoding="ascii") as file:
            file.write("precious")
        run = h.start([h.compile("access")], "bare", {"IORAMA_LOG": path})
        with open(kept, encoding="ascii") as file:
            must(run.status == 0 and file.read() == "precious" and not os.path.exists(gone), "%s: status %s", path, run.status)


def chosen_files(h):
    """IORAMA_EXCLUDE and IORAMA_INCLUDE"""
    program = h.compile("access")
    run = h.start([program], "bare", {"IORAMA_EXCLUDE": "*/strides\n*/tw?ce"})
    must(names_of(run.logs[0]) == ["distinct", "far", "pattern", "readonly", "sizes", "writeonly"],
         "without those excluded: %s", names_of(run.logs[0]))  # fmt: skip
    run = h.start([program], "bare", {"IORAMA_EXCLUDE": "*", "IORAMA_INCLUDE": "*/pattern"})
    must(names_of(run.logs[0]) == ["pattern"], "included alone: %s", names_of(run.logs[0]))
    run = h.start([program], "run", {"IORAMA_EXCLUDE": "*", "IORAMA_INCLUDE": "*/pattern"})
    must(names_of(run.logs[0]) == ["pattern"], "included alone, run: %s", names_of(run.logs[0]))


def deleted_names(h):
    """a file that was removed is still called by its name; one that is called "… (deleted)" is not taken for one"""
    write = "import os; os.write(5, b'abc'); os.write(6, b'defgh')"
    script = 'exec 5>"kept (deleted)" 6>gone; rm gone; exec "$0" -c "$1"'
    run = h.start(["sh", "-c", script, sys.executable, write], "bare")
    must(run.status == 0, "status %s: %r", run.status, run.err[-300:])
    found = {}
    for log in run.logs:
        for record in log.records("POSIX"):
            if record["counters"]["POSIX_WRITES"] > 0:
                found[os.path.basename(record["name"])] = record["counters"]["POSIX_BYTES_WRITTEN"]
    must(found == {"kept (deleted)": 3, "gone": 5}, "bytes written: %s", found)


def closed_ranges(h):
    """a range of descriptors that is closed is closed to its last one; one that is to be closed at exec is not"""
    program = """if True:
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        fds = [os.open(name, os.O_WRONLY | os.O_CREAT, 0o644) for name in "abcd"]
        for at, fd in enumerate(fds):
            os.write(fd, b"x")
            fds[at] = os.dup2(fd, 100 + at)
            os.close(fd)
        assert libc.close_range(100, 101, 0) == 0
        assert libc.close_range(102, 103, 4) == 0  # CLOSE_RANGE_CLOEXEC
        os.write(102, b"yz")
        os._exit(0)
    """
    run = h.start([sys.executable, "-c", program], "bare")
    must(run.status == 0 and len(run.logs) == 1, "status %s, %d logs: %r", run.status, len(run.logs), run.err[-300:])
    records = {os.path.basename(r["name"]): r["counters"] for r in run.logs[0].records("POSIX")}
    last = {name: records[name]["POSIX_F_CLOSE_END_TIMESTAMP"] for name in "abcd"}
    written = {name: records[name]["POSIX_F_WRITE_END_TIMESTAMP"] for name in "abcd"}
    must(records["c"]["POSIX_BYTES_WRITTEN"] == 3, "bytes of c: %s", records["c"]["POSIX_BYTES_WRITTEN"])
    # the first of two descriptors of each file was closed one after the other; those of the range at one time, later
    must(min(last["a"], last["b"]) > max(last["c"], last["d"]), "closed: %s", last)
    must(written["c"] > last["b"] > last["c"], "c was written to after that: %s, %s", written, last)


def short_threads(h):
    """threads that come and go, more than there can be at a time: each gives back what it had"""
    program = """if True:
        import os, threading
        fd = os.open("data", os.O_WRONLY | os.O_CREAT, 0o644)
        for i in range(1500):
            thread = threading.Thread(target=os.pwrite, args=(fd, b"x", i))
            thread.start()
            thread.join()
    """
    run = h.start([sys.executable, "-c", program], "trace")
    must(run.status == 0 and len(run.logs) == 1, "status %s, %d logs", run.status, len(run.logs))
    log = run.logs[0]
    (record,) = [r for r in log.records("POSIX") if r["name"].endswith("/data")]
    must(record["counters"]["POSIX_WRITES"] == 1500, "%d writes", record["counters"]["POSIX_WRITES"])
    kept = sum(len(r["writes"]) for r in log.trace_records("DXT_POSIX") if r["name"].endswith("/data"))
    must(kept == 1500 and not log.traces["DXT_POSIX"]["incomplete"], "%d writes are traced", kept)


def trace_limit(h):
    """a trace that does not fit is cut, and the log says how much is missing"""
    run = h.start([h.compile("threads"), "shared"], "trace", {"IORAMA_TRACE_MEMORY": "64K"})
    must(run.status == 0 and len(run.logs) == 1, "status %s, %d logs", run.status, len(run.logs))
    log = run.logs[0]
    kept = sum(len(r.get(k, [])) for r in log.trace_records("DXT_POSIX") for k in ("reads", "writes"))
    lost = sum(r["counters"]["PROCESS_EVENTS_LOST"] for r in log.records("PROCESS"))
    must(0 < kept < 8000 and kept + lost == 8000, "%d kept, %d lost of 8000", kept, lost)
    must(log.traces["DXT_POSIX"]["incomplete"], "DXT_POSIX is not marked incomplete")
    (record,) = [r for r in log.records("POSIX") if r["name"].endswith("shared")]
    must(record["counters"]["POSIX_WRITES"] == 4000, "%d writes", record["counters"]["POSIX_WRITES"])


def darshan_settings(h):
    """variables that users of Darshan already set"""
    program = h.compile("stream")
    run = h.start([program], "bare", {"DXT_ENABLE_IO_TRACE": "1"})
    traced = h.iorama and [m["module"] for m in run.logs[0].show(h.iorama, run.logs[0].path, "--dxt")["modules"]]
    must("DXT_POSIX" in traced, "DXT_ENABLE_IO_TRACE: modules %s", traced)
    run = h.start([program], "bare", {"DARSHAN_MOD_DISABLE": "STDIO"})
    must(not run.logs[0].records("STDIO") and run.logs[0].records("POSIX"), "DARSHAN_MOD_DISABLE is not heard")
    run = h.start([h.compile("stream")], "bare", {"DARSHAN_MOD_DISABLE": "POSIX"})
    streams = [r for r in run.logs[0].records("STDIO") if r["name"].startswith("/")]
    must(streams and not run.logs[0].records("POSIX"), "DARSHAN_MOD_DISABLE of POSIX is not heard")
    must(all(r["mount"].startswith("/") for r in streams), "a log of streams alone does not name the mounts")
    run = h.start([program], "bare", {"DARSHAN_MEMALIGN": "64"})
    align = {r["counters"]["POSIX_MEM_ALIGNMENT"] for r in run.logs[0].records("POSIX")}
    must(align == {64}, "DARSHAN_MEMALIGN: %s", align)
    run = h.start([program], "bare", {"DARSHAN_JOBID": "MY_JOB", "MY_JOB": "4711"})
    must(run.logs[0].job["jobid"] == 4711, "DARSHAN_JOBID: %s", run.logs[0].job["jobid"])
    run = h.start([program], "bare", {"SLURM_JOB_ID": "815"})
    must(run.logs[0].job["jobid"] == 815, "SLURM_JOB_ID: %s", run.logs[0].job["jobid"])
    run = h.start([program], "bare", {"DARSHAN_APP_EXCLUDE": "stream"})
    must(run.status == 0, "DARSHAN_APP_EXCLUDE: status %s", run.status)
    must(not run.logs and not run.left, "DARSHAN_APP_EXCLUDE: %d logs", len(run.logs))


def identity(h):
    """who ran what, when"""
    began = time.time()
    run = h.start([h.compile("stream"), "one", "two words"], "bare")
    log, took = run.logs[0], time.time() - began
    must(log.job["uid"] == os.getuid(), "uid %s", log.job["uid"])
    must(log.job["exe"].endswith("/stream one two words "), "exe %r", log.job["exe"])
    must(began - 1 <= log.job["start_sec"] + log.job["start_nsec"] / 1e9 <= began + took + 0.1, "start %s", log.job)
    must(log.job["nprocs"] == 1 and 0 < log.job["run_time"] <= took + 0.1, "%s", log.job)
    must(log.json["mounts"], "no mounts")


def no_segment_place(h):
    """no place for the segment"""
    program = h.compile("access")
    for place in ("/proc/none", "/dev/null/x", "/", ""):
        run = h.start([program], "bare", {"IORAMA_DIR": place})
        must(run.status == 0, "IORAMA_DIR=%s: status %s: %r", place, run.status, run.err[-300:])
    must(not [f for f in os.listdir("/") if f.endswith(".seg")], "a segment in /")


def shared_place(h):
    """a directory of segments that others may write into: nothing goes there, by either way"""
    place, program = os.path.join(h.quiet, "shared"), h.compile("access")
    os.makedirs(place)
    for mode in (0o720, 0o702, 0o777, 0o700):
        os.chmod(place, mode)
        env = {**os.environ, "TRUTH_FILE": "/dev/null", "IORAMA_DIR": place}
        log = os.path.join(h.quiet, "shared-%o.darshan" % mode)
        folder = os.path.join(h.scratch, "shared-%o" % mode)
        os.makedirs(folder)
        command = [h.iorama, "run", "-q", "-o", log, "--", program]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT)
        if mode == 0o700:
            must(done.returncode == 0 and os.path.exists(log), "%o: status %d: %s", mode, done.returncode, done.stderr)
            continue
        must(done.returncode == 4 and "others may write into it" in done.stderr, "%o: status %d: %s", mode, done.returncode, done.stderr)
        run = h.start([program], "bare", {"IORAMA_DIR": place})
        must(run.status == 0 and os.listdir(place) == [], "%o: status %s, left %s", mode, run.status, os.listdir(place))
        must(len(run.logs) <= 1, "%o: %d logs", mode, len(run.logs))


def limits(h):
    """small limits on file size, memory, descriptors: the program does the same, and there is a log wherever one fits"""
    program = h.compile("nothing")
    worker = h.compile("loop")
    cases = [
        ("FSIZE", resource.RLIMIT_FSIZE, 0, [program]),
        ("FSIZE", resource.RLIMIT_FSIZE, 4096, [worker, "50"]),
        ("AS", resource.RLIMIT_AS, 16 << 20, [worker, "50"]),
        ("NOFILE", resource.RLIMIT_NOFILE, 3, [program]),
        ("NOFILE", resource.RLIMIT_NOFILE, 4, [worker, "50"]),
        ("STACK", resource.RLIMIT_STACK, 64 << 10, [worker, "50"]),
        ("DATA", resource.RLIMIT_DATA, 1 << 20, [worker, "50"]),
        ("CORE", resource.RLIMIT_CORE, 0, [worker, "50"]),
    ]
    for name, what, value, command in cases:
        results = []
        for observed in (False, True):
            h.count += 1
            folder = os.path.join(h.scratch, "limit%d" % h.count)
            logs = os.path.join(h.quiet, "limit%d" % h.count)
            os.makedirs(folder)
            os.makedirs(logs)
            env = {k: v for k, v in os.environ.items() if not k.startswith("IORAMA_")}
            env["TRUTH_FILE"] = "/dev/null"
            if observed:
                env.update(LD_PRELOAD=h.library, IORAMA_LOG_DIR=logs, IORAMA_DIR=os.path.join(h.quiet, "limits"))
            done = subprocess.run(
                command, cwd=folder, env=env, capture_output=True, timeout=TIMEOUT,
                preexec_fn=lambda: resource.setrlimit(what, (value, value)),
            )  # fmt: skip
            said = [line for line in done.stderr.splitlines() if not line.startswith(b"ERROR: ld.so")]  # the system's own word
            results.append((done.returncode, done.stdout, said))
        must(results[0] == results[1], "RLIMIT_%s %d: %s, not %s", name, value, results[1], results[0])
        if name in ("AS", "STACK", "CORE") or (name, value) == ("NOFILE", 4):  # enough for a log
            must(len(os.listdir(logs)) == 1, "RLIMIT_%s %d: %d logs", name, value, len(os.listdir(logs)))


def full_disk(h):
    """the file system of the segments is full: no harm, nothing left; with room there is a log"""
    if os.geteuid() != 0:
        raise Skip("only root can mount")
    mount = os.path.join(h.quiet, "small")
    os.makedirs(mount)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", mount], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip("cannot mount here")
    try:
        os.chmod(mount, 0o700)
        for program, args in (("access", []), ("threads", ["own"]), ("files", ["900"])):
            plain = h.start([h.compile(program), *args], "plain")
            for trace in ("0", "1"):
                env = {"IORAMA_DIR": os.path.join(mount, "segments"), "IORAMA_TRACE": trace}
                run = h.start([h.compile(program), *args], "bare", env)
                must(run.status == 0, "%s: status %s: %r", program, run.status, run.err[-300:])
                must((run.out, run.err) == (plain.out, plain.err), "%s: it said %r, %r", program, run.out[-300:], run.err[-300:])
                left = [n for _, _, names in os.walk(mount) for n in names if n.endswith(".seg")]
                must(not left, "%s: left behind: %s", program, left)
        # the same place with room
        subprocess.run(["mount", "-o", "remount,size=64m", mount], check=True)
        run = h.start([h.compile("access")], "bare", {"IORAMA_DIR": os.path.join(mount, "segments")})
        must(run.status == 0 and len(run.logs) == 1, "with room: status %s, %d logs", run.status, len(run.logs))
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


def not_dynamic(h):
    """a statically linked program runs unharmed, and `iorama run` says that it saw nothing"""
    program = h.compile("access", "alone", ["-static"])
    plain = h.start([program], "plain")
    run = h.start([program], "run")
    must(run.status == plain.status == 0, "status %s, not %s", run.status, plain.status)
    must(run.out == plain.out, "it said %r, not %r", run.out, plain.out)
    log = os.path.join(h.quiet, "alone.darshan")
    env = {**os.environ, "TRUTH_FILE": "/dev/null", "IORAMA_DIR": os.path.join(h.quiet, "alone")}
    folder = os.path.join(h.scratch, "alone")
    os.makedirs(folder)
    command = [h.iorama, "run", "-o", log, "--", program]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT)
    must(done.returncode == 0 and "static" in done.stderr and "alone" in done.stderr, "said %r", done.stderr[-500:])
    if os.path.exists(log):  # of nothing but what was not seen
        found = Log(h.iorama, log, False)
        must(found.records("POSIX") == [] and "static:1:alone" in str(found.job), "the log: %s", found.job)


def closed_streams(h):
    """started without standard input, output and errors"""
    program = h.compile("closed")
    for mode in ("plain", "bare"):
        folder = os.path.join(h.scratch, "closed-" + mode)
        os.makedirs(folder)
        env = {**os.environ, "TRUTH_FILE": "/dev/null", "IORAMA_DIR": os.path.join(h.quiet, "closed")}
        env["IORAMA_LOG_DIR"] = h.quiet
        if mode == "bare":
            env["LD_PRELOAD"] = h.library
        script = 'exec "$0" <&- >&- 2>&-'
        command = ["bash", "-c", script, program]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=TIMEOUT)
        must(done.returncode == 0, "%s: status %d", mode, done.returncode)
        sizes = [os.path.getsize(os.path.join(folder, "file%d" % i)) for i in range(3)]
        must(sizes == [5, 6, 7], "%s: files of %s bytes: something else was written into them", mode, sizes)


def odd_places(h):
    """started where there is no directory any more; where there is no /proc"""
    program = h.compile("nothing")
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0"'
    run = h.start(["sh", "-c", script, program], "bare")
    must(run.status == 0, "no directory: status %s: %r", run.status, run.err[-300:])
    if os.geteuid() == 0 and shutil.which("unshare"):
        script = 'umount -l /proc 2>/dev/null; exec "$0" 20'
        probe = h.start(["unshare", "-m", "sh", "-c", script, h.compile("loop")], "plain")
        if probe.status == 0:
            run = h.start(["unshare", "-m", "sh", "-c", script, h.compile("loop")], "bare")
            must(run.status == 0, "no /proc: status %s: %r", run.status, run.err[-300:])


def outlived(h):
    """a child that goes on after the command has ended is left alone"""
    log = os.path.join(h.quiet, "outlived.darshan")
    folder = os.path.join(h.scratch, "outlived")
    os.makedirs(folder)
    env = {**os.environ, "IORAMA_DIR": os.path.join(h.quiet, "outlived")}
    os.mkfifo(os.path.join(folder, "gate"))
    # the child waits until the gate is opened, which is after the command has ended
    script = "(read line <gate; echo late >late) >/dev/null 2>&1 & echo early >early"
    done = subprocess.run([h.iorama, "run", "-o", log, "--", "sh", "-c", script], cwd=folder, env=env,
                          capture_output=True, text=True, timeout=TIMEOUT)  # fmt: skip
    must(done.returncode == 0 and os.path.exists(log), "status %d: %s", done.returncode, done.stderr[-300:])
    must("running" in done.stderr, "said nothing of the child: %s", done.stderr)
    with open(os.path.join(folder, "gate"), "w", encoding="ascii") as gate:
        gate.write("now\n")
    until = time.monotonic() + TIMEOUT
    while not os.path.exists(os.path.join(folder, "late")):
        must(time.monotonic() < until, "the child was harmed")
        time.sleep(0.01)


def ordinary_user(h):
    """not root, and a mode mask that allows nothing"""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    place = os.path.join("/tmp", "iorama-user-%d" % os.getpid())
    try:
        for name in ("bin", "lib", "run"):
            os.makedirs(os.path.join(place, name))
            os.chmod(os.path.join(place, name), 0o755)
        os.chmod(place, 0o755)
        os.chown(os.path.join(place, "run"), NOBODY, NOBODY)
        shutil.copy(h.iorama, os.path.join(place, "bin"))
        shutil.copy(h.library, os.path.join(place, "lib"))
        program = shutil.copy(h.compile("odd"), os.path.join(place, "bin"))

        def become():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        log = os.path.join(place, "run", "log.darshan")
        env = {"PATH": os.environ["PATH"], "TRUTH_FILE": "/dev/null"}
        env["IORAMA_DIR"] = os.path.join(place, "run", "segments")
        command = [os.path.join(place, "bin", "iorama"), "run", "-q", "-o", log, "--", program, "umask"]
        done = subprocess.run(command, cwd=os.path.join(place, "run"), env=env, capture_output=True, text=True,
                              preexec_fn=become, timeout=TIMEOUT)  # fmt: skip
        must(done.returncode == 0 and done.stderr == "", "status %d: %s", done.returncode, done.stderr[-500:])
        found = Log(h.iorama, log, False)
        must(found.job["nprocs"] == 2, "nprocs is %d", found.job["nprocs"])
        must(names_of(found) == ["child", "second"], "records: %s", names_of(found))
        must(found.job["uid"] == NOBODY, "uid %d", found.job["uid"])
        left = [n for _, _, names in os.walk(env["IORAMA_DIR"]) for n in names]
        must(not left, "left behind: %s", left)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def modules_off(h):
    """DARSHAN_MOD_DISABLE and IORAMA_MOD_DISABLE: the log has none of these modules, ours neither; who enables wins"""
    program = h.compile("stream")

    def modules(mode, **env):
        run = h.start([program], mode, env)
        must(run.status == 0 and len(run.logs) == 1, "%s, %s: status %s, %d logs", mode, env, run.status, len(run.logs))
        return {name for name, module in run.logs[0].modules.items() if module["records"]} | set(run.logs[0].traces)

    for mode in ("bare", "run", "trace"):
        all_of = modules(mode)
        must({"POSIX", "STDIO", "HEATMAP", "PROCESS", "EXTRA"} <= all_of, "%s: modules %s", mode, all_of)
        for variable in ("DARSHAN_MOD_DISABLE", "IORAMA_MOD_DISABLE"):
            for off in ("STDIO,HEATMAP", "PROCESS,EXTRA"):
                found = modules(mode, **{variable: off})
                rest = all_of - set(off.split(","))  # a trace of streams has the files that STDIO knows
                must(found in (rest, rest - {"DXT_STDIO"}), "%s, %s=%s: modules %s", mode, variable, off, found)
    for variable in ("DARSHAN_MOD_%s", "IORAMA_MOD_%s"):
        must(modules("bare", **{variable % "DISABLE": "*"}) == set(), "something is on")
        found = modules("bare", **{variable % "DISABLE": "*", variable % "ENABLE": "POSIX,PROCESS"})
        must(found == {"POSIX", "PROCESS"}, "those that were enabled: %s", found)
    # a variable makes void what the file says of both
    path = os.path.join(h.quiet, "off.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write("MOD_DISABLE POSIX\n")
    must("POSIX" not in modules("bare", DARSHAN_CONFIG_PATH=path), "the file says POSIX is off")
    found = modules("bare", DARSHAN_CONFIG_PATH=path, IORAMA_MOD_DISABLE="STDIO")
    must("POSIX" in found and "STDIO" not in found, "the variable is for both: %s", found)


def module_memory(h):
    """DARSHAN_MODMEM is for the records of all modules together, MAX_RECORDS for those of one"""
    program = h.compile("files")
    record, heatmaps, mib = 704, 8 * 3248, 1 << 20

    def named(n, lines, **env):
        path = os.path.join(h.quiet, "memory.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(lines)
        run = h.start([program, str(n), "turn"], "bare", {"DARSHAN_CONFIG_PATH": path, **env})
        must(run.status == 0 and len(run.logs) == 1, "status %s, %d logs", run.status, len(run.logs))
        posix = run.logs[0].modules["POSIX"]
        return len([x for x in names_of(run.logs[0]) if x.startswith("file")]), posix["incomplete"]

    many = "MAX_RECORDS 5000 POSIX,EXTRA\n"
    for lines, env, want in (
        (many + "MODMEM 1.9\n", {}, (mib - heatmaps) // record),  # a fraction is cut off
        (many, {"DARSHAN_MODMEM": "1", "DARSHAN_MOD_DISABLE": "HEATMAP"}, mib // record),
    ):
        have = named(1500, lines, **env)
        must(have == (want, want < 1500), "%r, %s: %s records, not %d", lines, env, have, want)
    # each module alone would have room for all
    conf = os.path.join(h.quiet, "both.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write("MAX_RECORDS 5000 POSIX,STDIO,EXTRA\n")
    run = h.start([program, "1100", "both"], "bare", {"DARSHAN_CONFIG_PATH": conf, "DARSHAN_MODMEM": "1"})
    log = run.logs[0]
    sizes = {"POSIX": record, "STDIO": 248}
    used = sum(size * len([r for r in log.records(m) if r["name"] != "<OTHERS>"]) for m, size in sizes.items())
    must(mib - heatmaps - record < used <= mib - heatmaps, "records take %d bytes", used)
    for most in (0, 5, 8, 9):
        have = named(8, "MAX_RECORDS %d POSIX\n" % most)
        must(have == (min(most, 8), most < 8), "MAX_RECORDS %d: %s records of 8", most, have)


def broken_preload(h):
    """the preload of a shell's children survives `env -i`-like cleaning: they are just not observed"""
    run = h.start(["sh", "-c", "env -i /bin/echo hello; exit 7"], "bare")
    must(run.status == 7 and run.out == b"hello\n", "status %s, %r", run.status, run.out)


CASES = {
    "same-view": same_view,
    "system-calls": system_calls,
    "setuid": setuid,
    "linked": linked,
    "disabled": disabled,
    "log-places": log_places,
    "no-log-place": no_log_place,
    "chosen-files": chosen_files,
    "deleted-names": deleted_names,
    "shared-place": shared_place,
    "closed-ranges": closed_ranges,
    "short-threads": short_threads,
    "trace-limit": trace_limit,
    "darshan-settings": darshan_settings,
    "modules-off": modules_off,
    "module-memory": module_memory,
    "identity": identity,
    "no-segment-place": no_segment_place,
    "limits": limits,
    "full-disk": full_disk,
    "not-dynamic": not_dynamic,
    "closed-streams": closed_streams,
    "odd-places": odd_places,
    "outlived": outlived,
    "ordinary-user": ordinary_user,
    "clean-environment": broken_preload,
}


if __name__ == "__main__":
    main(CASES)
