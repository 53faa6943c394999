#include "distribute/context_step.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "attention/check_parts.h"
#include "decode/decode_part.h"
#include "distribute/append_tokens.h"
#include "distribute/call_digest.h"
#include "distribute/checked_step.h"
#include "distribute/context_links.h"
#include "distribute/copy_rows.h"
#include "distribute/or_abort.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The state of the rows of one task, in one piece.
class TravellingRows {
 public:
  static Result<TravellingRows> create(const AttentionSpec& spec) {
    const AttentionShape& shape = spec.shape;
    HEADWISE_ASSIGN(auto numbers, Tensor<float, 1>::create_unset(
                                      {shape.Lq * shape.Hq * (shape.Dv + 2)}));
    return TravellingRows(std::move(numbers));
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
    HEADWISE_ASSIGN(job.part,
                    part_of_step(whole_, job.task.n, heads_[job.task.group],
                                 job.task.link.keys, job.task.part));
    if (job.task.part == KeyPart::all) {
      return ok();
    }
    if (!has_first_keys(job.task.part) && job.task.previous == state_.rank) {
      return ok();  // they are here, or will be
    }
    HEADWISE_ASSIGN(job.rows, TravellingRows::create(job.part->spec));
    if (has_first_keys(job.task.part)) {
      return ok();
    }
    HEADWISE_ASSIGN(job.arriving,
                    group_.start_receive(job.rows->bytes(), job.task.previous));
    return ok();
  }

  Status attend(std::vector<Job>& jobs, std::size_t n) {
    Job& job = jobs[n];
    const ContextTask& task = job.task;
    const PartRange& keys = task.link.keys;
    group_.set_step(kContextCache, message("keys {} to {}", keys.first,
                                           keys.first + keys.count - 1));
    HEADWISE_TRY(group_.finish(job.arriving));
    const AttentionSpec& spec = job.part->spec;
    AttentionOutputsOf<T> outputs;
    if (job.rows) {
      outputs.state = job.rows->state(spec.shape);
    }
    if (has_last_keys(task.part)) {
      HEADWISE_ASSIGN(job.output,
                      Tensor<T, 4>::create_unset(
                          {1, spec.shape.Lq, spec.shape.Hq, spec.shape.Dv}));
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
      HEADWISE_ASSIGN(state_.workspace, Workspace::create(bytes));
    }
    const auto query = part_along(
        2, step_.rows(step_.query, task.n, {0, spec.shape.Lq}), heads.query);
    return group_.busy_with([&] {
      part.attend(spec,
                  CallTensors(AttentionInputsOf<T>{query, {}, {}}, outputs),
                  *state_.workspace);
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
    HEADWISE_ASSIGN(auto started, group_.start_send(sent_.back().rows.bytes(),
                                                    job.task.next));
    sent_.back().leaving = started;
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
std::string step_description(const ContextCacheState& state,
                             const ContextStep<T>& step,
                             const AttentionSpec& spec) {
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
  const auto all = checked_step(group, state, step);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(
      group.check_same("the call", step_description(state, step, all->spec)));
  HEADWISE_TRY(append_tokens(state, step));
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
