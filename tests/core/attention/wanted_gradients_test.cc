// A backward pass that computes some of the gradients: they have the bits that
// they have together with all others.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "headwise/attention/backward.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Which gradients are wanted.
enum : unsigned {
  kQuery = 1U << 0U,
  kKey = 1U << 1U,
  kValue = 1U << 2U,
  kBias = 1U << 3U,
  kT5Bias = 1U << 4U,
  kAlibi = 1U << 5U,
  kScoreWeight = 1U << 6U,
  kSinks = 1U << 7U,
  kBiasK = 1U << 8U,
  kBiasV = 1U << 9U,
};
constexpr unsigned kAll = (1U << 10U) - 1;

AttentionGradients chosen(const AttentionGradients& all, unsigned wanted) {
  AttentionGradients some;
  const auto choose = [wanted](unsigned which, auto& to, const auto& from) {
    if ((wanted & which) != 0) {
      to = from;
    }
  };
  choose(kQuery, some.query, all.query);
  choose(kKey, some.key, all.key);
  choose(kValue, some.value, all.value);
  choose(kBias, some.bias, all.bias);
  choose(kT5Bias, some.t5_bias, all.t5_bias);
  choose(kAlibi, some.alibi, all.alibi);
  choose(kScoreWeight, some.score_weight, all.score_weight);
  choose(kSinks, some.sinks, all.sinks);
  choose(kBiasK, some.bias_k, all.bias_k);
  choose(kBiasV, some.bias_v, all.bias_v);
  return some;
}

// In the order of the bits.
std::array<std::span<const float>, 10> elements_of(const Gradients<float>& of) {
  return {of.query.elements(),        of.key.elements(),
          of.value.elements(),        of.bias.elements(),
          of.t5_bias.elements(),      of.alibi.elements(),
          of.score_weight.elements(), of.sinks.elements(),
          of.bias_k.elements(),       of.bias_v.elements()};
}

// The wanted ones have the bits of `all`; the others are as gradients_for()
// made them.
void expect_chosen(const Gradients<float>& got, const Gradients<float>& all,
                   unsigned wanted) {
  for (std::size_t n = 0; n < 10; ++n) {
    const std::span<const float> elements = elements_of(got)[n];
    const std::span<const float> want = elements_of(all)[n];
    const bool is_wanted = (wanted >> n & 1U) != 0;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(elements[e]),
                std::bit_cast<std::uint32_t>(is_wanted ? want[e] : 42.0f))
          << "gradient " << n << ", element " << e;
    }
  }
}

// Threads divide a head of the first and share out those of the second.
const std::vector<AttentionShape> kShapes = {
    {.B = 1, .Hq = 2, .Hkv = 1, .Lq = 101, .Lkv = 150, .D = 20, .Dv = 7},
    {.B = 3, .Hq = 16, .Hkv = 8, .Lq = 50, .Lkv = 131, .D = 8, .Dv = 16}};

TEST(WantedGradientsTest, EachAloneHasTheBitsOfAllForEveryOption) {
  const Executor executor = Executor::with_threads(2).value();
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 7300);
    const EveryMask every_mask(shape, true);
    for (OptionsCase& given : every_options(every_mask)) {
      SCOPED_TRACE(given.name);
      AttentionOptions& options = given.options;
      options.executor = &executor;
      const Upstream<float> upstream =
          random_upstream(in, options, 7310, given.operation_options);
      const auto saved = attend_and_save(in, options, given.operation_options);
      const auto compute = [&](unsigned wanted) {
        auto gradients = gradients_for(in, options, given.operation_options);
        const Status s =
            attention_backward(backward_inputs(in, saved, upstream),
                               chosen(gradients.views(), wanted), options,
                               given.operation_options);
        EXPECT_TRUE(s) << s.error().message();
        return gradients;
      };
      const Gradients<float> all = compute(kAll);
      for (const unsigned wanted :
           {kQuery, kKey, kValue, kBias, kT5Bias, kAlibi, kScoreWeight, kSinks,
            kBiasK, kBiasV}) {
        expect_chosen(compute(wanted), all, wanted);
      }
      for (const unsigned wanted :
           {kKey | kValue, kQuery | kValue, kQuery | kKey, kQuery | kBias,
            kAll & ~kQuery, kAll & ~(kKey | kBiasK)}) {
        expect_chosen(compute(wanted), all, wanted);
      }
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
