// A picture of every head of one sequence: one heat map per head, tokens on the
// axes, masked cells hatched, in one self-contained SVG file. Colours follow
// the square root of the attention weight, from 0 to 1. A cell's tooltip shows
// its tokens and its weight; in a picture of more than 20000 cells each head is
// an image instead.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/head_hooks.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct HeadsPicture {
  TensorView<const float, 3> attn_weights;  // (H, Lq, Lkv)
  // (H, Lq, Lkv), true = may attend; no view: nothing is masked.
  TensorView<const bool, 3> allowed{};
  std::vector<std::string> query_labels;  // Lq; any text is safe
  std::vector<std::string> key_labels;    // Lkv
  std::string title;
  std::size_t first_head = 0;  // number of the first head
  Language language = Language::en;
  // How much the SVG will be enlarged when it is converted to a bitmap: the
  // images in it get that resolution.
  double zoom = 1;
  // Colours end at the largest attention weight of the picture, not at 1.
  bool fit = false;
};

// With more keys than this, attention weights are so small that the colours of
// pictures and of the page end at the largest weight.
inline constexpr std::size_t kMostKeysOfFullScale = 256;

// Errors: shape_mismatch when the labels or `allowed` do not fit; out_of_range
// for more than kLargestPicture cells (four heads of 2048 x 2048) or
// kMostPictureHeads heads; invalid_argument for a zoom that is not above 0;
// unsupported for more than a million queries or keys; out_of_memory.
inline constexpr std::size_t kLargestPicture = std::size_t{1} << 24;
inline constexpr std::size_t kMostPictureHeads = 4096;
Result<std::string> heads_svg(const HeadsPicture& picture);

// A picture of all heads of a model at once: a thumbnail of each head's
// attention weights, in one self-contained SVG file.

struct GridHead {
  std::size_t layer;
  std::size_t head;
  bool pruned;  // hatched; needs no map
  // (rows, columns) of 1 to kLargestMap: attention weights pooled into cells,
  // queries from top to bottom. NaN: every pair of the cell is masked.
  TensorView<const float, 2> map;
  std::string note;  // below the thumbnail, such as "previous 0.98"
};

struct HeadsGridPicture {
  std::span<const GridHead> heads;
  std::string title;
  std::string subtitle;  // may be empty
  Language language = Language::en;
  double zoom = 1;  // as in HeadsPicture
  // Each head's colours end at its own largest attention weight, not at 1, so
  // that small attention weights can be told apart.
  bool fit = false;
};

// Heads in order (by layer, then by head) form a grid: one line per layer, one
// column per head. In any other order they follow one another, each with its
// name above it.
//
// Colours follow the square root of the attention weight, as in HeadsPicture.
//
// Errors: invalid_argument if there are no heads or if the zoom is not above 0;
// out_of_range for a map that is empty or larger than kLargestMap;
// out_of_memory.
inline constexpr std::size_t kLargestMap = 64;
Result<std::string> heads_grid_svg(const HeadsGridPicture& picture);

// A picture of one number per head of a model, such as its importance: a heat
// map of layers and heads with the numbers in it. One self-contained SVG file
// with a white background, so that it reads well on light and dark pages.
//
// Colours are linear from the smallest to the largest number, which the legend
// shows. An infinite number is magenta and does not count in that range.
//
// Example:
//   HeadScores scores{.title = "Taylor importance",
//                     .scores = {{0.12, 0.034}, {0.5, kPrunedHead}},
//                     .removed = {{0, 1}}};
//   std::string svg = head_scores_svg(scores).value();

// The score of a pruned head, which is drawn hatched.
inline constexpr double kPrunedHead = std::numeric_limits<double>::quiet_NaN();

struct HeadScores {
  std::string title{};     // the method; any text is safe, here and below
  std::string subtitle{};  // may be empty
  // By layer, then by head; layers may have different numbers of heads, or
  // none.
  std::vector<std::vector<double>> scores{};
  // Heads drawn with a frame and a cross; heads without a number are skipped.
  std::vector<HeadId> removed{};
  Language language = Language::en;
};

// A picture without heads says so. Errors: out_of_memory.
Result<std::string> head_scores_svg(const HeadScores& scores);

// A picture of a model's accuracy against the number of heads removed, next to
// the accuracy when the same number is removed at random. One self-contained
// SVG file with a white background, so that it reads well on light and dark
// pages.
//
// A series is a line through its points, each with a bar from low to high. The
// random series is a dashed line through the means, in a band from low to high.
//
// Example:
//   AccuracyCurve curve{.title = "IMDb",
//                       .series = {.name = "Taylor importance",
//                                  .range = "95% confidence interval",
//                                  .points = {{0, 92.1, 91.2, 93.0},
//                                             {12, 91.8, 90.9, 92.7}}}};
//   std::string svg = accuracy_curve_svg(curve).value();

// In percent. No interval is drawn unless both low and high are finite.
struct AccuracyPoint {
  std::size_t heads_removed;
  double accuracy;
  double low;
  double high;
};

struct AccuracySeries {
  std::string name{};   // any text is safe, here and below
  std::string range{};  // what low and high mean
  // In any order; points whose accuracy is not finite are skipped.
  std::vector<AccuracyPoint> points{};
};

struct AccuracyCurve {
  std::string title{};
  std::string subtitle{};  // may be empty
  AccuracySeries series{};
  AccuracySeries random{};  // not drawn without points
  Language language = Language::en;
  // Size of the plot inside its axes, in pixels, at least 120 and 80.
  double width = 560;
  double height = 300;
};

// A picture without points says so. Errors: out_of_memory.
Result<std::string> accuracy_curve_svg(const AccuracyCurve& curve);

// A picture of the loss of a training run, step by step, next to that of a
// baseline, in one self-contained SVG file. The baseline is dashed.
//
// Example:
//   std::string svg = loss_curve_svg({.title = "Loss",
//                                     .model = {"attention", run.losses()},
//                                     .baseline = {"uniform attention weights",
//                                                  run.uniform_losses()}})
//                         .value();

struct LossSeries {
  std::string name{};  // any text is safe, here and below
  std::span<const double> losses{};
};

struct LossCurve {
  std::string title{};         // of the file
  std::string heading{};       // above the plot
  std::string steps = "step";  // the name of the axis
  LossSeries model{};
  LossSeries baseline{};  // as many losses as the model has
};

// Errors: out_of_memory.
Result<std::string> loss_curve_svg(const LossCurve& curve);

// The means over at most `points` parts of about equal length.
std::vector<double> mean_losses(std::span<const double> losses,
                                std::size_t points);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
