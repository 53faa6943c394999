// What goes through all layers of a document, as a page holds it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/inspect/view_page.h"

namespace headwise::inline HEADWISE_ABI {

struct EncodedThroughLayers {
  std::size_t output_token = 0;
  std::optional<std::string> rollout{};
  std::optional<std::string> flow{};

  bool any() const { return rollout || flow; }
};

// Errors: those of ViewPage::create(). Throws std::bad_alloc.
Result<EncodedThroughLayers> encode_through_layers(
    const ViewPageSettings& settings);

}  // namespace headwise::inline HEADWISE_ABI
