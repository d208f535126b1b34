#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""attach.py BUILD CASE | --list: processes that run already become observed ones, and go on as if nothing had been.

tests/work/target.c does what it is told, a line at a time, so it is known to the call what was done before, while and after it was
attached."""
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import TIMEOUT, WORK, Skip, expect, wait  # noqa: E402

STRANGER = 20171


class Target:
    def __init__(self, case, *words, program=None, wrap=(), env=None):
        self.case = case
        self.process = subprocess.Popen([*wrap, program or case.target(), *words], cwd=case.work, env=env or case.env(), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        case.targets.append(self)
        self.pid = self.process.pid

    def ready(self):
        expect(self.process.stdout.readline() == "ready\n", "it is not ready")
        return self

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        expect(said, "%s: it ended with %s", line, self.process.poll())
        return [int(word) for word in said.split()]

    def quit(self):
        self.do("quit")
        status = self.process.wait(TIMEOUT)
        expect(status == 0, "it ended with %d", status)


class Case(cases.Built):
    def __init__(self, build, work):
        super().__init__(build)
        self.work, self.targets, self.wrap = work, [], ()

    def path(self, *names):
        return os.path.join(self.work, *names)

    def env(self, **extra):
        return cases.environment(HOME=self.work, LC_ALL="C.UTF-8", IORAMA_DIR=self.path("segments"), **extra)

    def compile(self, name, source, *flags, cc=None):
        source = os.path.join(WORK, source)
        return self.compile_once("attach-" + name, [source], [cc or os.environ.get("CC", "cc"), "-O1", "-D_GNU_SOURCE", "-o", None, source, *flags])

    def target(self):
        return self.compile("target", "target.c", "-pthread", "-ldl")

    def copy_of_target(self):
        return shutil.copy2(self.target(), self.path("a-target"))

    def call(self, *words, status=0, wrap=()):
        done = subprocess.run([*self.wrap, *wrap, self.iorama, *words], cwd=self.work, env=self.env(), timeout=TIMEOUT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        expect(status is None or done.returncode == status, "%s: status %d: %s", words, done.returncode, done.stderr)
        return done

    def attach(self, *targets, options=()):
        done = json.loads(self.call("attach", "--json", *options, *(str(t.pid) for t in targets)).stdout)
        expect([d["pid"] for d in done] == [t.pid for t in targets], "it says %s", done)
        expect(all(d["slots"] > 0 and d["what"] == "attached" for d in done), "it says %s", done)
        return done

    def detach(self, target):
        (done,) = json.loads(self.call("detach", "--json", str(target.pid)).stdout)
        expect(done["log"] and os.path.exists(done["log"]), "no log: %s", done)
        return self.counters(done["log"])

    def counters(self, log):
        """(file's name, counter): value; the log is taken away"""
        values = {}
        for line in self.call("show", log).stdout.splitlines():
            words = line.split("\t")
            if len(words) > 5 and words[0] in ("POSIX", "STDIO"):
                values[(os.path.basename(words[5]), words[3])] = int(float(words[4]))
        os.remove(log)
        return values

    def logs(self):
        return sorted(glob.glob(self.path("*.darshan")))

    def close(self):
        for target in self.targets:
            target.process.kill()
            target.process.wait()


def expect_writes(got, name, want, key="POSIX_WRITES"):
    expect(got.get((name, key), 0) == want, "%s of %s: %s, not %d", key, name, got.get((name, key)), want)


def counts(case):
    """Exactly what was done between attach and detach is in the log; a file that was open before is known by its path."""
    n = [random.randrange(1, 500) for _ in range(5)]
    print("random:", n)
    target = Target(case).ready()
    target.do("open before")
    target.do("write %d" % n[0])
    case.attach(target)
    target.do("write %d" % n[1])
    target.do("stream %d" % n[2])
    target.do("open during")
    target.do("write %d" % n[3])
    got = case.detach(target)
    target.do("write %d" % n[4])
    expect_writes(got, "before", n[1])
    expect_writes(got, "during", n[3])
    expect_writes(got, "during", 1, "POSIX_OPENS")
    expect_writes(got, "stream", n[2], "STDIO_WRITES")
    expect_writes(got, "stream", n[2] * 5000, "STDIO_BYTES_WRITTEN")
    target.quit()
    expect(not case.logs(), "another log: %s", case.logs())


def replaced(case):
    """Program and library have new files under their names since they began (a build, an upgrade): what runs is what counts."""
    target = Target(case, program=case.copy_of_target(), wrap=case.wrap).ready()
    lib = case.path("lib")
    shutil.copytree(os.path.join(case.build, "lib"), lib, symlinks=True)
    target.do("open file")
    case.attach(target, options=("--library", os.path.join(lib, "libiorama.so")))
    target.do("write 7")
    for name in [case.path("a-target"), *(os.path.realpath(p) for p in glob.glob(lib + "/libiorama*.so*"))]:
        with open(name + ".new", "w") as f:
            f.write("something else\n")
        os.rename(name + ".new", name)
    expect_writes(case.detach(target), "file", 7)
    target.quit()


def replaced_own(case):
    """The same for who is not root, and may not open files that have no name any more."""
    if os.geteuid() == 0:
        case.wrap = another_user(case)
    replaced(case)


def programs(case):
    """A program of these tests is compiled once, and nobody puts another in its place, also where the times of its sources lie ahead."""
    source, pids = case.path("once.c"), []
    shutil.copy(os.path.join(WORK, "target_plugin.c"), source)
    os.utime(source, (time.time() + 9e8,) * 2)
    command = ["cc", "-shared", "-fPIC", "-o", None, source]
    for _ in range(4):
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                os._exit(0 if case.compile_once("once.so", [source], command) else 1)
            finally:
                os._exit(1)
    expect(all(os.waitpid(pid, 0)[1] == 0 for pid in pids), "it does not compile")
    made = case.compile_once("once.so", [source], command)
    first = os.stat(made).st_ino
    other = case.compile_once("once.so", [source], [*command, "-O2"])
    with open(source, "a", encoding="ascii") as file:
        file.write("/* changed */\n")
    changed = case.compile_once("once.so", [source], command)
    expect(len({made, other, changed}) == 3 and os.stat(made).st_ino == first, "%s %s %s", made, other, changed)
    for path in (made, other, changed):
        shutil.rmtree(os.path.dirname(path))


def again(case):
    """Attached and detached again and again: each log has its own part, and nothing of another."""
    target = Target(case).ready()
    target.do("open file")
    for i in range(20):
        target.do("write %d" % (100 + i))
        case.attach(target)
        target.do("write %d" % (i + 1))
        expect_writes(case.detach(target), "file", i + 1)
    done = case.call("detach", str(target.pid), status=4)
    expect("is not attached" in done.stderr, "%s", done.stderr)
    case.attach(target)
    done = case.call("attach", str(target.pid), status=4)
    expect("is attached already" in done.stderr, "%s", done.stderr)
    target.do("write 7")
    expect_writes(case.detach(target), "file", 7)
    target.quit()


def its_end(case):
    """A process that ends while it is attached leaves its log, as any other does."""
    target = Target(case).ready()
    target.do("open file")
    case.attach(target, options=["--trace"])
    target.do("write 31")
    target.quit()
    (log,) = case.logs()
    text = case.call("show", "--dxt", log).stdout
    expect(len(re.findall(r"^ X_POSIX\s", text, re.M)) == 31, "no trace of 31 writes: %s", text[-500:])
    expect_writes(case.counters(log), "file", 31)


def for_a_while(case):
    """--for waits, detaches and names the log; several processes at once."""
    targets = [Target(case).ready() for _ in range(3)]
    done = case.call("attach", "--json", "--for", "0.1s", *(str(t.pid) for t in targets))
    said = json.loads(done.stdout)
    expect([d["what"] for d in said] == ["attached"] * 3 + ["detached"] * 3, "%s", said)
    expect(len({d["log"] for d in said[3:]}) == 3 and all(os.path.exists(d["log"]) for d in said[3:]), "%s", said)
    for target in targets:
        target.quit()


def later(case):
    """A library that is loaded after the attach is observed, too, from its first call on."""
    library = case.compile("plugin.so", "target_plugin.c", "-shared", "-fPIC")
    target = Target(case).ready()
    case.attach(target)
    target.do("plugin %s 23" % library)
    got = case.detach(target)
    expect_writes(got, "plugin", 23)
    expect_writes(got, "plugin", 1, "POSIX_OPENS")
    target.do("plugin %s 5" % library)
    case.attach(target)
    target.do("plugin %s 9" % library)
    expect_writes(case.detach(target), "plugin", 9)
    target.quit()


def children(case):
    """Children of an attached process are observed as those of any other."""
    target = Target(case).ready()
    target.do("open file")
    case.attach(target)
    target.do("fork 17")
    (log,) = case.logs()
    expect_writes(case.counters(log), "file", 17)
    target.do("write 3")
    expect_writes(case.detach(target), "file", 3)
    target.quit()


def busy(case):
    """A hundred times under load: no byte is wrong, no call fails, nobody ends; how long a thread was away is told."""
    target = Target(case).ready()
    target.do("load 6")
    away = []
    for _ in range(100):
        away.append(case.attach(target)[0]["borrowed"])
        case.detach(target)
    calls, wrong, _, _ = target.do("stop")
    print("%d calls; away: at most %.1f ms, half of the times %.1f ms" % (calls, max(away) * 1e3, sorted(away)[50] * 1e3))
    expect(calls > 1000 and wrong == 0, "%d calls, %d bytes are wrong", calls, wrong)
    target.quit()


def signals(case):
    """Handlers of faults do not see ours; a timer goes on all the time."""
    target = Target(case, "segv").ready()
    case.attach(target)
    case.detach(target)
    first = target.do("open file")[3]  # it has one thread: if that were left without signals the timer would stand still
    wait(lambda: target.do("open file")[3] > first, "the timer")
    target.do("load 2")
    _, _, _, before = target.do("open file")
    for _ in range(30):
        case.attach(target)
        target.do("write 11")
        expect_writes(case.detach(target), "file", 11)
    _, wrong, faults, alarms = target.do("stop")
    expect(wrong == 0 and faults == 0, "%d bytes are wrong, %d faults", wrong, faults)
    expect(alarms > before + 100, "the timer came %d times", alarms - before)
    target.quit()


def interrupted(case):
    """Whoever ends iorama while it has a thread ends it afterwards."""
    target = Target(case).ready()
    target.do("load 2")
    for _ in range(40):
        tool = subprocess.Popen([case.iorama, "attach", "-q", str(target.pid)], cwd=case.work, env=case.env(), stderr=subprocess.DEVNULL)
        time.sleep(random.random() * 0.03)
        tool.send_signal(random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
        tool.wait(TIMEOUT)
        case.call("detach", str(target.pid), status=None)
    _, wrong, _, _ = target.do("stop")
    expect(wrong == 0, "%d bytes are wrong", wrong)
    target.quit()


def refuse(case, target, text, wrap=(), options=()):
    done = case.call("attach", *options, str(target.pid), status=4, wrap=wrap)
    expect(text in done.stderr and done.stderr.count("\n") == 1, "not refused with '%s': %s", text, done.stderr)
    with open("/proc/%d/maps" % target.pid, encoding="utf-8") as file:
        maps = file.read()
    expect("libiorama" not in maps or "observed since" in text, "the library is there")


def refuse_32_bits(case):
    """A program of 32 bits that waits, made of bytes: few systems have a compiler for it."""
    name, code = case.path("of-32-bits"), bytes.fromhex("b81d000000cd80ebf7")  # pause() again and again
    head = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = len(head) + 32 + len(code)
    with open(name, "wb") as file:
        file.write(head + struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, size, size, 5, 4096) + code)
    os.chmod(name, 0o755)
    try:
        target = Target(case, program=name)
    except OSError as why:
        print("no programs of 32 bits here: %s" % why)
        return
    refuse(case, target, "32 bits")
    expect(target.process.poll() is None, "it ended")


def refused(case):
    """What cannot be attached is told in one line each, and is not touched."""
    static = Target(case, program=case.compile("static", "target.c", "-static", "-pthread")).ready()
    refuse(case, static, "is statically linked")
    static.quit()
    ignores = Target(case, "ignore").ready()
    refuse(case, ignores, "ignores SIGSEGV")
    ignores.quit()
    confined = Target(case, "confined")
    wait(lambda: "Seccomp:\t1" in cases.text_of("/proc/%d/status" % confined.pid), "its confinement")
    refuse(case, confined, "confined by seccomp")
    if os.uname().machine == "x86_64":
        refuse_32_bits(case)
    spins = Target(case).ready()
    spins.process.stdin.write("spin\n")
    spins.process.stdin.flush()
    wait(lambda: cases.text_of("/proc/%d/syscall" % spins.pid).startswith("running"), "its loop")
    refuse(case, spins, "none of its threads waited", options=["--wait", "50ms"])
    expect(spins.process.poll() is None, "it ended")
    seen = Target(case, env=case.env(LD_PRELOAD=case.library)).ready()
    refuse(case, seen, "is observed since it began")
    seen.quit()
    gone = Target(case).ready()
    gone.do("open x")
    pid = gone.pid
    gone.quit()
    done = case.call("attach", str(pid), status=4)
    expect("there is no process %d" % pid in done.stderr, "%s", done.stderr)
    for word in ("x", "-1", "0", "99999999999"):
        case.call("attach", "--", word, status=2)
    case.call("attach", status=2)


def killed(case):
    """Who kills attach --for has its log at once, and nobody is observed any more."""
    target = Target(case).ready()
    target.do("open file")
    tool = subprocess.Popen([case.iorama, "attach", "--for", "600s", str(target.pid)], cwd=case.work, env=case.env(), text=True, stderr=subprocess.PIPE)
    expect("observed from now on" in tool.stderr.readline(), "not attached")
    target.do("write 13")
    # it waits now (nanosleep, clock_nanosleep), and so does what waits for its end
    wait(lambda: cases.text_of("/proc/%d/syscall" % tool.pid).split()[0] in ("35", "230"), "its wait")
    tool.kill()
    tool.communicate(timeout=TIMEOUT)
    wait(case.logs, "the log")
    wait(lambda: "is not attached" in case.call("detach", str(target.pid), status=None).stderr, "its end")
    (log,) = case.logs()
    expect_writes(case.counters(log), "file", 13)
    target.quit()


def small_stack(case):
    """A thread whose stack has no room for a loader is never borrowed; where there is no other, that is said."""
    target = Target(case, "small").ready()
    target.do("open file")
    for i in range(3):
        case.attach(target)
        target.do("write %d" % (i + 5))
        expect_writes(case.detach(target), "file", i + 5)
    target.quit()
    alone = Target(case, "smallest").ready()
    refuse(case, alone, "too small a stack", options=["--wait", "50ms"])
    alone.do("open other")
    expect(alone.process.poll() is None, "it ended")


def slow_loader(case):
    """A call of the thread that was borrowed waits for a lock: it is waited for, and that is told; nobody ends."""
    os.mkfifo(case.path("go"))
    slow = case.compile("slow.so", "target_plugin.c", "-shared", "-fPIC", '-DWAITS="go"')
    target = Target(case).ready()
    target.do("open file")
    target.do("load 2")
    target.process.stdin.write("plugin %s 3\n" % slow)
    target.process.stdin.flush()
    wait(lambda: "slow.so" in cases.text_of("/proc/%d/maps" % target.pid), "its loader")
    tool = subprocess.Popen([case.iorama, "attach", str(target.pid)], cwd=case.work, env=case.env(), text=True, stderr=subprocess.PIPE)
    said = tool.stderr.readline()
    expect("its thread is away for seconds" in said, "it says %s", said)
    with open(case.path("go"), "w", encoding="ascii") as fifo:
        fifo.write("x")
    said = tool.communicate(timeout=TIMEOUT)[1]
    expect(tool.returncode == 0 and "observed from now on" in said, "status %d: %s", tool.returncode, said)
    target.process.stdout.readline()
    target.do("write 7")
    expect_writes(case.detach(target), "file", 7)
    expect(target.do("stop")[1] == 0, "bytes are wrong")
    target.quit()


def another_user(case):
    """Words before a command that make it one of another user, who may write where the case works."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    os.chmod(case.work, 0o777)
    return "setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups"


def other_kinds(case):
    """Another C library, another root, another user, rights of its own, somebody else's tracer."""
    stranger = another_user(case)
    mine = Target(case).ready()
    refuse(case, mine, "belongs to another user (0)", wrap=stranger)
    mine.quit()
    own = Target(case, wrap=stranger).ready()
    own.do("open own")
    case.attach(own)
    own.do("write 5")
    done = json.loads(case.call("detach", "--json", str(own.pid)).stdout)
    expect(os.stat(done[0]["log"]).st_uid == STRANGER, "the log is not his")
    expect_writes(case.counters(done[0]["log"]), "own", 5)
    own.quit()
    unseen = Target(case, "unseen", wrap=stranger).ready()
    refuse(case, unseen, "CAP_SYS_PTRACE", wrap=stranger)
    unseen.quit()
    setuid = case.path("setuid")
    shutil.copy(case.target(), setuid)
    os.chmod(setuid, 0o4755)
    raised = Target(case, program=setuid, wrap=stranger).ready()
    refuse(case, raised, "rights")
    raised.quit()
    root = case.path("root")
    os.makedirs(root)
    far = Target(case, "chroot", root).ready()
    refuse(case, far, "it has another root")
    far.quit()
    if shutil.which("musl-gcc"):
        musl = Target(case, program=case.compile("musl", "target.c", cc="musl-gcc")).ready()
        refuse(case, musl, "another C library")
        musl.quit()
    traced = Target(case).ready()
    tracer = subprocess.Popen(["strace", "-f", "-o", case.path("strace"), "-p", str(traced.pid)], stderr=subprocess.PIPE, text=True)
    expect("attached" in tracer.stderr.readline(), "strace does not attach")
    refuse(case, traced, "a debugger has it")
    tracer.terminate()
    tracer.wait()
    traced.quit()


def servers(case):
    """--servers finds them by name. In a world of its own: others may run real ones here."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    alone = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    done = case.call("attach", "--servers", status=4, wrap=alone)
    expect("no file server that is known" in done.stderr and done.stderr.count("\n") == 1, "%s", done.stderr)
    server = case.path("glusterfsd")
    shutil.copy(case.target(), server)
    script = 'mkfifo in; sleep 60 > in & "$1" < in > out & until grep -q ready out; do sleep 0.02; done; shift; exec "$@"'
    done = case.call("attach", "--json", "--for", "0.1s", "--servers", wrap=(*alone, "sh", "-c", script, "sh", server))
    said = json.loads(done.stdout)
    expect([(s["name"], s["what"]) for s in said] == [("glusterfsd", "attached"), ("glusterfsd", "detached")], "%s", said)


def mount(case):
    """--mount: what is no mount of FUSE is refused."""
    for place, text in (("/proc", "is in no file system that a FUSE daemon serves"), (case.path("none"), "No such file")):
        done = case.call("attach", "--mount", place, status=4)
        expect(text in done.stderr and done.stderr.count("\n") == 1, "%s", done.stderr)


CASES = {f.__name__.replace("_", "-"): f for f in (counts, again, replaced, replaced_own, programs, its_end, for_a_while, later, children, busy, signals, interrupted, killed, small_stack, slow_loader, refused, other_kinds, servers, mount)}


def perform(build, name):
    with cases.folders(build, "attach") as (work, _):
        case = Case(build, work)
        try:
            CASES[name](case)
        finally:
            case.close()


if __name__ == "__main__":
    cases.main(CASES, perform)
