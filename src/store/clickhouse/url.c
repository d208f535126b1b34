/* SPDX-License-Identifier: BSD-3-Clause */
/* url.c: which servers. Commas join copies of the same blocks, semicolons join shards,
 * each of which has a part of them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/clickhouse/clickhouse.h"

static bool is_word(const char *s, size_t n, const char *more)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && strchr(more, s[i]) == NULL)
			return false;
	return n > 0;
}

static int wrong(struct rama_err *e, const char *what, const char *text)
{
	return rama_err_set(e, RAMA_EUSAGE,
			    "--events: %s in '%.200s'; it is clickhouse://HOST:PORT,HOST…/DATABASE",
			    what, text);
}

/* 0: it is none */
static uint16_t port_of(const char *s, size_t n)
{
	unsigned v = 0;

	if (n == 0 || n > 5)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return 0;
		v = 10 * v + (unsigned)(s[i] - '0');
	}
	return v <= UINT16_MAX ? (uint16_t)v : 0;
}

static int add_host(struct rama_store_ch_url *u, const char *s, size_t n, const char *text,
		    struct rama_err *e)
{
	const char *colon = memchr(s, ':', n);
	size_t name = colon != NULL ? (size_t)(colon - s) : n;
	struct rama_store_ch_host *h = &u->host[u->n_hosts];

	if (u->n_hosts == RAMA_STORE_CH_HOSTS)
		return wrong(e, "more than 64 servers", text);
	if (!is_word(s, name, ".-_") || name >= sizeof(h->name))
		return wrong(e, "a server without a name", text);
	*h = (struct rama_store_ch_host){ .port = u->tls ? 8443 : 8123,
					  .shard = (uint16_t)u->n_shards };
	memcpy(h->name, s, name);
	if (colon != NULL)
		h->port = port_of(colon + 1, n - name - 1);
	if (h->port == 0)
		return wrong(e, "a port that is none", text);
	for (unsigned i = 0; i < u->n_hosts; i++)
		if (strcmp(u->host[i].name, h->name) == 0 && u->host[i].port == h->port)
			return wrong(e, "a server twice", text);
	u->n_hosts++;
	return 0;
}

static int parse_hosts(struct rama_store_ch_url *u, const char *s, const char *end,
		       const char *text, struct rama_err *e)
{
	int rc = 0;

	while (rc == 0) {
		size_t n = 0;

		while (s + n < end && s[n] != ',' && s[n] != ';')
			n++;
		rc = add_host(u, s, n, text, e);
		s += n;
		if (s == end || *s == ';')
			u->n_shards++;
		if (s == end)
			break;
		s++;
	}
	return rc;
}

int rama_store_ch_url_parse(struct rama_store_ch_url *u, const char *text, struct rama_err *e)
{
	static const char plain[] = "clickhouse://", tls[] = "clickhouses://";
	const char *s, *slash, *at;

	*u = (struct rama_store_ch_url){ .tls = strncmp(text, tls, sizeof(tls) - 1) == 0 };
	if (!u->tls && strncmp(text, plain, sizeof(plain) - 1) != 0)
		return wrong(e, "no clickhouse://", text);
	s = text + (u->tls ? sizeof(tls) : sizeof(plain)) - 1;
	slash = strchr(s, '/');
	if (slash == NULL || !is_word(slash + 1, strlen(slash + 1), "_") ||
	    strlen(slash + 1) >= sizeof(u->database))
		return wrong(e, "no name of a database", text);
	memcpy(u->database, slash + 1, strlen(slash + 1));
	at = memchr(s, '@', (size_t)(slash - s));
	/* what is in a command line or in a store, others can read */
	if (at != NULL && memchr(s, ':', (size_t)(at - s)) != NULL)
		return rama_err_set(e, RAMA_EUSAGE,
				    "--events: no password in a URL, others could read it; ~/.netrc"
				    " has a line 'machine HOST login USER password …'");
	if (at != NULL &&
	    (!is_word(s, (size_t)(at - s), "_-.") || (size_t)(at - s) >= sizeof(u->user)))
		return wrong(e, "a strange user", text);
	if (at != NULL) {
		memcpy(u->user, s, (size_t)(at - s));
		s = at + 1;
	}
	return parse_hosts(u, s, slash, text, e);
}

unsigned rama_store_ch_copies(const struct rama_store_ch_url *u, unsigned shard)
{
	unsigned n = 0;

	for (unsigned i = 0; i < u->n_hosts; i++)
		n += u->host[i].shard == shard;
	return n;
}
