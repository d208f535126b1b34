# SPDX-License-Identifier: BSD-3-Clause
"""Why was it slow then? What is unusual at the same time is told with a number, and what is not is not."""
import json
import time

from served import Served, expect, filled, main, run_sql

STEPS, SLOW = 400, (200, 220)


def fill(case):
    """A job of 400 s that is slow for 20 of them, while its node waits for I/O and a neighbour writes; memory goes up and down all the time."""
    store = filled(case, jobs=1)
    begin = int(time.time()) - 1000
    number = case.value("SELECT max(number) FROM jobs") + 1
    seconds = range(begin, begin + STEPS)
    slow = range(begin + SLOW[0], begin + SLOW[1])
    run_sql(store, "INSERT INTO jobs (number, key, name, username, state, source, start_ns, end_ns, nprocs) VALUES (%d, 'slow', 'solver', 'ada', 'done',"
            " 'live', %d, %d, 4), (%d, 'other', 'writer', 'bob', 'done', 'live', %d, %d, 1);"
            "INSERT INTO processes (segment, job, rank, host, start_ns, state) VALUES (x'77', %d, 0, 'n1', %d, 'ended');"
            % (number, begin * 10**9, (begin + STEPS) * 10**9, number + 1, begin * 10**9, (begin + STEPS) * 10**9, number, begin * 10**9))  # fmt: skip
    rows = []
    for s in seconds:
        rows.append("(%d, %d, 'POSIX', 'write', 10, %d, 500000000, 0, 4, 0, 0)" % (number, s, 10**7 if s in slow else 10**8))
        rows.append("(%d, %d, 'POSIX', 'write', 10, %d, 1, 0, 1, 0, 0)" % (number + 1, s, 10**9 if s in slow else 10**6 + (s - begin) % 9))
    run_sql(store, "INSERT INTO series (job, second, layer, kind, ops, bytes, ns, longest, ranks, slowest, slowest_ns) VALUES " + ",".join(rows))
    samples = []
    for i, (metric, value) in enumerate((("cpu.iowait", lambda s: 7 if s in slow else (s - begin) % 3), ("memory.dirty", lambda s: (s - begin) ** 2 * 7 % 101))):
        run_sql(store, "INSERT INTO sample_series (number, host, metric) VALUES (%d, 'n1', '%s')" % (9000 + i, metric))
        samples += ["(%d, %d, %d)" % (9000 + i, s * 10**9, value(s)) for s in seconds]
    run_sql(store, "INSERT INTO sample_values (series, t_ns, value) VALUES " + ",".join(samples))
    return store, number, begin


def same_time(case):
    """The slow time is found where it is; iowait and the neighbour are unusual then, memory is not; the neighbour only for who sees it."""
    store, job, begin = fill(case)
    text = case.command("jobs", "--store", store, str(job), "--why").stdout
    expect("cpu.iowait" in text and "bytes of other jobs" in text and "memory.dirty" not in text, "%s", text)
    expect("caused" not in text and "At the same time" in text, "%s", text)
    why = json.loads(case.command("jobs", "--store", store, str(job), "--why", "--json").stdout)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin + SLOW[0])), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin + SLOW[1]))
    expect((why["from"], why["to"]) == at and why["usual"] == 2e8 and why["rate"] == 2e7, "%s", {k: v for k, v in why.items() if k != "rows"})
    rows = {row["what"]: row for row in why["rows"]}
    others = (SLOW[0] - 20 + 1) + (STEPS - SLOW[1] - 20 + 1)
    expect(why["looked"] == 3 and rows["cpu.iowait"]["then"] == 7 and rows["cpu.iowait"]["others"] == others, "%s", rows)
    expect(abs(rows["cpu.iowait"]["p"] - 2 / (others + 1)) < 1e-9 and rows["cpu.iowait"]["is"] == "more", "%s", rows)
    expect(rows["memory.dirty"]["p"] > 0.05, "%s", rows)
    # another time, at which nothing was
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin + 50)), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin + 70))
    calm = json.loads(case.command("jobs", "--store", store, str(job), "--why", "--json", "--since", since[0], "--until", since[1]).stdout)
    expect((calm["from"], calm["to"]) == since and all(row["p"] > 0.05 for row in calm["rows"]), "%s", calm)
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", store=store)
    expect(served.get("/api/1/jobs/%d/why" % job).json == why, "serve says something else")
    seen = {row["what"] for row in served.get("/api/1/jobs/%d/why" % job, user="ada").json["rows"]}
    expect(seen == {"cpu.iowait", "memory.dirty"}, "ada is told of others: %s", seen)
    expect(served.ask("/api/1/jobs/%d/why" % job, user="bob").status == 404, "bob sees a job of ada")
    csv = served.get("/api/1/jobs/%d/why.csv" % job).text.splitlines()
    expect(csv[0] == "what,then,rest,is,others,as_much,p" and len(csv) == 4, "%s", csv)
    # a job that is known from its log alone
    logged = case.value("SELECT min(number) FROM jobs WHERE logged = 1")
    expect("not known what job" in case.command("jobs", "--store", store, str(logged), "--why").stdout, "a job without a course")
    expect(case.command("jobs", "--store", store, "--why", status=2).stderr.count("one JOB") == 1, "--why of many")
    served.end()


if __name__ == "__main__":
    main({"same-time": same_time})
