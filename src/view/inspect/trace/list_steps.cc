// The shapes of a job's steps, without computing them.
// tests/apps/explain_job_test.cc compares this list with what the steps really
// report.
#include <algorithm>
#include <array>
#include <utility>

#include "headwise/attention/stepwise.h"
#include "headwise/inspect/trace.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

class List {
 public:
  explicit List(const JobShape& job) : job_(job) {}

  void add(std::string_view name, std::vector<std::string> axes,
           DType dtype = DType::float32) {
    TracedStep step;
    step.name = name;
    step.dtype = dtype;
    for (std::string& axis : axes) {
      if (!job_.batched && &axis == axes.data() && axis != "H" &&
          axis != "Hkv") {
        continue;
      }
      step.extents.push_back(extent(axis));
      step.axes.push_back(std::move(axis));
    }
    steps_.push_back(std::move(step));
  }

  // The embeddings have the input size of the query projection.
  void add_embedded(std::string_view name, std::string_view length) {
    add(name, {"B", std::string(length), "E"});
    steps_.back().extents.back() = job_.query_dim;
  }

  // What the options make of the scores, (B, H, Lq, `columns`).
  void add_scores(const AttentionSpec& spec, const std::string& columns) {
    for (const ScoreStep& step : kScoreSteps) {
      if (step.given(spec)) {
        add(step.name, {"B", "H", "Lq", columns});
      }
    }
    const std::vector<BoundMask::Part> masks = spec.mask.parts();
    if (!masks.empty()) {
      add_masks(masks);
      add("masked_scores", {"B", "H", "Lq", columns});
    }
    if (spec.sinks.given()) {
      add("sinks", {"H"});
    }
  }

  std::vector<TracedStep> take() { return std::move(steps_); }

 private:
  void add_masks(const std::vector<BoundMask::Part>& masks) {
    constexpr std::array<const char*, 4> kAxes = {"B", "H", "Lq", "Lkv"};
    for (const BoundMask::Part& mask : masks) {
      std::vector<std::string> axes;
      for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
        axes.emplace_back(mask.varies[axis] ? kAxes[axis] : "1");
      }
      add(mask.name, std::move(axes), DType::boolean);
    }
  }

  std::size_t extent(std::string_view name) const {
    const std::size_t kv_heads = job_.num_kv_heads.value_or(job_.num_heads);
    using Size = std::pair<std::string_view, std::size_t>;
    const std::array<Size, 18> sizes = {
        {{"B", job_.B},
         {"H", job_.num_heads},
         {"Hkv", kv_heads},
         {"L", job_.Lq},
         {"Lq", job_.Lq},
         {"Lkv", job_.Lkv},
         {"Lkv+1", job_.Lkv + 1},
         {"Lkv+2", job_.Lkv + 2},
         {"D", job_.head_dim},
         {"Dv", job_.v_head_dim},
         {"H*D", job_.num_heads * job_.head_dim},
         {"H*Dv", job_.num_heads * job_.v_head_dim},
         {"Hkv*D", kv_heads * job_.head_dim},
         {"Hkv*Dv", kv_heads * job_.v_head_dim},
         {"E", job_.embed_dim},
         {"query_dim", job_.query_dim},
         {"kdim", job_.kdim},
         {"vdim", job_.vdim}}};
    const auto* const found = std::ranges::find(sizes, name, &Size::first);
    return found == sizes.end() ? 1 : found->second;
  }

  const JobShape& job_;
  std::vector<TracedStep> steps_;
};

// The axis of the keys with the added ones.
std::string columns_of(const JobShape& job) {
  const bool one = job.bias_kv != job.zero_attn;
  return job.bias_kv && job.zero_attn ? "Lkv+2" : one ? "Lkv+1" : "Lkv";
}

void add_added_keys(List& list, const JobShape& job, const std::string& kv) {
  if (job.bias_kv) {
    list.add("bias_k", {kv, "D"});
    list.add("bias_v", {kv, "Dv"});
  }
  if (job.bias_kv || job.zero_attn) {
    list.add("k_added", {"B", kv, columns_of(job), "D"});
    list.add("v_added", {"B", kv, columns_of(job), "Dv"});
  }
}

void add_tokens(List& list, const JobShape& job) {
  const std::string length = job.cross ? "Lq" : "L";
  list.add("lengths", {"B"}, DType::int64);
  list.add("padded", {"B", length}, DType::int64);
  list.add_embedded("embedded", length);
  if (job.cross) {
    list.add("lengths_kv", {"B"}, DType::int64);
    list.add("padded_kv", {"B", "Lkv"}, DType::int64);
    list.add_embedded("embedded_kv", "Lkv");
  }
}

}  // namespace

std::vector<TracedStep> list_steps(const JobShape& job) {
  List list(job);
  if (job.from_hidden) {
    list.add("hidden", {"B", "L", "E"});
  } else if (job.from_tokens) {
    add_tokens(list, job);
  } else {
    list.add("query", {"B", "Lq", "query_dim"});
    list.add("key", {"B", "Lkv", "kdim"});
    list.add("value", {"B", "Lkv", "vdim"});
  }
  list.add("q", {"B", "Lq", "H*D"});
  // Key and value heads have their own axis name if there are fewer of them.
  const std::string kv =
      job.num_kv_heads.value_or(job.num_heads) == job.num_heads ? "H" : "Hkv";
  list.add("k", {"B", "Lkv", kv + "*D"});
  list.add("v", {"B", "Lkv", kv + "*Dv"});
  list.add("q_split", {"B", "Lq", "H", "D"});
  list.add("k_split", {"B", "Lkv", kv, "D"});
  list.add("v_split", {"B", "Lkv", kv, "Dv"});
  list.add("q_heads", {"B", "H", "Lq", "D"});
  list.add("k_heads", {"B", kv, "Lkv", "D"});
  list.add("v_heads", {"B", kv, "Lkv", "Dv"});
  if (job.qk_norm) {
    list.add("q_normed", {"B", "H", "Lq", "D"});
    list.add("k_normed", {"B", kv, "Lkv", "D"});
  }
  if (job.rotary) {
    list.add("q_rotated", {"B", "H", "Lq", "D"});
    list.add("k_rotated", {"B", kv, "Lkv", "D"});
  }
  add_added_keys(list, job, kv);
  const std::string columns = columns_of(job);
  list.add("scores", {"B", "H", "Lq", columns});
  if (job.spec != nullptr) {
    list.add_scores(*job.spec, columns);
  }
  list.add("attn_weights", {"B", "H", "Lq", columns});
  if (job.spec != nullptr && job.spec->dropout.active()) {
    list.add("dropped_weights", {"B", "H", "Lq", columns});
  }
  list.add("context", {"B", "H", "Lq", "Dv"});
  list.add("merged", {"B", "Lq", "H*Dv"});
  list.add("output", {"B", "Lq", job.out_proj ? "E" : "H*Dv"});
  return list.take();
}

}  // namespace headwise::inline HEADWISE_ABI
