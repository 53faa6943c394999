// A part of a JSON file, with its path for errors:
//   model/tokenizer.json: pre_tokenizer.behavior is Never, expected Removed,
//   ...
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/json/json.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class JsonPart {
 public:
  // `json` must outlive the part; null, or nullptr, is a part that is not
  // there.
  JsonPart(const Json* json, FileSubject subject, std::string path)
      : json_(json != nullptr && !json->is_null() ? json : nullptr),
        subject_(std::move(subject)),
        path_(std::move(path)) {}

  bool exists() const { return json_ != nullptr; }
  const Json& json() const {  // null if it does not exist
    static const Json kNull{};
    return exists() ? *json_ : kNull;
  }
  const std::string& path() const { return path_; }
  const FileSubject& subject() const { return subject_; }

  // The value of a key; does not exist where the key is missing or null, or
  // this part is not an object.
  JsonPart at(std::string_view key) const;
  // The elements of a list under a key, which must be there. Errors: bad_data.
  Result<std::vector<JsonPart>> list(std::string_view key) const;

  // Leaves `into` as it is where the key is missing or null. Errors: bad_data
  // for a value of another kind.
  // T is bool, double, std::size_t, std::string, a std::optional of that, or
  // char32_t: a text of one character.
  template <class T>
  Status get(std::string_view key, T& into) const;
  // One of `names`: its number.
  Status get(std::string_view key, std::span<const std::string_view> names,
             std::size_t& into) const;
  // The same of a key that must be there.
  template <class... Into>
  Status require(std::string_view key, Into&&... into) const {
    return at(key).exists() ? get(key, std::forward<Into>(into)...)
                            : Status(missing(key));
  }

  // `PATH.KEY is VALUE, expected ...`, of a key that is there.
  Error unexpected(std::string_view key, Message expected,
                   ErrorCode code = ErrorCode::bad_data) const;
  // `PATH GIVEN, expected ...`
  Error fault(Message given, Message expected = {},
              ErrorCode code = ErrorCode::bad_data) const;
  // `PATH has no KEY`
  Error missing(std::string_view key) const {
    return fault(message("has no {}", key));
  }

 private:
  const Json* json_;
  FileSubject subject_;
  std::string path_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
