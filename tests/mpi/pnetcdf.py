#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pnetcdf.py BUILD CASE...: programs that know what PnetCDF calls they make, observed with `iorama run`; what the
log says of them must be that. --list prints all cases. PnetCDF is used with the MPI that it was built for."""
import collections
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "capture")]
from harness import Log  # noqa: E402
from job import FAMILIES, HEADERS, RANKS, Failed, Skip, cases, run  # noqa: E402

TRUTHS = ("each", "values", "two", "grow", "failing", "many")
OTHERS = ("rows", "wrong-row", "late", "alone")
MODULES = ("PNETCDF_FILE", "PNETCDF_VAR")
# counters that the truth says completely: what it does not name is 0
COUNTED = re.compile(
    r"PNETCDF_FILE_(CREATES|OPENS|REDEFS|\w+_WAITS|SYNCS|WAIT_FAILURES)$"
    r"|PNETCDF_VAR_(OPENS|(INDEP|COLL|NB)_(READS|WRITES)|BYTES_\w+|[A-Z]?(PUT|GET)_VAR\w?)$"
)
# these do not add up over the ranks
SHAPE = re.compile(r"PNETCDF_VAR_(NDIMS|NPOINTS|DATATYPE_SIZE|IS_RECORD_VAR)$")
ACCESS = re.compile(r"\bncmpi_(?:[ib]?put|i?get)_var\w*(?=\s*\()")
WANTED = ("ncmpi_create", "ncmpi_open", "ncmpi_close", "ncmpi_enddef", "ncmpi_redef", "ncmpi_sync", "ncmpi_wait",
          "ncmpi_wait_all", "ncmpi_def_var", "ncmpi_inq_varid")  # fmt: skip


def header():
    for folder in ("/usr/include", "/usr/local/include"):
        if os.path.exists(os.path.join(folder, "pnetcdf.h")):
            return os.path.join(folder, "pnetcdf.h")
    raise Skip("pnetcdf.h is not installed")


class Case(cases.Built):
    def __init__(self, build, folder):
        super().__init__(build)
        self.folder = folder
        header()
        self.family = self.find_family()

    def compiles(self, family, *arguments):
        return run(["mpicc." + family, "-O1", "-I" + os.path.join(ROOT, "src"), *arguments], self.folder)

    def find_family(self):
        """The library is linked to the MPI that it was built for."""
        for family in FAMILIES:
            if not shutil.which("mpicc." + family) or not shutil.which("mpirun." + family):
                continue
            source = os.path.join(HERE, "pnetcdf_truth.c")
            command = ["mpicc." + family, "-O1", "-I" + os.path.join(ROOT, "src"), source, "-o", None, "-lpnetcdf"]
            try:
                self.compile_into(os.path.join(self.folder, "truth"), [source], command, [__file__, *HEADERS])
            except Failed:
                continue  # built for the other one
            linked = run(["ldd", "truth"], self.folder).stdout
            if len(set(re.findall(r"libmpi(?:ch)?\.so\S*", linked))) == 1:
                return family
        raise Skip("no MPI is installed that PnetCDF was built for")

    def observe(self, ranks, name, *command, data="data"):
        os.makedirs(os.path.join(self.folder, data), exist_ok=True)
        done = run([self.iorama, "run", "-q", "-f", "-o", "log.darshan", "mpirun." + self.family, "-n", str(ranks),
                    *(command or ("./truth",)), name, data], self.folder,
                   IORAMA_DIR=os.path.join(self.folder, "segments"), IORAMA_RECORDS="4096")  # fmt: skip
        if done.returncode != 0:
            raise Failed("%s: status %d: %s" % (name, done.returncode, done.stderr[-500:]))
        return done.stdout.splitlines()

    def judge(self, lines, ranks):
        truth = {module: collections.defaultdict(dict) for module in MODULES}
        for line in lines:
            words = line.split(" ")
            if words[0] == "TRUTH":
                truth[words[1]][words[2]][words[3]] = int(words[4])
        if not any(truth.values()):
            raise Failed("the program said nothing")
        log = Log(self.iorama, os.path.join(self.folder, "log.darshan"), False)
        wrong = []
        for module in MODULES:
            wrong += compare(truth[module], log.records(module), ranks)
        if wrong:
            raise Failed("%d ranks: %s" % (ranks, "\n  ".join(wrong[:30])))


def compare(truth, records, ranks):
    wrong, have = [], collections.Counter(record["name"] for record in records)
    for record in records:
        name, rank = record["name"], record["rank"]
        if name not in truth:
            wrong.append("%s is not to be in the log" % name)
            continue
        all_ranks = ranks if rank == -1 else 1
        for counter, value in record["counters"].items():
            want = truth[name].get(counter, 0)
            if COUNTED.match(counter):
                want *= all_ranks
            elif not SHAPE.match(counter):
                continue
            if int(value) != want:
                wrong.append("%s rank %d: %s is %s, not %s" % (name, rank, counter, value, want))
        have[name] += all_ranks - 1
    wrong += ["%s is there of %d ranks" % (name, have[name]) for name in truth if have[name] != ranks]
    return wrong


# ---- cases


def case_truth(case, name):
    for ranks in RANKS:
        case.judge(case.observe(ranks, name), ranks)
        if name == "grow":  # once more, by processes that have not made the file
            case.judge(case.observe(ranks, "old"), ranks)


def case_rows(case):
    """The rows agree with the header, with the mpi.h of each family, and no access of the header is missing."""
    source, tried = os.path.join(HERE, "pnetcdf_rows.c"), 0
    for family in FAMILIES:
        if shutil.which("mpicc." + family):
            done = case.compiles(family, "-Wall", "-Werror", source, "-o", "rows")
            if done.returncode != 0:
                raise Failed("%s: %s" % (family, done.stderr[:1000]))
            tried += 1
    if not tried:
        raise Skip("no MPI is installed")
    rows = run(["./rows"], case.folder).stdout.split()
    with open(header(), encoding="utf-8") as file:
        there = set(ACCESS.findall(file.read())) | set(WANTED)
    missing = sorted(there - set(rows))
    if missing or len(there) < 500 or len(rows) != len(set(rows)):
        raise Failed("%d functions, without rows: %s" % (len(there), missing[:9]))
    symbols = subprocess.run(["nm", "-D", "--defined-only", case.library], capture_output=True, text=True).stdout
    if symbols:
        absent = sorted(set(rows) - {line.split()[-1] for line in symbols.splitlines()})
        if absent:
            raise Failed("not in the library: %s" % absent[:9])


def case_wrong_row(case):
    """Rows that are wrong must not compile."""
    table = os.path.join(case.folder, "table")
    os.mkdir(table)
    shutil.copy(os.path.join(ROOT, "src", "table", "map.h"), table)
    with open(os.path.join(ROOT, "src", "table", "fn_pnetcdf.def"), encoding="utf-8") as file:
        rows = file.read()
    for old, new in (
        ("(int, mode, NONE), (rama_cap_handle, info, INFO)", "(rama_cap_handle, info, INFO), (int, mode, NONE)"),
        ("PART_VARS (const int64_t *, imap, START),", "PART_VARS"),
        ("(int, parts, PARTS)", "(int64_t, parts, PARTS)"),
        ("(_ushort,    unsigned short,", "(_ushort,    short,"),
        ("(int64_t, items, ROOM)", "(int, items, ROOM)"),
        ("NEED  (ncmpi_inq_dimlen, (int, ncid, NCID),", "NEED  (ncmpi_inq_dimlen,"),
    ):
        if rows.count(old) < 1:
            raise Failed("no row has %s" % old)
        with open(os.path.join(table, "fn_pnetcdf.def"), "w", encoding="utf-8") as file:
            file.write(rows.replace(old, new))
        done = run(["mpicc." + case.family, "-I.", "-fsyntax-only", os.path.join(HERE, "pnetcdf_rows.c")], case.folder)
        if done.returncode == 0:
            raise Failed("a wrong row is not seen: %s" % new)


def case_late(case):
    """PnetCDF that comes with a module by dlopen, out of sight of other libraries, as those of Python do."""
    done = case.compiles(case.family, "-shared", "-fPIC", "-Dmain=truth_main", os.path.join(HERE, "pnetcdf_truth.c"), "-o",
                         "truth.so", "-lpnetcdf")  # fmt: skip
    if done.returncode == 0:
        done = run(["cc", "-O1", os.path.join(HERE, "late.c"), "-ldl", "-o", "late"], case.folder)
    if done.returncode != 0:
        raise Failed(done.stderr[:1000])
    case.judge(case.observe(2, "two", "./late", "./truth.so"), 2)


def case_alone(case):
    """Without mpirun it is an MPI job of one."""
    os.mkdir(os.path.join(case.folder, "data"))
    done = run([case.iorama, "run", "-q", "-f", "-o", "log.darshan", "./truth", "values", "data"], case.folder,
               IORAMA_DIR=os.path.join(case.folder, "segments"))  # fmt: skip
    if done.returncode != 0:
        raise Failed(done.stderr[-500:])
    case.judge(done.stdout.splitlines(), 1)


def perform(build, name):
    with cases.folders(build, "pnetcdf") as (folder, _):
        case = Case(build, folder)
        if name in TRUTHS:
            case_truth(case, name)
        else:
            globals()["case_" + name.replace("-", "_")](case)


if __name__ == "__main__":
    cases.main((*TRUTHS, *OTHERS), perform)
