// What a long command has come to, beside its output until that is there: the
// same command, typed again, goes on from it.
//
//   FILE.partial   {"of": <what is done, and on what>, "state": ..}
//
// Written at most every few seconds. A journal of something else, or one that
// cannot be read, is as if it were not there.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "json/json.h"

namespace headwise::cli {

class Journal {
 public:
  // `of` tells this piece of work from any other.
  Journal(const std::string& output, Json of);

  // What was come to before.
  std::optional<Json> state() const;
  // Errors: io_error.
  Status keep(const Json& state);
  // Whether enough time has gone by to keep something again.
  bool due() const;
  // The output is there.
  void remove() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  Json of_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace headwise::cli
