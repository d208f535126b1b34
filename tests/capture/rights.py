#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rights.py BUILD [CASE...]: processes that give up rights are observed if they had them when they were forked; programs with
rights of their own never are, and are counted. Needs root, since only root has rights to give up."""
import os
import shutil
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from foreign import Seen, build, counts, show  # noqa: E402
from harness import TIMEOUT, Skip, main, must  # noqa: E402

UID, OTHER = 20811, 20812
WAYS = ["setuid", "seteuid", "setreuid", "setresuid", "all", "setgid", "setegid", "setregid", "setresgid", "setgroups",
        "chroot", "unshare"]  # fmt: skip


def need_root(h):
    if os.geteuid() != 0:
        raise Skip("only root has rights to give up")
    os.chmod(h.scratch, 0o755)


class Dropped(Seen):
    """The files of the program are there, for everybody."""

    def __init__(self, h, command, mode="run", options=(), env=None):
        self.made = os.path.join(h.scratch, "d%d" % h.count)
        os.makedirs(self.made, mode=0o777)
        os.chmod(self.made, 0o777)
        for name in ("parent", "child", "out"):
            with open(os.path.join(self.made, name), "w", encoding="ascii"):
                pass
            os.chmod(os.path.join(self.made, name), 0o666)
        there = ["sh", "-c", 'cd "$0" && exec "$@"', self.made]
        super().__init__(h, command if mode == "exec" else [*there, *command], mode, options, env)

    def size(self, name):
        return os.path.getsize(os.path.join(self.made, name))


def dropped(h):
    """a forked child whose first observed call is to give up its rights"""
    need_root(h)
    program = build(h, "rights", "plain", "rights")
    for options in ((), ("--trace",), ("--live",)):
        for way in WAYS if options == () else ["all"]:
            seen = Dropped(h, [program, way, str(UID)], "run", options)
            must(seen.status == 0 and seen.err == "", "%s: status %d %r", way, seen.status, seen.err)
            metadata, written = show(h, seen.log)
            must(written.get("parent") == 20 and written.get("child") == 50, "%s: %s", way, written)
            must(seen.json["unseen"] == 0 and seen.json["processes"] == 2, "%s: %s", way, seen.json)
            must(seen.json["unfinished"] == 0, "%s: %s", way, seen.json)


def dropped_unseen(h):
    """... in a way that nobody can see: it cannot be observed, and is counted"""
    need_root(h)
    program = build(h, "rights", "plain", "rights")
    seen = Dropped(h, [program, "raw", str(UID)])
    must(seen.status == 0 and seen.err == "", "status %d %r", seen.status, seen.err)
    must(seen.json["unseen_why"] == {"dropped": 1} and seen.json["unseen_programs"] == ["rights"], "%s", seen.json)
    must(show(h, seen.log)[1].get("parent") == 20 and seen.size("child") == 50, "%s", show(h, seen.log))


def dropped_exec(h):
    """a program that is started after: it has no rights where the segments are, and is counted"""
    need_root(h)
    program, leaf = build(h, "rights", "plain", "rights"), build(h, "leaf-plain", "plain")
    seen = Dropped(h, [program, "all", str(UID), leaf, "0", "40", "out"])
    must(seen.status == 0 and seen.err == "" and seen.size("out") == 40, "status %d %r", seen.status, seen.err)
    must(seen.json["unseen_why"] == {"dropped": 1} and seen.json["unseen_programs"] == ["leaf-plain"], "%s", seen.json)
    same = Dropped(h, [program, "none", "0", leaf, "0", "40", "out"])
    must(same.json["unseen"] == 0 and show(h, same.log)[1].get("out") == 40, "%s", same.json)


def setuid_children(h):
    """programs with rights of their own are never observed, and counted"""
    need_root(h)
    leaf = shutil.copy(build(h, "leaf-plain", "plain"), os.path.join(h.scratch, "leaf-setuid"))
    os.chown(leaf, OTHER, OTHER)
    for mode, group in ((0o4755, False), (0o2755, True), (0o755, None)):
        os.chmod(leaf, mode)
        for command in (["sh", "-c", leaf + " 0 40 out; true"], ["sh", "-c", "exec %s 0 40 out" % leaf], [leaf, "0", "40", "out"]):
            seen = Dropped(h, command)
            must(seen.status == 0 and seen.size("out") == 40, "%o: status %d %r", mode, seen.status, seen.err)
            if group is None:
                must(seen.json["unseen"] == 0 and show(h, seen.log)[1].get("out") == 40, "%o: %s", mode, seen.json)
            else:
                must(seen.json["unseen_why"] == {"rights": 1}, "%o: %s", mode, seen.json)
                must(show(h, seen.log)[1].get("out") is None, "%o: observed", mode)
    # where the system gives no new rights, it is observed as any other
    os.chmod(leaf, 0o4755)
    seen = Dropped(h, ["setpriv", "--no-new-privs", leaf, "0", "40", "out"])
    must(seen.json["unseen"] == 0 and show(h, seen.log)[1].get("out") == 40, "no new rights: %s", seen.json)
    # rights that differ already: the system distrusts whatever is started
    program, plain = build(h, "rights", "plain", "rights"), build(h, "leaf-plain", "plain")
    seen = Dropped(h, [program, "seteuid", str(UID), plain, "0", "40", "out"])
    must(seen.json["unseen_why"] == {"rights": 1} and seen.size("out") == 40, "differ: %s %r", seen.json, seen.err)


CONF = """user www-data; worker_processes 2; error_log {0}/error.log; pid {0}/pid; daemon off;
events {{ worker_connections 64; }}
http {{ access_log {0}/access.log; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3;
uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5; sendfile {1}; server {{ listen unix:{0}/sock; root {0}/www; }} }}
"""


def fetch(path, name):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT)
        s.connect(path)
        s.sendall(b"GET /%s HTTP/1.0\r\n\r\n" % name.encode())
        data = b""
        while chunk := s.recv(65536):
            data += chunk
    return data.split(b"\r\n\r\n", 1)[1]


def nginx(h):
    """a real server: its workers give up the rights of their master, and do all of its work"""
    need_root(h)
    program = shutil.which("nginx", path="/usr/sbin:" + os.environ.get("PATH", ""))
    if not program:
        raise Skip("nginx is not installed")
    for sendfile in ("off", "on"):
        folder = os.path.join(h.scratch, "nginx-" + sendfile)
        os.makedirs(folder + "/www", mode=0o755)
        truth = {"a": 5000, "b": 70000}
        for name, size in truth.items():
            with open(os.path.join(folder, "www", name), "wb") as file:
                file.write(b"x" * size)
        with open(folder + "/conf", "w", encoding="ascii") as file:
            file.write(CONF.format(folder, sendfile))
        log = os.path.join(h.quiet, "nginx-%s.darshan" % sendfile)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "DARSHAN_", "LD_"))}
        env["IORAMA_DIR"] = os.path.join(h.quiet, "nginx-segments-" + sendfile)
        server = subprocess.Popen([h.iorama, "run", "--json", "-o", log, "--", program, "-c", folder + "/conf", "-p", folder],
                                  stderr=subprocess.PIPE, env=env)  # fmt: skip
        try:
            late = time.monotonic() + TIMEOUT
            while not os.path.exists(folder + "/sock") or not os.path.exists(folder + "/pid"):
                must(time.monotonic() < late and server.poll() is None, "the server does not start")
                time.sleep(0.02)
            while True:  # the socket is there before anybody listens
                try:
                    fetch(folder + "/sock", "none")
                    break
                except OSError:
                    must(time.monotonic() < late, "the server does not answer")
                    time.sleep(0.02)
            for name, size in truth.items():
                for _ in range(4):
                    got = fetch(folder + "/sock", name)
                    must(len(got) == size, "%s: %d bytes, not %d: is %s readable for www-data?", name, len(got), size, folder)
            with open(folder + "/pid", encoding="ascii") as file:
                os.kill(int(file.read()), 3)
            server.wait(timeout=TIMEOUT)
        finally:
            if server.poll() is None:
                server.terminate()
                server.wait(timeout=TIMEOUT)
        done = subprocess.run([h.iorama, "show", "-q", "--json", log], capture_output=True, text=True, timeout=TIMEOUT)
        shown = __import__("json").loads(done.stdout)["logs"][0]
        read = {}
        for module in shown["modules"]:
            for r in module["records"] if module["module"] == "POSIX" else []:
                name = os.path.relpath(r["name"], folder)
                read[name] = read.get(name, 0) + r["counters"]["POSIX_BYTES_READ"]
        for name, size in truth.items():
            must(read.get("www/" + name) == 4 * size, "sendfile %s: %s: %s bytes read, not %d", sendfile, name, read, 4 * size)
        must(shown["job"]["nprocs"] == 3, "%d processes", shown["job"]["nprocs"])
        must(not counts({m["key"]: m["value"] for m in shown["job"]["metadata"]}.get("iorama_unseen", "")), "%s", shown["job"])


CASES = {
    "dropped": dropped,
    "dropped-unseen": dropped_unseen,
    "dropped-exec": dropped_exec,
    "setuid-children": setuid_children,
    "nginx": nginx,
}

if __name__ == "__main__":
    main(CASES)
