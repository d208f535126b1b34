/* SPDX-License-Identifier: BSD-3-Clause; cc bytes.c $(pkg-config --cflags --libs iorama-log) */
#include <inttypes.h>
#include <iorama/log.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct iorama_error e;
	struct iorama_log *log = iorama_log_open(argc > 1 ? argv[1] : "-", 0, &e);
	struct iorama_records *records;
	const struct iorama_record *r;

	if (log == NULL)
		return fprintf(stderr, "%s\n", e.text), 3;
	printf("%s on %" PRId64 " processes\n", iorama_log_job(log)->exe,
	       iorama_log_job(log)->nprocs);
	records = iorama_records_open(log, "POSIX", &e);
	while (records != NULL && iorama_records_next(records, &r, &e) > 0) {
		const char *name = iorama_log_name(log, iorama_record_id(r));
		struct iorama_counter in, out;

		iorama_record_get(r, "POSIX_BYTES_READ", &in);
		iorama_record_get(r, "POSIX_BYTES_WRITTEN", &out);
		printf("%12" PRId64 " %12" PRId64 " %s\n", in.value.i64, out.value.i64,
		       name ? name : "?");
	}
	iorama_records_close(records);
	iorama_log_close(log);
	return 0;
}
