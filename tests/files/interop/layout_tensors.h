// Layers laid out as tensors, for the tests of layouts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/interop/layouts.h"

namespace headwise::testing_support {

// Elements that all differ, `first` and up.
inline Array counted(std::vector<std::size_t> shape, std::uint32_t first,
                     DType dtype = DType::int32) {
  Array array{dtype, std::move(shape), {}};
  std::size_t count = 1;
  for (const std::size_t extent : array.shape) {
    count *= extent;
  }
  const std::size_t item = size_of(dtype);
  array.data.resize(count * item);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = first + i;
    std::memcpy(array.data.data() + i * item, &value, item);
  }
  return array;
}

inline std::int32_t at(const Array& array, std::size_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, array.data.data() + index * sizeof value, sizeof value);
  return value;
}

// 3 heads of 2 features, 6 of input.
inline LayerParams layer_of(DType dtype = DType::int32,
                            bool with_biases = true) {
  LayerParams layer;
  layer.num_heads = layer.num_kv_heads = 3;
  std::uint32_t first = 0;
  for (const char* name : {"w_q", "w_k", "w_v", "w_o"}) {
    layer.params.emplace(std::string(name) + ".weight",
                         counted({6, 6}, first += 100, dtype));
    if (with_biases) {
      layer.params.emplace(std::string(name) + ".bias",
                           counted({6}, first += 100, dtype));
    }
  }
  return layer;
}

inline const Layout& layout(std::string_view name) {
  const auto found = std::ranges::find(layouts(), name, &Layout::name);
  EXPECT_NE(found, layouts().end()) << name;
  return *found;
}

inline ShapesByName shapes_of(const NamedArrays& tensors) {
  ShapesByName shapes;
  for (const auto& [name, array] : tensors) {
    shapes.emplace(name, array.shape);
  }
  return shapes;
}

inline Result<LayerParams> take(const NamedArrays& tensors,
                                std::size_t number = 0,
                                std::string_view wanted = "") {
  const ShapesByName shapes = shapes_of(tensors);
  const auto match = find_layout(shapes, {"test", "file"}, wanted);
  if (!match) {
    return match.error();
  }
  return take_layer(*match, shapes, number,
                    [&](const std::string& name) -> Result<Array> {
                      return tensors.at(name);
                    });
}

inline void expect_equal(const NamedArrays& got, const NamedArrays& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, array] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_EQ(got.at(name).dtype, array.dtype) << name;
    EXPECT_EQ(got.at(name).shape, array.shape) << name;
    EXPECT_EQ(got.at(name).data, array.data) << name;
  }
}

// Kernels (in, H, d) and (H, d, out) of different numbers of heads.
inline NamedArrays grouped_keras() {
  return {{"query/kernel", counted({5, 4, 2}, 0)},
          {"query/bias", counted({4, 2}, 100)},
          {"key/kernel", counted({5, 2, 2}, 200)},
          {"key/bias", counted({2, 2}, 300)},
          {"value/kernel", counted({5, 2, 3}, 400)},
          {"value/bias", counted({2, 3}, 500)},
          {"attention_output/kernel", counted({4, 3, 7}, 600)},
          {"attention_output/bias", counted({7}, 700)}};
}

// The name of a test of one layout.
inline std::string layout_test_name(
    const testing::TestParamInfo<Layout>& test) {
  std::string name(test.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace headwise::testing_support
