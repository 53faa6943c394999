// A trace that keeps every step with a copy of its tensor.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/run/reports.h"

namespace headwise::testing_support {

struct RecordedStep {
  std::string name;
  std::vector<std::string> axes;
  std::vector<std::size_t> extents;
  std::vector<float> elements;  // C order; a boolean is 0 or 1
};

class RecordedTrace : public TraceSink {
 public:
  void on_step(std::string_view name, std::span<const std::string_view> axes,
               const AnyView& tensor) override {
    RecordedStep step{std::string(name),
                      {axes.begin(), axes.end()},
                      {tensor.extents().begin(), tensor.extents().end()},
                      {}};
    copy(tensor, 0, 0, step.elements);
    steps.push_back(std::move(step));
  }

  // Null when there was no such step.
  const RecordedStep* find(std::string_view name) const {
    for (const RecordedStep& step : steps) {
      if (step.name == name) {
        return &step;
      }
    }
    return nullptr;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const RecordedStep& step : steps) {
      all.push_back(step.name);
    }
    return all;
  }

  std::vector<RecordedStep> steps;

 private:
  static void copy(const AnyView& tensor, std::size_t axis,
                   std::ptrdiff_t offset, std::vector<float>& elements) {
    if (axis == tensor.rank()) {
      elements.push_back(
          tensor.dtype() == DType::boolean
              ? static_cast<float>(
                    static_cast<const bool*>(tensor.data())[offset])
              : static_cast<const float*>(tensor.data())[offset]);
      return;
    }
    for (std::size_t i = 0; i < tensor.extents()[axis]; ++i) {
      copy(tensor, axis + 1,
           offset + static_cast<std::ptrdiff_t>(i) * tensor.strides()[axis],
           elements);
    }
  }
};

}  // namespace headwise::testing_support
