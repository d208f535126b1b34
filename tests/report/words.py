#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""words.py BUILD [CASE…]: what people read is true: who did it, how many files there were, what is missing, why two runs
differ. Programs that are observed print nothing here: what they do is what the cases make them do."""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
for folder in ("lib", "gen", "diagnose"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import cases  # noqa: E402
from cases import Built, SYSTEM_PYTHON, environment, expect  # noqa: E402
from jobs import KIB, MIB, Job  # noqa: E402
from layout import load_tables  # noqa: E402

# four workers that write and wait until their parent stops them; the parent ends by itself or, with an argument, is killed
WORKERS = """
import multiprocessing, os, signal, sys
def work(i, ready):
    with open("worker%d" % i, "wb", 0) as stream:
        for _ in range(10): stream.write(b"x" * 1000)
        ready.release()
        signal.pause()
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    ready = multiprocessing.Semaphore(0)
    all = [multiprocessing.Process(target=work, args=(i, ready)) for i in range(4)]
    for one in all: one.start()
    for one in all: ready.acquire()
    for one in all: one.terminate()
    for one in all: one.join()
    with open("parent", "wb", 0) as stream: stream.write(b"y" * 100)
    if len(sys.argv) > 1: os.kill(os.getpid(), signal.SIGKILL)
"""
SHELL = """
for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done
for i in 1 2 3; do dd if=/dev/zero of=out.$i bs=100k count=4 status=none; done
%s -S -E workers.py
"""


class Place:
    """A folder that is observed, and the program."""

    def __init__(self, build, folder):
        self.built, self.folder = Built(build), folder
        self.tables = load_tables(os.path.join(build, "tables.json"))

    def run(self, *words, status=0, **settings):
        done = subprocess.run([self.built.iorama, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              env=environment(LC_ALL="C.UTF-8", TZ="UTC", COLUMNS="", **settings))  # fmt: skip
        expect(done.returncode == status, "%s: status %d: %s", words, done.returncode, done.stderr)
        return done.stdout + done.stderr

    def observe(self, *words, status=0, **settings):
        said = self.run("run", "-f", "-o", "job.darshan", "--", *words, status=status, **settings)
        return said, self.report("job.darshan")

    def report(self, log):
        return json.loads(self.run("report", "-q", "--json", log))

    def text(self, *words):
        return re.sub(r"\s+", " ", self.run("report", "--width", "200", *words))

    def file(self, name, text):
        with open(os.path.join(self.folder, name), "w") as stream:
            stream.write(text)

    def write(self, job, name="job.darshan"):
        return job.write(os.path.join(self.folder, name))


def processes(place):
    """processes without MPI are called so, grouped by program, and helpers that moved nothing are not in the headline"""
    place.file("workers.py", WORKERS)
    place.file("all.sh", SHELL % SYSTEM_PYTHON)
    said, report = place.observe("sh", "all.sh")
    job = report["job"]
    programs = {p["name"]: (p["processes"], p["active"]) for p in job["programs"]}
    expect(job["processes"] is True and programs["dd"] == (3, 3), "%s", job)
    python = next(name for name in programs if name.startswith("python"))
    expect(programs[python] == (5, 5) and programs["true"] == (9, 0), "%s", programs)
    active = sum(p[1] for p in programs.values())
    head = re.sub(r"\s+", " ", said)
    expect("%d processes (dd ×3, %s ×5" % (active, python) in head, "head: %s", head)
    expect("true" not in head.split("I/O took")[0], "a helper is in the headline: %s", head)
    expect("%d more processes moved no data" % (job["nprocs"] - active) in head, "idle ones: %s", head)
    expect(report["totals"]["active_ranks"] == active, "active: %s", report["totals"])
    for form in ([], ["--verbose"], ["--markdown", "--verbose"], ["--svg"]):
        text = place.text("-q", *form, "job.darshan") if form != ["--svg"] else place.run("report", "-q", "--svg=-", "job.darshan")
        expect(re.search(r"\branks?\b", text.replace("--csv=ranks", "")) is None, "%s: ranks: %s", form, text)
    expect({r["program"] for r in report["ranks"]["rows"]} == set(programs), "programs of rows: %s", programs)
    said, _ = place.observe("sh", "-c", "for i in 1 2 3; do /bin/true; done; dd if=/dev/zero of=one bs=1k count=1 status=none; /bin/true")
    expect("1 process (dd)" in said and "more processes moved no data" in said, "only one moved data: %s", said)


def uring(place):
    """how full the queues of io_uring are is told where it is used, and only there"""
    for counters, told in (({}, None), ({"URING_OPS": 3000, "URING_SUBMITS": 1000, "URING_DEPTH_SUM": 7000, "URING_DEPTH_MAX": 16}, (3, 7, 16))):
        job = Job(place.tables, nprocs=1, run_time=10)
        job.posix("/local/a", 0, reads=[(3000, 4096)], read_time=0.1)
        job.process(0, **counters)
        place.write(job)
        have = place.report("job.darshan")["totals"].get("io_uring")
        expect(told == (have and (have["per_call"], have["depth"], have["deepest"])), "%s", have)
        text = place.text("job.darshan")
        expect(("io_uring: 7 under way (at most 16), 3 with each call" in text) == bool(told) == ("io_uring" in text), "%s", text)


def ranks(place):
    """ranks stay ranks where nobody says that they are processes"""
    job = Job(place.tables, nprocs=2, run_time=10)
    job.posix("/scratch/a", -1, writes=[(100, MIB)], write_time=8.0)
    place.write(job)
    expect("2 ranks" in place.text("job.darshan") and "process" not in place.text("job.darshan"), "%s", place.text("job.darshan"))
    expect(place.report("job.darshan")["job"]["processes"] is False, "processes")


def stopped(place):
    """a worker that its parent has stopped is whole; one whose parent was killed is not known to be"""
    place.file("workers.py", WORKERS)
    said, report = place.observe(SYSTEM_PYTHON, "-S", "-E", "workers.py")
    expect(report["complete"] and not report["banner"], "stopped workers: %s", report["banner"])
    expect("killed" not in said and "incomplete" not in said, "%s", said)
    written = {f["name"].rsplit("/", 1)[1]: f["bytes_written"] for f in report["files"]["rows"]}
    expect(all(written.get("worker%d" % i) == 10000 for i in range(4)), "what they wrote: %s", written)
    said, report = place.observe(SYSTEM_PYTHON, "-S", "-E", "workers.py", "die", status=137)
    expect(not report["complete"] and any("5 processes did not end" in line for line in report["banner"]), "killed: %s", report["banner"])
    # all that they did is there all the same: figures are no lower bounds
    expect(not any(f["rule"] == "I01" for f in report["findings"]), "lower bounds of what is whole")


def lower_bounds(place):
    """that figures are lower bounds is said where something is missing, before everything else"""
    job = Job(place.tables, nprocs=4, run_time=100)
    for rank in range(4):
        job.posix("/scratch/out.%d" % rank, rank, writes=[(100000, KIB)], write_time=60.0, random=50000)
    place.write(job)
    rules = [f["rule"] for f in place.report("job.darshan")["findings"]]
    expect("I01" not in rules and len(rules) > 1, "nothing is missing: %s", rules)
    job.partial.add("POSIX")
    place.write(job)
    report = place.report("job.darshan")
    expect(report["findings"][0]["rule"] == "I01" and report["findings"][1]["cost_s"] > 0, "%s", [f["rule"] for f in report["findings"]])
    text = place.text("job.darshan")
    expect(text.index("incomplete:") < text.index("I/O took") and "lower bounds" in text, "%s", text)


def files(place):
    """one number of files, in every form and figure, also where files share a record"""
    place.file("many.py", "for i in range(3000):\n    with open('f%d' % i, 'wb', 0) as stream: stream.write(b'x' * 10)\n")
    said, report = place.observe(SYSTEM_PYTHON, "-S", "-E", "many.py", IORAMA_RECORDS="1024")
    number = report["totals"]["files"]
    expect(report["totals"]["files_estimated"] and abs(number - 3001) < 10, "%s", report["totals"])
    shown = "about {:,} files".format(number)
    expect(shown in said and shown in place.text("-q", "job.darshan"), "%s: %s", shown, said)
    expect(report["files"]["total"] == number and sum(g["files"] for g in report["files"]["groups"]) == number, "totals and groups")
    others = {n for n in re.findall(r"([\d,]+) (?:tiny )?files?\b", place.text("--verbose", "-q", "job.darshan")) if int(n.replace(",", "")) > 900}
    expect(others <= {"{:,}".format(number)}, "other numbers: %s, not %d", others, number)
    expect('"{:,} file'.format(number)[1:] in place.run("report", "-q", "--svg=-", "job.darshan"), "the picture")
    # 0 where nothing is shared
    place.file("few.py", "for i in range(30):\n    with open('f%d' % i, 'wb', 0) as stream: stream.write(b'x' * 10)\n")
    said, report = place.observe(SYSTEM_PYTHON, "-S", "-E", "few.py")
    expect(not report["totals"]["files_estimated"] and "about" not in said.split("files")[0].split("\n")[-1], "%s", said)


def verdict(place):
    """a file that is only a number has its folder with it, and several are not told of as one"""
    job = Job(place.tables, nprocs=4, run_time=100)
    for name in ("312046190", "312046191", "312046192"):
        job.posix("/scratch/run/%s" % name, -1, writes=[(64, 512 * MIB)], write_time=300.0)
        job.lustre("/scratch/run/%s" % name, 1)
    place.write(job)
    text = place.report("job.darshan")["verdict"]["text"]
    found = re.search(r"(\S+) \(and 2 more files\)", text)
    expect(found is not None and found[1].startswith("run/31204619"), "%s", text)
    expect(" and 2 more l" not in text, "%s", text)


def reasons(place):
    """a large change has a reason: order, locks, syncs, seeks, or that nothing but the time changed"""

    def run(name, time, **more):
        job = Job(place.tables, nprocs=1, run_time=200)
        extra = more.pop("extra", {})
        job.posix("/scratch/data", 0, reads=[(10000, 64 * KIB)], read_time=time, **more)
        if extra:
            job.extra("/scratch/data", 0, **extra)
        place.write(job, name)

    run("plain.darshan", 5.0)
    for words, want, more in (
        ("order", r"> 99.9 % of reads jump in the file instead of < 0.1 %", {"random": 9998}), ("locks", r"10,000 locks instead of none", {"extra": {"LOCKS": 10000}}),
        ("syncs", r"5,000 syncs instead of none", {"FSYNCS": 5000}), ("seeks", r"10,000 seeks instead of none", {"SEEKS": 10000}),
        ("nothing", r"a read takes 10× as long, and the program does the same", {}),
    ):  # fmt: skip
        run("other.darshan", 50.0, **more)
        text = json.loads(place.run("diff", "--json", "plain.darshan", "other.darshan"))["verdict"]["text"]
        expect(re.search("more in I/O .*: .*" + want, text) is not None, "%s: %s", words, text)
        back = json.loads(place.run("diff", "--json", "other.darshan", "plain.darshan"))["verdict"]["text"]
        expect(re.search(r"less in I/O .*: .*(instead of|takes 10× less)", back) is not None, "%s back: %s", words, back)


def calls(place):
    """calls of a traced job stand with those inside of them: each write of MPI-IO has its own of POSIX"""
    family = next((f for f in cases.FAMILIES if shutil.which("mpicc." + f) and shutil.which("mpirun." + f)), None)
    if family is None:
        raise cases.Skip("no MPI is installed")
    source = os.path.join(cases.WORK, "pairs_mpi.c")
    program = place.built.compile_once("pairs_mpi-" + family, [source], ["mpicc." + family, "-O2", source, "-o", None])
    many = ["--oversubscribe"] if family == "openmpi" else []
    place.run("run", "--trace", "-q", "-f", "-o", "job.darshan", "--", "mpirun." + family, *many, "-n", "2", program, "small_write", "bad", "40")
    trace = place.report("job.darshan")["trace"]
    found, functions = trace["calls"], trace["calls"]["functions"]
    expect(found["all"] and found["n"] == 160, "%s calls, all: %s", found["n"], found["all"])
    for i in range(found["n"]):
        above, name = found["parent"][i], functions[found["function"][i]]
        expect((found["layer"][i], name) == (("MPI-IO", "MPI_File_write_at") if above < 0 else ("POSIX", "pwrite")), "%d: %s", i, name)
        expect(found["bytes"][i] == 512 and found["kind"][i] == 0 and trace["names"][found["file"][i]].endswith("/shared"), "call %d", i)
        if above >= 0:
            inside = found["start"][above] <= found["start"][i] and found["end"][i] <= found["end"][above]
            expect(above < i and inside and found["rank"][above] == found["rank"][i], "%d is not inside of %d", i, above)
    expect(sorted(found["rank"]) == [0] * 80 + [1] * 80, "ranks: %s", found["rank"])
    # of a window, the operations that touch it, and no others
    ops = trace["ops"]
    from_, to = sorted(ops["start"])[40], sorted(ops["start"])[90]
    part = json.loads(place.run("report", "-q", "--json", "--window", "%.9f:%.9f" % (from_, to), "job.darshan"))["trace"]
    want = [i for i in range(ops["n"]) if ops["end"][i] >= from_ and ops["start"][i] <= to]
    expect(part["ops_all"] and trace["ops_all"] and trace["window"] is None, "all of them: %s", part["ops_all"])
    expect(0 < len(want) < ops["n"] and abs(part["ops"]["n"] - len(want)) <= 2, "%d of the window, not %d", part["ops"]["n"], len(want))
    expect(part["calls"]["n"] < found["n"] and part["segments"] == trace["segments"], "calls of the window: %d", part["calls"]["n"])
    for wrong in ("3", "5:4", "a:b", "1:2x", "-1:2", "1:inf"):
        expect("the window is FROM:TO" in place.run("report", "--window=" + wrong, "job.darshan", status=2), "%s", wrong)


CASES = {"calls": calls, "processes": processes, "ranks": ranks, "uring": uring, "stopped": stopped, "lower-bounds": lower_bounds, "files": files, "verdict": verdict, "reasons": reasons}


def perform(build, name):
    with cases.folders(build, "words") as (observed, _):
        CASES[name](Place(os.path.abspath(build), observed))


if __name__ == "__main__":
    cases.main(CASES, perform)
