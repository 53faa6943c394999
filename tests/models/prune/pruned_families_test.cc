// Heads that go from the models of every family, and the files of these models.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headwise/heads/each_text.h"
#include "headwise/prune/remove_heads.h"
#include "models/family_models.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

class PrunedFamiliesTest : public testing::TestWithParam<std::string> {
 protected:
  PrunedFamiliesTest() { put_family_model(folder_, GetParam()); }

  static Transformer read(const std::string& folder) {
    return Transformer::read(folder, {.use = ModelUse::training}).value();
  }

  // Of the whole model with gates of 0 at these heads.
  Tensor<float, 2> gated(const Transformer& whole) const {
    std::vector<Tensor<float, 1>> gates;
    for (std::size_t n = 0; n < whole.shape().num_layers; ++n) {
      auto& of_layer = gates.emplace_back(
          Tensor<float, 1>::create({whole.shape().num_heads}).value());
      std::ranges::fill(of_layer.elements(), 1.0f);
    }
    for (const HeadId& head : heads_) {
      gates[head.layer](head.head) = 0;
    }
    return whole.hidden(random_tokens(whole.shape()), {.head_gates = gates})
        .value();
  }
  static Tensor<float, 2> hidden(const Transformer& model) {
    return model.hidden(random_tokens(model.shape())).value();
  }

  // Of a head that stayed; its number is that from before.
  static Tensor<float, 4> weights_of(const Transformer& model) {
    Tensor<float, 4> seen;
    const auto done = model.hidden(
        random_tokens(model.shape()),
        {.see_attn_weights = [&](const AttentionPlace& place,
                                 TensorView<const float, 4> weights) -> Status {
           EXPECT_EQ(place.head, 2u);
           seen = copy_of(weights);
           return ok();
         },
         .heads = {{AttentionKind::self, 0, 2}}});
    EXPECT_TRUE(done);
    return seen;
  }

  TempFolder folder_;
  TempFolder out_;
  std::vector<HeadId> heads_ = {{0, 1}, {1, 0}};
};

TEST_P(PrunedFamiliesTest, RemovedHeadsAreGatesOfZero) {
  const Transformer whole = read(folder_.path());
  Transformer pruned = read(folder_.path());
  const Status removed = remove_heads(pruned, heads_, ConstantPart::dropped);
  const bool shares_norm = GetParam() == "olmo2";
  const bool shares_layers = GetParam() == "albert_groups";
  if (shares_norm || shares_layers) {
    EXPECT_EQ(removed.error().code(), ErrorCode::unsupported);
    return;
  }
  ASSERT_TRUE(removed) << removed.error().message();
  const auto wanted = gated(whole);
  EXPECT_TRUE(all_near(hidden(pruned), wanted, 1e-5, 1e-5));
  EXPECT_FALSE(all_near(hidden(whole), wanted, 1e-5, 1e-5));

  const auto weights = weights_of(pruned);
  EXPECT_TRUE(same_bits(weights, weights_of(whole)));
  const auto gone = pruned.hidden(
      random_tokens(pruned.shape()),
      {.see_attn_weights = [](const AttentionPlace&,
                              TensorView<const float, 4>) { return ok(); },
       .heads = {{AttentionKind::self, 0, 1}}});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().details().argument, "heads[0]");

  ModelPass pass;
  pass.hooks.see_inputs = [](HookPlace, const HookedHeads& heads) {
    return for_each_text(heads, [](std::size_t, const HookedHeads& text) {
      EXPECT_EQ(text.query.extent(2) % text.key.extent(2), 0u);
      return ok();
    });
  };
  EXPECT_TRUE(pruned.hidden(random_tokens(pruned.shape()), pass));

  const Status written = write_pruned(folder_.path(), out_ / "pruned", pruned);
  if (GetParam() == "falcon_40b" || GetParam() == "falcon_11b") {
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::unsupported);
  } else {
    ASSERT_TRUE(written) << written.error().message();
    EXPECT_TRUE(same_bits(hidden(read(out_ / "pruned")), hidden(pruned)));
  }
  ASSERT_TRUE(write_pruned(folder_.path(), out_ / "whole", pruned,
                           {.full_size = true}));
  EXPECT_TRUE(all_near(hidden(read(out_ / "whole")), wanted, 1e-5, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(All, PrunedFamiliesTest,
                         testing::ValuesIn(family_forms()),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace headwise::testing_support
