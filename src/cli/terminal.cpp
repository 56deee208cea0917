#include "src/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace ebbtide::cli {

std::optional<std::size_t> terminal_columns(std::FILE* stream) {
  winsize size{};
  if (isatty(fileno(stream)) == 0 || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0)
    return std::nullopt;
  return size.ws_col;
}

bool takes_colours(std::FILE* stream) {
  const char* const no_colour = std::getenv("NO_COLOR");
  return isatty(fileno(stream)) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace ebbtide::cli
