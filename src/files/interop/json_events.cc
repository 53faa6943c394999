#include "interop/json_events.h"

#include <nlohmann/json.hpp>

#include "interop/error_text.h"

namespace headwise::internal::inline HEADWISE_ABI {

namespace {

// Passes the library's events on.
class Adapter : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Adapter(JsonEvents& events) : events_(events) {}

  // Where the text is not JSON.
  std::optional<std::size_t> no_json_at() const { return no_json_at_; }

  bool null() override { return events_.null(); }
  bool boolean(bool value) override { return events_.boolean(value); }
  bool number_integer(std::int64_t value) override {
    return events_.number_integer(value);
  }
  bool number_unsigned(std::uint64_t value) override {
    return events_.number_unsigned(value);
  }
  bool number_float(double value, const std::string& text) override {
    return events_.number_float(value, text);
  }
  bool string(std::string& value) override { return events_.string(value); }
  bool binary(binary_t& /*value*/) override { return false; }  // no JSON
  bool start_object(std::size_t elements) override {
    return events_.start_object(elements);
  }
  bool key(std::string& value) override { return events_.key(value); }
  bool end_object() override { return events_.end_object(); }
  bool start_array(std::size_t elements) override {
    return events_.start_array(elements);
  }
  bool end_array() override { return events_.end_array(); }
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*what*/) override {
    no_json_at_ = position;
    return false;
  }

 private:
  JsonEvents& events_;
  std::optional<std::size_t> no_json_at_;
};

}  // namespace

bool NestedJsonEvents::open() {
  constexpr std::size_t kDeepest = 16;
  if (depth() == kDeepest) {
    return refuse({"", message("is nested more than {} deep", kDeepest)});
  }
  keys_.emplace_back();
  return true;
}

bool NestedJsonEvents::close() {
  keys_.pop_back();
  return true;
}

bool NestedJsonEvents::add_key(std::string key) {
  const auto [at, is_new] = keys_.back().insert(std::move(key));
  return is_new || twice(*at);
}

bool NestedJsonEvents::twice(std::string_view key) {
  return refuse({"", message("has {} twice", printable(key))});
}

Status read_json(std::string_view text, JsonEvents& events,
                 const FileSubject& subject, std::uint64_t begin) {
  // The parser would take it for the end.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return subject.bad_data("has a NUL character in its JSON text", {},
                            begin + nul);
  }
  Adapter adapter(events);
  if (nlohmann::json::sax_parse(text, &adapter)) {
    return ok();
  }
  if (const auto at = adapter.no_json_at()) {
    return subject.bad_data("is not JSON text in UTF-8", {}, begin + *at);
  }
  const auto& [entry, given, expected] = events.fault();
  return (entry.empty() ? subject : subject.of_entry(entry))
      .bad_data(given, expected);
}

std::optional<std::string> json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {  // not UTF-8
    return std::nullopt;
  }
}

}  // namespace headwise::internal::inline HEADWISE_ABI
