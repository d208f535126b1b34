/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"

/* ---- headers --------------------------------------------------------------------------------- */

static const char *const known[RAMA_SERVE_KNOWN] = {
	[RAMA_SERVE_HOST] = "host",
	[RAMA_SERVE_LENGTH] = "content-length",
	[RAMA_SERVE_CODING] = "transfer-encoding",
	[RAMA_SERVE_EXPECT] = "expect",
	[RAMA_SERVE_TYPE] = "content-type",
	[RAMA_SERVE_ACCEPT] = "accept",
	[RAMA_SERVE_ENCODINGS] = "accept-encoding",
	[RAMA_SERVE_AUTHORIZATION] = "authorization",
	[RAMA_SERVE_COOKIE] = "cookie",
	[RAMA_SERVE_NONE_MATCH] = "if-none-match",
	[RAMA_SERVE_ORIGIN] = "origin",
	[RAMA_SERVE_FETCH_SITE] = "sec-fetch-site",
	[RAMA_SERVE_LAST_EVENT] = "last-event-id",
};

static bool is_token(const char *s, size_t n)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c != '\0' && strchr(others, c) != NULL)))
			return false;
	}
	return n > 0;
}

static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
			return false;
	return true;
}

static bool is_named(const struct rama_serve_header *h, const char *name)
{
	return name != NULL && h->name_len == strlen(name) &&
	       strncasecmp(h->name, name, h->name_len) == 0;
}

static int take_header(struct rama_serve_request *r, const struct rama_serve_header *h,
		       const char *trust, const char **why)
{
	*why = "a header that is none";
	if (!is_token(h->name, h->name_len) || !is_plain(h->value, h->value_len))
		return 400;
	if (is_named(h, trust)) {
		*why = "it says twice who it is of";
		if (r->remote_user != NULL)
			return 400;
		r->remote_user = h->value;
		return 0;
	}
	for (unsigned i = 0; i < RAMA_SERVE_KNOWN; i++) {
		if (!is_named(h, known[i]))
			continue;
		*why = "a header that comes twice";
		if (r->header[i] != NULL)
			return 400;
		r->header[i] = h->value;
	}
	return 0;
}

size_t rama_serve_request_size(const char *method, const char *url, const char *version,
			       const struct rama_serve_header *header, size_t n)
{
	size_t size = strlen(method) + 1 + strlen(url) + 1 + strlen(version) + 2;

	for (size_t i = 0; i < n; i++) {
		uintptr_t name = (uintptr_t)header[i].name, value = (uintptr_t)header[i].value;
		size_t colon = header[i].name_len + 1;

		/* blanks between both; a value that is elsewhere was put together */
		if (value < name + colon || value - name > RAMA_SERVE_URL_MOST)
			return 0;
		size += (size_t)(value - name) + header[i].value_len + 2;
	}
	return size + 2;
}

/* how long its body is, and whether it may have one */
static int check_body(struct rama_serve_request *r, const char **why)
{
	const char *length = r->header[RAMA_SERVE_LENGTH];

	*why = "a body whose length nobody knows";
	if (r->header[RAMA_SERVE_CODING] != NULL)
		return length != NULL ? 400 : 411;
	*why = "it expects something";
	if (r->header[RAMA_SERVE_EXPECT] != NULL)
		return 417;
	if (length == NULL)
		return 0;
	*why = "a length that is none";
	if (*length == '\0' || strlen(length) > 15 ||
	    strspn(length, "0123456789") != strlen(length))
		return 400;
	for (; *length != '\0'; length++)
		r->length = r->length * 10 + (uint64_t)(*length - '0');
	*why = "a body that is too long";
	if (r->length > RAMA_SERVE_BODY_MOST)
		return 413;
	*why = "a body where none is read";
	return r->length > 0 && r->method != RAMA_SERVE_POST && r->method != RAMA_SERVE_PUT ? 400
											    : 0;
}

/* ---- the address ----------------------------------------------------------------------------- */

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

struct decoder {
	char *to; /* there is room for what is not decoded */
	const char *why;
};

/* One part, up to any of the ends; NULL: it is refused. Control characters, a slash that was
 * hidden and bytes that are no UTF-8 are. */
static const char *decode(struct decoder *d, const char **at, const char *ends, bool query)
{
	const char *s = *at, *begin = d->to;

	for (; *s != '\0' && strchr(ends, *s) == NULL; s++) {
		int c = (unsigned char)*s;

		if (c == '%') {
			int high = digit_of(s[1]), low = high < 0 ? -1 : digit_of(s[2]);

			if (low < 0)
				return NULL;
			c = high * 16 + low;
			s += 2;
			if (c == '/' && !query)
				return NULL;
		} else if (query && c == '+') {
			c = ' ';
		} else if (c <= 0x20 || c >= 0x7f || c == '\\' || c == '#') {
			return NULL;
		}
		if (c < 0x20 || c == 0x7f)
			return NULL;
		*d->to++ = (char)c;
	}
	for (const char *p = begin; p < d->to;) {
		size_t n = rama_utf8_length((const unsigned char *)p, (size_t)(d->to - p));

		if (n == 0)
			return NULL;
		p += n;
	}
	*d->to++ = '\0';
	*at = s;
	return begin;
}

static bool take_path(struct rama_serve_request *r, struct decoder *d, const char **at)
{
	while (**at == '/') {
		const char *part;

		++*at;
		if ((**at == '\0' || **at == '?') && r->n_segments == 0)
			break; /* "/" alone */
		part = decode(d, at, "/?", false);
		if (part == NULL || *part == '\0' || strcmp(part, ".") == 0 ||
		    strcmp(part, "..") == 0 || r->n_segments == RAMA_SERVE_SEGMENTS)
			return false;
		r->segment[r->n_segments++] = part;
	}
	return **at == '\0' || **at == '?';
}

static bool take_query(struct rama_serve_request *r, struct decoder *d, const char **at)
{
	while (**at == '?' || **at == '&') {
		const char *key, *value = "";

		++*at;
		key = decode(d, at, "=&", true);
		if (key != NULL && **at == '=') {
			++*at;
			value = decode(d, at, "&", true);
		}
		if (key == NULL || value == NULL || *key == '\0' ||
		    r->n_pairs == RAMA_SERVE_PAIRS || rama_serve_request_value(r, key) != NULL)
			return false;
		r->pair[r->n_pairs++] = (struct rama_serve_pair){ key, value };
	}
	return **at == '\0';
}

/* "jobs.csv": the form that is asked for */
static void take_suffix(struct rama_serve_request *r)
{
	static const char *const forms[] = { "json", "csv", "html", "darshan" };
	char *dot = r->n_segments > 0 ? strrchr(r->segment[r->n_segments - 1], '.') : NULL;

	/* a part that would be dots alone without it has none */
	if (dot == NULL || strspn(r->segment[r->n_segments - 1], ".") >=
				   (size_t)(dot - r->segment[r->n_segments - 1]))
		return;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(dot + 1, forms[i]) == 0) {
			snprintf(r->suffix, sizeof(r->suffix), "%s", forms[i]);
			*dot = '\0';
			break;
		}
}

static int take_url(struct rama_serve_request *r, const char *url, const char **why)
{
	struct decoder d = { .to = r->text };

	*why = "an address that is too long";
	if (strlen(url) > RAMA_SERVE_URL_MOST)
		return 414;
	*why = "an address that is none";
	if (*url != '/' || !take_path(r, &d, &url))
		return 400;
	*why = "a query that is none";
	if (!take_query(r, &d, &url))
		return 400;
	take_suffix(r);
	return 0;
}

int rama_serve_request_take(struct rama_serve_request *r, const char *method, const char *url,
			    const struct rama_serve_header *header, size_t n, const char *trust,
			    const char **why)
{
	static const char *const methods[RAMA_SERVE_METHODS] = { "GET", "POST", "PUT", "DELETE" };
	unsigned m = 0;
	int status = 0;

	r->remote_user = NULL;
	r->n_segments = r->n_pairs = 0;
	r->length = 0;
	r->suffix[0] = '\0';
	memset(r->header, 0, sizeof(r->header));
	r->head = strcmp(method, "HEAD") == 0;
	while (m < RAMA_SERVE_METHODS && strcmp(methods[m], r->head ? "GET" : method) != 0)
		m++;
	*why = "a method that is not known";
	if (m == RAMA_SERVE_METHODS)
		return 405;
	r->method = (enum rama_serve_method)m;
	for (size_t i = 0; status == 0 && i < n; i++)
		status = take_header(r, &header[i], trust, why);
	if (status == 0 &&
	    (r->header[RAMA_SERVE_HOST] == NULL || *r->header[RAMA_SERVE_HOST] == '\0')) {
		*why = "no host";
		status = 400;
	}
	if (status == 0)
		status = check_body(r, why);
	return status == 0 ? take_url(r, url, why) : status;
}

const char *rama_serve_request_value(const struct rama_serve_request *r, const char *key)
{
	for (unsigned i = 0; i < r->n_pairs; i++)
		if (strcmp(r->pair[i].key, key) == 0)
			return r->pair[i].value;
	return NULL;
}

/* ---- what browsers say ----------------------------------------------------------------------- */

bool rama_serve_request_own(const struct rama_serve_request *r)
{
	const char *site = r->header[RAMA_SERVE_FETCH_SITE], *origin = r->header[RAMA_SERVE_ORIGIN];
	const char *host = r->header[RAMA_SERVE_HOST];

	if (site != NULL)
		return strcmp(site, "same-origin") == 0;
	if (origin == NULL)
		return true; /* no browser */
	if (strncmp(origin, "http://", 7) == 0)
		return strcmp(origin + 7, host) == 0;
	return strncmp(origin, "https://", 8) == 0 && strcmp(origin + 8, host) == 0;
}

bool rama_serve_request_cookie(const struct rama_serve_request *r, const char *name, char *to,
			       size_t room)
{
	const char *at = r->header[RAMA_SERVE_COOKIE];
	size_t len = strlen(name);

	while (at != NULL && *at != '\0') {
		size_t n;

		at += strspn(at, "; ");
		n = strcspn(at, ";");
		if (n > len && strncmp(at, name, len) == 0 && at[len] == '=') {
			if (n - len - 1 >= room)
				return false;
			memcpy(to, at + len + 1, n - len - 1);
			to[n - len - 1] = '\0';
			return true;
		}
		at += n;
	}
	return false;
}
