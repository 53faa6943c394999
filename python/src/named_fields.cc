#include "named_fields.h"

#include "error.h"
#include "number_arguments.h"

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

}  // namespace headwise::python
