/* SPDX-License-Identifier: BSD-3-Clause */
/* synth files N OUT: a log of a job of 64 ranks with N files, each used by one rank through
 * POSIX. synth segments N OUT: a log of a job of 16 ranks with N traced reads and writes of 64
 * files. synth fleet N OUT: N small logs in the folder OUT, by day, named as a site names them:
 * jobs of 100 users and 40 programs, every tenth of two steps. The same log every time; numbers
 * look like those of real jobs, so that text and compression do too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "core/recordid.h"
#include "logfile/writer.h"

#define START 1700000000
#define TRACED_RANKS 16
#define TRACED_FILES 4 /* of each rank */
#define FLEET_RANKS 16
#define FLEET_USERS 100
#define FLEET_PROGRAMS 40
#define FLEET_A_DAY 400 /* logs */

struct synth {
	struct rama_newfile file;
	struct rama_log_writer writer;
	uint64_t random;
};

static uint64_t below(struct synth *s, uint64_t n)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return (s->random >> 33) % n;
}

static double seconds(struct synth *s, double most)
{
	return most * (double)below(s, 1u << 30) / (1u << 30);
}

static int write_file(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	return rama_newfile_write(ctx, off, bytes, n, e);
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t file_name(char *to, size_t size, uint64_t n)
{
	static const char *const kind[] = { "particles", "field", "restart", "diag", "mesh" };
	static const char *const suffix[] = { "h5", "nc", "bin", "dat" };

	return (size_t)snprintf(to, size, "/scratch/user/project%llu/run%04llu/out/%s-%06llu.%s",
				(unsigned long long)(n % 3), (unsigned long long)(n / 1000),
				kind[n % 5], (unsigned long long)n, suffix[n % 4]);
}

static uint64_t file_id(uint64_t n)
{
	char name[160];

	return rama_core_record_id(name, file_name(name, sizeof(name), n));
}

static void write_any_job(struct synth *s, struct rama_log_job *job, uint64_t files)
{
	static const struct rama_log_mount mounts[] = {
		{ .path = "/scratch", .type = "lustre", .path_len = 8 },
		{ .path = "/home", .type = "nfs", .path_len = 5 },
		{ .path = "/", .type = "ext4", .path_len = 1 },
	};

	snprintf(job->metadata, sizeof(job->metadata), "lib_ver=3.5.0\n");
	rama_log_writer_job(&s->writer, job, mounts, 3);
	for (uint64_t n = 0; n < files; n++) {
		char name[160];
		size_t len = file_name(name, sizeof(name), n);

		rama_log_writer_name(&s->writer, rama_core_record_id(name, len), name, len);
	}
}

static void write_job(struct synth *s, int64_t nprocs, uint64_t files)
{
	struct rama_log_job job = {
		.uid = 1000,
		.start_sec = START,
		.end_sec = START + 600,
		.nprocs = nprocs,
		.jobid = 4242,
		.exe = "/home/user/bin/simulation --input /scratch/user/in.nml"
	};

	write_any_job(s, &job, files);
}

/* ---- counters -------------------------------------------------------------------------------- */

static void fill_posix(struct synth *s, union rama_core_word *w)
{
	uint64_t size = 4096u << below(s, 9), writes = 1 + below(s, 200), reads = below(s, 20);
	double open = seconds(s, 500), write = seconds(s, 2), read = seconds(s, 0.5);

	w[RAMA_TAB_POSIX_OPENS].u = 1 + below(s, 3);
	w[RAMA_TAB_POSIX_WRITES].u = writes;
	w[RAMA_TAB_POSIX_READS].u = reads;
	w[RAMA_TAB_POSIX_SEEKS].u = below(s, 50);
	w[RAMA_TAB_POSIX_STATS].u = below(s, 4);
	w[RAMA_TAB_POSIX_MMAPS].i = -1;
	w[RAMA_TAB_POSIX_MODE].i = 436;
	w[RAMA_TAB_POSIX_BYTES_WRITTEN].u = writes * size;
	w[RAMA_TAB_POSIX_BYTES_READ].u = reads * size;
	w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].u = writes * size - 1;
	w[RAMA_TAB_POSIX_MAX_BYTE_READ].u = reads > 0 ? reads * size - 1 : 0;
	w[RAMA_TAB_POSIX_CONSEC_WRITES].u = writes - 1;
	w[RAMA_TAB_POSIX_SEQ_WRITES].u = writes - 1;
	w[RAMA_TAB_POSIX_MEM_ALIGNMENT].u = 8;
	w[RAMA_TAB_POSIX_FILE_ALIGNMENT].u = 1048576;
	w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].u = writes;
	w[RAMA_TAB_POSIX_SIZE_WRITE_10K_100K].u = writes;
	w[RAMA_TAB_POSIX_SIZE_READ_10K_100K].u = reads;
	w[RAMA_TAB_POSIX_STRIDE1_STRIDE].u = size;
	w[RAMA_TAB_POSIX_STRIDE1_COUNT].u = writes / 3;
	w[RAMA_TAB_POSIX_ACCESS1_ACCESS].u = size;
	w[RAMA_TAB_POSIX_ACCESS1_COUNT].u = writes + reads;
	w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f = open;
	w[RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP].f = open + 0.001;
	w[RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP].f = open + write + read;
	w[RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP].f = open + 0.0005;
	w[RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP].f = open + write;
	w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f = open + write + read + 0.0001;
	w[RAMA_TAB_POSIX_F_READ_TIME].f = read;
	w[RAMA_TAB_POSIX_F_WRITE_TIME].f = write;
	w[RAMA_TAB_POSIX_F_META_TIME].f = seconds(s, 0.01);
	w[RAMA_TAB_POSIX_F_MAX_WRITE_TIME].f = write / 10;
}

static void write_posix(struct synth *s, int64_t nprocs, uint64_t files)
{
	union rama_core_word w[RAMA_TAB_POSIX__WORDS];
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_POSIX);
	struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = w };

	rama_log_writer_module(&s->writer, mod->id, mod->released);
	for (uint64_t n = 0; n < files; n++) {
		memset(w, 0, sizeof(w));
		w[RAMA_TAB_ID].u = file_id(n);
		w[RAMA_TAB_RANK].u = n * (uint64_t)nprocs / files;
		fill_posix(s, w);
		rama_log_writer_record(&s->writer, &r);
	}
}

/* ---- trace ----------------------------------------------------------------------------------- */

static void write_accesses(struct synth *s, uint64_t n, double *now)
{
	union rama_core_word seg[1][RAMA_TAB_SEG_WORDS] = { 0 };
	uint64_t offset = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t length = 4096u << below(s, 9);

		seg[0][RAMA_TAB_SEG_OFFSET].u = offset;
		seg[0][RAMA_TAB_SEG_LENGTH].u = length;
		seg[0][RAMA_TAB_SEG_START].f = *now + seconds(s, 0.001);
		seg[0][RAMA_TAB_SEG_END].f = seg[0][RAMA_TAB_SEG_START].f + seconds(s, 0.01);
		*now = seg[0][RAMA_TAB_SEG_END].f;
		offset += length;
		rama_log_writer_segments(&s->writer, seg, 1);
	}
}

static void write_trace(struct synth *s, uint64_t segments)
{
	union rama_core_word w[RAMA_TAB_DXT__WORDS] = { 0 };
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_DXT_POSIX);
	struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = w };
	uint64_t records = TRACED_RANKS * TRACED_FILES;

	write_job(s, TRACED_RANKS, records);
	rama_log_writer_module(&s->writer, mod->id, mod->released);
	for (uint64_t n = 0; n < records; n++) {
		uint64_t share = segments * (n + 1) / records - segments * n / records;
		double now = 1;

		w[RAMA_TAB_ID].u = file_id(n);
		w[RAMA_TAB_RANK].u = n / TRACED_FILES;
		snprintf(w[RAMA_TAB_DXT_HOSTNAME].b, 64, "node%04u", (unsigned)(n / 16));
		w[RAMA_TAB_DXT_WRITE_COUNT].u = share - share / 4;
		w[RAMA_TAB_DXT_READ_COUNT].u = share / 4;
		rama_log_writer_record(&s->writer, &r);
		write_accesses(s, share - share / 4, &now);
		write_accesses(s, share / 4, &now);
	}
}

/* ---- one log, many logs ---------------------------------------------------------------------- */

static int report(const struct rama_err *e, const char *path)
{
	if (e->code == 0)
		return 0;
	fprintf(stderr, "synth: %s: %s\n", path, e->text);
	return rama_err_status(e->code);
}

static int log_begin(struct synth *s, const char *path)
{
	struct rama_log_sink sink = { .write = write_file, .ctx = &s->file };
	struct rama_err e = { 0 };

	if (rama_newfile_open(&s->file, path, &e) != 0)
		return report(&e, path);
	rama_log_writer_init(&s->writer, &sink, RAMA_LOG_ZLIB, 6);
	return 0;
}

static int log_end(struct synth *s, const char *path)
{
	struct rama_err e = { 0 };

	if (rama_log_writer_finish(&s->writer, 0) != 0)
		e = s->writer.err;
	else
		rama_newfile_commit(&s->file, &e);
	rama_log_writer_fini(&s->writer);
	rama_newfile_abort(&s->file);
	return report(&e, path);
}

static int write_small(struct synth *s, uint64_t i, const char *folder)
{
	/* the last of eleven is a second step */
	uint64_t number = i / 11 * 10 + (i % 11 < 10 ? i % 11 : 9);
	uint64_t user = number * 7 % FLEET_USERS, files = 1 + below(s, 12);
	int64_t lasts = 60 + (int64_t)below(s, 3600);
	char exe[64], path[400];
	struct rama_log_job job = { .uid = 1000 + (int64_t)user,
				    .start_sec = START + (int64_t)i * 86400 / FLEET_A_DAY,
				    .nprocs = FLEET_RANKS,
				    .jobid = 100000 + (int64_t)number,
				    .exe = exe };
	int status;

	job.end_sec = job.start_sec + lasts;
	snprintf(exe, sizeof(exe), "/home/user/bin/program%llu in.nml",
		 (unsigned long long)(number % FLEET_PROGRAMS));
	snprintf(path, sizeof(path),
		 "%s/user%llu_program%llu_id%lld-%llu_11-14-%llu-1234_1.darshan", folder,
		 (unsigned long long)user, (unsigned long long)(number % FLEET_PROGRAMS),
		 (long long)job.jobid, (unsigned long long)i, (unsigned long long)i);
	status = log_begin(s, path);
	if (status != 0)
		return status;
	write_any_job(s, &job, files);
	write_posix(s, job.nprocs, files);
	return log_end(s, path);
}

static int write_fleet(struct synth *s, uint64_t n, const char *folder)
{
	char day[300];
	int status = 0;

	mkdir(folder, 0777);
	for (uint64_t i = 0; i < n && status == 0; i++) {
		snprintf(day, sizeof(day), "%s/%llu", folder,
			 (unsigned long long)(i / FLEET_A_DAY));
		mkdir(day, 0777);
		status = write_small(s, i, day);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct synth s = { .random = 1 };
	uint64_t n = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	bool files = argc == 4 && strcmp(argv[1], "files") == 0;
	int status;

	if (argc == 4 && n > 0 && strcmp(argv[1], "fleet") == 0)
		return write_fleet(&s, n, argv[3]);
	if (argc != 4 || n == 0 || (!files && strcmp(argv[1], "segments") != 0)) {
		fprintf(stderr, "Usage: synth files|segments|fleet N OUT\n");
		return 2;
	}
	status = log_begin(&s, argv[3]);
	if (status != 0)
		return status;
	if (files) {
		write_job(&s, 64, n);
		write_posix(&s, 64, n);
	} else {
		write_trace(&s, n);
	}
	return log_end(&s, argv[3]);
}
