#include "served_sentences.h"

#include "headwise/train/labelled_text.h"
#include "served_arithmetic.h"
#include "shell/json.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

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
  const Json json =
      Json::parse(*spec, /*cb=*/nullptr, /*allow_exceptions=*/false);
  std::string kind;
  std::string folder_of_model;
  std::string sentences;
  const std::pair<const char*, std::string*> texts[] = {
      {"kind", &kind}, {"model", &folder_of_model}, {"sentences", &sentences}};
  for (const auto& [key, text] : texts) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) {
      return Error{
          ErrorCode::bad_data,
          {.given = std::string("workload.json has no text for ") + key}};
    }
    found->get_to(*text);
  }
  if (kind != "encode") {
    return Error{ErrorCode::unsupported,
                 {.given = "workload.json: kind is \"" + kind +
                           "\", expected \"encode\""}};
  }
  auto text = read_text("sentences", sentences);
  HEADWISE_TRY(text);
  const auto named = json.find("arithmetic");
  const auto arithmetic = served_arithmetic(
      "workload.json", named == json.end()  ? std::string()
                       : named->is_string() ? named->get<std::string>()
                                            : named->dump());
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
