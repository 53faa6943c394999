// The characters of a property, as \p{NAME} of the reference's regular
// expressions knows them. Tables: tools/unicode_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// From `first` to `last`.
struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
};

// Sorted; empty if no property has this name. Names are compared without case,
// spaces, hyphens and underscores. In brackets, `[\w]`, the engine's words lack
// six characters.
std::vector<CharacterRange> named_class(std::string_view name, bool in_bracket);

std::vector<CharacterRange> complement(
    const std::vector<CharacterRange>& ranges);

struct NamedClass {
  const char* name;    // "word]": words in brackets
  std::size_t offset;  // in kNamedClassRuns
};
extern const NamedClass kNamedClasses[];
extern const std::size_t kNamedClassCount;
// Of each class the number of its edges and the distances between them, from 0,
// as varints: the first edge is where the class begins.
extern const std::uint8_t kNamedClassRuns[];

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
