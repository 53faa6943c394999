// Random operations on a cache and on plain vectors that must hold the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "decode/plain_cache.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/executor.h"
#include "headwise/run/workspace.h"

namespace headwise::testing_support {

// The pages that a cache must use, as shared pointers: a page is in use while
// somebody points to it.
using Page = std::shared_ptr<int>;

class CacheMachine {
 public:
  CacheMachine(const KvCacheOptions& options, std::uint64_t seed);

  // One operation and what must be true after it. Empty, or what is wrong.
  std::string step();

 private:
  struct Sequence {
    SequenceId id;
    PlainSequence tokens;
    std::vector<Page> pages;  // null: given back
  };
  struct Batch {
    std::vector<std::size_t> members;  // of sequences_
    std::vector<SequenceId> ids;
    std::vector<std::int64_t> offsets;
    Tensor<float, 4> query;
    Tensor<float, 4> key;
    Tensor<float, 4> value;
    TensorView<const float, 4> values() const;
  };

  std::size_t below(std::size_t end) { return random_() % end; }
  std::size_t length(const Sequence& sequence) const {
    return sequence.tokens.length(options_);
  }
  std::size_t page_size() const {
    return options_.page_size == 0 ? 128 : options_.page_size;
  }
  Tensor<float, 4> random_rows(std::size_t rows, std::size_t heads,
                               std::size_t size);
  Batch random_batch();
  // What the pages are once the batch is added; false: there are too few.
  bool grown(const Batch& batch, std::vector<std::vector<Page>>& pages) const;
  std::size_t used(const std::vector<std::vector<Page>>& pages) const;
  std::vector<std::vector<Page>> all_pages() const;

  std::string add();
  std::string append();
  std::string run();
  std::string truncate();
  std::string fork();
  std::string keep();
  std::string erase();
  std::string refuse();
  std::string check_outputs(const Batch& batch, const Tensor<float, 4>& output,
                            const AttentionOptions& options);
  // The operation's indices: some in order, or now and then nonsense.
  std::vector<std::int64_t> random_indices(std::size_t length);
  // Whether keep() has the pages it writes to; `pages` are then the sequence's.
  bool kept(const Sequence& sequence, const std::vector<std::int64_t>& indices,
            std::vector<Page>& pages) const;
  std::string check_state() const;
  std::string check_received(const Sequence& sequence) const;

  std::mt19937_64 random_;
  KvCache cache_;
  KvCacheOptions options_;
  std::size_t num_heads_;
  std::size_t pages_;
  Executor executor_;
  DecodePlan plan_;
  Workspace workspace_;
  std::vector<Sequence> sequences_;
  std::vector<SequenceId> erased_;
};

}  // namespace headwise::testing_support
