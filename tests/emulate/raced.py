# SPDX-License-Identifier: BSD-3-Clause
"""Precious files at the worst of moments (race.c puts them there between a look and a deed), on old kernels, and behind names that
look like those of an earlier run."""
import os
import re
import subprocess
import sys

import harness
from harness import LIST, expect

PRECIOUS = b"precious " * 400
WORDS = ("app", "--write_filenames", "x", "--block_size", "4096", "--segment_count", "1", "--input_dir", "d")


def precious(case, name="precious"):
    path = case.path(name)
    with open(path, "wb") as file:
        file.write(PRECIOUS)
    return path


def kept(path):
    with open(path, "rb") as file:
        expect(file.read() == PRECIOUS, "%s was written to", path)


def raced(case, how, *words):
    """A run into which somebody else comes; it fails, and what he brought stays."""
    here = os.path.dirname(os.path.abspath(__file__))
    library = os.path.join(case.build, "tests", "race-%d.so" % os.getpid())
    source = os.path.join(here, "race.c")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    path = precious(case)
    try:
        done = subprocess.run([case.iorama, "emulate", *words], cwd=case.folder, capture_output=True, text=True, timeout=harness.TIMEOUT,
                              env=harness.environment(LD_PRELOAD=library, RACE_HOW=how, RACE_NAME="x", RACE_FILE=path))  # fmt: skip
    finally:
        os.unlink(library)
    expect(done.returncode == 4 and done.stderr.startswith("iorama emulate: "), "status %d: %s", done.returncode, done.stderr)
    kept(path if how == "link" else case.path("d", "x"))
    return done


def rename(case):
    """Before a file takes its name."""
    os.makedirs(case.path("d"))
    raced(case, "rename", *WORDS)


def opened(case):
    """Between the making of a file and its opening: another file, or a link to one."""
    for how in ("open", "link"):
        os.makedirs(case.path("d"), exist_ok=True)
        raced(case, how, *WORDS, "--in_place")
        os.unlink(case.path("d", "x"))


def inode(case):
    """Another file of the same size, time and name as the one that was made is not the one that was made."""
    case.emulate(*WORDS)
    path = case.path("d", "x")
    st = os.stat(path)
    os.rename(path, path + ".kept")  # so that its number is not given to the next one
    with open(path, "wb") as file:
        file.write(PRECIOUS[:1] * st.st_size)
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
    for more in ([], ["--in_place"]):
        done = case.emulate(*WORDS, *more, status=4)
        expect("did not make" in done.stderr, "%s", done.stderr)
    with open(path, "rb") as file:
        expect(file.read() == PRECIOUS[:1] * st.st_size, "it was written to")


def old_kernel(case):
    """Without openat2 the way is gone step by step, and no link is followed."""
    flow = case.path("f.wf")
    with open(flow, "w", encoding="ascii") as file:
        file.write("[workflow]\nname = w\n[data deep/er/x]\nsize = 4KiB\n[task a]\nwrites = deep/er/x\n")
    words = ("dag", flow, "--keep", "--input_dir", "d")
    wrap = case.strace("-e", "trace=openat2", "-e", "inject=openat2:error=ENOSYS")
    case.emulate(*words, wrap=wrap)
    case.holds("d/deep/er/x", "deep/er/x", 4096)
    for link in ("d/deep", "d/deep/er"):
        subprocess.run(["rm", "-rf", case.path("d"), case.path("out")], check=True)
        os.makedirs(case.path("out", "er"))
        os.makedirs(os.path.dirname(case.path(link)))
        os.symlink(case.path("out") if link.endswith("deep") else case.path("out", "er"), case.path(link))
        for way in (wrap, ()):
            done = case.emulate(*words, status=4, wrap=way)
            expect("symbolic link" in done.stderr, "%s: %s", link, done.stderr)
        expect(case.files("out") == [], "outside: %s", case.files("out"))


def shared_list(case):
    """A list that others may write to counts for nothing, also if it is ours."""
    case.emulate(*WORDS)
    for mode in (0o620, 0o602, 0o666):
        os.chmod(case.path("d", LIST), mode)
        done = case.emulate(*WORDS, status=4)
        expect(LIST in done.stderr, "%o: %s", mode, done.stderr)
    os.chmod(case.path("d", LIST), 0o644)
    case.emulate(*WORDS)


def small(case):
    """A file system that has room for a part."""
    mount = case.path("m")
    os.makedirs(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", mount], capture_output=True, check=False).returncode != 0:
        raise harness.Skip("nothing may be mounted here")
    try:
        words = ("app", "--write_filenames", "x", "--segment_count", "1", "--input_dir", "m", "--block_size")
        done = case.emulate(*words, "1200KiB", status=4)
        expect(re.search(r"room for 10\d\d.\d KiB|room for 1.0 MiB", done.stderr), "%s", done.stderr)
        expect(os.listdir(mount) == [], "left: %s", os.listdir(mount))
        with open(os.path.join(mount, "other"), "wb") as file:
            file.write(bytes(600 << 10))
        done = case.emulate(*words, "700KiB", status=4)
        expect("there is room for" in done.stderr and os.listdir(mount) == ["other"], "%s", done.stderr)
        case.emulate(*words, "300KiB")
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


CASES = {"rename": rename, "opened": opened, "inode": inode, "old-kernel": old_kernel, "shared-list": shared_list, "small": small}

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
