# SPDX-License-Identifier: BSD-3-Clause
"""The family of logs that the tests read: every module, version, byte order, format and way of
storing, and the cases that are easy to get wrong."""
import fnmatch
import itertools

from layout import BIG, COMPRESSIONS, FORMATS, Job, LITTLE, Log, Record, Region, RELEASES, natural_formats, pack_record
from records import MOUNT_SETS, Maker

ORDERS = {LITTLE: "le", BIG: "be"}


def family(tables, seed=1, only=None):
    """Logs, made one by one; each depends on the seed and its own name alone."""
    for name, make in plans(tables):
        if only is None or any(fnmatch.fnmatch(name, pattern) for pattern in only):
            yield make(name, Maker(tables, "%s %s" % (seed, name)))


def plans(tables):
    """(name, function of name and maker) of each log."""
    for module in tables.values():
        for version in module.versions():
            turn = itertools.count()
            for compression, order in itertools.product(COMPRESSIONS, (LITTLE, BIG)):
                yield one_module(module, version, order, compression, next(turn))
    for release in RELEASES:
        for order in (LITTLE, BIG):
            yield one_release(release, order)
    for format, order, compression in itertools.product(FORMATS, (LITTLE, BIG), COMPRESSIONS):
        if (format, compression) != ("3.00", "none"):
            yield one_format(format, order, compression)
    for order, compression in itertools.product((LITTLE, BIG), COMPRESSIONS):
        yield one_annex(order, compression)
        for module in ("DXT_POSIX", "DXT_MPIIO", "DXT_STDIO", "PROCESS", "EXTRA", "CALLS"):
            yield one_annex(order, compression, tables[module])
    yield from SPECIAL.items()


def slug(module):
    return module.lower().replace("/", "").replace("-", "")


def one_module(module, version, order, compression, turn):
    formats = natural_formats(module.name, version)
    format = formats[turn % len(formats)]
    if compression == "none" and format == "3.00":
        format = "3.10"
    name = "%s-v%d-%s-%s-%s" % (slug(module.name), version, format, ORDERS[order], compression)

    def make(name, maker):
        log = Log(name, format, order, compression)
        maker.choose_files(4)
        log.regions[module.name] = maker.region(module.name, version)
        maker.odd = True
        log.regions[module.name].records += maker.region(module.name, version).records
        log.plain = False
        dress(log, maker, turn)
        return log

    return name, make


def dress(log, maker, turn):
    """Names, mounts, job and way of storing."""
    log.names = maker.names()
    log.streams = (1, 2, 5, 50)[turn % 4]
    log.ragged = turn % 5 == 3
    log.gap = (0, 24, 4093)[turn % 3] if log.compression == "none" or turn % 2 else 0
    metadata = [
        b"",
        b"lib_ver=3.5.0\n",
        b"lib_ver=3.1.4\nh=romio_no_indep_rw=true;cb_nodes=4\n",
        b"no equals sign\na=b=c\n",
    ]
    log.job = Job(
        uid=maker.random.choice([0, 1000, 2**33 + 7, -1]),
        start=1577836800 + maker.random.randrange(10**8),
        start_nsec=maker.random.randrange(10**9),
        nprocs=maker.nprocs,
        jobid=maker.random.choice([0, 77, 2**40 + 1, -5]),
        metadata=maker.random.choice(metadata),
        mounts=maker.random.choice(MOUNT_SETS),
    )
    log.job.end = log.job.start + maker.random.randrange(10**5)
    log.job.end_nsec = maker.random.randrange(10**9)
    if log.regions and maker.random.random() < 0.3:
        log.partial.add(maker.random.choice(sorted(log.regions)))


def one_release(release, order):
    software, format, versions = release
    name = "release-%s-%s-%s" % (software, format, ORDERS[order])

    def make(name, maker):
        log = Log(name, format, order)
        maker.choose_files(6)
        for module, version in versions.items():
            if maker.random.random() < 0.1:
                log.registered[module] = version
            else:
                log.regions[module] = maker.region(module, version)
        dress(log, maker, maker.random.randrange(60))
        return log

    return name, make


def one_format(format, order, compression):
    name = "all-%s-%s-%s" % (format, ORDERS[order], compression)

    def make(name, maker):
        log = Log(name, format, order, compression)
        maker.choose_files(5)
        for module in FORMATS[format].slot:
            log.regions[module] = maker.region(module, count=3)
        dress(log, maker, maker.random.randrange(60))
        return log

    return name, make


def one_annex(order, compression, module=None):
    """What is ours in the annex, beside all that Darshan has or alone."""
    name = "annex-%s-%s-%s" % (slug(module.name) if module else "all", ORDERS[order], compression)

    def make(name, maker):
        log = Log(name, "3.41", order, compression)
        maker.choose_files(5)
        for each in [module.name] if module else FORMATS["3.41"].slot:
            log.regions[each] = maker.region(each, count=4)
        if module:
            maker.odd = True
            log.plain = False
            log.regions[module.name].records += maker.region(module.name).records
        dress(log, maker, maker.random.randrange(60))
        log.partial = set(maker.random.sample(sorted(log.regions), 1))
        log.annex = True
        log.annex_runs = maker.random.choice([1, 2, 2**63])
        return log

    return name, make


# ---- cases of their own

SPECIAL = {}


def special(name, *arguments):
    def keep(function):
        SPECIAL[name] = lambda name, maker: function(Log(name, *arguments), maker)
        return function

    return keep


@special("empty")
def empty(log, maker):
    log.names_mapped = False
    return log


@special("empty-be", "3.21", BIG)
def empty_be(log, maker):
    log.names_mapped = False
    return log


@special("names-only")
def names_only(log, maker):
    maker.choose_files(3)
    log.names = maker.names()
    return log


@special("no-names-mapped")
def no_names_mapped(log, maker):
    """The job then ends where the first module starts."""
    maker.choose_files(3)
    log.names_mapped = False
    log.regions["STDIO"] = maker.region("STDIO")
    log.regions["POSIX"] = maker.region("POSIX")
    return log


@special("no-names-mapped-old", "3.10", BIG)
def no_names_mapped_old(log, maker):
    """As above; slot 4 of this format is module 5."""
    maker.choose_files(3)
    log.names_mapped = False
    log.regions["PNETCDF_FILE"] = maker.region("PNETCDF_FILE", 2)
    log.regions["LUSTRE"] = maker.region("LUSTRE", 1)
    return log


@special("registered-only")
def registered_only(log, maker):
    log.registered = {"POSIX": 4, "STDIO": 2, "DXT_POSIX": 1}
    return log


@special("partial-without-data", "3.41", BIG)
def partial_without_data(log, maker):
    maker.choose_files(2)
    log.regions["POSIX"] = maker.region("POSIX")
    log.partial = {"STDIO", "DAOS", "NULL"}
    return log


@special("partial-old", "3.10", BIG)
def partial_old(log, maker):
    """Bits of the flag move with the numbers of the modules."""
    maker.choose_files(2)
    for module, version in (("POSIX", 3), ("PNETCDF_FILE", 1), ("STDIO", 1), ("DXT_POSIX", 1)):
        log.regions[module] = maker.region(module, version)
    log.partial = {"PNETCDF_FILE", "STDIO", "DXT_POSIX"}
    return log


@special("partial-middle", "3.21", BIG)
def partial_middle(log, maker):
    maker.choose_files(2)
    for module, version in (("H5D", 2), ("BG/Q", 2), ("HEATMAP", 1), ("DXT_MPIIO", 2)):
        log.regions[module] = maker.region(module, version)
    log.partial = {"H5D", "BG/Q", "HEATMAP", "DXT_MPIIO"}
    return log


@special("unknown-module")
def unknown_module(log, maker):
    maker.choose_files(2)
    log.regions["POSIX"] = maker.region("POSIX")
    log.complaint = True
    log.unknown = {18: (1, b"\1\2\3\4" * 30), 63: (9, b"x" * 7)}
    return log


@special("annex-unknown")
def annex_unknown(log, maker):
    """Sections of later versions; a reader that is not asked says nothing."""
    maker.choose_files(2)
    for module in ("POSIX", "DXT_POSIX", "PROCESS"):
        log.regions[module] = maker.region(module)
    log.names = maker.names()
    log.annex = True
    log.annex_unknown = [(57, 1, 0, b"calls and parents" * 99), (63, 7, 1, b""), (2**32 - 1, 2**32 - 1, 2**31, b"x")]
    return log


@special("annex-registered", "3.41", BIG)
def annex_registered(log, maker):
    """Modules of the annex that have no data, or none but a flag."""
    maker.choose_files(2)
    log.regions["POSIX"] = maker.region("POSIX")
    log.registered = {"EXTRA": 1, "DXT_STDIO": 2, "DXT_POSIX": 1}
    log.partial = {"EXTRA"}
    log.annex = True
    return log


@special("annex-alone")
def annex_alone(log, maker):
    """No names, no module that others know."""
    maker.choose_files(2)
    log.regions["PROCESS"] = maker.region("PROCESS")
    log.annex = True
    return log


@special("descending")
def descending(log, maker):
    """Modules stand in the file in another order than in the header."""
    maker.choose_files(4)
    for module in ("POSIX", "STDIO", "DXT_POSIX", "LUSTRE", "HEATMAP"):
        log.regions[module] = maker.region(module)
    log.names = maker.names()
    log.descending, log.gap, log.streams = True, 16, 3
    return log


@special("memory-image", "3.41", LITTLE, "none")
def memory_image(log, maker):
    """What a process leaves behind that died before it could write its log."""
    maker.choose_files(5)
    maker.nprocs = 1
    for module in ("POSIX", "STDIO", "LUSTRE", "HEATMAP"):
        log.regions[module] = maker.region(module)
        for record in log.regions[module].records:
            record.rank = 0
    log.registered = {"DXT_POSIX": 2}
    log.names = maker.names()
    log.job = Job(end=0, nprocs=1, mounts=MOUNT_SETS[3])
    log.memory_image = (1 << 20, 1 << 18)
    return log


@special("memory-image-be", "3.41", BIG, "none")
def memory_image_be(log, maker):
    return memory_image(log, maker)


@special("above-one-mib", "3.41", BIG, "none")
def above_one_mib(log, maker):
    """Names and a trace of more than 1 MiB each, uncompressed."""
    maker.choose_files(1500)
    log.names = [(id, b"/tmp/%05d/" % k + b"n" * 800) for k, id in enumerate(maker.files)]
    log.regions["STDIO"] = maker.region("STDIO", count=40)
    log.regions["DXT_POSIX"] = maker.region("DXT_POSIX", count=3)
    record = log.regions["DXT_POSIX"].records[1]
    record.arrays["read"] = [(k * 4096, 4096, k / 1000, k / 1000 + 1e-4, 7 + k % 5) for k in range(30000)]
    record.values["DXT_READ_COUNT"] = 30000
    log.job.mounts = MOUNT_SETS[2]
    return log


@special("many-streams")
def many_streams(log, maker):
    maker.choose_files(40)
    log.names = maker.names()
    log.streams = 10**6
    log.regions["POSIX"] = maker.region("POSIX", count=200)
    log.regions["HEATMAP"] = maker.region("HEATMAP", count=64)
    return log


@special("full-job")
def full_job(log, maker):
    """Metadata, command line and mounts fill all the room they have."""
    maker.choose_files(3)
    mounts = [(b"lustre", b"/lus/%03d" % k) for k in range(100)]
    log.job = Job(metadata=b"k=" + b"v" * 1020 + b"\n", mounts=mounts, exe=b"")
    log.job.exe = b"x" * (log.format.text_bytes - len(log.job.text()))
    log.regions["POSIX"] = maker.region("POSIX")
    log.names = maker.names()
    return log


@special("no-numbers", "3.41", BIG)
def no_numbers(log, maker):
    """Doubles that are no numbers."""
    maker.choose_files(2)
    log.plain = False
    region = log.regions["STDIO"] = maker.region("STDIO")
    for record, value in zip(region.records, (float("inf"), float("-inf"), float("nan"))):
        for name in record.values:
            if "_F_" in name:
                record.values[name] = value
    return log


@special("cut-off")
def cut_off(log, maker):
    """The last record of each region is not whole; what is whole is shown."""
    maker.choose_files(3)
    log.complaint = True
    for module in ("POSIX", "H5F"):
        region = log.regions[module] = maker.region(module)
        region.tail = pack_record(region.module, region.version, log.order, region.records[0])[:-9]
    log.names = maker.names()
    return log


@special("lustre-layouts")
def lustre_layouts(log, maker):
    """Segments over the borders of components."""
    kib = 1024
    maker.choose_files(1)
    (file,) = maker.files
    log.names = [(file, b"/lus/f")]
    log.job.mounts = [(b"lustre", b"/lus")]
    components = [
        ([64 * kib, 0, 2, 0x10, 0, 64 * kib, 1], b""),
        ([64 * kib, 2, 0, 0x10, 64 * kib, 512 * kib, 1], b"flash"),
        ([256 * kib, 3, 4, 0x10, 512 * kib, 2048 * kib, 1], b"disk"),
        ([1024 * kib, 4, 0, 0, 2048 * kib, -1, 1], b"disk"),
    ]
    osts = [11, 12, 21, 22, 23, 31, 32, 33, 34]
    values = {"LUSTRE_NUM_COMPONENTS": 4, "LUSTRE_NUM_STRIPES": 9}
    record = Record(file, -1, values, {"component": components, "ost_id": osts})
    log.regions["LUSTRE"] = Region(maker.tables["LUSTRE"], 2, [record])
    edges = [0, 1, 63 * kib, 64 * kib, 65 * kib, 128 * kib, 511 * kib, 512 * kib, 2047 * kib, 2048 * kib, 5000 * kib]
    lengths = [0, 1, kib, 64 * kib, 65 * kib, 200 * kib, 1024 * kib, 9000 * kib]
    segments = [(at, length, 0.5, 0.75, 1) for at in edges for length in lengths]
    values = {"DXT_SHARED_RECORD": 0, "DXT_HOSTNAME": b"h", "DXT_WRITE_COUNT": len(segments), "DXT_READ_COUNT": 0}
    for module, version in (("DXT_POSIX", 1), ("DXT_MPIIO", 2)):
        trace = Record(file, 3, values, {"write": segments, "read": []})
        log.regions[module] = Region(maker.tables[module], version, [trace])
    return log


@special("lustre-wide")
def lustre_wide(log, maker):
    """More stripes than fit any small table."""
    maker.choose_files(1)
    osts = list(range(2000))
    components = [([65536, 2000, 4, 0, 0, -1, 0], b"all")]
    values = {"LUSTRE_NUM_COMPONENTS": 1, "LUSTRE_NUM_STRIPES": 2000}
    record = Record(maker.files[0], -1, values, {"component": components, "ost_id": osts})
    log.regions["LUSTRE"] = Region(maker.tables["LUSTRE"], 2, [record])
    values = {"DXT_SHARED_RECORD": 0, "DXT_HOSTNAME": b"h", "DXT_WRITE_COUNT": 0, "DXT_READ_COUNT": 1}
    trace = Record(maker.files[0], 0, values, {"write": [], "read": [(65536 * 5 + 1, 65536 * 3000, 0.0, 1.0, 9)]})
    log.regions["DXT_POSIX"] = Region(maker.tables["DXT_POSIX"], 2, [trace])
    return log


@special("heatmap-wide")
def heatmap_wide(log, maker):
    """More bins than the original tools can show."""
    maker.choose_files(2)
    region = log.regions["HEATMAP"] = maker.region("HEATMAP", count=2)
    for record in region.records:
        for kind in ("write_bin", "read_bin"):
            record.arrays[kind] = [k * 3 for k in range(6000)]
        record.values["HEATMAP_NBINS"] = 6000
    return log


@special("heatmap-uneven", "3.21", BIG)
def heatmap_uneven(log, maker):
    maker.choose_files(2)
    region = log.regions["HEATMAP"] = maker.region("HEATMAP", count=6)
    for record, bins, width in zip(region.records, (7, 8, 6, 7, 6, 9), (0.1, 0.1, 0.1, 0.1, 0.2, 0.1)):
        record.arrays = {"write_bin": list(range(1, bins + 1)), "read_bin": list(range(101, bins + 101))}
        record.values.update(HEATMAP_NBINS=bins, HEATMAP_F_BIN_WIDTH_SECONDS=width)
    return log


@special("name-rules", "3.00", BIG)
def name_rules(log, maker):
    """An id may have several names: the first that is not empty counts."""
    maker.choose_files(5)
    a, b, c, d, e = maker.files
    log.names = [(a, b"/a"), (b, b""), (a, b"/other"), (b, b"/b"), (b, b""), (c, b""), (c, b""), (e, b"e")]
    log.regions["POSIX"] = maker.region("POSIX", 1, count=5)
    for record, id in zip(log.regions["POSIX"].records, maker.files):
        record.id = id
        record.values["FOPENS"] = 0
    log.job.mounts = [(b"ext4", b"/")]
    return log


@special("all-skipped", "3.00")
def all_skipped(log, maker):
    """Records that mix streams and descriptors are left out; here all of them."""
    maker.choose_files(3)
    log.regions["POSIX"] = maker.region("POSIX", 1)
    for record in log.regions["POSIX"].records:
        record.values["FOPENS"] = 1
    return log
