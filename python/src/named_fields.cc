#include "named_fields.h"

#include "error.h"

namespace headwise::python {

NamedFields::NamedFields(nb::handle dict, std::string_view operation,
                         std::string_view parent)
    : operation_(operation), parent_(parent) {
  if (!nb::isinstance<nb::dict>(dict)) {
    raise_kind(dict, {operation, parent}, "a dict");
  }
  dict_ = nb::dict(nb::borrow<nb::dict>(dict));
}

nb::object NamedFields::taken(std::string_view name) {
  names_.emplace(name);
  const nb::str key(name.data(), name.size());
  return dict_.contains(key) ? nb::object(dict_[key]) : nb::none();
}

void NamedFields::end() const {
  for (const nb::handle key : dict_.keys()) {
    const std::string_view given = word(key, {operation_, parent_});
    if (names_.find(given) != names_.end()) {
      continue;
    }
    std::string expected;
    for (const std::string& name : names_) {
      expected += (expected.empty() ? "" : ", ") + name;
    }
    raise_type({operation_, parent_},
               std::string(parent_.empty() ? "there is" : "has") +
                   " no option '" + std::string(given) + "'",
               expected);
  }
}

nb::dict NamedFields::rest() const {
  nb::dict rest;
  for (const auto& [key, value] : dict_) {
    if (names_.find(word(key, {operation_, parent_})) == names_.end()) {
      rest[key] = value;
    }
  }
  return rest;
}

void take_size(NamedFields& fields, std::string_view name, std::size_t& place) {
  fields.take(name, place, unsigned_integer);
}

void take_boolean(NamedFields& fields, std::string_view name, bool& place) {
  fields.take(name, place, boolean);
}

void take_number(NamedFields& fields, std::string_view name, double& place) {
  fields.take(name, place, number);
}

void take_text(NamedFields& fields, std::string_view name, std::string& place) {
  fields.take(name, place, word);
}

void take_text(NamedFields& fields, std::string_view name,
               std::optional<std::string>& place) {
  fields.take(name, place, word);
}

}  // namespace headwise::python
