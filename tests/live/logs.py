# SPDX-License-Identifier: BSD-3-Clause
"""Logs for the tests of index, jobs, report --store and docs/python.md: made by tests/gen and tests/cli/logs.py, which know what
is in them without any code of ours."""
import os
import random
import subprocess
import sys

import harness

TESTS = os.path.join(harness.ROOT, "tests")
for folder in ("cli", "gen"):
    sys.path.insert(0, os.path.join(TESTS, folder))
# a module called logs is this one: that of tests/cli is loaded by its path
import importlib.util  # noqa: E402

from layout import load_tables  # noqa: E402

_spec = importlib.util.spec_from_file_location("cli_logs", os.path.join(TESTS, "cli", "logs.py"))
cli_logs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cli_logs)

CORPUS = os.path.join(os.path.dirname(harness.ROOT), "shared", "corpus")
SMALL_BINS = ("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M")


def tables_of(case):
    path = os.path.join(case.build, "tables.json")
    if not os.path.exists(path):
        raise harness.Skip("tables.json was not built")
    return path


def family(case, *only):
    """Generated logs with their truth; the folder."""
    folder = case.path("family")
    words = [sys.executable, os.path.join(TESTS, "gen", "loggen.py"), "--tables", tables_of(case), "--out", folder]
    for pattern in only:
        words += ["--only", pattern]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return folder


def maker(case, folder):
    os.makedirs(folder, exist_ok=True)
    return cli_logs.Maker(load_tables(tables_of(case)), folder)


def cli_family(case):
    """The logs of the tests of the command line: slow ones, calm ones, damaged ones, strange names."""
    folder = case.path("cli")
    os.makedirs(folder)
    cli_logs.make_all(load_tables(tables_of(case)), folder)
    return folder


def site(case, folder, count, seed=1):
    """Small logs of many users, named as sites name them; returns what is true of each, by path."""
    rng = random.Random(seed)
    make = maker(case, folder)
    truth = {}
    for n in range(count):
        user, program, ranks = "user%d" % rng.randrange(5), "prog%d" % rng.randrange(4), rng.choice((1, 2, 4))
        start = 1700000000 + 3600 * n
        seconds = rng.randrange(10, 400)
        name = "%s_%s_id%d_x-%04d" % (user, program, 9000 + n, n)
        log = make.log(name, nprocs=ranks, jobid=9000 + n, uid=1000 + int(user[4:]), start=start, end=start + seconds,
                       exe=("/apps/%s -i %d" % (program, n)).encode())  # fmt: skip
        row = {"user": user, "name": program, "ranks": ranks, "jobid": 9000 + n, "start": start, "end": start + seconds,
               "bytes_read": 0, "bytes_written": 0, "opens": 0, "small_writes": 0, "reads": 0, "writes": 0, "files": 0}  # fmt: skip
        for rank in range(ranks):
            for file in range(rng.randrange(1, 4)):
                counts = [rng.randrange(0, 5000) if rng.random() < 0.5 else 0 for _ in SMALL_BINS]
                large, reads = rng.randrange(0, 20), rng.randrange(0, 50)
                written, read = sum(counts) * 64 + large * 2**22, reads * 2**20
                values = {"POSIX_SIZE_WRITE_" + b: c for b, c in zip(SMALL_BINS, counts)}
                values.update(POSIX_WRITES=sum(counts) + large, POSIX_SIZE_WRITE_4M_10M=large, POSIX_READS=reads,
                              POSIX_SIZE_READ_1M_4M=reads, POSIX_OPENS=1 + file, POSIX_F_WRITE_TIME=rng.random() * seconds / 4,
                              POSIX_F_OPEN_START_TIMESTAMP=0.5, POSIX_F_CLOSE_END_TIMESTAMP=float(seconds) - 0.5)  # fmt: skip
                path = b"/scratch/run%d/out.%d.%d" % (n, rank, file)
                make.add(log, "POSIX", path, rank, {**cli_logs.posix(read=read, written=written, time=0.25), **values})
                row["bytes_read"] += read
                row["bytes_written"] += written
                row["opens"] += 1 + file
                row["small_writes"] += sum(counts)
                row["reads"] += reads
                row["writes"] += sum(counts) + large
                row["files"] += 1
        make.write(log)
        truth[os.path.join(folder, name + ".darshan")] = row
    return truth
