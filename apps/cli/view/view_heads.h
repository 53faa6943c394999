// What pictures and JSON of heads are made of: each head's numbers and its map.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/inspect/layer_heads.h"
#include "headwise/inspect/view_page.h"
#include "headwise/module/head_hooks.h"
#include "page_attribution.h"
#include "viewed_heads.h"

namespace headwise::cli {

struct DrawnHead {
  HeadId name;
  bool pruned = false;  // then it has a name and nothing else
  std::size_t kv_head = 0;
  PooledRows pooled{};
  Tensor<float, 2> map{};  // as LayerHead's
};

struct DrawnHeads {
  std::vector<DrawnHead> heads;      // by layer, then by number
  std::optional<WholeHead> whole{};  // of the head that was asked for
};

// Collects them layer by layer. Errors: those of compute_heads().
class HeadDrawing {
 public:
  explicit HeadDrawing(const std::optional<HeadId>& whole) : whole_(whole) {}

  // `layer`: null where no head is left.
  Status add(const NumberedLayer& seen, const LayerHeads* layer);
  Result<DrawnHeads> finish(const ViewedHeads& heads) &&;

 private:
  std::optional<HeadId> whole_;
  std::optional<Error> no_whole_{};  // why it cannot be drawn
  DrawnHeads drawn_;
};

// `whole`: the head to keep whole, where one is. Errors: as ViewPage's;
// invalid_argument for a head that is not there, or no longer; unsupported for
// one of more than kMostMapLength queries or keys.
Result<DrawnHeads> compute_heads(const ViewedHeads& heads, std::size_t sequence,
                                 const std::optional<HeadId>& whole);

// Of queries and keys of a model, such as infinite ones, that a page refuses:
// by the option of the model and the layer. Other errors are as they were.
Error error_of_layer(const NumberedLayer& layer, std::string_view option,
                     const Error& error);

// `drawing`, unless null, receives the same heads. Errors: ViewPage's and
// HeadDrawing's.
Status add_to_page(ViewPage& page, const NumberedLayer& layer,
                   const PageAttribution& attribution, HeadDrawing* drawing);

}  // namespace headwise::cli
