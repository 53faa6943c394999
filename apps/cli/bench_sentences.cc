#include "bench_sentences.h"

#include <nlohmann/json.hpp>

#include "read_text.h"

namespace headwise::cli {
namespace {

std::filesystem::path spec_of(const std::filesystem::path& folder) {
  return folder / "workload.json";
}

}  // namespace

bool BenchSentences::is_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(spec_of(folder), ignored);
}

Result<BenchSentences> BenchSentences::read(const std::filesystem::path& folder,
                                            const Executor& executor) {
  const auto spec = read_text("workload", spec_of(folder).string());
  if (!spec) {
    return spec.error();
  }
  const auto json = nlohmann::json::parse(*spec, nullptr, false);
  for (const char* key : {"kind", "model", "sentences"}) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_string()) {
      return Error{ErrorCode::bad_data,
                   std::string("workload.json has no text for ") + key};
    }
  }
  if (json["kind"] != "encode") {
    return Error{ErrorCode::unsupported, "workload.json: kind is " +
                                             json["kind"].dump() +
                                             ", expected \"encode\""};
  }
  auto text = read_text("sentences", json["sentences"].get<std::string>());
  if (!text) {
    return text.error();
  }
  auto model = SentenceEncoder::read(json["model"].get<std::string>());
  if (!model) {
    return model.error();
  }
  BenchSentences made(*std::move(model), *std::move(text), executor);
  made.sentences_ = lines_of(*made.text_);
  return made;
}

Status BenchSentences::run() {
  auto done = model_.encode(sentences_, {.executor = executor_});
  if (!done) {
    return done.error();
  }
  done_ = *std::move(done);
  return ok();
}

std::vector<BenchCase::Output> BenchSentences::outputs() {
  return {{"out", done_.embeddings.elements()}};
}

}  // namespace headwise::cli
