/* SPDX-License-Identifier: BSD-3-Clause */
/* focus.c FILE CONTROL INDEX: writes again and again until CONTROL, which is mapped, says q at
 * INDEX; 4 KiB as long as it says f, 4 MiB while it says s. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char data[4 << 20];

int main(int argc, char **argv)
{
	int file = argc > 3 ? open(argv[1], O_WRONLY | O_CREAT, 0600) : -1;
	int control = file >= 0 ? open(argv[2], O_RDONLY) : -1;
	const volatile char *say = mmap(NULL, 4096, PROT_READ, MAP_SHARED, control, 0);

	if (control < 0 || say == MAP_FAILED)
		return 2;
	say += strtol(argv[3], NULL, 10);
	while (*say != 'q') {
		if (pwrite(file, data, *say == 's' ? sizeof(data) : 4096, 0) < 0)
			return 1;
		usleep(2000);
	}
	return 0;
}
