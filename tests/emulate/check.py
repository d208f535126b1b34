#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py NAME FILE SIZE [SEED [VERSION]]: does FILE hold what the unit NAME should hold? Made from the words of
src/emulate/pattern.h, not from its code: every byte is compared. Prints what is wrong; exit status 1 if anything is."""
import os
import struct
import sys

WORD = (1 << 64) - 1
CELL = 32
HDF5, NETCDF = b"\x89HDF\r\n\x1a\n", b"CDF\x05"


def mix(x):
    x = ((x ^ x >> 32) * 0xD6E8FEB86659FD93) & WORD
    return x ^ x >> 32


def unit_number(name):
    number = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogateescape"):
        number = ((number ^ byte) * 0x100000001B3) & WORD
    return mix(number)


def pattern(name, size, seed=1, version=0, first=0):
    """The bytes of a unit from offset `first` on, which is a multiple of 32."""
    who = mix(unit_number(name) ^ mix(seed))
    fixed = ((who ^ seed) * 0x9E3779B97F4A7C15 + (version + 1) * 0xC2B2AE3D27D4EB4F) & WORD
    cells = []
    for place in range(first // CELL, (first + size + CELL - 1) // CELL):
        cells.append(struct.pack("=4Q", who, version, place, (fixed + mix((place + seed) & WORD)) & WORD))
    return b"".join(cells)[:size]


def read(path, offset, size):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def data_offset(path, name, size, seed, version, form):
    """Where the data start in a file of HDF5 or NetCDF: in one piece, after the header. Text: what is wrong."""
    head = read(path, 0, 65536)
    if not head.startswith(form):
        return "%s: begins with %r" % (path, head[:8])
    if size == 0:
        return len(head)
    at = head.find(pattern(name, min(size, CELL), seed, version))
    return at if at >= 0 else "%s: its data do not begin within the first 64 KiB" % path


def compare(path, name, size, seed=1, version=0, form=None):
    """[] or what is wrong with the file; form: of a container (HDF5, NETCDF)."""
    if not os.path.isfile(path):
        return ["%s: not there" % path]
    start = 0
    if form is not None:
        start = data_offset(path, name, size, seed, version, form)
        if isinstance(start, str):
            return [start]
    elif os.path.getsize(path) != size:
        return ["%s: %d bytes, not %d" % (path, os.path.getsize(path), size)]
    step = 1 << 20
    for offset in range(0, size, step):
        want = pattern(name, min(step, size - offset), seed, version, offset)
        have = read(path, start + offset, len(want))
        if have != want:
            first = next((i for i, (a, b) in enumerate(zip(have, want)) if a != b), min(len(have), len(want)))
            cell = first // CELL * CELL
            return ["%s: wrong at %d: %s instead of %s" % (path, offset + first, have[cell:cell + CELL].hex(),
                                                           want[cell:cell + CELL].hex())]  # fmt: skip
    return []


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5, 6):
        sys.exit(__doc__)
    WRONG = compare(sys.argv[2], sys.argv[1], int(sys.argv[3]), *(int(n) for n in sys.argv[4:]))
    print("\n".join(WRONG) or "right")
    sys.exit(1 if WRONG else 0)
