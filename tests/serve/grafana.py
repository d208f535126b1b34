# SPDX-License-Identifier: BSD-3-Clause
"""The dashboards for Grafana: every statement of theirs is run on PostgreSQL as a user and as staff, with macros put in as Grafana does it,
and gives what the test has put into the store; every expression is run by promtool on a Prometheus that asks a server at work. Nobody
has looked at the drawing: there is no Grafana to be had here."""
import glob
import json
import os
import re
import subprocess

from served import HERE, Served, Skip, expect, filled, main, run_sql
from cases import need
import servers

try:
    import psycopg2
except ImportError:
    psycopg2 = None

BOARDS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "packaging", "grafana")
NS, DAY = 10**9, 86400
FROM, TO, STEP = 1700006400 - 2 * DAY, 1700006400 + DAY, 10  # 1700006400 is a midnight
PROMETHEUS, POSTGRES = "prometheus", "grafana-postgresql-datasource"
# (number, user, program, day from FROM's midnight on, run time, nodes, read, written, rule, cost)
JOBS = ((1, "ada", "sim", 0, 3600, 4, 100, 10, "W01", 600), (2, "ada", "sim", 1, 1800, 2, 200, 20, "F02", 30), (3, "bob", "post", 1, 7200, 1, 300, 30, "R08", 60),
        (4, "bob", "it's", 9, 60, 1, 5, 5, "W07", 1))  # fmt: skip
KINDS = (("read", 2, 1000), ("write", 1, 500), ("meta", 7, 0))


def fill(pg):
    """Jobs of two users, the last one outside of the time; series of the first, samples of its node."""
    for number, user, name, day, run, nodes, read, written, rule, cost in JOBS:
        end = FROM + day * DAY + 7200
        pg.psql("INSERT INTO jobs (number, key, name, username, start_ns, end_ns, run_time, nodes, nprocs, state, source, logged, bytes_read,"
                " bytes_written, io_time, cost, verdict) VALUES (%d, 'k%d', $$%s$$, '%s', %d, %d, %d, %d, 8, 'done', 'log', 1, %d, %d, 900, %d, 'slow');"
                "INSERT INTO findings VALUES (%d, 0, '%s', 'WARN', 'title', 'evidence', 'advice', %d, 0), (%d, 1, 'X01', 'INFO', '', '', '', 9, 0);"
                "INSERT INTO files VALUES (%d, 1, '/scratch/%s/x');"
                "INSERT INTO days (day, username, name, broken, bytes_read, bytes_written, io_ms, run_ms, node_ms, cost_ms, high, warn, jobs) VALUES"
                " (%d, '%s', $$%s$$, %d, %d, %d, 1, 1, %d, %d, 0, 1, 1)" % (
                    number, number, name, user, (end - run) * NS, end * NS, run, nodes, read, written, cost, number, rule, cost, number, number, user,
                    end // DAY, user, name, number == 2, read, written, run * nodes * 1000, cost * 1000))  # fmt: skip
    for layer in ("POSIX", "MPI-IO"):
        for kind, ops, size in KINDS:
            pg.psql("INSERT INTO series SELECT 1, %d + s, '%s', '%s', %d, %d, 500000000, 3000000, 8, 0, 1 FROM generate_series(0, 29) s" % (
                FROM + 3600, layer, kind, ops, size))  # fmt: skip
    pg.psql("INSERT INTO processes (segment, job, rank, host) VALUES ('\\x01', 1, 0, 'n''1')")
    for number, (host, metric, v) in enumerate((("n'1", "cpu.blocked", 3), ("n'1", "nfs._scratch.read_bytes", 40), ("n2", "nfs._scratch.read_bytes", 2),
                                                ("n2", "disk.sda.write_bytes", 7), ("n2", "nfs.retransmits", 1), ("n2", "cpu.blocked", 5))):  # fmt: skip
        pg.psql("INSERT INTO sample_series VALUES (%d, $$%s$$, '%s'); INSERT INTO sample_values VALUES (%d, %d, %d)" % (
            900 + number, host, metric, 900 + number, (FROM + 3600) * NS, v))  # fmt: skip


def quoted(values):
    return ",".join("'%s'" % str(v).replace("'", "''") for v in values)


def expanded(text, values):
    """Macros and variables as Grafana puts them in."""
    text = re.sub(r"\$__unixEpochFilter\(([^()]+)\)", r"\1 >= %d AND \1 <= %d" % (FROM, TO), text)
    text = re.sub(r"\$__unixEpochNanoFilter\(([^()]+)\)", r"\1 >= %d AND \1 <= %d" % (FROM * NS, TO * NS), text)
    text = re.sub(r"\$__unixEpochGroup\(([^(),]+), *\$__interval\)", r"floor((\1)/%d)*%d" % (STEP, STEP), text)
    text = text.replace("$__interval_ms", str(STEP * 1000)).replace("$__rate_interval", "1m")
    text = re.sub(r"\$\{(\w+):sqlstring\}", lambda m: quoted(values[m[1]]), text)
    expect("$" not in text, "a macro that is not known: %s", text)
    return text


def boards():
    found = {}
    for path in sorted(glob.glob(BOARDS + "/*.json")):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = json.load(file)
    expect(set(found) == {"site.json", "job.json", "filesystems.json"}, "%s", set(found))
    return found


def targets(kind):
    for name, board in boards().items():
        for panel in board["panels"]:
            for target in panel["targets"]:
                if target["datasource"]["type"] == kind:
                    yield name, panel, target


def shape(case):
    """Dashboards have ids of their own, places that do not overlap, sources that are variables, and no statement that sums what is costly."""
    expect(len({board["uid"] for board in boards().values()}) == 3, "uids")
    for name, board in boards().items():
        known = {v["name"] for v in board["templating"]["list"]}
        expect(len({p["id"] for p in board["panels"]}) == len(board["panels"]), "%s: ids", name)
        taken = set()
        for panel in board["panels"]:
            g = panel["gridPos"]
            cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
            expect(not cells & taken and g["x"] + g["w"] <= 24, "%s: %s lies on another", name, panel["title"])
            taken |= cells
        text = json.dumps(board)
        used = set(re.findall(r"\$\{(\w+)(?::\w+)?\}", text))
        expect(used <= known and used | {"folder"} >= known, "%s: variables %s, used %s", name, known, used)
        expect("activity" not in text and "rollups" not in text and not re.search(r"\$\{(?!postgres|prometheus)\w+\}", text), "%s", name)


def statements(case):
    """What each table and curve shows, to a user and to staff."""
    if psycopg2 is None:
        raise Skip("python3-psycopg2 is not installed")
    with servers.Postgres() as pg:
        os.makedirs(case.path("none"))
        case.command("index", "-q", "--store", pg.url, case.path("none"))
        fill(pg)
        pg.psql("CREATE ROLE iorama_users; CREATE ROLE iorama_staff; CREATE ROLE ada LOGIN IN ROLE iorama_users; CREATE ROLE eve LOGIN IN ROLE iorama_staff;"
                "SELECT iorama_share('iorama_users'); SELECT iorama_share('iorama_staff', true);")  # fmt: skip
        pg.psql("INSERT INTO notices VALUES ('ada', 'a', 1, 'mail', 'sent', '', 1, 1, 1), ('bob', 'a', 1, 'mail', 'sent', '', 1, 1, 1);"
                "INSERT INTO notice_jobs VALUES (1, 'ada', 'a', 1), (3, 'bob', 'a', 1); INSERT INTO notice_off VALUES ('ada', 'b'), ('bob', 'b');"
                "INSERT INTO totals VALUES (0, 'x', '', '', 1)")  # fmt: skip
        for user, seen in (("ada", {"ada"}), ("eve", {"ada", "bob"})):
            for table in ("notices", "notice_jobs", "notice_off"):
                expect(pg.value("SELECT count(*) FROM " + table, user=user) == str(len(seen)), "%s sees others in %s", user, table)
            expect((pg.value("SELECT count(*) FROM totals", user=user) != "0") == (user == "eve"), "%s and sums of all", user)
            link = psycopg2.connect(pg.url_of("iorama", user))
            got = {}
            for name, board in boards().items():
                values = {"folder": ["/scratch/"]}
                for v in board["templating"]["list"]:
                    if v["type"] == "query":
                        with link.cursor() as cursor:
                            cursor.execute(v["query"])
                            names = [c.name for c in cursor.description]
                            rows = cursor.fetchall()
                        expect("__text" in names and rows, "%s: %s gives %s", name, v["name"], rows)
                        values[v["name"]] = [row[names.index("__value" if "__value" in names else "__text")] for row in rows]
                        if v["name"] == "job":
                            expect(values["job"] == [j[0] for j in sorted(JOBS, key=lambda j: (-j[3], j[4])) if j[1] in seen], "%s", values["job"])
                            values["job"] = [1]
                for panel in board["panels"]:
                    for target in panel["targets"]:
                        if target["datasource"]["type"] != POSTGRES:
                            continue
                        with link.cursor() as cursor:
                            cursor.execute(expanded(target["rawSql"], values))
                            columns, rows = [c.name for c in cursor.description], cursor.fetchall()
                        link.commit()
                        for o in panel["fieldConfig"]["overrides"]:
                            expect(o["matcher"]["options"] in columns, "%s: no column %s in %s", panel["title"], o["matcher"]["options"], columns)
                        if target["format"] == "time_series":
                            expect(columns[0] == "time" and [r[0] for r in rows] == sorted(r[0] for r in rows), "%s: %s", panel["title"], columns)
                        expect(panel["title"] not in got, "two are called %s", panel["title"])
                        got[panel["title"]] = [tuple(float(c) if c is not None and not isinstance(c, str) else c for c in r) for r in rows]
            check(got, seen)
            link.close()


def check(got, seen):
    jobs = [j for j in JOBS if j[1] in seen and j[3] < 3]
    days = sorted({FROM + j[3] * DAY for j in jobs})

    def same(title, want):
        expect(got.pop(title) == [tuple(float(c) if isinstance(c, int) else c for c in row) for row in want], "%s: not %s", title, want)

    same("Jobs by day", [(d, sum(FROM + j[3] * DAY == d for j in jobs), sum(j[0] == 2 and FROM + j[3] * DAY == d for j in jobs)) for d in days])
    same("Node-hours by day", [(d, sum(j[4] * j[5] for j in jobs if FROM + j[3] * DAY == d) / 3600,
                                sum(j[9] for j in jobs if FROM + j[3] * DAY == d) / 3600) for d in days])  # fmt: skip
    users = [(u, sum(j[1] == u for j in jobs), sum(j[4] * j[5] for j in jobs if j[1] == u) / 3600, sum(j[9] for j in jobs if j[1] == u) / 3600,
              sum(j[6] for j in jobs if j[1] == u), sum(j[7] for j in jobs if j[1] == u)) for u in seen]  # fmt: skip
    same("Users by node-hours", sorted(users, key=lambda r: (-r[2], r[0])))
    same("Rules by what they cost", sorted(((j[8], "WARN", 1, 1, j[9] * j[5] / 3600) for j in jobs), key=lambda r: -r[4]))
    same("Jobs that deserve a look", sorted(((j[0], j[1], j[2], j[8], "title", j[9]) for j in jobs if j[8] != "W01"), key=lambda r: -r[5]))
    [one] = got.pop("The job")
    expect(one[:3] == (1.0, "sim", "ada") and one[6] == (FROM + 3600) * 1000 and one[9:] == (100.0, 10.0, "slow"), "%s", one)
    steps = [FROM + 3600 + s for s in (0, 10, 20)]
    same("Bytes a second", [(t, k, size) for t in steps for k, _, size in KINDS if size])
    same("Calls a second, by layer", [(t, layer + " " + k, ops) for t in steps for layer, k, ops in sorted((la, k, o) for la in ("MPI-IO", "POSIX") for k, o, _ in KINDS)])
    same("Ranks in I/O at a time", [(t, k, 0.5) for t in steps for k in ("meta", "read", "write")])
    same("Longest call", [(t, layer + " " + k, 0.003) for t in steps for layer in ("MPI-IO", "POSIX") for k in ("meta", "read", "write")])
    same("Findings", [("W01", "WARN", "title", "evidence", 600)])
    at = FROM + 3600
    same("Its nodes", [(at, "cpu.blocked", 3)])
    same("Read", [(at, "nfs._scratch.read_bytes", 42)])
    same("Written", [(at, "disk.sda.write_bytes", 7)])
    same("Threads that wait for I/O", [(at, "n'1", 3), (at, "n2", 5)])
    same("NFS requests sent again", [(at, "n2", 1)])
    same("Jobs with files in the folder", [(j[0], j[1], j[2], j[6], j[7], 900) for j in sorted(jobs, key=lambda j: -j[6])])
    expect(not got, "not looked at: %s", list(got))


class Prometheus(servers.Server):
    """A Prometheus that asks one server."""

    name = "prometheus"

    def __init__(self, served):
        super().__init__()
        self.port = servers.free_port()
        with open(self.path("token"), "w") as file:
            file.write(served.token)
        with open(self.path("p.yml"), "w") as file:
            file.write("global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: iorama\n    authorization: { credentials_file: %s }\n"
                       "    static_configs: [ { targets: [ '127.0.0.1:%d' ] } ]\n" % (self.path("token"), served.port))
        self.spawn(["prometheus", "--config.file=" + self.path("p.yml"), "--storage.tsdb.path=" + self.path("data"),
                    "--web.listen-address=127.0.0.1:%d" % self.port, "--log.level=error"])  # fmt: skip

    def ask(self, expr):
        """Lines of promtool; it is a failure if it complains."""
        done = subprocess.run(["promtool", "query", "instant", "http://127.0.0.1:%d" % self.port, expr], capture_output=True, text=True)
        expect(done.returncode == 0 or "connection refused" in done.stderr or "not ready" in done.stderr, "%s: %s", expr, done.stderr)
        return done.stdout.strip().split("\n") if done.stdout.strip() else []


def expressions(case):
    """Each has an answer, with the labels that its legend names."""
    need("prometheus", "promtool")
    store = filled(case, jobs=3)
    run_sql(store, """INSERT INTO sample_series VALUES (901, 'n1', 'cpu.user'); INSERT INTO sample_values VALUES (901, 9000000000000000000, 1);
        INSERT INTO totals VALUES (3, 'calls', 'POSIX', 'read', 5), (3, 'bytes', 'POSIX', 'read', 6), (3, 'ns', 'POSIX', 'read', 2500000000);
        INSERT INTO totals VALUES (3, 'findings', 'R08', 'WARN', 2) ON CONFLICT DO NOTHING;
        INSERT INTO jobs (key, name, state, start_ns, seen_ns) VALUES ('runs', 'x', 'running', 1, 9000000000000000000);""")  # fmt: skip
    served = Served(case, "--rate", "0", store=store)
    prometheus = Prometheus(served)
    try:
        asked = [(panel["title"], t["expr"].replace("$__rate_interval", "1m"), t["legendFormat"]) for _, panel, t in targets(PROMETHEUS)]
        expect(len(asked) > 8 and not any("$" in expr for _, expr, _ in asked), "%s", asked)
        case.wait(lambda: prometheus.ask("count_over_time(iorama_up[1m]) > 2"), "three looks of Prometheus")
        for title, expr, legend in asked:
            lines = prometheus.ask(expr)
            expect(lines, "%s: %s gives nothing", title, expr)
            for label in re.findall(r"\{\{(\w+)\}\}", legend):
                expect(all('%s="' % label in line for line in lines), "%s: no label %s in %s", title, label, lines)
    finally:
        prometheus.kill()
    served.end()


if __name__ == "__main__":
    main({"shape": shape, "statements": statements, "expressions": expressions})
