// Errors that name a rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "headwise/base/result.h"

// headwise::mpi calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// `rank 2 sent 7 bytes, expected 8`
Error wrong_size(std::size_t rank, std::size_t sent, std::size_t expected);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

// `rank 2 has ended`
Error rank_has_ended(std::size_t rank);
// `rank 2 did not answer within 60 s`
Error no_answer(std::size_t rank, std::chrono::milliseconds waited);
// `rank 2 waits for itself`
Error waits_for_itself(std::size_t rank);

// The error of this rank, made in an operation and a step of it. An error that
// names its operation stays as it is: another rank has made it.
Error at_step(const Error& error, std::string_view operation,
              const Message& step);
// What the other ranks are told of an error of this rank.
Error on_rank(const Error& error, std::size_t rank, const Message& step = {});

}  // namespace headwise::inline HEADWISE_ABI
