#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""view.py IORAMA TABLES [--corpus]: figures of `report --json` are those of the records, added up here: layers, totals of
counters, ranks, files. Of logs that we make it is known what is in them; with --corpus real logs are read, whose records
the original tool has printed."""
import argparse
import collections
import json
import lzma
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
import family  # noqa: E402
import loggen  # noqa: E402
import truth  # noqa: E402

LAYERS = ("H5D", "H5F", "PNETCDF_VAR", "PNETCDF_FILE", "MPI-IO", "DFS", "DAOS", "STDIO", "POSIX", "EXTRA")
STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")
READS = {"POSIX": ("READS",), "STDIO": ("READS",), "H5D": ("READS",), "DFS": ("READS", "READXS"),
         "MPI-IO": ("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
         "PNETCDF_VAR": ("INDEP_READS", "COLL_READS", "NB_READS"), "DAOS": ("OBJ_FETCHES", "ARRAY_READS", "KV_GETS")}
WRITES = {"POSIX": ("WRITES",), "STDIO": ("WRITES",), "H5D": ("WRITES",), "DFS": ("WRITES", "WRITEXS"),
          "MPI-IO": ("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
          "PNETCDF_VAR": ("INDEP_WRITES", "COLL_WRITES", "NB_WRITES"),
          "DAOS": ("OBJ_UPDATES", "ARRAY_WRITES", "KV_PUTS")}
SECONDS = {"read_time": "F_READ_TIME", "write_time": "F_WRITE_TIME"}
state = {}


def records(lines):
    """(module, rank, id) -> [{counter without prefix: value}], and names of ids."""
    found, names = collections.defaultdict(list), {}
    last = None
    for line in lines:
        cell = line.split("\t")
        if line.startswith("#") or len(cell) < 6:
            continue
        module, rank, ident, counter, value, name = cell[:6]
        if module not in LAYERS:
            continue
        prefix = counter.split("_", 1)[0] if not counter.startswith("PNETCDF") else "_".join(counter.split("_")[:2])
        key = (module, rank, ident)
        counter = counter[len(prefix) + 1:]
        if last is None or key != last or counter in found[key][-1]:
            found[key].append({})
        last = key
        found[key][-1][counter] = float(value) if counter.startswith("F_") else int(value)
        names[ident] = name
    return found, names


def usable(seconds):
    return seconds if 0 < seconds < 1e12 else 0


def held(number):
    """Sums do not go beyond the largest number."""
    return min(number, (1 << 63) - 1)


def close(a, b, rows):
    """The text has six digits after the point."""
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-6 * rows


def sums(found, streams, module):
    """What a layer moved and how long it took; streams: ids that are left out."""
    total, owner = collections.Counter(), {}
    for (mod, _, ident), rows in found.items():
        if mod != module:
            continue
        # a dataset is in the file that its first record names
        if owner.setdefault(ident, str(rows[0].get("FILE_REC_ID") or ident)) in streams:
            continue
        for row in rows:
            for figure, counters in (("reads", READS.get(module, ())), ("writes", WRITES.get(module, ())),
                                     ("bytes_read", ("BYTES_READ",)), ("bytes_written", ("BYTES_WRITTEN",))):
                total[figure] = held(total[figure] + sum(max(row.get(c, 0), 0) for c in counters))
            for figure, counter in SECONDS.items():
                total[figure] += usable(row.get(counter, 0))
    return total


def check_layers(report, found, streams):
    used = [module for module in LAYERS if any(key[0] == module for key in found)]
    shown = [layer["name"] for layer in report["layers"]]
    if used != shown:
        return ["layers %s, records of %s" % (shown, used)]
    wrong = []
    for layer in report["layers"]:
        want = sums(found, streams, layer["name"])
        rows = sum(len(r) for key, r in found.items() if key[0] == layer["name"])
        if layer["records"] != rows:
            wrong.append("%s: %d records, not %d" % (layer["name"], rows, layer["records"]))
        for figure in ("reads", "writes", "bytes_read", "bytes_written", "read_time", "write_time"):
            if not close(layer[figure], want[figure], rows):
                wrong.append("%s %s: %s, records say %s" % (layer["name"], figure, layer[figure], want[figure]))
    return wrong


def check_counters(report, found):
    """A total is the sum of what was monitored: -1 is no number."""
    wrong = []
    for module, counters in report["counters"].items():
        rows = [row for key, r in found.items() if key[0] == module for row in r]
        for counter in ("OPENS", "READS", "WRITES", "SEEKS", "STATS", "MMAPS", "BYTES_READ", "BYTES_WRITTEN",
                        "INDEP_WRITES", "COLL_WRITES", "SIZE_READ_0_100", "SIZE_WRITE_1M_4M", "SYNCS"):
            have = [value for name, value in counters.items() if name.endswith("_" + counter)
                    and name[: -len(counter) - 1] in ("POSIX", "STDIO", "MPIIO", "H5F", "H5D", "DFS", "DAOS")]
            values = [row[counter] for row in rows if counter in row]
            if not have or not values:
                continue
            monitored = [value for value in values if value >= 0]
            want = held(sum(monitored)) if monitored else -1
            if int(have[0]) != want:
                wrong.append("%s %s: %s, records say %s" % (module, counter, have[0], want))
    return wrong


def check_ranks(report):
    """Ranks add up to what the application waited for; files too, if all are shown."""
    wrong = []
    for part, rows, whole in (("ranks", report["ranks"]["rows"], report["ranks"]["total"]),
                              ("files", report["files"]["rows"], report["files"]["total"])):
        if len(rows) < whole:
            return wrong
        state[part] = {f: sum(row[f] for row in rows) for f in
                       ("reads", "writes", "bytes_read", "bytes_written", "read_time", "write_time")}
    for figure in state["ranks"]:
        if not close(state["ranks"][figure], state["files"][figure], 1):
            wrong.append("%s: ranks %s, files %s" % (figure, state["ranks"][figure], state["files"][figure]))
    return wrong


def compare(path, lines, log=None):
    """What is wrong with the report of a log that has these lines; log: what it was made from."""
    result = common.run(state["iorama"], "report", "--json", path)
    if result.status != 0:
        return ["report: exit status %s: %s" % (result.status, result.err.strip()[:300])]
    report = json.loads(result.out)
    found, names = records(lines)
    streams = {ident for ident, name in names.items() if name in STREAMS}
    if log is None:
        return check_layers(report, found, streams) + check_counters(report, found) + check_ranks(report)
    # Numbers of a log that we make do not fit each other, and it may trace files that have no counters.
    streams |= {str(ident) for ident, name in log.names if name.decode("latin1") in STREAMS}
    traced = any(name in log.regions for name in common.TRACES)
    return check_counters(report, found) + ([] if traced else check_layers(report, found, streams))


def check_corpus(path):
    with lzma.open(path[: -len(".darshan")] + ".base.txt.xz") as stream:
        lines = stream.read().decode("latin1").split("\n")
    return os.path.basename(path), compare(path, lines)


def check_generated(name):
    (log,) = family.family(state["tables"], 1, [name])
    if log.complaint:
        return name, []
    path = loggen.write_log(log, state["folder"])
    return name, compare(path, truth.counter_lines(log), log)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iorama", metavar="IORAMA")
    parser.add_argument("tables", metavar="TABLES")
    parser.add_argument("--corpus", action="store_true")
    options = parser.parse_args()
    state["iorama"] = options.iorama
    tap = common.Tap()
    if options.corpus:
        logs = common.shared_logs("corpus")
        if not logs:
            print("SKIP: no corpus")
            return common.SKIPPED
        for name, problems in common.in_parallel(check_corpus, logs, processes=2):
            tap.case(name, problems)
        return tap.finish()
    with tempfile.TemporaryDirectory() as folder:
        state.update(tables=loggen.load_tables(options.tables), folder=folder)
        names = [log.name for log in family.family(state["tables"], 1, None)]
        for name, problems in common.in_parallel(check_generated, names, processes=2):
            tap.case(name, problems)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
