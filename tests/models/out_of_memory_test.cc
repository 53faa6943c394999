// Each allocation fails once: an error comes back and nothing leaks (as the
// sanitizer sees it).
#include <gtest/gtest.h>

#include "headwise/models/model_settings.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/wordpiece.h"
#include "interop/files.h"
#include "models/model_texts.h"
#include "models/small_model.h"
#include "models/vocabularies.h"
#include "support/failures.h"

namespace headwise {
namespace {

using testing_support::failures_of;
using testing_support::vocabulary_of;
using testing_support::vocabulary_text;

TEST(OutOfMemoryTest, EveryAllocationOfAVocabularyMayFail) {
  const std::string text = vocabulary_text({"the", "##s", "head"});
  EXPECT_GT(failures_of([&] { return parse_vocabulary(text, "vocab.txt"); }),
            3);
}

TEST(OutOfMemoryTest, EveryAllocationOfASentenceMayFail) {
  const WordPiece wordpiece(vocabulary_of({"the", "##s", "head"}));
  const std::string sentence = "The h\u00E9ads [MASK] a\u302E\u0334 unknown";
  EXPECT_GT(failures_of([&] { return wordpiece.encode(sentence, 100); }), 5);
  const std::vector<std::string_view> batch = {sentence, "a", sentence};
  EXPECT_GT(failures_of([&] { return wordpiece.encode_batch(batch, 100); }),
            10);
}

TEST(OutOfMemoryTest, EveryAllocationOfAModelsSettingsMayFail) {
  const TempFolder folder;
  const auto put = [&](std::string_view name, std::string_view text) {
    put_file(folder / name, bytes_of(text));
  };
  put("config.json", testing_support::json(testing_support::bert_fields()));
  put("modules.json",
      testing_support::modules_text("Transformer", "Pooling", "Normalize"));
  put("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  put("sentence_bert_config.json", R"({"max_seq_length": 256})");
  put("config_sentence_transformers.json", R"({"prompts": {}})");
  std::filesystem::create_directory(folder / "1_Pooling");
  put("1_Pooling/config.json",
      R"({"embedding_dimension": 384, "pooling_mode": ["cls", "mean"]})");
  const std::string path = folder.path();
  EXPECT_GT(failures_of([&] { return read_model_settings(path); }), 100);
}

TEST(OutOfMemoryTest, EveryAllocationOfAModelMayFail) {
  const TempFolder folder;
  testing_support::put_small_model(
      folder, testing_support::small_params(
                  testing_support::small_config(BertFamily::bert)));
  const std::string path = folder.path();
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    EXPECT_GT(failures_of([&] {
                return SentenceEncoder::read(path, {.file = access});
              }),
              100);
  }
  const SentenceEncoder model = SentenceEncoder::read(path).value();
  const Executor alone = Executor::with_threads(1).value();
  const std::vector<std::string_view> sentences = {"we see heads", "", "why"};
  EXPECT_GT(failures_of(
                [&] { return model.encode(sentences, {.executor = &alone}); }),
            10);
  const RaggedTokens ids = {{2, 5, 3}};
  EXPECT_GT(failures_of([&] {
              return model.encoder().forward(
                  ids, {.attn_weights = true, .executor = &alone});
            }),
            10);
}

}  // namespace
}  // namespace headwise
