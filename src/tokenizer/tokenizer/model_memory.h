// Memory that models reuse from word to word; each thread has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// A part of a word that BPE has not merged further.
struct BpeSymbol {
  std::uint32_t id = 0;
  std::uint32_t size = 0;  // in bytes of the word; 0: merged into another one
  // In short words: the merge with the symbol after it.
  std::uint32_t rank = 0;
  std::uint32_t merged = 0;
  // In long words: the symbols on both sides.
  std::uint32_t previous = 0;
  std::uint32_t next = 0;
};

// The end of the best path of Unigram to a byte of a word.
struct UnigramNode {
  double score = 0;
  std::uint32_t piece = 0;
  std::uint32_t begin = UINT32_MAX;  // UINT32_MAX: no path
};

struct ModelMemory {
  std::string text;  // a piece that is spelled for a search
  std::vector<BpeSymbol> symbols;
  std::vector<std::uint64_t> queue;
  std::vector<UnigramNode> nodes;

  // After a huge word its memory is given back.
  void shrink() {
    constexpr std::size_t kMostKept = std::size_t{1} << 16U;
    if (symbols.capacity() > kMostKept || queue.capacity() > kMostKept ||
        nodes.capacity() > kMostKept || text.capacity() > kMostKept) {
      *this = {};
    }
  }
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
