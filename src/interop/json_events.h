// JSON of a foreign file, piece by piece: no tree is built, so the memory is
// what the reader keeps and the nesting what it allows. A reader overrides the
// events that it expects; every other one ends the reading with an error.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return unexpected("null"); }
  bool boolean(bool /*value*/) override { return unexpected("a bool"); }
  // Below zero, -0 too.
  bool number_integer(number_integer_t /*value*/) override {
    return unexpected("a negative number");
  }
  bool number_unsigned(number_unsigned_t /*value*/) override {
    return unexpected("a number");
  }
  // With a point or an exponent, or beyond 2^64.
  bool number_float(number_float_t /*value*/,
                    const std::string& /*text*/) override {
    return unexpected("a number that is no integer of 64 bits");
  }
  bool string(std::string& /*value*/) override { return unexpected("a text"); }
  bool binary(binary_t& /*value*/) override { return false; }  // no JSON
  bool start_object(std::size_t /*elements*/) override {
    return unexpected("an object");
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*elements*/) override {
    return unexpected("an array");
  }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& exception) final;

  // After a failure: where the text is none, or else what was unexpected.
  std::optional<std::size_t> no_json_at() const { return no_json_at_; }
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
  std::optional<std::size_t> no_json_at_;
};

// Tells `events` what `text` holds. Errors: bad_data; they begin with `subject`
// and call the text `what` ("its header").
Status read_json(std::string_view text, JsonEvents& events,
                 std::string_view subject, std::string_view what);

// `text` as JSON writes it, in quotes; nothing when it is not UTF-8.
std::optional<std::string> json_string(const std::string& text);

}  // namespace headwise::inline HEADWISE_ABI
