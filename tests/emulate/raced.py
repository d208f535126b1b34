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


def beside(case, *words, start=(), **race):
    """A run beside which somebody else is at work, as race.c says."""
    here = os.path.dirname(os.path.abspath(__file__))
    library = os.path.join(case.build, "tests", "race-%d.so" % os.getpid())
    source = os.path.join(here, "race.c")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    race = {"RACE_" + key.upper(): str(value) for key, value in race.items()}
    try:
        return subprocess.run([*start, case.iorama, "emulate", *words], cwd=case.folder, capture_output=True, text=True, timeout=harness.TIMEOUT,
                              env=harness.environment(LD_PRELOAD=library, RACE_NAME="x", **race))  # fmt: skip
    finally:
        os.unlink(library)


def raced(case, how, *words, **race):
    """A run into which somebody else comes; it fails, and what he brought stays."""
    path = precious(case)
    done = beside(case, *words, how=how, file=path, **race)
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


def replaced(case):
    """What an earlier run left is replaced; what somebody else puts there between the look and the deed is not."""
    for old in (0, 1):
        case.emulate(*WORDS)
        raced(case, "exchange" if old == 0 else "take", *WORDS, old=old)
        case.only("x", folder="d")
        os.unlink(case.path("d", "x"))
        raced(case, "rename", *WORDS, old=old)
        case.only("x", folder="d")
        os.unlink(case.path("d", "x"))
    # where nothing is in the way such systems do all that others do
    for old in (0, 1, 2):
        for _ in range(2):
            done = beside(case, *WORDS, old=old)
            expect(done.returncode == 0, "old system %d: %s", old, done.stderr)
            case.only("x", folder="d")
            case.holds("d/x", size=4096)
        case.emulate(*WORDS)


def flow(case, iterations=1):
    with open(case.path("f.wf"), "w", encoding="ascii") as file:
        file.write("[workflow]\nname = w\niterations = %d\n[data x]\nsize = 4KiB\n[task a]\nwrites = x\n[task b]\nreads = x\n" % iterations)
    return ("dag", case.path("f.wf"), "--input_dir", "d")


def removed(case):
    """What is removed in the end is what was looked at; of two systems, one without renameat2."""
    words = flow(case)
    os.makedirs(case.path("d"))
    for old in (0, 1):
        done = beside(case, *words, how="take", file=precious(case), old=old)
        expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
        kept(case.path("d", "x"))
        case.only("x", folder="d")
        os.unlink(case.path("d", "x"))
    words = flow(case, 2)
    for old in (0, 1, 2):
        done = beside(case, *words, old=old)
        expect(done.returncode == 0, "status %d: %s", done.returncode, done.stderr)
        case.only(folder="d")


def killed(case):
    """... and the run is killed before it could give back what was not its own: the next one does, or leaves it alone."""
    words, other = flow(case), ("app", "--write_filenames", "y", "--block_size", "1", "--input_dir", "d")
    os.makedirs(case.path("d"))
    for how in ("take", "exchange"):
        for path in (precious(case), None):
            case.emulate(*WORDS)
            done = beside(case, *(words if how == "take" else WORDS), how=how, dies=1, **({"file": path} if path else {}))
            expect(done.returncode < 0, "%s: status %d: %s", how, done.returncode, done.stderr)
            left = [n for n in case.files("d") if n.endswith(".kept")]
            expect(len(left) == 1, "%s: left %s", how, case.files("d"))
            for _ in range(2):
                case.emulate(*other)
            if path is None:  # its own
                case.only(*(["y"] if how == "take" else ["x", "y"]), folder="d")
            elif how == "take":
                case.only("x", "y", folder="d")
                kept(case.path("d", "x"))
            else:  # the name is taken
                case.only("x", "y", left[0], folder="d")
                kept(case.path("d", left[0]))
            for name in os.listdir(case.path("d")):
                os.unlink(case.path("d", name))


def elsewhere(case):
    """The directory of the run, or one below it, goes elsewhere at any moment, and a link to one of others comes under its name."""
    with open(case.path("deep.wf"), "w", encoding="ascii") as file:
        file.write("[workflow]\nname = w\niterations = 2\n[data deep/x]\nsize = 4KiB\n[task a]\nwrites = deep/x\n[task b]\nreads = deep/x\n")
    dag = ("dag", "deep.wf", "--input_dir", "d")
    for words, folder in ((WORDS, "d"), ((*WORDS, "--in_place"), "d"), (dag, "d"), (dag, "d/deep")):
        for how in ("open", "rename", "exchange", "take"):
            os.makedirs(case.path("else", "deep"))
            names = [precious(case, "else/x"), precious(case, "else/deep/x")]
            done = beside(case, *words, how=how, folder=case.path(folder), **{"else": case.path("else")})
            expect(done.returncode in (0, 3, 4), "%s, %s: status %d: %s", words, how, done.returncode, done.stderr)
            for name in names:
                kept(name)
            expect(case.files("else") == ["deep/x", "x"], "%s, %s: %s", words, how, case.files("else"))
            subprocess.run("rm -rf d d.gone else", shell=True, cwd=case.folder, check=True)


def mounted(case):
    """A file of others that is bound over a name, or a folder over another, is what is found there, whatever the list says."""
    case.emulate(*WORDS)
    os.makedirs(case.path("else"))
    names = precious(case), precious(case, "else/x")
    for what, over in ((names[0], case.path("d", "x")), (case.path("else"), case.path("d"))):
        if subprocess.run(["mount", "--bind", what, over], capture_output=True, check=False).returncode != 0:
            raise harness.Skip("nothing may be mounted here")
        try:
            for more in ([], ["--in_place"], ["--overwrite"]):
                done = case.emulate(*WORDS, *more, status=None)
                if "--overwrite" not in more or over.endswith("x"):
                    expect(done.returncode == 4, "%s over %s: status %d", what, over, done.returncode)
                    for name in names:
                        kept(name)
        finally:
            subprocess.run(["umount", "-l", over], check=True)


def made(family):
    def case_of(case):
        """A library of MPI makes a file where there is none, and nowhere else."""
        case.need(family)
        # PnetCDF makes a file where there is one under Open MPI, whatever it is told
        for engine in ("hdf5",) if family == harness.OPENMPI else ("hdf5", "pnetcdf"):
            os.makedirs(case.path("d"), exist_ok=True)
            words = (*WORDS, "--in_place", "--engine", engine)
            if case.emulate(*WORDS[:-1], "e-" + engine, "--engine", engine, launcher=family, status=None).returncode != 0:
                continue  # there is no such library
            done = beside(case, *words, how="create", file=precious(case), start=["mpirun." + family, "-n", "1"])
            expect(done.returncode != 0, "%s: status %d: %s", engine, done.returncode, done.stderr)
            kept(case.path("d", "x"))
            os.unlink(case.path("d", "x"))

    return case_of


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


def disks(case):
    """File systems that give the number of a file that went to the next one, that have few ways to rename, or are of two layers: run after run
    replaces what it made and nothing else."""
    tried = 0
    for kind, make in (("ext2", "mkfs.ext2 -q -F img && mount -o loop img m"), ("vfat", "mkfs.vfat img && mount -o loop img m"),
                       ("overlay", "mkdir l u w && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m")):  # fmt: skip
        os.makedirs(case.path("m"), exist_ok=True)
        with open(case.path("img"), "wb") as file:
            file.truncate(40 << 20)
        env = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if subprocess.run(make, shell=True, cwd=case.folder, capture_output=True, check=False, env=env).returncode != 0:
            continue
        tried += 1
        try:
            for more in ((), ("--in_place",), ("--in_place",), (), ("--in_place", "--engine", "stdio")):
                case.emulate(*WORDS[:-1], "m/d", *more)
                case.holds("m/d/x", "x", 4096)
            case.emulate(*flow(case, 3)[:2], "--verify", "--input_dir", "m/w", ranks=2)
            case.emulate("cr", "--checkpoints", 3, "--ck_error_rate", 30, "--checkpointing_interval", 0, "--block_size", 4096, "--segment_count", 1,
                         "--keep_sets", 1, "--input_dir", "m/c")  # fmt: skip
            case.emulate("md", "--num_files", 20, "--input_dir", "m/s", ranks=2)
            precious(case, "m/d/x")
            case.emulate(*WORDS[:-1], "m/d", status=4)
            kept(case.path("m", "d", "x"))
        except harness.Failed as why:
            raise harness.Failed("%s: %s" % (kind, why)) from why
        finally:
            subprocess.run(["umount", "-l", case.path("m")], check=False)
    if tried == 0:
        raise harness.Skip("nothing may be mounted here")


CASES = {"disks": disks, "rename": rename, "replaced": replaced, "removed": removed, "killed": killed, "opened": opened, "elsewhere": elsewhere, "mounted": mounted,
         "inode": inode, "old-kernel": old_kernel, "shared-list": shared_list, "small": small}  # fmt: skip
CASES.update({"made-" + family: made(family) for family in harness.FAMILIES})

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main(CASES)
