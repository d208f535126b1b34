#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""told.py IORAMA TABLES [NAME…]: what reports say of jobs with several things at once: what is left of a symptom where its cause is
told, who writes below MPI-IO file by file, what is not explained, and what to do about it. Cases like those of mistakes.py."""
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
import mistakes  # noqa: E402
from jobs import KIB, MIB  # noqa: E402
from mistakes import absent, found, main, mistake  # noqa: E402
from rule_cases import LOCAL, OUT  # noqa: E402
from rules import finding  # noqa: E402

mistakes.TRIALS.clear()


def first(document):
    return document["findings"][0]


# ---- one cause beside another


@mistake("aggregators", "ranks that write another file are no aggregators of this one", nprocs=32)
def _(t):
    job = t.job(run_time=14.3)
    job.mpiio(OUT, writes=[(6142 * 32, 2 * KIB)], kind="COLL", write_time=32 * 9.46)
    job.posix(OUT, 0, writes=[(6142, 64 * KIB)], write_time=0.95)
    job.posix(OUT + "2", -1, writes=[(81920, 512)], write_time=32 * 0.38)
    document = t.report(job)
    assert first(document)["rule"] == "A12", first(document)
    absent(document, "A09")


@mistake("rest", "what one rank removes is not told again as time of all ranks in metadata")
def _(t):
    job = t.job(run_time=189)
    job.extra("/scratch/run/tmp", 0, UNLINKS=37722, F_META_TIME=67.6)
    for rank in range(4):
        for k in range(8):
            job.posix("/scratch/run/part%d.%d" % (rank, k), rank, writes=[(4, 4 * MIB)], write_time=0.1, meta_time=41.0 / 8)
    document = t.report(job)
    assert first(document)["rule"] == "F12" and abs(first(document)["cost_s"] - 67.6) < 1, first(document)
    slow = finding(document, "F01")
    assert 38 < slow["cost_s"] < 42 and "/tmp" not in slow["evidence"], slow


@mistake("rest", "a symptom of which nothing is left beside its cause costs nothing")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(1000, 100)], write_time=0.01, meta_time=30.0, OPENS=30000)
    job.posix(LOCAL + "2", 1, writes=[(10, MIB)], write_time=0.01, meta_time=12.0, OPENS=2)
    document = t.report(job)
    assert first(document)["rule"] == "F03" and abs(first(document)["cost_s"] - 18) < 1, first(document)
    assert finding(document, "F01")["cost_s"] < 1, finding(document, "F01")  # of rank 1, which is not the slowest


@mistake("tiny", "a stream of many calls, and a file that all ranks open, are none of many tiny files", nprocs=64)
def _(t):
    job = t.job()
    for k in range(1100):
        job.posix("/scratch/in/%d" % k, 0, reads=[(1, 400)], read_time=1e-5, meta_time=0.01)
    job.stdio("/scratch/run/log", 0, writes=[(7000, 8)], write_time=8.0)
    job.posix("/scratch/run/ini", -1, reads=[(64, 3000)], read_time=1e-3, meta_time=64 * 20.0, size=3000)
    document = t.report(job)
    found(document, "F14", "L09")
    assert abs(finding(document, "F06")["cost_s"] - 11) < 1, finding(document, "F06")


@mistake("stalls", "calls that stall for half a second in all are no O_SYNC", nprocs=1)
def _(t):
    job, segments, now = t.job(run_time=5), [], 1.0
    for k in range(1000):
        took = 4e-3 if k % 10 == 0 else 3e-5
        segments.append((k * 16 * KIB, 16 * KIB, now, now + took))
        now += took
    job.posix(LOCAL, 0, writes=[(1000, 16 * KIB)], write_time=0.427)
    job.trace(LOCAL, 0, writes=segments)
    document = t.report(job)
    absent(document, "W08")
    assert first(document)["rule"] == "T07" and first(document)["level"] == "WARN", first(document)


@mistake("alone", "locks of the rank that writes everything do not explain its writes", nprocs=8)
def _(t):
    job = t.job(run_time=16)
    job.posix(LOCAL, 0, writes=[(300, 16 * MIB)], write_time=5.5)
    job.posix(LOCAL + ".lock", 0, writes=[(200, 100)], write_time=4e-4)
    job.extra(LOCAL + ".lock", 0, LOCKS=400, F_META_TIME=2.9)
    document = t.report(job)
    assert first(document)["rule"] == "A07" and 4 < first(document)["cost_s"] < 5.5, first(document)
    assert finding(document, "F13")["cost_s"] > 2.5, finding(document, "F13")


@mistake("alone", "ranks that wait in MPI_File_close for the one that writes everything are no reason not to charge it")
def _(t):
    job = t.job(run_time=4)
    job.mpiio(OUT, writes=[(128, 4 * MIB)], write_time=3.6, meta_time=3 * 3.65, slowest=(1, 3.65, 0), FASTEST_RANK=0,
              FASTEST_RANK_BYTES=512 * MIB, F_FASTEST_RANK_TIME=3.6)  # fmt: skip
    job.posix(OUT, -1, writes=[(128, 4 * MIB)], write_time=3.6, slowest=(0, 3.6, 512 * MIB), FASTEST_RANK=1, FASTEST_RANK_BYTES=0)
    job.heat("POSIX", {r: ([64 * MIB if r == 0 else 0] * 8, [0] * 8) for r in range(4)}, 0.5)
    f = first(t.report(job))
    assert f["rule"] == "A07" and f["level"] == "HIGH" and abs(f["cost_s"] - 3.6 * 3 / 4) < 0.1, f
    assert "3.60 s in writes" in f["evidence"], f["evidence"]


@mistake("rest", "what renames take is not told again as opens of the same file", nprocs=1)
def _(t):
    job = t.job()
    job.posix("/scratch/run/state.new", 0, writes=[(40000, 5)], write_time=0.5, meta_time=60.0, OPENS=40000, STATS=40000, RENAME_SOURCES=40000)
    job.extra("/scratch/run/state.new", 0, RENAMES=40000, F_META_TIME=54.0)
    document = t.report(job)
    assert first(document)["rule"] == "F09" and abs(first(document)["cost_s"] - 54) < 1, first(document)
    assert finding(document, "F03")["cost_s"] <= 6, finding(document, "F03")


@mistake("script", "hundreds of short processes, one after the other, spend more in I/O than the slowest of them", nprocs=1)
def _(t):
    for at_once, cost in ((1, 399 * 0.1), (400, None)):
        job = t.job(nprocs=401, run_time=100)
        job.process(0, command=b"sh", F_USER_TIME=1.0)
        for rank in range(1, 401):
            start = 0.2 * (rank - 1) if at_once == 1 else 10.0
            job.process(rank, command=b"git", PARENT_RANK=0, F_USER_TIME=0.05, F_START_TIMESTAMP=start, F_END_TIMESTAMP=start + 0.2)
            job.posix("/scratch/r/%d" % rank, rank, writes=[(2, 4 * KIB)], write_time=0.02, meta_time=0.08)
        document = t.report(job)
        f = finding(document, "T10")
        assert (f is None) == (cost is None), (at_once, f)
        if f is not None:
            assert document["findings"][0]["rule"] == "T10" and abs(f["cost_s"] - cost) < 0.5 and "slowest process. 400 processes" in document["verdict"]["text"], document["verdict"]["text"]


@mistake("unpacked", "what HDF5 needs for chunks that nobody asked for is told with its seconds, though they are in no call of the system", nprocs=1)
def _(t):
    for read, told in ((2000, True), (20, False)):
        job = t.job(run_time=60)
        job.hdf5(OUT, 0, parallel=False)
        job.dataset(OUT, "d", 0, reads=[(1000, 16 * KIB)], read_time=40.0, chunk=200 * KIB)
        job.posix(OUT, 0, reads=[(read, MIB)], read_time=2.0, size=200 * MIB)
        document = t.report(job)
        f = finding(document, "H09")
        assert (f is not None) == told, (read, f)
        if told:
            assert document["findings"][0]["rule"] == "H09" and abs(f["cost_s"] - 38 * (1 - 15.6 / 2000)) < 0.5, document["findings"][0]


@mistake("rest", "what is left of a symptom in one file is told once, where its cause is small beside that of another file", nprocs=16)
def _(t):
    job = t.job(run_time=800)
    for name, seconds, calls, sets in (("/scratch/a.h5", 290.0, 5939200, 23200), ("/scratch/b.h5", 76.0, 3216384, 3216384)):
        job.hdf5(name, parallel=True)
        job.dataset(name, "d", -1, writes=[(sets, 512 * calls // sets)], write_time=16 * seconds)
        job.mpiio(name, writes=[(sets, 512 * calls // sets)], kind="INDEP", write_time=16 * seconds)
        job.posix(name, -1, writes=[(calls, 512)], write_time=16 * seconds)
    document = t.report(job)
    paid = [f["rule"] for f in document["findings"] if f["cost_s"] > 0]
    assert paid == ["H07", "H02"], paid


@mistake("streams", "lines that a buffer takes in a microsecond are no tiny calls", nprocs=1)
def _(t):
    for each, system, rule in ((1.4e-6, 0.5, None), (1.4e-6, None, None), (4e-6, None, "L13"), (4e-6, 0.5, "L09"), (4e-6, 0.02, None), (30e-6, 0.02, None), (30e-6, None, "L09")):
        job = t.job(run_time=12)
        if system is not None:  # seconds of the process in the system: a call takes it there, what is formatted does not
            job.process(0, F_USER_TIME=1.0, F_SYSTEM_TIME=system)
        job.stdio(LOCAL, 0, writes=[(300000, 25)], write_time=300000 * each)
        document = t.report(job)
        assert [r for r in ("L09", "L13") if finding(document, r)] == ([rule] if rule else []), (each, system, rule)
    job = t.job(run_time=1)  # of few calls the system does not tell
    job.process(0, F_USER_TIME=0.1, F_SYSTEM_TIME=0.004)
    job.stdio(LOCAL, 0, writes=[(3000, 25)], write_time=0.09)
    found(t.report(job), "L09")


@mistake("costs", "stats and seeks that come with each open go with it; of a file of one rank all that MPI-IO does", nprocs=1)
def _(t):
    job = t.job()
    job.mpiio("/scratch/own0", 0, writes=[(20000, 512)], write_time=1.0, meta_time=60.0, INDEP_OPENS=20000)
    job.posix("/scratch/own0", 0, writes=[(20000, 512)], write_time=0.5, meta_time=2.0, OPENS=20000)
    f = finding(t.report(job), "F03")
    assert abs(f["cost_s"] - 60) < 1, f


@mistake("costs", "all ranks read the same input many times: once is enough")
def _(t):
    job = t.job(run_time=30)
    job.posix(OUT, -1, reads=[(4 * 20 * 4, 16 * MIB)], read_time=4 * 20.0, size=64 * MIB)
    f = first(t.report(job))
    assert f["rule"] == "R06" and 19.5 < f["cost_s"] <= 20, f


def family(t, master, workers, helpers=0, **more):
    """A process that started others: (bytes written, seconds) of it, and of each worker, which reads; helpers move nothing."""
    job = t.job(nprocs=1 + len(workers) + helpers, **more)
    job.process(0, F_USER_TIME=60.0)
    job.posix("/local/set", 0, writes=[(max(1, int(master[0] / MIB)), MIB)], write_time=master[1])
    for rank in range(1, job.nprocs):
        job.process(rank, F_USER_TIME=40.0, PARENT_RANK=0, command=b"app" if rank <= len(workers) else b"sh")
        if rank <= len(workers):
            moved, seconds = workers[rank - 1]
            job.posix("/local/part%d" % rank, rank, reads=[(max(1, int(moved / MIB)), MIB)], read_time=seconds)
    return job


@mistake("processes", "who has workers that read for it is not compared with them, nor are they with helpers that move nothing")
def _(t):
    absent(t.report(family(t, (4096 * MIB, 30.0), [(512 * MIB, 2.0)] * 5, helpers=20)), "B01", "B02", "B08", "A07")
    absent(t.report(family(t, (MIB, 0.01), [(1024 * MIB, 20.0)] * 5, helpers=20)), "B01", "B02", "B08", "A07")
    document = t.report(family(t, (MIB, 0.01), [(512 * MIB, 5.0)] * 4 + [(4096 * MIB, 40.0)], helpers=20))
    found(document, "B02")
    assert "Process 5 moves 4.0 GiB, a process on average 1.2 GiB" == finding(document, "B02")["title"], finding(document, "B02")["title"]
    texts = [document["verdict"]["text"]] + [f[k] or "" for f in document["findings"] for k in ("title", "evidence", "how", "advice")]
    assert not [text for text in texts if "rank" in text.lower().split()], texts


# ---- what logs leave open


@mistake("times", "data that moved in no time at all are no quick I/O: the log does not tell how long it took", nprocs=8)
def _(t):
    for moved, told in ((1 * MIB, True), (64 * KIB, False)):
        job = t.job()
        job.posix(OUT, -1, writes=[(moved // 4096, 4 * KIB)], F_OPEN_START_TIMESTAMP=0.0)
        document = t.report(job)
        assert ("the log does not tell how long I/O took" in document["verdict"]["text"]) == told, document["verdict"]["text"]
        assert ("Nothing to gain" in document["verdict"]["text"]) != told and bool(finding(document, "T02")) != told, document["verdict"]["text"]


@mistake("alone", "input that one rank reads for all is no imbalance, as long as it may be passed on; the rest of what it does is", nprocs=16)
def _(t):
    for size, wrote, rules in ((3000, 0, ()), (3000, 4000, ("B02", "A07")), (5000, 0, ("A07", "B02"))):
        job = t.job(run_time=60)
        job.posix("/scratch/in.npy", 0, reads=[(size, MIB)], read_time=8.0)
        if wrote:
            job.posix("/scratch/out.npy", 0, writes=[(wrote, MIB)], write_time=10.0)
        document = t.report(job)
        have = {f["rule"]: f for f in document["findings"] if f["cost_s"] > 0 and f["rule"] in ("A07", "B01", "B02", "B08")}
        assert bool(have) == bool(rules), (size, wrote, [f["title"] for f in have.values()])
        assert all(rule in rules and f["cost_s"] <= 10 for rule, f in have.items()), have


@mistake("alone", "what one rank reads for all is not charged to it with what it writes more than others", nprocs=16)
def _(t):
    job = t.job(run_time=60)
    job.posix("/scratch/in.npy", 0, reads=[(3000, MIB)], read_time=8.0)
    for rank in range(16):
        job.posix("/scratch/part%d" % rank, rank, writes=[(1000 if rank == 0 else 200, MIB)], write_time=10.0 if rank == 0 else 2.0)
    f = finding(t.report(job), "B02")
    assert abs(f["cost_s"] - (10 - 3)) < 0.1, f  # 18 s less 8 of reading, less the mean of 3


@mistake("waits", "slow opens on a parallel file system are no pipes", nprocs=64)
def _(t):
    for folder, pipes in (("/scratch/md", False), ("/local/md", True)):
        job = t.job()
        for rank in range(64):
            job.posix("%s/%d" % (folder, rank), rank, writes=[(1, 3901)], write_time=1e-3, meta_time=40.0)
        document = t.report(job)
        assert (finding(document, "F11") is not None) == pipes, document["verdict"]["text"]
        assert ("wait for another process" in document["verdict"]["text"]) == pipes, document["verdict"]["text"]
        assert pipes or first(document)["rule"] == "F01", first(document)


@mistake("files", "ranks that use many files are counted once, not for each of them", nprocs=32)
def _(t):
    job = t.job()
    for k in range(50):
        job.posix("/scratch/m%d.py" % k, -1, reads=[(32, 8000)], read_time=0.01, meta_time=32 * 0.5, size=8000)
    document = t.report(job)
    assert finding(document, "F14")["title"].startswith("32 ranks open or ask for the same 50 files"), finding(document, "F14")["title"]


@mistake("hidden", "I/O that goes on while another thread computes holds up nobody", nprocs=1)
def _(t):
    for user, more, cost in ((99.0, {}, 0), (60.0, {}, 40), (15.0, {}, 79), (25.0, {}, 79), (99.0, {"THREADS": 2}, 79), (300.0, {}, 79), (0.0, {}, 79)):
        job = t.job()
        job.process(0, F_USER_TIME=user, **more)
        job.posix(LOCAL, 0, writes=[(1000000, 512)], write_time=80.0)
        document = t.report(job)
        f, text = finding(document, "W01"), document["verdict"]["text"]
        assert abs(f["cost_s"] - cost) <= 1.1 and (f["level"] == "HIGH") == (cost > 10), (user, f)
        assert ("go on while another thread computes" in text) == (cost < 79), text
        assert "not explained" not in text, text


@mistake("streams", "a stream that is read in one call goes past its buffer: it is no fault of the stream", nprocs=1)
def _(t):
    for each, rule in ((100 * MIB, None), (4 * KIB, "L06")):
        job = t.job()
        job.stdio(LOCAL, 0, reads=[(800 * MIB // each, each)], read_time=60.0)
        f = finding(t.report(job), "L06")
        assert (f is not None) == (rule is not None), (each, f)


@mistake("streams", "what streams read again is read again", nprocs=1)
def _(t):
    job = t.job()
    job.stdio(LOCAL, 0, reads=[(600, 4 * MIB)], read_time=40.0, MAX_BYTE_READ=40 * MIB - 1)
    f = first(t.report(job))
    assert f["rule"] == "R04" and abs(f["cost_s"] - 40 * 59 / 60) < 0.5 and "2.3 GiB read of 40.0 MiB" in f["evidence"], f


@mistake("sizes", "one large call beside tiny ones takes longer of itself; one of many alike does not", nprocs=1)
def _(t):
    for others, each, shown in ((6, 96, False), (6, 4 * MIB, True), (6, 24 * MIB, True), (1, 0, False)):
        job = t.job(run_time=20)
        job.posix(LOCAL, 0, writes=[(1, 64 * MIB), (others, each)], write_time=10.0 + 6 * 0.005, F_MAX_WRITE_TIME=10.0, MAX_WRITE_TIME_SIZE=64 * MIB)
        assert (finding(t.report(job), "T06") is not None) == shown, (others, each)


@mistake("sizes", "writes of half a mebibyte at a poor rate are slow, and wait for no disk one by one", nprocs=1)
def _(t):
    for size, shown in ((512 * KIB, False), (4 * KIB, True)):
        job = t.job(run_time=5)
        job.posix(LOCAL, 0, writes=[(400, size)], write_time=400 * 0.003)
        assert (finding(t.report(job), "W08") is not None) == shown, size


@mistake("rewritten", "a checkpoint that is opened and written anew is written once each time", nprocs=1)
def _(t):
    for opens, shown in ((10, False), (1, True)):
        job = t.job()
        job.posix(LOCAL, 0, writes=[(160, 16 * MIB)], write_time=40.0, size=256 * MIB, OPENS=opens)
        assert (finding(t.report(job), "W04") is not None) == shown, opens


@mistake("locks", "locks that nobody waits for are no waiting, however many", nprocs=1)
def _(t):
    for each, shown in ((1e-6, False), (1e-4, True)):
        job = t.job(run_time=50)
        job.posix(LOCAL, 0, writes=[(10, 100)], write_time=1e-4)
        job.extra(LOCAL, 0, LOCKS=200000, F_META_TIME=200000 * each)
        assert (finding(t.report(job), "F13") is not None) == shown, each


@mistake("shares", "a look that finds nothing costs less than the remove beside it, and a sync far more", nprocs=1)
def _(t):
    job = t.job()
    job.extra("/scratch/run/tmp", 0, UNLINKS=2000, OPENS_FAILED=2000, F_META_TIME=50.0)
    job.extra("/scratch/run/map", 0, MSYNCS=200, ACCESSES=10000, F_META_TIME=20.0)
    document = t.report(job)
    costs = {f["rule"]: f["cost_s"] for f in document["findings"]}
    assert abs(costs["F12"] - 40) < 0.5 and abs(costs["F10"] - 10) < 0.5 and abs(costs["F15"] - 10) < 0.5 and abs(costs["F04"] - 10) < 0.5, costs


@mistake("temporary", "tiny files that are made and removed are temporary files: told once", nprocs=1)
def _(t):
    job = t.job()
    for k in range(1200):
        job.posix("/local/tmp%d" % k, 0, writes=[(1, 100)], write_time=0.001, meta_time=0.01)
        job.extra("/local/tmp%d" % k, 0, UNLINKS=1, F_META_TIME=0.005)
    document = t.report(job)
    f = first(document)
    assert f["rule"] == "F12" and abs(f["cost_s"] - 1200 * 0.016) < 0.3 and finding(document, "F06")["cost_s"] == 0, f


@mistake("turns", "a program that reads all at its end computes before, not in turn", nprocs=1)
def _(t):
    for spread, shown in ((100, True), (10, False)):
        job = t.job()
        for k in range(200):
            job.posix("/local/set/%d" % k, 0, reads=[(2, 2 * MIB)], read_time=9.0 / 200)
        job.process(0, F_USER_TIME=60.0)
        job.heat("POSIX", {0: ([0] * 100, [0] * (100 - spread) + [8 * MIB] * spread)})
        assert (finding(t.report(job), "E03") is not None) == shown, spread


@mistake("datasets", "what HDF5 reads again and in small pieces for a part of each chunk is told once", nprocs=1)
def _(t):
    job = t.job()
    job.hdf5(LOCAL, 0, parallel=False)
    job.dataset(LOCAL, "d", 0, reads=[(16, 4 * MIB)])
    job.posix(LOCAL, 0, reads=[(131072, 8 * KIB)], read_time=30.0, size=64 * MIB)
    document = t.report(job)
    assert first(document)["rule"] == "L05", first(document)
    assert not [f["rule"] for f in document["findings"] if f["rule"] in ("R01", "R04") and f["cost_s"] > 0], document["findings"]


@mistake("standard", "what goes to standard streams is I/O, of no file", nprocs=1)
def _(t):
    job = t.job(run_time=3)
    job.stdio("<STDERR>", 0, writes=[(300000, 12)], write_time=0.2)
    assert t.report(job)["verdict"]["text"] == "No I/O but that of standard streams was recorded in 3.00 s.", t.report(job)["verdict"]["text"]


@mistake("speed", "a job that loses much is not told to be near full speed, but what is left of it", nprocs=1)
def _(t):
    job = t.job(run_time=20)
    job.posix(LOCAL, 0, reads=[(50000, 100 * KIB)], read_time=15.0, random=25000)
    text = t.report(job)["verdict"]["text"]
    assert "lost" in text and "It runs at" not in text, text


@mistake("hidden", "streams and MPI-IO compute in their calls")
def _(t):
    job = t.job(nprocs=1)
    job.process(0, F_USER_TIME=90.0, F_SYSTEM_TIME=3.0)
    job.stdio(LOCAL, 0, writes=[(1000000, 100)], write_time=80.0)
    assert finding(t.report(job), "L09")["cost_s"] > 75
    job = t.job()
    for rank in range(4):
        job.process(rank, F_USER_TIME=95.0)
    job.mpiio(OUT, writes=[(100000, 8 * KIB)], write_time=4 * 60.0)
    job.posix(OUT, -1, writes=[(100000, 8 * KIB)], write_time=4 * 60.0)
    assert first(t.report(job))["cost_s"] > 50


@mistake("hidden", "what is copied from file to file inside of the system counts for both, and hides nothing", nprocs=1)
def _(t):
    job = t.job()
    job.process(0, F_USER_TIME=50.0)
    job.posix(LOCAL, 0, reads=[(100000, 4 * KIB)], read_time=45.0)
    job.posix(LOCAL + "2", 0, writes=[(100000, 4 * KIB)], write_time=45.0)
    job.extra(LOCAL, 0, COPY_READS=100000)
    assert "another thread computes" not in t.report(job)["verdict"]["text"]


@mistake("waits", "a pipe with a name that is read as its writer fills it is no slow file", nprocs=1)
def _(t):
    for seconds, size, random, pipe in ((80.0, 60, 0, True), (1.0, 60, 0, False), (80.0, 4 * MIB, 0, False), (80.0, 60, 3000, False)):
        job = t.job()
        job.posix("/local/pipe", 0, reads=[(5000, size)], read_time=seconds, random=random)
        document = t.report(job)
        assert (finding(document, "F11") is not None) == pipe, (seconds, size, document["verdict"]["text"])
        if pipe:
            absent(document, "R01", "R02", "E01", "E03")
            assert "wait for another process" in document["verdict"]["text"] and "not explained" not in document["verdict"]["text"], document["verdict"]["text"]


@mistake("empty", "who reads at the end of a file again and again waits for more: no larger reads help", nprocs=1)
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, reads=[(1, 1000), (20000000, 0)], read_time=20.0)
    f = first(t.report(job))
    assert f["rule"] == "R07" and f["level"] == "WARN" and abs(f["cost_s"] - 20) < 0.1, f
    job = t.job()
    job.posix(LOCAL, 0, reads=[(20000000, 1)], read_time=20.0)
    assert first(t.report(job))["rule"] == "R01", first(t.report(job))


@mistake("changes", "sizes, rights and times that are set once for each file are as it should be", nprocs=1)
def _(t):
    for each, shown in ((1, False), (200, True)):
        job = t.job()
        for k in range(2000):
            job.posix("/local/f%d" % k, 0, writes=[(1, 2 * MIB)], write_time=0.005)
            job.extra("/local/f%d" % k, 0, TRUNCATES=each, CHMODS=each, UTIMES=each, F_META_TIME=0.01)
        assert (finding(t.report(job), "F17") is not None) == shown, each


@mistake("same", "programs that read the same file one after the other are no ranks that could share it", nprocs=4)
def _(t):
    for program, shown in ((b"cat", False), (b"app", True)):
        job = t.job()
        for rank in range(4):
            job.process(rank, command=b"app" if rank == 0 else program, F_USER_TIME=1.0, PARENT_RANK=0 if rank else -1)
            job.posix("/local/in", rank, reads=[(400, 4 * MIB)], read_time=20.0)
        document = t.report(job)
        assert (finding(document, "R06") is not None) == shown, program
        if not shown:
            absent(document, "R04")


@mistake("short", "what is HIGH in a short run only is told to be so", nprocs=1)
def _(t):
    for run_time, cost, told in ((2, 0.5, True), (20, 5.0, False), (20, 0.5, False)):
        job = t.job(run_time=run_time)
        job.posix(LOCAL, 0, writes=[(20000, 100)], write_time=cost)
        document = t.report(job)
        assert ("much of a short run" in document["verdict"]["text"]) == told, document["verdict"]["text"]
        assert (finding(document, "W01")["level"] == "HIGH") == (cost >= run_time / 10), document["findings"]


@mistake("waits", "both ends of a pipe may be processes of the job")
def _(t):
    job = t.job(nprocs=2)
    for rank in range(2):
        job.process(rank, F_USER_TIME=1.0, PARENT_RANK=0 if rank else -1)
    job.posix("/local/pipe", 0, reads=[(5000, 60)], read_time=90.0)
    job.posix("/local/pipe", 1, writes=[(5000, 60)], write_time=0.01)
    text = t.report(job)["verdict"]["text"]
    assert "90.0 s of it wait for another process" in text and "not explained" not in text, text

# ---- what to do


def slow_for_no_reason(t, **more):
    """Large writes at a poor rate: nothing explains them."""
    job = t.job(run_time=100, **more)
    for rank in range(job.nprocs):
        job.posix("/scratch/run/part%d" % rank, rank, writes=[(100, 16 * MIB)], write_time=60.0 + rank)
    return job


@mistake("again", "what is not explained is said first, with rate, time by kind, spread, and the same job with --trace")
def _(t):
    text = t.report(slow_for_no_reason(t))["verdict"]["text"]
    assert "Nothing worth changing" not in text, text
    for words in ("are not explained", "MiB/s", "in writes", "slowest rank 63.0 s, mean 61.5 s", "iorama run --trace -- mpirun -n 4 "):
        assert words in text, (words, text)


@mistake("again", "the launcher of the job and its options are kept")
def _(t):
    started = b"srun -N 2 -n 4 --cpu-bind=cores /home/me/app in.nml"
    document = t.report(slow_for_no_reason(t, metadata=b"lib_ver=iorama\niorama_command=" + started + b"\n"))
    assert "`iorama run --trace -- %s`" % started.decode() in document["verdict"]["text"], document["verdict"]["text"]


@mistake("again", "processes without MPI are started again without a launcher", nprocs=1)
def _(t):
    text = t.report(slow_for_no_reason(t))["verdict"]["text"]
    assert "--trace -- " in text and "mpirun" not in text, text


# ---- many jobs


def of_fleet(t, name, jobid, exe, start, seconds, io, **more):
    job = t.job(nprocs=1, run_time=seconds, jobid=jobid, exe=exe, start=1700000000 + start, end=1700000000 + start + seconds)
    job.posix("/local/" + name, 0, **{"writes": [(100, 16 * MIB)], "write_time": io, **more})
    return t.path(job, name + ".darshan")


@mistake("fleet", "workers at the same time are one job, programs one after the other are two, and who waits at a pipe does no I/O")
def _(t):
    logs = [of_fleet(t, "train%d" % i, 77, b"/usr/bin/python3 train.py", i % 5, 150 + i % 5, 100.0) for i in range(24)]
    logs += [of_fleet(t, "sim", 88, b"/opt/sim in", 0, 100, 30.0), of_fleet(t, "ana", 88, b"/opt/analyse out", 100, 50, 10.0)]
    logs += [of_fleet(t, "fifo", 99, b"/opt/waiter", 0, 500, 0.0, writes=[(1, 100)], meta_time=400.0, OPENS=1)]
    done = t.run("report", "--fleet", "--json", *logs)
    assert done.returncode == 0, done.stderr
    fleet = json.loads(done.stdout)
    assert fleet["totals"]["jobs"] == 4, fleet["totals"]
    rows = {row["program"]: row for row in fleet["top"]["io_time"]}
    assert abs(rows["python3"]["run_time"] - 158) < 1 and abs(rows["python3"]["io_time"] - 100) < 1, rows["python3"]
    assert fleet["top"]["io_time"][0]["program"] == "python3", fleet["top"]["io_time"]
    assert all(row["io_time"] < 1 for row in fleet["jobs"] if row["program"] == "waiter"), fleet["jobs"]


if __name__ == "__main__":
    sys.exit(main())
