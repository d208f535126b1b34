# SPDX-License-Identifier: BSD-3-Clause
# sqlite.cmake: lib/iorama_sqlite.so, which others load into their SQLite to read events of a store as rows. It calls the SQLite
# of whoever loads it, and brings all else along.
set(dir ${PROJECT_SOURCE_DIR}/src/store)
add_library(iorama_sqlite MODULE ${dir}/sqlite/sqlite.c ${dir}/sqlite/events.c ${dir}/walk/walk.c ${dir}/walk/block.c
            ${dir}/blocks/sql.c ${dir}/blocks/fetch.c)
target_compile_definitions(iorama_sqlite PRIVATE RAMA_SQLITE_EXTENSION)
target_include_directories(iorama_sqlite PRIVATE ${sqlite3_INCLUDE_DIRS})
target_link_libraries(iorama_sqlite PRIVATE iorama_wire iorama_core iorama_table iorama_base)
target_link_options(iorama_sqlite PRIVATE -Wl,--exclude-libs,ALL)
if(NOT IORAMA_SANITIZE)
  target_link_options(iorama_sqlite PRIVATE -Wl,-z,defs)
endif()
target_link_options(iorama_sqlite PRIVATE -Wl,-soname,iorama_sqlite.so)
set_target_properties(iorama_sqlite PROPERTIES
  PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
install(TARGETS iorama_sqlite LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
