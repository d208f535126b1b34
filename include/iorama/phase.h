/* SPDX-License-Identifier: BSD-3-Clause */
/* iorama/phase.h: a program gives parts of its run a name, which reports then show in time.
 *
 *   #include <iorama/phase.h>
 *
 *   iorama_begin("checkpoint");
 *   ...
 *   iorama_end("checkpoint");
 *
 * Nothing has to be linked: in a program that is not observed both do nothing. Phases may be
 * inside of each other and come again; threads that are in a phase of one name are in it once,
 * from the first that begins to the last that ends. Names have at most 255 bytes. From Fortran:
 * the module `iorama` of iorama_phase.f90. */
#ifndef IORAMA_PHASE_H
#define IORAMA_PHASE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Of the library that observes, and not there in a program that is not observed. noplt: the linker
 * leaves it to the loader whether it is there; compilers without it need -fPIE or -fPIC. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define IORAMA_PHASE_WEAK __attribute__((weak, noplt))
#endif
#endif
#ifndef IORAMA_PHASE_WEAK
#define IORAMA_PHASE_WEAK __attribute__((weak))
#endif
extern void iorama_phase_begin(const char *name) IORAMA_PHASE_WEAK;
extern void iorama_phase_end(const char *name) IORAMA_PHASE_WEAK;

static inline void iorama_begin(const char *name)
{
	if (iorama_phase_begin)
		iorama_phase_begin(name);
}

static inline void iorama_end(const char *name)
{
	if (iorama_phase_end)
		iorama_phase_end(name);
}

#ifdef __cplusplus
}
#endif

#endif
