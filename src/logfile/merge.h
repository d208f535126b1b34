/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.h: several logs of one job become one. */
#ifndef RAMA_LOGFILE_MERGE_H
#define RAMA_LOGFILE_MERGE_H

#include "logfile/cursor.h"
#include "logfile/log.h"
#include "logfile/meta.h"
#include "logfile/writer.h"

struct rama_log_merge_input {
	struct rama_log *log;
	const char *path;   /* for messages */
	int64_t first_rank; /* added to the ranks of this log; with `images` set by the caller */
	void *user;	    /* the caller's */
	double shift;	    /* seconds added to its times */
	int64_t process;    /* with `images`: whose log it is */
};

struct rama_log_merge {
	struct rama_log_merge_input *in; /* in the order in which records are written */
	size_t n_in;
	bool renumber;	/* else ranks are taken as they are, and must not collide */
	bool reduce;	/* files of every rank become one record */
	bool single;	/* also if there is only one rank, as in a parallel job of one */
	bool keep_last; /* modes, alignments and the like of the highest rank, not of the lowest */
	/* Logs of the programs that each process ran one after the other: ranks are right as
	 * they are, inputs with the same `process` follow each other and become one. They know
	 * when they ended. */
	bool images;
	/* told now and then where the walk is; NULL: nobody wants to know */
	void (*progress)(const struct rama_log_merge_input *in, const struct rama_log_cursor *c);
	/* set by rama_log_merge_plan */
	struct rama_log_job job;
	int64_t nprocs;
	char batch[RAMA_LOG_BATCH_ROOM]; /* what the batch system says of all of them */
};

/* Sorts the inputs, gives ranks and time shifts, makes the job: ranks that collide are an error. */
int rama_log_merge_plan(struct rama_log_merge *m, struct rama_err *e);
/* Writes all of it but the header (rama_log_writer_finish() is the caller's). *partial: its
 * flags. */
int rama_log_merge_write(struct rama_log_merge *m, struct rama_log_writer *w, uint64_t *partial,
			 struct rama_err *e);

/* merge_module.c */
int rama_log_merge_module(struct rama_log_merge *m, struct rama_log_writer *w,
			  const struct rama_tab_module *mod, struct rama_err *e);

#endif
