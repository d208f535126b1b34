# SPDX-License-Identifier: BSD-3-Clause
"""HTTP: what is answered and how, what is refused, and what nobody can do to the others."""
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import time

from served import HERE, PAYLOAD, Served, Skip, expect, filled, main, raw, run_sql
from cases import need

ROOT = os.path.dirname(os.path.dirname(HERE))
ROUTES = ("session", "jobs", "jobs/%d", "jobs/%d/report", "jobs/%d/processes", "jobs/%d/files", "jobs/%d/findings",
          "jobs/%d/series", "jobs/%d/ranks", "jobs/%d/events", "jobs/%d/beside?under=/tmp", "jobs/%d/runs",
          "jobs/%d/samples?from=0&to=8000000000", "sparks?jobs=%d,1,2",
          "week?since=0", "moving", "rules?since=0", "ranking?metric=small&since=0", "ranking?metric=metadata&since=0",
          "ranking?metric=redundant&since=0", "runs?program=app0",
          "map?metric=cpu.user&from=0&to=8000000000", "sampled", "users", "programs", "findings", "days", "nodes")  # fmt: skip


def forms(case):
    """Every resource as JSON and CSV with the same rows; ETags, gzip, headers that browsers obey; nothing changes the store."""
    store = filled(case)
    job = case.value("SELECT min(number) FROM jobs WHERE logged = 1")
    live = case.value("SELECT min(job) FROM blocks")
    served = Served(case, "--rate", "0", store=store)
    for route in ROUTES:
        for number in (job, live) if "%d" in route else (0,):
            path = "/api/1/" + (route % number if "%d" in route else route)
            if route == "jobs/%d/report" and number == live:
                expect(served.ask(path).status == 404, "a report without a log")
                continue
            answer = served.get(path)
            policy = answer.headers["Content-Security-Policy"]
            expect("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, "%s: %s", path, policy)
            expect(answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Referrer-Policy"] == "no-referrer", path)
            if route == "session":
                continue
            expect(served.get(path, 304, headers={"If-None-Match": answer.headers["ETag"]}.items()).body == b"", "%s: 304 with a body", path)
            packed = served.get(path, headers={"Accept-Encoding": "gzip"}.items())
            if len(answer.body) > 600:
                expect(gzip.decompress(packed.body) == answer.body, "%s: packed is something else", path)
            if route in ("jobs/%d", "jobs/%d/report"):
                continue
            rows = answer.json["jobs"] if route == "jobs" else answer.json
            word, _, query = path.partition("?")
            for other in (served.get(word + ".csv" + (query and "?" + query)), served.get(path, headers={"Accept": "text/csv"}.items())):
                table = list(csv.DictReader(io.StringIO(other.text)))
                expect(len(table) == len(rows), "%s: %d rows of CSV, %d of JSON", path, len(table), len(rows))
                for row, line in zip(rows, table):
                    expect(list(row) == list(line), "%s: other columns", path)
                    for key, v in row.items():
                        expect(v is None and line[key] == "" or isinstance(v, float) or str(v) == line[key], "%s: %s is %s and %s",
                               path, key, v, line[key])  # fmt: skip
    expect(served.get("/api/1/jobs/%d/log" % job).body[:4] in (b"3.41", b"3.40", b"3.21"), "the log")
    expect(served.get("/api/1/jobs/%d/report.html" % job).body.startswith(b"<!doctype html>"), "the page of the report")
    other = case.value("SELECT max(number) FROM jobs WHERE logged = 1")
    expect(served.get("/api/1/jobs/%d/diff?with=%d" % (job, other)).json["schema"] == "iorama-diff", "diff")
    expect(len(served.get("/api/1/jobs/%d/events?limit=7" % live).json) == 7, "events with a limit")
    expect(b"<script type=\"module\" src=\"portal.js\">" in served.get("/", token=False).body, "the page")
    expect(served.get("/?page=job&job=17&x=%3Cb%3E", token=False).body == served.get("/", token=False).body, "the page with what it shows in its address")
    expect(served.get("/portal.js", token=False).headers["Content-Type"].startswith("text/javascript"), "its script")
    expect(served.get("/health", token=False).json == {"store": True, "live": True}, "health")
    served.end()


def pages(case):
    """The union of all pages is what SQL says, in the same order; cursors, sorts and limits of others are refused with a line."""
    store = filled(case, jobs=40)
    served = Served(case, "--rate", "0", store=store)
    for sort, sql in (("start", "start_ns DESC, number DESC"), ("-start", "start_ns, number DESC"), ("cost", None)):
        got, after = [], ""
        while True:
            page = served.get("/api/1/jobs?limit=7&sort=%s%s" % (sort, after and "&after=" + after)).json
            got += [row["job"] for row in page["jobs"]]
            if not page["next"]:
                break
            after = page["next"]
        expect(len(set(got)) == len(got) == case.value("SELECT count(*) FROM jobs"), "%s: %d jobs", sort, len(got))
        if sql:
            expect(got == [r["number"] for r in case.rows("SELECT number FROM jobs ORDER BY start_ns IS NULL, " + sql)], "%s: other order", sort)
    for query in ("limit=0", "limit=501", "limit=-1", "limit=9223372036854775808", "sort=number;--", "sort=", "columns=x", "where=1%3D1",
                  "where=cost%20%3E%20(select%201)", "after=zz", "since=soon", "state=%27", "finding=X99", "page=-1", "limit=1&limit=2"):  # fmt: skip
        answer = served.get("/api/1/jobs?" + query, 400)
        expect("error" in answer.json, "%s: no line", query)
    for path in ("jobs/0", "jobs/-1", "jobs/1e3", "jobs/99999999999999999999", "jobs/7x", "jobs//1", "jobs/%31%00", "x"):
        expect(served.ask("/api/1/" + path).status in (400, 404), path)
    served.end()


def hostile(case):
    """A job whose every text is a payload: no header, no cell of CSV and no document is more than text by it."""
    store = filled(case, jobs=2)
    evil = "%s\r\nSet-Cookie: a=b <script>alert(1)</script> \u202e\x1b[2J\"'" % PAYLOAD
    quoted = evil.replace("'", "''")
    run_sql(store, "UPDATE jobs SET name = '%s', command = '%s', verdict = '%s', tag = '%s'; UPDATE files SET path = '%s';"
                   "UPDATE findings SET title = '%s'; UPDATE processes SET exe = '%s', host = '%s'" % ((quoted,) * 8))  # fmt: skip
    served = Served(case, "--rate", "0", store=store)
    for job in (r["number"] for r in case.rows("SELECT number FROM jobs")):
        for route in ("", "/files", "/findings", "/processes", "/events"):
            answer = served.get("/api/1/jobs/%d%s" % (job, route))
            expect(answer.headers["Set-Cookie"] is None and answer.headers["Content-Type"] == "application/json", route)
            json.loads(answer.body)
            if route:
                for row in csv.reader(io.StringIO(served.get("/api/1/jobs/%d%s.csv" % (job, route)).text)):
                    expect(not any(re.match("[=@]", cell) for cell in row), "a formula in %s: %s", route, row)
    row = served.get("/api/1/jobs?limit=1").json["jobs"][0]
    expect(row["name"] == evil, "the name is told as it is: %r", row["name"])
    expect("'=cmd" in served.get("/api/1/jobs.csv").text, "a formula in the list")
    served.end()
    # nor does a terminal take any of it for a command
    live, logged = (str(case.value("SELECT %s FROM jobs" % which)) for which in ("min(CASE WHEN logged = 0 THEN number END)", "max(logged * number)"))
    for words in (("jobs",), ("jobs", logged), ("jobs", live), ("jobs", "--columns", "name,command,verdict,tag,key"), ("jobs", live, "--why"),
                  ("watch", "--store", "--once"), ("report", "--store", logged), ("report", "--fleet", "--store", "--since", "520w"),
                  ("query", "--job", live, "--limit", "9"), ("query", "--sql", "SELECT * FROM jobs"), ("query", "--sql", "SELECT * FROM findings")):  # fmt: skip
        done = case.command(*words, env=case.environment(IORAMA_STORE=store, LC_ALL="C.UTF-8"))
        found = re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.stdout + done.stderr)
        expect(done.stdout and not found, "iorama %s: %r", words, found and done.stdout[max(found.start() - 60, 0) :][:120])


def hosts(case):
    """Names that are not ours are sent away: whoever lets his own point to this address gets nothing by it."""
    served = Served(case, "--host", "portal.site.org", store=filled(case, jobs=1))
    for host, status in (("127.0.0.1:%d", 200), ("localhost:%d", 200), ("portal.site.org", 200), ("PORTAL.site.org:%d", 200), ("evil.com:%d", 421),
                         ("127.0.0.1", 421), ("127.0.0.1:1", 421), ("[", 421), ("localhost.evil.com:%d", 421)):  # fmt: skip
        host = host % served.port if "%" in host else host
        got = raw(served, b"GET /health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host.encode())
        expect(got.startswith(b"HTTP/1.1 %d " % status), "%s: %s", host, got[:60])
    served.end()


def entering(case):
    """The token becomes a cookie, by a page of ours only; wrong ones are nobody; who asks too often waits; it is nowhere in a log."""
    served = Served(case, "--rate", "5", store=filled(case, jobs=1))
    mode = os.stat(case.path("token")).st_mode & 0o777
    expect(mode == 0o600, "the token has mode %o", mode)
    own = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    right = json.dumps({"token": served.token})
    for path in ("/api/1/jobs", "/api/1/jobs/1", "/metrics", "/api/1/stream", "/api/1/days"):
        expect(served.ask(path, token=False).status == 401, "%s without a token", path)
        expect(served.ask(path, headers={"Authorization": "Bearer " + "0" * 64}.items(), token=False).status in (401, 429), "%s by a wrong one", path)
        time.sleep(0.5)  # for the next one to be let in
    for headers, status in (({**own, "Sec-Fetch-Site": "cross-site"}, 403), ({"Content-Type": "application/json", "Origin": "http://evil.com"}, 403),
                            ({**own, "Content-Type": "text/plain"}, 400)):  # fmt: skip
        got = served.ask("/api/1/session", "POST", token=False, body=right, headers=headers.items())
        expect(got.status == status and got.headers["Set-Cookie"] is None, "%s: %d", headers, got.status)
    answer = served.ask("/api/1/session", "POST", token=False, body=right, headers=own.items())
    cookie = answer.headers["Set-Cookie"]
    expect(answer.status == 200 and "HttpOnly" in cookie and "SameSite=Strict" in cookie, "%d %s", answer.status, cookie)
    with_it = {"Cookie": "a=b; " + cookie.split(";")[0]}
    expect(served.get("/api/1/session", token=False, headers=with_it.items()).json["role"] == "staff", "the cookie")
    for i in range(8):
        got = served.ask("/api/1/session", "POST", token=False, body=json.dumps({"token": "0" * 64}), headers=own.items()).status
        expect(got == (401 if i < 5 else 429) or got == 429, "wrong one %d: %d", i, got)
        time.sleep(0.25)  # slower than --rate
    expect(served.ask("/api/1/session", "POST", token=False, body=right, headers=own.items()).status in (200, 429), "the right one after them")
    case.wait(lambda: served.ask("/api/1/session", "DELETE", token=False, headers={**own, **with_it}.items()).status == 200, "logging out")
    case.wait(lambda: served.ask("/api/1/jobs", token=False, headers=with_it.items()).status == 401, "the cookie is worth nothing")
    codes = set()
    for _ in range(1000):  # faster than --rate, also where others have the machine
        codes.add(served.ask("/health").status)
        if codes >= {200, 429}:
            break
    expect(codes == {200, 429}, "nobody waits: %s", codes)
    served.end()
    expect(served.token not in served.process.said(), "the token is in what it says")


def metrics(case):
    """promtool has nothing to say; figures are those of the store; no job, user or file is named."""
    store = filled(case, jobs=12)
    served = Served(case, store=store)
    text = served.get("/metrics").text
    for name, sql in (('iorama_jobs_ended_total{state="done"}', "SELECT count(*) FROM jobs WHERE state = 'done'"),
                      ('iorama_findings_total{rule="W01",level="HIGH"}', "SELECT nullif(count(*), 0) FROM findings WHERE level = 'HIGH' AND rule = 'W01'"),
                      ('iorama_findings_total{rule="M01",level="WARN"}', "SELECT nullif(count(*), 0) FROM findings WHERE level = 'WARN' AND rule = 'M01'"),
                      ('iorama_events_stored_total', "SELECT sum(events) FROM jobs"), ('iorama_events_lost_total', "SELECT sum(lost) FROM jobs"),
                      ('iorama_bytes_total{layer="POSIX",direction="write"}', "SELECT nullif(sum(bytes_written), 0) FROM activity WHERE layer = 'POSIX'"),
                      ('iorama_calls_total{layer="POSIX",kind="meta"}', "SELECT nullif(sum(metas), 0) FROM activity WHERE layer = 'POSIX'"),
                      ('iorama_jobs{state="running"}', "SELECT count(*) FROM jobs WHERE state = 'running'"),
                      ('iorama_jobs_bytes_total{direction="read"}', "SELECT sum(bytes_read) FROM jobs WHERE state <> 'running'")):  # fmt: skip
        found = re.search("^" + re.escape(name) + " (.*)", text, re.M)
        want = case.value(sql)
        expect(float(found[1]) == want if found else want is None, "%s is %s, not %s", name, found and found[1], want)
    expect(not re.search(r"\b(ada|bob|carl|data/file)\b", text), "somebody is named")
    expect(len([line for line in text.split("\n") if line and line[0] != "#"]) < 500, "too many series")
    served.end()
    need("promtool")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    expect(done.returncode == 0 and not done.stderr and not done.stdout, "promtool: %s%s", done.stdout, done.stderr)


def rules(case):
    """The rules that are shipped are sound, fire when they should and only then; every figure they ask for is one that is told."""
    need("promtool")
    shipped = os.path.join(ROOT, "packaging", "prometheus", "iorama.rules.yml")
    shutil.copy(shipped, case.path("iorama.rules.yml"))
    shutil.copy(os.path.join(HERE, "rules.yml"), case.path("rules.yml"))
    for words in (("promtool", "check", "rules", "iorama.rules.yml"), ("promtool", "test", "rules", "rules.yml"),
                  ("amtool", "check-config", os.path.join(ROOT, "packaging", "prometheus", "alertmanager.yml"))):  # fmt: skip
        need(words[0])
        done = subprocess.run(words, cwd=case.folder, capture_output=True, text=True)
        expect(done.returncode == 0 and "FAILED" not in done.stdout, "%s: %s%s", words, done.stdout, done.stderr)
    store = filled(case, jobs=3)
    run_sql(store, "INSERT INTO jobs (key, name, state, start_ns, seen_ns) VALUES ('runs', 'x', 'running', 1, 9000000000000000000)")
    served = Served(case, store=store)
    served.get("/health")  # so that there is a request to tell of
    told = set(re.findall(r"^(iorama_\w+)", served.get("/metrics").text, re.M))
    with open(shipped, encoding="utf-8") as file:
        asked = set(re.findall(r"\biorama_\w+", file.read()))
    case.agent("--metrics", case.path("agent.prom"), "--no-samples")
    with open(case.path("agent.prom"), encoding="utf-8") as file:
        told |= set(re.findall(r"^(iorama_\w+)", file.read(), re.M))
    told |= {"iorama_notifications_total"}  # once there is one: tests/serve/alerts.py
    expect(asked and asked <= told, "asked for and not told: %s", asked - told)
    served.end()


def store_gone(case):
    """A store that is not there is told at once; one that goes away is 503, and comes back."""
    done = case.command("serve", "--store", case.path("none.db"), "--token", case.path("token"), "--listen", "0", status=3)
    expect("no store here yet" in done.stderr, done.stderr)
    expect(case.command("serve", "--trust-header", "X", status=2).stderr != "", "a header that anybody could send")
    try:
        import servers
        pg = servers.Postgres()
    except Skip:
        return
    with pg:
        filled(case, pg.url, jobs=2)
        served = Served(case, "--rate", "0", store=pg.url)
        expect(len(served.get("/api/1/jobs").json["jobs"]) > 2, "jobs of PostgreSQL")
        pg.stop()
        case.wait(lambda: served.ask("/api/1/jobs").status == 503, "503 without a server")
        pg.start()
        case.wait(lambda: served.ask("/api/1/jobs").status == 200 and served.ask("/health").status == 200, "it is back")
        served.end()


if __name__ == "__main__":
    main({"forms": forms, "pages": pages, "hostile": hostile, "hosts": hosts, "entering": entering,
          "metrics": metrics, "rules": rules, "store-gone": store_gone})  # fmt: skip
