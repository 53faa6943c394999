// The characters of a property, as \p{NAME} of the reference's regular
// expressions knows them. Tables: tools/unicode_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The edges of a class: its characters are those from the first edge up to, but
// without, the second, and so on in pairs. The last edge may be U+110000. Empty
// if no property has this name. Names are compared without case, spaces,
// hyphens and underscores. In brackets, `[\w]`, the engine's words lack six
// characters.
std::vector<char32_t> named_class(std::string_view name, bool in_bracket);

struct NamedClass {
  const char* name;    // "word]": words in brackets
  std::size_t offset;  // in kNamedClassRuns
};
extern const NamedClass kNamedClasses[];
extern const std::size_t kNamedClassCount;
// Of each class the number of its edges and the distances between them, from 0,
// as varints. The edge U+110000 is left out.
extern const std::uint8_t kNamedClassRuns[];

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
