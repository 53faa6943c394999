#include "distribute/exchange_all.h"

#include <cstddef>
#include <vector>

namespace headwise::internal::inline HEADWISE_ABI {

Status exchange_all(Communicator& group,
                    std::span<const std::span<float>> all) {
  std::vector<std::span<const std::byte>> out(group.ranks(),
                                              std::as_bytes(all[group.rank()]));
  std::vector<std::span<std::byte>> in;
  for (const std::span<float> numbers : all) {
    in.push_back(std::as_writable_bytes(numbers));
  }
  out[group.rank()] = {};
  in[group.rank()] = {};
  return group.exchange(out, in);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
