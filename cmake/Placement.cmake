# Where the functions of the released program lie in memory (docs/decisions/0009-functions-in-the-order-of-use.md).
#
# The linker puts the functions of function_order.txt first, side by side, so that a node maps the pages of these and not
# pages all over the program; it drops functions and data that nothing uses, and packs the relocations.  The list needs no
# care: a name that the program lacks changes nothing, and a function that the list lacks comes after the others.
# ./dev function-order makes a new one.
#
# GNU's ld cannot take such a list, and gold cannot pack relocations; lld of Debian 12's LLVM 16 can do both.
option(PODGPU_PLACE "link podgpu with its functions in the order of use" OFF)
if(PODGPU_PLACE)
  find_program(PODGPU_LLD ld.lld PATHS /usr/lib/llvm-16/bin NO_DEFAULT_PATH)
  if(NOT PODGPU_LLD)
    message(FATAL_ERROR "/usr/lib/llvm-16/bin/ld.lld is not there; install the packages of tools/packages.txt")
  endif()
  target_compile_options(podgpu_instrumented INTERFACE -ffunction-sections -fdata-sections)
endif()

# podgpu_place(TARGET): links a program so.
function(podgpu_place target)
  if(NOT PODGPU_PLACE)
    return()
  endif()
  set(order "${PROJECT_SOURCE_DIR}/cmake/function_order.txt")
  cmake_path(GET PODGPU_LLD PARENT_PATH folder)
  target_link_options(${target} PRIVATE -B${folder} -fuse-ld=lld
    LINKER:--symbol-ordering-file=${order},--no-warn-symbol-ordering,--gc-sections,-O2
    LINKER:-z,pack-relative-relocs,-z,separate-code)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${order}")
endfunction()
