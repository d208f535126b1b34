# SPDX-License-Identifier: BSD-3-Clause
"""The whole way of a site: an observed program, an agent, a leaf node, the hub, two collectors, PostgreSQL; each part is killed -9 in
turn while events flow, and nothing is lost or doubled."""
import signal

import harness
import loads
import servers
from harness import expect
from postgres import Database, psycopg2
from servers import wait_for


def chain(case):
    if psycopg2 is None:
        raise harness.Skip("python3-psycopg2 is not installed")
    with servers.Postgres(durable=True) as pg, servers.Nats() as hub, servers.Nats(hub=hub) as leaf:
        db = Database(pg.url)
        case.rows, case.value = db.rows, db.value
        sink = "%s?domain=hub&quiet=1000" % leaf.url

        def collector():
            return case.start(case.iorama, "collect", hub.url, "--json", "--ack-wait", "2", "--store", pg.url)

        def stored():
            # one that began while the database was away has ended; whoever looks after services begins it again
            running[:] = [one if one.poll() is None else collector() for one in running]
            try:
                return db.value("SELECT coalesce(sum(n), 0) FROM blocks")
            except psycopg2.Error:  # the tables are not there yet
                return 0

        running = [collector(), collector()]
        agent = case.agent("--no-samples", "--sink", sink)
        load = loads.Load(case, threads=4, calls=12000, extra=("--pace", "100"))
        load.start()
        for number, part in enumerate(("collector", "database", "agent", "leaf", "hub", "collector", "database")):
            case.wait(lambda: stored() > (number + 1) * 4000, "events in the store")
            if part == "collector":
                running[0].kill()
                running[0].wait()
                running[:] = [running[1], collector()]
            elif part == "agent":
                agent.kill()
                agent.wait()
                agent = case.agent("--no-samples", "--sink", sink)
            else:
                server = {"database": pg, "hub": hub, "leaf": leaf}[part]
                server.kill()
                server.start()
        load.end()
        pids = ",".join(str(rank["pid"]) for rank in load.truth["ranks"])
        case.wait(lambda: stored() and db.value("SELECT count(*) FROM processes WHERE state <> 'running' AND made = stored AND pid IN (%s)" % pids)
                  == len(load.truth["ranks"]), "all events in the store")  # fmt: skip
        load.check()
        wait_for("an empty spool", lambda: case.status()["spool"]["messages"] == 0)
        case.end(agent, send=signal.SIGTERM)
        totals = loads.accounts(case)
        expect(totals["dropped"] == 0 and totals["lost"] == 0, "events were lost: %s", totals)
        for one in running:
            case.end(one, send=signal.SIGTERM)
        case.command("store", "verify", "--store", pg.url)


if __name__ == "__main__":
    harness.main({"chain": chain})
