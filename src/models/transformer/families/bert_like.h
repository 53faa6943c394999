// BERT's layers and names, for the encoders that differ from it in a few.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// What a family has where config.json does not say.
struct BertDefaults {
  double eps = 1e-12;
  std::size_t token_types = 2;
};
Description describe_bert_like(Settings& settings,
                               const BertDefaults& defaults = {});

using NewName = std::pair<std::string_view, std::string_view>;

// What a family calls the tensors of BERT's layers: each, and where they lie.
void rename_layers(std::span<const NewName> names, std::string_view layer,
                   Description& made);

}  // namespace headwise::inline HEADWISE_ABI::transformer
