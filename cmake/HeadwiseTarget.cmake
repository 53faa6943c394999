# What every target of the project has in common.

# headwise_target(NAME): the language, the arithmetic (docs/arithmetic.md), the
# warnings and the sanitizers of one target.
function(headwise_target name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:
    -ffp-contract=off
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<BOOL:${HEADWISE_WERROR}>:-Werror>>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    # The kernels keep vectors in arrays, which vectors of no fixed size can't
    # be kept in.
    target_compile_definitions(${name} PRIVATE
      "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  endif()
  if(HEADWISE_SANITIZE)
    target_compile_options(${name} PRIVATE
      -fsanitize=${HEADWISE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${name} PUBLIC -fsanitize=${HEADWISE_SANITIZE})
  endif()
endfunction()

# headwise_library(NAME): a target that others link; 0.x breaks with each minor
# version.
function(headwise_library name)
  headwise_target(${name})
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()
