// headwise.KvCache, and what plans on it need.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "argument_memory.h"
#include "array_argument.h"
#include "headwise/decode/kv_cache.h"
#include "number_arguments.h"
#include "one_at_a_time.h"

namespace headwise::python {

struct CacheObject {
  explicit CacheObject(KvCache made) : cache(std::move(made)) {}

  KvCache cache;
  OneAtATime one_at_a_time;
};

// A list of headwise.SequenceId. TypeError for anything else.
std::vector<SequenceId> sequence_ids(nb::handle ids, ArgumentName name);
// (B + 1); none: no view.
TensorView<const std::int64_t, 1> token_offsets(nb::handle offsets,
                                                ArgumentName name,
                                                ArgumentMemory& memory);

}  // namespace headwise::python
