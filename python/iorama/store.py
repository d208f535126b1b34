# SPDX-License-Identifier: BSD-3-Clause
"""A store of jobs, read by the program: SQLite or PostgreSQL."""
import os

from . import program
from .log import Log


def _options(given):
    """Words of Python as options: min_bytes="1GiB" is --min-bytes=1GiB, running=True is --running; lists come again."""
    out = []
    for name, value in given.items():
        name = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                out.append(name)
            elif one is not None and one is not False:
                out.append("%s=%s" % (name, one))
    return out


class Store:
    """where: a file, or postgresql://…; without it that of IORAMA_STORE, or the user's own."""

    def __init__(self, where=None):
        self._where = ["--store=%s" % os.fspath(where)] if where is not None else []

    def jobs(self, *words, **options):
        """Jobs as `iorama jobs` finds them: jobs("cfd", user="ann", since="-7d", finding="high", where="bytes > 1GiB").
        Their index is the number of the job."""
        options.setdefault("limit", 0)
        jobs = program.frame("jobs", "--csv", *self._where, *_options(options), "--", *words)
        return jobs.set_index("job") if "job" in jobs else jobs

    def events(self, job="last", **options):
        """Every call of a job: rank=3, file="*.h5", op="write", layer="POSIX", from_="…", to="…"."""
        return program.frame("query", "--csv", *self._where, "--job=%s" % job, *_options({"limit": 0, **options}))

    def series(self, job=None, **options):
        """What a job did second by second and layer; without job all of them."""
        given = {"limit": 0, **options} if job is None else {"limit": 0, "job": job, **options}
        return program.frame("query", "--csv", "--activity", *self._where, *_options(given))

    def samples(self, host, **options):
        """What a node did."""
        return program.frame("query", "--csv", *self._where, "--samples=%s" % host, *_options({"limit": 0, **options}))

    def sql(self, statement):
        """Any statement that only reads; docs/format/store.md has the tables."""
        return program.frame("query", "--csv", *self._where, "--sql=%s" % statement)

    def report(self, job="last"):
        """The report of a job: a Log."""
        return Log(*(self._where or ["--store"]), job)

    def _repr_html_(self):
        return self.jobs(limit=20)._repr_html_()
