/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.h: everything that a report may name, and what is known of it. */
#ifndef RAMA_REPORT_EXPLAIN_EXPLAIN_H
#define RAMA_REPORT_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/out.h"

/* in the order in which they are listed */
enum rama_report_topic_kind {
	RAMA_REPORT_TOPIC_RULE,
	RAMA_REPORT_TOPIC_TERM,
	RAMA_REPORT_TOPIC_LIMIT,
	RAMA_REPORT_TOPIC_FACT,
	RAMA_REPORT_TOPIC_LAYER,
	RAMA_REPORT_TOPIC_MODULE,
	RAMA_REPORT_TOPIC_COUNTER,
	RAMA_REPORT_TOPIC_SETTING,
	RAMA_REPORT_TOPIC_KINDS
};

struct rama_report_topic_kind_info {
	const char *one, *many; /* rule, rules */
	const char *doc;
};
extern const struct rama_report_topic_kind_info
	rama_report_topic_kind_info[RAMA_REPORT_TOPIC_KINDS];

struct rama_report_topic {
	enum rama_report_topic_kind kind;
	const char *name;
	/* other names for it, with commas or blanks between words of one kind, or "" */
	const char *also;
	const char *line; /* what it is, in short */
	const void *row;  /* of its table */
	unsigned module;  /* of a counter */
};

struct rama_report_topics {
	struct rama_report_topic *at;
	size_t n, room;
	struct rama_arena arena; /* of texts that are put together */
};

int rama_report_topics_make(struct rama_report_topics *t); /* 0 or RAMA_EMEMORY */
void rama_report_topics_fini(struct rama_report_topics *t);

/* is it called so? letter case, and whether words are joined by blanks, - or _, make no
 * difference */
bool rama_report_topic_named(const struct rama_report_topic *topic, const char *name);
/* is it a counter that is called so after the word for its module? */
bool rama_report_topic_counter_named(const struct rama_report_topic *topic, const char *name);
/* the kind whose plural this is, or RAMA_REPORT_TOPIC_KINDS */
enum rama_report_topic_kind rama_report_topic_kind_named(const char *name);
/* Topics whose names are most like this one, at most `most`, the nearest first; how many. */
size_t rama_report_topics_nearest(const struct rama_report_topics *t, const char *name,
				  const struct rama_report_topic **to, size_t most);

/* what there is to say of a topic: a text, then words with their texts */
struct rama_report_page {
	const char *title, *text;
	struct {
		const char *key, *label, *text;
	} field[16];
	size_t n;
};
int rama_report_page_make(struct rama_report_page *p, struct rama_report_topics *t,
			  const struct rama_report_topic *topic);

/* ---- told ---- */

struct rama_report_explain {
	struct rama_report_topics topics;
	struct rama_out *out;
	struct rama_json json; /* into the same */
	bool as_json;
	unsigned width; /* columns of texts */
	bool utf8;	/* of texts */
};

int rama_report_explain_topic(struct rama_report_explain *x, const struct rama_report_topic *topic);
/* those of a kind, a line each or side by side */
void rama_report_explain_kind(struct rama_report_explain *x, enum rama_report_topic_kind kind,
			      bool lines);
void rama_report_explain_list(struct rama_report_explain *x);	  /* all there are */
void rama_report_explain_markdown(struct rama_report_explain *x); /* docs/rules.md */

#endif
