/* A client of an installed libcounterpoint, in C: a line that has persisted survives a power failure. */
#include <counterpoint.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    counterpoint_config config = {.size = sizeof config, .design = "secpm", .machine = "small", .seed = 1};
    counterpoint *memory = counterpoint_create(&config);
    if (!memory) {
        fprintf(stderr, "%s\n", counterpoint_last_error());
        return 2;
    }
    const uint8_t written[COUNTERPOINT_LINE_BYTES] = "C";
    uint8_t found[COUNTERPOINT_LINE_BYTES];
    counterpoint_send_write(memory, 0x1000, written, 1, 0);
    for (uint64_t next; (next = counterpoint_next_event_time(memory)) != COUNTERPOINT_NEVER;)
        counterpoint_advance(memory, next);
    counterpoint_crash(memory);
    counterpoint_peek(memory, 0x1000, found);
    puts(memcmp(written, found, sizeof found) == 0 ? "survived" : "lost");
    counterpoint_destroy(memory);
    return 0;
}
