#include "interop/said_heads.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Count = std::optional<std::size_t>;

// The number that `text` begins with, which is taken off it, with the spaces
// around it.
Count take_number(std::string_view& text) {
  const auto drop_spaces = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  };
  drop_spaces();
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) {
    return {};
  }
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  drop_spaces();
  return number;
}

// Entry `layer` of "[12, 3, 0]", or "8" of any layer.
Count count_in_text(std::string_view text, std::size_t layer) {
  if (!text.starts_with('[')) {
    const Count number = take_number(text);
    return text.empty() ? number : Count();
  }
  Count found;
  for (std::size_t n = 0; text.starts_with(n == 0 ? '[' : ','); ++n) {
    text.remove_prefix(1);
    const Count number = take_number(text);
    if (!number) {
      return {};
    }
    found = n == layer ? number : found;
  }
  return text == "]" ? found : Count();
}

Result<Count> in_array(std::string_view operation, const ParamFile& file,
                       const std::string& name) {
  HEADWISE_ASSIGN(auto array, file.read(name));
  if (array.shape.empty()) {
    array.shape = {1};
  }
  const auto numbers = to_int64<1>(array, operation, name);
  if (!numbers || numbers->size() != 1 || (*numbers)(0) < 0) {
    return file.subject_of(operation, name)
        .bad_data("is not a number of heads", "one integer");
  }
  return Count(static_cast<std::size_t>((*numbers)(0)));
}

Result<Count> count_of(std::string_view operation, const ParamFile& file,
                       std::string_view key, std::size_t layer) {
  const std::string name(key);
  if (file.names().contains(name)) {
    return in_array(operation, file, name);
  }
  const SafetensorsMetadata metadata = file.metadata();
  const auto found = metadata.find(name);
  if (found == metadata.end()) {
    return Count();
  }
  const Count count = count_in_text(found->second, layer);
  return count ? Result<Count>(count)
               : FileSubject{std::string(operation), file.path(),
                             "__metadata__." + name}
                     .bad_data(message("is {}", printable(found->second)),
                               message("a number, or a list that has layer {}",
                                       layer));
}

}  // namespace

Result<SaidHeads> said_heads(std::string_view operation, const ParamFile& file,
                             std::size_t layer) {
  HEADWISE_ASSIGN(const auto heads,
                  count_of(operation, file, kNumHeads, layer));
  HEADWISE_ASSIGN(const auto kv_heads,
                  count_of(operation, file, kNumKvHeads, layer));
  return SaidHeads{heads, kv_heads};
}

}  // namespace headwise::inline HEADWISE_ABI
