// Importance by several ranks has the bits of one process.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/distribute/thread_ranks.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/sentence_importance.h"
#include "prune/known_model.h"

namespace headwise::testing_support {
namespace {

const std::vector<ImportanceMethod> kMethods = {
    ImportanceMethod::gradient,   ImportanceMethod::fisher,
    ImportanceMethod::ablation,   ImportanceMethod::entropy,
    ImportanceMethod::confidence, ImportanceMethod::random};

Status finish(ImportanceRun& run) {
  while (run.done() < run.steps()) {
    HEADWISE_TRY(run.step());
  }
  return ok();
}

HeadImportance of_one_process(GatedModel model,
                              const ImportanceOptions& options) {
  auto run = ImportanceRun::create(std::move(model), options).value();
  EXPECT_TRUE(finish(run));
  return run.result();
}

void expect_no_errors(const Result<std::vector<Status>>& done) {
  ASSERT_TRUE(done);
  for (const Status& s : *done) {
    EXPECT_TRUE(s) << s.error().message();
  }
}

TEST(ShareExamplesTest, AnyNumberOfRanksHasTheBitsOfOne) {
  const KnownModel known;
  for (const ImportanceMethod method : kMethods) {
    for (const std::size_t batch : {2u, 7u}) {
      const ImportanceOptions options = {
          .method = method, .share_a_round = 0.4, .batch = batch};
      const HeadImportance whole = of_one_process(known.gated(), options);
      for (const std::size_t ranks : {1u, 2u, 3u, 5u}) {
        expect_no_errors(run_ranks(ranks, [&](Communicator& group) -> Status {
          HEADWISE_ASSIGN(
              auto run,
              ImportanceRun::create(
                  share_examples(known.gated(), group).value(), options));
          HEADWISE_TRY(finish(run));
          EXPECT_EQ(run.result().scores, whole.scores)
              << name_of(method) << ", " << ranks << " ranks";
          EXPECT_EQ(run.result().order, whole.order);
          return ok();
        }));
      }
    }
  }
}

TEST(ShareExamplesTest, ARunContinuesOnAnotherNumberOfRanks) {
  const KnownModel known;
  const ImportanceOptions options = {.method = ImportanceMethod::fisher,
                                     .batch = 2};
  const HeadImportance whole = of_one_process(known.gated(), options);
  ImportanceState state;
  expect_no_errors(run_ranks(2, [&](Communicator& group) -> Status {
    HEADWISE_ASSIGN(auto run,
                    ImportanceRun::create(
                        share_examples(known.gated(), group).value(), options));
    HEADWISE_TRY(run.step());
    HEADWISE_TRY(run.step());
    if (group.rank() == 0) {
      state = run.state();
    }
    return ok();
  }));
  expect_no_errors(run_ranks(3, [&](Communicator& group) -> Status {
    HEADWISE_ASSIGN(auto run,
                    ImportanceRun::create(
                        share_examples(known.gated(), group).value(), options));
    HEADWISE_TRY(run.set_state(state));
    HEADWISE_TRY(finish(run));
    EXPECT_EQ(run.result().scores, whole.scores);
    return ok();
  }));
}

TEST(ShareExamplesTest, EachRankComputesItsPartAndEachExampleOnce) {
  const KnownModel known;
  std::vector<std::vector<std::size_t>> seen(3);
  expect_no_errors(run_ranks(3, [&](Communicator& group) -> Status {
    GatedModel model = known.gated();
    auto& own = seen[group.rank()];
    model.losses = [&own](std::size_t begin, std::size_t end,
                          HeadGateSpan) -> Result<std::vector<double>> {
      for (std::size_t x = begin; x < end; ++x) {
        own.push_back(x);
      }
      return std::vector<double>(end - begin);
    };
    const std::vector<Tensor<float, 1>> gates;
    HEADWISE_ASSIGN(
        const auto losses,
        share_examples(std::move(model), group).value().losses(1, 7, gates));
    EXPECT_EQ(losses.size(), 6u);
    return ok();
  }));
  EXPECT_EQ(seen,
            (std::vector<std::vector<std::size_t>>{{1, 2}, {3, 4}, {5, 6}}));
}

TEST(ShareExamplesTest, AllRanksHaveTheErrorOfOne) {
  const KnownModel known;
  const auto done = run_ranks(3, [&](Communicator& group) -> Status {
    GatedModel model = known.gated();
    model.losses = [&](std::size_t begin, std::size_t end,
                       HeadGateSpan) -> Result<std::vector<double>> {
      if (group.rank() == 1) {
        return Error(ErrorCode::bad_data, {.given = "a broken sentence"});
      }
      return std::vector<double>(end - begin);
    };
    const std::vector<Tensor<float, 1>> gates;
    const auto losses =
        share_examples(std::move(model), group).value().losses(0, 7, gates);
    return losses ? ok() : Status(losses.error());
  });
  ASSERT_TRUE(done);
  for (const Status& s : *done) {
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code(), ErrorCode::bad_data);
    EXPECT_NE(s.error().message().find("a broken sentence"), std::string::npos);
  }
}

}  // namespace
}  // namespace headwise::testing_support
