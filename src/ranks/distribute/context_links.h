// The way of the rows of a step through the shares of their sequences.
#pragma once

#include <cstddef>
#include <vector>

#include "attention/call_part.h"
#include "distribute/context_sequences.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// A share whose keys some query of the step may see.
struct ContextLink {
  std::size_t share;
  std::size_t rank;
  PartRange keys;
};

// The whole step, and the options that its spec was made of.
struct WholeStep {
  const AttentionSpec& spec;
  const AttentionOptions& options;
  const OperationOptions& operation_options;
};

// What some heads of one sequence do with one share. Errors: out_of_memory.
struct ContextPart {
  internal::OptionsOfPart options;  // whose numbers the spec looks at
  AttentionSpec spec;
};
struct HeadsOfStep {
  PartRange query;
  PartRange key;
};
Result<ContextPart> part_of_step(const WholeStep& whole, std::size_t n,
                                 const HeadsOfStep& heads,
                                 const PartRange& keys, KeyPart key_part);

// Those of sequence n of the step, at least one.
std::vector<ContextLink> links_of(const AttentionSpec& spec, std::size_t n,
                                  const ContextSequences& sequences,
                                  const ContextSequence& sequence);

// Groups of heads that the ranks take one after another: the fewer sequences,
// the more.
std::vector<HeadsOfStep> head_groups(const AttentionShape& shape,
                                     std::size_t ranks);

// One link of one sequence and group of heads.
struct ContextTask {
  std::size_t depth;  // of the link among those of the sequence
  std::size_t n;
  std::size_t group;
  ContextLink link;
  KeyPart part;
  std::size_t previous;  // the ranks that have the rows before and after
  std::size_t next;
};

// Those of all ranks, by depth: each comes after the one whose rows it goes on
// with, and what can be done at the same time comes together. Ranks that take
// them in this order never wait for one another in a circle, as long as none
// waits for the next rank to take rows of its own depth or of the one before.
std::vector<ContextTask> tasks_of(
    const std::vector<std::vector<ContextLink>>& links, std::size_t groups);

}  // namespace headwise::inline HEADWISE_ABI
