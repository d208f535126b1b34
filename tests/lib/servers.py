#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Servers that tests talk to: PostgreSQL and nats-server, on loopback, on free ports, in a folder of their own in memory.

In a test:
    with servers.Postgres() as pg:
        ...pg.url...; pg.stop("immediate"); pg.start()
    with servers.Nats() as hub, servers.Nats(hub=hub) as leaf:
        ...leaf.url...; hub.kill(); hub.start()

From the shell, for a command that finds them in IORAMA_TEST_POSTGRES, IORAMA_TEST_NATS, IORAMA_TEST_LEAF, and with --tls
IORAMA_TEST_CA, _CERT, _KEY (of a client), with --creds IORAMA_TEST_CREDS:
    servers.py run [--postgres] [--durable] [--nats] [--leaf] [--tls] [--creds] -- COMMAND…

A server that is not installed: Missing, with the reason; from the shell SKIP and 77. Nothing stays behind, also when the
test is killed: servers die with the thread that started them, and a keeper removes their folder."""
import ctypes
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import cases
import natskeys
import tries
from cases import SKIPPED, Failed, Skip

PATIENCE = 60  # seconds for a server to start or stop, on a machine that has other things to do
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Missing(Skip):
    """A server cannot run here; the text says why."""


class Broken(Failed):
    """A server did not do what it should; the text has the end of its log."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, true, patience=PATIENCE):
    """Returns when true() is; Broken after a time."""
    try:
        return cases.wait(true, what, patience)
    except Broken:
        raise
    except Failed as late:
        raise Broken("%s: not after %d s" % (what, patience)) from late


class Server:
    """A process in a folder of its own. start, stop (by a signal that it understands), kill (-9), pause, resume."""

    name = "server"
    die = signal.SIGKILL  # when its test is gone

    def __init__(self, user=None, folder=None):
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.user, self.process, self.stopped = user, None, False
        self.folder = tempfile.mkdtemp(prefix="iorama-%s-" % self.name, dir=folder or memory)
        # waits for the end of this process, however it comes, then removes the folder
        self.keeper = subprocess.Popen(
            ["sh", "-c", 'cat; n=0; until rm -rf -- "$0" || [ $n = 50 ]; do sleep 0.1; n=$((n+1)); done', self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def become(self):
        """In the new process: its own session, another user, the end with its parent (after that, which forgets it)."""
        os.setsid()
        if self.user:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)
        LIBC.prctl(PR_SET_PDEATHSIG, self.die)

    def spawn(self, command):
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=self.become, env=self.environment())  # fmt: skip

    def environment(self):
        return dict(os.environ, LC_ALL="C")

    def tail(self):
        with open(self.path("log"), errors="replace") as log:
            return "".join(log.readlines()[-15:])

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def await_ready(self):
        def look():
            if not self.alive():
                raise Broken("%s ended: %s" % (self.name, self.tail()))
            return self.ready()

        wait_for("%s on port %d is ready: %s" % (self.name, self.port, self.tail()), look)

    def start(self):
        """Starts it, again on the port it had before; a port that was taken meanwhile at the first start is changed."""
        for attempt in range(2):
            try:
                self.launch()
                self.await_ready()
                return self
            except Broken as why:
                stopped = self.stopped
                self.kill()
                self.stopped = stopped
                if stopped or attempt == 1:
                    raise
                tries.again(why)  # a server that is not ours
                self.new_ports()
        return self

    def signal(self, number):
        if self.alive():
            os.kill(self.process.pid, number)

    def end(self, number):
        if self.process is None:
            return
        self.stopped = True
        self.signal(number)
        self.resume()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as late:
            raise Broken("%s does not end: %s" % (self.name, self.tail())) from late
        self.process = None

    def stop(self):
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)

    def restart(self):
        self.stop()
        self.start()

    def members(self):
        """All its processes: itself and its children."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % entry) as stat:
                    words = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if self.process and (int(entry) == self.process.pid or int(words[1]) == self.process.pid):
                found.append(int(entry))
        return found

    def pause(self):
        """Stopped in the middle of what it does: connections stay, nobody answers."""
        self.signal_all(self.members(), signal.SIGSTOP)

    def resume(self):
        self.signal_all(self.members(), signal.SIGCONT)

    @staticmethod
    def signal_all(pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def close(self):
        try:
            self.end(self.die)
        finally:
            self.keeper.communicate()

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()


class Postgres(Server):
    """durable: with fsync, as a site has it. settings: lines of postgresql.conf. folder: below it, and not in memory. The
    superuser is `postgres`, everybody on this machine is trusted."""

    name, die = "postgres", signal.SIGQUIT

    def __init__(self, durable=False, settings=(), folder=None):
        self.programs = self.find()
        super().__init__(self.other_user(), folder)
        self.durable, self.settings = durable, settings
        self.port = free_port()

    @staticmethod
    def find():
        """The folder of initdb and postgres; Debian keeps one per version, out of the way."""
        beside = sorted(os.listdir("/usr/lib/postgresql"), key=lambda v: float(v) if v.isdigit() else 0, reverse=True) \
            if os.path.isdir("/usr/lib/postgresql") else []  # fmt: skip
        places = ["/usr/lib/postgresql/%s/bin" % v for v in beside]
        on_path = shutil.which("initdb")
        for place in ([os.path.dirname(os.path.realpath(on_path))] if on_path else []) + places:
            if os.path.exists(os.path.join(place, "initdb")) and os.path.exists(os.path.join(place, "postgres")):
                return place
        raise Missing("PostgreSQL is not installed")

    @staticmethod
    def other_user():
        """PostgreSQL does not run as root."""
        if os.geteuid() != 0:
            return None
        for name in ("postgres", "nobody"):
            try:
                return pwd.getpwnam(name)
            except KeyError:
                pass
        raise Missing("PostgreSQL does not run as root, and there is no user postgres or nobody")

    @property
    def url(self):
        return self.url_of("iorama")

    def url_of(self, database, user="postgres"):
        return "postgresql://%s@127.0.0.1:%d/%s" % (user, self.port, database)

    @property
    def socket_url(self):
        return "postgresql://postgres@/iorama?host=%s&port=%d" % (self.folder, self.port)

    def program(self, name):
        return os.path.join(self.programs, name)

    def new_ports(self):
        self.port = free_port()

    def launch(self):
        if not os.path.exists(self.path("data", "PG_VERSION")):
            self.make()
        self.spawn([self.program("postgres"), "-D", self.path("data"), "-p", str(self.port)])

    def template(self):
        """A cluster as initdb makes it, made once for all tests that are told where to keep things; None: there is no such place."""
        tries_file = os.environ.get("IORAMA_TEST_TRIES")
        if not tries_file:
            return None
        kept = os.path.join(os.path.dirname(tries_file), "postgres-" + self.programs.strip("/").replace("/", "-"))
        if not os.path.exists(kept):
            partial = "%s.%d" % (kept, os.getpid())
            self.initdb()
            subprocess.run(["cp", "-a", self.path("data"), partial], check=True)
            try:
                os.rename(partial, kept)
            except OSError:  # somebody else was faster
                shutil.rmtree(partial)
        return kept

    def initdb(self):
        made = subprocess.run(
            [self.program("initdb"), "-D", self.path("data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
             "--no-sync", "--no-instructions"],
            cwd=self.folder, capture_output=True, text=True, preexec_fn=self.become, timeout=3 * PATIENCE)  # fmt: skip
        if made.returncode != 0:
            raise Broken("initdb: %s" % made.stderr)

    def make(self):
        shutil.rmtree(self.path("data"), ignore_errors=True)
        template = self.template()
        if not template:
            self.initdb()
        elif not os.path.exists(self.path("data")):
            subprocess.run(["cp", "-a", template, self.path("data")], check=True)
        lines = ["listen_addresses = '127.0.0.1'", "unix_socket_directories = '%s'" % self.folder,
                 "dynamic_shared_memory_type = mmap", "max_connections = 40", "shared_buffers = 64MB",
                 "max_wal_size = 512MB", "logging_collector = off", "log_min_messages = warning"]  # fmt: skip
        if not self.durable:
            lines += ["fsync = off", "synchronous_commit = off", "full_page_writes = off"]
        with open(self.path("data", "postgresql.conf"), "a") as conf:
            conf.write("\n".join(lines + list(self.settings)) + "\n")

    def ready(self):
        """It answers, and the database of the tests is there."""
        known = self.psql("SELECT 1 FROM pg_database WHERE datname = 'iorama'", "postgres", check=False)
        if known.returncode != 0:
            return False
        if not known.stdout.strip():
            self.psql("CREATE DATABASE iorama", "postgres")
        return True

    def psql(self, sql, database="iorama", user="postgres", check=True):
        """Runs SQL; .stdout has rows, columns with | between. Each statement is its own transaction."""
        done = subprocess.run(
            [self.program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url_of(database, user)],
            input=sql, capture_output=True, text=True, timeout=5 * PATIENCE)  # fmt: skip
        if check and done.returncode != 0:
            raise Broken("psql: %s: %s" % (sql, done.stderr))
        return done

    def value(self, sql, **more):
        """The one value of a query, as text."""
        return self.psql(sql, **more).stdout.strip()

    def new_database(self, name):
        """The URL of an empty one."""
        self.psql("DROP DATABASE IF EXISTS %s (FORCE)" % name, "postgres")
        self.psql("CREATE DATABASE %s" % name, "postgres")
        return self.url_of(name)

    def stop(self, how="fast"):
        """smart: waits for its clients; fast: sends them away; immediate: as after a crash."""
        self.end({"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[how])

    def restart(self, how="fast"):
        self.stop(how)
        self.start()

    def kill(self):
        """-9, all its processes at once; the next server refuses to start as long as one of them is there."""
        pids = self.members()
        self.end(signal.SIGKILL)
        limit = time.monotonic() + 20
        while pids and time.monotonic() < limit:
            self.signal_all(pids, signal.SIGKILL)
            time.sleep(0.005)
            pids = self.at_work()

    def at_work(self):
        """Processes in its data, also those that it had just begun."""
        found, data = [], os.path.realpath(self.path("data"))
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink("/proc/%s/cwd" % entry) == data:
                    found.append(int(entry))
            except OSError:
                continue
        return found

    def close(self):
        self.end(self.die)
        try:  # killed -9 it leaves a piece of shared memory behind; the next start would have removed it
            with open(self.path("data", "postmaster.pid")) as left:
                words = left.read().splitlines()[6].split()
            subprocess.run(["ipcrm", "-m", words[1]], stderr=subprocess.DEVNULL, check=False)
        except (OSError, IndexError):
            pass
        super().close()


class Standby(Postgres):
    """A copy of another one, which does what that does until it is promoted. Once it is there the other one commits nothing without
    it (after.synchronous())."""

    def __init__(self, primary):
        super().__init__(primary.durable)
        self.primary = primary

    def initdb(self):
        made = subprocess.run(
            [self.program("pg_basebackup"), "-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "postgres", "-D", self.path("data"), "-R",
             "-X", "stream", "-c", "fast", "--no-sync"],
            cwd=self.folder, capture_output=True, text=True, preexec_fn=self.become, timeout=3 * PATIENCE)  # fmt: skip
        if made.returncode != 0:
            raise Broken("pg_basebackup: %s" % made.stderr)

    def template(self):
        return None

    def make(self):
        self.initdb()
        with open(self.path("data", "postgresql.conf"), "a") as conf:
            conf.write("unix_socket_directories = '%s'\n" % self.folder)

    def ready(self):
        return self.psql("SELECT 1", "postgres", check=False).returncode == 0

    def synchronous(self):
        """From now on a commit of the other one waits for this one."""
        self.primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.psql("SELECT pg_reload_conf()")
        wait_for("a standby that is waited for",
                 lambda: self.primary.value("SELECT sync_state FROM pg_stat_replication") == "sync")  # fmt: skip

    def promote(self):
        self.psql("SELECT pg_promote()", "postgres")
        wait_for("the standby takes over", lambda: self.value("SELECT pg_is_in_recovery()", database="postgres") == "f")

    def url_with(self, primary):
        """Both in one URL: whichever of them takes writes."""
        return "postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/iorama?target_session_attrs=read-write" % (primary.port, self.port)


class Nats(Server):
    """nats-server with JetStream in files. hub: it is a leaf node of that one, with a JetStream domain of its own, `leaf`
    (the hub's is `hub`). tls: certificates made here (.ca, .cert, .key: those of a client, who must show his). password:
    user `iorama`. nkey: user known by a key (.seed_file). creds: an operator signs accounts and users (.creds_file)."""

    name = "nats"

    def __init__(self, hub=None, tls=False, password=None, nkey=False, creds=False, settings=()):
        self.program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/bin")
        if not self.program:
            raise Missing("nats-server is not installed")
        if (tls or nkey or creds) and not shutil.which("openssl"):
            raise Missing("openssl is not installed: no keys for nats-server")
        super().__init__()
        self.hub, self.settings, self.tls, self.password = hub, settings, tls, password
        self.ca = self.cert = self.key = self.seed_file = self.creds_file = self.nkey = self.operator = None
        if tls:
            natskeys.certificates(self.folder)
            self.ca, self.cert, self.key = self.path("ca.pem"), self.path("client.pem"), self.path("client.key")
        if nkey:
            self.seed_file = self.path("user.nk")
            self.nkey = natskeys.seed_file(self.seed_file)
        if creds:
            self.creds_file = self.path("user.creds")
            self.operator = natskeys.operator(self.folder, self.creds_file)
        self.new_ports()

    def new_ports(self):
        self.port, self.monitor, self.leaf_port = free_port(), free_port(), free_port()

    @property
    def domain(self):
        return "leaf" if self.hub else "hub"

    @property
    def url(self):
        return "%s://%s127.0.0.1:%d" % ("tls" if self.tls else "nats",
                                        "iorama:%s@" % self.password if self.password else "", self.port)  # fmt: skip

    def configuration(self):
        lines = ["server_name: %s-%d" % (self.domain, self.port), 'listen: "127.0.0.1:%d"' % self.port,
                 'http: "127.0.0.1:%d"' % self.monitor,
                 'jetstream { store_dir: "%s", domain: %s, max_mem: 64M, max_file: 4G }' % (self.path("js"), self.domain)]  # fmt: skip
        if self.tls:
            lines.append('tls { cert_file: "%s", key_file: "%s", ca_file: "%s", verify: true }'
                         % (self.path("server.pem"), self.path("server.key"), self.ca))  # fmt: skip
        if self.password:
            lines.append('authorization { user: iorama, password: "%s" }' % self.password)
        elif self.nkey:
            lines.append("authorization { users: [ { nkey: %s } ] }" % self.nkey)
        elif self.operator:
            lines += self.operator
        lines.append(self.leaf_lines())
        return "\n".join(lines + list(self.settings)) + "\n"

    def leaf_lines(self):
        """A leaf says where its hub is; a hub where leaves may come to."""
        if not self.hub:
            tls = "" if not self.tls else ', tls { cert_file: "%s", key_file: "%s", ca_file: "%s", verify: true }' % (
                self.path("server.pem"), self.path("server.key"), self.ca)  # fmt: skip
            auth = ', authorization { user: iorama, password: "%s" }' % self.password if self.password else ""
            return 'leafnodes { listen: "127.0.0.1:%d"%s%s }' % (self.leaf_port, auth, tls)
        hub = self.hub
        tls = "" if not hub.tls else ', tls { cert_file: "%s", key_file: "%s", ca_file: "%s" }' % (hub.cert, hub.key, hub.ca)
        who = "iorama:%s@" % hub.password if hub.password else ""
        creds = ', credentials: "%s"' % hub.creds_file if hub.creds_file else ""
        return 'leafnodes { reconnect: 1, remotes: [ { url: "%s://%s127.0.0.1:%d"%s%s } ] }' % (
            "tls" if hub.tls else "nats-leaf", who, hub.leaf_port, creds, tls)  # fmt: skip

    def launch(self):
        with open(self.path("nats.conf"), "w") as conf:
            conf.write(self.configuration())
        self.spawn([self.program, "-c", self.path("nats.conf")])

    def ask(self, what):
        """What its monitor says: varz, jsz?streams=1, connz, leafz. None: it does not answer."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/%s" % (self.monitor, what), timeout=5) as answer:
                return json.load(answer)
        except OSError:
            return None

    def ready(self):
        health = self.ask("healthz")
        return health is not None and health.get("status") == "ok" and (not self.hub or self.joined())

    def joined(self):
        """A leaf: its hub has taken it in. With the hub down it runs on alone, and a restart does not wait for it."""
        leaves = self.ask("leafz")
        return not self.hub.alive() or bool(leaves and leaves.get("leafnodes"))

    def stored(self):
        """Messages in all its streams."""
        return (self.ask("jsz") or {}).get("messages", 0)


def run_with(wanted, command):
    """Runs a command with the servers it asks for; returns its exit status."""
    env, open_ones = dict(os.environ), []
    tls, creds = "--tls" in wanted, "--creds" in wanted

    def opened(server):
        open_ones.append(server)
        return server.start()

    try:
        if "--postgres" in wanted:
            env["IORAMA_TEST_POSTGRES"] = opened(Postgres(durable="--durable" in wanted)).url
        if "--nats" in wanted or "--leaf" in wanted:
            hub = opened(Nats(tls=tls, creds=creds))
            env["IORAMA_TEST_NATS"] = hub.url
            if "--leaf" in wanted:
                env["IORAMA_TEST_LEAF"] = opened(Nats(hub=hub)).url
            for key, value in (("CA", hub.ca), ("CERT", hub.cert), ("KEY", hub.key), ("CREDS", hub.creds_file)):
                if value:
                    env["IORAMA_TEST_" + key] = value
        return subprocess.run(command, env=env).returncode
    finally:
        for server in reversed(open_ones):
            server.close()


def main():
    known = {"--postgres", "--durable", "--nats", "--leaf", "--tls", "--creds"}
    args = sys.argv[1:]
    if "--" not in args or args[0] != "run" or not args[args.index("--") + 1:]:
        sys.exit(__doc__)
    wanted = set(args[1:args.index("--")])
    if wanted - known:
        sys.exit("servers.py: what is %s?" % " ".join(sorted(wanted - known)))
    # being told to end is an end as any other: servers are stopped, folders removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(run_with(wanted, args[args.index("--") + 1:]))
    except Missing as why:
        print("SKIP: %s" % why)
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
