/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.h: the compiled form of rules.def, for the engine. What others may know of a rule is
 * struct rama_diag_rule. */
#ifndef RAMA_DIAGNOSE_RULES_H
#define RAMA_DIAGNOSE_RULES_H

#include "diagnose/facts.h"

/* f: the job, x: a file, or the sums of those that show it, path: see cost.h */
typedef double rama_diag_rule_fn(const struct rama_diag_facts *f, const struct rama_diag_sums *x,
				 double path);

/* where the seconds that a file loses were spent: see the head of rules.def */
enum rama_diag_rule_place {
	RAMA_DIAG_PLACE_DISK,
	RAMA_DIAG_PLACE_TOP,
	RAMA_DIAG_PLACE_SLOW,
	RAMA_DIAG_PLACE_OWN,
	RAMA_DIAG_PLACE_BEYOND
};
/* what shows it */
enum rama_diag_who {
	RAMA_DIAG_WHO_FILES,
	RAMA_DIAG_WHO_RANKS,
	RAMA_DIAG_WHO_TARGETS,
	RAMA_DIAG_WHO_SERVERS,
	RAMA_DIAG_WHO_PHASES,
	RAMA_DIAG_WHO_OPERATION
};

struct rama_diag_rule_code {
	rama_diag_rule_fn *applies, *which, *when, *lost, *cost, *bytes;
	bool files; /* `which` means something */
	enum rama_diag_rule_place place;
	enum rama_diag_who who;
	enum rama_diag_confidence confidence;
	const char *headline, *detail, *how, *verdict;
};
extern const struct rama_diag_rule_code rama_diag_rule_code[]; /* beside rama_diag_rules[] */

#endif
