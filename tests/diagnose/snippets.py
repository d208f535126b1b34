#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""snippets.py BUILD CASE...: lines of code that reports advise do what they say.

Every snippet is filled in with an ordinary and with hostile names and sizes. All C snippets of an interface become
functions of one program, which is compiled with all warnings as errors and run on two ranks; what is in the files
afterwards is compared with what was asked for. Shell snippets run with commands that write down what they are given."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cases  # noqa: E402
from cases import Failed, Skip, need  # noqa: E402
from cases import SYSTEM_PYTHON as PYTHON  # noqa: E402

COUNT, STEPS, RANKS = 8, 3, 2  # as in the programs below
STRICT = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O1"]

# names that run, whatever they look like; those that only have to compile; and what they must come back as
NASTY = b"q\"u'o\\t $(touch pwned) `touch pwned` */ ??/ %s {file} ${HOME} \xc3\xa9\x1b[31m\n-- \xff\xe2\x80\xae!.dat"
NAMES = [
    b"out.dat", b"-rf", b"--", b"a b", b"", b"\\", b"'", b'"', b"''\"\"", b"\\n", b"$HOME", b"%d%s", b"??=??/", b"*/ //", b"#!",
    b"\n", b"tab\there", b"\x01\x7f", b"\xff\xfe", b"\xc3", b"\xe2\x82\xac uro", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xe2\x80\xae",
    b"\xc2\x85", b"{file}", b"0123456789" * 60, b"'" * 200, b"\n9", b"\x1bx01", b"a!b", b"&\n'", NASTY,
]  # fmt: skip


def run(command, cwd, **more):
    environment = cases.environment((), OMPI_MCA_btl="self,vader", LC_ALL="C.UTF-8", **more)
    done = subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    if done.returncode != 0:
        raise Failed("%s: status %d\n%s" % (command[:4], done.returncode, (done.stdout + done.stderr).decode("latin1")[-3000:]))
    return done.stdout


class Place:
    """A folder, and snippets filled in for a file of it."""

    def __init__(self, tool):
        self.tool = tool
        self.folder = os.fsencode(tempfile.mkdtemp(prefix="iorama-snippets-"))
        self.code = os.path.join(self.folder, b"code")
        self.data = os.path.join(self.folder, b"data")

    def fill(self, name, *numbers):
        for folder in (self.code, self.data):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        self.file = os.path.join(self.data, name)
        os.makedirs(os.path.dirname(self.file), exist_ok=True)
        run([self.tool, self.code, self.file, self.data, *numbers], self.folder)

    def snippet(self, name):
        with open(os.path.join(self.code, os.fsencode(name)), "rb") as file:
            return file.read()

    def snippets(self, ending, *starts):
        names = sorted(os.fsdecode(n) for n in os.listdir(self.code))
        return [n[: -len(ending)] for n in names if n.endswith(ending) and n.startswith(starts or "")]

    def write(self, name, content):
        path = os.path.join(self.folder, os.fsencode(name))
        with open(path, "wb") as file:
            file.write(content)
        return path

    def close(self):
        shutil.rmtree(self.folder)


# ---- what the programs know: the few names that snippets use

COMMON_C = b"""
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int rank, ranks = 1, count = 8, steps = 3;
double data[8], other[8];
char record[16], all[64];
size_t record_size = sizeof(record);
off_t known_size;
size_t used_bytes;
struct { off_t offset; size_t length; char *into; } wanted[2] = { { 64, 16, record }, { 0, 16, all } };
size_t n_wanted = 2;
int by_offset(const void *a, const void *b)
{
	const off_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}
void write_all(int fd, const char *from, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, from, n);
		if (k <= 0)
			abort();
		from += k, n -= (size_t)k;
	}
}
void use(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		used_bytes += (unsigned char)bytes[i];
}
void compute(double *to, int n, int step)
{
	for (int i = 0; i < n; i++)
		to[i] = 1000 * step + 100 * rank + i;
}
"""

MAIN_C = b"""
int main(int argc, char **argv)
{
	@BEFORE@
	compute(data, count, 0);
	for (size_t i = 0; i < record_size; i++)
		record[i] = (char)('a' + i);
	if (argc != 2)
		return 2;
	@CALLS@
	printf("DATA %d %g %g %zu %lld\\n", rank, data[0], data[7], used_bytes, (long long)known_size);
	@AFTER@
	return 0;
}
"""

MPI_BEFORE = b"""
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
"""
HDF5_C = b"""
hid_t file, dataset, memory_space, file_space, collective;
static herr_t die(hid_t s, void *x)
{
	(void)x;
	H5Eprint2(s, stderr);
	abort();
	return 0;
}
static void fill(void)
{
	double before[8];
	for (int i = 0; i < 8; i++)
		before[i] = 500 + 8 * rank + i;
	H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory_space, file_space, H5P_DEFAULT, before);
}
static void prepare(const char *path)
{
	hsize_t whole = 16, part = 8, start;
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	H5Eset_auto2(H5E_DEFAULT, die, NULL);
	start = 8 * (hsize_t)rank;
	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	H5Pclose(access);
	file_space = H5Screate_simple(1, &whole, NULL);
	memory_space = H5Screate_simple(1, &part, NULL);
	dataset = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, file_space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &start, NULL, &part, NULL);
	collective = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
}
"""

HDF5_CALL = b'prepare("prepared.h5");'
HDF5_AFTER = b"H5Pclose(collective); H5Sclose(memory_space); H5Sclose(file_space); H5Dclose(dataset); H5Fclose(file);"

# interface: start of the symbols, headers, own parts
INTERFACES = {
    "posix": (("posix_", "stdio_"), b"", b"", b"", b"", b""),
    "uring": (("uring_",), b"#include <liburing.h>\n", b"", b"", b"", b""),
    "mpi": (("mpiio_", "mpi_"), b"#include <mpi.h>\n", b"", MPI_BEFORE, b"", b"MPI_Finalize();"),
    "hdf5": (("h5_",), b"#include <mpi.h>\n#include <hdf5.h>\n", HDF5_C, MPI_BEFORE, HDF5_CALL, HDF5_AFTER + b"MPI_Finalize();"),
    "netcdf": (("nc_",), b"#include <mpi.h>\n#include <netcdf.h>\n#include <netcdf_par.h>\n", b"", MPI_BEFORE, b"", b"MPI_Finalize();"),
    "pnetcdf": (("pnetcdf_",), b"#include <mpi.h>\n#include <pnetcdf.h>\n", b"", MPI_BEFORE, b"", b"MPI_Finalize();"),
}


def program(place, interface):
    """One program of all snippets of the interface; its first argument says which."""
    starts, headers, own, before, call, after = INTERFACES[interface]
    names = place.snippets(".c", *starts)
    if not names:
        raise Failed("there are no snippets for " + interface)
    parts = [COMMON_C, headers, own]
    parts += [b"static void run_%s(void)\n{\n%s}\n" % (n.encode(), place.snippet(n + ".c")) for n in names]
    first = {n: b"fill(), " if n == "h5_collective_read" else b"" for n in names}
    calls = call + b"".join(b'if (strcmp(argv[1], "%s") == 0) %srun_%s();\n' % (n.encode(), first[n], n.encode()) for n in names)
    main = MAIN_C.replace(b"@BEFORE@", before).replace(b"@CALLS@", calls).replace(b"@AFTER@", after)
    return names, b"".join(parts) + main


def build(place, interface, compiler, *libraries):
    names, text = program(place, interface)
    source = place.write("program.c", text)
    binary = os.path.join(place.folder, b"program")
    run([*compiler, *STRICT, source, "-o", binary, *libraries], place.folder)
    return names, binary


def expect(what, have, want):
    if have != want:
        raise Failed("%s: %r, not %r" % (what, have, want))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def doubles(*numbers):
    return struct.pack("<%dd" % len(numbers), *numbers)


def values(step, rank):
    return [1000 * step + 100 * rank + i for i in range(COUNT)]


RECORD = b"abcdefghijklmnop"
STEP_0 = doubles(*values(0, 0), *values(0, 1))
INPUT = doubles(*range(500, 516))
SUM = sum(INPUT)

# ---- what has to be in the file, or printed, after a snippet has run; None: nothing to look at


def content(want):
    def check(place, printed, name):
        expect(name + ": the file", read(place.file), want)

    return check


def printed_data(want):
    def check(place, printed, name):
        # launchers may join lines of two ranks
        found = re.findall(r"DATA (\d+) ([-+.\d]+(?:e[-+]?\d+)?) ([-+.\d]+(?:e[-+]?\d+)?)", printed.decode("latin1"))
        expect(name + ": printed", [(first, last) for _, first, last in sorted(found)], want)

    return check


def printed_use(sum_wanted, size):
    def check(place, printed, name):
        lines = [line.split() for line in printed.decode("latin1").split("\n") if line.startswith("DATA")]
        expect(name + ": bytes seen, size known", [tuple(map(int, line[4:])) for line in lines], [(sum_wanted, size)])

    return check


def sum_printed(printed):
    """Of all bytes that all ranks were given."""
    return sum(map(int, re.findall(r"DATA \d+ \S+ \S+ (\d+)", printed.decode("latin1"))))


def exists(place, printed, name):
    if not os.path.getsize(place.file):
        raise Failed(name + ": no file")


def interleaved():
    rows = [values(0, rank)[4 * k : 4 * k + 4] for k in range(2) for rank in range(RANKS)]
    return doubles(*[x for row in rows for x in row])


def hdf5_data(dataset, path=None):
    def check(place, printed, name):
        out = os.path.join(place.folder, b"dumped")
        file = os.path.join(place.folder, b"prepared.h5") if path is None else path
        run(["h5dump", "-d", dataset, "-b", "LE", "-o", out, file], place.folder)
        have = read(out)
        want = STEP_0 if name != "h5_one_selection" else doubles(*[x for i in range(COUNT) for x in (i, 100 + i)])
        expect(name + ": the dataset", have, want)

    return check


def hdf5_alone(dataset, path, want):
    def check(place, printed, name):
        out = os.path.join(place.folder, b"dumped")
        run(["h5dump", "-d", dataset, "-b", "LE", "-o", out, path], place.folder)
        expect(name + ": the dataset", read(out), want)

    return check


def hdf5_empty(place, printed, name):
    if b"GROUP \"/\"" not in run(["h5dump", "-H", place.file], place.folder):
        raise Failed(name + ": no HDF5 file")


def hdf5_property(*wanted):
    def check(place, printed, name):
        said = run(["h5dump", "-H", "-p", os.path.join(place.folder, b"prepared.h5")], place.folder)
        said = re.sub(rb"\s+", b" ", said)
        for want in wanted:
            if want not in said:
                raise Failed("%s: %r is not in %s" % (name, want, said))

    return check


def netcdf_data(program_name, variables, alone=False):
    def check(place, printed, name):
        plain = os.path.join(place.folder, b"copy.nc")
        shutil.copy(place.file, plain)
        said = run([program_name, plain], place.folder).decode()
        body = said.split("data:")[1]
        for variable in variables:
            numbers = re.search(r"\b%s = ([^;]*);" % variable, body).group(1)
            have = [float(x) for x in numbers.replace("\n", " ").split(",")]
            expect("%s: %s" % (name, variable), have, [float(x) for x in values(0, 0) + ([] if alone else values(0, 1))])

    return check


def netcdf_header(place, printed, name):
    plain = os.path.join(place.folder, b"copy.nc")
    shutil.copy(place.file, plain)
    said = run(["ncdump", "-h", "-s", plain], place.folder).decode()
    if "_ChunkSizes = 8192" not in said or '_NoFill = "true"' not in said:
        raise Failed("%s: %s" % (name, said))


CHECKS = {
    "posix_buffer_write": content(RECORD * STEPS),
    "posix_buffer_read": printed_use(SUM, 0),
    "posix_pwrite": content(RECORD * STEPS),
    "posix_sorted_read": exists,
    "posix_fsync_once": content(RECORD * STEPS),
    "posix_open_once": content(RECORD * STEPS),
    "posix_fstat": printed_use(0, len(INPUT)),
    "posix_odirect": content(bytes(4 << 20)),
    "posix_aligned": content(RECORD),
    "posix_mmap": printed_use(SUM, 0),
    "posix_keep": printed_use(SUM, 0),
    "posix_read_ahead": printed_use(SUM, 0),
    "posix_background": content(RECORD * STEPS),
    "uring_depth": printed_use(SUM, 0),
    "mpi_sync_between": printed_data([("0", "7"), ("0", "7")]),
    "posix_separate": content(INPUT),
    "posix_steady": content(RECORD * STEPS),
    "posix_lock_batch": content(RECORD * STEPS),
    "stdio_setvbuf": content(RECORD * STEPS),
    "stdio_to_write": content(doubles(*values(0, 0))),
    "mpiio_write_all": content(STEP_0),
    "mpiio_no_sieving": content(STEP_0),
    "mpiio_aggregators": content(STEP_0),
    "mpiio_striping": content(b""),
    "mpiio_view": content(interleaved()),
    "mpiio_nonblocking": content(b"".join(doubles(*values(s, 0), *values(s, 1)) for s in range(STEPS))),
    "mpiio_nonblocking_read": lambda place, printed, name: expect(name, sum_printed(printed), sum(INPUT * STEPS)),
    "mpi_barrier": lambda place, printed, name: expect(name, sorted(re.findall(rb"rank (\d): \d", printed)), [b"0", b"1"]),
    "mpiio_read_all": printed_data([("500", "507"), ("508", "515")]),
    "mpi_bcast": printed_data([("0", "7"), ("100", "107")]),
    "mpi_stat_once": printed_data([("0", "7"), ("100", "107")]),
    "h5_no_sieving": hdf5_empty,
    "h5_alignment": hdf5_empty,
    "h5_metadata": hdf5_empty,
    "h5_collective": hdf5_data("/data"),
    "h5_collective_read": printed_data([("500", "507"), ("508", "515")]),
    "h5_flush_once": hdf5_data("/data"),
    "h5_one_selection": hdf5_data("/data"),
    "h5_chunks": hdf5_property(b"CHUNKED ( 8192 )"),
    "h5_nofill": hdf5_property(b"FILL_TIME H5D_FILL_TIME_NEVER", b"H5D_ALLOC_TIME_EARLY"),
    "nc_collective": netcdf_data("ncdump", ["data"]),
    "nc_chunks": netcdf_header,
    "nc_one_call": netcdf_data("ncdump", ["data"], alone=True),
    "pnetcdf_no_sieving": exists,
    "pnetcdf_collective": netcdf_data("ncmpidump", ["data"]),
    "pnetcdf_nonblocking": netcdf_data("ncmpidump", ["u", "v", "w"]),
}
READS = ("uring_depth", "posix_read_ahead", "posix_buffer_read", "posix_sorted_read", "posix_fstat", "posix_mmap", "posix_keep", "posix_separate",
         "mpiio_read_all", "mpiio_nonblocking_read", "mpi_bcast", "mpi_stat_once")  # fmt: skip
LARGEST = ("ranks=1073741824", "bytes=1125899906842624", "block=1073741824", "transfer=16777216", "alignment=1048576",
           "stripe_count=64", "stripe_size=16777216", "aggregators=1048576", "chunk=524288", "ost=2147483647")  # fmt: skip


def run_all(place, interface, names, binary, launcher):
    for name in names:
        if os.path.exists(place.file):
            os.remove(place.file)
        if name in READS:
            place.write(place.file, INPUT * STEPS if "nonblocking" in name else INPUT)
        one = [] if name in ("nc_chunks", "nc_one_call") else launcher  # not parallel
        printed = run([*one, binary, name], place.folder)
        if name not in CHECKS:
            raise Failed("nothing is known of " + name)
        CHECKS[name](place, printed, name)
    if os.path.exists(os.path.join(place.folder, b"pwned")):
        raise Failed("a name was run as a command")


def in_c(place, interface, compiler, libraries, launcher):
    if interface == "hdf5":
        need("h5dump")
    nasty = NASTY.replace(b"\\", b"") if interface == "netcdf" else NASTY  # netCDF takes \ for /
    for name in (b"out.dat", nasty):
        place.fill(name)
        names, binary = build(place, interface, compiler, *libraries)
        run_all(place, interface, names, binary, launcher)
    for name in (b"-" + b"long" * 60 + b":\xe2\x80\xae*/", b"x"):
        place.fill(name, *LARGEST)
        build(place, interface, compiler, *libraries)


# ---- cases


def case_posix(place):
    need("cc")
    in_c(place, "posix", ["cc"], [], [])
    if not os.path.exists("/usr/include/liburing.h"):
        raise Skip("liburing is not installed")
    in_c(place, "uring", ["cc"], ["-luring"], [])


def multiarch():
    return run(["cc", "-print-multiarch"], "/").decode().strip()


def in_family(place, family):
    need("mpicc." + family, "mpirun." + family, "ncdump", "ncmpidump")
    launcher = ["mpirun." + family, "-n", str(RANKS)]
    compiler = ["mpicc." + family]
    lib = "/usr/lib/%s" % multiarch()
    in_c(place, "mpi", compiler, [], launcher)
    if not os.path.isdir("/usr/include/hdf5/" + family):
        raise Skip("parallel HDF5 is not installed")
    hdf5 = ["-I/usr/include/hdf5/" + family, "-L%s/hdf5/%s" % (lib, family)]
    in_c(place, "hdf5", compiler + hdf5, ["-lhdf5"], launcher)
    if family == "openmpi":  # Debian has them for its default MPI only
        if not os.path.exists("/usr/include/pnetcdf.h") or not os.path.exists(lib + "/netcdf/mpi/libnetcdf.so"):
            raise Skip("PnetCDF or parallel netCDF is not installed")
        in_c(place, "pnetcdf", compiler, ["-lpnetcdf"], launcher)
        in_c(place, "netcdf", compiler + ["-I%s/netcdf/mpi/include" % lib, "-L%s/netcdf/mpi" % lib], ["-lnetcdf"], launcher)


def case_openmpi(place):
    in_family(place, "openmpi")


def case_mpich(place):
    in_family(place, "mpich")


FORTRAN = b"""
program snippet
   @USE@
   implicit none
   integer, parameter :: dp = kind(1d0)
   integer :: rank, ranks, count, unit, error, i
   real(dp) :: data(8)
@DECLARE@
   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL)
   count = 8
   unit = 0
   error = 0
   data = [(100 * rank + i, i=0, 7)]
@BEFORE@
@SNIPPET@
   print '(a,i0,1x,i0,1x,i0)', 'DATA ', rank, nint(data(1)), nint(data(8))
@AFTER@
   call MPI_Finalize()
end program
"""
FORTRAN_MPI = b"   type(MPI_File) :: fh\n   type(MPI_Info) :: info\n   integer(MPI_OFFSET_KIND) :: at\n"
FORTRAN_HDF5 = b"""
   integer(HID_T) :: transfer, dataset, memory_space, file_space, file, access
   integer(HSIZE_T) :: dims(1), whole(1), start(1)
"""
FORTRAN_HDF5_BEFORE = b"""
   dims = 8; whole = 16; start = 8 * rank
   call h5open_f(error)
   call h5pcreate_f(H5P_FILE_ACCESS_F, access, error)
   call h5pset_fapl_mpio_f(access, MPI_COMM_WORLD%mpi_val, MPI_INFO_NULL%mpi_val, error)
   call h5fcreate_f('prepared.h5', H5F_ACC_TRUNC_F, file, error, access_prp=access)
   call h5screate_simple_f(1, whole, file_space, error)
   call h5screate_simple_f(1, dims, memory_space, error)
   call h5dcreate_f(file, 'data', H5T_NATIVE_DOUBLE, file_space, dataset, error)
   call h5sselect_hyperslab_f(file_space, H5S_SELECT_SET_F, start, dims, error)
"""
FORTRAN_HDF5_AFTER = b"   call h5dclose_f(dataset, error)\n   call h5fclose_f(file, error)\n   call h5close_f(error)\n"
FORTRAN_CHECKS = {
    "mpiio_write_all_f": content(STEP_0),
    "mpiio_no_sieving_f": content(STEP_0),
    "mpiio_read_all_f": printed_data([("500", "507"), ("508", "515")]),
    "mpi_bcast_f": printed_data([("500", "507"), ("500", "507")]),
    "h5_collective_f": hdf5_data("/data"),
}


def fortran_program(place, name):
    hdf5 = name.startswith("h5_")
    text = FORTRAN.replace(b"@USE@", b"use mpi_f08" + (b"\n   use hdf5" if hdf5 else b""))
    text = text.replace(b"@DECLARE@", FORTRAN_HDF5 if hdf5 else FORTRAN_MPI)
    text = text.replace(b"@BEFORE@", FORTRAN_HDF5_BEFORE if hdf5 else b"").replace(b"@AFTER@", FORTRAN_HDF5_AFTER if hdf5 else b"")
    return text.replace(b"@SNIPPET@", place.snippet(name + ".f90"))


def in_fortran(place, family):
    need("mpif90." + family, "mpirun." + family, "h5dump")
    lib = "/usr/lib/%s/hdf5/%s" % (multiarch(), family)
    binary = os.path.join(place.folder, b"program")
    # blanks at the end of a name mean nothing in Fortran
    for file in (b"out.dat", NASTY):
        place.fill(file)
        for name in place.snippets(".f90"):
            source = place.write("program.f90", fortran_program(place, name))
            more = ["-I/usr/include/hdf5/" + family, "-L" + lib, "-lhdf5_fortran", "-lhdf5"] if name.startswith("h5_") else []
            run(["mpif90." + family, "-Wall", "-Werror", "-Wno-unused-variable", "-Wno-error=maybe-uninitialized",
                 source, "-o", binary, *more], place.folder)  # fmt: skip
            if os.path.exists(place.file):
                os.remove(place.file)
            if "read" in name or "bcast" in name:
                place.write(place.file, INPUT)
            printed = run(["mpirun." + family, "-n", str(RANKS), binary], place.folder)
            FORTRAN_CHECKS[name](place, printed, name)


def case_fortran_openmpi(place):
    in_fortran(place, "openmpi")


def case_fortran_mpich(place):
    in_fortran(place, "mpich")


PYTHON_BEFORE = b"""
import sys, os
import numpy
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
data = numpy.arange(8.0) + 100 * rank
records = [b"abcdefghijklmnop"] * 3
pieces = {"a": data, "b": data}
names = ["a", "b"]
shape = (4,)
"""
PYTHON_AFTER = b"""
print("DATA %d %g %g" % (rank, data[0], data[7]))
if "text" in globals():
    print("TEXT", len(text))
if "content" in globals():
    print("TEXT", len(content))
"""


def python_text(place, printed, name):
    expect(name, set(re.findall(rb"TEXT (\d+)", printed)), {b"%d" % len(INPUT)})


PYTHON_CHECKS = {
    "mpi4py_write_all": content(STEP_0),
    "mpi4py_read_all": printed_data([("500", "507"), ("508", "515")]),
    "mpi_bcast_py": python_text,
    "python_buffer": content(RECORD * STEPS),
    "python_read_once": python_text,
    "python_read_ahead": python_text,
    "python_background": content(RECORD * STEPS),
    "python_shuffle_blocks": python_text,
    "python_keep_samples": python_text,
    "python_workers": python_text,
    "python_pack_samples": python_text,
    "numpy_write": content(doubles(*values(0, 0))),
    "h5py_collective": lambda place, printed, name: hdf5_data("/data", place.file)(place, printed, name),
    "h5py_chunks": exists,
    "h5py_one_call": lambda place, printed, name: hdf5_alone("/data", place.file, doubles(*values(0, 0)))(place, printed, name),
    "h5py_metadata": exists,
    "h5py_container": exists,
}
SAMPLES = ("python_shuffle_blocks", "python_keep_samples", "python_workers", "python_pack_samples")
PYTHON_ALONE = (*SAMPLES, "python_background", "python_read_ahead", "h5py_one_call", "python_buffer", "python_read_once", "numpy_write", "h5py_chunks", "h5py_container")


def case_python(place):
    need("mpirun.openmpi", "h5dump", PYTHON)
    if subprocess.run([PYTHON, "-c", "import h5py, mpi4py, numpy"], capture_output=True).returncode != 0:
        raise Skip("h5py or mpi4py is not installed")
    for file in (b"out.dat", NASTY.replace(b"\xff", b"")):  # mpi4py wants UTF-8
        place.fill(file)
        for name in place.snippets(".py"):
            if os.path.exists(place.file):
                os.remove(place.file)
            if "read" in name or "bcast" in name or name in SAMPLES:
                place.write(place.file, INPUT)
            if os.path.exists(os.path.dirname(place.file) + b".bin"):
                os.remove(os.path.dirname(place.file) + b".bin")
            script = place.write("script.py", PYTHON_BEFORE + place.snippet(name + ".py") + PYTHON_AFTER)
            launcher = [] if name in PYTHON_ALONE else ["mpirun.openmpi", "-n", str(RANKS)]
            printed = run([*launcher, PYTHON, "-W", "error::SyntaxWarning", script], place.data)
            PYTHON_CHECKS[name](place, printed, name)


RECORDER = b"""#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" '' >> "$RECORDED"
"""


def commands_of(place):
    """What the recorded commands were given: lists of words."""
    words, found = read(os.path.join(place.folder, b"recorded")).split(b"\0")[:-1], [[]]
    for word in words:
        if word:
            found[-1].append(word)
        else:
            found.append([])
    return [command for command in found if command]


def shell_wanted(place):
    file, folder = place.file, place.data
    once = [b"iorama", b"emulate", b"try", file]
    mpi = [b"mpirun", b"-n", b"2", *once]
    return {
        "try_size": [[*once, b"--ranks", b"2", b"--set", b"transfer_size=4194304"]],
        "try_fsync": [[*once, b"--ranks", b"2", b"--set", b"fsync=file"]],
        "try_alignment": [[*once, b"--ranks", b"2", b"--set", b"alignment=4096"]],
        "try_collective": [[*mpi, b"--set", b"mpiio_type=collective"]],
        "try_sieving": [[*mpi, b"--set", b"hints=romio_ds_write=disable"]],
        "try_aggregators": [[*mpi, b"--set", b"hints=cb_nodes=1"]],
        "lfs_setstripe": [[b"lfs", b"setstripe", b"-c", b"8", b"-S", b"1048576", folder],
                          [b"lfs", b"migrate", b"-c", b"8", b"-S", b"1048576", file]],
        "lfs_setstripe_one": [[b"lfs", b"setstripe", b"-c", b"1", folder]],
        "lfs_slow_target": [[b"lfs", b"df", folder], [b"lfs", b"check", b"osts"],
                            [b"lfs", b"find", folder, b"--ost", b"14"], [b"lfs", b"migrate", b"-c", b"1", file]],
        "daos_class": [[b"daos", b"fs", b"set-attr", b"--path=" + folder, b"--oclass=SX", b"--chunk-size=4194304"],
                       [b"daos", b"fs", b"get-attr", b"--path=" + folder]],
        "iorama_trace": [[b"iorama", b"run", b"--trace", b"-o", b"trace.darshan", b"--", *file.split(b" ")],
                         [b"iorama", b"report", b"--html", b"-o", b"trace.html", b"trace.darshan"]],
    }  # fmt: skip


def hints(place, work):
    said = read(os.path.join(work, b"romio_hints")).decode().split("\n")[:-1]
    return dict(line.split(" ") for line in said)


def check_shell(place, name, work):
    if name in shell_wanted(place):
        expect(name, commands_of(place), shell_wanted(place)[name])
    elif name == "romio_hints_sieving":
        expect(name, hints(place, work), {"romio_ds_write": "disable", "romio_cb_write": "enable"})
    elif name == "romio_hints_reading":
        expect(name, hints(place, work), {"romio_ds_read": "disable", "romio_cb_read": "enable"})
    elif name == "romio_hints_aggregators":
        expect(name, hints(place, work), {"cb_nodes": "1", "cb_buffer_size": "4194304", "romio_cb_write": "enable"})
    elif name == "tar_pack":
        expect(name, read(os.path.join(work, b"inputs", os.path.relpath(place.file, place.data))), INPUT)
    elif name == "copy_local":
        expect(name, read(os.path.join(work, os.path.basename(place.file))), INPUT)
    else:
        raise Failed("nothing is known of " + name)


def case_shell(place):
    need("bash", "tar")
    for file in (b"out.dat", NASTY):
        place.fill(file)
        place.write(place.file, INPUT)
        bin_folder = os.path.join(place.folder, b"bin")
        os.makedirs(bin_folder, exist_ok=True)
        for command in ("lfs", "daos", "iorama", "mpirun"):
            os.chmod(place.write(os.path.join(bin_folder, command.encode()), RECORDER), 0o755)
        for name in place.snippets(".sh"):
            work = os.path.join(place.folder, b"work")
            shutil.rmtree(work, ignore_errors=True)
            os.mkdir(work)
            place.write("recorded", b"")
            script = os.path.join(place.code, name.encode() + b".sh")
            run(["bash", "-euo", "pipefail", script], work, TMPDIR=os.fsdecode(work),
                RECORDED=os.path.join(os.fsdecode(place.folder), "recorded"), PATH=os.fsdecode(bin_folder) + ":" + os.environ["PATH"])  # fmt: skip
            check_shell(place, name, work)
            if shutil.which("shellcheck") and file == b"out.dat":
                run(["shellcheck", "-s", "bash", script], work)
            if any(b"pwned" == found for found in os.listdir(work)):
                raise Failed(name + ": a name was run as a command")


def literal(place, language, name):
    return run([place.tool, "--literal", language, name], place.folder)


def case_literals(place):
    """Every literal stands for exactly its name, and no literal holds a control character."""
    need("cc", "bash")
    c = b"#include <stdio.h>\nint main(void)\n{\n" + b"".join(
        b"\tfwrite(%s, 1, sizeof(%s), stdout);\n" % (2 * (literal(place, "C", n),)) for n in NAMES) + b"\treturn 0;\n}\n"  # fmt: skip
    shell = b"".join(b"printf '%%s\\0' %s\n" % literal(place, "shell", n) for n in NAMES)
    python = b"import os, sys\n" + b"".join(
        b"sys.stdout.buffer.write(os.fsencode(%s) + b'\\0')\n" % literal(place, "Python", n) for n in NAMES)  # fmt: skip
    binary = os.path.join(place.folder, b"a.out")
    run(["cc", "-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-trigraphs", place.write("a.c", c), "-o", binary], place.folder)
    want = b"".join(n + b"\0" for n in NAMES)
    expect("C", run([binary], place.folder), want)
    expect("Python", run([sys.executable, place.write("a.py", python)], place.folder, PYTHONUTF8="1"), want)
    dashed = b"".join((b"./" if n.startswith(b"-") else b"") + n + b"\0" for n in NAMES)
    expect("shell", run(["bash", place.write("a.sh", shell)], place.folder), dashed)
    if shutil.which("gfortran"):
        fortran = b"program p\n" + b"".join(
            b"   write (*, '(a)', advance='no') &\n      %s//achar(0)\n" % literal(place, "Fortran", n) for n in NAMES if n) + b"end program\n"  # fmt: skip
        run(["gfortran", "-Wall", "-Werror", place.write("a.f90", fortran), "-o", binary], place.folder)
        expect("Fortran", run([binary], place.folder), b"".join(n + b"\0" for n in NAMES if n))
    for language in ("C", "Fortran", "Python", "shell"):
        for name in NAMES:
            shown = literal(place, language, name).replace(b"\n", b"", 0 if language != "Fortran" else -1)
            if any(byte < 0x20 or byte == 0x7F for byte in shown) or b"\xe2\x80\xae" in shown:
                raise Failed("%s: %r holds a control character" % (language, shown))


CASES = {name[5:].replace("_", "-"): case for name, case in list(globals().items()) if name.startswith("case_")}


def perform(build, name):
    place = Place(os.path.join(os.path.abspath(build), "tests", "test_snippets"))
    try:
        CASES[name](place)
    finally:
        place.close()


if __name__ == "__main__":
    cases.main(CASES, perform)
