/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.h: the compiled form of rules.def, for the engine. What others may know of a rule is struct rama_rule. */
#ifndef RAMA_DIAGNOSE_RULES_H
#define RAMA_DIAGNOSE_RULES_H

#include "diagnose/facts.h"

/* f: the job, x: a file, or the sums of those that show it, path: see cost.h */
typedef double rama_rule_fn(const struct rama_facts *f, const struct rama_sums *x, double path);

/* where the seconds that a file loses were spent: see the head of rules.def */
enum rama_rule_place { RAMA_PLACE_DISK, RAMA_PLACE_TOP, RAMA_PLACE_SLOW, RAMA_PLACE_OWN };
/* what shows it */
enum rama_who {
	RAMA_WHO_FILES,
	RAMA_WHO_RANKS,
	RAMA_WHO_TARGETS,
	RAMA_WHO_PHASES,
	RAMA_WHO_OPERATION
};

struct rama_rule_code {
	rama_rule_fn *applies, *which, *when, *lost, *cost, *bytes;
	bool files; /* `which` means something */
	enum rama_rule_place place;
	enum rama_who who;
	enum rama_confidence confidence;
	const char *headline, *detail, *how, *verdict;
};
extern const struct rama_rule_code rama_rule_code[]; /* beside rama_rules[] */

#endif
