#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""formats.py BUILD [CASE…]: workflow files of every kind, made here: one workflow written in all versions of WfFormat and run, its
oddities, a large one, the paper's file and plan in all their forms, conversions, and files that are wrong."""
import json
import os
import random
import time

from harness import expect, main

DATES = ("20200415T191457+0000", "05-10-23T16:23:32Z", "2023-05-10T16:23:32+02:00", "2023-05-10T16:23:32-0700")


def chain(seed, tasks=9):
    """A workflow as plain data: tasks (id, name, inputs, outputs, run time) and sizes; later tasks read what earlier ones write."""
    rng = random.Random(seed)
    sizes = {"in.%d" % i: rng.choice([0, 10, 5000]) for i in range(2)}
    made, result = list(sizes), []
    for i in range(tasks):
        inputs = rng.sample(made, min(len(made), rng.randint(0, 3)))
        outputs = ["f%d.%d" % (i, k) for k in range(rng.randint(1, 2))]
        sizes.update({f: rng.choice([0, 1, 777, 40000]) for f in outputs})
        made += outputs
        result.append({"id": "job_ID%07d" % i, "name": "step%d" % (i % 3), "inputs": inputs, "outputs": outputs, "seconds": 0.01 * i})
    return result, sizes


def parents(tasks, task):
    return [t["id"] for t in tasks if set(t["outputs"]) & set(task["inputs"])]


def old(version, tasks, sizes, rng):
    """Versions 1.0 to 1.4: files inside each task, parents by name, units in names or not."""
    units = version >= "1.4"
    size, seconds, span = ("sizeInBytes", "runtimeInSeconds", "makespanInSeconds") if units else ("size", "runtime", "makespan")
    jobs = []
    for t in tasks:
        job = {"name": t["id"], "type": "compute", seconds: t["seconds"], "cores": 1, "avgCPU": 93.5,
               "parents": parents(tasks, t), "machine": "node1",
               "files": [{"name": f, size: sizes[f], "link": "input"} for f in t["inputs"]]
               + [{"name": f, size: sizes[f], "link": "output", "path": "/scratch"} for f in t["outputs"]]}  # fmt: skip
        if version < "1.2":
            job["arguments"] = ["-a", "b"]
        else:
            job.update(id=t["id"][-4:], category=t["name"], command={"program": "p", "arguments": []})
        job["readBytes" if units else "bytesRead"] = rng.randint(0, 10**6)
        jobs.append(job)
    return {"name": "old", "schemaVersion": version, "wms": {"name": "Makeflow", "version": "7"}, "author": {"name": "x", "email": "y"},
            "createdAt": DATES[0], "workflow": {span: 12, "executedAt": DATES[1], "jobs" if version < "1.3" else "tasks": jobs,
                                                "machines": [{"nodeName": "node1", "cpu": {"count": 4, "speed": 1}}]}}  # fmt: skip


def new(tasks, sizes, **more):
    spec = {"tasks": [{"name": t["name"], "id": t["id"], "parents": parents(tasks, t), "inputFiles": t["inputs"],
                       "children": [c["id"] for c in tasks if t["id"] in parents(tasks, c)], "outputFiles": t["outputs"]}
                      for t in tasks],
            "files": [{"id": f, "sizeInBytes": n} for f, n in sizes.items()]}  # fmt: skip
    runs = [{"id": t["id"], "runtimeInSeconds": t["seconds"], "avgCPU": 234.5, "machines": ["n1"],
             "command": {"program": "#!/bin/sh\necho \"a\"\n", "arguments": []}} for t in tasks]  # fmt: skip
    return {"name": "new", "schemaVersion": "1.5", "runtimeSystem": {"name": "Nextflow", "version": "23"},
            "workflow": {"specification": spec, "execution": {"makespanInSeconds": 9.5, "executedAt": DATES[2], "tasks": runs}},
            **more}  # fmt: skip


def save(case, document, name="w.json"):
    with open(case.path(name), "w", encoding="utf-8") as file:
        if isinstance(document, str):
            file.write(document)
        else:
            json.dump(document, file)
    return name


def run(case, tasks, sizes, *words, ranks=2):
    """Runs w.json; all files are right, all parents came first."""
    done = case.emulate("dag", "w.json", "--json", "--verify", "--keep", "--input_dir", "out", *words, ranks=ranks)
    result = json.loads(done.stdout)
    expect(result["total"]["bytes_read"] == sum(sizes[f] for t in tasks for f in t["inputs"]), "read %s", result["total"])
    for name, size in sizes.items():
        case.holds(os.path.join("out", name), name, size)
    case.only(*sizes, folder="out")
    runs = {t["id"]: t["runs"][0] for t in result["workflow"]["tasks"]}
    expect(len(runs) == len(tasks), "%d tasks", len(runs))
    return runs, result


def versions(case):
    rng = random.Random(1)
    for number, version in enumerate(("1.0", "1.1", "1.2", "1.3", "1.4", "1.5")):
        tasks, sizes = chain(number)
        save(case, new(tasks, sizes) if version == "1.5" else old(version, tasks, sizes, rng))
        runs, result = run(case, tasks, sizes, "--input_dir", "out")
        key = (lambda x: x[-4:]) if "1.2" <= version <= "1.4" else (lambda x: x)
        for t in tasks:
            for parent in parents(tasks, t):
                expect(runs[key(parent)]["end_s"] <= runs[key(t["id"])]["start_s"], "%s: %s before %s", version, t["id"], parent)
        measured = result["workflow"]["makespan_measured_s"]
        expect(measured == (9.5 if version == "1.5" else 12), "%s: makespan %s", version, measured)
        for name in sizes:
            os.remove(case.path("out", name))


def oddities(case):
    """Everything a real instance may have, in one: see docs/format/workflow.md."""
    long_id, wide = "t" * 124, ["w%d" % i for i in range(1104)]
    sizes = {"/3e/92a5/versions.yml": 17, "/4f/92a5/versions.yml": 18, "https://example.org/data.gz": 19, "f" * 136: 0, "big#1:2": 5}
    sizes.update({f: i % 3 for i, f in enumerate(wide)})
    tasks = [
        {"id": "none", "name": "n", "inputs": [], "outputs": list(sizes)[:2] + wide, "seconds": 0},
        {"id": long_id, "name": "n", "inputs": list(sizes)[2:4] + wide, "outputs": ["big#1:2"], "seconds": 0},
        {"id": "last", "name": "n", "inputs": ["big#1:2", "/3e/92a5/versions.yml"], "outputs": [], "seconds": 0},
        {"id": "alone", "name": "n", "inputs": [], "outputs": [], "seconds": 0},
    ]
    want = sum(sizes[f] for t in tasks for f in t["inputs"])
    document = new(tasks, sizes, description=None, unknown={"deep": [1, [2]]})
    execution = document["workflow"]["execution"]
    execution["tasks"][1].update(coreCount=1.5, readBytes=10**15, writtenBytes=0, memoryInBytes=None, priority=-5, energyInKWh=0.1)
    del execution["tasks"][3]  # no record of it
    document["workflow"]["specification"]["tasks"][2]["inputFiles"].append("big#1:2")  # named twice
    save(case, document)
    with open(case.path("w.json"), "rb") as file:
        text = file.read()
    with open(case.path("w.json"), "wb") as file:
        file.write(b"\xef\xbb\xbf" + text)
    done = case.emulate("dag", "w.json", "--json", "--verify", "--keep", "--input_dir", "out", ranks=2)
    total = json.loads(done.stdout)["total"]
    expect(total["bytes_read"] == want, "read %d, not %d", total["bytes_read"], want)
    names = {f: f.lstrip("/").replace("//", "/") for f in sizes}
    for unit, name in names.items():
        case.holds(os.path.join("out", name), unit, sizes[unit])
    case.only(*names.values(), folder="out")
    case.only("w.json", *("out/" + n for n in names.values()))


def children_only(case):
    """Relations without files, said by parents only, by children only, by both; in place changes do not wait for themselves."""
    spec = {"tasks": [{"name": "a", "id": "a", "parents": [], "children": ["b"], "outputFiles": ["x"]},
                      {"name": "b", "id": "b", "parents": [], "children": [], "inputFiles": ["x"], "outputFiles": ["x"]},
                      {"name": "c", "id": "c", "parents": ["b"], "children": []}]}  # fmt: skip
    save(case, {"name": "w", "schemaVersion": "1.5", "workflow": {"specification": spec}})
    done = case.emulate("dag", "w.json", "--json", "--input_dir", "out", "--block_size", 100, "--segment_count", 1, ranks=3)
    runs = {t["id"]: t["runs"][0] for t in json.loads(done.stdout)["workflow"]["tasks"]}
    expect(runs["a"]["end_s"] <= runs["b"]["start_s"] and runs["b"]["end_s"] <= runs["c"]["start_s"], "order %s", runs)


def large(case):
    """As many tasks as the largest instance: 2,122 in 8 levels, one of them 1,890 wide, about 6,000 relations; 24 GB of files, scaled."""
    rng = random.Random(3)
    widths = [97, 1890, 1, 1, 97, 33, 2, 1]
    tasks, sizes, above = [], {"raw%d" % i: 10**7 for i in range(120)}, ["raw%d" % i for i in range(120)]
    for level, width in enumerate(widths):
        here = []
        for i in range(width):
            name = "l%d_%d" % (level, i)
            inputs = rng.sample(above, min(len(above), 1100 if width == 1 else 3))
            sizes[name] = rng.randint(0, 2 * 10**7)
            here.append(name)
            tasks.append({"id": "t" + name, "name": "x", "inputs": inputs, "outputs": [name], "seconds": rng.random() * 100})
        above = here
    document = {"name": "large", "schemaVersion": "1.5", "workflow": {
        "specification": {"tasks": [{"name": t["name"], "id": t["id"], "parents": [], "children": [], "inputFiles": t["inputs"],
                                     "outputFiles": t["outputs"]} for t in tasks],
                          "files": [{"id": f, "sizeInBytes": n} for f, n in sizes.items()]},
        "execution": {"makespanInSeconds": 5000, "executedAt": DATES[3],
                      "tasks": [{"id": t["id"], "runtimeInSeconds": t["seconds"]} for t in tasks]}}}  # fmt: skip
    expect(len(tasks) == 2122, "%d tasks", len(tasks))
    save(case, document)
    start = time.monotonic()
    done = case.emulate("dag", "w.json", "--json", "--verify", "--bytes", "1/10000", "--time", "1/100000", "--input_dir", "out",
                        "--fsync", "never", ranks=2)  # fmt: skip
    took = time.monotonic() - start
    total = json.loads(done.stdout)["total"]
    scaled = {f: max(1, int(n * (1 / 10000))) if n else 0 for f, n in sizes.items()}
    expect(total["bytes_written"] == sum(scaled[f] for t in tasks for f in t["outputs"]), "written %s", total)
    expect(total["bytes_read"] == sum(scaled[f] for t in tasks for f in t["inputs"]), "read %s", total)
    expect(took < 60, "took %.0f s", took)
    expect(not os.path.exists(case.path("out")), "files are left")


# ---- the paper's file and plan

TASKS = "TASK T1 a 0\nTASK T2 b 0\nTASK T3 c 0\n"
PAPER = {
    "three-fields": TASKS + "DATA D1 one 3000\nDATA D2 two 500 TEMP LAZY_PERSIST\n"
    "PARENT T1 CHILD D1\nPARENT D1 CHILD T2 T3\nPARENT T2 T3 CHILD D2\n",
    "four-fields": "TASK T1 A a 0.0\nTASK T2 A b 0\nTASK T3 B c 0\nDATA D1 one 3000.0\nDATA D2 two 500\n"
    "PARENT T1 CHILD D1 ACCESS 0\nPARENT D1 CHILD T2 T3\nPARENT T2 T3 CHILD D2\n",
    "comments": "# DATA section\n\n" + TASKS.replace(" ", "   ") + "\tDATA D1 one 3000 # first\r\nDATA D2 two 500\n"
    "PARENT T1 CHILD D1\n   PARENT  D1   CHILD T2 T3\nPARENT T2 T3 CHILD D2\n# end",
    "any-order": "PARENT T1 CHILD D1\nPARENT D1 CHILD T2 T3\nPARENT T2 T3 CHILD D2\nDATA D1 one 3000\nDATA D2 two 500\n" + TASKS,
    "apps": "APP A first 1 0\nAPP B second 2 0\nDATA D1 one 3000\nDATA D2 two 500\nPARENT A CHILD D1\nPARENT D1 CHILD B\n"
    "PARENT B CHILD D2\n",
    "words": TASKS.replace("T1", "DATA1").replace("T2", "APPLE") + "DATA D1 one 3000\nDATA D2 two 500\nPARENT DATA1 CHILD D1\n"
    "PARENT D1 CHILD APPLE T3\nPARENT APPLE T3 CHILD D2\n",
}  # fmt: skip


def paper(case):
    """Every form gives the same run: D1 written by one task, read by two, which share D2."""
    for name, text in PAPER.items():
        save(case, text, "w")
        done = case.emulate("dag", "w", "--json", "--verify", "--keep", "--input_dir", "out", ranks=2)
        result = json.loads(done.stdout)
        moved = (result["workflow"]["format"], result["total"]["bytes_read"], result["total"]["bytes_written"])
        expect(moved == ("paper", 6000, 3500), "%s: %s", name, moved)
        files = ("out/one", "out/two")  # the name is the file's, the id is what is in it
        case.holds(files[0], "D1", 3000)
        case.holds(files[1], "D2", 500)
        case.only("w", *files)


def one_to_one(case):
    save(case, "TASK A a 0\nTASK B b 0\nDATA X x 100\nDATA Y y 20\nPARENT A B CHILD X Y ACCESS 1\n", "w")
    done = case.emulate("dag", "w", "--json", "--keep", "--input_dir", "out")
    written = {t["id"]: t["bytes_written"] for t in json.loads(done.stdout)["workflow"]["tasks"]}
    expect(written == {"A": 100, "B": 20}, "written %s", written)


def plan(case):
    """Each stage is written, then read; who is not strict reads what is there; units without a stage come last, with a note."""
    save(case, "READ\nD1:B,C\nD2:A\nWRITE\nD1:A\nD2:B\nD3:C\nNONSTRICT\nD2:A\nSTAGES\n0:D1\n1:D2\n", "w")
    done = case.emulate("dag", "w", "--json", "--verify", "--keep", "--input_dir", "out", "--block_size", "1000",
                        "--segment_count", 2, ranks=2)  # fmt: skip
    result = json.loads(done.stdout)
    expect(result["workflow"]["format"] == "plan", "format %s", result["workflow"]["format"])
    expect(result["total"]["bytes_written"] == 6000 and result["total"]["bytes_read"] >= 4000, "moved %s", result["total"])
    for name in ("D1", "D2", "D3"):
        case.holds("out/" + name, name, 2000)
    runs = {t["id"]: t["runs"][0] for t in result["workflow"]["tasks"]}
    expect(runs["A.0w"]["end_s"] <= min(runs["B.0r"]["start_s"], runs["C.0r"]["start_s"]), "stage 0: %s", runs)
    done = case.emulate("dag", "w", "--input_dir", "out", "--block_size", "1000", ranks=2)
    expect("1 of 3 data units are in no stage" in done.stdout, "no note: %s", done.stdout)


def sizes(case):
    """Sizes of the command line hold where the file has none; where it has others that is an error. A name, for the only unit."""
    save(case, "TASK A a 0\nDATA D one 100\nPARENT A CHILD D\n", "w")
    told = case.emulate("dag", "w", "--input_dir", "out", "--block_size", 50, "--segment_count", 3, status=2).stderr
    expect("w: D has 100 bytes" in told and "150" in told, "told %s", told)
    case.emulate("dag", "w", "--input_dir", "out", "--block_size", 50, "--segment_count", 2, "--keep", "--filename", "mine")
    case.holds("out/mine", "D", 100)
    save(case, "READ\nD:B\nWRITE\nD:A\nE:A\nSTAGES\n0:D,E\n", "p")
    told = case.emulate("dag", "p", "--input_dir", "other", "--filename", "mine", status=2).stderr
    expect("2 data units" in told, "told %s", told)


def exact(case):
    """1/49 of 49000 is 1000; sizes beyond 2^53 are what was written; a mark of the encoding says nothing."""
    save(case, "TASK A a 0\nDATA D one 49000\nPARENT A CHILD D\n", "w")
    want = {"1/49": 1000, "1/98": 500, "0.001": 49, "3/49": 3000, "10%": 4900, "1/9007199254740993": 1, "1e-3": 49}
    for ratio, size in want.items():
        done = json.loads(case.emulate("dag", "w", "--engine", "null", "--bytes", ratio, "--json").stdout)
        files = {f["name"]: f["bytes_written"] for f in done["files"]}
        expect(files["D"] == size, "%s of 49000: %d", ratio, files["D"])
    save(case, "\ufeff" + "TASK A a 0\nDATA E two 9007199254740993\nPARENT A CHILD E\n", "marked")
    text = case.emulate("graph", "marked", "--format", "iorama").stdout
    expect("9007199254740993" in text, "%s", text)
    for form in ('{"block_size": 9007199254740993, "segment_count": 1}', "block_size = 9007199254740993\nsegment_count = 1\n"):
        save(case, "\ufeff" + form, "p")
        done = case.emulate("app", "--config_file", "p", "--write_filenames", "f", "--json", status=4)
        expect("9007199254740993" in done.stderr or "8.0 PiB" in done.stderr, "%s: %s", form, done.stderr)
    told = case.emulate("dag", "w", "--engine", "null", "--iterations", "9007199254740993", status=2).stderr
    expect("iterations" in told, "%s", told)


# ---- conversions


def convert(case):
    """What is written and read again is the same; names that other formats could not hold come through."""
    tasks, sizes = chain(4)
    odd = {"in.0": "a b, c?", "in.1": "x=[y]#z", "f0.0": "100%25", "f1.0": "a_b__c_"}
    sizes = {odd.get(f, f): n for f, n in sizes.items()}
    tasks = [dict(t, inputs=[odd.get(f, f) for f in t["inputs"]], outputs=[odd.get(f, f) for f in t["outputs"]]) for t in tasks]
    save(case, new(tasks, sizes))
    first = case.emulate("graph", "w.json", "--format", "iorama").stdout
    save(case, first, "w.wf")
    again = case.emulate("graph", "w.wf").stdout
    expect(first == again, "own format changes:\n%s\n%s", first, again)
    back = json.loads(case.emulate("graph", "w.wf", "--format", "wfformat").stdout)["workflow"]["specification"]
    have = {t["id"]: (sorted(t["inputFiles"]), sorted(t["outputFiles"]), sorted(t["parents"])) for t in back["tasks"]}
    want = {t["id"]: (sorted(t["inputs"]), sorted(t["outputs"]), sorted(parents(tasks, t))) for t in tasks}
    expect(have == want, "relations %s, not %s", have, want)
    expect({f["id"]: f["sizeInBytes"] for f in back["files"]} == sizes, "sizes %s", back["files"])
    dot = case.emulate("graph", "w.wf", "--format", "dot").stdout
    edges = sum(len(t["inputs"]) + len(t["outputs"]) for t in tasks)
    relations = sum(len(parents(tasks, t)) for t in tasks)
    expect(dot.startswith("digraph") and dot.count(" -> ") == edges + relations, "dot has %d arrows", dot.count(" -> "))
    save(case, case.emulate("graph", "w.wf", "--format", "paper").stdout, "w.paper")
    done = case.emulate("dag", "w.paper", "--json", "--verify", "--input_dir", "out", ranks=2)
    total = json.loads(done.stdout)["total"]
    expect(total["bytes_read"] == sum(sizes[f] for t in tasks for f in t["inputs"]), "paper's reads %s", total)


def loops(case):
    """Relations that are not strict, iterations, ranks survive the way through WfFormat."""
    text = "[workflow]\nname = w\niterations = 3\n[data d]\nsize = 100\n[task a]\nranks = 2\ncompute = 0.001\nwrites = d\nreads = e?\n" \
           "[data e]\nsize = 10\n[task b]\nreads = d\nwrites = e\n"  # fmt: skip
    save(case, text, "w.wf")
    save(case, case.emulate("graph", "w.wf", "--format", "wfformat").stdout, "w.json")
    for name in ("w.wf", "w.json"):
        result = json.loads(case.emulate("dag", name, "--json", "--input_dir", "out", ranks=2).stdout)
        expect((result["total"]["bytes_read"], result["total"]["bytes_written"]) == (320, 330), "%s: %s", name, result["total"])
    svg = case.emulate("graph", "w.wf", "--format", "svg").stdout
    expect(svg.count("<title>") == 4 and "stroke-dasharray" in svg, "picture %s", svg[:300])


# ---- what is wrong

BROKEN = {
    "empty": ("", "no workflow"), "nothing": ("hello world\n", "no workflow"), "json": ("{", "line 1"),
    "not-wf": ("{}", "workflow"), "no-tasks": ('{"workflow": {"specification": {}}}', "tasks"),
    "empty-tasks": ('{"workflow": {"tasks": []}}', "no task"), "no-id": ('{"workflow": {"tasks": [{}]}}', "task 0"),
    "twice": ('{"workflow": {"tasks": [{"id": "a"}, {"id": "a"}]}}', "a is there twice"),
    "parent": ('{"workflow": {"tasks": [{"id": "a", "parents": ["zz"]}]}}', "zz"),
    "negative": ('{"workflow": {"tasks": [{"id": "a", "runtime": -1}]}}', "negative"),
    "size": ('{"workflow": {"specification": {"tasks": [{"id": "a"}], "files": [{"id": "f", "sizeInBytes": "x"}]}}}', "f: size"),
    "loop": ('{"workflow": {"tasks": [{"id": "a", "parents": ["b"]}, {"id": "b", "parents": ["a"]}]}}', "a -> b"),
    "self": ('{"workflow": {"tasks": [{"id": "a", "parents": ["a"]}]}}', "a -> a"),
    "deep": ("[" * 100000, "no workflow"), "deep-object": ('{"workflow":' * 100000, "line 1"),
    "paper-number": ("TASK T1 a b c\n", "line 1"), "paper-child": ("TASK T a 0\nDATA D d 1\nPARENT T\n", "line 3"),
    "paper-pairs": ("TASK T a 0\nDATA D d 1\nDATA E e 1\nPARENT T CHILD D E ACCESS 1\n", "line 4"),
    "paper-unknown": ("TASK T a 0\nPARENT T CHILD Q\n", "line 2"), "paper-data": ("TASK T a 0\nDATA D d 1\nDATA E e 1\nPARENT D CHILD E\n", "line 4"),
    "paper-many": ("APP A a 999999999 0\n", "line 1"), "plan-stage": ("READ\nD:T\nSTAGES\nx:D\n", "line 4"),
    "plan-none": ("READ\nD:T\n", "STAGES"), "plan-colon": ("READ\nD T\n", "line 2"),
    "own-key": ("[task a]\ncolour = red\n", "line 2"), "own-section": ("[task a]\n[what b]\n", "line 2"),
    "own-size": ("[data d]\nsize = much\n[task a]\n", "line 2"), "own-twice": ("[task a]\n[task a]\n", "line 2"),
    "own-name": ("[task a]\nreads = d\n", "line 2"), "own-zero": ("[task a%00b]\n", "line 1"), "own-open": ("[task a\n", "line 1"),
    "binary": ("\x00\x01\x02TASK", "no workflow"),
}  # fmt: skip


def broken(case):
    """One line that names the file and the place, status 3, at once, nothing made."""
    for name, (text, words) in BROKEN.items():
        save(case, text, "bad")
        done = case.emulate("dag", "bad", "--input_dir", "out", ranks=2, status=3)
        lines = done.stderr.strip().split("\n")
        expect(len(lines) == 1 and "bad" in lines[0] and words in lines[0], "%s: %s", name, done.stderr[:300])
        case.only("bad")


CASES = {f.__name__.replace("_", "-"): f for f in (versions, oddities, children_only, large, paper, one_to_one, plan, sizes, exact, convert, loops,
                                                   broken)}  # fmt: skip

main(CASES)
