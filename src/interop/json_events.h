// JSON of a foreign file, piece by piece: no tree is built, so the memory is
// what the reader keeps and the nesting what it allows. A reader overrides the
// events that it expects; every other one ends the reading with an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

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
    return unexpected("a number that is no integer of 64 bits");
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

  // After a failure: what was unexpected.
  const std::string& fault() const { return fault_; }

 protected:
  // Ends the reading: `tensor x has no shape`
  bool refuse(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }
  // What is being read, and what may stand there.
  struct Place {
    std::string name;
    std::string_view expected;
  };
  virtual Place place() const = 0;
  // `the shape of tensor x holds null, expected sizes`
  bool unexpected(std::string_view given) {
    const Place here = place();
    return refuse(here.name + " holds " + std::string(given) + ", expected " +
                  std::string(here.expected));
  }

 private:
  std::string fault_;
};

// Tells `events` what `text` holds. Errors: bad_data; they begin with `subject`
// and call the text `what` ("its header").
Status read_json(std::string_view text, JsonEvents& events,
                 std::string_view subject, std::string_view what);

// `text` as JSON writes it, in quotes; nothing when it is not UTF-8.
std::optional<std::string> json_string(const std::string& text);

}  // namespace headwise::inline HEADWISE_ABI
