/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_request.c: requests to `iorama serve`, lines as a parser of HTTP hands them over. What is
 * let in has a path of parts without dots and control characters, one host, no body but that of a
 * POST or PUT, and is found among the routes or not. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/call.h"

#define HEADERS 40

static void check(const struct rama_serve_request *r)
{
	const struct rama_serve_route *route = NULL;
	const char *word = NULL;
	char cookie[65];
	int64_t job;

	if (r->header[RAMA_SERVE_HOST] == NULL || r->header[RAMA_SERVE_CODING] != NULL ||
	    r->length > RAMA_SERVE_BODY_MOST ||
	    (r->length > 0 && r->method != RAMA_SERVE_POST && r->method != RAMA_SERVE_PUT))
		abort();
	for (unsigned i = 0; i < r->n_segments; i++) {
		const char *s = r->segment[i];

		if (strcmp(s, "..") == 0 || strchr(s, '/') != NULL ||
		    strlen(s) > RAMA_SERVE_URL_MOST)
			abort();
		for (; *s != '\0'; s++)
			if ((unsigned char)*s < 0x20 || *s == 0x7f)
				abort();
	}
	for (unsigned i = 0; i < r->n_pairs; i++)
		if (strlen(r->pair[i].key) + strlen(r->pair[i].value) > RAMA_SERVE_URL_MOST ||
		    rama_serve_request_value(r, r->pair[i].key) != r->pair[i].value)
			abort();
	rama_serve_request_own(r);
	rama_serve_request_cookie(r, "iorama_session", cookie, sizeof(cookie));
	if (rama_serve_route_find(r, &route, &job, &word) == 0) {
		if (route->method != r->method || job < 0)
			abort();
		rama_serve_route_stray(route, r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rama_serve_header header[HEADERS];
	struct rama_serve_request *r = malloc(sizeof(*r));
	char *text = malloc(size + 1), *method = text, *url, *at;
	const char *why = NULL;
	size_t n = 0;

	if (r == NULL || text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	at = strchr(text, '\n');
	if (at != NULL)
		*at++ = '\0';
	url = strchr(method, ' ');
	if (url != NULL) {
		*url++ = '\0';
		while (at != NULL && *at != '\0' && n < HEADERS) {
			char *end = strchr(at, '\n'), *colon;

			if (end != NULL)
				*end++ = '\0';
			colon = strchr(at, ':');
			if (colon != NULL) {
				*colon++ = '\0';
				header[n++] = (struct rama_serve_header){ at, colon, strlen(at),
									  strlen(colon) };
			}
			at = end;
		}
		if (rama_serve_request_take(r, method, url, header, n, "x-remote-user", &why) == 0)
			check(r);
		else if (why == NULL)
			abort();
	}
	free(text);
	free(r);
	return 0;
}
