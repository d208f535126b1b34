#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make-seeds.py [FOLDER]: writes the seeds of all fuzz targets, FOLDER/<target>/seed-* (default: corpus).

The same seeds every time. Those called fixed-* once broke something; other files in there are left alone."""
import bz2
import os
import random
import struct
import sys
import zlib

sys.dont_write_bytecode = True
import seeds_wire  # noqa: E402

MAGIC = 6567223
ZLIB, BZIP2, PLAIN = 0, 1, 2
PACK = {ZLIB: zlib.compress, BZIP2: bz2.compress, PLAIN: bytes}

# words of a record by module and version, base included
WORDS = {
    0: {1: 6}, 1: {1: 85, 2: 81, 3: 83, 4: 88}, 2: {1: 68, 2: 68, 3: 70}, 3: {1: 5, 2: 7, 3: 10},
    4: {1: 113, 2: 114}, 5: {1: 6, 2: 8, 3: 19}, 6: {1: 140}, 7: {1: 15, 2: 14}, 9: {1: 30, 2: 31},
    13: {1: 398}, 14: {1: 654}, 16: {1: 73}, 17: {1: 87}, 50: {1: 37},
}
NEWEST = {0: 1, 1: 4, 2: 3, 3: 3, 4: 2, 5: 3, 6: 1, 7: 2, 8: 2, 9: 2, 10: 2, 11: 3, 12: 1, 13: 1, 14: 1,
          15: 1, 16: 1, 17: 1, 48: 2, 49: 1, 50: 1}
APXC_MAGIC, APMPI_MAGIC = 0x4155544F50455246, 280520118345
IDS = (0x1122334455667788, 77, 0xFEDCBA9876543210)

rng = random.Random(1)


def word(order, value):
    if isinstance(value, float):
        return struct.pack(order + "d", value)
    if isinstance(value, bytes):
        return value
    return struct.pack(order + "Q", value & (1 << 64) - 1)


def words(order, *values):
    return b"".join(word(order, value) for value in values)


def plain_record(order, count, file_id, rank):
    """Small numbers, a few times and a few extremes, in whatever the module calls its words."""
    values = [rng.choice((0, 1, 2, 4096, 1 << 20, -1, 0.25, 12.5)) for _ in range(count - 2)]
    return words(order, file_id, rank, *values)


def lustre(order, version, rank):
    osts = [3, 7, 11]
    if version == 1:
        return words(order, IDS[0], rank, 40, 2, 0, 1 << 20, len(osts), *osts)
    parts = [(1 << 20, 1, 0, 0, 0, 1 << 26, 0, b"pool".ljust(16, b"\0")),
             (4 << 20, 2, 0, 16, 1 << 26, -1, 0, b"".ljust(16, b"\0"))]
    return words(order, IDS[0], rank, 3, 3) + b"".join(words(order, *p) for p in parts) + \
        words(order, -1, 0, 0, 0, 0, 0, 0, bytes(16)) + words(order, *osts)


def trace(order, module, version, rank, writes, reads):
    wide = version >= (3 if module == 11 else 2)
    text = words(order, IDS[0], rank, 0, b"node01".ljust(64, b"\0"), writes, reads)
    for k in range(writes + reads):
        text += words(order, k * 65536, 65536, 0.5 * k, 0.5 * k + 0.25)
        text += words(order, 100 + k % 3) if wide else b""
    return text


def heatmap(order, rank, bins, width=0.1):
    return words(order, IDS[1], rank, width, bins, 0, 0, *range(2 * bins))


def mdhim(order, rank, servers):
    return words(order, IDS[2], rank, 10, 20, 4096, 16, servers, 0.5, 0.75, 0.1, 0.2, *range(max(servers, 1)))


def process(order, rank, command=b"work --hard"):
    text = command.ljust(-(-len(command) // 8) * 8, b"\0")
    return words(order, IDS[1], rank, 100 + rank, 99, -1, 1, 0, 2, 1, 0, 0, 0, 0.5, 9.5, b"node01".ljust(64, b"\0"),
                 len(text) // 8, text)


def autoperf(order, module):
    if module == 13:
        head = words(order, 5, -1, APXC_MAGIC, 1, 2, 3, 4, 5, 6)
    else:
        head = words(order, 5, -1, APMPI_MAGIC, struct.pack(order + "II", 1, 0), 0.5, 0.25)
    return head + plain_record(order, WORDS[module][1], 5, 0) + plain_record(order, WORDS[module][1], 5, 1)


def records(order, module, version, ranks=(0, 1)):
    """Some records of the module, decoded."""
    if module == 8:
        return b"".join(lustre(order, version, rank) for rank in ranks)
    if module == 49:
        return b"".join(process(order, rank) for rank in ranks)
    if module in (10, 11, 48):
        return b"".join(trace(order, module, version, rank, 3, 2 + rank % 2) for rank in ranks)
    if module == 12:
        return b"".join(mdhim(order, rank, 2) for rank in ranks)
    if module in (13, 14):
        return autoperf(order, module)
    if module == 15:
        return b"".join(heatmap(order, rank, 4 + rank % 2) for rank in ranks)
    size = WORDS[module][version]
    return b"".join(plain_record(order, size, IDS[rank % 2], rank) for rank in ranks)


def names(order, minor):
    texts = [(IDS[0], b"/scratch/user/out.h5"), (IDS[1], b"heatmap:POSIX"), (IDS[2], b""), (IDS[2], b"/home/u/a,\"b\""),
             (9, b"<STDOUT>"), (10, b"/scratch/user/out.h5:/group/data \xc3\xa4 \xff")]
    if minor < 10:
        return b"".join(struct.pack(order + "QI", i, len(t)) + t for i, t in texts)
    return b"".join(struct.pack(order + "Q", i) + t + b"\0" for i, t in texts)


def job(order, minor, start=1600000000, nprocs=2):
    meta = b"lib_ver=3.5.0\nh=romio_no_indep_rw=true;cb_nodes=4\n".ljust(1024, b"\0")
    numbers = (1000, start, 5, start + 60, 7, nprocs, 4242) if minor >= 41 else (1000, start, start + 60, nprocs, 4242)
    return words(order, *numbers) + meta + b"/home/u/app --in a b\nlustre\t/scratch\next4\t/\nnfs\t/home\n\0"


def log(minor=41, order="<", pack=PLAIN, parts=(), start=1600000000, nprocs=2, partial=0, streams=1):
    """A whole log. parts: (module, version, decoded records)."""
    new = minor >= 41
    size, slots = (1328, 64) if new else (360, 16)
    body, where = b"", []
    for data in [job(order, minor, start, nprocs), names(order, minor)] + [p[2] for p in parts]:
        step = -(-len(data) // streams) or 1
        packed = b"".join(PACK[pack](data[k:k + step]) for k in range(0, len(data), step))
        where.append((size + len(body), len(packed)))
        body += packed
    entry, version = [(0, 0)] * slots, [0] * slots
    for (module, number, _), place in zip(parts, where[2:]):
        entry[module], version[module] = place, number
    text = b"3.%02d" % minor + bytes(4) + struct.pack(order + "q", MAGIC) + bytes([pack])
    text += bytes(7) + struct.pack(order + "Q", partial) if new else bytes(3) + struct.pack(order + "I", partial)
    for off, n in [where[1]] + entry:
        text += struct.pack(order + "QQ", off, n)
    return text + struct.pack(order + "%dI" % slots, *version) + body


def part(module, version, data):
    return struct.pack("<BBH", module, version, len(data)) + data


def module_seeds():
    for module, newest in NEWEST.items():
        for version in range(1, newest + 1):
            for order in "<>" if version == newest or module in (5, 8) else "<":
                flags = (order == ">") + (2 if version == 1 else 0)
                data = records(order, module, version, (0,) if module in (4, 6) else (0, 1))
                yield "m%02d-v%d-%s" % (module, version, "le" if order == "<" else "be"), \
                    bytes([module, version, flags]) + data
    yield "trace-cut", bytes([10, 2, 0]) + trace("<", 10, 2, 0, 3, 3)[:-50]
    yield "trace-zlib", bytes([11, 3, 8]) + records("<", 11, 3)
    yield "posix-bzip2", bytes([1, 4, 12]) + records("<", 1, 4)
    yield "posix1-stream", bytes([1, 1, 0]) + words("<", 7, 0, *([1] * 83))
    yield "mdhim-none", bytes([12, 1, 0]) + mdhim("<", 0, 0) + mdhim("<", 1, 3)
    yield "fixed-lustre1-no-size", bytes([8, 1, 0]) + words("<", 7, 0, 40, 2, 0, -1, 2, 3, 4)
    yield "unknown", bytes([20, 1, 0]) + bytes(64)
    yield "too-new", bytes([1, 5, 0]) + bytes(800)


def annexed(data, order, sections):
    """A log with an annex: (number, version, flags, stored bytes) of each section."""
    begin, entries = len(data), b""
    data += b"IORANNEX"
    for number, version, flags, stored in sections:
        entries += struct.pack(order + "IIIIQQ", number, version, flags, zlib.crc32(stored), len(data), len(stored))
        data += stored
    front = struct.pack(order + "QQQQI", begin, len(data), len(entries), len(data) + len(entries) + 48, 1)
    return data + entries + front + struct.pack(order + "I", zlib.crc32(entries + front)) + b"IORANNEX"


def threads(order, ranks=(0, 1)):
    """Thread ids of records("DXT_POSIX")."""
    return b"".join(words(order, IDS[0], rank, 5 + rank % 2, 100, 2, 101, 1, 102, 2 + rank % 2) for rank in ranks)


def annex_seeds():
    """See fuzz_annex.c: flags, DXT_POSIX, sections, and numbers where they are not the right ones."""
    def one(flags, sections, rest=b"", version=1):
        order = ">" if flags & 1 else "<"
        data = records(order, 10, version)
        return bytes([flags]) + struct.pack("<H", len(data)) + data + \
            b"".join(struct.pack("<BBBH", number, ver, flag, len(b)) + b + more for number, ver, flag, b, more in sections) + rest
    for order, swap in (("<", 0), (">", 1)):
        name = "be" if swap else "le"
        own = [(49, 1, 0, records(order, 49, 1), b""), (50, 1, 1, records(order, 50, 1), b""),
               (51, 1, 0, threads(order), b"")]
        yield "whole-" + name, one(14 + swap, own)
        yield "unknown-" + name, one(14 + swap, own + [(77, 9, 255, b"later", b"")])
        yield "unfit-" + name, one(14 + swap, [(51, 1, 0, threads(order)[:-40] + bytes(40), b"")])
        yield "short-" + name, one(14 + swap, [(51, 1, 0, threads(order)[:-9], b"")])
        yield "wide-" + name, one(30 + swap, [(51, 2, 0, threads(order), b""), (48, 2, 0, records(order, 48, 2), b"")], b"", 2)
        yield "newer-" + name, one(14 + swap, [(49, 2, 0, b"x", b""), (51, 2, 0, b"y", b"")])
        yield "places-" + name, one(10 + swap, [(49, 1, 0, bytes(8), bytes([65, 0])), (50, 1, 0, bytes(8), bytes([0, 191]))])
        yield "footer-" + name, one(12 + swap, own, bytes([0, 65, 0, 0, 0]))
        yield "sums-" + name, one(6 + swap, [(49, 1, 0, records(order, 49, 1), b"\1"), (50, 1, 0, b"", b"\0")])
    yield "twice", one(14, [(49, 1, 0, b"", b""), (49, 1, 0, b"", b"")])
    yield "low", one(14, [(10, 1, 0, b"", b"")])
    yield "many", one(14, [(100 + k, 1, 0, b"", b"") for k in range(70)])


def log_seeds(short):
    few = [(1, 4, records("<", 1, 4, (0,))), (10, 2, records("<", 10, 2, (0,)))]
    yield "341-plain", log(parts=few, partial=2)
    yield "341-zlib", log(parts=few, pack=ZLIB, streams=2)
    yield "341-bzip2", log(parts=[] if short else few, pack=BZIP2)
    yield "300-zlib", log(0, pack=ZLIB, parts=[] if short else [(1, 1, records("<", 1, 1))])
    yield "310-big", log(10, ">", ZLIB, [] if short else [(6, 1, records(">", 8, 1)), (7, 1, records(">", 9, 1))])
    yield "320-plain", log(20, parts=[] if short else [(9, 1, records("<", 10, 1, (0,)))])
    yield "321-big", log(21, ">", PLAIN, [] if short else [(14, 1, records(">", 15, 1))])
    for order, pack in (("<", PLAIN), ("<", ZLIB), (">", PLAIN), (">", BZIP2)):
        name = "%s-%d" % ("le" if order == "<" else "be", pack)
        base = log(41, order, pack, [] if short else [(10, 1, records(order, 10, 1))])
        sections = [(49, 1, 0, PACK[pack](process(order, 0))), (51, 1, 0, PACK[pack](threads(order))), (99, 3, 1, b"later")]
        yield "annex-" + name, annexed(base, order, sections)
    yield "annex-cut", annexed(log(), "<", [(49, 1, 0, process("<", 0))])[:-30]
    yield "annex-appended", annexed(log(pack=ZLIB), "<", [(49, 1, 0, PACK[ZLIB](process("<", 0)))]) + b"more"
    yield "empty", b""
    yield "short", b"3.41\0\0\0\0" + struct.pack("<q", MAGIC) + bytes(8)
    if not short:
        for module in (8, 12, 14, 15, 16):
            version = NEWEST[module]
            yield "m%02d" % module, log(pack=ZLIB, parts=[(module, version, records("<", module, version))])


def region_seeds():
    text = b"".join(b"line %d of a region\n" % k for k in range(60))
    for kind, pack in PACK.items():
        yield "%d-one" % kind, bytes([kind]) + pack(text)
        yield "%d-three" % kind, bytes([kind]) + pack(text[:100]) + pack(b"") + pack(text[100:])
        yield "%d-cut" % kind, bytes([kind]) + pack(text)[:-9]
    yield "zlib-long", bytes([ZLIB]) + zlib.compress(bytes(300000), 9)
    yield "zlib-rest", bytes([ZLIB]) + zlib.compress(text) + b"rest"
    yield "bzip2-long", bytes([BZIP2]) + bz2.compress(bytes(300000))


def choice(minor, order):
    return bytes([2 * (41, 0, 10, 20, 21).index(minor) + (order == ">")])


def names_seeds():
    for minor in (41, 0, 10):
        for order in "<>":
            yield "%02d-%s" % (minor, "le" if order == "<" else "be"), choice(minor, order) + names(order, minor)
    yield "nul-inside", choice(0, "<") + struct.pack("<QI", 1, 7) + b"abc\0def"
    yield "no-end", choice(41, "<") + struct.pack("<Q", 1) + b"abc"
    yield "fixed-long-public", choice(41, "<") + struct.pack("<Q", 1) + b"<" + b"x" * 5000 + b"\0"
    yield "too-long", choice(41, "<") + struct.pack("<Q", 1) + b"/" * 40000 + b"\0"


def job_seeds():
    for minor in (41, 21):
        for order in "<>":
            yield "%02d-%s" % (minor, "le" if order == "<" else "be"), choice(minor, order) + job(order, minor)
    yield "no-mounts", choice(41, "<") + job("<", 41)[:1080] + b"just a command\0"
    yield "empty-lines", choice(41, "<") + job("<", 41)[:1080] + b"x\n\n\n \next4\t/ more\n\0\n\n"
    yield "cut", choice(41, "<") + job("<", 41)[:500]
    yield "fixed-newline-last", choice(41, "<") + job("<", 41)[:1080].ljust(4095, b"x") + b"\n"


def merge_seeds():
    def two(flags, module, versions=None, nprocs=(1, 1), ranks=((0,), (1,))):
        version = versions or (NEWEST[module], NEWEST[module])
        parts = [records("<", module, version[k], ranks[k]) for k in (0, 1)]
        return struct.pack("<BBBHH", flags, *nprocs, 10, 12) + \
            part(module, version[0], parts[0]) + part(module + 128, version[1], parts[1])
    for module in (1, 9, 10, 15, 48, 49, 50):
        yield "images-%02d" % module, two(64 + 2, module, ranks=((0,), (0,)))
    for module in (1, 5, 7, 8, 9, 10, 12, 13, 15, 16, 49):
        odd = module % 2
        yield "m%02d" % module, two(2 + odd, module, (1, NEWEST[module]), (1 + odd, 1 + odd))
    yield "same-rank", two(2, 1, ranks=((0,), (0,)))
    most = (1 << 63) - 1
    yield "fixed-highest-rank", two(0, 9, ranks=((0,), (most,)))
    yield "fixed-highest-rank-renumber", two(1, 9, ranks=((0,), (most,)))
    stdio = words("<", 7, -1, *([most] * 29))
    yield "fixed-highest-fastest", struct.pack("<BBBHH", 1, 2, 2, 10, 12) + part(9, 2, stdio) + part(137, 2, stdio)
    servers = part(12, 1, mdhim("<", 0, 1)) + part(140, 1, mdhim("<", 1, 3))
    yield "fixed-mdhim-servers", struct.pack("<BBBHH", 2, 1, 1, 10, 12) + servers
    maps = [part(15 + k, 1, heatmap("<", 0, 4, 1e-300)) for k in (0, 128)]
    yield "fixed-heatmap-narrow", struct.pack("<BBBHH", 1, 1, 1, 0, 65535) + maps[0] + maps[1]
    ends = [log(start=start) for start in (-most, most)]
    yield "fixed-far-starts", struct.pack("<BH", 129, len(ends[0])) + ends[0] + ends[1]
    late = log(start=most, nprocs=1, parts=[(7, 2, words("<", 7, 0, *([1] * 11), 100.0))])
    yield "fixed-late-start", struct.pack("<BH", 129, len(late)) + late
    yield "shared", two(3, 9, ranks=((-1,), (-1,)))
    logs = [log(parts=[(9, 2, records("<", 9, 2, (rank,)))], start=1600000000 + rank, nprocs=1, pack=pack)
            for rank, pack in ((0, PLAIN), (1, ZLIB))]
    yield "whole", struct.pack("<BH", 131, len(logs[0])) + logs[0] + logs[1]


def show_seeds():
    def built(form, flags, *parts):
        order = ">" if flags & 1 else "<"
        region, text = job(order, 41), names(order, 41)
        return bytes([form, flags]) + struct.pack("<H", len(region)) + region + \
            struct.pack("<H", len(text)) + text + b"".join(parts)
    layout, access = part(8, 2, records("<", 8, 2, (0,))), part(10, 2, records("<", 10, 2))
    yield "text-all", built(1, 2, part(9, 2, records("<", 9, 2)), part(12, 1, records("<", 12, 1)))
    yield "text-be", built(0, 1, part(15, 1, records(">", 15, 1)), part(7, 1, records(">", 7, 1)))
    yield "trace", built(2, 0, layout, access)
    yield "trace-old", built(2, 0, part(11, 1, records("<", 11, 1)))
    yield "json", built(3, 2, layout, part(9, 2, records("<", 9, 2)), part(30, 1, b"unknown"))
    yield "json-daos", built(3, 0, part(16, 1, records("<", 16, 1, (0,))), part(17, 1, records("<", 17, 1, (0,))))
    yield "json-trace", built(4, 0, access)
    no_osts = words("<", 7, 0, 1, 0) + words("<", 1 << 20, 0, 2, 0, 0, -1, 0, bytes(16))
    yield "fixed-lustre-no-osts", built(1, 0, part(8, 2, no_osts))
    yield "process", built(1, 0, part(49, 1, records("<", 49, 1)), part(50, 1, records("<", 50, 1)))
    yield "process-json", built(3, 0, part(49, 1, process("<", 0, b"sh -c 'a\n\t\"b\"'")))
    yield "process-csv", built(5, 1, part(49, 1, process(">", 0, b"")))
    yield "trace-stdio", built(2, 0, layout, part(48, 2, records("<", 48, 2)))
    yield "csv", built(5, 0, layout, part(3, 3, records("<", 3, 3)), part(12, 1, records("<", 12, 1)))
    yield "whole", bytes([1, 128]) + log(parts=[(1, 4, records("<", 1, 4, (0,)))], pack=ZLIB)


def segment_seeds():
    def put(area, at, data):
        return struct.pack("<BHB", area, at, len(data)) + data
    header, identity, state, chunk, lanes, events = 255, 0, 1, 32, 4, 5
    # chunks of records: names, then a slot of each kind, then more as they were taken (fuzz_segment.c)
    kinds, slots, pool = 9, 24 + 32 * 24, 24 + 32 * 24 + 16 * 4
    pool_used, slots_used, names_used = 92, 16, 8
    u32, u64 = lambda v: struct.pack("<I", v), lambda v: struct.pack("<Q", v & (1 << 64) - 1)
    yield "plain", b"\0"
    yield "unfinished", b"\4" + put(state, 0, u32(1)) + put(identity, 40, bytes(24))
    for size in (8, 256, 1024, 2000, 3000):
        yield "cut-%d" % size, b"\2" + struct.pack("<H", size)
    yield "raw", b"\1" + u64(0x0A1A616D61726F69) + u32(4) + u32(7) + u64(4096)
    yield "version", b"\0" + put(header, 8, u32(2))
    for k, value in enumerate((0, 4097, 1 << 40, -4096)):
        yield "area-%d" % k, b"\0" + put(header, 24 + 24 * 3, u64(value))
    yield "counts", b"\0" + put(state, 8, b"\xff" * 40) + put(events, 12, b"\xff" * 4)
    yield "torn", b"\4" + put(state, 0, u32(1)) + b"".join(put(chunk + 1 + k, 0, u32(1 + 2 * k)) for k in range(3))
    yield "name-long", b"\0" + put(chunk, 8, u32(1 << 31))
    yield "name-none", b"\0" + put(chunk + 1, 1680 + 4, u32(77777))
    for k, value in enumerate((0, 8, 4096, 8191, 16384, 1 << 31, 2 ** 32 - 1)):
        yield "chunk-%d" % k, b"\0" + put(header, 24 + 24 * 3 + 16, u32(value))
    for what in range(13):  # all chunks alike, and names beyond what they hold
        yield "alike-%d" % what, b"\0" + put(header, pool, bytes([what]) * 40) + put(state, names_used, u64(1 << 40))
    yield "pool-most", b"\0" + put(state, pool_used, u32(2 ** 32 - 1)) + put(header, pool, bytes(range(250)))
    yield "pool-none", b"\0" + put(state, pool_used, u32(0))
    yield "pool-slots", b"\0" + put(state, slots_used, b"\xff" * 36) + put(state, pool_used, u32(2048))
    yield "pool-cut", b"\2" + struct.pack("<H", 3000) + put(state, pool_used, u32(2048)) + put(header, pool, b"\2" * 250)
    yield "slot-size", b"\0" + put(header, slots, u32(8))
    yield "catch-all", b"\0" + put(state, 128, u64(5) * 9)
    yield "triggers", b"\0" + put(identity, 176, struct.pack("<dd", 0.5, 0.5))
    yield "ticks", b"\0" + put(identity, 0, u32(2) + u32(0) + struct.pack("<d", float("nan")) + u64(1) * 6)
    yield "late", b"\0" + put(events, 16, u64(-5) + u64(-1)) + put(identity, 40, u64(1 << 59))
    yield "lanes", b"\0" + put(lanes, 0, b"\xff" * 120)
    for kind in range(3, kinds):  # MPI-IO to Lustre: slot 0 or 1, wherever it lies
        at = chunk + 1 + kind
        yield "kind-%d" % kind, b"\0" + put(at, 16, b"\xff" * 200) + put(at, 400, b"\x7f" * 250)


def ring_seeds():
    def put(area, at, data):
        return struct.pack("<BHB", area, at, len(data)) + data
    header, control, lanes, between = 255, 2, 4, b"\xfe"
    u32, u64 = lambda v: struct.pack("<I", v), lambda v: struct.pack("<Q", v & (1 << 64) - 1)
    # places in a lane, as layout.h has them
    made, dropped, level, owners, owner, ring = 64, 72, 80, 84, 88, 344
    def start(n, taken, flags=b"\0"):
        return struct.pack("<HH", n, taken) + flags
    for n, taken in ((0, 0), (10, 0), (1024, 0), (3000, 100), (4999, 4000)):
        yield "made-%d" % n, start(n, taken)
    for pages in (1, 2, 5, 9, 40):
        yield "cut-%d" % pages, start(2000, 5, b"\1") + struct.pack("<H", pages)
    for k, value in enumerate((0, 3, 2 ** 20, 2 ** 32 - 1, 2 ** 63, -1)):
        for name, at in (("made", made), ("dropped", dropped), ("owner", owner), ("from", ring), ("at", ring + 8),
                         ("from1", ring + 16), ("at1", ring + 24)):  # fmt: skip
            yield "%s-%d" % (name, k), start(3000, 10) + put(lanes, at, u64(value))
        yield "taken-%d" % k, start(3000, 10) + put(control, 64, u64(value))
        yield "level-%d" % k, start(3000, 10) + put(lanes, level, u32(value & 0xFFFFFFFF)) + between
        yield "owners-%d" % k, start(4500, 4000) + between + put(lanes, owners, u32(value & 0xFFFFFFFF)) + between
    yield "item", start(100, 0) + put(header, 24 + 24 * 4 + 16, u32(64))
    yield "rings", start(100, 0) + put(header, 24 + 24 * 6 + 8, u64(4096))


def pattern_seeds():
    def one(kind, pattern, text):
        return bytes([kind, len(pattern)]) + pattern + text
    yield "words", one(0, b"^/scratch/[^/]+/(tmp|cache)(/|$)", b"/scratch/u/tmp/x")
    yield "repeat", one(0, b"^(a{2,3}|b*)+c?$", b"aaabbc")
    yield "sets", one(0, b"[[:alpha:]_][]x-]*[^[:space:]]", b"ab]-x ")
    yield "empty", one(0, b"(|a)||", b"")
    yield "gnu", one(0, rb"\<a\w*\>\s\bb\B", b"abc bc")
    yield "wrong", one(0, b"a{2,1}(", b"aa")
    yield "large", one(0, b"((a{9}){9}){9}", b"a")
    yield "glob", one(1, b"/data/*/run-[0-9]?.h5", b"/data/a/b/run-12.h5")
    yield "glob-stars", one(1, b"*a*a**b?", b"aaaabab")


def elf_seeds():
    """Programs of 64 bits, little endian, with little more in them than tells what they are."""
    def program(interp=b"/lib64/ld-linux-x86-64.so.2", needs=(b"libc.so.6",), machine=62, note=b"", name=1):
        texts, entries, base = b"\0", b"", 0x10000
        for need in needs:
            entries += struct.pack("<QQ", 1, len(texts))
            texts += need + b"\0"
        entries += struct.pack("<QQQQ", 5, base + 0x400, 0, 0)
        parts = [(1, 0, base, 0x600), (2, 0x300, base + 0x300, len(entries))]
        parts += [(3, 0x200, 0, len(interp) + 1)] if interp else []
        parts += [(4, 0x500, 0, len(note))] if note else []
        head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, len(parts), 0, 0, 0)
        head += b"".join(struct.pack("<IIQQQQQQ", kind, 0, off, at, at, n, n, 1) for kind, off, at, n in parts)
        body = bytearray(0x600)
        for at, data in ((0, head), (0x200, interp), (0x300, entries), (0x400, texts), (0x500, note)):
            body[at:at + len(data)] = data
        return bytes([name]) + bytes(body)
    yield "plain", program()
    yield "asan", program(needs=(b"libm.so.6", b"libasan.so.8", b"libc.so.6"))
    yield "musl", program(b"/lib/ld-musl-x86_64.so.1", (b"libc.so",))
    yield "unknown", program(b"/x/loader", (b"libc.so.6",))
    yield "static", program(b"", ())
    yield "note", program(b"", (), note=struct.pack("<III", 7, 0, 1) + b"iorama\0\0")
    yield "loader", program(b"", (), name=2)
    yield "machine", program(machine=22)
    yield "bits", b"\1\x7fELF\1\1\1" + bytes(45)
    yield "script", b"\1#! /usr/bin/env python3\n"
    yield "list", b"\1/usr/lib/libasan.so.8:/y/libiorama.so a.so"
    yield "metadata", b"\1lib_ver=x\niorama_unseen=static:2:busybox,tool;libc:1:p\nx=y\n"


def move_seeds():
    """Beginnings of functions: one that can be moved, and what makes each refusal."""
    texts = {"plain": "554889e55348c7c0010000005b5dc3", "data": "488b05100000004801f8c3", "number": "833d1000000007b8010000007405b802000000c3",
             "if": "4885ff7405489090c3b863000000c3", "call": "4883ec08e8100000004883c408c3", "jump": "e900010000", "short": "89f8c3",
             "itself": "48ffcf90907ff9b807000000c3", "zero": "4889f9e30190c3", "inside": "9090ffd7c39090", "trap": "cc90909090c3",
             "none": "060606060606", "cut": "488b05", "prefixes": "4b4b794b4b4b4b4b4b4b4b4b4b4b4b4b4b79794b297901"}  # fmt: skip
    return [(name, bytes.fromhex(text)) for name, text in texts.items()]


def symbols_seeds():
    """A library with names and two symbols, and ones whose tables do not fit."""
    def library(name=b"dlopen", size=48, link=1, at=0x401000, shnum=3):
        names = b"\0" + name + b"\0"
        symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 2, 0, 5, at, 8)
        off = 64 + 56 + 3 * 64
        head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120, 0, 64, 56, 1, 64, shnum, 0)
        segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 4096, 4096, 4096)
        sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, off + len(symbols), len(names), 0, 0, 1, 0)
        sections += struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, off, size, link, 0, 8, 24)
        return head + segment + sections + symbols + names
    yield "found", library()
    yield "other", library(b"dlopen2")
    yield "long", library(size=1 << 40)
    yield "link", library(link=7)
    yield "sections", library(shnum=60000)
    yield "short", library()[:100]

    def loaded(name=b"dlopen", places=1, address=0x10000):
        wanted = 5381
        for byte in b"dlopen":
            wanted = wanted * 33 + byte & 0xffffffff
        head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
        segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096) + struct.pack("<IIQQQQQQ", 2, 6, 0, 176, 0, 64, 64, 8)
        dynamic = struct.pack("<8Q", 6, address + 272, 5, address + 320, 0x6ffffef5, address + 240, 0, 0)
        table = struct.pack("<8I", places, 1, 1, 0, 0, 0, 1, wanted | 1)
        return head + segments + dynamic + table + bytes(24) + struct.pack("<IBBHQQ", 1, 2, 0, 5, 0x500, 8) + b"\0" + name + b"\0"
    yield "loaded", loaded()
    yield "loaded-early", loaded(address=0)
    yield "loaded-other", loaded(b"dlclose")
    yield "loaded-places", loaded(places=0)


def config_seeds():
    yield "file", b"\0# site\nMOD_DISABLE STDIO,BG/Q\nMOD_ENABLE DXT_POSIX\nMAX_RECORDS 2e3 POSIX,*\nMODMEM 8.5\n" \
        b"NAME_EXCLUDE \\.tmp$,^/s/[a,b]{1,2} *\nNAME_INCLUDE keep POSIX\nAPP_EXCLUDE git\nRANK_EXCLUDE 1:3,5\nFOO\n"
    yield "value", b"\x01*,1:2,POSIX"
    yield "value-size", b"\x011.5GiB"
    yield "fixed-empty-item", b"\x01,3"
    yield "mounts", b"\x02/dev/a / ext4 rw\ns:/h /home nfs rw\nd /mnt/a\\040b xfs\ntmpfs /t tmpfs rw\n"
    yield "path", b"\x03.//a/./../b//c/."
    yield "jobid-pbs", b"\x041234[7].server"
    yield "jobid-flux", b"\x04\xc6\x92uZZybuNNy"


def view_seeds():
    def parts(flags, modules, second=(), nprocs=(1, 1), ranks=(-1, 0, 1)):
        text = struct.pack("<BBBBB", flags, 0, nprocs[0], 0, nprocs[1])
        for module in modules:
            text += part(module, NEWEST[module], records("<", module, NEWEST[module], ranks))
        for module in second:
            text += part(module + 128, NEWEST[module], records("<", module, NEWEST[module], ranks))
        return text
    yield "counters", parts(0, (1, 2, 3, 4, 5, 6, 9, 50))
    yield "daos", parts(0, (16, 17))
    yield "lustre", parts(0, (1, 8, 10))
    yield "trace", parts(0, (1, 2, 10, 11, 48))
    yield "trace-alone", parts(0, (10, 11, 48), ranks=(0, 1, 2))
    yield "no-trace", parts(2, (1, 10, 15))
    yield "heat", parts(0, (1, 15, 49), nprocs=(2, 0))
    yield "steps", parts(1 + 8, (1, 10, 15), (1, 10, 15))
    yield "together", parts(1, (1, 9, 49), (1, 2, 9, 49), nprocs=(3, 1))
    whole = [(module, NEWEST[module], records("<", module, NEWEST[module])) for module in (1, 2, 4, 8, 10, 15)]
    yield "file", b"\4" + log(parts=whole)
    yield "file-old", b"\4" + log(minor=10, order=">", parts=[(1, 2, records(">", 1, 2))])


def alerts_seeds():
    yield "mail", (b"; site\n[mail]\nsendmail = /usr/sbin/sendmail\nfrom = iorama@example.org\nto = %u@example.org\nstaff = a@b, c@d\n"
                   b"portal = https://p/\nhours = mon-fri 8-18\n")  # fmt: skip
    yield "hook", b"[webhook]\nurl = https://h/x?y=1\ninside = yes\n"
    yield "alert", (b"[alert metadata]\nwhere = meta_ratio >= 40%, meta_mean > 1min\non = no\n[alert mine]\nwho = user\nevery = day\n"
                    b"where = finding W01, bytes > 1TiB\nfigure = ranks\ntitle = x\nadvice = y\nrule = W01\n")  # fmt: skip
    yield "controls", b"[mail]\nfrom = a\rBcc: b\nto = %u\x01@x\n"
    yield "hours", b"[mail]\nhours = sun-mon 25-99\n"
    yield "sections", b"[alert ]\non = no\n[mall]\nx = y\n"
    yield "many", b"".join(b"[alert a%d]\non = no\n" % n for n in range(80))
    yield "long", b"[alert a]\nwhere = " + b"ranks > 1, " * 60 + b"ranks > 1\n"


def profile_seeds():
    yield "plain", b"; site\n[limits]\nsmall_requests = 20%\ngood_rate = 2 GiB/s\ncost_floor=500ms\nstats: 12\n"
    yield "unknown", b"[limits]\nsmal_requests = 1\n"
    yield "unit", b"[limits]\nsmall_requests = 1 MiB\n"
    yield "range", b"[limits]\nsmall_requests = 1.01\n"
    yield "section", b"[limit]\nsmall_requests = 0.1\n"
    yield "no-section", b"small_requests = 0.1\n"
    yield "no-value", b"[limits]\nsmall_requests\n"
    yield "long", b"[limits]\nsmall_requests = 0.1" + b"0" * 500 + b"\n"
    yield "numbers", b"[limits]\nreopens = nan\nstats = 1e400\nseeks = 0x1p3\nswitches = -0\n"


def spool_seeds():
    def record(number, data, wrong=0):
        head = struct.pack("<IIQI", 0x0A676D61, len(data), number, zlib.crc32(data) ^ wrong)
        return head + struct.pack("<I", zlib.crc32(head)) + data + bytes(-len(data) % 8)
    head = b"rmaspool" + struct.pack("<Q", 7)
    yield "empty", head
    yield "one", head + record(7, b"a message")
    yield "three", head + b"".join(record(7 + i, bytes(range(i * 20))) for i in range(3))
    yield "torn", head + record(7, b"whole") + record(8, b"torn" * 20)[:50]
    yield "wrong-sum", head + record(7, b"whole") + record(8, b"changed", wrong=1)
    yield "gap", head + record(7, b"whole") + record(9, b"not the next")
    yield "holes", head + record(7, b"whole") + bytes(64)
    yield "no-head", b"rmaspoon" + bytes(8)


def sandbox_seeds():
    def made(*rows, args=(0,) * 6):
        return struct.pack("<6Q", *args) + b"".join(struct.pack("<HBBI", *row) for row in rows)
    number, allow, kill = (0x20, 0, 0, 0), (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x80000000)
    argument = (0x20, 0, 0, 32)
    yield "allow", made(allow)
    yield "kill", made(kill)
    yield "list", made(number, (0x15, 0, 1, 9), allow, kill)
    yield "argument", made(number, (0x15, 0, 3, 9), argument, (0x45, 0, 1, 2), (0x06, 0, 0, 0x50001), allow)
    yield "registers", made(argument, (0x02, 0, 0, 3), (0x07, 0, 0, 0), (0x61, 0, 0, 3), (0x1C, 0, 0, 0),
                            (0x1D, 0, 1, 0), allow, (0x16, 0, 0, 0))
    yield "arithmetic", made(number, *((op << 4 | 4, 0, 0, 3) for op in range(9)), (0x25, 1, 0, 7), kill, allow)


def pack_seeds():
    """A pack with segments, and the extents of one."""
    def plain(extents, data):
        return struct.pack("<Q", len(extents)) + b"".join(struct.pack("<QQ", *x) for x in extents) + data
    def entry(known, text, name, wrong=0):
        z = zlib.compressobj(6, zdict=known)
        data = z.compress(text) + z.flush()
        return struct.pack("<QQIIII", 0x7972746E656F6921, 65536, len(text), len(data), len(name), zlib.crc32(data) ^ wrong) + name + data
    first = plain([(0, 64), (4096, 128)], bytes(range(192)))
    head = struct.pack("<QIIII", 0x0A1A6B6361706F69, 1, len(first), zlib.crc32(first), 0) + first
    yield "empty", b"\0" + head
    yield "two", b"\0" + head + entry(first, first, b"h.1.0.seg") + entry(first, first[:-1] + b"x", b"h.2.0.seg")
    yield "wrong-sum", b"\0" + head + entry(first, first, b"h.1.0.seg", wrong=1)
    yield "bad-inside", b"\0" + head + entry(first, plain([(8192, 64), (0, 64)], bytes(128)), b"h.1.0.seg")
    yield "plain", b"\x40" + first
    yield "plain-many", b"\xff" + plain([(i * 128, 64) for i in range(20)], bytes(20 * 64))
    yield "plain-short", b"\x10" + plain([(0, 64), (64, 1 << 40)], bytes(64))


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def calls_seeds():
    """Number of calls, files, then operations and calls as docs/format/log.md tells them."""
    ops = [(0, 1, b"pwrite"), (2, 1, b"MPI_File_write_at_all"), (0, 0, b"read")]
    head = varint(len(ops)) + b"".join(bytes([layer, kind, len(name)]) + name for layer, kind, name in ops)

    def made(count, files, *calls, begin=head):
        return struct.pack("<HB", count, files) + begin + b"".join(varint(number) for call in calls for number in call)
    one, top = (0, 0, 6, 4, 8192, 2000, 2000, 90), (1, 1, 3, 0, 0, 4000, 1999, 300)
    yield "none", made(0, 0)
    yield "tree", made(3, 2, one, (0, 0, 2, 6, 0, 2000, 300, 80), top)
    yield "odd-op", made(1, 2, (3, *one[1:]))
    yield "odd-file", made(1, 1, top)
    yield "odd-parent", made(1, 2, (0, 0, 6, 6, 0, 2, 2, 1))
    yield "late", made(2, 2, (*one[:6], 1 << 61, 1 << 61), (*one[:6], 1 << 62, 1 << 62))
    yield "long", made(2, 2, (*one[:4], (1 << 64) - 1, (1 << 64) - 2, 4, 4), one)
    yield "cut", made(2, 2, one, one)[:-9]
    yield "name-cut", made(1, 1, begin=varint(1) + bytes([0, 1, 63]) + b"p")
    requests = [(6, 0x80 | 4, b"fuse write"), (7, 0x80 | 4, b"glusterfs writev"), (8, 0x80 | 3, b"glusterfs readv"), (0, 4, b"pwrite")]
    linked = varint(len(requests)) + b"".join(bytes([layer, kind, len(name)]) + name for layer, kind, name in requests)
    fuse, rpc = (*one, 9000, 44, 0, 0, 0), (1, *one[1:], 2, 80, 2, 1 << 63, 3)
    yield "links", made(4, 3, fuse, rpc, (2, *rpc[1:]), (3, *one[1:]), begin=linked)
    yield "odd-object", made(2, 3, fuse, (*rpc[:10], 4, 0, 1), begin=linked)
    yield "odd-peer", made(1, 2, rpc, begin=linked)
    yield "link-cut", made(2, 3, fuse, rpc, begin=linked)[:-4]
    yield "odd-kind", made(1, 3, fuse, begin=varint(1) + bytes([6, 0xff, 0]))
    yield "old", made(0x8000 | 3, 2, one, (0, 0, 2, 6, 0, 2000, 300, 80), top)
    yield "old-kind", made(0x8000 | 1, 3, one, begin=linked)
    yield "many-ops", made(1, 1, begin=varint(65) + bytes(200))


def path_seeds():
    """Some lost or not, then calls of 16 bytes (fuzz_path.c)."""
    def call(layer, role, host=1, peer=0, pid=1, lane=0, kernel_tid=0, tid=0, id=1, parent=0, write=1, kind=4, object=0, unique=0, mark=0, op=0, off=0,
             size=32, start=0, took=100):
        return bytes([layer | role << 4, host | peer << 2, pid | lane << 4, kernel_tid | tid << 3, id, parent, write | kind << 1 | 128, 1 | object << 2 | unique << 4,
                      mark | op << 4, off, size]) + struct.pack("<HHB", start, took, 0)
    write = call(0, 0, kernel_tid=3, start=100, took=5000)
    fuse = call(6, 1, tid=3, mark=5, object=1, start=300, took=4000)
    rpc = [call(7, 1, peer=1 + s, tid=3, unique=5, object=2, size=16, start=400, took=3000 + s, id=2 + s) for s in range(2)]
    server = [call(8, 2, peer=3, tid=3, object=2, size=16, start=500, took=2000, id=7), call(0, 2, id=8, parent=7, start=600, took=900)]
    yield "whole", b"\0" + write + fuse + b"".join(rpc + server)
    yield "lost", b"\1" + write + fuse + b"".join(rpc)
    yield "far", b"\0" + write + fuse + rpc[0] + call(8, 2, host=2, peer=3, tid=3, object=2, size=16, start=9500, took=2000)
    yield "unnumbered", b"\0" + write + call(6, 1, tid=3, object=1, start=300, took=4000) + b"".join(rpc + server)
    yield "helper", b"\0" + call(0, 0, kernel_tid=3, op=1, start=100, took=5000) + call(6, 1, tid=6, object=1, start=300, took=4000)
    yield "behind", b"\0" + write + call(6, 1, tid=3, object=1, start=300, took=8) + call(7, 1, peer=1, tid=3, start=6000, took=900)
    yield "ahead", b"\0" + call(0, 0, kernel_tid=3, write=0, kind=3, start=100) + call(6, 1, tid=3, write=0, kind=3, off=99, object=1, start=150, took=900)
    yield "odd-roles", b"\0" + write + fuse + rpc[0] + call(8, 0, peer=3, tid=3, object=2, size=16, start=500, took=2000)
    yield "others", b"\0" + write + fuse + call(6, 1, tid=5, start=300) + call(8, 2, peer=4, tid=5)
    yield "odd", b"\0" + b"".join(call(k % 9, k % 3, off=252 + k % 4, size=252 + k // 4, id=k, parent=k // 2, tid=3, kernel_tid=3) for k in range(16))


def fuse_seeds():
    """What it is taken for, how many bytes more it has, then a message (core/foreign/fuse.h)."""
    def request(opcode, body=b"", more=0, unique=42, length=None):
        whole = 40 + len(body) + more if length is None else length
        return struct.pack("<BHIIQQIIIHH", 0, more, whole, opcode, unique, 1, 1000, 1000, 4711, 0, 0) + body
    io = struct.pack("<QQIIQII", 7, 1 << 20, 131072, 0, 0, 0, 0)
    for name, opcode in (("lookup", 1), ("read", 15), ("write", 16), ("forget", 2), ("init", 26), ("interrupt", 36), ("odd", 99999)):
        yield name, request(opcode, io)
    yield "write-whole", request(16, io[:24], more=65535)
    yield "short", request(16, io[:19])
    yield "far", request(15, struct.pack("<QQI", 7, (1 << 64) - 1, 0xffffffff))
    yield "no-unique", request(15, io, unique=0)
    yield "odd-length", request(15, io, length=79)
    yield "head", request(15)[:30]
    for name, kind, error, body, more in (("wrote", 4, 0, struct.pack("<II", 131072, 0), 0), ("gave", 3, 0, b"x" * 8, 999), ("failed", 4, 0xfffffff4, b"", 0),
                                          ("told", 3, 0, b"", 0)):
        yield "answer-" + name, struct.pack("<BHIIQ", kind, more, 16 + len(body) + more, error, 0 if name == "told" else 42) + body
    yield "answer-cut", struct.pack("<BHII", 4, 0, 16, 0)


def gluster_seeds():
    """A path, where things are, and all memory from address 16 on (fuzz_gluster.c): a table, a frame with its stack, an identity."""
    def made(path, layout, memory, api=0, frame=0, self_=0, text=(0x4000, 0x5000), data=(16, 0x4000)):
        return bytes([len(path)]) + path + bytes([layout]) + struct.pack("<HHHHHHH", api, frame, self_, *text, *data) + memory

    def words(n, **at):
        memory = bytearray(8 * n)
        for place, value in at.items():
            struct.pack_into("<Q", memory, int(place[1:]) - 16, value)
        return bytes(memory)

    path = b"/usr/lib/glusterfs/10.3/xlator/protocol/client.so"
    operations = (80, 88, 96, 112, 120, 176)
    table = {"_112": 256, **{"_%d" % (256 + at): 0x4000 + at for at in operations}}
    yield "table", made(path, 0, words(64, **table), api=16)
    yield "table-foreign", made(path, 0, words(64, **{**table, "_352": 0x9000}), api=16)
    yield "table-far", made(b"", 2, words(64, _104=0xfffffffffffffff8), api=16)
    frame = {"_64": 512, "_72": 256, "_176": 9, "_184": 640, "_192": 77, "_256": 512, "_264": 0, "_640": 700}
    name = bytearray(words(100, **frame))
    name[700 - 16:709 - 16] = b"client-0\0"
    yield "frame", made(path, 0, bytes(name), frame=64, self_=640)
    struct.pack_into("<Q", name, 264 - 16, 64)  # a frame above itself
    yield "frame-round", made(path, 0, bytes(name), frame=64, self_=640)
    yield "frame-old", made(b"/glusterfs/8.6/xlator/x", 0, bytes(name), frame=64, self_=640)
    struct.pack_into("<Q", name, 264 - 16, 0)
    struct.pack_into("<Q", name, 256 - 16, 520)  # one above it of another stack
    yield "frame-other", made(path, 0, bytes(name), frame=64, self_=640)
    for place in (64, 256):
        struct.pack_into("<Q", name, place - 16, 792)  # a stack that is cut
    yield "frame-cut", made(path, 0, bytes(name), frame=64, self_=640)
    yield "identity-short", made(b"", 0, b"CTX_ID:abc\0", frame=16)
    identity = b"CTX_ID:a-b-GRAPH_ID:0-PID:4711-HOST:n01-PC_NAME:vol-client-2-RECON_NO:-0"
    yield "identity", made(b"", 0, identity + b"\0", frame=16)
    yield "identity-cut", made(b"/10/xlator/", 1, identity, frame=16)
    yield "identity-odd", made(b"/10.", 1, b"CTX_ID:-HOST:-PC_NAME:-PID:-RECON_NO:\0" + b"x" * 480 + b"\0", frame=16, self_=54)
    for version in (b"10", b"6.10", b"99.1", b"12.0", b"000010.x", b"99999999999999999999.1"):
        yield "version-" + version.decode()[:8], made(b"/glusterfs/" + version + b"/xlator/a.so", 0, b"")


def request_seeds():
    """A request line without its version, then headers; see fuzz_request.c."""
    yield "series", b"GET /api/1/jobs/17/series.csv?from=1&to=2&points=100\nHost:127.0.0.1:8417\nCookie:a=b; iorama_session=00ff\n"
    yield "login", b"POST /api/1/session\nhost:localhost\nContent-Length:12\nContent-Type:application/json\nOrigin:http://localhost\n"
    yield "word", b"GET /api/1/programs/a%20b%C3%A9?limit=5&x=%2f+\nHost:x\nX-Remote-User:ada\n"
    yield "bad", b"GET /x/../health%00\nHost:a\nHost:b\nContent-Length:0\nTransfer-Encoding:chunked\n"
    yield "root", b'HEAD /\nHost:x\nIf-None-Match:W/"00"\n'
    yield "dots", b"GET /...html?f\nHost:12f\n"
    yield "logout", b"DELETE /api/1/session\nHost:h\nSec-Fetch-Site:same-origin\n"


def uring_seeds():
    """Rings: requests that end, in order or not; queues that overflow, shapes that do not fit; and code that enters the kernel."""
    head = bytes([0, 3, 4, 0, 1, 16, 2]) + struct.pack("<H", 32)  # 8 requests, 16 completions; words 0 to 2, cqes at 256

    def write(at, data, requests=False, read=False):
        return bytes([len(data) | (128 if requests else 0) | (64 if read else 0)]) + struct.pack("<H", at) + data

    def request(slot, opcode, flags, user_data):
        return write(64 * slot, struct.pack("<BBHiQQIIQ", opcode, flags, 0, 3, 4096, 1 << 20, 512, 0, user_data), True)

    def completion(slot, user_data, res, flags=0):
        return write(256 + 16 * slot, struct.pack("<QiI", user_data, res, flags))

    three = b"".join(request(i, 22 + i % 2, 0, 7 + i) + write(64 + 4 * i, struct.pack("<I", i)) for i in range(3))
    asked = three + write(4, struct.pack("<I", 3), read=True)
    yield "order", head + asked + b"".join(completion(i, 9 - i, 512) for i in range(3)) + write(8, struct.pack("<I", 3), read=True)
    yield "more", head + asked + completion(0, 7, 1, 2) + completion(1, 7, -5) + write(8, struct.pack("<I", 2), read=True)
    yield "same", head + b"".join(request(i, 1 + i, 0, 1) for i in range(8)) + write(4, struct.pack("<I", 8), read=True) + (
        b"".join(completion(i, 1, i) for i in range(8)) + write(8, struct.pack("<I", 8), read=True))  # fmt: skip
    yield "lost", head + asked + write(4, struct.pack("<I", 100), read=True) + write(8, struct.pack("<I", 1000), read=True)
    yield "silent", head + request(0, 18, 64, 5) + request(1, 255, 0, 6) + write(4, struct.pack("<I", 2), read=True)
    yield "large", bytes([3]) + head[1:] + asked
    yield "odd", bytes([4, 5, 6]) + head[3:] + asked
    yield "code", bytes.fromhex("b8aa0100000f05c390b8aa01000089ea4c8b57184531c90f05c341b8aa0100000f05b8aa0100008b05000000000f05")


def site_seeds():
    """Names of places; and tables of one function, by which a stack is walked: read as if they began at address 0."""
    yield "name", b"\0@/home/u/a.out[8f3c]+0x11a9;+0x1190;/lib/x.so[]+0x22"
    yield "odd", b"\0@/a[8f]+0x1;/b[8]+0x2"
    yield "plain", b"\0/home/u/data"
    cie = bytes([1]) + b"zR\0" + bytes([1, 0x78, 16, 1, 0x1B])
    for name, common, own in (
        ("leaf", b"\x0c\x07\x08\x90\x01", b""),
        ("pushes", b"\x0c\x07\x08\x90\x01", b"\x41\x0e\x10\x86\x02\x4f\x0e\x50\x50\x0e\x08\xc6"),
        ("pointer", b"\x0c\x07\x08\x90\x01", b"\x0c\x06\x10\x86\x02\x83\x03\x0a\x0e\x70\x08\x03\x0b"),
        ("expression", b"\x0c\x07\x08\x90\x01", b"\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"),
        ("long", b"\x0c\x07\x08\x90\x01", b"\x02\x01\x03\x01\x00\x04\x01\x00\x00\x00\x2e\x10\x12\x07\x7f\x13\x7e\x05\x03\x02\x06\x03\x14\x0c\x02\x11\x0d\x7f"),
    ):  # fmt: skip
        head, at_cie, at_fde, code = bytes([1, 0x1B, 3, 0x3B]), 0x40, 0x80, 0x1000
        memory = head + struct.pack("<iIii", 0, 1, code, at_fde)
        memory = memory.ljust(at_cie, b"\0") + struct.pack("<II", 4 + len(cie + common), 0) + cie + common
        memory = memory.ljust(at_fde, b"\0") + struct.pack("<IIiI", 13 + len(own), at_fde + 4 - at_cie, code - at_fde - 8, 0x100) + b"\0" + own
        stack = b"".join(struct.pack("<Q", code + 16 + i) for i in range(64))
        registers = [0x200 + 8 * i for i in range(16)] + [code + 32]
        yield name, b"\1" + struct.pack("<17H", *registers) + memory.ljust(0x180, b"\0") + stack


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
    made = {"header": log_seeds(True), "log": log_seeds(False), "region": region_seeds(), "module": module_seeds(),
            "names": names_seeds(), "job": job_seeds(), "merge": merge_seeds(), "show": show_seeds(),
            "pattern": pattern_seeds(), "config": config_seeds(), "segment": segment_seeds(), "ring": ring_seeds(),
            "view": view_seeds(), "profile": profile_seeds(), "diagnose": view_seeds(), "report": view_seeds(), "spool": spool_seeds(), "elf": elf_seeds(),
            "block": seeds_wire.block_seeds(), "message": seeds_wire.message_seeds(), "collect": seeds_wire.collect_seeds(),
            "import": seeds_wire.import_seeds(), "encode": seeds_wire.encode_seeds(), "annex": annex_seeds(),
            "sandbox": sandbox_seeds(), "pack": pack_seeds(), "symbols": symbols_seeds(), "calls": calls_seeds(), "fuse": fuse_seeds(), "gluster": gluster_seeds(), "move": move_seeds(), "path": path_seeds(), "request": request_seeds(), "uring": uring_seeds(), "site": site_seeds(), "alerts": alerts_seeds(), "clickhouse": seeds_wire.clickhouse_seeds()}
    count = size = 0
    for target, seeds in made.items():
        where = os.path.join(folder, target)
        os.makedirs(where, exist_ok=True)
        for old in os.listdir(where):
            if old.startswith(("seed-", "fixed-")):
                os.unlink(os.path.join(where, old))
        for name, data in seeds:
            name = name if name.startswith("fixed-") else "seed-" + name
            with open(os.path.join(where, name), "wb") as stream:
                stream.write(data)
            count, size = count + 1, size + len(data)
    print("%d seeds, %d bytes" % (count, size))


if __name__ == "__main__":
    main()
