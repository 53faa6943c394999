// A JSON value: what the commands print, and small files that are read back.
// Keys stay in the order in which they are set.
//
// Errors: none; memory that cannot be allocated throws std::bad_alloc.
//
//   Json json = {{"name", "scores"}, {"shape", {2, 3}}};
//   json["steps"] = Json::array();
//   json["steps"].push_back({{"number", 1}});
//   json.dump();
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Json {
 public:
  Json() = default;  // null
  Json(std::nullptr_t) {}
  template <std::same_as<bool> Bool>
  Json(Bool value) : kind_(Kind::boolean), boolean_(value) {}
  template <std::integral Whole>
  requires(!std::same_as<Whole, bool>) Json(Whole value) {
    if (value < Whole{0}) {
      kind_ = Kind::negative;
      negative_ = static_cast<std::int64_t>(value);
    } else {
      kind_ = Kind::natural;
      natural_ = static_cast<std::uint64_t>(value);
    }
  }
  Json(double value) : kind_(Kind::real), real_(value) {}
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  template <class T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const T& value : values) {
      push_back(value);
    }
  }
  template <class T, std::size_t N>
  Json(const std::array<T, N>& values)
      : Json(std::vector<T>(values.begin(), values.end())) {}
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}
  // An object if every value is a pair that begins with a text; else an array.
  Json(std::initializer_list<Json> values);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  static Json array();
  static Json object();

  bool is_null() const { return kind_ == Kind::null; }
  bool is_number() const {
    return kind_ == Kind::negative || kind_ == Kind::natural ||
           kind_ == Kind::real;
  }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  // Reads the value; false, and `into` unchanged, if it is of another kind. Of
  // a number: if it is not a whole one from 0 to the type's largest.
  bool get(bool& into) const;
  bool get(std::uint64_t& into) const;
  bool get(int& into) const;
  bool get(double& into) const;  // of any number
  bool get(std::string& into) const;
  template <class T>
  bool get(std::vector<T>& into) const {
    std::vector<T> values(is_array() ? size() : 0);
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (!(*this)[n].get(values[n])) {
        return false;
      }
    }
    if (is_array()) {
      into = std::move(values);
    }
    return is_array();
  }

  // Of an array or an object; 0 of anything else.
  std::size_t size() const { return items().size(); }
  const Json& operator[](std::size_t n) const { return items()[n]; }
  Json& operator[](std::size_t n);
  std::vector<Json>::const_iterator begin() const { return items().begin(); }
  std::vector<Json>::const_iterator end() const { return items().end(); }
  // Null becomes an array.
  void push_back(Json value);

  // The key of an object's value `n`.
  const std::string& key(std::size_t n) const;
  // The value of an object's key; nullptr if there is none.
  const Json* find(std::string_view key) const;
  // The same; null becomes an object, and a new key is added at the end.
  Json& operator[](std::string_view key);
  // Sets every key of `other`, an object.
  void update(const Json& other);

  // Whatever the order of keys.
  friend bool operator==(const Json& a, const Json& b);

  // As text: on one line, or in lines with `indent` spaces for each level.
  // Characters that are not UTF-8 become U+FFFD.
  std::string dump(std::optional<std::size_t> indent = std::nullopt) const;

  // Nothing if `text` is not JSON, has more than `most_bytes`, or nests deeper
  // than `deepest`: a tree takes many times its text.
  static std::optional<Json> parse(std::string_view text,
                                   std::size_t most_bytes, int deepest);

 private:
  enum class Kind : std::uint8_t {
    null,
    boolean,
    negative,
    natural,
    real,
    text,
    array,
    object
  };
  struct Parts {
    std::string text;
    std::vector<Json> items;
    std::vector<std::string> keys;  // of an object: those of the items
  };

  const std::vector<Json>& items() const;
  HEADWISE_HIDDEN void become(Kind kind);
  HEADWISE_HIDDEN void write(std::string& text,
                             std::optional<std::size_t> indent,
                             std::size_t depth) const;

  Kind kind_ = Kind::null;
  union {
    bool boolean_;
    std::int64_t negative_;
    std::uint64_t natural_ = 0;
    double real_;
  };
  std::unique_ptr<Parts> parts_;  // of a text, an array or an object
};

// Of a friend alone the compiler would not export the definition.
bool operator==(const Json& a, const Json& b);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
