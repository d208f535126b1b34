#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Focus: of the processes of a job only the slowest makes events, and it follows when another is slow."""
import os
import random
import signal
import time

import harness
import servers
from harness import expect

PROCESSES = 8


class Job:
    """Processes that write, each as fast or slow as it is told."""

    def __init__(self, case):
        self.case, self.control = case, case.path("control")
        self.say(None)
        # each process is the shell that was started for it: its number is known
        script = 'i=0; while [ $i -lt %d ]; do sh -c \'echo $$ > "$4.pid.$3"; exec "$0" "$1.$3" "$2" "$3"\' "$0" "$1" "$2" $i "$2" & i=$((i + 1)); done; wait'
        self.run = case.start(case.iorama, "run", "-q", "-o", case.path("log.darshan"), "--", "sh", "-c", script % PROCESSES,
                              case.compile("focus"), os.path.join(case.work, "data"), self.control)  # fmt: skip
        self.pids = [case.wait(lambda n=n: int(harness.text_of("%s.pid.%d" % (self.control, n)) or 0), "process %d" % n) for n in range(PROCESSES)]

    def say(self, slow, end=False):
        words = ["q" if end else "s" if i == slow else "f" for i in range(PROCESSES)]
        # in place: it is mapped
        with open(self.control, "r+b" if os.path.exists(self.control) else "w+b") as file:
            file.write("".join(words).encode().ljust(4096, b"\0"))

    def end(self):
        self.say(None, end=True)
        self.case.end(self.run)


def of_others(case, pid, since):
    """events that began after this moment: of this process, of others"""
    rows = case.rows("SELECT p.pid AS pid, count(*) AS n FROM events e JOIN processes p ON p.number = e.process "
                     "WHERE e.start_ns > ? GROUP BY p.pid", since)  # fmt: skip
    return sum(r["n"] for r in rows if r["pid"] == pid), {r["pid"]: r["n"] for r in rows if r["pid"] != pid}


def focused(case):
    """who is focused on, in the job of many processes"""
    return [f for f in case.status().get("focus", []) if f["others"] >= PROCESSES - 1 and f["job"] != "servers"]


def follows(case):
    agent = case.agent("--focus", env=case.environment(IORAMA_FOCUS_CALLS="50"))
    job = Job(case)
    order = random.sample(range(PROCESSES), 2)
    print("# slow: %s" % order)
    for turn, slow in enumerate(order):
        job.say(slow)
        pid = job.pids[slow]
        told = case.wait(lambda pid=pid: [f for f in focused(case) if f["pid"] == pid], "focus on process %d" % slow)[0]
        since = time.time_ns()
        expect(told["switches"] >= turn and told["left_out"] > 0, "it says %s", told)
        case.wait(lambda pid=pid, since=since: of_others(case, pid, since)[0] >= 100, "events of process %d" % slow)
        mine, others = of_others(case, pid, since)
        # it may have moved and come back: then it says so
        now = [f for f in focused(case) if f["pid"] == pid]
        expect(now and (now[0]["switches"] != told["switches"] or others == {}), "%d events of it, %s of others; %s", mine, others, now)
        shown = case.command("agent", "--status").stdout
        expect("process %d on" % pid in shown and "others send sums" in shown, "--status: %s", shown)
    # the sums of all are there: more bytes than any one of them wrote
    wrote = case.rows("SELECT p.pid AS pid, sum(t.bytes_written) AS n FROM activity t JOIN processes p ON p.number = t.process GROUP BY p.pid")
    expect({r["pid"] for r in wrote if r["n"]} >= set(job.pids), "sums: %s", wrote)
    job.end()
    case.end(agent, send=signal.SIGTERM)


def asked(case):
    """What a process asked for holds again when the agent ends; limits that make no sense are refused."""
    case.command("agent", "--focus", "--events", "on", status=2)
    case.command("agent", "--focus", env=case.environment(IORAMA_FOCUS_RATIO="0.5"), status=2)
    control = case.path("control")
    with open(control, "wb") as file:
        file.write(b"f".ljust(4096, b"\0"))
    one = case.start(case.compile("focus"), os.path.join(case.work, "data"), control, "0", env=case.observed(IORAMA_LIVE="POSIX"))
    case.wait(lambda: "POSIX" in case.command("live", one.pid).stdout, "the process")
    agent = case.agent("--focus", env=case.environment(IORAMA_FOCUS_CALLS="1000000"))
    case.wait(lambda: case.status()["segments"] == 1 and "POSIX" not in case.command("live", one.pid).stdout, "no events")
    case.end(agent, send=signal.SIGTERM)
    expect("POSIX" in case.command("live", one.pid).stdout, "it makes no events any more")
    one.kill()
    one.wait()


def killed(case):
    """An agent that is killed leaves nobody chosen: the process itself sees it, and so does the next agent."""
    control = case.path("control")
    with open(control, "wb") as file:
        file.write(b"ff".ljust(4096, b"\0"))
    one, other = (case.start(case.compile("focus"), os.path.join(case.work, "data%s" % i), control, i, env=case.observed(IORAMA_LIVE="POSIX")) for i in "01")

    def live(process):
        return case.command("live", process.pid).stdout

    case.wait(lambda: "POSIX" in live(one) and "POSIX" in live(other), "the processes")
    # each of them is a job of its own: both are chosen
    agent = case.agent("--focus", env=case.environment(IORAMA_FOCUS_CALLS="50"))
    case.wait(lambda: " all " in live(one) and " all " in live(other), "all events of both")
    case.end(agent, send=signal.SIGKILL, status=-signal.SIGKILL)
    case.wait(lambda: " all " not in live(one) and "POSIX" in live(one), "what the first one had asked for")
    case.wait(lambda: " all " not in live(other) and "POSIX" in live(other), "what the second one had asked for")
    # one that makes no events, and so looks for no room, is let go by the next agent
    agent = case.agent("--focus", env=case.environment(IORAMA_FOCUS_CALLS="1000000"))
    case.wait(lambda: "POSIX" not in live(one), "no events")
    case.end(agent, send=signal.SIGKILL, status=-signal.SIGKILL)
    expect("POSIX" not in live(one), "it was let go by nobody")
    agent = case.agent()
    case.wait(lambda: "POSIX" in live(one) and "POSIX" in live(other), "what both had asked for")
    case.end(agent, send=signal.SIGTERM)
    for process in one, other:
        process.kill()
        process.wait()


class Hosts:
    """Two places with an agent each, one bus, one store; a job whose processes are at both."""

    def __init__(self, case, nats):
        self.case, self.control, self.env, self.agents = case, case.path("control"), [], []
        self.say(None)
        self.collector = case.start(case.iorama, "collect", "--store", case.path("store.db"), nats.url, "--json")
        for place in "ab":
            self.env.append({"IORAMA_DIR": case.path("segments-" + place), "IORAMA_SPOOL": case.path("spool-" + place)})
            self.agents.append(self.agent(len(self.agents), nats))
        self.processes = [case.start(case.compile("focus"), os.path.join(case.work, "data%d" % i), self.control, i,
                                     env=case.observed(IORAMA_JOB="run-wide", IORAMA_LIVE=None, **self.env[i % 2])) for i in range(PROCESSES)]  # fmt: skip

    def agent(self, place, nats):
        env = self.case.environment(IORAMA_FOCUS_CALLS="50", **self.env[place])
        return self.case.agent("--focus", "--sink", nats.url, env=env)

    say = Job.say

    def focus(self, place):
        """what an agent says of the job"""
        found = [f for f in self.case.status(self.env[place])["focus"] if f["job"].endswith("/run-wide")]
        return found[0] if found else {}

    def agree(self, pid, agents=2):
        said = [self.focus(place) for place in range(2)]
        return said if all(f.get("pid") == pid and f["agents"] == agents for f in said) else None


def bus(case):
    """Agents choose together: of a job on two hosts one process makes events, and it follows from one host to the other."""
    with servers.Nats() as nats:
        hosts = Hosts(case, nats)
        draw = random.Random(14)
        first, second = draw.sample(range(0, PROCESSES, 2), 2)
        third = draw.choice(range(1, PROCESSES, 2))
        print("# slow: %s" % [first, second, third])
        for turn, slow in enumerate((first, third, second)):
            hosts.say(slow)
            pid = hosts.processes[slow].pid
            said = case.wait(lambda pid=pid: hosts.agree(pid), "both agents on process %d" % slow)
            since = time.time_ns()
            print("# %s" % said)
            expect([f["here"] for f in said] == [slow % 2 == 0, slow % 2 == 1], "where it is: %s", said)
            expect(said[0]["decides"] == said[1]["decides"] and said[0]["others"] == PROCESSES - 1, "%s", said)
            shown = case.command("agent", "--status", env=case.environment(**hosts.env[turn % 2])).stdout
            expect("2 agents choose together, %s decides" % said[0]["decides"] in shown, "--status: %s", shown)
            expect(all(f["switches"] >= turn and f["left_out"] > 0 for f in said), "%s", said)
            case.wait(lambda pid=pid, since=since: of_others(case, pid, since)[0] >= 100, "events of process %d" % slow)
            mine, others = of_others(case, pid, since + 10 ** 9)  # a second for who has to hear it
            now = hosts.focus(slow % 2)
            expect(now["switches"] != said[0]["switches"] or now["pid"] != pid or others == {}, "%d events of it, %s of others; %s", mine, others, now)
        # the agent that decides is killed: the other goes on where it was, and follows what comes
        names = [harness.text_of(os.path.join(env["IORAMA_SPOOL"], "agent")).strip() for env in hosts.env]
        leader = names.index(said[0]["decides"])
        rest = 1 - leader
        case.end(hosts.agents[leader], send=signal.SIGKILL, status=-signal.SIGKILL)
        slow = next(i for i in range(PROCESSES) if i % 2 == rest)
        hosts.say(slow)
        alone = case.wait(lambda: hosts.focus(rest) if hosts.focus(rest).get("pid") == hosts.processes[slow].pid else None, "the other agent on process %d" % slow)
        expect(alone["agents"] == 1 and alone["others"] == PROCESSES // 2 - 1 and alone["here"], "%s", alone)
        shown = case.command("agent", "--status", env=case.environment(**hosts.env[rest])).stdout
        expect("process %d on" % hosts.processes[slow].pid in shown, "--status: %s", shown)
        hosts.agents[leader] = hosts.agent(leader, nats)
        case.wait(lambda: hosts.agree(hosts.processes[slow].pid), "both agents again")
        hosts.say(None, end=True)
        for process in hosts.processes:
            case.end(process)
        for agent in hosts.agents:
            case.end(agent, send=signal.SIGTERM)
        case.end(hosts.collector, send=signal.SIGTERM)


harness.main({"follows": follows, "asked": asked, "killed": killed, "bus": bus})
