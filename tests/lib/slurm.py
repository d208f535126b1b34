# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm on loopback: munged, slurmctld and two slurmd, on free ports, in a folder of their own, stopped in the end.

    with slurm.Cluster(plugstack="optional /…/spank_iorama.so default=on", epilog="/…/epilog") as c:
        c.run("srun", "-n", "2", "hostname"); job = c.batch("script text"); c.state(job); c.finished(job)

Run by root the daemons are root's and jobs those of `nobody`, as at a site; run by anybody else all is his own. Skip, with the
reason, where it is not installed. What is started dies with the test: the daemons stay in the foreground, in one process group
each, and get a signal when their parent is gone."""
import os
import pwd
import shutil
import socket
import subprocess
import time

import cases
import servers
from cases import Failed, Skip

CONF = """ClusterName=rama
SlurmctldHost={host}(127.0.0.1)
SlurmUser={owner}
SlurmdUser={owner}
AuthType=auth/munge
AuthInfo=socket={d}/munge/socket,cred_expire=15
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={d}/state
SlurmdSpoolDir={d}/spool/%n
SlurmctldPidFile={d}/run/ctld.pid
SlurmdPidFile={d}/run/slurmd-%n.pid
SlurmctldLogFile={d}/log/ctld.log
SlurmdLogFile={d}/log/slurmd-%n.log
TmpFS={d}/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_min_interval=0,sched_interval=1,batch_sched_delay=0,defer_batch
SlurmdParameters=config_overrides
KillWait=2
MinJobAge=600
ReturnToService=2
MailProg=/bin/true
{epilog}PlugStackConfig={d}/plugstack.conf
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=2000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[3]} CPUs=8 RealMemory=2000
PartitionName=debug DefMemPerNode=200 Nodes=n1,n2 Default=YES MaxTime=00:10:00 State=UP OverSubscribe=FORCE:8
PartitionName=quiet DefMemPerNode=200 Nodes=n1,n2 MaxTime=00:10:00 State=UP OverSubscribe=FORCE:8
"""


def tool(name):
    for folder in os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    raise Skip("%s is not installed" % name)


class Cluster:
    """Two nodes of one machine."""

    def __init__(self, build, plugstack="", epilog=""):
        self.tools = {name: tool(name) for name in ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol", "squeue")}
        self.root = os.geteuid() == 0
        self.user = pwd.getpwnam("nobody") if self.root else pwd.getpwuid(os.geteuid())
        self.folder = cases.observed_folder(build, "slurm")
        self.daemons = []
        os.chmod(self.folder, 0o755)
        for name in "state spool/n1 spool/n2 log run munge".split():
            os.makedirs(self.path(name))
        for name in "tmp-n1 tmp-n2 work logs seg".split():
            os.makedirs(self.path(name))
            os.chmod(self.path(name), 0o1777)
        if self.root:
            shutil.chown(self.path("seg"), self.user.pw_name)  # segments are kept in a directory of one's own only
        os.chmod(self.path("seg"), 0o700)
        self.write("plugstack.conf", plugstack + "\n")
        host = socket.gethostname().split(".")[0]
        self.write("slurm.conf", CONF.format(host=host, owner="root" if self.root else self.user.pw_name, d=self.folder,
                                             ports=[servers.free_port() for _ in range(4)], epilog="Epilog=%s\n" % epilog if epilog else ""))  # fmt: skip
        self.env = cases.environment(SLURM_CONF=self.path("slurm.conf"), HOME=self.path("work"), LC_ALL="C")
        for name in [k for k in self.env if k.startswith("SLURM_") and k != "SLURM_CONF"]:
            del self.env[name]

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    # ---- daemons

    def daemon(self, *command):
        log = open(self.path("log", os.path.basename(command[0]) + ".out"), "ab")
        done = subprocess.Popen(command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                start_new_session=True, preexec_fn=cases.die_with_parent)  # fmt: skip
        log.close()
        self.daemons.append(done)

    def start(self):
        key = self.path("munge", "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        os.chmod(self.path("munge"), 0o755)
        self.daemon(self.tools["munged"], "--foreground", "--force", "--key-file", key, "--socket", self.path("munge", "socket"),
                    "--pid-file", self.path("munge", "pid"), "--log-file", self.path("log", "munge.log"),
                    "--seed-file", self.path("munge", "seed"))  # fmt: skip
        cases.wait(lambda: os.path.exists(self.path("munge", "socket")), "munged", told=self.told)
        self.daemon(self.tools["slurmctld"], "-D", "-f", self.path("slurm.conf"))
        for node in ("n1", "n2"):
            self.daemon(self.tools["slurmd"], "-D", "-N", node, "-f", self.path("slurm.conf"))
        cases.wait(self.ready, "two nodes are idle", told=self.told, pause=0.1)

    def ready(self):
        for process in self.daemons:
            if process.poll() is not None:
                raise Failed("%s ended%s" % (process.args[0], self.told()))
        done = self.run("scontrol", "show", "node", "-o", status=None)
        return done.stdout.count("State=IDLE ") == 2

    def told(self):
        text = ""
        for name in sorted(os.listdir(self.path("log"))):
            text += "\n%s: %s" % (name, cases.text_of(self.path("log", name))[-600:])
        return text

    def stop(self):
        for process in reversed(self.daemons):
            process.terminate()
        for process in reversed(self.daemons):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        cases.remove(self.folder)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- what users do

    def become(self):
        cases.die_with_parent()
        if self.root:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)

    def run(self, *command, status=0, timeout=cases.TIMEOUT, **env):
        """A command of the user who has the jobs."""
        done = subprocess.run([self.tools.get(command[0], command[0]), *command[1:]], env={**self.env, **env}, text=True,
                              cwd=self.path("work"), capture_output=True, timeout=timeout, preexec_fn=self.become)  # fmt: skip
        if status is not None and done.returncode != status:
            raise Failed("%s: %d\n%s\n%s" % (" ".join(command), done.returncode, done.stdout[-1500:], done.stderr[-1500:]))
        return done

    def batch(self, script, *options, **env):
        """The id of the job."""
        path = self.write("work/%d.sh" % time.monotonic_ns(), "#!/bin/bash\n" + script, 0o755)
        if self.root:
            shutil.chown(path, self.user.pw_name)
        done = self.run("sbatch", "--parsable", "-o", self.path("work", "%A_%a.out"), *options, path, **env)
        return int(done.stdout.strip().split(";")[0])

    def field(self, job, name):
        done = self.run("scontrol", "show", "job", "-o", str(job), status=None)
        words = [w.split("=", 1)[1] for w in done.stdout.split() if w.startswith(name + "=")]
        return words[0] if words else ""

    def ended(self, job):
        return self.field(job, "JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")

    def finished(self, job):
        """Waits until the job has ended and its epilogs are through."""
        cases.wait(lambda: self.ended(job), "the end of job %s" % job, pause=0.1, told=self.told)

    def idle(self):
        cases.wait(self.ready, "both nodes are idle again, none drained", pause=0.1,
                   told=lambda: self.run("scontrol", "show", "node", status=None).stdout[-2000:])  # fmt: skip
