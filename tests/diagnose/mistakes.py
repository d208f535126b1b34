#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mistakes.py IORAMA TABLES [NUMBER...]: jobs that mislead a naive tool, each made for one mistake that is known of other
tools. The numbers are those that comments in src/diagnose give ("mistake 6")."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
from rule_cases import LOCAL, OUT, busy, striped  # noqa: E402
from common import Tap, in_parallel  # noqa: E402
from jobs import GIB, KIB, MIB, Job  # noqa: E402
from layout import Record, Region, build_log, load_tables  # noqa: E402
from records import Maker  # noqa: E402
from rules import ENVIRONMENT, culprit_of, finding, report, sound, state  # noqa: E402

TRIALS = []


def mistake(number, text, **job):
    """What follows says what the job does and what has to be true of its report."""

    def keep(function):
        TRIALS.append((number, text, function, job))
        return function

    return keep


class Trial:
    def __init__(self, iorama, tables, folder, values):
        self.iorama, self.tables, self.folder, self.values = iorama, tables, folder, values
        self.count = 0

    def job(self, **values):
        return Job(self.tables, **{**self.values, **values})

    def path(self, job, name=None):
        self.count += 1
        return job.write(os.path.join(self.folder, name or "job%d.darshan" % self.count))

    def report(self, job, *arguments):
        document = report(self.iorama, *arguments, self.path(job))
        wrong = list(sound(document))
        assert not wrong, wrong
        return document

    def run(self, *arguments):
        return subprocess.run([self.iorama, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT, timeout=120)


def found(document, *rules):
    for rule in rules:
        assert state(document, rule) == "found", "%s is %s" % (rule, state(document, rule))


def absent(document, *rules):
    for rule in rules:
        f = finding(document, rule)
        assert f is None, "%s: %s" % (rule, f["title"])


def quiet(document):
    """Nothing that calls for action."""
    loud = ["%s %s: %s" % (f["level"], f["rule"], f["title"]) for f in document["findings"] if f["level"] in ("HIGH", "WARN")]
    assert not loud, loud


def values_of(found_one):
    return {v["name"]: v["value"] for v in found_one["values"]}


@mistake(1, "a part of a large file is read: nothing is read twice")
def _(t):
    job = t.job()
    job.posix(OUT, 0, reads=[(1600, 16 * MIB)], read_time=40.0, size=120 * GIB)
    absent(t.report(job), "R04", "R06", "R08")


@mistake(1, "what is written twice is found, although another file is larger than all that was written")
def _(t):
    job = t.job()
    job.posix(OUT, 0, writes=[(320, 16 * MIB)], write_time=20.0, size=2 * GIB)
    job.posix("/scratch/sparse", 0, writes=[(1, MIB)], write_time=0.1, size=900 * GIB)
    document = t.report(job)
    found(document, "W04")
    f = finding(document, "W04")
    assert culprit_of(f) == OUT and f["culprits_total"] == 1, f["culprits"]
    assert abs(f["bytes"] - 3 * GIB) < MIB, f["bytes"]


@mistake(1, "a hole of some bytes is no redundancy")
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(4096, 16 * MIB)], write_time=160.0, size=64 * GIB + 1863)
    absent(t.report(job), "W04")


@mistake(2, "each finding is told once")
def _(t):
    job = t.job()
    job.posix(OUT, 0, writes=[(5000, 4 * KIB)], reads=[(5000, 4 * KIB)], write_time=20.0, read_time=20.0, size=KIB)
    rules = [f["rule"] for f in t.report(job)["findings"]]
    assert len(rules) == len(set(rules)), rules


@mistake(3, "hints that the log has for its own writing are not those of the application", nprocs=64)
def _(t):
    seen = []
    for hints in (b"", b"h=romio_no_indep_rw=true;cb_nodes=4\n", b"h=cb_nodes=64\n"):
        job = t.job(metadata=b"lib_ver=3.5.0\n" + hints)
        for rank in range(8):
            job.posix(OUT, rank, writes=[(100, 16 * MIB)], write_time=30.0)
        job.mpiio(OUT, writes=[(640, 20 * MIB)], kind="COLL", write_time=64 * 30.0)
        job.heat("POSIX", {r: ([GIB if r < 8 else 0] * 10, [0] * 10) for r in range(64)}, 10.0)
        seen.append(t.report(job))
    assert seen[0]["findings"] == seen[1]["findings"] == seen[2]["findings"]
    assert seen[0]["totals"]["active_ranks"] == 8, seen[0]["totals"]
    found_one = finding(seen[0], "A10")
    assert found_one and "8 of 64" in found_one["title"], found_one


@mistake(5, "any hint is tolerated")
def _(t):
    for hints in (b"h=no\n", b"h=\n", b"h\n", b"h=cb_nodes=abc;;;=\n", b"h=" + b"x" * 900 + b"\n"):
        job = t.job(metadata=b"lib_ver=3.5.0\n" + hints)
        busy(job)
        t.report(job)


@mistake(4, "files of HDF5 get the advice for HDF5")
def _(t):
    job = t.job()
    job.hdf5(OUT)
    job.dataset(OUT, "d", writes=[(100, MIB)], collective=1)
    job.posix(OUT, -1, writes=[(100, MIB)], write_time=4.0, meta_time=4 * 40.0)
    f = finding(t.report(job), "F01")
    titles = [s["title"] for s in f["snippets"]]
    assert "HDF5: collective metadata" in titles, titles


@mistake(6, "requests of exactly 1 MiB are not small")
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(50484, MIB), (348, 100 * KIB)], reads=[(50484, MIB)], write_time=200.0, read_time=40.0)
    absent(t.report(job), "W01", "W02", "W07", "R01", "R02")


@mistake(7, "one large read of each rank is not random", nprocs=64)
def _(t):
    job = t.job()
    for rank in range(64):
        for part in range(20):
            job.posix("/scratch/in.%d.%d" % (rank, part), rank, reads=[(1, 64 * MIB)], read_time=2.0)
    absent(t.report(job), "R03", "R05")


@mistake(7, "the first access of each rank to a shared file is not judged", nprocs=2048)
def _(t):
    job = t.job()
    job.posix(OUT, -1, reads=[(4096, 64 * MIB)], read_time=2048 * 20.0)
    absent(t.report(job), "R03")


@mistake(8, "a third of the accesses goes back, though less than a thousand: no praise")
def _(t):
    job = t.job()
    job.posix(OUT, 0, reads=[(1001, 2 * MIB)], read_time=20.0, random=350)
    document = t.report(job)
    absent(document, "R03", "R05")
    job = t.job()
    job.posix(OUT, 0, reads=[(1001, 2 * MIB)], read_time=20.0, random=100)
    assert finding(t.report(job), "R05")


@mistake(9, "metadata time of a shared record is that of all ranks together", nprocs=1024)
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(1024, 16 * MIB)], write_time=1024 * 2.0, meta_time=1024 * 0.06)
    absent(t.report(job), "F01")


@mistake(9, "many private files of one rank add up")
def _(t):
    job = t.job(run_time=400)
    for k in range(2000):
        job.posix("/scratch/f%d" % k, 3, reads=[(1, 2 * MIB)], read_time=0.01, meta_time=0.02)
    document = t.report(job)
    found(document, "F01")
    assert "Rank 3 spends 40" in finding(document, "F01")["title"], finding(document, "F01")["title"]


@mistake(10, "one rank of 1,024 that moves 100 times more is seen", nprocs=1024)
def _(t):
    job = t.job()
    for rank in range(1024):
        job.posix("/local/out.%d" % rank, rank, writes=[(1000 if rank == 700 else 10, MIB + KIB)], write_time=60.0 if rank == 700 else 0.6)
    document = t.report(job)
    found(document, "B02")
    assert finding(document, "B02")["level"] == "HIGH" and culprit_of(finding(document, "B02")) == "700", finding(document, "B02")


@mistake(10, "one rank of 1,024 that is slow in a shared file is seen", nprocs=1024)
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(10240, MIB + KIB)], write_time=1023 * 1.0 + 80.0, slowest=(77, 80.0, 10 * (MIB + KIB)))
    document = t.report(job)
    found(document, "B08")
    f = finding(document, "B08")
    assert f["level"] == "HIGH" and culprit_of(f) == "77" and 70 < f["cost_s"] < 80, f


@mistake(10, "imbalance of some milliseconds is nothing")
def _(t):
    job = t.job(run_time=60)
    job.posix(OUT, -1, writes=[(16, MIB)], write_time=0.05, slowest=(2, 0.04, 13 * MIB))
    job.mpiio(OUT, writes=[(16, MIB)], write_time=0.06, slowest=(2, 0.045, 13 * MIB))
    document = t.report(job)
    quiet(document)
    assert "Nothing to gain" in document["verdict"]["text"], document["verdict"]["text"]


@mistake(11, "a file of 4,000 bytes that one of its openers writes is no imbalance")
def _(t):
    job = t.job()
    busy(job)
    job.posix(OUT, 0, writes=[(1, 4000)], write_time=0.001)
    job.posix(OUT, 1)
    absent(t.report(job), "B03", "B04")


@mistake(12, "files are listed for what they do: independent reads here, independent writes there")
def _(t):
    job = t.job()
    job.mpiio("/scratch/reads", reads=[(20000, 4 * KIB)], read_time=4 * 20.0)
    job.mpiio("/scratch/writes", writes=[(20000, 4 * KIB)], write_time=4 * 20.0, COLL_READS=2)
    document = t.report(job)
    found(document, "A01", "A02")
    for rule, name in (("A01", "/scratch/reads"), ("A02", "/scratch/writes")):
        names = [c["name"] for c in finding(document, rule)["culprits"]]
        assert names == [name], (rule, names)


@mistake(13, "one collective call does not make a million independent ones good")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(1000000, 4 * KIB)], write_time=4 * 60.0, COLL_WRITES=1, INDEP_WRITES=999999)
    document = t.report(job)
    found(document, "A02")
    absent(document, "A04")


@mistake(13, "non-blocking and split calls are calls as well")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(10000, 4 * KIB)], write_time=4 * 60.0, INDEP_WRITES=1500, NB_WRITES=4000, SPLIT_WRITES=4500)
    absent(t.report(job), "A02", "A04")


@mistake(14, "a job that never reads is not told to read without blocking")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(1000, 16 * MIB)], kind="COLL", write_time=4 * 60.0)
    document = t.report(job)
    absent(document, "A05")
    found(document, "A06")


@mistake(14, "a job that hardly waits is not told to write without blocking")
def _(t):
    job = t.job()
    busy(job, 30.0)
    job.mpiio(OUT, writes=[(100, 16 * MIB)], kind="COLL", write_time=4 * 1.0)
    absent(t.report(job), "A05", "A06")


@mistake(15, "a job of one process needs no MPI-IO", nprocs=1)
def _(t):
    job = t.job()
    job.posix(OUT, 0, writes=[(4096, 16 * MIB)], write_time=60.0)
    absent(t.report(job), "L07")


@mistake(15, "a job on DAOS needs no MPI-IO; files of single ranks neither")
def _(t):
    job = t.job()
    job.dfs("/daos/out", -1, writes=[(4096, 16 * MIB)], write_time=160.0)
    absent(t.report(job), "L07", "L06")
    job = t.job()
    busy(job, 60.0)
    absent(t.report(job), "L07")


@mistake(16, "what is printed is not bulk data, nor are 151 bytes")
def _(t):
    job = t.job()
    job.stdio("<STDOUT>", 0, writes=[(100000, 16 * KIB)], write_time=30.0)
    job.stdio("<STDERR>", 1, writes=[(100000, 16 * KIB)], write_time=30.0)
    document = t.report(job)
    absent(document, "L06")
    assert document["totals"]["bytes_written"] == 0 and document["totals"]["std_bytes_written"] == 2 * 100000 * 16 * KIB, document["totals"]
    job = t.job()
    job.stdio(LOCAL, 0, writes=[(3, 151)], write_time=30.0)
    absent(t.report(job), "L06")


@mistake(16, "bytes of DAOS count when the share of streams is taken")
def _(t):
    job = t.job()
    job.dfs("/daos/out", 0, writes=[(1024, 16 * MIB)], write_time=30.0)
    job.stdio(LOCAL, 0, writes=[(1000, MIB)], write_time=10.0)
    absent(t.report(job), "L06")


@mistake(17, "bytes that pass MPI-IO and POSIX are counted once, whichever counted more")
def _(t):
    for below in (50, 100, 120):
        job = t.job()
        job.mpiio(OUT, writes=[(100, 16 * MIB)], kind="COLL", write_time=40.0)
        job.posix(OUT, -1, writes=[(below, 16 * MIB)], write_time=30.0)
        job.stdio(LOCAL, 0, writes=[(10, MIB)], write_time=1.0)
        document = t.report(job)
        assert document["totals"]["bytes_written"] == below * 16 * MIB + 10 * MIB, document["totals"]
        assert document["verdict"]["io_time"] < 12, document["verdict"]  # 40 s / 4 ranks and 1 s, not also the 30 s below


@mistake(18, "no layer is left out")
def _(t):
    job = t.job()
    job.hdf5("/scratch/a.h5")
    job.dataset("/scratch/a.h5", "d", writes=[(10, MIB)], write_time=4.0)
    job.pnetcdf("/scratch/b.nc", writes=[(10, MIB)])
    job.mpiio("/scratch/b.nc", writes=[(10, MIB)], write_time=4.0)
    job.dfs("/daos/c", writes=[(10, MIB)], write_time=4.0)
    job.stdio("/local/d", writes=[(10, MIB)], write_time=4.0)
    busy(job, 2.0)
    names = [layer["name"] for layer in t.report(job)["layers"]]
    for want in ("H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR", "MPI-IO", "DFS", "STDIO", "POSIX"):
        assert want in names, names


@mistake(19, "incomplete data are said so first")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(20000, 4 * KIB)], write_time=40.0)
    job.partial.add("POSIX")
    document = t.report(job)
    assert not document["complete"] and any("POSIX" in line for line in document["banner"]), document["banner"]
    found(document, "I01", "W01")
    said = t.run("report", t.path(job)).stdout.decode().split("\n")
    at = [k for k, line in enumerate(said) if "POSIX" in line or "ncomplete" in line]
    first = [k for k, line in enumerate(said) if re.search(r"\bHIGH\b", line)]
    assert at and first and at[0] < first[0], said[:12]


@mistake(20, "a counter of -1 was not counted; it is not minus one")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(10000, 16 * KIB)], write_time=60.0, FSYNCS=1001)
    for rank in range(1, 4):
        job.posix("/local/b.%d" % rank, rank, writes=[(10, 16 * MIB)], write_time=1.0, FSYNCS=-1, FDSYNCS=-1, OPENS=-1, SEEKS=-1, STATS=-1, MMAPS=-1)
    document = t.report(job)
    found(document, "W06")
    assert values_of(finding(document, "W06")).get("syncs", 1001) == 1001
    assert all(v >= 0 for name, v in document["counters"]["POSIX"].items() if name in ("POSIX_OPENS", "POSIX_SEEKS", "POSIX_STATS")), document["counters"]["POSIX"]
    for row in document["operations"]:
        assert row["count"] >= 0, row


@mistake(21, "memory that is not aligned is no problem")
def _(t):
    job = t.job()
    job.posix(OUT, 0, writes=[(100000, 16 * MIB)], write_time=90.0, MEM_NOT_ALIGNED=100000)
    f = finding(t.report(job), "O06")
    assert f is None or f["level"] == "INFO", f


@mistake(22, "alignment of files of single ranks, or on local disks, means nothing")
def _(t):
    job = t.job()
    job.posix(OUT, 0, writes=[(20000, 3 * MIB + 17)], write_time=40.0, FILE_NOT_ALIGNED=19999)
    job.posix(LOCAL, -1, writes=[(20000, 3 * MIB + 17)], write_time=40.0, FILE_NOT_ALIGNED=19999)
    absent(t.report(job), "O05")


@mistake(22, "small requests are not aligned by nature: that is told elsewhere")
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(100000, 1000)], write_time=4 * 60.0, FILE_NOT_ALIGNED=99000)
    document = t.report(job)
    assert document["findings"][0]["rule"] == "W02", document["findings"][0]
    f = finding(document, "O05")
    assert f is None or f["level"] == "INFO", f


def processor_time(function):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@mistake(23, "ten times the files take about ten times the time")
def _(t):
    paths = []
    for count in (2000, 20000):
        job = t.job()
        for k in range(count):
            job.posix("/scratch/f.%06d" % k, k % 4, reads=[(1, 4 * KIB)], read_time=0.0001, meta_time=0.001)
        paths.append(t.path(job))
    few, many = (min(processor_time(lambda p=p: t.run("report", "--json", p)) for _ in range(3)) for p in paths)
    assert many < 40 * few + 1, (few, many)


@mistake(24, "datasets, heat maps and standard streams are no files")
def _(t):
    job = t.job()
    job.hdf5(OUT, 0, parallel=False)
    for k in range(5):
        job.dataset(OUT, "d%d" % k, 0, writes=[(10, MIB)])
    job.posix(OUT, 0, writes=[(50, MIB)], write_time=10.0)
    job.heat("POSIX", {r: ([0] * 10, [0] * 10) for r in range(4)}, 10.0)
    job.stdio("<STDOUT>", 0, writes=[(5, 80)])
    job.stdio("<STDIN>", 0, reads=[(5, 80)])
    document = t.report(job)
    assert document["totals"]["files"] == 1, document["totals"]
    assert [row["name"] for row in document["files"]["rows"]] == [OUT], document["files"]


@mistake(25, "files without a name and programs without one are reported all the same")
def _(t):
    job = t.job(exe=b"", metadata=b"")
    job.posix("#nameless", 0, writes=[(20000, 4 * KIB)], write_time=40.0)
    document = t.report(job)
    found(document, "W01")
    assert re.match(r"#\d+$", culprit_of(finding(document, "W01"))), culprit_of(finding(document, "W01"))
    assert finding(document, "W01")["snippets"], "no snippet"


@mistake(26, "all findings are counted")
def _(t):
    job = t.job()
    job.posix(OUT, 0, writes=[(20000, 4 * KIB)], write_time=40.0)
    document = t.report(job)
    checks = document["checks"]
    assert checks["total"] == checks["found"] + checks["passed"] + checks["not_applicable"] == len(checks["rules"]), checks
    assert checks["found"] == sum(f["level"] != "OK" for f in document["findings"]), checks


@mistake(27, "the version in reports is that of the program")
def _(t):
    job = t.job()
    busy(job)
    assert t.report(job)["tool"] == t.run("--version").stdout.decode().splitlines()[0]


@mistake(28, "the exit status says whether there is something to do; the document has the figures")
def _(t):
    bad, good = t.job(), t.job()
    bad.posix(LOCAL, 0, writes=[(20000, 4 * KIB)], write_time=40.0)
    busy(good, 30.0)
    bad, good = t.path(bad), t.path(good)
    assert t.run("report", bad).returncode == 0
    assert t.run("report", "--fail-on", "high", bad).returncode == 1
    assert t.run("report", "--fail-on", "high", good).returncode == 0
    values = values_of(finding(report(t.iorama, bad), "W01"))
    assert values.get("small_writes") == 20000 and values.get("writes") == 20000, values


@mistake(29, "modules that nobody knows, or that are of no use here, are passed over")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(20000, 4 * KIB)], write_time=40.0)
    log = job.log()
    maker = Maker(t.tables, 1)
    maker.nprocs = 4
    maker.choose_files(3)
    for name in ("APMPI", "APXC", "BG/Q", "MDHIM"):
        log.regions[name] = maker.region(name)
    log.unknown = {40: (1, bytes(80))}
    path = os.path.join(t.folder, "strange.darshan")
    with open(path, "wb") as file:
        file.write(build_log(log))
    found(report(t.iorama, path), "W01")


@mistake(30, "any name, several logs, nothing written beside them")
def _(t):
    job = t.job()
    busy(job)
    folder = os.path.join(t.folder, "logs")
    os.mkdir(folder)
    paths = [job.write(os.path.join(folder, name)) for name in ("one", "two.log", "-three.darshan")]
    before = sorted(os.listdir(folder))
    os.chmod(folder, 0o555)
    try:
        done = t.run("report", paths[0], paths[1], "--", paths[2])
    finally:
        os.chmod(folder, 0o755)
    assert done.returncode == 0, done
    assert done.stdout.decode().count("ranks") >= 3
    assert sorted(os.listdir(folder)) == before


def shared_on_one_target(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(4096, 16 * MIB)], write_time=4 * 80.0)
    return job


@mistake(31, "the layout on Lustre is read from records of both versions, with components too")
def _(t):
    job = shared_on_one_target(t)
    job.lustre(OUT, osts=[3])
    found(t.report(job), "O02")
    # version 1: one layout, written by Darshan up to 3.4.5
    job = shared_on_one_target(t)
    log = job.log()
    module = t.tables["LUSTRE"]
    values = {f.name: 0 for f in module.fields if f.in_version(1)}
    values.update(STRIPE_SIZE=MIB, STRIPE_WIDTH=1)
    log.regions["LUSTRE"] = Region(module, 1, [Record(job.id(OUT), -1, values, {"ost_id": [3]})])
    path = os.path.join(t.folder, "old.darshan")
    with open(path, "wb") as file:
        file.write(build_log(log))
    found(report(t.iorama, path), "O02")
    # the first MiB on one target, the rest on eight: the part that holds most counts
    job = shared_on_one_target(t)
    parts = [([MIB, 1, 0, 0, 0, MIB, 0], b""), ([MIB, 8, 0, 0, MIB, -1, 0], b"")]
    job.record("LUSTRE", OUT, -1, {"component": parts, "ost_id": [9] + list(range(8))}, NUM_COMPONENTS=2, NUM_STRIPES=9)
    absent(t.report(job), "O02")


@mistake(32, "what MPI-IO was asked for is compared with what reached the disk")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(8000, MIB)], kind="COLL", write_time=4 * 70.0)
    job.posix(OUT, -1, writes=[(20000, 400 * KIB)], reads=[(19000, 420 * KIB)], write_time=4 * 35.0, read_time=4 * 34.0, size=8000 * MIB)
    document = t.report(job)
    first = document["findings"][0]
    assert first["rule"] == "L01" and first["level"] == "HIGH", (first["rule"], first["title"])
    assert 25 < first["cost_s"] < 40, first["cost_s"]
    for rule in ("R02", "R01"):  # what follows from it is no finding of its own
        f = finding(document, rule)
        assert f is None or f["level"] == "INFO", f


def code_of(f):
    """What is for programs, not for shells."""
    return [s for s in f["snippets"] if s["language"] != "shell"]


@mistake(33, "snippets are for the job's own files")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(40000, 8 * KIB)], write_time=4 * 50.0)
    snippets = code_of(finding(t.report(job), "A02"))
    assert {s["language"] for s in snippets} == {"C", "Fortran"}, snippets
    assert all(OUT in s["text"] for s in snippets), snippets
    job = t.job(exe=b"/usr/bin/python3 train.py")
    job.mpiio(OUT, writes=[(40000, 8 * KIB)], write_time=4 * 50.0)
    assert {s["language"] for s in code_of(finding(t.report(job), "A02"))} == {"Python"}


@mistake(33, "a hostile name stays a name")
def _(t):
    name = "/scratch/a\"b'c\n\x1b[31m*/ $(reboot) %s{file}\udcff"
    job = t.job()
    job.posix(name, 0, writes=[(20000, 4 * KIB)], write_time=40.0)
    path = t.path(job)
    for more in ([], ["--verbose"], ["--markdown"], ["--short"]):
        done = t.run("report", *more, path)
        assert done.returncode == 0 and b"\x1b" not in done.stdout and b"\xff" not in done.stdout, (more, done.stdout[:800])
    text = finding(report(t.iorama, path), "W01")["snippets"][0]["text"]
    assert '"/scratch/a\\"b\'c\\012\\033[31m*/ $(reboot) %s{file}\\377"' in text, text


@mistake("6-10", "a slow target is the cause, not its symptoms", nprocs=8)
def _(t):
    job = t.job()
    striped(job, 90.0)
    document = t.report(job)
    assert document["findings"][0]["rule"] == "O01", document["findings"][0]
    for f in document["findings"][1:]:
        assert f["level"] not in ("HIGH",), (f["rule"], f["title"])


@mistake("calm", "a job that does hardly any I/O hears so, and nothing else")
def _(t):
    job = t.job(run_time=10000)
    job.posix(OUT, -1, writes=[(100000, 1000)], write_time=4 * 50.0, FSYNCS=100000, meta_time=4 * 20.0)
    document = t.report(job)
    quiet(document)
    assert document["verdict"]["io_share"] < 0.01 and "Nothing to gain" in document["verdict"]["text"], document["verdict"]


OTHERS = "<OTHERS>"  # the record of files that had none of their own


@mistake("others", "files without a record of their own are many files, not one that is opened again and again", nprocs=1)
def _(t):
    job = t.job()
    for k in range(1000):
        job.posix("/scratch/t%04d" % k, 0, writes=[(1, KIB)], write_time=0.001, meta_time=0.002, OPENS=2)
    job.posix(OTHERS, 0, writes=[(19000, KIB)], write_time=19.0, meta_time=38.0, size=KIB, openers=38000)
    document = t.report(job)
    absent(document, "F03", "W04")
    first = document["findings"][0]
    assert first["rule"] == "F06" and values_of(first)["tiny_count"] == 20000, first
    assert culprit_of(first) != OTHERS and first["culprits_total"] == 20000, first["culprits"]
    assert 55 < first["cost_s"] <= 60, first["cost_s"]


@mistake("others", "ranks share the record of such files, not the files")
def _(t):
    job = t.job()
    busy(job, 1.0)
    for rank in range(4):
        job.posix(OTHERS, rank, reads=[(5000, 100 * KIB)], writes=[(5000, 100 * KIB)], read_time=20.0, write_time=20.0, size=MIB,
                  openers=5000)  # fmt: skip
    absent(t.report(job), "W02", "R02", "R06", "L07", "W04", "R04", "R03", "W03", "F03")


@mistake("renames", "a rename that two modules count is one rename", nprocs=1)
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(1, MIB)], write_time=0.01, meta_time=40.0, RENAME_SOURCES=20000)
    job.extra(LOCAL, 0, RENAMES=20000, UNLINKS=20000, F_META_TIME=60.0)
    document = t.report(job)
    assert abs(document["verdict"]["io_time"] - 70.01) < 0.1, document["verdict"]  # 40 s of POSIX, half of 60 s
    assert abs(finding(document, "F12")["cost_s"] - 30) < 0.1, finding(document, "F12")


@mistake("cache", "small requests that are fast prove that large ones are faster still", nprocs=1, run_time=5)
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, reads=[(2000000, KIB)], read_time=2.0)  # 1 GB/s
    f = t.report(job)["findings"][0]
    assert f["rule"] == "R01" and 1.4 < f["cost_s"] < 1.6, f


@mistake("split", "small calls that MPI-IO makes of large ones are not the application's")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(16, 4 * MIB)], write_time=4 * 30.0)
    job.posix(OUT, -1, writes=[(131072, 512)], write_time=4 * 28.0)
    document = t.report(job)
    assert document["findings"][0]["rule"] == "L04", document["findings"][0]
    assert finding(document, "W02")["evidence"].endswith("follows from L04"), finding(document, "W02")


@mistake("split", "a file that an MPI library makes for itself is no culprit")
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(160000, KIB)], write_time=4 * 30.0)
    job.posix("/tmp/out.dat_cid-0.sm", -1, writes=[(1, 40)], write_time=0.001)
    f = finding(t.report(job), "W02")
    assert f["culprits_total"] == 1 and culprit_of(f) == OUT, f["culprits"]


@mistake("storm", "stat calls of one file are a storm, however often others are opened", nprocs=1)
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(1, MIB)], write_time=0.01, meta_time=30.0, STATS=300000)
    job.posix(OUT, 0, writes=[(40000, 512)], write_time=1.0, meta_time=8.0, OPENS=40000)
    document = t.report(job)
    first, second = document["findings"][:2]
    assert (first["rule"], second["rule"]) == ("F04", "F03"), (first, second)
    assert culprit_of(first) == LOCAL and 28 < first["cost_s"] < 31, first


@mistake("late", "who waits in collective calls is no straggler")
def _(t):
    job = t.job()
    for rank, waited in enumerate((40.0, 4.0, 40.0, 40.0)):
        job.mpiio(OUT, rank, writes=[(10, 16 * MIB)], kind="COLL", write_time=waited)
    job.posix(OUT, 0, writes=[(40, 16 * MIB)], write_time=3.0)
    document = t.report(job)
    assert document["findings"][0]["rule"] == "A11", document["findings"][0]
    for rule in ("B01", "B08"):
        f = finding(document, rule)
        assert f is None or f["evidence"].endswith("follows from A11"), f


@mistake("helpers", "processes that a script starts for a moment are no ranks to compare with")
def _(t):
    for lived, rule in ((1.0, None), (90.0, "A07")):
        job = t.job()
        job.posix(LOCAL, 0, writes=[(2000, MIB)], write_time=40.0)
        job.process(0, F_START_TIMESTAMP=0.1)
        for rank in range(1, 4):
            job.process(rank, F_START_TIMESTAMP=2.0 * rank, F_END_TIMESTAMP=2.0 * rank + lived)
        document = t.report(job)
        if rule:
            found(document, rule)
        else:
            absent(document, "A07", "B01", "B02", "B08")


@mistake("hdf5", "flushes of HDF5 are why data is synced, and why its writes take long")
def _(t):
    job = t.job()
    job.hdf5(OUT, flushes=16000, F_META_TIME=4 * 28.0)
    job.dataset(OUT, "d", writes=[(16000, 8 * KIB)])
    job.mpiio(OUT, writes=[(16000, 8 * KIB)], write_time=4 * 30.0, SYNCS=16000)
    job.posix(OUT, -1, writes=[(16000, 8 * KIB)], write_time=4 * 25.0, FSYNCS=16000)
    document = t.report(job)
    first = document["findings"][0]
    assert first["rule"] == "H04" and 25 < first["cost_s"] < 31, first
    for rule in ("W06", "H02"):
        assert finding(document, rule)["evidence"].endswith("follows from H04"), finding(document, rule)


@mistake("hdf5", "chunks that do not fit the cache are read in pieces: nothing too much, but slowly", nprocs=1)
def _(t):
    job = t.job()
    job.hdf5(OUT, 0, parallel=False)
    job.dataset(OUT, "d", 0, reads=[(200, 32 * KIB)], chunk=MIB)
    job.posix(OUT, 0, reads=[(819200, 8)], read_time=50.0)
    document = t.report(job)
    first = document["findings"][0]
    assert first["rule"] == "H01" and 45 < first["cost_s"] < 51, first
    assert finding(document, "R01")["evidence"].endswith("follows from H01"), finding(document, "R01")


@mistake("ranks", "one sync by each rank after a large write is not a sync for each write", nprocs=256)
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(256, 256 * MIB)], write_time=256 * 40.0, FSYNCS=256)
    absent(t.report(job), "W06")
    job = t.job()
    for rank in range(256):
        job.posix("/scratch/out.%d" % rank, rank, writes=[(1, 256 * MIB)], write_time=40.0, FSYNCS=1)
    absent(t.report(job), "W06")
    job = t.job()
    job.posix(OUT, -1, writes=[(256 * 200, 16 * KIB)], write_time=256 * 40.0, FSYNCS=256 * 200)
    found(t.report(job), "W06")


@mistake("ranks", "ten stat calls of each rank are no storm", nprocs=256)
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(256, 16 * MIB)], write_time=256.0, meta_time=256 * 30.0, STATS=256 * 10)
    absent(t.report(job), "F04")


@mistake("ranks", "who opens a file again and again is said: the one rank that does")
def _(t):
    job = t.job()
    busy(job, 2.0)
    job.posix(LOCAL, 2, writes=[(10, 16 * MIB)], write_time=1.0, meta_time=30.0, OPENS=95)
    job.posix(LOCAL + "2", 2, writes=[(10, 16 * MIB)], write_time=1.0, meta_time=30.0, OPENS=950)
    f = finding(t.report(job), "F03")
    assert "by each rank" not in f["title"] and "rank 2" in f["evidence"], (f["title"], f["evidence"])


@mistake("kinds", "some collective calls do not make a collective job: no hint for aggregators", nprocs=128)
def _(t):
    job = t.job(run_time=1000)
    job.mpiio(OUT, writes=[(12288, 64 * KIB), (469786624, 64)], write_time=128 * 800.0, COLL_WRITES=12288, INDEP_WRITES=469786624)
    job.posix(OUT, -1, writes=[(469786624, 64), (100, 4 * MIB)], write_time=128 * 700.0)
    job.heat("POSIX", {r: ([10 * MIB] * 10, [0] * 10) for r in range(128)}, 100.0)
    document = t.report(job)
    absent(document, "A08", "A09", "A10", "A11", "A12", "A04")
    found(document, "A02", "W07")


@mistake("kinds", "few large independent calls do not make a job of collective ones independent")
def _(t):
    job = t.job()
    job.mpiio(OUT, writes=[(4000, 64 * MIB), (3000, 100)], write_time=4 * 80.0, COLL_WRITES=4000, INDEP_WRITES=3000)
    job.posix(OUT, -1, writes=[(4000, 64 * MIB), (3000, 100)], write_time=4 * 70.0)
    absent(t.report(job), "A02")


@mistake("sparse", "a file is as large as what it holds, not as its last byte")
def _(t):
    job = t.job()
    job.posix(OUT, -1, writes=[(160, MIB)], write_time=4 * 70.0, size=40 * GIB)
    job.lustre(OUT, osts=[3])
    absent(t.report(job), "O02")


@mistake("alone", "opens of one rank are not what others could share; what it reads for all is as it should be")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(100, MIB)], write_time=1.0, meta_time=60.0, OPENS=3003)
    f = finding(t.report(job), "A07")
    assert f is None or f["cost_s"] <= 1.0, f
    job = t.job()
    job.posix(LOCAL, 0, reads=[(1024, MIB)], read_time=40.0)
    absent(t.report(job), "A07")


@mistake("silent", "time that nobody understands is said to be so, with what is known of it")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(40, 16 * MIB)], write_time=95.0, meta_time=0.5)
    for rank in range(1, 4):
        job.posix(LOCAL + str(rank), rank, writes=[(40, 16 * MIB)], write_time=94.0)
    text = t.report(job)["verdict"]["text"]
    for words in ("not explained", "MiB/s", "in writes", "slowest rank 95.5 s", "--trace"):
        assert words in text, (words, text)


@mistake("silent", "a job at full speed hears that it is")
def _(t):
    job = t.job()
    busy(job, 95.0)
    text = t.report(job)["verdict"]["text"]
    assert "near what counts as good" in text and "not explained" not in text, text


@mistake("silent", "what is explained, or hardly worth a word, is not called unexplained")
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(200000, 4 * KIB)], write_time=60.0)
    assert "not explained" not in t.report(job)["verdict"]["text"]
    job = t.job()
    job.posix(LOCAL, 0, writes=[(40, 16 * MIB)], write_time=9.0)
    assert "not explained" not in t.report(job)["verdict"]["text"]


@mistake("level", "HIGH is a tenth of the run time and more; what costs most comes first")
def _(t):
    for seconds, level in ((9.0, "WARN"), (11.5, "HIGH")):
        job = t.job()
        job.posix(LOCAL, 0, writes=[(100000, 4 * KIB)], write_time=seconds)
        assert finding(t.report(job), "W01")["level"] == level, (seconds, finding(t.report(job), "W01"))


@mistake("hdf5", "rows of a dataset that are written in pieces are not HDF5's metadata")
def _(t):
    job = t.job()
    job.hdf5(OUT)
    job.dataset(OUT, "d", writes=[(40, 5000 * 512)])
    job.mpiio(OUT, writes=[(200000, 512)], write_time=4 * 60.0)
    job.posix(OUT, -1, writes=[(200000, 512)], write_time=4 * 55.0)
    absent(t.report(job), "H03")


@mistake("count", "tiny reads that go back or start anywhere are not why huge ones are slow", nprocs=16)
def _(t):
    job = t.job()
    job.posix(OUT, -1, reads=[(1000, 128 * MIB), (63488, 512)], read_time=16 * 60.0, random=63000, FILE_NOT_ALIGNED=63488)
    document = t.report(job)
    for rule in ("R03", "O05"):
        f = finding(document, rule)
        assert f is None or f["level"] == "INFO", f


@mistake("meta", "seeks are cheap: what opens take is not theirs", nprocs=1)
def _(t):
    job = t.job()
    job.posix(LOCAL, 0, writes=[(80000, KIB)], write_time=2.0, meta_time=30.0, OPENS=80000, STATS=80000, SEEKS=240000)
    document = t.report(job)
    first = document["findings"][0]
    assert first["rule"] == "F03" and 29 < first["cost_s"] <= 30, first  # a stat and three seeks come with each open
    assert (finding(document, "F05") or {"cost_s": 0})["cost_s"] < 1, finding(document, "F05")


def check(item):
    number, iorama, tables = item
    _, _, function, values = TRIALS[number]
    folder = tempfile.mkdtemp(prefix="iorama-mistake-")
    try:
        function(Trial(iorama, tables, folder, values))
        return number, []
    except AssertionError as reason:
        line = reason.__traceback__
        while line.tb_next:
            line = line.tb_next
        return number, ["line %d: %s" % (line.tb_lineno, reason)]
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError, subprocess.TimeoutExpired) as reason:
        return number, [repr(reason)]
    finally:
        shutil.rmtree(folder)


def main():
    iorama, tables, only = os.path.abspath(sys.argv[1]), load_tables(sys.argv[2]), sys.argv[3:]
    tap = Tap()
    items = [(k, iorama, tables) for k, trial in enumerate(TRIALS) if not only or str(trial[0]) in only]
    for number, wrong in in_parallel(check, items, 2):
        tap.case("%s: %s" % TRIALS[number][:2], wrong)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
