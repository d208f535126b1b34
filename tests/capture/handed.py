#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""handed.py BUILD [CASE...]: without `iorama run`: programs that do a little and become another one by exec. The log, whether
its name was given or not, holds what all programs of the process did, and there is one of it."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from foreign import BYTES, STATUS, Seen, build, show  # noqa: E402
from harness import Skip, main, must  # noqa: E402

# words that come before the program, and what they write themselves
WRAPPERS = {
    "nice": (["nice"], {}),
    "taskset": (["taskset", "1"], {}),
    "env": (["env", "A=B"], {}),
    "many": (["nice", "env", "A=B", "taskset", "1", "nohup", "env", "-u", "A"], {}),
    "sh": (["sh", "-c", 'echo 12345 >before; exec "$@"', "sh"], {"before": 6}),
    "shells": (["sh", "-c", 'echo 12345 >before; exec sh -c \'echo 12 >second; exec "$@"\' sh "$@"', "sh"], {"before": 6, "second": 3}),
    "forked": (["sh", "-c", 'echo 12345 >before; (echo 12 >inner; exec "$@"); exit $?', "sh"], {"inner": 3}),
    "setsid": (["setsid", "--wait"], {}),
    "timeout": (["timeout", "20"], {}),
}


def observe(h, words, named, mode="bare", env=None):
    h.count += 1
    given = os.path.join(h.quiet, "named%d.darshan" % h.count)
    variable = {"": {}, "ours": {"IORAMA_LOG": given}, "darshan": {"DARSHAN_LOGFILE": given}}[named]
    seen = Seen(h, words, mode, env={**variable, **(env or {})})
    if named:
        must(os.path.exists(given), "%s: there is no log: %s", words[:2], seen.err)
        os.rename(given, os.path.join(seen.quiet, "logs", "named.darshan"))
    return seen


def log_of_leaf(h, seen):
    """The log that has the file of the last program, with its metadata and what was written."""
    found = [(path, *show(h, path)) for path in seen.logs()]
    with_leaf = [one for one in found if "out" in one[2]]
    must(len(with_leaf) == 1, "logs: %s", found)
    return with_leaf[0]


def check(h, name, named, mode):
    words, written = WRAPPERS[name]
    leaf = build(h, "leaf-plain", "plain")
    seen = observe(h, [*words, leaf, str(STATUS), str(BYTES), "out"], named, mode)
    must(seen.status == STATUS and seen.err in ("", "nohup: ignoring input\n"), "%s: status %d: %r", name, seen.status, seen.err)
    path, _, found = log_of_leaf(h, seen)
    must(found["out"] == BYTES, "%s %s: %s", name, named, found)
    for file, size in written.items():
        must(found.get(file) == size, "%s %s: %s", name, named, found)
    if name not in ("timeout", "setsid", "forked"):  # these fork
        must(len(seen.logs()) == 1, "%s %s: logs %s", name, named, seen.logs())
        must(not seen.segments(), "%s %s: left %s", name, named, seen.segments())
    if name == "forked" and not named:
        total = {}
        for one in seen.logs():
            for file, size in show(h, one)[1].items():
                total[file] = total.get(file, 0) + size
        must(total.get("before") == 6 and total["out"] == BYTES and not seen.segments(), "%s: %s %s", name, total, seen.segments())
    done = subprocess.run([h.iorama, "show", "-q", "--json", path], capture_output=True, text=True, check=True)
    job = json.loads(done.stdout)["logs"][0]["job"]
    must(job["exe"].split()[0].endswith("leaf-plain"), "%s: command %s", name, job["exe"])
    if mode == "trace":
        done = subprocess.run([h.iorama, "show", "-q", "--json", "--dxt", path], capture_output=True, text=True, check=True)
        traced = sum(len(r["writes"] if "writes" in r else r.get("segments", []))
                     for m in json.loads(done.stdout)["logs"][0]["modules"] for r in m["records"]
                     if os.path.basename(r.get("name", "")) == "out" and "POSIX" in m["module"])  # fmt: skip
        must(traced == BYTES // 10, "%s: %d traced", name, traced)


def wrapper(name):
    def case(h):
        if not shutil.which(WRAPPERS[name][0][0]):
            raise Skip("%s is not installed" % name)
        for named in ("", "ours", "darshan"):
            check(h, name, named, "bare")
        check(h, name, "ours", "trace")
    return case


def valgrind(h):
    """a static program that loads another one in its own process"""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    leaf = build(h, "leaf-plain", "plain")
    for named in ("", "ours"):
        seen = observe(h, ["valgrind", "-q", leaf, str(STATUS), str(BYTES), "out"], named)
        must(seen.status == STATUS, "status %d: %s", seen.status, seen.err)
        must(log_of_leaf(h, seen)[2]["out"] == BYTES and len(seen.logs()) == 1, "%s", seen.logs())
        must(not seen.segments(), "left %s", seen.segments())


def not_observed(h):
    """what comes next is not observed: the log is made at once, and tells"""
    words = ["sh", "-c", 'echo 12345 >before; exec "$@"', "sh"]
    cases = [("static", {}, [], {"static": 1}), ("plain", {}, ["env", "IORAMA_DISABLE=1"], {}), ("plain", {}, ["env", "-i"], {"cleared": 1})]
    for kind, env, more, why in cases:
        for named in ("", "ours"):
            leaf = build(h, "leaf-" + kind, kind)
            seen = observe(h, [*words, *more, leaf, str(STATUS), str(BYTES), "out"], named, env=env)
            must(seen.status == STATUS, "%s: status %d: %s", more, seen.status, seen.err)
            must(len(seen.logs()) == 1 and not seen.segments(), "%s: %s %s", more, seen.logs(), seen.segments())
            metadata, written = show(h, seen.logs()[0])
            must(written == {"before": 6}, "%s: %s", more, written)
            told = {p.split(":")[0]: int(p.split(":")[1]) for p in metadata.get("iorama_unseen", "").split(";") if p}
            must(told == why, "%s: %s", more, metadata)


def failed(h):
    """exec that fails: the process goes on, and has one log at its end"""
    leaf = build(h, "leaf-static", "static")
    for named in ("", "ours"):
        script = "shopt -s execfail; : >before; exec /nonexistent/x 2>/dev/null; printf -v big %0200000d 0; " \
            "exec LEAF $big 2>/dev/null; : >after"
        seen = observe(h, ["nice", "bash", "-c", script.replace("LEAF", leaf)], named)
        must(seen.status == 0, "status %d: %s", seen.status, seen.err)
        found = [show(h, path) for path in seen.logs()]
        must(len(found) == 1 and "before" in found[0][1] and "after" in found[0][1], "%s", found)
        must("iorama_unseen" not in found[0][0] and not seen.segments(), "%s %s", found, seen.segments())


def many(h):
    """a process that becomes another program again and again leaves no heap of segments"""
    script = '[ $0 -gt 0 ] || { echo 1 >>end; exit 0; }; echo 1 >>all; exec sh -c "$1" $(($0 - 1)) "$1"'
    seen = observe(h, ["sh", "-c", script, "80", script], "")
    must(seen.status == 0, "status %d: %s", seen.status, seen.err)
    total = {}
    for path in seen.logs():
        for file, size in show(h, path)[1].items():
            total[file] = total.get(file, 0) + size
    must(total == {"all": 160, "end": 2}, "%s", total)
    must(len(seen.logs()) <= 3 and not seen.segments(), "%d logs, %s", len(seen.logs()), seen.segments())


def killed(h):
    """the last program is killed: all that was recorded is recovered, as one process"""
    seen = observe(h, ["sh", "-c", "echo 12345 >before; exec sh -c 'echo 12 >second; kill -9 $$'"], "")
    must(not seen.logs() and len(seen.segments()) == 2, "%s %s", seen.logs(), seen.segments())
    env = {**os.environ, "IORAMA_DIR": seen.quiet + "/segments"}
    log = seen.quiet + "/logs/recovered.darshan"
    done = subprocess.run([h.iorama, "recover", "-q", "-o", log], env=env, capture_output=True, text=True)
    must(os.path.exists(log), "recover: %s", done.stderr)
    must(show(h, log)[1] == {"before": 6, "second": 3}, "%s", show(h, log))
    must(not seen.segments(), "left %s", seen.segments())


def stale(h):
    """a segment of another process that had the same id is left alone"""
    first = observe(h, ["sh", "-c", "echo 12345 >before; exec sh -c 'kill -9 $$'"], "")
    time.sleep(0.03)  # starts of processes are known in hundredths of a second
    folder = first.quiet + "/segments"
    found = [os.path.join(d, n) for d, _, names in os.walk(folder) for n in names if n.endswith(".0.seg")]
    must(len(found) == 1, "%s", found)
    h.count += 1
    place = os.path.join(h.quiet, "stale%d" % h.count)
    host = os.path.basename(found[0]).split(".")[0]
    # the process makes the segment of its predecessor itself, with its own number in it, before it is observed
    script = """import os, struct, sys
pid = os.getpid(); folder = sys.argv[2] + "/bare.%d" % pid; os.makedirs(folder, mode=0o700); os.chmod(sys.argv[2], 0o700)
data = bytearray(open(sys.argv[1], "rb").read()); assert struct.unpack_from("q", data, 4096 + 88)[0] == int(sys.argv[4])
struct.pack_into("q", data, 4096 + 88, pid); open(folder + "/%s.%d.0.seg" % (sys.argv[3], pid), "wb").write(data)
os.environ["LD_PRELOAD"] = sys.argv[5]; os.execv(sys.argv[6], sys.argv[6:])"""
    number = os.path.basename(found[0]).split(".")[-3]
    leaf = build(h, "leaf-plain", "plain")
    words = [sys.executable, "-c", script, found[0], place, host, number, h.library, leaf, str(STATUS), str(BYTES), "out"]
    seen = Seen(h, words, "plain", env={"IORAMA_DIR": place, "IORAMA_LOG": h.quiet + "/stale.darshan"})
    must(seen.status == STATUS, "status %d: %s", seen.status, seen.err)
    must(show(h, h.quiet + "/stale.darshan")[1] == {"out": BYTES}, "%s", show(h, h.quiet + "/stale.darshan"))
    left = [n for _, _, names in os.walk(place) for n in names]
    must(len(left) == 1 and left[0].endswith(".0.seg"), "left %s", left)


CASES = {
    **{"handed-" + name: wrapper(name) for name in WRAPPERS},
    "handed-valgrind": valgrind,
    "handed-not-observed": not_observed,
    "handed-failed": failed,
    "handed-again": many,
    "handed-killed": killed,
    "handed-stale": stale,
}

if __name__ == "__main__":
    main(CASES)
