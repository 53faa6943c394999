#include "heads/pattern_keys.h"

#include <algorithm>
#include <numeric>

namespace headwise::inline HEADWISE_ABI {

PatternKeys::PatternKeys(HeadPattern pattern, const PatternText& text,
                         bool causal)
    : pattern_(pattern), length_(text.ids.size()), causal_(causal) {
  const bool by_token =
      pattern == HeadPattern::duplicate || pattern == HeadPattern::induction;
  if (by_token) {
    group_by_token(text);
  } else if (pattern == HeadPattern::separator) {
    for (std::size_t j = 0; j < text.separators.size(); ++j) {
      if (text.separators[j]) {
        places_.push_back(j);
      }
    }
  }
  // A text without a separator says nothing about it.
  const bool none = pattern == HeadPattern::separator && places_.empty();
  for (std::size_t i = 0; i < length_ && !none; ++i) {
    bool found = !by_token;
    if (by_token) {
      visit(i, [&](std::size_t) { found = true; });
    }
    if (found) {
      queries_.push_back(i);
    }
  }
}

void PatternKeys::group_by_token(const PatternText& text) {
  places_.resize(length_);
  groups_.resize(length_);
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  std::ranges::stable_sort(places_, {},
                           [&](std::size_t j) { return text.ids[j]; });
  for (std::size_t first = 0; first < length_;) {
    std::size_t end = first;
    while (end < length_ &&
           text.ids[places_[end]] == text.ids[places_[first]]) {
      ++end;
    }
    for (std::size_t n = first; n < end; ++n) {
      groups_[places_[n]] = {first, end - first};
    }
    first = end;
  }
}

void PatternKeys::visit(std::size_t i,
                        FunctionRef<void(std::size_t j)> see) const {
  const auto see_if = [&](bool key, std::size_t j) {
    if (key && j < length_ && (j <= i || !causal_)) {
      see(j);
    }
  };
  switch (pattern_) {
    case HeadPattern::previous:
      return see_if(i > 0, i - 1);
    case HeadPattern::next:
      return see_if(true, i + 1);
    case HeadPattern::self:
      return see_if(true, i);
    case HeadPattern::first:
      return see_if(true, 0);
    case HeadPattern::separator:
      for (const std::size_t j : places_) {
        see_if(true, j);
      }
      return;
    case HeadPattern::duplicate:
      for (const std::size_t j : places_of_token(i)) {
        see_if(j != i, j);
      }
      return;
    case HeadPattern::induction:
      for (const std::size_t place : places_of_token(i)) {
        see_if(place < i, place + 1);
      }
      return;
    case HeadPattern::positional:
      return;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
