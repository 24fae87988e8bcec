#include "counterpoint/counterpoint_memory.hh"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/logging.hh"
#include "base/output.hh"
#include "base/trace.hh"
#include "debug/Counterpoint.hh"
#include "sim/core.hh"
#include "sim/system.hh"

namespace gem5
{
namespace memory
{

CounterpointMemory::CounterpointMemory(const Params &p)
    : AbstractMemory(p), port(name() + ".port", *this), first(p.extends ? p.extends->first : *this),
      holdCleans(p.hold_cleans), holdEvictions(p.hold_evictions), atomicLatency(p.atomic_latency),
      statisticsFile(p.statistics_file), wakeUpEvent([this] { wakeUp(); }, name()),
      sendResponsesEvent([this] { sendResponses(); }, name()), counts(*this)
{
    fatal_if(isNull(), "%s: null = True keeps no bytes, and encrypted memory is about bytes", name());
    for (const CounterpointMemory *range : first.ranges)
        offset += range->size();
    fatal_if(offset % LineBytes != 0, "%s: the ranges before this one have %d bytes, no whole lines", name(), offset);
    first.ranges.push_back(this);
    if (&first != this)
        return;
    std::vector<const char *> set;
    for (const std::string &text : p.overrides)
        set.push_back(text.c_str());
    counterpoint_config config{};
    config.size = sizeof config;
    config.design = p.design.c_str();
    config.variant = p.variant.c_str();
    config.machine = p.machine.empty() ? nullptr : p.machine.c_str();
    config.set = set.data();
    config.set_count = set.size();
    config.seed = p.seed;
    config.context = this;
    config.answered = answered;
    library = counterpoint_create(&config);
    fatal_if(!library, "%s: %s", name(), counterpoint_last_error());
    registerExitCallback([this]() {
        OutputStream *file = simout.create(statisticsFile);
        *file->stream() << statistics() << "\n";
        simout.close(file);
    });
}

CounterpointMemory::~CounterpointMemory()
{
    counterpoint_destroy(library);
}

void
CounterpointMemory::init()
{
    AbstractMemory::init();
    fatal_if(!port.isConnected(), "%s is not connected", name());
    fatal_if(system()->cacheLineSize() != LineBytes, "%s: cache lines have %d bytes, not %d", name(),
             system()->cacheLineSize(), LineBytes);
    fatal_if(sim_clock::as_int::ns != 1000, "%s: a tick must be a picosecond", name());
    fatal_if(getAddrRange().interleaved(), "%s: its address range must not be interleaved", name());
    fatal_if(offset + size() > info().capacity, "%s: the range ends after %d bytes, and the machine leaves %d for data",
             name(), offset + size(), info().capacity);
    port.sendRangeChange();
}

void
CounterpointMemory::startup()
{
    // What the simulated program finds in memory: its own image, or a checkpoint.
    const std::array<uint8_t, PageBytes> zeros{};
    for (Addr at = 0; at < size(); at += PageBytes) {
        const std::size_t length = std::min<Addr>(PageBytes, size() - at);
        const uint8_t *bytes = hostLine(offset + at);
        if (std::memcmp(bytes, zeros.data(), length) != 0)
            check(counterpoint_load(first.library, offset + at, bytes, length));
    }
    started = true;
    bypassed = system()->bypassCaches();
}

void
CounterpointMemory::synchronise()
{
    std::array<uint8_t, PageBytes> bytes;
    for (Addr at = 0; at < size(); at += PageBytes) {
        const std::size_t length = std::min<Addr>(PageBytes, size() - at);
        check(counterpoint_peek_range(first.library, offset + at, bytes.data(), length));
        for (std::size_t index = 0; index < length; index += LineBytes) {
            const Addr line = offset + at + index;
            if (std::memcmp(hostLine(line), bytes.data() + index, LineBytes) != 0)
                check(counterpoint_store(first.library, line, hostLine(line), LineBytes));
        }
    }
}

CounterpointMemory &
CounterpointMemory::rangeOf(Addr line)
{
    const auto after = std::find_if(ranges.begin(), ranges.end(), [line](const auto *range) { return range->offset > line; });
    return **std::prev(after);
}

Addr
CounterpointMemory::lineOf(Addr address) const
{
    return offset + (address - start()) / LineBytes * LineBytes;
}

const uint8_t *
CounterpointMemory::hostLine(Addr line) const
{
    return toHostAddr(start() + line - offset);
}

void
CounterpointMemory::check(int code) const
{
    panic_if(code != COUNTERPOINT_OK, "%s: %s", name(), counterpoint_last_error());
}

counterpoint_info
CounterpointMemory::info() const
{
    return filled(counterpoint_get_info);
}

counterpoint_figures
CounterpointMemory::figures() const
{
    return filled(counterpoint_get_figures);
}

bool
CounterpointMemory::idle() const
{
    const counterpoint_info now = info();
    return now.reads == 0 && now.writes == 0 && noResponses();
}

void
CounterpointMemory::advance()
{
    check(counterpoint_advance(first.library, curTick()));
    if (!first.begun) {
        // From a checkpoint, simulated time does not begin at 0, and nothing of before is to be counted.
        first.begun = true;
        check(counterpoint_reset_statistics(first.library));
    }
}

void
CounterpointMemory::scheduleWakeUp()
{
    const uint64_t next = counterpoint_next_event_time(first.library);
    if (next != COUNTERPOINT_NEVER)
        first.wakeUpAt(std::max<Tick>(next, curTick()));
}

void
CounterpointMemory::wakeUpAt(Tick when)
{
    if (!wakeUpEvent.scheduled())
        schedule(wakeUpEvent, when);
    else if (when < wakeUpEvent.when())
        reschedule(wakeUpEvent, when);
}

void
CounterpointMemory::wakeUp()
{
    if (off)
        return;
    advance();
    for (CounterpointMemory *range : ranges) {
        if (range->mayRetry()) {
            range->refused = Awaits::Nothing;
            range->port.sendRetryReq();
        }
    }
    scheduleWakeUp();
    for (CounterpointMemory *range : ranges) {
        if (range->drainState() == DrainState::Draining && range->idle())
            range->signalDrainDone();
    }
}

bool
CounterpointMemory::mayRetry() const
{
    switch (refused) {
      case Awaits::Nothing:
        return false;
      case Awaits::RoomForRead:
        return counterpoint_can_accept(first.library, COUNTERPOINT_READ) == 1;
      case Awaits::RoomForWrite:
        return counterpoint_can_accept(first.library, COUNTERPOINT_WRITE) == 1;
      case Awaits::Persistence:
        break;
    }
    const auto found = held.find(refusedLine);
    return found == held.end() || found->second.persisted;
}

bool
CounterpointMemory::refuse(Awaits what, Addr line)
{
    refused = what;
    refusedLine = line;
    scheduleWakeUp();
    return false;
}

bool
CounterpointMemory::holds(PacketPtr pkt) const
{
    if (!pkt->isWrite() || pkt->needsResponse())
        return false;
    return pkt->cmd == MemCmd::WriteClean ? holdCleans : holdEvictions;
}

bool
CounterpointMemory::recvTimingReq(PacketPtr pkt)
{
    // A cache above answers; the packet only passes by.
    if (pkt->cacheResponding()) {
        pendingDelete.reset(pkt);
        return true;
    }
    if (first.off || refused != Awaits::Nothing)
        return false;
    advance();
    bool accepted = true;
    if (pkt->isCleanEviction())
        // Memory has these bytes already.
        pendingDelete.reset(pkt);
    else if (holds(pkt))
        accepted = acceptHeld(pkt);
    else if (pkt->isWrite())
        accepted = acceptWrite(pkt);
    else if (pkt->isRead())
        accepted = acceptRead(pkt);
    else
        respond(pkt);
    scheduleWakeUp();
    return accepted;
}

counterpoint_request
CounterpointMemory::requestOf(PacketPtr pkt, uint32_t kind) const
{
    counterpoint_request request{};
    request.size = sizeof request;
    request.address = lineOf(pkt->getAddr());
    request.kind = kind;
    request.requestor = std::min<uint32_t>(pkt->requestorId(), COUNTERPOINT_REQUESTORS_MAX - 1);
    return request;
}

CounterpointMemory::Line
CounterpointMemory::lineAfter(PacketPtr pkt) const
{
    const Addr line = lineOf(pkt->getAddr());
    Line bytes;
    std::memcpy(bytes.data(), hostLine(line), LineBytes);
    pkt->writeData(bytes.data() + (pkt->getAddr() - start()) % LineBytes);
    return bytes;
}

bool
CounterpointMemory::acceptRead(PacketPtr pkt)
{
    if (counterpoint_can_accept(first.library, COUNTERPOINT_READ) != 1)
        return refuse(Awaits::RoomForRead);
    counterpoint_request request = requestOf(pkt, COUNTERPOINT_READ);
    request.id = first.nextId++;
    first.waiting.emplace(request.id, Waiting{this, pkt});
    check(counterpoint_send(first.library, &request));
    return true;
}

bool
CounterpointMemory::acceptWrite(PacketPtr pkt)
{
    if (counterpoint_can_accept(first.library, COUNTERPOINT_WRITE) != 1)
        return refuse(Awaits::RoomForWrite);
    counterpoint_request request = requestOf(pkt, COUNTERPOINT_WRITE);
    const Addr line = request.address;
    panic_if(lineOf(pkt->getAddr() + pkt->getSize() - 1) != line, "%s: a write crosses lines", name());
    supersede(line);
    const bool answered = pkt->needsResponse();
    if (answered)
        request.id = first.nextId++;
    // The access decides what is written: a store-conditional may fail, a swap reads first.
    access(pkt);
    if (answered)
        first.waiting.emplace(request.id, Waiting{this, pkt});
    else
        pendingDelete.reset(pkt);
    request.bytes = hostLine(line);
    check(counterpoint_send(first.library, &request));
    return true;
}

bool
CounterpointMemory::acceptHeld(PacketPtr pkt)
{
    counterpoint_request request = requestOf(pkt, COUNTERPOINT_WRITE);
    const Addr line = request.address;
    panic_if(lineOf(pkt->getAddr() + pkt->getSize() - 1) != line, "%s: a write crosses lines", name());
    const Line bytes = lineAfter(pkt);
    const auto offered = held.find(line);
    if (offered != held.end() && offered->second.bytes == bytes) {
        if (!offered->second.persisted)
            return refuse(Awaits::Persistence, line);
        held.erase(offered);
        access(pkt);
        pendingDelete.reset(pkt);
        return true;
    }
    if (counterpoint_can_accept(first.library, COUNTERPOINT_WRITE) != 1)
        return refuse(Awaits::RoomForWrite);
    request.id = first.nextId++;
    request.bytes = bytes.data();
    held[line] = Held{bytes, request.id, false};
    check(counterpoint_send(first.library, &request));
    return refuse(Awaits::Persistence, line);
}

void
CounterpointMemory::answered(void *self, const counterpoint_answer *answer)
{
    auto &memory = *static_cast<CounterpointMemory *>(self);
    const bool read = answer->kind == COUNTERPOINT_READ;
    if (!read)
        DPRINTFS(Counterpoint, &memory, "Line %#x has persisted\n", answer->address);
    if (const auto found = memory.waiting.find(answer->id); found != memory.waiting.end()) {
        const Waiting waited = found->second;
        memory.waiting.erase(found);
        waited.range->respond(waited.packet);
        return;
    }
    panic_if(read, "%s: nobody waits for read %d", memory.name(), answer->id);
    CounterpointMemory &range = memory.rangeOf(answer->address);
    const auto offered = range.held.find(answer->address);
    if (offered != range.held.end() && offered->second.id == answer->id)
        offered->second.persisted = true;
}

void
CounterpointMemory::respond(PacketPtr pkt)
{
    if (pkt->isRequest()) {
        const bool answered = pkt->needsResponse();
        access(pkt);
        if (!answered) {
            pendingDelete.reset(pkt);
            return;
        }
    }
    // The crossbar's delay for header and payload is paid here.
    const Tick when = curTick() + pkt->headerDelay + pkt->payloadDelay;
    pkt->headerDelay = pkt->payloadDelay = 0;
    responses.push_back(pkt);
    if (!retryResponse && !sendResponsesEvent.scheduled())
        schedule(sendResponsesEvent, when);
}

void
CounterpointMemory::sendResponses()
{
    while (!responses.empty()) {
        if (!port.sendTimingResp(responses.front())) {
            retryResponse = true;
            return;
        }
        responses.pop_front();
    }
    if (drainState() == DrainState::Draining && idle())
        signalDrainDone();
}

void
CounterpointMemory::recvRespRetry()
{
    retryResponse = false;
    sendResponses();
}

bool
CounterpointMemory::changes(PacketPtr pkt) const
{
    return pkt->isWrite() && !pkt->cacheResponding() && !pkt->isCleanEviction();
}

Tick
CounterpointMemory::recvAtomic(PacketPtr pkt)
{
    const bool responding = pkt->cacheResponding();
    const bool changed = changes(pkt);
    access(pkt);
    if (changed)
        storeUntimed(pkt->getAddr(), pkt->getSize());
    return responding ? 0 : atomicLatency;
}

void
CounterpointMemory::recvFunctional(PacketPtr pkt)
{
    pkt->pushLabel(name());
    const bool changed = changes(pkt);
    functionalAccess(pkt);
    if (changed)
        storeUntimed(pkt->getAddr(), pkt->getSize());
    for (PacketPtr response : responses)
        pkt->trySatisfyFunctional(response);
    pkt->popLabel();
}

void
CounterpointMemory::storeUntimed(Addr address, unsigned length)
{
    // What is written before the start is loaded then.
    if (!started || first.off || length == 0)
        return;
    check(counterpoint_store(first.library, offset + address - start(), toHostAddr(address), length));
    ++counts.untimedStores;
    // A write that is held would be older now: it is sent again, as its sender has changed it.
    for (Addr line = lineOf(address); line <= lineOf(address + length - 1); line += LineBytes)
        supersede(line);
    if (refused == Awaits::Persistence)
        first.wakeUpAt(curTick());
}

Port &
CounterpointMemory::getPort(const std::string &if_name, PortID idx)
{
    return if_name == "port" ? port : AbstractMemory::getPort(if_name, idx);
}

DrainState
CounterpointMemory::drain()
{
    return first.off || idle() ? DrainState::Drained : DrainState::Draining;
}

void
CounterpointMemory::drainResume()
{
    AbstractMemory::drainResume();
    // With virtual processors, or without caches, processors write to the backing store themselves.
    if (bypassed && started && !first.off)
        synchronise();
    bypassed = system()->bypassCaches();
}

void
CounterpointMemory::resetStats()
{
    AbstractMemory::resetStats();
    if (&first != this || off || !begun)
        return;
    advance();
    check(counterpoint_reset_statistics(library));
}

std::string
CounterpointMemory::powerFail(const std::string &path)
{
    fatal_if(&first != this, "%s: power fails in %s, which it extends", name(), first.name());
    fatal_if(off, "%s: power has failed already", name());
    for (CounterpointMemory *range : ranges) {
        if (range->bypassed)
            range->synchronise();
    }
    advance();
    statisticsBefore = statistics();
    fatal_if(counterpoint_crash(library) != COUNTERPOINT_OK, "%s: %s", name(), counterpoint_last_error());
    off = true;
    waiting.clear();
    for (CounterpointMemory *range : ranges)
        range->held.clear();
    if (!path.empty())
        writeImage(path);
    const counterpoint_power_failure failure = filled(counterpoint_get_power_failure);
    std::ostringstream document;
    document << "{\"time_ps\":" << failure.time << ",\"reads_lost\":" << failure.reads_lost << ",\"writes_lost\":"
             << failure.writes_lost << ",\"drained\":" << failure.drained << ",\"boot_reads\":" << failure.boot_reads
             << ",\"boot_writes\":" << failure.boot_writes << ",\"damaged_lines\":" << failure.damaged_lines
             << ",\"refused\":" << (failure.refused ? "true" : "false") << "}";
    return document.str();
}

void
CounterpointMemory::writeImage(const std::string &path)
{
    // A name of our own, created exclusively: no other run writes to it, and no link at it is followed.
    std::string unfinished;
    std::FILE *file = nullptr;
    for (unsigned number = 0; !file && (number == 0 || errno == EEXIST); number++) {
        unfinished = path + "." + std::to_string(::getpid()) + "-" + std::to_string(number) + ".part";
        file = std::fopen(unfinished.c_str(), "wbx");
    }
    fatal_if(!file, "%s: %s cannot be written", name(), unfinished);
    // Pages of zeros are skipped, so that the file is as sparse as memory.
    const std::array<uint8_t, PageBytes> zeros{};
    std::array<uint8_t, PageBytes> bytes;
    const Addr end = ranges.back()->offset + ranges.back()->size();
    bool written = true;
    for (Addr at = 0; at < end; at += PageBytes) {
        const std::size_t length = std::min<Addr>(PageBytes, end - at);
        check(counterpoint_peek_range(library, at, bytes.data(), length));
        if (std::memcmp(bytes.data(), zeros.data(), length) != 0 || at + length >= end) {
            written = written && std::fseek(file, static_cast<long>(at), SEEK_SET) == 0 &&
                      std::fwrite(bytes.data(), 1, length, file) == length;
        }
    }
    written = std::fclose(file) == 0 && written;
    written = written && std::rename(unfinished.c_str(), path.c_str()) == 0;
    if (!written)
        std::remove(unfinished.c_str());
    fatal_if(!written, "%s: %s cannot be written", name(), path);
}

std::string
CounterpointMemory::statistics()
{
    if (first.off)
        return first.statisticsBefore;
    const char *text = counterpoint_statistics(first.library);
    panic_if(!text, "%s: %s", name(), counterpoint_last_error());
    return text;
}

CounterpointMemory::Statistics::Statistics(CounterpointMemory &memory)
    : statistics::Group(&memory),
      ADD_STAT(reads, statistics::units::Count::get(), "Reads answered by the library"),
      ADD_STAT(writes, statistics::units::Count::get(), "Writes that have persisted"),
      ADD_STAT(meanReadLatency, statistics::units::Tick::get(), "Mean time from a read to its decrypted line"),
      ADD_STAT(meanWriteLatency, statistics::units::Tick::get(), "Mean time from a write until it has persisted"),
      ADD_STAT(maxReadLatency, statistics::units::Tick::get(), "Longest time from a read to its decrypted line"),
      ADD_STAT(maxWriteLatency, statistics::units::Tick::get(), "Longest time from a write until it has persisted"),
      ADD_STAT(dataReads, statistics::units::Count::get(), "Data lines read from the media"),
      ADD_STAT(counterReads, statistics::units::Count::get(), "Counter blocks read from the media"),
      ADD_STAT(macReads, statistics::units::Count::get(), "Lines of MACs read from the media"),
      ADD_STAT(treeReads, statistics::units::Count::get(), "Tree nodes read from the media"),
      ADD_STAT(dataWrites, statistics::units::Count::get(), "Data lines written to the media"),
      ADD_STAT(counterWrites, statistics::units::Count::get(), "Counter blocks written to the media"),
      ADD_STAT(macWrites, statistics::units::Count::get(), "Lines of MACs written to the media"),
      ADD_STAT(treeWrites, statistics::units::Count::get(), "Tree nodes written to the media"),
      ADD_STAT(rowHits, statistics::units::Count::get(), "Accesses that found their row open"),
      ADD_STAT(banksBusy, statistics::units::Tick::get(), "Time during which banks worked, summed over banks"),
      ADD_STAT(energy, statistics::units::Joule::get(), "Energy of the device"),
      ADD_STAT(maxLineWrites, statistics::units::Count::get(), "Writes of the media line that was written most often"),
      ADD_STAT(coalesced, statistics::units::Count::get(), "Counter entries of the queue that a newer one replaced"),
      ADD_STAT(fullEvents, statistics::units::Count::get(), "Times that a write found the write pending queue too full"),
      ADD_STAT(fullStall, statistics::units::Tick::get(), "Time during which a write waited for the queue"),
      ADD_STAT(meanOccupancy, statistics::units::Count::get(), "Mean number of entries in the write pending queue"),
      ADD_STAT(counterHits, statistics::units::Count::get(), "Hits in the counter cache"),
      ADD_STAT(counterMisses, statistics::units::Count::get(), "Misses in the counter cache that fetched the block"),
      ADD_STAT(counterSecondaryMisses, statistics::units::Count::get(),
               "Misses in the counter cache while the block was being fetched"),
      ADD_STAT(counterEvictions, statistics::units::Count::get(), "Blocks evicted from the counter cache"),
      ADD_STAT(metadataHits, statistics::units::Count::get(), "Hits in the cache of MACs and tree nodes"),
      ADD_STAT(metadataMisses, statistics::units::Count::get(),
               "Misses in the cache of MACs and tree nodes that fetched the line or node"),
      ADD_STAT(metadataSecondaryMisses, statistics::units::Count::get(),
               "Misses in the cache of MACs and tree nodes while the line or node was being fetched"),
      ADD_STAT(pads, statistics::units::Count::get(), "One-time pads made"),
      ADD_STAT(macs, statistics::units::Count::get(), "MACs computed and checked"),
      ADD_STAT(hashes, statistics::units::Count::get(), "Tree nodes and counter blocks hashed"),
      ADD_STAT(alarms, statistics::units::Count::get(), "Checks of integrity that failed"),
      ADD_STAT(reencryptions, statistics::units::Count::get(), "Page re-encryptions begun"),
      ADD_STAT(untimedStores, statistics::units::Count::get(), "Functional and atomic writes passed on without time")
{}

void
CounterpointMemory::preDumpStats()
{
    AbstractMemory::preDumpStats();
    // The first range has the figures of all; after a power failure, those of before stay.
    if (&first != this || off)
        return;
    if (begun)
        advance();
    const counterpoint_figures now = figures();
    const auto mean = [](const counterpoint_latencies &of) {
        return of.count ? static_cast<double>(of.sum) / static_cast<double>(of.count) : 0.0;
    };
    counts.reads = now.reads.count;
    counts.writes = now.writes.count;
    counts.meanReadLatency = mean(now.reads);
    counts.meanWriteLatency = mean(now.writes);
    counts.maxReadLatency = now.reads.max;
    counts.maxWriteLatency = now.writes.max;
    counts.dataReads = now.data_reads;
    counts.counterReads = now.counter_reads;
    counts.macReads = now.mac_reads;
    counts.treeReads = now.tree_reads;
    counts.dataWrites = now.data_writes;
    counts.counterWrites = now.counter_writes;
    counts.macWrites = now.mac_writes;
    counts.treeWrites = now.tree_writes;
    counts.rowHits = now.row_hits;
    counts.banksBusy = now.banks_busy;
    counts.energy = static_cast<double>(now.energy) * 1e-15;
    counts.maxLineWrites = now.max_line_writes;
    counts.coalesced = now.counter_writes_coalesced;
    counts.fullEvents = now.full_events;
    counts.fullStall = now.full_stall;
    counts.meanOccupancy = now.mean_occupancy;
    counts.counterHits = now.counter_hits;
    counts.counterMisses = now.counter_misses;
    counts.counterSecondaryMisses = now.counter_secondary_misses;
    counts.counterEvictions = now.counter_evictions;
    counts.metadataHits = now.metadata_hits;
    counts.metadataMisses = now.metadata_misses;
    counts.metadataSecondaryMisses = now.metadata_secondary_misses;
    counts.pads = now.pads;
    counts.macs = now.macs;
    counts.hashes = now.hashes;
    counts.alarms = now.alarms;
    counts.reencryptions = now.reencryptions;
}

} // namespace memory
} // namespace gem5
