// The version of these headers, which CMake reads from this file, and the
// namespace named after it.
#pragma once

#define HEADWISE_VERSION_MAJOR 0
#define HEADWISE_VERSION_MINOR 1
#define HEADWISE_VERSION_PATCH 0
#define HEADWISE_VERSION_STRING "0.1.0"

// headwise::v0_1, inline: code says headwise::Tensor, the linker sees
// headwise::v0_1::Tensor. A program built with one minor version's headers does
// not link with another's library.
#define HEADWISE_ABI \
  HEADWISE_ABI_OF(HEADWISE_VERSION_MAJOR, HEADWISE_VERSION_MINOR)
#define HEADWISE_ABI_OF(major, minor) HEADWISE_ABI_NAME(major, minor)
#define HEADWISE_ABI_NAME(major, minor) v##major##_##minor

// A shared library exports what public headers declare between the visibility
// pragmas. g++ needs this as well on a function template that a source file
// defines.
#define HEADWISE_EXPORT [[gnu::visibility("default")]]
// On what such a header declares for a source file alone: a class, or a private
// function.
#define HEADWISE_HIDDEN [[gnu::visibility("hidden")]]

// What one component of the library calls in another, by private headers.
namespace headwise::internal::inline HEADWISE_ABI {}
namespace headwise {
using namespace internal;  // NOLINT(google-build-using-namespace)
}

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The version of the library that was linked: "0.1.0".
const char* version();

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
