// The words and formulas of steps. That explain shows them for every job is
// held in tests/apps/explain_job_test.cc.
#include "inspect/trace/step_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/inspect/trace.h"

namespace headwise {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Hangul syllables are U+AC00 to U+D7A3: EA B0 80 to ED 9E A3.
bool has_hangul(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xEA && byte <= 0xED;
  });
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Passes that take every branch of the table.
std::vector<StepContext> passes(Language language) {
  return {{.language = language},
          {.batched = false,
           .additive = true,
           .group = 4,
           .q_bias = false,
           .k_bias = false,
           .v_bias = false,
           .output_bias = false,
           .value_proj = false,
           .out_proj = false,
           .hidden = HiddenStates{.layer = 3},
           .language = language},
          {.hidden = HiddenStates{.token_types = true}, .language = language}};
}

TEST(StepTableTest, NamesAreThereOnce) {
  const std::set<std::string_view> names(step_names().begin(),
                                         step_names().end());
  EXPECT_EQ(names.size(), step_names().size());
  EXPECT_EQ(names.size(), 54u);
  EXPECT_THAT(names, Contains("attn_weights"));
}

TEST(StepTableTest, ANameThatIsNoStepHasNoWords) {
  for (const char* name : {"score", ""}) {
    EXPECT_EQ(step_operation(name, {}), "");
    EXPECT_EQ(step_formula(name, {}), "");
  }
}

TEST(StepTableTest, EveryStepHasItsWordsInBothLanguages) {
  for (const StepContext& pass : passes(Language::en)) {
    StepContext korean = pass;
    korean.language = Language::ko;
    for (const std::string_view name : step_names()) {
      EXPECT_FALSE(step_operation(name, pass).empty()) << name;
      EXPECT_FALSE(has_hangul(step_operation(name, pass))) << name;
      EXPECT_TRUE(has_hangul(step_operation(name, korean))) << name;
      EXPECT_TRUE(is_ascii(step_formula(name, pass))) << name;
      const std::string formula = step_formula(name, korean);
      EXPECT_EQ(has_hangul(formula), formula != step_formula(name, pass))
          << formula;
    }
  }
}

TEST(StepTableTest, TheSecondMaskOfARuleHasTheWordsOfTheRule) {
  EXPECT_EQ(step_operation("padding_mask_2", {}),
            step_operation("padding_mask", {}));
  EXPECT_THAT(step_formula("padding_mask_2", {}),
              StartsWith("padding_mask_2[b,0,0,j] = key j"));
}

TEST(StepTableTest, FormulasBeginWithTheStepAndAreFilledIn) {
  for (const Language language : {Language::en, Language::ko}) {
    for (const StepContext& pass : passes(language)) {
      for (const std::string_view name : step_names()) {
        const std::string formula = step_formula(name, pass);
        EXPECT_THAT(formula, StartsWith(std::string(name)));
        EXPECT_THAT(formula, Not(HasSubstr("{"))) << name;
      }
    }
  }
}

std::string formula(std::string_view step,
                    std::initializer_list<const char*> names,
                    StepContext pass = {}) {
  std::vector<TracedStep> steps;
  for (const char* name : names) {
    steps.emplace_back().name = name;
  }
  pass.steps = steps;
  return step_formula(step, pass);
}

TEST(StepFormulaTest, ProjectionsTakeTheInputOfThePass) {
  EXPECT_EQ(formula("q", {"hidden", "q", "k", "v"}),
            "q = hidden @ w_q.weight^T + w_q.bias");
  EXPECT_EQ(formula("v", {"hidden", "q", "k", "v"}),
            "v = hidden @ w_v.weight^T + w_v.bias");
  EXPECT_EQ(formula("k", {"embedded", "q", "k"}),
            "k = embedded @ w_k.weight^T + w_k.bias");
  EXPECT_EQ(formula("k", {"embedded", "embedded_kv", "q", "k"}),
            "k = embedded_kv @ w_k.weight^T + w_k.bias");
  EXPECT_EQ(formula("q", {"query", "key", "value", "q"}),
            "q = query @ w_q.weight^T + w_q.bias");
  EXPECT_EQ(formula("q", {"q"}), "q = query @ w_q.weight^T + w_q.bias");
}

TEST(StepFormulaTest, ProjectionsLeaveOutWhatTheyDoNotHave) {
  EXPECT_EQ(formula("k", {"key"}, {.k_bias = false}), "k = key @ w_k.weight^T");
  EXPECT_EQ(formula("v", {"embedded"}, {.value_proj = false}), "v = embedded");
  EXPECT_EQ(formula("output", {}, {.output_bias = false}),
            "output = merged @ w_o.weight^T");
  EXPECT_EQ(formula("output", {}, {.out_proj = false}), "output = merged");
}

TEST(StepFormulaTest, ScoresAreThoseOfTheLastStepThatChangedThem) {
  EXPECT_EQ(formula("attn_weights", {"scores", "attn_weights"}),
            "attn_weights[b,h,i,:] = softmax(scores[b,h,i,:])");
  EXPECT_EQ(
      formula("attn_weights", {"scores", "alibi_scores", "masked_scores"}),
      "attn_weights[b,h,i,:] = softmax(masked_scores[b,h,i,:])");
  EXPECT_EQ(formula("t5_scores", {"scores", "biased_scores", "t5_scores"}),
            "t5_scores[b,h,i,j] = biased_scores[b,h,i,j] + t5_bias[bucket(j - "
            "i - query_start),h]");
  EXPECT_EQ(formula("alibi_scores", {"scores", "t5_scores", "alibi_scores"}),
            "alibi_scores[b,h,i,j] = t5_scores[b,h,i,j] - slopes[h] * |i + "
            "query_start - j|");
  EXPECT_EQ(formula("attn_weights", {"scores", "masked_scores", "sinks"}),
            "attn_weights[b,h,i,:] = softmax([masked_scores[b,h,i,:], "
            "sinks[h]])[:-1]");
  EXPECT_EQ(formula("masked_scores", {"scores", "capped_scores"}),
            "masked_scores = capped_scores if mask else -inf");
  EXPECT_EQ(formula("masked_scores", {"scores", "causal_mask"}),
            "masked_scores = scores if causal_mask else -inf");
}

TEST(StepFormulaTest, GroupsOfHeadsAndDroppedWeightsAreNamed) {
  EXPECT_EQ(formula("scores", {"scores"}, {.group = 4}),
            "scores[b,h,i,j] = scale * sum_d q_heads[b,h,i,d] * "
            "k_heads[b,floor(h/4),j,d]");
  EXPECT_EQ(formula("context", {"attn_weights", "dropped_weights"}),
            "context[b,h,i,d] = sum_j dropped_weights[b,h,i,j] * "
            "v_heads[b,h,j,d]");
  EXPECT_EQ(formula("merged", {"context", "gated"}),
            "merged[b,i,h*Dv+d] = gated[b,h,i,d]");
}

TEST(StepFormulaTest, ScoresCompareWhatWasRotated) {
  EXPECT_EQ(formula("scores", {"q_rotated", "k_rotated"}, {.group = 2}),
            "scores[b,h,i,j] = scale * sum_d q_rotated[b,h,i,d] * "
            "k_rotated[b,floor(h/2),j,d]");
  EXPECT_EQ(formula("k_rotated", {}),
            "k_rotated[b,h,j,:] = rotate(k_heads[b,h,j,:]): x1 * cos - x2 * "
            "sin, x2 * cos + x1 * sin");
}

TEST(StepFormulaTest, NormsSayWhatTheyNormaliseAndWhatIsRotatedAfterThem) {
  EXPECT_EQ(formula("q_normed", {}),
            "q_normed[b,h,i,:] = x / sqrt(mean(x^2) + eps) * q_norm.weight, "
            "x = q_heads[b,h,i,:]");
  EXPECT_EQ(formula("k_normed", {},
                    {.qk_norm = {.kind = NormKind::layer,
                                 .over = NormOver::each_head,
                                 .bias = true}}),
            "k_normed[b,h,j,:] = (x - mean(x)) / sqrt(var(x) + eps) * "
            "k_norm.weight[h,:] + k_norm.bias[h,:], x = k_heads[b,h,j,:]");
  EXPECT_EQ(
      formula("k_normed", {},
              {.batched = false,
               .qk_norm = {.over = NormOver::projection, .plus_one = true}}),
      "k_normed[:,j,:] = x / sqrt(mean(x^2) + eps) * (1 + "
      "k_norm.weight), x = k[j,:]");
  EXPECT_EQ(formula("scores", {"q_normed", "k_normed"}),
            "scores[b,h,i,j] = scale * sum_d q_normed[b,h,i,d] * "
            "k_normed[b,h,j,d]");
  EXPECT_EQ(formula("q_rotated", {"q_normed"}),
            "q_rotated[b,h,i,:] = rotate(q_normed[b,h,i,:]): x1 * cos - x2 * "
            "sin, x2 * cos + x1 * sin");
}

TEST(StepFormulaTest, UnbatchedStepsHaveNoAxisOfSequences) {
  EXPECT_EQ(formula("scores", {}, {.batched = false, .group = 2}),
            "scores[h,i,j] = scale * sum_d q_heads[h,i,d] * "
            "k_heads[floor(h/2),j,d]");
}

TEST(StepFormulaTest, HiddenStatesSayWhereTheyComeFrom) {
  EXPECT_EQ(formula("hidden", {}), "hidden = input of this layer");
  EXPECT_EQ(formula("hidden", {}, {.hidden = HiddenStates{.layer = 3}}),
            "hidden = output of layer 2");
  EXPECT_EQ(formula("hidden", {},
                    {.hidden = HiddenStates{}, .language = Language::ko}),
            "hidden[b,t,:] = LayerNorm(word[id[b,t],:] + position[t,:])");
  // Llama's and Gemma's, ALBERT's.
  HiddenStates before{.scale = 8,
                      .positions = false,
                      .embedding_norm = false,
                      .attention_norm = true,
                      .norm = NormKind::rms};
  EXPECT_EQ(formula("hidden", {}, {.hidden = before}),
            "hidden[b,t,:] = RMSNorm(8 word[id[b,t],:])");
  before.layer = 3;
  EXPECT_EQ(formula("hidden", {}, {.hidden = before}),
            "hidden = RMSNorm(output of layer 2)");
  EXPECT_EQ(
      formula("hidden", {},
              {.hidden = HiddenStates{.token_types = true, .projected = true}}),
      "hidden[b,t,:] = project(LayerNorm(word[id[b,t],:] + position[t,:] + "
      "token_type[0,:]))");
}

}  // namespace
}  // namespace headwise
