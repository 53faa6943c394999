// What every pass through a stack has: what is looked up for its tokens, and
// the options of its layers' attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/layer_results.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"
#include "run/float_environment.h"
#include "transformer/description.h"
#include "transformer/params.h"
#include "transformer/pass_parts.h"
#include "transformer/stack_run.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// All must outlive it.
class StackPass {
 public:
  StackPass(const StackSpec& stack, const StackParams& params,
            const StackInput& input)
      : stack_(stack),
        params_(params),
        input_(input),
        executor_(input.pass.executor ? *input.pass.executor
                                      : Executor::default_executor()),
        offsets_(offsets_of(input.ids)) {}

  // What the options of a layer's call over a cache look into.
  struct Continued {
    std::vector<SequenceId> ids{};
    std::vector<std::int64_t> positions{};
  };

  const StackSpec& stack() const { return stack_; }
  const StackParams& params() const { return params_; }
  const StackInput& input() const { return input_; }
  const RaggedTokens& ids() const { return input_.ids; }
  const Executor& executor() const { return executor_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

  // The rows of the tokens, scaled. Errors: out_of_memory.
  Result<Rows> tokens() const;
  // x += positions and token types.
  void add_places(Rows& x) const;
  // The row of each token in the table of positions.
  std::vector<TokenId> positions(std::size_t b) const;

  // Whether attention differs from sequence to sequence.
  bool is_apart(std::size_t layer) const;
  // What rotates a layer whose sequence has this length; none: the layer's own
  // rotation. Errors: those of Rotary::create().
  Result<std::optional<Rotary>> rotary_of(std::size_t layer,
                                          std::size_t length) const;
  // Of a layer's attention, for all sequences, without a bias.
  AttentionOptions options_of(std::size_t layer) const;
  // A bias of a layer's keys, (heads, longest sequence); empty without one.
  // Errors: out_of_memory.
  Result<Tensor<float, 2>> bias_of_keys(std::size_t layer) const;
  HeadHooks hooks_of(HookPlace at) const;
  LayerOptions layer_options_of(std::size_t layer,
                                const HeadHooks& hooks) const;
  // What a cache adds to them, of a call of these sequences.
  void continue_cached(std::size_t layer, std::size_t first_sequence,
                       std::size_t sequences, Continued& continued,
                       LayerOptions& options) const;
  // How many tokens came before those of a sequence, and the length that
  // decides on its rotations.
  std::size_t before(std::size_t b) const;
  std::size_t rotation_length(std::size_t b) const;
  // The keys of a sequence in a layer, and the most that one has.
  std::size_t keys(std::size_t layer, std::size_t b) const;
  std::size_t most_keys(std::size_t layer) const;
  // The rows around each row of x, side by side: (1, rows, width * E).
  Result<Rows> around(const Rows& x) const;
  // Its way back: the gradient by x.
  Result<Rows> back_from_around(const Rows& d_around) const;

  // use(b, row) of each sequence and its first row.
  template <class Use>
  void each_sequence(const Use& use) const {
    executor_.parallel_for(ids().size(), 1,
                           [&](std::size_t begin, std::size_t end) {
                             const FloatEnvironment environment;
                             for (std::size_t b = begin; b < end; ++b) {
                               use(b, static_cast<std::size_t>(offsets_[b]));
                             }
                           });
  }

 private:
  // use(row of x, part of the row around a token) of each pair.
  template <class Use>
  void each_around(const Use& use) const;

  const StackSpec& stack_;
  const StackParams& params_;
  const StackInput& input_;
  const Executor& executor_;
  std::vector<std::int64_t> offsets_;
};

// x += y
void add_rows(const Rows& y, Rows& x, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI::transformer
