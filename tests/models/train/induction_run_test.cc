#include "headwise/train/induction_run.h"

#include "headwise/train/next_token.h"
#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"
#include "train/run_steps.h"

namespace headwise::testing_support {
namespace {

InductionRun new_run(std::uint64_t seed = 3,
                     Arithmetic arithmetic = Arithmetic::exact) {
  return InductionRun::create({.seed = Seed{seed}, .arithmetic = arithmetic})
      .value();
}

TEST(InductionRunTest, TheLossFalls) {
  InductionRun run = new_run();
  take_steps(run, 40);
  EXPECT_EQ(run.steps(), 40u);
  EXPECT_LT(run.losses().back(), run.losses().front() - 0.1);
}

TEST(InductionRunTest, ThreadsChangeNoBit) {
  InductionRun one = new_run();
  InductionRun three = new_run();
  take_steps(one, 3, 1);
  take_steps(three, 3, 3);
  EXPECT_EQ(saved_bytes(one), saved_bytes(three));
  InductionRun other = new_run(4);
  take_steps(other, 3);
  EXPECT_NE(saved_bytes(one), saved_bytes(other));
}

TEST(InductionRunTest, AResumedRunHasTheBitsOfOneThatNeverStopped) {
  InductionRun whole = new_run();
  take_steps(whole, 5);
  InductionRun first = new_run();
  take_steps(first, 2);
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  ASSERT_TRUE(first.write_checkpoint_to(path));
  const Checkpoint checkpoint = read_checkpoint(path).value();
  EXPECT_EQ(induction_settings_of(checkpoint).seed.value, 3u);
  InductionRun second =
      InductionRun::create(induction_settings_of(checkpoint)).value();
  ASSERT_TRUE(second.resume(checkpoint, path));
  EXPECT_EQ(second.steps(), 2u);
  take_steps(second, 3);
  EXPECT_EQ(saved_bytes(second), saved_bytes(whole));
  InductionRun other = new_run(4);
  EXPECT_THAT(other.resume(checkpoint, path),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "train",
                        .file = path,
                        .given = {"3"},
                        .expected = {"4"}}));
}

TEST(InductionRunTest, InBf16ItIsResumedInBf16Alone) {
  InductionRun whole = new_run(3, Arithmetic::bf16);
  take_steps(whole, 3, 1);
  InductionRun exact = new_run();
  take_steps(exact, 3);
  EXPECT_NE(whole.losses(), exact.losses());
  EXPECT_NEAR(whole.losses().back(), exact.losses().back(), 0.02);

  InductionRun first = new_run(3, Arithmetic::bf16);
  take_steps(first, 1);
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  ASSERT_TRUE(first.write_checkpoint_to(path));
  const Checkpoint checkpoint = read_checkpoint(path).value();
  InductionRun second =
      InductionRun::create(induction_settings_of(checkpoint)).value();
  EXPECT_EQ(second.settings().arithmetic, Arithmetic::bf16);
  ASSERT_TRUE(second.resume(checkpoint, path));
  take_steps(second, 2);
  EXPECT_EQ(saved_bytes(second), saved_bytes(whole));
  EXPECT_THAT(new_run().resume(checkpoint, path),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "train",
                        .file = path,
                        .given = {"bf16"},
                        .expected = {"exact"}}));
}

// What learns is float32, whatever is multiplied.
TEST(InductionRunTest, AModelTrainedInBf16IsReadInEither) {
  InductionRun run = new_run(3, Arithmetic::bf16);
  take_steps(run, 2);
  const TempFolder folder;
  ASSERT_TRUE(run.model().write(folder / "model"));
  const RaggedTokens texts = run.unseen_texts(2).value();
  const auto logits = run.model().logits(texts).value();
  const auto logits_in = [&](Arithmetic arithmetic) {
    return CausalModel::read(folder / "model", arithmetic)
        .value()
        .logits(texts)
        .value();
  };
  EXPECT_TRUE(same_bits(logits_in(Arithmetic::bf16), logits));
  const auto exact = logits_in(Arithmetic::exact);
  EXPECT_FALSE(same_bits(exact, logits));
  for (std::size_t n = 0; n < logits.size(); ++n) {
    EXPECT_NEAR(exact.data()[n], logits.data()[n], 0.05);
  }
}

TEST(InductionRunTest, ARateThatIsTooLargeIsAnError) {
  InductionRun run =
      InductionRun::create({.seed = Seed{3}, .learning_rate = 1e30}).value();
  Status s = ok();
  for (int n = 0; n < 10 && s; ++n) {
    s = run.step();
  }
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(InductionRun::create({.learning_rate = -1}).error().code(),
            ErrorCode::invalid_argument);
}

TEST(InductionRunTest, UnseenTextsAreNotThoseTrainedOn) {
  EXPECT_EQ(new_run().unseen_texts(2).value().size(), 2u);
  EXPECT_EQ(new_run().unseen_texts(2).value(),
            new_run().unseen_texts(2).value());
}

}  // namespace
}  // namespace headwise::testing_support
