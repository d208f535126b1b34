# SPDX-License-Identifier: BSD-3-Clause
"""What people who know IOR, fio and mdtest ask for: reads and writes mixed, sizes drawn by lot, a time limit, worn out or not, chunks and
compression of HDF5. What was done is counted by the capture library, or found in the files."""
import collections
import json
import os
import subprocess

import captured

from harness import FAMILIES, LOCAL, Failed, Skip, cases, expect, main
from app import UNUSABLE


SIZE = 1 << 20


def result(case, *words, **more):
    return json.loads(case.emulate(*words, "--json", **more).stdout)


def histogram(case, log, name):
    """{(kind, length): requests} of a file in a traced log, and the bytes at which each begins."""
    lengths, at = collections.Counter(), collections.defaultdict(list)
    for rank in captured.traced(case, log):
        for (file, kind), requests in rank.items():
            if file.startswith(name):
                lengths.update((kind, n) for _, n in requests)
                at[kind] += requests
    return lengths, at


def covers(requests, size):
    """Each byte once."""
    end = 0
    for offset, length in sorted(requests):
        if offset != end:
            return False
        end += length
    return end == size


def mix(case):
    """Seven of ten requests read what is there; the others write; each byte is moved once; the file is whole in any case."""
    os.mkdir(case.path("d"))
    words = ["app", "--write_filenames", "m", "--block_size", SIZE, "--segment_count", 1, "--transfer_size", 1024, "--read_share", "70%",
             "--order", "random", "--input_dir", case.path("d"), "--in_place"]  # fmt: skip
    for ranks, more in ((1, []), (2, ["--engine", "mmap"]), (2, ["--engine", "vector"])):
        found = result(case, *words, *more, "--verify", ranks=ranks)
        reads, writes = found["total"]["reads"], found["total"]["writes"]
        expect(reads + writes == 1024 and 0.65 * 1024 < reads < 0.75 * 1024, "%d reads, %d writes", reads, writes)
        expect(found["total"]["bytes_read"] == 1024 * reads and found["total"]["bytes_written"] == 1024 * writes, "%s", found["total"])
        expect(found["files"][0]["bytes_written"] == 1024 * writes, "making it is in the books: %s", found["files"])
        case.holds("d/m", "m", SIZE)
    total = result(case, *words, "--fsync", "request")["total"]
    expect(total["syncs"] == total["writes"], "a sync after every write, and only there: %s", total)
    os.unlink(case.path("d", "m"))
    log = captured.observe(case, "job.darshan", case.command(*words), "d")
    lengths, at = histogram(case, log, "m")
    made, mixed = lengths[("w", SIZE)], lengths[("r", 1024)] + lengths[("w", 1024)]
    expect(made == 1 and mixed == 1024, "requests: %s", lengths)
    expect(covers(at["r"] + [w for w in at["w"] if w[1] == 1024], SIZE), "not each byte once")
    expect(result(case, *words, "--seed", 1)["total"]["reads"] == lengths[("r", 1024)], "the same seed, another lot")
    for bad in (["--read_share", "2"], ["--read_share", "x"]):
        case.emulate("app", "--write_filenames", "m", *bad, status=2)
    case.emulate("app", "--read_filenames", "m", "--read_share", "1/2", status=2)


def mix_mpi(family):
    def case_of(case):
        """Collective reads and writes mixed: all ranks draw the same."""
        found = result(case, "app", "--write_filenames", "m", "--block_size", 100000, "--segment_count", 1, "--transfer_size", 1000,
                       "--read_share", "1/2", "--engine", "mpiio", "--verify", ranks=3, launcher=family)  # fmt: skip
        total = found["total"]
        expect(total["bytes_read"] + total["bytes_written"] == 100000 and total["bytes_read"] % 1000 == 0, "%s", total)
        expect(30000 < total["bytes_read"] < 70000, "%s", total)
        case.holds("m", "m", 100000)

    return case_of


def split(case):
    """Sizes drawn by lot, in all orders; each byte once."""
    os.mkdir(case.path("d"))
    for order in ("sequential", "strided", "random"):
        words = ["app", "--block_size", 4 << 20, "--segment_count", 1, "--size_split", "1KiB/70:4KiB/25:32KiB/5", "--order", order,
                 "--input_dir", case.path("d")]  # fmt: skip
        lengths, at = histogram(case, captured.observe(case, "job.darshan", case.command(*words, "--write_filenames", "s", "--in_place", ranks=2), "d"), "s")
        case.holds("d/s", "s", 4 << 20)
        n = sum(lengths.values())
        for size, share in ((1024, 0.7), (4096, 0.25), (32768, 0.05)):
            expect(abs(lengths[("w", size)] / n - share) < 0.05, "%s: %d of %d requests of %d bytes", order, lengths[("w", size)], n, size)
        expect(sum(lengths[("w", s)] for s in (1024, 4096, 32768)) == n, "%s: other sizes: %s", order, lengths)
        expect(covers(at["w"], 4 << 20), "%s: not each byte once", order)
        if order == "random":
            first = [offset for offset, _ in at["w"]]
            expect(first != sorted(first), "random is in order")
        case.emulate(*words, "--read_filenames", "s", "--verify", ranks=3)
    for bad in ("1KiB/0", "x/3", "1KiB/x", "0/3", ":".join(["1KiB"] * 17)):
        told = case.emulate("app", "--write_filenames", "s", "--size_split", bad, status=2).stderr
        expect("size_split" in told, "%s: %s", bad, told)
    case.emulate("app", "--write_filenames", "s", "--size_split", "1KiB", "--transfer_size", 5, status=2)


def limit(launcher):
    def case_of(case):
        """A phase ends when its time is over, and what it wrote is there; worn out, all ranks made as many requests."""
        words = ["app", "--file_per_process_write", "--write_filenames", "f", "--block_size", "64MiB", "--segment_count", 1,
                 "--transfer_size", 4096, "--fsync", "never", "--rate", "1MiB", "--time_limit", "0.2"]  # fmt: skip
        case.need(launcher)
        for more in ([], ["--wear_out"]):
            found = result(case, *words, *more, ranks=2, launcher=launcher)
            figures = found["figures"]["limit_writing"]
            writes = [rank["writes"] for rank in found["ranks"]]
            expect(figures["cut"] and figures["requests_least"] == min(writes) and figures["requests_most"] == max(writes), "%s", figures)
            expect(min(writes) > 0 and found["seconds"] >= 0.19, "%s in %s s", writes, found["seconds"])
            expect(found["total"]["bytes_written"] == 4096 * sum(writes) < 64 << 20, "%s", found["total"])
            expect(not more or min(writes) == max(writes), "worn out: %s", writes)
            for rank, n in enumerate(writes):
                case.holds("f" + (".%d" % rank if rank else ""), "f" + (".%d" % rank if rank else ""), 4096 * n)
        # what is there can be read again, as far as it goes
        read = ["app", "--file_per_process_read", "--read_filenames", "f", "--block_size", "64MiB", "--segment_count", 1, "--verify"]
        done = result(case, *read, "--transfer_size", 4096, "--time_limit", 60, ranks=2, launcher=launcher)
        expect(done["total"]["bytes_read"] == 4096 * sum(writes), "read %s, not %s", done["total"], writes)
        expect(not done["figures"]["limit_reading"]["cut"], "%s", done["figures"])
        text = case.emulate(*words, ranks=2, launcher=launcher).stdout
        expect("writing: ended after the time limit of" in text, "%s", text)

    return case_of


def unequal(case):
    """A rank that has nothing left to do does not keep the others; a fast one is not slowed by a slow one."""
    words = ["app", "--write_filenames", "a:b", "--ranks_per_file_write", "0:1,2", "--write_block_size", "40KiB:64MiB", "--write_segment_count",
             "1:1", "--transfer_size", 4096, "--fsync", "never", "--rate", "1MiB", "--time_limit", "0.2"]  # fmt: skip
    for more in ([], ["--wear_out"]):
        found = result(case, *words, *more, ranks=3)
        writes = [rank["writes"] for rank in found["ranks"]]
        expect(writes[0] == 10 and min(writes[1:]) > 10, "%s", writes)
        expect(not more or writes[1] == writes[2], "worn out: %s", writes)
    # as many bytes, but smaller requests, on one rank: it makes most of them, and worn out the other makes as many
    words = ["app", "--write_filenames", "a:b", "--ranks_per_file_write", "0:1", "--write_block_size", "64MiB:1KiB", "--write_segment_count",
             "1:65536", "--transfer_size", 4096, "--fsync", "never", "--rate", "1MiB", "--time_limit", "0.2"]  # fmt: skip
    for more in ([], ["--wear_out"]):
        writes = [rank["writes"] for rank in result(case, *words, *more, ranks=2)["ranks"]]
        expect(writes[0] == writes[1] if more else writes[1] > 2 * writes[0], "%s: %s", more, writes)
    for family in FAMILIES:
        if cases.shutil.which("mpirun." + family):
            told = case.emulate(*words, "--engine", "mpiio", ranks=3, launcher=family, status=None).stderr
            expect("mpiio_type=noncollective" in told, "collective calls with a limit: %s", told)


def created(case):
    """md: as many files as there was time for; those are looked at, read and removed, also of another rank."""
    for more in ([], ["--wear_out"]):
        found = result(case, "md", "--num_files", 1000000, "--file_bytes", 10, "--time_limit", "0.3", "--shift", 1, "--input_dir", "d", *more,
                       ranks=3)  # fmt: skip
        phases = found["figures"]["phases"]
        calls = {name: phases[name]["calls"] for name in phases}
        expect(found["figures"]["limit"]["cut"] and len(set(calls.values())) == 1 and 0 < calls["create"] < 3000000, "%s", calls)
        expect(phases["create"]["seconds"] >= 0.29, "%s", phases)
        expect(not more or calls["create"] % 3 == 0, "worn out: %s", calls)
        expect(case.files("d") == [], "left %s", case.files("d"))
    found = result(case, "md", "--num_files", 5, "--time_limit", 60, "--wear_out", "--input_dir", "d", ranks=2)
    expect(not found["figures"]["limit"]["cut"] and found["figures"]["phases"]["unlink"]["calls"] == 10, "%s", found["figures"])


def chunks(family):
    def case_of(case):
        """Chunks, packed or not: what HDF5's own program says of the file, and what is read back."""
        cases.need("h5dump")
        case.need(family)
        base = ["app", "--engine", "hdf5", "--block_size", 50000, "--segment_count", 2, "--transfer_size", 7000]
        sizes = {}
        for name, more in (("plain", []), ("cut", ["--chunk", 8192]), ("packed", ["--chunk", 8192, "--compress", 6])):
            try:
                case.emulate(*base, "--write_filenames", name, *more, ranks=3, launcher=family)
            except Failed as why:
                if UNUSABLE.search(str(why)):
                    raise Skip("no HDF5 for %s" % family) from why
                raise
            case.emulate(*base, "--read_filenames", name, "--verify", ranks=2, launcher=family)
            told = subprocess.run(["h5dump", "-p", "-H", case.path(name)], check=True, capture_output=True, text=True).stdout
            expect(("CHUNKED ( 8192 )" in told) == (name != "plain"), "%s: %s", name, told)
            expect(("COMPRESSION DEFLATE { LEVEL 6 }" in told) == (name == "packed"), "%s: %s", name, told)
            raw = subprocess.run(["h5dump", "-d", "/data", "-b", "LE", "-o", case.path("raw"), case.path(name)], capture_output=True)
            expect(raw.returncode == 0, "%s", raw.stderr)
            case.holds("raw", name, 100000)
            sizes[name] = os.path.getsize(case.path(name))
        expect(sizes["packed"] < sizes["cut"], "packed is not smaller: %s", sizes)
        # a rank alone packs its own file
        case.emulate(*base, "--write_filenames", "own", "--file_per_process_write", "--chunk", 8192, "--compress", 1, ranks=2, launcher=family)
        case.emulate(*base, "--read_filenames", "own", "--file_per_process_read", "--verify", ranks=2, launcher=family)
        for bad in (["--compress", 3], ["--chunk", 100, "--compress", 10], ["--chunk", 100, "--compress", 1, "--mpiio_type", "noncollective"],
                    ["--chunk", 100, "--engine", "mpiio"]):  # fmt: skip
            told = case.emulate(*base, "--write_filenames", "bad", *bad, ranks=2, launcher=family, status=None)
            expect(told.returncode != 0 and ("compress" in told.stderr or "chunk" in told.stderr), "%s: %s", bad, told.stderr)

    return case_of


CASES = {"mix": mix, "split": split, "unequal": unequal, "created": created}
CASES.update({"limit-" + one: limit(one) for one in (LOCAL, *FAMILIES)})
CASES.update({"mix-" + one: mix_mpi(one) for one in FAMILIES})
CASES.update({"chunks-" + one: chunks(one) for one in FAMILIES})

if __name__ == "__main__":
    main(CASES)
