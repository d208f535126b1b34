# SPDX-License-Identifier: BSD-3-Clause
"""Events over NATS: from made-up agents (sinks_feed) through real servers into the store of `iorama collect`, with everything on
the way killed at some time. What must arrive is known: sinks_truth."""
import json
import random
import shutil
import signal
import socket
import sqlite3
import time

import harness
import servers
import sinks_truth
import soak_parts
from harness import expect
from sinks_truth import Feed


def collector(case, url, *words, store="store.db"):
    return case.start(case.iorama, "collect", "--store", case.path(store), url, "--json", *words)


def finish(case, *collectors):
    """Ends them; the sums of what they say."""
    said = [json.loads(case.end(c, send=signal.SIGTERM)) for c in collectors]
    return {key: sum(s[key] for s in said) for key in said[0]}


def check(feed, said, totals=None):
    """The agent's accounts: everything is committed, nothing refused; and the collectors'."""
    expect(said["committed"] == said["last"] == feed.messages and said["messages"] == feed.messages, "feed: %s", said)
    expect(said["events"] == feed.events and said["refused"] == 0, "feed: %s", said)
    expect(totals is None or (totals["events"] == feed.events and totals["refused"] == 0), "collect: %s", totals)


def plain(case):
    with servers.Nats() as nats:
        one = collector(case, nats.url)
        feed = Feed(case, nats.url, processes=3, jobs=2, tag="my.tag")
        said = feed.run()
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)
        case.wait(lambda: nats.stored() == 0, "an empty stream")


def clock(case):
    """The clocks of an agent's machine and of a collector's are set back by an hour while messages come, and while none do: both go on
    at once."""
    there = soak_parts.Clock(case.path("clock"))
    if not there.library:
        raise harness.Skip("faketime is not installed")
    env = {**there.environment(), "FAKETIME_NO_CACHE": "1"}
    with servers.Nats() as nats:
        one = case.start(case.iorama, "collect", "--store", case.path("store.db"), nats.url, "--json", env=case.environment(**env))
        feed = Feed(case, nats.url + "?quiet=1000", rounds=40, pace=20000, state=case.path("state"))
        sender = feed.start(env=case.environment(**env))
        for number in range(1, 4):
            case.wait(lambda: int(harness.text_of(case.path("state")) or 0) > feed.messages * number / 5, "part %d" % number)
            there.set(-3600)
        said = json.loads(case.end(sender, timeout=100))
        time.sleep(1.5)  # it waits for more
        there.set(-3600)
        other = Feed(case, nats.url + "?quiet=1000", agent="feed-2", job="1000/run-other")
        check(other, json.loads(case.run(*other.command(), timeout=100).stdout))
        check(feed, said, None)
        finish(case, one)
        sinks_truth.stored(case, feed, other)


def leaf(case):
    """An agent at a leaf node, a collector at the hub."""
    with servers.Nats() as hub, servers.Nats(hub=hub) as leaf:
        one = collector(case, hub.url)
        feed = Feed(case, leaf.url + "?domain=hub", rounds=40)
        said = feed.run()
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)
        case.wait(lambda: hub.stored() == 0 and leaf.stored() == 0, "empty streams")


def leaf_stream(case):
    """The leaf has the stream in a domain of its own; the collector reads it through the hub, which is away for a while."""
    with servers.Nats() as hub, servers.Nats(hub=hub) as leaf:
        feed = Feed(case, leaf.url + "?domain=leaf&ack=stream")
        said = feed.run()
        check(feed, said)
        expect(leaf.stored() == feed.messages, "%d messages wait at the leaf", leaf.stored())
        hub.restart()
        case.wait(leaf.joined, "the leaf at its hub")
        one = collector(case, hub.url, "--domain", "leaf", "--drain")
        expect(json.loads(case.end(one))["events"] == feed.events, "not all events came")
        sinks_truth.stored(case, feed)


def tls(case):
    with servers.Nats(tls=True) as nats:
        trust = "ca=%s&cert=%s&key=%s" % (nats.ca, nats.cert, nats.key)
        one = collector(case, nats.url, "--ca", nats.ca, "--cert", nats.cert, "--key", nats.key)
        feed = Feed(case, nats.url + "?" + trust)
        said = feed.run()
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)
        # without the site's certificate nothing is sent, and the reason is told
        stranger = Feed(case, nats.url, agent="stranger-1", until=1500)
        done = case.run(*stranger.command(), status=3)
        expect(json.loads(done.stdout)["committed"] == 0 and "not connected" in done.stderr, "a stranger: %s", done.stderr)


def credentials(case):
    """An account of its own for each kind of user: credentials file, key, password."""
    with servers.Nats(creds=True) as nats:
        one = collector(case, nats.url, "--credentials", nats.creds_file)
        feed = Feed(case, "%s?credentials=%s" % (nats.url, nats.creds_file))
        check(feed, feed.run(), finish(case, one))
    with servers.Nats(nkey=True) as nats:
        key = "%s?nkey=%s:%s" % (nats.url, nats.nkey, nats.seed_file)
        one = collector(case, key, store="key.db")
        feed = Feed(case, key)
        check(feed, feed.run(), finish(case, one))
    with servers.Nats(password="se:cret") as nats:
        one = collector(case, nats.url, store="password.db")
        feed = Feed(case, nats.url)
        check(feed, feed.run(), finish(case, one))
        # a wrong one never works, and is not shown
        done = case.run(*Feed(case, nats.url.replace("se:cret", "wrong"), until=1500).command(), status=3)
        expect("not connected" in done.stderr and "wrong" not in done.stderr, "wrong password: %s", done.stderr)


def server_killed(case):
    """kill -9 of the server, in the middle, three times."""
    with servers.Nats() as nats:
        one = collector(case, nats.url, "--ack-wait", "2")
        feed = Feed(case, nats.url + "?quiet=1000", processes=4, rounds=200, events=50, pace=10000)
        sender = feed.start()
        for share in 0.2, 0.4, 0.6:
            case.wait(lambda: case.value("SELECT coalesce(sum(n), 0) FROM blocks") > share * feed.events, "events", timeout=60)
            nats.kill()
            nats.start()
        said = json.loads(case.end(sender))
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)


def collectors_killed(case):
    """Two share the work; ten times one of them is killed -9 at some moment and another takes its place."""
    rng = random.Random(6)
    with servers.Nats() as nats:
        words = ("--ack-wait", "2", "--batch", "16")
        running = [collector(case, nats.url, *words) for _ in range(2)]
        feed = Feed(case, nats.url + "?quiet=1000", processes=4, rounds=300, events=30, pace=20000)
        sender = feed.start()
        for number in range(10):
            # after some part of the events, each time another
            mark = (number + rng.random()) / 12 * feed.events
            case.wait(lambda: case.value("SELECT coalesce(sum(n), 0) FROM blocks") >= mark, "%d events" % mark, timeout=60)
            victim = rng.randrange(2)
            running[victim].kill()
            running[victim].wait()
            running[victim] = collector(case, nats.url, *words)
        said = json.loads(case.end(sender))
        check(feed, said)
        finish(case, *running)
        sinks_truth.stored(case, feed)


def no_collector(case):
    """With nobody who reads, messages wait in the stream, once each; when a collector comes all is committed."""
    with servers.Nats() as nats:
        feed = Feed(case, nats.url + "?quiet=1000")
        sender = feed.start()
        case.wait(lambda: nats.stored() >= feed.messages, "messages in the stream")
        # after a while it asks whether anybody reads, and does nothing else
        case.wait(lambda: nats.stored() > feed.messages, "a probe")
        expect(nats.stored() < feed.messages + 5, "%d messages in the stream", nats.stored())
        one = collector(case, nats.url)
        said = json.loads(case.end(sender))
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)


def lost_stream(case):
    """The server loses its stream with all that it had acknowledged: the agent sends it again."""
    with servers.Nats() as nats:
        feed = Feed(case, nats.url + "?quiet=1000")
        sender = feed.start()
        case.wait(lambda: nats.stored() >= feed.messages, "messages in the stream")
        nats.kill()
        shutil.rmtree(nats.path("js"))
        nats.start()
        one = collector(case, nats.url)
        said = json.loads(case.end(sender))
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)


def by_stream(case):
    """ack=stream: the agent is content when the stream has them."""
    with servers.Nats() as nats:
        feed = Feed(case, nats.url + "?ack=stream")
        check(feed, feed.run())
        expect(nats.stored() == feed.messages, "%d messages in the stream", nats.stored())
        done = case.command("collect", nats.url, "--drain", "--json")
        expect(json.loads(done.stdout)["events"] == feed.events, "collect: %s", done.stdout)
        sinks_truth.stored(case, feed)


def twice(case):
    """The same messages from an agent that forgot what it had sent: they change nothing."""
    with servers.Nats() as nats:
        one = collector(case, nats.url)
        feed = Feed(case, nats.url)
        check(feed, feed.run())
        check(feed, feed.run())
        totals = finish(case, one)
        expect(totals["events"] == feed.events and totals["repeated"] == feed.events, "collect: %s", totals)
        sinks_truth.stored(case, feed)


def restarted_agent(case):
    """An agent killed -9 in the middle begins again where its spool stands."""
    with servers.Nats() as nats:
        one = collector(case, nats.url)
        feed = Feed(case, nats.url, rounds=100, pace=10000, state=case.path("state"))
        for number in range(1, 4):
            sender = feed.start()
            case.wait(lambda: int(harness.text_of(case.path("state"))) > number * feed.messages / 5, "a part", timeout=60)
            sender.kill()
            sender.wait()
        del feed.words["pace"]
        said = feed.run()
        expect(said["committed"] == feed.messages, "feed: %s", said)
        totals = finish(case, one)
        expect(totals["events"] == feed.events and totals["refused"] == 0, "collect: %s", totals)
        sinks_truth.stored(case, feed)


def damaged(case):
    """A message that cannot be read is refused, counted on both sides, told, and keeps nobody up."""
    with servers.Nats() as nats:
        feed = Feed(case, nats.url, damage=12)
        one = collector(case, nats.url)
        said = feed.run()
        totals = json.loads(case.end(one, status=None, send=signal.SIGTERM))
        lost = feed.words["events"]
        expect(said["committed"] == feed.messages and said["refused"] == 1, "feed: %s", said)
        expect(totals["refused"] <= 1 and totals["events"] == feed.events - lost, "collect: %s", totals)
        expect(said["events"] + lost == feed.events, "feed: %s", said)


def hostile(case):
    """Nonsense that others publish into the stream is left out, and told."""
    with servers.Nats() as nats:
        feed = Feed(case, nats.url + "?ack=stream")
        feed.run()
        with socket.create_connection(("127.0.0.1", nats.port)) as s:
            s.sendall(b"CONNECT {\"verbose\":false,\"headers\":true}\r\n")
            s.sendall(b"PUB iorama.x.1.y 5\r\nhello\r\nPUB iorama.x 0\r\n\r\n")
            for head in (b"Iorama-Parts: 3", b"Iorama-Parts: 99999999999999999999", b"Iorama-Parts: -1",
                         b"Iorama-Agent: a.b>*\r\nIorama-Epoch: 1\r\nIorama-Number: 1",
                         b"Iorama-Kind: probe", b"Iorama-Kind: probe\r\nIorama-Number: 18446744073709551615\r\nIorama-Agent: feed-1"):
                text = b"NATS/1.0\r\n" + head + b"\r\n\r\n"
                s.sendall(b"HPUB iorama.x.1.z %d %d\r\n%s\r\n" % (len(text), len(text), text))
            s.sendall(b"PING\r\n")
            while b"PONG" not in s.recv(4096):
                pass
        case.wait(lambda: nats.stored() == feed.messages + 8, "nonsense in the stream")
        done = case.command("collect", nats.url, "--drain", "--json", status=3)
        said = json.loads(done.stdout)
        expect(said["events"] == feed.events and said["refused"] == 6, "collect: %s", said)
        expect(done.stderr.count("left out") == 6, "told: %s", done.stderr)
        sinks_truth.stored(case, feed)
        case.wait(lambda: nats.stored() == 0, "an empty stream")


def parts(case):
    """Messages that are larger than the server allows go in parts, which two collectors join."""
    with servers.Nats(settings=("max_payload: 16K",)) as nats:
        two = [collector(case, nats.url) for _ in range(2)]
        feed = Feed(case, nats.url, processes=1, events=8192, rounds=3)
        said = feed.run()
        totals = finish(case, *two)
        check(feed, said, totals)
        sinks_truth.stored(case, feed)
        case.wait(lambda: nats.stored() == 0, "an empty stream")


def stream_full(case):
    """A stream that may hold little: the agent waits, nothing is lost."""
    with servers.Nats() as nats:
        feed = Feed(case, nats.url + "?stream-bytes=64K&quiet=1000", rounds=60)
        sender = feed.start()
        case.wait(lambda: "sent again and again" in sender.said(), "the server's refusal")
        one = collector(case, nats.url)
        said = json.loads(case.end(sender))
        check(feed, said, finish(case, one))
        sinks_truth.stored(case, feed)


def locked_store(case):
    """The store is locked by another for a while: the collector waits, then goes on."""
    with servers.Nats() as nats:
        warm = Feed(case, nats.url, agent="warm-1", job="1000/run-warm", rounds=1)
        one = collector(case, nats.url)
        warm.run()
        db = sqlite3.connect(case.path("store.db"), isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        feed = Feed(case, nats.url)
        sender = feed.start()
        case.wait(lambda: "wait in the stream" in one.said(), "the collector's complaint")
        db.execute("ROLLBACK")
        db.close()
        said = json.loads(case.end(sender))
        check(feed, said)
        totals = finish(case, one)
        expect(totals["retries"] > 0 and totals["events"] == feed.events + warm.events, "collect: %s", totals)
        sinks_truth.stored(case, feed, warm)


CASES = {"plain": plain, "leaf": leaf, "leaf-stream": leaf_stream, "tls": tls, "credentials": credentials,
         "server-killed": server_killed, "collectors-killed": collectors_killed, "no-collector": no_collector,
         "lost-stream": lost_stream, "by-stream": by_stream, "twice": twice, "restarted-agent": restarted_agent,
         "clock": clock, "damaged": damaged, "hostile": hostile, "parts": parts, "stream-full": stream_full,
         "locked-store": locked_store}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
