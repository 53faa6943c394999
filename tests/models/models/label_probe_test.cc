#include "headwise/models/label_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headwise/interop/safetensors.h"
#include "headwise/module/optimizer.h"
#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kExamples = 40;
const std::vector<std::string> kLabels = {"sport", "tech \"x\" \u00E9"};

// Two clusters in turn, around (1, -1, 0) and (-1, 1, 0).
const Tensor<float, 2>& clusters() {
  static const Tensor<float, 2> points = [] {
    auto x = uniform<2>({kExamples, 3}, 70, -0.8, 0.8);
    for (std::size_t n = 0; n < kExamples; ++n) {
      const float side = n % 2 == 0 ? 1 : -1;
      x(n, 0) += side;
      x(n, 1) -= side;
    }
    return x;
  }();
  return points;
}
const Tensor<std::int64_t, 1>& targets() {
  static const Tensor<std::int64_t, 1> classes = [] {
    auto numbers = Tensor<std::int64_t, 1>::create({kExamples}).value();
    for (std::size_t n = 0; n < kExamples; ++n) {
      numbers(n) = static_cast<std::int64_t>(n % 2);
    }
    return numbers;
  }();
  return classes;
}

LabelProbe trained(std::size_t steps = 300) {
  return LabelProbe::train(clusters(), targets(), kLabels, {.steps = steps})
      .value();
}
double loss_of(const LabelProbe& probe) {
  const auto logits = probe.logits(clusters()).value();
  return cross_entropy(logits, targets()).value().loss;
}
testing::AssertionResult same_params(const LabelProbe& got,
                                     const LabelProbe& want) {
  const auto elements = [](const auto& view) {
    return std::span<const float>(view.data(), view.size());
  };
  const auto weights = same_bits(elements(got.linear().weight()),
                                 elements(want.linear().weight()));
  return weights ? same_bits(elements(got.linear().bias()),
                             elements(want.linear().bias()))
                 : weights;
}

TEST(LabelProbeTest, TrainingSeparatesTwoClusters) {
  const LabelProbe probe = trained();
  EXPECT_EQ(probe.labels(), kLabels);
  const auto logits = probe.logits(clusters()).value();
  ASSERT_EQ(logits.extents(), (Extents<2>{kExamples, 2}));
  for (std::size_t n = 0; n < kExamples; ++n) {
    EXPECT_EQ(predicted_label(logits, n), n % 2) << "example " << n;
  }
}

TEST(LabelProbeTest, TheLossFallsFromThatOfChance) {
  const double chance = loss_of(trained(0));
  EXPECT_NEAR(chance, std::log(2.0), 1e-6);
  const double soon = loss_of(trained(20));
  EXPECT_LT(soon, chance);
  EXPECT_LT(loss_of(trained()), soon);
}

TEST(LabelProbeTest, WhatIsFarMoreFrequentIsLearntByTheBias) {
  const auto nothing = filled<float, 2>({kExamples, 3}, 0);
  auto mostly = filled<std::int64_t, 1>({kExamples}, 1);
  mostly(0) = 0;
  const auto probe = LabelProbe::train(nothing, mostly, kLabels).value();
  EXPECT_LT(probe.linear().bias()(0), -0.5f);
  EXPECT_GT(probe.linear().bias()(1), 0.5f);
}

TEST(LabelProbeTest, TrainingTwiceGivesTheSameBits) {
  EXPECT_TRUE(same_params(trained(), trained()));
}

TEST(LabelProbeTest, ProgressCountsSteps) {
  std::vector<std::size_t> seen;
  const auto progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 3u);
    seen.push_back(done);
  };
  ASSERT_TRUE(LabelProbe::train(clusters(), targets(), kLabels,
                                {.steps = 3, .progress = progress}));
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST(LabelProbeTest, TheFirstOfTheLargestIsPredicted) {
  const auto logits = tensor_of<float, 2>({2, 3}, {1, 3, 3, 2, 0, 1});
  EXPECT_EQ(predicted_label(logits, 0), 1u);
  EXPECT_EQ(predicted_label(logits, 1), 0u);
}

// ---- Probabilities. ----

// Logits are the rows of embeddings themselves.
LabelProbe identity_probe() {
  return LabelProbe::create(
             Linear::from_params(tensor_of<float, 2>({2, 2}, {1, 0, 0, 1}),
                                 filled<float, 1>({2}, 0))
                 .value(),
             kLabels)
      .value();
}

TEST(LabelProbeProbabilitiesTest, AreTheSoftmaxOfTheLogits) {
  const LabelProbe probe = trained(50);
  const auto logits = probe.logits(clusters()).value();
  const auto got = probe.probabilities(clusters()).value();
  ASSERT_EQ(got.extents(), (Extents<2>{kExamples, 2}));
  for (std::size_t n = 0; n < kExamples; ++n) {
    const double odds =
        std::exp(static_cast<double>(logits(n, 1)) - logits(n, 0));
    EXPECT_NEAR(got(n, 0), 1 / (1 + odds), 1e-7);
    EXPECT_NEAR(got(n, 0) + got(n, 1), 1, 1e-7);
    EXPECT_EQ(predicted_label(got, n), predicted_label(logits, n));
  }
}

TEST(LabelProbeProbabilitiesTest, ARowsBitsDependOnNoOtherRow) {
  const LabelProbe probe = trained(50);
  const auto whole = probe.probabilities(clusters()).value();
  for (const std::size_t split : {1u, 2u, 3u, 7u, 39u}) {
    for (std::size_t first = 0; first < kExamples; first += split) {
      const std::size_t count = std::min(split, kExamples - first);
      const auto& all = clusters();
      const auto part =
          probe.probabilities({&all(first, 0), {count, 3}}).value();
      EXPECT_TRUE(same_bits(part.elements(),
                            whole.elements().subspan(first * 2, count * 2)))
          << split << " rows from " << first;
    }
  }
}

TEST(LabelProbeProbabilitiesTest, AreComputedByTheGivenThreads) {
  std::size_t calls = 0;
  const Executor executor =
      Executor::with_pool(2, [&](std::size_t workers,
                                 FunctionRef<void(std::size_t)> work) {
        ++calls;
        for (std::size_t worker = 0; worker < workers; ++worker) {
          work(worker);
        }
      }).value();
  const auto embeddings = uniform<2>({20'000, 3}, 71);
  const LabelProbe probe = trained(1);
  const auto got = probe.probabilities(embeddings, executor).value();
  EXPECT_GT(calls, 0u);
  EXPECT_TRUE(
      same_bits(got.elements(), probe.probabilities(embeddings)->elements()));
}

TEST(LabelProbeProbabilitiesTest, LargeLogitsOverflowNothing) {
  const auto embeddings =
      tensor_of<float, 2>({3, 2}, {3e38f, -3e38f, 1e30f, 1e30f, -2e38f, 2e38f});
  const auto got = identity_probe().probabilities(embeddings).value();
  EXPECT_THAT(got.elements(), ElementsAre(1, 0, 0.5, 0.5, 0, 1));
}

TEST(LabelProbeProbabilitiesTest, ALogitThatIsNotFiniteMakesItsRowNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto embeddings = tensor_of<float, 2>({2, 2}, {kInfinity, 1, 2, 2});
  const auto got = identity_probe().probabilities(embeddings).value();
  EXPECT_TRUE(std::isnan(got(0, 0)) && std::isnan(got(0, 1)));
  EXPECT_EQ(got(1, 0), 0.5f);
}

TEST(LabelProbeProbabilitiesTest, NoEmbeddingsAreLegalAndOtherSizesAreNot) {
  const LabelProbe probe = identity_probe();
  EXPECT_EQ(probe.probabilities(view_of(filled<float, 2>({0, 2}, 0)))
                .value()
                .extents(),
            (Extents<2>{0, 2}));
  EXPECT_EQ(
      probe.probabilities(view_of(filled<float, 2>({1, 3}, 0))).error().code(),
      ErrorCode::shape_mismatch);
}

TEST(LabelProbeTest, WhatDoesNotFitIsNamed) {
  const auto is_refused = [](ErrorCode code, std::string argument,
                             std::vector<std::string> given,
                             std::vector<std::string> expected) {
    return HasError({.code = code,
                     .operation = "label_probe",
                     .argument = std::move(argument),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  };
  EXPECT_THAT(LabelProbe::create(3, {"a"}),
              is_refused(ErrorCode::invalid_argument, "labels", {"1"}, {"2"}));
  EXPECT_THAT(LabelProbe::create(3, {"a", "b", "a"}),
              is_refused(ErrorCode::invalid_argument, "labels[2]", {"a"},
                         {"different"}));
  // Two of these would be one in a file.
  EXPECT_EQ(LabelProbe::create(3, {"\xfe", "\xff"}).error().code(),
            ErrorCode::invalid_argument);
  const auto linear = [](std::size_t rows, std::size_t bias) {
    return Linear::from_params(filled<float, 2>({rows, 3}, 1),
                               filled<float, 1>({bias}, 0))
        .value();
  };
  EXPECT_THAT(
      LabelProbe::create(linear(3, 3), kLabels),
      is_refused(ErrorCode::shape_mismatch, "weight", {"(3, 3)"}, {"(2, 3)"}));
  EXPECT_THAT(LabelProbe::create(linear(2, 0), kLabels),
              is_refused(ErrorCode::shape_mismatch, "bias", {"(0)"}, {"(2)"}));
  const LabelProbe probe = LabelProbe::create(3, kLabels).value();
  EXPECT_EQ(probe.logits(view_of(filled<float, 2>({1, 4}, 0))).error().code(),
            ErrorCode::shape_mismatch);
  const auto& few = targets();
  EXPECT_EQ(
      LabelProbe::train(clusters(), {few.data(), {kExamples - 1}}, kLabels)
          .error()
          .code(),
      ErrorCode::shape_mismatch);
  const auto beyond = filled<std::int64_t, 1>({kExamples}, 2);
  EXPECT_EQ(LabelProbe::train(clusters(), beyond, kLabels).error().code(),
            ErrorCode::out_of_range);
}

// ---- The file. ----

class LabelProbeFileTest : public testing::Test {
 protected:
  std::string path() const { return folder_ / "classifier.safetensors"; }
  Result<std::optional<LabelProbe>> read() const {
    return LabelProbe::read(folder_.path(), 3);
  }
  // Of a file with these parameters and labels.
  Result<std::optional<LabelProbe>> read_of(
      const Tensor<float, 2>& weight, const Tensor<float, 1>& bias,
      const SafetensorsMetadata& metadata) const {
    EXPECT_TRUE(write_safetensors(path(), {{"weight", weight}, {"bias", bias}},
                                  metadata));
    return read();
  }
  Result<std::optional<LabelProbe>> read_of_labels(
      const std::string& labels) const {
    return read_of(filled<float, 2>({2, 3}, 1), filled<float, 1>({2}, 0),
                   {{"labels", labels}});
  }
  // The file is refused: the error is about this entry, or about the whole, and
  // names these values.
  auto IsBad(std::string entry, std::vector<std::string> given,
             std::vector<std::string> expected = {}) const {
    return HasError({.code = ErrorCode::bad_data,
                     .operation = "label_probe",
                     .file = path(),
                     .entry = std::move(entry),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  }

  TempFolder folder_;
};

TEST_F(LabelProbeFileTest, WhatIsWrittenIsRead) {
  const LabelProbe probe = trained(20);
  ASSERT_TRUE(probe.write(folder_.path()));
  const auto got = read().value();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->labels(), kLabels);
  EXPECT_TRUE(same_params(*got, probe));
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(LabelProbeFileTest, AFolderWithoutOneHasNone) {
  EXPECT_FALSE(read().value().has_value());
}

TEST_F(LabelProbeFileTest, AFileThatIsNoneIsAnError) {
  for (const char* text : {"no tensors", ""}) {
    put_file(path(), bytes_of(text));
    EXPECT_THAT(read(), IsFileError(ErrorCode::bad_data, path()));
  }
}

TEST_F(LabelProbeFileTest, AFolderThatIsNotThereIsNotWrittenTo) {
  EXPECT_THAT(trained(1).write(folder_ / "none"),
              HasError({.code = ErrorCode::io_error,
                        .file = folder_ / "none/classifier.safetensors",
                        .system_error = ENOENT}));
}

TEST_F(LabelProbeFileTest, LabelsThatAreNoListOfTextsAreNamed) {
  const auto is_no_list = IsBad("__metadata__.labels", {"JSON"}, {"2"});
  EXPECT_THAT(
      read_of(filled<float, 2>({2, 3}, 1), filled<float, 1>({2}, 0), {}),
      is_no_list);
  for (const std::string labels :
       {"", "sport", "\"sport\"", "[\"a\", \"b\"", "[\"a\", 1]", "[\"a\"]",
        "[\"a\", \"b\", \"c\"]", "[[\"a\", \"b\"]]", "[\"a\", [\"b\"]]",
        "{\"a\": \"b\"}", "[]", "null", "[\"a\", \"b\"] 3"}) {
    EXPECT_THAT(read_of_labels(labels), is_no_list) << labels;
  }
  EXPECT_THAT(read_of_labels(std::string(100000, '[')), is_no_list);
}

TEST_F(LabelProbeFileTest, TwoLabelsOfOneNameAreNamed) {
  EXPECT_THAT(read_of_labels("[\"a\", \"a\"]"),
              IsBad("labels[1]", {"a"}, {"different"}));
  EXPECT_THAT(read_of(filled<float, 2>({1, 3}, 1), filled<float, 1>({1}, 0),
                      {{"labels", "[\"a\"]"}}),
              IsBad("labels", {"1"}, {"2"}));
}

TEST_F(LabelProbeFileTest, OtherShapesAreNamed) {
  const SafetensorsMetadata two = {{"labels", "[\"a\", \"b\"]"}};
  EXPECT_THAT(
      read_of(filled<float, 2>({2, 4}, 1), filled<float, 1>({2}, 0), two),
      IsBad("weight", {"(2, 4)"}, {"(2, 3)"}));
  for (const std::size_t bias : {0u, 1u, 3u}) {
    EXPECT_THAT(
        read_of(filled<float, 2>({2, 3}, 1), filled<float, 1>({bias}, 0), two),
        IsBad("bias", {"(" + std::to_string(bias) + ")"}, {"(2)"}));
  }
  const auto flat = filled<float, 1>({6}, 1);
  ASSERT_TRUE(
      write_safetensors(path(), {{"weight", flat}, {"bias", flat}}, two));
  EXPECT_THAT(read(), IsBad("weight", {"(6)"}, {"2"}));
}

TEST_F(LabelProbeFileTest, ParametersThatAreMissingOrNoNumbersAreNamed) {
  const SafetensorsMetadata two = {{"labels", "[\"a\", \"b\"]"}};
  auto weight = filled<float, 2>({2, 3}, 1);
  const auto bias = filled<float, 1>({2}, 0);
  ASSERT_TRUE(write_safetensors(path(), {{"weight", weight}}, two));
  EXPECT_THAT(read(), IsBad("", {"bias"}));
  ASSERT_TRUE(write_safetensors(path(), {{"bias", bias}}, two));
  EXPECT_THAT(read(), IsBad("", {"weight"}));
  const auto bools = filled<bool, 2>({2, 3}, true);
  ASSERT_TRUE(
      write_safetensors(path(), {{"weight", bools}, {"bias", bias}}, two));
  EXPECT_THAT(read(), IsBad("weight", {"bool"}));
  weight(1, 2) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(read_of(weight, bias, two),
              IsBad("weight", {"nan", "(1, 2)"}, {"finite"}));
}

}  // namespace
}  // namespace headwise::testing_support
