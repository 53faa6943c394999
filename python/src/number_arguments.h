// Arguments that are numbers, truth values or words, and arrays of whole
// numbers and truth values.
//
// Errors: TypeError for another type, ValueError for another rank, number or
// word. Each names the argument, what was given and what was expected.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "argument_memory.h"
#include "array_argument.h"
#include "headwise/base/tensor_view.h"

namespace headwise::python {

bool boolean(nb::handle value, ArgumentName name);
double number(nb::handle value, ArgumentName name);
std::int64_t integer(nb::handle value, ArgumentName name);
std::uint64_t unsigned_integer(nb::handle value, ArgumentName name);
std::string_view word(nb::handle value, ArgumentName name);

[[noreturn]] void raise_word(std::string_view given, ArgumentName name,
                             std::string_view expected);

// One of an enumeration, by its name; `words` ends with its number of entries.
template <class Enum>
struct EnumWord {
  std::string_view word;
  Enum value;
};
template <class Enum, std::size_t Count>
Enum one_of(nb::handle value, ArgumentName name,
            const EnumWord<Enum> (&words)[Count]) {
  const std::string_view given = word(value, name);
  std::string expected;
  for (const EnumWord<Enum>& entry : words) {
    if (entry.word == given) {
      return entry.value;
    }
    expected += (expected.empty() ? "" : ", ") + std::string(entry.word);
  }
  raise_word(given, name, expected);
}

// Any array of whole numbers, or a sequence (of sequences) of them, copied:
// whoever made it may change it later. TypeError for truth values and floats.
template <std::size_t Rank>
TensorView<const std::int64_t, Rank> integers(nb::handle value,
                                              ArgumentName name,
                                              std::string_view axes,
                                              ArgumentMemory& memory);

// Whole numbers of at least `least`, 0 or more; `expected` says so in the
// error.
std::vector<std::size_t> counts(nb::handle value, ArgumentName name,
                                std::string_view axes, std::int64_t least,
                                std::string_view expected);

// Truth values of any rank.
struct Booleans {
  const bool* data;
  std::vector<std::size_t> extents;
  std::vector<std::ptrdiff_t> strides;
};
// An array of bool, which stays where it is, or of whole numbers that are all 0
// or 1, which is copied. ValueError for any other number: it may be of a mask
// that adds to scores, or whose true means the opposite.
Booleans booleans(nb::handle value, ArgumentName name, ArgumentMemory& memory,
                  Graph graph = Graph::refused);
template <std::size_t Rank>
TensorView<const bool, Rank> booleans(nb::handle value, ArgumentName name,
                                      std::string_view axes,
                                      ArgumentMemory& memory);

}  // namespace headwise::python
