// headwise against the numbers of PyTorch, JAX, TensorFlow and MXNet.
//
// The small cases stand in data/; the large ones in the folder that the
// environment's HEADWISE_FIXTURES names, or the build's. Without that folder
// their tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "golden/fixtures.h"
#include "golden/golden_case.h"
#include "golden/golden_onnx.h"
#include "golden/golden_run.h"
#include "headwise/steps/rotary.h"

namespace headwise::testing_support {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kSmall = {"seed001_none",
                                         "seed001_padding",
                                         "seed001_nopeak",
                                         "seed001_padding_and_nopeak",
                                         "seed001_fully_masked",
                                         "seed001_encdec",
                                         "seed001_encdec_padding",
                                         "seed002_step1",
                                         "seed002_step4_dropout",
                                         "d2l_sizes",
                                         "additive_2d",
                                         "additive_d2l",
                                         "additive_zero_length"};

const std::vector<std::string> kLarge = {"seed000_mha",
                                         "seed003_mha",
                                         "seed002_step2",
                                         "seed002_step3",
                                         "seed002_step3_dropout",
                                         "seed002_step4_padding",
                                         "seed002_step4_fully_masked",
                                         "d2l_h100",
                                         "d2l_h100_bias",
                                         "d2l_sizes_bias",
                                         "sdpa_plain",
                                         "sdpa_causal",
                                         "sdpa_causal_top_left",
                                         "sdpa_causal_bottom_right",
                                         "sdpa_bool_mask",
                                         "sdpa_fully_masked",
                                         "sdpa_valid_lens",
                                         "sdpa_valid_lens_causal",
                                         "sdpa_gqa",
                                         "sdpa_gqa_causal",
                                         "sdpa_mqa",
                                         "sdpa_scale",
                                         "sdpa_value_dim",
                                         "sdpa_one_query",
                                         "sdpa_large_logits",
                                         "sdpa_window",
                                         "sdpa_window_both",
                                         "sdpa_window_gqa_softcap",
                                         "sdpa_bias",
                                         "sdpa_alibi",
                                         "sdpa_alibi_6",
                                         "sdpa_softcap",
                                         "sdpa_softcap_causal",
                                         "rope_half",
                                         "rope_half_partial",
                                         "rope_interleaved",
                                         "rope_interleaved_positions",
                                         "jax_dpa_plain",
                                         "jax_dpa_gqa_causal",
                                         "jax_dpa_lengths",
                                         "jax_dpa_window",
                                         "jax_dpa_bias_mask"};

// Every tensor that is to be reproduced is, by at least one way.
void expect_reproduced(const fs::path& folder) {
  const GoldenCase golden(folder);
  const std::vector<Computed> ways = compute(golden);
  for (const std::string& tensor : golden.to_reproduce()) {
    std::size_t compared = 0;
    for (const Computed& way : ways) {
      const auto got = way.tensors.find(tensor);
      if (got != way.tensors.end()) {
        EXPECT_TRUE(golden.matches(tensor, got->second)) << way.way;
        ++compared;
      }
    }
    EXPECT_GE(compared, 1u) << golden.name() << ": nothing gives " << tensor;
  }
}

class SmallGoldenTest : public testing::TestWithParam<std::string> {};
TEST_P(SmallGoldenTest, EveryTensorIsReproduced) {
  expect_reproduced(fs::path(HEADWISE_GOLDEN_DATA) / GetParam());
}
INSTANTIATE_TEST_SUITE_P(Golden, SmallGoldenTest, testing::ValuesIn(kSmall),
                         [](const auto& test) { return test.param; });

// The gradients of the small cases, too, which data/ does not hold.
class LargeGoldenTest : public FixturesTest,
                        public testing::WithParamInterface<std::string> {};
TEST_P(LargeGoldenTest, EveryTensorIsReproduced) {
  expect_reproduced(fixtures() / GetParam());
}
INSTANTIATE_TEST_SUITE_P(Golden, LargeGoldenTest, testing::ValuesIn(kLarge),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(SmallOnes, LargeGoldenTest, testing::ValuesIn(kSmall),
                         [](const auto& test) { return test.param; });

// The present keys and values are those of the cache, where the case is a call
// of one.
TEST_F(FixturesTest, EveryNodeTestOfOnnxIsReproduced) {
  std::size_t cases = 0;
  std::size_t through_a_cache = 0;
  for (const auto& entry : fs::directory_iterator(fixtures() / "onnx")) {
    const GoldenCase golden(entry.path());
    const auto wanted = golden.to_reproduce();
    std::set<std::string> missing(wanted.begin(), wanted.end());
    bool cached = false;
    for (const Computed& way : compute_onnx(golden)) {
      cached = cached || way.way == "a cache";
      for (const auto& [tensor, got] : way.tensors) {
        if (golden.has(tensor)) {
          EXPECT_TRUE(golden.matches(tensor, got)) << way.way;
          missing.erase(tensor);
        }
      }
    }
    if (!cached) {
      missing.erase("present_key");
      missing.erase("present_value");
    }
    through_a_cache += cached ? 1 : 0;
    EXPECT_THAT(missing, testing::IsEmpty()) << golden.name();
    ++cases;
  }
  EXPECT_EQ(cases, 62u);
  EXPECT_EQ(through_a_cache, 48u);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

template <std::size_t Rank>
Got got_of(const GoldenCase& golden, const std::string& tensor) {
  const auto numbers = golden.floats<Rank>(tensor);
  return {{numbers.extents().begin(), numbers.extents().end()},
          {numbers.elements().begin(), numbers.elements().end()}};
}

Got numbers_of(const GoldenCase& golden, const std::string& tensor) {
  switch (golden.rank(tensor)) {
    case 1:
      return got_of<1>(golden, tensor);
    case 2:
      return got_of<2>(golden, tensor);
    case 3:
      return got_of<3>(golden, tensor);
    default:
      return got_of<4>(golden, tensor);
  }
}

// What the frameworks compute depends on the processor, within the tolerance.
// What they are given does not.
TEST_F(FixturesTest, TheSmallGoldensAreThoseOfTheFixtures) {
  std::size_t files = 0;
  for (const std::string& name : kSmall) {
    const GoldenCase small(fs::path(HEADWISE_GOLDEN_DATA) / name);
    const GoldenCase large(fixtures() / name);
    const std::vector<std::string> computed = large.to_reproduce();
    for (const auto& entry :
         fs::directory_iterator(fs::path(HEADWISE_GOLDEN_DATA) / name)) {
      if (entry.path().extension() != ".npy") {
        continue;
      }
      ++files;
      std::string tensor = entry.path().stem();
      if (tensor.ends_with("_f64")) {
        tensor.erase(tensor.size() - 4);
      }
      const auto other = fixtures() / name / entry.path().filename();
      if (bytes_of(entry.path()) != bytes_of(other)) {
        ASSERT_NE(std::ranges::find(computed, tensor), computed.end()) << other;
        EXPECT_TRUE(large.matches(tensor, numbers_of(small, tensor))) << other;
      }
    }
    EXPECT_EQ(small.options(), large.options());
    std::vector<std::string> without_gradients = large.to_reproduce();
    std::erase_if(without_gradients, [](const std::string& tensor) {
      return tensor.starts_with("grad_");
    });
    EXPECT_EQ(small.to_reproduce(), without_gradients);
    for (const std::string& tensor : small.to_reproduce()) {
      for (const char* key : {"shape", "role", "rtol"}) {
        EXPECT_EQ(small.json()["tensors"][tensor][key],
                  large.json()["tensors"][tensor][key]);
      }
    }
  }
  EXPECT_GT(files, 100u);
}

TEST_F(FixturesTest, EveryCaseOfTheseKindsIsComparedOrSaysWhatItWaitsFor) {
  std::set<std::string> known(kSmall.begin(), kSmall.end());
  known.insert(kLarge.begin(), kLarge.end());
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(fixtures())) {
    if (!fs::exists(entry.path() / "case.json")) {
      continue;
    }
    const GoldenCase golden(entry.path());
    for (const char* kind : {"token_mha", "step_mha", "d2l_mha", "sdpa",
                             "jax_dpa", "additive", "rope"}) {
      if (golden.kind() == kind) {
        there.insert(golden.name());
      }
    }
  }
  EXPECT_EQ(there, known);
}

// ---- Scaling rules of rotary positions (write_rotary_golden.py). ----

RotaryScaling scaling_of(const nlohmann::json& rule) {
  const double factor = rule["factor"];
  const std::string name = rule["rule"];
  if (name == "linear") {
    return LinearScaling{factor};
  }
  if (name == "ntk") {
    return NtkScaling{factor};
  }
  if (name == "llama3") {
    return Llama3Scaling{.factor = factor,
                         .low_freq_factor = rule["low_freq_factor"],
                         .high_freq_factor = rule["high_freq_factor"],
                         .original_length = rule["original_length"]};
  }
  YarnScaling yarn{.factor = factor,
                   .original_length = rule["original_length"]};
  yarn.beta_fast = rule.value("beta_fast", yarn.beta_fast);
  yarn.beta_slow = rule.value("beta_slow", yarn.beta_slow);
  yarn.truncate = rule.value("truncate", yarn.truncate);
  if (rule.contains("attention_factor")) {
    yarn.attention_factor = rule["attention_factor"].get<double>();
  }
  return yarn;
}

TEST(RotaryScalingGoldenTest, AnglesAreThoseOfTransformers) {
  const auto golden = nlohmann::json::parse(bytes_of(HEADWISE_ROTARY_GOLDEN));
  const std::size_t pairs = golden["rotary_dim"].get<std::size_t>() / 2;
  for (const auto& rule : golden["cases"]) {
    SCOPED_TRACE(rule["name"].get<std::string>());
    const auto rotary = Rotary::create({.rotary_dim = 2 * pairs,
                                        .base = rule["base"],
                                        .scaling = scaling_of(rule)})
                            .value();
    const double factor = rule["factor_on_both"];
    EXPECT_NEAR(rotary.attention_factor(), factor, 1e-12);
    // Theirs are computed in binary32, by a power and up to eight operations.
    constexpr double kFrequency = 0x1p-21;
    for (std::size_t p = 0; p < pairs; ++p) {
      const double theirs = rule["frequencies"][p];
      EXPECT_NEAR(rotary.frequencies()[p], theirs, kFrequency * theirs) << p;
    }
    std::vector<float> cos(pairs);
    std::vector<float> sin(pairs);
    for (std::size_t n = 0; n < golden["positions"].size(); ++n) {
      const std::int64_t position = golden["positions"][n];
      ASSERT_TRUE(rotary.angles(position, cos, sin));
      for (std::size_t p = 0; p < pairs; ++p) {
        // The angle's error is at most that of the frequency and half a last
        // place; then cosine, factor and its product are rounded.
        const double angle =
            static_cast<double>(position) * rotary.frequencies()[p];
        const double within = factor * (2 * kFrequency * angle + 0x1p-22);
        EXPECT_NEAR(cos[p], rule["cos"][n][p].get<double>(), within) << p;
        EXPECT_NEAR(sin[p], rule["sin"][n][p].get<double>(), within) << p;
      }
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
