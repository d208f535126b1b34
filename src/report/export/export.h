/* SPDX-License-Identifier: BSD-3-Clause */
/* export.h: the operations of a traced job in formats of other people's tools: rows of
 * table/exports.def. Needs a view that kept every operation. */
#ifndef RAMA_REPORT_EXPORT_EXPORT_H
#define RAMA_REPORT_EXPORT_EXPORT_H

#include "base/err.h"
#include "base/out.h"
#include "job/view.h"

/* One operation. Tools want whole nanoseconds: rounding start and end keeps what was inside
 * inside, which rounding start and length would not. */
struct rama_report_export_op {
	const struct rama_job_view_op *op;
	uint64_t start, end;
	/* Operations of one lane never overlap unless one is inside the other. */
	uint32_t layer_lane;  /* among those of its rank and layer */
	uint32_t nested_lane; /* among those of its rank: calls with what they caused */
	uint32_t depth;	      /* in its nested lane; 0: nothing is above it */
};

struct rama_report_export {
	const struct rama_job_view *view;
	struct rama_report_export_op *ops; /* by rank, start, the longest and highest first */
	size_t n;
};

struct rama_report_export_form {
	const char *suffix; /* of what it writes */
	bool counters;	    /* has something to say of jobs without a trace */
	/* to a stream, ... */
	void (*write)(struct rama_out *o, const struct rama_report_export *x);
	/* ... or to a directory that is not there yet; 0 or what went wrong */
	int (*make)(const char *dir, const struct rama_report_export *x, struct rama_err *e);
};

#define EXPORT(name, ...) \
	extern const struct rama_report_export_form rama_report_export_form_##name;
#include "table/exports.def"
#undef EXPORT

enum rama_report_export_id {
#define EXPORT(name, ...) RAMA_REPORT_EXPORT_##name,
#include "table/exports.def"
#undef EXPORT
	RAMA_REPORT_EXPORTS
};
extern const struct rama_report_export_form *const rama_report_export_forms[RAMA_REPORT_EXPORTS];

/* 0 or RAMA_EMEMORY; the view must outlive it. Fini in any case. */
int rama_report_export_init(struct rama_report_export *x, const struct rama_job_view *v);
void rama_report_export_fini(struct rama_report_export *x);

/* the end of the operations of the rank of ops[from] */
size_t rama_report_export_rank_end(const struct rama_report_export *x, size_t from);

#endif
