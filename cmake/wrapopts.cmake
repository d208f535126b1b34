# SPDX-License-Identifier: BSD-3-Clause
# wrapopts.cmake: the linker options for static use, and a header that names the functions of our tables which this
# C library's archive lacks (old names kept for old programs): their real forms may be absent.
string(REPLACE "@@" ";" BY "${BY}")
execute_process(COMMAND ${BY} ${TABLEGEN} functions OUTPUT_VARIABLE functions COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} --defined-only --format=posix ${LIBC} OUTPUT_VARIABLE symbols ERROR_QUIET)
if(EXISTS "${LIBURING}")
  execute_process(COMMAND ${NM} --defined-only --format=posix ${LIBURING} OUTPUT_VARIABLE more ERROR_QUIET)
  string(APPEND symbols "${more}")
endif()
string(REPLACE "\n" ";" functions "${functions}")
set(missing "/* functions that libc.a lacks */\n")
# the first line pulls our object in even where the program itself calls nothing that is wrapped
set(wrap "-Wl,--undefined=__wrap__exit\n")
foreach(row IN LISTS functions)
  if(row MATCHES "^([a-z0-9]+) ([A-Za-z0-9_]+)$")
    set(table ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    if(table MATCHES "^(mpi|hdf5|pnetcdf|kind)$") # only for preloading
      continue()
    endif()
    # Inside libc.a these names are how streams reach descriptors: calls of the library itself, not of the program.
    # getline there is a call of __getdelim, which is enough.
    if(name MATCHES "^__(open|open64|close|read|write|lseek|fcntl|dup2|pread64|pwrite64|vfork)$|^getline$")
      string(APPEND missing "#pragma weak __real_${name}\n")
      continue()
    endif()
    if(table STREQUAL "libaio" OR symbols MATCHES "\n${name} [TWi] ")
      string(APPEND wrap "-Wl,--wrap=${name}\n")
    else()
      string(APPEND missing "#pragma weak __real_${name}\n")
    endif()
  endif()
endforeach()
file(WRITE ${MISSING} "${missing}")
file(WRITE ${WRAP} "${wrap}")
