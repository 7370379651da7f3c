#include "http/response_head.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};

constexpr std::array kPhrases = {
    Phrase{200, "OK"},
    Phrase{204, "No Content"},
    Phrase{301, "Moved Permanently"},
    Phrase{302, "Found"},
    Phrase{304, "Not Modified"},
    Phrase{400, "Bad Request"},
    Phrase{401, "Unauthorized"},
    Phrase{403, "Forbidden"},
    Phrase{404, "Not Found"},
    Phrase{405, "Method Not Allowed"},
    Phrase{406, "Not Acceptable"},
    Phrase{408, "Request Timeout"},
    Phrase{413, "Content Too Large"},
    Phrase{417, "Expectation Failed"},
    Phrase{429, "Too Many Requests"},
    Phrase{431, "Request Header Fields Too Large"},
    Phrase{500, "Internal Server Error"},
    Phrase{501, "Not Implemented"},
    Phrase{503, "Service Unavailable"},
};
static_assert(std::ranges::is_sorted(kPhrases, std::ranges::less_equal{}, &Phrase::status));

void AppendHeader(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  const size_t start = head.size();
  head += value;
  std::replace_if(
      head.begin() + static_cast<std::ptrdiff_t>(start), head.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  head += "\r\n";
}

bool MayHaveBody(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

std::string_view ReasonPhrase(int status) {
  const auto phrase = std::ranges::lower_bound(kPhrases, status, {}, &Phrase::status);
  return phrase != kPhrases.end() && phrase->status == status ? phrase->text : std::string_view();
}

std::string FormatHttpDate(int64_t unix_s) {
  using std::chrono::days;
  static constexpr std::array<std::string_view, 7> kWeekdays = {"Sun", "Mon", "Tue", "Wed",
                                                                "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_s)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return absl::StrFormat(
      "%s, %02d %s %04d %02d:%02d:%02d GMT", kWeekdays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

std::string FormatResponseHead(const HttpResponse& response, Persistence persistence,
                               int64_t unix_s) {
  std::string head =
      absl::StrFormat("HTTP/1.1 %d %s\r\n", response.status, ReasonPhrase(response.status));
  AppendHeader(head, "Date", FormatHttpDate(unix_s));
  if (!response.content_type.empty()) {
    AppendHeader(head, "Content-Type", response.content_type);
  }
  if (MayHaveBody(response.status)) {
    AppendHeader(head, "Content-Length", std::to_string(response.body.size()));
  }
  for (const auto& [name, value] : response.headers) {
    AppendHeader(head, name, value);
  }
  if (persistence != Persistence::kKeepAlive) {
    AppendHeader(head, "Connection", persistence == Persistence::kClose ? "close" : "keep-alive");
  }
  head += "\r\n";
  return head;
}

}  // namespace podgpu
