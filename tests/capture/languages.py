#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""languages.py BUILD [CASE...]: programs in other languages, unchanged. How they move their data is theirs; how
much of it, in which file and by which process is known."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, Skip, main, must  # noqa: E402


def need(program):
    found = shutil.which(program)
    if not found:
        raise Skip("%s is not installed" % program)
    return found


def python():
    """The system's own, whatever else comes first in PATH."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else need("python3")


def total(run, name, counter, modules=("POSIX", "STDIO")):
    """Over all logs and ranks: a counter of the file of this name in the folder of the run."""
    path = name if name.startswith("<") else os.path.join(run.folder, name)
    return sum(
        record["counters"].get("%s_%s" % (module, counter), 0)
        for log in run.logs
        for module in modules
        for record in log.records(module)
        if record["name"] == path
    )


def wanted(run, mode, name, written=None, read=None):
    for counter, value in (("BYTES_WRITTEN", written), ("BYTES_READ", read)):
        if value is not None:
            found = total(run, name, counter)
            must(found == value, "%s: %s of %s is %d, not %d", mode, counter, name, found, value)


def observed(h, command, modes=("bare", "run"), status=0, **more):
    """Runs it in each way; the output must be that of the unobserved run."""
    plain = h.start(command, "plain", **more)
    must(plain.status == status, "by itself: status %s: %r", plain.status, plain.err[-300:])
    for mode in modes:
        run = h.start(command, mode, **more)
        must(run.status == status, "%s: status %s: %r", mode, run.status, run.err[-500:])
        must(run.out == plain.out, "%s: printed %r, not %r", mode, run.out[-300:], plain.out[-300:])
        must(not run.left, "%s: left behind: %s", mode, run.left)
        yield mode, run


# ---- cases

PYTHON = """
import os
with open("a", "wb") as f:
    for i in range(100):
        f.write(b"x" * 1000)
with open("a", "rb") as f:
    f.seek(50000)
    data = f.read()
assert len(data) == 50000
with open("text", "w") as f:
    print("hello", file=f)
fd = os.open("raw", os.O_RDWR | os.O_CREAT)
os.write(fd, b"12345")
os.pread(fd, 3, 1)
os.close(fd)
"""


def python_io(h):
    for mode, run in observed(h, [python(), "-c", PYTHON]):
        wanted(run, mode, "a", written=100000, read=50000)
        wanted(run, mode, "text", written=6)
        wanted(run, mode, "raw", written=5, read=3)


POOL = """
import multiprocessing, os, sys
def work(i):
    with open("data%d" % (i % 16), "rb", buffering=0) as f:
        n = len(f.read(4096)) + len(f.read(4096))
    return n
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    for i in range(16):
        with open("data%d" % i, "wb") as f:
            f.write(bytes(8192))
    with multiprocessing.Pool(8) as pool:
        n = sum(pool.map(work, range(160), chunksize=1))
        pool.close()
        pool.join()
    assert n == 160 * 8192, n
"""

KILLED = """
import multiprocessing, os, signal, sys, time
def work(i, ready):
    with open("data%d" % i, "rb", buffering=0) as f:
        for _ in range(8):
            assert len(f.read(1000)) == 1000
    ready.send(b"x")
    time.sleep(60)
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    workers = []
    for i in range(8):
        with open("data%d" % i, "wb") as f:
            f.write(bytes(8192))
        mine, theirs = multiprocessing.Pipe()
        p = multiprocessing.Process(target=work, args=(i, theirs))
        p.start()
        workers.append((p, mine))
    for p, mine in workers:
        mine.recv()
    for p, mine in workers:
        os.kill(p.pid, signal.SIGKILL)
        p.join()
"""


def pool(h):
    for _, run in observed(h, [python(), "-c", POOL], modes=("run",)):
        must(len(run.logs) == 1 and run.logs[0].job["nprocs"] == 9, "nprocs is %s", run.logs[0].job["nprocs"])
        read = sum(total(run, "data%d" % i, "BYTES_READ") for i in range(16))
        must(read == 160 * 8192, "%d bytes read, not %d", read, 160 * 8192)
        written = sum(total(run, "data%d" % i, "BYTES_WRITTEN") for i in range(16))
        must(written == 16 * 8192, "%d bytes written, not %d", written, 16 * 8192)
    for _, run in observed(h, [python(), "-c", POOL], modes=("bare",)):
        must(len(run.logs) == 9, "%d logs", len(run.logs))


def killed_workers(h):
    for _, run in observed(h, [python(), "-c", KILLED], modes=("run",)):
        log = run.logs[0]
        must(log.job["nprocs"] == 9, "nprocs is %s", log.job["nprocs"])
        for i in range(8):
            wanted(run, "run", "data%d" % i, written=8192, read=8000)
        # their parent ended them, and all they did before is there: nothing is missing
        must("iorama_unfinished" not in log.metadata, "metadata: %s", log.metadata)
        ended = sorted(r["counters"]["PROCESS_ENDED"] for r in log.records("PROCESS"))
        must(ended == [1] + [5] * 8, "ended: %s", ended)


def threads(h):
    script = """
import threading
def work(i):
    with open("t%d" % i, "wb", buffering=0) as f:
        for _ in range(100):
            f.write(b"x" * 10)
all = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in all]
[t.join() for t in all]
"""
    for mode, run in observed(h, [python(), "-c", script]):
        for i in range(8):
            wanted(run, mode, "t%d" % i, written=1000)


PERL = """
open(my $out, '>', 'perl') or die; print $out "x" x 1000 for 1..50; close($out);
open(my $in, '<', 'perl') or die; local $/; my $all = <$in>; close($in);
print length($all), "\\n";
sysopen(my $fh, 'sys', 0102) or die; syswrite($fh, "12345"); close($fh);
"""


def perl(h):
    for mode, run in observed(h, [need("perl"), "-e", PERL]):
        wanted(run, mode, "perl", written=50000, read=50000)
        wanted(run, mode, "sys", written=5)


BASH = """
echo hello >out
for i in 1 2 3; do echo "line $i"; done >>out
while read -r line; do echo "<$line>"; done <out
exec 7>seven; echo seven >&7; exec 7>&-
x=$(cat out); echo "${#x}"
cat out out >twice
printf '%s' "end" >last; exit 3
"""


def bash(h):
    for mode, run in observed(h, [need("bash"), "-c", BASH], status=3):
        # its own words go through the stream of standard output, wherever that leads
        wanted(run, mode, "<STDOUT>", written=6 + 3 * 7 + 8 + 3 * 9 + 6 + 3 + 3)
        wanted(run, mode, "twice", written=2 * (6 + 3 * 7))


def sh(h):
    """another shell, which moves descriptors in other ways"""
    script = "echo abc >f; (echo def) >>f; cat <f >g; read -r x <g; echo $x; { echo 1; echo 2; } >h"
    for mode, run in observed(h, ["sh", "-c", script]):
        wanted(run, mode, "f", written=8)
        wanted(run, mode, "g", written=8)
        wanted(run, mode, "h", written=4)


def coreutils(h):
    script = """
set -e
dd if=/dev/zero of=dd bs=4096 count=100 2>/dev/null
dd if=dd of=dd2 bs=1000 count=50 skip=2 2>/dev/null
cp dd copy; cat dd >cat; mv cat moved; cmp dd copy
tar cf tar dd copy; mkdir x; tar xf tar -C x; gzip -k copy; ls -l >/dev/null; rm -r x
"""
    for mode, run in observed(h, ["sh", "-c", script]):
        wanted(run, mode, "dd2", written=50000, read=0)
        must(total(run, "dd", "WRITES") == 100, "%s: %d writes of dd", mode, total(run, "dd", "WRITES"))
        wanted(run, mode, "copy", written=409600)
        wanted(run, mode, "cat", written=409600)
        wanted(run, mode, "x/copy", written=409600)


JAVA = """
import java.io.*; import java.nio.file.*;
public class Main { public static void main(String[] a) throws Exception {
  try (FileOutputStream f = new FileOutputStream("stream")) { for (int i = 0; i < 100; i++) f.write(new byte[1000]); }
  Files.write(Path.of("nio"), new byte[54321]);
  System.out.println(Files.readAllBytes(Path.of("nio")).length);
  try (RandomAccessFile r = new RandomAccessFile("stream", "r")) {
    r.seek(5000);
    System.out.println(r.read(new byte[3000]));
  }
} }
"""


def java(h):
    need("java")
    command = [need("java"), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "Main.java"]
    for mode, run in observed(h, command, modes=("run",), prepare={"Main.java": JAVA.encode()}):
        wanted(run, mode, "stream", written=100000, read=3000)
        wanted(run, mode, "nio", written=54321, read=54321)


RUST = """
use std::fs; use std::io::{Read, Write, Seek, SeekFrom};
fn main() -> std::io::Result<()> {
  let mut f = fs::File::create("rust")?;
  for _ in 0..100 { f.write_all(&[0u8; 1000])?; }
  let mut g = fs::File::open("rust")?; g.seek(SeekFrom::Start(60000))?;
  let mut v = Vec::new(); g.read_to_end(&mut v)?; println!("{}", v.len());
  let put = |i| std::thread::spawn(move || fs::write(format!("t{}", i), vec![0u8; 777]).unwrap());
  let t: Vec<_> = (0..4).map(put).collect();
  for x in t { x.join().unwrap(); }
  println!("{}", fs::copy("rust", "copied")?);
  Ok(()) }
"""


def rust(h):
    compiler = need("rustc")
    source, program = os.path.join(h.bin, "rust.rs"), os.path.join(h.bin, "rust")
    with open(source, "w") as file:
        file.write(RUST)
    done = subprocess.run([compiler, "-o", program, source], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise Skip("rustc does not work here: %s" % done.stderr[:200])
    for mode, run in observed(h, [program]):
        wanted(run, mode, "rust", written=100000, read=40000 + 100000)
        wanted(run, mode, "copied", written=100000)
        for i in range(4):
            wanted(run, mode, "t%d" % i, written=777)


GO = """
package main
import ("fmt"; "os")
func main() { os.WriteFile("go", make([]byte, 12345), 0644); b, _ := os.ReadFile("go"); fmt.Println(len(b)) }
"""


def go(h):
    """makes its system calls itself: it runs, and cannot be seen"""
    compiler = need("go")
    source, program = os.path.join(h.bin, "main.go"), os.path.join(h.bin, "go")
    with open(source, "w") as file:
        file.write(GO)
    env = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": os.path.join(h.quiet, "go")}
    done = subprocess.run([compiler, "build", "-o", program, source], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise Skip("go does not work here: %s" % done.stderr[:200])
    for _ in observed(h, [program]):
        pass


CASES = {
    "python": python_io,
    "python-pool": pool,
    "python-killed": killed_workers,
    "python-threads": threads,
    "perl": perl,
    "bash": bash,
    "sh": sh,
    "coreutils": coreutils,
    "java": java,
    "rust": rust,
    "go": go,
}

if __name__ == "__main__":
    main(CASES)
