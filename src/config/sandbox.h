/* SPDX-License-Identifier: BSD-3-Clause */
/* sandbox.h: what a filter of system calls (seccomp) would do to one of them. */
#ifndef RAMA_CONFIG_SANDBOX_H
#define RAMA_CONFIG_SANDBOX_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whatever the arguments of the call are, the filter lets it pass or makes it fail, but never
 * ends the process, raises a signal or asks somebody else. false: it may, or that cannot be
 * told. Pure; reads `n` instructions, trusts none of them. */
bool rama_config_sandbox_spares(const struct sock_filter *filter, size_t n, uint32_t arch,
				uint32_t call);

#endif
