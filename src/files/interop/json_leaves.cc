#include "interop/json_leaves.h"

#include <cstddef>
#include <utility>

#include "base/check.h"
#include "interop/error_text.h"
#include "interop/json_events.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

class LeafEvents : public NestedJsonEvents {
 public:
  explicit LeafEvents(LeafVisitor visit) : visit_(visit) {}

  // What ended the reading; nothing where the text did.
  const Status& status() const { return status_; }

  bool null() override { return leaf({}); }
  bool boolean(bool value) override { return leaf(value); }
  bool number_integer(std::int64_t value) override {
    return leaf(static_cast<double>(value));
  }
  bool number_unsigned(std::uint64_t value) override { return leaf(value); }
  bool number_float(double value, const std::string& /*text*/) override {
    return leaf(value);
  }
  bool string(std::string& value) override { return leaf(std::move(value)); }
  bool start_object(std::size_t /*elements*/) override {
    return enter(/*is_list=*/false);
  }
  bool start_array(std::size_t /*elements*/) override {
    return depth() == 0 ? unexpected("an array") : enter(/*is_list=*/true);
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string& key) override {
    path_.back() = key;
    constexpr std::size_t kSettings = 2;  // below may be a vocabulary
    return depth() > kSettings || add_key(std::move(key));
  }

 private:
  bool enter(bool is_list) {
    count();
    path_.emplace_back();
    next_.push_back(is_list ? 0 : kNoList);
    return open();
  }
  bool leave() {
    path_.pop_back();
    next_.pop_back();
    return close();
  }
  // Names the element of a list by its number.
  void count() {
    if (!next_.empty() && next_.back() != kNoList) {
      path_.back() = std::to_string(next_.back()++);
    }
  }
  bool leaf(JsonLeaf value) {
    if (depth() == 0) {
      return unexpected("a value by itself");
    }
    count();
    status_ = visit_(path_, value);
    return static_cast<bool>(status_);
  }
  Place place() const override { return {"", "an object"}; }

  static constexpr std::size_t kNoList = static_cast<std::size_t>(-1);
  LeafVisitor visit_;
  JsonPath path_;
  std::vector<std::size_t> next_;  // at each depth: of a list's next element
  Status status_ = ok();
};

}  // namespace

Status visit_json_leaves(std::string_view text, const FileSubject& subject,
                         LeafVisitor visit) {
  LeafEvents events(visit);
  const Status read = read_json(text, events, subject);
  return events.status() ? read : events.status();
}

std::string path_text(std::span<const std::string> path) {
  std::string text;
  for (const std::string& key : path) {
    text += (text.empty() ? "" : ".") + printable(key);
  }
  return text;
}

std::string leaf_text(const JsonLeaf& leaf) {
  struct Text {
    std::string operator()(std::monostate /*null*/) const { return "null"; }
    std::string operator()(bool value) const {
      return value ? "true" : "false";
    }
    std::string operator()(std::uint64_t value) const {
      return std::to_string(value);
    }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(const std::string& value) const {
      return printable(value);
    }
  };
  return std::visit(Text(), leaf);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
