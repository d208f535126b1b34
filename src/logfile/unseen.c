/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/unseen.h"

#include <string.h>

#define MOST 1000000000000ll /* a log that counts more is damaged */

/* ---- counting ------------------------------------------------------------------------------- */

static void add_name(struct rama_log_unseen_sum *s, enum rama_unseen why, const char *name,
		     size_t n)
{
	char plain[sizeof(s->program[0].name)];
	unsigned i;

	if (n >= sizeof(plain))
		n = sizeof(plain) - 1;
	for (size_t k = 0; k < n; k++)
		plain[k] = name[k] <= ' ' || name[k] > '~' || strchr(":;,=", name[k]) != NULL
				   ? '?'
				   : name[k];
	plain[n] = '\0';
	for (i = 0; n > 0 && i < RAMA_LOG_UNSEEN_NAMES && s->program[i].why != 0; i++)
		if (s->program[i].why == why && strcmp(s->program[i].name, plain) == 0)
			return;
	if (n == 0 || i == RAMA_LOG_UNSEEN_NAMES)
		return;
	s->program[i].why = why;
	memcpy(s->program[i].name, plain, n + 1);
}

void rama_log_unseen_name(struct rama_log_unseen_sum *s, enum rama_unseen why, const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash != NULL ? slash + 1 : name;
	if (why > RAMA_UNSEEN_NOT && why < RAMA_UNSEEN_REASONS)
		add_name(s, why, name, strlen(name));
}

void rama_log_unseen_add(struct rama_log_unseen_sum *s, enum rama_unseen why, int64_t n,
			 const char *name)
{
	if (why <= RAMA_UNSEEN_NOT || why >= RAMA_UNSEEN_REASONS || n <= 0)
		return;
	s->n[why] = n > MOST - s->n[why] ? MOST : s->n[why] + n;
	if (name != NULL)
		rama_log_unseen_name(s, why, name);
}

void rama_log_unseen_join(struct rama_log_unseen_sum *s, const struct rama_log_unseen_sum *more)
{
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++)
		rama_log_unseen_add(s, (enum rama_unseen)i, more->n[i], NULL);
	for (unsigned i = 0; i < RAMA_LOG_UNSEEN_NAMES; i++) {
		uint32_t why = more->program[i].why;

		if (why > 0 && why < RAMA_UNSEEN_REASONS && more->n[why] > 0)
			add_name(s, (enum rama_unseen)why, more->program[i].name,
				 strnlen(more->program[i].name, sizeof(more->program[i].name)));
	}
}

int64_t rama_log_unseen_total(const struct rama_log_unseen_sum *s)
{
	int64_t sum = 0;

	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++)
		sum += s->n[i];
	return sum;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* the line in "key=value" lines; NULL: none */
static const char *find_line(const char *metadata)
{
	const char *at = metadata;

	while ((at = strstr(at, RAMA_LOG_META_UNSEEN)) != NULL) {
		if (at == metadata || at[-1] == '\n')
			return at;
		at++;
	}
	return NULL;
}

static enum rama_unseen reason_of(const char *key, size_t n)
{
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++)
		if (strlen(rama_unseen_key((enum rama_unseen)i)) == n &&
		    memcmp(rama_unseen_key((enum rama_unseen)i), key, n) == 0)
			return (enum rama_unseen)i;
	return RAMA_UNSEEN_OTHER; /* of a later version */
}

/* "static:2:busybox,tool", which ends at `end` */
static void read_reason(struct rama_log_unseen_sum *s, const char *p, const char *end)
{
	const char *colon = memchr(p, ':', (size_t)(end - p));
	enum rama_unseen why;
	int64_t n = 0;

	if (colon == NULL || colon == p)
		return;
	why = reason_of(p, (size_t)(colon - p));
	for (p = colon + 1; p < end && *p >= '0' && *p <= '9' && n <= MOST; p++)
		n = n * 10 + (*p - '0');
	if (n <= 0 || n > MOST || (p < end && *p != ':'))
		return;
	rama_log_unseen_add(s, why, n, NULL);
	while (p < end) {
		size_t len = 0;

		for (p++; p + len < end && p[len] != ',';)
			len++;
		add_name(s, why, p, len);
		p += len;
	}
}

void rama_log_unseen_read(struct rama_log_unseen_sum *s, const char *metadata)
{
	const char *p = find_line(metadata), *stop;

	if (p == NULL)
		return;
	p += strlen(RAMA_LOG_META_UNSEEN);
	stop = p + strcspn(p, "\n");
	while (p < stop) {
		const char *end = memchr(p, ';', (size_t)(stop - p));

		end = end != NULL ? end : stop;
		read_reason(s, p, end);
		p = end + 1;
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

/* a text that is cut at its end, whole pieces only */
struct out {
	char *to;
	size_t size, n;
	bool full;
};

static void put(struct out *o, const char *text)
{
	size_t n = strlen(text);

	if (o->full || n >= o->size - o->n) {
		o->full = true;
		return;
	}
	memcpy(o->to + o->n, text, n + 1);
	o->n += n;
}

static void put_number(struct out *o, int64_t v)
{
	char digits[24];
	size_t k = sizeof(digits) - 1;

	digits[k] = '\0';
	do
		digits[--k] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	put(o, digits + k);
}

static void put_names(struct out *o, const struct rama_log_unseen_sum *s, unsigned why,
		      const char *before, const char *between, const char *after)
{
	bool any = false;

	for (unsigned i = 0; i < RAMA_LOG_UNSEEN_NAMES; i++) {
		if (s->program[i].why != why)
			continue;
		put(o, any ? between : before);
		put(o, s->program[i].name);
		any = true;
	}
	if (any)
		put(o, after);
}

void rama_log_unseen_line(const struct rama_log_unseen_sum *s, char to[RAMA_LOG_UNSEEN_LINE])
{
	struct out o = { to, RAMA_LOG_UNSEEN_LINE - 1, 0, false };
	size_t whole = 0;
	bool any = false;

	to[0] = '\0';
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++) {
		if (s->n[i] <= 0)
			continue;
		put(&o, any ? ";" : RAMA_LOG_META_UNSEEN);
		put(&o, rama_unseen_key((enum rama_unseen)i));
		put(&o, ":");
		put_number(&o, s->n[i]);
		whole = o.full ? whole : o.n; /* names may be left out, numbers may not */
		put_names(&o, s, i, ":", ",", "");
		whole = o.full ? whole : o.n;
		any = true;
		o = (struct out){ to, o.size, whole, false };
	}
	to[whole] = '\0';
	if (any)
		memcpy(to + whole, "\n", 2);
}

void rama_log_unseen_replace(const struct rama_log_unseen_sum *s, char *metadata, size_t size)
{
	char *at = (char *)find_line(metadata), line[RAMA_LOG_UNSEEN_LINE];
	size_t n = strlen(metadata);

	if (at != NULL) {
		size_t len = strcspn(at, "\n");

		len += at[len] == '\n';
		memmove(at, at + len, n - (size_t)(at - metadata) - len + 1);
		n -= len;
	}
	rama_log_unseen_line(s, line);
	if (n + strlen(line) < size)
		memcpy(metadata + n, line, strlen(line) + 1);
}

void rama_log_unseen_text(const struct rama_log_unseen_sum *s, char *to, size_t size)
{
	struct out o = { to, size, 0, false };
	bool any = false;

	to[0] = '\0';
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++) {
		if (s->n[i] <= 0)
			continue;
		put(&o, any ? ", " : "");
		put_number(&o, s->n[i]);
		put(&o, " ");
		put(&o, rama_unseen_many((enum rama_unseen)i));
		put_names(&o, s, i, " (", ", ", ")");
		any = true;
	}
}
