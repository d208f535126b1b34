#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""annex_damage.py IORAMA TABLES: an annex that is cut, damaged, foreign or of later times costs a note and nothing else.

Logs of tests/gen are damaged behind their last region in every way that is told in docs/format/log.md; `show`, `convert`
and `merge` must say one line about it, end as for a log that is whole, and lose nothing that is in the regions. Then
sections that nobody knows: who names them, who carries them."""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import difference, run  # noqa: E402
import annex  # noqa: E402
import family  # noqa: E402
import layout  # noqa: E402
import stock  # noqa: E402
import truth  # noqa: E402

OURS = re.compile(r"annex is (left out|damaged|of version)|of its annex")
LOGS = ["annex-all-%s-%s" % (order, kind) for order in ("le", "be") for kind in layout.COMPRESSIONS]
state = {}


# ---- ways to damage it: functions of data and order of bytes


def number(data, order, back):
    return struct.unpack_from(order + "Q", data, len(data) - back)[0]


def at_end(back, letter, value):
    def change(data, order):
        changed = bytearray(data)
        old = struct.unpack_from(order + letter, data, len(data) - back)[0]
        struct.pack_into(order + letter, changed, len(data) - back, value(old) if callable(value) else value)
        return bytes(changed)

    return change


def in_entry(k, offset, letter, value):
    """Another number in entry k of the directory, with a checksum that fits."""

    def change(data, order):
        changed = bytearray(data)
        place = number(data, order, 40) + 32 * k + offset
        old = struct.unpack_from(order + letter, data, place)[0]
        struct.pack_into(order + letter, changed, place, value(old) if callable(value) else value)
        return annex.seal(bytes(changed), order)

    return change


def sealed(change):
    return lambda data, order: annex.seal(change(data, order), order)


def cut(share):
    """The rest of the annex after this share of it is gone."""

    def change(data, order):
        begin = annex.regions_end(data, order)
        return data[: begin + 1 + int(share * (len(data) - begin - 2))]

    return change


def flip_section(k):
    def change(data, order):
        place = number(data, order, 40) + 32 * k
        offset, length = struct.unpack_from(order + "QQ", data, place + 16)
        changed = bytearray(data)
        changed[offset + length // 2] ^= 1
        return bytes(changed)

    return change


def double_footer(data, order):
    return data + data[-annex.FOOTER_BYTES :]


def moved(data, order):
    """The annex of another log that is longer by a byte."""
    begin = annex.regions_end(data, order)
    return data[:begin] + b"\0" + data[begin:]


def many_entries(data, order):
    """More sections than any log has."""
    at = number(data, order, 40)
    entries = b"".join(struct.pack(order + annex.ENTRY, 1000 + k, 1, 0, 0, at, 0) for k in range(5000))
    size = at + len(entries) + annex.FOOTER_BYTES
    front = struct.pack(order + "QQQQI", number(data, order, 48), at, len(entries), size, 1)
    return annex.seal(data[:at] + entries + front + bytes(12), order)


HUGE = [0, 1, 2**31, 2**32, 2**63, 2**64 - 1, 2**64 - 48]
DAMAGE = {
    "cut-most": cut(0), "cut-half": cut(0.5), "cut-footer": lambda data, order: data[:-20],
    "cut-one": lambda data, order: data[:-1], "appended": lambda data, order: data + b"appended by others\n",
    "zeros": lambda data, order: data + bytes(4096), "magic": at_end(8, "Q", 0), "version": at_end(16, "I", 2),
    "version-0": at_end(16, "I", 0), "checksum": at_end(12, "I", lambda old: old ^ 1), "two-footers": double_footer,
    "moved": moved, "many": many_entries, "overlap": in_entry(0, 24, "Q", lambda old: old + 1),
    "twice": in_entry(1, 0, "I", 48), "module-1": in_entry(0, 0, "I", 1), "module-17": in_entry(0, 0, "I", 17),
    "over-regions": in_entry(0, 16, "Q", 1328), "section-0": flip_section(0), "section-1": flip_section(1),
    "section-2": flip_section(2), "threads": flip_section(3), "crc": in_entry(2, 12, "I", lambda old: old ^ 2**31),
    "new-process": in_entry(1, 4, "I", 3), "no-version": in_entry(1, 4, "I", 0), "new-threads": in_entry(3, 4, "I", 9),
}  # fmt: skip
NAMED = len(DAMAGE)
for _value in HUGE:
    for _back, _name in ((48, "begin"), (40, "directory"), (32, "length"), (24, "size")):
        DAMAGE["%s-%x" % (_name, _value)] = at_end(_back, "Q", _value)
    DAMAGE["sealed-begin-%x" % _value] = sealed(at_end(48, "Q", _value))
    DAMAGE["sealed-size-%x" % _value] = sealed(at_end(24, "Q", _value))
    DAMAGE["offset-%x" % _value] = in_entry(1, 16, "Q", _value)
    DAMAGE["stored-%x" % _value] = in_entry(1, 24, "Q", _value if _value else 2**40)


def in_regions(lines):
    return [line for line in lines if layout.MODULE_ID[line.split("\t", 1)[0]] < annex.FIRST]


def one_note(path, result, name):
    """None if the program said one line of the annex and ended well."""
    lines = result.err.strip().split("\n")
    if result.status != 0:
        return "%s: exit status %s: %s" % (name, result.status, result.err)
    if len(lines) != 1 or not lines[0].startswith("iorama: " + path + ": ") or "annex" not in lines[0]:
        return "%s: said %r" % (name, lines)
    return None


def check_damage(job):
    name, way = job
    (log,) = family.family(state["tables"], state["seed"], [name])
    data = layout.build_log(log)
    path = os.path.join(state["folder"], "%s.%s.darshan" % job)
    after, joined = path + ".after", path + ".joined"
    with open(path, "wb") as stream:
        stream.write(DAMAGE[way](data, log.order))
    problems = list(compare(log, path, after, joined))
    for each in (path, after, joined):
        if os.path.exists(each) and not (state["keep"] and any(problems)):
            os.unlink(each)
    return "%s %s" % job, [p for p in problems if p]


def compare(log, path, after, joined):
    iorama, want = state["iorama"], in_regions(truth.counter_lines(log))
    for options in (["--base"], ["--base", "--strict"]):
        base = run(iorama, "show", "--show-incomplete", *options, path)
        yield one_note(path, base, "show " + " ".join(options))
        yield difference(in_regions(common.counter_lines(base.lines())), want)
    quiet = run(iorama, "show", "--quiet", "--base", "--show-incomplete", path)
    yield "even with --quiet: " + quiet.err if quiet.err else None
    dxt = run(iorama, "show", "--dxt", "--show-incomplete", path)
    yield one_note(path, dxt, "show --dxt")
    segments = [line for line in dxt.lines() if line.startswith((" X_POSIX", " X_MPIIO"))]
    traced = [line for line in truth.trace_lines(log) if line.startswith((" X_POSIX", " X_MPIIO"))]
    if [line.split()[:7] for line in segments] != [line.split()[:7] for line in traced]:
        yield "segments of the trace are others"
    converted = run(iorama, "convert", path, "-o", after)
    yield one_note(path, converted, "convert")
    yield from stock.refusals(after) if os.path.exists(after) else ["nothing was converted"]
    again = run(iorama, "show", "--base", "--show-incomplete", after)
    if not re.search("version [0-9]+ of the annex", converted.err):  # such a section is carried along
        yield "of the converted log: " + again.err if again.err else None
    yield difference(in_regions(common.counter_lines(again.lines())), want, "converted")
    if OURS.search(base.err):  # there was an annex for certain
        report = run(iorama, "report", path)
        if report.status != 0 or "could not be read" not in report.out:
            yield "report: status %s: %s" % (report.status, report.out[:400])
    merged = run(iorama, "merge", "--no-reduce", path, "-o", joined)
    yield one_note(path, merged, "merge")
    yield from stock.refusals(joined) if os.path.exists(joined) else ["nothing was merged"]


# ---- sections of later times


def check_unknown(_):
    (log,) = family.family(state["tables"], state["seed"], ["annex-unknown"])
    path = os.path.join(state["folder"], "unknown.darshan")
    with open(path, "wb") as stream:
        stream.write(layout.build_log(log))
    return "unknown sections", [p for p in unknown(path, {s[0] for s in log.annex_unknown}) if p]


def unknown(path, numbers):
    iorama, after = state["iorama"], path + ".after"
    plain = run(iorama, "show", "--quiet", path)
    for options, told in (([], 0), (["--verbose"], 3), (["--verbose", "--quiet"], 0)):
        result = run(iorama, "show", *options, path)
        if result.status != 0 or result.err.count("of its annex is not known; not shown") != told or result.out != plain.out:
            yield "show %s: status %s, %r" % (" ".join(options), result.status, result.err)
    known = stock.sections(path) - numbers
    ways = [
        ([], numbers, 0), (["-z", "bzip2"], numbers, 0), (["-z", "none"], numbers, 0), (["--rank", "0-99"], set(), 3),
        (["--anonymize", "--key", "k", "-z", "none"], set(), 3),
    ]  # fmt: skip
    for options, kept, told in ways:
        result = run(iorama, "convert", "-f", *options, path, "-o", after)
        if result.status != 0 or result.err.count("of its annex is not known; left out") != told:
            yield "convert %s: status %s, %r" % (" ".join(options), result.status, result.err)
        if stock.sections(after) != known | kept:
            yield "convert %s: sections are %s" % (" ".join(options), sorted(stock.sections(after)))
    with open(after, "rb") as stream:
        if b"calls and parents" in stream.read():
            yield "an anonymous log has bytes that nobody knows"
    result = run(iorama, "convert", "-f", "--released", path, "-o", after)
    if stock.sections(after) or "PROCESS is dropped" not in result.err or "thread ids are dropped" not in result.err:
        yield "convert --released: sections are %s, %r" % (sorted(stock.sections(after)), result.err)
    with open(after, "rb") as stream:
        data = stream.read()
    if annex.regions_end(data, "<" if sys.byteorder == "little" else ">") != len(data):
        yield "convert --released: bytes behind the last region"
    result = run(iorama, "merge", "-f", path, "-o", after)
    if result.status != 0 or result.err.count("of its annex is not known; left out") != 3:
        yield "merge: status %s, %r" % (result.status, result.err)
    if stock.sections(after) != known:
        yield "merge: sections are %s" % sorted(stock.sections(after))


# ---- thread ids that are of other records


def check_unfit(_):
    (log,) = family.family(state["tables"], state["seed"], ["annex-dxt_posix-le-none"])
    data = bytearray(layout.build_log(log))
    found = annex.read(bytes(data), log.order)
    section = found[annex.THREADS["DXT_POSIX"]]
    data[section.offset] ^= 1  # id of its first record
    place = number(data, log.order, 40) + 32 * list(found).index(section.id) + 12
    stored = bytes(data[section.offset : section.offset + len(section.stored)])
    struct.pack_into(log.order + "I", data, place, layout.zlib.crc32(stored))
    path = os.path.join(state["folder"], "unfit.darshan")
    with open(path, "wb") as stream:
        stream.write(annex.seal(bytes(data), log.order))
    return "thread ids of other records", [p for p in unfit(log, path) if p]


def unfit(log, path):
    for options in (["--dxt", "--threads"], ["--dxt", "--json"], ["--dxt", "--csv"]):
        result = run(state["iorama"], "show", "--show-incomplete", *options, path)
        yield one_note(path, result, " ".join(options))
        if options[1] == "--threads":
            want = [line.rsplit(None, 1)[0] for line in truth.trace_lines(log) if line.startswith(" X_")]
            lines = [line.rsplit(None, 1) for line in result.lines() if line.startswith(" X_")]
            if [line[0] for line in lines] != want or any(line[1] != "N/A" for line in lines):
                yield "segments are others"
    result = run(state["iorama"], "convert", path, "-o", path + ".after")
    yield one_note(path, result, "convert")
    if stock.sections(path + ".after"):
        yield "convert kept sections %s" % stock.sections(path + ".after")


def check(job):
    return {"unknown": check_unknown, "unfit": check_unfit}.get(job[0], check_damage)(job)


def main():
    options = common.family_options(__doc__, "annex-")
    state.update(vars(options))
    jobs = [("unknown", ""), ("unfit", "")]
    for k, way in enumerate(DAMAGE):
        jobs += [(LOGS[(k + other) % len(LOGS)], way) for other in ((0, 3) if k < NAMED else (0,))]
    return common.run_family(options, check, jobs)


if __name__ == "__main__":
    sys.exit(main())
