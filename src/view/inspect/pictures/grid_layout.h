// The position of each head's thumbnail in a picture of all heads.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/inspect/pictures.h"

namespace headwise::inline HEADWISE_ABI {

struct GridPlace {
  std::size_t line;
  std::size_t column;
};

struct GridLayout {
  bool by_layer;                    // lines are layers, columns heads
  std::vector<GridPlace> places;    // one per head
  std::vector<std::size_t> layers;  // one per line, if by_layer
  std::vector<std::size_t> heads;   // one per column, if by_layer
  std::size_t lines;
  std::size_t columns;

  // In pixels.
  double cell;
  double map_width;  // of the largest map
  double map_height;
  double column_width;  // from one thumbnail to the next
  double line_height;
  double left;          // space for the names of the layers
  double top;           // space for the names of the columns
  double name_height;   // space for a head's own name, 0 if by_layer
  double note_columns;  // width of a note in characters; the rest is cut
};

GridLayout lay_out_grid(const HeadsGridPicture& picture);

// The side of a cell along an axis with this many cells. A short axis gets
// larger cells, because otherwise the map would be a line. In whole pixels,
// like every length of the layout.
double map_cell(std::size_t cells, double cell);

}  // namespace headwise::inline HEADWISE_ABI
