/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/sink/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/siphash.h"

#define MOST (256u << 20) /* bytes of such a file, at most */

struct head {
	char magic[8];
	uint64_t check; /* of all that follows */
	struct rama_bus_text_state st;
};
static const char magic[8] = "ioramaT1";
static const struct rama_sipkey salt = { 0x696f72616d610003ull, 0x7374617465000001ull };

static uint64_t check_of(const unsigned char *b, size_t n)
{
	return rama_siphash(&salt, b + offsetof(struct head, st), n - offsetof(struct head, st));
}

static int read_all(const char *path, unsigned char **b, size_t *n, struct rama_err *e)
{
	struct stat st;
	ssize_t got = 0;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return rama_err_set(e, errno == ENOENT ? RAMA_EMISSING : RAMA_EIO, "%s: %s", path,
				    strerror(errno));
	*b = NULL;
	*n = 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST &&
	    (*b = malloc((size_t)st.st_size + 1)) != NULL)
		while (*n < (size_t)st.st_size &&
		       (got = read(fd, *b + *n, (size_t)st.st_size - *n)) > 0)
			*n += (size_t)got;
	close(fd);
	return *b != NULL ? 0 : rama_err_set(e, RAMA_ECORRUPT, "%s: is no such file", path);
}

int rama_bus_text_load(const char *path, struct rama_bus_text_state *st,
		       struct rama_bus_encoder *en, struct rama_err *e)
{
	unsigned char *b;
	struct head h;
	size_t n;
	int rc = read_all(path, &b, &n, e);

	if (rc != 0)
		return rc;
	if (n < sizeof h || memcpy(&h, b, sizeof h) == NULL ||
	    memcmp(h.magic, magic, sizeof magic) != 0 || h.check != check_of(b, n) ||
	    memchr(h.st.agent, '\0', sizeof h.st.agent) == NULL) {
		free(b);
		return rama_err_set(e, RAMA_ECORRUPT, "%s: %s", path, rama_err_text(RAMA_ECORRUPT));
	}
	rc = rama_bus_encoder_load(en, b + sizeof h, n - sizeof h, e);
	free(b);
	if (rc == 0)
		*st = h.st;
	return rc == 0 ? 0 : (e->code = RAMA_ECORRUPT);
}

/* complete, on the disk, and only then under its name */
static int replace(const char *path, const struct rama_wire_bytes *all, struct rama_err *e)
{
	char temp[4200];
	int fd, rc = 0;

	snprintf(temp, sizeof temp, "%s.new", path);
	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || rama_fd_write(fd, all->b, all->n) != 0 || fdatasync(fd) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%s: %s", temp, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (rc == 0 && rename(temp, path) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	if (rc != 0)
		unlink(temp);
	return rc;
}

int rama_bus_text_save(const char *path, const struct rama_bus_text_state *st,
		       const struct rama_bus_encoder *en, struct rama_err *e)
{
	struct head h = { .st = *st };
	size_t size = sizeof h;
	struct rama_wire_bytes all = { .b = malloc(size), .n = size, .room = size };
	int rc;

	if (all.b == NULL)
		return rama_err_no_memory(e);
	memcpy(h.magic, magic, sizeof magic);
	memcpy(all.b, &h, sizeof h);
	rc = rama_bus_encoder_save(en, &all, e);
	if (rc == 0) {
		h.check = check_of(all.b, all.n);
		memcpy(all.b, &h, sizeof h);
		rc = replace(path, &all, e);
	}
	rama_wire_bytes_fini(&all);
	return rc;
}

int rama_bus_text_options(struct rama_bus_encoder_options *to,
			  const struct rama_bus_sink_options *o,
			  const struct rama_bus_sink_spec *sp, const char *otherwise,
			  struct rama_err *e)
{
	const char *dialect = rama_bus_sink_option(sp, "dialect",
						   o->dialect != NULL ? o->dialect : otherwise),
		   *format = rama_bus_sink_option(sp, "format", "json"),
		   *events = rama_bus_sink_option(sp, "events", "known");

	memset(to, 0, sizeof *to);
	if (!rama_bus_dialect_find(dialect, &to->dialect))
		return rama_err_set(e, RAMA_EUSAGE, "dialect %s: it is json, upstream or paper",
				    dialect);
	to->csv = strcmp(format, "csv") == 0;
	if (!to->csv && strcmp(format, "json") != 0)
		return rama_err_set(e, RAMA_EUSAGE, "format=%s: it is json or csv", format);
	to->all = strcmp(events, "all") == 0;
	if (!to->all && strcmp(events, "known") != 0)
		return rama_err_set(e, RAMA_EUSAGE, "events=%s: it is known or all", events);
	return 0;
}
