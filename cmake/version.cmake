# SPDX-License-Identifier: BSD-3-Clause
# version.cmake: run at each build: writes OUT, which says of which commit of SOURCE this is. Kept as it is if nothing changed, so
# that nothing is compiled again. Without git, or outside of it, there is no commit to tell.
set(commit "")
if(EXISTS ${SOURCE}/.git)
  find_program(GIT git)
  if(GIT)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --exclude=* OUTPUT_VARIABLE commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(text "#define IORAMA_BUILD_COMMIT \"${commit}\"\n#define IORAMA_BUILD_HOW \"${HOW}\"\n")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
