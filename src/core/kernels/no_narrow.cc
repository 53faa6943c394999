// A build without the loops over narrow numbers. After check_narrow() nothing
// else here is called.
#include "kernels/narrow.h"
#include "kernels/pair_gemm.h"
#include "kernels/pair_tile.h"
#include "kernels/stored_pairs.h"

namespace headwise::inline HEADWISE_ABI::kernels {

Status check_narrow(bool used) {
  return used ? Status(Error(
                    ErrorCode::unsupported,
                    {.given = "numbers narrower than float32 are not in this "
                              "build",
                     .expected = "a build with HEADWISE_NARROW=ON"}))
              : ok();
}

const StoredTile& stored_narrow(StoredType /*type*/) {
  static constexpr StoredTile kNone{};
  return kNone;
}
const StoredTile& stored_pairs(StoredType type) { return stored_narrow(type); }
const StoredTile& panels_of_pairs() {
  return stored_narrow(StoredType::bfloat16);
}

const PairTile& pair_tile() {
  static constexpr PairTile kNone{};
  return kNone;
}

std::size_t pair_strip_size(std::size_t /*in_features*/) { return 0; }
void pair_strips(const float* /*strips*/, std::size_t /*in_features*/,
                 std::size_t /*out_features*/, float* /*pairs*/) {}
void pack_pair_strips(const float* /*weight*/, const float* /*bias*/,
                      std::size_t /*in_features*/, std::size_t /*out_features*/,
                      float* /*pairs*/) {}
void pack_transposed_pair_strips(const float* /*weight*/,
                                 std::size_t /*in_features*/,
                                 std::size_t /*out_features*/,
                                 float* /*pairs*/) {}
const Gemm& pair_gemm() {
  static constexpr Gemm kNone{};
  return kNone;
}

}  // namespace headwise::inline HEADWISE_ABI::kernels
