/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.h: everything that a report may name, and what is known of it. */
#ifndef RAMA_CLI_EXPLAIN_H
#define RAMA_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/out.h"

/* in the order in which they are listed */
enum rama_cli_topic_kind {
	RAMA_CLI_TOPIC_RULE,
	RAMA_CLI_TOPIC_TERM,
	RAMA_CLI_TOPIC_LIMIT,
	RAMA_CLI_TOPIC_FACT,
	RAMA_CLI_TOPIC_LAYER,
	RAMA_CLI_TOPIC_MODULE,
	RAMA_CLI_TOPIC_COUNTER,
	RAMA_CLI_TOPIC_SETTING,
	RAMA_CLI_TOPIC_KINDS
};

struct rama_cli_topic_kind_info {
	const char *one, *many; /* rule, rules */
	const char *doc;
};
extern const struct rama_cli_topic_kind_info rama_cli_topic_kind_info[RAMA_CLI_TOPIC_KINDS];

struct rama_cli_topic {
	enum rama_cli_topic_kind kind;
	const char *name;
	/* other names for it, with commas or blanks between words of one kind, or "" */
	const char *also;
	const char *line; /* what it is, in short */
	const void *row;  /* of its table */
	unsigned module;  /* of a counter */
};

struct rama_cli_topics {
	struct rama_cli_topic *at;
	size_t n, room;
	struct rama_arena arena; /* of texts that are put together */
};

int rama_cli_topics_make(struct rama_cli_topics *t); /* 0 or RAMA_EMEMORY */
void rama_cli_topics_fini(struct rama_cli_topics *t);

/* is it called so? letter case, and whether words are joined by blanks, - or _, make no
 * difference */
bool rama_cli_topic_named(const struct rama_cli_topic *topic, const char *name);
/* is it a counter that is called so after the word for its module? */
bool rama_cli_topic_counter_named(const struct rama_cli_topic *topic, const char *name);
/* the kind whose plural this is, or RAMA_CLI_TOPIC_KINDS */
enum rama_cli_topic_kind rama_cli_topic_kind_named(const char *name);
/* Topics whose names are most like this one, at most `most`, the nearest first; how many. */
size_t rama_cli_topics_nearest(const struct rama_cli_topics *t, const char *name,
			       const struct rama_cli_topic **to, size_t most);

/* what there is to say of a topic: a text, then words with their texts */
struct rama_cli_explain_page {
	const char *title, *text;
	struct {
		const char *key, *label, *text;
	} field[16];
	size_t n;
};
int rama_cli_page_make(struct rama_cli_explain_page *p, struct rama_cli_topics *t,
		       const struct rama_cli_topic *topic);

#endif
