# SPDX-License-Identifier: BSD-3-Clause
# capture.cmake: the library inside applications: libiorama.so for LD_PRELOAD, libiorama.a for ld --wrap.
# Both hold their own copy of the code that writes logs and of one compressor, and export wrappers only.
set(capture_options -fno-delete-null-pointer-checks -Wno-array-parameter -U_FORTIFY_SOURCE -O2)
# What is at hand in registers is not gathered in vectors first: of a call of some hundred instructions that is a twentieth.
list(APPEND capture_options -fno-tree-slp-vectorize)

# Applications pass NULL where headers forbid it, and C libraries survive much of that; so must wrappers. A compiler that is told
# "nonnull" drops our tests for NULL, gcc even with the option above: where the attribute stands at the function that is being
# defined. So the headers may not say it, the compiler may not know it of functions it has built in, and where one of the two
# slips through, a test that would vanish is an error.
list(APPEND capture_options "-D__nonnull(params)=" "-D__attribute_nonnull__(params)=")
foreach(table posix stdio libaio uring wait process)
  set(rows ${PROJECT_SOURCE_DIR}/src/table/fn_${table}.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows})
  file(STRINGS ${rows} rows REGEX "^FN")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^FN[A-Z0-9_]* *\\(([A-Za-z0-9_]+).*" "-fno-builtin-\\1" option "${row}")
    list(APPEND capture_options ${option})
  endforeach()
endforeach()
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  list(APPEND capture_options -Werror=pointer-bool-conversion -Werror=tautological-pointer-compare)
else()
  list(APPEND capture_options -Werror=nonnull-compare)
endif()

# Sanitizers and coverage have run-time libraries of their own, which must not be forced on applications.
set(capture_plain -fno-sanitize=all -fno-profile-arcs -fno-test-coverage)
set(capture_heap -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)

# Its archive, since the application need not have it; without one, what is there is linked.
set(capture_packer ${iorama_deflate_static})
if(NOT capture_packer)
  set(capture_packer ZLIB::ZLIB)
  message(STATUS "no libdeflate.a or libz.a: libiorama.so needs libz.so, and there is no libiorama.a for static programs")
endif()
file(GLOB_RECURSE capture_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/capture/*.c)
set(capture_inner "")
foreach(folder IN LISTS IORAMA_BELOW_capture)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
  list(APPEND capture_inner ${sources})
endforeach()
# The same folders again, without sanitizers; the linker takes what it needs.
add_library(iorama_inner STATIC ${capture_inner})
target_compile_options(iorama_inner PRIVATE ${capture_plain} -O2)
target_compile_definitions(iorama_inner PRIVATE RAMA_WITHOUT_BZIP2 RAMA_WITHOUT_DECODERS)

add_library(iorama_preload SHARED ${capture_sources})
set_target_properties(iorama_preload PROPERTIES OUTPUT_NAME iorama C_EXTENSIONS ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_compile_options(iorama_preload PRIVATE ${capture_options} ${capture_plain})
target_link_options(iorama_preload PRIVATE ${capture_plain} ${capture_heap} -Wl,--exclude-libs,ALL -Wl,-z,now
  -Wl,-z,nodelete -Wl,--no-undefined -Wl,--gc-sections)
target_link_libraries(iorama_preload PRIVATE iorama_inner ${capture_packer} ${CMAKE_DL_LIBS})

# Under this name it begins nothing by itself: src/capture/attach.c.
add_custom_command(TARGET iorama_preload POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink libiorama.so libiorama-attach.so
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT iorama_deflate_static)
  return()
endif()

# ---- static: which real functions does this C library's archive have? -------------------------------------
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc.a OUTPUT_VARIABLE libc_a
                OUTPUT_STRIP_TRAILING_WHITESPACE)
# ... and which an archive of liburing, if there is one
find_library(LIBURING_STATIC NAMES liburing.a)
set(capture_missing ${PROJECT_BINARY_DIR}/capture/static_missing.h)
set(capture_wrap ${PROJECT_BINARY_DIR}/lib/iorama-wrap.opts)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/capture ${PROJECT_BINARY_DIR}/lib)
add_custom_command(OUTPUT ${capture_missing} ${capture_wrap}
  COMMAND ${CMAKE_COMMAND} -DTABLEGEN=$<TARGET_FILE:tablegen> -DBY=${iorama_tablegen_by} -DNM=${CMAKE_NM}
          -DLIBC=${libc_a} -DLIBURING=${LIBURING_STATIC} -DMISSING=${capture_missing} -DWRAP=${capture_wrap} -P ${PROJECT_SOURCE_DIR}/cmake/wrapopts.cmake
  DEPENDS tablegen ${PROJECT_SOURCE_DIR}/cmake/wrapopts.cmake
  COMMENT "Generating lib/iorama-wrap.opts")

# A program that holds its MPI itself is observed without its MPI calls.
list(FILTER capture_sources EXCLUDE REGEX "hand_(libaio|uring|wait)|/mpi/|/(hand_|ask_)?(mpi|hdf5|pnetcdf)\\.c$")
add_library(iorama_static_parts OBJECT ${capture_sources} ${capture_missing})
# each an object of its own: who uses one of them need not have the others
add_library(iorama_static_libaio OBJECT ${PROJECT_SOURCE_DIR}/src/capture/wrap/hand_libaio.c
  ${PROJECT_SOURCE_DIR}/src/capture/wrap/hand_uring.c ${PROJECT_SOURCE_DIR}/src/capture/wrap/hand_wait.c)
foreach(target iorama_static_parts iorama_static_libaio)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS ON)
  target_compile_definitions(${target} PRIVATE RAMA_STATIC_WRAP)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/capture)
  target_compile_options(${target} PRIVATE ${capture_options} ${capture_plain})
endforeach()
add_dependencies(iorama_static_libaio iorama_static_parts)

# One object, in which only the names that others need are left to see.
set(static_object ${PROJECT_BINARY_DIR}/capture/iorama.o)
set(static_archive ${PROJECT_BINARY_DIR}/lib/libiorama.a)
add_custom_command(OUTPUT ${static_archive}
  COMMAND ${CMAKE_LINKER} -r --wrap=malloc --wrap=calloc --wrap=realloc --wrap=free -o ${static_object}
          $<TARGET_OBJECTS:iorama_static_parts> $<TARGET_FILE:iorama_inner> ${iorama_deflate_static}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=!__wrap_malloc --keep-global-symbol=!__wrap_calloc
          --keep-global-symbol=!__wrap_realloc --keep-global-symbol=!__wrap_free
          --keep-global-symbol=__wrap_* --keep-global-symbol=rama_* ${static_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static_archive}
  COMMAND ${CMAKE_AR} rcs ${static_archive} ${static_object} $<TARGET_OBJECTS:iorama_static_libaio>
  DEPENDS $<TARGET_OBJECTS:iorama_static_parts> $<TARGET_OBJECTS:iorama_static_libaio> iorama_inner
  COMMAND_EXPAND_LISTS VERBATIM
  COMMENT "Linking lib/libiorama.a")
add_custom_target(iorama_static ALL DEPENDS ${static_archive} ${capture_wrap})
# with make as the generator nobody else sees to it that the objects are there
add_dependencies(iorama_static iorama_static_parts iorama_static_libaio)
