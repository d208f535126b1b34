/* SPDX-License-Identifier: BSD-3-Clause */
/* streams end by time, and with the session they began with; nobody has too many */
#include "unit.h"

#include "base/now.h"
#include "serve/inside.h"

#define RIGHT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct listener {
	struct rama_serve_stream *stream;
	unsigned slept, woken;
};

static void sleep_one(void *ctx)
{
	((struct listener *)ctx)->slept++;
}

static void wake_one(void *ctx)
{
	((struct listener *)ctx)->woken++;
}

static struct rama_serve *server(void)
{
	struct rama_serve *s = calloc(1, sizeof(*s));
	struct rama_err e = { 0 };

	assert_non_null(s);
	s->o.token = RIGHT;
	s->o.user = "ada";
	pthread_mutex_init(&s->hub.lock, NULL);
	pthread_cond_init(&s->hub.come, NULL);
	assert_int_equal(rama_serve_who_init(&s->who, &s->o, &e), 0);
	return s;
}

static void gone(struct rama_serve *s)
{
	rama_serve_hub_clear(s);
	rama_serve_who_fini(&s->who);
	free(s);
}

/* session: its id, NULL: without a cookie */
static void begin(struct rama_serve *s, struct listener *l, const char *session, int status)
{
	struct rama_serve_request *r = calloc(1, sizeof(*r));
	struct rama_serve_viewer v;
	struct rama_serve_call c = { .serve = s, .request = r, .viewer = &v };
	char cookie[128];
	int got;

	assert_int_equal(rama_serve_viewer_init(&v, &s->o, "ada", false), 0);
	if (session != NULL) {
		snprintf(cookie, sizeof(cookie), "iorama_session=%s", session);
		r->header[RAMA_SERVE_COOKIE] = cookie;
	}
	*l = (struct listener){ .stream = rama_serve_stream_open(&c, "jobs", &got) };
	assert_int_equal(got, status);
	if (l->stream != NULL)
		rama_serve_stream_ways(l->stream, l, sleep_one, wake_one);
	rama_serve_viewer_fini(&v);
	free(r);
}

static void assert_on(struct listener *l, bool on)
{
	char text[16];

	assert_int_equal(rama_serve_stream_read(l->stream, text, sizeof(text)), on ? 0 : -1);
}

static void an_hour(void **state)
{
	struct rama_serve *s = server();
	int64_t now = rama_now_ms();
	struct listener l;

	(void)state;
	begin(s, &l, NULL, 0);
	assert_on(&l, true);
	assert_true(l.slept == 1 && l.woken == 0);
	rama_serve_hub_tick(&s->hub, now + RAMA_SERVE_STREAM_MS - 1);
	assert_int_equal(l.woken, 0);
	/* whenever exactly it began */
	rama_serve_hub_tick(&s->hub, rama_now_ms() + RAMA_SERVE_STREAM_MS);
	assert_int_equal(l.woken, 1);
	assert_on(&l, false);
	rama_serve_stream_close(l.stream);
	gone(s);
}

static void as_long_as_its_session(void **state)
{
	struct rama_serve *s = server();
	char id[2][RAMA_SERVE_SECRET];
	struct listener l[3];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rama_serve_who_login(&s->who, &s->o, RIGHT, "a", id[i]), 0);
	begin(s, &l[0], id[0], 0);
	begin(s, &l[1], id[1], 0);
	begin(s, &l[2], NULL, 0);
	rama_serve_hub_leave(&s->hub, id[0]);
	for (unsigned i = 0; i < 3; i++)
		assert_on(&l[i], i != 0);
	rama_serve_stream_close(l[0].stream);
	/* nobody's session is not that of those who have none */
	rama_serve_hub_leave(&s->hub, "");
	assert_on(&l[2], true);
	/* one that has ten minutes left when it begins */
	s->who.session[0].until = s->who.session[1].until = rama_now_ms() + 600000;
	begin(s, &l[0], id[1], 0);
	rama_serve_hub_tick(&s->hub, rama_now_ms() + 600000);
	assert_on(&l[0], false);
	assert_on(&l[1], true);
	for (unsigned i = 0; i < 3; i++)
		rama_serve_stream_close(l[i].stream);
	gone(s);
}

static void eight_of_one(void **state)
{
	struct rama_serve *s = server();
	struct listener l[RAMA_SERVE_STREAMS + 1];

	(void)state;
	for (unsigned i = 0; i <= RAMA_SERVE_STREAMS; i++)
		begin(s, &l[i], NULL, i < RAMA_SERVE_STREAMS ? 0 : 429);
	assert_null(l[RAMA_SERVE_STREAMS].stream);
	rama_serve_stream_close(l[0].stream);
	begin(s, &l[0], NULL, 0);
	for (unsigned i = 0; i < RAMA_SERVE_STREAMS; i++)
		rama_serve_stream_close(l[i].stream);
	assert_int_equal(atomic_load(&s->counts.viewers), 0);
	gone(s);
}

UNIT_GROUP(hub, test(an_hour), test(as_long_as_its_session), test(eight_of_one))
