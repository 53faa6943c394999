#include "tokenizer/decoder.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

Result<Decoder> read(std::string_view text) {
  const auto json = Json::parse(text, 10000, 50);
  return read_decoder(
      JsonPart(&*json, FileSubject{.file = "t.json"}, "decoder"));
}

std::string error_of(std::string_view text) {
  const auto decoder = read(text);
  return decoder ? "none" : decoder.error().message();
}

// What each token adds, and the end.
Tokens streamed(const Decoder& decoder, const Tokens& tokens) {
  Decoder stream = decoder;
  Tokens parts;
  for (const std::string& token : tokens) {
    Tokens next = {token};
    stream.stream(next, Next::token).value();
    parts.push_back(joined(next));
  }
  Tokens rest;
  stream.stream(rest, Next::nothing).value();
  parts.push_back(joined(rest));
  return parts;
}

struct DecoderCase {
  std::string_view decoder;
  Tokens tokens;
  std::string_view text;  // of the reference
};

const std::string kByteLevel =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";
const std::string kLlama =
    R"({"type":"Sequence","decoders":[)"
    R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
    R"({"type":"ByteFallback"},{"type":"Fuse"},)"
    R"({"type":"Strip","content":" ","start":1,"stop":0}]})";

const std::vector<DecoderCase>& decoder_cases() {
  static const std::vector<DecoderCase> cases = {
      {kByteLevel, {"Ġa", "Ã", "©"}, " a\u00E9"},
      {kByteLevel, {"\u00E9"}, "\uFFFD"},
      {kByteLevel, {"\u00E9 ", "Ġ日"}, "\u00E9 Ġ日"},
      // Broken sequences: E6 97 then a letter; E0 80; ED A0; F4 90; F0 9F 98.
      {kByteLevel, {"æĹ", "a"}, "\uFFFDa"},
      {kByteLevel, {"à", "Ģ"}, "\uFFFD\uFFFD"},
      {kByteLevel, {"íł", "ôĲ"}, "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {kByteLevel, {"ðŁĺ", "ðŁĺ"}, "\uFFFD\uFFFD"},
      {R"({"type":"ByteFallback"})", {"<0xC3>", "<0xa9>", "x"}, "\u00E9x"},
      {R"({"type":"ByteFallback"})",
       {"<0xC3>", "<0xC3>", "<0xA9>", "x", "<0xE6>"},
       "\uFFFD\uFFFD\uFFFDx\uFFFD"},
      {R"({"type":"ByteFallback"})",
       {"<0x+A>", "<0x-A>", "<0xg1>", "<0xA>"},
       "\n<0x-A><0xg1><0xA>"},
      {R"({"type":"Metaspace","replacement":"▁"})", {"▁a▁b", "▁c"}, "ab c"},
      {R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})",
       {"▁a", "▁c"},
       " a c"},
      {R"({"type":"WordPiece","prefix":"##","cleanup":true})",
       {"##a", "##b", "do", " do not", ".", "'", "x", "n't", "##.", "'re"},
       "##ab do  don't. ' xn't.'re"},
      {R"({"type":"WordPiece","prefix":"##","cleanup":false})",
       {"a", ".", "##"},
       "a ."},
      {R"({"type":"BPEDecoder","suffix":"</w>"})",
       {"a</w>", "b</w>c", "d</w>x</w>"},
       "a b cdx"},
      {R"({"type":"BPEDecoder","suffix":""})", {"ab", "é"}, " a b é"},
      {R"({"suffix":"</w>"})", {"a</w>", "b</w>"}, "a b"},
      {R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|",)"
       R"("cleanup":true})",
       {"a", "a", "<pad>", "a", "|", "|", "b", " .", "<pad>c"},
       "aa b.c"},
      {R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|",)"
       R"("cleanup":false})",
       {"a", "|", " ."},
       "a| ."},
      {R"({"type":"Replace","pattern":{"String":"aa"},"content":"b"})",
       {"aaa", "a", "a"},
       "baaa"},
      {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace",)"
       R"("pattern":{"String":"aa"},"content":"b"}]})",
       {"aaa", "a", "ca"},
       "bbca"},
      {R"({"type":"Strip","content":"_","start":1,"stop":2})",
       {"__a___", "b_"},
       "_a_b"},
      {R"({"type":"Sequence","decoders":[{"type":"Fuse"},)"
       R"({"type":"Strip","content":"é","start":2,"stop":1}]})",
       {"é", "éé", "a", "é", "éb", "é", "é"},
       "éaéébé"},
      {R"({"type":"Sequence","decoders":[{"type":"Sequence","decoders":[)"
       R"({"type":"Fuse"}]},{"type":"Metaspace","replacement":"_"}]})",
       {"_a", "_b"},
       "ab"},
      {R"({"type":"Sequence","decoders":[{"type":"ByteFallback"},)"
       R"({"type":"Strip","content":"a","start":1,"stop":1}]})",
       {"<0x61>", "<0x61>", "<0x62>", "<0x61>", "<0x61>", "aca"},
       "abac"},
      {R"({"type":"Sequence","decoders":[{"type":"Fuse"},)"
       R"({"type":"WordPiece","prefix":"#","cleanup":true}]})",
       {"a ", ". b", " ", "!"},
       "a. b!"},
      {R"({"type":"ByteFallback"})", {"<0xC3>", "x", "<0x61>"}, "\uFFFDxa"},
      {R"({"type":"Sequence","decoders":[{"type":"CTC","pad_token":"_",)"
       R"("word_delimiter_token":"|","cleanup":false},)"
       R"({"type":"WordPiece","prefix":"#","cleanup":false}]})",
       {"a", "_", "b"},
       "a b"},
      {R"({"type":"Sequence","decoders":[{"type":"Fuse"},)"
       R"({"type":"Strip","content":"é","start":2,"stop":0}]})",
       {"é", "a", "é", "b"},
       "aéb"},
      // The reference panics.
      {R"({"type":"Strip","content":"_","start":1,"stop":2})", {"_", "a"}, "a"},
      {R"({"type":"Sequence","decoders":[]})", {"a", "b"}, "ab"},
      {kLlama, {"▁▁a", "▁", "<0xE6>", "<0x97>", "<0xA5>", "▁b"}, " a 日 b"},
      {kLlama, {}, ""},
      {"null", {"a", "", "b"}, "a  b"},
  };
  return cases;
}

TEST(DecoderTest, TextsAreThoseOfTheReference) {
  for (const DecoderCase& one : decoder_cases()) {
    const auto decoder = read(one.decoder).value();
    Tokens tokens = one.tokens;
    decoder.apply(tokens).value();
    EXPECT_EQ(joined(tokens), one.text) << one.decoder;
    EXPECT_EQ(joined(streamed(decoder, one.tokens)), one.text) << one.decoder;
  }
}

TEST(DecoderTest, AStreamGivesWholeCharactersAtOnce) {
  EXPECT_EQ(streamed(read(kByteLevel).value(), {"Ġa", "æ", "Ĺ", "¥x", "ð"}),
            (Tokens{" a", "", "", "日x", "", "\uFFFD"}));
  EXPECT_EQ(streamed(read(kByteLevel).value(), {"Ł", "à", "Ģ"}),
            (Tokens{"\uFFFD", "", "\uFFFD\uFFFD", ""}));
  EXPECT_EQ(streamed(read(kLlama).value(),
                     {"▁a", "<0xC3>", "<0xA9>", "<0xC3>", "▁", "b"}),
            (Tokens{"a", "", "\u00E9", "", "\uFFFD ", "b", ""}));
  EXPECT_EQ(streamed(read(kLlama).value(), {"<0xA9>", "<0x61>", "b"}),
            (Tokens{"\uFFFD", "\uFFFD", "b", ""}));
  EXPECT_EQ(streamed(read(R"({"type":"Sequence","decoders":[)"
                          R"({"type":"ByteFallback"},)"
                          R"({"type":"WordPiece","prefix":"#",)"
                          R"("cleanup":false}]})")
                         .value(),
                     {"<0xC3>", "<0xA9>", "<0xC3>", "x"}),
            (Tokens{"", "", "", "\u00E9 \uFFFD x", ""}));
  EXPECT_EQ(streamed(read(R"({"type":"BPEDecoder","suffix":"</w>"})").value(),
                     {"a</w>", "b", "c</w>"}),
            (Tokens{"a", " b", "c", ""}));
}

TEST(DecoderTest, BytesThatNeverCompleteACharacterDoNotPileUp) {
  Decoder stream = read(kByteLevel).value();
  for (int n = 0; n < 1000; ++n) {
    Tokens next = {"Ģ"};
    stream.stream(next, Next::token).value();
    ASSERT_EQ(joined(next), "\uFFFD");
  }
}

TEST(DecoderTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(
      error_of(R"({"type":"Digits"})"),
      "t.json: decoder.type is \"Digits\", expected BPEDecoder, ByteLevel, "
      "WordPiece, Metaspace, CTC, Replace, Fuse, Strip, ByteFallback, "
      "SentencePiece");
  EXPECT_EQ(error_of("{}"), "t.json: decoder has no type");
  EXPECT_EQ(error_of(R"({"type":"Sequence","decoders":[{"type":"Fuse"},)"
                     R"({"type":"CTC","pad_token":"p"}]})"),
            "t.json: decoder.decoders[1] has no word_delimiter_token");
  EXPECT_EQ(error_of(R"({"type":"Replace","pattern":{"Foo":"a"},)"
                     R"("content":""})"),
            "t.json: decoder.pattern is {\"Foo\":\"a\"}, expected String or "
            "Regex, with a text");
  EXPECT_EQ(error_of(R"({"type":"Replace","pattern":{"String":"a",)"
                     R"("Regex":"a"},"content":""})"),
            "t.json: decoder.pattern is {\"String\":\"a\",\"Regex\":\"a\"}, "
            "expected String or Regex, with a text");
  EXPECT_EQ(error_of(R"({"type":"Metaspace","replacement":"_",)"
                     R"("add_prefix_space":false})"),
            "t.json: decoder has add_prefix_space false, expected a "
            "prepend_scheme of never");
  EXPECT_EQ(error_of(R"({"type":"ByteLevel","trim_offsets":true})"),
            "t.json: decoder has no add_prefix_space");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
