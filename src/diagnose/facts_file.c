/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_file.c: the sums of one file. Size classes, order and layers are compared here; mistakes
 * of other tools that are avoided are named where it happens. */
#include <math.h>
#include <string.h>

#include "diagnose/facts.h"
#include "diagnose/sizes.h"
#include "table/index.h"

#define MIB 1048576.0

static double limited(double v, double least, double most)
{
	return v < least ? least : v > most ? most : v;
}

/* where a layer keeps sizes: [0] writes, [1] reads */
struct places {
	unsigned bins[2];
	unsigned access, access_count;
	unsigned slow_bytes[2], slow_time[2]; /* of the longest call */
};

static const struct places posix_places = {
	{ RAMA_TAB_POSIX_SIZE_WRITE_0_100, RAMA_TAB_POSIX_SIZE_READ_0_100 },
	RAMA_TAB_POSIX_ACCESS1_ACCESS,
	RAMA_TAB_POSIX_ACCESS1_COUNT,
	{ RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE, RAMA_TAB_POSIX_MAX_READ_TIME_SIZE },
	{ RAMA_TAB_POSIX_F_MAX_WRITE_TIME, RAMA_TAB_POSIX_F_MAX_READ_TIME },
};
static const struct places mpiio_places = {
	{ RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100, RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100 },
	RAMA_TAB_MPIIO_ACCESS1_ACCESS,
	RAMA_TAB_MPIIO_ACCESS1_COUNT,
	{ RAMA_TAB_MPIIO_MAX_WRITE_TIME_SIZE, RAMA_TAB_MPIIO_MAX_READ_TIME_SIZE },
	{ RAMA_TAB_MPIIO_F_MAX_WRITE_TIME, RAMA_TAB_MPIIO_F_MAX_READ_TIME },
};
static const struct places dfs_places = {
	{ RAMA_TAB_DFS_SIZE_WRITE_0_100, RAMA_TAB_DFS_SIZE_READ_0_100 },
	RAMA_TAB_DFS_ACCESS1_ACCESS,
	RAMA_TAB_DFS_ACCESS1_COUNT,
	{ RAMA_TAB_DFS_MAX_WRITE_TIME_SIZE, RAMA_TAB_DFS_MAX_READ_TIME_SIZE },
	{ RAMA_TAB_DFS_F_MAX_WRITE_TIME, RAMA_TAB_DFS_F_MAX_READ_TIME },
};
static const struct places daos_places = {
	{ RAMA_TAB_DAOS_SIZE_WRITE_0_100, RAMA_TAB_DAOS_SIZE_READ_0_100 },
	RAMA_TAB_DAOS_ACCESS1_ACCESS,
	RAMA_TAB_DAOS_ACCESS1_COUNT,
	{ RAMA_TAB_DAOS_MAX_WRITE_TIME_SIZE, RAMA_TAB_DAOS_MAX_READ_TIME_SIZE },
	{ RAMA_TAB_DAOS_F_MAX_WRITE_TIME, RAMA_TAB_DAOS_F_MAX_READ_TIME },
};

/* Requests of exactly 1 MiB are counted in the class below it: they are taken out where the
 * frequent sizes tell (mistake 6). Those lists do not separate reads from writes; the class
 * does. */
static double whole_mib_share(const union rama_core_word *w, const struct places *at)
{
	double whole = 0, class = rama_diag_count_of(w, at->bins[0] + RAMA_DIAG_SIZES_SMALL - 1) +
				  rama_diag_count_of(w, at->bins[1] + RAMA_DIAG_SIZES_SMALL - 1);

	for (unsigned i = 0; i < 4; i++)
		if (rama_diag_count_of(w, at->access + i) == MIB)
			whole += rama_diag_count_of(w, at->access_count + i);
	return class > 0 ? limited(whole / class, 0, 1) : 0;
}

static double rate_of(const struct rama_diag_facts *f, unsigned read)
{
	return fmax(1, read ? f->good_read : f->good_write);
}

/* requests of one layer by size; k: 0 writes, 1 reads */
static struct rama_diag_sizes sizes_of(const struct rama_diag_facts *f,
				       const union rama_core_word *w, const struct places *at,
				       unsigned k, struct rama_diag_sizes_all all)
{
	double whole = rama_diag_count_of(w, at->bins[k] + RAMA_DIAG_SIZES_SMALL - 1) *
		       whole_mib_share(w, at);
	struct rama_diag_sizes s = { { 0 }, { 0 }, { 0 } };

	for (unsigned i = 0; i < RAMA_DIAG_SIZES; i++)
		s.count[i] = rama_diag_count_of(w, at->bins[k] + i);
	s.count[RAMA_DIAG_SIZES_SMALL - 1] -= whole;
	s.count[RAMA_DIAG_SIZES_SMALL] += whole;
	all.slow_time = rama_diag_time_of(w, at->slow_time[k]);
	all.slow_bytes = rama_diag_count_of(w, at->slow_bytes[k]);
	all.start = f->limits.request_time;
	all.rate = rate_of(f, k);
	rama_diag_sizes_share(&s, &all);
	return s;
}

/* Accesses that are random or not aligned are known by number. As long as nothing tells more,
 * they are the smallest ones: what costs little is not blamed for what costs much. */
static void posix_sizes(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			const union rama_core_word *w, struct rama_diag_sizes s[2])
{
	const struct rama_job_view_traced *trace = t->file->traced[RAMA_JOB_LAYER_POSIX];
	const double writing = rama_diag_time_of(w, RAMA_TAB_POSIX_F_WRITE_TIME);
	const struct rama_diag_sizes_all all[2] = {
		{ .calls = rama_diag_count_of(w, RAMA_TAB_POSIX_WRITES),
		  .bytes = rama_diag_count_of(w, RAMA_TAB_POSIX_BYTES_WRITTEN),
		  .time = writing - t->sync_time },
		{ .calls = rama_diag_count_of(w, RAMA_TAB_POSIX_READS),
		  .bytes = rama_diag_count_of(w, RAMA_TAB_POSIX_BYTES_READ),
		  .time = rama_diag_time_of(w, RAMA_TAB_POSIX_F_READ_TIME) },
	};

	for (unsigned k = 0; k < 2; k++) {
		double rate = rate_of(f, k);
		struct rama_diag_sizes_part small;

		s[k] = sizes_of(f, w, &posix_places, k, all[k]);
		small = rama_diag_sizes_small(&s[k]);
		/* a trace of all accesses knows exactly */
		if (trace != NULL && (double)trace->count[k] >= all[k].calls)
			small.count = fmin((double)trace->small[k], all[k].calls);
		t->small[k] = small.count;
		t->small_bytes[k] = small.bytes;
		t->small_time[k] = small.time;
		t->small_lost[k] = rama_diag_sizes_lost(&small, rate);
		t->lost[k] = fmax(0, (k == 0 ? writing : all[k].time) - all[k].bytes / rate);
	}
}

/* Logs of others have the time of syncs among that of writes, and the longest write: what all of
 * them cannot have taken is of the syncs. */
static void sync_parts(struct rama_diag_file_parts *t)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double writing = rama_diag_time_of(w, RAMA_TAB_POSIX_F_WRITE_TIME),
	       longest = rama_diag_time_of(w, RAMA_TAB_POSIX_F_MAX_WRITE_TIME);

	if (rama_diag_count_of(w, RAMA_TAB_POSIX_FSYNCS) +
		    rama_diag_count_of(w, RAMA_TAB_POSIX_FDSYNCS) <=
	    0)
		return;
	t->sync_time = rama_diag_time_of(own, RAMA_TAB_EXTRA_F_SYNC_TIME);
	if (longest > 0)
		t->sync_time =
			fmax(t->sync_time,
			     writing - rama_diag_count_of(w, RAMA_TAB_POSIX_WRITES) * longest);
	t->sync_time = fmin(t->sync_time, writing);
}

/* The first access of a rank to a file has none before it, but counts as neither sequential nor
 * consecutive: it is left out (mistake 7); so is the first one after each open. */
static void posix_order(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			const union rama_core_word *w, const struct rama_diag_sizes s[2])
{
	static const unsigned seq[2] = { RAMA_TAB_POSIX_SEQ_WRITES, RAMA_TAB_POSIX_SEQ_READS };
	static const unsigned consec[2] = { RAMA_TAB_POSIX_CONSEC_WRITES,
					    RAMA_TAB_POSIX_CONSEC_READS };
	static const unsigned own_seq[2] = { RAMA_TAB_EXTRA_SEQ_WRITES, RAMA_TAB_EXTRA_SEQ_READS };
	static const unsigned own_consec[2] = { RAMA_TAB_EXTRA_CONSEC_WRITES,
						RAMA_TAB_EXTRA_CONSEC_READS };
	const union rama_core_word *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double first = fmax(
		rama_diag_count_of(w, RAMA_TAB_POSIX_OPENS),
		t->file->folded ? 0 : fmax(t->file->rows[RAMA_JOB_LAYER_POSIX], t->file->ranks));

	for (unsigned k = 0; k < 2; k++) {
		double calls =
			rama_diag_count_of(w, k ? RAMA_TAB_POSIX_READS : RAMA_TAB_POSIX_WRITES);
		double in_order =
			fmax(rama_diag_count_of(w, seq[k]), rama_diag_count_of(own, own_seq[k]));
		struct rama_diag_sizes_part random;

		t->judged[k] = fmax(0, calls - first);
		t->random[k] = limited(calls - in_order - first, 0, t->judged[k]);
		random = rama_diag_sizes_first(&s[k], t->random[k]);
		t->random_time[k] = random.time;
		t->random_lost[k] = rama_diag_sizes_lost(&random, rate_of(f, k));
		t->consec[k] = fmin(t->judged[k], fmax(rama_diag_count_of(w, consec[k]),
						       rama_diag_count_of(own, own_consec[k])));
	}
}

/* Bytes beyond the size of the file were moved before: of each file on its own (mistake 1). Who
 * opens a file to write it anew, such as a checkpoint, writes nothing in vain. */
static void posix_excess(struct rama_diag_file_parts *t, const union rama_core_word *w)
{
	double bytes[2] = { rama_diag_count_of(w, RAMA_TAB_POSIX_BYTES_WRITTEN),
			    rama_diag_count_of(w, RAMA_TAB_POSIX_BYTES_READ) };
	double last[2] = { rama_diag_count_of(w, RAMA_TAB_POSIX_MAX_BYTE_WRITTEN),
			   rama_diag_count_of(w, RAMA_TAB_POSIX_MAX_BYTE_READ) };

	double anew =
		fmax(1, floor(rama_diag_count_of(w, RAMA_TAB_POSIX_OPENS) / fmax(1, t->users)));

	for (unsigned k = 0; k < 2; k++) {
		if (bytes[k] > 0)
			t->size = fmax(t->size, last[k] + 1);
		if (last[k] > 0 && !t->file->folded)
			t->excess[k] += fmax(0, bytes[k] - (last[k] + 1) * (k == 0 ? anew : 1));
	}
}

/* Writes to a file of one process end in memory, in microseconds. Where many take much longer,
 * each waits for the disk: O_SYNC, O_DIRECT, or a file system without a cache. */
static void posix_waits(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	double time =
		rama_diag_time_of(t->file->rec[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_F_WRITE_TIME);

	/* What they share with large writes they may not have taken; and what takes long because
	 * it moves much, at a poor rate, does not wait */
	if (t->users <= 1 && t->small[0] > 0 && t->small_time[0] > time / 2 &&
	    t->small_lost[0] >= f->limits.slow_small_write * t->small[0] &&
	    t->small_lost[0] >= 3 * (t->small_time[0] - t->small_lost[0]))
		t->slow_small = t->small[0];
}

struct rama_diag_longest rama_diag_longest_of(const union rama_core_word *w, bool read)
{
	static const unsigned words[2][5] = {
		{ RAMA_TAB_POSIX_WRITES, RAMA_TAB_POSIX_F_WRITE_TIME,
		  RAMA_TAB_POSIX_F_MAX_WRITE_TIME, RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE,
		  RAMA_TAB_POSIX_BYTES_WRITTEN },
		{ RAMA_TAB_POSIX_READS, RAMA_TAB_POSIX_F_READ_TIME, RAMA_TAB_POSIX_F_MAX_READ_TIME,
		  RAMA_TAB_POSIX_MAX_READ_TIME_SIZE, RAMA_TAB_POSIX_BYTES_READ },
	};
	const unsigned *at = words[read];
	double others = rama_diag_count_of(w, at[0]) - 1, all = rama_diag_time_of(w, at[1]), size;
	struct rama_diag_longest l = { rama_diag_time_of(w, at[2]), rama_diag_count_of(w, at[3]), 0,
				       0 };

	if (others < 1 || l.time > all)
		return (struct rama_diag_longest){ 0 };
	l.mean = (all - l.time) / others;
	size = fmax(0, rama_diag_count_of(w, at[4]) - l.bytes) / others;
	if (l.bytes <= 4 * size || l.bytes <= 0)
		l.lost = fmax(0, l.time - l.mean);
	else if (size > 0) /* as long as so many of the others */
		l.lost = fmax(0, l.time - l.mean * l.bytes / size);
	return l;
}

/* the call that took longest for what it moved, against the mean of the others of its kind */
static void posix_longest(struct rama_diag_file_parts *t, const union rama_core_word *w)
{
	for (unsigned k = 0; k < 2; k++) {
		struct rama_diag_longest l = rama_diag_longest_of(w, k);

		if (l.lost <= t->slow_lost)
			continue;
		t->slow_call = l.time;
		t->slow_lost = l.lost;
	}
}

/* Large accesses wait at their ends, for blocks that neighbours write as well and for the locks on
 * them, not in all that lies between */
static double border_lost(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			  const struct rama_diag_sizes_part *odd, double lost)
{
	double block = fmax(MIB, t->file->stripes != NULL
					 ? (double)t->file->stripes->stripe_size
					 : rama_diag_count_of(t->file->rec[RAMA_JOB_LAYER_POSIX],
							      RAMA_TAB_POSIX_FILE_ALIGNMENT));
	double ends = fmin(1, 2 * block * odd->count / fmax(1, odd->bytes));

	return fmin(lost, fmax(lost * ends, f->limits.border_time * odd->count));
}

/* the counter knows blocks only; the trace also stripes (mistake 22) */
static void posix_alignment(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			    const union rama_core_word *w, const struct rama_diag_sizes s[2])
{
	const struct rama_job_view_traced *trace = t->file->traced[RAMA_JOB_LAYER_POSIX];
	struct rama_diag_sizes_part odd[2];

	t->unaligned = rama_diag_count_of(w, RAMA_TAB_POSIX_FILE_NOT_ALIGNED);
	if (trace != NULL && t->file->stripes != NULL)
		t->unaligned = fmax(t->unaligned,
				    (double)trace->unaligned[0] + (double)trace->unaligned[1]);
	t->unaligned = fmin(t->unaligned, rama_diag_count_of(w, RAMA_TAB_POSIX_READS) +
						  rama_diag_count_of(w, RAMA_TAB_POSIX_WRITES));
	rama_diag_sizes_first_of_both(s, t->unaligned, odd);
	for (unsigned k = 0; k < 2; k++) {
		struct rama_diag_sizes_part small = rama_diag_sizes_small(&s[k]);

		t->unaligned_time += odd[k].time;
		/* small ones are told elsewhere */
		odd[k].time = fmax(0, odd[k].time - small.time);
		odd[k].bytes = fmax(0, odd[k].bytes - small.bytes);
		odd[k].count = fmax(0, odd[k].count - small.count);
		t->unaligned_lost +=
			border_lost(t, f, &odd[k], rama_diag_sizes_lost(&odd[k], rate_of(f, k)));
	}
}

static void posix_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX];
	struct rama_diag_sizes s[2];

	if (w == NULL)
		return;
	sync_parts(t);
	posix_sizes(t, f, w, s);
	posix_order(t, f, w, s);
	posix_excess(t, w);
	posix_longest(t, w);
	posix_waits(t, f);
	posix_alignment(t, f, w, s);
}

/* How many of the small calls are independent? The counters of sizes and of kinds are not joined.
 * Independent ones reach the disk as they are, collective ones are joined: so the small calls
 * below tell, within what the numbers allow; without them both kinds are alike. */
static double small_independent(double small, double indep, double others, double below)
{
	double most = fmin(small, indep), least = fmax(0, small - others);

	if (below >= 0)
		return limited(below, least, most);
	return indep + others > 0 ? small * indep / (indep + others) : 0;
}

/* collective and independent calls told apart by time and bytes, and what small independent ones
 * of files that several ranks use take beyond what their bytes need */
static void mpiio_kinds(struct rama_diag_file_parts *t, const struct rama_diag_facts *f, unsigned k,
			const struct rama_diag_sizes_all *all, double indep)
{
	struct rama_diag_sizes s =
		sizes_of(f, t->file->rec[RAMA_JOB_LAYER_MPIIO], &mpiio_places, k, *all);
	struct rama_diag_sizes_part small = rama_diag_sizes_small(&s), part;
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX];
	double calls = rama_diag_count_of(w, k ? RAMA_TAB_POSIX_READS : RAMA_TAB_POSIX_WRITES);
	double n = small_independent(small.count, indep, all->calls - indep,
				     calls > 0 ? t->small[k] : -1);
	double large = all->calls - small.count > 0 ? (indep - n) / (all->calls - small.count) : 0;

	part = small;
	if (small.count > 0) {
		part.time *= n / small.count;
		part.bytes *= n / small.count;
	}
	t->mpi_small[k] = small.count;
	t->mpi_tiny[k] = fmin(rama_diag_sizes_tiny(&s), indep);
	if (k == 0)
		t->indep_small = n;
	t->indep_time[k] = part.time + fmax(0, all->time - small.time) * large;
	t->indep_bytes[k] = part.bytes + fmax(0, all->bytes - small.bytes) * large;
	if (t->several)
		t->indep_lost[k] = rama_diag_sizes_lost(&part, rate_of(f, k));
}

static void mpiio_independent(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
			      const union rama_core_word *w)
{
	static const unsigned kinds[2][4] = {
		{ RAMA_TAB_MPIIO_INDEP_WRITES, RAMA_TAB_MPIIO_COLL_WRITES,
		  RAMA_TAB_MPIIO_SPLIT_WRITES, RAMA_TAB_MPIIO_NB_WRITES },
		{ RAMA_TAB_MPIIO_INDEP_READS, RAMA_TAB_MPIIO_COLL_READS, RAMA_TAB_MPIIO_SPLIT_READS,
		  RAMA_TAB_MPIIO_NB_READS },
	};
	struct rama_diag_sizes_all all[2] = {
		{ .bytes = rama_diag_count_of(w, RAMA_TAB_MPIIO_BYTES_WRITTEN),
		  .time = rama_diag_time_of(w, RAMA_TAB_MPIIO_F_WRITE_TIME) },
		{ .bytes = rama_diag_count_of(w, RAMA_TAB_MPIIO_BYTES_READ),
		  .time = rama_diag_time_of(w, RAMA_TAB_MPIIO_F_READ_TIME) },
	};

	for (unsigned k = 0; k < 2; k++) {
		double nb = rama_diag_count_of(w, kinds[k][3]),
		       indep = rama_diag_count_of(w, kinds[k][0]);

		for (unsigned i = 0; i < 4; i++)
			all[k].calls += rama_diag_count_of(w, kinds[k][i]);
		mpiio_kinds(t, f, k, &all[k], indep);
		/* what is neither independent nor only begun */
		if (all[k].calls - indep > 0) {
			double share = 1 - nb / (all[k].calls - indep);

			t->coll_time[k] = fmax(0, all[k].time - t->indep_time[k]) * share;
			t->coll_bytes[k] = fmax(0, all[k].bytes - t->indep_bytes[k]) * share;
		}
	}
}

/* What the application asked MPI-IO for, and what became of it on disk: no peer compares them
 * (mistake 32) */
static void mpiio_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_MPIIO],
				   *below = t->file->rec[RAMA_JOB_LAYER_POSIX];
	double given = rama_diag_count_of(w, RAMA_TAB_MPIIO_BYTES_WRITTEN),
	       asked = rama_diag_count_of(w, RAMA_TAB_MPIIO_BYTES_READ);
	double written = rama_diag_count_of(below, RAMA_TAB_POSIX_BYTES_WRITTEN),
	       read = rama_diag_count_of(below, RAMA_TAB_POSIX_BYTES_READ);
	double read_time = rama_diag_time_of(below, RAMA_TAB_POSIX_F_READ_TIME);
	bool only_written = given > 0 && asked < given / 10;

	if (w == NULL)
		return;
	mpiio_independent(t, f, w);
	if (given > 0) {
		t->over[0] = fmax(0, written - given);
		t->over_time[0] = written > 0
					  ? rama_diag_time_of(below, RAMA_TAB_POSIX_F_WRITE_TIME) *
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

/* A file of DFS is objects of DAOS below: they are not counted again */
static void daos_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	bool dfs = t->file->rec[RAMA_JOB_LAYER_DFS] != NULL;
	const union rama_core_word *w =
		t->file->rec[dfs ? RAMA_JOB_LAYER_DFS : RAMA_JOB_LAYER_DAOS];
	struct rama_job_io io;

	if (w == NULL || (!dfs && f->view->layer[RAMA_JOB_LAYER_DFS].used))
		return;
	io = rama_job_io_of(dfs ? RAMA_JOB_LAYER_DFS : RAMA_JOB_LAYER_DAOS, w);
	t->daos = true;
	t->daos_calls[0] = (double)io.writes;
	t->daos_calls[1] = (double)io.reads;
	t->daos_bytes[0] = (double)io.bytes_written;
	t->daos_bytes[1] = (double)io.bytes_read;
	for (unsigned k = 0; k < 2; k++) {
		struct rama_diag_sizes s = sizes_of(
			f, w, dfs ? &dfs_places : &daos_places, k,
			(struct rama_diag_sizes_all){ .calls = t->daos_calls[k],
						      .bytes = t->daos_bytes[k],
						      .time = k ? io.read_time : io.write_time });
		struct rama_diag_sizes_part small = rama_diag_sizes_small(&s);

		t->daos_small[k] = fmin(small.count, t->daos_calls[k]);
		t->daos_lost += rama_diag_sizes_lost(&small, rate_of(f, k));
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

/* files beyond the room for records share one of them; ranks share the record, not the files */
static void count_parts(struct rama_diag_file_parts *t)
{
	t->count = t->file->unopened ? 0 : 1;
	t->users = t->file->ranks;
	if (!t->file->folded)
		return;
	t->count = t->file->count;
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
	t->size = fmax(rama_diag_count_of(stream, RAMA_TAB_STDIO_MAX_BYTE_READ),
		       rama_diag_count_of(stream, RAMA_TAB_STDIO_MAX_BYTE_WRITTEN));
	if (t->size > 0 && !t->file->folded)
		t->excess[1] = fmax(0, rama_diag_count_of(stream, RAMA_TAB_STDIO_BYTES_READ) -
					       t->size - 1);
	t->stdio_lost = fmax(0, rama_diag_time_of(stream, RAMA_TAB_STDIO_F_READ_TIME) +
					rama_diag_time_of(stream, RAMA_TAB_STDIO_F_WRITE_TIME) -
					rama_diag_count_of(stream, RAMA_TAB_STDIO_BYTES_READ) /
						rate_of(f, 1) -
					rama_diag_count_of(stream, RAMA_TAB_STDIO_BYTES_WRITTEN) /
						rate_of(f, 0));
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
	most = fmax(most, rama_diag_time_of(t->file->rec[RAMA_JOB_LAYER_POSIX],
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
	if (t->file->rows[RAMA_JOB_LAYER_POSIX] > 1 || t->file->ranks <= 1 ||
	    t->file->cover[RAMA_JOB_LAYER_POSIX] <= 1)
		return t->file->rows[RAMA_JOB_LAYER_POSIX];
	return v->active_ranks > 0 ? (double)v->active_ranks : 0;
}

/* Packing tiny files together saves their opens; not those of one that is opened, asked for or
 * used again and again, or that all ranks open, which is told elsewhere */
static double tiny_time_of(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double opens = rama_diag_count_of(w, RAMA_TAB_POSIX_OPENS),
	       stats = rama_diag_count_of(w, RAMA_TAB_POSIX_STATS) +
		       rama_diag_count_of(own, RAMA_TAB_EXTRA_STATS);
	double calls =
		rama_diag_count_of(w, RAMA_TAB_POSIX_READS) +
		rama_diag_count_of(w, RAMA_TAB_POSIX_WRITES) +
		rama_diag_count_of(t->file->rec[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_READS) +
		rama_diag_count_of(t->file->rec[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_WRITES);
	double time = t->disk_time;

	if (!t->tiny || calls > f->limits.tiny_accesses * t->users * fmax(1, t->count) ||
	    (t->users >= f->limits.same_path_ranks &&
	     rama_diag_time_of(w, RAMA_TAB_POSIX_F_META_TIME) >=
		     f->limits.same_path_time * t->users))
		return 0;
	if (stats >= f->limits.stats * fmax(1, opens))
		time -= t->stat_time;
	if (opens >= f->limits.reopens * t->users * fmax(1, t->count))
		time -= t->open_time;
	return fmax(0, time);
}

/* A file on one target that takes longer than any on targets that are not slow */
static double slow_target_lost_of(const struct rama_diag_file_parts *t,
				  const struct rama_diag_facts *f)
{
	const struct rama_job_view_stripes *s = t->file->stripes;
	double most = fmax(f->other_target_time, f->other_target_slowest);

	if (f->known_targets == 0 || s == NULL || s->n_osts != 1 || t->disk_bytes <= 0)
		return 0;
	return fmax(0, t->disk_time - most * fmax(1, t->file->ranks));
}

#define P(c) rama_diag_count_of(w[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_##c)
#define PF(c) rama_diag_time_of(w[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_##c)
#define M(c) rama_diag_count_of(w[RAMA_JOB_LAYER_MPIIO], RAMA_TAB_MPIIO_##c)
#define MF(c) rama_diag_time_of(w[RAMA_JOB_LAYER_MPIIO], RAMA_TAB_MPIIO_##c)
#define S(c) rama_diag_count_of(w[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_##c)
#define SF(c) rama_diag_time_of(w[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_##c)
#define H(c) rama_diag_count_of(w[RAMA_JOB_LAYER_H5D], RAMA_TAB_H5D_##c)
#define F5(c) rama_diag_count_of(w[RAMA_JOB_LAYER_H5F], RAMA_TAB_H5F_##c)
#define F5F(c) rama_diag_time_of(w[RAMA_JOB_LAYER_H5F], RAMA_TAB_H5F_##c)
#define V(c) rama_diag_count_of(w[RAMA_JOB_LAYER_PNETCDF_VAR], RAMA_TAB_PNETCDF_VAR_##c)
#define N(c) rama_diag_count_of(w[RAMA_JOB_LAYER_PNETCDF_FILE], RAMA_TAB_PNETCDF_FILE_##c)
#define D(c) rama_diag_count_of(w[RAMA_JOB_LAYER_DFS], RAMA_TAB_DFS_##c)
#define DF(c) rama_diag_time_of(w[RAMA_JOB_LAYER_DFS], RAMA_TAB_DFS_##c)
#define E(c) rama_diag_count_of(w[RAMA_JOB_LAYER_EXTRA], RAMA_TAB_EXTRA_##c)
#define EF(c) rama_diag_time_of(w[RAMA_JOB_LAYER_EXTRA], RAMA_TAB_EXTRA_##c)

void rama_diag_facts_file(const struct rama_diag_facts *f, const struct rama_job_view_file *file,
			  struct rama_diag_sums *x)
{
	const union rama_core_word *const *w = file->rec;
	struct rama_diag_file_parts parts = { .file = file }, *t = &parts;

	count_parts(t);
	common_parts(t, f);
	posix_parts(t, f);
	mpiio_parts(t, f);
	rama_diag_library_file(t, f);
	rama_diag_facts_meta(t);
	daos_parts(t, f);
	place_parts(t, f->view);
	t->slowest = slowest_of(t);
	t->disk_ranks = disk_ranks_of(t, f->view);
	rama_diag_waits(t, f);
	t->tiny = !file->unopened && t->size < f->limits.tiny_file &&
		  t->disk_bytes / fmax(t->count, file->ranks) < f->limits.tiny_file;
	t->tiny_time = tiny_time_of(t, f);
	t->slow_target_lost = slow_target_lost_of(t, f);
	rama_diag_stalls(t, f);
	rama_diag_loader_file(t, f);
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
