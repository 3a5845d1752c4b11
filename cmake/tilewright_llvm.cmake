# LLVM, linked statically, so that what is built needs nothing but libc at run time.
find_package(zstd QUIET)
if(NOT TARGET zstd::libzstd_shared)
  add_library(zstd::libzstd_shared UNKNOWN IMPORTED)
  find_library(TILEWRIGHT_ZSTD NAMES libzstd.a zstd REQUIRED)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${TILEWRIGHT_ZSTD})
endif()
find_package(LLVM 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/llvm)
llvm_map_components_to_libnames(TILEWRIGHT_LLVM_LIBRARIES
  orcjit x86codegen x86asmparser x86desc x86info passes core support)
