#include "interop/safetensors_index.h"

#include <cstddef>
#include <utility>

#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/json_events.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kShardSuffix = ".safetensors";

// Whether a shard may be called so: a name in the index's own folder.
bool is_shard_name(std::string_view name) {
  return is_plain_name(name) && name.size() > kShardSuffix.size() &&
         name.ends_with(kShardSuffix);
}

// Finds the weight_map; everything else is ignored.
class IndexEvents : public NestedJsonEvents {
 public:
  using ShardNames = std::map<std::string, std::string, std::less<>>;

  bool has_map() const { return has_map_; }
  ShardNames take() { return std::move(shard_names_); }

  bool null() override { return passed_over() || JsonEvents::null(); }
  bool boolean(bool value) override {
    return passed_over() || JsonEvents::boolean(value);
  }
  bool number_integer(std::int64_t value) override {
    return passed_over() || JsonEvents::number_integer(value);
  }
  bool number_unsigned(std::uint64_t value) override {
    return passed_over() || JsonEvents::number_unsigned(value);
  }
  bool number_float(double value, const std::string& text) override {
    return passed_over() || JsonEvents::number_float(value, text);
  }
  bool string(std::string& value) override {
    if (!in_map_ || depth() != 2) {
      return passed_over() || JsonEvents::string(value);
    }
    if (!is_shard_name(value)) {
      return refuse({"weight_map." + printable(tensor_),
                     message("is {}", printable(value)),
                     "NAME.safetensors without a path"});
    }
    shard_names_.emplace(std::move(tensor_), std::move(value));
    return true;
  }

  bool start_object(std::size_t elements) override {
    if (in_map_ && depth() == 2) {
      return JsonEvents::start_object(elements);
    }
    return open();
  }
  bool start_array(std::size_t elements) override {
    if (depth() == 0 || in_map_) {
      return JsonEvents::start_array(elements);
    }
    return open();
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(std::string& key) override {
    if (in_map_ && depth() == 2) {
      tensor_ = std::move(key);
      return !shard_names_.contains(tensor_) || twice(tensor_);
    }
    if (depth() == 1) {
      in_map_ = key == "weight_map";
      has_map_ = has_map_ || in_map_;
    }
    return add_key(std::move(key));
  }

 private:
  // A value that is not needed, and neither an object nor an array.
  bool passed_over() const { return depth() > 0 && !in_map_; }

  bool leave() {
    close();
    in_map_ = in_map_ && depth() != 1;
    return true;
  }

  Place place() const override {
    if (!in_map_) {
      return {"", "an object"};
    }
    return depth() == 1 ? Place{"weight_map", "an object of names of files"}
                        : Place{"weight_map." + printable(tensor_),
                                "the name of a file"};
  }

  bool in_map_ = false;
  bool has_map_ = false;
  std::string tensor_;  // the key that was read last in the map
  ShardNames shard_names_;
};

}  // namespace

Result<std::map<std::string, std::string, std::less<>>> parse_safetensors_index(
    std::string_view text, const FileSubject& subject) {
  IndexEvents events;
  HEADWISE_TRY(read_json(text, events, subject));
  if (!events.has_map()) {
    return subject.bad_data("has no weight_map");
  }
  return events.take();
}

}  // namespace headwise::inline HEADWISE_ABI
