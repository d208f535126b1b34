# SPDX-License-Identifier: BSD-3-Clause
"""The text that a correct reader prints for a log. Text is kept in Latin-1, so that every byte is
one character and none is lost."""
import time

from layout import MASK64, MODULES, MODULE_ID, Record, SEGMENT_BYTES

MEMORY_MODES = "MM_UNKNOWN MM_FLAT MM_EQUAL MM_SPLIT MM_CACHE".split()
CLUSTER_MODES = "CM_UNKNOWN CM_ALL2ALL CM_QUAD CM_HEMI CM_SNC4 CM_SNC2".split()
STRIPE_PATTERNS = {0: "raid0", 2: "mdt", 4: "raid0,overstriped", 8: "foreign"}
STRIPE_FLAGS = "stale prefrd prefwr offline init nosync extension parity compress partial nocompr neg".split()
COMPONENT_NAMES = "STRIPE_SIZE STRIPE_COUNT STRIPE_PATTERN FLAGS EXT_START EXT_END MIRROR_ID".split()
EXT_START, EXT_END = 4, 5
NO_TRACE = ["", "# no DXT module data available for this Darshan log."]


def text(raw):
    return raw.split(b"\0")[0].decode("latin1")


# ---- what old records become


def shown_records(region):
    """The records in the newest layout, those that are left out not among them."""
    upgrade = {"LUSTRE": upgrade_lustre, "PNETCDF_FILE": upgrade_pnetcdf, "DXT_MPIIO": upgrade_trace}
    records = []
    for stored in region.records:
        if region.module.name == "POSIX" and region.version == 1 and stored.values["FOPENS"] > 0:
            continue
        record = Record(stored.id, stored.rank, dict(stored.values), dict(stored.arrays))
        for field in region.module.fields:
            if field.in_version(region.module.newest):
                record.values.setdefault(field.name, {"i64": -1, "f64": -1.0}.get(field.type, 0))
        upgrade.get(region.module.name, lambda *_: None)(region, record)
        records.append(record)
    if region.module.name == "HEATMAP":
        even_out_heatmaps(records)
    return records


def upgrade_pnetcdf(region, record):
    if region.version < 3:
        record.values["PNETCDF_FILE_OPENS"] = record.values["INDEP_OPENS"] + record.values["COLL_OPENS"]


def upgrade_lustre(region, record):
    if region.version == 1:
        width = record.values["STRIPE_WIDTH"]
        record.arrays["component"] = [([record.values["STRIPE_SIZE"], width, -1, -1, 0, -1, -1], b"")]
    used = []
    for numbers, pool in record.arrays["component"]:
        if numbers[0] == -1:
            break
        used.append((numbers, pool))
    record.arrays["component"] = used
    record.values["LUSTRE_NUM_COMPONENTS"] = len(used)
    record.values["LUSTRE_NUM_STRIPES"] = sum(numbers[1] for numbers, _ in used)


def upgrade_trace(region, record):
    if region.version == 1:  # offsets of MPI-IO were not recorded
        for kind in ("write", "read"):
            record.arrays[kind] = [(-1,) + segment[1:] for segment in record.arrays[kind]]


def even_out_heatmaps(records):
    """Some releases wrote one bin too many or too few for some ranks."""
    bins, width = len(records[0].arrays["write_bin"]), records[0].values["HEATMAP_F_BIN_WIDTH_SECONDS"]
    for record in records[1:]:
        if record.values["HEATMAP_F_BIN_WIDTH_SECONDS"] != width:
            continue
        for kind in ("write_bin", "read_bin"):
            have = record.arrays[kind]
            if len(have) == bins + 1:
                record.arrays[kind] = have[:bins]
            elif len(have) == bins - 1:
                record.arrays[kind] = have + [0]


# ---- names and mounts


def known_names(log):
    names = {}
    for id, name in log.names:
        if not names.get(id):
            names[id] = name
    return {id: name.decode("latin1") for id, name in names.items()}


def sorted_mounts(log):
    """(mount point, type), the longest mount point first; only its first word counts."""
    mounts = [(point.decode("latin1").split()[0], kind.decode("latin1")) for kind, point in log.job.mounts]
    return sorted(mounts, key=lambda mount: -len(mount[0]))


class Columns:
    """The last three columns of a line, by record."""

    def __init__(self, log):
        self.names = known_names(log)
        self.mounts = sorted_mounts(log)

    def mount(self, name):
        for point, kind in self.mounts:
            if name is not None and name.startswith(point):
                return point, kind
        return "UNKNOWN", "UNKNOWN"

    def of(self, module, record):
        name = self.names.get(record.id)
        point, kind = self.mount(name)
        if name is None:
            name = "darshan-bgq-record" if module.name == "BG/Q" else "(null)"
        if module.name in ("APMPI", "APXC", "PROCESS", "CALLS"):
            return "", "", ""
        if module.name in ("DFS", "DAOS"):
            pool, container = (record.values["%s_%s_UUID" % (module.name, what)] for what in ("POOL", "CONT"))
            point, kind = uuid(pool) + ":" + uuid(container), "N/A"
            if module.name == "DFS" and not (any(pool) and any(container)):
                point = "UNKNOWN"
            if module.name == "DAOS":
                name = "%d.%d" % tuple(record.values["DAOS_OID_" + half] & MASK64 for half in ("HI", "LO"))
        return name, point, kind


def uuid(raw):
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


# ---- counters


def number(field, value):
    return "%f" % value if field.type == "f64" else "%d" % value


def counters(region, record):
    """(counter, value) of one record, in order."""
    name = region.module.name
    special = {"LUSTRE": lustre_counters, "HEATMAP": heatmap_counters, "APMPI": apmpi_counters}.get(name)
    if special:
        yield from special(region, record)
        return
    for field in region.module.printed():
        yield field.name, number(field, record.values[field.name])
    if name == "MDHIM":
        for k, value in enumerate(record.arrays["server"][: record.values["MDHIM_SERVERS"]]):
            yield "MDHIM_SERVER_%d" % k, str(value)
    elif name == "PROCESS":
        yield "PROCESS_HOSTNAME", text(record.values["PROCESS_HOSTNAME"])
        yield "PROCESS_COMMAND", text(record.arrays["command"])


def lustre_counters(region, record):
    yield "LUSTRE_NUM_COMPONENTS", str(record.values["LUSTRE_NUM_COMPONENTS"])
    yield "LUSTRE_NUM_STRIPES", str(record.values["LUSTRE_NUM_STRIPES"])
    osts = iter(record.arrays["ost_id"])
    for n, (numbers, pool) in enumerate(record.arrays["component"], 1):
        prefix = "LUSTRE_COMP%d_" % n
        for name, value in zip(COMPONENT_NAMES, numbers):
            shown = str(value)
            if name == "STRIPE_PATTERN":
                shown = STRIPE_PATTERNS.get(value, "N/A")
            elif name == "FLAGS" and value == -1:
                shown = "N/A"
            elif name == "FLAGS":
                shown = ",".join(flag for bit, flag in enumerate(STRIPE_FLAGS) if value >> bit & 1) or "0"
            yield prefix + name, shown
        yield prefix + "POOL_NAME", text(pool) or "N/A"
        for k in range(numbers[1]):
            yield prefix + "OST_ID_%d" % k, str(next(osts))


def heatmap_counters(region, record):
    yield "HEATMAP_F_BIN_WIDTH_SECONDS", "%f" % record.values["HEATMAP_F_BIN_WIDTH_SECONDS"]
    for k, value in enumerate(record.arrays["read_bin"]):
        yield "HEATMAP_READ_BIN_%d" % k, str(value)
    for k, value in enumerate(record.arrays["write_bin"]):
        yield "HEATMAP_WRITE_BIN_%d" % k, str(value)


def apmpi_counters(region, record):
    synced = region.header.values["MPI_SYNC_FLAG"]
    yield "MPI_PROCESSOR_NAME", text(record.values["MPI_PROCESSOR_NAME"])
    for field in region.module.printed():
        if synced or not field.name.endswith("_SYNC_TIME"):
            yield field.name, number(field, record.values[field.name])


def header_counters(region):
    values = region.header.values
    if region.module.name == "APMPI":
        yield "MPI_TOTAL_COMM_TIME_VARIANCE", "%f" % values["MPI_TOTAL_COMM_TIME_VARIANCE"]
        if values["MPI_SYNC_FLAG"]:
            yield "MPI_TOTAL_COMM_SYNC_TIME_VARIANCE", "%f" % values["MPI_TOTAL_COMM_SYNC_TIME_VARIANCE"]
        return
    for what in ("GROUPS", "CHASSIS", "BLADES"):
        yield "APXC_" + what, str(values["APXC_" + what])
    for what, modes in (("MEMORY_MODE", MEMORY_MODES), ("CLUSTER_MODE", CLUSTER_MODES)):
        differ, mode = divmod(values["APXC_" + what], 1 << 31)
        yield "APXC_" + what, modes[mode]
        yield "APXC_%s_CONSISTENT" % what, str(int(not differ))
    yield "APXC_APPLICATION_ID", str(values["APXC_APPLICATION_ID"])


def module_lines(log, region, columns):
    def lines(record, pairs):
        head = "%s\t%d\t%d\t" % (region.module.name, record.rank, record.id)
        tail = "\t%s\t%s\t%s" % columns.of(region.module, record)
        return [head + counter + "\t" + value + tail for counter, value in pairs]

    found = lines(region.header, header_counters(region)) if region.header else []
    for record in shown_records(region):
        found += lines(record, counters(region, record))
    return found


def counter_lines(log):
    """All counter lines of `show --base`."""
    columns, found = Columns(log), []
    for name in MODULES:
        if name in log.regions and name not in SEGMENT_BYTES:
            found += module_lines(log, log.regions[name], columns)
    return found


# ---- the trace


def trace_lines(log):
    """What `show --dxt --threads` prints after its preamble; of a warning only the first line."""
    columns, found = Columns(log), []
    layouts = {}
    if "LUSTRE" in log.regions:
        for record in shown_records(log.regions["LUSTRE"]):
            layouts.setdefault(record.id, record)
    for name in SEGMENT_BYTES:
        if name not in log.regions:
            continue
        stars = "# " + "*" * 51
        found += ["", stars, "# %s module data" % name, stars]
        if name in log.partial:
            found += ["", warning(name)]
        region = log.regions[name]
        for record in shown_records(region):
            layout = layouts.get(record.id) if name != "DXT_MPIIO" else None
            found += trace_record(region, record, layout, columns)
    return found or NO_TRACE


def warning(name):
    return "# *WARNING*: The %s module contains incomplete data!" % name


def trace_record(region, record, layout, columns):
    name = region.module.name
    threaded = SEGMENT_BYTES[name][region.version] == 40
    segments = record.arrays["write"] + record.arrays["read"]
    threads = len({segment[4] for segment in segments}) if threaded and segments else 1
    file_name, point, kind = columns.of(region.module, record)
    yield ""
    yield "# DXT, file_id: %d, file_name: %s" % (record.id, file_name)
    yield "# DXT, rank: %d, hostname: %s" % (record.rank, text(record.values["DXT_HOSTNAME"]))
    yield "# DXT, number of threads: %d" % threads
    yield "# DXT, write_count: %d, read_count: %d" % (len(record.arrays["write"]), len(record.arrays["read"]))
    yield "# DXT, mnt_pt: %s, fs_type: %s" % (point, kind)
    if layout:
        yield "# DXT, Lustre stripe components:"
        osts = iter(layout.arrays["ost_id"])
        for n, (numbers, _) in enumerate(layout.arrays["component"], 1):
            end = "EOF" if numbers[EXT_END] == -1 else str(numbers[EXT_END])
            listed = "".join(" %d" % next(osts) for _ in range(numbers[1]))
            yield "#\t[Component %d] stripe_ext: %d - %s, stripe_size: %d, stripe_count: %d, OSTs:%s" % (
                n, numbers[EXT_START], end, numbers[0], numbers[1], listed,
            )  # fmt: skip
    yield "# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)%s   Pthread-ID" % (
        "   [OST]" if layout else ""
    )
    for kind in ("write", "read"):
        for index, (offset, length, start, end, thread) in enumerate(record.arrays[kind]):
            line = "%8s%8d%7s%9d%16d%16d%12.4f%12.4f  " % (
                "X_" + name[4:], record.rank, kind, index, offset, length, start, end,
            )  # fmt: skip
            if layout:
                line += "".join(" [%d]" % ost for ost in osts_touched(layout, offset, length))
                line += "  " if layout.arrays["component"] else ""
            yield line + (" %4d" % thread if threaded else " N/A")


def osts_touched(layout, offset, length):
    osts, end, first = [], offset + length, 0
    at = offset
    for numbers, _ in layout.arrays["component"]:
        size, stripes, start, stop = numbers[0], numbers[1], numbers[EXT_START], numbers[EXT_END]
        if stripes == 0:
            continue
        inside = lambda: start <= at and (stop == -1 or at < stop)
        if inside():
            stripe = (at - start) // size
            while at < end and inside():
                osts.append(layout.arrays["ost_id"][first + stripe % stripes])
                stripe += 1
                at = start + stripe * size
                if len(osts) >= stripes:
                    at = end if stop == -1 else stop
                    break
        first += stripes
    return osts


# ---- the preamble


def preamble_lines(log):
    """From `# darshan log version` to the mounts; build_log() must have been called."""
    job, fmt = log.job, log.format
    if fmt.small:
        run_time = float(job.end - job.start + 1)
    else:
        run_time = (job.end + job.end_nsec / 1e9) - (job.start + job.start_nsec / 1e9)
    exe = job.exe.decode("latin1") if job.mounts else ""
    lines = [
        "# darshan log version: " + fmt.version,
        "# compression method: " + log.compression.upper(),
        "# exe: " + exe,
        "# uid: %d" % job.uid,
        "# jobid: %d" % job.jobid,
        "# start_time: %d" % job.start,
        "# start_time_asci: " + time.asctime(time.gmtime(job.start)),
        "# end_time: %d" % job.end,
        "# end_time_asci: " + time.asctime(time.gmtime(job.end)),
        "# nprocs: %d" % job.nprocs,
        "# run time: %.4f" % run_time,
    ]
    for line in job.metadata.decode("latin1").split("\n"):
        if "=" in line:
            lines.append("# metadata: %s = %s" % tuple(line.split("=", 1)))
    rule = "# -------------------------------------------------------"
    lines += ["", "# log file regions", rule, "# header: 1328 bytes (uncompressed)"]
    lines.append("# job data: %d bytes (compressed)" % log.job_stored)
    lines.append("# record table: %d bytes (compressed)" % log.names_stored)
    versions = {MODULE_ID[name]: log.stored_version(name) for name in [*log.regions, *log.registered]}
    versions.update({slot: version for slot, (version, _) in log.unknown.items()})
    flagged = {MODULE_ID[name] for name in log.partial}
    names = {id: name for name, id in MODULE_ID.items()}
    for id in sorted(set(log.stored) | flagged):
        if log.stored.get(id) or id in flagged:
            title = "%s module" % names[id] if id in names else "<UNKNOWN> module (id %d)" % id
            lines.append("# %s: %d bytes (compressed), ver=%d" % (title, log.stored.get(id, 0), versions.get(id, 0)))
    lines += ["", "# mounted file systems (mount point and fs type)", rule]
    return lines + ["# mount entry:\t%s\t%s" % mount for mount in sorted_mounts(log)]
