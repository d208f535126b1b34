/* SPDX-License-Identifier: BSD-3-Clause */
/* notice.h: who was told of what. A notice is of one user (or other address), one alert and one
 * period (a week), and there is never a second one: its row is made before anything is sent.
 *
 *     claim ─▶ sending ─▶ sent
 *                └──────▶ failed ─▶ (taken) sending …
 *
 * Who claims it is its owner. A notice that is only claimed, or has failed, is taken over when its
 * owner is gone; one that was being sent then may have arrived: it becomes `unsure` and is not
 * sent again. Each call is a transaction of its own. */
#ifndef RAMA_STORE_NOTICE_H
#define RAMA_STORE_NOTICE_H

#include "store/store.h"

struct rama_store_notice {
	const char *user, *alert, *channel; /* channel: mail, webhook */
	int64_t period;
};

/* 1: it is ours, with these jobs; 0: there is one already */
int rama_store_notice_claim(struct rama_store *s, const struct rama_store_notice *n,
			    const char *owner, const int64_t *jobs, size_t n_jobs, int64_t now,
			    struct rama_err *e);
/* From one state of one owner to another; 1: it was in it and is now, 0: somebody was faster. */
int rama_store_notice_move(struct rama_store *s, const struct rama_store_notice *n,
			   const char *from_owner, const char *from, const char *owner,
			   const char *state, int64_t now, struct rama_err *e);
/* Does this user want to be told? alert "*": of anything */
int rama_store_notice_off(struct rama_store *s, const char *user, const char *alert, bool off,
			  struct rama_err *e);

#endif
