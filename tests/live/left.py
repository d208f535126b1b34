# SPDX-License-Identifier: BSD-3-Clause
"""Spools that stay behind: of runs whose store was away, of agents that were killed. The next agent of their user brings them where
they were meant to go, or `iorama agent --drain` does, and nobody else ever does."""
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess

import harness
import loads
import servers
from harness import Skip, expect

STRANGER = 21861


def told(text):
    return json.loads(text.strip().splitlines()[-1])


def run_away(case, where, json_too=True):
    """`iorama run --live` with a store that is away, to its end; its agent is killed then, so that nobody has to wait for it."""
    words = ["--json"] if json_too else []
    load = loads.Load(case, threads=2, calls=1500, wrap=[case.iorama, "run", "--live", *words, "--store", where, "--"],
                      env=case.environment())  # fmt: skip
    done = case.run(*load.command(), env=load.environment(), stdin=subprocess.DEVNULL)
    load.truth, load.said = json.loads(done.stdout), done.stderr
    with open(spools(case)[-1] + "/status.json", encoding="utf-8") as file:
        pid = json.load(file)["pid"]
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    case.wait(lambda: is_free(spools(case)[-1]), "the end of its agent")
    return load


def spools(case):
    return sorted(glob.glob(case.path("spool.run", "*")), key=os.path.getmtime)


def is_free(spool):
    with open(os.path.join(spool, "lock"), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def away(case):
    """A place for a store that cannot be used: where its folder should be is a file."""
    with open(case.path("gone"), "w", encoding="utf-8"):
        pass
    return case.path("gone", "store.db")


def back(case):
    os.remove(case.path("gone"))


def whole(case, store, load):
    loads.accounts(case, store=store)
    load.check(store=store)


def drained(case):
    """What to do is said, and does it: all events are there, where they were meant to go, and nothing stays behind."""
    store = away(case)
    load = run_away(case, store, json_too=False)
    expect("iorama agent --drain" in load.said and "goes on" not in load.said, "what to do is not said: %s", load.said)
    mode = os.stat(spools(case)[0]).st_mode & 0o777
    expect(mode == 0o700, "mode of the spool: %o", mode)
    for name in glob.glob(spools(case)[0] + "/*"):
        expect(os.stat(name).st_mode & 0o077 == 0, "others may read %s", name)
    # the store is still away: that is said, and nothing is lost
    done = case.command("agent", "--drain", status=4, timeout=100)
    expect("wait in" in done.stderr, "%s", done.stderr)
    back(case)
    case.command("agent", "--drain")
    whole(case, store, load)
    expect(spools(case) == [], "left: %s", spools(case))
    case.command("agent", "--drain")  # nothing to do


def next_agent(case):
    """The next agent takes it over, though its own store is another."""
    store = away(case)
    load = run_away(case, store)
    events = told(load.said)["events"]
    expect(events["waiting"] > 0 and events["stored"] == 0, "events: %s", events)
    back(case)
    agent = case.agent()
    case.wait(lambda: case.value("SELECT sum(stored) FROM processes", store=store) == events["seen"], "its events")
    case.wait(lambda: spools(case) == [], "an empty folder")
    case.end(agent, send=signal.SIGTERM)
    whole(case, store, load)
    if os.path.exists(case.path("store.db")):
        expect(case.value("SELECT count(*) FROM jobs") == 0, "a job in the wrong store")


def by_postgres(case):
    """The store is a server that is away, then back; the agent is there all the time, and two runs wait."""
    with servers.Postgres() as pg:
        pg.stop()
        one, two = run_away(case, pg.url), run_away(case, pg.url)
        expect(len(spools(case)) == 2, "spools: %s", spools(case))
        agent = case.agent()
        case.wait(lambda: case.status()["spool"]["left"] > 0, "both are taken over")
        expect(agent.poll() is None, "the agent ended: %s", agent.said())
        pg.start()
        case.wait(lambda: spools(case) == [], "an empty folder")
        case.end(agent, send=signal.SIGTERM)
        want = sum(told(load.said)["events"]["seen"] for load in (one, two))
        expect(int(pg.value("SELECT sum(stored) FROM processes")) == want, "%s of %d events", pg.value("SELECT sum(stored) FROM processes"), want)
        expect(pg.value("SELECT count(*) FROM processes WHERE made <> stored") == "0", "events are missing")


def one_owner(case):
    """A spool that another process has, or that a run still looks after, is left alone until it is free; several that want it get it
    one after the other."""
    store = away(case)
    load = run_away(case, store)
    back(case)
    spool = spools(case)[0]
    before = sorted(os.listdir(spool))
    for name in ("lock", "run"):
        with open(os.path.join(spool, name), "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            agent = case.agent()
            case.wait(lambda: case.status()["segments"] == 0, "the agent")
            for _ in range(3):  # each of these is written after all that is done in a second
                stamp = case.status()["updated"]
                case.wait(lambda: case.status()["updated"] > stamp, "another second")
            expect(case.status()["spool"]["left"] == 0, "it was taken though it is locked")
            expect(sorted(os.listdir(spool)) == before, "it was changed: %s", os.listdir(spool))
            case.end(agent, send=signal.SIGTERM)
    expect(not os.path.exists(store), "a store was made")
    many = [case.start(case.iorama, "agent", "--drain", "--spool", case.path("spool")) for _ in range(4)]
    for process in many:
        case.end(process)
    whole(case, store, load)
    expect(case.value("SELECT count(*) FROM processes", store=store) >= 1, "no process")
    expect(spools(case) == [], "left: %s", spools(case))


def waited_for(case):
    """Another process has the agent's own spool: that is said and waited for, and what waits there is brought when it is free."""
    store = away(case)
    load = run_away(case, store)
    back(case)
    os.rename(spools(case)[0], case.path("spool"))
    with open(case.path("spool", "lock"), "a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        drain = case.start(case.iorama, "agent", "--drain", "--spool", case.path("spool"))
        case.wait(lambda: "waiting for it" in drain.said(), "its patience")
        expect(drain.poll() is None and not os.path.exists(store), "it did not wait: %s", drain.said())
    case.end(drain)
    whole(case, store, load)


def strangers(case):
    """A spool that belongs to another, or into which others may write, is nobody's business here; also not root's."""
    if os.geteuid() != 0:
        raise Skip("needs root: files of another user")
    store = away(case)
    run_away(case, store)
    back(case)
    mine = spools(case)[0]
    theirs, open_one = mine + "-theirs", mine + "-open"
    shutil.copytree(mine, theirs)
    shutil.copytree(mine, open_one)
    for here, _, names in os.walk(theirs):
        for path in (here, *(os.path.join(here, n) for n in names)):
            os.chown(path, STRANGER, STRANGER)
    os.chmod(open_one, 0o777)
    os.symlink(mine, mine + "-link")
    held = {path: sorted(os.listdir(path)) for path in (theirs, open_one)}
    case.command("agent", "--drain")
    expect(not os.path.exists(mine), "our own is still there")
    for path, names in held.items():
        expect(sorted(os.listdir(path)) == names, "%s was changed", path)
    expect(os.path.islink(mine + "-link"), "the link is gone")
    # a folder of spools in which others could put theirs
    shutil.copytree(open_one, mine)
    os.chmod(mine, 0o700)
    os.chmod(case.path("spool.run"), 0o777)
    case.command("agent", "--drain")
    expect(os.path.exists(mine), "a spool in a folder that all may write to was taken")
    # and a user does not get at those of another
    os.chmod(case.folder, 0o755)
    os.chmod(case.path("spool.run"), 0o755)
    case.run("setpriv", "--reuid", str(STRANGER + 1), "--regid", str(STRANGER + 1), "--clear-groups", case.iorama, "agent", "--drain",
             "--spool", case.path("spool"), "--store", case.path("stolen.db"), env=case.environment(HOME="/nonexistent"), status=None)  # fmt: skip
    expect(not os.path.exists(case.path("stolen.db")) and os.path.exists(mine), "a stranger took it")


def of_the_system(case):
    """Messages of a user who has no job any more: the next agent of the system brings them."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise Skip("needs root and setpriv")
    base, home = case.path("shm"), case.path("home")
    for path in (base, case.folder, case.work):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o1777)
    folder, logs = os.path.join(base, "iorama-%d" % STRANGER), case.path("logs-x")
    env = case.environment(IORAMA_DIR=None, IORAMA_STORE=None, IORAMA_SPOOL=os.path.join(home, "spool"))
    for path in (folder, logs, os.path.join(home, str(STRANGER))):
        os.makedirs(path, mode=0o700)
        os.chown(path, STRANGER, STRANGER)
    os.chmod(home, 0o755)
    store = os.path.join(home, str(STRANGER), "store.db")
    os.mkdir(store)  # no store can be made there
    os.chown(store, STRANGER, STRANGER)
    agent = case.agent("--system", "--dir", base, "--home", home, "--no-samples", env=env)
    load = loads.Load(case, threads=1, calls=500, env=case.observed(IORAMA_DIR=folder, IORAMA_LOG_DIR=logs),
                      wrap=["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups"])  # fmt: skip
    for path in (load.folder, os.path.dirname(load.truth_file)):
        os.chown(path, STRANGER, STRANGER)
    load.run()
    case.wait(lambda: case.status(env)["segments"] == 0 and case.status(env)["spool"]["messages"] > 0, "messages that wait")
    case.wait(lambda: not glob.glob(folder + "/*/*.seg"), "all is read")
    agent.kill()
    agent.wait()
    os.rmdir(store)
    agent = case.agent("--system", "--dir", base, "--home", home, "--no-samples", env=env)
    case.wait(lambda: case.value("SELECT made = stored AND state = 'ended' FROM processes", store=store), "its events")
    load.check(store=store)
    case.end(agent, send=signal.SIGTERM)


CASES = {f.__name__.replace("_", "-"): f for f in (drained, next_agent, by_postgres, one_owner, waited_for, strangers, of_the_system)}

if __name__ == "__main__":
    harness.main(CASES)
