# SPDX-License-Identifier: BSD-3-Clause
"""How `iorama serve` begins: with TLS at its address, and with a browser where somebody sits."""
import os
import pty
import re
import subprocess

from served import expect, filled, harness, main

TELLS = """#!/bin/sh
printf '%s\\n' "$@" > {said}.new
stat -c %a "$1" >> {said}.new
cat "$1" >> {said}.new
mv {said}.new {said}
"""


def certificate(case, name):
    """A certificate of 127.0.0.1 that rests on itself, and its key."""
    cert, key = case.path(name + ".pem"), case.path(name + ".key")
    case.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=" + name,
             "-addext", "subjectAltName=IP:127.0.0.1", "-out", cert, "-keyout", key)  # fmt: skip
    os.chmod(key, 0o600)
    return cert, key


def tls(case):
    """What is asked over TLS is answered, with a cookie that belongs to it; what is not, or by old versions, is not; keys that others can
    read are refused."""
    filled(case, jobs=2)
    cert, key = certificate(case, "one")
    words = [case.iorama, "serve", "--listen", "127.0.0.1:0", "--token", case.path("token"), "--store", case.path("store.db"), "--tls-cert", cert, "--tls-key"]
    process = case.start(*words, key)
    said = case.wait(lambda: re.fullmatch(r"https://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{64})\n", harness.text_of(process.out)), "the address")
    port, token = int(said[1]), said[2]
    base = "https://127.0.0.1:%d" % port

    def curl(*more):
        return subprocess.run(["curl", "-s", "--max-time", "30", "--cacert", cert, *more], capture_output=True, text=True)

    got = curl("-H", "Authorization: Bearer " + token, base + "/api/1/jobs.csv")
    expect(got.returncode == 0 and len(got.stdout.splitlines()) == case.value("SELECT count(*) FROM jobs") + 1, "%s", got)
    expect(subprocess.run(["curl", "-s", "--max-time", "30", base + "/health"]).returncode == 60, "a certificate that nobody knows is taken")
    plain = curl("http://127.0.0.1:%d/health" % port)
    expect("store" not in plain.stdout, "it answers without TLS: %s", plain.stdout)
    got = curl("-i", "-H", "Content-Type: application/json", "-H", "Sec-Fetch-Site: same-origin", "-d", '{"token": "%s"}' % token, base + "/api/1/session")
    cookie = re.search(r"(?i)^set-cookie: ((\S+)=([0-9a-f]+));(.*)", got.stdout, re.M)
    expect(cookie and cookie[2] == "__Host-iorama_session", "%s", got.stdout)
    for part in ("Path=/", "HttpOnly", "SameSite=Strict", "Secure"):
        expect(part in cookie[4], "no %s: %s", part, cookie[0])
    expect("Domain" not in cookie[4], "%s", cookie[0])
    for name, status in ((cookie[1], "200"), ("iorama_session=" + cookie[3], "401")):
        got = curl("-o", "/dev/null", "-w", "%{http_code}", "-H", "Cookie: " + name, base + "/api/1/jobs")
        expect(got.stdout == status, "with %s: %s", name, got.stdout)
    for version, works in (("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
        done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % port, "-CAfile", cert, version, "-cipher", "DEFAULT@SECLEVEL=0"],
                              input="", capture_output=True, text=True, timeout=60)  # fmt: skip
        expect(("Verify return code: 0" in done.stdout and "Cipher is (NONE)" not in done.stdout) == works, "%s: %s", version, done.stdout)
    stream = subprocess.Popen(["curl", "-sN", "--max-time", "30", "--cacert", cert, "-H", "Authorization: Bearer " + token, base + "/api/1/stream?topics=jobs"],
                              stdout=subprocess.PIPE)  # fmt: skip
    expect(stream.stdout.readline() == b"event: jobs\n", "no stream over TLS")
    stream.kill()
    stream.wait()
    case.end(process, send=15)
    other = certificate(case, "two")[1]
    refused = ((0o644, key, 2, "others can read"), (0o660, key, 2, "others can read"), (0o600, other, 3, "no certificate with its key"),
               (0o600, cert, 3, "no certificate with its key"), (0o600, case.path("nothing"), None, "No such file"))  # fmt: skip
    for mode, file, status, line in refused:
        if os.path.exists(file):
            os.chmod(file, mode)
        done = case.run(*words, file, status=status)
        expect(line in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, "%s with %o: %s %s", file, mode, done.stdout, done.stderr)


def browser(case):
    """Where somebody sits a browser opens the page, and nobody sees the token among the words it was started with; elsewhere none does."""
    filled(case, jobs=1)
    said, script = case.path("said"), case.path("browser")
    with open(script, "w", encoding="utf-8") as file:
        file.write(TELLS.format(said=said))
    os.chmod(script, 0o755)
    words = [case.iorama, "serve", "--listen", "127.0.0.1:0", "--token", case.path("token"), "--store", case.path("store.db")]

    def serve(*more, terminal=True, **environment):
        """what it printed, while it runs, and the process"""
        leader, follower = pty.openpty()
        env = case.environment(**{"DISPLAY": ":7", "BROWSER": script + ":other", "SSH_CONNECTION": None, "WAYLAND_DISPLAY": None, **environment})
        out = follower if terminal else subprocess.PIPE
        process = subprocess.Popen([*words, *more], env=env, stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        case.started.append(process)
        process.said = lambda: ""
        os.close(follower)
        if terminal:
            line = os.read(leader, 4096).decode()
        else:
            line = process.stdout.readline().decode()
        return line.strip(), process, leader

    line, process, leader = serve()
    page = case.wait(lambda: harness.text_of(said) if os.path.exists(said) else None, "the browser").splitlines()
    token = line.split("=")[1]
    expect(page[0] == case.path("token.html") and page[1] == "600", "it was started with %s", page[:2])
    expect('content="0; url=%s"' % line in page[2] and re.fullmatch("[0-9a-f]{64}", token), "%s, not %s", page[2], line)
    process.terminate()
    expect(process.wait(60) == 0 and not os.path.exists(case.path("token.html")), "the file stays")
    os.close(leader)
    os.unlink(said)
    for why, more, terminal, environment in (("it may not", ("--no-browser",), True, {}), ("quiet", ("-q",), True, {}), ("no screen", (), True, {"DISPLAY": None}),
                                             ("elsewhere", (), True, {"SSH_CONNECTION": "1 2 3 4"}), ("a script", (), False, {})):  # fmt: skip
        _, process, leader = serve(*more, terminal=terminal, **environment)
        process.terminate()
        expect(process.wait(60) == 0 and not os.path.exists(said) and not os.path.exists(case.path("token.html")), "%s: a browser was started", why)
        os.close(leader)
    expect(not os.path.exists(said), "a browser was started")


if __name__ == "__main__":
    main({"tls": tls, "browser": browser})
