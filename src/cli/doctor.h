/* SPDX-License-Identifier: BSD-3-Clause */
/* doctor.h: what the checks of `iorama doctor` share, and those that take more than a look. */
#ifndef RAMA_CLI_DOCTOR_H
#define RAMA_CLI_DOCTOR_H

#include "cli/opts.h"
#include "launch/find.h"
#include "launch/jobs.h"

enum rama_cli_health { RAMA_CLI_OK, RAMA_CLI_WARN, RAMA_CLI_FAIL };

struct rama_cli_doctor {
	const char *root;   /* before every path of the machine; "": this machine */
	const char *chosen; /* library the user named, or NULL */
	char library[PATH_MAX];
	char text[512]; /* what the last check found */
};

/* Runs a small program with the library and looks at the segment it leaves. */
enum rama_cli_health rama_cli_doctor_observe(struct rama_cli_doctor *d);

/* How many functions the library defines, and how many of them the C library has too. */
int rama_cli_doctor_functions(const struct rama_cli_doctor *d, size_t *ours, size_t *both,
			      struct rama_err *e);

#endif
