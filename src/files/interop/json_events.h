// JSON of a foreign file, piece by piece: no tree is built, so the memory is
// what the reader keeps and the nesting what it allows. A reader overrides the
// events that it expects; every other one ends the reading with an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class JsonEvents {
 public:
  virtual ~JsonEvents() = default;

  virtual bool null() { return unexpected("null"); }
  virtual bool boolean(bool /*value*/) { return unexpected("a bool"); }
  // Below zero, -0 too.
  virtual bool number_integer(std::int64_t /*value*/) {
    return unexpected("a negative number");
  }
  virtual bool number_unsigned(std::uint64_t /*value*/) {
    return unexpected("a number");
  }
  // With a point or an exponent, or beyond 2^64.
  virtual bool number_float(double /*value*/, const std::string& /*text*/) {
    return unexpected("a number that does not fit in a 64-bit integer");
  }
  virtual bool string(std::string& /*value*/) { return unexpected("a text"); }
  virtual bool start_object(std::size_t /*elements*/) {
    return unexpected("an object");
  }
  virtual bool end_object() { return true; }
  virtual bool start_array(std::size_t /*elements*/) {
    return unexpected("an array");
  }
  virtual bool key(std::string& value) = 0;
  virtual bool end_array() { return true; }

  // What is wrong with an entry; without one, with the text.
  struct Fault {
    std::string entry;
    Message given;
    Message expected{};
  };
  // After a failure: what was unexpected.
  const Fault& fault() const { return fault_; }

 protected:
  // Ends the reading: {"x", "has no shape"}
  bool refuse(Fault fault) {
    fault_ = std::move(fault);
    return false;
  }
  // The entry that is being read, and what it may hold.
  struct Place {
    std::string entry;
    Message expected;
  };
  virtual Place place() const = 0;
  // `x.shape holds null, expected sizes`
  bool unexpected(const Message& given) {
    const Place here = place();
    return refuse({here.entry, message("holds {}", given), here.expected});
  }

 private:
  Fault fault_;
};

// For a reader that takes a part of the text and passes over the rest. None of
// it may hold one key twice in an object, nor be nested deeper than files are.
class NestedJsonEvents : public JsonEvents {
 protected:
  // How many objects and arrays are open.
  std::size_t depth() const { return keys_.size(); }
  // False, with a fault, where that is one too many.
  bool open();
  bool close();

  // Of the object that was opened last; false, with a fault, when it has it.
  bool add_key(std::string key);
  HEADWISE_HIDDEN bool twice(std::string_view key);

 private:
  // Of each object that is open; none of an array's.
  std::vector<std::set<std::string>> keys_;
};

// Reports the contents of `text`, which begins at this byte of the file, to
// `events`. Errors: bad_data, about `subject`.
Status read_json(std::string_view text, JsonEvents& events,
                 const FileSubject& subject, std::uint64_t begin = 0);

// `text` as JSON writes it, in quotes; nothing when it is not UTF-8.
std::optional<std::string> json_string(const std::string& text);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
