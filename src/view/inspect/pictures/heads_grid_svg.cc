#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/inspect/pictures.h"
#include "inspect/pictures/grid_layout.h"
#include "inspect/pictures/heat_colour.h"
#include "inspect/pictures/heat_image.h"
#include "inspect/pictures/heat_ramp.h"
#include "inspect/pictures/svg_text.h"
#include "inspect/pictures/svg_writer.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kGridMargin = SvgWriter::kMargin;
constexpr double kGridLegend = 70;
constexpr double kGridLegendWidth = 620;

SvgHeading grid_heading(const HeadsGridPicture& picture) {
  return {picture.title, picture.subtitle};
}

double grid_width(const HeadsGridPicture& picture, const GridLayout& layout) {
  const double grid =
      layout.left + layout.column_width * static_cast<double>(layout.columns);
  return 2 * kGridMargin +
         std::max({grid, kGridLegendWidth, grid_heading(picture).width()});
}

double grid_height(const HeadsGridPicture& picture, const GridLayout& layout) {
  return 2 * kGridMargin + grid_heading(picture).height() + layout.top +
         layout.line_height * static_cast<double>(layout.lines) + kGridLegend;
}

double largest_in_map(const TensorView<const float, 2>& map) {
  double largest = 0;
  for (std::size_t i = 0; i < map.extent(0); ++i) {
    for (std::size_t j = 0; j < map.extent(1); ++j) {
      const double weight = map(i, j);
      if (std::isfinite(weight)) {
        largest = std::max(largest, weight);
      }
    }
  }
  return largest;
}

bool has_masked(const GridHead& head) {
  for (std::size_t i = 0; i < head.map.extent(0) && !head.pruned; ++i) {
    for (std::size_t j = 0; j < head.map.extent(1); ++j) {
      if (std::isnan(head.map(i, j))) {
        return true;
      }
    }
  }
  return false;
}

Shade shade(double weight, double end) {
  return std::isnan(weight) ? kMaskedShade
                            : heat_shade(weight_share(weight, end));
}

// Colours end at `end`.
HeatImage pixels_of(const TensorView<const float, 2>& map, double end) {
  HeatImage image{map.extent(0), map.extent(1), {}};
  image.shades.reserve(image.rows * image.columns);
  for (std::size_t i = 0; i < image.rows; ++i) {
    for (std::size_t j = 0; j < image.columns; ++j) {
      image.shades.push_back(shade(map(i, j), end));
    }
  }
  return image;
}

class GridDrawing {
 public:
  explicit GridDrawing(const HeadsGridPicture& given)
      : given_(given),
        layout_(lay_out_grid(given)),
        words_(given.language),
        svg_(grid_width(given, layout_), grid_height(given, layout_),
             grid_heading(given), "pruned"),
        left_(kGridMargin + layout_.left),
        top_(kGridMargin + grid_heading(given).height() + layout_.top) {}

  Result<std::string> draw() && {
    names_of_lines_and_columns();
    for (std::size_t n = 0; n < given_.heads.size(); ++n) {
      const auto line = static_cast<double>(layout_.places[n].line);
      const auto column = static_cast<double>(layout_.places[n].column);
      HEADWISE_TRY(thumbnail(given_.heads[n],
                             left_ + column * layout_.column_width,
                             top_ + line * layout_.line_height));
    }
    legend();
    return std::move(svg_).finish();
  }

 private:
  void names_of_lines_and_columns() {
    for (std::size_t column = 0; column < layout_.heads.size(); ++column) {
      svg_.text(left_ + static_cast<double>(column) * layout_.column_width,
                top_ - 7,
                words_("head {0}", std::to_string(layout_.heads[column])),
                R"(font-weight="bold")");
    }
    for (std::size_t line = 0; line < layout_.layers.size(); ++line) {
      svg_.text(kGridMargin,
                top_ + static_cast<double>(line) * layout_.line_height +
                    layout_.map_height / 2 + 4,
                words_("layer {0}", std::to_string(layout_.layers[line])),
                R"(font-weight="bold")");
    }
  }

  Status thumbnail(const GridHead& head, double x, double y) {
    const std::string name =
        words_("layer {0}, head {1}", std::to_string(head.layer),
               std::to_string(head.head));
    if (!layout_.by_layer) {
      svg_.text(x, y + 9, name, R"(font-weight="bold")");
    }
    const Box whole{x, y + layout_.name_height, layout_.map_width,
                    layout_.map_height};
    svg_.text(x, whole.y + whole.height + 11,
              cut_text(head.note, layout_.note_columns),
              R"(font-size="9" fill="#333")");
    return head.pruned ? pruned(head, name, whole)
                       : attending(head, name, whole);
  }

  // The tooltip of a thumbnail.
  static std::string tip(const std::string& name, const GridHead& head,
                         const std::string& more) {
    return name + ": " + (head.note.empty() ? "" : head.note + "; ") + more;
  }

  Status pruned(const GridHead& head, const std::string& name,
                const Box& whole) {
    svg_.rectangle(whole, "url(#pruned)", tip(name, head, words_("pruned")));
    svg_.frame(whole);
    return ok();
  }

  Status attending(const GridHead& head, const std::string& name,
                   const Box& whole) {
    const double largest = largest_in_map(head.map);
    const double cell_width = map_cell(head.map.extent(1), layout_.cell);
    const double cell_height = map_cell(head.map.extent(0), layout_.cell);
    const HeatImage image = pixels_of(head.map, given_.fit ? largest : 1);
    HEADWISE_ASSIGN(const auto uri,
                    heat_image_uri("heads_grid_svg", image,
                                   cell_pixels(image, cell_width, cell_height,
                                               given_.zoom)));
    const Box box{whole.x, whole.y,
                  cell_width * static_cast<double>(image.columns),
                  cell_height * static_cast<double>(image.rows)};
    svg_.image(box, uri,
               tip(name, head, words_("largest") + " " + svg_number(largest)));
    svg_.frame(box);
    return ok();
  }

  void legend() {
    const double y =
        top_ + layout_.line_height * static_cast<double>(layout_.lines) + 12;
    constexpr double kEnd = kGridMargin + kWeightRampWidth;
    if (given_.fit) {
      draw_ramp_of_shares(y);
    } else {
      draw_weight_ramp(svg_, kGridMargin, y, 1);
    }
    svg_.text(kEnd + 24, y + 11,
              words_("attention weight; rows are queries, columns are keys"));
    svg_.text(kEnd + 24, y + 27,
              given_.fit
                  ? words_("scaled per head; colour follows the square root of "
                           "the weight")
                  : words_("colour follows the square root of the weight"),
              R"(fill="#555")");
    keys(y + 42);
  }

  // The ramp if each head has its own scale.
  void draw_ramp_of_shares(double y) {
    draw_heat_ramp(svg_, kGridMargin, y, kWeightRampParts);
    constexpr std::array<std::pair<double, std::string_view>, 3> kTicks = {
        {{0, "0"}, {0.1, "10%"}, {0.4, "40%"}}};
    for (const auto& [share, words] : kTicks) {
      svg_.text(kGridMargin + std::sqrt(share) * kWeightRampWidth, y + 27,
                words, share > 0 ? R"(text-anchor="middle")" : "");
    }
    svg_.text(kGridMargin + kWeightRampWidth, y + 27, words_("largest"),
              R"(text-anchor="end")");
  }

  void keys(double y) {
    double x = kGridMargin;
    if (std::ranges::any_of(given_.heads, has_masked)) {
      key(x, y, colour_text(kMaskedColour), words_("masked"));
      x += 100;
    }
    if (std::ranges::any_of(given_.heads, &GridHead::pruned)) {
      key(x, y, "url(#pruned)", words_("pruned"));
    }
  }

  void key(double x, double y, std::string_view fill, std::string_view word) {
    svg_.rectangle({x, y, 14, 14}, fill);
    svg_.frame({x, y, 14, 14});
    svg_.text(x + 20, y + 11, word);
  }

  const HeadsGridPicture& given_;
  GridLayout layout_;
  Words words_;
  SvgWriter svg_;
  double left_;  // of the first thumbnail
  double top_;
};

Status check_grid(const HeadsGridPicture& picture) {
  HEADWISE_TRY(
      check_at_least_one("heads_grid_svg", "heads", picture.heads.size()));
  HEADWISE_TRY(check_zoom("heads_grid_svg", picture.zoom));
  for (std::size_t n = 0; n < picture.heads.size(); ++n) {
    const GridHead& head = picture.heads[n];
    const auto [rows, columns] = head.map.extents();
    const bool fits = rows > 0 && columns > 0 && rows <= kLargestMap &&
                      columns <= kLargestMap;
    if (!head.pruned && !fits) {
      return argument_error("heads_grid_svg",
                            "heads[" + std::to_string(n) + "].map",
                            message("is {} x {}", rows, columns),
                            "1 x 1 to 64 x 64 cells", ErrorCode::out_of_range);
    }
  }
  return ok();
}

}  // namespace

Result<std::string> heads_grid_svg(const HeadsGridPicture& picture) try {
  HEADWISE_TRY(check_grid(picture));
  return GridDrawing(picture).draw();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
