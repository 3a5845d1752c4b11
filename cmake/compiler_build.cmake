# Writes a header that names this build of the compiler: a hash over all sources of runtime, dsl and
# graph but those that are left out below, over the compiler that built them, and over its flags. A
# tuning measurement holds for one such build. Everything that affects code or its time must
# therefore be hashed; anything hashed without need costs a new measurement. The header changes only
# if the hash does.
# Reads TILEWRIGHT_SOURCE_DIR, TILEWRIGHT_VERSION, TILEWRIGHT_LLVM_VERSION, TILEWRIGHT_COMPILER
# (what compiles, and its flags), TILEWRIGHT_HEADER.
cmake_policy(VERSION 3.25)

# No code is made here, nor launched: a source may be left out for one of these reasons only. Tests
# want that each line leaves something out (tests/house/compiler_build_test.sh).
set(left_out
  "^dsl/emulator/"                      # runs GPUs' code on the host; its times say nothing
  "^dsl/interpret/"                     # defines the language; compiled code never runs it
  "^dsl/codegen/gpu/emulate/program_observers\\." # tells tests of programs
  "^graph/(compile/reports/plan_report|ir/print|ir/parse|ir/dot)\\.cpp$" # graphs and plans as text
  "^graph/ir/text_line\\.h$"            # how texts are read
  "^graph/regions/text/"                # tasks and regions as text
  "^graph/regions/reference/"           # rules and meaning of tasks: nothing is decided by them
  "^graph/functions/(dlpack|dlpack_layout)\\." # tensors of others
  "^graph/ir/evaluate"                  # defines graphs; compiled code never runs it
  "^graph/ir/bgl\\.h$"                  # a view of graphs for algorithms of analysis
  "^graph/tune/plan_lock\\."            # choices as a file
  "^(runtime/package|graph/compile/packages)/" # plans as files
  "^runtime/(trace|nvtx)\\."            # what profilers hear
  "^runtime/(cache_folder|kept/entry_(store|turn))\\." # where things are kept
  "^runtime/base/(env|error)\\."         # settings, messages
  "^runtime/files/atomic_file\\."        # how files are written
)

file(GLOB_RECURSE names RELATIVE ${TILEWRIGHT_SOURCE_DIR}
  ${TILEWRIGHT_SOURCE_DIR}/runtime/*.cpp ${TILEWRIGHT_SOURCE_DIR}/runtime/*.h
  ${TILEWRIGHT_SOURCE_DIR}/runtime/*.def ${TILEWRIGHT_SOURCE_DIR}/dsl/*.cpp
  ${TILEWRIGHT_SOURCE_DIR}/dsl/*.h ${TILEWRIGHT_SOURCE_DIR}/dsl/*.def
  ${TILEWRIGHT_SOURCE_DIR}/graph/*.cpp ${TILEWRIGHT_SOURCE_DIR}/graph/*.h
  ${TILEWRIGHT_SOURCE_DIR}/graph/*.def)
foreach(pattern IN LISTS left_out)
  list(LENGTH names before)
  list(FILTER names EXCLUDE REGEX ${pattern})
  list(LENGTH names after)
  if(before EQUAL after)
    message(WARNING "cmake/compiler_build.cmake leaves out ${pattern}, which no source is")
  endif()
endforeach()
list(SORT names)
set(all "${TILEWRIGHT_COMPILER}\n")
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
