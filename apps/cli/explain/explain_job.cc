#include "explain_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decode_steps.h"
#include "explain_params.h"
#include "headwise/interop/file_subject.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/scores.h"
#include "job_input.h"
#include "operation/layer_params.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "operation/rotary_inputs.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// The sizes of the layer: those asked for, or those of the files.
Result<MultiHeadAttentionConfig> config_of(
    const ExplainFlags& flags, const JobInput& input,
    const std::optional<LayerFromFiles>& files) {
  if (files) {
    return files->layer.config();
  }
  if (input.embed_dim % input.num_heads != 0) {
    return option_error(
        "--embed-dim", message("is {}", input.embed_dim),
        message("a multiple of --num-heads, which is {}", input.num_heads));
  }
  if (input.num_kv_heads && input.num_heads % *input.num_kv_heads != 0) {
    return option_error(
        "--num-kv-heads", message("is {}", *input.num_kv_heads),
        message("a divisor of --num-heads, which is {}", input.num_heads));
  }
  MultiHeadAttentionConfig config{.embed_dim = input.embed_dim,
                                  .num_heads = input.num_heads,
                                  .num_kv_heads = input.num_kv_heads,
                                  .bias = input.bias,
                                  .out_proj = input.out_proj};
  if (flags.operation.additive()) {
    config.scoring = Scoring::additive;
  }
  HEADWISE_ASSIGN(config.qk_norm, flags.qk_norm.norm());
  config.add_bias_kv = !flags.operation.bias_k.empty();
  config.add_zero_attn = flags.operation.zero_attn;
  if (input.vectors) {
    config.query_dim = input.vectors->query.extent(2);
    config.kdim = input.vectors->key.extent(2);
    config.vdim = input.vectors->value.extent(2);
  }
  return complete_config(config);
}

Result<std::optional<LayerFromFiles>> read_files(const ExplainFlags& flags,
                                                 const JobInput& input) {
  if (flags.params.empty()) {
    return std::optional<LayerFromFiles>{};
  }
  HEADWISE_ASSIGN(const auto qk_norm, flags.qk_norm.norm());
  HEADWISE_ASSIGN(
      auto files,
      read_layer(flags.params,
                 {.num_heads = flags.num_heads,
                  .num_kv_heads = input.num_kv_heads,
                  .otherwise_num_heads = flags.example.empty()
                                             ? std::optional<std::size_t>()
                                             : std::optional(input.num_heads),
                  .scoring = flags.operation.scoring,
                  .vdim = input.vectors ? input.vectors->value.extent(2) : 0,
                  .qk_norm = qk_norm,
                  .add_zero_attn = flags.operation.zero_attn,
                  .with_embedding = !input.vectors,
                  .choice = flags.layer.choice()}));
  if (flags.decode && files.layer.config().add_bias_kv) {
    return option_error(
        "--params " + flags.params,
        "has bias_k, an added key, which --decode does not take", "",
        ErrorCode::unsupported);
  }
  const auto disagrees = [&](std::string_view option, std::size_t given,
                             std::size_t in_file) {
    return option_error(option, message("is {}", given),
                        message("{} as in {}", in_file, flags.params),
                        ErrorCode::shape_mismatch);
  };
  const std::size_t embed_dim = files.layer.config().embed_dim;
  if (flags.embed_dim && *flags.embed_dim != embed_dim) {
    return disagrees("--embed-dim", *flags.embed_dim, embed_dim);
  }
  if (files.embedding && flags.vocab_size &&
      *flags.vocab_size != files.embedding->vocab_size()) {
    return disagrees("--vocab-size", *flags.vocab_size,
                     files.embedding->vocab_size());
  }
  return std::optional<LayerFromFiles>(std::move(files));
}

// One job on its way: the tensors of the first steps and what they fill in.
class Runner {
 public:
  Runner(const ExplainFlags& flags, JobInput input,
         std::optional<LayerFromFiles> files, MultiHeadAttentionConfig config)
      : flags_(flags),
        input_(std::move(input)),
        files_(std::move(files)),
        config_(config) {
    if (!input_.batched) {
      trace_.leave_out_batch();
    }
  }

  // Everything that is known without computing.
  Result<ExplainedJob> describe() {
    ExplainedJob job;
    job.from_tokens = !input_.vectors;
    job.cross = input_.keys.has_value();
    job.batched = input_.batched;
    job.out_proj = config_.out_proj;
    job.value_proj = config_.value_proj;
    job.additive = config_.scoring == Scoring::additive;
    job.qk_norm = config_.qk_norm;
    job.biased = biased();
    job.vocab_size = files_ && files_->embedding
                         ? files_->embedding->vocab_size()
                         : input_.vocab_size;
    if (job.from_tokens) {
      HEADWISE_TRY(
          check_side(input_.queries, job.vocab_size, input_.query_source));
      if (job.cross) {
        HEADWISE_TRY(
            check_side(*input_.keys, job.vocab_size, input_.key_source));
      }
      job.batch = input_.queries.size();
      job.query_length = max_sequence_length(input_.queries);
      job.key_length = max_sequence_length(input_.key_tokens());
      job.query_ids = input_.queries;
      job.key_ids = input_.key_tokens();
    } else {
      job.batch = input_.vectors->query.extent(0);
      job.query_length = input_.vectors->query.extent(1);
      job.key_length = input_.vectors->key.extent(1);
    }
    HEADWISE_TRY(check_widths());
    job.embed_dim = config_.embed_dim;
    job.num_heads = config_.num_heads;
    job.num_kv_heads = *config_.num_kv_heads;
    job.scale =
        job.additive
            ? 1
            : flags_.operation.scale.value_or(default_scale(*config_.head_dim));
    job.softcap = flags_.operation.softcap;
    job.dropout = flags_.operation.dropout.value_or(0);
    return job;
  }

  // Whether --bias-k and --bias-v have the layer's sizes.
  Status check_added_keys(const ExplainedJob& job,
                          const OperationInputs& operation) const {
    const auto spec = AttentionSpec::create(
        shape_of(job), {},
        {.added_keys = operation.operation_options().added_keys}, "explain");
    return spec ? ok()
                : Status(in_option_words(spec.error(), flags_.operation));
  }

  Result<std::vector<TracedStep>> shapes(const ExplainedJob& job,
                                         const OperationInputs& operation) {
    AttentionOptions options = operation.options();
    const TensorView<const bool, 2> padding(nullptr,
                                            {job.batch, job.key_length});
    if (input_.mask_padding) {
      options.mask = key_padding(padding) & options.mask;
    }
    add_lengths(options);
    HEADWISE_ASSIGN(
        const auto spec,
        AttentionSpec::create(shape_of(job), options, {}, "explain"));
    return list_steps({.batched = input_.batched,
                       .from_tokens = job.from_tokens,
                       .cross = job.cross,
                       .qk_norm = config_.qk_norm.has_value(),
                       .rotary = config_.rotary.has_value(),
                       .bias_kv = config_.add_bias_kv,
                       .zero_attn = config_.add_zero_attn,
                       .out_proj = config_.out_proj,
                       .spec = &spec,
                       .B = job.batch,
                       .Lq = job.query_length,
                       .Lkv = job.key_length,
                       .num_heads = config_.num_heads,
                       .head_dim = *config_.head_dim,
                       .v_head_dim = *config_.v_head_dim,
                       .embed_dim = config_.embed_dim,
                       .num_kv_heads = config_.num_kv_heads,
                       .query_dim = *config_.query_dim,
                       .kdim = *config_.kdim,
                       .vdim = *config_.vdim});
  }

  Result<std::vector<TracedStep>> run(const OperationInputs& operation,
                                      const RotaryInputs& rotary,
                                      const Progress& progress) {
    AttentionOptions options = operation.options();
    HEADWISE_TRY(input_.vectors ? report_vectors() : embed(progress));
    if (input_.mask_padding) {
      options.mask = key_padding(key_padding_mask_) & options.mask;
    }
    add_lengths(options);
    HEADWISE_ASSIGN(
        auto layer,
        files_ ? Result<MultiHeadAttention>(std::move(files_->layer))
               : MultiHeadAttention::create(config_, Seed{flags_.seed}));
    HEADWISE_TRY(set_added_keys(operation.operation_options(), layer));
    HEADWISE_TRY(layer.set_rotary(config_.rotary));
    HEADWISE_ASSIGN(const auto result,
                    layer.forward(query_, key_, value_, options,
                                  {.positions = rotary.positions()}, &trace_));
    if (!flags_.step.empty()) {
      params_ = explained_params(layer, embedding_ ? &*embedding_ : nullptr);
    }
    return std::vector<TracedStep>(trace_.steps().begin(),
                                   trace_.steps().end());
  }
  // Those that run() used, with --step.
  std::vector<TracedStep> take_params() { return std::move(params_); }

 private:
  AttentionShape shape_of(const ExplainedJob& job) const {
    return {job.batch,          config_.num_heads, *config_.num_kv_heads,
            job.query_length,   job.key_length,    *config_.head_dim,
            *config_.v_head_dim};
  }

  // One side's ids, and the id of the padding where there is any.
  Status check_side(const RaggedTokens& tokens, std::size_t vocab_size,
                    const FileSubject& source) const {
    if (Status s = check_tokens(tokens, vocab_size); !s) {
      ErrorDetails details = s.error().details();
      details.operation = source.operation;
      details.file = source.file;
      return Error{s.error().code(), std::move(details)};
    }
    const TokenId pad_id = input_.padding.pad_id;
    const std::size_t longest = max_sequence_length(tokens);
    const bool padded = std::ranges::any_of(tokens, [&](const auto& sequence) {
      return sequence.size() != longest;
    });
    if (padded &&
        (pad_id < 0 || static_cast<std::uint64_t>(pad_id) >= vocab_size)) {
      return option_error("--pad-id", message("is {}", pad_id),
                          message("0 to vocab_size - 1 = {}", vocab_size - 1),
                          ErrorCode::out_of_range);
    }
    return ok();
  }

  // Instead of the random ones, those of --bias-k and --bias-v.
  Status set_added_keys(const OperationOptions& given,
                        MultiHeadAttention& layer) const {
    if (given.added_keys.bias_k.data() == nullptr) {
      return ok();
    }
    return layer.update([&](std::string_view name, std::span<float> values) {
      if (name == "bias_k" || name == "bias_v") {
        const auto& from = name == "bias_k" ? given.added_keys.bias_k
                                            : given.added_keys.bias_v;
        std::copy_n(from.data(), values.size(), values.data());
      }
      return ok();
    });
  }

  // Whether the projections from files take vectors of the size there is.
  Status check_widths() const {
    if (!files_) {
      return ok();
    }
    const auto check = [&](std::string_view name, std::size_t taken,
                           std::size_t given) -> Status {
      if (taken == given) {
        return ok();
      }
      return FileSubject{"explain", flags_.params,
                         fmt::format("{}.weight", name)}
          .error(
              ErrorCode::shape_mismatch,
              message("takes vectors of size {}", taken),
              message(files_->embedding ? "{}, the size of embedding.weight's"
                                        : "{}, the size of the given vectors",
                      given));
    };
    const auto width = [&](const Tensor<float, 3> Vectors::*side) {
      return files_->embedding ? files_->embedding->embed_dim()
                               : ((*input_.vectors).*side).extent(2);
    };
    HEADWISE_TRY(check("w_q", *config_.query_dim, width(&Vectors::query)));
    HEADWISE_TRY(check("w_k", *config_.kdim, width(&Vectors::key)));
    return check("w_v", *config_.vdim, width(&Vectors::value));
  }

  std::set<std::string> biased() const {
    if (!files_) {
      return config_.bias ? std::set<std::string>{"q", "k", "v", "output"}
                          : std::set<std::string>{};
    }
    return biased_projections(*files_->layer.params());
  }

  void add_lengths(AttentionOptions& options) const {
    if (!input_.key_lengths.empty()) {
      options.mask =
          key_lengths(TensorView<const std::int64_t, 1>(
              input_.key_lengths.data(), {input_.key_lengths.size()})) &
          options.mask;
    }
  }

  void report(std::string_view name, std::vector<std::string_view> axes,
              const AnyView& tensor) {
    trace_.on_step(name, axes, tensor);
  }

  Status report_vectors() {
    query_ = input_.vectors->query;
    key_ = input_.vectors->key;
    value_ = input_.vectors->value;
    report("query", {"B", "Lq", "query_dim"}, query_);
    report("key", {"B", "Lkv", "kdim"}, key_);
    report("value", {"B", "Lkv", "vdim"}, value_);
    return ok();
  }

  // Pads one side's tokens and looks their vectors up.
  Status embed_side(const Embedding& embedding, const RaggedTokens& tokens,
                    bool keys, std::string_view length_axis,
                    const Progress& progress, Tensor<float, 3>& embedded) {
    HEADWISE_ASSIGN(auto padded, pad(tokens, input_.padding, progress));
    HEADWISE_ASSIGN(embedded, embedding.forward(padded.ids));
    const bool suffix = keys && input_.keys;
    report(suffix ? "lengths_kv" : "lengths", {"B"}, padded.lengths);
    report(suffix ? "padded_kv" : "padded", {"B", length_axis}, padded.ids);
    report(suffix ? "embedded_kv" : "embedded", {"B", length_axis, "E"},
           embedded);
    if (keys) {
      key_padding_mask_ = std::move(padded.padding_mask);
    }
    return ok();
  }

  Status embed(const Progress& progress) {
    HEADWISE_ASSIGN(
        embedding_,
        files_ ? Result<Embedding>(*std::move(files_->embedding))
               : Embedding::create({input_.vocab_size, *config_.query_dim},
                                   Seed{flags_.seed}));
    const bool cross = input_.keys.has_value();
    HEADWISE_TRY(embed_side(*embedding_, input_.queries, !cross,
                            cross ? "Lq" : "L", progress, embedded_));
    query_ = embedded_;
    key_ = query_;
    if (cross) {
      HEADWISE_TRY(embed_side(*embedding_, *input_.keys, true, "Lkv", progress,
                              embedded_kv_));
      key_ = embedded_kv_;
    }
    value_ = key_;
    return ok();
  }

  const ExplainFlags& flags_;
  JobInput input_;
  std::optional<LayerFromFiles> files_;
  MultiHeadAttentionConfig config_;
  Trace trace_;
  std::optional<Embedding> embedding_;
  std::vector<TracedStep> params_;
  Tensor<float, 3> embedded_;
  Tensor<float, 3> embedded_kv_;
  Tensor<bool, 2> key_padding_mask_;
  TensorView<const float, 3> query_;
  TensorView<const float, 3> key_;
  TensorView<const float, 3> value_;
};

}  // namespace

const TracedStep* ExplainedJob::find(std::string_view name) const {
  const auto found = std::ranges::find(steps, name, &TracedStep::name);
  return found == steps.end() ? nullptr : &*found;
}

const TracedStep* ExplainedJob::find_tensor(std::string_view name) const {
  const TracedStep* const step = find(name);
  const auto param = std::ranges::find(params, name, &TracedStep::name);
  return step != nullptr || param == params.end() ? step : &*param;
}

const TracedStep* ExplainedJob::masked_scores() const {
  const TracedStep* const masked = find("masked_scores");
  return masked != nullptr ? masked : find("biased_scores");
}

std::set<std::string> biased_projections(
    const MultiHeadAttentionParams& params) {
  std::set<std::string> names;
  for (const auto& [name, linear] :
       {std::pair{"q", &params.w_q}, {"k", &params.w_k}}) {
    if (linear->has_bias()) {
      names.insert(name);
    }
  }
  for (const auto& [name, linear] :
       {std::pair{"v", &params.w_v}, {"output", &params.w_o}}) {
    if (*linear && (*linear)->has_bias()) {
      names.insert(name);
    }
  }
  return names;
}

Result<ExplainedJob> run_job(const ExplainFlags& flags,
                             const Progress& progress) {
  HEADWISE_ASSIGN(auto input, job_input(flags));
  HEADWISE_ASSIGN(auto files, read_files(flags, input));
  HEADWISE_ASSIGN(auto config, config_of(flags, input, files));
  HEADWISE_ASSIGN(const auto rotary,
                  RotaryInputs::read(flags.rotary, input.batched));
  HEADWISE_ASSIGN(config.rotary, rotary.rotary(*config.head_dim));
  if (config.scoring == Scoring::additive && flags.operation.scale) {
    return usage_error(
        "--scale is for --scoring dot; additive scores have none");
  }
  OperationFlags operation_flags = flags.operation;
  operation_flags.causal = input.mask_causal;
  HEADWISE_ASSIGN(
      auto operation,
      OperationInputs::read(operation_flags, input.batched, config.num_heads));
  Runner runner(flags, std::move(input), std::move(files), config);
  auto job = runner.describe();
  if (!job) {
    return job;
  }
  HEADWISE_TRY(
      operation.use_dialect({job->batch, job->num_heads, job->query_length,
                             job->key_length, job->batched},
                            {.returns_weights = true,
                             .dropout = flags.operation.dropout.has_value()}));
  HEADWISE_TRY(runner.check_added_keys(*job, operation));
  auto steps = flags.shapes_only ? runner.shapes(*job, operation)
                                 : runner.run(operation, rotary, progress);
  if (!steps) {
    return in_option_words(in_rotary_words(steps.error()), flags.operation);
  }
  job->steps = *std::move(steps);
  job->params = runner.take_params();
  if (flags.decode) {
    job->steps = decode_steps(job->steps);
    job->decode = true;
    job->query_length = 1;
    job->query_ids = {{job->key_ids[0].back()}};
  }
  return job;
}

}  // namespace headwise::cli
