// The loops of few queries on blocks of keys and values in each type that they
// may be stored in: one block again and again, which stays in the caches, and
// many that do not fit in them, where `share` is that of the memory.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel_loop.h"
#include "kernels/row_tile.h"
#include "kernels/stored_rows.h"
#include "kernels/stored_tile.h"

namespace headwise {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): its loops

constexpr std::size_t kHeadSize = 128;
constexpr std::size_t kPanels = kKeyBlock / kPanelKeys;

// A head of keys, its blocks one after another, as a cache keeps them.
struct Head {
  Head(StoredType stored_as, std::size_t rows_of_queries,
       std::size_t block_count)
      : type(stored_as),
        rows(rows_of_queries),
        blocks(block_count),
        block_bytes(kKeyBlock * kHeadSize * size_of(type)),
        memory(
            Tensor<float, 1>::create({2 * blocks * block_bytes / sizeof(float)})
                .value()),
        scales(Tensor<float, 1>::create({2 * blocks * kKeyBlock}).value()),
        q(drawn(rows * kHeadSize, 1)),
        scores(drawn(kRowsAtOnce * kKeyBlock, 2)),
        context(drawn(kRowsAtOnce * kHeadSize, 3)) {
    const Tensor<float, 1> x = drawn(kKeyBlock * kHeadSize, 4);
    const Rows<const float> all = {x.data(), kKeyBlock, kHeadSize, 1};
    for (std::size_t n = 0; n < blocks; ++n) {
      for (std::size_t panel = 0; panel < kPanels; ++panel) {
        store_keys(Rows<const float>{all.row(panel * kPanelKeys), kPanelKeys,
                                     kHeadSize, 1},
                   kHeadSize, type, kPanelKeys, 0,
                   keys(n) + panel * block_bytes / kPanels,
                   key_scales(n) + panel * kPanelKeys);
      }
      store_values(all, kHeadSize, type, keys(n) + block_bytes,
                   key_scales(n) + kKeyBlock);
    }
  }

  std::byte* keys(std::size_t block) {
    return reinterpret_cast<std::byte*>(memory.data()) +
           2 * block * block_bytes;
  }
  float* key_scales(std::size_t block) {
    return scales.data() + 2 * block * kKeyBlock;
  }

  StoredType type;
  std::size_t rows;
  std::size_t blocks;
  std::size_t block_bytes;
  Tensor<float, 1> memory, scales, q, scores, context;
  float max[kRowsAtOnce] = {};
  float sum[kRowsAtOnce] = {};
};

void attend(Head& head) {
  const StoredTile& loops = stored_tile(head.type);
  for (std::size_t n = 0; n < head.blocks; ++n) {
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      loops.score(head.q.data(), head.rows,
                  {head.keys(n) + panel * head.block_bytes / kPanels,
                   head.key_scales(n) + panel * kPanelKeys, kPanelKeys},
                  kHeadSize, 1, head.scores.data() + panel * kPanelKeys);
    }
    row_tile().softmax(head.rows, kKeyBlock, nullptr, head.scores.data(),
                       head.max);
    const ValueRows values = {head.keys(n) + head.block_bytes,
                              head.key_scales(n) + kKeyBlock, kKeyBlock,
                              kHeadSize};
    loops.weigh(head.scores.data(), head.rows, &values, 1, kHeadSize, false,
                head.sum, head.context.data());
  }
}

}  // namespace

void add_row_tile(const std::string& target) {
  constexpr std::size_t kManyBlocks = 1024;  // 128 MB of float32
  const std::vector<std::pair<std::string, StoredType>> types = {
      {"float32", StoredType::float32},
      {"bfloat16", StoredType::bfloat16},
      {"float16", StoredType::float16},
      {"int8", StoredType::int8}};
  for (const auto& [name, type] : types) {
    for (const std::size_t rows : {1u, 4u}) {
      for (const std::size_t blocks : {std::size_t{1}, kManyBlocks}) {
        const std::string where = blocks == 1 ? "/caches" : "/memory";
        const auto keys = static_cast<double>(blocks * kKeyBlock);
        const double products =
            2 * keys * static_cast<double>(rows * kHeadSize);
        const double bytes =
            2 * keys * static_cast<double>(kHeadSize * size_of(type));
        const Prepare prepare = [type = type, rows, blocks] {
          const auto head = std::make_shared<Head>(type, rows, blocks);
          return [head] { attend(*head); };
        };
        const std::string title = "rows/" + target + "/" + name +
                                  "/rows:" + std::to_string(rows) + where;
        if (blocks == 1) {
          add_products(title, products, prepare);
        } else {
          add_bytes(title, bytes, prepare);
        }
      }
    }
  }
}

}  // namespace headwise
