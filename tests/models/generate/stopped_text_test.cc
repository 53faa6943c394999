#include "generate/stopped_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headwise/json/json.h"

namespace headwise::testing_support {
namespace {

// Tokens that are characters: id 0 is 'a'.
Tokenizer letters() {
  Json vocab = Json::object();
  for (char c = 'a'; c <= 'z'; ++c) {
    vocab[std::string(1, c)] = c - 'a';
  }
  const Json json = {
      {"version", "1.0"},
      {"decoder", {{"type", "Fuse"}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "a"}}}};
  return Tokenizer::parse(json.dump(), "tokenizer.json").value();
}

// What each letter of `text` gives, with | between them, and the end.
std::string given(const std::string& text,
                  const std::vector<std::string>& stops) {
  const Tokenizer tokenizer = letters();
  StoppedText stopped(&tokenizer, stops);
  std::string all;
  for (const char c : text) {
    all += stopped.add(c - 'a').value() + "|";
  }
  all += stopped.finish().value();
  return all + (stopped.stopped() ? " stopped" : "");
}

TEST(StoppedTextTest, ATextEndsBeforeAStop) {
  EXPECT_EQ(given("abc", {}), "a|b|c|");
  EXPECT_EQ(given("abcd", {"bc"}),
            "a||||"
            " stopped");
  EXPECT_EQ(given("abab", {"abc"}), "||ab||ab");
  EXPECT_EQ(given("aab", {"ab"}), "|a|| stopped");
  EXPECT_EQ(given("xyz", {"z", "yz"}), "x||| stopped");
  EXPECT_EQ(given("ab", {"abc"}), "||ab");
}

TEST(StoppedTextTest, WithoutATokenizerThereIsNoText) {
  const std::vector<std::string> stops;
  StoppedText stopped(nullptr, stops);
  EXPECT_EQ(stopped.add(1).value(), "");
  EXPECT_EQ(stopped.finish().value(), "");
  EXPECT_FALSE(stopped.stopped());
}

}  // namespace
}  // namespace headwise::testing_support
