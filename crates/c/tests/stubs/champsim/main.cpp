// The ChampSim bridge on a channel of the form that ChampSim's has: every read comes back, in time and once, and a full queue
// holds requests back.
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

int main()
{
  counterpoint_champsim::bridge<channel> memory;
  channel first, second;
  const std::vector<channel*> channels{&first, &second};
  require(memory.size() == UINT64_C(1) << 29, "a device of 1 GiB has room for 512 MiB and no full GiB");

  first.RQ.push_back({true, {128 + 7}, {}});
  first.WQ.push_back({false, {192}, {}});
  require(memory.operate(channels, 0, true) == 2, "in warm-up everything is taken");
  require(first.returned.size() == 1 && first.returned.front().address.value == 135, "and reads come back at once");
  first.returned.clear();

  std::multiset<uint64_t> expected, found;
  for (uint64_t i = 0; i < 200; ++i) {
    (i % 2 ? first : second).RQ.push_back({true, {i * 4096 + 8}, {}});
    expected.insert(i * 4096 + 8);
    first.WQ.push_back({false, {i * 64}, {i}});
    second.PQ.push_back({false, {i * 128}, {}});
  }
  uint64_t now = 1000;
  memory.operate(channels, now, false);
  require(!second.RQ.empty() && !first.WQ.empty() && first.returned.empty(), "queues fill, and reads take time");
  for (; now < 2000000000 && found.size() < expected.size(); now += 2500) {
    memory.operate(channels, now, false);
    for (auto* each : channels) {
      for (const auto& response : each->returned)
        found.insert(response.address.value);
      each->returned.clear();
    }
  }
  require(found == expected, "every read that asks for it comes back once");
  for (int i = 0; i < 400000 && !(first.WQ.empty() && second.PQ.empty()); ++i, now += 2500)
    memory.operate(channels, now, false);
  require(first.WQ.empty() && second.PQ.empty(), "everything is taken in the end");
  memory.operate(channels, now + 1000000000, false);
  const std::string statistics = memory.statistics();
  require(statistics.find("\"reads\":{\"count\":400,") != std::string::npos, statistics.c_str());
  require(statistics.find("\"writes\":{\"count\":200,") != std::string::npos, statistics.c_str());
  std::puts("mounted");
}
