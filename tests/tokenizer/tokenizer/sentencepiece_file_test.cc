#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

TEST(RankedMergesTest, EachTokenHasThePairThatIsJoinedLast) {
  const std::vector<NamedToken> tokens = {{"abc", 2}, {"bc", 0}, {"ab", 1},
                                          {"aaa", 3}, {"aa", 3}, {"xyz", 4}};
  const auto merges = merges_of(tokens, FirstParts::bytes);
  ASSERT_EQ(merges.size(), 5U);  // nothing leads to xyz
  const auto is = [&](std::size_t n, std::string_view left,
                      std::string_view right, std::uint32_t rank) {
    return merges[n].left == left && merges[n].right == right &&
           merges[n].rank == rank;
  };
  EXPECT_TRUE(is(0, "b", "c", 0));
  EXPECT_TRUE(is(1, "a", "b", 1));
  EXPECT_TRUE(is(2, "a", "bc", 2));
  EXPECT_TRUE(is(3, "aa", "a", 3));  // the leftmost of equal ranks
  EXPECT_TRUE(is(4, "a", "a", 3));
}

TEST(RankedMergesTest, FirstPartsMayBeCharacters) {
  const std::vector<NamedToken> tokens = {{"\u00E9a", 0}};
  const auto merges = merges_of(tokens, FirstParts::characters);
  ASSERT_EQ(merges.size(), 1U);
  EXPECT_EQ(merges[0].left, "\u00E9");
  EXPECT_TRUE(merges_of(tokens, FirstParts::bytes).empty());
}

std::string field(char tag, std::string_view bytes) {
  return std::string{tag, static_cast<char>(bytes.size())}.append(bytes);
}

std::string piece(std::string_view text, float score, char type) {
  std::string fields = field('\x0A', text) + '\x15';
  for (unsigned shift = 0; shift < 32; shift += 8) {
    fields += static_cast<char>(std::bit_cast<std::uint32_t>(score) >> shift);
  }
  return field('\x0A', fields + '\x18' + type);
}

std::string model(char type) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("ab", -1, 1) +
         piece("a", -3, 1) + piece("b", -4, 1) + piece("ba", -1, 1) +
         piece("<sep>", 0, 4) +
         field('\x12', std::string("\x18") + type + "\x98\x02\x01");
}

Result<TokenizerSpec> parse(std::string_view bytes, const Json& settings = {}) {
  return parse_sentencepiece(bytes, {"read", "a.model"},
                             {&settings, {"read", "b.json"}, ""});
}

TEST(SentencePieceFileTest, ReadsBpe) {
  EXPECT_TRUE(is_sentencepiece(model(2)));
  EXPECT_FALSE(is_sentencepiece("{\"a\": 1}"));
  EXPECT_FALSE(is_sentencepiece("IQ== 0\n"));
  const auto spec = parse(model(2), {{"add_bos_token", true}}).value();
  EXPECT_EQ(spec.merges, (Merges{{"a", "b"}, {"b", "a"}}));
  ASSERT_EQ(spec.vocabulary.size(), 7U);
  EXPECT_EQ(spec.vocabulary[2], std::pair(std::string("ab"), 2U));
  const Json& bpe = *spec.json.find("model");
  EXPECT_EQ(bpe.find("unk_token")->dump(), "\"<unk>\"");
  EXPECT_EQ(bpe.find("byte_fallback")->dump(), "true");
  // Two pieces have one score: the leftmost is first.
  EXPECT_EQ(bpe.find("merge_ranks")->dump(), "[0,0]");
  const Json& added = *spec.json.find("added_tokens");
  ASSERT_EQ(added.size(), 2U);
  EXPECT_EQ(added[0].find("in_text")->dump(), "false");
  EXPECT_EQ(added[1].find("literal")->dump(), "true");
  EXPECT_EQ(added[1].find("normalized")->dump(), "true");
  EXPECT_EQ(spec.json.find("post_processor")->find("single")->size(), 2U);
}

TEST(SentencePieceFileTest, ReadsUnigram) {
  const auto spec = parse(model(1)).value();
  ASSERT_EQ(spec.pieces.size(), 7U);
  EXPECT_TRUE(std::isinf(spec.pieces[1].second));
  EXPECT_EQ(spec.pieces[3].second, -3);
  EXPECT_EQ(spec.pieces[6].second, 0.1 * 4);
  EXPECT_EQ(spec.json.find("model")->find("unk_score")->dump(), "-14.0");
  EXPECT_TRUE(spec.json.find("post_processor")->is_null());
}

TEST(SentencePieceFileTest, OtherFilesAreErrors) {
  const auto error = [](const std::string& bytes) {
    const auto spec = parse(bytes);
    return spec ? "" : spec.error().message();
  };
  const std::string whole = model(2);
  EXPECT_EQ(error(whole.substr(0, whole.size() - 1)),
            "read: a.model is damaged, expected SentencePiece's protobuf");
  EXPECT_EQ(error(model(3)),
            "read: a.model has the model type WORD, expected UNIGRAM, BPE or "
            "CHAR");
  EXPECT_EQ(error(piece("a", 0, 1)),
            "read: a.model has no piece for unknown characters");
  EXPECT_EQ(error(whole + piece("a", 0, 1)),
            "read: a.model: piece 7 is \"a\" again");
  EXPECT_EQ(error(whole + piece("<u>", 0, 2)),
            "read: a.model: piece 7 is another one for unknown characters");
  EXPECT_EQ(error(whole + piece("\xFF", 0, 1)),
            "read: a.model: piece 7 is not UTF-8 text");
  EXPECT_EQ(error(whole + piece("c", NAN, 1)),
            "read: a.model: piece 7 has a score that is not finite");
  EXPECT_EQ(error(whole + piece("cd", 0, 5)),
            "read: a.model: piece 7 is unused, which BPE cannot have");
  EXPECT_EQ(error(whole + piece("c", 0, 3)),
            "read: a.model: piece 7 is a control symbol with one character");
  EXPECT_EQ(error(whole + piece("ac", 0, 1)),
            "read: a.model joins \"a\" and \"c\", but has no piece \"c\"");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
