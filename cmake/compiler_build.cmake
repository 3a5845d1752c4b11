# Writes a header that names this build of the compiler: a hash over the sources between a graph and
# machine code. The header changes only if the hash does.
# Reads TILEWRIGHT_SOURCE_DIR, TILEWRIGHT_VERSION, TILEWRIGHT_LLVM_VERSION, TILEWRIGHT_HEADER.
cmake_policy(VERSION 3.25)
set(names "")
foreach(folder dsl graph/passes graph/fuse graph/lower)
  file(GLOB_RECURSE found RELATIVE ${TILEWRIGHT_SOURCE_DIR}
    ${TILEWRIGHT_SOURCE_DIR}/${folder}/*.cpp ${TILEWRIGHT_SOURCE_DIR}/${folder}/*.h
    ${TILEWRIGHT_SOURCE_DIR}/${folder}/*.def)
  list(APPEND names ${found})
endforeach()
list(SORT names)
set(all "")
foreach(name IN LISTS names)
  file(SHA256 ${TILEWRIGHT_SOURCE_DIR}/${name} hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
set(text "// Written by cmake/compiler_build.cmake.
#define TILEWRIGHT_VERSION \"${TILEWRIGHT_VERSION}\"
#define TILEWRIGHT_LLVM_VERSION \"${TILEWRIGHT_LLVM_VERSION}\"
#define TILEWRIGHT_COMPILER_SOURCES \"${hash}\"
")
if(EXISTS ${TILEWRIGHT_HEADER})
  file(READ ${TILEWRIGHT_HEADER} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${TILEWRIGHT_HEADER} "${text}")
endif()
