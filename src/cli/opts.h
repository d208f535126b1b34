/* SPDX-License-Identifier: BSD-3-Clause */
/* opts.h: a command line, parsed by the rows of table/commands.def. */
#ifndef RAMA_CLI_OPTS_H
#define RAMA_CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/commands.h"
#include "table/settings.h"

struct rama_cli_opts {
	enum rama_tab_command_id command;
	struct {
		int option; /* enum rama_tab_option_id */
		const char *value;
	} * given;
	size_t n_given;
	const char **args;
	size_t n_args;
};

/* Prints and exits by itself on --help and on wrong usage (status 2). */
void rama_cli_opts_parse(struct rama_cli_opts *o, enum rama_tab_command_id command, int argc,
			 char **argv);
void rama_cli_opts_fini(struct rama_cli_opts *o);

bool rama_cli_opts_has(const struct rama_cli_opts *o, enum rama_tab_option_id option);
/* value of the last one given, or NULL */
const char *rama_cli_opts_value(const struct rama_cli_opts *o, enum rama_tab_option_id option);
/* values one after the other: start with *at = 0; NULL at the end */
const char *rama_cli_opts_next(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			       size_t *at);

/* A whole number from least on, up to most (INT64_MAX: no bound); otherwise: the option is not
 * given. What is no such number ends the program. */
int64_t rama_cli_opts_number(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			     int64_t least, int64_t most, int64_t otherwise);

/* The time that an option names, ns since 1970: 7d is that long ago. false: it is not given; what
 * is no time ends the program. */
bool rama_cli_opts_moment(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			  int64_t *ns);

/* value of an environment variable, or what holds without it */
const char *rama_cli_opts_setting(enum rama_tab_setting_id setting);

/* one line on standard error and exit status 2 */
void rama_cli_opts_usage(const struct rama_cli_opts *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

#endif
