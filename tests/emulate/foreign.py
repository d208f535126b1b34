# SPDX-License-Identifier: BSD-3-Clause
"""Programs that nobody here wrote (git, tar, sqlite3, gcc, python, tools of HDF5): captured, done again, captured again. Of each kind there
are as many calls as the job made, but for those that are told as left out, and nothing is left out without a word."""
import collections
import json
import os
import shutil
import subprocess
import sys

import captured
from harness import LIST, cases, expect, main

# what a replay calls it -> the counters of the job; None: how often it is done again says nothing
NAMES = {
    "fsyncs": ("POSIX_FSYNCS",), "fdatasyncs": ("POSIX_FDSYNCS",), "stats": ("POSIX_STATS", "EXTRA_STATS"), "accesses": ("EXTRA_ACCESSES",),
    "mkdirs": ("EXTRA_MKDIRS",), "renames": ("EXTRA_RENAMES",), "unlinks": ("EXTRA_UNLINKS",), "seeks": ("POSIX_SEEKS", "STDIO_SEEKS"),
    "maps": ("EXTRA_MMAPS",), "msyncs": ("EXTRA_MSYNCS",), "syncs of ranges": ("EXTRA_RANGE_SYNCS",), "truncates": ("EXTRA_TRUNCATES",),
    "allocates": ("EXTRA_ALLOCATES",), "advises": ("EXTRA_ADVISES",), "locks": ("EXTRA_LOCKS",), "links": ("EXTRA_LINKS",),
    "chmods": ("EXTRA_CHMODS",), "changes of times": ("EXTRA_UTIMES",), "extended attributes": ("EXTRA_XATTRS",),
    "readdirs": ("EXTRA_READDIRS",), "opens that failed": ("EXTRA_OPENS_FAILED",), "other calls that failed": ("EXTRA_CALLS_FAILED",),
    "reads that failed": ("EXTRA_READS_FAILED",), "writes that failed": ("EXTRA_WRITES_FAILED",), "flushes": ("STDIO_FLUSHES",),
}  # fmt: skip
MOVED = {"reads": ("POSIX_READS", "STDIO_READS"), "writes": ("POSIX_WRITES", "STDIO_WRITES"), "bytes_read": ("POSIX_BYTES_READ", "STDIO_BYTES_READ"),
         "bytes_written": ("POSIX_BYTES_WRITTEN", "STDIO_BYTES_WRITTEN")}  # fmt: skip


def counts(case, log, failed=None):
    """{counter: its sum over all files}, without the list of a replay."""
    text = subprocess.run([case.iorama, "show", log], check=True, capture_output=True, text=True).stdout
    sums = collections.Counter()
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) > 5 and words[0] in ("POSIX", "EXTRA", "STDIO") and "_F_" not in words[3] and LIST not in words[5] and (words[5][:1] == "/" or words[5] == failed):
            sums[words[3]] += max(0, int(words[4]))
    return sums


def of(sums, names):
    return sum(sums[name] for name in names)


def again(program, *tools):
    def case_of(case):
        for tool in tools:
            cases.need(tool)
        captured.can_capture(case)
        os.mkdir(case.path("data"))
        script = program(case)
        for trace in (True, False):
            for name in os.listdir(case.path("data")):
                if name != "in":
                    path = case.path("data", name)
                    (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
            log = captured.observe(case, "job.darshan", ["sh", "-e", "-c", "cd %s\n%s" % (case.path("data"), script)], "data", trace)
            job = counts(case, log, "<FAILED>")
            words = ["replay", log, "--no_think", "--scratch", case.path("s"), "--keep", "--json"]
            os.makedirs(case.path("s"), exist_ok=True)
            output = case.path("result.json")
            have = counts(case, captured.observe(case, "again.darshan", case.command(*words, "--output", output), "s", trace))
            with open(output, encoding="utf-8") as file:
                result = json.load(file)
            left = result["figures"]["left_out"]
            print("%d files, left out: %s" % (result["figures"]["files"], left))
            wrong = []
            for name, counters in NAMES.items():
                # a stream is where its next request is by a seek, in a replay too
                if of(job, counters) != left.get(name, 0) + (of(have, counters) if name != "seeks" else 0):
                    wrong.append("%s: %d of %d, %d told" % (name, of(have, counters), of(job, counters), left.get(name, 0)))
            for name, counters in MOVED.items():
                told = left.get(name + " of no bytes", 0)
                # what the job found is made before the clock starts, and written for that
                done = result["total"][name] if "writ" in name else of(have, counters)
                done += told
                # empty ones among them are calls, no requests
                if done != of(job, counters) and not (name == "writes" and done < of(job, counters) <= of(have, counters) + told):
                    wrong.append("%s: %d of %d, %d told" % (name, done - told, of(job, counters), told))
            said = case.emulate("replay", log, "--no_think").stdout
            if ("all were done" in said) != (not left and trace) or ("left out" in said) != bool(left):
                wrong.append("said: %s" % said)
            expect(not wrong, "trace %s: %s", trace, "; ".join(wrong))
            shutil.rmtree(case.path("s"))

    return case_of


def source(case, files=12):
    os.makedirs(case.path("data", "in", "sub"))
    for i in range(files):
        with open(case.path("data", "in", "sub" if i % 3 == 0 else "", "m%d.py" % i), "w", encoding="ascii") as file:
            file.write("value = %d\n" % i + "# a line\n" * 500 * i)


def git(case):
    source(case)
    top = case.path("data", "in")
    base = ["git", "-C", top, "-c", "user.name=x", "-c", "user.email=x@y", "-c", "init.defaultBranch=main"]
    subprocess.run([*base, "init", "-q"], check=True)
    subprocess.run([*base, "add", "-A"], check=True)
    subprocess.run([*base, "commit", "-qm", "x"], check=True)
    return "git clone -q --no-hardlinks in clone"


def tar(case):
    source(case)
    return "tar -cf a.tar in\nmkdir out\ntar -xf a.tar -C out"


def sqlite3(case):
    del case
    return "for i in 1 2 3 4 5 6; do sqlite3 f.db 'CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES(randomblob(9000)); SELECT sum(a) FROM t;'; done"


def gcc(case):
    os.mkdir(case.path("data", "in"))
    for i in range(3):
        with open(case.path("data", "in", "f%d.c" % i), "w", encoding="ascii") as file:
            file.write("int f%d(void) { return %d; }\n" % (i, i) + ("int main(void) { return 0; }\n" if i == 0 else ""))
    return "for i in 0 1 2; do gcc -pipe -c in/f$i.c -o f$i.o; done\nar rc lib.a f1.o f2.o\ngcc f0.o lib.a -o program"


def python(case):
    source(case)
    return "cp -r in pkg\n%s -m compileall -q pkg\n%s -c 'import sys, shutil; sys.path.insert(0, \"pkg\"); import m1; shutil.make_archive(\"z\", \"zip\", \"pkg\")'" % (
        sys.executable, sys.executable)  # fmt: skip


def hdf5(case):
    os.mkdir(case.path("data", "in"))
    with open(case.path("data", "in", "t.txt"), "w", encoding="ascii") as file:
        file.write("\n".join(" ".join("%d.5" % (i + k) for k in range(20)) for i in range(200)))
    return ("h5import in/t.txt -dims 200,20 -path x -type TEXTFP -size 32 -o a.h5\nh5repack -f GZIP=3 -l CHUNK=50x20 a.h5 b.h5\nh5copy -i b.h5 -o c.h5 -s x -d y\n"
            "h5dump -o dump.txt c.h5 >dump.ddl\nh5diff a.h5 b.h5")  # fmt: skip


CASES = {"git": again(git, "git"), "tar": again(tar, "tar"), "sqlite3": again(sqlite3, "sqlite3"), "gcc": again(gcc, "gcc", "ar"), "python": again(python),
         "hdf5": again(hdf5, "h5import", "h5repack", "h5copy", "h5dump", "h5diff")}  # fmt: skip

if __name__ == "__main__":
    main(CASES)
