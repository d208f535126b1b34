# SPDX-License-Identifier: BSD-3-Clause
"""What `iorama serve` answers, as frames."""
import io
import json
import os
import urllib.error
import urllib.parse
import urllib.request

from .errors import Error
from .program import table


class _Stay(urllib.request.HTTPRedirectHandler):
    """The token goes to the address that was given, and to no other."""

    def redirect_request(self, *_):
        return None


class Server:
    """url: what `iorama serve` printed, with or without #token=…; token: text, or a file that holds it (else
    IORAMA_TOKEN, else the file that `iorama serve` writes)."""

    def __init__(self, url, token=None, timeout=30):
        parts = urllib.parse.urlsplit(url)
        fragment = dict(urllib.parse.parse_qsl(parts.fragment))
        self._url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._timeout = timeout
        self._open = urllib.request.build_opener(_Stay).open
        token = token or fragment.get("token") or os.environ.get("IORAMA_TOKEN") or self._own()
        if token and os.path.sep in str(token) and os.path.exists(token):
            with open(token, encoding="ascii") as file:
                token = file.read().strip()
        self._token = token

    @staticmethod
    def _own():
        home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        places = [os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "iorama"), os.path.join(home, "iorama")]
        return next((p for p in (os.path.join(d, "serve.token") for d in places) if os.path.isabs(p) and os.path.exists(p)), None)

    def __repr__(self):
        return "<iorama.Server %s>" % self._url

    def get(self, path, **query):
        """The bytes of an answer: get("api/1/jobs.csv", user="ann")."""
        query = {k.rstrip("_"): v for k, v in query.items() if v is not None}
        url = "%s/%s%s" % (self._url, path, "?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        request = urllib.request.Request(url)
        if self._token:
            request.add_header("Authorization", "Bearer %s" % self._token)
        try:
            with self._open(request, timeout=self._timeout) as answer:
                return answer.read()
        except urllib.error.HTTPError as why:
            said = why.read().decode(errors="replace").strip()
            raise Error("%s: %d %s" % (path, why.code, said.splitlines()[0][:300] if said else why.reason)) from None
        except (urllib.error.URLError, OSError) as why:
            raise Error("%s: %s" % (self._url, getattr(why, "reason", why))) from None

    def frame(self, path, **query):
        """Any resource of docs/site.md that has rows: frame("api/1/days")."""
        import pandas

        body = self.get(path + ".csv", **query)
        return table(io.BytesIO(body)) if body.strip() else pandas.DataFrame()

    def document(self, path, **query):
        return json.loads(self.get(path, **query))

    def jobs(self, **query):
        """A page of jobs, the newest first: user, state, since, until, name, finding, where, word, sort, after, limit."""
        jobs = self.frame("api/1/jobs", **query)
        return jobs.set_index("job") if "job" in jobs else jobs

    def series(self, job, **query):
        return self.frame("api/1/jobs/%s/series" % job, **query)

    def ranks(self, job, **query):
        return self.frame("api/1/jobs/%s/ranks" % job, **query)

    def files(self, job, **query):
        return self.frame("api/1/jobs/%s/files" % job, **query)

    def findings(self, job):
        return self.frame("api/1/jobs/%s/findings" % job)

    def events(self, job, **query):
        return self.frame("api/1/jobs/%s/events" % job, **query)

    def report(self, job):
        """The document of docs/format/report.md."""
        return self.document("api/1/jobs/%s/report" % job)
