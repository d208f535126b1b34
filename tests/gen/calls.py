# SPDX-License-Identifier: BSD-3-Clause
"""Records of the module CALLS: calls of a job and of the daemons and servers of its file system, packed as
docs/format/log.md tells. Times are whole ns since the start of the job."""

LAYERS = ["POSIX", "STDIO", "MPI-IO", "H5D", "PNETCDF", "H5F", "FUSE", "CLIENT", "SERVER"]
KINDS = {"open": 1, "read": 3, "write": 4, "sync": 6, "flush": 11}
APPLICATION, FUSE, SERVER = range(3)
MS, US = 1000000, 1000


def varint(number):
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes(found) + bytes([number])


def folded(number):
    return varint(2 * number if number >= 0 else -2 * number - 1)


def pack(calls, file_of, old=False):
    """Bytes of calls (dicts); file_of: index of an id in the list of files; old: of version 1."""
    ops, bytes_ = [], b""
    before = dict(id=0, start=0, tid=0, unique=0, mark=0)
    ends = {}
    for c in calls:
        op = (LAYERS.index(c["layer"]), int(c["kind"] == "write") if old else KINDS[c["kind"]] | (128 if c.get("link") else 0), c["op"].encode())
        if op not in ops:
            ops.append(op)
        at = ops.index(op)
        bytes_ += varint(at) + varint(file_of(c["file"])) + folded(c["id"] - before["id"])
        bytes_ += folded(c["id"] - c["parent"] if c["parent"] else 0)
        bytes_ += folded(c["off"] - ends.get(at, 0)) + folded(c["bytes"]) + folded(c["start"] - before["start"]) + varint(c["end"] - c["start"])
        before.update(id=c["id"], start=c["start"])
        ends[at] = c["off"] + c["bytes"]
        if c.get("link"):
            link = c["link"]
            for word in ("tid", "unique"):
                bytes_ += folded(link[word] - before[word])
            bytes_ += varint(file_of(link["object"]) + 1 if link["object"] else 0)
            bytes_ += folded(link["mark"] - before["mark"])
            bytes_ += varint(file_of(link["peer"]) + 1 if link["peer"] else 0)
            before.update(tid=link["tid"], unique=link["unique"], mark=link["mark"])
    head = bytes([len(ops)])
    for layer, kind, name in ops:
        head += bytes([layer, kind, len(name)]) + name
    return head + bytes_


class Cluster:
    """Ranks of one host on a FUSE mount with servers; every record is added to a job (tests/diagnose/jobs.py)."""

    def __init__(self, job, servers=3, mount="/mnt/vol", host="node1", far=False, marks=True):
        self.job, self.servers, self.mount, self.host, self.far, self.marks = job, servers, mount, host, far, marks
        self.lanes = {}
        self.ids = {}
        self.unique = 0
        job.mounts.append((b"fuse.glusterfs", mount.encode()))

    def add(self, role, rank, pid, lane, tid, host, **call):
        key = (role, rank, pid, lane, tid, host)
        self.ids[key[:4]] = self.ids.get(key[:4], 0) + 1
        call = {"parent": 0, "off": 0, "bytes": 0, "id": self.ids[key[:4]], **call}
        self.lanes.setdefault(key, []).append(call)
        return call

    def call(self, rank, layer, op, kind, file, off, size, start, end, parent=None):
        """A call of the application, whose sub-calls may be added later with its id as parent."""
        return self.add(APPLICATION, rank, 100 + rank, 1, 2000 + rank, self.host, layer=layer, op=op, kind=kind, file=file, off=off,
                        bytes=size, start=start, end=end, parent=parent["id"] if parent else 0)  # fmt: skip

    def peer(self, server):
        return "vol-client-%d node%d:49152" % (server, 2 + server if self.far else 1)

    def rpc(self, tid, server, kind, file, off, size, start, took, disk, accesses=1, unique=0, other=False):
        """One request to one server: the way there and back takes a tenth, each a half; the disk what is said."""
        host = "node%d" % (2 + server) if self.far else self.host
        object_ = 5000 + self.job.id("#object of " + file)
        link = dict(tid=tid, unique=unique, object=object_, mark=0, peer=self.job.id(self.peer(server)))
        self.add(FUSE, -1, 50, 9, 500, self.host, layer="CLIENT", op="glusterfs " + kind, kind=kind, file=file, off=off, bytes=size,
                 start=start, end=start + took, link=link)  # fmt: skip
        clock = 10**9 * server if self.far else 0
        link = dict(link, unique=0, peer=self.job.id("%s:50:vol-client-%d" % (self.host, server)))
        begin = start + took // 20 + clock
        brick = "/brick%d%s" % (server, file)
        answered = self.add(SERVER, -1, 60 + server, 1, 600 + server, host, layer="SERVER", op="glusterfs " + kind, kind=kind, file=file,
                            off=off, bytes=size, start=begin, end=begin + took * 9 // 10, link=link)  # fmt: skip
        for k in range(accesses):
            at = begin + took * 9 // 10 - 2 * US - disk + k * disk // accesses
            self.add(SERVER, -1, 60 + server, 1, 600 + server, host, layer="POSIX", op="pwrite64" if kind == "write" else "pread64",
                     kind=kind, file=brick, off=off, bytes=size // accesses, start=at, end=at + disk // accesses,
                     parent=answered["id"])  # fmt: skip
        return start + took

    def request(self, rank, kind, file, off, size, start, rpcs, tid=None):
        """One request of the kernel; rpcs: (server, kind, start after it, duration, disk). Returns its end."""
        self.unique += 1
        tid = tid or 2000 + rank
        link = dict(tid=tid, unique=2 * self.unique, object=9000 + self.job.id("#node of " + file), mark=3 * self.unique if self.marks else 0, peer=0)
        end = start
        for server, what, after, took, disk in rpcs:
            share = size // max(1, len(rpcs) - 1)
            end = max(end, self.rpc(tid, server, what, file, off, share, start + after, took, disk, unique=3 * self.unique))
        end += 10 * US
        self.add(FUSE, -1, 50, 1, 501, self.host, layer="FUSE", op="fuse " + kind, kind=kind, file=file, off=off, bytes=size,
                 start=start, end=end, link=link)  # fmt: skip
        return end

    def move(self, rank, kind, file, off, size, start, rpcs, piece=131072, before=100 * US, between=20 * US, after=30 * US, parent=None):
        """A read or write of a rank and its requests, one after the other; rpcs: of each. Returns its end."""
        call = self.call(rank, "POSIX", "pwrite" if kind == "write" else "pread", kind, file, off, size, start, start, parent)
        now = start + before
        for at in range(0, size, piece):
            now = self.request(rank, kind, file, off + at, min(piece, size - at), now, rpcs) + between
        call["end"] = now - between + after
        return call["end"]

    def finish(self):
        """Puts the records into the job."""
        for (role, rank, pid, lane, tid, host), calls in self.lanes.items():
            calls = sorted(calls, key=lambda c: (c["end"], -c["start"]))
            for at in range(0, len(calls), 2000):
                some, files = calls[at : at + 2000], []

                def file_of(name):
                    id = name if isinstance(name, int) else self.job.id(name)
                    if id not in files:
                        files.append(id)
                    return files.index(id)

                packed = pack(some, file_of)
                words = (len(packed) + 7) // 8
                self.job.record("CALLS", "CALLS", rank, {"file": files, "call": packed.ljust(8 * words, b"\0")}, PID=pid, PROGRAM=1, LANE=lane,
                                THREAD=tid, TID=tid, COUNT=len(some), F_ORIGIN_TIMESTAMP=1e-9, FILES=len(files), WORDS=words,
                                HOST=self.job.id(host), ROLE=role)  # fmt: skip
