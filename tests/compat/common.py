# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of this folder share: running the program, comparing texts, reporting."""
import argparse
import fnmatch
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, folder) for folder in ("lib", "gen")]
import family  # noqa: E402
import layout  # noqa: E402
from cases import SKIPPED, load_reader, shared_folder  # noqa: E402,F401

TOTALLED = ("POSIX", "MPI-IO", "STDIO", "DFS", "DAOS")
TRACES = ("DXT_POSIX", "DXT_MPIIO", "DXT_STDIO")
READER_TRACES = TRACES[:2]  # of the second reader, which knows Darshan's modules only

os.environ["TZ"] = "UTC"
time.tzset()


# ---- things outside the repository, which may be absent


def shared_logs(*names):
    """Logs of these folders of the shared folder."""
    shared = shared_folder()
    found = []
    for name in names:
        folder = os.path.join(shared, name) if shared else ""
        if os.path.isdir(folder):
            found += [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".darshan")]
    return found


# ---- running


class Result:
    def __init__(self, status, out, err):
        self.status = status
        self.out = out.decode("latin1")
        self.err = err.decode("latin1")

    def lines(self):
        return self.out.split("\n")[:-1] if self.out.endswith("\n") else self.out.split("\n")


def run(program, *arguments, timeout=60):
    try:
        done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        return Result("no end after %d s" % timeout, late.stdout or b"", late.stderr or b"")
    return Result(done.returncode, done.stdout, done.stderr)


def failed_run(result, log=None, reads_counters=True):
    """What is wrong with how the program ended, or None; `log` is what it was to read, if generated."""
    message = result.err.strip()[:300]
    if log and log.complaint:
        return None if result.status in (0, 3) else "exit status %s: %s" % (result.status, message)
    if result.status != 0:
        return "exit status %s: %s" % (result.status, message)
    left_out = log.left_out() if log and reads_counters else 0
    if left_out:
        told = re.search(r"POSIX: %d of \d+ records left out" % left_out, message) and "\n" not in message
        return None if told else "no word of %d records left out: %s" % (left_out, message)
    return "unexpected message: %s" % message if message else None


def in_parallel(function, items, processes=None):
    """Results in the order of the items."""
    try:
        pool = multiprocessing.Pool(processes or max(2, min(8, os.cpu_count() or 2)))
    except OSError:  # no shared memory for semaphores, as in some containers
        yield from map(function, items)
        return
    with pool:
        yield from pool.imap(function, items)


# ---- texts


def difference(ours, want, our_name="ours", want_name="want"):
    """The first line in which two lists of lines differ, or None."""
    for k, (a, b) in enumerate(zip(ours, want), 1):
        if a != b:
            a, b = around_difference(a, b)
            return "line %d differs\n  %-6s %r\n  %-6s %r" % (k, our_name, a, want_name, b)
    if len(ours) != len(want):
        longer, name = (ours, our_name) if len(ours) > len(want) else (want, want_name)
        first = min(len(ours), len(want))
        return "%d lines, not %d\n  %-6s %r" % (len(ours), len(want), name, longer[first][:200])
    return None


def around_difference(a, b):
    """Both lines, cut to the part that matters if they are long."""
    if max(len(a), len(b)) <= 200:
        return a, b
    at = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    first = max(0, at - 80)
    return tuple(("..." if first else "") + line[first : at + 80] for line in (a, b))


def counter_lines(lines):
    return [line for line in lines if line and not line.startswith("#")]


def banners(lines):
    """Modules that have a section, in order."""
    middle = " module data"
    return [line[2 : -len(middle)] for line in lines if line.startswith("# ") and line.endswith(middle)]


def warned(lines):
    """Modules that are said to be incomplete."""
    return [line.split()[3] for line in lines if line.startswith("# *WARNING*: The ")]


def trace_part(lines):
    """What follows the preamble of `show --dxt`; of a warning only the first line is kept."""
    for k, line in enumerate(lines):
        if line.startswith("# DXT_") and line.endswith(" module data"):
            return without_warning_text(lines[k - 2 :])
        if line.startswith("# no DXT module data"):
            return lines[k - 1 :]
    return []


def without_warning_text(lines):
    kept, skipping = [], False
    for line in lines:
        if skipping and line.startswith("# DXT, file_id"):
            kept.append("")
            skipping = False
        if not skipping:
            kept.append(line)
        skipping = skipping or line.startswith("# *WARNING*")
    return kept


def without_banners(lines):
    """The records of trace_part() alone."""
    kept, k = [], 0
    while k < len(lines):
        if lines[k : k + 2] == ["", "# " + "*" * 51]:
            k += 4
        elif k + 1 < len(lines) and lines[k + 1].startswith(("# *WARNING*", "# no DXT module data")):
            k += 2
        else:
            kept.append(lines[k])
            k += 1
    return kept


def preamble(lines):
    """From the version of the log to the last mount."""
    first = next((k for k, line in enumerate(lines) if line.startswith("# darshan log version: ")), 0)
    last = first
    for k in range(first, len(lines)):
        if lines[k].startswith(("# mounted file systems", "# mount entry:")):
            last = k + (1 if lines[k].startswith("# mounted") else 0)
    return lines[first : last + 1]


# ---- the second reader


def reader_knows(log):
    """It reads Darshan's own modules."""
    return not any(name in layout.OWN for name in log.regions) and not log.annex


def reader_records(reader, log, module):
    return list(reader.mdhim(log) if module == "MDHIM" else reader.records(log, module, False))


def reader_modules(reader, log):
    """Modules with data that the reader can show, without traces."""
    return [m for m in reader.MODS if m not in TRACES and m != "NULL" and log.map[reader.MODS.index(m)][1]]


def reader_counter_lines(reader, log):
    found = []
    for module in reader_modules(reader, log):
        for record in reader_records(reader, log, module):
            found += reader.base_lines(log, module, record)
    return found


def reader_trace_lines(reader, log):
    """The traces, without banners."""
    found = []
    for module in READER_TRACES:
        version = log.mver[reader.MODS.index(module)]
        swapped = log.e == ">" and version == (2 if module == "DXT_POSIX" else 3)
        for line in reader.dxt(log, module):
            found.append(unswap_thread(line) if swapped and line.startswith(" X_") else line)
    return found


def unswap_thread(line):
    """The reader imitates the original tool, which forgets the byte order of thread ids."""
    wrong = int(line.split()[-1])
    column = "%4d" % wrong
    assert line.endswith(" " + column)
    return line[: -len(column)] + "%4d" % int.from_bytes(wrong.to_bytes(8, "big"), "little")


def reader_totals(reader, log):
    """Lines of --total, --file and --perf."""
    found = []
    for module in TOTALLED:
        if not log.map[reader.MODS.index(module)][1]:
            continue
        records = reader_records(reader, log, module)
        for line in reader.agg(module, records) or zero_totals(reader, module):
            if line.startswith("total_DAOS_NB_OPS: "):  # forgotten by the original tool, and so by the reader
                line = "total_DAOS_NB_OPS: %d" % nb_ops(records)
            found.append(line)
        found += reader.derived(log, module, records)
    return found


def zero_totals(reader, module):
    """All records were left out."""
    name = reader.PFX[module]
    whole = ["total_%s: 0" % counter for counter in reader.NM[name + " int"]]
    return whole + ["total_%s: 0.000000" % counter for counter in reader.NM[name + " float"]]


def nb_ops(records):
    total = 0
    for record in records:
        total = max(-1, total + record.c[record.cn.index("DAOS_NB_OPS")])
    return total


FILE_KINDS = ("total", "read_only", "write_only", "read_write", "unique", "shared")
PERF_STARTS = ("# total_bytes: ", "# unique files: ", "# shared files: ", "# agg_time_by_", "# agg_perf_by_")


def total_lines(lines):
    """Lines of --total, --file and --perf in our text."""
    kinds = tuple("# %s: " % kind for kind in FILE_KINDS)
    return [
        line
        for line in lines
        if line.startswith("total_")
        or line.startswith(PERF_STARTS)
        or (line.startswith(kinds) and len(line.split()) == 5 and line.split()[2].isdigit())
    ]


# ---- reporting


class Tap:
    """One line per case, and what was wrong with it."""

    def __init__(self):
        self.count = self.failed = 0
        self.began = time.monotonic()

    def case(self, name, problems, note=""):
        self.count += 1
        self.failed += bool(problems)
        print("%sok %d %s%s" % ("not " if problems else "", self.count, name, " # " + note if note else ""))
        for problem in problems:
            print("  " + problem.replace("\n", "\n  "))
        sys.stdout.flush()

    def finish(self):
        print("1..%d" % self.count)
        print("# %d of %d failed, %.1f s" % (self.failed, self.count, time.monotonic() - self.began))
        return 1 if self.failed or not self.count else 0


# ---- tests over the generated family


def family_options(doc, prefix):
    """The command line of such a test, with what all of them need: tables, a folder, the names."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iorama", metavar="IORAMA")
    parser.add_argument("tables", metavar="TABLES", help="what `tablegen json` prints, in a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="PATTERN")
    parser.add_argument("--keep", action="store_true", help="keep the logs that failed")
    options = parser.parse_args()
    options.tables = layout.load_tables(options.tables)
    options.folder = tempfile.mkdtemp(prefix=prefix)
    options.reader = load_reader()
    names = [name for name, _ in family.plans(options.tables)]
    options.names = [log for log in names if not options.only or any(fnmatch.fnmatch(log, p) for p in options.only)]
    return options


def run_family(options, check, items):
    """`check` gives the name of an item and what is wrong with it. Returns the exit status."""
    tap = Tap()
    try:
        for name, problems in in_parallel(check, items):
            tap.case(name, problems)
    finally:
        if options.keep and tap.failed:
            print("# logs that failed are in " + options.folder)
        else:
            shutil.rmtree(options.folder)
    return tap.finish()
