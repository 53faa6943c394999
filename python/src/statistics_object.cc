#include "statistics_object.h"

#include <nanobind/stl/string.h>

#include <string>
#include <string_view>

#include "bindings.h"
#include "error.h"
#include "new_array.h"
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"

namespace headwise::python {
namespace {

// Arrays, or None for what was not asked for.
struct StatisticsObject {
  nb::object rows, top_keys, top_weights, columns, map_mean, map_largest;
  nb::object means, counted, without_key;
};

template <class T, std::size_t Rank>
nb::object array_of(Tensor<T, Rank> tensor, const ArrayArgument& like,
                    bool batched) {
  if (tensor.data() == nullptr) {
    return nb::none();
  }
  if constexpr (Rank > 1) {
    if (!batched) {
      return NewArray(like, std::move(tensor).without_batch()).object();
    }
  }
  return NewArray(like, std::move(tensor)).object();
}

// The numbers of one statistic, from an array whose last axis has them all.
nb::object of_statistic(const nb::object& all, nb::handle statistic) {
  if (all.is_none()) {
    raise_value({"AttentionStatistics", ""},
                "the statistics of the rows were not asked for",
                "statistics={\"rows\": True}");
  }
  EnumWord<Statistic> words[kStatistics];
  for (std::size_t n = 0; n < kStatistics; ++n) {
    words[n] = {kStatisticRows[n].name, static_cast<Statistic>(n)};
  }
  const Statistic wanted =
      one_of(statistic, {"AttentionStatistics", "statistic"}, words);
  return all[nb::make_tuple(nb::ellipsis(), index_of(wanted))];
}

}  // namespace

nb::object statistics_object(AttentionStatistics statistics,
                             const ArrayArgument& like, BatchAxes axes) {
  const auto array = [&](auto tensor) {
    return array_of(std::move(tensor), like, axes.tensors);
  };
  const auto map = [&](auto tensor) {
    return array_of(std::move(tensor), like, axes.sequences);
  };
  const auto of_heads = [&](auto tensor) {
    return array_of(std::move(tensor), like, true);
  };
  StatisticsObject object;
  object.rows = array(std::move(statistics.rows));
  object.top_keys = array(std::move(statistics.top_keys));
  object.top_weights = array(std::move(statistics.top_weights));
  object.columns = array(std::move(statistics.columns));
  object.map_mean = map(std::move(statistics.map_mean));
  object.map_largest = map(std::move(statistics.map_largest));
  object.means = of_heads(std::move(statistics.pooled.means));
  object.counted = of_heads(std::move(statistics.pooled.rows));
  object.without_key = of_heads(std::move(statistics.pooled.rows_without_key));
  return nb::cast(std::move(object));
}

void bind_statistics(nb::module_& module) {
  nb::list names;
  nb::list of_positions;
  for (std::size_t n = 0; n < kStatistics; ++n) {
    const std::string_view name = kStatisticRows[n].name;
    names.append(nb::str(name.data(), name.size()));
    if (compares_positions(static_cast<Statistic>(n))) {
      of_positions.append(names[n]);
    }
  }
  module.attr("STATISTICS") = nb::tuple(names);
  module.attr("POSITION_STATISTICS") = nb::tuple(of_positions);
  nb::class_<StatisticsObject>(
      module, "AttentionStatistics", nb::is_generic(),
      nb::sig("class AttentionStatistics(Generic[_A])"),
      R"(What each head does, in numbers.

    rows              (B, Hq, Lq, n)         the n statistics of each row, in
                                             the order of headwise.STATISTICS
    top_keys          (B, Hq, Lq, top_keys)  int64; -1: there is none
    top_weights       (B, Hq, Lq, top_keys)
    columns           (B, Hq, Lkv)           weight that each key receives
    map_mean          (B, Hq, rows, columns) at most 64 x 64 cells
    map_largest       (B, Hq, rows, columns)
    means             (Hq, n)                of rows, over all rows with a key
    counted           (Hq)                   int64, the rows in the means
    rows_without_key  (Hq)                   int64

What was not asked for is None. A call without a batch has no axis B.)")
      .def_ro("rows", &StatisticsObject::rows,
              nb::for_getter(nb::sig("def rows(self) -> _A | Any")))
      .def_ro("top_keys", &StatisticsObject::top_keys,
              nb::for_getter(nb::sig("def top_keys(self) -> _A | Any")))
      .def_ro("top_weights", &StatisticsObject::top_weights,
              nb::for_getter(nb::sig("def top_weights(self) -> _A | Any")))
      .def_ro("columns", &StatisticsObject::columns,
              nb::for_getter(nb::sig("def columns(self) -> Any")))
      .def_ro("map_mean", &StatisticsObject::map_mean,
              nb::for_getter(nb::sig("def map_mean(self) -> _A | Any")))
      .def_ro("map_largest", &StatisticsObject::map_largest,
              nb::for_getter(nb::sig("def map_largest(self) -> _A | Any")))
      .def_ro("means", &StatisticsObject::means,
              nb::for_getter(nb::sig("def means(self) -> Any")))
      .def_ro("counted", &StatisticsObject::counted,
              nb::for_getter(nb::sig("def counted(self) -> Any")))
      .def_ro("rows_without_key", &StatisticsObject::without_key,
              nb::for_getter(nb::sig("def rows_without_key(self) -> Any")))
      .def(
          "row",
          [](const StatisticsObject& s, nb::handle statistic) {
            return of_statistic(s.rows, statistic);
          },
          nb::arg("statistic"),
          nb::sig("def row(self, statistic: Statistic) -> Any"),
          "One statistic of each row, (B, Hq, Lq).")
      .def(
          "mean",
          [](const StatisticsObject& s, nb::handle statistic) {
            return of_statistic(s.means, statistic);
          },
          nb::arg("statistic"),
          nb::sig("def mean(self, statistic: Statistic) -> Any"),
          "The mean of one statistic in each head, (Hq).")
      .def(State([](StatisticsObject& s) {
        return std::tie(s.rows, s.top_keys, s.top_weights, s.columns,
                        s.map_mean, s.map_largest, s.means, s.counted,
                        s.without_key);
      }))
      .def("__repr__", &text_of_properties);
}

}  // namespace headwise::python
