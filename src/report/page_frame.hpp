// The page without its data: src/report/page/, put together by the build (embed_page.py).
#pragma once

#include <string_view>

namespace ebbtide::report {

struct PageFrame {
  std::string_view before_data;
  std::string_view after_data;
};

PageFrame page_frame();

}  // namespace ebbtide::report
