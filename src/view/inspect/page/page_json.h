// The parts of a page's JSON (docs/viewer-page.md). Every function may throw
// std::bad_alloc.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/inspect/trace.h"
#include "headwise/inspect/view_page.h"
#include "headwise/json/json.h"
#include "inspect/page/view_head.h"
#include "inspect/page/view_layer.h"

namespace headwise::inline HEADWISE_ABI {

// The parts that do not depend on the layers.
Json page_json(const ViewPageSettings& settings);

// The parts that are the same for all layers with heads, and the same parts for
// a page whose layers have none.
Json sizes_json(const ShownLayer& layer);
Json sizes_json(const ViewPageSettings& settings);

Json step_json(const TracedStep& step, const ViewedLayer& given,
               const AttentionSpec& spec);
Json pooled_json(const EncodedHead& head);
// A pruned head has only a number.
Json pruned_json(std::size_t number);
// What differs between two models.
Json changes_json(std::span<const ViewedChange> changes);

}  // namespace headwise::inline HEADWISE_ABI
