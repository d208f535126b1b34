/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.h: functions inside of a program that is attached are observed by a jump at their
 * beginning. x86-64 only. */
#ifndef RAMA_ATTACH_PROBE_H
#define RAMA_ATTACH_PROBE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/code/probe.h"

struct rama_attach_probe_done {
	char function[RAMA_PROBE_NAME];
	unsigned threads; /* that stood still */
	double stood;	  /* seconds */
	uint64_t calls, ns, unmatched;
};

/* "FUNCTION[:read|write][:fd=N][:handle=N][:off=N][:len=N][:begin=N|:end=N]" */
int rama_attach_probe_parse(const char *text, struct rama_probe_ask *ask, struct rama_err *e);
/* rows of table/probes.def for a program, up to `room` of them: how many */
size_t rama_attach_probe_rows(const char *program, struct rama_probe_ask *to, size_t room);

/* The function is observed from now on. RAMA_EUSAGE: it cannot be, and is as it was. */
int rama_attach_probe_arm(pid_t pid, const struct rama_probe_ask *ask, unsigned patience,
			  struct rama_attach_probe_done *done, struct rama_err *e);
/* All that are armed are as they were; how many, or an error. done: room for RAMA_PROBES, or
 * NULL */
int rama_attach_probe_disarm(pid_t pid, struct rama_attach_probe_done *done, struct rama_err *e);

#endif
