# Options that make memory defects harder to exploit.  They apply to the program and its in-process tests in every
# preset, not to the simulator.  tests/hardening_test.cc checks the built program.
add_library(podgpu_hardening INTERFACE)
target_compile_options(podgpu_hardening INTERFACE
  -fPIE -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero)
target_compile_definitions(podgpu_hardening INTERFACE _GLIBCXX_ASSERTIONS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  target_compile_options(podgpu_hardening INTERFACE -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_options(podgpu_hardening INTERFACE -mbranch-protection=standard)
endif()
# Fortified functions need optimisation, and they hide memory accesses from the sanitizers.
if(NOT PODGPU_SANITIZE AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  set(PODGPU_FORTIFIED ON)
  target_compile_options(podgpu_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
target_link_options(podgpu_hardening INTERFACE
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> -Wl,-z,relro,-z,now,-z,noexecstack)
