/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.h: what calls below the file system tell of a job, in figures that rules know. */
#ifndef RAMA_PATH_FACTS_H
#define RAMA_PATH_FACTS_H

#include "path/server.h"

/* Seconds of run time: what a rank waited for or, of writes to one file, all writers of a host: the
 * kernel lets one of them in at a time. */
struct rama_path_facts {
	double requests, rpcs, disks;
	/* servers: the one whose answers take longest, and the others */
	const struct rama_path_server *server; /* by name */
	size_t n_servers;
	size_t slow, full; /* of them: the slowest, and the one with most bytes; RAMA_PATH_NONE */
	double slow_mean, other_mean; /* seconds from request to answer; the median of the others */
	double slow_cost;
	double full_bytes, mean_bytes, full_cost;
	/* calls that became many small requests */
	double cut_calls, cut_requests, cut_bytes, cut_cost;
	/* writes that waited for other writers of the same file before their first request */
	double waits, writers, wait_time, wait_cost,
		wait_all; /* wait_all: of all time of such calls */
	const char *wait_file;
	/* requests that write, those of them for which servers were read first */
	double writes, modified, modify_reads, modify_bytes, modify_cost;
	/* reads of FUSE mounts; those that the page cache answered */
	double reads, cached, cached_bytes;
	/* in servers: all time, in their disks, and what requests waited for the rest of it */
	double server_time, disk_time, queue_cost;
	double load, load_bytes; /* requests of others */
};

/* Names are copied to the arena. RAMA_EMEMORY. */
int rama_path_facts_make(struct rama_path_facts *f, const struct rama_path *p,
			 struct rama_arena *arena);

#endif
