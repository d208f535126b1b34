#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""handed.py BUILD FAMILY: ranks that were other programs before (sh, nice), and that start programs which cannot be observed. One
log holds what all programs of each rank did, and counts the others, with and without `iorama run`; ranks with
AddressSanitizer run."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import job  # noqa: E402
from job import HERE, WORK  # noqa: E402
from job import expect as must  # noqa: E402

RANKS, TIMEOUT = 3, 90


def call(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **more)


def launcher(family, variables):
    words = ["mpirun." + family, "-n", str(RANKS)]
    if family == "openmpi":
        return words + [w for k, v in variables.items() for w in ("-x", "%s=%s" % (k, v))]
    return words + [w for k, v in variables.items() for w in ("-env", k, v)]


def check(iorama, log, folder, why, before):
    done = call([iorama, "show", "-q", "--json", log])
    must(done.returncode == 0, "show: %s", done.stderr)
    shown = json.loads(done.stdout)["logs"][0]
    written = {}
    for module in shown["modules"]:
        for r in module["records"] if module["module"] == "POSIX" else []:
            if os.path.dirname(r["name"]) == folder:
                name = os.path.basename(r["name"]).split(".")[0]
                written[name] = written.get(name, 0) + r["counters"]["POSIX_BYTES_WRITTEN"]
    must(written.get("rank") == 10 * RANKS, "%s", written)
    must(written.get("before", 0) == before, "%s", written)
    metadata = {m["key"]: m["value"] for m in shown["job"]["metadata"]}
    must(metadata.get("iorama_unseen") == why, "%s", metadata)


def perform(case, _):
    family, folder, quiet, library = case.family, case.folder, case.quiet, case.library
    compiler = "mpicc." + family
    env = job.cases.environment(IORAMA_DIR=quiet + "/segments", ASAN_OPTIONS="detect_leaks=0")
    program, leaf = os.path.join(folder, "handed"), os.path.join(folder, "leaf")
    why = "static:%d:leaf" % (RANKS * (RANKS + 1) // 2)
    for words in (["cc", "-static", os.path.join(WORK, "leaf.c"), "-o", leaf],
                  [compiler, "-D_GNU_SOURCE", os.path.join(HERE, "handed.c"), "-o", program]):  # fmt: skip
        done = call(words)
        must(done.returncode == 0, "%s", done.stderr)
    ranks = ["sh", "-c", 'echo 12345 >before.$$; exec nice "$@"', "sh", program, leaf]
    # bare: the ranks make the log; its name is given, and belongs to all of them
    log = quiet + "/named.darshan"
    done = call([*launcher(family, {"LD_PRELOAD": library, "IORAMA_LOG": log}), *ranks], cwd=folder, env=env)
    must(done.returncode == 0, "bare: %d %s", done.returncode, done.stderr)
    check(case.iorama, log, folder, why, 6 * RANKS)
    left = [f for _, _, names in os.walk(quiet + "/segments") for f in names if f.endswith(".seg")]
    must(not left, "left %s", left)
    # under iorama run
    log = quiet + "/run.darshan"
    done = call([case.iorama, "run", "-q", "-o", log, "--", *launcher(family, {}), *ranks], cwd=folder, env=env)
    must(done.returncode == 0, "run: %d %s", done.returncode, done.stderr)
    check(case.iorama, log, folder, why, 6 * RANKS)
    # ranks with AddressSanitizer: the launcher hands on what they need
    done = call([compiler, "-D_GNU_SOURCE", "-fsanitize=address", os.path.join(HERE, "handed.c"), "-o", program])
    must(done.returncode == 0, "%s", done.stderr)
    log = quiet + "/asan.darshan"
    done = call([case.iorama, "run", "-q", "-o", log, "--", *launcher(family, {}), program, leaf], cwd=folder, env=env)
    must(done.returncode == 0, "asan: %d %s", done.returncode, done.stderr)
    check(case.iorama, log, folder, why, 0)


if __name__ == "__main__":
    job.main(job.of_families(("handed",)), perform, "handed")
