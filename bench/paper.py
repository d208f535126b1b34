# SPDX-License-Identifier: BSD-3-Clause
"""The evaluation of the Wemul paper (PDSW 2020, table I, figures 5 and 6), scaled to one machine: bench/paper.py IORAMA [FOLDER]

Each experiment is called with the paper's own options, five times (--repeat 5), with 1 and 2 "nodes" of two ranks each; a file of 32 GiB there is
one of 4 MiB here, a data set of 320 GiB one of 40 MiB. Prints the tables of docs/emulate.md: mean and standard error of bandwidth and I/O time.
For each experiment the same I/O is also done by a plain program without emulate (the original): its bandwidth stands beside."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

NODES, PER_NODE, RUNS = (1, 2), 2, 5
UNIT = 4 << 20  # for 32 GiB
BLOCK = UNIT // 128  # for 256 MiB
HERE = os.path.dirname(os.path.abspath(__file__))

# one process of the original: ["w" or "r", FILE, BYTES, OFFSET]…; prints seconds of reading and writing
PROGRAM = """
import json, os, sys, time
block, data = %d, bytearray(b"x" * %d)
took = {"r": 0.0, "w": 0.0}
for what, name, size, offset in json.loads(sys.argv[1]):
    fd = os.open(name, os.O_RDONLY if what == "r" else os.O_RDWR | os.O_CREAT)
    os.lseek(fd, offset, os.SEEK_SET)
    left, began = size, time.monotonic()
    while left > 0:
        left -= os.readv(fd, [data]) if what == "r" else os.write(fd, data)
    if what == "w":
        os.fsync(fd)
    took[what] += time.monotonic() - began
    os.close(fd)
print(json.dumps(took))
""" % (BLOCK, BLOCK)


def emulate(iorama, folder, ranks, *words):
    done = subprocess.run([iorama, "emulate", *map(str, words), "--input_dir", folder, "--ranks", str(ranks), "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def original(folder, steps):
    """Mean and standard error of as many runs."""
    runs = [once(folder, steps) for _ in range(RUNS)]
    return {k: (statistics.mean(r[k] for r in runs), statistics.stdev(r[k] for r in runs) / RUNS**0.5) for k in runs[0]}


def once(folder, steps):
    """Stages of [[(what, file, bytes), …] for each process]; bandwidth as the paper has it: bytes / time of the process that had most."""
    moved, longest = {"r": 0, "w": 0}, {"r": 0.0, "w": 0.0}
    for stage in steps:
        for name in {os.path.join(folder, f) for mine in stage for w, f, *_ in mine if w == "w"}:
            if os.path.exists(name):  # emulate makes files anew, too
                os.unlink(name)
        running = []
        for mine in stage:
            mine = [(w, os.path.join(folder, f), n, *(at or [0])) for w, f, n, *at in mine]
            for what, _, size, _ in mine:
                moved[what] += size
            running.append(subprocess.Popen([sys.executable, "-c", PROGRAM, json.dumps(mine)], stdout=subprocess.PIPE))
        worst = {"r": 0.0, "w": 0.0}
        for process in running:
            took = json.loads(process.communicate()[0])
            worst = {k: max(worst[k], took[k]) for k in worst}
        longest = {k: longest[k] + worst[k] for k in longest}
    return {k: moved[k] / longest[k] if longest[k] else 0 for k in moved}


def dl(ranks):
    files = [("s%d" % i, 1 << 18) for i in range(160)]
    words = ["--subtype", "dl", "--make_files", 160, "--make_size", 1 << 18, "--make_dirs", 4, "--num_epochs", 3, "--comp_time_per_epoch", 0]
    first = [[[("w", f, n) for f, n in files]]]
    return words, first, [[[("r", f, n) for f, n in files[r::ranks]] for r in range(ranks)] for _ in range(3)]


def pc(ranks):
    half = max(1, ranks // 2)
    words = ["--subtype", "pc", "--block_size", BLOCK, "--segment_count", 128, "--ranks_per_node", 1, "--inter_node"]
    return words, [], [[[("w", "f%d" % i, UNIT)] for i in range(half)], [[("r", "f%d" % i, UNIT)] for i in range(half)]]


def cr(ranks):
    words = ["--subtype", "cr", "--block_size", BLOCK, "--segment_count", 128, "--ck_error_rate", 10, "--checkpointing_interval", 0, "--num_ck_iter",
             5, "--num_ck_ranks", 1, "--seed", 2]  # fmt: skip
    return words, [], [[[("w", "c%d" % i, UNIT)]] for i in range(5)] + [[[("r", "c4", UNIT)] for _ in range(ranks)]]


def dag(ranks):
    del ranks
    words = ["--subtype", "dag", "--dag_file", os.path.join(HERE, "..", "examples", "cmp2.paper"), "--bytes", "1/4", "--time", "0"]
    return words, None, None


def row(name, ranks, found, peer):
    runs = found["repeated"]
    out = ["%s, %d ranks" % (name, ranks)]
    for key, side in (("read_bandwidth", "r"), ("write_bandwidth", "w")):
        mean, error = runs[key]["mean"] / 1e6, runs[key]["standard_error"] / 1e6
        out.append("%.0f ± %.0f" % (mean, error) if mean else "–")
        out.append("%.0f ± %.0f" % (peer[side][0] / 1e6, peer[side][1] / 1e6) if peer and peer[side][0] else "–")
    out.append("%.3f ± %.3f" % (runs["seconds"]["mean"], runs["seconds"]["standard_error"]))
    print("| " + " | ".join(out) + " |", flush=True)


def application(iorama, folder, ranks):
    """Three programs after each other: shared, a file for each process, shared."""
    half = max(1, ranks // 2)
    one, two, three = (":".join("%s%d" % (s, i) for i in range(n)) for s, n in (("a", half), ("b", ranks), ("c", half)))
    whole = ["--block_size", BLOCK, "--segment_count", 128, "--repeat", RUNS]
    own = ["--segment_count", 64, "--block_size", BLOCK, "--repeat", RUNS]
    stages = [["--subtype", "app", "--write_filenames", one, *whole],
              ["--subtype", "app", "--read_filenames", one, "--read_segment_count", 128, "--write_filenames", two, "--file_per_process_write", *own],
              ["--subtype", "app", "--read_filenames", two, "--file_per_process_read", "--read_segment_count", 64, "--write_filenames", three, *whole]]
    part = UNIT // ranks
    shared = lambda what, name, r: [(what, "%s%d" % (name, i), part, r * part) for i in range(half)]  # noqa: E731
    plain = [[shared("w", "x", r) for r in range(ranks)],
             [shared("r", "x", r) + [("w", "y%d" % r, UNIT // 2)] for r in range(ranks)],
             [[("r", "y%d" % r, UNIT // 2)] + shared("w", "z", r) for r in range(ranks)]]  # fmt: skip
    for number, words in enumerate(stages):
        found = emulate(iorama, folder, ranks, *words)
        row("application, stage %d" % (number + 1), ranks, found, original(folder, plain[number : number + 1]))


def main():
    iorama = os.path.abspath(sys.argv[1])
    top = tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None)
    began = time.monotonic()
    print("| experiment | read MB/s | original | written MB/s | original | seconds |\n|---|---|---|---|---|---|")
    try:
        for name, make in (("training", dl), ("producers and consumers", pc), ("checkpoint", cr), ("workflow CMP2", dag)):
            for nodes in NODES:
                ranks = nodes * PER_NODE
                words, first, steps = make(ranks)
                ours, plain = tempfile.mkdtemp(dir=top), tempfile.mkdtemp(dir=top)
                found = emulate(iorama, ours, ranks, *words, "--repeat", RUNS)
                if first:
                    once(plain, first)
                row(name, ranks, found, original(plain, steps) if steps else None)
        for nodes in NODES:
            application(iorama, tempfile.mkdtemp(dir=top), nodes * PER_NODE)
    finally:
        shutil.rmtree(top)
    print("\n%.0f s in all" % (time.monotonic() - began))


if __name__ == "__main__":
    main()
