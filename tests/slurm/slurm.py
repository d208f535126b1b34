#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm (lib/slurm.py), our plugin and our epilog in it, and jobs of an ordinary user: each case says how many logs there
have to be, and of which steps; what was written is the size of the files on disk.

One cluster is started for all cases of a run: CASES are done one after the other by `all`, which is the test, but for those that are a test of their own. By hand one case
alone can be had: slurm.py BUILD requeue."""
import contextlib
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import cases  # noqa: E402
import slurm  # noqa: E402
from cases import ROOT, Failed, Skip, expect, wait  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCK = 4096


class Site:
    """The cluster, with iorama switched on for all but the partition `quiet`."""

    def __init__(self, build):
        self.built = cases.Built(build)
        if not os.path.exists("/usr/include/slurm/spank.h"):
            raise Skip("slurm/spank.h is not installed (libslurm-dev)")
        plugin = os.path.join(ROOT, "packaging", "slurm", "spank_iorama.c")
        self.plugin = self.built.compile_once("spank_iorama.so", [plugin], ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                                                                            "-o", None, plugin])  # fmt: skip
        self.cluster = slurm.Cluster(build, epilog=os.path.join(cases.WORK, "none"))
        c = self.cluster
        self.seg, self.logs, self.store = c.path("seg"), c.path("logs"), c.path("store.db")
        site = c.write("iorama.conf", "LEAST_BYTES 1K\nLEAST_SECONDS 600\n")
        c.write("plugstack.conf", "optional %s default=on partition=quiet:off library=%s log_dir=%s config=%s\n"
                % (self.plugin, self.built.library, self.logs, site))  # fmt: skip
        c.write("defaults", "IORAMA=%s\nIORAMA_LOG_DIR=%s\nIORAMA_SEGMENTS=%s\n" % (self.built.iorama, self.logs, self.seg))
        epilog = c.write("epilog", "#!/bin/sh\nIORAMA_SLURM_DEFAULTS=%s\nexport IORAMA_SLURM_DEFAULTS\n. %s\n"
                         % (c.path("defaults"), os.path.join(ROOT, "packaging", "slurm", "epilog")), 0o755)  # fmt: skip
        text = cases.text_of(c.path("slurm.conf")).replace(os.path.join(cases.WORK, "none"), epilog)
        c.write("slurm.conf", text)
        c.env["IORAMA_DIR"] = self.seg
        source = os.path.join(HERE, "writer.c")
        self.writer = self.built.compile_once("slurm-writer", [source], ["cc", "-O1", "-o", None, source])
        self.mpi = {}
        for family in cases.FAMILIES:
            compiler = shutil.which("mpicc." + family)
            if compiler:
                self.mpi[family] = self.built.compile_once("slurm-writer-" + family, [source],
                                                           [compiler, "-O1", "-DWITH_MPI", "-o", None, source])  # fmt: skip

    def data(self, name):
        return self.cluster.path("work", name)

    # ---- what came of it

    def all_logs(self):
        return sorted(glob.glob(self.logs + "/*.darshan"))

    def show(self, path):
        done = self.cluster.run(self.built.iorama, "show", "--json", path)
        doc = json.loads(done.stdout)["logs"][0]
        job = doc["job"]
        meta = {m["key"]: m["value"] for m in job["metadata"]}
        job["meta"], job["path"], job["modules"] = meta, path, [m["module"] for m in doc["modules"]]
        return job

    def of(self, job):
        """The logs of a job, as show says them."""
        return [x for x in map(self.show, self.all_logs()) if x["jobid"] == job]

    def steps(self, job, *steps, logs=None):
        """Exactly these steps, one log each; returns them by step."""
        logs = self.of(job) if logs is None else logs
        got = sorted(x["meta"].get("iorama_step", "?") for x in logs)
        expect(got == sorted(steps), "job %s has logs of steps %s, not of %s: %s", job, got, sorted(steps), [x["path"] for x in logs])
        for log in logs:
            meta = log["meta"]
            expect(meta.get("iorama_partition") in ("debug", "quiet") and meta.get("iorama_cluster") == "rama", "words: %s", meta)
        return {x["meta"]["iorama_step"]: x for x in logs}

    def written(self, logs, stem):
        """What logs say was written to files of this stem, and what is on disk."""
        said = 0
        for log in logs:
            done = self.cluster.run(self.built.iorama, "show", "-m", "POSIX", "-c", "POSIX_BYTES_WRITTEN", log["path"])
            for line in done.stdout.splitlines():
                words = line.split("\t")
                if len(words) > 5 and words[3] == "POSIX_BYTES_WRITTEN" and os.path.basename(words[5]).startswith(stem + "."):
                    said += int(words[4])
        return said, sum(os.path.getsize(path) for path in glob.glob(self.data(stem) + ".*"))

    def same(self, logs, stem, killed=0):
        """killed: so many tasks, each of which may have been in a write, done by the system and not yet counted."""
        said, real = self.written(logs, stem)
        expect(0 < said <= real <= said + killed * BLOCK, "%s: logs say %d bytes, the files have %d", stem, said, real)

    def nothing_left(self):
        wait(lambda: not glob.glob(self.seg + "/*/*.seg"), "no segment is left", told=lambda: str(glob.glob(self.seg + "/*/*")))

    def done(self, job):
        self.cluster.finished(job)
        self.cluster.idle()


# ---- cases


def batch(site):
    """A script with two steps and commands of its own: a log of each step, and one of the script. Small commands leave none."""
    c = site.cluster
    job = c.batch("for i in $(seq 20); do /bin/true; done\n%s %s 10\nsrun -n2 %s %s 20\nsrun -n1 %s %s 5\n"
                  % (site.writer, site.data("ba"), site.writer, site.data("bb"), site.writer, site.data("bc")), "-J", "two steps", "-n2")  # fmt: skip
    site.done(job)
    logs = site.of(job)
    steps = [x["meta"].get("iorama_step") for x in logs]
    # tasks without MPI have a log each
    expect(sorted(steps) == ["0", "0", "1", "batch"], "logs of steps %s", steps)
    script = [x for x in logs if x["meta"]["iorama_step"] == "batch"]
    site.same(script, "ba")
    site.same([x for x in logs if x["meta"]["iorama_step"] == "0"], "bb")
    site.same([x for x in logs if x["meta"]["iorama_step"] == "1"], "bc")
    expect(all(x["meta"]["iorama_name"] == "two steps" for x in logs), "names")
    expect(all(x["uid"] == c.user.pw_uid for x in logs), "users")
    site.nothing_left()
    return job


def whole(site):
    """In a store all of it is one job: listed by steps, told as a whole."""
    c = site.cluster
    job = batch(site)
    c.run(site.built.iorama, "index", "-q", "--store", c.path("work", "store.db"), site.logs)
    rows = json.loads(c.run(site.built.iorama, "jobs", "--store", c.path("work", "store.db"), "--json", "id=%d" % job).stdout)
    expect(sorted(r["step"] for r in rows) == ["0", "0", "1", "batch"] and {r["job_name"] for r in rows} == {"two steps"}, "%s", rows)
    text = c.run(site.built.iorama, "jobs", "--store", c.path("work", "store.db"), "id=%d" % job).stdout
    expect("step" in text.splitlines()[0] and "batch" in text, "the list: %s", text)
    report = json.loads(c.run(site.built.iorama, "report", "--json", "--store=" + c.path("work", "store.db"), "id=%d" % job).stdout)
    total = sum(os.path.getsize(p) for stem in "ba bb bc".split() for p in glob.glob(site.data(stem) + ".*"))
    expect(report["job"]["name"] == "two steps" and len(report["logs"]) == 4, "the report is of %s", report["job"]["name"])
    text = c.run(site.built.iorama, "report", "--store=" + c.path("work", "store.db"), "id=%d" % job).stdout
    expect("job %d" % job in text.splitlines()[0], "its head: %s", text.splitlines()[0])
    one = c.run(site.built.iorama, "report", "--store=" + c.path("work", "store.db"), "%d.1" % job).stdout
    expect("job %d.1" % job in one.splitlines()[0], "the head of a step: %s", one.splitlines()[0])
    db = sqlite3.connect(c.path("work", "store.db"))
    said = db.execute("SELECT sum(posix_bytes_written) FROM counters_posix p JOIN jobs j ON p.job = j.number WHERE j.jobid = ?", (job,))
    expect(said.fetchone()[0] >= total, "bytes of the store")
    for option, value in (("--partition", "debug"), ("--job-name", "two steps")):
        some = json.loads(c.run(site.built.iorama, "jobs", "--store", c.path("work", "store.db"), "--json", option, value).stdout)
        expect({r["jobid"] for r in some} >= {job}, "%s %s", option, value)
    none = c.run(site.built.iorama, "jobs", "--store", c.path("work", "store.db"), "--json", "--account", "nobody's").stdout
    expect(json.loads(none) == [], "jobs of an account that there is not")


def mpi(site, family, *options):
    c = site.cluster
    if family not in site.mpi:
        raise Skip("no mpicc." + family)
    before = set(site.all_logs())
    stem = "m" + family
    c.run("srun", "-n4", *options, site.mpi[family], site.data(stem), "30")
    c.idle()
    logs = [site.show(p) for p in set(site.all_logs()) - before]
    expect(len(logs) == 1 and logs[0]["nprocs"] == 4, "logs: %s", [(x["path"], x["nprocs"]) for x in logs])
    site.steps(logs[0]["jobid"], "0", logs=logs)
    expect(logs[0]["meta"].get("iorama_name") == os.path.basename(site.mpi[family]), "its name")
    site.same(logs, stem)
    site.nothing_left()


def mpich(site):
    """Four ranks on two nodes: one log."""
    mpi(site, cases.MPICH, "--mpi=pmi2", "-N2")


def openmpi(site):
    """Four ranks on one node (PMIx of two nodes on one host does not work): one log."""
    if "pmix" not in site.cluster.run("srun", "--mpi=list", status=None).stderr + site.cluster.run("srun", "--mpi=list", status=None).stdout:
        raise Skip("this Slurm has no PMIx")
    mpi(site, cases.OPENMPI, "--mpi=pmix", "-N1")


def array(site):
    """Tasks of an array are jobs with ids of their own, and say which array they are of."""
    job = site.cluster.batch("srun -n1 %s %s$SLURM_ARRAY_TASK_ID 10\n" % (site.writer, site.data("ar")), "-a", "1-2", "-n1")
    wait(lambda: len([x for x in map(site.show, site.all_logs()) if x["meta"].get("iorama_array", "").startswith("%d_" % job)]) >= 2,
         "two logs of the array", told=site.cluster.told, pause=0.2)  # fmt: skip
    site.cluster.idle()
    logs = [x for x in map(site.show, site.all_logs()) if x["meta"].get("iorama_array", "").startswith("%d_" % job)]
    got = sorted((x["meta"]["iorama_array"], x["meta"]["iorama_step"]) for x in logs)
    expect(got == [("%d_1" % job, "0"), ("%d_2" % job, "0")], "arrays: %s", got)
    expect(len({x["jobid"] for x in logs}) == 2, "ids of the tasks")


def choice(site):
    """off and trace are honoured by inner steps, whatever the script has; a partition has its own preset."""
    c = site.cluster
    job = c.batch("srun -n1 --iorama=off %s %s 10\nsrun -n1 --iorama=trace %s %s 10\nsrun -n1 %s %s 10\n"
                  % (site.writer, site.data("of"), site.writer, site.data("tr"), site.writer, site.data("on")), "-n1")  # fmt: skip
    site.done(job)
    steps = site.steps(job, "1", "2")
    expect("CALLS" in steps["1"]["modules"] and "CALLS" not in steps["2"]["modules"], "which step is traced: %s", {k: v["modules"] for k, v in steps.items()})
    traced = c.batch("srun -n1 %s %s 10\nsrun -n1 --iorama=on %s %s 10\n" % (site.writer, site.data("t1"), site.writer, site.data("t2")),
                     "--iorama=trace")  # fmt: skip
    site.done(traced)
    steps = site.steps(traced, "0", "1")
    expect("CALLS" in steps["0"]["modules"] and "CALLS" not in steps["1"]["modules"], "which step of a traced job is traced")
    off = c.batch("srun -n1 %s %s 10\nsrun -n1 --iorama %s %s 10\n" % (site.writer, site.data("o1"), site.writer, site.data("o2")),
                  "--iorama=off")  # fmt: skip
    site.done(off)
    site.steps(off, "1")
    quiet = c.batch("srun -n1 %s %s 10\nsrun -n1 --iorama=on %s %s 10\n" % (site.writer, site.data("q1"), site.writer, site.data("q2")),
                    "-p", "quiet")  # fmt: skip
    site.done(quiet)
    site.steps(quiet, "1")
    wrong = c.run("srun", "--iorama=sometimes", "true", status=None)
    expect(wrong.returncode != 0 and "on, off, trace or live" in wrong.stderr, "a wrong word: %s", wrong.stderr)


def growing(site, stem, files, least=20 * BLOCK):
    wait(lambda: len([p for p in glob.glob(site.data(stem) + ".*") if os.path.getsize(p) >= least]) == files, "%s grows" % stem,
         told=site.cluster.told)  # fmt: skip


def killed(site, stem, job, *steps):
    site.done(job)
    logs = site.steps(job, *steps)
    site.same(logs.values(), stem, killed=8)
    expect(sum(int(x["meta"].get("iorama_unfinished", 0)) for x in logs.values()) > 0, "nothing is unfinished")
    site.nothing_left()
    return logs


def scancel(site):
    """TERM, then KILL: what was written until then is in the log."""
    job = site.cluster.batch("exec srun -n2 --mpi=pmi2 %s %s 0\n" % (site.mpi.get(cases.MPICH, site.writer), site.data("ca")), "-n2")
    growing(site, "ca", 2)
    site.cluster.run("scancel", str(job))
    killed(site, "ca", job, "0", "batch")  # the script became srun, which is not observed


def scancel_kill(site):
    """KILL at once, of the script, too: its own command is recovered as the batch step."""
    job = site.cluster.batch("%s %s 0\n" % (site.writer, site.data("ki")), "-n1")
    growing(site, "ki", 1)
    site.cluster.run("scancel", "--signal=KILL", "--full", str(job))
    killed(site, "ki", job, "batch")


def memory(site):
    """More memory than was asked for."""
    job = site.cluster.batch("srun -n1 %s %s 0 eat\n" % (site.writer, site.data("oo")), "-n1", "--mem=120")
    growing(site, "oo", 1)
    killed(site, "oo", job, "0")


def requeue(site):
    """Both runs of a job that was requeued have its id; the second says that it is one."""
    c = site.cluster
    job = c.batch("n=0; [ ${SLURM_RESTART_COUNT:-0} = 0 ] || n=15\nsrun -n1 %s %s$n $n\n" % (site.writer, site.data("rq")), "-n1", "--requeue")
    growing(site, "rq0", 1)
    c.run("scontrol", "requeue", str(job))
    wait(lambda: glob.glob(site.data("rq15") + ".*"), "its second run", timeout=180, pause=0.2, told=c.told)
    site.done(job)
    # the script may have been killed, too, or have ended by itself
    logs = [x for x in site.of(job) if x["meta"]["iorama_step"] != "batch"]
    got = sorted((x["meta"].get("iorama_restart", "0"), x["meta"]["iorama_step"]) for x in logs)
    expect(got == [("0", "0"), ("1", "0")], "starts: %s", got)
    for log in logs:
        again = log["meta"].get("iorama_restart") == "1"
        site.same([log], "rq15" if again else "rq0", killed=0 if again else 4)
    site.nothing_left()


def outside(site):
    """iorama run srun outside of an allocation: the log has the id that srun was given, and nothing else is made."""
    c = site.cluster
    log = c.path("work", "outside.darshan")
    before = set(site.all_logs())
    c.run(site.built.iorama, "run", "-q", "-o", log, slurm.tool("srun"), "-n2", "--iorama=off", site.writer, site.data("ou"), "10")
    job = site.show(log)
    expect(c.field(job["jobid"], "Command") == site.writer, "its id is %s", job["jobid"])
    expect(job["meta"].get("iorama_step") == "0" and job["nprocs"] == 2, "%s %s", job["meta"], job["nprocs"])
    site.same([job], "ou")
    c.idle()
    expect(set(site.all_logs()) == before, "more logs: %s", set(site.all_logs()) - before)


def launcher(site):
    """mpiexec inside of a script, which has srun start its daemons: neither leaves anything, the ranks are in a log of that step."""
    if cases.MPICH not in site.mpi:
        raise Skip("no mpicc.mpich")
    job = site.cluster.batch("mpiexec.mpich -n 2 %s %s 10\n" % (site.mpi[cases.MPICH], site.data("la")), "-n2")
    site.done(job)
    logs = site.steps(job, "0")
    site.same(logs.values(), "la")
    expect(logs["0"]["nprocs"] == 2, "%s processes", logs["0"]["nprocs"])
    site.nothing_left()


def halves(site):
    """Two nodes that do not see each other's segments, killed: two halves, which merge to a whole."""
    if cases.MPICH not in site.mpi:
        raise Skip("no mpicc.mpich")
    c = site.cluster
    wrapper = c.write("work/apart.sh", "#!/bin/sh\nIORAMA_DIR=%s/$SLURMD_NODENAME; export IORAMA_DIR; exec \"$@\"\n" % site.seg, 0o755)
    for node in ("n1", "n2"):
        c.run("mkdir", "-p", os.path.join(site.seg, node))
    job = c.batch("exec srun -N2 -n4 --mpi=pmi2 %s %s %s 0\n" % (wrapper, site.mpi[cases.MPICH], site.data("ha")), "-N2", "-n4")
    growing(site, "ha", 4)
    c.run("scancel", "--signal=KILL", "--full", str(job))
    c.finished(job)
    c.idle()
    parts = []
    for node in ("n1", "n2"):
        c.run(site.built.iorama, "recover", "-q", "--job-id", "%d.0" % job, "-o", c.path("work", node + ".darshan"), os.path.join(site.seg, node))
        parts.append(c.path("work", node + ".darshan"))
        expect("iorama_missing" in site.show(parts[-1])["meta"], "a half that knows nothing of the other")
    c.run(site.built.iorama, "merge", "-o", c.path("work", "whole.darshan"), *parts)
    log = site.show(c.path("work", "whole.darshan"))
    expect(log["nprocs"] == 4 and "iorama_missing" not in log["meta"] and log["meta"]["iorama_unfinished"] == "4", "%s", log["meta"])
    expect(log["jobid"] == job and log["meta"]["iorama_step"] == "0", "whose it is: %s", log["meta"])
    site.same([log], "ha", killed=4)
    shutil.rmtree(os.path.join(site.seg, "n1"), ignore_errors=True)
    shutil.rmtree(os.path.join(site.seg, "n2"), ignore_errors=True)


def time_limit(site):
    """Limits are minutes: root says that this job's time is over now, and the controller, which looks every 30 s, ends it."""
    c = site.cluster
    if not c.root:
        raise Skip("only root may change when a job ends")
    job = c.batch("srun -n1 %s %s 0\n" % (site.writer, site.data("ti")), "-n1", "-t", "1")
    growing(site, "ti", 1)
    subprocess.run([slurm.tool("scontrol"), "update", "JobId=%d" % job, "EndTime=now+1"], env=c.env, check=True, timeout=cases.TIMEOUT)
    killed(site, "ti", job, "0")
    expect(c.field(job, "JobState") == "TIMEOUT", "it ended as %s", c.field(job, "JobState"))


def cost(site):
    """What the plugin costs a task is printed, not judged: a busy machine says nothing of it."""
    c = site.cluster
    # steps inside of one allocation: a job of its own would wait for the scheduler
    turn = "a=$(date +%s%N); srun -n4 --iorama=WAY /bin/true; b=$(date +%s%N); echo WAY $((b - a))\n"
    job = c.batch("for i in 1 2 3 4 5 6; do\n%s%sdone\n" % (turn.replace("WAY", "off"), turn.replace("WAY", "on")), "-n4", "--iorama=off")
    site.done(job)
    # srun says more where it has to wait for room
    rows = re.findall(r"^(off|on) (\d+)$", cases.text_of(c.path("work", "%d_4294967294.out" % job)), re.M)
    off, on = (min(int(ns) / 1e6 for way, ns in rows if way == wanted) for wanted in ("off", "on"))
    print("srun -n4 true: %.1f ms with --iorama=off, %.1f ms with on; %.2f ms a task" % (off, on, (on - off) / 4))


CASES = {"whole": whole, "mpich": mpich, "openmpi": openmpi, "array": array, "choice": choice, "scancel": scancel,
         "scancel-kill": scancel_kill, "memory": memory, "requeue": requeue, "outside": outside, "launcher": launcher,
         "halves": halves, "time-limit": time_limit, "cost": cost}  # fmt: skip


ALONE = ("time-limit",)  # waits for half a minute: a test of its own, beside the others


def one(site, name):
    began = time.monotonic()
    try:
        CASES[name](site)
    except Skip as why:
        print("  SKIP %s: %s" % (name, why), flush=True)
        return []
    except Failed as why:
        print("  not ok %s" % name, flush=True)
        return ["%s: %s" % (name, why)]
    print("  ok %s # %.1f s" % (name, time.monotonic() - began), flush=True)
    return []


def perform(build, name):
    site = Site(build)
    problems = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(site.cluster)
        for case in [n for n in CASES if n not in ALONE] if name == "all" else [name]:
            problems += one(site, case)
    return problems


if __name__ == "__main__":
    cases.main(["all", *ALONE] if sys.argv[1:] == ["--list"] else ["all", *CASES], perform)
