#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""commands.py BUILD [CASE…]: every command that a page or --help shows is run, as it stands, where pages.py does not type the page.

A case is a page of docs/, or the examples of one command (help-run, …). Its commands are done one after the other in a folder in
which the files that they name are, and by a user whose store, jobs and processes are those that they speak of (Stage): `4711` is a
process that runs, /logs a folder with logs, postgresql://… a store, nats://… a server that is started here. Those that
go on until they are ended must still be there after a moment, without having complained. What cannot be done here is done by the test
that ELSEWHERE names. Of all of them, and of those in the midst of a text, command and options have to be known: case `known`."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import cases  # noqa: E402
import pages  # noqa: E402
import servers  # noqa: E402
from cases import ROOT, expect, text_of, wait  # noqa: E402

TYPED = {pages.path_of(page) for page in pages.PAGES}  # their blocks of sh are run by pages.py
SECONDS = 120
MOMENT = 1.5  # so long those are watched that go on
ON = re.compile(r"^(?:iorama (?:agent(?! --status)|serve|watch(?! --once)|index --watch|collect (?!.*(?:json|csv)))|mpirun .* serve|curl -N)")
# status 4 of agent and doctor is an answer, 3 of an agent that has ended, as is 1 of --fail-on; a question about nothing has none
ANSWERS = {"iorama agent --status": {0, 3, 4}, "iorama doctor": {0, 4}, "iorama doctor path": {0, 4}, "--fail-on": {0, 1}}

# commands that need what is not here: the test that does it, as FILE: WORD
ELSEWHERE = (
    (r"iorama attach --(job|mount|servers)", "attach/attach.py", "--servers"),
    (r"--probe", "attach/probe.py", "--probe"),
    (r"^srun |srun \./solver", "slurm/slurm.py", "srun"),
    (r"clickhouse://", "live/clickhouse.py", "clickhouse"),
    (r"tls://hub", "live/nats.py", "--ca"),
    (r"ldms:", "live/ldms.py", "ldms:"),
    (r"iorama run --path", "path/join.py", "--path"),
    (r"--trust-header", "serve/proxy.py", "--trust-header"),
    (r"^ssh ", "serve/begin.py", "--token"),
    (r"iorama modules", "howto/follow.py", "howto"),  # which a reader of the page makes
)

FENCE = re.compile(r"^\s*```(\w*)")
SHOWN = re.compile(r"^(?:\$ )?((?:[A-Z_]+=\S+ )*(?:(?:mpirun|ssh|sudo|srun|launcher|xz|cc)\b.*)?\biorama [a-z][a-z-]*(?![a-z:])(?: .*)?|curl .*)$")
SPAN = re.compile(r"`(iorama [a-z][^`]*)`")


def shown(name):
    """(line, command) of what a page shows on lines of its own."""
    lines, kind, at = text_of(os.path.join(ROOT, name)).split("\n"), None, 0
    while at < len(lines):
        line, at = lines[at], at + 1
        fence = FENCE.match(line)
        if fence:
            kind = fence[1] or "text" if kind is None else None
            continue
        if kind is None and not line.startswith("    ") or kind == "sh" and (name in TYPED or "howto-add" in name) or "›" in line:
            continue
        found = SHOWN.match(line.strip())
        if not found:
            continue
        number, words = at, found[1]
        while words.endswith(("\\", "|")):
            words, at = words.rstrip("\\").rstrip() + " " + lines[at].strip(), at + 1
        yield number, re.sub(r"\s+# .*$", "", words)


def examples():
    """{command: [example, …]} of table/commands.def."""
    found = {}
    for command, words in re.findall(r'^EXAMPLE\((\w+), "((?:[^"\\]|\\.)*)"', text_of(os.path.join(ROOT, "src/table/commands.def")), re.M):
        found.setdefault(command, []).append(words.replace('\\"', '"'))
    return found


def all_pages():
    names = [os.path.relpath(p, ROOT) for p in sorted(glob.glob(ROOT + "/docs/**/*.md", recursive=True))]
    return names + ["README.md", "python/README.md", "packaging/slurm/README.md"]


# the commands whose examples are one case
HELP = {"observe": "run exec attach detach recover doctor config", "learn": "report diff path explain show convert export merge",
        "many": "index jobs store query agent collect serve alert watch live help", "try": "emulate"}


def here(rows):
    """Those that can be done here."""
    return [words for words in rows if not any(re.search(pattern, words) for pattern, _, _ in ELSEWHERE)]


PAGES = {re.sub(r"^docs/|\.md$", "", name).replace("/", "-").lower(): name for name in all_pages() if here(w for _, w in shown(name))}


# ---- known: what is shown anywhere names commands and options that there are


def options_of(iorama):
    found = {}
    for name in re.findall(r"^CMD\((\w+)", text_of(os.path.join(ROOT, "src/table/commands.def")), re.M):
        done = subprocess.run([iorama, name, "--help"], capture_output=True, text=True, check=False)
        found[name] = set(re.findall(r"--([a-z][\w-]*)", done.stdout))
    return found


def wrong_words(command, known):
    """What a command line says that there is not."""
    problems = []
    for part in re.split(r"[|;&]+ ", command):
        found = re.search(r"\biorama ([a-z][a-z-]*)(.*)", part)
        if not found or any(re.search(pattern, part) for pattern, _, _ in ELSEWHERE[-1:]):
            continue
        if found[1] not in known:
            problems.append("no command %s" % found[1])
            continue
        words = found[2]
        if found[1] in ("run", "exec"):  # what follows is another program
            words = re.split(r" -- | (?=\./|mpirun|srun|COMMAND)", words)[0]
        for option in re.findall(r"(?<![\w-])--([a-z][\w-]*)", words):
            if option.replace("-", "_") not in {o.replace("-", "_") for o in known[found[1]]}:
                problems.append("iorama %s has no --%s" % (found[1], option))
    return problems


def test_known(build):
    known = options_of(cases.Built(build).iorama)
    problems, count = [], 0
    for name in all_pages():
        text = text_of(os.path.join(ROOT, name))
        spans = [(text.count("\n", 0, m.start()) + 1, m[1].replace("\n", " ")) for m in SPAN.finditer(text)]
        for line, words in [*shown(name), *spans]:
            count += 1
            problems += ["%s:%d: %s: %s" % (name, line, problem, words) for problem in wrong_words(words, known)]
    for command, rows in examples().items():
        problems += ["help of %s: %s: %s" % (command, problem, words) for words in rows for problem in wrong_words(words, known)]
    expect(set(examples()) == set(" ".join(HELP.values()).split()), "commands with examples that are in no case")
    expect(count > 300, "%d commands were found, that is too few", count)
    for _, path, word in ELSEWHERE:
        expect(not path or word in text_of(os.path.join(ROOT, "tests", path)), "tests/%s does not do %s", path, word)
    return problems


# ---- the stage

APP = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
int main(int argc, char **argv)
{
	static char block[65536];
	char name[64];
	int rank = 0, fd;
#ifdef WITH_MPI
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, "shared.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, (MPI_Offset)rank * 65536, block, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
#endif
	snprintf(name, sizeof(name), "own.%d.h5", rank);
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	for (int i = 0; i < 100; i++)
		if (write(fd, block, 512) != 512)
			abort();
	close(fd);
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return argc == 0 && argv == NULL;
}
"""
# waits in a way in which it can be attached to, and writes
SOLVER = """
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
int main(void)
{
	int fd = open("solver.out", O_CREAT | O_WRONLY | O_APPEND, 0644);
	while (write(fd, "x", 1) == 1)
		poll(NULL, 0, 20);
	return 1;
}
"""
FLOW = """[workflow]
name = small
[task T1]
ranks = 1
compute = 0.01 s
reads = given
writes = made
[task T2]
reads = made
writes = end
[data given]
size = 64 KiB
[data made]
size = 64 KiB
[data end]
size = 16 KiB
"""
MONTAGE = """{"name": "m", "schemaVersion": "1.5", "workflow": {"specification": {
"tasks": [{"name": "a", "id": "a", "parents": [], "children": ["b"], "inputFiles": [], "outputFiles": ["x"]},
          {"name": "b", "id": "b", "parents": ["a"], "children": [], "inputFiles": ["x"], "outputFiles": ["y"]}],
"files": [{"id": "x", "sizeInBytes": 100000}, {"id": "y", "sizeInBytes": 1000}]},
"execution": {"makespanInSeconds": 2, "executedAt": "2026-01-01T00:00:00Z",
"tasks": [{"id": "a", "runtimeInSeconds": 1}, {"id": "b", "runtimeInSeconds": 1}]}}}
"""
ALERTS = """[mail]
from = iorama@example.org
staff = staff@example.org
sendmail = /bin/true
"""
EVENT = """#uid,exe,job_id,rank,ProducerName,file,record_id,module,op,seg:off,seg:len,seg:dur,seg:timestamp
1000,/bin/app,77,0,node1,/scratch/a,5,POSIX,write,0,512,0.001,1700000000.5
"""


class Stage:
    """The files, processes, stores and servers that commands speak of."""

    def __init__(self, build, folder, wanted):
        self.built, self.folder, self.wanted = cases.Built(build), folder, "\n".join(wanted)
        self.started, self.nats, self.url, self.run_job, self.observed = [], None, "", "", ""
        self.env = pages.surroundings(build, folder)
        self.env.update(USER="root", PATH=os.path.join(folder, "bin") + os.pathsep + self.env["PATH"], BROWSER="true",
                        EDITOR="true", TERM="xterm", IORAMA_LOG_DIR=None)  # fmt: skip
        self.env = {k: v for k, v in self.env.items() if v is not None}

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def do(self, *words, status=(0,)):
        done = subprocess.run(words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)  # fmt: skip
        expect(done.returncode in status, "%s: status %d: %s", " ".join(words), done.returncode, done.stdout[-1500:])
        return done.stdout

    def program(self, name, source, command, flags=()):
        path = self.write(name + ".c", source)
        self.do(command, "-O1", "-o", name, path, *flags)

    def asks(self, pattern):
        return re.search(pattern, self.wanted) is not None

    # what is made, by what asks for it

    def prepare(self):
        for name in ("examples", "logs", "cmp2", "scratch"):
            os.mkdir(os.path.join(self.folder, name))
        smaller = (r"\bMiB", "KiB"), (r"compute = [\d.]+ s", "compute = 0.01 s"), (r"(?m)^(TASK .*) [\d.]+$", r"\1 0.01"), \
            (r"(?m)^(DATA \S+ \S+) \d+", r"\1 65536")  # fmt: skip
        for name in ("cmp2.wf", "cmp2.paper"):
            text = text_of(os.path.join(ROOT, "examples", name))
            for old, new in smaller:
                text = re.sub(old, new, text)
            self.write("examples/" + name, text)
        self.write("input.nml", "&run /\n"), self.write("flow.wf", FLOW), self.write("montage.json", MONTAGE)
        self.write("alerts.ini", ALERTS), self.write("site.key", "a word\n"), self.write("table.txt", "3\n1\n2\n" * 500)
        self.write("train.py", "print(len(open('table.txt').read()))\n"), self.write("filter.py", "import sys\nprint(sys.stdin.read())\n")
        self.write("main.c", "int main(void) { return 0; }\n"), self.write("events.csv", EVENT), self.write("connector.csv", EVENT)
        for name, words in (("mail", "cat > mail.sent"), ("systemctl", "exit 0"), ("pgrep", "echo $SOLVER"), ("dot", "cat")):
            self.write("bin/" + name, "#!/bin/sh\n%s\n" % words, 0o755)
        for name in ("static-tool", "go-program"):
            self.program(name, APP, "cc", ["-static"])
        mpi = shutil.which("mpicc") and shutil.which("mpirun")
        self.program("app", APP, "mpicc" if mpi else "cc", ["-DWITH_MPI"] if mpi else [])
        if self.asks("read_filenames in"):
            self.do("iorama", "emulate", "app", "--ranks", "2", "--file_per_process_write", "--write_filenames", "in")
        self.do("cc", "-c", "main.c")
        self.logs()
        self.processes()
        if self.asks("^curl|\ncurl"):
            self.serve()
        if self.asks("nats://"):
            self.nats = servers.Nats()
            self.nats.start()

    def logs(self):
        mpi = ["mpirun", "-n", "2"] if shutil.which("mpirun") and shutil.which("mpicc") else []
        self.do("iorama", "run", "-q", "--trace", "-o", "job.darshan", *mpi, "./app")
        for name in ("app", "s3d", "brick1", "brick2", "old", "big", "after", "before", "base", "new"):
            shutil.copy(os.path.join(self.folder, "job.darshan"), os.path.join(self.folder, name + ".darshan"))
        self.do("iorama", "run", "-q", "--job-id=77", "-o", "run1.darshan", "sort", "-o", "sorted.txt", "table.txt")
        self.do("iorama", "run", "-q", "--job-id=77", "-o", "run2.darshan", "cp", "sorted.txt", "copy.txt")
        for a, b in (("sim", "run1"), ("ana", "run2"), ("step1", "run1"), ("step2", "run2"), ("logs/1", "run1"), ("logs/2", "run2"), ("logs/3", "job")):
            shutil.copy(os.path.join(self.folder, b + ".darshan"), os.path.join(self.folder, a + ".darshan"))
        self.do("xz", "-k", "job.darshan")
        if self.asks(r"diff before after"):
            for name in ("before", "after"):
                self.do("iorama", "run", "-q", "--repeat", "3", "-o", name, "cp", "table.txt", "copy.txt")
        if self.asks(r"mmap-log"):
            self.do("iorama", "run", "-q", "-o", "a_mmap-log-1.darshan", "cat", "table.txt")
        if self.asks(r"iorama (jobs|query|store|serve|alert|watch --store|path --store|diff --store|report .*--store|collect)|curl"):
            self.do("iorama", "index", "-q", "logs")
            self.do("iorama", "run", "-q", "--live", "--trace", "-o", "live.darshan", "./app")
            store = os.path.join(self.folder, ".local/share/iorama/store.db")
            self.do("sqlite3", store, ".backup site.db")

    def processes(self):
        if not self.asks(r"4711|solver|run-4711"):
            return
        self.program("solver", SOLVER, "cc")
        for _ in range(2):
            self.start("./solver")
        self.start("iorama", "run", "-q", "-o", "observed.darshan", "./solver")
        self.env["SOLVER"] = str(self.started[0].pid)
        directory = wait(lambda: glob.glob(self.folder + "/.segments/*/*.seg"), "a segment")[0]
        self.run_job = os.path.dirname(directory)
        self.observed = re.search(r"(\d+)", os.path.basename(directory))[1]

    def serve(self):
        with open(os.path.join(self.folder, "address"), "w", encoding="utf-8") as file:
            self.start("iorama", "serve", "--listen", "127.0.0.1:0", "--no-browser", stdout=file)
        self.url = wait(lambda: re.search(r"http://[^/\s]+", text_of(os.path.join(self.folder, "address"))), "an address")[0]
        token = os.path.join(self.folder, ".local/state/iorama/serve.token")
        self.env.update(TOKEN=text_of(token).strip(), FILE=token, U=self.url, H="Authorization: Bearer " + text_of(token).strip())

    def start(self, *words, stdout=subprocess.DEVNULL):
        self.started.append(subprocess.Popen(words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=stdout,
                                             stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=cases.die_with_parent))  # fmt: skip

    def close(self):
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self.nats:
            self.nats.stop()

    # ---- a command

    def adapted(self, words):
        """The same command for what is on the stage."""
        pairs = [(r"postgresql://\S+?/iorama", "site.db"), (r"/logs(/2026)?(/3)?(?=\s|$)", "logs"), (r"/archive/\S+", "archive.db"),
                 (r"/tmp/cmp2", "cmp2"), (r"/etc/iorama/alerts.ini", "alerts.ini"), (r"--for 60s", "--for 1s"), (r"\b17\b", "4"),
                 (r"\b18\b", "2"), (r"/tmp/\*_mmap", "*_mmap"), (r"--user anna", "--user root"), (r" JOB$", " last"), (r" &$", ""),
                 (r"/dev/shm/ckpt", "scratch"), (r"127.0.0.1:9418", "127.0.0.1:0"), (r"/etc/iorama.conf", ROOT + "/packaging/iorama.conf"),
                 (r"libiorama\.so", self.built.library), (r"num_files 5000", "num_files 50"), (r"make_files 1000", "make_files 20"), (r"checkpoints 20", "checkpoints 4"),
                 (r"num_epochs 3", "num_epochs 1")]  # fmt: skip
        for old, new in pairs:
            words = re.sub(old, new, words)
        words = re.sub(r"^curl ", "curl -fsS ", words.replace("http://127.0.0.1:8417", self.url).replace("$(cat FILE)", "$TOKEN"))
        if self.nats:
            words = re.sub(r"nats://\S+", self.nats.url, words)
        if self.run_job:
            words = re.sub(r"/\S*run-4711-65f0c1aa", self.run_job, words)
            words = words.replace("run-4711-65f0c1aa", os.path.basename(self.run_job))
            words = words.replace("4711 4712", "%d %d" % (self.started[0].pid, self.started[1].pid))
            mine = self.observed if re.search(r"iorama (watch|live)", words) else str(self.started[0].pid)
            words = re.sub(r"\b4711\b", mine, words)
        if "r3ff8" in words:
            told = self.do("iorama", "jobs", "--sort", "cost", "--limit", "1", "--after", "first", "--json")
            words = re.sub(r"r3ff8\S+", re.search(r'"next": *"([^"]+)"', told)[1], words)
        return words

    def perform(self, words):
        command = self.adapted(words)
        if re.match("iorama watch", command) and ON.match(words):  # wants a terminal
            command = "script -qec %s /dev/null" % re.sub(r"(.*)", r"'\1'", command, count=1)
        if ON.match(words):
            return self.go_on(words, command)
        new = re.search(r"iorama (?:run|exec|recover|convert|merge) .*-o (\S+)", words)
        if new:  # it replaces nothing, and what comes before on the stage has that name
            subprocess.run(["rm", "-rf", os.path.join(self.folder, new[1])], check=True)
        done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)  # fmt: skip
        allowed = next((status for key, status in ANSWERS.items() if words == key or key.startswith("--") and key in words), {0})
        return [] if done.returncode in allowed else ["%s: status %d: %s" % (words, done.returncode, done.stdout[-800:])]

    def go_on(self, words, command):
        """It is still there after a moment, and ends when it is told to."""
        with open(os.path.join(self.folder, "said"), "w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=said,
                                       stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=cases.die_with_parent)  # fmt: skip
            try:
                process.wait(MOMENT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(SECONDS)
                return []
            said.seek(0)
            return ["%s: ended by itself, status %d: %s" % (words, process.returncode, said.read()[-800:])]


def perform(build, name):
    if name == "known":
        return test_known(build)
    of_help = examples()
    words = [w for _, w in shown(PAGES[name])] if name in PAGES else [w for c in HELP[name[5:]].split() for w in of_help[c]]
    words = here(words)
    problems = []
    with cases.folders(build, "commands-") as (folder, _):
        stage = Stage(os.path.abspath(build), folder, words)
        try:
            stage.prepare()
            for command in words:
                if command.startswith("mpirun") and not shutil.which("mpirun") or "nats://" in command and not stage.nats:
                    continue
                began = time.monotonic()
                problems += stage.perform(command)
                print("%5.1f s  %s" % (time.monotonic() - began, command), flush=True)
        finally:
            stage.close()
    return problems


if __name__ == "__main__":
    cases.main(["known", *PAGES, *("help-" + name for name in HELP)], perform)
