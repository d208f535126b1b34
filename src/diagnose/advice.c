/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.c: chooses and fills in the rows of table/advice.def. */
#include "diagnose/advice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/human.h"
#include "table/map.h"

/* ---- what is filled in ----------------------------------------------------------------------- */
/* What the placeholders of advice stand for in a job, and which interfaces its
 * files are used by. Every number is brought into a range in which code with it makes sense: the
 * log may say anything. */

#define KIB 1024
#define MIB (1024 * 1024)
#define GIB (1024 * MIB)

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
	return x < least ? least : x > most ? most : x;
}

/* of two counts, which may be anything */
static int64_t sum(int64_t a, int64_t b)
{
	return clamp(a, 0, 1LL << 50) + clamp(b, 0, 1LL << 50);
}

/* the file that a finding is about, or the one that took most time; NULL: the job has none */
static const struct rama_job_view_file *advice_file(const struct rama_job_view *v,
						    const struct rama_diag_finding *fd)
{
	const struct rama_job_view_file *most = NULL;

	for (size_t i = 0; fd != NULL && i < fd->n_culprits; i++) {
		const struct rama_diag_culprit *c = &fd->culprits[i];

		if ((strcmp(c->kind, "file") == 0 || strcmp(c->kind, "dataset") == 0) &&
		    c->index >= 0 && (uint64_t)c->index < v->n_files)
			return &v->files[c->index];
	}
	for (size_t i = 0; i < v->n_files; i++) {
		const struct rama_job_view_file *f = &v->files[i];

		if (!f->pseudo &&
		    (most == NULL || rama_job_io_time(&f->io) > rama_job_io_time(&most->io)))
			most = f;
	}
	return most;
}

/* ---- interfaces ---- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcasecmp(s + n - k, end) == 0;
}

static bool has(const struct rama_job_view_file *f, enum rama_job_layer layer)
{
	return f->rec[layer] != NULL;
}

/* netCDF-4 files are HDF5 files; what tells them apart is what people call them */
static bool named_netcdf(const char *name)
{
	return ends_with(name, ".nc") || ends_with(name, ".nc4") || ends_with(name, ".cdf");
}

static bool named_hdf5(const char *name)
{
	return ends_with(name, ".h5") || ends_with(name, ".hdf5") || ends_with(name, ".he5");
}

/* Which library the program calls for the file: its records tell, or, since many logs have none,
 * its name */
static unsigned library_fits(const struct rama_job_view_file *f)
{
	bool hdf5 = has(f, RAMA_JOB_LAYER_H5D) || has(f, RAMA_JOB_LAYER_H5F);
	bool mpi = has(f, RAMA_JOB_LAYER_MPIIO) ||
		   (has(f, RAMA_JOB_LAYER_H5F) &&
		    f->rec[RAMA_JOB_LAYER_H5F][RAMA_TAB_H5F_USE_MPIIO].i > 0);
	unsigned netcdf = RAMA_DIAG_FIT_NETCDF | (mpi ? RAMA_DIAG_FIT_NETCDF_MPI : 0);

	if (has(f, RAMA_JOB_LAYER_PNETCDF_VAR) || has(f, RAMA_JOB_LAYER_PNETCDF_FILE))
		return RAMA_DIAG_FIT_PNETCDF;
	if (named_netcdf(f->name))
		return hdf5 || !mpi ? netcdf : netcdf | RAMA_DIAG_FIT_PNETCDF;
	if (hdf5 || named_hdf5(f->name))
		return RAMA_DIAG_FIT_HDF5 | (mpi ? RAMA_DIAG_FIT_HDF5_MPI : 0);
	return 0;
}

/* what the program itself calls is the highest layer; the rest is beneath it */
static unsigned file_fits(const struct rama_job_view_file *f)
{
	unsigned fits = f->stripes != NULL ? RAMA_DIAG_FIT_LUSTRE : 0, library = library_fits(f);

	if (has(f, RAMA_JOB_LAYER_MPIIO))
		fits |= RAMA_DIAG_FIT_ROMIO;
	if (library != 0)
		return fits | library;
	if (has(f, RAMA_JOB_LAYER_MPIIO))
		return fits | RAMA_DIAG_FIT_MPIIO;
	if (has(f, RAMA_JOB_LAYER_DFS) || has(f, RAMA_JOB_LAYER_DAOS))
		return fits | RAMA_DIAG_FIT_DAOS;
	if (has(f, RAMA_JOB_LAYER_STDIO))
		fits |= RAMA_DIAG_FIT_STDIO;
	if (has(f, RAMA_JOB_LAYER_POSIX) || has(f, RAMA_JOB_LAYER_EXTRA))
		fits |= RAMA_DIAG_FIT_POSIX;
	return fits;
}

unsigned rama_diag_advice_fits(const struct rama_job_view *v, const struct rama_job_view_file *file)
{
	unsigned fits = RAMA_DIAG_FIT_ANY;

	if (v->nprocs > 1 && !v->processes)
		fits |= RAMA_DIAG_FIT_PARALLEL;
	if (strncmp(v->name, "python", 6) == 0 || strstr(v->exe, ".py ") != NULL ||
	    ends_with(v->exe, ".py"))
		fits |= RAMA_DIAG_FIT_PYTHON;
	if (file != NULL)
		fits |= file_fits(file);
	if (file == NULL || file->io.bytes_written > 0 || file->disk.bytes_written > 0)
		fits |= RAMA_DIAG_FIT_WRITES;
	if ((fits & RAMA_DIAG_FIT_POSIX) != 0 && v->nprocs > 1 && !v->processes)
		fits |= RAMA_DIAG_FIT_RANKS;
	return fits;
}

/* ---- sizes ---- */

/* the most frequent size in the highest layer that knows one, else the mean */
static int64_t usual_block(const struct rama_job_view_file *f)
{
	static const struct {
		enum rama_job_layer layer;
		unsigned word;
	} place[] = { { RAMA_JOB_LAYER_MPIIO, RAMA_TAB_MPIIO_ACCESS1_ACCESS },
		      { RAMA_JOB_LAYER_H5D, RAMA_TAB_H5D_ACCESS1_ACCESS },
		      { RAMA_JOB_LAYER_POSIX, RAMA_TAB_POSIX_ACCESS1_ACCESS } };
	int64_t calls = sum(f->io.reads, f->io.writes);

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		if (f->rec[place[i].layer] != NULL && f->rec[place[i].layer][place[i].word].i > 0)
			return f->rec[place[i].layer][place[i].word].i;
	return calls > 0 ? sum(f->io.bytes_read, f->io.bytes_written) / calls : 0;
}

/* a target for each GiB, at least 4, at most 64 and no more than there are ranks */
static int64_t good_stripes(const struct rama_job_view *v, int64_t bytes)
{
	int64_t n = clamp(bytes / GIB, 4, 64);

	return v->nprocs > 1 ? clamp(n, 1, v->nprocs) : n;
}

/* what Lustre takes are multiples of 64 KiB; larger stripes for large files and large accesses */
static int64_t good_stripe_size(const struct rama_job_view_file *f, int64_t block, int64_t bytes)
{
	int64_t size = bytes > 10LL * GIB ? 4 * MIB : MIB;

	if (f != NULL && f->stripes != NULL && f->stripes->stripe_size >= MIB)
		size = f->stripes->stripe_size;
	if (block > size)
		size = block;
	return clamp(size, MIB, 16 * MIB) / (64 * KIB) * (64 * KIB);
}

static void size_values(union rama_diag_advice_value *at, const struct rama_job_view *v,
			const struct rama_job_view_file *f)
{
	int64_t bytes = f != NULL ? sum(f->io.bytes_read, f->io.bytes_written) : 0;
	int64_t block = f != NULL ? clamp(usual_block(f), 1, GIB) : 1;
	int64_t align = f != NULL && f->rec[RAMA_JOB_LAYER_POSIX] != NULL
				? f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_FILE_ALIGNMENT].i
				: 0;
	int64_t stripe = good_stripe_size(f, block, bytes);

	at[RAMA_DIAG_VALUE_bytes].number = bytes;
	at[RAMA_DIAG_VALUE_block].number = block;
	at[RAMA_DIAG_VALUE_stripe_size].number = stripe;
	at[RAMA_DIAG_VALUE_transfer].number = clamp(4 * stripe, 4 * MIB, 16 * MIB);
	/* powers of two only: others are no alignments */
	at[RAMA_DIAG_VALUE_alignment].number =
		align >= 512 && align <= MIB && (align & (align - 1)) == 0 ? align : 4096;
	at[RAMA_DIAG_VALUE_now_count].number =
		f != NULL && f->stripes != NULL ? clamp(f->stripes->stripe_count, 0, 1 << 20) : 0;
	at[RAMA_DIAG_VALUE_stripe_count].number = good_stripes(v, bytes);
	at[RAMA_DIAG_VALUE_chunk].number = clamp(block / 8, 8 * KIB, 512 * KIB);
}

/* one per node, or where nodes are not known as many as there will be stripes */
static int64_t good_aggregators(const struct rama_job_view *v, int64_t stripes)
{
	int64_t n = v->nodes > 0 ? v->nodes : stripes;

	return clamp(n, 1, v->nprocs > 1 ? clamp(v->nprocs, 1, 1 << 20) : 1);
}

/* ---- names ---- */

void rama_diag_advice_command(const struct rama_job_view *v, char *to, size_t room)
{
	const char *exe = v->exe[strspn(v->exe, " \t\n")] != '\0' ? v->exe : "./app";

	if (v->command != NULL)
		snprintf(to, room, "%s", v->command);
	else if (v->nprocs > 1 && !v->processes)
		snprintf(to, room, "mpirun -n %lld %s", (long long)v->nprocs, exe);
	else
		snprintf(to, room, "%s", exe);
}

/* the words before the program, where the log has them */
static void put_launcher(const struct rama_job_view *v, char *to, size_t room)
{
	size_t all = v->command != NULL ? strlen(v->command) : 0, exe = strlen(v->exe);

	if (all > exe + 1 && exe > 0 && strcmp(v->command + all - exe, v->exe) == 0)
		snprintf(to, room, "%.*s", (int)(all - exe - 1), v->command);
	else
		snprintf(to, room, "mpirun -n %lld", (long long)clamp(v->nprocs, 1, 1 << 30));
}

static void name_values(union rama_diag_advice_value *at, const struct rama_job_view *v,
			const struct rama_job_view_file *f, struct rama_diag_advice_values *to)
{
	const char *name = f != NULL && f->named ? f->name : "output.dat",
		   *slash = strrchr(name, '/');
	size_t n = slash != NULL ? (size_t)(slash - name) : 0, program = strcspn(v->exe, " \t\n");

	at[RAMA_DIAG_VALUE_file].text = name;
	at[RAMA_DIAG_VALUE_log].text = v->n_logs > 0 ? v->logs[0] : "LOG";
	snprintf(to->dir, sizeof(to->dir), "%.*s",
		 (int)(n < sizeof(to->dir) ? n : sizeof(to->dir) - 1), name);
	at[RAMA_DIAG_VALUE_dir].text = slash == NULL ? "." : slash == name ? "/" : to->dir;
	snprintf(to->program, sizeof(to->program), "%.*s",
		 (int)(program < sizeof(to->program) ? program : sizeof(to->program) - 1), v->exe);
	at[RAMA_DIAG_VALUE_program].text = program > 0 ? to->program : "./app";
	rama_diag_advice_command(v, to->command, sizeof(to->command));
	put_launcher(v, to->launcher, sizeof(to->launcher));
	at[RAMA_DIAG_VALUE_launcher].text = to->launcher;
	at[RAMA_DIAG_VALUE_command].text = to->command;
}

static int64_t culprit_number(const struct rama_diag_finding *fd, const char *kind)
{
	for (size_t i = 0; fd != NULL && i < fd->n_culprits; i++)
		if (strcmp(fd->culprits[i].kind, kind) == 0)
			return clamp(fd->culprits[i].index, 0, INT32_MAX);
	return 0;
}

void rama_diag_advice_values_of(struct rama_diag_advice_values *to, const struct rama_job_view *v,
				const struct rama_job_view_file *file,
				const struct rama_diag_finding *fd)
{
	union rama_diag_advice_value *at = to->at;

	name_values(at, v, file, to);
	size_values(at, v, file);
	at[RAMA_DIAG_VALUE_ranks].number = clamp(v->nprocs, 1, 1 << 30);
	at[RAMA_DIAG_VALUE_aggregators].number =
		good_aggregators(v, at[RAMA_DIAG_VALUE_stripe_count].number);
	at[RAMA_DIAG_VALUE_ost].number = culprit_number(fd, "ost");
	at[RAMA_DIAG_VALUE_rank].number = culprit_number(fd, "rank");
	at[RAMA_DIAG_VALUE_files].number = clamp((int64_t)v->n_real, 0, 1LL << 40);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* templates, embedded by cmake/snippets.cmake */
#define SNIPPET(symbol, ...) extern const char rama_diag_snippet_text_##symbol[];
#include "table/advice.def"

#define FIT_BIT(when) | RAMA_DIAG_FIT_##when
#define FIT(...) (0 RAMA_TAB_EACH(FIT_BIT, __VA_ARGS__))

const struct rama_diag_snippet_info rama_diag_snippet_info[RAMA_DIAG_SNIPPETS] = {
	[RAMA_DIAG_SNIPPET_none] = { "none", "", RAMA_DIAG_LANGUAGE_C, 0, "\n" },
#define SNIPPET(symbol, language, fits, title)                                                \
	[RAMA_DIAG_SNIPPET_##symbol] = { #symbol, title, RAMA_DIAG_LANGUAGE_##language, fits, \
					 rama_diag_snippet_text_##symbol },
#include "table/advice.def"
};

const struct rama_diag_advice_value_info rama_diag_advice_value_info[RAMA_DIAG_VALUES] = {
#define VALUE(name, kind, doc) { #name, doc, RAMA_DIAG_KIND_##kind },
#include "table/advice.def"
};

#define SNIPPET_ID(symbol) RAMA_DIAG_SNIPPET_##symbol
const struct rama_diag_advice rama_diag_advices[] = {
#define ADVICE(id, text, ...) { #id, text, { RAMA_TAB_LIST(SNIPPET_ID, __VA_ARGS__) } },
#include "table/advice.def"
};
const unsigned rama_diag_n_advices = sizeof(rama_diag_advices) / sizeof(rama_diag_advices[0]);

const struct rama_diag_advice *rama_diag_advice_find(const char *id)
{
	for (unsigned i = 0; i < rama_diag_n_advices; i++)
		if (strcmp(rama_diag_advices[i].id, id) == 0)
			return &rama_diag_advices[i];
	return NULL;
}

/* ---- filling in ---- */

static int placeholder(const char *name, size_t n)
{
	for (int i = 0; i < RAMA_DIAG_VALUES; i++)
		if (strlen(rama_diag_advice_value_info[i].name) == n &&
		    memcmp(rama_diag_advice_value_info[i].name, name, n) == 0)
			return i;
	return -1;
}

static void put_words(struct rama_out *o, enum rama_diag_advice_kind kind,
		      const union rama_diag_advice_value *value)
{
	char text[256], number[RAMA_HUMAN];

	switch (kind) {
	/* whoever prints it takes care of what terminals and pages must not get */
	case RAMA_DIAG_KIND_PATH:
	case RAMA_DIAG_KIND_WORDS:
	case RAMA_DIAG_KIND_TEXT:
		rama_out_text(o, rama_job_view_short_name(value->text, 48, text, sizeof(text)));
		break;
	case RAMA_DIAG_KIND_BYTES:
		rama_out_text(o, rama_human_bytes(number, (double)value->number));
		break;
	case RAMA_DIAG_KIND_COUNT:
		rama_out_text(o, rama_human_count(number, value->number));
		break;
	}
}

/* Where words of a command line end is not in a log: at spaces */
static void put_command(struct rama_out *o, const char *text)
{
	char word[4096];

	for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
		size_t n = strcspn(text, " "), kept = n < sizeof(word) ? n : sizeof(word) - 1;

		memcpy(word, text, kept);
		word[kept] = '\0';
		rama_diag_shell_word(o, word);
		text += n;
		if (*text != '\0')
			rama_out_char(o, ' ');
	}
}

static void put_value(struct rama_out *o, int id, enum rama_diag_language language,
		      const struct rama_diag_advice_values *values)
{
	enum rama_diag_advice_kind kind = rama_diag_advice_value_info[id].kind;

	if (language == RAMA_DIAG_LANGUAGES)
		put_words(o, kind, &values->at[id]);
	else if (kind == RAMA_DIAG_KIND_WORDS)
		put_command(o, values->at[id].text);
	else if (kind == RAMA_DIAG_KIND_TEXT || kind == RAMA_DIAG_KIND_PATH)
		rama_diag_literal(o, language, values->at[id].text);
	else
		rama_out_i64(o, values->at[id].number);
}

void rama_diag_advice_fill(struct rama_out *o, const char *text, enum rama_diag_language language,
			   const struct rama_diag_advice_values *values)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "{"), word = 0;
		int id = -1;

		rama_out_bytes(o, text, n);
		text += n;
		if (*text == '\0')
			break;
		while (islower((unsigned char)text[1 + word]) || text[1 + word] == '_')
			word++;
		if (text[1 + word] == '}')
			id = placeholder(text + 1, word);
		if (id < 0) {
			rama_out_char(o, *text++);
			continue;
		}
		put_value(o, id, language, values);
		text += word + 2;
	}
}

static const char *filled(struct rama_arena *a, const char *text, enum rama_diag_language language,
			  const struct rama_diag_advice_values *values)
{
	struct rama_out o;
	const char *copy = NULL;

	rama_out_init(&o, NULL, NULL);
	rama_diag_advice_fill(&o, text, language, values);
	if (o.error == 0)
		copy = rama_arena_text(a, o.buf != NULL ? o.buf : "", o.used);
	rama_out_fini(&o);
	return copy;
}

/* ---- choosing ---- */

/* Python for programs in Python, the others for others; what a shell does suits all */
static bool suits(const struct rama_diag_snippet_info *s, unsigned fits)
{
	bool python = s->language == RAMA_DIAG_LANGUAGE_PYTHON;

	if ((s->fits & fits & ~(unsigned)RAMA_DIAG_FIT_WRITES) == 0)
		return false;
	if ((s->fits & RAMA_DIAG_FIT_WRITES) != 0 && (fits & RAMA_DIAG_FIT_WRITES) == 0)
		return false;
	return s->language == RAMA_DIAG_LANGUAGE_SHELL ||
	       python == ((fits & RAMA_DIAG_FIT_PYTHON) != 0);
}

static int choose_snippets(struct rama_arena *a, struct rama_diag_finding *fd,
			   const struct rama_diag_advice *advice,
			   const struct rama_diag_advice_values *values, unsigned fits)
{
	struct rama_diag_snippet *list =
		rama_arena_alloc(a, RAMA_DIAG_SNIPPETS_SHOWN * sizeof(*list));
	size_t n = 0;

	if (list == NULL)
		return RAMA_EMEMORY;
	for (const enum rama_diag_snippet_id *id = advice->snippets;
	     *id != RAMA_DIAG_SNIPPET_none && n < RAMA_DIAG_SNIPPETS_SHOWN; id++) {
		const struct rama_diag_snippet_info *s = &rama_diag_snippet_info[*id];

		if (!suits(s, fits))
			continue;
		list[n].language = rama_diag_language_name[s->language];
		list[n].title = s->title;
		/* the first line of a template is its licence */
		list[n].text = filled(a, strchr(s->text, '\n') + 1, s->language, values);
		if (list[n++].text == NULL)
			return RAMA_EMEMORY;
	}
	fd->snippets = list;
	fd->n_snippets = n;
	return 0;
}

#define ADVICE_MOST 2048 /* bytes of an advice about processes instead of ranks */

/* an earlier finding that already says so, about the same file */
static const struct rama_diag_finding *said_before(const struct rama_diag *d,
						   const struct rama_diag_finding *fd)
{
	for (const struct rama_diag_finding *p = d->findings; p < fd; p++)
		if (p->level != RAMA_DIAG_LEVEL_OK && p->advice != NULL && p->advised_by == NULL &&
		    strcmp(p->advice, fd->advice) == 0)
			return p;
	return NULL;
}

/* ---- does it fit the place? ---- */

/* advice that lets ranks join their requests */
static bool joins(const char *advice)
{
	static const char *const list[] = { "collective_write", "collective_read", "use_mpiio",
					    "hdf5_collective", "pnetcdf_collective" };

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(list[i], advice) == 0)
			return true;
	return false;
}

static bool on_local_disk(const struct rama_job_view *v, const struct rama_job_view_file *f)
{
	static const char *const local[] = { "ext2", "ext3", "ext4",  "xfs",	 "btrfs",
					     "zfs",  "f2fs", "tmpfs", "overlay", "jfs" };
	const char *type = f != NULL && f->mount >= 0 ? v->mounts[f->mount].type : "";

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (strcmp(local[i], type) == 0)
			return true;
	return false;
}

/* Requests that ranks join go to fewer nodes and servers. On one node, or a disk of its own, there
 * is nothing to save but calls: that is said, with what would prove it, and believed less. */
static int say_place(struct rama_diag *d, struct rama_diag_finding *fd,
		     const struct rama_job_view *v, const struct rama_job_view_file *file,
		     const struct rama_diag_advice_values *values)
{
	struct rama_out o;

	if (v->nodes != 1 && !on_local_disk(v, file))
		return 0;
	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "%s On %s it may save little: `", fd->advice,
		     v->nodes == 1 ? "one node" : "a local disk");
	put_command(&o, values->at[RAMA_DIAG_VALUE_launcher].text);
	rama_out_text(&o, " iorama emulate try ");
	rama_diag_literal(&o, RAMA_DIAG_LANGUAGE_SHELL, values->at[RAMA_DIAG_VALUE_log].text);
	rama_out_text(&o, " --set mpiio_type=collective` measures what it gives there.");
	fd->advice = o.error == 0 ? rama_arena_text(&d->arena, o.buf, o.used) : NULL;
	rama_out_fini(&o);
	fd->confidence = RAMA_DIAG_CONFIDENCE_LOW;
	return fd->advice != NULL ? 0 : RAMA_EMEMORY;
}

/* what suits programs without MPI, where it is something else */
static const struct rama_diag_advice *advice_for(const struct rama_job_view *v, const char *id)
{
	const struct rama_diag_advice *advice = NULL;
	bool mpi = (v->nprocs > 1 && !v->processes) || v->layer[RAMA_JOB_LAYER_MPIIO].used ||
		   v->layer[RAMA_JOB_LAYER_PNETCDF_FILE].used;
	char plain[64];

	if (!mpi && snprintf(plain, sizeof(plain), "%s_plain", id) < (int)sizeof(plain))
		advice = rama_diag_advice_find(plain);
	return advice != NULL ? advice : rama_diag_advice_find(id);
}

/* ---- which trial shows whether it helps? ---- */

static bool tries(const struct rama_diag_advice *a, const char *set)
{
	for (unsigned i = 0; a != NULL && a->snippets[i] != RAMA_DIAG_SNIPPET_none; i++)
		if (strstr(rama_diag_snippet_info[a->snippets[i]].text, set) != NULL)
			return true;
	return false;
}

bool rama_diag_advice_tries(const char *rule, const char *name, size_t n)
{
	const struct rama_diag_rule *r = rama_diag_rule_find(rule);
	char plain[64], set[64];

	if (r == NULL || r->advice == NULL ||
	    snprintf(set, sizeof(set), " --set %.*s=", (int)n, name) >= (int)sizeof(set))
		return false;
	snprintf(plain, sizeof(plain), "%s_plain", r->advice);
	return tries(rama_diag_advice_find(r->advice), set) ||
	       tries(rama_diag_advice_find(plain), set) ||
	       (joins(r->advice) && strcmp(set, " --set mpiio_type=") == 0);
}

/* ---- does it fit the program? ---- */

struct known {
	const char *name, *rules, *advice;
	bool file; /* `name` is how a file ends that lies beside the one of the finding */
};

static const struct known known[] = {
#define PROGRAM(name, rules, advice) { name, rules, advice, false },
#define LIBRARY(end, rules, advice) { end, rules, advice, true },
#include "table/programs.def"
};

/* the program that used the file, or the job's own */
static const char *program_of(const struct rama_job_view *v, const struct rama_job_view_file *f)
{
	int64_t rank = f->ranks <= 1 ? f->rank : f->slow_rank;

	if (rank >= 0 && rank < v->nprocs && v->ranks != NULL && v->ranks[rank].program != NULL)
		return v->ranks[rank].program;
	return v->name;
}

/* is it such a file, or is there one of the same name with that end? */
static bool has_beside(const struct rama_job_view *v, const struct rama_job_view_file *f,
		       const char *end)
{
	size_t n = strlen(f->name), k = strlen(end);

	if (ends_with(f->name, end))
		return true;
	for (size_t i = 0; i < v->n_files; i++)
		if (strlen(v->files[i].name) == n + k &&
		    memcmp(v->files[i].name, f->name, n) == 0 &&
		    strcmp(v->files[i].name + n, end) == 0)
			return true;
	return false;
}

static const char *program_advice(const struct rama_diag_finding *fd, const struct rama_job_view *v,
				  const struct rama_job_view_file *file)
{
	for (size_t i = 0; file != NULL && i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(known[i].rules, fd->rule->id) != NULL &&
		    (known[i].file ? has_beside(v, file, known[i].name)
				   : strcmp(program_of(v, file), known[i].name) == 0))
			return known[i].advice;
	return NULL;
}

static int advise_one(struct rama_diag *d, struct rama_diag_finding *fd,
		      const struct rama_job_view *v)
{
	const struct rama_diag_advice *advice = advice_for(v, fd->rule->advice);
	const struct rama_job_view_file *file = advice_file(v, fd);
	struct rama_diag_advice_values values;
	char said[ADVICE_MOST];

	if (advice == NULL)
		return 0;
	fd->advice = program_advice(fd, v, file);
	if (fd->advice != NULL) {
		fd->advised_by = said_before(d, fd);
		return 0;
	}
	rama_diag_advice_values_of(&values, v, file, fd);
	fd->advice = filled(&d->arena, rama_job_view_say(v, advice->text, said, sizeof(said)),
			    RAMA_DIAG_LANGUAGES, &values);
	if (fd->advice == NULL || (joins(advice->id) && say_place(d, fd, v, file, &values) != 0))
		return RAMA_EMEMORY;
	fd->advised_by = said_before(d, fd);
	if (fd->advised_by != NULL)
		return 0;
	return choose_snippets(&d->arena, fd, advice, &values, rama_diag_advice_fits(v, file));
}

int rama_diag_advise(struct rama_diag *d, const struct rama_job_view *v)
{
	for (size_t i = 0; i < d->n_findings; i++) {
		struct rama_diag_finding *fd = &d->findings[i];

		if (fd->level != RAMA_DIAG_LEVEL_OK && fd->rule->advice != NULL &&
		    advise_one(d, fd, v) != 0)
			return RAMA_EMEMORY;
	}
	return 0;
}
