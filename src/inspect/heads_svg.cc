#include "headwise/inspect/heads_svg.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "headwise/base/checked_product.h"
#include "inspect/heat_colour.h"
#include "inspect/svg_text.h"

namespace headwise {
namespace {

// ---- Words. ----

struct Words {
  std::string_view head;
  std::string_view query_axis;
  std::string_view key_axis;
  std::string_view scale;
  std::string_view masked;
};

Words words_of(Language language) {
  if (language == Language::ko) {
    return {"헤드", "쿼리", "키", "어텐션 가중치", "가려짐"};
  }
  return {"head", "query", "key", "attention weight", "masked"};
}

// ---- The layout, in pixels. ----

constexpr double kMargin = 24;
constexpr double kTitle = 40;
constexpr double kLegend = 64;
constexpr double kGap = 20;
constexpr double kHeadName = 26;
constexpr double kHeadWidth = 40;  // at least, for "head 7"
constexpr double kAxisName = 16;
constexpr double kCharacter = 6.4;  // width of one character of a label

// The width the labels need.
double label_width(const std::vector<std::string>& labels) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, text_columns(label));
  }
  return widest * kCharacter + 8;
}

struct Layout {
  double cell;
  double left;   // room for the queries' labels
  double top;    // room for the head's name and the keys' labels
  double width;  // of one head
  double height;
  std::size_t columns;
};

Layout lay_out(const HeadsPicture& picture) {
  const auto [H, Lq, Lkv] = picture.attn_weights.extents();
  Layout layout{};
  const auto longest = static_cast<double>(std::max({Lq, Lkv, std::size_t{1}}));
  layout.cell = std::clamp(300 / longest, 4.0, 26.0);
  layout.left = label_width(picture.query_labels) + kAxisName;
  layout.top = kHeadName + kAxisName + label_width(picture.key_labels);
  layout.width = layout.left +
                 std::max(layout.cell * static_cast<double>(Lkv), kHeadWidth);
  layout.height = layout.top + layout.cell * static_cast<double>(Lq);
  layout.columns = std::clamp<std::size_t>(H, 1, 4);
  return layout;
}

// ---- The parts of the picture. ----

class Picture {
 public:
  explicit Picture(const HeadsPicture& given)
      : given_(given),
        layout_(lay_out(given)),
        words_(words_of(given.language)) {
    for (std::size_t h = 0; h < given.attn_weights.extent(0); ++h) {
      for (std::size_t i = 0; i < given.attn_weights.extent(1); ++i) {
        for (std::size_t j = 0; j < given.attn_weights.extent(2); ++j) {
          const double weight = given.attn_weights(h, i, j);
          if (std::isfinite(weight)) {
            largest_ = std::max(largest_, weight);
          }
        }
      }
    }
  }

  std::string draw() {
    begin();
    const std::size_t heads = given_.attn_weights.extent(0);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t whole_lines = h / layout_.columns;
      const auto column = static_cast<double>(h % layout_.columns);
      const auto line = static_cast<double>(whole_lines);
      head(h, kMargin + column * (layout_.width + kGap),
           kMargin + kTitle + line * (layout_.height + kGap));
    }
    legend();
    return std::move(svg_) + "</svg>\n";
  }

 private:
  double full_width() const {
    const auto columns = static_cast<double>(layout_.columns);
    return std::max(2 * kMargin + columns * (layout_.width + kGap) - kGap,
                    480.0);
  }
  double lines() const {
    const std::size_t heads = given_.attn_weights.extent(0);
    const std::size_t whole_lines =
        (heads + layout_.columns - 1) / layout_.columns;
    return static_cast<double>(whole_lines);
  }
  double full_height() const {
    return 2 * kMargin + kTitle + lines() * (layout_.height + kGap) + kLegend;
  }

  void begin() {
    const std::string size = "width=\"" + svg_number(full_width()) +
                             "\" height=\"" + svg_number(full_height()) + "\"";
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size +
           " viewBox=\"0 0 " + svg_number(full_width()) + " " +
           svg_number(full_height()) +
           "\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n"
           "<title>" +
           svg_text(given_.title) +
           R"svg(</title>
<defs>
<pattern id="masked" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#f4f4f4"/>
<line x1="0" y1="0" x2="0" y2="5" stroke="#9a9a9a" stroke-width="1.6"/>
</pattern></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
)svg";
    text(kMargin, kMargin + 14, given_.title,
         R"(font-size="16" font-weight="bold")");
  }

  void text(double x, double y, std::string_view words,
            const std::string& attributes) {
    svg_ += "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" " +
            attributes + ">" + svg_text(words) + "</text>\n";
  }

  void rectangle(double x, double y, double width, double height,
                 const std::string& fill, std::string_view tip) {
    svg_ += "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
            "\" width=\"" + svg_number(width) + "\" height=\"" +
            svg_number(height) + "\" fill=\"" + fill + "\"";
    svg_ += tip.empty() ? std::string("/>\n")
                        : "><title>" + svg_text(tip) + "</title></rect>\n";
  }

  void head(std::size_t h, double x, double y) {
    const auto [H, Lq, Lkv] = given_.attn_weights.extents();
    const double left = x + layout_.left;
    const double top = y + layout_.top;
    text(left, y + 12, std::string(words_.head) + " " + std::to_string(h),
         "font-weight=\"bold\"");
    text(left, y + 12 + kAxisName, std::string(words_.key_axis) + " →",
         "fill=\"#555\"");
    svg_ += R"(<g fill="#222">)";
    for (std::size_t j = 0; j < Lkv; j += every()) {
      const double at =
          left + (static_cast<double>(j) + 0.5) * layout_.cell + 4;
      text(at, top - 5, given_.key_labels[j],
           "transform=\"rotate(-90 " + svg_number(at) + " " +
               svg_number(top - 5) + ")\"");
    }
    for (std::size_t i = 0; i < Lq; i += every()) {
      text(left - 5, top + (static_cast<double>(i) + 0.5) * layout_.cell + 4,
           given_.query_labels[i], "text-anchor=\"end\"");
    }
    svg_ += "</g>\n";
    const double axis = x + 10;
    const double middle = top + layout_.cell * static_cast<double>(Lq) / 2;
    text(axis, middle, std::string("← ") + std::string(words_.query_axis),
         R"(fill="#555" text-anchor="middle" transform="rotate(-90 )" +
             svg_number(axis) + " " + svg_number(middle) + ")\"");
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        cell(h, i, j, left, top);
      }
    }
    svg_ +=
        "<rect x=\"" + svg_number(left) + "\" y=\"" + svg_number(top) +
        "\" width=\"" + svg_number(layout_.cell * static_cast<double>(Lkv)) +
        "\" height=\"" + svg_number(layout_.cell * static_cast<double>(Lq)) +
        "\" fill=\"none\" stroke=\"#444\" stroke-width=\"0.6\"/>\n";
  }

  // With small cells only every n-th label has room.
  std::size_t every() const {
    return static_cast<std::size_t>(std::ceil(12 / layout_.cell));
  }

  void cell(std::size_t h, std::size_t i, std::size_t j, double left,
            double top) {
    const bool masked =
        given_.allowed.data() != nullptr && !given_.allowed(h, i, j);
    const double weight = given_.attn_weights(h, i, j);
    const double share = largest_ > 0 ? weight / largest_ : 0;
    const std::string fill = masked ? "url(#masked)"
                             : std::isnan(weight)
                                 ? colour_text(kNoNumber)
                                 : colour_text(heat_colour(share));
    rectangle(left + static_cast<double>(j) * layout_.cell,
              top + static_cast<double>(i) * layout_.cell, layout_.cell,
              layout_.cell, fill,
              given_.query_labels[i] + " → " + given_.key_labels[j] + ": " +
                  (masked ? std::string(words_.masked) : svg_number(weight)));
  }

  void legend() {
    const double y = kMargin + kTitle + lines() * (layout_.height + kGap) + 8;
    constexpr int kParts = 40;
    constexpr double kPart = 4;
    for (int part = 0; part < kParts; ++part) {
      rectangle(kMargin + part * kPart, y, kPart + 0.5, 14,
                colour_text(heat_colour(part / (kParts - 1.0))), "");
    }
    const double end = kMargin + kParts * kPart;
    text(kMargin, y + 28, "0", "");
    text(end, y + 28, svg_number(largest_), "text-anchor=\"end\"");
    text((kMargin + end) / 2, y + 44, words_.scale, "text-anchor=\"middle\"");
    rectangle(end + 40, y, 14, 14, "url(#masked)", "");
    text(end + 60, y + 12, words_.masked, "");
  }

  const HeadsPicture& given_;
  Layout layout_;
  Words words_;
  double largest_ = 0;
  std::string svg_;
};

}  // namespace

Result<std::string> heads_svg(const HeadsPicture& picture) {
  const auto [H, Lq, Lkv] = picture.attn_weights.extents();
  if (Status s = check_shape("heads_svg", "query_labels",
                             {{picture.query_labels.size()}}, "(Lq)", {{Lq}});
      !s) {
    return s.error();
  }
  if (Status s = check_shape("heads_svg", "key_labels",
                             {{picture.key_labels.size()}}, "(Lkv)", {{Lkv}});
      !s) {
    return s.error();
  }
  if (picture.allowed.data() != nullptr) {
    if (Status s =
            check_shape("heads_svg", "allowed", picture.allowed.extents(),
                        "(H, Lq, Lkv)", {{H, Lq, Lkv}});
        !s) {
      return s.error();
    }
  }
  const auto cells = checked_product({{H, Lq, Lkv}});
  if (!cells || *cells > kLargestPicture) {
    return value_error("heads_svg", "H * Lq * Lkv",
                       cells ? std::to_string(*cells) : "beyond 64 bits",
                       "at most " + std::to_string(kLargestPicture) + " cells",
                       ErrorCode::out_of_range);
  }
  return Picture(picture).draw();
}

}  // namespace headwise
