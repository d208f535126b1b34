# SPDX-License-Identifier: BSD-3-Clause
"""What sinks_feed.c sends, worked out a second time, and comparisons with what arrived."""
import json
import os

from harness import Failed, expect

CALLS = (("POSIX", "open", "open64"), ("POSIX", "write", "pwrite64"), ("POSIX", "read", "pread64"),
         ("STDIO", "write", "fwrite"), ("POSIX", "close", "close"))  # fmt: skip
START = 1700000000000000000
COLUMNS = "rank lane seq tid end_ns start_ns dur_ns off len record file layer op fn call parent failed host".split()


class Feed:
    """One run of it. words: parameters as in sinks_feed.c."""

    def __init__(self, case, spec, **words):
        self.case, self.spec = case, spec
        self.words = {"agent": "feed-1", "job": "1000/run-feed", "processes": 2, "lanes": 2, "rounds": 10, "events": 500,
                      "jobs": 1, "path": "/data/file", **words}  # fmt: skip

    def command(self):
        words = ["%s=%s" % pair for pair in self.words.items()]
        return [os.path.join(self.case.build, "tests", "sinks_feed"), self.spec, *words]

    def start(self, **more):
        return self.case.start(*self.command(), **more)

    def run(self, **more):
        """To its end; what it says of itself."""
        return json.loads(self.case.run(*self.command(), **more).stdout)

    @property
    def messages(self):
        w = self.words
        rounds = w["rounds"] * (w["processes"] * w["lanes"] + 1)
        return 2 * w["processes"] + rounds + ("log" in w) + (0 if w.get("keep") else w["processes"])

    @property
    def events(self):
        w = self.words
        return w["processes"] * w["lanes"] * w["rounds"] * w["events"]

    def job(self, process):
        return "%s-%d" % (self.words["job"], process % self.words["jobs"])

    def event(self, process, lane, i):
        """As a tuple of COLUMNS."""
        layer, op, fn = CALLS[i % 5]
        moves, end, dur = 1 <= i % 5 <= 3, START + i * 10000 + lane * 1000 + process, 100 + (i * 2654435761 & 0xFFFFFFFF) % 50000
        file = i // 5 % 3
        return (process, lane, i, 1000 + process * 100 + lane, end, end - dur, dur, i * 4096 if moves else -1,
                512 + i % 9 * 100 if moves else -1, 1000 + process * 10 + file, "%s-%d-%d" % (self.words["path"], process, file),
                layer, op, fn, i + 1, 0 if i % 4 == 0 else i, int(i % 97 == 96), "node1")  # fmt: skip

    def truth(self, process):
        w = self.words
        return [self.event(process, lane, i) for lane in range(w["lanes"]) for i in range(w["rounds"] * w["events"])]


def differs(name, got, want):
    """Two sorted lists of tuples of COLUMNS must be equal."""
    if got == want:
        return
    wrong = next((pair for pair in zip(got, want) if pair[0] != pair[1]), None)
    raise Failed("%s: %d events, not %d; first difference: %s" % (name, len(got), len(want), wrong))


def stored(case, *feeds, store=None):
    """Every event of the feeds is in the store once, field by field, and nothing else is; samples and processes too."""
    expect(case.value("SELECT coalesce(sum(n), 0) FROM blocks", store=store) == sum(f.events for f in feeds),
           "%s events in the store, not %d", case.value("SELECT sum(n) FROM blocks", store=store),
           sum(f.events for f in feeds))  # fmt: skip
    for feed in feeds:
        for process in range(feed.words["processes"]):
            rows = case.rows("SELECT e.* FROM jobs j JOIN events e ON e.job = j.number WHERE j.key = ? AND e.rank = ?",
                             feed.job(process), process, store=store)  # fmt: skip
            got = sorted(tuple(-1 if r[c] is None else r[c] for c in COLUMNS) for r in rows)  # no offset, no length
            differs("%s rank %d" % (feed.job(process), process), got, feed.truth(process))
        made = case.rows("SELECT sum(p.made) made, sum(p.stored) stored, count(*) n FROM processes p JOIN jobs j"
                         " ON p.job = j.number WHERE j.key LIKE ?", feed.words["job"] + "-%", store=store)[0]  # fmt: skip
        expect(made["n"] == feed.words["processes"] and made["stored"] == feed.events, "processes: %s", made)
        expect(feed.words.get("keep") or made["made"] == feed.events, "made: %s", made)
    rounds = max(f.words["rounds"] for f in feeds)
    expect(case.value("SELECT count(*) FROM samples WHERE metric = 'cpu.user' AND host = 'node1'", store=store) == rounds,
           "samples are missing")  # fmt: skip
