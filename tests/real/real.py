#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""real.py BUILD [CASE...]: programs people use run the same with and without `iorama run`.

Every case is run twice in a folder of the same name: what it prints, its exit status and the files it
leaves must be the same. Where the truth is known (sizes of files, fio's own figures) the counters of
the log are compared with it. A case whose program is not installed is skipped."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import EXCLUDED, ROOT, Skip, need  # noqa: E402
from cases import SYSTEM_PYTHON as PYTHON  # noqa: E402

SECONDS = 120


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(data)


def some_files(folder, count=60):
    """A small tree: empty, tiny and larger files, folders, a link, a name with blanks."""
    for k in range(count):
        data = (b"line %d of file\n" % k) * (k * k % 4000)
        write(os.path.join(folder, "d%d" % (k % 7), "file %d.txt" % k), data)
    os.symlink("d0", os.path.join(folder, "link"))


# ---- the cases: prepare(folder) gives the commands; same and check are optional


class Case:
    same = None  # files that both runs must leave with the same bytes: pattern
    ignore = ()  # expressions whose matches in the output differ from run to run
    ordered = True  # the lines come in the same order
    status = {}  # exit status of the commands where it is not 0

    def prepare(self, folder):
        raise NotImplementedError

    def check(self, folder, log):
        """What is wrong with the log; `log` answers questions."""
        return []


class Make(Case):
    """Configures and builds a part of this project with two jobs."""

    same = "build/**/*.a"
    ordered = False
    ignore = (r"\(\d+\.\d+s\)", r"^make\S*: Entering.*|^make\S*: Leaving.*", r"\[ *\d+%\] ")

    def prepare(self, folder):
        need("cmake", "make", "cc")
        for name in ("src", "include", "cmake", "packaging", "tools"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, "project", name))
        shutil.copy(os.path.join(ROOT, "CMakeLists.txt"), os.path.join(folder, "project"))
        return [
            ["cmake", "-S", "project", "-B", "build", "-G", "Unix Makefiles", "-DIORAMA_TESTS=OFF", "-DCMAKE_BUILD_TYPE=None"],
            ["make", "-C", "build", "-j2", "iorama_base", "iorama_table"],
        ]


class Git(Case):
    """Clones a small repository and checks it."""

    same = "clone/d*/*"

    def prepare(self, folder):
        need("git")
        some_files(os.path.join(folder, "origin"))
        quiet = ["git", "-C", os.path.join(folder, "origin"), "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "all"]):
            subprocess.run(quiet + words, check=True, capture_output=True)
        return [
            ["git", "clone", "file://" + os.path.join(folder, "origin"), "clone"],
            ["git", "-C", "clone", "fsck", "--full"],
            ["git", "-C", "clone", "status", "--short", "--branch"],
        ]


class Unittest(Case):
    """Tests of Python itself."""

    tests = ("test.test_csv", "test.test_fileio", "test.test_shutil", "test.test_mmap")
    ignore = (r"in \d+\.\d+s",)

    def prepare(self, folder):
        need(PYTHON)
        found = subprocess.run([PYTHON, "-c", "import test.test_csv"], capture_output=True)
        if found.returncode != 0:
            raise Skip("the tests of Python (libpython3-testsuite) are not installed")
        return [[PYTHON, "-m", "unittest", "-q", *self.tests]]


class Shell(Case):
    """Pipes, redirections, limits, signals, programs with threads, programs that are killed."""

    same = "*.out"
    status = {9: 7}
    ignore = (r"(?<=line 1:) +\d+",)  # process ids

    def prepare(self, folder):
        need("bash", "sort", "xz", "dd", "cp", "diff", "seq")
        lines = (
            "find /usr/include -xdev -name '*.h' | sort | md5sum",
            "seq 1 200000 | sort -R --random-source=/bin/sh --parallel=2 -S 1M -T . > sorted.out",
            "seq 1 200000 > plain.out; xz -T2 -k plain.out; xz -dc plain.out.xz | cmp - plain.out",
            "dd if=/dev/zero of=zero.out bs=4k count=500 conv=fsync 2> /dev/null; md5sum zero.out",
            "diff <(ls /usr/bin) <(ls /usr/bin); exec 5<> both.out; echo hi >&5; cat both.out",
            "cp -r --sparse=always /usr/include/linux copy; diff -r /usr/include/linux copy && echo same",
            "ulimit -n 20; for i in 3 4 5 6 7 8 9; do eval \"exec $i< /etc/passwd\"; done; ls /proc/self/fd",
            "ulimit -v 200000; echo hi > small.out; cat small.out",
            "ulimit -f 1; head -c 100000 /dev/zero > large; echo $?",
            "env -i sh -c 'echo x > y; cat y'; exit 7",
            "(kill -SEGV $BASHPID); (kill -KILL $BASHPID); echo $?",
        )
        return [["bash", "-c", line] for line in lines]


class Tar(Case):
    """Packs a tree, unpacks it and compares."""

    same = "copy/**/*"

    def prepare(self, folder):
        need("tar", "diff", "mkdir")
        some_files(os.path.join(folder, "tree"))
        return [
            ["tar", "-C", "tree", "-cf", "all.tar", "."],
            ["mkdir", "copy"],
            ["tar", "-C", "copy", "-xvf", "all.tar"],
            ["diff", "-r", "--no-dereference", "tree", "copy"],
        ]

    def check(self, folder, log):
        archive = os.path.join(folder, "all.tar")
        problems = log.expect(archive, "POSIX_BYTES_WRITTEN", os.path.getsize(archive))
        for path in glob.glob(os.path.join(folder, "copy", "d*", "*")):
            problems += log.expect(path, "POSIX_BYTES_WRITTEN", os.path.getsize(path))
        return problems


class Sqlite(Case):
    """Makes a database of 10,000 rows, one transaction for each hundred."""

    def prepare(self, folder):
        need("sqlite3")
        lines = ["create table t(id integer primary key, word text, number real);"]
        for k in range(10_000):
            if k % 100 == 0:
                lines.append("begin;")
            lines.append("insert into t values(%d, 'word %d', %d.5);" % (k, k * 7919 % 10_007, k))
            if k % 100 == 99:
                lines.append("commit;")
        lines += ["create index i on t(word);", "pragma integrity_check;", "select count(*), sum(number) from t;"]
        write(os.path.join(folder, "script.sql"), "\n".join(lines).encode())
        return [["sqlite3", "-bail", "all.db", ".read script.sql"]]

    def check(self, folder, log):
        base = os.path.join(folder, "all.db")
        least = os.path.getsize(base)
        if log.total(base, "POSIX_BYTES_WRITTEN") < least:
            return ["all.db: fewer bytes written than it has"]
        return log.expect(base, "POSIX_MAX_BYTE_WRITTEN", least - 1, max)


class Fio(Case):
    """Writes, reads back and checks; fio counts what it does itself."""

    ignore = (r"^fio: .*pid=\d+.*",)

    def __init__(self, engine):
        self.engine = engine

    def prepare(self, folder):
        need("fio")
        return [["fio", "--name=job", "--filename=" + os.path.join(folder, "data"), "--rw=randwrite", "--bs=4k",
                 "--size=2m", "--ioengine=" + self.engine, "--iodepth=8", "--verify=crc32c", "--randseed=1",
                 "--output-format=json", "--output=fio.json"]]

    def check(self, folder, log):
        if self.engine == "mmap":  # no calls to count
            return []
        with open(os.path.join(folder, "fio.json"), encoding="utf-8") as stream:
            job = json.load(stream)["jobs"][0]
        data = os.path.join(folder, "data")
        return (log.expect(data, "POSIX_READS", job["read"]["total_ios"])
                + log.expect(data, "POSIX_WRITES", job["write"]["total_ios"])
                + log.expect(data, "POSIX_BYTES_READ", job["read"]["io_bytes"])
                + log.expect(data, "POSIX_BYTES_WRITTEN", job["write"]["io_bytes"]))


CASES = {"make": Make(), "git": Git(), "unittest": Unittest(), "shell": Shell(), "tar": Tar(), "sqlite": Sqlite()}
for name in ("sync", "psync", "pvsync2", "posixaio", "libaio", "mmap"):
    CASES["fio-" + name] = Fio(name)


# ---- what happened


class Log:
    """The POSIX records of several logs."""

    def __init__(self, iorama, paths):
        self.records, self.problems = [], []
        for path in paths:
            done = subprocess.run([iorama, "show", "--json", "-m", "POSIX", path], capture_output=True)
            if done.returncode != 0:
                self.problems.append("iorama show: exit status %d: %s" % (done.returncode, done.stderr.decode()[:300]))
                continue
            for module in json.loads(done.stdout)["logs"][0]["modules"]:
                self.records += module["records"]

    def total(self, path, counter, combine=sum):
        return combine([r["counters"][counter] for r in self.records if r["name"] == path] or [0])

    def expect(self, path, counter, value, combine=sum):
        found = self.total(path, counter, combine)
        return [] if found == value else ["%s: %s is %d, not %d" % (os.path.basename(path), counter, found, value)]


def run_all(commands, folder, before):
    """Exit status and output of each command."""
    results = []
    environment = dict(os.environ, LC_ALL="C", TZ="UTC", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
                       PYTHONDONTWRITEBYTECODE="1", IORAMA_DIR=os.path.join(os.path.dirname(folder), "segments"))
    environment.pop("MAKEFLAGS", None)
    environment.pop("MFLAGS", None)
    for k, command in enumerate(commands):
        try:
            done = subprocess.run(before(k) + command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=SECONDS)
            results.append((done.returncode, done.stdout.decode("latin1"), done.stderr.decode("latin1")))
        except subprocess.TimeoutExpired:
            results.append(("no end after %d s" % SECONDS, "", ""))
    return results


def tidy(case, text):
    for pattern in case.ignore:
        text = re.sub(pattern, "", text, flags=re.M)
    lines = text.split("\n")
    return lines if case.ordered else sorted(lines)


def first_difference(case, plain, observed, what):
    plain, observed = tidy(case, plain), tidy(case, observed)
    if plain == observed:
        return []
    extra = [line for line in observed if line not in plain] or ["(lines are missing)"]
    return ["%s differs: %s" % (what, " | ".join(extra[:3])[:400])]


def compare_output(case, commands, plain, observed):
    problems = []
    for command, a, b in zip(commands, plain, observed):
        word = " ".join(command[:2])
        if a[0] != b[0]:
            problems.append("%s: exit status %s, not %s: %s" % (word, b[0], a[0], b[2][-300:]))
        problems += first_difference(case, a[1], b[1], word + ": standard output")
        problems += first_difference(case, a[2], b[2], word + ": standard error")
    return problems


def contents(folder, pattern):
    found = {}
    for path in glob.glob(os.path.join(folder, pattern), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as stream:
                found[os.path.relpath(path, folder)] = stream.read()
    return found


def compare_files(case, plain, observed):
    if case.same is None:
        return []
    a, b = contents(plain, case.same), contents(observed, case.same)
    wrong = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
    if not a:
        return ["the bare run left no files %s" % case.same]
    return ["file differs: " + ", ".join(wrong[:5])] if wrong else []


def run_case(iorama, case, top):
    """What is wrong; raises Missing."""
    plain, observed, logs = (os.path.join(top, name) for name in ("plain", "work", "logs"))
    os.mkdir(logs)
    os.mkdir(observed)
    commands = case.prepare(observed)
    again = os.path.join(top, "again")
    shutil.copytree(observed, again, symlinks=True)
    bare = run_all(commands, observed, lambda k: [])
    os.rename(observed, plain)
    os.rename(again, observed)
    paths = [os.path.join(logs, "%d.darshan" % k) for k in range(len(commands))]
    include = ["--include", top + "/*"] * top.startswith(EXCLUDED)
    result = run_all(commands, observed, lambda k: [iorama, "run", "-q", "-o", paths[k], *include, "--"])
    problems = ["%s: exit status %s without iorama: %s" % (" ".join(c[:2]), r[0], r[2][-300:])
                for k, (c, r) in enumerate(zip(commands, bare)) if r[0] != case.status.get(k, 0)]
    problems += compare_output(case, commands, bare, result)
    problems += compare_files(case, plain, observed)
    missing = [path for path in paths if not os.path.exists(path)]
    problems += ["no log: " + os.path.basename(path) for path in missing]
    log = Log(iorama, [path for path in paths if path not in missing])
    problems += log.problems
    if not missing:
        problems += case.check(observed, log)
    segments = os.path.join(top, "segments")
    if os.path.isdir(segments) and os.listdir(segments):
        problems.append("left behind: " + ", ".join(os.listdir(segments)))
    return problems


def main(cases_of=None):
    known = cases_of or CASES

    def perform(build, name):
        top = tempfile.mkdtemp(prefix="iorama-real-")
        try:
            return run_case(cases.Built(build).iorama, known[name], top)[:10]
        finally:
            cases.remove(top)

    cases.main(known, perform)


if __name__ == "__main__":
    main()
