# SPDX-License-Identifier: BSD-3-Clause
"""One log: its report, and everything it counts, as frames."""
import functools
import html
import os
import subprocess

from . import program
from .errors import Error

_LEVELS = {"HIGH": "#c53030", "WARN": "#b7791f", "INFO": "#718096", "OK": "#2f855a"}


class Log:
    """A log, or a job of a store; nothing is read before it is asked for."""

    def __init__(self, *source):
        self._source = [str(part) for part in source]

    def __repr__(self):
        return "<iorama.Log %s>" % " ".join(self._source)

    @functools.cached_property
    def report(self):
        """The whole report, as docs/format/report.md describes it: a dict."""
        return program.document("report", "--json", *self._source)

    @property
    def job(self):
        return self.report["job"]

    @property
    def verdict(self):
        """The sentence above all findings."""
        return self.report["verdict"]["text"] if isinstance(self.report["verdict"], dict) else self.report["verdict"]

    def table(self, name):
        """A table of the report: findings, files, groups, ranks, layers, sizes, pattern, operations, timeline, phases,
        named, ops, mounts, targets, modules, checks, limits."""
        return program.frame("report", "-q", "--csv=" + name, *self._source)

    findings = property(lambda self: self.table("findings"), doc="what was found, most expensive first")
    files = property(lambda self: self.table("files"), doc="a row for each file")
    ranks = property(lambda self: self.table("ranks"), doc="a row for each rank")
    layers = property(lambda self: self.table("layers"), doc="POSIX, MPI-IO, …: sums")
    sizes = property(lambda self: self.table("sizes"), doc="requests by size")
    timeline = property(lambda self: self.table("timeline"), doc="bytes by layer, rank and time")
    phases = property(lambda self: self.table("named"), doc="phases that the program named")
    io_phases = property(lambda self: self.table("phases"), doc="times in which files were used")

    @property
    def marks(self):
        """Every time of every named phase: name, start, end."""
        import pandas

        rows = [
            (phase["name"], start, end) for phase in self.report["timeline"].get("named", []) for start, end in phase["spans"]
        ]
        return pandas.DataFrame(rows, columns=["name", "start", "end"]).sort_values("start", ignore_index=True)

    def _file(self):
        if self._source[0].startswith("-"):
            raise Error("this needs a log: ask the store for it")
        return self._source

    @property
    def counters(self):
        """Every counter of every record: module, rank, record, counter, value, name."""
        frame = program.frame("show", "--csv", *self._file())
        if "value" in frame:
            import pandas

            number = pandas.to_numeric(frame["value"], errors="coerce")  # a few are texts, such as the name of a host
            if number.notna().sum() == frame["value"].notna().sum():
                frame["value"] = number
        return frame

    def events(self):
        """Every read and write, where the log has a trace."""
        return program.frame("export", "--csv", "-o", "-", *self._file())

    def html(self, path):
        """The page of the report, in a file."""
        program.call("report", "-q", "--html=%s" % path, *self._source)
        return path

    def figure(self, path, parts="all"):
        """A figure for a paper, path.svg, path.pdf or path.png: parts are head, findings, timeline, sizes, with commas."""
        program.call("report", "-q", "--figure=" + parts, "-o", path, *self._source)
        return path

    def diff(self, other):
        """Compared with another one: a dict, as docs/format/diff.md describes it."""
        return program.document("diff", "--json", *self._file(), *other._file())

    def _repr_html_(self):
        job, rows = self.job, []
        for finding in self.report["findings"]:
            if finding["level"] not in ("HIGH", "WARN"):
                continue
            cost = finding.get("cost_s") or 0
            rows.append(
                "<tr><td style='color:%s'><b>%s</b></td><td style='text-align:right'>%s</td>"
                "<td style='text-align:left'>%s<br><small>%s</small></td><td>%s</td></tr>"
                % (
                    _LEVELS.get(finding["level"], "inherit"),
                    html.escape(finding["level"]),
                    "%.3g s" % cost if cost else "",
                    html.escape(finding["title"]),
                    html.escape(finding.get("advice") or ""),
                    html.escape(finding["rule"]),
                )
            )
        table = "<table>%s</table>" % "".join(rows) if rows else "<p>nothing worth changing was found</p>"
        return "<div><p><b>%s</b> · %d ranks · %.3g s</p><p>%s</p>%s</div>" % (
            html.escape(str(job["name"])), job["nprocs"], job["run_time"], html.escape(self.verdict), table,
        )  # fmt: skip


def read(path):
    """A log; `last` is the newest one."""
    path = os.fspath(path)
    if path != "last" and not os.path.exists(path):
        raise Error("%s: no such file" % path)
    return Log(path)


def run(command, log, trace=False, quiet=True):
    """Runs a command observed, as `iorama run` does; its log. What it returned is in .returncode."""
    arguments = [program.path(), "run", "-f", "-o", os.fspath(log)] + ["-q"] * quiet + ["--trace"] * trace
    done = subprocess.run([*arguments, "--", *map(str, command)], env=program.environment(), check=False)
    if not os.path.exists(log):
        raise Error("%s: no log was made (status %d)" % (log, done.returncode))
    made = Log(log)
    made.returncode = done.returncode
    return made
