#include "interop/safetensors_header.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"
#include "interop/json_events.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 13> kSafetensorsTypes{{
    {"F64", DType::float64},
    {"F32", DType::float32},
    {"F16", DType::float16},
    {"BF16", DType::bfloat16},
    {"I64", DType::int64},
    {"I32", DType::int32},
    {"I16", DType::int16},
    {"I8", DType::int8},
    {"U64", DType::uint64},
    {"U32", DType::uint32},
    {"U16", DType::uint16},
    {"U8", DType::uint8},
    {"BOOL", DType::boolean},
}};

// Known to the format, unknown here.
constexpr std::array<std::string_view, 9> kRefusedTypes{
    "F4",      "F6_E2M3", "F6_E3M2",     "F8_E4M3",    "F8_E5M2",
    "F8_E8M0", "C64",     "F8_E4M3FNUZ", "F8_E5M2FNUZ"};

std::string offsets_text(const SafetensorsEntry& entry) {
  return "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
         "]";
}

// The header's JSON, as far as it can be checked while it is read.
class HeaderEvents : public JsonEvents {
 public:
  SafetensorsHeader take() { return std::move(header_); }
  bool type_was_refused() const { return type_was_refused_; }

  bool start_object(std::size_t elements) override {
    switch (at_) {
      case At::start:
        at_ = At::header;
        return true;
      case At::metadata_value:
        at_ = At::metadata;
        return true;
      case At::tensor_value:
        at_ = At::tensor;
        entry_ = {};
        seen_dtype_ = seen_shape_ = seen_offsets_ = false;
        return true;
      default:
        return JsonEvents::start_object(elements);
    }
  }

  bool key(std::string& key) override {
    switch (at_) {
      case At::header:
        return header_key(key);
      case At::metadata:
        text_ = std::move(key);
        at_ = At::metadata_text;
        return !header_.metadata.contains(text_) ||
               refuse(
                   {"__metadata__", message("has {} twice", printable(text_))});
      default:
        return tensor_key(key);
    }
  }

  bool end_object() override {
    if (at_ == At::tensor) {
      if (!seen_dtype_ || !seen_shape_ || !seen_offsets_) {
        return refuse({printable(name_), !seen_dtype_ ? "has no dtype"
                                         : !seen_shape_
                                             ? "has no shape"
                                             : "has no data_offsets"});
      }
      header_.tensors.emplace(std::move(name_), std::move(entry_));
    }
    at_ = At::header;
    return true;
  }

  bool string(std::string& value) override {
    switch (at_) {
      case At::metadata_text:
        header_.metadata.emplace(std::move(text_), std::move(value));
        at_ = At::metadata;
        return true;
      case At::dtype:
        at_ = At::tensor;
        return read_type(value);
      default:
        return JsonEvents::string(value);
    }
  }

  bool start_array(std::size_t elements) override {
    switch (at_) {
      case At::shape_value:
        at_ = At::shape;
        return true;
      case At::offsets_value:
        at_ = At::offsets;
        offsets_read_ = 0;
        return true;
      default:
        return JsonEvents::start_array(elements);
    }
  }

  bool number_unsigned(std::uint64_t value) override {
    switch (at_) {
      case At::shape:
        entry_.shape.push_back(value);
        return entry_.shape.size() <= kMaxSafetensorsRank ||
               refuse({printable(name_),
                       message("has more than {} axes", kMaxSafetensorsRank)});
      case At::offsets:
        ++offsets_read_;
        (offsets_read_ == 1 ? entry_.begin : entry_.end) = value;
        return offsets_read_ <= 2 || wrong_offsets();
      default:
        return JsonEvents::number_unsigned(value);
    }
  }

  bool end_array() override {
    const bool short_of_one = at_ == At::offsets && offsets_read_ != 2;
    at_ = At::tensor;
    return !short_of_one || wrong_offsets();
  }

 private:
  // The position of the next piece.
  enum class At {
    start,
    header,
    metadata_value,
    metadata,
    metadata_text,
    tensor_value,
    tensor,
    dtype,
    shape_value,
    shape,
    offsets_value,
    offsets,
  };

  bool header_key(std::string& key) {
    const bool metadata = key == kSafetensorsMetadata;
    if (metadata ? std::exchange(seen_metadata_, true)
                 : header_.tensors.contains(key)) {
      return refuse(
          {"", message("has {} twice in its header", printable(key))});
    }
    at_ = metadata ? At::metadata_value : At::tensor_value;
    if (!metadata) {
      name_ = std::move(key);
    }
    return true;
  }

  bool tensor_key(const std::string& key) {
    for (const auto& [name, seen, next] :
         {std::tuple{"dtype", &seen_dtype_, At::dtype},
          {"shape", &seen_shape_, At::shape_value},
          {"data_offsets", &seen_offsets_, At::offsets_value}}) {
      if (key == name) {
        at_ = next;
        return !std::exchange(*seen, true) ||
               refuse({printable(name_), message("has {} twice", key)});
      }
    }
    return refuse({printable(name_),
                   message("has the unknown key {}", printable(key)),
                   "dtype, shape and data_offsets"});
  }

  bool read_type(std::string_view text) {
    const auto* const found =
        std::ranges::find(kSafetensorsTypes, text,
                          &decltype(kSafetensorsTypes)::value_type::first);
    if (found != kSafetensorsTypes.end()) {
      entry_.dtype = found->second;
      return true;
    }
    type_was_refused_ = std::ranges::find(kRefusedTypes, text) !=
                        std::ranges::end(kRefusedTypes);
    const auto name = [](const auto& type) { return type.first; };
    return refuse(
        {printable(name_),
         message("holds elements of type {}", printable(text)),
         message("one of {}", list_text(kSafetensorsTypes, " ", name))});
  }

  bool wrong_offsets() {
    return refuse(
        {printable(name_) + ".data_offsets", "are malformed", "[begin, end]"});
  }

  Place place() const override {
    switch (at_) {
      case At::start:
      case At::header:
        return {"", "an object"};
      case At::metadata_value:
      case At::metadata:
        return {"__metadata__", "an object of texts"};
      case At::metadata_text:
        return {"__metadata__." + printable(text_), "a text"};
      case At::tensor_value:
      case At::tensor:
        return {printable(name_), "an object"};
      case At::dtype:
        return {printable(name_) + ".dtype", "a text"};
      case At::shape_value:
      case At::shape:
        return {printable(name_) + ".shape", "an array of sizes"};
      case At::offsets_value:
      case At::offsets:
        break;
    }
    return {printable(name_) + ".data_offsets", "[begin, end]"};
  }

  SafetensorsHeader header_;
  At at_ = At::start;
  bool seen_metadata_ = false;
  std::string text_;  // key of the metadata that is being read
  std::string name_;  // of the tensor that is being read
  SafetensorsEntry entry_;
  bool seen_dtype_ = false;
  bool seen_shape_ = false;
  bool seen_offsets_ = false;
  int offsets_read_ = 0;
  bool type_was_refused_ = false;
};

// Empty, or what is wrong with the tensor by itself.
Message fault_of(const SafetensorsEntry& entry) {
  if (entry.begin > entry.end) {
    return message("has the data_offsets {}, which end before they begin",
                   offsets_text(entry));
  }
  const auto bytes = array_bytes(entry.shape, entry.dtype);
  if (bytes == entry.end - entry.begin) {
    return "";
  }
  const Message tensor =
      message("has shape {} and type {}", shape_text(entry.shape),
              safetensors_name_of(entry.dtype));
  return bytes ? message("{}, which take {} bytes, but has the data_offsets {}",
                         tensor, *bytes, offsets_text(entry))
               : message("{}, which take more bytes than there can be", tensor);
}

using Named = SafetensorsEntries::value_type;

// How many bytes the tensors cover, from the first on, each of them once; or
// where they do not.
Result<std::size_t> covered_bytes(const SafetensorsEntries& tensors,
                                  const FileSubject& subject) {
  std::vector<const Named*> in_order;
  in_order.reserve(tensors.size());
  for (const Named& named : tensors) {
    in_order.push_back(&named);
  }
  std::ranges::sort(in_order, {}, [](const Named* named) {
    return std::pair(named->second.begin, named->second.end);
  });
  std::size_t covered = 0;
  const Named* before = nullptr;
  for (const Named* named : in_order) {
    const auto& [name, entry] = *named;
    if (entry.begin > covered) {
      return subject.bad_data(
          message("has data that belongs to no tensor: bytes {} to {}", covered,
                  entry.begin));
    }
    if (entry.begin < covered) {
      return subject.of_entry(printable(name))
          .bad_data(
              message("has the data_offsets {}, which overlap those of {}, {}",
                      offsets_text(entry), printable(before->first),
                      offsets_text(before->second)));
    }
    covered = entry.end;
    before = named;
  }
  return covered;
}

}  // namespace

std::string_view safetensors_name_of(DType dtype) {
  return std::ranges::find(kSafetensorsTypes, dtype,
                           &decltype(kSafetensorsTypes)::value_type::second)
      ->first;
}

Result<CheckedHeader> parse_safetensors_header(std::string_view text,
                                               const FileSubject& subject,
                                               std::uint64_t begin) {
  if (!text.starts_with('{')) {
    return subject.bad_data("has a malformed header", "'{'", begin);
  }
  HeaderEvents events;
  if (Status s = read_json(text, events, subject, begin); !s) {
    return events.type_was_refused()
               ? s.error().with_code(ErrorCode::unsupported)
               : s.error();
  }
  CheckedHeader checked{events.take(), 0};
  for (const auto& [name, entry] : checked.header.tensors) {
    if (Message fault = fault_of(entry); !fault.empty()) {
      return subject.of_entry(printable(name)).bad_data(std::move(fault));
    }
  }
  HEADWISE_ASSIGN(checked.data_bytes,
                  covered_bytes(checked.header.tensors, subject));
  return checked;
}

}  // namespace headwise::inline HEADWISE_ABI
