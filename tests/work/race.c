/* SPDX-License-Identifier: BSD-3-Clause */
/* race.c: threads that do I/O at once, for ThreadSanitizer: without an argument there is no
 * race in this program, with one there is. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int fd, wrong, count;
static FILE *stream;

static void *work(void *k)
{
	char bytes[100] = { 0 };

	for (int i = 0; i < 100; i++) {
		if (pwrite(fd, bytes, sizeof(bytes), (long)k * 100000 + i * 100) != sizeof(bytes))
			return NULL;
		fprintf(stream, "line %d\n", i);
		if (wrong)
			count++;
	}
	int own = open("shared", O_RDONLY);
	if (own < 0 || read(own, bytes, sizeof(bytes)) < 0 || close(own) != 0)
		return NULL;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[4];

	(void)argv;
	wrong = argc > 1;
	fd = open("shared", O_CREAT | O_RDWR, 0600);
	stream = fopen("stream", "w");
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	fclose(stream);
	return close(fd);
}
