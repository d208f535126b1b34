# SPDX-License-Identifier: BSD-3-Clause
"""The package iorama of Python: frames of a log, a store and a server, phases and profile() of a process, the pictures of
examples/python. What is true is what the programs did, and what logs.py made."""
import glob
import json
import os
import sqlite3
import struct
import sys

import harness
import logs
from harness import ROOT, expect

PYTHON = harness.cases.SYSTEM_PYTHON
PACKAGE = os.path.join(ROOT, "python")


def python(case, code, prefix=(), **env):
    """Runs code in the system's Python, with `case` values as it needs them; what it prints."""
    env = {"PYTHONPATH": PACKAGE, "IORAMA_PROGRAM": case.iorama, "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": case.path("mpl"), **env}
    return case.run(*prefix, PYTHON, "-W", "error", "-c", code, env=case.environment(**env)).stdout


def log(case):
    need("pandas")
    code = """if True:
        import iorama, os
        log = iorama.run(["dd", "if=/dev/zero", "of=%s", "bs=1000", "count=70", "status=none"], "%s", trace=True)
        assert log.returncode == 0
        events = log.events()
        writes = events[events.operation == "write"]
        assert len(writes) == 70 and writes.length.sum() == 70000 and list(writes.offset) == [1000 * n for n in range(70)], events
        files = log.files.set_index("name")
        assert files.loc["%s"].bytes_written == 70000 and files.loc["%s"].writes == 70, files
        counters = log.counters
        one = counters[(counters.counter == "POSIX_BYTES_WRITTEN") & (counters.name == "%s")]
        assert list(one.value.astype(float)) == [70000] and str(one.id.dtype) == "UInt64", one
        assert len(log.ranks) == 1 and log.job["name"] == "dd", log.job
        html = log._repr_html_()
        assert log.verdict.split(".")[0] in html and "<script" not in html, html
        other = iorama.run(["true"], "%s")
        assert other.diff(log), "diff"
        for bad in (lambda: iorama.read("no such log"), lambda: iorama.Log("/dev/null").report, lambda: iorama.read("%s").table("none")):
            try:
                bad()
            except iorama.Error as why:
                assert "\\n" not in str(why) and str(why), why
            else:
                assert False, "no error"
        print("well")
    """
    data, path = os.path.join(case.work, "data"), case.path("a.darshan")
    expect(python(case, code % (data, path, data, data, data, case.path("b.darshan"), path)).endswith("well\n"), "frames")


def phases(case):
    """Python's own phases, observed by `iorama run`, and by profile() alone; neither needs pandas."""
    need("pandas")
    code = """if True:
        import iorama, sys
        assert iorama.observed() == %s
        @iorama.phase("decorated")
        def work(n):
            with open("out%%d" %% n, "wb", buffering=0) as out:
                out.write(bytes(1000 * n))
        with iorama.profile(directory=%r, strict=True) as run:
            for n in (1, 2, 3):
                with iorama.phase("loop"):
                    work(n)
            try:
                with iorama.phase("failed"):
                    raise ValueError
            except ValueError:
                pass
        assert "pandas" not in sys.modules
        if run.path:
            named = run.log.phases.set_index("name")
            assert named.loc["loop"].times == 3 and named.loc["loop"].bytes_written == 6000, named
            assert named.loc["decorated"].bytes_written == 6000 and named.loc["failed"].times == 1, named
            assert named.loc["profile"].open == 0 and len(run.log.marks) == 8, run.log.marks
            assert not iorama.observed() or True
            print("attached")
    """
    path = case.path("p.darshan")
    out = python(case, code % (True, case.folder), prefix=(case.iorama, "run", "-q", "-o", path))
    expect(out == "", "printed %s", out)
    rows = case.command("report", "-q", "--csv=named", path).stdout
    expect(",profile,1," in rows and ",loop,3," in rows and ",failed,1,1,0," in rows, "phases: %s", rows)
    expect(python(case, code % (False, case.folder)) == "attached\n", "attached")
    unknown = "import iorama, warnings\nwith warnings.catch_warnings(record=True) as said:\n    warnings.simplefilter('always')\n" \
              "    with iorama.profile():\n        pass\nassert 'not observed' in str(said[0].message), said"  # fmt: skip
    python(case, unknown, IORAMA_PROGRAM="/bin/false")


def store(case):
    need("pandas")
    truth = {row["jobid"]: row for row in logs.site(case, case.path("site"), 25).values()}
    case.command("index", "-q", case.path("site"))
    code = """if True:
        import iorama, json
        store = iorama.Store(%r)
        jobs = store.jobs()
        print(json.dumps({str(r.job_id if "job_id" in jobs else r.jobid): int(r.bytes_written) for r in jobs.itertuples()}))
        user = jobs.iloc[0].user
        assert (store.jobs(user=user).user == user).all() and len(store.jobs(limit=3)) == 3
        assert store.sql("SELECT count(*) AS n FROM jobs").n[0] == len(jobs)
        assert store.report(jobs.index[0]).job["name"] == jobs.iloc[0]["name"]
        assert "<table" in store._repr_html_()
        assert store.series().bytes_written.sum() == 700, store.series()
        assert len(store.series(limit=2)) == 2
    """
    db = sqlite3.connect(case.path("store.db"))
    with db:
        job = db.execute("SELECT min(number) FROM jobs").fetchone()[0]
        for s in range(7):
            db.execute("INSERT INTO activity (job, t_ns, process, layer, rank, width_ns, reads, writes, metas, bytes_read, bytes_written, read_ns,"
                       " write_ns, meta_ns) VALUES (?, ?, 1, 'POSIX', 0, 1000000000, 0, 1, 0, 0, 100, 0, 5, 0)", (job, (1700000000 + s) * 10**9))
    db.close()
    got = json.loads(python(case, code % case.path("store.db")))
    expect(got == {str(k): v["bytes_written"] for k, v in truth.items()}, "jobs: %s", got)


def server(case):
    """The same rows as the store has, by `iorama serve`, with the token and not without."""
    need("pandas")
    with open(case.path("token"), "w", encoding="ascii") as file:
        file.write("ab" * 32 + "\n")
    os.chmod(case.path("token"), 0o600)
    logs.site(case, case.path("site"), 12)
    case.command("index", "-q", case.path("site"))
    process = case.start(case.iorama, "serve", "--listen", "127.0.0.1:0", "--token", case.path("token"))
    case.wait(lambda: harness.text_of(process.out).endswith("\n"), "the address of serve")
    url = harness.text_of(process.out).strip()
    code = """if True:
        import iorama
        store, server = iorama.Store(%r), iorama.Server(%r)
        ours, theirs = store.jobs(), server.jobs(limit=100)
        assert sorted(ours.index) == sorted(theirs.index) and len(ours) == 12, (ours, theirs)
        both = ours.bytes_written.sort_index(), theirs.bytes_written.sort_index()
        assert (both[0] == both[1]).all()
        one = theirs.index[0]
        assert server.report(one)["schema"] == "iorama-report" and len(server.files(one)) > 0
        assert iorama.Server(%r.split("#")[0], token=%r).jobs().shape == server.jobs().shape
        for bad in (iorama.Server(%r.split("#")[0], token="no"), iorama.Server("http://127.0.0.1:1", token="no")):
            try:
                bad.jobs()
            except iorama.Error as why:
                assert "\\n" not in str(why), why
            else:
                assert False
        print("well")
    """
    expect(python(case, code % (case.path("store.db"), url, url, case.path("token"), url)) == "well\n", "server")


def pictures(case):
    """Of three runs of a program with phases: four pictures that are no blank paper."""
    need("matplotlib")
    made = []
    for n in range(3):
        made.append(case.path("run%d.darshan" % n))
        code = "import iorama\nwith iorama.phase('write'):\n    for n in range(300):\n        open('f%d' % (n % 3), 'w').write('x' * 5000)"
        python(case, code, prefix=(case.iorama, "run", "-q", "-o", made[-1]))
    env = case.environment(PYTHONPATH=PACKAGE, IORAMA_PROGRAM=case.iorama, MPLCONFIGDIR=case.path("mpl"))
    case.run(PYTHON, os.path.join(ROOT, "examples", "python", "pictures.py"), *made, "-o", case.path("pictures"), env=env)
    found = sorted(os.path.basename(p) for p in glob.glob(case.path("pictures", "*.png")))
    expect(found == ["operations.png", "phases.png", "rate.png", "runs.png"], "pictures: %s", found)
    for name in found:
        with open(case.path("pictures", name), "rb") as file:
            head = file.read()
        size = struct.unpack(">2I", head[16:24])
        expect(head[:8] == b"\x89PNG\r\n\x1a\n" and size[0] >= 1000 and len(head) > 6000, "%s: %s, %d bytes", name, size, len(head))


def need(*modules):
    for module in modules:
        if harness.cases.subprocess.run([PYTHON, "-c", "import " + module], capture_output=True, check=False).returncode != 0:
            raise harness.Skip("%s is not installed" % module)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    harness.main({f.__name__: f for f in (log, phases, store, server, pictures)})
