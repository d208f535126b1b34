/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/sink/sink.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/shown.h"

/* whole: the scheme belongs to the place */
static const struct {
	const char *scheme;
	const struct rama_bus_sink_ops *ops;
	bool whole;
} kinds[] = {
	{ "store:", &rama_bus_sink_store, false },
	{ "file:", &rama_bus_sink_file, false },
	{ "ldms:", &rama_bus_sink_ldms, false },
	{ "nats://", &rama_bus_sink_nats, true },
	{ "tls://", &rama_bus_sink_nats, true },
	{ "postgresql://", &rama_bus_sink_store, true },
	{ "postgres://", &rama_bus_sink_store, true },
};

const struct rama_bus_sink_ops *rama_bus_sink_find(const char *text, const char **where)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t n = strlen(kinds[i].scheme);

		if (strncmp(text, kinds[i].scheme, n) == 0 && text[n] != '\0') {
			*where = kinds[i].whole ? text : text + n;
			return kinds[i].ops;
		}
	}
	return NULL;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* n bytes of a value, %XX read; false: it does not fit */
static bool read_value(char *to, size_t room, const char *s, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		int high = s[i] == '%' && n - i > 2 ? hex_digit(s[i + 1]) : -1,
		    low = high >= 0 ? hex_digit(s[i + 2]) : -1;

		if (used + 1 >= room)
			return false;
		to[used++] = low >= 0 ? (char)(high * 16 + low) : s[i];
		i += low >= 0 ? 2 : 0;
	}
	to[used] = '\0';
	return true;
}

static bool is_known(const char *known, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = known; n > 0 && (at = strstr(at, key)) != NULL; at += n)
		if ((at == known || at[-1] == ' ') && at[n] == ' ')
			return true;
	return false;
}

/* key=value of n bytes */
static int add_option(struct rama_bus_sink_spec *sp, const char *s, size_t n, const char *known,
		      struct rama_err *e)
{
	const char *is = memchr(s, '=', n);
	size_t len = is != NULL ? (size_t)(is - s) : n;

	if (sp->n == RAMA_BUS_SINK_OPTIONS || len >= sizeof sp->option->key)
		return rama_err_set(e, RAMA_EUSAGE, "more options than there are: %.*s", (int)n, s);
	memcpy(sp->option[sp->n].key, s, len);
	sp->option[sp->n].key[len] = '\0';
	if (!is_known(known, sp->option[sp->n].key))
		return rama_err_set(e, RAMA_EUSAGE, "there is no option '%s' here; there are: %s",
				    sp->option[sp->n].key, *known != '\0' ? known : "none");
	if (is == NULL ||
	    !read_value(sp->option[sp->n].value, sizeof sp->option->value, is + 1, n - len - 1))
		return rama_err_set(e, RAMA_EUSAGE, "option '%s' needs a value, %s=…",
				    sp->option[sp->n].key, sp->option[sp->n].key);
	sp->n++;
	return 0;
}

int rama_bus_sink_split(struct rama_bus_sink_spec *sp, const char *where, const char *known,
			struct rama_err *e)
{
	const char *mark = strrchr(where, '?');
	size_t len = mark != NULL ? (size_t)(mark - where) : strlen(where);

	memset(sp, 0, sizeof *sp);
	if (len == 0 || len >= sizeof sp->place)
		return rama_err_set(e, RAMA_EUSAGE, "'%.60s': no place that events could go to",
				    where);
	memcpy(sp->place, where, len);
	for (const char *at = mark != NULL ? mark + 1 : ""; *at != '\0';) {
		size_t n = strcspn(at, "&");
		int rc = n > 0 ? add_option(sp, at, n, known, e) : 0;

		if (rc != 0)
			return rc;
		at += at[n] == '&' ? n + 1 : n;
	}
	return 0;
}

const char *rama_bus_sink_option(const struct rama_bus_sink_spec *sp, const char *key,
				 const char *otherwise)
{
	for (unsigned i = 0; i < sp->n; i++)
		if (strcmp(sp->option[i].key, key) == 0)
			return sp->option[i].value;
	return otherwise;
}

int rama_bus_sink_number(const struct rama_bus_sink_spec *sp, const char *key, uint64_t *v,
			 struct rama_err *e)
{
	static const char units[] = "KMGT";
	const char *text = rama_bus_sink_option(sp, key, NULL), *unit;
	unsigned shift = 0;
	char *end;
	uint64_t n;

	if (text == NULL)
		return 0;
	n = strtoull(text, &end, 10);
	if (end != text && *end != '\0' && (unit = strchr(units, *end)) != NULL) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (end == text || *end != '\0' || *text == '-' || n > (UINT64_MAX >> 1) >> shift)
		return rama_err_set(e, RAMA_EUSAGE, "%s=%s is no size; 64M is one", key, text);
	*v = n << shift;
	return 0;
}

const char *rama_bus_sink_shown(const char *urls, char *to, size_t room)
{
	size_t used = 0;

	*to = '\0';
	if (strstr(urls, "://") == NULL) {
		snprintf(to, room, "%s", urls);
		return to;
	}
	for (const char *at = urls; *at != '\0' && *at != '?' && used + 1 < room;) {
		size_t n = strcspn(at, ",?"); /* what follows a '?' may be secret too */
		const char *host = strstr(at, "://"), *mark = NULL;

		host = host != NULL && host < at + n ? host + 3 : at;
		for (const char *c = host; c < at + n; c++)
			mark = *c == '@' ? c : mark;
		used += (size_t)snprintf(to + used, room - used, "%.*s%.*s%s", (int)(host - at), at,
					 (int)(at + n - (mark != NULL ? mark + 1 : host)),
					 mark != NULL ? mark + 1 : host, at[n] == ',' ? "," : "");
		at += at[n] == ',' ? n + 1 : n;
	}
	return to;
}

const char *rama_bus_sink_named(const char *sink, char to[PATH_MAX])
{
	const char *where;

	if (rama_bus_sink_find(sink, &where) == &rama_bus_sink_store)
		return rama_store_shown(sink, to);
	return rama_bus_sink_shown(sink, to, PATH_MAX);
}

void rama_bus_sink_tell(const struct rama_bus_sink_options *o, const char *fmt, ...)
{
	char line[600];
	va_list ap;

	if (o->tell == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	o->tell(o->ctx, line);
}

void rama_bus_sink_rest(pthread_cond_t *moved, pthread_mutex_t *lock, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(moved, lock, &until);
}

void rama_bus_word(char *to, size_t room, const char *text, size_t n)
{
	size_t i = 0;

	for (; i < n && i + 1 < room; i++) {
		char c = text[i];

		to[i] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
					(c >= '0' && c <= '9') || c == '-'
				? c
				: '_';
	}
	if (i == 0)
		to[i++] = '_'; /* a word must not be empty */
	to[i] = '\0';
}
