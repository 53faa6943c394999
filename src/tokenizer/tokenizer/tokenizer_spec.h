// What a tokenizer is made from: the content of a tokenizer.json. Files of
// other formats are brought to this form.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/file_subject.h"
#include "headwise/json/json.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct TokenizerSpec {
  FileSubject subject{};  // what errors are about
  // Everything but model.vocab and model.merges, which are below.
  Json json{};
  // Of BPE, WordPiece and WordLevel: tokens and their ids.
  std::vector<std::pair<std::string, std::uint32_t>> vocabulary{};
  // Of BPE: the two tokens of each merge, in the order of their ranks.
  std::vector<std::pair<std::string, std::string>> merges{};
  // Of Unigram: tokens and their scores; the id is the index.
  std::vector<std::pair<std::string, double>> pieces{};
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
