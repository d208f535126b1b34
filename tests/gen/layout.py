# SPDX-License-Identifier: BSD-3-Clause
"""How a log is laid out on disk: an own writer, sharing nothing with the C code but the names of
the counters. The numbers that a table cannot be trusted with stand here a second time (GOLDEN_*),
and load_tables() refuses a table that disagrees with them."""
import bz2
import hashlib
import json
import struct
import zlib

import annex

MAGIC = 6567223
COMPRESSIONS = ("zlib", "bzip2", "none")  # in the order of their codes
LITTLE, BIG = "<", ">"
MASK64 = 2**64 - 1

# bytes of a record (of its fixed part, where elements follow), by version
GOLDEN_BYTES = {
    "NULL": {1: 48},
    "POSIX": {1: 680, 2: 648, 3: 664, 4: 704},
    "MPI-IO": {1: 544, 2: 544, 3: 560},
    "H5F": {1: 40, 2: 56, 3: 80},
    "H5D": {1: 904, 2: 912},
    "PNETCDF_FILE": {1: 48, 2: 64, 3: 152},
    "PNETCDF_VAR": {1: 1120},
    "BG/Q": {1: 120, 2: 112},
    "LUSTRE": {1: 56, 2: 32},
    "STDIO": {1: 240, 2: 248},
    "DXT_POSIX": {1: 104, 2: 104},
    "DXT_MPIIO": {1: 104, 2: 104, 3: 104},
    "MDHIM": {1: 88},
    "APXC": {1: 3184},
    "APMPI": {1: 5232},
    "HEATMAP": {1: 48},
    "DFS": {1: 584},
    "DAOS": {1: 696},
    "DXT_STDIO": {2: 104},
    "PROCESS": {1: 184, 2: 264},
    "EXTRA": {1: 296, 2: 312, 3: 320},
    "CALLS": {1: 80, 2: 104},
    "PHASE": {1: 96},
    "SITES": {1: 72},
}
GOLDEN_HEADER_BYTES = {"APXC": 72, "APMPI": 48}
COMPONENT_BYTES = 72
SEGMENT_BYTES = {
    "DXT_POSIX": {1: 32, 2: 40},
    "DXT_MPIIO": {1: 32, 2: 32, 3: 40},
    "DXT_STDIO": {2: 40},
}

# integer counters, float counters and a digest of the names in printed order
GOLDEN_NAMES = {
    "NULL": (2, 2, "5c5530c7cb7a"),
    "POSIX": (69, 17, "68f735b821cb"),
    "MPI-IO": (51, 17, "7d579ac03ed6"),
    "H5F": (3, 5, "a909e04138fa"),
    "H5D": (94, 17, "10b2a3a6a2cc"),
    "PNETCDF_FILE": (9, 8, "2566d6c21a52"),
    "PNETCDF_VAR": (120, 17, "3e6f95bd0913"),
    "BG/Q": (11, 1, "452170e50fdf"),
    "LUSTRE": (2, 0, "b2f9120e28ad"),
    "STDIO": (14, 15, "2966a1a3fc99"),
    "DXT_POSIX": (0, 0, "da39a3ee5e6b"),
    "DXT_MPIIO": (0, 0, "da39a3ee5e6b"),
    "MDHIM": (5, 4, "9b477f075942"),
    "APXC": (396, 0, "046e16149b1b"),
    "APMPI": (396, 240, "bddd13139c47"),
    "HEATMAP": (0, 1, "8d0dbe74d1dd"),
    "DFS": (52, 15, "10269afe0b0a"),
    "DAOS": (64, 15, "f6648cbf5a39"),
    "DXT_STDIO": (0, 0, "da39a3ee5e6b"),
    "PROCESS": (18, 4, "1bc8b14a0f80"),
    "EXTRA": (32, 6, "bd2a406abcee"),
    "CALLS": (8, 1, "1f5a452915c9"),
    "PHASE": (5, 4, "0edb4ad7ab53"),
    "SITES": (4, 2, "65c51d2d8bb5"),
}

# which slot of the header belongs to a module
MODULES = list(GOLDEN_BYTES)
_NEWEST = (
    "NULL POSIX MPI-IO H5F H5D PNETCDF_FILE PNETCDF_VAR BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO MDHIM "
    "APXC APMPI HEATMAP DFS DAOS"
).split()
_MIDDLE = (
    "NULL POSIX MPI-IO H5F H5D PNETCDF_FILE BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO MDHIM APXC APMPI HEATMAP"
).split()
_OLDEST = "NULL POSIX MPI-IO H5F PNETCDF_FILE BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO MDHIM".split()
OWN = {"DXT_STDIO": 48, "PROCESS": 49, "EXTRA": 50, "CALLS": 53, "PHASE": 54, "SITES": 55}  # modules that no Darshan has
MODULE_ID = {name: slot for slot, name in enumerate(_NEWEST)}
MODULE_ID.update(OWN)


class Format:
    def __init__(self, version, small, slots_used, names_have_length=False):
        self.version = version
        self.small = small  # 360-byte header, 32-bit partial flag, whole seconds
        self.slot = {name: slot for slot, name in enumerate(slots_used)}
        if not small:
            self.slot.update({name: MODULE_ID[name] for name in OWN})
        self.names_have_length = names_have_length
        self.slots = 16 if small else 64
        self.header_bytes = 360 if small else 1328
        self.job_bytes = 1064 if small else 1080
        self.text_bytes = 4096 - self.job_bytes  # NUL included


FORMATS = {
    "3.00": Format("3.00", True, _OLDEST, names_have_length=True),
    "3.10": Format("3.10", True, _OLDEST),
    "3.20": Format("3.20", True, _MIDDLE),
    "3.21": Format("3.21", True, _MIDDLE),
    "3.41": Format("3.41", False, _NEWEST),
}

# (software, format, versions of the records it writes)
_RELEASE_MODULES = (
    "NULL POSIX MPI-IO H5F H5D PNETCDF_FILE PNETCDF_VAR BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO MDHIM HEATMAP DFS DAOS"
).split()
_RELEASES = """
3.0.0  3.00  1 1 1 1 - 1 - 1 - - - - - - - -
3.1.0  3.10  1 3 1 1 - 1 - 2 1 1 - - - - - -
3.1.1  3.10  1 3 2 1 - 1 - 2 1 1 - - - - - -
3.1.3  3.10  1 3 2 1 - 1 - 2 1 1 1 1 - - - -
3.1.7  3.10  1 4 3 2 - 2 - 2 1 2 1 1 1 - - -
3.2.0  3.20  1 4 3 3 1 2 - 2 1 2 1 2 1 - - -
3.2.1  3.21  1 4 3 3 1 2 - 2 1 2 1 2 1 - - -
3.3.0  3.21  1 4 3 3 2 2 - 2 1 2 1 2 1 - - -
3.4.0  3.21  1 4 3 3 2 2 - 2 1 2 1 2 1 1 - -
3.4.1  3.41  1 4 3 3 2 3 1 2 1 2 1 2 1 1 - -
3.4.6  3.41  1 4 3 3 2 3 1 2 2 2 1 2 1 1 - -
3.4.7  3.41  1 4 3 3 2 3 1 2 2 2 1 2 1 1 1 1
next   3.41  1 4 3 3 2 3 1 2 2 2 2 3 1 1 1 1
"""
RELEASES = []
for _line in _RELEASES.strip().split("\n"):
    _software, _format, *_versions = _line.split()
    RELEASES.append((_software, _format, {m: int(v) for m, v in zip(_RELEASE_MODULES, _versions) if v != "-"}))


def natural_formats(module, version):
    """Formats that some release wrote with this version of the module's records."""
    if module in OWN:
        return ["3.41"]
    if module in ("APXC", "APMPI"):
        return ["3.20", "3.21", "3.41"]
    if (module, version) == ("POSIX", 2):  # never released
        return ["3.00", "3.10"]
    found = [fmt for _, fmt, versions in RELEASES if versions.get(module) == version]
    return sorted(set(found))


class Field:
    def __init__(self, row):
        self.name = row["name"]
        self.type = row["type"]
        self.place = row["place"]
        self.words = row["words"]
        self.since = row["since"]
        self.until = row["until"]

    def in_version(self, version):
        return self.since <= version <= self.until

    def pack(self, order, value):
        if self.type in ("text", "uuid"):
            raw = bytes(value)
            assert len(raw) <= 8 * self.words, self.name
            return raw.ljust(8 * self.words, b"\0")
        if self.type == "u32":
            return struct.pack(order + "I4x", value)
        return struct.pack(order + {"i64": "q", "u64": "Q", "f64": "d"}[self.type], value)


class Module:
    def __init__(self, row):
        self.name = row["name"]
        self.id = row["id"]
        self.newest = row["newest"]
        self.fields = [Field(f) for f in row["record"]["fields"]]
        self.header_fields = [Field(f) for f in row["header"]["fields"]] if row["header"] else []
        self.field = {f.name: f for f in self.fields}

    def versions(self):
        return sorted(GOLDEN_BYTES[self.name])

    def printed(self):
        """Fields in the order of their lines."""
        return [f for f in self.fields if f.place == "counter"] + [f for f in self.fields if f.place == "last"]


def fixed_bytes(fields, version):
    return 16 + sum(8 * f.words for f in fields if f.in_version(version))


def digest(names):
    return hashlib.sha1("\n".join(names).encode()).hexdigest()[:12]


def load_tables(path):
    with open(path) as stream:
        rows = json.load(stream)["modules"]
    tables = {row["name"]: Module(row) for row in rows}
    complaints = list(disagreements(tables))
    if complaints:
        raise SystemExit("%s disagrees with what is known of the format:\n  %s" % (path, "\n  ".join(complaints)))
    return tables


def disagreements(tables):
    if list(tables) != MODULES:
        yield "modules are %s" % " ".join(tables)
        return
    for name, module in tables.items():
        if module.id != MODULE_ID[name]:
            yield "%s has id %d, not %d" % (name, module.id, MODULE_ID[name])
        if module.newest != max(GOLDEN_BYTES[name]):
            yield "%s: newest version is %d, not %d" % (name, module.newest, max(GOLDEN_BYTES[name]))
        for version, want in GOLDEN_BYTES[name].items():
            have = fixed_bytes(module.fields, version)
            if have != want:
                yield "%s version %d has %d bytes, not %d" % (name, version, have, want)
        if name in GOLDEN_HEADER_BYTES and fixed_bytes(module.header_fields, 1) != GOLDEN_HEADER_BYTES[name]:
            yield "%s header has %d bytes, not %d" % (
                name,
                fixed_bytes(module.header_fields, 1),
                GOLDEN_HEADER_BYTES[name],
            )
        counters = [f for f in module.fields if f.place == "counter"]
        floats = sum(f.type == "f64" for f in counters)
        have = (len(counters) - floats, floats, digest(f.name for f in module.printed()))
        if have != GOLDEN_NAMES[name]:
            yield "%s: (integers, floats, digest of names) is %s, not %s" % (name, have, GOLDEN_NAMES[name])


class Record:
    """One record as it is stored: values by field name, elements that follow by array name."""

    def __init__(self, id, rank, values, arrays=None):
        self.id = id
        self.rank = rank
        self.values = values
        self.arrays = arrays or {}


def pack_fields(fields, version, order, record):
    parts = [struct.pack(order + "Qq", record.id, record.rank)]
    parts += [f.pack(order, record.values[f.name]) for f in fields if f.in_version(version)]
    return b"".join(parts)


def pack_record(module, version, order, record):
    fixed = pack_fields(module.fields, version, order, record)
    arrays = record.arrays
    parts = [fixed]
    if module.name == "LUSTRE":
        if version > 1:
            for numbers, pool in arrays["component"]:
                parts.append(struct.pack(order + "7q16s", *numbers, pool))
        parts.append(pack_words(order, "q", arrays["ost_id"]))
    elif module.name in SEGMENT_BYTES:
        wide = SEGMENT_BYTES[module.name][version] == 40
        for kind in ("write", "read"):
            for segment in arrays[kind]:
                parts.append(struct.pack(order + ("qqddQ" if wide else "qqdd"), *segment[: 5 if wide else 4]))
    elif module.name == "HEATMAP":
        parts += [pack_words(order, "q", arrays["write_bin"]), pack_words(order, "q", arrays["read_bin"])]
    elif module.name == "MDHIM":
        parts.append(pack_words(order, "q", arrays["server"]))
    elif module.name == "PROCESS":
        parts.append(arrays["command"].ljust(8 * record.values["PROCESS_COMMAND_WORDS"], b"\0"))
    elif module.name == "CALLS":
        parts += [pack_words(order, "Q", arrays["file"]), arrays["call"]]
    elif module.name == "PHASE":
        parts.append(pack_words(order, "q", arrays["span"]))
    elif module.name == "SITES":
        parts.append(pack_words(order, "q", arrays["row"]))
    return b"".join(parts)


def pack_words(order, letter, numbers):
    return struct.pack("%s%d%s" % (order, len(numbers), letter), *numbers)


class Region:
    """The data of one module in a log."""

    def __init__(self, module, version, records, header=None):
        self.module = module
        self.version = version
        self.records = records
        self.header = header
        self.tail = b""  # bytes of a record that was cut off

    def pieces(self, order, version=None):
        """Content, one piece of bytes per record."""
        if self.header:
            yield pack_fields(self.module.header_fields, 1, order, self.header)
        for record in self.records:
            yield pack_record(self.module, version or self.version, order, record)
        if self.tail:
            yield self.tail


class Job:
    def __init__(self, **values):
        self.uid = 1000
        self.start, self.start_nsec = 1700000000, 0
        self.end, self.end_nsec = 1700000100, 0
        self.nprocs = 8
        self.jobid = 4242
        self.metadata = b"lib_ver=3.5.0\n"
        self.exe = b"/opt/bin/app --steps 10"
        self.mounts = []  # (type, mount point) in the order of the file
        self.__dict__.update(values)

    def text(self):
        return self.exe + b"".join(b"\n%s\t%s" % mount for mount in self.mounts) + b"\0"

    def pack(self, fmt, order):
        if fmt.small:
            numbers = (self.uid, self.start, self.end, self.nprocs, self.jobid)
        else:
            numbers = (self.uid, self.start, self.start_nsec, self.end, self.end_nsec, self.nprocs, self.jobid)
        fixed = pack_words(order, "q", numbers) + self.metadata.ljust(1024, b"\0")
        assert len(fixed) == fmt.job_bytes and len(self.metadata) < 1024 and len(self.text()) <= fmt.text_bytes
        return fixed + self.text()


class Log:
    """What goes into a log and how it is to be stored."""

    def __init__(self, name, format="3.41", order=LITTLE, compression="zlib"):
        self.name = name
        self.format = FORMATS[format]
        self.order = order
        self.compression = compression
        self.job = Job()
        self.names = []  # (id, bytes), in the order of the file, with repetitions
        self.regions = {}  # module name -> Region
        self.unknown = {}  # slot -> (version, bytes) of modules that no reader knows
        self.registered = {}  # module name -> version, of modules that have no data
        self.partial = set()  # module names
        self.streams = 1  # per region; more than there are records: one per record
        self.ragged = False  # streams end inside records
        self.gap = 0  # bytes of waste between the regions after the names
        self.memory_image = None  # (bytes for names, bytes per module): left by a process that died
        self.descending = False  # modules stand in the file from the last to the first
        self.names_mapped = True  # False: the header does not say where the (no) names are
        self.plain = True  # values are such that a real job might have written them
        self.complaint = False  # a reader may say that something is wrong
        # Modules of our own and thread ids: in the header and the segments, as we once wrote them, or in the annex.
        self.annex = False
        self.annex_runs = 2**63  # longest run of segments of one thread
        self.annex_unknown = []  # sections that no reader knows: (number, version, flags, bytes)
        # set by build_log()
        self.job_stored = self.names_stored = 0
        self.stored = {}  # module id -> stored bytes
        self.ends = {}  # module id -> where its region ends in the file

    def stored_version(self, name):
        """Of the records as they stand in the file: thread ids in the annex are no part of them."""
        version = self.regions[name].version if name in self.regions else self.registered[name]
        wide = SEGMENT_BYTES.get(name, {}).get(version) == 40
        return version - 1 if self.annex and wide and name in annex.THREADS else version

    def in_annex(self, name):
        return self.annex and name in OWN

    def left_out(self):
        """Records that no reader shows: version 1 of POSIX, streams and descriptors mixed."""
        region = self.regions.get("POSIX")
        if not region or region.version != 1:
            return 0
        return sum(record.values["FOPENS"] > 0 for record in region.records)


def squeeze(compression, data):
    return {"zlib": zlib.compress, "bzip2": bz2.compress, "none": bytes}[compression](data)


def compress(log, pieces):
    pieces = [p for p in pieces if p]
    if log.compression == "none" or not pieces:
        return b"".join(pieces)
    if log.ragged:
        flat = b"".join(pieces)
        cut = len(flat) // log.streams + 1
        pieces = [flat[at : at + cut] for at in range(0, len(flat), cut)]
    else:
        count = min(log.streams, len(pieces))
        pieces = [b"".join(pieces[i * len(pieces) // count : (i + 1) * len(pieces) // count]) for i in range(count)]
    return b"".join(squeeze(log.compression, p) for p in pieces)


def pack_names(log):
    for id, name in log.names:
        if log.format.names_have_length:
            yield struct.pack(log.order + "QI", id, len(name)) + name
        else:
            yield struct.pack(log.order + "Q", id) + name + b"\0"


def build_annex(log, body):
    """The body with an annex behind it."""
    sections = []
    for name in OWN:
        flags = annex.INCOMPLETE if name in log.partial else 0
        if name in log.regions or name in log.registered:
            pieces = log.regions[name].pieces(log.order) if name in log.regions else []
            version = log.stored_version(name)
            sections.append(annex.Section(MODULE_ID[name], version, flags, compress(log, pieces)))
    for name, number in annex.THREADS.items():
        if name in log.regions and log.stored_version(name) != log.regions[name].version:
            pieces = annex.pack_threads(log.order, log.regions[name].records, log.annex_runs)
            sections.append(annex.Section(number, 1, 0, compress(log, pieces)))
    for number, version, flags, data in log.annex_unknown:
        sections.append(annex.Section(number, version, flags, compress(log, [data])))
    data = annex.append(body, log.order, sections)
    for section in sections:
        log.stored[section.id], log.ends[section.id] = len(section.stored), section.offset + len(section.stored)
    for number in [*annex.THREADS.values(), *(number for number, *_ in log.annex_unknown)]:
        log.stored.pop(number, None)  # no module that a reader lists
    return data


def build_log(log):
    """The bytes of the file."""
    fmt, order = log.format, log.order
    body = bytearray(fmt.header_bytes)
    maps = [(0, 0)] * fmt.slots
    versions = [0] * fmt.slots
    waste = b"\xa5" * log.gap

    job = log.job.pack(fmt, order)
    if log.memory_image:
        assert log.compression == "none"
        job = job.ljust(4096, b"\0")
    body += squeeze(log.compression, job)  # always a single stream

    names = compress(log, pack_names(log))
    name_map = (len(body), len(names))
    log.job_stored = len(body) - fmt.header_bytes
    log.names_stored = len(names)
    if not log.names_mapped:
        assert not names and not log.gap and not log.descending
        name_map = (0, 0)
    body += names.ljust(log.memory_image[0], b"\0") if log.memory_image else names

    content = []
    for name, region in log.regions.items():
        version = log.stored_version(name)
        if not log.in_annex(name):
            content.append((fmt.slot[name], version, compress(log, region.pieces(order, version)), MODULE_ID[name]))
    for name in log.registered:
        if not log.in_annex(name):
            content.append((fmt.slot[name], log.stored_version(name), b"", MODULE_ID[name]))
    for slot, (version, data) in log.unknown.items():
        content.append((slot, version, compress(log, [data]), slot))
    log.stored, log.ends = {}, {}
    for slot, version, data, id in sorted(content, reverse=log.descending):
        body += waste
        maps[slot], versions[slot] = (len(body), len(data)), version
        log.stored[id], log.ends[id] = len(data), len(body) + len(data)
        body += data.ljust(log.memory_image[1], b"\0") if log.memory_image else data
    if log.memory_image:
        body += bytes(-len(body) % 4096)

    if log.annex:
        body = bytearray(build_annex(log, body))

    flags = sum(1 << fmt.slot[name] for name in log.partial if not log.in_annex(name))
    head = struct.pack(order + "8sqB", fmt.version.encode(), MAGIC, COMPRESSIONS.index(log.compression))
    head += struct.pack(order + ("3xI" if fmt.small else "7xQ"), flags)
    head += pack_words(order, "Q", name_map) + b"".join(pack_words(order, "Q", m) for m in maps)
    head += pack_words(order, "I", versions)
    assert len(head) == fmt.header_bytes
    body[: len(head)] = head
    return bytes(body)

