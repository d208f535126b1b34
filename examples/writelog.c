/* SPDX-License-Identifier: BSD-3-Clause */
/* writelog.c: writes the log of an imaginary job: RANKS processes each read an input file of
 * their own, then append their part of a checkpoint to one shared file in blocks of an unlucky
 * size, a few times over. cc writelog.c $(pkg-config --cflags --libs iorama-log) && ./a.out
 * demo.darshan */
#include <iorama/log.h>
#include <stdio.h>

#define RANKS 4
#define STEPS 3
#define BLOCKS 16
#define BLOCK 47008
#define INPUT 1048576
#define START 1700000000

static const char output[] = "/scratch/astro/checkpoint.h5";
static const char *const input[RANKS] = { "/scratch/astro/input.0.dat",
					  "/scratch/astro/input.1.dat",
					  "/scratch/astro/input.2.dat",
					  "/scratch/astro/input.3.dat" };

/* when rank r writes block b of step s; the last rank is slow */
static double begin_of(int r, int s, int b)
{
	return 1.0 + 2.0 * s + 0.02 * b + 0.001 * r;
}

static double time_of(int r)
{
	return r == RANKS - 1 ? 0.012 : 0.004;
}

/* what the shared file's record says: sums over all ranks, extremes by rank */
static void fill_output(struct iorama_record *r)
{
	int64_t writes = RANKS * STEPS * BLOCKS, each = STEPS * BLOCKS;

	iorama_record_set_i64(r, "POSIX_OPENS", RANKS);
	iorama_record_set_i64(r, "POSIX_WRITES", writes);
	iorama_record_set_i64(r, "POSIX_BYTES_WRITTEN", writes * BLOCK);
	iorama_record_set_i64(r, "POSIX_MAX_BYTE_WRITTEN", writes * BLOCK - 1);
	iorama_record_set_i64(r, "POSIX_SEQ_WRITES", writes - RANKS);
	iorama_record_set_i64(r, "POSIX_SIZE_WRITE_10K_100K", writes);
	iorama_record_set_i64(r, "POSIX_ACCESS1_ACCESS", BLOCK);
	iorama_record_set_i64(r, "POSIX_ACCESS1_COUNT", writes);
	iorama_record_set_i64(r, "POSIX_FILE_ALIGNMENT", 1048576);
	iorama_record_set_i64(r, "POSIX_FILE_NOT_ALIGNED", writes - 1);
	iorama_record_set_i64(r, "POSIX_MMAPS", -1);
	iorama_record_set_i64(r, "POSIX_SLOWEST_RANK", RANKS - 1);
	iorama_record_set_i64(r, "POSIX_SLOWEST_RANK_BYTES", each * BLOCK);
	iorama_record_set_i64(r, "POSIX_FASTEST_RANK_BYTES", each * BLOCK);
	iorama_record_set_f64(r, "POSIX_F_WRITE_START_TIMESTAMP", begin_of(0, 0, 0));
	iorama_record_set_f64(r, "POSIX_F_WRITE_END_TIMESTAMP",
			      begin_of(RANKS - 1, STEPS - 1, BLOCKS - 1) + time_of(RANKS - 1));
	iorama_record_set_f64(r, "POSIX_F_WRITE_TIME",
			      (double)each * (3 * time_of(0) + time_of(RANKS - 1)));
	iorama_record_set_f64(r, "POSIX_F_FASTEST_RANK_TIME", (double)each * time_of(0));
	iorama_record_set_f64(r, "POSIX_F_SLOWEST_RANK_TIME", (double)each * time_of(RANKS - 1));
}

static void fill_input(struct iorama_record *r)
{
	iorama_record_set_i64(r, "POSIX_OPENS", 1);
	iorama_record_set_i64(r, "POSIX_READS", 1);
	iorama_record_set_i64(r, "POSIX_BYTES_READ", INPUT);
	iorama_record_set_i64(r, "POSIX_MAX_BYTE_READ", INPUT - 1);
	iorama_record_set_i64(r, "POSIX_SIZE_READ_100K_1M", 1);
	iorama_record_set_i64(r, "POSIX_MMAPS", -1);
	iorama_record_set_f64(r, "POSIX_F_READ_START_TIMESTAMP", 0.1);
	iorama_record_set_f64(r, "POSIX_F_READ_END_TIMESTAMP", 0.15);
	iorama_record_set_f64(r, "POSIX_F_READ_TIME", 0.05);
}

static int write_names(struct iorama_writer *w, struct iorama_error *e)
{
	int rc = iorama_writer_name(w, iorama_record_id_of(output), output, e);

	for (int rank = 0; rank < RANKS && rc == 0; rank++)
		rc = iorama_writer_name(w, iorama_record_id_of(input[rank]), input[rank], e);
	return rc;
}

static int write_counters(struct iorama_writer *w, struct iorama_error *e)
{
	struct iorama_record *r = iorama_record_create("POSIX", iorama_record_id_of(output), -1);
	int rc = iorama_writer_module(w, "POSIX", 0, e);

	fill_output(r);
	if (rc == 0)
		rc = iorama_writer_record(w, r, e);
	iorama_record_destroy(r);
	for (int rank = 0; rank < RANKS && rc == 0; rank++) {
		r = iorama_record_create("POSIX", iorama_record_id_of(input[rank]), rank);
		fill_input(r);
		rc = iorama_writer_record(w, r, e);
		iorama_record_destroy(r);
	}
	return rc;
}

static int write_layout(struct iorama_writer *w, struct iorama_error *e)
{
	/* one component: stripe size, count, pattern, flags, extent, mirror, and two words of
	 * pool name */
	static const int64_t component[9] = { 1048576, 2, 0, 16, 0, -1, 0, 0, 0 },
			     ost[2] = { 11, 4 };
	struct iorama_record *r = iorama_record_create("LUSTRE", iorama_record_id_of(output), -1);
	int rc = iorama_writer_module(w, "LUSTRE", 0, e);

	iorama_record_set_array(r, "component", component, 1);
	iorama_record_set_array(r, "ost_id", ost, 2);
	if (rc == 0)
		rc = iorama_writer_record(w, r, e);
	iorama_record_destroy(r);
	return rc;
}

static int write_trace(struct iorama_writer *w, struct iorama_error *e)
{
	int rc = iorama_writer_module(w, "DXT_POSIX", 0, e);

	for (int rank = 0; rank < RANKS && rc == 0; rank++) {
		struct iorama_record *r =
			iorama_record_create("DXT_POSIX", iorama_record_id_of(output), rank);

		iorama_record_set_trace(r, rank < 2 ? "node1" : "node2", STEPS * BLOCKS, 0);
		rc = iorama_writer_record(w, r, e);
		for (int i = 0; i < STEPS * BLOCKS && rc == 0; i++) {
			double t = begin_of(rank, i / BLOCKS, i % BLOCKS);
			struct iorama_segment s = {
				0, ((int64_t)i * RANKS + rank) * BLOCK, BLOCK, t, t + time_of(rank),
				0
			};

			rc = iorama_writer_segments(w, &s, 1, e);
		}
		iorama_record_destroy(r);
	}
	return rc;
}

int main(int argc, char **argv)
{
	const struct iorama_job job = {
		.uid = 1000,
		.jobid = 4711,
		.nprocs = RANKS,
		.start_sec = START,
		.end_sec = START + 8,
		.exe = "./galaxy --steps 3",
		.metadata = "lib_ver=3.5.0\nh=romio_no_indep_rw=true;cb_nodes=4\n"
	};
	const struct iorama_mount mounts[] = { { "/scratch", "lustre" }, { "/", "ext4" } };
	struct iorama_error e;
	struct iorama_writer *w = iorama_writer_open(argc > 1 ? argv[1] : "demo.darshan", &e);

	if (w == NULL || iorama_writer_job(w, &job, mounts, 2, &e) != 0 ||
	    write_names(w, &e) != 0 || write_counters(w, &e) != 0 || write_layout(w, &e) != 0 ||
	    write_trace(w, &e) != 0 || iorama_writer_commit(w, &e) != 0) {
		fprintf(stderr, "writelog: %s\n", e.text);
		iorama_writer_abort(w);
		return 4;
	}
	return 0;
}
