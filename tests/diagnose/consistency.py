#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""consistency.py IORAMA: no report contradicts itself. Each number that is shown twice agrees, each superlative is one, no two findings
say the opposite, costs together are no more than their removal could save, and whoever is named lies on the path of the slowest rank.
`contradictions` is asked about every report that tests of this folder make; run alone, it goes through all logs of the shared folder."""
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]

UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
TIME = r"([0-9][0-9.,]*) (µs|ms|s|min|h|d)(?: ([0-9]+) (s|min|h))?(?![A-Za-z/])"

# rules that cannot both be right: praise beside blame, opposite advice
OPPOSITE = [
    ("B07", ("B01", "B08", "A07", "B06")), ("W05", ("W03",)), ("R05", ("R03",)), ("O07", ("O05",)), ("A03", ("A01",)), ("A04", ("A02",)),
    ("A10", ("A08", "A09", "A13")), ("A08", ("A09",)), ("A13", ("A09", "A07")), ("B01", ("B08",)), ("A09", ("A01", "A02")),
]  # fmt: skip
# of these pairs of figures the first is at least as large as the second
AT_LEAST = [
    ("io_time", "mean_io"), ("io_time", "peer_io"), ("io_time", "median_io"), ("io_time", "heavy_time"), ("most_bytes", "mean_bytes"), ("meta_most", "meta_mean"),
    ("phase_busy", "phase_median"), ("host_most", "host_mean"), ("slow_op", "slow_op_mean"), ("mpi_data_time", "fast_time"), ("run_time", "io_time"),
    ("slow_target_time", "other_target_slowest"), ("slow_target_time", "slow_target_mean"), ("most_written", "least_written"),
    ("most_read", "least_read"), ("small_writes", "slow_small"), ("writes", "small_writes"), ("reads", "small_reads"),
    ("mpi_writes", "indep_writes"), ("mpi_reads", "indep_reads"), ("parallel_accesses", "parallel_unaligned"),
]  # fmt: skip


def source(name):
    with open(os.path.join(HERE, "..", "..", "src", "diagnose", name)) as file:
        return file.read()


JOB_FACTS = set(re.findall(r"^JOB\((\w+)", source("facts.def"), re.M))  # of the whole job: one value, wherever they are told
# rules whose seconds come on top of the I/O time
BEYOND = {rule[:3] for rule in source("rules.def").split("\nRULE(") if re.search(r", BEYOND, ", rule)}


def room(document, finding):
    """Seconds that a finding may cost."""
    return document["job"]["run_time"] if finding["rule"] in BEYOND else document["verdict"]["io_time"]


def seconds_of(match):
    value = float(match[0].replace(",", "")) * UNITS[match[1]]
    return value + (float(match[2]) * UNITS[match[3]] if match[2] else 0)


def alike(shown, value):
    """A figure as it is shown: three digits, hundredths of seconds."""
    return abs(shown - value) <= max(0.006 * max(abs(shown), abs(value)), 0.00501)


def told(document):
    return [f for f in document["findings"] if f["level"] in ("HIGH", "WARN") and f["cost_s"] > 0]


def shown_twice(document):
    values = {}
    for f in document["findings"]:
        for v in f["values"]:
            if v["name"] in JOB_FACTS and not alike(values.setdefault(v["name"], v["value"]), v["value"]):
                yield "%s is %g and %g" % (v["name"], values[v["name"]], v["value"])
    verdict, job = document["verdict"], document["job"]
    for name, value in (("io_time", verdict["io_time"]), ("mean_io", verdict["mean_io_time"]), ("run_time", job["run_time"]), ("ranks", job["nprocs"]),
                        ("slow_rank", verdict["io_rank"]), ("median_io", document["ranks"].get("median"))):  # fmt: skip
        if name in values and value is not None and not alike(values[name], value):
            yield "%s is %g in a finding and %g at the top" % (name, values[name], value)
    # one layer that all ranks use is all there is
    used = [layer for layer in document["layers"] if layer.get("median")]
    if len(used) == 1 and document["ranks"].get("mean") and alike(sum(used[0]["mean"].values()), document["ranks"]["mean"]):
        if not alike(sum(used[0]["median"].values()), document["ranks"]["median"]):
            yield "the median rank takes %s in its layer, %g s in all" % (used[0]["median"], document["ranks"]["median"])
    text = verdict["text"]
    said = re.search(r"I/O took %s of %s" % (TIME, TIME), text)
    if said:
        for shown, value in ((said.groups()[:4], verdict["io_time"]), (said.groups()[4:], job["run_time"])):
            if not alike(seconds_of(shown), value) and abs(seconds_of(shown) - value) > 0.5 * UNITS[shown[3] or "ms"]:
                yield "%g s is shown as %s" % (value, text)
    first = re.search(r"about %s lost" % TIME, text)
    if first and told(document):
        if not alike(seconds_of(first.groups()), told(document)[0]["cost_s"]) and told(document)[0]["cost_s"] < 60:
            yield "the first finding costs %g s: %s" % (told(document)[0]["cost_s"], text)
    if bool(first) != bool(told(document)):
        yield "%d findings cost something, and the verdict says: %s" % (len(told(document)), text)
    shares = sum(verdict[k + "_share"] for k in ("read", "write", "meta", "other"))
    if verdict["io_time"] > 0 and abs(shares - 1) > 0.01:
        yield "shares of the run time add up to %g" % shares


def superlatives(document):
    verdict = document["verdict"]
    rows = document["ranks"]["rows"]
    times = {r["rank"]: min(r["read_time"] + r["write_time"] + r["meta_time"], document["job"]["run_time"] or 1e99) for r in rows}
    if rows and document["ranks"]["shown"] == document["ranks"]["total"] and verdict["io_rank"] is not None:
        if times and max(times.values()) > verdict["io_time"] * 1.001 + 1e-6:
            yield "rank %d takes %g s, the slowest %g s" % (max(times, key=times.get), max(times.values()), verdict["io_time"])
        if times.get(verdict["io_rank"], 0) < verdict["io_time"] * 0.999 - 1e-6:
            yield "the slowest rank, %d, takes %g s, not %g s" % (verdict["io_rank"], times.get(verdict["io_rank"], 0), verdict["io_time"])
    for f in document["findings"]:
        values = {v["name"]: v["value"] for v in f["values"]}
        for most, least in AT_LEAST:
            if most in values and least in values and values[most] < values[least] * 0.999 - 1e-9:
                yield "%s: %s is %g, %s %g: %s, %s" % (f["rule"], most, values[most], least, values[least], f["title"], f["evidence"])
        if values.get("bytes_variation") == 0 and values.get("most_bytes", 0) > 1.01 * values.get("mean_bytes", 0):
            yield "%s: bytes do not vary, and yet %s" % (f["rule"], f["title"])
        if values.get("time_variation") == 0 and values.get("io_time", 0) > 1.01 * values.get("mean_io", 0):
            yield "%s: times do not vary, and yet %s" % (f["rule"], f["title"])
        order = [c["value"] for c in f["culprits"]]
        named = [c for c in f["culprits"] if "OTHERS" not in c["name"]]
        if len(named) == len(order) and order != sorted(order, reverse=True):
            yield "%s: culprits are out of order: %s" % (f["rule"], order)
        if f["culprits_total"] < len(f["culprits"]):
            yield "%s: %d culprits of %d" % (f["rule"], len(f["culprits"]), f["culprits_total"])


def crowds(document):
    """No more ranks do something than there are."""
    for f in document["findings"]:
        for text in (f["title"], f["evidence"], f.get("advice")):
            for number, word in re.findall(r"([0-9][0-9,]*) (ranks?|process(?:es)?)\b", text or ""):
                if int(number.replace(",", "")) > max(1, document["job"]["nprocs"]):
                    yield "%s: %s %s of %d: %s" % (f["rule"], number, word, document["job"]["nprocs"], text)


def opposites(document):
    levels = {f["rule"]: f["level"] for f in document["findings"]}
    paid = {f["rule"] for f in told(document)}
    for one, others in OPPOSITE:
        for other in others:
            if one in levels and other in paid and (levels[one] == "OK" or one in paid):
                yield "%s and %s say the opposite" % (one, other)
    if "T02" in levels and paid:
        yield "I/O takes next to nothing, and yet %s" % sorted(paid)
    ids = [f["rule"] for f in document["findings"]]
    if len(ids) != len(set(ids)):
        yield "a finding is told twice: %s" % ids


def on_the_path(document):
    """A file of one rank that a costly finding names first is one of the slowest rank, or of one that is as slow."""
    files = {row["name"]: row for row in document["files"]["rows"]}
    times = {r["rank"]: r["read_time"] + r["write_time"] + r["meta_time"] for r in document["ranks"]["rows"]}
    slowest = document["verdict"]["io_rank"]
    for f in told(document):
        first = f["culprits"][0] if f["culprits"] else None
        row = files.get(first["name"]) if first and first["kind"] == "file" else None
        if row is None or row["ranks"] != 1 or row["rank"] is None or f["rule"] == "T06" or f["rule"] in BEYOND:
            continue
        if row["rank"] != slowest and times.get(row["rank"], 0) < 0.98 * min(times.get(slowest, 0), document["job"]["run_time"]):
            yield "%s names %s of rank %d; the slowest is rank %s" % (f["rule"], row["name"], row["rank"], slowest)


def costs(document):
    io_time, text = document["verdict"]["io_time"], document["verdict"]["text"]
    together = re.search(r"up to %s" % TIME, text)
    paid = [f["cost_s"] for f in told(document)]
    if together:
        seconds = seconds_of(together.groups())
        beyond = sum(f["cost_s"] for f in told(document) if f["rule"] in BEYOND)
        if seconds > 1.01 * min(io_time + beyond, sum(paid)) + 0.5 * (UNITS[together.group(4)] if together.group(4) else 0):
            yield "together %g s, of %g s in I/O, %g s one by one: %s" % (seconds, io_time, sum(paid), text)
    for f in document["findings"]:
        if f["cost_s"] > room(document, f) * 1.0001 + 1e-6:
            yield "%s costs %g s of %g s in I/O" % (f["rule"], f["cost_s"], io_time)
        run = document["job"]["run_time"]
        if run > 0 and not alike(f["cost_share"], f["cost_s"] / run):
            yield "%s costs %g s and %g of %g s" % (f["rule"], f["cost_s"], f["cost_share"], run)


WRITING = r"O_WRONLY|O_RDWR|O_CREAT|MPI_MODE_(WRONLY|RDWR|CREATE)|MODE_(WRONLY|RDWR|CREATE)|H5Fcreate|H5F_ACC_TRUNC|nc_create|ncmpi_create|(open|File)\([^)]*\"[aw]b?\""


def remedies(document):
    """Code that is offered cuts off nothing, opens no input for writing, and needs no MPI where there is none."""
    files = {row["name"]: row for row in document["files"]["rows"]}
    mpi = document["job"]["nprocs"] > 1 or any(row["name"] in ("MPI-IO", "PNETCDF_FILE") for row in document["layers"])
    for f in document["findings"]:
        if not mpi and re.search(r"collective|MPI|mpirun|aggregator", f.get("advice") or ""):
            yield "%s: advice for MPI: %s" % (f["rule"], f["advice"])
        named = [files[c["name"]] for c in f["culprits"] if c["kind"] == "file" and c["name"] in files][:1]
        for snippet in f.get("snippets", ()):
            if re.search(r"O_TRUNC|ACC_TRUNC|NC_CLOBBER|(open|File)\([^)]*\"wb?\"", snippet["text"]):
                yield "%s: %s cuts off what is there" % (f["rule"], snippet["title"])
            if named and named[0]["bytes_written"] == 0 and re.search(WRITING, snippet["text"]):
                yield "%s: %s opens an input for writing" % (f["rule"], snippet["title"])
            if not mpi and re.search(r"MPI_|mpi4py|mpirun", snippet["text"]):
                yield "%s: %s is for MPI" % (f["rule"], snippet["title"])


def contradictions(document):
    for check in (shown_twice, superlatives, crowds, opposites, on_the_path, costs, remedies):
        yield from check(document)


def check_log(item):
    from rules import report

    iorama, path = item
    try:
        wrong = list(contradictions(report(iorama, path)))
    except (RuntimeError, ValueError) as reason:
        wrong = [repr(reason)]
    return os.path.basename(path), wrong


def self_test():
    """Each kind of contradiction is seen."""
    good = {
        "job": {"run_time": 100.0, "nprocs": 2}, "findings": [],
        "verdict": {"text": "I/O took 50.0 s of 100 s (50 %). Small writes: about 20.0 s lost.", "io_time": 50.0, "mean_io_time": 40.0, "io_rank": 1,
                    "read_share": 0.0, "write_share": 0.5, "meta_share": 0.0, "other_share": 0.5},
        "ranks": {"total": 2, "shown": 2, "rows": [{"rank": r, "read_time": 0, "write_time": t, "meta_time": 0} for r, t in ((0, 30.0), (1, 50.0))]},
        "files": {"rows": [{"name": "/a", "ranks": 1, "rank": 0, "bytes_written": 0}, {"name": "/b", "ranks": 1, "rank": 1, "bytes_written": 9}]},
        "layers": [],
    }  # fmt: skip

    def finding(rule, cost, level="HIGH", file="/b", **values):
        return {"rule": rule, "level": level, "cost_s": cost, "cost_share": cost / 100, "title": "", "evidence": "", "culprits_total": 1,
                "culprits": [{"kind": "file", "name": file, "value": cost}], "values": [{"name": k, "value": v} for k, v in values.items()]}  # fmt: skip

    def say(text):
        return {"verdict": {**good["verdict"], "text": text}}

    small = finding("W01", 20.0)
    bad = {
        "a figure that differs": {"findings": [small, finding("B01", 0, "INFO", io_time=49.0)]},
        "two values of one fact": {"findings": [small, finding("B01", 0, "INFO", heavy_time=9.0), finding("B02", 0, "INFO", heavy_time=8.0)]},
        "a most that is less": {"findings": [small, finding("B02", 0, "INFO", most_bytes=3, mean_bytes=4)]},
        "a rank slower than the slowest": {"findings": [small], "verdict": {**good["verdict"], "io_rank": 0}},
        "praise beside blame": {"findings": [small, finding("R03", 5.0), finding("R05", 0, "OK")]},
        "a file that is not on the path": {"findings": [finding("W01", 20.0, file="/a")]},
        "more than there is": {"findings": [small], **say(good["verdict"]["text"] + " With 1 more finding, up to 60.0 s.")},
        "another cost in the verdict": {"findings": [finding("W01", 25.0)]},
        "code that cuts off": {"findings": [{**small, "snippets": [{"title": "", "text": 'fopen("/b", "wb")'}]}]},
        "an input that is written": {"findings": [{**finding("R01", 0, "INFO", file="/a"), "snippets": [{"title": "", "text": 'open("/a", O_RDWR)'}]}]},
        "more ranks than there are": {"findings": [{**small, "title": "1,200 ranks open the same 300 files"}]},
        "MPI without MPI": {"job": {"run_time": 100.0, "nprocs": 1}, "findings": [{**small, "snippets": [{"title": "", "text": "MPI_Bcast"}]}]},
        "advice for MPI without it": {"job": {"run_time": 100.0, "nprocs": 1}, "findings": [{**small, "advice": "Let collective calls do it."}]},
        "no variation, and yet": {"findings": [small, finding("B02", 0, "INFO", most_bytes=30, mean_bytes=4, bytes_variation=0)]},
    }
    wrong = ["a good report: %s" % w for w in contradictions({**good, "findings": [small]})]
    return wrong + ["not seen: " + name for name, change in bad.items() if not list(contradictions({**good, **change}))]


def main():
    from common import Tap, in_parallel, shared_logs

    tap = Tap()
    tap.case("contradictions are seen", self_test())
    for name, wrong in in_parallel(check_log, [(sys.argv[1], path) for path in shared_logs("corpus", "reference")], 2):
        tap.case(name, wrong)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
