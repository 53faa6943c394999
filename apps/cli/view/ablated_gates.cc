#include "ablated_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "headwise/models/text_model.h"
#include "shell/models/head_list.h"
#include "shell/outcome.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

// Those whose effects begin after the last of these layers.
std::vector<HeadId> unseen(const std::vector<HeadId>& heads,
                           std::span<const std::size_t> layers) {
  std::vector<HeadId> late;
  std::ranges::copy_if(
      heads, std::back_inserter(late),
      [&](const HeadId& head) { return head.layer >= layers.back(); });
  return late;
}

}  // namespace

Result<std::vector<Tensor<float, 1>>> ablated_gates(
    const TextModel& model, const std::vector<HeadId>& heads) {
  std::vector<Tensor<float, 1>> all;
  for (std::size_t n = 0; n < model.shape().num_layers; ++n) {
    HEADWISE_ASSIGN(auto gates,
                    Tensor<float, 1>::create({model.heads_in(n).size()}));
    std::ranges::fill(gates.elements(), 1.0f);
    all.push_back(std::move(gates));
  }
  const HeadsLeft left = heads_left(model);
  for (const HeadId& head : heads) {
    HEADWISE_ASSIGN(const auto place, place_of_head("--ablate", head, left));
    all[head.layer](place) = 0;
  }
  return all;
}

Status check_seen(const TextModel& model, const std::vector<HeadId>& heads,
                  std::span<const std::size_t> layers) {
  const std::vector<HeadId> late = unseen(heads, layers);
  if (late.size() < heads.size() ||
      layers.back() + 1 == model.shape().num_layers) {
    return ok();
  }
  return usage_error(
      message("--ablate has {}.{}, which changes only layers after {}, but "
              "--layers ends at {}",
              late[0].layer, late[0].head, late[0].layer, layers.back()));
}

std::string unseen_text(const std::vector<HeadId>& heads,
                        std::span<const std::size_t> layers) {
  const std::string names = heads_text(unseen(heads, layers), ", ");
  return names.empty()
             ? ""
             : say("{} cannot change a map on this page; headwise ablate "
                   "measures the effect on the output\n",
                   names);
}

}  // namespace headwise::cli
