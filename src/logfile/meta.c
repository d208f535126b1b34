/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/meta.h"

#include <string.h>

const char *const rama_log_batch_keys[RAMA_LOG_BATCH_WORDS] = {
#define B(symbol, word, ...) "iorama_" #word "=",
#include "table/batch.def"
#undef B
};

const char *rama_log_meta_get(const char *metadata, const char *key, size_t *len)
{
	size_t n = strlen(key);

	for (const char *line = metadata; *line != '\0'; line += *line == '\n') {
		size_t all = strcspn(line, "\n");

		if (all >= n && memcmp(line, key, n) == 0) {
			*len = all - n;
			return line + n;
		}
		line += all;
	}
	return NULL;
}

void rama_log_meta_add(char *metadata, size_t room, const char *lines)
{
	size_t have = strlen(metadata);

	while (*lines != '\0') {
		size_t n = strcspn(lines, "\n");

		n += lines[n] == '\n';
		if (have + n < room) {
			memcpy(metadata + have, lines, n);
			metadata[have += n] = '\0';
		}
		lines += n;
	}
}

static void remove_line(char *value, size_t key_len, size_t len)
{
	char *line = value - key_len, *next = value + len;

	next += *next == '\n';
	memmove(line, next, strlen(next) + 1);
}

/* a line of its own, or nothing */
static void put(char *metadata, size_t room, const char *key, const char *text, size_t n)
{
	size_t have = strlen(metadata), k = strlen(key);

	if (have + k + n + 1 >= room)
		return;
	memcpy(metadata + have, key, k);
	memcpy(metadata + have + k, text, n);
	memcpy(metadata + have + k + n, "\n", 2);
}

void rama_log_meta_set(char *metadata, size_t room, const char *key, const char *text)
{
	size_t len;
	const char *value = rama_log_meta_get(metadata, key, &len);

	if (value != NULL)
		remove_line(metadata + (value - metadata), strlen(key), len);
	if (*text != '\0')
		put(metadata, room, key, text, strlen(text));
}

void rama_log_batch_join(char to[RAMA_LOG_BATCH_ROOM], const char *metadata)
{
	for (unsigned i = 0; i < RAMA_LOG_BATCH_WORDS; i++) {
		const char *key = rama_log_batch_keys[i];
		size_t n, m;
		const char *value = rama_log_meta_get(metadata, key, &n),
			   *before = rama_log_meta_get(to, key, &m);

		if (value == NULL || n == 0)
			continue;
		if (before == NULL) {
			put(to, RAMA_LOG_BATCH_ROOM, key, value, n);
		} else if (m != n || memcmp(before, value, n) != 0) {
			remove_line(to + (before - to), strlen(key), m);
			put(to, RAMA_LOG_BATCH_ROOM, key, "", 0);
		}
	}
}

void rama_log_batch_done(char to[RAMA_LOG_BATCH_ROOM])
{
	for (unsigned i = 0; i < RAMA_LOG_BATCH_WORDS; i++) {
		size_t n;
		const char *value = rama_log_meta_get(to, rama_log_batch_keys[i], &n);

		if (value != NULL && n == 0)
			rama_log_meta_set(to, RAMA_LOG_BATCH_ROOM, rama_log_batch_keys[i], "");
	}
}
