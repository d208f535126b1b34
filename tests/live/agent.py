# SPDX-License-Identifier: BSD-3-Clause
"""The agent at work: all that programs do arrives in the store, once, and as it was; and what happens when things go wrong."""
import glob
import json
import os
import random
import signal
import sqlite3
import subprocess
import time

import harness
import loads
from harness import Skip, expect


def all_stored(case, load, **more):
    """Waits until the store knows that the processes of a load have ended, then compares."""
    pids = ",".join(str(rank["pid"]) for rank in load.truth["ranks"])
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state != 'running' AND pid IN (%s)" % pids) ==
              len(load.truth["ranks"]), "the end of all processes in the store")  # fmt: skip
    case.wait(lambda: case.value("SELECT min(made = stored) FROM processes WHERE pid IN (%s)" % pids) == 1,
              "all events in the store")  # fmt: skip
    return load.check(**more)


def stopped(case, agent):
    case.end(agent, send=signal.SIGTERM)
    said = case.status()
    expect(said["ended"], "the agent did not say that it ended")
    return said


def left(case):
    """What is in the directory of segments."""
    return sorted(os.path.relpath(os.path.join(here, name), case.path("segments"))
                  for here, _, names in os.walk(case.path("segments")) for name in names)  # fmt: skip


# ---- everything arrives


def attached_idle(case):
    """A process that was attached and does nothing has run for a while, and never for less than nothing."""
    idle = case.start("sleep", "1000")
    case.agent()
    case.command("attach", "-q", "--live", idle.pid)
    seen = []
    case.wait(lambda: case.value("SELECT count(*) FROM jobs") == 1, "the job in the store")
    for _ in range(3):
        (job,) = case.wait(lambda: json.loads(case.command("jobs", "--json").stdout), "the job in the store")
        seen.append(job["run_time"])
        shown = case.command("jobs").stdout
        expect(" -" not in shown.splitlines()[-1].replace(" - ", " "), "jobs: %s", shown)
        time.sleep(0.5)
    expect(all(t is None or 0 <= t < 600 for t in seen), "run times: %s", seen)
    case.command("detach", "-q", idle.pid)
    idle.kill()


def one_program(case):
    agent = case.agent()
    load = loads.Load(case, threads=3, calls=4000).run()
    all_stored(case, load)
    said = stopped(case, agent)
    totals = loads.accounts(case)
    expect(totals["dropped"] == 0 and totals["lost"] == 0, "events were lost: %s", totals)
    expect(said["totals"]["stored"] == totals["stored"], "status %s, store %s", said["totals"], totals)
    expect(said["totals"]["made"] == totals["made"] and said["spool"]["messages"] == 0, "status: %s", said)
    job = case.rows("SELECT * FROM jobs")[0]
    expect(job["state"] == "done" and job["events"] == totals["stored"] and job["end_ns"], "the job: %s", job)
    expect(left(case) == [], "left behind: %s", left(case))
    expect(len(glob.glob(case.path("logs", "*.darshan"))) == 1, "the program's own log")
    second = json.loads(case.command("agent", "--status", "--json", status=3).stdout)
    expect(second["ended"] and not second["running"], "--status: %s", second)
    expect("stored" in case.command("agent", "--status", status=3).stdout, "--status as text")


def silent(case):
    """--status: 0 where an agent is at work, 3 where it stands still or is dead. A password is in neither that nor the list of processes."""
    url = "nats://me:very-secret@127.0.0.1:%d" % free_port()
    agent = case.agent("--sink", url)
    out = case.command("agent", "--status").stdout
    expect("runs on" in out and "127.0.0.1" in out, "--status: %s", out)
    with open(case.path("spool", "status.json"), encoding="utf-8") as status, open("/proc/%d/cmdline" % agent.pid, encoding="utf-8") as words:
        for text in (out, status.read(), words.read()):
            expect("very-secret" not in text and "me" in text, "a password: %s", text)
    agent.send_signal(signal.SIGSTOP)
    case.wait(lambda: case.command("agent", "--status", status=None).returncode == 3, "it is silent", timeout=60)
    expect(json.loads(case.command("agent", "--status", "--json", status=3).stdout)["silent"], "--json")
    agent.kill()
    agent.wait()
    expect("does not run" in case.command("agent", "--status", status=3).stdout, "it is dead")


def names(case):
    """Paths of 1.2 kB with quotes, newlines and UTF-8."""
    agent = case.agent()
    load = loads.Load(case, threads=2, calls=1000, mode="names").run()
    all_stored(case, load)
    long = case.value("SELECT max(length(CAST(path AS BLOB))) FROM files")
    expect(long >= 1100, "the longest path has %d bytes", long)
    expect(case.value("SELECT count(*) FROM files WHERE path LIKE '%' || char(10) || '%' AND path LIKE '%\"%'") > 0, "odd paths")
    stopped(case, agent)


def brief(case):
    """Processes that end at once, many of them: what they wrote is there all the same."""
    agent = case.agent()
    programs = [loads.Load(case, threads=1, calls=40).start() for _ in range(30)]
    for load in programs:
        load.end()
    for load in programs:
        all_stored(case, load)
    stopped(case, agent)
    expect(left(case) == [], "left behind: %s", left(case))
    loads.accounts(case)


def threads_one_after_the_other(case):
    """Lanes go from thread to thread; events stay their own thread's."""
    agent = case.agent()
    load = loads.Load(case, threads=2, calls=3000, mode="brief").run()
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state = 'ended'") == 1, "the end")
    expect(load.calls == sum(len(rows) for rows in load.rows().values()), "not all events")
    stopped(case, agent)
    loads.accounts(case)


def many_events(case, calls=125_000):
    """4 ranks x 2 threads, 10^6 events in all (10^7 with IORAMA_TEST_BIG=1), with default settings: nothing is lost."""
    if os.environ.get("IORAMA_TEST_BIG"):
        calls *= 10
    agent = case.agent()
    family = next((f for f in harness.FAMILIES if os.path.exists("/usr/bin/mpirun." + f)), None)
    if family is None:
        raise Skip("no MPI is installed")
    load = loads.Load(case, threads=2, calls=calls, mode="write", ranks=4, family=family).run()
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state != 'running'") >= 4, "the end of all ranks", 300)
    case.wait(lambda: case.value("SELECT min(made = stored) FROM processes") == 1, "all events", 300)
    totals = loads.accounts(case)
    expect(totals["dropped"] == 0 and totals["lost"] == 0, "events were lost: %s", totals)
    expect(totals["stored"] >= 8 * calls, "stored %d", totals["stored"])
    ranks = case.rows("SELECT rank, sum(made) made FROM processes WHERE nprocs = 4 GROUP BY rank ORDER BY rank")
    expect([r["rank"] for r in ranks] == [0, 1, 2, 3], "ranks %s", ranks)
    # the sequence of every lane is complete: blocks follow each other without a gap
    gaps = case.value("""SELECT count(*) FROM (SELECT first, lag(first + n, 1, 0) OVER (PARTITION BY process, lane ORDER BY first)
                         expected FROM blocks) WHERE first != expected""")  # fmt: skip
    expect(gaps == 0, "%d gaps", gaps)
    if calls <= 125_000:
        load.check_sums()
    said = stopped(case, agent)
    print("%d events, agent: %s" % (totals["stored"], said["totals"]))


# ---- killed, absent, twice


def killed_and_restarted(case):
    """Five times in one run, at random moments."""
    chance = random.Random(5)
    agent = case.agent()
    load = loads.Load(case, threads=2, calls=15_000, extra=["--pace", 100]).start()
    case.wait(lambda: case.status()["segments"] == 1, "the program")
    for _ in range(5):
        time.sleep(chance.random() * 0.3)  # the moment is what is random
        expect(load.process.poll() is None, "the program ended too soon")
        agent.kill()
        agent.wait()
        agent = case.agent()
    load.end()
    all_stored(case, load)
    stopped(case, agent)
    totals = loads.accounts(case)
    expect(totals["dropped"] == 0 and totals["lost"] == 0, "events were lost: %s", totals)
    expect(left(case) == [], "left behind: %s", left(case))


def absent(case):
    """No agent: the application does not notice, its log is complete, what found no room is counted."""
    env = case.observed(IORAMA_LIVE_MEMORY="1M")
    load = loads.Load(case, threads=2, calls=20_000, env=env).run()
    expect(left(case) == [], "segments stay though nobody will read them: %s", left(case))
    log = glob.glob(case.path("logs", "*.darshan"))
    expect(len(log) == 1, "logs: %s", log)
    total = json.loads(case.command("show", "--json", log[0]).stdout)["logs"][0]
    opens = sum(r["counters"]["POSIX_OPENS"] for m in total["modules"] if m["module"] == "POSIX" for r in m["records"]
                if r["name"].startswith(load.truth["ranks"][0]["prefix"]))  # fmt: skip
    expect(opens > 0, "the log has no opens")


def comes_late(case):
    """The agent comes when the program has filled its rings: what was dropped before is counted, the rest is there."""
    env = case.observed(IORAMA_LIVE_MEMORY="1M")
    load = loads.Load(case, threads=2, calls=20_000, env=env, extra=["--hold"]).start()
    seen = case.wait(lambda: glob.glob(case.path("segments", "*", "*.seg")), "the segment")
    expect(len(seen) == 1, "segments: %s", seen)
    case.wait(lambda: len(os.listdir(case.path("load.0"))) == 1, "the end of its calls")
    agent = case.agent()
    case.wait(lambda: case.value("SELECT made = stored AND made > 0 FROM processes"), "all that was left")
    load.end()
    case.wait(lambda: case.value("SELECT state FROM processes") == "ended", "the end")
    stopped(case, agent)
    totals = loads.accounts(case)
    expect(totals["dropped"] > 0, "nothing was dropped: %s", totals)
    measured = load.check(lost=1)
    expect(totals["made"] + totals["dropped"] >= load.calls, "seen %s, made %d calls", totals, load.calls)
    expect(measured <= totals["stored"], "stored %s", totals)


def two_agents(case):
    agent = case.agent()
    for words in ([], ["--spool", case.path("other")], ["--dir", case.path("elsewhere")]):
        second = case.command("agent", *words, status=4)
        expect(str(agent.pid) in second.stderr, "who has it is not said: %s", second.stderr)
        expect(second.stderr.count("\n") == 1, "more than one line: %s", second.stderr)
    load = loads.Load(case, threads=1, calls=500).run()
    all_stored(case, load)
    stopped(case, agent)


# ---- sinks and disks


def stuck_sink(case):
    """A sink that takes nothing: the spool fills up to its limit, memory does not grow, what is dropped is counted; when the sink
    comes back (here: an agent with another one, on the same spool) all that was not dropped arrives."""
    port = free_port()
    agent = case.agent("--sink", "nats://127.0.0.1:%d" % port, "--spool-limit", "256K", "--no-samples")
    made = programs_until(case, None, lambda: case.status()["spool"]["full"] and case.status()["totals"]["lost"] > 0, "2M", "losses")
    with open("/proc/%d/status" % agent.pid, encoding="ascii") as file:
        used = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    expect(used < 200 * 1024, "the agent took %d KiB of memory", used)
    size = sum(os.path.getsize(f) for f in glob.glob(case.path("spool", "*.spool")))
    expect(size <= 1 << 18, "the spool has %d bytes", size)
    agent.kill()
    agent.wait()
    agent = case.agent()
    pids = ",".join(str(load.truth["ranks"][0]["pid"]) for load in made)
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state = 'ended' AND pid IN (%s)" % pids) == len(made), "ends")
    case.wait(lambda: not case.status()["spool"]["full"] and case.status()["spool"]["messages"] <= 1, "an empty spool")
    stopped(case, agent)
    totals = loads.accounts(case)
    expect(totals["lost"] + totals["dropped"] > 0, "nothing was lost: %s", totals)
    for load in made:
        load.check(lost=1)
    expect(left(case) == [], "left behind: %s", left(case))


def slow_sink(case):
    """A store that is locked for a while: events wait in the spool, none is lost."""
    agent = case.agent()
    first = loads.Load(case, threads=1, calls=300).run()
    all_stored(case, first)
    blocker = sqlite3.connect(case.path("store.db"), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    load = loads.Load(case, threads=2, calls=20_000).run()
    case.wait(lambda: case.status()["spool"]["messages"] > 5, "messages that wait")
    blocker.execute("COMMIT")
    blocker.close()
    all_stored(case, load)
    stopped(case, agent)
    totals = loads.accounts(case)
    expect(totals["lost"] == 0 and totals["dropped"] == 0, "lost: %s", totals)


def full_disk(case):
    """The disk of the spool is full: as with a full spool."""
    if os.geteuid() != 0:
        raise Skip("a small file system can be made by root only")
    spool = case.path("small")
    os.makedirs(spool, mode=0o700)
    done = case.run("mount", "-t", "tmpfs", "-o", "size=700k,mode=700", "none", spool, status=None)
    if done.returncode != 0:
        raise Skip("no small file system: " + done.stderr.strip())
    try:
        env = case.environment(IORAMA_SPOOL=spool)
        sink = "nats://127.0.0.1:%d" % free_port()
        agent = case.agent("--sink", sink, "--no-samples", env=env)
        made = programs_until(case, env, lambda: case.status(env)["spool"]["full"], "1M", "a full disk")
        case.end(agent, send=signal.SIGTERM)
        agent = case.agent(env=env)
        pids = ",".join(str(load.truth["ranks"][0]["pid"]) for load in made)
        case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state = 'ended' AND pid IN (%s)" % pids) == len(made), "ends")
        case.wait(lambda: case.status(env)["spool"]["messages"] <= 1, "an empty spool")
        case.end(agent, send=signal.SIGTERM)
        loads.accounts(case)
        for load in made:
            load.check(lost=1)
    finally:
        case.stop_all()
        subprocess.run(["umount", spool], check=False)


def programs_until(case, env, done, memory, what):
    """How much of one program an agent gets, and how small it becomes, depends on how fast both are: one follows another until it
    is enough."""
    made, observed = [], case.observed(IORAMA_LIVE_MEMORY=memory)

    def seen():
        totals = case.status(env)["totals"]
        return totals["made"] + totals["dropped"] >= sum(m.calls for m in made)

    while not done():
        expect(len(made) < 100, "%d programs, and not %s", len(made), what)
        made.append(loads.Load(case, threads=2, calls=60_000, mode="write", env=observed).run())
        case.wait(lambda: done() or seen(), "the program at the agent")
    return made


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- time


def clock_set_back(case):
    """The real clock of the agent is set back by an hour while it works: a step, not a slope."""
    clock_set(case, -3600)


def clock_set_ahead(case):
    """The same, ahead."""
    clock_set(case, 3600)


def clock_set(case, by):
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
    if library is None:
        raise Skip("faketime is not installed")
    stamp = case.path("faketime")
    with open(stamp, "w", encoding="ascii") as file:
        file.write("+0\n")
    env = case.environment(LD_PRELOAD=library, FAKETIME_TIMESTAMP_FILE=stamp, FAKETIME_NO_CACHE="1", DONT_FAKE_MONOTONIC="1",
                           FAKETIME_DONT_FAKE_MONOTONIC="1")  # fmt: skip
    agent = case.agent(env=env)
    begun = time.time()
    load = loads.Load(case, threads=1, calls=4000, extra=["--gate"]).start()
    case.wait(lambda: case.status()["segments"] == 1, "the process")
    os.rename(write(stamp + ".new", "%+d\n" % by), stamp)
    case.wait(lambda: case.status()["clock"]["steps"] == 1, "the step")
    load.go()
    load.end()
    pid = load.truth["ranks"][0]["pid"]
    case.wait(lambda: case.value("SELECT made = stored AND state = 'ended' FROM processes WHERE pid = %d" % pid), "all events")
    took = time.time() - begun
    stopped(case, agent)
    # the job has the time of its beginning: it has run as long as it ran
    job = case.rows("SELECT start_ns, end_ns, run_time FROM jobs")[0]
    expect(0 < job["run_time"] <= took + 1 and abs(job["start_ns"] / 1e9 - begun) <= took, "%s, of %.1f s from %.1f", job, took, begun)
    rows = next(iter(load.rows().values()))
    for truth in load.samples():
        row = rows[truth["call"]]
        early = truth["before"] + by * 10**9 - row["start_ns"]
        late = row["end_ns"] - (truth["after"] + by * 10**9)
        # the agent's own clock is faked by whole calls: a little more than 10 µs
        expect(early <= 100_000 and late <= 100_000, "call %d: off by %d ns", truth["call"], max(early, late))
    loads.accounts(case)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


# ---- hostile


def hostile_segments(case):
    """Random bytes, links, fifos, directories, files that are cut while they are read: one line each at most, and the rest goes on."""
    jobs = case.path("segments")
    bad = os.path.join(jobs, "run-bad")
    os.makedirs(bad, mode=0o700)
    os.chmod(jobs, 0o700)
    chance = random.Random(7)
    with open(os.path.join(bad, "random.1.0.seg"), "wb") as file:
        file.write(chance.randbytes(300_000))
    with open(os.path.join(bad, "empty.2.0.seg"), "wb"):
        pass
    os.symlink("/etc/passwd", os.path.join(bad, "link.3.0.seg"))
    os.mkfifo(os.path.join(bad, "fifo.4.0.seg"))
    os.makedirs(os.path.join(bad, "folder.5.0.seg"))
    os.symlink("/etc", os.path.join(jobs, "run-link"))
    # a good one of a program that waits, its bytes changed in many places
    victim = loads.Load(case, threads=1, calls=2000, extra=["--hold"]).start()
    good = case.wait(lambda: glob.glob(os.path.join(jobs, "bare.*", "*.seg")), "a segment")[0]
    case.wait(lambda: os.path.exists(victim.truth_file + ".0"), "its calls")
    with open(good, "rb") as file:
        head = file.read(1 << 20)
    size = os.path.getsize(good)
    for i in range(40):
        copy = bytearray(head)
        for _ in range(chance.choice((1, 10, 1000))):
            copy[chance.randrange(len(copy))] = chance.randrange(256)
        path = os.path.join(bad, "changed.%d.0.seg" % (100 + i))
        with open(path, "wb") as file:
            file.write(copy)
            file.truncate(size if i % 3 else chance.randrange(size))
    agent = case.agent()
    # cut while it is mapped
    case.wait(lambda: case.status()["segments"] >= 1, "segments")
    cut = loads.Load(case, threads=2, calls=1_000_000, extra=["--hold"]).start()
    mine = case.wait(lambda: glob.glob(os.path.join(jobs, "bare.%d" % cut.process.pid, "*.seg")), "its segment")[0]
    case.wait(lambda: case.status()["totals"]["made"] > 5000, "events of it")
    cut.process.send_signal(signal.SIGSTOP)
    os.truncate(mine, 4096)
    load = loads.Load(case, threads=2, calls=3000).run()
    all_stored(case, load)
    expect(agent.poll() is None, "the agent ended: %s", agent.said())
    cut.process.kill()
    cut.process.wait()
    victim.end()
    all_stored(case, victim)
    case.wait(lambda: "random.1.0.seg" in agent.said(), "a word about the random file")
    said = stopped(case, agent)
    expect(said["totals"]["stored"] > 0, "nothing was stored")
    lines = [line for line in agent.said().splitlines() if "random.1.0.seg" in line]
    expect(len(lines) == 1 and "left alone" in lines[0], "of the random file: %s", agent.said())
    expect(os.path.islink(os.path.join(bad, "link.3.0.seg")), "the link is gone")


def killed_program(case):
    """A program that was killed: its events are there, it is said to be killed, and a log is made of it."""
    agent = case.agent()
    load = loads.Load(case, threads=2, calls=3000, extra=["--hold"]).start()
    case.wait(lambda: os.path.exists(load.truth_file + ".0"), "its calls")
    load.process.kill()
    load.process.wait()
    case.wait(lambda: case.value("SELECT state FROM processes") == "killed", "its end")
    case.wait(lambda: case.value("SELECT count(*) FROM logs") == 1, "its log in the store")
    case.wait(lambda: left(case) in ([], [".agent"]), "an empty directory")
    row = case.rows("SELECT * FROM jobs")
    expect(len(row) == 1 and row[0]["state"] == "incomplete" and row[0]["logged"], "jobs: %s", row)
    expect(len(glob.glob(case.path("logs", "*.darshan"))) == 1, "no log file")
    stopped(case, agent)
    totals = loads.accounts(case)
    expect(totals["stored"] >= 6000, "stored: %s", totals)


# ---- counters and samples


def events_off(case):
    """Without events the counters of each second tell what happens."""
    agent = case.agent("--events", "off")
    load = loads.Load(case, threads=1, calls=5000, mode="write", extra=["--size", 100, "--gate"]).start()
    case.wait(lambda: case.status()["segments"] == 1, "the process")
    load.go()
    load.end()
    case.wait(lambda: case.value("SELECT state FROM processes") == "ended", "the end")
    sums = case.rows("SELECT sum(writes) writes, sum(bytes_written) bytes FROM activity WHERE layer = 'POSIX'")[0]
    thread = load.truth["ranks"][0]["threads"][0]
    expect(sums["bytes"] >= thread["bytes_written"], "activity %s, truth %s", sums, thread)
    expect(sums["bytes"] < thread["bytes_written"] + 100_000, "activity %s, truth %s", sums, thread)
    stopped(case, agent)
    expect(loads.accounts(case)["made"] < 100, "events though they are off")


def activity_is_complete(case):
    """What the counters gained, second by second, is in the end what the log has: of processes that ended, were killed or came before
    the agent."""
    early = loads.Load(case, threads=2, calls=3000, extra=["--hold"]).start()
    case.wait(lambda: os.path.exists(early.truth_file + ".0"), "its calls")
    agent = case.agent()
    case.wait(lambda: case.status()["segments"] == 1, "the first")
    killed = loads.Load(case, threads=2, calls=3000, extra=["--hold"]).start()
    case.wait(lambda: os.path.exists(killed.truth_file + ".0"), "its calls")
    killed.process.kill()
    early.end()
    loads.Load(case, threads=2, calls=2000, extra=["--pace", 500]).run()
    case.wait(lambda: case.value("SELECT count(*) FROM processes WHERE state != 'running'") == 3, "all ends")
    case.wait(lambda: len(glob.glob(case.path("logs", "*.darshan"))) == 3, "three logs")
    stopped(case, agent)
    have = {row["layer"]: row for row in case.rows("""SELECT layer, sum(reads) reads, sum(writes) writes, sum(bytes_read) bytes_read,
            sum(bytes_written) bytes_written FROM activity GROUP BY layer""")}  # fmt: skip
    for layer in ("POSIX", "STDIO"):
        want = dict.fromkeys(("reads", "writes", "bytes_read", "bytes_written"), 0)
        for log in glob.glob(case.path("logs", "*.darshan")):
            modules = json.loads(case.command("show", "-q", "--show-incomplete", "--json", log).stdout)["logs"][0]["modules"]
            for record in (r for m in modules if m["module"] == layer for r in m["records"]):
                for key in want:
                    want[key] += record["counters"]["%s_%s" % (layer, key.upper())]
        for key, value in want.items():
            expect(have[layer][key] == value, "%s: %s of activity %d, of logs %d", layer, key, have[layer][key], value)
        expect(want["writes"] > 1000 or layer == "STDIO", "no writes: %s", want)


def switched_on(case):
    """A program that did not ask for events; the agent switches them on."""
    agent = case.agent("--events", "on")
    load = loads.Load(case, threads=1, calls=1000, extra=["--gate"], env=case.observed(IORAMA_LIVE="")).start()
    case.wait(lambda: case.status()["segments"] == 1, "the process")
    load.go()
    load.end()
    all_stored(case, load)
    stopped(case, agent)


def samples(case):
    """Figures of a machine that was made up."""
    root = case.path("machine")
    os.makedirs(os.path.join(root, "proc", "net"))
    write(os.path.join(root, "proc", "meminfo"), "MemTotal:  1000 kB\nMemFree:   250 kB\n")
    write(os.path.join(root, "proc", "loadavg"), "1.50 0.75 0.25 2/345 6789\n")
    agent = case.agent("--proc-root", root)
    case.wait(lambda: case.value("SELECT count(*) FROM samples WHERE metric = 'load.1'") >= 2, "samples")
    stopped(case, agent)
    have = {r["metric"]: r["value"] for r in case.rows("SELECT DISTINCT metric, value FROM samples")}
    expect(have == {"memory.total": 1024000, "memory.free": 256000, "load.1": 1.5, "load.5": 0.75, "load.15": 0.25},
           "samples: %s", have)  # fmt: skip


# ---- users


def users_apart(case):
    """As a service of the system: each user has a store of his own, which only he can read, and nobody's files are touched."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    if not os.path.exists("/usr/bin/setpriv"):
        raise Skip("setpriv is not installed")
    uids = (61234, 61235)
    base, home = case.path("shm"), case.path("home")
    os.makedirs(base, mode=0o755)
    os.chmod(base, 0o1777)
    os.chmod(case.folder, 0o755)
    os.chmod(case.work, 0o777)
    env = case.environment(IORAMA_DIR=None, IORAMA_STORE=None, IORAMA_SPOOL=os.path.join(home, "spool"))
    # a trap: what looks like the directory of another user, made by this one
    for uid in uids:
        folder = os.path.join(base, "iorama-%d" % uid)
        os.makedirs(folder, mode=0o700)
        os.chown(folder, uid, uid)
        os.makedirs(case.path("logs-%d" % uid))
        os.chown(case.path("logs-%d" % uid), uid, uid)
    os.makedirs(os.path.join(base, "iorama-61236"), mode=0o700)  # of root, named after a user
    agent = case.agent("--system", "--dir", base, "--home", home, env=env)
    made = {}
    for uid in uids:
        folder = os.path.join(base, "iorama-%d" % uid)
        made[uid] = loads.Load(case, threads=2, calls=2000, wrap=["setpriv", "--reuid", str(uid), "--regid", str(uid),
                               "--clear-groups"], env=case.observed(IORAMA_DIR=folder, IORAMA_LOG_DIR=case.path("logs-%d" % uid)))  # fmt: skip
        for path in (made[uid].folder, os.path.dirname(made[uid].truth_file)):
            os.chown(path, uid, uid)
        made[uid].run()
    for uid in uids:
        store = os.path.join(home, str(uid), "store.db")
        pid = made[uid].truth["ranks"][0]["pid"]
        case.wait(lambda s=store, p=pid: case.value("SELECT made = stored AND state = 'ended' FROM processes WHERE pid = %d" % p,
                                                    store=s), "the events of user %d" % uid)  # fmt: skip
        made[uid].check(store=store)
        owners = {row["uid"] for row in case.rows("SELECT uid FROM jobs", store=store)}
        expect(owners == {uid}, "store of %d has jobs of %s", uid, owners)
        for path in (os.path.dirname(store), store):
            st = os.stat(path)
            expect(st.st_uid == uid and st.st_mode & 0o077 == 0, "%s: owner %d, mode %o", path, st.st_uid, st.st_mode)
        loads.accounts(case, store=store)
    case.end(agent, send=signal.SIGTERM)
    other = case.run("setpriv", "--reuid", str(uids[0]), "--regid", str(uids[0]), "--clear-groups", "cat",
                     os.path.join(home, str(uids[1]), "store.db"), status=None)  # fmt: skip
    expect(other.returncode != 0, "a user can read the store of another")
    planted_link(case, uids[0], home, base)


def planted_link(case, uid, home, base):
    """Where his store is a user puts a link to a file of root: it is neither followed with root's rights nor changed."""
    secret = case.path("secret.db")
    write(secret, "not yours")
    os.chmod(secret, 0o600)
    store = os.path.join(home, str(uid), "store.db")
    for path in glob.glob(store + "*"):
        os.remove(path)
    os.symlink(secret, store)
    env = case.environment(IORAMA_DIR=None, IORAMA_STORE=None, IORAMA_SPOOL=os.path.join(home, "spool"))
    agent = case.agent("--system", "--dir", base, "--home", home, env=env)
    load = loads.Load(case, threads=1, calls=200, wrap=["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"],
                      env=case.observed(IORAMA_DIR=os.path.join(base, "iorama-%d" % uid),
                                        IORAMA_LOG_DIR=case.path("logs-%d" % uid)))  # fmt: skip
    for path in (load.folder, os.path.dirname(load.truth_file)):
        os.chown(path, uid, uid)
    load.run()
    case.wait(lambda: case.status(env)["spool"]["messages"] > 0, "messages that wait")
    case.wait(lambda: "store.db" in agent.said(), "a word about the link")
    case.end(agent, send=signal.SIGTERM)
    expect(harness.text_of(secret) == "not yours", "the link was followed")


def other_users_segments(case):
    """An agent without rights leaves what is not its user's alone."""
    if os.geteuid() != 0 or not os.path.exists("/usr/bin/setpriv"):
        raise Skip("needs root and setpriv")
    theirs = case.path("segments", "run-theirs")
    os.makedirs(theirs, mode=0o700)
    os.chmod(case.path("segments"), 0o700)
    os.chown(theirs, 61234, 61234)
    agent = case.agent()
    load = loads.Load(case, threads=1, calls=500).run()
    all_stored(case, load)
    stopped(case, agent)
    expect(os.path.isdir(theirs), "another user's directory is gone")
    denied = case.run("setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups", case.iorama, "agent", "--dir",
                      case.path("segments"), "--spool", case.path("theirs"), status=4)  # fmt: skip
    expect(denied.stderr.count("\n") == 1, "one line: %s", denied.stderr)


CASES = {f.__name__.replace("_", "-"): f for f in (
    one_program, silent, attached_idle, names, brief, threads_one_after_the_other, many_events, killed_and_restarted, absent, comes_late, two_agents,
    stuck_sink, slow_sink, full_disk, clock_set_back, clock_set_ahead, hostile_segments, killed_program, events_off, activity_is_complete, switched_on, samples,
    users_apart, other_users_segments)}  # fmt: skip

if __name__ == "__main__":
    harness.main(CASES)
