# SPDX-License-Identifier: BSD-3-Clause
"""Behind nginx and Apache, as docs/site.md tells it: the examples themselves are started."""
import os
import re
import shutil
import signal
import socket
import subprocess

from served import Served, Skip, expect, filled, frame, main
import servers  # noqa: I001 (served knows where it is)
from cases import ROOT


def need_nginx():
    if not os.path.exists(shutil.which("nginx") or "/usr/sbin/nginx"):
        raise Skip("nginx is not installed")


def example_of(kind, *changes):
    """The example of docs/site.md for this server, with other words and without what is about certificates."""
    with open(os.path.join(ROOT, "docs", "site.md"), encoding="utf-8") as page:
        example = re.search(r"```%s\n(.*?)```" % kind, page.read(), re.S)[1]
    for old, new in changes:
        expect(old in example, "the example has no '%s'", old)
        example = example.replace(old, new)
    return re.sub(r"^\s*(ssl_|SSL).*\n", "", example, flags=re.M)


def passwords_of(case, made):
    """A file with what ada and bob may come in with."""
    path = case.path("passwords")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join("%s:%s\n" % (name, made()) for name in ("ada", "bob")))
    return path


def start_nginx(case, served):
    """The example of docs/site.md at a port of its own, which is returned: ada and bob may come in."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    port, passwords = servers.free_port(), passwords_of(case, lambda: "{PLAIN}secret")
    example = example_of("nginx", ("listen 443 ssl;", "listen 127.0.0.1:%d;" % port), ("/run/iorama-serve/socket", served.socket),
                         ("/etc/nginx/iorama.users", passwords))  # fmt: skip
    with open(case.path("nginx.conf"), "w") as file:
        file.write("daemon off; master_process off; pid %s; error_log %s;\nevents {}\nhttp { access_log %s; client_body_temp_path %s; proxy_temp_path %s;"
                   " fastcgi_temp_path %s; uwsgi_temp_path %s; scgi_temp_path %s;\n%s}\n"
                   % (*(case.path("nginx." + n) for n in ("pid", "log", "access", "body", "proxy", "f", "u", "s")), example))  # fmt: skip
        user = "user root;\n" if os.geteuid() == 0 else ""
    with open(case.path("nginx.conf")) as file:
        text = file.read()
    with open(case.path("nginx.conf"), "w") as file:
        file.write(user + text)
    # one process, so that nobody is left when it is killed
    case.start(program, "-c", case.path("nginx.conf"), "-p", case.folder)

    def up():
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True

    case.wait(up, "nginx")
    return port


def nginx(case):
    """Users who have said who they are see their jobs; what is smuggled in front of the proxy reaches nobody; streams come through."""
    need_nginx()
    store = filled(case, jobs=6)
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", "--host", "portal.example.org", store=store)
    port = start_nginx(case, served)

    def curl(*words):
        return subprocess.run(["curl", "-s", "--max-time", "30", "-H", "Host: portal.example.org", *words], capture_output=True, text=True).stdout

    base = "http://127.0.0.1:%d" % port
    for user in ("ada", "bob"):
        jobs = case.value("SELECT count(*) FROM jobs WHERE username = ?", user)
        listed = curl("-u", user + ":secret", base + "/api/1/jobs.csv")
        expect(len(listed.splitlines()) == jobs + 1, "%s sees %s", user, listed)
        # a name that he brings along is not his
        listed = curl("-u", user + ":secret", "-H", "X-Remote-User: eve", base + "/api/1/session")
        expect('"user":"%s"' % user in listed, "%s is %s", user, listed)
    expect("401" in curl("-o", "/dev/null", "-w", "%{http_code}", base + "/api/1/jobs"), "nobody is let in")
    stream = subprocess.Popen(["curl", "-sN", "--max-time", "30", "-u", "ada:secret", "-H", "Host: portal.example.org",
                               base + "/api/1/stream?topics=jobs"], stdout=subprocess.PIPE)  # fmt: skip
    name, data = frame(stream.stdout)
    stream.kill()
    expect(name == "jobs" and {row["user"] for row in data["jobs"]} == {"ada"}, "the stream of ada: %s", data)
    before = smuggled(served)
    inner = b"GET /api/1/smuggled HTTP/1.1\r\nHost: portal.example.org\r\nX-Remote-User: eve\r\n\r\n"
    head = b"POST /api/1/session HTTP/1.1\r\nHost: portal.example.org\r\nAuthorization: Basic YWRhOnNlY3JldA==\r\n"
    for more in (b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(inner), b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % len(inner),
                 b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n", b"Content-Length : %d\r\n\r\n" % len(inner),
                 b"X: a\0b\r\nContent-Length: 0\r\n\r\n"):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), timeout=3) as s:
            s.sendall(head + more + inner)
            try:
                while s.recv(65536):
                    pass
            except OSError:
                pass
    expect(smuggled(served) == before, "what was smuggled has been answered")
    served.end()


MODULES = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "headers", "proxy", "proxy_http")


def ask_apache(case, port):
    """What two users get, and nobody."""

    def up():
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True

    case.wait(up, "apache")

    def curl(*words):
        return subprocess.run(["curl", "-s", "--max-time", "30", "-H", "Host: portal.example.org", *words], capture_output=True, text=True).stdout

    base = "http://127.0.0.1:%d" % port
    for name in ("ada", "bob"):
        jobs = case.value("SELECT count(*) FROM jobs WHERE username = ?", name)
        listed = curl("-u", name + ":secret", base + "/api/1/jobs.csv")
        expect(len(listed.splitlines()) == jobs + 1, "%s sees %s", name, listed)
        listed = curl("-u", name + ":secret", "-H", "X-Remote-User: eve", base + "/api/1/session")
        expect('"user":"%s"' % name in listed, "%s is %s", name, listed)
    expect("401" in curl("-o", "/dev/null", "-w", "%{http_code}", base + "/api/1/jobs"), "nobody is let in")
    stream = subprocess.Popen(["curl", "-sN", "--max-time", "30", "-u", "ada:secret", "-H", "Host: portal.example.org",
                               base + "/api/1/stream?topics=jobs"], stdout=subprocess.PIPE)  # fmt: skip
    name, data = frame(stream.stdout)
    stream.kill()
    expect(name == "jobs" and {row["user"] for row in data["jobs"]} == {"ada"}, "the stream of ada: %s", data)


def apache(case):
    """The same behind Apache."""
    program = shutil.which("apache2") or "/usr/sbin/apache2"
    if not os.path.exists(program):
        raise Skip("apache2 is not installed")
    store = filled(case, jobs=6)
    served = Served(case, "--rate", "0", "--trust-header", "X-Remote-User", "--host", "portal.example.org", "--proxy", "www-data", store=store)
    port = servers.free_port()
    passwords = passwords_of(case, lambda: subprocess.run(["openssl", "passwd", "-apr1", "secret"], capture_output=True, text=True, check=True).stdout.strip())
    example = example_of("apache", ("*:443", "127.0.0.1:%d" % port), ("/run/iorama-serve/socket", served.socket), ("/etc/apache2/iorama.users", passwords))
    user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
    for folder in (case.folder, os.path.dirname(case.folder)):  # its workers have to get to the socket
        os.chmod(folder, os.stat(folder).st_mode | 0o011)
    os.chmod(passwords, 0o644)
    with open(case.path("apache.conf"), "w", encoding="utf-8") as file:
        for module in MODULES:
            file.write("LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n" % (module, module))
        file.write("ServerName localhost\nServerRoot %s\nPidFile apache.pid\nErrorLog apache.log\nDefaultRuntimeDir %s\n%sListen 127.0.0.1:%d\n%s"
                   % (case.folder, case.folder, user, port, example))  # fmt: skip
    proxy = case.start(program, "-DFOREGROUND", "-f", case.path("apache.conf"))
    try:
        ask_apache(case, port)
    finally:  # its workers would outlive it if it were killed
        proxy.send_signal(signal.SIGTERM)
        proxy.wait()
    served.end()


def smuggled(served):
    """Requests for addresses that are not there, which were let in as somebody's."""
    found = re.search(r'route="none",code="4xx"} (\d+)', served.get("/metrics").text)
    return int(found[1]) if found else 0


def unit(case):
    """The unit of systemd lets it do little: exposure of 2.0 at most, as systemd reckons it."""
    program = shutil.which("systemd-analyze")
    if not program:
        raise Skip("systemd-analyze is not installed")
    with open(os.path.join(ROOT, "packaging", "iorama-serve.service.in"), encoding="utf-8") as file:
        text = file.read().replace("@UNIT_BINDIR@", "/usr/bin")
    with open(case.path("iorama-serve.service"), "w", encoding="utf-8") as file:
        file.write(text)
    done = case.run(program, "security", "--offline=true", "--no-pager", case.path("iorama-serve.service"), status=None)
    found = re.search(r"exposure level for iorama-serve.service: ([\d.]+)", done.stdout)
    if not found:
        raise Skip("this systemd-analyze knows no units that are not installed")
    expect(float(found[1]) <= 2.0, "exposure %s", found[1])


def unit_users(case):
    """Who is at the socket is known to a server that has the users of its unit: in a namespace of its own everybody else is `nobody`, the
    proxy, too."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("setpriv", "curl", "unshare"))):
        raise Skip("needs root, setpriv, unshare and curl")
    with open(os.path.join(ROOT, "packaging", "iorama-serve.service.in"), encoding="utf-8") as file:
        private = re.search(r"^PrivateUsers=(yes|true|on|1)\b", file.read(), re.M)
    store = filled(case, jobs=3)
    os.chmod(case.folder, 0o755)
    words = ("--rate", "0", "--trust-header", "X-Remote-User", "--proxy", "www-data")
    # as systemd makes it: root and the user of the service are themselves, nobody else is
    served = Served(case, *words, store=store, before=("unshare", "--user", "--map-root-user") if private else ())
    done = subprocess.run(["setpriv", "--reuid", "www-data", "--clear-groups", "curl", "-s", "--unix-socket", served.socket, "-H", "X-Remote-User: ada",
                           "http://x/api/1/session"], capture_output=True, text=True)  # fmt: skip
    expect('"user":"ada"' in done.stdout, "the proxy is not believed: %s", done.stdout)
    served.end()


if __name__ == "__main__":
    main({"nginx": nginx, "apache": apache, "unit": unit, "unit-users": unit_users})
