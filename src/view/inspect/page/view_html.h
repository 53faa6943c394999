// A page's HTML from its JSON and its blocks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct PageText {
  std::string_view title;  // any text
  std::string_view json;   // UTF-8
  std::span<const std::string_view> blocks;
};

// Throws std::bad_alloc.
std::string page_html(const PageText& page);

}  // namespace headwise::inline HEADWISE_ABI
