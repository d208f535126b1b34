/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h: sentences with numbers in them. A template names figures in braces:
 *
 *   {small_writes}            a fact (facts.def), with its unit; of the finding's files where it
 *                             is one of files
 *   {all.small_writes}        of all files of the job
 *   {limit.small_requests}    a limit
 *   {file}                    the name of the file that shows it most
 *   {files|file is|files are} a number and the words that fit it
 *
 * Figures that a text used become the values of its finding. */
#ifndef RAMA_DIAGNOSE_TEXT_H
#define RAMA_DIAGNOSE_TEXT_H

#include "diagnose/facts.h"

#define RAMA_DIAG_TEXT_VALUES 24 /* figures of one finding at most */

struct rama_diag_text {
	const struct rama_diag_facts *f;
	const struct rama_diag_sums *x; /* what {name} of files means */
	const char *file;		/* what {file} means; NULL: none */
	struct rama_arena *arena;
	/* figures that were named, collected when `collect` is set */
	bool collect;
	struct rama_diag_value values[RAMA_DIAG_TEXT_VALUES];
	size_t n_values;
};

/* the text in the arena; NULL: no memory. What is not known stays as it stands. */
char *rama_diag_text_make(struct rama_diag_text *t, const char *template);
/* who it was: "rank 3", or "process 3 (python3)" of a job without MPI */
#define RAMA_DIAG_TEXT_RANK 96
const char *rama_diag_text_rank(const struct rama_job_view *v, int64_t rank,
				char to[RAMA_DIAG_TEXT_RANK]);
/* every name in braces is known: for tests */
bool rama_diag_text_known(const char *template);

#endif
