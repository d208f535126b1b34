#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""probe.py BUILD CASE | --list: functions inside of a server that nobody else can see are observed while it works.

tests/work/server.c checks every result of its functions itself, and says how many requests it did."""
import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import attach  # noqa: E402
from attach import Target, cases, expect  # noqa: E402
from cases import TIMEOUT, Skip  # noqa: E402

WRITE = "store_write:write:fd=0:off=3:len=2"
ALL = [WRITE, "store_count", "store_mean", "store_depth", "flow_start:begin=0:len=1", "flow_done:end=0"]


def server(case, threads):
    program = case.compile("server", "server.c", "-O2", "-pthread")
    return Target(case, "data", str(threads), program=program).ready()


def need_decoder(case):
    target = server(case, 1)
    done = case.call("attach", "--probe", "store_count", str(target.pid), status=None)
    if "without Zydis" in done.stderr:
        raise Skip("this iorama was built without Zydis")
    case.call("detach", str(target.pid))
    target.quit()


def calls(case, log):
    done = case.call("path", "--calls", "--csv", log)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def counted(case):
    """Every call is counted and is an event, with its bytes; what it calls is part of it."""
    need_decoder(case)
    threads, n = random.randrange(2, 7), random.randrange(200, 900)
    print("# %d threads, %d requests each" % (threads, n))
    target = server(case, threads)
    target.do("do 50")
    done = case.attach(target, options=("--trace", "--probe", ",".join(ALL)))
    expect([p["function"] for p in done[0]["probes"]] == [w.split(":")[0] for w in ALL], "it says %s", done)
    expect(all(p["threads"] == threads + 1 for p in done[0]["probes"]), "it says %s", done)
    requests, size, wrong = target.do("do %d" % n)
    expect((requests, size, wrong) == (threads * n, threads * n * 512, 0), "the server: %d %d %d", requests, size, wrong)
    ended = json.loads(case.call("detach", "--json", str(target.pid)).stdout)[0]
    deep = threads * sum(i % 4 + 1 for i in range(50, 50 + n))
    want = dict.fromkeys([w.split(":")[0] for w in ALL], requests) | {"store_depth": deep}
    have = {p["function"]: p["calls"] for p in ended["probes"]}
    expect(have == want and not any(p["unmatched"] for p in ended["probes"]), "%s, not %s", ended["probes"], want)
    after = target.do("do 100")
    expect(after[2] == 0, "%d results are wrong without probes", after[2])
    rows = calls(case, ended["log"])
    writes = {r["call"]: r for r in rows if r["operation"] == "probe write"}
    disk = [r for r in rows if r["layer"] == "DISK" and r["operation"].startswith("pwrite")]
    expect(len(writes) == len(disk) == requests, "%d, %d of %d writes", len(writes), len(disk), requests)
    for row in disk:
        up = writes.get(row["parent"])
        expect(up and up["layer"] == "SERVER" and (up["offset"], up["bytes"], up["file"]) == (row["offset"], "512", row["file"]),
               "%s is part of %s", row, up)  # fmt: skip
    flows = [r for r in rows if r["file"] == "<flow_done>"]
    expect(len(flows) == requests, "%d of %d flows", len(flows), requests)
    target.quit()


def cycles(case):
    """300 times on and off under load: no result is wrong, and then every call counts."""
    need_decoder(case)
    target = server(case, 2)
    case.attach(target)
    tool = os.path.join(case.build, "tests", "attach_cycles")
    target.do("go")
    done = subprocess.run([tool, str(target.pid), "300", WRITE], capture_output=True, text=True, timeout=TIMEOUT)
    expect(done.returncode == 0, "%s%s", done.stdout, done.stderr)
    requests, _, wrong = target.do("stop")
    print("# %d requests; %s" % (requests, " ".join(done.stdout.split())))
    expect(wrong == 0 and requests > 0, "%d of %d results are wrong", wrong, requests)
    told = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()[:-1]}
    # how long it was there is not known, but it was for a while, and not always
    expect(0 < told["store_write"] < requests, "%s of %d", told, requests)
    # a call that had begun when the jump was taken away was counted after that: now nobody is at work
    done = subprocess.run([tool, str(target.pid), "1", WRITE], capture_output=True, text=True, timeout=TIMEOUT)
    before = int(done.stdout.split()[1])
    expect(0 <= before - told["store_write"] <= 2, "%s after %s", done.stdout, told)
    n = 500
    case.call("detach", str(target.pid))
    case.attach(target, options=("--probe", WRITE))
    requests, _, wrong = target.do("do %d" % n)
    ended = json.loads(case.call("detach", "--json", str(target.pid)).stdout)[0]
    expect(ended["probes"][0]["calls"] - before == requests == 2 * n and wrong == 0, "%s after %d", ended["probes"], before)
    target.quit()


def refused(case):
    """What cannot be is told, one line each; the rest is observed, and the server goes on."""
    need_decoder(case)
    target = server(case, 2)
    names = ["store_short", "store_loop", "store_zero", "no_such", "store_count"]
    done = case.call("attach", "--json", "--probe", ",".join(names), str(target.pid), status=4)
    said = done.stderr.splitlines()
    for name, word in zip(names, ["too short", "own beginning", "cannot be moved", "no function no_such"]):
        expect(sum(name in line and word in line for line in said) == 1, "%s: %s", name, said)
    expect([p["function"] for p in json.loads(done.stdout)[0]["probes"]] == ["store_count"], "it says %s", done.stdout)
    expect(target.do("do 100")[2] == 0, "results are wrong")
    case.call("detach", str(target.pid))
    for word in ("store_count:fd", "store_count:fd=99", ":read", "store_count:what=1"):
        case.call("attach", "--probe", word, str(target.pid), status=2)
    done = case.call("attach", "--probe", "auto", str(target.pid), status=4)
    expect("are known" in done.stderr, "auto: %s", done.stderr)
    case.call("detach", str(target.pid))
    expect(target.do("do 100")[2] == 0, "results are wrong")
    target.quit()


def rebuilt(case):
    """A program that was built anew while it runs: its functions are where the old file had them."""
    need_decoder(case)
    program = case.path("server")
    shutil.copy2(case.compile("server", "server.c", "-O2", "-pthread"), program)
    target = Target(case, "data", "2", program=program).ready()
    # the same functions at other places: whoever believed this file would write into the middle of others
    other = case.compile("server-other", "server.c", "-O0", "-pthread")
    shutil.copy2(other, program + ".new")
    os.rename(program + ".new", program)
    case.attach(target, options=("--probe", WRITE))
    requests, _, wrong = target.do("do 100")
    ended = json.loads(case.call("detach", "--json", str(target.pid)).stdout)[0]
    expect(wrong == 0 and ended["probes"][0]["calls"] == requests, "%s after %d, %d wrong", ended["probes"], requests, wrong)
    target.quit()


CASES = {"probe-counted": counted, "probe-cycles": cycles, "probe-refused": refused, "probe-rebuilt": rebuilt}


def perform(build, name):
    with cases.folders(build, "attach") as (work, _):
        case = attach.Case(build, work)
        try:
            CASES[name](case)
        finally:
            case.close()


if __name__ == "__main__":
    cases.main(CASES, perform)
