// A small file in the layout of BERT.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/interop/safetensors.h"
#include "interop/files.h"

namespace headwise::testing_support {

// Two layers of BERT of 4 features, and a tensor of no attention layer.
class BertFile {
 public:
  BertFile() : values_(4 * 4) {
    std::iota(values_.begin(), values_.end(), 1.0f);
    std::map<std::string, AnyView> views = {{"pooler.dense.weight", matrix()}};
    for (const std::string layer : {"0", "1"}) {
      const std::string start = "encoder.layer." + layer + ".attention.";
      for (const std::string name :
           {"self.query", "self.key", "self.value", "output.dense"}) {
        views.emplace(start + name + ".weight", matrix());
        views.emplace(start + name + ".bias", vector());
      }
    }
    EXPECT_TRUE(write_safetensors(path(), views, {{"format", "pt"}}));
  }

  std::string path() const { return folder_ / "bert.safetensors"; }
  std::string operator/(std::string_view name) const { return folder_ / name; }

 private:
  AnyView matrix() const {
    return TensorView<const float, 2>(values_.data(), {4, 4});
  }
  AnyView vector() const {
    return TensorView<const float, 1>(values_.data(), {4});
  }

  TempFolder folder_;
  std::vector<float> values_;
};

}  // namespace headwise::testing_support
