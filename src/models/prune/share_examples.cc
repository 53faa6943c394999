#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "distribute/or_tell.h"
#include "headwise/prune/sentence_importance.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using ByLayer = std::vector<Tensor<float, 2>>;

// Of the examples [begin, end), those of rank r.
struct Part {
  std::size_t begin;
  std::size_t end;
};

Part part_of(std::size_t begin, std::size_t end, std::size_t rank,
             std::size_t ranks) {
  const std::size_t count = end - begin;
  return {begin + count * rank / ranks, begin + count * (rank + 1) / ranks};
}

// compute(begin, end) gives `width` values for each of its examples.
template <class T, class Compute>
Result<std::vector<T>> values_of_all(Communicator& group, std::size_t begin,
                                     std::size_t end, std::size_t width,
                                     const Compute& compute) {
  const Part part = part_of(begin, end, group.rank(), group.ranks());
  std::vector<T> own;
  const Status done = group.busy_with([&]() -> Status {
    if (part.begin == part.end) {
      return ok();
    }
    HEADWISE_ASSIGN(own, compute(part.begin, part.end));
    return ok();
  });
  HEADWISE_TRY(group.agree(done));
  return or_tell(&group, [&]() -> Result<std::vector<T>> {
    std::vector<T> all((end - begin) * width);
    std::vector<std::span<const std::byte>> out;
    std::vector<std::span<std::byte>> in;
    for (std::size_t r = 0; r < group.ranks(); ++r) {
      const auto [first, last] = part_of(begin, end, r, group.ranks());
      out.push_back(std::as_bytes(std::span(own)));
      in.push_back(std::as_writable_bytes(std::span(all).subspan(
          (first - begin) * width, (last - first) * width)));
    }
    HEADWISE_TRY(group.exchange(out, in));
    return all;
  });
}

// By example, then by list, layer and head.
std::vector<float> flattened(std::span<const ByLayer* const> lists,
                             std::size_t examples) {
  std::vector<float> flat;
  for (std::size_t x = 0; x < examples; ++x) {
    for (const ByLayer* const layers : lists) {
      for (const auto& layer : *layers) {
        for (std::size_t at = 0; at < layer.extent(1); ++at) {
          flat.push_back(layer(x, at));
        }
      }
    }
  }
  return flat;
}

// What flattened() was given; `heads` as in GatedModel.
Result<std::vector<ByLayer>> unflattened(
    std::span<const float> flat, std::size_t lists, std::size_t examples,
    const std::vector<std::vector<std::size_t>>& heads) {
  std::vector<ByLayer> made(lists);
  for (ByLayer& layers : made) {
    for (const auto& of_layer : heads) {
      HEADWISE_ASSIGN(auto layer,
                      Tensor<float, 2>::create({examples, of_layer.size()}));
      layers.push_back(std::move(layer));
    }
  }
  for (std::size_t x = 0; x < examples; ++x) {
    for (ByLayer& layers : made) {
      for (auto& layer : layers) {
        for (std::size_t at = 0; at < layer.extent(1); ++at) {
          layer(x, at) = flat.front();
          flat = flat.subspan(1);
        }
      }
    }
  }
  return made;
}

std::size_t count_heads(const GatedModel& model) {
  std::size_t heads = 0;
  for (const auto& layer : model.heads) {
    heads += layer.size();
  }
  return heads;
}

// lists_of(begin, end) gives `lists` values for each example and head, as
// pointers into its result.
template <class Value, class Compute, class ListsOf>
Result<std::vector<ByLayer>> lists_of_all(const GatedModel& model,
                                          Communicator& group,
                                          std::size_t begin, std::size_t end,
                                          std::size_t lists,
                                          const Compute& compute,
                                          const ListsOf& lists_of) {
  const auto all = values_of_all<float>(
      group, begin, end, lists * count_heads(model),
      [&](std::size_t first, std::size_t last) -> Result<std::vector<float>> {
        HEADWISE_ASSIGN(const auto own, compute(first, last));
        return flattened(lists_of(own), last - first);
      });
  HEADWISE_TRY(all);
  return unflattened(*all, lists, end - begin, model.heads);
}

}  // namespace

Result<GatedModel> share_examples(GatedModel model, Communicator& group) try {
  const auto of = std::make_shared<const GatedModel>(std::move(model));
  Communicator* const ranks = &group;
  GatedModel shared{.heads = of->heads, .examples = of->examples};
  if (of->losses) {
    shared.losses = [of, ranks](std::size_t begin, std::size_t end,
                                HeadGateSpan gates) {
      return values_of_all<double>(*ranks, begin, end, 1,
                                   [&](std::size_t first, std::size_t last) {
                                     return of->losses(first, last, gates);
                                   });
    };
  }
  if (of->gradients) {
    shared.gradients = [of, ranks](std::size_t begin, std::size_t end,
                                   HeadGateSpan gates) -> Result<ByLayer> {
      auto all = lists_of_all<ByLayer>(
          *of, *ranks, begin, end, 1,
          [&](std::size_t first, std::size_t last) {
            return of->gradients(first, last, gates);
          },
          [](const ByLayer& own) { return std::array{&own}; });
      HEADWISE_TRY(all);
      return std::move((*all)[0]);
    };
  }
  if (of->means) {
    shared.means = [of, ranks](std::size_t begin, std::size_t end,
                               HeadGateSpan gates) -> Result<HeadMeans> {
      auto all = lists_of_all<HeadMeans>(
          *of, *ranks, begin, end, 2,
          [&](std::size_t first, std::size_t last) {
            return of->means(first, last, gates);
          },
          [](const HeadMeans& own) {
            return std::array{&own.entropy, &own.largest};
          });
      HEADWISE_TRY(all);
      return HeadMeans{std::move((*all)[0]), std::move((*all)[1])};
    };
  }
  return shared;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
