// Where each head's thumbnail stands in a picture of all heads.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/inspect/heads_grid_svg.h"

namespace headwise::inline HEADWISE_ABI {

struct GridPlace {
  std::size_t line;
  std::size_t column;
};

struct GridLayout {
  bool by_layer;                    // lines are layers, columns heads
  std::vector<GridPlace> places;    // of each head
  std::vector<std::size_t> layers;  // of each line, if by_layer
  std::vector<std::size_t> heads;   // of each column, if by_layer
  std::size_t lines;
  std::size_t columns;

  // In pixels.
  double cell;
  double map_width;  // of the largest map
  double map_height;
  double column_width;  // from one thumbnail to the next
  double line_height;
  double left;          // room for the names of the layers
  double top;           // room for the names of the columns
  double name_height;   // room for a head's own name, 0 if by_layer
  double note_columns;  // of a note; the rest is cut
};

GridLayout lay_out_grid(const HeadsGridPicture& picture);

// The side of a cell of a map of so many: a short axis has larger ones, or the
// map would be a line. Whole pixels, as every length of the layout.
double map_cell(std::size_t cells, double cell);

}  // namespace headwise::inline HEADWISE_ABI
