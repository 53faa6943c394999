// For reference_test.py: the tokens of sentences from standard input.
//
//   tokenize VOCAB [cased] [keep-accents|strip-accents] [keep-cjk] [max=N]
//       [pair]
//
// A sentence is its number of bytes in decimal, a line end, its bytes. For each
// a line comes out: the tokens that were cut, then ID:BEGIN:END of each. With
// pair, two sentences give one line, with ID:TYPE.
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

#include "headwise/models/vocabulary.h"

namespace {

struct Settings {
  headwise::WordPieceOptions options;
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
  bool pair = false;
};

bool apply(std::string_view word, Settings& settings) {
  if (word == "cased") {
    settings.options.do_lower_case = false;
  } else if (word == "keep-accents" || word == "strip-accents") {
    settings.options.strip_accents = word == "strip-accents";
  } else if (word == "keep-cjk") {
    settings.options.tokenize_chinese_chars = false;
  } else if (word == "pair") {
    settings.pair = true;
  } else if (word.starts_with("max=")) {
    settings.max_tokens = std::stoul(std::string(word.substr(4)));
  } else {
    return false;
  }
  return true;
}

// The next sentence; false at the end.
bool read_sentence(std::string& sentence) {
  std::size_t bytes = 0;
  if (!(std::cin >> bytes)) {
    return false;
  }
  std::cin.get();
  sentence.resize(bytes);
  std::cin.read(sentence.data(), static_cast<std::streamsize>(bytes));
  return true;
}

int fail(const headwise::Error& error) {
  std::cerr << error.message() << '\n';
  return EXIT_FAILURE;
}

int encode_pairs(const headwise::WordPiece& wordpiece,
                 const Settings& settings) {
  std::string first;
  std::string second;
  while (read_sentence(first) && read_sentence(second)) {
    const auto pair = wordpiece.encode_pair(first, second, settings.max_tokens);
    if (!pair) {
      return fail(pair.error());
    }
    std::cout << pair->cut;
    for (std::size_t t = 0; t < pair->ids.size(); ++t) {
      std::cout << ' ' << pair->ids[t] << ':' << pair->token_types[t];
    }
    std::cout << '\n';
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 2; i < argc; ++i) {
    if (!apply(argv[i], settings)) {
      std::cerr << "tokenize: unknown word " << argv[i] << '\n';
      return EXIT_FAILURE;
    }
  }
  auto vocabulary = headwise::read_vocabulary(argc < 2 ? "" : argv[1]);
  if (!vocabulary) {
    std::cerr << vocabulary.error().message() << '\n';
    return EXIT_FAILURE;
  }
  const headwise::WordPiece wordpiece(*std::move(vocabulary), settings.options);
  if (settings.pair) {
    return encode_pairs(wordpiece, settings);
  }
  for (std::string sentence; read_sentence(sentence);) {
    const auto encoded = wordpiece.encode(sentence, settings.max_tokens);
    if (!encoded) {
      return fail(encoded.error());
    }
    std::cout << encoded->cut;
    for (std::size_t t = 0; t < encoded->ids.size(); ++t) {
      std::cout << ' ' << encoded->ids[t] << ':' << encoded->offsets[t].begin
                << ':' << encoded->offsets[t].end;
    }
    std::cout << '\n';
  }
  return EXIT_SUCCESS;
}
