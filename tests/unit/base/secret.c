/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/secret.h"

static void becomes(const char *from, const char *to)
{
	char text[200];

	snprintf(text, sizeof(text), "%s", from);
	rama_secret_hide(text);
	assert_string_equal(text, to);
}

static void passwords_are_written_over(void **state)
{
	(void)state;
	becomes("postgresql://ann:secret@db/iorama", "postgresql://ann:xxxxxx@db/iorama");
	becomes("--sink=nats://a:b@h1:4222,tls://c:d:e@h2",
		"--sink=nats://a:x@h1:4222,tls://c:xxx@h2");
	becomes("postgresql://db/x?password=a/b&user=c&sslpassword=d",
		"postgresql://db/x?password=xxx&user=c&sslpassword=x");
}

static void nothing_else_is(void **state)
{
	(void)state;
	becomes("postgresql://ann@db:5432/iorama", "postgresql://ann@db:5432/iorama");
	becomes("nats://hub:4222?ack=stream&credentials=/a:b@c",
		"nats://hub:4222?ack=stream&credentials=/a:b@c");
	becomes("a:b@c password=d", "a:b@c password=d");
	becomes("://", "://");
	becomes("", "");
}

static void words_stay_as_they_were(void **state)
{
	char first[] = "agent", second[] = "nats://a:b@h", *words[] = { first, second };

	(void)state;
	rama_secret_hide_words(2, words);
	assert_ptr_equal(words[0], first);
	assert_string_equal(words[1], "nats://a:b@h");
	assert_string_equal(second, "nats://a:x@h");
	free(words[1]);
}

UNIT_GROUP(secret, test(passwords_are_written_over), test(nothing_else_is),
	   test(words_stay_as_they_were))
