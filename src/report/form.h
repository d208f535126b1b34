/* SPDX-License-Identifier: BSD-3-Clause */
/* form.h: the forms of a report, a struct each: rows of table/forms.def. A form writes to `o`, does
 * no I/O of its own and reads no clock; whether all could be written is in o->error. */
#ifndef RAMA_REPORT_FORM_H
#define RAMA_REPORT_FORM_H

#include "report/diff.h"
#include "report/fleet.h"
#include "report/paper.h"
#include "report/table.h"

/* what a form is asked for, beside the report */
struct rama_report_ask {
	struct rama_report_look look;
	const char *table; /* of CSV */
	bool all;	   /* diff, fleet: with what is not worth a person's time */
	bool apart;	   /* another report stands above it, in the same place */
};

struct rama_report_form {
	const char *suffix; /* of its files */
	bool file;	    /* goes to a file unless told otherwise */
	bool detail;	    /* has single operations of a trace */
	void (*report)(struct rama_out *o, const struct rama_report *r,
		       const struct rama_report_ask *a);
	/* Comparisons and fleets: of their paper, or of what it is made of. None of them: the form
	 * is for one job. */
	void (*paper)(struct rama_out *o, const struct rama_report_paper *p,
		      const struct rama_report_ask *a);
	void (*diff)(const struct rama_report_diff *d, struct rama_out *o);
	void (*fleet)(const struct rama_report_fleet *f, struct rama_out *o);
};

#define FORM(name, ...) extern const struct rama_report_form rama_report_form_##name;
#define PAPER(...)
#include "table/forms.def"
#undef FORM
extern const struct rama_report_form rama_report_form_text;

enum rama_report_form_id {
#define FORM(name, ...) RAMA_REPORT_FORM_##name,
#include "table/forms.def"
#undef FORM
#undef PAPER
	RAMA_REPORT_FORM_text, /* where none is asked for */
	RAMA_REPORT_FORMS
};
extern const struct rama_report_form *const rama_report_forms[RAMA_REPORT_FORMS];

/* 0, or RAMA_EMEMORY of their paper */
int rama_report_form_diff(const struct rama_report_form *form, struct rama_out *o,
			  const struct rama_report_diff *d, const struct rama_report_ask *a);
int rama_report_form_fleet(const struct rama_report_form *form, struct rama_out *o,
			   const struct rama_report_fleet *f, const struct rama_report_ask *a);

#endif
