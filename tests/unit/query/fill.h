/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h: a store with jobs that are alike in many ways: ties and unknown values of every key. */
#ifndef RAMA_TESTS_QUERY_FILL_H
#define RAMA_TESTS_QUERY_FILL_H

#include "help.h"

#define FILLED 157 /* jobs */

/* The truth about job number i, from 1. */
struct filled {
	int64_t start, end; /* ns; 0: not known */
	char name[16], user[16], command[40];
	int64_t bytes_read, bytes_written, jobid;
	double cost, figure; /* NAN: none */
	bool running, logged;
};
struct filled filled_job(unsigned i);

struct rama_store *filled_store(void);
/* statements without rows */
void run_script(struct rama_store *s, const char *sql);

#endif
