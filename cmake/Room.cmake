# A room is one folder of src/.  podgpu_room(NAME FOLDERS sub-folders... USES other rooms... LINKS outside libraries...)
# makes its static library and, from the suffixes of its files, its test, fuzz and benchmark programs.  The files of
# its FOLDERS belong to the same library and programs; a folder may include from the folders listed before it.
# CMake finds files by suffix, so a new file needs no change of a build file.  The USES lines are the architecture:
# tools/tidy reads them and refuses an include that they do not allow.
#
# Presets other than dev and mutate join the sources of a target (CMAKE_UNITY_BUILD): a first build takes much less
# time.  So private names must differ within a target; only dev shows a missing include.

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

# Seconds after which ctest ends a test that hangs: far above the duration of any test, so this does not judge its speed.  Under a
# sanitizer or QEMU a test takes ten times as long.
set(podgpu_unit_limit 120)
set(podgpu_test_limit 300)
if(CMAKE_CROSSCOMPILING OR PODGPU_SANITIZE)
  set(podgpu_unit_limit 1200)
  set(podgpu_test_limit 3000)
endif()

# Tests run in the root of the repository and name its files from there, and programs and libraries that were built under
# PODGPU_BINARY_DIR.  No object has the path of the clone in it, so ccache has objects for all clones.
cmake_path(RELATIVE_PATH PROJECT_BINARY_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE built)
add_library(podgpu_built INTERFACE)
target_compile_definitions(podgpu_built INTERFACE PODGPU_BINARY_DIR="${built}")

# podgpu_collect(FOLDER pattern OUT sub-folders...): the files of a folder and of the listed sub-folders.
function(podgpu_collect folder pattern out)
  set(patterns "${folder}/${pattern}")
  foreach(below IN LISTS ARGN)
    list(APPEND patterns "${folder}/${below}/${pattern}")
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${patterns})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# podgpu_test(NAME label SOURCES ... LINKS ... [SHARDS count] [CHECK step] [PROGRAM program] [NOT_UNDER pattern]): the tests of
# some sources and their entry of ctest, or SHARDS entries, each with a part of the tests; these start first.
#
# The sources are the GoogleTest program NAME, or a part of PROGRAM, which has the sources of several tests: to read the headers
# once takes less time.  With CHECK it belongs to a step of ./dev check: the target check_STEP builds it, and ctest -C Check
# -L check_STEP runs it; under the sanitizers it is a test like all others.  With NOT_UNDER it is left out under the sanitizers
# that match the pattern.
function(podgpu_test name label)
  cmake_parse_arguments(arg "" "SHARDS;CHECK;PROGRAM;NOT_UNDER" "SOURCES;LINKS" ${ARGN})
  if(PODGPU_FUZZ OR PODGPU_TIDY OR (arg_NOT_UNDER AND PODGPU_SANITIZE MATCHES "${arg_NOT_UNDER}"))
    add_custom_target(${name})  # Nothing to build, but a name that dependencies may use.
    return()
  endif()
  set(command ${name})
  if(arg_PROGRAM)
    podgpu_test_suites(filter ${arg_SOURCES})
    set(command ${arg_PROGRAM} "--gtest_filter=${filter}")
    add_custom_target(${name} ALL DEPENDS ${arg_PROGRAM})
  else()
    set(arg_PROGRAM ${name})
  endif()
  if(NOT TARGET ${arg_PROGRAM})
    podgpu_test_program(${arg_PROGRAM})
  endif()
  target_sources(${arg_PROGRAM} PRIVATE ${arg_SOURCES})
  target_link_libraries(${arg_PROGRAM} PRIVATE ${arg_LINKS})
  if(label STREQUAL "unit")
    add_dependencies(unit_tests ${name})
  endif()
  podgpu_check_step("${arg_CHECK}" ${name} only labels)
  list(PREPEND labels ${label})
  set(entry ${label}.${name})
  set(limit ${podgpu_test_limit})
  if(label STREQUAL "unit")
    set(limit ${podgpu_unit_limit})
  endif()
  list(APPEND only WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  add_test(NAME ${entry} COMMAND ${command} ${only})
  set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT ${limit})
  if(arg_SHARDS)
    podgpu_shards("${command}" ${entry} ${arg_SHARDS} "${only}" "${labels}" ${limit})
  endif()
endfunction()

# podgpu_test_program(NAME): a GoogleTest program without sources.
function(podgpu_test_program name)
  add_executable(${name})
  target_link_libraries(${name} PRIVATE podgpu_instrumented podgpu_built GTest::gtest_main)
  # Compiling a test takes longer than running it.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
endfunction()

# podgpu_test_suites(OUT sources...): GoogleTest's filter that selects the tests of these sources.  GoogleTest passes when a filter
# selects nothing, so a test whose suite is not found here is an error.
function(podgpu_test_suites out)
  set(filter "")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" tests REGEX "(^|[^A-Z_])TEST(_F|_P)?\\(")
    foreach(test IN LISTS tests)
      if(NOT test MATCHES "^TEST(_F|_P)?\\(([A-Za-z0-9]+),")
        message(FATAL_ERROR "${source}: no suite in the line \"${test}\"; a test begins with TEST(Suite, in one line")
      endif()
      list(APPEND filter "${CMAKE_MATCH_2}.*" "*/${CMAKE_MATCH_2}.*")
    endforeach()
  endforeach()
  if(NOT filter)
    message(FATAL_ERROR "no test in ${ARGN}")
  endif()
  list(REMOVE_DUPLICATES filter)
  list(JOIN filter ":" filter)
  set(${out} "${filter}" PARENT_SCOPE)
endfunction()

# podgpu_shards(COMMAND entry COUNT only labels limit): divides the tests of the entry among COUNT entries.
function(podgpu_shards command entry count only labels limit)
  foreach(shard RANGE 1 ${count})
    set(part ${entry})
    if(shard GREATER 1)
      set(part ${entry}.${shard})
      add_test(NAME ${part} COMMAND ${command} ${only})
    endif()
    math(EXPR index "${shard} - 1")
    set_tests_properties(${part} PROPERTIES LABELS "${labels}" TIMEOUT ${limit} COST 600
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# podgpu_check_step(STEP target ONLY LABELS): makes the target a part of a step of ./dev check, or of all if STEP is empty, and
# returns the arguments of add_test and the labels for that.
function(podgpu_check_step step target only labels)
  set(${only} "" PARENT_SCOPE)
  set(${labels} "" PARENT_SCOPE)
  if(NOT step OR PODGPU_SANITIZE)
    return()
  endif()
  if(NOT TARGET check_${step})
    add_custom_target(check_${step})
  endif()
  add_dependencies(check_${step} ${target})
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  set(${only} CONFIGURATIONS Check PARENT_SCOPE)
  set(${labels} check_${step} PARENT_SCOPE)
endfunction()

# podgpu_fuzz(NAME source LINKS ...): in the fuzz preset a libFuzzer program; in all other presets a part of fuzz_replay.
function(podgpu_fuzz name source)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  if(PODGPU_TIDY OR PODGPU_SANITIZE MATCHES "thread")  # It has one thread.
    return()
  endif()
  if(NOT PODGPU_FUZZ)
    set_property(GLOBAL APPEND PROPERTY podgpu_fuzz_sources "${source}")
    set_property(GLOBAL APPEND PROPERTY podgpu_fuzz_links ${arg_LINKS})
    return()
  endif()
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE podgpu_instrumented ${arg_LINKS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  add_test(NAME fuzz.${name} COMMAND ${name} -runs=2000 -max_len=65536 "${PROJECT_BINARY_DIR}/new/${name}"
    "${PROJECT_SOURCE_DIR}/tests/corpus/${name}")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/new/${name}")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${podgpu_unit_limit})
endfunction()

# podgpu_fuzz_replay(): the program fuzz_replay, which replays tests/corpus/NAME through the target NAME, for all targets of
# podgpu_fuzz before it, and a test for each.  All targets are one source: their headers take longer than they.
function(podgpu_fuzz_replay)
  get_property(sources GLOBAL PROPERTY podgpu_fuzz_sources)
  get_property(links GLOBAL PROPERTY podgpu_fuzz_links)
  if(NOT sources)
    return()
  endif()
  set(text "// Generated: each target's entry gets the name of its file.\n")
  set(table "#include \"tests/fuzz_replay.h\"\nconst FuzzTarget kFuzzTargets[] = {\n")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(APPEND text "#define LLVMFuzzerTestOneInput ${name}\n#include \"${source}\"\n#undef LLVMFuzzerTestOneInput\n")
    string(APPEND table "  {\"${name}\", ${name}},\n")
    add_test(NAME fuzz.${name} COMMAND fuzz_replay ${name} "${PROJECT_SOURCE_DIR}/tests/corpus/${name}")
    set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${podgpu_unit_limit})
  endforeach()
  file(CONFIGURE OUTPUT fuzz_targets.cc CONTENT "${text}${table}};\nconst size_t kFuzzTargetCount = std::size(kFuzzTargets);\n" @ONLY)
  add_executable(fuzz_replay "${CMAKE_CURRENT_BINARY_DIR}/fuzz_targets.cc" fuzz_replay.cc)
  list(REMOVE_DUPLICATES links)
  target_link_libraries(fuzz_replay PRIVATE podgpu_instrumented ${links})
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
