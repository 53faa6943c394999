// Any bytes are a model or an error, and a model that is read computes hidden
// states and logits, or says why not. The bytes are a GGUF file, or config.json
// and, behind a 0, model.safetensors.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "headwise/transformer/transformer.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("headwise-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file.string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string write_model(const Folder& folder, std::string_view bytes) {
  if (bytes.starts_with("GGUF")) {
    return folder.write("model.gguf", bytes);
  }
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  folder.write("config.json", bytes.substr(0, end));
  folder.write("model.safetensors",
               bytes.substr(std::min(end + 1, bytes.size())));
  return folder.path();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace headwise;
  static const Folder kFolder;
  static const Executor kAlone = Executor::with_threads(1).value();
  const auto model = Transformer::read(
      write_model(kFolder, {reinterpret_cast<const char*>(data), size}));
  if (!model) {
    require(!model.error().message().empty());
    return 0;
  }
  const TransformerShape& shape = model->shape();
  const auto last = static_cast<TokenId>(shape.vocab_size - 1);
  const RaggedTokens ids = {{0, last, 0}, {}, {last}};
  ModelPass pass{
      .see_attn_weights = [](const AttentionPlace&,
                             TensorView<const float, 4>) { return ok(); },
      .executor = &kAlone};
  pass.decoder_ids = shape.encoder_layers != 0 ? &ids : nullptr;
  const auto hidden = model->hidden(ids, pass);
  require(hidden || !hidden.error().message().empty());
  if (hidden && shape.has_logits) {
    const auto logits = model->logits(*hidden, &kAlone);
    require(logits || !logits.error().message().empty());
  }
  return 0;
}
