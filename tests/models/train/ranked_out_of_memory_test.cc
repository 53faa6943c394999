// Allocations of one of several ranks fail once: every rank ends with an error
// that names this rank.

#include <barrier>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "headwise/distribute/thread_ranks.h"
#include "headwise/train/sentence_classifier.h"
#include "support/failures.h"
#include "support/matchers.h"
#include "train/small_run.h"
#include "train/small_texts.h"

namespace headwise::testing_support {
namespace {

using testing::AllOf;

constexpr std::size_t kRanks = 3;
constexpr std::size_t kFails = 1;

// What all ranks call before the work in which an allocation of one fails.
using Begin = FunctionRef<void()>;

// The work of one rank; all begin and end it together.
Status work_of(Communicator& group, std::barrier<>& all, std::int64_t nth,
               bool& all_served,
               FunctionRef<Status(Communicator&, Begin)> work) {
  const bool fails = group.rank() == kFails;
  Status status = work(group, [&] {
    all.arrive_and_wait();
    failing_allocation() = fails ? nth : 0;
  });
  if (fails) {
    all_served = failing_allocation() > 0;
  }
  failing_allocation() = 0;
  if (status) {  // a rank that needs nothing more of the other hears of it here
    status = group.barrier();
  }
  all.arrive_and_wait();
  return status;
}

// Returns how many allocations of the rank there are; each `step`th fails.
std::int64_t failures_of_a_rank(
    std::int64_t step, FunctionRef<Status(Communicator&, Begin)> work) {
  constexpr ThreadRankOptions kOptions{.deadline = std::chrono::seconds(5)};
  begin_threads();
  for (std::int64_t nth = 1;; nth += step) {
    bool all_served = false;
    std::barrier<> all(kRanks);
    const auto ended = run_ranks(
                           kRanks,
                           [&](Communicator& group) {
                             return work_of(group, all, nth, all_served, work);
                           },
                           kOptions)
                           .value();
    if (all_served || ended[kFails]) {  // it may do without this memory
      EXPECT_TRUE(ended[kFails]) << ended[kFails].error().message();
      if (all_served) {
        return nth;
      }
      continue;
    }
    EXPECT_EQ(ended[kFails].error().code(), ErrorCode::out_of_memory) << nth;
    for (const std::size_t rank : {0u, 2u}) {
      EXPECT_THAT(ended[rank] ? "no error" : ended[rank].error().message(),
                  AllOf(HasSubstr("out of memory"), HasSubstr("on rank 1")))
          << nth;
    }
  }
}

class RankedOutOfMemoryTest : public SmallRunTest {
 protected:
  const Executor executor_ = Executor::with_threads(1).value();
};

TEST_F(RankedOutOfMemoryTest, ARankWithoutMemoryEndsAStepOfAll) {
  EXPECT_GT(failures_of_a_rank(29,
                               [&](Communicator& group, Begin begin) {
                                 ClassifierRun run = this->run(&group);
                                 begin();
                                 return run.step(executor_);
                               }),
            100);
}

TEST_F(RankedOutOfMemoryTest, ARankWithoutMemoryEndsASave) {
  const std::string path = folder_ / "c.npz";
  EXPECT_GT(failures_of_a_rank(3,
                               [&](Communicator& group, Begin begin) {
                                 ClassifierRun run = this->run(&group);
                                 take_steps(run, 1);
                                 begin();
                                 return run.write_checkpoint_to(path);
                               }),
            10);
  const Checkpoint checkpoint = read_checkpoint(path).value();
  EXPECT_GT(failures_of_a_rank(7,
                               [&](Communicator& group, Begin begin) {
                                 ClassifierRun run = this->run(&group);
                                 begin();
                                 return run.resume(checkpoint, path);
                               }),
            10);
}

TEST_F(RankedOutOfMemoryTest, ARankWithoutMemoryEndsTheStart) {
  EXPECT_GT(
      failures_of_a_rank(3,
                         [&](Communicator& group, Begin begin) -> Status {
                           SentenceEncoder own = encoder();
                           LabelProbe head = probe();
                           ClassifierExamples examples = small_examples();
                           begin();
                           HEADWISE_TRY(ClassifierRun::create(
                               kSmallSettings, std::move(own), std::move(head),
                               std::move(examples), &group));
                           return ok();
                         }),
      10);
  const SentenceEncoder encoder = this->encoder();
  const LabelledText text = small_texts();
  EXPECT_GT(failures_of_a_rank(97,
                               [&](Communicator& group, Begin begin) -> Status {
                                 begin();
                                 HEADWISE_TRY(train_probe(
                                     encoder, text, {.executor = &executor_},
                                     &group));
                                 return ok();
                               }),
            10);
}

}  // namespace
}  // namespace headwise::testing_support
