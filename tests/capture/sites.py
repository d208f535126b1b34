#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sites.py BUILD [CASE...]: which place in a program moved its bytes. Programs say so themselves, by marks at the ends of
lines: what a line moves is known to the byte, however it does it and however it was compiled."""
import csv
import glob
import io
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, Skip, main, must  # noqa: E402

UNKNOWN = "(not known)"
MARK = re.compile(r"(?:/\*|!|//|#)@ (\w+) (\d+)")


def truth(source):
    """(line, bytes) of each marked line; those of a mark are the sum of all that it does in a run"""
    return {number: int(found[2]) for number, line in enumerate(source.splitlines(), 1) for found in [MARK.search(line)] if found}


def build(h, name, source, command, suffix=".c", newer=(), made=""):
    """The program of a source text."""
    path = os.path.join(h.bin, name + suffix)
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != source:
        partial = "%s.%d" % (path, os.getpid())
        with open(partial, "w", encoding="utf-8") as file:
            file.write(source)
        os.rename(partial, path)
    return h.compile_once(name + made, [path], [*command, path, "-o", None], [__file__, *newer])


def c(h, name, source, *flags, made=""):
    return build(h, name, source, [h.cc, "-D_GNU_SOURCE", "-g", "-O2", "-pthread", *flags], made=made)


def places(h, log, *options):
    """The table of places of a log."""
    done = subprocess.run([h.iorama, "report", "--csv=where", *options, log], capture_output=True, text=True, timeout=TIMEOUT)
    must(done.returncode == 0, "report: status %d: %s", done.returncode, done.stderr)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def moved(row):
    return int(row["bytes_read"] or 0) + int(row["bytes_written"] or 0)


def sums(run):
    """What the records of files say, and what the places do."""
    files = sites = 0
    for log in run.logs:
        for module in ("POSIX", "STDIO"):
            for record in log.records(module):
                files += sum(max(0, record["counters"]["%s_BYTES_%s" % (module, way)]) for way in ("READ", "WRITTEN"))
        for record in log.records("SITES"):
            sites += record["counters"]["SITES_BYTES_READ"] + record["counters"]["SITES_BYTES_WRITTEN"]
    return files, sites


def start(h, command, mode="run", env=None, status=0):
    run = h.start(command, mode, env={"IORAMA_SITES": "1", **(env or {})})
    must(run.status == status, "%s: status %s: %r", mode, run.status, run.err[-500:])
    files, sites = sums(run)
    must(files == sites, "files moved %d bytes, places %d", files, sites)
    return run


def check(h, run, source, name, lines=True, options=()):
    """Every marked line moved what its mark says, and no other line of the source anything."""
    wanted, found = truth(source), {}
    for log in run.logs:
        for row in places(h, log.path, *options):
            if row["source"] and os.path.basename(row["source"]) == name:
                found[int(row["line"])] = found.get(int(row["line"]), 0) + moved(row)
    if lines:
        must(found == wanted, "lines moved %s, not %s", found, wanted)
    return found


# ---- C, by all ways that bytes are moved

C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static char buf[100000];
static volatile int more = 1;
static __attribute__((noinline)) int particles(int fd)
{
	int sum = 0;
	for (int i = 0; i < 10; i++)
		sum += (int)write(fd, buf, 1000); /*@ write 20000 */
	sum += (int)write(fd, buf, 77); /*@ write 154 */
	return sum + more;
}
static __attribute__((noinline)) int fields(int fd)
{
	struct iovec v[2] = { { buf, 10 }, { buf, 90 } };
	int sum = 0;
	for (int i = 0; i < 5; i++)
		sum += (int)pwrite(fd, buf, 3000, 100000 + i * 3000); /*@ pwrite 15000 */
	sum += (int)writev(fd, v, 2); /*@ writev 100 */
	return sum + more;
}
static __attribute__((noinline)) int turns(int fd, int depth)
{
	int sum = 0;
	for (int i = 0; i < 200; i++) {
		sum += (int)pread(fd, buf, 16, i); /*@ pread 19200 */
		sum += (int)pread(fd, buf, 512, 1000 + i); /*@ pread 614400 */
	}
	return depth > 0 ? turns(fd, depth - 1) + sum : sum + more;
}
int main(void)
{
	int fd = open("raw", O_RDWR | O_CREAT | O_TRUNC, 0644), sum = 0;
	char line[64];
	sum += particles(fd);
	sum += fields(fd);
	sum += particles(fd);
	sum += turns(fd, 5);
	FILE *f = fopen("text", "w+");
	for (int i = 0; i < 100; i++)
		sum += fprintf(f, "%05d\n", i); /*@ fprintf 600 */
	for (int i = 0; i < 100; i++)
		sum += (int)fwrite(buf, 1, 10, f); /*@ fwrite 1000 */
	sum += fputs("hello\n", f); /*@ fputs 6 */
	for (int i = 0; i < 30; i++)
		sum += fputc('x', f); /*@ fputc 30 */
	rewind(f);
	sum += fgets(line, 7, f) != NULL; /*@ fgets 6 */
	sum += fscanf(f, "%5s", line); /*@ fscanf 5 */
	sum += fclose(f);
	return sum + more == 0;
}
"""


def plain(h):
    check(h, start(h, [c(h, "sites-plain", C)]), C, "sites-plain.c")


def no_pie(h):
    check(h, start(h, [c(h, "sites-plain", C, "-no-pie", "-fno-pie", made="-nopie")]), C, "sites-plain.c")


def frames(h):
    check(h, start(h, [c(h, "sites-plain", C, "-O0", "-fno-omit-frame-pointer", made="-frames")]), C, "sites-plain.c")


def bare(h):
    """Without iorama run it is asked for; if not, nothing is noted."""
    program = c(h, "sites-plain", C)
    check(h, start(h, [program], "bare"), C, "sites-plain.c")
    run = h.start([program], "bare")
    must(run.status == 0 and not run.logs[0].records("SITES"), "noted without being asked")
    run = h.start([program], "run", env={"IORAMA_SITES": "0"})
    must(run.status == 0 and not run.logs[0].records("SITES"), "noted against the user's will")


def killed(h):
    """What was done before is there."""
    source = C.replace("	return sum + more == 0;", "	raise(SIGKILL);\n	return sum;").replace("<stdlib.h>", "<signal.h>")
    run = h.start([c(h, "sites-killed", source)], "bare", env={"IORAMA_SITES": "1"})
    must(run.status == -signal.SIGKILL and run.left, "status %s, left %s", run.status, run.left)
    h.recover(run)
    files, sites = sums(run)
    must(files == sites, "files moved %d bytes, places %d", files, sites)
    check(h, run, source, "sites-killed.c")


# ---- programs that say little of themselves


def stripped(h):
    """Without debugging information: the program and addresses in it. What belongs to it gives the lines back."""
    program = c(h, "sites-plain", C)
    folder = os.path.join(h.quiet, "stripped")
    os.makedirs(folder, exist_ok=True)
    bald = os.path.join(folder, "bald")
    for words in (["--only-keep-debug", program, os.path.join(folder, "kept")], ["--strip-all", program, bald]):
        if subprocess.run(["objcopy", *words], capture_output=True).returncode != 0:
            raise Skip("no objcopy")
    run = start(h, [bald])
    rows = [row for row in places(h, run.logs[0].path) if row["program"] == bald]
    must(rows and not any(row["source"] for row in rows), "lines of a program that has none: %s", rows)
    must(all(re.fullmatch(r"bald\+0x[0-9a-f]+.*", row["place"]) for row in rows), "places: %s", rows)
    must(sum(map(moved, rows)) == sum(truth(C).values()), "places moved %d", sum(map(moved, rows)))
    kept_elsewhere(h, run, folder, bald)
    shutil.copy2(os.path.join(folder, "gone"), bald)
    subprocess.run(["objcopy", "--add-gnu-debuglink=kept", bald], check=True, cwd=folder)
    run = start(h, [bald])
    check(h, run, C, "sites-plain.c")


def kept_elsewhere(h, run, folder, bald):
    """Debugging information in a folder that is named: by build id, or by the name of the program, which may be gone."""
    kept = os.path.join(folder, "kept")
    notes = subprocess.run(["readelf", "-n", kept], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    for number, name in enumerate((".build-id/%s/%s.debug" % (build_id[:2], build_id[2:]), "bald.debug", "bald")):
        there = os.path.join(h.quiet, "there%d" % number)
        os.makedirs(os.path.dirname(os.path.join(there, name)))
        shutil.copy2(kept, os.path.join(there, name))
        check(h, run, C, "sites-plain.c", options=["--debuginfo", there])
        shutil.move(bald, os.path.join(folder, "gone"))
        check(h, run, C, "sites-plain.c", options=["--debuginfo", os.path.relpath(there)])
        shutil.copy2(os.path.join(folder, "gone"), bald)
    shutil.copy2(c(h, "sites-plain", "\n\n" + C, made="-anew"), os.path.join(h.quiet, "there2", "bald"))
    rows = [row for row in places(h, run.logs[0].path, "--debuginfo", os.path.join(h.quiet, "there2")) if row["program"] == bald]
    must(rows and not any(row["source"] for row in rows), "lines of another program: %s", rows)


def rebuilt(h):
    """A program that was built anew since is not the one that ran."""
    folder = os.path.join(h.quiet, "rebuilt")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "program")
    shutil.copy2(c(h, "sites-plain", C), program)
    run = start(h, [program])
    check(h, run, C, "sites-plain.c")
    shutil.copy2(c(h, "sites-plain", "\n\n" + C, made="-anew"), program)
    rows = [row for row in places(h, run.logs[0].path) if row["program"] == program]
    must(rows and not any(row["source"] or row["function"] for row in rows), "lines of another program: %s", rows)
    shutil.copy2(c(h, "sites-plain", C, "-Wl,--build-id=none", made="-noid"), program)
    run = start(h, [program])
    rows = [row for row in places(h, run.logs[0].path) if row["program"] == program]
    must(rows and not any(row["source"] for row in rows), "nobody can say that it is the same: %s", rows)


# ---- through libraries

CXX = r"""
#include <fstream>
#include <vector>
static std::vector<char> b(100000, 'x');
static volatile int more = 1;
__attribute__((noinline)) int one(std::ofstream &o)
{
	for (int i = 0; i < 7; i++)
		o.write(b.data(), 20000); //@ write 280000
	return more;
}
__attribute__((noinline)) int two(std::ofstream &o)
{
	for (int i = 0; i < 3; i++)
		o.write(b.data(), 50000); //@ write 150000
	o.write(b.data(), 60000); //@ write 60000
	return more;
}
int main()
{
	std::ofstream o("out", std::ios::binary);
	return one(o) + two(o) + one(o) == 0;
}
"""

FORTRAN = """
program fo
  implicit none
  real(8) :: a(10000)
  integer :: i
  a = 1.0d0
  open(10, file='out', form='unformatted', access='stream', status='replace')
  do i = 1, 3
    call dump(i)
  end do
  close(10)
contains
  subroutine dump(n)
    integer, intent(in) :: n
    integer :: k
    do k = 1, 5
      write(10) a      !@ write 1200000
    end do
    do k = 1, 4
      write(10) a(1:9000 + n * 0)   !@ write 864000
    end do
  end subroutine
end program
"""


def cxx(h):
    if not shutil.which("g++"):
        raise Skip("g++ is not installed")
    program = build(h, "sites-cxx", CXX, ["g++", "-g", "-O2"], ".cc")
    check(h, start(h, [program]), CXX, "sites-cxx.cc")


def fortran(h):
    if not shutil.which("gfortran"):
        raise Skip("gfortran is not installed")
    program = build(h, "sites-fortran", FORTRAN, ["gfortran", "-g", "-O2"], ".f90")
    check(h, start(h, [program]), FORTRAN, "sites-fortran.f90")


# ---- threads, handlers, children

THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static char buf[1000];
static int fd;
static volatile long sum;
static void *even(void *x)
{
	for (int i = 0; i < 500; i++)
		sum += pwrite(fd, buf, 100, i * 100); /*@ pwrite 200000 */
	return x;
}
static void *odd(void *x)
{
	for (int i = 0; i < 500; i++)
		sum += pwrite(fd, buf, 7, i * 100); /*@ pwrite 14000 */
	return x;
}
int main(void)
{
	pthread_t t[8];
	fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], 0, i % 2 ? odd : even, 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	return sum == 0;
}
"""

HANDLER = r"""
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static char buf[1000], stack[65536];
static int fd, log_fd;
static volatile long sum, times;
static void handler(int number)
{
	(void)number;
	if (times++ < 50)
		sum += write(log_fd, buf, 11); /*@ write 550 */
}
int main(void)
{
	stack_t s = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	int pipes[2];
	fd = open("main", O_RDWR | O_CREAT | O_TRUNC, 0644);
	log_fd = open("handled", O_RDWR | O_CREAT | O_TRUNC, 0644);
	sigaltstack(&s, 0);
	sigaction(SIGALRM, &a, 0);
	setitimer(ITIMER_REAL, &often, 0);
	for (int i = 0; i < 2000 || times < 50; i++)
		sum += pwrite(fd, buf, i < 2000 ? 100 : 0, i); /*@ pwrite 200000 */
	setitimer(ITIMER_REAL, &never, 0);
	(void)!pipe(pipes);
	if (fork() == 0) {
		sum += write(fd, buf, 50); /*@ child 50 */
		_exit(0);
	}
	wait(0);
	sum += write(fd, buf, 60); /*@ parent 60 */
	return sum == 0;
}
"""


def threads(h):
    check(h, start(h, [c(h, "sites-threads", THREADS)]), THREADS, "sites-threads.c")


def handler(h):
    """A handler that interrupts a call, or us, and has a stack of its own; and a forked child. What it did while we were at
    work may be told of no line, but is never another line's."""
    run = start(h, [c(h, "sites-handler", HANDLER)])
    found, wanted = check(h, run, HANDLER, "sites-handler.c", lines=False), truth(HANDLER)
    for line, size in wanted.items():
        handled = size == 550
        must(found.get(line, 0) == size or (handled and found.get(line, 0) <= size and found.get(line, 0) % 11 == 0),
             "line %d moved %s, not %d", line, found.get(line), size)  # fmt: skip
    must(set(found) <= set(wanted), "lines: %s", found)


# ---- code that comes and goes

PLUGIN = r"""
#include <unistd.h>
static volatile int more = 1;
int save(int fd, const void *data)
{
	int sum = 0;
	for (int i = 0; i < 10; i++)
		sum += (int)write(fd, data, %d); /*@ write %d */
	return sum + more;
}
"""
HOST = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char buf[1000];
static volatile int more = 1;
int main(int n, char **v)
{
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0644), sum = 0;
	for (int i = 1; i < n; i++) {
		void *lib = dlopen(v[i], RTLD_NOW);
		int (*save)(int, const void *);
		if (!lib)
			return 2;
		memcpy(&save, (void *[]){ dlsym(lib, "save") }, sizeof(save));
		sum += save(fd, buf);
		dlclose(lib);
	}
	/* call *%rax, as code that was made a moment ago does it */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 };
	void *made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*run)(int, const void *, size_t, ssize_t (*)(int, const void *, size_t));
	memcpy(made, code, sizeof(code));
	mprotect(made, 4096, PROT_READ | PROT_EXEC);
	memcpy(&run, &made, sizeof(run));
	for (int i = 0; i < 3; i++)
		sum += (int)run(fd, buf, 500, write);
	munmap(made, 4096);
	sum += (int)write(fd, buf, 5); /*@ write 5 */
	return sum + more == 0;
}
"""


def come_and_go(h):
    """Libraries one after the other at the same address are told apart, and code without a file is of no place."""
    sources = {name: PLUGIN % (size, 10 * size) for name, size in (("first", 100), ("other", 300))}
    libs = [build(h, "sites-" + name, text, [h.cc, "-g", "-O2", "-shared", "-fPIC"], made=".so") for name, text in sources.items()]
    run = start(h, [c(h, "sites-host", HOST), libs[0], libs[1], libs[0]])
    rows = places(h, run.logs[0].path)
    check(h, run, HOST, "sites-host.c")
    for name, size in (("first", 2000), ("other", 3000)):
        got = sum(moved(row) for row in rows if row["source"] and row["source"].endswith("sites-%s.c" % name))
        must(got == size, "%s moved %d, not %d: %s", name, got, size, rows)
    unknown = sum(moved(row) for row in rows if row["place"] == UNKNOWN)
    must(unknown == 1500, "%d bytes of no place, not 1500", unknown)


# ---- many files, in turns

MANY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static char buf[5000];
static volatile long sum;
int main(void)
{
	char name[32];
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
		for (int k = 0; k < 3; k++) {
			sum += write(fd, buf, 16); /*@ header 14400 */
			sum += write(fd, buf, 1000 + i); /*@ body 1034550 */
		}
		sum += pread(fd, buf, 16, 0); /*@ read 4800 */
		close(fd);
	}
	return sum == 0;
}
"""


def many(h):
    check(h, start(h, [c(h, "sites-many", MANY)]), MANY, "sites-many.c")


# ---- what goes out of the house


def released(h):
    """Released tools do not see it; a log without names of files has none of programs."""
    run = start(h, [c(h, "sites-plain", C)])
    log = run.logs[0].path
    for option, rows in ((["--released"], 0), (["--anonymize", "--key=1"], None)):
        out = os.path.join(h.quiet, "converted.darshan")
        done = subprocess.run([h.iorama, "convert", *option, "-f", "-o", out, log], capture_output=True, text=True)
        must(done.returncode == 0, "convert %s: %s", option, done.stderr)
        found = places(h, out)
        must(rows is None or len(found) == rows, "%s: %s", option, found)
        must(not any(row["program"] for row in found), "%s: %s", option, found)
        with open(out, "rb") as file:
            must(b"sites-plain" not in file.read(), "%s: the program is named", option)


# ---- MPI-IO and HDF5

MPI = r"""
#include <mpi.h>
static char b[1 << 20];
static volatile int more = 1;
int main(int n, char **v)
{
	MPI_File f;
	int r;
	MPI_Init(&n, &v);
	MPI_Comm_rank(MPI_COMM_WORLD, &r);
	MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	for (int i = 0; i < 5; i++)
		MPI_File_write_at(f, (r * 100 + i) * 10000, b, 10000, MPI_BYTE, MPI_STATUS_IGNORE); /*@ write 100000 */
	MPI_File_write_at_all(f, 10000000 + r * 50000, b, 50000, MPI_BYTE, MPI_STATUS_IGNORE); /*@ all 100000 */
	MPI_File_close(&f);
	MPI_Finalize();
	return more == 0;
}
"""


def mpi(h, family):
    from cases import MPI_HERE  # of tests/lib

    compiler, runner = "mpicc." + family, "mpirun." + family
    if not shutil.which(compiler) or not shutil.which(runner):
        raise Skip(family + " is not installed")
    program = build(h, "sites-mpi", MPI, [compiler, "-g", "-O2"], made="-" + family)
    run = start(h, [runner, "-n", "2", program], env=MPI_HERE)
    found, wanted = check(h, run, MPI, "sites-mpi.c", lines=False), truth(MPI)
    must({line: found.get(line) for line in wanted} == wanted, "lines moved %s, not %s", found, wanted)


HDF5 = r"""
#include <hdf5.h>
static double a[10000], b[50000];
static volatile int more = 1;
int main(void)
{
	hid_t f = H5Fcreate("out", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hsize_t n = 10000, m = 50000;
	hid_t s = H5Screate_simple(1, &n, 0), t = H5Screate_simple(1, &m, 0);
	hid_t d = H5Dcreate2(f, "a", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t e = H5Dcreate2(f, "b", H5T_NATIVE_DOUBLE, t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < 3; i++)
		H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, a); /*@ a 240000 */
	for (int i = 0; i < 2; i++)
		H5Dwrite(e, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, b); /*@ b 800000 */
	H5Dclose(d);
	H5Dclose(e);
	H5Fclose(f);
	return more == 0;
}
"""


def hdf5(h):
    include, lib = "/usr/include/hdf5/serial", glob.glob("/usr/lib/*/hdf5/serial")
    if not os.path.isdir(include) or not lib:
        raise Skip("HDF5 is not installed")
    flags = ["-I" + include, "-L" + lib[0], "-Wl,--no-as-needed"]
    program = build(h, "sites-hdf5", HDF5, [h.cc, "-g", "-O2", *flags, "-x", "c", "-lhdf5"])
    run = start(h, [program])
    found, wanted = check(h, run, HDF5, "sites-hdf5.c", lines=False), truth(HDF5)
    # what HDF5 writes of its own is written where the file is made or closed
    must({line: found.get(line) for line in wanted} == wanted, "lines moved %s, not %s", found, wanted)


# ---- Python

PYTHON = r"""
import os
import shutil
import sys
import threading


def raw(fd):
    for i in range(10):
        os.write(fd, b"x" * 1000)  #@ write 30000
    return os.write(fd, b"y" * 77)  #@ write 231


def turns(fd, depth):
    for i in range(50):
        os.pread(fd, 16, i)  #@ pread 4800
        os.pread(fd, 512, i)  #@ pread 153600
    if depth:
        turns(fd, depth - 1)


class Loader:
    def __init__(self, name):
        self.file = open(name, "rb", buffering=0)

    def batches(self):
        while True:
            data = self.file.read(1000)  #@ generator 30231
            if not data:
                return
            yield data


def copy(name):
    with open(name, "rb", buffering=0) as a, open(name + ".copy", "wb", buffering=0) as b:
        shutil.copyfileobj(a, b, 5000)  #@ library 60462


def worker(fd, n):
    for i in range(200):
        os.pwrite(fd, b"z" * n, i) if n > 8 else os.pwrite(fd, b"z" * n, 0)  #@ threads 101400


fd = os.open("raw", os.O_RDWR | os.O_CREAT)
raw(fd)
[raw(fd) for k in range(1)]
(lambda: raw(fd))()
turns(fd, 5)
assert sum(len(b) for b in Loader("raw").batches()) == 30231
copy("raw")
threads = [threading.Thread(target=worker, args=(fd, n)) for n in (7, 100, 300, 100)]
for t in threads:
    t.start()
for t in threads:
    t.join()
with open("buffered", "w") as file:
    for i in range(20000):
        file.write("0123456789")  #@ buffered BUFFERED
    file.flush()  #@ flush FLUSHED
for k in range(40):  # code that comes and goes, and whose memory is used again
    code = compile("import os\nos.write(%d, b'c' * %d)" % (fd, k + 1), "<cell %d>" % k, "exec")
    exec(code, {})
if os.fork() == 0:
    os.write(fd, b"child")  #@ child 5
    os._exit(0)
os.wait()
"""


def python_source(h, program):
    """How much of what goes through a buffer leaves it before it is flushed is Python's business: it is asked."""
    count = "import os, sys\nf = open(sys.argv[1], 'w')\nfor i in range(20000): f.write('0123456789')\nprint(os.fstat(f.fileno()).st_size)"
    os.makedirs(h.quiet, exist_ok=True)
    done = subprocess.run([program, "-c", count, os.path.join(h.quiet, "counted")], capture_output=True, text=True, timeout=TIMEOUT, check=True)
    before = int(done.stdout)
    return PYTHON.replace("BUFFERED", str(before)).replace("FLUSHED", str(200000 - before))


def put_source(h, name, source):
    path = os.path.join(h.quiet, name)
    os.makedirs(h.quiet, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    return path


def cells(h, run):
    """What code without a file moved, which lay where other such code had lain."""
    found = {row["source"]: moved(row) for log in run.logs for row in places(h, log.path) if row["source"].startswith("<cell")}
    wanted = {"<cell %d>" % k: k + 1 for k in range(40)}
    must(found == wanted, "cells moved %s", found)


def interpreters():
    """The real programs, in place of what chooses among them."""
    found = set()
    for path in [p for folder in os.environ["PATH"].split(":") for p in glob.glob(folder + "/python3*")]:
        if re.fullmatch(r"python3(\.\d+)?", os.path.basename(path)):
            ask = "import os, sys; print(os.path.realpath(sys.executable) if (3, 8) <= sys.version_info < (3, 16) else '')"
            done = subprocess.run([path, "-c", ask], capture_output=True, text=True, timeout=TIMEOUT)
            found |= set(done.stdout.split()) if done.returncode == 0 else set()
    return sorted(found)


def python(h):
    """Every Python that is here; lines are told without its help."""
    programs = interpreters()
    must(programs, "no Python: %s", os.environ["PATH"])
    for program in programs:
        source = python_source(h, program)
        run = start(h, [program, put_source(h, "pläces.py", source)])
        imports = [number for number, line in enumerate(source.splitlines(), 1) if line.startswith("import ")]
        found = check(h, run, source, "pläces.py", lines=False)
        found = {number: size for number, size in found.items() if number not in imports}
        must(found == truth(source), "%s: lines moved %s, not %s", program, found, truth(source))
        cells(h, run)
        rows = [row for row in places(h, run.logs[0].path) if row["source"].endswith("pläces.py")]
        must(all(row["function"] and not row["program"] and not row["address"] for row in rows), "%s: %s", program, rows)
        functions = {row["function"] for row in rows}
        must({"raw", "turns", "worker"} <= functions and functions & {"Loader.batches", "batches"}, "functions: %s", functions)


H5PY = r"""
import h5py
import numpy


def save(f):
    f["a"] = numpy.zeros(10000)  #@ a 80000
    f["b"][...] = numpy.ones(50000)  #@ b 400000


with h5py.File("out.h5", "w") as f:
    f.create_dataset("b", (50000,), dtype="f8")
    save(f)
numpy.zeros(4000).tofile("plain")  #@ numpy 32000
"""


def h5py(h):
    if subprocess.run(["/usr/bin/python3", "-c", "import h5py"], capture_output=True).returncode != 0:
        raise Skip("h5py is not installed")
    run = start(h, ["/usr/bin/python3", put_source(h, "sites-h5py.py", H5PY)])
    found, wanted = check(h, run, H5PY, "sites-h5py.py", lines=False), truth(H5PY)
    # what HDF5 writes of its own is written where the file is closed
    must({line: found.get(line) for line in wanted} == wanted, "lines moved %s, not %s", found, wanted)


# ---- a filter of system calls that was there before us

CAGE = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int n, char **v)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = { sizeof(code) / sizeof(code[0]), code };
	if (n < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		return 9;
	execv(v[1], v + 1);
	return 8;
}
"""


def caged(h):
    """What is never called where such a filter is: process_vm_readv would end the program."""
    cage, program = c(h, "sites-cage", CAGE, "-static"), c(h, "sites-plain", C)  # nobody observes the cage
    run = h.start([cage, program], "bare", env={"IORAMA_SITES": "1"})
    must(run.status == 0 and run.logs, "status %s, %d logs: %r", run.status, len(run.logs), run.err[-500:])
    check(h, run, C, "sites-plain.c")


CASES = {"plain": plain, "no-pie": no_pie, "frames": frames, "bare": bare, "killed": killed, "stripped": stripped, "rebuilt": rebuilt,
         "cxx": cxx, "fortran": fortran, "threads": threads, "handler": handler, "come-and-go": come_and_go, "many": many,
         "released": released, "caged": caged, "openmpi": lambda h: mpi(h, "openmpi"), "mpich": lambda h: mpi(h, "mpich"), "hdf5": hdf5,
         "python": python, "h5py": h5py}  # fmt: skip


def known(case):
    def perform(h):
        if os.uname().machine != "x86_64":
            raise Skip("places are known on x86-64 only")
        case(h)

    return perform


if __name__ == "__main__":
    main({"sites-" + name: known(case) for name, case in CASES.items()})
