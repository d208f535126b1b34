#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""terminal.py IORAMA: `iorama run` on a terminal, with this script in the part of the shell."""
import fcntl
import os
import select
import signal
import sys
import tempfile
import termios
import time

PATIENCE = 10  # seconds


class Session:
    """A program on a terminal of its own, as the only job of its session."""

    def __init__(self, arguments):
        self.text = b""
        self.master, slave = os.openpty()
        ready, go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            # a job of a shell is a group of its own, else the terminal cannot stop it
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os.read(ready, 1)
                for number in (signal.SIGINT, signal.SIGQUIT):  # a shell without jobs ignores them in what it starts
                    signal.signal(number, signal.SIG_DFL)
                for fd in (0, 1, 2):
                    os.dup2(slave, fd)
                os.execvp(arguments[0], arguments)
            os.setpgid(job, job)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, lambda *_: os.killpg(job, signal.SIGHUP))
            os.tcsetpgrp(slave, job)
            os.write(go, b"x")
            self.shell(job, slave)
        os.close(slave)
        os.close(ready)
        os.close(go)

    @staticmethod
    def shell(job, terminal):
        """Goes on with a job that stopped, and ends as it ends."""
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.write(terminal, b"[stopped]\n")
                time.sleep(0.2)
                os.killpg(job, signal.SIGCONT)
            else:
                os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 200 + os.WTERMSIG(status))

    def wait_for(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.text:
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("no %r in %r" % (text, self.text))
            try:
                self.text += os.read(self.master, 4096)
            except OSError:
                raise AssertionError("no %r in %r" % (text, self.text)) from None

    def key(self, byte):
        os.write(self.master, byte)

    def end(self):
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while True:
                    try:
                        more = os.read(self.master, 4096)
                    except OSError:
                        more = b""
                    if not more:
                        return os.WEXITSTATUS(status)
                    self.text += more
            if select.select([self.master], [], [], 0.02)[0]:
                try:
                    self.text += os.read(self.master, 4096)
                except OSError:
                    pass
        raise AssertionError("no end; %r" % self.text)


LOOP = "echo ready; while :; do sleep 0.05; done"


def run(script, log, *options):
    return Session([iorama, "run", "-o", log, *options, "bash", "-c", script])


def check(what, is_true, session):
    if not is_true:
        raise AssertionError("%s: %r" % (what, session.text))


def interrupted(folder):
    s = run("exec sleep 60", folder + "/1.darshan")
    time.sleep(0.5)
    s.key(b"\x03")
    check("status 130", s.end() == 130, s)
    check("a log", os.path.exists(folder + "/1.darshan"), s)
    check("a report", b"iorama: bash" in s.text, s)


def survived(folder):
    s = run("trap 'n=$((n+1)); echo caught $n' INT; echo ready; while [ \"$n\" != 2 ]; do sleep 0.05; done; exit 6", folder + "/2.darshan")
    s.wait_for(b"ready")
    s.key(b"\x03")
    s.wait_for(b"caught 1")
    time.sleep(0.3)
    check("one key, one signal", b"caught 2" not in s.text, s)
    s.key(b"\x03")
    check("status 6", s.end() == 6, s)


def stopped(folder):
    s = run("trap 'exit 3' USR1; trap 'echo again' CONT; " + LOOP, folder + "/3.darshan", "-q")
    s.wait_for(b"ready")
    s.key(b"\x1a")
    s.wait_for(b"[stopped]")
    s.wait_for(b"again")
    s.key(b"\x03")
    check("status 130", s.end() == 130, s)


def stopped_by_kill(folder):
    s = Session(["bash", "-c", "echo pid $$; exec %s run -q -o %s/4.darshan bash -c 'trap \"echo again\" CONT; %s'" % (iorama, folder, LOOP)])
    s.wait_for(b"ready")
    pid = int(s.text.split(b"pid ")[1].split()[0])
    os.kill(pid, signal.SIGTSTP)
    s.wait_for(b"[stopped]")
    s.wait_for(b"again")
    os.kill(pid, signal.SIGTERM)
    check("status 143", s.end() == 143, s)


def terminal(folder):
    s = run("stty size > /dev/null && read -r line && echo \"got $line\"", folder + "/5.darshan", "-q")
    time.sleep(0.2)
    s.key(b"words\n")
    s.wait_for(b"got words")
    check("status 0", s.end() == 0, s)


def hung_up(folder):
    s = run("echo ready; exec sleep 60", folder + "/6.darshan")
    s.wait_for(b"ready")
    time.sleep(0.2)
    os.close(s.master)
    end = time.monotonic() + PATIENCE
    while not os.path.exists(folder + "/6.darshan"):
        check("a log", time.monotonic() < end, s)
        time.sleep(0.05)
    _, status = os.waitpid(s.pid, 0)
    check("status 129", os.WEXITSTATUS(status) == 129, s)


TESTS = (
    (interrupted, "Ctrl-C ends the command, not iorama before it"),
    (survived, "Ctrl-C that the command survives"),
    (stopped, "Ctrl-Z stops both, fg goes on"),
    (stopped_by_kill, "kill -TSTP and -CONT of iorama reach the command"),
    (terminal, "the terminal is the command's"),
    (hung_up, "hanging up ends the command, and there is a log"),
)

if __name__ == "__main__":
    iorama = sys.argv[1]
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        os.environ["IORAMA_DIR"] = place + "/seg"
        for test, name in TESTS:
            try:
                test(place)
                print("ok " + name)
            except AssertionError as problem:
                failed += 1
                print("not ok %s: %s" % (name, problem))
    sys.exit(1 if failed else 0)
