// An expression that Oniguruma searches for.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "patterns/pattern.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class RegularExpression {
 public:
  static Result<RegularExpression> compile(std::string_view expression);
  Status find(std::string_view text, std::vector<Match>& matches) const;

 private:
  struct Freed {
    void operator()(void* expression) const;
  };
  std::string shown_;  // the expression, for errors
  std::unique_ptr<void, Freed> compiled_;
  std::size_t ways_per_byte_ = 0;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
