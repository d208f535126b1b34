#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hosts.py BUILD CASE | --list: a file system on several hosts: two servers and a client, each with a network, a name and a clock
of its own (namespaces), an agent on each, one bus, one store. Calls are joined over hosts by durations and order alone, and
agents choose together which process and which server make events."""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import cases  # noqa: E402
import gluster  # noqa: E402
import harness  # noqa: E402
import servers  # noqa: E402
from cases import Skip, expect  # noqa: E402

REQUEST = 131072  # bytes of a request of the kernel
OWN_NET = "IORAMA_TEST_NET"
HUB = "10.213.77.1"
RANKS = 8

# each of n processes writes its file, all bytes in one call
WRITERS = """
import os, sys
folder, sizes = sys.argv[1], list(map(int, sys.argv[2:]))
for i, size in enumerate(sizes):
    if os.fork() == 0:
        fd = os.open("%s/f%d" % (folder, i), os.O_CREAT | os.O_RDWR)
        os._exit(0 if os.pwrite(fd, b"x" * size, 0) == size else 1)
sys.exit(any([os.wait()[1] for _ in sizes]))
"""


def own_net():
    """The script begins again in a network of its own, in which the hosts are."""
    cases.need("ip", "nsenter", "unshare")
    if os.environ.get(OWN_NET) != "1":
        if subprocess.run(["unshare", "--net", "--uts", "true"], check=False, capture_output=True).returncode != 0:
            raise Skip("no namespace of the network can be made (unshare --net)")
        sys.stdout.flush()
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, OWN_NET: "1"})
    ip("link", "set", "lo", "up")


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip("ip %s: %s" % (" ".join(words), done.stderr.strip()))


class Nats(servers.Nats):
    """As ever, but other hosts reach it."""

    @property
    def url(self):
        return super().url.replace("127.0.0.1", HUB)

    def configuration(self):
        return super().configuration().replace('listen: "127.0.0.1:%d"' % self.port, 'listen: "0.0.0.0:%d"' % self.port)


class Host:
    """A network, a name, and (by faketime) a clock that is wrong by `shift` seconds."""

    def __init__(self, case, name, number, shift=0):
        self.case, self.name, self.address, self.shift = case, name, "10.213.77.%d" % (10 + number), shift
        self.keeper = case.start("unshare", "--net", "--uts", "sh", "-c", 'hostname "$0" && ip link set lo up && echo ready && exec sleep 600', name)
        case.wait(lambda: "ready" in cases.text_of(self.keeper.out), "host " + name)
        ip("link", "add", "v%d" % number, "type", "veth", "peer", "name", "eth0", "netns", str(self.keeper.pid))
        ip("link", "set", "v%d" % number, "master", "hub", "up")
        for words in (("addr", "add", self.address + "/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            case.run("nsenter", "-t", self.keeper.pid, "--net", "ip", *words)
        self.segments, self.spool = case.path("segments-" + name), case.path("spool-" + name)
        os.mkdir(self.segments, 0o700)
        self.here = ["nsenter", "-t", str(self.keeper.pid), "--net", "--uts", "--"]
        # the clock of the day only: of what counts up, only differences are used anywhere
        library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        if shift and not library:
            raise Skip("faketime is not installed")
        self.late = ["env", "DONT_FAKE_MONOTONIC=1", "FAKETIME=%+ds" % shift, "LD_PRELOAD=" + library] if shift else []

    def env(self, **more):
        return self.case.environment(IORAMA_DIR=self.segments, IORAMA_SPOOL=self.spool, **more)

    def observed(self):
        """Words before a program there that is observed; those before it are not."""
        return [*self.here, "env", "LD_PRELOAD=" + self.case.library]

    def agent(self, nats, *words, **env):
        return self.case.agent("--sink", nats.url, *words, env=self.env(**env), wrap=[*self.here, *self.late])

    def attach(self, *words):
        self.case.run(*self.here, self.case.iorama, "attach", "--log-dir", self.case.path("logs"), *words, env=self.env())

    def detach(self, *pids):
        self.case.run(*self.here, self.case.iorama, "detach", *pids, env=self.env())

    def focus(self, word):
        found = [f for f in self.case.status({"IORAMA_SPOOL": self.spool})["focus"] if f["job"].endswith(word)]
        return found[0] if found else {}


class Site:
    """Three hosts, a GlusterFS over them, a bus and a collector."""

    def __init__(self, case, nats, shifts=(0, 0, 0)):
        self.case, self.nats = case, nats
        ip("link", "add", "hub", "type", "bridge")
        ip("addr", "add", HUB + "/24", "dev", "hub")
        ip("link", "set", "hub", "up")
        nats.start()
        self.hosts = [Host(case, name, i, shift) for i, (name, shift) in enumerate(zip(("server1", "server2", "client"), shifts))]
        one, two, self.client = self.hosts
        self.bricks = [one, one, two]  # where each is
        places = [([*host.here, *host.late], host.address) for host in (*self.bricks, self.client)]
        self.fs = gluster.Gluster(case.path("fs"), os.path.join(case.work, "mnt"), places=places)
        self.collector = case.start(case.iorama, "collect", "--store", case.path("store.db"), nats.url, "--json")

    def attach(self, *words):
        for host, pid in zip(self.bricks, self.fs.brick_pids):
            host.attach(*words, pid)
        self.client.attach(*words, self.fs.client_pid)

    def detach(self):
        for host, pid in zip(self.bricks, self.fs.brick_pids):
            host.detach(pid)
        self.client.detach(self.fs.client_pid)

    def path(self, *words):
        return self.case.command("path", "--store=" + self.case.path("store.db"), "0/run-hosts", *words).stdout


def join(case, site):
    """One job, joined down to the disks of two other hosts whose clocks are wrong by many minutes."""
    draw = random.Random(1411)
    sizes = [draw.randrange(1, 30) * REQUEST + draw.randrange(REQUEST) for _ in range(4)]
    requests = sum(-(-size // REQUEST) for size in sizes)
    print("# %d requests for %s bytes" % (requests, sizes))
    agents = [host.agent(site.nats) for host in site.hosts]
    site.attach("--trace")
    client = site.client
    case.run(*client.observed(), sys.executable, "-c", WRITERS, site.fs.mount, *sizes, env=client.env(IORAMA_TRACE="1", IORAMA_JOB="run-hosts"))
    site.detach()
    case.wait(lambda: case.value("SELECT count(*) FROM logs") == 5, "the logs of the job, its daemon and three bricks")
    hosts = {r["host"] for r in case.rows("SELECT host FROM processes")}
    expect(hosts == {"server1", "server2", "client"}, "hosts: %s", hosts)
    calls = json.loads(site.path("--calls", "--json"))
    writes = [c for c in calls if c["layer"] == "POSIX" and c["role"] == "application" and c["kind"] == "write" and c["requests"]]
    print("# %s" % [(c["bytes"], c["requests"], c["rpcs"], c["disk_accesses"]) for c in writes])
    expect(sorted(c["bytes"] for c in writes) == sorted(sizes), "writes: %s", writes)
    for c in writes:
        n = -(-c["bytes"] // REQUEST)
        expect((c["requests"], c["rpcs"], c["disk_accesses"]) == (n, 3 * n, 3 * n), "%d requests: %s", n, c)
        pieces = json.loads(site.path("--critical", "--call", str(c["call"]), "--json"))
        expect(sum(p["time"] for p in pieces) == c["time"], "pieces of call %d do not add up", c["call"])
    by_number = {c["call"]: c for c in calls}
    at_servers = [c for c in calls if c["layer"] == "SERVER" and c["kind"] == "write"]
    expect(len(at_servers) == 3 * requests and {c["link"] for c in at_servers} == {"order"}, "%d requests at servers", len(at_servers))
    for c in at_servers:
        above = by_number[c["parent"]]
        expect(c["placed"] and c["host"] in ("server1", "server2") and above["host"] == "client", "%s", c)
        expect(above["start"] <= c["start"] and c["end"] <= above["end"], "placed beside its request: %s %s", above, c)
    for c in calls:
        expect(c["before"] + c["inside"] + c["between"] + c["after"] == c["time"], "gaps of call %d", c["call"])
    shown = site.path()
    expect("disk accesses" in shown and "c2" in shown and "Servers have clocks of their own" in shown, "%s", shown)
    told = {s["server"]: s for s in json.loads(site.path("--servers", "--json"))}
    expect(len(told) == 3 and all(s["seen"] == s["requests"] and s["disk_accesses"] >= requests for s in told.values()), "%s", told)
    for agent in agents:
        case.end(agent, send=signal.SIGTERM)


class Slow(threading.Thread):
    """Makes one process slow: it stands still most of the time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.pid, self.over = 0, False

    def run(self):
        while not self.over:
            pid = self.pid
            if pid:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.06)
                os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)


def focus(case, site):
    """Of eight ranks and three bricks on three hosts the slowest two make events; when others are slow, those do."""
    control = case.path("control")

    def say(slow, end=False):
        with open(control, "r+b" if os.path.exists(control) else "w+b") as file:
            file.write("".join("q" if end else "s" if i == slow else "f" for i in range(RANKS)).encode().ljust(4096, b"\0"))

    say(None)
    agents = [host.agent(site.nats, "--focus", IORAMA_FOCUS_CALLS="15") for host in site.hosts]
    site.attach()
    client, slow = site.client, Slow()
    ranks = [case.start(*client.observed(), case.compile("focus"), os.path.join(site.fs.mount, "r%d" % i), control, i,
                        env=client.env(IORAMA_JOB="run-hosts")) for i in range(RANKS)]  # fmt: skip
    slow.start()
    draw = random.Random(1412)
    try:
        for rank, brick in zip(draw.sample(range(RANKS), 2), draw.sample(range(3), 2)):
            print("# slow: rank %d, brick %d" % (rank, brick))
            say(rank)
            slow.pid = site.fs.brick_pids[brick]
            want = {ranks[rank].pid, slow.pid}

            def agreed(want=want, brick=brick):
                said = [site.bricks[0].focus("servers"), site.bricks[2].focus("servers"), client.focus("/run-hosts")]
                return said if {f.get("pid") for f in said} == want and said[0]["host"] == site.bricks[brick].name else None

            said = case.wait(agreed, "all agents on rank %d and brick %d" % (rank, brick))
            since = time.time_ns() + 2 * 10 ** 9  # those that have to hear it have heard it by then
            print("# %s" % said)
            expect(said[0]["agents"] == 2 and said[0]["others"] == 2 and said[0]["left_out"] > 0, "servers: %s", said)
            case.wait(lambda since=since, want=want: want <= senders(case, since).keys(), "events of both")
            sent, again = senders(case, since), agreed()
            others = set(sent) - want - {site.fs.client_pid}
            expect(not others or not again or again[0]["switches"] != said[0]["switches"] or again[2]["switches"] != said[2]["switches"],
                   "others send events: %s, not %s", sent, want)  # fmt: skip
    finally:
        slow.over = True
        slow.join()
    say(None, end=True)
    for process in ranks:
        case.end(process)
    site.detach()
    case.wait(lambda: case.value("SELECT count(*) FROM logs") >= 4, "the logs")
    shown = site.path()
    expect("Left out: " in shown, "what was left out is not told: %s", shown)
    for agent in agents:
        case.end(agent, send=signal.SIGTERM)


def senders(case, since):
    """processes whose events began after this moment, and how many"""
    rows = case.rows("SELECT p.pid AS pid, count(*) AS n FROM events e JOIN processes p ON p.number = e.process WHERE e.start_ns > ? GROUP BY p.pid", since)
    return {r["pid"]: r["n"] for r in rows}


NAMES = {"hosts-join": join, "hosts-focus": focus}


def perform(build, name):
    gluster.alone()
    own_net()
    cases.need("nats-server")
    with cases.folders(build, "path-" + name) as (observed, quiet):
        case = harness.Case(build, quiet, observed)
        nats, site = Nats(), None
        try:
            site = Site(case, nats, (1500, -1000, 0) if name == "hosts-join" else (0, 0, 0))
            NAMES[name](case, site)
        finally:
            if site:
                site.fs.stop()
            case.stop_all()
            nats.__exit__(None, None, None)


if __name__ == "__main__":
    cases.main(NAMES, perform)
