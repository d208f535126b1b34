/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/metrics.h"

#include <stddef.h>

const struct rama_tab_metric_source rama_tab_metric_sources[RAMA_TAB_SOURCES] = {
#define SOURCE(symbol, format, path, other, doc) { RAMA_TAB_METRIC_##format, path, other, doc },
#define METRIC(...)
#include "table/metrics.def"
#undef SOURCE
#undef METRIC
};

const struct rama_tab_metric rama_tab_metrics[] = {
#define SOURCE(...)
#define METRIC(source, key, field, how, scale, name, unit, doc) \
	{ RAMA_TAB_SOURCE_##source, key, field, RAMA_TAB_METRIC_HOW_##how, scale, name, unit, doc },
#include "table/metrics.def"
#undef SOURCE
#undef METRIC
};
const unsigned rama_tab_n_metrics = sizeof(rama_tab_metrics) / sizeof(rama_tab_metrics[0]);
