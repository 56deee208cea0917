// JSON of a header, parsed as a stream: nothing is built but the entries themselves.
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "src/model/safetensors_header.hpp"

namespace ebbtide::model {
namespace {

using Json = nlohmann::json;
constexpr std::string_view kMetadataKey = "__metadata__";

enum class Inside { kNothing, kHeader, kMetadata, kTensor, kShape, kOffsets, kDone };
enum class Field { kNone, kDtype, kShape, kOffsets };

class HeaderParser final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderParser(const std::string& path) : path_(path) {}
  Header take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (inside_ == Inside::kNothing) {
      inside_ = Inside::kHeader;
    } else if (inside_ == Inside::kHeader) {
      inside_ = name_ == kMetadataKey ? Inside::kMetadata : Inside::kTensor;
      if (inside_ == Inside::kTensor) begin_tensor();
    } else {
      fail("an object where there can be none");
    }
    return true;
  }

  bool end_object() override {
    if (inside_ == Inside::kTensor) end_tensor();
    inside_ = inside_ == Inside::kHeader ? Inside::kDone : Inside::kHeader;
    return true;
  }

  bool key(std::string& key) override {
    if (inside_ == Inside::kHeader) {
      name_ = key;
      if (!names_.insert(key).second) fail("is there twice");
    } else if (inside_ == Inside::kMetadata) {
      metadata_key_ = key;
      if (header_.metadata.contains(key)) fail(fmt::format("key '{}' is there twice", key));
    } else {
      field_ = field_of(key);
      bool& seen = seen_[static_cast<std::size_t>(field_)];
      if (seen) fail(fmt::format("key '{}' is there twice", key));
      seen = true;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (inside_ != Inside::kTensor || field_ == Field::kDtype)
      fail("an array where there can be none");
    inside_ = field_ == Field::kShape ? Inside::kShape : Inside::kOffsets;
    return true;
  }

  bool end_array() override {
    if (inside_ == Inside::kOffsets && offsets_ != 2)
      fail(fmt::format("{} data_offsets instead of 2", offsets_));
    inside_ = Inside::kTensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (inside_ == Inside::kShape) {
      add_dimension(value);
    } else if (inside_ == Inside::kOffsets) {
      add_offset(value);
    } else {
      fail(fmt::format("{} where there can be no number", value));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (inside_ == Inside::kMetadata) {
      header_.metadata.emplace(metadata_key_, value);
    } else if (inside_ == Inside::kTensor && field_ == Field::kDtype) {
      set_dtype(value);
    } else {
      fail("a string where there can be none");
    }
    return true;
  }

  bool number_integer(number_integer_t value) override {
    fail(fmt::format("{} is negative", value));
  }
  bool number_float(number_float_t, const std::string& text) override {
    fail(fmt::format("{} is no integer of 64 bits", text.substr(0, kShown)));
  }
  bool null() override { fail("null where there can be none"); }
  bool boolean(bool) override { fail("true or false where there can be neither"); }
  bool binary(Json::binary_t&) override { fail("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const bool range = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    throw Error(Errc::kBadFile, fmt::format("{}: the header is not JSON, near its byte {}{}", path_,
                                            position, range ? " (a number out of range)" : ""));
  }

 private:
  static constexpr std::size_t kShown = 80;

  [[noreturn]] void fail(const std::string& problem) const {
    const std::string where =
        inside_ == Inside::kNothing || inside_ == Inside::kDone || name_.empty()
            ? "the header"
            : fmt::format("tensor '{}'", name_.substr(0, kShown));
    throw Error(Errc::kBadFile, fmt::format("{}: {}: {}", path_, where, problem));
  }

  Field field_of(const std::string& key) const {
    if (key == "dtype") return Field::kDtype;
    if (key == "shape") return Field::kShape;
    if (key == "data_offsets") return Field::kOffsets;
    fail(fmt::format("unknown key '{}'", key.substr(0, kShown)));
  }

  void begin_tensor() {
    entry_ = {};
    entry_.name = name_;
    seen_ = {};
    offsets_ = 0;
    field_ = Field::kNone;
  }

  void end_tensor() {
    constexpr std::array<std::string_view, 4> kNames{"", "dtype", "shape", "data_offsets"};
    for (std::size_t i = 1; i < kNames.size(); ++i) {
      if (!seen_[i]) fail(fmt::format("no {}", kNames[i]));
    }
    header_.entries.push_back(std::move(entry_));
  }

  void add_dimension(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(fmt::format("dimension {} does not fit 63 bits", value));
    if (entry_.shape.size() == kMaxRank) fail(fmt::format("more than {} dimensions", kMaxRank));
    entry_.shape.push_back(static_cast<std::int64_t>(value));
  }

  void add_offset(std::uint64_t value) {
    if (offsets_ == 2) fail("more than 2 data_offsets");
    (offsets_ == 0 ? entry_.begin_bytes : entry_.end_bytes) = value;
    ++offsets_;
  }

  void set_dtype(const std::string& text) {
    for (int i = 0; i <= static_cast<int>(TensorDType::kC64); ++i) {
      const auto dtype = static_cast<TensorDType>(i);
      if (model::name(dtype) != text) continue;
      entry_.dtype = dtype;
      return;
    }
    fail(fmt::format("unknown dtype '{}'", text.substr(0, kShown)));
  }

  const std::string& path_;
  Header header_;
  Inside inside_ = Inside::kNothing;
  std::unordered_set<std::string> names_;
  std::string name_;  // the key of the entry that we are inside
  std::string metadata_key_;
  HeaderEntry entry_;
  Field field_ = Field::kNone;
  std::array<bool, 4> seen_{};  // by Field
  int offsets_ = 0;             // how many so far
};

}  // namespace

Header parse_header(std::istream& json, const std::string& path) {
  HeaderParser parser(path);
  Json::sax_parse(json, &parser);
  return parser.take();
}

}  // namespace ebbtide::model
