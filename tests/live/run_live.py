#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`iorama run --live`: what is seen is stored, told at the end, and whatever happens to the agent the command is unharmed."""
import contextlib
import glob
import json
import os
import signal
import subprocess
import time

import harness
import loads
import terminal
from harness import MPICH, OPENMPI, expect


def told(text):
    """The line of JSON that `run --json` ends with."""
    return json.loads(text.strip().splitlines()[-1])


def load_of(case, *words, **more):
    """A program under `iorama run --live WORDS`."""
    more.setdefault("env", case.environment())
    return loads.Load(case, wrap=[case.iorama, "run", "--live", *words, "--"], **more)


def agent_pid(case):
    """The agent that `iorama run` started, once it is at work."""
    paths = glob.glob(case.path("spool.run", "*", "status.json"))
    with open(paths[0], encoding="utf-8") as file:
        return json.load(file)["pid"]


def nothing_left(case):
    """Neither segments nor spool of the run stay behind."""
    for pattern in ("segments/*", "spool.run/*"):
        left = glob.glob(case.path(pattern))
        expect(not left, "%s stay behind", left)


def exact(case, family=None, ranks=1, calls=20000):
    # UCX, below some MPICH, would take mmap away from everybody who observes it
    env = case.environment(UCX_MEM_EVENTS="no")
    load = load_of(case, "--json", threads=2, calls=calls, ranks=ranks, family=family, env=env)
    done = case.run(*load.command(), env=load.environment(), stdin=subprocess.DEVNULL)
    load.truth = json.loads(done.stdout)
    said = told(done.stderr)
    events = said["events"]
    expect(events["trouble"] is None, "%s", events["trouble"])
    expect(events["seen"] == events["stored"] and events["lost"] == events["waiting"] == 0, "events: %s", events)
    expect(events["seen"] >= load.calls, "%d events of %d calls", events["seen"], load.calls)
    load.check()
    job = case.rows("SELECT * FROM jobs WHERE key = ?", events["job"])
    expect(len(job) == 1, "%d jobs %s", len(job), events["job"])
    expect(job[0]["events"] == events["stored"], "the store says %d events, run %d", job[0]["events"], events["stored"])
    expect(job[0]["logged"] == 1, "the log is not in the store")
    expect(case.value("SELECT COUNT(*) FROM jobs") == 1, "the job is there twice")
    expect(os.path.exists(said["log"]), "there is no log")
    nothing_left(case)


def plain(case):
    exact(case)


def openmpi(case):
    exact(case, OPENMPI, ranks=4, calls=4000)


def mpich(case):
    exact(case, MPICH, ranks=4, calls=4000)


def text(case):
    """For people: one line, the place, and no control characters where there is no terminal."""
    load = load_of(case, "--tag", "night-run", calls=500)
    done = case.run(*load.command(), env=load.environment(), stdin=subprocess.DEVNULL)
    load.truth = json.loads(done.stdout)
    line = [x for x in done.stderr.splitlines() if x.startswith("events: ")]
    expect(len(line) == 1, "no line of events: %s", done.stderr)
    n = case.value("SELECT events FROM jobs")
    expect(line[0] == "events: {0:,} seen, {0:,} stored, 0 lost".format(n), "%s; the store has %d", line[0], n)
    expect(case.path("store.db") in done.stderr, "the store is not named")
    expect("\033" not in done.stderr and "\r" not in done.stderr, "control characters in %r", done.stderr)
    expect(case.value("SELECT tag FROM processes") == "night-run", "the tag is not known")
    shown = case.run(case.iorama, "query", "--job", "last", "--op", "write", "--limit", "1").stdout.splitlines()
    columns = shown[0].split()
    expect(columns[:7] == ["time", "took", "job", "rank", "tid", "call", "parent"], "columns are %s", columns)
    want = case.rows("SELECT tid, call, parent FROM events WHERE op = 'write' ORDER BY end_ns LIMIT 1")[0]
    row = " ".join(shown[-1].split())  # `took` has two words
    expect(" %(tid)d %(call)d %(parent)d POSIX " % want in row, "%s, not %s", row, want)


def status(case):
    """The exit status is the command's, whatever the events do."""
    case.command("run", "--live", "--", "sh", "-c", "exit 7", status=7)
    case.command("run", "--live", "-q", "--", "sh", "-c", "kill -9 $$", status=137)
    case.command("run", "--live", "--", "no-such-command", status=127)
    case.command("run", "--store", "x.db", "--", "true", status=2)
    case.command("run", "--live", "--tag", "a b", "--", "true", status=2)
    nothing_left(case)


def ends_soon(case):
    """With its command, not with the next second of the agent: the best of some, on a machine that has more to do."""
    turns = [0]

    def measure():
        began = time.monotonic()
        case.command("run", "--live", "-q", "--", "true")
        turns[0] += 1
        return time.monotonic() - began

    harness.cases.best(12, measure, lambda took: took < 0.8, "run --live of a command that does nothing")
    expect(case.value("SELECT COUNT(*) FROM jobs") == turns[0], "not all jobs are in the store")
    nothing_left(case)


def no_index(case):
    load = load_of(case, "--json", "--no-index", calls=200)
    case.run(*load.command(), env=load.environment(), stdin=subprocess.DEVNULL)
    expect(case.value("SELECT logged FROM jobs") == 0, "the log is in the store")


def many_short(case):
    """Processes that end at once, faster than anybody looks: none of their events is missed."""
    script = 'i=0; while [ $i -lt 40 ]; do cat "$1" > "$2/out.$i"; i=$((i + 1)); done'
    source = os.path.join(case.work, "source")
    with open(source, "w", encoding="utf-8") as file:
        file.write("x" * 1000)
    done = case.command("run", "--live", "--json", "--", "sh", "-c", script, "sh", source, case.work)
    events = told(done.stderr)["events"]
    expect(events["seen"] == events["stored"] > 0 and events["lost"] == 0, "events: %s", events)
    n = case.value("SELECT COUNT(*) FROM events WHERE file = ? AND op = 'open'", os.path.realpath(source))
    expect(n == 40, "%d of 40 opens", n)


def shared(case):
    """An agent that reads all jobs already: no second one, and it goes on afterwards."""
    agent = case.agent()
    load = load_of(case, "--json", calls=5000)
    done = case.run(*load.command(), env=load.environment(), stdin=subprocess.DEVNULL)
    load.truth = json.loads(done.stdout)
    events = told(done.stderr)["events"]
    expect(not glob.glob(case.path("spool.run", "*")), "a second agent was started")
    expect(events["seen"] == events["stored"] and events["lost"] == events["waiting"] == 0, "events: %s", events)
    load.check()
    expect(agent.poll() is None, "the agent ended")
    case.end(agent, send=signal.SIGTERM)


def agent_killed(case):
    """kill -9 of the agent in the middle: told, the command is unharmed, and with another agent nothing is lost."""
    load = load_of(case, "--json", threads=2, calls=3000, extra=("--gate", "--pace", "300")).start()
    pid = case.wait(lambda: agent_pid(case), "an agent")
    load.go()
    case.wait(lambda: case.value("SELECT COUNT(*) FROM processes"), "the first rows")
    os.kill(pid, signal.SIGKILL)
    case.wait(lambda: agent_pid(case) != pid or load.process.poll() is not None, "another agent")
    load.end()
    events = told(load.process.said())["events"]
    expect(events["agent_restarts"] == 1, "restarts: %s", events)
    expect("agent" in (events["trouble"] or ""), "nothing is told: %s", events)
    expect(events["seen"] == events["stored"] and events["lost"] == 0, "events: %s", events)
    load.check()


def no_store(case):
    """A store that cannot be had: the command runs, its log is there, and it is said."""
    load = load_of(case, "--json", "--store", case.path("nothing", "here", "\n", "x.db"), calls=300)
    with open(case.path("nothing"), "w", encoding="utf-8"):
        pass  # a file where a directory should be
    done = case.run(*load.command(), env=load.environment(), stdin=subprocess.DEVNULL)
    load.truth = json.loads(done.stdout)
    said = told(done.stderr)
    events = said["events"]
    expect(os.path.exists(said["log"]), "there is no log")
    expect(events["trouble"], "no trouble is told: %s", events)
    expect(events["stored"] == 0 and events["seen"] >= load.calls, "events: %s", events)
    expect(events["seen"] == events["lost"] + events["waiting"], "events: %s", events)
    with contextlib.suppress(OSError, IndexError):
        os.kill(agent_pid(case), signal.SIGKILL)  # it would try for some time yet


def no_spool(case):
    """No place for a spool: no agent, which is said; the rest is as without --live."""
    env = case.environment(IORAMA_SPOOL="/dev/null/spool")
    load = load_of(case, "--json", calls=300, env=env)
    done = case.run(*load.command(), env=env, stdin=subprocess.DEVNULL)
    load.truth = json.loads(done.stdout)
    events = told(done.stderr)["events"]
    expect("no agent" in (events["trouble"] or ""), "events: %s", events)
    expect(events["stored"] == 0 and events["seen"] == events["lost"] >= load.calls, "events: %s", events)


def goes_on(case):
    """A process that the command leaves behind: the agent stays with it, and in the end all is stored."""
    load = load_of(case, calls=1)
    inner = " ".join(str(w) for w in load.words[:1] + ["--calls", "3000", "--pace", "300", load.folder])
    done = case.command("run", "--live", "--", "sh", "-c", inner + " > %s & sleep 0.2" % case.path("truth"))
    expect("events: " in done.stderr, "%s", done.stderr)
    truth = case.wait(lambda: json.load(open(case.path("truth"), encoding="utf-8")), "its end")
    calls = truth["ranks"][0]["calls"]
    case.wait(lambda: case.value("SELECT COUNT(*) FROM events WHERE file LIKE ?", load.folder + "/measured.0/%") == calls,
              "all %d events in the store" % calls)  # fmt: skip
    with contextlib.suppress(OSError, IndexError):
        os.kill(agent_pid(case), signal.SIGTERM)


def interrupted(case):
    """Ctrl-C reaches the command, not the agent: what happened before it is stored."""
    load = load_of(case, "--json", threads=1, calls=10000000, extra=("--pace", "200"))
    process = load.start(start_new_session=True).process
    case.wait(lambda: case.value("SELECT events FROM jobs") > 500, "events in the store")
    os.killpg(process.pid, signal.SIGINT)
    case.end(process, status=130)
    events = told(process.said())["events"]
    expect(events["seen"] == events["stored"] > 500 and events["lost"] == 0, "events: %s", events)


def line(case):
    """On a terminal: a line at the bottom while it runs, the command's own lines as they are, and nothing in the end."""
    program = case.compile("live_load")
    # four lines of its own, then work, then the last one
    script = 'for i in 1 2 3 4; do echo "line $i"; done; "$1" --pace 1000 --calls 1000000 --hold "$2" > "$3"; echo "the end"'
    with terminal.Terminal(case, 90, 12) as t:
        t.start(case.iorama, "run", "--live", "-o", case.path("x.darshan"), "--", "sh", "-c", script, "sh", program,
                case.work, case.path("truth"))  # fmt: skip
        t.wait(lambda s: s[-1].startswith("live: ") and "KiB/s" in s[-1] and "events" in s[-1], "the live line")
        screen = t.screen()
        expect([x for x in screen if x.startswith("line ")] == ["line %d" % i for i in range(1, 5)], "lines: %s", screen)
        t.resize(70, 20)
        t.wait(lambda s: len(s) == 20 and s[-1].startswith("live: "), "the live line after resizing")
        t.keys("C-c")
        t.wait(lambda s: any("events: " in x and "0 lost" in x for x in s) and t.ended(), "the end")
        expect(not any(x.startswith("live: ") for x in t.screen()), "the line is still there: %s", t.screen())


CASES = {
    "plain": plain,
    "openmpi": openmpi,
    "mpich": mpich,
    "text": text,
    "status": status,
    "ends-soon": ends_soon,
    "no-index": no_index,
    "short": many_short,
    "shared": shared,
    "agent-killed": agent_killed,
    "no-store": no_store,
    "no-spool": no_spool,
    "goes-on": goes_on,
    "interrupted": interrupted,
    "line": line,
}

if __name__ == "__main__":
    harness.main(CASES)
