// A random model, most often changed at random, which is read and run: what
// happens must be what the documents promise. A broken promise aborts the
// program with a line on stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "headwise/interop/array.h"
#include "onnx/choices.h"
#include "onnx/model_maker.h"

namespace headwise::testing_support {

struct OnnxVerdict {
  bool changed = false;  // not as it was made
  bool read = false;
  bool ran = false;
};

// Makes a folder for the models and the files of external data, and removes it.
class OnnxCases {
 public:
  OnnxCases();
  ~OnnxCases();
  OnnxCases(const OnnxCases&) = delete;
  OnnxCases& operator=(const OnnxCases&) = delete;

  // The bytes make all choices.
  OnnxVerdict run(std::span<const std::uint8_t> bytes) const;

 private:
  OnnxVerdict run_model(Choices& choices) const;
  OnnxVerdict read_tensor(Choices& choices) const;
  void write(const std::string& bytes) const;

  std::string folder_;
  std::string file_;  // the model or the tensor
};

}  // namespace headwise::testing_support
