#include "object_text.h"

#include <cstddef>

namespace headwise::python {
namespace {

// The longest list that is shown whole.
constexpr std::size_t kMostItems = 6;

nb::str joined(const nb::list& texts) {
  return nb::str(nb::str(", ").attr("join")(texts));
}

// Calls text(item) for the first items.
template <class Text>
nb::str items_text(nb::handle items, const Text& text) {
  const std::size_t count = nb::len(items);
  nb::list texts;
  for (const nb::handle item : items) {
    if (texts.size() == kMostItems && count > kMostItems) {
      texts.append(nb::str("... {} in all").format(count));
      break;
    }
    texts.append(text(item));
  }
  return joined(texts);
}

}  // namespace

nb::str value_text(nb::handle value) {
  if (nb::hasattr(value, "shape") && nb::hasattr(value, "dtype")) {
    return nb::str("{} {}").format(value.attr("dtype"),
                                   nb::tuple(value.attr("shape")));
  }
  if (nb::isinstance<nb::list>(value)) {
    return nb::str("[{}]").format(items_text(value, &value_text));
  }
  if (nb::isinstance<nb::tuple>(value)) {
    return nb::str("({})").format(items_text(value, &value_text));
  }
  if (nb::isinstance<nb::dict>(value)) {
    const auto entry = [&](nb::handle key) {
      return nb::str("{!r}: {}").format(key, value_text(value[key]));
    };
    return nb::str("{{{}}}").format(items_text(value, entry));
  }
  return nb::repr(value);
}

nb::str object_text(nb::handle self, const nb::dict& entries) {
  nb::list texts;
  for (const auto& [name, value] : entries) {
    texts.append(nb::str("{}={}").format(name, value_text(value)));
  }
  return nb::str("{}({})").format(self.type().attr("__name__"), joined(texts));
}

nb::str text_of_properties(nb::handle self) {
  nb::dict entries;
  const nb::handle property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  for (const nb::handle entry : self.type().attr("__dict__").attr("items")()) {
    if (entry[1].type().is(property)) {
      const nb::object value = self.attr(entry[0]);
      if (!value.is_none()) {
        entries[entry[0]] = value;
      }
    }
  }
  return object_text(self, entries);
}

}  // namespace headwise::python
