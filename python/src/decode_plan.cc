// headwise.DecodePlan
#include "headwise/decode/decode_plan.h"

#include <nanobind/nanobind.h>

#include <algorithm>
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
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"

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

// (B + 1)
std::vector<std::int64_t> offsets_of(std::span<const std::size_t> lengths) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::size_t length : lengths) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(length));
  }
  return offsets;
}

// The spec of a run, as far as outputs depend on it.
struct RunShape {
  // `lengths` are those after the run.
  RunShape(const CallOptions& options, std::size_t num_heads,
           const KvCacheOptions& cache, std::span<const std::size_t> added,
           std::span<const std::size_t> lengths, bool ragged)
      : queries(offsets_of(added)),
        keys(offsets_of(lengths)),
        spec(create(options, num_heads, cache, ragged)) {}
  RunShape(const RunShape&) = delete;
  RunShape& operator=(const RunShape&) = delete;

  std::vector<std::int64_t> queries, keys;
  AttentionSpec spec;

 private:
  // A ragged batch, or a padded one: all have as many new tokens.
  AttentionSpec create(const CallOptions& options, std::size_t num_heads,
                       const KvCacheOptions& cache, bool ragged) const {
    AttentionShape shape = {.Hq = num_heads,
                            .Hkv = cache.num_kv_heads,
                            .D = cache.head_dim,
                            .Dv = cache.v_head_dim};
    AttentionOptions wanted;
    wanted.attn_weights = options.attention.attn_weights;
    wanted.scores = options.attention.scores;
    OperationOptions of_operation;
    of_operation.kv_groups = options.operation.kv_groups;
    of_operation.statistics = options.operation.statistics;
    if (ragged) {
      shape.B = 1;
      shape.Lq = static_cast<std::size_t>(queries.back());
      shape.Lkv = static_cast<std::size_t>(keys.back());
      wanted.offsets = Offsets(queries, keys);
    } else {
      shape.B = queries.size() - 1;
      shape.Lq = longest(queries);
      shape.Lkv = longest(keys);
    }
    return value_of(
        AttentionSpec::create(shape, wanted, of_operation, "decode"));
  }
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
        max_queries_(unsigned_integer(max_queries, {kCreate, "max_queries"})),
        plan_(create()),
        workspace_(value_of(Workspace::create(plan_.workspace_bytes()))) {}

  nb::object run(nb::handle ids, nb::handle query, nb::handle key,
                 nb::handle value, nb::handle offsets,
                 const CallOptions& wanted);
  std::size_t workspace_bytes() const { return plan_.workspace_bytes(); }
  // The arguments of create().
  nb::dict entries() const {
    nb::dict entries;
    entries["cache"] = cache_;
    entries["num_heads"] = num_heads_;
    entries["max_queries"] = max_queries_;
    entries.update(keywords_);
    return entries;
  }

 private:
  DecodePlan create() {
    options_->read(keywords_, {kAttentionOptions, kOperationOptions});
    return value_of(state_.one_at_a_time.run([&] {
      return DecodePlan::create(state_.cache, num_heads_, max_queries_,
                                options_->attention, options_->operation);
    }));
  }
  // The lengths of the sequences after the run.
  std::vector<std::size_t> lengths_after(std::span<const SequenceId> ids,
                                         std::span<const std::size_t> added) {
    std::vector<std::size_t> lengths;
    check(state_.one_at_a_time.run([&]() -> Status {
      for (std::size_t n = 0; n < ids.size(); ++n) {
        const auto length = state_.cache.length(ids[n]);
        HEADWISE_TRY(length);
        lengths.push_back(*length + added[n]);
      }
      return ok();
    }));
    return lengths;
  }

  nb::object cache_;
  CacheObject& state_;
  std::unique_ptr<CallOptions> options_;
  nb::kwargs keywords_;  // an executor lies in it
  std::size_t num_heads_, max_queries_;
  DecodePlan plan_;
  Workspace workspace_;  // of one run at a time, as the cache is
};

nb::object DecodePlanObject::run(nb::handle ids, nb::handle query,
                                 nb::handle key, nb::handle value,
                                 nb::handle offsets,
                                 const CallOptions& wanted) {
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
  const bool ragged = rows.data() != nullptr;
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
    const RunShape shape(*options_, num_heads_, state_.cache.options(), added,
                         lengths_after(sequences, added), ragged);
    CallOutputs outputs(shape.spec, q, {batched, batched || ragged}, wanted);
    const AttentionOutputsOf<T> views = outputs.views<T>();
    check(state_.one_at_a_time.run([&]() -> Status {
      HEADWISE_TRY(
          plan_.run(sequences, queries, keys, values, views, workspace_, rows));
      return outputs.pool();
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

    >>> cache = headwise.KvCache.create(num_kv_heads=8, head_dim=64, max_tokens=4096)
    >>> plan = headwise.DecodePlan.create(cache, num_heads=32, max_queries=512,
    ...                                   mask=headwise.causal())
    >>> id = cache.add()
    >>> query = np.ones((1, 5, 32, 64), np.float32)
    >>> key, value = np.ones((2, 1, 5, 8, 64), np.float32)
    >>> plan.run([id], query, key, value).shape
    (1, 5, 32, 64)
    >>> cache.length(id)
    5

A row has the bits of attention() on what the cache holds.)")
      .def_static(
          "create",
          [](nb::handle cache, nb::handle num_heads, nb::handle max_queries,
             const nb::kwargs& options) {
            CacheObject* state = nullptr;
            if (!nb::try_cast(cache, state, false) || state == nullptr) {
              raise_kind(cache, {kCreate, "cache"}, "a headwise.KvCache");
            }
            return new DecodePlanObject(  // nanobind owns it
                nb::borrow(cache), *state, num_heads, max_queries, options);
          },
          nb::arg("cache").none(), nb::arg("num_heads"), nb::arg("max_queries"),
          nb::arg("options"),
          nb::sig("def create(cache: KvCache, num_heads: int, "
                  "max_queries: int, **options: Unpack[PlanOptions]) -> "
                  "DecodePlan"),
          "For num_heads query heads and at most max_queries new tokens per "
          "run, over all sequences. The options are those of attention(), but "
          "no query_start and offsets. Causality is a mask. Errors: "
          "ValueError, NotImplementedError.")
      .def(
          "run",
          [](DecodePlanObject& plan, nb::handle ids, nb::handle query,
             nb::handle key, nb::handle value, nb::handle offsets,
             nb::handle lse, nb::handle softmax_rows, nb::handle out) {
            CallOptions wanted(kRun);
            wanted.lse = boolean(lse, {kRun, "lse"});
            wanted.softmax_rows = boolean(softmax_rows, {kRun, "softmax_rows"});
            if (!out.is_none()) {
              wanted.out = nb::borrow(out);
            }
            return plan.run(ids, query, key, value, offsets, wanted);
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

attn_weights and scores are (B, Hq, longest L, longest length). Statistics are
those of the new tokens' rows; columns are (B, Hq, longest length), with offsets
(1, Hq, all lengths). Errors: those of append(), and ValueError for more than max_queries tokens; then nothing was
appended.)")
      .def(NoState("create() it again"))
      .def("__repr__",
           [](nb::handle self) {
             return object_text(
                 self, nb::cast<const DecodePlanObject&>(self).entries());
           })
      .def_prop_ro("workspace_bytes", &DecodePlanObject::workspace_bytes,
                   "The memory that a run needs.");
}

}  // namespace headwise::python
