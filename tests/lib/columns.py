#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ClickHouse and the ZooKeepers that its replicas agree by, as Debian has them, on loopback, on free ports (servers.py).

    with columns.ClickHouse() as one:
        ...one.url...; one.sql("SELECT 1")
    with columns.Cluster(3) as c:         # three replicas, three ZooKeepers
        ...c.url...; c.server[0].kill(); c.server[0].start(); c.keeper[1].pause()"""
import os
import random
import shutil
import socket
import urllib.error
import urllib.parse
import urllib.request

import servers

# what both have to hold back on a machine that has other things to do
SETTINGS = """<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <http_port>%(port)d</http_port><tcp_port>%(tcp)d</tcp_port><interserver_http_port>%(other)d</interserver_http_port>
  <interserver_http_host>127.0.0.1</interserver_http_host><listen_host>127.0.0.1</listen_host>
  <path>%(folder)s/data/</path><tmp_path>%(folder)s/tmp/</tmp_path><user_files_path>%(folder)s/user/</user_files_path>
  <format_schema_path>%(folder)s/schema/</format_schema_path>
  <users_config>%(folder)s/users.xml</users_config><default_profile>default</default_profile>
  <default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
  <background_pool_size>4</background_pool_size><timezone>UTC</timezone>
  %(zookeeper)s
</yandex>
"""
USERS = """<yandex>
  <profiles><default><max_memory_usage>2000000000</max_memory_usage><max_threads>2</max_threads></default></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <secured><password>%(password)s</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
      <quota>default</quota></secured>
  </users>
  <quotas><default></default></quotas>
</yandex>
"""


def quiet_port():
    """A port that no connection is given by chance while its server, or another of the cluster, is down."""
    while True:
        port = random.SystemRandom().randrange(12000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class ZooKeeper(servers.Server):
    """One of an ensemble: they are told of each other before the first one starts."""

    name = "zookeeper"

    def __init__(self, number):
        self.java = shutil.which("java")
        self.jar = "/usr/share/java/zookeeper.jar"
        if not self.java or not os.path.exists(self.jar):
            raise servers.Missing("zookeeper is not installed")
        super().__init__()
        self.number, self.ensemble = number, [self]
        self.new_ports()

    def new_ports(self):
        self.port, self.peer, self.election = quiet_port(), quiet_port(), quiet_port()

    def launch(self):
        os.makedirs(self.path("data"), exist_ok=True)
        with open(self.path("data", "myid"), "w") as to:
            to.write("%d\n" % self.number)
        lines = ["tickTime=500", "initLimit=40", "syncLimit=20", "dataDir=%s" % self.path("data"), "clientPort=%d" % self.port,
                 "clientPortAddress=127.0.0.1", "admin.enableServer=false", "4lw.commands.whitelist=*", "forceSync=no",
                 "maxClientCnxns=0"]  # fmt: skip
        if len(self.ensemble) > 1:
            lines += ["server.%d=127.0.0.1:%d:%d" % (z.number, z.peer, z.election) for z in self.ensemble]
        with open(self.path("zoo.cfg"), "w") as to:
            to.write("\n".join(lines) + "\n")
        self.spawn([self.java, "-Xmx96m", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-cp", "/etc/zookeeper/conf_example:" + self.jar, "-Dzookeeper.root.logger=WARN,CONSOLE", "-Dzookeeper.cnxTimeout=500",
                    "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.path("zoo.cfg")])  # fmt: skip

    def ask(self, word):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
                s.sendall(word.encode())
                s.settimeout(5)
                return b"".join(iter(lambda: s.recv(4096), b"")).decode()
        except OSError:
            return ""

    def ready(self):
        return "Mode: " in self.ask("srvr")

    def leads(self):
        return "Mode: leader" in self.ask("srvr")


class ClickHouse(servers.Server):
    """keepers: the ZooKeepers; without them tables are of this server alone."""

    name = "clickhouse"
    password = "sea/cret'"  # of the user `secured`

    def __init__(self, keepers=()):
        self.program = shutil.which("clickhouse-server") or shutil.which("clickhouse-server", path="/usr/sbin:/usr/local/bin")
        if not self.program:
            raise servers.Missing("clickhouse-server is not installed")
        super().__init__()
        self.keepers = keepers
        self.new_ports()

    def new_ports(self):
        self.port, self.tcp, self.other = quiet_port(), quiet_port(), quiet_port()

    @property
    def host(self):
        return "127.0.0.1:%d" % self.port

    @property
    def url(self):
        return "clickhouse://%s/iorama" % self.host

    def launch(self):
        nodes = "".join("<node><host>127.0.0.1</host><port>%d</port></node>" % z.port for z in self.keepers)
        with open(self.path("config.xml"), "w") as to:
            to.write(SETTINGS % {"port": self.port, "tcp": self.tcp, "other": self.other, "folder": self.folder, "zookeeper":
                                 "<zookeeper>%s<session_timeout_ms>2000</session_timeout_ms></zookeeper>" % nodes
                                 if nodes else ""})  # fmt: skip
        with open(self.path("users.xml"), "w") as to:
            to.write(USERS % {"password": self.password})
        for folder in ("data", "tmp", "user", "schema"):
            os.makedirs(self.path(folder), exist_ok=True)
        self.spawn([self.program, "--config-file=" + self.path("config.xml")])

    def sql(self, text, timeout=30):
        """The answer as text; Broken with what the server says."""
        request = urllib.request.Request("http://%s/" % self.host, text.encode())
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.read().decode(errors="replace").rstrip("\n")
        except urllib.error.HTTPError as why:
            raise servers.Broken(why.read().decode(errors="replace")) from why

    def ready(self):
        try:
            return self.sql("SELECT 1", 5) == "1"
        except (OSError, servers.Broken):
            return False


class Cluster:
    """n replicas and as many ZooKeepers."""

    def __init__(self, n):
        self.keeper, self.server = [], []
        try:
            self.keeper = [ZooKeeper(i + 1) for i in range(n)]
            for z in self.keeper:
                z.ensemble = self.keeper
            self.server = [ClickHouse(self.keeper) for _ in range(n)]
        except BaseException:
            self.close()
            raise

    @property
    def url(self):
        return "clickhouse://%s/iorama" % ",".join(s.host for s in self.server)

    def __enter__(self):
        try:
            for z in self.keeper:  # none is ready before most of them are there
                z.launch()
            for each in self.keeper:
                each.await_ready()
            for s in self.server:
                s.launch()
            for s in self.server:
                s.await_ready()
        except BaseException:
            self.close()
            raise
        return self

    def close(self):
        for each in self.server + self.keeper:
            each.close()

    def __exit__(self, *_):
        self.close()
