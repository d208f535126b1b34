# SPDX-License-Identifier: BSD-3-Clause
"""Behaviours of programs, each with the seconds that every rank loses by it. What is true is decided here, by what machines do:
a request has a latency and a rate, an open asks a server, a sync waits for a disk, ranks that share a server share its rate. A
loss is what the ranks took beyond what the repaired program would take on the same machine; nothing is taken from our rules
or their limits. `rules` are the findings that name the cause rightly.

    @behaviour("W01", ...)
    def name(w, t):            w: World, t: seconds that the slowest rank is to lose; returns {rank: seconds}"""
import math

from jobs import GIB, KIB, MIB, total

BEHAVIOURS = []


class Behaviour:
    def __init__(self, function, rules, ranks, least, needs, beyond, plain, apart, most):
        self.name, self.build, self.rules = function.__name__, function, rules
        self.ranks, self.most = ranks, most  # that a job must have at least, and at most
        self.plain = plain  # of a job without MPI: processes that one of them started
        self.apart = set(apart)  # rules whose seconds are some of its own: no such behaviour beside it; "*": none at all
        self.least = least  # share of the run time from which on it can be seen
        self.beyond = beyond  # its seconds are outside of all I/O calls
        self.needs = needs  # direction whose rate must be known: nothing else tells these requests from good ones

    def goes_with(self, others):
        """No finding is common to them, and the seconds of the one are none of the other."""
        return not any(
            set(self.rules) & set(o.rules) or "*" in self.apart | o.apart or self.apart & set(o.rules) or o.apart & set(self.rules) for o in others
        )


def behaviour(*rules, ranks=1, least=0.0, needs=None, beyond=False, plain=False, apart=(), most=1 << 30):
    def keep(function):
        BEHAVIOURS.append(Behaviour(function, rules, ranks, least, needs, beyond, plain, apart, most))
        return function

    return keep


class World:
    """A machine and a job on it. Every rank moves `rate` bytes/s in large requests, when nobody is in its way."""

    def __init__(self, job, chance, rate, plain=False):
        self.job, self.chance, self.rate, self.plain = job, chance, rate, plain
        self.lasts = 0.0  # seconds that the run lasts at least
        self.later = []  # what is told when it is known how long it lasts: functions of that
        self.n = job.nprocs
        self.io = [0.0] * self.n
        self.beyond = [0.0] * self.n  # seconds outside of I/O calls
        self.files = 0
        self.processes = {}
        self.known = set()  # directions in which the job shows how fast large requests are

    def name(self, where="scratch"):
        self.files += 1
        return "/%s/run/part%d.dat" % (where, self.files)

    def log(self, least, most):
        return math.exp(self.chance.uniform(math.log(least), math.log(most)))

    def noise(self):
        """Ranks do not take exactly the same time."""
        return self.chance.uniform(0.97, 1.0)

    def ranks(self):
        """All of them, or one."""
        return list(range(self.n)) if self.n == 1 or self.chance.random() < 0.7 else [self.chance.randrange(self.n)]

    def spend(self, times):
        for rank, seconds in times.items():
            self.io[rank] += seconds

    def process(self, rank, **counters):
        """What the system counts of a process; told when the job is over."""
        self.processes.setdefault(rank, {}).update(counters)

    def system(self, rank, seconds):
        """Calls of the system take that in it, where processes tell."""
        if self.plain:
            self.process(rank, F_SYSTEM_TIME=0.02 + seconds)

    def spend_beyond(self, times):
        for rank, seconds in times.items():
            self.beyond[rank] += seconds

    def slowest(self, times, moved):
        rank = max(times, key=lambda r: (times[r], -r))
        return (rank, times[rank], moved // self.n)

    # ---- whole records

    def own(self, direction, count, length, each, lost, meta=0.0, ranks=None, where="local", **more):
        """Files of single ranks: `count` requests of `length` that take `each`; `lost` of it for each request."""
        losses = {}
        for rank in self.ranks() if ranks is None else ranks:
            f = self.noise()
            args = {direction + "s": [(count, length)], direction + "_time": count * each * f, "meta_time": meta * f}
            args["F_MAX_%s_TIME" % direction.upper()] = min(count, 1.3) * each
            args["MAX_%s_TIME_SIZE" % direction.upper()] = length
            self.job.posix(self.name(where), rank, **{**args, **more})
            self.spend({rank: (count * each + meta) * f})
            losses[rank] = count * lost * f
        return losses

    def shared(self, direction, count, length, each, lost, mpi=None, name=None, posix=True, **more):
        """A file of all ranks; `count` requests of each. mpi: kind of MPI-IO calls that make them."""
        times = {r: count * each * self.noise() for r in range(self.n)}
        moved = count * length * self.n
        args = {direction + "s": [(count * self.n, length)], direction + "_time": sum(times.values()), "slowest": self.slowest(times, moved)}
        word = direction.upper()
        args.update({"F_MAX_%s_TIME" % word: 1.3 * each, "MAX_%s_TIME_SIZE" % word: length})
        name = name or self.name()
        if mpi:
            self.job.mpiio(name, kind=mpi, **args)
        if posix:
            self.job.posix(name, -1, **{**args, **more})
        self.spend(times)
        return {r: times[r] * lost / each for r in times}


def calls_for(t, each):
    return max(1, round(t / each))


def size_within(w, sizes, each, direction):
    """A size whose bytes need less time than the latency. Where nothing shows how fast large requests would be, nobody can tell one
    from the other: then much less."""
    most = each * (1 if direction in w.known else 0.15)
    return w.chance.choice([s for s in sizes if s / w.rate < most] or [sizes[0]])


# ---- the healthy part: what a job does beside


def healthy(w, seconds):
    """Large requests at the rate of the machine, and what every program does: a configuration, a log, a sync at the end."""
    if seconds > 0:
        size = w.chance.choice((4, 8, 16, 64)) * MIB
        count = max(2, int(seconds * w.rate / size))
        kind = w.chance.choice(("own", "own", "shared", "indep", "coll")) if not w.plain else "own"
        if kind == "own" or w.n == 1:
            direction = w.chance.choice(("write", "read"))
            w.known.add(direction)
            w.own(direction, count, size, size / w.rate, 0, ranks=range(w.n), FSYNCS=1, where=w.chance.choice(("local", "scratch")))
        else:
            w.known.add("write")
            w.shared("write", count, size, size / w.rate, 0, mpi={"shared": None, "indep": "INDEP", "coll": "COLL"}[kind], FSYNCS=w.n)
    if w.chance.random() < 0.5:  # a log of rank 0
        lines = w.chance.choice((50, 3000, 20000))
        w.job.posix("/home/me/run.log", 0, writes=[(lines, 80)], write_time=lines * 4e-6, meta_time=1e-4)
        w.spend({0: lines * 4e-6 + 1e-4})
    if w.chance.random() < 0.5:  # a configuration that all ranks read
        w.job.posix("/home/me/run.ini", -1 if w.n > 1 else 0, reads=[(w.n, 2000)], read_time=w.n * 1e-4, meta_time=w.n * 1e-4, size=2000)
        w.spend({r: 2e-4 for r in range(w.n)})
    if w.chance.random() < 0.3:  # headers before the data: many, and quick
        w.own("read", 4000, 96, 2e-6, 0, ranks=[0], SEEKS=4000)
    if w.chance.random() < 0.3 and w.n > 1:  # rank 0 reads the input and passes it on
        size = w.chance.choice((1, 8, 32)) * MIB
        w.own("read", 4, size, size / w.rate, 0, ranks=[0])


# ---- requests


@behaviour("W01")
def small_writes(w, t):
    lat = w.log(3e-5, 4e-4)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "write")
    return w.own("write", calls_for(t, lat), size, lat + size / w.rate, lat)


@behaviour("W08", "W01")
def synchronous_writes(w, t):
    """O_SYNC: each write waits for the disk."""
    lat = min(w.log(1e-3, 1e-2), t / 150)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "write")
    return w.own("write", calls_for(t, lat), size, lat + size / w.rate, lat)


@behaviour("R01")
def small_reads(w, t):
    lat = min(w.log(3e-5, 2e-3), t / 1100)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "read")
    return w.own("read", calls_for(t, lat), size, lat + size / w.rate, lat)


@behaviour("R01", "R03")
def random_small_reads(w, t):
    lat = min(w.log(1e-4, 2e-3), t / 1500)
    size = size_within(w, (512, 4 * KIB, 32 * KIB), lat, "read")
    count = calls_for(t, lat)
    return w.own("read", count, size, lat + size / w.rate, lat, random=count // 2, size=8 * count * size)


@behaviour("W02", "L07", ranks=2)
def small_shared_writes(w, t):
    lat = min(w.log(1e-4, 2e-3), t / 1100)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "write")
    return w.shared("write", calls_for(t, lat), size, lat + size / w.rate, lat)


@behaviour("R02", ranks=2)
def small_shared_reads(w, t):
    lat = min(w.log(1e-4, 2e-3), t / 1100)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "read")
    return w.shared("read", calls_for(t, lat), size, lat + size / w.rate, lat)


@behaviour("W02", "A02", ranks=2)
def independent_writes(w, t):
    lat = min(w.log(1e-4, 2e-3), t / 1100)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "write")
    return w.shared("write", calls_for(t, lat), size, lat + size / w.rate, lat, mpi="INDEP")


@behaviour("R02", "A01", ranks=2)
def independent_reads(w, t):
    lat = min(w.log(1e-4, 2e-3), t / 1100)
    size = size_within(w, (64, 512, 4 * KIB, 32 * KIB, 200 * KIB), lat, "read")
    return w.shared("read", calls_for(t, lat), size, lat + size / w.rate, lat, mpi="INDEP")


@behaviour("R03", needs="read")
def random_reads(w, t):
    """Large reads, each of which moves the head of a disk."""
    seek = min(w.log(4e-3, 3e-2), t / 1300)
    size = int(w.chance.choice((1.5, 2, 3)) * MIB)
    count = calls_for(t, seek)
    return w.own("read", count, size, seek + size / w.rate, seek, random=int(count * 0.9), size=4 * count * size)


@behaviour("R04")
def read_again(w, t):
    times = w.chance.choice((4, 10, 30))
    size = 4 * MIB
    count = max(times * 6, calls_for(t * times / (times - 1), size / w.rate))
    each = t * times / (times - 1) / count
    return w.own("read", count, size, each, each * (times - 1) / times, size=count * size // times)


@behaviour("W06")
def sync_each_write(w, t):
    sync = min(w.log(2e-3, 2e-2), t / 150)
    size = w.chance.choice((512, 4 * KIB, 64 * KIB, 512 * KIB))
    count = calls_for(t, sync)
    return w.own("write", count, size, sync + size / w.rate, sync, FSYNCS=count)


@behaviour("T07")
def stalls(w, t):
    """Most writes end in memory; every tenth waits until the cache is written back. A trace shows it."""
    losses, calls, size = {}, 1000, 16 * KIB
    quick, wait = 3e-5 + size / w.rate, t / 100
    for rank in w.ranks():
        f, now, segments, name = w.noise(), 1.0, [], w.name("local")
        for k in range(calls):
            seconds = quick + (wait * f if k % 10 == 0 else 0)
            segments.append((k * size, size, now, now + seconds))
            now += seconds
        w.job.posix(name, rank, writes=[(calls, size)], write_time=calls * quick + t * f)
        w.job.trace(name, rank, writes=segments)
        w.spend({rank: calls * quick + t * f})
        losses[rank] = t * f
    return losses


@behaviour("L11", beyond=True)
def mapped_pages(w, t):
    """Pages of a mapped file come one by one; the process is neither on a processor nor in a call."""
    losses = {}
    for rank in range(w.n):
        f, name = w.noise(), w.name("local")
        count = max(1100, calls_for(t, 1e-4 * w.chance.uniform(0.7, 1.4)))
        w.job.posix(name, rank, reads=[(2, 4 * MIB)], read_time=8 * MIB / w.rate)
        w.job.extra(name, rank, MMAPS=1, BYTES_MAPPED=8 * count * 4 * KIB)
        w.process(rank, MAJOR_FAULTS=count, MMAPS=1, BYTES_MAPPED=8 * count * 4 * KIB)
        w.spend({rank: 8 * MIB / w.rate})
        losses[rank] = t * f
    w.spend_beyond(losses)
    return losses


@behaviour("O05", ranks=4, needs="write")
def unaligned_writes(w, t):
    """Large writes to a shared file that cross borders of blocks: each waits for a lock that a neighbour holds."""
    lock = min(w.log(2e-3, 2e-2), t * w.n / 1100)
    size = w.chance.choice((2, 3, 5)) * MIB + 1000
    count = calls_for(t, lock)
    return w.shared("write", count, size, lock + size / w.rate, lock, mpi="INDEP", FILE_NOT_ALIGNED=count * w.n)


@behaviour("L06", "L09", "L13")
def stdio_bulk(w, t):
    """Streams copy through a buffer of 4 KiB: a call of the system for each."""
    lat = w.log(2e-5, 2e-4)
    losses = {}
    for rank in w.ranks():
        f = w.noise()
        count = calls_for(t, lat)
        w.job.stdio(w.name("local"), rank, writes=[(count, 4 * KIB)], write_time=count * (lat + 4 * KIB / w.rate) * f)
        w.spend({rank: count * (lat + 4 * KIB / w.rate) * f})
        w.system(rank, count * 2e-6)
        losses[rank] = count * lat * f
    return losses


@behaviour("L09", "L13")
def stdio_unbuffered(w, t):
    """A few bytes at a time, each a call of the system: less than a page of data in every hundred calls."""
    lat = w.log(5e-5, 1e-3)
    losses = {}
    for rank in w.ranks():
        f = w.noise()
        count = max(1100, calls_for(t, lat))
        each, size = t / count, w.chance.choice((8, 40, 100))
        w.job.stdio(w.name("local"), rank, writes=[(count, size)], write_time=count * (each + size / w.rate) * f)
        w.spend({rank: count * (each + size / w.rate) * f})
        w.system(rank, count * 1e-6)
        losses[rank] = count * each * f
    return losses


# ---- data loaders, io_uring


@behaviour("E01", plain=True)
def shuffled_samples(w, t):
    """All records of a file, in random order: half of the reads go back."""
    lat = min(w.log(1e-4, 2e-3), t / 1500)
    size = size_within(w, (512, 4 * KIB, 32 * KIB, 150 * KIB), lat, "read")
    count = calls_for(t, lat)
    return w.own("read", count, size, lat + size / w.rate, lat, random=int(count * w.chance.uniform(0.47, 0.53)))


@behaviour("E02", most=8)
def files_in_each_epoch(w, t):
    """What the first epoch reads could have been kept."""
    losses, files, epochs = {}, 130, w.chance.choice((2, 3, 5, 20))
    size = w.chance.choice((800 * KIB, 2 * MIB))
    each = t / (files * (epochs - 1))
    for rank in w.ranks():
        f = w.noise()
        for k in range(files):
            w.job.posix("/scratch/set/%d.%04d" % (rank, k), rank, reads=[(epochs, size)], read_time=0.8 * epochs * each * f,
                        meta_time=0.2 * epochs * each * f, size=size, OPENS=epochs)  # fmt: skip
        w.spend({rank: files * epochs * each * f})
        losses[rank] = t * f
    return losses


def over_time(w, direction, starts, seconds, moved):
    """Heat maps: all ranks move so many bytes in each of these bins."""

    def tell(run_time):
        bins = max(int(run_time / seconds) + 1, max(starts) + 1)
        busy, idle = [moved if b in starts else 0 for b in range(bins)], [0] * bins
        w.job.heat("POSIX", {r: (busy, idle) if direction == "write" else (idle, busy) for r in range(w.n)}, seconds)

    w.later.append(tell)
    w.lasts = (max(starts) + 3) * seconds


def some_bursts(w, direction, t):
    """Now and then all ranks stop computing for a burst; it need not be periodic."""
    bursts, first = w.chance.choice((3, 4, 5)), direction == "read"  # the first input cannot be read before the program has begun
    seconds, starts, at = t / bursts, [0] if first else [], 4
    for _ in range(bursts):
        starts.append(at)
        at += w.chance.randint(3, 5)
    size = 8 * MIB
    count = max(2, round(seconds * w.rate / size))
    over_time(w, direction, starts, seconds, count * size)
    return w.own(direction, count * len(starts), size, seconds / count, seconds / count * bursts / len(starts), ranks=range(w.n), where="local")


BALANCE = ("A07", "B01", "B02", "B08", "B05", "T06", "O01", "O02", "T07")  # who waits there computes nothing


@behaviour("T08", least=0.05, apart=("T09", *BALANCE))
def bursts_of_writes(w, t):
    return some_bursts(w, "write", t)


@behaviour("T09", least=0.05, apart=("T08", "E03", "R06", "R04", *BALANCE))
def bursts_of_reads(w, t):
    return some_bursts(w, "read", t)


@behaviour("E03", plain=True, most=1, least=0.05, apart=("*",))
def reading_in_turn(w, t):
    """A sample is read, the program computes with it, the next is read: the one could go on during the other."""
    files, size = 200, 2 * MIB
    for k in range(files):
        w.job.posix("/local/set/%d" % k, 0, reads=[(2, size)], read_time=t / files)
    w.spend({0: t})
    bins = [4 * MIB] * 100

    def tell(run_time):
        w.job.heat("POSIX", {0: ([0] * 100, bins)}, run_time / 100)

    w.later.append(tell)
    w.lasts = 2.8 * t
    return {0: t}


@behaviour("E04", plain=True, ranks=2, least=0.05, apart=("*",))
def too_few_workers(w, t):
    """Twice as many would have half of the files each."""
    losses = {}
    for rank in range(1, w.n):
        f = w.noise()
        for k in range(40):
            w.job.posix("/local/set/%d.%d" % (rank, k), rank, reads=[(4, 4 * MIB)], read_time=2 * t / 40 * f)
        w.spend({rank: 2 * t * f})
        losses[rank] = t * f

    def tell(run_time):
        w.process(0, F_USER_TIME=0.1 * run_time)
        for rank in losses:
            w.process(rank, F_USER_TIME=0.97 * run_time - w.io[rank])

    w.later.append(tell)
    w.lasts = 2.5 * t
    return losses


@behaviour("E05", plain=True, ranks=16, apart=("*",))
def too_many_workers(w, t):
    """Each reads the whole index before its few samples; all at the same time take as long as one after the other."""
    workers, losses, run = w.n - 1, {}, 0.95 * w.run
    share = w.chance.uniform(0.02, 0.06)  # of the time, that each has something to do besides
    t = min(t, (0.22 - share) * run - max(w.io))
    enough = max(1, math.ceil(workers * (share + (t + max(w.io)) / run) / 0.8))
    for rank in range(1, w.n):
        for k in range(30):
            w.job.posix("/scratch/index/%d" % k, rank, reads=[(2, 100 * KIB)], read_time=t / 60, meta_time=t / 60)
        w.spend({rank: t})
        losses[rank] = t * (1 - enough / workers)

    def tell(run_time):
        w.process(0, F_USER_TIME=0.7 * run_time)
        for rank in losses:
            w.process(rank, F_USER_TIME=share * run_time)

    w.later.append(tell)
    w.lasts = run
    return losses


@behaviour("U01", apart=("R01", "R03"))
def one_request_at_a_time(w, t):
    """io_uring, each request submitted alone: storage could do several at the same time."""
    at_once = w.chance.choice((6, 8, 12))
    lat = min(w.log(6e-5, 1e-3), t / 1500)
    count, size = calls_for(t / (1 - 1 / at_once), lat), 4 * KIB
    ranks = w.ranks()
    losses = {}
    for rank in ranks:
        f, name = w.noise(), w.name("local")
        w.job.posix(name, rank, reads=[(count, size)], read_time=count * lat * f, random=count // 2, size=8 * count * size)
        w.job.extra(name, rank, AIO_READS=count)
        w.process(rank, URING_OPS=count, URING_SUBMITS=count, URING_DEPTH_SUM=count, URING_DEPTH_MAX=1)
        w.spend({rank: count * lat * f})
        losses[rank] = count * lat * f * (1 - 1 / at_once)
    return losses


# ---- MPI-IO


@behaviour("L01", ranks=2)
def data_sieving(w, t):
    """Pieces with gaps: a block of 512 KiB is read, changed and written for every 256 KiB that were given."""
    block, lat = 512 * KIB, 2e-4
    each = 2 * (lat + block / w.rate)  # a block read and written
    need = block / 2 / w.rate
    count = max(64 * MIB // block + 10, calls_for(t, each - need))
    scale = t / (count * (each - need))  # a slower machine than the rate says: the loss is t
    times = {r: count * each * scale * w.noise() for r in range(w.n)}
    name, moved = w.name(), count * w.n * block
    w.job.mpiio(name, writes=[(count * w.n // 4 or 1, block * 2)], write_time=sum(times.values()) * 1.001, slowest=w.slowest(times, moved // 2))
    w.job.posix(name, -1, writes=[(count * w.n, block)], reads=[(count * w.n, block)], write_time=sum(times.values()) / 2,
                read_time=sum(times.values()) / 2, slowest=w.slowest(times, 2 * moved))  # fmt: skip
    w.spend(times)
    return {r: times[r] * (1 - need / each) for r in times}


@behaviour("L03", ranks=2)
def read_sieving(w, t):
    """Whole blocks are read for a few bytes of each."""
    more = w.chance.choice((3, 5, 10))
    size = 4 * MIB
    each = t / (1 - 1 / more)
    count = max(64 * MIB // size + 10, int(each * w.rate / size))
    times = {r: each * w.noise() for r in range(w.n)}
    name, moved = w.name(), count * w.n * size
    w.job.mpiio(name, reads=[(count * w.n // 2, 2 * size // more)], read_time=sum(times.values()) * 1.001, slowest=w.slowest(times, moved // more))
    w.job.posix(name, -1, reads=[(count * w.n, size)], read_time=sum(times.values()), slowest=w.slowest(times, moved))
    w.spend(times)
    return {r: times[r] * (1 - 1 / more) for r in times}


@behaviour("A12", ranks=4)
def small_collectives(w, t):
    """Ranks meet for a few bytes; one of them writes."""
    meet = min(w.log(1e-3, 2e-2), t / 1200)
    size, count = w.chance.choice((64, 512, 2 * KIB)), calls_for(t, meet)
    times = {r: count * meet for r in range(w.n)}
    name, moved = w.name(), count * w.n * size
    w.job.mpiio(name, writes=[(count * w.n, size)], kind="COLL", write_time=sum(times.values()))
    disk = count * (2e-5 + w.n * size / w.rate)
    w.job.posix(name, 0, writes=[(count, size * w.n)], write_time=min(disk, 0.1 * t))
    del moved
    w.spend(times)
    return times


@behaviour("A11", ranks=4, least=0.05)
def uneven_before_collective(w, t):
    """One rank computes longer; all others wait for it inside the collective call."""
    late = w.chance.randrange(w.n)
    size, count = 8 * MIB, 16
    disk = count * size / w.rate
    wait = t * w.n / (w.n - 1)
    times = {r: disk + (0.01 if r == late else wait) for r in range(w.n)}
    name, moved = w.name(), count * w.n * size
    slow = min(r for r in range(w.n) if r != late)
    w.job.mpiio(name, writes=[(count * w.n, size)], kind="COLL", write_time=sum(times.values()), slowest=(slow, times[slow], moved // w.n),
                FASTEST_RANK=late, F_FASTEST_RANK_TIME=times[late])  # fmt: skip
    w.job.posix(name, -1, writes=[(count * w.n, size)], write_time=disk * w.n)
    w.spend(times)
    return {r: t for r in range(w.n)}


@behaviour("A14", ranks=4, least=0.05)
def passed_on(w, t):
    """Aggregators get the data of all ranks over a slow network: all are as long in the calls, none is late."""
    size, count = 8 * MIB, 16
    disk = count * size / w.rate
    times = {r: (disk + max(t, 1.2 * disk)) * w.noise() for r in range(w.n)}
    fast = min(times, key=times.get)
    name, moved = w.name(), count * w.n * size
    w.job.mpiio(name, writes=[(count * w.n, size)], kind="COLL", write_time=sum(times.values()), slowest=w.slowest(times, moved),
                FASTEST_RANK=fast, F_FASTEST_RANK_TIME=times[fast])  # fmt: skip
    w.job.posix(name, -1, writes=[(count * w.n, size)], write_time=disk * w.n)
    w.spend(times)
    return {r: max(0.0, times[r] - disk) for r in times}


@behaviour("L12", ranks=2, least=0.03)
def locks_in_mpiio(w, t):
    """Each large independent write takes a lock; to give it back the data go to the server. The write below ends in memory."""
    size = w.chance.choice((4, 8, 16)) * MIB
    lock = size / w.rate * w.chance.uniform(1.5, 6)
    count = calls_for(max(t, 0.8), lock)
    name, times = w.name(), {r: count * (lock + size / w.rate) * w.noise() for r in range(w.n)}
    w.job.mpiio(name, writes=[(count * w.n, size)], kind="INDEP", write_time=sum(times.values()), slowest=w.slowest(times, count * w.n * size))
    w.job.posix(name, -1, writes=[(count * w.n, size)], write_time=count * w.n * size / w.rate)
    w.spend(times)
    return {r: count * lock * times[r] / (count * (lock + size / w.rate)) for r in times}


@behaviour("O08", ranks=2, needs="write")
def bulk_at_home(w, t):
    """All ranks write large pieces to one server, which is slower than the file system of the machine."""
    size = 8 * MIB
    slower = w.chance.uniform(1.5, 12)
    most = 1.0 + t * w.rate * w.n / (1.2 * GIB)  # so many times slower, and it is less than a gibibyte
    slower = min(slower, most)
    each = size / w.rate * slower
    return w.shared("write", calls_for(t, each - size / w.rate), size, each, each - size / w.rate, mpi="INDEP", name="/home/u/run%d.dat" % w.chance.randrange(1 << 30))


# ---- HDF5, PnetCDF


@behaviour("H02", "W02", "A02", ranks=2)
def hdf5_independent(w, t):
    lat = min(w.log(2e-4, 2e-3), t / 1100)
    size = size_within(w, (512, 4 * KIB, 32 * KIB), lat, "write")
    name, count = w.name(), calls_for(t, lat)
    w.job.hdf5(name)
    w.job.dataset(name, "d", writes=[(count * w.n, size)], collective=0)
    return w.shared("write", count, size, lat + size / w.rate, lat, mpi="INDEP", name=name)


@behaviour("H01", "L05")
def chunks_for_rows(w, t):
    """A row of each chunk is asked for; HDF5 reads the whole."""
    chunk, part = 4 * MIB, w.chance.choice((16, 64, 256))
    each = t / (1 - 1 / part)
    losses = {}
    for rank in w.ranks():
        f, name = w.noise(), w.name()
        count = max(120, int(each * w.rate / chunk))
        w.job.hdf5(name, rank, parallel=False)
        w.job.dataset(name, "d", rank, reads=[(count, chunk // part)], chunk=chunk // 8)
        w.job.posix(name, rank, reads=[(count, chunk)], read_time=each * f)
        w.spend({rank: each * f})
        losses[rank] = each * f * (1 - 1 / part)
    return losses


@behaviour("H07", ranks=2)
def column_of_rows(w, t):
    """A column of an array that lies by rows: a piece for each element, written one by one below one collective call."""
    lat = min(w.log(1e-4, 1e-3), t / 2000)
    pieces, size = w.chance.choice((64, 256)), w.chance.choice((8, 64, 512))
    calls = max(10, calls_for(t, lat * pieces))
    lat = t / (calls * pieces)
    each = lat + size / w.rate
    times = {r: calls * pieces * each * w.noise() for r in range(w.n)}
    name, moved = w.name(), calls * pieces * size * w.n
    w.job.hdf5(name)
    w.job.dataset(name, "d", writes=[(calls * w.n, pieces * size)], collective=0)
    w.job.mpiio(name, writes=[(calls * w.n, pieces * size)], write_time=sum(times.values()), slowest=w.slowest(times, moved))
    w.job.posix(name, -1, writes=[(calls * w.n * pieces, size)], write_time=sum(times.values()), slowest=w.slowest(times, moved))
    w.spend(times)
    return {r: times[r] * lat / each for r in times}


@behaviour("H08", beyond=True)
def hdf5_elements(w, t):
    """A call for each number: HDF5 is busy with itself; now and then a full buffer goes to the system."""
    losses = {}
    for rank in w.ranks():
        f, name = w.noise(), w.name()
        each = min(w.log(3e-6, 2e-5), t / 1500)
        count, size = calls_for(t, each), w.chance.choice((8, 64, 512))
        below = count * size / w.rate
        w.job.hdf5(name, rank, parallel=False)
        w.job.dataset(name, "d", rank, writes=[(count, size)], write_time=(count * each + below) * f)
        w.job.posix(name, rank, writes=[(max(1, count * size // (4 * MIB)), 4 * MIB)], write_time=below * f)
        w.spend({rank: below * f})
        losses[rank] = count * each * f
    w.spend_beyond(losses)
    return losses


@behaviour("N04", ranks=2, beyond=True)
def pnetcdf_elements(w, t):
    each = min(w.log(5e-6, 5e-5), t / 1500)
    name, count, size = w.name(), calls_for(t, each), w.chance.choice((8, 64, 512))
    below = count * size / w.rate
    losses = {r: count * each for r in range(w.n)}
    w.job.pnetcdf(name, writes=[(count * w.n, size)], kind="NB", F_WRITE_TIME=w.n * (count * each + below))
    w.job.mpiio(name, writes=[(w.n * max(1, count * size // (4 * MIB)), 4 * MIB)], kind="COLL", write_time=w.n * below)
    w.job.posix(name, -1, writes=[(w.n * max(1, count * size // (4 * MIB)), 4 * MIB)], write_time=w.n * below)
    w.spend({r: below for r in range(w.n)})
    w.spend_beyond(losses)
    return losses


@behaviour("H03", "R02", "A01", ranks=2)
def hdf5_metadata(w, t):
    """Every rank reads headers and B-trees of the file by itself, a few hundred bytes at a time; datasets come in large pieces."""
    lat = min(w.log(2e-4, 2e-3), t / 1200)
    name, count, big = w.name(), calls_for(t, lat), 8 * MIB
    seconds = {r: (count * lat + 4 * big / w.rate) * w.noise() for r in range(w.n)}
    reads = [(count * w.n, 400), (4 * w.n, big)]
    w.job.hdf5(name)
    w.job.dataset(name, "d", reads=[(4 * w.n, big)], collective=1)
    shared = {"reads": reads, "read_time": sum(seconds.values()), "slowest": w.slowest(seconds, total(reads)[1]), "F_MAX_READ_TIME": big / w.rate,
              "MAX_READ_TIME_SIZE": big}  # fmt: skip
    w.job.mpiio(name, **shared, INDEP_READS=count * w.n, COLL_READS=4 * w.n)
    w.job.posix(name, -1, **shared)
    w.spend(seconds)
    return {r: count * lat for r in seconds}


@behaviour("N01", "A02", "W02", ranks=2)
def pnetcdf_independent(w, t):
    lat = min(w.log(2e-4, 2e-3), t / 1100)
    size = size_within(w, (512, 4 * KIB, 32 * KIB), lat, "write")
    name, count = w.name(), calls_for(t, lat)
    w.job.pnetcdf(name, writes=[(count * w.n, size)])
    return w.shared("write", count, size, lat + size / w.rate, lat, mpi="INDEP", name=name)


# ---- metadata


@behaviour("F06")
def tiny_files(w, t):
    ranks = w.ranks() if w.n <= 64 else [0]
    each = max(1100 // len(ranks) + 1, 20)
    cost, size = t / each, w.chance.choice((500, 4 * KIB, 40 * KIB))
    losses = {}
    for rank in ranks:
        f = w.noise()
        for k in range(each):
            w.job.posix("/scratch/run/small/%d.%05d" % (rank, k), rank, reads=[(1, size)], read_time=size / w.rate, meta_time=cost * f)
        w.spend({rank: each * (cost * f + size / w.rate)})
        losses[rank] = each * cost * f
    return losses


@behaviour("F03")
def reopen(w, t):
    cost = min(w.log(5e-4, 1e-2), t / 200)
    opens = calls_for(t, cost)
    losses = {}
    for rank in w.ranks():
        f, size = w.noise(), w.chance.choice((200, 4 * KIB))
        w.job.posix(w.name(), rank, writes=[(opens, size)], write_time=opens * 5e-6, meta_time=opens * cost * f, OPENS=opens)
        w.spend({rank: opens * (cost * f + 5e-6)})
        losses[rank] = (opens - 1) * cost * f
    return losses


@behaviour("F04")
def stats(w, t):
    cost = min(w.log(2e-4, 4e-3), t / 1200)
    count = calls_for(t, cost)
    losses = {}
    for rank in w.ranks():
        f = w.noise()
        w.job.posix(w.name(), rank, meta_time=count * cost * f, OPENS=1, STATS=count)
        w.spend({rank: count * cost * f})
        losses[rank] = count * cost * f
    return losses


@behaviour("F01", "F02", least=0.13)
def slow_opens(w, t):
    """A metadata server that answers late."""
    files, losses = 8, {}
    for rank in range(w.n):
        f = w.noise()
        for _ in range(files):
            w.job.posix(w.name(), rank, writes=[(4, 4 * MIB)], write_time=16 * MIB / w.rate, meta_time=t / files * f, OPENS=1)
        w.spend({rank: files * 16 * MIB / w.rate + t * f})
        losses[rank] = t * f
    return losses


@behaviour("F13")
def locks(w, t):
    """Processes that take turns."""
    count, name, losses = w.chance.choice((5, 200, 5000)), w.name("local"), {}
    for rank in w.ranks():
        f = w.noise()
        w.job.posix(name + ".%d" % rank, rank, writes=[(count, 100)], write_time=count * 2e-6)
        w.job.extra(name + ".%d" % rank, rank, LOCKS=2 * count, F_META_TIME=t * f)
        w.spend({rank: t * f + count * 2e-6})
        losses[rank] = t * f
    return losses


@behaviour("F14", "F01", ranks=16, least=0.02)
def same_small_file(w, t):
    """One metadata server answers all ranks, one after the other."""
    times = {r: t * (0.9 + 0.1 * r / w.n) for r in range(w.n)}
    w.job.posix(w.name(), -1, reads=[(w.n, 3000)], read_time=w.n * 1e-5, meta_time=sum(times.values()), size=3000,
                slowest=w.slowest(times, 3000 * w.n))  # fmt: skip
    w.spend(times)
    return {r: times[r] * (1 - 1 / w.n) for r in times}


@behaviour("F10")
def failed_opens(w, t):
    cost = min(w.log(2e-4, 4e-3), t / 1200)
    count = calls_for(t, cost)
    w.job.extra("/opt/lib/search", 0, OPENS_FAILED=count, F_META_TIME=count * cost)
    w.spend({0: count * cost})
    return {0: count * cost}


@behaviour("F12")
def removed_files(w, t):
    cost = min(w.log(2e-4, 4e-3), t / 1200)
    count = calls_for(t, cost)
    w.job.extra("/scratch/run/tmp", 0, UNLINKS=count, F_META_TIME=count * cost)
    w.spend({0: count * cost})
    return {0: count * cost}


@behaviour("F15")
def range_syncs(w, t):
    """A mapping of which each page is synced by itself."""
    losses = {}
    for rank in w.ranks():
        f, name, sync = w.noise(), w.name("local"), min(w.log(2e-3, 2e-2), t / 150)
        count = calls_for(t, sync)
        kinds = {w.chance.choice(("MSYNCS", "RANGE_SYNCS")): count}
        w.job.posix(name, rank, writes=[(1, 4 * KIB)], write_time=1e-5)
        w.job.extra(name, rank, F_META_TIME=count * sync * f, **kinds)
        w.spend({rank: count * sync * f})
        losses[rank] = count * sync * f
    return losses


@behaviour("F16")
def listed_folders(w, t):
    each = min(w.log(1e-6, 1e-4), t / 11000)
    count = calls_for(t, each)
    w.job.extra("/scratch/run/queue", 0, READDIRS=count, F_META_TIME=count * each)
    w.spend({0: count * each})
    return {0: count * each}


@behaviour("F17")
def changes(w, t):
    each = min(w.log(1e-4, 4e-3), t / 1200)
    count = calls_for(t, each)
    kind = w.chance.choice(("TRUNCATES", "ALLOCATES", "CHMODS", "UTIMES", "XATTRS", "LINKS", "MKDIRS"))
    w.job.extra("/scratch/run/changed", 0, F_META_TIME=count * each, **{kind: count})
    w.spend({0: count * each})
    return {0: count * each}


# ---- who does it


@behaviour("A07", "B02", ranks=4, least=0.05)
def one_rank_writes_all(w, t):
    """The others send their data to rank 0. As many as the storage serves at the full rate could write at once."""
    useful = min(w.n, w.chance.choice((4, 8, 16, 32)))
    seconds = t / (1 - 1 / useful)
    size = 16 * MIB
    count = max(8, round(seconds * w.rate / size))
    w.own("write", count, size, seconds / count, 0, ranks=[0], where="scratch")
    return {0: t}


@behaviour("B02", "B08", "B01", ranks=4, least=0.05)
def uneven_data(w, t):
    """One rank has several times the data of the others."""
    heavy, times = w.chance.randrange(w.n), w.chance.choice((4, 8))
    light = t / ((times - 1) * (1 - 1 / w.n))
    size = 8 * MIB
    for rank in range(w.n):
        seconds = light * (times if rank == heavy else 1)
        count = max(2, round(seconds * w.rate / size))
        w.own("write", count, size, count * size / w.rate / count, 0, ranks=[rank])
    return {r: t for r in [heavy]}


@behaviour("B08", "B01", "B05", "T06", ranks=4, least=0.05)
def slow_node(w, t):
    """One rank moves as much as the others and takes far longer."""
    slow, size = w.chance.randrange(w.n), 8 * MIB
    each = w.chance.uniform(0.1, 0.6) * t
    count = max(8, round(each * w.rate / size))
    for rank in range(w.n):
        w.own("write", count, size, size / w.rate * (1 if rank != slow else 1 + t / (count * size / w.rate)), 0, ranks=[rank])
    return {slow: t}


@behaviour("O01", ranks=8, least=0.03)
def slow_target(w, t):
    bad = w.chance.randrange(8)
    size = 16 * MIB
    each = t / w.chance.uniform(4, 20)
    count = max(8, round(each * w.rate / size))
    losses = {}
    for rank in range(w.n):
        f, late = w.noise(), rank % 8 == bad
        seconds = count * size / w.rate * f + (t if late else 0)
        name = w.name()
        w.job.posix(name, rank, writes=[(count, size)], write_time=seconds, F_MAX_WRITE_TIME=1.3 * seconds / count, MAX_WRITE_TIME_SIZE=size)
        w.job.lustre(name, osts=[rank % 8])
        w.spend({rank: seconds})
        if late:
            losses[rank] = t
    return losses


@behaviour("O02", ranks=16)
def one_stripe(w, t):
    """All ranks write to one target, whose rate they share; as many targets as the file has use for were idle."""
    target = w.chance.uniform(0.3, 1.2) * GIB
    seconds = t / (1 - 1 / 16)
    size, total = 4 * MIB, max(20 * GIB, int(seconds * target))
    count = total // w.n // size
    name = w.name()
    losses = w.shared("write", count, size, seconds / count, t / count, mpi="INDEP", name=name)
    w.job.lustre(name, osts=[3])
    return losses


@behaviour("R06", ranks=4)
def same_input(w, t):
    """All ranks read all of a file from a server whose rate they share; one alone would be done in a part of the time."""
    seconds = t / (1 - 1 / w.n)
    size = 4 * MIB
    count = max(64 * MIB // size, round(seconds * w.rate / size))
    return w.shared("read", count, size, seconds / count, t / count, size=count * size)
