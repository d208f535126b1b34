/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.h: everything that a report may name, and what is known of it. */
#ifndef RAMA_CLI_EXPLAIN_H
#define RAMA_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/out.h"

/* in the order in which they are listed */
enum rama_topic_kind {
	RAMA_TOPIC_RULE,
	RAMA_TOPIC_TERM,
	RAMA_TOPIC_LIMIT,
	RAMA_TOPIC_FACT,
	RAMA_TOPIC_LAYER,
	RAMA_TOPIC_MODULE,
	RAMA_TOPIC_COUNTER,
	RAMA_TOPIC_SETTING,
	RAMA_TOPIC_KINDS
};

struct rama_topic_kind_info {
	const char *one, *many; /* rule, rules */
	const char *doc;
};
extern const struct rama_topic_kind_info rama_topic_kind_info[RAMA_TOPIC_KINDS];

struct rama_topic {
	enum rama_topic_kind kind;
	const char *name;
	const char *
		also; /* other names for it, with commas or blanks between words of one kind, or "" */
	const char *line; /* what it is, in short */
	const void *row;  /* of its table */
	unsigned module;  /* of a counter */
};

struct rama_topics {
	struct rama_topic *at;
	size_t n, room;
	struct rama_arena arena; /* of texts that are put together */
};

int rama_topics_make(struct rama_topics *t); /* 0 or RAMA_EMEMORY */
void rama_topics_fini(struct rama_topics *t);

/* is it called so? letter case, and whether words are joined by blanks, - or _, make no difference */
bool rama_topic_named(const struct rama_topic *topic, const char *name);
/* is it a counter that is called so after the word for its module? */
bool rama_topic_counter_named(const struct rama_topic *topic, const char *name);
/* the kind whose plural this is, or RAMA_TOPIC_KINDS */
enum rama_topic_kind rama_topic_kind_named(const char *name);
/* Topics whose names are most like this one, at most `most`, the nearest first; how many. */
size_t rama_topics_nearest(const struct rama_topics *t, const char *name,
			   const struct rama_topic **to, size_t most);

/* what there is to say of a topic: a text, then words with their texts */
struct rama_page {
	const char *title, *text;
	struct {
		const char *key, *label, *text;
	} field[16];
	size_t n;
};
int rama_page_make(struct rama_page *p, struct rama_topics *t, const struct rama_topic *topic);

#endif
