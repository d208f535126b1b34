/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.c: finds the MPI that the application uses, and keeps what its file handles stand for. */
#include <dlfcn.h>
#include <link.h>

#include "capture/attach.h"
#include "capture/mpi/mpi.h"
#include "capture/record.h"
#include "config/text.h"

struct rama_cap_mpi rama_cap_mpi = { .rank = -1 };
struct rama_cap_mpi_real rama_cap_mpi_real;

/* ---- functions ------------------------------------------------------------------------------- */

enum { BATCH = 8 };

/* paths of loaded libraries, some at a time */
struct libraries {
	char path[BATCH][256];
	unsigned n, skip;
	bool any; /* else those whose names say that they are an MPI */
};

/* dlopen must not be called in here: the caller holds locks of the loader */
static int see_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *l = arg;
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	size_t len = base ? strlen(info->dlpi_name) : 0;

	(void)size;
	if (!base || len >= sizeof(l->path[0]) || (!l->any && strncmp(base, "/libmpi", 7) != 0))
		return 0;
	if (l->skip > 0) {
		l->skip--;
		return 0;
	}
	memcpy(l->path[l->n], info->dlpi_name, len + 1);
	return ++l->n == BATCH;
}

static bool is_ours(const void *p)
{
	Dl_info it, we;

	return dladdr(p, &it) && dladdr(&rama_cap_mpi, &we) && it.dli_fbase == we.dli_fbase;
}

/* the library in which we found something: the other things are there too */
static void *home;

static void *find_in(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *p = handle ? dlsym(handle, name) : NULL;

	if (p && !is_ours(p)) {
		__atomic_store_n(&home, handle, __ATOMIC_RELEASE);
		return p; /* it stays loaded: we call it */
	}
	if (handle)
		dlclose(handle);
	return NULL;
}

/* An MPI that came with dlopen, as the modules of Python bring it, is not in sight of the
 * ordinary search. */
static void *find_in_libraries(const char *name, bool any)
{
	struct libraries l;
	void *p = NULL, *at = __atomic_load_n(&home, __ATOMIC_ACQUIRE);

	if (at)
		return dlsym(at, name);
	for (unsigned seen = 0; !p; seen += l.n) {
		l.n = 0;
		l.skip = seen;
		l.any = any;
		dl_iterate_phdr(see_library, &l);
		for (unsigned i = 0; i < l.n && !p; i++)
			p = find_in(l.path[i], name);
		if (l.n < BATCH)
			break;
	}
	return p;
}

/* `scope`: RTLD_NEXT for functions, or we find ourselves; RTLD_DEFAULT for data, which programs
 * may have a copy of */
static void *find(void *scope, const char *name)
{
	int saved = errno;
	void *p = dlsym(scope, name);

	if (!p)
		p = find_in_libraries(name, false);
	if (!p)
		dlerror(); /* not the application's */
	errno = saved;
	return p;
}

rama_cap_anyfn *rama_cap_mpi_find(const char *name)
{
	rama_cap_anyfn *f;

	*(void **)&f = find(RTLD_NEXT, name);
	return f;
}

rama_cap_anyfn *rama_cap_mpi_resolve(rama_cap_anyfn **slot, const char *name)
{
	char other[64] = "P";
	rama_cap_anyfn *f = rama_cap_mpi_find(name);

	if (!f && name[0] == 'P') {
		f = rama_cap_mpi_find(name + 1);
	} else if (!f) {
		memcpy(other + 1, name, strnlen(name, sizeof(other) - 2));
		f = rama_cap_mpi_find(other);
	}
	if (!f) /* it may be part of a module */
		*(void **)&f = find_in_libraries(name, true);
	__atomic_store_n(slot, f, __ATOMIC_RELEASE);
	return f;
}

/* ---- which MPI ------------------------------------------------------------------------------- */

#define FAMILY(id, texts_, mark_, handle_, status_, source_, tag_, ...) \
	{ .name = #id,                                                  \
	  .texts = texts_,                                              \
	  .mark = mark_,                                                \
	  .handle = handle_,                                            \
	  .status = status_,                                            \
	  .source = source_,                                            \
	  .tag = tag_,                                                  \
	  .value = { __VA_ARGS__ } },
#define HANDLE(c, v) [RAMA_CAP_MPI_C_##c] = { .number = (v) },
#define NUMBER HANDLE
#define SYMBOL(c, s) [RAMA_CAP_MPI_C_##c] = { .symbol = #s },
static const struct rama_cap_mpi_family families[] = {
#include "table/mpi_families.def"
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

typedef int abi_version(int *major, int *minor);

/* MPI 5 has one set of constants for all, which some libraries offer beside their own. */
static bool has_abi(void)
{
	abi_version *f = (abi_version *)rama_cap_mpi_find("MPI_Abi_get_version");
	int major = -1, minor = -1;

	return f && f(&major, &minor) == 0 && major > 0;
}

static bool says_one_of(const char *text, const char *words)
{
	for (; *words; words += strlen(words) + 1)
		if (strstr(text, words))
			return true;
	return false;
}

static const struct rama_cap_mpi_family *recognise(int (*version)(char *, int *))
{
	static char text[8192 + 1]; /* as much as any of them may write */
	int len = 0;

	if (has_abi())
		return &families[0];
	for (unsigned i = 1; i < FAMILIES; i++)
		if (families[i].mark && find(RTLD_DEFAULT, families[i].mark))
			return &families[i];
	if (!version || version(text, &len) != 0)
		return NULL;
	for (unsigned i = 1; i < FAMILIES; i++)
		if (says_one_of(text, families[i].texts))
			return &families[i];
	return NULL;
}

static void find_calls(struct rama_cap_mpi *m)
{
#define FN_MPI(...)
#define FN_MPI4(...)
#define FN_MPIP(...)
#define FN_MPIE(...)
#define FN_MPIW(...)
#define FN_MPIH(...)
#define FN_MPI0(name)
#define NEED(name, ...) rama_cap_mpi_resolve((rama_cap_anyfn **)&m->call.name, "PMPI_" #name);
#include RAMA_CAP_ROWS_MPI
}

static bool find_values(struct rama_cap_mpi *m, const struct rama_cap_mpi_family *f)
{
	for (unsigned i = 0; i < RAMA_CAP_MPI_C_ALL; i++) {
		m->value[i] = (rama_cap_handle)f->value[i].number;
		if (f->value[i].symbol)
			m->value[i] = (rama_cap_handle)find(RTLD_DEFAULT, f->value[i].symbol);
		if (f->value[i].symbol && !m->value[i])
			return false;
	}
	return true;
}

/* Two threads may do this at a time: they come to the same result, and the family is told last. */
bool rama_cap_mpi_begin(void)
{
	static atomic_bool unknown;
	const struct rama_cap_mpi_family *f =
		__atomic_load_n(&rama_cap_mpi.family, __ATOMIC_ACQUIRE);
	struct rama_cap_mpi *m = &rama_cap_mpi;
	int saved = errno, flag = 0;

	if (f || atomic_load_explicit(&unknown, memory_order_relaxed))
		return f != NULL;
	find_calls(m);
	f = recognise(m->call.Get_library_version);
	if (!f || !find_values(m, f) || !m->call.Comm_rank || !m->call.Comm_size ||
	    !m->call.Type_size || !m->call.Initialized) {
		atomic_store_explicit(&unknown, true, memory_order_relaxed);
		errno = saved;
		return false;
	}
	if (m->call.Initialized(&flag) == 0 && flag) { /* else the application has sessions only */
		m->call.Comm_rank(RAMA_CAP_MPI(COMM_WORLD), &m->rank);
		m->call.Comm_size(RAMA_CAP_MPI(COMM_WORLD), &m->size);
	}
	__atomic_store_n(&rama_cap_mpi.family, f, __ATOMIC_RELEASE);
	errno = saved;
	return true;
}

/* ---- after an attach ------------------------------------------------------------------------- */

static void set_rank(int64_t rank, int64_t size)
{
	rama_cap_run.id->nprocs = size;
	rama_cap_run.id->rank = rank;
}

/* The borrowed thread may hold locks of the MPI, so the MPI is not asked here. */
void rama_cap_mpi_launched(void)
{
	static const struct {
		const char *rank, *size;
	} row[] = {
#define W(rank, size, world) { rank, size },
#include "table/mpi_worlds.def"
#undef W
	};
	struct libraries l = { .any = false };

	if (rama_cap_mpi.family && rama_cap_mpi.size > 0) { /* attached before, and asked then */
		set_rank(rama_cap_mpi.rank, rama_cap_mpi.size);
		return;
	}
	dl_iterate_phdr(see_library, &l);
	for (size_t i = 0; l.n > 0 && i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text = rama_cap_variable(row[i].rank);
		int64_t size = rama_cap_mpi_number(row[i].size, 0), rank = -1;

		if (!text)
			continue;
		if (rama_config_piece_integer((struct rama_config_piece){ text, strlen(text) },
					      &rank) > 0 &&
		    rank >= 0 && rank < size)
			set_rank(rank, size);
		return;
	}
}

/* The application itself calls the MPI in this thread, and may ask it the same here. */
void rama_cap_mpi_ask(void)
{
	static uint32_t asked; /* generation, and one */
	struct rama_cap_mpi *m = &rama_cap_mpi;
	int saved = errno, begun = 0, ended = 0;

	if (__atomic_load_n(&asked, __ATOMIC_RELAXED) == rama_cap_run.generation + 1)
		return;
	if (rama_cap_mpi_begin() && m->call.Initialized(&begun) == 0 && begun &&
	    m->call.Finalized && m->call.Finalized(&ended) == 0 && !ended) {
		m->call.Comm_rank(RAMA_CAP_MPI(COMM_WORLD), &m->rank);
		m->call.Comm_size(RAMA_CAP_MPI(COMM_WORLD), &m->size);
		set_rank(m->rank, m->size);
		if (m->family->handle == 4) /* MPICH and its relatives */
			rama_cap_run.id->flags |= RAMA_SEG_KEEP_LAST;
		__atomic_store_n(&asked, rama_cap_run.generation + 1, __ATOMIC_RELAXED);
	}
	errno = saved;
}

/* ---- open files ------------------------------------------------------------------------------ */

/* Looked up by every call without a lock; changed under one. Only a program that closes a file
 * while another thread uses it can see an entry change. */
enum { FILES = 8192, NEAR = 64 }; /* an entry is at most so far from its place */
#define FREE_AGAIN ((rama_cap_handle)1)

static struct rama_cap_mpi_file files[FILES];
static uint32_t files_lock;

static unsigned place_of(rama_cap_handle fh)
{
	return (unsigned)((uint64_t)fh * 0x9e3779b97f4a7c15u >> 51);
}
_Static_assert(FILES == 1 << (64 - 51), "a place for every hash");

struct rama_cap_mpi_file *rama_cap_mpi_file_get(rama_cap_handle fh)
{
	unsigned at = place_of(fh);

	for (unsigned i = 0; i < NEAR; i++) {
		struct rama_cap_mpi_file *f = &files[(at + i) % FILES];
		rama_cap_handle is = __atomic_load_n(&f->fh, __ATOMIC_ACQUIRE);

		if (is == fh)
			return f->generation == rama_cap_run.generation ? f : NULL;
		if (is == 0)
			return NULL;
	}
	return NULL;
}

static bool add(const struct rama_cap_mpi_file *file)
{
	unsigned at = place_of(file->fh);
	struct rama_cap_mpi_file *to = NULL;

	for (unsigned i = 0; i < NEAR; i++) {
		struct rama_cap_mpi_file *f = &files[(at + i) % FILES];

		if (f->fh == file->fh) { /* its close was not seen */
			to = f;
			break;
		}
		if (!to && f->fh <= FREE_AGAIN)
			to = f;
		if (f->fh == 0)
			break;
	}
	if (!to)
		return false;
	to->record = file->record;
	to->generation = file->generation;
	to->alone = file->alone;
	to->sequential = file->sequential;
	__atomic_store_n(&to->fh, file->fh, __ATOMIC_RELEASE);
	return true;
}

bool rama_cap_mpi_file_add(struct rama_cap_thread *t, const struct rama_cap_mpi_file *file)
{
	if (file->fh <= FREE_AGAIN || !rama_cap_lock(t, &files_lock))
		return false;
	bool ok = add(file);
	rama_cap_unlock(t, &files_lock);
	return ok;
}

/* ---- files that were opened before an attach ------------------------------------------------- */

bool rama_cap_mpi_unknown(struct rama_cap_mpi_call *c, struct rama_cap_mpi_file *f)
{
	int mode = 0, saved = errno;

	if (!rama_cap_attached || !rama_cap_mpi.family || !rama_cap_mpi.call.File_get_amode ||
	    c->fh <= FREE_AGAIN || c->fh == RAMA_CAP_MPI(FILE_NULL))
		return false;
	c->unknown = true;
	*f = (struct rama_cap_mpi_file){ .fh = c->fh, .sequential = true };
	if (rama_cap_mpi.call.File_get_amode(c->fh, &mode) == 0)
		f->sequential = (mode & (int)RAMA_CAP_MPI(MODE_SEQUENTIAL)) != 0;
	errno = saved;
	return true;
}

/* The one who waits for others to write uses none, and calls with a shared position use the file of
 * that position first: they count under the common name, and the next call may know better. */
void rama_cap_mpi_find_name(struct rama_cap_mpi_call *c)
{
	struct rama_cap_mpi_file f = { .fh = c->fh, .generation = rama_cap_run.generation };
	struct rama_seg_name *n = NULL;
	struct rama_cap_visit v;
	int mode = 0;

	if (!rama_cap_enter(&v))
		return;
	if (v.t->met_in == c->nest.id && c->nest.id != 0 && c->where <= RAMA_CAP_MPI_OWN)
		n = rama_cap_name_at(v.t->met);
	if (n && rama_cap_mpi.call.File_get_amode(c->fh, &mode) == 0) {
		f.sequential = (mode & (int)RAMA_CAP_MPI(MODE_SEQUENTIAL)) != 0;
		f.record = c->record = rama_cap_mpiio_of(v.t, n);
		if (f.record && !rama_cap_mpi_file_add(v.t, &f))
			v.t->lane->missed++;
	} else {
		n = rama_cap_name(v.t, RAMA_CAP_MPI_NAMELESS, sizeof(RAMA_CAP_MPI_NAMELESS) - 1,
				  true);
		c->record = n ? rama_cap_mpiio_of(v.t, n) : NULL;
	}
	rama_cap_leave(&v);
}

void rama_cap_mpi_file_forget(struct rama_cap_thread *t, rama_cap_handle fh)
{
	struct rama_cap_mpi_file *f = rama_cap_mpi_file_get(fh);

	if (!f || !rama_cap_lock(t, &files_lock))
		return;
	/* what ends a row of entries need not be remembered as having been used */
	struct rama_cap_mpi_file *next = &files[(unsigned)(f - files + 1) % FILES];
	__atomic_store_n(&f->fh, next->fh ? FREE_AGAIN : 0, __ATOMIC_RELEASE);
	rama_cap_unlock(t, &files_lock);
}
