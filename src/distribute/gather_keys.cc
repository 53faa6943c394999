#include "distribute/gather_keys.h"

#include <utility>
#include <vector>

#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
Result<KeyRows<T>> gather_keys(Communicator& group, const AttentionShape& shape,
                               std::span<const Shard> keys,
                               const KeyViews<const T>& own) {
  std::vector<std::size_t> rows;
  std::vector<KeyRows<T>> received;
  std::size_t all_rows = 0;
  for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
    rows.push_back(rows_of_rank(keys, rank));
    all_rows += rows.back();
    auto from_rank = KeyRows<T>::create(shape, rows.back());
    HEADWISE_TRY(from_rank);
    received.push_back(*std::move(from_rank));
  }
  const std::size_t own_rows = rows[group.rank()];
  auto packed = KeyRows<T>::create(shape, own_rows);
  HEADWISE_TRY(packed);
  if (own_rows != 0) {
    copy_keys(own, packed->views(own_rows));
  }
  const std::vector<std::span<const std::byte>> out(group.ranks(),
                                                    packed->bytes(own_rows));
  std::vector<std::span<std::byte>> in;
  for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
    in.push_back(received[rank].bytes(rows[rank]));
  }
  group.set_step("context_attention", "gathering keys");
  HEADWISE_TRY(group.exchange(out, in));

  auto all = KeyRows<T>::create(shape, all_rows);
  HEADWISE_TRY(all);
  std::size_t next = 0;
  for (const Shard& shard : keys) {
    const std::size_t count = shard.tokens.count;
    copy_keys(read_only(received[shard.rank].views(rows[shard.rank]))
                  .part({shard.row, count}),
              all->views(all_rows).part({next, count}));
    next += count;
  }
  return all;
}

template Result<KeyRows<float>> gather_keys(Communicator&,
                                            const AttentionShape&,
                                            std::span<const Shard>,
                                            const KeyViews<const float>&);
template Result<KeyRows<BFloat16>> gather_keys(Communicator&,
                                               const AttentionShape&,
                                               std::span<const Shard>,
                                               const KeyViews<const BFloat16>&);
template Result<KeyRows<Float16>> gather_keys(Communicator&,
                                              const AttentionShape&,
                                              std::span<const Shard>,
                                              const KeyViews<const Float16>&);

}  // namespace headwise::inline HEADWISE_ABI
