# SPDX-License-Identifier: BSD-3-Clause
"""A small GlusterFS of plain processes for tests: bricks on loopback, one FUSE mount, without its management. Whoever uses it
calls alone() first: then the test has processes and mounts of its own, which nobody else sees and which are gone with it."""
import atexit
import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid

import cases
from cases import Failed, Skip, wait

ALONE = "IORAMA_TEST_ALONE"


def alone():
    """The script begins again in namespaces of its own, where /proc shows nobody else. Skip: that cannot be here."""
    for need, why in ((os.geteuid() == 0, "only root mounts a GlusterFS"), (os.path.exists("/dev/fuse"), "there is no /dev/fuse")):
        if not need:
            raise Skip(why)
    cases.need("glusterfsd", "glusterfs", "unshare", "setfattr")
    if os.environ.get(ALONE) == "1":
        # Process ids begin anew here, and Open MPI names what its ranks share by them: two tests at once must not meet
        own = tempfile.mkdtemp(prefix="iorama-alone-", dir="/dev/shm")
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        os.environ.update(OMPI_MCA_btl_vader_backing_directory=own, OMPI_MCA_orte_tmpdir_base=own)
        return
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode != 0:
        raise Skip("no namespace can be made (unshare)")
    sys.stdout.flush()
    os.execvpe(words[0], [*words, sys.executable, *sys.argv], {**os.environ, ALONE: "1"})


def free_ports(n):
    held = [socket.socket() for _ in range(n)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def volume(name, kind, options=(), below=()):
    lines = ["volume " + name, " type " + kind, *(" option %s %s" % pair for pair in options)]
    return "\n".join(lines + ([" subvolumes " + " ".join(below)] if below else []) + ["end-volume", ""])


class Gluster:
    """mount: a folder that is made, in a place that is observed; kind: disperse (all but one brick hold data) or distribute; slow: {brick: microseconds} of each read and write;
    above: volumes between the cluster and its top, such as performance/write-behind; letter: what servers are called, before their number;
    wrap: {"client" or "brick0", …: words before its command}; client_env, brick_env: their environment; places: of each brick and, last, of
    the client: words before its command, and the address it is reached at."""

    def __init__(self, folder, mount, kind="disperse", bricks=3, slow=None, above=(), client_env=None, letter="c", wrap=None, brick_env=None, places=None):
        self.folder, self.n, self.slow, self.letter, self.wrap, self.brick_env = folder, bricks, slow or {}, letter, wrap or {}, brick_env
        self.places = places or [((), "127.0.0.1")] * (bricks + 1)
        self.mount = mount
        self.processes, self.brick_pids, self.client_pid = [], [], 0
        os.makedirs(self.mount)
        os.makedirs(folder)
        self.ports = free_ports(bricks)
        for i in range(bricks):
            self.start_brick(i)
        self.start_client(kind, above, client_env)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def start(self, name, words, env=None, before=()):
        process = subprocess.Popen([*before, *self.wrap.get(name, ()), words[0], "--no-daemon", *words[1:], "-l", self.path(name + ".log")], env=env or cases.environment(),
                                   preexec_fn=cases.die_with_parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # fmt: skip
        self.processes.append(process)
        return process.pid

    def brick(self, i):
        return self.path("brick%d" % i)

    def start_brick(self, i):
        folder, number = self.brick(i), uuid.uuid4()
        os.makedirs(folder)
        done = subprocess.run(["setfattr", "-n", "trusted.glusterfs.volume-id", "-v", "0x" + number.hex, folder], check=False, capture_output=True)
        if done.returncode != 0:
            raise Skip("%s keeps no trusted attributes" % folder)
        top = "threads"
        text = volume("posix", "storage/posix", [("directory", folder), ("volume-id", number), ("health-check-interval", 0)])  # it writes, else
        text += volume("locks", "features/locks", below=["posix"])
        text += volume("threads", "performance/io-threads", [("thread-count", 4)], ["locks"])
        if i in self.slow:
            top = "slow"
            text += volume("slow", "debug/delay-gen", [("delay-duration", self.slow[i]), ("delay-percentage", 100), ("enable", "WRITE,READ")], ["threads"])
        text += volume("brick%d" % i, "debug/io-stats", [("unique-id", folder)], [top])
        text += volume("server", "protocol/server",
                       [("transport-type", "tcp"), ("transport.address-family", "inet"), ("transport.socket.listen-port", self.ports[i]),
                        ("transport.socket.bind-address", self.places[i][1]), ("auth.addr.brick%d.allow" % i, "*"), ("auth.addr.%s.allow" % folder, "*")],
                       ["brick%d" % i])  # fmt: skip
        self.brick_pids.append(self.start("brick%d" % i, ["glusterfsd", "-f", self.write("brick%d.vol" % i, text)], self.brick_env, self.places[i][0]))

    def start_client(self, kind, above, env):
        names = ["%s%d" % (self.letter, i) for i in range(self.n)]
        text = "".join(volume(name, "protocol/client", [("transport-type", "tcp"), ("transport.address-family", "inet"), ("remote-host", self.places[i][1]),
                                                        ("remote-port", port), ("remote-subvolume", "brick%d" % i)])
                       for i, (name, port) in enumerate(zip(names, self.ports)))  # fmt: skip
        text += volume("data", "cluster/" + kind, [("redundancy", 1)] if kind == "disperse" else [], names)
        below = "data"
        for i, xlator in enumerate(above):
            text += volume("above%d" % i, xlator, below=[below])
            below = "above%d" % i
        text += volume("top", "debug/io-stats", below=[below])
        for port, (_, address) in zip(self.ports, self.places):
            wait(lambda port=port, address=address: socket.create_connection((address, port), 5).close() is None, "a brick listens", no=(OSError,), told=self.logs)
        self.client_pid = self.start("client", ["glusterfs", "-f", self.write("client.vol", text), self.mount], env, self.places[-1][0])
        wait(lambda: os.path.ismount(self.mount), "the mount", told=self.logs)
        wait(self.is_ready, "a file that can be written", no=(OSError,), told=self.logs)

    def is_ready(self):
        ready = os.path.join(self.mount, ".ready")
        with open(ready, "wb") as file:
            file.write(b"x")
        os.unlink(ready)
        return True

    def logs(self):
        return "".join("\n%s" % cases.text_of(self.path(name))[-1500:] for name in sorted(os.listdir(self.folder)) if name.endswith(".log"))

    def connection(self):
        """The number of the kernel's FUSE connection."""
        return os.minor(os.stat(self.mount).st_dev)

    def check(self):
        for process in self.processes:
            if process.poll() is not None:
                raise Failed("a process of the file system ended with %s%s" % (process.returncode, self.logs()))

    def stop(self):
        ctypes.CDLL(None).umount2(self.mount.encode(), 2)
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Witness:
    """What the kernel counts at its own tracepoints: FUSE requests of one connection, by operation."""

    def __init__(self, folder, connection):
        self.root = os.path.join(folder, "tracefs")
        os.makedirs(self.root, exist_ok=True)
        if subprocess.run(["mount", "-t", "tracefs", "tracefs", self.root], check=False, capture_output=True).returncode != 0:
            raise Skip("tracefs cannot be mounted")
        self.own = os.path.join(self.root, "instances", "iorama-test-%d-%d" % (os.getpid(), time.monotonic_ns()))
        os.mkdir(self.own)
        event = os.path.join(self.own, "events/fuse/fuse_request_send")
        if not os.path.isdir(event):
            raise Skip("the kernel has no tracepoints of FUSE")
        self.put("buffer_size_kb", "8192")
        self.put("events/fuse/fuse_request_send/filter", "connection == %d" % connection)
        self.put("events/fuse/fuse_request_send/enable", "1")

    def put(self, name, text):
        with open(os.path.join(self.own, name), "w", encoding="ascii") as file:
            file.write(text)

    def counts(self):
        """{"FUSE_WRITE": 64, …} since the beginning"""
        found = {}
        for line in cases.text_of(os.path.join(self.own, "trace")).splitlines():
            if "fuse_request_send:" in line:
                word = line.split("opcode ")[1].split("(")[1].split(")")[0]
                found[word] = found.get(word, 0) + 1
        return found

    def end(self):
        self.put("events/fuse/fuse_request_send/enable", "0")
        os.rmdir(self.own)
        ctypes.CDLL(None).umount2(self.root.encode(), 2)
