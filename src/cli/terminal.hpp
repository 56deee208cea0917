// What a stream is shown on.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>

namespace ebbtide::cli {

// Of the terminal that shows the stream; nothing where it is none, or says no width.
std::optional<std::size_t> terminal_columns(std::FILE* stream);

// Whether it may be coloured: on a terminal, unless NO_COLOR is set (https://no-color.org).
bool takes_colours(std::FILE* stream);

}  // namespace ebbtide::cli
