/* SPDX-License-Identifier: BSD-3-Clause */
/* told.h: who wants to hear of what happens while logs are read. Nothing in study prints. */
#ifndef RAMA_STUDY_TOLD_H
#define RAMA_STUDY_TOLD_H

/* each may be NULL; path: what it is about, as it was given */
struct rama_study_told {
	void (*problem)(void *ctx, const char *path, const char *line); /* what cannot be read */
	void (*note)(void *ctx, const char *path, const char *line);	/* what is worth knowing */
	void (*progress)(void *ctx, const char *path, double share);	/* 0 to 1 */
	void *ctx;
};

void rama_study_problem(const struct rama_study_told *t, const char *path, const char *line);

#endif
