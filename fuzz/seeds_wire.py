# SPDX-License-Identifier: BSD-3-Clause
"""Blocks and messages as docs/format/wire.md tells them, written without the project's own code. Part of make-seeds.py."""
import struct
import zlib

FAILED, OFF_NEXT, OFF_NONE, BYTES_SAME, BYTES_NONE, CALL_NEXT, PARENT_NONE, PARENT_SAME = (1 << k for k in range(8))
PROCESS, NAMES, BLOCK, ACTIVITY, SAMPLE, LOG, LOSS, COUNTERS, FOCUS, MOMENT = range(1, 11)
JOB = b"1000/run-17"


def fold(v):
    return v << 1 if v >= 0 else (-v << 1) - 1


def varint(v):
    text = b""
    while v >= 128:
        text, v = text + bytes([v & 127 | 128]), v >> 7
    return text + bytes([v])


def signed(*values):
    return b"".join(varint(fold(v)) for v in values)


def unsigned(*values):
    return b"".join(varint(v) for v in values)


def text(s):
    return varint(len(s)) + s


def column(values):
    if not values:
        return b""
    if len(set(values)) == 1:
        width = (values[0].bit_length() + 7) // 8
        return bytes([128 | width, 0]) + values[0].to_bytes(width, "little")
    width = (max(values).bit_length() + 7) // 8
    return bytes([width, 0]) + b"".join(bytes(v >> 8 * k & 255 for v in values) for k in range(width))


def body(calls, events):
    """events: (end, dur, off, bytes, record, call, parent, what, failed); every value goes into its column."""
    codes, records, cols = [], [], [[] for _ in range(8)]
    t0 = min(event[0] for event in events)
    end, call, following = t0, 0, {}
    for event in events:
        code = event[7] | (FAILED if event[8] else 0) << 8
        if code not in codes:
            codes.append(code)
        if event[4] not in records:
            records.append(event[4])
        cols[0].append(codes.index(code))
        cols[1].append(records.index(event[4]))
        cols[2].append(fold(event[0] - event[1] - end))
        cols[3].append(event[1])
        cols[4].append(fold(event[2] - following.get(event[4], 0)))
        cols[5].append(event[3] % (1 << 64))
        cols[6].append(fold(event[5] - call))
        cols[7].append(fold(event[5] - event[6]))
        end, call = event[0], event[5]
        following[event[4]] = event[2] + max(event[3], 0)
    made = varint(len(calls))
    for what in calls:
        made += b"".join(bytes([len(word)]) + word for word in what)
    made += varint(len(codes)) + struct.pack("<%dH" % len(codes), *codes)
    made += varint(len(records)) + struct.pack("<%dQ" % len(records), *records)
    return made + b"".join(column(col) for col in cols)


def block(inside, ends, n, deflated=False, job=JOB):
    stored = inside
    if deflated:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        stored = packer.compress(inside) + packer.flush()
    head = struct.pack("<IIIIIIQQqqq16s", zlib.crc32(stored), len(stored), len(inside), n, 2, 4711, 1000, 7, 3,
                       min(ends), max(ends), bytes(range(16)))
    # lane, thread, zero: put in behind the number of events
    head = head[:16] + struct.pack("<III", 2, 4711, 0) + head[24:]
    head = struct.pack("<BBH", 1, 1 if deflated else 0, len(job)) + head + job
    return b"IBLK" + struct.pack("<I", zlib.crc32(head)) + head + stored


CALLS = [(b"POSIX", b"write", b"pwrite64"), (b"STDIO", b"read", b"fread"), (b"H5D", b"open", b"H5Dopen2")]


def block_seeds():
    run = [(1000 + 10 * k, 4 + k % 3, 100 * k, 100, 77, k + 1, 0, 0, False) for k in range(40)]
    odd = [(5, 7, -1, -1, 0, 1, 0, 2, True), (3, 1 << 40, 1 << 50, 1, 1 << 63, 5, 1, 1, False),
           (9, 0, 4096, 4096, 0, 2, 1, 0, False)]
    for name, events in (("run", run), ("odd", odd), ("one", odd[:1])):
        ends = [event[0] for event in events]
        yield name, block(body(CALLS, events), ends, len(events))
        yield name + "-deflated", block(body(CALLS, events), ends, len(events), True)
    # as expected: nothing in the columns of surprises
    flags = OFF_NEXT | BYTES_SAME | CALL_NEXT | PARENT_NONE
    inside = varint(1) + b"\5POSIX\4read\4read" + varint(1) + struct.pack("<H", flags << 8) + varint(1) + \
        struct.pack("<Q", 77) + column([0] * 9) + column([0] * 9) + column([0] * 9) + column([0] * 9)
    yield "expected", block(inside, [50], 9)
    yield "head", block(b"", [50], 1)


def message(kind, payload):
    head = struct.pack("<BBH", 2 if kind >= MOMENT else 1, kind, 0)
    return b"IMSG" + struct.pack("<I", zlib.crc32(head + payload)) + head + payload


def message_seeds():
    yield "process", message(PROCESS, bytes(range(16)) + unsigned(3) + text(JOB) + text(b"anna") + text(b"node01") +
                             text(b"/bin/x") + text(b"x -y \"z\"\n") + text(b"") + signed(1000, 77, 4711, -1, 0) +
                             signed(1700000000 * 10 ** 9, 0, 1700000001 * 10 ** 9) + unsigned(1, 10 ** 7, 3, 0, 2))
    yield "names", message(NAMES, text(JOB) + unsigned(2, 77) + text(b"/a/b") + unsigned((1 << 64) - 1) +
                           text(b"\xff \"\n" + b"p" * 1300))
    yield "no-names", message(NAMES, text(JOB) + unsigned(0))
    yield "block", message(BLOCK, block(b"", [50], 1))
    yield "activity", message(ACTIVITY, bytes(16) + text(JOB) + signed(5, 1700000000 * 10 ** 9, 10 ** 9) + unsigned(1) +
                              text(b"POSIX") + signed(1, 2, 3, 4, 5, 6, 7, 8))
    yield "counters", message(COUNTERS, bytes(16) + unsigned(7) + text(JOB) + signed(5, 1700000000 * 10 ** 9, 1699999999 * 10 ** 9) +
                              unsigned(1) + text(b"POSIX") + signed(1, 2, 3, 4, 5, 6, 7, 8))
    yield "sample", message(SAMPLE, text(b"node01") + signed(1700000000 * 10 ** 9) + unsigned(2) + text(b"cpu.user") +
                            struct.pack("<d", 0.25) + text(b"load") + struct.pack("<d", float("nan")))
    yield "log", message(LOG, text(b"") + text(b"x.darshan") + bytes(range(256)))
    yield "loss", message(LOSS, text(b"node01-7") + unsigned(9) + text(JOB) + text(b"the spool is full") + unsigned(100, 3))
    nobody, somebody = unsigned(0, 0) + signed(0, -1), unsigned(1 << 63, 9000) + signed(4711, 3)
    yield "focus", message(FOCUS, text(b"node01-7") + text(b"node01") + unsigned(2) + text(JOB) + unsigned(8, 100) + somebody * 2 + unsigned(0) +
                           text(b"servers") + unsigned(3, 0) + nobody * 2 + unsigned(1) + somebody + text(b"node02") + unsigned(11, 500, 2))
    yield "no-focus", message(FOCUS, text(b"node01-7") + text(b"node01") + unsigned(0))
    at = bytes(range(16)) + signed(3, 4711) + unsigned(2, 12, 3, 950000) + signed(7000) + signed(1, 2, 3, 4, 5, 6, 7, 8) + unsigned(1, 1) + \
        text(b"flock") + unsigned(3, 4712) + signed(5 * 10 ** 9) + text(b"/a/held")
    moved = unsigned(1 << 63, 2) + text(b"/a/b") + signed(9) + signed(*range(8)) + signed(*range(8, 16))
    moment = text(b"node01") + text(JOB) + signed(1700000000 * 10 ** 9, 10 ** 9) + unsigned(64)
    yield "moment", message(MOMENT, moment + unsigned(2) + at * 2 + unsigned(1) + moved)
    yield "no-moment", message(MOMENT, moment + unsigned(0, 0))
    yield "many", message(NAMES, text(JOB) + unsigned(65536, 1, 0))


def collect_seeds():
    """With the subject that each should have, and with others."""
    for name, data in message_seeds():
        subject = b"iorama.node.node01" if name == "sample" else b"iorama.t.1000.run-17"
        yield name, subject + b"\n" + data
        yield name + "-other", b"iorama.t.1001.run-17\n" + data


HEADER = b"#ProducerName,cnt,exe,file,flushes,job_id,lost,max_byte,module,op,rank,record_id,schema,seq,switches,type,uid,seg:dur," \
    b"seg:irreg_hslab,seg:len,seg:ndims,seg:npoints,seg:off,seg:pt_sel,seg:reg_hslab,seg:start,seg:timestamp,seg:total\n"
OWN = b"job,segment,host,rank,lane,tid,seq,lost,layer,op,fn,record,file,start_ns,end_ns,dur_ns,off,len,call,parent,failed," \
    b"file_bytes\n"


def import_seeds():
    upstream = b'{"schema":"darshan_data","uid":1000,"exe":"/bin/x","job_id":7,"rank":0,"ProducerName":"n1","file":"/a \\"b\\"",' \
        b'"record_id":18446744073709551615,"module":"POSIX","type":"MET","max_byte":-1,"switches":-1,"flushes":-1,"cnt":1,' \
        b'"op":"open","seg":[{"pt_sel":-1,"off":-1,"len":-1,"start":0.1,"dur":0.000003,"total":0.1,"timestamp":1700000000.001}],' \
        b'"seq":40,"lost":0}\n'
    paper = b'{"uid":"99066","exe":"N/A","job_id":226901,"rank":2,"ProducerName":"nid00046","file":"N/A","record_id":16015,' \
        b'"module":"MPIIO","type":"MOD","cnt":1,"op":"write","seg":[{"data_set":"N/A","off":1,"len":1,"dur":0.002296,' \
        b'"timestamp":1653416253.006978},{"off":2,"len":3,"dur":0.1,"timestamp":1653416254}]}\n'
    own = b'{"type":"event","job":"1000/run-17","segment":"03000000000000000000000000000000","host":"n","rank":3,"lane":0,' \
        b'"tid":4000,"seq":45,"lost":0,"layer":"POSIX","op":"read","fn":"pread","record":"9","file":"/s\\ufffd",' \
        b'"file_bytes":"2f73ff","start_ns":1,"end_ns":1700000000004100600,"dur_ns":600,"off":20,"len":-1,"call":46,"parent":0,' \
        b'"failed":true}\n'
    process_line = b'{"type":"process","job":"1000/run-17","segment":"03000000000000000000000000000000","version":1,' \
        b'"state":"running","user":"anna","host":"n","exe":"/x","command":"x","tag":"","uid":1000,"jobid":77,"pid":4003,' \
        b'"rank":3,"nprocs":4,"start_ns":1,"end_ns":0,"seen_ns":5,"made":12,"dropped":0,"missed":0,"lanes":1}\n'
    loss = b'{"type":"loss","agent":"a","number":1,"job":"1000/run-17","why":"full","events":3,"messages":1}\n'
    row = b'"n1",1,"/x","/the "best" file",-1,5,0,-1,"STDIO","open",0,-2,"darshan_data",1,-1,"MET",1000,0.00025,-1,-1,-1,-1,-1,' \
        b'-1,-1,0.1,1700000000.5,0.00025\n'
    own_row = b'"1000/run-17",03000000000000000000000000000000,"n",3,0,4000,0,0,"POSIX","write","pwrite",9,"/a\n""b""",1,2,1,0,' \
        b'100,1,0,0,\n'
    yield "upstream", b"\xff" + upstream * 2
    yield "paper", b"\x06" + paper
    yield "own", b"\x30" + process_line + own + own.replace(b'"seq":45', b'"seq":46') + loss
    yield "mixed", b"\x30" + upstream + b"{\n\n" + paper + own
    yield "csv", b"\x20" + HEADER + row + row.replace(b'"best"', b'""best""')
    yield "csv-own", b"\x20" + OWN + own_row + own_row.replace(b",0,0,\n", b",0,1,2fff\n")
    yield "csv-open", b"\x20" + HEADER + b'"n1\n' * 5 + row
    yield "other", b"\x20#a,b\n1,2\n"
    yield "nothing", b"\x20\xef\xbb\xbf\n\r\n"


def encode_seeds():
    def one(data):
        return struct.pack("<H", len(data)) + data
    told = dict(message_seeds())
    run = dict(block_seeds())
    pieces = [told["process"], told["names"]] + [message(BLOCK, run[k]) for k in ("run", "odd", "run", "one-deflated")] + [told["loss"]]
    pieces.append(message(PROCESS, told["process"][12:].replace(unsigned(1, 10 ** 7, 3, 0, 2), unsigned(2, 3, 3, 0, 2))))
    lane = bytes(range(16)) + unsigned(0, 10, 3)
    state = b"IENC" + bytes(4) + struct.pack("<I", 1) + b"\1" + text(told["process"]) + unsigned(11) + b"\2" + text(lane) + \
        b"\3" + text(bytes(range(16)) + b"\0\1" + unsigned(77, 9, 9, 1, 0, 5, 6, 7) + unsigned(*range(38))) + b"\1" + text(told["names"])
    for choice in (0, 1, 2, 8, 9, 10, 16, 17, 0x31):
        yield "plain-%d" % choice, bytes([choice]) + one(b"") + b"".join(one(piece) for piece in pieces)
    yield "loaded", b"\1" + one(state) + b"".join(one(piece) for piece in pieces)


def clickhouse_seeds():
    def row(first, n, packed):
        return (varint(len(JOB)) + JOB + struct.pack("<qq", 3, 1700000000 * 10 ** 9) + bytes(range(16)) + struct.pack("<IQIqIQ", 1, first, n,
                1700000001 * 10 ** 9, 77, 0) + (varint(len(packed)) + packed if packed else b""))  # fmt: skip

    yield "heads", b"h" + row(0, 100, b"") + row(100, 8192, b"")
    yield "blocks", b"b" + row(0, 3, b"x" * 200) + row(3, 1, b"y")
    yield "ints", b"i" + struct.pack("<4q", 202611, 1700000000 * 10 ** 9, 0, -1)
    yield "url", b"uclickhouse://me@a:9000,b;c.example-1.org/iorama"
