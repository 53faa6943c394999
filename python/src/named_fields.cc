#include "named_fields.h"

#include "error.h"

namespace headwise::python {

NamedFields::NamedFields(nb::handle dict, std::string_view operation,
                         std::string_view parent)
    : operation_(operation), parent_(parent) {
  if (!nb::isinstance<nb::dict>(dict)) {
    raise_type({.operation = std::string(operation),
                .argument = std::string(parent),
                .given = std::string("is ") + nb::repr(dict).c_str(),
                .expected = "a dict"});
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
    raise_type({.operation = std::string(operation_),
                .argument = parent_,
                .given = std::string(parent_.empty() ? "there is" : "has") +
                         " no option '" + std::string(given) + "'",
                .expected = expected});
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
  fields.take(name, [&](nb::handle value, ArgumentName argument) {
    place = unsigned_integer(value, argument);
  });
}

void take_boolean(NamedFields& fields, std::string_view name, bool& place) {
  fields.take(name, [&](nb::handle value, ArgumentName argument) {
    place = boolean(value, argument);
  });
}

void take_number(NamedFields& fields, std::string_view name, double& place) {
  fields.take(name, [&](nb::handle value, ArgumentName argument) {
    place = number(value, argument);
  });
}

void take_text(NamedFields& fields, std::string_view name, std::string& place) {
  fields.take(name, [&](nb::handle value, ArgumentName argument) {
    place = word(value, argument);
  });
}

void take_text(NamedFields& fields, std::string_view name,
               std::optional<std::string>& place) {
  fields.take(name, [&](nb::handle value, ArgumentName argument) {
    place = std::string(word(value, argument));
  });
}

}  // namespace headwise::python
