/* SPDX-License-Identifier: BSD-3-Clause */
/* otf2.c: an archive of the Open Trace Format 2. A location group for each rank; a location for
 * each of its nested lanes, since events of a location have to nest; calls are regions, with the
 * records of I/O operations inside, which carry file and bytes. */
#include "base/without.h"
#include "report/export/export.h"

#ifndef RAMA_HAVE_OTF2
static int otf2(const char *dir, const struct rama_report_export *x, struct rama_err *e)
{
	(void)dir;
	(void)x;
	return rama_err_without(e, "OTF2");
}
#else
#include <errno.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK (1 << 20)

struct writer {
	const struct rama_report_export *x;
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *defs;
	uint32_t strings; /* written so far */
	uint64_t locations;
	uint64_t end; /* of the last event */
	/* of each file and layer that was traced: readers want numbers without gaps */
	uint32_t *handle;
	OTF2_ErrorCode bad; /* the first */
};

static void note(struct writer *w, OTF2_ErrorCode rc)
{
	if (w->bad == OTF2_SUCCESS)
		w->bad = rc;
}

static uint32_t string(struct writer *w, const char *text)
{
	note(w, OTF2_GlobalDefWriter_WriteString(w->defs, w->strings, text));
	return w->strings++;
}

static OTF2_FlushType before_flush(void *ctx, OTF2_FileType type, OTF2_LocationRef location,
				   void *data, bool final)
{
	(void)ctx;
	(void)type;
	(void)location;
	(void)data;
	(void) final;
	return OTF2_FLUSH;
}

/* when buffers were emptied is no event of the job */
static OTF2_TimeStamp after_flush(void *ctx, OTF2_FileType type, OTF2_LocationRef location)
{
	(void)type;
	(void)location;
	return ((const struct writer *)ctx)->end;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static uint32_t region_of(const struct rama_job_view_op *op)
{
	return 2u * op->layer + op->kind;
}

static uint32_t handle_of(const struct writer *w, const struct rama_job_view_op *op)
{
	return w->handle[(size_t)op->file * RAMA_JOB_LAYERS + op->layer];
}

static void define_layers(struct writer *w, uint32_t empty)
{
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		uint32_t name = string(w, rama_job_layer_info[l].name);
		bool mpi = l == RAMA_JOB_LAYER_MPIIO;

		note(w, OTF2_GlobalDefWriter_WriteIoParadigm(w->defs, l, name, name,
							     mpi ? OTF2_IO_PARADIGM_CLASS_PARALLEL
								 : OTF2_IO_PARADIGM_CLASS_SERIAL,
							     l == RAMA_JOB_LAYER_POSIX
								     ? OTF2_IO_PARADIGM_FLAG_OS
								     : OTF2_IO_PARADIGM_FLAG_NONE,
							     0, NULL, NULL, NULL));
		for (unsigned k = 0; k < 2; k++) {
			char text[64];

			snprintf(text, sizeof(text), "%s %s", rama_job_layer_info[l].name,
				 k == 0 ? "write" : "read");
			name = string(w, text);
			note(w, OTF2_GlobalDefWriter_WriteRegion(
					w->defs, 2 * l + k, name, name, empty,
					OTF2_REGION_ROLE_FILE_IO,
					mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_UNKNOWN,
					OTF2_REGION_FLAG_NONE, empty, 0, 0));
		}
	}
}

static void define_handle(struct writer *w, uint32_t number, uint32_t file, unsigned layer,
			  uint32_t empty)
{
	note(w, OTF2_GlobalDefWriter_WriteIoHandle(w->defs, number, empty, file, layer,
						   OTF2_IO_HANDLE_FLAG_PRE_CREATED,
						   OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE));
	note(w, OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
			w->defs, number, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE));
}

/* files that were traced, and a handle for each layer in which they were */
static void define_files(struct writer *w, uint32_t empty)
{
	const struct rama_job_view *v = w->x->view;
	uint32_t files = 0, handles = 0;

	for (uint32_t f = 0; f < v->n_files && w->bad == OTF2_SUCCESS; f++) {
		bool defined = false;

		for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
			if (v->files[f].traced[l] == NULL)
				continue;
			if (!defined)
				note(w, OTF2_GlobalDefWriter_WriteIoRegularFile(
						w->defs, files++, string(w, v->files[f].name), 0));
			defined = true;
			define_handle(w, handles, files - 1, l, empty);
			w->handle[(size_t)f * RAMA_JOB_LAYERS + l] = handles++;
		}
	}
}

/* node 0 is the job's machine, its children are the hosts */
static void define_nodes(struct writer *w)
{
	const struct rama_job_view *v = w->x->view;
	uint32_t machine = string(w, "machine"), node = string(w, "node");

	note(w, OTF2_GlobalDefWriter_WriteSystemTreeNode(w->defs, 0, string(w, v->name), machine,
							 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (uint32_t i = 0; i < v->n_hosts; i++)
		note(w, OTF2_GlobalDefWriter_WriteSystemTreeNode(w->defs, i + 1,
								 string(w, v->hosts[i]), node, 0));
}

static void define_clock(struct writer *w)
{
	uint64_t start = w->x->view->start_sec > 0 ? (uint64_t)w->x->view->start_sec : 0;

	note(w, OTF2_GlobalDefWriter_WriteClockProperties(w->defs, 1000000000, 0, w->end + 1,
							  start * 1000000000));
}

/* ---- events ---------------------------------------------------------------------------------- */

static void operation_end(OTF2_EvtWriter *to, struct writer *w,
			  const struct rama_report_export_op *x)
{
	uint64_t id = (uint64_t)(x - w->x->ops);

	note(w, OTF2_EvtWriter_IoOperationComplete(to, NULL, x->end, handle_of(w, x->op),
						   (uint64_t)x->op->length, id));
	note(w, OTF2_EvtWriter_Leave(to, NULL, x->end, region_of(x->op)));
}

static void operation_begin(OTF2_EvtWriter *to, struct writer *w,
			    const struct rama_report_export_op *x)
{
	uint64_t id = (uint64_t)(x - w->x->ops);

	note(w, OTF2_EvtWriter_Enter(to, NULL, x->start, region_of(x->op)));
	note(w, OTF2_EvtWriter_IoOperationBegin(to, NULL, x->start, handle_of(w, x->op),
						x->op->kind == 0 ? OTF2_IO_OPERATION_MODE_WRITE
								 : OTF2_IO_OPERATION_MODE_READ,
						OTF2_IO_OPERATION_FLAG_NONE,
						(uint64_t)x->op->length, id));
}

/* the operations of one lane of ops[from .. to - 1], each begun and ended in the order of time */
static uint64_t lane(struct writer *w, size_t from, size_t to, uint32_t number)
{
	OTF2_EvtWriter *out = OTF2_Archive_GetEvtWriter(w->archive, w->locations);
	const struct rama_report_export_op *open[RAMA_JOB_LAYERS + 1];
	uint64_t events = 0;
	unsigned n = 0;

	if (out == NULL) {
		note(w, OTF2_ERROR_MEM_FAULT);
		return 0;
	}
	for (size_t i = from; i < to && w->bad == OTF2_SUCCESS; i++) {
		const struct rama_report_export_op *x = &w->x->ops[i];

		if (x->nested_lane != number)
			continue;
		while (n > x->depth)
			operation_end(out, w, open[--n]);
		operation_begin(out, w, x);
		open[n++] = x;
		events += 4;
	}
	while (n > 0)
		operation_end(out, w, open[--n]);
	note(w, OTF2_Archive_CloseEvtWriter(w->archive, out));
	return events;
}

static void rank(struct writer *w, size_t from, size_t to, uint32_t group)
{
	const struct rama_job_view *v = w->x->view;
	int32_t number = w->x->ops[from].op->rank;
	int32_t host = number >= 0 ? v->ranks[number].host : -1;
	uint32_t lanes = 0;
	char name[64];

	for (size_t i = from; i < to; i++)
		if (w->x->ops[i].nested_lane >= lanes)
			lanes = w->x->ops[i].nested_lane + 1;
	snprintf(name, sizeof(name), number >= 0 ? "rank %d" : "rank not known", (int)number);
	note(w, OTF2_GlobalDefWriter_WriteLocationGroup(
			w->defs, group, string(w, name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
			(uint32_t)(host + 1), OTF2_UNDEFINED_LOCATION_GROUP));
	for (uint32_t l = 0; l < lanes && w->bad == OTF2_SUCCESS; l++, w->locations++) {
		uint64_t events = lane(w, from, to, l);
		OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(w->archive, w->locations);

		if (local != NULL) /* readers want one for each location, be it empty */
			note(w, OTF2_Archive_CloseDefWriter(w->archive, local));
		snprintf(name, sizeof(name), "calls %u", l + 1);
		note(w, OTF2_GlobalDefWriter_WriteLocation(w->defs, w->locations, string(w, name),
							   OTF2_LOCATION_TYPE_CPU_THREAD, events,
							   group));
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_all(struct writer *w)
{
	OTF2_FlushCallbacks flush = { before_flush, after_flush };
	uint32_t groups = 0, empty;

	note(w, OTF2_Archive_SetFlushCallbacks(w->archive, &flush, w));
	note(w, OTF2_Archive_SetSerialCollectiveCallbacks(w->archive));
	note(w, OTF2_Archive_SetCreator(w->archive, "iorama " IORAMA_BUILD_VERSION));
	note(w, OTF2_Archive_OpenEvtFiles(w->archive));
	note(w, OTF2_Archive_OpenDefFiles(w->archive));
	w->defs = OTF2_Archive_GetGlobalDefWriter(w->archive);
	if (w->defs == NULL || w->bad != OTF2_SUCCESS) {
		note(w, OTF2_ERROR_MEM_FAULT);
		return;
	}
	for (size_t i = 0; i < w->x->n; i++)
		w->end = w->x->ops[i].end > w->end ? w->x->ops[i].end : w->end;
	define_clock(w);
	empty = string(w, "");
	define_nodes(w);
	define_layers(w, empty);
	define_files(w, empty);
	for (size_t from = 0, to; from < w->x->n && w->bad == OTF2_SUCCESS; from = to) {
		to = rama_report_export_rank_end(w->x, from);
		rank(w, from, to, groups++);
	}
	note(w, OTF2_Archive_CloseEvtFiles(w->archive));
	note(w, OTF2_Archive_CloseDefFiles(w->archive));
}

/* The library writes into whatever is there: an archive of another job would become a mixture. */
static int otf2(const char *dir, const struct rama_report_export *x, struct rama_err *e)
{
	struct writer w = { .x = x };

	if (mkdir(dir, 0777) != 0)
		return rama_err_set(e, RAMA_EIO, "cannot be made: %s", strerror(errno));
	w.handle = calloc(x->view->n_files * RAMA_JOB_LAYERS + 1, sizeof(*w.handle));
	if (w.handle == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "%s", rama_err_text(RAMA_EMEMORY));
	w.archive = OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, CHUNK, 4 * CHUNK,
				      OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (w.archive != NULL) {
		write_all(&w);
		note(&w, OTF2_Archive_Close(w.archive));
	} else {
		note(&w, OTF2_ERROR_FILE_INTERACTION);
	}
	free(w.handle);
	if (w.bad != OTF2_SUCCESS)
		return rama_err_set(e, RAMA_EIO, "cannot be written: %s",
				    OTF2_Error_GetDescription(w.bad));
	return 0;
}
#endif

const struct rama_report_export_form rama_report_export_form_otf2 = { .suffix = ".otf2",
								      .make = otf2 };
