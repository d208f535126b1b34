/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/metrics.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/form/prom.h"

#define SLOW_MS 10000
#define FILE_MS 15000

static void put(struct rama_out *o, const struct rama_agent_sums *s)
{
	rama_prom_head(o, "iorama_build_info", "gauge", "Which program this is.");
	rama_out_text(o, "iorama_build_info{version=\"" IORAMA_BUILD_VERSION "\"} 1\n");
	rama_prom_one(o, "iorama_up", "gauge", "The agent is at work.", 1);
	rama_prom_one(o, "iorama_store_up", "gauge", "The sink takes what is sent.", !s->failing);
	rama_prom_head(o, "iorama_jobs", "gauge", "Jobs that run on this node.");
	rama_out_fmt(o, "iorama_jobs{state=\"running\"} %llu\n", (unsigned long long)s->jobs);
	rama_prom_one(o, "iorama_processes", "gauge", "Processes that are observed on this node.",
		      (double)s->processes);
	rama_prom_one(o, "iorama_events_seen_total", "counter", "Events that processes made.",
		      (double)s->made + (double)s->dropped);
	rama_prom_one(o, "iorama_events_stored_total", "counter", "Events that the sink has taken.",
		      (double)s->stored);
	rama_prom_one(o, "iorama_events_lost_total", "counter",
		      "Events that had to be dropped, here or by their process.",
		      (double)s->lost + (double)s->dropped + (double)s->refused);
	rama_prom_one(o, "iorama_spool_bytes", "gauge", "What waits in the spool for the sink.",
		      (double)s->bytes);
	rama_prom_one(o, "iorama_spool_limit_bytes", "gauge", "What may wait there.",
		      (double)s->limit);
	rama_prom_one(o, "iorama_bus_pending_messages", "gauge",
		      "Messages that the sink has not confirmed.", (double)s->messages);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* complete or not at all: node_exporter reads it at any time */
static int write_file(const struct rama_agent_metrics *m, struct rama_err *e)
{
	char temp[PATH_MAX + 16];
	struct rama_out out;
	FILE *f;
	bool ok;

	rama_out_init(&out, NULL, NULL);
	put(&out, m->sums);
	snprintf(temp, sizeof(temp), "%s.%ld", m->file, (long)getpid());
	f = out.error == 0 ? fopen(temp, "we") : NULL;
	ok = f != NULL && fchmod(fileno(f), 0644) == 0 &&
	     fwrite(out.buf, 1, out.used, f) == out.used;
	if (f != NULL && fclose(f) != 0)
		ok = false;
	if (ok && rename(temp, m->file) != 0)
		ok = false;
	if (!ok) {
		rama_err_set(e, RAMA_EIO, "%.400s: %s", m->file, strerror(errno));
		unlink(temp);
	}
	rama_out_fini(&out);
	return ok ? 0 : RAMA_EIO;
}

/* ---- an address ------------------------------------------------------------------------------ */

static void take_next(struct rama_agent_metrics *m);

static void on_closed(uv_handle_t *h)
{
	struct rama_agent_metrics_client *c = h->data;

	rama_out_fini(&c->out);
	c->state = RAMA_AGENT_METRICS_FREE;
	if (c->of->waits && !uv_is_closing((uv_handle_t *)&c->of->tcp))
		take_next(c->of);
}

static void end(struct rama_agent_metrics_client *c)
{
	if (c->state != RAMA_AGENT_METRICS_OPEN)
		return;
	c->state = RAMA_AGENT_METRICS_CLOSING;
	if (!uv_is_closing((uv_handle_t *)&c->tcp))
		uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *w, int status)
{
	(void)status;
	end(w->data);
}

static void answer(struct rama_agent_metrics_client *c)
{
	bool ours = strncmp(c->in, "GET /metrics ", 13) == 0 ||
		    strncmp(c->in, "GET /metrics?", 13) == 0;
	struct rama_out body;
	uv_buf_t buf;

	rama_out_init(&body, NULL, NULL);
	if (ours)
		put(&body, c->of->sums);
	else
		rama_out_text(&body, "there is nothing here but /metrics\n");
	rama_out_fmt(&c->out,
		     "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: "
		     "no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
		     ours ? "200 OK" : "404 Not Found",
		     ours ? RAMA_PROM_TYPE : "text/plain; charset=utf-8", body.used);
	if (body.error == 0)
		rama_out_bytes(&c->out, body.buf, body.used);
	rama_out_fini(&body);
	uv_read_stop((uv_stream_t *)&c->tcp);
	buf = uv_buf_init(c->out.buf, (unsigned)c->out.used);
	c->write.data = c;
	if (c->out.error != 0 ||
	    uv_write(&c->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written) != 0)
		end(c);
}

static void give_room(uv_handle_t *h, size_t hint, uv_buf_t *to)
{
	struct rama_agent_metrics_client *c = h->data;

	(void)hint;
	*to = uv_buf_init(c->in + c->n, (unsigned)(sizeof(c->in) - 1 - c->n));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct rama_agent_metrics_client *c = s->data;

	(void)buf;
	if (n < 0) { /* also where there is no room any more */
		end(c);
		return;
	}
	c->n += (size_t)n;
	c->in[c->n] = '\0';
	if (strstr(c->in, "\r\n\r\n") != NULL)
		answer(c);
}

static void take_next(struct rama_agent_metrics *m)
{
	struct rama_agent_metrics_client *c = NULL;

	for (unsigned i = 0; c == NULL && i < RAMA_AGENT_METRICS_CLIENTS; i++)
		if (m->client[i].state == RAMA_AGENT_METRICS_FREE)
			c = &m->client[i];
	m->waits = c == NULL;
	if (c == NULL || uv_tcp_init(m->loop, &c->tcp) != 0)
		return;
	c->of = m;
	c->tcp.data = c;
	c->n = 0;
	c->state = RAMA_AGENT_METRICS_OPEN;
	c->since = uv_now(m->loop);
	rama_out_init(&c->out, NULL, NULL);
	if (uv_accept((uv_stream_t *)&m->tcp, (uv_stream_t *)&c->tcp) != 0 ||
	    uv_read_start((uv_stream_t *)&c->tcp, give_room, on_read) != 0)
		end(c);
}

static void on_connection(uv_stream_t *s, int status)
{
	if (status == 0)
		take_next(s->data);
}

/* 127.0.0.1:9418, [::1]:9418 */
static int address_of(const char *where, struct sockaddr_storage *to)
{
	const char *colon = strrchr(where, ':');
	char host[64];
	char *last;
	long port;

	if (colon == NULL || colon == where || (size_t)(colon - where) >= sizeof(host))
		return -1;
	port = strtol(colon + 1, &last, 10);
	if (colon[1] < '0' || colon[1] > '9' || *last != '\0' || port > 65535)
		return -1;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	if (host[0] == '[' && colon[-1] == ']') {
		host[strlen(host) - 1] = '\0';
		return uv_ip6_addr(host + 1, (int)port, (struct sockaddr_in6 *)(void *)to);
	}
	return uv_ip4_addr(host, (int)port, (struct sockaddr_in *)(void *)to);
}

static int listen_at(struct rama_agent_metrics *m, const char *where, struct rama_err *e)
{
	struct sockaddr_storage a = { 0 };
	int len = sizeof(a), rc;

	if (address_of(where, &a) != 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "--metrics takes ADDRESS:PORT, such as 127.0.0.1:9418, or the "
				    "path of a file.prom, not '%.100s'",
				    where);
	rc = uv_tcp_init(m->loop, &m->tcp);
	m->tcp.data = m;
	if (rc == 0)
		rc = uv_tcp_bind(&m->tcp, (const struct sockaddr *)(const void *)&a, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&m->tcp, 16, on_connection);
	if (rc == 0)
		rc = uv_tcp_getsockname(&m->tcp, (struct sockaddr *)(void *)&a, &len);
	if (rc != 0)
		return rama_err_set(e, RAMA_EIO, "metrics: %.100s: %s", where, uv_strerror(rc));
	/* the port is at the same place in both families */
	m->port = ntohs(((const struct sockaddr_in *)(const void *)&a)->sin_port);
	m->listens = true;
	return 0;
}

int rama_agent_metrics_open(struct rama_agent_metrics *m, uv_loop_t *loop, const char *where,
			    const struct rama_agent_sums *sums, struct rama_err *e)
{
	size_t n = strlen(where);

	m->loop = loop;
	m->sums = sums;
	if (where[0] != '/')
		return listen_at(m, where, e);
	if (n < 6 || n >= PATH_MAX || strcmp(where + n - 5, ".prom") != 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "--metrics: node_exporter reads files that end in .prom, not "
				    "'%.200s'",
				    where);
	m->file = where;
	return write_file(m, e);
}

int rama_agent_metrics_second(struct rama_agent_metrics *m, struct rama_err *e)
{
	uint64_t now = uv_now(m->loop);

	for (unsigned i = 0; m->listens && i < RAMA_AGENT_METRICS_CLIENTS; i++)
		if (m->client[i].state == RAMA_AGENT_METRICS_OPEN &&
		    now - m->client[i].since > SLOW_MS)
			end(&m->client[i]);
	if (m->file == NULL || now - m->written < FILE_MS)
		return 0;
	m->written = now;
	return write_file(m, e);
}

void rama_agent_metrics_close(struct rama_agent_metrics *m)
{
	m->waits = false;
	for (unsigned i = 0; m->listens && i < RAMA_AGENT_METRICS_CLIENTS; i++)
		end(&m->client[i]);
	if (m->file != NULL)
		unlink(m->file); /* what is old is not taken for new */
}
