# SPDX-License-Identifier: BSD-3-Clause
"""`iorama serve` at work: a store with jobs of several users, requests by curl's manners (http.client) and as raw bytes."""
import http.client
import json
import os
import re
import socket
import sqlite3
import ssl
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import harness  # noqa: E402
import logs  # noqa: E402
from harness import Failed, Skip, expect, main  # noqa: E402
from sinks_truth import Feed  # noqa: E402

__all__ = ["Answer", "HERE", "OWNERS", "PAYLOAD", "Failed", "Served", "Skip", "expect", "filled", "frame", "harness", "main", "raw", "run_sql"]

USERS = ("ada", "bob", "carl")
PAYLOAD = "=cmd|' /C calc'!A0"


def run_sql(store, script):
    db = sqlite3.connect(store, timeout=60)
    with db:
        db.executescript(script)
    db.close()


# Whose jobs are: number modulo three. Days are made again of the jobs, as the store itself does it. Those that run are not found to be
# lost, however slow the machine is.
OWNERS = """UPDATE jobs SET username = CASE number % 3 WHEN 0 THEN 'ada' WHEN 1 THEN 'bob' ELSE 'carl' END;
UPDATE day_jobs SET username = CASE job % 3 WHEN 0 THEN 'ada' WHEN 1 THEN 'bob' ELSE 'carl' END;
DELETE FROM days;
INSERT INTO days (day, username, name, broken, bytes_read, bytes_written, io_ms, run_ms, node_ms, cost_ms, high, warn, jobs)
SELECT day, username, name, sum(broken), sum(bytes_read), sum(bytes_written), sum(io_ms), sum(run_ms), sum(node_ms), sum(cost_ms),
sum(high), sum(warn), count(*) FROM day_jobs GROUP BY day, username, name;
UPDATE jobs SET seen_ns = 9000000000000000000 WHERE state = 'running';
UPDATE processes SET seen_ns = 9000000000000000000 WHERE state = 'running';"""


def filled(case, store=None, jobs=9):
    """Jobs with logs and findings, and one with events and activity, of three users."""
    where = store or case.path("store.db")
    folder = case.path("site")
    logs.site(case, folder, jobs)
    case.command("index", "-q", "--store", where, folder)
    Feed(case, where if "://" in where else "store:" + where, rounds=2, events=50, jobs=3, processes=3).run()
    if not store:
        run_sql(where, OWNERS)
    return where


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()


class Local(http.client.HTTPConnection):
    """HTTP at a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class Served:
    """`iorama serve WORDS` beside the test, until the end of the case."""

    def __init__(self, case, *words, store=None, env=None, before=()):
        self.case, self.socket = case, case.path("socket")
        self.process = case.start(*before, case.iorama, "serve", "--listen", "127.0.0.1:0", "--socket", self.socket, "--token", case.path("token"),
                                  "--store", store or case.path("store.db"), *words, env=env)  # fmt: skip
        case.wait(lambda: self.process.poll() is not None or harness.text_of(self.process.out).endswith("\n"), "the address of serve")
        said = re.fullmatch(r"(https?)://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{64})\n", harness.text_of(self.process.out))
        if not said:
            raise Failed("serve: %s%s" % (harness.text_of(self.process.out), self.process.said()))
        self.port, self.token = int(said[2]), said[3]
        self.context = None
        if said[1] == "https":  # its certificate is looked at elsewhere: begin.py
            self.context = ssl.create_default_context()
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE

    def connection(self, user=None):
        if user is not None:
            return Local(self.socket)
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path, method="GET", token=True, user=None, body=None, headers=()):
        """token: with ours; user: at the socket, as a proxy says it."""
        connection = self.connection(user)
        told = {"X-Remote-User": user} if user else {"Authorization": "Bearer " + self.token} if token else {}
        try:
            connection.request(method, path, body=body, headers={**told, **dict(headers)})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, status=200, **more):
        answer = self.ask(path, **more)
        expect(answer.status == status, "%s: status %d, not %d: %s", path, answer.status, status, answer.body[:300])
        return answer

    def stream(self, topics, user=None):
        """A stream that is open: (connection, response) whose lines can be read."""
        connection = self.connection(user)
        told = {"X-Remote-User": user} if user else {"Authorization": "Bearer " + self.token}
        connection.request("GET", "/api/1/stream?topics=" + urllib.parse.quote(topics), headers=told)
        return connection, connection.getresponse()

    def end(self):
        self.case.end(self.process, send=15)


def frame(response):
    """The next event of a stream: its name and its document. Lines that only say that one is there are left out."""
    name, data = None, None
    while True:
        line = response.readline()
        if not line:
            raise Failed("the stream ended")
        line = line.rstrip(b"\n")
        if line.startswith(b"event: "):
            name = line[7:].decode()
        elif line.startswith(b"data: "):
            data = json.loads(line[6:])
        elif not line and data is not None:
            return name, data


def raw(served, data, timeout=30, half=False):
    """Bytes as they are; all that comes back until the other side closes (or the time is over)."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=timeout) as s:
        s.sendall(data)
        if half:
            s.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while True:
                more = s.recv(65536)
                if not more:
                    return got
                got += more
        except (socket.timeout, ConnectionResetError):
            return got
