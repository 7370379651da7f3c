# podgpu_embed(TARGET HEADER FUNCTION FOLDER [PATTERN]): makes a source file with the text of every file in FOLDER whose
# name matches PATTERN (all without it), and adds it to TARGET.  The source defines FUNCTION, which HEADER declares:
# std::span<const EmbeddedFile> FUNCTION().  When a file changes, the next build embeds it again.  As a script (cmake -P)
# this file writes that source file.

if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files "${FOLDER}/${PATTERN}")
  list(SORT files)
  set(rows "")
  foreach(path IN LISTS files)
    file(READ "${path}" text)
    if(text MATCHES "\\)embedded\"")
      message(FATAL_ERROR "${path}: the text contains the end mark of the raw literal that embeds it")
    endif()
    cmake_path(GET path FILENAME name)
    string(APPEND rows "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace podgpu {

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace podgpu
")
  return()
endif()

function(podgpu_embed target header function folder)
  set(pattern "*")
  if(ARGC GREATER 4)
    set(pattern "${ARGV4}")
  endif()
  podgpu_collect("${folder}" "${pattern}" files)
  set(output "${PROJECT_BINARY_DIR}/embedded/${function}.cc")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DPATTERN=${pattern}" "-DOUTPUT=${output}" "-DHEADER=${header}"
      "-DFUNCTION=${function}" -P "${PROJECT_SOURCE_DIR}/cmake/Embed.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/Embed.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  set_source_files_properties("${output}" PROPERTIES SKIP_LINTING ON)
endfunction()
