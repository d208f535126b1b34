#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py BUILD FAMILY-CASE: MPI programs that know what they do, observed with `iorama run`; what the log says of
their MPI calls must be that. FAMILY is openmpi or mpich; --list prints all cases."""
import os
import re
import sys

sys.dont_write_bytecode = True
import job  # noqa: E402
from job import HERE, RANKS, ROOT, TABLE, Failed, compare_counters, compare_events, run  # noqa: E402

TRUTHS = ("independent", "collective", "nonblocking", "split", "shared", "views", "failing", "names", "handles")
OTHERS = ("rows", "wrong-rows", "threads", "fortran", "late", "nopie", "tool", "ranks")
FAKES = ("fake-abi", "fake-unknown", "fake-none", "fake-module")


def judge(case, lines, trace=True):
    _, modules = case.log()
    if not any(line.startswith("TRUTH") for line in lines):
        raise Failed("the program said nothing")
    wrong = compare_counters(lines, modules.get("MPI-IO", []))
    if trace:
        _, modules = case.log("--dxt")
        wrong += compare_events(lines, modules.get("DXT_MPIIO", []))
    if wrong:
        raise Failed("\n".join(wrong))


# ---- cases


def case_truth(case, name):
    program = case.compile("truth", "truth.c")
    for ranks in RANKS:
        judge(case, case.observe(ranks, program, name, "data.%d" % ranks))
    judge(case, case.observe(3, program, name, "data.3", trace=False), trace=False)


def case_threads(case):
    program = case.compile("truth", "truth.c", "-DWITH_THREADS", "-pthread")
    judge(case, case.observe(2, program, "threads", "data"), trace=False)


def case_fortran(case):
    program = case.compile("truth", "truth.f90", tool="mpif90")
    for ranks in RANKS:
        judge(case, case.observe(ranks, program, "data.%d" % ranks))


def case_late(case):
    case.compile("truth.so", "truth.c", "-shared", "-fPIC", "-Dmain=truth_main")
    done = run(["cc", "-O1", os.path.join(HERE, "late.c"), "-ldl", "-o", "late"], case.folder)
    if done.returncode != 0:
        raise Failed(done.stderr)
    judge(case, case.observe(2, "./late", "./truth.so", "views", "data"))


def case_nopie(case):
    """Such programs have a copy of the data of libraries, which is then the one that counts."""
    program = case.compile("truth", "truth.c", "-no-pie", "-fno-pie")
    judge(case, case.observe(2, program, "collective", "data"))


def case_tool(case):
    """Linked to the program, before its MPI."""
    case.compile("libtool.so", "tool.c", "-shared", "-fPIC")
    program = case.compile("truth", "truth.c", "-L.", "-Wl,--no-as-needed", "-ltool", "-Wl,-rpath,$ORIGIN")
    judge(case, case.observe(2, program, "independent", "data", TOOL_FILE=os.path.join(case.quiet, "tool")))
    for rank in range(2):
        with open(os.path.join(case.quiet, "tool.%d" % rank), encoding="utf-8") as file:
            seen = int(file.read())
        if seen != 1:
            raise Failed("the other tool has seen %d writes, not 1" % seen)


def case_ranks(case):
    """The ranks of the log are those of MPI, and the command line is the program's own."""
    program = case.compile("truth", "truth.c")
    late = "test ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} = 0 && sleep 0.3; %s nonblocking data; exit $?" % program
    for command in ((program, "nonblocking", "data"), ("sh", "-c", late)):  # then rank 0 starts last
        lines = case.observe(3, *command)
        log, modules = case.log()
        want = {int(w[1]): int(w[2]) for w in (line.split(" ") for line in lines)}
        have = {r["counters"]["PROCESS_PID"]: r["rank"] for r in modules.get("PROCESS", [])}
        if {pid: have.get(pid) for pid in want} != want:
            raise Failed("ranks of processes are %s, not %s" % (have, want))
        if command[0] == program and (len(have), log["job"]["nprocs"], log["job"]["exe"]) != (3, 3, " ".join(command)):
            raise Failed("job: %d processes of '%s'" % (log["job"]["nprocs"], log["job"]["exe"]))


def compile_rows(case, *options):
    command = ["mpicc." + case.family, "-std=gnu17", "-DFAMILY_NAME=" + case.family, *options,
               "-I" + os.path.join(ROOT, "src"), os.path.join(HERE, "rows.c"), "-ldl", "-o", "rows"]  # fmt: skip
    return run(command, case.folder)


def case_rows(case):
    done = compile_rows(case)
    if done.returncode == 0:
        done = run(["./rows"], case.folder)
    print(done.stdout.strip())
    if done.returncode != 0:
        raise Failed(done.stdout + done.stderr)
    # every access that the header knows is a row
    header = run(["mpicc." + case.family, "-E", os.path.join(HERE, "rows.c"), "-I" + os.path.join(ROOT, "src"),
                  "-DFAMILY_NAME=" + case.family], case.folder).stdout  # fmt: skip
    known = set(re.findall(r"\bint\s+(MPI_File_(?:i?read|i?write|open|close|sync|set_view)\w*)\s*\(", header))
    with open(os.path.join(TABLE, "fn_mpi.def"), encoding="utf-8") as file:
        rows = set(re.findall(r"^FN_MPI\w?\s*\((\w+)", file.read(), re.M))
    if len(known) < 30 or known - rows:
        raise Failed("of %d calls these are no rows: %s" % (len(known), " ".join(sorted(known - rows))))


# (table, what is written there, what is put in its place): each makes a row wrong
WRONG = [
    ("fn_mpi.def", "(MPI_File_read_at, READ, INDEP, GIVEN, (rama_cap_handle, fh, FH), (int64_t, off, OFF), ",
     "(MPI_File_read_at, READ, INDEP, GIVEN, (rama_cap_handle, fh, FH), "),
    ("fn_mpi.def", "(MPI_File_sync, (rama_cap_handle, fh, FH))", "(MPI_File_sync, (void *, fh, NEWFH))"),
    ("fn_mpi.def", "(MPI_File_write, WRITE, INDEP, OWN, (rama_cap_handle, fh, FH), (const void *, buf, NONE), (int, count",
     "(MPI_File_write, WRITE, INDEP, OWN, (rama_cap_handle, fh, FH), (const void *, buf, NONE), (int64_t, count"),
    ("fn_mpi.def", "(MPI_File_set_size, (rama_cap_handle, fh, FH), (int64_t, size",
     "(MPI_File_set_size, (rama_cap_handle, fh, FH), (int, size"),
    ("fn_mpi.def", "(Comm_rank, (rama_cap_handle, comm, COMM)", "(Comm_rank, (rama_cap_handle, comm, FH)"),
    ("mpi_families.def", "HANDLE(COMM_WORLD, 0x44000000)", "HANDLE(COMM_WORLD, 0x44000001)"),
    ("mpi_families.def", "SYMBOL(BYTE, ompi_mpi_byte)", "SYMBOL(BYTE, ompi_mpi_char)"),
    ("mpi_families.def", "NUMBER(MODE_SEQUENTIAL, 256)", "NUMBER(MODE_SEQUENTIAL, 512)"),
    ("mpi_families.def", "4, 20, 8, 12,", "4, 20, 12, 8,"),
    ("mpi_families.def", '"Open MPI\\0", "ompi_mpi_comm_world", 8, 24, 0, 4', '"Open MPI\\0", "ompi_mpi", 8, 24, 0, 4'),
]  # fmt: skip


def case_wrong_rows(case):
    """A wrong row is found. Rows of the other family are not looked at."""
    other = {"openmpi": ("0x44000000", "4, 20, "), "mpich": ("ompi_mpi",)}[case.family]
    folder = os.path.join(case.folder, "table")
    os.makedirs(folder)
    for table, right, wrong in WRONG:
        if any(word in right for word in other):
            continue
        with open(os.path.join(TABLE, table), encoding="utf-8") as file:
            text = file.read()
        if right not in text:
            raise Failed("%s has no '%s'" % (table, right))
        with open(os.path.join(folder, table), "w", encoding="utf-8") as file:
            file.write(text.replace(right, wrong))
        done = compile_rows(case, "-I" + case.folder)
        if done.returncode == 0:
            done = run(["./rows"], case.folder)
        os.remove(os.path.join(folder, table))
        if done.returncode == 0:
            raise Failed("not found: '%s'" % wrong)


def judge_unknown(case, found, command, unknown):
    """Log and summary say that there was an MPI that nobody knows."""
    told = [pair["value"] for pair in found["job"]["metadata"] if pair["key"] == "iorama_mpi"]
    if told != (["unknown"] if unknown else []):
        raise Failed("the metadata say of the MPI: %s" % told)
    done = run([case.iorama, "run", "-f", "-o", "log.darshan", *command], case.folder,
               IORAMA_DIR=os.path.join(case.quiet, "seg"))  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.split()[:1] == ["MPI"]]
    if len(lines) != int(unknown):
        raise Failed("the summary says: %s" % done.stderr)


def case_fake(case, kind):
    """An MPI that keeps to the ABI of MPI 5, one that nobody knows, a program that asks whether there is one, and a
    module that brings its own."""
    compiler = os.environ.get("CC", "cc")
    source = os.path.join(HERE, "fake.c")
    library = [source, "-DLIBRARY", "-DKIND_" + kind, "-shared", "-fPIC", "-o", "libmpi_fake.so"]
    program = [source, "-L.", "-lmpi_fake", "-Wl,-rpath,$ORIGIN", "-o", "fake"]
    command = ["./fake", "word"]
    if kind == "none":
        library, program = None, [source, "-DKIND_none", "-o", "fake"]
    elif kind == "module":
        library = [source, "-DLIBRARY", "-DWITH_MAIN", "-DKIND_abi", "-Dmain=truth_main", "-shared", "-fPIC",
                   "-o", "it"]  # fmt: skip
        program = [os.path.join(HERE, "late.c"), "-ldl", "-o", "late"]
        command = ["./late", "./it"]
    for options in (library, program):
        done = run([compiler, "-O1", *options], case.folder) if options else None
        if done and done.returncode != 0:
            raise Failed(done.stderr)
    done = run([case.iorama, "run", "-q", "-f", "-o", "log.darshan", *command], case.folder,
               IORAMA_DIR=os.path.join(case.quiet, "seg"))  # fmt: skip
    if done.returncode != 0:
        raise Failed("status %d: %s" % (done.returncode, done.stderr))
    found, modules = case.log("--show-incomplete")
    records = modules.get("MPI-IO", [])
    if kind not in ("abi", "module"):
        if records:
            raise Failed("there are records of MPI-IO: %s" % records)
        judge_unknown(case, found, command, kind == "unknown")
        return
    where = os.path.join(case.folder, "data")
    truth = {"COLL_OPENS": 1, "MODE": 34, "HINTS": 1, "INDEP_WRITES": 2, "BYTES_WRITTEN": 30, "SIZE_WRITE_AGG_0_100": 2}
    wrong = compare_counters(["TRUTH 0 0 %s MPIIO_%s %d" % (where, c, v) for c, v in truth.items()], records)
    if wrong:
        raise Failed("\n".join(wrong))


def perform(case, name):
    if case.family == "fake":
        case_fake(case, name)
        return
    if name in TRUTHS:
        case_truth(case, name)
    else:
        globals()["case_" + name.replace("-", "_")](case)


if __name__ == "__main__":
    job.main([*job.of_families(OTHERS + TRUTHS), *FAKES], perform)
