/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c: what a record says of bytes moved and time spent, whatever its layer. */
#include "job/view.h"

enum { LAYER_FIRST, LAYER_FILE, LAYER_PART };
#define LAYER(symbol, kind, label, name)                                                \
	[RAMA_JOB_LAYER_##symbol] = { name, label, RAMA_TAB_MOD_##symbol, LAYER_##kind, \
				      LAYER_##kind == LAYER_PART },
const struct rama_job_layer_info rama_job_layer_info[RAMA_JOB_LAYERS] = {
#include "table/layers.def"
};

struct row {
	uint8_t layer;
	bool time;
	uint16_t word;
	uint16_t to; /* figure of struct rama_job_io */
};

#define IO(layer, figure, counter)                                     \
	{ RAMA_JOB_LAYER_##layer, false, RAMA_TAB_##layer##_##counter, \
	  offsetof(struct rama_job_io, figure) },
#define IO_TIME(layer, figure, counter)                               \
	{ RAMA_JOB_LAYER_##layer, true, RAMA_TAB_##layer##_##counter, \
	  offsetof(struct rama_job_io, figure) },
static const struct row rows[] = {
#include "job/io.def"
};
#undef IO
#undef IO_TIME

/* Sums of what a damaged log says stay at the end of numbers, so that none of them turns
 * negative. */
static int64_t added(int64_t a, int64_t b)
{
	if (b > 0 && a > INT64_MAX - b)
		return INT64_MAX;
	return b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}

struct rama_job_io rama_job_io_of(enum rama_job_layer layer, const union rama_core_word *w)
{
	struct rama_job_io io = { 0 };
	size_t i = 0, n = sizeof(rows) / sizeof(rows[0]);

	while (i < n && rows[i].layer != layer)
		i++;
	for (; i < n && rows[i].layer == layer; i++) {
		void *to = (char *)&io + rows[i].to;

		if (rows[i].time)
			*(double *)to += w[rows[i].word].f > 0 ? w[rows[i].word].f : 0;
		else if (w[rows[i].word].i > 0) /* below 0: not monitored */
			*(int64_t *)to = added(*(int64_t *)to, w[rows[i].word].i);
	}
	return io;
}

void rama_job_io_add(struct rama_job_io *to, const struct rama_job_io *x)
{
	to->reads = added(to->reads, x->reads);
	to->writes = added(to->writes, x->writes);
	to->metas = added(to->metas, x->metas);
	to->bytes_read = added(to->bytes_read, x->bytes_read);
	to->bytes_written = added(to->bytes_written, x->bytes_written);
	to->read_time += x->read_time;
	to->write_time += x->write_time;
	to->meta_time += x->meta_time;
}
