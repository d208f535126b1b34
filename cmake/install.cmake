# SPDX-License-Identifier: BSD-3-Clause
# install.cmake: what "make install" copies, and where.
if(TARGET iorama)
  install(TARGETS iorama RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(TARGET iorama_log_shared)
  install(TARGETS iorama_log_shared iorama_log_static
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/iorama DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h")

  # The prefix may be given only now (cmake --install --prefix), so the file is made now.
  set(pc_installed ${PROJECT_BINARY_DIR}/install/iorama-log.pc)
  install(CODE "
    set(PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(PC_LIBDIR \"\\\${prefix}/${CMAKE_INSTALL_LIBDIR}\")
    set(PC_INCLUDEDIR \"\\\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-log.pc.in\" \"${pc_installed}\" @ONLY)")
  install(FILES ${pc_installed} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(TARGET tablegen)
  if(SCDOC)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            FILES_MATCHING PATTERN "*.1" PATTERN source EXCLUDE)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/completions/iorama.bash RENAME iorama
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/_iorama
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
