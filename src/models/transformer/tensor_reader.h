// Tensors of a stack, by what they are.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/file_subject.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/projection.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"
#include "interop/param_file.h"
#include "interop/param_rows.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

inline constexpr std::string_view kReadTransformer = "read_transformer";

// A size of a tensor, with its name.
struct NamedSize {
  std::string_view name;
  std::size_t size = 0;
};

struct OpenWeight;

struct NamedRows {
  const TensorName* row = nullptr;
  NamedSize rows{};
};

// Errors of all: io_error; bad_data for a tensor that is missing, not finite or
// of another shape; out_of_memory.
class TensorReader {
 public:
  // All must outlive the reader.
  TensorReader(const ParamFile& file, const NamedStack& stack,
               std::string_view prefix, const ModelAccess& access)
      : file_(file),
        stack_(stack.stack),
        names_(stack.names),
        prefix_(prefix),
        access_(access) {}

  // Its row; null where the model has no such part.
  const TensorName* find(Part part) const;
  // Whether the file has it.
  bool has(const TensorName& row, std::string_view end,
           std::size_t layer = kNoLayer) const {
    return !found_name(row, end, layer).empty();
  }
  // bad_data, about the file.
  Error fault(Message given, Message expected) const {
    return subject().bad_data(std::move(given), std::move(expected));
  }
  Result<std::string> name_of(const TensorName& row, std::string_view end,
                              std::size_t layer = kNoLayer) const;

  template <std::size_t Rank>
  Result<Tensor<float, Rank>> tensor(
      const std::string& name, const std::array<NamedSize, Rank>& sizes) const;
  // A table, in the bytes of its file.
  Result<ParamRows> rows(const std::string& name,
                         std::span<const NamedSize> sizes) const;
  // (out, in).
  Result<Tensor<float, 2>> matrix(const TensorName& row, NamedSize out,
                                  NamedSize in,
                                  std::size_t layer = kNoLayer) const;
  // Empty where the row has none.
  Result<Tensor<float, 1>> bias(const TensorName& row, NamedSize size,
                                std::size_t layer = kNoLayer) const;
  // Ready to compute in the model's arithmetic, whatever way they lie; for
  // training they keep their parameters.
  Result<Linear> linear(const TensorName& row, NamedSize out, NamedSize in,
                        std::size_t layer = kNoLayer) const {
    return linear_of({{&row, out}}, in, layer);
  }
  // All rows of several, one after another.
  Result<Linear> linear_of(std::initializer_list<NamedRows> parts, NamedSize in,
                           std::size_t layer) const;
  // `rows` rows: row n is row `row_of(n)` of a tensor.
  Result<Linear> linear_of_some(const NamedRows& all, std::size_t rows,
                                FunctionRef<std::size_t(std::size_t)> row_of,
                                NamedSize in, std::size_t layer) const;
  Result<HeadNormParams> norm(const TensorName& row, NamedSize size,
                              std::size_t layer = kNoLayer) const;
  // The same of parameters that lie in no tensor of their own.
  Result<Linear> packed(Tensor<float, 2> weight, Tensor<float, 1> bias) const;

 private:
  FileSubject subject() const {
    return {std::string(kReadTransformer), file_.path()};
  }
  // The name in the file, which may be without the outer name; empty: none.
  std::string found_name(const TensorName& row, std::string_view end,
                         std::size_t layer) const;
  Result<OpenWeight> open(const NamedRows& named, NamedSize in,
                          std::size_t layer) const;
  // `out` rows: of one weight, row n is its row `row_of(n)`; of several, all of
  // theirs.
  Result<Linear> assembled(std::span<const OpenWeight> weights, std::size_t out,
                           FunctionRef<std::size_t(std::size_t)> row_of,
                           NamedSize in, Tensor<float, 1> bias) const;
  Status check_sizes(const std::string& name,
                     std::span<const std::size_t> shape,
                     std::span<const NamedSize> sizes) const;
  Status check_values(const std::string& name, const AnyView& view) const;

  const ParamFile& file_;
  const StackSpec& stack_;
  const std::vector<TensorName>& names_;
  std::string_view prefix_;
  const ModelAccess& access_;
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
