#include "unicode/bert_characters.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>

#include "unicode/code_ranges.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// What Unicode calls a mark, punctuation or a format character only since
// version 9: the reference has the categories of version 8, to it these are
// none of the three. (What else lies in a range is none of them anyway.)
constexpr std::array kNewToCategories = {
    CodeRange{0x05C8, 0x05C9},   CodeRange{0x061D, 0x061D},
    CodeRange{0x07FD, 0x07FD},   CodeRange{0x0890, 0x08E2},
    CodeRange{0x09FD, 0x09FE},   CodeRange{0x0A76, 0x0A76},
    CodeRange{0x0AFA, 0x0AFF},   CodeRange{0x0B53, 0x0B55},
    CodeRange{0x0C04, 0x0C3C},   CodeRange{0x0C77, 0x0C77},
    CodeRange{0x0C84, 0x0C84},   CodeRange{0x0D00, 0x0D00},
    CodeRange{0x0D3B, 0x0D3C},   CodeRange{0x0D81, 0x0D81},
    CodeRange{0x0EBA, 0x0EBA},   CodeRange{0x0ECE, 0x0ECE},
    CodeRange{0x180F, 0x1886},   CodeRange{0x1ABF, 0x1AF0},
    CodeRange{0x1B4E, 0x1B4F},   CodeRange{0x1B7D, 0x1B7F},
    CodeRange{0x1DF6, 0x1DFB},   CodeRange{0x2E43, 0x2E63},
    CodeRange{0xA82C, 0xA82C},   CodeRange{0xA8C5, 0xA8C5},
    CodeRange{0xA8FF, 0xA8FF},   CodeRange{0xA9BD, 0xA9BD},
    CodeRange{0x10D24, 0x10F89}, CodeRange{0x11070, 0x11074},
    CodeRange{0x110C2, 0x110CD}, CodeRange{0x111C9, 0x111C9},
    CodeRange{0x111CF, 0x111CF}, CodeRange{0x1123E, 0x11241},
    CodeRange{0x1133B, 0x1133B}, CodeRange{0x113BB, 0x1145E},
    CodeRange{0x11660, 0x1166C}, CodeRange{0x116B9, 0x116B9},
    CodeRange{0x1182F, 0x11FFF}, CodeRange{0x12FF1, 0x1612F},
    CodeRange{0x16D6D, 0x16F4F}, CodeRange{0x16FE2, 0x16FE4},
    CodeRange{0x1CF00, 0x1D128}, CodeRange{0x1D25B, 0x1D25C},
    CodeRange{0x1E000, 0x1E6F5}, CodeRange{0x1E944, 0x1E95F}};

// A mark in version 8, but not since then.
constexpr char32_t kOnceMark = 0x1734;

constexpr std::array kCjk = {
    CodeRange{0x3400, 0x4DBF},   CodeRange{0x4E00, 0x9FFF},
    CodeRange{0xF900, 0xFAFF},   CodeRange{0x20000, 0x2A6DF},
    CodeRange{0x2A700, 0x2B81F}, CodeRange{0x2B920, 0x2CEAF},
    CodeRange{0x2F800, 0x2FA1F}};

// The general category, where the reference has one.
utf8proc_category_t old_category(char32_t code) {
  return in_ranges(kNewToCategories, code)
             ? UTF8PROC_CATEGORY_CN
             : utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_ascii(char32_t code) { return code < 0x80; }

}  // namespace

bool is_dropped(char32_t code) {
  if (is_ascii(code)) {
    return (code < 0x20 && !is_space(code)) || code == 0x7F;
  }
  switch (old_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return code == 0xFFFD;
  }
}

bool is_space(char32_t code) {
  if (is_ascii(code)) {
    return code == U' ' || code == U'\t' || code == U'\n' || code == U'\r';
  }
  switch (old_category(code)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

bool is_cjk(char32_t code) { return !is_ascii(code) && in_ranges(kCjk, code); }

bool is_nonspacing_mark(char32_t code) {
  return !is_ascii(code) &&
         (old_category(code) == UTF8PROC_CATEGORY_MN || code == kOnceMark);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
