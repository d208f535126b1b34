/* SPDX-License-Identifier: BSD-3-Clause */
/* api.c: api LOG: writes a log with libiorama-log that has all that goes into an annex: a module
 * of our own, incomplete, and a trace whose segments say which thread they were of. */
#include <iorama/log.h>
#include <stdio.h>

static struct iorama_error e;

static int failed(void)
{
	fprintf(stderr, "%s\n", e.text);
	return 1;
}

static int add(struct iorama_writer *w, const char *module, uint64_t id, int incomplete)
{
	struct iorama_record *r = iorama_record_create(module, id, 0);
	int rc = r == NULL || iorama_writer_module(w, module, incomplete, &e) != 0 ||
		 iorama_writer_record(w, r, &e) != 0;

	iorama_record_destroy(r);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct iorama_segment seg[] = { { 0, 0, 10, 0.1, 0.2, 11 },
						     { 0, 10, 10, 0.2, 0.3, 11 },
						     { 1, 0, 20, 0.3, 0.4, 22 } };
	struct iorama_job job = { .nprocs = 1, .start_sec = 1700000000, .end_sec = 1700000001 };
	uint64_t id = iorama_record_id_of("/data/file");
	struct iorama_record *trace = iorama_record_create("DXT_POSIX", id, 0);
	struct iorama_writer *w = argc > 1 ? iorama_writer_open(argv[1], &e) : NULL;

	if (w == NULL || trace == NULL)
		return failed();
	iorama_record_set_trace(trace, "node", 2, 1);
	if (iorama_writer_job(w, &job, NULL, 0, &e) != 0 ||
	    iorama_writer_name(w, id, "/data/file", &e) != 0 || add(w, "POSIX", id, 0) != 0 ||
	    iorama_writer_module(w, "DXT_POSIX", 0, &e) != 0 ||
	    iorama_writer_record(w, trace, &e) != 0 || iorama_writer_segments(w, seg, 3, &e) != 0 ||
	    add(w, "EXTRA", id, 1) != 0 || iorama_writer_commit(w, &e) != 0)
		return failed();
	iorama_record_destroy(trace);
	return 0;
}
