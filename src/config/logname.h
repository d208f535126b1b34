/* SPDX-License-Identifier: BSD-3-Clause */
/* logname.h: what the file of a log is called, as Darshan's users expect it. */
#ifndef RAMA_CONFIG_LOGNAME_H
#define RAMA_CONFIG_LOGNAME_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define RAMA_CONFIG_LOGNAME_MOST 256 /* room for any name, with its NUL */

struct rama_config_logname {
	const char *user; /* of LOGNAME; NULL or "": the number `uid` is taken */
	uint64_t uid;	  /* effective */
	const char *exe;  /* the program, with or without its directory */
	int64_t jobid, pid;
	struct tm start;  /* of the job, local time */
	const char *host; /* host and end_us make the random part */
	uint64_t end_us;  /* wall clock at the end, microseconds */
};

/* Length of the text. Names fit RAMA_CONFIG_LOGNAME_MOST; long names of programs are cut. */
size_t rama_config_logname_partial(char *to, size_t room, const struct rama_config_logname *n);
/* `seconds` is the time that writing the log took */
size_t rama_config_logname_final(char *to, size_t room, const struct rama_config_logname *n,
				 double seconds);

/* root/year/month/day; 0: it does not fit */
size_t rama_config_logname_folder(char *to, size_t room, const char *root, const struct tm *start);

#endif
