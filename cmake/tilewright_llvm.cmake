# LLVM, linked statically, so that what is built needs nothing but libc at run time.
# Its exported targets name the compression libraries by targets of these names: defined here first,
# they are the static archives.
function(tilewright_static_library target archive)
  if(TARGET ${target})
    return()
  endif()
  find_library(path_of_${archive} NAMES lib${archive}.a ${archive} REQUIRED)
  mark_as_advanced(path_of_${archive})
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${path_of_${archive}})
endfunction()
tilewright_static_library(zstd::libzstd_shared zstd)
tilewright_static_library(ZLIB::ZLIB z)
find_package(LLVM 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/llvm)
llvm_map_components_to_libnames(TILEWRIGHT_LLVM_LIBRARIES
  orcjit x86codegen x86asmparser x86desc x86info aarch64codegen aarch64desc aarch64info nvptxcodegen nvptxdesc nvptxinfo passes core
  support)
