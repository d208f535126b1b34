/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf.h: PnetCDF without its header. The rows are in table/fn_pnetcdf.def.
 *
 *   pnetcdf.c       its functions; which record an open file or one of its variables stands for
 *   wrap/pnetcdf.c  reads, writes and calls on open files, and the door through which all calls go
 *   hand_pnetcdf.c  the other calls
 *
 * The library is asked about files and variables outside of rama_cap_enter(): it may do I/O
 * then, which counts. */
#ifndef RAMA_CAPTURE_PNETCDF_H
#define RAMA_CAPTURE_PNETCDF_H

#include "capture/mpi/mpi.h"
#include "capture/record.h"
#include "core/pnetcdf.h"

#pragma GCC visibility push(hidden)

/* ---- open files and their variables ---------------------------------------------------------- */

/* One of either. Variable ids are numbers within a file, so both are needed to find one. */
struct rama_cap_nc_entry {
	uint64_t key;	     /* 0: never used; 1: free again */
	void *record;	     /* struct rama_core_pnetcdf_file or rama_core_pnetcdf_var */
	uint32_t generation; /* segment that the record is in */
	uint32_t next; /* place + 1 of another variable of the file; of a file: of the first one */
	/* of variables */
	struct rama_core_pnetcdf_shape shape;
	int32_t unlimited; /* id of the dimension that grows; -1: there is none */
};

/* NULL: not observed. The entry is the caller's until the file is closed. */
struct rama_cap_nc_entry *rama_cap_nc_file_get(int ncid);
struct rama_cap_nc_entry *rama_cap_nc_var_get(int ncid, int varid);
/* NULL: there is no room */
struct rama_cap_nc_entry *rama_cap_nc_file_add(struct rama_cap_thread *t, int ncid, void *record);
struct rama_cap_nc_entry *rama_cap_nc_var_add(struct rama_cap_thread *t, int ncid, int varid,
					      const struct rama_cap_nc_entry *var);
/* the file and all its variables */
void rama_cap_nc_file_forget(struct rama_cap_thread *t, int ncid);

/* ---- what the library says ------------------------------------------------------------------- */

#define RAMA_CAP_NC_NAME 1024 /* more than any name has */

/* shape and unlimited of a variable; false: it cannot be told */
bool rama_cap_nc_ask_shape(int ncid, int varid, struct rama_cap_nc_entry *var);
int64_t rama_cap_nc_ask_records(int ncid, int dim); /* how long it is by now */
bool rama_cap_nc_ask_name(int ncid, int varid, char name[RAMA_CAP_NC_NAME]);
void rama_cap_nc_ask_bytes(int ncid, int64_t *got, int64_t *put); /* -1: not known */

/* ---- the door: before the real call and after it --------------------------------------------- */

/* small, as there are so many wrappers that fill it */
struct rama_cap_nc_call {
	uint16_t fn;
	uint8_t kind, how, form; /* RAMA_TAB_OP_, RAMA_CORE_NC_, RAMA_CORE_NC_ */
	bool on;		 /* we are awake */
	int ncid, varid;
	/* which values; as the form has it */
	int parts;
	const int64_t *edges, *stride;
	int64_t *const *lists; /* edges of each part */
	rama_cap_handle type;  /* of VARD */
	struct rama_cap_span span;
	uintptr_t cfa; /* RAMA_CAP_CFA of the wrapper */
};

/* false: another of our PnetCDF wrappers is at work in this thread. Then the call is part of
 * that one: pass it on and do nothing else. */
bool rama_cap_nc_enter(struct rama_cap_nc_call *c);
void rama_cap_nc_leave(void);
void rama_cap_nc_begin_again(struct rama_cap_nc_call *c); /* its time is counted from now on */
/* rama_cap_enter and rama_cap_leave, for something that belongs to the call at work */
bool rama_cap_nc_visit(struct rama_cap_visit *v);
void rama_cap_nc_unvisit(struct rama_cap_visit *v);
/* the operation that has just ended */
struct rama_core_op rama_cap_nc_op(const struct rama_cap_nc_call *c, bool ok);
/* Looks at a variable, takes its shape down and records `op` if it is an OPEN. name NULL: it is
 * asked for. NULL: not observed. */
struct rama_cap_nc_entry *rama_cap_nc_var_meet(const struct rama_cap_nc_call *c,
					       struct rama_core_op *op, const char *name);

/* ---- the real functions of the rows ---------------------------------------------------------- */

/* never NULL: where the library lacks a function, one that only says that it failed */
rama_cap_anyfn *rama_cap_nc_resolve(rama_cap_anyfn **slot, const char *name);

struct rama_cap_nc_real {
#define NEED(name, ...) int (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__));
#define FN_NC(name, op, how, form, ...) NEED(name, __VA_ARGS__)
#define FN_NCF(name, op, how, ...) NEED(name, __VA_ARGS__)
#define FN_NCH NEED
#include RAMA_CAP_ROWS_PNETCDF
#undef NEED
#undef FN_NC
#undef FN_NCF
#undef FN_NCH
};
extern struct rama_cap_nc_real rama_cap_nc_real;

#define RAMA_CAP_NC_REAL(name)                                                       \
	__extension__({                                                              \
		__typeof__(rama_cap_nc_real.name) f_ =                               \
			__atomic_load_n(&rama_cap_nc_real.name, __ATOMIC_ACQUIRE);   \
		__builtin_expect(f_ != NULL, 1)                                      \
			? f_                                                         \
			: (__typeof__(f_))rama_cap_nc_resolve(                       \
				  (rama_cap_anyfn **)&rama_cap_nc_real.name, #name); \
	})

#pragma GCC visibility pop
#endif
