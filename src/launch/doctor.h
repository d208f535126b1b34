/* SPDX-License-Identifier: BSD-3-Clause */
/* doctor.h: can programs be observed on this machine, and if not, why not? */
#ifndef RAMA_LAUNCH_DOCTOR_H
#define RAMA_LAUNCH_DOCTOR_H

#include <stdbool.h>

enum rama_launch_health { RAMA_LAUNCH_OK, RAMA_LAUNCH_WARN, RAMA_LAUNCH_FAIL };

struct rama_launch_check {
	const char *name;
	enum rama_launch_health health;
	const char *found; /* in words */
	const char *fix;   /* what helps if it is not OK */
};

/* All checks, one after the other. root: before every path of the machine; "": this one. library:
 * that the user named, or NULL. false: one failed. */
bool rama_launch_doctor(const char *root, const char *library,
			void (*tell)(void *ctx, const struct rama_launch_check *c), void *ctx);

/* The same for `iorama path`: how far down a call can be followed. Nothing in it is needed, so
 * nothing fails. */
void rama_launch_doctor_path(const char *root,
			     void (*tell)(void *ctx, const struct rama_launch_check *c), void *ctx);

#endif
