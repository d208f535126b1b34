/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h: how the agent stands, for Prometheus: at an address, or as a file that node_exporter
 * reads. No job, user or file is named. Inside agent only. */
#ifndef RAMA_AGENT_METRICS_H
#define RAMA_AGENT_METRICS_H

#include <uv.h>

#include "base/err.h"
#include "base/out.h"

#define RAMA_AGENT_METRICS_CLIENTS 8 /* at a time; others wait */

/* what is told */
struct rama_agent_sums {
	uint64_t made, dropped, lost, stored, repeated, refused, bytes, limit, messages;
	uint64_t left; /* messages in spools of others that were taken over */
	uint64_t jobs, processes;
	bool full, failing;
};

struct rama_agent_metrics;

struct rama_agent_metrics_client {
	struct rama_agent_metrics *of;
	uv_tcp_t tcp;
	uv_write_t write;
	enum { RAMA_AGENT_METRICS_FREE, RAMA_AGENT_METRICS_OPEN, RAMA_AGENT_METRICS_CLOSING } state;
	char in[4096];
	size_t n;
	uint64_t since; /* ms */
	struct rama_out out;
};

struct rama_agent_metrics {
	uv_loop_t *loop;
	uv_tcp_t tcp;
	bool listens, waits; /* waits: somebody is at the door, and no client is free */
	const char *file;    /* NULL: none */
	uint64_t written;    /* ms */
	int port;
	const struct rama_agent_sums *sums;
	struct rama_agent_metrics_client client[RAMA_AGENT_METRICS_CLIENTS];
};

/* where: ADDRESS:PORT, or the path of a file, which begins with '/' and ends in .prom. Handles are
 * closed with all others of the loop. */
int rama_agent_metrics_open(struct rama_agent_metrics *m, uv_loop_t *loop, const char *where,
			    const struct rama_agent_sums *sums, struct rama_err *e);
/* ends who is there */
void rama_agent_metrics_close(struct rama_agent_metrics *m);
/* once a second: writes the file, ends those who are too slow */
int rama_agent_metrics_second(struct rama_agent_metrics *m, struct rama_err *e);

#endif
