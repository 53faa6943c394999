#include "view_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "headwise/inspect/pictures.h"
#include "shell/say.h"
#include "statistic_names.h"

namespace headwise::cli {
namespace {

// What tells a head from others at a glance: the number that it is sorted by,
// else a key that gets much of it, else how spread out it is.
std::string note_of(const DrawnHead& head, const PictureWords& words) {
  constexpr double kMuch = 0.3;
  std::size_t best = index_of(Statistic::entropy);
  double most = kMuch;
  for (std::size_t k = index_of(Statistic::first); k < kStatistics; ++k) {
    if (head.pooled.mean[k].value_or(0) > most) {
      best = k;
      most = *head.pooled.mean[k];
    }
  }
  best = find_statistic(words.sort).value_or(best);
  return head.pooled.mean[best]
             ? fmt::format(
                   "{} {:.2f}",
                   statistic_word(static_cast<Statistic>(best), words.language),
                   *head.pooled.mean[best])
             : "";
}

// Places of the heads, the largest of `sort` first, then those without it, and
// last those that were pruned.
std::vector<std::size_t> order_of(const std::vector<DrawnHead>& heads,
                                  const std::string& sort) {
  std::vector<std::size_t> order(heads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (const auto k = find_statistic(sort)) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::pair(!heads[a].pruned, heads[a].pooled.mean[*k]) >
             std::pair(!heads[b].pruned, heads[b].pooled.mean[*k]);
    });
  }
  return order;
}

// The beginning of a long one.
std::string cut_subtitle(const ViewedText& text) {
  constexpr std::size_t kMost = 120;
  std::string words = subtitle_of(text).value_or("");
  if (words.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xC0) == 0x80) {
      --end;  // between characters
    }
    words = words.substr(0, end) + "...";
  }
  return words;
}

}  // namespace

Result<std::string> view_picture(const ViewedText& text,
                                 const DrawnHeads& drawn,
                                 const std::optional<HeadId>& whole,
                                 const PictureWords& words, double zoom) {
  const bool fit = text.key_labels.size() > kMostKeysOfFullScale;
  if (whole) {
    return heads_svg({.attn_weights = drawn.whole->attn_weights,
                      .allowed = drawn.whole->allowed,
                      .query_labels = text.query_labels,
                      .key_labels = text.key_labels,
                      .title = say(words.language, "{}: layer {}", words.title,
                                   whole->layer),
                      .first_head = whole->head,
                      .language = words.language,
                      .zoom = zoom,
                      .fit = fit});
  }
  std::vector<GridHead> heads;
  for (const std::size_t n : order_of(drawn.heads, words.sort)) {
    const DrawnHead& head = drawn.heads[n];
    heads.push_back({head.name.layer, head.name.head, head.pruned, head.map,
                     note_of(head, words)});
  }
  return heads_grid_svg({.heads = heads,
                         .title = words.title,
                         .subtitle = cut_subtitle(text),
                         .language = words.language,
                         .zoom = zoom,
                         .fit = fit});
}

}  // namespace headwise::cli
