# SPDX-License-Identifier: BSD-3-Clause
"""iorama emulate graph: jobs whose reads and writes are known are captured; the workflow made of their logs is read back and compared."""
import json
import os
import re
import sys

import captured
import harness
from harness import MPICH, OPENMPI, cases, expect

SIZE = 20_000

COPY = """
import os, sys
for name in filter(None, sys.argv[1].split(",")):
    fd = os.open(name, os.O_RDONLY)
    while os.read(fd, 4096):
        pass
for name in filter(None, sys.argv[2].split(",")):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for i in range(5):
        os.write(fd, b"x" * %d)
""" % (SIZE // 5)


def paths(case, names):
    return ",".join(case.path("data", name) for name in names)


def program(case, name):
    with open(case.path(name), "w", encoding="utf-8") as file:
        file.write(COPY)
    return case.path(name)


def job(case, log, name, reads=(), writes=()):
    """One job: a program that reads some files, then writes others."""
    os.makedirs(case.path("data"), exist_ok=True)
    command = [sys.executable, program(case, name), paths(case, reads), paths(case, writes)]
    return captured.observe(case, log, command, "data", trace=False)


def parse(text):
    """The format of iorama's own: {task: {key: value}}, {datum: size}, {key: value} of the workflow."""
    tasks, data, head, to = {}, {}, {}, None
    for line in text.splitlines():
        section = re.match(r"\[(\w+) ?(\S*)( \S+)?\]$", line)
        if section:
            to = {"task": tasks, "data": data}.get(section[1], {"": head}).setdefault(section[2], {})
        elif " = " in line:
            key, value = line.split(" = ", 1)
            to[key] = value
    return tasks, data, head


def relations(text):
    """{task: (reads, writes, after)}, each a set of names; a ? behind one: not strict."""
    names = lambda task, key: set(filter(None, task.get(key, "").split(", ")))  # noqa: E731
    return {t: tuple(names(task, key) for key in ("reads", "writes", "after")) for t, task in parse(text)[0].items()}


def graph(case, *words, **more):
    return case.emulate("graph", *words, **more).stdout


def same(have, want):
    expect(have == want, "%s\nnot %s", have, want)


def three(case):
    """Simulation, analysis, picture; an input that nobody wrote; logs in any order."""
    os.makedirs(case.path("data"))
    with open(case.path("data", "in"), "wb") as file:
        file.write(b"i" * 9000)
    logs = [job(case, "1.darshan", "sim.py", ["in"], ["a", "b"]), job(case, "2.darshan", "ana.py", ["a", "b"], ["c"]),
            job(case, "3.darshan", "viz.py", ["a", "c"], ["out"])]  # fmt: skip
    want = {"sim.py": ({"in"}, {"a", "b"}, set()), "ana.py": ({"a", "b"}, {"c"}, set()), "viz.py": ({"a", "c"}, {"out"}, set())}
    for words in (logs, logs[::-1], [logs[1], logs[0], logs[2]]):
        text = graph(case, *words)
        same(relations(text), want)
    sizes = {name: int(d["size"]) for name, d in parse(text)[1].items()}
    same(sizes, {"in": 9000, "a": SIZE, "b": SIZE, "c": SIZE, "out": SIZE})
    expect("iterations" not in parse(text)[2], "iterations")


def formats(case):
    """The same graph in the other formats."""
    logs = [job(case, "1.darshan", "one.py", [], ["a"]), job(case, "2.darshan", "two.py", ["a"], ["b"])]
    case.emulate("graph", *logs, "--format", "paper", "--output", case.path("paper"))
    with open(case.path("paper"), encoding="utf-8") as file:
        lines = [" ".join(line.split()) for line in file]
    links = {line for line in lines if line.startswith("PARENT")}
    same(links, {"PARENT one.py CHILD a", "PARENT a CHILD two.py", "PARENT two.py CHILD b"})
    wf = json.loads(graph(case, *logs, "--format", "wfformat"))["workflow"]["specification"]
    same({t["id"]: (t["inputFiles"], t["outputFiles"], t["parents"]) for t in wf["tasks"]},
         {"one.py": ([], ["a"], []), "two.py": (["a"], ["b"], ["one.py"])})  # fmt: skip
    same({f["id"]: f["sizeInBytes"] for f in wf["files"]}, {"a": SIZE, "b": SIZE})
    dot = graph(case, *logs, "--format", "dot")
    expect(dot.startswith("digraph") and dot.count("->") == 3, "dot: %s", dot)
    case.emulate("graph", *logs, "--format", "plan", status=2)


def overlap(case):
    """Who began to read before the writer had ended does not wait for it."""
    # two programs of one job: the writer goes on when the reader has read
    for name, lines in (("slow.py", "os.write(fd, b'x' * 9); os.write(1, b'.'); open(sys.argv[2]).read(1); os.write(fd, b'x' * 9)"),
                        ("quick.py", "os.read(0, 1); os.read(fd, 9); open(sys.argv[2], 'w').write('.')")):  # fmt: skip
        with open(case.path(name), "w", encoding="utf-8") as file:
            file.write("import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)\n%s\n" % lines)
    os.makedirs(case.path("data"))
    os.mkfifo(case.path("back"))
    words = tuple(case.path(*p) for p in (("slow.py",), ("data", "d"), ("back",), ("quick.py",), ("data", "d"), ("back",)))
    shell = "%s %s %s %s | %s %s %s %s" % ((sys.executable,) + words[:3] + (sys.executable,) + words[3:])
    log = captured.observe(case, "job.darshan", ["sh", "-c", shell], "data", trace=False)
    same(relations(graph(case, log)), {"slow.py": (set(), {"d"}, set()), "quick.py": ({"d?"}, set(), set())})


def programs(case):
    """One job, a shell that runs programs one after the other: each is a task, and so is each run of the same."""
    os.makedirs(case.path("data"))
    names = [program(case, name) for name in ("first.py", "second.py")]
    steps = ((0, [], ["a"]), (1, ["a"], ["b"]), (0, ["b"], ["c"]))
    shell = " && ".join("%s %s '%s' '%s'" % (sys.executable, names[k], paths(case, r), paths(case, w)) for k, r, w in steps)
    log = captured.observe(case, "job.darshan", ["sh", "-c", shell + "; true"], "data", trace=False)
    same(relations(graph(case, log)), {"first.py": (set(), {"a"}, set()), "second.py": ({"a"}, {"b"}, set()),
                                       "first.py.2": ({"b"}, {"c"}, set())})  # fmt: skip


def iterations(case):
    """The same two jobs three times: the first reads what the second left."""
    logs = []
    for i in range(3):
        logs.append(job(case, "%d.darshan" % len(logs), "sim.py", ["state"] if i else [], ["field"]))
        logs.append(job(case, "%d.darshan" % len(logs), "ana.py", ["field"], ["state"]))
    text = graph(case, *logs)
    same(relations(text), {"sim.py": ({"state?"}, {"field"}, set()), "ana.py": ({"field"}, {"state"}, set())})
    same(parse(text)[2].get("iterations"), "3")
    with open(case.path("flow"), "w", encoding="utf-8") as file:
        file.write(text)
    done = json.loads(case.emulate("dag", "flow", "--time", "0", "--verify", "--json", "--input_dir", case.path("run"), ranks=2).stdout)
    same(done["total"]["bytes_written"], 3 * 2 * SIZE)


def in_place(case):
    """A file that is read and then written by a task, after another made it: the order is kept, and it is no circle."""
    logs = [job(case, "1.darshan", "make.py", [], ["f"]), job(case, "2.darshan", "change.py", ["f"], ["f"]),
            job(case, "3.darshan", "use.py", ["f"], [])]  # fmt: skip
    text = graph(case, *logs)
    same(relations(text), {"make.py": (set(), {"f"}, set()), "change.py": ({"f?"}, {"f"}, {"make.py"}), "use.py": ({"f"}, set(), set())})
    with open(case.path("flow"), "w", encoding="utf-8") as file:
        file.write(text)
    case.emulate("dag", "flow", "--time", "0", "--input_dir", case.path("run"))


def renamed(case):
    """Files change their names: by the program that wrote them, by mv, over and over; a name that is written to again is another file."""
    os.makedirs(case.path("data"))
    for name, lines in (("make.py", "w('a.tmp'); os.rename(p('a.tmp'), p('a'))"), ("use.py", "r('b'); w('c')"),
                        ("turn.py", "w('log'); os.rename(p('log'), p('log.old')); r('log.old'); w('log'); w('x'); w('y'); "
                         "[os.rename(p(a), p(b)) for a, b in ('xt', 'yx', 'ty')]")):  # fmt: skip
        with open(case.path(name), "w", encoding="utf-8") as file:
            file.write("import os, sys\np = lambda n: os.path.join(sys.argv[1], n)\n"
                       "w = lambda n: os.write(os.open(p(n), os.O_WRONLY | os.O_CREAT, 0o644), b'x' * 9000)\n"
                       "r = lambda n: os.read(os.open(p(n), os.O_RDONLY), 9000)\n%s\n" % lines)  # fmt: skip
    shell = "cd data; python make.py .; mv a b1; cp b1 b2; mv b2 b3; mv b3 b; python use.py .; mv c end; python turn.py ."
    shell = shell.replace("python ", sys.executable + " " + case.folder + "/").replace(" .;", " $PWD;").replace("turn.py .", "turn.py $PWD")
    log = captured.observe(case, "job.darshan", ["sh", "-c", shell], "data", trace=False)
    text = graph(case, log)
    have = relations(text)
    same(have["make.py"], (set(), {"b1"}, set()))
    same(have["cp"], ({"b1"}, {"b"}, set()))
    same(have["use.py"], ({"b"}, {"end"}, set()))
    expect("mv" not in have, "mv moves no data: %s", have)
    same(have["turn.py"][1] >= {"log", "x", "y"}, True)
    same({n: d["size"] for n, d in parse(text)[1].items() if n in ("b1", "b", "end")}, dict.fromkeys(("b1", "b", "end"), "9000"))


def redirected(case):
    """What a shell redirects: streams of the C library on standard input and output, of programs that know nothing of the files."""
    cases.need("sort", "tr", "cat")
    os.makedirs(case.path("data"))
    shell = "cd data; seq 3000 > list; sort -r < list > sorted; tr 1 2 < sorted > changed; seq 10 | sort >> changed"
    log = captured.observe(case, "job.darshan", ["sh", "-c", shell], "data", trace=False)
    have = relations(graph(case, log))
    same(have["seq"], (set(), {"list"}, set()))
    same(have["sort"], ({"list"}, {"sorted"}, set()))
    same((have["tr"][0], have["tr"][1]), ({"sorted"}, {"changed"}))
    same(have["sort.2"][1], {"changed"})


def both(case):
    """A file that a task writes and reads is kept as both, whichever comes first; what libraries of MPI make for themselves is no file of the job."""
    os.makedirs(case.path("data"))
    lines = "f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)\nos.write(f, b'x' * 900)\nos.lseek(f, 0, 0)\nos.read(f, 900)\n"
    with open(case.path("both.py"), "w", encoding="utf-8") as file:
        file.write("import os, sys\n" + lines + "for n in ('d.locktest.0', '.d.shfp.77'):\n"
                   "    os.write(os.open(os.path.join(os.path.dirname(sys.argv[1]), n), os.O_RDWR | os.O_CREAT), b'x')\n")  # fmt: skip
    command = [sys.executable, "-I", case.path("both.py"), case.path("data", "d")]
    log = captured.observe(case, "job.darshan", command, "data", trace=False)
    text = graph(case, log)
    same(list(relations(text).values()), [({"d?"}, {"d"}, set())])
    same(list(parse(text)[1]), ["d"])
    with open(case.path("flow"), "w", encoding="utf-8") as file:
        file.write(text)
    case.emulate("dag", "flow", "--time", "0", "--iterations", 2, "--verify", "--input_dir", case.path("run"))


def under(family):
    def case_of(case):
        case.need(family)
        logs = [job(case, "1.darshan", "one.py", [], ["a"]), job(case, "2.darshan", "two.py", ["a"], ["b"])]
        same(relations(graph(case, *logs, ranks=2, launcher=family)),
             {"one.py": (set(), {"a"}, set()), "two.py": ({"a"}, {"b"}, set())})  # fmt: skip

    return case_of


def bad(case):
    log = job(case, "1.darshan", "one.py", [], ["a"])
    with open(log, "rb") as file:
        content = file.read()
    for n in (0, 700, len(content) // 2):
        with open(case.path("cut"), "wb") as file:
            file.write(content[:n])
        done = case.emulate("graph", log, "cut", "--output", "out", status=3)
        expect(done.stderr.count("\n") == 1 and "cut" in done.stderr, "%s", done.stderr)
    case.emulate("graph", status=2)
    case.emulate("graph", log, "--format", "nonsense", status=2)
    expect(not os.path.exists(case.path("out")), "a file is left")
    nothing = captured.observe(case, "nothing.darshan", [sys.executable, "-c", "pass"], "data", trace=False)
    case.emulate("graph", nothing, status=3)


CASES = {"three": three, "formats": formats, "overlap": overlap, "programs": programs, "iterations": iterations,
         "in-place": in_place, "renamed": renamed, "redirected": redirected, "both": both, "openmpi": under(OPENMPI), "mpich": under(MPICH), "bad": bad}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
