#include <algorithm>
#include <cmath>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/file_subject.h"
#include "headwise/json/json.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/text_model.h"
#include "headwise/prune/importance.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "models/model_digest.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kImportanceFile = "read_importance";
constexpr std::string_view kFormat = "headwise-importance";
constexpr int kVersion = 1;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 22;
constexpr int kDeepestFile = 6;

Json order_json(const std::vector<HeadId>& order) {
  Json json = Json::array();
  for (const auto& [layer, head] : order) {
    json.push_back({layer, head});
  }
  return json;
}

// Reads one file; the first error stays.
class Reader {
 public:
  Reader(const std::string& path, const Json& json)
      : subject_{std::string(kImportanceFile), path}, json_(json) {}

  const Status& status() const { return status_; }

  template <class T>
  void get(const std::string& key, Message expected, T& into) {
    if (!status_) {
      return;
    }
    const Json* const found = json_.find(key);
    if (found == nullptr) {
      status_ = fault(message("has no {}", key), expected);
    } else if (!found->get(into)) {
      unexpected(key, *found, expected);
    }
  }

  void scores(std::vector<std::vector<double>>& into) {
    constexpr std::string_view kExpected = "a finite number for each head";
    const Json* const found = json_.find("scores");
    if (found == nullptr || !found->is_array()) {
      status_ = fault("has no scores", kExpected);
      return;
    }
    for (std::size_t n = 0; status_ && n < found->size(); ++n) {
      auto& layer = into.emplace_back();
      for (const Json& given : (*found)[n]) {
        double score = 0;
        if (!given.get(score) || !std::isfinite(score)) {
          unexpected("scores[" + std::to_string(n) + "][" +
                         std::to_string(layer.size()) + "]",
                     given, "a finite number");
          return;
        }
        layer.push_back(score);
      }
    }
  }

  void order(std::vector<HeadId>& into) {
    const Json* const found = json_.find("order");
    if (!status_ || found == nullptr) {
      return;
    }
    for (const Json& id : *found) {
      std::vector<std::size_t> pair;
      if (!id.get(pair) || pair.size() != 2) {
        unexpected("order[" + std::to_string(into.size()) + "]", id,
                   "[layer, head]");
        return;
      }
      into.push_back({pair[0], pair[1]});
    }
  }

  void unexpected(std::string_view key, const Json& given, Message expected) {
    constexpr std::size_t kMost = 60;
    std::string text = given.dump();
    if (text.size() > kMost) {
      text.replace(kMost, std::string::npos, "..");
    }
    status_ = fault(message("is {}", text), expected, key);
  }

  Error fault(Message given, Message expected = {},
              std::string_view key = "") const {
    return subject_.of_entry(std::string(key))
        .bad_data(std::move(given), std::string(expected));
  }

 private:
  FileSubject subject_;
  const Json& json_;
  Status status_ = ok();
};

// The heads in the order of their scores, lowest first.
std::vector<HeadId> order_of(const std::vector<std::vector<std::size_t>>& heads,
                             const std::vector<std::vector<double>>& scores) {
  std::vector<std::pair<double, HeadId>> all;
  for (std::size_t n = 0; n < heads.size(); ++n) {
    for (std::size_t at = 0; at < heads[n].size(); ++at) {
      all.push_back({scores[n][at], {n, heads[n][at]}});
    }
  }
  std::ranges::sort(all);
  std::vector<HeadId> order;
  for (const auto& [score, id] : all) {
    order.push_back(id);
  }
  return order;
}

// Whether scores and order have these heads, each once.
Status check_importance(const Reader& reader, const ImportanceFile& file) {
  const auto& scores = file.importance.scores;
  std::vector<HeadId> all;
  for (std::size_t n = 0; n < file.heads.size(); ++n) {
    if (n >= scores.size() || scores[n].size() != file.heads[n].size()) {
      const std::size_t given = n < scores.size() ? scores[n].size() : 0;
      return reader.fault(message("has {} scores", given),
                          message("{}, as heads", file.heads[n].size()),
                          "scores[" + std::to_string(n) + "]");
    }
    for (const std::size_t head : file.heads[n]) {
      all.push_back({n, head});
    }
  }
  if (scores.size() != file.heads.size()) {
    return reader.fault(message("has scores of {} layers", scores.size()),
                        std::to_string(file.heads.size()));
  }
  std::vector<HeadId> order = file.importance.order;
  std::ranges::sort(order);
  std::ranges::sort(all);
  if (!order.empty() && order != all) {
    return reader.fault(message("has {} heads", order.size()),
                        message("each of the {} heads once", all.size()),
                        "order");
  }
  return ok();
}

Result<ImportanceFile> parse(std::string_view text, const std::string& path) {
  const Json json =
      Json::parse(text, kMostFileBytes, kDeepestFile).value_or(Json());
  Reader reader(path, json);
  if (const Json* const format = json.find("format");
      format == nullptr || *format != Json(kFormat)) {
    return reader.fault("is not a score file",
                        "the output of headwise importance --out");
  }
  ImportanceFile file;
  int version = 0;
  reader.get("version", "1", version);
  reader.get("method", "the name of a method", file.method);
  reader.get("loss", "the name of a loss", file.loss);
  reader.get("examples", "a number", file.examples);
  reader.get("max_tokens", "a number", file.max_tokens);
  reader.get("heads", "the numbers of each layer's heads", file.heads);
  if (!reader.status()) {
    return reader.status().error();
  }
  if (version != kVersion) {
    return reader.fault(message("is {}", version), "1", "version");
  }
  const Json* const model = json.find("model");
  if (model == nullptr || !model->is_object()) {
    return reader.fault("has no model", "an object");
  }
  Reader of_model(path, *model);
  of_model.get("sha256", "the SHA-256 of the parameters", file.model_sha256);
  of_model.get("num_heads", "a number", file.num_heads);
  reader.scores(file.importance.scores);
  reader.order(file.importance.order);
  for (const Status& s :
       {of_model.status(), reader.status(), check_importance(reader, file)}) {
    HEADWISE_TRY(s);
  }
  if (file.importance.order.empty()) {
    file.importance.order = order_of(file.heads, file.importance.scores);
  }
  return file;
}

}  // namespace

std::string importance_json(const ImportanceFile& file) {
  const Json json = {
      {"examples", file.examples},
      {"format", kFormat},
      {"loss", file.loss},
      {"max_tokens", file.max_tokens},
      {"method", file.method},
      {"model", {{"num_heads", file.num_heads}, {"sha256", file.model_sha256}}},
      {"seed", file.seed},
      {"share_a_round", file.share_a_round},
      {"version", kVersion}};
  std::string text = json.dump(1);
  text.resize(text.size() - 2);  // "\n}"
  const auto add = [&](std::string_view key, const Json& lists) {
    text += ",\n \"" + std::string(key) + "\": [";
    for (std::size_t n = 0; n < lists.size(); ++n) {
      text += (n == 0 ? "\n  " : ",\n  ") + lists[n].dump();
    }
    text += "\n ]";
  };
  add("heads", Json(file.heads));
  add("scores", Json(file.importance.scores));
  return text + ",\n \"order\": " + order_json(file.importance.order).dump() +
         "\n}\n";
}

Status write_importance(const std::string& path, const ImportanceFile& file) {
  return catching_out_of_memory([&] {
    const std::string json = importance_json(file);
    return write_file_atomically(path, json);
  });
}

Result<ImportanceFile> parse_importance(std::string_view text,
                                        const std::string& path) {
  return catching_out_of_memory([&] { return parse(text, path); });
}

Result<ImportanceFile> read_importance(const std::string& path) try {
  HEADWISE_ASSIGN(auto file, InputFile::open(kImportanceFile, path));
  HEADWISE_ASSIGN(const auto bytes,
                  read_bytes(file, kMostFileBytes + 1, /*certain=*/false));
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
               path);
} catch (...) {
  return caught_out_of_memory();
}

Status check_importance(const ImportanceFile& file, const std::string& path,
                        const SentenceEncoder& encoder) try {
  constexpr std::size_t kDigits = 12;  // enough to tell two models apart
  const auto bad = [&](Message given, Message expected = {}) {
    return FileSubject{std::string(kImportanceFile), path}.bad_data(
        message("has scores of another model: {}", given), std::move(expected));
  };
  HEADWISE_ASSIGN(const auto digest, digest_of_params(encoder));
  if (file.model_sha256 != digest) {
    return bad(message("its parameters have the SHA-256 {}..",
                       file.model_sha256.substr(0, kDigits)),
               digest.substr(0, kDigits) + "..");
  }
  return file.heads == heads_left(encoder.encoder())
             ? ok()
             : bad("its layers have other heads");
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
