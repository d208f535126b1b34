#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""roundtrip.py IORAMA TABLES: `convert` must lose nothing that `show` prints.

Each log of tests/gen is rewritten; the new one must be of the newest format, in this machine's
byte order, and print the same counters and segments. The second reader, if there, must agree."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import difference, failed_run, run  # noqa: E402
import family  # noqa: E402
import loggen  # noqa: E402
import truth  # noqa: E402
import annex  # noqa: E402
import stock  # noqa: E402
from layout import COMPRESSIONS, FORMATS, MAGIC, MODULE_ID, OWN, SEGMENT_BYTES  # noqa: E402
from stock import RELEASED  # noqa: E402

state = {}


def check(job):
    name, compression = job
    (log,) = family.family(state["tables"], state["seed"], [name])
    stem = os.path.join(state["folder"], "%s.%s" % (name, compression))
    before, after = stem + ".before.darshan", stem + ".after.darshan"
    with open(before, "wb") as stream:
        stream.write(loggen.build_log(log))
    problems = [p for p in compare(log, compression, before, after) if p]
    if not (state["keep"] and problems):
        for path in (before, after):
            if os.path.exists(path):
                os.unlink(path)
    return "%s %s" % job, problems


def compare(log, compression, before, after):
    choice = [] if compression == "default" else ["--compression", compression]
    converted = run(state["iorama"], "convert", before, "-o", after, *choice)
    yield failed_run(converted, log)
    if not os.path.exists(after):
        yield None if log.complaint and converted.status == 3 else "no log was written"
        return
    yield from check_header(log, compression, after)
    if not log.complaint and log.plain:
        yield from stock.refusals(after)
    base = run(state["iorama"], "show", "--base", "--show-incomplete", after)
    yield failed_run(base)
    yield difference(common.counter_lines(base.lines()), truth.counter_lines(log), "after", "before")
    yield difference(common.warned(base.lines()), [m for m in common.banners(base.lines()) if m in log.partial])
    dxt = run(state["iorama"], "show", "--dxt", "--threads", "--show-incomplete", after)
    yield failed_run(dxt)
    yield difference(common.trace_part(dxt.lines()), truth.trace_lines(log), "after", "before")
    if state["reader"]:
        yield from check_reader(log, before, after)


def check_header(log, compression, path):
    with open(path, "rb") as stream:
        head = stream.read(FORMATS["3.41"].header_bytes)
    if head[:8] != b"3.41\0\0\0\0" or len(head) != FORMATS["3.41"].header_bytes:
        yield "format is %r" % head[:8]
        return
    if int.from_bytes(head[8:16], sys.byteorder) != MAGIC:
        yield "byte order is not native"
    code = COMPRESSIONS.index("zlib" if compression == "default" else compression)
    if head[16] != code:
        yield "compression is %d, not %d" % (head[16], code)
    for name, region in log.regions.items():
        slot = FORMATS["3.41"].slot[name]
        version = int.from_bytes(head[1072 + 4 * slot :][:4], sys.byteorder)
        want = 0 if name in OWN else RELEASED[name]
        if version != want:
            yield "%s records are of version %d, not %d" % (name, version, want)
    yield from check_annex(log, path)


def check_annex(log, path):
    """Our own modules and thread ids are there, of the same records."""
    with open(path, "rb") as stream:
        data = stream.read()
    order = "<" if sys.byteorder == "little" else ">"
    try:
        found = annex.read(data, order) or {}
    except ValueError as why:
        yield "annex: %s" % why
        return
    own = {MODULE_ID[name] for name in [*log.regions, *log.registered] if name in OWN}
    threads = {}
    for name, number in annex.THREADS.items():
        region = log.regions.get(name)
        if region and SEGMENT_BYTES[name][region.version] == 40:
            segments = [(r.id, r.rank, [s[4] for kind in ("write", "read") for s in r.arrays[kind]]) for r in region.records]
            if any(thread for _, _, listed in segments for thread in listed):
                threads[number] = segments
    unknown = {number for number, *_ in log.annex_unknown} if log.order == order else set()
    if set(found) != own | set(threads) | unknown:
        yield "annex: sections are %s" % sorted(found)
        return
    for number, version, flags, content in log.annex_unknown if unknown else ():
        section = found[number]
        if (section.version, section.flags) != (version, flags) or unpacked(data, section) != content:
            yield "annex: section %d is another one" % number
    for number, segments in threads.items():
        if annex.unpack_threads(order, unpacked(data, found[number])) != segments:
            yield "annex: thread ids of section %d are others" % number
    for name in OWN:
        flagged = found[MODULE_ID[name]].flags & 1 if MODULE_ID[name] in found else 0
        if flagged != (name in log.partial and MODULE_ID[name] in found):
            yield "annex: %s is %sincomplete" % (name, "" if flagged else "not ")


def unpacked(data, section):
    return stock.decoded(COMPRESSIONS[data[16]], section.stored)


def check_reader(log, before, after):
    reader = state["reader"]
    old, new = reader.load(before), reader.load(after)
    names = "after", "before"
    ours, want = (common.reader_counter_lines(reader, read) for read in (new, old))
    yield prefixed(difference(ours, want, *names))
    # thread ids are in the annex now, which it does not know
    ours, want = (without_threads(common.reader_trace_lines(reader, read)) for read in (new, old))
    yield prefixed(difference(ours, want, *names))
    yield prefixed(difference(*(job_lines(read, log.format) for read in (new, old)), *names))
    if new.names != old.names:
        yield prefixed("names differ")
    flags = [[m for m, flag in zip(reader.MODS, read.partial) if flag] for read in (new, old)]
    yield prefixed(difference(*flags, *names))


def without_threads(lines):
    kept = (line for line in lines if not line.startswith("# DXT, number of threads: "))
    return [line.rsplit(None, 1)[0] if line.startswith(" X_") else line for line in kept]


def job_lines(read, format):
    lines = ["%s: %r" % (key, getattr(read, key)) for key in "uid ss sn es nprocs jobid meta exe mnt".split()]
    lines.append("run time: %.4f" % read.runtime)  # old formats count whole seconds, the last included
    return lines if format.small else lines + ["en: %d" % read.en]


def prefixed(problem):
    return "reader: " + problem if problem else None


def main():
    options = common.family_options(__doc__, "roundtrip-")
    state.update(vars(options))
    jobs = [(name, "default") for name in options.names]
    for compression in ("bzip2", "none"):
        jobs += [(name, compression) for k, name in enumerate(options.names) if name.startswith("release-") or k % 5 == 0]
    return common.run_family(options, check, jobs)


if __name__ == "__main__":
    sys.exit(main())
