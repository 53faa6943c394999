// The attention that the tokens of a cache have received: one sum for each
// token and query head. A sequence has sums of its own even where forks share
// its keys and values, because each query of a fork changes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "decode/sequence_pages.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

class ReceivedSums {
 public:
  // Room for the tokens of every sequence; none where `heads` is 0: then the
  // cache does not collect sums. Errors: out_of_memory.
  static Result<ReceivedSums> create(std::size_t heads,
                                     const SequencePages& sequences);

  bool collected() const { return heads_ != 0; }
  std::size_t heads() const { return heads_; }

  // The sum of a token that the sequence holds, and behind it those of the
  // other tokens of the page.
  const float* at(const SequencePages& sequences, std::uint32_t slot,
                  std::size_t token, std::size_t head) const;
  float* at(const SequencePages& sequences, std::uint32_t slot,
            std::size_t token, std::size_t head) {
    return const_cast<float*>(
        std::as_const(*this).at(sequences, slot, token, head));
  }

  // The tokens [first, length) of a sequence are new.
  void clear(const SequencePages& sequences, std::uint32_t slot,
             std::size_t first);
  // Gives a fork the sums of its parent, which has the same pages.
  void copy(const SequencePages& sequences, std::uint32_t from,
            std::uint32_t to);
  // The sums of token `from` become those of token `to`.
  void move(const SequencePages& sequences, std::uint32_t slot,
            std::size_t from, std::size_t to);

 private:
  ReceivedSums(std::size_t heads, std::size_t page_size,
               Tensor<float, 1> memory)
      : heads_(heads), page_size_(page_size), memory_(std::move(memory)) {}

  std::size_t heads_;
  std::size_t page_size_;
  Tensor<float, 1> memory_;  // (places, heads, page_size)
};

}  // namespace headwise::inline HEADWISE_ABI
