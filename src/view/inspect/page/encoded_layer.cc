#include "inspect/page/encoded_layer.h"

namespace headwise::inline HEADWISE_ABI {

std::size_t EncodedLayer::bytes() const {
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    bytes += key.size();
  }
  for (const EncodedHead& head : heads) {
    bytes += head.rows.size();
    for (const auto* block :
         {&head.columns, &head.top, &head.small, &head.map, &head.query,
          &head.lse, &head.norms, &head.norm_small}) {
      bytes += *block ? (*block)->size() : 0;
    }
    bytes += head.gradient ? head.gradient->bytes() : 0;
  }
  return bytes;
}

EncodedLayer encode(const ShownLayer& layer) {
  const AttentionShape& shape = layer.spec().shape;
  EncodedLayer encoded{
      std::vector<EncodedHead>(shape.Hq),
      std::vector<std::string>(layer.elements() ? shape.Hkv : 0)};
  const auto encode_one = [&](std::size_t h) {
    encoded.heads[h] = encode_head(layer.head(h));
    const std::size_t kv_head = shape.kv_head(h);
    if (layer.elements() && h == shape.first_query_head(kv_head)) {
      encoded.keys[kv_head] = encode_halves(layer.key(kv_head));
    }
  };
  layer.spec().executor->parallel_for(
      shape.Hq, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t h = begin; h < end; ++h) {
          encode_one(h);
        }
      });
  return encoded;
}

}  // namespace headwise::inline HEADWISE_ABI
