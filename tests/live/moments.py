#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a job on two hosts are at, told by their agents: `watch --store` and `iorama serve` say of all of them what
`watch` says on each host, and what the programs know themselves."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import harness
from harness import ROOT, Skip, expect

sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import served  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
import servers  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

HOSTS = ("alpha", "beta")
STEP = 65536


class Hosts:
    """Two hosts, by name and by where their segments are, with an agent each; on each a rank that waits for a lock of ours and
    one that writes."""

    def __init__(self, case, store, sink):
        if os.geteuid() != 0:
            raise Skip("only root gives hosts names")
        self.case, self.store = case, store
        self.env = {host: {"IORAMA_DIR": case.path("segments-" + host), "IORAMA_SPOOL": case.path("spool-" + host)} for host in HOSTS}
        self.lock = os.open(os.path.join(case.work, "held"), os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        with open(os.path.join(case.work, "go"), "w", encoding="utf-8"):
            pass
        self.agents = [self.agent(host, sink) for host in HOSTS]
        program, self.ranks = case.compile("at_work"), {}
        for index in range(4):
            host = HOSTS[index // 2]
            env = case.observed(IORAMA_JOB="run-wide", IORAMA_LIVE=None, **self.env[host])
            env["PRELOADED"] = env.pop("LD_PRELOAD")  # the shell is no part of the job
            self.ranks[index] = case.start(*self.on(host), program, case.work, index, env=env, stdin=subprocess.PIPE)
            self.ranks[index].where = host

    @staticmethod
    def on(host):
        """words that give the rest of the line a host of this name"""
        return ("unshare", "--uts", "sh", "-c", 'hostname "$0"; export LD_PRELOAD="$PRELOADED"; exec "$@"', host)

    def agent(self, host, sink):
        env = self.case.environment(**self.env[host])
        return self.case.agent("--no-samples", *sink, env=env, wrap=self.on(host))

    def began(self, index):
        """when this rank asked for the lock, by its own clock; None: not yet"""
        text = harness.text_of(self.ranks[index].out)
        return int(text.split()[0]) / 1e9 if "\n" in text else None

    def told(self):
        """what the store says of the job, and its ranks by their process"""
        done = self.case.command("watch", "--once", "--json", "--store=" + self.store, status=None)
        return of_job(json.loads(done.stdout)) if done.returncode == 0 else ({}, {})

    def here(self, host):
        return of_job(json.loads(self.case.command("watch", "--once", "--json", "--interval", "1", env=self.case.environment(**self.env[host])).stdout))

    def end(self):
        for rank in self.ranks.values():
            rank.stdin.close()
        wrote = {index: int(self.case.end(rank).split()[-1]) for index, rank in self.ranks.items()}
        for agent in self.agents:
            self.case.end(agent, send=signal.SIGTERM)
        os.close(self.lock)
        return wrote


def of_job(said):
    jobs = [j for j in said["jobs"] if j["name"] == "run-wide"]
    return (jobs[0], {r["pid"]: r for r in jobs[0]["ranks"]}) if jobs else ({}, {})


def everybody(hosts):
    """All four are told, those that wait for the lock with their file, those that write with their rate."""
    job, ranks = hosts.told()
    ok = len(ranks) == 4 and len(job["files"]) >= 2
    for index, process in hosts.ranks.items():
        rank = ranks.get(process.pid, {})
        ok = ok and (rank["at_work"] and rank["at_work"][0]["file"] if index % 2 else rank["rate"]["write"] > 0)
    return (job, ranks) if ok else None


def compare(hosts):
    """The store against the truth, and against `watch` on each host."""
    for index in (1, 3):
        hosts.case.wait(lambda index=index: hosts.began(index), "a rank that asks for the lock")
    job, ranks = hosts.case.wait(lambda: everybody(hosts), "moments of both hosts")
    now = time.time()
    expect(job["running"] == 4 and job["calls"] >= 2, "running %s, calls %s", job["running"], job["calls"])
    for index, process in hosts.ranks.items():
        rank = ranks[process.pid]
        expect(rank["host"] == process.where, "rank %d is on %s", index, rank["host"])
        if index % 2:
            call = rank["at_work"][0]
            # as old as it is, or as it was when its agent looked last
            late = now - hosts.began(index) - call["since"]
            expect(-0.5 < late < 20, "the call of rank %d began %f s off", index, late)
            expect(call["function"] == "flock" and call["class"] == "meta" and call["file"] == os.path.join(hosts.case.work, "held"), "%s", call)
            expect(rank["waits"] == "metadata" and rank["share"] > 0.9, "%s", rank)
        else:
            expect(rank["waits"] in ("writing", "computing", "metadata"), "%s", rank)
    for host in HOSTS:
        _, here = hosts.here(host)
        expect(set(here) == {p.pid for p in hosts.ranks.values() if p.where == host}, "%s on %s", sorted(here), host)
        for pid, rank in here.items():
            far = ranks[pid]
            same = ("pid", "rank", "host", "exe", "command", "state", "threads", "files")
            expect([far[k] for k in same] == [rank[k] for k in same], "%s, there %s", {k: far[k] for k in same}, {k: rank[k] for k in same})
            expect(abs(far["start"] - rank["start"]) < 1e-6, "start: %s, there %s", far["start"], rank["start"])
            if hosts.ranks[1].pid == pid or hosts.ranks[3].pid == pid:
                one, two = far["at_work"][0], rank["at_work"][0]
                expect(one["since"] < two["since"] and {**one, "since": 0} == {**two, "since": 0}, "%s, there %s", one, two)
    # it goes on
    was = {p.pid: ranks[p.pid]["at_work"][0]["since"] for i, p in hosts.ranks.items() if i % 2}
    hosts.case.wait(lambda: all(hosts.told()[1][pid]["at_work"][0]["since"] > since + 1 for pid, since in was.items()), "the calls to grow older")
    return job


def rest(hosts):
    """Nothing moves any more: figures are those of `watch`, to the byte, and nobody is said to wait."""
    fcntl.flock(hosts.lock, fcntl.LOCK_UN)
    os.unlink(os.path.join(hosts.case.work, "go"))

    def quiet():
        job, ranks = hosts.told()
        # who got the lock holds it, so one of the two goes on waiting
        waiting = [r for r in ranks.values() if r["at_work"]]
        return (job, ranks) if len(waiting) == 1 and not any(r["rate"]["ops"] for r in ranks.values()) else None

    hosts.case.wait(quiet, "only one that waits, and nothing that moves")
    winner = hosts.case.wait(lambda: [i for i in (1, 3) if "locked" in harness.text_of(hosts.ranks[i].out)], "who has the lock")[0]

    movers = {hosts.ranks[0].pid, hosts.ranks[2].pid}

    def same():
        _, ranks = hosts.told()
        for host in HOSTS:
            for pid, rank in hosts.here(host)[1].items():
                mine = ranks[pid]["total"]  # in the store with what was printed
                if pid in movers and any(mine[k] != rank["total"][k] for k in ("reads", "writes", "metas", "bytes_read", "bytes_written")):
                    return None
        return ranks

    ranks = hosts.case.wait(same, "the same totals")
    expect(not ranks[hosts.ranks[winner].pid]["at_work"], "who has the lock waits: %s", ranks[hosts.ranks[winner].pid]["at_work"])
    return winner, {i: ranks[hosts.ranks[i].pid]["total"]["bytes_written"] for i in (0, 2)}


def finish(hosts, winner, seen, rows):
    """What was seen is what was written; nothing is left of a job that has ended."""
    hosts.ranks[winner].stdin.close()
    hosts.case.end(hosts.ranks[winner])  # the other one gets the lock now
    wrote = hosts.end()
    expect(seen == {i: wrote[i] for i in seen}, "wrote %s, seen %s", wrote, seen)
    hosts.case.wait(lambda: rows("SELECT count(*) FROM moments") == 0, "no moments of a job that has ended")


def sqlite(case):
    """Two agents and one store; the page of a third machine tells of both."""
    store = case.path("store.db")
    hosts = Hosts(case, store, ["--store", store])
    site = served.Served(case, "--rate", "0", env=case.environment(IORAMA_DIR=case.path("segments-none")))
    compare(hosts)
    number = case.value("SELECT number FROM jobs WHERE key LIKE '%/run-wide'")

    def page():
        now = site.get("/api/1/jobs/%d/now" % number).json
        moving = {os.path.basename(f["file"]) for f in now["files"] if f["write_rate"] > 0}
        return now if now["told"] == 4 and len(now["waits"]) >= 2 and {"moved.0", "moved.2"} <= moving else None

    now = case.wait(page, "the page to tell of four ranks")
    waits = {w["pid"]: w for w in now["waits"] if w["call"] == "flock"}
    expect(set(waits) == {hosts.ranks[1].pid, hosts.ranks[3].pid}, "%s", now["waits"])
    expect({w["host"] for w in waits.values()} == set(HOSTS) and now["here"] == 0 and now["of"] == 4, "%s", now)
    expect(all(w["file"] == os.path.join(case.work, "held") for w in waits.values()), "%s", now["waits"])
    moved = {os.path.basename(f["file"]): f for f in now["files"]}
    expect(all(moved[name]["processes"] == 1 and moved[name]["bytes"] > 0 for name in ("moved.0", "moved.2")), "%s", now["files"])
    text = case.command("watch", "--once", "--store=" + store).stdout
    expect("run-wide" in text and "moved.0" in text and "moved.2" in text, "%s", text)
    # one row for each host, however long it goes on
    expect(case.value("SELECT count(*) FROM moments") == 2, "%s", case.rows("SELECT host, t_ns FROM moments"))
    finish(hosts, *rest(hosts), case.value)


def bus(case):
    """The same by way of a bus to PostgreSQL."""
    with servers.Nats() as nats, servers.Postgres() as postgres:
        collector = case.start(case.iorama, "collect", "--store", postgres.url, nats.url)
        hosts = Hosts(case, postgres.url, ["--sink", nats.url])
        compare(hosts)
        finish(hosts, *rest(hosts), lambda sql: int(postgres.value(sql)))
        case.end(collector, send=signal.SIGTERM)


harness.main({"sqlite": sqlite, "bus": bus})
