// A program of somebody who reads a model with headwise::models.
#include <headwise/models/vocabulary.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto vocabulary = hw::read_vocabulary("missing.txt");
  if (vocabulary) {
    return 1;
  }
  std::cout << vocabulary.error().message() << '\n';
  return 0;
}
