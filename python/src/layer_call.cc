#include "layer_call.h"

#include <string>

#include "call_outputs.h"
#include "error.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

LayerCallOptions& call_of(CallOptions& options) {
  return static_cast<LayerCallOptions&>(options);
}
LayerOptions& layer_of(CallOptions& options) { return call_of(options).layer; }

constexpr OptionField kOfLayer[] = {
    {"head_gates",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       layer_of(o).head_gates = o.floats<1>(value, name, "(num_heads)");
     }},
    {"query_positions",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       layer_of(o).positions.query_positions =
           integers<2>(value, name, "(B, Lq)", o.memory());
     }},
    {"key_positions",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       layer_of(o).positions.key_positions =
           integers<2>(value, name, "(B, Lkv)", o.memory());
     }},
    {"lse", [](CallOptions& o, nb::handle value,
               ArgumentName name) { o.lse = boolean(value, name); }},
};

constexpr OptionField kOfCache[] = {
    {"cache",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       LayerCallOptions& call = call_of(o);
       if (!nb::try_cast(value, call.cache, false)) {
         raise_kind(value, name, "a headwise.KvCache");
       }
       call.layer.cache = &call.cache->cache;
     }},
    {"sequences",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       LayerCallOptions& call = call_of(o);
       call.sequences = sequence_ids(value, name);
       call.layer.sequences = call.sequences;
     }},
};

constexpr OptionField kOfOutput[] = {
    {"out", [](CallOptions& o, nb::handle value,
               ArgumentName /*name*/) { o.out = nb::borrow(value); }},
};

}  // namespace

LayerCallOptions::LayerCallOptions(std::string_view operation_name,
                                   nb::handle keywords, Pass pass)
    : CallOptions(operation_name) {
  switch (pass) {
    case Pass::forward:
      read(keywords, {kAttentionOptions, kOfLayer, kOfCache, kOfOutput});
      break;
    case Pass::explain:
      read(keywords, {kAttentionOptions, kOfLayer, kOfCache});
      break;
    case Pass::training:
      read(keywords, {kAttentionOptions, kOfLayer});
      break;
  }
}

LayerTensors::LayerTensors(nb::handle query, nb::handle key, nb::handle value,
                           std::string_view operation)
    : query_(query, {operation, "query"}),
      key_(key.is_none() ? query : key, {operation, "key"}),
      value_(value.is_none() ? nb::handle(key_.object()) : value,
             {operation, "value"}) {
  if (query_.rank() != 2 && query_.rank() != 3) {
    query_.raise_shape("(B, Lq, query_dim) or (Lq, query_dim)");
  }
}

void LayerTensors::expect_in_place() const {
  query_.expect_in_place();
  key_.expect_in_place();
  value_.expect_in_place();
}

template <class T>
nb::object layer_result(MultiHeadAttentionResult<3, T> result,
                        const LayerTensors& tensors,
                        const LayerCallOptions& options) {
  const ArrayArgument& like = tensors.query();
  const bool batched = tensors.batched();
  nb::object output = layer_array(like, std::move(result.output), batched);
  const bool weights = options.attention.attn_weights != AttnWeights::none;
  const bool scores = options.attention.scores != ScoresStage::none;
  if (!weights && !scores && !options.lse) {
    return output;
  }
  AttentionResult given;
  given.output = std::move(output);
  // Those of a ragged batch have a batch axis even without one in the query.
  const bool sequences = batched || options.attention.offsets.ragged();
  const auto if_wanted = [&](bool wanted, auto tensor, bool with_batch) {
    return wanted ? layer_array(like, std::move(tensor), with_batch)
                  : nb::none();
  };
  given.attn_weights =
      if_wanted(weights, std::move(result.attn_weights), sequences);
  given.scores = if_wanted(scores, std::move(result.scores), sequences);
  given.lse = if_wanted(options.lse, std::move(result.lse), batched);
  given.softmax_rows = nb::none();
  given.statistics = nb::none();
  given.state = nb::none();
  return nb::cast(std::move(given));
}
template nb::object layer_result<float>(MultiHeadAttentionResult<3>,
                                        const LayerTensors&,
                                        const LayerCallOptions&);
template nb::object layer_result<BFloat16>(
    MultiHeadAttentionResult<3, BFloat16>, const LayerTensors&,
    const LayerCallOptions&);
template nb::object layer_result<Float16>(MultiHeadAttentionResult<3, Float16>,
                                          const LayerTensors&,
                                          const LayerCallOptions&);

}  // namespace headwise::python
