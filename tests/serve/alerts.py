# SPDX-License-Identifier: BSD-3-Clause
"""Alerts: who is told of what, once, whoever is killed when; by a real SMTP server, a real sendmail (msmtp) and a server that takes
webhooks. Which jobs deserve it is said by the test itself, which writes them into the store."""
import email
import email.policy
import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import sqlite3
import threading
import time

from served import Served, Skip, expect, main, run_sql
from cases import need
import servers

NS = 10**9
MONDAY = 1794830400  # 2026-11-16, 12:00 UTC
DAY = 86400
PAYLOAD = "=cmd <script>alert(1)</script>\r\nBcc: evil@example.org\r\n\r\n.\r\n\u202e\x1b[2J\x07\u200b"


class Mails:
    """An SMTP server, and a sendmail that brings mails to it; `got` is what came: (recipients, bytes)."""

    def __init__(self, case):
        need("msmtp")
        try:
            from aiosmtpd.controller import Controller
        except ImportError as error:
            raise Skip("python3-aiosmtpd is not installed") from error
        self.got, self.case = [], case

        class Handler:
            async def handle_DATA(_, server, session, envelope):
                self.got.append((tuple(envelope.rcpt_tos), bytes(envelope.content)))
                return "250 OK"

        self.controller = Controller(Handler(), hostname="127.0.0.1", port=servers.free_port(), ready_timeout=60)
        self.controller.start()
        port = self.controller.port
        with open(case.path("msmtprc"), "w") as file:
            file.write("account default\nhost 127.0.0.1\nport %d\nfrom iorama@example.org\nallow_from_override on\n" % port)
        self.sendmail = self.script("sendmail", 'exec msmtp -C %s "$@"' % case.path("msmtprc"))

    def script(self, name, text):
        path = self.case.path(name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n%s\n" % text)
        os.chmod(path, 0o755)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.controller.stop()

    def to(self):
        return sorted(who for rcpts, _ in self.got for who in rcpts)

    def parsed(self):
        return [email.message_from_bytes(data, policy=email.policy.default) for _, data in self.got]

    def file(self, name="alerts.ini", sendmail=None, more="", staff="staff@example.org"):
        path = self.case.path(name)
        with open(path, "w") as file:
            file.write("[mail]\nsendmail = %s\nfrom = iorama@example.org\nto = %%u@example.org\n" % (sendmail or self.sendmail))
            file.write("portal = https://portal.example.org/\n%s%s" % ("staff = %s\n" % staff if staff else "", more))
        return path


def store_of(case):
    os.makedirs(case.path("none"), exist_ok=True)
    case.command("index", "-q", "--store", case.path("store.db"), case.path("none"))
    return case.path("store.db")


def quoted(text):
    return "'%s'" % text.replace("'", "''") if isinstance(text, str) else str(text)


def insert(number, user, end, cost=7200.0, nodes=4, ranks=256, name="sim", job_name="run", level="HIGH", figures=(), texts=None, lost=0):
    """SQL of a job that is told of as `findings`: HIGH, and cost x nodes is eight node-hours."""
    title, evidence, advice = texts or ("Small writes", "9,000 of 10,000 writes are small", "Gather them\nin larger ones.")
    sql = ("INSERT INTO jobs (number, key, name, username, jobid, start_ns, end_ns, run_time, nprocs, nodes, state, source, logged, io_time,"
           " cost, batch_name, lost) VALUES (%d, 'k%d', %s, %s, %d, %d, %d, 10000, %d, %d, 'done', 'log', 1, 8000, %s, %s, %d);" % (
               number, number, quoted(name), quoted(user), 1000 + number, end - 10000 * NS, end, ranks, nodes, cost, quoted(job_name), lost))  # fmt: skip
    sql += "INSERT INTO findings VALUES (%d, 0, 'W01', '%s', %s, %s, %s, %s, 0);" % (number, level, *map(quoted, (title, evidence, advice)), cost)
    for figure, value in figures:
        sql += "INSERT INTO figure_names (name) VALUES ('%s') ON CONFLICT DO NOTHING;" % figure
        sql += "INSERT INTO figure_values (figure, job, value) SELECT number, %d, %s FROM figure_names WHERE name = '%s';" % (number, value, figure)
    return sql


def states(store):
    db = sqlite3.connect(store, timeout=60)
    try:
        return sorted(db.execute("SELECT username, alert, state FROM notices").fetchall())
    finally:
        db.close()


def at(second):
    return "@%d" % second


def once(case):
    """One mail for each user and alert, with all jobs: what, where, how much, what to do, how to get no more; a dry run sends nothing."""
    store = store_of(case)
    end = MONDAY * NS
    run_sql(store, insert(1, "ada", end) + insert(2, "ada", end - NS, cost=7300) + insert(3, "bob", end) + insert(4, "carl", end, level="WARN")
            + insert(5, "carl", end, cost=10, nodes=1) + insert(6, "dora", end - 15 * DAY * NS)
            + insert(7, "eve", end, level="WARN", figures=(("meta_ratio", 0.5), ("meta_mean", 45)))
            + insert(8, "finn", end, level="WARN", figures=(("meta_ratio", 0.5), ("meta_mean", 45)), ranks=191)
            + insert(9, "gus", end, level="WARN", figures=(("excess_read", 2**40),)) + insert(10, "gus", end, level="WARN", figures=(("excess_read", 2**40 - 1),))
            + insert(11, "hal", end, level="WARN", figures=(("shared_indep_small", 100000001),))
            + insert(12, "hal", end, level="WARN", figures=(("shared_indep_small", 100000001), ("coll_writes", 1))))  # fmt: skip
    with Mails(case) as mails:
        words = ("alert", "--store", store, "--alerts", mails.file(staff=""), "--at", at(MONDAY + 60))
        said = case.command(*words, "--dry-run").stdout
        expect(said.count("---- mail to ") == 5 and "---- mail to ada\n" in said, "dry: %s", said)
        expect(states(store) == [] and not mails.got, "the dry run did something")
        case.command(*words)
        expect(mails.to() == sorted(w + "@example.org" for w in ("ada", "bob", "eve", "gus", "hal")), "told: %s", mails.to())
        expect([(w, a) for w, a, s in states(store) if s == "sent"] == [("ada", "findings"), ("bob", "findings"), ("eve", "metadata"),
               ("gus", "redundant"), ("hal", "small")], "%s", states(store))  # fmt: skip
        mail = next(m for m in mails.parsed() if m["To"] == "ada@example.org")
        expect(mail["Subject"] == "iorama: 2 jobs: I/O costs much of their time" and mail["Auto-Submitted"] == "auto-generated", "%s", mail)
        text = mail.get_content().replace("\r", "")
        for part in ("Job 1002: sim (run)", "8.1 node-hours lost", "I/O takes 80 %", "256 ranks on 4 nodes", "W01 HIGH: Small writes",
                     "9,000 of 10,000 writes are small", "What to do:", "Gather them\n    in larger ones.",
                     "https://portal.example.org/?page=job&job=1\n", "To get no more of it: https://portal.example.org/?page=settings"):  # fmt: skip
            expect(part in text, "'%s' is not in %s", part, text)
        expect(text.index("Job 1002") < text.index("Job 1001"), "the worst comes first")
        eve = next(m for m in mails.parsed() if m["To"] == "eve@example.org").get_content()
        expect("meta_ratio: 50 %" in eve and "Use fewer files" in eve, eve)
        case.command(*words)
        expect(len(mails.got) == 5, "a second look told once more")
        listed = json.loads(case.command("alert", "--store", store, "--list", "--json").stdout)
        expect(len(listed) == 5 and {row["state"] for row in listed} == {"sent"}, "%s", listed)


def week(case):
    """A fake fortnight, a look every six hours, jobs every day: one mail each week, each job in exactly one of them; staff by day."""
    store = store_of(case)
    with Mails(case) as mails:
        file = mails.file(more="hours = mon-fri 8-18\n[alert mine]\nwho = staff\nevery = day\nwhere = finding high\ntitle = all of them\n"
                          "[alert site_findings]\non = no\n")  # fmt: skip
        count = {}
        for hour in range(0, 14 * 24, 6):
            now = MONDAY + hour * 3600
            if hour % 24 == 0:
                run_sql(store, insert(hour // 24 + 1, "ada", (now - 60) * NS))
            before = len(mails.got)
            case.command("alert", "-q", "--store", store, "--alerts", file, "--at", at(now), env=case.environment(TZ="UTC"))
            for rcpts, _ in mails.got[before:]:
                count.setdefault(rcpts[0], []).append(time.gmtime(now))
        own, staff = count["ada@example.org"], count["staff@example.org"]
        # noon of Mondays is within hours; what came on Saturday and Sunday waits for Monday
        expect([t.tm_wday for t in own] == [0, 0], "ada was told on %s", own)
        expect(len(staff) == 10 and {t.tm_wday for t in staff} == {0, 1, 2, 3, 4} and {t.tm_hour for t in staff} == {12}, "staff on %s", staff)
        db = sqlite3.connect(store)
        [(jobs, distinct)] = db.execute("SELECT count(*), count(DISTINCT job) FROM notice_jobs WHERE username = 'ada'").fetchall()
        expect(jobs == distinct == 8, "ada was told of %d jobs, %d", jobs, distinct)  # one, then the seven since
        said = [int(m["Subject"].split()[1]) for m in mails.parsed() if m["To"] == "ada@example.org"]
        expect(said == [1, 7], "mails told ada of %s jobs", said)
        said = [int(m["Subject"].split()[1]) for m in mails.parsed() if m["To"] == "staff@example.org"]
        expect(sum(said) == 12, "mails told staff of %s jobs", said)
        [(jobs, distinct)] = db.execute("SELECT count(*), count(DISTINCT job) FROM notice_jobs WHERE username = '@staff'").fetchall()
        expect(jobs == distinct == 12, "staff was told of %d jobs, %d", jobs, distinct)


def kill_at(case, store, file, syscalls, when):
    """A look that is killed as it does this for the N-th time; was it?"""
    done = case.run("strace", "-f", "-o", "/dev/null", "-e", "trace=" + syscalls, "-e", "inject=%s:signal=SIGKILL:when=%d" % (syscalls, when),
                    case.iorama, "alert", "-q", "--store", store, "--alerts", file, "--at", at(MONDAY + 60), status=None)  # fmt: skip
    return done.returncode != 0


def killed(case):
    """Killed -9 at every write to the store, and before, during and after the mail: never two mails; one that may have been sent is not
    sent again, and it is told so."""
    need("strace")
    empty = store_of(case)
    run_sql(empty, insert(1, "ada", MONDAY * NS))
    run_sql(empty, "PRAGMA wal_checkpoint(TRUNCATE);")
    with Mails(case) as mails:
        file = mails.file(staff="")
        seen = set()

        def check(what, least):
            del mails.got[:]
            before = states(store)
            case.command("alert", "-q", "--store", store, "--alerts", file, "--at", at(MONDAY + 120), status=None)
            case.command("alert", "-q", "--store", store, "--alerts", file, "--at", at(MONDAY + 7200), status=None)
            [(_, _, after)] = states(store)
            n = sent + len(mails.got)
            expect(n <= 1, "%s: %d mails", what, n)
            expect(n == 1 or (after == "unsure" and not least), "%s: no mail, and it is %s", what, after)
            expect(after in ("sent", "unsure"), "%s: it is %s", what, after)
            seen.add((before[0][2] if before else None, after))

        when = 0
        while True:
            when += 1
            store = case.path("k%d.db" % when)
            shutil.copy(empty, store)
            del mails.got[:]
            if not kill_at(case, store, file, "pwrite64,fdatasync,fsync", when):
                break
            sent = len(mails.got)
            before = states(store)
            # it ended before the mail was begun, or the mail went out
            check("killed at write %d, %s" % (when, before), least=not before or before[0][2] == "claimed" or sent == 1)
        expect(when > 6 and {b for b, _ in seen} >= {None, "claimed", "sending"}, "not all steps were met: %s in %d", seen, when)
        # before the mail: nobody knows; it is not sent
        store = case.path("spawn.db")
        shutil.copy(empty, store)
        del mails.got[:]
        expect(kill_at(case, store, file, "clone,clone3,vfork", 1), "it does not start sendmail")
        sent = 0
        check("killed before the mail", least=False)
        # while the mail is on its way: the mail goes on without us
        slow = mails.script("slow", "kill -9 $PPID\nexec %s \"$@\"" % mails.sendmail)
        store, file = case.path("mail.db"), mails.file("slow.ini", sendmail=slow, staff="")
        shutil.copy(empty, store)
        del mails.got[:]
        case.command("alert", "-q", "--store", store, "--alerts", file, "--at", at(MONDAY + 60), status=-9)
        case.wait(lambda: len(mails.got) == 1, "the mail that goes on")
        sent, file = 1, mails.file(staff="")
        check("killed while the mail was on its way", least=True)
        expect(states(store) == [("ada", "findings", "unsure")], "%s", states(store))
        said = case.command("alert", "--store", store, "--list").stdout
        expect("unsure" in said, said)


def together(case):
    """Several at once, a server with --alerts among them, and one that is started again: each user one mail. PostgreSQL, too."""
    with Mails(case) as mails:
        now = int(time.time())
        users = ["user%02d" % n for n in range(12)]
        jobs = "".join(insert(n + 1, user, (now - 60) * NS) for n, user in enumerate(users))

        def look(store):
            del mails.got[:]
            file = mails.file(staff="")
            many = [case.start(case.iorama, "alert", "-q", "--store", store, "--alerts", file) for _ in range(3)]
            served = [Served(case, "--alerts", file, store=store)]
            for process in many:
                case.end(process)
            case.wait(lambda: len(mails.got) >= len(users), "mails")
            served[0].end()
            served = Served(case, "--alerts", file, store=store)
            served.get("/health")
            told = re.findall("iorama_notif.*}.*", served.get("/metrics").text)
            served.end()
            expect(mails.to() == [u + "@example.org" for u in users], "told: %s", mails.to())
            expect('iorama_notifications_total{channel="mail",result="sent"} %d' % len(users) in told, "%s %s %s", store, told, [p.said() for p in case.started])

        store = store_of(case)
        run_sql(store, jobs)
        look(store)
        try:
            pg = servers.Postgres()
        except Skip:
            return
        with pg:
            case.command("index", "-q", "--store", pg.url, case.path("none"))
            pg.psql(jobs)
            look(pg.url)


def failing(case):
    """A sendmail that refuses is tried three times, ten minutes apart; one that is not there, too; then it is left."""
    store = store_of(case)
    run_sql(store, insert(1, "ada", MONDAY * NS))
    with Mails(case) as mails:
        bad = mails.script("bad", "echo x >> %s; exit 75" % case.path("tries"))
        file = mails.file(sendmail=bad, staff="")
        for minute, tries in ((1, 1), (5, 1), (10, 1), (11, 2), (13, 2), (30, 3), (60, 3), (90, 3)):
            done = case.command("alert", "--store", store, "--alerts", file, "--at", at(MONDAY + 60 * minute), status=None)
            expect(done.returncode in (0, 4) and (done.returncode == 0 or "exit status 75" in done.stderr), done.stderr)
            with open(case.path("tries")) as made:
                said = len(made.readlines())
            expect(said == tries, "%d tries after %d minutes, not %d", said, minute, tries)
        expect(states(store) == [("ada", "findings", "failed")], "%s", states(store))
        # who does not want it meanwhile is not told, nor is anybody of an alert that is off
        run_sql(store, "UPDATE notices SET tries = 1; INSERT INTO notice_off (username, alert) VALUES ('ada', 'findings')")
        case.command("alert", "--store", store, "--alerts", mails.file(staff=""), "--at", at(MONDAY + 60 * 98))
        run_sql(store, "DELETE FROM notice_off")
        case.command("alert", "--store", store, "--alerts", mails.file("off.ini", staff="", more="[alert findings]\non = no\n"), "--at", at(MONDAY + 60 * 99))
        expect(not mails.got and states(store)[0][2] == "failed", "told although it is off: %s", mails.to())
        case.command("alert", "--store", store, "--alerts", mails.file(staff=""), "--at", at(MONDAY + 60 * 100))
        expect(mails.to() == ["ada@example.org"] and states(store)[0][2] == "sent", "it is not sent when it can be")
        run_sql(store, insert(2, "bob", MONDAY * NS))
        done = case.command("alert", "--store", store, "--alerts", mails.file(sendmail="/nothing/here", staff=""), "--at", at(MONDAY + 6100), status=4)
        expect("/nothing/here" in done.stderr and "No such file" in done.stderr, done.stderr)


def hostile(case):
    """Texts of jobs are text: no header, no second mail, no control character; users whose names cannot be are not written to."""
    store = store_of(case)
    texts = (PAYLOAD + "t" * 65536, PAYLOAD, "a\r\nb\n.\n" + "word " * 13000)
    run_sql(store, insert(1, "ada", MONDAY * NS, name=PAYLOAD, job_name=PAYLOAD, texts=texts)
            + "".join(insert(n + 2, user, MONDAY * NS) for n, user in enumerate(
                ("", "x\r\nBcc: evil@example.org", "-oQ/tmp", "a b", "ada,evil", "@staff", "u" * 65, "ü", "evil@example.net", ".x"))))  # fmt: skip
    with Mails(case) as mails:
        case.command("alert", "--store", store, "--alerts", mails.file(), "--at", at(MONDAY + 60))
        expect(mails.to() == ["ada@example.org"], "told: %s", mails.to())
        [(_, data)] = mails.got
        head, _, body = data.replace(b"\r\n", b"\n").partition(b"\n\n")
        names = [line.split(b":")[0] for line in head.split(b"\n")]
        want = b"From To Subject Date Message-ID Auto-Submitted X-Iorama-Alert MIME-Version Content-Type Content-Transfer-Encoding"
        expect(set(want.split()) <= set(names) and b"Bcc" not in names and len(names) == len(set(names)), "headers: %s", names)
        text = body.decode()
        expect(not any(ord(c) < 32 and c != "\n" or ord(c) in (0x7f, 0x202e, 0x200b) for c in text), "control characters")
        expect(max(len(line) for line in text.split("\n")) <= 200, "a line of %d", max(len(line) for line in text.split("\n")))
        expect(all(line.encode().isascii() for line in head.decode().split("\n")), "letters in headers")
        expect("\n.\n" not in text and "<script>" in text, "a line that ends a mail")
    done = case.command("alert", "--store", store, "--dry-run", "--at", at(MONDAY + 60)).stdout
    expect("\x1b" not in done and "\r" not in done, "a terminal is controlled")


class Hooks:
    """A server that takes webhooks: `got` is (path, headers, body); answers as told, then with 200."""

    def __init__(self, answers=()):
        self.got, answers = [], list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(this):
                body = this.rfile.read(int(this.headers["Content-Length"]))
                self.got.append((this.path, this.headers, body))
                status, place = answers.pop(0) if answers else (200, None)
                this.send_response(status)
                if place:
                    this.send_header("Location", place)
                this.send_header("Content-Length", "0")
                this.end_headers()

            do_GET = do_POST

            def log_message(this, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def webhook(case):
    """Signed, three tries, no redirects, nothing inside unless that is allowed."""
    if "no libcurl" in case.command("--version").stdout:
        raise Skip("built without libcurl")
    base = store_of(case)
    run_sql(base, insert(1, "ada", MONDAY * NS, cost=7200, nodes=64, name=PAYLOAD))
    run_sql(base, "PRAGMA wal_checkpoint(TRUNCATE);")
    with open(case.path("secret"), "w") as file:
        file.write("correct horse\n")
    os.chmod(case.path("secret"), 0o600)

    def look(name, hooks, host="127.0.0.1", inside="yes", more="secret = %s\n" % case.path("secret"), scheme="http", status=0):
        store = case.path(name + ".db")
        shutil.copy(base, store)
        with open(case.path("hook.ini"), "w") as file:
            file.write("[webhook]\nurl = %s://%s:%d/in?x=1\ninside = %s\n%s[alert findings]\non = no\n" % (scheme, host, hooks.port, inside, more))
        done = case.command("alert", "--store", store, "--alerts", case.path("hook.ini"), "--at", at(MONDAY + 60), status=status)
        return states(store), done.stderr

    with Hooks([(500, None), (503, None)]) as hooks:
        got, _ = look("tries", hooks)
        expect(got == [("@webhook", "site_findings", "sent")] and len(hooks.got) == 3, "%s, %d tries", got, len(hooks.got))
        path, headers, body = hooks.got[2]
        said = json.loads(body)
        signature = "sha256=" + hmac.new(b"correct horse", body, hashlib.sha256).hexdigest()
        expect(path == "/in?x=1" and headers["X-Iorama-Signature"] == signature, "signed %s, not %s", headers["X-Iorama-Signature"], signature)
        expect(headers["X-Iorama-Delivery"].startswith("site_findings-") and headers["Content-Type"] == "application/json", "%s", headers)
        expect(said["schema"] == "iorama.notice/1" and said["n"] == 1 and said["jobs"][0]["name"] == PAYLOAD
               and said["jobs"][0]["node_cost"] == 7200 * 64 and said["jobs"][0]["findings"][0]["rule"] == "W01", "%s", said)  # fmt: skip
    with Hooks([(500, None)] * 9) as hooks:
        got, said = look("down", hooks, status=4)
        expect(got[0][2] == "failed" and len(hooks.got) == 3 and "status 500" in said, "%s %d %s", got, len(hooks.got), said)
    with Hooks() as other, Hooks([(302, "http://127.0.0.1:%d/" % other.port)]) as hooks:
        got, said = look("redirect", hooks, status=4)
        expect(got[0][2] == "failed" and len(hooks.got) == 1 and not other.got and "status 302" in said, "%s %s %s", got, other.got, said)
    with Hooks() as hooks:
        for n, host in enumerate(("127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "2130706433")):
            got, said = look("inside%d" % n, hooks, host=host, inside="no", status=4)
            expect(got[0][2] == "failed" and not hooks.got, "%s: %s, %d came", host, got, len(hooks.got))
        got, said = look("unsigned", hooks, more="")
        expect(got[0][2] == "sent" and hooks.got[0][1]["X-Iorama-Signature"] is None, "%s", got)


def wanted(case):
    """Who does not want to be told is not: by the page's address, with the rules of everything that changes something, or the command."""
    store = store_of(case)
    now = int(time.time())
    run_sql(store, "".join(insert(n + 1, user, (now - 60) * NS) for n, user in enumerate(("ada", "bob", "carl"))))
    own = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", store=store)

    def put(user, body, status=200, headers=None):
        answer = served.ask("/api/1/notices", "PUT", user=user, body=body if isinstance(body, str) else json.dumps(body),
                            headers=(own if headers is None else headers).items())  # fmt: skip
        expect(answer.status == status, "%s: %d %s", body, answer.status, answer.body)
        return answer

    rows = served.get("/api/1/notices", user="ada").json
    expect([r["alert"] for r in rows] == ["findings", "redundant", "metadata", "small"] and all(r["wanted"] == 1 for r in rows), "%s", rows)
    expect(put("ada", {"alert": "findings", "wanted": False}).json[0]["wanted"] == 0, "it is not kept")
    expect(served.get("/api/1/notices", user="bob").json[0]["wanted"] == 1, "it is another's")
    put("bob", {"alert": "*", "wanted": False})
    expect(all(r["wanted"] == 0 for r in served.get("/api/1/notices", user="bob").json), "not all")
    for body, status in (("", 400), ("{", 400), ([], 400), ({"alert": "findings"}, 400), ({"alert": "findings", "wanted": 1}, 400),
                         ({"alert": "none", "wanted": True}, 404), ({"alert": "site_findings", "wanted": False}, 404),
                         ({"alert": "findings", "wanted": True, "user": "ada"}, 400)):  # fmt: skip
        put("carl", body, status)
    for headers in ({**own, "Sec-Fetch-Site": "cross-site"}, {"Content-Type": "application/json", "Origin": "http://evil.com"}):
        put("carl", {"alert": "findings", "wanted": False}, 403, headers)
    put("carl", {"alert": "findings", "wanted": False}, 400, {**own, "Content-Type": "text/plain"})
    expect(served.ask("/api/1/notices", token=False).status == 401, "for anybody")
    expect(served.ask("/api/1/notices", "PUT", token=False, body="{}", headers=own.items()).status == 401, "by anybody")
    with Mails(case) as mails:
        case.command("alert", "--store", store, "--alerts", mails.file(staff=""))
        expect(mails.to() == ["carl@example.org"], "told: %s", mails.to())
        told = served.get("/api/1/notices", user="carl").json[0]["told"]
        expect(told and told[:4].isdigit(), "when: %s", told)
        put("ada", {"alert": "findings", "wanted": True})
        case.command("alert", "--store", store, "--alerts", mails.file(staff=""))
        expect(mails.to() == ["ada@example.org", "carl@example.org"], "told: %s", mails.to())
    served.end()
    me = case.run("id", "-un").stdout.strip()
    for word, want in (("--off", [(me, "metadata")]), ("--on", [])):
        case.command("alert", "--store", store, word, "metadata")
        got = sqlite3.connect(store).execute("SELECT * FROM notice_off WHERE username = ?", (me,)).fetchall()
        expect(got == want, "%s: %s", word, got)
    expect("no alert is called" in case.command("alert", "--store", store, "--off", "nothing", status=2).stderr, "an alert that is none")


def files(case):
    """What is wrong in the site's file is told with its line; nothing is sent then."""
    store = store_of(case)
    run_sql(store, insert(1, "ada", MONDAY * NS))
    with open(case.path("open"), "w") as file:
        file.write("a secret for all\n")
    os.chmod(case.path("open"), 0o644)
    for text, line in (("[mail]\nfrom = a\tb\n", 2), ("[mail]\nsendmail = sendmail\n", 2), ("[mail]\nto = nobody\n", 2), ("[mail]\nstaff = a\x01b\n", 2),
                       ("[mail]\nportal = ftp://x/\n", 2), ("[mail]\nhours = always\n", 2), ("[mail]\nhours = mon-fri 18-8\n", 2), ("[mail]\nx = 1\n", 2),
                       ("[mall]\nx = 1\n", 2), ("x = 1\n", 1), ("[webhook]\nurl = file:///etc/passwd\n", 2), ("[webhook]\ninside = maybe\n", 2),
                       ("[webhook]\nsecret = %s\n" % case.path("open"), 2), ("[webhook]\nsecret = /nothing/here\n", 2), ("[webhook]\nsecret = /dev/zero\n", 2),
                       ("[alert findings]\non = 1\n", 2), ("[alert X y]\non = no\n", 2), ("[alert a]\nwhere = nothing > 1\n", 2),
                       ("[alert a]\nwhere = finding X99\n", 2), ("\n\n[alert a]\nfigure = nothing\n", 4), ("[alert a]\nevery = hour\n", 2),
                       ("[alert a]\ntitle = \u00fc\n", 2), ("[alert a]\nwhere = %s\n" % ", ".join(["ranks > 1"] * 40), 2), ("what is this\n", 1)):  # fmt: skip
        with open(case.path("bad.ini"), "w") as file:
            file.write(text)
        for words in (("alert", "--store", store), ("serve", "--store", store, "--listen", "0", "--token", case.path("token"))):
            done = case.command(*words, "--alerts", case.path("bad.ini"), status=None)
            expect(done.returncode in (3, 4) and "bad.ini: line %d: " % line in done.stderr and done.stderr.count("\n") == 1, "%r: %d %s", text,
                   done.returncode, done.stderr)  # fmt: skip
    expect(states(store) == [], "something was sent")
    with open(case.path("mine.ini"), "w") as file:
        file.write("[alert findings]\nwhere = finding high, node_cost >= 100h\n[alert mine]\nwho = user\nwhere = ranks > 100\nfigure = ranks\ntitle = large\n")
    said = case.command("alert", "--store", store, "--alerts", case.path("mine.ini"), "--dry-run", "--at", at(MONDAY + 60)).stdout
    expect(said.count("---- mail") == 1 and "X-Iorama-Alert: mine" in said, said)
    expect("mine\n    to the user of the job, once a week\n" in case.command("alert", "--alerts", case.path("mine.ini"), "--rules").stdout, "--rules")


if __name__ == "__main__":
    main({"once": once, "week": week, "killed": killed, "together": together, "failing": failing, "hostile": hostile, "webhook": webhook,
          "wanted": wanted, "files": files})  # fmt: skip
