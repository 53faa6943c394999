// The heads that `headwise view --ablate` leaves out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"

namespace headwise::cli {

// By layer, (heads of the layer): 0 for these heads, 1 for the others. Errors:
// of --ablate, for a head that the model does not have; out_of_memory.
Result<std::vector<Tensor<float, 1>>> ablated_gates(
    const TextModel& model, const std::vector<HeadId>& heads);

// A head changes the maps of later layers only. Errors: of --ablate, if none of
// these heads changes one of the layers that --layers leaves on the page.
Status check_seen(const TextModel& model, const std::vector<HeadId>& heads,
                  std::span<const std::size_t> layers);

// A line about those of these heads that change no map of the layers, or
// nothing.
std::string unseen_text(const std::vector<HeadId>& heads,
                        std::span<const std::size_t> layers);

}  // namespace headwise::cli
