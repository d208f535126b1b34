#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hosts.py BUILD CASE...: jobs on several hosts, each with a name and shared memory of its own, give one log. The hosts
are made of name spaces by what mpirun takes for ssh. --list prints all cases.

exec: the launcher starts `iorama exec`; run: `iorama run` the launcher; place: the same, with a directory for segments
that the other hosts do not have; helper: the same, on this host too, where a rank has a child; killed: a rank elsewhere
dies; apart: the other hosts do not see where the log goes; half: only the ranks of this host are observed."""
import json
import os
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from job import Failed, Skip, cases, need, of_families  # noqa: E402

# $HOSTS has the shared memory of each host; $APART is a directory of which each has one of its own
SSH = r"""#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
mkdir -p "$HOSTS/$host"
exec unshare --uts --mount sh -c 'hostname "$0"
    test -z "$APART" || mount -t tmpfs tmpfs "$APART"
    mount --bind "$HOSTS/$0" /dev/shm; exec sh -c "$*"' "$host" "$@"
"""
# p WORD: each rank writes as often as its number says; helper: rank 0 has a child that writes one byte; killed: the
# last rank dies
PROGRAM = r"""
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int child(void)
{
	int fd = open("child", O_CREAT | O_WRONLY, 0600);
	_exit(write(fd, "x", 1) != 1);
}
int main(int argc, char **argv)
{
	MPI_File f;
	int rank, size;
	static char x[1000];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	for (int i = 0; i <= rank; i++)
		MPI_File_write_at(f, 4000 * i + 1000 * rank, x, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	if (rank == 0 && strcmp(argv[1], "helper") == 0) {
		pid_t pid = fork();
		if (pid == 0)
			child();
		waitpid(pid, NULL, 0);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1 && strcmp(argv[1], "killed") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(argv[1], "killed") == 0)
		MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
"""
HERE = socket.gethostname()
FAMILIES = ("mpich", "openmpi")
CASES = ("exec", "run", "place", "helper", "killed", "apart", "half")
WRITES = 1 + 2 + 3 + 4


class Hosts:
    def __init__(self, build, family, folder, shm):
        self.iorama, self.family, self.folder, self.shm = os.path.join(build, "bin", "iorama"), family, folder, shm
        self.library = os.path.join(build, "lib", "libiorama.so")
        self.log = os.path.join(folder, "logs", "log.darshan")
        os.mkdir(os.path.join(folder, "logs"))
        for name, text in (("ssh", SSH), ("p.c", PROGRAM)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        os.chmod(os.path.join(folder, "ssh"), 0o755)
        subprocess.run(["mpicc." + family, "p.c", "-o", "p"], check=True, cwd=folder)

    def launcher(self, *hosts):
        """mpirun for two ranks on each host"""
        ssh = os.path.join(self.folder, "ssh")
        if self.family == "mpich":
            return ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", ssh, "-hosts", ",".join(hosts), "-ppn", "2",
                    "-n", str(2 * len(hosts))]  # fmt: skip
        mca = {"plm_rsh_agent": ssh, "plm_rsh_no_tree_spawn": "1", "btl": "tcp,self", "pml": "ob1",
               "btl_tcp_if_include": "lo", "oob_tcp_if_include": "lo"}  # fmt: skip
        words = ["mpirun.openmpi"]
        for key, value in mca.items():
            words += ["--mca", key, value]
        return [*words, "--host", ",".join(host + ":2" for host in hosts), "-n", str(2 * len(hosts))]

    def run(self, command, **extra):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HOSTS=self.shm,
                           IORAMA_LOG_DIR=os.path.join(self.folder, "logs"))  # fmt: skip
        environment.pop("IORAMA_DIR", None)
        environment.update(extra)
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=100)

    def on(self, host, *command):
        return self.run([os.path.join(self.folder, "ssh"), host, " ".join(command)])

    def shown(self, log=None):
        done = self.run([self.iorama, "show", "-q", "--json", "--show-incomplete", log or self.log])
        if done.returncode != 0:
            raise Failed("show: status %d: %s" % (done.returncode, done.stderr))
        found = json.loads(done.stdout)["logs"][0]
        return found, {m["module"]: m["records"] for m in found["modules"]}

    def left(self):
        """files that nobody should find"""
        inside = [os.path.join(at, f) for at, _, files in os.walk(self.folder) for f in files]
        inside += [os.path.join(at, f) for at, _, files in os.walk(self.shm) for f in files]
        ours = (".run", ".meet")
        return [f for f in inside if f.endswith(("_partial", ".seg")) or os.path.basename(f).startswith(ours)]


def must(done, status=0):
    if done.returncode != status:
        raise Failed("status %d, not %d: %s" % (done.returncode, status, (done.stdout + done.stderr)[-800:]))


def compare(truth):
    wrong = ["%s: %s, not %s" % (what, got, want) for what, (got, want) in truth.items() if got != want]
    if wrong:
        raise Failed("; ".join(wrong))


def metadata(found, key):
    return [pair["value"] for pair in found["job"]["metadata"] if pair["key"] == key]


def judge_whole(h, hosts, others=()):
    """All ranks are there, with the hosts that they ran on, and nothing else is left anywhere."""
    found, records = h.shown()
    shared = [r["counters"] for r in records["MPI-IO"] if r["rank"] == -1 and r["name"].endswith("/out")]
    ran_on = sorted(r["counters"].get("PROCESS_HOSTNAME", r.get("hostname")) for r in records["PROCESS"])
    compare({
        "ranks": (found["job"]["nprocs"], 2 * len(hosts) + len(others)),
        "shared records": (len(shared), 1),
        "writes": (shared[0]["MPIIO_INDEP_WRITES"] if shared else 0, WRITES),
        "bytes": (shared[0]["MPIIO_BYTES_WRITTEN"] if shared else 0, 1000 * WRITES),
        "hosts": (ran_on, sorted(2 * list(hosts) + list(others))),
        "missing": (metadata(found, "iorama_missing"), []),
        "files left": (h.left(), []),
        "logs": (os.listdir(os.path.join(h.folder, "logs")), ["log.darshan"]),
    })  # fmt: skip
    return records


def case_exec(h):
    must(h.run([*h.launcher("north", "south"), h.iorama, "exec", "-o", h.log, "./p", "exec"]))
    judge_whole(h, ("north", "south"))


def case_run(h):
    must(h.run([h.iorama, "run", "-o", h.log, *h.launcher("north", "south"), "./p", "run"]))
    judge_whole(h, ("north", "south"))


def case_place(h):
    place = os.path.join(h.folder, "apart")
    os.makedirs(os.path.join(place, "only", "here"), 0o700)
    must(h.run([h.iorama, "run", "-o", h.log, *h.launcher("north", "south"), "./p", "run"], APART=place,
               IORAMA_DIR=os.path.join(place, "only", "here")))  # fmt: skip
    judge_whole(h, ("north", "south"))


def case_helper(h):
    must(h.run([h.iorama, "run", "-o", h.log, *h.launcher(HERE, "south"), "./p", "helper"]))
    records = judge_whole(h, (HERE, "south"), (HERE,))
    child = [r for r in records["POSIX"] if r["name"].endswith("/child")]
    compare({"the child": ([(r["rank"], r["counters"]["POSIX_BYTES_WRITTEN"]) for r in child], [(4, 1)])})


def case_killed(h):
    command = [*h.launcher(HERE, "south"), "./p", "killed"]
    bare = h.run(command)
    done = h.run([h.iorama, "run", "-o", h.log, *command])
    must(done, bare.returncode)
    if "rank 2-3" not in done.stderr or "iorama recover" not in done.stderr:
        raise Failed("the summary does not say that ranks are missing: %s" % done.stderr[-800:])
    found, records = h.shown()
    compare({
        "ranks": (found["job"]["nprocs"], 4),
        "missing": (metadata(found, "iorama_missing"), ["2-3"]),
        "writes here": (sum(r["counters"]["MPIIO_INDEP_WRITES"] for r in records["MPI-IO"]), 1 + 2),
    })  # fmt: skip
    elsewhere = os.path.join(h.folder, "logs", "south.darshan")
    must(h.on("south", h.iorama, "recover", "-q", "-o", elsewhere))
    found, records = h.shown(elsewhere)
    compare({
        "missing there": (metadata(found, "iorama_missing"), ["0-1"]),
        "writes there": (sum(r["counters"]["MPIIO_INDEP_WRITES"] for r in records["MPI-IO"]), 3 + 4),
        "files left": (h.left(), []),
    })  # fmt: skip


def case_apart(h):
    """The ranks see another directory where the log should go: what they did stays with them."""
    logs = os.path.join(h.folder, "logs")
    done = h.run([h.iorama, "run", "-o", h.log, *h.launcher("north", "south"), "./p", "apart"], APART=logs)
    must(done)
    if "iorama recover" not in done.stderr:
        raise Failed("nothing says where the data are: %s" % done.stderr[-800:])
    compare({"logs": (os.listdir(logs), [])})
    writes = 0
    for host in ("north", "south"):
        log = os.path.join(logs, host + ".darshan")
        must(h.on(host, h.iorama, "recover", "-q", "-o", log))
        _, records = h.shown(log)
        writes += sum(r["counters"]["MPIIO_INDEP_WRITES"] for r in records["MPI-IO"])
    compare({"writes": (writes, WRITES), "files left": (h.left(), [])})


def case_half(h):
    """Observed ranks must not wait for the others; each has a log of its own."""
    command = [*h.launcher(HERE, "south"), "./p", "half"]
    give = {"openmpi": ["-x", "LD_PRELOAD=" + h.library], "mpich": ["-env", "LD_PRELOAD", h.library]}[h.family]
    at = command.index("-n")
    first, second = list(command), list(command)
    first[at + 1] = second[at + 1] = "2"
    must(h.run([*first[:at], *give, *first[at:], ":", *second[at:]]))
    logs = os.listdir(os.path.join(h.folder, "logs"))
    writes = 0
    for log in logs:
        _, records = h.shown(os.path.join(h.folder, "logs", log))
        writes += sum(r["counters"]["MPIIO_INDEP_WRITES"] for r in records["MPI-IO"])
    compare({"logs": (len(logs), 2), "writes": (writes, 1 + 2), "files left": (h.left(), [])})


def perform(build, word):
    family, _, name = word.partition("-")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--uts", "--mount", "true"], check=False).returncode != 0:
        raise Skip("only root can make hosts of name spaces")
    need("mpicc." + family, "mpirun." + family)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        globals()["case_" + name](Hosts(os.path.abspath(build), family, os.path.realpath(folder), shm))


if __name__ == "__main__":
    cases.main(of_families(CASES), perform)
