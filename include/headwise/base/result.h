// How headwise reports what went wrong: every public function returns a Status,
// or a Result<T> that holds a value or an Error. `.value()` throws Exception
// with the same text, for callers who prefer exceptions; the library itself
// never throws, prints or exits. Running out of memory is an Error too, even
// while a message is built. Functions that only build a value, such as an
// option, a mask or a list of names, may throw std::bad_alloc as a container
// does. An exception thrown by a callback reaches the caller.
//
// Example:
//   hw::Status s = hw::attention(q, k, v, out);
//   if (!s) std::cerr << s.error().message() << '\n';
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "headwise/base/message.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class ErrorCode {
  invalid_argument,  // a value or an option that makes no sense
  shape_mismatch,    // tensors whose sizes do not fit together
  out_of_range,      // an index, id or length outside its bounds
  out_of_memory,     // an allocation failed, or a size overflows
  bad_data,          // a file whose content is wrong
  io_error,          // a file that cannot be opened, read or written
  unsupported,       // well-formed, but not available here
  device_error,      // the GPU reports a failure
  rank_failure,      // another rank failed, or did not answer in time
};

// What an error is about and what is wrong with it, part by part. A part that
// does not apply is empty.
struct ErrorDetails {
  std::string operation{};  // the function: "attention", "read_npy"
  // An argument of the operation: the path of its members, as the caller
  // writes it, with an index for an element. Members of an options struct begin
  // the path, so it does not depend on the name of the struct:
  //   query  mask.key_lengths[0]  mask.documents.query_ids  offsets.query[2]
  //   bias  dropout.p  statistics.separators  gradients.query
  // The words are the same in every function and in every language.
  std::string argument{};
  std::string file{};                   // a path
  std::string entry{};                  // in the file: a tensor, or a JSON path
  std::optional<std::uint64_t> byte{};  // in the file: an offset from its start
  int system_error = 0;                 // errno
  // What is wrong with the last of the parts above that is given: "is 7", "has
  // shape (2, 10)". If only the operation is given, a whole clause.
  Message given{};
  Message expected{};  // "0 to Lkv = 6"
  Message hint{};      // a clause that helps: "did you mean explain?"
};

// Copies share the details. An error without details allocates nothing.
class Error {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return ErrorCode::...`
  Error(ErrorCode code) noexcept : code_(code) {}
  Error(ErrorCode code, ErrorDetails details);
  // out_of_memory when allocating this many bytes. If the number overflows,
  // pass the largest one.
  static Error no_memory_for(std::uint64_t bytes) noexcept;

  ErrorCode code() const { return code_; }
  const ErrorDetails& details() const;
  // The number of bytes that could not be allocated; 0 if that is not known.
  std::uint64_t bytes_needed() const { return bytes_needed_; }
  // The same details with another code.
  Error with_code(ErrorCode code) const;

  // `given`, or what the code says where that is empty.
  Message what() const;

  // One line, without a full stop:
  //   attention: mask.key_lengths[0] is 7, expected 0 to Lkv = 6
  //   read_npy: q.npy is empty
  //   read_npy: q.npy: No such file or directory
  std::string message() const;

 private:
  ErrorCode code_;
  std::uint64_t bytes_needed_ = 0;
  std::shared_ptr<const ErrorDetails> details_;
};

class Exception : public std::runtime_error {
 public:
  explicit Exception(const Error& error)
      : std::runtime_error(error.message()), code_(error.code()) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// Success, or an Error. Contextually true on success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error)  // NOLINT(google-explicit-constructor): `return Error{}`
      : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  // Only after a failure.
  const Error& error() const {
    assert(error_);
    return *error_;
  }
  // Throws Exception after a failure.
  void value() const {
    if (error_) {
      throw Exception(*error_);
    }
  }

 private:
  std::optional<Error> error_;
};

inline Status ok() { return {}; }

// A value, or an Error. Contextually true when it holds a value; `*r` and
// `r->` are for that case only.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)  // NOLINT(google-explicit-constructor): `return value`
      : state_(std::move(value)) {}
  Result(Error error)  // NOLINT(google-explicit-constructor): `return Error{}`
      : state_(std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  // Only after a failure.
  const Error& error() const {
    assert(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }

  T& value() & { return checked(), **this; }
  const T& value() const& { return checked(), **this; }
  T&& value() && { return checked(), *std::move(*this); }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

 private:
  void checked() const {
    if (state_.index() != 0) {
      throw Exception(error());
    }
  }

  std::variant<T, Error> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop

// Returns the error of a Status or a Result from the function around it;
// HEADWISE_ASSIGN declares the value of a Result that has one:
//
//   HEADWISE_TRY(check(x));
//   HEADWISE_ASSIGN(const auto y, read(path));
#define HEADWISE_TRY(...)                                     \
  do {                                                        \
    if (auto&& headwise_tried = __VA_ARGS__; !headwise_tried) \
      return headwise_tried.error();                          \
  } while (false)
#define HEADWISE_ASSIGN(declaration, ...) \
  HEADWISE_ASSIGN_AT(declaration, __LINE__, __VA_ARGS__)
// The number of the line makes the Result's name its own.
#define HEADWISE_ASSIGN_AT(declaration, line, ...) \
  HEADWISE_ASSIGN_BY(declaration, headwise_result, line, __VA_ARGS__)
#define HEADWISE_ASSIGN_BY(declaration, name, line, ...) \
  auto name##line = __VA_ARGS__;                         \
  HEADWISE_TRY(name##line);                              \
  declaration = *std::move(name##line)
