#include "run_flags.h"

#include <fmt/format.h>

namespace headwise::cli {
namespace {

using enum OptionRule::Kind;

constexpr OptionRule kLayerRules[] = {
    {"--params", needs, "--num-heads"},
    {"--num-heads|--num-kv-heads", needs, "--params",
     "--params; otherwise the tensor shapes give the number of heads"},
    {"--layer|--layout-of|--prefix", needs, "--params"},
    {"--qk-norm|--qk-norm-over|--qk-norm-eps|--qk-norm-plus-one", needs,
     "--params"}};

constexpr OptionRule kCallRules[] = {
    {"--layout", never, "--params",
     "--layout is for tensors with heads; with --params they are (B, L, E)"},
    {"--score-weight", never, "--params",
     "--score-weight is for tensors with heads; with --params the layer's is "
     "w_score.weight"},
    {"--score-weight", needs, "--scoring additive"},
    {"--scoring additive", needs, "--score-weight|--params",
     "--score-weight or --params"},
    {"--scale", never, "--scoring additive",
     "--scale is for --scoring dot; additive scores have none"},
    {"--bias-k|--bias-v", never, "--params",
     "--bias-k and --bias-v are for tensors with heads; with --params the "
     "layer's are bias_k and bias_v"},
    {"--attn-weights-form mean|--attn-weights-form after-dropout", always,
     "--attn-weights|--d-attn-weights",
     "--attn-weights-form needs --attn-weights FILE"},
    {"--scores-stage", needs, "--scores-out", "--scores-out FILE"},
    {"--d-output", needs, "--grad-dir"},
    {"--grad-dir", needs, "--d-output"},
    {"--d-attn-weights", needs, "--d-output", "--d-output and --grad-dir"},
    {"--keep-mask-out", needs, "--dropout"},
    {"--past-value", needs, "--past-key"},
    {"--past-key", needs, "--past-value"},
    {"--past-key", needs, "--present-dir"},
    {"--past-key|--present-dir", apart, "--params"},
    {"--past-key", apart, "--offsets"},
    {"--past-key", apart, "--d-output"},
    {"--page-size", needs, "--cache paged"}};

// What a cache, and a call of several processes, cannot do. By context each
// process has some rows of all heads.
constexpr OptionRule kCacheRules[] = {
    {"--query-positions|--key-positions", never, "--cache+--params",
     "{} cannot be used with --cache: a layer rotates by the positions in the "
     "cache"},
    {"--bias-k|--zero-attn", excludes, "--cache", "it takes no added keys"},
    {"--d-output", excludes, "--cache", "it has no backward pass"},
    {"--dialect", excludes, "--cache",
     "a dialect is about calls with all of their keys"},
    {"--empty-rows uniform", excludes, "--cache",
     "that averages all keys of the call, and a cache has those so far"},
    {"--cache-dtype|--chunk", needs, "--cache"},
    {"--deadline", needs, "--parallel"},
    {"--cache", excludes, "--parallel heads",
     "a cache is divided by tokens; use --parallel context"},
    {"--cache contiguous", never, "--parallel",
     "--cache contiguous cannot be used with --parallel; use --cache paged"},
    {"--lse|--attn-weights|--scores-out|--present-dir", excludes,
     "--cache+--parallel", "a shared cache gives the output alone"},
    {"--attn-weights|--scores-out|--d-attn-weights", never,
     "--parallel context",
     "{} cannot be used with --parallel context; use --parallel heads"}};

Status check_page_size(const RunFlags& flags) {
  const std::size_t size = flags.cache.page_size.value_or(64);
  return size == 16 || size == 32 || size % 64 == 0
             ? ok()
             : option_error("--page-size", message("is {}", size),
                            "16, 32 or a multiple of 64");
}

}  // namespace

Status check_flags(const RunFlags& flags) {
  HEADWISE_TRY(flags.line.check(kLayerRules));
  if (flags.num_kv_heads && *flags.num_heads % *flags.num_kv_heads != 0) {
    return option_error(
        "--num-kv-heads", message("is {}", *flags.num_kv_heads),
        message("a divisor of --num-heads, which is {}", *flags.num_heads));
  }
  HEADWISE_TRY(flags.line.check(kCallRules));
  HEADWISE_TRY(check_page_size(flags));
  return flags.line.check(kCacheRules);
}

}  // namespace headwise::cli
