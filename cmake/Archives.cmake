# Outside libraries that the program of a release has inside it (docs/decisions/0007-static-libraries-in-the-release.md).
#
# podgpu_outside(NAME TARGETS shared... ARCHIVES files...) makes the library outside_NAME for the LINKS of a room.  With
# PODGPU_ARCHIVES a program with the property LINKS_ARCHIVES links Debian's archives; every other program, and all
# programs without that option, link the shared objects.  The simulator does so too: gRPC is not linked from archives,
# and no program has the same library twice.
option(PODGPU_ARCHIVES "link podgpu with Debian's archives of abseil, protobuf, yaml-cpp, RE2 and nghttp2" OFF)

function(podgpu_outside name)
  cmake_parse_arguments(arg "" "" "TARGETS;ARCHIVES" ${ARGN})
  add_library(outside_${name} INTERFACE)
  if(NOT PODGPU_ARCHIVES)
    target_link_libraries(outside_${name} INTERFACE ${arg_TARGETS})
    return()
  endif()
  set(chosen "$<BOOL:$<TARGET_PROPERTY:LINKS_ARCHIVES>>")
  foreach(target IN LISTS arg_TARGETS)
    target_link_libraries(outside_${name} INTERFACE "$<$<NOT:${chosen}>:${target}>")
  endforeach()
  string(JOIN "," archives ${arg_ARCHIVES})
  target_link_libraries(outside_${name} INTERFACE "$<${chosen}:$<LINK_GROUP:RESCAN,${archives}>>")
endfunction()

# podgpu_find_archives(OUT names...): the paths of lib<name>.a; a name may contain *.
function(podgpu_find_archives out)
  set(found "")
  if(PODGPU_ARCHIVES)
    find_library(PODGPU_RE2_ARCHIVE libre2.a REQUIRED)
    cmake_path(GET PODGPU_RE2_ARCHIVE PARENT_PATH folder)
    foreach(name IN LISTS ARGN)
      file(GLOB files "${folder}/lib${name}.a")
      if(NOT files)
        message(FATAL_ERROR "${folder}/lib${name}.a is not there; install the packages of tools/packages.txt")
      endif()
      list(APPEND found ${files})
    endforeach()
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

podgpu_find_archives(absl_archives "absl_*")
podgpu_find_archives(yaml_archives yaml-cpp)
podgpu_find_archives(re2_archives re2)
podgpu_find_archives(nghttp2_archives nghttp2)
podgpu_find_archives(protobuf_archives protobuf-lite)
podgpu_outside(absl TARGETS absl::status absl::statusor absl::str_format ARCHIVES ${absl_archives})
podgpu_outside(yaml TARGETS yaml-cpp ARCHIVES ${yaml_archives})
podgpu_outside(re2 TARGETS PkgConfig::re2 ARCHIVES ${re2_archives})
podgpu_outside(nghttp2 TARGETS PkgConfig::nghttp2 ARCHIVES ${nghttp2_archives})
podgpu_outside(protobuf TARGETS protobuf::libprotobuf-lite ARCHIVES ${protobuf_archives})
