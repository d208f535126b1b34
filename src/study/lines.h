/* SPDX-License-Identifier: BSD-3-Clause */
/* lines.h: which line of source a place in a program is: by the debugging information of the very
 * file that ran, or what belongs to it. A file that was built anew since says nothing: its build
 * id is another one. */
#ifndef RAMA_STUDY_LINES_H
#define RAMA_STUDY_LINES_H

#include "report/report.h"

struct rama_study_lines;

/* NULL: no memory, or this iorama was built without libdw */
/* folder: where debugging information is looked for first, laid out as /usr/lib/debug, or flat; may
 * be NULL */
struct rama_study_lines *rama_study_lines_create(const char *folder);
void rama_study_lines_destroy(struct rama_study_lines *l);
/* rama_job_view_options.line, with what create gave as its line_ctx */
bool rama_study_lines_find(void *lines, const struct rama_site_frame *f,
			   struct rama_job_view_line *to);

#endif
