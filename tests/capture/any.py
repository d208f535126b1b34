#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""any.py BUILD [CASE...]: programs that cannot be preloaded, followed from outside (`iorama run --any`): those of tests/work,
linked statically, for 32 bits and with musl, say the truth; children, threads, signals, stops and ends are as ever."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, WORK, Comparison, Failed, Log, Skip, Truth, main, must  # noqa: E402
import cases  # noqa: E402  pylint: disable=wrong-import-order

KINDS = {"static": ["-static"], "m32": ["-m32", "-static", "-D_FILE_OFFSET_BITS=64"], "m32-dynamic": ["-m32"], "dynamic": []}
FILL = 100  # bytes of a write of outside.c
# programs whose every system call is a call of their own: others let the C library make some
PLAIN = [["access"], ["stat"], ["dup"], ["rename"], ["copy"], ["map"], ["closeall", "range"], ["closeall", "loop"], ["chdir"],
         ["fork", "deep"], ["exec", "chain"], ["exec", "vfork"], ["exec", "spawn"], ["exec", "fail"]]  # fmt: skip
GO = """package main
import ("os"; "sync"; "fmt")
func main() {
	var all sync.WaitGroup
	for i := 0; i < 6; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			f, err := os.Create(fmt.Sprintf("go%d", i))
			if err != nil { os.Exit(99) }
			for k := 0; k < 20 + i; k++ { f.Write(make([]byte, 100)) }
			f.Sync()
			f.Close()
		}(i)
	}
	all.Wait()
	os.Exit(5)
}
"""


TRIES = """import os, sys
with open(sys.argv[1], "r+b"):
    try:
        os.execv(sys.argv[1], ["busy"])
    except OSError:
        pass
if os.fork() == 0:
    os.write(os.open("once", os.O_CREAT | os.O_WRONLY), bytes(300))
    os._exit(0)
os.wait()
"""


def build(h, program, kind):
    """A program as nobody can preload it, or as everybody could."""
    if kind != "musl":
        try:
            return h.compile(program, "any-" + kind, KINDS[kind])
        except (Failed, subprocess.CalledProcessError) as failed:
            raise Skip("%s cannot be built: %s" % (kind, str(failed)[-200:])) from None
    musl = shutil.which("musl-gcc")
    if not musl:
        raise Skip("no musl-gcc")
    source = os.path.join(WORK, program + ".c")
    return h.compile_once(program + "-any-musl", [source], [musl, "-static", "-O1", "-D_GNU_SOURCE", source, "-o", None], [])


def followed(h, command, options=("--any", "--trace"), prepare=None, status=0, **more):
    """One run, and its only log."""
    h.count += 1
    folder = os.path.join(h.scratch, "any%d" % h.count)
    quiet = os.path.join(h.quiet, "any%d" % h.count)
    os.makedirs(folder, mode=0o700)
    os.makedirs(quiet, mode=0o700)
    for name, content in (prepare or {}).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)

    class Place:
        """What the harness wants to know of a run."""

    run = Place()
    run.folder, run.folder_quiet = folder, quiet
    run.live, run.lanes, run.left, run.logs, run.truth = [], [], [], [], None
    log = os.path.join(quiet, "run.darshan")
    words = [h.iorama, "run", "--json", *options, "-o", log, "--", *command]
    done = subprocess.run(words, capture_output=True, cwd=folder, env=h.environment(run, more.pop("env", None)),
                          timeout=TIMEOUT, **more)  # fmt: skip
    run.status, run.out, run.err = done.returncode, done.stdout, done.stderr
    must(run.status == status, "status %s, not %s: %r", run.status, status, run.err[-600:])
    run.json = json.loads([line for line in run.err.decode().splitlines() if line.startswith("{")][-1])
    with open(os.path.join(quiet, "truth"), encoding="ascii") as file:
        text = file.read()
    if text:
        run.truth = Truth(text)
    if os.path.exists(log):
        run.logs.append(Log(h.iorama, log, "--trace" in options, ours=True))
    return run


def said(h, run):
    """The log says of the program's own files what the program says."""
    comparison = Comparison(h, run, "static")
    comparison.collect()
    for pid, want in run.truth.values.items():
        seen = comparison.seen.get(pid, {})
        comparison.seen[pid] = {k: v for k, v in seen.items() if k[1].startswith(run.folder)}
        want = {k: v for k, v in want.items() if k[0] != "STDIO" and k[1].startswith(run.folder)}
        comparison.compare_process(pid, want)
    return comparison


def truth(h, program, *args, kind="static", prepare=None, **more):
    run = followed(h, [build(h, program, kind), *args], prepare=prepare, **more)
    must(run.truth is not None, "the program said nothing: %r", run.err[-300:])
    comparison = said(h, run)
    comparison.mode = "trace"
    for events in run.truth.events.values():  # threads have the number that the kernel gives them
        for key, list_ in events.items():
            events[key] = [(*event[:3], 0) for event in list_]
    for log in run.logs:
        for record in [r for m in log.traces.values() for r in m["records"]]:
            for kind in ("reads", "writes"):
                record[kind] = [[*event[:4], 0] for event in record.get(kind, [])]
    comparison.compare_traces()
    must(not comparison.problems, "%s", "\n".join(comparison.problems))
    must(run.json["followed"] >= 1 and run.json["unseen"] == 0, "%s", run.json)
    return run


def files(run, counter="POSIX_BYTES_WRITTEN"):
    """What the log says of the files that were written: by name."""
    found = {}
    for record in run.logs[0].records("POSIX"):
        if record["name"].startswith(run.folder):
            name = os.path.relpath(record["name"], run.folder)
            found[name] = found.get(name, 0) + record["counters"][counter]
    return {name: value for name, value in found.items() if value}


def whole(run, **want):
    """These files were written, and nothing is missing."""
    must(files(run) == {name: FILL * n for name, n in want.items()}, "%s, not %s", files(run), want)
    must(files(run, "POSIX_WRITES") == want, "%s, not %s", files(run, "POSIX_WRITES"), want)
    must(not run.json["incomplete"] and run.json["calls_missed"] == 0, "%s", run.json)


def outside(h, *args, kind="static", options=("--any",), **more):
    return followed(h, [build(h, "outside", kind), *args], options, **more)


# ---- counters are those of the program


def truth_static(h):
    for words in PLAIN:
        truth(h, *words)


def truth_m32(h):
    for words in PLAIN:
        if words[0] not in ("exec", "fork"):
            truth(h, *words, kind="m32")


def truth_all(h):
    """Also of programs that could be preloaded."""
    for words in PLAIN[:5]:
        run = truth(h, *words, kind="dynamic")
        must(not run.logs[0].records("STDIO"), "something was preloaded")


def musl(h):
    run = outside(h, "fill", "m", "30", "7", kind="musl", status=7)
    whole(run, m=30)
    must(run.json["followed"] == 1 and run.json["processes"] == 1, "%s", run.json)


def bits32(h):
    whole(outside(h, "fill", "m", "30", "7", kind="m32-dynamic", status=7), m=30)


def go(h):
    if not shutil.which("go"):
        raise Skip("no go")
    source = os.path.join(h.scratch, "files.go")
    with open(source, "w", encoding="ascii") as file:
        file.write(GO)
    program = os.path.join(h.scratch, "files")
    env = {**os.environ, "GOCACHE": os.path.join(h.scratch, "gocache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
           "CGO_ENABLED": "0", "HOME": h.scratch}  # fmt: skip
    done = subprocess.run(["go", "build", "-o", program, source], capture_output=True, text=True, env=env, timeout=TIMEOUT)
    must(done.returncode == 0, "go build: %s", done.stderr)
    run = followed(h, [program], ("--any=auto",), status=5)
    whole(run, **{"go%d" % i: 20 + i for i in range(6)})
    syncs = files(run, "POSIX_FSYNCS")
    must(syncs == {"go%d" % i: 1 for i in range(6)}, "%s", syncs)


# ---- nothing else changes


def threads(h):
    run = outside(h, "threads", options=("--any", "--trace"))
    whole(run, **{"thread%d" % i: 50 + i for i in range(8)})
    traced = {}
    for record in run.logs[0].trace_records("DXT_POSIX"):
        if "/thread" in record["name"]:
            traced[os.path.basename(record["name"])] = record["writes"]
    tids = {name: {write[4] for write in writes} for name, writes in traced.items()}
    must(len({min(t) for t in tids.values()}) == 8 and all(len(t) == 1 for t in tids.values()), "%s", tids)
    for name, writes in traced.items():
        must([w[:2] for w in writes] == [[100 * i, 100] for i in range(50 + int(name[6:]))], "%s: %s", name, writes[:3])


def signals(h):
    for kind in ("static", "dynamic"):
        whole(outside(h, "signals", kind=kind), signals=10)


def stops(h):
    whole(outside(h, "stops"), stopped=7)


def deaths(h):
    """Who is killed is in the log up to his end."""
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        run = outside(h, "die", str(int(number)), status=128 + number)
        must(run.json["signal"] == number and run.json["unfinished"] == 1, "%s", run.json)
        must(files(run) == {"dying": 400}, "%s", files(run))


def becomes(h):
    """One process, two programs."""
    run = outside(h, "become", build(h, "outside", "static"), "fill", "latter", "9")
    whole(run, former=2, latter=9)
    must(run.json["processes"] == 1 and run.json["followed"] == 2, "%s", run.json)


def rights(h):
    """A program with other rights gets them, and is told as one that was not seen."""
    if os.geteuid() != 0:
        raise Skip("only root can make one")
    other = os.path.join(h.quiet, "other")
    shutil.copy(build(h, "outside", "static"), other)
    os.chown(other, 65534, 65534)
    os.chmod(other, 0o4755)
    os.chmod(h.quiet, 0o711)
    if subprocess.run([other, "user"], capture_output=True, timeout=TIMEOUT).stdout.split() != [b"65534"]:
        raise Skip("files give no rights here")
    for options in (("--any",), ("--any=auto",)):
        run = outside(h, "start", other, "user", options=options)
        must(run.out.split() == [b"65534"], "%s: it ran as user %s", options, run.out)
        must(run.json["unseen_why"] == {"rights": 1}, "%s", run.json)
        must(files(run) == {"parent": 300}, "%s", files(run))
    run = followed(h, [other, "user"], ("--any",))
    must(run.out.split() == [b"65534"], "%s", run.out)


# ---- some are observed, some are followed


def auto(h):
    """Those that can be preloaded are; those below them that cannot are followed, and the other way round."""
    static, dynamic = build(h, "outside", "static"), build(h, "outside", "dynamic")
    run = outside(h, "start", static, "fill", "child", "8", kind="dynamic", options=("--any=auto",))
    whole(run, parent=3, child=8)
    must((run.json["followed"], run.json["processes"], run.json["unseen"]) == (1, 2, 0), "%s", run.json)
    run = outside(h, "start", dynamic, "fill", "child", "8", options=("--any=auto",))
    whole(run, parent=3, child=8)
    must((run.json["followed"], run.json["processes"], run.json["unseen"]) == (1, 2, 0), "%s", run.json)
    run = outside(h, "fill", "alone", "4", kind="dynamic", options=("--any=auto",))
    whole(run, alone=4)
    must(run.json["followed"] == 0, "%s", run.json)
    line = "%s fill one 1; %s fill two 2; exec %s fill three 3" % (static, dynamic, static)
    run = followed(h, ["sh", "-c", line], ("--any=auto",))
    whole(run, one=1, two=2, three=3)
    must(run.json["followed"] == 2 and run.json["unseen"] == 0, "%s", run.json)
    run = followed(h, ["sh", "-c", "env -i %s fill bare 5; true" % dynamic], ("--any=auto",))  # it has no LD_PRELOAD
    whole(run, bare=5)
    must(run.json["followed"] == 1 and run.json["unseen"] == 0, "%s", run.json)


def ways(h):
    """However it is started by one that is observed."""
    leaf, starter = build(h, "leaf", "static"), build(h, "starter", "dynamic")
    for way in ("execve", "execv", "execvp", "execl", "fexecve", "execveat", "execpath", "spawn", "spawnp", "vfork-execve", "system",
                "self-execve"):  # fmt: skip
        times = 3 if way.startswith("vfork-") else 1
        run = followed(h, [starter, way, leaf, "7", "70", "out"], ("--any=auto",), status=7)
        must((run.json["followed"], run.json["unseen"]) == (times, 0), "%s: %s", way, run.json)
        must(files(run).get("out") == 70 * times, "%s: %s", way, files(run))
        must(sum(files(run).values()) == 70 * times + 30, "%s: %s", way, files(run))


def fails(h):
    """A program that does not start after all is as it was."""
    broken = os.path.join(h.scratch, "broken")
    with open(build(h, "outside", "static"), "rb") as whole_, open(broken, "wb") as cut:
        cut.write(whole_.read(2000))
    os.chmod(broken, 0o700)
    run = followed(h, ["sh", "-c", "%s fill no 1 || echo failed; echo more > file" % broken], ("--any=auto",))
    must(b"failed" in run.out, "%s", run.out)
    must(files(run) == {"file": 5}, "%s", files(run))
    busy = os.path.join(h.scratch, "busy")  # cannot be started while it is open for writing
    shutil.copy(build(h, "outside", "static"), busy)
    run = followed(h, [sys.executable, "-S", "-c", TRIES, busy], ("--any=auto",))
    must(files(run) == {"once": 300} and run.json["followed"] == 0, "%s: %s", files(run), run.json)


# ---- those who follow


def begin(h, kind, *options):
    """A program that waits, followed; with the numbers of iorama run, of who follows, and of itself."""
    h.count += 1
    folder, quiet = (os.path.join(f, "w%d" % h.count) for f in (h.scratch, h.quiet))
    os.makedirs(folder, mode=0o700)
    os.makedirs(quiet, mode=0o700)

    class Place:
        """Where it runs."""

    place = Place()
    place.folder, place.folder_quiet, place.log = folder, quiet, quiet + "/run.darshan"
    command = [h.iorama, "run", "--json", *options, "-o", place.log, "--", build(h, "outside", kind), "waits"]
    place.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env=h.environment(place, None))  # fmt: skip
    place.pid = int(place.process.stdout.readline())
    with open("/proc/%d/status" % place.pid, encoding="ascii") as file:
        place.follower = int([line.split()[1] for line in file if line.startswith("TracerPid:")][0])
    cases.wait(lambda: os.path.exists(folder + "/before"), "the beginning")
    return place


def gone(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def finish(place):
    with open(place.folder + "/go", "wb"):
        pass
    cases.wait(lambda: gone(place.pid), "its end")
    must(os.path.getsize(place.folder + "/after") == 600, "the program did not go on")


def follower_killed(h):
    """Then the program goes on as if nobody had ever been there."""
    place = begin(h, "static", "--any")
    must(place.follower > 1, "nobody follows")
    os.kill(place.follower, signal.SIGKILL)
    finish(place)
    _, err = place.process.communicate(timeout=TIMEOUT)
    must(place.process.returncode == 0, "status %d: %s", place.process.returncode, err)
    said_ = json.loads(err.decode().splitlines()[-1])
    must(said_["exit"] == 0 and said_["unfinished"] == 1, "%s", said_)


def run_killed(h):
    """The program goes on, and is followed to its end; nobody is left then."""
    place = begin(h, "static", "--any")
    os.kill(place.process.pid, signal.SIGKILL)
    place.process.wait(TIMEOUT)
    finish(place)
    cases.wait(lambda: gone(place.follower), "the end of who follows")
    segments = os.path.join(place.folder_quiet, "segments")
    done = subprocess.run([h.iorama, "recover", "-o", place.log, segments], capture_output=True, text=True, timeout=TIMEOUT)
    must(done.returncode == 0, "recover: %s", done.stderr)
    place.logs = [Log(h.iorama, place.log, False)]
    must(files(place) == {"before": 500, "after": 600}, "%s", files(place))


def nobody_left(h):
    """Who follows ends with the command, and holds nothing that others wait for."""
    place = begin(h, "static", "--any")
    must(os.getsid(place.follower) == place.follower, "what a terminal sends reaches it")
    for fd in range(3):
        must(os.readlink("/proc/%d/fd/%d" % (place.follower, fd)) == "/dev/null", "it has stream %d", fd)
    finish(place)
    place.process.communicate(timeout=TIMEOUT)
    cases.wait(lambda: gone(place.follower), "the end of who follows")


def usage(h):
    done = subprocess.run([h.iorama, "run", "--any=some", "--", "true"], capture_output=True, text=True, timeout=TIMEOUT)
    must(done.returncode == 2 and "--any takes auto or all, not 'some'" in done.stderr, "%s", done)
    text = subprocess.run([h.iorama, "run", "--any", "--", build(h, "outside", "static"), "fill", "x", "1"],
                          capture_output=True, text=True, timeout=TIMEOUT, cwd=h.scratch)  # fmt: skip
    must("followed" in text.stderr and "from outside" in text.stderr, "it is not said: %s", text.stderr)


if __name__ == "__main__":
    main({
        "any-truth-static": truth_static, "any-truth-m32": truth_m32, "any-truth-all": truth_all, "any-musl": musl,
        "any-bits32": bits32, "any-go": go, "any-threads": threads, "any-signals": signals, "any-stops": stops,
        "any-deaths": deaths, "any-becomes": becomes, "any-rights": rights, "any-auto": auto, "any-ways": ways, "any-fails": fails,
        "any-follower-killed": follower_killed, "any-run-killed": run_killed, "any-nobody-left": nobody_left,
        "any-usage": usage,
    })  # fmt: skip
