#include "ablated_gates.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "headwise/models/heads_left.h"
#include "shell/head_list.h"

namespace headwise::cli {

Result<std::vector<Tensor<float, 1>>> ablated_gates(
    const TextModel& model, const std::vector<HeadId>& heads) {
  std::vector<Tensor<float, 1>> all;
  for (std::size_t n = 0; n < model.shape().num_layers; ++n) {
    auto gates = Tensor<float, 1>::create({model.heads_in(n).size()});
    HEADWISE_TRY(gates);
    std::ranges::fill(gates->elements(), 1.0f);
    all.push_back(*std::move(gates));
  }
  const HeadsLeft left = heads_left(model);
  for (const HeadId& head : heads) {
    const auto place = place_of_head("--ablate", head, left);
    HEADWISE_TRY(place);
    all[head.layer](*place) = 0;
  }
  return all;
}

}  // namespace headwise::cli
