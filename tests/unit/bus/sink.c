// SPDX-License-Identifier: BSD-3-Clause
/* The words of sinks: their places and options, tags of jobs, receipts of collectors, the order
 * of a batch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/collect.h"
#include "bus/sink/bus.h"
#include "bus/put.h"
#include "bus/sink/tags.h"
#include "unit.h"

static void kinds(void **st)
{
	static const struct {
		const char *text, *name, *where;
	} known[] = {
		{ "store:/a/b.db", "store", "/a/b.db" },
		{ "file:x?format=csv", "file", "x?format=csv" },
		{ "nats://h:1", "nats", "nats://h:1" },
		{ "tls://h:1", "nats", "tls://h:1" },
		{ "ldms:h:411", "ldms", "h:411" },
		{ "postgresql://h/d?x=y", "store", "postgresql://h/d?x=y" },
		{ "postgres://h/d", "store", "postgres://h/d" },
	};
	const char *where;

	(void)st;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		assert_string_equal(rama_bus_sink_find(known[i].text, &where)->name, known[i].name);
		assert_string_equal(where, known[i].where);
	}
	assert_null(rama_bus_sink_find("", &where));
	assert_null(rama_bus_sink_find("store:", &where));
	assert_null(rama_bus_sink_find("/a/path", &where));
	assert_null(rama_bus_sink_find("http://h", &where));
}

static void options(void **st)
{
	struct rama_bus_sink_spec sp;
	struct rama_err e = { 0 };
	uint64_t v = 7;
	char text[5000];

	(void)st;
	assert_int_equal(rama_bus_sink_split(&sp, "a?b?one=1%26%2f&two=64M&", "one two three ", &e),
			 0);
	assert_string_equal(sp.place, "a?b");
	assert_string_equal(rama_bus_sink_option(&sp, "one", ""), "1&/");
	assert_string_equal(rama_bus_sink_option(&sp, "three", "none"), "none");
	assert_int_equal(rama_bus_sink_number(&sp, "two", &v, &e), 0);
	assert_int_equal(v, 64 << 20);
	assert_int_equal(rama_bus_sink_number(&sp, "three", &v, &e), 0);
	assert_int_equal(v, 64 << 20);
	assert_int_equal(rama_bus_sink_number(&sp, "one", &v, &e), RAMA_EUSAGE);
	assert_int_equal(rama_bus_sink_split(&sp, "a?tw=1", "one two ", &e), RAMA_EUSAGE);
	assert_int_equal(rama_bus_sink_split(&sp, "a?wo=1", "one two ", &e), RAMA_EUSAGE);
	assert_int_equal(rama_bus_sink_split(&sp, "a?=1", "one two ", &e), RAMA_EUSAGE);
	assert_int_equal(rama_bus_sink_split(&sp, "a?one", "one two ", &e), RAMA_EUSAGE);
	assert_int_equal(rama_bus_sink_split(&sp, "?one=1", "one two ", &e), RAMA_EUSAGE);
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	assert_int_equal(rama_bus_sink_split(&sp, text, "", &e), RAMA_EUSAGE);
	memcpy(text, "a?one=", 6);
	assert_int_equal(rama_bus_sink_split(&sp, text, "one ", &e), RAMA_EUSAGE);
	text[6 + sizeof sp.option->value] = '\0'; /* the NUL has no room */
	assert_int_equal(rama_bus_sink_split(&sp, text, "one ", &e), RAMA_EUSAGE);
	text[6 + sizeof sp.option->value - 1] = '\0';
	assert_int_equal(rama_bus_sink_split(&sp, text, "one ", &e), 0);
	assert_int_equal(strlen(rama_bus_sink_option(&sp, "one", "")), sizeof sp.option->value - 1);
}

static void numbers(void **st)
{
	static const struct {
		const char *text;
		uint64_t v; /* 0: none */
	} all[] = { { "a?n=1", 1 },   { "a?n=2K", 2048 },	{ "a?n=1T", 1ull << 40 },
		    { "a?n=-1", 0 },  { "a?n=1X", 0 },		{ "a?n=", 0 },
		    { "a?n=1KK", 0 }, { "a?n=99999999999T", 0 } };
	struct rama_bus_sink_spec sp;
	struct rama_err e = { 0 };

	(void)st;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		uint64_t v = 0;

		assert_int_equal(rama_bus_sink_split(&sp, all[i].text, "n ", &e), 0);
		assert_int_equal(rama_bus_sink_number(&sp, "n", &v, &e),
				 all[i].v > 0 ? 0 : RAMA_EUSAGE);
		assert_int_equal(v, all[i].v);
	}
}

static void secrets(void **st)
{
	char to[64];

	(void)st;
	assert_string_equal(rama_bus_sink_shown("nats://u:p@s@h:1,nats://x:2", to, sizeof to),
			    "nats://h:1,nats://x:2");
	assert_string_equal(rama_bus_sink_shown("postgresql://me:pw@db/io?password=x", to,
						sizeof to),
			    "postgresql://db/io");
	assert_string_equal(rama_bus_sink_shown("/a/b@c?", to, sizeof to), "/a/b@c?");
	assert_string_equal(
		rama_bus_sink_shown("nats://a-very-long-name-of-a-host-that-does-not-fit", to, 16),
		"nats://a-very-l");
}

static void words(void **st)
{
	char to[8];

	(void)st;
	rama_bus_word(to, sizeof to, "a.b*>\n", 6);
	assert_string_equal(to, "a_b___");
	rama_bus_word(to, sizeof to, "", 0);
	assert_string_equal(to, "_");
	rama_bus_word(to, sizeof to, "0123456789", 10);
	assert_string_equal(to, "0123456");
}

/* ---- receipts -------------------------------------------------------------------------------- */

static char said[4096];

static void say(void *ctx, const char *agent, const char *text, size_t len)
{
	size_t used = strlen(said);

	(void)ctx;
	snprintf(said + used, sizeof said - used, "%s:%.*s|", agent, (int)len, text);
}

static void receipts(void **st)
{
	struct rama_bus_receipt r[] = {
		{ "b", "2", 7, 0 }, { "a", "1", 3, 0 },	  { "a", "1", 1, 0 },	{ "a", "1", 2, 0 },
		{ "a", "1", 9, 0 }, { "a", "1", 5, '!' }, { "a", "1", 4, 'p' }, { "b", "1", 6, 0 },
		{ "a", "1", 3, 0 }, { "a", "1", 6, '!' },
	};

	(void)st;
	said[0] = '\0';
	rama_bus_receipts(r, sizeof r / sizeof *r, 1000, say, NULL);
	assert_string_equal(said, "a:1 1-3 9 !5 !6 p4|b:1 6|b:2 7|");
	said[0] = '\0';
	rama_bus_receipts(r, 0, 1000, say, NULL);
	assert_string_equal(said, "");
}

/* texts that are too small for all: several, each with its epoch */
static void many_receipts(void **st)
{
	struct rama_bus_receipt *r = calloc(100, sizeof *r);
	unsigned texts = 0;

	(void)st;
	for (unsigned i = 0; i < 100; i++) {
		memcpy(r[i].agent, "a", 2);
		memcpy(r[i].epoch, "77", 3);
		r[i].number = 1000 + 2 * i;
	}
	said[0] = '\0';
	rama_bus_receipts(r, 100, 200, say, NULL);
	for (char *at = said; (at = strstr(at, "a:77 ")) != NULL; at++)
		texts++;
	assert_true(texts > 3);
	for (unsigned i = 0; i < 100; i++) {
		char word[16];

		snprintf(word, sizeof word, " %u", 1000 + 2 * i);
		assert_non_null(strstr(said, word));
	}
	free(r);
}

/* ---- tags and order -------------------------------------------------------------------------- */

static void tags(void **st)
{
	struct rama_bus_tags t = { 0 };
	char job[32];

	(void)st;
	assert_string_equal(rama_bus_tags_of(&t, "1/a", "", "usual"), "usual");
	assert_string_equal(rama_bus_tags_of(&t, "1/a", "mine", "usual"), "mine");
	assert_string_equal(rama_bus_tags_of(&t, "1/a", "", "usual"), "mine");
	assert_string_equal(rama_bus_tags_of(&t, "1/b", "", "usual"), "usual");
	assert_string_equal(rama_bus_tags_of(&t, "1/a", "changed", "usual"), "changed");
	for (unsigned i = 0; i < 70000; i++) { /* bounded: it forgets, and goes on */
		snprintf(job, sizeof job, "1/%u", i);
		assert_string_equal(rama_bus_tags_of(&t, job, "changed", "usual"), "changed");
	}
	assert_true(t.n <= 65536);
	assert_string_equal(rama_bus_tags_of(&t, "1/69999", "", "usual"), "changed");
	rama_bus_tags_fini(&t);
}

static struct rama_wire_bytes batch[6];

static const unsigned char *bytes_of(const void *ctx, size_t i, size_t *len)
{
	const struct rama_wire_bytes *b = ctx;

	*len = b[i].n;
	return b[i].b;
}

static void make_process(struct rama_wire_bytes *to, const char *job, uint8_t segment)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS };
	struct rama_err e = { 0 };

	m.process = (struct rama_wire_msg_process){ .segment = { { segment } },
						    .version = 1,
						    .job = job,
						    .user = "u",
						    .host = "h",
						    .exe = "x",
						    .command = "x",
						    .tag = "",
						    .start = 1,
						    .seen_at = 1,
						    .state = RAMA_WIRE_STATE_RUNNING };
	assert_int_equal(rama_wire_message_encode(&m, to, &e), 0);
}

static void order(void **st)
{
	static const size_t want[] = { 2, 5, 3, 1, 4, 0 };
	struct rama_bus_put o = { 0 };
	struct rama_err e = { 0 };

	(void)st;
	make_process(&batch[0], "2/b", 1);
	make_process(&batch[1], "1/a", 9);
	batch[2].b = calloc(1, 3); /* nonsense: first */
	batch[2].n = 3;
	make_process(&batch[3], "1/a", 1);
	make_process(&batch[4], "1/a", 9); /* stays behind the other of its process */
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(rama_bus_put_order(&o, 6, bytes_of, batch, &e), 0);
		for (size_t i = 0; i < 6; i++)
			assert_int_equal(o.key[i].place, want[i]);
	}
	rama_bus_put_fini(&o);
	for (size_t i = 0; i < 6; i++)
		rama_wire_bytes_fini(&batch[i]);
}

UNIT_GROUP(sink, cmocka_unit_test(kinds), cmocka_unit_test(options), cmocka_unit_test(numbers),
	   cmocka_unit_test(secrets), cmocka_unit_test(words), cmocka_unit_test(receipts),
	   cmocka_unit_test(many_receipts), cmocka_unit_test(tags), cmocka_unit_test(order))
