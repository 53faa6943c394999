// The heads of tensors from files: (B, H, L, D), or of several layers.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "operation/number_type.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "operation/read_axes.h"
#include "operation/read_tensor.h"
#include "operation/rotary_inputs.h"
#include "shell/outcome.h"
#include "tensor_heads.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

// A file's tensors, one a layer: (N, B, .., .., D).
struct Layers {
  Tensor<float, 5> all;
  bool batched = true;  // whether the file has an axis B
  std::string read;     // read_axes()

  std::size_t count() const { return all.extent(0); }
  // (B, L, H, D)
  TensorView<float, 4> layer(std::size_t n, bool heads_first) {
    const auto& extents = all.extents();
    const TensorView<float, 4> one(
        all.size() == 0 ? nullptr : &all(n, 0, 0, 0, 0),
        {extents[1], extents[2], extents[3], extents[4]});
    return heads_first ? as_blhd(one) : one;
  }
  TensorView<const float, 4> layer(std::size_t n, bool heads_first) const {
    const auto& extents = all.extents();
    const TensorView<const float, 4> one(
        all.size() == 0 ? nullptr : &all(n, 0, 0, 0, 0),
        {extents[1], extents[2], extents[3], extents[4]});
    return heads_first ? as_blhd(one) : one;
  }
};

Result<Layers> read_layers(std::string_view option, const std::string& path,
                           const ViewedFlags& flags) {
  HEADWISE_ASSIGN(auto array, read_file_of(option, path));
  const bool ragged = !flags.operation.offsets.empty();
  auto& shape = array.shape;
  const std::size_t least = 3;
  const std::size_t most = ragged ? 4 : 5;
  if (shape.size() < least || shape.size() > most) {
    return wrong_rank(
        option, array,
        ragged ? (flags.heads_first() ? "(H, rows, D) or (N, H, rows, D)"
                                      : "(rows, H, D) or (N, rows, H, D)")
        : flags.heads_first() ? "(B, H, L, D), (H, L, D) or (N, B, H, L, D)"
                              : "(B, L, H, D), (L, H, D) or (N, B, L, H, D)");
  }
  Layers layers;
  layers.read = read_axes(option.substr(2), shape, flags.heads_first(), ragged);
  layers.batched = !ragged && shape.size() > 3;
  if (ragged && shape.size() == 4) {
    shape.insert(shape.begin() + 1, 1);
  }
  while (shape.size() < 5) {
    shape.insert(shape.begin(), 1);
  }
  if (constexpr std::size_t kMost = 100'000; shape[0] > kMost) {
    return option_error(option, message("has {} layers", shape[0]),
                        message("at most {}", kMost),
                        ErrorCode::shape_mismatch);
  }
  HEADWISE_ASSIGN(auto all, tensor_of<float, 5>({option, path}, array));
  round_to(flags.dtype, all.elements());
  layers.all = std::move(all);
  return layers;
}

Status check_fit(const Layers& query, const Layers& key, bool heads_first) {
  const auto& q = query.all.extents();
  const auto& k = key.all.extents();
  const std::size_t heads = heads_first ? 2 : 3;
  for (const auto& [axis, name] : {std::pair{std::size_t{0}, "layers"},
                                   {1, "sequences"},
                                   {4, "features per head"}}) {
    if (q[axis] != k[axis]) {
      return option_error("--key", message("has {} {}", k[axis], Message(name)),
                          message("the {} of --query", q[axis]),
                          ErrorCode::shape_mismatch);
    }
  }
  if (q[0] == 0 || k[heads] == 0 || q[heads] % k[heads] != 0) {
    return option_error("--query", message("has {} heads", q[heads]),
                        message("a multiple of the {} of --key", k[heads]),
                        ErrorCode::shape_mismatch);
  }
  return ok();
}

class ViewedTensors : public TensorHeads {
 public:
  explicit ViewedTensors(const ViewedFlags& flags)
      : TensorHeads(flags), heads_first_(flags.heads_first()) {}
  static Result<std::unique_ptr<ViewedHeads>> read(const ViewedFlags& flags);

  AttentionOptions options() const override { return operation_->options(); }
  Status visit(SeenParts parts, const SeeLayer& see) const override;

 private:
  Extents<4> query_extents() const override {
    return query_.layer(0, heads_first_).extents();
  }
  Extents<4> key_extents() const override {
    return key_.layer(0, heads_first_).extents();
  }
  OperationOptions plain_operation() const override {
    return operation_->operation_options();
  }
  Status rotate(const ViewedFlags& flags);

  Layers query_;
  Layers key_;
  bool heads_first_ = true;
  bool rotated_ = false;
  std::optional<OperationInputs> operation_;
};

// Rotates the queries and keys of every layer that is shown.
Status ViewedTensors::rotate(const ViewedFlags& flags) {
  HEADWISE_ASSIGN(
      const auto inputs,
      RotaryInputs::read(flags.rotary,
                         query_.batched || !flags.operation.offsets.empty()));
  HEADWISE_ASSIGN(const auto rotary, inputs.rotary(query_.all.extent(4)));
  if (!rotary) {
    return ok();
  }
  rotated_ = true;
  for (const std::size_t number : layers_) {
    HEADWISE_TRY(rotate_heads(
        *rotary,
        {query_.layer(number, heads_first_), key_.layer(number, heads_first_)},
        spec().shape, options().query_start, inputs.positions(),
        *spec().executor));
  }
  return ok();
}

Status ViewedTensors::visit(SeenParts parts, const SeeLayer& see) const {
  const std::vector<TracedStep> listed =
      parts.steps ? list(query_.layer(0, heads_first_),
                         key_.layer(0, heads_first_), rotated_)
                  : std::vector<TracedStep>();
  for (const std::size_t number : layers_) {
    const auto query = query_.layer(number, heads_first_);
    HEADWISE_TRY(see({{.number = number,
                       .query = query,
                       .key = key_.layer(number, heads_first_),
                       .steps = listed},
                      KeptHeads::all(query.extent(2))}));
  }
  return ok();
}

Result<std::unique_ptr<ViewedHeads>> ViewedTensors::read(
    const ViewedFlags& flags) {
  auto seen = std::make_unique<ViewedTensors>(flags);
  HEADWISE_ASSIGN(auto query, read_layers("--query", flags.query, flags));
  HEADWISE_ASSIGN(auto key, read_layers("--key", flags.key, flags));
  HEADWISE_TRY(check_layout(seen->heads_first_, [&](bool heads_first) {
    return check_fit(query, key, heads_first);
  }));
  seen->text_.read = query.read + key.read;
  seen->query_ = std::move(query);
  seen->key_ = std::move(key);
  HEADWISE_ASSIGN(seen->layers_,
                  parse_layers(flags.layers, seen->query_.count()));
  HEADWISE_ASSIGN(auto operation,
                  OperationInputs::read(
                      flags.operation, seen->query_.batched,
                      seen->query_.layer(0, seen->heads_first_).extent(2)));
  const auto first_query = seen->query_.layer(0, seen->heads_first_);
  HEADWISE_TRY(operation.use_dialect(
      {.B = first_query.extent(0),
       .Hq = first_query.extent(2),
       .Lq = first_query.extent(1),
       .Lkv = seen->key_.layer(0, seen->heads_first_).extent(1),
       .batched = seen->query_.batched},
      {.returns_weights = true}));
  seen->operation_ = std::move(operation);
  HEADWISE_TRY(seen->read_statistics(flags, seen->key_.batched));
  const auto shape = seen->check();
  if (!shape) {
    return in_option_words(shape.error(), flags.operation);
  }
  if (const Status rotated = seen->rotate(flags); !rotated) {
    return in_option_words(in_rotary_words(rotated.error()), flags.operation);
  }
  HEADWISE_TRY(
      seen->read_labels(flags, *shape, !flags.relating_option().empty()));
  return std::unique_ptr<ViewedHeads>(std::move(seen));
}

}  // namespace

Result<std::unique_ptr<ViewedHeads>> read_viewed_tensors(
    const ViewedFlags& flags) {
  return ViewedTensors::read(flags);
}

}  // namespace headwise::cli
