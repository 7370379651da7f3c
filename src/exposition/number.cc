#include "exposition/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/status.h"

namespace podgpu {
namespace {

// Bytes of the longest integer, of the longest shortest form of a double, and of the longest double
// with six decimals: sign, 309 digits, point, six digits.
constexpr size_t kLongestInteger = 20;
constexpr size_t kLongestShortest = 24;
constexpr size_t kLongestDecimals = 317;
constexpr double kLargestPlainInteger = 1e15;

// Appends the characters that `write` writes into a buffer of `kBytes`.
template <size_t kBytes, typename Write>
void AppendWritten(std::string& out, Write write) {
  // Hardened builds fill all other variables with zeros, which takes longer than to write digits.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): only written bytes are read.
  __attribute__((uninitialized)) std::array<char, kBytes> buffer;
  const std::to_chars_result end = write(buffer.data(), buffer.data() + buffer.size());
  PODGPU_CHECK(end.ec == std::errc{});
  out.append(buffer.data(), end.ptr);
}

void AppendInteger(int64_t number, std::string& out) {
  AppendWritten<kLongestInteger>(
      out, [&](char* begin, char* end) { return std::to_chars(begin, end, number); });
}

void AppendShortest(double number, std::string& out) {
  if (number == std::trunc(number) && std::abs(number) < kLargestPlainInteger) {
    AppendInteger(static_cast<int64_t>(number), out);
    return;
  }
  AppendWritten<kLongestShortest>(
      out, [&](char* begin, char* end) { return std::to_chars(begin, end, number); });
}

void AppendDecimals(double number, int decimals, std::string& out) {
  AppendWritten<kLongestDecimals>(out, [&](char* begin, char* end) {
    return std::to_chars(begin, end, number, std::chars_format::fixed, decimals);
  });
}

void AppendFloat(double number, std::string& out) {
  const size_t begin = out.size();
  AppendShortest(number, out);
  if (out.find_first_of(".e", begin) == std::string::npos) {
    out += ".0";
  }
}

// dcgm-exporter writes a double with six decimals, reads that text, and encodes the result with the
// rules of strconv.FormatFloat(number, 'g', -1, 64); zero has no sign.
double WithSixDecimals(double number) {
  constexpr double kLeastWithoutDecimals = 1e15;  // Such a double has no six decimals anyway.
  if (std::abs(number) >= kLeastWithoutDecimals) {
    return number;
  }
  std::array<char, kLongestDecimals> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 6);
  double read = 0;
  std::from_chars(text.data(), written.ptr, read);
  return read;
}

void AppendGo(double number, std::string& out) {
  constexpr double kLeastPlain = 1e-4, kLeastWithExponent = 1e6;
  const double size = std::abs(number);
  if (size == 0) {
    out += '0';
    return;
  }
  const bool is_plain = size >= kLeastPlain && size < kLeastWithExponent;
  AppendWritten<kLongestShortest>(out, [&](char* begin, char* end) {
    return std::to_chars(begin, end, number,
                         is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  });
}

void AppendDouble(double number, NumberFormat format, std::string& out) {
  if (!std::isfinite(number)) {
    out += std::isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
  } else if (format == NumberFormat::kDcgm) {
    AppendDecimals(number, 6, out);
  } else if (format == NumberFormat::kMilli) {
    AppendDecimals(number, 3, out);
  } else if (format == NumberFormat::kFloat) {
    AppendFloat(number, out);
  } else if (format == NumberFormat::kGo) {
    AppendGo(WithSixDecimals(number), out);
  } else {
    AppendShortest(number, out);
  }
}

double Scaled(double number, double scale) {
  if (scale > 0 && scale < 1) {
    if (const double divisor = std::round(1 / scale); 1 / divisor == scale) {
      return number / divisor;
    }
  }
  return number * scale;
}

}  // namespace

void AppendNumber(const Value& value, NumberFormat format, double scale, std::string& out) {
  PODGPU_CHECK(value.kind() == Value::Kind::kInt64 || value.kind() == Value::Kind::kDouble);
  const bool is_integer = value.kind() == Value::Kind::kInt64;
  if (is_integer && scale == 1.0 && format == NumberFormat::kGo) {
    AppendGo(value.number(), out);
  } else if (scale != 1.0 || format == NumberFormat::kFloat) {
    const double number = Scaled(value.number(), scale);
    // MiB times 2^20 are whole bytes; a percent divided by 100 is a ratio, also where it is 1.
    const bool may_be_whole =
        format == NumberFormat::kMilli || (format == NumberFormat::kDcgm && scale > 1);
    const bool stays_whole = is_integer && may_be_whole && number == std::trunc(number);
    AppendDouble(number, stays_whole ? NumberFormat::kShortest : format, out);
  } else if (is_integer) {
    AppendInteger(value.int64(), out);
  } else {
    AppendDouble(value.real(), format, out);
  }
}

}  // namespace podgpu
