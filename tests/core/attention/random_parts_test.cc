// Random calls in parts of their keys, cut anywhere: the bits of one call.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "attention/key_parts.h"
#include "attention/random_call.h"
#include "attention/random_call_tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kBlock = 128;

// Uniform in [low, high].
std::size_t any(std::size_t low, std::size_t high) {
  return *rc::gen::resize(rc::kNominalSize,
                          rc::gen::inRange<std::size_t>(low, high + 1));
}

// A call without what needs all keys, of some blocks of keys.
RandomCall any_call_of_parts() {
  RandomCall call = *random_call();
  for (const Feature feature :
       {Feature::dropout, Feature::uniform_rows, Feature::key_starts}) {
    call.features[static_cast<std::size_t>(feature)] = false;
  }
  call.weights_form = static_cast<std::size_t>(AttnWeights::none);
  call.scores_stage = static_cast<std::size_t>(ScoresStage::none);
  if (any(0, 3) != 0) {
    call.Lkv = any(129, 700);
  }
  return call;
}

// Where the parts begin, in blocks; the first one at 0.
std::vector<std::size_t> any_cuts(std::size_t keys) {
  std::vector<std::size_t> cuts(any(1, 3));
  for (std::size_t& cut : cuts) {
    cut = any(0, keys / kBlock);
  }
  std::ranges::sort(cuts);
  cuts.insert(cuts.begin(), 0);
  return cuts;
}

// A sequence that is shorter ends with whole blocks, and its last keys are in
// the last part.
std::vector<KeyRange> keys_of_part(const std::vector<std::size_t>& keys,
                                   const std::vector<std::size_t>& cuts,
                                   std::size_t n) {
  std::vector<KeyRange> ranges;
  for (const std::size_t count : keys) {
    const auto whole_blocks = [&](std::size_t cut) {
      return std::min(cut, count / kBlock) * kBlock;
    };
    const std::size_t first = whole_blocks(cuts[n]);
    const std::size_t end =
        n + 1 < cuts.size() ? whole_blocks(cuts[n + 1]) : count;
    ranges.push_back({first, end - first});
  }
  return ranges;
}

// Empty: all is well.
std::string compare(const RandomCall& call,
                    const std::vector<std::size_t>& cuts) {
  constexpr std::array<std::size_t, 4> kThreads = {1, 2, 3, 7};
  const RandomCallTensors whole(call);
  bool untouched = false;
  const auto want = whole.attend_in(call.dtype, untouched);
  if (!want) {
    return want.error().message();
  }
  const auto layout = static_cast<Layout>(
      call.has(Feature::strided) ? call.stream / 32 % 4 : 0);
  const StateTensors empty(whole.tensors());
  const StridedTensor<float> rows(empty.softmax_rows, layout);
  const StridedTensor<float> context(empty.context, layout);
  const AttentionState state = {rows.view(), context.view()};
  for (std::size_t n = 0; n < cuts.size(); ++n) {
    const RandomCallTensors part(whole, keys_of_part(whole.keys(), cuts, n),
                                 kThreads[(call.stream / 32 + n) % 4]);
    const auto got = part.attend_part(call.dtype, key_part(n, cuts.size()),
                                      state, untouched);
    if (!got) {
      return got.error().message();
    }
    if (!untouched || !rows.gaps_untouched() || !context.gaps_untouched()) {
      return "what stands between elements was written";
    }
    if (n + 1 < cuts.size()) {
      continue;
    }
    for (const auto& same : {same_bits(got->output, want->output),
                             same_bits(got->lse, want->lse)}) {
      if (!same) {
        return same.message();
      }
    }
  }
  return "";
}

TEST(RandomPartsTest, AnyCutHasTheBitsOfOneCall) {
  // rapidcheck reads it once.
  setenv("RC_PARAMS", "max_success=" HEADWISE_RANDOM_CALLS, 0);
  std::array<std::size_t, 2> cut_apart{};
  EXPECT_TRUE(rc::check([&cut_apart] {
    const RandomCall call = any_call_of_parts();
    RC_LOG() << call << '\n';
    const std::vector<std::size_t> cuts = any_cuts(call.Lkv);
    RC_LOG() << "cuts at " << testing::PrintToString(cuts) << '\n';
    const std::string failure = compare(call, cuts);
    if (!failure.empty()) {
      RC_FAIL(failure);
    }
    ++cut_apart[cuts.back() != 0 ? 1 : 0];
  }));
  EXPECT_GT(2 * cut_apart[1], cut_apart[0]);
}

}  // namespace
}  // namespace headwise::testing_support
