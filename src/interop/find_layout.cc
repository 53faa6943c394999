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
  Trial(const Layout& layout, std::string_view prefix,
        const ShapesByName& shapes)
      : layout_(layout), prefix_(prefix), shapes_(shapes) {
    for (const auto& [name, shape] : shapes) {
      for (const LayoutRow& row : layout.rows) {
        if (const auto number = number_in(name, prefix, row.name)) {
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
      fault("there is no " + name_in(prefix, layout.rows[0].name, 0));
    }
  }

  const Layout& layout() const { return layout_; }
  bool fits() const { return faults_ == 0; }
  // Tensors whose names are of the layout.
  std::size_t named() const { return named_; }
  const std::string& why_not() const { return why_not_; }
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
        fault("there is no " + name);
      }
    }
  }

  void check_tensor(const LayoutRow& row, std::size_t number,
                    const std::string& name,
                    const std::vector<std::size_t>& shape) {
    if (row.part > 0) {
      return;  // of the same tensor
    }
    const std::string has = name + " has shape " + shape_text(shape);
    if (shape.size() != rank_of(row.form) ||
        !array_bytes(shape, DType::float64)) {
      const std::size_t rank = rank_of(row.form);
      return fault(has + ", expected " + std::to_string(rank) +
                   (rank == 1 ? " axis" : " axes"));
    }
    if (row.form == ParamForm::added_key && shape[0] * shape[1] != 1) {
      return fault(has + ", expected (1, 1, features)");
    }
    const std::size_t out = sizes_of(row.form, shape).out;
    if (out % row.parts != 0) {
      return fault(has + ", expected a multiple of " +
                   std::to_string(row.parts) + " output features");
    }
    const auto weight =
        is_bias(row.form) ? outputs_of(weight_of(row), number) : std::nullopt;
    if (weight && *weight != out / row.parts) {
      fault(has + ", expected one element for each of the " +
            std::to_string(*weight * row.parts) + " output features");
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

  void fault(const std::string& what) {
    constexpr std::size_t kMostTold = 8;
    if (++faults_ <= kMostTold + 1) {
      const std::string told = faults_ <= kMostTold ? what : "and more";
      why_not_ += (why_not_.empty() ? "" : "; ") + told;
    }
  }

  const Layout& layout_;
  std::string prefix_;
  const ShapesByName& shapes_;
  std::set<std::size_t> numbers_;
  std::size_t named_ = 0;
  std::size_t faults_ = 0;
  std::string why_not_;
};

std::string names_of_layouts() {
  std::string names;
  for (const Layout& layout : layouts()) {
    names += (names.empty() ? "" : " ") + std::string(layout.name);
  }
  return names;
}

// Each layout that is asked for, under each of its prefixes.
std::vector<Trial> trials_of(const ShapesByName& shapes,
                             std::string_view wanted) {
  std::vector<Trial> trials;
  for (const Layout& layout : layouts()) {
    if (wanted.empty() || wanted == layout.name) {
      for (const std::string_view prefix : layout.prefixes) {
        trials.emplace_back(layout, prefix, shapes);
      }
    }
  }
  return trials;
}

}  // namespace

Result<LayoutMatch> find_layout(const ShapesByName& shapes,
                                const FileSubject& subject,
                                std::string_view wanted) {
  return catching_out_of_memory([&]() -> Result<LayoutMatch> {
    const std::vector<Trial> trials = trials_of(shapes, wanted);
    if (trials.empty()) {
      return Error{ErrorCode::invalid_argument,
                   ErrorDetails{.operation = subject.operation,
                                .argument = "layout",
                                .given = "is " + printable(wanted),
                                .expected = "one of " + names_of_layouts()}};
    }
    const Trial* fitting = nullptr;
    const Trial* nearest = &trials[0];
    for (const Trial& trial : trials) {
      if (trial.fits() && fitting != nullptr) {
        return subject.bad_data("fits the layouts " +
                                    std::string(fitting->layout().name) +
                                    " and " + std::string(trial.layout().name),
                                "one of them to be named");
      }
      fitting = trial.fits() ? &trial : fitting;
      nearest = trial.named() > nearest->named() ? &trial : nearest;
    }
    if (fitting == nullptr) {
      return nearest->named() == 0 && wanted.empty()
                 ? subject.bad_data("fits no layout",
                                    "one of " + names_of_layouts())
                 : subject.bad_data("does not fit the layout " +
                                    std::string(nearest->layout().name) + ": " +
                                    nearest->why_not());
    }
    return fitting->match(subject);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
