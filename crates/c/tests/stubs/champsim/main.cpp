// The ChampSim bridge in a memory controller of the form that ChampSim's has, driven as ChampSim drives it: the controller is
// copied where statistics are collected, a phase ends once for every core, and 500 cycles without progress are a deadlock.
#include "counterpoint_bridge.h"

#include <deque>
#include <set>

struct address {
  uint64_t value = 0;
  template <typename T>
  T to() const
  {
    return static_cast<T>(value);
  }
};

struct channel {
  struct request_type {
    bool response_requested = true;
    ::address address{}, data{};
    uint32_t cpu = UINT32_MAX;
  };
  struct response_type {
    ::address address{};
    explicit response_type(const request_type& request) : address(request.address) {}
  };
  std::deque<request_type> RQ{}, PQ{}, WQ{};
  std::deque<response_type> returned{};
};

static void require(bool condition, const char* what)
{
  if (!condition) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
  }
}

// ChampSim's controller, as far as the bridge is mounted in it.
class MEMORY_CONTROLLER
{
public:
  counterpoint_champsim::bridge<channel> counterpoint_memory;
  std::vector<channel*> queues;
  uint64_t now = 0;
  bool warmup = true;

  long operate() { return counterpoint_memory.operate(queues, now, warmup); }
  void begin_phase() { counterpoint_memory.begin_phase(); }
  void end_phase(unsigned) { counterpoint_memory.end_phase(warmup); }
  uint64_t size() const { return counterpoint_memory.size(); }
};

// ChampSim's loop: one cycle after the other, and its deadlock rule.
constexpr int DEADLOCK_CYCLE = 500;
constexpr uint64_t CYCLE_PS = 250;

template <typename Done>
static void run(MEMORY_CONTROLLER& dram, Done done)
{
  int stalled = 0;
  for (int cycle = 0; !done(); ++cycle) {
    require(cycle < 40000000, "it ends");
    dram.now += CYCLE_PS;
    stalled = dram.operate() == 0 ? stalled + 1 : 0;
    require(stalled < DEADLOCK_CYCLE, "ChampSim would abort: no progress for 500 cycles");
  }
}

int main(int, char** arguments)
{
  MEMORY_CONTROLLER dram;
  channel first, second;
  dram.queues = {&first, &second};
  const uint64_t capacity = std::strtoull(arguments[1], nullptr, 10);
  require(dram.size() == capacity, "memory is as large as the machine leaves it, in pages");

  // Warm-up.
  dram.begin_phase();
  first.RQ.push_back({true, {128 + 7}, {}});
  first.WQ.push_back({false, {192}, {}});
  dram.now = 1000000;
  require(dram.operate() == 2, "in warm-up everything is taken");
  require(first.returned.size() == 1 && first.returned.front().address.value == 135, "and reads come back at once");
  first.returned.clear();
  dram.end_phase(0);
  dram.end_phase(1);

  // The measured phase.
  dram.warmup = false;
  dram.begin_phase();
  std::multiset<uint64_t> expected, found;
  for (uint64_t i = 0; i < 200; ++i) {
    (i % 2 ? first : second).RQ.push_back({true, {i * 4096 + 8}, {}, static_cast<uint32_t>(i % 2)});
    expected.insert(i * 4096 + 8);
    first.WQ.push_back({false, {i * 64}, {i}, 0});
    second.PQ.push_back({false, {i * 128}, {}, 1});
  }
  dram.operate();
  require(!second.RQ.empty() && !first.WQ.empty() && first.returned.empty(), "queues fill, and reads take time");
  run(dram, [&] {
    for (auto* each : dram.queues) {
      for (const auto& response : each->returned)
        found.insert(response.address.value);
      each->returned.clear();
    }
    return found.size() >= expected.size();
  });
  require(found == expected, "every read that asks for it comes back once");
  dram.end_phase(0);
  run(dram, [&] { return first.WQ.empty() && second.PQ.empty(); });
  // Nothing is left to take, and the last answers take as long as a bank does.
  run(dram, [&] { return dram.operate() == 0; });
  dram.end_phase(1);

  {
    // As where ChampSim collects statistics: the copy is the same memory, and its end is not the end of it.
    auto copied = dram;
    require(copied.size() == dram.size() && copied.counterpoint_memory.statistics() == dram.counterpoint_memory.statistics(),
            "a copy is the same memory");
  }
  const std::string statistics = dram.counterpoint_memory.statistics();
  require(statistics.find("\"reads\":{\"count\":400,") != std::string::npos, statistics.c_str());
  require(statistics.find("\"writes\":{\"count\":200,") != std::string::npos, statistics.c_str());
  require(statistics.find("\"requestor\":1,\"reads\":{\"count\":300,") != std::string::npos, statistics.c_str());
  require(statistics.find("\"now_ns\":" + std::to_string(dram.now / 1000)) != std::string::npos, statistics.c_str());
  std::puts("mounted");
}
