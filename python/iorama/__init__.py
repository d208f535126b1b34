# SPDX-License-Identifier: BSD-3-Clause
"""iorama in Python: what programs do with their files, as pandas frames.

    import iorama

    log = iorama.read("job.darshan")        # any Darshan log, or one of iorama's
    log                                      # in a notebook: the verdict, numbers and findings
    log.files, log.ranks, log.timeline      # frames
    log.events()                             # every read and write, where the log has a trace

    store = iorama.Store()                   # the store of `iorama index`, by the iorama program
    store.jobs(user="ann", since="-7d")
    store.series(17)

    server = iorama.Server("http://127.0.0.1:8417", token)    # iorama serve

    with iorama.profile() as run:            # this process, from here to there
        with iorama.phase("read"):           # a part of it, with a name
            ...
    run.log

Nothing is compiled: logs and stores are read by the program `iorama`, which has to be in PATH (or IORAMA_PROGRAM names
it), a server by HTTP. pandas is needed for frames only; phase() and profile() work without it."""
from .errors import Error
from .mark import begin, end, observed, phase, profile
from .log import Log, read, run
from .server import Server
from .store import Store

__all__ = ["Error", "Log", "Server", "Store", "begin", "end", "observed", "phase", "profile", "read", "run"]
__version__ = "0.2.0"
