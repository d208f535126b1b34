#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`iorama watch`: driven on a terminal as people do, and compared with what it says as JSON and with what the observed
programs know themselves."""
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl

import harness
import loads
import terminal
from harness import Failed, Skip, expect

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "report"))
import human  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

WRITES = 600
SIZE = 65536


class Busy:
    """A job that writes WRITES times SIZE bytes in each of its threads (and one byte, which makes the file as long as it will
    be), then holds still until it is told to end."""

    def __init__(self, case, name, threads=1, pace=0, calls=WRITES, size=SIZE):
        self.case, self.name, self.total = case, name, threads * (calls * size + 1)
        env = case.observed(IORAMA_JOB=name, IORAMA_JOBID="77", IORAMA_LIVE=None)
        self.load = loads.Load(case, threads=threads, calls=calls, mode="write", env=env,
                               extra=("--size", str(size), "--pace", str(pace), "--hold"))  # fmt: skip
        self.load.start()

    @property
    def pid(self):
        return self.load.process.pid

    def written(self):
        return find(look(self.case), self.name)["total"]["bytes_written"]

    def settle(self):
        """Waits until all is written; from then on no figure but times changes."""
        self.case.wait(lambda: self.written() == self.total, "the last write of %s" % self.name)
        return self


def look(case, *words, interval="0.1", env=None):
    done = case.command("watch", "--once", "--json", "--interval", interval, *words, env=env)
    return json.loads(done.stdout)


def find(document, name):
    jobs = [j for j in document["jobs"] if j["name"] == name]
    expect(len(jobs) == 1, "%d jobs %s", len(jobs), name)
    return jobs[0]


def has(*texts):
    return lambda screen: all(any(text in line for line in screen) for text in texts)


def line_of(screen, text):
    """The line of a table that holds a text; titles are above."""
    found = [line for line in screen[2:-1] if text in line]
    return found[0] if found else ""


def watch(case, t, *words, interval="0.2"):
    t.start("sh", "-c", 'echo before the screen; exec "$@"', "sh", case.iorama, "watch", "--interval", interval, *words)
    return t


# ---- text and JSON


def once(case):
    """Plain text has the figures of the document, in the units of reports."""
    job = Busy(case, "run-1-a", threads=2).settle()
    said = look(case)
    one = find(said, "run-1-a")
    expect(one["program"] == "live_load", "program: %s", one["program"])
    expect(one["total"]["writes"] == 2 * (WRITES + 1), "writes: %s", one["total"])
    expect(one["layers"]["POSIX"]["bytes_written"] == job.total, "layers: %s", one["layers"])
    expect(one["rate"] == {"read": 0, "write": 0, "ops": 0}, "rates of a job that rests: %s", one["rate"])
    expect(one["ranks"][0]["pid"] == job.pid, "pid %s, not %d", one["ranks"][0]["pid"], job.pid)
    expect(one["ranks"][0]["waits"] == "computing", "waits in %s", one["ranks"][0]["waits"])
    truth = {os.path.basename(f["name"]): f["total"]["bytes_written"] for f in one["files"] if f["total"]["writes"]}
    expect(truth == {"data.0": job.total // 2, "data.1": job.total // 2}, "files: %s", truth)
    text = case.command("watch", "--once", "--interval", "0.1").stdout
    for part in ("live_load", "run-1-a", "written %s" % human.size(job.total), human.size(job.total // 2), "data.1"):
        expect(part in text, "no '%s' in\n%s", part, text)
    expect("\033" not in text, "control characters in a pipe")
    expect("\033[" in case.command("watch", "--once", "--color", "always", "--interval", "0.1").stdout, "no colour")
    for width in (40, 60, 80, 120, 200):
        text = case.command("watch", "--once", "--interval", "0.1", "--width", str(width)).stdout
        expect(max(map(len, text.splitlines())) <= width, "lines wider than %d:\n%s", width, text)
    ascii_only = case.environment(LC_ALL="C")
    expect(case.command("watch", "--once", "--interval", "0.1", env=ascii_only).stdout.isascii(), "not ASCII")


def chosen(case):
    """By name, key, number or process; what is not there is said."""
    one, two = Busy(case, "run-1-a", calls=3).settle(), Busy(case, "run-2-b", calls=5).settle()
    expect(len(look(case)["jobs"]) == 2, "not two jobs")
    for word in ("run-2-b", "%d/run-2-b" % os.geteuid(), str(two.pid)):
        jobs = look(case, word)["jobs"]
        expect([j["name"] for j in jobs] == ["run-2-b"], "%s gives %s", word, [j["name"] for j in jobs])
    expect(len(look(case, "77")["jobs"]) == 2, "the number of both jobs")
    del one
    done = case.command("watch", "--once", "--interval", "0.1", "nobody", status=3)
    expect(done.stderr.count("\n") == 1 and "nobody" in done.stderr, "%s", done.stderr)
    case.command("watch", "--interval", "0", status=2)
    case.command("watch", "--sort", "colour", status=2)
    case.command("watch", "--dir", case.path("not-there"), status=2)
    case.command("watch", "a", "b", status=2)


def nothing(case):
    done = case.command("watch", "--once", "--interval", "0.1")
    expect("Nothing is being observed" in done.stdout and "iorama run" in done.stdout, "%s", done.stdout)
    expect(look(case)["jobs"] == [], "jobs from nowhere")
    with terminal.Terminal(case, 80, 24) as t:
        watch(case, t)
        t.wait(has("Nothing is being observed", "iorama run -- ./app"), "what to do")
        Busy(case, "run-1-a")
        t.wait(lambda s: "live_load" in line_of(s, "live_load"), "the job that came")


def stream(case):
    """--json without --once: a document per look, until the reader goes."""
    Busy(case, "run-1-a").settle()
    with subprocess.Popen([case.iorama, "watch", "--json", "--interval", "0.1"], env=case.environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:  # fmt: skip
        times = [json.loads(p.stdout.readline())["time"] for _ in range(5)]
        expect(times == sorted(set(times)), "times: %s", times)
        p.stdout.close()
        expect(p.wait(60) == 0, "status %d: %s", p.returncode, p.stderr.read())


def waiting(case):
    """A call that lasts is shown while it lasts: which function, on what, how long."""
    fifo = os.path.join(case.work, "slow.fifo")
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDWR)
    env = case.observed(IORAMA_JOB="run-1-a", IORAMA_LIVE=None)
    case.start("cat", fifo, env=env)

    def at_work():
        return find(look(case), "run-1-a")["ranks"][0]["at_work"]

    def stuck():
        calls = at_work()
        return calls and calls[0]["since"] > 0.3 and calls

    call = case.wait(stuck, "a call at work")[0]
    begun = time.monotonic() - call["since"]  # at the latest
    expect(call["function"] == "read" and call["class"] == "read" and call["file"] == os.path.realpath(fifo), "%s", call)
    rank = find(look(case, interval="0.3"), "run-1-a")["ranks"][0]
    expect(rank["waits"] == "reading" and rank["share"] > 0.9, "waits in %s, %s", rank["waits"], rank["share"])
    text = case.command("watch", "--once", "--interval", "0.3").stdout
    expect(re.search(r"read [0-9.]+ m?s .*slow\.fifo", text), "%s", text)
    os.write(keep, b"x")

    def another():
        """None, or one that began later; however slow this machine is."""
        now = time.monotonic()
        calls = at_work()
        return not calls or calls[0]["since"] < now - begun

    case.wait(another, "its end")
    os.close(keep)


# ---- the screen


def keys(case):
    job = Busy(case, "run-1-a", threads=2).settle()
    other = Busy(case, "run-2-b", calls=10).settle()
    with terminal.Terminal(case, 120, 30) as t:
        watch(case, t, "--sort", "moved")
        t.wait(has("2 jobs, 2 processes", "program", "q quit", "sort: moved"), "the list of jobs")
        t.keys("Enter")
        screen = t.wait(has("› live_load run-1-a", "waits in", "Enter files"), "ranks of the larger job")
        expect(str(job.pid) in line_of(screen, str(job.pid)), "no process %d", job.pid)
        t.keys("Enter")
        t.wait(has("rank 0 › files", "data.0", "data.1"), "files of the rank")
        t.type("/")
        t.type("a.1")
        t.wait(lambda s: s[-1].startswith(" /a.1") and not line_of(s, "data.0"), "the filter")
        t.keys("Enter")
        t.wait(lambda s: "filter: a.1" in s[-1] and line_of(s, "data.1") and not line_of(s, "data.0"), "it stays")
        t.keys("Escape")
        t.wait(lambda s: line_of(s, "data.0") and line_of(s, "data.1"), "the filter gone")
        t.keys("BSpace")
        t.wait(has("waits in"), "ranks again")
        t.keys("f")
        t.wait(lambda s: "› files" in s[0] and "rank 0" not in s[0] and line_of(s, "data.1"), "files of the job")
        t.keys("Left")
        t.wait(has("waits in"), "ranks again")
        t.keys("Escape")
        t.wait(has("2 jobs"), "jobs again")
        t.keys("Down", "Right")
        t.wait(has("› live_load run-2-b"), "the other job")
        t.keys("Left", "s")
        t.wait(has("sort: name", "program▼"), "another order")
        t.type("S")
        t.wait(has("program▲"), "the other way round")
        t.type("?")
        t.wait(has("choose a line", "pause, go on", "█ reading"), "help")
        t.type("?")
        t.wait(has("2 jobs"), "no help")
        t.keys("Space")
        stopped = t.wait(has("paused"), "a pause")[0]
        case.end(other.load.process, status=None, send=signal.SIGKILL)
        case.wait(lambda: len(look(case, interval="0.5")["jobs"]) == 1, "that other looks see one job only")
        expect(t.screen()[0] == stopped, "the clock goes on: %s", t.screen()[0])
        t.keys("Space")
        t.wait(lambda s: "paused" not in s[0] and has("2 jobs, 1 process ")(s), "going on")
        t.type("q")
        t.wait(lambda s: t.ended() == "0", "the end")
        expect(t.screen()[0] == "before the screen" and not any(t.screen()[1:]), "screen: %s", t.screen())


def numbers(case):
    """What stands on the screen is what --json says: exactly when nothing moves, nearly while it does."""
    job = Busy(case, "run-1-a", threads=1).settle()
    with terminal.Terminal(case, 160, 30) as t:
        watch(case, t)
        t.wait(has("1 job, 1 process"), "the job")
        one = find(look(case), "run-1-a")
        t.wait(has("read %s, written %s" % (human.size(one["total"]["bytes_read"]), human.size(job.total))), "totals")
        line = line_of(t.screen(), "live_load")
        expect(human.size(one["total"]["bytes_read"] + job.total) in line, "moved: %s", line)
        t.keys("Enter", "Enter")
        t.wait(has("data.0"), "the file")
        file = one["files"][0]
        for part in (human.size(file["total"]["bytes_written"]), human.seconds(file["longest"])):
            expect(part in line_of(t.screen(), "data.0"), "no %s in %s", part, line_of(t.screen(), "data.0"))
        t.type("q")
        t.wait(lambda s: t.ended(), "the end")
    pace = Busy(case, "run-2-b", pace=2000, calls=1000000, size=4096)
    with terminal.Terminal(case, 161, 30) as t:
        watch(case, t, "run-2-b", interval="1")
        rates = [find(look(case, "run-2-b", interval="1"), "run-2-b")["rate"] for _ in range(3)]
        screen = t.wait(lambda s: re.search(r"write [\d.]+ [KM]iB/s +[\d,]+ ops/s", s[1]), "rates")
        found = re.search(r"write ([\d.]+) ([KM])iB/s +([\d,]+) ops/s", screen[1])
        ops = int(found[3].replace(",", ""))
        unit = {"K": 1024, "M": 1048576}[found[2]]
        write = float(found[1]) * unit
        low, high = min(r["ops"] for r in rates) / 2, max(r["ops"] for r in rates) * 2
        expect(low <= ops <= high, "%d ops/s on the screen, %s in JSON", ops, rates)
        expect(abs(write / 4096 - ops) <= 0.05 * unit / 4096 + 1, "%s B/s do not go with %d writes/s of 4 KiB", write, ops)
        for rate in rates:
            expect(0 < rate["ops"] <= 510, "more calls than the pace allows: %s", rate)
            expect(abs(rate["write"] - 4096 * rate["ops"]) < 1, "4 KiB each: %s", rate)
    del pace


def resize(case):
    """Down to 40 x 10, below that, and back: nothing breaks, keys go on working."""
    jobs = [Busy(case, "run-%d-a" % i, calls=3 + i).settle() for i in range(3)]
    with terminal.Terminal(case, 120, 30) as t:
        watch(case, t)
        t.wait(has("3 jobs, 3 processes"), "the jobs")
        for columns, rows in ((40, 10), (200, 50), (60, 12), (15, 4), (2, 2), (80, 24)):
            t.resize(columns, rows)
            if columns >= 40:
                t.wait(lambda s, c=columns, r=rows: len(s) == r and s[0].startswith("iorama watch") and "q quit" in s[-1]
                       and sum("live_load" in x for x in s) == 3 and max(map(len, s)) <= c, "%d x %d" % (columns, rows))  # fmt: skip
        t.resize(40, 10)
        t.keys("Down", "Enter")
        t.wait(has("rank", "Esc back"), "ranks at 40 x 10")
        t.resize(120, 30)
        t.wait(has("waits in"), "ranks at 120 x 30")
        t.type("q")
        t.wait(lambda s: t.ended() == "0", "the end")
    del jobs


def plain_terminals(case):
    """Without UTF-8 only ASCII; with NO_COLOR no colour, but all words; a terminal that can do nothing is told so."""
    Busy(case, "run-1-a", threads=2).settle()
    with terminal.Terminal(case, 100, 20, LC_ALL="C") as t:
        watch(case, t)
        screen = t.wait(has("live_load", "q quit"), "the screen")
        expect("\n".join(screen).isascii(), "not ASCII: %s", screen)
    colour = re.compile(r"\033\[[0-9;]*(3[1-8]|4[1-8])[0-9;]*m")
    for env, wanted in (({}, True), ({"NO_COLOR": "1"}, False)):
        with terminal.Terminal(case, 101 + wanted, 20, **env) as t:
            watch(case, t)
            t.wait(has("live_load", "q quit"), "the screen")
            expect(bool(colour.search("\n".join(t.screen(style=True)))) == wanted, "colour with %s", env)
    with terminal.Terminal(case, 103, 20, TERM="no-such-terminal") as t:
        t.start("env", "TERM=no-such-terminal", case.iorama, "watch")
        t.wait(lambda s: t.ended() == "4" and has("--once")(s), "that this terminal cannot")


def ended_jobs(case):
    """A job that has ended is grey for some seconds, then gone."""
    job = Busy(case, "run-1-a").settle()
    other = Busy(case, "run-2-b", calls=9).settle()
    with terminal.Terminal(case, 120, 20) as t:
        watch(case, t, "--sort", "name")
        t.wait(has("2 jobs, 2 processes"), "both")
        t.keys("Down")  # the line of the first is not the chosen one
        job.load.process.kill()
        t.wait(has("2 jobs, 1 process "), "the end of one")
        grey = [x for x in t.screen(style=True) if "live_load" in x]
        expect(any("\033[2m" in x for x in grey), "no line is grey: %r", grey)
        t.wait(has("1 job, 1 process "), "its line gone")
    del other


def killed(case):
    """Signals that end it leave the terminal as it was."""
    Busy(case, "run-1-a").settle()
    for number, sign in ((15, signal.SIGTERM), (1, signal.SIGHUP), (2, signal.SIGINT)):
        with terminal.Terminal(case, 100 + number, 20) as t:
            script = 'stty -g > "$1.a"; shift; "$@"; status=$?; stty -g > "$0"; exit $status'
            before, after = case.path("stty.%d" % number), case.path("stty.%d.b" % number)
            t.start("sh", "-c", script, after, before, case.iorama, "watch", "--interval", "0.2")
            t.wait(has("live_load", "q quit"), "the screen")
            shell = t.foreground()
            with open("/proc/%d/task/%d/children" % (shell, shell), encoding="ascii") as file:
                os.kill(int(file.read().split()[0]), sign)
            t.wait(lambda s: t.ended() == str(128 + number), "its end by signal %d" % number)
            expect(not has("live_load")(t.screen()), "the screen stays: %s", t.screen())
            with open(before + ".a", encoding="ascii") as a, open(after, encoding="ascii") as b:
                expect(a.read() == b.read(), "the settings of the terminal changed")


def live_events(case):
    """l asks, then switches the events of the job on; and off again."""
    job = Busy(case, "run-1-a", pace=1000, calls=1000000, size=64)
    with terminal.Terminal(case, 120, 20) as t:
        watch(case, t)
        t.wait(has("live_load", "1 job, 1 process "), "the job")
        expect(not find(look(case), "run-1-a")["events"]["on"], "events are on from the start")
        t.type("l")
        t.wait(lambda s: "switch on? y n" in s[-1], "the question")
        t.type("n")
        t.wait(lambda s: "left as it is" in s[-1], "no")
        t.type("ly")
        t.wait(lambda s: "live events are on for 1 process" in s[-1] and "iorama agent" in s[-1], "yes")
        t.wait(has("no agent reads them"), "that nobody reads")
        case.wait(lambda: find(look(case), "run-1-a")["events"]["made"] > 0, "events")
        agent = case.agent()
        t.wait(has("agent %d reads" % agent.pid), "the agent")
        t.type("ly")
        t.wait(lambda s: "live events are off for 1 process" in s[-1], "off")
        expect(not find(look(case), "run-1-a")["events"]["on"], "events are still on")
    del job


def frugal(case):
    """Over a slow line: few bytes per look while four jobs move, none when nothing does but the clock."""
    jobs = [Busy(case, "run-%d-a" % i, pace=5000, calls=1000000, size=4096) for i in range(4)]
    case.wait(lambda: len(look(case)["jobs"]) == 4, "four jobs")
    pid, fd = pty.fork()
    if pid == 0:
        env = case.environment(TERM="xterm-256color")
        os.execve(case.iorama, [case.iorama, "watch", "--interval", "0.5"], env)
    ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    try:
        bursts, text = [], b""
        while len(bursts) < 12:
            if not select.select([fd], [], [], 60)[0]:
                raise Failed("nothing comes: %r" % text)
            burst = b""
            while select.select([fd], [], [], 0.1)[0]:  # one look is written at once
                burst += os.read(fd, 65536)
            bursts.append(len(burst))
            text += burst
        whole, rest = max(bursts[:4]), sorted(bursts[4:])
        print("bytes: first screen %d, then per look %s" % (whole, bursts[4:]))
        expect(rest[len(rest) // 2] <= 700, "%s bytes per look", rest)
        os.write(fd, b"q")
        while os.read(fd, 65536):
            pass
    except OSError:
        pass  # the other end is closed
    finally:
        os.kill(pid, signal.SIGKILL) if os.waitpid(pid, os.WNOHANG) == (0, 0) else None
    del jobs


def users(case):
    """Root sees all, with their owners; others see their own jobs alone."""
    if os.geteuid() != 0:
        raise Skip("only root can be somebody else")
    os.chmod(case.folder, 0o755)
    os.chmod(case.work, 0o777)
    uid = 61234
    place = "/dev/shm/iorama-%d" % uid
    if os.path.exists(place):
        raise Skip("%s is in use" % place)
    program = case.compile("live_load")
    as_other = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    env = case.observed(IORAMA_DIR=None, IORAMA_JOB="run-9-z", IORAMA_LIVE=None)
    bare = case.environment(IORAMA_DIR=None)
    strange = "/dev/shm/iorama-%d" % (uid + 1)  # of another user than its name says
    if os.path.exists(strange):
        raise Skip("%s is in use" % strange)
    try:
        os.makedirs(strange, mode=0o700)
        work = os.path.join(case.work, "strange")
        os.makedirs(work)
        case.start(program, "--calls", "5", "--hold", work, env={**env, "IORAMA_DIR": strange}, stdin=subprocess.PIPE)
        p = case.start(*as_other, program, "--calls", "5", "--hold", case.work, env=env, stdin=subprocess.PIPE)
        name = "%d/run-9-z" % uid
        one = case.wait(lambda: [j for j in look(case, env=bare)["jobs"] if j["key"] == name], "the job, seen by root")[0]
        expect(one["uid"] == uid and one["user"] == str(uid), "owner: %s", one)
        case.wait(lambda: look(case, "--dir", strange, env=bare)["jobs"], "the job in the strange directory")
        expect([j["name"] for j in look(case, env=bare)["jobs"]].count("run-9-z") == 1, "a strange directory was taken")
        done = case.run(*as_other, case.iorama, "watch", "--once", "--json", "--interval", "0.1", env=bare)
        expect([j["key"] for j in json.loads(done.stdout)["jobs"]] == [name], "%s", done.stdout)
        mine = Busy(case, "run-1-a", calls=3).settle()
        done = case.run(*as_other, case.iorama, "watch", "--once", "--json", "--interval", "0.1",
                        "--dir", case.folder, env=bare)  # fmt: skip
        expect(json.loads(done.stdout)["jobs"] == [], "sees others' jobs: %s", done.stdout)
        del mine
        p.stdin.close()
        case.end(p)
    finally:
        case.stop_all()
        for path in (place, strange):
            shutil.rmtree(path, ignore_errors=True)


CASES = {
    "once": once,
    "chosen": chosen,
    "nothing": nothing,
    "stream": stream,
    "waiting": waiting,
    "keys": keys,
    "numbers": numbers,
    "resize": resize,
    "plain-terminals": plain_terminals,
    "ended": ended_jobs,
    "killed": killed,
    "live-events": live_events,
    "frugal": frugal,
    "users": users,
}

if __name__ == "__main__":
    harness.main(CASES)
