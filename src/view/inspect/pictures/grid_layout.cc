#include "inspect/pictures/grid_layout.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "inspect/pictures/svg_text.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kMapSide = 96;       // of the largest map, approximately
constexpr double kShortest = 24;      // shortest side of any map
constexpr double kGridGap = 14;       // between thumbnails
constexpr double kLine = 14;          // of text
constexpr double kNoteCharacter = 6;  // width of a character 9 pixels high
constexpr double kNameCharacter = 7;
constexpr double kLongestNote = 24;  // in characters
constexpr std::size_t kMostColumns = 12;

bool in_order(std::span<const GridHead> heads) {
  return std::ranges::adjacent_find(
             heads, [](const GridHead& a, const GridHead& b) {
               return std::pair(a.layer, a.head) >= std::pair(b.layer, b.head);
             }) == heads.end();
}

std::vector<std::size_t> distinct(std::vector<std::size_t> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::size_t place_of(const std::vector<std::size_t>& sorted,
                     std::size_t number) {
  return static_cast<std::size_t>(
      std::distance(sorted.begin(), std::ranges::lower_bound(sorted, number)));
}

void place_by_layer(std::span<const GridHead> heads, GridLayout& layout) {
  for (const GridHead& head : heads) {
    layout.layers.push_back(head.layer);
    layout.heads.push_back(head.head);
  }
  layout.layers = distinct(std::move(layout.layers));
  layout.heads = distinct(std::move(layout.heads));
  layout.lines = layout.layers.size();
  layout.columns = layout.heads.size();
  for (const GridHead& head : heads) {
    layout.places.push_back({place_of(layout.layers, head.layer),
                             place_of(layout.heads, head.head)});
  }
}

// Line after line, all but the last with the same number of heads.
void place_in_turn(std::size_t heads, GridLayout& layout) {
  layout.lines = (heads + kMostColumns - 1) / kMostColumns;
  layout.columns = (heads + layout.lines - 1) / layout.lines;
  for (std::size_t n = 0; n < heads; ++n) {
    layout.places.push_back({n / layout.columns, n % layout.columns});
  }
}

// In whole pixels, so that all cells have the same size.
double cell_side(std::span<const GridHead> heads) {
  std::size_t longest = 1;
  for (const GridHead& head : heads) {
    if (!head.pruned) {
      longest = std::max({longest, head.map.extent(0), head.map.extent(1)});
    }
  }
  return std::max(std::round(kMapSide / static_cast<double>(longest)), 1.0);
}

double map_side(std::size_t cells, double cell) {
  return map_cell(cells, cell) * static_cast<double>(cells);
}

// The width of the widest name above a thumbnail.
double name_width(const HeadsGridPicture& picture, const GridLayout& layout) {
  const Words words(picture.language);
  double longest = 0;
  for (const GridHead& head : picture.heads) {
    const std::string number = std::to_string(head.head);
    const std::string name =
        layout.by_layer
            ? words("head {0}", number)
            : words("layer {0}, head {1}", std::to_string(head.layer), number);
    longest = std::max(longest, text_columns(name));
  }
  return longest * kNameCharacter;
}

double layers_width(const HeadsGridPicture& picture, const GridLayout& layout) {
  const Words words(picture.language);
  double longest = 0;
  for (const std::size_t layer : layout.layers) {
    const std::string name = words("layer {0}", std::to_string(layer));
    longest = std::max(longest, text_columns(name));
  }
  return longest * kNameCharacter;
}

}  // namespace

double map_cell(std::size_t cells, double cell) {
  return std::max(cell, std::ceil(kShortest / static_cast<double>(cells)));
}

GridLayout lay_out_grid(const HeadsGridPicture& picture) {
  GridLayout layout{};
  layout.by_layer = in_order(picture.heads);
  if (layout.by_layer) {
    place_by_layer(picture.heads, layout);
  } else {
    place_in_turn(picture.heads.size(), layout);
  }
  layout.cell = cell_side(picture.heads);
  double note = 0;
  for (const GridHead& head : picture.heads) {
    note = std::max(note, text_columns(head.note));
    if (!head.pruned) {
      layout.map_width =
          std::max(layout.map_width, map_side(head.map.extent(1), layout.cell));
      layout.map_height = std::max(layout.map_height,
                                   map_side(head.map.extent(0), layout.cell));
    }
  }
  if (layout.map_width == 0) {  // every head was pruned
    layout.map_width = kMapSide;
    layout.map_height = kMapSide;
  }
  layout.note_columns = std::min(note, kLongestNote);
  layout.column_width =
      kGridGap +
      std::max({layout.map_width, layout.note_columns * kNoteCharacter,
                name_width(picture, layout)});
  layout.name_height = layout.by_layer ? 0 : kLine;
  layout.line_height = layout.name_height + layout.map_height +
                       (note > 0 ? kLine : 0) + kGridGap;
  if (layout.by_layer) {
    layout.left = layers_width(picture, layout) + kGridGap;
    layout.top = kLine + 4;
  }
  return layout;
}

}  // namespace headwise::inline HEADWISE_ABI
