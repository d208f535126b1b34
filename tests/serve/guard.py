# SPDX-License-Identifier: BSD-3-Clause
"""What is sent by people who mean no good: requests that two programs read in two ways, bytes that come too slowly, and requests that are
none, at random. IORAMA_TEST_LONG=1: 10^5 of the last; IORAMA_TEST_SEED: the seed that was printed."""
import contextlib
import http.client
import os
import random
import re
import socket
import ssl
import threading
import time

from served import Failed, Served, expect, filled, main
from begin import certificate
from proxy import need_nginx, start_nginx
from cases import ROOT

LONG = os.environ.get("IORAMA_TEST_LONG") == "1"


def smuggles(host, token, more=b""):
    """What could be read in two ways, with a good request behind each; more: headers of the outer one."""
    inner = b"GET /api/1/days HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (host, token.encode())
    length = b"Content-Length: %d\r\n" % len(inner)
    host = b"Host: " + host + b"\r\n" + more
    head = b"GET /health HTTP/1.1\r\n" + host
    post = b"POST /api/1/session HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"

    def at(path):
        return b"GET " + path + b" HTTP/1.1\r\n" + host + b"\r\n"

    return {name: data + inner for name, data in {
        "two lengths": post + b"Content-Length: 0\r\n" + length + b"\r\n",
        "two equal lengths": post + length + length + b"\r\n",
        "length and coding": post + length + chunked + b"\r\n0\r\n\r\n",
        "coding and length": post + chunked + length + b"\r\n0\r\n\r\n",
        "coding": post + chunked + b"\r\n0\r\n\r\n",
        "another coding": post + b"Transfer-Encoding: xchunked\r\n\r\n",
        "two codings": post + chunked + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "a huge chunk": post + chunked + b"\r\nffffffffffffffff\r\n",
        "a chunk that wraps": post + chunked + b"\r\n10000000000000000\r\n",
        "a chunk below zero": post + chunked + b"\r\n-1\r\n",
        "a chunk that is none": post + chunked + b"\r\n0x0\r\n\r\n",
        "two hosts": head + b"Host: evil\r\n\r\n",
        "body of GET": head + length + b"\r\n",
        "no host": b"GET /health HTTP/1.0\r\n" + more + b"\r\n",
        "length with a sign": post + b"Content-Length: +0\r\n\r\n",
        "length with words": post + b"Content-Length: 0, 5\r\n\r\n",
        "length below zero": post + b"Content-Length: -1\r\n\r\n",
        "length of 2^64": post + b"Content-Length: 18446744073709551616\r\n\r\n",
        "space before colon": head + b"Content-Length : 0\r\n\r\n",
        "coding behind a space": post + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "control in a header": head + b"X: a\x01b\r\n\r\n",
        "NUL in a header": head + b"X: a\0b\r\n\r\n",
        "NUL in the name of a header": head + b"Content-Len\0gth: 0\r\n\r\n",
        "name of a header": head + b"X(y): a\r\n\r\n",
        "NUL in the path": at(b"/health%00"),
        "NUL within the path": at(b"/health\0"),
        "dots": at(b"/x/../health"),
        "dots that are hidden": at(b"/%2e%2e/health"),
        "slash that is hidden": at(b"/api%2f1/jobs"),
        "whole address": at(b"http://x/health"),
        "expectation": post + b"Expect: 100-continue\r\n" + length + b"\r\n",
        "a body too long": post + b"Content-Length: 70000\r\n\r\n",
        "an address too long": at(b"/" + b"a" * 9000),
        "a header too long": head + b"X: " + b"a" * 60000 + b"\r\n\r\n",
        "many headers": head + b"X: a\r\n" * 200 + b"\r\n",
        "another method": b"PUT /health HTTP/1.1\r\n" + host + b"\r\n",
        "a header that trusts": head + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        "a header that folds": head + b"X: a\r\n Content-Length: 0\r\n\r\n",
        "a length that folds": post + b"Content-Length:\r\n 0\r\n\r\n",
        "bare LF": head + b"X: a\n\r\n",
        "bare LF at the end": head + b"X: a\r\n\n",
        "two blanks": b"GET  /health HTTP/1.1\r\n" + host + b"\r\n",
        "bare LF at all ends": (head + b"\r\n").replace(b"\r\n", b"\n"),
        "bare CR": head + b"X: a\rContent-Length: 0\r\n\r\n",
    }.items()}  # fmt: skip


def talk(connect, data, timeout=30, half=False):
    """What came back until the other side closed; None: it did not close. half: nothing more will come, and it is told so."""
    got = b""
    with connect() as s:
        s.settimeout(timeout)
        try:
            s.sendall(data)
            if half:
                s.shutdown(socket.SHUT_WR)
            while True:
                more = s.recv(65536)
                if not more:
                    return got
                got += more
        except TimeoutError:
            return None
        except OSError:  # it closed, with bytes of ours that it had not read
            return got


def days_asked(served):
    found = re.findall(r'route="days",code="\w+"} (\d+)', served.get("/metrics").text)
    return sum(int(n) for n in found)


def check_refused(served, connect, host):
    for name, data in smuggles(host, served.token).items():
        got = talk(connect, data)
        expect(got is not None, "%s: the connection stays", name)
        answers = re.findall(rb"HTTP/1\.[01] (\d+)", got)
        # libmicrohttpd tells some of its own errors twice
        expect(len(answers) <= 1 or (len(set(answers)) == 1 and b"error" not in got), "%s: %s", name, got[:400])
        expect(all(400 <= int(a) < 506 for a in answers), "%s: %s", name, got[:200])
        expect(not answers or b"connection: close" in got.lower(), "%s: %s", name, got[:200])
        expect(days_asked(served) == 0, "%s: the second one was answered", name)


def bare(case):
    """Each is refused, and the connection with it; what is unusual and can be read in one way only is answered."""
    served = Served(case, "--rate", "0", store=filled(case, jobs=1))
    host = b"127.0.0.1:%d" % served.port

    def connect():
        return socket.create_connection(("127.0.0.1", served.port))

    check_refused(served, connect, host)
    head = b"GET /health HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n"
    for name, more in {"no blank": b"X:a\r\n", "blanks": b"X: \t  a\r\n", "blanks behind": b"X: a \t \r\n", "nothing": b"X:\r\n", "nothing but blanks": b"X:  \r\n",
                       "colons": b"X: a:b::\r\n", "bytes": b"X: \xff\xc3\xa4\r\n", "many": b"X-a: b\r\n" * 40, "long": b"X: " + b"a" * 7000 + b"\r\n"}.items():  # fmt: skip
        for before in (b"", b"\r\n"):
            got = talk(connect, before + head + more + b"\r\n")
            expect(got is not None and got.startswith(b"HTTP/1.1 200 "), "%s: %s", name, got and got[:200])
    with connect() as s:  # in pieces, as networks have them
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = head + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 200) for i in range(30)) + b"\r\n"
        for i in range(0, len(data), 67):
            s.sendall(data[i : i + 67])
        expect(s.recv(65536).startswith(b"HTTP/1.1 200 "), "in pieces")
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    for path in ("/health?a=%20b", "/api/1/days?from=0&to=1", "/health"):  # one after the other in one connection
        connection.request("GET", path, headers={"Authorization": "Bearer " + served.token})
        answer = connection.getresponse()
        answer.read()
        expect(answer.status in (200, 400), "%s: %d", path, answer.status)
    connection.close()
    served.end()


def tls(case):
    """The same over TLS."""
    filled(case, jobs=1)
    cert, key = certificate(case, "one")
    served = Served(case, "--rate", "0", "--tls-cert", cert, "--tls-key", key)
    context = ssl.create_default_context(cafile=cert)

    def connect():
        return context.wrap_socket(socket.create_connection(("127.0.0.1", served.port)), server_hostname="127.0.0.1")

    check_refused(served, connect, b"127.0.0.1:%d" % served.port)
    served.end()


def nginx(case):
    """The same behind nginx: whatever it makes of it, no second request comes as somebody's."""
    need_nginx()
    store = filled(case, jobs=1)
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", "--host", "portal.example.org", store=store)
    port = start_nginx(case, served)

    def connect():
        return socket.create_connection(("127.0.0.1", port))

    for name, data in smuggles(b"portal.example.org", served.token, b"Authorization: Basic YWRhOnNlY3JldA==\r\nX-Remote-User: eve\r\n").items():
        got = talk(connect, data, half=True)
        expect(days_asked(served) == 0, "%s: the second one was answered: %s", name, got)
    good = b"GET /api/1/days HTTP/1.1\r\nHost: portal.example.org\r\nAuthorization: Basic YWRhOnNlY3JldA==\r\nConnection: close\r\n\r\n"
    got = talk(connect, good)
    expect(got and got.startswith(b"HTTP/1.1 200 ") and days_asked(served) == 1, "a good one: %s", got)
    served.end()


def slow(case):
    """Five hundred that send a byte now and then are ended; meanwhile and afterwards others are answered at once."""
    served = Served(case, "--connections", "700", "--rate", "0", store=filled(case, jobs=1))
    held, took = [], []
    for i in range(500):
        s = socket.create_connection(("127.0.0.1", served.port))
        s.sendall(b"GET /health HTTP/1.1\r\nX-%d: " % i)
        held.append(s)
    begin = time.monotonic()
    while time.monotonic() - begin < 60 and held:
        for path in ("/health", "/api/1/jobs"):
            asked = time.monotonic()
            served.get(path)
            took.append(time.monotonic() - asked)
        left = []
        for s in held:
            try:
                s.sendall(b"a")
                left.append(s)
            except OSError:
                s.close()
        held = left
        time.sleep(0.5)  # as slow ones do
    expect(not held, "%d slow ones are held after 60 s", len(held))
    expect(min(took) < 0.2 and max(took) < 10, "others waited %.3f to %.1f s", min(took), max(took))
    print("# 500 slow ones: others waited %.1f ms at the median, %.1f at most; all ended after %.1f s"
          % (sorted(took)[len(took) // 2] * 1e3, max(took) * 1e3, time.monotonic() - begin))  # fmt: skip
    served.end()


def flood(case):
    """One user asks without a pause, by eight connections: he is told to wait, and others are not. IORAMA_TEST_LONG=1: 10^5 times."""
    served = Served(case, "--rate", "5", "--trust-header", "X-Remote-User", store=filled(case, jobs=3))
    least, lock, stop, codes, wrong = 100000 if LONG else 1000, threading.Lock(), threading.Event(), {}, []

    def ask_on():
        connection = served.connection("ada")
        try:
            while not stop.is_set():
                connection.request("GET", "/api/1/jobs", headers={"X-Remote-User": "ada"})
                answer = connection.getresponse()
                answer.read()
                with lock:
                    codes[answer.status] = codes.get(answer.status, 0) + 1
                if answer.status != 200:  # the connection is closed then
                    expect(answer.status == 429 and answer.headers["Retry-After"] == "1", "%d %s", answer.status, answer.headers)
                    connection.close()
        except (OSError, Failed, http.client.HTTPException) as why:
            wrong.append(why)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask_on) for _ in range(8)]
    for thread in threads:
        thread.start()
    took, asked = [], ("jobs", "week", "users", "findings")
    while (len(took) < 10 or sum(codes.values()) < least) and any(thread.is_alive() for thread in threads):
        begin = time.monotonic()
        served.get("/api/1/" + asked[len(took) % 4], user="bob")  # 200, always
        took.append(time.monotonic() - begin)
        time.sleep(0.25)  # as people do: five pages a second are allowed
    stop.set()
    for thread in threads:
        thread.join()
    expect(not wrong, "%s", wrong)
    expect(codes.get(429, 0) > codes.get(200, 0) > 0 and len(took) >= 10, "ada was let in: %s", codes)
    print("# %s of one user; another one waited %.1f ms at the median, %.1f at most" % (codes, sorted(took)[len(took) // 2] * 1e3, max(took) * 1e3))
    served.end()


WORDS = (b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b":", b"%", b"%00", b"..", b"/", b"?", b"&", b"=", b"\xff", b"Host: x\r\n", b"Content-Length: 9\r\n",
         b"Transfer-Encoding: chunked\r\n", b"HTTP/1.0", b"-1", b"18446744073709551616", b"A" * 5000, b"{", b'{"seconds":', b"Cookie: =;;=\r\n")  # fmt: skip


def spoiled(dice, paths, host, token):
    """A request that is nearly a good one, as random as the dice."""
    method = dice.choice((b"GET", b"GET", b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"OPTIONS"))
    body = b"" if method == b"GET" and dice.randrange(9) else dice.choice((b"", b'{"token": "x"}', b'{"seconds": 60}', b'{"alert": "*", "wanted": true}', b"[" * 999))
    data = bytearray(b"%s /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n" % (method, dice.choice(paths), host, token))
    if body:
        data += b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    data += b"\r\n" + body
    for _ in range(dice.randrange(4)):
        at = dice.randrange(len(data))
        what = dice.randrange(4)
        if what == 0:
            data[at] = dice.randrange(256)
        elif what == 1:
            data[at:at] = dice.choice(WORDS)
        elif what == 2:
            del data[at : at + dice.randrange(1, 20)]
        else:
            data[at:at] = data[dice.randrange(len(data)) :][: dice.randrange(1, 60)]
    return bytes(data)


def fuzz(case):
    """Requests that are none, at random: it lives, answers the next good one, and keeps no descriptor and no thread."""
    seed = int(os.environ.get("IORAMA_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print("# IORAMA_TEST_SEED=%d" % seed)
    dice = random.Random(seed)
    served = Served(case, "--rate", "0", store=filled(case, jobs=1))
    with open(os.path.join(ROOT, "src", "serve", "routes.def"), encoding="utf-8") as file:
        rows = re.findall(r'^ROUTE\(\w+,\s*\w+,\s*"([^"]*)",.*?"([^"]*)",\s*"[^"]*"\)', file.read(), re.M | re.S)
    paths = [path.replace(":job", "1").replace(":word", "ada").encode() + (b"?" + b"&".join(k.encode() + b"=1" for k in keys.split(",")) if keys and more else b"")
             for path, keys in rows for more in (False, True) if "stream" not in path]  # fmt: skip
    expect(len(paths) > 30, "routes: %s", paths)
    host, token = b"127.0.0.1:%d" % served.port, served.token.encode()
    of = "/proc/%d/" % served.process.pid

    def has():
        return len(os.listdir(of + "fd")), len(os.listdir(of + "task"))

    def descriptors():
        """What they are of; one may be closed meanwhile."""
        told = []
        for name in os.listdir(of + "fd"):
            with contextlib.suppress(OSError):
                told.append(os.readlink(of + "fd/" + name))
        return told

    for path in ("/api/1/jobs", "/api/1/jobs/1/now"):
        served.get(path)
    before = has()
    codes = {}
    for i in range(100000 if LONG else 600):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as s:
            try:
                if i % 8 == 0:  # a good one
                    s.sendall(b"GET /api/1/jobs HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (host, token))
                    expect(s.recv(65536).startswith(b"HTTP/1.1 200 "), "%d: a good one is not answered", i)
                    codes[b"good"] = codes.get(b"good", 0) + 1
                    continue
                s.sendall(spoiled(dice, paths, host, token))
                s.shutdown(socket.SHUT_WR)  # libmicrohttpd may take that for giving up
                s.settimeout(0.2 if LONG else 2)  # for the rest of a request it waits longer, in vain
                answer = s.recv(65536)
            except OSError:  # closed, or silent
                answer = b""
        expect(not answer or answer.startswith(b"HTTP/1."), "%d: %s", i, answer[:100])
        codes[answer[9:12]] = codes.get(answer[9:12], 0) + 1
        expect(served.process.poll() is None, "%d: it ended: %s", i, served.process.said())
        if i % 100 == 99:
            served.get("/health")
    print("# %s" % codes)
    expect(codes.get(b"good", 0) > 20 and codes.get(b"400", 0) > 20, "no good ones, or no bad ones: %s", codes)
    limit = time.monotonic() + 40  # connections that are kept end after 30 s of silence
    while (has()[0] > before[0] + 12 or has()[1] > before[1]) and time.monotonic() < limit:
        time.sleep(0.2)
    expect(has()[0] <= before[0] + 12 and has()[1] <= before[1], "descriptors and threads: %s, before: %s: %s", has(), before,
           descriptors())  # fmt: skip
    expect(served.get("/api/1/jobs").json["jobs"], "no answer")
    served.end()
    expect("runtime error" not in served.process.said() and "Sanitizer" not in served.process.said(), served.process.said())


if __name__ == "__main__":
    main({"bare": bare, "tls": tls, "nginx": nginx, "slow": slow, "flood": flood, "fuzz": fuzz})
