# SPDX-License-Identifier: BSD-3-Clause
"""Recipe of Spack: put this folder into a repository as packages/iorama."""
from spack.package import *

# what can be left out: variant, what CMake calls it, the package, what is lost
PARTS = (
    ("libdeflate", "libdeflate", "libdeflate", "compression three times as fast"),
    ("bzip2", "bzip2", "bzip2", "logs that bzip2 compressed"),
    ("inih", "inih", "inih", "profiles: limits of the rules of a site"),
    ("jansson", "jansson", "jansson", "reading of JSON: iorama serve, run --live, WfFormat"),
    ("sqlite", "sqlite3", "sqlite", "stores in a file"),
    ("libuv", "libuv", "libuv", "iorama agent, run --live"),
    ("postgresql", "libpq", "postgresql", "stores in PostgreSQL"),
    ("ncurses", "ncursesw", "ncurses", "the full screen of iorama watch"),
    ("liburing", "liburing", "liburing", "engine uring of iorama emulate"),
    ("otf2", "otf2", "otf2", "iorama export --otf2"),
    ("libdw", "libdw", "elfutils", "lines of source in reports"),
    ("microhttpd", "microhttpd", "libmicrohttpd", "iorama serve"),
    ("mpi", "mpi", "mpi", "iorama emulate under MPI"),
)


class Iorama(CMakePackage):
    """One tool that shows everything an HPC program does with its files: recorded, live, diagnosed, emulated."""

    license("BSD-3-Clause")
    version("0.2.0")

    for name, _, needs, what in PARTS:
        variant(name, default=name in ("libdeflate", "bzip2", "inih", "jansson", "sqlite", "libuv"), description=what)
        depends_on(needs, when="+" + name)
    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api")

    def cmake_args(self):
        left_out = ["libnats", "zydis"] + [cmake for name, cmake, _, _ in PARTS if not self.spec.satisfies("+" + name)]
        return [self.define("IORAMA_TESTS", False), self.define("IORAMA_WITHOUT", left_out)]
