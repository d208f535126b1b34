/* SPDX-License-Identifier: BSD-3-Clause */
/* fn.c: names of the functions we observe. */
#include "table/fn.h"

#define FN(name, ...) [RAMA_FN_##name] = { #name, TABLE },
#define FN_MODE FN
#define FN_HAND FN
#define FN_HAND0 FN
#define FN_FMT FN
#define FN_SCAN FN
#define FN_SCAN0 FN
#define FN_EXECL FN
#define FN_JUMP(name) FN(name, )
#define FN_ASM(name) FN(name, )

const struct rama_fn_info rama_fn_info[RAMA_FNS] = {
#define TABLE "posix"
#include "table/fn_posix.def"
#undef TABLE
#define TABLE "stdio"
#include "table/fn_stdio.def"
#undef TABLE
#define TABLE "libaio"
#include "table/fn_libaio.def"
#undef TABLE
#define TABLE "process"
#include "table/fn_process.def"
#undef TABLE
};
