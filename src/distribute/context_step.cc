#include "distribute/context_step.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "attention/check_parts.h"
#include "base/check.h"
#include "decode/decode_part.h"
#include "distribute/call_digest.h"
#include "distribute/context_links.h"
#include "distribute/copy_rows.h"
#include "distribute/or_abort.h"
#include "distribute/rank_tensors.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using internal::part_along;

// The numbers that the spec of a step looks at.
struct StepNumbers {
  std::vector<std::int64_t> queries = {0};  // offsets (B + 1)
  std::vector<std::int64_t> keys = {0};     // offsets (B + 1)
  std::vector<std::int64_t> starts{};       // the lengths before the step (B)
};

TensorView<const std::int64_t, 1> view_of(
    const std::vector<std::int64_t>& numbers) {
  return {numbers.data(), {numbers.size()}};
}

// ---- Checks ----

Status check_options(const AttentionOptions& options,
                     const OperationOptions& operation_options) {
  HEADWISE_TRY(check_rank_options(kContextCache, options, operation_options));
  if (options.offsets.ragged()) {
    return value_error(kContextCache, "offsets", "given",
                       "none: they are an argument of each run");
  }
  if (options.query_start.given()) {
    return value_error(kContextCache, "query_start", "given",
                       "none: queries begin at the length of their sequence");
  }
  return operation_options.added_keys.bias_k.data() == nullptr &&
                 !operation_options.added_keys.zero_attn
             ? ok()
             : Status(value_error(kContextCache, "added_keys", "given",
                                  "none with a cache", ErrorCode::unsupported));
}

std::string place_in_ids(std::size_t n) {
  return "ids[" + std::to_string(n) + "]";
}

Status check_ids(const ContextSequences& sequences,
                 std::span<const SequenceId> ids) {
  for (std::size_t n = 0; n < ids.size(); ++n) {
    HEADWISE_TRY(sequences.check(ids[n], kContextCache, place_in_ids(n)));
    const auto same = std::ranges::find(ids.first(n), ids[n]);
    if (same != ids.first(n).end()) {
      const auto earlier = static_cast<std::size_t>(same - ids.begin());
      return value_error(kContextCache, place_in_ids(n),
                         "the sequence of " + place_in_ids(earlier),
                         "each sequence once");
    }
  }
  return ok();
}

template <class T>
Status check_tensors(const ContextCacheState& state,
                     const ContextStep<T>& step) {
  const KvCacheOptions& stored = state.options.rank;
  const std::size_t B = step.ragged() ? 1 : step.ids.size();
  const std::size_t L = step.query.extent(1);
  const std::size_t Hq = step.query.extent(2);
  HEADWISE_TRY(check_shape(kContextCache, "query", step.query.extents(),
                           "(B, L, Hq, D)", {{B, L, Hq, stored.head_dim}}));
  HEADWISE_TRY(check_shape(kContextCache, "key", step.key.extents(),
                           "(B, L, Hkv, D)",
                           {{B, L, stored.num_kv_heads, stored.head_dim}}));
  HEADWISE_TRY(check_shape(kContextCache, "value", step.value.extents(),
                           "(B, L, Hkv, Dv)",
                           {{B, L, stored.num_kv_heads, stored.v_head_dim}}));
  HEADWISE_TRY(check_shape(kContextCache, "output", step.output.extents(),
                           "(B, L, Hq, Dv)", {{B, L, Hq, stored.v_head_dim}}));
  if (!step.ragged()) {
    return ok();
  }
  HEADWISE_TRY(check_shape(kContextCache, "offsets", step.offsets.extents(),
                           "(B + 1)", {{step.ids.size() + 1}}));
  return Offsets(step.offsets).check(L, L, kContextCache);
}

// Calls body(sequence, share, rows) for each share that gets some of the tokens
// of sequence n of the step, and for the rows of the step that it gets.
template <class T, class Body>
Status for_new_tokens(const ContextSequences& sequences,
                      const ContextStep<T>& step, std::size_t n,
                      const Body& body) {
  const std::size_t before = sequences[step.ids[n]].length;
  const std::size_t after = before + step.count(n);
  std::size_t share = sequences.shares_of(before + 1) - 1;
  for (; before != after && share < sequences.shares_of(after); ++share) {
    const PartRange added = ContextSequences::common(
        sequences.tokens_of(share, after), {before, after - before});
    HEADWISE_TRY(body(share, PartRange{added.first - before, added.count}));
  }
  return ok();
}

// Errors: out_of_range if this rank has too few free pages.
template <class T>
Status check_room(const ContextCacheState& state, const ContextStep<T>& step) {
  const ContextSequences& sequences = state.sequences;
  const std::size_t page = state.options.rank.page_size;
  std::size_t needed = 0;
  for (std::size_t n = 0; n < step.ids.size(); ++n) {
    const ContextSequence& sequence = sequences[step.ids[n]];
    const std::size_t after = sequence.length + step.count(n);
    HEADWISE_TRY(for_new_tokens(
        sequences, step, n, [&](std::size_t share, const PartRange&) {
          const auto pages = [&](std::size_t length) {
            return (sequences.tokens_of(share, length).count + page - 1) / page;
          };
          needed += sequences.rank_of(sequence, share) == state.rank
                        ? pages(after) - pages(sequence.length)
                        : 0;
          return ok();
        }));
  }
  const std::size_t free = state.cache.free_pages();
  return needed <= free ? ok()
                        : Status(argument_error(
                              kContextCache, "key",
                              "needs " + std::to_string(needed) + " pages",
                              "at most the " + std::to_string(free) +
                                  " free pages of the cache",
                              ErrorCode::out_of_range));
}

template <class T>
StepNumbers numbers_of(const ContextSequences& sequences,
                       const ContextStep<T>& step) {
  StepNumbers numbers;
  for (std::size_t n = 0; n < step.ids.size(); ++n) {
    const auto count = static_cast<std::int64_t>(step.count(n));
    const auto before =
        static_cast<std::int64_t>(sequences[step.ids[n]].length);
    numbers.starts.push_back(before);
    numbers.queries.push_back(numbers.queries.back() + count);
    numbers.keys.push_back(numbers.keys.back() + before + count);
  }
  return numbers;
}

template <class T>
AttentionOptions options_of(const ContextStep<T>& step,
                            const StepNumbers& numbers) {
  AttentionOptions options = step.options;
  options.query_start = view_of(numbers.starts);
  options.offsets =
      step.ragged() ? Offsets(view_of(numbers.queries), view_of(numbers.keys))
                    : Offsets::with_batched_queries(view_of(numbers.queries),
                                                    view_of(numbers.keys));
  return options;
}

Status check_group(const Communicator& group, const ContextCacheState& state) {
  return group.ranks() == state.ranks && group.rank() == state.rank
             ? ok()
             : Status(value_error(kContextCache, "group",
                                  "rank " + std::to_string(group.rank()) +
                                      " of " + std::to_string(group.ranks()),
                                  "rank " + std::to_string(state.rank) +
                                      " of " + std::to_string(state.ranks) +
                                      ", as in create()"));
}

struct CheckedStep {
  StepNumbers numbers;
  AttentionOptions options;
  AttentionSpec spec;
};

// Errors: those that one rank finds alone.
template <class T>
Result<CheckedStep> checked(const Communicator& group,
                            const ContextCacheState& state,
                            const ContextStep<T>& step) {
  HEADWISE_TRY(check_group(group, state));
  HEADWISE_TRY(check_options(step.options, step.operation_options));
  HEADWISE_TRY(check_ids(state.sequences, step.ids));
  HEADWISE_TRY(check_tensors(state, step));
  HEADWISE_TRY(check_room(state, step));
  StepNumbers numbers = numbers_of(state.sequences, step);
  AttentionOptions options = options_of(step, numbers);
  const KvCacheOptions& stored = state.options.rank;
  const AttentionShape tensors = {
      .B = 1,
      .Hq = step.query.extent(2),
      .Hkv = stored.num_kv_heads,
      .Lq = static_cast<std::size_t>(numbers.queries.back()),
      .Lkv = static_cast<std::size_t>(numbers.keys.back()),
      .D = stored.head_dim,
      .Dv = stored.v_head_dim};
  // Options that parts of the keys can have, too.
  OperationOptions of_part = step.operation_options;
  of_part.key_part = KeyPart::last;
  HEADWISE_TRY(AttentionSpec::create(tensors, options, of_part, kContextCache));
  auto spec = AttentionSpec::create(tensors, options, step.operation_options,
                                    kContextCache);
  HEADWISE_TRY(spec);
  return CheckedStep{std::move(numbers), std::move(options), *std::move(spec)};
}

// ---- The new tokens ----

template <class T>
Status append(ContextCacheState& state, const ContextStep<T>& step) {
  ContextSequences& sequences = state.sequences;
  for (std::size_t n = 0; n < step.ids.size(); ++n) {
    ContextSequence& sequence = sequences[step.ids[n]];
    const auto append_to = [&](std::size_t share,
                               const PartRange& rows) -> Status {
      const bool is_new = share == sequence.shares.size();
      if (is_new) {
        sequence.shares.emplace_back();
      }
      if (sequences.rank_of(sequence, share) != state.rank) {
        return ok();
      }
      if (is_new) {
        const auto id = state.cache.add();
        HEADWISE_TRY(id);
        sequence.shares[share] = *id;
      }
      return state.cache.append({&sequence.shares[share], 1},
                                step.rows(step.key, n, rows),
                                step.rows(step.value, n, rows));
    };
    HEADWISE_TRY(for_new_tokens(sequences, step, n, append_to));
    sequence.length += step.count(n);
  }
  return ok();
}

// ---- Attention ----

// The state of the rows of one task, in one piece.
class TravellingRows {
 public:
  static Result<TravellingRows> create(const AttentionSpec& spec) {
    const AttentionShape& shape = spec.shape;
    auto numbers =
        Tensor<float, 1>::create_unset({shape.Lq * shape.Hq * (shape.Dv + 2)});
    HEADWISE_TRY(numbers);
    return TravellingRows(*std::move(numbers));
  }

  AttentionState state(const AttentionShape& shape) {
    float* const rows = numbers_.data();
    return {.softmax_rows = {rows, {1, shape.Hq, shape.Lq, 2}},
            .context = {rows + shape.Hq * shape.Lq * 2,
                        {1, shape.Lq, shape.Hq, shape.Dv}}};
  }
  std::span<std::byte> bytes() {
    return writable_bytes_of(numbers_.data(), numbers_.size());
  }

 private:
  explicit TravellingRows(Tensor<float, 1> numbers)
      : numbers_(std::move(numbers)) {}

  Tensor<float, 1> numbers_;
};

template <class T>
class StepRun {
 public:
  StepRun(Communicator& group, ContextCacheState& state,
          const ContextStep<T>& step, const WholeStep& whole)
      : group_(group), state_(state), step_(step), whole_(whole) {}

  Status run() {
    const AttentionShape& shape = whole_.spec.shape;
    heads_ = head_groups(shape, state_.ranks);
    std::vector<std::vector<ContextLink>> links(step_.ids.size());
    for (std::size_t n = 0; n < links.size(); ++n) {
      if (step_.count(n) != 0) {
        links[n] = links_of(whole_.spec, n, state_.sequences,
                            state_.sequences[step_.ids[n]]);
      }
    }
    const std::vector<ContextTask> tasks = tasks_of(links, heads_.size());
    std::vector<Job> jobs;
    for (const ContextTask& task : tasks) {
      if (task.link.rank == state_.rank) {
        jobs.push_back({task});
      }
    }
    // After an error nothing arrives in the jobs any more when they end.
    HEADWISE_TRY(or_abort(group_, [&] { return work(jobs); }));
    return exchange_outputs(tasks, jobs);
  }

 private:
  struct Job {
    ContextTask task;
    std::optional<ContextPart> part{};
    std::optional<TravellingRows> rows{};
    Communicator::Transfer arriving{};
    Tensor<T, 4> output{};  // where it has the last keys
  };
  struct Sent {
    std::size_t depth;
    TravellingRows rows;
    Communicator::Transfer leaving;
  };

  Status work(std::vector<Job>& jobs) {
    if (!jobs.empty()) {
      HEADWISE_TRY(begin(jobs, 0));
    }
    for (std::size_t n = 0; n < jobs.size(); ++n) {
      // The rows of the next one arrive meanwhile.
      if (n + 1 < jobs.size()) {
        HEADWISE_TRY(begin(jobs, n + 1));
      }
      HEADWISE_TRY(attend(jobs, n));
    }
    while (!sent_.empty()) {
      HEADWISE_TRY(finish_send());
    }
    return ok();
  }

  Status begin(std::vector<Job>& jobs, std::size_t n) {
    Job& job = jobs[n];
    auto part = part_of_step(whole_, job.task.n, heads_[job.task.group],
                             job.task.link.keys, job.task.part);
    HEADWISE_TRY(part);
    job.part = *std::move(part);
    if (job.task.part == KeyPart::all) {
      return ok();
    }
    if (!has_first_keys(job.task.part) && job.task.previous == state_.rank) {
      return ok();  // they are here, or will be
    }
    auto rows = TravellingRows::create(job.part->spec);
    HEADWISE_TRY(rows);
    job.rows = *std::move(rows);
    if (has_first_keys(job.task.part)) {
      return ok();
    }
    auto started = group_.start_receive(job.rows->bytes(), job.task.previous);
    HEADWISE_TRY(started);
    job.arriving = *started;
    return ok();
  }

  Status attend(std::vector<Job>& jobs, std::size_t n) {
    Job& job = jobs[n];
    const ContextTask& task = job.task;
    const PartRange& keys = task.link.keys;
    group_.set_step(kContextCache,
                    "keys " + std::to_string(keys.first) + " to " +
                        std::to_string(keys.first + keys.count - 1));
    HEADWISE_TRY(group_.finish(job.arriving));
    const AttentionSpec& spec = job.part->spec;
    AttentionOutputsOf<T> outputs;
    if (job.rows) {
      outputs.state = job.rows->state(spec.shape);
    }
    if (has_last_keys(task.part)) {
      auto output = Tensor<T, 4>::create_unset(
          {1, spec.shape.Lq, spec.shape.Hq, spec.shape.Dv});
      HEADWISE_TRY(output);
      job.output = *std::move(output);
      outputs.output = job.output;
    }
    HEADWISE_TRY(attend(task, spec, outputs));
    job.part.reset();
    return has_last_keys(task.part) ? ok() : hand_on(jobs, n);
  }

  Status attend(const ContextTask& task, const AttentionSpec& spec,
                const AttentionOutputsOf<T>& outputs) {
    const ContextSequence& sequence = state_.sequences[step_.ids[task.n]];
    const HeadsOfStep& heads = heads_[task.group];
    DecodePart part(state_.cache, sequence.shares[task.link.share],
                    heads.key.first);
    const std::size_t bytes = part.workspace_bytes(spec);
    if (!state_.workspace || state_.workspace->bytes() < bytes) {
      state_.workspace.reset();
      auto made = Workspace::create(bytes);
      HEADWISE_TRY(made);
      state_.workspace = *std::move(made);
    }
    const auto query = part_along(
        2, step_.rows(step_.query, task.n, {0, spec.shape.Lq}), heads.query);
    return group_.busy_with([&] {
      part.attend(spec, query, CallOutputs(outputs), *state_.workspace);
      return ok();
    });
  }

  // The rows to the next share.
  Status hand_on(std::vector<Job>& jobs, std::size_t n) {
    Job& job = jobs[n];
    if (job.task.next == state_.rank) {
      const auto next = std::ranges::find_if(
          jobs.begin() + static_cast<std::ptrdiff_t>(n) + 1, jobs.end(),
          [&](const Job& other) {
            return other.task.n == job.task.n &&
                   other.task.group == job.task.group;
          });
      next->rows = std::move(job.rows);
      return ok();
    }
    // The next rank may need these before it takes others of this depth or of
    // the one before.
    while (!sent_.empty() && sent_.front().depth + 2 <= job.task.depth) {
      HEADWISE_TRY(finish_send());
    }
    sent_.push_back({job.task.depth, *std::move(job.rows), {}});
    auto started = group_.start_send(sent_.back().rows.bytes(), job.task.next);
    HEADWISE_TRY(started);
    sent_.back().leaving = *started;
    return ok();
  }

  Status finish_send() {
    HEADWISE_TRY(group_.finish(sent_.front().leaving));
    sent_.pop_front();
    return ok();
  }

  // Every rank gets what the others have finished, in the order of the tasks.
  Status exchange_outputs(const std::vector<ContextTask>& tasks,
                          const std::vector<Job>& jobs) {
    group_.set_step(kContextCache, "exchanging outputs");
    std::vector<std::vector<T>> numbers(state_.ranks);
    for (const ContextTask& task : tasks) {
      if (has_last_keys(task.part)) {
        numbers[task.link.rank].resize(numbers[task.link.rank].size() +
                                       outputs_of(task).size());
      }
    }
    std::vector<T> own;
    for (const Job& job : jobs) {
      own.insert(own.end(), job.output.elements().begin(),
                 job.output.elements().end());
    }
    const std::vector<std::span<const std::byte>> out(
        state_.ranks, bytes_of(own.data(), own.size()));
    std::vector<std::span<std::byte>> in;
    for (std::vector<T>& of_rank : numbers) {
      in.push_back(writable_bytes_of(of_rank.data(), of_rank.size()));
    }
    HEADWISE_TRY(group_.exchange(out, in));
    std::vector<std::size_t> next(state_.ranks, 0);
    for (const ContextTask& task : tasks) {
      if (has_last_keys(task.part)) {
        const TensorView<T, 4> to = outputs_of(task);
        std::size_t& from = next[task.link.rank];
        copy_rows<T>({numbers[task.link.rank].data() + from, to.extents()}, to);
        from += to.size();
      }
    }
    return ok();
  }

  TensorView<T, 4> outputs_of(const ContextTask& task) const {
    return part_along(
        2, step_.rows(step_.output, task.n, {0, step_.count(task.n)}),
        heads_[task.group].query);
  }

  Communicator& group_;
  ContextCacheState& state_;
  const ContextStep<T>& step_;
  const WholeStep& whole_;
  std::vector<HeadsOfStep> heads_{};
  std::deque<Sent> sent_{};
};

template <class T>
std::string description(const ContextCacheState& state,
                        const ContextStep<T>& step, const AttentionSpec& spec) {
  Digest digest;
  digest.add(state.options.share_tokens);
  digest.add(static_cast<std::uint64_t>(state.options.rank.dtype));
  for (const SequenceId id : step.ids) {
    digest.add(std::uint64_t{id.slot});
    digest.add(state.sequences[id].first_rank);
  }
  return describe_call(name_of(DTypeOf<T>::value), spec, undivided(spec.mask),
                       digest);
}

}  // namespace

template <class T>
Status run_step(Communicator& group, ContextCacheState& state,
                const ContextStep<T>& step) {
  group.set_step(kContextCache, "the start");
  const auto all = checked(group, state, step);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(
      group.check_same("the call", description(state, step, all->spec)));
  HEADWISE_TRY(append(state, step));
  const WholeStep whole = {all->spec, all->options, step.operation_options};
  return StepRun<T>(group, state, step, whole).run();
}

template Status run_step(Communicator& group, ContextCacheState& state,
                         const ContextStep<float>& step);
template Status run_step(Communicator& group, ContextCacheState& state,
                         const ContextStep<BFloat16>& step);
template Status run_step(Communicator& group, ContextCacheState& state,
                         const ContextStep<Float16>& step);

}  // namespace headwise::inline HEADWISE_ABI
