/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/logname.h"

#include <string.h>

#include "config/text.h"
#include "core/recordid.h"

#define USER_MOST 8 /* characters */

/* a slash in it would lead to another directory */
static void put_user(struct rama_config_text *t, const struct rama_config_logname *n)
{
	char user[USER_MOST + 1];
	struct rama_config_text u;

	rama_config_text_init(&u, user, sizeof(user));
	if (n->user != NULL && n->user[0] != '\0')
		rama_config_text_str(&u, n->user);
	else
		rama_config_text_u64(&u, n->uid);
	for (char *p = user; *p != '\0'; p++)
		if (*p == '/')
			*p = '_';
	rama_config_text_put(t, user, u.len);
}

static const char *base_name(const char *exe)
{
	const char *slash = strrchr(exe, '/');

	return slash != NULL ? slash + 1 : exe;
}

/* all behind the program's name, except for the end that says whether it is complete */
static void put_numbers(struct rama_config_text *t, const struct rama_config_logname *n)
{
	const struct tm *tm = &n->start;

	rama_config_text_str(t, "_id");
	rama_config_text_i64(t, n->jobid);
	rama_config_text_str(t, "-");
	rama_config_text_i64(t, n->pid);
	rama_config_text_str(t, "_");
	rama_config_text_i64(t, tm->tm_mon + 1);
	rama_config_text_str(t, "-");
	rama_config_text_i64(t, tm->tm_mday);
	rama_config_text_str(t, "-");
	rama_config_text_i64(t, (tm->tm_hour * 60 + tm->tm_min) * 60 + tm->tm_sec);
	rama_config_text_str(t, "-");
	rama_config_text_u64(t, rama_core_record_id_level(n->host, strlen(n->host), n->end_us));
}

static size_t put_name(char *to, size_t room, const struct rama_config_logname *n, const char *end)
{
	char numbers[RAMA_CONFIG_LOGNAME_MOST];
	struct rama_config_text t, rest;
	const char *exe = base_name(n->exe);
	size_t len = strlen(exe), left;

	rama_config_text_init(&rest, numbers, sizeof(numbers));
	put_numbers(&rest, n);
	rama_config_text_str(&rest, end);
	rama_config_text_init(&t, to,
			      room < RAMA_CONFIG_LOGNAME_MOST ? room : RAMA_CONFIG_LOGNAME_MOST);
	put_user(&t, n);
	rama_config_text_str(&t, "_");
	left = t.room - 1 - t.len;
	left = left > rest.len ? left - rest.len : 0;
	rama_config_text_put(&t, exe, len < left ? len : left);
	rama_config_text_put(&t, numbers, rest.len);
	return t.len;
}

size_t rama_config_logname_partial(char *to, size_t room, const struct rama_config_logname *n)
{
	return put_name(to, room, n, ".darshan_partial");
}

size_t rama_config_logname_final(char *to, size_t room, const struct rama_config_logname *n,
				 double seconds)
{
	char end[40];
	struct rama_config_text t;

	rama_config_text_init(&t, end, sizeof(end));
	rama_config_text_str(&t, "_");
	rama_config_text_u64(&t, seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds + 1) : 1);
	rama_config_text_str(&t, ".darshan");
	return put_name(to, room, n, end);
}

size_t rama_config_logname_folder(char *to, size_t room, const char *root, const struct tm *start)
{
	struct rama_config_text t;

	if (room == 0)
		return 0;
	rama_config_text_init(&t, to, room);
	rama_config_text_str(&t, root);
	rama_config_text_str(&t, "/");
	rama_config_text_i64(&t, (int64_t)start->tm_year + 1900);
	rama_config_text_str(&t, "/");
	rama_config_text_i64(&t, start->tm_mon + 1);
	rama_config_text_str(&t, "/");
	rama_config_text_i64(&t, start->tm_mday);
	return t.cut ? 0 : t.len;
}
