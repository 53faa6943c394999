// What a long command has computed so far, beside its output until that is
// there. The same command, run again, resumes from it.
//
//   FILE.partial   {"of": <the work>, "state": ..}
//                  <SHA-256 of that line>
//
// Written at most every few seconds. A journal of other work, or one that is
// damaged, is ignored.
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

  // The journal of an output, be that a file or a folder; empty: a pipe or a
  // device has none, and its work is not resumed.
  static std::string path_of(const std::string& output);

  // What was come to before.
  std::optional<Json> state() const;
  // Makes the folder of the journal where it is missing. Errors: io_error.
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
