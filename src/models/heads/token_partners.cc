#include "heads/token_partners.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI {

std::vector<Partners> partners_of(std::span<const TokenId> clean,
                                  std::span<const TokenId> corrupted) {
  std::vector<Partners> partners(clean.size());
  const bool aligned = clean.size() == corrupted.size();
  const std::size_t shorter = std::min(clean.size(), corrupted.size());
  std::size_t before = 0;
  while (before < shorter && (aligned || clean[before] == corrupted[before])) {
    ++before;
  }
  std::size_t after = 0;
  while (before + after < shorter &&
         clean[clean.size() - 1 - after] ==
             corrupted[corrupted.size() - 1 - after]) {
    ++after;
  }
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (i < before) {
      partners[i] = {i, i + 1};
    } else if (i + after < clean.size()) {
      partners[i] = {before, corrupted.size() - after};
    } else {
      const std::size_t j = i + corrupted.size() - clean.size();
      partners[i] = {j, j + 1};
    }
  }
  return partners;
}

}  // namespace headwise::inline HEADWISE_ABI
