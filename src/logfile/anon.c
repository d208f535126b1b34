/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/anon.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/recordid.h"
#include "logfile/meta.h"

#define SUFFIX_MAX 8 /* longer ones are part of a name */

static uint64_t hash(const struct rama_log_anon *a, const void *data, size_t n)
{
	return rama_siphash(&a->key, data, n);
}

/* names that the runtime gives itself */
static bool is_public(const char *name)
{
	static const char *const known[] = {
		"<", "heatmap:", "APMPI", "APXC", "darshan-", "PROCESS"
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(name, known[i], strlen(known[i])) == 0)
			return true;
	return *name == '\0';
}

/* ".h5" of "run/out.h5"; empty if there is none that looks like one */
static size_t suffix_of(const char *name, size_t n, const char **suffix)
{
	size_t len = 0;

	while (len < n && len <= SUFFIX_MAX && isalnum((unsigned char)name[n - 1 - len]))
		len++;
	*suffix = name + n - len - 1;
	return len > 0 && len <= SUFFIX_MAX && len + 1 < n && **suffix == '.' &&
			       name[n - len - 2] != '/'
		       ? len + 1
		       : 0;
}

size_t rama_log_anon_name(const struct rama_log_anon *a, const char *name,
			  char to[RAMA_LOG_ANON_NAME])
{
	const struct rama_log_mount *m = rama_log_mount_get(a->log, name);
	const char *inner = strchr(name, ':'), *suffix; /* dataset or variable inside a file */
	size_t file_len = inner != NULL ? (size_t)(inner - name) : strlen(name), n = 0, suffix_len;

	if (is_public(name) && strlen(name) < RAMA_LOG_ANON_NAME)
		return (size_t)snprintf(to, RAMA_LOG_ANON_NAME, "%s", name);
	if (m != NULL && m->path_len < RAMA_LOG_ANON_NAME - 80)
		n = (size_t)snprintf(to, RAMA_LOG_ANON_NAME, "%s%s", m->path,
				     m->path[m->path_len - 1] == '/' ? "" : "/");
	else if (*name == '/')
		n = (size_t)snprintf(to, RAMA_LOG_ANON_NAME, "/");
	n += (size_t)snprintf(to + n, RAMA_LOG_ANON_NAME - n, "%016llx",
			      (unsigned long long)hash(a, name, file_len));
	suffix_len = suffix_of(name, file_len, &suffix);
	memcpy(to + n, suffix, suffix_len);
	n += suffix_len;
	to[n] = '\0';
	if (inner != NULL)
		n += (size_t)snprintf(to + n, RAMA_LOG_ANON_NAME - n, ":%016llx",
				      (unsigned long long)hash(a, inner, strlen(inner)));
	return n;
}

uint64_t rama_log_anon_id(const struct rama_log_anon *a, uint64_t id)
{
	const struct rama_log_name *name = rama_log_name_get(a->log, id);
	char to[RAMA_LOG_ANON_NAME];

	if (id == 0)
		return 0;
	if (name == NULL ||
	    rama_core_record_id(name->text, name->len) != id) /* DAOS: not a hash of the name */
		return name != NULL && is_public(name->text) && name->len > 0
			       ? id
			       : hash(a, &id, sizeof(id));
	return rama_core_record_id(to, rama_log_anon_name(a, name->text, to));
}

static void hide_text(const struct rama_log_anon *a, char *text, size_t size)
{
	size_t n = strnlen(text, size);
	uint64_t h = hash(a, text, n);

	memset(text, 0, size);
	if (n > 0)
		snprintf(text, size, "host-%08llx", (unsigned long long)(h & 0xffffffff));
}

#define COMMAND_TEXT 64 /* room for a hidden command line */

static void hidden_command(const struct rama_log_anon *a, const char *command,
			   char to[COMMAND_TEXT])
{
	size_t program = strcspn(command, " ");

	snprintf(to, COMMAND_TEXT, "exe-%016llx args-%016llx",
		 (unsigned long long)hash(a, command, program),
		 (unsigned long long)hash(a, command + program, strlen(command + program)));
}

/* in place, so that a short one gets part of the hash only; a long one becomes as long as all
 * others */
static void hide_command(const struct rama_log_anon *a, struct rama_core_record *r)
{
	size_t size = 8 * r->count[0], n;
	char copy[8192], to[COMMAND_TEXT];

	if (size == 0)
		return;
	n = strnlen(r->array[0]->b, size < sizeof(copy) ? size : sizeof(copy) - 1);
	memcpy(copy, r->array[0], n);
	copy[n] = '\0';
	hidden_command(a, copy, to);
	memset(r->array[0], 0, size);
	n = strlen(to) < size ? strlen(to) : size;
	memcpy(r->array[0], to, n);
	r->count[0] = r->w[RAMA_TAB_PROCESS_COMMAND_WORDS].u = (n + 7) / 8;
}

void rama_log_anon_record(const struct rama_log_anon *a, struct rama_core_record *r)
{
	r->w[RAMA_TAB_ID].u = rama_log_anon_id(a, r->w[RAMA_TAB_ID].u);
	switch (r->mod->id) {
	case RAMA_TAB_MOD_POSIX:
		r->w[RAMA_TAB_POSIX_RENAMED_FROM].u =
			rama_log_anon_id(a, r->w[RAMA_TAB_POSIX_RENAMED_FROM].u);
		break;
	case RAMA_TAB_MOD_EXTRA:
		r->w[RAMA_TAB_EXTRA_RENAMED_FROM].u =
			rama_log_anon_id(a, r->w[RAMA_TAB_EXTRA_RENAMED_FROM].u);
		r->w[RAMA_TAB_EXTRA_STREAM].u = rama_log_anon_id(a, r->w[RAMA_TAB_EXTRA_STREAM].u);
		break;
	case RAMA_TAB_MOD_H5D:
		r->w[RAMA_TAB_H5D_FILE_REC_ID].u =
			rama_log_anon_id(a, r->w[RAMA_TAB_H5D_FILE_REC_ID].u);
		break;
	case RAMA_TAB_MOD_PNETCDF_VAR:
		r->w[RAMA_TAB_PNETCDF_VAR_FILE_REC_ID].u =
			rama_log_anon_id(a, r->w[RAMA_TAB_PNETCDF_VAR_FILE_REC_ID].u);
		break;
	case RAMA_TAB_MOD_DXT_POSIX:
	case RAMA_TAB_MOD_DXT_MPIIO:
	case RAMA_TAB_MOD_DXT_STDIO:
		hide_text(a, r->w[RAMA_TAB_DXT_HOSTNAME].b, 64);
		break;
	case RAMA_TAB_MOD_PROCESS:
		hide_text(a, r->w[RAMA_TAB_PROCESS_HOSTNAME].b, 64);
		hide_command(a, r);
		break;
	case RAMA_TAB_MOD_CALLS:
		for (uint64_t i = 0; i < r->count[0]; i++)
			r->array[0][i].u = rama_log_anon_id(a, r->array[0][i].u);
		if (r->w[RAMA_TAB_CALLS_HOST].u != 0)
			r->w[RAMA_TAB_CALLS_HOST].u =
				rama_log_anon_id(a, r->w[RAMA_TAB_CALLS_HOST].u);
		break;
	case RAMA_TAB_MOD_SITES:
		for (uint64_t i = 0; i < r->count[0]; i++)
			r->array[0][8 * i].u = rama_log_anon_id(a, r->array[0][8 * i].u);
		break;
	case RAMA_TAB_MOD_BGQ:
		r->w[RAMA_TAB_BGQ_CSJOBID].u = hash(a, &r->w[RAMA_TAB_BGQ_CSJOBID], 8) >> 33;
		break;
	case RAMA_TAB_MOD_APMPI:
		if (r->schema != r->mod->header)
			hide_text(a, r->w[RAMA_TAB_APMPI_PROCESSOR_NAME].b, 128);
		break;
	case RAMA_TAB_MOD_APXC:
		if (r->schema == r->mod->header)
			r->w[RAMA_TAB_APXC_HEADER_APPLICATION_ID].u =
				hash(a, &r->w[RAMA_TAB_APXC_HEADER_APPLICATION_ID], 8) >> 33;
		break;
	default:
		break;
	}
}

void rama_log_anon_job(const struct rama_log_anon *a, struct rama_log_job *job, char exe[64])
{
	hidden_command(a, job->exe, exe);
	job->exe = exe;
	job->uid = (int64_t)(hash(a, &job->uid, sizeof(job->uid)) >> 33);
	job->jobid = (int64_t)(hash(a, &job->jobid, sizeof(job->jobid)) >> 33);
	/* what the batch system says names people and machines, but for numbers of steps */
	for (unsigned i = 0; i < RAMA_LOG_BATCH_WORDS; i++)
		if (i != RAMA_LOG_BATCH_STEP && i != RAMA_LOG_BATCH_RESTART)
			rama_log_meta_set(job->metadata, sizeof(job->metadata),
					  rama_log_batch_keys[i], "");
}
