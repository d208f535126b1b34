# SPDX-License-Identifier: BSD-3-Clause
"""For each rule a job with one number in it, which is just below the rule's limit, and just above.

    Case(rule, build, below, above, at=..., level=..., culprit=..., cost=...)

build(job, x) says what the job did. With x = below the rule must not hold, with x = above it must. With x = at (above
unless told otherwise) the finding has this level, its first culprit is this file or rank, and its cost in seconds of run time
is this figure, within a factor; figures are computed here from what the job did, not from what the program says.
With the lines `relax` in a profile the rule does not hold at x = above. All jobs last 100 s and have 4 ranks unless
`job` says otherwise."""
from calls import MS, Cluster
from jobs import GIB, KIB, MIB, TIB

CASES = []
RATE = 512 * MIB  # what one process reaches with large requests: limit good_rate
OUT = "/scratch/run/out.dat"
LOCAL = "/local/out.dat"


class Case:
    def __init__(self, rule, build, below, above, at=None, level=None, culprit=None, cost=None, factor=1.5, job=None, note="", relax=None):
        self.rule, self.build, self.below, self.above = rule, build, below, above
        self.at = above if at is None else at
        self.level, self.culprit, self.cost, self.factor = level, culprit, cost, factor
        self.job = job or {}
        self.note = note
        self.relax = relax


def case(rule, below, above, **more):
    """A case whose job is made by the function that follows."""

    def keep(build):
        CASES.append(Case(rule, build, below, above, **more))
        return build

    return keep


def busy(job, seconds=20.0, ranks=None, name="/local/other.%d"):
    """Work that no rule minds: large consecutive writes of each rank at a good rate."""
    for rank in ranks if ranks is not None else range(job.nprocs):
        count = int(seconds * RATE / (16 * MIB))
        job.posix(name % rank, rank, writes=[(count, 16 * MIB)], write_time=seconds)


# ---- time, completeness


@case("I01", 0, 1)
def _(job, x):
    busy(job)
    if x:
        job.partial.add("POSIX")


@case("T01", 0.98, 1.02, level="INFO", relax="io_negligible = 0.02")
def _(job, x):
    busy(job, x)


@case("T02", 1.02, 0.98, level="OK", relax="io_negligible = 0.001")
def _(job, x):
    busy(job, x)


@case("T06", 1.9, 2.1, at=30.0, level="WARN", cost=30.0, culprit=LOCAL, relax="slow_operation = 0.05")
def _(job, x):
    """One write of many takes x seconds; the others 0.01 s each."""
    busy(job, 10.0)
    job.posix(LOCAL, 0, writes=[(100, 16 * MIB)], write_time=x + 99 * 0.01, F_MAX_WRITE_TIME=x, MAX_WRITE_TIME_SIZE=16 * MIB)


def stalling(job, stalls, each, calls=1000, large=0):
    """Rank 0 writes 64 KiB at a time, 100 µs each; some calls take far longer, or are larger and take longer."""
    segments, now, count = [], 1.0, 0
    for k in range(calls):
        stalled = k % (calls // stalls) == 0 and count < stalls
        count += stalled
        size, seconds = (large or 64 * KIB, each) if stalled else (64 * KIB, 1e-4)
        segments.append((k * 64 * KIB, size, now, now + seconds))
        now += seconds + 1e-5
    busy(job, 0.5, ranks=range(1, job.nprocs))
    job.posix(LOCAL, 0, writes=[(calls - count, 64 * KIB), (count, large or 64 * KIB)], write_time=sum(s[3] - s[2] for s in segments))
    job.trace(LOCAL, 0, writes=segments)


@case("T07", 251, 250, at=100, level="HIGH", culprit=LOCAL, cost=20.0, relax="stall_share = 0.05")
def _(job, x):
    """x of 1,000 writes take 0.2 s each."""
    stalling(job, x, 0.2)


@case("T07", 99, 100, note="calls", relax="stall_calls = 200")
def _(job, x):
    stalling(job, 10, 0.2, x)


@case("T07", 1 * MIB, 128 * KIB, note="larger ones take longer of themselves")
def _(job, x):
    stalling(job, 10, 0.2, large=x)


def heat(job, bins, write_bins=None):
    """All bytes of rank 0 in a heat map of 100 bins."""
    nothing = [0] * 100
    job.heat("POSIX", {rank: (list(write_bins or nothing), list(bins)) if rank == 0 else (nothing, nothing) for rank in range(job.nprocs)})


@case("T03", 49, 51, level="INFO", relax="burst_bytes = 0.6")
def _(job, x):
    busy(job, 10.0)
    job.posix(LOCAL, 0, reads=[(100, 16 * MIB)], read_time=4.0)
    heat(job, [x * 16 * MIB] + [0] * 48 + [(100 - x) * 16 * MIB] + [0] * 50)


@case("T04", 49, 51, level="INFO", relax="burst_bytes = 0.6")
def _(job, x):
    busy(job, 10.0)
    heat(job, [0] * 100, [0] * 50 + [(100 - x) * 16 * MIB] + [0] * 48 + [x * 16 * MIB])


@case("T05", 3, 4, level="INFO", relax="period_count = 5")
def _(job, x):
    """x bursts of writes, 20 s from one to the next."""
    busy(job, 10.0)
    bins = [0] * 100
    for k in range(x):
        bins[10 + 20 * k] = 64 * 16 * MIB
    heat(job, [0] * 100, bins)


def bursts(job, count, gap, reads=False, each=3.0):
    """Each rank writes (or reads) 512 MiB at a time for `each` seconds, then computes."""
    name, bins = "/local/step.%d", [0] * 100
    for k in range(count):
        for b in range(int(each)):
            bins[int(5 + k * (each + gap)) + b] = 512 * MIB // int(each)
    for rank in range(job.nprocs):
        many, seconds = [(count * 32, 16 * MIB)], count * each
        job.posix(name % rank, rank, **({"reads": many, "read_time": seconds} if reads else {"writes": many, "write_time": seconds}))
    job.heat("POSIX", {rank: ([0] * 100, bins) if reads else (bins, [0] * 100) for rank in range(job.nprocs)})


@case("T08", 2, 3, at=6, level="WARN", cost=18.0, relax="overlap_bursts = 7")
def _(job, x):
    """x bursts of 3 s with 10 s of computing between them."""
    bursts(job, x, 10)


@case("T08", 1, 2, at=6, cost=18.0, note="share", relax="overlap_share = 0.2")
def _(job, x):
    """Four bursts, x seconds of computing after each."""
    bursts(job, 4 if x < 6 else 6, x)


@case("T08", 97, 90, at=70, level="WARN", cost=18.0, note="overlapped already")
def _(job, x):
    """It computes for x of 100 s, on one processor, and is in I/O for 18."""
    bursts(job, 6, 10)
    for rank in range(job.nprocs):
        job.process(rank, F_USER_TIME=x)


@case("T09", 2, 3, at=6, level="WARN", cost=15.0, relax="overlap_bursts = 7")
def _(job, x):
    """Nothing can be read before the program has begun."""
    bursts(job, x + 1 if x < 6 else x, 10, reads=True)


def conflict(job, first, then, reads=False, closed=0.0, **more):
    """Rank 0 writes a MiB at `first`, rank 1 writes or reads one at `then`."""
    busy(job, 5.0)
    job.posix(OUT, -1, writes=[(1 if reads else 2, MIB)], reads=[(1, MIB)] if reads else [], write_time=0.2, openers=job.nprocs,
              F_CLOSE_START_TIMESTAMP=closed, F_CLOSE_END_TIMESTAMP=closed, **more)  # fmt: skip
    job.trace(OUT, 0, writes=[(first, MIB, 1.0, 1.1)])
    other = [(then, MIB, 2.0, 2.1)]
    job.trace(OUT, 1, **{"reads" if reads else "writes": other})


@case("V01", 2 * MIB, 2 * MIB - 1, level="WARN", culprit=OUT)
def _(job, x):
    """Ranges that touch, and that share a byte."""
    conflict(job, MIB, x)


@case("V01", 2 * MIB, 2 * MIB - 1, level="WARN", culprit=OUT, note="reads")
def _(job, x):
    conflict(job, MIB, x, reads=True)


@case("V01", 1.5, 50.0, level="WARN", note="closed before")
def _(job, x):
    conflict(job, MIB, MIB, reads=True, closed=x)


@case("V01", 1, 0, note="a sync")
def _(job, x):
    conflict(job, MIB, MIB, FSYNCS=x)


@case("V01", 5, 4, note="opened again")
def _(job, x):
    conflict(job, MIB, MIB, OPENS=x)


@case("V01", 0, 1, note="appends")
def _(job, x):
    """Where appends end up is not known: as if each began at 0."""
    conflict(job, 0, x)


# ---- storage targets


def striped(job, slow, targets=8):
    for ost in range(targets):
        name = "/scratch/run/out.%04d" % ost
        seconds = slow if ost == 5 else 10.0
        job.posix(name, ost, writes=[(64, 16 * MIB)], write_time=seconds)
        job.lustre(name, osts=[ost])


@case("O01", 29.0, 31.0, at=80.0, level="HIGH", cost=70.0, culprit="5", job={"nprocs": 8}, relax="slow_target = 4")
def _(job, x):
    """A file on each of 8 targets; the one on target 5 takes x seconds, the others 10."""
    striped(job, x)


@case("O02", GIB - 1, GIB, at=64 * GIB, level="HIGH", culprit=OUT, cost=40 * 0.75, job={"nprocs": 4}, relax="stripe_file = 2GiB")
def _(job, x):
    """All 4 ranks write one file on one target; on 4 it would take a quarter of the time."""
    job.posix(OUT, -1, writes=[(4096, x // 4096), (1, x % 4096 or 1)], write_time=160.0, size=x)
    job.lustre(OUT, osts=[3])


@case("O03", 7 * MIB + 1, 7 * MIB, level="INFO", culprit=OUT)
def _(job, x):
    busy(job)
    job.posix(OUT, 0, writes=[(1, x)], write_time=1.0, size=x)
    job.lustre(OUT, osts=list(range(8)))


@case("O04", 99, 101, level="INFO", relax="target_skew = 3")
def _(job, x):
    """Of 8 targets one has more than twice the mean: x of (x + 7 * 43) units."""
    for ost in range(8):
        name = "/scratch/run/out.%04d" % ost
        units = x if ost == 2 else 43 if ost else 42
        job.posix(name, ost % 4, writes=[(units, 16 * MIB)], write_time=units * 0.05)
        job.lustre(name, osts=[ost])


@case("O05", 1000, 1001, level="INFO", culprit=OUT, relax="misaligned_requests = 0.2")
def _(job, x):
    """x of 10,000 large writes to a shared file on Lustre start at no block."""
    job.posix(OUT, -1, writes=[(10000, 16 * MIB)], write_time=160.0, FILE_NOT_ALIGNED=x)


@case("O06", 1000, 1001, level="INFO", culprit=LOCAL, relax="misaligned_absolute = 2000")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(10000, 16 * MIB)], write_time=40.0, MEM_NOT_ALIGNED=x)


@case("O07", 101, 100, level="OK")
def _(job, x):
    job.posix(OUT, -1, writes=[(10000, 16 * MIB)], write_time=160.0, FILE_NOT_ALIGNED=x)


@case("O08", GIB - MIB, GIB, level="WARN", culprit="/home/u/data", relax="home_bytes = 2GiB")
def _(job, x):
    job.posix("/home/u/data", 0, writes=[(x // MIB, MIB)], write_time=40.0)


# ---- layers


@case("L01", 50, 51, at=1000, level="HIGH", culprit=OUT, cost=30.0, relax="modify_reads = 0.1")
def _(job, x):
    """10,000 MiB are written through MPI-IO, and x times 10 MiB read below it, which takes each rank 0.03 s."""
    job.mpiio(OUT, writes=[(10000, MIB)], kind="COLL", write_time=4 * (40.0 + 0.03 * x))
    job.posix(OUT, -1, writes=[(10000, MIB)], reads=[(x, 10 * MIB)], write_time=160.0, read_time=4 * 0.03 * x, size=10000 * MIB)


@case("L02", 119, 120, at=400, level="HIGH", culprit=OUT, cost=60.0, relax="amplification = 1.5")
def _(job, x):
    """100 GiB through MPI-IO become x GiB on disk, in 80 s of each rank."""
    job.mpiio(OUT, writes=[(6400, 16 * MIB)], kind="COLL", write_time=4 * 80.0)
    job.posix(OUT, -1, writes=[(x * 64, 16 * MIB)], write_time=4 * 80.0, size=100 * GIB)


@case("L03", 119, 120, at=400, level="HIGH", culprit=OUT, cost=60.0, relax="amplification = 1.5")
def _(job, x):
    job.mpiio(OUT, reads=[(6400, 16 * MIB)], kind="COLL", read_time=4 * 80.0)
    job.posix(OUT, -1, reads=[(x * 64, 16 * MIB)], read_time=4 * 80.0, size=100 * GIB)


@case("L04", 9999, 10000, at=100000, level="HIGH", culprit=OUT, relax="call_amplification_absolute = 20000")
def _(job, x):
    """1,000 MPI-IO calls of a view with gaps become x small POSIX writes."""
    job.mpiio(OUT, writes=[(1000, 40 * KIB)], kind="INDEP", write_time=4 * 20.0)
    job.posix(OUT, -1, writes=[(x, 1000 * 40 * KIB // x)], write_time=4 * 20.0)


@case("L05", 199, 200, at=800, level="HIGH", culprit=OUT, job={"nprocs": 1})
def _(job, x):
    """100 MiB of datasets, x MiB on disk, without MPI-IO."""
    job.hdf5(OUT, 0, parallel=False)
    job.dataset(OUT, "d", 0, reads=[(100, MIB)])
    job.posix(OUT, 0, reads=[(x, MIB)], read_time=40.0, size=x * MIB)


@case("L06", 64 * MIB - KIB, 64 * MIB, at=8 * GIB, level="HIGH", culprit=LOCAL, cost=60 - 16, relax="interface_bytes = 128MiB")
def _(job, x):
    job.stdio(LOCAL, 0, writes=[(x // KIB, KIB)], write_time=60.0)


@case("L09", 999, 1000, at=20000, level="HIGH", culprit=LOCAL, cost=20.0, relax="stdio_calls = 2000")
def _(job, x):
    """x lines of 40 bytes, each a call of the system that takes 1 ms."""
    job.stdio(LOCAL, 0, writes=[(x, 40)], write_time=x * 1e-3)


@case("L13", 1.9e-6, 2.1e-6, at=15e-6, level="WARN", culprit=LOCAL, cost=9.0, relax="stdio_call_least = 17us")
def _(job, x):
    """600,000 lines of 10 bytes; each takes x."""
    job.stdio(LOCAL, 0, writes=[(600000, 10)], write_time=6e5 * x)


@case("L13", 20.1e-6, 19.9e-6, note="who takes longer goes to the system", relax="stdio_call_time = 1us")
def _(job, x):
    job.stdio(LOCAL, 0, writes=[(600000, 10)], write_time=6e5 * x)


@case("H09", 63, 65, level="HIGH", culprit=OUT, job={"nprocs": 1}, relax="amplification_bytes = 1GiB")
def _(job, x):
    """For dataset reads of 1 MiB in all HDF5 reads x MiB more, and spends 20 s with them."""
    job.hdf5(OUT, 0, parallel=False)
    job.dataset(OUT, "d", 0, reads=[(128, 8 * KIB)], read_time=20.5, chunk=MIB // 8)
    job.posix(OUT, 0, reads=[(x + 1, MIB)], read_time=0.5, size=x * MIB)


@case("T10", 19, 21, level="HIGH", job={"nprocs": 30}, relax="serial_processes = 100")
def _(job, x):
    """x processes, one after the other, each half of its two seconds in I/O; the others run beside the first."""
    for rank in range(job.nprocs):
        start = 2.0 * rank if rank < x else 0.0
        job.process(rank, F_USER_TIME=0.1, F_START_TIMESTAMP=start, F_END_TIMESTAMP=start + 2.0, PARENT_RANK=0 if rank else -1)
        if rank < x:
            job.posix("/scratch/r%d" % rank, rank, writes=[(4, 16 * MIB)], write_time=1.0)


@case("B09", 3, 4, at=7, level="WARN", job={"nprocs": 4}, relax="unexplained_share = 0.9")
def _(job, x):
    """Four ranks, each for x seconds, one after the other; a bin of the heat map is a second."""
    writes = {}
    for rank in range(4):
        job.posix("/scratch/r%d" % rank, rank, writes=[(64, 16 * MIB)], write_time=x)
        writes[rank] = ([64 * MIB if rank * x <= b < (rank + 1) * x else 0 for b in range(50)], [0] * 50)
    job.heat("POSIX", writes, 1.0)


@case("B09", 0, 1, at=1, note="ranks that compute between their writes")
def _(job, x):
    """x: one after the other; else each writes now and then, and never two at a time"""
    writes = {}
    for rank in range(4):
        job.posix("/scratch/r%d" % rank, rank, writes=[(64, 16 * MIB)], write_time=8.0)
        writes[rank] = ([64 * MIB if (b // 8 == rank if x else b % 4 == rank) and b < 32 else 0 for b in range(50)], [0] * 50)
    job.heat("POSIX", writes, 1.0)


@case("L09", 65536, 65535, note="size of calls", relax="stdio_call_bytes = 1KiB")
def _(job, x):
    busy(job)
    job.posix("/local/large", 0, writes=[(640, 16 * MIB)], write_time=5.0)
    job.stdio(LOCAL, 0, writes=[(1000, x)], write_time=3.0)


@case("L07", 63, 64, level="WARN|INFO", culprit=OUT, relax="interface_bytes = 128MiB")
def _(job, x):
    """The ranks share a file with plain writes of 2 MiB."""
    job.posix(OUT, -1, writes=[(x // 2, 2 * MIB), (x % 2, MIB)], write_time=40.0)


@case("L08", 64 * MIB - 1, 64 * MIB, level="INFO", culprit=LOCAL, relax="mapped_bytes = 1GiB")
def _(job, x):
    busy(job)
    job.posix(LOCAL, 0)
    job.extra(LOCAL, 0, MMAPS=1, BYTES_MAPPED=x)


# ---- few ranks do the work


@case("A07", 90, 91, at=100, level="HIGH", culprit="2", cost=40 * 0.75, relax="one_rank = 0.95")
def _(job, x):
    """Rank 2 moves x % of 9,600 MiB at 240 MiB/s; the others the rest."""
    for rank in range(4):
        count = 3 * x if rank == 2 else 100 - x
        if count:
            job.posix("/local/out.%d" % rank, rank, writes=[(count, 32 * MIB)], write_time=count * 32 / 240)


@case("A07", 4096, 4097, note="what it reads for all", job={"run_time": 200}, relax="one_rank_input = 8GiB")
def _(job, x):
    """Rank 0 reads x MiB and passes them on."""
    job.posix(LOCAL, 0, reads=[(x, MIB)], read_time=100.0)


@case("A13", 90, 91, at=99, level="WARN", culprit="3", cost=40 * 0.5, job={"nprocs": 16}, relax="one_rank = 0.995")
def _(job, x):
    """All 16 ranks write 100 times 100 MiB through MPI-IO; rank 3 moves x % of them on disk, rank 5 the rest."""
    for rank in range(16):
        job.mpiio(OUT, rank, writes=[(100, 100 * MIB)], kind="COLL", write_time=40.0)
    for rank, share in ((3, x), (5, 100 - x)):
        job.posix(OUT, rank, writes=[(share * 16, 100 * MIB)], write_time=40.0 * share / 100)


def aggregated(job, active, small=0):
    """Collective writes of 64 ranks; POSIX rows of those that write for all."""
    for rank in range(active):
        job.posix(OUT, rank, writes=[(10000 // active, 4 * KIB if small else 16 * MIB)], write_time=1280.0 / active)
    job.mpiio(OUT, writes=[(6400, 25 * MIB)], kind="COLL", write_time=job.nprocs * 1280.0 / active)
    job.heat("POSIX", {r: ([10 * MIB if r < active else 0] * 10, [0] * 10) for r in range(job.nprocs)}, 10.0)


@case("A08", 33, 31, level="WARN", job={"nprocs": 2048}, relax="few_aggregators = 0.01")
def _(job, x):
    """Of 2,048 ranks x write: fewer than one of 64."""
    aggregated(job, x)


@case("A09", 57, 58, level="HIGH", culprit=OUT, job={"nprocs": 64}, relax="many_aggregators = 0.95")
def _(job, x):
    """x of 64 ranks write small pieces, although the calls are collective."""
    aggregated(job, x, small=1)


@case("A10", 64, 63, level="OK", job={"nprocs": 64})
def _(job, x):
    aggregated(job, x)


@case("A11", 20.1, 19.9, at=5.0, level="WARN", culprit=OUT, cost=35.0, relax="collective_wait = 0.6")
def _(job, x):
    """Collective writes take each rank 40 s, of which the disk needs x; one that comes late is there for 34 s."""
    job.mpiio(OUT, writes=[(1000, 16 * MIB)], kind="COLL", write_time=4 * 40.0, FASTEST_RANK=2, F_FASTEST_RANK_TIME=34.0)
    job.posix(OUT, -1, writes=[(1000, 16 * MIB)], write_time=4 * x)


@case("A14", 20.1, 19.9, at=5.0, level="WARN", culprit=OUT, cost=35.0, relax="nobody_late = 1")
def _(job, x):
    """The same, and the quickest rank needs as long as the others: none is late."""
    job.mpiio(OUT, writes=[(1000, 16 * MIB)], kind="COLL", write_time=4 * 40.0, FASTEST_RANK=2, F_FASTEST_RANK_TIME=39.0)
    job.posix(OUT, -1, writes=[(1000, 16 * MIB)], write_time=4 * x)


@case("L12", 20.1, 19.9, at=5.0, level="HIGH", culprit=OUT, cost=35.0, relax="inside_wait = 0.9")
def _(job, x):
    """Large independent writes take each rank 40 s, those below them x."""
    job.mpiio(OUT, writes=[(100, 16 * MIB)], kind="INDEP", write_time=4 * 40.0)
    job.posix(OUT, -1, writes=[(100, 16 * MIB)], write_time=4 * x)


@case("A12", 999, 1000, at=20000, level="HIGH", culprit=OUT, cost=40.0, relax="small_collectives = 2000")
def _(job, x):
    """x collective writes of each rank, 1 KiB each, which one rank writes to disk."""
    job.mpiio(OUT, writes=[(4 * x, KIB)], kind="COLL", write_time=4 * 40.0)
    job.posix(OUT, -1, writes=[(x, 4 * KIB)], write_time=2.0)


@case("A12", 256 * KIB, 255 * KIB, note="1 MiB of all ranks together is large")
def _(job, x):
    job.mpiio(OUT, writes=[(8000, x)], kind="COLL", write_time=4 * 40.0)
    job.posix(OUT, -1, writes=[(2000, 4 * x)], write_time=2.0)


# ---- collective and independent MPI-IO


@case("A02", 1000, 1001, at=40000, level="HIGH", culprit=OUT, cost=50.0, relax="collective_operations_absolute = 2000")
def _(job, x):
    """x independent writes of 8 KiB; 50 s of each rank."""
    job.mpiio(OUT, writes=[(x, 8 * KIB)], write_time=4 * 50.0)


@case("A01", 1000, 1001, at=40000, level="HIGH", culprit=OUT, cost=50.0, relax="collective_operations_absolute = 2000")
def _(job, x):
    job.mpiio(OUT, reads=[(x, 8 * KIB)], read_time=4 * 50.0)


@case("A04", 799, 800, level="OK", relax="sequential_ok = 0.9")
def _(job, x):
    job.mpiio(OUT, writes=[(1000, 16 * MIB)], kind="COLL", write_time=4 * 20.0, COLL_WRITES=x, INDEP_WRITES=1000 - x)


@case("A03", 799, 800, level="OK", relax="sequential_ok = 0.9")
def _(job, x):
    job.mpiio(OUT, reads=[(1000, 16 * MIB)], kind="COLL", read_time=4 * 20.0, COLL_READS=x, INDEP_READS=1000 - x)


@case("A05", 5.0, 5.1, level="INFO", relax="blocking_share = 0.1")
def _(job, x):
    job.mpiio(OUT, reads=[(1000, 16 * MIB)], kind="COLL", read_time=4 * x)


@case("A06", 5.0, 5.1, level="INFO", relax="blocking_share = 0.1")
def _(job, x):
    job.mpiio(OUT, writes=[(1000, 16 * MIB)], kind="COLL", write_time=4 * x)


# ---- HDF5, PnetCDF, DAOS


@case("H01", 99, 100, at=100000, level="HIGH", culprit=OUT, job={"nprocs": 1}, relax="chunk_absolute = 200")
def _(job, x):
    """Reads of 8 KiB in chunks of 8 MiB: each brings the whole chunk."""
    job.hdf5(OUT, 0, parallel=False)
    job.dataset(OUT, "d", 0, reads=[(x, 8 * KIB)], chunk=MIB)
    job.posix(OUT, 0, reads=[(x, 8 * MIB)], read_time=60.0, size=x * 8 * MIB)


def in_pieces(job, pieces, own=0, each=2e-3):
    """100 dataset writes of each rank of 64 KiB each, in so many pieces; HDF5 adds own bytes."""
    name, n = "/scratch/run/out.h5", 100 * job.nprocs
    size = 64 * KIB
    job.hdf5(name)
    job.dataset(name, "d", writes=[(n, size)], collective=1)
    job.mpiio(name, writes=[(n, size)] + ([(n, own // n)] if own else []), kind="COLL", write_time=n * pieces * each)
    job.posix(name, -1, writes=[(n * pieces, size // pieces)] + ([(n, own // n)] if own else []), write_time=n * pieces * each)


@case("H07", 9, 10, at=100, level="HIGH", culprit="/scratch/run/out.h5", cost=20.0, relax="call_amplification = 20")
def _(job, x):
    """Each dataset access becomes x writes of 2 ms."""
    in_pieces(job, x)


@case("H07", 26 * MIB, 24 * MIB, note="HDF5's own metadata", relax="dataset_own = 0.1")
def _(job, x):
    """Of 25 MiB of datasets; x more are metadata."""
    in_pieces(job, 64, own=x)


@case("H02", 99, 100, at=40000, level="HIGH", culprit=OUT, cost=50.0, relax="dataset_transfers = 200")
def _(job, x):
    job.hdf5(OUT)
    job.dataset(OUT, "d", writes=[(x, 8 * KIB)])
    job.mpiio(OUT, writes=[(x, 8 * KIB)], write_time=4 * 50.0)


@case("H03", 999, 1000, at=40000, level="WARN", culprit=OUT, relax="hdf5_metadata = 2000")
def _(job, x):
    """x tiny accesses of metadata beside 10 collective transfers."""
    job.hdf5(OUT)
    job.dataset(OUT, "d", writes=[(10, 16 * MIB)], collective=1)
    job.mpiio(OUT, writes=[(10, 16 * MIB)], reads=[(x, 512)], kind="INDEP", read_time=4 * 50.0, write_time=4.0, INDEP_WRITES=0, COLL_WRITES=10)


def by_element(job, calls, size, seconds, below=0.2):
    """Rank 0 gives HDF5 `size` bytes at a time; it gives them on in large pieces, which take `below`."""
    busy(job, 0.1, ranks=range(1, job.nprocs))
    job.hdf5(LOCAL, 0, parallel=False)
    job.dataset(LOCAL, "d", 0, writes=[(calls, size)], write_time=seconds + below)
    job.posix(LOCAL, 0, writes=[(4, 4 * MIB)], write_time=below)


@case("L11", 999, 1000, at=200000, level="WARN", culprit=LOCAL, cost=20.0, relax="major_faults = 2000")
def _(job, x):
    """x page faults of rank 0 that take 100 µs each; it computes for 50 s."""
    busy(job, 5.0)
    job.extra(LOCAL, 0, MMAPS=1, BYTES_MAPPED=GIB)
    for rank in range(job.nprocs):
        mapped = {"MAJOR_FAULTS": x, "MMAPS": 1, "BYTES_MAPPED": GIB} if rank == 0 else {}
        job.process(rank, F_USER_TIME=50.0, **mapped)


@case("L11", 999 * 4096, 1001 * 4096, note="no more than there are pages")
def _(job, x):
    busy(job, 5.0)
    job.extra(LOCAL, 0, MMAPS=1, BYTES_MAPPED=x)
    for rank in range(job.nprocs):
        job.process(rank, **({"MAJOR_FAULTS": 5000, "MMAPS": 1, "BYTES_MAPPED": x} if rank == 0 else {}))


@case("L11", 999, 1000, at=900000, level="WARN", cost=5.0, note="no more than it waited")
def _(job, x):
    """It was on a processor for 90 s of 100, and in I/O for 5."""
    busy(job, 5.0)
    job.extra(LOCAL, 0, MMAPS=1, BYTES_MAPPED=10 * GIB)
    for rank in range(job.nprocs):
        job.process(rank, F_USER_TIME=80.0, F_SYSTEM_TIME=10.0, **({"MAJOR_FAULTS": x, "MMAPS": 1, "BYTES_MAPPED": 10 * GIB} if rank == 0 else {}))


@case("H08", 999, 1000, at=60000, level="HIGH", culprit=LOCAL, cost=20.0, relax="element_calls = 2000")
def _(job, x):
    by_element(job, x, 8, 20.0)


@case("H08", 4097, 4096, cost=20.0, note="bytes", relax="element_bytes = 1KiB")
def _(job, x):
    by_element(job, 5000, x, 20.0)


@case("L10", 9.9, 10.1, level="INFO", culprit=LOCAL, relax="unexplained_share = 0.2")
def _(job, x):
    """Large calls that take long inside of HDF5: it compresses."""
    by_element(job, 500, MIB, x)


@case("H04", 99, 100, level="HIGH", culprit=OUT, relax="flushes_absolute = 200")
def _(job, x):
    job.hdf5(OUT, flushes=x, F_META_TIME=4 * 30.0)
    job.dataset(OUT, "d", writes=[(100, MIB)])
    job.posix(OUT, -1, writes=[(100, MIB)], write_time=4 * 30.0)


@case("H05", 0, 1, level="INFO", culprit=OUT)
def _(job, x):
    job.hdf5(OUT, parallel=False)
    job.dataset(OUT, "d", writes=[(100, MIB)], USE_DEPRECATED=x)
    job.posix(OUT, -1, writes=[(100, MIB)], write_time=4 * 30.0)


@case("H06", 100, 101, level="INFO", culprit=OUT, relax="selections = 0.2")
def _(job, x):
    job.hdf5(OUT, parallel=False)
    job.dataset(OUT, "d", writes=[(1000, MIB)], POINT_SELECTS=x)
    job.posix(OUT, -1, writes=[(1000, MIB)], write_time=4 * 30.0)


@case("N01", 1000, 1001, at=40000, level="HIGH", culprit=OUT, cost=50.0, relax="collective_operations_absolute = 2000")
def _(job, x):
    job.pnetcdf(OUT, writes=[(x, 8 * KIB)])
    job.mpiio(OUT, writes=[(x, 8 * KIB)], write_time=4 * 50.0)


@case("N04", 3999, 4000, at=40000, level="HIGH", culprit=OUT, cost=20.0, relax="element_calls = 2000")
def _(job, x):
    """x calls of 4 ranks, 20 s of each inside of PnetCDF."""
    job.pnetcdf(OUT, writes=[(x, 8)], kind="NB", F_WRITE_TIME=4 * 21.0)
    job.mpiio(OUT, writes=[(8, 8 * MIB)], kind="COLL", write_time=4 * 1.0)
    job.posix(OUT, 0, writes=[(8, 8 * MIB)], write_time=1.0)


@case("N02", 99, 100, level="INFO", culprit=OUT, relax="dataset_transfers = 200")
def _(job, x):
    job.pnetcdf(OUT, writes=[(x, 8 * MIB)], kind="NB", file_counters={"INDEP_WAITS": 10, "COLL_WAITS": 9})
    job.mpiio(OUT, writes=[(x, 8 * MIB)], kind="COLL", write_time=4 * 20.0)


@case("N03", 40, 41, level="INFO", culprit=OUT, relax="redefs = 20")
def _(job, x):
    job.pnetcdf(OUT, writes=[(10, 8 * MIB)], kind="COLL", file_counters={"REDEFS": x})
    job.mpiio(OUT, writes=[(10, 8 * MIB)], kind="COLL", write_time=4 * 20.0)


@case("X01", 1000, 1001, at=40000, level="HIGH", culprit="/daos/out", cost=50.0, relax="small_requests_absolute = 2000")
def _(job, x):
    job.dfs("/daos/out", 0, writes=[(x, 4 * KIB)], write_time=50.0)


@case("X02", 0, 1, level="INFO", culprit="/daos/out")
def _(job, x):
    busy(job)
    job.dfs("/daos/out", 0, writes=[(x, MIB)], write_time=1.0)


# ---- writes


@case("W01", 20000, 20001, at=200000, level="HIGH", culprit=LOCAL, cost=40 - 200000 * 4 * KIB / RATE, relax="small_requests = 0.2")
def _(job, x):
    """x of 200,000 writes are of 4 KiB; all take 40 s."""
    job.posix(LOCAL, 0, writes=[(x, 4 * KIB), (200000 - x, 2 * MIB)], write_time=40.0)


@case("W08", 99, 100, at=900, level="HIGH", culprit=LOCAL, cost=18.0, relax="slow_small_absolute = 200")
def _(job, x):
    """x writes of 4 KiB with O_SYNC, 20 ms each."""
    busy(job, 1.0)
    job.posix(LOCAL, 0, writes=[(x, 4 * KIB)], write_time=x * 0.02)


@case("W08", 0.00049, 0.00051, note="as long as a disk needs", relax="slow_small_write = 0.001")
def _(job, x):
    busy(job, 1.0)
    job.posix(LOCAL, 0, writes=[(10000, 4 * KIB)], write_time=x * 10000)


@case("W01", 1000, 1001, note="however few writes there are")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(x, 4 * KIB)], write_time=40.0)


@case("W02", 1000, 1001, at=40000, level="HIGH", culprit=OUT, cost=50.0, relax="small_requests_absolute = 2000")
def _(job, x):
    job.posix(OUT, -1, writes=[(x, 4 * KIB)], write_time=4 * 50.0)


@case("W03", 2000, 2001, at=9000, level="HIGH", culprit=LOCAL, cost=0.9 * (80 - 10001 * 2 * MIB / RATE), relax="random_operations = 0.3")
def _(job, x):
    """x of 10,000 large writes go back."""
    job.posix(LOCAL, 0, writes=[(10001, 2 * MIB)], write_time=80.0, random=x)


@case("W04", 64, 65, at=1000, level="WARN", culprit=LOCAL, cost=40.0 * 1000 / 1512, relax="redundant_bytes = 128MiB")
def _(job, x):
    """512 MiB are written, and x MiB - 1 of them again: from a tenth of all and 64 MiB on."""
    job.posix(LOCAL, 0, writes=[(512 + x, MIB)], write_time=40.0, size=512 * MIB + 1)


@case("W05", 2001, 1999, level="OK")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(10001, 2 * MIB)], write_time=40.0, random=x)


@case("W06", 1000, 1001, level="HIGH", culprit=LOCAL, cost=60 - 10000 * 16 * KIB / RATE, relax="syncs = 0.2")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(10000, 16 * KIB)], write_time=60.0, FSYNCS=x)


@case("W07", 1000000, 1000001, level="WARN|INFO", culprit=OUT, relax="small_shared_writes = 2000000")
def _(job, x):
    job.posix(OUT, -1, writes=[(x, 4 * KIB)], write_time=4 * 60.0)


# ---- reads


@case("R01", 2000, 2001, at=20000, level="HIGH", culprit=LOCAL, cost=40 - 20000 * 4 * KIB / RATE, relax="small_requests = 0.2")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(x, 4 * KIB), (20000 - x, 2 * MIB)], read_time=40.0)


@case("R02", 1000, 1001, at=40000, level="HIGH", culprit=OUT, cost=50.0, relax="small_requests_absolute = 2000")
def _(job, x):
    job.posix(OUT, -1, reads=[(x, 4 * KIB)], read_time=4 * 50.0)


@case("R03", 2000, 2001, at=9000, level="HIGH", culprit=LOCAL, cost=0.9 * (80 - 10001 * 2 * MIB / RATE), relax="random_operations = 0.3")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(10001, 2 * MIB)], read_time=80.0, random=x)


@case("R04", 64, 65, at=1000, level="WARN", culprit=LOCAL, cost=40.0 * 1000 / 1512, relax="redundant_bytes = 128MiB")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(512 + x, MIB)], read_time=40.0, size=512 * MIB + 1)


@case("R05", 2001, 1999, level="OK")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(10001, 2 * MIB)], read_time=40.0, random=x)


@case("R06", 199, 200, at=400, level="HIGH", culprit=OUT, cost=50 * 0.75, relax="redundant_bytes = 1GiB")
def _(job, x):
    """100 MiB are read x / 100 times by 4 ranks: from half of them on they all want the same."""
    job.posix(OUT, -1, reads=[(x, MIB)], read_time=4 * 50.0, size=100 * MIB)


@case("R07", 999, 1000, level="INFO|WARN", culprit=OUT, relax="empty_reads_absolute = 2000")
def _(job, x):
    busy(job)
    job.posix(OUT, 0, reads=[(x, 0)], read_time=1.0)


@case("R08", TIB, TIB + MIB, level="WARN|INFO", culprit=LOCAL, relax="redundant_reads_job = 2TiB")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(x // MIB, MIB), (1, GIB)], read_time=90.0, size=GIB)


# ---- file operations


@case("F13", 0.09, 0.11, at=20.0, level="HIGH", culprit=LOCAL, cost=20.0, relax="lock_time = 1")
def _(job, x):
    """10 locks of rank 0 that wait x seconds together."""
    busy(job)
    job.posix(LOCAL, 0, writes=[(10, 100)], write_time=0.001)
    job.extra(LOCAL, 0, LOCKS=10, F_META_TIME=x)


def same_path(job, seconds, ranks):
    job.nprocs = ranks
    busy(job, 5.0)
    job.posix("/scratch/run/app.cfg", -1, reads=[(ranks, 1000)], read_time=0.001, meta_time=seconds * ranks, size=1000)


@case("F14", 0.0049, 0.0051, at=15.0, level="HIGH", culprit="/scratch/run/app.cfg", cost=15.0, relax="same_path_time = 1")
def _(job, x):
    """16 ranks open one file, which takes x seconds each."""
    same_path(job, x, 16)


@case("F14", 15, 16, note="ranks", relax="same_path_ranks = 32")
def _(job, x):
    same_path(job, 2.0, x)


@case("F01", 10.0, 10.1, at=40.0, level="HIGH", culprit=OUT, cost=40.0, relax="metadata_share = 0.2")
def _(job, x):
    """Rank 0 spends x seconds in opens and closes."""
    busy(job, 10.0)
    job.posix(OUT, 0, writes=[(1, MIB)], write_time=0.1, meta_time=x)


@case("F02", 30.0, 30.1, level="WARN|INFO", job={"nprocs": 192, "run_time": 1000}, relax="metadata_time_rank = 60")
def _(job, x):
    job.posix(OUT, -1, writes=[(192, 16 * MIB)], write_time=192.0, meta_time=192 * x)


@case("F03", 103, 104, at=4000, level="HIGH", culprit=OUT, cost=30.0, relax="reopens_absolute = 200")
def _(job, x):
    """4 ranks open a file x times in all: 100 times too often."""
    job.posix(OUT, -1, writes=[(40, 16 * MIB)], write_time=4.0, meta_time=4 * 30.0, OPENS=x)


@case("F04", 999, 1000, at=100000, level="HIGH", culprit=LOCAL, cost=30.0, relax="stats_absolute = 2000")
def _(job, x):
    busy(job, 10.0)
    job.posix(LOCAL, 0, writes=[(10, 16 * MIB)], write_time=1.0, meta_time=30.0, STATS=x)


@case("F05", 9999, 10000, at=10000000, level="WARN", culprit=LOCAL, relax="seeks_absolute = 20000")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(x, 2 * MIB)], write_time=40.0, meta_time=20.0, SEEKS=x)


def many_files(job, count, size=4 * KIB, seconds=40.0):
    for k in range(count):
        job.posix("/scratch/in/f%06d" % k, k % job.nprocs, reads=[(1, size)], read_time=0.0,
                  meta_time=seconds * job.nprocs / count)  # fmt: skip


@case("F06", 999, 1000, level="HIGH", cost=40.0, relax="tiny_files = 2000")
def _(job, x):
    many_files(job, x)


@case("F07", 1023, 1024, level="WARN", job={"nprocs": 1024}, relax="file_per_process_ranks = 2000")
def _(job, x):
    """A file for each of 1,024 ranks, and 3 s to open it."""
    for rank in range(x):
        job.posix("/scratch/run/out.%04d" % rank, rank, writes=[(4, 16 * MIB)], write_time=1.0, meta_time=3.0)


@case("F08", 399, 400, level="INFO", relax="files_per_rank = 200")
def _(job, x):
    many_files(job, x, 2 * MIB)


@case("F09", 999, 1000, level="INFO", culprit=LOCAL, relax="renames_absolute = 2000")
def _(job, x):
    busy(job)
    job.posix(LOCAL, 0, writes=[(1, MIB)], RENAME_SOURCES=x)


@case("F09", 999, 1000, at=20000, level="HIGH", culprit=LOCAL, cost=20.0, note="with their time")
def _(job, x):
    busy(job, 10.0)
    job.extra(LOCAL, 0, RENAMES=x, F_META_TIME=20.0)


@case("F12", 999, 1000, at=20000, level="HIGH", culprit=LOCAL, cost=20.0, relax="removes_absolute = 2000")
def _(job, x):
    busy(job, 10.0)
    job.extra(LOCAL, 0, UNLINKS=x, F_META_TIME=20.0)


@case("F15", 99, 100, at=2000, level="HIGH", culprit=LOCAL, cost=20.0, relax="syncs_absolute = 3000")
def _(job, x):
    """x msyncs of rank 0, and as many syncs of ranges, 10 ms each."""
    busy(job, 10.0)
    job.posix(LOCAL, 0, writes=[(1, 100)], write_time=1e-5)
    job.extra(LOCAL, 0, MSYNCS=x // 2, RANGE_SYNCS=x - x // 2, F_META_TIME=x * 0.01)


@case("F16", 9999, 10000, at=20000, level="WARN", culprit="/scratch/run", cost=20.0, relax="listings_absolute = 30000")
def _(job, x):
    busy(job, 10.0)
    job.extra("/scratch/run", 0, READDIRS=x, F_META_TIME=x * 0.001)


@case("F17", 999, 1000, at=20000, level="HIGH", culprit=LOCAL, cost=20.0, relax="changes_absolute = 30000")
def _(job, x):
    """Truncated, allocated, linked and asked for attributes; a fifth of the time goes into as many locks, which are told elsewhere."""
    busy(job, 10.0)
    kinds = ("TRUNCATES", "ALLOCATES", "CHMODS", "UTIMES", "XATTRS", "LINKS", "MKDIRS")
    job.extra(LOCAL, 0, F_META_TIME=x * 0.00125, LOCKS=x, **{kind: x // 7 + (k < x % 7) for k, kind in enumerate(kinds)})


@case("F10", 999, 1000, level="HIGH", culprit=LOCAL, cost=20.0, relax="failed_absolute = 2000")
def _(job, x):
    busy(job, 10.0)
    job.extra(LOCAL, 0, OPENS_FAILED=x, F_META_TIME=20.0)


@case("F11", 2.0, 2.1, level="INFO", culprit="/tmp/pipe", relax="open_wait = 3")
def _(job, x):
    busy(job)
    job.posix("/tmp/pipe", 0, reads=[(1, 100)], meta_time=x)


# ---- balance


def per_rank(job, seconds, size=16 * MIB, counts=None):
    for rank, time in enumerate(seconds):
        count = counts[rank] if counts else 400
        job.posix("/local/out.%d" % rank, rank, writes=[(count, size)], write_time=time)


@case("B01", 12.4, 12.6, at=20.0, level="WARN", culprit="3", cost=7.5, relax="imbalance_stragglers = 30%")
def _(job, x):
    """Ranks need 10 s, the last one x: more than 15 % beyond the mean from 12.5 s on."""
    per_rank(job, [10.0, 10.0, 10.0, x])


@case("B08", 29.9, 30.1, at=60.0, level="HIGH", culprit="3", cost=60 - 22.5, relax="imbalance_high = 0.6")
def _(job, x):
    """More than half of the slowest rank's time is beyond the mean from 30 s on."""
    per_rank(job, [10.0, 10.0, 10.0, x])


@case("B01", 1.6, 1.7, note="however short the job is", job={"run_time": 10})
def _(job, x):
    """Half a second beyond the mean: x - (3 + x) / 4 is 0.5 at 1.667."""
    per_rank(job, [1.0, 1.0, 1.0, x])


@case("B02", 66, 67, at=250, level="HIGH", culprit="3", cost=0.75 * (250 - 40) / 4, relax="imbalance_size = 0.5")
def _(job, x):
    """Ranks move 40 times 16 MiB, the last one x times, at 64 MiB/s: 30 % beyond the mean from 66.7 on."""
    per_rank(job, [40 / 4, 40 / 4, 40 / 4, x / 4], counts=[40, 40, 40, x])


def partly(job, x, kind):
    """Ranks 0 and 1 of 4 use a file; rank 0 moves 400 MiB, rank 1 x MiB."""
    for rank, count in enumerate((400, x, 0, 0)):
        if rank < 2:
            job.posix(OUT, rank, **{kind + "s": [(count, MIB)], kind + "_time": count / 10.0})
        if count < 400:  # all move the same in the end
            job.posix("/local/other.%d" % rank, rank, writes=[(400 - count, MIB)], write_time=(400 - count) / 400)


@case("B03", 280, 279, at=0, level="HIGH", culprit=OUT, cost=20.0, relax="imbalance_size = 0.5")
def _(job, x):
    partly(job, x, "write")


@case("B04", 280, 279, at=0, level="HIGH", culprit=OUT, cost=20.0, relax="imbalance_size = 0.5")
def _(job, x):
    partly(job, x, "read")


def nodes(job, seconds):
    for rank in range(4):
        time = seconds if rank > 1 else 10.0
        job.posix("/local/out.%d" % rank, rank, writes=[(10, 16 * MIB)], write_time=time)
        job.process(rank, b"node%d" % (rank // 2))


@case("B05", 14.2, 14.4, at=60.0, level="WARN", cost=25.0, relax="imbalance_stragglers = 0.3")
def _(job, x):
    """Two nodes of two ranks; those of the second need x seconds instead of 10: 15 % from 14.29 s on."""
    nodes(job, x)


def phases(job, seconds):
    """A phase in which all ranks write from second 10 on; rank 2 until later."""
    for rank in range(4):
        time = seconds if rank == 2 else 10.0
        job.posix(OUT, rank, writes=[(10, 16 * MIB)], write_time=time)
        job.trace(OUT, rank, [((rank * 10 + k) * 16 * MIB, 16 * MIB, 10 + k * time / 10, 10 + (k + 1) * time / 10) for k in range(10)])


@case("B06", 14.9, 15.1, at=60.0, level="HIGH", culprit="2", cost=50.0, relax="straggler = 2")
def _(job, x):
    """Ranks are busy 10 s, rank 2 x: half as much again from 15 s on."""
    phases(job, x)


@case("B07", 10.8, 10.6, level="OK")
def _(job, x):
    """(x - mean) / x is 5 % at 10.71 s."""
    per_rank(job, [10.0, 10.0, 10.0, x])


# ---- what kind of I/O it is


@case("K01", 550, 551, level="INFO", relax="imbalance_operations = 0.2")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(x, 16 * MIB)], reads=[(1000 - x, 16 * MIB)], write_time=10.0, read_time=10.0)


@case("K02", 550, 551, level="INFO", relax="imbalance_operations = 0.2")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(1000 - x, 16 * MIB)], reads=[(x, 16 * MIB)], write_time=10.0, read_time=10.0)


@case("K03", 550, 551, level="INFO", relax="imbalance_operations = 0.2")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(1, x * 16 * MIB)], reads=[(1, (1000 - x) * 16 * MIB)], write_time=10.0, read_time=10.0)


@case("K04", 550, 551, level="INFO", relax="imbalance_operations = 0.2")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(1, (1000 - x) * 16 * MIB)], reads=[(1, x * 16 * MIB)], write_time=10.0, read_time=10.0)


@case("K05", 3000, 3001, level="INFO", culprit=LOCAL, relax="switches = 0.5")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(5000, 16 * MIB)], reads=[(5000, 16 * MIB)], write_time=10.0, read_time=10.0, RW_SWITCHES=x)


@case("K06", 64 * MIB - 1, 64 * MIB, level="INFO", relax="interface_bytes = 128MiB")
def _(job, x):
    busy(job)
    job.stdio("<STDOUT>", 0, writes=[(1, x)], write_time=1.0)


@case("I02", 0, 1, level="INFO")
def _(job, x):
    phases(job, 10.0)
    if x:
        job.partial.add("DXT_POSIX")


# ---- rules with a second limit


@case("W02", 4000, 4001, note="share")
def _(job, x):
    job.posix(OUT, -1, writes=[(x, 4 * KIB), (40000 - x, 2 * MIB)], write_time=4 * 50.0)


@case("R02", 4000, 4001, note="share")
def _(job, x):
    job.posix(OUT, -1, reads=[(x, 4 * KIB), (40000 - x, 2 * MIB)], read_time=4 * 50.0)


@case("R01", 1000, 1001, note="however few reads there are")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(x, 4 * KIB)], read_time=40.0)


@case("W03", 1000, 1001, note="however few writes there are")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(2001, 2 * MIB)], write_time=40.0, random=x)


@case("R03", 1000, 1001, note="however few reads there are")
def _(job, x):
    job.posix(LOCAL, 0, reads=[(2001, 2 * MIB)], read_time=40.0, random=x)


@case("A02", 5000, 5001, note="share")
def _(job, x):
    job.mpiio(OUT, writes=[(10000, 8 * KIB)], write_time=4 * 50.0, INDEP_WRITES=x, COLL_WRITES=10000 - x)


@case("A01", 5000, 5001, note="share")
def _(job, x):
    job.mpiio(OUT, reads=[(10000, 8 * KIB)], read_time=4 * 50.0, INDEP_READS=x, COLL_READS=10000 - x)


@case("N01", 5000, 5001, note="share")
def _(job, x):
    job.pnetcdf(OUT, writes=[(10000, 8 * KIB)], INDEP_WRITES=x, COLL_WRITES=10000 - x)
    job.mpiio(OUT, writes=[(10000, 8 * KIB)], write_time=4 * 50.0)


@case("X01", 4000, 4001, note="share")
def _(job, x):
    job.dfs("/daos/out", 0, writes=[(x, 4 * KIB), (40000 - x, 2 * MIB)], write_time=50.0)


@case("W06", 99, 100, note="however few writes there are")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(500, 16 * KIB)], write_time=60.0, FSYNCS=x // 2, FDSYNCS=x - x // 2)


@case("W04", 99, 101, note="share")
def _(job, x):
    """10,000 MiB, of which x tenths of a percent are written again."""
    again = x * 10000 // (1000 - x)
    job.posix(LOCAL, 0, writes=[(10000 + again, MIB)], write_time=60.0, size=10000 * MIB + 1)


@case("L01", 63, 65, note="however little is written")
def _(job, x):
    job.mpiio(OUT, writes=[(500, MIB)], kind="COLL", write_time=4 * 40.0)
    job.posix(OUT, -1, writes=[(500, MIB)], reads=[(x, MIB)], write_time=100.0, read_time=60.0, size=500 * MIB)


@case("L02", 63, 64, note="however little is written")
def _(job, x):
    job.mpiio(OUT, writes=[(100, MIB)], kind="COLL", write_time=4 * 40.0)
    job.posix(OUT, -1, writes=[(100 + x, MIB)], write_time=4 * 40.0, size=100 * MIB)


@case("L06", 100, 101, note="share")
def _(job, x):
    """x of 1,000 MiB go through a stream."""
    job.stdio("/local/log", 0, writes=[(x * 1024, KIB)], write_time=40.0)
    job.posix(LOCAL, 0, writes=[(1000 - x, MIB)], write_time=2.0)


@case("L04", 10001, 10000, note="calls for each call")
def _(job, x):
    """100,000 POSIX writes for x calls of MPI-IO."""
    job.mpiio(OUT, writes=[(x, 40 * KIB)], write_time=4 * 20.0)
    job.posix(OUT, -1, writes=[(100000, 4 * KIB)], write_time=4 * 20.0)


@case("T06", 9.9, 10.1, note="compared with others")
def _(job, x):
    """One write takes 5 s, the others an x-th of it."""
    job.posix(LOCAL, 0, writes=[(10, 16 * MIB)], write_time=5.0 + 9 * 5.0 / x, F_MAX_WRITE_TIME=5.0, MAX_WRITE_TIME_SIZE=16 * MIB)


@case("O01", 3, 4, note="targets that must be known", job={"nprocs": 8})
def _(job, x):
    for ost in range(x):
        name = "/scratch/run/out.%04d" % ost
        job.posix(name, ost, writes=[(64, 16 * MIB)], write_time=80.0 if ost == 1 else 5.0)
        job.lustre(name, osts=[ost])


@case("O05", 999, 1000, note="however few there are")
def _(job, x):
    job.posix(OUT, -1, writes=[(2000, 16 * MIB)], write_time=160.0, FILE_NOT_ALIGNED=x)


@case("F02", 191, 192, note="ranks")
def _(job, x):
    job.nprocs, job.run_time = x, 1000
    job.posix(OUT, -1, writes=[(x, 16 * MIB)], write_time=float(x), meta_time=x * 40.0)


@case("F02", 24, 26, note="share of metadata", job={"nprocs": 192, "run_time": 1000})
def _(job, x):
    job.posix(OUT, -1, writes=[(192, 16 * MIB)], write_time=192 * 2.0 * (100 - x), meta_time=192 * 2.0 * x)


@case("F01", 30.0, 30.1, note="however long the job lasts", job={"run_time": 10000})
def _(job, x):
    busy(job, 100.0)
    job.posix(OUT, 0, writes=[(1, MIB)], write_time=0.1, meta_time=x)


@case("F03", 799, 800, note="for each rank", job={"nprocs": 160})
def _(job, x):
    job.posix(OUT, -1, writes=[(160, 16 * MIB)], write_time=160.0, meta_time=160 * 20.0, OPENS=x)


@case("F04", 4999, 5000, note="for each open")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(10, 16 * MIB)], write_time=1.0, meta_time=30.0, STATS=x, OPENS=500)


@case("F05", 18000, 18001, note="for each access")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(20000, 2 * MIB)], write_time=40.0, meta_time=20.0, SEEKS=x)


@case("F06", 3001, 3000, note="share of tiny files")
def _(job, x):
    many_files(job, 3000)
    for k in range(x):
        job.posix("/scratch/large/%d" % k, k % 4, reads=[(1, 16 * MIB)], read_time=0.001)


@case("F06", MIB, MIB - 1, note="size of tiny files")
def _(job, x):
    many_files(job, 2000, x)


@case("B02", 64, 65, note="however few bytes there are")
def _(job, x):
    """The last rank moves x MiB more than the mean."""
    extra = x * 4 // 3 + (x * 4 % 3 > 0)
    if x == 64:
        extra -= 1
    per_rank(job, [0.5, 0.5, 0.5, 30.0], size=MIB, counts=[1, 1, 1, 1 + extra])


@case("B03", 63, 64, note="however few bytes there are")
def _(job, x):
    for rank, count in enumerate((x, 0, 0, 0)):
        if rank < 2:
            job.posix(OUT, rank, writes=[(count, MIB)], write_time=count / 10.0)
        if count < 64:
            job.posix("/local/other.%d" % rank, rank, writes=[(64 - count, MIB)], write_time=0.1)


@case("H04", 100, 101, note="for each write")
def _(job, x):
    job.hdf5(OUT, flushes=x, F_META_TIME=4 * 30.0)
    job.dataset(OUT, "d", writes=[(1000, MIB)])
    job.posix(OUT, -1, writes=[(1000, MIB)], write_time=4 * 30.0)


@case("H06", 99, 100, note="however few accesses there are")
def _(job, x):
    job.hdf5(OUT, parallel=False)
    job.dataset(OUT, "d", writes=[(x, MIB)], POINT_SELECTS=x)
    job.posix(OUT, -1, writes=[(x, MIB)], write_time=4 * 30.0)


@case("K05", 1000, 1001, note="however few accesses there are")
def _(job, x):
    job.posix(LOCAL, 0, writes=[(1000, 16 * MIB)], reads=[(1000, 16 * MIB)], write_time=10.0, read_time=10.0, RW_SWITCHES=x)


@case("R06", 47, 49, note="however few bytes there are")
def _(job, x):
    """4 ranks read x + 32 MiB of a file of 16 MiB: 64 MiB more than it has from 48 on."""
    job.posix(OUT, -1, reads=[(x + 32, MIB)], read_time=4 * 50.0, size=16 * MIB)


# ---- client and servers of the file system

VOL = "/mnt/vol/out.dat"
PIECE = 128 * KIB


def requests(job, n, rpcs, kind="write", cluster=None):
    """Rank 0 moves n pieces; rpcs(i): what the i-th request asks of servers, (server, kind, after, duration, disk) in ms."""
    c = cluster or Cluster(job)
    call = c.call(0, "POSIX", "pwrite" if kind == "write" else "pread", kind, VOL, 0, n * PIECE, 1000 * MS, 0)
    now = 1001 * MS
    for i in range(n):
        now = c.request(0, kind, VOL, i * PIECE, PIECE, now, [(s, k, int(a * MS), int(t * MS), int(d * MS)) for s, k, a, t, d in rpcs(i)])
    call["end"] = now + MS
    c.finish()
    seconds = (now - 1000 * MS) / 1e9
    job.posix(VOL, 0, **{kind + "s": [(n, PIECE)], kind + "_time": seconds})
    return seconds


@case("C01", 1.49, 1.51, at=3, level="HIGH", cost=100 * 0.1 * 2, factor=1.05, relax="slow_server = 4")
def _(job, x):
    requests(job, 100, lambda i: [(0, "write", 0, 100, 60), (1, "write", 0, 100, 60), (2, "write", 0, 100 * x, 60)])


@case("C02", 57, 58, relax="server_skew = 1.5")
def _(job, x):
    requests(job, 80 + x, lambda i: [(i % 2 if i < 80 else 2, "write", 0, 100, 60)])


@case("C03", 100, 101, at=200, level="HIGH|WARN", cost=200 * 0.1 * (1 - 1 / 200), factor=1.1, relax="cut_requests = 0.5")
def _(job, x):
    c = Cluster(job)
    end = c.move(0, "write", "/mnt/vol/cut", 0, x * 256, 60000 * MS, [(0, "write", 0, 100 * MS, 60 * MS)], piece=256)
    job.posix("/mnt/vol/cut", 0, writes=[(1, x * 256)], write_time=end / 1e9 - 60)
    requests(job, 900, lambda i: [(0, "write", 0, 10, 6)], cluster=c)


@case("C04", 1.6, 1.75, at=8, level="HIGH|WARN", cost=8, factor=1.1, relax="lock_wait = 0.9")
def _(job, x):
    c = Cluster(job)
    for rank in range(3):
        wait = int(x * 1000) if rank else 0
        start = (1000 + 10000 * rank - wait) * MS
        end = c.move(rank, "write", VOL, rank * 10 * PIECE, 10 * PIECE, start, [(0, "write", 0, 995 * MS, 600 * MS)], before=wait * MS + MS // 10)
        job.posix(VOL + ".%d" % rank, rank, writes=[(1, 10 * PIECE)], write_time=(end - start) / 1e9)
    c.finish()


@case("C04", 0, 1, note="each its own file")
def _(job, x):
    c = Cluster(job)
    for rank in range(4):
        name = VOL if x else VOL + ".%d" % rank
        before = 10000 * rank * MS + MS if x else MS
        end = c.move(rank, "write", name, rank * 10 * PIECE, 10 * PIECE, 1000 * MS, [(0, "write", 0, 990 * MS, 600 * MS)], before=before)
        job.posix(VOL + ".%d" % rank, rank, writes=[(1, 10 * PIECE)], write_time=end / 1e9 - 1)
    c.finish()


@case("C05", 10, 11, at=60, level="HIGH|WARN", cost=6, factor=1.1, relax="modify_requests = 0.9")
def _(job, x):
    read = (0, "read", 0, 100, 60)
    requests(job, 100, lambda i: ([read] if i < x else []) + [(0, "write", 100, 100, 60), (1, "write", 100, 100, 60)])


@case("C06", 2, 3, level="INFO", relax="cached_reads = 0.5")
def _(job, x):
    c = Cluster(job)
    for i in range(x):
        c.call(0, "POSIX", "pread", "read", VOL, i * 4096, 4096, (50000 + i) * MS, (50000 + i) * MS + 5000)
    for i in range(20):
        c.move(0, "read", VOL, i * PIECE, PIECE, (60000 + 100 * i) * MS, [(0, "read", 0, 10 * MS, 6 * MS)])
    c.finish()
    job.posix(VOL, 0, reads=[(20 + x, PIECE)], read_time=3.0)


@case("C07", 46, 44, at=10, level="WARN", cost=100 * 0.08, factor=1.1, relax="server_queue = 0.95")
def _(job, x):
    requests(job, 100, lambda i: [(0, "write", 0, 100, x), (1, "write", 0, 100, x)])


# ---- data loaders, io_uring


def samples(job, count, random, size=20000, read=None, **more):
    """Rank 0 reads `count` records of 20 KB, 2 ms each, `random` of them behind the one before."""
    job.posix(LOCAL, 0, reads=[(count, size)], read_time=count * 2e-3, random=random, size=read or count * size, **more)


SHUFFLED = 10000 * (2e-3 - 20000 / RATE)


@case("E01", 3499, 3500, at=5000, level="HIGH", culprit=LOCAL, cost=SHUFFLED, job={"nprocs": 1}, relax="shuffled_least = 0.4")
def _(job, x):
    samples(job, 10001, x)


@case("E01", 6501, 6500, job={"nprocs": 1}, note="backwards is no shuffled order", relax="shuffled_most = 0.6")
def _(job, x):
    samples(job, 10001, x)


@case("E01", 20001, 20000, level="HIGH", job={"nprocs": 1}, note="of a part of the file only", relax="shuffled_read = 0.6")
def _(job, x):
    samples(job, 10000, 5000, read=x * 20000)


@case("E01", 1000, 1001, job={"nprocs": 1}, note="however few samples there are", relax="small_requests_absolute = 2000")
def _(job, x):
    samples(job, x, x // 2)


@case("E01", 2, 1, level="HIGH", note="ranks of MPI, unless it is Python", job={"nprocs": 1})
def _(job, x):
    job.nprocs = x
    samples(job, 10000, 5000)


def epochs(job, files, times, size=MIB, each=0.1):
    for k in range(files):
        job.posix("/scratch/set/%d" % k, k % job.nprocs, reads=[(times, size)], read_time=times * each, size=size, OPENS=times)


@case("E02", 99, 100, at=400, level="HIGH", cost=4 * 100 * 0.1, job={"run_time": 200}, relax="epoch_files = 200")
def _(job, x):
    """Each rank reads its part of x files in five epochs."""
    epochs(job, x, 5)


@case("E02", 63, 64, at=4000, note="however few bytes there are", relax="redundant_bytes = 200MiB", level="HIGH", job={"nprocs": 1})
def _(job, x):
    """128 files, x MiB of them again."""
    epochs(job, 128, 2, size=x * MIB // 128 if x < 200 else MIB)


@case("E02", 1, 2, level="HIGH", note="ranks that read it once each are no epochs")
def _(job, x):
    for k in range(400):
        job.posix("/scratch/set/%d" % k, -1, reads=[(4 * x, MIB)], read_time=4 * x * 0.1, size=MIB, OPENS=4 * x)


def with_workers(job, workers, computes, reads, idle, index=0.0):
    """Processes that read for the first one: each computes and reads so long, and `index` seconds with a file that all of them open."""
    job.process(0, F_USER_TIME=100.0 - idle, PARENT_RANK=-1)
    job.posix("/home/me/run.log", 0, writes=[(10, 80)], write_time=1e-4)
    for rank in range(1, workers + 1):
        job.process(rank, F_USER_TIME=computes, PARENT_RANK=0)
        for k in range(10):
            job.posix("/local/set/%d.%d" % (rank, k), rank, reads=[(8, 4 * MIB)], read_time=reads / 10)
        if index:
            job.posix("/local/index", rank, reads=[(2, 4 * MIB)], read_time=index)


@case("E04", 29.5, 30.5, at=80.0, level="WARN", cost=20.0, job={"nprocs": 3}, relax="workers_wait = 0.9")
def _(job, x):
    """Two workers are busy all the time, 40 s of it in files; the process that they read for waits x seconds."""
    with_workers(job, 2, 58.0, 40.0, x)


@case("E04", 49.0, 51.0, level="WARN", cost=20.0, job={"nprocs": 3}, note="workers that wait are enough", relax="workers_busy = 0.95")
def _(job, x):
    with_workers(job, 2, x, 40.0, 80.0)


@case("E04", 4.9, 5.1, at=40.0, level="WARN", job={"nprocs": 3}, note="who computes needs no reader", relax="overlap_share = 0.5")
def _(job, x):
    with_workers(job, 2, 98.0 - x, x, 80.0)


@case("E05", 7, 8, at=31, level="WARN", culprit="/local/index", cost=8.0 * (1 - 6 / 31), job={"nprocs": 32}, relax="workers_many = 40")
def _(job, x):
    """x workers, each busy for 15 of 100 s: 8 s of it with what all of them need."""
    job.nprocs = x + 1
    with_workers(job, x, 2.0, 5.0, 30.0, index=8.0)


@case("E05", 20.0, 17.0, at=12.0, job={"nprocs": 17}, note="busy workers are not too many", relax="workers_idle = 0.1")
def _(job, x):
    with_workers(job, 16, x - 2.0, 5.0, 30.0, index=2.0)


def in_turn(job, reads, computes, files=200, spread=100, threads=1):
    """It reads during the whole run, or in `spread` of 100 parts of it."""
    for k in range(files):
        job.posix("/local/set/%d" % k, 0, reads=[(2, 2 * MIB)], read_time=reads / files)
    job.process(0, F_USER_TIME=computes, THREADS=threads)
    job.heat("POSIX", {0: ([0] * 100, [4 * MIB] * spread + [0] * (100 - spread))})


@case("E03", 4.9, 5.1, at=30.0, level="WARN", cost=30.0, job={"nprocs": 1}, relax="overlap_share = 0.4")
def _(job, x):
    in_turn(job, x, 60.0)


@case("E03", 4.9, 5.1, at=20.0, level="WARN", cost=20.0, job={"nprocs": 1}, note="no more than it does besides")
def _(job, x):
    in_turn(job, 100.0 - x, x)


@case("E03", 2, 1, level="WARN", cost=30.0, job={"nprocs": 1}, note="other threads that read")
def _(job, x):
    in_turn(job, 30.0, 60.0, threads=x)


@case("E03", 97.0, 92.0, at=80.0, level="WARN", cost=20.0, job={"nprocs": 1}, note="overlapped already")
def _(job, x):
    in_turn(job, 30.0, x)


@case("E03", 99, 100, level="WARN", job={"nprocs": 1}, note="however few reads there are", relax="loader_reads = 200")
def _(job, x):
    for k in range(x):
        job.posix("/local/set/%d" % k, 0, reads=[(1, 2 * MIB)], read_time=30.0 / x)
    job.process(0, F_USER_TIME=60.0)
    job.heat("POSIX", {0: ([0] * 100, [4 * MIB] * 100)})


@case("E03", 19, 21, level="WARN", job={"nprocs": 1}, note="input that is loaded at the start", relax="burst_bytes = 0.4")
def _(job, x):
    in_turn(job, 6.0, 60.0, spread=x)


def ring(job, submits, depth, count=20000, each=1e-3, size=4 * KIB):
    job.posix(LOCAL, 0, reads=[(count, size)], read_time=count * each)
    job.extra(LOCAL, 0, AIO_READS=count)
    job.process(0, URING_OPS=count, URING_SUBMITS=submits, URING_DEPTH_SUM=round(submits * depth), URING_DEPTH_MAX=max(1, round(depth)))


@case("U01", 999, 1000, at=20000, level="HIGH", culprit=LOCAL, cost=20.0 * 7 / 8, factor=1.05, job={"nprocs": 1}, relax="uring_submits = 30000")
def _(job, x):
    ring(job, x, 1)


@case("U01", 1.5, 1.49, job={"nprocs": 1}, note="several at a time", relax="uring_depth = 1.2")
def _(job, x):
    ring(job, 20000, x)


@case("U01", 999, 1000, level="HIGH", cost=60 * (0.012 - 4 * MIB / RATE), job={"nprocs": 1, "run_time": 2}, note="large requests: what their bytes need stays")
def _(job, x):
    ring(job, x, 1, count=60, each=0.012, size=4 * MIB)


@case("R01", 2, 3, level="HIGH", job={"nprocs": 1}, note="small files that are read whole", relax="whole_reads = 10")
def _(job, x):
    """900 files of 400 KiB in x reads each."""
    for k in range(900):
        job.posix("/local/%d" % k, 0, reads=[(x, 400 * KIB // x)], read_time=0.06)


@case("R01", 2.0, 1.9, level="HIGH", job={"nprocs": 1}, note="many requests at a time")
def _(job, x):
    """Asynchronous reads; added up they take x times as long as all together."""
    job.posix(LOCAL, 0, reads=[(20000, 4 * KIB)], read_time=20.0)
    job.extra(LOCAL, 0, AIO_READS=20000, F_READ_SUM=20.0 * x)


@case("R03", 1, 0, level="HIGH", job={"nprocs": 1}, note="the first read after an open has none before it")
def _(job, x):
    """12,000 reads of 2 MiB, from the start after each of 6,000 opens, or back and forth."""
    job.posix(LOCAL, 0, reads=[(12000, 2 * MIB)], read_time=80.0, random=5999, OPENS=6000 if x else 1, size=32 * MIB)
