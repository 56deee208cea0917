// The file that --report names. It appears under its name only when it is whole.
#pragma once

#include <filesystem>

#include "src/report/page.hpp"

namespace ebbtide::cli {

class ReportFile {
 public:
  // Tries that a page can be written there, and leaves nothing behind. Throws Error(kBadUsage).
  explicit ReportFile(std::filesystem::path path);
  // Blocks. Throws Error with the errno; a page of before then stays.
  void write(const report::RunPage& page) const;

 private:
  std::filesystem::path path_;
};

}  // namespace ebbtide::cli
