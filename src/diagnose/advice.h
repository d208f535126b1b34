/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.h: finding -> what to change, with the job's own names and sizes in it. The rows are
 * table/advice.def. */
#ifndef RAMA_DIAGNOSE_ADVICE_H
#define RAMA_DIAGNOSE_ADVICE_H

#include "base/out.h"
#include "diagnose/diagnose.h"
#include "diagnose/literal.h"

enum rama_diag_advice_value_id {
#define VALUE(name, ...) RAMA_DIAG_VALUE_##name,
#include "table/advice.def"
	RAMA_DIAG_VALUES
};

enum rama_diag_advice_kind {
	RAMA_DIAG_KIND_TEXT,
	RAMA_DIAG_KIND_PATH,
	RAMA_DIAG_KIND_WORDS, /* of a command: each is a literal of its own */
	RAMA_DIAG_KIND_BYTES,
	RAMA_DIAG_KIND_COUNT
};

struct rama_diag_advice_value_info {
	const char *name, *doc;
	enum rama_diag_advice_kind kind;
};
extern const struct rama_diag_advice_value_info rama_diag_advice_value_info[RAMA_DIAG_VALUES];

/* what stands for the placeholders */
union rama_diag_advice_value {
	const char *text;
	int64_t number;
};
struct rama_diag_advice_values {
	union rama_diag_advice_value at[RAMA_DIAG_VALUES];
	/* room for what some of them point to */
	char dir[4096], program[4096], command[4096 + 64], launcher[512];
};

enum rama_diag_snippet_id {
	RAMA_DIAG_SNIPPET_none,
#define SNIPPET(symbol, ...) RAMA_DIAG_SNIPPET_##symbol,
#include "table/advice.def"
	RAMA_DIAG_SNIPPETS
};

struct rama_diag_snippet_info {
	const char *symbol, *title;
	enum rama_diag_language language;
	unsigned fits;	  /* bits of enum rama_diag_fit */
	const char *text; /* the template */
};
/* [0] is none */
extern const struct rama_diag_snippet_info rama_diag_snippet_info[RAMA_DIAG_SNIPPETS];

struct rama_diag_advice {
	const char *id, *text;
	enum rama_diag_snippet_id snippets[11]; /* up to none */
};
extern const struct rama_diag_advice rama_diag_advices[];
extern const unsigned rama_diag_n_advices;
const struct rama_diag_advice *rama_diag_advice_find(const char *id); /* NULL: there is none */

/* Would a trial with this parameter changed show whether its advice helps? name: n bytes. */
bool rama_diag_advice_tries(const char *rule, const char *name, size_t n);

/* when a snippet is of use; see table/advice.def */
enum rama_diag_fit {
	RAMA_DIAG_FIT_ANY = 1 << 0,
	RAMA_DIAG_FIT_PARALLEL = 1 << 1,
	RAMA_DIAG_FIT_MPIIO = 1 << 2,
	RAMA_DIAG_FIT_ROMIO = 1 << 3,
	RAMA_DIAG_FIT_HDF5 = 1 << 4,
	RAMA_DIAG_FIT_HDF5_MPI = 1 << 5,
	RAMA_DIAG_FIT_NETCDF = 1 << 6,
	RAMA_DIAG_FIT_NETCDF_MPI = 1 << 7,
	RAMA_DIAG_FIT_PNETCDF = 1 << 8,
	RAMA_DIAG_FIT_POSIX = 1 << 9,
	RAMA_DIAG_FIT_RANKS = 1 << 10,
	RAMA_DIAG_FIT_STDIO = 1 << 11,
	RAMA_DIAG_FIT_LUSTRE = 1 << 12,
	RAMA_DIAG_FIT_DAOS = 1 << 13,
	RAMA_DIAG_FIT_PYTHON = 1 << 14, /* the program is written in Python */
	/* of a snippet: it opens the file for writing; of a job: so did the job */
	RAMA_DIAG_FIT_WRITES = 1 << 15
};

/* what holds for the job and one file of it (NULL: none) */
unsigned rama_diag_advice_fits(const struct rama_job_view *v,
			       const struct rama_job_view_file *file);
/* names and sizes of the job and the finding; fd may be NULL */
void rama_diag_advice_values_of(struct rama_diag_advice_values *to, const struct rama_job_view *v,
				const struct rama_job_view_file *file,
				const struct rama_diag_finding *fd);

/* how the job was started, as one line: with its launcher, or mpirun where the log does not tell */
void rama_diag_advice_command(const struct rama_job_view *v, char *to, size_t room);

/* a template with everything filled in: as code, or as words for people (RAMA_DIAG_LANGUAGES) */
void rama_diag_advice_fill(struct rama_out *o, const char *text, enum rama_diag_language language,
			   const struct rama_diag_advice_values *values);

#define RAMA_DIAG_SNIPPETS_SHOWN 5 /* at most, with one finding */

/* Fills in advice, advised_by and snippets of all findings but those that are OK; they are in
 * their final order. 0 or RAMA_EMEMORY. */
int rama_diag_advise(struct rama_diag *d, const struct rama_job_view *v);

#endif
