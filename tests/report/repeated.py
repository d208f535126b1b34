#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""repeated.py BUILD [CASE…]: the same program several times: means, how far runs are apart, and whether two groups differ; and
comparisons as pictures. What must come out is worked out here, from what the logs were made with."""
import csv
import io
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
for folder in ("lib", "gen", "diagnose", "report"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import cases  # noqa: E402
from cases import SYSTEM_PYTHON, environment, expect  # noqa: E402
from jobs import MIB, Job  # noqa: E402
from words import Place  # noqa: E402

NEAR, FAR = (10.0, 10.4, 9.7, 10.1), (14.2, 13.8, 14.1, 14.4)
WIDE = (6.0, 15.0, 9.0, 18.0)
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 30: 2.042, 100: 1.984}  # of Student's table
SVG = "{http://www.w3.org/2000/svg}"


def group(place, name, times, size=MIB, **values):
    """A log for each time: two ranks that write for so long, in a run three times as long."""
    os.makedirs(os.path.join(place.folder, name), exist_ok=True)
    for n, time in enumerate(times):
        job = Job(place.tables, nprocs=2, run_time=3 * time, **values)
        for rank in range(2):
            job.posix("/scratch/out.%d" % rank, rank, writes=[(64 * MIB // size, size)], write_time=time)
        place.write(job, "%s/%d.darshan" % (name, n + 1))


def interval(a, b):
    """Welch's, of the difference of means, for whole degrees of freedom of the table."""
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    freedom = int((va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)))
    gap, reach = statistics.mean(b) - statistics.mean(a), T_95[freedom] * math.sqrt(va + vb)
    return gap - reach, gap + reach


def metric(d, name):
    return next(m for m in d["metrics"] if m["name"] == name)


def near(found, wanted, what):
    expect(found is not None and abs(found - wanted) <= 1e-3 * max(1e-9, abs(wanted)), "%s: %s, not %s", what, found, wanted)


def compare(place, a, b, *words, status=0):
    return json.loads(place.run("diff", "-q", "--json", *words, a, b, status=status))


def groups(place):
    """means, standard deviations, the interval of the difference, and the sentence"""
    group(place, "near", NEAR)
    group(place, "far", FAR)
    d = compare(place, "near", "far")
    m = metric(d, "run_time")
    runs = [[3 * t for t in times] for times in (NEAR, FAR)]
    for key, times in zip("ab", runs):
        near(m[key], statistics.mean(times), "mean")
        near(m[key + "_deviation"], statistics.stdev(times), "standard deviation")
        expect(m[key + "_runs"] == 4 and len(d[key]["runs"]) == 4, "runs: %s", m)
        for run, time in zip(d[key]["runs"], times):
            near(run["run_time"], time, run["log"])
    for key, wanted in zip(("low", "high"), interval(*runs)):
        near(m[key], wanted, key)
    expect((m["change"], m["judgement"]) == ("more", "worse"), "run time: %s", m)
    expect(metric(d, "writes")["change"] == "same", "as many writes: %s", metric(d, "writes"))
    v = d["verdict"]
    expect((v["slower"], v["faster"], v["differs"]) == (True, False, True), "verdict: %s", v)
    expect(v["text"].startswith("B takes 41 % more time: 42.4 s ± 0.75 s instead of 30.1 s ± 0.87 s"), "verdict: %s", v["text"])
    expect(compare(place, "far", "near")["verdict"]["faster"], "the other way round")
    place.run("diff", "--fail-on", "slower", "near", "far", status=1)
    place.run("diff", "--fail-on", "slower", "far", "near")


def unsure(place):
    """runs of one group are as far apart as the groups: that is said, and it is no difference"""
    group(place, "near", NEAR)
    group(place, "wide", WIDE)
    group(place, "same", NEAR)
    d = compare(place, "near", "wide", "--fail-on", "any")
    m = metric(d, "run_time")
    expect((m["change"], m["judgement"]) == ("unsure", "neutral") and m["low"] < 0 < m["high"], "run time: %s", m)
    expect("cannot be told" in d["verdict"]["text"] and not d["verdict"]["differs"], "verdict: %s", d["verdict"])
    expect("cannot tell" in place.run("diff", "near", "wide"), "the table says nothing")
    d = compare(place, "near", "same", "--fail-on", "any")
    expect(d["verdict"]["text"].startswith("B takes as long as A: 30.1 s"), "verdict: %s", d["verdict"])
    # within the tolerance there is no difference, however exact it is known
    group(place, "exact", (10.0, 10.0, 10.0))
    group(place, "little", (10.2, 10.2, 10.2))
    expect(metric(compare(place, "exact", "little"), "run_time")["change"] == "same", "2 % are none")
    expect(metric(compare(place, "exact", "little", "--tolerance", "1"), "run_time")["change"] == "more", "they are, if asked for")


def single(place):
    """one run against a group: inside of what its runs differ by, and outside; a figure that a run cannot say is in no mean"""
    group(place, "near", NEAR)
    group(place, "one", (10.8,))
    group(place, "other", (20.0,))
    m = metric(compare(place, "near", "one/1.darshan"), "run_time")
    times = [3 * t for t in NEAR]
    reach = T_95[3] * statistics.stdev(times) * math.sqrt(1 + 1 / 4)
    near(m["low"], 3 * 10.8 - statistics.mean(times) - reach, "low")
    expect((m["change"], m["b_deviation"], m["b_runs"]) == ("unsure", None, 1), "inside: %s", m)
    d = compare(place, "near", "other")
    expect(metric(d, "run_time")["change"] == "more", "outside: %s", metric(d, "run_time"))
    expect(any("single run" in note for note in d["notes"]), "notes: %s", d["notes"])
    rate = metric(d, "coll_writes")
    expect((rate["a_runs"], rate["a"], rate["low"], rate["change"]) == (0, None, None, "same"), "no MPI-IO: %s", rate)
    said = place.run("diff", "one", "other", status=2)
    expect("takes two runs" in said, "said %s", said)


def forms(place):
    """text, Markdown, page and CSV; wrong words and what cannot be read"""
    group(place, "near", NEAR)
    group(place, "far", FAR)
    for form in ([], ["--markdown"], ["--html=-"]):
        text = re.sub(r"\s+", " ", place.run("diff", "-q", *form, "near", "far"))
        for part in ("30.1 s", "± 0.87 s", "42.4 s", "41 %", "near/1.darshan"):
            expect(part in text, "%s has no %s", form, part)
    for width in (80, 120):
        long = [line for line in place.run("diff", "-q", "--width", str(width), "near", "far").split("\n") if len(line) > width]
        expect(not long, "wider than %d: %s", width, long)
    rows = list(csv.DictReader(io.StringIO(place.run("diff", "-q", "--csv", "near", "far"))))
    row = next(row for row in rows if row["name"] == "run_time")
    near(float(row["a_deviation"]), statistics.stdev(3 * t for t in NEAR), "CSV")
    expect(row["a_runs"] == "4" and row["change"] == "more", "CSV: %s", row)
    rows = list(csv.DictReader(io.StringIO(place.run("diff", "-q", "--csv=runs", "near", "far"))))
    expect([row["group"] for row in rows] == list("AAAABBBB"), "CSV of runs: %s", rows)
    for words in (["--csv=files"], ["--json", "--html"], ["--fail-on", "x"]):
        place.run("diff", *words, "near", "far", status=2)
    with open(os.path.join(place.folder, "far", "9.darshan"), "w") as stream:
        stream.write("no log\n")
    said = place.run("diff", "near", "far", status=3)
    expect("far/9.darshan" in said and "4 runs" in said, "damage: %s", said)
    os.makedirs(os.path.join(place.folder, "none"))
    place.run("diff", "near", "none", status=3)


# ---- pictures -------------------------------------------------------------------------------------------------------


def decode(path):
    """(width, height, colour of a dot)"""
    try:
        from PIL import Image
    except ImportError:
        raise cases.Skip("python3-pil is not installed") from None
    with Image.open(path) as image:
        image.load()
        expect((image.format, image.mode) == ("PNG", "RGB"), "%s %s", image.format, image.mode)
        return (*image.size, image.getpixel)


def bars(root):
    """The rectangles of a class, in pixels: (x, y, width, height)."""
    found = {}
    for rect in root.iter(SVG + "rect"):
        found.setdefault(rect.get("class"), []).append(tuple(float(rect.get(key)) for key in ("x", "y", "width", "height")))
    return found


def drawn(place, *words):
    text = place.run("diff", "-q", *words)
    numbers = re.sub(r"<text.*?</text>|<title>.*?</title>|<style>.*?</style>", "", text, flags=re.S)
    expect(not re.search(r"\b(?:nan|inf)\b", numbers), "numbers: %s", numbers)
    return ElementTree.fromstring(text)


def picture(place):
    """a comparison as SVG: lengths of bars are the figures, colours the judgement; findings that went"""
    group(place, "a", (50.0,), 1024)
    group(place, "b", (10.0,))
    place.run("diff", "-q", "--svg=diff.svg", "a/1.darshan", "b/1.darshan")
    with open(os.path.join(place.folder, "diff.svg")) as stream:
        text = stream.read()
    expect("prefers-color-scheme" in text, "--svg is light and dark")
    root = drawn(place, "--figure", "a/1.darshan", "b/1.darshan")
    words = [t.text or "" for t in root.iter(SVG + "text")]
    for part in ("run time", "150 s", "30.0 s", "gone", "W08", "1.0 KiB", "1.0 MiB", "1,024×, better"):
        expect(any(part in word for word in words), "%s is not in it: %s", part, words)
    found = bars(root)
    row = min(y for _, y, _, _ in found["ir-o"])
    (first,) = [w for _, y, w, _ in found["ir-o"] if y == row]
    (second,) = [w for _, y, w, _ in found["ir-p"] if row < y < row + 20]
    expect(abs(first - 400) < 0.1 and abs(second / first - 0.2) < 0.01, "30 s and 150 s: %s and %s", first, second)
    expect("ir-bg" not in found and "prefers-color-scheme" not in "".join(root.itertext()), "a figure is light, without a frame")
    worse = bars(drawn(place, "--figure", "b/1.darshan", "a/1.darshan"))
    expect([w for _, y, w, _ in worse["ir-HIGH"] if y < row + 30], "what is worse is red: %s", worse)


def spread(place):
    """groups as a picture: a line as long as the standard deviation to both sides of the mean"""
    group(place, "near", NEAR)
    group(place, "wide", WIDE)
    root = drawn(place, "--figure", "near", "wide")
    words = [t.text or "" for t in root.iter(SVG + "text")]
    expect("cannot tell" in words and any("± 16.4 s" in word for word in words), "words: %s", words)
    lines = sorted((y, x, w) for x, y, w, h in bars(root)["ir-t"] if h == 1)
    times = [3 * t for t in NEAR], [3 * t for t in WIDE]
    longest = max(statistics.mean(t) + statistics.stdev(t) for t in times)
    for (_, x, w), t in zip(lines, times):
        unit = 400 / longest
        expect(abs(w - 2 * unit * statistics.stdev(t)) < 0.3, "%s is not twice the deviation of %s", w, t)
        expect(abs(x + w / 2 - 240 - unit * statistics.mean(t)) < 0.3, "the middle of %s is not the mean of %s", (x, w), t)


def png(place):
    """figures as PNG: two dots a pixel, colours where the SVG has its rectangles, and letters"""
    group(place, "a", (50.0,), 1024)
    group(place, "b", (10.0,))
    words = ("a/1.darshan", "b/1.darshan")
    said = subprocess.run([place.built.iorama, "diff", "-q", "--figure", "-o", "d.png", *words], cwd=place.folder, capture_output=True, text=True,
                          env=environment(HOME=place.folder))  # fmt: skip
    if "PNG needs libcairo" in said.stderr:
        expect(said.returncode == 4 and not os.path.exists(os.path.join(place.folder, "d.png")), "status %d", said.returncode)
        raise cases.Skip("libcairo2 is not installed")
    expect(said.returncode == 0 and not said.stderr, "status %d: %s", said.returncode, said.stderr)
    width, height, dot = decode(os.path.join(place.folder, "d.png"))
    root = drawn(place, "--figure", *words)
    expect((width, height) == (2000, 2 * int(root.get("height"))), "%d × %d", width, height)
    seen = 0
    for kind, rgb in (("ir-o", (0xCB, 0xD2, 0xDB)), ("ir-p", (0x2F, 0x85, 0x5A)), ("ir-HIGH", (0xC5, 0x30, 0x30))):
        for x, y, w, h in bars(root).get(kind, ()):
            at = int(2 * x + 1), int(2 * (y + 2))
            expect(w < 3 or dot(at) == rgb, "%s at %s is %s", kind, at, dot(at))
            seen += w >= 3
    expect(seen > 10, "%d rectangles", seen)
    verdict = next(float(t.get("y")) for t in root.iter(SVG + "text") if t.get("class") == "ir-v")
    dark = [sum(sum(dot((x, y))) < 300 for x in range(40, 1000)) for y in range(int(2 * verdict) - 26, int(2 * verdict))]
    expect(max(dark) > 60, "there are no letters: %s", dark)
    label = next(float(t.get("y")) for t in root.iter(SVG + "text") if t.text == "run time")  # it ends at 230
    ends = max(x for y in range(int(2 * label) - 16, int(2 * label)) for x in range(40, 478) if sum(dot((x, y))) < 300)
    expect(450 <= ends <= 462, "the label ends at %d", ends)
    said = place.run("report", "-q", "--figure=sizes", "-o", "r.png", "a/1.darshan")
    expect(not said and decode(os.path.join(place.folder, "r.png"))[0] == 2000, "report: %s", said)
    expect("figures are files" in place.run("diff", "--figure", "-o", "x.gif", *words, status=2), "another kind")


def without(place):
    """without the library for PNG that is said, nothing is written, and the other kinds are made"""
    group(place, "a", (1.0,))
    with open(os.path.join(place.folder, "hide.c"), "w") as stream:
        stream.write("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stddef.h>\n#include <string.h>\n"
                     "void *dlopen(const char *name, int how)\n{\n\tvoid *(*next)(const char *, int) = dlsym(RTLD_NEXT, \"dlopen\");\n\n"
                     "\treturn name != NULL && strstr(name, \"cairo\") ? NULL : next(name, how);\n}\n")  # fmt: skip
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "hide.so", "hide.c", "-ldl"], cwd=place.folder, check=True)
    hide = {"LD_PRELOAD": os.path.join(place.folder, "hide.so")}
    said = place.run("report", "-q", "--figure", "-o", "a.png", "a/1.darshan", status=4, **hide)
    expect("PNG needs libcairo.so.2" in said and not os.path.exists(os.path.join(place.folder, "a.png")), "said %s", said)
    place.run("report", "-q", "--figure", "-o", "a.pdf", "a/1.darshan", **hide)
    with open(os.path.join(place.folder, "a.pdf"), "rb") as stream:
        expect(stream.read(5) == b"%PDF-", "no PDF")


# ---- run --repeat ---------------------------------------------------------------------------------------------------


def repeat(place):
    """a log for each run, each of a process of its own; the line at the end; diff takes the directory"""
    write = "import os; f = open('data', 'ab', 0); f.write(b'x' * 1000); print(os.path.getsize('data'))"
    said = place.run("run", "--repeat", "3", "-o", "runs", "--", SYSTEM_PYTHON, "-S", "-E", "-c", write)
    expect(sorted(os.listdir(os.path.join(place.folder, "runs"))) == ["1.darshan", "2.darshan", "3.darshan"], "logs")
    expect(re.search(r"^1000\n(?s:.*)^2000\n(?s:.*)^3000$", said, re.M), "the program's own output: %s", said)
    expect(re.search(r"^iorama: runs: 3 runs, run time .*s ± .*s, in I/O ", said, re.M), "the line at the end: %s", said)
    logs = [place.report("runs/%d.darshan" % n) for n in (1, 2, 3)]
    expect(len({log["job"]["jobid"] for log in logs} if "jobid" in logs[0]["job"] else {log["job"]["id"] for log in logs}) == 3, "each is a job")
    d = compare(place, "runs", "runs")
    expect(metric(d, "bytes_written")["a"] == 1000 and metric(d, "bytes_written")["a_deviation"] == 0, "bytes: %s", metric(d, "bytes_written"))
    expect("exists already" in place.run("run", "--repeat", "2", "-o", "runs", "true", status=4), "logs are not replaced")
    place.run("run", "-q", "-f", "--repeat", "2", "-o", "runs", "true")


def failing(place):
    """the first run that fails is the last, and its status is that of all; wrong words"""
    count = "echo x >> count; test $(wc -l < count) -lt 3"
    place.run("run", "-q", "--repeat", "9", "-o", "runs", "--", "sh", "-c", count, status=1)
    expect(len(os.listdir(os.path.join(place.folder, "runs"))) == 3, "runs after a failure")
    for words in (["--repeat", "0"], ["--repeat", "x"], ["--repeat", "1001"], ["--repeat", "2x"]):
        expect("--repeat takes a number" in place.run("run", *words, "-o", "r", "true", status=2), "%s", words)
    expect("needs -o DIR" in place.run("run", "--repeat", "2", "true", status=2), "without a place")
    place.file("plain", "")
    expect("need a directory" in place.run("run", "--repeat", "2", "-o", "plain", "true", status=4), "a file in its place")


def stopped(place):
    """a signal for iorama ends the run that is at work, and no other begins; its log is whole"""
    child = subprocess.Popen([place.built.iorama, "run", "-q", "--repeat", "5", "-o", "runs", "--", "sh", "-c", "echo x > begun; exec sleep 60"],
                             cwd=place.folder, env=environment())  # fmt: skip
    cases.wait(lambda: os.path.exists(os.path.join(place.folder, "begun")), "the first run")
    child.send_signal(signal.SIGTERM)
    expect(child.wait(60) == 128 + signal.SIGTERM, "status %s", child.returncode)
    expect(os.listdir(os.path.join(place.folder, "runs")) == ["1.darshan"], "logs: %s", os.listdir(os.path.join(place.folder, "runs")))


CASES = (groups, unsure, single, forms, picture, spread, png, without, repeat, failing, stopped)


def perform(build, name):
    with cases.folders(build, "repeated") as (folder, _):
        next(case for case in CASES if case.__name__ == name)(Place(build, folder))


if __name__ == "__main__":
    cases.main([case.__name__ for case in CASES], perform)
