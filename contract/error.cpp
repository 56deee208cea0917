#include "ebbtide/error.hpp"

#include <fmt/format.h>

namespace ebbtide {
namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "ebbtide"; }
  std::string message(int code) const override {
    switch (static_cast<Errc>(code)) {
      case Errc::kBadUsage:
        return "bad usage";
      case Errc::kDoesNotFit:
        return "does not fit";
      case Errc::kBadFile:
        return "malformed file";
      case Errc::kBadData:
        return "unusable data";
      case Errc::kNotBuilt:
        return "not available";
      case Errc::kCorrupted:
        return "corrupted";
      case Errc::kCancelled:
        return "cancelled";
      case Errc::kDataFailed:
        return "data failed";
      case Errc::kDiverged:
        return "not finite";
    }
    return "unknown error";
  }
};

std::string describe(const std::error_code& code, const ErrorContext& context) {
  std::string text;
  if (!context.operation.empty()) text += fmt::format("cannot {}: ", context.operation);
  text += code.message();
  if (code.category() == std::system_category() || code.category() == std::generic_category())
    text += fmt::format(" (errno {})", code.value());
  if (!context.path.empty()) text += fmt::format(", in {}", context.path);
  if (context.offset) text += fmt::format(", at offset {}", *context.offset);
  if (context.wanted) text += fmt::format(", wanted {} bytes", *context.wanted);
  if (context.got) text += fmt::format(", got {}", *context.got);
  if (!context.advice.empty()) text += fmt::format("; {}", context.advice);
  return text;
}

}  // namespace

const std::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

Error::Error(std::error_code code, ErrorContext context)
    : std::system_error(code), context_(std::move(context)), message_(describe(code, context_)) {}

Error::Error(Errc code, const std::string& message)
    : std::system_error(make_error_code(code)), message_(message) {}

int exit_status(const std::error_code& code) noexcept {
  for (const Errc usage :
       {Errc::kBadUsage, Errc::kDoesNotFit, Errc::kBadFile, Errc::kBadData, Errc::kNotBuilt}) {
    if (code == make_error_code(usage)) return 2;
  }
  return 1;
}

void contract_violated(const char* condition, const char* file, int line,
                       const std::string& detail) {
  throw ContractViolation(
      fmt::format("{}:{}: contract broken: {} ({})", file, line, condition, detail));
}

}  // namespace ebbtide
