# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know what they did (tests/work/live_load.c), and the comparison of what they say with what a store holds: every
event counted by thread, operation and file, sequences without a gap, and a sample of calls field by field, with the time that the
program itself read before and after each."""
import collections
import glob
import json
import os
import subprocess

from harness import Failed, expect

SLACK = 10_000  # ns by which a time may lie outside the window that the program saw


class Load:
    """One run of live_load. family: under that MPI with so many ranks."""

    def __init__(self, case, threads=2, calls=2000, mode="mix", ranks=1, family=None, extra=(), env=None, wrap=()):
        self.case, self.ranks, self.family = case, ranks, family
        self.number = len(glob.glob(case.path("load.*")))
        os.makedirs(case.path("load.%d" % self.number))
        self.folder = os.path.join(case.work, "load.%d" % self.number)
        os.makedirs(self.folder)
        self.truth_file = case.path("load.%d" % self.number, "truth")
        program = case.compile("live_load", family)
        self.words = [program, "--threads", threads, "--calls", calls, "--mode", mode, "--truth", self.truth_file, *extra,
                      self.folder]  # fmt: skip
        self.env = env or case.observed()
        self.wrap, self.process, self.truth = list(wrap), None, None

    def command(self):
        if not self.family:
            return [*self.wrap, *self.words]
        words = ["mpirun." + self.family, "-n", str(self.ranks)]
        if self.family == "openmpi":
            for name in sorted(self.env):
                if name.startswith(("IORAMA_", "LD_PRELOAD")):
                    words += ["-x", name]
            # the launcher itself is not observed
        return [*self.wrap, *words, *self.words]

    def environment(self):
        return self.env

    def run(self):
        """To its end."""
        done = self.case.run(*self.command(), env=self.environment(), stdin=subprocess.DEVNULL)
        self.truth = json.loads(done.stdout)
        return self

    def start(self, **more):
        """Beside the test; .process, whose standard input holds it (--gate, --hold)."""
        self.process = self.case.start(*self.command(), env=self.environment(), stdin=subprocess.PIPE, **more)
        return self

    def go(self):
        """Opens the gate."""
        self.process.stdin.write(b"x")
        self.process.stdin.flush()

    def release(self):
        self.process.stdin.close()

    def end(self, status=0):
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        self.truth = json.loads(self.case.end(self.process, status=status))
        return self

    # ---- the truth

    @property
    def calls(self):
        return sum(rank["calls"] for rank in self.truth["ranks"])

    def samples(self):
        for rank in self.truth["ranks"]:
            with open("%s.%d" % (self.truth_file, rank["rank"]), encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)

    # ---- comparison

    def rows(self, store=None):
        """All measured events, per (pid, tid) in the order of their sequence."""
        sql = """SELECT e.*, p.pid FROM processes p JOIN events e ON e.job = p.job AND e.process = p.number
                 WHERE p.pid IN (%s)""" % ",".join(str(r["pid"]) for r in self.truth["ranks"])
        found = collections.defaultdict(list)
        prefix = {r["pid"]: r["prefix"] for r in self.truth["ranks"]}
        lanes = collections.defaultdict(list)
        for row in self.case.rows(sql, store=store):
            lanes[row["pid"], row["process"], row["lane"]].append(row["seq"])
            if (row["file"] or "").startswith(prefix[row["pid"]]):
                found[row["pid"], row["tid"]].append(row)
        for rows in found.values():
            rows.sort(key=lambda row: (row["lane"], row["seq"]))
        self.lanes = lanes
        return found

    def check(self, store=None, lost=0, slack=SLACK):
        """Everything is there, once, and as it was. lost: how many events may be missing, exactly so many are; slack: ns by which times
        may be off (None: clocks were set)."""
        found = self.rows(store)
        stored = sum(len(rows) for rows in found.values())
        if lost == 0:
            expect(stored == self.calls, "%d of %d measured calls are in the store", stored, self.calls)
            for lane, seqs in self.lanes.items():
                expect(sorted(seqs) == list(range(len(seqs))), "lane %s: its sequence has gaps or repeats", lane)
        for lane, seqs in self.lanes.items():
            expect(len(set(seqs)) == len(seqs), "lane %s: events twice", lane)
        if lost == 0:
            for rank in self.truth["ranks"]:
                self.check_counts(rank, found)
            self.check_fields(found, slack)
        return stored

    def check_sums(self):
        """The same for many events: counted by the database, by thread and operation; fields of the first rank only."""
        have = collections.defaultdict(dict)
        for rank in self.truth["ranks"]:
            for process in self.case.rows("SELECT job, number FROM processes WHERE pid = %d" % rank["pid"]):
                for row in self.case.rows("""SELECT tid, layer, op, count(*) n, count(DISTINCT lane * 1000000000 + seq) d FROM events
                                             WHERE job = ? AND rank = ? AND process = ? AND file GLOB ? GROUP BY tid, layer, op""",
                                          process["job"], rank["rank"], process["number"], rank["prefix"] + "*"):  # fmt: skip
                    expect(row["n"] == row["d"], "events twice: %s", row)
                    have[rank["pid"], row["tid"]]["%s.%s" % (row["layer"], row["op"].upper())] = row["n"]
            for thread in rank["threads"]:
                ops = have[rank["pid"], thread["tid"]]
                expect(ops == thread["ops"], "thread %d: %s, not %s", thread["tid"], ops, thread["ops"])
        everything = self.truth
        self.truth = {"ranks": everything["ranks"][:1]}
        self.check()
        self.truth = everything

    def check_counts(self, rank, found):
        for thread in rank["threads"]:
            rows = found[rank["pid"], thread["tid"]]
            expect(len(rows) == thread["calls"], "thread %d: %d events, %d calls", thread["tid"], len(rows), thread["calls"])
            ops = collections.Counter("%s.%s" % (row["layer"], row["op"].upper()) for row in rows)
            expect(ops == thread["ops"], "thread %d: %s, not %s", thread["tid"], dict(ops), thread["ops"])
            files = collections.Counter(row["file"] for row in rows)
            expect(files == thread["files"], "thread %d: files differ", thread["tid"])
            failed = sum(row["failed"] for row in rows)
            expect(failed == thread["failed"], "thread %d: %d failed, not %d", thread["tid"], failed, thread["failed"])
            expect({row["rank"] for row in rows} <= {rank["rank"]}, "thread %d: rank %s", thread["tid"],
                   {row["rank"] for row in rows})  # fmt: skip

    def check_fields(self, found, slack=SLACK):
        n, worst = 0, 0
        for truth in self.samples():
            row = found[truth["pid"], truth["tid"]][truth["call"]]
            want = (truth["layer"], truth["op"].lower(), truth["fn"], truth["file"], int(truth["failed"]))
            have = (row["layer"], row["op"], row["fn"], row["file"], int(row["failed"]))
            expect(want == have, "call %d of thread %d: %s, not %s", truth["call"], truth["tid"], have, want)
            for key in ("off", "len"):
                value = -1 if row[key] is None else row[key]
                expect(value == truth[key], "call %d: %s is %s, not %s", truth["call"], key, value, truth[key])
            early, late = truth["before"] - row["start_ns"], row["end_ns"] - truth["after"]
            worst = max(worst, early, late)
            expect(slack is None or max(early, late) <= slack, "call %d of thread %d: time is off by %d ns", truth["call"],
                   truth["tid"], max(early, late))  # fmt: skip
            n += 1
        expect(n > 0, "no call was compared")
        return n, worst


def accounts(case, store=None, job=None):
    """made, dropped, stored and lost of all jobs, or one, as the store has them; published = stored + lost must hold."""
    where = " WHERE j.key = '%s'" % job if job else ""
    row = case.rows("""SELECT coalesce(sum(p.made), 0) made, coalesce(sum(p.dropped), 0) dropped, coalesce(sum(p.stored), 0)
                       stored FROM processes p JOIN jobs j ON j.number = p.job""" + where, store=store)[0]  # fmt: skip
    agent = case.value("SELECT coalesce(sum(l.events), 0) FROM losses l LEFT JOIN jobs j ON j.number = l.job" + where,
                       store=store)  # fmt: skip
    if row["made"] != row["stored"] + agent:
        raise Failed("made %d, stored %d, lost by the agent %d" % (row["made"], row["stored"], agent))
    return {**row, "lost": agent}
