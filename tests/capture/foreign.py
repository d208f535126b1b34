#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""foreign.py BUILD [CASE...]: programs that our library cannot be loaded into, or only behind another one: for another C
library, for 32 bits, static, with AddressSanitizer. They must run as ever, alone or started by observed ones; those that
cannot be observed are counted and told, the others observed."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, WORK, Skip, main, must  # noqa: E402

STATUS, BYTES = 7, 70
WAYS = ["execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "execpath", "spawn",
        "spawnp", "vfork-execve", "vfork-execvp", "system", "popen", "bare-execve", "self-execve", "self-execvp"]  # fmt: skip
UNSEEN = {"musl": "libc", "m32": "bits", "static": "static", "static-musl": "static"}
ASAN = ["asan", "asan-clang", "asan-clang-shared", "asan-static"]


def build(h, name, kind, source="leaf"):
    """The program in one of its kinds, below the scratch folder of this test."""
    target = os.path.join(h.scratch, name)
    if os.path.exists(target):
        return target
    gcc, clang, musl = h.cc, shutil.which("clang-14") or "", shutil.which("musl-gcc") or ""
    flags = {
        "plain": [gcc],
        "musl": [musl],
        "static-musl": [musl, "-static"],
        "m32": [gcc, "-m32"],
        "static": [gcc, "-static"],
        "tsan": ["gcc", "-fsanitize=thread", "-g", "-pthread"],
        "asan": ["gcc", "-fsanitize=address"],
        "asan-static": ["gcc", "-fsanitize=address", "-static-libasan"],
        "asan-clang": [clang, "-fsanitize=address"],
        "asan-clang-shared": [clang, "-fsanitize=address", "-shared-libasan"],
    }[kind]
    if not flags[0]:
        raise Skip("no compiler for %s" % kind)
    if kind == "asan-clang-shared":
        where = subprocess.run([clang, "-print-runtime-dir"], capture_output=True, text=True).stdout.strip()
        if not os.path.isdir(where):  # named differently by some versions
            where = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True).stdout.strip() + "/lib/linux"
        flags = [*flags, "-Wl,-rpath," + where]
    command = [*flags, "-D_GNU_SOURCE", "-O1", os.path.join(WORK, source + ".c"), "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise Skip("%s cannot be built: %s" % (kind, done.stderr[-200:]))
    return target


class Seen:
    """One run, and what it left."""

    def __init__(self, h, command, mode="run", options=(), env=None, preload=""):
        h.count += 1
        self.folder = os.path.join(h.scratch, "f%d" % h.count)
        self.quiet = os.path.join(h.quiet, "f%d" % h.count)
        for folder in (self.folder, self.quiet, self.quiet + "/logs"):
            os.makedirs(folder, mode=0o700)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "DARSHAN_", "LD_"))}
        environment["IORAMA_DIR"] = self.quiet + "/segments"
        environment["IORAMA_STORE"] = self.quiet + "/store.db"
        environment["IORAMA_SPOOL"] = self.quiet + "/spool"
        environment["LSAN_OPTIONS"] = environment["ASAN_OPTIONS"] = "detect_leaks=0"
        environment.update(env or {})
        self.log = self.quiet + "/logs/run.darshan"
        if preload:
            environment["LD_PRELOAD"] = preload
        if mode == "run":
            command = [h.iorama, "run", "--json", *options, "-o", self.log, "--", *command]
        elif mode in ("bare", "trace"):
            environment["LD_PRELOAD"] = preload + ":" + h.library if preload else h.library
            environment["IORAMA_LOG_DIR"] = self.quiet + "/logs"
            environment.update({"IORAMA_TRACE": "1"} if mode == "trace" else {})
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment, timeout=TIMEOUT)
        self.status, self.out, self.err, self.json = done.returncode, done.stdout, done.stderr, None
        if mode == "run":
            lines = self.err.splitlines()
            must(lines and lines[-1].startswith("{"), "no JSON: %r", self.err[-500:])
            self.json = json.loads(lines.pop())
            self.err = "\n".join(lines)

    def size(self, name):
        path = os.path.join(self.folder, name)
        return os.path.getsize(path) if os.path.exists(path) else -1

    def logs(self):
        return [os.path.join(self.quiet, "logs", n) for n in sorted(os.listdir(self.quiet + "/logs"))]

    def segments(self):
        return [f for _, _, names in os.walk(self.quiet + "/segments") for f in names if f.endswith(".seg")]


def tsan(h):
    """ThreadSanitizer tells nothing of us, and of the program what it told before; the status stays."""
    race = build(h, "race", "tsan", "race")
    plain = Seen(h, [race], "plain")
    if plain.status != 0:
        raise Skip("ThreadSanitizer does not work here: %s" % plain.err[-200:])
    for mode in ("run", "bare", "trace"):
        seen = Seen(h, [race], mode)
        must(seen.status == 0 and "ThreadSanitizer" not in seen.err, "%s: status %d: %s", mode, seen.status, seen.err[:600])
    must(Seen(h, [race, "wrong"], "plain").status == 66, "the race was not seen without us, either")
    seen = Seen(h, [race, "wrong"])
    must(seen.status == 66 and "race.c" in seen.err, "status %d: %s", seen.status, seen.err[:600])


def show(h, path):
    done = subprocess.run([h.iorama, "show", "-q", "--json", path], capture_output=True, text=True, timeout=TIMEOUT)
    must(done.returncode == 0, "show %s: %s", path, done.stderr)
    log = json.loads(done.stdout)["logs"][0]
    metadata = {m["key"]: m["value"] for m in log["job"]["metadata"]}
    written = {}
    for module in log["modules"]:
        if module["module"] == "POSIX":
            for r in module["records"]:
                name = os.path.basename(r["name"])
                written[name] = written.get(name, 0) + r["counters"]["POSIX_BYTES_WRITTEN"]
    return metadata, written


def counts(line):
    """iorama_unseen=static:2:a,b;libc:1:c"""
    return {part.split(":")[0]: int(part.split(":")[1]) for part in line.split(";")} if line else {}


def modes(run):
    """under iorama run, in all its ways"""
    for options in ((), ("--trace",), ("--live",)):
        run(options)


def alone(kind):
    def case(h):
        leaf = build(h, "leaf-" + kind, kind)
        plain = Seen(h, [leaf, str(STATUS), str(BYTES), "out"], "plain")
        must(plain.status == STATUS and plain.size("out") == BYTES, "plain: %d, %s", plain.status, plain.err)

        def one(options):
            seen = Seen(h, [leaf, str(STATUS), str(BYTES), "out"], "run", options)
            must(seen.status == STATUS, "%s: status %d: %r", options, seen.status, seen.err)
            must(seen.size("out") == BYTES, "%s: wrote %d", options, seen.size("out"))
            must(seen.err == "", "%s: said %r", options, seen.err)
            if kind in UNSEEN:
                must(seen.json["log"] is None, "%s: there is a log: %s", options, seen.json)
                must(seen.json["unobserved"] and seen.json["unseen_why"] == {UNSEEN[kind]: 1}, "%s: %s", options, seen.json)
            else:
                must(seen.json["bytes_written"] >= BYTES, "%s: %s", options, seen.json)
                must(show(h, seen.log)[1].get("out") == BYTES, "%s: %s", options, show(h, seen.log))
                must(seen.json["unseen"] == 0, "%s: %s", options, seen.json)
                must("RUNTIME" not in seen.out and "asan" not in seen.out, "%s: sees %r", options, seen.out)
            if kind in ("musl", "m32"):
                must(seen.out == plain.out, "%s: %r, not %r", options, seen.out, plain.out)

        modes(one)
        if kind in UNSEEN:  # one line for people, and nothing else
            done = subprocess.run([h.iorama, "run", leaf, str(STATUS), "0", "/dev/null"], capture_output=True, text=True,
                                  cwd=h.scratch, env={**os.environ, "IORAMA_DIR": h.quiet + "/one"}, timeout=TIMEOUT)  # fmt: skip
            must(done.returncode == STATUS and len(done.stderr.splitlines()) == 1, "said %r", done.stderr)
            must("it ran, but could not be observed" in done.stderr, "said %r", done.stderr)
    return case


def children(kind):
    """started by an observed program in every way that there is"""

    def case(h):
        leaf, starter = build(h, "leaf-" + kind, kind), build(h, "starter", "plain", "starter")
        for way in WAYS:
            words = [starter, way, leaf, str(STATUS), str(BYTES), "out"]
            times = 3 if way.startswith("vfork-") else 1
            plain = Seen(h, words, "plain")
            must(plain.status == STATUS, "%s: plain: status %d: %s", way, plain.status, plain.err)
            seen = Seen(h, words)
            check_child(h, kind, way, plain, seen, times)
            must(seen.json["unseen_why"] == ({UNSEEN[kind]: times} if kind in UNSEEN else {}), "%s: %s", way, seen.json)
            if kind in UNSEEN:
                must(seen.json["unseen_programs"] == ["leaf-" + kind], "%s: %s", way, seen.json)
            metadata, written = show(h, seen.log)
            must(sum(counts(metadata.get("iorama_unseen", "")).values()) == seen.json["unseen"], "%s: %s", way, metadata)
            must(written.get("starter", 0) == (0 if way.startswith("bare-") else 30), "%s: %s", way, written)
            if kind not in UNSEEN:
                must(written.get("out") == BYTES * times, "%s: %s", way, written)
        for mode, way in (("bare", "execve"), ("bare", "spawn"), ("trace", "vfork-execve"), ("bare", "self-execvp"), ("bare", "system")):
            words = [starter, way, leaf, str(STATUS), str(BYTES), "out"]
            times = 3 if way.startswith("vfork-") else 1
            plain, seen = Seen(h, words, "plain"), Seen(h, words, mode)
            check_child(h, kind, way, plain, seen, times)
            found = [show(h, path) for path in seen.logs()]
            total = {}
            for metadata, _ in found:
                for why, n in counts(metadata.get("iorama_unseen", "")).items():
                    total[why] = total.get(why, 0) + n
            must(total == ({UNSEEN[kind]: times} if kind in UNSEEN else {}), "%s %s: %s", mode, way, found)
            must(sum(w.get("starter", 0) for _, w in found) == 30, "%s %s: %s", mode, way, found)
            must(not seen.segments(), "%s %s: left %s", mode, way, seen.segments())
    return case


def check_child(h, kind, way, plain, seen, times):
    must(seen.status == STATUS, "%s: status %d: %r", way, seen.status, seen.err)
    must(seen.size("out") == BYTES * times, "%s: wrote %d", way, seen.size("out"))
    must(seen.err == plain.err, "%s: said %r", way, seen.err)
    if kind in ("musl", "m32"):
        must(seen.out == plain.out, "%s: %r, not %r", way, seen.out, plain.out)
    elif kind in UNSEEN:  # hands it on
        must(h.library in seen.out, "%s: %r", way, seen.out)
    elif kind.startswith("asan"):
        must("asan" not in re.sub(r"leaf-asan\S*", "", seen.out) and "RUNTIME" not in seen.out, "%s: sees %r", way, seen.out)


def own_preload(h):
    """what the user preloads stays, and in its place"""
    if not shutil.which("musl-gcc"):
        raise Skip("musl-gcc is not installed")
    mine = os.path.join(h.scratch, "mine.so")
    with open(mine + ".c", "w", encoding="ascii") as file:
        file.write("int rama_test_mine;\n")
    for compiler, kind in (("musl-gcc", "musl"), (h.cc, "plain")):
        subprocess.run([compiler, "-shared", "-fPIC", "-nostdlib", mine + ".c", "-o", mine], check=True, timeout=TIMEOUT)
        leaf = build(h, "leaf-" + kind, kind)
        for command in ([leaf], [build(h, "starter", "plain", "starter"), "spawn", leaf]):
            seen = Seen(h, [*command, str(STATUS), str(BYTES), "out"], "run", preload=mine)
            want = mine if kind == "musl" else h.library + ":" + mine
            must(seen.status == STATUS and seen.out == "leaf LD_PRELOAD=%s\n" % want, "%s: %d %r %r", kind, seen.status, seen.out, seen.err)
    # a runtime that must come first does so, whoever asked for it
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(runtime):
        raise Skip("libasan.so is not installed")
    runtime = os.path.realpath(runtime)
    seen = Seen(h, [build(h, "leaf-plain", "plain"), str(STATUS), str(BYTES), "out"], "run", preload=runtime)
    must(seen.status == STATUS and show(h, seen.log)[1].get("out") == BYTES, "runtime: %d %r", seen.status, seen.err)
    must(seen.out == "leaf LD_PRELOAD=%s:%s\n" % (runtime, h.library), "runtime: %r", seen.out)


def asan_children(h):
    """what a program with AddressSanitizer starts is not given its runtime"""
    starter, leaf = build(h, "starter-asan", "asan", "starter"), build(h, "leaf-plain", "plain")
    for way in ("system", "popen", "spawn", "execve", "vfork-execve", "self-execve"):
        seen = Seen(h, [starter, way, leaf, str(STATUS), str(BYTES), "out"])
        must(seen.status == STATUS and seen.err == "", "%s: status %d: %r", way, seen.status, seen.err)
        must("leaf LD_PRELOAD=%s\n" % h.library in seen.out, "%s: %r", way, seen.out)
        times = 3 if way.startswith("vfork") else 1
        must(show(h, seen.log)[1] == {"starter": 30, "out": BYTES * times}, "%s: %s", way, show(h, seen.log))


def scripts(h):
    """a script is what its interpreter is; what is found along PATH is what runs"""
    leaf = build(h, "leaf-musl", "musl")
    script = os.path.join(h.scratch, "script")
    with open(script, "w", encoding="ascii") as file:
        file.write("#! %s 3 20\n" % leaf)  # one argument: "3 20"; the leaf counts its arguments and refuses
    os.chmod(script, 0o755)
    seen = Seen(h, [script])
    must(seen.status == 99 and seen.err == "" and seen.json["unseen_why"] == {"libc": 1}, "%d %s", seen.status, seen.json)
    seen = Seen(h, ["sh", "-c", script + "; exit $?"])
    must(seen.status == 99 and seen.err == "" and seen.json["unseen_why"] == {"libc": 1}, "%d %s", seen.status, seen.json)
    other = os.path.join(h.scratch, "script2")
    with open(other, "w", encoding="ascii") as file:
        file.write("#!%s\n" % script)
    os.chmod(other, 0o755)
    plain, seen = (Seen(h, ["sh", "-c", other + "; exit $?"], mode) for mode in ("plain", "run"))
    must(seen.status == plain.status and seen.json["unseen_why"] == {"libc": 1}, "%d %s %s", seen.status, seen.json, seen.err)
    # a name that is no file, a directory, a file that may not be run: nothing started, nothing counted
    os.makedirs(os.path.join(h.scratch, "dir"), exist_ok=True)
    noexec = shutil.copy(leaf, os.path.join(h.scratch, "noexec"))
    os.chmod(noexec, 0o644)
    starter = build(h, "starter", "plain", "starter")
    for path in ("/nonexistent/x", os.path.join(h.scratch, "dir"), noexec):
        for way in ("execve", "vfork-execvp", "spawnbad"):
            plain = Seen(h, [starter, way, path, "94", "1", "out"], "plain")
            seen = Seen(h, [starter, way, path, "94", "1", "out"])
            must(seen.status == plain.status, "%s %s: %d, not %d", way, path, seen.status, plain.status)
            must(seen.json["unseen"] == 0, "%s %s: %s", way, path, seen.json)


def cleared(h):
    """started without LD_PRELOAD: not observed, counted"""
    starter, leaf = build(h, "starter", "plain", "starter"), build(h, "leaf-plain", "plain")
    for way in ("cleared", "vfork-cleared", "self-cleared"):
        seen = Seen(h, [starter, way, leaf, str(STATUS), str(BYTES), "out"])
        must(seen.status == STATUS and seen.out.startswith("leaf LD_PRELOAD=-\n"), "%s: %d %r", way, seen.status, seen.out)
        must(seen.json["unseen_why"] == {"cleared": 3 if "vfork" in way else 1}, "%s: %s", way, seen.json)
    # looked like one that would be observed, and left nothing
    seen = Seen(h, ["sh", "-c", "exec env IORAMA_DISABLE=1 %s %d 10 out" % (leaf, STATUS)])
    must(seen.status == STATUS and seen.json["unseen_why"] == {"other": 1}, "switched off: %d %s", seen.status, seen.json)


def told(h):
    """every form of a report tells"""
    leaf, alone_ = build(h, "leaf-musl", "musl"), build(h, "leaf-static", "static")
    seen = Seen(h, ["sh", "-c", "%s 0 10 a; %s 0 10 b; %s 0 10 c; true" % (leaf, leaf, alone_)])
    must(seen.json["unseen_why"] == {"static": 1, "libc": 2}, "%s", seen.json)
    text = "1 statically linked (leaf-static), 2 for another C library (leaf-musl)"
    for form in ([], ["--html", "-o", "-"], ["--markdown"], ["--json"], ["--svg", "-o", "-"]):
        done = subprocess.run([h.iorama, "report", *form, seen.log], capture_output=True, timeout=TIMEOUT)
        words = re.sub(rb"\s+", b" ", done.stdout)
        must(done.returncode == 0, "%s: %r", form, done.stderr[-300:])
        must(text[:20].encode() in words or form and form[0] == "--html", "%s: not told", form)
        if form == ["--json"]:
            must(json.loads(done.stdout)["unseen"] == [{"why": "static", "programs": 1, "names": ["leaf-static"]},
                 {"why": "libc", "programs": 2, "names": ["leaf-musl"]}], "%s", json.loads(done.stdout)["unseen"])  # fmt: skip
    # two such logs joined: both are told
    other = Seen(h, ["sh", "-c", "%s 0 10 a; true" % leaf])
    joined = os.path.join(h.quiet, "joined.darshan")
    done = subprocess.run([h.iorama, "merge", "--renumber", "--any-job", "-o", joined, seen.log, other.log], capture_output=True, text=True)
    must(done.returncode == 0, "merge: %s", done.stderr)
    must(counts(show(h, joined)[0]["iorama_unseen"]) == {"static": 1, "libc": 3}, "%s", show(h, joined)[0])


CASES = {
    **{"alone-" + kind: alone(kind) for kind in [*UNSEEN, *ASAN]},
    **{"child-" + kind: children(kind) for kind in ["plain", "musl", "m32", "static", "asan"]},
    "own-preload": own_preload,
    "asan-children": asan_children,
    "tsan": tsan,
    "foreign-scripts": scripts,
    "cleared": cleared,
    "unseen-told": told,
}

if __name__ == "__main__":
    main(CASES)
