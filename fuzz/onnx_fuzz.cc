// Any bytes choose a model of ONNX and changes to it; what is read and run of
// it keeps the promises (tests/onnx/onnx/onnx_case.h).
#include <cstdint>
#include <cstdlib>
#include <span>

#include "onnx/onnx_case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const headwise::testing_support::OnnxCases kCases;
  static_cast<void>(kCases.run(std::span(data, size)));
  return 0;
}
