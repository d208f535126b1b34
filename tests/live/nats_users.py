# SPDX-License-Identifier: BSD-3-Clause
"""Who may say what over NATS: a collector believes of a message only what its subject says, a server lets a user publish only under
his own number, and with such rights an agent of a user has all it needs."""
import glob
import json
import os
import pwd
import signal
import socket
import sys

import harness
import cases
import loads
import servers
from harness import Skip, expect

sys.path.insert(0, os.path.join(harness.ROOT, "fuzz"))
import seeds_wire as wire  # noqa: E402  pylint: disable=wrong-import-position

ANNA, BOB = 21851, 21852
NOW = 1700000000 * 10**9


class Raw:
    """A client that sends what it likes. Each publication is answered before the next: what the server says of it is known."""

    def __init__(self, nats, user=None, password=None):
        self.socket = socket.create_connection(("127.0.0.1", nats.port))
        self.rest = b""
        who = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
        if user:
            who.update(user=user, **{"pass": password})
        self.socket.sendall(b"CONNECT %s\r\n" % json.dumps(who).encode())
        self.flush()

    def flush(self):
        """All that the server says until it answers a ping."""
        self.socket.sendall(b"PING\r\n")
        said = self.rest
        while b"PONG\r\n" not in said:
            more = self.socket.recv(65536)
            expect(more, "the server has gone: %s", said)
            said += more
        said, self.rest = said.split(b"PONG\r\n", 1)
        return said.decode("utf-8", "replace")

    def publish(self, subject, data, *headers):
        head = b"NATS/1.0\r\n" + b"".join(h.encode() + b"\r\n" for h in headers) + b"\r\n"
        self.socket.sendall(b"HPUB %s %d %d\r\n%s%s\r\n" % (subject.encode(), len(head), len(head) + len(data), head, data))
        return self.flush()

    def subscribe(self, subject):
        self.socket.sendall(b"SUB %s 1\r\n" % subject.encode())
        return self.flush()


def process(job, uid, user, segment, version=1):
    return wire.message(wire.PROCESS, segment.ljust(16, b".") + wire.unsigned(version) + wire.text(job.encode()) +
                        wire.text(user.encode()) + wire.text(b"node1") + wire.text(b"/bin/x") + wire.text(b"x") + wire.text(b"") +
                        wire.signed(uid, 77, 4711, 0, 1) + wire.signed(NOW, 0, NOW) + wire.unsigned(1, 0, 0, 0, 1))  # fmt: skip


def names(job):
    return wire.message(wire.NAMES, wire.text(job.encode()) + wire.unsigned(1, 5) + wire.text(b"/secret"))


def counters(job, segment):
    return wire.message(wire.COUNTERS, segment.ljust(16, b".") + wire.unsigned(9) + wire.text(job.encode()) +
                        wire.signed(0, NOW, NOW - 10**9) + wire.unsigned(1) + wire.text(b"POSIX") + wire.signed(1, 1, 1, 500, 500, 1, 1, 1))  # fmt: skip


def loss(job):
    return wire.message(wire.LOSS, wire.text(b"agent-1") + wire.unsigned(1) + wire.text(job.encode()) + wire.text(b"why") + wire.unsigned(3, 0))


def sample(host):
    return wire.message(wire.SAMPLE, wire.text(host) + wire.signed(NOW) + wire.unsigned(1) + wire.text(b"load.1") + b"\0" * 8)


def log(job, name, data):
    return wire.message(wire.LOG, wire.text(job.encode()) + wire.text(name.encode()) + data)


def log_of(case):
    """A log, and whose it is: root's or ours."""
    done = case.run("true", env=case.environment(LD_PRELOAD=case.library))
    expect(done.returncode == 0, "%s", done)
    paths = glob.glob(case.path("logs", "*.darshan"))
    if not paths:
        case.run("cat", "/etc/hostname", "nothing", status=None, env=case.environment(LD_PRELOAD=case.library))
        case.run(sys.executable, "-c", "open('made', 'w').write('x')", env=case.environment(LD_PRELOAD=case.library))
        paths = glob.glob(case.path("logs", "*.darshan"))
    with open(paths[0], "rb") as file:
        return file.read()


def forged(case):
    """Anna may publish under her own number, and puts Bob's into the messages."""
    me, my_name = os.geteuid(), pwd.getpwuid(os.geteuid()).pw_name
    other = next(p for p in pwd.getpwall() if p.pw_uid != me)
    mine = log_of(case)
    a, b = "iorama.t.%d.run-1" % ANNA, "iorama.t.%d.run-1" % BOB
    good = [
        (a, process("%d/run-1" % ANNA, ANNA, str(ANNA), b"anna")),
        (b, process("%d/run-1" % BOB, BOB, str(BOB), b"bob")),
        (b, counters("%d/run-1" % BOB, b"bob")),
        (a, names("%d/run-1" % ANNA)),
        ("iorama.t.%d.run-2" % me, process("%d/run-2" % me, me, my_name, b"me")),
        ("iorama.t.%d.run-3" % ANNA, process("%d/run-3" % ANNA, ANNA, "no-such-name", b"nameless")),
        ("iorama.iorama.%d.unknown" % ANNA, loss("")),
        ("iorama.node.node-1", sample(b"node-1")),
        ("iorama.t.%d.run-2" % me, log("%d/run-2" % me, "x.darshan", mine)),
    ]  # fmt: skip
    bad = [
        (a, process("%d/run-1" % BOB, BOB, str(BOB), b"bob", 7)),  # another's job
        (a, process("%d/run-1" % ANNA, BOB, str(BOB), b"x1")),  # another's number
        (a, process("%d/run-1" % ANNA, ANNA, str(BOB), b"x2")),  # another's number as a name
        (a, process("%d/run-1" % ANNA, ANNA, other.pw_name, b"x3")),  # another's name
        ("iorama.t.%d.run-2" % me, process("%d/run-2" % me, me, other.pw_name, b"x4")),
        ("iorama.t.%d.run-2" % me, process("%d/run-2" % me, me, "somebody-else", b"x5")),
        (a, process("%d/run-1" % ANNA, ANNA, str(ANNA), b"bob", 99)),  # another's process
        (a, counters("%d/run-1" % ANNA, b"bob")),
        (a, names("%d/run-1" % BOB)),
        (a, names("%d/run-9" % ANNA)),  # another job of hers
        (a, counters("%d/run-1" % BOB, b"bob")),
        (a, loss("%d/run-1" % BOB)),
        (a, wire.message(wire.BLOCK, wire.block(b"", [50], 1))),  # of 1000/run-17
        (a, sample(b"node1")),
        ("iorama.node.node1", sample(b"node2")),
        ("iorama.node.node1", names("%d/run-1" % BOB)),
        (a, log("", "x.darshan", mine)),  # a log of ours
        (a, log("%d/run-1" % ANNA, "x.darshan", mine)),
        ("iorama.t.%d.run-2" % me, log("%d/run-2" % me, "/logs/x.darshan", mine)),
        ("iorama.t.0%d.run-1" % ANNA, names("0%d/run-1" % ANNA)),
        ("iorama.t.99999999999.run-1", names("99999999999/run-1")),
        ("iorama.t.x.run-1", names("x/run-1")),
        ("iorama.t.%d.run-1.more" % ANNA, names("%d/run-1" % ANNA)),
    ]  # fmt: skip
    with servers.Nats() as nats:
        case.command("collect", nats.url, "--drain", "--json")  # makes the stream
        raw = Raw(nats)
        for subject, data in good:
            raw.publish(subject, data)
        done = case.command("collect", nats.url, "--drain", "--json")
        said = json.loads(done.stdout)
        expect(said["refused"] == 0 and said["messages"] == len(good), "collect: %s %s", said, done.stderr)
        for subject, data in bad:
            raw.publish(subject, data)
        done = case.command("collect", nats.url, "--drain", "--json", status=3)
        said = json.loads(done.stdout)
        expect(said["messages"] == 0, "stored: %s %s", said, done.stderr)
        expect(said["refused"] == len(bad), "refused %d of %d: %s", said["refused"], len(bad), done.stderr)
        expect(done.stderr.count("left out") == len(bad), "told: %s", done.stderr)
        case.wait(lambda: nats.stored() == 0, "an empty stream")
    jobs = {(r["key"], r["uid"], r["username"]) for r in case.rows("SELECT key, uid, username FROM jobs")}
    want = {("%d/run-1" % ANNA, ANNA, str(ANNA)), ("%d/run-1" % BOB, BOB, str(BOB)), ("%d/run-2" % me, me, my_name),
            ("%d/run-3" % ANNA, ANNA, str(ANNA))}  # fmt: skip
    expect(jobs == want, "jobs: %s", jobs)
    files = case.rows("SELECT j.uid, f.path FROM files f JOIN jobs j ON j.number = f.job WHERE f.path = '/secret'")
    expect([f["uid"] for f in files] == [ANNA], "names: %s", files)
    expect(case.value("SELECT bytes_read FROM jobs WHERE uid = %d" % BOB) == 500, "Bob's counters")


RIGHTS = """authorization { users: [
  { user: site, password: "site" },
  { user: anna, password: "anna", permissions: {
      publish: { allow: ["iorama.*.%(anna)d.>", "iorama-part.%(anna)d.>"] },
      subscribe: { allow: ["iorama-ack.%(anna)d.>", "_INBOX.%(anna)d.>"] } } } ] }"""


def restricted(case):
    """An account that may publish under one number only: its agent has all it needs, and nobody can do more with it."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    cases.need("setpriv")
    os.chmod(case.folder, 0o755)
    os.chmod(case.work, 0o777)
    as_anna = ["setpriv", "--reuid", str(ANNA), "--regid", str(ANNA), "--clear-groups"]
    home = case.path("anna")
    for path in (home, os.path.join(home, "segments"), os.path.join(home, "logs")):
        os.makedirs(path, mode=0o700)
        os.chown(path, ANNA, ANNA)
    env = case.environment(HOME=home, IORAMA_DIR=os.path.join(home, "segments"), IORAMA_SPOOL=os.path.join(home, "spool"),
                           IORAMA_LOG_DIR=os.path.join(home, "logs"))  # fmt: skip
    with servers.Nats(settings=[RIGHTS % {"anna": ANNA}]) as nats:
        place = "127.0.0.1:%d" % nats.port
        one = case.start(case.iorama, "collect", "--store", case.path("store.db"), "nats://site:site@" + place, "--json")
        case.wait(nats_has_stream(nats), "the stream")
        # small messages, so that there are some in parts
        agent = case.agent("--sink", "nats://anna:anna@%s?payload=2K&quiet=1000" % place, env=env, wrap=as_anna)
        load = loads.Load(case, threads=2, calls=3000, wrap=as_anna, env={**env, "LD_PRELOAD": case.library, "IORAMA_LIVE": "1"})
        for path in (load.folder, os.path.dirname(load.truth_file)):
            os.chown(path, ANNA, ANNA)
        load.run()
        case.wait(lambda: case.value("SELECT made = stored AND state = 'ended' FROM processes"), "all events")
        load.check()
        loads.accounts(case)
        case.wait(lambda: case.status(env)["spool"]["messages"] <= 1, "an empty spool")
        case.wait(lambda: agent.said().count("no figures of this node") == 1, "a word about samples")
        mine = [c for c in nats.ask("connz?subs=1&auth=1")["connections"] if c.get("authorized_user") == "anna"]
        heard = [s for c in mine for s in c.get("subscriptions_list", [])]
        # also the server's own answers reach it
        expect(any(s.startswith("_INBOX.%d." % ANNA) for s in heard) and any(s.startswith("iorama-ack.%d." % ANNA) for s in heard),
               "the agent hears %s", heard)  # fmt: skip
        case.end(agent, send=signal.SIGTERM)
        expect(case.value("SELECT count(*) FROM samples") == 0, "samples")
        # what the account cannot do
        raw = Raw(nats, "anna", "anna")
        for subject in ("iorama.t.%d.run-1" % BOB, "iorama.t.0.run-1", "iorama.node.x", "iorama-ack.%d.x" % BOB, "iorama-ack.%d.x" % ANNA,
                        "iorama-part.%d.x" % BOB, "$JS.API.STREAM.INFO.IORAMA", "$JS.API.STREAM.MSG.GET.IORAMA",
                        "$JS.API.CONSUMER.MSG.NEXT.IORAMA.iorama-collect"):  # fmt: skip
            expect("Permissions Violation" in raw.publish(subject, names("%d/run-1" % BOB)), "%s may be published to", subject)
        for subject in ("iorama.>", "iorama-ack.>", "iorama-ack.%d.>" % BOB, "_INBOX.>", ">"):
            expect("Permissions Violation" in raw.subscribe(subject), "%s may be heard", subject)
        expect("Permissions Violation" not in raw.subscribe("iorama-ack.%d.>" % ANNA), "her own acknowledgements")
        said = json.loads(case.end(one, send=signal.SIGTERM))
        expect(said["refused"] == 0, "collect: %s", said)
    expect({r["uid"] for r in case.rows("SELECT uid FROM jobs")} == {ANNA}, "jobs of others")


def nats_has_stream(nats):
    return lambda: (nats.ask("jsz") or {}).get("streams") == 1


CASES = {"forged": forged, "restricted": restricted}

if __name__ == "__main__":
    harness.main(CASES)
