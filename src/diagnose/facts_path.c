/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_path.c: facts of requests, servers and disks below the calls of a job; path/facts.h works
 * them out. */
#include <math.h>

#include "diagnose/facts.h"
#include "path/facts.h"

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

void rama_diag_facts_path(struct rama_diag_facts *f)
{
	const struct rama_path_facts *p = f->view->path;

	if (p == NULL)
		return;
	f->path_requests = p->requests;
	f->path_rpcs = p->rpcs;
	f->path_disks = p->disks;
	for (size_t i = 0; i < p->n_servers; i++)
		f->path_servers += p->server[i].requests > 0;
	if (f->path_servers >= 2 && p->slow != RAMA_PATH_NONE) {
		const struct rama_path_server *s = &p->server[p->slow];

		f->slow_server = s->name;
		f->full_server = p->server[p->full].name;
		f->server_mean = p->slow_mean;
		f->other_server_mean = p->other_mean;
		f->server_ratio = ratio(p->slow_mean, p->other_mean);
		f->server_last = (double)s->last;
		f->server_shared = (double)s->shared;
		f->server_cost = p->slow_cost;
		f->server_skew = ratio(p->full_bytes, p->mean_bytes);
		f->server_bytes = p->full_bytes;
		f->server_bytes_mean = p->mean_bytes;
		f->server_skew_cost = p->full_cost;
	}
	f->cut_calls = p->cut_calls;
	f->cut_requests = p->cut_requests;
	f->cut_bytes = p->cut_bytes;
	f->cut_each = ratio(p->cut_bytes, p->cut_requests);
	f->cut_cost = p->cut_cost;
	f->turn_waits = p->waits;
	f->turn_time = p->wait_time;
	f->turn_share = ratio(p->wait_time, p->wait_all);
	f->turn_cost = p->wait_cost;
	f->turn_file = p->wait_file;
	f->fuse_writes = p->writes;
	f->fuse_modified = p->modified;
	f->fuse_modify_reads = p->modify_reads;
	f->fuse_modify_bytes = p->modify_bytes;
	f->fuse_modify_cost = p->modify_cost;
	f->mount_reads = p->reads;
	f->cached_reads = p->cached;
	f->cached_bytes = p->cached_bytes;
	f->cached_share = ratio(p->cached, p->reads);
	f->server_time = p->server_time;
	f->server_disk = p->disk_time;
	f->server_queue = fmax(0, p->server_time - p->disk_time);
	f->queue_share = ratio(f->server_queue, p->server_time);
	f->queue_cost = p->queue_cost;
	f->other_load = p->load;
}
