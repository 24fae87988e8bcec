// What the address mapping does to a stream of lines: streams MACHINE LINES. One row for each mapping: throughput in GB/s of
// reading and of writing one line after the other, and one line of each page, as fast as the queues take them.
#include "counterpoint.hpp"

#include <cstdio>
#include <cstdlib>

using libcounterpoint::config;
using libcounterpoint::line_bytes;
using libcounterpoint::memory;

static double gigabytes_per_second(const char *design, const char *machine, const std::string &mapping, int kind, bool pages,
                                   std::uint64_t lines)
{
    config settings;
    settings.design = design;
    settings.machine = machine;
    settings.set = {"engine.bytes=false", "program.core_region=packed", "device.mapping=" + mapping};
    if (mapping == "line-interleaved")
        settings.set.push_back("controller.counter_placement=interleaved");
    memory under(settings);
    for (std::uint64_t number = 0; number < lines; ++number) {
        // 16,384 pages are 64 MiB; then the next line of each.
        const std::uint64_t line = pages ? number % 16384 * 64 + number / 16384 : number;
        while (!under.can_accept(kind))
            under.advance(*under.next_event_time());
        if (kind == COUNTERPOINT_READ)
            under.read(line * 64);
        else
            under.write(line * 64, line_bytes{});
    }
    under.run();
    return 64000.0 * static_cast<double>(lines) / static_cast<double>(under.info().now);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        std::fprintf(stderr, "streams MACHINE LINES\n");
        return 2;
    }
    const std::uint64_t lines = std::strtoull(arguments[2], nullptr, 10);
    std::printf("%-12s %-17s %12s %12s %12s %12s\n", "design", "mapping", "read lines", "read pages", "write lines", "write pages");
    for (const char *design : {"unencrypted", "secpm"}) {
        for (const char *mapping : {"line-interleaved", "page-interleaved", "page-xor", "row-interleaved", "bank-contiguous"}) {
            std::printf("%-12s %-17s", design, mapping);
            for (const int kind : {COUNTERPOINT_READ, COUNTERPOINT_WRITE}) {
                for (const bool pages : {false, true})
                    std::printf(" %12.2f", gigabytes_per_second(design, arguments[1], mapping, kind, pages, lines));
            }
            std::printf("\n");
        }
    }
    return 0;
}
