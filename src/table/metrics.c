/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/metrics.h"

#include <stddef.h>

const struct rama_metric_source rama_metric_sources[RAMA_SOURCES] = {
#define SOURCE(symbol, format, path, other, doc) { RAMA_METRIC_##format, path, other, doc },
#define METRIC(...)
#include "table/metrics.def"
#undef SOURCE
#undef METRIC
};

const struct rama_metric rama_metrics[] = {
#define SOURCE(...)
#define METRIC(source, key, field, how, scale, name, unit, doc) \
	{ RAMA_SOURCE_##source, key, field, RAMA_METRIC_##how, scale, name, unit, doc },
#include "table/metrics.def"
#undef SOURCE
#undef METRIC
};
const unsigned rama_n_metrics = sizeof(rama_metrics) / sizeof(rama_metrics[0]);
