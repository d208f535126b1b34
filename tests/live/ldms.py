# SPDX-License-Identifier: BSD-3-Clause
"""The sink for LDMS against a stand-in for its library (tests/work/fake_ldms.c) that writes down what it gets and misbehaves when
told to."""
import json
import os
import signal

import harness
from harness import expect
from sinks_truth import COLUMNS, Feed

VARIANTS = {"MSG": 0o400, "STREAM": 0o400, "OLD": 0}


class Fake:
    """The library, and what it was given."""

    def __init__(self, case, variant="MSG"):
        self.case, self.out, self.do = case, case.path("out"), case.path("do")
        self.library = case.path("libfake-%s.so" % variant)
        case.run(os.environ.get("CC", "cc"), "-std=gnu17", "-Wall", "-Wextra", "-Werror", *("-D" + word for word in variant.split("-")), "-shared", "-fPIC",
                 "-fvisibility=hidden", "-pthread", os.path.join(harness.WORK, "fake_ldms.c"), "-o", self.library,
                 env=dict(os.environ))  # fmt: skip
        self.env = case.environment(FAKE_LDMS_OUT=self.out, FAKE_LDMS_DO=self.do)
        self.spec = "ldms:daemon:411?auth=none&library=" + self.library
        self.tell("")

    def tell(self, word):
        with open(self.do + ".new", "w") as file:
            file.write(word)
        os.rename(self.do + ".new", self.do)

    def messages(self):
        """(tag, permissions, document) of each."""
        found = []
        with open(self.out, encoding="utf-8") as file:
            for line in file:
                tag, length, perm, text = line.rstrip("\n").split(" ", 3)
                expect(int(length) == len(text.encode()) + 1, "length %s of %d bytes", length, len(text.encode()))
                found.append((tag, int(perm, 8), json.loads(text)))
        return found


def failed(feed):
    return sum(e[COLUMNS.index("failed")] for p in range(feed.words["processes"]) for e in feed.truth(p))


def complete(feed, said, fake, repeated=False):
    """Everything was sent (the connector knows no calls that failed), and its fields are right."""
    expect(said["committed"] == feed.messages and said["refused"] == 0, "feed: %s", said)
    expect(said["events"] == feed.events - failed(feed) and said["refused_events"] == failed(feed), "feed: %s", said)
    got = {}
    for _, _, row in fake.messages():
        for seg in row["seg"]:
            key = (row["rank"], row["record_id"], row["module"], row["op"], seg["off"], seg["len"], "%.6f" % seg["timestamp"],
                   "%.6f" % seg["dur"])  # fmt: skip
            got[key] = got.get(key, 0) + 1
    want = {}
    for process in range(feed.words["processes"]):
        for event in feed.truth(process):
            e = dict(zip(COLUMNS, event))
            if not e["failed"]:
                key = (e["rank"], e["record"], e["layer"], e["op"], e["off"], e["len"], "%.6f" % (e["end_ns"] / 1e9),
                       "%.6f" % (e["dur_ns"] / 1e9))  # fmt: skip
                want[key] = want.get(key, 0) + 1
    expect(sum(got.values()) == sum(want.values()) or repeated, "%d events, not %d", sum(got.values()), sum(want.values()))
    # times have passed through a double, and six decimals may have been rounded the other way
    rough = [key[:6] for key in got]
    expect(sorted(set(rough)) == sorted({key[:6] for key in want}), "fields differ: %s", sorted(set(rough))[:2])


def variants(case):
    """Each version of the library by the function it has."""
    for variant, perm in VARIANTS.items():
        fake = Fake(case, variant)
        feed = Feed(case, fake.spec, rounds=4)
        said = feed.run(env=fake.env)
        complete(feed, said, fake)
        expect({p for _, p, _ in fake.messages()} == {perm}, "%s: permissions", variant)
        expect({t for t, _, _ in fake.messages()} == {"iorama"}, "%s: tags", variant)
        os.remove(fake.out)


def service(case):
    """A library that has both ways: that which stores of LDMS read, unless the other is asked for; which it is, and what the daemon
    needs for it, is told."""
    for word, perm, needs in (("", 0, "stream_enable"), ("&service=stream", 0, "stream_enable"), ("&service=msg", 0o400, "msg_enable")):
        fake = Fake(case, "MSG-ALSO")
        feed = Feed(case, fake.spec + word, rounds=2)
        done = case.run(*feed.command(), env=fake.env)
        complete(feed, json.loads(done.stdout), fake)
        expect({p for _, p, _ in fake.messages()} == {perm}, "service %s: permissions", word)
        expect("the daemon needs %s" % needs in done.stderr, "not told: %s", done.stderr)
        os.remove(fake.out)


def tags(case):
    fake = Fake(case)
    feed = Feed(case, fake.spec, rounds=2, tag="darshanConnector")
    complete(feed, feed.run(env=fake.env), fake)
    expect({t for t, _, _ in fake.messages()} == {"darshanConnector"}, "tags")
    expect(all(row["seg"] for _, _, row in fake.messages()), "empty messages")
    os.remove(fake.out)
    feed = Feed(case, fake.spec + "&tag=site", rounds=2)
    complete(feed, feed.run(env=fake.env), fake)
    expect({t for t, _, _ in fake.messages()} == {"site"}, "tags of the site")


def refused(case):
    """Back-pressure: EAGAIN for a while, ENOBUFS for a while, then now and then."""
    fake = Fake(case)
    fake.tell("refuse")
    feed = Feed(case, fake.spec, rounds=20)
    sender = feed.start(env=fake.env)
    fake.tell("full")
    fake.tell("often")
    case.wait(lambda: len(fake.messages()) > 100, "messages")
    fake.tell("")
    complete(feed, json.loads(case.end(sender)), fake)


def down(case):
    """No daemon at first, then one that goes away in the middle."""
    fake = Fake(case)
    fake.tell("down")
    feed = Feed(case, fake.spec, rounds=20)
    sender = feed.start(env=fake.env)
    case.wait(lambda: "no connection" in sender.said(), "the complaint")
    fake.tell("often")
    case.wait(lambda: len(fake.messages()) > 50, "messages")
    fake.tell("down")
    case.wait(lambda: sender.said().count("no connection") > 1 or sender.poll() is not None, "the second complaint")
    fake.tell("")
    complete(feed, json.loads(case.end(sender)), fake)


def hang(case):
    """A library that does not come back: the agent waits no longer than it wants, and can end."""
    fake = Fake(case)
    fake.tell("hang")
    feed = Feed(case, fake.spec, rounds=20, until=1000)
    done = case.run(*feed.command(), env=fake.env, status=3)
    expect(json.loads(done.stdout)["events"] == 0, "%s", done.stdout)
    # in the middle, and a signal
    fake.tell("often")
    sender = Feed(case, fake.spec, rounds=20, until=100000).start(env=fake.env)
    case.wait(lambda: len(fake.messages()) > 20, "messages")
    fake.tell("hang")
    case.end(sender, status=None, send=signal.SIGTERM, timeout=30)


def large(case):
    """Messages that the daemon never takes are left out, told and counted exactly."""
    fake = Fake(case)
    fake.tell("large")
    feed = Feed(case, fake.spec, rounds=3, path="/data/" + "x" * 900)
    done = case.run(*feed.command(), env=fake.env)
    said = json.loads(done.stdout)
    sent = sum(len(row["seg"]) for _, _, row in fake.messages())
    expect(said["committed"] == feed.messages and said["refused"] > 0 and "left out" in done.stderr, "feed: %s", said)
    expect(said["events"] == sent and sent + said["refused_events"] == feed.events, "feed: %s, sent %d", said, sent)


def absent(case):
    """No library: told, everything waits."""
    feed = Feed(case, "ldms:daemon:411?library=/no/such/library.so", until=500)
    done = case.run(*feed.command(), status=3)
    expect("cannot be loaded" in done.stderr and json.loads(done.stdout)["committed"] == 0, "%s", done.stderr)


def restarted(case):
    """Killed -9 and begun again: nothing is missing; names are known by the state file."""
    fake = Fake(case)
    feed = Feed(case, fake.spec + "&state=" + case.path("ldms.state"), rounds=30, pace=5000, state=case.path("state"))
    sender = feed.start(env=fake.env)
    case.wait(lambda: int(harness.text_of(case.path("state"))) > feed.messages / 3 and os.path.exists(case.path("ldms.state")),
              "a third")  # fmt: skip
    sender.kill()
    sender.wait()
    del feed.words["pace"]
    said = feed.run(env=fake.env)
    expect(said["committed"] == feed.messages, "feed: %s", said)
    seen = {(row["rank"], row["record_id"], row["op"], seg["off"]) for _, _, row in fake.messages() for seg in row["seg"]}
    for process in range(2):
        for event in feed.truth(process):
            e = dict(zip(COLUMNS, event))
            expect(e["failed"] or (e["rank"], e["record"], e["op"], e["off"]) in seen, "%s was not sent", e)


CASES = {"variants": variants, "service": service, "tags": tags, "refused": refused, "down": down, "hang": hang, "large": large, "absent": absent,
         "restarted": restarted}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
