#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pictures.py LOG... -o DIR: four pictures of logs, with matplotlib.

    rate.png        rate by rank and time: which ranks moved data, and when, with the phases that the program named
    operations.png  operations per rank, by kind
    runs.png        variation over runs: run time and time in I/O of each log, with mean and standard deviation
    phases.png      what each named phase took, and how much of it files were in use

The data are frames of the package iorama: docs/python.md."""
import argparse
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402
from matplotlib.ticker import MaxNLocator  # noqa: E402

import iorama  # noqa: E402

READ, WRITE, META = "#2b6cb0", "#c05621", "#6b46c1"
PHASES = ["#2f855a", "#b7791f", "#718096", "#97266d", "#2c7a7b"]


def rate(log, axes):
    """Bytes per second of each rank and bin, at the lowest layers; phases above."""
    cells = log.timeline
    cells = cells[cells.layer.isin(["POSIX", "STDIO"])]
    ranks, run_time = log.job["nprocs"], log.job["run_time"]
    step = (cells.end - cells.start).min()
    bins = max(1, int(numpy.ceil(run_time / step - 1e-6)))
    grid = numpy.zeros((int(cells.last_rank.max()) + 1 if ranks > len(cells) else ranks, bins))
    for cell in cells.itertuples():
        first, last = int(cell.start / step + 0.5), min(bins, max(int(cell.start / step + 0.5) + 1, int(cell.end / step + 0.5)))
        many = cell.last_rank - cell.first_rank + 1
        value = (cell.bytes_read + cell.bytes_written) / many / (cell.end - cell.start)
        grid[int(cell.first_rank) : int(cell.last_rank) + 1, first:last] += value
    top = grid.max() or 1
    shown = numpy.ma.masked_less_equal(grid, 0)
    picture = axes.imshow(
        shown / 2**20, aspect="auto", origin="lower", extent=(0, bins * step, -0.5, grid.shape[0] - 0.5), cmap="viridis",
        norm=LogNorm(vmin=max(top / 1e4, grid[grid > 0].min() if (grid > 0).any() else top) / 2**20, vmax=top / 2**20 * 1.0001),
        interpolation="nearest",
    )  # fmt: skip
    axes.figure.colorbar(picture, ax=axes, label="MiB/s of a rank")
    names = list(dict.fromkeys(log.marks.name)) if len(log.marks) else []
    for mark in log.marks.itertuples():
        axes.axvspan(mark.start, mark.end, ymin=1.01, ymax=1.05, color=PHASES[names.index(mark.name) % len(PHASES)], clip_on=False)
    for i, name in enumerate(names):
        axes.text(i / max(1, len(names)), 1.07, name, color=PHASES[i % len(PHASES)], transform=axes.transAxes, fontsize=9)
    axes.set(xlabel="time, s", ylabel="rank", xlim=(0, run_time))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def operations(log, axes):
    """Reads, writes and metadata calls of each rank, one above the other."""
    ranks = log.ranks.sort_values("rank")
    counters = log.counters
    posix = counters[(counters.module == "POSIX") & (counters["rank"] >= 0)]
    meta = posix[posix.counter.isin(["POSIX_OPENS", "POSIX_SEEKS", "POSIX_STATS", "POSIX_FSYNCS"])]
    metas = meta.assign(value=meta.value.astype(float)).groupby("rank").value.sum().reindex(ranks["rank"]).fillna(0).to_numpy()
    axes.bar(ranks["rank"], ranks.reads, 0.8, color=READ, label="reads")
    axes.bar(ranks["rank"], ranks.writes, 0.8, bottom=ranks.reads, color=WRITE, label="writes")
    axes.bar(ranks["rank"], metas, 0.8, bottom=ranks.reads + ranks.writes, color=META, label="metadata calls")
    axes.set(xlabel="rank", ylabel="operations")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False)


def runs(logs, axes):
    """Run time and time in I/O of each run; what they vary by."""
    total = numpy.array([log.job["run_time"] for log in logs])
    in_io = numpy.array([log.report["verdict"]["io_time"] or 0 for log in logs])
    places = numpy.arange(1, len(logs) + 1)
    for values, colour, label in ((total, "#718096", "run time"), (in_io, WRITE, "time in I/O")):
        mean, spread = values.mean(), values.std(ddof=1) if len(values) > 1 else 0
        axes.plot(places, values, "o", color=colour, label="%s: %.3g ± %.2g s" % (label, mean, spread))
        axes.axhline(mean, color=colour, linewidth=1)
        axes.axhspan(mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="run", ylabel="seconds", xticks=places, ylim=(0, None))
    axes.legend(frameon=False)


def phases(log, axes):
    named = log.phases
    if len(named) == 0:
        axes.text(0.5, 0.5, "the program names no phases", ha="center")
        return
    places = numpy.arange(len(named))
    axes.barh(places, named.time, color="#cbd2db", label="in the phase")
    axes.barh(places, named.io_time, color=WRITE, label="... while files were in use")
    axes.set_yticks(places, named.name)
    axes.invert_yaxis()
    axes.set(xlabel="seconds")
    axes.legend(frameon=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("logs", nargs="+")
    parser.add_argument("-o", "--out", default=".")
    given = parser.parse_args()
    logs = [iorama.read(path) for path in given.logs]
    os.makedirs(given.out, exist_ok=True)
    for name, draw, what in (("rate", rate, logs[0]), ("operations", operations, logs[0]), ("runs", runs, logs), ("phases", phases, logs[0])):
        figure, axes = plt.subplots(figsize=(7, 3.4), dpi=150, layout="constrained")
        draw(what, axes)
        figure.savefig(os.path.join(given.out, name + ".png"))
        plt.close(figure)


if __name__ == "__main__":
    main()
