#include "unicode/character_class.h"

#include <algorithm>
#include <span>

namespace headwise::inline HEADWISE_ABI::tokenizer {

LowerCase lower_case(char32_t code) {
  if (code < 0x80) {
    return {code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code};
  }
  if (code == 0x130) {
    return {'i', 0x307};
  }
  const std::span runs(kLowerCase, kLowerCaseRuns);
  const auto run =
      std::ranges::lower_bound(runs, code, {}, &LowerCaseRun::last);
  if (run == runs.end() || code < run->first ||
      (code - run->first) % run->step != 0) {
    return {code};
  }
  return {code + static_cast<char32_t>(run->difference)};
}

unsigned script_class(char32_t code) {
  const std::span runs(kScripts, kScriptRuns);
  const auto after = std::ranges::upper_bound(runs, code << 8U | 0xFFU);
  return *(after - 1) & 0xFFU;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
