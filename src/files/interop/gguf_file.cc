#include "interop/gguf_file.h"

#include <cstring>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/gguf_types.h"
#include "interop/input_file.h"
#include "interop/mapped_file.h"

namespace headwise::internal::inline HEADWISE_ABI {

struct GgufFile::State {
  MappedFile file;
  FileSubject subject;
  GgufContents contents{};
};

Result<GgufFile> GgufFile::open(std::string_view operation,
                                const std::string& path) {
  HEADWISE_ASSIGN(auto input, InputFile::open(operation, path));
  const FileSubject subject = input.subject();
  if (!input.size() || *input.size() == 0) {
    return subject.bad_data("is no GGUF file");
  }
  HEADWISE_ASSIGN(auto mapped, MappedFile::map(std::move(input)));
  auto state = std::make_shared<State>(State{std::move(mapped), subject});
  const auto bytes = state->file.bytes();
  HEADWISE_ASSIGN(
      state->contents,
      read_gguf({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                subject));
  return GgufFile(std::move(state));
}

const GgufContents& GgufFile::contents() const { return state_->contents; }

Result<Array> GgufFile::read(const std::string& name) const {
  return catching_out_of_memory([&]() -> Result<Array> {
    const GgufTensor& tensor = state_->contents.tensors.at(name);
    const GgufType* const type = find_gguf_type(tensor.type);
    if (type == nullptr) {
      return state_->subject.of_entry(printable(name))
          .error(ErrorCode::unsupported,
                 message("has the type {}", Message::verbatim(std::string(
                                                gguf_type_name(tensor.type)))),
                 Message::verbatim(std::string(gguf_type_names())));
    }
    Array array{type->dtype.value_or(DType::float32), tensor.shape, {}};
    const auto* const blocks =
        reinterpret_cast<const unsigned char*>(tensor.bytes.data());
    if (type->dtype) {
      array.data.resize(tensor.bytes.size());
      std::memcpy(array.data.data(), blocks, tensor.bytes.size());
      return array;
    }
    const std::size_t count = tensor.bytes.size() / type->bytes;
    array.data.resize(count * type->elements * sizeof(float));
    auto* const to = reinterpret_cast<float*>(array.data.data());
    for (std::size_t n = 0; n < count; ++n) {
      type->widen(blocks + n * type->bytes, to + n * type->elements);
    }
    return array;
  });
}

}  // namespace headwise::internal::inline HEADWISE_ABI
