// Visits the heads of a model on several texts, layer by layer. Statistics and
// patterns over texts are computed this way.
//
// Example:
//   Status s = visit_text_layers(model, texts, {}, [&](const TextLayer& at) {
//     return look_at(at.text, at.layer, at.query, at.key);
//   });
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/find_heads.h"
#include "headwise/models/text_model.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// One text of L tokens in one layer. The views are valid during the call.
struct TextLayer {
  std::size_t text;
  std::size_t layer;
  TensorView<const float, 4> query;  // (1, L, Hq, D), as they are compared
  TensorView<const float, 4> key;    // (1, L, Hkv, D)
  // Of the text, with the executor for any work on the views.
  const AttentionOptions& options;
};
using SeeTextLayer = FunctionRef<Status(const TextLayer&)>;

// Calls `see` for each text and each layer that has heads; texts without tokens
// are left out. Calls for different texts may run at the same time; those for
// one text come in the order of the layers. The bits of queries and keys depend
// neither on the other texts nor on the threads. Errors: those of
// TextModel::run() and of `see`, from the first batch that has one;
// out_of_memory.
Status visit_text_layers(const TextModel& model, const RaggedTokens& texts,
                         const TextsPass& pass, SeeTextLayer see);

// Which of a text's tokens are separators, (L). Errors: out_of_memory.
Result<Tensor<bool, 1>> separators_in(const TextModel& model,
                                      std::span<const TokenId> ids);

}  // namespace headwise::inline HEADWISE_ABI
