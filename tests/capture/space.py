# SPDX-License-Identifier: BSD-3-Clause
"""How much room an observer leaves: address space, where it is limited and where it is not, locked memory, and room of its own for
as many files as a job has."""
import csv
import io
import os
import resource
import shutil
import subprocess
import sys

from harness import TIMEOUT, Log, Skip, main, must

USER = 20417  # nobody else's
MOST = 80 * 10**6  # bytes of address space that we may take without being asked
FEW = 10 << 10  # KiB: what a program may have less under a limit
SOME = 512  # KiB of locked memory that may be ours
CURRENT, FUTURE, ONFAULT = 1, 2, 4
WAYS = {"bare": [], "run": ["run"], "trace": ["run", "--trace"], "live": ["run", "--live"]}


class Place:
    """A folder with all that a program of any user needs, and what comes of running it."""

    def __init__(self, h, user=0):
        self.user = user
        self.folder = os.path.join("/tmp" if user else h.scratch, "iorama-space-%d-%d" % (user, os.getpid()))
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("bin", "lib"):
            os.makedirs(os.path.join(self.folder, name))
            os.chmod(os.path.join(self.folder, name), 0o755)
        os.chmod(self.folder, 0o755)
        self.iorama = shutil.copy(h.iorama, os.path.join(self.folder, "bin"))
        self.library = shutil.copy(h.library, os.path.join(self.folder, "lib"))
        self.program = shutil.copy(h.compile("space", "shown", ["-rdynamic"]), os.path.join(self.folder, "bin"))
        self.quiet = os.path.join(h.quiet, "space-%d" % user)
        os.makedirs(self.quiet, exist_ok=True)
        if user:
            os.chmod(h.quiet, 0o755)
            os.chown(self.quiet, user, user)
        self.count = 0

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, arguments, way=None, limits=(), env=None):
        """What it said, and its log. way None: not observed."""
        self.count += 1
        cwd, quiet = os.path.join(self.folder, "run%d" % self.count), os.path.join(self.quiet, "%d" % self.count)
        for folder in (cwd, quiet):
            os.makedirs(folder)
            os.chown(folder, self.user, self.user)
        log = os.path.join(quiet, "log.darshan")
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "DARSHAN_", "LD_", "DXT_"))}
        keep.update(TRUTH_FILE="/dev/null", IORAMA_DIR=os.path.join(quiet, "segments"), HOME=quiet,
                    IORAMA_STORE=os.path.join(quiet, "store.db"), IORAMA_SPOOL=os.path.join(quiet, "spool"))  # fmt: skip
        keep.update(env or {})
        command = [self.program, *arguments]
        if way == "bare":
            keep.update(LD_PRELOAD=self.library, IORAMA_LOG=log)
        elif way:
            command = [self.iorama, *WAYS[way], "-q", "-o", log, "--", *command]

        def become():
            for what, soft in limits:
                hard = resource.getrlimit(what)[1]
                resource.setrlimit(what, (soft, soft if self.user or 0 <= hard < soft else hard))
            if self.user:
                os.setgroups([])
                os.setresgid(self.user, self.user, self.user)
                os.setresuid(self.user, self.user, self.user)

        done = subprocess.run(command, cwd=cwd, env=keep, capture_output=True, text=True, preexec_fn=become,
                              timeout=TIMEOUT)  # fmt: skip
        must(done.returncode == 0, "%s %s: status %d: %s", way, arguments, done.returncode, done.stderr[-500:])
        said = {key: int(value) for key, value in (line.split() for line in done.stdout.splitlines())}
        if way:
            must(os.path.exists(log), "%s %s: no log: %s", way, arguments, done.stderr[-500:])
        return said, log


def address_space(h):
    """what is reserved without being asked"""
    place = Place(h)
    plain, _ = place.start(["room"])
    for way in WAYS:
        said, _ = place.start(["room"], way)
        more = (said["peak"] - plain["peak"]) * 1024
        must(0 < more <= MOST, "%s: %d bytes of address space", way, more)


def limited(h):
    """a limit of the address space is the program's, set before or after its start"""
    place = Place(h)
    for mib in (200, 1000):
        limit = mib * 1024 * 1000
        plain, _ = place.start(["room"], None, [(resource.RLIMIT_AS, limit)])
        later, _ = place.start(["room", str(limit)])
        must(abs(plain["room"] - later["room"]) <= 1024, "%s and %s", plain, later)
        for way in WAYS:
            # below `iorama run` the limit would be iorama's own, too: an agent needs more than a small program
            if way != "live":
                said, _ = place.start(["room"], way, [(resource.RLIMIT_AS, limit)])
                must(plain["room"] - said["room"] <= FEW, "%s: %d of %d KiB", way, said["room"], plain["room"])
            said, _ = place.start(["room", str(limit)], way)
            must(plain["room"] - said["room"] <= FEW, "%s, lowered: %d of %d KiB", way, said["room"], plain["room"])


def limited_share(h):
    """of an address space that was limited after the start many files take a share only"""
    place, limit, count = Place(h), 100 << 20, 8000
    plain, _ = place.start(["room", str(limit), "2"])
    said, log = place.start(["room", str(limit), str(count)], "bare")
    must(plain["room"] - said["room"] <= 14 << 10, "%d of %d KiB", said["room"], plain["room"])
    found = Log(h.iorama, log, False)
    opens = sum(r["counters"]["POSIX_OPENS"] for r in found.records("POSIX") if "/proc/" not in r["name"])
    folded = sum(r["counters"]["PROCESS_FILES_FOLDED"] for r in found.records("PROCESS"))
    must(opens == count + 2 and folded > 0, "%d opens, %d of files that share a record", opens, folded)


def lock_case(place, way, flags, count, limit):
    limits = [(resource.RLIMIT_MEMLOCK, limit)] if limit is not None else []
    return place.start(["lock", str(flags), str(count)], way, limits)


def compare_locks(plain, said, what):
    for key in ("result", "errno", "present", "again", "unlocked"):
        must(said[key] == plain[key], "%s: %s is %d, not %d", what, key, said[key], plain[key])
    for key in ("locked", "later"):
        must(said[key] - plain[key] <= SOME, "%s: %s: %d KiB, not %d", what, key, said[key], plain[key])
        must(plain[key] - said[key] <= SOME, "%s: %s: only %d KiB, not %d", what, key, said[key], plain[key])


def lock_matrix(h, user):
    place = Place(h, user)
    try:
        base, _ = place.start(["lock", str(CURRENT), "1"])
        tight = base["before"] * 1024  # all it has: a page less and nothing may be locked
        values = [None, 0, 64 << 10, tight - (128 << 10), tight + (256 << 10)] if user else [None, 64 << 10]
        for flags in (CURRENT, FUTURE, CURRENT | FUTURE, CURRENT | ONFAULT, CURRENT | FUTURE | ONFAULT, ONFAULT, 0, 64):
            for limit in values:
                plain, _ = lock_case(place, None, flags, 1, limit)
                for way in WAYS if limit is None and flags == CURRENT | FUTURE else ["bare"]:
                    said, _ = lock_case(place, way, flags, 1, limit)
                    compare_locks(plain, said, "%s, flags %d, limit %s" % (way, flags, limit))
        # files whose records must be mapped after it
        plain, _ = lock_case(place, None, CURRENT | FUTURE, -700, None)
        said, log = lock_case(place, "bare", CURRENT | FUTURE, -700, None)
        compare_locks(plain, said, "many files")
        check_files(Log(h.iorama, log, False), 1400)
    finally:
        place.close()


def lock_root(h):
    """mlockall of root"""
    if os.geteuid() != 0:
        raise Skip("only root may lock whatever its limit is")
    lock_matrix(h, 0)


def lock_user(h):
    """mlockall of a user with several limits"""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    lock_matrix(h, USER)


def lock_tight(h):
    """records that find no room before mlockall find it after it, though nothing more may be locked"""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    place = Place(h, USER)
    try:
        base, _ = place.start(["lock", str(FUTURE), "1"])
        limit = 1 << 20  # much less than so many files need
        said, log = place.start(["lock", str(FUTURE), "1200"], "bare", [(resource.RLIMIT_MEMLOCK, limit)])
        must(said["result"] == 0 == base["result"], "%s", said)
        check_files(Log(h.iorama, log, False), 1200)
    finally:
        place.close()


# ---- many files


def check_files(log, count):
    """Each file has its record; nothing is missing."""
    records = [r for r in log.records("POSIX") if "/many/" in (r["name"] or "")]
    must(len(records) == count, "%d records, not %d", len(records), count)
    must(all(r["counters"]["POSIX_OPENS"] >= 1 for r in records), "a file was not opened")
    opens = sum(r["counters"]["POSIX_OPENS"] for r in records)
    written = sum(r["counters"]["POSIX_BYTES_WRITTEN"] for r in records)
    must(written == 10 * opens, "%d bytes by %d opens", written, opens)
    partial = [m["module"] for m in log.json["modules"] if m["incomplete"]]
    must(not partial, "incomplete: %s", partial)
    folded = sum(r["counters"]["PROCESS_FILES_FOLDED"] for r in log.records("PROCESS"))
    must(folded == 0, "%d files folded", folded)


def many(count):
    def run(h):
        place = Place(h)
        for way in ("bare", "run") if count > 5000 else WAYS:
            _, log = place.start(["files", str(count)], way)
            check_files(Log(h.iorama, log, False), count)

    run.__doc__ = "%d files are complete" % count
    return run


def small_limits(h):
    """limits of memory and of files leave a log, and what did not fit is said"""
    place = Place(h)
    for what, limit, ways in (
        (resource.RLIMIT_AS, 1000000 << 10, ("bare", "run", "trace")),  # an agent needs more
        (resource.RLIMIT_FSIZE, 100000 << 10, WAYS),
        (resource.RLIMIT_FSIZE, 100000 << 9, ("bare", "trace")),
    ):
        for way in ways:
            _, log = place.start(["files", "600"], way, [(what, limit)])
            check_files(Log(h.iorama, log, False), 600)
    for way, env, limits in (("bare", {"IORAMA_MEMORY": "4M"}, []), ("run", {"IORAMA_MEMORY": "4M"}, []),
                             ("bare", {}, [(resource.RLIMIT_FSIZE, 6 << 20)]),
                             ("run", {}, [(resource.RLIMIT_FSIZE, 6 << 20)]),
                             ("bare", {}, [(resource.RLIMIT_AS, 120 << 20)])):  # fmt: skip
        _, log = place.start(["files", "2600"], way, limits, env)
        found = Log(h.iorama, log, False)
        opens = sum(r["counters"]["POSIX_OPENS"] for r in found.records("POSIX"))
        folded = sum(r["counters"]["PROCESS_FILES_FOLDED"] for r in found.records("PROCESS"))
        must(opens == 2600 and folded > 0, "%d opens, %d of files that share a record", opens, folded)
        done = subprocess.run([h.iorama, "report", log], capture_output=True, text=True, timeout=TIMEOUT)
        must("IORAMA_MEMORY" in done.stdout, "report does not name the setting: %s", done.stdout)


def groups(h):
    """files without room are counted by directory and name: totals are exact, and it is known where they are"""
    place = Place(h)
    for way, count in (("bare", 9000), ("run", 9000), ("run", 2100)):
        _, log = place.start(["files", str(count)], way, [], {"IORAMA_MEMORY": "4M"})
        found = Log(h.iorama, log, False)
        records = {r["name"]: r["counters"] for r in found.records("POSIX") if "/many/" in (r["name"] or "")}
        opens, written = (sum(r["POSIX_" + name] for r in records.values()) for name in ("OPENS", "BYTES_WRITTEN"))
        must(opens == count and written == 10 * count, "%d opens, %d bytes of %d files", opens, written, count)
        shared = {name: r["POSIX_OPENS"] for name, r in records.items() if "<" in name}
        folded = sum(r["counters"]["PROCESS_FILES_FOLDED"] for r in found.records("PROCESS"))
        must([name.rpartition("/many/")[2] for name in shared] == ["<file#>"], "groups: %s", shared)
        must(count > sum(shared.values()) > 100 and folded == sum(shared.values()), "folded %d: %s", folded, shared)
        must(not any(r["name"] == "<OTHERS>" for r in found.records("POSIX")), "some are of no group")
        done = subprocess.run([h.iorama, "report", "--csv=groups", log], capture_output=True, text=True, timeout=TIMEOUT)
        rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if "/many/" in row["pattern"]]
        must([int(row["files"]) for row in rows] == [count], "the report has %s", rows)
        done = subprocess.run([h.iorama, "report", log], capture_output=True, text=True, timeout=TIMEOUT)
        must("IORAMA_MEMORY" in done.stdout and "lower bounds" not in done.stdout, "nothing is missing: %s", done.stdout)


FOLDERS = """
import os
for d in range(60):
    os.mkdir("set%d" % d)
    for i in range(80):
        fd = os.open("set%d/part%d.dat" % (d, i), os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"x" * (d + 1))
        os.close(fd)
"""


def group_each(h):
    """each directory has a group of its own as long as there is room, and files get none of the room of groups"""
    run = h.start([sys.executable, "-c", FOLDERS], "run", env={"IORAMA_MEMORY": "4M", "IORAMA_SITES": "0"})
    must(run.status == 0, "status %s: %r", run.status, run.err[-300:])
    records = {r["name"]: r["counters"] for r in run.logs[0].records("POSIX")}
    must("<OTHERS>" not in records, "some are of no group")
    whole = 0
    for d in range(60):
        mine = {name: r for name, r in records.items() if "/set%d/" % d in name}
        bytes_, opens = (sum(r["POSIX_" + name] for r in mine.values()) for name in ("BYTES_WRITTEN", "OPENS"))
        must((bytes_, opens) == (80 * (d + 1), 80), "set%d: %d bytes, %d opens", d, bytes_, opens)
        whole += any(name.endswith("/set%d/<part#.dat>" % d) and r["POSIX_OPENS"] == 80 for name, r in mine.items())
    must(whole >= 25, "%d directories are a group each", whole)


def old_kernel(h):
    """where memory cannot be asked for, nothing is taken beforehand, and a full file system is no signal"""
    launcher, program = h.compile("oldkernel"), h.compile("space")
    run = h.start([launcher, program, "files", "1500"], "bare")
    must(run.status == 0, "status %s: %r", run.status, run.err[-300:])
    check_files(max(run.logs, key=lambda log: len(log.records("POSIX"))), 1500)
    run = h.start([launcher, program, "files", "3"], "bare", {"IORAMA_JOB": "job", "IORAMA_JOBID": "1"})
    must(run.status == 0 and run.left, "status %s, nothing left", run.status)
    for path in run.left:
        must(os.stat(path).st_blocks * 512 <= 256 << 10, "%d bytes", os.stat(path).st_blocks * 512)
    if os.geteuid() != 0:
        raise Skip("only root can mount: the rest")
    mount = os.path.join(h.quiet, "small")
    os.makedirs(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", mount], check=False).returncode != 0:
        raise Skip("cannot mount here: the rest")
    try:
        os.chmod(mount, 0o700)
        run = h.start([launcher, program, "files", "1500"], "bare", {"IORAMA_DIR": os.path.join(mount, "segments")})
        must(run.status == 0 and run.logs, "full: status %s: %r", run.status, run.err[-300:])
        opens = sum(r["counters"]["POSIX_OPENS"] for log in run.logs for r in log.records("POSIX"))
        must(opens == 1500, "full: %d opens", opens)
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


def killed(h):
    """kill -9 while chunks of records are handed out: what was done before is whole"""
    place = Place(h)
    for round_, least in enumerate((1, 37, 150, 220, 300, 420, 700, 1100)):
        folder, quiet = os.path.join(place.folder, "kill%d" % round_), os.path.join(place.quiet, "kill%d" % round_)
        tally, log, segments = (os.path.join(quiet, name) for name in ("tally", "log.darshan", "segments"))
        os.makedirs(folder)
        os.makedirs(quiet)
        with open(tally, "wb") as file:
            file.write(bytes(8))
        env = {**os.environ, "TRUTH_FILE": "/dev/null", "LD_PRELOAD": place.library, "IORAMA_DIR": segments}
        with subprocess.Popen([place.program, "grow", tally], cwd=folder, env=env) as process:
            done = 0
            while done < least and process.poll() is None:
                with open(tally, "rb") as file:
                    done = int.from_bytes(file.read(), "little")
            process.kill()
        with open(tally, "rb") as file:
            done = int.from_bytes(file.read(), "little")
        must(process.returncode == -9 and done >= least, "status %s after %d files", process.returncode, done)
        made = subprocess.run([h.iorama, "recover", "-o", log, segments], capture_output=True, text=True,
                              env={**os.environ, "IORAMA_DIR": segments}, timeout=TIMEOUT)  # fmt: skip
        must(os.path.exists(log), "recover: status %d: %s", made.returncode, made.stderr)
        found = {r["name"]: r["counters"] for r in Log(h.iorama, log, False).records("POSIX")}
        for i in range(done):
            counters = found.get("%s/many/file%d" % (os.path.realpath(folder), i), {})
            have = [counters.get("POSIX_" + name) for name in ("OPENS", "WRITES", "BYTES_WRITTEN")]
            must(have == [1, 1, 10], "%d of %d: %s", i, done, have)


CASES = {
    "space-killed": killed,
    "space-old-kernel": old_kernel,
    "space-groups": groups,
    "space-group-each": group_each,
    "space-address": address_space,
    "space-limited": limited,
    "space-limited-share": limited_share,
    "space-lock-root": lock_root,
    "space-lock-user": lock_user,
    "space-lock-tight": lock_tight,
    "space-files-1024": many(1024),
    "space-files-5000": many(5000),
    "space-files-20000": many(20000),
    "space-small-limits": small_limits,
}

if __name__ == "__main__":
    main(CASES)
