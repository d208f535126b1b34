/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c: compares src/table/fn_mpi.def and src/table/mpi_families.def with the mpi.h it is
 * compiled with. A wrong prototype or constant does not compile; addresses of symbols are
 * compared when it runs, which needs no MPI_Init. `FAMILY_NAME` is the row of the family, e.g.
 * mpich. */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "table/map.h"

typedef uintptr_t rama_cap_handle;

/* ---- prototypes: the role of an argument gives its type in the header ------------------------ */

#define TYPE_NONE(t) t
#define TYPE_PATH(t) t
#define TYPE_FH(t) MPI_File
#define TYPE_NEWFH(t) MPI_File *
#define TYPE_COMM(t) MPI_Comm
#define TYPE_NEWCOMM(t) MPI_Comm *
#define TYPE_TYPE(t) MPI_Datatype
#define TYPE_NEWTYPE(t) MPI_Datatype *
#define TYPE_INFO(t) MPI_Info
#define TYPE_ERRHANDLER(t) MPI_Errhandler
#define TYPE_STATUS(t) MPI_Status *
#define TYPE_CSTATUS(t) const MPI_Status *
#define TYPE_REQUEST(t) MPI_Request *
#define TYPE_OFF(t) MPI_Offset
#define TYPE_OFFS(t) MPI_Offset *
#define TYPE_COUNTS(t) MPI_Count *
#define TYPE_COUNT(t) COUNT_##t
#define COUNT_int int
#define COUNT_int64_t MPI_Count

#define TYPE_(type, name, role) TYPE_##role(type)
#define TYPE(t) TYPE_ t

/* Handles may be narrower than the word that carries them; all else has its own size. */
#define IS_WORD(type) _Generic((type)0, rama_cap_handle : 1, default : 0)
#define SIZE_(type, name, role)                                                   \
	_Static_assert(sizeof(type) == sizeof(TYPE_##role(type)) ||               \
			       (IS_WORD(type) && sizeof(TYPE_##role(type)) == 4), \
		       #type " " #name " has another size");
#define SIZE(t) SIZE_ t

#define SAME(name, ...)                                                                  \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), int(__VA_ARGS__)), \
		       #name " has another prototype");
#define CHECK(name, ...)                                \
	SAME(name, RAMA_TAB_LIST(TYPE, __VA_ARGS__))    \
	SAME(P##name, RAMA_TAB_LIST(TYPE, __VA_ARGS__)) \
	RAMA_TAB_EACH(SIZE, __VA_ARGS__)

#define FN_MPI(name, op, how, where, ...) CHECK(name, __VA_ARGS__)
#if MPI_VERSION >= 4
#define FN_MPI4 FN_MPI
#else
#define FN_MPI4(...)
#endif
#define FN_MPIP CHECK
#define FN_MPIE CHECK
#define FN_MPIW CHECK
#define FN_MPIH CHECK
#define FN_MPI0(name) SAME(name, void) SAME(P##name, void)
#define NEED(name, ...) CHECK(MPI_##name, __VA_ARGS__)
#include "table/fn_mpi.def"

/* how many there are; a row that is there twice does not compile */
enum {
#undef FN_MPI
#undef FN_MPI4
#undef FN_MPIP
#undef FN_MPIE
#undef FN_MPIW
#undef FN_MPIH
#undef FN_MPI0
#undef NEED
#define FN_MPI(name, ...) ROW_##name,
#define FN_MPI4 FN_MPI
#define FN_MPIP FN_MPI
#define FN_MPIE FN_MPI
#define FN_MPIW FN_MPI
#define FN_MPIH FN_MPI
#define FN_MPI0(name) ROW_##name,
#define NEED(...)
#include "table/fn_mpi.def"
	ROWS
};

/* ---- constants ------------------------------------------------------------------------------- */

static int bad;

static void compare(const char *name, intptr_t is, intptr_t row)
{
	if (is == row)
		return;
	printf("MPI_%s is %#lx, the row says %#lx\n", name, (unsigned long)is, (unsigned long)row);
	bad++;
}

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
/* only the row of our family is left */
#define FAMILY(name, ...) JOIN(PICK_, JOIN(FAMILY_NAME, _##name))(__VA_ARGS__)
#define PICK_mpich_mpich KEEP
#define PICK_openmpi_openmpi KEEP
#define PICK_abi_abi KEEP
#define PICK_mpich_openmpi DROP
#define PICK_mpich_abi DROP
#define PICK_openmpi_mpich DROP
#define PICK_openmpi_abi DROP
#define PICK_abi_mpich DROP
#define PICK_abi_openmpi DROP
#define DROP(...)
#define KEEP(texts, mark, handle, status, source, tag, ...)                                     \
	_Static_assert(sizeof(MPI_Comm) == (handle) && sizeof(MPI_Datatype) == (handle) &&      \
			       sizeof(MPI_Info) == (handle) && sizeof(MPI_Request) == (handle), \
		       "handles have another size");                                            \
	_Static_assert(sizeof(MPI_File) == sizeof(void *), "a file is no pointer");             \
	_Static_assert(sizeof(MPI_Status) == (status), "a status has another size");            \
	_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == (source), "source is elsewhere");    \
	_Static_assert(offsetof(MPI_Status, MPI_TAG) == (tag), "tag is elsewhere");             \
	recognised(texts, mark);                                                                \
	__VA_ARGS__
#define HANDLE(c, v) compare(#c, (intptr_t)MPI_##c, (v)), seen++;
#define NUMBER HANDLE
#define SYMBOL(c, s) compare(#c, (intptr_t)MPI_##c, (intptr_t)dlsym(RTLD_DEFAULT, #s)), seen++;

/* the words and the symbol by which the family is known */
static void recognised(const char *words, const char *mark)
{
	static char text[MPI_MAX_LIBRARY_VERSION_STRING + 1];
	int len, found = *words == '\0';

	MPI_Get_library_version(text, &len);
	for (; *words != '\0'; words += strlen(words) + 1)
		found |= strstr(text, words) != NULL;
	if (!found || (mark != NULL && dlsym(RTLD_DEFAULT, mark) == NULL)) {
		printf("not recognised: %.60s\n", text);
		bad++;
	}
}

int main(void)
{
	int seen = 0;

#include "table/mpi_families.def"
	printf("%d rows, %d constants, %d wrong\n", ROWS, seen, bad);
	return bad > 0 || seen == 0;
}
