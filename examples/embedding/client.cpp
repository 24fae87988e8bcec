// A client of an installed libcounterpoint, in C++: a line that is read back, and a sentence for a wrong name.
#include <counterpoint.h>

#include <array>
#include <iostream>
#include <memory>
#include <string>

int main() {
    using Line = std::array<uint8_t, COUNTERPOINT_LINE_BYTES>;
    Line read{};
    counterpoint_config config{};
    config.size = sizeof config;
    config.design = "secpn";
    config.machine = "small";
    config.context = &read;
    config.read_done = [](void *context, uint64_t, uint64_t, const uint8_t *bytes, uint64_t) {
        std::copy(bytes, bytes + COUNTERPOINT_LINE_BYTES, static_cast<Line *>(context)->begin());
    };
    if (counterpoint_create(&config) != nullptr || std::string(counterpoint_last_error()).empty()) return 1;
    config.design = "secpm";
    const std::unique_ptr<counterpoint, decltype(&counterpoint_destroy)> memory{counterpoint_create(&config),
                                                                               counterpoint_destroy};
    if (!memory) {
        std::cerr << counterpoint_last_error() << '\n';
        return 2;
    }
    Line written{'C', '+', '+'};
    counterpoint_send_write(memory.get(), 0x40, written.data(), 1, 0);
    counterpoint_send_read(memory.get(), 0x40, 2);
    for (uint64_t next; (next = counterpoint_next_event_time(memory.get())) != COUNTERPOINT_NEVER;)
        counterpoint_advance(memory.get(), next);
    std::cout << (read == written ? "read back" : "lost") << '\n';
}
