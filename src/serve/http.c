/* SPDX-License-Identifier: BSD-3-Clause */
/* http.c: HTTP itself, by libmicrohttpd, and what it leaves to us: requests that could be read in
 * two ways are refused before anything else (request.c), connections that send too slowly are
 * ended, hosts that are not ours are sent away. Work is done by the pool; a connection sleeps
 * meanwhile. */
#include "base/without.h"
#include "serve/inside.h"

#ifdef RAMA_HAVE_MICROHTTPD

#include <arpa/inet.h>
#include <errno.h>
#include <libdeflate.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/now.h"
#include "base/siphash.h"

#define HEADERS 64
#define SLOW_MS 10000	/* for a whole request, from the first byte or the one before */
#define PER_ADDRESS 256 /* connections, where it is not loopback */
#define ROOM (16 << 10) /* bytes of a connection: address and headers */
#define PACKED_LEAST 512

struct connection {
	struct connection *next, **self;
	int fd;
	int64_t waits; /* since when for a request, ms; 0: one is at work */
	struct rama_serve_peer peer;
};

struct rama_serve_http {
	struct rama_serve *serve;
	struct MHD_Daemon *tcp, *local;
	unsigned port;
	int socket;	      /* of the Unix socket, -1: none */
	bool anywhere;	      /* listens beyond loopback */
	pthread_mutex_t lock; /* of connections */
	struct connection *connections;
};

enum state { NEW, TAKEN, AT_WORK, DONE };

/* one request */
struct visit {
	struct rama_serve_work work; /* first */
	struct rama_serve_http *http;
	struct MHD_Connection *connection;
	struct connection *conn;
	enum state state;
	char *url;
	char *body;
	size_t body_len;
	int64_t began;			    /* ns */
	struct rama_serve_request *request; /* NULL: it was answered by a stream */
	struct rama_serve_viewer viewer;
	struct rama_serve_call call;
	char tag[24]; /* ETag; "": none */
	bool packed;
};

/* ---- answers --------------------------------------------------------------------------------- */

#define POLICY                                                                          \
	"default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; " \
	"img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

static void add_headers(struct MHD_Response *r, const struct visit *v)
{
	static const char *const always[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Frame-Options", "DENY" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Vary", "Accept, Accept-Encoding, Cookie, Authorization" },
	};
	const struct rama_serve_call *c = &v->call;
	enum rama_serve_cache cache = c->route != NULL ? c->route->cache : RAMA_SERVE_CACHE_NONE;
	char text[128];

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		MHD_add_response_header(r, always[i][0], always[i][1]);
	MHD_add_response_header(r, "Content-Security-Policy",
				c->policy != NULL ? c->policy : POLICY);
	MHD_add_response_header(r, "Content-Type",
				c->type != NULL		   ? c->type
				: c->form == RAMA_ROWS_CSV ? "text/csv; charset=utf-8"
							   : "application/json");
	MHD_add_response_header(r, "Cache-Control",
				cache == RAMA_SERVE_CACHE_NONE || c->status >= 400 ? "no-store"
				: cache == RAMA_SERVE_CACHE_TAG ? "private, no-cache"
								: "no-cache");
	if (v->tag[0] != '\0')
		MHD_add_response_header(r, "ETag", v->tag);
	if (c->cookie[0] != '\0')
		MHD_add_response_header(r, "Set-Cookie", c->cookie);
	if (v->packed)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	if (c->file[0] != '\0') {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", c->file);
		MHD_add_response_header(r, "Content-Disposition", text);
	}
	if (c->status == 429)
		MHD_add_response_header(r, "Retry-After", "1");
	if (c->status == 401)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
}

/* Once the body is there: by a worker, or for a refusal at once. */
static void pack(struct visit *v)
{
	const char *takes = v->request->header[RAMA_SERVE_ENCODINGS];
	struct libdeflate_compressor *p;
	struct rama_out packed;
	size_t room;

	if (v->call.out.used < PACKED_LEAST || takes == NULL || strstr(takes, "gzip") == NULL ||
	    v->call.out.error != 0 || v->call.file[0] != '\0')
		return;
	p = libdeflate_alloc_compressor(4);
	room = p != NULL ? libdeflate_gzip_compress_bound(p, v->call.out.used) : 0;
	rama_out_init(&packed, NULL, NULL);
	packed.buf = room > 0 ? malloc(room) : NULL;
	if (packed.buf != NULL)
		packed.used = libdeflate_gzip_compress(p, v->call.out.buf, v->call.out.used,
						       packed.buf, room);
	if (packed.used > 0) {
		free(v->call.out.buf);
		v->call.out.buf = packed.buf;
		v->call.out.used = packed.used;
		v->packed = true;
	} else {
		free(packed.buf);
	}
	libdeflate_free_compressor(p);
}

static void tag(struct visit *v)
{
	static const struct rama_sipkey fixed = { 0x65746167, 11 };
	const char *has = v->request->header[RAMA_SERVE_NONE_MATCH];

	if (v->call.status != 200 || v->call.route->cache == RAMA_SERVE_CACHE_NONE)
		return;
	snprintf(v->tag, sizeof(v->tag), "W/\"%016llx\"",
		 (unsigned long long)rama_siphash(&fixed, v->call.out.buf, v->call.out.used));
	if (has != NULL && strstr(has, v->tag + 2) != NULL) {
		v->call.status = 304;
		v->call.out.used = 0;
	}
}

static void sleep_stream(void *ctx)
{
	MHD_suspend_connection(ctx);
}

static void wake_stream(void *ctx)
{
	MHD_resume_connection(ctx);
}

static ssize_t read_stream(void *ctx, uint64_t at, char *to, size_t room)
{
	long n = rama_serve_stream_read(ctx, to, room);

	(void)at;
	return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void end_stream(void *ctx)
{
	rama_serve_stream_close(ctx);
}

static enum MHD_Result reply(struct visit *v, struct MHD_Connection *connection, bool close)
{
	struct rama_serve_call *c = &v->call;
	struct MHD_Response *r;
	enum MHD_Result rc;

	if (c->stream != NULL) {
		rama_serve_stream_ways(c->stream, connection, sleep_stream, wake_stream);
		r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream,
						      c->stream, end_stream);
		if (r == NULL)
			rama_serve_stream_close(c->stream);
		c->stream = NULL;
		c->type = "text/event-stream";
		c->request = NULL; /* what it asked takes more room than who waits for news */
		free(v->request);
		v->request = NULL;
	} else {
		r = MHD_create_response_from_buffer(c->out.used, c->out.buf, MHD_RESPMEM_MUST_FREE);
		if (r != NULL)
			c->out.buf = NULL;
	}
	if (r == NULL)
		return MHD_NO;
	add_headers(r, v);
	if (strcmp(c->type != NULL ? c->type : "", "text/event-stream") == 0)
		MHD_add_response_header(r, "X-Accel-Buffering", "no");
	if (close)
		MHD_add_response_header(r, "Connection", "close");
	rc = MHD_queue_response(connection, (unsigned)c->status, r);
	MHD_destroy_response(r);
	rama_serve_counts_add(&v->http->serve->counts, c->route, c->status,
			      rama_now_ns() - v->began);
	return rc;
}

static enum MHD_Result refuse(struct visit *v, struct MHD_Connection *connection, int status,
			      const char *why)
{
	v->state = DONE;
	v->call.route = NULL;
	rama_serve_call_fail(&v->call, status, why);
	return reply(v, connection, true);
}

/* ---- a request comes ------------------------------------------------------------------------- */

struct headers {
	struct rama_serve_header h[HEADERS];
	size_t n;
	bool too_many;
};

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name, size_t nl,
				   const char *value, size_t vl)
{
	struct headers *k = ctx;

	(void)kind;
	k->too_many |= k->n == HEADERS;
	if (k->n < HEADERS)
		k->h[k->n++] = (struct rama_serve_header){ name != NULL ? name : "",
							   value != NULL ? value : "", nl, vl };
	return MHD_YES;
}

/* Is the host that is asked for one of ours? Whoever has a name of his own point to this address
 * gets nothing by it. At the socket a proxy has seen to it, unless names are given. */
static bool is_host(const struct rama_serve_http *h, const struct visit *v)
{
	static const char *const own[] = { "127.0.0.1", "localhost", "[::1]" };
	const struct rama_serve_options *o = &h->serve->o;
	const char *host = v->request->header[RAMA_SERVE_HOST];
	size_t n = strcspn(
		host[0] == '[' ? strchr(host, ']') != NULL ? strchr(host, ']') : "" : host, ":");
	char port[16];

	if (host[0] == '[')
		n += (size_t)(strchr(host, ']') != NULL ? strchr(host, ']') - host : 0);
	for (size_t i = 0; i < o->n_hosts; i++)
		if (strcasecmp(host, o->hosts[i]) == 0 ||
		    (strlen(o->hosts[i]) == n && strncasecmp(host, o->hosts[i], n) == 0))
			return true;
	if (v->conn->peer.local)
		return o->n_hosts == 0;
	snprintf(port, sizeof(port), ":%u", h->port);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == n && strncasecmp(host, own[i], n) == 0)
			return strcmp(host + n, port) == 0;
	if (o->address != NULL && strlen(o->address) == n && strncmp(host, o->address, n) == 0)
		return strcmp(host + n, port) == 0;
	return false;
}

/* all that can be said before its body is there; 0, or a status */
static int look_at(struct visit *v, const char *method, const char *version, const char **why)
{
	const struct rama_serve_options *o = &v->http->serve->o;
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(v->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct rama_serve_call *c = &v->call;
	char name[RAMA_SERVE_NAME];
	struct headers k = { .n = 0 };
	bool master;
	int status;

	*why = "a version of HTTP that is not known";
	if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
		return 505;
	MHD_get_connection_values_n(v->connection, MHD_HEADER_KIND, take_header, &k);
	*why = "too many headers";
	if (k.too_many)
		return 431;
	*why = "bytes that are no part of it";
	if (size != NULL &&
	    size->header_size != rama_serve_request_size(method, v->url, version, k.h, k.n))
		return 400;
	status =
		rama_serve_request_take(v->request, method, v->url, k.h, k.n, o->trust_header, why);
	if (status != 0)
		return status;
	*why = "not a host of this server";
	if (!is_host(v->http, v))
		return 421;
	*why = "who it is of is not for you to say";
	status = rama_serve_who_find(&v->http->serve->who, o, v->request, &v->conn->peer, name,
				     sizeof(name), &master);
	if (status != 0)
		return status;
	*why = "out of memory";
	if (rama_serve_viewer_init(&v->viewer, o, name, master) != 0)
		return 500;
	*why = "too many requests";
	if (!rama_serve_who_rate(&v->http->serve->who,
				 v->viewer.name[0] != '\0' ? v->viewer.name : v->conn->peer.address,
				 o->rate))
		return 429;
	status = rama_serve_route_find(v->request, &c->route, &c->job, &c->word);
	*why = status == 405 ? "not a method of this address" : "there is nothing here";
	return status;
}

/* by a worker */
static void run(struct rama_serve_work *w, struct rama_store *store, struct rama_store *names)
{
	struct visit *v = (struct visit *)(void *)w;
	struct rama_serve_call *c = &v->call;

	c->store = store;
	c->names = names;
	if (store == NULL)
		rama_serve_call_fail(c, 503, "the store cannot be read now");
	else
		rama_serve_call_answer(c);
	tag(v);
	pack(v);
	MHD_resume_connection(v->connection);
}

static void set_waiting(struct rama_serve_http *h, struct connection *c, int64_t since)
{
	pthread_mutex_lock(&h->lock);
	c->waits = since;
	pthread_mutex_unlock(&h->lock);
}

static enum MHD_Result begin_work(struct visit *v)
{
	struct rama_serve_call *c = &v->call;

	v->state = AT_WORK;
	set_waiting(v->http, v->conn, 0);
	if (v->body != NULL)
		v->body[v->body_len] = '\0';
	c->serve = v->http->serve;
	c->request = v->request;
	c->viewer = &v->viewer;
	c->body = v->body;
	c->address = v->conn->peer.address;
	v->work.run = run;
	MHD_suspend_connection(v->connection);
	if (!rama_serve_pool_put(&v->http->serve->pool, &v->work)) {
		rama_serve_call_fail(c, 503, "it ends");
		MHD_resume_connection(v->connection);
	}
	return MHD_YES;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **ctx)
{
	struct rama_serve_http *h = cls;
	struct visit *v = *ctx;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const char *why = "";
	int status;

	(void)url;
	if (v == NULL || v->url == NULL || v->request == NULL || info == NULL ||
	    info->socket_context == NULL)
		return MHD_NO;
	v->http = h;
	v->connection = connection;
	v->conn = info->socket_context;
	switch (v->state) {
	case NEW:
		v->began = rama_now_ns();
		v->state = TAKEN;
		status = look_at(v, method, version, &why);
		if (status != 0)
			return refuse(v, connection, status, why);
		return MHD_YES;
	case TAKEN:
		if (*size == 0)
			return begin_work(v);
		if (v->body == NULL)
			v->body = malloc(RAMA_SERVE_BODY_MOST + 1);
		if (v->body == NULL || v->body_len + *size > v->request->length)
			return MHD_NO;
		memcpy(v->body + v->body_len, data, *size);
		v->body_len += *size;
		*size = 0;
		return MHD_YES;
	case AT_WORK:
		v->state = DONE;
		return reply(v, connection, false);
	case DONE:
		*size = 0;
		return MHD_YES;
	}
	return MHD_NO;
}

/* the address as it came, before anything is done with it */
static void *see_url(void *cls, const char *url, struct MHD_Connection *connection)
{
	struct visit *v = calloc(1, sizeof(*v));

	(void)cls, (void)connection;
	if (v != NULL) {
		v->url = strdup(url);
		v->request = calloc(1, sizeof(*v->request));
		rama_out_init(&v->call.out, NULL, NULL);
	}
	return v;
}

static size_t leave_escapes(void *cls, struct MHD_Connection *connection, char *s)
{
	(void)cls, (void)connection;
	return strlen(s);
}

static void end_visit(void *cls, struct MHD_Connection *connection, void **ctx,
		      enum MHD_RequestTerminationCode why)
{
	struct visit *v = *ctx;

	(void)cls, (void)connection, (void)why;
	if (v == NULL)
		return;
	if (v->conn != NULL)
		set_waiting(v->http, v->conn, rama_now_ms());
	if (v->call.stream != NULL)
		rama_serve_stream_close(v->call.stream);
	rama_out_fini(&v->call.out);
	rama_serve_viewer_fini(&v->viewer);
	free(v->request);
	free(v->body);
	free(v->url);
	free(v);
	*ctx = NULL;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void notify(void *cls, struct MHD_Connection *connection, void **ctx,
		   enum MHD_ConnectionNotificationCode code)
{
	struct rama_serve_http *h = cls;
	struct connection *c = *ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED && (c = calloc(1, sizeof(*c))) != NULL) {
		c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd;
		rama_serve_socket_peer(c->fd,
				       MHD_get_connection_info(connection,
							       MHD_CONNECTION_INFO_CLIENT_ADDRESS)
					       ->client_addr,
				       &c->peer);
		c->waits = rama_now_ms();
		pthread_mutex_lock(&h->lock);
		c->next = h->connections;
		c->self = &h->connections;
		if (c->next != NULL)
			c->next->self = &c->next;
		h->connections = c;
		pthread_mutex_unlock(&h->lock);
		*ctx = c;
	} else if (code == MHD_CONNECTION_NOTIFY_CLOSED && c != NULL) {
		pthread_mutex_lock(&h->lock);
		*c->self = c->next;
		if (c->next != NULL)
			c->next->self = c->self;
		pthread_mutex_unlock(&h->lock);
		free(c);
		*ctx = NULL;
	}
}

/* The library's own limit is for silence: a byte now and then would hold a connection for ever. */
void rama_serve_http_tick(struct rama_serve *s)
{
	struct rama_serve_http *h = s->http;
	int64_t now = rama_now_ms();

	pthread_mutex_lock(&h->lock);
	for (struct connection *c = h->connections; c != NULL; c = c->next)
		if (c->waits != 0 && now - c->waits > SLOW_MS)
			shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&h->lock);
}

/* ---- begin and end --------------------------------------------------------------------------- */

#define FLAGS (MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC)
#define OPTIONS(h, per)                                                                      \
	MHD_OPTION_NOTIFY_CONNECTION, notify, h, MHD_OPTION_URI_LOG_CALLBACK, see_url, h,    \
		MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, h, MHD_OPTION_NOTIFY_COMPLETED, \
		end_visit, h, MHD_OPTION_CONNECTION_LIMIT, h->serve->o.connections,          \
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, per, MHD_OPTION_CONNECTION_MEMORY_LIMIT, \
		(size_t)ROOM, MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_STRICT_FOR_CLIENT, 1

#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

static int start_tcp(struct rama_serve_http *h, const struct sockaddr *at,
		     const struct rama_serve_tls *t, struct rama_err *e)
{
	const struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, t->cert },
					      { MHD_OPTION_HTTPS_MEM_KEY, 0, t->key },
					      { MHD_OPTION_HTTPS_PRIORITIES, 0,
						(void *)(uintptr_t)TLS_VERSIONS },
					      { MHD_OPTION_END, 0, NULL } };
	const struct MHD_OptionItem none = { MHD_OPTION_END, 0, NULL };
	const struct rama_serve_options *o = &h->serve->o;
	unsigned flags = FLAGS | (at->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
	const union MHD_DaemonInfo *info;

	if (t->cert != NULL && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return rama_err_set(e, RAMA_EUSAGE, "this libmicrohttpd was built without TLS");
	errno = 0;
	h->tcp = MHD_start_daemon(flags | (t->cert != NULL ? MHD_USE_TLS : 0), 0, NULL, NULL,
				  handle, h, MHD_OPTION_SOCK_ADDR, at,
				  OPTIONS(h, h->anywhere ? (unsigned)PER_ADDRESS : 0u),
				  MHD_OPTION_ARRAY, t->cert != NULL ? tls : &none, MHD_OPTION_END);
	if (h->tcp == NULL && t->cert != NULL && errno != EADDRINUSE && errno != EACCES &&
	    errno != EADDRNOTAVAIL)
		return rama_err_set(e, RAMA_EFORMAT, "%.200s, %.200s: no certificate with its key",
				    o->tls_cert, o->tls_key);
	if (h->tcp == NULL)
		return rama_err_set(e, RAMA_EIO, "%s:%u: %s", o->address, o->port,
				    errno != 0 ? strerror(errno) : "cannot listen");
	info = MHD_get_daemon_info(h->tcp, MHD_DAEMON_INFO_BIND_PORT);
	h->port = info != NULL ? info->port : o->port;
	return 0;
}

static int listen_tcp(struct rama_serve_http *h, struct rama_err *e)
{
	const struct rama_serve_options *o = &h->serve->o;
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)o->port) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)o->port) };
	bool six = inet_pton(AF_INET6, o->address, &a6.sin6_addr) == 1;
	struct rama_serve_tls t;
	int rc;

	if (!six && inet_pton(AF_INET, o->address, &a4.sin_addr) != 1)
		return rama_err_set(e, RAMA_EUSAGE, "'%.100s' is no address", o->address);
	h->anywhere =
		six ? !IN6_IS_ADDR_LOOPBACK(&a6.sin6_addr) : ntohl(a4.sin_addr.s_addr) >> 24 != 127;
	rc = rama_serve_tls_read(&t, o, e);
	if (rc == 0)
		rc = start_tcp(h,
			       six ? (const struct sockaddr *)(const void *)&a6
				   : (const struct sockaddr *)(const void *)&a4,
			       &t, e);
	rama_serve_tls_fini(&t);
	return rc;
}

static int listen_local(struct rama_serve_http *h, struct rama_err *e)
{
	/* for all: who they are is known. A folder keeps out whom the site wants out. */
	mode_t old = umask(0111);
	int rc = rama_serve_socket_bind(h->serve->o.socket, &h->socket, e);

	umask(old);
	if (rc != 0)
		return rc;
	h->local = MHD_start_daemon(FLAGS, 0, NULL, NULL, handle, h, MHD_OPTION_LISTEN_SOCKET,
				    h->socket, OPTIONS(h, 0u), MHD_OPTION_END);
	return h->local != NULL
		       ? 0
		       : rama_err_set(e, RAMA_EIO, "%s: cannot listen", h->serve->o.socket);
}

int rama_serve_http_open(struct rama_serve *s, struct rama_err *e)
{
	struct rama_serve_http *h = calloc(1, sizeof(*h));
	int rc = 0;

	if (h == NULL)
		return rama_err_no_memory(e);
	h->serve = s;
	h->socket = -1;
	pthread_mutex_init(&h->lock, NULL);
	s->http = h;
	if (s->o.address != NULL)
		rc = listen_tcp(h, e);
	if (rc == 0 && s->o.socket != NULL)
		rc = listen_local(h, e);
	return rc;
}

unsigned rama_serve_http_port(const struct rama_serve *s)
{
	return s->http->port;
}

void rama_serve_http_stop(struct rama_serve *s)
{
	struct rama_serve_http *h = s->http;

	if (h == NULL)
		return;
	if (h->tcp != NULL) {
		int fd = MHD_quiesce_daemon(h->tcp);

		if (fd >= 0)
			close(fd);
	}
	if (h->local != NULL && MHD_quiesce_daemon(h->local) >= 0)
		unlink(s->o.socket);
}

void rama_serve_http_close(struct rama_serve *s)
{
	struct rama_serve_http *h = s->http;

	if (h == NULL)
		return;
	if (h->tcp != NULL)
		MHD_stop_daemon(h->tcp);
	if (h->local != NULL)
		MHD_stop_daemon(h->local);
	if (h->socket >= 0)
		close(h->socket);
	pthread_mutex_destroy(&h->lock);
	free(h);
	s->http = NULL;
}

#else

int rama_serve_http_open(struct rama_serve *s, struct rama_err *e)
{
	(void)s;
	return rama_err_without(e, "libmicrohttpd (or jansson, which it needs)");
}

unsigned rama_serve_http_port(const struct rama_serve *s)
{
	(void)s;
	return 0;
}

void rama_serve_http_stop(struct rama_serve *s)
{
	(void)s;
}

void rama_serve_http_close(struct rama_serve *s)
{
	(void)s;
}

void rama_serve_http_tick(struct rama_serve *s)
{
	(void)s;
}

#endif
