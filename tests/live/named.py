# SPDX-License-Identifier: BSD-3-Clause
"""Phases that programs name: in the log, whatever becomes of the program, and in reports. What is true is what the program
itself did: how often, how long by its own clock at least, and how many bytes."""
import csv
import html
import io
import json
import os
import re
import signal
import sys

import harness
from harness import ROOT, expect

HEADERS = os.path.join(ROOT, "include")
SOURCE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <iorama/phase.h>

static void put(int fd, int n)
{
	char b[1000] = { 0 };

	while (n-- > 0)
		if (write(fd, b, sizeof(b)) != sizeof(b))
			abort();
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void *both(void *fd)
{
	iorama_begin("threads");
	put(*(int *)fd, 10);
	iorama_end("threads");
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = open("data", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	pthread_t t[4];

	iorama_end("never begun");
	put(fd, 7); /* in no phase */
	iorama_begin("whole \"run\"\n");
	for (int i = 0; i < 3; i++) {
		iorama_begin("write");
		put(fd, 50), rest();
		iorama_end("write");
	}
	iorama_begin("think"), rest(), iorama_end("think");
	iorama_begin("threads");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, both, &fd);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	iorama_end("threads");
	if (argc > 1 && strcmp(argv[1], "fork") == 0 && fork() == 0) {
		iorama_begin("child"), put(fd, 3), iorama_end("child");
		_exit(0);
	}
	iorama_begin("last");
	put(fd, 5);
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGKILL);
	iorama_end("last");
	iorama_end("whole \"run\"\n");
	return 0;
}
"""


def compiled(case, *flags):
    with open(case.path("named.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    program = case.path("named" + "".join(flags).replace("-", "_"))
    case.run(os.environ.get("CC", "cc"), "-O2", "-Wall", "-Werror", *flags, "-I" + HEADERS, case.path("named.c"), "-o", program, "-pthread")
    return program


def observed(case, *command, status=0, trace=False):
    log = case.path("log%d.darshan" % len(os.listdir(case.folder)))
    case.command("run", "-q", *(["--trace"] if trace else []), "-o", log, "--", *command, status=status)
    return log


def phases(case, log):
    text = case.command("report", "-q", "--csv=named", log).stdout
    return {row["name"]: row for row in csv.DictReader(io.StringIO(text))}


def right(got, killed=False):
    expect("never begun" not in got, "an end began something: %s", got.keys())
    write, think, last, threads = got["write"], got["think"], got["last"], got["threads"]
    expect(int(write["times"]) == 3 and int(write["bytes_written"]) == 150000, "write: %s", write)
    expect(0.06 <= float(write["time"]), "write: %s", write)
    expect(float(write["end"]) <= float(think["start"]), "order: %s", got)
    expect(int(think["bytes_written"]) == 0 and float(think["time"]) >= 0.02, "think: %s", think)
    # one time, from the first that began to the last that ended
    expect(int(threads["times"]) == 1 and int(threads["bytes_written"]) == 40000, "threads: %s", threads)
    expect(int(last["open"]) == killed and int(last["times"]) == 1, "last: %s", last)
    whole = got['whole "run"\n']
    expect(int(whole["open"]) == killed and float(whole["start"]) <= float(write["start"]), "whole: %s", whole)
    if not killed:
        expect(int(whole["bytes_written"]) == 195000 and int(last["bytes_written"]) == 5000, "bytes: %s", got)
    expect(float(whole["end"]) >= float(threads["end"]), "an open phase lasts as long as its process: %s", whole)


def counts(case):
    right(phases(case, observed(case, compiled(case))))


def nopie(case):
    right(phases(case, observed(case, compiled(case, "-no-pie", "-fno-pie"))))


def unobserved(case):
    for flags in ((), ("-no-pie", "-fno-pie"), ("-static",)):
        case.run(compiled(case, *flags))


def killed(case):
    log = observed(case, compiled(case), "kill", status=128 + signal.SIGKILL)
    right(phases(case, log), killed=True)


def fork(case):
    got = phases(case, observed(case, compiled(case), "fork"))
    right(got)
    expect(int(got["child"]["bytes_written"]) == 3000 and int(got["child"]["ranks"]) == 1, "child: %s", got["child"])


def figure(case, log):
    """For papers: what is asked for and nothing else, light only; the PDF has the same words, and no damage."""
    for kind in ("svg", "pdf"):
        case.command("report", "-q", "--figure=timeline,sizes", "-o", case.path("f." + kind), log)
    picture = harness.text_of(case.path("f.svg"))
    expect("Timeline" in picture and "Request sizes" in picture and "prefers-color-scheme" not in picture, "figure: %s", picture[:300])
    expect("I/O took" not in re.sub("<title>.*</title>", "", picture), "a figure of the timeline has no verdict")
    harness.cases.need("pdftotext", "pdftoppm")
    done = case.run("pdftotext", "-layout", case.path("f.pdf"), "-")
    words = [html.unescape(w) for w in re.findall("<text[^>]*>([^<]+)</text>", picture)]
    printed = re.sub(r"\s", "", done.stdout)
    missing = [w for w in words if re.sub(r"\s", "", w.replace("\ufffd", "?")) not in printed]
    expect(len(words) > 20 and not missing and not done.stderr, "PDF lacks %s, %s", missing, done.stderr)
    case.run("pdftoppm", "-r", "120", case.path("f.pdf"), case.path("f"))
    with open(case.path("f-1.ppm"), "rb") as file:
        magic, size, _, dots = file.read().split(b"\n", 3)
    width, height = map(int, size.split())
    expect(magic == b"P6" and len(dots) == 3 * width * height, "no picture")
    colours = {bytes(dots[i : i + 3]) for i in range(0, len(dots), 3)}
    for what, rgb in (("page", "ffffff"), ("phases", "2f855a"), ("writes", "c05621")):
        near = min(sum(abs(a - b) for a, b in zip(c, bytes.fromhex(rgb))) for c in colours)
        expect(near <= 6, "no colour of %s: nearest is off by %d", what, near)
    # each rectangle is where the picture has it: a pixel of the picture is 0.6 points, a point 120/72 dots
    for rect in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" class="ir-p"/>', picture):
        x, y, w, h = map(float, rect)
        if w > 8:
            at = 3 * (int(y + h / 2) * width + int(x + w / 2))  # 0.6 * 120 / 72 is 1
            near = sum(abs(a - b) for a, b in zip(dots[at : at + 3], bytes.fromhex("2f855a")))
            expect(near <= 6, "no phase at %s: %s", rect, dots[at : at + 3])
    case.command("report", "-q", "--figure", "-o", case.path("all.pdf"), log)
    expect("·" in case.run("pdftotext", case.path("all.pdf"), "-").stdout, "Latin-1 is not in the PDF")
    for bad in (["--figure=none"], ["--figure", "-o", "f.gif"], ["--figure", "--json"]):
        said = case.command("report", *bad, log, status=2).stderr
        expect(said.startswith("iorama report: "), "said %s", said)


def forms(case):
    """The same in JSON, on the terminal, in the picture, on the page, and after convert and merge."""
    log = observed(case, compiled(case), trace=True)
    true = phases(case, log)
    report = json.loads(case.command("report", "-q", "--json", log).stdout)
    named = {p["name"]: p for p in report["timeline"]["named"]}
    expect(named.keys() == true.keys(), "JSON has %s", named.keys())
    for name, p in named.items():
        total = sum(end - start for start, end in p["spans"])
        expect(abs(total - p["time"]) < 1e-6 and p["bytes_written"] == int(true[name]["bytes_written"]), "%s: %s", name, p)
    expect(len(named["write"]["spans"]) == 3, "spans: %s", named["write"])
    text = case.command("report", "-q", log).stdout
    line = [row for row in text.splitlines() if row.startswith("  phases")]
    expect(len(line) == 1 and "write" in line[0] and "146.5 KiB" in line[0], "text: %s", line)
    picture = case.command("report", "-q", "--svg=%s" % case.path("p.svg"), log) and harness.text_of(case.path("p.svg"))
    expect(picture.count('class="ir-p"') == 7 and ">think</text>" in picture, "picture: %s", picture.count('class="ir-p"'))
    figure(case, log)
    case.command("report", "-q", "--html=%s" % case.path("p.html"), log)
    for change in (["convert"], ["merge"]):
        copy = case.path(change[0] + ".darshan")
        case.command(*change, "-q", log, "-o", copy)
        again = phases(case, copy)
        expect({n: r["spans"] if "spans" in r else r["time"] for n, r in again.items()} ==
               {n: r["time"] for n, r in true.items()}, "%s: %s", change, again)  # fmt: skip
    case.command("convert", "-q", "--anonymize", "--key=k", log, "-o", case.path("hidden.darshan"))
    shown = case.command("show", case.path("hidden.darshan")).stdout
    expect("think" not in shown, "names of phases are not hidden")


def fortran(case):
    harness.cases.need("gfortran")
    with open(case.path("main.f90"), "w", encoding="utf-8") as file:
        file.write("""program main
  use iorama
  integer :: i
  do i = 1, 2
    call iorama_begin("from fortran  ")
    open (10, file="f.txt"); write (10, *) i; close (10)
    call iorama_end("from fortran")
  end do
end program
""")
    program = case.path("fortran")
    case.run("gfortran", "-J", case.folder, os.path.join(HEADERS, "iorama", "iorama_phase.f90"), case.path("main.f90"), "-o", program)
    case.run(program)
    got = phases(case, observed(case, program))
    expect(list(got) == ["from fortran"] and got["from fortran"]["times"] == "2", "fortran: %s", got)


def many(case):
    """A million times cost no memory, and the times are right."""
    with open(case.path("many.c"), "w", encoding="utf-8") as file:
        file.write('#include <iorama/phase.h>\nint main(void)\n{\n\tfor (int i = 0; i < 100000; i++) {\n'
                   '\t\tiorama_begin("step");\n\t\tiorama_end("step");\n\t}\n\treturn 0;\n}\n')  # fmt: skip
    case.run("cc", "-O2", "-I" + HEADERS, case.path("many.c"), "-o", case.path("many"))
    log = observed(case, case.path("many"))
    got = phases(case, log)
    expect(got["step"]["times"] == "100000" and os.path.getsize(log) < 20000, "%s, %d bytes", got, os.path.getsize(log))


def ranks(case):
    harness.cases.need("mpicc.openmpi", "mpirun.openmpi")
    with open(case.path("r.c"), "w", encoding="utf-8") as file:
        file.write(r"""#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>
#include <iorama/phase.h>
int main(int argc, char **argv)
{
	int rank, fd = open("ranks", O_CREAT | O_WRONLY, 0600);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	iorama_begin("all");
	for (int i = 0; i <= rank; i++)
		if (write(fd, argv, 8) != 8)
			return 1;
	iorama_end("all");
	for (int i = 0; i < 3; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		iorama_begin("together");
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(50000);
		MPI_Barrier(MPI_COMM_WORLD);
		iorama_end("together");
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 1) {
		iorama_begin("one");
		iorama_end("one");
	}
	MPI_Finalize();
	return 0;
}
""")
    case.run("mpicc.openmpi", "-I" + HEADERS, case.path("r.c"), "-o", case.path("r"))
    log = case.path("ranks.darshan")
    case.command("run", "-q", "-o", log, "mpirun.openmpi", "-n", "3", case.path("r"))
    bare = case.path("bare.darshan")
    case.run("mpirun.openmpi", "-n", "3", "-x", "LD_PRELOAD=" + case.library, "-x", "IORAMA_LOG=" + bare, case.path("r"))
    for path in (log, bare):
        got = phases(case, path)
        expect(got["all"]["ranks"] == "3" and got["all"]["bytes_written"] == "48" and got["one"]["ranks"] == "1", "%s: %s", path, got)
        # all ranks are in it at one moment, and none between two times: three times of the job
        report = json.loads(case.command("report", "-q", "--json", path).stdout)
        spans = [p["spans"] for p in report["timeline"]["named"] if p["name"] == "together"][0]
        expect(len(spans) == 3 and got["together"]["times"] == "9" and all(b - a >= 0.05 for a, b in spans), "%s: %s", path, spans)


CASES = {f.__name__: f for f in (counts, nopie, unobserved, killed, fork, forms, fortran, many, ranks)}

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main({k.replace("_", "-"): v for k, v in CASES.items()})
