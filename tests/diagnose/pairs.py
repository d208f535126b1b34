#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pairs.py BUILD [CASE…]: programs with a known mistake, and the same programs without it.

Each pair is run both ways. Of the bad one the cause must come first; of the good one nothing may be HIGH. Here they are
short, and only what does not depend on the machine is judged; bench/causes.py runs them at size and compares what the
report promises with what the change saves."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import cases  # noqa: E402
from consistency import BEYOND  # noqa: E402
from cases import FAMILIES, Built, Failed, Skip, SYSTEM_PYTHON, WORK, environment, need  # noqa: E402

# share of pairs whose cause comes first. These runs are short, beside other tests, on a machine whose disk may be quick or slow:
# what they cost is near to nothing in some; at size (bench/causes.py) it is 0.95.
RIGHT = 0.7
TIMED = ("c", "calls", "python", "hdf5", "uring")  # groups whose programs are one process with a clock: what ranks wait for each other is noise
FULL = 400 << 20  # bytes per second that reports take for a good rate of a process, or near it: nothing is lost there
SLOWER = 1.5  # times that the bad one has to take, by its own clock: where a mistake costs nothing there is no cause to tell


class Pair:
    """name, what comes first (rules, or words of its title), how often it is done in the tests and at size"""

    def __init__(self, name, cause, quick=3000, size=300000, words=None, trace=False, says=None, before=None):
        self.before = before  # what is there already, in Python
        self.says = says  # what the advice has to say: of programs that nobody changes
        self.name, self.cause, self.quick, self.size, self.words, self.trace = name, cause, quick, size, words, trace

    def shows(self, finding):
        return finding["rule"] in self.cause.split() or any(
            word[0] == "/" and re.search(word[1:], finding["title"], re.I) for word in self.cause.split()
        )


# ---- C: modes of tests/work/pairs.c

C = [
    *(Pair(name, "W01") for name in ("small_write", "small_pwrite", "small_writev", "byte_write")), Pair("page_write", "W01", size=100000),
    # reads from memory take next to nothing: more of them
    *(Pair(name, "R01", quick=40000) for name in ("small_read", "small_pread", "small_readv", "byte_read")),
    Pair("page_read", "R01", quick=40000, size=100000), Pair("strided_read", "R01", quick=40000, size=100000),
    Pair("copy", "W01 R01"), Pair("random_read", "R03 R01 E01", quick=40000, size=100000), Pair("random_write", "W03 W01", size=100000), Pair("backward_read", "R03 R01", quick=40000, size=100000),
    Pair("backward_write", "W03 W01", size=100000), Pair("seek_read", "F05 R01 R03", quick=40000),
    Pair("fsync_each", "W06", quick=300, size=3000), Pair("fdatasync_each", "W06", quick=300, size=3000),
    Pair("fsync_some", "W06", quick=8000, size=150000),
    # where the disk is quick they are just small: more of them
    Pair("o_sync", "W08 W01", quick=1500, size=3000), Pair("o_dsync", "W08 W01", quick=1500, size=3000),
    Pair("log_line", "W06", quick=300, size=3000),
    Pair("stream_unbuffered", "W01 L06 /stream|stdio|unbuffered"), Pair("stream_flush", "W01 L06 /stream|stdio|unbuffered|flush"),
    Pair("reopen_write", "F03 W01"), Pair("reopen_read", "F03"), Pair("reopen_stream", "F03"),
    *(Pair(name, "F04") for name in ("stat_path", "stat_link", "stat_open", "worker_stat")),
    *(Pair(name, "F10") for name in ("missing_open", "missing_stat", "missing_access")),
    Pair("tiny_files_write", "F06", size=30000), Pair("tiny_files_read", "F06", size=30000), Pair("rename_each", "F09", size=30000),
    Pair("remove_each", "F12 F03", size=30000), Pair("folder_each", "F12", size=30000), Pair("write_again", "W04"), Pair("read_again", "R04"),
    Pair("shared_write", "W02 W01 L07"), Pair("shared_read", "R02 R01", quick=20000), Pair("worker_write", "W01 F07"),
    # where pages of a file can be put out of memory, and come from a disk
    Pair("mapped_pages", "L11", quick=4000, size=30000),
    # what could go on while the program computes
    Pair("checkpoint_bursts", "T08", quick=2000, size=40000), Pair("input_bursts", "T09 E03", quick=2000, size=40000, before="""
with open("data", "wb") as f:
    for i in range(6 * n // 256 + 1): f.write(random.randbytes(1 << 20))
    os.fdatasync(f.fileno()); os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)"""),
    # a matter of what data is worth, not of seconds
    Pair("overlapping_write", "V01", quick=1, size=1, trace=True),
]  # fmt: skip

# ---- calls that move nothing: modes of tests/work/pairs_calls.c

CALLS = [
    Pair("map_sync", "F15", quick=300, size=3000), Pair("range_sync", "F15", quick=1000, size=20000), Pair("list_again", "F16", size=200000),
    Pair("truncate_each", "F17", size=300000), Pair("allocate_each", "F17", size=300000), Pair("attributes_each", "F17", size=300000), Pair("link_each", "F17", size=30000),
]  # fmt: skip

# ---- Python: what `bad` and `n` make of it

PYTHON = [
    Pair("lines_unbuffered", "W01", words="""
        with open("data", "wb", 0 if bad else -1) as f:
            for i in range(n): f.write(b"%d %d\\n" % (i, i * i))"""),
    Pair("lines_buffered", "W01", words="""
        with open("data", "w", 1 if bad else -1) as f:
            for i in range(n): f.write("%d %d\\n" % (i, i * i))"""),
    Pair("print_flush", "W01", words="""
        with open("data", "w") as f:
            for i in range(n): print(i, file=f, flush=bad)"""),
    Pair("append_each", "F03", words="""
        f = open("data", "w")
        for i in range(n):
            if bad:
                with open("data", "a") as g: g.write("%d\\n" % i)
            else: f.write("%d\\n" % i)
        f.close()"""),
    Pair("exists_missing", "F10", words="""
        known = set(os.listdir("."))
        for i in range(n): os.path.exists("sample%d" % i) if bad else "sample%d" % i in known"""),
    Pair("getsize_each", "F04", words="""
        open("data", "w").write("x" * 100)
        size = os.path.getsize("data")
        for i in range(n): os.path.getsize("data") if bad else size
        open("data").read()"""),
    Pair("pickle_each", "F06", size=30000, words="""
        os.mkdir("d")
        if bad:
            for i in range(n):
                with open("d/%d.pickle" % i, "wb") as f: pickle.dump({"i": i}, f)
        else:
            with open("d/all.pickle", "wb") as f: pickle.dump([{"i": i} for i in range(n)], f)"""),
    Pair("json_fsync", "W06", quick=300, size=3000, words="""
        with open("data", "w") as f:
            for i in range(n):
                f.write(json.dumps({"i": i}) + "\\n")
                if bad: f.flush(); os.fsync(f.fileno())"""),
    Pair("sqlite_commit", "W06 /SQLite|transaction", says="BEGIN and COMMIT", quick=150, size=2000, words="""
        db = sqlite3.connect("data.db", isolation_level=None)
        db.execute("create table t (i integer)")
        if not bad: db.execute("begin")
        for i in range(n): db.execute("insert into t values (?)", (i,))
        if not bad: db.execute("commit")"""),
    Pair("shuffled_samples", "E01", quick=20000, words="""
        with open("data", "wb") as f: f.write(b"x" * 512 * n)
        order = list(range(n)); random.Random(1).shuffle(order)
        with open("data", "rb", 0) as f:
            if bad:
                for i in order: f.seek(512 * i); f.read(512)
            else:
                while f.read(1 << 20): pass"""),
    Pair("readinto_small", "R01", quick=20000, words="""
        with open("data", "wb") as f: f.write(b"x" * 100 * n)
        with open("data", "rb", 0) as f:
            while f.read(100 if bad else 1 << 20): pass"""),
    Pair("replace_each", "F09", size=30000, words="""
        for i in range(n if bad else 1):
            with open("state.new", "w") as f: f.write(str(i))
            os.replace("state.new", "state")"""),
    # ---- loaders of data: samples that are read again in each epoch, in turn with computing, by too few or too many workers, a file each
    Pair("epochs_reread", "E02", quick=150, size=3000, before="made(n, 200000)", words="""
        kept = {}
        for epoch in range(6):
            for i in range(n): sample = read(i) if bad or i not in kept else kept[i]; kept[i] = sample"""),
    Pair("reading_in_turn", "E03 T09", quick=150, size=1000, before="made(n, 1 << 20, drop=True)", words="""
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(3) as readers:
            ahead = [] if bad else [readers.submit(read, i) for i in range(6)]
            for i in range(n):
                sample = read(i) if bad else ahead[i].result()
                if not bad and i + 6 < n: ahead.append(readers.submit(read, i + 6))
                time.sleep(0.002)  # a processor of another kind computes"""),
    Pair("few_workers", "E04", quick=150, size=2000, before="made(n, 1 << 20, drop=True)", words="""
        with_workers(1 if bad else 4, n, lambda i: len(read(i)), lambda sample: None)"""),
    Pair("many_workers", "E05", quick=100, size=900, before="made(n, 40000)", words="""
        def index():
            for i in range(n): read(i)
        with_workers(16 if bad else 1, 1000, lambda i: i, lambda sample: time.sleep(0.002), index)"""),
    Pair("samples_packed", "F06", size=30000, before="made(n, 500)", words="""
        f = None if bad else open("packed", "rb")
        for i in range(n): sample = read(i) if bad else f.read(500)"""),
]

# what programs of loaders know
LOADER = """
import multiprocessing
def made(n, size, drop=False):
    os.mkdir("set")
    content = random.Random(1).randbytes(size)
    for i in range(n):
        with open("set/%d" % i, "wb", 0) as f:
            f.write(content)
            if drop: os.fdatasync(f.fileno()); os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with open("packed", "wb") as f:
        if size < 1000: f.write(content * n)
def read(i):
    with open("set/%d" % i, "rb", 0) as f: return f.readall()
def work(want, have, load, index):
    index()
    while (i := want.get()) is not None: have.put(load(i))
def with_workers(count, n, load, use, index=lambda: None):
    fork = multiprocessing.get_context("fork")
    want, have = fork.SimpleQueue(), fork.SimpleQueue()
    workers = [fork.Process(target=work, args=(want, have, load, index)) for _ in range(count)]
    for w in workers: w.start()
    for i in range(min(n, 4 * count)): want.put(i)
    for i in range(n):
        use(have.get())
        if i + 4 * count < n: want.put(i + 4 * count)
    for w in workers: want.put(None)
    for w in workers: w.join()
"""  # fmt: skip

# ---- shell: (bad, fixed), N is how often

SHELL = [
    Pair("dd_small", "W01 R01", quick=40000, says="bs=4M", words=("dd if=/dev/zero of=data bs=512 count=N status=none", "dd if=/dev/zero of=data ibs=512 obs=1M count=N status=none")),
    Pair("dd_copy", "W01 R01 R02", quick=40000, words=(
        "head -c $((N * 512)) /dev/zero > in; dd if=in of=out bs=512 status=none", "head -c $((N * 512)) /dev/zero > in; dd if=in of=out bs=1M status=none")),
    Pair("dd_dsync", "W08 W01", quick=1500, size=3000, words=(
        "dd if=/dev/zero of=data bs=4k count=N oflag=dsync status=none", "dd if=/dev/zero of=data ibs=4k obs=1M count=N conv=fsync status=none")),
    Pair("dd_sync", "W08 W01", quick=1500, size=3000, words=(
        "dd if=/dev/zero of=data bs=4k count=N oflag=sync status=none", "dd if=/dev/zero of=data ibs=4k obs=1M count=N conv=fsync status=none")),
    Pair("echo_append", "F03 W01", words=(
        "i=0; while [ $i -lt N ]; do echo $i >> data; i=$((i + 1)); done", "seq N > data")),
    Pair("split_tiny", "F06", size=30000, words=(
        "head -c $((N * 100)) /dev/zero > in; split -a 6 -b 100 in part", "head -c $((N * 100)) /dev/zero > in; cp in part")),
    Pair("tar_blocks", "W01 R01 R02", quick=40000, says="-b 8192", words=(
        "head -c $((N * 512)) /dev/zero > in; tar -b 1 -cf out.tar in", "head -c $((N * 512)) /dev/zero > in; tar -b 2048 -cf out.tar in")),
    # a process for each item: none of them is long in I/O
    Pair("git_each", "T10", quick=30, size=150, words=(
        "git init -q r; cd r; i=0; while [ $i -lt N ]; do echo $i > f$i; git add f$i; git -c user.name=a -c user.email=a@b commit -q -m $i; i=$((i + 1)); done",
        "git init -q r; cd r; i=0; while [ $i -lt N ]; do echo $i > f$i; i=$((i + 1)); done; git add .; git -c user.name=a -c user.email=a@b commit -q -m all")),
    Pair("read_bytes", "R01 R02", quick=20000, words=(
        "head -c N /dev/zero > in; dd if=in of=out ibs=1 obs=1M status=none", "head -c N /dev/zero > in; dd if=in of=out bs=1M status=none")),
]  # fmt: skip

# ---- MPI: modes of tests/work/pairs_mpi.c

MPI = [
    Pair("small_write", "A02 W02 W01 W07", quick=1500, size=32768), Pair("small_read", "A01 R02", quick=8000, size=32768),
    Pair("small_collective", "A12 A09", quick=1100, size=32768), Pair("one_rank", "A07 B02 B08", quick=4000, size=8000),
    Pair("same_input", "R06 R04", quick=1000, size=20000), Pair("reopen", "F03", quick=300, size=20000),
]  # fmt: skip

# ---- HDF5 and PnetCDF: modes of tests/work/pairs_lib.c and pairs_nc.c

# ---- io_uring: tests/work/pairs_uring.c, where the kernel has it

URING = [Pair("one_at_a_time", "U01", quick=4000, size=30000)]

HDF5 = [Pair("element_write", "H08", quick=20000, size=300000), Pair("element_read", "H08", quick=20000, size=300000),
        Pair("packed_rows", "H09 L05 H01", quick=40, size=600)]  # fmt: skip
PNETCDF = [Pair("element_put", "N04", quick=20000, size=100000)]

GROUPS = {"c": C, "calls": CALLS, "python": PYTHON, "shell": SHELL, "uring": URING, "hdf5": HDF5, "pnetcdf": PNETCDF, **{family: MPI for family in FAMILIES}}
OVERLAP = ("T08", "T09", "E03", "E04")  # of I/O that stays, and need not be waited for
ASIDE = ("time", "kind", "incomplete", "operations")  # topics that say what there is, not what is wrong


class Place:
    def __init__(self, build):
        self.built = Built(build)

    def command(self, group, pair, kind, n):
        if group == "c":
            source = os.path.join(WORK, "pairs.c")
            return [self.built.compile_once("pairs", [source], ["cc", "-O2", source, "-o", None]), pair.name, kind, str(n)]
        if group == "calls":
            source = os.path.join(WORK, "pairs_calls.c")
            return [self.built.compile_once("pairs_calls", [source], ["cc", "-O2", source, "-lpthread", "-o", None]), pair.name, kind, str(n)]
        if group == "python":
            text = re.sub(r"(?m)^        ", "", pair.words.strip("\n"))
            head = "import json, os, pickle, random, sqlite3, time\nbad, n = %s, %d\n%sbegan = time.monotonic()\n" % (
                kind == "bad", n, LOADER if pair.before else "")  # fmt: skip
            return [SYSTEM_PYTHON, "-S", "-E", "-c", "%s%s\nprint(time.monotonic() - began)" % (head, text)]
        if group == "shell":
            return ["sh", "-c", re.sub(r"\bN\b", str(n), pair.words[kind != "bad"])]
        if group == "hdf5":
            return [self.hdf5(), pair.name, kind, str(n)]
        if group == "uring":
            return [self.uring(), pair.name, kind, str(n)]
        family, source, library = (group, "pairs_mpi.c", []) if group != "pnetcdf" else ("openmpi", "pairs_nc.c", ["-lpnetcdf"])
        need("mpicc." + family, "mpirun." + family)
        if library and not os.path.exists("/usr/include/pnetcdf.h"):
            raise Skip("PnetCDF is not installed")
        source = os.path.join(WORK, source)
        program = self.built.compile_once("pairs_mpi-" + group, [source], ["mpicc." + family, "-O2", source, *library, "-o", None])
        return ["mpirun." + family, *(["--oversubscribe"] if family == "openmpi" else []), "-n", "2", program, pair.name, kind, str(n)]

    def hdf5(self):
        headers = "/usr/include/hdf5/serial"
        if not os.path.isdir(headers):
            raise Skip("HDF5 is not installed")
        multiarch = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
        source = os.path.join(WORK, "pairs_lib.c")
        return self.built.compile_once("pairs_lib", [source], ["cc", "-O2", "-I" + headers, source, "-L/usr/lib/%s/hdf5/serial" % multiarch,
                                                               "-lhdf5", "-o", None])  # fmt: skip

    def uring(self):
        if not os.path.exists("/usr/include/liburing.h"):
            raise Skip("liburing is not installed")
        source = os.path.join(WORK, "pairs_uring.c")
        return self.built.compile_once("pairs_uring", [source], ["cc", "-O2", source, "-luring", "-o", None])

    def run(self, group, pair, kind, n, folder):
        """Observed, in a folder of its own: (report, seconds of the run as the log tells)."""
        os.mkdir(folder)
        if pair.before:
            subprocess.run([SYSTEM_PYTHON, "-c", "import os, random\nn = %d\n%s%s" % (n, LOADER, pair.before)], cwd=folder, check=True)
        log = folder + ".darshan"
        done = subprocess.run([self.built.iorama, "run", "-q", "-f", *(["--trace"] if pair.trace else []), "-o", log, "--", *self.command(group, pair, kind, n)], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env=environment())  # fmt: skip
        if done.returncode != 0 or not os.path.exists(log):
            raise Failed("%s %s %s: %d %s" % (group, pair.name, kind, done.returncode, done.stderr[-800:]))
        said = subprocess.run([self.built.iorama, "report", "-q", "--json", log], capture_output=True, text=True, timeout=60, env=environment())
        subprocess.run(["rm", "-rf", folder], check=True)
        os.remove(log)
        if said.returncode != 0:
            raise Failed("%s %s: %s" % (group, pair.name, said.stderr))
        return json.loads(said.stdout), done.stdout


def first(report):
    """What it costs most, of all that is wrong."""
    found = [f for f in report["findings"] if f["level"] != "OK" and (f["topic"] not in ASIDE or f["rule"] in OVERLAP) and f["cost_s"] > 0]
    return max(found, key=lambda f: f["cost_s"], default=None)


def told(finding):
    return "%s %s (%s, %.3g s)" % (finding["rule"], finding["title"], finding["level"], finding["cost_s"]) if finding else "nothing"


def seconds(said):
    """as the program has measured it; shells do not"""
    return max((float(word) for word in said.split()), default=0)


def rate(report):
    moved, time = report["totals"], report["verdict"]["io_time"]
    return (moved["bytes_read"] + moved["bytes_written"]) / time if time > 0 else 0


def judge(pair, reports):
    """(is the cause first, what is HIGH of the good one)"""
    found = first(reports["bad"])
    if pair.cause == "V01":
        told_of = {kind: any(f["rule"] == "V01" for f in reports[kind]["findings"]) for kind in reports}
        return told_of["bad"], ["V01"] if told_of["fixed"] else []
    return found is not None and pair.shows(found), [told(f) for f in reports["fixed"]["findings"] if f["level"] == "HIGH"]


def perform(build, group):
    place, wrong, high, judged = Place(build), [], [], 0
    with cases.folders(build, "pairs") as (observed, _):
        for pair in GROUPS[group]:
            reports, took = {}, {}
            for kind in ("bad", "fixed"):
                reports[kind], said = place.run(group, pair, kind, pair.quick, os.path.join(observed, "%s-%s" % (pair.name, kind)))
                took[kind] = seconds(said)
            right, bad = judge(pair, reports)
            costs = pair.cause == "V01" or group not in TIMED or (took["bad"] >= SLOWER * took["fixed"] and (pair.cause in BEYOND or pair.cause.split()[0] in OVERLAP or rate(reports["bad"]) < FULL))
            judged += costs
            if costs and not right:
                wrong.append("%s: %s first, not %s" % (pair.name, told(first(reports["bad"])), pair.cause))
            found = first(reports["bad"])
            if right and pair.says and pair.says not in (found["advice"] or ""):
                high.append("%s: the advice for %s is: %s" % (pair.name, found["rule"], found["advice"]))
            high += ["%s, fixed: HIGH %s" % (pair.name, text) for text in bad]
    print("%s: %d of %d causes first; %d pairs cost nothing here" % (group, judged - len(wrong), judged, len(GROUPS[group]) - judged))
    print("".join("  %s\n" % text for text in wrong), end="")
    if judged < len(GROUPS[group]) / 4:
        high.append("only %d of %d pairs differ" % (judged, len(GROUPS[group])))
    return high + (wrong if len(wrong) > max(1, (1 - RIGHT) * judged) else [])


COMPUTES = 0.5  # seconds


def innocent(build):
    """What a thread writes while the program computes holds up nobody: all that could be saved is what is not computed, however busy the
    machine is."""
    place, pair = Place(build), Pair("background", "", quick=int(1000 * COMPUTES))
    with cases.folders(build, "pairs") as (observed, _):
        report, _ = place.run("calls", pair, "bad", pair.quick, os.path.join(observed, pair.name))
    most, room = max(f["cost_s"] for f in report["findings"]), 1.1 * report["job"]["run_time"] - 0.95 * COMPUTES
    return ["%g s, of at most %g s: %s" % (most, room, report["verdict"]["text"])] if most > room else []


CASES = {**{group: lambda build, group=group: perform(build, group) for group in GROUPS}, "innocent": innocent}

if __name__ == "__main__":
    cases.main(CASES, lambda build, name: CASES[name](build))
