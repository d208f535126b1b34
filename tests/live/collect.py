# SPDX-License-Identifier: BSD-3-Clause
"""`iorama collect` with real agents before it: programs that know what they did, an agent, a bus or a file, and the store. And files
that are imported."""
import json
import os
import signal

import harness
import loads
import servers
import sinks_truth
from harness import expect
from sinks_truth import Feed


def collector(case, url, *words):
    return case.start(case.iorama, "collect", url, "--json", *words)


def all_stored(case, load):
    """Waits until the store has the end of all processes of a load and all their events, then compares."""
    pids = ",".join(str(rank["pid"]) for rank in load.truth["ranks"])
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state != 'running' AND made = stored AND pid IN (%s)" % pids)
              == len(load.truth["ranks"]), "all events in the store")  # fmt: skip
    load.check()


def two_hops(case):
    """Programs, agent, leaf node, hub, two collectors, store: with the collectors, the agent and the hub killed on the way."""
    with servers.Nats() as hub, servers.Nats(hub=hub) as leaf:
        sink = "%s?domain=hub&quiet=1000" % leaf.url
        running = [collector(case, hub.url, "--ack-wait", "2") for _ in range(2)]
        agent = case.agent("--no-samples", "--sink", sink)
        load = loads.Load(case, threads=4, calls=10000, extra=("--pace", "100"))
        load.start()
        for number, kill in enumerate(("collector", "agent", "hub", "collector")):
            case.wait(lambda: case.value("SELECT coalesce(sum(n), 0) FROM blocks") > (number + 1) * 5000, "events")
            if kill == "hub":
                hub.kill()
                hub.start()
            elif kill == "agent":
                agent.kill()
                agent.wait()
                agent = case.agent("--no-samples", "--sink", sink)
            else:
                running[0].kill()
                running[0].wait()
                running.append(collector(case, hub.url, "--ack-wait", "2"))
                running.pop(0)
        load.end()
        all_stored(case, load)
        case.wait(lambda: case.status()["spool"]["messages"] == 0, "an empty spool")
        case.end(agent, send=signal.SIGTERM)
        totals = loads.accounts(case)
        expect(totals["dropped"] == 0 and totals["lost"] == 0, "events were lost: %s", totals)
        for one in running:
            case.end(one, send=signal.SIGTERM)


def no_bus(case):
    """No server when the agent starts and the program runs: everything waits in the spool."""
    with servers.Nats() as nats:
        nats.stop()
        agent = case.agent("--no-samples", "--sink", nats.url)
        load = loads.Load(case, threads=2, calls=3000).run()
        case.wait(lambda: case.status()["totals"]["made"] >= load.calls, "the events in the spool")
        case.end(agent, send=signal.SIGTERM)
        expect(case.status()["spool"]["messages"] > 0 and case.status()["totals"]["lost"] == 0, "%s", case.status())
        nats.start()
        one = collector(case, nats.url)
        agent = case.agent("--no-samples", "--sink", nats.url)
        all_stored(case, load)
        case.wait(lambda: case.status()["spool"]["messages"] == 0, "an empty spool")
        case.end(agent, send=signal.SIGTERM)
        case.end(one, send=signal.SIGTERM)


def to_file(case):
    """An agent with a file sink, killed -9 in the middle; the file is imported: as if a store had been there."""
    path = case.path("events.json")
    agent = case.agent("--no-samples", "--sink", "file:" + path)
    load = loads.Load(case, threads=2, calls=8000, extra=("--pace", "100")).start()
    case.wait(lambda: os.path.getsize(path) > 200_000, "some lines")
    agent.kill()
    agent.wait()
    agent = case.agent("--no-samples", "--sink", "file:" + path)
    load.end()
    case.wait(lambda: case.status()["spool"]["messages"] == 0 and not case.status()["segments"], "everything in the file")
    case.end(agent, send=signal.SIGTERM)
    said = case.status()["totals"]
    lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    events = [(e["segment"], e["lane"], e["seq"]) for e in lines if e["type"] == "event"]
    expect(len(events) == len(set(events)), "events twice")
    expect(said["lost"] == 0 and said["dropped"] == 0, "status: %s", said)
    done = json.loads(case.command("collect", path, "--json").stdout)
    expect(done["events"] == len(events), "imported: %s", done)
    load.check()
    again = json.loads(case.command("collect", path, "--json").stdout)
    expect(again["events"] == 0 and again["repeated"] == len(events), "imported again: %s", again)


def import_dialects(case):
    """What file sinks write in each dialect comes back."""
    failed = 0
    for number, (dialect, form) in enumerate((d, f) for d in ("json", "upstream", "paper") for f in ("json", "csv")):
        path, store = case.path("%s.%s" % (dialect, form)), case.path("%d.db" % number)
        feed = Feed(case, "file:%s?dialect=%s&format=%s" % (path, dialect, form), path='/data/a "quoted" é name')
        feed.run()
        done = json.loads(case.command("collect", "--store", store, path, "--json").stdout)
        if dialect == "json":
            expect(done["events"] == feed.events, "%s %s: %s", dialect, form, done)
        else:
            failed = sum(e[-2] for p in range(2) for e in feed.truth(p))
            expect(done["events"] == feed.events - failed, "%s %s: %s", dialect, form, done)
        moved = case.value("SELECT sum(len) FROM events WHERE op = 'write' AND failed = 0", store=store)
        columns = sinks_truth.COLUMNS
        want = sum(e[columns.index("len")] for p in range(2) for e in feed.truth(p)
                   if e[columns.index("op")] == "write" and not e[columns.index("failed")])  # fmt: skip
        expect(moved == want, "%s %s: %s bytes, not %s", dialect, form, moved, want)


def import_damaged(case):
    """Lines that are damaged are named, with their number, and left out; the rest is taken."""
    path = case.path("events.json")
    feed = Feed(case, "file:" + path, rounds=1)
    feed.run()
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"type":"event","job":\nnot json at all\n')
    lines = len(open(path, encoding="utf-8").readlines())
    done = case.command("collect", path, "--json", status=3)
    said = json.loads(done.stdout)
    expect(said["events"] == feed.events and said["refused"] == 2, "%s", said)
    expect("events.json:%d:" % lines in done.stderr and "events.json:%d:" % (lines - 1) in done.stderr, "%s", done.stderr)
    case.command("collect", case.path("no-such-file"), status=3)
    case.command("collect", status=2)
    case.command("collect", "nats://127.0.0.1:1?colour=red", status=2)
    case.command("collect", "--store", "/dev/null/x", "nats://127.0.0.1:1", status=4)


CASES = {"two-hops": two_hops, "no-bus": no_bus, "to-file": to_file, "import-dialects": import_dialects,
         "import-damaged": import_damaged}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
