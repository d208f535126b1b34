#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""remedies.py BUILD CASE…: what reports tell to do can be done: a log knows how its job was started, by `iorama run` or under a launcher
with the library preloaded, and the line that is to prove a finding is run as it is told."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]
import cases  # noqa: E402
from cases import FAMILIES, Built, Failed, environment, need  # noqa: E402
import pairs  # noqa: E402


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={**environment(), **more})
    if done.returncode != 0:
        raise Failed("%s: %d %s" % (command[:6], done.returncode, (done.stdout + done.stderr)[-1500:]))
    return done.stdout


def same(what, have, want):
    if have != want:
        raise Failed("%s: %r, not %r" % (what, have, want))


def started(built, log):
    """How the log says that its job was started."""
    said = re.findall(r"iorama_command = (.*)", run([built.iorama, "show", log], "/"))
    return said[0].strip() if said else None


def report(built, log, profile):
    return json.loads(run([built.iorama, "report", "-q", "--json", "--profile", profile, log], "/"))


def prove(built, document, folder, word, launcher):
    """The line with this word, from the snippets of the report, done as it stands."""
    lines = [line for f in document["findings"] for s in f.get("snippets", ()) for line in s["text"].split("\n") if "emulate try" in line and word in line]
    if not lines:
        raise Failed("no line to try %s: %s" % (word, [f["rule"] for f in document["findings"]]))
    if launcher and not lines[0].startswith(launcher):
        raise Failed("another launcher than %s: %s" % (launcher, lines[0]))
    path = os.path.dirname(built.iorama) + ":" + os.environ["PATH"]
    said = run(["sh", "-c", lines[0] + " -q"], folder, PATH=path)
    if "verdict" not in said:
        raise Failed("%s: %s" % (lines[0], said))


def eager(folder):
    """Everything that costs anything is told, however short the run."""
    path = os.path.join(folder, "limits.ini")
    with open(path, "w") as file:
        file.write("[limits]\ncost_floor = 0\ncost_warn = 0\nio_negligible = 0\n")
    return path


def parallel(built, family, observed, folder):
    need("mpicc." + family, "mpirun." + family)
    place, pair = pairs.Place(built.build), next(p for p in pairs.MPI if p.name == "small_write")
    command = place.command(family, pair, "bad", 1100)
    log, bare = os.path.join(folder, "run.darshan"), os.path.join(folder, "bare.darshan")
    run([built.iorama, "run", "-q", "-o", log, "--", *command], observed)
    same("by iorama run", started(built, log), " ".join(command))
    run(command, observed, LD_PRELOAD=built.library, IORAMA_LOG=bare)
    same("with the library preloaded", started(built, bare), " ".join(command))
    launcher = " ".join(command[: command.index("2") + 1])
    prove(built, report(built, log, eager(folder)), folder, "mpiio_type=collective", launcher)


def alone(built, observed, folder):
    place, pair = pairs.Place(built.build), next(p for p in pairs.C if p.name == "small_write")
    log = os.path.join(folder, "run.darshan")
    run([built.iorama, "run", "-q", "-o", log, "--", *place.command("c", pair, "bad", 1500)], observed)
    same("no launcher", started(built, log), None)
    prove(built, report(built, log, eager(folder)), folder, "transfer_size", None)


def step(built, observed, folder):
    """A rank that srun has started sees no launcher above it; what Slurm tells is enough."""
    need("mpicc.mpich")
    place, pair = pairs.Place(built.build), next(p for p in pairs.MPI if p.name == "small_write")
    command = place.command("mpich", pair, "bad", 100)
    command = command[command.index("2") + 1 :]
    log = os.path.join(folder, "step.darshan")
    run(command, observed, LD_PRELOAD=built.library, IORAMA_LOG=log, SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS="1", SLURM_STEP_NUM_NODES="1")
    same("of a step", started(built, log), "srun -N 1 -n 1 " + " ".join(command))


CASES = {**{family: lambda *a, family=family: parallel(a[0], family, *a[1:]) for family in FAMILIES}, "alone": alone, "step": step}


def perform(build, name):
    with cases.folders(build, "remedies") as (observed, folder):
        CASES[name](Built(build), observed, folder)
    return []


if __name__ == "__main__":
    cases.main(CASES, perform)
