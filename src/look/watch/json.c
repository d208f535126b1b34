/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: a look as JSON: docs/format/watch.md. */
#include "base/json.h"
#include "look/watch/watch.h"

#define FILES_TOLD 20

static void io(struct rama_json *j, const char *key, const struct rama_look_io *x)
{
	rama_json_key_open(j, key, '{');
	rama_json_key_i64(j, "reads", x->reads);
	rama_json_key_i64(j, "writes", x->writes);
	rama_json_key_i64(j, "metas", x->metas);
	rama_json_key_i64(j, "bytes_read", x->bytes_read);
	rama_json_key_i64(j, "bytes_written", x->bytes_written);
	rama_json_key_f64(j, "read_time", x->read_time);
	rama_json_key_f64(j, "write_time", x->write_time);
	rama_json_key_f64(j, "meta_time", x->meta_time);
	rama_json_close(j, '}');
}

static void rates(struct rama_json *j, const struct rama_look_io *gain, double interval)
{
	double per = interval > 0 ? 1 / interval : 0;

	rama_json_key_open(j, "rate", '{');
	rama_json_key_f64(j, "read", (double)gain->bytes_read * per);
	rama_json_key_f64(j, "write", (double)gain->bytes_written * per);
	rama_json_key_f64(j, "ops", (double)rama_look_ops(gain) * per);
	rama_json_close(j, '}');
	rama_json_key_f64(j, "latency", rama_look_latency(gain));
}

static void layers(struct rama_json *j, const struct rama_look_io *total)
{
	rama_json_key_open(j, "layers", '{');
	for (unsigned i = 0; i < RAMA_LOOK_LAYERS; i++)
		if (rama_look_ops(&total[i]) > 0)
			io(j, rama_look_layer_name[i], &total[i]);
	rama_json_close(j, '}');
}

static void events(struct rama_json *j, const struct rama_look_live *v)
{
	rama_json_key_open(j, "events", '{');
	rama_json_key_bool(j, "on", v->on != 0);
	rama_json_key_u64(j, "made", v->made);
	rama_json_key_u64(j, "dropped", v->dropped);
	rama_json_key_u64(j, "taken", v->taken);
	rama_json_key(j, "agent");
	if (v->reader > 0)
		rama_json_i64(j, v->reader);
	else
		rama_json_null(j);
	rama_json_close(j, '}');
}

static void calls(struct rama_json *j, const struct rama_look_process *p)
{
	static const char *const class[] = { "none", "read", "write", "meta" };

	rama_json_key_u64(j, "calls", p->n_calls);
	rama_json_key_open(j, "at_work", '[');
	for (unsigned i = 0; i < p->n_told; i++) {
		const struct rama_look_call *c = &p->call[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "function", c->fn);
		rama_json_key_string(j, "class", class[c->class]);
		rama_json_key_f64(j, "since", c->since);
		rama_json_key_u64(j, "thread", c->tid);
		rama_json_key_string(j, "file", c->name[0] != '\0' ? c->name : NULL);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void process(struct rama_json *j, const struct rama_look_process *p, double interval)
{
	static const char *const state[] = { "running", "ended", "replaced", "killed", "off" };

	rama_json_open(j, '{');
	rama_json_key_i64(j, "rank", p->rank);
	rama_json_key_i64(j, "pid", p->pid);
	rama_json_key_string(j, "host", p->host);
	rama_json_key_string(j, "exe", p->exe);
	rama_json_key_string(j, "command", p->command);
	rama_json_key_string(j, "state", state[p->state]);
	rama_json_key_f64(j, "start", (double)p->start * 1e-9);
	rama_json_key_u64(j, "threads", p->threads);
	rama_json_key_u64(j, "files", p->files);
	rates(j, &p->gain, interval);
	rama_json_key_f64(j, "longest", p->longest);
	rama_json_key_f64(j, "share", p->share);
	rama_json_key_string(j, "waits", rama_look_wait_name(p->wait));
	io(j, "total", &p->total);
	layers(j, p->layer_total);
	calls(j, p);
	events(j, &p->live);
	rama_json_close(j, '}');
}

static int files(struct rama_json *j, const struct rama_look_job *job, double interval,
		 struct rama_err *e)
{
	const struct rama_look_process *only = job->n == 1 ? job->process[0] : NULL;
	struct rama_look_files f;
	int rc = rama_look_files(&f, job, only, RAMA_LOOK_BY_RATE, FILES_TOLD, e);

	if (rc != 0)
		return rc;
	rama_json_key_u64(j, "n_files", f.of);
	rama_json_key_open(j, "files", '[');
	for (size_t i = 0; i < f.n; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "name", f.file[i].name);
		rama_json_key_id(j, "record", f.file[i].id);
		rama_json_key_u64(j, "processes", f.file[i].processes);
		rates(j, &f.file[i].gain, interval);
		rama_json_key_f64(j, "longest", f.file[i].longest);
		io(j, "total", &f.file[i].total);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_look_files_fini(&f);
	return 0;
}

static int one_job(struct rama_json *j, const struct rama_look_job *job, double interval,
		   struct rama_err *e)
{
	int rc;

	rama_json_open(j, '{');
	rama_json_key_string(j, "key", job->key);
	rama_json_key_string(j, "name", job->name);
	rama_json_key_string(j, "program", rama_look_watch_program(job));
	rama_json_key_string(j, "user", rama_look_watch_user(job->uid));
	rama_json_key_i64(j, "uid", job->uid);
	rama_json_key_i64(j, "job_id", job->jobid);
	rama_json_key_string(j, "state", job->ended ? "ended" : "running");
	rama_json_key_f64(j, "start", (double)job->start * 1e-9);
	rama_json_key_u64(j, "running", job->running);
	rama_json_key_u64(j, "gone", job->gone);
	rama_json_key_u64(j, "unreadable", job->unreadable);
	rates(j, &job->gain, interval);
	rama_json_key_f64(j, "longest", job->longest);
	rama_json_key_f64(j, "share", job->share);
	rama_json_key_u64(j, "calls", job->n_calls);
	io(j, "total", &job->total);
	layers(j, job->layer_total);
	events(j, &job->live);
	rama_json_key_open(j, "ranks", '[');
	for (size_t i = 0; i < job->n; i++)
		process(j, job->process[i], interval);
	rama_json_close(j, ']');
	rc = files(j, job, interval, e);
	rama_json_close(j, '}');
	return rc;
}

int rama_look_watch_json(struct rama_out *o, const struct rama_look *l, struct rama_err *e)
{
	struct rama_json j;
	int rc = 0;

	rama_json_init(&j, o);
	rama_json_open(&j, '{');
	rama_json_key_f64(&j, "time", (double)l->time * 1e-9);
	rama_json_key_f64(&j, "interval", l->interval);
	rama_json_key_open(&j, "jobs", '[');
	for (size_t i = 0; i < l->n && rc == 0; i++)
		rc = one_job(&j, l->job[i], l->interval, e);
	rama_json_close(&j, ']');
	rama_json_close(&j, '}');
	rama_out_char(o, '\n');
	return rc;
}
