/*
 * libcounterpoint: a controller and device of encrypted persistent memory, as the memory of another simulator.
 *
 *     counterpoint_create -> counterpoint_load* -> (send | advance | store)* -> counterpoint_crash -> (send | advance | store)*
 *                         -> counterpoint_statistics -> counterpoint_destroy
 *
 * counterpoint.hpp wraps this interface for C++17.
 *
 * Units      Time is in picoseconds from the creation of the memory, at most COUNTERPOINT_TIME_MAX. Addresses are in bytes
 *            from 0; a request has the address of a line, a multiple of 64. A line has 64 bytes.
 * Time       The caller keeps the clock. A request reaches the controller at the current time. Time moves only in
 *            counterpoint_advance and counterpoint_tick. Call-backs are called only from these, in the order of events.
 * Ownership  The caller owns everything that it passes in. Nothing is kept after the call, except `context` and the
 *            call-backs of the configuration, until counterpoint_destroy. Bytes passed to a call-back are valid during it.
 * Threads    A memory is used by one thread at a time. Different memories are independent of each other.
 * Call-backs may send, store, ask and peek. They must not advance, tick, crash, load, restore or destroy the same memory: the
 *            first five return COUNTERPOINT_ERROR_STATE, the last does nothing. No exception may leave a call-back.
 * Errors     Functions return COUNTERPOINT_OK or a negative error; counterpoint_last_error returns the sentence. A call that
 *            fails changes nothing, with one exception: after COUNTERPOINT_ERROR_INTERNAL, a bug of the library, a memory
 *            can only be destroyed.
 * Structures have their size as the first field, which the caller sets to sizeof. Later versions append fields. The library
 *            takes a shorter structure of an older header: fields that it lacks are zero, or not filled. It refuses a longer
 *            one of a newer header if a field that it does not know is not zero. It never writes beyond the caller's size.
 * Equality   Equal configurations and equal requests at equal times give equal events, on every machine.
 */


#ifndef COUNTERPOINT_H
#define COUNTERPOINT_H

#include <stddef.h>
#include <stdint.h>

// The version of this header; counterpoint_version has that of the library.
#define COUNTERPOINT_VERSION "0.1.0"

// Bytes in a line.
#define COUNTERPOINT_LINE_BYTES 64

// The end of time: 2^62 ps, 53 days.
#define COUNTERPOINT_TIME_MAX 4611686018427387904ull

// counterpoint_next_event_time: no event follows unless another request is sent.
#define COUNTERPOINT_NEVER UINT64_MAX

// Requestors have numbers below this.
#define COUNTERPOINT_REQUESTORS_MAX 1024

// Classes of a histogram.
#define COUNTERPOINT_CLASSES 64

// Functions return this, or one of the errors below.
#define COUNTERPOINT_OK 0

// A value is invalid: a null pointer, an address that is misaligned or beyond memory, a time in the past.
#define COUNTERPOINT_ERROR_ARGUMENT -1

// The queue is full: advance and send again.
#define COUNTERPOINT_ERROR_FULL -2

// Not possible in this state, or with this design or machine.
#define COUNTERPOINT_ERROR_STATE -3

// A bug of the library.
#define COUNTERPOINT_ERROR_INTERNAL -4

// A kind of request: a read.
#define COUNTERPOINT_READ 0

// A kind of request: a write.
#define COUNTERPOINT_WRITE 1

// A kind of request: a counter write-back.
#define COUNTERPOINT_COUNTER_WRITEBACK 2

// A flag of a write. The line holds a CounterAtomic variable: line and counter persist together, if the design leaves the choice
// (sca, sca-tree). Other designs ignore the flag.
#define COUNTERPOINT_COUNTER_ATOMIC 1

// A flag of an answer. A read of a line that a power failure has damaged: it holds neither the last acknowledged bytes nor those
// of a later write, but older bytes or garbage. A write or store of the whole line ends that.
#define COUNTERPOINT_DAMAGED 1

// A memory.
typedef struct counterpoint counterpoint;

// A read is complete: `bytes` is the decrypted line.
typedef void (*counterpoint_read_done)(void *context, uint64_t id, uint64_t address, const uint8_t *bytes, uint64_t time);

// A write, or a counter write-back, has reached the persistence domain. Its line survives a power failure if the design makes the
// counter durable as well: not with designs that lose counters, and with `sca` and `sca-tree` only if the write has the flag
// COUNTERPOINT_COUNTER_ATOMIC, or its counter has been written back.
typedef void (*counterpoint_persisted)(void *context, uint64_t id, uint64_t address, uint64_t time);

// An answer, with everything that is known of its request.
typedef struct counterpoint_answer {
    // sizeof(counterpoint_answer) in the library.
    size_t size;
    // Of the request.
    uint64_t id;
    // Of the request.
    uint64_t address;
    // Time of the request, ps.
    uint64_t sent;
    // Time of the answer, ps.
    uint64_t time;
    // Of a read: the decrypted line; else NULL.
    const uint8_t *bytes;
    // COUNTERPOINT_READ, COUNTERPOINT_WRITE or COUNTERPOINT_COUNTER_WRITEBACK.
    uint32_t kind;
    // COUNTERPOINT_DAMAGED, or 0.
    uint32_t flags;
    // Of the request.
    uint32_t requestor;
} counterpoint_answer;

// A request is answered.
typedef void (*counterpoint_answered)(void *context, const struct counterpoint_answer *answer);

// The settings of a memory. Set `size` and every field that is not zero.
typedef struct counterpoint_config {
    // sizeof(counterpoint_config).
    size_t size;
    // Name, as `counterpoint designs` lists it, or path of a design file (.toml).
    const char *design;
    // "published" or "hardened"; NULL: hardened.
    const char *variant;
    // Preset name, or path of a machine file (.toml); NULL: the design's own preset.
    const char *machine;
    // `set_count` texts "path.to.key=value", as --set takes them.
    const char *const *set;
    // Number of texts in `set`.
    size_t set_count;
    // Of the encryption keys.
    uint64_t seed;
    // Passed to the call-backs.
    void *context;
    // Answers of reads; NULL: none are wanted, as for the next two.
    counterpoint_read_done read_done;
    // Answers of writes.
    counterpoint_persisted write_persisted;
    // Answers of counter write-backs.
    counterpoint_persisted counters_persisted;
    // If not NULL, called instead of the three above.
    counterpoint_answered answered;
    // Limit of reads in flight on each channel; 0: only that of the whole controller.
    uint32_t reads_on_channel;
    // The same of writes.
    uint32_t writes_on_channel;
} counterpoint_config;

// A request. Set `size` and every field that is not zero.
typedef struct counterpoint_request {
    // sizeof(counterpoint_request).
    size_t size;
    // Of a line.
    uint64_t address;
    // Returned by the answer; ids need not differ.
    uint64_t id;
    // Of a write: 64 bytes.
    const uint8_t *bytes;
    // Of a write: bit i: byte i is written, the line keeps its others; 0: all are.
    uint64_t mask;
    // COUNTERPOINT_READ, COUNTERPOINT_WRITE or COUNTERPOINT_COUNTER_WRITEBACK.
    uint32_t kind;
    // COUNTERPOINT_COUNTER_ATOMIC, or 0.
    uint32_t flags;
    // Whose figures count it: from 0 to COUNTERPOINT_REQUESTORS_MAX - 1.
    uint32_t requestor;
} counterpoint_request;

// What counterpoint_get_info returns.
typedef struct counterpoint_info {
    // In: sizeof(counterpoint_info).
    size_t size;
    // Bytes of memory, from address 0.
    uint64_t capacity;
    // ps.
    uint64_t now;
    // Of the memory interface, ps; what counterpoint_tick advances.
    uint64_t clock_period;
    // Interface cycles that a line takes on the data bus.
    uint32_t burst_cycles;
    // 64.
    uint32_t line_bytes;
    // Number of channels.
    uint32_t channels;
    // Over all channels and ranks.
    uint32_t banks;
    // Limit of reads in flight.
    uint32_t reads_max;
    // Limit of writes in flight.
    uint32_t writes_max;
    // Limit of counter write-backs in flight.
    uint32_t counter_writebacks_max;
    // Reads in flight.
    uint32_t reads;
    // Writes in flight.
    uint32_t writes;
    // Counter write-backs in flight.
    uint32_t counter_writebacks;
    // Events since creation.
    uint64_t events;
    // Digest of them all.
    uint64_t event_digest;
    // In each channel.
    uint32_t ranks;
    // Banks in each rank.
    uint32_t banks_per_rank;
    // Since creation.
    uint64_t power_failures;
} counterpoint_info;

// The place of a line on the media.
typedef struct counterpoint_place {
    // The channel.
    uint32_t channel;
    // The rank in the channel.
    uint32_t rank;
    // Number over all channels and ranks, as counterpoint_get_bank takes it.
    uint32_t bank;
    // Line within the row.
    uint32_t column;
    // Row of the bank.
    uint64_t row;
} counterpoint_place;

// What counterpoint_locate returns.
typedef struct counterpoint_location {
    // In: sizeof(counterpoint_location).
    size_t size;
    // Of the line itself.
    struct counterpoint_place line;
    // Of its counter block.
    struct counterpoint_place counter;
    // 1 if it has a counter block on the media, else 0.
    uint32_t has_counter;
} counterpoint_location;

// What counterpoint_get_power_failure returns.
typedef struct counterpoint_power_failure {
    // In: sizeof(counterpoint_power_failure).
    size_t size;
    // ps.
    uint64_t time;
    // Reads in flight that will never be answered.
    uint64_t reads_lost;
    // Writes in flight; some may have survived nevertheless.
    uint64_t writes_lost;
    // Counter write-backs in flight.
    uint64_t counter_writebacks_lost;
    // Lines and counter blocks that left the persistence domain on battery power.
    uint64_t drained;
    // Lines of all kinds that the boot read.
    uint64_t boot_reads;
    // Lines of all kinds that the boot wrote.
    uint64_t boot_writes;
    // Pads that the boot made.
    uint64_t boot_pads;
    // MACs of data lines that it computed.
    uint64_t boot_macs;
    // Tree nodes and counter blocks that it hashed.
    uint64_t boot_hashes;
    // See COUNTERPOINT_DAMAGED.
    uint64_t damaged_lines;
    // 1 if the boot refused memory because a check of integrity failed, else 0.
    uint32_t refused;
} counterpoint_power_failure;

// Latencies of the answered requests of one kind, in ps. Requests that were sent before the last reset are not
// counted.
typedef struct counterpoint_latencies {
    // Number of requests.
    uint64_t count;
    // Of their latencies.
    uint64_t sum;
    // The longest latency.
    uint64_t max;
    // Class k: from 2^k to below 2^(k+1); class 0 also those of 0.
    uint64_t histogram[COUNTERPOINT_CLASSES];
} counterpoint_latencies;

// What counterpoint_get_figures returns: counts since creation, the last reset or the last power failure.
typedef struct counterpoint_figures {
    // In: sizeof(counterpoint_figures).
    size_t size;
    // Start of the period, ps.
    uint64_t since;
    // Its end, ps.
    uint64_t now;
    // Answered reads.
    struct counterpoint_latencies reads;
    // Answered writes.
    struct counterpoint_latencies writes;
    // Answered counter write-backs.
    struct counterpoint_latencies counter_writebacks;
    // Data lines read from the media.
    uint64_t data_reads;
    // Counter blocks read from the media.
    uint64_t counter_reads;
    // Lines of MACs read from the media.
    uint64_t mac_reads;
    // Tree nodes read from the media.
    uint64_t tree_reads;
    // Lines of the shadow table read from the media.
    uint64_t table_reads;
    // Data lines written to the media, with the log of hardware.
    uint64_t data_writes;
    // Counter blocks written to the media.
    uint64_t counter_writes;
    // Lines of MACs written to the media.
    uint64_t mac_writes;
    // Tree nodes written to the media.
    uint64_t tree_writes;
    // Lines of the shadow table written to the media.
    uint64_t table_writes;
    // Accesses that found their row open.
    uint64_t row_hits;
    // ps, summed over banks.
    uint64_t banks_busy;
    // FJ, with background.
    uint64_t energy;
    // Of the media line that was written most often.
    uint64_t max_line_writes;
    // Entries admitted to the write pending queue.
    uint64_t admitted;
    // Counter entries of the queue that a newer one replaced.
    uint64_t counter_writes_coalesced;
    // The same of MACs and tree nodes.
    uint64_t integrity_writes_coalesced;
    // The same of data.
    uint64_t data_writes_merged;
    // Times that a write found the queue too full.
    uint64_t full_events;
    // ps during which at least one write waited for a slot.
    uint64_t full_stall;
    // Entries of the queue in use.
    double mean_occupancy;
    // Answered from a write on its way.
    uint64_t forwarded_reads;
    // Hits in the counter cache.
    uint64_t counter_hits;
    // Misses in the counter cache that fetched the block.
    uint64_t counter_misses;
    // Blocks evicted from the counter cache.
    uint64_t counter_evictions;
    // Hits in the cache of MACs and tree nodes.
    uint64_t metadata_hits;
    // Misses in that cache that fetched the line or node.
    uint64_t metadata_misses;
    // One-time pads made.
    uint64_t pads;
    // ps during which AES circuits made pads, summed over circuits.
    uint64_t aes_busy;
    // Computed and checked.
    uint64_t macs;
    // Of tree nodes and counter blocks.
    uint64_t hashes;
    // Checks of integrity that failed.
    uint64_t alarms;
    // Of pages, begun.
    uint64_t reencryptions;
    // Misses in the counter cache while the block was being fetched.
    uint64_t counter_secondary_misses;
    // The same in the cache of MACs and tree nodes.
    uint64_t metadata_secondary_misses;
} counterpoint_figures;

// What counterpoint_get_requestor returns.
typedef struct counterpoint_requestor {
    // In: sizeof(counterpoint_requestor).
    size_t size;
    // Its answered reads.
    struct counterpoint_latencies reads;
    // Its answered writes.
    struct counterpoint_latencies writes;
    // Its answered counter write-backs.
    struct counterpoint_latencies counter_writebacks;
} counterpoint_requestor;

// What counterpoint_get_bank and counterpoint_get_channel return.
typedef struct counterpoint_bank {
    // In: sizeof(counterpoint_bank).
    size_t size;
    // Lines read, of all kinds.
    uint64_t reads;
    // Lines written, of all kinds.
    uint64_t writes;
    // Accesses that found their row open.
    uint64_t row_hits;
    // ps; of a channel: summed over its banks.
    uint64_t busy;
    // The channel.
    uint32_t channel;
    // The rank in the channel; of a channel: 0.
    uint32_t rank;
} counterpoint_bank;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The sentence of the last error of this thread, valid until its next error or answer of counterpoint_can_crash, so call it in a
// statement of its own; an empty text if there was none.
const char *counterpoint_last_error(void);

// The version of the library, as COUNTERPOINT_VERSION.
const char *counterpoint_version(void);

// Creates a memory in which every line reads as zeros; NULL on an error.
struct counterpoint *counterpoint_create(const struct counterpoint_config *config);

// Destroys `memory`. NULL is allowed.
void counterpoint_destroy(struct counterpoint *memory);

// Creates a copy that goes on from the same state, with the same call-backs and with `context`: many crashes from one
// simulation. Requests in flight will be answered by both. Takes time and space for the lines that have been written;
// NULL on an error.
struct counterpoint *counterpoint_clone(struct counterpoint *memory, void *context);

// Brings `memory` to the state of `snapshot`, a copy of it or of a memory with an equal configuration. It keeps its
// own call-backs and its context; `snapshot` stays as it is. Time goes back, too.
int counterpoint_restore(struct counterpoint *memory, struct counterpoint *snapshot);

// Stores `length` bytes at any `address` before the first request and the first advance: the contents of memory when
// the run begins, such as a program. Takes no simulated time. The rest of a partly loaded line is zero.
int counterpoint_load(struct counterpoint *memory, uint64_t address, const uint8_t *bytes, size_t length);

// Stores `length` bytes at any `address` at any time, without simulated time: functional accesses, fast-forwarding,
// virtual processors. Reads that are sent from now on find the bytes. They survive a power failure, as long as no
// later write of the line has persisted. They count as no write. Without an effect if the machine has engine.bytes =
// false.
int counterpoint_store(struct counterpoint *memory, uint64_t address, const uint8_t *bytes, size_t length);

// Whether a request of `kind` would be accepted now: 1, 0 or an error. A read is in flight until its line is
// decrypted, a write until it has persisted; each kind has its own limit (counterpoint_info).
int counterpoint_can_accept(struct counterpoint *memory, int kind);

// The same for a request for the line at `address`, with the limits of its channel (counterpoint_config).
int counterpoint_can_accept_at(struct counterpoint *memory, int kind, uint64_t address);

// Sends a read. read_done returns `id`; ids need not differ. The read finds the newest write of its line that was sent
// before it, or a later one: while a read waits for page re-encryption, a write may overtake it.
int counterpoint_send_read(struct counterpoint *memory, uint64_t address, uint64_t id);

// Sends a write of 64 bytes. write_persisted returns `id`. A write-back of a cache and a clwb are both writes; a fence
// must wait for write_persisted of the lines flushed before it.
int counterpoint_send_write(struct counterpoint *memory,
                            uint64_t address,
                            const uint8_t *bytes,
                            uint64_t id,
                            unsigned int flags);

// Sends a counter_cache_writeback (counter-atomicity, section 4.3): makes the counters around the line at `address`
// durable. counters_persisted returns `id`. For programs written for the designs sca and sca-tree; others do not need
// it.
int counterpoint_send_counter_writeback(struct counterpoint *memory, uint64_t address, uint64_t id);

// Sends `request`, of any kind. A write with a mask is a write of the whole line, whose other bytes are those of the
// newest write sent before it; the controller reads nothing for that.
int counterpoint_send(struct counterpoint *memory, const struct counterpoint_request *request);

// The time of the next event, or COUNTERPOINT_NEVER if there is none; also for a null pointer. Advancing to that time
// at once misses nothing.
uint64_t counterpoint_next_event_time(struct counterpoint *memory);

// Handles all events up to and including `time`, and moves time there.
int counterpoint_advance(struct counterpoint *memory, uint64_t time);

// Advances one cycle of the memory interface's clock, for simulators that have no event queue.
int counterpoint_tick(struct counterpoint *memory);

// Fills `info`, whose field `size` the caller must have set.
int counterpoint_get_info(struct counterpoint *memory, struct counterpoint_info *info);

// The configuration in use, with all defaults and overrides, as a JSON document: design, variant, parts, machine,
// seed. Valid until the next call of counterpoint_configuration with this memory; NULL on an error.
const char *counterpoint_configuration(struct counterpoint *memory);

// Where the line at `address` and its counter block are on the media.
int counterpoint_locate(struct counterpoint *memory, uint64_t address, struct counterpoint_location *location);

// The 64 bytes that a read of the line at `address` would find if it were sent now: those of the newest earlier write
// of the line, persisted or not, including one sent at the same time. Takes no simulated time and changes nothing.
// Zeros for machines with engine.bytes = false, which keep no bytes: the results of reads are then meaningless.
int counterpoint_peek(struct counterpoint *memory, uint64_t address, uint8_t *bytes);

// The same for `length` bytes at any `address`. Pages in which nothing was ever stored cost little.
int counterpoint_peek_range(struct counterpoint *memory, uint64_t address, uint8_t *bytes, size_t length);

// Whether power can fail: 1, 0 or an error. counterpoint_last_error says why not: the design drains caches, which belong to
// the caller (the eadr family, bbe, sepencr, their trees, horus, secpb), or writes that are not encrypted yet (dolos), or the machine
// has engine.bytes = false.
int counterpoint_can_crash(struct counterpoint *memory);

// Fails power now and restarts. Requests in flight are lost and never answered; the persistence domain drains to the
// media; the machine boots with the design's own recovery, which takes no simulated time; then reads find what has
// survived, decrypted as that machine decrypts it: garbage if line and counter do not belong together. Time continues,
// statistics start from zero: take them before. An error where counterpoint_can_crash returns 0.
int counterpoint_crash(struct counterpoint *memory);

// What the last power failure caused; COUNTERPOINT_ERROR_STATE if there was none.
int counterpoint_get_power_failure(struct counterpoint *memory, struct counterpoint_power_failure *failure);

// Writes the addresses of damaged lines (COUNTERPOINT_DAMAGED), in ascending order and at most `room` of them, to
// `addresses`, which may be NULL if `room` is 0. `count` is set to the number of all damaged lines.
int counterpoint_get_damaged(struct counterpoint *memory, uint64_t *addresses, size_t room, size_t *count);

// Begins a new period of measurement: statistics and figures start from zero. Nothing else changes.
int counterpoint_reset_statistics(struct counterpoint *memory);

// Statistics since creation, the last reset or the last crash: a JSON document with the keys of `counterpoint run
// --json` that have a meaning without cores, latencies of requests, channels, banks, requestors, and the last power
// failure. Valid until the next call of counterpoint_statistics with this memory; NULL on an error.
const char *counterpoint_statistics(struct counterpoint *memory);

// Fills `figures`, whose field `size` the caller must have set, like the next three.
int counterpoint_get_figures(struct counterpoint *memory, struct counterpoint_figures *figures);

// The figures of the requests of `requestor`.
int counterpoint_get_requestor(struct counterpoint *memory, uint32_t requestor, struct counterpoint_requestor *figures);

// The figures of `bank`, numbered over all channels and ranks.
int counterpoint_get_bank(struct counterpoint *memory, uint32_t bank, struct counterpoint_bank *figures);

// The figures of all banks of `channel`.
int counterpoint_get_channel(struct counterpoint *memory, uint32_t channel, struct counterpoint_bank *figures);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COUNTERPOINT_H */
