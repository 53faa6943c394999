// Keys and values on their way to the queries of all ranks.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "distribute/chunk_stream.h"
#include "distribute/chunks.h"
#include "distribute/key_rows.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// Passes the chunks that the rank needs to take(shards, views), in their order;
// the rows of the shards are one after the other in the views. `own`: what the
// rank has. `room`: for the chunks. Errors: those of ChunkStream.
template <class T, class Take>
Status stream_keys(Communicator& group, std::string_view operation,
                   const AttentionShape& shape,
                   std::span<const KeyChunk> chunks,
                   const KeyViews<const T>& own, ChunkRoom& room,
                   const Take& take) {
  auto stream = ChunkStream<KeyChunk, KeyRows<T>>::create(
      group, chunks, room, [&](std::size_t most, Tensor<std::byte, 2> memory) {
        return KeyRows<T>::create(shape, most, std::move(memory));
      });
  HEADWISE_TRY(stream);
  return stream->run(
      operation,
      [&](const KeyChunk& chunk, KeyRows<T>& cargo) {
        copy_keys(own.part({chunk.row, chunk.rows}), cargo.views(chunk.rows));
      },
      [&](const KeyChunk& chunk, KeyRows<T>& cargo) {
        return take(std::span<const Shard>(chunk.shards),
                    read_only(cargo.views(chunk.rows)));
      });
}

}  // namespace headwise::inline HEADWISE_ABI
