// The keys of types that stand in several places of a tokenizer.json.
#pragma once

#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The parts of a Sequence in their order, with those of each Sequence in it;
// `key` is that of their list. Any other part is the only one. Errors:
// bad_data.
Result<std::vector<JsonPart>> sequence_parts(const JsonPart& part,
                                             std::string_view key);

// ByteLevel, as pre-tokenizer, decoder or post-processor.
struct ByteLevelKeys {
  bool add_prefix_space = true;
  bool trim_offsets = true;
  bool use_regex = true;
};
Result<ByteLevelKeys> read_byte_level(const JsonPart& part);

// When Metaspace puts its character before a text.
enum class PrependScheme { always, first, never };

// Metaspace, as pre-tokenizer or decoder.
struct MetaspaceKeys {
  char32_t replacement = 0;
  PrependScheme scheme = PrependScheme::always;
  bool split = true;
};
Result<MetaspaceKeys> read_metaspace(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
