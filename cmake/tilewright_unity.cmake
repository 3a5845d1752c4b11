# Unity builds: the sources of a folder are compiled several at a time, each batch as one source that
# includes them. Nearly all of a source's compile time goes to the standard headers that it parses,
# so a batch takes a third of the time of its parts. On in the presets that build everything once;
# off in `dev`, where one source is changed at a time.
#
# CMake's own UNITY_BUILD writes absolute paths into these sources, so that a second clone would find
# nothing in the compiler's cache; these name paths from the root. A batch never crosses a folder
# with enough sources of its own, so that adding a file changes few batches.
option(TILEWRIGHT_UNITY "Compile several sources of a folder at once" OFF)
set(TILEWRIGHT_UNITY_BATCH 8 CACHE STRING "Sources that are compiled at once, at most")
mark_as_advanced(TILEWRIGHT_UNITY_BATCH)

# Has the sources of a target compiled in batches. Runs when the folder that calls it has been read,
# since sources with properties of their own are left alone: flags, definitions, or
# SKIP_UNITY_BUILD_INCLUSION, which those have that two targets compile.
function(tilewright_unite target)
  if(TILEWRIGHT_UNITY)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL tilewright_write_batches ${target})")
  endif()
endfunction()

function(tilewright_write_batches target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(plain "")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    set(is_plain TRUE)
    foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES HEADER_FILE_ONLY
        SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(value ${source} ${property})
      if(value)
        set(is_plain FALSE)
      endif()
    endforeach()
    if(is_plain)
      list(APPEND plain ${source})
    endif()
  endforeach()
  list(SORT plain)
  set(batch "")
  set(batch_folder "")
  foreach(source IN LISTS plain)
    cmake_path(GET source PARENT_PATH source_folder)
    list(LENGTH batch count)
    if(count GREATER_EQUAL TILEWRIGHT_UNITY_BATCH
        OR (count GREATER 2 AND NOT source_folder STREQUAL batch_folder))
      tilewright_write_batch(${target} ${batch})
      set(batch "")
    endif()
    list(APPEND batch ${source})
    set(batch_folder ${source_folder})
  endforeach()
  if(batch)
    tilewright_write_batch(${target} ${batch})
  endif()
endfunction()

# One batch, named after its first source.
function(tilewright_write_batch target first)
  if(NOT ARGN)
    return()
  endif()
  set(text "")
  foreach(source IN LISTS first ARGN)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  cmake_path(RELATIVE_PATH first BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
  set(united ${PROJECT_BINARY_DIR}/unity/${target}/${name})
  file(CONFIGURE OUTPUT ${united} CONTENT "${text}" @ONLY)
  set_source_files_properties(${first} ${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE ${united})
endfunction()
