# Installs the headers that <tilewright/tilewright.h> reaches, the C interface, and no other, under one
# folder.
#
# In the tree an include is written from the root of the repository ("graph/tensor/tensor.h"); a user's
# include path has it under tilewright/, so the prefix is rewritten on the way.
# Reads TILEWRIGHT_SOURCE_DIR, writes to TILEWRIGHT_INCLUDE_DIR.
cmake_policy(VERSION 3.25)
set(to_visit include/tilewright/tilewright.h include/tilewright/c_api.h)
set(visited "")
while(to_visit)
  list(POP_FRONT to_visit header)
  if(header IN_LIST visited)
    continue()
  endif()
  list(APPEND visited ${header})
  file(READ ${TILEWRIGHT_SOURCE_DIR}/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" included "${line}")
    list(APPEND to_visit ${included})
  endforeach()
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include \"tilewright/\\1\"" text "${text}")
  string(REGEX REPLACE "^include/tilewright/" "" installed ${header})
  set(target ${TILEWRIGHT_INCLUDE_DIR}/tilewright/${installed})
  file(WRITE ${target} "${text}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${target})
endwhile()
list(LENGTH visited count)
message(STATUS "Installed ${count} headers under ${TILEWRIGHT_INCLUDE_DIR}/tilewright")
