// How the texts of tokenizers in GGUF files are split into words: what
// llama.cpp calls their pre-tokenizer.
#pragma once

#include <array>
#include <string_view>

#include "headwise/version.h"
#include "tokenizer/tiktoken_families.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The expressions that split a text, one after another; empty ones are none.
struct GgufSplit {
  std::string_view name;  // tokenizer.ggml.pre
  std::array<std::string_view, 5> patterns;
  bool ignores_merges = false;
  bool adds_bos = false;
  bool composes = false;  // NFC first
};

inline constexpr std::string_view kDigit = R"(\p{N})";
inline constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
inline constexpr auto kGgufSplits = std::to_array<GgufSplit>({
    {"default",
     {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", kThreeDigits}},
    {"gpt-2", {kGpt2Pattern}},
    {"roberta-bpe", {kGpt2Pattern}},
    {"phi-2", {kGpt2Pattern}},
    {"mpt", {kGpt2Pattern}},
    {"olmo", {kGpt2Pattern}},
    {"llama-bpe", {kLlama3Pattern}, true, true},
    {"dbrx", {kLlama3Pattern}},
    {"smaug-bpe", {kLlama3Pattern}},
    {"qwen2", {kQwen2Pattern}, false, false, true},
    {"stablelm2", {kQwen2Pattern}, false, false, true},
    {"qwen35", {kQwen35Pattern}, false, false, true},
    {"deepseek-coder",
     {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
      "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", kDigit}},
    {"deepseek-v3",
     {R"(\p{N}{1,3})", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
    {"falcon", {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Pattern, kThreeDigits}},
    {"starcoder", {kDigit, kGpt2Pattern}},
    {"refact", {kDigit, kGpt2Pattern}},
    {"command-r", {kDigit, kGpt2Pattern}},
    {"smollm", {kDigit, kGpt2Pattern}},
    {"codeshell", {kDigit, kGpt2Pattern}},
    {"tekken", {kTekkenPattern}, true, true},
    {"gpt-4o", {kO200kPattern}, true},
    {"llama4", {kO200kPattern}, true, true},
});

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
