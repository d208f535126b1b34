#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stock.py LOG...: would the released Darshan 3.5.0 tools open these logs, and read in them what we mean?

darshan-parser, darshan-dxt-parser, PyDarshan and Drishti refuse, or die on, a module that they do not know and a
version of records that is newer than theirs; they do not look behind the last region. So a header may name modules 0
to 17 only, in the versions of that release; their regions must hold whole records of those versions; and whatever
follows the last region must be an annex that is whole, since nobody else would miss it.

Exit status 1 if anything is wrong with any of them; modules that are marked incomplete are only told."""
import bz2
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import annex  # noqa: E402
from layout import BIG, COMPONENT_BYTES, COMPRESSIONS, GOLDEN_BYTES, GOLDEN_HEADER_BYTES, LITTLE, MAGIC  # noqa: E402

# the newest version of each module's records that release 3.5.0 knows; its place is the number of the module
RELEASED = {
    "NULL": 1, "POSIX": 4, "MPI-IO": 3, "H5F": 3, "H5D": 2, "PNETCDF_FILE": 3, "PNETCDF_VAR": 1, "BG/Q": 2, "LUSTRE": 2,
    "STDIO": 2, "DXT_POSIX": 1, "DXT_MPIIO": 2, "MDHIM": 1, "APXC": 1, "APMPI": 1, "HEATMAP": 1, "DFS": 1, "DAOS": 1,
}  # fmt: skip
NAMES = list(RELEASED)
SLOTS = 64


def decoded(compression, stored):
    """Every stream of a region, one after the other."""
    if compression == "none":
        return stored
    parts = []
    while stored:
        decoder = zlib.decompressobj() if compression == "zlib" else bz2.BZ2Decompressor()
        parts.append(decoder.decompress(stored))
        if not decoder.eof:
            raise ValueError("a stream ends early")
        stored = decoder.unused_data
    return b"".join(parts)


def elements(name, content, at, order):
    """Bytes that follow the fixed part of the record at this place."""

    def number(place):
        return struct.unpack_from(order + "q", content, at + place)[0]

    if name == "LUSTRE":
        return COMPONENT_BYTES * number(16) + 8 * number(24)
    if name.startswith("DXT_"):  # released ones have no thread ids
        return 32 * (number(88) + number(96))
    if name == "HEATMAP":
        return 16 * number(24)
    if name == "MDHIM":
        return 8 * max(1, number(48))
    return 0


def walk(name, content, order):
    """Records of the released version in a region; ValueError if it is no row of whole ones."""
    size, at, count = GOLDEN_BYTES[name][RELEASED[name]], GOLDEN_HEADER_BYTES.get(name, 0), 0
    while at < len(content):
        if at + size > len(content):
            raise ValueError("record %d ends early" % (count + 1))
        more = elements(name, content, at, order)
        if more < 0 or at + size + more > len(content):
            raise ValueError("what follows record %d ends early" % (count + 1))
        at += size + more
        count += 1
    return count


def map_of(data, order):
    for slot in range(SLOTS):
        offset, length = struct.unpack_from(order + "QQ", data, 48 + 16 * slot)
        yield slot, offset, length, struct.unpack_from(order + "I", data, 1072 + 4 * slot)[0]


def check(data):
    """(refusals, notes), each a list of lines."""
    wrong, notes = [], []
    if len(data) < 1328 or data[:8] != b"3.41\0\0\0\0":
        return ["format is %r" % data[:8]], notes
    order = LITTLE if struct.unpack_from("<q", data, 8)[0] == MAGIC else BIG
    if struct.unpack_from(order + "q", data, 8)[0] != MAGIC or data[16] > 2:
        return ["no header"], notes
    (partial,) = struct.unpack_from(order + "Q", data, 24)
    if partial >> len(NAMES):
        wrong.append("flags of modules that are not known: %x" % partial)
    for slot, offset, length, version in map_of(data, order):
        if slot >= len(NAMES):
            if offset or length or version:
                wrong.append("module %d is not known" % slot)
            continue
        name = NAMES[slot]
        if version > RELEASED[name]:
            wrong.append("%s has version %d, the release knows %d" % (name, version, RELEASED[name]))
        elif version < RELEASED[name] and length:
            wrong.append("%s has version %d: we write %d" % (name, version, RELEASED[name]))
        elif length:
            try:
                walk(name, decoded(COMPRESSIONS[data[16]], data[offset : offset + length]), order)
            except (ValueError, KeyError, OSError, zlib.error, struct.error) as why:
                wrong.append("%s: %s" % (name, why))
        if partial >> slot & 1:
            notes.append("%s is incomplete" % name)
    try:
        if annex.read(data, order) is None and annex.regions_end(data, order) != len(data):
            wrong.append("bytes behind the last region are no annex")
    except ValueError as why:
        wrong.append("annex: %s" % why)
    return wrong, notes


def refusals(path):
    with open(path, "rb") as stream:
        return check(stream.read())[0]


def sections(path):
    """Numbers of the sections in its annex."""
    with open(path, "rb") as stream:
        data = stream.read()
    order = LITTLE if struct.unpack_from("<q", data, 8)[0] == MAGIC else BIG
    return set(annex.read(data, order) or {})


def main():
    bad = 0
    for path in sys.argv[1:]:
        with open(path, "rb") as stream:
            wrong, notes = check(stream.read())
        for line in wrong:
            print("%s: %s" % (path, line))
        for line in notes:
            print("%s: note: %s" % (path, line))
        bad |= bool(wrong)
    return bad


if __name__ == "__main__":
    sys.exit(main())
