#include "tokenizer/chars_map.h"

#include <gtest/gtest.h>

#include "tokenizer/base64.h"
#include "tokenizer/normalizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

TEST(Base64Test, BytesComeBack) {
  for (const std::string_view bytes : {"", "f", "fo", "foo", "foob"}) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  EXPECT_EQ(encode_base64("\xFF\xFE"), "//4=");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
}

TEST(Base64Test, OtherTextsAreRefused) {
  for (const std::string_view text :
       {"Z", "Zm9", "Zm9vYh==", "Zm9=Zm9v", "====", "Zm\n=", "Zm9-"}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

// The table of "a" to "x", "ab" to "y z" and the first byte of e acute to "w".
std::string three_replacements() {
  std::vector<std::uint32_t> units(0x800);
  const auto node = [&](std::size_t at, std::uint32_t label,
                        std::uint32_t offset, std::uint32_t value) {
    units[at] = label | 1U << 8U | offset << 10U;
    units[at ^ offset] = value | 1U << 31U;
  };
  units[0] = 0x100U << 10U;
  node(0x100 ^ 'a', 'a', 0x200, 0);
  node(0x100 ^ 'a' ^ 0x200 ^ 'b', 'b', 0x400, 2);
  node(0x100 ^ 0xC3, 0xC3, 0x600, 6);
  std::string bytes;
  const auto add = [&](std::size_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(number >> shift);
    }
  };
  add(4 * units.size());
  for (const std::uint32_t unit : units) {
    add(unit);
  }
  return bytes + std::string("x\0y z\0w\0", 8);
}

Result<CharsMap> chars_map(std::string_view bytes) {
  const Json json = {{"precompiled_charsmap", encode_base64(bytes)}};
  return CharsMap::read({&json, {"read", "a.model"}, "normalizer"});
}

TEST(CharsMapTest, FindsTheShortestAndTheLongest) {
  const auto map = chars_map(three_replacements()).value();
  EXPECT_EQ(map.first("abc")->bytes, 1U);
  EXPECT_EQ(map.first("abc")->replacement, "x");
  EXPECT_EQ(map.longest("abc")->bytes, 2U);
  EXPECT_EQ(map.longest("abc")->replacement, "y z");
  EXPECT_EQ(map.longest("a")->replacement, "x");
  EXPECT_FALSE(map.longest("b"));
  EXPECT_FALSE(map.longest(""));
}

TEST(CharsMapTest, APartOfACharacterIsNoMatch) {
  const auto map = chars_map(three_replacements()).value();
  EXPECT_FALSE(map.longest("\u00E9"));
}

TEST(CharsMapTest, DamagedTablesAreRefused) {
  const std::string whole = three_replacements();
  const auto error = [&](std::string bytes) {
    const auto made = chars_map(bytes);
    return made ? "" : made.error().message();
  };
  const std::string begin = "read: a.model: normalizer.precompiled_charsmap ";
  EXPECT_EQ(error(whole.substr(0, 3)),
            begin +
                "has 3 bytes, expected the size of a trie, the trie, and "
                "replacements");
  EXPECT_EQ(error(whole.substr(0, 100)),
            begin +
                "has 100 bytes, expected the size of a trie, the trie, and "
                "replacements");
  EXPECT_NE(error(std::string("\2\0\0\0abcd", 8)), "");
  EXPECT_NE(error(std::string("\0\0\0\0abcd", 8)), "");
  const std::string damaged =
      begin +
      "has damaged replacements, expected UTF-8 texts with a NUL at "
      "the end";
  EXPECT_EQ(error(whole.substr(0, whole.size() - 1)), damaged);
  EXPECT_EQ(error(whole + std::string("\xFF\0", 2)), damaged);
}

// What becomes of a text, with the changes that `keys` say.
std::string normalized(const Json& keys, std::string_view text) {
  Json json = {{"type", "SentencePiece"},
               {"precompiled_charsmap", encode_base64(three_replacements())}};
  json.update(keys);
  const auto normalizer = read_normalizer({&json, {"read", "a"}, ""}).value();
  AlignedText from;
  AlignedText to;
  from.view(text, 0);
  return std::string(normalizer.apply(from, to).value() ? to.text()
                                                        : from.text());
}

TEST(SentencePieceNormalizerTest, ChangesTextsAsSentencePieceDoes) {
  const Json plain = Json::object();
  EXPECT_EQ(normalized(plain, "  aac  abd "), "\u2581xxc\u2581y\u2581zd");
  EXPECT_EQ(normalized(plain, ""), "");
  EXPECT_EQ(normalized(plain, "  "), "");
  EXPECT_EQ(normalized(plain, "\u2581"), "");
  EXPECT_EQ(normalized(plain, " \u2581\u2581c\u2581"), "\u2581\u2581\u2581c");
  const Json spaces = {{"remove_extra_whitespaces", false}};
  EXPECT_EQ(normalized(spaces, " c  "), "\u2581\u2581c\u2581\u2581");
  EXPECT_EQ(normalized({{"add_dummy_prefix", false}}, " c d"), "c\u2581d");
  EXPECT_EQ(normalized({{"escape_whitespaces", false}}, "c  d"), " c d");
  EXPECT_EQ(normalized({{"treat_whitespace_as_suffix", true}}, " c d "),
            "c\u2581d\u2581");
}

TEST(SentencePieceNormalizerTest, UserDefinedSymbolsStay) {
  Json symbols = Json::array();
  symbols.push_back("aa");
  symbols.push_back("aaa");
  EXPECT_EQ(normalized({{"user_defined_symbols", symbols}}, "aaaaaa aabab"),
            "\u2581aaaaaa\u2581aaby\u2581z");
}

TEST(SentencePieceNormalizerTest, BytesKnowWhereTheyCameFrom) {
  Json json = {{"type", "SentencePiece"},
               {"precompiled_charsmap", encode_base64(three_replacements())}};
  const auto normalizer = read_normalizer({&json, {"read", "a"}, ""}).value();
  AlignedText from;
  AlignedText to;
  from.view("  ab c", 10);
  ASSERT_TRUE(normalizer.apply(from, to).value());
  ASSERT_EQ(to.text(), "\u2581y\u2581z\u2581c");
  EXPECT_EQ(to.from(0, 3), (Span{12, 12}));
  EXPECT_EQ(to.from(3, 8), (Span{12, 14}));
  EXPECT_EQ(to.from(8, 11), (Span{14, 15}));
  EXPECT_EQ(to.from(11, 12), (Span{15, 16}));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
