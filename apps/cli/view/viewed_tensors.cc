// The heads of tensors from files: (B, H, L, D), or of several layers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/steps/scores.h"
#include "headwise/train/labelled_text.h"
#include "operation/number_type.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "operation/read_tensor.h"
#include "operation/rotary_inputs.h"
#include "shell/outcome.h"
#include "shell/read_text.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

// A file's tensors, one a layer: (N, B, .., .., D).
struct Layers {
  Tensor<float, 5> all;
  bool batched = true;  // whether the file has an axis B

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
  auto array = read_file_of(option, path);
  HEADWISE_TRY(array);
  const bool ragged = !flags.operation.offsets.empty();
  auto& shape = array->shape;
  const std::size_t least = 3;
  const std::size_t most = ragged ? 4 : 5;
  if (shape.size() < least || shape.size() > most) {
    return wrong_rank(
        option, *array,
        ragged ? (flags.heads_first() ? "(H, rows, D) or (N, H, rows, D)"
                                      : "(rows, H, D) or (N, rows, H, D)")
        : flags.heads_first() ? "(B, H, L, D), (H, L, D) or (N, B, H, L, D)"
                              : "(B, L, H, D), (L, H, D) or (N, B, L, H, D)");
  }
  Layers layers;
  layers.batched = !ragged && shape.size() > 3;
  if (ragged && shape.size() == 4) {
    shape.insert(shape.begin() + 1, 1);
  }
  while (shape.size() < 5) {
    shape.insert(shape.begin(), 1);
  }
  if (constexpr std::size_t kMost = 100'000; shape[0] > kMost) {
    return option_error(option, fmt::format("has {} layers", shape[0]),
                        fmt::format("at most {}", kMost),
                        ErrorCode::shape_mismatch);
  }
  auto all = tensor_of<float, 5>({option, path}, *array);
  HEADWISE_TRY(all);
  round_to(flags.dtype, all->elements());
  layers.all = *std::move(all);
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
      return option_error("--key", fmt::format("has {} {}", k[axis], name),
                          fmt::format("the {} of --query", q[axis]),
                          ErrorCode::shape_mismatch);
    }
  }
  if (q[0] == 0 || k[heads] == 0 || q[heads] % k[heads] != 0) {
    return option_error("--query", fmt::format("has {} heads", q[heads]),
                        fmt::format("a multiple of the {} of --key", k[heads]),
                        ErrorCode::shape_mismatch);
  }
  return ok();
}

class ViewedTensors : public ViewedHeads {
 public:
  static Result<std::unique_ptr<ViewedHeads>> read(const ViewedFlags& flags);

  AttentionOptions options() const override { return operation_->options(); }
  OperationOptions operation_options() const override {
    OperationOptions options = operation_->operation_options();
    if (separators_) {
      options.statistics.separators = *separators_;
    }
    if (query_lengths_) {
      options.statistics.query_lengths = *query_lengths_;
    }
    return options;
  }

  Status visit(bool steps, const SeeLayer& see) const override;

 private:
  Status read_statistics(const ViewedFlags& flags);
  Status rotate(const ViewedFlags& flags);
  Status read_labels(const ViewedFlags& flags, const AttentionShape& shape);
  Result<AttentionSpec> spec() const;  // of the first layer
  Result<AttentionShape> shape() const;
  std::vector<TracedStep> list() const;

  Layers query_;
  Layers key_;
  std::string command_;  // begins the messages
  bool heads_first_ = true;
  std::size_t sequence_ = 0;
  bool rotated_ = false;
  std::optional<OperationInputs> operation_;
  std::optional<Tensor<bool, 2>> separators_;
  std::optional<Tensor<std::int64_t, 1>> query_lengths_;
};

Status ViewedTensors::read_statistics(const ViewedFlags& flags) {
  HEADWISE_TRY(read_tensor({"--query-lengths", flags.query_lengths}, "(B)",
                           true, query_lengths_));
  return read_tensor({"--separators", flags.separators}, "(B, Lkv)",
                     key_.batched, separators_);
}

// Rotates the queries and keys of every layer that is shown.
Status ViewedTensors::rotate(const ViewedFlags& flags) {
  const auto inputs = RotaryInputs::read(
      flags.rotary, query_.batched || !flags.operation.offsets.empty());
  HEADWISE_TRY(inputs);
  const auto rotary = inputs->rotary(query_.all.extent(4));
  HEADWISE_TRY(rotary);
  if (!*rotary) {
    return ok();
  }
  rotated_ = true;
  const auto checked = spec();
  HEADWISE_TRY(checked);
  for (const std::size_t number : layers_) {
    HEADWISE_TRY(rotate_heads(
        **rotary,
        {query_.layer(number, heads_first_), key_.layer(number, heads_first_)},
        checked->shape, options().query_start, inputs->positions(),
        *checked->executor));
  }
  return ok();
}

// Of the keys, or else of the queries: a token a line, or their numbers.
Result<std::vector<std::string>> labels_of(std::string_view option,
                                           const std::string& path,
                                           std::size_t count, bool keys) {
  std::vector<std::string> labels;
  if (path.empty()) {
    for (std::size_t n = 0; n < count; ++n) {
      labels.push_back(std::to_string(n));
    }
    return labels;
  }
  const auto text = read_text(option, path);
  HEADWISE_TRY(text);
  for (const std::string_view line : text_lines(*text)) {
    labels.emplace_back(line);
  }
  if (labels.size() != count) {
    return FileSubject{std::string(option), path}.bad_data(
        fmt::format("has {} lines", labels.size()),
        std::to_string(count) +
            (keys ? ", one for each key" : ", one for each query"));
  }
  return labels;
}

// Options that place the queries among the keys, as with a key/value cache: the
// keys are then of the same sequence.
bool relates_positions(const std::string& option) {
  constexpr std::array<std::string_view, 5> kOptions = {
      "--causal", "--window", "--query-start", "--t5-bias", "--alibi"};
  return std::ranges::find(kOptions, option) != kOptions.end();
}

std::vector<std::size_t> special_of(const std::vector<std::string>& labels) {
  std::vector<std::size_t> special;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    if (is_special(labels[n])) {
      special.push_back(n);
    }
  }
  return special;
}

Result<AttentionSpec> ViewedTensors::spec() const {
  Extents<4> no_value = key_.layer(0, heads_first_).extents();
  no_value[3] = 0;
  auto shape = attention_shape(query_.layer(0, heads_first_).extents(),
                               key_.layer(0, heads_first_).extents(), no_value);
  HEADWISE_TRY(shape);
  OperationOptions asked = operation_options();
  asked.statistics.rows = true;  // there are no values
  return AttentionSpec::create(*shape, options(), asked, command_);
}

Result<AttentionShape> ViewedTensors::shape() const {
  const auto spec = this->spec();
  HEADWISE_TRY(spec);
  AttentionShape sizes = spec->shape;
  if (sequence_ >= sizes.B) {
    return option_error("--sequence", fmt::format("is {}", sequence_),
                        sizes.B == 0 ? "less than the batch's 0"
                                     : fmt::format("0 to {}", sizes.B - 1),
                        ErrorCode::out_of_range);
  }
  const SequencePlace place = sizes.sequence(sequence_);
  sizes.Lq = spec->statistics.queries(sequence_);
  sizes.Lkv = place.Lkv;
  return sizes;
}

Status ViewedTensors::read_labels(const ViewedFlags& flags,
                                  const AttentionShape& shape) {
  auto queries =
      labels_of("--query-tokens", flags.query_tokens, shape.Lq, false);
  HEADWISE_TRY(queries);
  const bool same = flags.key_tokens.empty() && shape.Lq == shape.Lkv;
  auto keys =
      labels_of(same ? "--query-tokens" : "--key-tokens",
                same ? flags.query_tokens : flags.key_tokens, shape.Lkv, true);
  HEADWISE_TRY(keys);
  text_.cross = (shape.Lq != shape.Lkv || *queries != *keys) &&
                std::ranges::none_of(flags.given, relates_positions);
  text_.query_special = special_of(*queries);
  text_.key_special = special_of(*keys);
  text_.query_labels = *std::move(queries);
  text_.key_labels = *std::move(keys);
  if (separators_ || !flags.operation.offsets.empty() ||
      std::ranges::none_of(text_.key_labels, is_separator)) {
    return ok();
  }
  const auto view = key_.layer(0, heads_first_);
  auto separators = Tensor<bool, 2>::create({view.extent(0), view.extent(1)});
  HEADWISE_TRY(separators);
  for (std::size_t j = 0; j < shape.Lkv; ++j) {
    (*separators)(sequence_, j) = is_separator(text_.key_labels[j]);
  }
  separators_ = *std::move(separators);
  return ok();
}

// The steps between the heads and their attention weights, by their shapes.
std::vector<TracedStep> ViewedTensors::list() const {
  constexpr std::array<std::string_view, 10> kOfLayer = {
      "query", "key",     "value",   "q",      "k",
      "v",     "v_heads", "context", "merged", "output"};
  const auto query = query_.layer(0, heads_first_);
  const auto key = key_.layer(0, heads_first_);
  const AttentionOptions given = options();
  const auto checked = spec();
  std::vector<TracedStep> steps =
      list_steps({.from_tokens = false,
                  .rotary = rotated_,
                  .softcap = given.softcap.has_value(),
                  .bias = given.bias.given(),
                  .t5_bias = given.t5_bias.table.data() != nullptr,
                  .alibi = given.alibi.data() != nullptr,
                  .sinks = given.sinks.data() != nullptr,
                  .masks = checked ? checked->mask.parts()
                                   : std::vector<BoundMask::Part>(),
                  .B = query.extent(0),
                  .Lq = query.extent(1),
                  .Lkv = key.extent(1),
                  .num_heads = query.extent(2),
                  .head_dim = query.extent(3),
                  .num_kv_heads = key.extent(2)});
  std::erase_if(steps, [&](const TracedStep& step) {
    return std::ranges::find(kOfLayer, step.name) != kOfLayer.end();
  });
  return steps;
}

Status ViewedTensors::visit(bool steps, const SeeLayer& see) const {
  const std::vector<TracedStep> listed =
      steps ? list() : std::vector<TracedStep>();
  for (const std::size_t number : layers_) {
    const auto query = query_.layer(number, heads_first_);
    HEADWISE_TRY(see({.number = number,
                      .heads = KeptHeads::all(query.extent(2)),
                      .query = query,
                      .key = key_.layer(number, heads_first_),
                      .steps = listed}));
  }
  return ok();
}

Result<std::unique_ptr<ViewedHeads>> ViewedTensors::read(
    const ViewedFlags& flags) {
  auto seen = std::make_unique<ViewedTensors>();
  auto query = read_layers("--query", flags.query, flags);
  HEADWISE_TRY(query);
  auto key = read_layers("--key", flags.key, flags);
  HEADWISE_TRY(key);
  seen->command_ = flags.command;
  seen->heads_first_ = flags.heads_first();
  seen->sequence_ = flags.sequence.value_or(0);
  HEADWISE_TRY(check_fit(*query, *key, seen->heads_first_));
  seen->query_ = *std::move(query);
  seen->key_ = *std::move(key);
  auto layers = parse_layers(flags.layers, seen->query_.count());
  HEADWISE_TRY(layers);
  seen->layers_ = *std::move(layers);
  auto operation = OperationInputs::read(
      flags.operation, seen->query_.batched,
      seen->query_.layer(0, seen->heads_first_).extent(2));
  HEADWISE_TRY(operation);
  const auto first_query = seen->query_.layer(0, seen->heads_first_);
  HEADWISE_TRY(operation->use_dialect(
      {.B = first_query.extent(0),
       .Hq = first_query.extent(2),
       .Lq = first_query.extent(1),
       .Lkv = seen->key_.layer(0, seen->heads_first_).extent(1),
       .batched = seen->query_.batched},
      {.returns_weights = true}));
  seen->operation_ = *std::move(operation);
  HEADWISE_TRY(seen->read_statistics(flags));
  const auto shape = seen->shape();
  if (!shape) {
    return in_option_words(shape.error(), flags.operation);
  }
  if (const Status rotated = seen->rotate(flags); !rotated) {
    return in_option_words(in_rotary_words(rotated.error()), flags.operation);
  }
  HEADWISE_TRY(seen->read_labels(flags, *shape));
  std::unique_ptr<ViewedHeads> heads = std::move(seen);
  return heads;
}

}  // namespace

Result<std::unique_ptr<ViewedHeads>> read_viewed_tensors(
    const ViewedFlags& flags) {
  return ViewedTensors::read(flags);
}

}  // namespace headwise::cli
