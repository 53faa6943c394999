#include "view_changes.h"

#include <nanobind/nanobind.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "error.h"
#include "headwise/heads/mean_interval.h"
#include "named_fields.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr std::string_view kSetChanges = "ViewPage.set_changes";

nb::sequence sequence(nb::handle value, ArgumentName name,
                      std::string_view expected) {
  if (!nb::isinstance<nb::sequence>(value) || nb::isinstance<nb::str>(value)) {
    raise_kind(value, name, expected);
  }
  return nb::borrow<nb::sequence>(value);
}

HeadId head_id(nb::handle value, ArgumentName name) {
  constexpr std::string_view kExpected = "(layer, head)";
  const nb::sequence pair = sequence(value, name, kExpected);
  if (nb::len(pair) != 2) {
    raise_kind(value, name, kExpected);
  }
  return {unsigned_integer(pair[0], name), unsigned_integer(pair[1], name)};
}

// Of one number per text.
ViewedInterval interval(nb::handle value, ArgumentName name) {
  std::vector<double> numbers;
  for (const nb::handle each :
       sequence(value, name, "a list of numbers, one per text")) {
    numbers.push_back(number(each, name));
  }
  const MeanInterval found = mean_interval(numbers);
  return {found.mean, found.low, found.high};
}

ViewedChange viewed_change(nb::handle dict) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  ViewedChange change{.head = {},
                      .other = {},
                      .similarity = {kNone, kNone, kNone},
                      .differences = {}};
  change.differences.fill(change.similarity);
  NamedFields fields(dict, kSetChanges);
  fields.take("head", change.head, head_id);
  fields.take("other", change.other, head_id);
  fields.take("match", change.match, head_id);
  fields.take("similarity", change.similarity, interval);
  fields.take("differences", [&](nb::handle value, ArgumentName name) {
    NamedFields statistics(value, kSetChanges, name.argument);
    for (std::size_t k = 0; k < kStatistics; ++k) {
      statistics.take(name_of(static_cast<Statistic>(k)), change.differences[k],
                      interval);
    }
    statistics.end();
  });
  fields.end();
  return change;
}

}  // namespace

std::vector<ViewedChange> viewed_changes(nb::handle changes) {
  std::vector<ViewedChange> list;
  for (const nb::handle each :
       sequence(changes, {kSetChanges, "changes"}, "a list of dicts")) {
    list.push_back(viewed_change(each));
  }
  return list;
}

}  // namespace headwise::python
