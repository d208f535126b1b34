# SPDX-License-Identifier: BSD-3-Clause
"""Live events that are on for a while: POST /api/1/jobs/N/live."""
import json
import os
import signal
import subprocess

from served import Served, expect, filled, harness, main

JSON = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}


def switched(case):
    """By whom the job is, by a page of ours, for as long as is said; not what was on before, and never longer than the server lives."""
    filled(case, jobs=3)
    env = case.observed(IORAMA_JOB="run-own", IORAMA_LIVE=None)
    with open(case.path("go"), "w", encoding="utf-8"):
        pass
    os.symlink(case.path("go"), os.path.join(case.work, "go"))
    program = case.compile("at_work")
    job = case.start(program, case.work, 0, env=env, stdin=subprocess.PIPE)
    other = case.start(program, case.work, 2, env={**env, "IORAMA_LIVE": case.observed()["IORAMA_LIVE"]}, stdin=subprocess.PIPE)
    agent = case.agent("--no-samples")
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User")
    number = case.wait(lambda: case.value("SELECT number FROM jobs WHERE key LIKE '%/run-own' AND processes = 2"), "the job")
    path = "/api/1/jobs/%d/live" % number

    def on():
        ranks = json.loads(case.command("watch", "--once", "--json", "--interval", "0.1", "run-own").stdout)["jobs"][0]["ranks"]
        return {r["pid"]: r["events"]["on"] for r in ranks}

    def post(seconds, headers=None, status=200, body=None, at=path, **more):
        answer = served.ask(at, "POST", body=body or json.dumps({"seconds": seconds}), headers=(JSON if headers is None else headers).items(), **more)
        expect(answer.status == status, "%s %s: %d: %s", at, headers, answer.status, answer.body)
        return answer.json if status == 200 else None

    expect(on() == {job.pid: False, other.pid: True}, "before: %s", on())
    # whose page is it, and who asks?
    post(5, {**JSON, "Sec-Fetch-Site": "cross-site"}, 403)
    post(5, {"Content-Type": "application/json", "Origin": "http://evil.example"}, 403)
    post(5, {**JSON, "Content-Type": "text/plain"}, 400)
    for body in ("{}", '{"seconds": -1}', '{"seconds": 601}', '{"seconds": "5"}', '{"seconds": 5, "seconds": 6}', "", "[" * 9999):
        post(0, status=400, body=body or " ")
    post(5, status=404, user="ada")
    post(5, status=401, token=False)
    post(5, status=404, at="/api/1/jobs/999/live")
    theirs = case.value("SELECT number FROM jobs WHERE username = 'bob' AND state <> 'running'")
    post(5, status=403, at="/api/1/jobs/%d/live" % theirs)
    expect(served.ask(path).status == 405, "GET switches")
    expect(on() == {job.pid: False, other.pid: True}, "what was refused has switched: %s", on())
    # on, and off by itself; what was on stays
    said = post(600)
    expect(said["processes"] == 1 and 3 < said["events"] <= 600, "%s", said)
    expect(on() == {job.pid: True, other.pid: True}, "on: %s", on())
    expect(served.get("/api/1/jobs/%d/now" % number).json["events"] > 0, "the page does not know")
    case.wait(lambda: case.value("SELECT sum(stored) FROM processes WHERE pid = ?", job.pid) > 0, "its events")
    said = post(3)
    expect(0 < said["events"] <= 3, "not shorter: %s", said)
    case.wait(lambda: on() == {job.pid: False, other.pid: True}, "its end")
    expect(served.get("/api/1/jobs/%d/now" % number).json["events"] == 0, "the page believes it is on")
    # longer, and at once off
    post(600)
    post(600)
    expect(on()[job.pid], "on again: %s", on())
    post(0)
    expect(on() == {job.pid: False, other.pid: True}, "off: %s", on())
    post(600)
    served.end()
    expect(on() == {job.pid: False, other.pid: True}, "it outlives the server: %s", on())
    # killed: the agent ends it, or the next agent; a new server may lend anew what is lent, and what was lent and then is for good stays
    served = Served(case)
    shell = case.start("bash", "-c", "read x; (read y; :); :", env=env, stdin=subprocess.PIPE)
    case.wait(lambda: on().get(shell.pid) is False, "the shell")
    post(15)  # as long as a child may take to appear
    served.process.kill()
    served.process.wait()
    shell.stdin.write(b"x\n")
    shell.stdin.flush()  # its child is made while events are lent
    case.wait(lambda: len(on()) == 4, "the child of the shell")
    expect(sum(on().values()) == 4, "they ended with the server that was killed: %s", on())
    case.wait(lambda: sum(on().values()) == 1 and on()[other.pid], "the agent ends them, and not what was on before")
    shell.stdin.close()
    case.end(shell, status=None)
    served = Served(case)
    post(600)
    served.process.kill()
    served.process.wait()
    served = Served(case)
    expect(post(1)["processes"] > 0, "what another one lent cannot be lent anew")
    served.process.kill()
    served.process.wait()
    agent.kill()
    agent.wait()
    agent = case.agent("--no-samples")
    case.wait(lambda: not on()[job.pid], "the next agent ends it")
    served = Served(case)
    post(600)
    case.command("live", "on", "run-own")
    served.end()
    expect(on() == {job.pid: True, other.pid: True}, "switched on for good, and off by a server that ends: %s", on())
    case.command("live", "off", str(job.pid))
    expect(on() == {job.pid: False, other.pid: True}, "off: %s", on())
    case.end(agent, send=signal.SIGTERM)
    served = Served(case)
    expect(served.ask(path, "POST", body='{"seconds": 5}', headers=JSON.items()).status == 409, "nobody reads them")
    expect(not on()[job.pid], "on without a reader")
    os.unlink(case.path("go"))
    os.unlink(os.path.join(case.work, "go"))
    for process in job, other:
        process.stdin.close()
        case.end(process)


if __name__ == "__main__":
    main({"switched": switched})
