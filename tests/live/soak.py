# SPDX-License-Identifier: BSD-3-Clause
"""Everything at once: the short form of tools/soak, and that its parts can tell good from bad."""
import os
import signal
import sys

import harness
import soak_parts as parts
from harness import Failed, expect

SEED = 18


def short(case):
    """Jobs of both MPIs and bare, with every kind of fault, for half a minute."""
    case.run(sys.executable, os.path.join(harness.ROOT, "tools", "soak"), "--build", case.build, "--seconds", "25", "--seed", SEED, timeout=560,
             env=dict(os.environ), capture_output=False)  # fmt: skip


def drawn(_case):
    """A seed draws the same each time, and a run of half a minute has all kinds of faults."""
    expect(parts.plan(25, 5) == parts.plan(25, 5) != parts.plan(25, 6), "plans")
    for seed in range(40):
        made = parts.plan(25, seed, 0.1)
        expect({step.what for step in made} == set(parts.FAULTS), "seed %d: %s", seed, {step.what for step in made})
        expect(all(1 <= step.at < 22.5 for step in made), "seed %d: %s", seed, made)
    one, other = parts.jobs(5, "near", 0, 1000), parts.jobs(5, "near", 0, 1000)
    expect([next(one) for _ in range(50)] == [next(other) for _ in range(50)], "jobs")
    expect({next(one).kind for _ in range(200)} == {"bare", "run", *harness.FAMILIES}, "kinds of jobs")


def slopes(_case):
    """What grows has a slope, also over many lives; what is flat, or only warms up, has none."""
    flat = [[(t, 5000 + t % 3, 9) for t in range(20)], [(t, 9000, 7) for t in range(90)]]
    expect(abs(parts.slope(flat, 1, 5)) < 10 and parts.slope(flat, 2, 5) == 0, "flat: %s", parts.slope(flat, 1, 5))
    grows = [[(t, 1000 * k + 2 * t, 3) for t in range(30)] for k in range(3)]
    expect(abs(parts.slope(grows, 1, 0) - 120) < 1, "2 KiB a second: %s", parts.slope(grows, 1, 0))
    warm = [[(t, min(t, 10) * 1000, 3) for t in range(100)]]
    expect(parts.slope(warm, 1, 10) == 0 and parts.slope(warm, 1, 0) > 100, "warming up")
    expect(parts.slope([[(1, 1, 1)]], 1, 0) is None, "too little")


def disks(case):
    """A disk is full when it is told to be, and free again."""
    if not parts.own_mounts():
        raise harness.Skip("no file systems may be mounted here")
    disk = parts.Disk(case.path("disk"), 4 << 20, True)
    with open(case.path("disk", "a"), "wb") as file:
        file.write(b"x" * 100000)
    disk.fill()
    try:
        with open(case.path("disk", "b"), "wb") as file:
            file.write(b"x" * 50000)
        raise Failed("it is not full")
    except OSError:
        pass
    disk.free()
    with open(case.path("disk", "b"), "wb") as file:
        file.write(b"x" * 50000)
    disk.close()


def revived(case):
    """A daemon that is killed is begun again; one that crashes is told."""
    daemon = parts.Daemon("sleep", lambda: case.start("sleep", "100"))
    daemon.start()
    for number in (signal.SIGKILL, signal.SIGSEGV):
        first = daemon.process
        daemon.measure(daemon.since + 1)
        first.send_signal(number)
        first.wait()
        daemon.look(1.0)
        daemon.look(2.0)
        expect(daemon.process is not first and daemon.alive(), "not begun again")
    expect(len(daemon.crashes) == 1 and "signal 11" in daemon.crashes[0], "told: %s", daemon.crashes)
    expect(len(daemon.lives) == 3 and daemon.lives[0][0][1] > 0, "measured: %s", daemon.lives)


CASES = {"short": short, "drawn": drawn, "slopes": slopes, "disks": disks, "revived": revived}

if __name__ == "__main__":
    harness.main(CASES)
