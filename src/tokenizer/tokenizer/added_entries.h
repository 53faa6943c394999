// Tokens that files next to a vocabulary add to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/json/json.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class AddedEntries {
 public:
  // A text or an object is one token, a list several; null is none. Errors:
  // bad_data.
  Status add(const JsonPart& part, std::optional<std::uint32_t> id = {});

  bool empty() const { return entries_.empty(); }
  // The list added_tokens, by ids. New tokens become part of the vocabulary,
  // with the ids that the files say, or those after all others.
  Json take(TokenizerSpec& spec);

 private:
  struct Entry {
    std::optional<std::uint32_t> id{};
    Json token{};
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
