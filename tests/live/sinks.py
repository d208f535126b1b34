# SPDX-License-Identifier: BSD-3-Clause
"""Sinks of the same machine: the store and files. Made-up agents (sinks_feed) send what is known, are killed and begin again;
every event must be there once."""
import csv
import json
import os
import random
import resource
import signal
import sqlite3

import harness
import sinks_truth
from harness import expect
from sinks_truth import COLUMNS, Feed, differs

csv.field_size_limit(1 << 24)


def check(feed, said, refused=0, refused_events=0):
    expect(said["committed"] == said["last"] == feed.messages, "feed: %s", said)
    expect(said["messages"] + said["refused"] == feed.messages and said["refused"] == refused, "feed: %s", said)
    expect(said["events"] + said["refused_events"] == feed.events, "feed: %s", said)
    expect(said["refused_events"] == refused_events, "feed: %s", said)


# ---- the store


def store(case):
    feed = Feed(case, "store:" + case.path("store.db"), processes=3, jobs=2)
    check(feed, feed.run())
    sinks_truth.stored(case, feed)


def store_twice(case):
    feed = Feed(case, "store:" + case.path("store.db"))
    check(feed, feed.run())
    said = feed.run()
    expect(said["events"] == 0 and said["repeated"] == feed.events, "second time: %s", said)
    sinks_truth.stored(case, feed)


def store_damaged(case):
    """A damaged message is left out, counted and told; the rest is stored."""
    feed = Feed(case, "store:" + case.path("store.db"), damage=12)
    done = case.run(*feed.command())
    said = json.loads(done.stdout)
    expect(said["committed"] == feed.messages and said["refused"] == 1 and done.stderr.count("left out") == 1, "%s", said)
    expect(said["events"] == feed.events - 500 == case.value("SELECT sum(n) FROM blocks"), "feed: %s", said)


def store_locked(case):
    """Another process keeps the database locked for a while."""
    feed = Feed(case, "store:" + case.path("store.db"))
    case.command("collect", "-q", "/dev/null", status=None)  # makes the store
    db = sqlite3.connect(case.path("store.db"), isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    sender = feed.start()
    case.wait(lambda: "wait in the spool" in sender.said(), "the complaint")
    db.execute("ROLLBACK")
    db.close()
    check(feed, json.loads(case.end(sender)))
    expect("it is back" in sender.said(), "it does not say that the store is back: %s", sender.said())
    sinks_truth.stored(case, feed)


def store_killed(case):
    """kill -9 at random moments."""
    kill_and_resume(case, "store:" + case.path("store.db"), lambda feed: sinks_truth.stored(case, feed))


# ---- files


def own_lines(path):
    """Events of a file of our own JSON, as tuples of COLUMNS."""
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["type"] == "event":
                found.append(tuple(int(row[c]) if c in ("record", "failed") else row[c] for c in COLUMNS))
    return found


def own_table(path):
    """The same of our own CSV."""
    with open(path, encoding="utf-8", newline="") as file:
        return [tuple(row[c] if c in ("file", "layer", "op", "fn", "host") else int(row[c]) for c in COLUMNS)
                for row in csv.DictReader(file)]  # fmt: skip


def in_file(feed, events):
    want = sorted(event for process in range(feed.words["processes"]) for event in feed.truth(process))
    differs("file", sorted(events), want)


def file(case):
    path = case.path("events.json")
    feed = Feed(case, "file:" + path, processes=3, jobs=2)
    check(feed, feed.run())
    in_file(feed, own_lines(path))
    # a second run with the same numbers is known to be there
    said = feed.run()
    expect(said["events"] == 0, "second time: %s", said)
    in_file(feed, own_lines(path))
    expect(os.stat(path).st_mode & 0o777 == 0o600, "others can read it")


def file_csv(case):
    path = case.path("events.csv")
    feed = Feed(case, "file:%s?format=csv" % path, path='/data/a "quoted", name\nof two lines é')
    check(feed, feed.run())
    in_file(feed, own_table(path))


def dialects(case):
    """Those of the connector: the same events, with its names."""
    for dialect in "upstream", "paper":
        path = case.path(dialect)
        feed = Feed(case, "file:%s?dialect=%s" % (path, dialect))
        check(feed, feed.run(), refused_events=failed(feed))
        segs = 0
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                expect(row["type"] == ("MET" if row["op"] == "open" else "MOD"), "type: %s", line)
                expect(row["module"] in ("POSIX", "STDIO") and row["ProducerName"] == "node1", "%s", line)
                segs += len(row["seg"])
        expect(segs == feed.events - failed(feed), "%s: %d events, not %d", dialect, segs, feed.events - failed(feed))


def failed(feed):
    """Events of calls that failed: the connector does not know them."""
    return sum(e[COLUMNS.index("failed")] for p in range(feed.words["processes"]) for e in feed.truth(p))


def kill_and_resume(case, spec, judge):
    """An agent is killed -9 at random moments and goes on from its spool, until everything is committed."""
    rng = random.Random(7)
    feed = Feed(case, spec, rounds=120, events=200, pace=5000, state=case.path("state"))
    for number in range(5):
        sender = feed.start()
        mark = (number + rng.random()) / 6 * feed.messages
        case.wait(lambda: sender.poll() is not None or int(harness.text_of(case.path("state"))) >= mark, "a part")
        sender.kill()
        sender.wait()
    del feed.words["pace"]
    said = feed.run()
    expect(said["committed"] == feed.messages and said["refused"] == 0, "feed: %s", said)
    judge(feed)


def file_killed(case):
    path = case.path("events.json")
    kill_and_resume(case, "file:" + path, lambda feed: in_file(feed, own_lines(path)))


def file_rotated(case):
    """Pieces of some size, also over kill -9; together they hold everything once."""
    path = case.path("events.csv")

    def judge(feed):
        pieces = sorted(n for n in os.listdir(case.folder) if n.startswith("events.csv") and "state" not in n)
        expect(len(pieces) > 3, "pieces: %s", pieces)
        in_file(feed, [event for name in pieces for event in own_table(case.path(name))])

    kill_and_resume(case, "file:%s?format=csv&rotate=1M" % path, judge)


def file_other_agent(case):
    """A new spool: numbers begin at 1 again, and mean other messages."""
    path = case.path("events.json")
    one = Feed(case, "file:" + path, rounds=2)
    two = Feed(case, "file:" + path, rounds=2, agent="other-2", job="1000/run-other", path="/other/file")
    check(one, one.run())
    check(two, two.run())
    want = sorted(e for feed in (one, two) for p in range(2) for e in feed.truth(p))
    differs("file", sorted(own_lines(path)), want)


def file_full(case):
    """A disk that is full: told, nothing lost, and all is written when there is room."""
    path = case.path("events.json")
    feed = Feed(case, "file:" + path, rounds=40)
    # no file may be larger than 1 MiB; a write beyond that is an error, not a signal
    sender = case.start("sh", "-c", 'trap "" XFSZ; ulimit -S -f 2048; exec "$@"', "sh", *feed.command())
    case.wait(lambda: "wait in the spool" in sender.said(), "the complaint")
    resource.prlimit(sender.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    check(feed, json.loads(case.end(sender)))
    in_file(feed, own_lines(path))


def file_busy(case):
    """Two agents with one file: the second is refused."""
    path = case.path("events.json")
    feed = Feed(case, "file:" + path, rounds=400, pace=20000)
    sender = feed.start()
    case.wait(lambda: os.path.exists(path + ".state"), "the first one's state")
    done = case.run(*Feed(case, "file:" + path, agent="other-2").command(), status=4)
    expect("another process writes it" in done.stderr, "%s", done.stderr)
    case.end(sender, status=None, send=signal.SIGTERM)


def wrong(case):
    """Wrong words are refused with a line that says what is right."""
    for spec, word in (("file:x?shape=csv", "shape"), ("file:x?format=xml", "json or csv"), ("file:x?rotate=ten", "64M"),
                       ("file:/no/such/folder/x", "/no/such/folder/x"), ("file:/dev/null", "no ordinary file"),
                       ("file:x?dialect=latin", "upstream"), ("nats://127.0.0.1:1?ack=maybe", "store or stream"),
                       ("ldms:h:1?service=x", "msg, stream"), ("ldms:h:1?perm=9", "octal"),
                       ("store:/dev/null/x", "/dev/null")):  # fmt: skip
        done = case.run(*Feed(case, spec).command(), status=4)
        expect(word in done.stderr and done.stderr.count("\n") == 1, "%s: %s", spec, done.stderr)


CASES = {"store": store, "store-twice": store_twice, "store-damaged": store_damaged, "store-locked": store_locked,
         "store-killed": store_killed, "file": file, "file-csv": file_csv, "dialects": dialects, "file-killed": file_killed,
         "file-rotated": file_rotated, "file-other-agent": file_other_agent, "file-full": file_full, "file-busy": file_busy,
         "wrong": wrong}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
