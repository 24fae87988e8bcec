/**
 * Counterpoint's controller and device as a memory of gem5.
 *
 * Requests come in at the port, go to libcounterpoint line by line and are answered when the library says so: a read when its
 * line is decrypted, a write when it has persisted. gem5's backing store stays what cores see; the library has the same bytes
 * encrypted, and what of them survives a power failure.
 */
#ifndef COUNTERPOINT_COUNTERPOINT_MEMORY_HH
#define COUNTERPOINT_COUNTERPOINT_MEMORY_HH

#include <counterpoint.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/statistics.hh"
#include "mem/abstract_mem.hh"
#include "mem/packet.hh"
#include "mem/port.hh"
#include "params/CounterpointMemory.hh"
#include "sim/eventq.hh"

namespace gem5
{
namespace memory
{

/**
 * A range of a Counterpoint machine's memory, with a port of its own. The first one owns the library; those that extend it, as
 * behind a hole in the address map, continue where the range before them ends: one controller, one device.
 */
class CounterpointMemory : public AbstractMemory
{
  public:
    using Params = CounterpointMemoryParams;

    explicit CounterpointMemory(const Params &p);
    ~CounterpointMemory() override;

    void init() override;
    void startup() override;
    void resetStats() override;
    void preDumpStats() override;
    DrainState drain() override;
    void drainResume() override;
    Port &getPort(const std::string &if_name, PortID idx = InvalidPortID) override;

    /**
     * Power fails now: the library drains and boots, and what memory then reads as is written to `path`, byte for byte from the
     * start of the address range; with an empty path no file is written. Packets under way are never answered: the simulated
     * machine is off. Returns what the power failure caused, as a JSON document.
     */
    std::string powerFail(const std::string &path);

    /** The statistics as a JSON document: up to now, or up to the power failure. */
    std::string statistics();

  private:
    static constexpr std::size_t LineBytes = COUNTERPOINT_LINE_BYTES;
    static constexpr std::size_t PageBytes = 4096;
    using Line = std::array<uint8_t, LineBytes>;

    class MemoryPort : public ResponsePort
    {
      public:
        MemoryPort(const std::string &name, CounterpointMemory &memory)
            : ResponsePort(name), memory(memory)
        {}

      protected:
        Tick recvAtomic(PacketPtr pkt) override { return memory.recvAtomic(pkt); }
        void recvFunctional(PacketPtr pkt) override { memory.recvFunctional(pkt); }
        bool recvTimingReq(PacketPtr pkt) override { return memory.recvTimingReq(pkt); }
        void recvRespRetry() override { memory.recvRespRetry(); }
        AddrRangeList getAddrRanges() const override { return {memory.getAddrRange()}; }

      private:
        CounterpointMemory &memory;
    };

    /**
     * A write that is accepted only when it has persisted. Its packet belongs to the sender, who may change it, replace it or
     * drop it because of a snoop. So a packet that comes for the line later is the held one only if it would leave the same
     * bytes in the line.
     */
    struct Held
    {
        Line bytes;
        uint64_t id;
        bool persisted;
    };

    /** What a refused sender waits for. */
    enum class Awaits
    {
        Nothing,
        RoomForRead,
        RoomForWrite,
        Persistence
    };

    struct Statistics : public statistics::Group
    {
        explicit Statistics(CounterpointMemory &memory);

        statistics::Scalar reads, writes, meanReadLatency, meanWriteLatency, maxReadLatency, maxWriteLatency;
        statistics::Scalar dataReads, counterReads, macReads, treeReads, dataWrites, counterWrites, macWrites, treeWrites;
        statistics::Scalar rowHits, banksBusy, energy, maxLineWrites;
        statistics::Scalar coalesced, fullEvents, fullStall, meanOccupancy;
        statistics::Scalar counterHits, counterMisses, counterSecondaryMisses, counterEvictions;
        statistics::Scalar metadataHits, metadataMisses, metadataSecondaryMisses;
        statistics::Scalar pads, macs, hashes, alarms, reencryptions, untimedStores;
    };

    Tick recvAtomic(PacketPtr pkt);
    void recvFunctional(PacketPtr pkt);
    bool recvTimingReq(PacketPtr pkt);
    void recvRespRetry();

    static void answered(void *self, const counterpoint_answer *answer);

    bool acceptRead(PacketPtr pkt);
    bool acceptWrite(PacketPtr pkt);
    bool acceptHeld(PacketPtr pkt);
    bool refuse(Awaits what, Addr line = 0);
    /** Forgets a held write of `line`: something newer has been written. */
    void supersede(Addr line) { held.erase(line); }
    bool mayRetry() const;
    bool noResponses() const { return responses.empty(); }
    /** The range that has a library address. */
    CounterpointMemory &rangeOf(Addr line);
    /** Whether `pkt` changes memory, before it is performed. */
    bool changes(PacketPtr pkt) const;
    /** The line as it is after `pkt`. */
    Line lineAfter(PacketPtr pkt) const;
    counterpoint_request requestOf(PacketPtr pkt, uint32_t kind) const;

    /** Brings the library to the present tick; call-backs run. */
    void advance();
    /** The library has something to do. */
    void wakeUp();
    void scheduleWakeUp();
    void wakeUpAt(Tick when);

    /** Turns `pkt` around and queues it as a response, if one is expected. */
    void respond(PacketPtr pkt);
    void sendResponses();

    /** The library gets what has been written to a range of addresses without time, at once. */
    void storeUntimed(Addr address, unsigned length);
    /** The library gets everything in which the backing store differs: what went past this memory. */
    void synchronise();
    /** Writes what memory reads as to `path`, all ranges one after the other. */
    void writeImage(const std::string &path);

    bool holds(PacketPtr pkt) const;
    /** The library's address of the line that holds `address`. */
    Addr lineOf(Addr address) const;
    /** The line at a library address as the backing store has it. */
    const uint8_t *hostLine(Addr line) const;
    void check(int code) const;
    /** What the library fills in by `get`. */
    template <typename Structure> Structure filled(int (*get)(counterpoint *, Structure *)) const
    {
        Structure structure{};
        structure.size = sizeof structure;
        check(get(first.library, &structure));
        return structure;
    }
    counterpoint_info info() const;
    counterpoint_figures figures() const;
    bool idle() const;

    MemoryPort port;
    /** The range that owns the library; itself, unless it extends another. */
    CounterpointMemory &first;
    /** All ranges in order; only of the first. */
    std::vector<CounterpointMemory *> ranges;
    counterpoint *library = nullptr;
    /** The library's address of the range's start. */
    Addr offset = 0;
    const bool holdCleans;
    const bool holdEvictions;
    const Tick atomicLatency;
    const std::string statisticsFile;

    /** Of the first: whether simulated time has begun in the library. */
    bool begun = false;
    bool started = false;
    /** Of the first: power has failed: nothing is answered any more. */
    bool off = false;
    std::string statisticsBefore;
    /** The system was in a mode in which processors use the backing store themselves. */
    bool bypassed = false;
    Awaits refused = Awaits::Nothing;
    Addr refusedLine = 0;
    bool retryResponse = false;
    uint64_t nextId = 1;
    /** Of the first: packets whose answer the library owes, by request number; 0 is that of requests that nobody waits for. */
    struct Waiting
    {
        CounterpointMemory *range;
        PacketPtr packet;
    };
    std::unordered_map<uint64_t, Waiting> waiting;
    /** Held writes by line. */
    std::unordered_map<Addr, Held> held;
    std::deque<PacketPtr> responses;
    /** Packets are not deleted while their sender still looks at them. */
    std::unique_ptr<Packet> pendingDelete;
    EventFunctionWrapper wakeUpEvent;
    EventFunctionWrapper sendResponsesEvent;
    Statistics counts;
};

} // namespace memory
} // namespace gem5

#endif // COUNTERPOINT_COUNTERPOINT_MEMORY_HH
