// The parts of a page's JSON (docs/viewer-page.md). Every function may throw
// std::bad_alloc.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/inspect/trace.h"
#include "headwise/inspect/view_page.h"
#include "inspect/page/view_head.h"
#include "inspect/page/view_layer.h"
#include "json/json.h"

namespace headwise::inline HEADWISE_ABI {

// What does not depend on the layers.
Json page_json(const ViewPageSettings& settings);

// What is the same for every layer that has heads, and for a page of layers
// that have none.
Json sizes_json(const ShownLayer& layer);
Json sizes_json(const ViewPageSettings& settings);

Json step_json(const TracedStep& step, const ViewedLayer& given,
               const AttentionSpec& spec);
Json pooled_json(const EncodedHead& head);
// A pruned head is its number and nothing else.
Json pruned_json(std::size_t number);

}  // namespace headwise::inline HEADWISE_ABI
