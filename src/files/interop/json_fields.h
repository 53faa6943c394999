// The settings in a JSON file: what it has under the keys that a reader asks
// for, in one object or in each object of a list. Other keys are passed over.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Both ends are in it.
struct SizeRange {
  std::size_t least = 0;
  std::size_t most = 0;
};

class JsonFields {
 public:
  using Keys = std::span<const std::string_view>;

  // `text` is an object. Errors: bad_data; they are about `subject`. The keys'
  // characters must outlive the fields.
  static Result<JsonFields> parse(std::string_view text,
                                  const FileSubject& subject, Keys keys);
  // `text` is a list of at most `most` objects. Messages call them `MODULE 0`,
  // for one, where `item` is "MODULE".
  static Result<std::vector<JsonFields>> parse_list(std::string_view text,
                                                    const FileSubject& subject,
                                                    std::string_view item,
                                                    Keys keys,
                                                    std::size_t most);

  // Null is as if the key were not there.
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // These leave `into` as it is where the key is not there. Errors: bad_data
  // for a value of another kind or outside of the range.
  Status get(std::string_view key, bool& into) const;
  Status get(std::string_view key, double& into) const;
  Status get(std::string_view key, std::string& into) const;
  Status get(std::string_view key, SizeRange range, std::size_t& into) const;
  // A text, or a list of at most kMostTexts of them.
  Status get(std::string_view key, std::vector<std::string>& into) const;
  static constexpr std::size_t kMostTexts = 16;

  // The same of a key that must be there.
  template <class... Into>
  Status require(std::string_view key, Into&&... into) const {
    if (!has(key)) {
      return fault(message("has no {}", key));
    }
    return get(key, std::forward<Into>(into)...);
  }

  // `SUBJECT: hidden_size is 0, expected a number from 1 to 1048576`, of a key
  // that is there.
  Error unexpected(std::string_view key, Message expected,
                   ErrorCode code = ErrorCode::bad_data) const;
  // `SUBJECT has no model_type`
  Error fault(Message given, Message expected = {},
              ErrorCode code = ErrorCode::bad_data) const;

 private:
  friend class FieldEvents;
  explicit JsonFields(FileSubject subject) : subject_(std::move(subject)) {}

  // Below zero, with a point or an exponent, or beyond 2^64.
  struct Number {
    double value;
    std::string text;
  };
  // Something that no setting is: "an object".
  struct Other {
    std::string_view name;
  };
  using Value = std::variant<bool, std::size_t, Number, std::string,
                             std::vector<std::string>, Other>;

  const Value* find(std::string_view key) const;
  template <class T>
  Status get_as(std::string_view key, Message expected, T& into) const;

  FileSubject subject_;
  std::map<std::string_view, Value> values_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
