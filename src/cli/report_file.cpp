#include "src/cli/report_file.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/model/new_file.hpp"

namespace ebbtide::cli {

ReportFile::ReportFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code failed;
  const std::filesystem::file_status there = std::filesystem::status(path_, failed);
  // The page is renamed to its name: a device or a pipe would be lost.
  if (exists(there) && !is_regular_file(there))
    throw Error(Errc::kBadUsage,
                fmt::format("--report '{}': is no regular file; name a file to make or replace",
                            path_.string()));
  try {
    const model::NewFile trial(path_);
  } catch (const Error& error) {
    throw Error(
        Errc::kBadUsage,
        fmt::format("--report: {}; name a file that this user may make and write", error.what()));
  }
}

void ReportFile::write(const report::RunPage& page) const {
  const std::string html = report::page_html(page);
  model::NewFile file(path_);
  file.append(std::as_bytes(std::span(html)));
  file.commit();
}

}  // namespace ebbtide::cli
