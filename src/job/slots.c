/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c: when somebody was busy, from accesses in any order, in memory that does not depend on
 * their number. */
#include <stdlib.h>

#include "job/times.h"

struct rama_job_slots *rama_job_slots_create(void)
{
	struct rama_job_slots *s = calloc(1, sizeof(*s));

	for (unsigned i = 0; s != NULL && i < RAMA_JOB_SLOTS; i++)
		s->first[i] = -1;
	return s;
}

static unsigned slot(double t, double width)
{
	double i = t / width;

	return i < RAMA_JOB_SLOTS ? (unsigned)i : RAMA_JOB_SLOTS - 1;
}

void rama_job_slots_add(struct rama_job_slots *s, double width, double start, double end)
{
	unsigned a = slot(start, width), b = slot(end, width);

	s->open[a]++;
	s->open[b + 1]--;
	if (s->first[a] < 0 || start < s->first[a])
		s->first[a] = start;
	if (end > s->last[b])
		s->last[b] = end;
	if (a == b) {
		s->part[a] += end - start;
		return;
	}
	s->part[a] += (a + 1) * width - start;
	s->part[b] += end - b * width;
	s->full[a + 1]++;
	s->full[b]--;
}

size_t rama_job_slots_spans(const struct rama_job_slots *s, double width, struct rama_job_span *to,
			    size_t room)
{
	int64_t open = 0;
	size_t n = 0;
	bool busy = false;

	for (unsigned i = 0; i < RAMA_JOB_SLOTS; i++) {
		open += s->open[i];
		if (open > 0 && !busy) {
			if (n == room)
				break;
			to[n].start = s->first[i] >= 0 ? s->first[i] : i * width;
		}
		if (open > 0)
			to[n].end = s->last[i] > 0 ? s->last[i] : (i + 1) * width;
		if (open <= 0 && busy)
			n++;
		busy = open > 0;
	}
	return busy ? n + 1 : n;
}

double rama_job_slots_busy(const struct rama_job_slots *s, double width)
{
	int64_t full = 0;
	double sum = 0;

	for (unsigned i = 0; i < RAMA_JOB_SLOTS; i++) {
		double busy;

		full += s->full[i];
		busy = (double)full * width + s->part[i];
		sum += busy < width || i == RAMA_JOB_SLOTS - 1 ? busy : width;
	}
	return sum;
}
