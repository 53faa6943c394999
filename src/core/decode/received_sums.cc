#include "decode/received_sums.h"

#include <algorithm>
#include <array>

#include "headwise/base/checked_product.h"

namespace headwise::inline HEADWISE_ABI {

Result<ReceivedSums> ReceivedSums::create(std::size_t heads,
                                          const SequencePages& sequences) {
  const auto numbers = checked_product(std::array<std::size_t, 3>{
      sequences.places(), heads, sequences.page_size()});
  if (!numbers) {
    return Error::no_memory_for(~std::uint64_t{0});
  }
  HEADWISE_ASSIGN(auto memory, Tensor<float, 1>::create_unset({*numbers}));
  return ReceivedSums(heads, sequences.page_size(), std::move(memory));
}

const float* ReceivedSums::at(const SequencePages& sequences,
                              std::uint32_t slot, std::size_t token,
                              std::size_t head) const {
  const std::size_t place = sequences.place_of(slot, token / page_size_);
  return memory_.data() + (place * heads_ + head) * page_size_ +
         token % page_size_;
}

void ReceivedSums::clear(const SequencePages& sequences, std::uint32_t slot,
                         std::size_t first) {
  const std::size_t length = sequences.length(slot);
  for (std::size_t token = first; heads_ != 0 && token < length;) {
    const std::size_t some =
        std::min(length - token, page_size_ - token % page_size_);
    for (std::size_t h = 0; sequences.holds(slot, token) && h < heads_; ++h) {
      std::fill_n(at(sequences, slot, token, h), some, 0.0f);
    }
    token += some;
  }
}

void ReceivedSums::copy(const SequencePages& sequences, std::uint32_t from,
                        std::uint32_t to) {
  const std::size_t length = sequences.length(from);
  for (std::size_t token = 0; heads_ != 0 && token < length;
       token += page_size_) {
    if (sequences.holds(from, token)) {
      std::copy_n(at(sequences, from, token, 0), heads_ * page_size_,
                  at(sequences, to, token, 0));
    }
  }
}

void ReceivedSums::move(const SequencePages& sequences, std::uint32_t slot,
                        std::size_t from, std::size_t to) {
  for (std::size_t h = 0; h < heads_; ++h) {
    *at(sequences, slot, to, h) = *at(sequences, slot, from, h);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
