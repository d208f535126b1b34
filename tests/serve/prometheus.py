# SPDX-License-Identifier: BSD-3-Clause
"""Figures for Prometheus: of agents, at an address and as a file; all names that are promised; and no more series with 10^5 jobs."""
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request

from served import Served, expect, filled, main, run_sql
from cases import need

# every name that the pages promise of a server, whose store has jobs that run and messages that were sent
NAMES = """build_info up store_up jobs jobs_ended_total jobs_bytes_total jobs_io_seconds_total node_seconds_total findings_total bytes_total
calls_total io_seconds_total events_stored_total events_lost_total agents agent_delay_seconds store_bytes http_requests_total
http_request_duration_seconds viewers notifications_total live_delay_seconds""".split()
AGENT = """build_info up store_up jobs processes events_seen_total events_stored_total events_lost_total spool_bytes spool_limit_bytes
bus_pending_messages""".split()


def series(text):
    return [line for line in text.split("\n") if line and line[0] != "#"]


def value(text, name):
    found = re.search("^" + re.escape(name) + " (.*)$", text, re.M)
    return float(found[1]) if found else None


def check(text, names):
    """promtool has nothing to say, the names are these, labels are none of a job."""
    got = set(re.findall(r"^# TYPE iorama_(\w+)", text, re.M))
    expect(got == set(names), "names: %s", got ^ set(names))
    labels = set(re.findall(r"[{,](\w+)=", text))
    expect(labels <= {"version", "state", "rule", "level", "layer", "direction", "kind", "route", "code", "le", "channel", "result"}, "%s", labels)
    need("promtool")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    expect(done.returncode == 0 and not done.stderr and not done.stdout, "promtool: %s%s", done.stdout, done.stderr)


def agent(case):
    """How an agent stands, at an address that nobody can hold, and as a file; figures are those of --status."""
    process = case.agent("--metrics", "127.0.0.1:0", "--no-samples", "--events", "on")
    port = int(re.search(r"metrics at port (\d+)", process.said())[1])

    def get(path="/metrics"):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path), timeout=60) as answer:
            return answer.read().decode(), answer.headers

    text, headers = get()
    check(text, AGENT)
    expect(headers["Content-Type"].startswith("text/plain; version=0.0.4"), "%s", headers)
    expect(value(text, "iorama_processes") == 0 and value(text, "iorama_up") == 1 and value(text, "iorama_store_up") == 1, text)
    program = case.compile("live_load")
    held = case.start(program, "--calls", "1000", "--hold", case.work, env=case.observed(), stdin=subprocess.PIPE)
    case.wait(lambda: value(get()[0], "iorama_processes") == 1 and value(get()[0], "iorama_events_stored_total") > 1000
              and value(get()[0], "iorama_bus_pending_messages") == 0, "its events")  # fmt: skip
    text = get("/metrics?x=1")[0]
    status = case.status()
    expect(value(text, "iorama_events_seen_total") <= status["totals"]["made"] and value(text, "iorama_spool_limit_bytes") == status["spool"]["limit"],
           "%s %s", text, status)  # fmt: skip
    expect(value(text, 'iorama_jobs{state="running"}') == 1, text)
    held.stdin.close()
    for path in ("/", "/metrics/", "/metricsx", "/../metrics"):
        try:
            get(path)
            expect(False, "%s is there", path)
        except urllib.error.HTTPError as error:
            expect(error.code == 404, "%s: %d", path, error.code)
    # who says nothing, too much or nonsense holds nobody
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(9)]
    for s in slow[:8]:
        s.sendall(b"GET /metr")
    began = time.monotonic()
    case.wait(lambda: get()[0], "an answer behind those who are slow", timeout=100)
    for data in (b"x" * 100000, b"\r\n\r\n", b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n", b"\0" * 5000 + b"\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as s:
            try:
                s.sendall(data)
                while s.recv(65536):
                    pass
            except ConnectionError:
                pass
    expect(get()[0] and process.poll() is None, "it is well")
    expect(time.monotonic() - began < 200, "held for %d s", time.monotonic() - began)
    for s in slow:
        s.close()
    case.end(process, send=15)
    for where, status in (("127.0.0.1", 2), ("127.0.0.1:99999", 2), ("localhost:1", 2), ("/tmp/x.txt", 2), ("127.0.0.1:%d" % held.pid, None)):
        if status:
            expect("--metrics" in case.command("agent", "--metrics", where, status=status).stderr, where)
    path = case.path("iorama.prom")
    process = case.agent("--metrics", path, "--no-samples")
    with open(path) as file:
        check(file.read(), AGENT)
    expect(os.stat(path).st_mode & 0o777 == 0o644, "others cannot read it")
    case.end(process, send=15)
    expect(not os.path.exists(path), "what is old stays")


def names(case):
    """All names that are promised, of a server with 10^5 jobs of a thousand users in its store: 500 series at most, in little time."""
    store = filled(case)
    run_sql(store, """INSERT INTO jobs (key, name, username, state, start_ns, end_ns, run_time, logged, io_time, bytes_read, cost)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        SELECT 'many' || i, 'prog' || i % 500, 'user' || i % 1000, 'done', 1700000000000000000 + i, 1700000000000000000 + i, 10, 1, 1, 1, 1 FROM n;
        INSERT INTO days SELECT 19675, username, name, 0, sum(bytes_read), 0, 1, 1, 1, 1, 0, 0, count(*) FROM jobs WHERE key LIKE 'many%' GROUP BY 2, 3;
        INSERT INTO totals WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        SELECT i % 16, 'findings', 'Q' || i % 110, CASE WHEN i % 2 THEN 'HIGH' ELSE 'WARN' END, i FROM n WHERE true ON CONFLICT DO NOTHING;
        INSERT INTO totals VALUES (1, 'notices', 'mail', 'sent', 3), (2, 'notices', 'mail', 'sent', 4), (3, 'calls', 'POSIX', 'read', 5),
        (3, 'bytes', 'POSIX', 'read', 6), (3, 'ns', 'POSIX', 'read', 2500000000);
        INSERT INTO sample_series VALUES (901, 'n1', 'cpu.user'), (902, 'n2', 'cpu.user');
        INSERT INTO sample_values VALUES (901, 9000000000000000000, 1), (902, 1, 1);
        INSERT INTO jobs (key, name, state, start_ns, seen_ns) VALUES ('runs', 'x', 'running', 1, 9000000000000000000);""")  # fmt: skip
    served = Served(case, "--rate", "0", store=store)
    for route in ("jobs", "users", "days", "nodes", "none", "jobs/1", "jobs/999999"):
        served.ask("/api/1/" + route)
    text = served.get("/metrics").text
    check(text, NAMES)
    expect(len(series(text)) <= 500, "%d series", len(series(text)))
    for name, want in (('iorama_notifications_total{channel="mail",result="sent"}', 7), ('iorama_jobs_ended_total{state="done"}',
                       case.value("SELECT sum(jobs) - sum(broken) FROM days")), ('iorama_agents{state="at_work"}', 1),
                       ('iorama_io_seconds_total{layer="POSIX",kind="read"}', 2.5)):  # fmt: skip
        expect(value(text, name) == want, "%s is %s, not %s", name, value(text, name), want)
    expect(value(text, 'iorama_agents{state="silent"}') >= 1 and value(text, "iorama_store_bytes") > 10**6, text)
    served.end()
    # a log that is taken in again counts once
    findings = "SELECT sum(value) FROM totals WHERE name = 'findings' AND a NOT LIKE 'Q%'"
    before = case.value(findings)
    for folder, _, files in os.walk(case.path("site")):
        for file in files:
            os.utime(os.path.join(folder, file), (1, 1))
    case.command("index", "-q", "--store", store, case.path("site"))
    expect(before == case.value(findings) > 0, "findings: %s, then %s", before, case.value(findings))


if __name__ == "__main__":
    main({"agent": agent, "names": names})
