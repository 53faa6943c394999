#include "parallel_call.h"

#include <utility>
#include <vector>

#include "headwise/distribute/context_attention.h"
#include "headwise/distribute/heads_attention.h"
#include "operation/number_type.h"
#include "operation_gradients.h"
#include "own_rows.h"
#include "parallel_plan.h"
#include "rank_pairs.h"
#include "rank_results.h"
#include "rank_rows.h"
#include "run_gradients.h"
#include "shell/ranks/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

// One call: the plan, and what this rank has of the tensors.
template <class T>
class TogetherCall {
 public:
  TogetherCall(Communicator& group, const TogetherOptions& options,
               const Division& division)
      : group_(group),
        of_(options),
        options_(options_of_heads(options.options)),
        shape_(options.spec.shape),
        heads_first_(options.flags.heads_first()),
        division_(division),
        rows_(group_, shape_, division.tokens),
        pairs_(group_, options.spec, division.heads) {}

  Result<RunResult> run(Operands<T, 4> in) const {
    auto upstream =
        work_visibly(&group_, [this] { return read_upstream_files(); });
    HEADWISE_TRY(agreed(group_, upstream));
    const AttentionShape& tensors = of_.tensors;
    HEADWISE_ASSIGN(const auto own, own_operands(std::move(in)));
    const std::size_t rows = rows_.count(Side::queries, group_.rank());
    HEADWISE_ASSIGN(auto output, Tensor<T, 4>::create_unset(
                                     {1, rows, shape_.Hq, shape_.Dv}));
    HEADWISE_ASSIGN(auto lse,
                    Tensor<float, 3>::create_unset({1, shape_.Hq, rows}));
    HEADWISE_ASSIGN(auto softmax_rows,
                    Tensor<float, 4>::create_unset({1, shape_.Hq, rows, 2}));
    HEADWISE_ASSIGN(
        auto attn_weights,
        pairs_.make_own(of_.options.attn_weights != AttnWeights::none));
    HEADWISE_ASSIGN(auto scores,
                    pairs_.make_own(of_.options.scores != ScoresStage::none));
    HEADWISE_TRY(attend(tensors, own,
                        {.output = output,
                         .attn_weights = attn_weights,
                         .lse = lse,
                         .softmax_rows = softmax_rows,
                         .scores = scores}));
    RunResult result;
    if (!of_.flags.d_output.empty()) {
      HEADWISE_ASSIGN(const auto d_attn_weights,
                      pairs_.own_gradient(upstream->d_attn_weights));
      HEADWISE_ASSIGN(
          result.gradients,
          gradients(tensors, own,
                    {own.query, own.key, own.value, output, softmax_rows,
                     upstream->d_output, d_attn_weights.view}));
    }
    HEADWISE_ASSIGN(result.output_by_heads,
                    whole_of(Side::queries, std::move(output)));
    HEADWISE_ASSIGN(result.lse,
                    collect_lse(group_, shape_, rows_, std::move(lse)));
    HEADWISE_ASSIGN(result.attn_weights, pairs_.collect_weights(attn_weights));
    HEADWISE_ASSIGN(result.scores, pairs_.collect_scores(scores));
    return result;
  }

 private:
  Result<Operands<T, 4>> own_operands(Operands<T, 4> whole) const {
    if (of_.files == nullptr) {
      return operands_of(own_rows_of(Side::queries, whole.query),
                         own_rows_of(Side::keys, whole.key),
                         own_rows_of(Side::keys, whole.value));
    }
    auto own = work_visibly(&group_, [this] {
      return operands_of(read_rows(Side::queries, of_.files->query),
                         read_rows(Side::keys, of_.files->key),
                         read_rows(Side::keys, of_.files->value));
    });
    HEADWISE_TRY(agreed(group_, own));
    return own;
  }

  // Of a tensor in the layout of the files.
  Result<Tensor<T, 4>> own_rows_of(Side side, const Tensor<T, 4>& whole) const {
    return rows_.own<T>(side, as_extents(whole.view(), heads_first_));
  }

  Result<Tensor<T, 4>> read_rows(Side side, const TensorFile& file) const {
    HEADWISE_ASSIGN(const auto rows,
                    read_own_rows(rows_, side, file, heads_first_));
    HEADWISE_ASSIGN(auto wide, to_float<4>(rows, "run", file.option()));
    return narrow<T>(std::move(wide));
  }

  // The rank's rows of --d-output, and --d-attn-weights, whole; empty where
  // they are not given.
  struct Upstream {
    Tensor<T, 4> d_output;
    Tensor<float, 4> d_attn_weights;
  };
  Result<Upstream> read_upstream_files() const {
    if (of_.flags.d_output.empty()) {
      return Upstream{};
    }
    const Extents<4> extents =
        whole_extents(Side::queries, shape_.Hq, shape_.Dv);
    HEADWISE_ASSIGN(const auto file,
                    open_d_output(of_.flags, of_.batched,
                                  {extents.begin(), extents.end()}));
    HEADWISE_ASSIGN(auto d_output, read_rows(Side::queries, file));
    HEADWISE_ASSIGN(
        auto d_attn_weights,
        read_d_attn_weights(of_.flags, of_.batched, pairs_.extents(shape_.Hq)));
    return Upstream{std::move(d_output), std::move(d_attn_weights)};
  }

  Extents<4> whole_extents(Side side, std::size_t heads,
                           std::size_t size) const {
    const std::size_t rows =
        side == Side::queries ? shape_.query_rows() : shape_.key_rows();
    return heads_first_ ? Extents<4>{shape_.batches(), heads, rows, size}
                        : Extents<4>{shape_.batches(), rows, heads, size};
  }

  HeadsCall heads_call(const AttentionShape& tensors) const {
    return {.tensors = tensors,
            .tokens = division_.tokens,
            .heads = division_.heads,
            .options = options_,
            .operation_options = of_.operation_options};
  }
  ContextCall context_call(const AttentionShape& tensors) const {
    return {.tensors = tensors,
            .plan = division_.tokens,
            .options = options_,
            .operation_options = of_.operation_options,
            .keys = division_.keys};
  }

  Status attend(const AttentionShape& tensors, const Operands<T, 4>& own,
                const AttentionOutputsOf<T>& outputs) const {
    const AttentionInputsOf<T> inputs = {own.query, own.key, own.value};
    return of_all_ranks(
        division_.by_heads()
            ? heads_attention(group_, heads_call(tensors), inputs, outputs)
            : context_attention(group_, context_call(tensors), inputs,
                                outputs));
  }

  Result<std::vector<NamedGradient>> gradients(
      const AttentionShape& tensors, const Operands<T, 4>& own,
      const BackwardInputsOf<T>& inputs) const {
    HEADWISE_ASSIGN(auto found, OperationGradients<T>::create(
                                    own, of_.spec, of_.options.bias));
    CallTensors all(inputs, AttentionGradientsOf<T>{});
    found.add_to(all, false, group_.rank() == 0);
    HEADWISE_TRY(of_all_ranks(
        division_.by_heads()
            ? heads_attention_backward(group_, heads_call(tensors), all)
            : context_attention_backward(group_, context_call(tensors), all)));
    Operands<T, 4>& of_own = found.operands;
    HEADWISE_ASSIGN(
        auto whole,
        operands_of(whole_of(Side::queries, std::move(of_own.query)),
                    whole_of(Side::keys, std::move(of_own.key)),
                    whole_of(Side::keys, std::move(of_own.value))));
    std::vector<NamedGradient> by_name;
    if (group_.rank() != 0) {
      return by_name;
    }
    HEADWISE_TRY(of_.rotate_back({as_extents(whole.query.view(), heads_first_),
                                  as_extents(whole.key.view(), heads_first_)}));
    by_name.push_back(named("d_query", std::move(whole.query), of_.batched));
    by_name.push_back(named("d_key", std::move(whole.key), of_.batched));
    by_name.push_back(named("d_value", std::move(whole.value), of_.batched));
    std::move(found).name_options(by_name);
    return by_name;
  }

  // The rows (1, rows, H, size) of all ranks as one tensor in the layout of the
  // files, on rank 0.
  Result<Tensor<float, 4>> whole_of(Side side, Tensor<T, 4> own) const {
    const std::size_t heads = own.extent(2);
    const std::size_t size = own.extent(3);
    HEADWISE_ASSIGN(auto whole,
                    on_rank_0<T>(group_, whole_extents(side, heads, size)));
    HEADWISE_TRY(rows_.collect(
        side, own,
        [&](std::size_t rank) {
          return Extents<4>{1, rows_.count(side, rank), heads, size};
        },
        [](TensorView<const T, 4> view) { return view; },
        as_extents(whole.view(), heads_first_)));
    return widen<T>(std::move(whole));
  }

  Communicator& group_;
  const TogetherOptions& of_;
  AttentionOptions options_;  // of a rank
  const AttentionShape& shape_;
  bool heads_first_;
  const Division& division_;
  RankRows rows_;
  RankPairs pairs_;
};

}  // namespace

Result<RunResult> attend_together(Communicator& group, Operands<float, 4> in,
                                  const TogetherOptions& options) {
  HEADWISE_ASSIGN(const auto division,
                  divide(group, options.flags, {options.spec, options.band}));
  return with_dtype(options.flags.dtype, [&](auto number) -> Result<RunResult> {
    using T = decltype(number);
    HEADWISE_ASSIGN(auto in_type, narrow<T>(std::move(in)));
    return TogetherCall<T>(group, options, division).run(std::move(in_type));
  });
}

}  // namespace headwise::cli
