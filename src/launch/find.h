/* SPDX-License-Identifier: BSD-3-Clause */
/* find.h: finds our library, the program of a command line, and what kind of file it is. */
#ifndef RAMA_LAUNCH_FIND_H
#define RAMA_LAUNCH_FIND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/code/program.h"
#include "launch/run/plan.h"

/* Path of a file that comes with the program (libiorama.so, libiorama.a, iorama-wrap.opts):
 * beside it in the build tree, or where it was installed. */
int rama_launch_find_file(const char *name, char buf[PATH_MAX], struct rama_err *e);
/* libiorama.so: `chosen`, else what IORAMA_LIB says, else as above; checked to be usable in
 * LD_PRELOAD */
int rama_launch_find_library(const char *chosen, char buf[PATH_MAX], struct rama_err *e);

/* As the shell finds a command; false: there is none */
bool rama_launch_find_program(const char *word, char buf[PATH_MAX]);

/* family of an mpirun or mpiexec, by its real name or what its file holds */
enum rama_launch_kind rama_launch_find_family(void *ctx, const char *program);

/* Can the preload reach this program? Scripts are judged by their interpreter, whose path is
 * left in buf. */
void rama_launch_find_kind(char buf[PATH_MAX], struct rama_program *kind);

/* The program of the ranks of a parallel job, as far as it can be told from the words behind its
 * launcher: the first that is one. */
void rama_launch_find_rank_program(const char *const *words, struct rama_program *kind);

/* Tells the names a shared library defines for others. 0 or an error. */
int rama_launch_elf_symbols(const char *path, void (*tell)(void *ctx, const char *name), void *ctx,
			    struct rama_err *e);

#endif
