/* SPDX-License-Identifier: BSD-3-Clause */
/* plugin_cost.c: what a task costs with the plugin, without the noise of a whole Slurm: the plugin
 * is called as slurmstepd calls it, and /bin/true is started with what it made of the environment.
 *
 *   plugin_cost PLUGIN ROUNDS WORD…     the words of its line in plugstack.conf
 *
 * Prints microseconds of processor time: what the plugin itself takes for a task, and what a task
 * takes bare and with it. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* ---- what slurmstepd gives a plugin: the environment of a task is ours ---------------------- */

spank_context_t spank_context(void)
{
	return S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *o)
{
	(void)sp;
	return o->cb != NULL ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

spank_err_t spank_getenv(spank_t sp, const char *name, char *to, int room)
{
	const char *value = getenv(name);

	(void)sp;
	if (value == NULL)
		return ESPANK_ENV_NOEXIST;
	return snprintf(to, (size_t)room, "%s", value) < room ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int over)
{
	(void)sp;
	return setenv(name, value, over) == 0 ? ESPANK_SUCCESS : ESPANK_ERROR;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
	(void)sp;
	return unsetenv(name) == 0 ? ESPANK_SUCCESS : ESPANK_ERROR;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	va_list ap;

	(void)sp;
	va_start(ap, item);
	if (item == S_JOB_UID)
		*va_arg(ap, uid_t *) = getuid();
	else
		*va_arg(ap, uint32_t *) = item == S_JOB_ID ? 4242 : 0;
	va_end(ap);
	return ESPANK_SUCCESS;
}

void slurm_error(const char *format, ...)
{
	fprintf(stderr, "slurm_error: %s\n", format);
	exit(1);
}

/* ---- measured ------------------------------------------------------------------------------ */

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* a task: /bin/true, its processor time */
static double task_us(int (*task_init)(spank_t, int, char **), double *plugin)
{
	struct rusage before, after;
	int status, pipes[2];
	pid_t pid;
	double own = 0;

	if (pipe(pipes) != 0)
		exit(1);
	getrusage(RUSAGE_CHILDREN, &before);
	pid = fork();
	if (pid == 0) {
		if (task_init != NULL) {
			own = cpu_us();
			task_init(NULL, 0, NULL);
			own = cpu_us() - own;
		}
		if (write(pipes[1], &own, sizeof(own)) == sizeof(own))
			execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0 ||
	    read(pipes[0], &own, sizeof(own)) != sizeof(own))
		exit(1);
	*plugin += own;
	close(pipes[0]);
	close(pipes[1]);
	getrusage(RUSAGE_CHILDREN, &after);
	return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
			before.ru_stime.tv_sec) *
		       1e6 +
	       (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
			before.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	void *plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*init)(spank_t, int, char **), (*task_init)(spank_t, int, char **);
	double bare = 0, with = 0, own = 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 0;

	if (plugin == NULL) {
		fprintf(stderr, "plugin_cost: %s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(plugin, "slurm_spank_init");
	*(void **)&task_init = dlsym(plugin, "slurm_spank_task_init");
	if (init == NULL || task_init == NULL || init(NULL, argc - 3, argv + 3) != 0)
		return 1;
	for (int i = 0; i < rounds; i++) { /* by turns: what slows the machine down slows both */
		bare += task_us(NULL, &own);
		with += task_us(task_init, &own);
	}
	printf("%.1f %.1f %.1f\n", own / rounds, bare / rounds, with / rounds);
	return 0;
}
