#include "headwise/json/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace headwise::inline HEADWISE_ABI {

namespace {

using Library = nlohmann::json;

// As the library writes a text or a number.
std::string written(const Library& leaf) {
  return leaf.dump(-1, ' ', /*ensure_ascii=*/false,
                   Library::error_handler_t::replace);
}

// The same of a number, without the library's buffers: there may be millions.
std::string digits_of(double number) {
  if (!std::isfinite(number)) {
    return "null";
  }
  std::array<char, 64> digits{};
  return {digits.data(),
          nlohmann::detail::to_chars(digits.data(),
                                     digits.data() + digits.size(), number)};
}

// Builds a value from the library's events, without a tree of the library's.
class Builder : public nlohmann::json_sax<Library> {
 public:
  explicit Builder(int deepest) : deepest_(deepest) {}

  Json take() { return std::move(whole_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& /*text*/) override {
    return add(value);
  }
  bool string(std::string& value) override { return add(value); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override {
    return open(Json::object());
  }
  bool key(std::string& value) override {
    keys_.back() = value;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override {
    return open(Json::array());
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*what*/) override {
    return false;
  }

 private:
  bool open(Json empty) {
    open_.push_back(std::move(empty));
    keys_.emplace_back();
    return open_.size() <= static_cast<std::size_t>(deepest_);
  }
  bool close() {
    Json closed = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(closed));
  }
  bool add(Json value) {
    if (open_.empty()) {
      whole_ = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().push_back(std::move(value));
    } else {
      open_.back()[keys_.back()] = std::move(value);
    }
    return true;
  }

  int deepest_;
  Json whole_;
  std::vector<Json> open_;  // the innermost last
  std::vector<std::string> keys_;
};

}  // namespace

Json::Json(std::string_view text) {
  become(Kind::text);
  parts_->text = text;
}

Json::Json(std::initializer_list<Json> values) {
  const bool pairs = std::ranges::all_of(values, [](const Json& value) {
    return value.is_array() && value.size() == 2 && value[0].is_text();
  });
  become(pairs ? Kind::object : Kind::array);
  if (!pairs) {
    parts_->items.assign(values);
    return;
  }
  for (const Json& pair : values) {
    (*this)[pair[0].parts_->text] = pair[1];
  }
}

Json::Json(const Json& other)
    : kind_(other.kind_),
      natural_(other.natural_),
      parts_(other.parts_ ? std::make_unique<Parts>(*other.parts_) : nullptr) {}

Json::Json(Json&& other) noexcept
    : kind_(std::exchange(other.kind_, Kind::null)),
      natural_(other.natural_),
      parts_(std::move(other.parts_)) {}

Json& Json::operator=(Json other) noexcept {
  kind_ = other.kind_;
  natural_ = other.natural_;
  parts_ = std::move(other.parts_);
  return *this;
}

Json::~Json() = default;

Json Json::array() {
  Json json;
  json.become(Kind::array);
  return json;
}

Json Json::object() {
  Json json;
  json.become(Kind::object);
  return json;
}

void Json::become(Kind kind) {
  kind_ = kind;
  parts_ = std::make_unique<Parts>();
}

bool Json::get(bool& into) const {
  if (kind_ == Kind::boolean) {
    into = boolean_;
  }
  return kind_ == Kind::boolean;
}

bool Json::get(std::uint64_t& into) const {
  if (kind_ == Kind::natural) {
    into = natural_;
  }
  return kind_ == Kind::natural;
}

bool Json::get(int& into) const {
  const bool fits = kind_ == Kind::natural &&
                    natural_ <= std::uint64_t{std::numeric_limits<int>::max()};
  if (fits) {
    into = static_cast<int>(natural_);
  }
  return fits;
}

bool Json::get(double& into) const {
  if (kind_ == Kind::real) {
    into = real_;
  } else if (kind_ == Kind::natural) {
    into = static_cast<double>(natural_);
  } else if (kind_ == Kind::negative) {
    into = static_cast<double>(negative_);
  }
  return is_number();
}

bool Json::get(std::string& into) const {
  if (is_text()) {
    into = parts_->text;
  }
  return is_text();
}

const std::vector<Json>& Json::items() const {
  static const std::vector<Json> kNone;
  return parts_ ? parts_->items : kNone;
}

Json& Json::operator[](std::size_t n) { return parts_->items[n]; }

void Json::push_back(Json value) {
  if (is_null()) {
    become(Kind::array);
  }
  parts_->items.push_back(std::move(value));
}

const std::string& Json::key(std::size_t n) const { return parts_->keys[n]; }

const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  const auto found = std::ranges::find(parts_->keys, key);
  return found == parts_->keys.end() ? nullptr
                                     : &parts_->items[static_cast<std::size_t>(
                                           found - parts_->keys.begin())];
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) {
    become(Kind::object);
  }
  if (const Json* found = find(key)) {
    return const_cast<Json&>(*found);
  }
  parts_->keys.emplace_back(key);
  return parts_->items.emplace_back();
}

void Json::update(const Json& other) {
  for (std::size_t n = 0; n < other.size(); ++n) {
    (*this)[other.key(n)] = other[n];
  }
}

bool operator==(const Json& a, const Json& b) {
  if (a.kind_ != b.kind_ || a.size() != b.size()) {
    return false;
  }
  switch (a.kind_) {
    case Json::Kind::null:
      return true;
    case Json::Kind::boolean:
      return a.boolean_ == b.boolean_;
    case Json::Kind::negative:
    case Json::Kind::natural:
      return a.natural_ == b.natural_;
    case Json::Kind::real:
      return a.real_ == b.real_;
    case Json::Kind::text:
      return a.parts_->text == b.parts_->text;
    case Json::Kind::array:
      return std::ranges::equal(a, b);
    case Json::Kind::object:
      break;
  }
  for (std::size_t n = 0; n < a.size(); ++n) {
    const Json* const other = b.find(a.key(n));
    if (other == nullptr || !(a[n] == *other)) {
      return false;
    }
  }
  return true;
}

std::string Json::dump(std::optional<std::size_t> indent) const {
  std::string text;
  write(text, indent, 0);
  return text;
}

void Json::write(std::string& text, std::optional<std::size_t> indent,
                 std::size_t depth) const {
  const auto new_line = [&](std::size_t levels) {
    if (indent) {
      text += '\n';
      text.append(levels * *indent, ' ');
    }
  };
  switch (kind_) {
    case Kind::null:
      text += "null";
      return;
    case Kind::boolean:
      text += boolean_ ? "true" : "false";
      return;
    case Kind::negative:
      text += std::to_string(negative_);
      return;
    case Kind::natural:
      text += std::to_string(natural_);
      return;
    case Kind::real:
      text += digits_of(real_);
      return;
    case Kind::text:
      text += written(parts_->text);
      return;
    case Kind::array:
    case Kind::object:
      break;
  }
  text += is_array() ? '[' : '{';
  for (std::size_t n = 0; n < size(); ++n) {
    text += n == 0 ? "" : ",";
    new_line(depth + 1);
    if (is_object()) {
      text += written(key(n)) + (indent ? ": " : ":");
    }
    (*this)[n].write(text, indent, depth + 1);
  }
  if (size() != 0) {
    new_line(depth);
  }
  text += is_array() ? ']' : '}';
}

std::optional<Json> Json::parse(std::string_view text, std::size_t most_bytes,
                                int deepest) {
  Builder builder(deepest);
  if (text.size() > most_bytes || !Library::sax_parse(text, &builder)) {
    return std::nullopt;
  }
  return builder.take();
}

}  // namespace headwise::inline HEADWISE_ABI
