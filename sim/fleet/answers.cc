#include "sim/fleet/answers.h"

#include <iterator>

#include "absl/strings/str_format.h"
#include <zlib.h>

#include "base/status.h"
#include "base/text.h"
#include "sim/world/identity.h"

namespace podgpu::sim {
namespace {

constexpr size_t kEndlessPart = size_t{64} << 10;

// Compresses with zlib, since podgpu uses another library.
std::string Zipped(std::string_view text) {
  constexpr int kGzipForm = 16 + MAX_WBITS;
  constexpr int kMemoryLevel = 8;
  z_stream stream = {};
  PODGPU_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipForm, kMemoryLevel,
                            Z_DEFAULT_STRATEGY) == Z_OK);
  std::string input(text);
  std::string out(deflateBound(&stream, static_cast<uLong>(input.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  PODGPU_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Whole(std::string_view status, const std::string& headers, std::string_view body) {
  return absl::StrFormat("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers,
                         body.size(), body);
}

std::string Ok(std::string_view body) {
  return Whole("200 OK", "Content-Type: application/json\r\nConnection: close\r\n", body);
}

// Returns `text` with the first `from` replaced by `to`.
std::string With(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  if (const size_t at = changed.find(from); at != std::string::npos) {
    changed.replace(at, from.size(), to);
  }
  return changed;
}

FleetGarbage NoHttp(std::string_view /*json*/) { return {"\x16\x03\x01 what is this?\r\n\r\n"}; }
FleetGarbage NoJson(std::string_view /*json*/) { return {Ok("<html>It works!</html>\n")}; }
FleetGarbage CutOff(std::string_view json) {
  const std::string whole = Ok(json);
  return {whole.substr(0, whole.size() - json.size() / 2)};
}
FleetGarbage OtherSchema(std::string_view json) {
  return {Ok(With(json, "\"schema\":1", "\"schema\":99"))};
}
// The second device has the UUID of the first.
FleetGarbage OneUuid(std::string_view json) {
  constexpr std::string_view kKey = "\"uuid\":\"";
  const size_t first = json.find(kKey);
  const size_t second = json.find(kKey, first + 1);
  if (second == std::string_view::npos) {
    return NoJson(json);
  }
  std::string lie(json);
  const size_t length = json.find('"', first + kKey.size()) - first;
  lie.replace(second, length, json.substr(first, length));
  return {Ok(lie)};
}
FleetGarbage LongText(std::string_view json) {
  constexpr size_t kLength = 100'000;
  return {Ok(With(json, "\"verdict\":\"", "\"verdict\":\"" + std::string(kLength, 'x')))};
}
FleetGarbage Endless(std::string_view json) {
  FleetGarbage garbage;
  garbage.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                  std::string(json.substr(0, 1)) + std::string(kEndlessPart, ' ');
  garbage.is_endless = true;
  return garbage;
}

constexpr FleetGarbage (*kGarbage[])(std::string_view json) = {
    NoHttp, NoJson, CutOff, OtherSchema, OneUuid, LongText, Endless};

bool TakesGzip(std::string_view accept_encoding) {
  for (const std::string_view part : Split(accept_encoding, ',')) {
    if (Trim(part) == "gzip") {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string AnswerOfNode(const FleetQuestion& question, std::string_view json) {
  const std::string end = question.closes ? "Connection: close\r\n" : "";
  if (question.path == "/healthz") {
    return Whole("200 OK", "Content-Type: text/plain\r\n" + end, "ok\n");
  }
  if (question.path != "/api/v1/node") {
    return Whole("404 Not Found", "Content-Type: text/plain\r\n" + end,
                 "a simulated fleet serves /api/v1/node and /healthz\n");
  }
  const std::string etag = absl::StrFormat("W/\"%016x\"", KeyOf(0, json));
  std::string headers = absl::StrFormat(
      "Content-Type: application/json\r\nETag: %s\r\nVary: Accept-Encoding\r\n"
      "Cache-Control: no-cache\r\nAge: 0\r\n%s",
      etag, end);
  if (question.if_none_match == etag) {
    return absl::StrFormat("HTTP/1.1 304 Not Modified\r\n%s\r\n", headers);
  }
  if (!TakesGzip(question.accept_encoding)) {
    return Whole("200 OK", headers, json);
  }
  return Whole("200 OK", headers + "Content-Encoding: gzip\r\n", Zipped(json));
}

FleetGarbage GarbageOfNode(size_t node, std::string_view json) {
  // Garbage nodes lie at regular steps in the fleet; mixing their numbers gives all sorts of
  // garbage.
  return kGarbage[Mix(node) % std::size(kGarbage)](json);
}

}  // namespace podgpu::sim
