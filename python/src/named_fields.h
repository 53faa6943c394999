// The entries of a dict, or keyword arguments, each taken by its name. None:
// not given.
//
// Example:
//   NamedFields fields(keywords, "KvCache.create");
//   fields.take("head_dim", [&](nb::handle value, ArgumentName name) {
//     options.head_dim = unsigned_integer(value, name);
//   });
//   fields.end();
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "array_argument.h"
#include "number_arguments.h"

namespace headwise::python {

class NamedFields {
 public:
  // `parent` is the name of an argument that is a dict; "": keyword arguments.
  // Errors: TypeError for an object that is not a dict.
  NamedFields(nb::handle dict, std::string_view operation,
              std::string_view parent = "");

  template <class Set>
  void take(std::string_view name, Set&& set) {
    const nb::object value = taken(name);
    if (!value.is_none()) {
      const std::string argument = parent_.empty()
                                       ? std::string(name)
                                       : parent_ + "." + std::string(name);
      set(value, ArgumentName{operation_, argument});
    }
  }
  // What read(value, its name) returns goes to `place`, which stays as it is
  // where none is given.
  template <class Place, class Read>
  void take(std::string_view name, Place& place, const Read& read) {
    take(name, [&](nb::handle value, ArgumentName argument) {
      place = read(value, argument);
    });
  }
  // TypeError for an entry that nobody took.
  void end() const;
  // The entries that nobody took.
  nb::dict rest() const;

 private:
  nb::object taken(std::string_view name);

  nb::dict dict_;
  std::string_view operation_;
  std::string parent_;
  std::set<std::string, std::less<>> names_;
};

// Takes an entry of a type; `place` stays as it is where none is given.
void take_size(NamedFields& fields, std::string_view name, std::size_t& place);
void take_boolean(NamedFields& fields, std::string_view name, bool& place);
void take_number(NamedFields& fields, std::string_view name, double& place);
void take_text(NamedFields& fields, std::string_view name, std::string& place);
void take_text(NamedFields& fields, std::string_view name,
               std::optional<std::string>& place);
template <class Enum, std::size_t Count>
void take_word(NamedFields& fields, std::string_view name, Enum& place,
               const EnumWord<Enum> (&words)[Count]) {
  fields.take(name, place, [&](nb::handle value, ArgumentName argument) {
    return one_of(value, argument, words);
  });
}

}  // namespace headwise::python
