/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_emuconfig.c: a file of parameters of `iorama emulate`. Whatever was accepted can be asked
 * for as what it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/config.h"
#include "fuzz.h"

static void check_list(const struct rama_emu_config *c, enum rama_emu_param p)
{
	size_t n = rama_emu_config_items(c, p);
	const char *text = NULL;

	for (size_t i = 0; i < n && i < 100; i++) {
		size_t len = rama_emu_config_item(c, p, i, &text);

		CHECK(len == 0 || memchr(text, ':', len) == NULL);
		if (rama_emu_param_info[p].kind != RAMA_EMU_KIND_LIST)
			CHECK(rama_emu_config_item_size(c, p, i, 7) >= 0);
	}
	CHECK(rama_emu_config_item(c, p, n, &text) == 0);
}

static void check_value(const struct rama_emu_config *c, enum rama_emu_param p)
{
	switch (rama_emu_param_info[p].kind) {
	case RAMA_EMU_KIND_FLAG:
		rama_emu_config_flag(c, p);
		break;
	case RAMA_EMU_KIND_SIZE:
	case RAMA_EMU_KIND_COUNT:
		CHECK(rama_emu_config_size(c, p) >= 0);
		break;
	case RAMA_EMU_KIND_SECONDS:
	case RAMA_EMU_KIND_RATIO:
		CHECK(isfinite(rama_emu_config_number(c, p)) && rama_emu_config_number(c, p) >= 0);
		break;
	case RAMA_EMU_KIND_LIST:
	case RAMA_EMU_KIND_SIZES:
	case RAMA_EMU_KIND_COUNTS:
		check_list(c, p);
		break;
	default:
		CHECK(rama_emu_config_text(c, p) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1); /* its own block: reading beyond the end is seen */
	struct rama_err e = { 0 };
	struct rama_emu_config c;

	CHECK(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	rama_emu_config_init(&c);
	c.mode = "app";
	if (rama_emu_config_read(&c, text, size, "file", &e) != 0)
		CHECK(e.code < 0 && e.text[0] != '\0');
	else
		CHECK(rama_emu_config_check(&c, &e) == 0);
	for (int p = 0; p < RAMA_EMU_PARAMS; p++)
		check_value(&c, (enum rama_emu_param)p);
	rama_emu_config_fini(&c);
	free(text);
	return 0;
}
