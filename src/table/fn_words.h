/* SPDX-License-Identifier: BSD-3-Clause */
/* fn_words.h: for who wants the names of the functions only: every word that a fn_*.def file is
 * written in ends up as FN, which the file that includes this has defined. fn_words_end.h takes
 * them back. */
#define FN_MODE FN
#define FN_HAND FN
#define FN_HAND0 FN
#define FN_FMT FN
#define FN_SCAN FN
#define FN_SCAN0 FN
#define FN_EXECL FN
#define FN_JUMP(name) FN(name, )
#define FN_ASM(name) FN(name, )
#define FN_MPI FN
#define FN_MPI4 FN
#define FN_MPIP FN
#define FN_MPIE FN
#define FN_MPIW FN
#define FN_MPIH FN
#define FN_MPI0(name) FN(name, )
#define FN_NC FN
#define FN_NCF FN
#define FN_NCH FN
#define FN_KIND(kind, name, ...) FN(name, )
#define NEED(...)
