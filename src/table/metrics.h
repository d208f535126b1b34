/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h: the rows of metrics.def as arrays. */
#ifndef RAMA_TABLE_METRICS_H
#define RAMA_TABLE_METRICS_H

enum rama_tab_metric_format {
	RAMA_TAB_METRIC_LINES,
	RAMA_TAB_METRIC_NAMED1,
	RAMA_TAB_METRIC_NAMED3,
	RAMA_TAB_METRIC_MOUNTS
};
enum rama_tab_metric_how { RAMA_TAB_METRIC_HOW_GAUGE, RAMA_TAB_METRIC_HOW_RATE };

enum rama_tab_metric_source_id {
#define SOURCE(symbol, ...) RAMA_TAB_SOURCE_##symbol,
#define METRIC(...)
#include "table/metrics.def"
#undef SOURCE
#undef METRIC
	RAMA_TAB_SOURCES
};

struct rama_tab_metric_source {
	enum rama_tab_metric_format format;
	const char *path, *other; /* other: NULL if there is none */
	const char *doc;
};
extern const struct rama_tab_metric_source rama_tab_metric_sources[RAMA_TAB_SOURCES];

struct rama_tab_metric {
	enum rama_tab_metric_source_id source;
	const char *key; /* "": any line */
	unsigned field;	 /* from 1 on */
	enum rama_tab_metric_how how;
	double scale;
	const char *name, *unit, *doc;
};
extern const struct rama_tab_metric rama_tab_metrics[];
extern const unsigned rama_tab_n_metrics; /* rows of one source stand together */

#endif
