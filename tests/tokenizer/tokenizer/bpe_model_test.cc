#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tokenizer/model_words.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

Json bpe(Json options = Json::object()) {
  Json model = {{"type", "BPE"}};
  model.update(options);
  return model;
}

TEST(BpeModelTest, MergesByRankThenFromTheLeft) {
  const std::vector<std::string> texts = {"a",   "b",  "c", "aa",
                                          "aaa", "ab", "bc"};
  EXPECT_EQ(
      tokens_of(*model_of(bpe_spec(bpe(), texts, {{"a", "a"}, {"aa", "a"}})),
                "aaaaa"),
      "aa[0,2) aaa[2,5)");
  // A pair that is listed twice has its last rank.
  EXPECT_EQ(tokens_of(*model_of(bpe_spec(bpe(), texts,
                                         {{"a", "b"}, {"b", "c"}, {"a", "b"}})),
                      "abc"),
            "a[0,1) bc[1,3)");
}

// Words of more than 64 symbols have their pairs in a queue.
TEST(BpeModelTest, LongWordsHaveTheSameMerges) {
  const auto model =
      model_of(bpe_spec(bpe(), {"a", "b", "aa", "ab", "aab", "aaaa"},
                        {{"a", "a"}, {"aa", "aa"}, {"a", "b"}, {"aa", "b"}}));
  EXPECT_EQ(tokens_of(*model, "aaabaaaaab"),
            "aa[0,2) ab[2,4) aaaa[4,8) ab[8,10)");
  std::string word;
  std::string tokens;
  for (std::size_t n = 0; n < 1000; n += 10) {
    word += "aaabaaaaab";
    const auto part = [&](const char* text, std::size_t from, std::size_t to) {
      tokens += (tokens.empty() ? "" : " ") + std::string(text) + "[" +
                std::to_string(n + from) + "," + std::to_string(n + to) + ")";
    };
    part("aa", 0, 2);
    part("ab", 2, 4);
    part("aaaa", 4, 8);
    part("ab", 8, 10);
  }
  EXPECT_EQ(tokens_of(*model, word), tokens);
}

// The pair of "a" and "b" is replaced by one that makes a token of the same id:
// the reference goes on with the old rank.
TEST(BpeModelTest, TokensOfOneIdKeepTheRankOfAPair) {
  TokenizerSpec spec =
      bpe_spec(bpe(), {"a", "b", "c", "d", "bc", "ab", "bcd", "abc"},
               {{"b", "c"}, {"a", "b"}, {"bc", "d"}, {"a", "bc"}});
  spec.vocabulary[7].second = 5;
  EXPECT_EQ(tokens_of(*model_of(std::move(spec)), "abcd"), "abc[0,3) d[3,4)");
}

TEST(BpeModelTest, PrefixesAndSuffixes) {
  const Json affixes = {{"continuing_subword_prefix", "##"},
                        {"end_of_word_suffix", "/w"}};
  const auto model = model_of(
      bpe_spec(bpe(affixes), {"a", "##b", "##c/w", "ab", "abc/w", "c/w"},
               {{"a", "##b"}, {"ab", "##c/w"}}));
  EXPECT_EQ(tokens_of(*model, "abc"), "abc/w[0,3)");
  EXPECT_EQ(tokens_of(*model, "c"), "c/w[0,1)");
  // The prefix is taken off by its length, in bytes.
  const auto odd =
      model_of(bpe_spec(bpe({{"continuing_subword_prefix", "\u00E9"}}),
                        {"a", "\u00E9b", "ab"}, {{"a", "\u00E9b"}}));
  EXPECT_EQ(tokens_of(*odd, "ab"), "ab[0,2)");
  // Bytes of the suffix are behind the word's end.
  const auto bytes = model_of(
      bpe_spec(bpe({{"end_of_word_suffix", "/w"}, {"byte_fallback", true}}),
               {"<0x62>", "<0x2F>", "<0x77>"}));
  EXPECT_EQ(tokens_of(*bytes, "b"), "<0x62>[0,1) <0x2F>[1,1) <0x77>[1,1)");
}

TEST(BpeModelTest, UnknownCharacters) {
  const std::vector<std::string> texts = {"a", "b", "u", "<0xC3>", "<0xA8>"};
  const auto of = [&](Json options, std::string_view word) {
    return tokens_of(*model_of(bpe_spec(bpe(options), texts)), word);
  };
  // Dropped ones move the offsets of the tokens after them.
  EXPECT_EQ(of(Json::object(), "xab"), "a[0,1) b[1,2)");
  EXPECT_EQ(of({{"unk_token", "u"}}, "xya"), "u[0,1) u[1,2) a[2,3)");
  EXPECT_EQ(of({{"unk_token", "u"}, {"fuse_unk", true}}, "axyb"),
            "a[0,1) u[1,3) b[3,4)");
  EXPECT_EQ(of({{"unk_token", "v"}}, "ab"), "a[0,1) b[1,2)");
  EXPECT_EQ(of({{"unk_token", "v"}}, "ax"),
            "read: t.json: model.unk_token is \"v\", expected a token of "
            "model.vocab");
  // Bytes go before the unknown character in front of them.
  EXPECT_EQ(of({{"unk_token", "u"}, {"byte_fallback", true}}, "a\u00E9\u00E8b"),
            "a[0,1) <0xC3>[1,2) <0xA8>[2,3) u[3,5) b[5,6)");
}

TEST(BpeModelTest, IgnoreMergesTakesWholeWords) {
  const std::vector<std::string> texts = {"a", "b", "ab", "abb"};
  const auto model =
      model_of(bpe_spec(bpe({{"ignore_merges", true}}), texts, {{"a", "b"}}));
  EXPECT_EQ(tokens_of(*model, "abb"), "abb[0,3)");
  EXPECT_EQ(tokens_of(*model, "abba"), "ab[0,2) b[2,3) a[3,4)");
}

TEST(BpeModelTest, ByteLevelWordsAreSpelled) {
  const std::vector<std::string> texts = {
      "a", "\u0120", "\u00C3", "\u00A9", "\u0120a", "\u00C3\u00A9", "\u0143"};
  const auto model = model_of(
      bpe_spec(bpe({{"ignore_merges", true}}), texts, {{"\u0120", "a"}}), true);
  EXPECT_EQ(tokens_of(*model, " a"), "\u0120a[0,2)");
  EXPECT_EQ(tokens_of(*model, "\u00E9"), "\u00C3\u00A9[0,2)");
  EXPECT_EQ(tokens_of(*model, "\u00E9 a"),
            "\u00C3[0,1) \u00A9[1,2) \u0120a[2,4)");
  EXPECT_EQ(tokens_of(*model, "\xA9"), "\u00A9[0,1)");
  EXPECT_EQ(tokens_of(*model, "\xAD"), "\u0143[0,1)");
  // "b" is dropped: offsets are those of the spelling, in which U+0120 has two
  // bytes.
  EXPECT_EQ(tokens_of(*model, "b a"), "\u0120a[0,2)");
  EXPECT_EQ(tokens_of(*model, "baa a"), "a[0,1) a[1,2) \u0120a[2,4)");
  EXPECT_EQ(tokens_of(*model, "b b"), "\u0120[0,2)");
  EXPECT_EQ(tokens_of(*model, "b \xA9"), "\u0120[0,2) \u00A9[1,3)");
}

TEST(BpeModelTest, ErrorsNameTheMerge) {
  const auto error = [](const char* left, const char* right,
                        const char* prefix = "") {
    return spec_error(bpe_spec(bpe({{"continuing_subword_prefix", prefix}}),
                               {"a", "b", "ab"}, {{"a", "b"}, {left, right}}));
  };
  EXPECT_EQ(error("a", "q"),
            "read: t.json: model.merges[1] joins a and q, expected q in "
            "model.vocab");
  EXPECT_EQ(error("a", "a"),
            "read: t.json: model.merges[1] joins a and a, expected aa in "
            "model.vocab");
  EXPECT_EQ(error("a", "b", "##"),
            "read: t.json: model.merges[0] joins a and b, expected the prefix "
            "## of the second one");
}

TEST(BpeModelTest, DropoutIsUnsupported) {
  const auto made = [](Json dropout) {
    return spec_error(bpe_spec(bpe({{"dropout", std::move(dropout)}}), {"a"}));
  };
  EXPECT_EQ(made(0.0), "");
  EXPECT_EQ(made(nullptr), "");
  EXPECT_EQ(made(0.5),
            "read: t.json: model.dropout is 0.5, expected null or 0");
  EXPECT_EQ(made(2), "read: t.json: model.dropout is 2, expected null or 0");
}

// Cut words give the tokens of whole ones, with random vocabularies.
TEST(BpeModelTest, CutsChangeNoToken) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::vector<std::string> letters = {"a", "b", "\u00E9", "\u2581", " "};
  std::size_t cuts = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts = {"u", "<0x61>", "<0xC3>", "<0xA9>"};
    const std::size_t first = texts.size();
    for (const std::string& letter : letters) {
      if (below(8) > 0) {
        texts.push_back(letter);
      }
    }
    Merges merges;
    const std::size_t least = below(4) == 0 ? 0 : first;
    while (texts.size() > least && merges.size() < 12) {
      const auto piece = [&] {
        return texts[least + below(texts.size() - least)];
      };
      const std::string left = piece(), right = piece(), both = left + right;
      merges.emplace_back(left, right);
      if (std::ranges::find(texts, both) == texts.end()) {
        texts.push_back(both);
      }
    }
    Json options = {{"fuse_unk", below(2) == 0},
                    {"byte_fallback", below(2) == 0},
                    {"ignore_merges", below(4) == 0}};
    if (below(3) > 0) {
      options["unk_token"] = "u";
    }
    if (below(6) == 0) {
      options["end_of_word_suffix"] = "a";
    }
    const auto model = model_of(bpe_spec(bpe(options), texts, merges));
    ModelMemory memory;
    for (int n = 0; n < 100; ++n) {
      std::string word;
      std::vector<std::size_t> ends;
      char32_t before = 0;
      for (std::size_t k = 0; k < 12; ++k) {
        const std::string& next = letters[below(letters.size())];
        if (k > 0 && next == kWordBoundary && model->may_cut(before)) {
          ends.push_back(word.size());
        }
        before = first_character(next).code;
        word += next;
      }
      ends.push_back(word.size());
      cuts += ends.size() - 1;
      std::vector<ModelToken> whole, cut;
      ASSERT_TRUE(model->encode(word, memory, whole));
      std::size_t begin = 0;
      for (const std::size_t end : ends) {
        const std::size_t done = cut.size();
        ASSERT_TRUE(model->encode(
            std::string_view(word).substr(begin, end - begin), memory, cut));
        for (std::size_t k = done; k < cut.size(); ++k) {
          cut[k].begin += static_cast<std::uint32_t>(begin);
          cut[k].end += static_cast<std::uint32_t>(begin);
        }
        begin = end;
      }
      ASSERT_EQ(whole, cut) << word << " of round " << round;
    }
  }
  EXPECT_GT(cuts, 2500);
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
