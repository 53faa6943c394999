// The expressions of well-known models, and the rules that find the same.
#include "patterns/word_scanner.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// GPT-2 and its many descendants.
constexpr WordRules kGpt2Rules = {.contractions = Contractions::lower_case,
                                  .leads_with_space = true,
                                  .longest_number = kNoLimit,
                                  .has_line_ends = false};
constexpr WordRules kClipRules = {.contractions = Contractions::lower_case,
                                  .longest_number = 1,
                                  .has_space_before_symbols = false,
                                  .has_line_ends = false,
                                  .has_white_space = false};
// GPT-4 (cl100k) and Llama 3.
constexpr WordRules kLlama3Rules = {.contractions = Contractions::any_case,
                                    .lead = kNoLettersOrNumbers,
                                    .longest_number = 3,
                                    .after_symbols = "\r\n"};
constexpr WordRules kQwen2Rules = {.contractions = Contractions::any_case,
                                   .lead = kNoLettersOrNumbers,
                                   .longest_number = 1,
                                   .after_symbols = "\r\n"};
constexpr WordRules kQwen35Rules = {
    .contractions = Contractions::any_case,
    .lead = kNoLettersOrNumbers,
    .letters = kLettersAndMarks,
    .longest_number = 1,
    .symbols =
        ~(kLettersAndMarks | categories::kNumbers | categories::kWhiteSpace),
    .after_symbols = "\r\n"};
// GPT-4o, gpt-oss and Llama 4.
constexpr WordRules kO200kRules = {.contractions = Contractions::after_a_word,
                                   .lead = kNoLettersOrNumbers,
                                   .cuts_at_capitals = true,
                                   .longest_number = 3,
                                   .after_symbols = "\r\n/"};
// Mistral, since Nemo.
constexpr WordRules kTekkenRules = {.lead = kNoLettersOrNumbers,
                                    .cuts_at_capitals = true,
                                    .longest_number = 1,
                                    .after_symbols = "\r\n/"};
// The last of the three expressions of DeepSeek V3.
constexpr WordRules kDeepSeekRules = {
    .has_ascii_words = true,
    .lead = ~(categories::kLetters | categories::kPunctuation |
              categories::kSymbols),
    .letters = kLettersAndMarks,
    .symbols = categories::kPunctuation | categories::kSymbols,
    .after_symbols = "\r\n"};

// Numbers alone.
template <std::size_t longest>
constexpr WordRules kNumberRules = {.letters = CategorySet(),
                                    .longest_number = longest,
                                    .symbols = CategorySet(),
                                    .has_line_ends = false,
                                    .has_white_space = false};

constexpr KnownRow kKnownRows[] = {
    {kGpt2Expression, WordScanner<kGpt2Rules>::find},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     WordScanner<kGpt2Rules>::find},
    {R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)",
     WordScanner<kClipRules>::find},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kLlama3Rules>::find},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kQwen2Rules>::find},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kQwen35Rules>::find},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kO200kRules>::find},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kTekkenRules>::find},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordScanner<kDeepSeekRules>::find},
    {"[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+", find_cjk},
    {R"(\p{N}{1,3})", WordScanner<kNumberRules<3>>::find},
    {R"(\p{N})", WordScanner<kNumberRules<1>>::find},
    {R"(\p{N}+)", WordScanner<kNumberRules<kNoLimit>>::find},
};

}  // namespace

constinit const std::span<const KnownRow> kKnownPatterns = kKnownRows;

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
