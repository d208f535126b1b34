/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/mapped.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool rama_attach_mapped_read(struct rama_attach_mapped *m, char *line)
{
	unsigned long long from, end, offset;
	char rights[5] = "";
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &from, &end, rights, &offset, &at) < 4 ||
	    at == 0 || line[at] != '/' || offset != 0 || rights[3] != 'p')
		return false;
	m->from = from;
	m->end = end;
	m->path = line + at;
	m->path[strcspn(m->path, "\n")] = '\0';
	return true;
}

static bool is_gone(const char *path)
{
	static const char word[] = " (deleted)";
	size_t n = strlen(path), k = sizeof(word) - 1;

	return n > k && strcmp(path + n - k, word) == 0;
}

/* the program itself can be opened by whoever may look at the process, whatever its name is now */
static bool is_program(pid_t pid, const char *path)
{
	char exe[64], link[PATH_MAX];
	ssize_t n;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	n = readlink(exe, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = '\0';
	return strcmp(link, path) == 0;
}

void rama_attach_mapped_path(const struct rama_attach_mapped *m, pid_t pid,
			     char to[RAMA_ATTACH_MAPPED_PATH])
{
	if (!is_gone(m->path))
		snprintf(to, RAMA_ATTACH_MAPPED_PATH, "/proc/%d/root%s", (int)pid, m->path);
	else if (is_program(pid, m->path))
		snprintf(to, RAMA_ATTACH_MAPPED_PATH, "/proc/%d/exe", (int)pid);
	else
		snprintf(to, RAMA_ATTACH_MAPPED_PATH, "/proc/%d/map_files/%llx-%llx", (int)pid,
			 (unsigned long long)m->from, (unsigned long long)m->end);
}
