#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/base/checked_product.h"
#include "headwise/inspect/pictures.h"
#include "inspect/pictures/heat_colour.h"
#include "inspect/pictures/heat_image.h"
#include "inspect/pictures/heat_ramp.h"
#include "inspect/pictures/svg_text.h"
#include "inspect/pictures/svg_writer.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// ---- The layout, in pixels. ----

constexpr double kHeadsMargin = SvgWriter::kMargin;
constexpr double kTitle = 40;
constexpr double kHeadsLegend = 64;
constexpr double kHeadsGap = 20;
constexpr double kHeadName = 26;
constexpr double kHeadWidth = 40;  // at least, so that "head 7" fits
constexpr double kHeadsAxisName = 16;
constexpr double kHeadsCharacter = 6.4;  // width of one character of a label

// With more cells than this, one rectangle per cell makes a file that viewers
// struggle with, and nobody reads the tooltips: each head becomes an image.
constexpr std::size_t kMostRectangles = 20000;

// The width that the labels need.
double label_width(const std::vector<std::string>& labels) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, text_columns(label));
  }
  return widest * kHeadsCharacter + 8;
}

struct HeadsLayout {
  bool images;
  double cell_width;
  double cell_height;
  double left;  // space for the labels of the queries
  double top;   // space for the head's name and the labels of the keys
  double map_width;
  double map_height;
  double width;  // of one head
  double height;
  std::size_t columns;
};

// The side of a cell in an image. In whole pixels, so that all cells of a map
// have the same size. An axis with few cells gets larger ones, because
// otherwise it would be a line.
double image_cell(double cells, double longest) {
  return std::max(std::ceil(300 / longest),
                  std::clamp(std::floor(60 / cells), 1.0, 26.0));
}

HeadsLayout lay_out_heads(const HeadsPicture& picture) {
  const auto [H, Lq, Lkv] = picture.attn_weights.extents();
  const auto queries = static_cast<double>(Lq);
  const auto keys = static_cast<double>(Lkv);
  const double longest = std::max({queries, keys, 1.0});
  HeadsLayout layout{};
  layout.images = H * Lq * Lkv > kMostRectangles;
  if (layout.images) {
    layout.cell_width = image_cell(keys, longest);
    layout.cell_height = image_cell(queries, longest);
  } else {
    layout.cell_width = std::clamp(300 / longest, 4.0, 26.0);
    layout.cell_height = layout.cell_width;
  }
  layout.left = label_width(picture.query_labels) + kHeadsAxisName;
  layout.top = kHeadName + kHeadsAxisName + label_width(picture.key_labels);
  if (layout.images) {  // whole pixels here too
    layout.left = std::ceil(layout.left);
    layout.top = std::ceil(layout.top);
  }
  layout.map_width = layout.cell_width * keys;
  layout.map_height = layout.cell_height * queries;
  layout.width = layout.left + std::max(layout.map_width, kHeadWidth);
  layout.height = layout.top + layout.map_height;
  layout.columns = std::clamp<std::size_t>(H, 1, 4);
  return layout;
}

double lines(const HeadsPicture& picture, const HeadsLayout& layout) {
  const std::size_t heads = picture.attn_weights.extent(0);
  const std::size_t whole_lines = (heads + layout.columns - 1) / layout.columns;
  return static_cast<double>(whole_lines);
}

double heads_width(const HeadsPicture& picture, const HeadsLayout& layout) {
  const auto columns = static_cast<double>(layout.columns);
  return std::max(
      {2 * kHeadsMargin + columns * (layout.width + kHeadsGap) - kHeadsGap,
       480.0, 2 * kHeadsMargin + SvgHeading{picture.title}.width()});
}

double heads_height(const HeadsPicture& picture, const HeadsLayout& layout) {
  return 2 * kHeadsMargin + kTitle +
         lines(picture, layout) * (layout.height + kHeadsGap) + kHeadsLegend;
}

double largest_weight(const TensorView<const float, 3>& attn_weights) {
  const auto [H, Lq, Lkv] = attn_weights.extents();
  double largest = 0;
  for (std::size_t h = 0; h < H; ++h) {
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        const double weight = attn_weights(h, i, j);
        if (std::isfinite(weight)) {
          largest = std::max(largest, weight);
        }
      }
    }
  }
  return largest;
}

bool any_masked(const TensorView<const bool, 3>& allowed) {
  const auto [H, Lq, Lkv] = allowed.extents();
  for (std::size_t h = 0; h < H && allowed.data() != nullptr; ++h) {
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        if (!allowed(h, i, j)) {
          return true;
        }
      }
    }
  }
  return false;
}

// With small cells there is space for only every n-th label.
std::size_t every(double cell) {
  return static_cast<std::size_t>(std::ceil(12 / cell));
}

// ---- The parts of the picture. ----

class HeadsDrawing {
 public:
  explicit HeadsDrawing(const HeadsPicture& given)
      : given_(given),
        layout_(lay_out_heads(given)),
        words_(given.language),
        end_(given.fit ? largest_weight(given.attn_weights) : 1),
        any_masked_(any_masked(given.allowed)),
        svg_(heads_width(given, layout_), heads_height(given, layout_),
             SvgHeading{given.title}, "masked") {}

  Result<std::string> draw() && {
    const std::size_t heads = given_.attn_weights.extent(0);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t whole_lines = h / layout_.columns;
      const auto column = static_cast<double>(h % layout_.columns);
      const auto line = static_cast<double>(whole_lines);
      HEADWISE_TRY(
          head(h, kHeadsMargin + column * (layout_.width + kHeadsGap),
               kHeadsMargin + kTitle + line * (layout_.height + kHeadsGap)));
    }
    legend();
    return std::move(svg_).finish();
  }

 private:
  Status head(std::size_t h, double x, double y) {
    const Box map{x + layout_.left, y + layout_.top, layout_.map_width,
                  layout_.map_height};
    svg_.text(map.x, y + 12, name_of(h), "font-weight=\"bold\"");
    svg_.text(map.x, y + 12 + kHeadsAxisName, words_("key") + " →",
              "fill=\"#555\"");
    labels(map);
    const double axis = x + 10;
    const double middle = map.y + map.height / 2;
    svg_.text(axis, middle, "← " + words_("query"),
              R"(fill="#555" text-anchor="middle" transform="rotate(-90 )" +
                  svg_number(axis) + " " + svg_number(middle) + ")\"");
    if (layout_.images) {
      HEADWISE_TRY(image(h, map));
    } else {
      cells(h, map);
    }
    svg_.frame(map);
    return ok();
  }

  std::string name_of(std::size_t h) const {
    return words_("head {0}", std::to_string(given_.first_head + h));
  }

  void labels(const Box& map) {
    const auto [H, Lq, Lkv] = given_.attn_weights.extents();
    svg_.markup(R"(<g fill="#222">)");
    for (std::size_t j = 0; j < Lkv; j += every(layout_.cell_width)) {
      const double at =
          map.x + (static_cast<double>(j) + 0.5) * layout_.cell_width + 4;
      svg_.text(at, map.y - 5, given_.key_labels[j],
                "transform=\"rotate(-90 " + svg_number(at) + " " +
                    svg_number(map.y - 5) + ")\"");
    }
    for (std::size_t i = 0; i < Lq; i += every(layout_.cell_height)) {
      svg_.text(
          map.x - 5,
          map.y + (static_cast<double>(i) + 0.5) * layout_.cell_height + 4,
          given_.query_labels[i], "text-anchor=\"end\"");
    }
    svg_.markup("</g>\n");
  }

  bool masked(std::size_t h, std::size_t i, std::size_t j) const {
    return given_.allowed.data() != nullptr && !given_.allowed(h, i, j);
  }

  void cells(std::size_t h, const Box& map) {
    const auto [H, Lq, Lkv] = given_.attn_weights.extents();
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        cell(h, i, j, map);
      }
    }
  }

  void cell(std::size_t h, std::size_t i, std::size_t j, const Box& map) {
    const double weight = given_.attn_weights(h, i, j);
    const bool hidden = masked(h, i, j);
    const Rgb colour = std::isnan(weight)
                           ? kNoNumberColour
                           : heat_colour(weight_share(weight, end_));
    svg_.rectangle({map.x + static_cast<double>(j) * layout_.cell_width,
                    map.y + static_cast<double>(i) * layout_.cell_height,
                    layout_.cell_width, layout_.cell_height},
                   hidden ? "url(#masked)" : colour_text(colour),
                   given_.query_labels[i] + " → " + given_.key_labels[j] +
                       ": " + (hidden ? words_("masked") : svg_number(weight)));
  }

  Status image(std::size_t h, const Box& map) {
    const auto [H, Lq, Lkv] = given_.attn_weights.extents();
    HeatImage pixels{Lq, Lkv, {}};
    pixels.shades.reserve(Lq * Lkv);
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        pixels.shades.push_back(shade(h, i, j));
      }
    }
    HEADWISE_ASSIGN(
        const auto uri,
        heat_image_uri("heads_svg", pixels,
                       cell_pixels(pixels, layout_.cell_width,
                                   layout_.cell_height, given_.zoom)));
    if (any_masked_) {
      svg_.rectangle(map, "url(#masked)");  // shows where the image is clear
    }
    svg_.image(map, uri, name_of(h));
    return ok();
  }

  Shade shade(std::size_t h, std::size_t i, std::size_t j) const {
    if (masked(h, i, j)) {
      return kClearShade;
    }
    const double weight = given_.attn_weights(h, i, j);
    return std::isnan(weight) ? kNoNumberShade
                              : heat_shade(weight_share(weight, end_));
  }

  void legend() {
    const double y = kHeadsMargin + kTitle +
                     lines(given_, layout_) * (layout_.height + kHeadsGap) + 8;
    draw_weight_ramp(svg_, kHeadsMargin, y, end_);
    constexpr double kEnd = kHeadsMargin + kWeightRampWidth;
    svg_.text((kHeadsMargin + kEnd) / 2, y + 44, words_("attention weight"),
              "text-anchor=\"middle\"");
    if (any_masked_) {
      svg_.rectangle({kEnd + 40, y, 14, 14}, "url(#masked)");
      svg_.text(kEnd + 60, y + 12, words_("masked"));
    }
  }

  const HeadsPicture& given_;
  HeadsLayout layout_;
  Words words_;
  double end_;  // of the colours
  bool any_masked_;
  SvgWriter svg_;
};

Status check_heads(const HeadsPicture& picture) {
  const auto [H, Lq, Lkv] = picture.attn_weights.extents();
  HEADWISE_TRY(check_shape("heads_svg", "query_labels",
                           {{picture.query_labels.size()}}, "(Lq)", {{Lq}}));
  HEADWISE_TRY(check_shape("heads_svg", "key_labels",
                           {{picture.key_labels.size()}}, "(Lkv)", {{Lkv}}));
  if (picture.allowed.data() != nullptr) {
    HEADWISE_TRY(check_shape("heads_svg", "allowed", picture.allowed.extents(),
                             "(H, Lq, Lkv)", {{H, Lq, Lkv}}));
  }
  HEADWISE_TRY(check_zoom("heads_svg", picture.zoom));
  const auto cells = checked_product({{H, Lq, Lkv}});
  if (!cells || *cells > kLargestPicture) {
    return argument_error(
        "heads_svg", "H * Lq * Lkv",
        cells ? message("is {}", *cells) : Message("is beyond 64 bits"),
        message("at most {} cells", kLargestPicture), ErrorCode::out_of_range);
  }
  if (H > kMostPictureHeads) {
    return value_error("heads_svg", "H", std::to_string(H),
                       message("at most {}", kMostPictureHeads),
                       ErrorCode::out_of_range);
  }
  return ok();
}

}  // namespace

Result<std::string> heads_svg(const HeadsPicture& picture) try {
  HEADWISE_TRY(check_heads(picture));
  return HeadsDrawing(picture).draw();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
