// What the readers of normalizers, pre-tokenizers, post-processors and decoders
// share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/error_text.h"
#include "interop/json_part.h"
#include "patterns/pattern.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The parts of a Sequence in their order, with those of each Sequence in it;
// `key` is that of their list. Any other part is the only one. `untyped`: the
// key alone tells a Sequence, too, as in old files. Errors: bad_data.
Result<std::vector<JsonPart>> sequence_parts(const JsonPart& part,
                                             std::string_view key,
                                             bool untyped = false);

template <class Read>
struct PartType {
  std::string_view name;
  Read* read;
  // Old files have no "type": the keys that tell this one; none: it needs it.
  std::array<std::string_view, 3> keys = {};

  bool has_keys_of(const JsonPart& part) const {
    return !keys[0].empty() &&
           std::ranges::all_of(keys, [&](std::string_view key) {
             return key.empty() || part.at(key).exists();
           });
  }
};

// The row of a part's type. Errors: bad_data; unsupported, with the types.
template <class Read, std::size_t count>
Result<const PartType<Read>*> type_of(
    const JsonPart& part, const std::array<PartType<Read>, count>& types) {
  std::optional<std::string> name;
  HEADWISE_TRY(part.get("type", name));
  for (const PartType<Read>& type : types) {
    if (name ? type.name == *name : type.has_keys_of(part)) {
      return &type;
    }
  }
  return name ? part.unexpected("type",
                                Message::verbatim(internal::list_text(
                                    types, ", ", &PartType<Read>::name)),
                                ErrorCode::unsupported)
              : part.missing("type");
}

// Split and Replace: {"String": TEXT} or {"Regex": EXPRESSION} under "pattern".
Result<Pattern> read_pattern(const JsonPart& part);

// ByteLevel, as pre-tokenizer, decoder or post-processor.
struct ByteLevelKeys {
  bool add_prefix_space = true;
  bool trim_offsets = true;
  bool use_regex = true;
};
Result<ByteLevelKeys> read_byte_level(const JsonPart& part);

// Metaspace, as pre-tokenizer or decoder.
struct MetaspaceKeys {
  std::string replacement{};  // a character
  // When it is put before a text.
  enum Scheme { always, first, never } scheme = always;
  bool split = true;
};
Result<MetaspaceKeys> read_metaspace(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
