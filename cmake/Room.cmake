# A room is one folder of src/.  podgpu_room(NAME FOLDERS sub-folders... USES other rooms... LINKS outside libraries...)
# makes its static library and, from the suffixes of its files, its test, fuzz and benchmark programs.  The files of
# its FOLDERS belong to the same library and programs; a folder may include from the folders listed before it.
# CMake finds files by suffix, so a new file needs no change of a build file.  The USES lines are the architecture:
# tools/tidy reads them and refuses an include that they do not allow.
#
# Presets other than dev and fuzz join the sources of a target (CMAKE_UNITY_BUILD): a first build takes a third
# of the time.  So private names must differ within a target; only dev shows a missing include.

# Seconds after which ctest ends a test: far above the duration of any test, so this ends a test that hangs, and does not judge
# its speed.  Under QEMU a test takes ten times as long.
set(podgpu_test_limit 600)
if(CMAKE_CROSSCOMPILING)
  set(podgpu_test_limit 3600)
endif()

set(PODGPU_SANITIZE "" CACHE STRING "sanitizers for instrumented targets, as -fsanitize= takes them")
option(PODGPU_WERROR "warnings are errors" OFF)
option(PODGPU_FUZZ "build the fuzz programs (needs clang)" OFF)
option(PODGPU_BENCH "build the benchmark programs, where Google Benchmark is installed" OFF)
option(PODGPU_TIDY "check libraries and programs with clang-tidy; no tests are built" OFF)

if(PODGPU_TIDY)
  find_program(CLANG_TIDY clang-tidy-16 REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY "${PROJECT_SOURCE_DIR}/tools/tidy/clang_tidy")
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/tools/tidy/compile")
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
endif()
if(PODGPU_BENCH AND NOT benchmark_FOUND)
  set(PODGPU_BENCH OFF)
endif()
add_custom_target(benches)
add_custom_target(fuzzers)
add_custom_target(unit_tests)

# Warnings for all of our own code.
add_library(podgpu_warnings INTERFACE)
target_compile_options(podgpu_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wformat=2 -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wreserved-identifier>
  $<$<BOOL:${PODGPU_WERROR}>:-Werror>)

# Options of every object; #include paths of our headers begin at src/ or at the root.
add_library(podgpu_plain INTERFACE)
target_include_directories(podgpu_plain INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
target_link_libraries(podgpu_plain INTERFACE podgpu_warnings)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_options(podgpu_plain INTERFACE -fsigned-char)  # As on amd64: code that reads bytes has one meaning.
endif()

# The same plus the sanitizers of the preset: for the program and in-process tests, never for the simulator's
# shared objects and programs.  tsan compiles those as the preset test does, so that its objects are reused; instrumented
# code is compiled without optimisation, which takes half the time.
add_library(podgpu_instrumented INTERFACE)
include(cmake/Hardening.cmake)
target_link_libraries(podgpu_instrumented INTERFACE podgpu_plain podgpu_hardening)
if(PODGPU_SANITIZE)
  target_compile_options(podgpu_instrumented INTERFACE
    $<$<CONFIG:Debug>:-O0> -fsanitize=${PODGPU_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # clang's check of an object's type needs a free descriptor, and some tests leave none.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=vptr>)
  target_link_options(podgpu_instrumented INTERFACE -fsanitize=${PODGPU_SANITIZE})
  foreach(sanitizer address thread)
    if(PODGPU_SANITIZE MATCHES "${sanitizer}")  # For tests: only newer versions of clang define such a macro.
      string(TOUPPER "PODGPU_${sanitizer}_SANITIZER" macro)
      target_compile_definitions(podgpu_instrumented INTERFACE ${macro})
    endif()
  endforeach()
endif()
if(PODGPU_FUZZ)
  target_compile_options(podgpu_instrumented INTERFACE -fsanitize=fuzzer-no-link)
endif()
include(cmake/Placement.cmake)

# podgpu_collect(FOLDER pattern OUT sub-folders...): the files of a folder and of the listed sub-folders.
function(podgpu_collect folder pattern out)
  set(patterns "${folder}/${pattern}")
  foreach(below IN LISTS ARGN)
    list(APPEND patterns "${folder}/${below}/${pattern}")
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${patterns})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# podgpu_test(NAME label SOURCES ... LINKS ... [ONLY configuration] [NOT_UNDER pattern]): one GoogleTest program is one
# ctest entry.  With ONLY it is built by its name alone, and ctest runs it only with -C configuration.  With NOT_UNDER
# it is left out under the sanitizers that match the pattern.
function(podgpu_test name label)
  cmake_parse_arguments(arg "" "ONLY;NOT_UNDER" "SOURCES;LINKS" ${ARGN})
  if(PODGPU_FUZZ OR PODGPU_TIDY OR (arg_NOT_UNDER AND PODGPU_SANITIZE MATCHES "${arg_NOT_UNDER}"))
    add_custom_target(${name})  # Nothing to build, but a name that dependencies may use.
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE podgpu_instrumented ${arg_LINKS} GTest::gtest_main)
  # Compiling a test takes longer than running it.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  target_compile_definitions(${name} PRIVATE
    PODGPU_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PODGPU_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set(only "")
  if(arg_ONLY)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    set(only CONFIGURATIONS ${arg_ONLY})
  endif()
  add_test(NAME ${label}.${name} COMMAND ${name} ${only})
  if(label STREQUAL "unit")
    add_dependencies(unit_tests ${name})
  endif()
  set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${podgpu_test_limit})
endfunction()

# podgpu_shards(NAME label COUNT): runs the tests of a long program in COUNT ctest entries, which start first.
function(podgpu_shards name label count)
  get_target_property(type ${name} TYPE)
  if(NOT type STREQUAL "EXECUTABLE")
    return()
  endif()
  foreach(shard RANGE 1 ${count})
    set(entry ${label}.${name})
    if(shard GREATER 1)
      string(APPEND entry .${shard})
      add_test(NAME ${entry} COMMAND ${name})
    endif()
    math(EXPR index "${shard} - 1")
    set_tests_properties(${entry} PROPERTIES LABELS ${label} TIMEOUT 1800 COST 600
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# podgpu_fuzz(NAME source LINKS ...): in the fuzz preset a libFuzzer program; in all other presets a program
# that replays tests/corpus/NAME as a test.
function(podgpu_fuzz name source)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  if(PODGPU_TIDY OR PODGPU_SANITIZE MATCHES "thread")  # It has one thread.
    return()
  endif()
  set(corpus "${PROJECT_SOURCE_DIR}/tests/corpus/${name}")
  if(PODGPU_FUZZ)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE podgpu_instrumented ${arg_LINKS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
    add_test(NAME fuzz.${name} COMMAND ${name} -runs=2000 -max_len=65536 "${PROJECT_BINARY_DIR}/new/${name}" "${corpus}")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/new/${name}")
  else()
    add_executable(${name}_replay ${source} "${PROJECT_SOURCE_DIR}/tests/replay_main.cc")
    target_link_libraries(${name}_replay PRIVATE podgpu_instrumented ${arg_LINKS})
    add_test(NAME fuzz.${name} COMMAND ${name}_replay "${corpus}")
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz)
endfunction()

function(podgpu_room name)
  cmake_parse_arguments(arg "" "" "FOLDERS;USES;LINKS;TEST_USES" ${ARGN})
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  podgpu_collect("${folder}" "*.cc" sources ${arg_FOLDERS})
  podgpu_collect("${folder}" "*.h" headers ${arg_FOLDERS})
  podgpu_collect("${folder}" "*_test.cc" tests ${arg_FOLDERS})
  podgpu_collect("${folder}" "*_fuzz.cc" fuzzers ${arg_FOLDERS})
  podgpu_collect("${folder}" "*_bench.cc" benches ${arg_FOLDERS})
  set(library_sources ${sources})
  list(REMOVE_ITEM library_sources ${tests} ${fuzzers} ${benches} "")
  list(TRANSFORM arg_USES PREPEND podgpu_ OUTPUT_VARIABLE uses)
  list(TRANSFORM arg_TEST_USES PREPEND podgpu_ OUTPUT_VARIABLE test_uses)

  if(library_sources)
    add_library(podgpu_${name} STATIC ${library_sources})
    set(scope PUBLIC)
    target_link_libraries(podgpu_${name} PRIVATE podgpu_instrumented)
  else()
    add_library(podgpu_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(podgpu_${name} ${scope} "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(podgpu_${name} ${scope} ${uses} ${arg_LINKS})
  target_sources(podgpu_${name} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${headers})

  if(PODGPU_TIDY)
    return()
  endif()

  # testing/ of a room has its fakes: the room's own tests link them, other rooms' tests name them as <room>_testing
  # under TEST_USES.  Each lib*.cc there becomes a shared object build/<preset>/lib/testing/<stem>.so that tests open.
  podgpu_collect("${folder}/testing" "*.cc" support)
  podgpu_collect("${folder}/testing" "lib*.cc" objects)
  list(REMOVE_ITEM support ${objects} "")
  set(own_testing "")
  if(support)
    add_library(podgpu_${name}_testing STATIC ${support})
    target_link_libraries(podgpu_${name}_testing PUBLIC podgpu_${name} PRIVATE podgpu_instrumented)
    set(own_testing podgpu_${name}_testing)
  endif()

  if(tests AND NOT (PODGPU_SANITIZE MATCHES "thread" AND name IN_LIST podgpu_rooms_without_threads))
    podgpu_test(${name}_test unit SOURCES ${tests} LINKS podgpu_${name} ${own_testing} ${test_uses})
  endif()
  foreach(object IN LISTS objects)
    cmake_path(GET object STEM stem)
    add_library(${stem} MODULE "${object}")
    set_target_properties(${stem} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/testing")
    target_link_libraries(${stem} PRIVATE podgpu_plain)
    if(TARGET ${name}_test)
      add_dependencies(${name}_test ${stem})
    endif()
  endforeach()
  foreach(fuzzer IN LISTS fuzzers)
    cmake_path(GET fuzzer STEM stem)
    podgpu_fuzz(${stem} "${fuzzer}" LINKS podgpu_${name} ${test_uses})
  endforeach()
  if(benches AND PODGPU_BENCH)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE podgpu_instrumented podgpu_${name} ${own_testing} ${test_uses} benchmark::benchmark_main)
    add_dependencies(benches ${name}_bench)
  endif()
endfunction()
