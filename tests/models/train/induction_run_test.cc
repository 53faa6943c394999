#include "headwise/train/induction_run.h"

#include <filesystem>
#include <string>
#include <vector>

#include "headwise/models/language_model.h"
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
  ASSERT_TRUE(run.write_model(folder / "model"));
  const RaggedTokens texts = run.unseen_texts(2).value();
  const auto hidden = run.model().hidden(texts).value();
  const auto logits = run.model().logits(hidden).value();
  const auto logits_in = [&](Arithmetic arithmetic) {
    return read_language_model(folder / "model", {.arithmetic = arithmetic})
        .value()
        ->logits(texts)
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

// ---- The model's folder. ----

class InductionFolderTest : public testing::Test {
 protected:
  InductionFolderTest() { EXPECT_TRUE(run_.write_model(folder_.path())); }

  void put(std::string_view name, std::string_view text) {
    put_file(folder_ / name, bytes_of(text));
  }
  bool is_readable() const {
    return static_cast<bool>(read_language_model(folder_.path()));
  }

  TempFolder folder_;
  InductionRun run_ = new_run();
};

TEST_F(InductionFolderTest, HoldsTheWordsOfTheTask) {
  const auto model = read_text_model(folder_.path()).value();
  EXPECT_TRUE(model->shape().causal);
  EXPECT_EQ(model->token(4), "apple");
  EXPECT_TRUE(model->is_special(3));
  EXPECT_THAT(model->encode("apple  wolf\nWolf", 7).value().ids,
              ElementsAre(4, 67, 1));
}

// As earlier versions wrote it.
TEST_F(InductionFolderTest, WithoutATokenizerItIsRefused) {
  std::filesystem::rename(folder_ / "tokenizer.json", folder_ / "vocab.txt");
  EXPECT_THAT(read_language_model(folder_.path()),
              HasError({.code = ErrorCode::io_error,
                        .operation = "read_model_settings",
                        .file = folder_.path(),
                        .given = {"tokenizer.json"}}));
}

// A folder blocks the place of the parameters. The tokenizer, which is written
// before them, must not be replaced either.
TEST_F(InductionFolderTest, AFailureLeavesTheOldModel) {
  put("tokenizer.json", "of the old model");
  std::filesystem::remove(folder_ / "model.safetensors");
  std::filesystem::create_directory(folder_ / "model.safetensors");
  EXPECT_THAT(run_.write_model(folder_.path()),
              IsFileError(ErrorCode::io_error, folder_ / "model.safetensors"));
  EXPECT_EQ(file_bytes(folder_ / "tokenizer.json"),
            bytes_of("of the old model"));
  EXPECT_EQ(folder_.count(), 3u);
}

TEST_F(InductionFolderTest, FilesThatItDoesNotWriteStay) {
  const std::vector<std::string> keep = {"checkpoint.npz", "texts.txt", "none"};
  std::vector<std::string> names = {"checkpoint.npz"};
  // The folder is replaced as a whole, and then file by file.
  for (const std::string name :
       {"texts.txt", "vocab.txt", "classifier.safetensors", "mine/config.json",
        "mine/model.safetensors"}) {
    std::filesystem::create_directory(folder_ / "mine");
    names.push_back(name);
    for (const std::string& other : names) {
      put(other, "mine");
    }
    put("config.json", "of the old model");
    ASSERT_TRUE(run_.write_model(folder_.path(), keep));
    for (const std::string& other : names) {
      EXPECT_EQ(file_bytes(folder_ / other), bytes_of("mine")) << other;
    }
    EXPECT_TRUE(Transformer::read(folder_.path()));
  }
}

// A folder in place of a file of the model stops the move. A link in its place
// is replaced, and the file that it names stays.
TEST_F(InductionFolderTest, AModelThatCannotMoveInLeavesTheOldOne) {
  put("notes.txt", "mine");
  put("tokenizer.json", "of the old model");
  put("config.json", "of the old model");
  put("checkpoint.npz", "of a run");
  std::filesystem::remove(folder_ / "model.safetensors");
  std::filesystem::create_directory(folder_ / "model.safetensors");
  EXPECT_FALSE(run_.write_model(folder_.path()));
  for (const std::string name : {"tokenizer.json", "config.json"}) {
    EXPECT_EQ(file_bytes(folder_ / name), bytes_of("of the old model"));
  }
  std::filesystem::remove(folder_ / "model.safetensors");
  std::filesystem::create_symlink("elsewhere", folder_ / "model.safetensors");
  put("elsewhere", "mine");
  ASSERT_TRUE(run_.write_model(folder_.path()));
  EXPECT_EQ(file_bytes(folder_ / "elsewhere"), bytes_of("mine"));
  EXPECT_TRUE(is_readable());
}

TEST_F(InductionFolderTest, OnlyNamesOfFilesThatItDoesNotWriteAreKept) {
  put("tokenizer.json", "of the old model");
  const std::vector<std::string> written = {"config.json", "tokenizer.json"};
  ASSERT_TRUE(run_.write_model(folder_.path(), written));
  EXPECT_TRUE(is_readable());
  for (const std::string name : {"../x", "a/b", ".."}) {
    const std::vector<std::string> keep = {name};
    EXPECT_THAT(run_.write_model(folder_.path(), keep),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "write_model",
                          .argument = "keep",
                          .given = {name}}))
        << name;
  }
}

}  // namespace
}  // namespace headwise::testing_support
