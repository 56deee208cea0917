#include "src/model/config_json.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& problem) {
  throw Error(Errc::kBadFile, fmt::format("{}: {}", path.string(), problem));
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) fail(path, "is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error({errno, std::generic_category()},
                {.operation = "read the model's config", .path = path.string()});
  std::string text(kMaxConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxConfigBytes)
    fail(path, fmt::format("more than {} bytes; no config.json is that long", kMaxConfigBytes));
  return text;
}

// The parser's callback: refuses depth, and keys that one object has twice.
class StructureCheck {
 public:
  explicit StructureCheck(const std::filesystem::path& path) : path_(path) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kMaxConfigDepth)
      fail(path_, fmt::format("nested more than {} levels deep", kMaxConfigDepth));
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
      fail(path_, fmt::format("key '{}' is there twice", parsed.get<std::string>()));
    return true;
  }

 private:
  const std::filesystem::path& path_;
  std::vector<std::set<std::string>> keys_;  // of each open object
};

}  // namespace

Json read_json_object(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  StructureCheck check(path);
  try {
    Json json = Json::parse(text, [&check](int depth, Json::parse_event_t event, Json& parsed) {
      return check(depth, event, parsed);
    });
    if (!json.is_object()) fail(path, "not a JSON object");
    return json;
  } catch (const Json::parse_error& error) {
    fail(path, fmt::format("not JSON, near byte {}", error.byte));
  } catch (const Json::out_of_range& error) {  // a number like 1e999
    fail(path, fmt::format("not JSON: {}", error.what()));
  }
}

}  // namespace ebbtide::model
