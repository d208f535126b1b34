#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hosts.py BUILD: a job on two hosts, each with a name and shared memory of its own, gives one log. The hosts are made of
name spaces by what mpirun takes for ssh; MPICH is used, as Open MPI looks through it."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SSH = r"""#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec unshare --uts --mount sh -c 'hostname "$0"; mount -t tmpfs tmpfs /dev/shm; exec sh -c "$*"' "$host" "$@"
"""
PROGRAM = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
	MPI_File f;
	int rank;
	static char x[1000];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	for (int i = 0; i <= rank; i++)
		MPI_File_write_at(f, 4000 * i + 1000 * rank, x, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	return MPI_Finalize();
}
"""


def skip(why):
    print("SKIP:", why)
    sys.exit(77)


def main():
    iorama = os.path.join(sys.argv[1], "bin", "iorama")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--uts", "--mount", "true"], check=False).returncode != 0:
        skip("only root can make hosts of name spaces")
    if not shutil.which("mpicc.mpich") or not shutil.which("mpirun.mpich"):
        skip("MPICH is not installed")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("ssh", SSH), ("p.c", PROGRAM)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        os.chmod(os.path.join(folder, "ssh"), 0o755)
        subprocess.run(["mpicc.mpich", "p.c", "-o", "p"], check=True, cwd=folder)
        log = os.path.join(folder, "log.darshan")
        subprocess.run(
            ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", os.path.join(folder, "ssh"), "-hosts", "north,south",
             "-n", "4", iorama, "exec", "-o", log, "./p"],
            check=True, cwd=folder, timeout=60,
        )  # fmt: skip
        shown = subprocess.run([iorama, "show", "--json", log], check=True, capture_output=True).stdout
        left = [f for f in os.listdir(folder) if f.endswith(("_partial", ".seg"))]
    found = json.loads(shown)["logs"][0]
    records = {m["module"]: m["records"] for m in found["modules"]}
    shared = [r["counters"] for r in records["MPI-IO"] if r["rank"] == -1 and r["name"].endswith("/out")]
    hosts = sorted(r["counters"].get("PROCESS_HOSTNAME", r.get("hostname")) for r in records["PROCESS"])
    truth = {
        "ranks": (found["job"]["nprocs"], 4),
        "shared records": (len(shared), 1),
        "writes": (shared[0]["MPIIO_INDEP_WRITES"] if shared else 0, 1 + 2 + 3 + 4),
        "bytes": (shared[0]["MPIIO_BYTES_WRITTEN"] if shared else 0, 10000),
        "hosts": (hosts, ["north", "north", "south", "south"]),
        "files left": (left, []),
    }
    wrong = ["%s: %s, not %s" % (what, got, want) for what, (got, want) in truth.items() if got != want]
    print("\n".join("not ok: " + w for w in wrong))
    return 1 if wrong else 0


sys.exit(main())
