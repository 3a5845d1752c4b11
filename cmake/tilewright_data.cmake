# The data of tests and of the demonstration: archives of tests/data (README.md there), unpacked into
# the folder `data` of the build. A folder is made again when one of its archives has changed.
set(TILEWRIGHT_DATA_DIR ${PROJECT_BINARY_DIR}/data)
file(MAKE_DIRECTORY ${TILEWRIGHT_DATA_DIR})

# tilewright_unpacked(FOLDER ARCHIVE...): the target tilewright_data_FOLDER makes data/FOLDER, which
# all entries of the archives begin with.
function(tilewright_unpacked folder)
  set(archives "")
  set(unpack "")
  foreach(name IN LISTS ARGN)
    set(archive ${PROJECT_SOURCE_DIR}/tests/data/${name}.tar.xz)
    list(APPEND archives ${archive})
    list(APPEND unpack COMMAND ${CMAKE_COMMAND} -E tar xf ${archive})
  endforeach()
  add_custom_command(OUTPUT ${TILEWRIGHT_DATA_DIR}/${folder}/.unpacked
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    ${unpack}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/.unpacked
    DEPENDS ${archives} WORKING_DIRECTORY ${TILEWRIGHT_DATA_DIR}
    COMMENT "Unpacking data/${folder}" VERBATIM)
  add_custom_target(tilewright_data_${folder} DEPENDS ${TILEWRIGHT_DATA_DIR}/${folder}/.unpacked)
endfunction()

tilewright_unpacked(models language_models published_models published_adapters published_experts
  published_encoders)
tilewright_unpacked(corpus corpus_ops corpus_models)
