// A program of somebody who runs ONNX models, where the model is missing.
#include <headwise/onnx/model.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto model = hw::OnnxModel::read("missing.onnx");
  if (model) {
    return 1;
  }
  std::cout << model.error().message() << '\n';
  return 0;
}
