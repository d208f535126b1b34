# SPDX-License-Identifier: BSD-3-Clause
# optional.cmake: libraries that we can do without. Code that needs one is left out, the command that would have used it says so, and
# so does this. -DIORAMA_WITHOUT=libpq;libnats leaves libraries out that are there.
set(IORAMA_WITHOUT "" CACHE STRING "libraries to do without, of those that README.md lists")
set(iorama_left_out "^$") # files of src, as a regular expression
set(iorama_with "")       # for iorama --version

# iorama_optional(name lost FILES regex...): after it was looked for. Sets <name>_FOUND, and RAMA_WITHOUT_<NAME> for the compiler.
macro(iorama_optional name lost)
  string(TOUPPER ${name} symbol)
  if(${name}_FOUND AND NOT "${name}" IN_LIST IORAMA_WITHOUT)
    string(APPEND iorama_with ", ${name}")
  else()
    set(${name}_FOUND FALSE)
    string(APPEND iorama_with ", no ${name}")
    add_compile_definitions(RAMA_WITHOUT_${symbol})
    message(STATUS "without ${name}: ${lost}")
    foreach(files ${ARGN})
      string(APPEND iorama_left_out "|${files}")
    endforeach()
  endif()
endmacro()

# Who compresses links this. Without libdeflate it is zlib behind the same names (cmake/zlib); iorama_deflate_static is what the
# library inside of applications holds of it.
macro(iorama_optional_deflate)
  add_library(iorama_deflate INTERFACE)
  if(libdeflate_FOUND)
    target_link_libraries(iorama_deflate INTERFACE PkgConfig::libdeflate)
    set(iorama_deflate_static ${LIBDEFLATE_STATIC})
  else()
    include_directories(SYSTEM BEFORE ${PROJECT_SOURCE_DIR}/cmake/zlib)
    target_link_libraries(iorama_deflate INTERFACE ZLIB::ZLIB)
    find_library(ZLIB_STATIC NAMES libz.a)
    set(iorama_deflate_static ${ZLIB_STATIC})
  endif()
  if(NOT iorama_deflate_static)
    set(iorama_deflate_static "")
  endif()
endmacro()

# iorama_external(room name target): what a room is linked with where it is there
macro(iorama_external room name target)
  if(${name}_FOUND)
    list(APPEND iorama_external_${room} ${target})
  endif()
endmacro()
