// A program of somebody who reads a model with headwise::models.
#include <headwise/models/language_model.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto model = hw::read_language_model("missing");
  if (model) {
    return 1;
  }
  std::cout << model.error().message() << '\n';
  return 0;
}
