/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h: the parameters of a run, by the rows of table/emulate.def. All values are kept as
 * text and turned into numbers when they are asked for; whatever was accepted by
 * rama_emu_config_set() can be. */
#ifndef RAMA_EMULATE_CONFIG_H
#define RAMA_EMULATE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rama_emu_param {
#define P(symbol, ...) RAMA_EMU_P_##symbol,
#include "table/emulate.def"
#undef P
	RAMA_EMU_PARAMS
};

enum rama_emu_param_kind {
	RAMA_EMU_KIND_FLAG,
	RAMA_EMU_KIND_TEXT,
	RAMA_EMU_KIND_LIST,
	RAMA_EMU_KIND_SIZE,
	RAMA_EMU_KIND_SIZES,
	RAMA_EMU_KIND_COUNT,
	RAMA_EMU_KIND_COUNTS,
	RAMA_EMU_KIND_SECONDS,
	RAMA_EMU_KIND_RATIO,
	RAMA_EMU_KIND_CHOICE,
	RAMA_EMU_KIND_DEAD,
};

struct rama_emu_param_info {
	enum rama_emu_param_kind kind;
	const char *otherwise, *name, *arg, *modes, *doc;
};
extern const struct rama_emu_param_info rama_emu_param_info[RAMA_EMU_PARAMS];

struct rama_emu_tried; /* emulate/try.h */
struct rama_emu_config {
	const char *mode;
	char *value[RAMA_EMU_PARAMS];	/* NULL: not given */
	char *place[RAMA_EMU_PARAMS];	/* where it was given: "command line", "FILE line 3" */
	size_t *items[RAMA_EMU_PARAMS]; /* of lists: where each begins in the value */
	size_t n_items[RAMA_EMU_PARAMS];
	char **args; /* words after the mode: workflow, logs */
	size_t n_args;
	char **warnings;
	size_t n_warnings;
	/* shown while it runs, if somebody looks; of rank 0 */
	void (*progress)(void *ctx, const char *line);
	void *progress_ctx;
	/* what a trial showed, for who wants to keep it; of rank 0 */
	void (*tried)(void *ctx, const struct rama_emu_tried *t);
	void *tried_ctx;
};

void rama_emu_config_init(struct rama_emu_config *c);
void rama_emu_config_fini(struct rama_emu_config *c);
int rama_emu_config_find(const char *name, size_t n); /* - and _ are the same; -1: none */
/* Checks the value; an unknown name is an error that suggests the nearest one. `place` goes into
 * messages. */
int rama_emu_config_set(struct rama_emu_config *c, const char *name, const char *value,
			const char *place, struct rama_err *e);
/* An INI or a JSON file, which does not replace what is already given; `name` goes into
 * messages. */
int rama_emu_config_read(struct rama_emu_config *c, const char *bytes, size_t n, const char *name,
			 struct rama_err *e);
/* Are all parameters given of use in the mode? Those that are not become warnings. */
int rama_emu_config_check(struct rama_emu_config *c, struct rama_err *e);

bool rama_emu_config_given(const struct rama_emu_config *c, enum rama_emu_param p);
bool rama_emu_config_flag(const struct rama_emu_config *c, enum rama_emu_param p);
/* never NULL */
const char *rama_emu_config_text(const struct rama_emu_config *c, enum rama_emu_param p);
/* SIZE, COUNT */
int64_t rama_emu_config_size(const struct rama_emu_config *c, enum rama_emu_param p);
/* SECONDS, RATIO */
double rama_emu_config_number(const struct rama_emu_config *c, enum rama_emu_param p);
/* --bytes of a size, exactly, cut to whole bytes; false: more than any file has */
bool rama_emu_config_scale(const struct rama_emu_config *c, int64_t *size);
/* block x segments, scaled */
bool rama_emu_config_file_size(const struct rama_emu_config *c, int64_t block, int64_t segments,
			       int64_t *size);
/* Item i of a list, from 0: its length and *text, or 0 when there is none. */
size_t rama_emu_config_item(const struct rama_emu_config *c, enum rama_emu_param p, size_t i,
			    const char **text);
size_t rama_emu_config_items(const struct rama_emu_config *c, enum rama_emu_param p);
/* ... as a number; the last one holds for all that follow; `otherwise` if there are none */
int64_t rama_emu_config_item_size(const struct rama_emu_config *c, enum rama_emu_param p, size_t i,
				  int64_t otherwise);

#endif
