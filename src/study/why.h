/* SPDX-License-Identifier: BSD-3-Clause */
/* why.h: when a job was slow, and what was unusual at the same time, in words. */
#ifndef RAMA_STUDY_WHY_H
#define RAMA_STUDY_WHY_H

#include "base/form/rows.h"
#include "query/why.h"

/* w: as it was asked for; JSON is one document, CSV rows alone */
int rama_study_why_tell(struct rama_store *s, int64_t job, struct rama_query_why *w,
			enum rama_rows_form form, struct rama_out *out, struct rama_err *e);

#endif
