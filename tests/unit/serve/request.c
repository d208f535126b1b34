/* SPDX-License-Identifier: BSD-3-Clause */
/* what is let in, what is refused, and what of it */
#include "unit.h"

#include "serve/call.h"

static struct rama_serve_request r;
static const char *why;

struct line {
	const char *name, *value;
};

static int take(const char *method, const char *url, const struct line *line, size_t n)
{
	struct rama_serve_header h[16] = { { .name = "" } };

	for (size_t i = 0; i < n; i++)
		h[i] = (struct rama_serve_header){ line[i].name, line[i].value,
						   strlen(line[i].name), strlen(line[i].value) };
	return rama_serve_request_take(&r, method, url, h, n, "X-Remote-User", &why);
}

static int get(const char *url)
{
	return take("GET", url, &(struct line){ "Host", "h" }, 1);
}

static void paths(void **state)
{
	static const char *const refused[] = {
		"",	    "x",      "//",	    "/a//b",   "/a/",	  "/.",
		"/a/../b",  "/%2e",   "/%2E%2e/",   "/a%2fb",  "/a%00",	  "/a%0a",
		"/a%",	    "/a%4",   "/a%zz",	    "/a\\b",   "/a#b",	  "/a b",
		"/\x7f",    "/a\x01", "/%ff",	    "/a?b%",   "/a?=x",	  "/a?b=1&b=2",
		"/a?b=%00", "/a?b&&", "http://h/a", "/%c0%af", "/a?%0d=1"
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++)
		if (get(refused[i]) != 400)
			fail_msg("%s is let in", refused[i]);
	assert_int_equal(get("/"), 0);
	assert_int_equal(r.n_segments, 0);
	assert_int_equal(get("/api/1/a%20%C3%A9.csv?x=1+2%2f&y"), 0);
	assert_int_equal(r.n_segments, 3);
	assert_string_equal(r.segment[2], "a \xc3\xa9");
	assert_string_equal(r.suffix, "csv");
	assert_string_equal(rama_serve_request_value(&r, "x"), "1 2/");
	assert_string_equal(rama_serve_request_value(&r, "y"), "");
	assert_null(rama_serve_request_value(&r, "z"));
	assert_int_equal(get("/a+b?c=d+e"), 0); /* a blank in values only */
	assert_string_equal(r.segment[0], "a+b");
	assert_string_equal(rama_serve_request_value(&r, "c"), "d e");
	/* a form does not make dots of a name */
	assert_int_equal(get("/...html"), 0);
	assert_string_equal(r.segment[0], "...html");
	assert_int_equal(get("/.csv"), 0);
	assert_string_equal(r.segment[0], ".csv");
	assert_int_equal(get("/1/2/3/4/5/6/7/8"), 0);
	assert_int_equal(get("/1/2/3/4/5/6/7/8/9"), 400);
}

static void long_ones(void **state)
{
	char *url = malloc(RAMA_SERVE_URL_MOST + 2);

	(void)state;
	memset(url, 'a', RAMA_SERVE_URL_MOST + 1);
	url[0] = '/';
	url[RAMA_SERVE_URL_MOST + 1] = '\0';
	assert_int_equal(get(url), 414);
	url[RAMA_SERVE_URL_MOST] = '\0';
	assert_int_equal(get(url), 0);
	free(url);
}

#define TAKE(method, ...)                                                         \
	take(method, "/a", (const struct line[]){ { "Host", "h" }, __VA_ARGS__ }, \
	     sizeof((const struct line[]){ { "Host", "h" }, __VA_ARGS__ }) / sizeof(struct line))

static void headers(void **state)
{
	(void)state;
	assert_int_equal(take("GET", "/a", NULL, 0), 400);
	assert_int_equal(TAKE("GET", { "host", "i" }), 400);
	assert_int_equal(TAKE("PATCH", { "a", "b" }), 405);
	assert_int_equal(TAKE("GET", { "Content-Length", "0" }), 0);
	assert_int_equal(TAKE("GET", { "Content-Length", "1" }), 400);
	assert_int_equal(TAKE("POST", { "Content-Length", "1" }), 0);
	assert_int_equal(r.length, 1);
	assert_int_equal(TAKE("POST", { "Content-Length", "65536" }), 0);
	assert_int_equal(TAKE("POST", { "Content-Length", "65537" }), 413);
	assert_int_equal(TAKE("POST", { "Content-Length", "0" }, { "content-length", "0" }), 400);
	assert_int_equal(TAKE("POST", { "Content-Length", "-1" }), 400);
	assert_int_equal(TAKE("POST", { "Content-Length", "1 " }), 400);
	assert_int_equal(TAKE("POST", { "Content-Length", "0x1" }), 400);
	assert_int_equal(TAKE("POST", { "Content-Length", "1844674407370955161600" }), 400);
	assert_int_equal(TAKE("POST", { "Transfer-Encoding", "chunked" }), 411);
	assert_int_equal(TAKE("POST", { "Transfer-Encoding", "a" }, { "Content-Length", "1" }),
			 400);
	assert_int_equal(TAKE("GET", { "Expect", "100-continue" }), 417);
	assert_int_equal(TAKE("GET", { "a b", "c" }), 400);
	assert_int_equal(TAKE("GET", { "", "c" }), 400);
	assert_int_equal(TAKE("GET", { "a", "b\x01" }), 400);
	assert_int_equal(TAKE("GET", { "a", "b\tc" }), 0);
	assert_int_equal(TAKE("GET", { "Cookie", "a" }, { "Cookie", "b" }), 400);
	assert_int_equal(TAKE("GET", { "X-Remote-User", "ada" }), 0);
	assert_string_equal(r.remote_user, "ada");
	assert_int_equal(TAKE("GET", { "X-Remote-User", "ada" }, { "x-remote-user", "ada" }), 400);
	assert_int_equal(TAKE("HEAD", { "a", "b" }), 0);
	assert_true(r.head && r.method == RAMA_SERVE_GET);
}

static void own_pages(void **state)
{
	char cookie[8];

	(void)state;
	TAKE("POST", { "a", "b" });
	assert_true(rama_serve_request_own(&r));
	TAKE("POST", { "Origin", "http://h" });
	assert_true(rama_serve_request_own(&r));
	TAKE("POST", { "Origin", "https://h" });
	assert_true(rama_serve_request_own(&r));
	TAKE("POST", { "Origin", "http://h.evil" });
	assert_false(rama_serve_request_own(&r));
	TAKE("POST", { "Origin", "null" });
	assert_false(rama_serve_request_own(&r));
	TAKE("POST", { "Origin", "http://h" }, { "Sec-Fetch-Site", "same-site" });
	assert_false(rama_serve_request_own(&r));
	TAKE("GET", { "Cookie", "xab=1; ab=23 ; ab=4" });
	assert_true(rama_serve_request_cookie(&r, "ab", cookie, sizeof(cookie)));
	assert_string_equal(cookie, "23 ");
	assert_false(rama_serve_request_cookie(&r, "b", cookie, sizeof(cookie)));
	TAKE("GET", { "Cookie", "ab=12345678" });
	assert_false(rama_serve_request_cookie(&r, "ab", cookie, sizeof(cookie)));
}

static int route(const char *method, const char *url, const char *name)
{
	const struct rama_serve_route *to = NULL;
	const char *word;
	int64_t job;
	int rc;

	assert_int_equal(take(method, url, &(struct line){ "Host", "h" }, 1), 0);
	rc = rama_serve_route_find(&r, &to, &job, &word);
	if (rc == 0)
		assert_string_equal(to->name, name);
	return rc;
}

static void routes(void **state)
{
	(void)state;
	assert_int_equal(route("GET", "/", "page"), 0);
	assert_int_equal(route("GET", "/api/1/jobs", "jobs"), 0);
	assert_int_equal(route("GET", "/api/1/jobs.csv", "jobs"), 0);
	assert_int_equal(route("GET", "/api/1/jobs/7", "job"), 0);
	assert_int_equal(route("GET", "/api/1/jobs/7/report.html", "report"), 0);
	assert_int_equal(route("GET", "/api/1/users/7", "user"), 0);
	assert_int_equal(route("POST", "/api/1/session", "login"), 0);
	assert_int_equal(route("POST", "/api/1/jobs", ""), 405);
	assert_int_equal(route("GET", "/api/1", ""), 404);
	assert_int_equal(route("GET", "/api/1/jobs/07", ""), 404);
	assert_int_equal(route("GET", "/api/1/jobs/0", ""), 404);
	assert_int_equal(route("GET", "/api/1/jobs/7/8", ""), 404);
	assert_int_equal(route("GET", "/api/1/jobs/1234567890123456789", ""), 404);
	assert_int_equal(route("GET", "/API/1/jobs", ""), 404);
}

/* who has not said who it is may ask for no more than these */
static void open_routes(void **state)
{
	static const char *const open[] = { "page",    "script", "style", "health",
					    "session", "login",	 "logout" };
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < RAMA_SERVE_ROUTES; i++) {
		bool job = strstr(rama_serve_routes[i].pattern, ":job") != NULL;

		assert_true(job == (rama_serve_routes[i].who == RAMA_SERVE_WHO_JOB));
		if (rama_serve_routes[i].who == RAMA_SERVE_WHO_ANY)
			assert_string_equal(rama_serve_routes[i].name, open[n++]);
	}
	assert_int_equal(n, LENGTH(open));
}

/* heads as they lie in memory, with NULs where a parser ends its texts */
static void sizes(void **state)
{
	static char one[RAMA_SERVE_URL_MOST + 64] = "A\0 b\0\0CD\0 \t\0\0";
	struct rama_serve_header h[] = { { one, one + 3, 1, 1 }, { one + 6, one + 11, 2, 0 } };
	size_t line = sizeof("GET /x HTTP/1.1\r\n") - 1;

	(void)state;
#define SIZE(n) rama_serve_request_size("GET", "/x", "HTTP/1.1", h, n)
	assert_int_equal(SIZE(0), line + 2);
	assert_int_equal(SIZE(1), line + sizeof("A: b\r\n") - 1 + 2);
	assert_int_equal(SIZE(2), line + sizeof("A: b\r\nCD: \t\r\n") - 1 + 2);
	h[0].value = one; /* before its name, and elsewhere */
	assert_int_equal(SIZE(1), 0);
	h[0].value = one + RAMA_SERVE_URL_MOST + 1;
	assert_int_equal(SIZE(2), 0);
#undef SIZE
}

UNIT_GROUP(request, test(paths), test(sizes), test(long_ones), test(headers), test(own_pages),
	   test(routes), test(open_routes))
