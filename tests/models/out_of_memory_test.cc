// Each allocation fails once: an error comes back and nothing leaks (as the
// sanitizer sees it).
#include <gtest/gtest.h>

#include "headwise/models/wordpiece.h"
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

}  // namespace
}  // namespace headwise
