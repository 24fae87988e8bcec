/*
 * libcounterpoint: a controller and device of encrypted persistent memory, as the memory of another simulator.
 *
 *     counterpoint_create -> counterpoint_load* -> (send | advance)* -> counterpoint_crash -> (send | advance)*
 *                         -> counterpoint_statistics -> counterpoint_destroy
 *
 * Units      Time is in picoseconds from the creation of the memory, at most COUNTERPOINT_TIME_MAX. Addresses are in bytes
 *            from 0; a request has the address of a line, a multiple of 64. A line has 64 bytes.
 * Time       The caller keeps the clock. A request reaches the controller at the current time. Time moves only in
 *            counterpoint_advance and counterpoint_tick. Call-backs are called only from these, in the order of events.
 * Ownership  The caller owns everything that it passes in. Nothing is kept after the call, except `context` and the
 *            call-backs of the configuration, until counterpoint_destroy. Bytes passed to a call-back are valid during it.
 * Threads    A memory is used by one thread at a time. Different memories are independent of each other.
 * Call-backs may send, ask and peek. They must not advance, tick, crash, load or destroy the same memory: the first four
 *            return COUNTERPOINT_ERROR_STATE, the last does nothing. No exception may leave a call-back.
 * Errors     Functions return COUNTERPOINT_OK or a negative error; counterpoint_last_error returns the sentence. A call that
 *            fails changes nothing, with one exception: after COUNTERPOINT_ERROR_INTERNAL, a bug of the library, a memory
 *            can only be destroyed.
 * Equality   Equal configurations and equal requests at equal times give equal events, on every machine.
 */
#ifndef COUNTERPOINT_H
#define COUNTERPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes in a line. */
#define COUNTERPOINT_LINE_BYTES 64
/* The end of time: 2^62 ps, 53 days. */
#define COUNTERPOINT_TIME_MAX (UINT64_C(1) << 62)
/* counterpoint_next_event_time: no event follows unless another request is sent. */
#define COUNTERPOINT_NEVER UINT64_MAX

/* Return values of functions. */
enum {
    COUNTERPOINT_OK = 0,
    /* A value is invalid: a null pointer, an address that is misaligned or beyond memory, a time in the past. */
    COUNTERPOINT_ERROR_ARGUMENT = -1,
    /* The queue is full: advance and send again. */
    COUNTERPOINT_ERROR_FULL = -2,
    /* Not possible in this state, or with this design or machine. */
    COUNTERPOINT_ERROR_STATE = -3,
    /* A bug of the library. */
    COUNTERPOINT_ERROR_INTERNAL = -4
};

/* Kinds of request. */
enum {
    COUNTERPOINT_READ = 0,
    COUNTERPOINT_WRITE = 1,
    COUNTERPOINT_COUNTER_WRITEBACK = 2
};

/* Flags of counterpoint_send_write. */
enum {
    /* The line holds a CounterAtomic variable: line and counter persist together, if the design leaves the choice (sca).
     * Other designs ignore the flag. */
    COUNTERPOINT_COUNTER_ATOMIC = 1
};

/* A memory. */
typedef struct counterpoint counterpoint;

/* A read is complete: `bytes` is the decrypted line. */
typedef void (*counterpoint_read_done)(void *context, uint64_t id, uint64_t address, const uint8_t *bytes, uint64_t time);
/* A write, or a counter write-back, has reached the persistence domain: from now on it survives a power failure. */
typedef void (*counterpoint_persisted)(void *context, uint64_t id, uint64_t address, uint64_t time);

/* The settings of a memory. Set `size` and every field that is not zero. */
typedef struct counterpoint_config {
    size_t size;                /* sizeof(counterpoint_config) */
    const char *design;         /* name, as `counterpoint designs` lists it */
    const char *variant;        /* "published" or "hardened"; NULL: hardened */
    const char *machine;        /* preset name, or path of a machine file (.toml); NULL: the design's own preset */
    const char *const *set;     /* `set_count` texts "path.to.key=value", as --set takes them */
    size_t set_count;
    uint64_t seed;              /* of the encryption keys */
    void *context;              /* passed to the call-backs */
    counterpoint_read_done read_done;           /* each may be NULL */
    counterpoint_persisted write_persisted;
    counterpoint_persisted counters_persisted;
} counterpoint_config;

/* What counterpoint_get_info returns. */
typedef struct counterpoint_info {
    size_t size;                /* in: sizeof(counterpoint_info) */
    uint64_t capacity;          /* bytes of memory, from address 0 */
    uint64_t now;               /* ps */
    uint64_t clock_period;      /* of the memory interface, ps; what counterpoint_tick advances */
    uint32_t burst_cycles;      /* interface cycles that a line takes on the data bus */
    uint32_t line_bytes;        /* 64 */
    uint32_t channels;
    uint32_t banks;             /* over all channels and ranks */
    uint32_t reads_max;         /* limits of requests in flight, by kind; then their numbers */
    uint32_t writes_max;
    uint32_t counter_writebacks_max;
    uint32_t reads;
    uint32_t writes;
    uint32_t counter_writebacks;
    uint64_t events;            /* events since creation */
    uint64_t event_digest;      /* digest of them all */
} counterpoint_info;

/* Creates a memory in which every line reads as zeros; NULL on an error. */
counterpoint *counterpoint_create(const counterpoint_config *config);

/* Destroys `memory`. NULL is allowed. */
void counterpoint_destroy(counterpoint *memory);

/* Stores `length` bytes at any `address` before the first request and the first advance: the contents of memory when the run
 * begins, such as a program. Takes no simulated time. The rest of a partly loaded line is zero. */
int counterpoint_load(counterpoint *memory, uint64_t address, const uint8_t *bytes, size_t length);

/* Whether a request of `kind` would be accepted now: 1, 0 or an error. A read is in flight until its line is decrypted, a
 * write until it has persisted; each kind has its own limit (counterpoint_info). */
int counterpoint_can_accept(counterpoint *memory, int kind);

/* Sends a read. read_done returns `id`; ids need not differ. The read finds the newest write of its line that was sent before
 * it, or a later one: while a read waits for page re-encryption, a write may overtake it. */
int counterpoint_send_read(counterpoint *memory, uint64_t address, uint64_t id);

/* Sends a write of 64 bytes. write_persisted returns `id`. A write-back of a cache and a clwb are both writes; a fence must
 * wait for write_persisted of the lines flushed before it. */
int counterpoint_send_write(counterpoint *memory, uint64_t address, const uint8_t *bytes, uint64_t id, unsigned flags);

/* Sends a counter_cache_writeback (counter-atomicity, section 4.3): makes the counters around the line at `address` durable.
 * counters_persisted returns `id`. For programs written for the design sca; others do not need it. */
int counterpoint_send_counter_writeback(counterpoint *memory, uint64_t address, uint64_t id);

/* The time of the next event, or COUNTERPOINT_NEVER if there is none; also for a null pointer. Advancing to that time at once
 * misses nothing. */
uint64_t counterpoint_next_event_time(counterpoint *memory);

/* Handles all events up to and including `time`, and moves time there. */
int counterpoint_advance(counterpoint *memory, uint64_t time);

/* Advances one cycle of the memory interface's clock, for simulators that have no event queue. */
int counterpoint_tick(counterpoint *memory);

/* Fills `info`, whose field `size` the caller must have set. */
int counterpoint_get_info(counterpoint *memory, counterpoint_info *info);

/* The 64 bytes that a read of the line at `address` would find if it were sent now: those of the newest earlier write of the
 * line, persisted or not, including one sent at the same time. Takes no simulated time and changes nothing. Zeros for machines
 * with engine.bytes = false, which keep no bytes: the results of reads are then meaningless. */
int counterpoint_peek(counterpoint *memory, uint64_t address, uint8_t *bytes);

/* Fails power now and restarts. Requests in flight are lost and never answered; the persistence domain drains to the media;
 * the machine boots with the design's own recovery, which takes no simulated time; then reads find what has survived,
 * decrypted as that machine decrypts it: garbage if line and counter do not belong together. Time continues, statistics start
 * from zero. An error for designs that drain caches (the eadr family, sepencr), because the caches belong to the caller, and
 * for machines with engine.bytes = false. */
int counterpoint_crash(counterpoint *memory);

/* Statistics since creation or the last crash: a JSON document with the keys of `counterpoint run --json` that have a meaning
 * without cores, and latencies of requests. Valid until the next call of counterpoint_statistics with this memory; NULL on an
 * error. */
const char *counterpoint_statistics(counterpoint *memory);

/* The sentence of the last error of this thread, valid until its next error; an empty text if there was none. */
const char *counterpoint_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
