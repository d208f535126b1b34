/* SPDX-License-Identifier: BSD-3-Clause */
/* form.h: the forms of a report, a struct each: rows of table/forms.def. A form writes to `o`, does
 * no I/O of its own and reads no clock; whether all could be written is in o->error. */
#ifndef RAMA_REPORT_FORM_H
#define RAMA_REPORT_FORM_H

#include <limits.h>

#include "report/diff/diff.h"
#include "report/fleet/fleet.h"
#include "report/paper.h"
#include "report/spread.h"
#include "report/table.h"

/* what a picture is kept as */
enum rama_report_file { RAMA_REPORT_FILE_svg, RAMA_REPORT_FILE_pdf, RAMA_REPORT_FILE_png };

/* By the end of its name; NULL and "-" are SVG. RAMA_EUSAGE: it is none of them; RAMA_EIO: the
 * system cannot make such files. */
int rama_report_file_of(const char *path, enum rama_report_file *file, struct rama_err *e);

/* dir/job.darshan -> job: how files that are made of a log are called; else "report" */
void rama_report_base_name(char *to, size_t size, const char *path);

/* DIR/job.html of a log (dir NULL: here); of several logs with one name, of which `done` were
 * before, the second gets a number. */
void rama_report_file_name(char path[PATH_MAX], const char *dir, const char *const *names,
			   size_t done, const char *log, const char *suffix);

/* what a form is asked for, beside the report */
struct rama_report_ask {
	struct rama_report_look look;
	const char *table;	    /* of CSV */
	const char *figures;	    /* words, with commas; NULL: all */
	enum rama_report_file file; /* of the figure */
	bool all;		    /* diff, fleet: with what is not worth a person's time */
	bool mail;		    /* the page goes by mail: without a script */
	bool apart;		    /* another report stands above it, in the same place */
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
	void (*diff)(const struct rama_report_diff *d, struct rama_out *o,
		     const struct rama_report_ask *a);
	void (*spread)(const struct rama_report_spread *s, struct rama_out *o,
		       const struct rama_report_ask *a);
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
int rama_report_form_spread(const struct rama_report_form *form, struct rama_out *o,
			    const struct rama_report_spread *s, const struct rama_report_ask *a);
int rama_report_form_fleet(const struct rama_report_form *form, struct rama_out *o,
			   const struct rama_report_fleet *f, const struct rama_report_ask *a);

#endif
