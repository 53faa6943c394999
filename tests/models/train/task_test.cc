#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "headwise/module/optimizer.h"
#include "headwise/train/task_run.h"

namespace headwise {
namespace {

constexpr Seed kSeed{5};
constexpr TokenId kFirstQuestion = 100;

std::vector<TokenId> tokens_of(const TaskBatch& batch) {
  return {batch.tokens.elements().begin(), batch.tokens.elements().end()};
}

TEST(TaskTest, EveryTaskIsFoundByItsName) {
  EXPECT_EQ(name_of(Task::recall), "recall");
  EXPECT_EQ(name_of(Task::reverse), "reverse");
  for (const Task task : kTasks) {
    EXPECT_EQ(task_named(name_of(task)), task);
  }
  EXPECT_FALSE(task_named("sort"));
}

TEST(TaskTest, RecallAsksForTheValueOfAKeyThatIsThereOnce) {
  const auto batch = make_task_batch(Task::recall, kSeed, 0, 50).value();
  ASSERT_EQ(batch.tokens.extents(), (Extents<2>{50, 12}));
  EXPECT_EQ(batch.target_tokens.size(), 0u);
  EXPECT_EQ(batch.queries().extents(), batch.tokens.extents());
  for (std::size_t b = 0; b < 50; ++b) {
    std::set<TokenId> keys;
    for (std::size_t t = 0; t < 8; ++t) {
      ASSERT_LT(batch.tokens(b, t), kFirstQuestion);
      keys.insert(batch.tokens(b, t) / 10);
      EXPECT_EQ(batch.answers(b * 12 + t), kIgnoredTarget);
    }
    EXPECT_EQ(keys.size(), 8u);
    std::set<TokenId> asked;
    for (std::size_t t = 8; t < 12; ++t) {
      const TokenId key = batch.tokens(b, t) - kFirstQuestion;
      const TokenId pair = batch.tokens(b, batch.places(b * 12 + t));
      EXPECT_EQ(pair / 10, key);
      EXPECT_EQ(pair % 10, batch.answers(b * 12 + t));
      asked.insert(key);
    }
    EXPECT_EQ(asked.size(), 4u);
  }
}

TEST(TaskTest, ReverseAsksForTheSourceFromItsEnd) {
  const auto batch = make_task_batch(Task::reverse, kSeed, 0, 50).value();
  ASSERT_EQ(batch.tokens.extents(), (Extents<2>{50, 10}));
  ASSERT_EQ(batch.queries().extents(), (Extents<2>{50, 10}));
  for (std::size_t b = 0; b < 50; ++b) {
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(batch.tokens(b, i) / 10, static_cast<TokenId>(i));
      EXPECT_EQ(batch.queries()(b, i),
                kFirstQuestion + static_cast<TokenId>(i));
      EXPECT_EQ(batch.places(b * 10 + i), static_cast<std::int64_t>(9 - i));
      EXPECT_EQ(batch.answers(b * 10 + i), batch.tokens(b, 9 - i) % 10);
    }
  }
}

TEST(TaskTest, ASequenceDependsOnTheSeedAndItsNumberAlone) {
  for (const Task task : kTasks) {
    const auto many = tokens_of(make_task_batch(task, kSeed, 0, 40).value());
    const auto one = tokens_of(make_task_batch(task, kSeed, 17, 1).value());
    const auto begin = many.begin() + static_cast<std::ptrdiff_t>(
                                          17 * shape_of(task).key_length);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), begin));
    EXPECT_NE(one, tokens_of(make_task_batch(task, Seed{6}, 17, 1).value()));
    std::set<std::vector<TokenId>> different;
    for (std::size_t b = 0; b < 40; ++b) {
      different.insert(tokens_of(make_task_batch(task, kSeed, b, 1).value()));
    }
    EXPECT_EQ(different.size(), 40u);
  }
}

TEST(TaskTest, EveryValueIsAboutAsOftenTheAnswer) {
  for (const Task task : kTasks) {
    const auto batch = make_task_batch(task, kSeed, 0, 1000).value();
    std::vector<int> count(kTaskClasses);
    int asked = 0;
    for (const std::int64_t answer : batch.answers.elements()) {
      if (answer != kIgnoredTarget) {
        ++count.at(static_cast<std::size_t>(answer));
        ++asked;
      }
    }
    for (const int times : count) {
      EXPECT_NEAR(times, asked / 10, asked / 50);
    }
  }
}

}  // namespace
}  // namespace headwise
