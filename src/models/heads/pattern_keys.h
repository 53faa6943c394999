// The keys that each query of a text attends to if a head has a pattern.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/heads/find_heads.h"

namespace headwise::inline HEADWISE_ABI {

class PatternKeys {
 public:
  // Of every pattern but positional.
  PatternKeys(HeadPattern pattern, const PatternText& text, bool causal);

  // Calls see(j) for each of the keys that query i sees, ascending.
  void visit(std::size_t i, FunctionRef<void(std::size_t j)> see) const;
  // The queries that the mean is over.
  const std::vector<std::size_t>& queries() const { return queries_; }
  // The number of keys that query i sees, of any kind.
  std::size_t visible(std::size_t i) const { return causal_ ? i + 1 : length_; }

 private:
  // Where the token of position i is, ascending.
  std::span<const std::size_t> places_of_token(std::size_t i) const {
    return std::span(places_).subspan(groups_[i].first, groups_[i].count);
  }
  void group_by_token(const PatternText& text);

  struct Group {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  HeadPattern pattern_;
  std::size_t length_;
  bool causal_;
  // Separators, or all positions by token, whose groups are parts of it.
  std::vector<std::size_t> places_;
  std::vector<Group> groups_;  // by position
  std::vector<std::size_t> queries_;
};

}  // namespace headwise::inline HEADWISE_ABI
