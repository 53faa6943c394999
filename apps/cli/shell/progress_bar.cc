#include "progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "say.h"
#include "shell/ranks/rank_job.h"
#include "terminal_text.h"

namespace headwise::cli {
namespace {

// "01:05", "1:02:03"
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 3.6e9));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60,
                       whole % 60);
  }
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

// Cells of the bar in eighths of a column.
std::string filled_cells(double share, std::size_t columns) {
  static constexpr std::string_view kEighths[] = {" ", "▏", "▎", "▍",
                                                  "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<std::size_t>(share * static_cast<double>(columns * 8));
  std::string bar;
  for (std::size_t column = 0; column < columns; ++column) {
    if (eighths >= (column + 1) * 8) {
      bar += "█";
    } else {
      bar += eighths > column * 8 ? kEighths[eighths % 8] : " ";
    }
  }
  return bar;
}

// "5.21it/s", or "2.50s/it" where one takes longer than a second.
std::string rate_text(double rate) {
  return rate <= 0  ? "?it/s"
         : rate < 1 ? fmt::format("{:.2f}s/it", 1 / rate)
                    : fmt::format("{:.2f}it/s", rate);
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return 80;
}

bool is_dumb_terminal() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) == "dumb";
}

bool wants_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

}  // namespace

std::string bar_line(const BarWords& words, std::size_t done, std::size_t total,
                     double elapsed, std::size_t width, std::string_view note) {
  done = std::min(done, total);
  const double share =
      total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  const std::string remaining =
      rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : "?";
  const std::string before =
      fmt::format("{}: {:3}%|", words.label, static_cast<int>(share * 100));
  const std::string after =
      fmt::format("| {}/{} {} [{}<{}, {}{}{}]", done, total, words.unit,
                  clock_text(elapsed), remaining, rate_text(rate),
                  note.empty() ? "" : ", ", note);
  const std::size_t text = columns_of(before) + columns_of(after);
  if (text + 1 > width) {  // no room for a bar
    return beginning_of(before + after.substr(1), width);
  }
  return before + filled_cells(share, std::min<std::size_t>(width - text, 40)) +
         after;
}

ProgressBar::ProgressBar(std::string_view label, std::string_view unit)
    : words_{in_language(label), in_language(unit)},
      start_(Clock::now()),
      last_drawn_(start_) {}

ProgressBar::Style ProgressBar::style() {
  const auto rank = rank_in_job();
  if (rank.value_or(0) != 0) {
    return Style::none;
  }
  if (isatty(STDERR_FILENO) == 1) {
    return is_dumb_terminal() ? Style::none : Style::bar;
  }
  return rank ? Style::lines : Style::none;
}

ProgressBar::~ProgressBar() {
  if (drawn_ && style_ == Style::bar) {
    std::fputs("\n", stderr);
  }
}

Progress ProgressBar::progress() {
  if (style_ == Style::none) {
    return {};
  }
  return [this](std::size_t done, std::size_t total) { draw(done, total); };
}

// Ten times a second is enough for the eye; the last state of a bar always
// shows.
bool ProgressBar::is_time(Clock::time_point now, bool last) const {
  const auto waited = now - last_drawn_;
  return style_ == Style::lines
             ? waited >= std::chrono::seconds(10)
             : !drawn_ || last || waited >= std::chrono::milliseconds(100);
}

void ProgressBar::draw(std::size_t done, std::size_t total) {
  const Clock::time_point now = Clock::now();
  if (!is_time(now, done == total)) {
    return;
  }
  last_drawn_ = now;
  drawn_ = true;
  const std::string line = bar_line(
      words_, done, total, std::chrono::duration<double>(now - start_).count(),
      terminal_width() - 1, note_);
  if (style_ == Style::lines) {
    std::fputs((line + "\n").c_str(), stderr);
    return;
  }
  const bool colour = wants_colour();
  // Not fmt::print(): it throws when the terminal has gone.
  std::fputs(fmt::format("\r{}{}{}\033[K", colour ? "\033[36m" : "", line,
                         colour ? "\033[0m" : "")
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

}  // namespace headwise::cli
