// A progress bar as tqdm's users know it, on standard error:
//
//   padding:  40%|████      | 4/10 sequences [00:00<00:01, 5.21it/s]
//   train:    40%|████      | 4/10 steps [00:00<00:01, 5.21it/s, loss=0.693]
//
// The bar is drawn only if standard error is a terminal. In a job of several
// processes only rank 0 shows progress. Under mpirun standard error is not a
// terminal, so rank 0 prints a line every few seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/run/reports.h"

namespace headwise::cli {

// What is counted: "sequences" of "padding".
struct BarWords {
  std::string label;
  std::string unit;
};

// One line, at most `width` columns. `elapsed` in seconds. A `note` stands
// behind the rate.
std::string bar_line(const BarWords& words, std::size_t done, std::size_t total,
                     double elapsed, std::size_t width,
                     std::string_view note = "");

class ProgressBar {
 public:
  // English, and shown in the language of the run. `unit` is the plural of what
  // is counted.
  ProgressBar(std::string_view label, std::string_view unit);
  // Ends the line that was drawn.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // What the library's steps take; valid while this bar lives.
  Progress progress();
  // Shown from the next drawing on: "loss=0.693".
  void set_note(std::string note) { note_ = std::move(note); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Style { none, bar, lines };

  static Style style();
  bool is_time(Clock::time_point now, bool last) const;
  void draw(std::size_t done, std::size_t total);

  BarWords words_;
  std::string note_;
  Style style_ = style();
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_drawn_;
};

}  // namespace headwise::cli
