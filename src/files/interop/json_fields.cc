#include "interop/json_fields.h"

#include <algorithm>
#include <cstdint>

#include "interop/error_text.h"
#include "interop/json_events.h"

namespace headwise::internal::inline HEADWISE_ABI {

// Keeps the values of the wanted keys of an object at depth 1, or of those at
// depth 2 of a list.
class FieldEvents : public NestedJsonEvents {
 public:
  FieldEvents(const FileSubject& subject, JsonFields::Keys keys)
      : subject_(subject), keys_(keys) {}
  FieldEvents(const FileSubject& subject, JsonFields::Keys keys,
              std::string_view item, std::size_t most)
      : subject_(subject), keys_(keys), item_(item), most_(most) {}

  std::vector<JsonFields> take() { return std::move(objects_); }

  bool null() override {
    return depth() == object_depth() ||
           passed_over("null", Value(JsonFields::Other{"null"}));
  }
  bool boolean(bool value) override {
    return passed_over("a bool", Value(value));
  }
  bool number_integer(std::int64_t value) override {
    return passed_over("a number",
                       Value(JsonFields::Number{static_cast<double>(value),
                                                std::to_string(value)}));
  }
  bool number_unsigned(std::uint64_t value) override {
    return passed_over("a number", Value(static_cast<std::size_t>(value)));
  }
  bool number_float(double value, const std::string& text) override {
    return passed_over("a number", Value(JsonFields::Number{value, text}));
  }
  bool string(std::string& value) override {
    if (collects_texts()) {
      return collect(std::move(value));
    }
    return passed_over("a text", Value(std::move(value)));
  }

  bool start_object(std::size_t /*elements*/) override {
    if (depth() + 1 == object_depth()) {
      return start_item() && open();
    }
    return passed_over("an object", Value(JsonFields::Other{"an object"})) &&
           open();
  }
  bool start_array(std::size_t /*elements*/) override {
    if (depth() == 0 && is_list()) {
      return open();
    }
    return passed_over("an array", Value(std::vector<std::string>())) && open();
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    if (depth() == object_depth()) {
      const auto found = std::ranges::find(keys_, key);
      wanted_ = found == keys_.end() ? std::nullopt : std::optional(*found);
    }
    return add_key(std::move(key));
  }

 private:
  using Value = JsonFields::Value;

  bool is_list() const { return !item_.empty(); }
  std::size_t object_depth() const { return is_list() ? 2 : 1; }

  bool start_item() {
    if (is_list() && objects_.size() == most_) {
      return refuse({"", message("lists more than {} objects", most_)});
    }
    objects_.push_back(JsonFields(
        is_list() ? subject_.of_entry(std::string(item_) + " " +
                                      std::to_string(objects_.size()))
                  : subject_));
    return true;
  }

  // A value that is wanted is kept, another one passed over; not where an
  // object must be.
  bool passed_over(Message given, Value value) {
    if (depth() < object_depth()) {
      return unexpected(given);
    }
    if (depth() == object_depth() && wanted_) {
      objects_.back().values_.insert_or_assign(*wanted_, std::move(value));
    } else if (collects_texts()) {
      held() = JsonFields::Other{"a list of other things than texts"};
    }
    return true;
  }

  // Whether what comes is in the list that is the value of the wanted key.
  bool collects_texts() {
    return depth() == object_depth() + 1 && wanted_ &&
           std::holds_alternative<std::vector<std::string>>(held());
  }
  Value& held() { return objects_.back().values_.at(*wanted_); }
  bool collect(std::string text) {
    auto& texts = std::get<std::vector<std::string>>(held());
    if (texts.size() == JsonFields::kMostTexts) {
      held() = JsonFields::Other{"a longer list"};
    } else {
      texts.push_back(std::move(text));
    }
    return true;
  }

  Place place() const override {
    return {"", is_list() ? "a list of objects" : "an object"};
  }

  const FileSubject& subject_;
  JsonFields::Keys keys_;
  std::string_view item_;  // empty: no list
  std::size_t most_ = 1;
  std::vector<JsonFields> objects_;
  std::optional<std::string_view> wanted_;  // the key whose value comes
};

Result<JsonFields> JsonFields::parse(std::string_view text,
                                     const FileSubject& subject, Keys keys) {
  FieldEvents events(subject, keys);
  HEADWISE_TRY(read_json(text, events, subject));
  return std::move(events.take().front());
}

Result<std::vector<JsonFields>> JsonFields::parse_list(
    std::string_view text, const FileSubject& subject, std::string_view item,
    Keys keys, std::size_t most) {
  FieldEvents events(subject, keys, item, most);
  HEADWISE_TRY(read_json(text, events, subject));
  return events.take();
}

const JsonFields::Value* JsonFields::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Error JsonFields::fault(Message given, Message expected, ErrorCode code) const {
  return subject_.error(code, std::move(given), std::move(expected));
}

Error JsonFields::unexpected(std::string_view key, Message expected,
                             ErrorCode code) const {
  struct Given {
    std::string operator()(bool value) const {
      return value ? "true" : "false";
    }
    std::string operator()(std::size_t value) const {
      return std::to_string(value);
    }
    std::string operator()(const Number& value) const {
      return printable(value.text);
    }
    std::string operator()(const std::string& value) const {
      return "\"" + printable(value) + "\"";
    }
    std::string operator()(const std::vector<std::string>& /*value*/) const {
      return "a list";
    }
    std::string operator()(const Other& value) const {
      return std::string(value.name);
    }
  };
  return subject_.of_entry(std::string(key))
      .error(code, message("is {}", std::visit(Given(), *find(key))),
             std::string(expected));
}

template <class T>
Status JsonFields::get_as(std::string_view key, Message expected,
                          T& into) const {
  const Value* const value = find(key);
  if (value == nullptr) {
    return ok();
  }
  const T* const given = std::get_if<T>(value);
  if (given == nullptr) {
    return unexpected(key, expected);
  }
  into = *given;
  return ok();
}

Status JsonFields::get(std::string_view key, bool& into) const {
  return get_as(key, "true or false", into);
}

Status JsonFields::get(std::string_view key, std::string& into) const {
  return get_as(key, "a text", into);
}

Status JsonFields::get(std::string_view key, double& into) const {
  const Value* const value = find(key);
  const auto* const size =
      value == nullptr ? nullptr : std::get_if<std::size_t>(value);
  if (size != nullptr) {
    into = static_cast<double>(*size);
    return ok();
  }
  Number number{into, {}};
  HEADWISE_TRY(get_as(key, "a number", number));
  into = number.value;
  return ok();
}

Status JsonFields::get(std::string_view key, SizeRange range,
                       std::size_t& into) const {
  const Message expected =
      message("a number from {} to {}", range.least, range.most);
  std::size_t size = range.least;
  HEADWISE_TRY(get_as(key, expected, size));
  if (size < range.least || size > range.most) {
    return unexpected(key, expected);
  }
  into = has(key) ? size : into;
  return ok();
}

Status JsonFields::get(std::string_view key,
                       std::vector<std::string>& into) const {
  const Value* const value = find(key);
  const auto* const text =
      value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text != nullptr) {
    into.assign(1, *text);
    return ok();
  }
  return get_as(
      key, message("a text or a list of at most {} of them", kMostTexts), into);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
