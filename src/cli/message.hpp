// What the program says on standard error.
#pragma once

namespace ebbtide::cli {

// Writes "ebbtide: ", the kind and the text, and a line's end. A message that cannot be written
// (full, closed, a reader that has left) is lost: it neither ends the run nor changes its status.
void print_message(const char* kind, const char* text) noexcept;

// Opens what is closed of the three standard streams on /dev/null. Without this a file of the run
// would get the number of standard error, and messages would be written into it.
void open_standard_streams() noexcept;

}  // namespace ebbtide::cli
