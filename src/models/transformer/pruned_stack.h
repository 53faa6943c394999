// Heads that were removed from a stack: as its files say, and in memory.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// From config.json (interop/pruned_heads.h). Errors: bad_data.
Status take_pruned_heads(std::string_view config, const FileSubject& subject,
                         StackSpec& stack);
// From the metadata of the parameters (kept_heads.h), which go before. Errors:
// bad_data.
Status take_kept_heads(const SafetensorsMetadata& metadata,
                       const FileSubject& subject, StackSpec& stack);

// Replaces the attention of these layers, and what belongs to their heads.
// Either all of them are replaced or nothing changes. Errors: shape_mismatch,
// out_of_range; unsupported for layers that share their parameters.
Status replace_attention_of(std::string_view operation,
                            std::span<KeptAttention> layers, StackSpec& stack,
                            StackParams& params);

}  // namespace headwise::inline HEADWISE_ABI::transformer
