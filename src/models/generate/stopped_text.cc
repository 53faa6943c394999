#include "generate/stopped_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace headwise::inline HEADWISE_ABI {
namespace {

// How many of the last bytes may be the beginning of a stop.
std::size_t bytes_to_hold(std::string_view text,
                          const std::vector<std::string>& stops) {
  std::size_t most = 0;
  for (const std::string_view stop : stops) {
    for (std::size_t n = std::min(stop.size() - 1, text.size()); n > most;
         --n) {
      if (text.ends_with(stop.substr(0, n))) {
        most = n;
      }
    }
  }
  return most;
}

}  // namespace

Result<std::string> StoppedText::add(TokenId id) {
  if (!stream_ || stopped_) {
    return std::string();
  }
  HEADWISE_ASSIGN(auto text, stream_->step(id));
  return taken(std::move(text), false);
}

Result<std::string> StoppedText::finish() {
  if (!stream_ || stopped_) {
    return std::string();
  }
  HEADWISE_ASSIGN(auto text, stream_->finish());
  return taken(std::move(text), true);
}

std::string StoppedText::taken(std::string text, bool is_last) {
  std::string all = std::move(held_) + text;
  held_.clear();
  std::size_t end = all.size();
  for (const std::string& stop : stops_) {
    end = std::min(end, all.find(stop));
  }
  if (end < all.size()) {
    stopped_ = true;
  } else if (!is_last) {
    end -= bytes_to_hold(all, stops_);
    held_ = all.substr(end);
  }
  all.resize(end);
  return all;
}

}  // namespace headwise::inline HEADWISE_ABI
