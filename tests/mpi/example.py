#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""example.py BUILD FAMILY: examples/checkpoint.c, compiled without a warning, writes the same file the bad and the
good way, and the log of each says what it did; the numbers follow from the constants in its source."""
import os
import re
import sys

sys.dont_write_bytecode = True
import job as mpi  # noqa: E402

SOURCE = os.path.join(mpi.ROOT, "examples", "checkpoint.c")
RANKS = 4
STRICT = ("-std=c17", "-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Wstrict-prototypes", "-Wmissing-prototypes",
          "-Werror")  # fmt: skip


def constants():
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    return text, {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)", text, re.M)}


def expected(c):
    """What all ranks do together, by way and counter."""
    grid, saved = 8 * c["CELLS"] ** 2, c["STEPS"] // c["EVERY"]
    bad = {
        "STDIO_READS": c["CELLS"] ** 2, "STDIO_BYTES_READ": grid, "MPIIO_INDEP_OPENS": RANKS * saved,
        "MPIIO_INDEP_WRITES": saved * c["CELLS"] * -(-c["CELLS"] // c["PIECE"]), "MPIIO_BYTES_WRITTEN": grid * saved,
        "MPIIO_COLL_OPENS": 0, "MPIIO_COLL_WRITES": 0, "MPIIO_COLL_READS": 0, "MPIIO_VIEWS": 0,
    }  # fmt: skip
    good = {
        "MPIIO_INDEP_OPENS": 0, "MPIIO_INDEP_READS": 0, "MPIIO_INDEP_WRITES": 0, "MPIIO_COLL_OPENS": 2 * RANKS,
        "MPIIO_COLL_READS": RANKS, "MPIIO_COLL_WRITES": RANKS * saved, "MPIIO_VIEWS": 2 * RANKS,
        "MPIIO_BYTES_READ": grid, "MPIIO_BYTES_WRITTEN": grid * saved, "STDIO_READS": 0,
    }  # fmt: skip
    return {"bad": bad, "good": good}, grid * saved


def totals(case, file):
    """Sums over ranks and modules, of one file if it is named."""
    found = {}
    for records in case.log()[1].values():
        for record in records:
            if file is None or os.path.basename(record["name"] or "") == file:
                for counter, value in record["counters"].items():
                    if isinstance(value, str):  # names, as of commands
                        continue
                    found[counter] = found.get(counter, 0) + value
    return found


def execute(case, *words):
    done = mpi.run(["mpirun." + case.family, "-n", str(RANKS), *words], case.folder)
    return done.returncode, done.stdout + done.stderr


def check_way(case, way, want, size):
    options = ["--good"] if way == "good" else []
    done = mpi.run([case.iorama, "run", "-q", "-f", "-o", "log.darshan", "mpirun." + case.family, "-n", str(RANKS),
                    "./checkpoint", *options], case.folder, IORAMA_DIR=os.path.join(case.quiet, "seg"))  # fmt: skip
    if done.returncode != 0 or "the %s way" % way not in done.stdout:
        raise mpi.Failed("status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    have = totals(case, None)
    wrong = ["%s is %s, not %d" % (c, have.get(c, 0), v) for c, v in want.items() if have.get(c, 0) != v]
    file = totals(case, "checkpoints.bin")
    if file.get("POSIX_BYTES_WRITTEN") != size:
        wrong.append("POSIX_BYTES_WRITTEN of the checkpoints is %s" % file.get("POSIX_BYTES_WRITTEN"))
    if wrong:
        raise mpi.Failed("the %s way: %s" % (way, "; ".join(wrong)))
    with open(os.path.join(case.folder, "checkpoints.bin"), "rb") as stream:
        return file, stream.read()


def check_verify(case, text):
    """It finds a program that leaves something out."""
    spoilt = os.path.join(case.folder, "spoilt.c")
    with open(spoilt, "w", encoding="utf-8") as file:
        file.write(text.replace("col += PIECE", "col += PIECE + 1"))
    case.compile("spoilt", spoilt, *STRICT)
    for program, options, right in (("spoilt", [], False), ("checkpoint", ["--good"], True), ("checkpoint", [], True)):
        status, said = execute(case, "./" + program, *options, "--verify")
        if (status == 0) != right or (" 0 rows" in said) != right or "verified" not in said:
            raise mpi.Failed("%s %s: status %d: %s" % (program, options, status, said))


def perform(case):
    text, known = constants()
    ways, size = expected(known)
    case.compile("checkpoint", SOURCE, *STRICT)
    check_verify(case, text)  # makes the input, too
    with open(os.path.join(case.folder, "checkpoints.bin"), "rb") as stream:
        verified = stream.read()
    posix = {}
    for way, want in ways.items():
        posix[way], written = check_way(case, way, want, size)
        if written != verified or len(written) != size:
            raise mpi.Failed("the %s way writes something else: %d bytes" % (way, len(written)))
    many, few = posix["bad"]["POSIX_WRITES"], posix["good"]["POSIX_WRITES"]
    small, aligned = posix["bad"]["POSIX_FILE_NOT_ALIGNED"], posix["good"]["POSIX_FILE_NOT_ALIGNED"]
    print("POSIX writes: %d and %d, not aligned: %d and %d" % (many, few, small, aligned))
    if many < 1000 * few or small < 0.9 * many or aligned != 0:
        raise mpi.Failed("the good way is not better")


if __name__ == "__main__":
    mpi.main(mpi.of_families(("example",)), lambda case, _: perform(case), "example")
