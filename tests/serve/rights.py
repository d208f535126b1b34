# SPDX-License-Identifier: BSD-3-Clause
"""Who sees what: every route, for every role, of every job, compared with what the rules of PostgreSQL let the same people see,
and with the same server over SQLite."""
import csv
import io
import os
import re
import shutil
import subprocess
import urllib.parse

from served import HERE, OWNERS, Served, Skip, expect, filled, frame, main, run_sql
import servers  # noqa: I001 (served knows where it is)
from cases import ROOT

JOB = ("", "/report", "/report.html", "/log", "/processes", "/files", "/findings", "/series", "/ranks", "/events", "/processes.csv",
       "/samples?from=0&to=8000000000", "/now")  # without "to" the steps of samples are of another length every five minutes
# who: (role, what PostgreSQL knows him as)
VIEWERS = {"ada": "user", "bob": "user", "carl": "user", "eve": "staff", "dora": "user", "phil": "project"}
SEES = {"ada": ("ada",), "bob": ("bob",), "carl": ("carl",), "eve": ("ada", "bob", "carl"), "dora": (), "phil": ("ada",), "": ()}
WORDS = ("--rate", "0", "--trust-header", "X-Remote-User", "--staff", "@staffers", "--project", "physics")
# a job of each runs, and each has what jobs are ranked by; many of its texts tell whose it is
MORE = OWNERS + """
UPDATE jobs SET verdict = 'secret of ' || username, command = 'secret of ' || username;
UPDATE findings SET title = 'secret of ' || (SELECT username FROM jobs WHERE number = findings.job);
UPDATE files SET path = '/secret of ' || (SELECT username FROM jobs WHERE number = files.job) || path;
UPDATE processes SET exe = 'secret of ' || (SELECT username FROM jobs WHERE number = processes.job);
UPDATE jobs SET state = 'running', end_ns = NULL, seen_ns = 9000000000000000000 WHERE number IN (SELECT max(number) FROM jobs GROUP BY username);
""" + "".join("""
INSERT INTO figure_names (name) SELECT '%s' WHERE NOT EXISTS (SELECT 1 FROM figure_names WHERE name = '%s');
DELETE FROM figure_values WHERE figure = (SELECT number FROM figure_names WHERE name = '%s');
INSERT INTO figure_values (figure, job, value, ranked) SELECT f.number, j.number, j.number, 0 FROM figure_names f, jobs j WHERE f.name = '%s';
""" % ((name,) * 4) for name in ("excess_read", "meta_ratio", "shared_indep_small"))  # fmt: skip
GROUPS = "physics=phil,ada;staffers=eve"


def groups(case):
    """The environment of a server that knows these groups."""
    library = case.compile_once("groups.so", [os.path.join(HERE, "groups.c")],
                                [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", os.path.join(HERE, "groups.c"), "-o", None])  # fmt: skip
    return case.environment(LD_PRELOAD=library, IORAMA_TEST_GROUPS=GROUPS)


def routes():
    """The rows of routes.def: (symbol, method, pattern, who may ask)."""
    with open(os.path.join(ROOT, "src", "serve", "routes.def"), encoding="utf-8") as file:
        rows = re.findall(r'^ROUTE\((\w+),\s*(\w+),\s*"([^"]*)",\s*(\w+),', file.read(), re.M)
    expect(len(rows) > 40, "routes: %s", rows)
    return rows


class Watched(Served):
    """Keeps which routes were asked for by whom, and looks at every answer for what he may not see."""

    def __init__(self, *words, **more):
        self.asked = set()
        self.known = [(symbol, method, re.compile("/" + re.sub(r":\w+", "[^/]+", pattern) + r"(\.\w+)?")) for symbol, method, pattern, _ in routes()]
        super().__init__(*words, **more)

    def note(self, method, path, user):
        path = path.partition("?")[0]
        self.asked |= {(symbol, user) for symbol, of, pattern in self.known if of == method and pattern.fullmatch(path)}

    def look(self, path, user, text):
        secrets = set(re.findall(r"secret of (\w+)", text)) - set(SEES[user])
        expect(not secrets, "%s: %s is told of %s", path, user or "nobody", secrets)

    def ask(self, path, method="GET", token=True, user=None, **more):
        answer = super().ask(path, method, token, user, **more)
        if user is not None:
            self.note(method, path, user)
            self.look(path, user, answer.body.decode(errors="replace"))
        return answer

    def stream(self, topics, user=None):
        self.note("GET", "/api/1/stream", user)
        return super().stream(topics, user)


def told(served, path, user):
    """What he gets, without what differs by itself."""
    answer = served.ask(path, user=user)
    return answer.status, answer.body


def check_job(served, user, job, sees, full):
    """Every route of a job: as the staff sees it, or as one that is not there."""
    none = told(served, "/api/1/jobs/987654", user)
    expect(none[0] == 404, "%s", none)
    for route in JOB:
        path = "/api/1/jobs/%d%s" % (job, route)
        got = told(served, path, user)
        expect(got == (full[path] if sees else none), "%s, %s: %s", user, path, got[:1])
        if not sees:
            tagged = served.ask(path, user=user, headers={"If-None-Match": served.tags.get(path, '"x"')}.items())
            expect((tagged.status, tagged.body) == none, "%s, %s: an ETag tells: %d", user, path, tagged.status)


def check_unseen(served, user, job):
    """Every route of a job that he does not see, whatever it asks for, is as that of one that is not there."""
    for symbol, method, pattern, who in routes():
        if who == "JOB":
            path = "/" + pattern.replace(":job", "%d")
            got, none = (served.ask(path % number, method, user=user) for number in (job, 987654))
            expect((got.status, got.body) == (none.status, none.body) and got.status == 404, "%s, %s of %d: %d", user, symbol, job, got.status)


def check_nobody(served, job):
    """A proxy that does not say of whom it asks: every route that is not everybody's."""
    for symbol, method, pattern, who in routes():
        if who != "ANY":
            path = "/" + pattern.replace(":job", str(job)).replace(":word", "ada")
            answer = served.ask(path, method, user="", token=False)
            expect(answer.status == 401, "nobody, %s: %d", symbol, answer.status)


def check_all_asked(served):
    """A route that is new and nobody's test is told here."""
    left = [(symbol, user) for symbol, _, _, who in routes() if who != "ANY" for user in (*VIEWERS, "") if (symbol, user) not in served.asked]
    expect(not left, "nobody asked for: %s", left)


def check_alike(served, user, sql):
    """Nodes are for everybody; a program day by day is what his days are."""
    times = "metric=cpu.user&from=0&to=8000000000"
    for path in ("nodes", "nodes/node1?" + times, "map?" + times, "sampled"):
        got, want = (told(served, "/api/1/" + path, who) for who in (user, "eve"))
        expect(got == want and got[0] == 200, "%s: %s", user, path)
    for name in sorted({row["name"] for row in rows_of(served, "/api/1/programs.csv", "eve")}):
        got = sorted([row["day"], row["jobs"]] for row in rows_of(served, "/api/1/programs/%s.csv" % urllib.parse.quote(name), user))
        expect(got == sorted(sql("SELECT day, sum(jobs) FROM days WHERE name = '%s' GROUP BY 1" % name)), "%s: days of %s are %s", user, name, got)


def check_diff(served, user, seen, jobs):
    """Compared are jobs of which one sees both."""
    logged = [job for job in sorted(jobs) if served.ask("/api/1/jobs/%d/log" % job, user="eve").status == 200][:4]
    expect(len(logged) == 4, "jobs with a log: %s", logged)
    for one in logged:
        for other in logged:
            got = told(served, "/api/1/jobs/%d/diff?with=%d" % (one, other), user)
            want = told(served, "/api/1/jobs/%d/diff?with=%d" % (one, other), "eve") if {one, other} <= seen else (404, None)
            expect(got[0] == want[0] and (want[1] is None or got == want), "%s: %d and %d: %s", user, one, other, got[:1])


def check_streams(served, user, jobs, seen):
    for job in jobs:
        connection, response = served.stream("job:%d" % job, user=user)
        expect(response.status == (200 if job in seen else 404), "%s listens to %d: %d", user, job, response.status)
        connection.close()
    if not seen:
        return
    connection, response = served.stream("jobs", user=user)
    _, data = frame(response)
    served.look("the stream", user, str(data))
    expect({row["job"] for row in data["jobs"]} == seen, "%s is told of %s, not %s", user, [r["job"] for r in data["jobs"]], seen)
    connection.close()


def check_together(served, visible):
    """All listen at once: frames are shared by those who see the same, and by nobody else."""
    streams = {user: served.stream("jobs", user=user) for user in VIEWERS}
    for user, (connection, response) in streams.items():
        _, data = frame(response)
        served.look("the stream", user, str(data))
        seen, got = visible(user)[0], {row["job"] for row in data["jobs"]}
        expect(got == seen, "%s among others is told of %s, not %s", user, got, seen)
        connection.close()


def rows_of(served, path, user):
    return list(csv.DictReader(io.StringIO(served.get(path, user=user).text)))


def check_lists(served, user, seen, sql):
    """Lists, counts, sums: nothing of what he does not see. sql(text): rows of texts, as the database shows them to him."""
    listed = served.get("/api/1/jobs?limit=500", user=user).json
    expect({row["job"] for row in listed["jobs"]} == seen and not listed["next"], "%s: %s, not %s", user, listed["jobs"], seen)
    expect({int(row["job"]) for row in rows_of(served, "/api/1/jobs.csv?limit=500", user)} == seen, "%s: CSV", user)
    pages, after = [], ""
    while True:
        page = served.get("/api/1/jobs?limit=2&sort=cost%s" % (after and "&after=" + after), user=user).json
        pages += [row["job"] for row in page["jobs"]]
        after = page["next"]
        if not after:
            break
    expect(sorted(pages) == sorted(seen), "%s: pages have %s", user, pages)
    for other in ("ada", "bob", "carl"):
        jobs = {row["job"] for row in served.get("/api/1/jobs?limit=500&user=" + other, user=user).json["jobs"]}
        expect(jobs <= seen, "%s asks for %s: %s", user, other, jobs - seen)
        expect(served.ask("/api/1/users/" + other, user=user).status == (200 if sql("SELECT 1 FROM days WHERE username = '%s' LIMIT 1" % other) else 404),
               "%s asks for %s", user, other)  # fmt: skip
    for path, text in (("users", "SELECT username, sum(jobs) FROM days GROUP BY 1"), ("programs", "SELECT name, sum(jobs) FROM days GROUP BY 1"),
                       ("days", "SELECT day, sum(jobs) FROM days GROUP BY 1")):  # fmt: skip
        got = sorted([next(iter(row.values())), row["jobs"]] for row in rows_of(served, "/api/1/%s.csv" % path, user))
        expect(got == sorted(sql(text)), "%s: %s are %s, not %s", user, path, got, sql(text))
    got = sorted(row["job"] for row in rows_of(served, "/api/1/findings.csv?limit=500", user))
    expect(got == sorted(r[0] for r in sql("SELECT job FROM findings WHERE level = 'HIGH' AND cost IS NOT NULL")), "%s: findings", user)
    expect(served.ask("/metrics", user=user).status == (200 if VIEWERS[user] == "staff" else 404), "%s: metrics", user)


def check_pages(served, user, seen, all_jobs):
    """What the pages ask for, as far as it names jobs: what the staff gets of those that he sees, and nothing else."""
    programs = {row["name"] for row in rows_of(served, "/api/1/jobs.csv?limit=500", "eve")}
    paths = ["ranking.csv?since=0&limit=500&metric=" + metric for metric in ("redundant", "metadata", "small")]
    paths += ["runs.csv?program=" + urllib.parse.quote(name) for name in programs]
    paths += ["moving.csv?limit=500", "sparks.csv?jobs=" + ",".join(str(job) for job in all_jobs)]
    paths += ["jobs/%d/%s.csv" % (job, route) for job in sorted(seen) for route in ("beside", "runs")]
    told_of = set()
    for path in paths:
        got = {int(row["job"]) for row in rows_of(served, "/api/1/" + path, user)}
        every = {int(row["job"]) for row in rows_of(served, "/api/1/" + path, "eve")}
        expect(every or not path.startswith(("ranking", "moving")), "%s: nobody has any", path)
        expect(got == every & seen, "%s, %s: %s, not %s", user, path, got, every & seen)
        told_of |= every
    expect(user != "eve" or told_of == all_jobs, "never told of: %s", all_jobs - told_of)


def check_sums(served, user, sql):
    """Sums of the pages."""
    row = rows_of(served, "/api/1/week.csv?since=0", user)[0]
    for key, text in (("running", "state = 'running'"), ("ended", "end_ns IS NOT NULL")):
        expect(row[key] == sql("SELECT count(*) FROM jobs WHERE " + text)[0][0], "%s: %s: %s", user, key, row)
    got = sorted((r["rule"], r["level"], r["jobs"]) for r in rows_of(served, "/api/1/rules.csv?since=0&limit=500", user))
    truth = sql("SELECT rule, level, count(DISTINCT job) FROM findings WHERE level IN ('HIGH', 'WARN') GROUP BY 1, 2")
    expect(got == sorted(tuple(r) for r in truth), "%s: rules are %s, not %s", user, got, truth)


def matrix(case, served, visible):
    """visible(user): (jobs, sql)."""
    jobs, _ = visible("eve")
    expect(len(jobs) > 6, "too few jobs: %s", jobs)
    full, served.tags = {}, {}
    for job in sorted(jobs)[-5:]:
        for route in JOB:
            path = "/api/1/jobs/%d%s" % (job, route)
            answer = served.ask(path, user="eve")
            full[path] = (answer.status, answer.body)
            served.tags[path] = answer.headers["ETag"] or '"x"'
        expect(served.get("/api/1/jobs/%d/why" % job, user="eve").json["job"] == job, "why %d", job)
    for user in VIEWERS:
        seen, sql = visible(user)
        for job in sorted(jobs)[-5:] if user != "eve" else ():
            check_job(served, user, job, job in seen, full)
        check_lists(served, user, seen, sql)
        check_streams(served, user, sorted(jobs)[-4:], seen)
        check_pages(served, user, seen, jobs)
        check_sums(served, user, sql)
        check_alike(served, user, sql)
        check_diff(served, user, seen, jobs)
        for job in sorted(jobs - seen)[:2]:
            check_unseen(served, user, job)
    check_together(served, visible)
    check_nobody(served, max(jobs))
    for path in ("/api/1/jobs", "/api/1/days", "/api/1/jobs/%d" % max(jobs), "/metrics", "/api/1/stream"):
        expect(served.ask(path, user="", token=False).status == 401, "a proxy that says nobody: %s", path)
        expect(served.ask(path, token=False).status == 401, "nobody: %s", path)


# what came with later versions of the store: a row of each job, or of each user, for what he was told and wants, and for staff
LATER = """
INSERT INTO trials (job, number, t_ns, host, change, rule, ranks, rounds, verdict) SELECT number, 1, 1, 'h', 'c', 'W01', 1, 1, 'better' FROM jobs;
INSERT INTO moments (job, host, t_ns, width_ns, processes, calls, body) SELECT number, 'h', 1, 1, 1, 1, BODY FROM jobs;
INSERT INTO served (of_job, number, username, uid, start_ns, end_ns, requests, body) SELECT min(number), 1, username, 1, 1, 1, 1, BODY FROM jobs GROUP BY username;
INSERT INTO notices (username, alert, period, channel, state, owner, changed_ns, tries, jobs)
SELECT u, 'findings', 1, 'mail', 'sent', 'x', 1, 1, 1 FROM (SELECT DISTINCT username AS u FROM jobs UNION SELECT '@staff') s;
INSERT INTO notice_jobs (job, username, alert, period) SELECT number, username, 'findings', 1 FROM jobs;
INSERT INTO notice_off (username, alert) SELECT DISTINCT username, 'small' FROM jobs;
INSERT INTO totals (part, name, a, b, value) SELECT 1000, 'test', '', '', 1;
"""


def check_tables(pg):
    """Whoever asks PostgreSQL himself sees of each table what is his own; staff all, but for what a server did for each user."""
    jobs = {name: pg.value("SELECT count(*) FROM jobs WHERE username = '%s'" % name) for name in ("ada", "bob", "carl")}
    tables = {"trials": "t.job IN (SELECT number FROM jobs WHERE username = '%s')", "moments": "t.job IN (SELECT number FROM jobs WHERE username = '%s')",
              "notice_jobs": "t.username = '%s'", "served": "t.username = '%s'", "notices": "t.username = '%s'", "notice_off": "t.username = '%s'",
              "totals": "'%s' = ''"}  # fmt: skip
    for table, own in tables.items():
        for user in ("bob", "carl"):  # of ada a policy tells more
            want = pg.value("SELECT count(*) FROM %s t WHERE %s" % (table, own % user))
            expect(table == "totals" or want == (jobs[user] if "job" in own or table == "notice_jobs" else "1"), "%s of %s: %s rows", table, user, want)
            got = pg.value("SELECT count(*) || ' ' || count(*) FILTER (WHERE %s) FROM %s t" % (own % user, table), user=user)
            expect(got == want + " " + want, "%s sees %s rows of %s, all and his own, not %s", user, got, table, want)
        got, every = pg.value("SELECT count(*) FROM " + table, user="eve"), pg.value("SELECT count(*) FROM " + table)
        expect(got == ("0" if table == "served" else every) and int(every) > 0, "staff see %s of %s rows of %s", got, every, table)
        for sql in ("DELETE FROM %s", "UPDATE %s SET " + ("job = 1" if "job" in own else "value = 1" if table == "totals" else "username = 'x'")):
            expect("permission denied" in pg.psql(sql % table, user="bob", check=False).stderr, "bob may: " + sql, table)


def check_switch(served, jobs, visible, owner):
    """POST jobs/N/live: whose the job is, and nobody else, not even staff; whoever does not see it learns nothing."""
    own = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}

    def post(path, user, method="POST", body='{"seconds": 1}', headers=None):
        answer = served.ask(path, method, user=user, body=body, headers=(own if headers is None else headers).items())
        return answer.status, answer.body

    for user in VIEWERS:
        seen = visible(user)[0]
        for job in sorted(jobs)[-5:]:
            got = post("/api/1/jobs/%d/live" % job, user)
            if job not in seen:
                expect(got == post("/api/1/jobs/987654/live", user) and got[0] == 404, "%s, live events of %d: %s", user, job, got)
                bad = post("/api/1/jobs/%d/live" % job, user, body="x", headers={})
                expect(bad == post("/api/1/jobs/987654/live", user, body="x", headers={}) and bad[0] == 404, "%s, %d, with nonsense: %s", user, job, bad)
            else:  # his own does not run here
                expect(got[0] == (409 if owner[job] == user else 403), "%s, live events of %d: %s", user, job, got)
        expect(post("/api/1/jobs/987654/live", user)[0] == 404, "%s: one that is not there", user)


def check_wants(served, stored):
    """PUT notices: each for himself. stored(): (user, alert) of who does not want to be told."""
    own = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}

    def put(user, body, headers=None):
        return served.ask("/api/1/notices", "PUT", user=user, token=False, body=body, headers=(own if headers is None else headers).items()).status

    before = stored()
    for body in ('{"alert": "metadata", "wanted": false, "user": "bob"}', '{"alert": "metadata"}', '{"alert": "metadata", "wanted": 0}', "", "[]",
                 '{"alert": "metadata", "alert": "small", "wanted": false}'):  # fmt: skip
        expect(put("ada", body or " ") == 400, "ada: %s", body)
    expect(put("ada", '{"alert": "site_findings", "wanted": false}') == 404 == put("ada", '{"alert": "nothing", "wanted": false}'), "an alert of staff")
    expect(put("ada", '{"alert": "metadata", "wanted": false}', {**own, "Sec-Fetch-Site": "cross-site"}) == 403, "a page of somebody else")
    expect(put("", '{"alert": "metadata", "wanted": false}') == 401, "nobody")
    expect(served.ask("/api/1/notices", user="", token=False).status == 401, "nobody is told of notices")
    expect(stored() == before, "what was refused was done: %s", stored() ^ before)
    for user in VIEWERS:
        expect(put(user, '{"alert": "metadata", "wanted": false}') == 200, "%s wants", user)
        before.add((user, "metadata"))
        expect(stored() == before, "%s: %s", user, stored() ^ before)
    for user in VIEWERS:
        rows = {row["alert"]: row for row in served.get("/api/1/notices", user=user).json}
        expect({a for a, row in rows.items() if not row["wanted"]} == {a for u, a in before if u == user}, "%s: %s", user, rows)
        expect((rows["findings"]["told"] is not None) == (user in ("ada", "bob", "carl")), "%s was told: %s", user, rows["findings"])
        expect(put(user, '{"alert": "metadata", "wanted": true}') == 200, "%s wants again", user)
        before.discard((user, "metadata"))
        expect(stored() == before, "%s: %s", user, stored() ^ before)


def later(case, served, jobs, visible, rows):
    """rows(sql): rows of texts, as who owns the tables sees them"""
    check_switch(served, jobs, visible, {int(n): u for n, u in rows("SELECT number, username FROM jobs")})
    check_wants(served, lambda: {tuple(r) for r in rows("SELECT username, alert FROM notice_off")})
    expect({tuple(r) for r in rows("SELECT username, count(*) FROM notices GROUP BY 1")} == {(u, "1") for u in ("ada", "bob", "carl", "@staff")}, "notices")
    check_all_asked(served)


def postgres(case):
    """PostgreSQL's row-level security is the truth."""
    with servers.Postgres() as pg:
        filled(case, pg.url, jobs=6)
        pg.psql(MORE + "CREATE ROLE iorama_users; CREATE ROLE iorama_staff; CREATE ROLE physics;"
                "CREATE ROLE ada LOGIN IN ROLE iorama_users; CREATE ROLE bob LOGIN IN ROLE iorama_users;"
                "CREATE ROLE carl LOGIN IN ROLE iorama_users; CREATE ROLE dora LOGIN IN ROLE iorama_users;"
                "CREATE ROLE phil LOGIN IN ROLE iorama_users; CREATE ROLE eve LOGIN IN ROLE iorama_staff;"
                "SELECT iorama_share('iorama_users'); SELECT iorama_share('iorama_staff', true);"
                "CREATE POLICY physics ON jobs FOR SELECT TO phil USING (username IN ('phil', 'ada'));"
                "CREATE POLICY physics ON days FOR SELECT TO phil USING (username IN ('phil', 'ada'));"
                "CREATE POLICY physics2 ON jobs FOR SELECT TO ada USING (username IN ('phil', 'ada'));")  # fmt: skip

        def visible(user):
            def sql(text):
                lines = pg.psql("COPY (%s) TO STDOUT WITH (FORMAT csv)" % text, user=user).stdout
                return list(csv.reader(io.StringIO(lines)))

            return {int(r[0]) for r in sql("SELECT number FROM jobs")}, sql

        served = Watched(case, *WORDS, store=pg.url, env=groups(case))
        matrix(case, served, visible)
        pg.psql(LATER.replace("BODY", "''"))
        check_tables(pg)

        def rows(text):
            return list(csv.reader(io.StringIO(pg.psql("COPY (%s) TO STDOUT WITH (FORMAT csv)" % text).stdout)))

        later(case, served, visible("eve")[0], visible, rows)


def sqlite(case):
    """The same over SQLite, which has no rights of its own: what is seen is what SQL with names says."""
    store = filled(case, jobs=6)
    run_sql(store, MORE)
    owners = {"eve": ("ada", "bob", "carl"), "phil": ("phil", "ada")}

    def visible(user):
        names = ", ".join("'%s'" % name for name in owners.get(user, (user,)))

        def sql(text):
            text = text.replace("FROM days", "FROM (SELECT * FROM days WHERE username IN (%s)) d" % names)
            text = text.replace("FROM findings", "FROM (SELECT f.* FROM findings f JOIN jobs j ON j.number = f.job WHERE j.username IN (%s)) d" % names)
            text = text.replace("FROM jobs", "FROM (SELECT * FROM jobs WHERE username IN (%s)) j" % names)
            return [[str(v) for v in row.values()] for row in case.rows(text)]

        return {r["number"] for r in case.rows("SELECT number FROM jobs WHERE username IN (%s)" % names)}, sql

    served = Watched(case, *WORDS, store=store, env=groups(case))
    matrix(case, served, visible)
    run_sql(store, LATER.replace("BODY", "x''"))
    later(case, served, visible("eve")[0], visible, lambda text: [[str(v) for v in row.values()] for row in case.rows(text)])


def open_sums(case):
    """With --open sums by day are everybody's, and nothing else is."""
    store = filled(case, jobs=3)
    served = Served(case, "--rate", "0", "--open", store=store)
    rows = served.get("/api/1/days", token=False).json
    expect(sum(row["jobs"] for row in rows) == case.value("SELECT sum(jobs) FROM days"), "%s", rows)
    for symbol, method, pattern, who in routes():
        if who not in ("ANY", "SUMS"):
            path = "/" + pattern.replace(":job", "1").replace(":word", "ada")
            expect(served.ask(path, method, token=False).status == 401, "%s is open", symbol)


def reader(case):
    """A server whose role may only read, as docs/site.md makes it: it answers what the owner of the tables gets, and writes only what it
    is given rights for."""
    with open(os.path.join(ROOT, "docs", "site.md"), encoding="utf-8") as page:
        role, more = re.findall(r"```sql serve\n(.*?)```", page.read(), re.S)
    with servers.Postgres() as pg:
        filled(case, pg.url, jobs=6)
        pg.psql("CREATE ROLE iorama_users; SELECT iorama_share('iorama_users');" + OWNERS + role)
        number = pg.value("SELECT min(number) FROM jobs WHERE logged = 1")
        paths = ["/api/1/" + path for path in ("jobs?limit=500", "users", "programs", "days", "findings", "rules?since=0", "week?since=0", "nodes",
                                               *("jobs/%s%s" % (number, route) for route in JOB))]  # fmt: skip
        answers = []
        for url in (pg.url, pg.url_of("iorama", "iorama_serve")):
            served = Served(case, "--rate", "0", store=url)
            answers.append([(answer.status, answer.body) for answer in map(served.ask, paths)])
            put = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}, '{"alert": "small", "wanted": false}'

            def wants():
                return served.ask("/api/1/notices", "PUT", body=put[1], headers=put[0].items()).status

            if url != pg.url:
                expect("permission denied" in pg.psql("DELETE FROM jobs", user="iorama_serve", check=False).stderr, "it may delete jobs")
                pg.psql("DELETE FROM notice_off")
                expect(wants() == 503 and pg.value("SELECT count(*) FROM notice_off") == "0", "it wrote without the right to")
                pg.psql(more)
            expect(wants() == 200 and pg.value("SELECT count(*) FROM notice_off") == "1", "it cannot write what it may")
            served.end()
        for path, owner, other in zip(paths, *answers):
            expect(owner == other and owner[0] in (200, 404), "%s: %s, not %s", path, other, owner)


def peers(case):
    """At the socket the kernel says who it is; only a proxy that is trusted may say it of others."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("curl"):
        raise Skip("needs root, setpriv and curl")
    store = filled(case, jobs=3)
    os.chmod(case.folder, 0o755)
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", "--proxy", "www-data", store=store)

    def as_user(user, *words):
        return subprocess.run(["setpriv", "--reuid", user, "--clear-groups", "curl", "-s", "-w", "%{http_code}", "--unix-socket", served.socket,
                               "http://x/api/1/session", *words], capture_output=True, text=True).stdout  # fmt: skip

    expect('"user":"daemon","role":"user"' in as_user("daemon"), as_user("daemon"))
    expect(as_user("daemon", "-H", "X-Remote-User: ada").endswith("400"), "daemon is ada")
    expect('"user":"ada"' in as_user("www-data", "-H", "X-Remote-User: ada"), "the proxy's word")
    expect(as_user("www-data", "-H", "X-Remote-User: ada", "-H", "X-Remote-User: bob").endswith("400"), "two names")
    expect('"user":null' in as_user("www-data"), "a proxy that does not say")
    expect(served.ask("/api/1/session", headers={"X-Remote-User": "ada"}.items()).status == 400, "the header at an address")


if __name__ == "__main__":
    main({"postgres": postgres, "sqlite": sqlite, "open": open_sums, "reader": reader, "peers": peers})
