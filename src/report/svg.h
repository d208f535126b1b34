/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.h: the report as one picture: verdict, bar of the run time, findings, timeline, sizes. A
 * whole SVG document that needs nothing else, light or dark as its reader likes; its style
 * begins every name with "ir-", so that it may also stand inside a page. */
#ifndef RAMA_REPORT_SVG_H
#define RAMA_REPORT_SVG_H

#include "base/out.h"
#include "diagnose/diagnose.h"
#include "job/view.h"

/* Errors of memory and of writing are kept by `o`. */
void rama_report_svg(struct rama_out *o, const struct rama_job_view *v, const struct rama_diag *d);

#endif
