/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "report/explain/explain.h"

static const struct rama_report_topic *find(const struct rama_report_topics *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (rama_report_topic_named(&t->at[i], name))
			return &t->at[i];
	return NULL;
}

static void topics_have_names(void **state)
{
	struct rama_report_topics t = { 0 };
	const struct rama_report_topic *near[3];
	struct rama_report_page p;

	(void)state;
	assert_int_equal(rama_report_topics_make(&t), 0);
	assert_non_null(find(&t, "POSIX_OPENS"));
	assert_ptr_equal(find(&t, "posix-opens"), find(&t, "POSIX_OPENS"));
	assert_int_equal(find(&t, "IORAMA_DIR")->kind, RAMA_REPORT_TOPIC_SETTING);
	assert_null(find(&t, "POSIX_OPEN_"));
	assert_true(rama_report_topics_nearest(&t, "POSIX_OPENZ", near, 3) > 0);
	assert_string_equal(near[0]->name, "POSIX_OPENS");
	assert_int_equal(rama_report_topic_kind_named("rules"), RAMA_REPORT_TOPIC_RULE);
	assert_int_equal(rama_report_topic_kind_named("rulez"), RAMA_REPORT_TOPIC_KINDS);
	assert_int_equal(rama_report_page_make(&p, &t, find(&t, "POSIX_OPENS")), 0);
	assert_string_equal(p.field[0].key, "module");
	rama_report_topics_fini(&t);
}

static void texts_are_wrapped(void **state)
{
	struct rama_out out;
	struct rama_report_explain x = { .out = &out, .width = 40 };
	const char *line;

	(void)state;
	rama_out_init(&out, NULL, NULL);
	rama_json_init(&x.json, &out);
	assert_int_equal(rama_report_topics_make(&x.topics), 0);
	for (size_t i = 0; i < x.topics.n; i++)
		if (x.topics.at[i].kind == RAMA_REPORT_TOPIC_LIMIT)
			assert_int_equal(rama_report_explain_topic(&x, &x.topics.at[i]), 0);
	rama_out_char(&out, '\0');
	for (line = out.buf; *line != '\0'; line += strcspn(line, "\n") + 1)
		if (strncmp(line, "  ", 2) == 0 && strcspn(line, "\n") > 60)
			fail_msg("not wrapped: %.80s", line);
	rama_out_fini(&out);
	rama_report_topics_fini(&x.topics);
}

UNIT_GROUP(explain, test(topics_have_names), test(texts_are_wrapped))
