/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.h: MPI without its header. The rows are in table/fn_mpi.def, what differs between the MPIs
 * in table/mpi_families.def.
 *
 *   mpi.c       which MPI it is, its functions and constants; which record a file handle stands for
 *   requests.c  nonblocking and split calls that are under way
 *   meet.c, post.c, shutdown.c  how ranks find each other, speak, and make one log
 *   wrap/mpi.c  reads and writes, and the door through which all calls go
 *   hand_mpi.c  the other calls
 *
 * Each of our wrappers goes on to the next function of its own name, so that other tools that
 * sit between the application and the MPI still see every call. */
#ifndef RAMA_CAPTURE_MPI_MPI_H
#define RAMA_CAPTURE_MPI_MPI_H

#include "capture/runtime.h"
#include "core/mpiio.h"

#pragma GCC visibility push(hidden)

/* A handle as it comes and goes in a register. Families with handles of 4 bytes leave anything
 * in the upper half: use rama_cap_mpi_handle() before comparing or keeping one. */
typedef uintptr_t rama_cap_handle;

#define RAMA_CAP_MPI_CONSTANTS(X) \
	X(COMM_NULL)              \
	X(COMM_WORLD)             \
	X(COMM_SELF)              \
	X(DATATYPE_NULL)          \
	X(BYTE)                   \
	X(INFO_NULL)              \
	X(REQUEST_NULL)           \
	X(FILE_NULL)              \
	X(ERRORS_RETURN)          \
	X(STATUS_IGNORE)          \
	X(SUCCESS)                \
	X(ANY_SOURCE)             \
	X(ANY_TAG)                \
	X(MODE_CREATE)            \
	X(MODE_RDONLY)            \
	X(MODE_WRONLY)            \
	X(MODE_RDWR)              \
	X(MODE_DELETE_ON_CLOSE) X(MODE_UNIQUE_OPEN) X(MODE_EXCL) X(MODE_APPEND) X(MODE_SEQUENTIAL)

enum rama_cap_mpi_constant {
#define X(c) RAMA_CAP_MPI_C_##c,
	RAMA_CAP_MPI_CONSTANTS(X)
#undef X
		RAMA_CAP_MPI_C_ALL
};

struct rama_cap_mpi_family {
	const char *name;
	const char *texts; /* words, each with a NUL, of what the library says of itself */
	const char *mark;  /* a symbol that only this family has; NULL: none */
	uint8_t handle;	   /* bytes of a handle */
	uint8_t status, source, tag; /* bytes of a status, and where the two lie in it */
	struct {
		const char *symbol; /* its address is the value; NULL: `number` is */
		intptr_t number;
	} value[RAMA_CAP_MPI_C_ALL];
};

#define RAMA_CAP_MPI_FN(name, ...) int (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))

struct rama_cap_mpi {
	const struct rama_cap_mpi_family *family; /* NULL: there is no MPI, or one we do not know */
	int rank, size;				  /* in the world; -1, 0: not known */
	rama_cap_handle value[RAMA_CAP_MPI_C_ALL]; /* RAMA_CAP_MPI(constant) */
	/* its functions, never our wrappers; NULL: it has no such */
	struct {
#define FN_MPI(...)
#define FN_MPI4(...)
#define FN_MPIP(...)
#define FN_MPIE(...)
#define FN_MPIW(...)
#define FN_MPIH(...)
#define FN_MPI0(name)
#define NEED(name, ...) RAMA_CAP_MPI_FN(name, __VA_ARGS__);
#include RAMA_CAP_ROWS_MPI
#undef FN_MPI
#undef FN_MPI4
#undef FN_MPIP
#undef FN_MPIE
#undef FN_MPIW
#undef FN_MPIH
#undef FN_MPI0
#undef NEED
	} call;
};
extern struct rama_cap_mpi rama_cap_mpi;
#define RAMA_CAP_MPI(constant) rama_cap_mpi.value[RAMA_CAP_MPI_C_##constant]

/* After MPI_Init has succeeded: finds out which MPI it is and fills rama_cap_mpi. false: not
 * known, and rama_cap_mpi.family stays NULL. Any thread, any number of times. */
bool rama_cap_mpi_begin(void);

/* Of a process that was attached after its MPI_Init. At once: what its launcher says, if there is
 * an MPI in it; no function of the MPI is called. */
void rama_cap_mpi_launched(void);
/* In a call that the application makes of its MPI: what that says itself. */
void rama_cap_mpi_ask(void);

/* post.c: messages of our own. ctx is a struct rama_cap_mpi_post; limits are seconds. */
struct rama_cap_mpi_post {
	uintptr_t comm; /* as MPI_Comm_dup leaves it */
	struct rama_cap_mpi_letter *out;
	bool met; /* all ranks are observed and have this communicator */
};
extern struct rama_cap_mpi_post rama_cap_mpi_post; /* the one of all ranks */
double rama_cap_mpi_now(void *ctx);
int rama_cap_mpi_send(void *ctx, int64_t to, int tag, const void *buf, size_t n);
int rama_cap_mpi_recv(void *ctx, int64_t from, int tag, void **buf, size_t *n, double limit);
/* forgets what has arrived; true: all has */
bool rama_cap_mpi_collect(struct rama_cap_mpi_post *p);
bool rama_cap_mpi_wait(uintptr_t *request, double limit);
/* a number above 0 in the environment */
int64_t rama_cap_mpi_number(const char *variable, int64_t preset);

/* What we and the MPI do between these two is not the application's. */
struct rama_cap_mpi_quiet {
	uint32_t live;
	int saved_errno;
};
void rama_cap_mpi_hush(struct rama_cap_mpi_quiet *q);
void rama_cap_mpi_unhush(struct rama_cap_mpi_quiet *q);

/* meet.c: before MPI_Init, so that the other ranks know that this one is observed */
void rama_cap_mpi_arrive(void);
void rama_cap_mpi_depart(void); /* it will not meet them after all */
/* after MPI_Init, on all ranks: makes sure that they can reach each other later */
void rama_cap_mpi_meet(void);
bool rama_cap_mpi_all(bool mine); /* Is it so on all ranks? They have met, and all ask. */
/* shutdown.c: before MPI_Finalize, on all ranks: one log, where nobody else makes it */
void rama_cap_mpi_shutdown(void);

/* a function of the MPI below us; NULL: it has none of that name */
rama_cap_anyfn *rama_cap_mpi_find(const char *name);
rama_cap_anyfn *rama_cap_mpi_resolve(rama_cap_anyfn **slot, const char *name);

/* a handle in the one form in which it may be compared */
static inline rama_cap_handle rama_cap_mpi_handle(rama_cap_handle h)
{
	return rama_cap_mpi.family->handle == 4 ? (rama_cap_handle)(intptr_t)(int32_t)h : h;
}

/* a handle that lies in memory, as MPI_Comm_dup leaves it */
static inline rama_cap_handle rama_cap_mpi_load(const void *p)
{
	int32_t half;
	rama_cap_handle h;

	if (rama_cap_mpi.family->handle == 4) {
		memcpy(&half, p, sizeof(half));
		return (rama_cap_handle)(intptr_t)half;
	}
	memcpy(&h, p, sizeof(h));
	return h;
}

/* ---- open files ------------------------------------------------------------------------------ */

/* a handle of a file is a pointer in all families */
struct rama_cap_mpi_file {
	rama_cap_handle fh; /* 0: never used; 1: free again */
	struct rama_core_mpiio_file *record;
	uint32_t generation; /* segment that the record is in */
	uint8_t alone;	     /* opened by one process */
	uint8_t sequential;  /* has only a shared position */
};

/* NULL: not observed. The entry is the caller's until the file is closed. */
struct rama_cap_mpi_file *rama_cap_mpi_file_get(rama_cap_handle fh);
/* false: there is no room */
bool rama_cap_mpi_file_add(struct rama_cap_thread *t, const struct rama_cap_mpi_file *file);
void rama_cap_mpi_file_forget(struct rama_cap_thread *t, rama_cap_handle fh);

/* ---- files that were opened before an attach ------------------------------------------------- */

/* of those whose name cannot be known */
#define RAMA_CAP_MPI_NAMELESS "<MPI-FILE-OPENED-BEFORE-ATTACH>"
struct rama_cap_mpi_call;
/* Before the call: what can be known of a handle that we do not have; false: it is no matter. */
bool rama_cap_mpi_unknown(struct rama_cap_mpi_call *c, struct rama_cap_mpi_file *f);
/* After it: c->record, by the first descriptor that was used inside. */
void rama_cap_mpi_find_name(struct rama_cap_mpi_call *c);

/* ---- the door: before the real call and after it --------------------------------------------- */

enum rama_cap_mpi_where {
	RAMA_CAP_MPI_GIVEN,
	RAMA_CAP_MPI_OWN,
	RAMA_CAP_MPI_SHARED,
	RAMA_CAP_MPI_ORDERED
};

struct rama_cap_mpi_call {
	struct rama_core_op op;
	struct rama_cap_nest nest;
	uintptr_t cfa; /* RAMA_CAP_CFA of the wrapper */
	rama_cap_handle fh, type;
	const void *request; /* of a nonblocking call: where its request is */
	int64_t count;
	uint8_t where; /* enum rama_cap_mpi_where */
	bool on;       /* we are awake */
	bool unknown;  /* its file was opened before we were attached, and has no name yet */
	struct rama_cap_span span;
	struct rama_core_mpiio_file *record; /* NULL: nothing to record */
};

/* false: another of our MPI wrappers is at work in this thread. Then the call is part of that
 * one: pass it on and do nothing else. */
bool rama_cap_mpi_enter(struct rama_cap_mpi_call *c);
void rama_cap_mpi_leave(struct rama_cap_mpi_call *c);
/* one operation on c->record, if there is one; errno is kept */
void rama_cap_mpi_record(struct rama_cap_mpi_call *c);

/* ---- calls that end later: requests.c -------------------------------------------------------- */

/* After a nonblocking or split call that has begun: what is done for it from now on is its own. */
void rama_cap_mpi_request_add(const struct rama_cap_mpi_call *c);
/* The end of a split call: what it calls is part of the beginning. */
void rama_cap_mpi_split_resume(const struct rama_cap_mpi_call *c);
void rama_cap_mpi_split_end(const struct rama_cap_mpi_call *c);
/* around a call that may end some of these requests */
#define RAMA_CAP_MPI_WAITED 64
struct rama_cap_mpi_wait {
	const char *requests;
	unsigned n;
	struct {
		uint32_t place; /* in our table */
		int32_t index;	/* in the application's */
	} one[RAMA_CAP_MPI_WAITED];
};
void rama_cap_mpi_wait_begin(struct rama_cap_mpi_wait *w, const void *requests, int n);
void rama_cap_mpi_wait_end(struct rama_cap_mpi_wait *w);

/* ---- the real functions of the rows ---------------------------------------------------------- */

/* what a call returns where the MPI lacks the function: MPI_ERR_OTHER nearly everywhere */
#define RAMA_CAP_MPI_MISSING 16

struct rama_cap_mpi_real { /* two slots per row */
#define BOTH(name, ...)                     \
	RAMA_CAP_MPI_FN(name, __VA_ARGS__); \
	RAMA_CAP_MPI_FN(P##name, __VA_ARGS__);
#define FN_MPI(name, op, how, where, ...) BOTH(name, __VA_ARGS__)
#define FN_MPI4 FN_MPI
#define FN_MPIP BOTH
#define FN_MPIE BOTH
#define FN_MPIW BOTH
#define FN_MPIH BOTH
#define FN_MPI0(name)      \
	int (*name)(void); \
	int (*P##name)(void);
#define NEED(...)
#include RAMA_CAP_ROWS_MPI
#undef BOTH
#undef FN_MPI
#undef FN_MPI4
#undef FN_MPIP
#undef FN_MPIE
#undef FN_MPIW
#undef FN_MPIH
#undef FN_MPI0
#undef NEED
};
extern struct rama_cap_mpi_real rama_cap_mpi_real;

#define RAMA_CAP_MPI_REAL(name)                                                       \
	__extension__({                                                               \
		__typeof__(rama_cap_mpi_real.name) f_ =                               \
			__atomic_load_n(&rama_cap_mpi_real.name, __ATOMIC_ACQUIRE);   \
		__builtin_expect(f_ != NULL, 1)                                       \
			? f_                                                          \
			: (__typeof__(f_))rama_cap_mpi_resolve(                       \
				  (rama_cap_anyfn **)&rama_cap_mpi_real.name, #name); \
	})

/* started.c: a line for the metadata, how the job was started; NULL: not known */
const char *rama_cap_mpi_started(void);

#pragma GCC visibility pop

#endif
