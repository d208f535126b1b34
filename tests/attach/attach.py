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
        self.work, self.targets = work, []

    def path(self, *names):
        return os.path.join(self.work, *names)

    def env(self, **extra):
        return cases.environment(HOME=self.work, LC_ALL="C.UTF-8", IORAMA_DIR=self.path("segments"), **extra)

    def compile(self, name, source, *flags, cc=None):
        source = os.path.join(WORK, source)
        return self.compile_once("attach-" + name, [source], [cc or os.environ.get("CC", "cc"), "-O1", "-D_GNU_SOURCE", "-o", None, source, *flags])

    def target(self):
        return self.compile("target", "target.c", "-pthread", "-ldl")

    def call(self, *words, status=0, wrap=()):
        done = subprocess.run([*wrap, self.iorama, *words], cwd=self.work, env=self.env(), timeout=TIMEOUT, text=True,
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


def other_kinds(case):
    """Another C library, another root, another user, rights of its own, somebody else's tracer."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    os.chmod(case.work, 0o777)
    stranger = ("setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups")
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


CASES = {f.__name__.replace("_", "-"): f for f in (counts, again, its_end, for_a_while, later, children, busy, signals, interrupted, refused, other_kinds)}


def perform(build, name):
    with cases.folders(build, "attach") as (work, _):
        case = Case(build, work)
        try:
            CASES[name](case)
        finally:
            case.close()


if __name__ == "__main__":
    cases.main(CASES, perform)
