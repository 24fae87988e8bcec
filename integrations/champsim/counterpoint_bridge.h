/*
 * Counterpoint's controller and device behind ChampSim's channels, in place of its DRAM.
 *
 * A template over ChampSim's channel, so that nothing here depends on a ChampSim version beyond what README.md lists. ChampSim
 * has no line contents: writes carry the word that it knows, and the rest is zero.
 */
#ifndef COUNTERPOINT_BRIDGE_H
#define COUNTERPOINT_BRIDGE_H

#include <counterpoint.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace counterpoint_champsim
{

template <typename Channel>
class bridge
{
  using request_type = typename Channel::request_type;
  using response_type = typename Channel::response_type;

  struct waiting_read {
    Channel* channel;
    request_type request;
  };

  counterpoint* memory = nullptr;
  std::unordered_map<uint64_t, waiting_read> waiting;
  uint64_t next_id = 1;
  long answered = 0;

  [[noreturn]] static void give_up()
  {
    std::fprintf(stderr, "counterpoint: %s\n", counterpoint_last_error());
    std::exit(2);
  }

  static void check(int code)
  {
    if (code < 0)
      give_up();
  }

  static void read_done(void* self, uint64_t id, uint64_t, const uint8_t*, uint64_t)
  {
    auto& me = *static_cast<bridge*>(self);
    auto found = me.waiting.find(id);
    ++me.answered;
    if (found == me.waiting.end())
      return;
    if (found->second.request.response_requested)
      found->second.channel->returned.push_back(response_type{found->second.request});
    me.waiting.erase(found);
  }

  static void write_persisted(void* self, uint64_t, uint64_t, uint64_t) { ++static_cast<bridge*>(self)->answered; }

  // Line addresses; ChampSim's addresses convert to integers explicitly.
  static uint64_t line_of(const request_type& request)
  {
    return request.address.template to<uint64_t>() / COUNTERPOINT_LINE_BYTES * COUNTERPOINT_LINE_BYTES;
  }

  bool send_read(Channel* channel, const request_type& request)
  {
    const int room = counterpoint_can_accept(memory, COUNTERPOINT_READ);
    check(room);
    if (room == 0)
      return false;
    check(counterpoint_send_read(memory, line_of(request), next_id));
    waiting.emplace(next_id++, waiting_read{channel, request});
    return true;
  }

  bool send_write(const request_type& request)
  {
    const int room = counterpoint_can_accept(memory, COUNTERPOINT_WRITE);
    check(room);
    if (room == 0)
      return false;
    std::array<uint8_t, COUNTERPOINT_LINE_BYTES> bytes{};
    const uint64_t word = request.data.template to<uint64_t>();
    std::memcpy(bytes.data(), &word, sizeof word);
    check(counterpoint_send_write(memory, line_of(request), bytes.data(), 0, 0));
    return true;
  }

  // Takes requests from the front of `queue` while `take` does.
  template <typename Queue, typename Take>
  static void take_front(Queue& queue, Take take)
  {
    while (!queue.empty() && take(queue.front()))
      queue.pop_front();
  }

public:
  // Configuration from the environment: COUNTERPOINT_DESIGN (secpm if unset), COUNTERPOINT_VARIANT, COUNTERPOINT_MACHINE,
  // COUNTERPOINT_SET ("path.to.key=value", several separated by spaces).
  bridge()
  {
    const auto text = [](const char* name) -> const char* {
      const char* value = std::getenv(name);
      return value && *value ? value : nullptr;
    };
    std::vector<std::string> words;
    if (const char* all = text("COUNTERPOINT_SET")) {
      std::string word;
      for (const char* at = all;; ++at) {
        if (*at != ' ' && *at != '\0') {
          word += *at;
          continue;
        }
        if (!word.empty())
          words.push_back(word);
        word.clear();
        if (*at == '\0')
          break;
      }
    }
    std::vector<const char*> set;
    for (const auto& word : words)
      set.push_back(word.c_str());
    counterpoint_config config{};
    config.size = sizeof config;
    config.design = text("COUNTERPOINT_DESIGN") ? text("COUNTERPOINT_DESIGN") : "secpm";
    config.variant = text("COUNTERPOINT_VARIANT");
    config.machine = text("COUNTERPOINT_MACHINE");
    config.set = set.data();
    config.set_count = set.size();
    config.seed = 1;
    config.context = this;
    config.read_done = read_done;
    config.write_persisted = write_persisted;
    memory = counterpoint_create(&config);
    if (memory == nullptr)
      give_up();
  }

  ~bridge() { counterpoint_destroy(memory); }
  bridge(const bridge&) = delete;
  bridge& operator=(const bridge&) = delete;

  // Bytes of memory: the largest power of two that the machine has room for, because ChampSim's page allocator works with one.
  uint64_t size() const
  {
    counterpoint_info info{};
    info.size = sizeof info;
    check(counterpoint_get_info(memory, &info));
    uint64_t size = 1;
    while (size <= info.capacity / 2)
      size *= 2;
    return size;
  }

  // One cycle of ChampSim's memory controller at `now_ps`, picoseconds of simulated time: answers what is done, then takes
  // requests from the channels as long as there is room. In warm-up, as in ChampSim, reads are answered at once and writes
  // dropped. Returns how much has happened, for ChampSim's deadlock check.
  long operate(const std::vector<Channel*>& channels, uint64_t now_ps, bool warmup)
  {
    answered = 0;
    check(counterpoint_advance(memory, now_ps));
    long taken = 0;
    for (auto* channel : channels) {
      const auto read = [&](const request_type& request) {
        if (warmup) {
          if (request.response_requested)
            channel->returned.push_back(response_type{request});
        } else if (!send_read(channel, request)) {
          return false;
        }
        ++taken;
        return true;
      };
      take_front(channel->RQ, read);
      take_front(channel->PQ, read);
      take_front(channel->WQ, [&](const request_type& request) {
        if (!warmup && !send_write(request))
          return false;
        ++taken;
        return true;
      });
    }
    return taken + answered;
  }

  // Statistics as a JSON document.
  std::string statistics()
  {
    const char* text = counterpoint_statistics(memory);
    if (text == nullptr)
      give_up();
    return text;
  }
};

} // namespace counterpoint_champsim

#endif
