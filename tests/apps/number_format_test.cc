#include "shell/number_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace headwise::cli {
namespace {

using testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<std::string> formatted(const std::vector<double>& values,
                                   DType dtype = DType::float32) {
  const NumberFormat format(values, dtype);
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) {
    texts.push_back(format(value));
  }
  return texts;
}

// What PyTorch 2 prints for tensor([...]) of the same numbers.
TEST(NumberFormatTest, FourDigitsOfOneWidth) {
  EXPECT_THAT(formatted({1.5, -0.25, 100}),
              ElementsAre("  1.5000", " -0.2500", "100.0000"));
}

TEST(NumberFormatTest, WholeNumbersHaveAPointAndNoDigits) {
  EXPECT_THAT(formatted({1, -20, 0}), ElementsAre("  1.", "-20.", "  0."));
  EXPECT_THAT(formatted({0, 0}), ElementsAre("0.", "0."));
}

TEST(NumberFormatTest, ScientificWhereSizesDifferByAThousand) {
  EXPECT_THAT(formatted({1000.5, 1.0}),
              ElementsAre("1.0005e+03", "1.0000e+00"));
  EXPECT_THAT(formatted({1000.0, 1.5}), ElementsAre("1000.0000", "   1.5000"));
  EXPECT_THAT(formatted({0.00005, 0.00006}),
              ElementsAre("5.0000e-05", "6.0000e-05"));
  EXPECT_THAT(formatted({2e8, 3e8}), ElementsAre("2.0000e+08", "3.0000e+08"));
}

TEST(NumberFormatTest, InfinitiesAndNaNFillTheWidth) {
  EXPECT_THAT(formatted({-kInf, 0.5, kInf, std::nan("")}),
              ElementsAre("  -inf", "0.5000", "   inf", "   nan"));
  EXPECT_THAT(formatted({-kInf, 1}), ElementsAre("-inf", "  1."));
  EXPECT_THAT(formatted({-kInf, -kInf}), ElementsAre("-inf", "-inf"));
}

TEST(NumberFormatTest, IntegersAndBoolsAreTheirWords) {
  EXPECT_THAT(formatted({3, -12}, DType::int64), ElementsAre("  3", "-12"));
  EXPECT_THAT(formatted({1, 0}, DType::boolean), ElementsAre(" True", "False"));
}

TracedStep step_of(std::vector<std::string> axes,
                   std::vector<std::size_t> extents) {
  TracedStep step{"x", std::move(axes), std::move(extents), DType::int64, {}};
  for (std::size_t n = 0; n < step.size(); ++n) {
    const auto value = static_cast<std::int64_t>(n);
    std::array<std::byte, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    step.data.insert(step.data.end(), bytes.begin(), bytes.end());
  }
  return step;
}

TEST(TensorTextTest, TheWholeTensorIsNestedInBrackets) {
  EXPECT_EQ(tensor_text(step_of({"B", "L"}, {2, 3}), false, ""),
            "[[0, 1, 2],\n"
            " [3, 4, 5]]\n");
  EXPECT_EQ(tensor_text(step_of({"B", "L", "E"}, {2, 2, 1}), false, ""),
            "[[[0],\n"
            "  [1]],\n"
            " [[2],\n"
            "  [3]]]\n");
  EXPECT_EQ(tensor_text(step_of({"L"}, {12}), false, ""),
            "[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11]\n");
  EXPECT_EQ(tensor_text(step_of({}, {}), false, ""), "0\n");
}

TEST(TensorTextTest, LongAxesShowTheirCornersAndSaySo) {
  EXPECT_EQ(tensor_text(step_of({"B", "Lq", "Lkv"}, {2, 11, 12}), true, "  "),
            "  x[0, :, :] =\n"
            "  [[  0,   1,   2,  ...,   9,  10,  11],\n"
            "   [ 12,  13,  14,  ...,  21,  22,  23],\n"
            "   [ 24,  25,  26,  ...,  33,  34,  35],\n"
            "   ...,\n"
            "   [ 96,  97,  98,  ..., 105, 106, 107],\n"
            "   [108, 109, 110,  ..., 117, 118, 119],\n"
            "   [120, 121, 122,  ..., 129, 130, 131]]\n");
}

TEST(TensorTextTest, AxesUpToTenAreWhole) {
  const std::string text = tensor_text(step_of({"L"}, {10}), true, "");
  EXPECT_EQ(text.find("..."), std::string::npos);
}

TEST(TensorTextTest, BroadcastAxesAreNotShown) {
  EXPECT_EQ(
      tensor_text(step_of({"B", "1", "1", "Lkv"}, {2, 1, 1, 2}), true, ""),
      "x[:, 0, 0, :] =\n"
      "[[0, 1],\n"
      " [2, 3]]\n");
}

TEST(TensorTextTest, NothingIsAnEmptyPairOfBrackets) {
  EXPECT_EQ(tensor_text(step_of({"B", "L", "E"}, {2, 0, 3}), true, ""), "[]\n");
  EXPECT_EQ(tensor_text(step_of({"B", "L"}, {0, 3}), false, ""), "[]\n");
}

}  // namespace
}  // namespace headwise::cli
