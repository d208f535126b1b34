/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_file.c: the sums of one file. Size classes, order and layers are compared here; mistakes
 * of other tools that are avoided are named where it happens. */
#include <math.h>
#include <string.h>

#include "diagnose/facts.h"
#include "table/index.h"

#define MIB 1048576.0
#define SMALL_BINS 5 /* classes up to and including 1 MiB */
#define TINY_BINS 3  /* up to 10 KiB */

/* what a request of a small class has on average, about */
static const double bin_mean[SMALL_BINS] = { 50, 400, 4096, 40960, 409600 };

/* counters that are not there or not monitored count as 0 */
static double count_of(const union rama_core_word *w, unsigned word)
{
	return w != NULL && w[word].i > 0 ? (double)w[word].i : 0;
}

static double time_of(const union rama_core_word *w, unsigned word)
{
	/* more than 30,000 years are damage; sums of them stay numbers */
	return w != NULL && w[word].f > 0 && w[word].f < 1e12 ? w[word].f : 0;
}

static double limited(double v, double least, double most)
{
	return v < least ? least : v > most ? most : v;
}

/* where a layer keeps sizes: [0] writes, [1] reads */
struct places {
	unsigned bins[2];
	unsigned access, access_count;
};

static const struct places posix_places = {
	{ RAMA_TAB_POSIX_SIZE_WRITE_0_100, RAMA_TAB_POSIX_SIZE_READ_0_100 },
	RAMA_TAB_POSIX_ACCESS1_ACCESS,
	RAMA_TAB_POSIX_ACCESS1_COUNT,
};
static const struct places mpiio_places = {
	{ RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100, RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100 },
	RAMA_TAB_MPIIO_ACCESS1_ACCESS,
	RAMA_TAB_MPIIO_ACCESS1_COUNT,
};
static const struct places dfs_places = {
	{ RAMA_TAB_DFS_SIZE_WRITE_0_100, RAMA_TAB_DFS_SIZE_READ_0_100 },
	RAMA_TAB_DFS_ACCESS1_ACCESS,
	RAMA_TAB_DFS_ACCESS1_COUNT,
};
static const struct places daos_places = {
	{ RAMA_TAB_DAOS_SIZE_WRITE_0_100, RAMA_TAB_DAOS_SIZE_READ_0_100 },
	RAMA_TAB_DAOS_ACCESS1_ACCESS,
	RAMA_TAB_DAOS_ACCESS1_COUNT,
};

/* Requests of exactly 1 MiB are counted in the class below it: they are taken out where the
 * frequent sizes tell (mistake 6). Those lists do not separate reads from writes; the class
 * does. */
static double whole_mib_share(const union rama_core_word *w, const struct places *at)
{
	double whole = 0, class = count_of(w, at->bins[0] + SMALL_BINS - 1) +
				  count_of(w, at->bins[1] + SMALL_BINS - 1);

	for (unsigned i = 0; i < 4; i++)
		if (count_of(w, at->access + i) == MIB)
			whole += count_of(w, at->access_count + i);
	return class > 0 ? limited(whole / class, 0, 1) : 0;
}

struct sizes {
	double count[2], bytes[2]; /* below 1 MiB */
	double tiny[2];		   /* at most 10 KiB */
};

static struct sizes sizes_of(const union rama_core_word *w, const struct places *at,
			     const double all_bytes[2], const double all_calls[2])
{
	double whole = whole_mib_share(w, at);
	struct sizes s = { { 0 }, { 0 }, { 0 } };

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < SMALL_BINS; i++) {
			double n = count_of(w, at->bins[k] + i) *
				   (i == SMALL_BINS - 1 ? 1 - whole : 1);

			s.count[k] += n;
			s.bytes[k] += n * bin_mean[i];
			s.tiny[k] += i < TINY_BINS ? n : 0;
		}
		s.bytes[k] =
			s.count[k] >= all_calls[k] ? all_bytes[k] : fmin(s.bytes[k], all_bytes[k]);
	}
	return s;
}

/* Calls take time to begin with, bytes take time to move: so the time of all is shared out
 * between small and other ones */
static double time_of_some(const struct rama_diag_facts *f, double rate, const double some[2],
			   const double all[3])
{
	double a = f->limits.request_time;
	double weight = all[0] * a + all[1] / rate;

	return weight > 0 ? all[2] * limited((some[0] * a + some[1] / rate) / weight, 0, 1) : 0;
}

static double rate_of(const struct rama_diag_facts *f, unsigned read)
{
	return fmax(1, read ? f->good_read : f->good_write);
}

static void posix_sizes(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			const union rama_core_word *w)
{
	const struct rama_job_view_traced *trace = t->file->traced[RAMA_JOB_LAYER_POSIX];
	double calls[2] = { count_of(w, RAMA_TAB_POSIX_WRITES), count_of(w, RAMA_TAB_POSIX_READS) };
	double bytes[2] = { count_of(w, RAMA_TAB_POSIX_BYTES_WRITTEN),
			    count_of(w, RAMA_TAB_POSIX_BYTES_READ) };
	double time[2] = { time_of(w, RAMA_TAB_POSIX_F_WRITE_TIME),
			   time_of(w, RAMA_TAB_POSIX_F_READ_TIME) };
	struct sizes s = sizes_of(w, &posix_places, bytes, calls);

	for (unsigned k = 0; k < 2; k++) {
		double rate = rate_of(f, k);

		/* a trace of all accesses knows exactly */
		if (trace != NULL && (double)trace->count[k] >= calls[k])
			s.count[k] = fmin((double)trace->small[k], calls[k]);
		t->small[k] = s.count[k];
		t->small_bytes[k] = s.bytes[k];
		t->small_time[k] = time_of_some(f, rate, (double[]){ s.count[k], s.bytes[k] },
						(double[]){ calls[k], bytes[k], time[k] });
		t->small_lost[k] = fmax(0, t->small_time[k] - s.bytes[k] / rate);
		t->lost[k] = fmax(0, time[k] - bytes[k] / rate);
	}
}

/* The first access of a rank to a file has none before it, but counts as neither sequential nor
 * consecutive: it is left out (mistake 7). */
static void posix_order(struct rama_diag_file_parts *t, const union rama_core_word *w,
			const union rama_core_word *own)
{
	static const unsigned seq[2] = { RAMA_TAB_POSIX_SEQ_WRITES, RAMA_TAB_POSIX_SEQ_READS };
	static const unsigned consec[2] = { RAMA_TAB_POSIX_CONSEC_WRITES,
					    RAMA_TAB_POSIX_CONSEC_READS };
	static const unsigned own_seq[2] = { RAMA_TAB_EXTRA_SEQ_WRITES, RAMA_TAB_EXTRA_SEQ_READS };
	static const unsigned own_consec[2] = { RAMA_TAB_EXTRA_CONSEC_WRITES,
						RAMA_TAB_EXTRA_CONSEC_READS };
	double first = t->file->folded ? count_of(w, RAMA_TAB_POSIX_OPENS)
				       : fmax(t->file->rows[RAMA_JOB_LAYER_POSIX], t->file->ranks);

	for (unsigned k = 0; k < 2; k++) {
		double calls = count_of(w, k ? RAMA_TAB_POSIX_READS : RAMA_TAB_POSIX_WRITES);
		double in_order = fmax(count_of(w, seq[k]), count_of(own, own_seq[k]));

		t->judged[k] = fmax(0, calls - first);
		t->random[k] = limited(calls - in_order - first, 0, t->judged[k]);
		t->consec[k] = fmin(t->judged[k],
				    fmax(count_of(w, consec[k]), count_of(own, own_consec[k])));
	}
}

/* Bytes beyond the size of the file were moved before: of each file on its own (mistake 1) */
static void posix_excess(struct rama_diag_file_parts *t, const union rama_core_word *w)
{
	double bytes[2] = { count_of(w, RAMA_TAB_POSIX_BYTES_WRITTEN),
			    count_of(w, RAMA_TAB_POSIX_BYTES_READ) };
	double last[2] = { count_of(w, RAMA_TAB_POSIX_MAX_BYTE_WRITTEN),
			   count_of(w, RAMA_TAB_POSIX_MAX_BYTE_READ) };

	for (unsigned k = 0; k < 2; k++) {
		if (bytes[k] > 0)
			t->size = fmax(t->size, last[k] + 1);
		t->excess[k] =
			last[k] > 0 && !t->file->folded ? fmax(0, bytes[k] - last[k] - 1) : 0;
	}
}

/* Writes to a file of one process end in memory, in microseconds. Where many take much longer,
 * each waits for the disk: O_SYNC, O_DIRECT, or a file system without a cache. */
static void posix_waits(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	if (t->users <= 1 && t->small[0] > 0 &&
	    t->small_time[0] >= f->limits.slow_small_write * t->small[0])
		t->slow_small = t->small[0];
}

/* the call that took longest, against the mean of the others of its kind */
static void posix_longest(struct rama_diag_file_parts *t, const union rama_core_word *w)
{
	static const unsigned words[2][3] = {
		{ RAMA_TAB_POSIX_WRITES, RAMA_TAB_POSIX_F_WRITE_TIME,
		  RAMA_TAB_POSIX_F_MAX_WRITE_TIME },
		{ RAMA_TAB_POSIX_READS, RAMA_TAB_POSIX_F_READ_TIME,
		  RAMA_TAB_POSIX_F_MAX_READ_TIME },
	};

	for (unsigned k = 0; k < 2; k++) {
		double calls = count_of(w, words[k][0]), all = time_of(w, words[k][1]);
		double longest = time_of(w, words[k][2]);

		if (calls < 2 || longest <= t->slow_call || longest > all)
			continue;
		t->slow_call = longest;
		t->slow_lost = fmax(0, longest - (all - longest) / (calls - 1));
	}
}

static void posix_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX];
	const struct rama_job_view_traced *trace = t->file->traced[RAMA_JOB_LAYER_POSIX];

	if (w == NULL)
		return;
	posix_sizes(t, f, w);
	posix_order(t, w, t->file->rec[RAMA_JOB_LAYER_EXTRA]);
	posix_excess(t, w);
	posix_longest(t, w);
	posix_waits(t, f);
	t->unaligned = count_of(w, RAMA_TAB_POSIX_FILE_NOT_ALIGNED);
	/* the counter knows blocks only; the trace also stripes (mistake 22) */
	if (trace != NULL && t->file->stripes != NULL)
		t->unaligned = fmax(t->unaligned,
				    (double)trace->unaligned[0] + (double)trace->unaligned[1]);
	t->unaligned = fmin(t->unaligned,
			    count_of(w, RAMA_TAB_POSIX_READS) + count_of(w, RAMA_TAB_POSIX_WRITES));
}

/* time of small independent calls of files that several ranks use, less what the bytes need */
static void mpiio_independent(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			      const union rama_core_word *w)
{
	static const unsigned kinds[2][4] = {
		{ RAMA_TAB_MPIIO_INDEP_WRITES, RAMA_TAB_MPIIO_COLL_WRITES,
		  RAMA_TAB_MPIIO_SPLIT_WRITES, RAMA_TAB_MPIIO_NB_WRITES },
		{ RAMA_TAB_MPIIO_INDEP_READS, RAMA_TAB_MPIIO_COLL_READS, RAMA_TAB_MPIIO_SPLIT_READS,
		  RAMA_TAB_MPIIO_NB_READS },
	};
	double bytes[2] = { count_of(w, RAMA_TAB_MPIIO_BYTES_WRITTEN),
			    count_of(w, RAMA_TAB_MPIIO_BYTES_READ) };
	double time[2] = { time_of(w, RAMA_TAB_MPIIO_F_WRITE_TIME),
			   time_of(w, RAMA_TAB_MPIIO_F_READ_TIME) };
	double calls[2] = { 0 }, indep[2];
	struct sizes s;

	for (unsigned k = 0; k < 2; k++) {
		indep[k] = count_of(w, kinds[k][0]);
		for (unsigned i = 0; i < 4; i++)
			calls[k] += count_of(w, kinds[k][i]);
	}
	s = sizes_of(w, &mpiio_places, bytes, calls);
	for (unsigned k = 0; k < 2; k++) {
		double share = calls[k] > 0 ? indep[k] / calls[k] : 0, rate = rate_of(f, k);
		double some[2] = { s.count[k] * share, s.bytes[k] * share };

		t->mpi_small[k] = s.count[k];
		t->mpi_tiny[k] = fmin(s.tiny[k], indep[k]);
		if (k == 0)
			t->indep_small = fmin(s.count[k], indep[k]);
		if (t->several)
			t->indep_lost[k] =
				fmax(0, time_of_some(f, rate, some,
						     (double[]){ calls[k], bytes[k], time[k] }) -
						some[1] / rate);
	}
}

/* What the application asked MPI-IO for, and what became of it on disk: no peer compares them
 * (mistake 32) */
static void mpiio_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_MPIIO],
				   *below = t->file->rec[RAMA_JOB_LAYER_POSIX];
	double given = count_of(w, RAMA_TAB_MPIIO_BYTES_WRITTEN),
	       asked = count_of(w, RAMA_TAB_MPIIO_BYTES_READ);
	double written = count_of(below, RAMA_TAB_POSIX_BYTES_WRITTEN),
	       read = count_of(below, RAMA_TAB_POSIX_BYTES_READ);
	double read_time = time_of(below, RAMA_TAB_POSIX_F_READ_TIME);
	bool only_written = given > 0 && asked < given / 10;

	if (w == NULL)
		return;
	mpiio_independent(t, f, w);
	if (given > 0) {
		t->over[0] = fmax(0, written - given);
		t->over_time[0] = written > 0 ? time_of(below, RAMA_TAB_POSIX_F_WRITE_TIME) *
							t->over[0] / written
					      : 0;
	}
	if (only_written) {
		t->modify_read = fmax(0, read - asked);
		/* reads past the end of the file bring nothing and still take their time */
		t->unasked_time = read > 0    ? read_time * t->modify_read / read
				  : asked > 0 ? 0
					      : read_time;
	} else if (asked > 0) {
		t->over[1] = fmax(0, read - asked);
		t->over_time[1] = read > 0 ? read_time * t->over[1] / read : 0;
	}
}

static void hdf5_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const struct rama_diag_chunk_facts *c;

	if (f->chunks == NULL)
		return;
	c = &f->chunks[t->file - f->view->files];
	t->chunk_accesses = c->accesses;
	t->chunk_partial = c->partial;
	t->chunk_bytes = c->bytes;
	t->chunk_access = c->access;
}

/* Calls that only EXTRA counts share its time evenly. Those of POSIX share theirs by what they
 * take as a rule: a stat half as long as an open with its close, a seek, which asks nobody, a
 * tenth. */
static void meta_parts(struct rama_diag_file_parts *t)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double opens = count_of(w, RAMA_TAB_POSIX_OPENS),
	       renames = count_of(w, RAMA_TAB_POSIX_RENAME_SOURCES),
	       stats = count_of(w, RAMA_TAB_POSIX_STATS) / 2,
	       seeks = count_of(w, RAMA_TAB_POSIX_SEEKS) / 10,
	       weight = opens + renames + stats + seeks;
	double each = weight > 0 ? time_of(w, RAMA_TAB_POSIX_F_META_TIME) / weight : 0;

	if (own != NULL) {
		double calls = (double)rama_job_io_of(RAMA_JOB_LAYER_EXTRA, own).metas;

		t->extra_each = calls > 0 ? time_of(own, RAMA_TAB_EXTRA_F_META_TIME) / calls : 0;
	}
	t->open_time = opens * each +
		       time_of(t->file->rec[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_F_META_TIME) +
		       time_of(t->file->rec[RAMA_JOB_LAYER_DFS], RAMA_TAB_DFS_F_META_TIME);
	t->seek_time = seeks * each;
	t->stat_time = stats * each + t->extra_each * (count_of(own, RAMA_TAB_EXTRA_STATS) +
						       count_of(own, RAMA_TAB_EXTRA_ACCESSES));
	t->rename_time =
		fmax(renames * each, t->extra_each * count_of(own, RAMA_TAB_EXTRA_RENAMES));
}

/* A file of DFS is objects of DAOS below: they are not counted again */
static void daos_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	bool dfs = t->file->rec[RAMA_JOB_LAYER_DFS] != NULL;
	const union rama_core_word *w =
		t->file->rec[dfs ? RAMA_JOB_LAYER_DFS : RAMA_JOB_LAYER_DAOS];
	struct rama_job_io io;
	struct sizes s;

	if (w == NULL || (!dfs && f->view->layer[RAMA_JOB_LAYER_DFS].used))
		return;
	io = rama_job_io_of(dfs ? RAMA_JOB_LAYER_DFS : RAMA_JOB_LAYER_DAOS, w);
	t->daos = true;
	t->daos_calls[0] = (double)io.writes;
	t->daos_calls[1] = (double)io.reads;
	t->daos_bytes[0] = (double)io.bytes_written;
	t->daos_bytes[1] = (double)io.bytes_read;
	s = sizes_of(w, dfs ? &dfs_places : &daos_places, t->daos_bytes, t->daos_calls);
	for (unsigned k = 0; k < 2; k++) {
		double rate = rate_of(f, k), time = k ? io.read_time : io.write_time;

		t->daos_small[k] = fmin(s.count[k], t->daos_calls[k]);
		t->daos_lost += fmax(
			0, time_of_some(f, rate, (double[]){ t->daos_small[k], s.bytes[k] },
					(double[]){ t->daos_calls[k], t->daos_bytes[k], time }) -
				   s.bytes[k] / rate);
	}
	t->disk_time += rama_job_io_time(&io);
	t->disk_bytes += t->daos_bytes[0] + t->daos_bytes[1];
}

static bool one_of(const char *type, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(type, *list) == 0)
			return true;
	return false;
}

/* file systems that many nodes write at once, and those that homes lie on */
static void place_parts(struct rama_diag_file_parts *t, const struct rama_job_view *v)
{
	static const char *const parallel[] = {
		"lustre",     "gpfs",	 "mmfs",      "beegfs", "fhgfs_nodev", "pvfs2",
		"orangefs",   "panfs",	 "wekafs",    "ceph",	"glusterfs",   "fuse.glusterfs",
		"fuse.dfuse", "quobyte", "fuse.ceph", "vast",	NULL
	};
	static const char *const home[] = { "nfs", "nfs4", "afs", "cifs", "smb3", NULL };
	const char *type = t->file->mount >= 0 ? v->mounts[t->file->mount].type : "";

	t->parallel = t->file->stripes != NULL || one_of(type, parallel);
	t->home = one_of(type, home);
}

/* Files beyond the room for records share one of them. How many they are is not known, but they
 * were opened, and the others tell how often files are. Ranks share the record, not the files. */
static void count_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *stream = t->file->rec[RAMA_JOB_LAYER_STDIO];
	double opens;

	t->count = t->file->unopened ? 0 : 1;
	t->users = t->file->ranks;
	if (!t->file->folded)
		return;
	opens = fmax(count_of(w, RAMA_TAB_POSIX_OPENS) - count_of(w, RAMA_TAB_POSIX_FILENOS) -
			     count_of(w, RAMA_TAB_POSIX_DUPS),
		     count_of(stream, RAMA_TAB_STDIO_OPENS));
	t->count = fmax(1, round(opens / fmax(1, f->usual_opens)));
	if (t->file->rec[RAMA_JOB_LAYER_MPIIO] == NULL)
		t->users = 1;
}

static void common_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	static const enum rama_job_layer layers[] = { RAMA_JOB_LAYER_POSIX, RAMA_JOB_LAYER_STDIO };
	const union rama_core_word *stream = t->file->rec[RAMA_JOB_LAYER_STDIO];

	for (unsigned i = 0; i < 2; i++) {
		if (t->file->rec[layers[i]] != NULL) {
			struct rama_job_io io = rama_job_io_of(layers[i], t->file->rec[layers[i]]);

			t->disk_time += rama_job_io_time(&io);
			t->disk_bytes += (double)io.bytes_read + (double)io.bytes_written;
		}
	}
	t->size = fmax(count_of(stream, RAMA_TAB_STDIO_MAX_BYTE_READ),
		       count_of(stream, RAMA_TAB_STDIO_MAX_BYTE_WRITTEN));
	t->stdio_lost =
		fmax(0, time_of(stream, RAMA_TAB_STDIO_F_READ_TIME) +
				time_of(stream, RAMA_TAB_STDIO_F_WRITE_TIME) -
				count_of(stream, RAMA_TAB_STDIO_BYTES_READ) / rate_of(f, 1) -
				count_of(stream, RAMA_TAB_STDIO_BYTES_WRITTEN) / rate_of(f, 0));
	t->mpi = t->file->rec[RAMA_JOB_LAYER_MPIIO] != NULL;
	t->several = t->users > 1;
}

/* I/O time of the slowest rank below the application: the record of all ranks knows, or the rows
 * of each */
static double slowest_of(const struct rama_diag_file_parts *t)
{
	double most = fmax(t->file->most_time, t->disk_time / fmax(1, t->file->ranks));

	if (t->file->ranks <= 1)
		return t->disk_time;
	most = fmax(most, time_of(t->file->rec[RAMA_JOB_LAYER_POSIX],
				  RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME));
	return fmin(most, t->disk_time);
}

/* Ranks that moved data of the file: traced, or with a row of their own. A record of all ranks
 * does not tell; then the ranks seen in heat maps do. Hints in a log are those of its own
 * writing, not of the application (mistake 3). */
static double disk_ranks_of(const struct rama_diag_file_parts *t, const struct rama_job_view *v)
{
	const struct rama_job_view_traced *trace = t->file->traced[RAMA_JOB_LAYER_POSIX];

	if (trace != NULL && !v->segments_cut)
		return fmax(trace->ranks[0], trace->ranks[1]);
	if (t->file->rec[RAMA_JOB_LAYER_POSIX] == NULL)
		return 0;
	if (t->file->rows[RAMA_JOB_LAYER_POSIX] > 1 || t->file->ranks <= 1)
		return t->file->rows[RAMA_JOB_LAYER_POSIX];
	return v->active_ranks > 0 ? (double)v->active_ranks : 0;
}

/* An open that takes very long and brings nothing is that of a pipe, a device or a lock */
static double waits_of(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	double opens = count_of(t->file->rec[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_OPENS);
	double time = time_of(t->file->rec[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_F_META_TIME);

	if (t->file->ranks > 1 || t->disk_bytes > 65536 || time <= opens * f->limits.open_wait)
		return 0;
	return opens;
}

#define P(c) count_of(w[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_##c)
#define PF(c) time_of(w[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_##c)
#define M(c) count_of(w[RAMA_JOB_LAYER_MPIIO], RAMA_TAB_MPIIO_##c)
#define MF(c) time_of(w[RAMA_JOB_LAYER_MPIIO], RAMA_TAB_MPIIO_##c)
#define S(c) count_of(w[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_##c)
#define SF(c) time_of(w[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_##c)
#define H(c) count_of(w[RAMA_JOB_LAYER_H5D], RAMA_TAB_H5D_##c)
#define F5(c) count_of(w[RAMA_JOB_LAYER_H5F], RAMA_TAB_H5F_##c)
#define F5F(c) time_of(w[RAMA_JOB_LAYER_H5F], RAMA_TAB_H5F_##c)
#define V(c) count_of(w[RAMA_JOB_LAYER_PNETCDF_VAR], RAMA_TAB_PNETCDF_VAR_##c)
#define N(c) count_of(w[RAMA_JOB_LAYER_PNETCDF_FILE], RAMA_TAB_PNETCDF_FILE_##c)
#define D(c) count_of(w[RAMA_JOB_LAYER_DFS], RAMA_TAB_DFS_##c)
#define DF(c) time_of(w[RAMA_JOB_LAYER_DFS], RAMA_TAB_DFS_##c)
#define E(c) count_of(w[RAMA_JOB_LAYER_EXTRA], RAMA_TAB_EXTRA_##c)
#define EF(c) time_of(w[RAMA_JOB_LAYER_EXTRA], RAMA_TAB_EXTRA_##c)

void rama_diag_facts_file(const struct rama_diag_facts *f, const struct rama_job_view_file *file,
			  struct rama_diag_sums *x)
{
	const union rama_core_word *const *w = file->rec;
	struct rama_diag_file_parts parts = { .file = file }, *t = &parts;

	count_parts(t, f);
	common_parts(t, f);
	posix_parts(t, f);
	mpiio_parts(t, f);
	hdf5_parts(t, f);
	meta_parts(t);
	daos_parts(t, f);
	place_parts(t, f->view);
	t->slowest = slowest_of(t);
	t->disk_ranks = disk_ranks_of(t, f->view);
	t->waits = waits_of(t, f);
	t->tiny = !file->unopened && t->size < f->limits.tiny_file &&
		  t->disk_bytes / fmax(t->count, file->ranks) < f->limits.tiny_file;
#define SUM(name, unit, expression, doc) .name = (double)(expression),
#define RATIO(name, unit, expression, doc)
#define JOB(name, unit, doc)
	*x = (struct rama_diag_sums){
#include "diagnose/facts.def"
	};
#undef SUM
#undef RATIO
#undef JOB
	rama_diag_sums_ratios(x);
}
#undef E

/* sums come first in the structure, then ratios: see facts.h */
enum {
#define SUM(name, ...) PLACE_##name,
#define RATIO(name, ...)
#define JOB(name, ...)
#include "diagnose/facts.def"
#undef SUM
#undef RATIO
#undef JOB
	N_SUMS
};

void rama_diag_sums_add(struct rama_diag_sums *to, const struct rama_diag_sums *x)
{
	double *sum = (double *)to;
	const double *more = (const double *)x;

	for (unsigned i = 0; i < N_SUMS; i++)
		sum[i] += more[i];
}

/* 0 where there is nothing to compare */
static double ratio(double v)
{
	return isfinite(v) ? v : 0;
}

void rama_diag_sums_ratios(struct rama_diag_sums *x)
{
#define SUM(name, unit, expression, doc)
#define RATIO(name, unit, expression, doc) x->name = ratio(expression);
#define JOB(name, unit, doc)
#include "diagnose/facts.def"
#undef SUM
#undef RATIO
#undef JOB
}
