#include "headwise/interop/checkpoint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCheckpoint = "read_checkpoint";
constexpr std::string_view kConfig = "config/";
constexpr std::string_view kParam = "param/";
constexpr std::string_view kOptimizer = "optimizer/";
constexpr std::string_view kRecord = "record/";

// ---- Views of what to write. ----

template <class T>
AnyView one_number(const T& number, DType dtype) {
  return {&number, dtype, {}, {}};
}

AnyView row_of(const void* data, std::size_t count, DType dtype) {
  return {data, dtype, std::array{count}, std::array<std::ptrdiff_t, 1>{1}};
}

AnyView view_of(const ModelConfig::mapped_type& setting) {
  if (const auto* const whole = std::get_if<std::int64_t>(&setting)) {
    return one_number(*whole, DType::int64);
  }
  if (const auto* const real = std::get_if<double>(&setting)) {
    return one_number(*real, DType::float64);
  }
  const auto& text = std::get<std::string>(setting);
  return row_of(text.data(), text.size(), DType::uint8);
}

// ---- The entries of a file that is read. ----

Message holds(const Array& array) {
  return message("holds {} elements", name_of(array.dtype));
}

// Takes the entries of an archive one by one; what is left over is an error.
class Entries {
 public:
  Entries(NamedArrays arrays, const std::string& path)
      : arrays_(std::move(arrays)), file_{std::string(kCheckpoint), path} {}

  Error bad(std::string_view entry, Message given,
            Message expected = {}) const {
    return file_.of_entry(printable(entry))
        .bad_data(std::move(given), std::move(expected));
  }

  // A single number of this type.
  template <class T>
  Result<T> number(const std::string& name, DType dtype) {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) {
      return file_.bad_data(message("is not a checkpoint: it has no {}", name));
    }
    const Array array = std::move(found->second);
    arrays_.erase(found);
    HEADWISE_TRY(check_type(name, array, dtype, 0));
    T value{};
    std::memcpy(&value, array.data.data(), sizeof value);
    return value;
  }

  // The entries whose names begin with `prefix`, by the rest of their names.
  NamedArrays take(std::string_view prefix) {
    NamedArrays taken;
    for (auto at = arrays_.lower_bound(std::string(prefix));
         at != arrays_.end() && at->first.starts_with(prefix);
         at = arrays_.erase(at)) {
      taken.emplace(at->first.substr(prefix.size()), std::move(at->second));
    }
    return taken;
  }

  Status check_type(std::string_view name, const Array& array, DType dtype,
                    std::optional<std::size_t> rank) const {
    if (array.dtype != dtype) {
      return bad(name, holds(array), std::string(name_of(dtype)));
    }
    if (rank && array.shape.size() != *rank) {
      return bad(name, message("has shape {}", shape_text(array.shape)),
                 *rank == 0 ? "one number" : message("{} axes", *rank));
    }
    return ok();
  }

  Status check_numbers(std::string_view name, const Array& array, DType dtype,
                       std::optional<std::size_t> rank) const {
    HEADWISE_TRY(check_type(name, array, dtype, rank));
    Status s = check_finite(array, kCheckpoint, name);
    return s ? s : file_.of_entry(printable(name)).blame_here(s.error());
  }

  // The entries that are left.
  Status check_empty() const {
    return arrays_.empty()
               ? ok()
               : bad(arrays_.begin()->first, "is not an entry of a checkpoint");
  }

 private:
  NamedArrays arrays_;
  FileSubject file_;
};

template <class T>
std::vector<T> elements_of(const Array& array) {
  std::vector<T> elements(array.data.size() / sizeof(T));
  std::ranges::copy(array.data,
                    std::as_writable_bytes(std::span(elements)).begin());
  return elements;
}

Result<ModelConfig> config_of(Entries& entries) {
  ModelConfig config;
  for (const auto& [name, array] : entries.take(kConfig)) {
    const std::string entry = std::string(kConfig) + name;
    if (array.dtype == DType::uint8) {
      HEADWISE_TRY(entries.check_type(entry, array, DType::uint8, 1));
      const auto text = elements_of<char>(array);
      config.emplace(name, std::string(text.begin(), text.end()));
      continue;
    }
    if (array.dtype != DType::int64 && array.dtype != DType::float64) {
      return entries.bad(entry, holds(array), "int64, float64 or uint8");
    }
    HEADWISE_TRY(entries.check_numbers(entry, array, array.dtype, 0));
    if (array.dtype == DType::int64) {
      config.emplace(name, elements_of<std::int64_t>(array).front());
    } else {
      config.emplace(name, elements_of<double>(array).front());
    }
  }
  return config;
}

std::size_t count_elements(const Array& array) {
  return array.data.size() / size_of(array.dtype);
}

// `name` is "exp_avg/w_q.weight": of a parameter that is there, of its size.
Status check_owner(const Entries& entries, const std::string& name,
                   const Array& array, const NamedArrays& params) {
  const std::string entry = std::string(kOptimizer) + name;
  const std::size_t slash = name.find('/');
  const auto owner = slash == std::string::npos
                         ? params.end()
                         : params.find(name.substr(slash + 1));
  if (owner == params.end()) {
    return entries.bad(entry, "belongs to no parameter of this checkpoint");
  }
  HEADWISE_TRY(entries.check_numbers(entry, array, DType::float32, 1));
  const std::size_t size = count_elements(owner->second);
  if (array.shape.front() != size) {
    return entries.bad(entry, message("has shape {}", shape_text(array.shape)),
                       message("({}), the elements of {}", size, owner->first));
  }
  return ok();
}

Result<OptimizerState> optimizer_of(Entries& entries,
                                    const NamedArrays& params) {
  HEADWISE_ASSIGN(const auto step,
                  entries.number<std::uint64_t>(
                      std::string(kOptimizer) + "step", DType::uint64));
  OptimizerState state{step, {}};
  for (const auto& [name, array] : entries.take(kOptimizer)) {
    HEADWISE_TRY(check_owner(entries, name, array, params));
    HEADWISE_ASSIGN(auto values, to_float<1>(array, kCheckpoint, name));
    state.values.emplace(name, std::move(values));
  }
  return state;
}

Result<Checkpoint> checkpoint_of(Entries& entries) {
  HEADWISE_ASSIGN(const auto format,
                  entries.number<std::int64_t>("format", DType::int64));
  if (format != kCheckpointFormat) {
    return entries.bad("format", message("is {}", format),
                       std::to_string(kCheckpointFormat));
  }
  HEADWISE_ASSIGN(const auto step,
                  entries.number<std::uint64_t>("step", DType::uint64));
  HEADWISE_ASSIGN(const auto seed,
                  entries.number<std::uint64_t>("seed", DType::uint64));
  Checkpoint checkpoint{step, Seed{seed}, {}, entries.take(kParam), {}, {}};
  for (const auto& [name, array] : checkpoint.params) {
    HEADWISE_TRY(entries.check_numbers(std::string(kParam) + name, array,
                                       DType::float32, {}));
  }
  HEADWISE_ASSIGN(auto config, config_of(entries));
  HEADWISE_ASSIGN(auto optimizer, optimizer_of(entries, checkpoint.params));
  checkpoint.config = std::move(config);
  checkpoint.optimizer = std::move(optimizer);
  for (const auto& [name, array] : entries.take(kRecord)) {
    HEADWISE_TRY(entries.check_type(std::string(kRecord) + name, array,
                                    DType::float64, 1));
    checkpoint.records.emplace(name, elements_of<double>(array));
  }
  HEADWISE_TRY(entries.check_empty());
  return checkpoint;
}

// ---- Another model. ----

std::string setting_text(const ModelConfig::mapped_type& setting) {
  if (const auto* const whole = std::get_if<std::int64_t>(&setting)) {
    return std::to_string(*whole);
  }
  if (const auto* const real = std::get_if<double>(&setting)) {
    return number_text(*real);
  }
  return printable(std::get<std::string>(setting));
}

Error another_model(const std::string& path, Message fault,
                    Message expected = {}) {
  return FileSubject{std::string(kCheckpoint), path}.bad_data(
      message("is of another model: {}", fault), std::move(expected));
}

Error lacks(const std::string& path, const std::string& entry) {
  return another_model(path, message("it has no {}", printable(entry)));
}

Status check_config(const ModelConfig& given, const std::string& path,
                    const ModelConfig& expected) {
  for (const auto& [name, setting] : expected) {
    const auto found = given.find(name);
    if (found == given.end()) {
      return lacks(path, name);
    }
    if (found->second != setting) {
      return another_model(
          path,
          message("{} is {}", printable(name), setting_text(found->second)),
          setting_text(setting));
    }
  }
  for (const auto& [name, setting] : given) {
    if (!expected.contains(name)) {
      return another_model(
          path, message("{} is {}", printable(name), setting_text(setting)),
          "no such setting");
    }
  }
  return ok();
}

}  // namespace

Status write_checkpoint(const std::string& path,
                        const CheckpointView& checkpoint) {
  return catching_out_of_memory([&]() -> Status {
    const OptimizerState none;
    const OptimizerState& optimizer =
        checkpoint.optimizer == nullptr ? none : *checkpoint.optimizer;
    std::map<std::string, AnyView> entries;
    entries.emplace("format", one_number(kCheckpointFormat, DType::int64));
    entries.emplace("step", one_number(checkpoint.step, DType::uint64));
    entries.emplace("seed", one_number(checkpoint.seed.value, DType::uint64));
    entries.emplace("optimizer/step",
                    one_number(optimizer.step, DType::uint64));
    for (const auto& [name, setting] : checkpoint.config) {
      entries.emplace(std::string(kConfig) + name, view_of(setting));
    }
    for (const auto& [name, view] : checkpoint.params) {
      entries.emplace(std::string(kParam) + name, view);
    }
    for (const auto& [name, values] : optimizer.values) {
      entries.emplace(std::string(kOptimizer) + name, values);
    }
    for (const auto& [name, values] : checkpoint.records) {
      entries.emplace(std::string(kRecord) + name,
                      row_of(values.data(), values.size(), DType::float64));
    }
    return write_npz(path, entries);
  });
}

Result<Checkpoint> read_checkpoint(const std::string& path) {
  return catching_out_of_memory([&]() -> Result<Checkpoint> {
    HEADWISE_ASSIGN(auto arrays, read_npz(path));
    Entries entries(std::move(arrays), path);
    return checkpoint_of(entries);
  });
}

Status check_model(const Checkpoint& checkpoint, const std::string& path,
                   const ModelConfig& config, const ParamShapes& params) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_config(checkpoint.config, path, config));
    for (const auto& [name, shape] : params) {
      const auto found = checkpoint.params.find(name);
      if (found == checkpoint.params.end()) {
        return lacks(path, name);
      }
      if (found->second.shape != shape) {
        return another_model(path,
                             message("{} has shape {}", printable(name),
                                     shape_text(found->second.shape)),
                             shape_text(shape));
      }
    }
    for (const auto& [name, array] : checkpoint.params) {
      if (!params.contains(name)) {
        return another_model(path, message("{} is there", printable(name)),
                             "no such parameter");
      }
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
