#include "distribute/rank_error.h"

#include <string>

#include "base/check.h"

namespace headwise::internal::inline HEADWISE_ABI {

Error wrong_size(std::size_t rank, std::size_t sent, std::size_t expected) {
  return Error(ErrorCode::shape_mismatch,
               {.given = "rank " + std::to_string(rank) + " sent " +
                         std::to_string(sent) + " bytes",
                .expected = std::to_string(expected)});
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {
namespace {

void add_hint(ErrorDetails& is, const std::string& hint) {
  is.hint += is.hint.empty() ? hint : "; " + hint;
}

}  // namespace

Error rank_has_ended(std::size_t rank) {
  return Error(ErrorCode::rank_failure,
               {.given = "rank " + std::to_string(rank) + " has ended"});
}

Error no_answer(std::size_t rank, std::chrono::milliseconds waited) {
  const std::string seconds =
      number_text(std::chrono::duration<double>(waited).count());
  return Error(ErrorCode::rank_failure,
               {.given = "rank " + std::to_string(rank) +
                         " did not answer within " + seconds + " s"});
}

Error waits_for_itself(std::size_t rank) {
  return Error(ErrorCode::rank_failure,
               {.given = "rank " + std::to_string(rank) + " waits for itself"});
}

Error at_step(const Error& error, std::string_view operation,
              std::string_view step) {
  ErrorDetails is = error.details();
  if (!is.operation.empty()) {
    return error;
  }
  is.operation = operation;
  if (!step.empty()) {
    add_hint(is, "at " + std::string(step));
  }
  return Error(error.code(), std::move(is));
}

Error on_rank(const Error& error, std::size_t rank, std::string_view step) {
  ErrorDetails is = error.details();
  if (is.given.empty()) {  // what the code says may be another's code soon
    is.given = error.code() == ErrorCode::out_of_memory
                   ? error.message()
                   : Error(error.code()).message();
  }
  const std::string number = std::to_string(rank);
  add_hint(is, step.empty()
                   ? "on rank " + number
                   : "on rank " + number + ", at " + std::string(step));
  return Error(error.code(), std::move(is));
}

}  // namespace headwise::inline HEADWISE_ABI
