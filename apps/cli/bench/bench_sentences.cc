#include "bench_sentences.h"

#include "json/json.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kDeepest = 4;

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
  HEADWISE_TRY(spec);
  const Json json = Json::parse(*spec, kMostBytes, kDeepest).value_or(Json());
  std::string kind;
  std::string folder_of_model;
  std::string sentences;
  const std::pair<const char*, std::string*> texts[] = {
      {"kind", &kind}, {"model", &folder_of_model}, {"sentences", &sentences}};
  for (const auto& [key, text] : texts) {
    const Json* const found = json.find(key);
    if (found == nullptr || !found->get(*text)) {
      return Error{
          ErrorCode::bad_data,
          {.given = std::string("workload.json has no text for ") + key}};
    }
  }
  if (kind != "encode") {
    return Error{ErrorCode::unsupported,
                 {.given = "workload.json: kind is \"" + kind +
                           "\", expected \"encode\""}};
  }
  auto text = read_text("sentences", sentences);
  HEADWISE_TRY(text);
  auto model = SentenceEncoder::read(folder_of_model);
  HEADWISE_TRY(model);
  BenchSentences made(*std::move(model), *std::move(text), executor);
  made.sentences_ = lines_of(*made.text_);
  return made;
}

Status BenchSentences::run() {
  auto done = model_.encode(sentences_, {.executor = executor_});
  HEADWISE_TRY(done);
  done_ = *std::move(done);
  return ok();
}

std::vector<BenchCase::Output> BenchSentences::outputs() {
  return {{"out", done_.embeddings.elements()}};
}

}  // namespace headwise::cli
