// The expressions of well-known models, and the rules that find the same.
#include <algorithm>
#include <string>

#include "patterns/word_scanner.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using categories::kLetters;
using categories::kNumbers;
constexpr CategorySet kLettersAndMarks = kLetters | categories::kMarks;
constexpr CategorySet kNoLettersOrNumbers = ~(kLetters | kNumbers);
constexpr CategorySet kSymbols =
    ~(kLetters | kNumbers | categories::kWhiteSpace);

// GPT-2 and its many descendants.
constexpr WordRules kGpt2Rules = {
    .first = FirstRule::contraction,
    .word = {.leads_with_space = true, .set = kLetters},
    .number = {.leads_with_space = true, .set = kNumbers},
    .symbols = {.leads_with_space = true, .set = kSymbols},
    .spaces = SpaceRule::spaces};
constexpr WordRules kClipRules = {.first = FirstRule::contraction,
                                  .word = {.set = kLetters},
                                  .number = {.set = kNumbers, .most = 1},
                                  .symbols = {.set = kSymbols}};
// GPT-4 (cl100k) and Llama 3 with 3, Qwen 2 with 1.
template <std::size_t digits>
constexpr WordRules kLlama3Rules = {
    .first = FirstRule::any_case,
    .word = {.lead = kNoLettersOrNumbers, .set = kLetters},
    .number = {.set = kNumbers, .most = digits},
    .symbols = {.leads_with_space = true, .set = kSymbols, .after = "\r\n"},
    .spaces = SpaceRule::line_ends};
constexpr WordRules kQwen35Rules = {
    .first = FirstRule::any_case,
    .word = {.lead = kNoLettersOrNumbers, .set = kLettersAndMarks},
    .number = {.set = kNumbers, .most = 1},
    .symbols = {.leads_with_space = true,
                .set = ~(kLettersAndMarks | kNumbers | categories::kWhiteSpace),
                .after = "\r\n"},
    .spaces = SpaceRule::line_ends};
// GPT-4o, gpt-oss and Llama 4 with 3; Mistral, since Nemo, with 1.
template <std::size_t digits, bool contractions>
constexpr WordRules kO200kRules = {
    .word = {.lead = kNoLettersOrNumbers},
    .cuts_at_capitals = true,
    .ends_with_contraction = contractions,
    .number = {.set = kNumbers, .most = digits},
    .symbols = {.leads_with_space = true, .set = kSymbols, .after = "\r\n/"},
    .spaces = SpaceRule::line_ends};
// The last of the three expressions of DeepSeek V3, and the one before.
constexpr WordRules kDeepSeekRules = {
    .first = FirstRule::ascii_word,
    .word = {.lead =
                 ~(kLetters | categories::kPunctuation | categories::kSymbols),
             .set = kLettersAndMarks},
    .symbols = {.leads_with_space = true,
                .set = categories::kPunctuation | categories::kSymbols,
                .after = "\r\n"},
    .spaces = SpaceRule::line_ends};
constexpr WordRules kCjkRules = {.first = FirstRule::cjk};

template <std::size_t longest>
constexpr WordRules kNumberRules = {
    .number = {.set = kNumbers, .most = longest}};

struct KnownRow {
  std::string_view expression;  // line ends written as \r and \n
  KnownPattern find;
};
constexpr KnownRow kKnownRows[] = {
    {kGpt2Expression, WordScanner<kGpt2Rules>::find},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     WordScanner<kGpt2Rules>::find},
    {R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)",
     WordScanner<kClipRules>::find},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kLlama3Rules<3>>::find},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kLlama3Rules<1>>::find},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kQwen35Rules>::find},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kO200kRules<3, true>>::find},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kO200kRules<1, false>>::find},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kDeepSeekRules>::find},
    {"[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
     WordScanner<kCjkRules>::find},
    {R"(\p{N}{1,3})", WordScanner<kNumberRules<3>>::find},
    {R"(\p{N})", WordScanner<kNumberRules<1>>::find},
    {R"(\p{N}+)", WordScanner<kNumberRules<kNoLimit>>::find},
};

}  // namespace

KnownPattern known_pattern(std::string_view expression) {
  // Files write line ends as themselves, too.
  std::string text;
  for (const char byte : expression) {
    text += byte == '\r'   ? "\\r"
            : byte == '\n' ? "\\n"
                           : std::string_view(&byte, 1);
  }
  const auto* const row =
      std::ranges::find(kKnownRows, text, &KnownRow::expression);
  return row == std::end(kKnownRows) ? nullptr : row->find;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
