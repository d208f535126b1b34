/* SPDX-License-Identifier: BSD-3-Clause */
/* iorama/log.h: read and write Darshan logs. Link with -liorama-log (pkg-config iorama-log).
 *
 * Reading takes any log since Darshan 3.0.0, of either byte order; records always come in the
 * newest layout. Writing makes format 3.41 with the record versions of Darshan 3.5.0.
 *
 * Calls return 0 or more, or a negative number after filling in the struct iorama_error given to
 * them (which may be NULL). Pointers returned belong to the object they come from and live as
 * long as it, those of a record until the next one is read. An object may be used by one thread
 * at a time. */
#ifndef IORAMA_LOG_H
#define IORAMA_LOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iorama_log;
struct iorama_records;
struct iorama_record;
struct iorama_writer;

struct iorama_error {
	int code;
	char text[480]; /* one line, names the place */
};

struct iorama_job {
	int64_t uid, jobid, nprocs;
	int64_t start_sec, start_nsec, end_sec, end_nsec;
	double run_time;      /* seconds; when writing: ignored */
	const char *exe;      /* command line */
	const char *metadata; /* lines key=value */
};

struct iorama_mount {
	const char *path, *type;
};

struct iorama_module {
	unsigned id;
	const char *name; /* "POSIX", "MPI-IO", ... */
	unsigned version; /* of its records in the file */
	uint64_t stored_bytes;
	int incomplete; /* the runtime had to drop records */
	int is_trace;	/* has segments */
};

enum iorama_type { IORAMA_I64, IORAMA_U64, IORAMA_F64 };

struct iorama_counter {
	const char *name;
	enum iorama_type type;
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	} value;
};

struct iorama_segment {
	int is_read;
	int64_t offset, length; /* offset -1: not known */
	double start, end;	/* seconds since the start of the process */
	uint64_t thread;	/* 0: not known */
};

/* ---- reading --------------------------------------------------------------------------------- */

#define IORAMA_STRICT 1u /* a damaged log is an error; otherwise what can be read is */

struct iorama_log *iorama_log_open(const char *path, unsigned flags,
				   struct iorama_error *e); /* "-": standard input */
void iorama_log_close(struct iorama_log *log);

const struct iorama_job *iorama_log_job(const struct iorama_log *log);
const char *iorama_log_format(const struct iorama_log *log); /* "3.41" */

/* what could not be read so far, one line each; NULL past the last */
const char *iorama_log_problem(const struct iorama_log *log, size_t i);

/* modules with data: start with after = -1; 0 when there are no more */
int iorama_log_next_module(const struct iorama_log *log, int after, struct iorama_module *m);

const char *iorama_log_name(const struct iorama_log *log, uint64_t id); /* NULL: none */
size_t iorama_log_names(const struct iorama_log *log);
const char *iorama_log_name_at(const struct iorama_log *log, size_t i, uint64_t *id);

size_t iorama_log_mounts(const struct iorama_log *log); /* longest path first */
struct iorama_mount iorama_log_mount_at(const struct iorama_log *log, size_t i);
/* the file system a name is on; path is NULL if it is not known */
struct iorama_mount iorama_log_mount_of(const struct iorama_log *log, const char *name);

/* records of a module by its name ("POSIX"); NULL: an error, or the log has none (e->code 0) */
struct iorama_records *iorama_records_open(struct iorama_log *log, const char *module,
					   struct iorama_error *e);
/* 1: *r is the next record; 0: no more; negative: an error (strict logs only) */
int iorama_records_next(struct iorama_records *rs, const struct iorama_record **r,
			struct iorama_error *e);
/* of the trace record just read: up to max segments, writes before reads; 0: no more */
int iorama_records_segments(struct iorama_records *rs, struct iorama_segment *s, int max,
			    struct iorama_error *e);
void iorama_records_close(struct iorama_records *rs);

uint64_t iorama_record_id(const struct iorama_record *r);
int64_t iorama_record_rank(const struct iorama_record *r);     /* -1: all ranks together */
const char *iorama_record_host(const struct iorama_record *r); /* of a trace; else NULL */

/* counters in the order of the file: 1, or 0 past the last */
int iorama_record_at(const struct iorama_record *r, size_t i, struct iorama_counter *c);
/* one counter by its name ("POSIX_BYTES_READ"): 1, or 0 if the record has none of that name */
int iorama_record_get(const struct iorama_record *r, const char *name, struct iorama_counter *c);
/* what follows the counters: heat map bins ("write_bin", "read_bin"), Lustre "component" and
 * "ost_id", MDHIM "server". NULL: no such array. *count elements of *words numbers each. */
const int64_t *iorama_record_array(const struct iorama_record *r, const char *name, size_t *count,
				   size_t *words);

/* ---- writing --------------------------------------------------------------------------------- */

/* The file appears under its name when iorama_writer_commit() returns 0, not before. Order of
 * calls: job, names, then module after module by ascending id, each followed by its records. */
struct iorama_writer *iorama_writer_open(const char *path, struct iorama_error *e);
int iorama_writer_job(struct iorama_writer *w, const struct iorama_job *job,
		      const struct iorama_mount *mounts, size_t n_mounts, struct iorama_error *e);
int iorama_writer_name(struct iorama_writer *w, uint64_t id, const char *name,
		       struct iorama_error *e);
int iorama_writer_module(struct iorama_writer *w, const char *module, int incomplete,
			 struct iorama_error *e);
int iorama_writer_record(struct iorama_writer *w, const struct iorama_record *r,
			 struct iorama_error *e);
/* after a trace record made with as many writes and reads; writes first */
int iorama_writer_segments(struct iorama_writer *w, const struct iorama_segment *s, size_t n,
			   struct iorama_error *e);
int iorama_writer_commit(struct iorama_writer *w, struct iorama_error *e); /* frees w on success */
void iorama_writer_abort(struct iorama_writer *w); /* nothing stays behind */

/* the id of a record is a hash of its name */
uint64_t iorama_record_id_of(const char *name);

/* a record to fill in, all counters 0; NULL: no such module or no memory */
struct iorama_record *iorama_record_create(const char *module, uint64_t id, int64_t rank);
void iorama_record_destroy(struct iorama_record *r);
/* 0, or negative: the record has no such counter */
int iorama_record_set_i64(struct iorama_record *r, const char *name, int64_t v);
int iorama_record_set_f64(struct iorama_record *r, const char *name, double v);
int iorama_record_set_array(struct iorama_record *r, const char *name, const int64_t *values,
			    size_t count);
/* of a trace: where it ran and how many segments will follow it */
int iorama_record_set_trace(struct iorama_record *r, const char *host, uint64_t writes,
			    uint64_t reads);

#ifdef __cplusplus
}
#endif
#endif
