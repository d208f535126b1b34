# SPDX-License-Identifier: BSD-3-Clause
"""An agent of the system, and users who mean ill: two of them, real ones, and whatever the one does the other's events go to his
own store, all of them, and nowhere else. Runs with a /dev/shm and a /tmp of its own, so that no other test is in the way."""
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

import harness
import cases
import loads
from harness import Failed, Skip, expect

MALLORY, BOB = 21841, 21842
CLONE_NEWNS = 0x20000
# the numbers of files are given in order by a file system in memory: this many before there is one that others have had
MANY = 3000

MAKE = """
import os, sys
folder, wanted, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(most):
    path = os.path.join(folder, "%s.%d.0.seg" % (sys.argv[4], 500000 + i))
    with open(path, "wb"):
        number = os.stat(path).st_ino
    if number == wanted:
        print(path)
        break
"""


def alone(function):
    """The case, in a process that sees its own /dev/shm and /tmp, both empty, on two file systems in memory."""

    def inside(case):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) != 0:
            raise Skip("no mount namespace: " + os.strerror(ctypes.get_errno()))
        case.run("mount", "--make-rprivate", "/")
        folder = os.path.join(case.work, "folder")
        os.makedirs(folder)
        case.run("mount", "--bind", case.folder, folder)
        for place in ("/dev/shm", "/tmp"):
            cases.cover(place, "mode=1777")
        case.folder = folder
        os.chmod(folder, 0o755)
        os.chmod(case.work, 0o777)
        function(case)

    def outside(case):
        if os.geteuid() != 0:
            raise Skip("needs root: two users, and file systems of its own")
        cases.need("setpriv", "mount")
        case.environment()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                harness.die_with_parent()
                inside(case)
                status = 0
            except (Skip, Failed) as why:
                print(why)
                status = cases.SKIPPED if isinstance(why, Skip) else 1
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc(file=sys.stdout)
            finally:
                case.stop_all()
                sys.stdout.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == cases.SKIPPED:
            raise Skip("as said above")
        expect(status == 0, "see above (%d)", status)

    outside.__name__ = function.__name__
    return outside


def as_user(uid):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]


def own(path, uid):
    os.makedirs(path, mode=0o700, exist_ok=True)
    os.chmod(path, 0o700)
    os.chown(path, uid, uid)
    return path


class System:
    """An agent for all users, and what it has of each."""

    def __init__(self, case, *words):
        self.case, self.home = case, case.path("home")
        self.env = case.environment(IORAMA_DIR=None, IORAMA_STORE=None, IORAMA_SPOOL=os.path.join(self.home, "spool"))
        self.agent = case.agent("--system", "--home", self.home, "--no-samples", *words, env=self.env)

    def store(self, uid):
        return os.path.join(self.home, str(uid), "store.db")

    def load(self, uid, folder, **more):
        """A program of that user, whose segments are in this folder."""
        logs = own(self.case.path("logs-%d" % uid), uid)
        load = loads.Load(self.case, wrap=as_user(uid), env=self.case.observed(IORAMA_DIR=folder, IORAMA_LOG_DIR=logs), **more)
        for path in (load.folder, os.path.dirname(load.truth_file)):
            os.chown(path, uid, uid)
        return load

    def stored(self, uid, load):
        """All of it is in the store of that user."""
        pid = load.truth["ranks"][0]["pid"]
        self.case.wait(lambda: self.case.value("SELECT made = stored AND state = 'ended' FROM processes WHERE pid = %d" % pid,
                                               store=self.store(uid)), "the events of user %d" % uid, timeout=60)  # fmt: skip
        load.check(store=self.store(uid))
        loads.accounts(self.case, store=self.store(uid))

    def only(self, uid, *others):
        """Nothing of another user is in his store."""
        if not os.path.exists(self.store(uid)):
            return
        for table in ("jobs", "processes"):
            uids = {row["uid"] for row in self.case.rows("SELECT uid FROM %s" % table, store=self.store(uid))}
            expect(uids <= {uid}, "%s of user %d has rows of %s", table, uid, uids)
        for load in others:
            pid = load.truth["ranks"][0]["pid"]
            for sql in ("SELECT count(*) FROM processes WHERE pid = %d" % pid,
                        "SELECT count(*) FROM files WHERE path LIKE '%s%%'" % load.folder):  # fmt: skip
                expect(self.case.value(sql, store=self.store(uid)) == 0, "user %d has what is another's: %s", uid, sql)

    def end(self):
        self.case.end(self.agent, send=signal.SIGTERM)


def segment_of(case, folder, pid):
    """The path of a process's segment, once it is there."""

    def look():
        for here, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".seg") and ".%d." % pid in name:
                    return os.path.join(here, name)
        return None

    return case.wait(look, "a segment")


def take_number(case, folder, wanted):
    """Mallory makes empty segments until one has this inode number; its path."""
    done = case.run(*as_user(MALLORY), sys.executable, "-c", MAKE, folder, wanted, MANY, socket.gethostname())
    expect(done.stdout.strip(), "no file got the number %d", wanted)
    return done.stdout.strip()


@alone
def inode_taken(case):
    """Bob's program runs in /dev/shm. Mallory makes empty files in /tmp until one has the inode number of Bob's segment."""
    bobs, mine = own("/dev/shm/iorama-%d" % BOB, BOB), own("/tmp/iorama-%d" % MALLORY, MALLORY)
    trap = own(os.path.join(mine, "run-trap"), MALLORY)
    for i in range(100):  # so that his number is still to come in /tmp
        os.close(os.open("/dev/shm/spare.%d" % i, os.O_CREAT, 0o600))
    system = System(case)
    bob = system.load(BOB, bobs, threads=2, calls=3000, extra=["--gate"]).start()
    segment = segment_of(case, bobs, bob.process.pid)
    case.wait(lambda: case.value("SELECT count(*) FROM processes", store=system.store(BOB)) == 1, "Bob's process in his store")
    st = os.stat(segment)
    taken = os.stat(take_number(case, trap, st.st_ino))
    expect(taken.st_ino == st.st_ino and taken.st_dev != st.st_dev, "no collision: %s, %s", st, taken)
    look = json.loads(case.command("watch", "--once", "--json", env=system.env).stdout.splitlines()[-1])
    owners = {(job["key"], job["uid"]) for job in look["jobs"]}
    expect(len(owners) == 1 and min(owners)[1] == BOB, "iorama watch: %s", owners)
    # what he does after it is seen after it
    after = system.load(MALLORY, mine, threads=1, calls=100).run()
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE pid = %d AND state = 'ended'" %
                                 after.truth["ranks"][0]["pid"], store=system.store(MALLORY)), "Mallory's end")  # fmt: skip
    bob.go()
    bob.end()
    system.stored(BOB, bob)
    system.only(MALLORY, bob)
    system.only(BOB, after)
    system.stored(MALLORY, after)
    expect(not os.path.exists(segment), "Bob's segment stays behind")
    system.end()


@alone
def inode_shadowed(case):
    """Mallory's files, which are no segments, are there first, under all numbers that Bob's could get: Bob's is read all the same."""
    bobs, mine = own("/dev/shm/iorama-%d" % BOB, BOB), own("/tmp/iorama-%d" % MALLORY, MALLORY)
    trap = own(os.path.join(mine, "run-trap"), MALLORY)
    for i in range(20):  # the first numbers may be those of folders in /tmp
        os.close(os.open("/dev/shm/spare.%d" % i, os.O_CREAT, 0o600))
    case.run(*as_user(MALLORY), sys.executable, "-c", MAKE, trap, 0, 300, socket.gethostname())
    system = System(case)
    case.wait(lambda: system.agent.said().count("left alone") >= 100, "the agent gave up Mallory's files")
    bob = system.load(BOB, bobs, threads=2, calls=1000, extra=["--gate"]).start()
    st = os.stat(segment_of(case, bobs, bob.process.pid))
    numbers = {os.stat(os.path.join(trap, name)).st_ino for name in os.listdir(trap)}
    expect(st.st_ino in numbers, "no collision: %d", st.st_ino)
    bob.go()
    bob.end()
    system.stored(BOB, bob)
    system.only(MALLORY, bob)
    system.end()


FLOOD = """
import os, sys
for i in range(*map(int, sys.argv[2:4])):
    folder = os.path.join(sys.argv[1], "run-%d" % i)
    os.mkdir(folder, 0o700)
    with open(os.path.join(folder, "x.1.0.seg"), "wb"):
        pass
"""


@alone
def flood(case):
    """Mallory makes more directories and files than anybody needs: the agent says so once, takes no more of them than his share, and
    Bob's events come as before."""
    bobs, mine = own("/dev/shm/iorama-%d" % BOB, BOB), own("/dev/shm/iorama-%d" % MALLORY, MALLORY)
    system = System(case)
    case.run(*as_user(MALLORY), sys.executable, "-c", FLOOD, mine, 0, 300)
    # with this his words are used up, before there are too many of anything else
    case.wait(lambda: system.agent.said().count("left alone") >= 100, "words about his files")
    case.run(*as_user(MALLORY), sys.executable, "-c", FLOOD, mine, 300, 9000)
    bob = system.load(BOB, bobs, threads=2, calls=3000).run()
    system.stored(BOB, bob)
    case.wait(lambda: "user %d has more" % MALLORY in system.agent.said(), "a word about it")
    expect(system.agent.said().count("user %d has more" % MALLORY) == 1, "it is said once")
    with open("/proc/%d/fdinfo/%d" % (system.agent.pid, inotify_of(system.agent.pid)), encoding="ascii") as file:
        watches = sum(line.startswith("inotify") for line in file)
    expect(watches <= 8192 + 10, "%d directories are watched", watches)
    system.end()


def inotify_of(pid):
    for number in os.listdir("/proc/%d/fd" % pid):
        if os.readlink("/proc/%d/fd/%s" % (pid, number)) == "anon_inode:inotify":
            return int(number)
    raise Failed("the agent watches nothing")

PLANT = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60)
db.executescript("CREATE TRIGGER t AFTER INSERT ON processes BEGIN SELECT (WITH RECURSIVE c(x) AS"
                 " (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c); END")
db.close()
"""


class Slow:
    """How long it takes from the end of Bob's program to the moment at which his store knows of it."""

    def __init__(self, system, folder):
        self.system, self.folder = system, folder

    def once(self):
        load = self.system.load(BOB, self.folder, threads=1, calls=200).run()
        pid, begun = load.truth["ranks"][0]["pid"], time.monotonic()
        sql = "SELECT count(*) FROM processes WHERE pid = %d AND state = 'ended' AND made = stored" % pid
        self.system.case.wait(lambda: self.system.case.value(sql, store=self.system.store(BOB)), "Bob's events", timeout=120)
        return time.monotonic() - begun


def memory_of(pid):
    """Bytes of its own: what lies in the segments of others is theirs."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) << 10


def writers_of(pid):
    """{process: its user} of all that the agent has begun."""
    found, todo = {}, [pid]
    while todo:
        one = todo.pop()
        for task in os.listdir("/proc/%d/task" % one):
            with open("/proc/%d/task/%s/children" % (one, task), encoding="ascii") as file:
                todo += [int(word) for word in file.read().split()]
        with open("/proc/%d/status" % one, encoding="ascii", errors="replace") as file:
            ids = next(line.split()[1:] for line in file if line.startswith("Uid"))
        found[one] = int(ids[0]) if len(set(ids)) == 1 else -1
    del found[pid]
    return found


def forge(case, mine, begin, end, what, segment):
    """Mallory's copies of one of his segments, in as many jobs; the process that they claim to be."""
    process = case.start(*as_user(MALLORY), case.compile("forge"), segment, mine, begin, end, what, stdin=subprocess.PIPE)
    case.wait(lambda: "done" in harness.text_of(process.out) or process.poll() is not None, "forged segments", timeout=300)
    expect(process.poll() is None, "forge: %s", process.said())
    return process


def kept_segment(case, system, mine):
    """A segment of Mallory's, copied while its process was at work."""
    load = system.load(MALLORY, mine, threads=2, calls=500, extra=["--gate"]).start()
    copy = case.path("segment")
    shutil.copyfile(segment_of(case, mine, load.process.pid), copy)
    os.chown(copy, MALLORY, MALLORY)
    os.chmod(case.path(), 0o755)
    load.go()
    load.end()
    return copy


@alone
def forged(case):
    """9,000 segments of Mallory's that claim to be a process that lives, 8 of them with a thousand lanes full of events, and 8 with 400,000
    names: Bob's events come within two seconds as ever, the agent stays small, and ends when it is told to."""
    bobs, mine = own("/dev/shm/iorama-%d" % BOB, BOB), own("/dev/shm/iorama-%d" % MALLORY, MALLORY)
    system = System(case, "--spool-limit", "32M")
    copy = kept_segment(case, system, mine)
    slow = Slow(system, bobs)
    slow.once()  # makes his store
    forge(case, mine, 0, 8, "flood", copy)
    forge(case, mine, 8, 16, "names", copy)
    case.wait(lambda: case.status(system.env)["segments"] >= 16, "the agent reads them")
    took = [slow.once() for _ in range(4)]
    forge(case, mine, 16, 9000, "plain", copy)
    took += [slow.once() for _ in range(4)]
    expect(min(took[:4]) < 2 and min(took[4:]) < 2, "Bob waits for %s s", ", ".join("%.1f" % t for t in took))
    used = memory_of(system.agent.pid)
    expect(used < 200 << 20, "the agent has %d MiB", used >> 20)
    begun = time.monotonic()
    case.end(system.agent, send=signal.SIGTERM, status=None)
    expect(time.monotonic() - begun < 15, "it took %.1f s to end", time.monotonic() - begun)


@alone
def trigger(case):
    """What Mallory puts into his own store runs in a process of his, with none of root's rights; one that never ends keeps nobody else
    waiting, nor the end of the agent."""
    bobs, mine = own("/dev/shm/iorama-%d" % BOB, BOB), own("/dev/shm/iorama-%d" % MALLORY, MALLORY)
    system = System(case)
    first = system.load(MALLORY, mine, threads=1, calls=100).run()
    system.stored(MALLORY, first)
    writers = writers_of(system.agent.pid)
    expect(sorted(writers.values()) == [0, MALLORY], "processes of the agent: %s", writers)
    writer = next(pid for pid, uid in writers.items() if uid == MALLORY)
    with open("/proc/%d/status" % writer, encoding="ascii", errors="replace") as file:
        status = dict(line.split(":\t") for line in file.read().splitlines() if ":\t" in line)
    expect(int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1" and not status["Groups"].strip(), "rights: %s", status)
    case.run(*as_user(MALLORY), sys.executable, "-c", PLANT, system.store(MALLORY))
    other = system.load(MALLORY, mine, threads=1, calls=100).run()
    bob = system.load(BOB, bobs, threads=2, calls=3000).run()
    system.stored(BOB, bob)
    expect(MALLORY in writers_of(system.agent.pid).values(), "nobody is at work on Mallory's store")
    expect(case.value("SELECT count(*) FROM processes WHERE pid = %d" % other.truth["ranks"][0]["pid"], store=system.store(MALLORY)) == 0,
           "the trigger did not work")  # fmt: skip
    left = writers_of(system.agent.pid)
    begun = time.monotonic()
    case.end(system.agent, send=signal.SIGTERM, status=None)
    expect(time.monotonic() - begun < 15, "it took %.1f s to end", time.monotonic() - begun)
    case.wait(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in left), "the end of its writers")
    # without the trigger all of it comes, from the spool
    case.run(*as_user(MALLORY), sys.executable, "-c", PLANT.replace("CREATE TRIGGER", "DROP TRIGGER t; --"), system.store(MALLORY))
    system.agent = case.agent("--system", "--home", system.home, "--no-samples", env=system.env)
    system.stored(MALLORY, other)
    system.end()


@alone
def writer_killed(case):
    """A writer that is killed, again and again, loses nothing."""
    mine = own("/dev/shm/iorama-%d" % MALLORY, MALLORY)
    system = System(case)
    system.stored(MALLORY, system.load(MALLORY, mine, threads=1, calls=10).run())
    load = system.load(MALLORY, mine, threads=2, calls=5000, extra=["--pace", 100, "--gate"]).start()
    before = set()
    for number in range(4):
        def fresh():
            with contextlib.suppress(OSError):
                return {pid for pid, uid in writers_of(system.agent.pid).items() if uid == MALLORY} - before
            return None

        if number == 1:  # the next one is made when there is something to write
            load.go()
        now = case.wait(fresh, "writer %d" % number)
        for pid in now:
            os.kill(pid, signal.SIGKILL)
        before |= now
    load.end()
    system.stored(MALLORY, load)
    system.end()


CASES = {f.__name__.replace("_", "-"): f for f in (inode_taken, inode_shadowed, flood, forged, trigger, writer_killed)}

if __name__ == "__main__":
    harness.main(CASES)
