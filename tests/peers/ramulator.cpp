// Replays a trace on Ramulator 2 and prints its answers: `ramulator CONFIG < TRACE`. A line of the trace is a memory cycle, `R`
// or `W`, and a hexadecimal address; a line of the output is the cycle in which the request was accepted, and how many cycles it
// took from there, a read to the end of its data, a write to its column command. A request that is refused holds up all that
// are behind it. CONFIG is the JSON of a memory system, as Ramulator's own `to_config` gives it.

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "ramulator/base/factory.h"
#include "ramulator/base/request.h"
#include "ramulator/frontend/i_frontend.h"
#include "ramulator/memory_system/i_memory_system.h"

using namespace Ramulator;

namespace {

struct Json {
  const char* at;

  void blank() { while (std::isspace(static_cast<unsigned char>(*at)) || *at == ',' || *at == ':') ++at; }

  std::string word() {
    std::string text;
    if (*at == '"') {
      for (++at; *at != '"'; ++at) text += *at;
      ++at;
    } else {
      while (*at && !std::isspace(static_cast<unsigned char>(*at)) && !std::string(",:]}").find(*at) == 0 && *at != ']' &&
             *at != '}' && *at != ',' && *at != ':') {
        text += *at++;
      }
    }
    return text;
  }

  ConfigNode value() {
    blank();
    if (*at == '{') {
      ConfigNode::Map map;
      for (++at, blank(); *at != '}'; blank()) {
        std::string key = word();
        map[key] = value();
      }
      ++at;
      return ConfigNode(std::move(map));
    }
    if (*at == '[') {
      ConfigNode::Seq items;
      for (++at, blank(); *at != ']'; blank()) items.push_back(value());
      ++at;
      return ConfigNode(std::move(items));
    }
    return ConfigNode(word());
  }
};

struct Wanted {
  uint64_t cycle;
  bool write;
  uint64_t address;
};

}  // namespace

int main(int, char** arguments) {
  std::ifstream file(arguments[1]);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  ConfigNode config = Json{text.c_str()}.value();
  IFrontEnd* front = Factory::create_frontend(config);
  IMemorySystem* memory = Factory::create_memory_system(config);
  front->connect_memory_system(memory);
  memory->connect_frontend(front);

  std::vector<Wanted> trace;
  char kind;
  unsigned long long cycle, address;
  while (std::scanf("%llu %c %llx", &cycle, &kind, &address) == 3) trace.push_back({cycle, kind == 'W', address});

  std::vector<uint64_t> accepted(trace.size()), took(trace.size());
  size_t next = 0, done = 0;
  uint64_t now = 0;
  while (done < trace.size()) {
    while (next < trace.size() && trace[next].cycle <= now) {
      Request request(static_cast<Addr_t>(trace[next].address), trace[next].write ? 1 : 0);
      request.size_bytes = memory->get_tx_bytes();
      request.source_id = 0;
      accepted[next] = now;
      request.callback = [&, next](Request& answered) {
        took[next] = (answered.depart >= 0 ? static_cast<uint64_t>(answered.depart) : now) - accepted[next];
        ++done;
      };
      if (!memory->send(request)) break;
      ++next;
    }
    ++now;
    memory->tick();
  }
  for (size_t at = 0; at < trace.size(); ++at) {
    std::printf("%llu %llu\n", static_cast<unsigned long long>(accepted[at]), static_cast<unsigned long long>(took[at]));
  }
}
