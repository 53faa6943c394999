// Where a word of a BPE model may be cut because no merge joins the two sides.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/version.h"
#include "tokenizer/token_table.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class BpeCuts {
 public:
  using Merge = std::pair<std::string, std::string>;

  BpeCuts() = default;  // none
  // `merges`: the texts that merges join. A word is cut only before characters
  // of `vocabulary`: any other one may become one unknown token with the
  // characters before it.
  BpeCuts(std::span<const Merge> merges, const TokenTable& vocabulary);

  bool may_cut(char32_t before, char32_t after) const;

 private:
  struct Boundary {
    char32_t after;
    bool known = false;
    std::vector<char32_t>
        joined{};  // characters that merges join it to, sorted
  };

  std::array<Boundary, 2> boundaries_ = {{{U'\u2581'}, {U' '}}};
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
