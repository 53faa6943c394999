// The results so far of a long computation, kept next to its output until the
// output is written. The same computation, run again, resumes from them.
//
//   OUTPUT.partial   {"of":WORK,"state":STATE}
//                    SHA-256 of that line
//
// WORK identifies the computation and STATE is what it has computed. A journal
// of other work, or a damaged one, is ignored. A symbolic link that has its
// name is not followed: keep() replaces it.
//
// Example:
//   Journal journal("scores.json", {{"model", "ab12"}, {"seed", 3}});
//   if (auto state = journal.state()) resume(*state);
//   while (!is_done()) {
//     if (journal.due()) Status s = journal.keep({{"done", 12}});
//   }
//   journal.remove();  // scores.json is written
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/json/json.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Journal {
 public:
  Journal(const std::string& output, Json work);

  // The journal's path for an output, which may be a file or a folder. Empty
  // for a pipe or a device: their work is not resumed.
  static std::string path_of(const std::string& output);

  // What keep() wrote for the same work; nothing if there is no such journal.
  std::optional<Json> state() const;
  // Replaces the state. Makes the journal's folder if it is missing. Errors:
  // io_error; out_of_memory.
  Status keep(const Json& state);
  // Whether this time has passed since the last keep().
  bool due(std::chrono::seconds apart = std::chrono::seconds(3)) const;
  void remove() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  Json work_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
