# The catalogues of headwise/words/language.h: each po/LANGUAGE.po, compiled by
# gettext's msgfmt and built in. A new file is a new language.
find_program(HEADWISE_MSGFMT msgfmt REQUIRED DOC "msgfmt of gettext")

file(GLOB catalogues CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/po/*.po)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogues})
set(generated ${CMAKE_CURRENT_BINARY_DIR}/words)
file(MAKE_DIRECTORY ${generated})
set(compiled "")
set(linguas "")
foreach(catalogue IN LISTS catalogues)
  cmake_path(GET catalogue STEM language)
  execute_process(
    COMMAND ${HEADWISE_MSGFMT} --check-format --endianness=little
      --output-file=${generated}/${language}.mo ${catalogue}
    COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND compiled ${generated}/${language}.mo)
  string(APPEND linguas "${language}\n")
endforeach()
file(CONFIGURE OUTPUT ${generated}/LINGUAS CONTENT "@linguas@" @ONLY)
embed_files(${generated}/catalogue_files.cc
  words/catalogue.h "headwise::inline HEADWISE_ABI::catalogue_file"
  ${generated}/LINGUAS ${compiled})
target_sources(headwise_files PRIVATE ${generated}/catalogue_files.cc)
