#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <memory>
#include <string>

#include "patterns/known_patterns.h"
#include "tokenizer/shared_keys.h"
#include "unicode/byte_alphabet.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Steps = std::vector<PreTokenizer::Step>;
using WordReader = Status(const JsonPart& part, Steps& steps);

constexpr std::array<std::string_view, 5> kSplitBehaviors = {
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
    "Contiguous"};

void add_split(Steps& steps, SplitBehavior behavior, PieceList::Find find,
               bool invert = false) {
  steps.push_back([=, find = std::move(find)](PieceList& pieces) {
    return pieces.split(find, behavior, invert);
  });
}

void add_change(Steps& steps, PieceList::Put put) {
  steps.push_back([put = std::move(put)](PieceList& pieces) {
    pieces.change(put);
    return ok();
  });
}

PieceList::Find found_by(Pattern pattern) {
  return [pattern = std::make_shared<const Pattern>(std::move(pattern))](
             std::string_view text, std::vector<Match>& matches) {
    return pattern->find(text, matches);
  };
}

// Each character of a class.
template <bool (*is_in)(char32_t)>
Status find_characters(std::string_view text, std::vector<Match>& matches) {
  for (std::uint32_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (is_in(character.code)) {
      matches.push_back({at, at + character.bytes});
    }
    at += character.bytes;
  }
  return ok();
}

// Runs of characters; one before the first run is in none.
template <class BeginsRun>
Status find_runs(std::string_view text, std::vector<Match>& matches,
                 BeginsRun begins_run) {
  for (std::uint32_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (begins_run(character.code)) {
      matches.push_back({at, at});
    }
    at += character.bytes;
    if (!matches.empty()) {
      matches.back().end = at;
    }
  }
  return ok();
}

Status read_bert_words(const JsonPart& /*part*/, Steps& steps) {
  add_split(steps, SplitBehavior::removed, find_characters<is_white_space>);
  add_split(steps, SplitBehavior::isolated, find_characters<is_punctuation>);
  return ok();
}

Status read_spaced_words(const JsonPart& /*part*/, Steps& steps) {
  add_split(steps, SplitBehavior::removed, find_characters<is_white_space>);
  return ok();
}

Status read_whitespace_words(const JsonPart& /*part*/, Steps& steps) {
  add_split(steps, SplitBehavior::removed, find_characters<is_white_space>);
  add_split(steps, SplitBehavior::contiguous, find_characters<is_word>);
  return ok();
}

Status read_delimited_words(const JsonPart& part, Steps& steps) {
  char32_t delimiter = 0;
  HEADWISE_TRY(part.require("delimiter", delimiter));
  std::string text;
  append_character(text, delimiter);
  add_split(steps, SplitBehavior::removed, found_by(Pattern::literal(text)));
  return ok();
}

Status read_digit_words(const JsonPart& part, Steps& steps) {
  bool individual = false;
  HEADWISE_TRY(part.require("individual_digits", individual));
  add_split(steps,
            individual ? SplitBehavior::isolated : SplitBehavior::contiguous,
            find_characters<is_numeric>);
  return ok();
}

Status read_punctuation_words(const JsonPart& part, Steps& steps) {
  auto behavior = static_cast<std::size_t>(SplitBehavior::isolated);
  HEADWISE_TRY(part.get("behavior", kSplitBehaviors, behavior));
  add_split(steps, static_cast<SplitBehavior>(behavior),
            find_characters<is_punctuation>);
  return ok();
}

Status read_split_words(const JsonPart& part, Steps& steps) {
  HEADWISE_ASSIGN(Pattern pattern, read_pattern(part));
  std::size_t behavior = 0;
  bool invert = false;
  HEADWISE_TRY(part.require("behavior", kSplitBehaviors, behavior));
  HEADWISE_TRY(part.require("invert", invert));
  add_split(steps, static_cast<SplitBehavior>(behavior),
            found_by(std::move(pattern)), invert);
  return ok();
}

Status read_fixed_length_words(const JsonPart& part, Steps& steps) {
  std::size_t length = 5;
  HEADWISE_TRY(part.get("length", length));
  if (length == 0) {
    return part.unexpected("length", "at least 1");
  }
  add_split(steps, SplitBehavior::isolated,
            [length](std::string_view text, std::vector<Match>& matches) {
              return find_runs(text, matches,
                               [&, n = std::size_t{0}](char32_t) mutable {
                                 return n++ % length == 0;
                               });
            });
  return ok();
}

// A character of no script joins any.
Status find_scripts(std::string_view text, std::vector<Match>& matches) {
  return find_runs(text, matches, [last = 0U](char32_t code) mutable {
    const unsigned script = script_class(code);
    return script != 0 && std::exchange(last, script) != script;
  });
}

Status read_script_words(const JsonPart& /*part*/, Steps& steps) {
  add_split(steps, SplitBehavior::removed, find_scripts, /*invert=*/true);
  return ok();
}

// SentencePiece's: spaces become a visible character, which begins each word.
Status read_metaspace_words(const JsonPart& part, Steps& steps) {
  HEADWISE_ASSIGN(const MetaspaceKeys keys, read_metaspace(part));
  add_change(steps, [keys](const AlignedText& source, Piece piece,
                           AlignedText& changed) {
    const std::string_view text = source.text().substr(0, piece.end);
    const Span first = source.from(piece.begin, piece.begin + 1);
    if (text[piece.begin] != ' ' &&
        !text.substr(piece.begin).starts_with(keys.replacement) &&
        (keys.scheme == MetaspaceKeys::always ||
         (keys.scheme == MetaspaceKeys::first && first.begin == 0))) {
      changed.append(keys.replacement, first);
    }
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
      const std::size_t space = std::min(text.find(' ', at), text.size());
      changed.append(source, at, space);
      at = space;
      if (at < piece.end) {
        changed.append(keys.replacement, source.from(at, at + 1));
      }
    }
  });
  if (keys.split) {
    add_split(steps, SplitBehavior::merged_with_next,
              found_by(Pattern::literal(keys.replacement)));
  }
  return ok();
}

// GPT-2's: the last step writes bytes as the characters of its alphabet.
Status read_byte_level_words(const JsonPart& part, Steps& steps) {
  HEADWISE_ASSIGN(const ByteLevelKeys keys, read_byte_level(part));
  if (keys.add_prefix_space) {
    add_change(steps, [](const AlignedText& source, Piece piece,
                         AlignedText& changed) {
      if (source.text()[piece.begin] != ' ') {
        changed.append(" ", source.from(piece.begin, piece.begin + 1));
      }
      changed.append(source, piece.begin, piece.end);
    });
  }
  if (keys.use_regex) {
    HEADWISE_ASSIGN(auto pattern, Pattern::compile(kGpt2Expression));
    add_split(steps, SplitBehavior::isolated, found_by(std::move(pattern)));
  }
  add_change(
      steps, [](const AlignedText& source, Piece piece, AlignedText& changed) {
        for (std::uint32_t at = piece.begin; at < piece.end; ++at) {
          const auto byte = static_cast<unsigned char>(source.text()[at]);
          changed.append(byte_character(byte), source.from(at, at + 1));
        }
      });
  return ok();
}

using WordType = PartType<WordReader>;

constexpr std::array kWordTypes = {
    WordType{"BertPreTokenizer", read_bert_words},
    WordType{"ByteLevel", read_byte_level_words},
    WordType{"CharDelimiterSplit", read_delimited_words},
    WordType{"Digits", read_digit_words},
    WordType{"FixedLength", read_fixed_length_words},
    WordType{"Metaspace", read_metaspace_words},
    WordType{"Punctuation", read_punctuation_words},
    WordType{"Split", read_split_words},
    WordType{"UnicodeScripts", read_script_words},
    WordType{"Whitespace", read_whitespace_words},
    WordType{"WhitespaceSplit", read_spaced_words}};

}  // namespace

Result<PreTokenizer> read_pre_tokenizer(const JsonPart& part) {
  if (!part.exists()) {
    return PreTokenizer();
  }
  HEADWISE_ASSIGN(const auto parts, sequence_parts(part, "pretokenizers"));
  Steps steps;
  std::size_t alphabets = 0;
  bool is_alphabet = false;  // the last one
  for (const JsonPart& one : parts) {
    HEADWISE_ASSIGN(const auto* const type, type_of(one, kWordTypes));
    HEADWISE_TRY(type->read(one, steps));
    is_alphabet = type->read == read_byte_level_words;
    alphabets += is_alphabet ? 1 : 0;
  }
  return PreTokenizer(std::move(steps), is_alphabet && alphabets == 1);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
