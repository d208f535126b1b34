# SPDX-License-Identifier: BSD-3-Clause
"""What is pushed: a job that runs is told of while it runs, to all alike, and its sums are those of the store."""
import json
import os
import resource
import selectors
import socket
import threading
import time

from served import Failed, Served, expect, filled, frame, main, run_sql

MIB = 1 << 20


def running(case):
    """A job appears while it runs and moves; at its end it is told with its log and verdict, without being asked for. What was
    told of each second is what the store has afterwards, and what the program wrote."""
    filled(case, jobs=2)
    served = Served(case)
    connection, response = served.stream("jobs")
    frame(response)
    out = os.path.join(case.work, "written")  # where programs are observed
    # 24 MiB in about six seconds, and a word when it may end
    script = "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=%s.$i bs=1M count=4 2>/dev/null; sleep 1; done" % out
    process = case.start(case.iorama, "run", "-q", "--live", "-o", case.path("run.darshan"), "--", "sh", "-c", script)
    states, job, deadline = [], None, time.monotonic() + 200
    while not (states and states[-1] == "done") and time.monotonic() < deadline:
        _, data = frame(response)
        for row in data["jobs"]:
            if row["name"] in ("sh", "dash", "dd", "bash") and row["user"] not in ("ada", "bob", "carl"):
                states.append(row["state"])
                job = row["job"]
                if row["state"] == "done" and not row["logged"]:
                    states.pop()
    case.end(process)
    expect("running" in states and states[-1] == "done", "it was told as %s", states)
    connection.close()
    row = served.get("/api/1/jobs?where=job%%20%%3D%%20%d" % job).json["jobs"][0]
    expect(row["verdict"] and row["bytes_written"] >= 24 * MIB, "%s", row)
    points = [p for p in served.get("/api/1/jobs/%d/series" % job).json if p["layer"] == "POSIX" and p["kind"] == "write"]
    stored = case.value("SELECT sum(bytes_written) FROM activity WHERE layer = 'POSIX' AND job = ?", job)
    expect(sum(p["bytes"] for p in points) == stored >= 24 * MIB, "%s written, %s in the series, %s stored", 24 * MIB, points, stored)
    expect(len(points) >= 3, "all of it in %d seconds", len(points))
    heat = served.get("/api/1/jobs/%d/ranks" % job).json
    expect(sum(p["bytes_written"] for p in heat) >= 24 * MIB, "%s by ranks", heat)
    served.end()


def alike(case):
    """Forty viewers, some of whom do not read, get the same frames; a viewer has eight streams at most; streams end with the server."""
    store = filled(case, jobs=3)
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", store=store)
    lazy = [served.stream("jobs") for _ in range(10)]
    eager = [served.stream("jobs,job:1") for _ in range(30)]
    got = [dict(frame(response) for _ in range(2)) for _, response in eager]
    expect(all(one == got[0] for one in got), "frames differ")
    expect(set(got[0]) == {"jobs", "job"} and got[0]["job"]["job"] == 1, "%s", set(got[0]))
    run_sql(store, "UPDATE jobs SET verdict = 'changed' WHERE number = 1")
    for _, response in eager:
        for _ in range(2):
            name, data = frame(response)
            rows = data["jobs"] if name == "jobs" else data["list"]["jobs"]
            expect([r["verdict"] for r in rows if r["job"] == 1] == ["changed"], "what has changed is not told")
    case.wait(lambda: "iorama_viewers 40" in served.get("/metrics").text, "40 viewers")
    own = [served.stream("jobs", user="ada") for _ in range(9)]
    expect([response.status for _, response in own] == [200] * 8 + [429], "streams of one: %s", [r.status for _, r in own])
    for topics in ("job:0x", "nodes", "job:-1", "jobs,", ",".join(["jobs"] * 9)):
        connection, response = served.stream(topics)
        expect(response.status in ((200,) if topics == "jobs," else (400,)), "%s: %d", topics, response.status)
        connection.close()
    ended = threading.Event()

    def read_on(response):
        try:
            while frame(response):
                pass
        except (Failed, OSError, ValueError):
            ended.set()

    thread = threading.Thread(target=read_on, args=(eager[0][1],), daemon=True)
    thread.start()
    served.end()
    expect(ended.wait(30), "a stream outlives its server")
    for connection, _ in lazy + eager + own:
        connection.close()


def after_others(case):
    """Other programs write to the store and end, one after the other: what each of them did is told. (Whoever closes a file of a store
    beside its handles gives up the locks of all of them, and the next program that ends takes the log away that they read.)"""
    store = filled(case, jobs=3)
    served = Served(case, store=store)
    connection, response = served.stream("jobs")
    frame(response)
    for n in range(4):
        run_sql(store, "UPDATE jobs SET verdict = 'change %d' WHERE number = 1" % n)
        while True:
            _, data = frame(response)
            if [r["verdict"] for r in data["jobs"] if r["job"] == 1] == ["change %d" % n]:
                break
        served.get("/api/1/jobs")  # by another handle
    connection.close()
    served.end()


def cpu_of(pid):
    """Seconds of all its threads."""
    with open("/proc/%d/stat" % pid) as file:
        return sum(int(ticks) for ticks in file.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def rss_of(pid):
    """MB"""
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Viewers:
    """Many who listen to the same topics, in one thread: frames by id, and of each the newest of each job."""

    def __init__(self, served, n, topics):
        self.poll, self.frames, self.late = selectors.DefaultSelector(), {}, []
        self.last, self.count = [{} for _ in range(n)], [0] * n
        for i in range(n):
            s = socket.create_connection(("127.0.0.1", served.port), timeout=60)
            s.sendall(("GET /api/1/stream?topics=%s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n"
                       % (topics, served.port, served.token)).encode())  # fmt: skip
            self.poll.register(s, selectors.EVENT_READ, [i, b""])

    def read(self):
        """What has come by now."""
        for key, _ in self.poll.select(0.1):
            got = key.fileobj.recv(1 << 20)
            expect(got, "a stream ended")
            *whole, key.data[1] = (key.data[1] + got).split(b"\n\n")
            for text in whole:
                self.take(key.data[0], text)

    def take(self, viewer, text):
        told = dict(line.split(b": ", 1) for line in text.split(b"\n") if line.startswith((b"event: ", b"id: ", b"data: ")))
        if told.get(b"event") != b"job":
            return
        if told[b"id"] not in self.frames:
            data = json.loads(told[b"data"])
            sums = {(p["second"], p["layer"], p["kind"]): (p["ops"], p["bytes"]) for p in data["series"]}
            self.frames[told[b"id"]] = data["job"], sums, told[b"data"]
            if sums and data["list"]["jobs"][0]["state"] == "running":
                self.late.append(time.time() - max(second for second, _, _ in sums) - 1)
        job, _, data = self.frames[told[b"id"]]
        expect(data == told[b"data"], "frame %s is not the same for all", told[b"id"])
        self.last[viewer][job] = told[b"id"]
        self.count[viewer] += 1

    def close(self):
        for key in list(self.poll.get_map().values()):
            key.fileobj.close()


def many(case):
    """Four jobs with an agent each, and many viewers: all get the same frames, no second of them is more than what the store has
    afterwards, and the last ones are just that. IORAMA_TEST_LONG=1: a thousand of them, for a minute."""
    filled(case, jobs=1)
    viewers, rounds = (1000, 60) if os.environ.get("IORAMA_TEST_LONG") == "1" else (60, 4)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    served = Served(case, "--rate", "0")
    before = case.value("SELECT max(number) FROM jobs")
    script = "for i in $(seq %d); do dd if=/dev/zero of=$0.$i bs=64k count=$((8 + $i %% 5)) 2>/dev/null; cat $0.$i >/dev/null; sleep 0.9; done" % rounds
    runs = [case.start(case.iorama, "run", "-q", "--live", "-o", case.path("run%d.darshan" % n), "--", "sh", "-c", script, os.path.join(case.work, "out%d" % n),
                       env=case.environment(IORAMA_DIR=case.path("node%d" % n), IORAMA_SPOOL=case.path("spool%d" % n))) for n in range(4)]  # fmt: skip
    jobs = case.wait(lambda: [j for j in [[r["number"] for r in case.rows("SELECT number FROM jobs WHERE number > ?", before)]] if len(j) == 4], "four jobs")[0]
    many = Viewers(served, viewers, ",".join("job:%d" % job for job in jobs))
    begin, spent = time.monotonic(), cpu_of(served.process.pid)
    end = begin + 180 + 3 * rounds
    while any(process.poll() is None for process in runs):
        many.read()
        expect(time.monotonic() < end, "jobs do not end")
    for process in runs:
        case.end(process)
    stored = {job: {} for job in jobs}
    for r in case.rows("SELECT * FROM series WHERE job > ?", before):
        stored[r["job"]][r["second"], r["layer"], r["kind"]] = r["ops"], r["bytes"]

    def told(viewer):
        return {job: many.frames[name][1] for job, name in many.last[viewer].items()}

    while not all(told(viewer) == stored for viewer in range(viewers)):
        expect(time.monotonic() < end, "told %s, stored %s", told(0), stored)
        many.read()
    written = sum(bytes for job in jobs for (_, layer, kind), (_, bytes) in stored[job].items() if (layer, kind) == ("POSIX", "write"))
    expect(written >= 4 * sum((8 + i % 5) << 16 for i in range(1, rounds + 1)), "%d bytes written", written)
    for name, (job, sums, _) in many.frames.items():
        over = [at for at, (ops, bytes) in sums.items() if ops > stored[job].get(at, (0, 0))[0] or bytes > stored[job][at][1]]
        expect(not over, "frame %s of %d told more of %s than there was", name, job, over)
    expect(min(many.count) >= 4, "one got %d frames", min(many.count))
    many.late.sort()
    print("# %d viewers, %d frames, the newest second of a frame had ended %.2f s ago at the median, %.2f s of a hundred frames but one"
          % (viewers, len(many.frames), many.late[len(many.late) // 2], many.late[len(many.late) * 99 // 100]))  # fmt: skip
    print("# the server: %.1f %% of a core, %.0f MB" % ((cpu_of(served.process.pid) - spent) / (time.monotonic() - begin) * 100, rss_of(served.process.pid)))
    many.close()
    served.end()


def left(case):
    """Who logs out gets no more of what was on its way to him, in any tab; others do."""
    served = Served(case, "--rate", "0", store=filled(case, jobs=1))
    own = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    streams = []
    for _ in range(2):
        said = served.ask("/api/1/session", "POST", token=False, body=json.dumps({"token": served.token}), headers=own.items())
        cookie = {"Cookie": said.headers["Set-Cookie"].split(";")[0]}
        for _ in range(2):
            connection = served.connection()
            connection.request("GET", "/api/1/stream?topics=jobs", headers=cookie)
            streams.append((connection, connection.getresponse(), cookie))
    for _, response, _ in streams:
        frame(response)
    expect(served.ask("/api/1/session", "DELETE", token=False, headers={**own, **streams[0][2]}.items()).status == 200, "logging out")
    for _, response, _ in streams[:2]:
        try:
            while True:
                frame(response)
        except Failed as end:
            expect("ended" in str(end), "%s", end)
    run_sql(case.path("store.db"), "UPDATE jobs SET verdict = 'told to the others' WHERE number = 1")
    for _, response, _ in streams[2:]:
        while not any(row["verdict"] == "told to the others" for row in frame(response)[1]["jobs"]):
            pass
    for connection, _, _ in streams:
        connection.close()
    served.end()


if __name__ == "__main__":
    main({"running": running, "alike": alike, "after_others": after_others, "left": left, "many": many})
