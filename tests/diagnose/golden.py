#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""golden.py IORAMA: real logs whose trouble is known, where the shared folder has them. The real cause comes first, in words
and with a sensible cost; logs without trouble have nothing HIGH; every log gives a sound report."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
from common import SKIPPED, Tap, in_parallel, shared_logs  # noqa: E402
from rules import culprit_of, finding, report, sound, state  # noqa: E402

GB = 1e9


def first(document, *rules):
    found = document["findings"][0]
    assert found["rule"] in rules, "the first finding is %s: %s" % (found["rule"], found["title"])
    return found


def values_of(found):
    return {v["name"]: v["value"] for v in found["values"]}


def about(value, want, factor=1.05):
    assert want / factor <= value <= want * factor, "%g, not about %g" % (value, want)


def levels(document, *wanted):
    return ["%s %s" % (f["rule"], f["title"]) for f in document["findings"] if f["level"] in wanted]


def vpic(document):
    """192 ranks write 8.49 GB into each of two files; 16.6 GB are read below MPI-IO, though nothing was asked for."""
    found = first(document, "L01")
    assert found["level"] == "HIGH"
    names = {os.path.basename(c["name"]) for c in found["culprits"]}
    assert names == {"electron_1.h5", "proton_1.h5"}, names
    about(found["bytes"], 16.6 * GB)
    assert 5 < found["cost_s"] < 100, found["cost_s"]
    assert "sieving" in found["title"] or "read-modify-write" in found["title"].lower(), found["title"]


def e3sm(document):
    """77.06 GB through MPI-IO, 303.15 GB on disk: 3.93 times; 56 ranks do it; nearly all of the run time."""
    found = first(document, "L02", "L01")
    assert found["level"] == "HIGH" and os.path.basename(culprit_of(found)) == "can_I_out_h0.nc", found["culprits"]
    assert "3.9" in found["title"], found["title"]
    assert found["cost_s"] > 200, found["cost_s"]
    assert document["verdict"]["io_share"] > 0.9, document["verdict"]
    said = " ".join("%s %s" % (f["title"], f["evidence"]) for f in document["findings"])
    assert "56 of 512" in said or document["totals"]["active_ranks"] == 56, "nothing is said of the 56 ranks that write"


def bad_target(document):
    """Target 14 takes up to 778 s for a file, the others at most 16.4 s."""
    found = first(document, "O01")
    assert found["level"] == "HIGH" and culprit_of(found) == "14", found["culprits"]
    assert 700 < found["cost_s"] < 780, found["cost_s"]
    assert levels(document, "HIGH") == levels(document, "HIGH")[:1], levels(document, "HIGH")


def daos(document):
    """Data in DAOS only; 2,214 bytes are printed."""
    assert state(document, "X02") == "found"
    for rule in ("L06", "L07"):
        assert finding(document, rule) is None, finding(document, rule)["title"]
    assert document["totals"]["bytes_written"] > 1 << 20, document["totals"]


def stdio(document):
    """1.84 GB through streams, in a job of 11 hours that waits 6 s for it."""
    assert state(document, "L06") == "found"
    values = values_of(finding(document, "L06"))
    about(document["totals"]["bytes_read"] + document["totals"]["bytes_written"], 1.84 * GB, 1.1)
    assert values, "no values"
    assert not levels(document, "HIGH", "WARN"), levels(document, "HIGH", "WARN")


def vpic_large(document):
    """2 TiB in collective calls of 128 MiB that start inside of blocks: two of nine blocks of such a call are shared with others. The slowest
    rank takes 85 s, the mean 49: that is first. No rank waits for another in a call: it is as long there as on disk."""
    found = first(document, "B01", "B08")
    about(found["cost_s"], 36.4)
    odd = finding(document, "O05")
    assert odd is None or odd["cost_s"] < 15, odd["cost_s"]


def home(document):
    """32 ranks through MPI-IO on NFS: 172 s in writes, of which 1 s is in writes below: the rest is in locks that write to the server."""
    found = first(document, "O08")
    assert 4 < found["cost_s"] < 9.4, found["cost_s"]
    assert "not explained" not in document["verdict"]["text"], document["verdict"]["text"]


def funnel(document):
    """65,536 ranks hand 40 GiB to one that writes them in 264 s; all spend 753 s in it, and nobody is late."""
    found = first(document, "A13")
    assert 264 * 7 / 8 < found["cost_s"] < 753, found["cost_s"]
    assert "late" not in document["verdict"]["text"] and "wait for each other" not in document["verdict"]["text"], document["verdict"]["text"]


GOLDEN = {
    "example": vpic_large,
    "treddy_mpi-io-test_4373053": home,
    "skew-app": funnel,
    "jlbez_IO_test5.Linux_1797024": vpic,
    "e3sm_io_heatmap_only": e3sm,
    "sample-badost": bad_target,
    "snyder_ior-DFS_53379": daos,
    "noposix": stdio,
}
# small tests of MPI-IO that spend some hundredths of a second in I/O; jobs that hardly do any
CONTROLS = ("mpi-io-test", "empty_log", "hdf5_file_opens_only", "treddy_h5d_no_h5f", "laytonjb_test1")


def check(item):
    iorama, path = item
    name = os.path.basename(path)[: -len(".darshan")]
    wrong = []
    try:
        document = report(iorama, path)
        wrong += sound(document)
        if name in GOLDEN:
            GOLDEN[name](document)
        if name.startswith(CONTROLS):
            wrong += levels(document, "HIGH")
    except (AssertionError, RuntimeError, ValueError, KeyError, IndexError) as reason:
        wrong.append(repr(reason))
    return name, wrong


def main():
    logs = shared_logs("corpus", "reference")
    if not logs:
        print("SKIP: there is no shared folder with logs")
        return SKIPPED
    tap = Tap()
    for name, wrong in in_parallel(check, [(sys.argv[1], path) for path in logs], 2):
        tap.case(name, wrong)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
