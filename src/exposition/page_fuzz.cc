// Fuzzes the labels, help texts and numbers of a plan.  Invariants: both formats pass the strict
// parser, have the same samples, and return the original labels; a page that is made from another
// one has the bytes of a page that is rendered whole.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

// Splits the fuzzer's input into texts and numbers.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  uint8_t Byte() { return static_cast<uint8_t>(Bytes(1).append(1, '\0')[0]); }
  std::string Text() { return Bytes(Byte() % 24); }
  uint64_t Word() {
    uint64_t word = 0;
    for (const char c : Bytes(8)) {
      word = word << 8 | static_cast<uint8_t>(c);
    }
    return word;
  }

 private:
  std::string Bytes(size_t count) {
    std::string bytes(rest_.substr(0, count));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  std::string_view rest_;
};

Value TakeValue(Input& input) {
  switch (input.Byte() % 3) {
    case 0:
      return Value::OfInt64(std::bit_cast<int64_t>(input.Word()));
    case 1:
      return Value::OfDouble(std::bit_cast<double>(input.Word()));
    default:
      return Value();
  }
}

Family TakeFamily(Input& input) {
  constexpr const char* kNames[] = {"a_total", "b", "b_total", "c_watts", "C_TOTAL"};
  constexpr const char* kTypes[] = {"gauge", "counter", "untyped"};
  constexpr double kScales[] = {1.0, 0.001, 0.01, 1048576};
  Family family{.name = kNames[input.Byte() % 5], .help = "", .type = "", .unit = "watts"};
  family.help = input.Text();
  family.type = kTypes[input.Byte() % 3];
  constexpr NumberFormat kFormats[] = {NumberFormat::kDcgm, NumberFormat::kShortest,
                                       NumberFormat::kGo};
  family.format = kFormats[input.Byte() % 3];
  family.scale = kScales[input.Byte() % 4];
  return family;
}

void CheckSame(const std::vector<ParsedFamily>& text,
               const std::vector<ParsedFamily>& openmetrics) {
  size_t at = 0;
  for (const ParsedFamily& family : openmetrics) {
    while (at < text.size() && text[at].samples.front().name != family.samples.front().name) {
      ++at;  // All numbers of this family were below zero.
    }
    PODGPU_CHECK(at < text.size());
    size_t sample_at = 0;
    for (const ParsedSample& sample : family.samples) {
      const std::vector<ParsedSample>& samples = text[at].samples;
      while (sample_at < samples.size() && samples[sample_at].labels != sample.labels) {
        ++sample_at;
      }
      PODGPU_CHECK(sample_at < samples.size() && samples[sample_at].number == sample.number);
    }
  }
}

// Renders pages with the numbers of `slots` in several arrangements, each from the one before.
void CheckContinued(const std::shared_ptr<const SeriesPlan>& plan, std::vector<Value> slots) {
  TextRenderer renderer;
  std::string last;
  for (size_t step = 0; step < 4; ++step) {
    std::string page = renderer.Render(plan, nullptr, slots, last);
    std::string whole;
    const size_t count = RenderText(*plan, nullptr, slots, whole);
    PODGPU_CHECK(page == whole);
    PODGPU_CHECK(renderer.series_count() == count);
    last = std::move(page);
    if (slots.size() > 1) {
      std::swap(slots[step % slots.size()], slots.back());
    }
  }
}

void Check(Input input) {
  PlanBuilder builder;
  std::vector<Value> slots;
  while (!input.empty() && slots.size() < 200) {
    builder.BeginFamily(TakeFamily(input));
    for (int i = input.Byte() % 4; i > 0; --i) {
      // The index makes each series unique.
      const std::vector<Label> labels = {{"index", std::to_string(slots.size())},
                                         {"x" + input.Text(), input.Text()}};
      builder.AddSeries(builder.AddLabels(RenderLabels(labels)), NumberSource::Slot(slots.size()));
      slots.push_back(TakeValue(input));
    }
  }
  const auto plan = std::make_shared<const SeriesPlan>(std::move(builder).Build());
  std::string text;
  std::string openmetrics;
  RenderText(*plan, nullptr, slots, text);
  RenderOpenMetrics(*plan, nullptr, slots, openmetrics);
  CheckContinued(plan, slots);
  const auto parsed_text = ParseTextStrictly(text);
  const auto parsed_openmetrics = ParseOpenMetricsStrictly(openmetrics);
  PODGPU_CHECK(parsed_text.ok());
  PODGPU_CHECK(parsed_openmetrics.ok());
  CheckSame(*parsed_text, *parsed_openmetrics);
}

}  // namespace
}  // namespace podgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  podgpu::Check(podgpu::Input(data, size));
  return 0;
}
