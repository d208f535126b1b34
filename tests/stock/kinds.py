#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kinds.py BUILD KIND...: every kind of log that we write is one that the released Darshan tools open. --list prints all.

For each kind: a program that says what it did is observed (or a log is made in another way); tests/gen/stock.py, which
knows nothing of our code, and the site's own check, if it is there, must have nothing against the log; and what is
ours must be in its annex: the bytes that the program wrote, its threads, its processes."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("lib", "gen")]
import cases  # noqa: E402
import stock  # noqa: E402
from cases import ROOT, TIMEOUT, Failed, Skip, need  # noqa: E402

STDIO, PROCESS, EXTRA, POSIX_THREADS, MPIIO_THREADS, CALLS, PHASES = 48, 49, 50, 51, 52, 53, 54
PLAIN, TRACED = {PROCESS, EXTRA}, {STDIO, PROCESS, EXTRA, POSIX_THREADS, CALLS}
# iorama run knows places in the program
PLACES = {55} if os.uname().machine == "x86_64" else set()
RUN, RUN_TRACED = PLAIN | PLACES, TRACED | PLACES
MANY = 1024  # files per rank


class Uncompiled(Failed):
    """The program does not compile, which may be for want of a library."""


class Place(cases.Built):
    """Where one kind of log is made."""

    def __init__(self, build, folder, quiet):
        super().__init__(build)
        self.folder, self.quiet = folder, quiet
        self.out = ""  # what the program said

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command, status=(0,), **extra):
        keep = cases.environment(IORAMA_DIR=os.path.join(self.quiet, "segments"), PWD=self.folder, **extra)
        done = subprocess.run(command, cwd=self.folder, env=keep, capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode not in status:
            raise Failed("%s: status %d: %s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
        return done

    def compile(self, compiler="cc", *options):
        compiler = os.environ.get("CC", "cc") if compiler == "cc" else compiler
        need(compiler)
        done = self.run(compiler, "-std=gnu17", "-O1", "-Wall", os.path.join(HERE, "work.c"), "-o", "work", "-pthread",
                        *options, status=(0, 1))  # fmt: skip
        if done.returncode:
            raise Uncompiled(done.stderr)
        return "./work"

    def one_log(self):
        """The log that bare preload left."""
        logs = os.listdir(self.path("logs"))
        if len(logs) != 1:
            raise Failed("logs are %s" % logs)
        return os.path.join("logs", logs[0])

    def bare(self, *command, **extra):
        os.makedirs(self.path("logs"), exist_ok=True)
        done = self.run(*command, LD_PRELOAD=self.library, IORAMA_LOG_DIR=self.path("logs"), **extra)
        self.out += done.stdout
        return self.one_log

    def observe(self, *command, options=(), status=(0,), **extra):
        done = self.run(self.iorama, "run", "-q", "-f", *options, "-o", "run.darshan", "--", *command, status=status, **extra)
        self.out += done.stdout
        return "run.darshan"


# ---- what is in a log


def shown(place, log, *options):
    done = place.run(place.iorama, "show", "--json", "--show-incomplete", *options, log)
    if "annex" in done.stderr or "not known" in done.stderr:
        raise Failed("show says: %s" % done.stderr)
    return {m["module"]: m for m in json.loads(done.stdout)["logs"][0]["modules"]}


def check(place, log, sections, threads=None, bytes_too=True, incomplete=False):
    """Nothing wrong with it, these sections in its annex, and the truth in it, unless it may say that it is incomplete."""
    wrong = ["stock: " + line for line in stock.refusals(place.path(log))]
    site_check = cases.shared_tool("stock-check")  # one that is not ours
    if site_check:
        done = place.run(sys.executable, site_check, log, status=(0, 1))
        wrong += ["stock-check: " + line for line in done.stdout.splitlines() if done.returncode]
    if wrong:
        raise Failed("\n".join(wrong))
    if stock.sections(place.path(log)) != set(sections):
        raise Failed("sections are %s, not %s" % (sorted(stock.sections(place.path(log))), sorted(sections)))
    modules = shown(place, log)
    said = [tuple(map(int, found)) for found in re.findall(r"^wrote (\d+) read (\d+) threads (\d+)$", place.out, re.M)]
    if bytes_too and not (modules["POSIX"]["incomplete"] and incomplete):
        if not said:
            raise Failed("the program said nothing: %s" % place.out)
        for counter, want in (("WRITTEN", sum(s[0] for s in said)), ("READ", sum(s[1] for s in said))):
            have = sum(r["counters"]["POSIX_BYTES_" + counter] for r in modules["POSIX"]["records"]
                       if os.path.basename(r["name"] or "").startswith("own."))  # fmt: skip
            if have != want:
                raise Failed("POSIX_BYTES_%s is %d, not %d" % (counter, have, want))
    if threads is not None:
        have = {}
        for record in shown(place, log, "--dxt")["DXT_POSIX"]["records"]:
            if os.path.basename(record["name"] or "").startswith("own."):
                have.setdefault(record["rank"], set()).update(s[4] for k in ("writes", "reads") for s in record.get(k, []))
        if {rank: len(ids) for rank, ids in have.items()} != threads or any("0" in ids for ids in have.values()):
            raise Failed("threads are %s, not %s" % (have, threads))
    return modules


# ---- kinds without MPI


def kind_preload(place):
    log = place.bare(place.compile(), "5", "1")()
    check(place, log, PLAIN)


def kind_preload_trace(place):
    log = place.bare(place.compile(), "9", "3", IORAMA_TRACE="1")()
    check(place, log, TRACED, {0: 3})


def kind_run(place):
    log = place.observe(place.compile(), "5", "1")
    check(place, log, RUN)


def kind_run_trace(place):
    log = place.observe(place.compile(), "9", "4", options=["--trace"])
    check(place, log, RUN_TRACED, {0: 4})


def kind_processes(place):
    log = place.observe(place.compile(), "6", "2", "child", options=["--trace"])
    check(place, log, RUN_TRACED, {0: 2, 1: 2})


def kind_static(place):
    flags = place.run(place.iorama, "config", "--static-ldflags").stdout.split()
    place.compile("cc", "-static", *flags)
    os.makedirs(place.path("logs"))
    place.out = place.run("./work", "6", "2", IORAMA_LOG_DIR=place.path("logs"), IORAMA_TRACE="1").stdout
    check(place, place.one_log(), TRACED, {0: 2})


def kind_hdf5(place):
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5-serial"], capture_output=True, text=True)
    if found.returncode != 0:
        raise Skip("hdf5-serial is not installed")
    place.compile("cc", "-DWITH_HDF5", *found.stdout.split())
    log = place.observe("./work", "3", "1", options=["--trace"])
    modules = check(place, log, RUN_TRACED)
    if not {"H5F", "H5D"} <= set(modules):
        raise Failed("modules are %s" % sorted(modules))


def kind_killed(place):
    """`run` lives and makes the log of a process that was killed."""
    log = place.observe(place.compile(), "6", "2", "kill", options=["--trace"], status=(137,))
    check(place, log, RUN_TRACED, {0: 2})


def kind_recovered(place):
    place.compile()
    os.makedirs(place.path("logs"))
    done = place.run("./work", "6", "2", "kill", status=(-9,), LD_PRELOAD=place.library, IORAMA_TRACE="1",
                     IORAMA_LOG_DIR=place.path("logs"))  # fmt: skip
    place.out = done.stdout
    place.run(place.iorama, "recover", "-q", "-o", "recovered.darshan", os.path.join(place.quiet, "segments"),
              status=(0, 1))  # fmt: skip
    check(place, "recovered.darshan", TRACED, {0: 2})


def kind_incomplete(place):
    """The trace has room for some of it only."""
    log = place.observe(place.compile(), "9000", "1", options=["--trace"], IORAMA_TRACE_MEMORY="64K", IORAMA_RECORDS="16")
    modules = check(place, log, stock.sections(place.path(log)) | {PROCESS, POSIX_THREADS}, bytes_too=False)
    traces = shown(place, log, "--dxt")
    if not any(m["incomplete"] for m in [*modules.values(), *traces.values()]):
        raise Failed("nothing is marked incomplete")


def kind_merged(place):
    place.compile()
    logs = []
    for number in range(2):
        place.bare("./work", "6", "2", IORAMA_TRACE="1")
        logs = sorted(os.listdir(place.path("logs")))
        if len(logs) != number + 1:
            raise Failed("logs are %s" % logs)
    place.run(place.iorama, "merge", "-q", "--renumber", "--any-job", "--no-reduce", "-o", "merged.darshan",
              *[os.path.join("logs", log) for log in logs])  # fmt: skip
    check(place, "merged.darshan", TRACED, {0: 2, 1: 2})


def kind_converted(place):
    log = place.observe(place.compile(), "6", "2", options=["--trace"])
    for options, sections in (((), RUN_TRACED), (("-z", "bzip2"), RUN_TRACED), (("-z", "none"), RUN_TRACED),
                              (("--anonymize", "--key", "k"), RUN_TRACED), (("-m", "POSIX,DXT_POSIX"), {POSIX_THREADS}),
                              (("-m", "PROCESS"), {PROCESS}), (("--rank", "7"), {STDIO, PROCESS, EXTRA, CALLS} | PLACES),
                              (("--released",), set())):  # fmt: skip
        place.run(place.iorama, "convert", "-q", "-f", *options, log, "-o", "converted.darshan")
        named = not options or options[0] == "-z"
        check(place, "converted.darshan", sections, {0: 2} if named else None, bytes_too=named or "--released" in options)


def kind_old(place):
    """A log as we wrote them once, with modules 48 to 50 in its header, becomes one of today."""
    import family
    import layout

    tables = layout.load_tables(os.path.join(place.build, "tables.json"))
    for name in ("all-3.41-le-zlib", "all-3.41-be-none", "release-next-3.41-le"):
        (log,) = family.family(tables, 1, [name])
        with open(place.path("old.darshan"), "wb") as stream:
            stream.write(layout.build_log(log))
        if not stock.refusals(place.path("old.darshan")):
            raise Failed("%s was good before" % name)
        before = place.run(place.iorama, "show", "--quiet", "--all", "old.darshan").stdout
        place.run(place.iorama, "convert", "-q", "-f", "old.darshan", "-o", "new.darshan")
        own = {STDIO, PROCESS, EXTRA, CALLS, PHASES, 55} if name.startswith("all-") else set()
        check(place, "new.darshan", own | {POSIX_THREADS, MPIIO_THREADS}, bytes_too=False)
        after = place.run(place.iorama, "show", "--quiet", "--all", "new.darshan").stdout
        counters = [[line for line in text.splitlines() if "\t" in line and line[0] != "#"] for text in (before, after)]
        if counters[0] != counters[1]:
            raise Failed("%s: counters are others" % name)


def kind_api(place):
    """libiorama-log, with a trace whose segments name threads."""
    for name, source in (("writelog", os.path.join(ROOT, "examples", "writelog.c")), ("api", os.path.join(HERE, "api.c"))):
        compiler = os.environ.get("CC", "cc")
        place.run(compiler, "-I", os.path.join(ROOT, "include"), source, "-o", name, "-L", os.path.join(place.build, "lib"),
                  "-liorama-log", "-Wl,-rpath," + os.path.join(place.build, "lib"))  # fmt: skip
        place.run("./" + name, name + ".darshan")
    check(place, "writelog.darshan", set(), bytes_too=False)
    modules = check(place, "api.darshan", {EXTRA, POSIX_THREADS}, bytes_too=False)
    if not modules["EXTRA"]["incomplete"] or modules["POSIX"]["incomplete"]:
        raise Failed("another module is incomplete")
    (record,) = shown(place, "api.darshan", "--dxt")["DXT_POSIX"]["records"]
    if [s[4] for s in record["writes"] + record["reads"]] != ["11", "11", "22"]:
        raise Failed("threads are others: %s" % record)


def kind_stored(place):
    """A store keeps logs as they are, byte for byte, and rows of what is in the annex."""
    log = place.observe(place.compile(), "6", "2", "child", options=["--trace"])
    place.run(place.iorama, "index", "-q", "--store", "store.db", log)
    with open(place.path(log), "rb") as stream:
        want = stream.read()
    with contextlib.closing(sqlite3.connect(place.path("store.db"))) as base:
        tables = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = [value for table in tables for row in base.execute('SELECT * FROM "%s"' % table) for value in row
                if isinstance(value, bytes) and len(value) == len(want)]  # fmt: skip
        extra = base.execute("SELECT count(*) FROM counters_extra").fetchone()[0]
    if kept != [want]:
        raise Failed("the store keeps %d logs of that size" % len(kept))
    if extra == 0:
        raise Failed("counters of the annex are not in the store")
    with open(place.path("kept.darshan"), "wb") as stream:
        stream.write(kept[0])
    check(place, "kept.darshan", RUN_TRACED, {0: 2, 1: 2})


def kind_emulated(place):
    """What an emulated workload leaves, observed."""
    os.makedirs(place.path("data"))
    log = place.observe(place.iorama, "emulate", "app", "-q", "--write_input_dirs", place.path("data"),
                        "--write_filenames", "out", "--write_block_size", "4KiB", options=["--trace"])  # fmt: skip
    check(place, log, stock.sections(place.path(log)) | {PROCESS}, bytes_too=False)


# ---- kinds with MPI


def mpi(place, family, files, threads, trace, *options):
    """A job of three ranks, preloaded: its ranks write the log together."""
    place.compile("mpicc." + family, "-DWITH_MPI", *options)
    os.makedirs(place.path("logs"))
    extra = {"IORAMA_TRACE": "1"} if trace else {}
    job = ["mpirun." + family, "-n", "3"]
    if family == "openmpi":
        for name in ["LD_PRELOAD", "IORAMA_LOG_DIR", *extra]:
            job += ["-x", name]
    done = place.run("env", "LD_PRELOAD=" + place.library, *job, "./work", str(files), str(threads),
                     IORAMA_LOG_DIR=place.path("logs"), **extra)  # fmt: skip
    place.out = done.stdout
    found = [name for name in os.listdir(place.path("logs")) if "_work_" in name]
    if len(found) != 1:
        raise Failed("logs are %s" % os.listdir(place.path("logs")))
    return os.path.join("logs", found[0])


def check_mpi(place, log, threads=None, **more):
    sections = TRACED | {MPIIO_THREADS} if threads else PLAIN
    modules = check(place, log, sections, {rank: threads for rank in range(3)} if threads else None, **more)
    if len(modules["PROCESS"]["records"]) != 3 or "MPI-IO" not in modules:
        raise Failed("modules are %s" % sorted(modules))


def of_family(family):
    def plain(place):
        check_mpi(place, mpi(place, family, 5, 1, False))

    def traced(place):
        check_mpi(place, mpi(place, family, 9, 3, True), threads=3)

    def many(place):
        check_mpi(place, mpi(place, family, MANY, 1, False), incomplete=True)

    def run(place):
        place.compile("mpicc." + family, "-DWITH_MPI")
        log = place.observe("mpirun." + family, "-n", "3", "./work", "9", "2", options=["--trace"])
        check(place, log, RUN_TRACED | {MPIIO_THREADS}, {rank: 2 for rank in range(3)})

    return {family: plain, family + "-trace": traced, family + "-many": many, family + "-run": run}


def kind_pnetcdf(place):
    """With the MPI that the library was built for."""
    for family in ("openmpi", "mpich"):
        try:
            log = mpi(place, family, 3, 1, True, "-DWITH_PNETCDF", "-lpnetcdf")
        except Uncompiled:
            continue
        have = stock.sections(place.path(log))
        modules = check(place, log, have | {PROCESS, POSIX_THREADS})
        if not {"PNETCDF_FILE", "PNETCDF_VAR"} <= set(modules):
            raise Failed("modules are %s" % sorted(modules))
        return
    raise Skip("no PnetCDF that works with an MPI here")


KINDS = {name[5:].replace("_", "-"): kind for name, kind in list(globals().items()) if name.startswith("kind_")}
for _family in ("openmpi", "mpich"):
    KINDS.update(of_family(_family))


def perform(build, name):
    with cases.folders(build, "stock") as (folder, quiet):
        KINDS[name](Place(build, folder, quiet))


if __name__ == "__main__":
    cases.main(KINDS, perform)
