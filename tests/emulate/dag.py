#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dag.py BUILD [CASE…]: mode dag. Workflows are made here, so what must come out is known: sizes and contents of all units, bytes that
each task moves, who may run before whom."""
import json
import math
import os
import pty
import random
import re
import resource
import shutil
import subprocess
import time
import xml.dom.minidom

import check
from harness import FAMILIES, LOCAL, OPENMPI, Failed, Skip, cases, environment, expect, main

RANKS = (1, 2, 4, 7)
UNUSABLE = re.compile(r"io_uring cannot be used|Invalid argument|built without it")


class Workflow:
    """Tasks and data units; `reads` and `writes` are lists of (unit, strict)."""

    def __init__(self):
        self.size, self.tasks, self.extra = {}, {}, {}

    def data(self, name, size, **extra):
        self.size[name] = size
        self.extra[name] = extra

    def task(self, name, reads=(), writes=(), ranks=1, compute=0, after=(), access=None):
        self.tasks[name] = {"reads": [r if isinstance(r, tuple) else (r, True) for r in reads], "writes": list(writes),
                            "ranks": ranks, "compute": compute, "after": list(after), "access": access or {}}  # fmt: skip

    def text(self, iterations=1):
        lines = ["[workflow]", "name = test", "iterations = %d" % iterations]
        for name, size in self.size.items():
            lines += ["[data %s]" % name, "size = %d" % size] + ["%s = %s" % x for x in self.extra[name].items()]
        for name, t in self.tasks.items():
            lines += ["[task %s]" % name, "ranks = %d" % t["ranks"], "compute = %g" % t["compute"]]
            lists = {"reads": ["%s%s" % (d, "" if s else "?") for d, s in t["reads"]], "writes": t["writes"],
                     "after": t["after"]}  # fmt: skip
            lines += ["%s = %s" % (key, ", ".join(names)) for key, names in lists.items() if names]
        for name, t in self.tasks.items():
            for unit, values in t["access"].items():
                lines += ["[access %s %s]" % (name, unit)] + ["%s = %s" % x for x in values.items()]
        return "\n".join(lines) + "\n"

    def writers(self, unit):
        return [n for n, t in self.tasks.items() if unit in t["writes"]]

    def parents(self, task):
        t = self.tasks[task]
        return set(t["after"]) | {w for unit, strict in t["reads"] if strict for w in self.writers(unit)}

    def save(self, case, iterations=1, name="w.wf"):
        with open(case.path(name), "w", encoding="utf-8") as file:
            file.write(self.text(iterations))
        return name


def random_workflow(seed, tasks=12):
    """Task i reads units of tasks before it; some units have several writers, some are empty, some nobody writes."""
    rng = random.Random(seed)
    w = Workflow()
    made = []
    for i in range(3):
        w.data("in%d" % i, rng.choice([0, 1, 4097, 70000]))
        made.append("in%d" % i)
    for i in range(tasks):
        out = "d%d" % i
        w.data(out, rng.choice([0, 1, 31, 1000, 65536, 100003]))
        reads = rng.sample(made, min(len(made), rng.randint(0, 3)))
        access = {}
        for unit in reads:
            if rng.random() < 0.4:
                access[unit] = {"request": rng.choice([512, 1000, 4096]), "order": rng.choice(["random", "strided"])}
        w.task("t%d" % i, reads, [out], ranks=rng.choice([1, 1, 1, 2, 3]), access=access)
        if rng.random() < 0.3:  # a second writer, which shares the unit
            w.task("u%d" % i, rng.sample(made, 1), [out], after=rng.sample(list(w.tasks), 1) if i else [])
        made.append(out)
    return w


def expect_order(w, result, iterations):
    """Nobody began before those it waits for had ended, and iterations did not mix."""
    runs = {t["id"]: t["runs"] for t in result["workflow"]["tasks"]}
    for k in range(iterations):
        for name in w.tasks:
            run = runs[name][k]
            for parent in w.parents(name):
                expect(runs[parent][k]["end_s"] <= run["start_s"] + 1e-9, "%s began before %s ended", name, parent)
            expect(k == 0 or all(r[k - 1]["end_s"] <= run["start_s"] + 1e-9 for r in runs.values()),
                   "iteration %d of %s began too early", k, name)  # fmt: skip


def expect_units(case, w, iterations=1, folder="out", seed=1, keep=True):
    for name, size in w.size.items():
        version = iterations - 1 if w.writers(name) else 0
        case.holds(os.path.join(folder, name), name, size, seed=seed, version=version)
    case.only(*(w.size if keep else []), folder=folder)


def run(case, w, *words, iterations=1, **more):
    """Runs it with JSON as result, --verify and --keep; what it says of its bytes is checked."""
    done = case.emulate("dag", w.save(case, iterations), "--json", "--verify", "--keep", "--input_dir", "out",
                        "--transfer_size", "4096", *words, **more)  # fmt: skip
    result = json.loads(done.stdout)
    expect(result["total"]["bytes_written"] == iterations * sum(s for n, s in w.size.items() if w.writers(n)),
           "written %d", result["total"]["bytes_written"])  # fmt: skip
    for t in result["workflow"]["tasks"]:
        reads = [(unit, strict) for unit, strict in w.tasks[t["id"]]["reads"]]
        if all(strict for _, strict in reads):
            want = iterations * sum(w.size[unit] for unit, _ in reads)
            expect(t["bytes_read"] == want, "%s read %d, not %d", t["id"], t["bytes_read"], want)
    expect(sum(r["bytes_read"] for r in result["ranks"]) == result["total"]["bytes_read"], "ranks do not add up")
    expect(sum(f["bytes_written"] for f in result["files"]) == result["total"]["bytes_written"], "files do not add up")
    return result


def shapes(launcher, ranks):
    def test(case):
        case.need(launcher)
        for seed in range(6 if launcher == LOCAL else 2):
            w = random_workflow(100 * ranks + seed)
            iterations = 1 + seed % 3
            result = run(case, w, iterations=iterations, ranks=ranks, launcher=launcher)
            expect_order(w, result, iterations)
            expect_units(case, w, iterations)
            shutil.rmtree(case.path("out"))

    return test


# ---- engines


def engines(case):
    for engine in ("posix", "vector", "stdio", "direct", "mmap", "uring"):
        w = random_workflow(7)
        try:
            run(case, w, "--engine", engine, ranks=3)
        except Failed as why:
            if engine in ("direct", "uring") and UNUSABLE.search(str(why)):
                continue
            raise
        expect_units(case, w)
        shutil.rmtree(case.path("out"))
    w = random_workflow(7)
    done = case.emulate("dag", w.save(case, 2), "--engine", "null", "--json", "--input_dir", "out", ranks=3)
    expect(json.loads(done.stdout)["total"]["bytes_written"] > 0, "null moves nothing")
    expect(not os.path.exists(case.path("out")), "null makes files")


def mpi_engines(case):
    """Tasks of several ranks call together, others at the same time in other groups."""
    for family in FAMILIES:
        case.need(family)
        for kind in ("collective", "noncollective", "nonblocking"):
            w = random_workflow(11)
            run(case, w, "--engine", "mpiio", "--mpiio_type", kind, ranks=4, launcher=family, iterations=2)
            expect_units(case, w, 2)
            shutil.rmtree(case.path("out"))


def containers(case):
    w = Workflow()
    w.data("in", 5000)
    w.data("mid", 100001)
    w.data("end", 77)
    w.task("a", ["in"], ["mid"], ranks=2)
    w.task("b", ["mid"], ["end"], ranks=3)
    for engine, form in (("hdf5", check.HDF5), ("pnetcdf", check.NETCDF)):
        try:
            run(case, w, "--engine", engine, ranks=4, launcher=OPENMPI)
        except Failed as why:
            if UNUSABLE.search(str(why)):
                continue
            raise
        for name, size in w.size.items():
            case.holds("out/" + name, name, size, form=form)
        shutil.rmtree(case.path("out"))


def writers(case):
    """A unit of several tasks, each of which writes its part, in a format whose files are opened by all that write to them together: they take turns."""
    w = Workflow()
    w.data("mid", 100001)
    w.data("end", 77)
    for name, ranks in (("a", 2), ("b", 1), ("c", 3)):
        w.task(name, [], ["mid"], ranks=ranks)
    w.task("d", ["mid"], ["end"], ranks=2)
    for family in FAMILIES:
        for engine, form in (("hdf5", check.HDF5), ("pnetcdf", check.NETCDF)):
            try:
                run(case, w, "--engine", engine, ranks=6, launcher=family, iterations=2)
            except Failed as why:
                if UNUSABLE.search(str(why)):
                    continue
                raise
            for name, size in w.size.items():
                case.holds("out/" + name, name, size, form=form, version=1)
            shutil.rmtree(case.path("out"))


# ---- relations


def cycle_workflow():
    w = Workflow()
    w.data("a", 10000)
    w.data("b", 20000)
    w.data("back", 3000)
    w.task("first", [("back", False)], ["a"])
    w.task("second", ["a"], ["b"])
    w.task("third", ["b"], ["back"])
    return w


def feedback(case):
    for ranks in (1, 3):
        w = cycle_workflow()
        result = run(case, w, iterations=4, ranks=ranks)
        tasks = {t["id"]: t for t in result["workflow"]["tasks"]}
        expect(tasks["first"]["bytes_read"] == 3 * 3000, "fed back %d bytes", tasks["first"]["bytes_read"])
        expect_order(w, result, 4)
        expect_units(case, w, 4)
        for path in result["workflow"]["critical_paths"]:
            expect(path["tasks"] == ["first", "second", "third"], "critical path %s", path["tasks"])
        shutil.rmtree(case.path("out"))


def fed_back_write(case):
    """The relation that is not strict is a write: the unit is there from the second iteration on."""
    with open(case.path("w"), "w", encoding="utf-8") as file:
        file.write("TASK t1 one 0\nTASK t2 two 0\nDATA d1 d1 5000\nDATA d2 d2 7000\nPARENT d1 CHILD t1\nPARENT t1 CHILD d2\n"
                   "PARENT d2 CHILD t2\nNS_PARENT t2 NS_CHILD d1\n")
    done = case.emulate("dag", "w", "--json", "--verify", "--keep", "--input_dir", "out", "--iterations", 3, ranks=2)
    total = json.loads(done.stdout)["total"]
    expect(total["bytes_written"] == 3 * 12000 and total["bytes_read"] == 3 * 7000 + 2 * 5000, "moved %s", total)
    case.holds("out/d1", "d1", 5000, version=2)


def loose(case):
    """Who does not wait goes on without the unit; who comes after its writer reads it."""
    w = Workflow()
    w.data("slow", 4096)
    w.data("mark", 1)
    w.task("writer", [], ["slow"], compute=1.5)
    w.task("early", [("slow", False)], ["mark"])
    w.task("late", [("slow", False)], [], after=["writer"])
    result = run(case, w, ranks=2)
    tasks = {t["id"]: t for t in result["workflow"]["tasks"]}
    expect(tasks["early"]["bytes_read"] == 0, "early read %d", tasks["early"]["bytes_read"])
    expect(tasks["late"]["bytes_read"] == 4096, "late read %d", tasks["late"]["bytes_read"])


def strict_cycle(case):
    w = cycle_workflow()
    w.tasks["first"]["reads"] = [("back", True)]
    start = time.monotonic()
    done = case.emulate("dag", w.save(case), ranks=4, status=3)
    expect(time.monotonic() - start < 1 or os.getloadavg()[0] > 2, "took %.1f s", time.monotonic() - start)
    names = ["first", "a", "second", "b", "third", "back"]
    found = re.search(r"(\w+(?: -> \w+)+)", done.stderr)
    expect(found and "a cycle" in done.stderr, "no cycle in: %s", done.stderr)
    cycle = found.group(1).split(" -> ")
    expect(cycle[0] == cycle[-1] and len(cycle) == 7, "cycle %s", cycle)
    at = names.index(cycle[0])
    expect(cycle[:-1] == names[at:] + names[:at], "cycle %s", cycle)
    case.only("w.wf")


def several_ranks(case):
    """A task of more ranks than there are takes all; with `whole` each of them moves everything."""
    w = Workflow()
    w.data("in", 50000)
    w.data("out", 30011)
    w.task("t", ["in"], ["out"], ranks=5)
    for ranks in (2, 5, 7):
        result = run(case, w, ranks=ranks)
        expect(result["workflow"]["tasks"][0]["runs"][0]["ranks"] == min(ranks, 5), "ranks of the task")
        moved = [r["bytes_written"] for r in result["ranks"] if r["bytes_written"]]
        expect(len(moved) == min(ranks, 5), "%d ranks wrote", len(moved))
        expect_units(case, w)
    done = case.emulate("dag", "w.wf", "--json", "--verify", "--whole", "--input_dir", "out", ranks=5)
    total = json.loads(done.stdout)["total"]
    expect(total["bytes_read"] == 5 * 50000 and total["bytes_written"] == 5 * 30011, "whole moved %s", total)


# ---- names and places


def names(case):
    """Nothing outside the folder, nothing in the way of another; ids say what is in a file."""
    ids = ["/abs/x", "abs/x", "../../up", "https://example.org/a%20b", "n", "n/inner", "n.part", ".", "x" * 300, "a//b", "a/./b",
           "unit.3"]  # fmt: skip
    spec = {"tasks": [{"name": "w", "id": "w", "parents": [], "children": ["r"], "inputFiles": [], "outputFiles": ids},
                      {"name": "r", "id": "r", "parents": ["w"], "children": [], "inputFiles": ids, "outputFiles": []}],
            "files": [{"id": x, "sizeInBytes": 100 + i} for i, x in enumerate(ids)]}  # fmt: skip
    os.mkdir(case.path("top"))
    with open(case.path("w.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "names", "schemaVersion": "1.5", "workflow": {"specification": spec}}, file)
    case.emulate("dag", "w.json", "--verify", "--keep", "--input_dir", "top/in", ranks=2)
    files = case.files("top/in")
    expect(len(files) == len(ids), "%d files for %d ids: %s", len(files), len(ids), files)
    for i, unit in enumerate(ids):
        right = [f for f in files if not check.compare(case.path("top/in", f), unit, 100 + i)]
        expect(len(right) == 1, "%s is in %s", unit, right)
    expect(sorted(case.files(".")) == sorted(["w.json"] + ["top/in/" + f for f in files]), "files elsewhere")
    shutil.rmtree(case.path("top/in"))
    case.emulate("dag", "w.json", "--verify", "--input_dir", "top/in", ranks=2)
    expect(os.listdir(case.path("top")) == [], "left %s", os.listdir(case.path("top")))


def told_names(case):
    """Names stand in tables as long as there is room, and none of them does anything to a terminal."""
    red, long = "\x1b[31mred", "a-name-that-is-longer-than-a-short-column-but-fits"
    spec = {"tasks": [{"name": red, "id": red, "parents": [], "children": [long], "inputFiles": [], "outputFiles": [red, long]},
                      {"name": long, "id": long, "parents": [red], "children": [], "inputFiles": [red, long], "outputFiles": []}],
            "files": [{"id": x, "sizeInBytes": 100} for x in (red, long)]}  # fmt: skip
    with open(case.path("w.json"), "w", encoding="utf-8") as file:
        json.dump({"name": red, "schemaVersion": "1.5", "workflow": {"specification": spec}}, file)
    text = case.emulate("dag", "w.json", "--input_dir", "in").stdout
    expect("\x1b" not in text, "an escape is in %r", text)
    for kind in ("task", "file"):
        table = text[text.index("\n  %s " % kind):]
        expect(re.search(r"^  %s  +" % long, table, re.M), "the %s is not in %s", kind, table)


def tiers(case):
    w = Workflow()
    w.data("near", 5000, tier="fast")
    w.data("far", 6000)
    w.task("a", [], ["near"])
    w.task("b", ["near"], ["far"])
    w.save(case)
    done = case.emulate("dag", "w.wf", status=2)
    expect("tier fast has no directory" in done.stderr, "said %s", done.stderr)
    case.emulate("dag", "w.wf", "--verify", "--keep", "--input_dir", "out", "--tier", "slow=x:fast=" + case.path("nvme"),
                 ranks=2)  # fmt: skip
    case.holds("nvme/near", "near", 5000)
    case.holds("out/far", "far", 6000)
    case.only("w.wf", "nvme/near", "out/far")


def inputs(case):
    """Input of the user's stays as it is, is read, and is not verified; too little of it is an error."""
    w = Workflow()
    w.data("mine", 1000)
    w.data("out", 10)
    w.task("t", ["mine"], ["out"])
    os.mkdir(case.path("out"))
    with open(case.path("out", "mine"), "wb") as file:
        file.write(b"z" * 1000)
    run(case, w, ranks=2)
    with open(case.path("out", "mine"), "rb") as file:
        expect(file.read() == b"z" * 1000, "input was changed")
    case.emulate("dag", "w.wf", "--input_dir", "out")
    case.only("mine", folder="out")
    with open(case.path("out", "mine"), "wb") as file:
        file.write(b"z" * 999)
    done = case.emulate("dag", "w.wf", "--input_dir", "out", ranks=2, status=3)
    expect("mine" in done.stderr and "999" in done.stderr, "said %s", done.stderr)
    case.only("mine", folder="out")


# ---- scale


def scale(case):
    w = Workflow()
    w.data("in", 100000)
    w.data("tiny", 3)
    w.data("none", 0)
    w.data("out", 12345)
    w.task("t", ["in", "tiny", "none"], ["out"], compute=20)
    w.save(case)
    start = time.monotonic()
    done = case.emulate("dag", "w.wf", "--json", "--keep", "--input_dir", "out", "--bytes", "1/100", "--time", "1/100")
    expect(time.monotonic() - start < 15, "time was not scaled")
    result = json.loads(done.stdout)
    expect(result["total"]["bytes_read"] == 1001 and result["total"]["bytes_written"] == 123, "moved %s", result["total"])
    expect(0.2 <= result["total"]["compute_s"] < 5, "computed %g s", result["total"]["compute_s"])
    case.holds("out/out", "out", 123)
    case.holds("out/tiny", "tiny", 1)
    case.emulate("dag", "w.wf", "--compute", "none", "--read_fraction", "1/3", "--json", "--input_dir", "new")
    done = case.emulate("dag", "w.wf", "--compute", "none", "--read_fraction", "1/3", "--json", "--input_dir", "new")
    want = math.ceil(100000 / 3) + 1
    expect(json.loads(done.stdout)["total"]["bytes_read"] == want, "a third: %s", json.loads(done.stdout)["total"])
    expect(json.loads(done.stdout)["total"]["compute_s"] < 0.1, "computed")


def measured(case):
    """readBytes and writtenBytes instead of sizes: less than a file, several times a file; files stay complete."""
    spec = {"tasks": [{"name": n, "id": n, "parents": [], "children": [], "inputFiles": ["in"], "outputFiles": [o]}
                      for n, o in (("less", "o1"), ("more", "o2"))],
            "files": [{"id": "in", "sizeInBytes": 10000}, {"id": "o1", "sizeInBytes": 500}, {"id": "o2", "sizeInBytes": 500}]}
    times = [{"id": "less", "runtimeInSeconds": 0, "readBytes": 2500, "writtenBytes": 100},
             {"id": "more", "runtimeInSeconds": 0, "readBytes": 25000, "writtenBytes": 1250}]  # fmt: skip
    with open(case.path("w.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "m", "schemaVersion": "1.5", "workflow": {
            "specification": spec, "execution": {"makespanInSeconds": 9, "executedAt": "x", "tasks": times}}}, file)  # fmt: skip
    done = case.emulate("dag", "w.json", "--json", "--verify", "--keep", "--measured_bytes", "--input_dir", "out", ranks=2)
    tasks = {t["id"]: t for t in json.loads(done.stdout)["workflow"]["tasks"]}
    moved = [(tasks[n]["bytes_read"], tasks[n]["bytes_written"]) for n in ("less", "more")]
    expect(moved == [(2500, 500), (25000, 1250)], "moved %s", moved)
    case.holds("out/o1", "o1", 500)
    case.holds("out/o2", "o2", 500)
    expect("measured_bytes" not in case.emulate("dag", "w.json", "--measured_bytes", "--input_dir", "out", "--overwrite").stdout, "cut?")
    spec["files"][0]["sizeInBytes"] = 10
    with open(case.path("w.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "m", "schemaVersion": "1.5", "workflow": {
            "specification": spec, "execution": {"makespanInSeconds": 9, "executedAt": "x", "tasks": times}}}, file)  # fmt: skip
    done = case.emulate("dag", "w.json", "--measured_bytes", "--input_dir", "small")
    expect("measured_bytes: 1 of the relations" in done.stdout, "not told that it was cut: %s", done.stdout)


# ---- when it cannot be done


def trouble(case):
    """One line, the right status, and nothing left."""
    w = random_workflow(5)
    w.save(case)
    tries = [(["dag"], 2, "no workflow"), (["dag", "none.wf"], 3, "none.wf"),
             (["dag", "w.wf", "--format", "plan"], 3, "w.wf"), (["dag", "w.wf", "--format", "what"], 2, "what"),
             (["dag", "w.wf", "--input_dir", "w.wf/in"], 4, "w.wf"),
             (["dag", "w.wf", "--input_dir", "out", "--svg", "no/such/dir.svg"], 4, "no/such")]  # fmt: skip
    for words, status, text in tries:
        for ranks in (1, 3):
            done = case.emulate(*words, ranks=ranks, status=status)
            lines = done.stderr.strip().split("\n")
            expect(len(lines) == 1 and text in lines[0], "%s said: %s", words, done.stderr)
            case.only("w.wf")
            expect(not os.path.exists(case.path("out")), "a folder is left")


def full(case):
    """No space: a limit on the size of files stands for it. Everything that was made is gone afterwards."""
    w = Workflow()
    w.data("small", 1000)
    w.data("large", 5000000)
    w.task("a", [], ["small"])
    w.task("b", ["small"], ["large"], ranks=2)
    w.task("c", ["large"], [])
    w.save(case)
    wrap = ["sh", "-c", 'ulimit -f 1000; trap "" XFSZ; exec "$@"', "sh"]
    for ranks in (1, 4):
        done = case.emulate("dag", "w.wf", "--input_dir", "out", ranks=ranks, status=4, wrap=wrap)
        expect("task b" in done.stderr and "large" in done.stderr, "said %s", done.stderr)
        case.only("w.wf")
        expect(not os.path.exists(case.path("out")), "a folder is left")


def dead_rank(case):
    """A rank that dies ends the run with its name; others clean up."""
    w = Workflow()
    w.data("a", 100)
    w.task("long", [], ["a"], compute=60)
    w.save(case)
    run_ = case.start("dag", "w.wf", "--input_dir", "out", ranks=3)
    limit = time.monotonic() + 60
    while not os.path.exists(case.path("out")) and time.monotonic() < limit:  # from then on all are at work
        time.sleep(0.01)
    with open("/proc/%d/task/%d/children" % (run_.pid, run_.pid), encoding="ascii") as file:
        children = sorted(file.read().split(), key=int)
    expect(len(children) == 2, "children %s", children)
    os.kill(int(children[-1]), 9)
    try:
        _, err = run_.communicate(timeout=60)
    except subprocess.TimeoutExpired as late:
        run_.kill()
        raise Failed("goes on without one rank") from late
    expect(run_.returncode != 0 and "rank 2" in err, "status %d: %s", run_.returncode, err)


# ---- what it costs to wait


def wait_workflow(case, seconds):
    w = Workflow()
    w.data("a", 100)
    w.task("long", [], ["a"], compute=seconds)
    w.task("next", ["a"], [])
    return w.save(case)


def waiting(case):
    """Three ranks wait for the one that computes: system calls and processor time grow by almost nothing when it takes longer."""
    calls = {}
    for seconds in (0, 4):
        name = wait_workflow(case, seconds)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        case.emulate("dag", name, "--input_dir", "out", ranks=4)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        traced = 0
        if shutil.which("strace"):
            case.emulate("dag", name, "--input_dir", "out", ranks=4, wrap=["strace", "-f", "-qq", "-o", "trace"])
            with open(case.path("trace"), encoding="utf-8", errors="replace") as file:
                traced = sum(1 for _ in file)
        calls[seconds] = (cpu, traced)
    expect(calls[4][0] - calls[0][0] < 0.01 * 4 * 4, "processor time %g s of 16 s", calls[4][0] - calls[0][0])
    expect(calls[4][1] - calls[0][1] < 100 * 4, "%d system calls in 4 s of 4 ranks", calls[4][1] - calls[0][1])


# ---- output


def output(case):
    w = cycle_workflow()
    w.tasks["second"]["compute"] = 0.05
    w.save(case, 3)
    done = case.emulate("dag", "w.wf", "--verify", "--input_dir", "out", "--svg", "chart.svg", "--graph_svg", "graph.svg",
                        "--profile_out_filepath", "prof", "--output", "result.txt", "--transfer_size", "1000", ranks=2)  # fmt: skip
    expect(done.stdout == "", "printed %s", done.stdout)
    with open(case.path("result.txt"), encoding="utf-8") as file:
        text = file.read()
    for words in ("first -> second -> third", "verified", "1 relation is fed back"):
        expect(words in text, "%s is not in:\n%s", words, text)
    for head in ("task", "file", "rank"):
        expect(re.search(r"^  %s +read +written +I/O" % head, text, re.M), "no table %s", head)
    chart = xml.dom.minidom.parse(case.path("chart.svg"))
    labels = [t.firstChild.data for t in chart.getElementsByTagName("text") if t.firstChild.nodeType == 3]
    expect("rank 1" in labels and "read" in labels, "labels %s", labels)
    graph = xml.dom.minidom.parse(case.path("graph.svg"))
    titles = sorted(t.firstChild.data for t in graph.getElementsByTagName("title"))
    expect(titles == ["a", "b", "back", "first", "second", "third"], "nodes %s", titles)
    paths = graph.getElementsByTagName("path")
    expect(sum(p.getAttribute("marker-end") != "" for p in paths) == 6, "arrows")
    profile(case)


def profile(case):
    """The profiles of the two ranks: in order, not overlapping, and their bytes are those of the run."""
    moved = [0, 0]
    for rank in range(2):
        with open(case.path("prof.%d" % rank), encoding="utf-8") as file:
            lines = dict(line.rstrip("\n").split(":", 1) for line in file)
        expect(list(lines) == ["WAIT", "READ", "WRITE", "BYTES"], "lines %s", list(lines))
        spans = []
        for kind in ("WAIT", "READ", "WRITE"):
            spans += [tuple(float(x) for x in s.split(",")) for s in lines[kind].split(";") if s]
        spans.sort()
        expect(spans and all(a <= b for a, b in spans), "spans of rank %d", rank)
        expect(all(x[1] <= y[0] + 1e-6 for x, y in zip(spans, spans[1:])), "waits, reads and writes overlap")
        moved = [a + int(b) for a, b in zip(moved, lines["BYTES"].split(","))]
    expect(moved == [3 * 30000 + 2 * 3000, 3 * 33000], "bytes %s", moved)


def parameters(case):
    """All parameters are in the result; the same seed gives the same run, another one another."""
    w = Workflow()
    w.data("in", 64000)
    w.data("out", 3200)
    w.task("t", ["in"], ["out"], access={"in": {"request": "1000", "order": "random"}})
    result = run(case, w, "--seed", "77")
    expect_units(case, w, seed=77)
    given = result["parameters"]
    expect(given["seed"] == 77 and given["verify"] is True and given["transfer_size"] == 4096 and given["input_dir"] == "out",
           "parameters %s", given)  # fmt: skip
    expect(len(given) > 60 and result["arguments"] == ["w.wf"], "%d parameters", len(given))
    if not shutil.which("strace"):
        raise Skip("strace is not installed: the order of requests is not looked at")
    orders = []
    for seed in (5, 5, 6):
        case.emulate("dag", "w.wf", "--seed", seed, "--input_dir", "new",
                     wrap=["strace", "-f", "-qq", "-e", "trace=pread64", "-o", "trace"])  # fmt: skip
        with open(case.path("trace"), encoding="utf-8", errors="replace") as file:
            orders.append(re.findall(r", 1000, (\d+)\)", file.read()))
    expect(sorted(int(x) for x in orders[0]) == list(range(0, 64000, 1000)), "requests %s", orders[0])
    expect(orders[0] == orders[1] != orders[2], "seeds do not decide the order")


def progress(case):
    """On a terminal: tasks, rates and what is left, in one line that is gone in the end."""
    w = Workflow()
    for i in range(6):
        w.data("d%d" % i, 10000)
        w.task("t%d" % i, ["d%d" % (i - 1)] if i else [], ["d%d" % i], compute=0.3)
    w.save(case)
    ours, theirs = pty.openpty()
    done = subprocess.Popen(case.command("dag", "w.wf", "--input_dir", "out", ranks=2), cwd=case.folder, stderr=theirs,
                            stdout=subprocess.DEVNULL, env=environment(IORAMA_PROGRESS="0"))  # fmt: skip
    os.close(theirs)
    text = b""
    try:
        while True:
            piece = os.read(ours, 4096)
            if not piece:
                break
            text += piece
    except OSError:
        pass  # the other side is closed
    os.close(ours)
    expect(done.wait() == 0, "status %d", done.returncode)
    lines = text.decode().split("\r\x1b[K")
    expect(any(re.match(r"tasks: [1-5] done, 1 running, [0-4] waiting; read .*/s, written .*/s; about .* left", x) for x in lines),
           "progress: %s", lines)  # fmt: skip
    expect(lines[-1] == "", "left %s", lines[-1])


def examples(case):
    """The walk of docs/emulate.md: the workflow of the paper on 8 ranks, in our format and in the paper's, smaller and faster."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
    for name, form, iterations in (("cmp2.wf", "iorama", 3), ("cmp2.paper", "paper", 3)):
        done = case.emulate("dag", os.path.join(top, name), "--json", "--verify", "--input_dir", "out", "--bytes", "1/100",
                            "--time", "1/20", "--iterations", iterations, ranks=8)  # fmt: skip
        result = json.loads(done.stdout)
        expect(result["workflow"]["format"] == form, "format %s", result["workflow"]["format"])
        written = 3 * (sum(size * 2**20 // 100 for size in (16, 8, 2, 2, 24, 24, 4)))
        expect(result["total"]["bytes_written"] == written, "%s: written %d, not %d", name, result["total"]["bytes_written"], written)
        for path in result["workflow"]["critical_paths"]:
            expect([t[0] for t in path["tasks"]] == ["T"] * 4, "critical path %s", path["tasks"])
    done = case.emulate("graph", os.path.join(top, "cmp2.wf"), "--format", "dot")
    expect(done.stdout.count(" -> ") == 20, "dot: %s", done.stdout)


def cores(case):
    """A task that keeps several processors busy is as many threads while it computes, and only then; the ranks of a task share them."""
    def threads(text, *words, ranks=1):
        with open(case.path("w.wf"), "w", encoding="utf-8") as file:
            file.write("[task a]\ncompute = 0.05\n" + text)
        case.emulate("dag", "w.wf", *words, ranks=ranks, wrap=("strace", "-f", "-o", case.path("calls"), "-e", "trace=clone,clone3"))
        with open(case.path("calls"), encoding="utf-8") as file:
            return sum("CLONE_THREAD" in line and "resumed" not in line for line in file)

    cases.need("strace")
    alone, pair = threads(""), threads("ranks = 2\n", ranks=2)
    for n in (1, 2, 4):
        expect(threads("cores = %d\n" % n, "--compute", "spin") == alone + n - 1, "%d cores", n)
        expect(threads("cores = %d\n" % n) == alone, "%d cores asleep", n)
    expect(threads("cores = 4\nranks = 2\n", "--compute", "spin", ranks=2) == pair + 2, "two ranks, four cores")


CASES = {"shapes-%s-%d" % (x, n): shapes(x, n) for x in (LOCAL, *FAMILIES) for n in RANKS}
CASES.update({f.__name__.replace("_", "-"): f for f in (
    engines, mpi_engines, containers, writers, feedback, fed_back_write, loose, strict_cycle, several_ranks, names, told_names, tiers,
    inputs, scale,
    measured, trouble, full, dead_rank, waiting, output, parameters, progress, cores, examples)})  # fmt: skip

main(CASES)
