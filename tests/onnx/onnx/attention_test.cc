// What OnnxModel::attention() returns; view_onnx_test.py compares the weights
// with those of the node.
#include "headwise/onnx/attention.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/base/tensor.h"
#include "headwise/onnx/model.h"
#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kRows = 3;
constexpr std::size_t kFeatures = 8;  // of 2 heads

// Fields of a message, for lengths and numbers below 128.
std::string field(int number, std::string_view text) {
  return std::string{static_cast<char>(number * 8 + 2),
                     static_cast<char>(text.size())} +
         std::string(text);
}
std::string field(int number, int value) {
  return {static_cast<char>(number * 8), static_cast<char>(value)};
}
std::string attribute(std::string_view name, int value) {
  // The type, 2, is field 20.
  return field(5, field(1, name) + field(3, value) + "\xa0\x01\x02");
}
std::string long_field(int number, const std::string& text) {
  return std::string{static_cast<char>(number * 8 + 2),
                     static_cast<char>(text.size() % 128 + 128),
                     static_cast<char>(text.size() / 128)} +
         text;
}
std::string port(int number, std::string_view name) {
  return field(number,
               field(1, name) + field(2, field(1, field(1, 1))));  // float32
}
std::string node(std::string_view q, std::string_view out, bool causal) {
  return long_field(
      1, field(1, q) + field(1, "K") + field(1, "V") + field(2, out) +
             field(4, "Attention") + attribute("is_causal", causal ? 1 : 0) +
             attribute("q_num_heads", 2) + attribute("kv_num_heads", 2));
}

// A = Attention(Q, K, V), Y = Attention(A, K, V); the second is causal.
OnnxModel two_nodes() {
  const TempFolder folder;
  const std::string path = folder / "model.onnx";
  const std::string graph = node("Q", "A", false) + node("A", "Y", true) +
                            port(11, "Q") + port(11, "K") + port(11, "V") +
                            port(12, "A") + port(12, "Y");
  put_file(path, bytes_of(long_field(7, graph) +
                          field(8, field(1, "") + field(2, 23))));
  return OnnxModel::read(path).value();
}

std::vector<Array> inputs() {
  std::vector<Array> arrays;
  for (std::size_t n = 0; n < 3; ++n) {
    std::vector<float> numbers(kRows * kFeatures);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>((i * 7 + 5 * n) % 11) / 5 - 1;
    }
    Array array;
    array.shape = {1, kRows, kFeatures};
    array.data.resize(numbers.size() * sizeof(float));
    std::memcpy(array.data.data(), numbers.data(), array.data.size());
    arrays.push_back(std::move(array));
  }
  return arrays;
}

TEST(OnnxAttentionTest, TheOperationGivesTheOutputOfTheNode) {
  const OnnxModel model = two_nodes();
  const std::vector<Array> given = inputs();
  const std::vector<std::size_t> both = {0, 1};
  const auto seen = model.attention(given, both).value();
  const auto expected = model.run(given).value();
  ASSERT_EQ(seen.size(), 2u);
  for (std::size_t n = 0; n < 2; ++n) {
    auto out = Tensor<float, 4>::create(seen[n].query().extents()).value();
    attention(seen[n].query(), seen[n].key(), seen[n].value(),
              {.output = out.view()}, seen[n].options())
        .value();
    EXPECT_EQ(std::memcmp(out.elements().data(), expected[n].data.data(),
                          expected[n].data.size()),
              0);
  }
  EXPECT_FALSE(seen[0].relates_positions());
  EXPECT_TRUE(seen[1].relates_positions());
  EXPECT_FALSE(seen[0].same_options(seen[1]));
}

TEST(OnnxAttentionTest, NumbersAscendAndNameNodes) {
  const OnnxModel model = two_nodes();
  const std::vector<Array> given = inputs();
  const auto ask = [&](const std::vector<std::size_t>& nodes) {
    return model.attention(given, nodes);
  };
  EXPECT_THAT(ask({0, 2}), IsError(ErrorCode::out_of_range, "nodes[1]"));
  EXPECT_THAT(ask({1, 0}), IsError(ErrorCode::out_of_range, "nodes[1]"));
  EXPECT_THAT(ask({1, 1}), IsError(ErrorCode::out_of_range, "nodes[1]"));
  EXPECT_TRUE(ask({}).value().empty());
  EXPECT_EQ(ask({1}).value().size(), 1u);
}

}  // namespace
}  // namespace headwise::testing_support
