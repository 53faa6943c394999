#include "headwise/distribute/context_layer.h"

#include <utility>

#include "distribute/checked_layer.h"
#include "distribute/or_abort.h"
#include "distribute/project_rows.h"
#include "distribute/visible_work.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kContextLayer = "context_layer";

// One rank's forward pass of a call that all have checked.
class LayerRows {
 public:
  LayerRows(Communicator& group, const MultiHeadAttention& layer,
            const ContextLayerCall& call, const CheckedLayer& all)
      : group_(group),
        layer_(layer),
        params_(*layer.params()),
        call_(call),
        all_(all) {}

  Result<ContextLayerRun> run(const ContextLayerInputs& own) const {
    group_.set_step(kContextLayer, "projections");
    HEADWISE_ASSIGN(auto run,
                    work_visibly(group_, [&] { return projected(own); }));
    HEADWISE_TRY(attend(own, run));
    group_.set_step(kContextLayer, "the output projection");
    HEADWISE_ASSIGN(auto output, work_visibly(group_, [&] {
                      return output_of(run.merged);
                    }));
    run.result.output = std::move(output);
    return call_.for_backward ? std::move(run)
                              : Result<ContextLayerRun>(ContextLayerRun{
                                    .result = std::move(run.result)});
  }

 private:
  Result<ContextLayerRun> projected(const ContextLayerInputs& own) const {
    const std::size_t rank = group_.rank();
    OwnPositions positions;
    if (layer_.config().rotary) {
      HEADWISE_ASSIGN(positions, own_positions(all_, rank, call_.positions));
    }
    return project_rows(layer_, own_shape(all_, rank), own, positions.views(),
                        all_.executor());
  }

  Status attend(const ContextLayerInputs& own, ContextLayerRun& run) const {
    const AttentionShape shape = own_shape(all_, group_.rank());
    HEADWISE_ASSIGN(auto merged, Tensor<float, 3>::create_unset(
                                     {1, shape.Lq, shape.Hq * shape.Dv}));
    HEADWISE_ASSIGN(auto lse,
                    Tensor<float, 3>::create_unset({1, shape.Hq, shape.Lq}));
    HEADWISE_ASSIGN(auto rows, Tensor<float, 4>::create_unset(
                                   {1, shape.Hq, shape.Lq,
                                    call_.for_backward ? std::size_t{2} : 0}));
    HEADWISE_TRY(context_attention(
        group_, all_.operation, compared_heads(shape, own, run),
        {.output = in_heads(merged.view(), shape.Hq),
         .lse = lse,
         .softmax_rows =
             call_.for_backward ? rows.view() : TensorView<float, 4>()}));
    run.merged = std::move(merged);
    run.result.lse = std::move(lse);
    run.softmax_rows = std::move(rows);
    return ok();
  }

  // Without a w_o `merged` itself, of which the backward pass needs a copy.
  Result<Tensor<float, 3>> output_of(Tensor<float, 3>& merged) const {
    if (params_.w_o) {
      return params_.w_o->forward(std::as_const(merged).view(), "merged",
                                  all_.executor());
    }
    return std::exchange(merged, {});
  }

  Communicator& group_;
  const MultiHeadAttention& layer_;
  const MultiHeadAttentionParams& params_;
  const ContextLayerCall& call_;
  const CheckedLayer& all_;
};

}  // namespace

Result<ContextLayerRun> context_layer(Communicator& group,
                                      const MultiHeadAttention& layer,
                                      const ContextLayerCall& call,
                                      const ContextLayerInputs& own) {
  return or_abort(group, [&]() -> Result<ContextLayerRun> {
    group.set_step(kContextLayer, "the start");
    HEADWISE_ASSIGN(const auto all, checked_layer(kContextLayer, group, layer,
                                                  call, own, ok()));
    return LayerRows(group, layer, call, all).run(own);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
