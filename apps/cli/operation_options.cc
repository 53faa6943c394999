#include "operation_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "args.h"
#include "headwise/interop/npy.h"
#include "outcome.h"

namespace headwise::cli {
namespace {

const std::map<std::string, EmptyRow> kEmptyRows = {
    {"zero", EmptyRow::zero},
    {"uniform", EmptyRow::uniform},
    {"nan", EmptyRow::nan}};

Error bad_option(std::string_view option, const std::string& given,
                 std::string_view expected) {
  return {ErrorCode::invalid_argument,
          fmt::format("{} is {}, expected {}", option, given, expected)};
}

// "B,1,Lkv" -> axes; H may also be called Hq. `option` is --mask-axes or
// --bias-axes.
Result<std::vector<Axis>> parse_axes(std::string_view option,
                                     std::string_view text) {
  static const std::map<std::string_view, Axis> kNames = {
      {"B", Axis::B},   {"H", Axis::H},     {"Hq", Axis::H},
      {"Lq", Axis::Lq}, {"Lkv", Axis::Lkv}, {"1", Axis::one}};
  std::vector<Axis> axes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const auto name = kNames.find(rest.substr(0, comma));
    if (name == kNames.end()) {
      return bad_option(option, std::string(text),
                        "names out of B, H, Lq, Lkv and 1, parted by commas, "
                        "such as B,1,Lkv");
    }
    if (name->second != Axis::one &&
        std::ranges::find(axes, name->second) != axes.end()) {
      return bad_option(option, std::string(text), "each name once");
    }
    axes.push_back(name->second);
    if (comma == std::string_view::npos) {
      return axes;
    }
    rest.remove_prefix(comma + 1);
  }
}

// One side of --window: a number of keys, or inf for all of them. No value: no
// such side.
std::optional<std::optional<std::int64_t>> parse_side(std::string_view text) {
  if (text == "inf") {
    return std::optional<std::int64_t>();
  }
  std::int64_t keys = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, keys);
  if (error != std::errc{} || end != last || keys < 0) {
    return std::nullopt;
  }
  return keys;
}

// "3,0" -> window(3, 0). One number alone is not guessed: some call it the keys
// on each side, others all the keys up to the query.
Result<Mask> parse_window(const std::string& text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto left = parse_side(std::string_view(text).substr(0, comma));
  const auto right = parse_side(
      std::string_view(text).substr(std::min(comma + 1, text.size())));
  if (!left || !right) {
    return bad_option("--window", text,
                      "two whole numbers from 0 on, or inf for no limit, such "
                      "as 128,0 or 128,inf");
  }
  return window(*left, *right);
}

// Puts the axis B before those of an array that has none.
void add_batch_axis(Array& array) {
  array.shape.insert(array.shape.begin(), 1);
}

Error wrong_rank(std::string_view option, const Array& array,
                 std::string_view expected) {
  return {ErrorCode::shape_mismatch,
          fmt::format("{} has shape ({}), expected {}", option,
                      fmt::join(array.shape, ", "), expected)};
}

// The axes of --mask or --bias: given as `text`, or those of a rank-4 array. A
// shorter one is never guessed. An axis of extent 1 in a rank-4 array is
// broadcast.
Result<std::vector<Axis>> axes_of(const std::string& option,
                                  const std::string& text, const Array& array) {
  if (!text.empty()) {
    auto axes = parse_axes(option + "-axes", text);
    if (axes && axes->size() != array.shape.size()) {
      return wrong_rank(
          option, array,
          fmt::format("one axis for each name in {}-axes {}", option, text));
    }
    return axes;
  }
  if (array.shape.size() != 4) {
    return wrong_rank(option, array,
                      fmt::format("4 axes (B, H, Lq, Lkv), or {0}-axes to name "
                                  "them, such as {0}-axes B,1,Lkv",
                                  option));
  }
  std::vector<Axis> axes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (array.shape[axis] == 1) {
      axes[axis] = Axis::one;
    }
  }
  return axes;
}

// An array in C order as a dense tensor over the scores, and its elements side
// by side for a view on them.
Result<NamedAxes> flatten(const std::string& option, const std::string& text,
                          Array& array) {
  auto axes = axes_of(option, text, array);
  if (!axes) {
    return axes.error();
  }
  std::vector<std::ptrdiff_t> strides(array.shape.size(), 1);
  for (std::size_t axis = strides.size(); axis-- > 1;) {
    strides[axis - 1] =
        strides[axis] * static_cast<std::ptrdiff_t>(array.shape[axis]);
  }
  std::size_t count = 1;
  for (const std::size_t extent : array.shape) {
    count *= extent;
  }
  NamedAxes named{array.shape, std::move(strides), *std::move(axes), {}};
  array.shape = {count};
  return named;
}

template <class T>
Status store(Result<T> result, std::optional<T>& place) {
  if (!result) {
    return as_data(result.error());
  }
  place = *std::move(result);
  return ok();
}

// The whole numbers of a file with the axes `axes`, where one is given. Without
// a batch the first of them, B, may be missing.
template <std::size_t Rank>
Status read_integers(std::string_view option, const std::string& path,
                     std::string_view axes, bool batched,
                     std::optional<Tensor<std::int64_t, Rank>>& place) {
  if (path.empty()) {
    return ok();
  }
  Result<Array> array = read_npy(path);
  if (!array) {
    return array.error();
  }
  if (!batched && array->shape.size() + 1 == Rank) {
    add_batch_axis(*array);
  }
  if (array->shape.size() != Rank) {
    return wrong_rank(option, *array, axes);
  }
  return store(to_int64<Rank>(*array, "run", option), place);
}

}  // namespace

void add_operation_options(CLI::App& command, OperationFlags& flags) {
  const auto add = [&](const std::string& name, auto& value,
                       const std::string& text) {
    CLI::Option* option =
        command.add_option(name, value, text)->group("Attention");
    if constexpr (std::is_same_v<decltype(value), std::string&>) {
      option->check(not_empty());
    }
    return option;
  };
  add("--threads", flags.threads, "threads to use (default: all)")
      ->type_name("N")
      ->transform(at_least_one());
  command
      .add_flag("--causal", flags.causal,
                "query i sees the keys up to i + query start")
      ->disable_flag_override()
      ->group("Attention");
  add("--window", flags.window,
      "query i sees LEFT keys before i + query start, RIGHT after it; inf: all")
      ->type_name("LEFT,RIGHT");
  add("--query-start", flags.query_start,
      "where query 0 stands among the keys (default 0)")
      ->type_name("N|bottom-right|F.npy");
  add("--key-lengths", flags.key_lengths,
      "valid keys, (B) or (B, Lq), integers")
      ->type_name("F.npy");
  add("--key-starts", flags.key_starts,
      "(B): the first valid key of a sequence padded on the left")
      ->type_name("F.npy");
  add("--key-padding", flags.key_padding,
      "(B, Lkv), true or 1 = attend, 0 = padding")
      ->type_name("F.npy");
  add("--documents", flags.documents,
      "(B, Lkv), ids that do not decrease: attend within a document")
      ->type_name("F.npy");
  add("--query-documents", flags.query_documents,
      "(B, Lq), the queries' ids (default: those of --documents)")
      ->type_name("F.npy");
  add("--mask", flags.mask, "dense mask, true or 1 = attend, 0 = masked")
      ->type_name("F.npy");
  add("--mask-axes", flags.mask_axes,
      "the axes of --mask, such as B,1,Lkv or Lq,Lkv")
      ->type_name("AXES");
  add("--scale", flags.scale, "factor on q.k (default 1/sqrt(D))")
      ->type_name("X")
      ->check(finite_number());
  add("--softcap", flags.softcap,
      "scores become X * tanh(score / X), before any bias")
      ->type_name("X")
      ->check(finite_number());
  add("--bias", flags.bias, "added to the scores, float; -inf masks")
      ->type_name("F.npy");
  add("--bias-axes", flags.bias_axes,
      "the axes of --bias, such as H,Lq,Lkv or B,1,Lkv")
      ->type_name("AXES");
  add("--alibi", flags.alibi,
      "(H): scores lose slope * distance; auto: the usual slopes")
      ->type_name("F.npy|auto");
  add("--empty-rows", flags.empty_rows,
      "what a query without any key gives (default zero)")
      ->type_name("zero|uniform|nan")
      ->check(one_of({"zero", "uniform", "nan"}));
  add("--dropout", flags.dropout, "drop attention weights with probability P")
      ->type_name("P")
      ->check(probability());
  add("--dropout-seed", flags.dropout_seed, "which are dropped (default 0)")
      ->type_name("N")
      ->transform(natural_number());
  add("--sequence-ids", flags.sequence_ids,
      "(B): dropout follows a sequence's id, not its place")
      ->type_name("F.npy");
  add("--keep-mask", flags.keep_mask,
      "(B, H, Lq, Lkv): the weights to keep; --dropout P then gives 1/(1-P)")
      ->type_name("F.npy");
}

Status OperationInputs::read_query_start(const OperationFlags& flags) {
  const std::string& text = flags.query_start;
  if (text.empty()) {
    return ok();
  }
  if (text == "bottom-right") {
    query_start_ = QueryStart::bottom_right();
    return ok();
  }
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) {
    query_start_ = QueryStart(number);
    return ok();
  }
  if (!text.ends_with(".npy")) {
    return bad_option("--query-start", text,
                      "a whole number, bottom-right or a .npy file");
  }
  const Result<Array> array = read_npy(text);
  if (!array) {
    return array.error();
  }
  if (array->shape.size() != 1) {
    return wrong_rank("--query-start", *array, "(B)");
  }
  std::optional<Tensor<std::int64_t, 1>> starts;
  if (Status s = store(to_int64<1>(*array, "run", "--query-start"), starts);
      !s) {
    return s;
  }
  query_starts_ = *std::move(starts);
  query_start_ = QueryStart(std::as_const(query_starts_).view());
  return ok();
}

Status OperationInputs::read_key_lengths(const OperationFlags& flags,
                                         bool batched) {
  if (flags.key_lengths.empty()) {
    return ok();
  }
  Result<Array> array = read_npy(flags.key_lengths);
  if (!array) {
    return array.error();
  }
  // Unbatched: one length is (B) = (1), several are one a query, (1, Lq).
  if (!batched && array->shape.size() < 2 &&
      array->shape != std::vector<std::size_t>{1}) {
    add_batch_axis(*array);
  }
  if (array->shape.size() == 1) {
    return store(to_int64<1>(*array, "run", "--key-lengths"), key_lengths_);
  }
  if (array->shape.size() != 2) {
    return wrong_rank("--key-lengths", *array, "(B) or (B, Lq)");
  }
  return store(to_int64<2>(*array, "run", "--key-lengths"),
               key_lengths_of_queries_);
}

Status OperationInputs::read_documents(const OperationFlags& flags,
                                       bool batched) {
  if (flags.documents.empty() && !flags.query_documents.empty()) {
    return bad_option("--query-documents", flags.query_documents,
                      "a --documents beside it");
  }
  if (Status s = read_integers("--documents", flags.documents, "(B, Lkv)",
                               batched, documents_);
      !s) {
    return s;
  }
  return read_integers("--query-documents", flags.query_documents, "(B, Lq)",
                       batched, query_documents_);
}

Status OperationInputs::read_masks(const OperationFlags& flags, bool batched) {
  if (!flags.key_padding.empty()) {
    Result<Array> array = read_npy(flags.key_padding);
    if (!array) {
      return array.error();
    }
    if (!batched && array->shape.size() == 1) {
      add_batch_axis(*array);
    }
    if (array->shape.size() != 2) {
      return wrong_rank("--key-padding", *array, "(B, Lkv)");
    }
    if (Status s =
            store(to_bool<2>(*array, "run", "--key-padding"), key_padding_);
        !s) {
      return s;
    }
  }
  if (flags.mask.empty()) {
    return flags.mask_axes.empty()
               ? ok()
               : Status(bad_option("--mask-axes", flags.mask_axes,
                                   "a --mask beside it"));
  }
  Result<Array> array = read_npy(flags.mask);
  if (!array) {
    return array.error();
  }
  auto axes = flatten("--mask", flags.mask_axes, *array);
  if (!axes) {
    return axes.error();
  }
  mask_axes_ = *std::move(axes);
  return store(to_bool<1>(*array, "run", "--mask"), mask_);
}

Status OperationInputs::read_bias(const OperationFlags& flags) {
  if (flags.bias.empty()) {
    return flags.bias_axes.empty()
               ? ok()
               : Status(bad_option("--bias-axes", flags.bias_axes,
                                   "a --bias beside it"));
  }
  Result<Array> array = read_npy(flags.bias);
  if (!array) {
    return array.error();
  }
  auto axes = flatten("--bias", flags.bias_axes, *array);
  if (!axes) {
    return axes.error();
  }
  bias_axes_ = *std::move(axes);
  return store(to_float<1>(*array, "run", "--bias"), bias_);
}

Status OperationInputs::read_alibi(const OperationFlags& flags,
                                   std::size_t num_heads) {
  if (flags.alibi.empty()) {
    return ok();
  }
  if (flags.alibi == "auto") {
    return store(alibi_slopes(num_heads), alibi_);
  }
  if (!flags.alibi.ends_with(".npy")) {
    return bad_option("--alibi", flags.alibi, "auto or a .npy file");
  }
  const Result<Array> array = read_npy(flags.alibi);
  if (!array) {
    return array.error();
  }
  if (array->shape.size() != 1) {
    return wrong_rank("--alibi", *array, "(H)");
  }
  return store(to_float<1>(*array, "run", "--alibi"), alibi_);
}

Status OperationInputs::read_dropout(const OperationFlags& flags,
                                     bool batched) {
  if (Status s = read_integers("--sequence-ids", flags.sequence_ids, "(B)",
                               batched, sequence_ids_);
      !s) {
    return s;
  }
  if (flags.keep_mask.empty()) {
    return ok();
  }
  Result<Array> array = read_npy(flags.keep_mask);
  if (!array) {
    return array.error();
  }
  if (!batched && array->shape.size() == 3) {
    add_batch_axis(*array);
  }
  if (array->shape.size() != 4) {
    return wrong_rank("--keep-mask", *array, "(B, H, Lq, Lkv)");
  }
  return store(to_bool<4>(*array, "run", "--keep-mask"), keep_mask_);
}

Result<OperationInputs> OperationInputs::read(const OperationFlags& flags,
                                              bool batched,
                                              std::size_t num_heads) {
  OperationInputs inputs;
  inputs.flags_ = flags;
  if (flags.threads != 0) {
    auto executor = Executor::with_threads(flags.threads);
    if (!executor) {
      return executor.error();
    }
    inputs.executor_ = *std::move(executor);
  }
  if (!flags.window.empty()) {
    auto window = parse_window(flags.window);
    if (!window) {
      return window.error();
    }
    inputs.window_ = *std::move(window);
  }
  Status s = inputs.read_query_start(flags);
  if (s) {
    s = inputs.read_key_lengths(flags, batched);
  }
  if (s) {
    s = read_integers("--key-starts", flags.key_starts, "(B)", batched,
                      inputs.key_starts_);
  }
  if (s) {
    s = inputs.read_documents(flags, batched);
  }
  if (s) {
    s = inputs.read_masks(flags, batched);
  }
  if (s) {
    s = inputs.read_bias(flags);
  }
  if (s) {
    s = inputs.read_alibi(flags, num_heads);
  }
  if (s) {
    s = inputs.read_dropout(flags, batched);
  }
  if (!s) {
    return s.error();
  }
  return inputs;
}

AttentionOptions OperationInputs::options() const {
  AttentionOptions options{.scale = flags_.scale,
                           .softcap = flags_.softcap,
                           .query_start = query_start_,
                           .empty_rows = kEmptyRows.at(flags_.empty_rows),
                           .executor = executor_ ? &*executor_ : nullptr};
  if (key_padding_) {
    options.mask = options.mask & key_padding(key_padding_->view());
  }
  if (key_lengths_) {
    options.mask = options.mask & key_lengths(key_lengths_->view());
  }
  if (key_lengths_of_queries_) {
    options.mask = options.mask & key_lengths(key_lengths_of_queries_->view());
  }
  if (key_starts_) {
    options.mask = options.mask & key_starts(key_starts_->view());
  }
  if (documents_) {
    const auto& of_queries = query_documents_ ? query_documents_ : documents_;
    options.mask =
        options.mask & documents(of_queries->view(), documents_->view());
  }
  if (flags_.causal) {
    options.mask = options.mask & causal();
  }
  if (window_) {
    options.mask = options.mask & *window_;
  }
  if (mask_) {
    options.mask = options.mask & dense(mask_->data(), mask_axes_.extents,
                                        mask_axes_.strides, mask_axes_.axes);
  }
  if (bias_) {
    options.bias = Bias(bias_->data(), bias_axes_);
  }
  if (alibi_) {
    options.alibi = alibi_->view();
  }
  options.dropout.p = flags_.dropout;
  options.dropout.training = flags_.dropout.has_value();
  options.dropout.seed = Seed{flags_.dropout_seed};
  if (sequence_ids_) {
    options.dropout.sequence_ids = sequence_ids_->view();
  }
  if (keep_mask_) {
    options.dropout.keep_mask = keep_mask_->view();
  }
  return options;
}

}  // namespace headwise::cli
