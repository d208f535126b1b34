/* SPDX-License-Identifier: BSD-3-Clause */
/* request.h: a request as it came, looked at before anything is done with it. Pure: no byte of it
 * is trusted, and what two programs could read in two ways is refused. */
#ifndef RAMA_SERVE_REQUEST_H
#define RAMA_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAMA_SERVE_URL_MOST 8192
#define RAMA_SERVE_BODY_MOST 65536
#define RAMA_SERVE_SEGMENTS 8
#define RAMA_SERVE_PAIRS 24

struct rama_serve_header {
	const char *name, *value;
	size_t name_len, value_len;
};

struct rama_serve_pair {
	const char *key, *value;
};

enum rama_serve_method {
	RAMA_SERVE_GET,
	RAMA_SERVE_POST,
	RAMA_SERVE_PUT,
	RAMA_SERVE_DELETE,
	RAMA_SERVE_METHODS
};

/* headers that are looked at; each comes once at most */
enum rama_serve_known {
	RAMA_SERVE_HOST,
	RAMA_SERVE_LENGTH,
	RAMA_SERVE_CODING, /* Transfer-Encoding */
	RAMA_SERVE_EXPECT,
	RAMA_SERVE_TYPE,
	RAMA_SERVE_ACCEPT,
	RAMA_SERVE_ENCODINGS,
	RAMA_SERVE_AUTHORIZATION,
	RAMA_SERVE_COOKIE,
	RAMA_SERVE_NONE_MATCH,
	RAMA_SERVE_ORIGIN,
	RAMA_SERVE_FETCH_SITE,
	RAMA_SERVE_LAST_EVENT,
	RAMA_SERVE_KNOWN
};

struct rama_serve_request {
	enum rama_serve_method method;
	bool head;			      /* GET without the body */
	const char *header[RAMA_SERVE_KNOWN]; /* NULL: not there */
	const char *remote_user;	      /* of the header that is trusted; NULL: not there */
	/* the path in its parts, decoded */
	const char *segment[RAMA_SERVE_SEGMENTS];
	unsigned n_segments;
	char suffix[8]; /* of the last one: "json", "csv", "html"; "": none */
	struct rama_serve_pair pair[RAMA_SERVE_PAIRS]; /* of the query, decoded */
	unsigned n_pairs;
	uint64_t length;		    /* of the body that is to come */
	char text[2 * RAMA_SERVE_URL_MOST]; /* of segments and pairs */
};

/* 0, or the HTTP status with which it is refused; *why: a line. trust: name of the header that
 * says who it is of, or NULL. Values of headers must end with NUL
 * and outlive the request. */
int rama_serve_request_take(struct rama_serve_request *r, const char *method, const char *url,
			    const struct rama_serve_header *header, size_t n, const char *trust,
			    const char **why);
/* How many bytes the head of a request takes that consists of these parts, where they lie in what
 * was received, each line ending in CR LF; 0: they are not there as they came. Where more came,
 * something was left out: what is behind a NUL, the end of a line that is none, a fold. Another
 * program may have read it, and in another way. */
size_t rama_serve_request_size(const char *method, const char *url, const char *version,
			       const struct rama_serve_header *header, size_t n);
/* value of a key of the query; NULL: not there */
const char *rama_serve_request_value(const struct rama_serve_request *r, const char *key);
/* Is it made by a page of ours, or by no page at all? For requests that change something. */
bool rama_serve_request_own(const struct rama_serve_request *r);
/* the value of a cookie of this name, into `to`; false: none, or too long */
bool rama_serve_request_cookie(const struct rama_serve_request *r, const char *name, char *to,
			       size_t room);

#endif
