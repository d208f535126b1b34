#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rights.py BUILD CASE | --list: daemons and servers of a GlusterFS are root's, and so are their logs, which an agent of root sends
into a shared PostgreSQL. Two users of that see each what was done for themselves; of the other no name, only a number."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import cases  # noqa: E402
import gluster  # noqa: E402
import harness  # noqa: E402
import servers  # noqa: E402
from cases import expect  # noqa: E402

PIECE = 131072  # bytes of a request of the kernel
USERS = {20171: ("ada-secret", 9), 20172: ("bob-secret", 14)}  # whose files, pieces

# as the user: after each of his pieces he waits until the other has done one, so that both are at work at the same time
WRITER = """i=0
while [ $i -lt $4 ]; do
    dd if=/dev/zero of="$1" bs=131072 count=1 seek=$i conv=notrunc 2> /dev/null || exit 1
    : > "$2$i"
    while [ $i -lt $5 ] && ! [ -e "$3$i" ]; do sleep 0.01; done
    i=$((i + 1))
done"""


def job_of(case, folder, uid, other):
    """The user's job, which he has observed himself: its process, its log."""
    name, pieces = USERS[uid]
    log = os.path.join(folder, "%s.darshan" % name)
    signs = [os.path.join(case.observed_folder, "sign-%d-" % who) for who in (uid, other)]
    words = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", case.iorama, "run", "-q", "--trace", "-o", log, "--", "sh", "-c", WRITER, "sh",
             os.path.join(case.fs.mount, name, name), *signs, str(pieces), str(min(n for _, n in USERS.values()))]  # fmt: skip
    env = case.environment(IORAMA_DIR=None, HOME=case.observed_folder, IORAMA_LOG_DIR=folder)
    return subprocess.Popen(words, env=env, cwd=case.observed_folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=cases.die_with_parent), log


def path(case, url, job, *words):
    return case.run(case.iorama, "path", "--store=" + url, str(job), *words).stdout


def check_calls(calls, name, pieces):
    """all that was done for him, down to the disks; nothing of anybody else"""
    writes = [c for c in calls if c["layer"] == "POSIX" and c["role"] == "application" and c["kind"] == "write" and c["file"].endswith(name)]
    print("# %s: %s" % (name, [(c["requests"], c["rpcs"], c["disk_accesses"]) for c in writes]))
    expect(len(writes) == pieces and {(c["requests"], c["rpcs"], c["disk_accesses"]) for c in writes} == {(1, 3, 3)}, "%d pieces: %s", pieces, writes[:3])
    for c in calls:
        expect(c["before"] + c["inside"] + c["between"] + c["after"] == c["time"], "gaps of call %d", c["call"])


def check_rows(case, pg, uid):
    """What a user can read of the rows themselves, whatever tool he takes: requests that name him, and what is part of them."""
    other = next(name for who, (name, _) in USERS.items() if who != uid)
    for i, text in enumerate(pg.value("SELECT encode(body, 'hex') FROM served", user=str(uid)).split()):
        log = case.path("served-%d-%d.darshan" % (uid, i))
        with open(log, "wb") as file:
            file.write(bytes.fromhex(text))
        said = case.run(os.path.join(case.build, "tests", "path_links"), log).stdout
        calls = [json.loads(line) for line in said.splitlines()]
        expect(calls and {c["user"] for c in calls if c["layer"] != "POSIX"} == {uid}, "requests of %s", {c["user"] for c in calls if c["layer"] != "POSIX"})
        expect(all(c["parent"] for c in calls if c["layer"] == "POSIX"), "an access is part of no request of his")
        expect(other not in said + case.run(case.iorama, "show", log).stdout, "%d reads the name of a file of another", uid)


def rights(case, pg, nats):
    logs = case.path("jobs")
    os.mkdir(logs)
    os.chmod(logs, 0o777)
    for uid, (name, _) in USERS.items():
        os.mkdir(os.path.join(case.fs.mount, name))
        os.chown(os.path.join(case.fs.mount, name), uid, uid)
    agent = case.agent("--sink", nats.url)
    collector = case.start(case.iorama, "collect", "--store", pg.url, nats.url, "--json")
    pids = [str(pid) for pid in (case.fs.client_pid, *case.fs.brick_pids)]
    case.run(case.iorama, "attach", "--trace", *pids)
    one, two = USERS
    running = [job_of(case, logs, one, two), job_of(case, logs, two, one)]
    for process, _ in running:
        said = process.communicate(timeout=cases.TIMEOUT)[0]
        expect(process.returncode == 0, "a job ended with %s: %s", process.returncode, said)
    case.run(case.iorama, "detach", *pids)
    case.wait(lambda: pg.psql("SELECT count(*) FROM logs", check=False).stdout.strip() == "4", "the logs of the daemon and of three bricks")
    case.run(case.iorama, "index", "--store", pg.url, logs)
    pg.psql("CREATE ROLE iorama_users; CREATE ROLE iorama_staff; SELECT iorama_share('iorama_users'); SELECT iorama_share('iorama_staff', true);"
            'CREATE ROLE "20171" LOGIN IN ROLE iorama_users; CREATE ROLE "20172" LOGIN IN ROLE iorama_users; CREATE ROLE eve LOGIN IN ROLE iorama_staff;')  # fmt: skip
    whole = {}
    for uid, (name, pieces) in USERS.items():
        user, other = str(uid), next(n for u, (n, _) in USERS.items() if u != uid)
        (job,) = pg.value("SELECT number FROM jobs", user=user).split()
        seen = pg.value("SELECT string_agg(DISTINCT username, ',') || ' ' || count(*) FROM served", user=user)
        expect(seen == "%d 4" % uid, "%s sees %s", user, seen)
        expect(pg.value("SELECT count(*) FROM logs", user=user) == "1", "%s sees logs of others", user)
        check_rows(case, pg, uid)
        url = pg.url_of("iorama", user=user)
        calls = json.loads(path(case, url, job, "--calls", "--json"))
        check_calls(calls, name, pieces)
        told = json.loads(path(case, url, job, "--servers", "--json"))
        print("# others: %s" % [(s["server"], s["others"], s["others_bytes"]) for s in told])
        expect(len(told) == 3 and all(s["seen"] == s["requests"] for s in told), "%s", told)
        expect(any(s["others"] > 0 and s["others_bytes"] > 0 for s in told), "the load of others is not told: %s", told)
        forms = [path(case, url, job, *words) for words in ((), ("--calls", "--csv"), ("--critical",), ("--html",), ("--svg",), ("--perfetto",))]
        expect("ther load" in forms[0], "%s", forms[0])
        for text in (json.dumps(calls), json.dumps(told), *forms):
            expect(other not in text, "%s sees the name of a file of another", user)
        whole[uid] = json.loads(path(case, pg.url, job, "--calls", "--json"))
        check_calls(whole[uid], name, pieces)
        staff = json.loads(path(case, pg.url_of("iorama", user="eve"), job, "--calls", "--json"))
        expect(len(staff) == len(whole[uid]), "staff sees %d calls, not %d", len(staff), len(whole[uid]))
        ours = [c for c in calls if c["layer"] == "SERVER"]
        expect(len(ours) == len([c for c in whole[uid] if c["layer"] == "SERVER"]), "%d requests at servers", len(ours))
    expect("permission denied" in pg.psql("DELETE FROM served", user="20171", check=False).stderr, "a user may remove rows")
    case.end(agent, send=signal.SIGTERM)
    case.end(collector, send=signal.SIGTERM)


def perform(build, name):
    gluster.alone()
    cases.need("nats-server", "setpriv")
    with cases.folders(build, "path-" + name) as (observed, quiet):
        for folder in (observed, quiet):
            os.chmod(folder, 0o777)
        case = harness.Case(build, quiet, observed)
        case.observed_folder = observed
        with servers.Postgres() as pg, servers.Nats() as nats:
            case.fs = gluster.Gluster(case.path("fs"), os.path.join(observed, "mnt"))
            try:
                rights(case, pg, nats)
            finally:
                case.fs.stop()
                case.stop_all()


if __name__ == "__main__":
    cases.main(["rights"], perform)
