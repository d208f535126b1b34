# SPDX-License-Identifier: BSD-3-Clause
"""A terminal for programs that want one: tmux with a server of its own, whose screen can be read and whose size changes."""
import os
import shlex
import shutil
import subprocess

from harness import Failed, Skip


class Terminal:
    def __init__(self, case, columns, rows, **env):
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        self.case, self.columns, self.rows = case, columns, rows
        self.socket = case.path("tmux.%d.%d" % (columns, rows))
        self.env = case.environment(**{"TERM": "xterm-256color", "COLORTERM": None, "NO_COLOR": None, "TMUX": None, **env})
        self.done = self.socket + ".done"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)

    def tmux(self, *words, check=True):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=self.env, text=True,
                              capture_output=True, check=False, timeout=60)  # fmt: skip
        if check and done.returncode:
            raise Failed("tmux %s: %s" % (words[0], done.stderr))
        return done.stdout

    def start(self, *command):
        """The command in a shell that writes its status and then waits, so that the screen stays."""
        words = " ".join(shlex.quote(str(w)) for w in command)
        shell = "%s; echo $? > %s.new; mv %s.new %s; exec sleep 600" % ((words,) + (shlex.quote(self.done),) * 3)
        self.tmux("new-session", "-d", "-x", str(self.columns), "-y", str(self.rows), "-c", self.case.work, shell, ";",
                  "set", "-g", "status", "off", ";", "set", "-g", "window-size", "manual", ";",
                  "set", "-s", "escape-time", "0", ";", "resize-window", "-x", str(self.columns), "-y", str(self.rows))  # fmt: skip

    def screen(self, style=False):
        """Its lines, without the blanks at their ends; style: with colours."""
        text = self.tmux("capture-pane", "-p", *(["-e"] if style else []))
        lines = text.split("\n")[:-1]
        return [x.rstrip() for x in lines] if not style else lines

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, function, what):
        """Until the screen is as it should be; returns its lines."""
        seen = []

        def look():
            seen[:] = self.screen()
            return function(seen)

        try:
            self.case.wait(look, what, timeout=60)
        except Failed as why:
            raise Failed("%s\nscreen:\n%s" % (why, "\n".join(seen))) from None
        return seen

    def ended(self):
        """Its exit status as a text, once it has one."""
        return os.path.exists(self.done) and open(self.done, encoding="utf-8").read().strip()

    def foreground(self):
        """Process that the shell has started."""
        pid = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        with open("/proc/%s/task/%s/children" % (pid, pid), encoding="ascii") as file:
            return int(file.read().split()[0])
