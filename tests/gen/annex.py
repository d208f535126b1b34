# SPDX-License-Identifier: BSD-3-Clause
"""The annex of a log, written and read a second time: nothing here comes from the C code. Bytes behind the
last region:

    8 bytes    IORANNEX
    sections   each a row of compressed streams, as regions are
    directory  per section: number, version, flags, CRC-32 of the stored bytes (u32 each), offset, length (u64)
    footer     48 bytes: where the annex begins, where its directory is, bytes of that, bytes of the file (u64),
               version, CRC-32 of directory and footer up to here (u32), IORANNEX"""
import struct
import zlib

MAGIC = b"IORANNEX"
VERSION = 1
ENTRY = "IIIIQQ"
FOOTER = "QQQQII8s"
FOOTER_BYTES = 48
FIRST = 48  # numbers below are modules of a header
INCOMPLETE = 1
THREADS = {"DXT_POSIX": 51, "DXT_MPIIO": 52}


class Section:
    def __init__(self, id, version, flags, stored):
        self.id = id
        self.version = version
        self.flags = flags
        self.stored = stored
        self.offset = None  # set by append() and read()


def append(body, order, sections):
    """The body of a log with its annex."""
    begin = len(body)
    body = bytes(body) + MAGIC
    for section in sections:
        section.offset = len(body)
        body += section.stored
    directory = b"".join(
        struct.pack(order + ENTRY, s.id, s.version, s.flags, zlib.crc32(s.stored), s.offset, len(s.stored))
        for s in sections
    )
    size = len(body) + len(directory) + FOOTER_BYTES
    front = struct.pack(order + "QQQQI", begin, len(body), len(directory), size, VERSION)
    return body + directory + front + struct.pack(order + "I8s", zlib.crc32(directory + front), MAGIC)


def seal(data, order):
    """The same with a directory and footer whose checksum is right, whatever they say."""
    at = struct.unpack_from(order + "Q", data, len(data) - 40)[0]
    front = data[at : len(data) - 12]
    return data[: len(data) - 12] + struct.pack(order + "I8s", zlib.crc32(front), MAGIC)


def regions_end(data, order):
    """Where the last region of a header of format 3.41 ends; also numbers of modules with data and versions."""
    maps = [struct.unpack_from(order + "QQ", data, 32 + 16 * k) for k in range(65)]
    return max([1328, maps[0][0]] + [offset + length for offset, length in maps if length])


def read(data, order):
    """Sections by number, or None if there is no annex; ValueError if something is wrong with it."""
    if data[-8:] != MAGIC:
        return None
    begin, at, length, size, version, crc, _ = struct.unpack(order + FOOTER, data[-FOOTER_BYTES:])
    if version != VERSION or size != len(data) or at + length != size - FOOTER_BYTES or length % 32:
        raise ValueError("footer is wrong")
    if zlib.crc32(data[at : size - 12]) != crc:
        raise ValueError("checksum of directory and footer is wrong")
    if begin != regions_end(data, order) or data[begin : begin + 8] != MAGIC:
        raise ValueError("the annex does not begin where the regions end")
    found, end = {}, begin + 8
    for place in range(at, at + length, 32):
        id, version, flags, crc, offset, length = struct.unpack_from(order + ENTRY, data, place)
        section = Section(id, version, flags, data[offset : offset + length])
        section.offset = offset
        if offset != end or id < FIRST or id in found:
            raise ValueError("section %d is out of place" % id)
        if zlib.crc32(section.stored) != crc:
            raise ValueError("section %d has a wrong checksum" % id)
        end = offset + length
        found[id] = section
    if end != at:
        raise ValueError("the directory does not follow the last section")
    return found


# ---- thread ids: per record its id, its rank, the number of its segments, then (thread, segments in a row)


def runs(threads, longest):
    """(thread, segments in a row), at most `longest` of them."""
    found = []
    for thread in threads:
        if found and found[-1][0] == thread and found[-1][1] < longest:
            found[-1][1] += 1
        else:
            found.append([thread, 1])
    return found


def pack_threads(order, records, longest=2**63):
    """One piece of bytes per record."""
    for record in records:
        threads = [segment[4] for kind in ("write", "read") for segment in record.arrays[kind]]
        words = [record.id, record.rank & 2**64 - 1, len(threads)]
        for run in runs(threads, longest):
            words += run
        yield struct.pack("%s%dQ" % (order, len(words)), *words)


def unpack_threads(order, content):
    """(id, rank, [thread of each segment]) per record."""
    words = struct.unpack("%s%dQ" % (order, len(content) // 8), content)
    found, at = [], 0
    while at < len(words):
        id, rank, count = words[at : at + 3]
        at += 3
        threads = []
        while len(threads) < count:
            thread, times = words[at : at + 2]
            if not 0 < times <= count - len(threads):
                raise ValueError("a run of %d" % times)
            threads += [thread] * times
            at += 2
        found.append((id, rank - 2**64 if rank >> 63 else rank, threads))
    return found
