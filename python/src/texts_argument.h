// Arguments that are texts, as UTF-8 that their strings keep.
//
// Errors: TypeError for anything but strings; ValueError for half of a
// surrogate pair.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string_view>
#include <vector>

#include "array_argument.h"

namespace headwise::python {

// Valid as long as the string.
std::string_view text_argument(nb::handle string, ArgumentName name);

// The items of an iterable of anything but characters.
nb::list list_argument(nb::handle items, ArgumentName name,
                       std::string_view expected);

// The texts of an iterable; errors name the text: sentences[3].
class TextsArgument {
 public:
  TextsArgument(nb::handle texts, ArgumentName name, std::string_view expected);

  std::span<const std::string_view> views() const { return views_; }

 private:
  nb::list strings_;
  std::vector<std::string_view> views_;
};

}  // namespace headwise::python
