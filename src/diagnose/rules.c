/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.c: the rows of rules.def as functions and as text. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "diagnose/rules.h"

#define NONE false
#define EVALUATE(id, what, expression)                                                             \
	static double what##_##id(const struct rama_diag_facts *f, const struct rama_diag_sums *x, \
				  double path)                                                     \
	{                                                                                          \
		const struct rama_diag_limit_values *l = &f->limits;                               \
		const struct rama_diag_sums *a = &f->all;                                          \
                                                                                                   \
		(void)x, (void)path, (void)l, (void)a;                                             \
		return (double)(expression);                                                       \
	}

#define RULE(id, topic, level, conf, drishti, advice, title, applies_, which_, when_, place, \
	     lost_, cost_, bytes_, ...)                                                      \
	EVALUATE(id, applies, applies_)                                                      \
	EVALUATE(id, which, which_)                                                          \
	EVALUATE(id, when, when_)                                                            \
	EVALUATE(id, lost, lost_)                                                            \
	EVALUATE(id, cost, cost_)                                                            \
	EVALUATE(id, bytes, bytes_)
#include "diagnose/rules.def"
#undef RULE
#undef NONE

#define RULE(id, topic, level, confidence, drishti, advice, title, applies, which, when, place, \
	     lost, cost, bytes, who, headline, detail, how, verdict, causes, doc)               \
	{ #id,                                                                                  \
	  #topic,                                                                               \
	  drishti,                                                                              \
	  title,                                                                                \
	  "applies: " #applies "; file: " #which "; job: " #when,                               \
	  doc,                                                                                  \
	  #advice,                                                                              \
	  causes,                                                                               \
	  RAMA_DIAG_LEVEL_##level },
const struct rama_diag_rule rama_diag_rules[] = {
#include "diagnose/rules.def"
};
#undef RULE
const unsigned rama_diag_n_rules = sizeof(rama_diag_rules) / sizeof(rama_diag_rules[0]);

/* no expression about files is as short as the word NONE */
#define RULE(id, topic, level, conf, drishti, advice, title, ap, wh, on, place_, lo, co, by, who_, \
	     headline_, detail_, how_, verdict_, causes, doc)                                      \
	{ applies_##id,                                                                            \
	  which_##id,                                                                              \
	  when_##id,                                                                               \
	  lost_##id,                                                                               \
	  cost_##id,                                                                               \
	  bytes_##id,                                                                              \
	  sizeof(#wh) != sizeof("NONE"),                                                           \
	  RAMA_DIAG_PLACE_##place_,                                                                \
	  RAMA_DIAG_WHO_##who_,                                                                    \
	  RAMA_DIAG_CONFIDENCE_##conf,                                                             \
	  headline_,                                                                               \
	  detail_,                                                                                 \
	  how_,                                                                                    \
	  verdict_ },
const struct rama_diag_rule_code rama_diag_rule_code[] = {
#include "diagnose/rules.def"
};
#undef RULE

const char *const rama_diag_level_name[RAMA_DIAG_LEVELS] = { "OK", "INFO", "WARN", "HIGH" };
const char *const rama_diag_confidence_name[3] = { "low", "medium", "high" };

/* is the word one of those in the list? */
static bool listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		if (n == len && strncasecmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

const struct rama_diag_rule *rama_diag_rule_find(const char *id)
{
	if (id[0] == '\0' || strchr(id, ' ') != NULL)
		return NULL;
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (strcasecmp(rama_diag_rules[i].id, id) == 0)
			return &rama_diag_rules[i];
	/* Drishti's codes, its own rule before those that share it: "P06" is small writes before
	 * the others */
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (strcasecmp(rama_diag_rules[i].drishti, id) == 0)
			return &rama_diag_rules[i];
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (listed(rama_diag_rules[i].drishti, id))
			return &rama_diag_rules[i];
	return NULL;
}
