# SPDX-License-Identifier: BSD-3-Clause
"""What the end of a parallel job costs real ranks of MPI, in the four cases of bench/shutdown.c: the seconds that
MPI_Finalize takes with the library preloaded, less those it takes without, and where they go. Part of bench/run.

All ranks are on this machine. Where there are more of them than cores, they wait for each other's turns more than for
anything else, so every row says how many cores there are ("64 on 2 cores"); who waits gives up its core, which Open MPI
has to be told. The end of a bare job varies, too: what is a little below 0 is not more than that.
Beside Darshan where a libdarshan.so is found ($DARSHAN_LIB, pkg-config darshan-runtime) that works with the MPI."""
import os
import re
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = {"Open MPI": "openmpi", "MPICH": "mpich"}
ROUNDS = {2: 5, 8: 3, 32: 2, 64: 2}  # ranks -> runs, of which the best counts
CASES = {"1 shared": (1, False), "1024 shared": (1024, False), "1 each": (1, True), "1024 each": (1024, True)}
PHASES = "aggregate", "compress", "store"
PATIENCE = 180  # seconds; after them each job is run once
SHARE = 0.5  # of the peer's time
# as root, more ranks than cores, and who waits gives up its core
OPENMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
           "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # fmt: skip
PAPER = ("Darshan on a Cray XE6 with 98,304 ranks (P. Carns et al., 2013): 1 shared 0.17 s, 1024 shared 0.24 s, "
         "1 each 12.27 s, 1024 each 24.76 s")  # fmt: skip


class Wrong(Exception):
    """A job did not do what it should; the text says what."""


def find_darshan():
    """The library, or None."""
    given = os.environ.get("DARSHAN_LIB")
    if given or not shutil.which("pkg-config"):
        return given
    found = subprocess.run(["pkg-config", "--variable=libdir", "darshan-runtime"], capture_output=True, text=True)
    path = os.path.join(found.stdout.strip(), "libdarshan.so")
    return path if found.returncode == 0 and os.path.exists(path) else None


class Jobs:
    """Jobs of one MPI, run bare, with our library, or with Darshan's."""

    def __init__(self, bench, folder, family):
        self.bench, self.folder, self.family = bench, folder, family
        self.library = os.path.abspath(os.path.join(bench.options.build, "lib", "libiorama.so"))
        self.program = os.path.join(folder, "shutdown." + family)
        self.log = os.path.join(folder, "shutdown.darshan")

    def build(self):
        """True, or says why not."""
        compiler = "mpicc." + self.family
        if not shutil.which(compiler) or not shutil.which("mpirun." + self.family) or not os.path.exists(self.library):
            print("(%s or libiorama.so is missing: its jobs are not measured)" % compiler)
            return False
        subprocess.run([compiler, "-O2", os.path.join(HERE, "shutdown_mpi.c"), "-o", self.program], check=True)
        return True

    def run(self, ranks, case, library):
        """Seconds of MPI_Finalize, and of the phases where the library tells them."""
        files, own = CASES[case]
        folder = os.path.join(self.folder, "own-%d" if own else "files")
        words = ["mpirun." + self.family]
        if library and self.family == "openmpi":
            words += ["-x", "LD_PRELOAD=" + library]
        elif library:
            words += ["-genv", "LD_PRELOAD", library]
        if os.path.exists(self.log):
            os.remove(self.log)
        done = subprocess.run([*words, "-n", str(ranks), self.program, str(files), folder], capture_output=True,
                              text=True, env={**os.environ, **OPENMPI, **self.variables(library)},
                              timeout=300)  # fmt: skip
        seconds = [float(text) for text in re.findall(r"^finalize \d+ ([\d.]+)$", done.stdout, re.M)]
        if done.returncode != 0 or len(seconds) != ranks:
            raise Wrong("status %d: %s" % (done.returncode, done.stderr[-300:]))
        if library:
            # Darshan has room for 1,024 files, some of which may be the MPI's
            self.check_log(ranks * files * (1 if library == self.library else 0.9))
        phases = {phase: float(text) for phase, text in re.findall(r"^iorama:(\w+)\t\d+\t([\d.]+)$", done.stderr, re.M)}
        return max(seconds), phases

    def variables(self, library):
        if not library:
            return {}
        found = {"DARSHAN_LOGFILE": self.log, "DARSHAN_INTERNAL_TIMING": "1"}
        if library == self.library:
            found.update(IORAMA_LOG=self.log, IORAMA_DIR=os.path.join(self.folder, "segments"))
            found.update(IORAMA_INCLUDE=self.folder + "/*", IORAMA_RECORDS="2048")  # some are of the MPI
        return found

    def check_log(self, opens):
        """The log is there and has all that was done, or the time is not worth much."""
        done = subprocess.run([self.bench.iorama, "show", "--total", "--show-incomplete", "-m", "POSIX", self.log],
                              capture_output=True, text=True)  # fmt: skip
        found = re.search(r"^total_POSIX_OPENS: (\d+)$", done.stdout, re.M)
        if not found or int(found[1]) < opens:
            raise Wrong("the log has %s of %d opens: %s" % (found and found[1], opens, done.stderr[-300:]))


def make_files(folder):
    """Files that all share, and the same by a name for each rank: 64 times as many would only take time."""
    most, ranks = max(files for files, _ in CASES.values()), max(ROUNDS)
    os.mkdir(os.path.join(folder, "files"))
    for i in range(most):
        with open(os.path.join(folder, "files", "field-%04d.h5" % i), "wb"):
            pass
    for rank in range(ranks):
        os.symlink("files", os.path.join(folder, "own-%d" % rank))


def best(jobs, ranks, case, library, until):
    """The run with the shortest end of as many as there is time for."""
    found = [jobs.run(ranks, case, library)]
    while len(found) < ROUNDS[ranks] and time.monotonic() < until:
        found.append(jobs.run(ranks, case, library))
    return min(found, key=lambda run: run[0])


def measure_case(jobs, title, ranks, case, bare, until):
    bench, darshan, peer = jobs.bench, find_darshan(), None
    took, phases = best(jobs, ranks, case, jobs.library, until)
    what = "shutdown, %d on %d cores, %s, %s" % (ranks, len(os.sched_getaffinity(0)), title, case)
    try:
        if darshan:
            peer = best(jobs, ranks, case, darshan, until)[0] - bare
    except (Wrong, subprocess.TimeoutExpired) as reason:
        print("(%s, Darshan: %s)" % (what, reason))
    bench.add(what, "added", took - bare, "s", SHARE * peer if peer else None, peer)
    phases["aggregate"] = phases.get("aggregate", 0) + phases.get("call", 0)
    total = sum(phases.get(phase, 0) for phase in PHASES)
    for phase in PHASES if total > 0 else ():
        bench.add(what, phase, 100 * phases[phase] / total, "%")


def measure(bench, folder):
    """All of it; says why if there is nothing to measure."""
    folder = os.path.join(folder, "shutdown")
    os.mkdir(folder)
    make_files(folder)
    until = time.monotonic() + PATIENCE
    for title, family in FAMILIES.items():
        jobs = Jobs(bench, folder, family)
        for ranks in ROUNDS if jobs.build() else ():
            try:
                bare = best(jobs, ranks, "1 shared", None, until)[0]  # the same whatever files there are
                bench.add("MPI_Finalize, %d ranks, %s, bare" % (ranks, title), "seconds", bare, "s")
                for case in CASES:
                    measure_case(jobs, title, ranks, case, bare, until)
            except (Wrong, subprocess.TimeoutExpired) as reason:
                print("(%d ranks, %s: %s)" % (ranks, title, reason))
    print("(%s)" % PAPER)
