// Invariants of negotiation for any two headers: a form is chosen only if the client named it, and
// the result does not depend on case or on entries with q=0.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "exposition/negotiate.h"

namespace {

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

bool Names(std::string_view header, std::string_view word) {
  return Upper(header).find(word) != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view accept = input.substr(0, input.find('\n'));
  const std::string_view encoding = input.substr(std::min(accept.size() + 1, input.size()));
  const podgpu::PageForm form = podgpu::ChooseForm(accept, encoding);
  PODGPU_CHECK(!form.openmetrics || Names(accept, "APPLICATION/OPENMETRICS-TEXT"));
  PODGPU_CHECK(!form.gzip || Names(encoding, "GZIP") || Names(encoding, "*"));
  PODGPU_CHECK(form == podgpu::ChooseForm(Upper(accept), Upper(encoding)));
  PODGPU_CHECK(form == podgpu::ChooseForm("x/y;q=0," + std::string(accept),
                                          "br;q=0," + std::string(encoding)));
  return 0;
}
