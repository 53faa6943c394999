#include "headwise/inspect/step_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace headwise {
namespace {

// Hangul syllables are U+AC00 to U+D7A3: EA B0 80 to ED 9E A3.
bool has_hangul(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xEA && byte <= 0xED;
  });
}

TEST(StepTableTest, EveryStepHasItsWordsInBothLanguages) {
  ASSERT_GE(step_table().size(), 27u);
  std::vector<StepInfo> steps(step_table().begin(), step_table().end());
  steps.push_back(additive_scores_step());
  for (const StepInfo& step : steps) {
    EXPECT_FALSE(step.name.empty());
    EXPECT_FALSE(step.formula.empty()) << step.name;
    EXPECT_FALSE(step.operation(Language::en).empty()) << step.name;
    EXPECT_FALSE(has_hangul(step.operation(Language::en))) << step.name;
    EXPECT_TRUE(has_hangul(step.operation(Language::ko))) << step.name;
    EXPECT_EQ(step.formula_in(Language::en), step.formula);
    EXPECT_EQ(has_hangul(step.formula_in(Language::ko)),
              !step.formula_ko.empty())
        << step.name;
  }
}

TEST(StepTableTest, FormulasAreAsciiAndNameTheStepTheyMake) {
  for (const StepInfo& step : step_table()) {
    EXPECT_TRUE(std::ranges::all_of(step.formula, [](char c) {
      return c >= 0x20 && c < 0x7f;
    })) << step.name;
    EXPECT_TRUE(step.formula.starts_with(step.name)) << step.formula;
    EXPECT_TRUE(step.formula_in(Language::ko).starts_with(step.name));
  }
}

TEST(StepTableTest, NamesAreThereOnceAndAreFound) {
  std::set<std::string_view> names;
  for (const StepInfo& step : step_table()) {
    EXPECT_TRUE(names.insert(step.name).second) << step.name;
    EXPECT_EQ(find_step(step.name), &step);
  }
  EXPECT_EQ(find_step("score"), nullptr);
  EXPECT_EQ(find_step(""), nullptr);
}

}  // namespace
}  // namespace headwise
