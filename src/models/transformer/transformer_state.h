// What a Transformer holds.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/open_model.h"
#include "transformer/param_names.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kTransformer = "transformer";

struct Transformer::State {
  // Errors: those of Transformer::read().
  static Result<std::unique_ptr<State>> read(transformer::OpenModel opened,
                                             const ModelAccess& access);

  transformer::Description description;
  transformer::Params params;
  TransformerShape shape;
  ModelUse use = ModelUse::inference;
  Arithmetic arithmetic = Arithmetic::exact;
  // Of each layer, before pruning.
  std::vector<std::vector<std::size_t>> heads{};
  transformer::ParamNames names{};  // for training
};

// Errors: out_of_range, in the name of `name`, for ids outside the vocabulary
// and for more tokens than positions.
Status check_ids(const RaggedTokens& ids, std::string_view name,
                 const TransformerShape& shape);
// Errors: those of Transformer::hidden() for ids and a pass that do not fit.
Status check_pass(const RaggedTokens& ids, const ModelPass& pass,
                  const transformer::Description& description,
                  const transformer::Params& params,
                  const TransformerShape& shape);

}  // namespace headwise::inline HEADWISE_ABI
