// What differs between two models, as the page lists it (docs/viewer-page.md).
#pragma once

#include <span>

#include "headwise/inspect/view_page.h"
#include "headwise/json/json.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

Json changes_json(std::span<const ViewedChange> changes);

}  // namespace headwise::inline HEADWISE_ABI
