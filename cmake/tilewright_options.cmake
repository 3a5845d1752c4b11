# How every target of the library is compiled.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_program(TILEWRIGHT_CCACHE ccache)
if(TILEWRIGHT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # Results of other clones are reused: paths are given relative to the root.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 ${TILEWRIGHT_CCACHE})
endif()

# Names of files in what is compiled begin at the root, also where the cache tells paths from the
# build folder.
file(RELATIVE_PATH way_to_sources ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
add_library(tilewright_options INTERFACE)
target_compile_features(tilewright_options INTERFACE cxx_std_20)
target_compile_options(tilewright_options INTERFACE
  -Wall -Wextra -Werror=switch -Wno-missing-field-initializers -Wno-restrict -ffunction-sections -fdata-sections
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${way_to_sources}/=)
target_include_directories(tilewright_options INTERFACE ${PROJECT_SOURCE_DIR})
# LLVM's own linker takes a quarter of the time that the default one does for a program with LLVM in.
find_program(TILEWRIGHT_LLD ld.lld HINTS /usr/lib/llvm-22/bin)
if(TILEWRIGHT_LLD)
  cmake_path(GET TILEWRIGHT_LLD PARENT_PATH lld_folder)
  target_link_options(tilewright_options INTERFACE -B${lld_folder} -fuse-ld=lld)
endif()
# The linker resolves all symbols at the start and then makes the table read-only.
target_link_options(tilewright_options INTERFACE -Wl,-z,relro -Wl,-z,now)
# Compiler checks against overflows of our own buffers and jumps to unexpected places.
if(TILEWRIGHT_HARDEN)
  target_compile_options(tilewright_options INTERFACE -fstack-protector-strong
    "$<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fcf-protection TILEWRIGHT_HAS_CF_PROTECTION)
  if(TILEWRIGHT_HAS_CF_PROTECTION)
    target_compile_options(tilewright_options INTERFACE -fcf-protection)
  endif()
endif()
# Two checks are off, which the address sanitizer makes nearly needless: a null pointer that is used
# ends the program there, and few types of the library have virtual functions. They take a sixth of
# the sanitized library's compile time.
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tilewright_options INTERFACE
    -fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
    -fno-sanitize=null,vptr
    $<$<BOOL:$<TARGET_PROPERTY:TILEWRIGHT_IS_TEST>>:-fno-sanitize=undefined>)
  target_link_options(tilewright_options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
endif()

# A room: a library of all sources under the folder that calls this.
function(tilewright_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  if(ARGN)
    list(FILTER sources EXCLUDE REGEX ${ARGN})
  endif()
  if(sources)
    add_library(tilewright_${name} STATIC ${sources})
    target_link_libraries(tilewright_${name} PUBLIC tilewright_options)
    tilewright_unite(tilewright_${name})
  else()
    add_library(tilewright_${name} INTERFACE)
    target_link_libraries(tilewright_${name} INTERFACE tilewright_options)
  endif()
endfunction()

# The libraries that a room links to; a room without sources passes them all on.
function(tilewright_links name)
  cmake_parse_arguments(LINK "" "" "PUBLIC;PRIVATE" ${ARGN})
  get_target_property(type tilewright_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(tilewright_${name} INTERFACE ${LINK_PUBLIC} ${LINK_PRIVATE})
  else()
    target_link_libraries(tilewright_${name} PUBLIC ${LINK_PUBLIC} PRIVATE ${LINK_PRIVATE})
  endif()
endfunction()
