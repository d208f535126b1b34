#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""plugin.py BUILD: a task of a job that is observed by default costs less than 5 ms of processor time more: the plugin itself, the
library that it has loaded, and the log that is written at the end. plugin_cost.c calls the plugin as slurmstepd does; wall time of a
whole Slurm says nothing of some ms (slurm.py prints it)."""
import glob
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import subprocess  # noqa: E402

import cases  # noqa: E402
from cases import ROOT, Skip, best, expect  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, MOST = 100, 5000


def cost(build):
    if not os.path.exists("/usr/include/slurm/spank.h"):
        raise Skip("slurm/spank.h is not installed (libslurm-dev)")
    built = cases.Built(build)
    source = os.path.join(ROOT, "packaging", "slurm", "spank_iorama.c")
    plugin = built.compile_once("spank_iorama.so", [source], ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", None, source])
    source = os.path.join(HERE, "plugin_cost.c")
    program = built.compile_once("plugin_cost", [source], ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-rdynamic", "-o", None, source, "-ldl"])
    with cases.folders(build, "plugin-") as (folder, quiet):
        def measure():
            done = subprocess.run([program, plugin, str(ROUNDS), "default=on", "library=" + built.library, "log_dir=" + folder],
                                  env=cases.environment(IORAMA_DIR=quiet), capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
            expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
            own, bare, observed = map(float, done.stdout.split())
            logs = glob.glob(folder + "/*.darshan")
            expect(len(logs) >= ROUNDS, "%d tasks made %d logs", ROUNDS, len(logs))
            print("a task: %.0f µs bare, %.0f µs with the plugin, %.1f µs of them in it" % (bare, observed, own))
            return observed - bare

        best(3, measure, lambda us: us < MOST, "what a task costs")


def perform(build, _):
    return cost(build)


if __name__ == "__main__":
    cases.main(["cost"], perform)
