#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/layouts.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"
#include "interop/layout_forms.h"
#include "interop/layout_names.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// What a layout makes of a file under one prefix.
class Trial {
 public:
  Trial(const Layout& layout, std::string prefix, const ShapesByName& shapes)
      : layout_(layout), prefix_(std::move(prefix)), shapes_(shapes) {
    const std::string start = prefix_.substr(0, prefix_.find(kLayerNumber));
    for (auto at = shapes.lower_bound(start);
         at != shapes.end() && at->first.starts_with(start); ++at) {
      for (const LayoutRow& row : layout.rows) {
        if (const auto number = number_in(at->first, prefix_, row.name)) {
          numbers_.insert(*number);
          ++named_;
          break;
        }
      }
    }
    for (const std::size_t number : numbers_) {
      check_layer(number);
    }
    if (numbers_.empty()) {
      fault(
          message("there is no {}", name_in(prefix_, layout.rows[0].name, 0)));
    }
  }

  const Layout& layout() const { return layout_; }
  const std::string& prefix() const { return prefix_; }
  bool fits() const { return faults_ == 0; }
  // Tensors whose names are of the layout.
  std::size_t named() const { return named_; }
  const Message& why_not() const { return why_not_; }
  LayoutMatch match(const FileSubject& subject) const {
    return {&layout_, prefix_, {numbers_.begin(), numbers_.end()}, subject};
  }

 private:
  void check_layer(std::size_t number) {
    for (const LayoutRow& row : layout_.rows) {
      const std::string name = name_in(prefix_, row.name, number);
      const auto found = shapes_.find(name);
      if (found != shapes_.end()) {
        check_tensor(row, number, name, found->second);
      } else if (row.required && row.part == 0) {
        fault(message("there is no {}", name));
      }
    }
  }

  void check_tensor(const LayoutRow& row, std::size_t number,
                    const std::string& name,
                    const std::vector<std::size_t>& shape) {
    if (row.part > 0) {
      return;  // of the same tensor
    }
    const Message has = message("{} has shape {}", name, shape_text(shape));
    if (shape.size() != rank_of(row.form) ||
        !array_bytes(shape, DType::float64)) {
      const std::size_t rank = rank_of(row.form);
      return fault(
          message(rank == 1 ? "{}, expected {} axis" : "{}, expected {} axes",
                  has, rank));
    }
    if (row.form == ParamForm::added_key && shape[0] * shape[1] != 1) {
      return fault(message("{}, expected (1, 1, features)", has));
    }
    const std::size_t out = sizes_of(row.form, shape).out;
    if (out % row.parts != 0) {
      return fault(message("{}, expected a multiple of {} output features", has,
                           row.parts));
    }
    const auto weight =
        is_bias(row.form) ? outputs_of(weight_of(row), number) : std::nullopt;
    if (weight && *weight != out / row.parts) {
      fault(
          message("{}, expected one element for each of the {} output features",
                  has, *weight * row.parts));
    }
  }

  // The row of the weight that this bias belongs to.
  const LayoutRow* weight_of(const LayoutRow& bias) const {
    const std::string_view stem = bias.param.substr(0, bias.param.find('.'));
    const auto found = std::ranges::find_if(layout_.rows, [&](const auto& row) {
      return row.param.starts_with(stem) && row.param.ends_with(".weight");
    });
    return found == layout_.rows.end() ? nullptr : &*found;
  }

  // How many output features this row has, if its tensor is there and right.
  std::optional<std::size_t> outputs_of(const LayoutRow* row,
                                        std::size_t number) const {
    const auto found = row == nullptr
                           ? shapes_.end()
                           : shapes_.find(name_in(prefix_, row->name, number));
    if (found == shapes_.end() || found->second.size() != rank_of(row->form) ||
        !array_bytes(found->second, DType::float64)) {
      return std::nullopt;
    }
    return sizes_of(row->form, found->second).out / row->parts;
  }

  void fault(const Message& what) {
    constexpr std::size_t kMostTold = 8;
    if (++faults_ <= kMostTold + 1) {
      const Message told = faults_ <= kMostTold ? what : "and more";
      why_not_ = why_not_.empty() ? told : message("{}; {}", why_not_, told);
    }
  }

  const Layout& layout_;
  std::string prefix_;
  const ShapesByName& shapes_;
  std::set<std::size_t> numbers_;
  std::size_t named_ = 0;
  std::size_t faults_ = 0;
  Message why_not_;
};

// The first of these prefixes.
template <class Prefixes>
std::string prefix_list(const Prefixes& prefixes) {
  constexpr std::size_t kMostTold = 8;
  std::string text;
  std::size_t told = 0;
  for (const std::string& prefix : prefixes) {
    if (++told > kMostTold) {
      return text + ", ..";
    }
    text += told == 1 ? "" : ", ";
    text += prefix.empty() ? "\"\"" : printable(prefix);
  }
  return text;
}

bool is_wanted(const Layout& layout, std::string_view wanted) {
  return wanted.empty() || wanted == layout.name;
}

// Each layout that is asked for, under each of its prefixes or, where one is
// given, behind those in the file that begin with it.
std::vector<Trial> trials_of(const ShapesByName& shapes,
                             std::string_view wanted,
                             const std::optional<std::string_view>& given) {
  std::vector<Trial> trials;
  for (const Layout& layout : layouts()) {
    std::set<std::string> prefixes;
    if (!given) {
      prefixes.insert(layout.prefixes.begin(), layout.prefixes.end());
    } else {
      prefixes = prefixes_in(shapes, layout);
      std::erase_if(prefixes, [&](const std::string& prefix) {
        return given->empty() || !prefix.starts_with(*given);
      });
      prefixes.emplace(*given);
    }
    for (const std::string& prefix : prefixes) {
      if (is_wanted(layout, wanted)) {
        trials.emplace_back(layout, prefix, shapes);
      }
    }
  }
  return trials;
}

bool does_fit(const Trial& trial) { return trial.fits(); }

// Behind the prefixes that the layouts do not know, unless a layout has names
// behind one that it does.
void add_other_prefixes(const ShapesByName& shapes, std::string_view wanted,
                        std::vector<Trial>& trials) {
  for (const Layout& layout : layouts()) {
    const bool is_known = std::ranges::any_of(trials, [&](const Trial& trial) {
      return &trial.layout() == &layout && trial.named() > 0;
    });
    if (is_known || !is_wanted(layout, wanted)) {
      continue;
    }
    for (const std::string& prefix : prefixes_in(shapes, layout)) {
      trials.emplace_back(layout, prefix, shapes);
    }
  }
}

// Several fit.
Error ambiguous(const FileSubject& subject,
                const std::vector<const Trial*>& fitting) {
  const Trial& a = *fitting[0];
  const Trial& b = *fitting[1];
  if (&a.layout() != &b.layout()) {
    return subject.bad_data(
        message("fits the layouts {} and {}", a.layout().name, b.layout().name),
        "one of them to be named");
  }
  std::vector<std::string> prefixes;
  for (const Trial* trial : fitting) {
    prefixes.push_back(trial->prefix());
  }
  return subject.bad_data(
      message("has layers of the layout {} behind several prefixes: {}",
              a.layout().name, prefix_list(prefixes)),
      "one of them to be named");
}

// None fits.
Error no_layout(const FileSubject& subject, const ShapesByName& shapes,
                const std::vector<Trial>& trials, std::string_view wanted,
                const std::optional<std::string_view>& prefix) {
  const Trial& nearest = *std::ranges::max_element(trials, {}, &Trial::named);
  std::set<std::string> seen;
  for (const Layout& layout : layouts()) {
    seen.merge(prefixes_in(shapes, layout));
  }
  if (prefix && nearest.named() == 0 && !seen.empty()) {
    return subject.bad_data(
        message("has no layer behind the prefix {}", printable(*prefix)),
        message("one of {}", prefix_list(seen)));
  }
  if (nearest.named() > 0 || !wanted.empty()) {
    return subject.bad_data(message("does not fit the layout {}: {}",
                                    nearest.layout().name, nearest.why_not()));
  }
  return subject.bad_data(
      "fits no layout",
      message("one of {}", list_text(layouts(), " ", &Layout::name)));
}

}  // namespace

Result<LayoutMatch> find_layout(const ShapesByName& shapes,
                                const FileSubject& subject,
                                std::string_view wanted,
                                std::optional<std::string_view> prefix) {
  return catching_out_of_memory([&]() -> Result<LayoutMatch> {
    std::vector<Trial> trials = trials_of(shapes, wanted, prefix);
    if (trials.empty()) {
      return argument_error(
          subject.operation, "layout", message("is {}", printable(wanted)),
          message("one of {}", list_text(layouts(), " ", &Layout::name)));
    }
    if (!prefix && std::ranges::none_of(trials, does_fit)) {
      add_other_prefixes(shapes, wanted, trials);
    }
    std::vector<const Trial*> fitting;
    for (const Trial& trial : trials) {
      if (does_fit(trial)) {
        fitting.push_back(&trial);
      }
    }
    if (fitting.empty()) {
      return no_layout(subject, shapes, trials, wanted, prefix);
    }
    if (fitting.size() > 1) {
      return ambiguous(subject, fitting);
    }
    return fitting[0]->match(subject);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
