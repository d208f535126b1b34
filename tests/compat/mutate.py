#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutate.py IORAMA [--corpus DIR | --generated TABLES]: damaged logs must do no harm.

Every command must end in time with status 0 or 3, without a signal, within its memory, and say
what is wrong in lines that name the program and the file. Cases come in an order that the seed
fixes, as many as the budget of seconds allows; a file that fails is kept, and the command that
repeats it is printed."""
import argparse
import bz2
import itertools
import json
import multiprocessing
import os
import queue
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
import annex  # noqa: E402
import family  # noqa: E402
from stock import decoded  # noqa: E402
from layout import BIG, COMPRESSIONS, FORMATS, LITTLE, MAGIC, build_log, load_tables  # noqa: E402

HOSTILE = [
    0, 1, -1, -2, 255, 10**6, 10**9, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**58, 2**59, 2**60, 2**60 + 1, 2**61,
    2**61 + 1, 2**62, 2**63 - 1, -(2**63), 2**64 // 72 + 1, 2**64 // 40 + 1, 2**64 // 32,
]  # fmt: skip
# bytes of a record where a count or another number stands that steers the reader
STEERING = {
    "LUSTRE": (8, 16, 24, 32, 40, 48, 64, 72),
    "DXT_POSIX": (8, 88, 96, 104, 112),
    "DXT_MPIIO": (8, 88, 96, 104, 112),
    "HEATMAP": (8, 16, 24),
    "MDHIM": (48,),
    "APMPI": (16, 24),
    "APXC": (16, 48, 56),
}
BOMB = 64 << 20
MANY = 4 << 20
TOO_LARGE = 128 << 10  # as a source; the cases would take too long
SLOW_LOGS = ("above-one-mib", "memory-image*", "many-streams")


# ---- logs in parts


class Parts:
    """Where things are in a log."""

    def __init__(self, data):
        self.data = data
        self.format = FORMATS[data[:8].rstrip(b"\0").decode()]
        self.order = LITTLE if struct.unpack_from("<q", data, 8)[0] == MAGIC else BIG
        self.compression = COMPRESSIONS[data[16]]
        self.names_at = 24 if self.format.small else 32
        self.maps_at = self.names_at + 16
        self.versions_at = self.maps_at + 16 * self.format.slots
        self.words = range(self.names_at, self.versions_at, 8)  # offsets and lengths

    def number(self, at):
        return struct.unpack_from(self.order + "Q", self.data, at)[0]

    def content(self, map_at):
        """The decoded region that a map points to."""
        offset, length = self.number(map_at), self.number(map_at + 8)
        stored = self.data[offset : offset + length]
        return decoded(self.compression, stored)

    def used_maps(self):
        """(name, place of the map) of all regions with data."""
        slots = {slot: name for name, slot in self.format.slot.items()}
        places = [("names", self.names_at)]
        places += [(slots.get(k, "?"), self.maps_at + 16 * k) for k in range(self.format.slots)]
        return [(name, at) for name, at in places if self.number(at + 8)]

    def with_region(self, map_at, stored):
        """A copy whose map points to new bytes at the end."""
        changed = bytearray(self.data)
        struct.pack_into(self.order + "QQ", changed, map_at, len(changed), len(stored))
        return bytes(changed) + stored


def squeeze(compression, data):
    if compression == "none":
        return data
    return zlib.compress(data, 1) if compression == "zlib" else bz2.compress(data, 1)


# ---- mutations: functions that take (parts, random) and return bytes


def flips(parts, rng):
    changed = bytearray(parts.data)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def header_flips(parts, rng):
    changed = bytearray(parts.data)
    used = [at for _, at in parts.used_maps()]
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = [range(32), range(parts.format.header_bytes)]
        if used:
            map_at = rng.choice(used)
            places.append(range(map_at, map_at + 16))
        changed[rng.choice(rng.choice(places))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def versions(parts, rng):
    changed = bytearray(parts.data)
    used = [(at - parts.maps_at) // 16 for name, at in parts.used_maps() if name != "names"]
    slot = rng.choice(used or [1])
    value = rng.choice([0, 1, 2, 3, 4, 5, 99, 255, 256, 2**31, 2**32 - 1])
    struct.pack_into(parts.order + "I", changed, parts.versions_at + 4 * slot, value)
    return bytes(changed)


def first_bytes(parts, rng):
    changed = bytearray(parts.data)
    kind = rng.randrange(3)
    if kind == 0:
        texts = [b"3.41", b"3.21", b"3.10", b"3.00", b"3.42", b"9.99", b"3.", b"", b"33333333", b"3.410000"]
        changed[:8] = rng.choice(texts).ljust(8, b"\0")
    elif kind == 1:
        changed[16] = rng.choice([0, 1, 2, 3, 128, 255])
    else:
        changed[8:16] = changed[8:16][::-1]
    return bytes(changed)


def crossed(parts, rng):
    """A module is given the region of another, or a place inside it."""
    maps = parts.used_maps()
    if not maps:
        return flips(parts, rng)
    changed = bytearray(parts.data)
    (_, to), (_, of) = rng.choice(maps), rng.choice(maps)
    offset, length = parts.number(of), parts.number(of + 8)
    skip = rng.choice([0, 0, 1, 7, length // 2])
    struct.pack_into(parts.order + "QQ", changed, to, offset + skip, rng.choice([length, length - skip, length + 5]))
    return bytes(changed)


def inner(parts, rng):
    """A number inside a region is changed and the region stored again."""
    if not parts.used_maps():
        return flips(parts, rng)
    name, at = rng.choice([m for m in parts.used_maps() if m[0] in STEERING] * 3 + parts.used_maps())
    content = bytearray(parts.content(at))
    for _ in range(rng.choice([1, 1, 1, 2])):
        place = 8 * rng.randrange(max(1, len(content) // 8))
        if rng.random() < 0.7:
            place = rng.choice(STEERING.get(name, (8,)))
        if name == "names" and parts.format.names_have_length and len(content) >= 12:
            struct.pack_into(parts.order + "I", content, 8, rng.choice(HOSTILE) & 0xFFFFFFFF)
        elif place + 8 <= len(content):
            struct.pack_into(parts.order + "Q", content, place, rng.choice(HOSTILE) & 2**64 - 1)
    if rng.random() < 0.3:
        content = content[: rng.randrange(len(content))]
    return parts.with_region(at, squeeze(parts.compression, bytes(content)))


def bomb(parts, rng):
    """Much more names than a log may have, out of little."""
    return parts.with_region(parts.names_at, squeeze(parts.compression, bytes(BOMB)))


def job_bomb(parts, rng):
    """As much after the job, whose size has a limit; all that follows moves."""
    head = parts.format.header_bytes
    end = min((parts.number(at) for _, at in parts.used_maps()), default=len(parts.data))
    job = decoded(parts.compression, parts.data[head:end])
    stored = squeeze(parts.compression, job + bytes(BOMB))
    changed = bytearray(parts.data[:head] + stored + parts.data[end:])
    for at in parts.words[::2]:
        if parts.number(at):
            struct.pack_into(parts.order + "Q", changed, at, parts.number(at) + len(stored) - (end - head))
    return bytes(changed)


def repeated(parts, rng):
    """A region holds its content many times over."""
    if not parts.used_maps():
        return flips(parts, rng)
    _, at = rng.choice(parts.used_maps())
    content = parts.content(at)
    return parts.with_region(at, squeeze(parts.compression, content * (MANY // max(1, len(content)) + 1)))


def annexes(parts, rng):
    """Numbers of directory and footer are others, mostly with a checksum that is right again."""
    if parts.data[-8:] != annex.MAGIC:
        return flips(parts, rng)
    changed = bytearray(parts.data)
    at = struct.unpack_from(parts.order + "Q", changed, len(changed) - 40)[0]
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(at, len(changed) - 8) & ~3
        hostile = rng.choice(HOSTILE + [len(changed), at, len(changed) - 48]) & 0xFFFFFFFF
        old = struct.unpack_from(parts.order + "I", changed, place)[0]
        struct.pack_into(parts.order + "I", changed, place, rng.choice([hostile, old + 1 & 0xFFFFFFFF, old ^ 8]))
    if rng.random() < 0.8 and struct.unpack_from(parts.order + "Q", changed, len(changed) - 40)[0] == at:
        return annex.seal(bytes(changed), parts.order)
    return bytes(changed)


def cut(length):
    return lambda parts, rng: parts.data[:length]


def word(at, value):
    def change(parts, rng):
        changed = bytearray(parts.data)
        struct.pack_into(parts.order + "Q", changed, at, value)
        return bytes(changed)

    return change


RANDOM_KINDS = {
    "flip": (6, flips),
    "header-flip": (4, header_flips),
    "version": (1, versions),
    "first-bytes": (1, first_bytes),
    "crossed": (2, crossed),
    "inner": (8, inner),
    "repeated": (1, repeated),
    "annex": (3, annexes),
}


def listed_cases(sources):
    """(name of source, name of case, mutation): those that are few enough to be tried one by one."""
    for source, data in sources.items():
        parts = Parts(data)
        for length in sorted(set(range(0, min(4096, len(data)), 64)) | set(range(0, len(data), 1024))):
            yield source, "cut-%d" % length, cut(length)
        used = {at + half for _, at in parts.used_maps() for half in (0, 8)}
        for at in parts.words:
            # fields of absent modules are all alike: one of them is enough
            if at in used or at == parts.versions_at - 8:
                for value in (2**63, 2**63 - 1, 2**64 - 1, len(data), len(data) - 1, 0, 1):
                    yield source, "word-%d-%x" % (at, value), word(at, value)


def cases(sources, seed):
    """(source, name of case, mutation, random numbers), without end, in an order the seed fixes."""
    order = random.Random(seed)
    listed = list(listed_cases(sources))
    order.shuffle(listed)
    names = sorted(sources)
    kinds = [kind for kind, (weight, _) in RANDOM_KINDS.items() for _ in range(weight)]
    squeezed = [name for name in names if Parts(sources[name]).compression != "none"]
    for mutation in (bomb, job_bomb):
        if squeezed:
            yield squeezed[seed % len(squeezed)], "bomb-" + mutation.__name__, mutation, None
    for number in itertools.count():
        for _ in range(2):
            if listed:
                source, name, mutation = listed.pop()
                yield source, name, mutation, None
        kind = order.choice(kinds)
        key = "%s-%d-%d" % (kind, seed, number)
        yield order.choice(names), key, RANDOM_KINDS[kind][1], random.Random(key)


# ---- running


class Outcome:
    def __init__(self, status, seconds, megabytes, err):
        self.status = status
        self.seconds = seconds
        self.megabytes = megabytes
        self.err = err


def run(command, out, err, give_up):
    """Runs until the end or for give_up seconds; wait4 tells what the child used."""
    with open(out, "wb") as out_stream, open(err, "wb") as err_stream:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out_stream, stderr=err_stream)
        timer = threading.Timer(give_up, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = status
    seconds = usage.ru_utime + usage.ru_stime  # of the processor: the machine may be busy
    with open(err, "rb") as stream:
        text = stream.read(1 << 16)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return Outcome(code, seconds, usage.ru_maxrss / 1024, text)


def commands(iorama, path, converted):
    return [
        [iorama, "show", "--all", path],
        [iorama, "show", "--dxt", path],
        [iorama, "show", "--json", path],
        [iorama, "convert", path, "-o", converted],
    ]


def complaint(outcome, path, options):
    if outcome.seconds > options.seconds:
        return "took %.1f s" % outcome.seconds
    if outcome.status < 0:
        return "killed by signal %d" % -outcome.status
    if outcome.status not in (0, 3):
        return "exit status %d" % outcome.status
    if outcome.megabytes > options.megabytes:
        return "needed %d MB" % outcome.megabytes
    lines = outcome.err.split(b"\n")[:-1]
    if b"# *ERROR*: The " in outcome.err:  # the original tool's words about incomplete data
        lines = [line for line in lines if line and not line.startswith(b"#")]
    if outcome.status == 3 and not outcome.err:
        return "exit status 3, but no message"
    for line in lines:
        if not line.startswith(b"iorama: ") or path.encode() not in line:
            return "message %r" % line[:200]
    return None


def invalid_json(path):
    """JSON that no strict parser takes."""

    def refuse(word):
        raise ValueError("no JSON: " + word)

    with open(path, "rb") as stream:
        text = stream.read()
    try:
        json.loads(text.decode("utf-8"), parse_constant=refuse)
    except ValueError as why:
        return "invalid JSON: %s" % str(why)[:200]
    return None


def check(options, folder, source, name, data):
    """(command, problem) of one damaged log, and the statuses."""
    path = os.path.join(folder, "%s.%s.darshan" % (source, name))
    converted, out, err = (os.path.join(folder, kind) for kind in ("converted.darshan", "out", "err"))
    with open(path, "wb") as stream:
        stream.write(data)
    problems, statuses = [], []
    for command in commands(options.iorama, path, converted):
        outcome = run(command, out if "--json" in command else os.devnull, err, 5 * options.seconds)
        problem = complaint(outcome, path, options)
        if not problem and "--json" in command and 0 < os.path.getsize(out) < 1 << 22:
            problem = invalid_json(out)
        statuses.append(outcome.status)
        if problem:
            problems.append((command, problem))
        if command[1] == "convert" and outcome.status == 0 and not problem:
            again = run([options.iorama, "show", "--all", converted], os.devnull, err, 5 * options.seconds)
            if again.status != 0:
                problems.append((command, "writes what `show` ends with %d for: %r" % (again.status, again.err[:200])))
    if os.path.exists(converted):
        os.unlink(converted)
    if not problems:
        os.unlink(path)
    return problems, statuses


def work(options, sources, worker, results, folder):
    """Every n-th case, until time is up."""
    os.makedirs(folder)
    deadline = time.monotonic() + options.budget
    done = {}
    for number, (source, name, mutation, rng) in enumerate(cases(sources, options.seed)):
        if time.monotonic() > deadline:
            break
        if number % options.processes != worker:
            continue
        problems, statuses = check(options, folder, source, name, mutation(Parts(sources[source]), rng))
        kind = name.split("-")[0] if name.split("-")[0] in ("cut", "word", "bomb") else name.rsplit("-", 2)[0]
        tally = done.setdefault(kind, {})
        for status in statuses:
            tally[status] = tally.get(status, 0) + 1
        for command, problem in problems:
            results.put(("problem", source, name, command, problem))
    results.put(("done", done))


def load_sources(options):
    sources = {}
    if options.generated:
        tables = load_tables(options.generated)
        for log in family.family(tables, options.seed, ["release-*", "all-*", "annex-all-*", *family.SPECIAL]):
            if not any(family.fnmatch.fnmatch(log.name, pattern) for pattern in SLOW_LOGS):
                sources[log.name] = build_log(log)
        return sources
    folder = options.corpus or os.path.join(common.shared_folder() or "", "corpus")
    if os.path.isdir(folder):
        for file in sorted(os.listdir(folder)):
            path = os.path.join(folder, file)
            if file.endswith(".darshan") and os.path.getsize(path) <= TOO_LARGE:
                with open(path, "rb") as stream:
                    sources[file[: -len(".darshan")]] = stream.read()
    return sources


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iorama", metavar="IORAMA")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--corpus", metavar="DIR", help="damage the logs of this folder (default: the shared corpus)")
    source.add_argument("--generated", metavar="TABLES", help="damage the logs of tests/gen")
    parser.add_argument("--budget", type=float, default=40, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="of the processor that one command may take (default: %(default)s)")
    parser.add_argument("--megabytes", type=float, default=256, help="that it may use (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=max(2, min(8, os.cpu_count() or 2)))
    options = parser.parse_args()
    sources = load_sources(options)
    if not sources:
        print("SKIP: no corpus")
        return common.SKIPPED
    folder = tempfile.mkdtemp(prefix="mutate-")
    try:
        results, worker_kind = multiprocessing.Queue(), multiprocessing.Process
    except OSError:  # no shared memory for semaphores, as in some containers
        results, worker_kind = queue.Queue(), threading.Thread
    workers = [
        worker_kind(target=work, args=(options, sources, k, results, os.path.join(folder, str(k))))
        for k in range(options.processes)
    ]
    for worker in workers:
        worker.start()
    failed = report(workers, results, len(sources))
    for worker in workers:
        worker.join()
    if failed:
        print("# %d failures; repeat all: mutate.py %s" % (failed, " ".join(sys.argv[1:])))
        print("# the files are in " + folder)
        return 1
    shutil.rmtree(folder)
    return 0


def report(workers, results, n_sources):
    failed, tallies, seen, finished = 0, {}, {}, 0
    while finished < len(workers):
        try:
            what, *rest = results.get(timeout=5)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                raise SystemExit("not ok: a worker of the test itself failed")
            continue
        if what == "done":
            finished += 1
            for kind, tally in rest[0].items():
                total = tallies.setdefault(kind, {})
                for status, count in tally.items():
                    total[status] = total.get(status, 0) + count
            continue
        _, name, command, problem = rest
        failed += 1
        alike = (command[2] if command[1] == "show" else command[1], problem[:24])
        seen[alike] = seen.get(alike, 0) + 1
        if seen[alike] <= 5:
            print("not ok: %s\n  %s" % (problem, " ".join(command)), flush=True)
    for alike, count in seen.items():
        if count > 5:
            print("# %d times: %s: %s..." % (count, *alike))
    for kind, tally in sorted(tallies.items()):
        text = ", ".join("%d ended with %d" % (count, status) for status, count in sorted(tally.items()))
        print("# %s: %s" % (kind, text))
    commands_run = sum(sum(tally.values()) for tally in tallies.values())
    print("%s - %d commands over damaged copies of %d logs" % ("not ok" if failed else "ok", commands_run, n_sources))
    return failed


if __name__ == "__main__":
    sys.exit(main())
