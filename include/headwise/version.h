// The version of these headers. CMake reads it from here.
#pragma once

#define HEADWISE_VERSION_MAJOR 0
#define HEADWISE_VERSION_MINOR 1
#define HEADWISE_VERSION_PATCH 0
#define HEADWISE_VERSION_STRING "0.1.0"

namespace headwise {

// The version of the library that was linked: "0.1.0".
const char* version();

}  // namespace headwise
