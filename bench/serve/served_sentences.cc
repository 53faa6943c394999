#include "served_sentences.h"

#include "headwise/json/json.h"
#include "headwise/train/labelled_text.h"
#include "served_arithmetic.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kMostSpecBytes = std::size_t{1} << 20;
constexpr int kDeepestSpec = 8;

std::filesystem::path spec_of(const std::filesystem::path& folder) {
  return folder / "workload.json";
}

}  // namespace

bool ServedSentences::is_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(spec_of(folder), ignored);
}

Result<ServedSentences> ServedSentences::read(
    const std::filesystem::path& folder, const Executor& executor) {
  const auto spec = read_text("workload", spec_of(folder).string());
  HEADWISE_TRY(spec);
  const auto json = Json::parse(*spec, kMostSpecBytes, kDeepestSpec);
  std::string kind;
  std::string folder_of_model;
  std::string sentences;
  const std::pair<const char*, std::string*> texts[] = {
      {"kind", &kind}, {"model", &folder_of_model}, {"sentences", &sentences}};
  for (const auto& [key, text] : texts) {
    const Json* const found = json ? json->find(key) : nullptr;
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
  std::string name;
  if (const Json* const named = json->find("arithmetic");
      named != nullptr && !named->get(name)) {
    name = named->dump();
  }
  const auto arithmetic = served_arithmetic("workload.json", name);
  HEADWISE_TRY(arithmetic);
  auto model =
      SentenceEncoder::read(folder_of_model, {.arithmetic = *arithmetic});
  HEADWISE_TRY(model);
  ServedSentences made(*std::move(model), *std::move(text), executor);
  made.sentences_ = text_lines(*made.text_);
  return made;
}

Status ServedSentences::run() {
  auto done = model_.encode(sentences_, {.executor = executor_});
  HEADWISE_TRY(done);
  done_ = *std::move(done);
  return ok();
}

std::vector<BenchCase::Output> ServedSentences::outputs() {
  return {{"out", done_.embeddings.elements()}};
}

}  // namespace headwise::cli
