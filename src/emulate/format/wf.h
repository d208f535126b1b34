/* SPDX-License-Identifier: BSD-3-Clause */
/* wf.h: internal to format_wf*.c */
#ifndef RAMA_EMULATE_FORMAT_WF_H
#define RAMA_EMULATE_FORMAT_WF_H

#include <stdbool.h>
#include <stddef.h>

/* lists of files that a task has; keys of our own say the same of relations that are not strict */
struct rama_emu_wf_list {
	const char *key;
	bool write, strict;
};
extern const struct rama_emu_wf_list rama_emu_wf_lists[];
extern const size_t rama_emu_n_wf_lists;

#endif
