// What the views of options look at: arrays that were given, and numbers that
// were copied. Whoever keeps the views keeps this.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "array_argument.h"
#include "headwise/base/tensor_view.h"

namespace headwise::python {

class ArgumentMemory {
 public:
  // The array stays where it is for as long as this is kept, or moved.
  const ArrayArgument& keep(ArrayArgument array) {
    arrays_.push_back(std::make_shared<ArrayArgument>(std::move(array)));
    return *arrays_.back();
  }
  std::int64_t* new_integers(std::size_t count) {
    integers_.push_back(std::make_shared<std::int64_t[]>(count));
    return integers_.back().get();
  }
  bool* new_booleans(std::size_t count) {
    booleans_.push_back(std::make_shared<bool[]>(count));
    return booleans_.back().get();
  }
  // ValueError if the memory of an array is gone (ArrayArgument).
  void expect_in_place() const {
    for (const auto& array : arrays_) {
      array->expect_in_place();
    }
  }
  // TypeError unless every array is there (ArrayArgument).
  void expect_on(int gpu) const {
    for (const auto& array : arrays_) {
      array->expect_on(gpu);
    }
  }
  // Also keeps what `other` keeps.
  void share(const ArgumentMemory& other) {
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    add(arrays_, other.arrays_);
    add(integers_, other.integers_);
    add(booleans_, other.booleans_);
  }

 private:
  std::vector<std::shared_ptr<ArrayArgument>> arrays_;
  std::vector<std::shared_ptr<std::int64_t[]>> integers_;
  std::vector<std::shared_ptr<bool[]>> booleans_;
};

}  // namespace headwise::python
