/* SPDX-License-Identifier: BSD-3-Clause */
/* import_json.c: a line of JSON: ours, or a message of the connector. */
#include <errno.h>
#include <stdlib.h>

#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif

#include "base/json.h"
#include "base/without.h"
#include "index/import_stream.h"

#ifdef RAMA_WITHOUT_JANSSON
int rama_index_import_json(struct rama_index_import *im, const char *line, size_t n,
			   struct rama_index_import_bad *bad)
{
	(void)line, (void)n, (void)bad;
	return rama_err_without(im->e, "a reader of JSON (jansson)");
}
#else

/* ---- what the JSON reader would refuse, made acceptable -------------------------------------- */

/* Letters inside quotes: bytes that are not UTF-8 and control characters, which the connector
 * sends as they are. Returns how many were read. */
static size_t clean_letter(const unsigned char *s, size_t n, char **to)
{
	size_t len = rama_utf8_length(s, n);

	if (len == 0) {
		memcpy(*to, "\xef\xbf\xbd", 3);
		*to += 3;
		return 1;
	}
	if (s[0] < 0x20) {
		memcpy(*to, "\\u00", 4);
		(*to)[4] = (char)('0' + (s[0] >> 4));
		(*to)[5] = "0123456789abcdef"[s[0] & 15];
		*to += 6;
		return 1;
	}
	if (s[0] == '\\' && n > 1 && s[1] < 0x80 && s[1] >= 0x20)
		len = 2;
	memcpy(*to, s, len);
	*to += len;
	return len;
}

/* A number: whole ones that may not fit 63 bits go into quotes. */
static size_t clean_number(const unsigned char *s, size_t n, char **to)
{
	size_t len = 0, digits = 0;
	bool whole = true;

	for (; len < n && (strchr("+-.eE", s[len]) != NULL || (s[len] >= '0' && s[len] <= '9')) &&
	       s[len] != '\0';
	     len++) {
		digits += s[len] >= '0' && s[len] <= '9';
		whole = whole && s[len] != '.' && s[len] != 'e' && s[len] != 'E';
	}
	if (whole && digits >= 19)
		*(*to)++ = '"';
	memcpy(*to, s, len);
	*to += len;
	if (whole && digits >= 19)
		*(*to)++ = '"';
	return len;
}

/* *length: of what is in im->clean then */
static int clean(struct rama_index_import *im, const char *line, size_t n, size_t *length)
{
	const unsigned char *s = (const unsigned char *)line;
	bool quoted = false;
	char *to;

	if (im->clean_room < 6 * n + 16) {
		free(im->clean);
		im->clean_room = 6 * n + 16;
		if ((im->clean = malloc(im->clean_room)) == NULL) {
			im->clean_room = 0;
			return rama_err_set(im->e, RAMA_EMEMORY, "%s: no memory to import it",
					    im->src->name);
		}
	}
	to = im->clean;
	for (size_t i = 0; i < n;) {
		if (s[i] == '"') {
			quoted = !quoted;
			*to++ = (char)s[i++];
		} else if (quoted) {
			i += clean_letter(s + i, n - i, &to);
		} else if (s[i] == '-' || (s[i] >= '0' && s[i] <= '9')) {
			i += clean_number(s + i, n - i, &to);
		} else {
			*to++ = (char)s[i++];
		}
	}
	*length = (size_t)(to - im->clean);
	return 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* An object whose fields are asked for; `wrong` is the first that is not as it must be. */
struct fields {
	const json_t *object;
	const char *wrong;
};

static void complain(struct fields *f, const char *key)
{
	if (f->wrong == NULL)
		f->wrong = key;
}

static const char *get_text(struct fields *f, const char *key, bool needed)
{
	const json_t *v = json_object_get(f->object, key);

	if (json_is_string(v))
		return json_string_value(v);
	if (needed || (v != NULL && !json_is_null(v)))
		complain(f, key);
	return NULL;
}

/* whole numbers, also those in quotes; negative ones of unsigned fields are what a signed reader
 * made of them */
static bool number_of(const json_t *v, int64_t *to)
{
	const char *s = json_string_value(v);
	char *end;

	if (json_is_integer(v)) {
		*to = json_integer_value(v);
		return true;
	}
	if (s == NULL || s[0] == '\0' || strchr("-0123456789", s[0]) == NULL)
		return false;
	errno = 0;
	*to = s[0] == '-' ? strtoll(s, &end, 10) : (int64_t)strtoull(s, &end, 10);
	return errno == 0 && *end == '\0';
}

static int64_t get_i64(struct fields *f, const char *key, bool needed, int64_t otherwise)
{
	const json_t *v = json_object_get(f->object, key);
	int64_t n = otherwise;

	if ((v == NULL && needed) || (v != NULL && !number_of(v, &n)))
		complain(f, key);
	return n;
}

static uint32_t get_u32(struct fields *f, const char *key)
{
	int64_t v = get_i64(f, key, true, 0);

	if (v < 0 || v > UINT32_MAX)
		complain(f, key);
	return (uint32_t)v;
}

static int64_t get_seconds(struct fields *f, const char *key)
{
	const json_t *v = json_object_get(f->object, key);
	int64_t ns = 0;

	if (!json_is_number(v) || !rama_index_import_seconds(json_number_value(v), &ns))
		complain(f, key);
	return ns;
}

/* why a line is bad, from the field that is wrong */
static int is_bad(struct rama_index_import_bad *bad, const char *key)
{
	snprintf(bad->why, sizeof(bad->why), "'%.32s' is missing or wrong", key);
	return 1;
}

/* ---- the connector's ------------------------------------------------------------------------- */

/* "N/A": not told here */
static const char *told(const char *text)
{
	return text == NULL || strcmp(text, "N/A") == 0 ? NULL : text;
}

static void get_seg(struct fields *f, struct rama_index_import_event *x)
{
	x->ev.end = get_seconds(f, "timestamp");
	x->ev.dur = get_seconds(f, "dur");
	x->ev.off = get_i64(f, "off", false, -1);
	x->ev.bytes = get_i64(f, "len", false, -1);
	x->ev.failed = get_i64(f, "failed", false, 0) != 0;
	rama_index_import_places(x);
}

static void get_common(struct fields *f, struct rama_index_import_event *x)
{
	const char *module = get_text(f, "module", true), *op = get_text(f, "op", true);

	x->host = get_text(f, "ProducerName", false);
	x->exe = told(get_text(f, "exe", false));
	x->path = told(get_text(f, "file", false));
	x->path_len = x->path != NULL ? strlen(x->path) : 0;
	x->uid = get_i64(f, "uid", false, 0);
	x->jobid = get_i64(f, "job_id", false, 0);
	x->rank = get_i64(f, "rank", false, 0);
	x->lost = (uint64_t)get_i64(f, "lost", false, 0);
	x->ev.record = (uint64_t)get_i64(f, "record_id", true, 0);
	if (module == NULL || op == NULL || !rama_index_import_what(&x->what, module, op, ""))
		complain(f, "module");
	if (x->path != NULL && x->path_len > RAMA_WIRE_MSG_TEXT)
		complain(f, "file");
}

/* All of its accesses or none. */
static int connector(struct rama_index_import *im, const json_t *object,
		     struct rama_index_import_bad *bad)
{
	struct rama_index_import_event x = { 0 };
	struct fields f = { .object = object };
	const json_t *seg = json_object_get(object, "seg");
	int rc = 0;

	get_common(&f, &x);
	if (!json_is_array(seg) || json_array_size(seg) == 0 ||
	    json_array_size(seg) > RAMA_INDEX_IMPORT_SEGS)
		complain(&f, "seg");
	for (size_t i = 0; f.wrong == NULL && i < json_array_size(seg); i++) {
		struct rama_index_import_event one = x;

		f.object = json_array_get(seg, i);
		get_seg(&f, &one);
	}
	if (f.wrong != NULL)
		return is_bad(bad, f.wrong);
	for (size_t i = 0; rc == 0 && i < json_array_size(seg); i++) {
		f.object = json_array_get(seg, i);
		get_seg(&f, &x);
		rc = rama_index_import_event(im, &x, bad);
	}
	return rc;
}

/* ---- ours ------------------------------------------------------------------------------------ */

static int own_event(struct rama_index_import *im, struct fields *f,
		     struct rama_index_import_bad *bad)
{
	const char *segment = get_text(f, "segment", true), *layer = get_text(f, "layer", true),
		   *op = get_text(f, "op", true);
	const char *fn = get_text(f, "fn", true), *hex = get_text(f, "file_bytes", false);
	const json_t *failed = json_object_get(f->object, "failed");
	struct rama_index_import_event x = { .has_seq = true };
	struct rama_wire_segment_key k;
	char *bytes = NULL;
	int rc;

	x.segment = &k;
	x.job = get_text(f, "job", true);
	x.host = get_text(f, "host", false);
	x.rank = get_i64(f, "rank", true, 0);
	x.lane = get_u32(f, "lane");
	x.tid = get_u32(f, "tid");
	x.seq = (uint64_t)get_i64(f, "seq", true, 0);
	x.lost = (uint64_t)get_i64(f, "lost", true, 0);
	x.ev.record = (uint64_t)get_i64(f, "record", true, 0);
	x.ev.end = get_i64(f, "end_ns", true, 0);
	x.ev.dur = get_i64(f, "dur_ns", true, 0);
	x.ev.off = get_i64(f, "off", true, 0);
	x.ev.bytes = get_i64(f, "len", true, 0);
	x.ev.call = get_u32(f, "call");
	x.ev.parent = get_u32(f, "parent");
	x.ev.failed = json_is_true(failed);
	x.path = get_text(f, "file", false);
	if (!json_is_boolean(failed))
		complain(f, "failed");
	if (segment == NULL || !rama_index_import_segment(segment, &k))
		complain(f, "segment");
	if (layer == NULL || op == NULL || fn == NULL ||
	    !rama_index_import_what(&x.what, layer, op, fn))
		complain(f, "layer");
	if (hex != NULL && (bytes = rama_index_import_unhex(hex, &x.path_len)) == NULL)
		complain(f, "file_bytes");
	if (x.job != NULL)
		x.uid = strtoll(x.job, NULL, 10);
	if (bytes != NULL)
		x.path = bytes;
	x.path_len = x.path != NULL ? strlen(x.path) : 0;
	rc = f->wrong != NULL ? is_bad(bad, f->wrong) : rama_index_import_event(im, &x, bad);
	free(bytes);
	return rc;
}

/* A message that is one line; what its own writer would not send is bad. */
static int whole_message(struct rama_index_import *im, const struct fields *f,
			 const struct rama_wire_message *m, struct rama_index_import_bad *bad)
{
	struct rama_wire_bytes bytes = { 0 };
	int rc = f->wrong == NULL ? rama_wire_message_encode(m, &bytes, NULL) : 0;

	rama_wire_bytes_fini(&bytes);
	if (f->wrong != NULL || rc == RAMA_EUSAGE || rc == RAMA_ELIMIT)
		return is_bad(bad, f->wrong != NULL ? f->wrong : "job");
	return rc < 0 ? rc : rama_index_import_message(im, m);
}

static uint32_t state_of(const char *name)
{
	static const char *const names[] = { "", "running", "ended", "replaced", "killed" };

	for (uint32_t k = RAMA_WIRE_STATE_RUNNING; name != NULL && k <= RAMA_WIRE_STATE_KILLED; k++)
		if (strcmp(names[k], name) == 0)
			return k;
	return 0;
}

static int own_process(struct rama_index_import *im, struct fields *f,
		       struct rama_index_import_bad *bad)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS };
	struct rama_wire_msg_process *p = &m.process;
	const char *segment = get_text(f, "segment", true);
	int rc;

	p->job = get_text(f, "job", true);
	p->version = (uint64_t)get_i64(f, "version", true, 0);
	p->state = state_of(get_text(f, "state", true));
	p->user = get_text(f, "user", true);
	p->host = get_text(f, "host", true);
	p->exe = get_text(f, "exe", true);
	p->command = get_text(f, "command", true);
	p->tag = get_text(f, "tag", true);
	p->uid = get_i64(f, "uid", true, 0);
	p->jobid = get_i64(f, "jobid", true, 0);
	p->pid = get_i64(f, "pid", true, 0);
	p->rank = get_i64(f, "rank", true, 0);
	p->nprocs = get_i64(f, "nprocs", true, 0);
	p->start = get_i64(f, "start_ns", true, 0);
	p->end = get_i64(f, "end_ns", true, 0);
	p->seen_at = get_i64(f, "seen_ns", true, 0);
	p->made = (uint64_t)get_i64(f, "made", true, 0);
	p->dropped = (uint64_t)get_i64(f, "dropped", true, 0);
	p->missed = (uint64_t)get_i64(f, "missed", true, 0);
	p->lanes = get_u32(f, "lanes");
	if (segment == NULL || !rama_index_import_segment(segment, &p->segment))
		complain(f, "segment");
	rc = whole_message(im, f, &m, bad);
	return rc == 0 ? rama_index_import_told(im, &p->segment) : rc;
}

static int own_loss(struct rama_index_import *im, struct fields *f,
		    struct rama_index_import_bad *bad)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_LOSS };

	m.loss.agent = get_text(f, "agent", true);
	m.loss.number = (uint64_t)get_i64(f, "number", true, 0);
	m.loss.job = get_text(f, "job", true);
	m.loss.why = get_text(f, "why", true);
	m.loss.events = (uint64_t)get_i64(f, "events", true, 0);
	m.loss.messages = (uint64_t)get_i64(f, "messages", true, 0);
	return whole_message(im, f, &m, bad);
}

static int own(struct rama_index_import *im, const json_t *object, const char *type,
	       struct rama_index_import_bad *bad)
{
	struct fields f = { .object = object };

	if (type != NULL && strcmp(type, "event") == 0)
		return own_event(im, &f, bad);
	if (type != NULL && strcmp(type, "process") == 0)
		return own_process(im, &f, bad);
	if (type != NULL && strcmp(type, "loss") == 0)
		return own_loss(im, &f, bad);
	return is_bad(bad, "type");
}

int rama_index_import_json(struct rama_index_import *im, const char *line, size_t n,
			   struct rama_index_import_bad *bad)
{
	json_error_t error;
	json_t *object;
	size_t length = 0;
	int rc = clean(im, line, n, &length);

	if (rc < 0)
		return rc;
	object = json_loadb(im->clean, length, JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(object)) {
		snprintf(bad->why, sizeof(bad->why), "not JSON: %.100s",
			 object == NULL ? error.text : "not an object");
		json_decref(object);
		return 1;
	}
	if (json_object_get(object, "seg") != NULL) {
		rama_index_import_identify(im, line, n);
		rc = connector(im, object, bad);
	} else {
		rc = own(im, object, json_string_value(json_object_get(object, "type")), bad);
	}
	json_decref(object);
	return rc;
}
#endif
