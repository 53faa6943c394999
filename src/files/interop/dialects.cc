#include "headwise/interop/dialects.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr MaskReading kNo = MaskReading::refused;
constexpr MaskReading kAttends = MaskReading::attends;
constexpr MaskReading kMasks = MaskReading::masks;
constexpr MaskReading kAdded = MaskReading::added;
constexpr MaskReading kLengths = MaskReading::lengths;

// The types that a library takes: bools, integers, floats.
struct Types {
  MaskReading bools;
  MaskReading integers;
  MaskReading floats;
};

// As NumPy broadcasts: the last axes are those of the scores.
constexpr std::array<MaskForm, 4> right_aligned(const Types& types) {
  std::array<MaskForm, 4> forms{};
  constexpr std::array<Axis, 4> kAxes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
  for (std::size_t rank = 1; rank <= 4; ++rank) {
    MaskForm& form = forms[rank - 1];
    form = {.rank = rank,
            .bools = types.bools,
            .integers = types.integers,
            .floats = types.floats};
    for (std::size_t a = 0; a < rank; ++a) {
      form.axes[a] = kAxes[4 - rank + a];
    }
  }
  return forms;
}

// Rank 3 has the batch first.
constexpr std::array<MaskForm, 3> batch_first(const Types& types) {
  const auto form = [&](std::size_t rank, std::array<Axis, 4> axes) {
    return MaskForm{rank, axes, types.bools, types.integers, types.floats};
  };
  return {form(2, {Axis::Lq, Axis::Lkv}),
          form(3, {Axis::B, Axis::Lq, Axis::Lkv}),
          form(4, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv})};
}

constexpr std::array<MaskForm, 2> kTorchMhaMasks = {
    {{2, {Axis::Lq, Axis::Lkv}, kMasks, kNo, kAdded},
     {.rank = 3,
      .axes = {Axis::B, Axis::Lq, Axis::Lkv},
      .bools = kMasks,
      .floats = kAdded,
      .heads_in_batch = true}}};
constexpr auto kTorchSdpa = right_aligned({kAttends, kNo, kAdded});
constexpr auto kKerasMasks = batch_first({kAttends, kAttends, kNo});
constexpr std::array<MaskForm, 2> kJax = {
    {{.rank = 3,
      .axes = {Axis::H, Axis::Lq, Axis::Lkv},
      .bools = kAttends,
      .unbatched = true},
     {4, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}, kAttends, kNo, kNo}}};
// flax.linen.make_causal_mask() makes float32 masks of 0 and 1.
constexpr auto kFlaxMasks = right_aligned({kAttends, kAttends, kAttends});
constexpr auto kOnnx = right_aligned({kAttends, kAdded, kAdded});
// Ranks 1 to 3 are key_padding_mask, rank 4 is attention_bias.
constexpr std::array<MaskForm, 4> kOrtContrib = {
    {{1, {Axis::B}, kNo, kLengths, kNo},
     {2, {Axis::B, Axis::Lkv}, kNo, kAttends, kNo},
     {3, {Axis::B, Axis::Lq, Axis::Lkv}, kNo, kAttends, kNo},
     {4, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}, kNo, kNo, kAdded}}};
constexpr std::array<MaskForm, 2> kTransformers = {
    {{2, {Axis::B, Axis::Lkv}, kAttends, kAttends, kAttends},
     // Models take it as it is: true adds 1.
     {4, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}, kAdded, kAdded, kAdded}}};
constexpr std::array<MaskForm, 2> kD2lMasks = {
    {{1, {Axis::B}, kNo, kLengths, kNo},
     {2, {Axis::B, Axis::Lq}, kNo, kLengths, kNo}}};
// torch.tril(torch.ones(L, L)) is a float mask of 0 and 1.
constexpr auto kFilled = batch_first({kAttends, kAttends, kAttends});

constexpr double kLargestFloat = 3.4028234663852886e38;

constexpr std::array<Dialect, 13> kDialects = {{
    {.name = "torch-mha",
     .masks = kTorchMhaMasks,
     .broadcasts = false,
     .key_padding = kMasks,
     .float_key_padding = kAdded,
     .empty_rows_with_weights = EmptyRow::nan,
     .weights_after_dropout = true,
     .averages_heads = true,
     .scale_is_fixed = true},
    {.name = "torch-sdpa",  // rank 1 is refused
     .masks = std::span<const MaskForm>(kTorchSdpa).subspan(1),
     .mask_excludes_causal = true},
    // Attention scores, like dropout, leave the fused path.
    {.name = "keras",
     .masks = kKerasMasks,
     .fill = MaskFill::replaced,
     .fill_value = -0.7 * kLargestFloat,
     .empty_rows = EmptyRow::uniform,
     .scale_is_fixed = true,
     .layout = TensorLayout::blhd},
    {.name = "jax",
     .masks = kJax,
     .fill = MaskFill::replaced,
     .fill_value = -0.7 * kLargestFloat,
     .empty_rows = EmptyRow::uniform,
     .empty_rows_with_weights = EmptyRow::uniform,
     .empty_rows_with_dropout = EmptyRow::uniform,
     .layout = TensorLayout::blhd},
    {.name = "flax",
     .masks = kFlaxMasks,
     .fill = MaskFill::replaced,
     .fill_value = -kLargestFloat,
     .empty_rows = EmptyRow::uniform,
     .empty_rows_with_weights = EmptyRow::uniform,
     .empty_rows_with_dropout = EmptyRow::uniform,
     .scale_is_fixed = true,
     .layout = TensorLayout::blhd},
    {.name = "onnx-1.23",
     .masks = kOnnx,
     .pads_short_masks = true,
     .causal = CausalAlignment::after_cache},
    {.name = "onnx-1.21",
     .masks = kOnnx,
     .pads_short_masks = true,
     .causal = CausalAlignment::after_cache,
     .empty_rows = EmptyRow::nan,
     .empty_rows_with_weights = EmptyRow::nan,
     .empty_rows_with_dropout = EmptyRow::nan,
     .softcap = SoftcapOrder::after_mask},
    {.name = "ort-contrib",
     .masks = kOrtContrib,
     .fill = MaskFill::added,
     .fill_value = -1e4,
     .minus_inf_gives_nan = true,
     .layout = TensorLayout::blhd},
    {.name = "flash-attention",
     .causal = CausalAlignment::bottom_right,
     .layout = TensorLayout::blhd},
    {.name = "transformers",
     .masks = kTransformers,
     .causal = CausalAlignment::bottom_right,
     .fill = MaskFill::added,
     .fill_value = -kLargestFloat,
     .empty_rows = EmptyRow::uniform,
     .empty_rows_with_weights = EmptyRow::uniform,
     .empty_rows_with_dropout = EmptyRow::uniform,
     .minus_inf_gives_nan = true,
     .weights_after_dropout = true},
    {.name = "d2l",
     .masks = kD2lMasks,
     .broadcasts = false,
     .fill = MaskFill::replaced,
     .fill_value = -1e6,
     .empty_rows = EmptyRow::uniform,
     .empty_rows_with_weights = EmptyRow::uniform,
     .empty_rows_with_dropout = EmptyRow::uniform,
     .scale_is_fixed = true},
    {.name = "fill-1e12",
     .masks = kFilled,
     .fill = MaskFill::replaced,
     .fill_value = -1e12,
     .empty_rows = EmptyRow::uniform,
     .empty_rows_with_weights = EmptyRow::uniform,
     .empty_rows_with_dropout = EmptyRow::uniform,
     .scale_is_fixed = true},
    {.name = "fill-1e10",
     .masks = kFilled,
     .fill = MaskFill::replaced,
     .fill_value = -1e10,
     .empty_rows = EmptyRow::uniform,
     .empty_rows_with_weights = EmptyRow::uniform,
     .empty_rows_with_dropout = EmptyRow::uniform,
     .scale_is_fixed = true},
}};

}  // namespace

std::span<const Dialect> dialects() { return kDialects; }

const Dialect* find_dialect(std::string_view name) {
  const auto* const found = std::ranges::find(kDialects, name, &Dialect::name);
  return found == kDialects.end() ? nullptr : found;
}

void apply_dialect(const Dialect& dialect, const DialectCall& call,
                   AttentionOptions& options) {
  options.query_start = causal_start(dialect, call.past_length);
  options.empty_rows = call.adds_mask && dialect.minus_inf_gives_nan
                           ? EmptyRow::nan
                       : call.returns_weights ? dialect.empty_rows_with_weights
                       : call.dropout         ? dialect.empty_rows_with_dropout
                                              : dialect.empty_rows;
  if (call.returns_weights) {
    options.attn_weights = dialect.weights_after_dropout && call.dropout
                               ? AttnWeights::after_dropout
                           : dialect.averages_heads ? AttnWeights::mean
                                                    : AttnWeights::per_head;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
