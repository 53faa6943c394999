// headwise.DecodePlan
#include "headwise/decode/decode_plan.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings.h"
#include "call_options.h"
#include "call_outputs.h"
#include "call_tensors.h"
#include "error.h"
#include "headwise/run/workspace.h"
#include "kv_cache_object.h"
#include "new_array.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr std::string_view kCreate = "DecodePlan.create";
constexpr std::string_view kRun = "DecodePlan.run";

// New tokens of each of `sequences` sequences. Offsets that make no sense are
// refused later, by the run.
std::vector<std::size_t> new_tokens(TensorView<const std::int64_t, 1> offsets,
                                    std::size_t sequences, std::size_t rows) {
  std::vector<std::size_t> added(sequences, rows);
  if (offsets.data() == nullptr) {
    return added;
  }
  for (std::size_t n = 0; n < sequences; ++n) {
    const bool given = n + 1 < offsets.extent(0);
    added[n] = given && offsets(n) >= 0 && offsets(n + 1) >= offsets(n)
                   ? std::min(rows, static_cast<std::size_t>(offsets(n + 1) -
                                                             offsets(n)))
                   : 0;
  }
  return added;
}

// What a run returns beside what the plan's options say.
struct Wanted {
  bool lse;
  bool softmax_rows;
  nb::handle out;
};

// Of the query, and of the attention weights.
struct Sizes {
  std::size_t B, L, sequences, longest_new, longest;
  bool batched, ragged;
};

// A plan, its cache, and the options that its views look at.
class DecodePlanObject {
 public:
  DecodePlanObject(nb::object cache, CacheObject& state, nb::handle num_heads,
                   nb::handle max_queries, const nb::kwargs& keywords)
      : cache_(std::move(cache)),
        state_(state),
        options_(std::make_unique<CallOptions>(kCreate)),
        keywords_(keywords),
        num_heads_(unsigned_integer(num_heads, {kCreate, "num_heads"})),
        plan_(create(unsigned_integer(max_queries, {kCreate, "max_queries"}))),
        workspace_(value_of(Workspace::create(plan_.workspace_bytes()))) {}

  nb::object run(nb::handle ids, nb::handle query, nb::handle key,
                 nb::handle value, nb::handle offsets, const Wanted& wanted);
  std::size_t workspace_bytes() const { return plan_.workspace_bytes(); }

 private:
  struct Outputs {
    std::optional<ArrayArgument> given;
    NewArray output, attn_weights, scores, lse, softmax_rows;

    template <class T>
    AttentionOutputsOf<T> views(bool batched) const {
      return {.output = given ? writable_call_view<T>(
                                    *given, batched,
                                    batched ? "(B, L, Hq, Dv)" : "(L, Hq, Dv)")
                              : output.view<T, 4>(),
              .attn_weights = attn_weights.view<float, 4>(),
              .lse = lse.view<float, 3>(),
              .softmax_rows = softmax_rows.view<float, 4>(),
              .scores = scores.view<float, 4>()};
    }
    nb::object object() &&;
  };

  DecodePlan create(std::size_t max_queries) {
    options_->read(keywords_, {kAttentionOptions, kOperationOptions});
    if (options_->operation.statistics.any()) {
      raise(Error(ErrorCode::unsupported,
                  {.operation = std::string(kCreate),
                   .argument = "statistics",
                   .given = "asked for",
                   .expected = "none: attn_weights and the cache's "
                               "received_heads say what keys receive"}));
    }
    return value_of(state_.one_at_a_time.run([&] {
      return DecodePlan::create(state_.cache, num_heads_, max_queries,
                                options_->attention, options_->operation);
    }));
  }
  // The most tokens that a sequence holds after the run.
  std::size_t longest_after(std::span<const SequenceId> ids,
                            std::span<const std::size_t> added) {
    return value_of(state_.one_at_a_time.run([&]() -> Result<std::size_t> {
      std::size_t longest = 0;
      for (std::size_t n = 0; n < ids.size(); ++n) {
        const auto length = state_.cache.length(ids[n]);
        HEADWISE_TRY(length);
        longest = std::max(longest, *length + added[n]);
      }
      return longest;
    }));
  }
  Outputs new_outputs(const ArrayArgument& query, const Wanted& wanted,
                      const Sizes& sizes) const;

  nb::object cache_;
  CacheObject& state_;
  std::unique_ptr<CallOptions> options_;
  nb::kwargs keywords_;  // an executor lies in it
  std::size_t num_heads_;
  DecodePlan plan_;
  Workspace workspace_;  // of one run at a time, as the cache is
};

DecodePlanObject::Outputs DecodePlanObject::new_outputs(
    const ArrayArgument& query, const Wanted& wanted,
    const Sizes& sizes) const {
  const auto floats = [&](const Extents<4>& extents, bool with_first) {
    return NewArray(query, DType::float32,
                    std::span(extents).subspan(with_first ? 0 : 1));
  };
  const bool pairs_batched = sizes.batched || sizes.ragged;
  Outputs outputs;
  if (wanted.out.is_none()) {
    const Extents<4> extents = {sizes.B, sizes.L, num_heads_,
                                state_.cache.options().v_head_dim};
    outputs.output = {query, query.dtype(),
                      std::span(extents).subspan(sizes.batched ? 0 : 1)};
  } else {
    outputs.given.emplace(wanted.out, ArgumentName{kRun, "out"});
  }
  if (const AttnWeights weights = options_->attention.attn_weights;
      weights != AttnWeights::none) {
    outputs.attn_weights =
        floats({sizes.sequences, weights == AttnWeights::mean ? 1 : num_heads_,
                sizes.longest_new, sizes.longest},
               pairs_batched);
  }
  if (options_->attention.scores != ScoresStage::none) {
    outputs.scores =
        floats({sizes.sequences, num_heads_, sizes.longest_new, sizes.longest},
               pairs_batched);
  }
  if (wanted.lse) {
    const std::array<std::size_t, 3> extents = {sizes.B, num_heads_, sizes.L};
    outputs.lse = {query, DType::float32,
                   std::span(extents).subspan(sizes.batched ? 0 : 1)};
  }
  if (wanted.softmax_rows) {
    outputs.softmax_rows =
        floats({sizes.B, num_heads_, sizes.L, 2}, sizes.batched);
  }
  return outputs;
}

// The output, or an AttentionResult if there is more.
nb::object DecodePlanObject::Outputs::object() && {
  nb::object made =
      given ? nb::borrow(given->object()) : std::move(output).object();
  if (!attn_weights && !scores && !lse && !softmax_rows) {
    return made;
  }
  return nb::cast(
      AttentionResult{.output = std::move(made),
                      .attn_weights = std::move(attn_weights).object(),
                      .lse = std::move(lse).object(),
                      .softmax_rows = std::move(softmax_rows).object(),
                      .statistics = nb::none(),
                      .scores = std::move(scores).object(),
                      .state = nb::none()});
}

nb::object DecodePlanObject::run(nb::handle ids, nb::handle query,
                                 nb::handle key, nb::handle value,
                                 nb::handle offsets, const Wanted& wanted) {
  options_->expect_in_place();
  const auto sequences = sequence_ids(ids, {kRun, "ids"});
  ArgumentMemory memory;
  const auto rows = token_offsets(offsets, {kRun, "offsets"}, memory);
  const ArrayArgument q(query, {kRun, "query"});
  const ArrayArgument k(key, {kRun, "key"});
  std::optional<ArrayArgument> v;
  if (!value.is_none()) {
    v.emplace(value, ArgumentName{kRun, "value"});
  }
  const bool batched = q.rank() != 3;
  return with_element_type(q, [&]<class T>(T) {
    const auto queries = call_view<T>(q, batched, "(B, L, Hq, D)");
    const auto keys =
        call_view<T>(k, batched, batched ? "(B, L, Hkv, D)" : "(L, Hkv, D)");
    TensorView<const T, 4> values;
    if (v) {
      values = call_view<T>(*v, batched,
                            batched ? "(B, L, Hkv, Dv)" : "(L, Hkv, Dv)");
    }
    const auto added = new_tokens(rows, sequences.size(), queries.extent(1));
    Outputs outputs = new_outputs(
        q, wanted,
        {.B = queries.extent(0),
         .L = queries.extent(1),
         .sequences = sequences.size(),
         .longest_new =
             added.empty() ? 0 : *std::max_element(added.begin(), added.end()),
         .longest = longest_after(sequences, added),
         .batched = batched,
         .ragged = rows.data() != nullptr});
    const auto views = outputs.views<T>(batched);
    check(state_.one_at_a_time.run([&] {
      return plan_.run(sequences, queries, keys, values, views, workspace_,
                       rows);
    }));
    return std::move(outputs).object();
  });
}

}  // namespace

void bind_decode_plan(nb::module_& module) {
  nb::class_<DecodePlanObject>(
      module, "DecodePlan",
      R"(A step of a model that generates text: adds the new tokens of some
sequences to a KvCache and attends to everything those sequences hold then.

    plan = DecodePlan.create(cache, num_heads=32, max_queries=512,
                             mask=causal())
    output = plan.run([id], query, key, value)

A row has the bits of attention() on what the cache holds.)")
      .def_static(
          "create",
          [](nb::handle cache, nb::handle num_heads, nb::handle max_queries,
             const nb::kwargs& options) {
            CacheObject* state = nullptr;
            if (!nb::try_cast(cache, state, false) || state == nullptr) {
              raise_type({.operation = std::string(kCreate),
                          .argument = "cache",
                          .given = std::string("is ") + nb::repr(cache).c_str(),
                          .expected = "a headwise.KvCache"});
            }
            return new DecodePlanObject(  // nanobind owns it
                nb::borrow(cache), *state, num_heads, max_queries, options);
          },
          nb::arg("cache").none(), nb::arg("num_heads"), nb::arg("max_queries"),
          nb::arg("options"),
          nb::sig("def create(cache: KvCache, num_heads: int, "
                  "max_queries: int, **options: Any) -> DecodePlan"),
          "For num_heads query heads and at most max_queries new tokens per "
          "run, over all sequences. The options are those of attention(), but "
          "no statistics, query_start and offsets. Causality is a mask. "
          "Errors: "
          "ValueError, NotImplementedError.")
      .def(
          "run",
          [](DecodePlanObject& plan, nb::handle ids, nb::handle query,
             nb::handle key, nb::handle value, nb::handle offsets,
             nb::handle lse, nb::handle softmax_rows, nb::handle out) {
            return plan.run(
                ids, query, key, value, offsets,
                {boolean(lse, {kRun, "lse"}),
                 boolean(softmax_rows, {kRun, "softmax_rows"}), out});
          },
          nb::arg("ids").none(), nb::arg("query").none(), nb::arg("key").none(),
          nb::arg("value") = nb::none(), nb::kw_only(),
          nb::arg("offsets") = nb::none(), nb::arg("lse") = false,
          nb::arg("softmax_rows") = false, nb::arg("out") = nb::none(),
          nb::sig("def run(self, ids: Sequence[SequenceId], query: Array, "
                  "key: Array, value: Array | None = None, *, "
                  "offsets: Integers | None = None, lse: bool = False, "
                  "softmax_rows: bool = False, out: Array | None = None) "
                  "-> Array | AttentionResult"),
          R"(Appends key and value as KvCache.append() does, and attends.

    query   (B, L, Hq, D)    or (L, Hq, D) as a batch of one; with offsets
    key     (B, L, Hkv, D)   (B + 1) the rows of all sequences in a batch of one
    value   (B, L, Hkv, Dv)  None with value_is_key_prefix
    output  (B, L, Hq, Dv)   the query's type and library

attn_weights and scores are (B, Hq, longest L, longest length). Errors: those of
append(), and ValueError for more than max_queries tokens; then nothing was
appended.)")
      .def_prop_ro("workspace_bytes", &DecodePlanObject::workspace_bytes,
                   "The memory that a run needs.");
}

}  // namespace headwise::python
