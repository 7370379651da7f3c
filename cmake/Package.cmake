# The packages for Debian, podgpu and podgpu-sim, and their tests.  Only ./dev package sets PODGPU_PACKAGE: these tests need
# root, lintian and a mirror of Debian, and nothing else of the build needs the packages.
set(package_folder "${PROJECT_BINARY_DIR}/package")
set(sources "${PROJECT_SOURCE_DIR}/deploy")
set(package_version "${PROJECT_VERSION}-1")

# package_output(FILE COMMAND...): a file of the package that a command prints; ".gz" packs it.
set(package_outputs "")
function(package_output file)
  set(output "${package_folder}/${file}")
  if(file MATCHES "\\.gz$")
    string(REGEX REPLACE "\\.gz$" "" plain "${output}")
    add_custom_command(OUTPUT "${output}" COMMAND ${ARGN} > "${plain}" COMMAND gzip -9nf "${plain}"
      DEPENDS ${PACKAGE_DEPENDS} VERBATIM)
  else()
    add_custom_command(OUTPUT "${output}" COMMAND ${ARGN} > "${output}" DEPENDS ${PACKAGE_DEPENDS} VERBATIM)
  endif()
  set(package_outputs ${package_outputs} "${output}" PARENT_SCOPE)
endfunction()

# -- what the programs print about themselves
package_output(podgpu.1.gz man_page)
package_output(podgpu-sim.1.gz podgpu-sim manual)
package_output(podgpu.bash podgpu completion bash)
package_output(_podgpu podgpu completion zsh)
package_output(podgpu.fish podgpu completion fish)

# -- documents
set(CPACK_PACKAGE_CONTACT "podgpu maintainers <maintainers@podgpu.invalid>")
foreach(package podgpu podgpu-sim)
  set(version "${package_version}")
  configure_file("${sources}/package/changelog.in" "${package_folder}/${package}.changelog" @ONLY)
  set(PACKAGE_DEPENDS "${package_folder}/${package}.changelog")
  package_output("${package}/changelog.Debian.gz" cat "${package_folder}/${package}.changelog")
  set(PACKAGE_DEPENDS "${PROJECT_SOURCE_DIR}/CHANGELOG.md")
  package_output("${package}/changelog.gz" cat "${PROJECT_SOURCE_DIR}/CHANGELOG.md")
  string(REPLACE "-" "_" component "${package}_files")
  install(FILES "${package_folder}/${package}/changelog.gz" "${package_folder}/${package}/changelog.Debian.gz"
      "${sources}/package/copyright"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component})
  install(FILES "${sources}/package/${package}.lintian-overrides" RENAME ${package}
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides" COMPONENT ${component})
  install(FILES "${package_folder}/${package}.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT ${component})
endforeach()
add_custom_target(packaged_files DEPENDS ${package_outputs} installed_files podgpu-sim podgpu_dcgm_4 podgpu_dcgm_3
  podgpu_dcgm_461 podgpu_dcgm_471 podgpu_sim_nvml podgpu_sim_nvml_470)

# -- podgpu; its program and its lists of counters are those of ./dev install.  The lists are templates in a folder of
# podgpu: /etc/dcgm-exporter belongs to dcgm-exporter's own package, which may be installed too.
install(FILES "${package_folder}/podgpu.bash" RENAME podgpu
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT podgpu_files)
install(FILES "${package_folder}/_podgpu" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT podgpu_files)
install(FILES "${package_folder}/podgpu.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT podgpu_files)
install(FILES "${sources}/systemd/podgpu.service" "${sources}/systemd/podgpu.socket"
  DESTINATION /lib/systemd/system COMPONENT podgpu_files)
install(FILES "${sources}/systemd/tmpfiles.conf" RENAME podgpu.conf DESTINATION lib/tmpfiles.d COMPONENT podgpu_files)
install(FILES "${sources}/package/default" RENAME podgpu DESTINATION /etc/default COMPONENT podgpu_files)
install(PROGRAMS "${sources}/slurm/prolog.sh" "${sources}/slurm/epilog.sh"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/podgpu/slurm" COMPONENT podgpu_files)
install(FILES "${PROJECT_SOURCE_DIR}/docs/install-slurm.md" RENAME README.slurm
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/podgpu" COMPONENT podgpu_files)

# -- podgpu-sim, with its libraries where it looks for them and no other program does
set(sim_libraries lib/podgpu-sim)
install(TARGETS podgpu-sim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT podgpu_sim_files)
install(TARGETS podgpu_dcgm_4 podgpu_dcgm_3 podgpu_sim_nvml
  LIBRARY DESTINATION ${sim_libraries} COMPONENT podgpu_sim_files)
install(TARGETS podgpu_dcgm_461 LIBRARY DESTINATION ${sim_libraries}/4.6.1 COMPONENT podgpu_sim_files)
install(TARGETS podgpu_dcgm_471 LIBRARY DESTINATION ${sim_libraries}/4.7.1 COMPONENT podgpu_sim_files)
install(TARGETS podgpu_sim_nvml_470 LIBRARY DESTINATION ${sim_libraries}/r470 COMPONENT podgpu_sim_files)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/sim/scenarios" DESTINATION "${CMAKE_INSTALL_DATADIR}/podgpu"
  COMPONENT podgpu_sim_files FILES_MATCHING PATTERN "*.yaml")

# -- CPack
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME podgpu)
set(CPACK_PACKAGE_VENDOR podgpu)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # Files in /etc and /lib are outside the prefix.
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL podgpu podgpu_files podgpu_sim_files)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "https://podgpu.invalid/")
set(CPACK_DEBIAN_NODE_PACKAGE_NAME podgpu)
set(CPACK_DEBIAN_NODE_PACKAGE_SECTION net)
set(CPACK_DEBIAN_NODE_PACKAGE_DEPENDS "libssl3 (>= 3.0.0)")  # Loaded at the first use of TLS.
set(CPACK_DEBIAN_NODE_PACKAGE_SUGGESTS podgpu-sim)
file(WRITE "${package_folder}/conffiles" "/etc/default/podgpu\n")
set(CPACK_DEBIAN_NODE_PACKAGE_CONTROL_EXTRA "${package_folder}/conffiles"
  "${sources}/package/postinst" "${sources}/package/prerm" "${sources}/package/postrm")
set(CPACK_DEBIAN_NODE_DESCRIPTION "GPU metrics for Prometheus, with the pod or job of each GPU
podgpu reads NVIDIA GPUs through DCGM or NVML and serves their values over
HTTP, with the names of dcgm-exporter. Each value of a GPU names the pod of
Kubernetes or the job of a batch system that holds the GPU. The package has
units for systemd and scripts for Slurm.")
set(CPACK_DEBIAN_SIM_PACKAGE_NAME podgpu-sim)
set(CPACK_DEBIAN_SIM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_SIM_DESCRIPTION "simulated GPU node, to try GPU exporters without a GPU
podgpu-sim simulates the libraries of NVIDIA's driver, a host engine of DCGM
and a kubelet, from a scenario file. Every number is invented. It is for
trying and testing podgpu and other clients of DCGM.")
include(CPack)
cpack_add_component_group(node)
cpack_add_component_group(sim)
cpack_add_component(podgpu GROUP node)
cpack_add_component(podgpu_files GROUP node)
cpack_add_component(podgpu_sim_files GROUP sim)

# -- tests, each a script that prints why it fails; 77 means that this machine cannot run it, and says why
foreach(test lintian content units socket slurm install boot)
  add_test(NAME package.${test} COMMAND "${PROJECT_SOURCE_DIR}/tests/package/${test}.sh" "${PROJECT_SOURCE_DIR}"
    "${PROJECT_BINARY_DIR}")
  set_tests_properties(package.${test} PROPERTIES LABELS package TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()
foreach(test install boot)
  set_tests_properties(package.${test} PROPERTIES FIXTURES_REQUIRED package_root)
endforeach()
add_test(NAME package.root COMMAND "${PROJECT_SOURCE_DIR}/tests/package/root.sh" "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
set_tests_properties(package.root PROPERTIES LABELS package TIMEOUT 600 SKIP_RETURN_CODE 77 FIXTURES_SETUP package_root)
