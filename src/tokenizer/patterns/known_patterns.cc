#include "patterns/known_patterns.h"

#include <string>

#include "patterns/character_run.h"
#include "patterns/word_scanner.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// GPT-2 and its many descendants.
constexpr WordRules kGpt2Rules = {.contractions = Contractions::lower_case,
                                  .leads_with_space = true,
                                  .longest_number = kNoLimit,
                                  .has_space_before_number = true,
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

// Runs of `least` to `most` characters. `size(at)`: bytes of the character
// there, 0 if it is not of the class.
template <class Size>
void find_runs(std::string_view text, std::size_t least, std::size_t most,
               const Size& size, std::vector<Match>& matches) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    std::size_t count = 0;
    for (; count < most && end < text.size(); ++count) {
      const std::size_t bytes = size(end);
      if (bytes == 0) {
        break;
      }
      end += bytes;
    }
    if (count >= least) {
      matches.push_back(
          {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
    }
    // What ended a shorter run is no part of another one.
    at = count < most && end < text.size()
             ? end + first_character(text.substr(end)).bytes
             : end;
  }
}

template <std::size_t most>
void find_numbers(std::string_view text, std::vector<Match>& matches) {
  const auto size = [text](std::size_t at) {
    return size_of_one(text, at, categories::kNumbers);
  };
  find_runs(text, 1, most, size, matches);
}

// Of exactly `length` digits of ASCII.
template <std::size_t length>
void find_ascii_numbers(std::string_view text, std::vector<Match>& matches) {
  const auto size = [text](std::size_t at) -> std::size_t {
    return text[at] >= '0' && text[at] <= '9' ? 1 : 0;
  };
  find_runs(text, length, length, size, matches);
}

// Of DeepSeek V3: ideographs and kana.
void find_cjk(std::string_view text, std::vector<Match>& matches) {
  const auto size = [text](std::size_t at) -> std::size_t {
    const Character character = first_character(text.substr(at));
    const bool is_cjk =
        (character.code >= 0x4E00 && character.code <= 0x9FA5) ||
        (character.code >= 0x3040 && character.code <= 0x30FF);
    return is_cjk ? character.bytes : 0;
  };
  find_runs(text, 1, kNoLimit, size, matches);
}

struct KnownRow {
  std::string_view expression;
  KnownPattern find;
};

constexpr KnownRow kKnownPatterns[] = {
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
    {R"(\p{N}{1,3})", find_numbers<3>},
    {R"(\p{N})", find_numbers<1>},
    {R"(\p{N}+)", find_numbers<kNoLimit>},
    {"[0-9][0-9][0-9]", find_ascii_numbers<3>},
    {"[0-9]", find_ascii_numbers<1>},
};

// Files write line ends as themselves or as \r and \n.
std::string with_escaped_line_ends(std::string_view expression) {
  std::string text;
  for (const char byte : expression) {
    if (byte == '\r') {
      text += "\\r";
    } else if (byte == '\n') {
      text += "\\n";
    } else {
      text += byte;
    }
  }
  return text;
}

}  // namespace

KnownPattern known_pattern(std::string_view expression) {
  const std::string text = with_escaped_line_ends(expression);
  for (const KnownRow& known : kKnownPatterns) {
    if (known.expression == text) {
      return known.find;
    }
  }
  return nullptr;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
