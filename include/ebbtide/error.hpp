// Errors, in three kinds.
//
// 1. A broken contract is a bug of ours or of the embedding program: EBBTIDE_CHECK throws
//    ContractViolation with both numbers in its message.
// 2. The world failed (errno, CUDA, NCCL, a bad file, a budget): Error, which carries a
//    std::error_code and says the operation, path, offset and bytes. It is thrown only on the
//    thread that called us; a failure on a lane is kept and thrown by whoever waits.
// 3. A normal outcome (full, not ready) is a return value.
//
// Nothing but main exits; exit_status() is the map that it uses.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace ebbtide {

enum class Errc {
  kBadUsage = 1,  // a flag or setting that cannot be meant
  kDoesNotFit,    // a budget, a disk or a limit is too small
  kBadFile,       // a file's content breaks its format
  kBadData,       // training data that cannot be used (a token id outside the vocabulary, ...)
  kNotBuilt,      // a part that this build or version does not have
  kCorrupted,     // bytes that came back differ from those that left
  kCancelled,     // stopped by a signal or by a failure elsewhere
  kDataFailed,    // training data that could not be used any more while it was being read
  kDiverged,      // a loss or gradient that is not finite
};

const std::error_category& error_category() noexcept;
std::error_code make_error_code(Errc code) noexcept;

// What an Error is about; empty members are not printed.
struct ErrorContext {
  std::string operation{};  // "write the swap file", "read the config"
  std::string path{};
  std::optional<std::uint64_t> offset{};  // bytes
  std::optional<std::uint64_t> wanted{};  // bytes
  std::optional<std::uint64_t> got{};     // bytes
  std::string advice{};                   // what to do about it
};

class Error : public std::system_error {
 public:
  Error(std::error_code code, ErrorContext context);
  // For an error whose message says everything itself.
  Error(Errc code, const std::string& message);
  const ErrorContext& context() const noexcept { return context_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorContext context_;
  std::string message_;
};

class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Status that a process ends with: 1 failed while running, 2 bad usage or does not fit.
int exit_status(const std::error_code& code) noexcept;

[[noreturn]] void contract_violated(const char* condition, const char* file, int line,
                                    const std::string& detail);

}  // namespace ebbtide

template <>
struct std::is_error_code_enum<ebbtide::Errc> : std::true_type {};

// Throws ContractViolation unless the condition holds. `detail` is evaluated only on failure.
#define EBBTIDE_CHECK(condition, detail)                                      \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::ebbtide::contract_violated(#condition, __FILE__, __LINE__, (detail)); \
  } while (false)
