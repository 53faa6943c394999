// What step_table() says, over the names of one pass. That explain says the
// same of every job is held in tests/apps/explain_job_test.cc.
#include "inspect/step_formula.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {
namespace {

std::string formula(std::string_view step,
                    std::initializer_list<const char*> names,
                    std::size_t group = 1) {
  std::vector<TracedStep> steps;
  for (const char* name : names) {
    steps.emplace_back().name = name;
  }
  return step_formula(*find_step(step), steps, group, Language::en);
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

TEST(StepFormulaTest, ScoresAreThoseOfTheLastStepThatChangedThem) {
  EXPECT_EQ(formula("attn_weights", {"scores", "attn_weights"}),
            "attn_weights[b,h,i,:] = softmax(scores[b,h,i,:])");
  EXPECT_EQ(
      formula("attn_weights", {"scores", "alibi_scores", "masked_scores"}),
      "attn_weights[b,h,i,:] = softmax(masked_scores[b,h,i,:])");
  EXPECT_EQ(formula("masked_scores", {"scores", "capped_scores"}),
            "masked_scores = capped_scores if mask else -inf");
}

TEST(StepFormulaTest, GroupsOfHeadsAndDroppedWeightsAreNamed) {
  EXPECT_EQ(formula("scores", {"scores"}, 4),
            "scores[b,h,i,j] = scale * sum_d q_heads[b,h,i,d] * "
            "k_heads[b,floor(h/4),j,d]");
  EXPECT_EQ(formula("context", {"attn_weights", "dropped_weights"}),
            "context[b,h,i,d] = sum_j dropped_weights[b,h,i,j] * "
            "v_heads[b,h,j,d]");
}

}  // namespace
}  // namespace headwise
