/* SPDX-License-Identifier: BSD-3-Clause */
/* jobid.h: the id that a batch system gave to the job, and what else it says of it, from its
 * variables (table/schedulers.def). */
#ifndef RAMA_CONFIG_JOBID_H
#define RAMA_CONFIG_JOBID_H

#include <stdbool.h>
#include <stdint.h>

#include "config/settings.h"

struct rama_config_jobid {
	int64_t id;
	const char *scheduler; /* "slurm"; "" if the variable was named by the user */
	char text[64];	       /* the id as the batch system writes it */
	char task[24];	       /* of an array of jobs, "": none */
	char step[24];	       /* of the job, "": none */
};

/* `named` is the variable that the user says holds the id (settings.jobid_variable), or "".
 * false: there is no id; the process's own takes its place then. */
bool rama_config_jobid_find(struct rama_config_jobid *job, const char *named,
			    rama_config_lookup lookup, void *ctx);

/* What the batch system says of the job, whoever named its id: "iorama_step=0\n" and so on, a line
 * for each row of table/batch.def that it tells, as many as there is room for. */
void rama_config_jobid_words(char *to, size_t room, rama_config_lookup lookup, void *ctx);

#endif
