/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.c: thread ids of a trace as they come, kept until the annex is written: see threads.c for
 * their form. Mostly one thread does many accesses in a row, so that they take little room. */
#include <stdlib.h>
#include <string.h>

#include "logfile/writer.h"

#define PIECE (128u << 10) /* words that become one compressed stream */

static int no_memory(struct rama_log_writer *w)
{
	return rama_err_set(&w->err, RAMA_EMEMORY, "out of memory");
}

static int pack(struct rama_log_writer *w, struct rama_log_runs *r)
{
	const unsigned char *packed;
	size_t n;

	if (w->err.code != 0 || r->plain_n == 0)
		return w->err.code;
	if (rama_log_pack(&w->packer, r->plain, r->plain_n * sizeof(*r->plain), &packed, &n,
			  &w->err) != 0)
		return w->err.code;
	if (n > r->packed_room - r->packed_n) {
		size_t room =
			r->packed_n + n > 2 * r->packed_room ? r->packed_n + n : 2 * r->packed_room;
		unsigned char *more = realloc(r->packed, room);

		if (more == NULL)
			return no_memory(w);
		r->packed = more;
		r->packed_room = room;
	}
	memcpy(r->packed + r->packed_n, packed, n);
	r->packed_n += n;
	r->plain_n = 0;
	return 0;
}

static int put(struct rama_log_writer *w, const uint64_t *words, size_t n)
{
	struct rama_log_runs *r = w->tracing;

	if (w->err.code == 0 && r->plain_n + n > PIECE)
		pack(w, r);
	if (w->err.code == 0 && r->plain_n + n > r->plain_room) {
		size_t room = r->plain_room == 0 ? 1024 : 2 * r->plain_room;
		uint64_t *more = realloc(r->plain, room * sizeof(*more));

		if (more == NULL)
			return no_memory(w);
		r->plain = more;
		r->plain_room = room;
	}
	if (w->err.code != 0)
		return w->err.code;
	memcpy(r->plain + r->plain_n, words, n * sizeof(*words));
	r->plain_n += n;
	return 0;
}

static int put_run(struct rama_log_writer *w)
{
	const uint64_t run[] = { w->tracing->thread, w->tracing->run };

	w->tracing->run = 0;
	return run[1] > 0 ? put(w, run, 2) : w->err.code;
}

int rama_log_runs_begin(struct rama_log_writer *w, unsigned module)
{
	const struct rama_tab_section *s = rama_tab_section_threads(module);

	if (s == NULL)
		return 0;
	w->tracing = &w->runs[w->runs[0].section != 0];
	w->tracing->section = s->id;
	return 0;
}

int rama_log_runs_record(struct rama_log_writer *w, const union rama_core_word *record)
{
	const uint64_t head[] = { record[RAMA_TAB_ID].u, record[RAMA_TAB_RANK].u,
				  record[RAMA_TAB_DXT_WRITE_COUNT].u +
					  record[RAMA_TAB_DXT_READ_COUNT].u };

	return put_run(w) == 0 ? put(w, head, 3) : w->err.code;
}

int rama_log_runs_segments(struct rama_log_writer *w,
			   union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS], size_t n)
{
	struct rama_log_runs *r = w->tracing;

	for (size_t i = 0; i < n; i++) {
		if (r->run > 0 && seg[i][RAMA_TAB_SEG_THREAD].u != r->thread && put_run(w) != 0)
			return w->err.code;
		r->thread = seg[i][RAMA_TAB_SEG_THREAD].u;
		r->run++;
		r->any = r->any || r->thread != 0;
	}
	return 0;
}

int rama_log_runs_end(struct rama_log_writer *w)
{
	struct rama_log_runs *r = w->tracing;

	if (r == NULL)
		return w->err.code;
	if (put_run(w) == 0)
		pack(w, r);
	w->tracing = NULL;
	free(r->plain);
	r->plain = NULL;
	r->plain_room = r->plain_n = 0;
	return w->err.code;
}

void rama_log_runs_fini(struct rama_log_writer *w)
{
	for (unsigned i = 0; i < 2; i++) {
		free(w->runs[i].plain);
		free(w->runs[i].packed);
		w->runs[i] = (struct rama_log_runs){ 0 };
	}
	w->tracing = NULL;
}
