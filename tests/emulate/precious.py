#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that emulate did not make: whatever mode, engine and launcher, they are refused in one line, before anything is made, and bytes and
times stay; links lead nowhere; what a run made itself, or an earlier one did, is replaced and removed as ever."""
import json
import os
import re
import shutil
import signal
import stat
import time

import captured
from harness import FAMILIES, LIST, LOCAL, OPENMPI, Skip, expect, main

PRECIOUS = b"precious\n"
REFUSED = r"iorama emulate: .*%s.*nothing was touched\n"
FLOW = ("[workflow]\nname = w\niterations = %d\n[data frames]\nsize = 64KiB\n[data deep/er]\nsize = 1KiB\n[data in]\nsize = 2KiB\n"
        "[data last]\nsize = 1KiB\n[task a]\nreads = in\nwrites = frames, deep/er\n[task b]\nreads = frames, deep/er\n"
        "writes = last\n")  # fmt: skip


def tree(top):
    """All that is below a folder: kind, bytes or target, inode, time of the last change."""
    found = {}
    for here, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(here, name)
            st = os.lstat(path)
            if stat.S_ISLNK(st.st_mode):
                held = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    held = file.read()
            else:
                held = None
            # names in folders come and go before a run is refused only in ours
            when = st.st_mtime_ns if not stat.S_ISDIR(st.st_mode) else 0
            found[os.path.relpath(path, top)] = (stat.S_IFMT(st.st_mode), held, st.st_ino, when, st.st_nlink)
    return found


def write(path, content=PRECIOUS):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.utime(path, ns=(10**18, 10**18))


def obstacles(outside):
    """What may be in the way, and how it is put there; `outside` is a folder that no run should reach."""
    precious = os.path.join(outside, "precious")

    def file(path):
        write(path)

    def empty(path):
        write(path, b"")

    def link(path):
        write(precious)
        os.symlink(precious, path)

    def dangling(path):
        os.makedirs(outside, exist_ok=True)
        os.symlink(os.path.join(outside, "made-by-a-link"), path)

    def hard(path):
        write(precious)
        os.link(precious, path)

    def folder(path):
        write(os.path.join(path, "inner"))

    def fifo(path):
        os.mkfifo(path)

    return {"file": file, "empty": empty, "link": link, "dangling": dangling, "hard": hard, "folder": folder, "fifo": fifo}


def flow(case, iterations=1):
    with open(case.path("flow.wf"), "w", encoding="ascii") as file:
        file.write(FLOW % iterations)
    return case.path("flow.wf")


def refuses(case, victim, *words, ranks=1, launcher=LOCAL, kinds=None, says=None):
    """With any kind of thing under that name the run is refused, and nothing changes."""
    for kind, put in obstacles(case.path("outside")).items():
        if kinds is not None and kind not in kinds:
            continue
        for folder in ("d", "outside"):
            shutil.rmtree(case.path(folder), ignore_errors=True)
            os.mkdir(case.path(folder))
        os.makedirs(os.path.dirname(case.path("d", victim)), exist_ok=True)
        put(case.path("d", victim))
        before = tree(case.path("d")), tree(case.path("outside"))
        done = case.emulate(*words, "--input_dir", "d", ranks=ranks, launcher=launcher, status=None)
        after = tree(case.path("d")), tree(case.path("outside"))
        what = "%s, %s, %s" % (kind, victim, " ".join(map(str, words)))
        expect(after == before, "%s: changed:\n%s\nto\n%s", what, before, after)
        expect(done.returncode == 4 or (launcher != LOCAL and done.returncode != 0), "%s: status %d", what, done.returncode)
        told = [line for line in done.stderr.splitlines(True) if line.startswith("iorama emulate")]
        expect(len(told) == 1 and re.fullmatch(says or REFUSED % re.escape(victim), told[0]), "%s: %r", what, done.stderr)
        expect(launcher != LOCAL or done.stderr == told[0], "%s: %r", what, done.stderr)
        expect(done.stdout.strip() == "" or launcher != LOCAL, "%s: %r", what, done.stdout)


# ---- each mode


def issue(case):
    """As it was found: an example of ours in a folder with a file of that name."""
    example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "cmp2.wf")
    write(case.path("frames"))
    before = tree(case.folder)
    done = case.emulate("dag", example, "--time", "0", "--bytes", "1/1000", status=4)
    expect(tree(case.folder) == before, "changed: %s", tree(case.folder))
    expect(re.fullmatch(REFUSED % "frames", done.stderr), "%r", done.stderr)


def dag(case):
    words = ["dag", flow(case)]
    for victim in ("frames", "deep/er", "last"):
        refuses(case, victim, *words, ranks=1 + (victim == "deep/er"))
    # a folder on the way is a link to elsewhere, or a file
    refuses(case, "deep", *words, kinds=("link", "dangling", "file"), says=REFUSED % "deep/er")
    os.unlink(case.path("d", "deep"))
    os.symlink(case.path("outside"), case.path("d", "deep"))
    write(case.path("outside", "er"))
    before = tree(case.path("outside"))
    case.emulate(*words, "--input_dir", "d", status=4)
    expect(tree(case.path("outside")) == before, "a link was followed: %s", tree(case.path("outside")))


def dag_input(case):
    """Input is only read: it stays, also behind a link; a link to nowhere is in the way."""
    words = ["dag", flow(case), "--input_dir", "d"]
    refuses(case, "in", *words[:2], kinds=("dangling",))
    shutil.rmtree(case.path("d"))
    write(case.path("outside", "big"), b"i" * 5000)
    os.mkdir(case.path("d"))
    os.symlink("../outside/big", case.path("d", "in"))
    before = tree(case.path("d")), tree(case.path("outside"))
    case.emulate(*words, ranks=2)
    expect((tree(case.path("d")), tree(case.path("outside"))) == before, "input was touched: %s", tree(case.path("d")))
    shutil.rmtree(case.path("d"))
    os.mkdir(case.path("d"))
    os.mkfifo(case.path("d", "in"))
    done = case.emulate(*words, status=3)
    expect("in: no plain file" in done.stderr, "%r", done.stderr)


def app(case):
    words = ["app", "--write_filenames", "x:sub/y", "--block_size", 4096]
    for more in ([], ["--in_place"]):
        for victim in ("x", "sub/y"):
            refuses(case, victim, *words, *more, ranks=2)
        refuses(case, "sub", *words, *more, kinds=("link", "file"), says=REFUSED % "sub/y")
    # the folder that the user named may be a link
    for folder in ("d", "outside"):
        shutil.rmtree(case.path(folder))
    os.mkdir(case.path("outside"))
    os.symlink("outside", case.path("d"))
    case.emulate(*words, "--input_dir", "d")
    case.only("sub/y", "x", folder="outside")


def pc(case):
    words = ["pc", "--block_size", 4096]
    refuses(case, "file.0", *words, ranks=2)
    refuses(case, "file.1", *words, "--producer_only", ranks=2)
    refuses(case, "file.0", *words)


def dl(case):
    words = ["dl", "--make_files", 4, "--make_size", 1000, "--make_dirs", 2]
    refuses(case, "subdir.1/data.3", *words, ranks=2)
    refuses(case, "subdir.0/data.0", *words)
    refuses(case, "subdir.0", *words, kinds=("link", "dangling", "file"), says=REFUSED % r"subdir\.0/data\.\d")


def cr(case):
    words = ["cr", "--num_ck_iter", 2, "--ck_error_rate", 0, "--checkpointing_interval", 0, "--block_size", 4096, "--segment_count", 1]
    for victim in ("ckpt.1.0.0", "ckpt.2.0.0", "ckpt.1.done", "ckpt.job", "ckpt.7.note"):
        refuses(case, victim, *words, ranks=2, kinds=None if victim == "ckpt.1.0.0" else ("file", "link"))
    for folder, other in (("d", "f"), ("f", "d")):
        for name in (folder, other):
            shutil.rmtree(case.path(name), ignore_errors=True)
        write(case.path(folder, "ckpt.1.0.0"))
        before = tree(case.path(folder))
        done = case.emulate(*words, "--input_dir", "d", "--enable_staging", "--stage_dir", "f", status=4)
        expect(tree(case.path(folder)) == before and case.files(other) == [], "%s: %s", folder, tree(case.folder))
        expect(re.fullmatch(REFUSED % (folder + r"/ckpt\.1\.0\.0"), done.stderr), "%r", done.stderr)


def cr_sets(case):
    """Sets from elsewhere are gone on from, and neither pruned nor cleared away."""
    words = ["cr", "--ck_error_rate", 0, "--checkpointing_interval", 0, "--block_size", 4096, "--segment_count", 1, "--keep_sets", 1, "--json"]
    case.emulate(*words, "--num_ck_iter", 2, "--input_dir", "a")
    shutil.copytree(case.path("a"), case.path("d"), ignore=lambda *_: [LIST])
    before = tree(case.path("d"))
    found = json.loads(case.emulate(*words, "--num_ck_iter", 2, "--input_dir", "d").stdout)
    expect(found["checkpoint"]["started_from"] == 2 if "checkpoint" in found else "2" in json.dumps(found), "%s", found)
    now = tree(case.path("d"))
    expect(all(now.get(name) == was for name, was in before.items()), "copies were touched: %s", sorted(now))
    case.only("ckpt.2.0.0", "ckpt.2.done", "ckpt.4.0.0", "ckpt.4.done", folder="d")


def replay(case):
    """Files of a replay, in the folder that it makes itself; `try` runs both, again and again."""
    captured.job(case, "job.darshan", [[("w", "f", 0, 5000), ("r", "g", 0, 3000)]])
    for mode, more in (("replay", []), ("try", ["--set", "transfer_size=1000", "--rounds", 5])):
        words = [mode, case.path("job.darshan"), "--no_think", *more]
        case.emulate(*words, "--input_dir", "n", ranks=2)
        expect(not os.path.exists(case.path("n")) or os.listdir(case.path("n")) == [], "left: %s", tree(case.path("n")))
        case.emulate("replay", case.path("job.darshan"), "--input_dir", "k", "--keep")
        name = [f for f in case.files("k") if f.endswith("-f")][0]
        says = r"iorama emulate: (as it is: )?.*%s.*nothing was touched\n" % re.escape(name)
        refuses(case, name, *words, says=says)
        refuses(case, "iorama-replay", *words, kinds=("link", "dangling", "file"),
                says=r"iorama emulate: (as it is: )?.*iorama-replay/.*nothing was touched\n")  # fmt: skip
        case.emulate(*words, "--input_dir", "k")  # over what was kept


def profiles(case):
    """Profiles have names that the user did not give them: a file of another kind is not replaced."""
    words = ["pc", "--block_size", 4096, "--input_dir", "d", "--enable_profiler"]
    case.emulate(*words, ranks=2)
    case.emulate(*words, ranks=2)  # over those of the run before
    write(case.path("profiler.out.1"))
    before = tree(case.folder)
    done = case.emulate(*words, ranks=2, status=4)
    expect(tree(case.folder) == before and re.fullmatch(REFUSED % r"profiler\.out\.1", done.stderr), "%r", done.stderr)


# ---- what the user says, and is told


def overwrite(case):
    """Said aloud, plain files that are in the way are replaced, and nothing else: no link, no folder, no file with two names; what is
    not in the way stays."""
    runs = {"frames": ["dag", flow(case), "--keep"], "x": ["app", "--write_filenames", "x", "--block_size", 4096],
            "file.0": ["pc", "--block_size", 4096, "--keep"], "subdir.0/data.0": ["dl", "--make_files", 1, "--make_size", 10],
            "ckpt.1.0.0": ["cr", "--num_ck_iter", 1, "--ck_error_rate", 0, "--checkpointing_interval", 0, "--block_size", 4096]}  # fmt: skip
    for victim, words in runs.items():
        for more in ([], ["--in_place"]) if victim == "x" else ([],):
            refuses(case, victim, *words, *more, "--overwrite", kinds=("link", "dangling", "hard", "folder", "fifo"))
            shutil.rmtree(case.path("d"))
            write(case.path("d", victim))
            write(case.path("d", "beside"))
            before = tree(case.path("d"))
            case.emulate(*words, *more, "--input_dir", "d", status=4)
            expect(tree(case.path("d")) == before, "%s: changed without a word", victim)
            case.emulate(*words, *more, "--input_dir", "d", "--overwrite")
            now = tree(case.path("d"))
            expect(now["beside"] == before["beside"], "%s: what lies beside it was touched", victim)
            expect(victim not in now or now[victim] != before[victim], "%s: is as it was", victim)
    # it is leave to replace, not to remove: sets from elsewhere are not pruned
    words = runs["ckpt.1.0.0"][:2] + [1] + runs["ckpt.1.0.0"][3:]
    case.emulate(*words, "--input_dir", "a")
    shutil.rmtree(case.path("d"))
    shutil.copytree(case.path("a"), case.path("d"), ignore=lambda *_: [LIST])
    before = tree(case.path("d"))
    case.emulate(*words, "--keep_sets", 1, "--input_dir", "d", "--overwrite")
    now = tree(case.path("d"))
    expect(all(now.get(name) == was for name, was in before.items()), "copies were touched: %s", sorted(now))


def room(case):
    """More than fits is an error at once, in every mode, and nothing is made."""
    captured.job(case, "job.darshan", [[("w", "f", 0, 5000)]])
    with open(case.path("large.wf"), "w", encoding="ascii") as file:
        file.write("[workflow]\nname = w\n[data big]\nsize = 4000TiB\n[task a]\nwrites = big\n")
    large = ["--block_size", 1 << 62, "--segment_count", 1]
    for words in (["app", "--write_filenames", "x", *large], ["app", "--in_place", "--write_filenames", "x", *large], ["pc", *large],
                  ["dl", "--make_files", 1, "--make_size", 1 << 62], ["dl", "--make_files", 1 << 40, "--make_size", "1MiB"],
                  ["cr", "--num_ck_iter", 1, "--ck_error_rate", 0, *large], ["dag", case.path("large.wf")],
                  ["replay", case.path("job.darshan"), "--no_think", "--bytes", 10**12]):  # fmt: skip
        os.mkdir(case.path("d"))
        done = case.emulate(*words, "--input_dir", "d", ranks=2, status=4)
        expect(re.fullmatch(r"iorama emulate: d: there is room for .*, but .* are to be written; nothing was touched\n", done.stderr),
               "%s: %r", words, done.stderr)  # fmt: skip
        expect(case.files("d") == [], "%s: left %s", words, case.files("d"))
        shutil.rmtree(case.path("d"))
    # a hole takes no room
    captured.job(case, "hole.darshan", [[("w", "f", 1 << 40, 10)]])
    case.emulate("replay", case.path("hole.darshan"), "--no_think", "--input_dir", "d")


def where(case):
    """It says where it worked; a folder that was not there is told, more than one is an error."""
    words = ["app", "--write_filenames", "x", "--block_size", 4096]
    for made in (True, False):
        done = case.emulate(*words, "--input_dir", "d")
        line = re.search(r"^  in        (.*)$", done.stdout, re.M)
        told = ", which was not there and was made" if made else ""
        expect(line and line.group(1) == os.path.realpath(case.path("d")) + told, "%s", done.stdout)
    found = json.loads(case.emulate(*words, "--input_dir", "e", "--json").stdout)["directories"]
    expect(found == [{"path": "e", "made": True}], "%s", found)
    for mode in (words, ["pc", "--block_size", 4096], ["dag", flow(case)], ["cr", "--num_ck_iter", 1, "--block_size", 4096],
                 ["dl", "--make_files", 1]):  # fmt: skip
        done = case.emulate(*mode, "--input_dir", "scrtach/me", ranks=2, status=4)
        expect(re.fullmatch(r"iorama emulate: scrtach: no such directory; .*\n", done.stderr), "%s: %r", mode, done.stderr)
        expect(not os.path.lexists(case.path("scrtach")), "%s: made it", mode)


# ---- engines and launchers


def engines(case):
    for engine in ("posix", "vector", "stdio", "direct", "mmap", "uring"):
        for more in ([], ["--in_place"]):
            refuses(case, "x", "app", "--write_filenames", "x", "--block_size", 8192, "--engine", engine, *more,
                    kinds=("file", "link", "hard"))  # fmt: skip


def under_mpi(case, launcher):
    case.need(launcher)
    have = ("mpiio", "hdf5") + (("pnetcdf",) if launcher == OPENMPI else ())
    for engine in have:
        refuses(case, "x", "app", "--write_filenames", "x:y", "--block_size", 8192, "--engine", engine, ranks=2, launcher=launcher,
                kinds=("link",))  # fmt: skip
        words = ["app", "--write_filenames", "x:y", "--block_size", 8192, "--engine", engine, "--input_dir", "e-" + engine]
        for more in ([], ["--in_place"], ["--in_place"], []):  # again over what the run before made
            case.emulate(*words, *more, ranks=2, launcher=launcher)
            case.only("x", "y", folder="e-" + engine)


# ---- again


def again(case):
    """What a run has left is replaced by the next one, until somebody else has written to it."""
    words = ["app", "--write_filenames", "x", "--block_size", 4096, "--segment_count", 1, "--input_dir", "d"]
    for more in ([], [], ["--in_place"], ["--in_place"], []):
        case.emulate(*words, *more, ranks=2)
        case.holds("d/x", size=4096)
    names = {"appended": lambda p: open(p, "ab").write(b"mine"), "rewritten": lambda p: open(p, "r+b").write(b"m" * 4096),
             "replaced": lambda p: (write(p + ".new"), os.rename(p + ".new", p)),
             "emptied": lambda p: os.truncate(p, 0),
             "linked": lambda p: os.link(p, p + ".kept")}  # fmt: skip
    for name, change in names.items():
        shutil.rmtree(case.path("d"))
        case.emulate(*words)
        change(case.path("d", "x"))
        before = tree(case.path("d"))
        done = case.emulate(*words, status=4)
        expect(tree(case.path("d")) == before, "%s: changed", name)
        expect("nothing was touched" in done.stderr, "%s: %r", name, done.stderr)
    # the list is of no use to anybody who does not own it, and no list makes nothing ours
    for spoil in (lambda p: os.chmod(p, 0o666), os.unlink, lambda p: (os.rename(p, p + "2"), os.symlink(LIST + "2", p))):
        shutil.rmtree(case.path("d"))
        case.emulate(*words)
        spoil(case.path("d", LIST))
        before = tree(case.path("d"))
        case.emulate(*words, status=4)
        expect(tree(case.path("d")) == before, "changed, with a list that says nothing")


def others(case):
    """A list that another user has put there says nothing of files that are ours."""
    if os.geteuid() != 0:
        raise Skip("only root can be two users")
    words = ["app", "--write_filenames", "x", "--block_size", 4096, "--input_dir", "d"]
    case.emulate(*words)
    os.chown(case.path("d", LIST), 20311, 20311)
    before = tree(case.path("d"))
    done = case.emulate(*words, status=4)
    expect(tree(case.path("d")) == before and LIST in done.stderr, "%r", done.stderr)


def nothing_left(case):
    """Runs that remove what they made remove the list too, and a folder that they made."""
    case.emulate("dag", flow(case, 3), "--input_dir", "d", ranks=3)
    expect(not os.path.exists(case.path("d")), "left: %s", tree(case.folder))
    os.mkdir(case.path("d"))
    write(case.path("d", "other"))
    case.emulate("dag", flow(case, 3), "--input_dir", "d", ranks=3)
    expect(os.listdir(case.path("d")) == ["other"], "left: %s", os.listdir(case.path("d")))
    case.emulate("dag", flow(case, 3), "--input_dir", "d", "--keep", ranks=3)
    with open(case.path("d", LIST), encoding="utf-8") as file:
        names = sorted(line.split(" ", 6)[6].strip() for line in file if line.startswith("file "))
    expect(names == ["deep/er", "frames", "in", "last"], "the list has %s", names)
    case.emulate("dag", flow(case, 3), "--input_dir", "d", ranks=2)
    case.only("in", "other", folder="d")  # input that is there stays


# ---- killed in the middle


def until(true, what):
    limit = time.monotonic() + 60
    while not true():
        expect(time.monotonic() < limit, "%s: never", what)
        time.sleep(0.005)


def killed(case):
    """kill -9 while files are half-written; then the same again. Files that others put there meanwhile stay."""
    runs = {"app": ["app", "--write_filenames", "x", "--block_size", "256MiB", "--transfer_size", 4096, "--fsync", "request"],
            "in_place": ["app", "--in_place", "--write_filenames", "x", "--block_size", "256MiB", "--transfer_size", 4096, "--fsync",
                         "request"],
            "pc": ["pc", "--block_size", "256MiB", "--transfer_size", 4096, "--fsync", "request"]}  # fmt: skip
    for name, words in runs.items():
        top, final = "k-" + name, "file.0" if name == "pc" else "x"
        run = case.start(*words, "--input_dir", top, ranks=2, start_new_session=True)
        until(lambda top=top: any(os.path.getsize(case.path(top, f)) > 0 for f in case.files(top)), "something is written")
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        left = case.files(top)
        expect(len(left) == 1, "%s: %s", name, left)
        # of others: like ours, but for the letters of the run; and under the old name of half-written files
        mine = ["x.abcdefgh.part", "x.part", "y"]
        for other in mine:
            write(case.path(top, other))
        before = {n: v for n, v in tree(case.path(top)).items() if n in mine}
        small = [w if w != "256MiB" else 4096 for w in words] + ["--segment_count", 1]
        case.emulate(*small, "--input_dir", top, "--keep", ranks=2)
        now = tree(case.path(top))
        expect({n: v for n, v in now.items() if n in mine} == before, "%s: files of others were touched", name)
        case.only(*mine, final, folder=top)
        case.holds(os.path.join(top, final), size=4096)
        # and killed again, then overwritten by the user, under its own name: it is his
        if name == "in_place":
            run = case.start(*words, "--input_dir", top, ranks=2, start_new_session=True)
            until(lambda top=top: os.path.getsize(case.path(top, "x")) > 4096, "something is written")
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            with open(case.path(top, "x"), "wb") as file:
                file.write(PRECIOUS)
            case.emulate(*small, "--input_dir", top, ranks=2, status=4)
            with open(case.path(top, "x"), "rb") as file:
                expect(file.read() == PRECIOUS, "what the user wrote is gone")


def two_at_once(case):
    """A second run does not clear away what the first one is writing."""
    words = ["app", "--write_filenames", "x", "--block_size", "256MiB", "--transfer_size", 4096, "--fsync", "request", "--input_dir", "d"]
    run = case.start(*words)
    until(lambda: any(os.path.getsize(case.path("d", f)) > 0 for f in case.files("d") if os.path.exists(case.path("d", f))),
          "something is written")  # fmt: skip
    case.emulate("app", "--write_filenames", "y", "--block_size", 4096, "--input_dir", "d")
    expect(len(case.files("d")) == 2 and run.poll() is None, "%s", case.files("d"))
    run.send_signal(signal.SIGTERM)
    run.communicate()
    case.only("y", folder="d")
    case.emulate("app", "--write_filenames", "y", "--block_size", 4096, "--input_dir", "d")


def appears(case):
    """A file that appears under the name while the run goes on is not replaced."""
    run = case.start("app", "--write_filenames", "x", "--block_size", "4KiB", "--transfer_size", 1024, "--fsync", "request", "--input_dir",
                     "d", wrap=["strace", "-f", "-qq", "-o", case.path("calls"), "-e", "trace=fsync", "-e",
                                "inject=fsync:delay_enter=50000"])  # fmt: skip
    until(lambda: os.path.isdir(case.path("d")) and case.files("d"), "something is written")
    write(case.path("d", "x"))
    before = tree(case.path("d"))["x"]
    told = run.communicate()[1]
    expect(run.returncode == 4 and tree(case.path("d"))["x"] == before, "%d: %r: %s", run.returncode, told, tree(case.path("d")))


CASES = {f.__name__: f for f in (issue, dag, dag_input, app, pc, dl, cr, cr_sets, replay, profiles, overwrite, room, where, engines, again, others, nothing_left, killed,
                                 two_at_once, appears)}  # fmt: skip
for _family in FAMILIES:
    CASES["mpi_" + _family] = lambda case, family=_family: under_mpi(case, family)

if __name__ == "__main__":
    main(CASES)
