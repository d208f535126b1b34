#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cr.py BUILD [CASE…]: mode cr. Sets of checkpoints, crashes of every kind, restarts from the newest set that is complete."""
import fcntl
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess

import check
from harness import FAMILIES, LAUNCHERS, LOCAL, PART, Skip, adopt, environment, expect, main

RANKS = (1, 2, 4, 7)
BLOCK, SEGMENTS = 501, 7
SIZE = BLOCK * SEGMENTS
WORDS = ["cr", "--input_dir", "d", "--block_size", BLOCK, "--segment_count", SEGMENTS, "--checkpointing_interval", 0, "--verify"]
STAGED = ["--enable_staging", "--stage_dir", "fast"]


# ---- what a directory holds, told by its files alone


MANIFEST = "iorama checkpoint 1\nset %d\nseed %d\nwriters %d\nfiles %d\nsize %d\nform plain\nend\n"
READ = re.compile(MANIFEST.replace("%d", r"(\d+)"))


def make_set(top, number, writers=1, files=1, size=SIZE, seed=1, manifest=True):
    os.makedirs(top, exist_ok=True)
    for writer in range(writers):
        for file in range(files):
            name = "ckpt.%d.%d.%d" % (number, writer, file)
            with open(os.path.join(top, name), "wb") as out:
                out.write(check.pattern(name, size, seed, number))
    if manifest:
        with open(os.path.join(top, "ckpt.%d.done" % number), "w", encoding="ascii") as out:
            out.write(MANIFEST % (number, seed, writers, files, size))


def complete(top):
    """Numbers of the sets of which all is there, every byte of it."""
    found = []
    for name in os.listdir(top) if os.path.isdir(top) else []:
        m = re.fullmatch(r"ckpt\.(\d+)\.done", name)
        with open(os.path.join(top, name), "rb") as file:
            said = READ.fullmatch(file.read().decode("ascii", "replace")) if m else None
        if said:
            number, seed, writers, files, size = (int(n) for n in said.groups())
            names = ["ckpt.%d.%d.%d" % (number, w, f) for w in range(writers) for f in range(files)]
            if number == int(m[1]) and not any(check.compare(os.path.join(top, n), n, size, seed, number) for n in names):
                found.append(number)
    return sorted(found)


def names_of(numbers, writers, files=1):
    return ["ckpt.%d.done" % n for n in numbers] + [
        "ckpt.%d.%d.%d" % (n, w, f) for n in numbers for w in range(writers) for f in range(files)]  # fmt: skip


def notes(text):
    return json.loads(text)["figures"]


def figures(case, *words, **more):
    return notes(case.emulate(*WORDS, *words, "--json", **more).stdout)


# ---- without crashes


def contents(case, launcher):
    for ranks in RANKS:
        folder = "d%d" % ranks
        words = ["--input_dir", folder, "--num_ck_ranks", 3, "--num_ck_files_per_rank", 2, "--checkpoints", 3, "--ck_error_rate",
                 0, "--keep_sets", 0, "--seed", ranks + 10, "--transfer_size", 200]  # fmt: skip
        found = figures(case, *words, ranks=ranks, launcher=launcher)
        writers = min(3, ranks)
        case.only(*names_of([1, 2, 3], writers, 2), folder=folder)
        expect(complete(case.path(folder)) == [1, 2, 3], "%d ranks: complete are %s", ranks, complete(case.path(folder)))
        expect((found["checkpoints"], found["newest"], found["crashes"]) == (3, 3, 0), "%d ranks: %s", ranks, found)
        expect(found["set_bytes"] == writers * 2 * SIZE, "bytes of a set: %s", found)


def engines(case):
    ways = [(e, LOCAL) for e in ("vector", "mmap")] + [("mpiio", f) for f in FAMILIES]
    for engine, launcher in ways:
        try:
            case.need(launcher)
        except Skip:
            continue
        words = ["--input_dir", engine + launcher, "--engine", engine, "--num_ck_ranks", 2, "--checkpoints", 3, "--seed", 3,
                 "--ck_error_rate", 50]  # fmt: skip
        figures(case, *words, ranks=3, launcher=launcher)
        expect(complete(case.path(engine + launcher)) == [2, 3], "%s: %s", engine, complete(case.path(engine + launcher)))
    case.emulate(*WORDS[:-1], "--input_dir", "n", "--engine", "null", "--checkpoints", 3, "--ck_error_rate", 50, ranks=2)
    case.only(folder="n")


def containers(case):
    """Files with a format of their own, larger than their data."""
    case.need("openmpi")
    words = ["--engine", "hdf5", "--num_ck_ranks", 2, "--seed", 3, "--ck_error_rate", 40]
    done = subprocess.run(case.command(*WORDS, *words, "--checkpoints", 3, ranks=2, launcher="openmpi"), cwd=case.folder,
                          env=environment(), capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    if "built without it" in done.stderr:
        raise Skip("no hdf5 here")
    expect(done.returncode == 0, "%d: %r", done.returncode, done.stderr)
    found = figures(case, *words, "--checkpoints", 1, ranks=2, launcher="openmpi")
    expect(found["started_from"] == 3 and found["newest"] == 4, "%s", found)
    told = case.emulate(*WORDS, "--checkpoints", 1, status=2).stderr
    expect("form hdf5" in told, "read by another engine: %r", told)
    case.only(*names_of([3, 4], 2), folder="d")


def kept(case):
    for keep in (1, 2, 5):
        case.emulate(*WORDS, "--input_dir", "k%d" % keep, "--checkpoints", 4, "--ck_error_rate", 0, "--keep_sets", keep,
                     "--num_ck_ranks", 2, ranks=2)  # fmt: skip
        case.only(*names_of(range(max(1, 5 - keep), 5), 2), folder="k%d" % keep)
    # of another shape and from long ago: they go too, but only after there is something newer
    make_set(case.path("d"), 3, writers=4, files=2)
    make_set(case.path("d"), 9, writers=5)
    adopt(case.path("d"))
    found = figures(case, "--checkpoints", 2, "--ck_error_rate", 0, ranks=2)
    expect(found["started_from"] == 9, "%s", found)
    case.only(*names_of([10, 11], 1), folder="d")


# ---- which set


def torn(top, number, how, dice):
    """A set that looks newest but is not complete."""
    make_set(top, number, writers=2, files=2, manifest=how != "no manifest")
    victim = os.path.join(top, "ckpt.%d.%d.%d" % (number, dice.randrange(2), dice.randrange(2)))
    mark = os.path.join(top, "ckpt.%d.done" % number)
    if how == "missing":
        os.unlink(victim)
    elif how == "short":
        os.truncate(victim, dice.randrange(SIZE))
    elif how == "long":
        os.truncate(victim, SIZE + 1)
    elif how == "half":
        os.rename(victim, victim + ".part")
    elif how == "torn manifest":
        os.truncate(mark, dice.randrange(os.path.getsize(mark) - 4))
    elif how == "wrong manifest":
        with open(mark, "w", encoding="ascii") as out:
            out.write(MANIFEST % (number + 1, 1, 2, 2, SIZE))


HOWS = ("missing", "short", "long", "half", "torn manifest", "wrong manifest", "no manifest")


def newest(case):
    """100 directories with sets 1 ms apart, in any order of time, the one with the highest number torn."""
    dice = random.Random(7)
    for turn in range(100):
        folder = "n%d" % turn
        top = case.path(folder)
        numbers = sorted(dice.sample(range(1, 120), 6))
        for number in dice.sample(numbers, len(numbers)):  # nor do they lie there in order
            if number == numbers[-1]:
                torn(top, number, HOWS[turn % len(HOWS)], dice)
            else:
                make_set(top, number, writers=2, files=2)
        times = list(range(len(numbers)))
        dice.shuffle(times)
        for number, moment in zip(numbers, times):
            for name in os.listdir(top):
                if name.startswith("ckpt.%d." % number):
                    when = (1700000000 * 1000 + moment) * 1000000
                    os.utime(os.path.join(top, name), ns=(when, when))
        adopt(top)
        words = ["--input_dir", folder, "--num_ck_ranks", 2, "--num_ck_files_per_rank", 2, "--checkpoints", 1, "--keep_sets", 0,
                 "--ck_error_rate", 0]  # fmt: skip
        found = figures(case, *words, ranks=2)
        good = numbers[-2]
        expect(found["started_from"] == good and found["newest"] == good + 1, "%d: sets %s, %s: %s", turn, numbers,
               HOWS[turn % len(HOWS)], found)  # fmt: skip
        expect(complete(top) == numbers[:-1] + [good + 1], "%d: left are %s", turn, complete(top))
        case.only(*names_of(complete(top), 2, 2), folder=folder)


def shapes(case):
    """Any number of ranks goes on from what any other number wrote, and nothing complete is lost by it."""
    numbers = []
    for turn, (ranks, writers, files) in enumerate(((4, 4, 1), (2, 2, 3), (7, 3, 1), (1, 1, 2), (3, 1, 1), (5, 5, 2))):
        found = json.loads(case.emulate(*WORDS, "--num_ck_ranks", writers, "--num_ck_files_per_rank", files, "--checkpoints", 1,
                                        "--keep_sets", 0, "--ck_error_rate", 0, "--seed", turn, "--json", ranks=ranks).stdout)  # fmt: skip
        numbers.append(turn + 1)
        expect(complete(case.path("d")) == numbers, "complete are %s", complete(case.path("d")))
        have = [r["bytes_read"] // SIZE for r in found["ranks"]]
        before = (0, 4, 6, 3, 2, 1)[turn]  # files of the set that was there
        if turn > 0 and ranks == 2:
            expect(have == [2, 2], "4 writers, 2 ranks read %s", have)
        if turn in (3, 4):
            expect(all(h == before for h in have), "ranks read %s of %d", have, before)


def wrong(case):
    """A set whose sizes are right but whose contents are not."""
    make_set(case.path("d"), 4, writers=2)
    with open(case.path("d", "ckpt.4.1.0"), "r+b") as file:
        file.seek(1000)
        file.write(b"\0" * 64)
    told = case.emulate(*WORDS, "--checkpoints", 1, ranks=2, status=3).stderr
    expect("d/ckpt.4.1.0" in told and "not what was written" in told, "%r", told)
    make_set(case.path("e"), 4, seed=5)  # another seed is no flaw: the manifest tells it
    figures(case, "--input_dir", "e", "--checkpoints", 1, ranks=2)


# ---- crashes


def pretended(case):
    """50 runs with crashes: all that was asked for is there in the end, and the same seed gives the same run."""
    crashes = 0
    for seed in range(50):
        words = ["--input_dir", "p%d" % seed, "--num_ck_ranks", 2, "--num_ck_files_per_rank", 2, "--checkpoints", 4,
                 "--ck_error_rate", 45, "--seed", seed, "--keep_sets", 0]  # fmt: skip
        found = figures(case, *words, ranks=3)
        expect(complete(case.path("p%d" % seed)) == [1, 2, 3, 4], "seed %d: %s", seed, complete(case.path("p%d" % seed)))
        case.only(*names_of([1, 2, 3, 4], 2, 2), folder="p%d" % seed)
        expect(found["checkpoints"] == 4 and found["restarts"] == len(found["restarted_from"]) <= found["crashes"], "%s", found)
        crashes += found["crashes"]
        if seed % 10 == 0:
            again = figures(case, *words, "--input_dir", "again%d" % seed, ranks=2)
            for key in ("crashes", "restarted_from"):
                expect(again[key] == found[key], "seed %d: %s: %s, then %s", seed, key, found[key], again[key])
    # 200 checkpoints at 45 %: 164 crashes are to be expected, with a deviation of 17
    expect(80 < crashes < 250, "%d crashes", crashes)


def first_crash(case):
    """Without num_ck_iter: until the first crash, then the restart."""
    for seed in range(6):
        found = figures(case, "--input_dir", "f%d" % seed, "--ck_error_rate", "20", "--seed", seed, "--keep_sets", 0, ranks=2)
        expect(found["crashes"] == 1, "%s", found)
        have = complete(case.path("f%d" % seed))
        expect(have == list(range(1, found["checkpoints"] + 1)), "%s: %s", have, found)
        expect(found["restarted_from"] == have[-1:], "%s: %s", have, found)
    found = figures(case, "--input_dir", "always", "--ck_error_rate", "100%")
    expect((found["checkpoints"], found["crashes"], found["restarts"]) == (0, 1, 0), "%s", found)


def at_most(case):
    """num_ck_iter, as in the paper: so many at most, and the first crash ends it; checkpoints: so many, whatever happens."""
    ended = {"crash": 0, "limit": 0}
    for seed in range(12):
        words = ["--ck_error_rate", "30", "--seed", seed, "--keep_sets", 0]
        first = figures(case, "--input_dir", "f%d" % seed, *words)  # without a limit: where the first crash is
        found = figures(case, "--input_dir", "g%d" % seed, *words, "--num_ck_iter", 2)
        want = min(first["checkpoints"], 2)
        crashes = first["checkpoints"] < 2
        expect((found["checkpoints"], found["crashes"]) == (want, crashes), "seed %d: %s, not %d", seed, found, want)
        expect(found["restarted_from"] == ([want] if crashes and want else []), "seed %d: %s", seed, found)
        ended["crash" if crashes else "limit"] += 1
        found = figures(case, "--input_dir", "h%d" % seed, *words, "--checkpoints", 2)
        expect(found["checkpoints"] == 2, "seed %d: %s", seed, found)
    expect(all(ended.values()), "not both ways to end: %s", ended)
    told = case.emulate(*WORDS, "--num_ck_iter", 2, "--checkpoints", 2, status=2).stderr
    expect("one of them" in told, "both: %s", told)


def killed(case, launcher, turns):
    """--kill until it has been killed often enough; each restart is from what the directory held."""
    crashes, seed = 0, 0
    while crashes < turns:
        seed += 1
        folder = "k%d" % seed
        words = ["--input_dir", folder, "--num_ck_ranks", 2, "--num_ck_files_per_rank", 2, "--checkpoints", 3, "--kill",
                 "--ck_error_rate", 60, "--seed", seed, "--keep_sets", 0, "--json"]  # fmt: skip
        before = []
        for _ in range(100):
            run = case.start(*WORDS, *words, ranks=3, launcher=launcher)
            text, told = run.communicate(timeout=100)
            have = complete(case.path(folder))
            expect(have[:len(before)] == before, "%s are left of %s", have, before)
            if run.returncode == 0:
                break
            crashes += 1
            expect(have == list(range(1, len(have) + 1)) and len(have) < 3, "killed with %s: %r", have, told)
            expect(launcher != LOCAL or run.returncode == -signal.SIGKILL, "status %d: %r", run.returncode, told)
            before = have
        else:
            raise AssertionError("killed 100 times")
        found = notes(text)
        expect(found["started_from"] == (before or [0])[-1], "from %s: %s", before, found)
        expect(have == [1, 2, 3] and found["checkpoints"] == 3, "%s: %s", have, found)
        case.only(*names_of(have, 2, 2), folder=folder)


def outside(case):
    """kill -9 at any moment, 50 times, of rank 0 alone or of all; nothing that was complete is lost, the next run goes on from it."""
    dice = random.Random(3)
    words = [*WORDS, "--num_ck_ranks", 2, "--num_ck_files_per_rank", 3, "--ck_error_rate", 0, "--block_size", 20000,
             "--transfer_size", 1000, "--keep_sets", 1]  # fmt: skip
    newest_set = 0
    for turn in range(50):
        run = case.start(*words, "--checkpoints", 1000000000, ranks=3, start_new_session=True)
        goal = newest_set + dice.randrange(1, 4)
        while run.poll() is None and max(marks(case)) < goal:
            let_run(run, 0.002)
        let_run(run, dice.random() * 0.01)
        if turn % 3 == 0:
            run.kill()
        else:
            os.killpg(run.pid, signal.SIGKILL)
        _, told = run.communicate(timeout=60)
        expect(run.returncode == -signal.SIGKILL, "ended by itself: %d %r", run.returncode, told)
        if turn % 3 == 0:
            alone(case)  # ranks that are left may still end what they are at
        have = complete(case.path("d"))
        expect(have and have[-1] >= newest_set, "turn %d: %s, but set %d was there", turn, have, newest_set)
        newest_set = have[-1]
    found = notes(case.emulate(*words, "--checkpoints", newest_set + 2, "--json", ranks=3).stdout)
    expect(found["started_from"] == newest_set and found["newest"] == newest_set + 2, "%d: %s", newest_set, found)
    case.only(*names_of([newest_set + 2], 2, 3), folder="d")


def let_run(run, seconds):
    try:
        run.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass


def marks(case):
    names = os.listdir(case.path("d")) if os.path.isdir(case.path("d")) else []
    return [0] + [int(n.split(".")[1]) for n in names if n.endswith(".done")]


def alone(case):
    """Waits until no process holds the directory."""
    fd = os.open(case.path("d"), os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.close(fd)


def two_runs(case):
    """A second run in the same place waits for the first, but not for ever."""
    os.mkdir(case.path("d"))
    fd = os.open(case.path("d"), os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    told = case.emulate(*WORDS, "--checkpoints", 1, "--timeout", "100ms", ranks=2, status=4).stderr
    expect("another run" in told, "%r", told)
    run = case.start(*WORDS, "--checkpoints", 1, "--ck_error_rate", 0, ranks=2)
    os.close(fd)
    _, told = run.communicate(timeout=60)
    expect(run.returncode == 0 and complete(case.path("d")) == [1], "%d: %r", run.returncode, told)


# ---- two places


def staging(case, launcher):
    words = [*STAGED, "--num_ck_ranks", 2, "--ck_error_rate", 0, "--keep_sets", 2]
    found = figures(case, *words, "--checkpoints", 7, "--stage_out_steps", 3, ranks=3, launcher=launcher)
    case.only(*names_of([6, 7], 2), folder="fast")
    case.only(*names_of([6, 7], 2), folder="d")  # 3 and 6 were copied, then the last one
    expect(complete(case.path("d")) == [6, 7] == complete(case.path("fast")), "%s", complete(case.path("d")))
    expect(found["staged_bytes"] == 3 * found["set_bytes"], "%s", found)
    # the fast place is newer
    make_set(case.path("fast"), 9, writers=2)
    found = figures(case, *words, "--checkpoints", 1, ranks=3, launcher=launcher)
    expect(found["started_from"] == 9 and complete(case.path("d"))[-1] == 10, "%s", found)
    # it is torn there
    os.truncate(case.path("fast", "ckpt.10.1.0"), 5)
    found = figures(case, *words, "--checkpoints", 1, ranks=3, launcher=launcher)
    expect(found["started_from"] == 10 and complete(case.path("d"))[-1] == 11, "%s", found)
    # it is gone
    shutil.rmtree(case.path("fast"))
    found = figures(case, *words, "--checkpoints", 1, ranks=1, launcher=launcher)
    expect(found["started_from"] == 11 and complete(case.path("d")) == [11, 12], "%s", found)


def staging_kept(case):
    """A killed run left sets that were never copied: the next one copies them even if it has nothing else to do."""
    make_set(case.path("fast"), 3, writers=2)
    with open(case.path("fast", "ckpt.4.0.0.part"), "wb"):
        pass
    adopt(case.path("fast"))
    os.mkdir(case.path("d"))
    with open(case.path("d", "ckpt.job"), "w", encoding="ascii") as out:
        out.write("iorama job 1\nbase 0\ncrashes 2\nwritten 3\nlost 1.5\ncost 0.3\nseconds 4\nend\n")
    adopt(case.path("d"))
    found = figures(case, *STAGED, "--checkpoints", 3, ranks=2)
    expect((found["checkpoints"], found["crashes"], found["lost_work_s"]) == (3, 2, 1.5), "%s", found)
    case.only(*names_of([3], 2), folder="fast")
    case.only(*names_of([3], 2), folder="d")


def staging_crashes(case):
    for seed in range(15):
        words = [*STAGED, "--input_dir", "d%d" % seed, "--stage_dir", "f%d" % seed, "--num_ck_ranks", 2, "--ck_error_rate", 50,
                 "--checkpoints", 4, "--stage_out_steps", 2, "--seed", seed]  # fmt: skip
        while case.start(*WORDS, *words, *(["--kill"] if seed % 2 else []), ranks=2).wait(timeout=60) == -signal.SIGKILL:
            pass
        expect(complete(case.path("d%d" % seed))[-1:] == [4] == complete(case.path("f%d" % seed))[-1:], "seed %d: %s", seed,
               complete(case.path("d%d" % seed)))  # fmt: skip
        expect(not [f for f in case.files(".") if f.endswith((".part", ".job"))], "%s", case.files("."))


# ---- figures and faults


def best(case):
    """The interval by Young's formula, from the cost that was measured and the time between crashes that was given."""
    found = figures(case, "--mtbf", "100s", "--checkpoints", 5, "--checkpointing_interval", "10ms", ranks=2)
    want = math.sqrt(2 * found["checkpoint_s"] * 100)
    expect(abs(found["best_interval_s"] / want - 1) < 1e-3 and found["mtbf_s"] == 100, "%s", found)
    expect(0 < found["checkpoint_s"] < found["job_s"] and 0 < found["overhead"] < 1, "%s", found)
    expect(found["job_s"] >= 0.05, "%s", found)
    # a crash in 10 s of work on average, rounds of 5 s: 39.3 % of them fail; crashes per checkpoint are 0.65
    found = figures(case, "--input_dir", "e", "--mtbf", "10s", "--checkpoints", 300, "--checkpointing_interval", "5s", "--compute",
                    "none")  # fmt: skip
    expect(140 < found["crashes"] < 260, "%s", found["crashes"])
    found = figures(case, "--input_dir", "l", "--ck_error_rate", 60, "--checkpoints", 3, "--checkpointing_interval", "20ms")
    expect(found["crashes"] > 0 and 0 < found["lost_work_s"] < found["job_s"], "%s", found)


def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


def no_space(case):
    """Nothing of the set that could not be written stays; what was complete does."""
    make_set(case.path("d"), 5, writers=2, size=2000)
    for words, part in (([], "d/ckpt.6.%s.0" + PART), (STAGED, "fast/ckpt.6.%s.0" + PART)):
        run = case.start(*WORDS, *words, "--num_ck_ranks", 2, "--checkpoints", 1, "--ck_error_rate", 0, ranks=3,
                         preexec_fn=limited, restore_signals=False)  # fmt: skip
        _, told = run.communicate(timeout=60)
        expect(run.returncode == 4 and re.search(part % r"\d" + ": write at 3000: File too large", told), "%d %r", run.returncode,
               told)  # fmt: skip
        expect(complete(case.path("d")) == [5], "%s", complete(case.path("d")))
        case.only(*names_of([5], 2), "ckpt.job", folder="d")
    case.only(folder="fast")


def full_disk(case):
    """The safe place is full: the copy fails, in a thread. What was copied before stays complete, nothing is left of the rest."""
    os.mkdir(case.path("d"))
    # three sets have as many bytes as there is room for, but need more pages
    script = 'mount -t tmpfs -o size=64k none d || exit 77; "$@"; status=$?; cp -r d copy; exit $status'
    words = case.command(*WORDS, *STAGED, "--block_size", 10000, "--segment_count", 1, "--num_ck_ranks", 2, "--checkpoints", 3,
                         "--ck_error_rate", 0, "--keep_sets", 0, ranks=3)  # fmt: skip
    done = subprocess.run(["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c", script, "sh",
                           *words], cwd=case.folder, env=environment(), capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    if done.returncode in (77, 1):
        raise Skip("no file systems can be mounted here: %s" % done.stderr.strip())
    expect(done.returncode == 4 and re.search(r"d/ckpt\.\d\.(\d\.0|done).*: No space left", done.stderr), "%d %r",
           done.returncode, done.stderr)  # fmt: skip
    have = complete(case.path("copy"))
    expect(1 <= len(have) <= 3 and have == list(range(1, len(have) + 1)), "complete are %s", have)
    left = [f for f in case.files("copy") if f not in names_of(have, 2) and f != "ckpt.job"]
    expect(not left, "left behind: %s", left)


def usage(case):
    for words, text in (
        (["--ck_error_rate", 100, "--checkpoints", 3], "no checkpoint is ever written"),
        (["--ck_error_rate", 0], "num_ck_iter"),
        (["--ck_error_rate", 101], "more than 100"),
        (["--num_ck_files_per_rank", 0], "at least one"),
        (["--num_ck_ranks", 0], "at least one"),
        (["--enable_staging", "--stage_dir", "d/../d"], "the same"),
        (["--kill", "--engine", "null", "--checkpoints", 3], "files"),
    ):
        told = case.emulate(*WORDS, *words, ranks=2, status=2).stderr
        expect(text in told, "%s: %r", words, told)
    told = case.emulate(*WORDS, "--num_ck_ranks", 9, "--checkpoints", 1, "--ck_error_rate", "1/1000", ranks=2).stdout
    expect("num_ck_ranks is 9" in told, "%r", told)
    with open(case.path("file"), "wb"):
        pass
    told = case.emulate(*WORDS, "--input_dir", "file", "--checkpoints", 1, ranks=2, status=3).stderr
    expect("file" in told, "%r", told)


CASES = {"engines": engines, "containers": containers, "kept": kept, "newest": newest, "shapes": shapes, "wrong": wrong,
         "pretended": pretended, "first-crash": first_crash, "at-most": at_most, "outside": outside, "two-runs": two_runs,
         "staging-kept": staging_kept, "staging-crashes": staging_crashes, "best": best, "no-space": no_space, "full-disk": full_disk,
         "usage": usage}  # fmt: skip
for LAUNCHER in LAUNCHERS:
    CASES["contents-" + LAUNCHER] = lambda case, name=LAUNCHER: contents(case, name)
    CASES["staging-" + LAUNCHER] = lambda case, name=LAUNCHER: staging(case, name)
    CASES["killed-" + LAUNCHER] = lambda case, name=LAUNCHER: killed(case, name, 50 if name == LOCAL else 5)

if __name__ == "__main__":
    main(CASES)
