# SPDX-License-Identifier: BSD-3-Clause
"""Seeded random content. Plain values could come from a real job; odd ones are chosen so that a
wrong byte order, a cut to 32 bits, a lost sign or a lost digit shows."""
import random

import calls
from layout import Record, Region

ODD_INTEGERS = [
    0, 1, -1, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, -(2**31), -(2**31) - 1,
    2**53 + 1, 0x0102030405060708, -0x0102030405060708, 10**18, -(10**18), 2**63 - 1, -(2**63),
]  # fmt: skip
ODD_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, 0.1 + 0.2, 1e-7, 5e-7, 0.0000015, 2.5e-6, 0.9999995, 0.99999949999, 999999.9999995,
    1e9 + 1 / 3, 1700000000.123456, 2.0**53, 123456789012345.678, 1e15 + 0.3, 1e16, 1e17 + 2, 2.0**63, 2.0**64,
    1e22, 1e23, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, -1e-9, -0.0000005, -1234567.0000005, 1 / 1024,
    2**-20, 3 * 2**-21, 2**-7 + 2**-30, 4503599627370496.5, 0.5e-6, 0.4999999e-6, 0.30000000000000004,
]  # fmt: skip
AUTOPERF = int.from_bytes(b"AUTOPERF", "big")
APMPI = int.from_bytes(b"APMPI", "big")

FILE_NAMES = [
    b"/scratch/run/out.%04d.dat",
    b"/home/ann/input file.nc",
    b"/homework/notes",
    b"/lus/theta/checkpoint-%s-%n",
    b"/tmp/a",
    b"/tmp/donn\xc3\xa9es/\xe2\x82\xac.h5",
    b"relative/name",
    b"<STDIN>",
    b"<STDOUT>",
    b"",
    b"/",
    b"/scratch one/more",
    b"/nowhere/" + b"long/" * 400 + b"end",
    b"/home/bob/x:/y",
    b"heatmap:POSIX",
    b"heatmap:STDIO",
]
MOUNT_SETS = [
    [],
    [(b"ext4", b"/")],
    [
        (b"nfs", b"/home"), (b"lustre", b"/lus"), (b"tmpfs", b"/tmp"), (b"overlay", b"/tmp"),
        (b"gpfs", b"/scratch one"), (b"xfs", b"/scratch/run"), (b"ext4", b"/boot"),
    ],
    [(b"rootfs", b"/"), (b"nfs4", b"/home/ann"), (b"autofs", b"/home"), (b"lustre", b"/lus/theta"), (b"ext4", b"/")],
]  # fmt: skip


class Maker:
    def __init__(self, tables, seed):
        self.tables = tables
        self.random = random.Random(seed)
        self.nprocs = 8
        self.odd = False
        self.files = []  # ids that records are about

    # ---- numbers

    def id(self):
        bits = self.random.getrandbits(64)
        return self.random.choice([bits, bits | 1 << 63, 0x0123456789ABCDEF + bits % 99])

    def odd_integer(self):
        if self.random.random() < 0.5:
            return self.random.choice(ODD_INTEGERS)
        return self.random.getrandbits(64) - 2**63

    def odd_float(self):
        if self.random.random() < 0.7:
            return self.random.choice(ODD_FLOATS)
        return self.random.uniform(-1, 1) * 10.0 ** self.random.randrange(-9, 19)

    def count(self):
        return self.random.choice([0, 0, 1, 2, 7, 300, 70000, self.random.randrange(10**6)])

    def seconds(self):
        return self.random.choice([0.0, 1e-3, 10, 5000]) * self.random.random()

    def value(self, field):
        if field.type in ("text", "uuid"):
            return self.text(field)
        if field.type == "u32":
            return self.random.randrange(2)
        if field.type == "u64":
            return self.random.getrandbits(64) if self.odd else self.random.choice([0, self.id()])
        if field.type == "f64":
            return self.odd_float() if self.odd else self.seconds()
        return self.odd_integer() if self.odd else self.plain_integer(field.name)

    def plain_integer(self, name):
        if name.endswith(("FASTEST_RANK", "SLOWEST_RANK")):
            return self.random.randrange(self.nprocs)
        if name.endswith(("MMAPS", "FLUSHES", "FILE_ALIGNMENT")):
            return self.random.choice([-1, self.count()])
        if "BYTE" in name or name.endswith(("_ACCESS", "_STRIDE", "SIZE")):
            return self.random.choice([0, 4096, 1048576, self.random.randrange(2**44)])
        return self.count()

    def text(self, field):
        room = 8 * field.words
        if field.type == "uuid":
            return bytes(room) if self.random.random() < 0.2 else bytes(self.random.getrandbits(8) for _ in range(room))
        length = self.random.choice([0, 1, 5, room - 1, room])
        return (b"nid%05d.cluster.example." % self.random.randrange(10**5) * 8)[:length]

    def rank(self):
        if self.odd and self.random.random() < 0.2:
            return self.random.choice([2**31 + 1, 2**40 + 3, 65536, 256])
        return self.random.randrange(self.nprocs)

    # ---- files and names

    def choose_files(self, count):
        self.files = [self.id() for _ in range(count)]

    def names(self):
        """Names of most files, some of them twice, empty or for a file that no record is about."""
        names = []
        for id in self.files:
            if self.random.random() < 0.1:
                continue
            name = self.random.choice(FILE_NAMES)
            if b"%04d" in name:
                name = name.replace(b"%04d", b"%04d" % self.random.randrange(10**4))
            if self.random.random() < 0.15:
                names.append((id, b""))
            names.append((id, name))
            if self.random.random() < 0.15:
                names.append((id, self.random.choice([name, b"/tmp/second name", b""])))
        names.append((self.id(), b"/tmp/never used"))
        return names

    def file_and_rank(self, shareable=True):
        id = self.random.choice(self.files)
        if shareable and self.random.random() < 0.3:
            return id, -1
        return id, self.rank()

    # ---- records

    def region(self, name, version=None, count=None):
        module = self.tables[name]
        version = version or module.newest
        make = {
            "LUSTRE": self.lustre,
            "DXT_POSIX": self.trace,
            "DXT_MPIIO": self.trace,
            "DXT_STDIO": self.trace,
            "HEATMAP": self.heatmap,
            "MDHIM": self.mdhim,
            "PROCESS": self.process,
            "CALLS": self.calls,
            "PHASE": self.phase,
            "SITES": self.sites,
        }.get(name, self.fixed)
        if count is None:
            count = self.random.randrange(1, 6) if name in ("APMPI", "APXC") else self.random.randrange(3, 9)
        header = None
        if name == "APMPI":
            header = self.header(module, MAGIC=APMPI)
        elif name == "APXC":
            both = lambda top: self.random.randrange(top + 1) | self.random.choice([0, 1 << 31])
            header = self.header(module, MAGIC=AUTOPERF, MEMORY_MODE=both(4), CLUSTER_MODE=both(5))
        return Region(module, version, [make(module, version, i) for i in range(count)], header)

    def header(self, module, **given):
        values = {f.name: self.value(f) for f in module.header_fields}
        for suffix, value in given.items():
            (name,) = [f.name for f in module.header_fields if f.name.split("_", 1)[1] == suffix]
            values[name] = value
        return Record(self.id(), 0, values)

    def fields(self, module, version):
        return {f.name: self.value(f) for f in module.fields if f.in_version(version)}

    def fixed(self, module, version, index):
        values = self.fields(module, version)
        if module.name == "POSIX" and version == 1:
            values["FOPENS"] = self.random.choice([0, 0, 0, 0, -1 if self.odd else 0, 1, 128, 2**33])
        if module.name == "PNETCDF_FILE" and version < 3:  # their sum is shown
            values["INDEP_OPENS"] = self.random.choice([0, 1, 255, 2**32 - 1, 0x00FF00FF00FF00FF])
            values["COLL_OPENS"] = self.random.choice([0, 1, 257, 65535, 0x0001000100010001])
        if module.name == "BG/Q":
            return Record(self.random.choice(self.files + [self.id()]), -1, values)
        return Record(*self.file_and_rank(), values)

    def lustre(self, module, version, index):
        id = self.files[index] if index < len(self.files) else self.id()
        if version == 1:
            values = self.fields(module, version)
            osts = self.osts(self.random.choice([0, 1, 2, 4, 40]))
            values["STRIPE_WIDTH"] = len(osts)
            values["STRIPE_SIZE"] = self.random.choice([65536, 1048576])
            return Record(id, self.random.choice([-1, self.rank()]), values, {"ost_id": osts})
        components, start = [], 0
        for _ in range(self.random.randrange(0, 5)):
            size = self.random.choice([65536, 1048576, 4194304])
            stripes = self.random.choice([0, 1, 2, 3, 5])
            end = start + size * self.random.randrange(1, 9)
            numbers = [
                size,
                stripes,
                self.random.choice([0, 2, 4, 8, 1, -1]),
                self.random.choice([-1, 0, 1, 0x10, 0xFFF, 0x812]),
                start,
                end,
                self.random.randrange(3),
            ]
            components.append((numbers, self.random.choice([b"", b"flash", b"fifteen-letters", b"sixteen--letters"])))
            start = end
        if components and self.random.random() < 0.7:
            components[-1][0][5] = -1
        osts = self.osts(sum(numbers[1] for numbers, _ in components))
        unused = self.random.choice([0, 0, 1, 3])  # slots that were reserved
        components += [([-1, self.random.choice([0, 2]), 7, 7, 7, 7, 7], b"unused") for _ in range(unused)]
        if unused == 3:  # what stands after an unused slot is not shown
            components.append(([65536, 1, 0, 0, 0, -1, 0], b"hidden"))
        osts += self.osts(self.random.choice([0, 0, 2]))
        values = {"LUSTRE_NUM_COMPONENTS": len(components), "LUSTRE_NUM_STRIPES": len(osts)}
        return Record(id, self.random.choice([-1, self.rank()]), values, {"component": components, "ost_id": osts})

    def osts(self, count):
        return [self.random.choice([self.random.randrange(400), 2**33 + 1 if self.odd else 0]) for _ in range(count)]

    def trace(self, module, version, index):
        threads = [7]
        for _ in range(self.random.choice([1, 1, 2, 4])):
            threads.append(self.random.getrandbits(64 if self.odd else 47))
        id, rank = self.random.choice(self.files), self.rank()
        arrays = {}
        for kind in ("write", "read"):
            offset, now, arrays[kind] = 0, self.random.uniform(0, 5), []
            for _ in range(self.random.choice([0, 1, 3, 10])):
                length = self.random.choice([0, 1, 4096, 65536, 1000000, 5 * 2**20, 2**33 + 5])
                took = self.random.uniform(0, 0.1)
                start, end = now, now + took
                if self.odd:
                    offset = self.random.choice([-1, 0, 2**31, 2**40 + 3, 0x01020304050607])
                    start, end = self.random.choice(ODD_FLOATS), self.random.choice(ODD_FLOATS)
                arrays[kind].append((offset, length, start, end, self.random.choice(threads)))
                offset, now = offset + length, end + took
        values = self.fields(module, version)
        values.update(DXT_SHARED_RECORD=0, DXT_WRITE_COUNT=len(arrays["write"]), DXT_READ_COUNT=len(arrays["read"]))
        return Record(id, rank, values, arrays)

    def heatmap(self, module, version, index):
        bins = 20 + (0 if index == 0 else self.random.choice([0, 0, 1, -1, 2, -2]))
        width = 0.1 if index == 0 else self.random.choice([0.1, 0.1, 0.1, 0.2])
        arrays = {}
        for kind in ("write_bin", "read_bin"):
            arrays[kind] = [self.odd_integer() if self.odd else self.plain_integer("BYTES") for _ in range(bins)]
        values = self.fields(module, version)
        values.update(HEATMAP_F_BIN_WIDTH_SECONDS=width, HEATMAP_NBINS=bins)
        return Record(self.random.choice(self.files), self.random.randrange(self.nprocs), values, arrays)

    def process(self, module, version, index):
        command = self.random.choice([b"", b"ls", b"a.out -n 17", b"tar cf - ", b"python3 train.py " * 40])
        values = self.fields(module, version)
        values["PROCESS_COMMAND_WORDS"] = (len(command) + 7) // 8
        return Record(self.random.choice(self.files), self.rank(), values, {"command": command})

    def calls(self, module, version, index):
        """Calls of an application, packed as a log has them."""
        values = self.fields(module, version)
        files = [self.random.choice(self.files) for _ in range(self.random.randrange(1, 4))]
        made = [{"id": k + 1, "parent": 0, "layer": self.random.choice(calls.LAYERS[:6]), "op": self.random.choice(["pwrite", "read"]),
                 "kind": self.random.choice(["read", "write"]), "file": self.random.randrange(len(files)),
                 "off": self.random.randrange(1 << 40), "bytes": self.random.randrange(1 << 20),
                 "start": 1000 * k, "end": 1000 * k + self.random.randrange(900)} for k in range(self.random.randrange(9))]  # fmt: skip
        packed = calls.pack(made, lambda file: file, old=version == 1) if made else b""
        packed += bytes(-len(packed) % 8)
        values.update(CALLS_FILES=len(files), CALLS_WORDS=len(packed) // 8, CALLS_COUNT=len(made))
        if version > 1:
            values.update(CALLS_ROLE=calls.APPLICATION)
        return Record(self.random.choice(self.files), self.rank(), values, {"file": files, "call": packed})

    def phase(self, module, version, index):
        values = self.fields(module, version)
        values["PHASE_SPANS"] = spans = self.random.randrange(9)
        return Record(self.random.choice(self.files), self.rank(), values, {"span": [self.count() for _ in range(2 * spans)]})

    def sites(self, module, version, index):
        values = self.fields(module, version)
        values["SITES_ROWS"] = rows = self.random.randrange(5)
        made = []
        for _ in range(rows):
            file = self.random.choice(self.files)
            made += [file - (1 << 64) if file >> 63 else file, self.random.randrange(2), *(self.count() for _ in range(6))]
        return Record(self.random.choice(self.files), self.rank(), values, {"row": made})

    def mdhim(self, module, version, index):
        values = self.fields(module, version)
        values["MDHIM_SERVERS"] = servers = self.random.choice([0, 1, 2, 17])
        stored = [self.odd_integer() if self.odd else self.count() for _ in range(max(1, servers))]
        return Record(*self.file_and_rank(), values, {"server": stored})
