// Reads small files of /proc and /sys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ebbtide::doctor {

// The first line, without its end; nothing where the file cannot be read.
std::optional<std::string> first_line(const std::filesystem::path& file);

// Names in a directory, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& directory);

// Words that are separated by blanks.
std::vector<std::string> words_of(const std::string& line);

// The value of the first line "key : value", blanks around it left out; nothing without one.
std::optional<std::string> value_of(const std::filesystem::path& file, const std::string& key);

// Which of the choices of a setting is chosen: "madvise" of "always [madvise] never".
std::optional<std::string> chosen_in(const std::filesystem::path& file);

}  // namespace ebbtide::doctor
