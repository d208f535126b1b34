#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""place.py BUILD CASE | --list: where segments go when there is no room, when there are many, and when others were there first.

Each case runs in a mount namespace of its own, with a /dev/shm and a /tmp as small as it likes them, so that it can neither
harm nor be harmed. The programs know what they did and say it; nothing may be missing that is not told."""
import glob
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import Skip, expect  # noqa: E402

ALICE, MALLORY = 20131, 20132
LIMIT = cases.TIMEOUT
PARTS = ("POSIX_OPENS", "POSIX_WRITES", "POSIX_BYTES_WRITTEN")


def fill(path, size=None):
    """A file of that size, or of all that there is room for."""
    with open(path, "wb", buffering=0) as file:
        try:
            while size is None or file.tell() < size:
                file.write(bytes(4096))
        except OSError:
            pass


class Case(cases.Built):
    def __init__(self, build, work):
        super().__init__(build)
        self.work = work
        self.room = os.path.join(build, "tests", "work_room")
        self.pack = os.path.join(build, "tests", "pack_tool")

    def path(self, *names):
        return os.path.join(self.work, *names)

    def folder(self, name, uid=0, mode=0o755):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        os.chown(path, uid, uid)
        os.chmod(path, mode)
        return path

    def small(self, shm=None, tmp=None):
        """tmpfs of these sizes"""
        for path, size in (("/dev/shm", shm), ("/tmp", tmp)):
            if size:
                cases.cover(path, "size=%s,mode=1777" % size)

    def env(self, **extra):
        given = {"HOME": self.work, "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}
        return cases.environment((*cases.OURS, "XDG_", "TMPDIR"), **{**given, **extra})

    def call(self, *words, uid=0, env=None, status=0, preload=False, **more):
        if preload:  # not of setpriv, which runs with the rights of both
            words = ("env", "LD_PRELOAD=" + self.library) + words
        if uid:
            words = ("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups") + words
        done = subprocess.run(words, env=env or self.env(), cwd=more.pop("cwd", self.work), timeout=LIMIT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)  # fmt: skip
        expect(status is None or done.returncode == status, "%s: status %d\n%s%s", words, done.returncode, done.stdout,
               done.stderr)  # fmt: skip
        return done

    def run(self, *words, options=(), **more):
        """iorama run --json: what it says of the run, and the program's truth"""
        log = self.path("run.darshan")
        done = self.call(self.iorama, "run", "--json", "-f", "-o", log, *options, "--", *words, **more)
        return json.loads(done.stderr.splitlines()[-1]), truth_of(done.stdout)

    def counters(self, log, folder=None):
        """sums over the files of the folder, and the number of ranks"""
        text = self.call(self.iorama, "show", "--show-incomplete", log).stdout
        sums = dict.fromkeys(PARTS, 0)
        for line in text.splitlines():
            words = line.split("\t")
            if len(words) > 5 and words[3] in sums and (folder is None or words[5].startswith(folder)):
                sums[words[3]] += int(words[4])
        return sums, int(re.search(r"^# nprocs: (\d+)", text, re.M).group(1)), text


def truth_of(text):
    words = [line.split() for line in text.splitlines() if line.startswith("truth ")]
    expect(len(words) == 1, "the program said: %s", text)
    return dict(zip(("processes", "opens", "writes"), map(int, words[0][1:])))


def expect_all(case, log, truth, folder, others=1):
    """Everything is in the log: `others` are the processes that only started others."""
    sums, ranks, _ = case.counters(log, folder)
    expect(ranks == truth["processes"] + others, "%d ranks of %d processes", ranks, truth["processes"] + others)
    want = (truth["opens"], truth["writes"], 100 * truth["writes"])
    expect(tuple(sums[p] for p in PARTS) == want, "the log has %s, the program did %s", sums, want)


def segments(*roots):
    return [p for root in roots for p in glob.glob(root + "/**/*.seg", recursive=True)]


def left_behind():
    """everything below the places of users but the count of logs that could not be written"""
    return [p for base in ("/dev/shm", "/tmp") for p in glob.glob(base + "/iorama-*/**", recursive=True)
            if p.count("/") > base.count("/") + 1 and p.rstrip("/") != p[: p.rfind("/")]
            and not p.endswith("/unwritten") and not re.fullmatch(base + r"/iorama-[0-9a-f-]+/?", p)]  # fmt: skip


# ---- no room


def shm_full(case):
    """A container's small /dev/shm: what does not fit goes to /tmp, and all of it is in the log."""
    case.small(shm="2m", tmp="64m")
    folder = case.folder("files")
    said, truth = case.run(case.room, "hold", folder, "100")
    expect_all(case, said["log"], truth, folder)
    expect(said["moved"] > 0, "nothing was moved: %s", said)
    expect(said["unplaced"] == 0 and not said["incomplete"], "%s", said)
    expect(not left_behind(), "left: %s", left_behind())


def shm_full_tmpdir(case):
    """$TMPDIR comes before /tmp, as it was when the run began, whatever the program says later."""
    case.small(shm="2m", tmp="64m")
    folder, other, later = case.folder("files"), case.folder("other", mode=0o700), case.folder("later")
    said, truth = case.run("env", "TMPDIR=" + later, case.room, "hold", folder, "100", env=case.env(TMPDIR=other))
    expect_all(case, said["log"], truth, folder)
    expect(said["moved"] > 0 and said["unplaced"] == 0, "%s", said)
    expect(os.listdir(other) == ["iorama-0"] and not os.listdir(os.path.join(other, "iorama-0")), "%s", os.listdir(other))
    expect(not os.listdir(later), "%s", os.listdir(later))


def bare_full(case):
    """The same with the preload alone: each process finds its place, or keeps its records in its own memory."""
    case.small(shm="1m", tmp="1m")
    folder, logs = case.folder("files"), case.folder("logs")
    env = case.env(LD_PRELOAD=case.library, IORAMA_LOG_DIR=logs)
    truth = truth_of(case.call(case.room, "hold", folder, "60", env=env).stdout)
    made = glob.glob(logs + "/*.darshan")
    expect(len(made) == truth["processes"] + 1, "%d logs of %d processes", len(made), truth["processes"] + 1)
    sums, memory = dict.fromkeys(PARTS, 0), 0
    for log in made:
        one, _, text = case.counters(log, folder)
        memory += "iorama_place = memory" in text
        for part in PARTS:
            sums[part] += one[part]
    want = (truth["opens"], truth["writes"], 100 * truth["writes"])
    expect(tuple(sums[p] for p in PARTS) == want, "the logs have %s, the program did %s", sums, want)
    expect(0 < memory < len(made), "%d of %d had no place", memory, len(made))
    expect(not left_behind(), "left: %s", left_behind())


def no_room(case):
    """There is no room anywhere: who is not recorded is counted, with his calls, and everybody says so."""
    case.small(shm="1m", tmp="1m")
    folder = case.folder("files")
    said, truth = case.run(case.room, "hold", folder, "80")
    expect(said["incomplete"], "%s", said)
    expect(said["processes"] + said["unplaced"] == truth["processes"] + 1, "%s of %s", said, truth)
    sums, _, text = case.counters(said["log"], folder)
    calls = sums["POSIX_OPENS"] + sums["POSIX_WRITES"] + said["unplaced_calls"]
    expect(calls == truth["opens"] + truth["writes"], "%d calls of %s", calls, truth)
    expect("iorama_unplaced = %d" % said["unplaced"] in text, "the log does not say it")
    report = case.call(case.iorama, "report", said["log"], status=None).stdout
    expect(re.search(r"Nothing is here of %d process" % said["unplaced"], report), "the report does not say it: %s", report)
    done = case.call(case.iorama, "run", "-f", "-o", case.path("x.darshan"), case.room, "hold", folder, "80")
    expect(re.search(r"no room +\d+ process", done.stderr), "the summary does not say it: %s", done.stderr)
    expect(not left_behind(), "left: %s", left_behind())


def no_room_exec(case):
    """Who has no room and becomes another program is one process, not two; what it calls is counted."""
    case.small(shm="1m", tmp="1m")
    folder = case.folder("files")
    fills = "head -c 2m /dev/zero >/dev/shm/fill 2>/dev/null; head -c 2m /dev/zero >/tmp/fill 2>/dev/null; "
    said, truth = case.run("sh", "-c", fills + 'sh -c "exec %s many %s 3"; true' % (case.room, folder))
    # the first shell and head had room; the second one, which becomes the program, and its children had none
    expect(said["unplaced"] == truth["processes"] + 1, "%s", said)
    expect(said["unplaced_calls"] >= truth["opens"] + truth["writes"], "%s", said)


def no_start(case):
    """No place at all at the start: the command runs, and its log says why it is elsewhere."""
    case.small(shm="1m", tmp="16m")
    fill("/dev/shm/fill", 2 << 20)
    folder = case.folder("files")
    said, truth = case.run(case.room, "many", folder, "5")
    expect_all(case, said["log"], truth, folder)
    expect(said["place"] and "/dev/shm" in said["place"] and not said["incomplete"], "%s", said)
    expect("iorama_place = /tmp/iorama-0" in case.counters(said["log"])[2], "the log does not say where")


def full_later(case):
    """Room at the start, none later: counted losses, no SIGBUS."""
    for run in (True, False):
        case.small(shm="4m", tmp="1m")
        folder, logs = case.folder("files"), case.folder("logs")
        log = case.path("run.darshan")
        words = [case.iorama, "run", "--json", "-f", "-o", log, case.room] if run else [case.room]
        env = case.env(**({} if run else {"LD_PRELOAD": case.library, "IORAMA_LOG_DIR": logs}))
        with subprocess.Popen(words + ["files", folder, "3000"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:  # fmt: skip
            expect(child.stdout.readline() == "ready\n", "the program did not start")
            for name in ("/dev/shm/fill", "/tmp/fill"):
                fill(name)
            out, err = child.communicate(timeout=LIMIT)
            expect(child.returncode == 0, "run %s: status %d: %s", run, child.returncode, err)
        truth = truth_of(out)
        sums, _, text = case.counters(log if run else glob.glob(logs + "/*.darshan")[0])
        expect(sums["POSIX_WRITES"] == truth["writes"], "%s of %s", sums, truth)
        expect("<OTHERS>" in text, "all files had room")
        shutil.rmtree(logs)


# ---- many processes


def many(case):
    """Thousands of short processes need no more room than those that run at one time."""
    case.small(shm="24m")
    folder = case.folder("files")
    said, truth = case.run(case.room, "paced", folder, "2000", "4", env=case.env(IORAMA_DIR="/dev/shm/mine"))
    expect_all(case, said["log"], truth, folder)
    expect(said["unplaced"] == 0 and said["moved"] == 0 and not said["incomplete"], "%s", said)
    expect(not segments("/dev/shm") and not os.listdir("/dev/shm/mine"), "left: %s", os.listdir("/dev/shm/mine"))


def same_log(case):
    """A log of packed segments is the log of the segments, byte by byte."""
    case.small(shm="64m", tmp="64m")
    folder = case.folder("files")
    case.call(case.iorama, "run", "-q", "--keep", "-f", "-o", case.path("run.darshan"), "--trace", "sh", "-c",
              "%s many %s 40; %s hold %s 20; exec cat %s/f.1" % (case.room, folder, case.room, folder, folder))  # fmt: skip
    (root,) = glob.glob("/dev/shm/iorama-0/run-*")
    packed = case.folder("packed", mode=0o700)
    case.call(case.pack, root, packed)
    size = sum(os.stat(p).st_blocks * 512 for p in segments(root))
    expect(os.path.getsize(packed + "/ended.pack") < size / 20, "%d packed to %d", size, os.path.getsize(packed + "/ended.pack"))
    for name, place in (("a", root), ("b", packed)):
        case.call(case.iorama, "recover", "-q", "-o", case.path(name), place)
    with open(case.path("a"), "rb") as a, open(case.path("b"), "rb") as b:
        expect(a.read() == b.read(), "the logs differ")
    expect(not os.path.exists(root) and not os.path.exists(packed), "something stays")


def packed_twice(case):
    """Packed, and killed before its file was removed: it is one process. Another one of the same name is another."""
    case.small(shm="64m", tmp="64m")
    folder = case.folder("files")
    for other in (False, True):
        case.call(case.iorama, "run", "-q", "--keep", "-f", "-o", case.path("run.darshan"), case.room, "many", folder, "6")
        (root,) = glob.glob("/dev/shm/iorama-0/run-*")
        names = sorted(os.path.basename(p) for p in segments(root))
        case.call(case.pack, root, root, *([names[0], names[1]] if other else []))
        if other:
            os.unlink(os.path.join(root, names[0]))
        with open(root + "/ended.pack", "ab") as file:
            file.write(b"what a writer had begun when it was killed")
        os.unlink(os.path.join(root, names[-1]))
        listed = json.loads(case.call(case.iorama, "recover", "--list", "--json").stdout)
        expect([j["processes"] for j in listed] == [7], "%s", listed)
        case.call(case.iorama, "recover", "-q", "-f", "-o", case.path("run.darshan"))
        expect_all(case, case.path("run.darshan"), {"processes": 6, "opens": 6, "writes": 12}, folder)
        expect(not os.path.exists(root), "something stays")


def killed(case):
    """`iorama run` is killed with what it had taken in: recover finds all of it, in all places."""
    case.small(shm="2m", tmp="64m")
    folder = case.folder("files")
    done = case.call(case.iorama, "run", "-q", case.room, "kill", folder, "300", status=-signal.SIGKILL,
                     start_new_session=True)  # fmt: skip
    truth = truth_of(done.stdout)
    packs = glob.glob("/dev/shm/iorama-0/*/ended.pack") + glob.glob("/tmp/iorama-0/*/ended.pack")
    expect(packs, "nothing was taken in")
    listed = json.loads(case.call(case.iorama, "recover", "--list", "--json").stdout)
    expect(len(listed) == 1 and listed[0]["processes"] == truth["processes"] + 1, "%s", listed)
    case.call(case.iorama, "recover", "-q", "-f", "-o", case.path("run.darshan"))
    expect_all(case, case.path("run.darshan"), truth, folder)
    expect(not left_behind(), "left: %s", left_behind())


def still_there(case):
    """Processes that only look dead are not taken in: a first thread that ended, another pid namespace."""
    case.small(shm="64m", tmp="64m")
    folder = case.folder("files")
    for kind in ("thread", "namespace"):
        inner = [case.room, "thread", case.folder("inner"), "1"]
        if kind == "namespace":
            # with a number that no process has outside
            with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
                number = int(file.read()) - 500
            while os.path.exists("/proc/%d" % number):
                number -= 1
            inner = ["unshare", "-pf", "--kill-child", "sh", "-c", 'echo %d >/proc/sys/kernel/ns_last_pid || exit 5; "$@"; exit $?'
                     % (number - 1), "sh"] + inner  # fmt: skip
        # the churn makes `iorama run` look; only then the other goes on
        script = 'exec 3<>"$1"; shift; "$@" <&3 3<&- & echo $! >pid; %s many %s 300 >/dev/null; : >churned; wait' % (case.room, folder)
        pipe = case.path("pipe-" + kind)
        os.mkfifo(pipe)
        log = case.path("run.darshan")
        with subprocess.Popen([case.iorama, "run", "--json", "-f", "-o", log, "sh", "-c", script.replace("3<>", "3<"), "sh",
                               pipe] + inner, env=case.env(), cwd=case.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:  # fmt: skip
            with open(pipe, "w", encoding="ascii"):
                cases.wait(lambda: os.path.exists(case.path("churned")), "churn")
                cases.wait(lambda: glob.glob("/dev/shm/iorama-0/*/ended.pack") + glob.glob("/tmp/iorama-0/*/ended.pack"), "a look")
            out, err = child.communicate(timeout=LIMIT)
            expect(child.returncode == 0, "%s: %s", kind, err)
        os.unlink(case.path("churned"))
        truth = truth_of(out)
        sums, _, _ = case.counters(log, case.path("inner"))
        expect(sums["POSIX_WRITES"] == truth["writes"], "%s: %s of %s", kind, sums, truth)


def live(case):
    """Live events of processes that are taken in: all are stored."""
    case.small(shm="256m", tmp="64m")
    folder = case.folder("files")
    said, truth = case.run(case.room, "many", folder, "300", "4", options=("--live", "--store", case.path("store.db")))
    events = said["events"]
    expect(events["seen"] == events["stored"] and events["lost"] == events["waiting"] == 0, "%s", events)
    expect_all(case, said["log"], truth, folder)
    with sqlite3.connect(case.path("store.db")) as store:
        (n,) = store.execute("SELECT COUNT(*) FROM processes").fetchone()
        expect(n == truth["processes"] + 1, "%d processes are stored, %s ran", n, truth)
    expect(not left_behind(), "left: %s", left_behind())


# ---- logs that cannot be written


def unwritten(case):
    """A log that cannot be written leaves nothing behind but a count, which doctor tells."""
    case.small(shm="64m", tmp="64m")
    folder = case.folder("files", ALICE)
    full, closed = case.folder("full", ALICE), case.folder("closed", 0, 0o555)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=1777", "none", full], check=True)
    fill(full + "/fill")
    n = 0
    for logs, why in ((case.path("missing"), "No such file"), (closed, "Permission denied"), (full, "No space left")):
        done = case.call(case.room, "many", folder, "10", uid=ALICE, env=case.env(IORAMA_LOG_DIR=logs), preload=True)
        truth_of(done.stdout)
        expect(done.stderr == "", "it said: %s", done.stderr)
        n += 11
        expect(not left_behind(), "%s left: %s", logs, left_behind())
        checks = json.loads(case.call(case.iorama, "doctor", "--json", uid=ALICE, status=None).stdout)
        (check,) = [c for c in checks if c["check"] == "unwritten"]
        count = int(check["found"].split()[0])
        expect(check["state"] == "warn" and logs in check["found"] and why in check["found"], "%s", check)
        expect(count == n, "%d of %d are counted", count, n)
        expect(not glob.glob(logs + "/*darshan*"), "something half-written stays: %s", glob.glob(logs + "/*darshan*"))
    expect(os.stat("/dev/shm/iorama-%d/unwritten" % ALICE).st_blocks * 512 <= 16384, "the count grows")


# ---- others were there first


def take_place(how, base="/dev/shm"):
    path, own = "%s/iorama-%d" % (base, ALICE), "%s/mallory" % base
    os.makedirs(own, exist_ok=True)
    os.chown(own, MALLORY, MALLORY)
    os.chmod(own, 0o777)
    if how == "link":
        os.symlink(own, path)
    elif how == "file":
        open(path, "w", encoding="ascii").close()
    else:
        os.mkdir(path)
        os.chmod(path, 0o777 if how == "open" else 0o700)
    os.chown(path, MALLORY, MALLORY, follow_symlinks=False)
    return path, own


def taken(case):
    """Somebody else made the directory: another is used, nothing goes into his, and it is told."""
    for how in ("closed", "open", "link", "file"):
        case.small(shm="64m", tmp="64m")
        folder, logs = case.folder("files", ALICE, 0o700), case.folder("logs", ALICE, 0o700)
        path, own = take_place(how)
        log = os.path.join(logs, "run.darshan")
        done = case.call(case.iorama, "run", "--json", "-f", "-o", log, case.room, "many", folder, "3", uid=ALICE)
        said = json.loads(done.stderr.splitlines()[-1])
        expect_all(case, log, truth_of(done.stdout), folder)
        expect(said["place"] and path in said["place"], "%s: %s", how, said)
        places = glob.glob("/dev/shm/iorama-%d-*" % ALICE)
        expect(len(places) == 1 and os.stat(places[0]).st_uid == ALICE and os.stat(places[0]).st_mode & 0o777 == 0o700,
               "%s: %s", how, places)  # fmt: skip
        expect("iorama_place = " + places[0] in case.counters(log)[2], "%s: the log does not say it", how)
        # preload alone, killed: recover finds it
        env = case.env(IORAMA_LOG_DIR=logs)
        case.call(case.room, "many", folder, "3", uid=ALICE, env=env, preload=True)
        expect(len(glob.glob(logs + "/*_work_room_*.darshan")) == 4, "%s: %s", how, os.listdir(logs))
        case.call(case.room, "kill", folder, "3", uid=ALICE, env=env, status=None, start_new_session=True, preload=True)
        expect(segments(places[0]), "%s: nothing is there", how)
        text = case.call(case.iorama, "recover", uid=ALICE, cwd=logs).stdout
        expect(places[0] in text and not segments(places[0]), "%s: %s", how, text)
        checks = json.loads(case.call(case.iorama, "doctor", "--json", uid=ALICE, status=None).stdout)
        (check,) = [c for c in checks if c["check"] == "segments"]
        expect(check["state"] == "warn" and path in check["found"] and places[0] in check["found"], "%s", check)
        expect(os.listdir(own) == [] and (how in ("link", "file") or os.listdir(path) == []), "%s: his directory has %s",
               how, os.listdir(own))  # fmt: skip
        subprocess.run(["umount", "-R", "/dev/shm", "/tmp"], check=True)
        shutil.rmtree(logs)


def flood(case):
    """Hundreds of directories with names of ours: they neither stop us nor slow us down."""
    case.small(shm="64m", tmp="64m")
    folder, logs = case.folder("files", ALICE, 0o700), case.folder("logs", ALICE, 0o700)
    for base in ("/dev/shm", "/tmp"):
        take_place("closed", base)
        for i in range(900):
            path = "%s/iorama-%d-%016x-%016x" % (base, ALICE, i, i)
            os.mkdir(path, 0o700)
            os.chown(path, MALLORY, MALLORY)
    count = case.path("calls")
    os.mkdir(case.path("s"))
    os.chmod(case.path("s"), 0o777)
    env = case.env(IORAMA_LOG_DIR=logs)
    for i in (1, 2):  # the first one makes it, all others find it
        count = case.path("s", "calls%d" % i)
        case.call("strace", "-qq", "-f", "-o", count, "-E", "LD_PRELOAD=" + case.library, case.room, "files", folder, "3",
                  uid=ALICE, env=env, stdin=subprocess.DEVNULL)  # fmt: skip
        with open(count, encoding="latin-1") as file:
            lines = len(file.readlines())
        expect(lines < 12000, "%d system calls to start", lines)
    expect(len(glob.glob(logs + "/*.darshan")) == 2, "%s", os.listdir(logs))
    mine = [p for p in glob.glob("/dev/shm/iorama-%d-*" % ALICE) if os.stat(p).st_uid == ALICE]
    expect(len(mine) == 1, "%s", mine)
    log = os.path.join(logs, "run.darshan")
    done = case.call(case.iorama, "run", "-f", "-o", log, case.room, "many", folder, "3", uid=ALICE)
    expect_all(case, log, truth_of(done.stdout), folder)
    expect(re.search(r"place +/dev/shm/iorama-%d belongs to user %d" % (ALICE, MALLORY), done.stderr), "%s", done.stderr)


def unsteady(case):
    """A $TMPDIR in which others may rename our directory is not used."""
    case.small(shm="1m", tmp="64m")
    fill("/dev/shm/fill", 2 << 20)
    folder, other = case.folder("files", ALICE), case.folder("other", MALLORY, 0o777)
    log = os.path.join(case.folder("logs", ALICE, 0o700), "run.darshan")
    done = case.call(case.iorama, "run", "-q", "-f", "-o", log, case.room, "many", folder, "3", uid=ALICE,
                     env=case.env(TMPDIR=other))  # fmt: skip
    expect_all(case, log, truth_of(done.stdout), folder)
    expect(os.listdir(other) == [], "%s", os.listdir(other))


def system_agent(case):
    """A root agent reads the other directory of Alice, and nothing of what Mallory put under her name."""
    case.small(shm="64m", tmp="64m")
    home, base = case.folder("stores"), "/dev/shm"
    folders = {uid: case.folder("files-%d" % uid, uid, 0o700) for uid in (ALICE, MALLORY)}
    logs = {uid: case.folder("logs-%d" % uid, uid, 0o700) for uid in (ALICE, MALLORY)}
    take_place("closed")
    # his own segment, under names that say it is hers, and very many directories of his own
    env = case.env(IORAMA_LOG_DIR=logs[MALLORY], IORAMA_LIVE="1")
    case.call(case.room, "kill", folders[MALLORY], "3", uid=MALLORY, env=env, status=None, start_new_session=True, preload=True)
    (evil,) = segments(base)
    for i in range(3):
        path = "%s/iorama-%d-%016x-%016x/bare.1" % (base, ALICE, i, i)
        os.makedirs(path)
        subprocess.run(["cp", "--sparse=always", evil, path], check=True)
        for p in (os.path.dirname(path), path, os.path.join(path, os.path.basename(evil))):
            os.chown(p, MALLORY, MALLORY)
            os.chmod(p, 0o700 if os.path.isdir(p) else 0o600)
    for i in range(300):
        path = "%s/iorama-%d-%016x-%016x" % (base, MALLORY, i, i)
        os.mkdir(path, 0o700)
        os.chown(path, MALLORY, MALLORY)
    agent = subprocess.Popen([case.iorama, "agent", "--system", "--home", home],
                             env=case.env(IORAMA_SPOOL=home + "/spool"), stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        stores = {}

        def rows(uid, sql):
            path = os.path.join(home, str(uid), "store.db")
            if not os.path.exists(path):
                return []
            with sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=30) as store:
                try:
                    return store.execute(sql).fetchall()
                except sqlite3.OperationalError:
                    return []

        def agents():
            return [p for p in glob.glob(base + "/iorama-%d-*/.agent" % MALLORY)]

        cases.wait(agents, "agent")
        log = os.path.join(logs[ALICE], "run.darshan")
        env = case.env(IORAMA_LIVE="1")
        done = case.call(case.iorama, "run", "-q", "-f", "-o", log, case.room, "many", folders[ALICE], "3", uid=ALICE, env=env)
        truth = truth_of(done.stdout)
        cases.wait(lambda: len(rows(ALICE, "SELECT pid FROM processes")) == truth["processes"] + 1, "Alice's processes")
        names = [r[0] for r in rows(ALICE, "SELECT name FROM names")]
        expect(not any(folders[MALLORY] in n for n in names), "Alice has names of Mallory: %s", names)
        names = [r[0] for r in rows(MALLORY, "SELECT name FROM names")]
        expect(not any(folders[ALICE] in n for n in names), "Mallory has names of Alice: %s", names)
        expect(agent.poll() is None, "the agent has ended")
        expect(len(agents()) <= 8, "%d of his directories are watched", len(agents()))
        stores.clear()
    finally:
        agent.terminate()
        _, err = agent.communicate(timeout=LIMIT)
    expect(agent.returncode == 0, "%s", err)


def all_packed(case):
    """Whoever packed a job's segments is gone, and nothing else of it is left: the agent makes its log of the pack."""
    case.small(shm="64m", tmp="64m")
    folder, home, logs = case.folder("files"), case.folder("home"), case.folder("logs")
    env = case.env(IORAMA_STORE=home + "/store.db", IORAMA_SPOOL=home + "/spool", IORAMA_LOG_DIR=logs)
    agent = subprocess.Popen([case.iorama, "agent"], env=env, cwd=home, stderr=subprocess.PIPE, text=True)
    try:
        cases.wait(lambda: glob.glob("/dev/shm/iorama-0/.agent"), "agent")
        with subprocess.Popen([case.room, "thread", folder, "1"], env=dict(env, LD_PRELOAD=case.library, IORAMA_LIVE="1"),
                              cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # fmt: skip
            expect(child.stdout.readline() == "ready\n", "it did not start")
            (seg,) = segments("/dev/shm")

            def stored():
                if not os.path.exists(home + "/store.db"):
                    return False
                with sqlite3.connect(home + "/store.db", timeout=30) as store:
                    try:
                        return store.execute("SELECT COUNT(*) FROM processes").fetchone()[0] > 0
                    except sqlite3.OperationalError:
                        return False

            cases.wait(stored, "the process")
            case.call(case.pack, os.path.dirname(seg), os.path.dirname(seg))
            os.unlink(seg)
            child.kill()
        cases.wait(lambda: glob.glob(logs + "/**/*.darshan", recursive=True), "log")
        cases.wait(lambda: not left_behind(), "the end of the pack")
        (log,) = glob.glob(logs + "/**/*.darshan", recursive=True)
        sums, _, _ = case.counters(log, folder)
        expect(sums["POSIX_WRITES"] == 1, "the log has %s", sums)
    finally:
        agent.terminate()
        _, err = agent.communicate(timeout=LIMIT)
    expect(agent.returncode == 0, "%d: %s", agent.returncode, err)


def own_agent(case):
    """Alice's own agent and watch, where her usual directory is Mallory's."""
    case.small(shm="64m", tmp="64m")
    folder, home = case.folder("files", ALICE, 0o700), case.folder("home", ALICE, 0o700)
    take_place("closed")
    env = case.env(HOME=home, IORAMA_STORE=home + "/store.db", IORAMA_SPOOL=home + "/spool", IORAMA_LIVE="1")
    agent = subprocess.Popen(["setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", case.iorama, "agent"],
                             env=env, cwd=home, stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        cases.wait(lambda: glob.glob("/dev/shm/iorama-%d-*/.agent" % ALICE), "agent")
        with subprocess.Popen(["setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", case.room, "files",
                               folder, "3"], env=dict(env, LD_PRELOAD=case.library, IORAMA_LOG_DIR=home), cwd=home,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # fmt: skip
            expect(child.stdout.readline() == "ready\n", "it did not start")
            seen = case.call(case.iorama, "watch", "--once", "--json", uid=ALICE, env=env, cwd=home).stdout
            expect("work_room" in seen, "watch does not see it: %s", seen)
            child.communicate(timeout=LIMIT)

        def stored():
            if not os.path.exists(home + "/store.db"):
                return False
            with sqlite3.connect(home + "/store.db", timeout=30) as store:
                try:
                    return store.execute("SELECT COUNT(*) FROM processes WHERE end_ns IS NOT NULL").fetchone()[0] > 0
                except sqlite3.OperationalError:
                    return False

        cases.wait(stored, "the process")
    finally:
        agent.terminate()
        _, err = agent.communicate(timeout=LIMIT)
    expect(agent.returncode == 0 and "belongs to user %d" % MALLORY in err, "%d: %s", agent.returncode, err)


CASES = {f.__name__.replace("_", "-"): f for f in (
    shm_full, shm_full_tmpdir, bare_full, no_room, no_room_exec, no_start, full_later, many, same_log, packed_twice, killed,
    still_there, live, unwritten, taken, flood, unsteady, system_agent, all_packed, own_agent)}  # fmt: skip


def inside(build, name):
    """In a mount namespace of its own."""
    work = tempfile.mkdtemp(prefix="place-", dir=os.path.join(build, "tests"))
    os.chmod(work, 0o755)
    try:
        CASES[name](Case(build, work))
    finally:
        subprocess.run("umount %s/* 2>/dev/null" % work, shell=True)
        shutil.rmtree(work, ignore_errors=True)


def perform(build, name):
    if os.geteuid() != 0:
        raise Skip("only root can make small file systems and be other users")
    unshare = ["unshare", "-m", "--propagation", "private", sys.executable, __file__]
    done = subprocess.run([*unshare, "--inside", os.path.abspath(build), name])
    expect(done.returncode == 0, "status %d", done.returncode)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        cases.main(CASES, inside, sys.argv[2:])
    cases.main(CASES, perform)
