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
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
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
  bool due(std::chrono::seconds apart = std::chrono::seconds(3)) const {
    return Clock::now() - last_ >= apart;
  }
  void remove() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  Json work_;
  Clock::time_point last_ = Clock::now();
};

// The rows of a large array, computed piece by piece, perhaps by several
// processes, and joined into one .npy file at the end. A computation that was
// interrupted resumes from the pieces that were saved.
//
//   OUTPUT.partial/rows-FIRST   {"of":WORK,"pieces":[..],"sha256":DIGEST}
//                               SHA-256 of that line
//                               the rows, float32, little endian
//
// WORK identifies the computation: a part of other work, or
// a damaged one, is ignored. Parts are written atomically (atomic_file.h), by
// any process that sees the folder. Pieces stay in memory until save(); a
// computation that never calls it writes OUTPUT alone.
//
// Errors: io_error; out_of_memory.
//
// Example:
//   RowParts parts("embeddings.npy", {5000, 384});
//   parts.set_work({{"model", "ab12"}});
//   auto pieces = parts.read().value();     // what need not be computed again
//   Status s = parts.add({.ranges = {{0, 1024}}}, std::move(rows));
//   if (parts.due()) s = parts.save();
//   auto all = parts.join().value();        // embeddings.npy is written

// Rows [first, first + count).
struct RowInterval {
  std::size_t first = 0;
  std::size_t count = 0;

  std::size_t end() const { return first + count; }
  friend bool operator==(const RowInterval&, const RowInterval&) = default;
};

// Rows that were computed together.
struct RowPiece {
  std::vector<RowInterval> ranges;  // in the order of the rows
  Json note{};                      // of the caller
};

class RowParts {
 public:
  // `extents`: rows and columns of the whole array. The parts are in the folder
  // Journal::path_of(output); a pipe or a device has none.
  RowParts(const std::string& output, const Extents<2>& extents);

  // Before read() and save().
  void set_work(Json work) { work_ = std::move(work); }
  bool has_work() const { return !work_.is_null(); }

  // The saved pieces of the same work. Removes its parts whose rows are damaged
  // or saved twice, so no other process may save yet.
  Result<std::vector<RowPiece>> read() const;
  // Holds the rows (rows of the piece, columns) in memory. Errors:
  // shape_mismatch.
  Status add(RowPiece piece, Tensor<float, 2> rows);
  // Whether it is time to save: `apart` has passed since the last time, or much
  // memory is held.
  bool due(std::chrono::seconds apart = std::chrono::seconds(30)) const;
  // Moves the held pieces to a part. Makes the folder if it is missing.
  Status save();
  // Writes OUTPUT from all saved and held pieces, then removes the parts.
  // Returns the pieces. No other process may save any more. Errors: bad_data if
  // a row is missing.
  Result<std::vector<RowPiece>> join();

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    RowPiece piece;
    Tensor<float, 2> rows;
  };

  HEADWISE_HIDDEN Result<std::vector<RowPiece>> write_output() const;
  HEADWISE_HIDDEN void remove() const;

  std::string output_;
  std::string folder_;  // of the parts; empty: none
  Extents<2> extents_;
  Json work_;
  std::vector<Held> held_;
  std::size_t held_bytes_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
