#include "distribute/rank_error.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace headwise::internal::inline HEADWISE_ABI {

Error wrong_size(std::size_t rank, std::size_t sent, std::size_t expected) {
  return Error(ErrorCode::shape_mismatch,
               {.given = message("rank {} sent {} bytes", rank, sent),
                .expected = std::to_string(expected)});
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {
namespace {

void add_hint(ErrorDetails& is, Message hint) {
  is.hint =
      is.hint.empty() ? std::move(hint) : message("{}; {}", is.hint, hint);
}

}  // namespace

Error rank_has_ended(std::size_t rank) {
  return Error(ErrorCode::rank_failure,
               {.given = message("rank {} has ended", rank)});
}

Error no_answer(std::size_t rank, std::chrono::milliseconds waited) {
  const std::string seconds =
      number_text(std::chrono::duration<double>(waited).count());
  return Error(
      ErrorCode::rank_failure,
      {.given = message("rank {} did not answer within {} s", rank, seconds)});
}

Error waits_for_itself(std::size_t rank) {
  return Error(ErrorCode::rank_failure,
               {.given = message("rank {} waits for itself", rank)});
}

Error at_step(const Error& error, std::string_view operation,
              const Message& step) {
  ErrorDetails is = error.details();
  if (!is.operation.empty()) {
    return error;
  }
  is.operation = operation;
  if (!step.empty()) {
    add_hint(is, message("at {}", step));
  }
  return Error(error.code(), std::move(is));
}

Error on_rank(const Error& error, std::size_t rank, const Message& step) {
  ErrorDetails is = error.details();
  is.given = error.what();  // what the code says may be another's code soon
  add_hint(is, step.empty() ? message("on rank {}", rank)
                            : message("on rank {}, at {}", rank, step));
  return Error(error.code(), std::move(is));
}

}  // namespace headwise::inline HEADWISE_ABI
